// SPDX-License-Identifier: Apache-2.0
#include "mesh_impl.h"

/* Payload of a control wavelet; the order of the fields is assumed, their sizes are documented. */
enum { COMMAND_BITS = 3, COMMANDS = 0xFFFFFF };
static const uint32_t not_for_pe = 1U << 31;

enum outcome { GOES, WAITS_FOR_LINK, BLOCKED, LOST };

/* A router in its cycle. */
struct visit {
    struct mesh_region *r;
    struct mesh *m;
    struct mesh_router *router;
    int64_t i;
    unsigned used; /* set of outputs */
    bool again;    /* something may move in the next cycle without being woken */
};

static void put(struct mesh_channel *ch, uint64_t entry)
{
    uint8_t tail = atomic_load_explicit(&ch->tail, memory_order_relaxed);
    ch->entry[tail % MESH_FIFO] = entry;
    atomic_store_explicit(&ch->tail, (uint8_t)(tail + 1), memory_order_release);
}

void mesh_channel_push(struct mesh_region *r, int64_t router, struct mesh_channel *ch,
                       uint64_t entry)
{
    put(ch, entry);
    r->m->router[router].waiting |= 1U << ch->colour;
    mesh_router_visit(r, router);
    if (entry & MESH_CONTROL_BIT && ch->extra >= 0) mesh_note_control(r, router);
}

/* Whoever may send into channel @p ch from now on: the PE or a neighbour. */
static void wake_sender(const struct visit *v, const struct mesh_channel *ch)
{
    int d = mesh_direction((int)mesh_gate_rx(ch->gate));
    int64_t sender = v->i + v->m->step[d];
    if (d == 0)
        mesh_pe_wake(v->r, v->i);
    else if (!(v->router->neighbours >> d & 1U))
        return; /* edge sources look by themselves */
    else if (mesh_is_here(v->r, sender))
        mesh_router_visit(v->r, sender);
    else
        mesh_send_mail(v->r, sender, MESH_MAIL_WAKE);
}

/* ---- filters --------------------------------------------------------------------------------- */

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

/* The wavelet is not given to the PE: withheld by a filter, or control that only routers read. */
static bool kept_from_pe(const struct mesh *m, const struct mesh_channel *ch, uint64_t entry)
{
    if (entry & MESH_CONTROL_BIT && (uint32_t)entry & not_for_pe) return true;
    if (ch->extra < 0) return false;
    const struct mesh_switch *s = &m->extra[ch->extra];
    return s->has_filter && !filter_passes(s, entry);
}

/* ---- one wavelet ----------------------------------------------------------------------------- */

static enum outcome check_ramp(const struct visit *v, const struct mesh_channel *ch, uint64_t entry)
{
    if (kept_from_pe(v->m, ch, entry)) return GOES;
    if (ch->queue == MESH_NONE) return LOST;
    if (v->used & MESH_RAMP) return WAITS_FOR_LINK;
    const struct mesh_queue *q = mesh_queue_of(&v->m->pe[v->i], ch->queue);
    return q->n < q->depth ? GOES : BLOCKED;
}

static enum outcome check_side(const struct visit *v, const struct mesh_channel *ch, int d)
{
    int32_t to = ch->to[d - 1];
    if (v->used >> d & 1U) return WAITS_FOR_LINK;
    if (to < MESH_OFF_FABRIC) return GOES;
    if (to == MESH_OFF_FABRIC) return LOST;
    bool open =
        mesh_channel_open(&v->m->channel[to], v->r->now, 1U << mesh_opposite[d], v->r->turning);
    return open ? GOES : BLOCKED;
}

/* All outputs take the wavelet in the same cycle, or none does. */
static enum outcome check_outputs(const struct visit *v, const struct mesh_channel *ch,
                                  uint64_t entry, int *lost)
{
    enum outcome worst = GOES;
    for (unsigned set = ch->tx; set; set &= set - 1) {
        int d = mesh_direction((int)set);
        enum outcome o = d ? check_side(v, ch, d) : check_ramp(v, ch, entry);
        if (o == LOST) *lost = d;
        if (o > worst) worst = o;
    }
    return worst;
}

