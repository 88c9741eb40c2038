/** Cycles of a loss that the backward pass recomputes. The other cycles of losses are public
 *  (<wsc/cycles_ops.h>). */
#ifndef WSC_CYCLES_LOSSES_H
#define WSC_CYCLES_LOSSES_H
#include <wsc/cycles_ops.h>

/** Cycles to recompute the exponentials of @p logits recomputed logits per token of a PE; 0 for a
 *  loss without exponentials. */
double cycles_loss_again(const struct cycles_layout *l, enum model_loss_kind kind, double logits);
#endif
