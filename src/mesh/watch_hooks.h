/** Hooks through which the emulator reports events to an observer, one line at each place of an
 *  event. A hook (mesh_see_...) tests one pointer and does nothing else without an observer. */
#ifndef WSC_MESH_WATCH_HOOKS_H
#define WSC_MESH_WATCH_HOOKS_H
#include "mesh_state.h"
#include "mesh_watch.h"
#include "watch_state.h"

#include <stdint.h>

/* A router examines a channel that holds a wavelet. */
static inline void mesh_see_channel(struct mesh *m, int64_t now, int64_t router,
                                    const struct mesh_channel *ch)
{
    if (m->watch) mesh_watch_channel(m, now, router, ch);
}
/* The first wavelet of a channel is ready but cannot leave. */
static inline void mesh_see_held(struct mesh *m, int64_t now, int64_t router, int colour)
{
    if (m->watch) mesh_watch_held(m, now, router, colour);
}
/* A wavelet has left over all its links. */
static inline void mesh_see_left(struct mesh *m, int64_t now, int64_t router, int colour)
{
    if (m->watch) mesh_watch_left(m, now, router, colour);
}
/* A wavelet leaves over link @p d; it is not in the next channel yet. */
static inline void mesh_see_side(struct mesh *m, int64_t now, int64_t router,
                                 const struct mesh_channel *ch, int d)
{
    if (m->watch) mesh_watch_side(m, now, router, ch, d);
}
/* A wavelet leaves down the ramp; it is not in the input queue yet. */
static inline void mesh_see_down(struct mesh *m, int64_t now, int64_t router,
                                 const struct mesh_channel *ch)
{
    if (m->watch) mesh_watch_down(m, now, router, ch);
}
/* A wavelet enters over an edge; it is not in the channel yet. */
static inline void mesh_see_enters(struct mesh *m, int64_t now, const struct mesh_source *s,
                                   const struct mesh_channel *to)
{
    if (m->watch) mesh_watch_enters(m, now, s, to);
}
/* The first wavelet of an output queue goes up the ramp; it is not in the channel yet. */
static inline void mesh_see_up(const struct mesh_region *r, struct mesh_pe *pe, int queue,
                               const struct mesh_channel *to)
{
    if (r->m->watch) mesh_watch_up(pe, queue, to);
}
/* A task begins: local task @p id, or the task of the first wavelet of @p queue, which is still in
 * the queue. */
static inline void mesh_see_task(const struct mesh_region *r, struct mesh_pe *pe, int id, int queue)
{
    if (r->m->watch) mesh_watch_task(pe, id, queue);
}
/* Scalar code runs until pe->waits_until. */
static inline void mesh_see_wait(const struct mesh_region *r, struct mesh_pe *pe)
{
    if (r->m->watch) mesh_watch_wait(pe);
}
/* The task continues because @p thread is free. */
static inline void mesh_see_join(const struct mesh_region *r, struct mesh_pe *pe, int thread)
{
    if (r->m->watch) mesh_watch_join(pe, thread);
}
/* An operation has begun on its thread. */
static inline void mesh_see_op(const struct mesh_region *r, struct mesh_pe *pe,
                               const struct mesh_thread *op)
{
    if (r->m->watch) mesh_watch_op(pe, op);
}
/* An element of an operation with a fabric operand is about to be executed. */
static inline void mesh_see_element(const struct mesh_region *r, struct mesh_pe *pe, int thread)
{
    if (r->m->watch) mesh_watch_element(pe, thread);
}
/* The first wavelet of its queue is about to start a multiply-add of @p thread. */
static inline void mesh_see_arrival(const struct mesh_region *r, struct mesh_pe *pe, int thread)
{
    if (r->m->watch) mesh_watch_arrival(pe, thread);
}
/* An element could be executed, but other threads use the datapath. */
static inline void mesh_see_crowded(const struct mesh_region *r, struct mesh_pe *pe, int thread)
{
    if (r->m->watch) mesh_watch_crowded(pe, thread);
}
/* A part of a memory operation is executed. */
static inline void mesh_see_memory(const struct mesh_region *r, struct mesh_pe *pe, int thread)
{
    if (r->m->watch) mesh_watch_memory(pe, thread);
}
/* The operation on @p thread has ended in this cycle. */
static inline void mesh_see_op_end(const struct mesh_region *r, struct mesh_pe *pe, int thread,
                                   int64_t end)
{
    if (r->m->watch) mesh_watch_op_end(pe, thread, end);
}
/* A PE is visited in this cycle; its state has not changed yet. */
static inline void mesh_see_advance_switch(const struct mesh_region *r, struct mesh_pe *pe)
{
    if (r->m->watch) mesh_watch_advance_switch(pe);
}
/* The visit of the PE in this cycle is over, whether it sleeps now or not. */
static inline void mesh_see_cycle(const struct mesh_region *r, struct mesh_pe *pe)
{
    if (r->m->watch) mesh_watch_cycle(pe);
}
#endif
