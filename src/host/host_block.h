/** Parts of a stage outside attention and head: the embedding, the projections to q, k and v, and
 *  both halves of the FFN. host.c calls them in the order of the model's parts. */
#ifndef WSC_HOST_BLOCK_H
#define WSC_HOST_BLOCK_H
#include "host_state.h"

void host_embed_forward(struct host *k);
void host_embed_backward(struct host *k);
void host_qkv_forward(struct host *k);
void host_qkv_backward(struct host *k);
void host_ffn0_forward(struct host *k);
void host_ffn0_backward(struct host *k);
void host_ffn1_forward(struct host *k);
void host_ffn1_backward(struct host *k);
#endif
