/** Sets of elements with one bit each: masks, and weights that train. A word has MEMORYX_WORD_BITS
 *  bits (memoryx_state.h). */
#ifndef WSC_MEMORYX_BITS_H
#define WSC_MEMORYX_BITS_H
#include "memoryx_state.h"

/* Set x[i] to +0.0 where bit i of @p bits is 0; @p n elements. */
void memoryx_bits_apply(const uint64_t *bits, int64_t n, float *x);
#endif
