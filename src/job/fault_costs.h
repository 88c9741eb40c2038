/** What each fault of the emulated machine cost a training.
 *
 *  Called by job_log.c when the training has ended; fault_table.c and job_performance.c show it. */
#ifndef WSC_JOB_FAULT_COSTS_H
#define WSC_JOB_FAULT_COSTS_H
#include "job_state.h"

/** Walk the run again, without values and without each fault in turn; sets fault and n_faults.
 *  In this process alone. */
enum wsc_err job_find_fault_costs(struct job_state *s) WSC_CHECKED;
#endif
