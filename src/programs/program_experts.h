/** A mixture of experts on the mesh in place of one feed-forward network: the networks that the
 *  router (program_router.h) chooses for each token, at their places.  program_parts.c calls it. */
#ifndef WSC_PROGRAMS_EXPERTS_H
#define WSC_PROGRAMS_EXPERTS_H
#include "program_state.h"

#include <wsc/err.h>

/** Routing and first linear layers; the norm before them has run. */
enum wsc_err programs_experts_ffn0(struct programs_model *k);
/** to = residual + the weighted sum of a token's networks. */
enum wsc_err programs_experts_ffn1(struct programs_model *k, const struct programs_tile *to,
                                   const struct programs_tile *residual);
/** Gradients of second linear layers, weights of places and filter, from @p dy, that of the sum. */
enum wsc_err programs_experts_ffn1_backward(struct programs_model *k,
                                            const struct programs_tile *dy);
/** Gradients of first linear layers and router; *@p dx: that of what the networks take, which is
 *  there again. */
enum wsc_err programs_experts_ffn0_backward(struct programs_model *k,
                                            const struct programs_tile *dx);
#endif
