// SPDX-License-Identifier: Apache-2.0
/* Defines the rows of the table for the products of linear layers: Y = X W' and the gradient of its
 * weights, dW = dY' X. The gradient of the input is a product too (dX = dY W). */
#include "kernel_rows.h"
#include "kernel_shapes.h"
#include "kernel_strips.h"

#include <wsc/num.h>
#include <wsc/num_reference.h>

#include <math.h>

enum {
    LINEAR_PARTS = 1 << MODEL_PART_QKV | 1 << MODEL_PART_ATTN | 1 << MODEL_PART_FFN0 |
                   1 << MODEL_PART_FFN1 | 1 << MODEL_PART_HEAD
};

/* Tokens x k features in, m features out. */
static struct num_ref_linear shape_of(const struct programs_case *c)
{
    return (struct num_ref_linear){.rows = kernels_tokens_of(c), .out = c->m, .in = c->k};
}

/* 1: the matrix is dense. */
static double density_of(const struct programs_case *c)
{
    return c->density > 0 ? c->density : 1;
}

/* ---- Y = X W' -------------------------------------------------------------------------------- */

static struct kernels_sizes linear_sizes(const struct programs_case *c)
{
    const int64_t rows = kernels_tokens_of(c);
    return (struct kernels_sizes){.in = {rows * (c->backward ? c->m : c->k), c->m * c->k},
                                  .masked = 2,
                                  .out = rows * (c->backward ? c->k : c->m)};
}

static double linear_cycles(const struct cycles_layout *l, const struct programs_case *c)
{
    const struct cycles_side in = cycles_side_of(l, c->backward ? c->m : c->k);
    return cycles_product(l, &in, (double)(c->backward ? c->k : c->m), density_of(c));
}

static void linear_reference(const struct programs_case *c, const struct kernels_reference *o,
                             double *want)
{
    const struct num_ref_linear shape = shape_of(c);
    if (c->backward)
        num_ref_input_gradient(&shape, o->x[0], o->x[1], want);
    else
        num_ref_product(&shape, o->x[0], o->x[1], want);
}

static void linear_host(const struct programs_case *c, const struct programs_operands *o)
{
    const int64_t in = c->backward ? c->m : c->k, out = c->backward ? c->k : c->m;
    const struct num_product p = {.trans_b = !c->backward,
                                  .m = kernels_tokens_of(c),
                                  .n = out,
                                  .k = in,
                                  .lda = in,
                                  .ldb = c->k,
                                  .ldc = out};
    num_gemm(&p, o->x[0], o->x[1], o->out);
}

/* ---- dW = dY' X ------------------------------------------------------------------------------ */

static struct kernels_sizes wgrad_sizes(const struct programs_case *c)
{
    const int64_t rows = kernels_tokens_of(c);
    const bool sparse = density_of(c) < 1;
    return (struct kernels_sizes){.in = {rows * c->k, rows * c->m, sparse ? c->m * c->k : 0},
                                  .masked = sparse ? 3 : 0,
                                  .out = c->m * c->k};
}

static double wgrad_cycles(const struct cycles_layout *l, const struct programs_case *c)
{
    const struct cycles_side in = cycles_side_of(l, c->k), out = cycles_side_of(l, c->m);
    return cycles_weight_gradient(l, &in, &out, density_of(c));
}

static void wgrad_reference(const struct programs_case *c, const struct kernels_reference *o,
                            double *want)
{
    const struct num_ref_linear shape = shape_of(c);
    num_ref_weight_gradient(&shape, o->x[1], o->x[0], want);
    for (int64_t i = 0; o->x[2] && i < c->m * c->k; i++)
        if (fpclassify(o->x[2][i]) == FP_ZERO) want[i] = 0;
}

/* dY' X: the first operand is stored (rows, m) and taken transposed. */
static void wgrad_host(const struct programs_case *c, const struct programs_operands *o)
{
    const struct num_product p = {.trans_a = true,
                                  .m = c->m,
                                  .n = c->k,
                                  .k = kernels_tokens_of(c),
                                  .lda = c->m,
                                  .ldb = c->k,
                                  .ldc = c->k};
    num_gemm(&p, o->x[1], o->x[0], o->out);
    for (int64_t i = 0; o->x[2] && i < c->m * c->k; i++)
        if (fpclassify(o->x[2][i]) == FP_ZERO) o->out[i] = 0;
}

static const struct kernels_strip linear_strips[] = {
    {.bf16 = KERNELS_ALL,
     .fp32 = KERNELS_IN(256M) | KERNELS_IN(1P3B) | KERNELS_IN(6P7B) | KERNELS_IN(13B),
     .how = KERNELS_OUTPUTS},
    {.bf16 = KERNELS_IN(BERT_BASE) | KERNELS_IN(590M) | KERNELS_IN(2P7B),
     .fp32 = KERNELS_IN(256M),
     .side = KERNELS_FILTER,
     .how = KERNELS_OUTPUTS},
    {.bf16 = KERNELS_IN(BERT_BASE) | KERNELS_IN(590M),
     .fp32 = KERNELS_IN(20B),
     .how = KERNELS_OUTPUTS,
     .tall = true},
    {.bf16 = 0},
};

static const struct kernels_strip wgrad_strips[] = {
    {.bf16 = KERNELS_IN(BERT_BASE) | KERNELS_IN(BERT_LARGE) | KERNELS_IN(256M) | KERNELS_IN(590M),
     .fp32 = KERNELS_IN(BERT_LARGE),
     .how = KERNELS_TOKENS},
    {.bf16 = KERNELS_IN(2P7B) | KERNELS_IN(13B),
     .fp32 = KERNELS_IN(20B),
     .how = KERNELS_TOKENS,
     .tall = true},
    {.bf16 = 0},
};

const struct kernels_row kernels_product_rows[] = {
    {.name = "linear",
     .summary = "Y = X W', W (m, k) streamed in; X and Y stay on the PEs",
     KERNELS_OPERATION("--m --k --density --pass", LINEAR_PARTS, kernels_matrix_shapes),
     .gradient = true,
     .m_on_columns = true,
     .sizes = linear_sizes,
     .strips = linear_strips,
     .program = programs_linear,
     .cycles = linear_cycles,
     .reference = linear_reference,
     .host = linear_host},
    {.name = "wgrad",
     .summary = "dW (m, k) = dY' X, summed over tokens, leaves at the edge",
     KERNELS_OPERATION("--m --k --density", LINEAR_PARTS, kernels_matrix_shapes),
     .rounds_products = true,
     .m_on_columns = true,
     .sizes = wgrad_sizes,
     .strips = wgrad_strips,
     .program = programs_wgrad,
     .cycles = wgrad_cycles,
     .reference = wgrad_reference,
     .host = wgrad_host},
    {.name = NULL},
};
