/** Published cycles of products whose matrix lies in the PEs, beside simulated ones.
 *
 *  A variant of `wsc validate --mesh`, whose sampled shapes are compared in mesh_pairs.c.
 */
#ifndef WSC_APP_MESH_PRODUCTS_H
#define WSC_APP_MESH_PRODUCTS_H
#include "requests.h"

/** `wsc validate --mesh --products`: print the figures; WSC_TOLERANCE when a simulated one leaves
 *  the tolerance of its row. */
enum wsc_err app_validate_products(const struct app_validate *request) WSC_CHECKED;
#endif
