/** What one update needs beside the elements.
 *  Schedules, clipping and factors by tensor, as the optimizers read them.
 */
#ifndef WSC_MEMORYX_RULE_H
#define WSC_MEMORYX_RULE_H
#include "memoryx_optimizer.h"
#include "memoryx_state.h"

/* The rule of the update of the step in progress, once its gradient norm is known. */
struct memoryx_rule memoryx_rule_of_step(struct memoryx *mx);
/* @p rule with the factors of tensor @p i. */
struct memoryx_rule memoryx_rule_of_tensor(const struct memoryx *mx,
                                           const struct memoryx_rule *rule, int i);
#endif
