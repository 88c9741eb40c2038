// SPDX-License-Identifier: Apache-2.0
#include "../../support/test.h"

#include <wsc/kernels.h>
#include <wsc/mem.h>
#include <wsc/rng.h>

#include <math.h>
#include <string.h>

/* Inputs are small multiples of 1/8, so every sum is exact in fp32 and every input in fp16 and
 * bfloat16: the right answer has error 0. */

static int64_t draw(uint64_t i, int64_t below)
{
    return (int64_t)(wsc_rng_u64(47, wsc_rng_stream(WSC_RNG_TEST, 5), i) % (uint64_t)below);
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

static int64_t reduce(const char *algo, int p, int64_t words, enum mesh_arch arch)
{
    const struct programs_case c = {
        .algo = algo, .w = p, .h = 1, .words = words, .arch = arch, .seed = 1};
    return run("reduce", &c).stats.cycles;
}

TEST(mesh, star_takes_a_word_a_cycle)
{
    /* HPDC'24: max(B (P - 1), B P / 2 + P - 1) + 5.  One word: 1.5 P + 4. */
    const struct programs_case c = {.algo = "star", .w = 64, .h = 1, .words = 4, .seed = 1};
    T_EQ(reduce("star", 128, 1, MESH_WSE2), 3 * 128 / 2 + 4);
    struct programs_result r = run("reduce", &c);
    T_EQ(r.analytical, 4LL * 63 + 5);
    CU_ASSERT(r.stats.cycles - 4LL * 63 - 5 <= 6);
    T_EQ(r.stats.wavelets, 4 * 63); /* no control wavelet */
}

TEST(mesh, auto_is_as_fast_as_the_best_fixed_tree)
{
    static const char *const fixed[] = {"star", "chain", "tree", "two-phase"};
    static const int size[] = {2, 3, 4, 5, 6, 7, 12, 16, 50, 64, 100};
    for (int i = 0; i < 11 * 4 * 2; i++) {
        const int p = size[i % 11];
        const int64_t words = INT64_C(1) << (3 * (i / 11 % 4));
        const enum mesh_arch arch = (enum mesh_arch)(i / 44);
        int64_t best = INT64_MAX, mine = reduce("auto", p, words, arch);
        for (int k = 0; k < 4; k++) {
            int64_t cycles = reduce(fixed[k], p, words, arch);
            if (cycles < best) best = cycles;
        }
        CU_ASSERT((double)mine <= 1.03 * (double)best);
    }
}

TEST(mesh, schedule_of_a_tree_is_what_is_counted)
{
    static const char *const algo[] = {"chain", "two-phase", "tree", "star", "auto"};
    for (uint64_t i = 0; i < 100; i++) {
        const struct programs_case c = {.algo = algo[i % 5],
                                        .w = (int)(2 + draw(3 * i, 60)),
                                        .h = 1,
                                        .words = 1 + draw(3 * i + 1, i % 2 ? 8 : 200),
                                        .arch = (enum mesh_arch)(i / 5 % 2),
                                        .seed = i};
        const struct programs_result r = run("reduce", &c);
        double off = fabs((double)r.stats.cycles - r.schedule);
        CU_ASSERT(off <= 3 || off <= 0.10 * r.schedule);
    }
}

TEST(mesh, a_chain_is_its_own_form_and_schedule)
{
    /* C = B, E/N = B, L = D = P - 1: B + (P - 1) + 5 (P - 1). */
    struct programs_case c = {.algo = "chain", .w = 9, .h = 1, .words = 20, .seed = 1};
    struct programs_result r = run("reduce", &c);
    T_EQ(r.built, 20 + 6 * 8);
    T_EQ(r.schedule, 20 + 6 * 8);
    T_EQ(r.stats.cycles, 20 + 6 * 8);
    c.arch = MESH_WSE3; /* 4 of set-up once, 8 a PE: execution 1, ramp 2, hop 2, ramp 3 */
    T_EQ(run("reduce", &c).stats.cycles, 4 + 20 + 8 * 8);
}

TEST(mesh, ring_of_short_chunks)
{
    /* One word, P PEs: P - 2 additions in passing and the last one, each 6 cycles after the one
     * before; then P - 1 steps of 7; two of the 2 (P - 1) messages go back over P - 1 hops. */
    for (int p = 4; p <= 20; p += 8) {
        const struct programs_case c = {.algo = "ring", .w = p, .h = 1, .words = 1, .seed = 1};
        T_EQ(run("allreduce", &c).stats.cycles, 15 * (p - 1));
    }
}

TEST(mesh, all_reduces_of_a_row_that_does_not_divide)
{
    for (uint64_t i = 0; i < 60; i++) {
        const int groups = (int)(1 + draw(100 + 4 * i, 7)), size = (int)(1 + draw(101 + 4 * i, 9));
        struct programs_case c = {.algo = i % 2 ? "ktree" : "ring",
                                  .w = groups * size,
                                  .h = 1,
                                  .groups = groups,
                                  .words = 1 + draw(102 + 4 * i, 40),
                                  .arch = (enum mesh_arch)(i / 2 % 2),
                                  .seed = i};
        if (c.w == 1) c.algo = "ktree";
        T_NEAR(run("allreduce", &c).max_error, 0, 0);
    }
}

TEST(mesh, kernels_on_random_shapes)
{
    static const char *const kernel[] = {"broadcast", "scatter", "gather", "transpose",
                                         "gemv",      "gemm",    "gemm",   "allreduce"};
    for (uint64_t i = 0; i < 200; i++) {
        struct programs_case c = {.w = (int)(1 + draw(1000 + 9 * i, 12)),
                                  .h = (int)(1 + draw(1001 + 9 * i, 12)),
                                  .words = 1 + draw(1002 + 9 * i, 40),
                                  .m = 1 + draw(1003 + 9 * i, 60),
                                  .n = 1 + draw(1004 + 9 * i, 60),
                                  .k = 1 + draw(1005 + 9 * i, 60),
                                  .density = 1 - (double)draw(1006 + 9 * i, 4) / 4,
                                  .arch = (enum mesh_arch)draw(1007 + 9 * i, 2),
                                  .half = (enum num_half)draw(1008 + 9 * i, 2),
                                  .seed = i};
        if (i % 8 == 5) c.algo = "summa";
        if (i % 8 == 3 || i % 8 == 5) c.h = c.w;
        T_NEAR(run(kernel[i % 8], &c).max_error, 0, 0);
    }
}

TEST(mesh, kernels_on_large_fabrics)
{
    static const char *const kernel[] = {"broadcast", "scatter", "gather", "transpose",
                                         "gemv",      "gemm",    "gemm",   "allreduce"};
    for (int i = 0; i < 8; i++) {
        const struct programs_case c = {.algo = i == 5 ? "summa" : NULL,
                                        .w = i == 5 ? 20 : 64,
                                        .h = i == 5 ? 20 : 64,
                                        .words = 3,
                                        .m = 70,
                                        .n = 131,
                                        .k = 129,
                                        .arch = (enum mesh_arch)(i % 2),
                                        .half = (enum num_half)(i / 2 % 2),
                                        .seed = 9};
        /* All blocks of 64 x 64 PEs come to one PE: 3 words of each are 48 KB and do not fit. */
        struct programs_case one = c;
        one.words = i == 1 || i == 2 ? 2 : 3;
        T_NEAR(run(kernel[i], &one).max_error, 0, 0);
    }
}

TEST(mesh, shapes_that_do_not_fit_say_where)
{
    const struct kernels_row *k;
    struct programs_result r;
    T_OK(kernels_row_find("scatter", &k));
    T_EQ(kernels_row_run(k, &(struct programs_case){.w = 64, .h = 64, .words = 3}, &r),
         WSC_CAPACITY);
    T_STR(wsc_err_message(), "PE (0, 0): all blocks asks for 48384 bytes, 48376 of 49152 are left");
    T_OK(kernels_row_find("gemm", &k));
    T_EQ(kernels_row_run(
             k, &(struct programs_case){.algo = "summa", .w = 4, .h = 3, .m = 8, .n = 8, .k = 8},
             &r),
         WSC_USAGE);
    T_STR(wsc_err_message(), "summa: a fabric of 4 x 3, expected a square");
    T_OK(kernels_row_find("allreduce", &k));
    T_EQ(kernels_row_run(
             k, &(struct programs_case){.algo = "ktree", .w = 10, .h = 1, .words = 1, .groups = 4},
             &r),
         WSC_USAGE);
    T_STR(wsc_err_message(), "ktree: a fabric of 10 x 1, expected a row of 4 equal groups");
    T_EQ(wsc_mem_in_use(WSC_MEM_MESH), 0);
}
