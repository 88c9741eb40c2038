/** The loops over non-zeros of sparse products, written once for every vector unit.
 *  sparse_portable.c, sparse_avx2.c and sparse_avx512.c include this file after they define `vec`
 *  (16 fp32 numbers), UNIT (attributes of a function of the unit), vec_load, vec_store, vec_fill,
 *  vec_fma and vec_sums. The sums of a block of tokens stay in registers during all non-zeros of
 *  an output: each non-zero is broadcast and needs one fused multiply-add for each vector of
 *  tokens. */
#ifndef WSC_NUM_SPARSE_LOOPS_H
#define WSC_NUM_SPARSE_LOOPS_H
#include "sparse_kernels.h"

#define ALWAYS static inline __attribute__((always_inline))

/** Add the products of one segment to the sums of one output. @p n is a constant where this is
 *  inlined. */
UNIT ALWAYS void multiply_segment(const struct num_sparse_job *j, int64_t out, int n)
{
    float *y = j->y + out * n * NUM_SPARSE_LANES;
    vec sum[NUM_SPARSE_VECTORS];
    for (int i = 0; i < n; i++)
        sum[i] = vec_load(y + i * NUM_SPARSE_LANES);
    for (uint32_t e = j->start[out]; e < j->start[out + 1]; e++) {
        const float *x = j->x + (int64_t)j->input[e] * n * NUM_SPARSE_LANES;
        const vec w = vec_fill(j->value[e]);
        for (int i = 0; i < n; i++)
            sum[i] = vec_fma(w, vec_load(x + i * NUM_SPARSE_LANES), sum[i]);
    }
    for (int i = 0; i < n; i++)
        vec_store(y + i * NUM_SPARSE_LANES, sum[i]);
}

UNIT ALWAYS void multiply_all(const struct num_sparse_job *j, int n)
{
    for (int64_t out = 0; out < j->n_out; out++)
        if (j->start[out] < j->start[out + 1]) multiply_segment(j, out, n);
}

UNIT static void multiply(const struct num_sparse_job *j, int n_vectors)
{
    switch (n_vectors) {
    case 1:
        multiply_all(j, 1);
        break;
    case 2:
        multiply_all(j, 2);
        break;
    case 3:
        multiply_all(j, 3);
        break;
    default:
        multiply_all(j, NUM_SPARSE_VECTORS);
    }
}

/** The dot products of four non-zeros of one output are reduced together. */
enum { TOGETHER = 4 };

UNIT ALWAYS void dots_of(const struct num_sparse_job *j, const vec *dy, uint32_t e, uint32_t end)
{
    const uint32_t n = end - e < TOGETHER ? end - e : TOGETHER;
    float *g = j->g + (e - j->start[0]), dot[TOGETHER];
    const float *x[TOGETHER];
    vec sum[TOGETHER];
    for (uint32_t i = 0; i < TOGETHER;
         i++) /* the last one stands in for those that are not there */
        x[i] = j->x + (int64_t)j->input[i < n ? e + i : end - 1] * NUM_SPARSE_TOKENS;
    for (int i = 0; i < TOGETHER; i++)
        sum[i] = vec_fill(0);
    for (int t = 0; t < NUM_SPARSE_VECTORS; t++)
        for (int i = 0; i < TOGETHER; i++)
            sum[i] = vec_fma(dy[t], vec_load(x[i] + t * NUM_SPARSE_LANES), sum[i]);
    vec_sums(sum, dot);
    if (n < TOGETHER) {
        for (uint32_t i = 0; i < n; i++)
            g[i] = j->first ? dot[i] : g[i] + dot[i];
        return;
    }
    for (int i = 0; i < TOGETHER; i++)
        g[i] = j->first ? dot[i] : g[i] + dot[i];
}

UNIT static void dots(const struct num_sparse_job *j)
{
    vec dy[NUM_SPARSE_VECTORS];
    for (int64_t out = 0; out < j->n_out; out++) {
        const uint32_t end = j->start[out + 1];
        for (int t = 0; t < NUM_SPARSE_VECTORS; t++)
            dy[t] = vec_load(j->y + out * NUM_SPARSE_TOKENS + t * NUM_SPARSE_LANES);
        for (uint32_t e = j->start[out]; e < end; e += TOGETHER)
            dots_of(j, dy, e, end);
    }
}
#undef ALWAYS
#endif
