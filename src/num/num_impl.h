/** Parts of the matrix product that its files share (gemm.c, gemm_16.c, rows.c): the thread of the
 *  library, operands of 16 bits widened, checks.  Unit tests compare the variants with each other.
 */
#ifndef WSC_NUM_IMPL_H
#define WSC_NUM_IMPL_H
#include <wsc/num.h>

/** The library's products must run on the calling thread, also when that thread was not started
 *  by OpenMP or num_init: its thread count is one per host thread. */
void num_pin_library(void);
/** The product by widening both operands: for formats, and on processors, for which the library
 *  has no product of 16-bit operands. */
void num_gemm_widened(enum num_format format, const struct num_product *p, const uint16_t *a,
                      const uint16_t *b, float *c);
/** A 16-bit operand (rows, cols at ld) as dense fp32; the caller frees it. */
float *num_widened(enum num_format format, const uint16_t *x, int64_t rows, int64_t cols,
                   int64_t ld);
/** Settle k = 0 and empty results, check the strides; false when nothing is left to do. */
bool num_product_prepare(const struct num_product *p, float *c);
#endif
