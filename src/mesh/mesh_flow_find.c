// SPDX-License-Identifier: Apache-2.0
/* Finds the streams that flow through a batch. A place is steady when each channel that holds
 * wavelets, and its PE if it is active, gets one and gives one in every cycle as long as its
 * neighbours do. A disturbance moves by one neighbour in a cycle, so places further from any
 * unsteady place than the cycles of the batch flow (the light cone of mesh_ahead.c in two
 * dimensions). Regions of different threads examine each other's places, and let streams flow from
 * one to the next (mesh_flow_cross.c). mesh_flow.c calls it once a batch. */
#include "mesh_flow_find.h"

#include <string.h>

/* MOST_BRANCHES: a channel leads to four sides and, through its PE, to one more channel. */
enum { ROUNDS = 4, MOST_BRANCHES = 5 };

/* ---- sets of places -------------------------------------------------------------------------- */

/* Word @p i of a bitmap, 0 outside it. */
static inline uint64_t word_of(const uint64_t *set, int64_t words, int64_t i)
{
    return i >= 0 && i < words ? set[i] : 0;
}

/* Word @p i of a bitmap whose bits are shifted up by @p by places (down if @p by < 0). */
static inline uint64_t moved(const uint64_t *set, int64_t words, int64_t i, int64_t by)
{
    const int bit = (int)(by & 63);
    const int64_t step = (by - bit) / 64;
    const uint64_t high = word_of(set, words, i - step) << bit;
    return bit ? high | word_of(set, words, i - step - 1) >> (64 - bit) : high;
}

/* ---- steady places --------------------------------------------------------------------------- */

/* True when the first @p n wavelets of a ring are data, and the i-th one can be taken i cycles
 * after the first cycle of the batch. */
static inline bool are_ready_in_order(const struct mesh_flow *f, const uint64_t *entry,
                                      unsigned head, unsigned size, unsigned n)
{
    for (unsigned i = 0; i < n; i++, head++) {
        if (head >= size) head -= size;
        if (entry[head] >= mesh_ready_bits(f->first + i + 1)) return false;
    }
    return true;
}

/* True when the queue holds at least @p least wavelets, each available in its cycle, and has
 * room. */
static bool is_steady_queue(const struct mesh_flow *f, const struct mesh_queue *q, int least)
{
    return q->n >= least && q->n < q->depth &&
           are_ready_in_order(f, q->entry, q->head, q->depth, q->n);
}

/* True when the stream of the PE has more elements than the batch has cycles. */
static bool stream_lasts(const struct mesh_flow *f, int64_t at)
{
    const struct mesh_region *r = f->r;
    if (r->pe[at].streams && r->main[at].ready_at <= f->first + MESH_BATCH) return false;
    return mesh_flow_thread(r, at)->left >= MESH_BATCH + 2;
}

/* True when the PE does nothing but one stream, which lasts for the whole batch. */
static bool is_steady_pe(const struct mesh_flow *f, int64_t at)
{
    const struct mesh_region *r = f->r;
    const struct mesh_pe *pe = &r->pe[at];
    if (!pe->stream || !mesh_flow_has(mesh_active_in(r, f->first).pes, at)) return false;
    const struct mesh_thread *t = mesh_flow_thread(r, at);
    if (!stream_lasts(f, at)) return false;
    if (t->in != MESH_NONE && !is_steady_queue(f, mesh_queue_of(pe, t->in), r->m->ramp_down))
        return false;
    if (t->out == MESH_NONE) return !pe->out_used;
    return pe->out_used == 1U << t->out &&
           is_steady_queue(f, mesh_queue_of(pe, MESH_N_IN + t->out), 1) &&
           r->router[at].waiting >> mesh_flow_up(r, at, t->out)->colour & 1U;
}

/* True when the neighbour on side @p d is visited and holds wavelets of the colour. For a
 * neighbour in another region true is returned; mesh_flow_verify() checks it later. */
static bool may_move(const struct mesh_flow *f, int64_t at, int d, int colour)
{
    const struct mesh_region *r = f->r;
    const int64_t y = at + r->step[d];
    if (!(r->router[at].neighbours >> d & 1U)) return false;
    if (!mesh_flow_is_here(r, y)) return mesh_flow_beside(r, y) != NULL;
    return mesh_flow_has(f->routers, y) && r->router[y].waiting >> colour & 1U;
}

