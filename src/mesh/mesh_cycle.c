// SPDX-License-Identifier: Apache-2.0
/* Runs a cycle of a block of places, and finds the next batch of cycles in which something
 * happens. A place depends on the state of its neighbours at the start of the cycle alone, so a
 * block may run a cycle as soon as the blocks beside it have run the one before. mesh_wave.c orders
 * the blocks so that their data stays in the caches from one cycle to the next. run.c repeats
 * batches on the calling thread, team.c on several threads. */
#include "mesh_cycle.h"
#include "mesh_channel.h"
#include "mesh_flow.h"
#include "mesh_queue.h"
#include "mesh_share.h"
#include "mesh_state.h"
#include "pe.h"
#include "region.h"
#include "router.h"
#include "snapshot.h"

#include <wsc/check.h>

#include <string.h>

/* ---- visits ---------------------------------------------------------------------------------- */

/* Prefetch. A visit reads cache lines that are far apart, and the next visit is at another place.
 * Lines are prefetched in three steps; each step uses addresses that the last step has loaded. gcc
 * takes a function that only prefetches for one without effect and drops its calls, unless it is
 * inlined before: hence FETCH. */
#define FETCH static inline __attribute__((always_inline))
enum { FIRST_AHEAD = MESH_FETCH_AHEAD, SECOND_AHEAD = 7, THIRD_AHEAD = 3 };

static inline int64_t place_of(struct mesh_visit v)
{
    return v.what >> MESH_VISIT_BITS;
}

FETCH void fetch_first(const struct mesh_region *r, struct mesh_visit v)
{
    const int64_t at = place_of(v);
    __builtin_prefetch(&r->pe[at]);
    __builtin_prefetch(&r->pe[at].blocked);
    __builtin_prefetch(&r->router[at]);
    __builtin_prefetch(&r->main[at]);
}

FETCH void fetch_second(const struct mesh_region *r, struct mesh_visit v)
{
    const int64_t at = place_of(v);
    const struct mesh_pe *pe = &r->pe[at];
    const struct mesh_channel *ch = &r->channel[r->router[at].first];
    uint32_t heads = pe->queue_heads;
    for (int i = 0; i < 3; i++, heads &= heads - 1U)
        __builtin_prefetch(pe->queue + (__builtin_ctz(heads | 1U << 31) & 31));
    for (int i = 0; i < 3; i++)
        __builtin_prefetch(ch + i);
    if (!(v.what & MESH_VISIT_PE)) return;
    if (pe->micro) __builtin_prefetch(mesh_thread_at(r, at, pe->micro));
    if (pe->next_todo != pe->n_todo) __builtin_prefetch(pe->todo + pe->next_todo);
}

/* Third step: the channel after the first wavelet of the router, and the memory that the operation
 * of the PE reads; if none runs yet, the memory of the last one, which the next one often reads
 * too. */
FETCH void fetch_third(const struct mesh_region *r, struct mesh_visit v)
{
    const int64_t at = place_of(v);
    const struct mesh_pe *pe = &r->pe[at];
    const struct mesh_router *router = &r->router[at];
    const struct mesh_thread *t = &r->main[at];
    const uint32_t below = (router->waiting & -router->waiting) - 1U;
    const struct mesh_channel *ch =
        &r->channel[router->first + __builtin_popcount(router->colours & below)];
    if (router->waiting && ch->tx > MESH_RAMP) {
        const int32_t to = ch->to[mesh_direction(ch->tx & ~MESH_RAMP) - 1];
        __builtin_prefetch(&r->channel[to < 0 ? 0 : to]);
    }
    if (!(v.what & MESH_VISIT_PE)) return;
    if (pe->threads && !(pe->threads & 1U)) t = mesh_thread_at(r, at, __builtin_ctz(pe->threads));
    __builtin_prefetch(pe->memory + t->at[1]);
    __builtin_prefetch(pe->memory + t->at[2]);
    if (!pe->in_used) return;
    const struct mesh_queue *q = mesh_queue_of(pe, __builtin_ctz(pe->in_used));
    __builtin_prefetch(&q->entry[q->head]);
}

/* The visits of a block in a cycle: @c words words of the bitmaps of routers and PEs, which begin
 * with place `first`. */
struct block_visits {
    uint64_t *routers, *pes;
    int64_t words, first;
};
static struct block_visits visits_of(const struct mesh_region *r, int64_t now, int64_t block)
{
    const int64_t words = (int64_t)1 << (r->block_shift - 6), first = block * words;
    const int64_t left = r->n_words - first;
    const struct mesh_active active = mesh_active_in(r, now);
    return (struct block_visits){.routers = active.routers + first,
                                 .pes = active.pes + first,
                                 .words = left < words ? left : words,
                                 .first = 64 * first};
}

