/** Low-rank adapters of linear layers: y += scale B A x in addition to the product of the matrix,
 *  with the gradients of A and B. host_linear() and host_sum_grads() call these functions, so the
 *  code of a block's parts does not mention adapters. */
#ifndef WSC_HOST_ADAPTER_H
#define WSC_HOST_ADAPTER_H
#include "host_gradient.h"
#include "host_state.h"

#include <stdint.h>

/** Rows of a product: the index of the first one in the share, and the thread that computes
 *  them. */
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
/** True when the matrix of @p kind of the current stage has an adapter. */
static inline bool host_has_adapter(const struct host *k, enum model_tensor_kind kind)
{
    return k->stage.view[MODEL_ADAPTER_A + (int)kind] >= 0;
}
/** Add the adapter of @p kind, applied to @p a, to the result @p c of the matrix's product @p p: a
 *  linear layer or, with p->trans_b false, the gradient of its input. */
void host_adapter_add(const struct host *k, const struct num_product *p, const void *a,
                      enum model_tensor_kind kind, const struct host_lines *at, float *c);
/** The r narrow features of each row, as operands (m, r) of a thread: s A applied to @p a or, with
 *  p->trans_b false, s B' applied to dy. */
const void *host_adapter_narrow(const struct host *k, const struct num_product *p, const void *a,
                                enum model_tensor_kind kind, int thread);
/** Copy the rows of @p low (n, r) to the adapter's columns of HOST_ADAPTER_X or HOST_ADAPTER_DY.
 *  host_adapter_column(): address of these columns. */
void host_adapter_store(const struct host *k, enum host_buffer to, enum model_tensor_kind kind,
                        const struct host_span *b, const void *low);
void *host_adapter_column(const struct host *k, enum host_buffer of, enum model_tensor_kind kind);

/** A block of columns of the output layer: its first column, their number, the number of all
 *  columns. */
struct host_columns {
    int64_t first, n, all;
};
/** Add the output layer's adapter to logits @p out (b->n, c->n) of the input @p xn. */
void host_adapter_logits(const struct host *k, const struct host_span *b,
                         const struct host_columns *c, const void *xn, float *out, int thread);
/** Backward pass of a block of columns, called in their order: stores what the gradients of the
 *  adapter need; with the last block, adds the adapter's part of the input's gradient to HOST_DXN.
 *  @p dlogits: operands (b->n, c->n). */
void host_adapter_logits_backward(const struct host *k, const struct host_span *b,
                                  const struct host_columns *c, const void *dlogits, int thread);
/** Describe in @p out the gradients of the block's rows of B and, with the last block, of A, in
 *  addition to the matrix's gradient @p g. Returns their number, 0 without an adapter. */
int host_adapter_logits_grads(const struct host *k, const struct host_columns *c,
                              const struct host_grad *g, struct host_grad out[2]);
/** Describe in @p out the gradients of the adapters of the matrices whose gradients are @p grad,
 *  two for each adapter. Returns their number. */
int host_adapter_grads(struct host *k, const struct host_grad *grad, int n, struct host_grad *out);
#endif
