/** A mixture of experts in place of one FFN: the networks that the router (host_router.h) chooses
 *  for each token. host_block.c calls it for models with experts. */
#ifndef WSC_HOST_EXPERTS_H
#define WSC_HOST_EXPERTS_H
#include "host_state.h"

void host_experts_ffn0(struct host *k);
void host_experts_ffn0_backward(struct host *k);
void host_experts_ffn1(struct host *k);
void host_experts_ffn1_backward(struct host *k);
#endif
