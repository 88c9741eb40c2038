/** Hashes: XXH3, for weights, provenance and checks.  Layer 0. */
#ifndef WSC_HASH_H
#define WSC_HASH_H
#include <stddef.h>
#include <stdint.h>

/** 64-bit XXH3 of @p bytes bytes under @p seed. */
uint64_t wsc_hash64(const void *data, size_t bytes, uint64_t seed);
#endif
