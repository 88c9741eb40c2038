// SPDX-License-Identifier: Apache-2.0
/* Packed texts with attention in both directions: a text has the loss and the gradients that it has
 * alone, bit for bit at the same places of a sample, and within rounding at others. */
#include "host_fixture.h"

#include "../../support/test.h"

#include <math.h>
#include <string.h>

enum { T = 150, SPLIT = 61 };
/* Without positions, so that a text is the same at every place. */
static const struct fixture_shape shape = {
    .L = 2, .C = 24, .H = 3, .F = 20, .V = 31, .T = T, .n_samples = 1, .no_positions = true};

/* Two texts, [0, SPLIT) and [SPLIT, T). */
static void pack(struct fixture *f)
{
    static int32_t span[T], position[T];
    for (int t = 0; t < T; t++) {
        position[t] = t < SPLIT ? t : t - SPLIT;
        span[t] = (t < SPLIT ? SPLIT : T) - 1 - t;
    }
    f->batch.attention_span = span;
    f->batch.position_ids = position;
}

/* One text in [first, end), and padding elsewhere. */
static void pad(struct fixture *f, int first, int end)
{
    static int32_t attends[T];
    for (int t = 0; t < T; t++)
        attends[t] = t >= first && t < end;
    f->batch.attends = attends;
}

/* The labels of [first, end) alone count. */
static void predict(struct fixture *f, int first, int end)
{
    for (int t = 0; t < T; t++) {
        f->batch.mask[t] = t >= first && t < end && t % 3 == 0;
        f->batch.labels[t] = (int32_t)(t % shape.V);
    }
}

static void step(struct fixture *f, struct fixture_result *r)
{
    const struct fixture_run run = {.end_leaf = 1, .leaf_samples = 1};
    fixture_step(f, &run, r);
    f->batch.attention_span = f->batch.position_ids = f->batch.attends = NULL;
}

/* The largest difference of two gradients against their largest value; +0 and -0 are equal. */
static double difference(const struct fixture *f, const struct fixture_result *a,
                         const struct fixture_result *b)
{
    double most = 0;
    for (int s = 0; s < f->model.n_stages; s++) {
        double size = 0, apart = 0;
        for (int64_t i = 0; i < f->stage[s].n_elems; i++) {
            size = fmax(size, fabs((double)b->grads[s][i]));
            apart = fmax(apart, fabs((double)a->grads[s][i] - (double)b->grads[s][i]));
        }
        if (size > 0) most = fmax(most, apart / size);
    }
    return most;
}

static void check_text(enum num_format format, int first, int end)
{
    struct fixture f;
    struct fixture_shape s = shape;
    struct fixture_result packed, alone;
    s.format = format;
    fixture_create(&f, &s);
    f.model.causal = f.model.stack[0].causal = false;
    predict(&f, first, end);
    pack(&f);
    step(&f, &packed);
    pad(&f, first, end);
    step(&f, &alone);
    CU_ASSERT(alone.loss[0].loss_sum > 0);
    CU_ASSERT(packed.loss[0].loss_sum == alone.loss[0].loss_sum);
    CU_ASSERT(difference(&f, &packed, &alone) == 0);
    fixture_result_destroy(&f, &packed);
    fixture_result_destroy(&f, &alone);
    fixture_destroy(&f);
}

TEST(host_texts, packed_are_alone_bit_for_bit)
{
    static const enum num_format format[] = {NUM_FP32, NUM_BF16};
    for (int i = 0; i < 2; i++) {
        check_text(format[i], 0, SPLIT);
        check_text(format[i], SPLIT, T);
    }
}

/* Move the second text to the front of the sample. */
static void move_text(struct fixture *f)
{
    for (int t = 0; t < T - SPLIT; t++) {
        f->batch.input_ids[t] = f->batch.input_ids[t + SPLIT];
        f->batch.labels[t] = f->batch.labels[t + SPLIT];
        f->batch.mask[t] = f->batch.mask[t + SPLIT];
    }
    memset(f->batch.mask + T - SPLIT, 0, SPLIT * sizeof *f->batch.mask);
}

TEST(host_texts, a_text_is_the_same_at_other_places)
{
    struct fixture f;
    struct fixture_result packed, alone;
    fixture_create(&f, &shape);
    f.model.causal = f.model.stack[0].causal = false;
    predict(&f, SPLIT, T);
    pack(&f);
    step(&f, &packed);
    move_text(&f);
    pad(&f, 0, T - SPLIT);
    step(&f, &alone);
    T_NEAR(packed.loss[0].loss_sum / alone.loss[0].loss_sum, 1, 1e-6);
    CU_ASSERT(difference(&f, &packed, &alone) < 1e-5);
    fixture_result_destroy(&f, &packed);
    fixture_result_destroy(&f, &alone);
    fixture_destroy(&f);
}
