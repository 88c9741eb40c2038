// SPDX-License-Identifier: Apache-2.0
#include "../../../src/kernels/cycles_impl.h"
#include "cycles_case.h"

#include <math.h>

static double vec(const struct conf_wafer *w, double n, double rate)
{
    return n > 0 ? (double)w->vector_setup_cycles + ceil(n / rate) : 0;
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
                cycles += vec(w, mine, w->simd_fmachs);
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

/* By hand: a 3 x 2 grid, setup 1, all rates 1, C = 6 so k = 2, one sequence of 6 so t = 3. */
TEST(cycles, small_numbers_by_hand)
{
    struct rig r;
    struct layout l;
    rig_open(&r, (struct model_case){6, 1, 2, 24, 6}, CONF_STREAM_BLOCK);
    struct conf_wafer *w = &r.cluster.wafer;
    w->pe_cols = 3;
    w->pe_rows = 2;
    w->vector_setup_cycles = 1;
    w->simd_fmachs = w->simd_fadds = w->simd_fmuls = w->simd_faddh = 1;
    w->divide_cycles = 10;
    kernels_cycles_layout(&l, &r.hw, r.model, 1, 1);
    /* vector of t: 4.  Product 6 -> 5: 5 (2 4 + 4) + 6 2 = 72. */
    T_NEAR(kernels_cycles_product(&l, 6, 5), 72, 0);
    /* dW: 5 (4 + 2 4 + (1 + 2)) + 6 1 = 81. */
    T_NEAR(kernels_cycles_weight_gradient(&l, 6, 5), 81, 0);
    /* Norm: 2 (4 + 4) + (2 4 + 6 2 + 3) + 3 10 + 2 3 4 = 93. */
    T_NEAR(kernels_cycles_norm(&l), 93, 0);
    T_NEAR(kernels_cycles_pointwise(&l, 2, 3), 24, 0);
    model_destroy(&r.model);
}

/** Forward attention of a sequence whose tokens are dealt to rows in turn: the keys one by one,
 *  each with the queries of the row that may see it. */
static double count_attention(const struct conf_wafer *w, int row, int n_rows, int T, int k, int d)
{
    double cycles = 0, mine = 0;
    int head_cols = (d + k - 1) / k;
    for (int i = row; i < T; i += n_rows)
        mine++;
    for (int key = 0; key < T; key++) {
        double q = 0;
        for (int i = row; i < T; i += n_rows)
            q += i >= key;
        cycles += 2 * k * vec(w, q, w->simd_fmachs); /* Q K', P V */
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
        for (int row = 0; row < 8; row++)
            busiest = fmax(busiest, count_attention(&r.cluster.wafer, row, 8, T, C / 16, d));
        T_NEAR(kernels_cycles_attention(&l) / busiest, 1, 0.015);
        CU_ASSERT(kernels_cycles_attention_gradient(&l) > 2 * kernels_cycles_attention(&l));
        CU_ASSERT(kernels_cycles_attention_gradient(&l) < 3 * kernels_cycles_attention(&l));
        model_destroy(&r.model);
    }
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
