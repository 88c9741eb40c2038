// SPDX-License-Identifier: Apache-2.0
/* Runs a cycle of a router. Colours in turn take the wavelets at the head of their queues to all
 * outputs of their route at once, if every one has room; switches advance, filters withhold
 * wavelets from the PE. A cycle reads the state at its start alone, so the order of visits has no
 * influence. */
#include "router.h"
#include "mesh_channel.h"
#include "mesh_link.h"
#include "mesh_queue.h"
#include "mesh_state.h"
#include "recording.h"
#include "region.h"
#include "watch_hooks.h"

/* Payload of a control wavelet; the order of the fields is assumed, their sizes are documented. */
enum { COMMAND_BITS = 3, COMMANDS = 0xFFFFFF };
/* Bit 31 of the payload: no PE gets the wavelet. */
static const uint32_t not_for_pe = 1U << 31;

/* Reasons why a wavelet cannot leave in this cycle, in rising order: another wavelet uses the link,
 * the next queue has no room, or no output accepts the wavelet (an error). */
enum outcome { GOES, WAITS_FOR_LINK, BLOCKED, LOST };

/* The state of a router during its visit. */
struct passage {
    struct mesh_region *r;
    struct mesh_router *router;
    int64_t at;
    unsigned used; /* set of outputs */
};

static bool is_here(const struct mesh_region *r, int64_t at)
{
    return (uint64_t)at < (uint64_t)r->n_pes;
}

/* Wake the sender that may send from side @p d now: the PE or a neighbour. */
static void wake_sender(struct mesh_region *r, const struct mesh_router *router, int64_t at, int d)
{
    const int64_t sender = at + r->step[d];
    if (d == 0)
        mesh_visit_pe(r->next, at);
    else if (!(router->neighbours >> d & 1U))
        return; /* edge sources poll; they are not woken */
    else if (is_here(r, sender))
        mesh_visit_router(r->next, sender);
    else
        mesh_mailbox_post(r, sender, MESH_MAILBOX_WAKE);
}

/* ---- filters --------------------------------------------------------------------------------- */

/* True if the filter passes @p entry to the PE. A range filter compares the index in the upper half
 * of the payload; counting filters compare their counter before this wavelet. */
static bool filter_passes(const struct mesh_switch *s, uint64_t entry)
{
    const struct mesh_filter *f = &s->filter;
    bool control = entry & MESH_CONTROL_BIT;
    uint32_t index = (uint32_t)entry >> 16;
    if (s->filter_off) return true;
    if (f->kind == MESH_FILTER_RANGE)
        return control || (index >= f->min_index && index <= f->max_index);
    if (control) return !f->filter_control || s->counter == f->max;
    return s->counter <= f->max;
}

/* Count a wavelet that passed the router. The counter wraps after limit1; a sparse filter then
 * changes to limit2 once, and after that lets everything through. */
static void filter_count(struct mesh_switch *s, uint64_t entry)
{
    struct mesh_filter *f = &s->filter;
    bool counts = entry & MESH_CONTROL_BIT ? f->count_control : f->count_data;
    if (s->filter_off || f->kind == MESH_FILTER_RANGE || !counts) return;
    if (s->counter++ != f->limit1) return;
    s->counter = 0;
    if (f->kind != MESH_FILTER_SPARSE) return;
    if (!f->limit2 || s->limit2_used) {
        s->filter_off = true;
        return;
    }
    f->limit1 = f->limit2;
    s->limit2_used = true;
}

/* True for a control wavelet of mesh_advance_switch(): it advances the switch of its own router and
 * does not leave. */
static bool is_own_switch_command(uint64_t entry)
{
    return entry & MESH_CONTROL_BIT && (uint32_t)entry & MESH_OWN_SWITCH;
}

/* True when the PE does not get the wavelet: a filter withholds it, or it is control for routers
 * only. */
static bool kept_from_pe(const struct mesh *m, const struct mesh_channel *ch, uint64_t entry)
{
    if (entry & MESH_CONTROL_BIT && (uint32_t)entry & not_for_pe) return true;
    const struct mesh_switch *s = mesh_switch_of(m, ch);
    return s && s->has_filter && !filter_passes(s, entry);
}

/* ---- one wavelet ----------------------------------------------------------------------------- */

/* Whether the wavelet can go to the PE: its input queue needs room, unless the PE does not get it
 * (@p kept). */
