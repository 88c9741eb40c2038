/** Simulated cycles of kernels compared with the analytical model.
 *
 *  The second half of `wsc validate`; the first half compares published figures.
 */
#ifndef WSC_APP_MESH_PAIRS_H
#define WSC_APP_MESH_PAIRS_H
#include "requests.h"

/** The median of @p n numbers, which are sorted. */
double app_median(double *x, int n);
/** `wsc validate --mesh`: simulated cycles beside the analytical model. */
enum wsc_err app_validate_mesh(const struct app_validate *request) WSC_CHECKED;
#endif
