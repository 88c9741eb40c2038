/** One round among the shards: what all of them have to agree on.
 *  Shard 0 combines the parts of all shards and sends the total back.
 */
#ifndef WSC_MEMORYX_EXCHANGE_H
#define WSC_MEMORYX_EXCHANGE_H
#include "memoryx_state.h"

/* The rounds of a step. */
enum {
    MEMORYX_ROUND_NORM,
    MEMORYX_ROUND_FIRST,
    MEMORYX_ROUND_SECOND,
    MEMORYX_ROUND_HASH,
    MEMORYX_ROUND_SELECT /* masks, before the first step or after an update */
};

struct memoryx_round {
    int64_t step;
    int index;     /* one of the above */
    int64_t bytes; /* on the emulated links, each way; 0: takes neither time nor turns there */
    /* Shard 0: *total of the parts of all shards. */
    enum wsc_err (*combine)(const struct memoryx *mx, void *ctx, struct comm_buf *const *part,
                            struct comm_buf **total);
    void *ctx;
};
/* Give this shard's part, get the total of all.  @p take_own NULL: time alone, *total is NULL; so
 * it is after an error.  *at: when the part is ready here, then when the total is known here. */
enum wsc_err memoryx_exchange(struct memoryx *mx, const struct memoryx_round *round,
                              struct comm_buf *take_own, struct comm_buf **total, struct vtime *at);
#endif
