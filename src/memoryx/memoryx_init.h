/** The initial state of a shard: initial weights of one tensor (<wsc/memoryx.h> has those of all),
 *  and everything else that training changes. If a checkpoint lacks a tensor, or rows of it, these
 *  values are used. */
#ifndef WSC_MEMORYX_INIT_H
#define WSC_MEMORYX_INIT_H
#include "memoryx_state.h"

/* Set the initial values of this shard's part of tensor @p tensor. */
void memoryx_init_tensor(struct memoryx *mx, int tensor);
/* Set optimizer state, counters, loss scale and noise scale to those of a new run, and make masks
 * and choices of weights due again. Weights and virtual time are kept. */
void memoryx_begin(struct memoryx *mx);
#endif
