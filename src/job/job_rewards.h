/** What is logged of preference optimization: means over pairs of rewards and log-probabilities.
 *  job_log.c calls after each logged step and each evaluation. */
#ifndef WSC_JOB_REWARDS_H
#define WSC_JOB_REWARDS_H
#include "job_performance.h"

#include <wsc/stream.h>

/** Add the sums of a batch. */
void job_rewards_add(struct model_rewards *to, const struct model_rewards *batch);
/** Means over the pairs of @p sums under the names of the Model Zoo's summaries of training, into
 *  @p score (JOB_MOST_SCORES); returns how many: 0 without pairs, 2 without reference model. */
int job_rewards_trained(const struct model *model, const struct stream_loss *sums,
                        struct job_score *score);
/** Means over the pairs of an evaluation under the names of its metrics, else like
 *  job_rewards_trained(). */
int job_rewards_evaluated(const struct model *model, const struct stream_loss *sums,
                          struct job_score *score);
#endif
