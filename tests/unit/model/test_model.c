// SPDX-License-Identifier: Apache-2.0
#include "../../support/test.h"
#include "model_case.h"

#include <wsc/mem.h>
#include <wsc/model.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct model_case tiny = {32, 3, 4, 128, 16};

static struct model *make(const struct zoo_params *p, enum hw_granularity granularity)
{
    struct model *m = NULL;
    T_OK(model_create(&m, p, granularity));
    return m;
}

/* Sizes of the Model Zoo's own files; the counts agree with published ones where there are. */
TEST(model, parameter_counts_of_published_configs)
{
    static const struct {
        struct model_case c;
        int64_t params;
    } row[] = {
        {{768, 12, 12, 3072, 2048}, 125226240},     {{1024, 24, 16, 4096, 1024}, 354823168},
        {{1280, 36, 20, 5120, 1024}, 774030080},    {{1600, 48, 16, 6400, 1024}, 1557611200},
        {{768, 10, 12, 3072, 2048}, 111050496},     {{1088, 14, 17, 4352, 2048}, 255977024},
        {{1536, 18, 12, 6144, 2048}, 590310912},    {{2048, 24, 16, 8192, 2048}, 1315723264},
        {{2560, 32, 32, 10240, 2048}, 2651553280},  {{4096, 32, 32, 16384, 2048}, 6658404352},
        {{5120, 40, 40, 20480, 2048}, 12853386240}, {{6144, 44, 64, 24576, 2048}, 20256221184},
        {{256, 24, 4, 1024, 2048}, 32344832},       {{768, 12, 12, 3072, 1024}, 124439808},
        {{1536, 12, 12, 6144, 1024}, 418748928},    {{1092, 12, 12, 4368, 1024}, 227886204},
    };
    for (unsigned i = 0; i < sizeof row / sizeof *row; i++) {
        struct zoo_params p = model_case_params(row[i].c);
        struct model *m = make(&p, HW_STREAM_BLOCK);
        T_EQ(m->n_params, row[i].params);
        model_destroy(&m);
    }
}

/* GFLOP per token as published figures count them: 256M, 2.7B, 13B, 20B at 2048 tokens. */
TEST(model, flop_per_token)
{
    static const struct {
        struct model_case c;
        double gflop;
    } row[] = {{{1088, 14, 17, 4352, 2048}, 1.90},
               {{2560, 32, 32, 10240, 2048}, 17.88},
               {{5120, 40, 40, 20480, 2048}, 82.07},
               {{6144, 44, 64, 24576, 2048}, 128.08}};
    for (unsigned i = 0; i < sizeof row / sizeof *row; i++) {
        struct zoo_params p = model_case_params(row[i].c);
        struct model *m = make(&p, HW_STREAM_BLOCK);
        CU_ASSERT(fabs(model_flop_per_token(m, true) / 1e9 - row[i].gflop) < 0.0051);
        model_destroy(&m);
    }
}

/* Hoffmann et al. 2022, appendix F, item by item, forward and twice that backward; beside it the
 * training FLOPs that the model cards of Cerebras-GPT state for 20 tokens per parameter, which are
 * 7 to 14 % above that count. */
TEST(model, flop_per_token_with_embedding_and_softmax)
{
    static const struct {
        struct model_case c;
        double published;
    } row[] = {{{768, 10, 12, 3072, 2048}, 2.6e18},
               {{1088, 14, 17, 4352, 2048}, 1.3e19},
               {{2048, 24, 16, 8192, 2048}, 2.8e20},
               {{5120, 40, 40, 20480, 2048}, 2.3e22}};
    for (unsigned i = 0; i < sizeof row / sizeof *row; i++) {
        struct zoo_params p = model_case_params(row[i].c);
        struct model *m = make(&p, HW_STREAM_BLOCK);
        const double d = (double)m->C, T = (double)m->T, V = (double)m->V;
        const double qkv = 2 * 3 * d * d, scores = 2 * T * d, softmax = 3 * (double)m->H * T;
        const double layer = qkv + scores + softmax + scores + 2 * d * d + 2 * 2 * d * (double)m->F;
        const double count = 3 * (2 * V * d + (double)m->L * layer + 2 * d * V);
        T_NEAR(model_flop_per_token_hoffmann(m, true), count, 1e-12);
        m->n_reference = 1; /* one more forward pass */
        T_NEAR(model_flop_per_token_hoffmann(m, true), count * 4 / 3, 1e-12);
        m->n_reference = 0;
        const double ratio = row[i].published / (count * 20 * (double)m->n_params);
        CU_ASSERT(ratio > 1.06 && ratio < 1.14);
        model_destroy(&m);
    }
}

