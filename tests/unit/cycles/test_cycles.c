// SPDX-License-Identifier: Apache-2.0
#include "../../../src/cycles/cycles_fitted.h"
#include "../../../src/cycles/cycles_product.h"
#include "../../../src/cycles/cycles_rows.h"
#include "../../../src/cycles/cycles_vector.h"
#include "cycles_case.h"

#include <wsc/mesh.h>

#include <math.h>

/* What a program of the mesh pays to start an operation stands in the machine's file as well. */
TEST(cycles, the_machine_and_the_mesh_agree_on_set_ups)
{
    static const int setup[] = {
#define XX(name, text, d, a, b, w2, w3, setup) [MESH_##name] = (setup),
        MESH_OP_MAP(XX)
#undef XX
    };
    const struct hw_machine cluster = model_case_cs2();
    const struct hw_wafer *w = &cluster.wafer;
    T_EQ(w->vector_setup_cycles, setup[MESH_FMACHS]);
    T_EQ(w->vector_setup_fp32_cycles, setup[MESH_FMACS]);
    T_EQ(w->vector_setup_add_cycles, setup[MESH_FADDS]);
    T_EQ(w->vector_setup_add_cycles, setup[MESH_FMULS]);
    T_EQ(w->vector_setup_copy_cycles, setup[MESH_FMOVS]);
}

/* By hand: a 3 x 2 grid, set-ups 1, loop 2, all rates 1, C = 6 so 2 features a PE, one sequence of
 * 6 so 3 tokens.  An operation on t takes 4, an AXPY of t 6. */
TEST(cycles, small_numbers_by_hand)
{
    struct rig r;
    struct cycles_layout l;
    rig_open(&r, (struct model_case){6, 1, 2, 24, 6}, HW_STREAM_BLOCK);
    struct hw_wafer *w = &r.cluster.wafer;
    w->pe_cols = 3;
    w->pe_rows = 2;
    w->vector_setup_cycles = w->vector_setup_add_cycles = w->vector_setup_copy_cycles = 1;
    w->vector_loop_cycles = 2;
    w->arrival_cycles = 3;
    w->simd_fmachs = w->simd_fadds = w->simd_fmuls = w->simd_faddh = 1;
    cycles_layout_init(&l, &r.hw, r.model, 1, 1);
    T_NEAR(cycles_axpy(&l, 3), 6, 0);
    T_NEAR(cycles_add(&l, 3), 4, 0);
    T_NEAR(cycles_mul_tiles(&l, 3), 7, 0);
    /* 6 -> 5: outputs of 2 AXPYs and 5/3 3 - 1 of the chain, 16; the chain's way 2.5 6 = 15 once,
     * as an output takes longer; 3 sums at the end, 2 rows for the first weight. */
    T_NEAR(cycles_product(&l, &l.hidden, 5, 1), 5 * 16 + 15 + 3 + 2, 1e-12);
    model_destroy(&r.model);
}

/* The same grid with a start of 1 by arrival: an AXPY of t takes 4 instead of 6, one of 2 features
 * 3, and 5/3 3 - 1/3 of the chain show. */
