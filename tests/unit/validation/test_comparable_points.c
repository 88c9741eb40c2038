// SPDX-License-Identifier: Apache-2.0
/* A sweep is compared with published points of its own model, wafers, batch, sequence length and
 * micro-batch only, and every point that is left out is reported with what differs. */
#include "../../support/test.h"

#include <wsc/mem.h>
#include <wsc/validation.h>

#include <stdio.h>
#include <string.h>

static char skipped[1024];
static const struct validation_point_folders machines = {.machines = "configs/cluster"};

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
    T_OK(validation_points_select(points, &n, &sweep, rows, &machines, note));
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
    T_OK(validation_points_select(p, &n, &sweep, row, &machines, note));
    T_EQ(n, 2);
    T_NEAR(p[0].tokens_per_s, 3 * 4, 0);
    T_NEAR(p[1].tokens_per_s, 150, 1e-12);
    T_EQ(p[1].unit, VALIDATION_TOKENS_PER_S);
    /* The sweep has no rate of one system. */
    struct validation_point lone = {
        .model = "gpt", .num_csx = 2, .tokens_per_s = 1.5, .unit = VALIDATION_SPEEDUPS};
    const struct scaling_sweep larger = {
        .model = &model, .n_models = 1, .num_csx = count + 1, .n_counts = 1, .cluster = &machine};
    n = 1;
    T_OK(validation_points_select(&lone, &n, &larger, row + 1, &machines, note));
    T_EQ(n, 0);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(skipped, "a speedup over one system, which this sweep leaves out"));
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
    T_EQ(validation_points_select(&p, &n, &sweep, &row, &machines, note), WSC_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "configs/cluster/cs9.yaml"));
    hw_machine_fini(&machine);
}

/* Parse gpt3_111m.yaml with @p set, "" for none. */
static void parse_111m(struct zoo_params *params, const char *set)
{
    static const char path[] = "configs/params/gpt3_111m.yaml";
    const struct conf_set sets[] = {{.text = set}};
    char *bytes = NULL;
    size_t n = 0;
    T_OK(conf_read_file(path, &bytes, &n));
    T_OK(zoo_params_parse(params, path, bytes, n, sets, *set ? 1 : 0));
    wsc_free(bytes);
}

/* The step of @p params on one CS-2, and whether a published point of gpt3_111m is kept beside it.
 */
static bool is_kept(const struct zoo_params *params, struct scaling_row *row)
{
    static const struct validation_point_folders folders = {"configs/cluster", "configs/params"};
    const int64_t count = 1;
    struct hw_machine machine;
    T_OK(hw_machine_parse(&machine, NULL, NULL, 0, NULL, 0));
    machine.jitter = 0;
    const struct scaling_model model = {"gpt3_111m", params};
    const struct scaling_sweep sweep = {
        .model = &model, .n_models = 1, .num_csx = &count, .n_counts = 1, .cluster = &machine};
    struct validation_point p = {.model = "gpt3_111m", .num_csx = 1, .micro_batch = CONF_AUTO};
    int n = 1;
    T_OK(scaling_point(&model, &machine, 1, 8, row));
    *skipped = '\0';
    T_OK(validation_points_select(&p, &n, &sweep, row, &folders, note));
    hw_machine_fini(&machine);
    return n == 1;
}

/* A point is of the model of its params file: a sweep whose keys change the step is another
 * model's, and a sweep that has only other values keeps its points. */
TEST(comparable_points, the_model_is_that_of_the_params_file)
{
    static const struct {
        const char *set, *says; /* says NULL: the point is kept */
    } cases[] = {{"", NULL},
                 {"model.dropout_rate=0.3", NULL},
                 {"model.initializer_range=0.5", NULL},
                 {"model.layer_norm_epsilon=1e-4", NULL},
                 {"model.embeddings_scale=2", NULL},
                 {"model.num_hidden_layers=2", "model.num_hidden_layers 10, in this sweep 2"},
                 {"model.filter_size=768", "model.filter_size 3072, in this sweep 768"},
                 {"model.mixed_precision=false", "model.mixed_precision true, in this sweep false"},
                 {"model.nonlinearity=swiglu", "model.nonlinearity gelu, in this sweep swiglu"},
                 {"sparsity=0.5", "sparsity, which is another one in this sweep"},
                 {"model.freeze=[embedding, layers]", "model.freeze"},
                 {"model.lora_params={r: 4, target_modules: [TransformerDecoderLayer, Linear]}",
                  "model.lora_params"}};
    int64_t published = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct zoo_params params = {0};
        struct scaling_row row;
        parse_111m(&params, cases[i].set);
        const bool kept = is_kept(&params, &row);
        if (!i) published = row.step_time_ps;
        T_EQ(kept, cases[i].says == NULL);
        T_EQ(row.step_time_ps == published, cases[i].says == NULL);
        if (cases[i].says && !strstr(skipped, cases[i].says)) T_STR(skipped, cases[i].says);
        zoo_params_fini(&params);
    }
}

/* A publication that states no division of the batch had the whole part of a system at once. */
TEST(comparable_points, a_micro_batch_of_null_is_the_part_of_a_system)
{
    struct validation_point p[] = {
        {.model = "gpt", .id = "all", .num_csx = 2, .global_batch = 256, .micro_batch = CONF_NULL},
        {.model = "gpt", .id = "unknown", .num_csx = 2, .micro_batch = CONF_AUTO},
        {.model = "gpt", .id = "eight", .num_csx = 2, .micro_batch = 8}};
    T_EQ(select_of(p, 3), 2);
    T_STR(p[0].id, "unknown");
    T_STR(p[1].id, "eight");
    T_STR(skipped, "all: micro-batch 128, in this sweep 8\n");
}
