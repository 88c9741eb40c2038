// SPDX-License-Identifier: Apache-2.0
#include "mesh_impl.h"

/* Payload of a control wavelet; the order of the fields is assumed, their sizes are documented. */
enum { COMMAND_BITS = 3, COMMANDS = 0xFFFFFF };
static const uint32_t not_for_pe = 1U << 31;

enum outcome { GOES, WAITS_FOR_LINK, BLOCKED, LOST };

static void list_router(struct mesh *m, int64_t i)
{
    struct mesh_router *r = &m->router[i];
    uint32_t next = (uint32_t)(m->now + 1);
    if (r->listed == next) return;
    r->listed = next;
    m->next_routers.item[m->next_routers.n++] = (int32_t)i;
}

void mesh_router_wake(struct mesh *m, int64_t router)
{
    if (m->router[router].waiting) list_router(m, router);
}

bool mesh_channel_open(const struct mesh *m, const struct mesh_channel *ch, int side)
{
    /* A place that is left in this cycle is free, and a switch that turns has turned, in the next.
     */
    bool left_now = ch->popped == (uint32_t)(m->now + 1);
    return ((left_now ? ch->rx_before : ch->rx) & side) && ch->n + left_now < MESH_FIFO;
}

void mesh_channel_push(struct mesh *m, int64_t router, struct mesh_channel *ch, uint64_t entry)
{
    ch->entry[(ch->head + ch->n) % MESH_FIFO] = entry;
    ch->n++;
    m->router[router].waiting |= 1U << ch->colour;
    list_router(m, router);
}

