// SPDX-License-Identifier: Apache-2.0
/* The analytical model against programs of the mesh, over sampled shapes and grids: the errors that
 * `wsc validate --mesh` claims hold for another seed too. */
#include "../../support/test.h"
#include "../model/model_case.h"

#include <wsc/hw.h>
#include <wsc/kernels.h>
#include <wsc/mem.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct errors {
    double error[256];
    int n;
};

static enum wsc_err take(void *ctx, const struct kernels_pair *pair)
{
    struct errors *e = ctx;
    CU_ASSERT(pair->max_error < (strstr(pair->shape, "bf16") ? pair->tolerance : 1e-5));
    e->error[e->n++] = fabs(pair->analytical / (double)pair->cycles - 1);
    return WSC_OK;
}

/* Values of 16-bit formats too. */
static enum wsc_err take_rounded(void *ctx, const struct kernels_pair *pair)
{
    struct errors *e = ctx;
    CU_ASSERT(pair->max_error <= pair->tolerance);
    e->error[e->n++] = fabs(pair->analytical / (double)pair->cycles - 1);
    return WSC_OK;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void expect_below(struct errors *e, double median, double worst)
{
    qsort(e->error, (size_t)e->n, sizeof *e->error, by_size);
    CU_ASSERT(e->error[e->n / 2] < median);
    CU_ASSERT(e->error[e->n - 1] < worst);
}

/* Another seed than the command's. */
static void compare(bool data_triggered, int n)
{
    struct errors e = {.n = 0};
    struct hw_machine cluster = model_case_cs2();
    const struct hw hw = {.cluster = &cluster};
    cluster.wafer.data_triggered = data_triggered;
    T_OK(kernels_pairs(&hw, 20, n, take, &e));
    T_EQ(e.n, n);
    expect_below(&e, 0.03, 0.10);
}

TEST(kernels_pairs, the_analytical_model_is_what_the_mesh_simulates)
{
    compare(true, 220);
}

TEST(kernels_pairs, and_with_loops_of_scalar_code)
{
    compare(false, 110);
}

static void read_cs3(struct hw_machine *cluster)
{
    static const char path[] = "configs/cluster/cs3.yaml";
    char *text = NULL;
    size_t n = 0;
    T_OK(hw_machine_read(path, &text, &n));
    T_OK(hw_machine_parse(cluster, path, text, n, NULL, 0));
    wsc_free(text);
}

/* A CS-3 is emulated on a fabric of its generation, with the set-up and the ramps that its
 * operations have; a machine of neither generation is refused. */
TEST(kernels_pairs, wse3)
{
    enum { PAIRS = 88 };
    struct errors e = {.n = 0};
    struct hw_machine cluster;
    const struct hw hw = {.cluster = &cluster};
    read_cs3(&cluster);
    T_OK(kernels_pairs(&hw, 504, PAIRS, take, &e));
    expect_below(&e, 0.02, 0.10);
    cluster.wafer.hop_cycles = 3;
    T_EQ(kernels_pairs(&hw, 504, 1, take, &e), WSC_CONFIG);
    hw_machine_fini(&cluster);
}

/* Backward attention in 16 bits with one to three queries on a PE, where the ends of the sums of
 * keys decide, and with one column a head, which rounds its own scores. */
TEST(kernels_pairs, few_queries_in_16_bits)
{
    struct hw_machine cluster = model_case_cs2();
    const struct hw hw = {.cluster = &cluster};
    const struct kernels_row *row;
    T_OK(kernels_row_find("attention", &row));
    for (int i = 0; i < 12; i++) {
        const struct programs_case c = {.hw = &hw,
                                        .w = 8,
                                        .h = 8,
                                        .tokens = 8 * (int64_t)(1 + i % 3),
                                        .samples = 1 + i % 2,
                                        .heads = i < 6 ? 2 : 8,
                                        .head_dim = 8,
                                        .format = i % 4 < 2 ? NUM_BF16 : NUM_FP16,
                                        .backward = true,
                                        .seed = 1};
        struct programs_result r;
        T_OK(kernels_row_run(row, &c, &r));
        T_NEAR(r.analytical / (double)r.stats.cycles - 1, 0, 0.1);
    }
}

/* Adds the error of looking up, and of adding up, rows of a table of so few rows that tokens of a
 * PE share them. */
static void take_few_rows(const struct hw *hw, int64_t rows, struct errors *e)
{
    const struct kernels_row *row;
    T_OK(kernels_row_find("embedding", &row));
    for (int i = 0; i < 8; i++) {
        const int h = i % 2 ? 8 : 32;
        const struct programs_case c = {.hw = hw,
                                        .arch = hw->cluster->wafer.hop_cycles > 1 ? MESH_WSE3
                                                                                  : MESH_WSE2,
                                        .w = 2,
                                        .h = h,
                                        .tokens = (i % 4 < 2 ? 4 : 16) * (int64_t)h,
                                        .samples = 1,
                                        .features = 4,
                                        .vocab = rows,
                                        .backward = i >= 4,
                                        .seed = 1};
        struct programs_result r;
        T_OK(kernels_row_run(row, &c, &r));
        e->error[e->n++] = fabs(log(r.analytical / (double)r.stats.cycles));
    }
}

TEST(kernels_pairs, tables_of_few_rows)
{
    static const int64_t rows[] = {2, 5, 16, 33, 64, 256};
    for (int generation = 0; generation < 2; generation++) {
        struct errors e = {.n = 0};
        struct hw_machine cluster = model_case_cs2();
        const struct hw hw = {.cluster = &cluster};
        if (generation) read_cs3(&cluster);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            take_few_rows(&hw, rows[i], &e);
        expect_below(&e, 0.12, 0.5);
        if (generation) hw_machine_fini(&cluster);
    }
}

/* Ten of those that `wsc validate --mesh --sparse` compares, of another seed. */
TEST(kernels_pairs, sparse_matrices_too)
{
    const struct hw_machine cluster = model_case_cs2();
    const struct hw hw = {.cluster = &cluster};
    struct errors e = {.n = 0};
    T_OK(kernels_sparse_pairs(&hw, 5, 10, take_rounded, &e));
    T_EQ(e.n, 10);
    expect_below(&e, 0.05, 0.12);
}

/* On WSE-3 sums of few weights end one after the other with the set-up of their operations. */
TEST(kernels_pairs, sparse_matrices_on_wse3)
{
    enum { PAIRS = 40 };
    struct errors e = {.n = 0};
    struct hw_machine cluster;
    const struct hw hw = {.cluster = &cluster};
    read_cs3(&cluster);
    T_OK(kernels_sparse_pairs(&hw, 1, PAIRS, take_rounded, &e));
    T_EQ(e.n, PAIRS);
    expect_below(&e, 0.05, 0.12);
    hw_machine_fini(&cluster);
}
