/** Cycles of the fabric in batches, block by block, and the step from one batch to the next cycle
 *  in which something happens.  mesh_wave.c, run.c and team.c call them. */
#ifndef WSC_MESH_CYCLE_H
#define WSC_MESH_CYCLE_H
#include "mesh_state.h"

#include <wsc/err.h>

#include <stdbool.h>
#include <stdint.h>

/* The next batch of the round; false: there is none. */
bool mesh_region_batch(struct mesh_region *r);
/* Before a batch: what there is to do.  Regions that may flow wait for each other after it. */
void mesh_region_look(struct mesh_region *r);
/* Block @p block in cycle @p now, its places in their order; block @p next, if there is one, runs
 * the cycle after it next. */
void mesh_block_cycle(struct mesh_region *r, int64_t now, int64_t block, int64_t next);
/* News for the other processes when the regions of this one have run cycle @p now. */
void mesh_end_cycle(struct mesh *m, int64_t now);
/* A round of batches from cycle @p now on. */
void mesh_begin_cycle(struct mesh *m, int64_t now);
/* After a round: the next cycle in which something happens; false at the end. */
bool mesh_next_cycle(struct mesh *m);
#endif
