// SPDX-License-Identifier: Apache-2.0
/* Moves streams that nothing can disturb during a batch of cycles. Their places are not visited:
 * all cycles of the batch are one loop at each queue and PE of the route. Streams that begin at a
 * PE move before the batch, and their last places give to places that are visited cycle by cycle.
 * Streams that take from a visited place move after the batch. Streams that cross to another
 * region move there at the same time. The state after the batch is that of single visits.
 * mesh_cycle.c calls it. */
#include "mesh_flow.h"
#include "mesh_flow_find.h"
#include "mesh_flow_run.h"
#include "mesh_flow_state.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <string.h>

/* Regions of fewer than SMALL places are not searched for streams, nor those with fewer than 1 /
 * PART of their places active. */
enum { SMALL = 4, PART = 16 };

static enum wsc_err flow_sets(struct mesh_flow *f)
{
    const struct mesh_region *r = f->r;
    const int64_t w = r->m->config.w;
    uint64_t **const set[] = {&f->flows,  &f->pes,        &f->routers, &f->unsteady,
                              &f->flowed, &f->flowed_pes, &f->spare,   &f->crossing};
    uint64_t **const wide[] = {&f->near, &f->next, &f->west, &f->east};
    const int n = (int)(sizeof set / sizeof *set), n_wide = (int)(sizeof wide / sizeof *wide);
    f->margin = ((MESH_BATCH + 1) * w + 63) / 64;
    f->wide = r->n_words + 2 * f->margin;
    TRY_NEW(f->sets, WSC_MEM_MESH, n * r->n_words + n_wide * f->wide);
    for (int i = 0; i < n; i++)
        *set[i] = f->sets + i * r->n_words;
    for (int i = 0; i < n_wide; i++)
        *wide[i] = f->sets + n * r->n_words + i * f->wide;
    for (int64_t bit = 0; bit < 64 * f->wide; bit++) {
        const int64_t x = (bit + 64 * f->margin * (w - 1)) % w; /* bit - 64 * margin, modulo w */
        f->west[bit >> 6] |= (uint64_t)(x == 0) << (bit & 63);
        f->east[bit >> 6] |= (uint64_t)(x == w - 1) << (bit & 63);
    }
    return WSC_OK;
}

/* Allocate what streams over borders to other regions need. */
static enum wsc_err flow_borders(struct mesh_flow *f)
{
    const struct mesh *m = f->r->m;
    f->beyond_words = (2 * (int64_t)m->config.w + 63) / 64;
    TRY_NEW(f->beyond, WSC_MEM_MESH, 2 * f->beyond_words);
    f->beyond_before = f->beyond + f->beyond_words;
    for (int side = 0; side < 2 && m->n_own > 1; side++)
        TRY_NEW(f->inbox[side].item, WSC_MEM_MESH, m->config.w);
    return WSC_OK;
}

static enum wsc_err flow_create(struct mesh_region *r)
{
    struct mesh_flow *f;
    const struct mesh_config *c = &r->m->config;
    TRY_NEW(f, WSC_MEM_MESH, 1);
    r->flow = f;
    f->r = r;
    f->flowed_until = -1;
    f->capacity = 256 + 4 * (c->w + (int)(r->n_pes / c->w));
    TRY(flow_sets(f));
    TRY(flow_borders(f));
    TRY_NEW(f->stack, WSC_MEM_MESH, f->capacity);
    TRY_NEW(f->link, WSC_MEM_MESH, f->capacity);
    TRY_NEW(f->link_of, WSC_MEM_MESH, r->n_blocks);
    return WSC_OK;
}

void mesh_flow_free(struct mesh_flow *f)
{
    if (!f) return;
    wsc_free(f->sets);
    wsc_free(f->beyond);
    for (int side = 0; side < 2; side++)
        wsc_free(f->inbox[side].item);
    wsc_free(f->stack);
    wsc_free(f->link);
    wsc_free(f->link_of);
    wsc_free(f);
}

enum wsc_err mesh_flow_prepare(struct mesh *m)
{
    m->failing = false;
    m->crossing = MESH_CROSS_NONE;
    m->cross_skip = m->cross_missed = 0;
    for (int i = 0; i < m->n_own; i++) {
        struct mesh_region *r = &m->region[m->own + i];
        r->flows = false;
        if (r->flow) r->flow->flowed_until = -1;
        if (!m->watch && !r->flow && r->n_pes >= SMALL) TRY(flow_create(r));
        m->flows = m->flows || r->flow;
    }
    return WSC_OK;
}