static enum outcome check_ramp(const struct passage *p, const struct mesh_channel *ch, bool kept)
{
    if (kept) return GOES;
    if (ch->queue == MESH_NONE) return LOST;
    if (p->used & MESH_RAMP) return WAITS_FOR_LINK;
    const struct mesh_queue *q = mesh_queue_of(&p->r->pe[p->at], ch->queue);
    return q->n < q->depth ? GOES : BLOCKED;
}

/* True if the wavelet may leave over side @p d (1 to 4). An edge sink always accepts it. For the
 * channel of a neighbour, the state at the start of the cycle decides (mesh_channel_open), so the
 * order of visits has no effect. */
static enum outcome check_side(const struct passage *p, const struct mesh_channel *ch, int d)
{
    int32_t to = ch->to[d - 1];
    if (p->used >> d & 1U) return WAITS_FOR_LINK;
    if (to < MESH_OFF_FABRIC) return GOES;
    if (to == MESH_OFF_FABRIC) return LOST;
    bool open = mesh_channel_open(&p->r->channel[to], p->r->now, 1U << mesh_opposite[d]);
    return open ? GOES : BLOCKED;
}

/* Whether the wavelet can go to all outputs of @p set in this cycle; it goes to all or to none. @p
 * kept: the PE does not get it. @p lost: the direction that has no receiver. */
static enum outcome check_outputs(const struct passage *p, const struct mesh_channel *ch,
                                  unsigned set, bool kept, int *lost)
{
    enum outcome worst = GOES;
    for (; set; set &= set - 1) {
        int d = mesh_direction((int)set);
        enum outcome o = d ? check_side(p, ch, d) : check_ramp(p, ch, kept);
        if (o == LOST) *lost = d;
        if (o > worst) worst = o;
    }
    return worst;
}

/* Put a wavelet into the input queue of the PE, where it can be read after the latency of the
 * ramp. The PE is then visited only if it waits for that queue. */
static void to_ramp(struct passage *p, const struct mesh_channel *ch, uint64_t entry)
{
    struct mesh_pe *pe = &p->r->pe[p->at];
    mesh_see_down(p->r->m, p->r->now, p->r->first + p->at, ch);
    mesh_queue_push(mesh_queue_of(pe, ch->queue), (entry & MESH_CONTENT_BITS) | p->r->ready_down);
    pe->in_used |= (uint8_t)(1U << ch->queue);
    p->used |= MESH_RAMP;
    if ((unsigned)pe->awaits >> ch->queue & 1U) mesh_visit_pe(p->r->arrival, p->at);
}

/* Store a wavelet in the host's array of a sink; control wavelets have no value and are dropped. A
 * full array is an error, since the program promised that no more would come. */
static enum wsc_err to_sink(struct passage *p, const struct mesh_sink *s, uint64_t entry)
{
    mesh_did(p->r);
    if (entry & MESH_CONTROL_BIT) return WSC_OK;
    if (s->output->n == s->output->capacity)
        return WSC_RAISE(WSC_CAPACITY,
                         "PE (%d, %d): nobody takes wavelet %lld of colour %d that leaves the "
                         "fabric to the %s",
                         s->x, s->y, (long long)s->output->n, s->colour,
                         mesh_direction_name(s->side));
    if (!s->output->n) s->output->first_cycle = p->r->now;
    s->output->word[s->output->n++] = (uint32_t)entry;
    return WSC_OK;
}

/* Send a wavelet over link @p d to the channel of the neighbour, or to a sink. The set of waiting
 * colours belongs to the neighbour's region, so another region is informed by a messagebox. */
static enum wsc_err to_side(struct passage *p, const struct mesh_channel *ch, int d, uint64_t entry)
{
    int32_t to = ch->to[d - 1];
    int64_t next = p->at + p->r->step[d];
    p->used |= 1U << d;
    p->r->stats.wavelet_hops++;
    mesh_see_side(p->r->m, p->r->now, p->r->first + p->at, ch, d);
    if (to < MESH_OFF_FABRIC) return to_sink(p, &p->r->m->sink[MESH_OFF_FABRIC - 1 - to], entry);
    struct mesh_channel *target = &p->r->channel[to];
    entry = (entry & MESH_CONTENT_BITS) | p->r->ready_hop;
    if (is_here(p->r, next)) {
        mesh_channel_push(p->r, next, target, entry);
        return WSC_OK;
    }
    mesh_channel_put(target, entry);
    mesh_mailbox_post(p->r, next, 1U << ch->colour);
    return WSC_OK;
}

/* ---- switches -------------------------------------------------------------------------------- */

/* Execute one command of a switch; after the last position a ring begins again, other switches
 * stay. True when the position has changed. */
