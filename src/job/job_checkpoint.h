/** Checkpoints of a job.  All functions are collective over the job, and every rank returns the
 *  same error.
 *
 *  Called by job.c, and by job_stop.c for a run that is asked to stop. */
#ifndef WSC_JOB_CHECKPOINT_H
#define WSC_JOB_CHECKPOINT_H
#include "job_state.h"

/** Choose a checkpoint and load it, or initialize the weights; sets step, samples, start_path. */
enum wsc_err job_restore(struct job_state *s);
/** Check that the run can begin with the file @p path: that it is there, has the states that the
 *  params ask for and is of the model of the params. On one rank alone; no values are read. */
enum wsc_err job_check_start(const struct job_state *s, const char *path) WSC_CHECKED;
/** Is the checkpoint of @p step there and good? On one rank alone; reads the file. */
bool job_can_restore(const struct job_state *s, int64_t step);
/** Load the checkpoint of step @p step again, in the middle of a run that lost the memory of a
 *  shard. */
enum wsc_err job_restore_again(struct job_state *s, int64_t step);
/** WSC_NUMERIC if a weight is NaN or infinite; the message names the first tensor and the step. */
enum wsc_err job_check_weights(struct job_state *s);
/** Check the weights and write the checkpoint of the present step, then remove what max_checkpoints
 * leaves out. */
enum wsc_err job_save(struct job_state *s);
/** Write the mean gradients of the newest step for --dump_gradients. */
enum wsc_err job_dump_gradients(struct job_state *s);
#endif
