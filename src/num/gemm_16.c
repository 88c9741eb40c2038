// SPDX-License-Identifier: Apache-2.0
/* Computes products of 16-bit operands with fp32 sums: for bfloat16 with the product library, if
 * it supports the processor; for other formats by widening both operands. */
#include "library.h"
#include "num_impl.h"

#include <wsc/check.h>
#include <wsc/mem.h>

float *num_widened(enum num_format format, const uint16_t *x, int64_t rows, int64_t cols,
                   int64_t ld)
{
    const int64_t ld_out = num_row_stride(cols);
    float *y = wsc_alloc_raw(WSC_MEM_NUM, (size_t)(rows * ld_out), sizeof *y);
    WSC_CHECK(y, "no memory to widen a %s operand of %lld x %lld", num_formats[format].name,
              (long long)rows, (long long)cols);
    for (int64_t i = 0; i < rows; i++)
        num_widen(format, y + i * ld_out, x + i * ld, cols);
    return y;
}

void num_gemm_widened(enum num_format format, const struct num_product *p, const uint16_t *a,
                      const uint16_t *b, float *c)
{
    int64_t a_rows = p->trans_a ? p->k : p->m, a_cols = p->trans_a ? p->m : p->k;
    int64_t b_rows = p->trans_b ? p->n : p->k, b_cols = p->trans_b ? p->k : p->n;
    struct num_product wide = *p;
    wide.lda = num_row_stride(a_cols);
    wide.ldb = num_row_stride(b_cols);
    float *wide_a = num_widened(format, a, a_rows, a_cols, p->lda);
    float *wide_b = num_widened(format, b, b_rows, b_cols, p->ldb);
    num_gemm(&wide, wide_a, wide_b, c);
    wsc_free(wide_a);
    wsc_free(wide_b);
}

void num_gemm_16(enum num_format format, const struct num_product *p, const uint16_t *a,
                 const uint16_t *b, float *c)
{
    if (!num_product_prepare(p, c)) return;
    if (num_multiplies_16(format) && num_library_bf16(p, a, b, c)) return;
    num_gemm_widened(format, p, a, b, c);
}