/* True when the channel gets a wavelet in each cycle from side @p rx. Routers do not move
 * meanwhile, those of other regions neither. */
static bool is_fed(const struct mesh_flow *f, int64_t at, const struct mesh_channel *ch,
                   unsigned rx, const struct mesh_thread *t)
{
    const struct mesh_region *r = f->r;
    const int d = mesh_direction((int)rx), back = mesh_opposite[d];
    if (!d) return t && t->out != MESH_NONE && mesh_flow_up(r, at, t->out) == ch;
    const int32_t from = ch->to[d - 1];
    return from >= 0 && may_move(f, at, d, ch->colour) &&
           (uint32_t)r->channel[from].tx >> back & 1U;
}

/* True when every output of the channel takes a wavelet in each cycle. */
static bool is_emptied(const struct mesh_flow *f, int64_t at, const struct mesh_channel *ch,
                       const struct mesh_thread *t)
{
    if (ch->tx & MESH_RAMP && !(t && t->in != MESH_NONE && t->in == ch->queue)) return false;
    for (unsigned set = ch->tx & ~(unsigned)MESH_RAMP; set; set &= set - 1) {
        const int d = mesh_direction((int)set);
        const int32_t to = ch->to[d - 1];
        if (to < 0 || !may_move(f, at, d, ch->colour)) return false;
        if (mesh_gate_rx(mesh_flow_gate(&f->r->channel[to])) != 1U << mesh_opposite[d])
            return false;
    }
    return true;
}

static bool is_steady_channel(const struct mesh_flow *f, int64_t at, const struct mesh_channel *ch,
                              const struct mesh_thread *t)
{
    const struct mesh *m = f->r->m;
    const uint64_t gate = mesh_flow_gate(ch);
    const unsigned rx = mesh_gate_rx(gate);
    const int n = mesh_channel_count(ch, gate), latency = rx == MESH_RAMP ? m->ramp_up : m->hop;
    if (n < latency || n == MESH_FIFO || !rx || rx & (rx - 1)) return false;
    if (ch->extra >= MESH_FILTERED || !ch->tx) return false;
    return are_ready_in_order(f, ch->entry, (unsigned)gate % MESH_FIFO, MESH_FIFO, (unsigned)n) &&
           is_fed(f, at, ch, rx, t) && is_emptied(f, at, ch, t);
}

/* True when all channels of the place that hold wavelets, and its PE, move one wavelet in every
 * cycle. Their outputs must differ, since they move in the same cycle. */
static bool is_steady(const struct mesh_flow *f, int64_t at)
{
    const struct mesh_region *r = f->r;
    const struct mesh_thread *t = NULL;
    unsigned used = 0;
    if (!mesh_flow_has(f->routers, at) || !r->router[at].waiting) return false;
    if (mesh_flow_has(f->pes, at)) {
        if (!is_steady_pe(f, at)) return false;
        t = mesh_flow_thread(r, at);
    }
    for (uint32_t set = r->router[at].waiting; set; set &= set - 1) {
        const struct mesh_channel *ch = mesh_flow_channel(r, at, __builtin_ctz(set));
        if (used & ch->tx || !is_steady_channel(f, at, ch, t)) return false;
        used |= ch->tx;
    }
    return !t || t->in == MESH_NONE || used & MESH_RAMP;
}

/* ---- what can be disturbed ------------------------------------------------------------------- */

/* Put into f->spare the places that flowed in the last batch, like all their neighbours, and whose
 * PEs do the same as before. They are steady again if their streams last, so other tests are
 * skipped. */
static void keep_steady(struct mesh_flow *f)
{
    const int64_t words = f->r->n_words, w = f->r->m->config.w;
    memset(f->spare, 0, (size_t)words * sizeof *f->spare);
    if (f->flowed_until != f->first) return;
    for (int64_t i = 0; i < words; i++) {
        const uint64_t *set = f->flowed;
        const uint64_t beside = moved(set, words, i, 1) & moved(set, words, i, -1) &
                                moved(set, words, i, w) & moved(set, words, i, -w);
        f->spare[i] = set[i] & beside & ~(f->pes[i] ^ f->flowed_pes[i]);
    }
}

/* True when the stream of the PE of such a place lasts for another batch. */
static bool lasts(const struct mesh_flow *f, int64_t at)
{
    return !mesh_flow_has(f->pes, at) || stream_lasts(f, at);
}

