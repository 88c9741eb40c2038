// SPDX-License-Identifier: Apache-2.0
/* A stage that is computed part by part while its weights come: the bits of one that is computed at
 * once, though every weight that has not come yet is NaN, in all families; and gradients that are
 * called final do not change any more. */
#include "../../support/test.h"

#include <wsc/check.h>
#include <wsc/host.h>
#include <wsc/mem.h>

#include <stdio.h>
#include <string.h>

enum { SAMPLES = 3, LEAF_SAMPLES = 2 };

#define GPT                                                                                        \
    "train_input: {data_processor: GptHDF5MapDataProcessor, data_dir: ./x, batch_size: 4}\n"       \
    "model: {vocab_size: 40, hidden_size: 16, num_hidden_layers: 2, num_heads: 2,\n"               \
    "  filter_size: 24, max_position_embeddings: 10"
#define BERT                                                                                       \
    "train_input: {data_processor: BertHDF5DataProcessor, data_dir: ./x, batch_size: 4,\n"         \
    "  max_predictions_per_seq: 4}\n"                                                              \
    "model: {name: bert, vocab_size: 40, hidden_size: 16, num_hidden_layers: 2, num_heads: 2,\n"   \
    "  filter_size: 24, max_position_embeddings: 10, disable_nsp: true"
#define T5                                                                                         \
    "train_input: {data_processor: T5HDF5DataProcessor, data_dir: ./x, batch_size: 4,\n"           \
    "  src_max_sequence_length: 8, tgt_max_sequence_length: 6}\n"                                  \
    "model: {name: t5, src_vocab_size: 40, d_model: 16, d_kv: 8, num_heads: 2, d_ff: 24,\n"        \
    "  encoder_num_hidden_layers: 2, decoder_num_hidden_layers: 2"
#define END                                                                                        \
    "}\noptimizer: {optimizer_type: AdamW, learning_rate: 0.01}\nrunconfig: {max_steps: 3}\n"

static const char *const family[] = {
    GPT ", mixed_precision: false" END,
    GPT ", mixed_precision: true, fp16_type: bfloat16" END,
    GPT ", position_embedding_type: rotary, rotary_dim: 8, norm_type: rmsnorm,\n"
        "  nonlinearity: swiglu, attention_qk_norm_layer: rmsnorm, fp16_type: float16" END,
    GPT ", position_embedding_type: rotary, rotary_dim: 4, use_untied_layer_norm: true" END,
    GPT ", position_embedding_type: alibi, share_embedding_weights: false,\n"
        "  norm_first_sandwich: true" END,
    GPT ", attention_module: multiquery_attention,\n"
        "  extra_attention_params: {num_kv_groups: 1}, use_bias_in_output: true" END,
    GPT ", moe: {num_experts: 3, top_k: 2, num_shared_experts: 1}" END,
    GPT ", dropout_rate: 0.1, lora_params: {r: 2, alpha: 4, dropout: 0.1,\n"
        "  target_modules: [TransformerDecoderLayer]}" END,
    BERT END,
    BERT ", embedding_layer_norm: true, mixed_precision: true" END,
    T5 ", norm_type: layernorm" END,
    T5 ", position_embedding_type: relative, encoder_nonlinearity: geglu,\n"
       "  mixed_precision: true" END,
};

/* One step of one model. */
struct step {
    struct model *model;
    struct zoo_params params;
    struct data_batch *batch;
    struct host *host;
    char *weights[64]; /* of each stage */
};

static void *new_block(int64_t n, int64_t size)
{
    void *block = wsc_alloc(WSC_MEM_TEST, (size_t)n, (size_t)size);
    WSC_CHECK(block, "no memory for a test");
    return block;
}

static int32_t draw(uint64_t i, int64_t below)
{
    float x;
    test_fill(&x, 1, i + 5);
    return (int32_t)((int64_t)((x + 4) * 1e6F) % below);
}

static void fill_batch(struct step *s)
{
    const struct model *m = s->model;
    T_OK(data_batch_create(&s->batch, SAMPLES, m->T));
    struct data_batch *b = s->batch;
    b->n = SAMPLES;
    b->attends = wsc_alloc(WSC_MEM_DATA, (size_t)(SAMPLES * m->T), sizeof *b->attends);
    WSC_CHECK(b->attends, "no memory for a test");
    for (int64_t i = 0; i < SAMPLES * m->T; i++) {
        b->input_ids[i] = draw((uint64_t)(3 * i), m->V);
        b->labels[i] = draw((uint64_t)(3 * i + 1), m->V);
        b->mask[i] = i % 4 != 0;
        b->attends[i] = 1;
    }
}

