/** Bindings of a program at a PE before the start: tasks, queues of colours. Here is the check
 *  that an id is that of a local task. */
#ifndef WSC_MESH_PROGRAM_H
#define WSC_MESH_PROGRAM_H
#include "mesh_state.h"

#include <wsc/err.h>
#include <wsc/mesh.h>

/* Forget all bindings: every PE has the empty one. */
enum wsc_err mesh_bindings_clear(struct mesh *m);
void mesh_bindings_free(struct mesh *m);
enum wsc_err mesh_check_local(const struct mesh *m, struct mesh_rect at, int id);
#endif
