// SPDX-License-Identifier: Apache-2.0
#include <wsc/model.h>

#include <wsc/check.h>

#include <math.h>

/** Value of one phase at its own counter @p t; past the end the last value holds. */
static double phase_value(const struct conf_lr_phase *p, int64_t t)
{
    const double pi = 3.14159265358979323846;
    if (p->scheduler == CONF_LR_CONSTANT) return p->initial_learning_rate;
    WSC_CHECK(p->total_iters >= 0, "a %s phase without total_iters",
              p->scheduler == CONF_LR_LINEAR ? "Linear" : "CosineDecay");
    if (t >= p->total_iters) return p->end_learning_rate;
    double done = (double)t / (double)p->total_iters;
    double left = p->scheduler == CONF_LR_LINEAR ? 1.0 - done : 0.5 * (1.0 + cos(pi * done));
    return p->end_learning_rate + (p->initial_learning_rate - p->end_learning_rate) * left;
}

double model_learning_rate(const struct conf_optimizer *optimizer, int64_t t)
{
    int last = optimizer->n_phases - 1, i = 0;
    WSC_CHECK(last >= 0 && t >= 0, "learning rate of update %lld", (long long)t);
    while (i < last && optimizer->phase[i].total_iters != CONF_NULL &&
           t >= optimizer->phase[i].total_iters) {
        t -= optimizer->phase[i].total_iters;
        i++;
    }
    return phase_value(&optimizer->phase[i], t);
}
