/** Allreduce of a row by a tree of two levels (WaferLLM, OSDI'25). program_reduce.c calls it for
 *  the algorithm ktree. */
#ifndef WSC_PROGRAMS_KTREE_H
#define WSC_PROGRAMS_KTREE_H
#include <wsc/err.h>
#include <wsc/programs.h>

enum wsc_err programs_run_ktree(const struct programs_case *c, struct programs_result *r);
#endif
