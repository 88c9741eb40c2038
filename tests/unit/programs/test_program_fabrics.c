// SPDX-License-Identifier: Apache-2.0
#include "../../../src/programs/program_grid.h"
#include "../../../src/programs/program_job.h"
#include "../../support/test.h"

#include <wsc/kernels.h>
#include <wsc/mem.h>
#include <wsc/rng.h>

#include <math.h>
#include <string.h>

/* Inputs are small multiples of 1/8, so every sum is exact and the right answer has error 0. */

static int64_t draw(uint64_t i, int64_t below)
{
    return (int64_t)(wsc_rng_u64(31, wsc_rng_stream(WSC_RNG_TEST, 2), i) % (uint64_t)below);
}

static struct programs_result run(const char *kernel, const struct programs_case *c)
{
    const struct kernels_row *k;
    struct programs_result r = {0};
    T_OK(kernels_row_find(kernel, &k));
    T_OK(kernels_row_run(k, c, &r));
    T_EQ(wsc_mem_in_use(WSC_MEM_MESH), 0);
    return r;
}

TEST(mesh, the_comparison_keeps_a_nan_wherever_it_stands)
{
    for (int bad = 0; bad < 3; bad++) {
        struct programs_result r = {0};
        struct programs_job j = {.r = &r};
        for (int i = 0; i < 3; i++)
            programs_job_compare(&j, i == bad ? (double)NAN : 1, 1);
        CU_ASSERT(isnan(r.max_error));
    }
}

/* The cycles of an arrival and of an index are one number of 16 bits, in eighths. */
TEST(mesh, cycles_of_an_arrival_that_the_fabric_does_not_have_are_refused)
{
    struct programs_grid g = {.m = NULL};
    struct hw_wafer w = {.data_triggered = true,
                         .arrival_cycles = 1.5,
                         .sum_accumulators = 1,
                         .exp_cycles = 400,
                         .divide_cycles = 1};
    w.sparse_index_cycles = 8189.5;
    T_OK(programs_grid_rates(&g, &w));
    T_EQ(g.arrival_eighths + g.index_eighths, UINT16_MAX - 7);
    w.sparse_index_cycles = 8190;
    T_EQ(programs_grid_rates(&g, &w), WSC_CONFIG);
    T_STR(wsc_err_message(), "cluster.wafer.sparse_index_cycles is 8190 and "
                             "cluster.wafer.arrival_cycles 1.5; on the mesh at most 8191 can pass "
                             "together");
    w.data_triggered = false;
    T_OK(programs_grid_rates(&g, &w));
    w.exp_cycles = 401;
    T_EQ(programs_grid_rates(&g, &w), WSC_CONFIG);
    T_STR(wsc_err_message(), "cluster.wafer.exp_cycles is 401 and cluster.wafer.divide_cycles 1; "
                             "on the mesh they must lie in 1 .. 400");
}

TEST(mesh, reductions_on_random_fabrics)
{
    static const char *const algo[] = {"star", "chain", "tree", "two-phase", "auto", "snake"};
    for (uint64_t i = 0; i < 120; i++) {
        struct programs_case c = {.algo = algo[i % 6],
                                  .w = (int)(1 + draw(4 * i, 19)),
                                  .h = (int)(1 + draw(4 * i + 1, 7)),
                                  .words = 1 + draw(4 * i + 2, 50),
                                  .arch = (enum mesh_arch)(i / 6 % 2),
                                  .seed = i};
        T_NEAR(run(i % 4 ? "reduce" : "allreduce", &c).max_error, 0, 0);
    }
}

TEST(mesh, moves_on_random_fabrics)
{
    static const char *const kernel[] = {"broadcast", "scatter", "gather", "transpose"};
    for (uint64_t i = 0; i < 80; i++) {
        struct programs_case c = {.w = (int)(1 + draw(1000 + 4 * i, 9)),
                                  .h = (int)(1 + draw(1001 + 4 * i, 6)),
                                  .words = 1 + draw(1002 + 4 * i, 30),
                                  .arch = (enum mesh_arch)(i / 4 % 2),
                                  .seed = i};
        if (i % 4 == 3) c.h = c.w;
        T_NEAR(run(kernel[i % 4], &c).max_error, 0, 0);
    }
}

