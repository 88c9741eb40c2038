// SPDX-License-Identifier: Apache-2.0
#include "../../../src/kernels/cycles_impl.h"
#include "cycles_case.h"

#include <math.h>

static double vec(const struct conf_wafer *w, double n, double rate)
{
    return n > 0 ? (double)w->vector_setup_cycles + ceil(n / rate) : 0;
}

static double axpy(const struct conf_wafer *w, double n)
{
    return n > 0 ? (double)w->vector_loop_cycles + vec(w, n, w->simd_fmachs) : 0;
}

/** What the busiest PE of a grid does in a product, operation by operation: tokens are dealt to
 *  rows, features to columns, and every PE is visited. */
static double count_product(const struct conf_wafer *w, int tokens, int n_in, int n_out)
{
    double busiest = 0;
    int cols = (int)w->pe_cols, rows = (int)w->pe_rows;
    for (int pe = 0; pe < cols * rows; pe++) {
        int x = pe % cols, y = pe / cols, mine = 0;
        double cycles = 0;
        for (int token = y; token < tokens; token += rows)
            mine++;
        for (int out = 0; out < n_out; out++) {
            for (int in = x; in < n_in; in += cols)
                cycles += axpy(w, mine);
            cycles += vec(w, mine, w->simd_fadds);
        }
        busiest = fmax(busiest, cycles);
    }
    return busiest + 6.0 * (cols - 1);
}

TEST(cycles, product_is_what_the_busiest_pe_does)
{
    static const int shape[][4] = {/* sequences, T, in, out */ {1, 8, 12, 5},
                                   {3, 7, 13, 9},
                                   {2, 30, 50, 33},
                                   {1, 3, 4, 1},
                                   {5, 16, 100, 7}};
    for (unsigned i = 0; i < sizeof shape / sizeof *shape; i++) {
        struct rig r;
        struct layout l;
        rig_open(&r, (struct model_case){16, 1, 4, 64, shape[i][1]}, CONF_STREAM_BLOCK);
        r.cluster.wafer.pe_cols = 12;
        r.cluster.wafer.pe_rows = 7;
        kernels_cycles_layout(&l, &r.hw, r.model, 1, shape[i][0]);
        T_NEAR(kernels_cycles_product(&l, shape[i][2], shape[i][3]),
               count_product(&r.cluster.wafer, shape[i][0] * shape[i][1], shape[i][2], shape[i][3]),
               0);
        model_destroy(&r.model);
    }
}

/* By hand: a 3 x 2 grid, setup 1, loop 2, all rates 1, C = 6 so k = 2, F = 24 so f = 8, one
 * sequence of 6 so t = 3.  A vector of t takes 4, an AXPY of n 3 + n.  Room for sums: two vectors
 * of t and, in 16 bits, the 8 filter features of 3 tokens, together 18. */
TEST(cycles, small_numbers_by_hand)
{
    struct rig r;
    struct layout l;
    rig_open(&r, (struct model_case){6, 1, 2, 24, 6}, CONF_STREAM_BLOCK);
    struct conf_wafer *w = &r.cluster.wafer;
    w->pe_cols = 3;
    w->pe_rows = 2;
    w->vector_setup_cycles = 1;
    w->vector_loop_cycles = 2;
    w->simd_fmachs = w->simd_fadds = w->simd_fmuls = w->simd_faddh = 1;
    w->divide_cycles = 10;
    kernels_cycles_layout(&l, &r.hw, r.model, 1, 1);
    T_NEAR(l.room, 18, 0);
    /* Product 6 -> 5: 5 (2 6 + 4) + 6 2 = 92. */
    T_NEAR(kernels_cycles_product(&l, 6, 5), 92, 0);
    /* dW, 5 rows of 2 at once (room for 9): receive 3 6, 3 2 AXPYs of 5 = 48, sums 11; chain 6. */
    T_NEAR(kernels_cycles_weight_gradient(&l, 6, 5), 18 + 48 + 11 + 6, 0);
    T_NEAR(kernels_cycles_first_rows(&l, 6, 5), 18 + 48 + 11, 0);
    /* 11 rows: 9 at once, 3 10 + 6 12 + 19, and 2, 3 3 + 6 5 + 5. */
    T_NEAR(kernels_cycles_weight_gradient(&l, 6, 11), 121 + 44 + 6, 0);
    /* 12 features of a PE, room for one row: 3 AXPYs over the features, 6 times (3 2 + 3 15 + 13);
     * columns of 2 would take 4 121.  The transposed matrix costs the same. */
    T_NEAR(kernels_cycles_weight_gradient(&l, 36, 6), 6 * 64 + 6, 0);
    T_NEAR(kernels_cycles_weight_gradient(&l, 6, 36), 6 * 64 + 6, 0);
    /* Norm: 2 (4 + 4 + 4) + (2 4 + 6 2 + 3) + 3 10 + 2 3 4 = 101. */
    T_NEAR(kernels_cycles_norm(&l), 101, 0);
    T_NEAR(kernels_cycles_pointwise(&l, 2, 3), 24, 0);
    /* Sums over tokens: 3 vectors of 8 features; of one feature, 3 of 1 rather than 1 + 3 2. */
    T_NEAR(kernels_cycles_token_sums(&l, 8), 3 * 9, 0);
    T_NEAR(kernels_cycles_token_sums(&l, 1), 6, 0);
    model_destroy(&r.model);
}