static void to_ramp(struct visit *v, const struct mesh_channel *ch, uint64_t entry)
{
    if (kept_from_pe(v->m, ch, entry)) return;
    struct mesh_pe *pe = &v->m->pe[v->i];
    mesh_queue_push(
        mesh_queue_of(pe, ch->queue),
        mesh_entry((uint32_t)entry, v->r->now + v->m->ramp_down, entry & MESH_CONTROL_BIT));
    pe->in_used |= (uint8_t)(1U << ch->queue);
    v->used |= MESH_RAMP;
    if ((unsigned)pe->hears >> ch->queue & 1U) mesh_pe_wake(v->r, v->i);
}

static enum wsc_err to_sink(struct visit *v, const struct mesh_sink *s, uint64_t entry)
{
    mesh_did(v->r);
    if (entry & MESH_CONTROL_BIT) return WSC_OK;
    if (s->output->n == s->output->capacity)
        return WSC_RAISE(WSC_CAPACITY,
                         "PE (%d, %d): nobody takes wavelet %lld of colour %d that leaves the "
                         "fabric to the %s",
                         s->x, s->y, (long long)s->output->n, s->colour,
                         mesh_direction_name(s->side));
    s->output->word[s->output->n++] = (uint32_t)entry;
    return WSC_OK;
}

static enum wsc_err to_side(struct visit *v, const struct mesh_channel *ch, int d, uint64_t entry)
{
    int32_t to = ch->to[d - 1];
    int64_t next = v->i + v->m->step[d];
    v->used |= 1U << d;
    v->r->stats.wavelet_hops++;
    if (to < MESH_OFF_FABRIC) return to_sink(v, &v->m->sink[MESH_OFF_FABRIC - 1 - to], entry);
    entry = mesh_entry((uint32_t)entry, v->r->now + v->m->hop, entry & MESH_CONTROL_BIT);
    if (mesh_is_here(v->r, next)) {
        mesh_channel_push(v->r, next, &v->m->channel[to], entry);
        return WSC_OK;
    }
    bool turns = entry & MESH_CONTROL_BIT && v->m->channel[to].extra >= 0;
    put(&v->m->channel[to], entry);
    mesh_send_mail(v->r, next, 1U << ch->colour | (turns ? (uint32_t)MESH_MAIL_CONTROL : 0));
    return WSC_OK;
}

/* ---- switches -------------------------------------------------------------------------------- */

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

/* The payload after this router: the first command may be gone. */
static uint32_t pop_command(const struct mesh_switch *s, uint32_t payload, bool moved)
{
    bool pops = s->pop == MESH_ALWAYS_POP || (s->pop == MESH_POP_ON_ADVANCE && moved);
    uint32_t commands = payload & COMMANDS;
    return pops ? (payload & ~(uint32_t)COMMANDS) | commands >> COMMAND_BITS : payload;
}

/* Executes the first command of a control wavelet; it leaves by the old position. */
static bool execute(struct mesh *m, struct mesh_channel *ch, uint64_t *entry)
{
    struct mesh_switch *s = &m->extra[ch->extra];
    if (s->has_filter) filter_count(s, *entry);
    if (!(*entry & MESH_CONTROL_BIT) || s->n < 2) return false;
    uint32_t payload = (uint32_t)*entry;
    bool moved = advance(s, (enum mesh_command)(payload & 3U));
    *entry = MESH_CONTROL_BIT | pop_command(s, payload, moved);
    return moved;
}

/* The wavelet at the head is gone, and the switch may stand in another position. */
static void pop(struct visit *v, struct mesh_channel *ch, bool moved)
{
    uint64_t gate = atomic_load_explicit(&ch->gate, memory_order_relaxed);
    unsigned before = mesh_gate_rx(gate), rx = before;
    int n = mesh_channel_count(ch);
    if (moved) {
        const struct mesh_switch *s = &v->m->extra[ch->extra];
        rx = s->pos[s->at].rx;
        ch->tx = s->pos[s->at].tx;
    }
    atomic_store_explicit(&ch->gate,
                          mesh_gate(v->r->now + 1, before, rx, (unsigned)(gate & 255) + 1),
                          memory_order_relaxed);
    if (n == 1) v->router->waiting &= ~(1U << ch->colour);
    if (moved || n == MESH_FIFO) wake_sender(v, ch);
}

static enum wsc_err leave(struct visit *v, struct mesh_channel *ch, uint64_t entry)
{
    unsigned set = ch->tx;
    bool moved = false;
    if (set & MESH_RAMP) to_ramp(v, ch, entry); /* the filter counts after its decision */
    if (ch->extra >= 0) moved = execute(v->m, ch, &entry);
    for (set &= ~1U; set; set &= set - 1)
        TRY(to_side(v, ch, mesh_direction((int)set), entry));
    pop(v, ch, moved);
    return WSC_OK;
}

