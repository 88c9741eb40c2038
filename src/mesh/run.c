// SPDX-License-Identifier: Apache-2.0
/* The cycles of a run: what a region does in one cycle (sources, timers and mail, then routers,
 * then PEs), how the next cycle in which something happens is found, and mesh_run(). With several
 * threads team.c drives the regions; deadlock.c judges the end. */
#include "watch.h"

/* ---- visits ---------------------------------------------------------------------------------- */

/* What a visit reads lies in lines that are far apart, and the next visit is to some other place:
 * they are fetched ahead in three steps, each by what the one before has brought. */
enum { FIRST_AHEAD = 6, SECOND_AHEAD = 4, THIRD_AHEAD = 2 };

static void fetch_first(const struct mesh_region *r, const struct mesh_visit *v)
{
    __builtin_prefetch(&r->pe[v->at]);
    if (v->router) __builtin_prefetch(&r->router[v->at]);
    if (v->pe) __builtin_prefetch(&r->thread[0][v->at]);
}

static void fetch_second(const struct mesh_region *r, const struct mesh_visit *v)
{
    const struct mesh_pe *pe = &r->pe[v->at];
    const struct mesh_channel *ch = &r->channel[r->router[v->at].first];
    for (int i = 0; i < 3; i++)
        __builtin_prefetch(pe->queue + i);
    for (int i = 0; i < 3; i++)
        __builtin_prefetch(ch + i);
    if (v->pe && pe->threads > 1)
        __builtin_prefetch(&r->thread[__builtin_ctz(pe->threads & ~1U)][v->at]);
}

static void fetch_third(const struct mesh_region *r, const struct mesh_visit *v)
{
    const struct mesh_pe *pe = &r->pe[v->at];
    if (v->pe && pe->threads)
        __builtin_prefetch(pe->memory + r->thread[__builtin_ctz(pe->threads)][v->at].at[1]);
}

/* Takes the places of a chunk; @return how many. */
static int list_visits(struct mesh_region *r, struct mesh_active *active, int64_t chunk)
{
    const int64_t first = chunk * MESH_CHUNK;
    struct mesh_visit *v = r->visit;
    active->chunk[chunk] = false;
    for (int64_t i = first; i < first + MESH_CHUNK && i < r->n_words; i++) {
        struct mesh_active_word now = active->word[i];
        active->word[i] = (struct mesh_active_word){0, 0};
        for (uint64_t set = now.routers | now.pes; set; set &= set - 1) {
            int bit = __builtin_ctzll(set);
            *v++ = (struct mesh_visit){.at = (int32_t)(i * 64 + bit),
                                       .router = now.routers >> bit & 1,
                                       .pe = now.pes >> bit & 1};
        }
    }
    return (int)(v - r->visit);
}

/* Router and PE of a place one after the other: neither sees what the others do in this cycle, and
 * what they share is in the caches. */
static enum wsc_err visit(struct mesh_region *r, int n)
{
    const struct mesh_visit *v = r->visit;
    for (int k = 0; k < n; k++, v++) {
        if (k + FIRST_AHEAD < n) fetch_first(r, v + FIRST_AHEAD);
        if (k + SECOND_AHEAD < n) fetch_second(r, v + SECOND_AHEAD);
        if (k + THIRD_AHEAD < n) fetch_third(r, v + THIRD_AHEAD);
        if (v->router) TRY(mesh_router_cycle(r, v->at));
        if (v->pe) TRY(mesh_pe_cycle(r, v->at));
    }
    return WSC_OK;
}

enum wsc_err mesh_region_move(struct mesh_region *r)
{
    struct mesh_active *active = mesh_active_in(r, r->now);
    for (int64_t i = 0; i * MESH_CHUNK < r->n_words; i++)
        if (active->chunk[i]) TRY(visit(r, list_visits(r, active, i)));
    return WSC_OK;
}

void mesh_region_begin(struct mesh_region *r)
{
    if (r->m->n_regions > 1) mesh_take_mail(r);
    mesh_fire_timers(r);
    mesh_sources_cycle(r);
}

/* ---- from cycle to cycle --------------------------------------------------------------------- */