/* ---- before a batch -------------------------------------------------------------------------- */

/* True when so many places are active in cycle @p now that a search for streams may pay off. */
static bool is_busy(const struct mesh_region *r, int64_t now)
{
    const uint64_t *routers = mesh_active_in(r, now).routers;
    int64_t n = 0;
    for (int64_t i = 0; i < r->n_words; i++)
        n += __builtin_popcountll(routers[i]);
    return n > r->n_pes / PART;
}

/* Copy the visits that are known at the beginning of the batch, @p n words of the bitmaps from
 * word @p begin on. */
static void take_lists(struct mesh_flow *f, int64_t begin, int64_t n)
{
    const struct mesh_region *r = f->r;
    const uint64_t *routers = mesh_active_in(r, f->first).routers;
    memcpy(f->routers + begin, routers + begin, (size_t)n * sizeof *f->routers);
    memset(f->pes + begin, 0, (size_t)n * sizeof *f->pes);
    for (int k = 0; k < MESH_BATCH; k++) {
        const uint64_t *pes = mesh_active_in(r, f->first + k).pes;
        for (int64_t i = begin; i < begin + n; i++)
            f->pes[i] |= pes[i];
    }
}

/* Mark all visited places in @p n words from @p begin on as unsteady: this region has not examined
 * them, and other regions read this set. */
static void mark_all_unsteady(struct mesh_flow *f, int64_t begin, int64_t n)
{
    take_lists(f, begin, n);
    for (int64_t i = begin; i < begin + n; i++)
        f->unsteady[i] = f->routers[i] | f->pes[i];
}

/* Schedule a visit after the batch for the places that flow. */
static void schedule_after(struct mesh_flow *f)
{
    const struct mesh_active after = mesh_active_in(f->r, f->first + MESH_BATCH);
    for (int64_t i = 0; i < f->r->n_words; i++) {
        f->flowed[i] = f->flows[i];
        f->flowed_pes[i] = f->flows[i] & f->pes[i];
        after.routers[i] |= f->flows[i];
        after.pes[i] |= f->flowed_pes[i];
    }
    memcpy(f->beyond_before, f->beyond, (size_t)f->beyond_words * sizeof *f->beyond);
    f->flowed_until = f->first + MESH_BATCH;
}

/* True when this batch should search for streams. After each search without success the pause
 * until the next one doubles, up to MESH_FLOW_LONGEST_SKIP batches. */
static bool should_search(struct mesh_flow *f)
{
    if (!is_busy(f->r, f->first) || f->skip-- > 0) return false;
    f->missed = f->missed < MESH_FLOW_LONGEST_SKIP ? 2 * f->missed + 1 : MESH_FLOW_LONGEST_SKIP;
    f->skip = f->missed;
    return true;
}

int64_t mesh_flow_pause(const struct mesh *m, int64_t next)
{
    int64_t least = MESH_FLOW_LONGEST_SKIP;
    for (int i = 0; i < m->n_own; i++) {
        const struct mesh_region *r = &m->region[m->own + i];
        if (!is_busy(r, next)) return 1;
        if (r->flow && r->flow->skip < least) least = r->flow->skip;
    }
    return least > 1 ? least : 1;
}

/* Treat places with streams over a border as unsteady, where regions do not agree in this batch. */
static void give_up_crossing(struct mesh_flow *f)
{
    for (int64_t i = 0; i < f->r->n_words; i++)
        f->unsteady[i] |= f->crossing[i];
    f->crosses = false;
}

void mesh_flow_look(struct mesh_region *r)
{
    struct mesh_flow *f = r->flow;
    const struct mesh *m = r->m;
    if (!f) return;
    f->tried = f->crosses = f->joins = f->found = false;
    for (int side = 0; side < 2; side++)
        f->inbox[side].n = f->inbox[side].taken = 0;
    if (mesh_flow_pauses(m)) f->skip--;
    if (mesh_flow_pauses(m) || r->until - r->batch != MESH_BATCH) return;
    f->first = r->batch;
    f->tried = !r->rc && should_search(f);
    if (f->tried) {
        take_lists(f, 0, r->n_words);
        f->tried = mesh_flow_look_at(f);
        if (!f->tried) give_up_crossing(f);
    } else if (m->n_own > 1) {
        const int64_t n = f->margin + 1 < r->n_words ? f->margin + 1 : r->n_words;
        mark_all_unsteady(f, 0, n);
        mark_all_unsteady(f, r->n_words - n, n);
    }
}