static const struct model_tensor *find(const struct model *m, enum model_tensor_kind kind,
                                       int layer)
{
    for (int i = 0; i < m->n_tensors; i++)
        if (m->tensor[i].kind == kind && m->tensor[i].layer == layer) return &m->tensor[i];
    return NULL;
}

TEST(model, names_aliases_shapes_and_decay)
{
    struct zoo_params p = model_case_params(tiny);
    struct model *m = make(&p, HW_STREAM_BLOCK);
    const struct model_tensor *t = &m->tensor[0];
    T_STR(t->name, "model.embedding_layer.word_embeddings.weight");
    T_STR(t->alias, "model.lm_head.weight");
    CU_ASSERT(t->decay);
    T_STR(m->tensor[1].name, "model.embedding_layer.position_embeddings.embed.weight");
    T_STR(find(m, MODEL_NORMF_B, -1)->name, "model.transformer_decoder.norm.bias");
    T_STR(find(m, MODEL_NORMF_B, -1)->alias, "model.ln_f.bias");
    t = find(m, MODEL_FFN0_W, 2);
    T_STR(t->name, "model.transformer_decoder.layers.2.ffn.ffn.0.linear_layer.weight");
    T_STR(t->alias, "");
    T_EQ(t->shape[0], 128);
    T_EQ(t->shape[1], 32);
    CU_ASSERT(t->decay);
    t = find(m, MODEL_Q_B, 0);
    T_STR(t->name, "model.transformer_decoder.layers.0.self_attn.proj_q_dense_layer.bias");
    T_EQ(t->n_dims, 1);
    CU_ASSERT(!t->decay);
    CU_ASSERT(!find(m, MODEL_NORM1_W, 1)->decay);
    CU_ASSERT_PTR_NULL(find(m, MODEL_LM_HEAD_W, -1));
    T_EQ(m->n_tensors, 4 + 16 * 3);
    model_destroy(&m);
}

/* What the checks make of the keys of an encoder. */
static void encode(struct zoo_params *p, enum zoo_objective objective)
{
    p->model.objective = objective;
    p->model.disable_nsp = p->model.embedding_layer_norm = true;
    p->model.num_segments = p->model.num_labels = 2;
    p->model.mlm_loss_weight = 1;
}

/* The counts that Hugging Face prints for bert-base-uncased and bert-large-uncased with the head of
 * each task: 512 positions, 30522 tokens. */
TEST(model, encoders_have_the_published_number_of_parameters)
{
    static const struct {
        struct model_case c;
        enum zoo_objective objective;
        int64_t n_params;
    } published[] = {
        {{768, 12, 12, 3072, 512}, ZOO_MASKED_LM, 109514298},
        {{768, 12, 12, 3072, 512}, ZOO_CLASSIFICATION, 109483778},
        {{1024, 24, 16, 4096, 512}, ZOO_MASKED_LM, 335174458},
        {{1024, 24, 16, 4096, 512}, ZOO_CLASSIFICATION, 335143938},
    };
    for (int i = 0; i < 4; i++) {
        struct zoo_params p = model_case_params(published[i].c);
        p.model.vocab_size = 30522;
        p.model.use_bias_in_output = true;
        encode(&p, published[i].objective);
        p.model.max_predictions_per_seq = 20;
        struct model *m = make(&p, HW_STREAM_BLOCK);
        T_EQ(m->n_params, published[i].n_params);
        CU_ASSERT(!m->causal);
        T_EQ(m->tied, published[i].objective == ZOO_MASKED_LM);
        T_STR(find(m, MODEL_Q_W, 0)->name,
              published[i].objective == ZOO_MASKED_LM
                  ? "model.bert_encoder.transformer_encoder.layers.0.self_attn.proj_q_dense_layer."
                    "weight"
                  : "model.bert.transformer_encoder.layers.0.self_attn.proj_q_dense_layer.weight");
        CU_ASSERT_PTR_NULL(find(m, MODEL_NORMF_W, -1));
        model_destroy(&m);
    }
}

