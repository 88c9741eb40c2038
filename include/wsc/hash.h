/** Hashes: XXH3 (Yann Collet, xxHash 0.8), for weights, provenance and checks.
 *
 *  Fast and well mixed, not cryptographic: it finds accidents, no forgeries.  Its result is the
 *  same on every machine and in every release since 0.8, so it may stand in files: `weights_hash`
 *  in metrics.jsonl, the sums of a checkpoint's datasets, the identity of a machine. */
#ifndef WSC_HASH_H
#define WSC_HASH_H
#include <stddef.h>
#include <stdint.h>

/** 64-bit XXH3 of @p bytes bytes under @p seed; @p data may be NULL when there are none.  Chains
 *  are built by passing the hash so far as the seed of the next piece; such a chain depends on
 *  where the pieces are cut, so its callers cut at fixed blocks. */
uint64_t wsc_hash64(const void *data, size_t bytes, uint64_t seed);
#endif
