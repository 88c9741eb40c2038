/** One weight gradient of a stage: host_grad.c sums it over the leaves of the share, host_squares.c
 * measures it leaf by leaf. */
#ifndef WSC_HOST_GRADIENT_H
#define WSC_HOST_GRADIENT_H
#include "host_state.h"

#include <wsc/model.h>

#include <stdbool.h>
#include <stdint.h>

/** The gradient of a tied table is computed in two parts: the head's first, then the
 *  embedding's. */
enum host_tied { HOST_UNTIED, HOST_TIED_HEAD, HOST_TIED_EMBED };
/** A gradient (rows, cols), or some rows of it, as the sum over leaves of what `leaf` computes. */
struct host_grad {
    enum model_tensor_kind kind;
    int64_t expert; /**< 0 without experts */
    int64_t first_row, rows, cols;
    const void *dy; /**< operands (N, rows) with row stride ld_dy, or fp32 (see leaf) */
    const void *x;  /**< operands (N, cols) */
    int64_t ld_dy, ld_x;
    const float *stats;           /**< of a norm */
    int64_t per_row;              /**< of a norm: its rows for each row of a leaf; 0: one */
    const struct host_span *span; /**< rows of each leaf in dy and x; NULL: those of the share */
    enum host_tied tied;          /**< part of a tied table */
    bool linear;                  /**< dy' x */
    bool arranged;                /**< x of large leaves is in HOST_ARRANGED_X */
    /** Write the gradient's rows [r0, r0 + n) of one leaf to @p dst (n, cols). */
    void (*leaf)(const struct host *k, const struct host_grad *g, const struct host_span *leaf,
                 int64_t r0, int64_t n, float *dst);
};
/** Rows of leaf @p leaf of the share in the operands of @p g. */
static inline const struct host_span *host_grad_span(const struct host *k,
                                                     const struct host_grad *g, int64_t leaf)
{
    return g->span ? &g->span[leaf] : &k->leaf[leaf];
}
#endif
