// SPDX-License-Identifier: Apache-2.0
#include "model_impl.h"

#include <math.h>

/* Glorot & Bengio 2010, He et al. 2015: variance = value / fan.  A normal distribution that is cut
 * at two standard deviations has 0.8796 of the deviation that it was cut from. */
struct conf_init model_spread(struct conf_init init, const int64_t shape[2])
{
    const double cut = 0.87962566103423978, in = (double)shape[1], out = (double)shape[0];
    const double fan[] = {
        [CONF_FAN_IN] = in, [CONF_FAN_OUT] = out, [CONF_FAN_AVG] = (in + out) / 2};
    if (init.kind != CONF_INIT_VARIANCE_SCALING) return init;
    const double std = sqrt(init.value / fmax(1, fan[init.fan]));
    struct conf_init own = {.kind = init.distribution, .std = std};
    if (own.kind == CONF_INIT_TRUNCATED_NORMAL) own.std = std / cut;
    own.b = own.kind == CONF_INIT_UNIFORM ? sqrt(3) * std : 2 * own.std;
    own.a = -own.b;
    return own;
}
