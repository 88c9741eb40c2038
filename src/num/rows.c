// SPDX-License-Identifier: Apache-2.0
/* Computes products in an order of additions that does not depend on the number of rows: sixteen
 * lanes and a fixed tree. The result of a token therefore has equal bits alone and in a batch.
 * Generation uses these products. */
#include "num_impl.h"

#include <wsc/check.h>
#include <wsc/mem.h>
#include <wsc/num_math.h>

#include <string.h>

enum { TILE = 4 };

/* Multiply up to 16 elements of row @p x of the tile by @p one, and add them to the row's lanes. */
static inline void add_products(num_lanes *sum, const num_lanes *one, const float *x, int64_t n)
{
    num_lanes at;
    if (n < NUM_LANES)
        num_lanes_load_some(&at, x, n, 0);
    else
        num_lanes_load(&at, x);
    *sum += *one * at;
}

/* out[i] = row i of the TILE rows of @p many times @p one. They are computed together for speed,
 * each in the order of additions that it would have alone. */
NUM_CLONES static void dot_tile(const float *restrict one, const float *restrict many, int64_t ld,
                                int64_t k, float out[TILE])
{
    num_lanes s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, at;
    const float *restrict m1 = many + ld, *restrict m2 = m1 + ld, *restrict m3 = m2 + ld;
    int64_t q = 0;
    for (; q + NUM_LANES <= k; q += NUM_LANES) {
        num_lanes_load(&at, one + q);
        add_products(&s0, &at, many + q, NUM_LANES);
        add_products(&s1, &at, m1 + q, NUM_LANES);
        add_products(&s2, &at, m2 + q, NUM_LANES);
        add_products(&s3, &at, m3 + q, NUM_LANES);
    }
    if (q < k) {
        num_lanes_load_some(&at, one + q, k - q, 0);
        add_products(&s0, &at, many + q, k - q);
        add_products(&s1, &at, m1 + q, k - q);
        add_products(&s2, &at, m2 + q, k - q);
        add_products(&s3, &at, m3 + q, k - q);
    }
    out[0] = num_lanes_total(&s0);
    out[1] = num_lanes_total(&s1);
    out[2] = num_lanes_total(&s2);
    out[3] = num_lanes_total(&s3);
}

/* One dot product in the order of additions of dot_tile(): 16 lanes, then their tree. */
NUM_CLONES static float dot_one(const float *restrict x, const float *restrict y, int64_t k)
{
    return num_dot(x, y, k);
}

/* A product as dot products of each row of one matrix with TILE rows at a time of the other. */
struct dots {
    const float *one, *many;
    int64_t k, n_one, n_many, ld_one, ld_many;
    float *c;
    int64_t step_one, step_many; /* elements of C from one row of each to the next */
    float beta;
};

/* Compute row @p o of the one matrix times rows i .. i + TILE - 1 of the other, or as many as are
 * left. */
static void dot_rows(const struct dots *d, int64_t o, int64_t i)
{
    const int64_t n = d->n_many - i < TILE ? d->n_many - i : TILE;
    const float *one = d->one + o * d->ld_one, *many = d->many + i * d->ld_many;
    float *c = d->c + o * d->step_one + i * d->step_many, out[TILE];
    if (n == TILE) dot_tile(one, many, d->ld_many, d->k, out);
    for (int64_t t = 0; t < n; t++) {
        if (n < TILE) out[t] = dot_one(one, many + t * d->ld_many, d->k);
        c[t * d->step_many] = d->beta == 0 ? out[t] : c[t * d->step_many] + out[t];
    }
}

/* Loop over blocks of rows that stay in the cache while the rows of the other matrix pass. */
static void dot_all(const struct dots *d)
{
    enum { BLOCK = 32 };
    for (int64_t first = 0; first < d->n_one; first += BLOCK) {
        const int64_t end = first + BLOCK < d->n_one ? first + BLOCK : d->n_one;
        for (int64_t i = 0; i < d->n_many; i += TILE) {
            for (int64_t o = first; o < end; o++)
                dot_rows(d, o, i);
        }
    }
}

/* C = A B^T + beta C; with few rows of A, rows of B are grouped in tiles instead. */
static void rows_by_rows(const struct num_product *p, const float *a, const float *b, float *c)
{
    struct dots d = {.one = b,
                     .many = a,
                     .k = p->k,
                     .n_one = p->n,
                     .n_many = p->m,
                     .ld_one = p->ldb,
                     .ld_many = p->lda,
                     .c = c,
                     .step_one = 1,
                     .step_many = p->ldc,
                     .beta = p->beta};
    if (p->m < TILE)
        d = (struct dots){.one = a,
                          .many = b,
                          .k = p->k,
                          .n_one = p->m,
                          .n_many = p->n,
                          .ld_one = p->lda,
                          .ld_many = p->ldb,
                          .c = c,
                          .step_one = p->ldc,
                          .step_many = 1,
                          .beta = p->beta};
    dot_all(&d);
}

/* C = A B + beta C: row by row of B, in the order of the rows. */
NUM_CLONES static void rows_by_columns(const struct num_product *p, const float *a, const float *b,
                                       float *c)
{
    for (int64_t i = 0; i < p->m; i++) {
        float *restrict to = c + i * p->ldc;
        if (p->beta == 0) memset(to, 0, (size_t)p->n * sizeof *to);
        for (int64_t q = 0; q < p->k; q++) {
            const float *restrict from = b + q * p->ldb, weight = a[i * p->lda + q];
            for (int64_t j = 0; j < p->n; j++)
                to[j] += weight * from[j];
        }
    }
}

void num_gemm_rows(enum num_format format, const struct num_product *p, const void *a,
                   const void *b, float *c)
{
    struct num_product q = *p;
    float *wide_a = NULL, *wide_b = NULL;
    WSC_CHECK(!p->trans_a, "rows of a transposed matrix");
    if (!num_product_prepare(p, c)) return;
    if (format != NUM_FP32) {
        a = wide_a = num_widened(format, a, p->m, p->k, p->lda);
        b = wide_b =
            num_widened(format, b, p->trans_b ? p->n : p->k, p->trans_b ? p->k : p->n, p->ldb);
        q.lda = num_row_stride(p->k);
        q.ldb = num_row_stride(p->trans_b ? p->k : p->n);
    }
    if (p->trans_b)
        rows_by_rows(&q, a, b, c);
    else
        rows_by_columns(&q, a, b, c);
    wsc_free(wide_a);
    wsc_free(wide_b);
}
