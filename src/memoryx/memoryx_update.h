/** The update at the end of a training step.
 *  Values and virtual time of the optimizer.
 */
#ifndef WSC_MEMORYX_UPDATE_H
#define WSC_MEMORYX_UPDATE_H
#include "memoryx_state.h"

/* The gradient of @p stage is complete: update its elements at once, unless clipping by norm, a
 * dynamic loss scale, an optimizer of whole tensors, masks or summaries need all gradients first.
 * Values are equal to those of an update at the end. */
void memoryx_update_stage(struct memoryx *mx, int stage, int64_t step);
/* The tensors of @p stage are about to be sent: update those that the last update has postponed. */
void memoryx_update_due(struct memoryx *mx, int stage);
/* Update this shard's weights after step @p step, and the times at which they are ready. Gradients
 * are in mx->part[].g, their times in mx->arrived. Error: a gradient that is not finite. */
enum wsc_err memoryx_update(struct memoryx *mx, int64_t step);
#endif
