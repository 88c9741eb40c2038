/** Random numbers as functions of (seed, use, index).
 *
 *  There is no state: element i of a stream is equal on any rank and in any order of calls. Initial
 *  weights, dropout, sample order, jitter and faults are therefore independent of the number of
 *  systems and ranks. The generator is Philox 4x32-10 (Salmon et al., SC'11, "Parallel random
 *  numbers: as easy as 1, 2, 3"): key = the seed, counter = (index, stream). Quality and speed are
 *  those of the paper; nothing here is cryptographic.
 *
 *      const uint64_t stream = wsc_rng_stream(WSC_RNG_INIT, tensor);
 *      weight[i] = (float)(0.02 * wsc_rng_normal(seed, stream, (uint64_t)i)); */
#ifndef WSC_RNG_H
#define WSC_RNG_H
#include <stdint.h>

/** Streams, so that no two uses of one seed share numbers.  A use that has several (tensors,
 *  epochs) adds its own index in the lower bits with wsc_rng_stream().  The numbers take part in
 *  all results: they never change, and a new use goes to the end. */
enum wsc_rng_use {
    WSC_RNG_INIT = 1, /**< initial weights; index within: tensor */
    WSC_RNG_SHUFFLE,  /**< sample order; index within: epoch */
    WSC_RNG_SAMPLE,   /**< generated tokens; index within: prompt */
    WSC_RNG_JITTER,   /**< virtual-time noise; index within: role */
    WSC_RNG_TEST,     /**< test inputs */
    WSC_RNG_DROPOUT,  /**< what is dropped in training; index within: sample, layer, place */
    WSC_RNG_FAULT,    /**< when faults begin; index within: fault and place */
    WSC_RNG_LOSS,     /**< lost packets; index within: link */
    WSC_RNG_MASK,     /**< masks of sparse weights; index within: tensor, update */
    WSC_RNG_CLOZE,    /**< tokens that a masked language model predicts; index within: sample */
    WSC_RNG_ADAPTER,  /**< dropout of adapters; index within: sample, layer, kind of the matrix */
    WSC_RNG_SPANS,    /**< spans that are left out of a sample; index within: sample */
    WSC_RNG_NEXT      /**< pairs of sentences; index within: document */
};

/** The stream number of @p use with its own @p index, below 2^56: the use in the upper 8 bits. */
static inline uint64_t wsc_rng_stream(enum wsc_rng_use use, uint64_t index)
{
    return (uint64_t)use << 56 | (index & 0xffffffffffffffULL);
}
/** 64 uniform bits: element @p i of @p stream under @p seed. */
uint64_t wsc_rng_u64(uint64_t seed, uint64_t stream, uint64_t i);
/** The low 32 bits of elements [first, first + n) of @p stream: element j of @p out is
 *  (uint32_t)wsc_rng_u64(seed, stream, first + j).  For dropout masks, which need many. */
void wsc_rng_words(uint32_t *out, uint64_t seed, uint64_t stream, uint64_t first, int64_t n);
/** Uniform in the open interval (0, 1): (k + 1/2) / 2^53 with 53 bits k, so neither end ever comes
 *  and a logarithm of it is finite. */
double wsc_rng_uniform(uint64_t seed, uint64_t stream, uint64_t i);
/** Quantile of the standard normal distribution at @p p, 0 < p < 1 (Wichura 1988, AS 241 PPND16).
 */
double wsc_rng_quantile(double p);
/** Standard normal, by inversion of wsc_rng_uniform() (Wichura 1988, AS 241 PPND16, relative
 *  accuracy 1e-16): one element for one number, so streams stay aligned. */
double wsc_rng_normal(uint64_t seed, uint64_t stream, uint64_t i);
/** Standard normal truncated to [@p lo, @p hi], lo <= hi, in standard deviations: inversion of the
 *  uniform between the two quantiles, so each number costs one element and none is rejected. */
double wsc_rng_truncated_normal(uint64_t seed, uint64_t stream, uint64_t i, double lo, double hi);
/** Elements [first, first + n) of @p stream: @p out[j] has the bits of
 *  wsc_rng_uniform(seed, stream, first + j). */
void wsc_rng_uniforms(double *out, uint64_t seed, uint64_t stream, uint64_t first, int64_t n);
/** Normal numbers, with the bits of wsc_rng_normal(), twice as fast as one by one. */
void wsc_rng_normals(double *out, uint64_t seed, uint64_t stream, uint64_t first, int64_t n);
/** Truncated ones, with the bits of wsc_rng_truncated_normal(), five times as fast. */
void wsc_rng_truncated_normals(double *out, uint64_t seed, uint64_t stream, uint64_t first,
                               int64_t n, double lo, double hi);
#endif
