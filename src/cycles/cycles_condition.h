/** Cycles of a diffusion transformer beside the products of its blocks: the embedding of patches,
 *  time step and class, and the conditioning of norms and branches. cycles_parts.c adds them to its
 *  parts. docs/MODEL.md, "Diffusion transformers". */
#ifndef WSC_CYCLES_CONDITION_H
#define WSC_CYCLES_CONDITION_H
#include <wsc/cycles_ops.h>

/** Add the cycles of a diffusion model's input: noise on the latents, embeddings of patches, time
 *  step and class. */
void cycles_patches_forward(const struct cycles_layout *l, struct cycles_breakdown *c);
/** Add the cycles of the gradients of these embeddings; the latents need no gradient. */
void cycles_patches_backward(const struct cycles_layout *l, struct cycles_breakdown *c);
/** Cycles until the first row of the gradients of these embeddings leaves the wafer. */
double cycles_patches_first(const struct cycles_layout *l);

/** Is a tensor of this kind the first matrix of a module that is conditioned: a norm with scale and
 *  shift, or a gate? */
bool cycles_begins_condition(enum model_tensor_kind kind);
/** Add to @p c the cycles of the conditioning of @p part in the forward pass: products with one row
 *  per sequence, distribution of their vectors to the rows of the sequence's tokens, and scale and
 *  shift of a norm's output or the gate of a branch. Adds nothing for other models. */
void cycles_conditions_forward(const struct cycles_layout *l, enum model_part part,
                               struct cycles_breakdown *c);
/** Add to @p c the cycles of the conditioning of @p part in the backward pass: gradients of the
 *  scaled or gated values, sums over the tokens of a sequence, and both gradients of the products.
 */
void cycles_conditions_backward(const struct cycles_layout *l, enum model_part part,
                                struct cycles_breakdown *c);
#endif
