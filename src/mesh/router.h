/** A cycle of a router, which moves at most one wavelet over each link; and a cycle of the sources
 *  at the edges. */
#ifndef WSC_MESH_ROUTER_H
#define WSC_MESH_ROUTER_H
#include "mesh_state.h"

#include <wsc/err.h>

#include <stdint.h>

enum wsc_err mesh_router_cycle(struct mesh_region *r, int64_t at);
/* Run one cycle of the edge sources that feed routers of the block. */
void mesh_sources_cycle(struct mesh_region *r, int64_t block);
#endif
