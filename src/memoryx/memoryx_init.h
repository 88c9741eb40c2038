/** Initial weights of one tensor; those of all are public (<wsc/memoryx.h>).
 *  Checkpoints that lack a tensor, or rows of it, leave these values.
 */
#ifndef WSC_MEMORYX_INIT_H
#define WSC_MEMORYX_INIT_H
#include "memoryx_state.h"

/* Set the initial values of this shard's part of tensor @p tensor. */
void memoryx_init_tensor(struct memoryx *mx, int tensor);
#endif
