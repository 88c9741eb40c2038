/** Hashes: XXH3 (Yann Collet, xxHash 0.8), for weights, provenance and checks.
 *
 *  The hash is fast and not cryptographic: it detects accidental changes, but no forgeries. Its
 *  result is equal on every machine and in every release since 0.8, so it is used in files:
 *  `weights_hash` in metrics.jsonl, the checksums of the datasets of a checkpoint, the identity of
 * a machine. */
#ifndef WSC_HASH_H
#define WSC_HASH_H
#include <stddef.h>
#include <stdint.h>

/** 64-bit XXH3 of @p bytes bytes with @p seed; @p data may be NULL if @p bytes is 0. To hash data
 * in pieces, pass the hash so far as the seed of the next piece; the result depends on the sizes of
 *  the pieces, so callers use fixed block sizes. */
uint64_t wsc_hash64(const void *data, size_t bytes, uint64_t seed);
#endif
