// SPDX-License-Identifier: Apache-2.0
/* Variance scaling (Glorot & Bengio 2010, He et al. 2015): variance = value / fan, where the fan is
 * that of the inputs, of the outputs or their mean.  Called for each row of model_tensors.c. */
#include "model_init.h"

#include <math.h>

/* A normal distribution that is cut at two standard deviations has 0.8796 of the deviation that it
 * was cut from. */
struct zoo_init model_init_of_shape(struct zoo_init init, const int64_t shape[2])
{
    const double cut = 0.87962566103423978, in = (double)shape[1], out = (double)shape[0];
    const double fan[] = {[ZOO_FAN_IN] = in, [ZOO_FAN_OUT] = out, [ZOO_FAN_AVG] = (in + out) / 2};
    if (init.kind != ZOO_INIT_VARIANCE_SCALING) return init;
    const double std = sqrt(init.value / fmax(1, fan[init.fan]));
    struct zoo_init own = {.kind = init.distribution, .std = std};
    if (own.kind == ZOO_INIT_TRUNCATED_NORMAL) own.std = std / cut;
    own.b = own.kind == ZOO_INIT_UNIFORM ? sqrt(3) * std : 2 * own.std;
    own.a = -own.b;
    return own;
}
