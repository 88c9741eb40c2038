/** The table of what faults cost, after a training of a machine that has some.
 *
 *  Called by job_log.c, unless --json asks for performance.json in its place. */
#ifndef WSC_JOB_FAULT_TABLE_H
#define WSC_JOB_FAULT_TABLE_H
#include "job_performance.h"

/** Print a row for each of the @p n faults on stdout, in the order of the list. */
enum wsc_err job_fault_costs_print(const struct job_fault_cost *fault, int n) WSC_CHECKED;
#endif