/* 6 FLOPs per weight of a block and token, the head for its tokens alone: by hand, C = 4, L = 1,
 * F = 8, V = 10, T = 6, 2 predictions: blocks 4 16 + 2 32 = 128, head 2/6 (10 4 + 16). */
TEST(model, flops_of_an_encoder_by_hand)
{
    struct zoo_params p = model_case_params((struct model_case){4, 1, 2, 8, 6});
    p.model.vocab_size = 10;
    encode(&p, ZOO_MASKED_LM);
    p.model.max_predictions_per_seq = 2;
    struct model *m = make(&p, HW_STREAM_BLOCK);
    T_NEAR(model_flop_per_token(m, true), 6 * (128 + 56 / 3.0) + 12 * 6 * 4, 1e-12);
    model_destroy(&m);
    p.model.max_predictions_per_seq = 7;
    T_EQ(model_create(&m, &p, HW_STREAM_BLOCK), WSC_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "max_predictions_per_seq"));
}

TEST(model, switches_add_and_remove_tensors)
{
    struct zoo_params p = model_case_params(tiny);
    p.model.share_embedding_weights = false;
    p.model.use_bias_in_output = true;
    p.model.position_embedding_type = ZOO_POSITION_NONE;
    p.model.use_ffn_bias = p.model.use_ffn_bias_in_attention = false;
    p.model.use_projection_bias_in_attention = false;
    struct model *m = make(&p, HW_STREAM_BLOCK);
    T_STR(m->tensor[0].alias, "");
    T_STR(find(m, MODEL_LM_HEAD_W, -1)->name, "model.lm_head.weight");
    T_EQ(find(m, MODEL_LM_HEAD_B, -1)->n_elems, 50257);
    CU_ASSERT_PTR_NULL(find(m, MODEL_WPE, -1));
    CU_ASSERT_PTR_NULL(find(m, MODEL_O_B, 0));
    CU_ASSERT_PTR_NULL(find(m, MODEL_FFN1_B, 0));
    T_EQ(m->n_tensors, 1 + 2 + 3 * 10 + 2);
    model_destroy(&m);
}

TEST(model, default_initializers)
{
    struct zoo_params p = model_case_params(tiny);
    p.model.share_embedding_weights = false;
    struct model *m = make(&p, HW_STREAM_BLOCK);
    const struct zoo_init *i = &find(m, MODEL_WTE, -1)->init;
    T_EQ(i->kind, ZOO_INIT_TRUNCATED_NORMAL);
    T_NEAR(i->std, 0.02, 1e-15);
    T_NEAR(i->a, -0.04, 1e-15);
    T_NEAR(i->b, 0.04, 1e-15);
    i = &find(m, MODEL_FFN1_W, 1)->init;
    T_NEAR(i->std, 0.0081649658092772, 1e-15); /* 0.02 / sqrt(2 * 3) */
    T_NEAR(i->b, 0.0163299316185545, 1e-15);
    T_NEAR(find(m, MODEL_O_W, 1)->init.std, 0.0081649658092772, 1e-15);
    T_NEAR(find(m, MODEL_V_W, 1)->init.std, 0.02, 1e-15);
    T_EQ(find(m, MODEL_LM_HEAD_W, -1)->init.kind, ZOO_INIT_NORMAL);
    T_EQ(find(m, MODEL_NORM3_W, 2)->init.kind, ZOO_INIT_ONES);
    T_EQ(find(m, MODEL_NORM3_B, 2)->init.kind, ZOO_INIT_ZEROS);
    T_EQ(find(m, MODEL_K_B, 2)->init.kind, ZOO_INIT_ZEROS);
    for (int k = 0; k < m->n_tensors; k++)
        CU_ASSERT(m->tensor[k].init.kind != ZOO_INIT_DEFAULT);
    model_destroy(&m);
}

