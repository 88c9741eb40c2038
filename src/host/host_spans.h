/** The loss of answers as spans: the first and the last token of an answer, each by a softmax over
 *  the tokens of the sequence. host_head.c calls, after all rows have logits and before it computes
 *  their gradient. */
#ifndef WSC_HOST_SPANS_H
#define WSC_HOST_SPANS_H
#include "host_state.h"

#include <wsc/model.h>

/** Store the two logits (n, 2) of the rows of a block in @p token. */
void host_spans_keep(const struct host_span *b, const float *logits, struct host_token *token);
/** After all rows: add loss and counts of the sequences of @p leaf to @p sum, and store what
 *  host_spans_backward() needs. */
void host_spans_loss(const struct host *k, const struct host_span *leaf, struct host_token *token,
                     struct model_loss *sum);
/** Replace the logits (n, 2) of a block by their gradients. */
void host_spans_backward(const struct host *k, const struct host_span *b,
                         const struct host_token *token, float *logits);
#endif