static bool source_can_send(const struct mesh *m)
{
    for (int i = 0; i < m->n_sources; i++) {
        const struct mesh_source *s = &m->source[i];
        const struct mesh_channel *ch = &m->channel[s->channel];
        if (s->next < s->n && mesh_channel_open(ch, m->region->now + 1, s->side)) return true;
    }
    return false;
}

static bool is_active(const struct mesh_region *r)
{
    bool any = r->mail[r->m->parity][0].any || r->mail[r->m->parity][1].any;
    for (int k = 0; k < MESH_AHEAD; k++)
        for (int64_t i = 0; i * MESH_CHUNK < r->n_words; i++)
            any = any || r->active[k].chunk[i];
    return any;
}

static bool somebody_is_active(const struct mesh *m)
{
    bool any = false;
    for (int i = 0; i < m->n_regions && !any; i++)
        any = is_active(&m->region[i]);
    return any;
}

static void region_at(struct mesh_region *r, int64_t now)
{
    const struct mesh *m = r->m;
    r->now = now;
    r->next = mesh_active_in(r, now + 1);
    r->arrival = mesh_active_in(r, now + m->ramp_down);
    r->ready_next = mesh_ready_bits(now + 1);
    r->ready_hop = mesh_ready_bits(now + m->hop);
    r->ready_down = mesh_ready_bits(now + m->ramp_down);
    r->ready_up = mesh_ready_bits(now + m->ramp_up);
    r->colour_turn = (int)(now % MESH_COLOURS);
}

static void begin_cycle(struct mesh *m, int64_t now)
{
    for (int i = 0; i < m->n_regions; i++)
        region_at(&m->region[i], now);
    m->parity ^= 1;
    m->expired = now >= m->config.max_cycles;
}

bool mesh_failed(const struct mesh *m)
{
    for (int i = 0; i < m->n_regions; i++)
        if (m->region[i].rc) return true;
    return false;
}

bool mesh_next_cycle(struct mesh *m)
{
    int64_t timer = INT64_MAX, next = m->region->now + 1;
    if (mesh_failed(m)) return false;
    if (!somebody_is_active(m) && !source_can_send(m)) {
        for (int i = 0; i < m->n_regions; i++) {
            int64_t first = mesh_next_timer(&m->region[i]);
            if (first < timer) timer = first;
        }
        if (timer == INT64_MAX) return false;
        next = timer;
    }
    begin_cycle(m, next);
    return !m->expired;
}

/* ---- a run ----------------------------------------------------------------------------------- */

static void start_region(struct mesh_region *r)
{
    r->channel = r->m->channel;
    for (int64_t at = 0; at < r->n_pes; at++)
        if (r->pe[at].activated) mesh_visit_pe(mesh_active_in(r, 0), at);
}

static enum wsc_err start(struct mesh *m)
{
    if (m->linked)
        return WSC_RAISE(WSC_USAGE,
                         "mesh: a program runs once; mesh_clear makes room for the next");
    TRY(mesh_link(m));
    for (int i = 0; i < m->n_regions; i++)
        start_region(&m->region[i]);
    begin_cycle(m, 0);
    return WSC_OK;
}

static enum wsc_err run_alone(struct mesh *m)
{
    do {
        mesh_region_begin(m->region);
        TRY(mesh_region_move(m->region));
    } while (mesh_next_cycle(m));
    return WSC_OK;
}

static void add_stats(const struct mesh *m, struct mesh_stats *stats)
{
    *stats = (struct mesh_stats){0};
    for (int i = 0; i < m->n_regions; i++) {
        const struct mesh_region *r = &m->region[i];
        if (r->last > stats->cycles) stats->cycles = r->last;
        stats->wavelets += r->stats.wavelets;
        stats->wavelet_hops += r->stats.wavelet_hops;
        stats->elements += r->stats.elements;
    }
}

enum wsc_err mesh_run(struct mesh *m, struct mesh_stats *stats)
{
    TRY(start(m));
    if (m->watch) TRY(mesh_watch_begin(m));
    TRY(m->n_regions > 1 ? mesh_team_run(m) : run_alone(m));
    if (m->expired) TRY(mesh_check_limit(m));
    add_stats(m, stats);
    TRY(mesh_check_end(m));
    return m->watch ? mesh_watch_finish(m, stats->cycles) : WSC_OK;
}
