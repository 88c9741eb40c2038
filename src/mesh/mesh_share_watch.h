/** What processes that share a watched fabric have seen, each of its own PEs, and how all of them
 *  get it. */
#ifndef WSC_MESH_SHARE_WATCH_H
#define WSC_MESH_SHARE_WATCH_H
#include "mesh_state.h"

#include <wsc/err.h>

/* Every process gets what was seen of all PEs, routers and edges.  Collective, between two cycles;
 * m->watch is attached. */
enum wsc_err mesh_share_watch(struct mesh *m);
#endif
