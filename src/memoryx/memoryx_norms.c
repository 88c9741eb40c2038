// SPDX-License-Identifier: Apache-2.0
/* Norms of the gradient and of the weights: square root of the sum of squares. Sums over blocks of
 * a tensor follow the canonical tree over the tensor's blocks (memoryx_tensor_sums.c), sums over
 * tensors their order, so the bits do not depend on the number of shards. Clipping, the loss scale
 * and the noise scale use the norm. memoryx_update.c calls. */
#include "memoryx_norms.h"

#include "memoryx_exchange.h"
#include "memoryx_tensor_sums.h"

#include <wsc/mem.h>

#include <math.h>
#include <string.h>

static double gradient_squares(const void *ctx, int tensor, int64_t first, int64_t n)
{
    const struct memoryx *mx = ctx;
    return mx->part[tensor].g ? num_sum_squares(mx->part[tensor].g + first, n) : 0;
}

static double weight_squares(const void *ctx, int tensor, int64_t first, int64_t n)
{
    const struct memoryx *mx = ctx;
    return num_sum_squares(mx->part[tensor].w + first, n);
}

static bool has_summaries(const struct memoryx *mx)
{
    return mx->config.params->optimizer.log_summaries;
}

/* This shard's sums of squares of the gradients, followed by those of the weights if summaries are
 * wanted. */
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

/* One sum per tensor, of the gradients or of the weights. */
static void squares_of_tensors(const struct memoryx *mx, struct comm_buf *const *part, bool weights,
                               double *of_tensor)
{
    const double *sums[HW_MAX_SHARDS];
    for (int m = 0; m < mx->n_shards; m++) {
        const double *first = comm_buf_data(part[m]);
        sums[m] = first + (weights ? memoryx_count_sums(mx, m) : 0);
    }
    memoryx_joint_sums(mx, sums, of_tensor);
}

static double norm_of(const struct memoryx *mx, const double *of_tensor)
{
    double total = 0;
    for (int i = 0; i < mx->net->model->n_tensors; i++)
        if (!mx->net->model->tensor[i].reference) total += of_tensor[i];
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

/* Shard 0 stores the summaries; all shards get the norm. */
static enum wsc_err join_norms(const struct memoryx *unused, void *ctx,
                               struct comm_buf *const *part, struct comm_buf **total)
{
    struct memoryx *mx = ctx;
    double *of_tensor, norm;
    (void)unused;
    TRY(comm_buf_create(mx->net->comm, total, (int64_t)sizeof norm));
    TRY_NEW(of_tensor, WSC_MEM_MEMORYX, mx->net->model->n_tensors);
    squares_of_tensors(mx, part, false, of_tensor);
    norm = norm_of(mx, of_tensor);
    memcpy(comm_buf_data(*total), &norm, sizeof norm);
    if (has_summaries(mx)) {
        layer_norms(mx, of_tensor, mx->layer_norm);
        squares_of_tensors(mx, part, true, of_tensor);
        mx->batch.layer_grad_norm = mx->layer_norm;
        mx->batch.params_norm = norm_of(mx, of_tensor);
    }
    wsc_free(of_tensor);
    return WSC_OK;
}

enum wsc_err memoryx_share_norm(struct memoryx *mx, int64_t step, double *norm, struct vtime *at)
{
    const struct memoryx_round round = {.step = step,
                                        .index = MEMORYX_ROUND_NORM,
                                        .bytes = STREAM_SIGNAL_BYTES,
                                        .combine = join_norms,
                                        .ctx = mx};
    struct comm_buf *own = NULL, *total = NULL;
    *norm = 0;
    *at = mx->times.reduced;
    if (mx->pass->values) TRY(own_squares(mx, &own));
    TRY(memoryx_exchange(mx, &round, own, &total, at));
    if (total) memcpy(norm, comm_buf_data(total), sizeof *norm);
    comm_buf_unref(&total);
    return WSC_OK;
}
