/** Simulated cycles of operations at real size compared with the analytical model.
 *
 *  A variant of `wsc validate --mesh`, whose sampled shapes are compared in mesh_pairs.c.
 */
#ifndef WSC_APP_MESH_WAFER_H
#define WSC_APP_MESH_WAFER_H
#include "requests.h"

/** `wsc validate --mesh --wafer`: print the cases; WSC_TOLERANCE beyond what is claimed. */
enum wsc_err app_validate_wafer(const struct app_validate *request) WSC_CHECKED;
#endif
