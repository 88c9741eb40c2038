// SPDX-License-Identifier: Apache-2.0
/* Receives gradients: adds the sums of the micro-batches of a stage along the canonical tree. After
 * the last micro-batch, the sum of the whole batch becomes the mean gradient of this shard's parts
 * of the stage's tensors; the factor from sum to mean also removes the loss scale. memoryx_step.c
 * calls; memoryx_update.c uses the gradient. */
#include "memoryx_take.h"

#include "memoryx_loss_scale.h"
#include "memoryx_mask.h"
#include "memoryx_mask_count.h"
#include "memoryx_update.h"

#include <wsc/check.h>
#include <wsc/num_sparse.h>

enum { MEAN_BLOCK = 1 << 15 };

struct gradient_job {
    float *g;
    const float *sum;
    int64_t n;
    const uint64_t *mask; /* the sum has the elements of the mask alone; NULL: all */
    float scale;
    bool add;
};

/* Set elements [first, end) from the sums of the kept elements; the others have no gradient. */
static void scale_kept(const struct gradient_job *job, int64_t first, int64_t end)
{
    const float *sum = job->sum + num_packed_count(job->mask, 0, first);
    for (int64_t k = first; k < end; k++) {
        const bool kept = job->mask[k / MEMORYX_WORD_BITS] >> k % MEMORYX_WORD_BITS & 1;
        const float mean = kept ? *sum++ * job->scale : 0;
        job->g[k] = job->add ? job->g[k] + mean : mean;
    }
}

static void scale_block(void *ctx, int64_t i, int thread)
{
    const struct gradient_job *job = ctx;
    int64_t first = i * MEAN_BLOCK, end = first + MEAN_BLOCK;
    (void)thread;
    if (end > job->n) end = job->n;
    if (job->mask) {
        scale_kept(job, first, end);
        return;
    }
    if (job->add)
        num_add_scaled(job->g + first, job->sum + first, job->scale, end - first);
    else
        num_scaled(job->g + first, job->sum + first, job->scale, end - first);
}

/* Add the finished sum of a stage's gradient to this shard's parts of the tensors, as a mean. A
 * tied tensor gets two contributions, always that of the head first. @p head: elements of each view
 * if the stage has sparse tensors, else NULL. */
static void add_to_tensors(struct memoryx *mx, int stage, const void *head, const float *sum)
{
    const struct model_stage *st = &mx->net->model->stage[stage];
    const double factor =
        memoryx_loss_factor(mx, mx->losses.sum[0].n_tokens) / memoryx_gradient_scale(mx);
    for (int v = 0; v < st->n_views; v++) {
        struct memoryx_part *s = &mx->part[st->view[v].tensor];
        if (mx->net->model->tensor[st->view[v].tensor].frozen) continue;
        const int64_t n = head ? stream_packed_grad_count(head, 1, v, 0) : s->n;
        struct gradient_job job = {.g = s->g,
                                   .sum = sum,
                                   .n = s->n,
                                   .mask = n < s->n ? s->mask : NULL,
                                   .scale = (float)factor,
                                   .add = s->g_started};
        WSC_CHECK(n == s->n || (s->mask && n == memoryx_mask_count(s)),
                  "%lld gradients of %lld elements", (long long)n, (long long)s->n);
        num_parallel((s->n + MEAN_BLOCK - 1) / MEAN_BLOCK, scale_block, &job);
        s->g_started = true;
        sum += n;
    }
}

enum wsc_err memoryx_take_gradients(struct memoryx *mx, const struct stream_at *at)
{
    const struct stream_batch *b = &mx->pass->batch;
    struct stream_sums *sums = &mx->sums[at->stage];
    struct num_nodes subtrees;
    struct stream_msg msg;
    TRY(stream_recv(mx->ports, mx->ports->down.data[0], STREAM_MSG_GRADIENTS, at->step, at->index,
                    &msg));
    mx->arrived[at->stage] = msg.span.last;
    if (!msg.payload) return WSC_OK;
    const bool packed = stream_is_packed(mx->net->model, at->stage);
    const int64_t n =
        packed ? stream_grad_elems(mx->net->model, at->stage, 1, comm_buf_data(msg.payload))
               : stream_stage_part_grads(mx->net->model, at->stage, mx->shard, mx->n_shards);
    if (packed) sums->head_bytes = stream_packed_grad_head(mx->net->model, at->stage, 1);
    stream_subtrees(b, at->micro, 0, b->n_wafers, &subtrees);
    stream_sums_append(sums, &subtrees, b->n_micro_shards, n, msg.payload);
    if (at->micro < b->n_micro - 1) return WSC_OK;
    WSC_CHECK(sums->nodes.n == 1, "%d sums left of %lld micro-shards", sums->nodes.n,
              (long long)b->n_micro_shards);
    add_to_tensors(mx, at->stage, packed ? comm_buf_data(sums->head) : NULL, sums->vector[0]);
    stream_sums_clear(sums);
    memoryx_update_stage(mx, at->stage, at->step);
    return WSC_OK;
}
