// SPDX-License-Identifier: Apache-2.0
/* Computes fp32 matrix products with the product library on the calling thread alone, so that
 * equal shapes give equal bits on any number of threads. gemm_16.c has products of 16-bit
 * operands, rows.c those whose bits do not depend on the number of rows. */
#include "library.h"
#include "num_impl.h"

#include <wsc/check.h>

#include <string.h>

bool num_product_prepare(const struct num_product *p, float *c)
{
    WSC_CHECK(p->m >= 0 && p->n >= 0 && p->k >= 0 && (p->beta == 0 || p->beta == 1),
              "product %lld x %lld x %lld, beta %g", (long long)p->m, (long long)p->n,
              (long long)p->k, (double)p->beta);
    WSC_CHECK(p->lda >= (p->trans_a ? p->m : p->k) && p->ldb >= (p->trans_b ? p->k : p->n) &&
                  p->ldc >= p->n,
              "strides %lld, %lld, %lld for a product %lld x %lld x %lld", (long long)p->lda,
              (long long)p->ldb, (long long)p->ldc, (long long)p->m, (long long)p->n,
              (long long)p->k);
    /* Empty products need no library: no element, or sums of no products, which are 0. */
    if (p->m == 0 || p->n == 0) return false;
    if (p->k > 0) return true;
    for (int64_t i = 0; p->beta == 0 && i < p->m; i++)
        memset(c + i * p->ldc, 0, (size_t)p->n * sizeof *c);
    return false;
}

void num_gemm(const struct num_product *p, const float *a, const float *b, float *c)
{
    if (!num_product_prepare(p, c)) return;
    num_library_gemm(p, a, b, c);
}

/* The definition: one sum for each element, in the order of k. */
void num_gemm_ref(const struct num_product *p, const float *a, const float *b, float *c)
{
    int64_t a_row = p->trans_a ? 1 : p->lda, a_col = p->trans_a ? p->lda : 1;
    int64_t b_row = p->trans_b ? 1 : p->ldb, b_col = p->trans_b ? p->ldb : 1;
    for (int64_t i = 0; i < p->m; i++) {
        for (int64_t j = 0; j < p->n; j++) {
            float sum = p->beta == 0 ? 0 : c[i * p->ldc + j];
            for (int64_t q = 0; q < p->k; q++)
                sum += a[i * a_row + q * a_col] * b[q * b_row + j * b_col];
            c[i * p->ldc + j] = sum;
        }
    }
}
