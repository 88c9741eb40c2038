/** The data of an update besides the elements: schedules, clipping and factors by tensor, as the
 *  optimizers use them. */
#ifndef WSC_MEMORYX_RULE_H
#define WSC_MEMORYX_RULE_H
#include "memoryx_state.h"
#include "memoryx_steps.h"

/* The rule of the current step's update, after the norm of its gradient is known. */
struct memoryx_rule memoryx_rule_of_step(struct memoryx *mx);
/* @p rule with the factors of tensor @p i. */
struct memoryx_rule memoryx_rule_of_tensor(const struct memoryx *mx,
                                           const struct memoryx_rule *rule, int i);
#endif
