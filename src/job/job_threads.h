/** The number of threads that a job computes with on this rank.
 *  Read docs/decisions/0054-number-of-threads.md for the reasons. */
#ifndef WSC_JOB_THREADS_H
#define WSC_JOB_THREADS_H
#include "job_state.h"

/** Set the number of threads (num_init()): after cluster_create(), before the first pass. */
void job_choose_threads(const struct job_state *s);
#endif
