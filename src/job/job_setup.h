/** Set-up of a job, and what its loops ask about the cluster that was set up.
 *
 *  job.c sets up before the first pass; a training that has lost a wafer plans its batches again.
 */
#ifndef WSC_JOB_SETUP_H
#define WSC_JOB_SETUP_H
#include "job_state.h"

/** Set up everything before the first pass: roles, outputs, data, restore, bounds of the run,
 *  faults.  Collective; *@p report as of comm_agree(). */
enum wsc_err job_set_up(struct job_state *s, bool *report) WSC_CHECKED;
/** First part of job_set_up(), on one rank alone: model, plan, data; @p ahead leaves out the folder
 *  of results, which is not changed then. */
enum wsc_err job_set_up_inputs(struct job_state *s, bool ahead) WSC_CHECKED;
/** Cut the batches for the wafers that are there, and plan how they lie on one. */
enum wsc_err job_plan(struct job_state *s) WSC_CHECKED;
/** Path of run.log. The caller owns it, wsc_free(); NULL without memory. */
char *job_log_path(const struct job_state *s);
#endif
