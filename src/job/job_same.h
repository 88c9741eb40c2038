/** Do all ranks work on the same job?
 *
 *  Called by job.c before the first pass; job_compare_commands(), which comes before everything
 *  else, is in <wsc/job.h>. */
#ifndef WSC_JOB_SAME_H
#define WSC_JOB_SAME_H
#include "job_state.h"

/** Compare the samples that ranks with wafers read; WSC_CONFIG names the first rank that reads
 *  others.  Collective; *@p report as of comm_agree(). */
enum wsc_err job_compare_data(const struct job_state *s, bool *report);
#endif
