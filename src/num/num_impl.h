/** Declarations shared by the files of num and used by its tests: functions of the product library,
 *  and their replacements where the library has no product. <wsc/num.h> is the public interface. */
#ifndef WSC_NUM_IMPL_H
#define WSC_NUM_IMPL_H
#include <wsc/num.h>

/** Make the library use the calling thread alone, also in a thread that neither OpenMP nor
 *  num_init() has started: its number of threads is set for each host thread. */
void num_pin_library(void);
/** The product with both operands widened, for formats and processors for which the library has no
 *  16-bit product. */
void num_gemm_widened(enum num_format format, const struct num_product *p, const uint16_t *a,
                      const uint16_t *b, float *c);
/** A copy of a 16-bit operand (rows, cols at ld) as fp32, with row stride num_row_stride(cols); the
 *  caller frees it. */
float *num_widened(enum num_format format, const uint16_t *x, int64_t rows, int64_t cols,
                   int64_t ld);
/** Rows and columns of a tile that is transposed in registers. */
enum { NUM_TRANSPOSE_TILE = 16 };
/** Writes the transpose of a tile of 32-bit words; strides in bytes, addresses need not be
 *  aligned. */
typedef void (*num_transpose_fn)(char *out, int64_t ld_out, const char *in, int64_t ld);
/** Functions for AVX-512 and AVX2; NULL on a processor without these instructions. */
num_transpose_fn num_transpose_avx512(void);
num_transpose_fn num_transpose_avx2(void);
/** True on a processor with an instruction that rounds to bfloat16. */
bool num_has_narrow_bf16(void);
/** Round @p n numbers to bfloat16 with this instruction; num_has_narrow_bf16() must be true. */
void num_narrow_bf16(uint16_t *restrict out, const float *restrict in, int64_t n);
/** Check the strides, and compute products that are empty or have k = 0; false when nothing is left
 *  to do. */
bool num_product_prepare(const struct num_product *p, float *c);
#endif
