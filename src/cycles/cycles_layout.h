/** Layouts of generation and of a planned micro-batch, and the live values of a PE in a block.
 *  Layouts of whole sequences are public (<wsc/cycles_ops.h>). */
#ifndef WSC_CYCLES_LAYOUT_H
#define WSC_CYCLES_LAYOUT_H
#include <wsc/cycles_ops.h>

/** Lay a step of generation on the wafer: @p tokens of each of @p n_texts texts. */
void cycles_layout_init_tokens(struct cycles_layout *l, const struct hw *hw,
                               const struct model *model, int lanes, int64_t n_texts,
                               const struct cycles_tokens *tokens);
/** Lay @p n_sequences sequences of a micro-batch of @p plan on the wafer, with weights of @p
 *  density (NULL: dense): the room is that of a whole micro-batch. */
void cycles_layout_init_plan(struct cycles_layout *l, const struct hw *hw,
                             const struct model *model, const struct cycles_plan *plan,
                             int64_t n_sequences, const struct model_density *density);

/** Let the tokens be those of stack @p stack of a model that has two; the room stays. */
void cycles_layout_stack(struct cycles_layout *l, int stack);

/** Let the matrices have the densities @p density, borrowed; NULL, or 1 throughout: all are dense,
 *  and nothing changes. */
void cycles_layout_sparse(struct cycles_layout *l, const struct model_density *density);
/** Number of vectors of 32-bit sums over its tokens that a PE stores in addition to live values:
 * one being computed and one being sent; with sparse weights the number of accumulators of the
 * machine.
 */
double cycles_sum_vectors(const struct cycles_layout *l);

/** Let the filter features pass in @p slices parts (0 and 1: at once), so that less of them is
 * live; the plan decides. */
void cycles_layout_slice(struct cycles_layout *l, int slices);

/** Live values per token of a PE at the two peaks of the backward pass of a block: feed-forward (h,
 *  p, act, d act, dy) and attention (x, q k v, a, da, dq dk dv, dy). Weight gradients are computed
 *  while act or d act is not live, which leaves memory for their sums. */
double cycles_live_ffn(const struct cycles_layout *l);
/** Values of a token that the norms of queries and keys take, of @p heads features of queries; 0
 *  without such norms. */
double cycles_normed_heads(const struct model *m, double heads);
double cycles_live_attention(const struct cycles_layout *l);
#endif
