// SPDX-License-Identifier: Apache-2.0
/* Converts fp32 to bfloat16 with the processor's instruction (AVX-512 with bfloat16), sixteen
 * numbers at a time. The instruction rounds to nearest even and keeps NaNs as format.c does, but
 * treats subnormal numbers as 0. Those are rounded by integer arithmetic as in format.c, so that
 * the bits are equal. Chosen at run time by format.c. */
#include "num_impl.h"

#if defined(__x86_64__)
#    include <immintrin.h>

bool num_has_narrow_bf16(void)
{
    return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}

#    define UNIT __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx512bf16")))

enum { WIDTH = 16, SUBNORMAL = 0x20 };

/* Round the bits as an integer: half of the last place less one, and the bit of the last place,
 * are added before the lower bits are cut off. */
UNIT static inline __m256i round_subnormal(__m512 x)
{
    const __m512i bits = _mm512_castps_si512(x), one = _mm512_set1_epi32(1);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), one);
    const __m512i sum = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7FFF)), odd);
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(sum, 16));
}

UNIT static inline __m256i narrow(__m512 x)
{
    const __mmask16 subnormal = _mm512_fpclass_ps_mask(x, SUBNORMAL);
    const __m256i rounded = (__m256i)_mm512_cvtneps_pbh(x);
    if (!__builtin_expect(subnormal, 0)) return rounded;
    return _mm256_mask_blend_epi16(subnormal, rounded, round_subnormal(x));
}

UNIT void num_narrow_bf16(uint16_t *restrict out, const float *restrict in, int64_t n)
{
    int64_t i = 0;
    for (; i + WIDTH <= n; i += WIDTH)
        _mm256_storeu_si256((__m256i_u *)(void *)(out + i), narrow(_mm512_loadu_ps(in + i)));
    if (i == n) return;
    const __mmask16 rest = (__mmask16)((1U << (n - i)) - 1U);
    _mm256_mask_storeu_epi16(out + i, rest, narrow(_mm512_maskz_loadu_ps(rest, in + i)));
}
#else
bool num_has_narrow_bf16(void)
{
    return false;
}

void num_narrow_bf16(uint16_t *restrict out, const float *restrict in, int64_t n)
{
    (void)out;
    (void)in;
    (void)n;
}
#endif
