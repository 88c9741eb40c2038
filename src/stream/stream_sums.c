// SPDX-License-Identifier: Apache-2.0
/* Lists of sums in canonical order. Sums belong to maximal subtrees of a binary tree over all
 * items. When two lists are joined, num_merge_plan() determines which subtrees become siblings, and
 * only siblings are added. So the bits of a sum depend on the items alone, not on the order in
 * which roles add. Vectors of gradients are in buffers, losses and squares are values. All roles
 * call. */
#include <wsc/stream.h>

#include <wsc/check.h>
#include <wsc/mem.h>

#include <string.h>

/* y += x by blocks on all threads: elements are independent, so threads change nothing. */
struct add_job {
    float *y;
    const float *x;
    int64_t n;
};
enum { ADD_BLOCK = 1 << 16 };

static void add_block(void *ctx, int64_t i, int thread)
{
    const struct add_job *job = ctx;
    int64_t first = i * ADD_BLOCK, n = job->n - first;
    (void)thread;
    num_add(job->y + first, job->x + first, n < ADD_BLOCK ? n : ADD_BLOCK);
}

static void add(float *y, const float *x, int64_t n)
{
    struct add_job job = {y, x, n};
    num_parallel((n + ADD_BLOCK - 1) / ADD_BLOCK, add_block, &job);
}

static float *first_vector(const struct stream_sums *s, struct comm_buf *buf)
{
    return (float *)(void *)((char *)comm_buf_data(buf) + s->head_bytes);
}

/* Append the list in @p take_buf (nodes->n vectors, one after the other). Vectors are added in
 * place and stay in the buffers in which they arrived; each vector holds a reference to its buffer.
 */
void stream_sums_append(struct stream_sums *s, const struct num_nodes *nodes, int64_t n_items,
                        int64_t n_elems, struct comm_buf *take_buf)
{
    struct num_merge merge;
    struct stream_sums merged;
    float *vector[2 * NUM_MAX_NODES];
    struct comm_buf *buf[2 * NUM_MAX_NODES];
    int n_left = s->nodes.n;
    num_merge_plan(&merge, &s->nodes, nodes, n_items);
    for (int i = 0; i < n_left; i++) {
        vector[i] = s->vector[i];
        buf[i] = s->buf[i];
    }
    for (int i = 0; i < nodes->n; i++) {
        vector[n_left + i] = first_vector(s, take_buf) + i * n_elems;
        buf[n_left + i] = comm_buf_ref(take_buf);
    }
    merged = (struct stream_sums){.head_bytes = s->head_bytes, .head = s->head};
    if (s->head_bytes && !s->head) merged.head = comm_buf_ref(take_buf);
    comm_buf_unref(&take_buf);
    for (int i = 0; i < merge.n_steps; i++) {
        add(vector[merge.step[i].into], vector[merge.step[i].from], n_elems);
        comm_buf_unref(&buf[merge.step[i].from]);
    }
    merged.nodes = merge.result;
    for (int i = 0; i < merge.result.n; i++) {
        merged.vector[i] = vector[merge.slot[i]];
        merged.buf[i] = buf[merge.slot[i]];
    }
    *s = merged;
}

/* True when the list is one vector at the start of a buffer of exactly its length, which can be
 * sent as it is. */
static bool is_packed(const struct stream_sums *s, int64_t n_elems)
{
    return s->nodes.n == 1 && first_vector(s, s->buf[0]) == s->vector[0] &&
           comm_buf_bytes(s->buf[0]) == s->head_bytes + n_elems * (int64_t)sizeof(float);
}

/* Return the vectors of the list in one buffer that can be sent; a vector that is alone in its
 * buffer is not copied. */
enum wsc_err stream_sums_pack(struct stream_sums *s, struct comm *comm, int64_t n_elems,
                              struct comm_buf **out)
{
    if (is_packed(s, n_elems)) {
        *out = comm_buf_ref(s->buf[0]);
        stream_sums_clear(s);
        return WSC_OK;
    }
    const int64_t bytes = n_elems * (int64_t)sizeof(float);
    TRY(comm_buf_create(comm, out, s->head_bytes + s->nodes.n * bytes));
    if (s->head) memcpy(comm_buf_data(*out), comm_buf_data(s->head), (size_t)s->head_bytes);
    for (int i = 0; i < s->nodes.n; i++)
        memcpy(first_vector(s, *out) + i * n_elems, s->vector[i], (size_t)bytes);
    stream_sums_clear(s);
    return WSC_OK;
}

