// SPDX-License-Identifier: Apache-2.0
/* Tensors of the families beside GPT-2: counts against published sizes, names, stages. */
#include "../../support/test.h"
#include "model_case.h"

#include <wsc/model.h>

#include <math.h>
#include <string.h>

static struct model *make(const struct zoo_params *p, enum hw_granularity granularity)
{
    struct model *m = NULL;
    T_OK(model_create(&m, p, granularity));
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    return m;
}

/* What a case has beside its sizes. */
struct family {
    const char *name;
    struct model_case size;
    int64_t vocab, kv, inner, experts, shared;
    enum zoo_position position;
    enum zoo_nonlinearity nonlinearity;
    enum zoo_norm norm;
    bool parallel, untied_norm, tied, head_bias, bias, ffn_bias, embed_norm, sandwich;
    int64_t params;
};

static struct zoo_params params_of(const struct family *f)
{
    struct zoo_params p = model_case_params(f->size);
    struct zoo_model *m = &p.model;
    m->vocab_size = f->vocab;
    m->num_kv_groups = f->kv;
    m->attention_inner_dim = f->inner;
    m->moe = (struct zoo_moe){
        .num_experts = f->experts, .num_shared_experts = f->shared, .top_k = f->experts ? 1 : 0};
    m->position_embedding_type = f->position;
    m->rotary_dim = 16;
    m->rope_theta = 10000;
    m->nonlinearity = f->nonlinearity;
    m->norm_type = f->norm;
    m->parallel_block = f->parallel;
    m->use_untied_layer_norm = f->untied_norm;
    m->share_embedding_weights = f->tied;
    m->use_bias_in_output = f->head_bias;
    m->use_projection_bias_in_attention = m->use_ffn_bias_in_attention = f->bias;
    m->use_ffn_bias = f->ffn_bias;
    m->embedding_layer_norm = f->embed_norm;
    m->norm_first_sandwich = f->sandwich;
    return p;
}

#define ROTARY .position = ZOO_POSITION_ROTARY
#define ALIBI  .position = ZOO_POSITION_ALIBI
#define LLAMA  ROTARY, .nonlinearity = ZOO_SWIGLU, .norm = ZOO_RMSNORM
#define BIASES .bias = true, .ffn_bias = true

/* Published sizes of the models that the Model Zoo has files of. */
static const struct family families[] = {
    {.name = "GPT-J 6B",
     .size = {4096, 28, 16, 16384, 2048},
     .vocab = 50257,
     ROTARY,
     .parallel = true,
     .head_bias = true,
     .ffn_bias = true,
     .params = 6049711185},
    {.name = "GPT-NeoX 20B",
     .size = {6144, 44, 64, 24576, 2048},
     .vocab = 50277,
     ROTARY,
     .parallel = true,
     .untied_norm = true,
     BIASES,
     .params = 20552663040},
    {.name = "Falcon 7B",
     .size = {4544, 32, 71, 18176, 2048},
     .vocab = 65024,
     .kv = 1,
     ROTARY,
     .parallel = true,
     .tied = true,
     .params = 6921720704},
    {.name = "Falcon 180B",
     .size = {14848, 80, 232, 59392, 2048},
     .vocab = 65024,
     .kv = 8,
     ROTARY,
     .parallel = true,
     .untied_norm = true,
     .tied = true,
     .params = 178557088768},
    {.name = "LLaMA 7B",
     .size = {4096, 32, 32, 11008, 2048},
     .vocab = 32000,
     LLAMA,
     .params = 6738415616},
    {.name = "LLaMA 2 70B",
     .size = {8192, 80, 64, 28672, 4096},
     .vocab = 32000,
     .kv = 8,
     LLAMA,
     .params = 68976648192},
    {.name = "LLaMA 3 8B",
     .size = {4096, 32, 32, 14336, 8192},
     .vocab = 128256,
     .kv = 8,
     LLAMA,
     .params = 8030261248},
    {.name = "LLaMA 3.2 1B",
     .size = {2048, 16, 32, 8192, 8192},
     .vocab = 128256,
     .kv = 8,
     LLAMA,
     .tied = true,
     .params = 1235814400},
    {.name = "Mistral 7B",
     .size = {4096, 32, 32, 14336, 32768},
     .vocab = 32000,
     .kv = 8,
     LLAMA,
     .params = 7241732096},
    {.name = "Mixtral 8x7B",
     .size = {4096, 32, 32, 14336, 32768},
     .vocab = 32000,
     .kv = 8,
     LLAMA,
     .experts = 8,
     .params = 46702792704},
    {.name = "Mixtral 8x22B",
     .size = {6144, 56, 48, 16384, 65536},
     .vocab = 32000,
     .kv = 8,
     LLAMA,
     .experts = 8,
     .params = 140620634112},
    {.name = "111M with a shared expert",
     .size = {768, 10, 12, 2048, 2048},
     .vocab = 50257,
     ALIBI,
     .nonlinearity = ZOO_SWIGLU,
     .experts = 4,
     .shared = 1,
     .tied = true,
     BIASES,
     .params = 298456832},
    {.name = "Gemma 2 9B",
     .size = {3584, 42, 16, 14336, 8192},
     .vocab = 256000,
     .kv = 8,
     .inner = 4096,
     ROTARY,
     .nonlinearity = ZOO_GEGLU,
     .norm = ZOO_RMSNORM,
     .tied = true,
     .sandwich = true,
     .params = 9241705984},
    {.name = "Bloom 7B",
     .size = {4096, 30, 32, 16384, 2048},
     .vocab = 250880,
     ALIBI,
     .tied = true,
     BIASES,
     .embed_norm = true,
     .params = 7069016064},
    {.name = "MPT 7B",
     .size = {4096, 32, 32, 16384, 2048},
     .vocab = 50432,
     ALIBI,
     .norm = ZOO_BIASLESS_LAYERNORM,
     .tied = true,
     .params = 6649286656},
    {.name = "BTLM 3B",
     .size = {2560, 32, 32, 6826, 2048},
     .vocab = 50257,
     ALIBI,
     .nonlinearity = ZOO_SWIGLU,
     .tied = true,
     BIASES,
     .params = 2646255744},
    {.name = "Jais 30B",
     .size = {7168, 48, 56, 19114, 2048},
     .vocab = 84992,
     ALIBI,
     .nonlinearity = ZOO_SWIGLU,
     .tied = true,
     BIASES,
     .params = 30208489408},
    {.name = "StarCoder 15B",
     .size = {6144, 40, 48, 24576, 8192},
     .vocab = 49152,
     .kv = 1,
     .tied = true,
     BIASES,
     .params = 15517456384},
    {.name = "SantaCoder 1B",
     .size = {2048, 24, 16, 8192, 2048},
     .vocab = 49280,
     .kv = 1,
     .tied = true,
     BIASES,
     .params = 1124886528},
};
enum { N_FAMILIES = sizeof families / sizeof *families };

