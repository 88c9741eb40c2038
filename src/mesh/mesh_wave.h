/** The cycles of a batch in a region, block by block, in an order in which regions seldom wait for
 *  each other.  run.c and team.c call it. */
#ifndef WSC_MESH_WAVE_H
#define WSC_MESH_WAVE_H
#include "mesh_state.h"

#include <stdbool.h>
#include <stdint.h>

/* Prepare the region for the first cycle of a batch. */
void mesh_wave_begin(struct mesh_region *r);
/* Run all cycles of blocks that can run; blocks next to regions of other processes run no cycle
 * after @p now. Returns true if all blocks have run cycle @p now. If false, other regions have to
 * run first; mesh_wave_can_continue() is true when they have. */
bool mesh_wave_run(struct mesh_region *r, int64_t now);
/* Condition for mesh_wait_until(): @p region, a struct mesh_region whose last mesh_wave_run()
 * returned false, can continue. Reads what other threads write. */
bool mesh_wave_can_continue(const void *region);
#endif
