/** What is bound at a PE before the start. */
#ifndef WSC_MESH_PROGRAM_H
#define WSC_MESH_PROGRAM_H
#include "mesh_state.h"

#include <wsc/err.h>
#include <wsc/mesh.h>

enum wsc_err mesh_check_local(const struct mesh *m, struct mesh_rect at, int id);
#endif
