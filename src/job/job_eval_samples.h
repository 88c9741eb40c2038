/** Samples of the evaluations of a job.
 *
 *  Called by job_setup.c before the run, by job_training.c and job_evaluation.c in it. */
#ifndef WSC_JOB_EVAL_SAMPLES_H
#define WSC_JOB_EVAL_SAMPLES_H
#include "job_state.h"

/** Steps between evaluations; 0 or less: none but the last one, which 0 leaves out too. */
int64_t job_eval_every(const struct job_state *s);
/** Number of batches of an evaluation: eval_steps, or all whole ones of the data; the first call
 *  warns of samples that it leaves out or repeats.  Collective, the same on all ranks. */
enum wsc_err job_count_eval_batches(struct job_state *s, int64_t *n) WSC_CHECKED;
/** Refuse an evaluation of all batches of data that do not fill one.  Looks at the data of this
 *  rank alone. */
enum wsc_err job_check_eval_batches(const struct job_state *s) WSC_CHECKED;
/** Before a training with evaluations: read all that one of them reads, and refuse batches without
 *  a label.  Collective; an error may be that of one rank. */
enum wsc_err job_check_evaluations(struct job_state *s) WSC_CHECKED;
#endif
