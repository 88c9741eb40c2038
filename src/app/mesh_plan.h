/** What a run of `wsc mesh KERNEL` will take on this host, before it runs: --plan, and the total of
 *  its progress. */
#ifndef WSC_APP_MESH_PLAN_H
#define WSC_APP_MESH_PLAN_H
#include "requests.h"

#include <wsc/err.h>
#include <wsc/kernels.h>

#include <stdint.h>

/** Cycles that the analytical model or the formula of kernel @p k expects of case @p c; 0: it has
 *  none. */
int64_t app_plan_cycles(const struct kernels_row *k, const struct programs_case *c);
/** Measure the rate of the kernel on a small fabric, print time and memory on several numbers of
 *  threads or ranks.  Errors are those of the small run. */
enum wsc_err app_plan_print(const struct app_mesh *o, const struct kernels_row *k) WSC_CHECKED;
#endif