void mesh_flow_join(struct mesh_region *r)
{
    struct mesh_flow *f = r->flow;
    if (!f || !f->tried) return;
    f->joins = true;
    f->found = mesh_flow_find(f);
}

/* After mesh_flow_join() its result holds, unless the regions did not agree on streams over
 * borders; then places at such borders are excluded. */
static bool is_found(struct mesh_flow *f)
{
    if (!f->joins) return mesh_flow_find(f);
    if (f->r->m->crossing != MESH_CROSS_VISITED || !f->crosses) return f->found;
    return mesh_flow_find_apart(f);
}

void mesh_flow_begin(struct mesh_region *r)
{
    struct mesh_flow *f = r->flow;
    if (!f || !f->tried || !is_found(f)) return;
    f->skip = f->missed = 0;
    r->flows = true;
    schedule_after(f);
    mesh_flow_early(f);
}

/* ---- in a batch ------------------------------------------------------------------------------ */

/* True when a region has an error. It then stops in the middle of a batch, so its streams stop
 * too; cycles after the error do not count. */
static bool is_failing(struct mesh *m)
{
    return atomic_load_explicit(&m->failing, memory_order_relaxed);
}

/* Remove the wavelet at the head of a steady channel. No visited place reads this channel before
 * the end of the batch. */
static uint32_t take_head(struct mesh_region *r, int64_t at, struct mesh_channel *ch)
{
    const uint64_t gate = mesh_flow_gate(ch);
    const unsigned rx = mesh_gate_rx(gate);
    const int n = mesh_channel_count(ch, gate);
    const uint64_t entry = n > 0 ? ch->entry[gate % MESH_FIFO] : UINT64_MAX;
    if (entry >= r->ready_next) {
        WSC_CHECK(is_failing(r->m), "place %lld: a stream of colour %d stops",
                  (long long)(r->first + at), ch->colour);
        return 0;
    }
    atomic_store_explicit(&ch->gate, mesh_gate(r->now + 1, rx, rx, (unsigned)gate + 1),
                          memory_order_relaxed);
    if (n == 1) r->router[at].waiting &= ~(1U << ch->colour);
    return (uint32_t)entry;
}

static void exchange(struct mesh_region *r, struct mesh_flow_link *link, int64_t k)
{
    struct mesh_flow_item *item = &link->item;
    struct mesh_channel *ch = &r->channel[item->channel];
    if (link->takes) {
        item->word[k] = take_head(r, item->at, ch);
        return;
    }
    if (!mesh_channel_open(ch, r->now, mesh_gate_rx(mesh_flow_gate(ch)))) {
        WSC_CHECK(is_failing(r->m), "place %lld: a stream of colour %d is held up",
                  (long long)(r->first + item->at), ch->colour);
        return;
    }
    if (mesh_flow_is_here(r, item->at)) {
        mesh_channel_push(r, item->at, ch, item->word[k] | r->ready_hop);
        return;
    }
    mesh_channel_put(ch, item->word[k] | r->ready_hop);
    mesh_mailbox_post(r, item->at, 1U << ch->colour);
}

void mesh_flow_cycle(struct mesh_region *r, int64_t now, int64_t block)
{
    const struct mesh_flow *f = r->flow;
    const struct mesh_active active = mesh_active_in(r, now);
    const int64_t words = (int64_t)1 << (r->block_shift - 6), first = block * words;
    const int64_t end = first + words < r->n_words ? first + words : r->n_words;
    for (int32_t i = f->link_of[block]; i; i = f->link[i - 1].next)
        exchange(r, &f->link[i - 1], now - f->first);
    for (int64_t i = first; i < end; i++) {
        active.routers[i] &= ~f->flows[i];
        active.pes[i] &= ~f->flows[i];
    }
}

/* ---- after a batch --------------------------------------------------------------------------- */

void mesh_flow_end(struct mesh_region *r)
{
    const int64_t last = r->until - 1;
    if (!r->flows) return;
    r->flows = false;
    if (r->visited < last) r->visited = last;
    mesh_flow_late(r->flow);
}
