/** Which products of a run multiply zeros of sparse weights, and why.
 *
 *  Called by job_log.c at the start of a run that computes values on the host. */
#ifndef WSC_JOB_ZEROS_H
#define WSC_JOB_ZEROS_H
#include <wsc/model.h>

/** Log a line for each reason that a sparse tensor has after @p updates updates; nothing where all
 *  zeros are left out. */
void job_log_zeros(const struct model *model, int64_t updates);
#endif
