/** Layouts of generation and of a planned micro-batch, and the live values of a PE in a block.
 *  Layouts of whole sequences are public (<wsc/cycles_ops.h>). */
#ifndef WSC_CYCLES_LAYOUT_H
#define WSC_CYCLES_LAYOUT_H
#include <wsc/cycles_ops.h>

/** Distribute a step of generation over the wafer: @p tokens tokens of each of @p n_texts texts. */
void cycles_layout_init_tokens(struct cycles_layout *l, const struct hw *hw,
                               const struct model *model, int lanes, int64_t n_texts,
                               const struct cycles_tokens *tokens);
/** Distribute @p n_sequences sequences over the wafer, with weights of @p density (NULL: dense).
 *  The room is that of a whole micro-batch of @p plan, even if @p n_sequences is less. */
void cycles_layout_init_plan(struct cycles_layout *l, const struct hw *hw,
                             const struct model *model, const struct cycles_plan *plan,
                             int64_t n_sequences, const struct model_density *density);

/** Set the tokens to those of stack @p stack of a model with two stacks; the room does not
 *  change. */
void cycles_layout_stack(struct cycles_layout *l, int stack);

/** Set the densities of the matrices, borrowed. NULL, or 1 for all matrices: dense weights. */
void cycles_layout_sparse(struct cycles_layout *l, const struct model_density *density);
/** Number of vectors of 32-bit sums over its tokens that a PE stores in addition to live values:
 * one being computed and one being sent; with sparse weights the number of accumulators of the
 * machine.
 */
double cycles_sum_vectors(const struct cycles_layout *l);

/** Process the filter features in @p slices parts, one after the other (0 and 1: in one), so that
 *  fewer of them are live at a time. */
void cycles_layout_slice(struct cycles_layout *l, int slices);

/** Keys to which the tokens of a sequence attend under a causal mask, summed over the tokens: those
 *  in the window, the sinks before it, cached ones included; mean over the layers. */
double cycles_keys_seen(const struct cycles_layout *l);

/** Live values per token of a PE at the two peaks of the backward pass of a block: feed-forward (h,
 *  p, act, d act, dy) and attention (x, q k v, a, da, dq dk dv, dy). Weight gradients are computed
 *  while act or d act is not live, which leaves memory for their sums. */
double cycles_live_ffn(const struct cycles_layout *l);
/** Values of a token that the norms of queries and keys take, of @p heads features of queries; 0
 *  without such norms. */
double cycles_normed_heads(const struct model *m, double heads);
double cycles_live_attention(const struct cycles_layout *l);
#endif
