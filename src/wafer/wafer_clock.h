/** A stage's times on one wafer.
 *  Begin, end and leave, in this order, once for each stage.
 */
#ifndef WSC_WAFER_CLOCK_H
#define WSC_WAFER_CLOCK_H
#include "wafer_state.h"

/* Begin the stage at @p at when its first weights are there; the first stage of a step begins after
 * the systems are coordinated. Returns the time of the beginning. */
struct vtime wafer_clock_begin(struct wafer *w, const struct stream_at *at,
                               const struct stream_msg *weights);
/* End the computation of the stage. Returns the times at which the first and the last row of its
 * gradients are ready. */
struct vtime_span wafer_clock_end(struct wafer *w, const struct stream_at *at,
                                  const struct stream_msg *weights,
                                  const struct kernels_simulated *counted);
/* End the stage when its gradients have left on the links to all shards, because gradients are not
 * stored. */
void wafer_clock_leave(struct wafer *w);
/* Input workers make the samples of a step during the step before: a step ends when the samples of
 * the next one, as many as its own, have arrived. */
void wafer_clock_feed(struct wafer *w);
/* Record the stage, from @p begin to now, in the record of virtual time. */
void wafer_clock_record(struct wafer *w, struct vtime begin);
#endif