TEST(cycles, arriving_data_start_operations_sooner_than_a_loop)
{
    struct rig r;
    struct cycles_layout l;
    rig_open(&r, (struct model_case){6, 1, 2, 24, 6}, HW_STREAM_BLOCK);
    struct hw_wafer *w = &r.cluster.wafer;
    w->pe_cols = 3;
    w->pe_rows = 2;
    w->vector_setup_cycles = 1;
    w->vector_loop_cycles = 2;
    w->arrival_cycles = 1;
    w->sum_accumulators = 2;
    w->simd_fmachs = w->simd_fadds = 1;
    cycles_layout_init(&l, &r.hw, r.model, 1, 1);
    T_NEAR(cycles_axpy(&l, 3), 6, 0);
    T_NEAR(cycles_axpy_arrival(&l, 3), 4, 0);
    T_NEAR(cycles_axpy_arrival(&l, 0), 0, 0);
    const double item = 2 * 4 + 5 - 1.0 / 3; /* 12 2/3, less than the chain's 15 */
    T_NEAR(cycles_product(&l, &l.hidden, 5, 1), 5 * item + 15 + 3 + 2, 1e-12);
    /* dW, 6 x 6, column by column: 3 tokens of 3 cycles and 2 sums less 1/3 each; 3 columns to
     * cross and two ramps; the latency of the way up. */
    const double columns = 6 * (3 * 3 + 2 - 1.0 / 3) + 3 + 2 * 2;
    T_NEAR(cycles_weight_gradient(&l, &l.hidden, &l.hidden, 1),
           columns + cycles_gradient_latency(&l), 1e-12);
    T_NEAR(cycles_first_rows(&l, &l.hidden, &l.hidden, 1), 3 * 3, 1e-12);
    /* On the mesh turns wait for the chain; a machine may loop in scalar code. */
    const double by_data = cycles_product(&l, &l.hidden, 6, 1);
    cycles_layout_round_robin(&l, 1);
    CU_ASSERT(cycles_product(&l, &l.hidden, 6, 1) > by_data);
    CU_ASSERT(cycles_gradient_way(&l, &l.hidden, &l.hidden, 1).arrives);
    r.cluster.wafer.data_triggered = false;
    cycles_layout_init(&l, &r.hw, r.model, 1, 1);
    T_NEAR(cycles_axpy_arrival(&l, 3), cycles_axpy(&l, 3), 0);
    CU_ASSERT(cycles_product(&l, &l.hidden, 6, 1) > by_data);
    CU_ASSERT(cycles_weight_gradient(&l, &l.hidden, &l.hidden, 1) > columns);
    CU_ASSERT(!cycles_gradient_way(&l, &l.hidden, &l.hidden, 1).arrives);
    model_destroy(&r.model);
}

