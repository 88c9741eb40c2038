/** Operations that attention and feed-forward network, as parts of a block on the mesh, have in
 *  common: norms before them and after them, the sum with the residual stream, the nonlinearity of
 *  the filter. program_parts.c and program_experts.c call them. */
#ifndef WSC_PROGRAMS_BRANCH_H
#define WSC_PROGRAMS_BRANCH_H
#include "program_stage.h"

#include <wsc/err.h>

/** One operation on tiles of hidden features: to = a (code) b. */
enum wsc_err programs_on_hidden(struct programs_model *k, enum mesh_code code,
                                const struct programs_tile *to, struct programs_view a,
                                struct programs_view b);
/** to += what. */
enum wsc_err programs_add_to(struct programs_model *k, const struct programs_tile *to,
                             const struct programs_tile *what);
/** tile = 0. */
enum wsc_err programs_clear(struct programs_model *k, const struct programs_tile *tile);

/** The norm before attention, in the current layer. */
struct programs_stage_norm programs_norm1(struct programs_model *k);
/** The norm before the feed-forward network. In a parallel block without one, the network has the
 *  input of attention. */
struct programs_stage_norm programs_norm3(struct programs_model *k);
/** The tile for the output of a norm. The norm before attention has a tile of its own where the
 *  feed-forward network uses its output too. */
const struct programs_tile *programs_normed(struct programs_model *k);
/** The input of attention and of the feed-forward network: programs_normed(), or with norm_last,
 *  where no norm comes before them, the residual stream. */
const struct programs_tile *programs_attention_input(struct programs_model *k);
const struct programs_tile *programs_ffn_input(struct programs_model *k);

/** Attention or feed-forward network as a branch whose result is added to the residual stream. */
struct programs_branch {
    int number;
    enum model_tensor_kind weight, bias, norm;
    enum model_drop_place place;
};
extern const struct programs_branch programs_attention_branch, programs_ffn_branch;
/** True when norms follow a branch: the norm of its result in sandwich blocks, the norm of the sum
 *  with norm_last. */
bool programs_norms_after(const struct model *m);
/** The tile for the result of a branch: @p to, or the input of the norm after the branch. */
const struct programs_tile *programs_branch_output(struct programs_model *k,
                                                   const struct programs_branch *b,
                                                   const struct programs_tile *to);
/** to = residual + programs_branch_output() after dropout; in sandwich blocks the norm of the
 *  result comes before the sum, with norm_last the norm of the sum after it. */
enum wsc_err programs_end_branch(struct programs_model *k, const struct programs_branch *b,
                                 const struct programs_tile *to,
                                 const struct programs_tile *residual);
/** to = residual + the linear layer of @p in, with the steps of programs_end_branch(). */
enum wsc_err programs_add_branch(struct programs_model *k, const struct programs_branch *b,
                                 const struct programs_tile *in, const struct programs_tile *to,
                                 const struct programs_tile *residual);
/** Set *@p dy to the gradient of the branch's result: the gradient of the sum, propagated through
 *  the norm (in sandwich blocks) and through dropout. With norm_last the gradient in dres is first
 *  propagated through the norm, which gives the gradient of the sum. */
enum wsc_err programs_branch_gradient(struct programs_model *k, const struct programs_branch *b,
                                      const struct programs_tile **dy);
/** Compute the gradients of the weights of the branch's linear layer, whose input was @p in. */
enum wsc_err programs_branch_weights(struct programs_model *k, const struct programs_branch *b,
                                     const struct programs_tile *dy,
                                     const struct programs_tile *in);

/** First linear layers of a feed-forward network, with their biases: one product of @p x with the
 *  filter and the gate as outputs. */
enum wsc_err programs_filter(struct programs_model *k, const struct programs_tile *x);
/** dx from the gradients of filter and gate: one product that sums over its inputs. */
enum wsc_err programs_filter_back(struct programs_model *k, const struct programs_tile *dx);
/** Compute the gradients of the weights and biases of these layers. */
enum wsc_err programs_filter_gradients(struct programs_model *k, const struct programs_tile *x);
/** act = nonlinearity of the kept filter, times the filter if a gate goes through the nonlinearity,
 *  after dropout. The backward pass recomputes it for the weight gradient. */
enum wsc_err programs_activate_filter(struct programs_model *k);
/** Replace dact in dpre by the gradients of filter and gate, and recompute act. */
enum wsc_err programs_activate_filter_backward(struct programs_model *k);
/** Propagate dxn through the norm, if one is before the network, into the gradient of the residual
 *  stream. In a parallel block attention still needs the old gradient for its own branch, so the
 *  result is stored in dside. */
enum wsc_err programs_ffn_norm_backward(struct programs_model *k);
#endif
