/** One stage on a wafer: weights in, kernels, gradients out.
 *  The calls of wafer_step.c, in the order in which it makes them.
 */
#ifndef WSC_WAFER_STAGE_H
#define WSC_WAFER_STAGE_H
#include "wafer_state.h"

/* Receive the weights of the stage at @p at, wait for what the stage needs and let MemoryX send on.
 * @p s is empty after an error. */
enum wsc_err wafer_recv_weights(struct wafer *w, const struct stream_at *at, struct wafer_stage *s);
/* Run the kernels forward; activations stay on the wafer. */
enum wsc_err wafer_run_forward(struct wafer *w, const struct stream_at *at, struct wafer_stage *s);
/* Run the kernels backward and send the gradients; the stage ends when they have left. */
enum wsc_err wafer_run_backward(struct wafer *w, const struct stream_at *at, struct wafer_stage *s);
/* The stage is over: record it and release what it holds. */
void wafer_stage_fini(struct wafer *w, struct wafer_stage *s);
#endif