TEST(model, explicit_initializers_and_mup_scales)
{
    struct zoo_params p = model_case_params(tiny);
    p.model.initializer =
        (struct zoo_init){.kind = ZOO_INIT_NORMAL, .mean = 0, .std = 0.5, .a = 0, .b = 0};
    p.model.output_layer_initializer =
        (struct zoo_init){.kind = ZOO_INIT_UNIFORM, .mean = 0, .std = 0, .a = -1, .b = 1};
    p.model.embedding_initializer = (struct zoo_init){.kind = ZOO_INIT_CONSTANT, .value = 3};
    p.model.scale_qk_dot_by_d = true;
    p.model.embeddings_scale = 10;
    p.optimizer.adjust_learning_rate.decoder_kernel = 0.25;
    struct model *m = make(&p, HW_STREAM_BLOCK);
    T_NEAR(find(m, MODEL_Q_W, 0)->init.std, 0.5, 0);
    T_EQ(find(m, MODEL_O_W, 0)->init.kind, ZOO_INIT_UNIFORM);
    T_NEAR(find(m, MODEL_FFN0_W, 0)->init.std, 0.5, 0);
    T_NEAR(find(m, MODEL_WPE, -1)->init.value, 3, 0);
    T_NEAR(m->stack[0].qk_scale, 0.125, 0);
    T_NEAR(m->zoo.embeddings_scale, 10, 0);
    T_NEAR(find(m, MODEL_FFN1_W, 0)->lr_scale, 0.25, 0);
    T_NEAR(find(m, MODEL_K_W, 0)->lr_scale, 0.25, 0);
    T_NEAR(find(m, MODEL_K_B, 0)->lr_scale, 1, 0);
    T_NEAR(find(m, MODEL_WTE, -1)->lr_scale, 1, 0);
    T_NEAR(find(m, MODEL_NORM1_W, 0)->lr_scale, 1, 0);
    model_destroy(&m);
}

/* An `initializer` alone is that of the output layers too, without their factor of depth. */
TEST(model, an_initializer_alone_is_for_all_layers)
{
    struct zoo_params p = model_case_params(tiny);
    p.model.initializer =
        (struct zoo_init){.kind = ZOO_INIT_NORMAL, .mean = 0, .std = 0.5, .a = 0, .b = 0};
    struct model *m = make(&p, HW_STREAM_BLOCK);
    T_NEAR(find(m, MODEL_O_W, 0)->init.std, 0.5, 0);
    T_NEAR(find(m, MODEL_FFN1_W, 0)->init.std, 0.5, 0);
    model_destroy(&m);
}

/* The class of GPT-J: feed-forward networks as output layers, muP or not; a plain normal head. */
TEST(model, initializers_of_the_class_of_gptj)
{
    struct zoo_params p = model_case_params(tiny);
    p.model.parallel_block = true;
    p.model.share_embedding_weights = false;
    p.model.initializer =
        (struct zoo_init){.kind = ZOO_INIT_NORMAL, .mean = 0, .std = 0.5, .a = 0, .b = 0};
    p.model.output_layer_initializer =
        (struct zoo_init){.kind = ZOO_INIT_NORMAL, .mean = 0, .std = 0.25, .a = 0, .b = 0};
    struct model *m = make(&p, HW_STREAM_BLOCK);
    T_NEAR(find(m, MODEL_Q_W, 0)->init.std, 0.5, 0);
    T_NEAR(find(m, MODEL_FFN0_W, 0)->init.std, 0.25, 0);
    T_NEAR(find(m, MODEL_FFN1_W, 0)->init.std, 0.25, 0);
    T_EQ(find(m, MODEL_LM_HEAD_W, -1)->init.kind, ZOO_INIT_NORMAL);
    model_destroy(&m);
    p.model.mup_base_hidden_size = (double)p.model.hidden_size / 4;
    p.model.mup_base_filter_size = (double)p.model.filter_size / 16;
    m = make(&p, HW_STREAM_BLOCK);
    T_NEAR(find(m, MODEL_FFN0_W, 0)->init.std, 0.125, 1e-15);
    T_NEAR(find(m, MODEL_FFN1_W, 0)->init.std,
           0.0625 / sqrt(2.0 * (double)p.model.num_hidden_layers), 1e-15);
    model_destroy(&m);
}

