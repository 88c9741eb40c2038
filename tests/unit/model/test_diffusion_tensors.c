// SPDX-License-Identifier: Apache-2.0
/* Tensors of diffusion transformers: counts against published ones and a formula, names,
 * stages, FLOPs. */
#include "../../support/diffusion_case.h"
#include "model_case.h"

#include <wsc/model.h>

#include <math.h>
#include <string.h>

enum { PATCH = 16, FREQUENCIES = 256, CLASSES = 1001, PATCHES = 256, CHANNELS = 4 };

static struct model *make(int64_t C, int64_t L, int64_t heads, enum hw_granularity granularity)
{
    struct zoo_params p = diffusion_params(C, L, heads);
    struct model *m = NULL;
    T_OK(model_create(&m, &p, granularity));
    zoo_params_fini(&p);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    return m;
}

/* A linear layer with bias. */
static int64_t layer(int64_t in, int64_t out)
{
    return in * out + out;
}

static int64_t expected(int64_t C, int64_t L)
{
    const int64_t block = 4 * layer(C, C) + layer(C, 4 * C) + layer(4 * C, C) + 6 * layer(C, C);
    const int64_t embeddings = layer(PATCH, C) + layer(FREQUENCIES, C) + layer(C, C) + CLASSES * C;
    return L * block + embeddings + 2 * layer(C, C) + C * PATCH + CHANNELS;
}

/* Peebles and Xie 2023, table 1, in millions.  There the fixed positions are counted too, and the
 * output layer predicts variances: twice the channels, and a bias for each of its outputs.  With
 * these the count of XL is that which the authors' program prints. */
TEST(diffusion, counts_are_the_published_ones)
{
    static const struct {
        int64_t C, L, heads, millions, exact;
    } size[] = {{384, 12, 6, 33, 0},
                {768, 12, 12, 130, 0},
                {1024, 24, 16, 458, 0},
                {1152, 28, 16, 675, 675129632}};
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        const int64_t C = size[i].C;
        struct model *m = make(C, size[i].L, size[i].heads, HW_STREAM_BLOCK);
        T_EQ(m->n_params, expected(C, size[i].L));
        const int64_t output = C * PATCH + CHANNELS;
        const int64_t theirs = m->n_params + PATCHES * C - output + layer(C, (int64_t)2 * PATCH);
        T_NEAR((double)theirs / 1e6 - (double)size[i].millions, 0, 0.6); /* 130.5 is 130 there */
        if (size[i].exact) T_EQ(theirs, size[i].exact);
        T_EQ(m->n_trained, m->n_params);
        T_EQ(m->T, PATCHES);
        model_destroy(&m);
    }
    struct model *m = make(2048, 30, 16, HW_STREAM_BLOCK);
    T_EQ(m->n_params, 2281078788);
    model_destroy(&m);
}

static const struct model_tensor *named(const struct model *m, const char *name)
{
    for (int i = 0; i < m->n_tensors; i++)
        if (!strcmp(m->tensor[i].name, name)) return &m->tensor[i];
    return NULL;
}

TEST(diffusion, names_and_shapes_are_those_of_the_model_zoo)
{
    static const struct {
        const char *name;
        int64_t rows, cols;
    } tensor[] = {
        {"model.patch_embedding_layer.linear_proj.weight", 384, PATCH},
        {"model.timestep_embedding_layer.ffn.ffn.0.linear_layer.weight", 384, FREQUENCIES},
        {"model.timestep_embedding_layer.ffn.ffn.1.linear_layer.bias", 384, 1},
        {"model.label_embedding_layer.weight", CLASSES, 384},
        {"model.transformer_decoder.layers.11.self_attn.proj_q_dense_layer.weight", 384, 384},
        {"model.transformer_decoder.layers.0.norm1.scale_linear.1.weight", 384, 384},
        {"model.transformer_decoder.layers.0.norm3.shift_linear.1.bias", 384, 1},
        {"model.transformer_decoder.layers.0.gate_msa.1.weight", 384, 384},
        {"model.transformer_decoder.layers.0.gate_mlp.1.weight", 384, 384},
        {"model.transformer_decoder.layers.0.ffn.ffn.1.linear_layer.weight", 384, 1536},
        {"model.final_norm.scale_linear.1.weight", 384, 384},
        {"model.noise_head.conv_transpose.weight", 384, PATCH},
        {"model.noise_head.conv_transpose.bias", CHANNELS, 1}};
    struct model *m = make(384, 12, 6, HW_STREAM_BLOCK);
    for (size_t i = 0; i < sizeof tensor / sizeof *tensor; i++) {
        const struct model_tensor *t = named(m, tensor[i].name);
        if (!t) (void)fprintf(stderr, "no tensor %s\n", tensor[i].name);
        CU_ASSERT_PTR_NOT_NULL(t);
        if (!t) continue;
        T_EQ(t->shape[0], tensor[i].rows);
        T_EQ(t->shape[1], tensor[i].cols);
    }
    CU_ASSERT_PTR_NULL(named(m, "model.transformer_decoder.layers.0.norm1.weight"));
    CU_ASSERT_PTR_NULL(named(m, "model.embedding_layer.word_embeddings.weight"));
    model_destroy(&m);
}

