/** What the params ask for and this program cannot do.
 *
 *  Called by job_setup.c on every rank before anything is built. */
#ifndef WSC_JOB_CHECK_H
#define WSC_JOB_CHECK_H
#include <wsc/job.h>

/** WSC_CONFIG or WSC_USAGE with the option that helps; WSC_OK when the job can run. */
enum wsc_err job_check(const struct job *job);
#endif
