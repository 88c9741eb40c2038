/** Streams that flow through a batch of cycles without a visit (mesh_flow.c): the places whose
 *  routers and PEs are known to move one wavelet of each of their streams in every cycle. */
#ifndef WSC_MESH_FLOW_STATE_H
#define WSC_MESH_FLOW_STATE_H
#include "mesh_channel.h"
#include "mesh_queue.h"
#include "mesh_state.h"
#include "region.h"

#include <stdbool.h>
#include <stdint.h>

/* What is put into a channel of place `at`, a word a cycle. */
struct mesh_flow_item {
    int32_t at, channel;
    uint32_t word[MESH_BATCH];
};
/* A border between a flowing place and a visited place: a channel of the visited place into which
 * the flowing place puts one word per cycle, or a channel of the flowing place from which it takes
 * one word per cycle. */
struct mesh_flow_link {
    struct mesh_flow_item item;
    int32_t next; /* of the same block, plus 1, or 0 */
    bool takes;
};
/* What streams bring from the region to the north, or to the south: at most one item a column.  The
 * other thread writes an item before the count that shows it. */
struct mesh_flow_inbox {
    _Alignas(MESH_LINE) _Atomic int n;
    int taken;
    struct mesh_flow_item *item;
};
/* Streams over the borders to the regions in the north and in the south. */
struct mesh_flow_crossings {
    int entering[2], leaving[2];
    bool late_leaves;  /* one leaves that takes from a place which is visited */
    bool enter_leaves; /* one enters and gives to a place which is visited */
    bool turns;        /* one enters and leaves over the same border */
};
struct mesh_flow {
    struct mesh_region *r;
    int64_t first; /* of the batch */
    /* Sets of places, in one array. */
    uint64_t *sets, *flows;
    uint64_t *pes, *routers;          /* with visits in the batch, in its first cycle */
    uint64_t *unsteady;               /* that may do anything, as other regions read it, too */
    uint64_t *crossing;               /* with streams from other regions or to them */
    uint64_t *flowed, *flowed_pes;    /* that flowed until flowed_until, whose PEs did something */
    uint64_t *spare;                  /* for work */
    int64_t flowed_until, n_channels; /* n_channels: that hold wavelets where places flowed */
    int64_t n_busy;                   /* places that are visited in this batch */
    bool tried;                       /* there may be streams in this batch */
    bool crosses;                     /* some of them from other regions or to them */
    bool joins, found;                /* those were tried to flow; streams have been found */
    /* Places beside the region that flow as its own do, in this batch and in the one before: of the
     * row in the north, then of the row in the south. */
    uint64_t *beyond, *beyond_before;
    int64_t beyond_words;
    struct mesh_flow_crossings crossings;
    struct mesh_flow_inbox inbox[2];
    /* Sets of the places of the region and of those before and after it that can reach it in a
     * batch and a cycle more, of `wide` words; the region begins with bit 64 * `margin`. */
    uint64_t *near, *next; /* that something unsteady may reach; for work */
    uint64_t *west, *east; /* of the first column, of the last one */
    int64_t wide, margin;
    struct mesh_flow_item *stack; /* channels that a search or a stream has reached */
    struct mesh_flow_link *link;
    int32_t *link_of;     /* by the block: the first one plus 1, or 0 */
    int n, capacity;      /* of the stack; capacity: of the links, too */
    int n_links, n_taken; /* n_taken: the first ones, which take */
    int skip, missed;     /* batches to go without a search; their last number */
};

static inline bool mesh_flow_has(const uint64_t *set, int64_t at)
{
    return set[at >> 6] >> (at & 63) & 1U;
}
static inline bool mesh_flow_is_here(const struct mesh_region *r, int64_t at)
{
    return (uint64_t)at < (uint64_t)r->n_pes;
}
/* On which side of the region a place beside it lies. */
static inline enum mesh_side mesh_flow_side(int64_t at)
{
    return at < 0 ? MESH_TO_NORTH : MESH_TO_SOUTH;
}
/* What belongs to the other region of this process that has place @p at, beside region @p r; or
 * NULL. */
static inline struct mesh_flow *mesh_flow_beside(const struct mesh_region *r, int64_t at)
{
    const struct mesh *m = r->m;
    const int64_t i = r - m->region + (at < 0 ? -1 : 1);
    return i >= m->own && i < m->own + m->n_own ? m->region[i].flow : NULL;
}
/* Does place @p at flow, of the region or beside it? */
static inline bool mesh_flow_goes_on(const struct mesh_flow *f, int64_t at)
{
    const struct mesh_region *r = f->r;
    if (mesh_flow_is_here(r, at)) return mesh_flow_has(f->flows, at);
    return mesh_flow_has(f->beyond, at + r->m->config.w - (at < 0 ? 0 : r->n_pes));
}
/* The channel of a colour at a router that has a route for it. */
static inline struct mesh_channel *mesh_flow_channel(const struct mesh_region *r, int64_t at,
                                                     int colour)
{
    const struct mesh_router *router = &r->router[at];
    const uint32_t below = (1U << colour) - 1U;
    return &r->channel[router->first + __builtin_popcount(router->colours & below)];
}
static inline uint64_t mesh_flow_gate(const struct mesh_channel *ch)
{
    return atomic_load_explicit(&ch->gate, memory_order_relaxed);
}
/* The thread of the stream of place @p at. */
static inline struct mesh_thread *mesh_flow_thread(const struct mesh_region *r, int64_t at)
{
    return mesh_thread_at(r, at, r->pe[at].streams);
}
/* The channel into which output queue @p queue of the PE sends. */
static inline struct mesh_channel *mesh_flow_up(const struct mesh_region *r, int64_t at, int queue)
{
    return &r->channel[mesh_queue_of(&r->pe[at], MESH_N_IN + queue)->link];
}
#endif
