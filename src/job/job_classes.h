/** Scores of an evaluation by classes or sets of samples, as the Model Zoo takes them: the F1 of
 *  token classes (its FBetaScoreMetric), over the tokens of all batches the mean over the classes
 * of entities; and the accuracy of matched and of mismatched pairs of MNLI.
 *
 *  job_setup.c creates, job_evaluation.c begins, the hook of the shards adds each batch, job_log.c
 * reports. */
#ifndef WSC_JOB_JOB_CLASSES_H
#define WSC_JOB_JOB_CLASSES_H
#include "job_state.h"

/* Classes that an evaluation counts: those of token labels, or the sets of MNLI; 0 without values
 * and for other data. */
int64_t job_n_classes(const struct job_state *s);
/* Read which labels are left out, where samples are read: label_vocab_file lies there. */
enum wsc_err job_classes_create(struct job_state *s) WSC_CHECKED;
/* Give them to the other ranks, among them that of shard 0. Collective. */
void job_classes_share(struct job_state *s);
/* An evaluation starts to count. */
void job_classes_begin(struct job_state *s);
/* Hook of the shards: add the counts of a batch. */
enum wsc_err job_on_classes(void *ctx, const struct model_class_count *count, int64_t n);
/* Write the scores of the batches so far to @p score (JOB_MOST_SCORES); returns how many. NaN: no
 * class is an entity's, or a set is empty. */
int job_classes_evaluated(const struct job_state *s, struct job_score *score);
/* Free the counts. */
void job_classes_fini(struct job_classes *c);
#endif
