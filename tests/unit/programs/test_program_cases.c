// SPDX-License-Identifier: Apache-2.0
#include "../../../src/programs/program_cases.h"
#include "../../support/test.h"
#include "../model/model_case.h"

#include <wsc/hw.h>
#include <wsc/mem.h>
#include <wsc/programs.h>
#include <wsc/rng.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Every kernel of a transformer, forward and backward, over random shapes that do not divide the
 * grid, against its definition in double precision. */

static int64_t draw(uint64_t seed, uint64_t i, int64_t low, int64_t high)
{
    const uint64_t stream = wsc_rng_stream(WSC_RNG_TEST, 78);
    return low + (int64_t)(wsc_rng_u64(seed, stream, i) % (uint64_t)(high - low + 1));
}

static struct programs_case random_case(uint64_t seed, const struct hw *hw, int64_t side)
{
    return (struct programs_case){.w = (int)draw(seed, 0, 1, side),
                                  .h = (int)draw(seed, 1, 1, side),
                                  .arch = seed % 2 ? MESH_WSE3 : MESH_WSE2,
                                  .tokens = draw(seed, 2, 1, 20),
                                  .samples = draw(seed, 3, 1, 3),
                                  .m = draw(seed, 4, 1, 30),
                                  .k = draw(seed, 5, 1, 30),
                                  .features = draw(seed, 6, 1, 40),
                                  .heads = draw(seed, 7, 1, 5),
                                  .head_dim = 2 * draw(seed, 8, 1, 6),
                                  .vocab = draw(seed, 9, 1, 50),
                                  .hw = hw,
                                  .seed = seed};
}

TEST(pe_cases, the_comparison_keeps_a_nan_wherever_it_stands)
{
    for (int bad = 0; bad < 3; bad++) {
        struct programs_result r = {0};
        struct programs_trial c = {.result = &r};
        float got[3] = {1, 1, 1};
        double *want = programs_ref_alloc(3);
        for (int i = 0; i < 3; i++)
            want[i] = 1;
        got[bad] = NAN;
        programs_trial_compare(&c, got, want, 3);
        CU_ASSERT(isnan(r.max_error));
    }
}

static void check(const struct programs_kernel *k, struct programs_case *c)
{
    struct programs_result r;
    enum wsc_err rc = k->run(c, &r);
    const bool good = !rc && r.max_error < 2e-6 && r.stats.cycles > 0;
    if (!good)
        (void)printf("%s%s on %d x %d, seed %llu: %s, error %g\n", k->name,
                     c->backward ? " backward" : "", c->w, c->h, (unsigned long long)c->seed,
                     rc ? wsc_err_message() : "wrong", r.max_error);
    CU_ASSERT(good);
}

static void check_kernel(const struct programs_kernel *k, const struct hw *hw, int n, int64_t side)
{
    for (uint64_t seed = 1; seed <= (uint64_t)n; seed++) {
        struct programs_case c = random_case(seed, hw, side);
        check(k, &c);
        if (!strstr(k->options, "--pass")) continue;
        c.backward = true;
        check(k, &c);
    }
}

TEST(pe_cases, kernels_over_random_grids)
{
    const struct hw_machine cluster = model_case_cs2();
    const struct hw hw = {.cluster = &cluster};
    const struct programs_kernel *k;
    int n = 0;
    for (; (k = programs_transformer_at(n)); n++) {
        check_kernel(k, &hw, 20, 9);
        check_kernel(k, &hw, 1, 64);
    }
    CU_ASSERT(n >= 11);
    T_EQ(wsc_mem_in_use(WSC_MEM_KERNELS), 0);
    T_EQ(wsc_mem_in_use(WSC_MEM_MESH), 0);
}

TEST(pe_cases, shapes_that_cannot_run_say_why)
{
    const struct hw_machine cluster = model_case_cs2();
    const struct hw hw = {.cluster = &cluster};
    struct programs_result r;
    for (int i = 0; programs_transformer_at(i); i++) {
        const struct programs_kernel *k = programs_transformer_at(i);
        struct programs_case c = random_case(1, &hw, 2);
        c.w = c.h = 1;
        c.tokens = c.features = c.vocab = c.m = c.k = c.head_dim = 400;
        T_EQ(k->run(&c, &r), WSC_CAPACITY);
        CU_ASSERT(strstr(wsc_err_message(), "PE (0, 0): ") != NULL);
    }
    T_EQ(wsc_mem_in_use(WSC_MEM_KERNELS), 0);
}
