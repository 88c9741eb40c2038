/** Memory of a PE. */
#ifndef WSC_MESH_MEMORY_H
#define WSC_MESH_MEMORY_H
#include "mesh_state.h"

#include <wsc/err.h>

#include <stdint.h>

/* Make address .. address + bytes - 1 exist; the range has been checked. */
enum wsc_err mesh_touch(struct mesh_pe *pe, int64_t end);
#endif
