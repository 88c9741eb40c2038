/** The part of the update of Lamb and Adafactor that needs whole tensors. Shards exchange sums,
 *  which takes virtual time. */
#ifndef WSC_MEMORYX_TENSORWISE_H
#define WSC_MEMORYX_TENSORWISE_H
#include "memoryx_optimizer.h"
#include "memoryx_state.h"

/* Most rounds of memoryx_rounds(). */
enum { MEMORYX_MAX_ROUNDS = 2 };
/* Number of rounds in which the shards exchange sums after the norm is known, because the update
 * needs whole tensors (Lamb, Adafactor); @p bytes: bytes of each round on the emulated links, in
 * each direction. */
int memoryx_rounds(const struct zoo_optimizer *optimizer, const struct model *model,
                   int64_t bytes[MEMORYX_MAX_ROUNDS]);
/* @p rule NULL: nothing is computed, but the exchange takes its virtual time. *at: as in
 * memoryx_exchange(). */
enum wsc_err memoryx_update_tensorwise(struct memoryx *mx, const struct memoryx_rule *rule,
                                       int64_t step, struct vtime *at);
#endif
