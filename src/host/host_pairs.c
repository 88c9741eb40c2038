// SPDX-License-Identifier: Apache-2.0
/* Computes preference optimization on the host: log-probabilities of sequences from the cross
 * entropies of their tokens, and the weight of each token in the loss of its pair (model_pairs.c
 * has the loss). host_head.c calls, once for each leaf, and uses the weights in its backward
 * pass. */
#include "host_pairs.h"

#include <wsc/check.h>

/* Sum the cross entropies of the tokens of sequence @p s of the share that are in the loss, in
 * their order; returns their number. */
static int64_t sum_tokens(const struct host *k, const struct host_token *token, int64_t s,
                          double *nats)
{
    const int64_t T = k->model->T;
    int64_t n = 0;
    *nats = 0;
    for (int64_t i = s * T; i < s * T + T; i++) {
        if (!token[i].counts) continue;
        *nats += token[i].nats;
        n++;
    }
    return n;
}

static double log_probability(const struct host *k, const struct host_token *token, int64_t s)
{
    double nats;
    const int64_t n = sum_tokens(k, token, s, &nats);
    return model_sequence_logp(&k->model->zoo.dpo, nats, n);
}

void host_pairs_refer(struct host *k, const struct host_token *token)
{
    for (int64_t s = 0; s < k->n_samples; s++)
        k->reference_logp[s] = log_probability(k, token, s);
}

static void weigh_tokens(const struct host *k, struct host_token *token, int64_t s, double slope)
{
    const int64_t T = k->model->T;
    double nats;
    const int64_t n = sum_tokens(k, token, s, &nats);
    for (int64_t i = s * T; i < s * T + T; i++)
        token[i].weight = model_pair_weight(&k->model->zoo.dpo, slope, n);
}

void host_pairs_loss(const struct host *k, const struct host_span *leaf, struct host_token *token,
                     struct model_loss *sum)
{
    const int64_t first = leaf->row / k->model->T, n = leaf->n / k->model->T;
    WSC_CHECK(n % 2 == 0, "%lld sequences are no pairs", (long long)n);
    for (int64_t s = first; s < first + n; s += 2) {
        const struct model_pair pair = {.chosen = log_probability(k, token, s),
                                        .rejected = log_probability(k, token, s + 1),
                                        .reference_chosen = k->reference_logp[s],
                                        .reference_rejected = k->reference_logp[s + 1]};
        const double slope = model_pair_add(&k->model->zoo.dpo, &pair, sum);
        weigh_tokens(k, token, s, slope);
        weigh_tokens(k, token, s + 1, -slope);
    }
}
