/** Do all ranks work on the same job?
 *
 *  Called by job_setup.c before the first pass; job_compare_commands(), which comes before
 *  everything else, is in <wsc/job.h>. */
#ifndef WSC_JOB_SAME_H
#define WSC_JOB_SAME_H
#include "job_state.h"

/** Compare the sample files of the ranks with wafers; WSC_CONFIG names the first rank that has
 *  others, and a file that differs.  Collective; *@p report as of comm_agree(). */
enum wsc_err job_compare_data(const struct job_state *s, bool *report);
#endif
