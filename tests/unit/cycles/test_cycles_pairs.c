// SPDX-License-Identifier: Apache-2.0
/* The time of a step of generation of an encoder with a decoder, and of beam search. */
#include "../../support/params_case.h"
#include "cycles_case.h"

#include <wsc/cycles.h>

#include <string.h>

static const struct cycles_plan one_lane = {.lanes = 1, .micro_batch = 1};

struct scene {
    struct zoo_params params;
    struct hw_machine cluster;
    struct hw hw;
    struct model *model;
};

static void scene_open(struct scene *s)
{
    *s = (struct scene){0};
    T_OK(zoo_params_parse(&s->params, "t5.yaml", params_t5, strlen(params_t5), NULL, 0));
    s->cluster = model_case_cs2();
    s->hw = (struct hw){.cluster = &s->cluster};
    T_OK(model_create(&s->model, &s->params, HW_STREAM_BLOCK));
}

static void scene_close(struct scene *s)
{
    model_destroy(&s->model);
    zoo_params_fini(&s->params);
}

/* Cycles of stages [first, end). */
static int64_t stages(const struct scene *s, int first, int end, const struct cycles_tokens *tokens,
                      int64_t n_texts)
{
    int64_t sum = 0;
    for (int i = first; i < end; i++)
        sum += cycles_generate(&s->hw, s->model, &one_lane, i, tokens, n_texts, NULL);
    return sum;
}

/* The encoder has work for sources alone, however many texts each has. */
TEST(cycles_pairs, a_source_passes_the_encoder_once)
{
    struct scene s;
    scene_open(&s);
    const int decoder = model_first_stage(s.model, 1), n = s.model->n_stages;
    const struct cycles_tokens alone = {.n_new = 1, .n_source = 300, .n_memory = 300, .n_beams = 1};
    const struct cycles_tokens beams = {.n_new = 1, .n_source = 300, .n_memory = 300, .n_beams = 4};
    const struct cycles_tokens later = {.n_new = 1, .n_cached = 1, .n_memory = 300, .n_beams = 4};
    CU_ASSERT(decoder == 3 && s.model->stage[decoder].part[0] == MODEL_PART_MEMORY);
    T_EQ(stages(&s, 0, decoder, &alone, 3), stages(&s, 0, decoder, &beams, 12));
    CU_ASSERT(stages(&s, 0, decoder, &alone, 3) < stages(&s, 0, decoder, &alone, 12));
    for (int i = decoder; i < n - 1; i++) /* keys of the output, its norm */
        CU_ASSERT(stages(&s, i, i + 1, &later, 12) < stages(&s, i, i + 1, &beams, 12));
    scene_close(&s);
}

TEST(cycles_pairs, more_memory_beams_or_cached_tokens_are_never_faster)
{
    struct scene s;
    scene_open(&s);
    const int decoder = model_first_stage(s.model, 1), n = s.model->n_stages;
    int64_t before = 0;
    for (int64_t k = 1; k <= 8; k++) {
        const struct cycles_tokens memory = {.n_new = 1, .n_cached = 9, .n_memory = 64 * k};
        const int64_t now = stages(&s, decoder, n, &memory, 600);
        CU_ASSERT(now >= before);
        before = now;
    }
    before = 0;
    for (int64_t k = 1; k <= 8; k++) {
        const struct cycles_tokens beams = {
            .n_new = 1, .n_cached = 9, .n_memory = 64, .n_beams = k};
        const int64_t now = stages(&s, decoder, n, &beams, 100 * k);
        CU_ASSERT(now >= before);
        before = now;
    }
    const struct cycles_tokens few = {.n_new = 1, .n_cached = 9, .n_memory = 64, .n_beams = 4};
    const struct cycles_tokens many = {.n_new = 1, .n_cached = 99, .n_memory = 64, .n_beams = 4};
    CU_ASSERT(stages(&s, decoder, n, &few, 400) < stages(&s, decoder, n, &many, 400));
    scene_close(&s);
}
