// SPDX-License-Identifier: Apache-2.0
/* A permutation of n samples as a function of (seed, i): a Feistel network over the next power of
 * four, walked until it falls below n. */
#include "permute.h"

#include <wsc/check.h>
#include <wsc/rng.h>

/* Luby & Rackoff 1988: four rounds make a pseudorandom permutation; twice as many here, because
 * small datasets have small halves. */
enum { ROUNDS = 8 };

/* One pass through a balanced Feistel network on 2 half_bits bits. */
static uint64_t feistel(uint64_t x, int half_bits, uint64_t seed, uint64_t stream)
{
    uint64_t low = (1ULL << half_bits) - 1, left = x >> half_bits, right = x & low;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        uint64_t mixed = left ^ (wsc_rng_u64(seed, stream, round << 32 | right) & low);
        left = right;
        right = mixed;
    }
    return left << half_bits | right;
}

int64_t data_permute(int64_t i, int64_t n, uint64_t seed, uint64_t epoch)
{
    WSC_CHECK(i >= 0 && i < n && n <= (int64_t)1 << 62, "element %lld of %lld", (long long)i,
              (long long)n);
    int half_bits = 1;
    while (1LL << 2 * half_bits < n)
        half_bits++;
    uint64_t stream = wsc_rng_stream(WSC_RNG_SHUFFLE, epoch), x = (uint64_t)i;
    /* Walk along the cycle until the value is in the range; the domain is below 4 n, or 4 for the
     * smallest n. */
    do {
        x = feistel(x, half_bits, seed, stream);
    } while (x >= (uint64_t)n);
    return (int64_t)x;
}
