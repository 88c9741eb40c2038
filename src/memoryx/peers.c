// SPDX-License-Identifier: Apache-2.0
#include "memoryx_impl.h"

#include <wsc/mem.h>

#include <math.h>
#include <string.h>

/* Shard 0 gathers, decides and tells; the others send and wait.  Sums over blocks of a tensor
 * follow the canonical tree over the tensor's blocks, sums over tensors their order. */

static int64_t blocks(int64_t n_elems)
{
    return (n_elems + STREAM_BLOCK_ELEMS - 1) / STREAM_BLOCK_ELEMS;
}

/* Maximal nodes of shard @p m's blocks of tensor @p i. */
static void slice_nodes(const struct memoryx *mx, int i, int m, struct num_nodes *nodes)
{
    int64_t n_elems = mx->net->model->tensor[i].n_elems, first, n;
    stream_slice(n_elems, m, mx->n_shards, &first, &n);
    num_nodes_of_range(nodes, first / STREAM_BLOCK_ELEMS, first / STREAM_BLOCK_ELEMS + blocks(n),
                       blocks(n_elems));
}

static int64_t count_sums(const struct memoryx *mx, int m)
{
    int64_t n = 0;
    for (int i = 0; i < mx->net->model->n_tensors; i++) {
        struct num_nodes nodes;
        slice_nodes(mx, i, m, &nodes);
        n += nodes.n;
    }
    return n;
}

struct squares_job {
    const float *g;
    int64_t n;
    double *sum; /* one per block */
};

static void square_block(void *ctx, int64_t b, int thread)
{
    const struct squares_job *job = ctx;
    int64_t first = b * STREAM_BLOCK_ELEMS, n = job->n - first;
    (void)thread;
    job->sum[b] = num_sum_squares(job->g + first, n < STREAM_BLOCK_ELEMS ? n : STREAM_BLOCK_ELEMS);
}

/* This shard's sums of squares of tensor @p i, one per maximal node. */
static void square_sums(const struct memoryx *mx, int i, double *scratch,
                        struct stream_scalars *out)
{
    const struct memoryx_slice *s = &mx->slice[i];
    const int64_t n_blocks = blocks(mx->net->model->tensor[i].n_elems);
    const int64_t first = s->first / STREAM_BLOCK_ELEMS;
    struct squares_job job = {s->g, s->n, scratch};
    num_parallel(blocks(s->n), square_block, &job);
    out->nodes.n = 0;
    for (int64_t b = 0; b < blocks(s->n); b++) {
        struct num_nodes one;
        num_nodes_of_range(&one, first + b, first + b + 1, n_blocks);
        stream_scalars_append(out, &one, n_blocks, &scratch[b]);
    }
}

static int64_t most_blocks(const struct memoryx *mx)
{
    int64_t most = 1;
    for (int i = 0; i < mx->net->model->n_tensors; i++)
        if (blocks(mx->slice[i].n) > most) most = blocks(mx->slice[i].n);
    return most;
}

/* All of this shard's sums, tensor after tensor. */
static enum wsc_err own_sums(struct memoryx *mx, struct comm_buf **out)
{
    double *scratch;
    TRY_NEW(scratch, WSC_MEM_MEMORYX, most_blocks(mx));
    enum wsc_err rc =
        comm_buf_create(mx->net->comm, out, count_sums(mx, mx->shard) * (int64_t)sizeof(double));
    double *to = rc ? NULL : comm_buf_data(*out);
    for (int i = 0; !rc && i < mx->net->model->n_tensors; i++) {
        struct stream_scalars sums;
        square_sums(mx, i, scratch, &sums);
        memcpy(to, sums.sum, (size_t)sums.nodes.n * sizeof(double));
        to += sums.nodes.n;
    }
    wsc_free(scratch);
    return rc;
}

