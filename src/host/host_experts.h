/** A mixture of experts in place of one FFN: the router, the networks that it chooses for each
 *  token, and the load-balancing loss. host_block.c calls it for models with experts. */
#ifndef WSC_HOST_EXPERTS_H
#define WSC_HOST_EXPERTS_H
#include "host_state.h"

#include <stdint.h>

void host_experts_ffn0(struct host *k);
void host_experts_ffn0_backward(struct host *k);
void host_experts_ffn1(struct host *k);
void host_experts_ffn1_backward(struct host *k);
/** Load-balancing loss of a leaf, times what the mean loss is divided by. */
double host_balance_loss(const struct host *k, const struct host_span *leaf);
#endif
