// SPDX-License-Identifier: Apache-2.0
/* Gradient noise scale: B_simple = tr(Sigma) / |G|^2, where Sigma is the covariance of the gradient
 * of a sample and G its mean.  With the gradient g_B of a batch of B samples
 *     E |g_B|^2 = |G|^2 + tr(Sigma) / B,
 * so that a small batch and a large one give both (McCandlish et al. 2018, eq. A.2 and A.3).  The
 * small batches are the micro-shards, the large one is the batch of the step: which
 * samples make a micro-shard does not depend on the number of systems, and none is ever cut. */
#include "memoryx_noise_scale.h"

#include "memoryx_loss_scale.h"

#include <math.h>

/* A ratio of means, each over many steps, because the estimates of a single step are noisy and
 * their ratio is biased. */
static void add_to_mean(double *mean, double value, int64_t steps)
{
    const double least_share = 0.01; /* of the newest step */
    const double share = fmax(1.0 / (double)(steps + 1), least_share);
    *mean += share * (value - *mean);
}

void memoryx_noise_step(struct memoryx_noise *n, double n_micro_shards, double samples,
                        int64_t steps)
{
    const double gradient =
        (n_micro_shards * n->batch_square - n->micro_shard_square) / (n_micro_shards - 1);
    const double variance =
        samples * (n->micro_shard_square - n->batch_square) / (1 - 1 / n_micro_shards);
    add_to_mean(&n->gradient, gradient, steps);
    add_to_mean(&n->variance, variance, steps);
    n->scale = n->gradient > 0 ? n->variance / n->gradient : NAN;
}

/* The gradient of a micro-shard is that of its share of the loss, n_micro_shards of which have the
 * batch's gradient as their mean. */
void memoryx_noise_after(struct memoryx *mx)
{
    const struct stream_batch *b = &mx->pass->batch;
    const double n = (double)b->n_micro_shards;
    struct memoryx_noise *noise = &mx->noise;
    noise->known = mx->pass->squares && b->n_micro_shards > 1 && isfinite(mx->batch.grad_norm);
    if (noise->known) {
        const double factor =
            memoryx_loss_factor(mx, mx->batch.sums.n_tokens) / memoryx_gradient_scale(mx);
        noise->micro_shard_square = n * factor * factor * mx->micro_shard_squares;
        noise->batch_square = mx->batch.grad_norm * mx->batch.grad_norm;
        memoryx_noise_step(noise, n, (double)b->batch_size / n, mx->noise_steps++);
    }
    mx->batch.noise = *noise;
}