static int count(const struct block_visits *b)
{
    int n = 0;
    for (int64_t i = 0; i < b->words; i++)
        n += __builtin_popcountll(b->routers[i] | b->pes[i]);
    return n;
}

/* List visits in the order of their places until @p most; returns the end of the list. */
static struct mesh_visit *list(const struct block_visits *b, struct mesh_visit *v,
                               const struct mesh_visit *most)
{
    for (int64_t i = 0; i < b->words; i++) {
        for (uint64_t set = b->routers[i] | b->pes[i]; set && v < most; set &= set - 1) {
            const int bit = __builtin_ctzll(set);
            const uint32_t router = b->routers[i] >> bit & MESH_VISIT_ROUTER;
            const uint32_t pe = b->pes[i] >> bit << 1 & MESH_VISIT_PE;
            const uint32_t at = (uint32_t)(b->first + 64 * i + bit);
            *v++ = (struct mesh_visit){at << MESH_VISIT_BITS | router | pe};
        }
    }
    return v;
}

/* List the @p n places of a block to visit in cycle @p now. For prefetching, some known places of
 * block @p next, which runs the cycle after it, follow them. */
static void take_visits(struct mesh_region *r, int64_t now, int64_t next,
                        const struct block_visits *b, int n)
{
    struct mesh_visit *end = list(b, r->visit, r->visit + n), *most = end + MESH_FETCH_AHEAD;
    for (int64_t i = 0; i < b->words; i++)
        b->routers[i] = b->pes[i] = 0;
    if (next >= 0 && next < r->n_blocks && now + 1 < r->until) {
        const struct block_visits after = visits_of(r, now + 1, next);
        end = list(&after, end, most);
    }
    while (end < most)
        *end++ = r->visit[n - 1];
}

/* True if the cache lines of a block with @p n visited places are prefetched. They are not if the
 * second-level cache holds all places (1 MiB, 0.5 to 1 KB per place), or if most places are visited
 * in every cycle, since the last cycle has then loaded them. */
static bool fetches(const struct mesh_region *r, int64_t now, int n)
{
    enum { IN_CACHE = 1024 };
    if (r->n_pes <= IN_CACHE) return false;
    return now == r->batch || 2 * n < 1 << r->block_shift;
}

/* Visit router and PE of a place one after the other: neither sees changes of other places in this
 * cycle, and the data that they share is in the caches. */
static inline enum wsc_err visit(struct mesh_region *r, int64_t at, bool router, bool pe)
{
    if (router) TRY(mesh_router_cycle(r, at));
    if (pe) TRY(mesh_pe_cycle(r, at));
    return WSC_OK;
}

static enum wsc_err visit_ahead(struct mesh_region *r, int n)
{
    const struct mesh_visit *v = r->visit;
    for (int k = 0; k < n; k++, v++) {
        fetch_first(r, v[FIRST_AHEAD]);
        fetch_second(r, v[SECOND_AHEAD]);
        fetch_third(r, v[THIRD_AHEAD]);
        TRY(visit(r, place_of(*v), v->what & MESH_VISIT_ROUTER, v->what & MESH_VISIT_PE));
    }
    return WSC_OK;
}

/* Visit the places of one word of the bitmaps, which begins with place @p first. */
static enum wsc_err visit_word(struct mesh_region *r, int64_t first, uint64_t routers, uint64_t pes)
{
    for (uint64_t set = routers | pes; set; set &= set - 1) {
        const int bit = __builtin_ctzll(set);
        TRY(visit(r, first + bit, routers >> bit & 1U, pes >> bit & 1U));
    }
    return WSC_OK;
}

/* Visit the places of a block in order, without prefetching. */
static enum wsc_err visit_near(struct mesh_region *r, const struct block_visits *b)
{
    for (int64_t i = 0; i < b->words; i++) {
        const uint64_t routers = b->routers[i], pes = b->pes[i];
        b->routers[i] = b->pes[i] = 0;
        TRY(visit_word(r, b->first + 64 * i, routers, pes));
    }
    return WSC_OK;
}

/* Prepare what all visits in cycle @p now read: the lists of later visits, and the times at which
 * sent wavelets arrive. */
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

/* ---- a batch of cycles ----------------------------------------------------------------------- */

/* True when cycle @p now of @p block comes after an error of this region. Earlier cycles, and
 * earlier blocks of the same cycle, still run: they may have an earlier error, which is the one to
 * report. */
