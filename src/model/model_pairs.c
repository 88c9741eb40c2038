// SPDX-License-Identifier: Apache-2.0
/* Direct preference optimization (Rafailov et al. 2023, equation 7; with noisy labels Mitchell
 * 2023, equation 3; hinge: Zhao et al. 2023; IPO: Azar et al. 2023, equation 17).  With
 * log-probability l of a sequence under the policy and r under the reference the margin of a pair
 * is m = (l chosen - r chosen) - (l rejected - r rejected).  Its derivative reaches the logits
 * through the cross entropies, so that a token weighs -dL/dm in the chosen text and dL/dm in the
 * other.  The heads of the host (host_pairs.c) and of the mesh (program_pairs.c) call. */
#include <wsc/model.h>

#include <math.h>

/* The sum of what the tokens of a sequence have counts, or their mean. */
static double summed(const struct zoo_dpo *dpo, double x, int64_t n_tokens)
{
    return dpo->loss_type == ZOO_DPO_IPO ? x / (double)n_tokens : x;
}

double model_sequence_logp(const struct zoo_dpo *dpo, double nats, int64_t n_tokens)
{
    return summed(dpo, -nats, n_tokens);
}

double model_pair_weight(const struct zoo_dpo *dpo, double slope, int64_t n_tokens)
{
    return summed(dpo, -slope, n_tokens);
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

double model_pair_add(const struct zoo_dpo *dpo, const struct model_pair *pair,
                      struct model_loss *sum)
{
    const double above = pair->chosen - pair->reference_chosen;
    const double below = pair->rejected - pair->reference_rejected;
    double slope;
    sum->loss_sum += pair_loss(dpo, above - below, &slope);
    sum->n_sequences++;
    sum->n_sequences_correct += above > below;
    sum->rewards.chosen += dpo->beta * above;
    sum->rewards.rejected += dpo->beta * below;
    sum->rewards.chosen_logp += pair->chosen;
    sum->rewards.rejected_logp += pair->rejected;
    return slope;
}
