/** A cycle of a PE: its ramps, its main thread and its microthreads; mesh_cycle.c visits it when
 *  it has something to do. */
#ifndef WSC_MESH_PE_H
#define WSC_MESH_PE_H
#include "mesh_state.h"

#include <wsc/err.h>

#include <stdint.h>

enum wsc_err mesh_pe_cycle(struct mesh_region *r, int64_t at);
/* @p n elements of the stream of place @p at, but for its queues: @p in has left the input queue,
 * @p out goes into the output queue; either is not used where the stream has none. */
void mesh_pe_elements(struct mesh_region *r, int64_t at, const uint32_t *in, uint32_t *out, int n);
#endif