TEST(cycles, hidden_scores_cost_what_the_machine_says)
{
    struct rig r;
    struct cycles_layout l;
    rig_open(&r, (struct model_case){6, 1, 2, 24, 6}, HW_STREAM_BLOCK);
    r.cluster.wafer.pe_rows = 2;
    const double q_mean[] = {2, 2.5, 3}; /* of 3 queries: (3 + 1) / 2, half of the rest, all */
    for (int i = 0; i < 3; i++) {
        r.cluster.wafer.masked_scores = i / 2.0;
        cycles_layout_init(&l, &r.hw, r.model, 1, 1);
        T_NEAR(l.q_mean, q_mean[i], 1e-12);
    }
    cycles_layout_round_robin(&l, 1); /* the mesh skips them */
    T_NEAR(l.q_mean, 2, 1e-12);
    model_destroy(&r.model);
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* Without tokens that share a row a table takes the time in which it streams. With one row a PE
 * computes all of its tokens one after the other, and no PE waits for another. */
TEST(cycles, a_table_of_one_row_and_of_very_many)
{
    struct rig r;
    struct cycles_layout l;
    rig_open(&r, (struct model_case){64, 1, 2, 64, 128}, HW_STREAM_BLOCK);
    r.cluster.wafer.pe_rows = 16;
    cycles_layout_init(&l, &r.hw, r.model, 1, 1);
    const double k = l.hidden.k, many = 1e9;
    T_NEAR(l.t, 8, 0);
    T_NEAR(cycles_gather(&l, many) / cycles_vectors_in(&l, many * k), 1, 1e-6);
    T_NEAR(cycles_scatter(&l, many) / cycles_vectors_out(&l, many * k), 1, 1e-6);
    T_NEAR(cycles_gather(&l, 1), cycles_vectors_in(&l, k) + l.t * cycles_mul(&l, k), 1e-9);
    T_NEAR(cycles_gather_added(&l, 1),
           cycles_vectors_in(&l, k) + l.t * cycles_op(l.setup, k, l.mac), 1e-9);
    T_NEAR(cycles_scatter(&l, 1), cycles_vectors_out(&l, k) + l.t * cycles_op(l.setup, k, l.mac),
           1e-9);
    model_destroy(&r.model);
}

/* Tokens of one sequence have a position each. Those of several sequences share it: a PE adds as
 * many, and in the lookup PEs take turns as far as their queues do not hold the rows. */
TEST(cycles, positions_that_sequences_share)
{
    struct rig r;
    struct cycles_layout one, four;
    rig_open(&r, (struct model_case){64, 1, 2, 64, 128}, HW_STREAM_BLOCK);
    r.cluster.wafer.pe_rows = 16;
    cycles_layout_init(&one, &r.hw, r.model, 1, 1);
    four = one;
    cycles_layout_round_robin(&one, 1);
    cycles_layout_round_robin(&four, 4);
    const double k = one.hidden.k, rows = 128, axpy = cycles_op(one.setup, k, one.mac);
    const double at_once = fmin(16, 1 + mesh_held_wavelets(MESH_WSE2) / k);
    T_NEAR(cycles_gather_positions(&one, rows), cycles_vectors_in(&one, rows * k), 1e-9);
    T_NEAR(cycles_scatter_positions(&one, rows), cycles_vectors_out(&one, rows * k), 1e-9);
    T_NEAR(cycles_gather_positions(&four, rows),
           cycles_vectors_in(&four, rows * k) + rows * 4 * axpy / at_once, 1e-9);
    T_NEAR(cycles_scatter_positions(&four, rows),
           cycles_vectors_out(&four, rows * k) + rows * 4 * axpy / 16, 1e-9);
    model_destroy(&r.model);
}

/* ---- norms ----------------------------------------------------------------------------------- */

/* With statistics at hand a LayerNorm is a shift, a scale and both of its parameters. */
TEST(cycles, a_norm_that_is_computed_again)
{
    struct rig r;
    struct cycles_layout l;
    rig_open(&r, (struct model_case){64, 1, 2, 64, 128}, HW_STREAM_BLOCK);
    r.cluster.wafer.pe_rows = 16;
    cycles_layout_init(&l, &r.hw, r.model, 1, 1);
    const double n = l.hidden.k * l.t;
    T_NEAR(l.t, 8, 0);
    T_NEAR(cycles_norm_again(&l),
           cycles_vectors_in(&l, 2 * l.hidden.k) + 2 * cycles_add(&l, n) + 2 * cycles_mul(&l, n),
           1e-9);
    CU_ASSERT(cycles_norm_again(&l) < cycles_norm(&l));
    model_destroy(&r.model);
}

/* ---- encoders -------------------------------------------------------------------------------- */

static void rig_open_encoder(struct rig *r, struct model_case c, enum zoo_objective objective)
{
    struct zoo_params p = model_case_params(c);
    p.model.objective = objective;
    p.model.disable_nsp = p.model.embedding_layer_norm = true;
    p.model.num_segments = p.model.num_labels = 2;
    p.model.max_predictions_per_seq = 4;
    r->cluster = model_case_cs2();
    r->hw = (struct hw){.cluster = &r->cluster};
    T_OK(model_create(&r->model, &p, HW_STREAM_BLOCK));
}

TEST(cycles, an_encoder_pays_for_the_whole_square_and_little_head)
{
    struct rig causal, masked, classes;
    struct cycles_plan p = {.lanes = 1};
    const struct model_case bert_large = {1024, 24, 16, 4096, 128};
    rig_open(&causal, bert_large, HW_STREAM_BLOCK);
    rig_open_encoder(&masked, bert_large, ZOO_MASKED_LM);
    rig_open_encoder(&classes, bert_large, ZOO_CLASSIFICATION);
    causal.cluster.wafer.masked_scores = 0; /* where hidden scores are skipped */
    for (int back = 0; back < 2; back++) {
        int head = causal.model->n_stages - 1;
        CU_ASSERT(cycles_stage(&masked.hw, masked.model, &p, 1, back, 1024, NULL) >
                  cycles_stage(&causal.hw, causal.model, &p, 1, back, 1024, NULL));
        T_EQ(cycles_stage(&masked.hw, masked.model, &p, 1, back, 1024, NULL),
             cycles_stage(&classes.hw, classes.model, &p, 1, back, 1024, NULL));
        CU_ASSERT(cycles_stage(&masked.hw, masked.model, &p, head, back, 1024, NULL) * 3 <
                  cycles_stage(&causal.hw, causal.model, &p, head, back, 1024, NULL));
        CU_ASSERT(cycles_stage(&classes.hw, classes.model, &p, head, back, 1024, NULL) * 10 <
                  cycles_stage(&masked.hw, masked.model, &p, head, back, 1024, NULL));
    }
    model_destroy(&causal.model);
    model_destroy(&masked.model);
    model_destroy(&classes.model);
}

/** Multiply-adds of one stage's products per token and direction. */
static double stage_macs(const struct model *m, int stage)
{
    double C = (double)m->C;
    if (stage == 0) return 0;
    if (stage == m->n_stages - 1) return (double)m->V * C;
    return 4 * C * C + 2 * C * (double)m->F;
}

static void check_peak(const struct rig *r, const struct cycles_plan *p, int64_t n)
{
    for (int s = 0; s < r->model->n_stages; s++) {
        double least = stage_macs(r->model, s) * (double)n * 2048 / (745500 * 2.0);
        int64_t f = cycles_stage(&r->hw, r->model, p, s, false, n, NULL);
        int64_t b = cycles_stage(&r->hw, r->model, p, s, true, n, NULL);
        CU_ASSERT(f > 0 && b > 0 && (double)f >= least && (double)b >= 2 * least);
    }
}

TEST(cycles, no_stage_beats_the_peak_of_the_wafer)
{
    struct rig r;
    struct cycles_plan p = {.lanes = 1};
    rig_open(&r, case_2p7b, HW_STREAM_BLOCK);
    for (p.lanes = 1; p.lanes <= 64; p.lanes += 9)
        for (int64_t n = 1; n < 2000; n *= 11)
            check_peak(&r, &p, n);
    model_destroy(&r.model);
}

static void check_monotone(const struct rig *r, int lanes, int stage, bool backward)
{
    struct cycles_plan p = {.lanes = lanes, .micro_batch = 300};
    int64_t last = 0;
    T_EQ(cycles_stage(&r->hw, r->model, &p, stage, backward, 0, NULL), 0);
    for (int64_t n = 1; n < 300; n += 13) {
        int64_t now = cycles_stage(&r->hw, r->model, &p, stage, backward, n, NULL);
        CU_ASSERT(now > 0 && now >= last);
        last = now;
    }
}

TEST(cycles, more_sequences_are_never_cheaper)
{
    struct rig r;
    rig_open(&r, case_256m, HW_STREAM_MATRIX);
    for (int s = 0; s < r.model->n_stages; s++) {
        check_monotone(&r, 1 + s % 7, s, false);
        check_monotone(&r, 1 + s % 7, s, true);
    }
    model_destroy(&r.model);
}

TEST(cycles, a_link_carries_one_sum_a_cycle)
{
    struct rig r;
    struct cycles_layout l;
    rig_open(&r, (struct model_case){750, 1, 1, 750, 994}, HW_STREAM_BLOCK);
    r.cluster.wafer.arrival_cycles = 0;
    r.cluster.wafer.simd_fmachs = r.cluster.wafer.simd_fadds = 1000;
    cycles_layout_init(&l, &r.hw, r.model, 1, 64);
    const double chain = (750 + 10 - 3.5) * 6; /* ten outputs end on ten columns */
    T_NEAR(cycles_product(&l, &l.hidden, 10, 1), 10 * 64 + chain + 1 + 994, 0);
    model_destroy(&r.model);
}

/* Sums alone decide where products of weights and additions take next to no time: 6 outputs end on
 * the 3 columns in 2 turns, 64 words and a relay of 6 for each, and the first end of a turn waits
 * for the sums of the two columns after it, whose words come last. */
TEST(cycles, ends_of_a_product_by_their_terms)
{
    enum { COLUMNS = 3, ROWS = 2, T = 64, RELAY = 6, OUTPUTS = 6, TURNS = 2, LONG = ROWS * T };
    const struct cycles_fit *fit = &cycles_fit;
    const double vector = (COLUMNS - 1) * RELAY + T - fit->turn_short;
    struct rig r;
    struct cycles_layout l;
    struct zoo_params p = model_case_params((struct model_case){6, 1, 2, 24, LONG});
    p.model.mixed_precision = false;
    r.cluster = model_case_cs2();
    r.hw = (struct hw){.cluster = &r.cluster};
    T_OK(model_create(&r.model, &p, HW_STREAM_BLOCK));
    r.cluster.wafer.pe_cols = COLUMNS;
    r.cluster.wafer.pe_rows = ROWS;
    r.cluster.wafer.simd_fmacs = r.cluster.wafer.simd_fadds = 1000;
    cycles_layout_init(&l, &r.hw, r.model, 1, 1);
    cycles_layout_round_robin(&l, 1);
    T_NEAR(l.t, T, 0);
    T_NEAR(l.relay, RELAY, 0);
    const double each = T + RELAY + fit->next_end, down = ROWS * l.hop;
    T_NEAR(cycles_product(&l, &l.hidden, OUTPUTS, 1), OUTPUTS * each + TURNS * vector + down, 1e-9);
    /* In 16 bits each output is rounded, on WSE-2 one number a cycle. */
    l.value = 0.5;
    const double rounding = floor((0.5 * T + l.setup_copy - 1) / 2), last = l.setup_copy + T;
    T_NEAR(cycles_product(&l, &l.hidden, OUTPUTS, 1),
           OUTPUTS * (T + RELAY + rounding) + TURNS * (vector - fit->turn_rounded) + last + down,
           1e-9);
    model_destroy(&r.model);
}

/** Cycles of all stages, forward and backward. */
static int64_t whole(const struct rig *r, const struct cycles_plan *p, int64_t n)
{
    int64_t sum = 0;
    for (int s = 0; s < r->model->n_stages; s++)
        sum += cycles_stage(&r->hw, r->model, p, s, false, n, NULL) +
               cycles_stage(&r->hw, r->model, p, s, true, n, NULL);
    return sum;
}

/** One constant made better, alone. */
#define BETTER(change)                                                                             \
    do {                                                                                           \
        change;                                                                                    \
        CU_ASSERT(whole(&r, &p, 100) < base);                                                      \
        *w = before;                                                                               \
    } while (0)

TEST(cycles, a_better_pe_is_never_slower)
{
    struct rig r;
    struct cycles_plan p = {.lanes = 2, .keep = CYCLES_KEEP_INPUT};
    rig_open(&r, case_256m, HW_STREAM_BLOCK);
    struct hw_wafer *w = &r.cluster.wafer, before = *w;
    int64_t base = whole(&r, &p, 100);
    BETTER(w->simd_fmachs *= 2);
    BETTER(w->simd_fadds *= 2);
    BETTER(w->simd_fmuls *= 2);
    BETTER(w->simd_faddh *= 2);
    BETTER(w->exp_cycles -= 1);
    BETTER(w->divide_cycles -= 1);
    BETTER(w->vector_setup_add_cycles -= 1);
    BETTER(w->vector_setup_copy_cycles -= 1);
    BETTER(w->arrival_cycles -= 1);
    BETTER(w->masked_scores = 0);
    BETTER(w->ramp_cycles -= 1);
    BETTER(w->pe_rows *= 2);
    T_EQ(whole(&r, &p, 100), base);
    r.model->format = NUM_FP32; /* 1 multiply-add a cycle instead of 2 */
    CU_ASSERT(whole(&r, &p, 100) > 5 * base / 4);
    model_destroy(&r.model);
}

TEST(cycles, computing_again_costs_what_it_says)
{
    struct rig r;
    rig_open(&r, case_13b, HW_STREAM_BLOCK);
    int64_t n = 64, all = 0, last = 0;
    for (int keep = 0; keep < CYCLES_KEEP_BRANCH; keep++) {
        struct cycles_plan p = {.lanes = 1, .keep = (enum cycles_keep)keep};
        struct cycles_breakdown c = cycles_stage_breakdown(&r.hw, r.model, &p, 1, true, n, NULL);
        int64_t now = cycles_stage(&r.hw, r.model, &p, 1, true, n, NULL);
        T_NEAR(c.products + c.attention + c.elementwise + c.recompute, (double)now, 0);
        if (keep == CYCLES_KEEP_ALL) all = now;
        T_NEAR((double)now - c.recompute, (double)all, 0);
        CU_ASSERT(keep == CYCLES_KEEP_ALL ? c.recompute == 0 : c.recompute > 0);
        if (keep == CYCLES_KEEP_INPUT) CU_ASSERT(now > last);
        last = now;
    }
    /* From its input alone a block costs again at most its forward, less the last product. */
    struct cycles_plan p = {.lanes = 1};
    int64_t forward = cycles_stage(&r.hw, r.model, &p, 1, false, n, NULL);
    CU_ASSERT(last - all < forward && last - all > forward / 2);
    model_destroy(&r.model);
}

TEST(cycles, blocks_cost_what_their_parts_cost)
{
    struct rig a, b;
    struct cycles_plan p = {.lanes = 3, .keep = CYCLES_KEEP_NO_ATTENTION};
    rig_open(&a, case_256m, HW_STREAM_BLOCK);
    rig_open(&b, case_256m, HW_STREAM_MATRIX);
    T_EQ(whole(&a, &p, 50), whole(&b, &p, 50));
    model_destroy(&a.model);
    model_destroy(&b.model);
}

static void check_first_gradient(const struct rig *r, enum cycles_keep keep)
{
    struct cycles_plan p = {.lanes = 2, .keep = keep};
    for (int s = 0; s < r->model->n_stages; s++) {
        int64_t first = cycles_first_gradient(&r->hw, r->model, &p, s, 60, NULL);
        int64_t end = cycles_stage(&r->hw, r->model, &p, s, true, 60, NULL);
        CU_ASSERT(first > 0 && first < end);
        if (keep == CYCLES_KEEP_ALL) CU_ASSERT(first < end / 4);
        T_EQ(cycles_first_gradient(&r->hw, r->model, &p, s, 0, NULL), 0);
    }
}

TEST(cycles, the_first_gradient_comes_within_the_stage)
{
    for (int g = 0; g < 2; g++) {
        struct rig r;
        rig_open(&r, case_256m, g ? HW_STREAM_MATRIX : HW_STREAM_BLOCK);
        for (int keep = 0; keep < CYCLES_N_KEEPS; keep++)
            check_first_gradient(&r, (enum cycles_keep)keep);
        model_destroy(&r.model);
    }
}

TEST(cycles, absurd_sizes_stay_finite)
{
    struct rig r;
    rig_open(&r, (struct model_case){1 << 20, 8000, 1, 1 << 20, 1 << 20}, HW_STREAM_BLOCK);
    r.cluster.wafer.pe_cols = r.cluster.wafer.pe_rows = 1;
    struct cycles_plan p = {.lanes = 1};
    T_EQ(cycles_stage(&r.hw, r.model, &p, 1, true, INT64_MAX, NULL), INT64_C(1) << 62);
    model_destroy(&r.model);
}
