/** Cycles of low-rank adapters beside the matrices of a part, forward and backward; they are
 *  added to those of the part by cycles_parts.c. */
#ifndef WSC_CYCLES_ADAPTER_H
#define WSC_CYCLES_ADAPTER_H
#include <wsc/cycles.h>
#include <wsc/cycles_ops.h>

/** Add to @p c the forward cycles of the adapters of @p part: the product x A', its product with
 *  B', and the sum with the result of the matrix. */
void cycles_adapters_forward(const struct cycles_layout *l, enum model_part part,
                             struct cycles_breakdown *c);
/** Add to @p c the backward cycles of the adapters of @p part: x A' recomputed, dy B, the product
 *  of dy B with A, its sum with the input gradient of the matrix, and the gradients of A and B. */
void cycles_adapters_backward(const struct cycles_layout *l, enum model_part part,
                              struct cycles_breakdown *c);
#endif
