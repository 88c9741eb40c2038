/** Results that a wafer sends besides gradients: losses, squares of gradients, counts of classes
 * and times. wafer_step.c calls. */
#ifndef WSC_WAFER_REPORT_H
#define WSC_WAFER_REPORT_H
#include "wafer_state.h"

/* Send the loss sums of the micro-batch at @p at. */
enum wsc_err wafer_send_losses(struct wafer *w, const struct stream_at *at);
/* Allocate the squares of a step, if the pass measures them. */
enum wsc_err wafer_prepare_squares(struct wafer *w);
/* Allocate the counts of classes of a step, if the pass takes them. */
enum wsc_err wafer_prepare_classes(struct wafer *w);
/* Append the squares of the micro-batch to those of the step, if the pass measures them. */
void wafer_add_squares(struct wafer *w);
/* Send the end of step @p step, its time by parts, and the squares or counts. */
enum wsc_err wafer_send_times(struct wafer *w, int64_t step);
#endif
