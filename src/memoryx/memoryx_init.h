/** What a shard begins with: initial weights of one tensor (those of all are public,
 *  <wsc/memoryx.h>), and everything else that training changes.  Checkpoints that lack a tensor, or
 *  rows of it, leave these values.
 */
#ifndef WSC_MEMORYX_INIT_H
#define WSC_MEMORYX_INIT_H
#include "memoryx_state.h"

/* Set the initial values of this shard's part of tensor @p tensor. */
void memoryx_init_tensor(struct memoryx *mx, int tensor);
/* Set optimizer state, counters, loss scale and noise scale to those of a new run, and let masks
 * and choices of weights be made again; weights and virtual time stay. */
void memoryx_begin(struct memoryx *mx);
#endif
