/** What a job logs: hooks of shard 0, and the results at the end.
 *
 *  job_setup.c gives the hooks to the cluster; the loops ask for the results, job_generate.c for
 * its own. */
#ifndef WSC_JOB_LOG_H
#define WSC_JOB_LOG_H
#include "job_state.h"

/** Hook of shard 0, struct job_state as @p ctx: add up a batch and log it when it is due. */
enum wsc_err job_on_batch(void *ctx, const struct memoryx_batch *batch);
/** Size of the model and of the machine, and the plan, before the first pass. */
void job_log_start(const struct job_state *s);
/** Warn about keys of the optimizer that name frozen tensors alone. */
void job_warn_of_frozen(const struct zoo_params *params, const struct model *model);
/** What the progress of the run is called: the job's title, otherwise @p by_mode. */
const char *job_progress_name(const struct job_state *s, const char *by_mode);
/** The largest process that holds a wafer, and the largest that holds a shard; the most that a rank
 *  has sent. Collective. */
void job_measure_host(struct job_state *s);
/** Count what the links have carried in a run with values.  Collective. */
enum wsc_err job_log_carried(struct job_state *s) WSC_CHECKED;
/** Means over the batches of an evaluation that is complete; nothing on ranks without shard 0. */
enum wsc_err job_log_eval_end(struct job_state *s);
/** performance.json of a training, and with @p show its tables, unless the job prints none.  Rank 0
 * only. */
enum wsc_err job_write_performance(struct job_state *s, bool show);
/** performance.json of a generation.  Rank 0 only. */
enum wsc_err job_write_generated(struct job_state *s);
#endif
