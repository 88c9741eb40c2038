/** Which training is a checkpoint of?
 *
 *  Called by job_checkpoint.c with an open file, and by job_setup.c before training begins. */
#ifndef WSC_JOB_HISTORY_H
#define WSC_JOB_HISTORY_H
#include "job_state.h"

/** Params of this run into a checkpoint; collective as store_set_text(). */
enum wsc_err job_history_write(const struct job_state *s, struct store_file *file) WSC_CHECKED;
/** Warn of params that are not those of the run that wrote the checkpoint; with @p resumes another
 *  model is an error. */
enum wsc_err job_history_check(const struct job_state *s, struct store_file *file,
                               bool resumes) WSC_CHECKED;
/** Does the file @p path lie in the folder @p dir itself? false if one of them does not exist. */
bool job_lies_in(const char *path, const char *dir);
/** Does the run resume, after step 0, from a checkpoint in model_dir?  For rank 0. */
bool job_history_resumes_here(const struct job_state *s);
/** Move checkpoints of later steps than the present one out of model_dir: the run went back and
 *  repeats these steps, and its next start resumes from the largest step.  For rank 0. */
enum wsc_err job_history_undo(const struct job_state *s) WSC_CHECKED;
/** Before a training begins: move checkpoints that it does not resume from out of model_dir, if it
 *  writes any itself, and copy the metrics beside them.  On rank 0, nothing on others. */
enum wsc_err job_set_aside(const struct job_state *s) WSC_CHECKED;
#endif
