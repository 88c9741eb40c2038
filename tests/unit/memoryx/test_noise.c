// SPDX-License-Identifier: Apache-2.0
/* The gradient noise scale of gradients whose mean and covariance are known. */
#include "../../support/test.h"

#include "../../../src/memoryx/memoryx_noise_scale.h"
#include <wsc/rng.h>

#include <math.h>

enum { DIMS = 12, LEAVES = 6 };

/* Mean and standard deviation of dimension @p d. */
static double mean_of(int d)
{
    return 0.2 + 0.05 * d;
}

static double deviation_of(int d)
{
    return 1.0 / (1 + d);
}

/* Gradients of the leaves of one step, each the mean of @p samples draws. */
static void draw(double g[LEAVES][DIMS], int64_t step, int samples)
{
    for (int i = 0; i < LEAVES; i++)
        for (int d = 0; d < DIMS; d++) {
            const uint64_t stream = wsc_rng_stream(WSC_RNG_TEST, (uint64_t)i * DIMS + (uint64_t)d);
            const double z = wsc_rng_normal(31, stream, (uint64_t)step);
            g[i][d] = mean_of(d) + deviation_of(d) * z / sqrt(samples);
        }
}

static void squares(const double g[LEAVES][DIMS], struct memoryx_noise *n)
{
    n->micro_shard_square = n->batch_square = 0;
    for (int d = 0; d < DIMS; d++) {
        double sum = 0;
        for (int i = 0; i < LEAVES; i++) {
            sum += g[i][d];
            n->micro_shard_square += g[i][d] * g[i][d] / LEAVES;
        }
        n->batch_square += sum / LEAVES * (sum / LEAVES);
    }
}

/* The estimate of tr(Sigma) is the sample covariance with n - 1, that of |G|^2 what is left of the
 * batch's square without its own variance. */
TEST(noise, one_step_is_the_sample_covariance)
{
    for (int64_t step = 0; step < 20; step++) {
        double g[LEAVES][DIMS], spread = 0;
        struct memoryx_noise n = {0};
        draw(g, step, 1);
        squares((const double(*)[DIMS])g, &n);
        for (int d = 0; d < DIMS; d++) {
            double mean = 0;
            for (int i = 0; i < LEAVES; i++)
                mean += g[i][d] / LEAVES;
            for (int i = 0; i < LEAVES; i++)
                spread += (g[i][d] - mean) * (g[i][d] - mean) / (LEAVES - 1);
        }
        memoryx_noise_step(&n, LEAVES, 1, 0);
        T_NEAR(n.variance, spread, 1e-12);
        T_NEAR(n.gradient, n.batch_square - spread / LEAVES, 1e-12);
        if (n.gradient > 0) T_NEAR(n.scale, n.variance / n.gradient, 1e-12);
    }
}

static void check_long_run(int samples)
{
    struct memoryx_noise n = {0};
    double trace = 0, square = 0, variance = 0, gradient = 0, g[LEAVES][DIMS];
    enum { STEPS = 4000 };
    for (int d = 0; d < DIMS; d++) {
        trace += deviation_of(d) * deviation_of(d);
        square += mean_of(d) * mean_of(d);
    }
    for (int64_t step = 0; step < STEPS; step++) {
        draw(g, step, samples);
        squares((const double(*)[DIMS])g, &n);
        memoryx_noise_step(&n, LEAVES, samples, step);
        variance += n.variance / STEPS;
        gradient += n.gradient / STEPS;
    }
    T_NEAR(variance, trace, 0.02);
    T_NEAR(gradient, square, 0.02);
    T_NEAR(variance / gradient, trace / square, 0.05);
}

TEST(noise, many_steps_give_the_covariance_that_was_drawn)
{
    check_long_run(1);
    check_long_run(4); /* leaves of four samples: the same, of one sample */
}

/* Equal gradients have no noise; opposite ones nothing else. */
TEST(noise, the_ends)
{
    struct memoryx_noise same = {.micro_shard_square = 5, .batch_square = 5};
    memoryx_noise_step(&same, 8, 1, 0);
    T_NEAR(same.scale, 0, 1e-15);
    struct memoryx_noise opposite = {.micro_shard_square = 5, .batch_square = 0};
    memoryx_noise_step(&opposite, 8, 1, 0);
    CU_ASSERT(isnan(opposite.scale) && opposite.variance > 0 && opposite.gradient < 0);
}

/* The first hundred steps count alike, later ones by a hundredth each. */
TEST(noise, means_are_over_a_hundred_steps)
{
    struct memoryx_noise n = {0};
    double sum = 0;
    for (int64_t step = 0; step < 100; step++) {
        n.micro_shard_square = 2 + (double)(step % 7);
        n.batch_square = 1;
        memoryx_noise_step(&n, 2, 1, step);
        sum += 2 * (n.micro_shard_square - 1);
    }
    T_NEAR(n.variance, sum / 100, 1e-12);
    const double before = n.variance;
    memoryx_noise_step(&n, 2, 1, 5000);
    T_NEAR(n.variance, before + 0.01 * (2 * (n.micro_shard_square - 1) - before), 1e-12);
}
