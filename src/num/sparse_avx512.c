// SPDX-License-Identifier: Apache-2.0
/* The loops of sparse products for AVX-512: a vector is one register of sixteen lanes. Chosen at
 * run time by sparse.c; on other processors it reports that it is not available. */
#include "sparse_kernels.h"

#if defined(__x86_64__)
#    include <immintrin.h>

#    define UNIT __attribute__((target("avx512f")))

typedef __m512 vec;

UNIT static inline vec vec_load(const float *x)
{
    return _mm512_loadu_ps(x);
}

UNIT static inline void vec_store(float *x, vec v)
{
    _mm512_storeu_ps(x, v);
}

UNIT static inline vec vec_fill(float x)
{
    return _mm512_set1_ps(x);
}

UNIT static inline vec vec_fma(vec a, vec b, vec c)
{
    return _mm512_fmadd_ps(a, b, c);
}

/* Add the halves of each of two vectors, side by side: the steps of the tree from sixteen lanes to
 * eight, and from eight to four. */
UNIT static inline vec halves(vec a, vec b)
{
    return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
}

UNIT static inline vec quarters(vec ab, vec cd)
{
    return _mm512_add_ps(_mm512_shuffle_f32x4(ab, cd, 0x88), _mm512_shuffle_f32x4(ab, cd, 0xdd));
}

UNIT static inline void vec_sums(vec v[4], float out[4])
{
    const vec four = quarters(halves(v[0], v[1]), halves(v[2], v[3])); /* a, b, c, d */
    const vec two = _mm512_add_ps(four, _mm512_permute_ps(four, 0x0e));
    const vec one = _mm512_add_ps(two, _mm512_permute_ps(two, 0x01));
    const __m512i lanes = _mm512_set_epi32(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 12, 8, 4, 0);
    _mm_storeu_ps(out, _mm512_castps512_ps128(_mm512_permutexvar_ps(lanes, one)));
}

#    include "sparse_loops.h"

static bool here(void)
{
    return __builtin_cpu_supports("avx512f");
}

const struct num_sparse_unit num_sparse_avx512 = {"AVX-512", here, multiply, dots};
#else
static bool here(void)
{
    return false;
}

const struct num_sparse_unit num_sparse_avx512 = {.name = "AVX-512", .here = here};
#endif
