// SPDX-License-Identifier: Apache-2.0
/* Generation with a cache of keys and values: bit for bit the same however a text is cut into
 * steps, and within rounding what a forward of the whole text gives. */
#include "../../../src/host/host_layout.h"
#include "../../support/test.h"
#include "../model/model_case.h"

#include <wsc/host.h>
#include <wsc/mem.h>
#include <wsc/num.h>
#include <wsc/rng.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { T = 150, V = 37, N = 3, MOST_STEPS = T + 1 };

/* A feature that attention, positions or the feed-forward network has. */
struct feature {
    const char *name;
    void (*set)(struct zoo_model *m);
};

static void plain(struct zoo_model *m)
{
    (void)m;
}

static void llama(struct zoo_model *m)
{
    m->position_embedding_type = ZOO_POSITION_ROTARY;
    m->rotary_dim = 8;
    m->rope_theta = 10000;
    m->num_kv_groups = 2;
    m->norm_type = ZOO_RMSNORM;
    m->nonlinearity = ZOO_SWIGLU;
    m->share_embedding_weights = false;
    m->use_ffn_bias = m->use_ffn_bias_in_attention = m->use_projection_bias_in_attention = false;
}

static void mistral(struct zoo_model *m)
{
    llama(m);
    m->attention_sliding_window_length = 20;
}

static void sinks(struct zoo_model *m)
{
    llama(m);
    m->attention_sliding_window_length = 9;
    m->attention_sink_tokens = 3;
}

static void gemma2(struct zoo_model *m)
{
    mistral(m);
    m->sliding_window_every_other_decoder_layer = true;
    m->norm_first_sandwich = true;
    m->attention_logit_softcapping = 5;
    m->final_logit_softcapping = 4;
}

static void falcon(struct zoo_model *m)
{
    llama(m);
    m->nonlinearity = ZOO_GELU;
    m->num_kv_groups = 1;
    m->parallel_block = true;
}

static void alibi(struct zoo_model *m)
{
    m->position_embedding_type = ZOO_POSITION_ALIBI;
    m->embedding_layer_norm = true;
}

static void fixed(struct zoo_model *m)
{
    m->position_embedding_type = ZOO_POSITION_FIXED;
}

static void mixtral(struct zoo_model *m)
{
    llama(m);
    m->moe = (struct zoo_moe){.num_experts = 4,
                              .num_shared_experts = 1,
                              .top_k = 2,
                              .expert_weighting_normalization = true};
}

static const struct feature feature[] = {
    {"gpt2", plain},  {"llama", llama},   {"mistral", mistral},
    {"sinks", sinks}, {"gemma2", gemma2}, {"falcon", falcon},
    {"alibi", alibi}, {"fixed", fixed},   {"mixtral", mixtral}};
enum { N_FEATURES = sizeof feature / sizeof *feature };

/* A model, its stages' weights and a batch of texts.  Owns what it points to. */
struct scene {
    struct model *model;
    void **weights;
    struct data_batch *batch;
};

static void fill_stage(const struct scene *s, int stage)
{
    const struct model *m = s->model;
    const struct model_stage *st = &m->stage[stage];
    float *x = wsc_alloc(WSC_MEM_TEST, (size_t)st->n_elems, sizeof *x);
    if (!x) abort();
    for (int i = 0; i < st->n_views; i++) {
        const struct model_tensor *t = &m->tensor[st->view[i].tensor];
        const float spread = t->n_dims == 2 ? 1.5F / sqrtf((float)t->shape[1]) : 0.3F;
        float *w = x + st->view[i].offset;
        test_fill(w, t->n_elems, (uint64_t)st->view[i].tensor + 7);
        for (int64_t j = 0; j < t->n_elems; j++)
            w[j] = w[j] * spread + (t->n_dims == 1 ? 0.5F : 0);
    }
    if (m->format == NUM_FP32)
        memcpy(s->weights[stage], x, (size_t)st->n_elems * sizeof *x);
    else
        num_narrow(m->format, s->weights[stage], x, st->n_elems);
    wsc_free(x);
}

