// SPDX-License-Identifier: Apache-2.0
/* The loops of sparse products for AVX2 with FMA: a vector is two registers of eight lanes. Chosen
 * at run time by sparse.c; on other processors it reports that it is not available. */
#include "sparse_kernels.h"

#if defined(__x86_64__)
#    include <immintrin.h>

#    define UNIT __attribute__((target("avx2,fma")))

typedef struct {
    __m256 low, high;
} vec;

UNIT static inline vec vec_load(const float *x)
{
    return (vec){_mm256_loadu_ps(x), _mm256_loadu_ps(x + 8)};
}

UNIT static inline void vec_store(float *x, vec v)
{
    _mm256_storeu_ps(x, v.low);
    _mm256_storeu_ps(x + 8, v.high);
}

UNIT static inline vec vec_fill(float x)
{
    return (vec){_mm256_set1_ps(x), _mm256_set1_ps(x)};
}

UNIT static inline vec vec_fma(vec a, vec b, vec c)
{
    return (vec){_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
}

/* Add the halves of each of two vectors, side by side: the step of the tree from eight lanes to
 * four. */
UNIT static inline __m256 halves(vec a, vec b)
{
    const __m256 x = _mm256_add_ps(a.low, a.high), y = _mm256_add_ps(b.low, b.high);
    return _mm256_add_ps(_mm256_permute2f128_ps(x, y, 0x20), _mm256_permute2f128_ps(x, y, 0x31));
}

UNIT static inline void vec_sums(vec v[4], float out[4])
{
    const __m256 ab = halves(v[0], v[1]), cd = halves(v[2], v[3]);
    const __m256 two = _mm256_add_ps(_mm256_shuffle_ps(ab, cd, 0x44), /* a0 a1 c0 c1, b and d */
                                     _mm256_shuffle_ps(ab, cd, 0xee));
    const __m256 one = _mm256_add_ps(two, _mm256_movehdup_ps(two)); /* a - c -, b - d - */
    const __m128 ac = _mm256_castps256_ps128(one), bd = _mm256_extractf128_ps(one, 1);
    _mm_storeu_ps(out, _mm_unpacklo_ps(_mm_shuffle_ps(ac, ac, 0x08), _mm_shuffle_ps(bd, bd, 0x08)));
}

#    include "sparse_loops.h"

static bool here(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

const struct num_sparse_unit num_sparse_avx2 = {"AVX2", here, multiply, dots};
#else
static bool here(void)
{
    return false;
}

const struct num_sparse_unit num_sparse_avx2 = {.name = "AVX2", .here = here};
#endif
