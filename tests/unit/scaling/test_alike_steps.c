// SPDX-License-Identifier: Apache-2.0
/* The mean step of a training whose masks change, against a run that simulates every step:
 * trainings that begin dense, fractions that change, several entries; the groups of steps
 * from which it is made. */
#include "../../../src/scaling/alike_steps.h"
#include "../../../src/scaling/scaling_schedule.h"
#include "../../support/small_run.h"
#include "../../support/test.h"

#include <wsc/mem.h>
#include <wsc/model.h>
#include <wsc/scaling.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Steps of a run here; the first of them fill empty links, and cost what later ones like them do.
 */
enum { STEPS = SMALL_MAX_STEPS, FIRST = 2 };

static struct small_config config;

static void set_up(const char *sparsity, const char *more)
{
    char text[512];
    const char *const sets[] = {text, "cluster.memoryx.link_rate=1 MB/s", more, NULL};
    (void)snprintf(text, sizeof text, "sparsity=[%s]", sparsity);
    T_OK(small_config_init(&config, 1, sets));
}

/* Useful FLOPs of a token in the mean of all steps, by the model alone. */
static double useful_of_steps(void)
{
    struct model *m = NULL;
    double sum = 0;
    T_OK(model_create(&m, &config.params, HW_STREAM_BLOCK));
    for (int t = 0; t < STEPS; t++)
        sum += model_useful_flop_per_token(m, true, t);
    model_destroy(&m);
    return sum / STEPS;
}

/* Time of a step in the mean of a run whose first steps are taken as the third. */
static double time_of_steps(void)
{
    struct small_result r;
    T_OK(small_run_alone(&config, STEPS, NULL, &r));
    const int64_t later = r.batch[STEPS - 1].end.ps - r.batch[FIRST - 1].end.ps;
    return (double)(later + FIRST * r.batch[FIRST].time_ps) / STEPS;
}

/* All of them begin with at least three dense steps. */
TEST(alike_steps, the_mean_is_that_of_a_run)
{
    static const char *const sparsity[] = {
        "{algorithm: rigl, sparsity: 0.9, drop_fraction: 0.3, update: {freq: 4, start: 5}}",
        "{algorithm: set, sparsity: 0.9, drop_fraction: 0.3, update: {freq: 4, start: 5}}",
        "{algorithm: rigl, sparsity: 0.5, drop_fraction: 0.3, update: {freq: 2, start: 5}}",
        "{algorithm: rigl, sparsity: 0.9, drop_fraction: 0.4, update: {steps: [4, 9]}}",
        "{algorithm: gmp, sparsity: {type: linear, init: 0.1, slope: 0.05}, update: {freq: 3, "
        "start: 4}}",
        "{algorithm: rigl, sparsity: {type: linear, init: 0.1, slope: 0.05}, drop_fraction: 0.3, "
        "update: {freq: 1, start: 4}}",
        "{algorithm: gmp, sparsity: {type: cycling, values: [0.9, 0.2, 0.6]}, update: {freq: 2, "
        "start: 4}}",
        "{algorithm: rigl, sparsity: 0.9, drop_fraction: 0.5, update: {freq: 3, start: 4}, "
        "param_filter: '*proj_*'}, {algorithm: set, sparsity: 0.8, drop_fraction: 0.3, update: "
        "{freq: 4, start: 6}, param_filter: '*linear_layer.weight'}"};
    for (size_t i = 0; i < sizeof sparsity / sizeof *sparsity; i++) {
        struct scaling_row row;
        set_up(sparsity[i], "cluster.jitter=0");
        const struct scaling_model model = {"small", &config.params};
        T_OK(scaling_point(&model, &config.cluster, 1, SMALL_BATCH, &row));
        T_OK(scaling_over_schedule(&model, &config.cluster, STEPS, &row));
        T_NEAR(row.useful_flop_per_token / useful_of_steps(), 1, 1e-4);
        T_NEAR((double)row.step_time_ps / time_of_steps(), 1, 1e-3);
        T_NEAR(row.samples_per_s * (double)row.step_time_ps * 1e-12, SMALL_BATCH, 1e-6);
        small_config_fini(&config);
        T_EQ(wsc_mem_in_use(WSC_MEM_SCALING), 0);
    }
}

/* Masks of 0.5 keep more weights in each of their steps after a dense start than static ones. */
TEST(alike_steps, a_dense_start_costs_more_than_static_masks)
{
    static const char *const sparsity[] = {
        "{algorithm: rigl, sparsity: 0.5, drop_fraction: 0.3, update: {freq: 2, start: 5}}",
        "{sparsity: 0.5}"};
    struct scaling_row row[2];
    for (int i = 0; i < 2; i++) {
        set_up(sparsity[i], "cluster.jitter=0");
        const struct scaling_model model = {"small", &config.params};
        T_OK(scaling_point(&model, &config.cluster, 1, SMALL_BATCH, &row[i]));
        T_OK(scaling_over_schedule(&model, &config.cluster, 40, &row[i]));
        small_config_fini(&config);
    }
    CU_ASSERT(row[0].useful_flop_per_token > row[1].useful_flop_per_token);
    CU_ASSERT(row[0].step_time_ps > row[1].step_time_ps);
}