TEST(mesh, products_whose_shapes_do_not_divide_the_fabric)
{
    for (uint64_t i = 0; i < 60; i++) {
        static const char *const algo[] = {"summa", "stream", "chain"};
        struct programs_case c = {.algo = algo[i % 3],
                                  .w = (int)(1 + draw(2000 + 8 * i, 6)),
                                  .h = (int)(1 + draw(2001 + 8 * i, 6)),
                                  .m = 1 + draw(2002 + 8 * i, 25),
                                  .n = 1 + draw(2003 + 8 * i, 25),
                                  .k = 1 + draw(2004 + 8 * i, 25),
                                  .density = 1 - (double)draw(2005 + 8 * i, 3) / 4,
                                  .arch = (enum mesh_arch)(i / 3 % 2),
                                  .half = (enum num_half)(i / 6 % 2),
                                  .seed = i};
        if (i % 3 == 0) c.h = c.w;
        T_NEAR(run(i % 3 == 2 ? "gemv" : "gemm", &c).max_error, 0, 0);
    }
}

/* Tiles that are empty, full and padded; both ways to hold them. */
TEST(mesh, products_with_tiles_in_the_pes)
{
    for (uint64_t i = 0; i < 80; i++) {
        static const char *const algo[] = {"csc", "csc", "dense", NULL};
        const struct programs_case c = {.algo = algo[i % 4],
                                        .w = (int)(1 + draw(3000 + 8 * i, 7)),
                                        .h = (int)(1 + draw(3001 + 8 * i, 6)),
                                        .m = 1 + draw(3002 + 8 * i, 30),
                                        .n = 1 + draw(3003 + 8 * i, 25),
                                        .k = 1 + draw(3004 + 8 * i, 30),
                                        .density = (double)(1 + draw(3005 + 8 * i, 20)) / 20,
                                        .threads = (int)(1 + i % 2),
                                        .arch = (enum mesh_arch)(i / 4 % 2),
                                        .seed = i};
        T_NEAR(run("spmm", &c).max_error, 0, 0);
    }
}

/* One PE: once, three columns, twelve calls of 17 to start, 8 elements and what scalar code takes:
 * 39.2 - 17 + 0.188 x 8 = 23.7; two cycles at the end. */
TEST(mesh, cycles_of_a_tile_by_hand)
{
    struct programs_case c = {.w = 1, .h = 1, .m = 4, .k = 3, .n = 8, .density = 1, .seed = 1};
    const double tile = 1511 + 3 * 53 + 12 * (17 + 8 + 24);
    const struct programs_result csc = run("spmm", &c);
    T_NEAR(csc.tile_mean, tile, 2 / tile);
    T_NEAR(csc.tile_most, csc.tile_mean, 0);
    /* Dense: for each of the 8 columns of B three calls of 4 elements, read from the same bank. */
    c.algo = "dense";
    const double dense = 5656 + 3 * 53 + 24 * (6 + 17 + 2 * 4);
    T_NEAR(run("spmm", &c).tile_mean, dense, 2 / dense);
}

/* Fewer non-zeros, fewer calls, as many columns. */
TEST(mesh, zeros_of_a_tile_take_no_time)
{
    struct programs_case c = {
        .w = 4, .h = 3, .m = 48, .k = 32, .n = 20, .density = 1, .seed = 2, .threads = 1};
    const struct programs_result full = run("spmm", &c);
    c.density = 0.25;
    const struct programs_result sparse = run("spmm", &c);
    const double call = 17 + 20 + 26; /* 39.2 - 17 + 0.188 x 20 = 26.0 */
    T_NEAR(full.tile_mean - sparse.tile_mean, 0.75 * 16 * 8 * call, 1e-9);
    CU_ASSERT(sparse.tile_most > sparse.tile_mean && full.tile_most < full.tile_mean + 1);
    CU_ASSERT(sparse.stats.elements < full.stats.elements);
    T_EQ(run("spmm", &c).stats.cycles, sparse.stats.cycles);
    c.threads = 3;
    T_EQ(run("spmm", &c).stats.cycles, sparse.stats.cycles);
}

TEST(mesh, zero_weights_take_no_time)
{
    struct programs_case c = {
        .algo = "stream", .w = 3, .h = 2, .m = 20, .n = 8, .k = 30, .density = 1, .seed = 1};
    struct programs_result dense = run("gemm", &c), sparse;
    c.density = 0.25;
    sparse = run("gemm", &c);
    /* 600 weights on two rows; a quarter is left, and each costs at least its set-up of 16. */
    CU_ASSERT(sparse.stats.wavelets < dense.stats.wavelets);
    CU_ASSERT(dense.stats.cycles - sparse.stats.cycles > 16 * 20 * 10 / 2);
}