/* Mark places with edge sources as unsteady, since sources send without a visit. */
static void add_sources(struct mesh_flow *f)
{
    const struct mesh_region *r = f->r;
    const struct mesh *m = r->m;
    for (int i = 0; i < m->n_sources; i++) {
        const int64_t at = m->source[i].router - r->first;
        if (mesh_flow_is_here(r, at) && m->source[i].next < m->source[i].n)
            f->unsteady[at >> 6] |= 1ULL << (at & 63);
    }
}

/* Divide the places that are visited in the batch into steady and unsteady ones. */
static void examine_places(struct mesh_flow *f)
{
    const struct mesh_region *r = f->r;
    keep_steady(f);
    for (int64_t i = 0; i < r->n_words; i++) {
        f->flows[i] = f->unsteady[i] = 0;
        for (uint64_t set = f->routers[i] | f->pes[i]; set; set &= set - 1) {
            const uint64_t bit = set & -set;
            const int64_t at = 64 * i + __builtin_ctzll(set);
            if (f->spare[i] & bit ? lasts(f, at) : is_steady(f, at))
                f->flows[i] |= bit;
            else if (f->pes[i] & bit || r->router[at].waiting)
                f->unsteady[i] |= bit;
        }
    }
}

/* True when a stream through the steady place @p at comes from another region or leads to one. */
static bool leads_out(const struct mesh_region *r, int64_t at)
{
    const int64_t w = r->m->config.w;
    const unsigned north = at < w ? MESH_NORTH : 0, south = at >= r->n_pes - w ? MESH_SOUTH : 0;
    for (uint32_t set = r->router[at].waiting; set; set &= set - 1) {
        const struct mesh_channel *ch = mesh_flow_channel(r, at, __builtin_ctz(set));
        if ((ch->tx | mesh_gate_rx(mesh_flow_gate(ch))) & (north | south)) return true;
    }
    return false;
}

/* Mark the places with streams over the border among @p n places from @p at on. */
static void examine_border(struct mesh_flow *f, int64_t at, int64_t n)
{
    for (; n > 0; n--, at++) {
        if (!mesh_flow_has(f->flows, at) || !leads_out(f->r, at)) continue;
        f->crossing[at >> 6] |= 1ULL << (at & 63);
        f->crosses = true;
    }
}

/* ---- what it can reach ----------------------------------------------------------------------- */

/* Add @p n places to f->near, beginning with place @p at, counted from the first one of the
 * region. @p from NULL: all of them; otherwise those whose bits are set in it, beginning with bit
 * @p bit. */
static void add_near(struct mesh_flow *f, int64_t at, int64_t n, const uint64_t *from, int64_t bit)
{
    for (int64_t i = 64 * f->margin + at; n > 0; n--, i++, bit++)
        if (!from || from[bit >> 6] >> (bit & 63) & 1U) f->near[i >> 6] |= 1ULL << (i & 63);
}

/* Add the unsteady places among @p n places of region @p of, beginning with place @p first of the
 * fabric. In regions of other processes every place counts as unsteady. */
static void add_region(struct mesh_flow *f, const struct mesh_region *of, int64_t first, int64_t n)
{
    const struct mesh *m = f->r->m;
    const int64_t i = of - m->region;
    const bool is_known = i >= m->own && i < m->own + m->n_own && of->flow;
    add_near(f, first - f->r->first, n, is_known ? of->flow->unsteady : NULL, first - of->first);
}

/* Add the unsteady places in rows of other regions from which a disturbance can reach this region,
 * or the row beside it, within a batch. */
static void add_other_regions(struct mesh_flow *f)
{
    const struct mesh_region *r = f->r, *of = r;
    const struct mesh *m = r->m;
    const int64_t rows = (int64_t)(MESH_BATCH + 1) * m->config.w, end = r->first + r->n_pes;
    while (of > m->region && of->first > r->first - rows) {
        of--;
        const int64_t from = of->first > r->first - rows ? of->first : r->first - rows;
        add_region(f, of, from, of->first + of->n_pes - from);
    }
    for (of = r + 1; of < m->region + m->n_regions && of->first < end + rows; of++) {
        const int64_t left = end + rows - of->first;
        add_region(f, of, of->first, left < of->n_pes ? left : of->n_pes);
    }
}

