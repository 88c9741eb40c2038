/** Losses of the current head, by kind: statistics of its rows from blocks of logits, loss of a
 *  leaf, gradient of a block of logits. A new loss is a row of the table in host_head_loss.c.
 *  host_head.c calls in this order: begin, take for each block of columns, end, add. */
#ifndef WSC_HOST_HEAD_LOSS_H
#define WSC_HOST_HEAD_LOSS_H
#include "host_adapter.h"
#include "host_head_input.h"
#include "host_state.h"

/** Statistics of all rows of the head. */
static inline struct host_token *host_head_tokens(const struct host *k)
{
    return (struct host_token *)k->buffer[HOST_TOKENS] + k->head * k->max_rows;
}
/** Reset the statistics of the rows @p b. */
void host_head_loss_begin(const struct host *k, const struct host_span *b);
/** Add logits (b->n, c->n), after scale and cap, to the statistics of their rows; @p scratch: one
 *  row. */
void host_head_loss_take(const struct host *k, const struct host_span *b,
                         const struct host_columns *c, const float *logits, float *scratch);
/** After all columns: compute the loss of each row. */
void host_head_loss_end(const struct host *k, const struct host_span *b);
/** Add loss and counts of leaf @p leaf, all of whose rows are complete, to @p sum. */
void host_head_loss_add(const struct host *k, int64_t leaf, struct model_loss *sum);
/** Replace logits (b->n, c->n) by the gradients of the logits before their scale and cap, times the
 *  factor of loss scaling and the weight of the head. */
void host_head_loss_backward(const struct host *k, const struct host_span *b,
                             const struct host_columns *c, float *logits);
#endif
