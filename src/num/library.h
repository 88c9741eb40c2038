/** The product library of <wsc/num.h>: oneDNN (library_onednn.c), or our own loops where it is
 *  not installed (library_plain.c).  The Makefile compiles one of them. */
#ifndef WSC_NUM_LIBRARY_H
#define WSC_NUM_LIBRARY_H
#include <wsc/num.h>

/** The fp32 product, after num_product_prepare() returned true, on the calling thread. */
void num_library_gemm(const struct num_product *p, const float *a, const float *b, float *c);
/** The product of bfloat16 operands with fp32 sums; false, without writing, where the library or
 *  this processor has none. */
bool num_library_bf16(const struct num_product *p, const uint16_t *a, const uint16_t *b, float *c);
/** True when a product by rows of B is faster than by columns of B. */
bool num_library_prefers_rows(void);
/** True when products read operands without packing them, so that row strides matter
 *  (num_is_crowded()). */
bool num_library_minds_strides(void);
/** An arranged bfloat16 operand has blocks of this many columns; its rows are padded to a multiple
 *  of NUM_ARRANGED_ROWS. */
enum { NUM_ARRANGED_COLS = 64, NUM_ARRANGED_ROWS = 32 };
/** True where the library has a kernel for bfloat16 products with B in the order of arranged.c. */
bool num_library_has_arranged(const struct num_product *p);
/** The product with an arranged B; false, without writing, where the library has none. */
bool num_library_bf16_arranged(const struct num_product *p, const uint16_t *a,
                               const uint16_t *arranged, float *c);
#endif
