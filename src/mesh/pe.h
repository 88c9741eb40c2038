/** A cycle of a PE. */
#ifndef WSC_MESH_PE_H
#define WSC_MESH_PE_H
#include "mesh_state.h"

#include <wsc/err.h>

#include <stdint.h>

enum wsc_err mesh_pe_cycle(struct mesh_region *r, int64_t at);
#endif
