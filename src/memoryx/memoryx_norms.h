/** Norms of the gradient and of the weights.
 *  One round of an exchange; the bits do not depend on the number of shards.
 */
#ifndef WSC_MEMORYX_NORMS_H
#define WSC_MEMORYX_NORMS_H
#include "memoryx_state.h"

/* The norm of the mean gradient of all shards, known on this shard at *@p at; 0 without values.
 * With log_summaries shard 0 gets the norms of layers and weights in mx->batch. */
enum wsc_err memoryx_share_norm(struct memoryx *mx, int64_t step, double *norm, struct vtime *at);
#endif
