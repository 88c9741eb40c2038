// SPDX-License-Identifier: Apache-2.0
/* Plans of models and batches that no row was published for: more work takes longer, no size next
 * to another one jumps, and no plan beats the multiply-adds of the wafer.  Sizes are those of
 * public model families and numbers between them. */
#include "cycles_case.h"

#include <math.h>

static double step_of(const struct rig *r, int64_t share)
{
    struct cycles_plan p;
    T_OK(cycles_plan_wafer(&p, &r->hw, r->model, share,
                           &(struct cycles_asked){.micro_batch = CONF_AUTO}, true, NULL));
    return p.step_cycles;
}

static double step_of_case(struct model_case c, int64_t share)
{
    struct rig r;
    rig_open(&r, c, HW_STREAM_BLOCK);
    const double step = step_of(&r, share);
    model_destroy(&r.model);
    return step;
}

static const struct model_case families[] = {
    {768, 12, 12, 3072, 2048},   {768, 12, 12, 3072, 128},    {1024, 24, 16, 4096, 512},
    {1088, 14, 17, 4352, 2048},  {2048, 24, 16, 8192, 2048},  {4096, 32, 32, 11008, 2048},
    {4096, 32, 32, 14336, 8192}, {5120, 40, 40, 20480, 2048}, {12288, 96, 96, 49152, 2048}};
enum { N_FAMILIES = sizeof families / sizeof *families };

/** Tokens and lanes of a plan are whole numbers: one sequence more costs at most this. */
static const double most_jump = 1.17;

static void check_more(const char *what, struct model_case c, int64_t n, double now, double before)
{
    if (now < before)
        (void)fprintf(stderr, "%s: %lld features, %lld tokens, at %lld %.6g after %.6g\n", what,
                      (long long)c.C, (long long)c.T, (long long)n, now, before);
    CU_ASSERT(now >= before);
}

TEST(plan_smooth, more_sequences_take_longer_and_no_batch_jumps)
{
    for (int i = 0; i < N_FAMILIES; i++) {
        struct rig r;
        rig_open(&r, families[i], HW_STREAM_BLOCK);
        double before = step_of(&r, 1);
        for (int64_t n = 2; n <= 130; n++) {
            const double now = step_of(&r, n);
            const double each = now / (double)n, each_before = before / (double)(n - 1);
            check_more("more sequences", families[i], n, now, before);
            if (n > 8) T_TRUE(each <= each_before * most_jump);
            before = now;
        }
        model_destroy(&r.model);
    }
}

/** A plan takes the largest micro-batch that fits, where two smaller ones may be faster: an outer
 * product has more room then. */
static const double most_more = 1.04;

TEST(plan_smooth, twice_the_batch_is_no_worse_a_sequence)
{
    for (int i = 0; i < N_FAMILIES; i++) {
        struct rig r;
        rig_open(&r, families[i], HW_STREAM_BLOCK);
        for (int64_t n = 1; n <= 256; n *= 2)
            CU_ASSERT(step_of(&r, 2 * n) <= 2 * most_more * step_of(&r, n));
        model_destroy(&r.model);
    }
}

TEST(plan_smooth, wider_deeper_and_longer_models_take_longer)
{
    double before = 0;
    for (int64_t C = 256; C <= 8192; C += 128) {
        const struct model_case c = {C, 8, C / 64, 4 * C, 2048};
        const double now = step_of_case(c, 32);
        check_more("wider", c, C, now, before);
        before = now;
    }
    before = 0;
    for (int64_t L = 1; L <= 64; L++) {
        const struct model_case c = {2048, L, 16, 8192, 2048};
        const double now = step_of_case(c, 96);
        check_more("deeper", c, L, now, before);
        before = now;
    }
    before = 0;
    for (int64_t T = 64; T <= 16384; T += T / 4) {
        const struct model_case c = {2048, 24, 16, 8192, T};
        const double now = step_of_case(c, 16);
        check_more("longer", c, T, now, before);
        before = now;
    }
}

TEST(plan_smooth, no_plan_beats_the_multiply_adds_of_the_wafer)
{
    for (int i = 0; i < N_FAMILIES; i++) {
        struct rig r;
        rig_open(&r, families[i], HW_STREAM_BLOCK);
        const struct hw_wafer *w = &r.cluster.wafer;
        const double rate = 2 * w->simd_fmachs * (double)(w->pe_cols * w->pe_rows);
        for (int64_t n = 1; n <= 1024; n *= 4) {
            const double flop = model_flop_per_token(r.model, true) * (double)(n * r.model->T);
            T_TRUE(flop <= rate * step_of(&r, n));
        }
        model_destroy(&r.model);
    }
}