/* What conditions a block streams with it, whole or part by part. */
TEST(diffusion, conditioning_streams_with_its_block)
{
    static const struct {
        enum model_part part;
        enum model_tensor_kind kind;
    } of[] = {{MODEL_PART_QKV, MODEL_SCALE1_W},  {MODEL_PART_QKV, MODEL_SHIFT1_W},
              {MODEL_PART_ATTN, MODEL_GATE1_W},  {MODEL_PART_FFN0, MODEL_SCALE3_W},
              {MODEL_PART_FFN0, MODEL_SHIFT3_W}, {MODEL_PART_FFN1, MODEL_GATE3_W}};
    struct model *blocks = make(384, 12, 6, HW_STREAM_BLOCK);
    struct model *parts = make(384, 12, 6, HW_STREAM_MATRIX);
    T_EQ(blocks->n_stages, 14);
    T_EQ(blocks->stage[1].n_elems, 18 * 384 * 384 + 15 * 384);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        CU_ASSERT(model_case_view(blocks, &blocks->stage[1], of[i].kind) >= 0);
        for (int s = 0; s < parts->n_stages; s++)
            T_EQ(model_case_view(parts, &parts->stage[s], of[i].kind) >= 0,
                 parts->stage[s].layer >= 0 && parts->stage[s].part[0] == of[i].part);
    }
    CU_ASSERT(model_case_view(blocks, &blocks->stage[0], MODEL_TIME1_W) >= 0);
    CU_ASSERT(model_case_view(blocks, &blocks->stage[13], MODEL_SHIFTF_W) >= 0);
    int64_t all = 0;
    for (int s = 0; s < blocks->n_stages; s++)
        all += blocks->stage[s].n_elems;
    T_EQ(all, blocks->n_params);
    model_destroy(&blocks);
    model_destroy(&parts);
}

/* A matrix of the conditioning meets one row of a sequence: a 256th of what others do. */
TEST(diffusion, flop_of_a_token)
{
    const double C = 384, L = 12, T = PATCHES;
    struct model *m = make(384, 12, 6, HW_STREAM_BLOCK);
    const double rows = L * 6 * C * C + 2 * C * C + C * C + FREQUENCIES * C;
    const double tokens = L * 12 * C * C + 2 * PATCH * C;
    T_NEAR(model_flop_per_token(m, true), 6 * (tokens + rows / T) + 12 * L * T * C, 1e-12);
    T_NEAR(model_useful_flop_per_token(m, true, 0), model_flop_per_token(m, true), 0);
    model_destroy(&m);
}

/* The biases of the output layer follow from how it is written; learned positions are a table. */
TEST(diffusion, other_forms_of_the_layers)
{
    static const char *const sets[] = {DIFFUSION_SETS, "model.use_conv_transpose_unpatchify=false",
                                       "model.position_embedding_type=learned",
                                       "model.label_dropout_rate=0", NULL};
    struct small_config c;
    struct model *m;
    T_OK(small_config_init(&c, 1, sets));
    T_OK(model_create(&m, &c.params, HW_STREAM_BLOCK));
    const struct model_tensor *bias = named(m, "model.noise_head.linear.bias");
    const struct model_tensor *table =
        named(m, "model.patch_embedding_layer.position_embeddings.weight");
    CU_ASSERT_FATAL(bias && table);
    T_EQ(bias->n_elems, PATCH);
    T_EQ(table->shape[0], 16);
    T_EQ(m->V, 10);
    model_destroy(&m);
    small_config_fini(&c);
}
