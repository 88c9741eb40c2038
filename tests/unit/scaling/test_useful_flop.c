// SPDX-License-Identifier: Apache-2.0
/* Useful FLOPs of rows and trainings whose masks change: RigL computes the gradients of pruned
 * weights in the steps before an update, so that these steps have more useful FLOPs. */
#include "../../../src/scaling/scaling_schedule.h"
#include "../../support/small_run.h"
#include "../../support/test.h"

#include <wsc/scaling.h>

#include <stdio.h>

enum { NEVER = 100000 };

/* The mean step of steps 3 to 10, and of a training of @p steps if that is above 0. */
static void point_of(int freq, int64_t steps, struct scaling_row *row)
{
    struct small_config config;
    char text[160];
    const char *const sets[] = {text, "cluster.jitter=0", NULL};
    (void)snprintf(text, sizeof text,
                   "sparsity={algorithm: rigl, sparsity: 0.9, drop_fraction: 0.3, "
                   "update: {freq: %d}}",
                   freq);
    T_OK(small_config_init(&config, 1, sets));
    const struct scaling_model model = {"small", &config.params};
    T_OK(scaling_point(&model, &config.cluster, 1, 6, row));
    if (steps) T_OK(scaling_over_schedule(&model, &config.cluster, steps, row));
    small_config_fini(&config);
}

/* Of steps 3 to 10 those with numbers 3, 6 and 9 come before an update after each third step. */
TEST(useful_flop, a_row_has_those_of_the_steps_that_it_measures)
{
    struct scaling_row all, third, none;
    point_of(1, 0, &all);
    point_of(3, 0, &third);
    point_of(NEVER, 0, &none);
    T_EQ(third.n_steps, 8);
    CU_ASSERT(all.useful_flop_per_token > 1.2 * none.useful_flop_per_token);
    const double mean = (3 * all.useful_flop_per_token + 5 * none.useful_flop_per_token) / 8;
    T_NEAR(third.useful_flop_per_token / mean, 1, 1e-12);
    const double per_flop = all.mfu / all.useful_flop_per_token / all.tokens_per_s;
    T_NEAR(third.mfu / (third.useful_flop_per_token * third.tokens_per_s * per_flop), 1, 1e-12);
}

/* Every step but the first of so many ends with an update, or every third one. */
TEST(useful_flop, a_training_has_those_of_dense_gradients)
{
    enum { STEPS = 300 };
    struct scaling_row all, third, none, first, training;
    point_of(1, 0, &all);
    point_of(NEVER, 0, &none);
    point_of(1, STEPS, &first);
    T_NEAR(first.useful_flop_per_token / all.useful_flop_per_token, 1, 2.0 / STEPS);
    point_of(NEVER, STEPS, &training);
    T_NEAR(training.useful_flop_per_token / none.useful_flop_per_token, 1, 1e-12);
    point_of(3, STEPS, &third);
    const double mean = (all.useful_flop_per_token + 2 * none.useful_flop_per_token) / 3;
    T_NEAR(third.useful_flop_per_token / mean, 1, 2.0 / STEPS);
    const double per_flop = all.mfu / all.useful_flop_per_token / all.tokens_per_s;
    T_NEAR(third.mfu / (third.useful_flop_per_token * third.tokens_per_s * per_flop), 1, 1e-9);
}

/* The N_SWEPT rows of a sweep over sparsities on one system, of dense weights and of 0.9; the
 * caller frees them. */
enum { N_SWEPT = 2 };
static struct scaling_variant *swept(struct small_config *config)
{
    struct scaling_values values;
    struct scaling_variant *variant = NULL;
    const struct scaling_model model = {"small", &config->params};
    const int64_t systems = 1;
    const struct scaling_sweep sweep = {.model = &model,
                                        .n_models = 1,
                                        .num_csx = &systems,
                                        .n_counts = 1,
                                        .global_batch = 6,
                                        .cluster = &config->cluster};
    int n = 0;
    T_OK(scaling_values_parse(&values, "sparsity=0.9"));
    T_OK(scaling_vary(&sweep, &values, &variant, &n));
    CU_ASSERT_FATAL(n == N_SWEPT);
    return variant;
}

/* A sweep over sparsities keeps the updates of RigL and SET. */
TEST(useful_flop, a_sweep_over_sparsities_keeps_the_algorithm)
{
    static const char *const algorithm[] = {"rigl", "set"};
    for (int i = 0; i < 2; i++) {
        struct small_config config;
        struct scaling_row row;
        char text[160];
        const char *const sets[] = {text, "cluster.jitter=0",
                                    "cluster.stream.mask_rate=1e4 params/s", NULL};
        (void)snprintf(text, sizeof text,
                       "sparsity={algorithm: %s, sparsity: 0.9, drop_fraction: 0.3, "
                       "update: {freq: 3}}",
                       algorithm[i]);
        T_OK(small_config_init(&config, 1, sets));
        const struct scaling_model model = {"small", &config.params};
        T_OK(scaling_point(&model, &config.cluster, 1, 6, &row));
        struct scaling_variant *variant = swept(&config);
        T_EQ(variant[1].row[0].step_time_ps, row.step_time_ps);
        T_EQ(variant[1].row[0].n_steps, row.n_steps);
        T_NEAR(variant[1].row[0].useful_flop_per_token, row.useful_flop_per_token, 0);
        T_EQ(variant[0].row[0].n_steps, 1); /* dense weights */
        scaling_variants_free(&variant, N_SWEPT);
        small_config_fini(&config);
    }
}

/* The row of 0.9 in a sweep of a model with @p sparsity. */
static void swept_row(const char *sparsity, struct scaling_row *row)
{
    struct small_config config;
    const char *const sets[] = {sparsity, "cluster.jitter=0", NULL};
    T_OK(small_config_init(&config, 1, sets));
    struct scaling_variant *variant = swept(&config);
    *row = variant[1].row[0];
    scaling_variants_free(&variant, N_SWEPT);
    small_config_fini(&config);
}

/* A row has the zeros that it is named by, also where masks of the training begin late: updates
 * begin at step 0, or masks are static. */
TEST(useful_flop, a_sweep_over_sparsities_has_its_fraction_from_the_first_step)
{
    static const struct {
        const char *late, *expected;
    } sweeps[] = {
        {"sparsity={algorithm: rigl, sparsity: 0.9, drop_fraction: 0.3, update: {freq: 10, start: "
         "20}}",
         "sparsity={algorithm: rigl, sparsity: 0.9, drop_fraction: 0.3, update: {freq: 10}}"},
        {"sparsity={algorithm: set, sparsity: 0.5, drop_fraction: {type: cosine, init: 0.3, "
         "half_period: 8}, update: {freq: 2, start: 5}}",
         "sparsity={algorithm: set, sparsity: 0.5, drop_fraction: {type: cosine, init: 0.3, "
         "half_period: 8}, update: {freq: 2}}"},
        {"sparsity={algorithm: rigl, sparsity: 0.9, drop_fraction: 0.3, update: {steps: [5, 7]}}",
         "sparsity=0.9"}};
    for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++) {
        struct scaling_row late, expected;
        swept_row(sweeps[i].late, &late);
        swept_row(sweeps[i].expected, &expected);
        T_EQ(late.step_time_ps, expected.step_time_ps);
        T_NEAR(late.useful_flop_per_token, expected.useful_flop_per_token, 0);
        CU_ASSERT(late.useful_flop_per_token < 0.9 * late.flop_per_token);
    }
}