/** The views of a stage lie end to end and belong to its layer; counts them in @p seen. */
static void check_stage(const struct model *m, const struct model_stage *st, int seen[256])
{
    int64_t offset = 0;
    for (int v = 0; v < st->n_views; v++) {
        const struct model_tensor *t = &m->tensor[st->view[v].tensor];
        CU_ASSERT(st->view[v].offset == offset && t->layer == st->layer);
        T_EQ(model_case_view(m, st, t->kind), v);
        offset += t->n_elems;
        seen[st->view[v].tensor]++;
    }
    T_EQ(st->n_elems, offset);
}

/** Stages hold every tensor once; a tied table streams in the first and the last. */
static void check_stages(const struct model *m)
{
    int64_t sum = 0, longest = 0;
    int seen[256] = {0};
    for (int s = 0; s < m->n_stages; s++) {
        int64_t n = m->stage[s].n_elems;
        check_stage(m, &m->stage[s], seen);
        longest = n > longest ? n : longest;
        sum += n;
    }
    for (int i = 0; i < m->n_tensors; i++)
        CU_ASSERT(seen[i] == (i == 0 && m->tied ? 2 : 1));
    T_EQ(sum, m->n_params + (m->tied ? m->tensor[0].n_elems : 0));
    T_EQ(m->n_stage_elems_max, longest);
}

TEST(model, stages_by_block_and_by_matrix)
{
    for (int tied = 0; tied < 2; tied++) {
        struct zoo_params p = model_case_params(tiny);
        p.model.share_embedding_weights = tied;
        p.model.use_bias_in_output = true;
        struct model *m = make(&p, HW_STREAM_BLOCK);
        T_EQ(m->n_stages, 5);
        T_EQ(m->stage[2].n_parts, 4);
        T_STR(m->stage[2].name, "layers.1");
        check_stages(m);
        T_EQ(model_case_view(m, &m->stage[4], MODEL_WTE), tied ? 2 : -1);
        T_EQ(model_case_view(m, &m->stage[4], MODEL_Q_W), -1);
        model_destroy(&m);
        m = make(&p, HW_STREAM_MATRIX);
        T_EQ(m->n_stages, 14);
        T_EQ(m->stage[4].part[0], MODEL_PART_FFN1);
        T_STR(m->stage[0].name, "embed");
        T_STR(m->stage[6].name, "layers.1.attn");
        T_STR(m->stage[13].name, "head");
        check_stages(m);
        model_destroy(&m);
    }
}

TEST(model, transfers_go_forward_then_back)
{
    struct zoo_params p = model_case_params(tiny);
    struct model *m = make(&p, HW_STREAM_BLOCK);
    T_EQ(model_n_transfers(m, true), 10);
    T_EQ(model_n_transfers(m, false), 5);
    T_EQ(model_transfer_at(m, 4).stage, 4);
    CU_ASSERT(!model_transfer_at(m, 4).backward);
    T_EQ(model_transfer_at(m, 5).stage, 4);
    CU_ASSERT(model_transfer_at(m, 5).backward);
    T_EQ(model_transfer_at(m, 9).stage, 0);
    model_destroy(&m);
}

TEST(model, a_trillion_parameters_take_little_memory)
{
    struct zoo_params p = model_case_params((struct model_case){25600, 128, 160, 102400, 2048});
    int64_t before = wsc_mem_in_use(WSC_MEM_MODEL);
    struct model *m = make(&p, HW_STREAM_MATRIX);
    int64_t C = 25600, block = 12 * C * C + 13 * C;
    T_EQ(m->n_params, 128 * block + 50257 * C + 2048 * C + 2 * C);
    CU_ASSERT(m->n_params > 1000000000000);
    CU_ASSERT(wsc_mem_in_use(WSC_MEM_MODEL) - before < 2000000);
    model_destroy(&m);
    CU_ASSERT_PTR_NULL(m);
    model_destroy(&m);
    T_EQ(wsc_mem_in_use(WSC_MEM_MODEL), before);
}