static void scene_open(struct scene *s, int f, enum num_format format)
{
    struct zoo_params p =
        model_case_params((struct model_case){.C = 32, .L = 2, .H = 4, .F = 24, .T = T});
    p.model.vocab_size = V;
    p.model.num_kv_groups = p.model.attention_inner_dim = CONF_NULL;
    p.model.attention_sliding_window_length = CONF_NULL;
    feature[f].set(&p.model);
    T_OK(model_create(&s->model, &p, HW_STREAM_BLOCK));
    s->model->format = format;
    s->weights = wsc_alloc(WSC_MEM_TEST, (size_t)s->model->n_stages, sizeof *s->weights);
    T_OK(data_batch_create(&s->batch, N, T));
    if (!s->weights) abort();
    for (int k = 0; k < s->model->n_stages; k++) {
        s->weights[k] = wsc_alloc(WSC_MEM_TEST, (size_t)s->model->stage[k].n_elems, sizeof(float));
        fill_stage(s, k);
    }
    s->batch->n = N;
    for (int64_t i = 0; i < (int64_t)N * T; i++)
        s->batch->input_ids[i] =
            (int32_t)(wsc_rng_u64(5, wsc_rng_stream(WSC_RNG_TEST, 1), (uint64_t)i) % V);
}

static void scene_close(struct scene *s)
{
    for (int k = 0; k < s->model->n_stages; k++)
        wsc_free(s->weights[k]);
    wsc_free(s->weights);
    data_batch_destroy(&s->batch);
    model_destroy(&s->model);
}

static void run_stages(const struct scene *s, struct host *k)
{
    for (int i = 0; i < s->model->n_stages; i++)
        host_forward(k, i, s->weights[i]);
}

static void take_logits(const struct host *k, float *logits)
{
    for (int64_t i = 0; i < N; i++)
        memcpy(logits + i * V, host_logits(k, i), V * sizeof *logits);
}

/* A step of generation. */
static void step(const struct scene *s, struct host *k, const struct data_range *at)
{
    const struct data_step now = {.positions = at};
    T_OK(host_begin_cached(k, s->batch, &now));
    run_stages(s, k);
}

static int64_t tile_keys; /* most keys of a tile of attention; 0: the default */

static struct host *buffers(const struct scene *s)
{
    struct host *k = NULL;
    struct host_limits limits = host_default_limits;
    limits.keys = tile_keys;
    T_OK(host_create_limited(&k, s->model, N, false, &limits));
    return k;
}

/* Logits (N, V) of position @p last of every text, with forwards that end at @p n_ends positions.
 */
static void in_steps(const struct scene *s, const int64_t *ends, int n_ends, float *logits)
{
    struct host *k = buffers(s);
    for (int e = 0; e < n_ends; e++) {
        const struct data_range one = {e ? ends[e - 1] : 0, ends[e]};
        step(s, k, (struct data_range[N]){one, one, one});
    }
    take_logits(k, logits);
    host_destroy(&k);
}

static void at_once(const struct scene *s, int64_t end, float *logits)
{
    in_steps(s, &end, 1, logits);
}

/* One token at a time after a first step of @p prompt. */
static void token_by_token(const struct scene *s, int64_t prompt, int64_t end, float *logits)
{
    int64_t ends[MOST_STEPS];
    int n = 0;
    for (int64_t at = prompt; at <= end; at++)
        ends[n++] = at;
    in_steps(s, ends, n, logits);
}

/* What evaluation computes, with the library's products. */
static void evaluate(const struct scene *s, struct host *k, int64_t end, float *logits)
{
    const struct data_share share = {
        .end_leaf = N, .n_leaves = N, .leaf_samples = 1, .batch_size = N};
    const int64_t last[N] = {end - 1, end - 1, end - 1};
    host_begin(k, &share, s->batch);
    T_OK(host_want_logits(k, last));
    run_stages(s, k);
    take_logits(k, logits);
}

