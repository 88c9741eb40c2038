// SPDX-License-Identifier: Apache-2.0
/* fp32 to bfloat16 by the instruction for it (AVX-512 with bfloat16), sixteen numbers at a time.
 * It rounds to nearest even and keeps NaNs as format.c does, but takes subnormal numbers for 0: a
 * vector that has one is left to the loop of format.c, so that the bits are the same.  Chosen at
 * run time by format.c. */
#include "num_impl.h"

#if defined(__x86_64__)
#    include <immintrin.h>

bool num_has_narrow_bf16(void)
{
    return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}

__attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx512bf16"))) int64_t
num_narrow_bf16(uint16_t *restrict out, const float *restrict in, int64_t n)
{
    enum { WIDTH = 16, SUBNORMAL = 0x20 };
    int64_t i = 0;
    for (; i + WIDTH <= n; i += WIDTH) {
        const __m512 x = _mm512_loadu_ps(in + i);
        if (_mm512_fpclass_ps_mask(x, SUBNORMAL)) break;
        _mm256_storeu_si256((__m256i_u *)(void *)(out + i), (__m256i)_mm512_cvtneps_pbh(x));
    }
    return i;
}
#else
bool num_has_narrow_bf16(void)
{
    return false;
}

int64_t num_narrow_bf16(uint16_t *restrict out, const float *restrict in, int64_t n)
{
    (void)out;
    (void)in;
    (void)n;
    return 0;
}
#endif
