/** Operands of products in the model's format: rounding to it, widening to fp32, the product
 *  itself, and the shapes of linear layers. */
#ifndef WSC_HOST_OPERANDS_H
#define WSC_HOST_OPERANDS_H
#include "host_state.h"

#include <wsc/num.h>

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/** Convert fp32 values to operands of a 16-bit format. */
static inline void host_narrow(const struct host *k, void *operands, const float *x, int64_t n)
{
    num_narrow(k->model->format, operands, x, n);
}
/** Convert one row to operands of the model's format. */
static inline void host_to_operands(const struct host *k, void *operands, const float *x, int64_t n)
{
    if (k->fp32)
        memcpy(operands, x, (size_t)n * sizeof *x);
    else
        host_narrow(k, operands, x, n);
}
/** Operands as fp32: themselves, or widened into scratch. */
static inline const float *host_widened(const struct host *k, const void *operands, float *scratch,
                                        int64_t n)
{
    if (k->fp32) return operands;
    num_widen(k->model->format, scratch, operands, n);
    return scratch;
}
/** Matrix product of operands in the model's format. */
static inline void host_product(const struct host *k, const struct num_product *p, const void *a,
                                const void *b, float *c)
{
    if (k->cached)
        num_gemm_rows(k->model->format, p, a, b, c);
    else if (k->fp32)
        num_gemm(p, a, b, c);
    else
        num_gemm_16(k->model->format, p, a, b, c);
}
/** c (n, out) = x (n, in) w^T: a linear layer with weights (out, in). */
static inline struct num_product host_linear_shape(int64_t n, int64_t in, int64_t out)
{
    return (struct num_product){
        .trans_b = true, .m = n, .n = out, .k = in, .lda = in, .ldb = in, .ldc = out};
}
/** dx (n, in) = dy (n, out) w: the gradient of a linear layer's input. */
static inline struct num_product host_linear_back_shape(int64_t n, int64_t in, int64_t out)
{
    return (struct num_product){.m = n, .n = in, .k = out, .lda = out, .ldb = in, .ldc = in};
}
#endif
