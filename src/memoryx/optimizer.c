// SPDX-License-Identifier: Apache-2.0
#include "memoryx_impl.h"

#include <math.h>

/* AdamW in the Model Zoo's form: u = m / (sqrt(v) + eps), then the bias correction
 * sqrt(1 - beta2^t) / (1 - beta1^t) as one factor (so eps is not corrected), then decoupled decay
 * (Loshchilov & Hutter 2019).  The loop has no branch, so that it vectorises. */
void memoryx_adamw(const struct memoryx_adamw *rule, float *restrict w, float *restrict m,
                   float *restrict v, const float *restrict g, int64_t n)
{
    const float b1 = rule->beta1, b2 = rule->beta2, c1 = 1.0F - b1, c2 = 1.0F - b2;
    const float lr = rule->lr, eps = rule->eps, decay = rule->weight_decay;
    const float correction = rule->correction, scale = rule->grad_scale, limit = rule->grad_limit;
    for (int64_t i = 0; i < n; i++) {
        float gi = g[i] * scale;
        gi = gi > limit ? limit : gi;
        gi = gi < -limit ? -limit : gi;
        float mi = b1 * m[i] + c1 * gi;
        float vi = b2 * v[i] + c2 * gi * gi;
        float u = correction * (mi / (sqrtf(vi) + eps)) + decay * w[i];
        m[i] = mi;
        v[i] = vi;
        w[i] -= lr * u;
    }
}