void stream_sums_clear(struct stream_sums *s)
{
    for (int i = 0; i < s->nodes.n; i++)
        comm_buf_unref(&s->buf[i]);
    s->nodes.n = 0;
    comm_buf_unref(&s->head);
    s->head_bytes = 0;
}

static void add_rewards(struct model_rewards *into, const struct model_rewards *from)
{
    into->chosen += from->chosen;
    into->rejected += from->rejected;
    into->chosen_logp += from->chosen_logp;
    into->rejected_logp += from->rejected_logp;
}

/* Losses are added by the plan of the vectors of gradients, so their order of summation is fixed
 * too. */
void stream_losses_append(struct stream_losses *s, const struct num_nodes *nodes, int64_t n_items,
                          const struct stream_loss *sums)
{
    struct num_merge merge;
    struct stream_loss all[2 * NUM_MAX_NODES] = {0};
    num_merge_plan(&merge, &s->nodes, nodes, n_items);
    for (int i = 0; i < s->nodes.n + nodes->n; i++)
        all[i] = i < s->nodes.n ? s->sum[i] : sums[i - s->nodes.n];
    for (int i = 0; i < merge.n_steps; i++) {
        struct stream_loss *into = &all[merge.step[i].into], *from = &all[merge.step[i].from];
        into->loss_sum += from->loss_sum;
        into->n_tokens += from->n_tokens;
        into->n_correct += from->n_correct;
        into->nats += from->nats;
        into->n_sequences += from->n_sequences;
        into->n_sequences_correct += from->n_sequences_correct;
        add_rewards(&into->rewards, &from->rewards);
    }
    s->nodes = merge.result;
    for (int i = 0; i < merge.result.n; i++)
        s->sum[i] = all[merge.slot[i]];
}

void stream_scalars_append(struct stream_scalars *s, const struct num_nodes *nodes, int64_t n_items,
                           const double *sums)
{
    struct num_merge merge;
    double all[2 * NUM_MAX_NODES] = {0};
    num_merge_plan(&merge, &s->nodes, nodes, n_items);
    for (int i = 0; i < s->nodes.n + nodes->n; i++)
        all[i] = i < s->nodes.n ? s->sum[i] : sums[i - s->nodes.n];
    for (int i = 0; i < merge.n_steps; i++)
        all[merge.step[i].into] += all[merge.step[i].from];
    s->nodes = merge.result;
    for (int i = 0; i < merge.result.n; i++)
        s->sum[i] = all[merge.slot[i]];
}

int64_t stream_scalars_count(const struct stream_batch *b, int w_first, int w_end)
{
    int64_t n = 0;
    for (int64_t micro = 0; micro < b->n_micro; micro++) {
        struct num_nodes nodes;
        stream_subtrees(b, micro, w_first, w_end, &nodes);
        n += nodes.n;
    }
    return n;
}

/* Join the lists of n consecutive ranges of wafers, micro-batch by micro-batch, to one list of the
 * whole range. */
void stream_scalars_join(const struct stream_batch *b, int n, const int *first_wafer,
                         const double *const *part, double *out)
{
    int64_t used[STREAM_MAX_FANOUT] = {0};
    for (int64_t micro = 0; micro < b->n_micro; micro++) {
        struct stream_scalars all = {0};
        for (int i = 0; i < n; i++) {
            struct num_nodes nodes;
            stream_subtrees(b, micro, first_wafer[i], first_wafer[i + 1], &nodes);
            if (nodes.n) stream_scalars_append(&all, &nodes, b->n_micro_shards, part[i] + used[i]);
            used[i] += nodes.n;
        }
        memcpy(out, all.sum, (size_t)all.nodes.n * sizeof *out);
        out += all.nodes.n;
    }
}

/* The sum at the root of the tree over all micro-shards of the batch, which does not depend on the
 * number of wafers. */
double stream_scalars_total(const struct stream_batch *b, const double *list)
{
    struct stream_scalars all = {0};
    for (int64_t micro = 0; micro < b->n_micro; micro++) {
        struct num_nodes nodes;
        stream_subtrees(b, micro, 0, b->n_wafers, &nodes);
        stream_scalars_append(&all, &nodes, b->n_micro_shards, list);
        list += nodes.n;
    }
    WSC_CHECK(all.nodes.n == 1, "%d sums left of %lld micro-shards", all.nodes.n,
              (long long)b->n_micro_shards);
    return all.sum[0];
}
