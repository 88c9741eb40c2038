/** Rows of each expert in the sorted order of HOST_ORDER, where the tokens of a leaf that chose
 *  the same expert are consecutive. */
#ifndef WSC_HOST_ORDER_H
#define WSC_HOST_ORDER_H
#include "host_state.h"

#include <stdint.h>

/** First row of every expert of leaf @p leaf of the share in HOST_ORDER, and the end of the last
 *  expert. */
int64_t *host_expert_ranges(const struct host *k, int64_t leaf);
/** Rows of @p expert in the leaf, in HOST_ORDER. */
struct host_span host_expert_rows(const struct host *k, const struct host_span *leaf,
                                  int64_t expert);
#endif