TEST(families, parameter_counts_of_published_models)
{
    for (int i = 0; i < N_FAMILIES; i++) {
        struct zoo_params p = params_of(&families[i]);
        struct model *m = make(&p, HW_STREAM_BLOCK);
        T_EQ(m->n_params, families[i].params);
        if (m->n_params != families[i].params) (void)fprintf(stderr, "%s\n", families[i].name);
        model_destroy(&m);
    }
}

static const struct model_tensor *find(const struct model *m, const char *name)
{
    for (int i = 0; i < m->n_tensors; i++)
        if (!strcmp(m->tensor[i].name, name)) return &m->tensor[i];
    CU_ASSERT_PTR_NOT_NULL_FATAL(NULL);
    return m->tensor;
}

#define LAYER1 "model.transformer_decoder.layers.1."

TEST(families, names_and_shapes)
{
    const struct family f = {.size = {32, 2, 4, 24, 16},
                             .vocab = 50,
                             .kv = 2,
                             .inner = 64,
                             LLAMA,
                             .experts = 3,
                             .shared = 2,
                             .sandwich = true,
                             .ffn_bias = true};
    struct zoo_params p = params_of(&f);
    struct model *m = make(&p, HW_STREAM_BLOCK);
    const struct model_tensor *t = find(m, LAYER1 "self_attn.proj_q_dense_layer.weight");
    CU_ASSERT(t->shape[0] == 64 && t->shape[1] == 32);
    t = find(m, LAYER1 "self_attn.proj_v_dense_layer.weight");
    CU_ASSERT(t->shape[0] == 32 && t->shape[1] == 32);
    t = find(m, LAYER1 "self_attn.proj_output_dense_layer.weight");
    CU_ASSERT(t->shape[0] == 32 && t->shape[1] == 64);
    t = find(m, LAYER1 "norm3_post.weight");
    CU_ASSERT(t->n_dims == 1 && t->decay);
    t = find(m, LAYER1 "ffn.gate.weight");
    CU_ASSERT(t->shape[0] == 3 && t->shape[1] == 32 && t->expert == -1);
    t = find(m, LAYER1 "ffn.experts.experts.2.0.linear_layer_for_glu.bias");
    CU_ASSERT(t->expert == 2 && t->layer == 1 && t->n_elems == 24);
    t = find(m, LAYER1 "ffn.experts.shared_experts.1.ffn.1.linear_layer.weight");
    CU_ASSERT(t->expert == 4 && t->shape[0] == 32 && t->shape[1] == 24);
    model_destroy(&m);
}

