/** Norms of queries and keys, head by head (model.attention_qk_norm_layer).
 *  The projections of host_block.c go through them after rotation, forward and back. */
#ifndef WSC_HOST_HEAD_NORM_H
#define WSC_HOST_HEAD_NORM_H
#include "host_gradient.h"
#include "host_state.h"

#include <wsc/model.h>

/** Store the rows (n, features) of queries or keys, the result of projection @p weight, as input of
 *  their norm, and normalise them in place. */
void host_head_norm_rows(struct host *k, const struct host_span *b, enum model_tensor_kind weight,
                         float *rows);
/** Compute the gradients of the projections in HOST_DQKV from those of normed queries and keys. */
void host_head_norm_rows_backward(struct host *k, const struct host_span *b, int thread);
/** Describe the gradients of gains and biases; returns their number. */
int host_head_norm_grads(const struct host *k, struct host_grad out[4]);
#endif
