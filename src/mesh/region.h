/** A region of the fabric, the rows that one thread runs: its timers, its mail to neighbouring
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
/* Counts of the regions that ran here; the length of the run is the end of the last cycle in which
 * one did something. */
void mesh_regions_stats(const struct mesh *m, struct mesh_stats *stats);
enum wsc_err mesh_timer_add(struct mesh_region *r, int64_t cycle, int64_t at);
/* Visits of all timers of the batch; mesh_timer_add() lists those that join them. */
void mesh_fire_timers(struct mesh_region *r);
/* The first cycle for which there is a timer, or INT64_MAX. */
int64_t mesh_next_timer(const struct mesh_region *r);
/* What the neighbour on side @p side has sent in the cycle before @p now. */
void mesh_take_mail(struct mesh_region *r, enum mesh_side side, int64_t now);
/* @p what (colours, MESH_MAIL_WAKE) for router @p at of a neighbouring region, below 0 or from
 * n_pes on. */
void mesh_send_mail(struct mesh_region *r, int64_t at, uint32_t what);

/* Router or PE @p at of the region has something to do in the cycle of the list @p a. */
static inline void mesh_visit_router(struct mesh_active a, int64_t at)
{
    a.routers[at >> 6] |= 1ULL << (at & 63);
}
static inline void mesh_visit_pe(struct mesh_active a, int64_t at)
{
    a.pes[at >> 6] |= 1ULL << (at & 63);
}
/* The list of visits of a cycle; MESH_AHEAD of them are used in turn. */
static inline struct mesh_active mesh_active_in(const struct mesh_region *r, int64_t cycle)
{
    return r->active[(uint64_t)cycle % MESH_AHEAD];
}
/* Does this process run the PE? */
static inline bool mesh_is_own(const struct mesh_pe *pe)
{
    const int64_t region = pe->region - pe->region->m->region;
    return region >= pe->region->m->own && region < pe->region->m->own + pe->region->m->n_own;
}
/* Thread @p thread of place @p at; of a microthread mesh_thread_make() has made it. */
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
/* Before an operation begins on a thread: microthreads are made as they are used. */
static inline enum wsc_err mesh_thread_make(struct mesh_region *r, struct mesh_pe *pe, int thread)
{
    const int64_t at = pe - r->pe;
    if (thread) pe->micro = (uint8_t)thread;
    if (!thread || r->micro[thread - 1][at / MESH_MICRO_BLOCK]) return WSC_OK;
    return mesh_thread_block(r, at, thread);
}
/* A PE or an edge does something in this cycle. */
static inline void mesh_did(struct mesh_region *r)
{
    if (r->last < r->now + 1) r->last = r->now + 1;
}
#endif