static bool advance(struct mesh_switch *s, enum mesh_command command)
{
    uint8_t before = s->at;
    if (command == MESH_RESET) s->at = 0;
    if (command == MESH_ADVANCE && s->at + 1 < s->n)
        s->at++;
    else if (command == MESH_ADVANCE && s->ring)
        s->at = 0;
    return s->at != before;
}

/* The payload that leaves this router: its first command may be removed. */
static uint32_t pop_command(const struct mesh_switch *s, uint32_t payload, bool moved)
{
    bool pops = s->pop == MESH_ALWAYS_POP || (s->pop == MESH_POP_ON_ADVANCE && moved);
    uint32_t commands = payload & COMMANDS;
    return pops ? (payload & ~(uint32_t)COMMANDS) | commands >> COMMAND_BITS : payload;
}

/* Execute the first command of a control wavelet, which itself leaves by the old position. True
 * when the switch has moved. */
static bool execute(struct mesh *m, struct mesh_channel *ch, uint64_t *entry)
{
    struct mesh_switch *s = mesh_switch_of(m, ch);
    if (!s) return false;
    if (s->has_filter && !is_own_switch_command(*entry)) filter_count(s, *entry);
    if (!(*entry & MESH_CONTROL_BIT) || s->n < 2) return false;
    uint32_t payload = (uint32_t)*entry;
    bool moved = advance(s, (enum mesh_command)(payload & 3U));
    *entry = MESH_CONTROL_BIT | pop_command(s, payload, moved);
    return moved;
}

/* The command of mesh_advance_switch() belongs to the wavelet before it: it is executed when that
 * wavelet leaves and has no effect later. True when the switch has moved. */
static bool switch_with_last(const struct passage *p, struct mesh_channel *ch, uint64_t gate)
{
    uint64_t *next = &ch->entry[((unsigned)gate + 1) % MESH_FIFO];
    if (ch->extra < 0 || mesh_channel_count(ch, gate) < 2 || !is_own_switch_command(*next))
        return false;
    uint64_t command = *next;
    *next &= ~(uint64_t)COMMANDS;
    return execute(p->r->m, ch, &command);
}

/* Remove the wavelet at the head; @p moved: the switch has changed its position. */
static void pop(struct passage *p, struct mesh_channel *ch, uint64_t gate, bool moved)
{
    unsigned before = mesh_gate_rx(gate), rx = before;
    int n = mesh_channel_count(ch, gate);
    if (switch_with_last(p, ch, gate)) moved = true;
    if (moved) {
        const struct mesh_switch *s = mesh_switch_of(p->r->m, ch);
        rx = s->pos[s->at].rx;
        ch->tx = s->pos[s->at].tx;
        mesh_channel_set_fast_side(p->r->m, p->r->first + p->at, ch);
    }
    gate = mesh_gate(p->r->now + 1, before, rx, (unsigned)gate + 1);
    atomic_store_explicit(&ch->gate, gate, memory_order_relaxed);
    if (n == 1) p->router->waiting &= ~(1U << ch->colour);
    if (moved || n == MESH_FIFO) wake_sender(p->r, p->router, p->at, mesh_direction((int)rx));
}

/* Send the wavelet at the head to all its outputs. The PE gets it with all its commands; the next
 * routers get it after this router has executed, and perhaps removed, the first command. */
static enum wsc_err leave(struct passage *p, struct mesh_channel *ch, uint64_t entry, bool kept)
{
    uint64_t gate = atomic_load_explicit(&ch->gate, memory_order_relaxed);
    unsigned set = is_own_switch_command(entry) ? 0 : ch->tx;
    if (set & MESH_RAMP && !kept) to_ramp(p, ch, entry);
    const bool moved = execute(p->r->m, ch, &entry);
    for (set &= ~(unsigned)MESH_RAMP; set; set &= set - 1)
        TRY(to_side(p, ch, mesh_direction((int)set), entry));
    mesh_see_left(p->r->m, p->r->now, p->r->first + p->at, ch->colour);
    pop(p, ch, gate, moved);
    return WSC_OK;
}

static enum wsc_err raise_lost(const struct passage *p, const struct mesh_channel *ch, int d)
{
    const struct mesh_pe *pe = &p->r->pe[p->at];
    if (d == 0)
        return WSC_RAISE(WSC_USAGE,
                         "PE (%d, %d): nobody takes a wavelet of colour %d: no input queue", pe->x,
                         pe->y, ch->colour);
    return WSC_RAISE(WSC_USAGE,
                     "PE (%d, %d): nobody takes a wavelet of colour %d to the %s: the colour has "
                     "no route there",
                     pe->x, pe->y, ch->colour, mesh_direction_name(d));
}