static void whole(const struct scene *s, int64_t end, float *logits)
{
    struct host *k = buffers(s);
    evaluate(s, k, end, logits);
    host_destroy(&k);
}

/* The logits of @p n texts. */
static bool same_bits(const char *what, const void *a, const void *b, int n)
{
    if (!memcmp(a, b, (size_t)n * V * sizeof(float))) return true;
    (void)fprintf(stderr, "%s: other bits\n", what);
    return false;
}

static bool near(const char *what, const float *a, const float *b, double tolerance)
{
    double worst = 0, largest = 0;
    for (int i = 0; i < N * V; i++) {
        worst = num_max_error(worst, fabs((double)a[i] - (double)b[i]));
        largest = fmax(largest, fabs((double)b[i]));
    }
    if (worst <= tolerance * largest) return true;
    (void)fprintf(stderr, "%s: off by %.3g of %.3g\n", what, worst, largest);
    return false;
}

/* In 16 bits what falls on the other side of a rounding shows. */
static double tolerance_of(enum num_format format)
{
    return format == NUM_FP32 ? 1e-6 : ldexp(2.5, -num_formats[format].mantissa);
}

static void check_feature(int f, enum num_format format, int64_t prompt, int64_t end)
{
    static float once[N * V], steps[N * V], full[N * V];
    struct scene s;
    scene_open(&s, f, format);
    at_once(&s, end, once);
    token_by_token(&s, prompt, end, steps);
    whole(&s, end, full);
    CU_ASSERT(same_bits(feature[f].name, once, steps, N));
    CU_ASSERT(near(feature[f].name, once, full, tolerance_of(format)));
    scene_close(&s);
}

TEST(cache, tokens_one_by_one_give_the_bits_of_the_text_at_once)
{
    for (int f = 0; f < N_FEATURES; f++)
        check_feature(f, NUM_FP32, 1 + f * 13, T);
}

TEST(cache, in_every_format)
{
    for (int f = 0; f < N_FEATURES; f++)
        check_feature(f, num_format_of((enum num_half)(f % NUM_N_HALVES)), 60, 70);
}

static void check_cuts(void)
{
    static float once[N * V], steps[N * V];
    for (uint64_t trial = 0; trial < 12; trial++) {
        struct scene s;
        int64_t ends[MOST_STEPS], at = 0;
        int n = 0;
        while (at < T) {
            at += 1 +
                  (int64_t)(wsc_rng_u64(9, wsc_rng_stream(WSC_RNG_TEST, trial), (uint64_t)at) % 70);
            ends[n++] = at < T ? at : T;
        }
        scene_open(&s, (int)trial % N_FEATURES, NUM_FP32);
        at_once(&s, T, once);
        in_steps(&s, ends, n, steps);
        CU_ASSERT(same_bits(feature[trial % N_FEATURES].name, once, steps, N));
        scene_close(&s);
    }
}

TEST(cache, any_cut_into_steps)
{
    check_cuts();
    tile_keys = 48;
    check_cuts();
    tile_keys = 0;
}

/* Texts of different lengths in one batch, and on several threads, then two tokens more of each. */
static void check_lengths(const struct scene *s, const char *name)
{
    static float alone[N * V], together[N * V];
    const int64_t n[N] = {5, 64, 131};
    struct host *k;
    num_init(3);
    k = buffers(s);
    step(s, k, (struct data_range[N]){{0, n[0]}, {0, n[1]}, {0, n[2]}});
    for (int64_t i = 0; i < 2; i++)
        step(s, k,
             (struct data_range[N]){
                 {n[0] + i, n[0] + i + 1}, {n[1] + i, n[1] + i + 1}, {n[2] + i, n[2] + i + 1}});
    num_init(1);
    take_logits(k, together);
    for (int64_t i = 0; i < N; i++) {
        at_once(s, n[i] + 2, alone);
        CU_ASSERT(same_bits(name, alone + i * V, together + i * V, 1));
    }
    host_destroy(&k);
}

