// SPDX-License-Identifier: Apache-2.0
/* Loss scaling: a factor on the loss keeps gradients in the range of a format with few exponents;
 * the table of formats says of which (wsc/num_formats.h). The mean gradient is divided by it before
 * it is used. */
#include "memoryx_loss_scale.h"

#include <math.h>

static bool scales(const struct model *model)
{
    return num_formats[model->format].loss_scaling != NUM_LOSS_UNSCALED;
}

bool memoryx_scales_dynamically(const struct zoo_params *params, const struct model *model)
{
    return scales(model) && params->optimizer.loss_scaling_factor == ZOO_LOSS_SCALE_DYNAMIC;
}

void memoryx_scale_start(struct memoryx *mx)
{
    const double factor = mx->config.params->optimizer.loss_scaling_factor;
    mx->scaler = (struct memoryx_scaler){.scale = 1};
    if (memoryx_scales_dynamically(mx->config.params, mx->net->model))
        mx->scaler.scale = zoo_loss_scales(mx->config.params).first;
    else if (scales(mx->net->model))
        mx->scaler.scale = factor;
}

double memoryx_cut_scale(struct memoryx *memoryx)
{
    const double before = memoryx->scaler.scale;
    const double most = zoo_loss_scales(memoryx->config.params).most;
    if (!memoryx_scales_dynamically(memoryx->config.params, memoryx->net->model)) return 0;
    if (!(before > most)) return 0;
    memoryx->scaler.scale = most;
    return before;
}

double memoryx_loss_factor(const struct memoryx *mx, int64_t n_tokens)
{
    const struct zoo_model *m = &mx->config.params->model;
    if (m->loss_scaling == ZOO_LOSS_BATCH_SIZE)
        return m->loss_weight / (double)mx->pass->batch.batch_size;
    return 1.0 / (double)n_tokens;
}

/* A wafer differentiates the mean loss times the scale. The number of tokens that count is known
 * only when all wafers have reported, so wafers divide by the number of all tokens. */
double memoryx_gradient_scale(const struct memoryx *mx)
{
    if (!scales(mx->net->model)) return 1.0;
    const int64_t n_tokens = mx->pass->batch.batch_size * mx->net->model->T;
    return mx->scaler.scale * memoryx_loss_factor(mx, n_tokens);
}

static enum wsc_err shrink(struct memoryx *mx, int64_t step)
{
    struct memoryx_scaler *s = &mx->scaler;
    const double least = zoo_loss_scales(mx->config.params).least;
    if (s->scale <= least)
        return wsc_err_hint(WSC_RAISE(WSC_NUMERIC,
                                      "step %lld: the gradient is not finite with the least loss "
                                      "scale, %g",
                                      (long long)step + 1, least),
                            "lower the learning rate or lengthen the warm-up");
    s->scale = fmax(least, s->scale / 2);
    s->good_steps = 0;
    s->overflows++;
    s->skipped++;
    return WSC_OK;
}

static void grow(struct memoryx *mx)
{
    struct memoryx_scaler *s = &mx->scaler;
    const double most = zoo_loss_scales(mx->config.params).most;
    if (++s->good_steps < mx->config.params->optimizer.steps_per_increase) return;
    s->scale = fmin(most, s->scale * 2);
    s->good_steps = s->overflows = 0;
}

/* Each shard has the norm, so all shards decide equally. */
enum wsc_err memoryx_scale_after(struct memoryx *mx, int64_t step)
{
    mx->batch.loss_scale = mx->scaler.scale;
    mx->batch.skipped = false;
    if (!mx->pass->values || !memoryx_scales_dynamically(mx->config.params, mx->net->model))
        return WSC_OK;
    mx->batch.skipped = !isfinite(mx->batch.grad_norm);
    if (mx->batch.skipped) return shrink(mx, step);
    grow(mx);
    return WSC_OK;
}
