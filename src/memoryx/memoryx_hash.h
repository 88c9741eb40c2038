/** The hash of all weights.
 *  Written to metrics.jsonl with trace_hash, to compare runs.
 */
#ifndef WSC_MEMORYX_HASH_H
#define WSC_MEMORYX_HASH_H
#include "memoryx_state.h"

/* The hash of the weights of all shards after step @p step; an exchange without virtual time. */
enum wsc_err memoryx_hash_weights(struct memoryx *mx, int64_t step, uint64_t *hash);
#endif
