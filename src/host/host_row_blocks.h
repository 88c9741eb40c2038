/** Operations on blocks of rows (tokens) with the tensors of the current stage: norms, biases,
 *  operands. A block belongs to one thread; host_norm.c has the arithmetic of one row. */
#ifndef WSC_HOST_ROW_BLOCKS_H
#define WSC_HOST_ROW_BLOCKS_H
#include "host_state.h"

#include <wsc/model.h>

#include <stdbool.h>
#include <stdint.h>

/** Run @p rows for every block of rows. */
void host_each_block(struct host *k,
                     void (*rows)(struct host *k, const struct host_span *b, int thread));
/** Run @p rows for each of @p n blocks of rows. */
void host_each_of(struct host *k, const struct host_span *block, int64_t n,
                  void (*rows)(struct host *k, const struct host_span *b, int thread));
/** Statistics of a norm's rows, then its output as operands. */
void host_norm_forward(const struct host *k, const struct host_span *b,
                       enum model_tensor_kind weight, const float *x, float *stats, void *out,
                       int thread);
/** Recompute the output of a norm from saved statistics. */
void host_norm_again(const struct host *k, const struct host_span *b, enum model_tensor_kind weight,
                     const float *x, const float *stats, void *out, int thread);
/** Compute the gradient of a norm's input from HOST_DXN; it is added to @p dx (N, C), or written if
 *  @p first. */
void host_norm_backward(const struct host *k, const struct host_span *b,
                        enum model_tensor_kind weight, const float *x, const float *stats,
                        float *dx, bool first);
/** Compute the gradient @p dx (C) of one row of a norm's input from that of its output; overwrites
 *  dx. */
void host_norm_row_backward(const struct host *k, enum model_tensor_kind weight, float *dx,
                            const float *dy, const float *x, const float *stats);
/** Statistics and fp32 output of one row of a norm. */
void host_norm_row(const struct host *k, enum model_tensor_kind weight, float *out, const float *x,
                   float *stats);
/** out (n, cols at ld_out) = in (n, cols) + bias, as operands; overwrites @p in. */
void host_store_linear(const struct host *k, const struct host_span *b, float *in, int64_t cols,
                       const float *bias, void *out, int64_t ld_out);
/** HOST_DRES of a block as operands. */
const void *host_dres_operands(const struct host *k, const struct host_span *b);
#endif
