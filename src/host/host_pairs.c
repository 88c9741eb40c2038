// SPDX-License-Identifier: Apache-2.0
/* Direct preference optimization (Rafailov et al. 2023, equation 7; with noisy labels Mitchell
 * 2023, equation 3; hinge: Zhao et al. 2023; IPO: Azar et al. 2023, equation 17).  With
 * log-probability l of a sequence under the policy and r under the reference the margin of a pair
 * is m = (l chosen - r chosen) - (l rejected - r rejected).  Its derivative reaches the logits
 * through the cross entropies, so that a token weighs -dL/dm in the chosen text and dL/dm in the
 * other. host_head.c calls, once for each leaf, and takes the weights of the tokens to its backward
 * pass. */
#include "host_pairs.h"

#include <wsc/check.h>

#include <math.h>

/* Log-probability of sequence @p s of the share: summed over its tokens in their order, or their
 * mean; a sequence without tokens that count has 0. */
static double log_probability(const struct host *k, const struct host_token *token, int64_t s)
{
    const int64_t T = k->model->T;
    double nats = 0;
    int64_t n = 0;
    for (int64_t i = s * T; i < s * T + T; i++) {
        if (!token[i].counts) continue;
        nats += token[i].nats;
        n++;
    }
    const bool mean = k->model->zoo.dpo.loss_type == ZOO_DPO_IPO;
    return mean && n ? -nats / (double)n : -nats;
}

void host_pairs_refer(struct host *k, const struct host_token *token)
{
    for (int64_t s = 0; s < k->n_samples; s++)
        k->reference_logp[s] = log_probability(k, token, s);
}

/* log sigmoid without overflow. */
static double log_sigmoid(double x)
{
    return x < 0 ? x - log1p(exp(x)) : -log1p(exp(-x));
}

/* Loss of a pair with margin @p m; *@p slope is its derivative. */
static double pair_loss(const struct zoo_dpo *dpo, double m, double *slope)
{
    const double x = dpo->beta * m, e = dpo->label_smoothing;
    switch (dpo->loss_type) {
    case ZOO_DPO_HINGE:
        *slope = x < 1 ? -dpo->beta : 0;
        return x < 1 ? 1 - x : 0;
    case ZOO_DPO_IPO: {
        const double error = m - 1 / (2 * dpo->beta);
        *slope = 2 * error;
        return error * error;
    }
    case ZOO_DPO_SIGMOID:
        break;
    }
    *slope = dpo->beta * (e * exp(log_sigmoid(x)) - (1 - e) * exp(log_sigmoid(-x)));
    return -(1 - e) * log_sigmoid(x) - e * log_sigmoid(-x);
}

/* d loss / d nats of the tokens of sequence @p s, when d loss / d log-probability is @p slope. */
static void weigh_tokens(const struct host *k, struct host_token *token, int64_t s, double slope)
{
    const int64_t T = k->model->T;
    int64_t n = 0;
    for (int64_t i = s * T; i < s * T + T; i++)
        n += token[i].counts;
    const bool mean = k->model->zoo.dpo.loss_type == ZOO_DPO_IPO;
    for (int64_t i = s * T; i < s * T + T; i++)
        token[i].weight = mean && n ? -slope / (double)n : -slope;
}

void host_pairs_loss(const struct host *k, const struct host_span *leaf, struct host_token *token,
                     struct model_loss *sum)
{
    const struct zoo_dpo *dpo = &k->model->zoo.dpo;
    const int64_t first = leaf->row / k->model->T, n = leaf->n / k->model->T;
    WSC_CHECK(n % 2 == 0, "%lld sequences are no pairs", (long long)n);
    for (int64_t s = first; s < first + n; s += 2) {
        const double chosen = log_probability(k, token, s);
        const double rejected = log_probability(k, token, s + 1);
        const double above = chosen - k->reference_logp[s];
        const double below = rejected - k->reference_logp[s + 1];
        double slope;
        sum->loss_sum += pair_loss(dpo, above - below, &slope);
        weigh_tokens(k, token, s, slope);
        weigh_tokens(k, token, s + 1, -slope);
        sum->n_sequences++;
        sum->n_sequences_correct += above > below;
        sum->rewards.chosen += dpo->beta * above;
        sum->rewards.rejected += dpo->beta * below;
        sum->rewards.chosen_logp += chosen;
        sum->rewards.rejected_logp += rejected;
    }
}
