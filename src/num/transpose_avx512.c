// SPDX-License-Identifier: Apache-2.0
/* Transposes a tile of 16 x 16 words of 32 bits in the registers of AVX-512: words, then pairs of
 * words, are interleaved within quarters of the registers; then quarters of registers are
 * exchanged. arranged.c calls it for whole tiles on processors with AVX-512; transpose_avx2.c is
 * for others. */
#include "num_impl.h"

#if defined(__x86_64__)
#    include <immintrin.h>

#    define UNIT __attribute__((target("avx512f")))

enum { N = NUM_TRANSPOSE_TILE, HALF = N / 2 };

/* Word c of rows 0 .. 3 of each group of four: register 4 g + c has it for columns c, c + 4, c + 8
 * and c + 12, a quarter each. */
UNIT static inline void interleave(__m512i x[N])
{
    __m512i pair[N];
    for (int i = 0; i < N; i += 2) {
        pair[i] = _mm512_unpacklo_epi32(x[i], x[i + 1]);
        pair[i + 1] = _mm512_unpackhi_epi32(x[i], x[i + 1]);
    }
    for (int i = 0; i < N; i += 4) {
        x[i] = _mm512_unpacklo_epi64(pair[i], pair[i + 2]);
        x[i + 1] = _mm512_unpackhi_epi64(pair[i], pair[i + 2]);
        x[i + 2] = _mm512_unpacklo_epi64(pair[i + 1], pair[i + 3]);
        x[i + 3] = _mm512_unpackhi_epi64(pair[i + 1], pair[i + 3]);
    }
}

UNIT static void transpose_tile(char *out, int64_t ld_out, const char *in, int64_t ld)
{
    enum { EVEN = 0x88, ODD = 0xDD };
    __m512i x[N];
    for (int i = 0; i < N; i++)
        x[i] = _mm512_loadu_si512(in + i * ld);
    interleave(x);
    for (int c = 0; c < 4; c++) {
        const __m512i low = _mm512_shuffle_i32x4(x[c], x[c + 4], EVEN);
        const __m512i high = _mm512_shuffle_i32x4(x[c], x[c + 4], ODD);
        const __m512i low2 = _mm512_shuffle_i32x4(x[c + HALF], x[c + HALF + 4], EVEN);
        const __m512i high2 = _mm512_shuffle_i32x4(x[c + HALF], x[c + HALF + 4], ODD);
        char *to = out + c * ld_out;
        _mm512_storeu_si512(to, _mm512_shuffle_i32x4(low, low2, EVEN));
        _mm512_storeu_si512(to + 4 * ld_out, _mm512_shuffle_i32x4(high, high2, EVEN));
        _mm512_storeu_si512(to + 8 * ld_out, _mm512_shuffle_i32x4(low, low2, ODD));
        _mm512_storeu_si512(to + 12 * ld_out, _mm512_shuffle_i32x4(high, high2, ODD));
    }
}

num_transpose_fn num_transpose_avx512(void)
{
    return __builtin_cpu_supports("avx512f") ? transpose_tile : NULL;
}
#else
num_transpose_fn num_transpose_avx512(void)
{
    return NULL;
}
#endif
