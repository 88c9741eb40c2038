/** A round among the shards, for values that all shards need. Shard 0 combines the parts of all
 *  shards and sends the total back. */
#ifndef WSC_MEMORYX_EXCHANGE_H
#define WSC_MEMORYX_EXCHANGE_H
#include "memoryx_state.h"

/* The rounds of a step. */
enum {
    MEMORYX_ROUND_NORM,
    MEMORYX_ROUND_FIRST,
    MEMORYX_ROUND_SECOND,
    MEMORYX_ROUND_HASH,
    MEMORYX_ROUND_SELECT, /* masks, before the first step or after an update */
    MEMORYX_ROUND_PAUSE   /* before an evaluation that waits for a checkpoint */
};

struct memoryx_round {
    int64_t step;
    int index; /* a constant of the enumeration above */
    /* bytes on the emulated links in each direction; 0: the round takes no virtual time */
    int64_t bytes;
    /* Shard 0: compute *total from the parts of all shards. */
    enum wsc_err (*combine)(const struct memoryx *mx, void *ctx, struct comm_buf *const *part,
                            struct comm_buf **total);
    void *ctx;
};
/* Send the part of this shard and receive the total. @p take_own NULL: only virtual time passes,
 * and *total is NULL, as after an error. *at: when the part is ready on this shard; on return, when
 * the total is known on this shard. */
enum wsc_err memoryx_exchange(struct memoryx *mx, const struct memoryx_round *round,
                              struct comm_buf *take_own, struct comm_buf **total, struct vtime *at);
#endif