static void check_views(const struct model *m, const struct model_stage *st, int *seen)
{
    int64_t offset = 0;
    for (int v = 0; v < st->n_views; v++) {
        const struct model_tensor *t = &m->tensor[st->view[v].tensor];
        CU_ASSERT(st->view[v].offset == offset && t->layer == st->layer);
        offset += t->n_elems;
        seen[st->view[v].tensor]++;
    }
    T_EQ(offset, st->n_elems);
}

/* Every tensor is streamed once, by the layer that it belongs to; experts are alike. */
static void check_stages(const struct model *m)
{
    int seen[256] = {0};
    CU_ASSERT_FATAL(m->n_tensors <= 256);
    for (int s = 0; s < m->n_stages; s++)
        check_views(m, &m->stage[s], seen);
    for (int i = 0; i < m->n_tensors; i++)
        CU_ASSERT(seen[i] == (i == 0 && m->tied ? 2 : 1));
}

TEST(families, stages_stream_every_tensor)
{
    for (int i = 0; i < N_FAMILIES; i++) {
        struct family f = families[i];
        f.size = (struct model_case){64, 3, 8, 48, 16};
        f.kv = f.kv > 1 ? 2 : f.kv;
        f.inner = f.inner ? 128 : 0;
        struct zoo_params p = params_of(&f);
        for (int g = HW_STREAM_BLOCK; g <= HW_STREAM_MATRIX; g++) {
            struct model *m = make(&p, (enum hw_granularity)g);
            check_stages(m);
            model_destroy(&m);
        }
    }
}

TEST(families, experts_of_a_stage_follow_each_other)
{
    const struct family f = {
        .size = {32, 2, 4, 24, 16}, .vocab = 50, LLAMA, .experts = 3, .shared = 1};
    struct zoo_params p = params_of(&f);
    struct model *m = make(&p, HW_STREAM_MATRIX);
    const struct model_stage *ffn0 = &m->stage[3];
    T_STR(ffn0->name, "layers.0.ffn0");
    const int first = model_case_view(m, ffn0, MODEL_FFN0_W);
    T_EQ(first, 2);
    for (int e = 0; e < 4; e++) {
        const struct model_tensor *t = &m->tensor[ffn0->view[first + 2 * e].tensor];
        CU_ASSERT(t->kind == MODEL_FFN0_W && t->expert == e);
        t++;
        CU_ASSERT(t->kind == MODEL_GLU_W && t->expert == e);
    }
    T_EQ(ffn0->n_views, first + 8);
    model_destroy(&m);
}

/* Flops per token of a mixture count the experts that a token meets, and a router that multiplies:
 * one by a hash does not, frozen or not. */
TEST(families, flops_of_active_experts)
{
    const struct family f = {
        .size = {32, 1, 4, 24, 16}, .vocab = 50, .kv = 2, LLAMA, .experts = 4, .shared = 1};
    struct zoo_params p = params_of(&f);
    p.model.moe.top_k = 2;
    struct model *m = make(&p, HW_STREAM_BLOCK);
    const double attention = 2 * 32 * 32 + 2 * 32 * 16, ffn = 3 * 3 * 24 * 32, router = 4 * 32;
    T_NEAR(model_flop_per_token(m, true), 6 * (attention + ffn + router + 50 * 32) + 12 * 16 * 32,
           1e-9);
    m->zoo.moe.routing_algorithm = ZOO_ROUTING_HASH;
    const double hashed = 6 * (attention + ffn + 50 * 32) + 12 * 16 * 32;
    T_NEAR(model_flop_per_token(m, true), hashed, 1e-9);
    for (int i = 0; i < m->n_tensors; i++)
        m->tensor[i].frozen = m->tensor[i].frozen || m->tensor[i].kind == MODEL_ROUTER_W;
    T_NEAR(model_useful_flop_per_token(m, true, 0), hashed, 1e-9);
    model_destroy(&m);
}