/* Extend the set f->near by the neighbours in the east and west. */
static void spread_beside(struct mesh_flow *f)
{
    uint64_t before = 0;
    for (int64_t i = 0; i < f->wide; i++) {
        const uint64_t set = f->near[i], after = word_of(f->near, f->wide, i + 1);
        f->near[i] |= (set << 1 | before >> 63) & ~f->west[i];
        f->near[i] |= (set >> 1 | after << 63) & ~f->east[i];
        before = set;
    }
}

/* Extend the set f->near by the places @p by before and after its own. */
static void spread(struct mesh_flow *f, int64_t by)
{
    uint64_t *const old = f->near;
    for (int64_t i = 0; i < f->wide; i++)
        f->next[i] = old[i] | moved(old, f->wide, i, by) | moved(old, f->wide, i, -by);
    f->near = f->next;
    f->next = old;
}

/* Extend the set f->near by all places that a disturbance can reach in a batch. */
static void spread_batch(struct mesh_flow *f)
{
    const int64_t w = f->r->m->config.w;
    for (int i = 0; i < MESH_BATCH; i++)
        spread_beside(f);
    for (int done = 0; done < MESH_BATCH;) {
        const int left = MESH_BATCH - done, step = done + 1 < left ? done + 1 : left;
        spread(f, step * w);
        done += step;
    }
}

/* Keep in f->flows only the places that no disturbance can reach in the batch. */
static void keep_undisturbed(struct mesh_flow *f)
{
    memset(f->near, 0, (size_t)f->wide * sizeof *f->near);
    memcpy(f->near + f->margin, f->unsteady, (size_t)f->r->n_words * sizeof *f->near);
    add_other_regions(f);
    spread_batch(f);
    for (int64_t i = 0; i < f->r->n_words; i++)
        f->flows[i] &= ~f->near[f->margin + i];
}

/* Set f->beyond: the places beside the region that no disturbance can reach. They flow where they
 * share a stream with this region. */
static void set_beyond(struct mesh_flow *f)
{
    const struct mesh_region *r = f->r;
    const int64_t w = r->m->config.w;
    memset(f->beyond, 0, (size_t)f->beyond_words * sizeof *f->beyond);
    for (int64_t i = 0; i < 2 * w && f->joins; i++) {
        const int64_t at = i < w ? i - w : r->n_pes + i - w, bit = 64 * f->margin + at;
        if (mesh_flow_beside(r, at) && !mesh_flow_has(f->near, bit))
            f->beyond[i >> 6] |= 1ULL << (i & 63);
    }
}

/* ---- ways of streams ------------------------------------------------------------------------- */

static void follow(struct mesh_flow *f, int64_t at, const struct mesh_channel *ch)
{
    f->stack[f->n++] =
        (struct mesh_flow_item){.at = (int32_t)at, .channel = (int32_t)(ch - f->r->channel)};
}

/* Totals of one stream: its channels, its ends at visited places (`leaves`), its branches, and its
 * ends at the regions to the north and south (`crosses`). `fits`: the stack was large enough. */
struct stream_totals {
    int64_t channels, leaves, forks;
    int crosses[2];
    bool fits;
};

/* Push the channels to which wavelets of @p ch go next, and count the ends of the stream. */
static void next_channels(struct mesh_flow *f, int64_t at, const struct mesh_channel *ch,
                          struct stream_totals *totals)
{
    const struct mesh_region *r = f->r;
    const int before = f->n;
    for (unsigned set = ch->tx & ~(unsigned)MESH_RAMP; set; set &= set - 1) {
        const int d = mesh_direction((int)set);
        const int64_t y = at + r->step[d];
        if (!mesh_flow_flows_at(f, y))
            totals->leaves++;
        else if (mesh_flow_is_here(r, y))
            follow(f, y, &r->channel[ch->to[d - 1]]);
        else
            totals->crosses[mesh_flow_side(y)]++;
    }
    if (ch->tx & MESH_RAMP) {
        const int out = mesh_flow_thread(r, at)->out;
        if (out != MESH_NONE) follow(f, at, mesh_flow_up(r, at, out));
    }
    if (f->n > before + 1) totals->forks += f->n - before - 1;
}

/* Follow a stream from channel @p ch of place @p at to all its ends; @p passed gets the places on
 * its way. */
