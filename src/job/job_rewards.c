// SPDX-License-Identifier: Apache-2.0
/* Metrics of preference optimization with the names of the Model Zoo, which has other ones in
 * training than in evaluation: rewards of the chosen and of the rejected text (beta times the
 * log-ratio of policy and reference), their margin, the share of pairs with a positive margin, and
 * log-probabilities under the policy.  src/host/host_pairs.c computes the sums; job_log.c calls. */
#include "job_rewards.h"

/* Without reference model there are no rewards: the last two rows remain. */
enum { WITH_REFERENCE = 4 };
static const struct {
    const char *trained, *evaluated, *key, *eval_key;
} names[JOB_MOST_SCORES] = {
    {"chosen_rewards", "eval/rewards_chosen", "chosen_rewards", "eval_rewards_chosen"},
    {"rejected_rewards", "eval/rewards_rejected", "rejected_rewards", "eval_rewards_rejected"},
    {"reward_margins", "eval/rewards_margins", "reward_margins", "eval_rewards_margins"},
    {"reward_accuracies", "eval/rewards_accuracies", "reward_accuracies",
     "eval_rewards_accuracies"},
    {"policy_chosen_logps", "eval/logps_chosen", "policy_chosen_logps", "eval_logps_chosen"},
    {"policy_rejected_logps", "eval/logps_rejected", "policy_rejected_logps",
     "eval_logps_rejected"}};

void job_rewards_add(struct model_rewards *to, const struct model_rewards *batch)
{
    to->chosen += batch->chosen;
    to->rejected += batch->rejected;
    to->chosen_logp += batch->chosen_logp;
    to->rejected_logp += batch->rejected_logp;
}

static int fill(const struct model *model, const struct stream_loss *sums, bool evaluated,
                struct job_score *score)
{
    const struct model_rewards *r = &sums->rewards;
    const double n = (double)sums->n_sequences;
    const double mean[JOB_MOST_SCORES] = {r->chosen / n,
                                          r->rejected / n,
                                          (r->chosen - r->rejected) / n,
                                          (double)sums->n_sequences_correct / n,
                                          r->chosen_logp / n,
                                          r->rejected_logp / n};
    int n_scores = 0;
    if (!model->zoo.dpo.on || !sums->n_sequences) return 0;
    for (int i = model->n_reference ? 0 : WITH_REFERENCE; i < JOB_MOST_SCORES; i++)
        score[n_scores++] =
            (struct job_score){evaluated ? names[i].evaluated : names[i].trained,
                               evaluated ? names[i].eval_key : names[i].key, mean[i]};
    return n_scores;
}

int job_rewards_trained(const struct model *model, const struct stream_loss *sums,
                        struct job_score *score)
{
    return fill(model, sums, false, score);
}

int job_rewards_evaluated(const struct model *model, const struct stream_loss *sums,
                          struct job_score *score)
{
    return fill(model, sums, true, score);
}
