/** Is model_dir the same folder on all hosts with shards?
 *
 *  Called by job_setup.c before the first checkpoint is looked for. */
#ifndef WSC_JOB_SHARED_FOLDER_H
#define WSC_JOB_SHARED_FOLDER_H
#include "job_state.h"

/** WSC_IO names a host that does not see what rank 0 puts into model_dir.  Collective; *@p report
 *  as of comm_agree(). */
enum wsc_err job_check_shared(const struct job_state *s, bool *report);
#endif