static struct stream_totals follow_to_ends(struct mesh_flow *f, int64_t at,
                                           const struct mesh_channel *ch, uint64_t *passed)
{
    struct stream_totals totals = {.fits = true};
    f->n = 0;
    follow(f, at, ch);
    while (f->n && totals.fits) {
        const struct mesh_flow_item *item = &f->stack[--f->n];
        const int64_t y = item->at;
        totals.channels++;
        if (passed) passed[y >> 6] |= 1ULL << (y & 63);
        next_channels(f, y, &f->r->channel[item->channel], &totals);
        totals.fits = f->n + MOST_BRANCHES <= f->capacity;
    }
    return totals;
}

/* Record that a stream takes its words from a visited place at channel @p ch. False when the list
 * is full. */
static bool add_link(struct mesh_flow *f, int64_t at, const struct mesh_channel *ch)
{
    int32_t *const first = &f->link_of[at >> f->r->block_shift];
    if (f->n_links == f->capacity) return false;
    f->link[f->n_links++] = (struct mesh_flow_link){
        .item = {.at = (int32_t)at, .channel = (int32_t)(ch - f->r->channel)},
        .next = *first,
        .takes = true};
    *first = f->n_links;
    return true;
}

/* Totals over all streams of the region. */
struct region_totals {
    int64_t channels, followed, leaves, forks;
    struct mesh_flow_crossings crossings;
    bool fits, drops;
};

/* Count the borders that a stream crosses; @p from: the place from which it comes. */
static void add_crossings(const struct mesh_flow *f, const struct stream_totals *totals,
                          int64_t from, bool is_late, struct mesh_flow_crossings *all)
{
    const enum mesh_side side = mesh_flow_side(from);
    for (int i = 0; i < 2; i++)
        all->leaving[i] += totals->crosses[i];
    if (is_late && totals->crosses[0] + totals->crosses[1]) all->late_leaves = true;
    if (is_late || mesh_flow_is_here(f->r, from)) return;
    all->entering[side]++;
    if (totals->leaves) all->enter_leaves = true;
    if (totals->crosses[side]) all->returns = true;
}

/* Follow the stream that begins at channel @p ch. The words of a stream that takes from a visited
 * place are known only at the end of the batch, so it must not give to another visited place;
 * otherwise its places do not flow. */
static void follow_from(struct mesh_flow *f, int64_t at, const struct mesh_channel *ch,
                        struct region_totals *all)
{
    const int d = mesh_direction((int)mesh_gate_rx(mesh_flow_gate(ch)));
    const int64_t from = at + (d ? f->r->step[d] : 0);
    const bool is_late = d && !mesh_flow_flows_at(f, from);
    const bool begins = !d && mesh_flow_thread(f->r, at)->in == MESH_NONE;
    all->channels++;
    if (!is_late && !begins && mesh_flow_is_here(f->r, from)) return;
    const struct stream_totals totals = follow_to_ends(f, at, ch, NULL);
    all->fits = all->fits && totals.fits;
    all->followed += totals.channels;
    all->forks += totals.forks;
    add_crossings(f, &totals, from, is_late, &all->crossings);
    if (is_late && totals.leaves) {
        all->drops = true;
        (void)follow_to_ends(f, at, ch, f->spare);
    } else if (is_late) {
        all->fits = all->fits && add_link(f, at, ch);
    } else {
        all->leaves += totals.leaves;
    }
}

static struct region_totals follow_streams(struct mesh_flow *f)
{
    const struct mesh_region *r = f->r;
    struct region_totals all = {.fits = true};
    f->n_links = 0;
    memset(f->link_of, 0, (size_t)r->n_blocks * sizeof *f->link_of);
    memset(f->spare, 0, (size_t)r->n_words * sizeof *f->spare);
    for (int64_t i = 0; i < r->n_words; i++) {
        for (uint64_t set = f->flows[i]; set; set &= set - 1) {
            const int64_t at = 64 * i + __builtin_ctzll(set);
            for (uint32_t left = r->router[at].waiting; left; left &= left - 1)
                follow_from(f, at, mesh_flow_channel(r, at, __builtin_ctz(left)), &all);
        }
    }
    return all;
}

