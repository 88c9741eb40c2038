/** A cycle of the fabric, region by region, and the step from one cycle to the next in which
 *  something happens. team.c calls them, with a barrier between the phases. */
#ifndef WSC_MESH_CYCLE_H
#define WSC_MESH_CYCLE_H
#include "mesh_state.h"

#include <wsc/err.h>

#include <stdbool.h>
#include <stdint.h>

/* A cycle: what comes from outside; routers and PEs. */
void mesh_region_begin(struct mesh_region *r);
enum wsc_err mesh_region_move(struct mesh_region *r);
/* Put every region into cycle @p now. */
void mesh_begin_cycle(struct mesh *m, int64_t now);
/* Between two cycles: the next one in which something happens; false at the end. */
bool mesh_next_cycle(struct mesh *m);
#endif
