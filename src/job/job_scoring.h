/** Log-likelihoods of the requests of an evaluation harness: `wsc run --mode eval --requests FILE`.
 *  An evaluation whose samples are the requests; job_setup.c and job_evaluation.c call. */
#ifndef WSC_JOB_JOB_SCORING_H
#define WSC_JOB_JOB_SCORING_H
#include "job_state.h"

/** Read the requests of s->job into s->scoring. */
enum wsc_err job_scoring_create(struct job_state *s) WSC_CHECKED;
/** Free the object and set the pointer to NULL, which it may be before. */
void job_scoring_destroy(struct job_scoring **scoring);
/** A source of the requests' samples, from a file below model_dir of this rank alone. */
enum wsc_err job_scoring_open_data(struct job_state *s, struct data_source **out) WSC_CHECKED;
/** Batches of the evaluation. */
int64_t job_scoring_batches(const struct job_state *s);
/** Hook of the shards: keep what the samples of batch @p step got. */
enum wsc_err job_on_scores(void *ctx, int64_t step, const struct stream_score *score, int64_t n);
/** After the evaluation, where shard 0 is: metrics to stdout and `scores.json`. */
enum wsc_err job_scoring_end(struct job_state *s) WSC_CHECKED;
#endif
