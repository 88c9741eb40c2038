/** The beginning of an operation on a thread of a PE. task.c calls it for what the running task
 *  has issued, when the thread is free. */
#ifndef WSC_MESH_THREAD_H
#define WSC_MESH_THREAD_H
#include "mesh_state.h"

#include <wsc/err.h>

/* Begin the operation @p todo on its thread in the current cycle. */
enum wsc_err mesh_thread_begin(struct mesh_region *r, struct mesh_pe *pe,
                               const struct mesh_thread *todo);
#endif
