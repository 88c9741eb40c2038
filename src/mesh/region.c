// SPDX-License-Identifier: Apache-2.0
/* Implements a region, a band of rows that one host thread runs: its routers and PEs, the lists of
 * places to visit in the next cycles, its timers, and the mailboxes for the regions above and
 * below. run.c moves a region by one cycle, team.c runs all of them. */
#include "region.h"
#include "mesh_state.h"
#include "pool.h"

#include <wsc/mem.h>

#include <string.h>

/* ---- regions --------------------------------------------------------------------------------- */

/* The number of places of a block is a power of two. A block has at least one row of PEs, so that
 * wavelets leave it only to its two neighbours, and several bitmap words, so that few words are
 * nearly empty. */
static int block_shift(const struct mesh *m)
{
    int shift = 7;
    while (1LL << shift < m->config.w)
        shift++;
    return shift;
}

static enum wsc_err new_blocks(struct mesh_region *r)
{
    const int shift = block_shift(r->m);
    r->block_shift = shift;
    r->n_words = (r->n_pes + 63) / 64;
    r->n_blocks = ((r->n_pes - 1) >> shift) + 1;
    r->south = (r->n_pes - r->m->config.w) >> shift;
    for (int i = 0; i < MESH_AHEAD; i++)
        TRY_NEW(r->active[i].routers, WSC_MEM_MESH, 2 * r->n_words);
    for (int i = 0; i < MESH_AHEAD; i++)
        r->active[i].pes = r->active[i].routers + r->n_words;
    TRY_NEW(r->visit, WSC_MEM_MESH, (1LL << shift) + MESH_FETCH_AHEAD);
    TRY_NEW(r->wave.ran, WSC_MEM_MESH, r->n_blocks);
    return WSC_OK;
}

static int64_t n_micro_blocks(const struct mesh_region *r)
{
    return (r->n_pes + MESH_MICRO_BLOCK - 1) / MESH_MICRO_BLOCK;
}

enum wsc_err mesh_thread_block(struct mesh_region *r, int64_t at, int thread)
{
    struct mesh_thread **block = &r->micro[thread - 1][at / MESH_MICRO_BLOCK];
    *block = wsc_alloc_raw(WSC_MEM_MESH, MESH_MICRO_BLOCK, sizeof **block);
    return *block ? WSC_OK : wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "microthreads");
}

static void free_micro(struct mesh_region *r)
{
    for (int i = 0; i < MESH_THREADS; i++) {
        for (int64_t b = 0; r->micro[i] && b < n_micro_blocks(r); b++)
            wsc_free(r->micro[i][b]);
        wsc_free(r->micro[i]);
    }
}

/* Initialise band @p index of the rows; all bands have nearly the same height. Its arrays are
 * parts of the fabric's. */
static enum wsc_err region_init(struct mesh *m, int index)
{
    struct mesh_region *r = &m->region[index];
    const int64_t w = m->config.w, h = m->config.h;
    const int64_t first = h * index / m->n_regions * w, end = h * (index + 1) / m->n_regions * w;
    r->m = m;
    r->first = first;
    r->n_pes = end - first;
    r->error_in = INT64_MAX;
    r->pe = m->pe + first;
    r->router = m->router + first;
    r->main = m->main + first;
    for (int i = 0; i < MESH_THREADS; i++)
        TRY_NEW(r->micro[i], WSC_MEM_MESH, n_micro_blocks(r));
    memcpy(r->step, m->step, sizeof r->step);
    for (int64_t i = 0; i < r->n_pes; i++)
        r->pe[i].region = r;
    for (int i = 0; i < 4 && m->n_regions > 1; i++)
        TRY_NEW(r->mailbox[i / 2][i % 2].word, WSC_MEM_MESH, w);
    if (index < m->own || index >= m->own + m->n_own) return WSC_OK; /* another process runs it */
    return new_blocks(r);
}

enum wsc_err mesh_regions_init(struct mesh *m)
{
    const int parts = m->config.share ? m->config.share->parts : 1;
    int n = m->config.threads;
    if (n > m->config.h / parts) n = m->config.h / parts;
    m->n_own = n < 1 ? 1 : n;
    m->n_regions = parts * m->n_own;
    m->own = m->config.share ? m->config.share->part * m->n_own : 0;
    TRY_NEW(m->region, WSC_MEM_MESH, m->n_regions);
    for (int i = 0; i < m->n_regions; i++)
        TRY(region_init(m, i));
    return WSC_OK;
}

static void region_fini(struct mesh_region *r)
{
    for (int i = 0; i < MESH_WHEEL; i++)
        wsc_free(r->wheel[i].timer);
    for (int i = 0; i < 4; i++)
        wsc_free(r->mailbox[i / 2][i % 2].word);
    for (int i = 0; i < MESH_AHEAD; i++)
        wsc_free(r->active[i].routers);
    free_micro(r);
    wsc_free(r->visit);
    wsc_free(r->wave.ran);
    wsc_free(r->source);
    wsc_free(r->first_source);
    wsc_free(r->message);
    mesh_pool_fini(&r->program);
    mesh_pool_fini(&r->memory);
}

void mesh_regions_fini(struct mesh *m)
{
    for (int i = 0; i < m->n_regions && m->region; i++)
        region_fini(&m->region[i]);
    wsc_free(m->region);
}

void mesh_active_clear(struct mesh_region *r, int k)
{
    const struct mesh_active *a = &r->active[k];
    if (!a->routers) return; /* of another process */
    memset(a->routers, 0, 2 * (size_t)r->n_words * sizeof *a->routers);
}

