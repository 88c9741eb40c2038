/** The end of a branch, attention or FFN: dropout, a norm of the branch where the model has one,
 *  and the sum with the residual stream. Forward and backward pass of each branch go through these
 *  functions, one block of rows at a time. */
#ifndef WSC_HOST_BRANCH_H
#define WSC_HOST_BRANCH_H
#include "host_state.h"

#include <wsc/model.h>

#include <stdbool.h>
#include <stdint.h>

/** The end of a branch: dropout after its last linear layer, then a norm and the sum with the
 *  stream, or the sum and then the norm. */
struct host_branch {
    enum model_drop_place place;
    enum model_tensor_kind norm;
    enum host_buffer kept; /**< input of the norm */
    int slot;              /**< of the norm's statistics */
};
extern const struct host_branch host_attn_branch, host_cross_branch, host_ffn_branch;
/** True for branches without dropout and norm: the last product itself adds to the stream. */
bool host_plain_branch(const struct host *k);
/** Address for a block's rows of the last product of a branch that is not plain. */
float *host_branch_out(const struct host *k, const struct host_branch *branch,
                       const struct host_span *b, int thread);
/** Compute stream after = stream before + branch, from the rows @p out (n, C) of the last product,
 *  to which the bias is still to be added. */
void host_add_branch(const struct host *k, const struct host_branch *branch,
                     const struct host_span *b, float *out, const float *bias, int thread);
/** Gradient of a block's rows of the last product, as operands, from HOST_DRES. */
const void *host_branch_gradient(const struct host *k, const struct host_branch *branch,
                                 const struct host_span *b, int thread);
/** The buffer (N, C) of these gradients. */
const void *host_branch_gradients(const struct host *k);
/** Input of the norm after a branch, for all rows of the current layer. */
float *host_branch_kept(const struct host *k, const struct host_branch *branch);
/** Multiply n values by 0 or 1/(1 - rate of the place): those of row @p row (of the share),
 *  beginning with element @p first. Does nothing outside training. */
void host_drop(const struct host *k, enum model_drop_place place, int64_t row, int64_t first,
               float *x, int64_t n, int thread);
#endif