static enum wsc_err raise_lost(const struct visit *v, const struct mesh_channel *ch, int d)
{
    const struct mesh_pe *pe = &v->m->pe[v->i];
    if (d == 0)
        return WSC_RAISE(WSC_USAGE,
                         "PE (%d, %d): nobody takes a wavelet of colour %d: no input queue", pe->x,
                         pe->y, ch->colour);
    return WSC_RAISE(WSC_USAGE,
                     "PE (%d, %d): nobody takes a wavelet of colour %d to the %s: the colour has "
                     "no route there",
                     pe->x, pe->y, ch->colour, mesh_direction_name(d));
}

/* One colour at one router. */
static enum wsc_err channel_cycle(struct visit *v, struct mesh_channel *ch)
{
    int n = mesh_channel_count(ch);
    uint64_t entry = ch->entry[atomic_load_explicit(&ch->gate, memory_order_relaxed) % MESH_FIFO];
    int lost = 0;
    if (mesh_entry_ready(entry) > v->r->now) {
        v->again = true;
        return WSC_OK;
    }
    enum outcome o = check_outputs(v, ch, entry, &lost);
    if (o == LOST) return raise_lost(v, ch, lost);
    v->again |= o == WAITS_FOR_LINK || (o == GOES && n > 1);
    return o == GOES ? leave(v, ch, entry) : WSC_OK;
}

bool mesh_router_turns(struct mesh_region *r, int64_t i, bool *later)
{
    bool now = false;
    *later = false;
    for (unsigned set = r->m->router[i].waiting; set; set &= set - 1) {
        const struct mesh_channel *ch = mesh_channel_of(r->m, i, mesh_direction((int)set));
        if (ch->extra < 0 || r->m->extra[ch->extra].n < 2) continue;
        unsigned head = atomic_load_explicit(&ch->gate, memory_order_relaxed) & 255;
        uint64_t first = ch->entry[head % MESH_FIFO];
        for (int k = mesh_channel_count(ch) - 1; k >= 0; k--)
            *later |= (ch->entry[(head + (unsigned)k) % MESH_FIFO] & MESH_CONTROL_BIT) != 0;
        now |= first & MESH_CONTROL_BIT && mesh_entry_ready(first) <= r->now;
    }
    return now;
}

/* Colours take turns: the first one to choose changes every cycle. */
enum wsc_err mesh_router_cycle(struct mesh_region *r, int64_t i)
{
    struct mesh *m = r->m;
    struct visit v = {.r = r, .m = m, .router = &m->router[i], .i = i};
    uint32_t turn = ~0U << r->colour_turn;
    uint32_t set = v.router->waiting & turn, rest = v.router->waiting & ~turn;
    for (int half = 0; half < 2; half++, set = rest)
        for (; set; set &= set - 1) {
            int c = mesh_direction((int)set);
            int slot = __builtin_popcount(v.router->colours & ((1U << c) - 1U));
            TRY(channel_cycle(&v, &m->channel[v.router->first + slot]));
        }
    if (v.again) mesh_router_visit(r, i);
    return WSC_OK;
}

/* ---- edges ----------------------------------------------------------------------------------- */

static void source_cycle(struct mesh_region *r, struct mesh_source *s)
{
    uint32_t stamp = (uint32_t)(r->now + 1);
    struct mesh_channel *ch = &r->m->channel[s->channel];
    uint32_t *used = &r->m->source[s->link].used;
    if (s->next == s->n || *used == stamp || !mesh_channel_open(ch, r->now, s->side, false)) return;
    const struct mesh_wavelet *w = &s->wavelet[s->next++];
    mesh_channel_push(r, s->router, ch,
                      mesh_entry(w->data, r->now + r->m->hop, w->control ? MESH_CONTROL_BIT : 0));
    *used = stamp;
    r->stats.wavelets++;
    r->stats.wavelet_hops++;
    mesh_did(r);
}

/* Sources that share a link take turns. */
void mesh_sources_cycle(struct mesh_region *r)
{
    if (!r->n_sources) return;
    int64_t first = r->now % r->m->n_sources;
    int start = 0;
    while (start < r->n_sources && r->source[start] < first)
        start++;
    for (int i = start; i < r->n_sources; i++)
        source_cycle(r, &r->m->source[r->source[i]]);
    for (int i = 0; i < start; i++)
        source_cycle(r, &r->m->source[r->source[i]]);
}
