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

/* Longest pause between two searches for streams, batches. */
enum { MESH_FLOW_LONGEST_SKIP = 7 };

/* The words that enter a channel of place `at` in a batch, one per cycle. */
struct mesh_flow_item {
    int32_t at, channel;
    uint32_t word[MESH_BATCH];
};
/* A border between a flowing place and a visited place: a channel of the visited place into which
 * the flowing place puts one word per cycle, or a channel of the flowing place from which it takes
 * one word per cycle. */
struct mesh_flow_link {
    struct mesh_flow_item item;
    int32_t next; /* next link of the same block, plus 1, or 0 */
    bool takes;
};
/* The words that streams bring from the region to the north or to the south: at most one item for
 * each column. The other thread writes an item before it increases the count. */
struct mesh_flow_inbox {
    _Alignas(MESH_LINE) _Atomic int n;
    int taken;
    struct mesh_flow_item *item;
};
/* Number and kinds of streams over the borders to the regions in the north and in the south. */
struct mesh_flow_crossings {
    int entering[2], leaving[2];
    bool late_leaves;  /* a leaving stream takes from a visited place */
    bool enter_leaves; /* an entering stream gives to a visited place */
    bool returns;      /* a stream enters and leaves over one border */
};
struct mesh_flow {
    struct mesh_region *r;
    int64_t first; /* first cycle of the batch */
    /* Sets of places, in one array. */
    uint64_t *sets, *flows;
    uint64_t *pes, *routers;          /* visited in the batch; in its first cycle */
    uint64_t *unsteady;               /* may do anything; other regions read it */
    uint64_t *crossing;               /* with streams from or to other regions */
    uint64_t *flowed, *flowed_pes;    /* flowed until flowed_until; with their PE */
    uint64_t *spare;                  /* temporary */
    int64_t flowed_until, n_channels; /* n_channels: that hold wavelets where places flowed */
    int64_t n_busy;                   /* number of places visited in this batch */
    bool tried;                       /* a search takes place in this batch */
    bool crosses;                     /* it found streams from or to other regions */
    bool joins, found;                /* joins: those may flow; found: streams were found */
    /* Places beside the region (the row in the north, then the row in the south) that flow
     * together with places of the region, in this batch and in the last one. */
    uint64_t *beyond, *beyond_before;
    int64_t beyond_words;
    struct mesh_flow_crossings crossings;
    struct mesh_flow_inbox inbox[2];
    /* Bitmaps, `wide` words each, of the places of the region and of those before and after it
     * from which a disturbance can reach it in a batch and one cycle. The region begins with bit
     * 64 * `margin`. */
    uint64_t *near, *next; /* that a disturbance may reach; temporary */
    uint64_t *west, *east; /* the first column; the last column */
    int64_t wide, margin;
    struct mesh_flow_item *stack; /* channels that are still to be followed */
    struct mesh_flow_link *link;
    int32_t *link_of;     /* for each block its first link plus 1, or 0 */
    int n, capacity;      /* n: of the stack; capacity: also of the links */
    int n_links, n_taken; /* n_taken: the first links, which take */
    int skip, missed;     /* batches to go without a search; length of the last pause */
};

static inline bool mesh_flow_has(const uint64_t *set, int64_t at)
{
    return set[at >> 6] >> (at & 63) & 1U;
}
static inline bool mesh_flow_is_here(const struct mesh_region *r, int64_t at)
{
    return (uint64_t)at < (uint64_t)r->n_pes;
}
/* The side of the region on which a place beside it lies. */
static inline enum mesh_side mesh_flow_side(int64_t at)
{
    return at < 0 ? MESH_TO_NORTH : MESH_TO_SOUTH;
}
/* The flow of the neighbouring region that has place @p at, beside region @p r; NULL when this
 * process does not run that region. */
static inline struct mesh_flow *mesh_flow_beside(const struct mesh_region *r, int64_t at)
{
    const struct mesh *m = r->m;
    const int64_t i = r - m->region + (at < 0 ? -1 : 1);
    return i >= m->own && i < m->own + m->n_own ? m->region[i].flow : NULL;
}
/* True when place @p at, in the region or beside it, flows. */
static inline bool mesh_flow_flows_at(const struct mesh_flow *f, int64_t at)
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
