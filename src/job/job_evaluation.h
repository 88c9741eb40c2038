/** Evaluation of a job.
 *
 *  Called by job.c for a run that only evaluates, and by the training loop where one is due. */
#ifndef WSC_JOB_EVALUATION_H
#define WSC_JOB_EVALUATION_H
#include "job_state.h"

/** Evaluate eval_steps batches, or all of the data, and log the result.  WSC_INTERRUPTED when a
 *  signal stopped it: the checkpoint then says that the evaluation is due. */
enum wsc_err job_evaluate(struct job_state *s) WSC_CHECKED;
#endif
