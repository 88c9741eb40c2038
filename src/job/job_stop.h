/** What asks a training run to stop.  Collective over the job, but for job_stop_end().
 *
 *  Called by job.c around the loops, by these between passes. */
#ifndef WSC_JOB_STOP_H
#define WSC_JOB_STOP_H
#include "job_state.h"

/** From now on the signals of <wsc/stop.h> are questions, which job_stop_look() answers. */
void job_stop_begin(struct job_state *s);
/** Signals end the process again. */
void job_stop_end(void);
/** After @p n_steps steps since the last look: set signal and steps_per_look of `stop` on all
 * ranks. */
void job_stop_look(struct job_state *s, int64_t n_steps);
/** Before steps of another kind: the next look comes after the first of them. */
void job_stop_restart(struct job_state *s);
/** Write a checkpoint and raise WSC_INTERRUPTED. */
enum wsc_err job_stop_here(struct job_state *s) WSC_CHECKED;
#endif
