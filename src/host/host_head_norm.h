/** Norms of queries and keys, head by head (model.attention_qk_norm_layer).
 *  The projections of host_block.c go through them after rotation, forward and back. */
#ifndef WSC_HOST_HEAD_NORM_H
#define WSC_HOST_HEAD_NORM_H
#include "host_gradient.h"
#include "host_state.h"

#include <wsc/model.h>

/** Keep the rows (n, features) of queries or keys, those of projection @p weight, and norm them in
 *  place. */
void host_head_norm_rows(struct host *k, const struct host_span *b, enum model_tensor_kind weight,
                         float *rows);
/** From the gradients of normed queries and keys to those of the projections, in HOST_DQKV. */
void host_head_norm_rows_backward(struct host *k, const struct host_span *b, int thread);
/** The gradients of gains and biases; returns how many. */
int host_head_norm_grads(const struct host *k, struct host_grad out[4]);
#endif
