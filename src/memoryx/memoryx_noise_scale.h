/** The gradient noise scale. */
#ifndef WSC_MEMORYX_NOISE_SCALE_H
#define WSC_MEMORYX_NOISE_SCALE_H
#include "memoryx_state.h"

/* Take the step into mx->noise and mx->batch, once the norm is known and before the loss scale
 * moves. */
void memoryx_noise_after(struct memoryx *mx);
#endif
