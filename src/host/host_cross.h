/** The operations between an encoder and a decoder: the norm of the encoder's output, which is kept
 *  until the end of the micro-batch, and the projections of queries from the decoder and of keys
 *  and values from that output. host.c calls; the attention itself is in host_attention.c. */
#ifndef WSC_HOST_CROSS_H
#define WSC_HOST_CROSS_H
#include "host_state.h"

void host_memory_forward(struct host *k);
void host_memory_backward(struct host *k);
void host_cross_qkv_forward(struct host *k);
void host_cross_qkv_backward(struct host *k);
#endif
