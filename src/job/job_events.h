/** Events for TensorBoard, on rank 0 only.
 *
 *  Opened by job_setup.c, closed by job.c, written by job_log.c. */
#ifndef WSC_JOB_EVENTS_H
#define WSC_JOB_EVENTS_H
#include "job_state.h"

/** Open the folders of the kinds of pass that this run has. */
enum wsc_err job_events_open(struct job_state *s, bool trains, bool evaluates) WSC_CHECKED;
/** Close them; also after an error of job_events_open(). */
void job_events_close(struct job_state *s);
/** One logged step, with what is left of the run. */
enum wsc_err job_events_train(struct job_state *s, const struct job_logged_step *step,
                              const struct job_pace *pace) WSC_CHECKED;
/** Means over one evaluation, at the step that training has reached. */
enum wsc_err job_events_eval(struct job_state *s, const struct job_evaluation *e) WSC_CHECKED;
#endif