struct attention_case {
    int n_rows, T, k, d;
    bool causal;
};

/** Forward attention of a sequence whose tokens are dealt to rows in turn: the keys one by one,
 *  each with the queries of the row that may see it. */
static double count_attention(const struct conf_wafer *w, int row, const struct attention_case *c)
{
    const int n_rows = c->n_rows, T = c->T, k = c->k, d = c->d;
    double cycles = 0, mine = 0;
    int head_cols = (d + k - 1) / k;
    for (int i = row; i < T; i += n_rows)
        mine++;
    for (int key = 0; key < T; key++) {
        double q = 0;
        for (int i = row; i < T; i += n_rows)
            q += i >= key || !c->causal;
        cycles += 2 * k * axpy(w, q); /* Q K', P V */
        cycles += vec(w, q, w->simd_fadds) + vec(w, q, w->simd_faddh);
        cycles += (q * (double)w->exp_cycles + 3 * vec(w, q, w->simd_fadds)) / head_cols;
    }
    return cycles + k * vec(w, mine, w->simd_fmuls) + mine * (double)w->divide_cycles;
}

TEST(cycles, attention_is_within_three_percent_of_a_count)
{
    static const int shape[][3] = {/* T, H, C */ {64, 2, 64}, {128, 4, 128}, {200, 2, 128}};
    for (unsigned i = 0; i < sizeof shape / sizeof *shape; i++) {
        int T = shape[i][0], C = shape[i][2], d = C / shape[i][1];
        struct rig r;
        struct layout l;
        rig_open(&r, (struct model_case){C, 1, shape[i][1], 4L * C, T}, CONF_STREAM_BLOCK);
        r.cluster.wafer.pe_cols = 16;
        r.cluster.wafer.pe_rows = 8;
        kernels_cycles_layout(&l, &r.hw, r.model, 1, 1);
        double busiest = 0;
        const struct attention_case count = {8, T, C / 16, d, true};
        for (int row = 0; row < 8; row++)
            busiest = fmax(busiest, count_attention(&r.cluster.wafer, row, &count));
        T_NEAR(kernels_cycles_attention(&l) / busiest, 1, 0.015);
        CU_ASSERT(kernels_cycles_attention_gradient(&l) > 1.5 * kernels_cycles_attention(&l));
        CU_ASSERT(kernels_cycles_attention_gradient(&l) < 3 * kernels_cycles_attention(&l));
        model_destroy(&r.model);
    }
}

/* ---- encoders -------------------------------------------------------------------------------- */

static void rig_open_encoder(struct rig *r, struct model_case c, enum conf_objective objective)
{
    struct conf_params p = model_case_params(c);
    p.model.objective = objective;
    p.model.max_predictions_per_seq = 4;
    r->cluster = model_case_cs2();
    r->hw = (struct hw){&r->cluster};
    T_OK(model_create(&r->model, &p, CONF_STREAM_BLOCK));
}