void mesh_regions_stats(const struct mesh *m, struct mesh_stats *stats)
{
    *stats = (struct mesh_stats){0};
    for (int i = 0; i < m->n_own; i++) {
        const struct mesh_region *r = &m->region[m->own + i];
        if (r->last > stats->cycles) stats->cycles = r->last;
        stats->wavelets += r->stats.wavelets;
        stats->wavelet_hops += r->stats.wavelet_hops;
        stats->elements += r->stats.elements;
    }
}

void mesh_region_clear(struct mesh_region *r)
{
    for (int i = 0; i < MESH_AHEAD; i++)
        mesh_active_clear(r, i);
    for (int i = 0; i < 4; i++) {
        struct mesh_mailbox *mailbox = &r->mailbox[i / 2][i % 2];
        if (mailbox->word) memset(mailbox->word, 0, (size_t)r->m->config.w * sizeof *mailbox->word);
        mailbox->any = false;
    }
    for (int i = 0; i < MESH_WHEEL && r->n_timers; i++)
        r->wheel[i].n = 0;
    wsc_free(r->source);
    wsc_free(r->first_source);
    r->source = r->first_source = NULL;
    r->n_timers = r->now = r->last = r->visited = 0;
    r->colour_turn = 0;
    for (int side = 0; side < MESH_SIDES; side++)
        r->wave.before[side] = 0;
    r->stats = (struct mesh_stats){0};
    r->rc = WSC_OK;
    r->error_in = INT64_MAX;
    wsc_free(r->message);
    r->message = NULL;
    memset(r->form, 0, sizeof r->form); /* they contain numbers of bindings, which change */
    mesh_pool_reset(&r->program);
}

/* ---- mailboxes
 * ------------------------------------------------------------------------------------ */

/* The words belong to this region. The neighbour reads them in the next cycle, when this region
 * writes to the words of the other parity, so no lock is needed. */
void mesh_mailbox_post(struct mesh_region *r, int64_t at, uint32_t what)
{
    bool north = at < 0;
    struct mesh_mailbox *mailbox = &r->mailbox[r->now & 1][north ? MESH_TO_NORTH : MESH_TO_SOUTH];
    mailbox->word[north ? at + r->m->config.w : at - r->n_pes] |= what;
    mailbox->any = true;
}

/* Take the messages of region @p from for the routers from @p first on, and schedule their visits
 * in cycle @p now. */
static void take_from(struct mesh_region *r, struct mesh_mailbox *from, int64_t first, int64_t now)
{
    if (!from->any) return;
    for (int64_t x = 0; x < r->m->config.w; x++) {
        const uint32_t messages = from->word[x];
        if (!messages) continue;
        from->word[x] = 0;
        r->router[first + x].waiting |= messages & ((1U << MESH_COLOURS) - 1U);
        mesh_visit_router(mesh_active_in(r, now), first + x);
    }
    from->any = false;
}

void mesh_mailbox_take(struct mesh_region *r, enum mesh_side side, int64_t now)
{
    const struct mesh *m = r->m;
    const int before = (int)(now & 1) ^ 1;
    const int64_t index = r - m->region;
    if (side == MESH_TO_NORTH && index > 0)
        take_from(r, &r[-1].mailbox[before][MESH_TO_SOUTH], 0, now);
    if (side == MESH_TO_SOUTH && index + 1 < m->n_regions)
        take_from(r, &r[1].mailbox[before][MESH_TO_NORTH], r->n_pes - m->config.w, now);
}

/* ---- time ------------------------------------------------------------------------------------ */

enum wsc_err mesh_timer_add(struct mesh_region *r, int64_t cycle, int64_t at)
{
    struct mesh_bucket *b = &r->wheel[(uint64_t)cycle % MESH_WHEEL];
    if (cycle < r->until) {
        mesh_visit_pe(mesh_active_in(r, cycle), at);
        return WSC_OK;
    }
    if (b->n == b->capacity) TRY_GROW(b->timer, WSC_MEM_MESH, b->capacity, b->n + 1);
    b->timer[b->n++] = (struct mesh_timer){(uint32_t)cycle, (int32_t)at};
    r->n_timers++;
    return WSC_OK;
}

/* Schedule visits in cycle @p now for the timers of that cycle. */
static void fire_timers(struct mesh_region *r, int64_t now)
{
    struct mesh_bucket *b = &r->wheel[now % MESH_WHEEL];
    int kept = 0;
    for (int i = 0; i < b->n; i++) {
        struct mesh_timer t = b->timer[i];
        if (t.cycle > now)
            b->timer[kept++] = t;
        else
            mesh_visit_pe(mesh_active_in(r, now), t.at);
    }
    r->n_timers -= b->n - kept;
    b->n = kept;
}

void mesh_fire_timers(struct mesh_region *r)
{
    for (int64_t now = r->batch; now < r->until && r->n_timers; now++)
        fire_timers(r, now);
}

/* The earliest timer of a bucket, which also holds those of later rounds of the ring. */
static int64_t bucket_first(const struct mesh_bucket *b)
{
    int64_t first = INT64_MAX;
    for (int i = 0; i < b->n; i++)
        if (b->timer[i].cycle < first) first = b->timer[i].cycle;
    return first;
}

/* Buckets are searched in the order of their cycles; the search ends at the first bucket with a
 * timer of its own cycle. */
int64_t mesh_next_timer(const struct mesh_region *r)
{
    int64_t first = INT64_MAX;
    for (int64_t i = 1; i <= MESH_WHEEL && r->n_timers; i++) {
        int64_t cycle = bucket_first(&r->wheel[(r->now + i) % MESH_WHEEL]);
        if (cycle < first) first = cycle;
        if (first == r->now + i) break;
    }
    return first;
}
