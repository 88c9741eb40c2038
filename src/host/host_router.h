/** The router of a mixture of experts: which networks every token gets and with which weights, and
 *  the load-balancing loss. host_experts.c calls it, host_head.c its loss. */
#ifndef WSC_HOST_ROUTER_H
#define WSC_HOST_ROUTER_H
#include "host_state.h"

#include <stdint.h>

/** Index of the current layer in the kept buffers of routers. */
int64_t host_router_kept_layer(const struct host *k);
/** Number S of networks of a token: chosen experts, then the shared ones. */
int64_t host_router_slots(const struct host *k);
/** The networks (N, S) of every row of the current layer. */
struct host_chosen *host_router_chosen(const struct host *k);
/** Compute values and choices of all rows; stores the norm's output in HOST_XN if the block has a
 *  norm there. */
void host_router_choose(struct host *k);
/** Compute HOST_DROUTED of a block of rows, from HOST_DCHOSEN and the load-balancing loss. */
void host_router_rows_backward(struct host *k, const struct host_span *b, int thread);
/** Load-balancing loss of a leaf, times the number by which the mean loss is divided. */
double host_balance_loss(const struct host *k, const struct host_span *leaf);
#endif