/* Every query meets every key, so the count is exact where rows and heads divide evenly. */
TEST(cycles, attention_in_both_directions_is_a_count)
{
    static const int shape[][3] = {/* T, H, C */ {64, 2, 64}, {128, 4, 128}, {200, 2, 128}};
    for (unsigned i = 0; i < sizeof shape / sizeof *shape; i++) {
        int T = shape[i][0], C = shape[i][2], d = C / shape[i][1];
        const struct attention_case count = {8, T, C / 16, d, false};
        struct rig r;
        struct layout l;
        rig_open_encoder(&r, (struct model_case){C, 1, shape[i][1], 4L * C, T}, CONF_MASKED_LM);
        r.cluster.wafer.pe_cols = 16;
        r.cluster.wafer.pe_rows = 8;
        kernels_cycles_layout(&l, &r.hw, r.model, 1, 1);
        T_NEAR(kernels_cycles_attention(&l), count_attention(&r.cluster.wafer, 0, &count), 1e-12);
        model_destroy(&r.model);
    }
}

/** The 3 x 2 grid of small_numbers_by_hand with a vocabulary of 6 and 16 exponential cycles. */
static void small_encoder(struct rig *r, struct layout *l, enum conf_objective objective)
{
    rig_open_encoder(r, (struct model_case){6, 1, 2, 24, 6}, objective);
    struct conf_wafer *w = &r->cluster.wafer;
    w->pe_cols = 3;
    w->pe_rows = 2;
    w->vector_setup_cycles = 1;
    w->vector_loop_cycles = 2;
    w->simd_fmachs = w->simd_fadds = w->simd_fmuls = w->simd_faddh = 1;
    w->divide_cycles = 10;
    w->exp_cycles = 16;
    if (objective != CONF_CLASSIFICATION) r->model->V = r->model->head_outputs = 6;
    kernels_cycles_layout(l, &r->hw, r->model, 1, 1);
}

/* Masked tokens: 4 of 6, so 2 on a PE instead of 3; a vector of them takes 3, an AXPY 5.  Dense
 * layer 6 (2 5 + 3) + 12 and logits the same; moved 2 2 vectors of 2, 2 hops; norm 2 (3 + 3 + 3) +
 * (2 3 + 12 + 3) + 2 10 + 2 3 3 = 77; softmax 2 (2 16 + 3 3) + 2 3 + 2 16 = 120; bias 2 3;
 * nonlinearity 2 2 (16 + 10) + 2 8 3 = 152. */
TEST(cycles, the_head_of_an_encoder_by_hand)
{
    struct rig r;
    struct layout l;
    small_encoder(&r, &l, CONF_MASKED_LM);
    struct kernels_cycles c = kernels_cycles_forward(&l, MODEL_PART_HEAD);
    T_NEAR(l.head_t, 2, 0);
    T_NEAR(c.products, 2 * (6 * 13 + 12), 0);
    T_NEAR(c.elementwise, (4 * 3 + 2) + 77 + 120 + 6 + 152, 0);
    c = kernels_cycles_backward(&l, MODEL_PART_HEAD, KERNELS_KEEP_ALL);
    T_NEAR(c.recompute, 6 * 13 + 12, 0);
    CU_ASSERT(c.products > 2 * c.recompute);
    model_destroy(&r.model);
    /* A class: one token of the sequence on a PE.  Vector 2, AXPY 4; 6 (2 4 + 2) + 12 and two
     * classes; moved 2 vectors of 2; softmax 1 (16 + 3 2) + 2 2 + 16; no norm; bias 2 2;
     * nonlinearity 2 26 + 2 8 2. */
    small_encoder(&r, &l, CONF_CLASSIFICATION);
    c = kernels_cycles_forward(&l, MODEL_PART_HEAD);
    T_NEAR(l.head_t, 1, 0);
    T_NEAR(c.products, (6 * 10 + 12) + (2 * 10 + 12), 0);
    T_NEAR(c.elementwise, (2 * 3 + 2) + (22 + 4 + 16) + 4 + (52 + 32), 0);
    model_destroy(&r.model);
}

