// SPDX-License-Identifier: Apache-2.0
/* Computes products where oneDNN is not installed (ONEDNN=no of the Makefile): operands are
 * transposed as needed and multiplied by rows.c, in its order of additions. This is slower than
 * oneDNN, and the last bits differ from oneDNN's. Results are equal for any number of threads and
 * of rows; oneDNN's depend on the number of rows. Called by gemm.c and gemm_16.c. */
#include "library.h"

#include <wsc/check.h>
#include <wsc/mem.h>

const char *num_library(void)
{
    return "plain products (no oneDNN)";
}

/* Transpose X (rows, cols at ld) to a dense (cols, rows), in blocks that fit the cache; the caller
 * frees it. */
static float *transposed(const float *x, int64_t rows, int64_t cols, int64_t ld)
{
    enum { BLOCK = 16 };
    float *y = wsc_alloc_raw(WSC_MEM_NUM, (size_t)(rows * cols), sizeof *y);
    WSC_CHECK(y, "no memory to turn an operand of %lld x %lld", (long long)rows, (long long)cols);
    for (int64_t first = 0; first < rows; first += BLOCK) {
        const int64_t end = first + BLOCK < rows ? first + BLOCK : rows;
        for (int64_t j = 0; j < cols; j++)
            for (int64_t i = first; i < end; i++)
                y[j * rows + i] = x[i * ld + j];
    }
    return y;
}

void num_library_gemm(const struct num_product *p, const float *a, const float *b, float *c)
{
    struct num_product q = *p;
    float *rows_a = NULL, *rows_b = NULL;
    if (p->trans_a) {
        rows_a = transposed(a, p->k, p->m, p->lda);
        q.trans_a = false;
        q.lda = p->k;
    }
    if (!p->trans_b) {
        rows_b = transposed(b, p->k, p->n, p->ldb);
        q.trans_b = true;
        q.ldb = p->k;
    }
    num_gemm_rows(NUM_FP32, &q, rows_a ? rows_a : a, rows_b ? rows_b : b, c);
    wsc_free(rows_a);
    wsc_free(rows_b);
}

bool num_library_bf16(const struct num_product *p, const uint16_t *a, const uint16_t *b, float *c)
{
    (void)p;
    (void)a;
    (void)b;
    (void)c;
    return false;
}

bool num_library_prefers_rows(void)
{
    return false;
}

bool num_library_minds_strides(void)
{
    return false;
}

bool num_library_has_arranged(const struct num_product *p)
{
    (void)p;
    return false;
}

bool num_library_bf16_arranged(const struct num_product *p, const uint16_t *a,
                               const uint16_t *arranged, float *c)
{
    (void)p;
    (void)a;
    (void)arranged;
    (void)c;
    return false;
}
