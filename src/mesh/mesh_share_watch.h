/** Observations of processes that share a watched fabric, each of its own PEs, and their exchange
 *  between all processes. */
#ifndef WSC_MESH_SHARE_WATCH_H
#define WSC_MESH_SHARE_WATCH_H
#include "mesh_state.h"

#include <wsc/err.h>

/* Give every process the observations of all PEs, routers and edges. Collective, between two
 * cycles, with m->watch attached. */
enum wsc_err mesh_share_watch(struct mesh *m);
#endif
