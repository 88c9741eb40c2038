/** Random numbers as functions of (seed, what, index).  Layer 0.
 *
 *  No state and no order: element i of a stream is the same whoever asks, in any order, on any
 *  rank.  The generator is Philox 4x32-10 (Salmon et al., SC'11, "Parallel random numbers: as
 *  easy as 1, 2, 3").
 */
#ifndef WSC_RNG_H
#define WSC_RNG_H
#include <stdint.h>

/** Streams, so that no two uses of one seed share numbers.  A use that has several (tensors,
 *  epochs) adds its own index in the upper bits with wsc_rng_stream(). */
enum wsc_rng_use {
    WSC_RNG_INIT = 1, /**< initial weights; index within: tensor */
    WSC_RNG_SHUFFLE,  /**< sample order; index within: epoch */
    WSC_RNG_SAMPLE,   /**< generated tokens; index within: prompt */
    WSC_RNG_JITTER,   /**< virtual-time noise; index within: role */
    WSC_RNG_TEST,     /**< test inputs */
    WSC_RNG_DROPOUT,  /**< what is dropped in training; index within: sample, layer, place */
    WSC_RNG_FAULT,    /**< when faults begin; index within: fault and place */
    WSC_RNG_LOSS      /**< lost packets; index within: link */
};

/** The stream number of @p use with its own @p index. */
static inline uint64_t wsc_rng_stream(enum wsc_rng_use use, uint64_t index)
{
    return (uint64_t)use << 56 | (index & 0xffffffffffffffULL);
}
/** 64 uniform bits: element @p i of @p stream under @p seed. */
uint64_t wsc_rng_u64(uint64_t seed, uint64_t stream, uint64_t i);
/** The low 32 bits of elements [first, first + n) of @p stream. */
void wsc_rng_words(uint32_t *out, uint64_t seed, uint64_t stream, uint64_t first, int64_t n);
/** Uniform in the open interval (0, 1), 53 bits. */
double wsc_rng_uniform(uint64_t seed, uint64_t stream, uint64_t i);
/** Standard normal, by inversion (Wichura, AS 241, relative accuracy 1e-16). */
double wsc_rng_normal(uint64_t seed, uint64_t stream, uint64_t i);
/** Standard normal truncated to [lo, hi], by inversion of the uniform between the two quantiles. */
double wsc_rng_truncated_normal(uint64_t seed, uint64_t stream, uint64_t i, double lo, double hi);
#endif
