/** A mixture's router and networks. */
#ifndef WSC_HOST_EXPERTS_H
#define WSC_HOST_EXPERTS_H
#include "host_state.h"

#include <stdint.h>

/** Network s of the S of a row: where it stands in HOST_ORDER, and what it counts. */
struct host_chosen {
    int32_t expert;
    int64_t at;
    float weight;
};
void host_experts_ffn0(struct host *k);
void host_experts_ffn0_backward(struct host *k);
void host_experts_ffn1(struct host *k);
void host_experts_ffn1_backward(struct host *k);
/** Load-balancing loss of a leaf, times what the mean loss is divided by. */
double host_balance_loss(const struct host *k, const struct host_span *leaf);
#endif