/** model_create refuses @p p and names @p key. */
static void refuse(const struct zoo_params *p, const char *key)
{
    struct model *m;
    int64_t before = wsc_mem_in_use(WSC_MEM_MODEL);
    CU_ASSERT_EQUAL(model_create(&m, p, HW_STREAM_BLOCK), WSC_CONFIG);
    CU_ASSERT_PTR_NULL(m);
    if (!strstr(wsc_err_message(), key)) {
        (void)fprintf(stderr, "no \"%s\" in: %s\n", key, wsc_err_message());
        CU_FAIL("key is not named");
    }
    T_EQ(wsc_mem_in_use(WSC_MEM_MODEL), before);
}

#define REFUSE(change, key)                                                                        \
    do {                                                                                           \
        struct zoo_params p = model_case_params(tiny);                                             \
        p.change;                                                                                  \
        refuse(&p, key);                                                                           \
    } while (0)

TEST(model, refuses_what_makes_no_model)
{
    REFUSE(model.num_heads = 5, "num_heads");
    REFUSE(model.num_heads = 0, "num_heads");
    REFUSE(model.num_hidden_layers = 0, "num_hidden_layers");
    REFUSE(model.num_hidden_layers = INT64_MAX, "num_hidden_layers");
    REFUSE(model.hidden_size = -32, "hidden_size");
    REFUSE(model.vocab_size = INT64_MAX, "vocab_size");
    REFUSE(model.filter_size = 0, "filter_size");
    REFUSE(model.max_position_embeddings = CONF_NULL, "max_position_embeddings");
    REFUSE(model.layer_norm_epsilon = 0, "layer_norm_epsilon");
    REFUSE(model.embeddings_scale = NAN, "embeddings_scale");
    REFUSE(model.output_logits_scale = INFINITY, "output_logits_scale");
    REFUSE(model.initializer_range = -1, "initializer_range");
    REFUSE(model.initializer =
               ((struct zoo_init){.kind = ZOO_INIT_NORMAL, .mean = 0, .std = 0, .a = 0, .b = 0}),
           "model.initializer");
    REFUSE(model.embedding_initializer =
               ((struct zoo_init){.kind = ZOO_INIT_UNIFORM, .mean = 0, .std = 0, .a = 2, .b = 1}),
           "model.embedding_initializer");
    REFUSE(model.output_layer_initializer = ((struct zoo_init){
               .kind = ZOO_INIT_TRUNCATED_NORMAL, .mean = 0, .std = 1, .a = NAN, .b = 1}),
           "output_layer_initializer");
}

/* ---- learning rate ---- */

/* A sequence of phases; each begins where the one before ends. */
static void phase(struct zoo_schedule *s, enum zoo_scheduler scheduler, double from, double to,
                  int64_t iters)
{
    struct zoo_schedule_node *root = &s->node[0];
    root->scheduler = ZOO_SCHEDULE_SEQUENTIAL;
    root->first_child = 1;
    if (root->n_children) {
        const int64_t before = s->node[root->n_children].total_iters;
        const double end = root->n_milestones ? s->value[root->n_milestones - 1] : 0;
        s->value[root->n_milestones++] = end + (double)before;
    }
    s->node[++root->n_children] = (struct zoo_schedule_node){
        .scheduler = scheduler, .initial = from, .end = to, .total_iters = iters};
    s->n = root->n_children + 1;
}

/* The schedule of a published 111M run: 1525 steps of warm-up, then a cosine to a tenth. */
TEST(model, warm_up_then_cosine)
{
    struct zoo_schedule s = {0};
    phase(&s, ZOO_SCHEDULE_LINEAR, 0, 6e-4, 1525);
    phase(&s, ZOO_SCHEDULE_COSINE_DECAY, 6e-4, 6e-5, 7512);
    T_NEAR(model_schedule_value(&s, 0), 0, 0);
    T_NEAR(model_schedule_value(&s, 1), 6e-4 / 1525, 1e-18);
    T_NEAR(model_schedule_value(&s, 1524), 6e-4 * 1524 / 1525, 1e-18);
    T_NEAR(model_schedule_value(&s, 1525), 6e-4, 1e-18);
    T_NEAR(model_schedule_value(&s, 1525 + 3756), 3.3e-4, 1e-18);
    T_NEAR(model_schedule_value(&s, 1525 + 2504), 6e-5 + 5.4e-4 * 0.75, 1e-18);
    T_NEAR(model_schedule_value(&s, 1525 + 7512), 6e-5, 1e-18);
    T_NEAR(model_schedule_value(&s, 1000000), 6e-5, 1e-18);
}

