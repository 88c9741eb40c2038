/** The gradient noise scale.
 *  Estimated from squares of gradients of micro-shards and of the batch.
 */
#ifndef WSC_MEMORYX_NOISE_SCALE_H
#define WSC_MEMORYX_NOISE_SCALE_H
#include "memoryx_state.h"

/* Take a step of a batch of @p n_micro_shards micro-shards of @p samples samples on average into
 * running means, of which @p steps are finished; sets @p noise but for the two squares, which are
 * given. */
void memoryx_noise_step(struct memoryx_noise *noise, double n_micro_shards, double samples,
                        int64_t steps);
/* Take the step into mx->noise and mx->batch, once the norm is known and before the loss scale
 * moves. */
void memoryx_noise_after(struct memoryx *mx);
#endif
