/** What comes up beside the gradients, and the end of a batch.
 *  Losses, times and texts: what becomes struct memoryx_batch.
 */
#ifndef WSC_MEMORYX_REPORT_H
#define WSC_MEMORYX_REPORT_H
#include "memoryx_state.h"

/* Start mx->batch for step @p step. */
void memoryx_begin_batch(struct memoryx *mx, int64_t step);
/* Receive the loss sums of the micro-batch at @p at and add them. */
enum wsc_err memoryx_take_losses(struct memoryx *mx, const struct stream_at *at);
/* The loss of the batch from its sums; an error when it is not finite and that is checked. */
enum wsc_err memoryx_finish_loss(struct memoryx *mx, int64_t step);
/* Receive the end of the step and where its time went, with the squares for the noise scale. */
enum wsc_err memoryx_take_times(struct memoryx *mx, int64_t step);
/* Hand the batch to the hook and let the sending program start the next step. */
enum wsc_err memoryx_finish_batch(struct memoryx *mx, int64_t step);
/* Receive what the wafers generated and hand it to the hook. */
enum wsc_err memoryx_take_texts(struct memoryx *mx);
#endif
