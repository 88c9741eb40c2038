/** The attention of a block with its output projection. */
#ifndef WSC_HOST_ATTENTION_H
#define WSC_HOST_ATTENTION_H
#include "host_state.h"

void host_attn_forward(struct host *k);
void host_attn_backward(struct host *k);
#endif
