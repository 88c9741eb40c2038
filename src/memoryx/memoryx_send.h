/** What the sending program of a shard does for each transfer of weights. Credits bound how far it
 *  runs ahead of the wafers. */
#ifndef WSC_MEMORYX_SEND_H
#define WSC_MEMORYX_SEND_H
#include "memoryx_state.h"

/* Credits of one step that were received so far. */
struct memoryx_credits {
    int64_t step;
    int64_t n;            /* number of credits: those of transfers 0 to n - 1 */
    struct vtime granted; /* time of the newest credit */
};
/* Wait until the credit of transfer @p index is received; -1: no credit. */
enum wsc_err memoryx_wait_for_credits(struct memoryx *mx, int64_t index,
                                      struct memoryx_credits *credits);
/* Send this shard's part of the stage's weights, once they are updated and @p granted. */
enum wsc_err memoryx_send_weights(struct memoryx *mx, const struct stream_at *at,
                                  struct vtime granted);
/* Wait until the other program has updated the weights for step @p step. */
enum wsc_err memoryx_wait_for_update(struct memoryx *mx, int64_t step);
#endif
