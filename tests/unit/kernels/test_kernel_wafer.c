// SPDX-License-Identifier: Apache-2.0
/* Operations at real size: that cycles are affine in what `wsc validate --mesh --wafer` continues
 * and equal where it leaves PEs out, some of its cases, and 16-bit values of every operation. */
#include "../../support/test.h"
#include "../model/model_case.h"

#include <wsc/hw.h>
#include <wsc/kernels.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct kernels_row *row_of(const char *name)
{
    const struct kernels_row *row = NULL;
    T_OK(kernels_row_find(name, &row));
    return row;
}

/* Cycles of @p c on the CS-2, with loops of scalar code or not; the values are right. */
static double cycles_with(const char *name, struct programs_case c, bool data_triggered)
{
    struct hw_machine cluster = model_case_cs2();
    const struct hw hw = {.cluster = &cluster};
    cluster.wafer.data_triggered = data_triggered;
    cluster.wafer.sum_accumulators = 2;
    struct programs_result r = {.max_error = 1};
    c.hw = &hw;
    c.samples = c.samples ? c.samples : 1;
    c.seed = 3;
    c.threads = c.threads ? c.threads : 1;
    T_OK(kernels_row_run(row_of(name), &c, &r));
    CU_ASSERT(r.max_error <= kernels_row_tolerance(row_of(name), &c));
    return (double)r.stats.cycles;
}

static double cycles_of(const char *name, struct programs_case c)
{
    return cycles_with(name, c, true);
}

/* ---- equivalence ----------------------------------------------------------------------------- */

/* The middle one of three equally distant sizes lies on the line through the others. */
static void is_affine(double a, double b, double c, double tolerance)
{
    const double off = fabs((a + c) / 2 / b - 1);
    if (!(off <= tolerance)) printf("%g, %g, %g: %.3f %% off the line\n", a, b, c, 100 * off);
    CU_ASSERT(off <= tolerance);
}

TEST(kernels_wafer, cycles_of_a_product_are_affine_in_its_outputs)
{
    const enum num_format format[] = {NUM_FP32, NUM_BF16};
    for (int f = 0; f < 2; f++) {
        double cycles[3];
        for (int i = 0; i < 3; i++)
            cycles[i] = cycles_of("linear", (struct programs_case){.w = 96,
                                                                   .h = 2,
                                                                   .tokens = 80,
                                                                   .m = 32 + 32 * i,
                                                                   .k = 480,
                                                                   .format = format[f]});
        is_affine(cycles[0], cycles[1], cycles[2], 0.002);
    }
}

TEST(kernels_wafer, cycles_of_a_product_are_affine_in_rows)
{
    double cycles[3];
    for (int i = 0; i < 3; i++)
        cycles[i] = cycles_of(
            "linear",
            (struct programs_case){
                .w = 40, .h = 1 + 4 * i, .tokens = INT64_C(40) * (1 + 4 * i), .m = 20, .k = 120});
    is_affine(cycles[0], cycles[1], cycles[2], 0.0005);
    CU_ASSERT(cycles[2] - cycles[0] <= 8); /* a hop a row */
}

TEST(kernels_wafer, cycles_of_a_weight_gradient_are_affine_in_tokens)
{
    const enum num_format format[] = {NUM_FP32, NUM_BF16};
    for (int f = 0; f < 4; f++) {
        double cycles[3];
        for (int i = 0; i < 3; i++)
            cycles[i] = cycles_with("wgrad",
                                    (struct programs_case){.w = 96,
                                                           .h = 1,
                                                           .tokens = 2 + 8 * i,
                                                           .m = 480,
                                                           .k = 480,
                                                           .room = f / 2 ? 0 : 800,
                                                           .format = format[f % 2]},
                                    f / 2);
        is_affine(cycles[0], cycles[1], cycles[2], 0.005);
    }
}

/* A block may not have more groups of columns than a control wavelet has commands. */
TEST(kernels_wafer, blocks_of_many_columns)
{
    CU_ASSERT(cycles_of("wgrad",
                        (struct programs_case){
                            .w = 190, .h = 1, .tokens = 2, .m = 190, .k = 190, .room = 700}) > 0);
}

