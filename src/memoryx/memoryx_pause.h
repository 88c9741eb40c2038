/** The pause of a training while a checkpoint is written. A training step after it waits for its
 *  weights, an evaluation for all shards. */
#ifndef WSC_MEMORYX_PAUSE_H
#define WSC_MEMORYX_PAUSE_H
#include "memoryx_state.h"

/* After the update of step @p step: weights are not sent before the checkpoint is written, if one
 * is due. An evaluation begins after that; the step then has the pause (memoryx_batch.pause_ps). */
enum wsc_err memoryx_pause(struct memoryx *mx, int64_t step);
#endif
