/** A cycle of a PE: its ramps, its main thread and its microthreads; mesh_cycle.c visits it when
 *  it has something to do. */
#ifndef WSC_MESH_PE_H
#define WSC_MESH_PE_H
#include "mesh_state.h"

#include <wsc/err.h>

#include <stdint.h>

enum wsc_err mesh_pe_cycle(struct mesh_region *r, int64_t at);
#endif
