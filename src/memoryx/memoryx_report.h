/** Results that arrive besides gradients (losses, times, texts), and the end of a batch: struct
 *  memoryx_batch. */
#ifndef WSC_MEMORYX_REPORT_H
#define WSC_MEMORYX_REPORT_H
#include "memoryx_state.h"

/* Start mx->batch for step @p step. */
void memoryx_begin_batch(struct memoryx *mx, int64_t step);
/* Receive the loss sums of the micro-batch at @p at and add them. */
enum wsc_err memoryx_take_losses(struct memoryx *mx, const struct stream_at *at);
/* Compute the loss of the batch from its sums; an error if it is not finite and that is checked. */
enum wsc_err memoryx_finish_loss(struct memoryx *mx, int64_t step);
/* Receive the end of the step with its time by parts, and the squares for the noise scale. */
enum wsc_err memoryx_take_times(struct memoryx *mx, int64_t step);
/* An error on shard 0 if @p end, a time of step @p step, is beyond the end of virtual time. */
enum wsc_err memoryx_check_time(const struct memoryx *mx, int64_t step, struct vtime end);
/* Pass the batch to the hook and let the sending program start the next step. */
enum wsc_err memoryx_finish_batch(struct memoryx *mx, int64_t step);
/* Receive the texts that wafers generated and pass them to the hook. */
enum wsc_err memoryx_take_texts(struct memoryx *mx);
#endif
