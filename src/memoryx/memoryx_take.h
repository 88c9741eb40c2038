/** What the receiving program of a shard does with gradients after each backward stage. Sums of
 *  micro-batches become the mean gradient of the batch. */
#ifndef WSC_MEMORYX_TAKE_H
#define WSC_MEMORYX_TAKE_H
#include "memoryx_state.h"

/* Receive the sums of the stage at @p at, add them to those of earlier micro-batches; after the
 * last micro-batch the gradient of the batch is in mx->part[].g. */
enum wsc_err memoryx_take_gradients(struct memoryx *mx, const struct stream_at *at);
#endif
