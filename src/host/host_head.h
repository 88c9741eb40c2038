/** The head of the model: logits, cross entropy and their gradient. host.c calls it for the last
 *  stage; the losses of the leaves are in host.loss afterwards. */
#ifndef WSC_HOST_HEAD_H
#define WSC_HOST_HEAD_H
#include "host_state.h"

void host_head_forward(struct host *k);
void host_head_backward(struct host *k);
#endif
