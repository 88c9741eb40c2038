/** What a wafer sends up beside the gradients.
 *  Losses, squares of gradients and times.
 */
#ifndef WSC_WAFER_REPORT_H
#define WSC_WAFER_REPORT_H
#include "wafer_state.h"

/* Send the loss sums of the micro-batch at @p at. */
enum wsc_err wafer_send_losses(struct wafer *w, const struct stream_at *at);
/* Have room for the squares of a step, when the pass wants them. */
enum wsc_err wafer_prepare_squares(struct wafer *w);
/* Append the squares of the micro-batch to those of the step, when the pass wants them. */
void wafer_add_squares(struct wafer *w);
/* Send the end of step @p step and where its time went, with the squares. */
enum wsc_err wafer_send_times(struct wafer *w, int64_t step);
#endif
