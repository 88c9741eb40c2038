// SPDX-License-Identifier: Apache-2.0
/* The time of a step of generation. */
#include "../../../src/cycles/cycles_cached.h"
#include "../../../src/cycles/cycles_layout.h"
#include "../../../src/cycles/cycles_vector.h"
#include "cycles_case.h"

static const struct cycles_plan one_lane = {.lanes = 1, .micro_batch = 1};

static int64_t all_stages(const struct rig *r, int64_t n_new, int64_t n_cached, int64_t n_texts)
{
    const struct cycles_tokens tokens = {.n_new = n_new, .n_cached = n_cached};
    int64_t sum = 0;
    for (int s = 0; s < r->model->n_stages; s++)
        sum += cycles_generate(&r->hw, r->model, &one_lane, s, &tokens, n_texts, NULL);
    return sum;
}

/* By hand: 3 x 2 PEs, set-ups 1, loop 2, all rates 1, hop 1, ramp 2; two heads of 3 features on one
 * column each (3 columns a head would be: 1), so k = 3; one text of 6 + 1 keys on 2 rows, 4 a row.
 * Way of the query 2 + 3 + 4; scores 3 AXPYs of 4, 21; no sum over columns, 1.
 * Maximum and sum: 4 additions, 5, and over two rows a PE's relay 6 twice and hop 1 less, see
 * row_sum; twice scaled, 5; exponentials 1 + 4 50, division 1 + 50.
 * Values: 4 AXPYs of 3, 24; 3 words over two rows. */
TEST(cycles_cached, small_numbers_by_hand)
{
    struct rig r;
    struct cycles_layout l;
    const struct cycles_tokens tokens = {.n_new = 1, .n_cached = 6};
    rig_open(&r, (struct model_case){6, 1, 2, 24, 8}, HW_STREAM_BLOCK);
    struct hw_wafer *w = &r.cluster.wafer;
    w->pe_cols = 3;
    w->pe_rows = 2;
    w->vector_setup_cycles = w->vector_setup_add_cycles = w->vector_setup_copy_cycles = 1;
    w->vector_loop_cycles = 2;
    w->arrival_cycles = 3;
    w->simd_fmachs = w->simd_fadds = w->simd_fmuls = w->simd_faddh = 1;
    cycles_layout_init_tokens(&l, &r.hw, r.model, 1, 1, &tokens);
    T_NEAR(l.t, 1, 0);
    T_NEAR(l.head_t, 1, 0);
    T_NEAR(l.heads.k, 3, 0);
    const double across = (l.relay + l.hop) + 2 * 1 + l.relay + 2 * l.ramp;
    const double back = (l.relay + l.hop) + 2 * 3 + l.relay + 2 * l.ramp;
    T_NEAR(cycles_row_sum(&l, 2, 1), across, 0);
    T_NEAR(cycles_cached_attention(&l),
           (2 + 3 + 4) + (3 * 7 + 1) + 2 * (5 + across) + 2 * 5 + 201 + 51 + 4 * 6 + back, 0);
    model_destroy(&r.model);
}

TEST(cycles_cached, a_prompt_is_a_sequence_of_its_length)
{
    struct rig whole, prompt;
    struct model_case shorter = case_256m;
    shorter.T = 512;
    rig_open(&whole, case_256m, HW_STREAM_BLOCK);
    rig_open(&prompt, shorter, HW_STREAM_BLOCK);
    const struct cycles_tokens tokens = {.n_new = 512};
    for (int s = 1; s < whole.model->n_stages - 1; s++) /* the head computes one token */
        T_EQ(cycles_generate(&whole.hw, whole.model, &one_lane, s, &tokens, 3, NULL),
             cycles_stage(&prompt.hw, prompt.model, &one_lane, s, false, 3, NULL));
    model_destroy(&whole.model);
    model_destroy(&prompt.model);
}

TEST(cycles_cached, more_keys_tokens_or_texts_are_never_faster)
{
    struct rig r;
    rig_open(&r, case_256m, HW_STREAM_BLOCK);
    int64_t before = 0;
    for (int64_t cached = 0; cached < case_256m.T; cached += 93) {
        const int64_t now = all_stages(&r, 1, cached, 4);
        CU_ASSERT(now >= before);
        before = now;
        CU_ASSERT(all_stages(&r, 2, cached, 4) >= now);
        CU_ASSERT(all_stages(&r, 1, cached, 400) >= now);
    }
    T_EQ(all_stages(&r, 1, 100, 0), 0);
    model_destroy(&r.model);
}

/* A token after a cache is cheaper than the whole text again; each weight still passes each PE. */
TEST(cycles_cached, a_token_costs_a_token)
{
    struct rig r;
    rig_open(&r, case_256m, HW_STREAM_BLOCK);
    const int64_t token = all_stages(&r, 1, 2000, 64), text = all_stages(&r, 2001, 0, 64);
    CU_ASSERT(token < text / 3);
    model_destroy(&r.model);
}

TEST(cycles_cached, a_window_bounds_the_keys)
{
    struct rig r;
    rig_open(&r, case_256m, HW_STREAM_BLOCK);
    r.model->window = 255;
    const int64_t near = all_stages(&r, 1, 300, 4);
    T_EQ(all_stages(&r, 1, 2000, 4), near);
    r.model->zoo.sliding_window_every_other_decoder_layer = true;
    CU_ASSERT(all_stages(&r, 1, 2000, 4) > near);
    r.model->window = 0;
    CU_ASSERT(all_stages(&r, 1, 2000, 4) > near);
    model_destroy(&r.model);
}

/* Keys that a token at @p t sees: of the window, itself among them, and the sinks. */
static int64_t keys_at(const struct model *m, int64_t t)
{
    int64_t n = 0;
    for (int64_t key = 0; key <= t; key++)
        n += t - key <= m->window || key < m->sink_tokens;
    return n;
}

/* Sinks are seen in training, by tokens of a prompt, and by new tokens after a cache. */
TEST(cycles_cached, sinks_are_seen_in_both_passes)
{
    struct rig r;
    rig_open(&r, (struct model_case){256, 2, 4, 512, 128}, HW_STREAM_BLOCK);
    r.cluster.wafer.masked_scores = 0;
    for (int i = 0; i < 8; i++) {
        struct cycles_layout l;
        const struct cycles_tokens tokens = {.n_new = 40, .n_cached = 70};
        double whole = 0, later = 0;
        r.model->window = i < 4 ? 20 : 90;
        r.model->sink_tokens = (int64_t)(i % 4) * 30;
        for (int64_t t = 0; t < 128; t++)
            whole += (double)keys_at(r.model, t);
        for (int64_t t = 70; t < 110; t++)
            later += (double)keys_at(r.model, t);
        cycles_layout_init(&l, &r.hw, r.model, 1, 2000);
        T_NEAR(cycles_keys_seen(&l), whole, 0);
        T_NEAR(l.q_mean, (l.q + 1) / 2 * whole / (128 * 129 / 2.0), 1e-12);
        cycles_layout_init_tokens(&l, &r.hw, r.model, 1, 20, &tokens);
        T_NEAR(cycles_keys_seen(&l), later, 0);
    }
    model_destroy(&r.model);
}
