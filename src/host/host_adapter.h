/** Low-rank adapters of linear layers: y += scale B A x beside the matrix's product, the gradients
 *  of A and B beside the matrix's.  host_linear() and host_sum_grads() call these, so that the
 *  parts of a block know nothing of adapters. */
#ifndef WSC_HOST_ADAPTER_H
#define WSC_HOST_ADAPTER_H
#include "host_gradient.h"
#include "host_state.h"

#include <stdint.h>

/** Rows of a product: the first one's number in the share, and who computes them. */
struct host_lines {
    int64_t row;
    int thread;
};
/** Columns of the buffers HOST_ADAPTER_X and HOST_ADAPTER_DY: the ranks of all adapters of a block.
 *  HOST_ADAPTER_DROPPED has the inputs of those with dropout. */
int64_t host_adapter_columns(const struct model *m);
int64_t host_adapter_dropped_columns(const struct model *m);
/** Largest rank, and widest input of an adapter with dropout; 0: none. */
int64_t host_adapter_rank(const struct model *m);
int64_t host_adapter_dropped_width(const struct model *m);
/** True when the matrix of @p kind of the stage at hand has an adapter. */
static inline bool host_has_adapter(const struct host *k, enum model_tensor_kind kind)
{
    return k->stage.view[MODEL_ADAPTER_A + (int)kind] >= 0;
}
/** Add what the adapter of @p kind makes of @p a to the result @p c of the matrix's product @p p: a
 *  linear layer, or with p->trans_b false the gradient of its input. */
void host_adapter_add(const struct host *k, const struct num_product *p, const void *a,
                      enum model_tensor_kind kind, const struct host_lines *at, float *c);
/** The gradients of the adapters of those of @p n gradients @p grad that have one, to @p out (two
 *  for each); returns their number. */
int host_adapter_grads(struct host *k, const struct host_grad *grad, int n, struct host_grad *out);
#endif