static bool is_over(const struct mesh_region *r, int64_t now, int64_t block)
{
    return now > r->error_in || (now == r->error_in && block >= r->error_block);
}

void mesh_block_cycle(struct mesh_region *r, int64_t now, int64_t block, int64_t next)
{
    const bool feeds = r->first_source && r->first_source[block] < r->first_source[block + 1];
    if (is_over(r, now, block)) return;
    if (feeds) {
        region_at(r, now);
        mesh_sources_cycle(r, block);
    }
    if (r->flows) {
        region_at(r, now);
        mesh_flow_cycle(r, now, block);
    }
    const struct block_visits b = visits_of(r, now, block);
    const int n = count(&b);
    if (!n) return;
    const bool ahead = fetches(r, now, n);
    if (ahead) take_visits(r, now, next, &b, n);
    region_at(r, now);
    if (r->visited < now) r->visited = now;
    const enum wsc_err rc = ahead ? visit_ahead(r, n) : visit_near(r, &b);
    if (!rc) return;
    r->rc = rc;
    r->error_in = now;
    r->error_block = block;
    atomic_store_explicit(&r->m->failing, true, memory_order_relaxed);
}

bool mesh_region_batch(struct mesh_region *r)
{
    const struct mesh *m = r->m;
    const int64_t left = m->until - r->until;
    r->batch = r->until;
    if (left > 0) r->until += left < MESH_BATCH ? left : MESH_BATCH;
    return left > 0;
}

void mesh_region_examine(struct mesh_region *r)
{
    for (enum mesh_side side = 0; side < MESH_SIDES && r->batch == r->m->round; side++)
        mesh_mailbox_take(r, side, r->batch);
    mesh_fire_timers(r);
    mesh_flow_look(r);
}

void mesh_end_cycle(struct mesh *m, int64_t now)
{
    if (!m->together || m->share_rc) return;
    m->horizon = now;
    if (now + 1 < m->until) m->share_rc = mesh_share_cycle(m);
}

/* ---- from cycle to cycle --------------------------------------------------------------------- */

/* True while an edge source of this process has wavelets and an open channel. Sources are not in
 * the lists of visits, so they are asked here. */
static bool source_can_send(const struct mesh *m)
{
    for (int i = 0; i < m->n_sources; i++) {
        const struct mesh_source *s = &m->source[i];
        const struct mesh_channel *ch = &m->channel[s->channel];
        if (s->next < s->n && mesh_is_own(&m->pe[s->router]) &&
            mesh_channel_open(ch, m->region->now + 1, s->side))
            return true;
    }
    return false;
}

/* True when the region has visits or messages for one of the next cycles. */
static bool is_active(const struct mesh_region *r)
{
    uint64_t any = 0;
    for (int i = 0; i < 4; i++)
        any |= r->mailbox[i / 2][i % 2].any;
    for (int k = 1; k <= MESH_LATENCY; k++) {
        const uint64_t *w = mesh_active_in(r, r->now + k).routers;
        for (int64_t i = 0; i < 2 * r->n_words && !any; i++)
            any = w[i];
    }
    return any;
}

static bool somebody_is_active(const struct mesh *m)
{
    bool any = false;
    for (int i = 0; i < m->n_own && !any; i++)
        any = is_active(&m->region[m->own + i]);
    return any;
}

/* Router-cycles after which progress is reported at the latest: some hundredths of a second. */
enum { ROUTER_CYCLES = 1 << 22 };

/* Number of batches that regions run without a barrier, from cycle @p next on: more than one if
 * nothing has to be decided between them and the fabric is so small that progress is reported in
 * time. */
static int64_t batches(const struct mesh *m, int64_t next)
{
    const int64_t most = ROUTER_CYCLES / MESH_BATCH / m->n_pes;
    if (m->n_own == 1 || m->border || most < 1) return 1;
    const int64_t n = mesh_flow_pause(m, next);
    return n < most ? n : most;
}

/* The last cycle that regions may run from cycle @p next on, until something has to be decided
 * again. */
static int64_t last_of_round(const struct mesh *m, int64_t next)
{
    int64_t last = next + (m->watch ? 1 : MESH_BATCH * batches(m, next)) - 1;
    if (last >= m->config.max_cycles) last = m->config.max_cycles - 1;
    if (m->border && last > m->horizon) last = m->horizon;
    return mesh_snapshot_horizon(m, last);
}

void mesh_begin_cycle(struct mesh *m, int64_t now)
{
    m->expired = now >= m->config.max_cycles;
    m->round = now;
    m->until = m->expired ? now : last_of_round(m, now) + 1;
    for (int i = 0; i < m->n_own; i++)
        m->region[m->own + i].until = now;
}