TEST(mesh, chain_and_broadcast_are_their_closed_forms)
{
    for (int p = 2; p <= 33; p += 31)
        for (int64_t b = 1; b <= 300; b += 299) {
            struct programs_case c = {.algo = "chain", .w = p, .h = 1, .words = b, .seed = 3};
            T_EQ(run("reduce", &c).stats.cycles, b + 6LL * (p - 1));
            T_EQ(run("broadcast", &c).stats.cycles, b + p + 4);
        }
    struct programs_case snake = {.algo = "snake", .w = 5, .h = 4, .words = 9, .seed = 3};
    T_EQ(run("reduce", &snake).stats.cycles, 9 + 6 * 19);
    struct programs_case flat = {.w = 7, .h = 5, .words = 11, .seed = 3};
    T_EQ(run("broadcast", &flat).stats.cycles, 11 + 7 + 5 - 2 + 5);
}

TEST(mesh, fmacs_calls_cost_what_was_measured)
{
    /* 6 cycles of scalar code, 17 of set-up, 2 an element (both streams in the same banks). */
    struct programs_case c = {.w = 1, .h = 1, .length = 8, .calls = 10, .seed = 1};
    T_EQ(run("fmacs", &c).stats.cycles, 10 * (6 + 17 + 16) + 1);
    c.length = 32;
    T_EQ(run("fmacs", &c).stats.cycles, 10 * (6 + 17 + 64) + 1);
}

static int outside;
static int points;
static enum wsc_err count_point(void *ctx, const struct programs_point *p)
{
    (void)ctx;
    points++;
    outside += !programs_point_holds(p);
    return WSC_OK;
}

TEST(mesh, survey_and_calibration_hold)
{
    points = outside = 0;
    T_OK(programs_survey(16, 64, count_point, NULL));
    /* Rows, the chosen tree on 3 4 5 6 7 8 12 16 PEs, squares with 1 and 16 words. */
    T_EQ(points, 9 * 3 * 4 + 8 * 4 + 9 * 3 * 2);
    T_EQ(outside, 0);
    T_OK(programs_calibration(count_point, NULL));
    T_EQ(outside, 0);
}

TEST(mesh, refusals)
{
    const struct kernels_row *k;
    struct programs_result r;
    T_EQ(kernels_row_find("sort", &k), WSC_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "there are broadcast, reduce"));
    T_OK(kernels_row_find("reduce", &k));
    T_EQ(
        kernels_row_run(k, &(struct programs_case){.algo = "none", .w = 4, .h = 1, .words = 1}, &r),
        WSC_USAGE);
    T_OK(kernels_row_find("gather", &k));
    T_EQ(kernels_row_run(k, &(struct programs_case){.w = 40, .h = 1, .words = 1000}, &r),
         WSC_CAPACITY);
    T_STR(wsc_err_message(), "PE (0, 0): the blocks of a row asks for 156000 bytes, 45152 of 49152 "
                             "are left");
    T_OK(kernels_row_find("transpose", &k));
    T_EQ(kernels_row_run(k, &(struct programs_case){.w = 4, .h = 3, .words = 1}, &r), WSC_USAGE);
    T_EQ(wsc_mem_in_use(WSC_MEM_MESH), 0);
}

TEST(mesh, a_point_below_an_estimate_is_held_to_its_schedule)
{
    struct programs_point p = {.cycles = 70,
                               .reference = 84,
                               .schedule = 70,
                               .tolerance = 0.1,
                               .slack = 6,
                               .reason = "adds up"};
    CU_ASSERT(programs_point_scheduled(&p) && programs_point_holds(&p));
    p.schedule = 100; /* the schedule does not explain it */
    CU_ASSERT(!programs_point_holds(&p));
    p.schedule = 70;
    p.reason = NULL; /* an exact form has no excuse */
    CU_ASSERT(!programs_point_holds(&p));
    p.at_most = true;
    CU_ASSERT(programs_point_holds(&p));
    p.cycles = 93; /* and slower than allowed is outside in any case */
    p.reason = "adds up";
    CU_ASSERT(!programs_point_holds(&p));
}