TEST(kernels_wafer, heads_do_not_meet)
{
    for (int backward = 0; backward < 2; backward++) {
        struct programs_case c = {
            .w = 11, .h = 2, .tokens = 60, .heads = 1, .head_dim = 64, .backward = backward};
        const double one = cycles_of("attention", c);
        c.w = 33;
        c.heads = 3;
        T_NEAR(cycles_of("attention", c), one, 0);
    }
}

TEST(kernels_wafer, cycles_do_not_depend_on_threads)
{
    struct programs_case c = {.w = 24, .h = 8, .tokens = 64, .m = 48, .k = 72, .format = NUM_BF16};
    const double one = cycles_of("linear", c);
    for (c.threads = 2; c.threads <= 4; c.threads++)
        T_NEAR(cycles_of("linear", c), one, 0);
}

/* ---- cases of the command -------------------------------------------------------------------- */

/* Those of the first plans are small; one of each kernel. */
TEST(kernels_wafer, the_model_holds_on_strips_of_the_wafer)
{
    static const char *const kernel[] = {"linear", "attention", "layernorm", "embedding",
                                         "gelu",   "softmax",   "rmsnorm"};
    const struct hw_machine cluster = model_case_cs2();
    const struct hw hw = {.cluster = &cluster};
    const int n = kernels_wafer_count();
    CU_ASSERT(n >= 60);
    for (size_t k = 0; k < sizeof kernel / sizeof *kernel; k++) {
        struct kernels_wafer_pair p;
        int i = 0;
        while (i < n && strcmp(kernels_wafer_kernel(i), kernel[k]) != 0)
            i++;
        CU_ASSERT_FATAL(i < n);
        T_OK(kernels_wafer_pair(&hw, i, &p));
        T_STR(p.kernel, kernel[k]);
        CU_ASSERT(p.max_error <= p.tolerance);
        const double error = p.model / p.cycles - 1;
        if (!(fabs(error) < 0.06)) printf("%s of %s: %+.2f %%\n", p.kernel, p.plan, 100 * error);
        CU_ASSERT(fabs(error) < 0.06);
    }
}

/* A machine file may say what rate is sustained; the emulated PE keeps the documented one. */
TEST(kernels_wafer, the_model_has_the_rate_of_the_emulated_pe)
{
    struct hw_machine cluster = model_case_cs2();
    const struct hw hw = {.cluster = &cluster};
    struct programs_case c = {.hw = &hw,
                              .w = 16,
                              .h = 1,
                              .samples = 1,
                              .tokens = 90,
                              .m = 16,
                              .k = 64,
                              .format = NUM_BF16};
    struct programs_result documented, sustained;
    T_OK(kernels_row_run(row_of("linear"), &c, &documented));
    cluster.wafer.simd_fmachs = 1.5;
    T_OK(kernels_row_run(row_of("linear"), &c, &sustained));
    T_NEAR(sustained.analytical, documented.analytical, 0);
    T_EQ(sustained.stats.cycles, documented.stats.cycles);
}

/* ---- 16-bit values --------------------------------------------------------------------------- */

TEST(kernels_wafer, every_operation_has_16_bit_values)
{
    const enum num_format format[] = {NUM_BF16, NUM_FP16};
    const struct kernels_row *row;
    for (int i = 0; (row = kernels_row_at(i)); i++) {
        if (row->collective) continue;
        for (int j = 0; j < (row->gradient ? 4 : 2); j++)
            (void)cycles_of(row->name, (struct programs_case){.w = 7,
                                                              .h = 3,
                                                              .tokens = 13,
                                                              .samples = 2,
                                                              .m = 20,
                                                              .k = 30,
                                                              .features = 32,
                                                              .heads = 1 + 11 * (j / 2),
                                                              .head_dim = 8,
                                                              .vocab = 41,
                                                              .backward = row->gradient && j / 2,
                                                              .format = format[j % 2]});
    }
}
