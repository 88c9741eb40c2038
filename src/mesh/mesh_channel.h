/** A channel, one colour at one router: a queue with a single sender. The tail belongs to the
 *  sender, the gate to the router, so that two threads need no lock. */
#ifndef WSC_MESH_CHANNEL_H
#define WSC_MESH_CHANNEL_H
#include "mesh_state.h"
#include "region.h"

#include <wsc/mesh.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The channel of @p colour at router @p router, or NULL when the colour has no route there. */
static inline struct mesh_channel *mesh_channel_of(const struct mesh *m, int64_t router, int colour)
{
    const struct mesh_router *r = &m->router[router];
    if (!(r->colours >> colour & 1U)) return NULL;
    return &m->channel[r->first + __builtin_popcount(r->colours & ((1U << colour) - 1U))];
}
/* True when the channel takes a wavelet from @p side (a set of one direction) in cycle @p now. */
static inline bool mesh_channel_open(const struct mesh_channel *ch, int64_t now, unsigned side)
{
    uint64_t gate = atomic_load_explicit(&ch->gate, memory_order_relaxed);
    const unsigned left_now = gate >> 32 == (uint64_t)(now + 1);
    const uint8_t n = (uint8_t)(atomic_load_explicit(&ch->tail, memory_order_relaxed) - gate);
    return (unsigned)gate >> (8 + 8 * left_now) & side && n + left_now < MESH_FIFO;
}
/* Number of wavelets in a channel whose gate is @p gate. */
static inline int mesh_channel_count(const struct mesh_channel *ch, uint64_t gate)
{
    return (uint8_t)(atomic_load_explicit(&ch->tail, memory_order_acquire) - gate);
}
/* Append an entry. It is written before the tail, which makes it visible (release;
 * mesh_channel_count() acquires). */
static inline void mesh_channel_put(struct mesh_channel *ch, uint64_t entry)
{
    uint8_t tail = atomic_load_explicit(&ch->tail, memory_order_relaxed);
    ch->entry[tail % MESH_FIFO] = entry;
    atomic_store_explicit(&ch->tail, (uint8_t)(tail + 1), memory_order_release);
}
/* Append an entry to a channel of a router of this region, and schedule a visit of the router. */
static inline void mesh_channel_push(struct mesh_region *r, int64_t at, struct mesh_channel *ch,
                                     uint64_t entry)
{
    mesh_channel_put(ch, entry);
    r->router[at].waiting |= 1U << ch->colour;
    mesh_visit_router(r->next, at);
}
#endif
