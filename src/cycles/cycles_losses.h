/** Cycles of a loss that the backward pass recomputes. The other cycles of losses are public
 *  (<wsc/cycles_ops.h>). */
#ifndef WSC_CYCLES_LOSSES_H
#define WSC_CYCLES_LOSSES_H
#include <wsc/cycles_ops.h>

/** Exponentials of @p logits logits a PE that come again; 0 for a loss without any. */
double cycles_loss_again(const struct cycles_layout *l, enum model_loss_kind kind, double logits);
#endif
