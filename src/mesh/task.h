/** A cycle of the main thread of a PE: the running task continues with what it has issued, or the
 *  next task is picked. */
#ifndef WSC_MESH_TASK_H
#define WSC_MESH_TASK_H
#include "mesh_state.h"

#include <wsc/err.h>

#include <stdbool.h>

/* One cycle of the main thread: the running task continues, or the next one is picked. Sets @p
 * busy when another task may follow in the next cycle. */
enum wsc_err mesh_main_cycle(struct mesh_region *r, struct mesh_pe *pe, bool *busy);
#endif
