// SPDX-License-Identifier: Apache-2.0
/* Gradient noise scale: B_simple = tr(Sigma) / |G|^2, with Sigma the covariance of the gradient of
 * a sample and G its mean. The gradient g_B of a batch of B samples has E |g_B|^2 = |G|^2 +
 * tr(Sigma) / B, so a small batch and a large one determine both (McCandlish et al. 2018, eq. A.2
 * and A.3). The small batches are the micro-shards, the large one is the batch of the step. The
 * samples of a micro-shard do not depend on the number of systems, and no micro-shard is ever
 * divided. */
#include "memoryx_noise_scale.h"

#include "memoryx_loss_scale.h"

#include <math.h>

/* The scale is a ratio of means over many steps, because the estimates of one step are noisy and
 * their ratio is biased. */
static void add_to_mean(double *mean, double value, int64_t steps)
{
    const double least_share = 0.01; /* least weight of the newest step */
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

/* The gradient of a micro-shard is scaled so that the mean over all n_micro_shards micro-shards is
 * the gradient of the batch. */
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
