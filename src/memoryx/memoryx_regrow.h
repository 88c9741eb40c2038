/** New masks after an update of the optimizer: gradual pruning, SET and RigL.
 *  memoryx_update.c calls both functions, the first before gradients are masked.
 */
#ifndef WSC_MEMORYX_REGROW_H
#define WSC_MEMORYX_REGROW_H
#include "memoryx_state.h"

/* Copy the gradients of all elements of tensors whose next mask needs them, then set gradients
 * outside masks to zero. WSC_NOMEM. */
enum wsc_err memoryx_mask_gradients(struct memoryx *mx) WSC_CHECKED;
/* Call after an applied update in step @p step: count it, compute the masks that are due, and set
 * weights and states outside to zero. All shards call it; no virtual time. WSC_NOMEM. */
enum wsc_err memoryx_update_masks(struct memoryx *mx, int64_t step) WSC_CHECKED;
/* With add_summaries: set mx->kept, and batch.kept on shard 0. All shards call it. */
enum wsc_err memoryx_report_masks(struct memoryx *mx, int64_t step) WSC_CHECKED;
/* Free the copies of gradients. */
void memoryx_drop_gradients(struct memoryx *mx);
#endif
