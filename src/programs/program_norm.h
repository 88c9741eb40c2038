/** Norms, nonlinearities and rotary positions as steps of a script: operations on each token or
 *  each element separately. */
#ifndef WSC_PROGRAMS_NORM_H
#define WSC_PROGRAMS_NORM_H
#include "program_grid.h"
#include "program_vector_ops.h"

#include <wsc/zoo.h>

#include <stdbool.h>

/** A norm over all features of @p x, or over the features of each head, with a script for heads.
 *  Vectors are addresses on the PEs. stats has the mean and 1/sigma of each token, pitch words
 *  apart; with heads, for one head after the other. */
struct programs_norm {
    struct programs_tile x;
    int gain, bias;  /**< of a head, where the norm is by heads; bias: -1 for none */
    int stats, sums; /**< sums: two vectors of scratch, by heads two for each head of a PE */
    float eps;
    bool rms;      /**< Zhang and Sennrich 2019: no mean */
    bool by_heads; /**< Dehghani et al. 2023, arXiv 2302.05442 */
};
/** Append the steps of a norm: statistics of x (Ba, Kiros, Hinton 2016, eq. 3 and 4), then out =
 *  gain xhat + bias. @p tmp is a tile of scratch. */
void programs_norm_forward(struct programs_grid *g, struct programs_script *s,
                           const struct programs_norm *n, const struct programs_tile *out,
                           const struct programs_tile *tmp);
/** Append the steps that recompute out from kept statistics. */
void programs_norm_again(struct programs_grid *g, struct programs_script *s,
                         const struct programs_norm *n, const struct programs_tile *out);
/** Append the steps of the gradient: @p dres += gradient of x, from that of the output in @p dy,
 *  which is overwritten. With @p dres NULL, @p dy becomes the gradient of x. */
void programs_norm_backward(struct programs_grid *g, struct programs_script *s,
                            const struct programs_norm *n, const struct programs_tile *dy,
                            const struct programs_tile *dres, const struct programs_tile *tmp);
/** Append the steps of the gradients of gain and bias, sums over the samples of the script: vectors
 *  at @p dgain and @p dbias (-1: no bias). */
void programs_norm_gradients(struct programs_grid *g, struct programs_script *s,
                             const struct programs_norm *n, const struct programs_tile *dy,
                             const struct programs_tile *tmp, int dgain, int dbias);

/** Append elementwise steps: out = f(x), or out = dy f'(x). */
void programs_activate(struct programs_grid *g, struct programs_script *s, enum zoo_nonlinearity f,
                       const struct programs_tile *out, const struct programs_tile *x);
void programs_activate_backward(struct programs_grid *g, struct programs_script *s,
                                enum zoo_nonlinearity f, const struct programs_tile *out,
                                const struct programs_tile *x, const struct programs_tile *dy);
/** Rotate pairs of features (Su et al. 2021): slots 2 i and 2 i + 1 by the angle whose cosine and
 *  sine are in slot 2 i of the tables. @p back: rotate by the opposite angle, which is the
 * gradient.
 */
struct programs_rotary {
    struct programs_tile x, cosine, sine, tmp;
    bool back;
};
void programs_rotate(struct programs_script *s, const struct programs_rotary *r);
#endif
