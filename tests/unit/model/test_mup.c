// SPDX-License-Identifier: Apache-2.0
/* Maximal update parametrization of encoders with decoders: initial values and learning rates by
 * group, factors of scores and logits, against the Model Zoo's class of T5 worked out by hand. */
#include "../../support/params_case.h"
#include "../../support/test.h"

#include <wsc/model.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Widths 4 times the base's, filters 3 times; 2 blocks and 3. */
#define SIZES                                                                                      \
    "  src_vocab_size: 40, d_model: 64, d_kv: 8, num_heads: 4, d_ff: 96, "                         \
    "encoder_num_hidden_layers: 2,\n  decoder_num_hidden_layers: 3, norm_type: layernorm"
#define MUP ", mup_base_d_model: 16, mup_base_d_ff: 32"

static bool parse(struct zoo_params *p, const char *model, const char *optimizer)
{
    char text[2000];
    (void)snprintf(text, sizeof text,
                   "train_input: {data_processor: T5HDF5DataProcessor, data_dir: ./x, batch_size: "
                   "4,\n  src_max_sequence_length: 8, tgt_max_sequence_length: 6}\n"
                   "model: {name: t5,\n" SIZES "%s}\n"
                   "optimizer: {optimizer_type: AdamW, learning_rate: 0.01%s}\n"
                   "runconfig: {max_steps: 3}\n",
                   model, optimizer);
    return zoo_params_parse(p, "t5.yaml", text, strlen(text), NULL, 0) == WSC_OK;
}

static struct model *make(struct zoo_params *p, const char *model, const char *optimizer)
{
    struct model *m = NULL;
    CU_ASSERT_FATAL(parse(p, model, optimizer));
    CU_ASSERT_FATAL(test_ok(model_create(&m, p, HW_STREAM_BLOCK)));
    return m;
}

static void done(struct zoo_params *p, struct model *m)
{
    model_destroy(&m);
    zoo_params_fini(p);
}

/** A tensor with its initial deviation and its factor of the learning rate. */
struct expected {
    const char *name;
    double std, rate;
};

static void check(const struct model *m, const struct expected *row)
{
    for (; row->name; row++) {
        const struct model_tensor *t = NULL;
        for (int i = 0; i < m->n_tensors; i++)
            if (!strcmp(m->tensor[i].name, row->name)) t = &m->tensor[i];
        CU_ASSERT_PTR_NOT_NULL_FATAL(t);
        if (!t) continue;
        if (row->std > 0) T_NEAR(t->init.std, row->std, 1e-12);
        T_NEAR(t->lr_scale, row->rate, 1e-12);
    }
}

/* Heads of one width: projections of attention train by the root of the ratio. */
TEST(mup, of_t5)
{
    static const struct expected rows[] = {
        {"model.encoder_embeddings.word_embeddings.weight", 0.125, 0.5},
        {"model.encoder_embeddings.position_embed_helper.relative_attention_bias.weight", 0, 0.5},
        {"model.encoder.layers.1.self_attn.proj_q_dense_layer.weight", 0.0441941738241592, 0.5},
        {"model.encoder.layers.1.self_attn.proj_v_dense_layer.weight", 0.125, 0.5},
        {"model.encoder.layers.1.self_attn.proj_output_dense_layer.weight", 4 * 0.125, 0.5},
        {"model.decoder.layers.2.self_attn.proj_output_dense_layer.weight", 6 * 0.125, 0.5},
        {"model.decoder.layers.0.multihead_attn.proj_k_dense_layer.weight", 0.125, 0.5},
        {"model.decoder.layers.0.multihead_attn.proj_output_dense_layer.weight", 0.75, 0.5},
        {"model.encoder.layers.0.ffn.ffn.0.linear_layer.weight", 0.125, 0.25},
        {"model.encoder.layers.0.ffn.ffn.1.linear_layer.weight", 0.408248290463863, 1.0 / 3},
        {"model.decoder.layers.0.ffn.ffn.1.linear_layer.weight", 0.612372435695794, 1.0 / 3},
        {"model.decoder.layers.0.norm1.weight", 0, 1},
        {NULL, 0, 0}};
    struct zoo_params p;
    struct model *m = make(&p,
                           MUP ", encoder_attention_logits_alpha: 4.0, "
                               "decoder_attention_logits_alpha: 2, output_logits_alpha: 2.2, "
                               "embeddings_alpha: 3",
                           "");
    check(m, rows);
    T_NEAR(m->stack[0].qk_scale, 4.0 / 8 / 4, 1e-15); /* alpha, over the head, over the ratio */
    T_NEAR(m->stack[1].qk_scale, 2.0 / 8 / 4, 1e-15);
    T_NEAR(m->logits_scale, 1.1, 1e-12); /* over the root of the ratio */
    T_NEAR(m->zoo.embeddings_scale, 24, 1e-12);
    done(&p, m);
}

/* The Model Zoo's class of T5 gives its tables of positions no initializer: they start as its layer
 * of embeddings starts by default, with muP or without. */
