// SPDX-License-Identifier: Apache-2.0
/* A sweep is compared with published points of its own wafers, batch, sequence length and
 * micro-batch only, and every point that is left out is reported with what differs. */
#include "../../support/test.h"

#include <wsc/mem.h>
#include <wsc/validation.h>

#include <stdio.h>
#include <string.h>

static char skipped[1024];

static void note(const struct validation_point *point, const char *why)
{
    const size_t n = strlen(skipped);
    (void)snprintf(skipped + n, sizeof skipped - n, "%s: %s\n", point->id, why);
}

/* Which of @p points remain of a weak sweep of one model on 1 and 2 CS-2s. */
static int select_of(struct validation_point *points, int n)
{
    struct zoo_params params = {.model.max_position_embeddings = 2048};
    struct hw_machine machine;
    T_OK(hw_machine_parse(&machine, NULL, NULL, 0, NULL, 0));
    const struct scaling_model model = {"gpt", &params};
    const int64_t counts[] = {1, 2};
    const struct scaling_row rows[] = {
        {.model = "gpt", .num_csx = 1, .global_batch = 128, .micro_batch = 8},
        {.model = "gpt", .num_csx = 2, .global_batch = 256, .micro_batch = 8}};
    const struct scaling_sweep sweep = {
        .model = &model, .n_models = 1, .num_csx = counts, .n_counts = 2, .cluster = &machine};
    *skipped = '\0';
    T_OK(validation_points_select(points, &n, &sweep, rows, "configs/cluster", note));
    hw_machine_fini(&machine);
    return n;
}

TEST(comparable_points, conditions_decide)
{
    const struct validation_point like = {.model = "gpt",
                                          .num_csx = 1,
                                          .cluster = "cs2",
                                          .global_batch = 128,
                                          .micro_batch = CONF_AUTO,
                                          .msl = 2048};
    struct validation_point p[8];
    for (int i = 0; i < 8; i++)
        p[i] = like;
    static const char *const id[] = {"same",  "machine", "batch", "length",
                                     "micro", "count",   "two",   "installation"};
    for (int i = 0; i < 8; i++)
        (void)snprintf(p[i].id, sizeof p[i].id, "%s", id[i]);
    (void)snprintf(p[1].cluster, sizeof p[1].cluster, "cs3");
    p[2].global_batch = 264;
    p[3].msl = 1024;
    p[4].micro_batch = 16;
    p[5].num_csx = 4;
    p[6].num_csx = 2;
    p[6].global_batch = 256;
    (void)snprintf(p[7].cluster, sizeof p[7].cluster, "andromeda");
    T_EQ(select_of(p, 8), 3);
    T_STR(p[0].id, "same");
    T_STR(p[1].id, "two");
    T_STR(p[2].id, "installation");
    T_STR(skipped, "machine: machine CS-3, in this sweep CS-2\n"
                   "batch: global batch 264, in this sweep 128\n"
                   "length: sequence length 1024, in this sweep 2048\n"
                   "micro: micro-batch 16, in this sweep 8\n"
                   "count: 4 systems, which this sweep leaves out\n");
}

TEST(comparable_points, other_models_say_nothing_and_unknown_conditions_pass)
{
    struct validation_point p[] = {{.model = "bert", .num_csx = 1, .cluster = "cs3"},
                                   {.model = "gpt", .num_csx = 2, .tokens_per_s = 1}};
    T_EQ(select_of(p, 2), 1);
    T_STR(p[0].model, "gpt");
    T_STR(skipped, "");
}

/* Two systems of the sweep train 2 x 90 tokens/s where one trains 100: a speedup of 1.5 is 150.  A
 * sample of the sweep has 4 tokens, whatever positions the model has. */
TEST(comparable_points, samples_and_speedups_become_tokens)
{
    struct zoo_params params = {.model.max_position_embeddings = 2048};
    struct hw_machine machine;
    struct validation_point p[] = {
        {.model = "gpt", .num_csx = 1, .tokens_per_s = 3, .unit = VALIDATION_SAMPLES_PER_S},
        {.model = "gpt", .num_csx = 2, .tokens_per_s = 1.5, .unit = VALIDATION_SPEEDUPS}};
    int n = 2;
    T_OK(hw_machine_parse(&machine, NULL, NULL, 0, NULL, 0));
    const struct scaling_model model = {"gpt", &params};
    const int64_t count[] = {1, 2};
    const struct scaling_row row[] = {
        {.model = "gpt", .num_csx = 1, .tokens_per_s = 100, .samples_per_s = 25, .speedup = 1},
        {.model = "gpt", .num_csx = 2, .tokens_per_s = 180, .samples_per_s = 45, .speedup = 1.8}};
    const struct scaling_sweep sweep = {
        .model = &model, .n_models = 1, .num_csx = count, .n_counts = 2, .cluster = &machine};
    T_OK(validation_points_select(p, &n, &sweep, row, "configs/cluster", note));
    T_EQ(n, 2);
    T_NEAR(p[0].tokens_per_s, 3 * 4, 0);
    T_NEAR(p[1].tokens_per_s, 150, 1e-12);
    T_EQ(p[1].unit, VALIDATION_TOKENS_PER_S);
    hw_machine_fini(&machine);
}

TEST(comparable_points, a_machine_without_a_file_is_named)
{
    struct zoo_params params = {.model.max_position_embeddings = 2048};
    struct hw_machine machine;
    struct validation_point p = {.model = "gpt", .num_csx = 1, .cluster = "cs9"};
    int n = 1;
    T_OK(hw_machine_parse(&machine, NULL, NULL, 0, NULL, 0));
    const struct scaling_model model = {"gpt", &params};
    const int64_t count = 1;
    const struct scaling_row row = {.model = "gpt", .num_csx = 1};
    const struct scaling_sweep sweep = {
        .model = &model, .n_models = 1, .num_csx = &count, .n_counts = 1, .cluster = &machine};
    T_EQ(validation_points_select(&p, &n, &sweep, &row, "configs/cluster", note), WSC_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "configs/cluster/cs9.yaml"));
    hw_machine_fini(&machine);
}