TEST(cycles, an_encoder_pays_for_the_whole_square_and_little_head)
{
    struct rig causal, masked, classes;
    struct kernels_plan p = {.lanes = 1};
    const struct model_case bert_large = {1024, 24, 16, 4096, 128};
    rig_open(&causal, bert_large, CONF_STREAM_BLOCK);
    rig_open_encoder(&masked, bert_large, CONF_MASKED_LM);
    rig_open_encoder(&classes, bert_large, CONF_CLASSIFICATION);
    for (int back = 0; back < 2; back++) {
        int head = causal.model->n_stages - 1;
        CU_ASSERT(kernels_stage_cycles(&masked.hw, masked.model, &p, 1, back, 1024) >
                  kernels_stage_cycles(&causal.hw, causal.model, &p, 1, back, 1024));
        T_EQ(kernels_stage_cycles(&masked.hw, masked.model, &p, 1, back, 1024),
             kernels_stage_cycles(&classes.hw, classes.model, &p, 1, back, 1024));
        CU_ASSERT(kernels_stage_cycles(&masked.hw, masked.model, &p, head, back, 1024) * 3 <
                  kernels_stage_cycles(&causal.hw, causal.model, &p, head, back, 1024));
        CU_ASSERT(kernels_stage_cycles(&classes.hw, classes.model, &p, head, back, 1024) * 10 <
                  kernels_stage_cycles(&masked.hw, masked.model, &p, head, back, 1024));
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

static void check_peak(const struct rig *r, const struct kernels_plan *p, int64_t n)
{
    for (int s = 0; s < r->model->n_stages; s++) {
        double least = stage_macs(r->model, s) * (double)n * 2048 / (745500 * 2.0);
        int64_t f = kernels_stage_cycles(&r->hw, r->model, p, s, false, n);
        int64_t b = kernels_stage_cycles(&r->hw, r->model, p, s, true, n);
        CU_ASSERT(f > 0 && b > 0 && (double)f >= least && (double)b >= 2 * least);
    }
}

TEST(cycles, no_stage_beats_the_peak_of_the_wafer)
{
    struct rig r;
    struct kernels_plan p = {.lanes = 1};
    rig_open(&r, case_2p7b, CONF_STREAM_BLOCK);
    for (p.lanes = 1; p.lanes <= 64; p.lanes += 9)
        for (int64_t n = 1; n < 2000; n *= 11)
            check_peak(&r, &p, n);
    model_destroy(&r.model);
}

static void check_monotone(const struct rig *r, int lanes, int stage, bool backward)
{
    struct kernels_plan p = {.lanes = lanes};
    int64_t last = 0;
    T_EQ(kernels_stage_cycles(&r->hw, r->model, &p, stage, backward, 0), 0);
    for (int64_t n = 1; n < 300; n += 13) {
        int64_t now = kernels_stage_cycles(&r->hw, r->model, &p, stage, backward, n);
        CU_ASSERT(now > 0 && now >= last);
        last = now;
    }
}

TEST(cycles, more_sequences_are_never_cheaper)
{
    struct rig r;
    rig_open(&r, case_256m, CONF_STREAM_MATRIX);
    for (int s = 0; s < r.model->n_stages; s++) {
        check_monotone(&r, 1 + s % 7, s, false);
        check_monotone(&r, 1 + s % 7, s, true);
    }
    model_destroy(&r.model);
}

TEST(cycles, a_link_carries_one_sum_a_cycle)
{
    struct rig r;
    struct layout l;
    rig_open(&r, (struct model_case){750, 1, 1, 750, 994}, CONF_STREAM_BLOCK);
    r.cluster.wafer.vector_setup_cycles = 0;
    r.cluster.wafer.simd_fmachs = r.cluster.wafer.simd_fadds = 1000;
    kernels_cycles_layout(&l, &r.hw, r.model, 1, 64);
    T_NEAR(kernels_cycles_product(&l, 750, 10), 10 * 64 + 6 * 749, 0);
    model_destroy(&r.model);
}

/** Cycles of all stages, forward and backward. */
static int64_t whole(const struct rig *r, const struct kernels_plan *p, int64_t n)
{
    int64_t sum = 0;
    for (int s = 0; s < r->model->n_stages; s++)
        sum += kernels_stage_cycles(&r->hw, r->model, p, s, false, n) +
               kernels_stage_cycles(&r->hw, r->model, p, s, true, n);
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
    struct kernels_plan p = {.lanes = 2, .keep = KERNELS_KEEP_INPUT};
    rig_open(&r, case_256m, CONF_STREAM_BLOCK);
    struct conf_wafer *w = &r.cluster.wafer, before = *w;
    int64_t base = whole(&r, &p, 100);
    BETTER(w->simd_fmachs *= 2);
    BETTER(w->simd_fadds *= 2);
    BETTER(w->simd_fmuls *= 2);
    BETTER(w->simd_faddh *= 2);
    BETTER(w->exp_cycles -= 1);
    BETTER(w->divide_cycles -= 1);
    BETTER(w->vector_setup_cycles -= 1);
    BETTER(w->vector_loop_cycles -= 1);
    BETTER(w->ramp_cycles -= 1);
    BETTER(w->pe_rows *= 2);
    T_EQ(whole(&r, &p, 100), base);
    r.model->format = NUM_FP32; /* 0.5 multiply-adds a cycle instead of 2 */
    CU_ASSERT(whole(&r, &p, 100) > 2 * base);
    model_destroy(&r.model);
}

TEST(cycles, computing_again_costs_what_it_says)
{
    struct rig r;
    rig_open(&r, case_13b, CONF_STREAM_BLOCK);
    int64_t n = 64, all = 0, last = 0;
    for (int keep = 0; keep < KERNELS_N_KEEPS; keep++) {
        struct kernels_plan p = {.lanes = 1, .keep = (enum kernels_keep)keep};
        struct kernels_cycles c = kernels_stage_breakdown(&r.hw, r.model, &p, 1, true, n);
        int64_t now = kernels_stage_cycles(&r.hw, r.model, &p, 1, true, n);
        T_NEAR(c.products + c.attention + c.elementwise + c.recompute, (double)now, 0);
        if (keep == KERNELS_KEEP_ALL) all = now;
        T_NEAR((double)now - c.recompute, (double)all, 0);
        CU_ASSERT(keep == KERNELS_KEEP_ALL ? c.recompute == 0 : c.recompute > 0);
        if (keep == KERNELS_KEEP_INPUT) CU_ASSERT(now > last);
        last = now;
    }
    /* From its input alone a block costs again at most its forward, less the last product. */
    struct kernels_plan p = {.lanes = 1};
    int64_t forward = kernels_stage_cycles(&r.hw, r.model, &p, 1, false, n);
    CU_ASSERT(last - all < forward && last - all > forward / 2);
    model_destroy(&r.model);
}

TEST(cycles, blocks_cost_what_their_parts_cost)
{
    struct rig a, b;
    struct kernels_plan p = {.lanes = 3, .keep = KERNELS_KEEP_NO_ATTENTION};
    rig_open(&a, case_256m, CONF_STREAM_BLOCK);
    rig_open(&b, case_256m, CONF_STREAM_MATRIX);
    T_EQ(whole(&a, &p, 50), whole(&b, &p, 50));
    model_destroy(&a.model);
    model_destroy(&b.model);
}

static void check_first_gradient(const struct rig *r, enum kernels_keep keep)
{
    struct kernels_plan p = {.lanes = 2, .keep = keep};
    for (int s = 0; s < r->model->n_stages; s++) {
        int64_t first = kernels_first_gradient_cycles(&r->hw, r->model, &p, s, 60);
        int64_t end = kernels_stage_cycles(&r->hw, r->model, &p, s, true, 60);
        CU_ASSERT(first > 0 && first < end);
        if (keep == KERNELS_KEEP_ALL) CU_ASSERT(first < end / 4);
        T_EQ(kernels_first_gradient_cycles(&r->hw, r->model, &p, s, 0), 0);
    }
}

TEST(cycles, the_first_gradient_comes_within_the_stage)
{
    for (int g = 0; g < 2; g++) {
        struct rig r;
        rig_open(&r, case_256m, g ? CONF_STREAM_MATRIX : CONF_STREAM_BLOCK);
        for (int keep = 0; keep < KERNELS_N_KEEPS; keep++)
            check_first_gradient(&r, (enum kernels_keep)keep);
        model_destroy(&r.model);
    }
}

TEST(cycles, absurd_sizes_stay_finite)
{
    struct rig r;
    rig_open(&r, (struct model_case){1 << 20, 8000, 1, 1 << 20, 1 << 20}, CONF_STREAM_BLOCK);
    r.cluster.wafer.pe_cols = r.cluster.wafer.pe_rows = 1;
    struct kernels_plan p = {.lanes = 1};
    T_EQ(kernels_stage_cycles(&r.hw, r.model, &p, 1, true, INT64_MAX), INT64_C(1) << 62);
    model_destroy(&r.model);
}