TEST(mup, learned_positions_of_t5_are_not_scaled)
{
    static const char *const more[] = {"", MUP, ", use_transformer_initialization: true"};
    static const struct expected rates[] = {
        {"model.encoder_embeddings.position_embeddings.embed.weight", 0, 0.5},
        {"model.decoder_embeddings.position_embeddings.embed.weight", 0, 0.5},
        {NULL, 0, 0}};
    for (size_t k = 0; k < sizeof more / sizeof *more; k++) {
        char text[200];
        struct zoo_params p;
        int n = 0;
        (void)snprintf(text, sizeof text, "%s, position_embedding_type: learned_absolute", more[k]);
        struct model *m = make(&p, text, "");
        for (int i = 0; i < m->n_tensors; i++) {
            const struct zoo_init *init = &m->tensor[i].init;
            if (m->tensor[i].kind != MODEL_WPE) continue;
            n++;
            T_EQ(init->kind, ZOO_INIT_UNIFORM);
            T_NEAR(init->a, -0.05, 0);
            T_NEAR(init->b, 0.05, 0);
        }
        T_EQ(n, 2);
        if (k == 1) check(m, rates);
        done(&p, m);
    }
}

/* With a base width of heads, projections to queries, keys and values are hidden weights. */
TEST(mup, of_t5_with_heads_that_grow)
{
    static const struct expected rows[] = {
        {"model.encoder.layers.0.self_attn.proj_k_dense_layer.weight", 0.125, 0.25},
        {"model.decoder.layers.0.multihead_attn.proj_output_dense_layer.weight",
         6 * 0.125 * 1.4142135623731, 0.5},
        {"model.decoder_embeddings.word_embeddings.weight", 0.125, 0.5},
        {"model.lm_head.weight", 0.125, 0.5},
        {NULL, 0, 0}};
    struct zoo_params p;
    struct model *m = make(&p,
                           MUP ", mup_base_d_kv: 4, scale_encoder_qk_dot_by_d: false, "
                               "scale_output_logits_by_d: true, share_embedding_weights: false, "
                               "share_encoder_decoder_embedding: false",
                           "");
    check(m, rows);
    T_NEAR(m->stack[0].qk_scale, 1 / sqrt(8), 1e-15);
    T_NEAR(m->stack[1].qk_scale, 1.0 / 8, 1e-15);
    T_NEAR(m->logits_scale, 0.25, 1e-15);
    T_NEAR(m->zoo.embeddings_scale, 8, 1e-12);
    done(&p, m);
}

/* A factor that the file gives for a group counts instead of muP's. */
TEST(mup, factors_of_the_file_count_instead)
{
    static const struct expected rows[] = {
        {"model.encoder.layers.0.self_attn.proj_k_dense_layer.weight", 0, 0.3},
        {"model.decoder.layers.0.self_attn.proj_k_dense_layer.weight", 0, 0.5},
        {"model.decoder.layers.0.multihead_attn.proj_output_dense_layer.weight", 0, 0.7},
        {"model.encoder_embeddings.word_embeddings.weight", 0, 0.9},
        {"model.encoder.layers.0.ffn.ffn.1.linear_layer.weight", 0, 0.2},
        {NULL, 0, 0}};
    struct zoo_params p;
    struct model *m = make(&p, MUP,
                           ", adjust_learning_rate: {encoder_qkv_projection: 0.3, "
                           "decoder_output_projection: 0.7, embedding: 0.9, encoder_output_ffn: "
                           "0.2}");
    check(m, rows);
    done(&p, m);
}

/* A given factor of 1 counts too; groups with equal factors do not multiply, and a group of factor
 * 1 takes no tensor from another one. */
TEST(mup, factors_of_1_and_equal_factors_count_once)
{
    static const struct expected off[] = {
        {"model.encoder.layers.0.self_attn.proj_k_dense_layer.weight", 0, 1},
        {"model.decoder.layers.0.self_attn.proj_k_dense_layer.weight", 0, 0.5},
        {"model.decoder.layers.0.ffn.ffn.1.linear_layer.weight", 0, 1},
        {NULL, 0, 0}};
    static const struct expected equal[] = {
        {"model.encoder.layers.0.self_attn.proj_k_dense_layer.weight", 0, 0.5},
        {"model.decoder.layers.0.self_attn.proj_output_dense_layer.weight", 0, 0.5},
        {"model.decoder.layers.0.ffn.ffn.1.linear_layer.weight", 0, 1.0 / 3},
        {NULL, 0, 0}};
    struct zoo_params p;
    struct model *m = make(&p, MUP,
                           ", adjust_learning_rate: {encoder_qkv_projection: 1.0, "
                           "decoder_output_ffn: 1, decoder_kernel: 1}");
    check(m, off);
    done(&p, m);
    m = make(&p, MUP, ", adjust_learning_rate: {decoder_attention: 0.5}");
    check(m, equal);
    done(&p, m);
}

