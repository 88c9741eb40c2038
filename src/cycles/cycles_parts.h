/** Cycles of the parts of a stage (embedding, q k v, attention, feed-forward, head) and of stages:
 *  which operations each one has, by the model's features. */
#ifndef WSC_CYCLES_PARTS_H
#define WSC_CYCLES_PARTS_H
#include <wsc/cycles_ops.h>

/** What the backward pass of a block recomputes: one row for each choice of kept values. */
struct cycles_keep_row {
    bool qkv, attention, output, ffn0;
    bool branch;  /**< in models with gates also the last product */
    bool gated;   /**< a choice only for models with gates */
    bool by_part; /**< needs no weights of another part, so it works where each part is a stage */
};
extern const struct cycles_keep_row cycles_keep_rows[CYCLES_N_KEEPS];

/** Cycles that the backward pass of @p part spends on recomputation, given the kept values @p
 *  keep. */
double cycles_part_again(const struct cycles_layout *l, enum model_part part,
                         enum cycles_keep keep);
/** Cycles from the start of the backward pass of @p part to the first row of its gradients,
 *  recomputation included. */
double cycles_part_first_gradient(const struct cycles_layout *l, enum model_part part,
                                  enum cycles_keep keep);
/** Cycles of a stage: the sum of its parts, times the factor on all kernels of the machine file. */
struct cycles_breakdown cycles_layout_stage(const struct cycles_layout *l,
                                            const struct model_stage *stage, enum cycles_keep keep,
                                            bool backward);
/** Sum of the four kinds of cycles. */
double cycles_total(const struct cycles_breakdown *c);
#endif
