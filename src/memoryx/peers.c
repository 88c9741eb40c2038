// SPDX-License-Identifier: Apache-2.0
#include "memoryx_impl.h"

#include <wsc/mem.h>

#include <math.h>
#include <string.h>

/* Shard 0 gathers, decides and tells; the others send and wait.  Sums over blocks of a tensor
 * follow the canonical tree over the tensor's blocks, sums over tensors their order. */

/* Shard 0: collect a message of every other shard. */
static enum wsc_err gather(struct memoryx *mx, int32_t kind, int64_t step, int index,
                           struct comm_msg *msg)
{
    for (int i = 0; i < mx->ports->n_peers; i++)
        TRY(stream_recv_data(mx->ports->peer_in[i], kind, step, index, &msg[i]));
    return WSC_OK;
}

static enum wsc_err tell_peers(struct memoryx *mx, const struct comm_msg *msg)
{
    for (int i = 0; i < mx->ports->n_peers; i++)
        TRY(comm_send(mx->ports->peer_out[i], msg));
    return WSC_OK;
}

static double gradient_squares(const void *ctx, int tensor, int64_t first, int64_t n)
{
    const struct memoryx *mx = ctx;
    return num_sum_squares(mx->slice[tensor].g + first, n);
}

static enum wsc_err own_squares(struct memoryx *mx, struct comm_buf **out)
{
    const struct memoryx_summand what = {gradient_squares, mx};
    TRY(comm_buf_create(mx->net->comm, out,
                        memoryx_count_sums(mx, mx->shard) * (int64_t)sizeof(double)));
    return memoryx_own_sums(mx, &what, comm_buf_data(*out));
}

static enum wsc_err joint_norm(const struct memoryx *mx, struct comm_buf *const *part, double *norm)
{
    const double *sums[CONF_MAX_SHARDS];
    double *of_tensor, total = 0;
    TRY_NEW(of_tensor, WSC_MEM_MEMORYX, mx->net->model->n_tensors);
    for (int m = 0; m < mx->n_shards; m++)
        sums[m] = comm_buf_data(part[m]);
    memoryx_joint_sums(mx, sums, of_tensor);
    for (int i = 0; i < mx->net->model->n_tensors; i++)
        total += of_tensor[i];
    *norm = sqrt(total);
    wsc_free(of_tensor);
    return WSC_OK;
}

static enum wsc_err lead_norm(struct memoryx *mx, int64_t step, double *norm, struct vtime *at)
{
    struct comm_msg msg[CONF_MAX_SHARDS];
    struct comm_buf *part[CONF_MAX_SHARDS] = {0};
    *at = mx->times.reduced;
    TRY(gather(mx, STREAM_MSG_NORM, step, 0, msg));
    for (int i = 0; i < mx->ports->n_peers; i++) {
        *at = vtime_max(*at, msg[i].span.last);
        part[i + 1] = msg[i].payload;
    }
    if (mx->pass->values) {
        TRY(own_squares(mx, &part[0]));
        TRY(joint_norm(mx, part, norm));
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
    if (mx->pass->values) TRY(own_squares(mx, &msg.payload));
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

static enum wsc_err lead_exchange(struct memoryx *mx, const struct memoryx_round *round,
                                  struct comm_buf **own, struct comm_buf **total, struct vtime *at)
{
    struct comm_msg msg[CONF_MAX_SHARDS];
    struct comm_buf *part[CONF_MAX_SHARDS] = {*own};
    TRY(gather(mx, STREAM_MSG_SUMS, round->step, round->index, msg));
    for (int i = 0; i < mx->ports->n_peers; i++) {
        *at = vtime_max(*at, msg[i].span.last);
        part[i + 1] = msg[i].payload;
    }
    enum wsc_err rc = *own ? round->combine(mx, round->ctx, part, total) : WSC_OK;
    for (int m = 1; m < mx->n_shards; m++)
        comm_buf_unref(&part[m]);
    for (int i = 0; i < mx->ports->n_peers && !rc; i++) {
        const struct comm_msg out = {.kind = STREAM_MSG_TOTALS,
                                     .step = round->step,
                                     .index = round->index,
                                     .span = vtime_at(*at),
                                     .bytes = round->bytes,
                                     .payload = *total ? comm_buf_ref(*total) : NULL};
        rc = comm_send(mx->ports->peer_out[i], &out);
    }
    return rc;
}

static enum wsc_err follow_exchange(struct memoryx *mx, const struct memoryx_round *round,
                                    struct comm_buf **own, struct comm_buf **total,
                                    struct vtime *at)
{
    struct comm_msg msg = {.kind = STREAM_MSG_SUMS,
                           .step = round->step,
                           .index = round->index,
                           .span = vtime_at(*at),
                           .bytes = round->bytes,
                           .payload = *own};
    *own = NULL;
    TRY(comm_send(mx->ports->peer_out[0], &msg));
    TRY(stream_recv_data(mx->ports->peer_in[0], STREAM_MSG_TOTALS, round->step, round->index,
                         &msg));
    *total = msg.payload;
    *at = msg.span.last;
    return WSC_OK;
}

enum wsc_err memoryx_exchange(struct memoryx *mx, const struct memoryx_round *round,
                              struct comm_buf *take_own, struct comm_buf **total, struct vtime *at)
{
    *total = NULL;
    enum wsc_err rc =
        (mx->shard ? follow_exchange : lead_exchange)(mx, round, &take_own, total, at);
    comm_buf_unref(&take_own);
    return rc;
}

enum wsc_err memoryx_share_hash(struct memoryx *mx, int64_t step, uint64_t *hash)
{
    struct comm_msg msg[CONF_MAX_SHARDS];
    if (mx->shard) {
        struct comm_msg mine = {.kind = STREAM_MSG_HASH, .step = step};
        mine.field[0] = (int64_t)*hash;
        return comm_signal(mx->ports->peer_out[0], &mine);
    }
    TRY(gather(mx, STREAM_MSG_HASH, step, 0, msg));
    for (int i = 0; i < mx->ports->n_peers; i++)
        *hash += (uint64_t)msg[i].field[0];
    return WSC_OK;
}