/* PyTorch refuses a parameter in two groups. */
TEST(mup, two_factors_of_a_tensor_are_refused)
{
    static const char q[] = "model.decoder.layers.0.self_attn.proj_q_dense_layer.weight";
    static const struct {
        const char *model, *factors, *says;
    } rows[] = {{MUP, "decoder_kernel: 0.7",
                 "decoder_kernel (0.7) and decoder_qkv_projection (0.5 by muP)"},
                {MUP, "decoder_attention: 1.5, decoder_qkv_projection: 0.25",
                 "decoder_attention (1.5) and decoder_qkv_projection (0.25)"},
                {"", "decoder_kernel: 0.5, decoder_attention: 0.25",
                 "decoder_kernel (0.5) and decoder_attention (0.25)"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct zoo_params p;
        struct model *m = NULL;
        char optimizer[160];
        (void)snprintf(optimizer, sizeof optimizer, ", adjust_learning_rate: {%s}",
                       rows[i].factors);
        CU_ASSERT_FATAL(parse(&p, rows[i].model, optimizer));
        T_EQ(model_create(&m, &p, HW_STREAM_BLOCK), WSC_CONFIG);
        CU_ASSERT(strstr(wsc_err_message(), rows[i].says) && strstr(wsc_err_message(), q));
        CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "t5.yaml:"));
        done(&p, m);
    }
}

/* The Model Zoo's classes of fine-tuning do not scale the logits of their heads. */
TEST(mup, leaves_the_logits_of_classifiers)
{
    static const char text[] =
        "train_input: {data_processor: %s, data_dir: ./x, vocab_file: v, batch_size: 4}\n"
        "model: {vocab_size: 64, hidden_size: 16, num_heads: 2, %s}\n"
        "optimizer: {optimizer_type: AdamW, learning_rate: 0.01}\n";
    static const char *const scales[][2] = {
        {"mup_base_hidden_size: 4, mup_base_filter_size: 1024, output_logits_alpha: 3",
         "model.output_logits_alpha: without effect"},
        {"output_logits_scale: 0.75", "model.output_logits_scale: without effect"}};
    static const char *const loaders[] = {"BertCSVDataProcessor", "SST2DataProcessor",
                                          "BertTokenClassifierDataProcessor",
                                          "BertQADataProcessor"};
    for (int i = 0; i < 8; i++) {
        const char *const *scale = scales[i / 4];
        char whole[600];
        struct zoo_params p;
        struct model *m = NULL;
        (void)snprintf(whole, sizeof whole, text, loaders[i % 4], *scale);
        T_OK(zoo_params_parse(&p, "bert.yaml", whole, strlen(whole), NULL, 0));
        CU_ASSERT_FATAL(test_ok(model_create(&m, &p, HW_STREAM_BLOCK)));
        T_NEAR(m->logits_scale, i % 4 ? 1 : 0.75, 1e-12);
        CU_ASSERT(params_warn(&p, scale[1]) == (i % 4 > 0));
        done(&p, m);
    }
}

/* Without base widths the deviations are those of Raffel et al. 2020; alphas act all the same. */
TEST(mup, is_off_without_base_widths)
{
    static const struct expected rows[] = {
        {"model.encoder_embeddings.word_embeddings.weight", 1, 1},
        {"model.encoder.layers.1.self_attn.proj_output_dense_layer.weight", 0.125, 1},
        {NULL, 0, 0}};
    struct zoo_params p;
    struct model *m = make(&p, ", decoder_attention_logits_alpha: 2, embeddings_alpha: 3", "");
    check(m, rows);
    T_NEAR(m->stack[0].qk_scale, 1, 0);
    T_NEAR(m->stack[1].qk_scale, 2, 0);
    T_NEAR(m->logits_scale, 0.125, 1e-15);
    T_NEAR(m->zoo.embeddings_scale, 3, 0);
    done(&p, m);
}

TEST(mup, of_t5_refuses_and_names)
{
    static const struct {
        const char *model, *optimizer, *says;
        bool error;
    } rows[] = {
        {", mup_base_d_model: 16", "", "mup_base_filter_size", true},
        {", mup_base_d_kv: 4", "", "mup_base_d_kv", true},
        {MUP ", use_transformer_initialization: true", "", "use_transformer_initialization", true},
        {MUP ", use_ffn_bias_in_attention: true", "", "use_ffn_bias_in_attention", true},
        {", scale_decoder_qk_dot_by_d: true", "", "scale_decoder_qk_dot_by_d", false},
        {", scale_encoder_qk_dot_by_d: true", "", "attention_type is dot_product", false},
        {", output_logits_alpha: 2", "", "output_logits_alpha", false},
        {MUP, ", adjust_learning_rate: {lm_head: 0.5}", "no lm_head of its own", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct zoo_params p;
        T_EQ(parse(&p, rows[i].model, rows[i].optimizer), !rows[i].error);
        CU_ASSERT(rows[i].error ? strstr(wsc_err_message(), rows[i].says) != NULL
                                : params_warn(&p, rows[i].says));
        zoo_params_fini(&p);
    }
}
