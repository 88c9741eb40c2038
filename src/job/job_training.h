/** The training loop of a job.
 *
 *  Called by job.c after the set-up. */
#ifndef WSC_JOB_TRAINING_H
#define WSC_JOB_TRAINING_H
#include "job_state.h"

/** Train to the last step of the run, with the checkpoints, evaluations and faults on the way.
 *  WSC_INTERRUPTED when a signal stopped it, WSC_NUMERIC when the loss is not finite. */
enum wsc_err job_train(struct job_state *s) WSC_CHECKED;
#endif
