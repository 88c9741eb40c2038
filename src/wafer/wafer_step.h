/** A step of one wafer.
 *  Training and evaluation; generation uses the forward stage.
 */
#ifndef WSC_WAFER_STEP_H
#define WSC_WAFER_STEP_H
#include "wafer_state.h"

/* One batch of training or evaluation: step @p step of w->pass. */
enum wsc_err wafer_step(struct wafer *w, int64_t step);
/* Run one stage forward on the input w->micro: receive weights, run kernels. */
enum wsc_err wafer_forward(struct wafer *w, const struct stream_at *at);
#endif
