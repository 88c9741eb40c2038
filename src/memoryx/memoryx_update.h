/** The update at the end of a training step.
 *  Values and virtual time of the optimizer.
 */
#ifndef WSC_MEMORYX_UPDATE_H
#define WSC_MEMORYX_UPDATE_H
#include "memoryx_state.h"

/* Update this shard's weights after step @p step, and when they are ready; gradients are in
 * mx->part[].g, their times in mx->arrived.  Errors: a gradient that is not finite. */
enum wsc_err memoryx_update(struct memoryx *mx, int64_t step);
#endif
