/** Preference optimization on the host: the loss of pairs from the cross entropies of tokens, and
 *  the weight of each token in it. The two sequences of a pair are consecutive in a leaf, the
 *  chosen one first. */
#ifndef WSC_HOST_PAIRS_H
#define WSC_HOST_PAIRS_H
#include "host_state.h"

/** After the head of the reference model: keep the log-probability of every sequence, by the
 *  statistics @p token of its rows. */
void host_pairs_refer(struct host *k, const struct host_token *token);
/** After the head of the policy model: add loss, rewards and counts of the pairs of @p leaf to
 *  @p sum, and set the weights of their tokens. */
void host_pairs_loss(const struct host *k, const struct host_span *leaf, struct host_token *token,
                     struct model_loss *sum);
#endif
