/** The router of a mixture of experts: which networks every token gets and with which weights, and
 *  the load-balancing loss. host_experts.c calls it, host_head.c its loss. */
#ifndef WSC_HOST_ROUTER_H
#define WSC_HOST_ROUTER_H
#include "host_state.h"

#include <stdint.h>

/** Number of the copy of a kept buffer. */
int64_t host_router_kept_layer(const struct host *k);
/** The networks of every row (N, S) of the layer at hand. */
struct host_chosen *host_router_chosen(const struct host *k);
/** Values and choice of all rows; leaves the norm's output in HOST_XN where the block has one. */
void host_router_choose(struct host *k);
/** HOST_DROUTED of a block of rows from HOST_DCHOSEN and the load-balancing loss. */
void host_router_rows_backward(struct host *k, const struct host_span *b, int thread);
/** Load-balancing loss of a leaf, times what the mean loss is divided by. */
double host_balance_loss(const struct host *k, const struct host_span *leaf);
#endif
