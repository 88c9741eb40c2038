/** A cycle of a PE: its ramps, its main thread and its microthreads; mesh_cycle.c visits it when
 *  it has something to do. */
#ifndef WSC_MESH_PE_H
#define WSC_MESH_PE_H
#include "mesh_state.h"

#include <wsc/err.h>

#include <stdint.h>

enum wsc_err mesh_pe_cycle(struct mesh_region *r, int64_t at);
/* Execute all elements of an operation that has begun as @p t, which advances, with words from @p
 * in and to @p out instead of queues; NULL where it has no such queue. */
void mesh_pe_words(const struct mesh_region *r, struct mesh_pe *pe, struct mesh_thread *t,
                   const uint32_t *in, uint32_t *out);
/* Execute @p n elements of the stream of place @p at without its queues: @p in are the words that
 * left the input queue, @p out those that enter the output queue; either is unused where the
 * stream has no such queue. */
void mesh_pe_elements(struct mesh_region *r, int64_t at, const uint32_t *in, uint32_t *out, int n);
#endif
