/** Weights of the current stage in the order in which products read them fastest (num_arrange()).
 *  host.c calls before each part of a stage; host_linear() multiplies by them. */
#ifndef WSC_HOST_ARRANGED_H
#define WSC_HOST_ARRANGED_H
#include "host_gradient.h"
#include "host_state.h"

#include <wsc/model.h>

#include <stdbool.h>
#include <stdint.h>

/** Bytes of the arranged matrices of the largest part of a stage, or of @p vocab_block rows of a
 *  head's matrix; 0 for a format without them. */
int64_t host_arranged_bytes(const struct model *m, int64_t vocab_block);
/** Arrange the matrices of @p part for its forward or backward pass over the rows of the share;
 *  matrices of the last arranged part become invalid. */
void host_arrange(struct host *k, enum model_part part, bool backward);
/** Arrange rows [first, first + n) of the matrix @p kind of a head for the products of its forward
 *  or backward pass, and note them in the stage; or note that there are none, if the head takes
 *  only some rows of a leaf. */
void host_arrange_rows(struct host *k, enum model_tensor_kind kind, int64_t first, int64_t n,
                       bool backward);
/** Bytes of a row of the widest arranged input of a linear layer, for weight gradients;
 *  host_transposed_row_bytes(): bytes of a token in the transposed dy that a thread needs in
 * addition. 0 for a format without them. */
int64_t host_arranged_row_bytes(const struct model *m);
int64_t host_transposed_row_bytes(const struct model *m);
/** Rows of the arranged inputs of samples of @p T tokens, with padding; INT64_MAX for too many. */
int64_t host_arranged_rows(int64_t n_samples, int64_t T);
/** Arrange the input of the linear layers among these gradients, by leaves, before their blocks are
 *  computed. */
void host_arrange_inputs(struct host *k, struct host_grad *grad, int n);
/** Compute rows [r0, r0 + n) of dy' x of leaf @p leaf with an arranged x; false if the leaf has
 *  none. */
bool host_arranged_leaf(const struct host *k, const struct host_grad *g, int64_t leaf, int64_t r0,
                        int64_t n, float *dst, int thread);
#endif
