/** Attention of a block of the model with its output projection, one part of a stage. host.c
 *  calls both directions; HOST_QKV has the queries, keys and values of the rows, HOST_CTX the
 *  result. */
#ifndef WSC_HOST_ATTENTION_H
#define WSC_HOST_ATTENTION_H
#include "host_state.h"

void host_attn_forward(struct host *k);
void host_attn_backward(struct host *k);
/** Attention of a decoder to the encoder's output: HOST_CROSS_Q, HOST_CROSS_KV, HOST_CROSS_CTX. */
void host_cross_attn_forward(struct host *k);
void host_cross_attn_backward(struct host *k);
#endif
