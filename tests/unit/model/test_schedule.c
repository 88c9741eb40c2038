// SPDX-License-Identifier: Apache-2.0
/* Every scheduler, step by step, against PyTorch or the formula in double precision;
 * tests/fixtures/make_schedules.py made the rates. */
#include "../../../src/model/model_lr_scale.h"
#include "../../support/test.h"

#include <wsc/conf.h>
#include <wsc/mem.h>
#include <wsc/model.h>
#include <wsc/zoo.h>

#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIXTURE "tests/data/schedules.h5"
enum { MAX_STEPS = 64, YAML_BYTES = 1024 };

static const char base[] =
    "train_input: {data_processor: GptHDF5MapDataProcessor, data_dir: d, batch_size: 8}\n"
    "model: {vocab_size: 9}\n"
    "optimizer: {optimizer_type: AdamW, learning_rate: 1, weight_decay: 1}\n";

static void read_yaml(hid_t set, char yaml[YAML_BYTES])
{
    hid_t attr = H5Aopen(set, "yaml", H5P_DEFAULT), type = H5Aget_type(attr);
    const size_t n = H5Tget_size(type);
    CU_ASSERT_FATAL(n < YAML_BYTES);
    memset(yaml, 0, YAML_BYTES);
    CU_ASSERT(H5Aread(attr, type, yaml) >= 0);
    (void)H5Tclose(type);
    (void)H5Aclose(attr);
}

static int read_rates(hid_t set, double rate[MAX_STEPS])
{
    hid_t space = H5Dget_space(set);
    const int n = (int)H5Sget_simple_extent_npoints(space);
    CU_ASSERT_FATAL(n > 0 && n <= MAX_STEPS);
    CU_ASSERT(H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, rate) >= 0);
    (void)H5Sclose(space);
    return n;
}

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-12 * fmax(fabs(a), fabs(b)) + 1e-15;
}

/* What the dump says is the same schedule again. */
static void check_dump(const struct zoo_params *p, const double *rate, int n)
{
    struct zoo_params again;
    char *text;
    T_OK(zoo_params_dump(p, &text));
    T_OK(zoo_params_parse(&again, "dump.yaml", text, strlen(text), NULL, 0));
    for (int t = 0; t < n; t++)
        CU_ASSERT(is_near(model_schedule_value(&again.optimizer.learning_rate, t), rate[t]));
    zoo_params_fini(&again);
    wsc_free(text);
}

/* Count the schedulers of the case in @p cases, by type. */
static void check_case(const char *name, const char *yaml, const double *rate, int n, int *cases)
{
    char lr[YAML_BYTES + 32], wd[YAML_BYTES + 32];
    const struct conf_set sets[] = {{.text = lr}, {.text = wd}};
    struct zoo_params p;
    (void)snprintf(lr, sizeof lr, "optimizer.learning_rate=%s", yaml);
    (void)snprintf(wd, sizeof wd, "optimizer.weight_decay=%s", yaml);
    T_OK(zoo_params_parse(&p, "base.yaml", base, sizeof base - 1, sets, 2));
    for (int t = 0; t < n; t++) {
        const double lr_t = model_schedule_value(&p.optimizer.learning_rate, t);
        if (!is_near(lr_t, rate[t]))
            (void)fprintf(stderr, "%s, step %d: %.17g, not %.17g\n", name, t, lr_t, rate[t]);
        CU_ASSERT(is_near(lr_t, rate[t]));
        CU_ASSERT(model_schedule_value(&p.optimizer.weight_decay, t) == lr_t);
    }
    for (int i = 0; i < p.optimizer.learning_rate.n; i++)
        cases[p.optimizer.learning_rate.node[i].scheduler]++;
    check_dump(&p, rate, n);
    zoo_params_fini(&p);
}

static herr_t visit(hid_t file, const char *name, const H5L_info_t *info, void *cases)
{
    char yaml[YAML_BYTES];
    double rate[MAX_STEPS];
    (void)info;
    hid_t set = H5Dopen2(file, name, H5P_DEFAULT);
    read_yaml(set, yaml);
    const int n = read_rates(set, rate);
    (void)H5Dclose(set);
    check_case(name, yaml, rate, n, cases);
    return 0;
}

