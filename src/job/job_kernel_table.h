/** The table of cycles by kernel, after a run with --numerics mesh.
 *
 *  Called by job_log.c, unless --json asks for performance.json in its place. */
#ifndef WSC_JOB_KERNEL_TABLE_H
#define WSC_JOB_KERNEL_TABLE_H
#include "job_performance.h"

/** Print the kernels that were called on stdout, with their share of all cycles. */
enum wsc_err job_kernels_print(const struct job_kernel *kernel, int n) WSC_CHECKED;
#endif
