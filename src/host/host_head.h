/** The head: logits, losses, and their gradient. */
#ifndef WSC_HOST_HEAD_H
#define WSC_HOST_HEAD_H
#include "host_state.h"

void host_head_forward(struct host *k);
void host_head_backward(struct host *k);
#endif