/* Each scheduler has a case. */
TEST(model_schedule, every_scheduler_step_by_step)
{
    int cases[ZOO_N_SCHEDULES] = {0};
    hid_t file = H5Fopen(FIXTURE, H5F_ACC_RDONLY, H5P_DEFAULT);
    CU_ASSERT_FATAL(file >= 0);
    (void)H5Literate(file, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, visit, cases);
    (void)H5Fclose(file);
    for (int type = 0; type < ZOO_N_SCHEDULES; type++) {
        if (!cases[type]) (void)fprintf(stderr, "no case of scheduler %d\n", type);
        CU_ASSERT(cases[type] > 0);
    }
}

/* Groups of adjust_learning_rate by the names of tensors: matrices of blocks as one group, by their
 * parts, and attention by its projections. */
TEST(model_schedule, groups_of_tensors)
{
#define BLOCK  "model.transformer_decoder.layers.11."
#define EXPERT BLOCK "ffn.experts."
    static const struct {
        const char *name;
        double factor[3];
    } row[] = {
        {"model.embedding_layer.word_embeddings.weight", {1, 3, 1}},
        {"model.embedding_layer.position_embeddings.embed.weight", {1, 3, 1}},
        {BLOCK "self_attn.proj_q_dense_layer.weight", {2, 5, 13}},
        {BLOCK "self_attn.proj_q_dense_layer.bias", {1, 1, 1}},
        {BLOCK "ffn.ffn.0.linear_layer.weight", {2, 7, 1}},
        {BLOCK "ffn.ffn.0.linear_layer_for_glu.weight", {2, 7, 1}},
        {BLOCK "ffn.ffn.1.linear_layer.weight", {2, 11, 1}},
        {EXPERT "experts.1.0.linear_layer.weight", {2, 7, 1}},
        {EXPERT "experts.0.1.linear_layer.weight", {2, 11, 1}},
        {EXPERT "experts.10.1.linear_layer.bias", {1, 1, 1}},
        {EXPERT "shared_experts.1.ffn.0.linear_layer_for_glu.weight", {2, 7, 1}},
        {EXPERT "shared_experts.0.ffn.1.linear_layer.weight", {2, 11, 1}},
        {BLOCK "norm1.weight", {1, 1, 1}},
        {"model.transformer_decoder.norm.weight", {1, 1, 1}},
        {"model.decoder.layers.1.multihead_attn.proj_output_dense_layer.weight", {2, 5, 17}},
        {"model.encoder.layers.1.self_attn.proj_v_dense_layer.weight", {1, 41, 19}},
        {"model.encoder.layers.1.self_attn.proj_output_dense_layer.weight", {1, 41, 23}},
        {"model.encoder.layers.1.ffn.ffn.0.linear_layer.weight", {1, 29, 1}},
        {"model.encoder.layers.1.ffn.ffn.1.linear_layer.weight", {1, 31, 1}},
        {"model.bert_encoder.pooler.pooler.ffn.0.linear_layer.weight", {1, 43, 1}},
        {"model.lm_head.weight", {1, 37, 1}},
    };
    static const struct zoo_lr_scale given[3] = {{.decoder_kernel = 2},
                                                 {.embedding = 3,
                                                  .decoder_attention = 5,
                                                  .decoder_input_ffn = 7,
                                                  .decoder_output_ffn = 11,
                                                  .encoder_attention = 41,
                                                  .encoder_input_ffn = 29,
                                                  .encoder_output_ffn = 31,
                                                  .pooler = 43,
                                                  .lm_head = 37},
                                                 {.decoder_qkv_projection = 13,
                                                  .decoder_output_projection = 17,
                                                  .encoder_qkv_projection = 19,
                                                  .encoder_output_projection = 23}};
    static struct zoo_params p;
    struct model_lr lr;
    for (int k = 0; k < 3; k++)
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
            p.optimizer.adjust_learning_rate = given[k];
            T_OK(model_lr_of(&p, row[i].name, &lr));
            T_NEAR(lr.scale, row[i].factor[k], 0);
        }
}
