// SPDX-License-Identifier: Apache-2.0
/* The one 64-bit hash, XXH3 of the xxHash library; weights_hash, digests and identities are chains
 * of it. */
#include <wsc/hash.h>

#include <xxhash.h>

uint64_t wsc_hash64(const void *data, size_t bytes, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, bytes, seed);
}
