/** Weights of the stage at hand in the order in which products take them fastest
 *  (num_arrange()).  host.c calls before each part of a stage; host_linear() multiplies by them. */
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
 *  what the part before arranged is void. */
void host_arrange(struct host *k, enum model_part part, bool backward);
/** Arrange rows [first, first + n) of the matrix @p kind of a head for the products of its forward
 *  or backward pass, and note them in the stage; or note that there are none, where the head takes
 *  some rows of a leaf alone. */
void host_arrange_rows(struct host *k, enum model_tensor_kind kind, int64_t first, int64_t n,
                       bool backward);
/** Bytes of a row of the widest arranged input of a linear layer, for gradients of weights, and of
 *  a token in the transpose that a thread needs beside them; 0 for a format without them. */
int64_t host_arranged_row_bytes(const struct model *m);
int64_t host_turned_row_bytes(const struct model *m);
/** Rows of the arranged inputs of samples of @p T tokens, with padding; INT64_MAX for too many. */
int64_t host_arranged_rows(int64_t n_samples, int64_t T);
/** Before blocks of these gradients are computed: arrange the input of the linear layers among
 *  them, by leaves. */
void host_arrange_inputs(struct host *k, struct host_grad *grad, int n);
/** Rows [r0, r0 + n) of dy' x of leaf @p leaf with an arranged x; false where it has none. */
bool host_arranged_leaf(const struct host *k, const struct host_grad *g, int64_t leaf, int64_t r0,
                        int64_t n, float *dst, int thread);
#endif
