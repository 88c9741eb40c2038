/** A cycle of a PE: its ramps, its main thread and its microthreads; mesh_cycle.c visits it when
 *  it has something to do. */
#ifndef WSC_MESH_PE_H
#define WSC_MESH_PE_H
#include "mesh_state.h"

#include <wsc/err.h>

#include <stdint.h>

enum wsc_err mesh_pe_cycle(struct mesh_region *r, int64_t at);
/* Execute @p n elements of the stream of place @p at without its queues: @p in are the words that
 * left the input queue, @p out those that enter the output queue; either is unused where the
 * stream has no such queue. */
void mesh_pe_elements(struct mesh_region *r, int64_t at, const uint32_t *in, uint32_t *out, int n);
#endif
