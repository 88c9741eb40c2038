/** How a gradient of weights is cut into blocks. The cuts depend on the model alone, never on the
 *  share, so that each product has the same shape everywhere. */
#ifndef WSC_HOST_GRAD_BLOCKS_H
#define WSC_HOST_GRAD_BLOCKS_H
#include <wsc/model.h>

#include <stdint.h>

/** Number of rows of the blocks of a gradient (rows, cols), depending on its shape alone; 1 for an
 *  empty gradient. */
int64_t host_grad_block_rows(int64_t rows, int64_t cols);
/** Largest number of elements of a block of any gradient of the model; INT64_MAX if it
 *  overflows. */
int64_t host_grad_block_max(const struct model *model);
#endif
