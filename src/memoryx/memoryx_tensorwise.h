/** The rest of the update of Lamb and Adafactor, which needs whole tensors.
 *  It exchanges sums among the shards, which takes virtual time.
 */
#ifndef WSC_MEMORYX_TENSORWISE_H
#define WSC_MEMORYX_TENSORWISE_H
#include "memoryx_optimizer.h"
#include "memoryx_state.h"

/* @p rule NULL: nothing is computed, the exchange takes its time.  *at as in memoryx_exchange. */
enum wsc_err memoryx_update_tensorwise(struct memoryx *mx, const struct memoryx_rule *rule,
                                       int64_t step, struct vtime *at);
#endif