TEST(model, phases_count_for_themselves)
{
    struct zoo_schedule s = {0};
    phase(&s, ZOO_SCHEDULE_CONSTANT, 1, 0, 10);
    phase(&s, ZOO_SCHEDULE_LINEAR, 2, 0, 4);
    T_NEAR(model_schedule_value(&s, 15), 0, 0);
    phase(&s, ZOO_SCHEDULE_CONSTANT, 5, 0, CONF_NULL);
    T_NEAR(model_schedule_value(&s, 9), 1, 0);
    T_NEAR(model_schedule_value(&s, 10), 2, 0);
    T_NEAR(model_schedule_value(&s, 13), 0.5, 0);
    T_NEAR(model_schedule_value(&s, 14), 5, 0);
    T_NEAR(model_schedule_value(&s, INT64_MAX), 5, 0);
}

static void check_precision(enum num_half type, bool mixed, int64_t level, enum num_format format,
                            bool softmax_16)
{
    struct zoo_params p = model_case_params(tiny);
    struct model *m;
    p.model.fp16_type = type;
    p.model.mixed_precision = mixed;
    p.runconfig.precision_opt_level = level;
    T_OK(model_create(&m, &p, HW_STREAM_BLOCK));
    T_EQ(m->format, format);
    T_EQ(m->softmax_16, softmax_16);
    model_destroy(&m);
}

/* Levels of precision_opt_level at which the softmax is taken in 16 bits. */
TEST(model, precision_chooses_format_and_softmax)
{
    for (int64_t level = 0; level <= 2; level++) {
        check_precision(NUM_HALF_FP16, true, level, NUM_FP16, level == 2);
        check_precision(NUM_HALF_BF16, true, level, NUM_BF16, level == 2);
        check_precision(NUM_HALF_CB16, true, level, NUM_CB16, level >= 1);
        check_precision(NUM_HALF_CB16, false, level, NUM_FP32, false);
    }
}

/* The rules of Glorot & Bengio and of He et al.: deviation, or half width, for a (128, 32) matrix.
 */
static void check_spread(const struct zoo_init *given, const struct zoo_init *expected)
{
    struct zoo_params p = model_case_params(tiny);
    struct model *m;
    p.model.initializer = *given;
    T_OK(model_create(&m, &p, HW_STREAM_BLOCK));
    const struct zoo_init *init = &find(m, MODEL_FFN0_W, 0)->init;
    T_EQ(init->kind, expected->kind);
    T_NEAR(init->std, expected->std, 1e-15);
    T_NEAR(init->b, expected->b, 1e-15);
    CU_ASSERT(init->a == -init->b);
    model_destroy(&m);
}

TEST(model, variance_scaling_by_fan)
{
    const double cut = 0.87962566103423978;
    const struct {
        struct zoo_init given, expected;
    } row[] = {{{.fan = ZOO_FAN_AVG, .distribution = ZOO_INIT_NORMAL, .value = 1},
                {.kind = ZOO_INIT_NORMAL, .std = 0.11180339887498948, .b = 0.22360679774997896}},
               {{.fan = ZOO_FAN_AVG, .distribution = ZOO_INIT_UNIFORM, .value = 1},
                {.kind = ZOO_INIT_UNIFORM, .std = 0.11180339887498948, .b = 0.19364916731037085}},
               {{.fan = ZOO_FAN_IN, .distribution = ZOO_INIT_UNIFORM, .value = 2},
                {.kind = ZOO_INIT_UNIFORM, .std = 0.25, .b = 0.43301270189221930}},
               {{.fan = ZOO_FAN_OUT, .distribution = ZOO_INIT_TRUNCATED_NORMAL, .value = 2},
                {.kind = ZOO_INIT_TRUNCATED_NORMAL, .std = 0.125 / cut, .b = 0.25 / cut}}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct zoo_init given = row[i].given;
        given.kind = ZOO_INIT_VARIANCE_SCALING;
        check_spread(&given, &row[i].expected);
    }
}