/* @p part[m]: shard m's sums. */
static double joint_norm(const struct memoryx *mx, struct comm_buf *const *part)
{
    int64_t used[CONF_MAX_SHARDS] = {0};
    double total = 0;
    for (int i = 0; i < mx->net->model->n_tensors; i++) {
        struct stream_scalars all = {0};
        for (int m = 0; m < mx->n_shards; m++) {
            struct num_nodes nodes;
            slice_nodes(mx, i, m, &nodes);
            stream_scalars_append(&all, &nodes, blocks(mx->net->model->tensor[i].n_elems),
                                  (const double *)comm_buf_data(part[m]) + used[m]);
            used[m] += nodes.n;
        }
        total += all.sum[0];
    }
    return sqrt(total);
}

/* Shard 0: collect a message of every other shard. */
static enum wsc_err gather(struct memoryx *mx, int32_t kind, int64_t step, struct comm_msg *msg)
{
    for (int i = 0; i < mx->ports->n_peers; i++)
        TRY(stream_recv_data(mx->ports->peer_in[i], kind, step, 0, &msg[i]));
    return WSC_OK;
}

static enum wsc_err tell_peers(struct memoryx *mx, const struct comm_msg *msg)
{
    for (int i = 0; i < mx->ports->n_peers; i++)
        TRY(comm_send(mx->ports->peer_out[i], msg));
    return WSC_OK;
}

static enum wsc_err lead_norm(struct memoryx *mx, int64_t step, double *norm, struct vtime *at)
{
    struct comm_msg msg[CONF_MAX_SHARDS];
    struct comm_buf *part[CONF_MAX_SHARDS] = {0};
    *at = mx->times.reduced;
    TRY(gather(mx, STREAM_MSG_NORM, step, msg));
    for (int i = 0; i < mx->ports->n_peers; i++) {
        *at = vtime_max(*at, msg[i].span.last);
        part[i + 1] = msg[i].payload;
    }
    if (mx->pass->values) {
        TRY(own_sums(mx, &part[0]));
        *norm = joint_norm(mx, part);
    }
    for (int m = 0; m < mx->n_shards; m++)
        comm_buf_unref(&part[m]);
    struct comm_msg out = {.kind = STREAM_MSG_SCALE,
                           .step = step,
                           .span = vtime_at(*at),
                           .bytes = STREAM_SIGNAL_BYTES};
    memcpy(&out.field[0], norm, sizeof *norm);
    return tell_peers(mx, &out);
}

static enum wsc_err follow_norm(struct memoryx *mx, int64_t step, double *norm, struct vtime *at)
{
    struct comm_msg msg = {.kind = STREAM_MSG_NORM,
                           .step = step,
                           .span = vtime_at(mx->times.reduced),
                           .bytes = STREAM_SIGNAL_BYTES};
    if (mx->pass->values) TRY(own_sums(mx, &msg.payload));
    TRY(comm_send(mx->ports->peer_out[0], &msg));
    TRY(stream_recv_data(mx->ports->peer_in[0], STREAM_MSG_SCALE, step, 0, &msg));
    memcpy(norm, &msg.field[0], sizeof *norm);
    *at = msg.span.last;
    return WSC_OK;
}

enum wsc_err memoryx_share_norm(struct memoryx *mx, int64_t step, double *norm, struct vtime *at)
{
    *norm = 0;
    return mx->shard ? follow_norm(mx, step, norm, at) : lead_norm(mx, step, norm, at);
}

enum wsc_err memoryx_share_hash(struct memoryx *mx, int64_t step, uint64_t *hash)
{
    struct comm_msg msg[CONF_MAX_SHARDS];
    if (mx->shard) {
        struct comm_msg mine = {.kind = STREAM_MSG_HASH, .step = step};
        mine.field[0] = (int64_t)*hash;
        return comm_signal(mx->ports->peer_out[0], &mine);
    }
    TRY(gather(mx, STREAM_MSG_HASH, step, msg));
    for (int i = 0; i < mx->ports->n_peers; i++)
        *hash += (uint64_t)msg[i].field[0];
    return WSC_OK;
}
