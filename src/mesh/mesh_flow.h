/** Streams that nothing can disturb during a batch: they move through all cycles of the batch at
 *  once, without visits. mesh_cycle.c calls these functions. */
#ifndef WSC_MESH_FLOW_H
#define WSC_MESH_FLOW_H
#include "mesh_state.h"

#include <wsc/err.h>

#include <stdbool.h>
#include <stdint.h>

/* Prepare a run. Watched runs and small regions have no flows. */
enum wsc_err mesh_flow_prepare(struct mesh *m);
/* Number of batches from cycle @p next on in which no region searches for streams, even if all are
 * busy; at least 1. */
int64_t mesh_flow_pause(const struct mesh *m, int64_t next);
/* True when no region searches in this round, so that threads need not synchronize in it. */
static inline bool mesh_flow_pauses(const struct mesh *m)
{
    return m->until - m->round > MESH_BATCH;
}
/* First phase before a batch: which places of the region may flow. Other regions read the
 * result. */
void mesh_flow_look(struct mesh_region *r);
/* Second phase, between the synchronizations of mesh_flow_cross.h: find streams, including those
 * over borders of regions. */
void mesh_flow_join(struct mesh_region *r);
/* Third phase, when all regions have finished the first ones: find streams and move those that
 * begin at a PE. */
void mesh_flow_begin(struct mesh_region *r);
/* Before block @p block is visited in cycle @p now: exchange words between streams and visited
 * places, and remove the places that flow from the list of visits. */
void mesh_flow_cycle(struct mesh_region *r, int64_t now, int64_t block);
/* After the batch: move the other streams, which take their words from visited places. */
void mesh_flow_end(struct mesh_region *r);
void mesh_flow_free(struct mesh_flow *f);
#endif
