/** A stage's times on one wafer.
 *  Begin, end and leave, in this order, once for each stage.
 */
#ifndef WSC_WAFER_CLOCK_H
#define WSC_WAFER_CLOCK_H
#include "wafer_state.h"

/* The stage at @p at begins when its first weights are there, and the first of a step not before
 * the systems are coordinated; returns that time. */
struct vtime wafer_clock_begin(struct wafer *w, const struct stream_at *at,
                               const struct stream_msg *weights);
/* The stage has computed; returns when the first and the last of its gradient are ready. */
struct vtime_span wafer_clock_end(struct wafer *w, const struct stream_at *at,
                                  const struct stream_msg *weights,
                                  const struct kernels_simulated *counted);
/* Gradients are not stored: a stage ends when they have left, on the links to all shards. */
void wafer_clock_leave(struct wafer *w);
/* Input workers make the samples of a step while the step before computes: a step ends when those
 * of the next one, as many as its own, have come in. */
void wafer_clock_feed(struct wafer *w);
/* Keep the stage from @p begin to now as a bar of the record of virtual time. */
void wafer_clock_record(struct wafer *w, struct vtime begin);
#endif
