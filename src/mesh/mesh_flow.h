/** Streams that nothing can disturb during a batch: they move through all cycles of the batch at
 *  once, without visits. mesh_cycle.c calls these functions. */
#ifndef WSC_MESH_FLOW_H
#define WSC_MESH_FLOW_H
#include "mesh_state.h"

#include <wsc/err.h>

#include <stdbool.h>
#include <stdint.h>

/* Before a run; watched runs and small regions have no flows. */
enum wsc_err mesh_flow_prepare(struct mesh *m);
/* For how many batches from cycle @p next on will no region look for streams, though all are busy?
 * At least 1. */
int64_t mesh_flow_pause(const struct mesh *m, int64_t next);
/* Does none look in this round, so that regions need not meet in it? */
static inline bool mesh_flow_rests(const struct mesh *m)
{
    return m->until - m->round > MESH_BATCH;
}
/* Before the batch of the region, and before another region runs it: which places may flow. */
void mesh_flow_look(struct mesh_region *r);
/* Between the meetings of mesh_flow_cross.h: finds streams, those over borders of regions, too. */
void mesh_flow_join(struct mesh_region *r);
/* When all regions have looked: finds streams and moves those that begin at a PE. */
void mesh_flow_begin(struct mesh_region *r);
/* Before block @p block is visited in cycle @p now: what goes from streams to places that are
 * visited and back; takes the places that flow out of the list. */
void mesh_flow_cycle(struct mesh_region *r, int64_t now, int64_t block);
/* After the batch: moves the other streams. */
void mesh_flow_end(struct mesh_region *r);
void mesh_flow_free(struct mesh_flow *f);
#endif
