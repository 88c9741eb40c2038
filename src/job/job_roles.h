/** What this rank is in a job.
 *
 *  Some parts of a run, such as reading samples, are left to the ranks with one role. */
#ifndef WSC_JOB_ROLES_H
#define WSC_JOB_ROLES_H
#include <wsc/cluster.h>

/** True when this rank has a wafer: it reads samples. */
bool job_has_wafer(const struct cluster *c);
/** True when this rank has a MemoryX shard: it writes its part of a checkpoint. */
bool job_has_shard(const struct cluster *c);
#endif
