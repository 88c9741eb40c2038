/** Which samples a training reads: kept in its checkpoints and compared when it resumes.
 *
 *  job_setup.c identifies them before the restore, job_checkpoint.c writes and compares. */
#ifndef WSC_JOB_SAMPLES_H
#define WSC_JOB_SAMPLES_H
#include "job_state.h"

/** Identify the samples of train_input, into s->checkpoint.samples.  Reads at most two blocks of
 *  1 MiB of each file.  Collective; *@p report as of comm_agree(). */
enum wsc_err job_identify_samples(struct job_state *s, bool *report);

/** Refuse a run that reads more samples than there are of an input that does not repeat.  Called
 *  when the first and the last step are known.  Collective, equal on all ranks.  WSC_CONFIG. */
enum wsc_err job_check_ends(const struct job_state *s) WSC_CHECKED;

/** Warn when a checkpoint, whose stream of samples this run continues, was written with others:
 *  @p then is all zero where the file does not say. */
void job_compare_samples(const struct job_state *s, const struct job_samples *then);
/** Whole batches of the data of @p phase, the same on all ranks.  Collective. */
int64_t job_whole_batches(const struct job_state *s, const struct job_phase *phase);
#endif
