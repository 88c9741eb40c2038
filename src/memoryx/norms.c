// SPDX-License-Identifier: Apache-2.0
/* Norms of the gradient and of the weights.  Sums over blocks of a tensor follow the canonical tree
 * over the tensor's blocks, sums over tensors their order. */
#include "memoryx_impl.h"

#include <wsc/mem.h>

#include <math.h>
#include <string.h>

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

static double weight_squares(const void *ctx, int tensor, int64_t first, int64_t n)
{
    const struct memoryx *mx = ctx;
    return num_sum_squares(mx->slice[tensor].w + first, n);
}

static bool has_summaries(const struct memoryx *mx)
{
    return mx->config.params->optimizer.log_summaries;
}

/* Of the gradients, and with summaries of the weights behind them. */
static enum wsc_err own_squares(struct memoryx *mx, struct comm_buf **out)
{
    const struct memoryx_summand gradients = {gradient_squares, mx}, weights = {weight_squares, mx};
    const int64_t n = memoryx_count_sums(mx, mx->shard);
    TRY(comm_buf_create(mx->net->comm, out,
                        (has_summaries(mx) ? 2 : 1) * n * (int64_t)sizeof(double)));
    double *sums = comm_buf_data(*out);
    TRY(memoryx_own_sums(mx, &gradients, sums));
    return has_summaries(mx) ? memoryx_own_sums(mx, &weights, sums + n) : WSC_OK;
}

/* One per tensor, of the gradients or of what lies behind them. */
static void squares_of_tensors(const struct memoryx *mx, struct comm_buf *const *part, bool behind,
                               double *of_tensor)
{
    const double *sums[HW_MAX_SHARDS];
    for (int m = 0; m < mx->n_shards; m++) {
        const double *first = comm_buf_data(part[m]);
        sums[m] = first + (behind ? memoryx_count_sums(mx, m) : 0);
    }
    memoryx_joint_sums(mx, sums, of_tensor);
}

static double norm_of(const struct memoryx *mx, const double *of_tensor)
{
    double total = 0;
    for (int i = 0; i < mx->net->model->n_tensors; i++)
        total += of_tensor[i];
    return sqrt(total);
}

static void layer_norms(const struct memoryx *mx, const double *of_tensor, double *norm)
{
    const struct model *model = mx->net->model;
    for (int64_t l = 0; l < model->L; l++)
        norm[l] = 0;
    for (int i = 0; i < model->n_tensors; i++)
        if (model->tensor[i].layer >= 0) norm[model->tensor[i].layer] += of_tensor[i];
    for (int64_t l = 0; l < model->L; l++)
        norm[l] = sqrt(norm[l]);
}

static enum wsc_err joint_norm(struct memoryx *mx, struct comm_buf *const *part, double *norm)
{
    double *of_tensor;
    TRY_NEW(of_tensor, WSC_MEM_MEMORYX, mx->net->model->n_tensors);
    squares_of_tensors(mx, part, false, of_tensor);
    *norm = norm_of(mx, of_tensor);
    if (has_summaries(mx)) {
        layer_norms(mx, of_tensor, mx->layer_norm);
        squares_of_tensors(mx, part, true, of_tensor);
        mx->batch.layer_grad_norm = mx->layer_norm;
        mx->batch.params_norm = norm_of(mx, of_tensor);
    }
    wsc_free(of_tensor);
    return WSC_OK;
}

static enum wsc_err lead_norm(struct memoryx *mx, int64_t step, double *norm, struct vtime *at)
{
    struct comm_msg msg[HW_MAX_SHARDS];
    struct comm_buf *part[HW_MAX_SHARDS] = {0};
    struct vtime known[HW_MAX_SHARDS];
    known[0] = mx->times.reduced;
    TRY(memoryx_gather(mx, STREAM_MSG_NORM, step, 0, msg));
    for (int i = 0; i < mx->ports->n_peers; i++) {
        known[i + 1] = msg[i].span.last;
        part[i + 1] = msg[i].payload;
    }
    *at = vtime_latest_of(comm_recorder(mx->net->comm), known, mx->n_shards);
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
