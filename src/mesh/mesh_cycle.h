/** Cycles of the fabric in batches, block by block, and the step from one batch to the next cycle
 *  in which something happens.  mesh_wave.c, run.c and team.c call them. */
#ifndef WSC_MESH_CYCLE_H
#define WSC_MESH_CYCLE_H
#include "mesh_state.h"

#include <wsc/err.h>

#include <stdbool.h>
#include <stdint.h>

/* Set the next batch of cycles of the round; false when the round is finished. */
bool mesh_region_batch(struct mesh_region *r);
/* Before a batch: take due timers and, where streams are possible, find out which places may flow.
 * Regions that may flow wait for each other afterwards. */
void mesh_region_examine(struct mesh_region *r);
/* Run cycle @p now of block @p block, its places in order. @p next, if it exists, is the block
 * that runs the following cycle; its first places are prefetched. */
void mesh_block_cycle(struct mesh_region *r, int64_t now, int64_t block, int64_t next);
/* Send what crossed to the other processes, after the regions of this process have run cycle @p
 * now. */
void mesh_end_cycle(struct mesh *m, int64_t now);
/* Begin a round of batches at cycle @p now. */
void mesh_begin_cycle(struct mesh *m, int64_t now);
/* After a round: begin the next one at the next cycle in which something happens; false at the end
 * of the run. */
bool mesh_next_cycle(struct mesh *m);
#endif