/* ---- data on a standing route: most of what moves ---------------------------------------------
 */

/* Result of a visit so far: the outputs used, and whether the router is visited again without a
 * wake-up. */
struct progress {
    unsigned used;
    bool again;
    enum wsc_err rc;
};

/* True when a command of mesh_advance_switch() may follow the wavelet at the head, to be executed
 * with it. */
static inline bool switch_follows(const struct mesh_channel *ch, uint64_t gate, int n)
{
    return ch->extra >= 0 && n > 1 && ch->entry[(gate + 1) % MESH_FIFO] & MESH_CONTROL_BIT;
}

/* One cycle of one colour at one router in the general case: any wavelet, observed or not. */
static struct progress channel_cycle(struct mesh_region *r, int64_t at, struct mesh_channel *ch,
                                     struct progress so_far)
{
    struct passage p = {.r = r, .router = &r->router[at], .at = at, .used = so_far.used};
    const uint64_t gate = atomic_load_explicit(&ch->gate, memory_order_relaxed);
    const bool more = mesh_channel_count(ch, gate) > 1;
    const uint64_t entry = ch->entry[gate % MESH_FIFO];
    int lost = 0;
    mesh_see_channel(r->m, r->now, r->first + at, ch);
    if (mesh_entry_ready(entry) > r->now) return (struct progress){p.used, true, WSC_OK};
    const bool kept = kept_from_pe(r->m, ch, entry);
    const enum outcome o =
        check_outputs(&p, ch, is_own_switch_command(entry) ? 0 : ch->tx, kept, &lost);
    if (o == LOST) return (struct progress){p.used, false, raise_lost(&p, ch, lost)};
    if (o == GOES) {
        const enum wsc_err rc = leave(&p, ch, entry, kept);
        return (struct progress){p.used, so_far.again || more, rc};
    }
    mesh_see_held(r->m, r->now, r->first + at, ch->colour);
    return (struct progress){p.used, so_far.again || o == WAITS_FOR_LINK, WSC_OK};
}

static inline struct mesh_channel *channel_at(const struct mesh_region *r,
                                              const struct mesh_router *router, uint64_t set)
{
    const uint32_t below = (1U << (__builtin_ctzll(set) & 31)) - 1U;
    return &r->channel[router->first + __builtin_popcount(router->colours & below)];
}

/* Serve the remaining colours in general form: @p set has the colours that choose first in its
 * lower half, the others in its upper half; @p p is the progress so far. */
__attribute__((noinline)) static enum wsc_err rest_of_cycle(struct mesh_region *r, int64_t at,
                                                            uint64_t set, struct progress p)
{
    for (; set; set &= set - 1) {
        p = channel_cycle(r, at, channel_at(r, &r->router[at], set), p);
        if (p.rc) return p.rc;
    }
    if (p.again) mesh_visit_router(r->next, at);
    return WSC_OK;
}

/* Equals mesh_channel_open() for a wavelet of this cycle, with a fast test first. */
static inline bool is_open(const struct mesh_region *r, const struct mesh_channel *to,
                           unsigned side)
{
    const uint64_t gate = atomic_load_explicit(&to->gate, memory_order_relaxed);
    const uint8_t n = (uint8_t)(atomic_load_explicit(&to->tail, memory_order_relaxed) - gate);
    if (n < MESH_FIFO - 1 && gate >> 8 & gate >> 16 & side) return true;
    return mesh_channel_open(to, r->now, side);
}

/* Wake the sender of a channel that was full, as wake_sender(). False when the sender is not in
 * this region; then nothing is done. */
static inline bool wakes(struct mesh_region *r, const struct mesh_router *router, int64_t at,
                         unsigned rx)
{
    const int d = mesh_direction((int)rx);
    const int64_t sender = at + r->step[d];
    if (d && router->neighbours >> d & 1U) {
        if (!is_here(r, sender)) return false;
        mesh_visit_router(r->next, sender);
    } else if (!d) {
        mesh_visit_pe(r->next, at);
    }
    return true;
}

/* Put data into queue @p q of the PE, as to_ramp(). */
static inline void pass_down(struct mesh_region *r, int64_t at, unsigned queue,
                             struct mesh_queue *q, uint32_t data)
{
    struct mesh_pe *pe = &r->pe[at];
    mesh_queue_push(q, data | r->ready_down);
    pe->in_used |= (uint8_t)(1U << queue);
    if ((unsigned)pe->awaits >> queue & 1U) mesh_visit_pe(r->arrival, at);
}