/* muP by base sizes: 5.9 of the Model Zoo's conventions, restated in docs/FAMILIES.md. */
TEST(families, mup_by_base_sizes)
{
    struct zoo_params p = model_case_params((struct model_case){512, 8, 8, 1536, 64});
    p.model.mup_base_hidden_size = 128;
    p.model.mup_base_filter_size = 384;
    p.model.output_logits_alpha = 2.2;
    p.model.scale_output_logits_by_d = true;
    struct model *m = make(&p, HW_STREAM_BLOCK);
    T_NEAR(m->logits_scale, 0.55, 1e-12);
    const struct model_tensor *q = find(m, LAYER1 "self_attn.proj_q_dense_layer.weight");
    T_NEAR(q->init.std, 0.01, 1e-12);
    T_NEAR(q->lr_scale, 0.25, 0);
    const struct model_tensor *o = find(m, LAYER1 "self_attn.proj_output_dense_layer.weight");
    T_NEAR(o->init.std, 0.0025, 1e-12);
    T_NEAR(o->lr_scale, 0.25, 0);
    const struct model_tensor *ffn1 = find(m, LAYER1 "ffn.ffn.1.linear_layer.weight");
    T_NEAR(ffn1->init.std, 0.0025, 1e-12);
    T_NEAR(ffn1->lr_scale, 0.25, 0);
    T_NEAR(find(m, LAYER1 "norm1.weight")->lr_scale, 1, 0);
    T_NEAR(m->tensor[0].init.std, 0.02, 0);
    model_destroy(&m);
}

/* The pooler of encoders is scaled as attention is, the layer before masked tokens is not. */
TEST(families, mup_scales_the_pooler_of_encoders)
{
    struct zoo_params p = model_case_params((struct model_case){512, 8, 8, 1536, 64});
    p.model.objective = ZOO_MASKED_LM;
    p.model.max_predictions_per_seq = 4;
    p.model.mup_base_hidden_size = 128;
    p.model.mup_base_filter_size = 384;
    struct model *m = make(&p, HW_STREAM_BLOCK);
    const struct model_tensor *pooler =
        find(m, "model.bert_encoder.pooler.pooler.ffn.0.linear_layer.weight");
    T_NEAR(pooler->init.std, 0.01, 1e-12);
    T_NEAR(pooler->lr_scale, 0.25, 0);
    const struct model_tensor *dense =
        find(m, "model.bert_mlm_head.mlm_transform.ffn.ffn.0.linear_layer.weight");
    T_NEAR(dense->init.std, 0.02, 1e-12);
    T_NEAR(dense->lr_scale, 1, 0);
    model_destroy(&m);
    /* The groups of the Model Zoo's class of BERT. */
    p.optimizer.adjust_learning_rate = (struct zoo_lr_scale){.encoder_attention = 3, .pooler = 0.5};
    m = make(&p, HW_STREAM_BLOCK);
    T_NEAR(find(m, "model.bert_encoder.pooler.pooler.ffn.0.linear_layer.weight")->lr_scale, 0.5, 0);
    T_NEAR(find(m, "model.bert_encoder.transformer_encoder.layers.1.self_attn.proj_v_dense_layer."
                   "weight")
               ->lr_scale,
           3, 0);
    model_destroy(&m);
}

/* The Model Zoo's layer of embeddings, with a token of padding above 0, sets the row of this token
 * to 0, and by the missing index of padding whole tables of positions and token types. */
TEST(families, tables_of_encoders_with_padding_start_from_zeros)
{
    for (int pad = 0; pad < 4; pad += 3) {
        struct zoo_params p = model_case_params((struct model_case){512, 8, 8, 1536, 64});
        p.model.objective = ZOO_MASKED_LM;
        p.model.max_predictions_per_seq = 4;
        p.model.num_segments = 2;
        p.model.pad_token_id = pad;
        struct model *m = make(&p, HW_STREAM_BLOCK);
        int n[2] = {0};
        for (int i = 0; i < m->n_tensors; i++) {
            const struct model_tensor *t = &m->tensor[i];
            const bool place = t->kind == MODEL_WPE || t->kind == MODEL_WTT;
            T_EQ(t->zero_row, t->kind == MODEL_WTE ? pad : 0);
            if (place) T_EQ(t->init.kind, pad ? ZOO_INIT_ZEROS : ZOO_INIT_TRUNCATED_NORMAL);
            if (t->kind == MODEL_WTE) T_EQ(t->init.kind, ZOO_INIT_TRUNCATED_NORMAL);
            n[0] += place;
            n[1] += t->kind == MODEL_WTE;
        }
        T_EQ(n[0], 2);
        T_EQ(n[1], 1);
        model_destroy(&m);
    }
}

static void refuse(struct family f, const char *key)
{
    struct zoo_params p = params_of(&f);
    struct model *m = NULL;
    CU_ASSERT_EQUAL(model_create(&m, &p, HW_STREAM_BLOCK), WSC_CONFIG);
    CU_ASSERT_PTR_NULL(m);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), key));
}

TEST(families, features_that_exclude_each_other)
{
    const struct family base = {.size = {32, 1, 4, 24, 16}, .vocab = 50};
    struct family f = base;
    f.kv = 3;
    refuse(f, "num_kv_groups");
    f = base;
    f.inner = 30;
    refuse(f, "attention_inner_dim");
}