/* True when the set has a place that other regions assume to flow. */
static bool cross_any(const struct mesh_flow *f, const uint64_t *set)
{
    uint64_t any = 0;
    for (int64_t i = 0; i < f->r->n_words; i++)
        any |= set[i] & f->flows[i] & f->crossing[i];
    return any;
}

static int64_t count(const struct mesh_flow *f, const uint64_t *set)
{
    int64_t n = 0;
    for (int64_t i = 0; i < f->r->n_words; i++)
        n += __builtin_popcountll(set[i]);
    return n;
}

/* Follow all streams, again after each time that places are excluded because they cannot flow:
 * each of them ends streams earlier, which may exclude more. False after ROUNDS times, without
 * memory, or if fewer channels were followed than hold wavelets: a stream in a ring has no
 * beginning. */
static bool follow_all(struct mesh_flow *f)
{
    f->flowed_until = -1; /* the links of the last batch are replaced */
    for (int k = 0; k < ROUNDS; k++) {
        const struct region_totals all = follow_streams(f);
        f->crossings = all.crossings;
        if (!all.fits || all.forks + MOST_BRANCHES + MOST_BRANCHES > f->capacity) return false;
        if (!all.drops)
            return all.followed == all.channels && f->n_links + all.leaves <= f->capacity;
        if (f->joins && cross_any(f, f->spare)) return false;
        for (int64_t i = 0; i < f->r->n_words; i++)
            f->flows[i] &= ~f->spare[i];
    }
    return false;
}

static int64_t count_channels(const struct mesh_flow *f)
{
    int64_t n = 0;
    for (int64_t i = 0; i < f->r->n_words; i++)
        for (uint64_t set = f->flows[i]; set; set &= set - 1)
            n += __builtin_popcount(f->r->router[64 * i + __builtin_ctzll(set)].waiting);
    return n;
}

/* Reuse the streams of the last batch. True if the same places flow, here and beside the region,
 * and no further channel holds wavelets; a channel that has flowed still holds some. */
static bool reuse_links(struct mesh_flow *f)
{
    const size_t bytes = (size_t)f->r->n_words * sizeof *f->flows;
    const size_t beyond = (size_t)f->beyond_words * sizeof *f->beyond;
    if (f->flowed_until != f->first || memcmp(f->flows, f->flowed, bytes) != 0) return false;
    if (memcmp(f->beyond, f->beyond_before, beyond) != 0) return false;
    if (count_channels(f) != f->n_channels) return false;
    memset(f->link_of, 0, (size_t)f->r->n_blocks * sizeof *f->link_of);
    for (f->n_links = 0; f->n_links < f->n_taken;) {
        struct mesh_flow_link *const link = &f->link[f->n_links++];
        int32_t *const first = &f->link_of[link->item.at >> f->r->block_shift];
        link->next = *first;
        *first = f->n_links;
    }
    return true;
}

/* True when enough places flow to repay the cost of the search. */
static bool are_enough(const struct mesh_flow *f)
{
    enum { FEW = 4 };
    return FEW * count(f, f->flows) > f->n_busy;
}

bool mesh_flow_look_at(struct mesh_flow *f)
{
    const struct mesh_region *r = f->r;
    const int64_t w = r->m->config.w;
    examine_places(f);
    memset(f->crossing, 0, (size_t)r->n_words * sizeof *f->crossing);
    examine_border(f, 0, w);
    examine_border(f, r->n_pes - w, w);
    f->n_busy = count(f, f->unsteady) + count(f, f->flows);
    add_sources(f);
    return are_enough(f);
}

/* Exclude the places with streams over a border. */
static void exclude_crossing(struct mesh_flow *f)
{
    for (int64_t i = 0; i < f->r->n_words; i++)
        f->flows[i] &= ~f->crossing[i];
}

static bool find_steady(struct mesh_flow *f)
{
    set_beyond(f);
    if (!are_enough(f)) return false;
    if (reuse_links(f)) return true;
    if (!follow_all(f)) return false;
    f->n_taken = f->n_links;
    f->n_channels = count_channels(f);
    return true;
}

bool mesh_flow_find(struct mesh_flow *f)
{
    keep_undisturbed(f);
    if (!f->joins) exclude_crossing(f);
    f->crosses = cross_any(f, f->flows);
    return find_steady(f);
}

bool mesh_flow_find_apart(struct mesh_flow *f)
{
    f->joins = false;
    exclude_crossing(f);
    return find_steady(f);
}
