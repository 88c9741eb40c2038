// SPDX-License-Identifier: Apache-2.0
/* The walk over a batch, against its definition written out as nested loops, for every mode and
 * number of micro-batches. */
#include "../../support/small_run.h"
#include "../../support/test.h"

#include <wsc/stream.h>

enum { STEP = 7 };

/* Compare the next transfer of @p walk with what is expected and return its index. */
static int expect(struct stream_walk *walk, const struct stream_at *want)
{
    CU_ASSERT_FATAL(stream_walk_next(walk));
    const struct stream_at *at = &walk->at;
    T_EQ(at->step, STEP);
    T_EQ(at->index, want->index);
    T_EQ(at->micro, want->micro);
    T_EQ(at->stage, want->stage);
    T_EQ(at->backward, want->backward);
    T_EQ(at->losses_after, want->losses_after);
    T_EQ(at->starts_micro, want->starts_micro);
    T_EQ(at->ends_micro, want->ends_micro);
    return at->index;
}

static void check_walk(const struct model *model, enum stream_mode mode, int n_micro)
{
    const struct stream_pass pass = {.mode = mode, .batch = {.n_micro = n_micro}};
    struct stream_walk walk = stream_walk_of_step(model, &pass, STEP);
    const int n = model->n_stages;
    int index = -1;
    for (int micro = 0; micro < n_micro; micro++) {
        struct stream_at want = {.micro = micro};
        for (want.stage = 0; want.stage < n; want.stage++) {
            want.index = index + 1;
            want.starts_micro = want.stage == 0;
            want.losses_after = want.stage == n - 1 && mode != STREAM_GENERATE;
            want.ends_micro = want.stage == n - 1 && mode != STREAM_TRAIN;
            index = expect(&walk, &want);
        }
        want = (struct stream_at){.micro = micro, .backward = true};
        for (want.stage = n - 1; want.stage >= 0 && mode == STREAM_TRAIN; want.stage--) {
            want.index = index + 1;
            want.ends_micro = want.stage == 0;
            index = expect(&walk, &want);
        }
    }
    CU_ASSERT(!stream_walk_next(&walk));
    T_EQ(walk.n, index + 1);
}

static void check_walks(const struct zoo_params *params, enum hw_granularity grain)
{
    struct model *model = NULL;
    T_OK(model_create(&model, params, grain));
    for (int n_micro = 1; n_micro <= 3; n_micro++) {
        check_walk(model, STREAM_TRAIN, n_micro);
        check_walk(model, STREAM_EVAL, n_micro);
        check_walk(model, STREAM_GENERATE, n_micro);
    }
    model_destroy(&model);
}

TEST(stream_walk, forward_then_backward_for_each_micro_batch)
{
    struct small_config c;
    T_OK(small_config_init(&c, 1, NULL));
    check_walks(&c.params, HW_STREAM_BLOCK);
    check_walks(&c.params, HW_STREAM_MATRIX);
    small_config_fini(&c);
}

/* All stages from @p first on, in their order. */
static void check_stages(struct stream_walk *walk, const struct model *model, int first)
{
    for (int i = first; i < model->n_stages; i++) {
        CU_ASSERT(stream_walk_next(walk));
        T_EQ(walk->at.index, i);
        T_EQ(walk->at.stage, i);
        T_EQ(stream_starts_batch(&walk->at), i == first);
    }
    CU_ASSERT(!stream_walk_next(walk));
}

/* An encoder is in the first step of a generation alone; indices name transfers of the whole walk.
 */
TEST(stream_walk, sources_pass_the_encoder_in_the_first_step)
{
    enum { DECODER = 3 };
    struct model_stage stage[8] = {{.n_parts = 0}};
    const struct model model = {.n_stacks = 2, .n_stages = 8, .stage = stage};
    const struct stream_pass pass = {
        .mode = STREAM_GENERATE, .first_step = 2, .n_steps = 3, .batch = {.n_micro = 1}};
    for (int i = DECODER; i < model.n_stages; i++)
        stage[i].stack = 1;
    for (int64_t step = 2; step < 5; step++) {
        struct stream_walk walk = stream_walk_of_step(&model, &pass, step);
        check_stages(&walk, &model, step == 2 ? 0 : DECODER);
    }
}

TEST(stream_walk, texts_follow_the_last_token)
{
    const struct stream_pass pass = {
        .mode = STREAM_GENERATE, .first_step = 3, .n_steps = 4, .values = true};
    struct stream_pass other = pass;
    T_EQ(stream_end_step(&pass), 7);
    CU_ASSERT(stream_sends_texts(&pass));
    other.values = false;
    CU_ASSERT(!stream_sends_texts(&other));
    other = pass;
    other.mode = STREAM_EVAL;
    CU_ASSERT(!stream_sends_texts(&other));
}
