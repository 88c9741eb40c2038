/** The layers of a head before its output layer, as far as the head has them: the choice of rows of
 *  the last block's output, a norm, a linear layer with a nonlinearity, a norm, dropout. */
#ifndef WSC_HOST_HEAD_INPUT_H
#define WSC_HOST_HEAD_INPUT_H
#include "host_state.h"

#include <wsc/err.h>
#include <wsc/model.h>

#include <stdbool.h>
#include <stdint.h>

/** Allocate the row lists of every head for max_samples samples. */
enum wsc_err host_head_rows_create(struct host *k) WSC_CHECKED;
void host_head_rows_destroy(struct host *k);
/** Choose the rows of every head in the current micro-batch. */
void host_head_rows_cut(struct host *k);
/** The current head. host_head_rows(): its rows. */
static inline const struct model_head *host_head(const struct host *k)
{
    return &k->model->head[k->head];
}
static inline const struct host_head_rows *host_head_rows(const struct host *k)
{
    return &k->head_rows[k->head];
}
/** Row of the share that is the head's row @p i. */
static inline int64_t host_head_row(const struct host *k, int64_t i)
{
    const int64_t *row = host_head_rows(k)->row;
    return row ? row[i] : i;
}
/** Run @p rows for each block of the head's rows. */
void host_each_head_block(struct host *k,
                          void (*rows)(struct host *k, const struct host_span *b, int thread));
/** Compute the input of the output layer, operands (b->n, C), in @p out; @p again: from what the
 *  forward pass has stored. */
void host_head_input(struct host *k, const struct host_span *b, void *out, bool again, int thread);
/** Compute the gradients of the layers before the output layer from the gradient of its input,
 *  which is HOST_DXN, numbered by the head's rows. The gradient of the last block's output,
 *  HOST_DRES, is written by the first head; the second adds to it. */
void host_head_input_backward(struct host *k);
#endif
