/** Passes of a job whose virtual time is recorded (struct job_recording of <wsc/job.h>).
 *
 *  The loops of training, evaluation and generation run all their passes through job_run_pass(). */
#ifndef WSC_JOB_RECORD_H
#define WSC_JOB_RECORD_H
#include "job_state.h"

/** The job's passes begin: its steps are [@p first_step, @p last_step). */
void job_record_plan(const struct job_state *s, int64_t first_step, int64_t last_step);
/** cluster_run_pass(), with the steps recorded that the job asks for. */
enum wsc_err job_run_pass(struct job_state *s, const struct stream_pass *pass,
                          const struct wafer_work *work);
#endif