/* Five dense steps, then masks at steps 5, 8, ..: three tenths of the weights are dropped at a
 * time, 0.7 are kept, then 0.5. Of 20 steps those with numbers 4, 7, 10, 13, 16 and 19 end with an
 * update.
 */
TEST(alike_steps, steps_are_grouped_by_weights_and_updates)
{
    static const struct {
        unsigned updates, before;
        double kept;
        int n;
    } expected[] = {{0, 0, 0.5, 4}, {0, 0, 0.7, 1}, {0, 0, 1, 4},   {0, 1, 0.5, 4},
                    {0, 1, 0.7, 1}, {1, 0, 0.5, 4}, {1, 0, 0.7, 1}, {1, 0, 1, 1}};
    struct scaling_alike *group;
    int n;
    set_up("{algorithm: rigl, sparsity: 0.5, drop_fraction: 0.3, update: {freq: 3, start: 5}}",
           "cluster.jitter=0");
    T_OK(scaling_alike_find(&config.params.sparsity, 20, &group, &n));
    T_EQ(n, sizeof expected / sizeof *expected);
    for (int i = 0; i < n && n == (int)(sizeof expected / sizeof *expected); i++) {
        T_EQ(group[i].updates, expected[i].updates);
        T_EQ(group[i].before, expected[i].before);
        T_EQ(group[i].n, expected[i].n);
        T_NEAR(group[i].kept, expected[i].kept, 1e-6);
    }
    wsc_free(group);
    small_config_fini(&config);
}

/* Of a million steps some are examined: as many with an update as belong to them, and the mean of a
 * linear fraction up to its limit after half of the run. */
TEST(alike_steps, of_many_steps_some_are_examined)
{
    struct scaling_alike *group;
    double kept = 0, updates = 0, all = 0;
    int n;
    set_up("{algorithm: gmp, sparsity: {type: linear, init: 0, slope: 2.0e-6}, update: {freq: 64}}",
           "cluster.jitter=0");
    T_OK(scaling_alike_find(&config.params.sparsity, 1000000, &group, &n));
    for (int i = 0; i < n; i++) {
        all += (double)group[i].n;
        kept += (double)group[i].n * group[i].kept;
        updates += group[i].updates ? (double)group[i].n : 0;
        CU_ASSERT(group[i].step >= 0 && group[i].step < 1000000);
    }
    T_NEAR(kept / all, 0.25, 1e-4);
    T_NEAR(updates / all * 64, 1, 0.05);
    wsc_free(group);
    small_config_fini(&config);
}

/* Sixteen entries with updates of their own have more combinations than are simulated. */
TEST(alike_steps, many_entries_are_told_apart_by_whether_any_updates)
{
    char text[2048] = "";
    struct scaling_alike *group;
    int n, different = 1;
    for (int e = 0; e < ZOO_MAX_SPARSITIES; e++) {
        char entry[160];
        (void)snprintf(
            entry, sizeof entry,
            "%s{algorithm: set, sparsity: 0.5, drop_fraction: 0.3, param_filter: '*.%d.*', "
            "update: {freq: %d}}",
            e ? ", " : "sparsity=[", e, 2 + e);
        (void)strncat(text, entry, sizeof text - strlen(text) - 1);
    }
    (void)strncat(text, "]", sizeof text - strlen(text) - 1);
    T_OK(small_config_init(&config, 1, (const char *const[]){text, NULL}));
    T_OK(scaling_alike_find(&config.params.sparsity, 5000, &group, &n));
    for (int i = 1; i < n; i++)
        different += !scaling_alike_same_updates(&group[i], &group[i - 1]);
    T_EQ(different, 4);
    T_EQ(n, 4);
    wsc_free(group);
    small_config_fini(&config);
}

/* How much longer jitter makes the mean step of a training on four systems. */
static double longer_by_jitter(const char *sparsity)
{
    double ps[2];
    struct scaling_row row;
    T_OK(small_config_init(&config, 1, (const char *const[]){sparsity, NULL}));
    for (int k = 0; k < 2; k++) {
        const struct scaling_model model = {"small", &config.params};
        config.cluster.jitter = k ? 0.05 : 0;
        T_OK(scaling_point(&model, &config.cluster, 4, 4 * SMALL_BATCH, &row));
        T_OK(scaling_over_schedule(&model, &config.cluster, 400, &row));
        ps[k] = (double)row.step_time_ps;
    }
    small_config_fini(&config);
    return ps[1] / ps[0] - 1;
}

/* Nearly all steps keep a tenth of the weights, so jitter costs about what it costs static
 * masks; these are means of few steps. */
TEST(alike_steps, jitter_makes_the_mean_longer)
{
    const double masks = longer_by_jitter("sparsity={algorithm: rigl, sparsity: 0.9, "
                                          "drop_fraction: 0.3, update: {freq: 4, start: 5}}");
    const double fixed = longer_by_jitter("sparsity=0.9");
    CU_ASSERT(fixed > 0.0002);
    CU_ASSERT(masks > fixed / 3 && masks < fixed * 3);
}
