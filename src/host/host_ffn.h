/** Pieces of the FFN on some rows, of the only network (expert 0) or of an expert: host_block.c
 *  runs them on blocks of rows, host_experts.c on the rows of an expert. */
#ifndef WSC_HOST_FFN_H
#define WSC_HOST_FFN_H
#include "host_adapter.h"
#include "host_branch.h"
#include "host_gradient.h"
#include "host_state.h"

#include <stdbool.h>
#include <stdint.h>

/** Output of the norm before the FFN for a block's rows: into @p scratch, where it has one. */
const void *host_ffn_normed(const struct host *k, const struct host_span *b, void *scratch,
                            bool again, int thread);
/** What becomes of HOST_DXN: through the norm into the stream, or beside it, or it stays. */
void host_ffn_norm_backward(const struct host *k, const struct host_span *b);
/** Gradients of that norm; returns how many, 0 or 2. */
int host_ffn_norm_grads(const struct host *k, struct host_grad out[2]);
/** The first linear layers of n rows, with biases, and backward; @p at as in host_linear(). */
void host_ffn_linear(const struct host *k, const void *xn, int64_t n, int64_t expert,
                     const struct host_lines *at, float *pre);
void host_ffn_linear_back(const struct host *k, const void *dpre, int64_t n, int64_t expert,
                          const struct host_lines *at, float *dxn);
/** The nonlinearity of n rows as operands; the same again with the gradient. */
void host_ffn_activate(const struct host *k, const float *pre, int64_t n, void *act, int thread);
void host_ffn_activate_backward(const struct host *k, const float *pre, const float *dact,
                                int64_t n, void *act, void *dpre, int thread);
/** Gradients of the norm after a branch; returns how many, 0 or 2. */
int host_branch_norm_grads(const struct host *k, const struct host_branch *branch,
                           struct host_grad out[2]);
#endif
