/** Positions of tokens: the table of angles or sinusoids (HOST_TABLE), which is filled once, and
 *  the rotation of heads by it, forward and backward. host_block.c, host_attention.c and
 *  host_head_norm.c rotate. */
#ifndef WSC_HOST_POSITIONS_H
#define WSC_HOST_POSITIONS_H
#include "host_state.h"

#include <wsc/model.h>

#include <stdbool.h>
#include <stdint.h>

/** Fill HOST_TABLE with rotary angles or sines. */
void host_positions(struct host *k);
/** Rotate every head of the rows (n, cols) of a block by its position, or back with @p back. */
void host_rotate(const struct host *k, const struct host_span *b, float *rows, int64_t cols,
                 bool back);
/** Position of row @p row of the share in its text. */
static inline int64_t host_position(const struct host *k, int64_t row)
{
    return k->batch->position_ids ? k->batch->position_ids[row] : row % k->T;
}
/** Row of the learned position table for row @p row of the share. */
static inline int64_t host_table_row(const struct host *k, int64_t row)
{
    return model_position_row(k->model, k->batch->input_ids[row], host_position(k, row));
}
/** Factor of the token table's row in the embedding of row @p row of the share: 1 without token
 *  dropout (Lin et al. 2022, ESM-2), which sets masked tokens to 0. */
static inline float host_token_factor(const struct host *k, int64_t row)
{
    if (!k->token_scale) return 1;
    if (k->batch->input_ids[row] == k->model->mask_token) return 0;
    return k->token_scale[row / k->T];
}
/** Factor of the gradient of row @p row in that of the token table: 0 for padding. */
static inline float host_token_gradient(const struct host *k, int64_t row)
{
    return k->batch->input_ids[row] == k->model->pad_token ? 0 : host_token_factor(k, row);
}
#endif