TEST(cache, what_else_is_in_the_batch_does_not_matter)
{
    for (int f = 0; f < N_FEATURES; f += 2) {
        struct scene s;
        scene_open(&s, f, NUM_FP32);
        check_lengths(&s, feature[f].name);
        scene_close(&s);
    }
}

TEST(cache, a_text_without_new_positions_keeps_its_logits)
{
    static float before[N * V], after[N * V], alone[N * V];
    struct scene s;
    scene_open(&s, 1, NUM_FP32);
    struct host *k = buffers(&s);
    step(&s, k, (struct data_range[N]){{0, 20}, {0, 30}, {0, 10}});
    take_logits(k, before);
    step(&s, k, (struct data_range[N]){{20, 21}, {30, 30}, {10, 10}});
    take_logits(k, after);
    CU_ASSERT(same_bits("those that ended", before + V, after + V, 2));
    at_once(&s, 21, alone);
    CU_ASSERT(same_bits("the one that continued", alone, after, 1));
    host_destroy(&k);
    scene_close(&s);
}

/* The cache does not change what evaluation computes with the same buffers afterwards. */
TEST(cache, evaluation_afterwards_is_as_before)
{
    static float fresh[N * V], again[N * V];
    struct scene s;
    scene_open(&s, 0, NUM_FP32);
    whole(&s, T, fresh);
    struct host *k = buffers(&s);
    step(&s, k, (struct data_range[N]){{0, 7}, {0, 8}, {0, 9}});
    evaluate(&s, k, T, again);
    CU_ASSERT(same_bits("evaluation", fresh, again, N));
    host_destroy(&k);
    scene_close(&s);
}

/* Texts 0 and 2 change places, text 1 continues itself: what follows are the logits of the texts
 * that they continue. */
TEST(cache, a_text_may_continue_another)
{
    static float straight[N * V], changed[N * V];
    static const int64_t from[N] = {2, 1, 0};
    struct scene s;
    scene_open(&s, 1, NUM_BF16);
    int32_t *ids = s.batch->input_ids;
    struct host *k = buffers(&s);
    step(&s, k, (struct data_range[N]){{0, 20}, {0, 20}, {0, 20}});
    step(&s, k, (struct data_range[N]){{20, 21}, {20, 21}, {20, 21}});
    take_logits(k, straight);
    step(&s, k, (struct data_range[N]){{0, 20}, {0, 20}, {0, 20}});
    for (int64_t t = 0; t < T; t++) {
        const int32_t id = ids[t];
        ids[t] = ids[(ptrdiff_t)2 * T + t];
        ids[(ptrdiff_t)2 * T + t] = id;
    }
    const struct data_range at[N] = {{20, 21}, {20, 21}, {20, 21}};
    const struct data_step now = {.positions = at, .n_beams = N, .from = from};
    T_OK(host_begin_cached(k, s.batch, &now));
    run_stages(&s, k);
    take_logits(k, changed);
    CU_ASSERT(same_bits("text 0", changed, straight + (ptrdiff_t)2 * V, 1));
    CU_ASSERT(same_bits("text 1", changed + V, straight + V, 1));
    CU_ASSERT(same_bits("text 2", changed + (ptrdiff_t)2 * V, straight, 1));
    host_destroy(&k);
    scene_close(&s);
}

TEST(cache, bytes_are_those_of_keys_and_values)
{
    struct scene s;
    scene_open(&s, 1, NUM_BF16); /* 2 layers, 2 heads of 8, keys and values, 2 bytes */
    T_EQ(host_cache_bytes(s.model, 1), 2 * 2 * 8 * 2 * 2);
    T_EQ(host_cache_bytes(s.model, 1000), 128000);
    T_EQ(host_cache_bytes(s.model, INT64_MAX / 2), INT64_MAX);
    scene_close(&s);
}
