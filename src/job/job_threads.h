/** Threads of a job on this rank. */
#ifndef WSC_JOB_THREADS_H
#define WSC_JOB_THREADS_H
#include "job_state.h"

/** Set the number of threads (num_init()): after cluster_create(), before the first pass. */
void job_choose_threads(const struct job_state *s);
#endif
