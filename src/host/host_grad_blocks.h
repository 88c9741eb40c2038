/** How a gradient of weights is cut into blocks. The cuts depend on the model alone, never on the
 *  share, so that each product has the same shape everywhere. */
#ifndef WSC_HOST_GRAD_BLOCKS_H
#define WSC_HOST_GRAD_BLOCKS_H
#include <wsc/model.h>

#include <stdint.h>

/** Rows of the blocks of a gradient (rows, cols); 1 where it has none. */
int64_t host_grad_block_rows(int64_t rows, int64_t cols);
/** The most elements of any block of the model; INT64_MAX where they cannot be counted. */
int64_t host_grad_block_max(const struct model *model);
#endif
