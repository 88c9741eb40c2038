/** Input and output queues of a PE: rings of a depth of their own, one after the other in the
 *  lines of the PE. */
#ifndef WSC_MESH_QUEUE_H
#define WSC_MESH_QUEUE_H
#include "mesh_state.h"
#include "region.h"

#include <stdbool.h>
#include <stdint.h>

/* Queue of a PE: 0 .. 7 are input queues, those from MESH_N_IN on output queues. */
static inline struct mesh_queue *mesh_queue_of(const struct mesh_pe *pe, int queue)
{
    void *line = pe->queue + pe->slot[queue];
    return line;
}
/* Depth of input queue 0, the deepest, without the wavelets on the ramp. */
enum { MESH_DEEPEST_IN = 6 };

/* Number of wavelets that a queue holds on this machine: input queue 0 .. 7, output queue
 * MESH_N_IN + 0 .. 5. */
int mesh_queue_depth(const struct mesh *m, int queue);
/* Append an entry; the caller has checked that there is room. */
static inline void mesh_queue_push(struct mesh_queue *q, uint64_t entry)
{
    unsigned at = (unsigned)q->head + q->n;
    q->entry[at < q->depth ? at : at - q->depth] = entry;
    q->n++;
}
static inline uint64_t mesh_queue_pop(struct mesh_queue *q)
{
    uint64_t entry = q->entry[q->head++];
    if (q->head == q->depth) q->head = 0;
    q->n--;
    return entry;
}
/* The wavelet at the head of an input queue. */
static inline uint64_t mesh_queue_first(struct mesh_pe *pe, int queue)
{
    const struct mesh_queue *q = mesh_queue_of(pe, queue);
    return q->entry[q->head];
}
/* Remove the wavelet at the head of an input queue and return its payload. A queue that was full
 * has room again, so the router is visited. */
static inline uint32_t mesh_take_wavelet(struct mesh_region *r, struct mesh_pe *pe, int queue)
{
    struct mesh_queue *q = mesh_queue_of(pe, queue);
    bool was_full = q->n == q->depth;
    uint32_t value = (uint32_t)mesh_queue_pop(q);
    if (!q->n) pe->in_used &= (uint8_t) ~(1U << queue);
    if (was_full) mesh_visit_router(r->next, pe - r->pe);
    return value;
}
#endif
