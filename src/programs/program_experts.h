/** A mixture of experts on the mesh in place of one feed-forward network: the networks that the
 *  router (program_router.h) chooses for each token, at their places.  program_parts.c calls it. */
#ifndef WSC_PROGRAMS_EXPERTS_H
#define WSC_PROGRAMS_EXPERTS_H
#include "program_state.h"

#include <wsc/err.h>

/** Run the router and the first linear layers; the norm before them has been computed. */
enum wsc_err programs_experts_ffn0(struct programs_model *k);
/** to = residual + the weighted sum of a token's networks. */
enum wsc_err programs_experts_ffn1(struct programs_model *k, const struct programs_tile *to,
                                   const struct programs_tile *residual);
/** Compute the gradients of the second linear layers, of the weights of places and of the filter
 *  from @p dy, the gradient of the sum. */
enum wsc_err programs_experts_ffn1_backward(struct programs_model *k,
                                            const struct programs_tile *dy);
/** Compute the gradients of the first linear layers and of the router. @p dx becomes the gradient
 *  of the networks' input, which is recomputed. */
enum wsc_err programs_experts_ffn0_backward(struct programs_model *k,
                                            const struct programs_tile *dx);
#endif
