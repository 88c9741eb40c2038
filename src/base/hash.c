// SPDX-License-Identifier: Apache-2.0
#include <wsc/hash.h>

#include <xxhash.h>

uint64_t wsc_hash64(const void *data, size_t bytes, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, bytes, seed);
}
