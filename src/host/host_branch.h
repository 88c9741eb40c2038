/** What attention and FFN add to the residual stream: dropout, a norm after the branch where the
 *  model has one, the sum. Forward and backward of each branch end here, block of rows by block. */
#ifndef WSC_HOST_BRANCH_H
#define WSC_HOST_BRANCH_H
#include "host_state.h"

#include <wsc/model.h>

#include <stdbool.h>
#include <stdint.h>

/** A branch: after its last linear layer dropout, then a norm, then the sum with the stream; or the
 *  norm after the sum. */
struct host_branch {
    enum model_drop_place place;
    enum model_tensor_kind norm;
    enum host_buffer kept; /**< input of the norm */
    int slot;              /**< of the norm's statistics */
};
extern const struct host_branch host_attn_branch, host_cross_branch, host_ffn_branch;
/** Neither dropout nor norm: the last product adds to the stream itself. */
bool host_plain_branch(const struct host *k);
/** Where the last product of a branch that is not plain puts a block's rows. */
float *host_branch_out(const struct host *k, const struct host_branch *branch,
                       const struct host_span *b, int thread);
/** The stream after = the stream before + the branch, from the rows @p out (n, C) of that product
 *  without its bias. */
void host_add_branch(const struct host *k, const struct host_branch *branch,
                     const struct host_span *b, float *out, const float *bias, int thread);
/** Gradient of the last product's rows as operands, from HOST_DRES. */
const void *host_branch_gradient(const struct host *k, const struct host_branch *branch,
                                 const struct host_span *b, int thread);
/** The buffer that it is in, (N, C). */
const void *host_branch_gradients(const struct host *k);
/** Input of the norm after a branch, all rows of the layer at hand. */
float *host_branch_kept(const struct host *k, const struct host_branch *branch);
/** Multiply n values by 0 or 1/(1 - rate of the place): those of row @p row (of the share) from
 *  @p first on.  Nothing without training. */
void host_drop(const struct host *k, enum model_drop_place place, int64_t row, int64_t first,
               float *x, int64_t n, int thread);
#endif