/* Set the clocks of all regions to the end of the round, also those of other processes, whose
 * clocks are read too. */
static void end_round(struct mesh *m)
{
    for (int i = 0; i < m->n_regions; i++)
        m->region[i].now = m->until - 1;
}

static bool failed(const struct mesh *m)
{
    for (int i = 0; i < m->n_own; i++)
        if (m->region[m->own + i].rc) return true;
    return false;
}

/* The next cycle in which a region of this process has something to do: the next one, that of the
 * first timer, or INT64_MAX. */
static int64_t own_next(const struct mesh *m)
{
    int64_t next = INT64_MAX;
    if (somebody_is_active(m) || source_can_send(m)) return m->region->now + 1;
    if (mesh_share_has_messages(m))
        return m->horizon + 1; /* sent in the cycle before the exchange */
    for (int i = 0; i < m->n_own; i++) {
        int64_t first = mesh_next_timer(&m->region[m->own + i]);
        if (first < next) next = first;
    }
    return next;
}

static bool is_asked_to_stop(const struct mesh *m)
{
    return m->config.stop && m->config.stop(m->config.progress_ctx);
}

/* Set the last cycle that each process may run before the next exchange. All processes continue in
 * cycle @p next; wavelets that cross a border in cycle @p ahead are exchanged after that cycle. If
 * @p ahead is near, all processes run a batch together, with an exchange after each cycle but
 * without an agreement on the next cycle. */
static void set_horizon(struct mesh *m, int64_t next, int64_t ahead)
{
    int64_t last = ahead > next ? ahead : next;
    mesh_share_gained(m, last - next);
    m->together = last - next < MESH_BATCH / 2;
    if (m->together) last = next + MESH_BATCH - 1;
    if (last >= m->config.max_cycles) last = m->config.max_cycles - 1;
    m->horizon = mesh_snapshot_horizon(m, last);
}

/* Exchange with the other processes and set @p next to the next cycle of all of them; INT64_MAX
 * when none has anything to do or one of them failed. */
static enum wsc_err find_next(struct mesh *m, int64_t *next)
{
    TRY(mesh_share_cycle(m));
    const int64_t own = own_next(m), ahead = mesh_share_ahead(m);
    int64_t least[4] = {failed(m) ? -1 : 0, own, is_asked_to_stop(m) ? -1 : 0,
                        ahead && own > ahead ? own : ahead};
    TRY(mesh_share_least(m, least, 4));
    *next = least[0] ? INT64_MAX : least[1];
    m->stopped = least[2] != 0;
    if (m->border && *next < INT64_MAX) set_horizon(m, *next, least[3]);
    return WSC_OK;
}

/* True when this process can run its next cycle, @p next, before the next exchange, because
 * nothing can cross a border before that cycle ends. */
static bool can_run_ahead(const struct mesh *m, int64_t *next)
{
    if (!m->border || failed(m)) return false;
    *next = own_next(m);
    if (*next > m->horizon) return false;
    WSC_CHECK(!mesh_share_has_sent(m), "something crossed in cycle %lld, expected none before %lld",
              (long long)m->region->now, (long long)m->horizon);
    return true;
}

/* Report progress every 256 cycles, or more often on a large fabric: a cycle of a whole wafer
 * takes some hundredths of a second. */
static void report_progress(struct mesh *m)
{
    enum { EVERY = 256 };
    const int64_t of_pes = ROUTER_CYCLES / m->n_pes + 1, every = of_pes < EVERY ? of_pes : EVERY;
    const int64_t before = m->n_ran;
    m->n_ran += m->until - m->round;
    if (!m->config.progress || (before + every - 1) / every == (m->n_ran + every - 1) / every)
        return;
    m->config.progress(m->config.progress_ctx, m->region->now);
}

/* Only one thread runs this (the last one at the barrier). Cycles in which no region has anything
 * to do are skipped; the run ends when there is no such cycle left. */
bool mesh_next_cycle(struct mesh *m)
{
    int64_t next = INT64_MAX;
    end_round(m);
    if (m->share_rc) return false;
    report_progress(m);
    if (can_run_ahead(m, &next)) {
        mesh_begin_cycle(m, next);
        return true;
    }
    next = INT64_MAX;
    m->share_rc = find_next(m, &next);
    if (m->share_rc || next == INT64_MAX || !mesh_snapshot_pass(m, next)) return false;
    mesh_begin_cycle(m, next);
    return !m->expired;
}
