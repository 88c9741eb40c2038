/** Are model_dir and the file of --dump_gradients the same for all ranks with shards?
 *
 *  Called by job_setup.c before the first checkpoint is looked for. */
#ifndef WSC_JOB_SHARED_FOLDER_H
#define WSC_JOB_SHARED_FOLDER_H
#include "job_state.h"

/** job_check_shared() for the files that ranks with shards write together. Collective; *@p report
 * as of comm_agree(). */
enum wsc_err job_check_shared_files(const struct job_state *s, bool *report);
#endif
