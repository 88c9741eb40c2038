/** One stage on a wafer: weights in, kernels, gradients out. wafer_step.c calls the functions in
 *  this order. */
#ifndef WSC_WAFER_STAGE_H
#define WSC_WAFER_STAGE_H
#include "wafer_state.h"

/* Receive the weights of the stage at @p at, wait until the stage can begin, and send MemoryX a
 * credit. @p s is empty after an error. */
enum wsc_err wafer_recv_weights(struct wafer *w, const struct stream_at *at, struct wafer_stage *s);
/* Run the kernels forward; activations stay on the wafer. */
enum wsc_err wafer_run_forward(struct wafer *w, const struct stream_at *at, struct wafer_stage *s);
/* Run the kernels backward and send the gradients; the stage ends when they have left. */
enum wsc_err wafer_run_backward(struct wafer *w, const struct stream_at *at, struct wafer_stage *s);
/* End the stage: record it and release its resources. */
void wafer_stage_fini(struct wafer *w, struct wafer_stage *s);
#endif