static void fill_weights(struct step *s)
{
    const struct model *m = s->model;
    for (int k = 0; k < m->n_stages; k++) {
        const int64_t n = m->stage[k].n_elems, bytes = num_format_bytes(m->format);
        float *w = new_block(n, sizeof *w);
        s->weights[k] = new_block(n, bytes);
        test_fill(w, n, (uint64_t)k + 40);
        for (int64_t i = 0; i < n; i++)
            w[i] *= 0.3F;
        if (m->format == NUM_FP32)
            memcpy(s->weights[k], w, (size_t)(n * bytes));
        else
            num_narrow(m->format, (uint16_t *)(void *)s->weights[k], w, n);
        wsc_free(w);
    }
}

static void create(struct step *s, const char *text, bool recompute)
{
    *s = (struct step){0};
    T_OK(zoo_params_parse(&s->params, "parts.yaml", text, strlen(text), NULL, 0));
    s->params.model.recompute = recompute;
    T_OK(model_create(&s->model, &s->params, HW_STREAM_BLOCK));
    CU_ASSERT_FATAL(s->model && s->model->n_stages <= 64);
    fill_batch(s);
    fill_weights(s);
    T_OK(host_create(&s->host, s->model, SAMPLES, true));
}

static void destroy(struct step *s)
{
    for (int k = 0; k < s->model->n_stages; k++)
        wsc_free(s->weights[k]);
    host_destroy(&s->host);
    data_batch_destroy(&s->batch);
    model_destroy(&s->model);
    zoo_params_fini(&s->params);
}

static void begin(struct step *s)
{
    const struct data_share share = {.end_leaf = 2,
                                     .n_leaves = 2,
                                     .leaf_samples = LEAF_SAMPLES,
                                     .batch_size = SAMPLES,
                                     .step = 3};
    host_begin(s->host, &share, s->batch);
}

/* Weights of stage @p k, none of which have come. */
static char *none(const struct step *s, int k)
{
    const size_t bytes = (size_t)(s->model->stage[k].n_elems * num_format_bytes(s->model->format));
    char *to = new_block((int64_t)bytes, 1);
    memset(to, 0xFF, bytes); /* NaN in every format */
    return to;
}

/* Those of part @p part come. */
static void come(const struct step *s, int k, int part, char *to)
{
    const struct model_stage *st = &s->model->stage[k];
    const int64_t bytes = num_format_bytes(s->model->format);
    for (int v = st->first_view[part]; v < st->first_view[part + 1]; v++) {
        const int64_t n = s->model->tensor[st->view[v].tensor].n_elems;
        memcpy(to + st->view[v].offset * bytes, s->weights[k] + st->view[v].offset * bytes,
               (size_t)(n * bytes));
    }
}

static void forward_by_parts(struct step *s, int k)
{
    char *w = none(s, k);
    for (int part = 0; part < s->model->stage[k].n_parts; part++) {
        come(s, k, part, w);
        host_forward_part(s->host, k, part, w);
    }
    wsc_free(w);
}

/* Gradients of parts from @p part on are final, and stay as they are in @p seen. */
static void check_final(const struct step *s, int k, int part, const float *grads, float *seen,
                        int64_t *n_seen)
{
    const struct model_stage *st = &s->model->stage[k];
    const int64_t final = host_final_gradients(s->host), n = st->n_grads;
    int64_t least = 0;
    for (int v = st->first_view[part]; v < st->n_views; v++)
        least += model_gradient_elems(&s->model->tensor[st->view[v].tensor], NULL);
    CU_ASSERT(final >= least && final >= *n_seen && final <= n);
    CU_ASSERT(!memcmp((const void *)(grads + n - *n_seen), (const void *)(seen + n - *n_seen),
                      (size_t)*n_seen * sizeof *seen));
    if (final) memcpy(seen + n - final, grads + n - final, (size_t) final * sizeof *seen);
    *n_seen = final;
}

