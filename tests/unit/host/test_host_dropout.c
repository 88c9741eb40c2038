// SPDX-License-Identifier: Apache-2.0
/* Dropout: how much is dropped, on what that depends, and that gradients go through it. */
#include "host_fixture.h"

#include "../../../src/host/host_branch.h"

#include "../../support/test.h"

#include <wsc/mem.h>
#include <wsc/programs.h>
#include <wsc/rng.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct fixture_shape shape = {
    .L = 2, .C = 32, .H = 4, .F = 40, .V = 19, .T = 24, .n_samples = 4};

static void create(struct fixture *f, double embed, double attention, double residual)
{
    fixture_create(f, &shape);
    f->model.zoo.embedding_dropout_rate = embed;
    f->model.zoo.attention_dropout_rate = attention;
    f->model.zoo.dropout_rate = residual;
    f->model.seed = 7;
}

static double loss_of(const struct fixture *f, struct fixture_result *r)
{
    const struct fixture_run run = {.end_leaf = shape.n_samples, .leaf_samples = 1};
    double sum = 0;
    fixture_step(f, &run, r);
    for (int64_t i = 0; i < r->n_leaves; i++)
        sum += r->loss[i].loss_sum;
    return sum;
}

/* d(loss)/d(weights along a direction) by central differences: weight by weight the sum of
 * gradients times directions must be the same, for the masks do not depend on the weights. */
static void check_slope(struct fixture *f, int stage, int view)
{
    const struct model_view *v = &f->model.stage[stage].view[view];
    const int64_t n = f->tensor[v->tensor].n_elems;
    float *w = (float *)f->stage_weights[stage] + v->offset, kept[1280], direction[1280];
    struct fixture_result r;
    const float step = 0.003F;
    double slope = 0, loss[2];
    CU_ASSERT_FATAL(n <= 1280);
    test_fill(direction, n, (uint64_t)stage * 64 + (uint64_t)view);
    memcpy(kept, w, (size_t)n * sizeof *w);
    (void)loss_of(f, &r);
    for (int64_t i = 0; i < n; i++)
        slope += (double)r.grads[stage][v->offset + i] * (double)direction[i];
    fixture_result_destroy(f, &r);
    for (int sign = 0; sign < 2; sign++) {
        for (int64_t i = 0; i < n; i++)
            w[i] = kept[i] + (sign ? -step : step) * direction[i];
        loss[sign] = loss_of(f, &r);
        fixture_result_destroy(f, &r);
    }
    memcpy(w, kept, (size_t)n * sizeof *w);
    T_NEAR((loss[0] - loss[1]) / (2 * (double)step), slope, 0.02 * fabs(slope) + 0.02);
}

TEST(dropout, gradients_are_those_of_the_loss_with_the_same_masks)
{
    static const double rates[][3] = {{0.3, 0, 0}, {0, 0.3, 0}, {0, 0, 0.3}, {0.1, 0.2, 0.1}};
    for (int i = 0; i < 4; i++) {
        struct fixture f;
        create(&f, rates[i][0], rates[i][1], rates[i][2]);
        for (int s = 0; s < f.model.n_stages; s++)
            for (int v = 0; v < f.model.stage[s].n_views; v++)
                check_slope(&f, s, v);
        fixture_destroy(&f);
    }
}

/* One row of ones through one place. */
static int64_t kept_of(struct host *k, enum model_drop_place place, int64_t row, float *x)
{
    int64_t kept = 0;
    for (int c = 0; c < shape.C; c++)
        x[c] = 1;
    host_drop(k, place, row, row * shape.C, x, shape.C, 0);
    for (int c = 0; c < shape.C; c++)
        kept += x[c] != 0;
    return kept;
}

static struct host *host(const struct fixture *f, bool training, int64_t step)
{
    struct data_share share = {.end_leaf = shape.n_samples,
                               .n_leaves = shape.n_samples,
                               .leaf_samples = 1,
                               .batch_size = shape.n_samples,
                               .step = step};
    struct host *k;
    T_OK(host_create(&k, &f->model, shape.n_samples, training));
    host_begin(k, &share, &f->batch);
    k->stage.layer = 0;
    return k;
}