/* Fast path of channel_cycle() for data (mesh_channel_set_fast_side()). False, without a change,
 * where it does not apply. */
static inline bool pass_fast(struct mesh_region *r, int64_t at, struct mesh_router *router,
                             struct mesh_channel *ch, struct progress *p)
{
    const uint64_t next = r->ready_next;
    const uint64_t gate = atomic_load_explicit(&ch->gate, memory_order_relaxed);
    const int n = mesh_channel_count(ch, gate);
    const uint64_t entry = ch->entry[gate % MESH_FIFO];
    const unsigned side = ch->fast_side, tx = ch->tx, rx = gate & 0xFF00;
    struct mesh_queue *q = NULL;
    if (side == MESH_NO_FAST_PATH || tx & p->used || switch_follows(ch, gate, n)) return false;
    if (entry >= next) {
        if (entry & MESH_CONTROL_BIT) return false;
        p->again = true; /* not ready yet */
        return true;
    }
    if (tx & MESH_RAMP) {
        q = mesh_queue_of(&r->pe[at], ch->queue);
        if (q->n == q->depth) return true;
    }
    if (side) {
        struct mesh_channel *to = &r->channel[ch->to[side - 1]];
        if (!is_open(r, to, 1U << mesh_opposite[side])) return true;
        if (n == MESH_FIFO && !wakes(r, router, at, rx >> 8)) return false;
        mesh_channel_push(r, at + r->step[side], to, (uint32_t)entry | r->ready_hop);
        r->stats.wavelet_hops++;
    } else if (n == MESH_FIFO && !wakes(r, router, at, rx >> 8)) {
        return false;
    }
    if (q) pass_down(r, at, ch->queue, q, (uint32_t)entry);
    atomic_store_explicit(&ch->gate, next | rx << 8 | rx | ((gate + 1) & 255),
                          memory_order_relaxed);
    p->used |= tx;
    if (n == 1)
        router->waiting &= ~(1U << ch->colour);
    else
        p->again = true;
    return true;
}

/* Colours take turns: the first one to choose changes every cycle. */
enum wsc_err mesh_router_cycle(struct mesh_region *r, int64_t at)
{
    struct mesh_router *router = &r->router[at];
    struct progress p = {0};
    const uint64_t before = (1U << r->colour_turn) - 1U;
    uint64_t set = (router->waiting & ~before) | (router->waiting & before) << 32;
    for (; set; set &= set - 1)
        if (!pass_fast(r, at, router, channel_at(r, router, set), &p))
            return rest_of_cycle(r, at, set, p);
    if (p.again) mesh_visit_router(r->next, at);
    return WSC_OK;
}

/* ---- edges ----------------------------------------------------------------------------------- */

/* Payload of a data wavelet: its value, or in a recorded run the number of its word. */
static uint32_t source_word(const struct mesh_region *r, struct mesh_source *s,
                            const struct mesh_wavelet *w)
{
    if (!r->recording) return w->data;
    return (uint32_t)(r->recording->made->taken[s - r->m->source].first + s->words++);
}

static void source_cycle(struct mesh_region *r, struct mesh_source *s)
{
    uint32_t stamp = (uint32_t)(r->now + 1);
    struct mesh_channel *ch = &r->channel[s->channel];
    uint32_t *used = &r->m->source[s->link].used;
    if (s->next == s->n || *used == stamp || !mesh_channel_open(ch, r->now, s->side)) return;
    const struct mesh_wavelet *w = &s->wavelet[s->next++];
    uint64_t content = w->control ? w->data | MESH_CONTROL_BIT : source_word(r, s, w);
    mesh_see_enters(r->m, r->now, s, ch);
    mesh_channel_push(r, s->router - r->first, ch, content | r->ready_hop);
    *used = stamp;
    r->stats.wavelets++;
    r->stats.wavelet_hops++;
    mesh_did(r);
}

/* Sources that share a link take turns; they are in one block. */
void mesh_sources_cycle(struct mesh_region *r, int64_t block)
{
    const int64_t turn = r->now % r->m->n_sources;
    const int begin = r->first_source[block], end = r->first_source[block + 1];
    int start = begin;
    while (start < end && r->source[start] < turn)
        start++;
    for (int i = start; i < end; i++)
        source_cycle(r, &r->m->source[r->source[i]]);
    for (int i = begin; i < start; i++)
        source_cycle(r, &r->m->source[r->source[i]]);
}
