// SPDX-License-Identifier: Apache-2.0
/* Computes the data of an update besides the elements: learning rate and weight decay of the
 * schedules, the number of the update, clipping, and factors by tensor. Clipping by norm is that of
 * torch.nn.utils.clip_grad_norm_: g min(1, max / (norm + 1e-6)). memoryx_update.c and
 * memoryx_tensorwise.c call; memoryx_steps.c applies the rule. */
#include "memoryx_rule.h"

#include <math.h>

/* The product of the momenta up to update @p t, continued from the last call. */
static double nadam_product(struct memoryx *mx, int64_t t)
{
    const struct zoo_optimizer *o = &mx->config.params->optimizer;
    if (mx->mu_updates > t || !mx->mu_updates) {
        mx->mu_updates = 0;
        mx->mu_product = 1;
    }
    while (mx->mu_updates < t)
        mx->mu_product *= memoryx_nadam_momentum(o, (double)++mx->mu_updates);
    return mx->mu_product;
}

struct memoryx_rule memoryx_rule_of_step(struct memoryx *mx)
{
    const struct zoo_optimizer *o = &mx->config.params->optimizer;
    const int64_t before = mx->schedule ? mx->schedule - 1 : 0;
    struct memoryx_rule rule = {.o = o,
                                .t = (double)(mx->updates + 1),
                                .schedule = mx->schedule,
                                .lr_exact = mx->batch.learning_rate,
                                .lr_before = model_schedule_value(&o->learning_rate, before),
                                .weight_decay =
                                    (float)model_schedule_value(&o->weight_decay, mx->schedule),
                                .grad_scale = 1.0F,
                                .grad_limit = INFINITY};
    if (o->type == ZOO_NADAM) rule.mu_product = nadam_product(mx, mx->updates + 1);
    /* torch.nn.utils.clip_grad_norm_: norm + 1e-6 in the denominator. */
    if (o->max_gradient_norm > 0)
        rule.grad_scale = (float)fmin(1.0, o->max_gradient_norm / (mx->batch.grad_norm + 1e-6));
    if (o->max_gradient_value > 0) rule.grad_limit = (float)o->max_gradient_value;
    if (o->maximize) rule.grad_scale = -rule.grad_scale;
    return rule;
}

struct memoryx_rule memoryx_rule_of_tensor(const struct memoryx *mx,
                                           const struct memoryx_rule *rule, int i)
{
    const struct model_tensor *t = &mx->net->model->tensor[i];
    const struct zoo_groups *groups = &rule->o->groups;
    struct memoryx_rule own = *rule;
    if (t->tagged_rate) {
        const struct zoo_schedule *rate = &groups->tagged[t->tagged_rate - 1].learning_rate;
        own.lr_exact = model_schedule_value(rate, rule->schedule);
        own.lr_before = model_schedule_value(rate, rule->schedule ? rule->schedule - 1 : 0);
    }
    if (t->tagged_decay)
        own.weight_decay = (float)model_schedule_value(
            &groups->tagged[t->tagged_decay - 1].weight_decay, rule->schedule);
    own.lr_exact *= t->lr_scale;
    own.lr_before *= t->lr_scale;
    own.lr = (float)own.lr_exact;
    if (!t->decay) own.weight_decay = 0;
    return own;
}
