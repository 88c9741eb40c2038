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

/** Output of the norm before the FFN for a block's rows, computed in @p scratch if the FFN has a
 *  norm of its own. */
const void *host_ffn_normed(const struct host *k, const struct host_span *b, void *scratch,
                            bool again, int thread);
/** Propagate HOST_DXN through the norm: it is added to the stream's gradient or stored in
 *  HOST_DSIDE; without a norm it stays. */
void host_ffn_norm_backward(const struct host *k, const struct host_span *b);
/** Describe the gradients of that norm; returns their number, 0 or 2. */
int host_ffn_norm_grads(const struct host *k, struct host_grad out[2]);
/** The first linear layers of n rows, with biases, and their backward pass; @p at as in
 *  host_linear(). */
void host_ffn_linear(const struct host *k, const void *xn, int64_t n, int64_t expert,
                     const struct host_lines *at, float *pre);
void host_ffn_linear_back(const struct host *k, const void *dpre, int64_t n, int64_t expert,
                          const struct host_lines *at, float *dxn);
/** The nonlinearity of a block's rows as operands, with dropout. host_ffn_activate_backward():
 *  recomputes it and computes its gradient. @p b numbers the rows for dropout; the other pointers
 *  already point to the block. */
void host_ffn_activate(const struct host *k, const struct host_span *b, const float *pre, void *act,
                       int thread);
void host_ffn_activate_backward(const struct host *k, const struct host_span *b, const float *pre,
                                float *dact, void *act, void *dpre, int thread);
/** Describe the gradients of the norm after a branch; returns their number, 0 or 2. */
int host_branch_norm_grads(const struct host *k, const struct host_branch *branch,
                           struct host_grad out[2]);
#endif
