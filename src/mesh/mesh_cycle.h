/** Cycles of the fabric in batches, region by region, and the step from one batch to the next cycle
 *  in which something happens. team.c calls them, with a barrier after each cycle. */
#ifndef WSC_MESH_CYCLE_H
#define WSC_MESH_CYCLE_H
#include "mesh_state.h"

#include <wsc/err.h>

#include <stdbool.h>
#include <stdint.h>

/* Before a batch: what there is to do.  Regions that may flow wait for each other after it. */
void mesh_region_look(struct mesh_region *r);
/* What of a batch depends on no other region: all of a region that is alone. */
void mesh_region_inner(struct mesh_region *r);
/* The rest, cycle by cycle, when all regions have run the one before. */
void mesh_region_outer(struct mesh_region *r, int64_t now);
/* News for the other processes when the regions of this one have run cycle @p now. */
void mesh_end_cycle(struct mesh *m, int64_t now);
/* A batch of cycles from @p now on. */
void mesh_begin_cycle(struct mesh *m, int64_t now);
/* After a batch: the next cycle in which something happens; false at the end. */
bool mesh_next_cycle(struct mesh *m);
#endif