/* Whoever may send into channel @p ch at @p router now: its PE or a neighbour. */
static void wake_sender(struct mesh *m, int64_t router, const struct mesh_channel *ch)
{
    int d = mesh_direction(ch->rx);
    struct mesh_pe *pe = &m->pe[router];
    if (d == 0) {
        mesh_pe_wake(m, pe);
        return;
    }
    int x = pe->x + mesh_dx[d], y = pe->y + mesh_dy[d];
    if (x >= 0 && y >= 0 && x < m->config.w && y < m->config.h)
        mesh_router_wake(m, router + m->step[d]);
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

static bool turns_here(uint64_t entry)
{
    return entry & MESH_CONTROL_BIT && (uint32_t)entry & MESH_TURN;
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

static enum outcome check_ramp(const struct mesh *m, int64_t router, const struct mesh_channel *ch,
                               uint64_t entry)
{
    if (kept_from_pe(m, ch, entry)) return GOES;
    if (ch->queue == MESH_NONE) return LOST;
    if (m->router[router].used[0] == (uint32_t)(m->now + 1)) return WAITS_FOR_LINK;
    const struct mesh_queue *q = &m->pe[router].in[ch->queue];
    return q->n < q->depth ? GOES : BLOCKED;
}

static enum outcome check_side(const struct mesh *m, int64_t router, const struct mesh_channel *ch,
                               int d)
{
    int32_t to = ch->to[d - 1];
    if (m->router[router].used[d] == (uint32_t)(m->now + 1)) return WAITS_FOR_LINK;
    if (to < MESH_OFF_FABRIC) return GOES;
    if (to == MESH_OFF_FABRIC) return LOST;
    return mesh_channel_open(m, &m->channel[to], 1 << mesh_opposite[d]) ? GOES : BLOCKED;
}

/* All outputs take the wavelet in the same cycle, or none does. */
static enum outcome check_outputs(const struct mesh *m, int64_t router,
                                  const struct mesh_channel *ch, uint64_t entry, int *lost)
{
    enum outcome worst = GOES;
    for (unsigned set = turns_here(entry) ? 0 : ch->tx; set; set &= set - 1) {
        int d = mesh_direction((int)set);
        enum outcome o = d ? check_side(m, router, ch, d) : check_ramp(m, router, ch, entry);
        if (o == LOST) *lost = d;
        if (o > worst) worst = o;
    }
    return worst;
}

static void to_ramp(struct mesh *m, int64_t router, const struct mesh_channel *ch, uint64_t entry)
{
    if (kept_from_pe(m, ch, entry)) return;
    struct mesh_pe *pe = &m->pe[router];
    struct mesh_queue *q = &pe->in[ch->queue];
    q->entry[(q->head + q->n) % MESH_QUEUE] =
        mesh_entry((uint32_t)entry, m->now + m->ramp_down, entry & MESH_CONTROL_BIT);
    q->n++;
    pe->in_used |= (uint16_t)(1U << ch->queue);
    m->router[router].used[0] = (uint32_t)(m->now + 1);
    mesh_pe_wake(m, pe);
}

static enum wsc_err to_sink(struct mesh *m, struct mesh_sink *s, uint64_t entry)
{
    mesh_did(m);
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

static enum wsc_err to_side(struct mesh *m, int64_t router, const struct mesh_channel *ch, int d,
                            uint64_t entry)
{
    int32_t to = ch->to[d - 1];
    m->router[router].used[d] = (uint32_t)(m->now + 1);
    m->stats.wavelet_hops++;
    if (to < MESH_OFF_FABRIC) return to_sink(m, &m->sink[MESH_OFF_FABRIC - 1 - to], entry);
    mesh_channel_push(m, router + m->step[d], &m->channel[to],
                      mesh_entry((uint32_t)entry, m->now + m->hop, entry & MESH_CONTROL_BIT));
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
    if (s->has_filter && !turns_here(*entry)) filter_count(s, *entry);
    if (!(*entry & MESH_CONTROL_BIT) || s->n < 2) return false;
    uint32_t payload = (uint32_t)*entry;
    bool moved = advance(s, (enum mesh_command)(payload & 3U));
    *entry = MESH_CONTROL_BIT | pop_command(s, payload, moved);
    return moved;
}

static void take_position(struct mesh *m, int64_t router, struct mesh_channel *ch)
{
    const struct mesh_position *p = &m->extra[ch->extra].pos[m->extra[ch->extra].at];
    ch->rx = p->rx;
    ch->tx = p->tx;
    wake_sender(m, router, ch);
}

/* A turn belongs to the wavelet before it: it happens with that one's departure and is itself
 * without effect later. */
static void turn_with_last(struct mesh *m, int64_t router, struct mesh_channel *ch)
{
    uint64_t *head = &ch->entry[ch->head];
    if (!ch->n || ch->extra < 0 || !turns_here(*head)) return;
    uint64_t command = *head;
    *head &= ~(uint64_t)COMMANDS;
    if (execute(m, ch, &command)) take_position(m, router, ch);
}

static enum wsc_err leave(struct mesh *m, int64_t router, struct mesh_channel *ch, uint64_t entry)
{
    unsigned set = turns_here(entry) ? 0 : ch->tx;
    bool moved = false;
    if (set & MESH_RAMP) to_ramp(m, router, ch, entry); /* the filter counts after its decision */
    if (ch->extra >= 0) moved = execute(m, ch, &entry);
    for (set &= ~1U; set; set &= set - 1)
        TRY(to_side(m, router, ch, mesh_direction((int)set), entry));
    bool was_full = ch->n == MESH_FIFO;
    ch->head = (uint8_t)((ch->head + 1) % MESH_FIFO);
    ch->popped = (uint32_t)(m->now + 1);
    ch->rx_before = ch->rx;
    if (!--ch->n) m->router[router].waiting &= ~(1U << ch->colour);
    if (moved) take_position(m, router, ch);
    turn_with_last(m, router, ch);
    if (was_full) wake_sender(m, router, ch);
    return WSC_OK;
}

static enum wsc_err raise_lost(const struct mesh *m, int64_t router, const struct mesh_channel *ch,
                               int d)
{
    const struct mesh_pe *pe = &m->pe[router];
    if (d == 0)
        return WSC_RAISE(WSC_USAGE,
                         "PE (%d, %d): nobody takes a wavelet of colour %d: no input queue", pe->x,
                         pe->y, ch->colour);
    return WSC_RAISE(WSC_USAGE,
                     "PE (%d, %d): nobody takes a wavelet of colour %d to the %s: the colour has "
                     "no route there",
                     pe->x, pe->y, ch->colour, mesh_direction_name(d));
}

/* One colour at one router; *@p again when it may move in the next cycle without being woken. */
static enum wsc_err channel_cycle(struct mesh *m, int64_t router, struct mesh_channel *ch,
                                  bool *again)
{
    uint64_t entry = ch->entry[ch->head];
    int lost = 0;
    if (mesh_entry_ready(entry) > m->now) {
        *again = true;
        return WSC_OK;
    }
    enum outcome o = check_outputs(m, router, ch, entry, &lost);
    if (o == LOST) return raise_lost(m, router, ch, lost);
    *again |= o == WAITS_FOR_LINK || (o == GOES && ch->n > 1);
    return o == GOES ? leave(m, router, ch, entry) : WSC_OK;
}

/* Colours take turns: the first one to choose changes every cycle. */
static enum wsc_err router_cycle(struct mesh *m, int64_t router)
{
    struct mesh_router *r = &m->router[router];
    uint32_t turn = ~0U << m->colour_turn;
    uint32_t set = r->waiting & turn, rest = r->waiting & ~turn;
    bool again = false;
    for (int half = 0; half < 2; half++, set = rest)
        for (; set; set &= set - 1) {
            int c = mesh_direction((int)set);
            int slot = __builtin_popcount(r->colours & ((1U << c) - 1U));
            TRY(channel_cycle(m, router, &m->channel[r->first + slot], &again));
        }
    if (again) list_router(m, router);
    return WSC_OK;
}

enum wsc_err mesh_routers_cycle(struct mesh *m)
{
    const int32_t *item = m->routers.item;
    m->colour_turn = (int)(m->now % MESH_COLOURS);
    for (int i = 0; i < m->routers.n; i++) {
        if (i + MESH_AHEAD < m->routers.n) {
            const struct mesh_router *next = &m->router[item[i + MESH_AHEAD]];
            __builtin_prefetch(&m->channel[next->first]);
            __builtin_prefetch(&m->pe[item[i + MESH_AHEAD]].in[2].head);
        }
        TRY(router_cycle(m, item[i]));
    }
    return WSC_OK;
}

/* ---- edges ----------------------------------------------------------------------------------- */

/* Sources that share a link take turns. */
enum wsc_err mesh_sources_cycle(struct mesh *m)
{
    uint32_t stamp = (uint32_t)(m->now + 1);
    for (int i = 0; i < m->n_sources; i++) {
        struct mesh_source *s = &m->source[(i + m->now) % m->n_sources];
        struct mesh_channel *ch = &m->channel[s->channel];
        uint32_t *used = &m->source[s->link].used;
        if (s->next == s->n || *used == stamp || !mesh_channel_open(m, ch, s->side)) continue;
        const struct mesh_wavelet *w = &s->wavelet[s->next++];
        mesh_channel_push(m, s->router, ch,
                          mesh_entry(w->data, m->now + m->hop, w->control ? MESH_CONTROL_BIT : 0));
        *used = stamp;
        m->stats.wavelets++;
        m->stats.wavelet_hops++;
        mesh_did(m);
    }
    return WSC_OK;
}
