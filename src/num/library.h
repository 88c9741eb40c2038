/** The product library of <wsc/num.h>: oneDNN (library_onednn.c), or our own loops where it is
 *  not installed (library_plain.c).  The Makefile compiles one of them. */
#ifndef WSC_NUM_LIBRARY_H
#define WSC_NUM_LIBRARY_H
#include <wsc/num.h>

/** The fp32 product of what num_product_prepare() left to do, on the calling thread. */
void num_library_gemm(const struct num_product *p, const float *a, const float *b, float *c);
/** The product of bfloat16 operands with fp32 sums; false where the library, or this processor, has
 *  none, and then nothing is written. */
bool num_library_bf16(const struct num_product *p, const uint16_t *a, const uint16_t *b, float *c);
/** True where a product by rows of B is faster than by its columns. */
bool num_library_prefers_rows(void);
/** True where products read rows of operands as they lie, so that strides count (num_is_crowded()).
 */
bool num_library_minds_strides(void);
/** An arranged operand of bfloat16 has blocks of this many columns, padded to so many rows. */
enum { NUM_ARRANGED_COLS = 64, NUM_ARRANGED_ROWS = 32 };
/** True where the library has a kernel for bfloat16 products with B in the order of arranged.c. */
bool num_library_has_arranged(const struct num_product *p);
/** That product; false where there is none, and then nothing is written. */
bool num_library_bf16_arranged(const struct num_product *p, const uint16_t *a,
                               const uint16_t *arranged, float *c);
#endif
