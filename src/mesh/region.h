/** A region of the fabric, the rows that one thread runs: its timers, its messages to neighbouring
 *  regions, and the marks of the places that are active in a cycle. */
#ifndef WSC_MESH_REGION_H
#define WSC_MESH_REGION_H
#include "mesh_state.h"

#include <wsc/err.h>

#include <stdbool.h>
#include <stdint.h>

enum wsc_err mesh_regions_init(struct mesh *m);
void mesh_regions_fini(struct mesh *m);
void mesh_region_clear(struct mesh_region *r);
/* Forget the visits of list @p k. */
void mesh_active_clear(struct mesh_region *r, int k);
/* Add up the counts of the regions of this process. The length of the run is the end of the last
 * cycle in which a region did something. */
void mesh_regions_stats(const struct mesh *m, struct mesh_stats *stats);
enum wsc_err mesh_timer_add(struct mesh_region *r, int64_t cycle, int64_t at);
/* Schedule the visits of all timers of the batch; mesh_timer_add() adds those that follow. */
void mesh_fire_timers(struct mesh_region *r);
/* The first cycle for which there is a timer, or INT64_MAX. */
int64_t mesh_next_timer(const struct mesh_region *r);
/* Take the messages that the neighbour on side @p side has sent in the cycle before @p now. */
void mesh_mailbox_take(struct mesh_region *r, enum mesh_side side, int64_t now);
/* Send @p what (colours, MESH_MAILBOX_WAKE) to router @p at of a neighbouring region: @p at is
 * below 0 or at least n_pes. */
void mesh_mailbox_post(struct mesh_region *r, int64_t at, uint32_t what);

/* Schedule a visit of router @p at of the region, in the cycle of the list @p a; likewise
 * mesh_visit_pe(). */
static inline void mesh_visit_router(struct mesh_active a, int64_t at)
{
    a.routers[at >> 6] |= 1ULL << (at & 63);
}
static inline void mesh_visit_pe(struct mesh_active a, int64_t at)
{
    a.pes[at >> 6] |= 1ULL << (at & 63);
}
/* The list of visits of a cycle; MESH_AHEAD lists are used in turn. */
static inline struct mesh_active mesh_active_in(const struct mesh_region *r, int64_t cycle)
{
    return r->active[(uint64_t)cycle % MESH_AHEAD];
}
/* True when this process runs the PE. */
static inline bool mesh_is_own(const struct mesh_pe *pe)
{
    const int64_t region = pe->region - pe->region->m->region;
    return region >= pe->region->m->own && region < pe->region->m->own + pe->region->m->n_own;
}
/* Thread @p thread of place @p at; a microthread must have been made by mesh_thread_make(). */
static inline struct mesh_thread *mesh_thread_at(const struct mesh_region *r, int64_t at,
                                                 int thread)
{
    const uint64_t place = (uint64_t)at;
    if (!thread) return &r->main[place];
    return &r->micro[thread - 1][place / MESH_MICRO_BLOCK][place % MESH_MICRO_BLOCK];
}
static inline struct mesh_thread *mesh_thread_of(const struct mesh_region *r,
                                                 const struct mesh_pe *pe, int thread)
{
    return mesh_thread_at(r, pe - r->pe, thread);
}
enum wsc_err mesh_thread_block(struct mesh_region *r, int64_t at, int thread);
/* Allocate a microthread before its first operation; the main thread always exists. */
static inline enum wsc_err mesh_thread_make(struct mesh_region *r, struct mesh_pe *pe, int thread)
{
    const int64_t at = pe - r->pe;
    if (thread) pe->micro = (uint8_t)thread;
    if (!thread || r->micro[thread - 1][at / MESH_MICRO_BLOCK]) return WSC_OK;
    return mesh_thread_block(r, at, thread);
}
/* Record that a PE or an edge does something in this cycle. */
static inline void mesh_did(struct mesh_region *r)
{
    if (r->last < r->now + 1) r->last = r->now + 1;
}
#endif
