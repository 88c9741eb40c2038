/** Weight gradients of linear layers, biases and norms. The backward part of a stage lists them;
 *  host_sum_grads() adds each over the leaves of the share along the canonical tree. */
#ifndef WSC_HOST_GRAD_H
#define WSC_HOST_GRAD_H
#include "host_gradient.h"
#include "host_state.h"

#include <wsc/model.h>

#include <stdint.h>

/** Sum every gradient of the list whose tensor is in the stage over the canonical nodes of the
 *  share. */
void host_sum_grads(struct host *k, const struct host_grad *grad, int n);
/** Describe a gradient dy^T x. */
struct host_grad host_linear_grad(enum model_tensor_kind kind, int64_t rows, int64_t cols,
                                  const void *dy, int64_t ld_dy, const void *x);
/** Describe a gradient of column sums of operands. */
struct host_grad host_bias_grad(enum model_tensor_kind kind, int64_t n, const void *dy,
                                int64_t ld_dy);
/** Describe the gradients of weights and of a bias over the rows of an expert, in the order of
 *  HOST_ORDER. */
struct host_grad host_expert_linear_grad(enum model_tensor_kind kind, int64_t expert, int64_t rows,
                                         int64_t cols, const void *dy, int64_t ld_dy,
                                         const void *x);
struct host_grad host_expert_bias_grad(enum model_tensor_kind kind, int64_t expert, int64_t n,
                                       const void *dy, int64_t ld_dy);
/** Describe both gradients of a norm, from the gradient @p dy (N, C) of its output. */
void host_norm_grads(const struct host *k, struct host_grad out[2], enum model_tensor_kind weight,
                     const float *dy, const float *x, const float *stats);
#endif
