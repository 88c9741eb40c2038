/** The part of an update that needs whole tensors (Lamb, Adafactor).  Shards exchange sums, which
 *  takes virtual time. */
#ifndef WSC_MEMORYX_TENSORWISE_H
#define WSC_MEMORYX_TENSORWISE_H
#include "memoryx_state.h"

/* The updates; a row of the table of optimizers names one. */
extern const struct memoryx_tensorwise memoryx_lamb, memoryx_adafactor;
/* @p how: NULL when the update needs no whole tensors. @p rule NULL: nothing is computed, but the
 * exchange takes its virtual time. *at: as in memoryx_exchange(). */
enum wsc_err memoryx_update_tensorwise(struct memoryx *mx, const struct memoryx_tensorwise *how,
                                       const struct memoryx_rule *rule, int64_t step,
                                       struct vtime *at);
#endif
