// SPDX-License-Identifier: Apache-2.0
/* Transposes a tile of 16 x 16 words of 32 bits in the registers of AVX2, as four quarters of 8 x
 * 8: words, then pairs of words, are interleaved within halves of the registers; then halves of
 * registers are exchanged. arranged.c calls it for whole tiles on processors without AVX-512. */
#include "num_impl.h"

#if defined(__x86_64__)
#    include <immintrin.h>

#    define UNIT __attribute__((target("avx2")))

enum { N = 8 };

/* Word c of rows 0 .. 3 and of rows 4 .. 7: registers c and c + 4 have it for columns c and c + 4,
 * a half each. */
UNIT static inline void interleave(__m256i x[N])
{
    __m256i pair[N];
    for (int i = 0; i < N; i += 2) {
        pair[i] = _mm256_unpacklo_epi32(x[i], x[i + 1]);
        pair[i + 1] = _mm256_unpackhi_epi32(x[i], x[i + 1]);
    }
    for (int i = 0; i < N; i += 4) {
        x[i] = _mm256_unpacklo_epi64(pair[i], pair[i + 2]);
        x[i + 1] = _mm256_unpackhi_epi64(pair[i], pair[i + 2]);
        x[i + 2] = _mm256_unpacklo_epi64(pair[i + 1], pair[i + 3]);
        x[i + 3] = _mm256_unpackhi_epi64(pair[i + 1], pair[i + 3]);
    }
}

UNIT static inline void transpose_quarter(char *out, int64_t ld_out, const char *in, int64_t ld)
{
    enum { LOW = 0x20, HIGH = 0x31 };
    __m256i x[N];
    for (int i = 0; i < N; i++)
        x[i] = _mm256_loadu_si256((const void *)(in + i * ld));
    interleave(x);
    for (int c = 0; c < N / 2; c++) {
        char *to = out + c * ld_out;
        _mm256_storeu_si256((void *)to, _mm256_permute2x128_si256(x[c], x[c + N / 2], LOW));
        _mm256_storeu_si256((void *)(to + N / 2 * ld_out),
                            _mm256_permute2x128_si256(x[c], x[c + N / 2], HIGH));
    }
}

UNIT static void transpose_tile(char *out, int64_t ld_out, const char *in, int64_t ld)
{
    for (int64_t r = 0; r < NUM_TRANSPOSE_TILE; r += N)
        for (int64_t c = 0; c < NUM_TRANSPOSE_TILE; c += N)
            transpose_quarter(out + c * ld_out + r * 4, ld_out, in + r * ld + c * 4, ld);
}

num_transpose_fn num_transpose_avx2(void)
{
    return __builtin_cpu_supports("avx2") ? transpose_tile : NULL;
}
#else
num_transpose_fn num_transpose_avx2(void)
{
    return NULL;
}
#endif
