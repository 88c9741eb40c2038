// SPDX-License-Identifier: Apache-2.0
/* Attention in tiles of keys: with windows, sinks, soft caps, ALiBi, packed texts, padding and
 * dropout the loss and all gradients are those of one tile that has all keys, within rounding. */
#include "host_fixture.h"

#include "../../support/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { T = 150 };
static const struct fixture_shape shape = {
    .L = 2, .C = 24, .H = 3, .F = 20, .V = 31, .T = T, .n_samples = 2};

static void plain(struct fixture *f)
{
    (void)f;
}

static void window(struct fixture *f)
{
    f->model.window = 37;
}

static void sinks(struct fixture *f)
{
    f->model.window = 20;
    f->model.sink_tokens = 5;
}

static void capped(struct fixture *f)
{
    f->model.zoo.attention_logit_softcapping = 0.5;
}

static void alibi(struct fixture *f)
{
    f->model.zoo.position_embedding_type = ZOO_POSITION_ALIBI;
}

static void dropped(struct fixture *f)
{
    f->model.zoo.attention_dropout_rate = 0.3;
    f->model.seed = 3;
}

/* Texts of 40 tokens, of which none sees another. */
static void packed(struct fixture *f)
{
    static int32_t span[2 * T];
    for (int i = 0; i < 2 * T; i++)
        span[i] = 39 - i % T % 40;
    f->batch.attention_span = span;
}

/* Attention in both directions; nobody sees the first 60 keys, a whole tile, nor the last ones. */
static void padded(struct fixture *f)
{
    static int32_t attends[2 * T];
    for (int i = 0; i < 2 * T; i++)
        attends[i] = i % T >= 60 && i % T < 140;
    f->model.causal = f->model.stack[0].causal = false;
    f->batch.attends = attends;
}

/* Texts of 40 tokens in both directions. */
static void packed_both_ways(struct fixture *f)
{
    static int32_t position[2 * T];
    packed(f);
    for (int i = 0; i < 2 * T; i++)
        position[i] = i % T % 40;
    f->model.causal = f->model.stack[0].causal = false;
    f->batch.position_ids = position;
}

static const struct feature {
    const char *name;
    void (*set)(struct fixture *f);
} features[] = {{"plain", plain},   {"window", window}, {"sinks", sinks},
                {"capped", capped}, {"alibi", alibi},   {"dropped", dropped},
                {"packed", packed}, {"padded", padded}, {"packed both ways", packed_both_ways}};

static double distance(const float *x, const float *y, int64_t n)
{
    double sum = 0, size = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]);
        size += (double)y[i] * (double)y[i];
    }
    return sqrt(sum / size);
}

static void check_gradients(const struct fixture *f, const struct fixture_result *narrow,
                            const struct fixture_result *wide, const char *what, double tolerance)
{
    for (int i = 0; i < f->model.n_stages; i++) {
        const double d = distance(narrow->grads[i], wide->grads[i], f->stage[i].n_elems);
        if (!(d < tolerance)) printf("%s, stage %d: gradients differ by %g\n", what, i, d);
        CU_ASSERT(d < tolerance);
    }
}

/* Tiles that end inside a block of queries too; returns the loss of the first sample. */
static double check_feature(const struct feature *feature, enum num_format format, double tolerance)
{
    struct fixture f;
    struct fixture_shape s = shape;
    s.format = format;
    struct fixture_result wide, narrow;
    fixture_create(&f, &s);
    int32_t *const span = f.batch.attention_span, *const attends = f.batch.attends;
    int32_t *const position = f.batch.position_ids;
    feature->set(&f);
    const struct host_limits one = {.keys = T, .vocab_cols = 64};
    struct fixture_run run = {.end_leaf = 2, .leaf_samples = 1, .limits = &one};
    fixture_step(&f, &run, &wide);
    for (int64_t keys = 40; keys <= 112; keys += 24) {
        const struct host_limits tiles = {.keys = keys, .vocab_cols = 64};
        run.limits = &tiles;
        fixture_step(&f, &run, &narrow);
        for (int i = 0; i < 2; i++)
            T_NEAR(narrow.loss[i].loss_sum / wide.loss[i].loss_sum, 1, tolerance);
        check_gradients(&f, &narrow, &wide, feature->name, 10 * tolerance);
        fixture_result_destroy(&f, &narrow);
    }
    const double loss = wide.loss[0].loss_sum;
    fixture_result_destroy(&f, &wide);
    f.batch.attention_span = span;
    f.batch.attends = attends;
    f.batch.position_ids = position;
    fixture_destroy(&f);
    return loss;
}

/* Every feature also has an effect. */
TEST(host_tiles, give_what_one_tile_gives)
{
    double plain_loss = 0;
    for (size_t i = 0; i < sizeof features / sizeof *features; i++) {
        const double loss = check_feature(&features[i], NUM_FP32, 1e-6);
        if (!i) plain_loss = loss;
        CU_ASSERT(!i || fabs(loss - plain_loss) > 1e-4 * plain_loss);
        (void)check_feature(&features[i], NUM_BF16, 2e-3);
    }
}

/* The scores of a thread are a tile, whatever the length of a text. */
TEST(host_tiles, memory_does_not_grow_with_the_length)
{
    int64_t bytes[2][HOST_N_THREAD_BUFFERS];
    struct fixture f;
    fixture_create(&f, &shape);
    for (int i = 0; i < 2; i++) {
        f.model.stack[0].T = i ? 32768 : 512;
        host_thread_layout(bytes[i], &f.model, 1, true, &host_default_limits);
    }
    static const enum host_thread_buffer scores[] = {HOST_SCORE, HOST_DSCORE, HOST_SCORE_OP,
                                                     HOST_DSCORE_OP};
    for (int i = 0; i < 4; i++)
        T_EQ(bytes[1][scores[i]], bytes[0][scores[i]]);
    T_EQ(bytes[1][HOST_SCORE], 64 * 512 * 4);
    f.model.stack[0].T = T;
    fixture_destroy(&f);
}