TEST(dropout, drops_its_share_and_keeps_the_mean)
{
    static const double rates[] = {0.1, 0.5, 0.9};
    struct fixture f;
    create(&f, 0.1, 0, 0);
    for (int i = 0; i < 3; i++) {
        int64_t kept = 0, steps = 40, rows = shape.n_samples * shape.T;
        float x[64], sum = 0;
        f.model.zoo.dropout_rate = rates[i];
        for (int64_t step = 0; step < steps; step++) {
            struct host *k = host(&f, true, step);
            for (int64_t row = 0; row < rows; row++)
                kept += kept_of(k, MODEL_DROP_FFN, row, x);
            host_destroy(&k);
        }
        for (int c = 0; c < shape.C; c++)
            sum += x[c];
        T_NEAR(remainder((double)sum * (1 - rates[i]), 1), 0, 1e-4);
        const double n = (double)(steps * rows * shape.C), mean = 1 - rates[i];
        /* five standard deviations of a binomial share */
        T_NEAR((double)kept / n, mean, 5 * sqrt(mean * rates[i] / n));
    }
    fixture_destroy(&f);
}

TEST(dropout, nothing_without_training_everything_at_rate_1)
{
    struct fixture f;
    float x[64];
    create(&f, 0.5, 0, 0);
    struct host *k = host(&f, false, 0);
    T_EQ(kept_of(k, MODEL_DROP_EMBED, 0, x), shape.C);
    T_NEAR(x[0], 1, 0);
    host_destroy(&k);
    k = host(&f, true, 0);
    f.model.zoo.embedding_dropout_rate = 0;
    T_EQ(kept_of(k, MODEL_DROP_EMBED, 0, x), shape.C);
    f.model.zoo.embedding_dropout_rate = 1;
    T_EQ(kept_of(k, MODEL_DROP_EMBED, 0, x), 0);
    host_destroy(&k);
    fixture_destroy(&f);
}

/* Another step, place, layer or sample is another mask; the same ones are the same mask. */
TEST(dropout, what_a_mask_depends_on)
{
    struct fixture f;
    float x[6][64];
    create(&f, 0, 0, 0.5);
    struct host *k = host(&f, true, 3), *later = host(&f, true, 4);
    (void)kept_of(k, MODEL_DROP_ATTN, 0, x[0]);
    (void)kept_of(k, MODEL_DROP_FFN, 0, x[1]);
    (void)kept_of(later, MODEL_DROP_ATTN, 0, x[2]);
    (void)kept_of(k, MODEL_DROP_ATTN, shape.T, x[3]);
    k->stage.layer = 1;
    (void)kept_of(k, MODEL_DROP_ATTN, 0, x[4]);
    k->stage.layer = 0;
    (void)kept_of(k, MODEL_DROP_ATTN, 0, x[5]);
    for (int i = 1; i < 5; i++)
        CU_ASSERT(memcmp(x[0], x[i], (size_t)shape.C * sizeof(float)) != 0);
    CU_ASSERT(!memcmp(x[0], x[5], (size_t)shape.C * sizeof(float)));
    host_destroy(&k);
    host_destroy(&later);
    fixture_destroy(&f);
}

TEST(dropout, words_are_those_of_the_stream)
{
    uint32_t word[9];
    const uint64_t stream = wsc_rng_stream(WSC_RNG_TEST, 5);
    wsc_rng_words(word, 3, stream, 100, 9);
    for (uint64_t i = 0; i < 9; i++)
        CU_ASSERT(word[i] == (uint32_t)wsc_rng_u64(3, stream, 100 + i));
}

/* ---- what the mesh has no programs for ---- */

static void refuse(const struct model *m, const char *key)
{
    CU_ASSERT_EQUAL(programs_model_check(m), WSC_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), key));
}

enum { REFUSED_NETWORKS = 17 };

TEST(mesh_features, are_those_of_decoders_and_encoders)
{
    struct fixture f;
    create(&f, 0.1, 0.1, 0.1);
    const struct model gpt2 = f.model;
    T_OK(programs_model_check(&gpt2));
#define REFUSE(change, key)                                                                        \
    do {                                                                                           \
        struct model m = gpt2;                                                                     \
        m.change;                                                                                  \
        refuse(&m, "model." key);                                                                  \
    } while (0)
    REFUSE(n_stacks = 2, "objective");
    REFUSE(patch = 4, "objective");
    REFUSE(experts = m.active_experts = REFUSED_NETWORKS, "moe.top_k");
    struct model one_token = gpt2;
    one_token.head[0].loss = MODEL_SPAN_ENTROPY;
    T_OK(programs_model_check(&one_token));
    one_token.T = 1;
    refuse(&one_token, "model.max_position_embeddings");
    fixture_destroy(&f);
}
