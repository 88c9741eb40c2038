/** Hashes: XXH3 (Yann Collet, xxHash 0.8), for weights, provenance and checks.  Layer 0.
 *
 *  Fast and well mixed, not cryptographic: it finds accidents, no forgeries.  Its result is the
 * same on every machine and in every release since 0.8, so it may stand in files.
 */
#ifndef WSC_HASH_H
#define WSC_HASH_H
#include <stddef.h>
#include <stdint.h>

/** 64-bit XXH3 of @p bytes bytes under @p seed. */
uint64_t wsc_hash64(const void *data, size_t bytes, uint64_t seed);
#endif