static void backward_by_parts(struct step *s, int k, float *grads)
{
    char *w = none(s, k);
    float *seen = new_block(s->model->stage[k].n_grads + 1, sizeof *seen);
    int64_t n_seen = 0;
    for (int part = s->model->stage[k].n_parts - 1; part >= 0; part--) {
        come(s, k, part, w);
        host_backward_part(s->host, k, part, w, grads);
        check_final(s, k, part, grads, seen, &n_seen);
    }
    CU_ASSERT(!memcmp((const void *)grads, (const void *)seen,
                      (size_t)s->model->stage[k].n_grads * sizeof *seen));
    wsc_free(seen);
    wsc_free(w);
}

/* Gradients of all stages, one after the other, by the caller freed; the losses of the leaves. */
static float *run(struct step *s, bool by_parts, struct model_loss loss[2], int64_t *n)
{
    *n = 0;
    for (int k = 0; k < s->model->n_stages; k++)
        *n += s->model->stage[k].n_grads;
    float *grads = new_block(*n, sizeof *grads), *to = grads;
    memset(grads, 0xFF, (size_t)*n * sizeof *grads);
    begin(s);
    for (int k = 0; k < s->model->n_stages; k++)
        if (by_parts)
            forward_by_parts(s, k);
        else
            host_forward(s->host, k, s->weights[k]);
    memcpy(loss, host_losses(s->host), 2 * sizeof *loss);
    for (int k = s->model->n_stages - 1; k >= 0; k--) {
        if (by_parts)
            backward_by_parts(s, k, to);
        else
            host_backward(s->host, k, s->weights[k], to);
        to += s->model->stage[k].n_grads;
    }
    return grads;
}

TEST(parts, have_the_bits_of_the_stage_and_read_no_weight_that_has_not_come)
{
    for (size_t i = 0; i < sizeof family / sizeof *family; i++)
        for (int threads = 1; threads <= 3; threads += 2) {
            struct model_loss whole_loss[2], loss[2];
            struct step s;
            int64_t n;
            num_init(threads);
            create(&s, family[i], false);
            float *whole = run(&s, false, whole_loss, &n), *parts = run(&s, true, loss, &n);
            CU_ASSERT(loss[0].n_tokens > 0 && loss[0].loss_sum > 0);
            CU_ASSERT(loss[0].loss_sum == whole_loss[0].loss_sum);
            CU_ASSERT(loss[1].loss_sum == whole_loss[1].loss_sum);
            const bool same =
                !memcmp((const void *)whole, (const void *)parts, (size_t)n * sizeof *whole);
            if (!same) (void)fprintf(stderr, "family %zu, %d threads\n", i, threads);
            CU_ASSERT(same);
            for (int64_t e = 0; e < n; e++)
                if (!(whole[e] - whole[e] == 0)) CU_FAIL_FATAL("a gradient that is not finite");
            wsc_free(whole);
            wsc_free(parts);
            destroy(&s);
            num_init(1);
        }
}

/* Two micro-batches of @p s, with these gradients and losses. */
static void expect_twice(struct step *s, const float *expected, const struct model_loss *of,
                         const char *text)
{
    for (int micro = 0; micro < 2; micro++) {
        struct model_loss loss[2];
        int64_t n;
        float *grads = run(s, false, loss, &n);
        CU_ASSERT(loss[0].loss_sum == of[0].loss_sum && loss[0].loss_sum > 0);
        CU_ASSERT(loss[1].loss_sum == of[1].loss_sum);
        const bool same =
            !memcmp((const void *)grads, (const void *)expected, (size_t)n * sizeof *grads);
        if (!same) (void)fprintf(stderr, "family %s, micro-batch %d\n", text, micro);
        CU_ASSERT(same);
        wsc_free(grads);
    }
}

/* Blocks that are computed again have the bits of blocks that were kept, in losses and gradients,
 * in the first micro-batch and in those after it, with less memory. */
TEST(parts, that_are_computed_again_have_the_same_bits)
{
    for (size_t i = 0; i < sizeof family / sizeof *family; i++) {
        struct model_loss kept_loss[2];
        struct step kept, again;
        int64_t n;
        create(&kept, family[i], false);
        create(&again, family[i], true);
        CU_ASSERT(host_act_bytes(again.model, SAMPLES, true) <
                  host_act_bytes(kept.model, SAMPLES, true));
        T_EQ(host_act_bytes(again.model, SAMPLES, false),
             host_act_bytes(kept.model, SAMPLES, false));
        float *expected = run(&kept, false, kept_loss, &n);
        expect_twice(&again, expected, kept_loss, family[i]);
        wsc_free(expected);
        destroy(&kept);
        destroy(&again);
    }
}
