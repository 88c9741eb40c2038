/** The gradient noise scale.
 *  Estimated from squares of gradients of micro-shards and of the batch.
 */
#ifndef WSC_MEMORYX_NOISE_SCALE_H
#define WSC_MEMORYX_NOISE_SCALE_H
#include "memoryx_state.h"

/* Add a step with a batch of @p n_micro_shards micro-shards of @p samples samples on average to the
 * running means, after @p steps finished steps. Sets @p noise, except for the two squares, which
 * are input. */
void memoryx_noise_step(struct memoryx_noise *noise, double n_micro_shards, double samples,
                        int64_t steps);
/* Add the step to mx->noise and mx->batch, after the norm is known and before the loss scale
 * changes. */
void memoryx_noise_after(struct memoryx *mx);
#endif
