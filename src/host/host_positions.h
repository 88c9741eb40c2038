/** Positions of tokens: the table of angles or sinusoids (HOST_TABLE), rotation of heads by it,
 *  and the slopes of ALiBi. */
#ifndef WSC_HOST_POSITIONS_H
#define WSC_HOST_POSITIONS_H
#include "host_state.h"

#include <wsc/model.h>

#include <stdbool.h>
#include <stdint.h>

/** Fill HOST_TABLE. */
void host_positions(struct host *k);
/** Turn every head of the rows (n, cols) of a block by its position, or back. */
void host_rotate(const struct host *k, const struct host_span *b, float *rows, int64_t cols,
                 bool back);
/** Slope of ALiBi of query head @p h. */
float host_slope(const struct model *m, int64_t h);
/** Position of row @p row of the share in its text. */
static inline int64_t host_position(const struct host *k, int64_t row)
{
    return k->batch->position_ids ? k->batch->position_ids[row] : row % k->model->T;
}
#endif
