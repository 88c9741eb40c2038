/** Cycles of low-rank adapters beside the matrices of a part, forward and backward; they are
 *  added to those of the part by cycles_parts.c. */
#ifndef WSC_CYCLES_ADAPTER_H
#define WSC_CYCLES_ADAPTER_H
#include <wsc/cycles.h>
#include <wsc/cycles_ops.h>

/** Add to @p c what the adapters of @p part cost: forward x A', its product with B' and the sum
 *  with the matrix's result. */
void cycles_adapters_forward(const struct cycles_layout *l, enum model_part part,
                             struct cycles_breakdown *c);
/** Backward: x A' again, dy B, its product with A and the sum with the matrix's gradient, and the
 *  gradients of A and B. */
void cycles_adapters_backward(const struct cycles_layout *l, enum model_part part,
                              struct cycles_breakdown *c);
#endif
