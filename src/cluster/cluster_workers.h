/** Threads of a cluster without values in one process: which roles share one, and the prices that
 * go with each. */
#ifndef WSC_CLUSTER_WORKERS_H
#define WSC_CLUSTER_WORKERS_H
#include <wsc/cluster.h>

/** Choose threads for the roles of @p c, whose links are open, and the prices of each.  WSC_NOMEM.
 */
enum wsc_err cluster_workers_create(struct cluster *c) WSC_CHECKED;
void cluster_workers_destroy(struct cluster *c);
/** The prices for the wafer at position @p w of the machine, which those of its thread share. */
struct wafer_prices *cluster_prices_of(const struct cluster *c, int w);
#endif
