/** Softmax of rows of attention scores, in fp32, forward (Milakov and Gimelshein 2018) and
 *  backward. A row arrives one tile of keys at a time. Rows have room up to a multiple of 16
 *  elements; elements after the end of a row are overwritten. Bits depend on the row and on the
 *  positions of the tiles alone. host_attention.c calls. */
#ifndef WSC_HOST_SOFTMAX_H
#define WSC_HOST_SOFTMAX_H
#include <stdint.h>

/** Operations on scores before the softmax. */
struct host_shape {
    float scale;
    float cap;   /**< c tanh(s/c); 0: none */
    float slope; /**< of ALiBi; 0: none */
};
/** Scale and cap the scores of a query with n keys, and subtract slope times distance; the distance
 *  of the first key is @p nearest. */
void host_softmax_shape(const struct host_shape *s, float *row, float nearest, int64_t n);
/** Largest score and sum of exponentials so far; -inf and 0 before the first tile. */
struct host_softmax {
    float max, sum;
};
/** Add one tile: the row becomes exp(scale row - max). The sum and @p out (d) of earlier tiles are
 *  rescaled to the new maximum. @p out is not read before the first tile with a visible key. */
void host_softmax_add(struct host_softmax *s, float *row, float scale, int64_t n, float *out,
                      int64_t d);
/** Statistics of a row of probabilities: maximum and 1/sum, from which the backward pass recomputes
 *  the probabilities, and the dot product of the row's output and its gradient, which equals sum_j
 *  p_j dp_j. */
struct host_softmax_stats {
    float max, inv_sum, dot;
};
/** Replace the scores before their scale @p row by the probabilities p, and their gradients @p drow
 *  by those of the scores before their scale, p (dp - dot) scale. */
void host_softmax_backward(const struct host_softmax_stats *s, float scale, float *row, float *drow,
                           int64_t n);
/** Derivatives of a soft cap @p cap at the n capped scores of @p row: 1 - (value/cap)^2. */
void host_softmax_cap_slopes(float cap, const float *row, float *slopes, int64_t n);
/** Gradient of the scores for a row after host_softmax_shape(); the derivative of c tanh(s/c) is 1
 *  - (value/c)^2. */
void host_softmax_shaped_backward(const struct host_softmax_stats *s,
                                  const struct host_shape *shape, float *row, float *drow,
                                  int64_t n);
#endif
