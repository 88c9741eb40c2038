// SPDX-License-Identifier: Apache-2.0
/* Makes channels from routes. mesh_route() and mesh_filter() collect the actions of each router on
 * each colour; before the first cycle mesh_link() makes one channel (queue, outputs, switch,
 * filter) of every route and connects it to those of the neighbours, checking that each colour has
 * one sender. */
#include "mesh_link.h"
#include "mesh_channel.h"
#include "mesh_queue.h"
#include "mesh_state.h"
#include "pool.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <string.h>

enum { ALL_SIDES = MESH_RAMP | MESH_EAST | MESH_WEST | MESH_NORTH | MESH_SOUTH };

static bool is_single(int set)
{
    return set && !(set & (set - 1));
}

/* WSE-3: colours that may have a switch, from the SDK documentation of the builtins. */
static bool may_switch(enum mesh_arch arch, int colour)
{
    const uint32_t wse3 = 0x3FFU | 1U << 12 | 1U << 13 | 1U << 16 | 1U << 17 | 1U << 20 | 1U << 21;
    return arch == MESH_WSE2 || (wse3 >> colour & 1U);
}

/* Check a further switch position. It changes one direction on WSE-2, input and outputs on WSE-3.
 * A position with two inputs is refused, since the queue would have two senders. */
static enum wsc_err check_position(const struct mesh *m, struct mesh_rect at,
                                   const struct mesh_position *p, int colour)
{
    bool one = (p->rx && !p->tx && is_single(p->rx)) || (p->tx && !p->rx && is_single(p->tx));
    if ((p->rx | p->tx) & ~ALL_SIDES)
        return WSC_RAISE(WSC_USAGE, "PE (%d, %d): colour %d: unknown direction in a position", at.x,
                         at.y, colour);
    if (m->config.arch == MESH_WSE2 && !one)
        return WSC_RAISE(WSC_USAGE,
                         "PE (%d, %d): colour %d: on WSE-2 a further position changes one "
                         "direction, of the input or of the output",
                         at.x, at.y, colour);
    if (p->rx && !is_single(p->rx))
        return WSC_RAISE(WSC_USAGE, "PE (%d, %d): colour %d: a position with two senders", at.x,
                         at.y, colour);
    return WSC_OK;
}

/* Check a route against the rules of this generation, before any cell is changed. */
static enum wsc_err check_route(const struct mesh *m, struct mesh_rect at, int colour,
                                const struct mesh_route *r)
{
    TRY(mesh_check_rect(m, at));
    TRY(mesh_check_colour(at, colour));
    if (m->linked)
        return WSC_RAISE(WSC_USAGE, "PE (%d, %d): a route for colour %d after the start", at.x,
                         at.y, colour);
    if (!r->rx || !r->tx || (r->rx | r->tx) & ~ALL_SIDES)
        return WSC_RAISE(WSC_USAGE, "PE (%d, %d): colour %d: a route needs an input and an output",
                         at.x, at.y, colour);
    if (!is_single(r->rx))
        return WSC_RAISE(WSC_USAGE,
                         "PE (%d, %d): colour %d: two senders on one colour at one router", at.x,
                         at.y, colour);
    if (r->n_more < 0 || r->n_more >= MESH_POSITIONS || r->start < 0 || r->start > r->n_more)
        return WSC_RAISE(WSC_USAGE, "PE (%d, %d): colour %d: %d further positions, start in %d",
                         at.x, at.y, colour, r->n_more, r->start);
    if ((unsigned)r->pop > MESH_POP_ON_ADVANCE)
        return WSC_RAISE(WSC_USAGE, "PE (%d, %d): colour %d: there is no pop mode %d", at.x, at.y,
                         colour, (int)r->pop);
    if (r->n_more && !may_switch(m->config.arch, colour))
        return WSC_RAISE(WSC_USAGE, "PE (%d, %d): colour %d has no switch on WSE-3", at.x, at.y,
                         colour);
    for (int i = 0; i < r->n_more; i++)
        TRY(check_position(m, at, &r->more[i], colour));
    return WSC_OK;
}

/* Add a switch record to a route with positions or a filter. Other routes have no record and take
 * the fast path. */
static enum wsc_err new_extra(struct mesh *m, struct mesh_cell *cell)
{
    if (cell->extra) return WSC_OK;
    TRY_GROW(m->extra, WSC_MEM_MESH, m->extra_capacity, m->n_extra + 1);
    cell->extra = ++m->n_extra;
    struct mesh_switch *s = &m->extra[cell->extra - 1];
    memset(s, 0, sizeof *s);
    s->pos[0] = (struct mesh_position){cell->rx, cell->tx};
    s->n = 1;
    return WSC_OK;
}

/* Fill the positions of a switch: a further position keeps from the first one what it does not
 * name. */
static void fill_switch(struct mesh_switch *s, const struct mesh_route *r)
{
    s->n = (uint8_t)(r->n_more + 1);
    s->at = (uint8_t)r->start;
    s->pop = (uint8_t)r->pop;
    s->ring = r->ring;
    for (int i = 0; i < r->n_more; i++) {
        s->pos[i + 1].rx = r->more[i].rx ? r->more[i].rx : r->rx;
        s->pos[i + 1].tx = r->more[i].tx ? r->more[i].tx : r->tx;
    }
}

static bool same_switch(const struct mesh *m, const struct mesh_cell *cell,
                        const struct mesh_route *r)
{
    struct mesh_switch own = {.pos = {{r->rx, r->tx}}};
    if (!cell->extra) return !r->n_more;
    const struct mesh_switch *s = &m->extra[cell->extra - 1];
    fill_switch(&own, r);
    return s->n == own.n && s->at == own.at && s->pop == own.pop && s->ring == own.ring &&
           !memcmp(s->pos, own.pos, sizeof own.pos);
}

/* The cells of PE @p at, allocated at its first route; NULL without memory. */
static struct mesh_cell *cells_of(struct mesh *m, int64_t at)
{
    const int64_t bytes = MESH_COLOURS * (int64_t)sizeof **m->cell;
    if (m->cell[at]) return m->cell[at];
    m->cell[at] = mesh_pool_take(&m->cells, mesh_pool_size(bytes));
    if (m->cell[at]) memset(m->cell[at], 0, (size_t)bytes);
    return m->cell[at];
}

void mesh_cells_free(struct mesh *m)
{
    mesh_pool_fini(&m->cells);
    m->cells = (struct mesh_pool){0};
    wsc_free(m->cell);
    m->cell = NULL;
}

/* Set the route of one router. An equal route may be set twice, so that rectangles may overlap. */
static enum wsc_err route_at(struct mesh *m, int x, int y, int colour, const struct mesh_route *r)
{
    struct mesh_cell *cell = cells_of(m, (int64_t)y * m->config.w + x);
    if (!cell) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "routes");
    cell += colour;
    if (cell->rx && (cell->rx != r->rx || cell->tx != r->tx || !same_switch(m, cell, r)))
        return WSC_RAISE(WSC_USAGE,
                         "PE (%d, %d): colour %d already comes from the %s; a second route would "
                         "give it two senders at one router",
                         x, y, colour, mesh_direction_name(mesh_direction(cell->rx)));
    if (cell->rx) return WSC_OK;
    cell->rx = r->rx;
    cell->tx = r->tx;
    if (!r->n_more) return WSC_OK;
    TRY(new_extra(m, cell));
    fill_switch(&m->extra[cell->extra - 1], r);
    return WSC_OK;
}

enum wsc_err mesh_route(struct mesh *m, struct mesh_rect rect, int colour,
                        const struct mesh_route *route)
{
    TRY(check_route(m, rect, colour, route));
    for (int y = rect.y; y < rect.y + rect.h; y++)
        for (int x = rect.x; x < rect.x + rect.w; x++)
            TRY(route_at(m, x, y, colour, route));
    return WSC_OK;
}

/* Attach a filter to the route of @p colour; a router has MESH_MAX_FILTERS of them. */
static enum wsc_err filter_at(struct mesh *m, int x, int y, int colour,
                              const struct mesh_filter *filter)
{
    struct mesh_cell *cells = cells_of(m, (int64_t)y * m->config.w + x);
    int n = 0;
    if (!cells) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "routes");
    for (int c = 0; c < MESH_COLOURS; c++)
        n += c != colour && cells[c].extra && m->extra[cells[c].extra - 1].has_filter;
    if (n >= MESH_MAX_FILTERS)
        return WSC_RAISE(WSC_CAPACITY, "PE (%d, %d): more than %d filters", x, y, MESH_MAX_FILTERS);
    if (!cells[colour].rx)
        return WSC_RAISE(WSC_USAGE, "PE (%d, %d): a filter on colour %d, which has no route here",
                         x, y, colour);
    TRY(new_extra(m, &cells[colour]));
    struct mesh_switch *s = &m->extra[cells[colour].extra - 1];
    s->has_filter = true;
    s->filter = *filter;
    s->counter = filter->init;
    return WSC_OK;
}

/* The route must exist already; the counter of the filter begins at filter->init. */
enum wsc_err mesh_filter(struct mesh *m, struct mesh_rect rect, int colour,
                         const struct mesh_filter *filter)
{
    TRY(mesh_check_rect(m, rect));
    TRY(mesh_check_colour(rect, colour));
    if (m->linked)
        return WSC_RAISE(WSC_USAGE, "PE (%d, %d): a filter for colour %d after the start", rect.x,
                         rect.y, colour);
    if ((unsigned)filter->kind > MESH_FILTER_RANGE)
        return WSC_RAISE(WSC_USAGE, "PE (%d, %d): colour %d: there is no filter of kind %d", rect.x,
                         rect.y, colour, (int)filter->kind);
    for (int y = rect.y; y < rect.y + rect.h; y++)
        for (int x = rect.x; x < rect.x + rect.w; x++)
            TRY(filter_at(m, x, y, colour, filter));
    return WSC_OK;
}

/* ---- from cells to channels ------------------------------------------------------------------ */

static uint32_t neighbours(const struct mesh *m, const struct mesh_pe *pe)
{
    uint32_t set = 0;
    for (int d = 1; d < 5; d++) {
        int x = pe->x + mesh_dx[d], y = pe->y + mesh_dy[d];
        if (x >= 0 && y >= 0 && x < m->config.w && y < m->config.h) set |= 1U << d;
    }
    return set;
}

/* Number the channels router by router and colour by colour: those of a router are consecutive,
 * and the place of a colour among them is the number of lower colours that it has. */
static void count_channels(struct mesh *m)
{
    for (int64_t i = 0; i < m->n_pes; i++) {
        struct mesh_router *r = &m->router[i];
        r->first = (int32_t)m->n_channels;
        r->neighbours = neighbours(m, &m->pe[i]);
        for (int c = 0; c < MESH_COLOURS && m->cell[i]; c++)
            if (m->cell[i][c].rx) r->colours |= 1U << c;
        m->n_channels += __builtin_popcount(r->colours);
    }
}

/* The short path applies to a channel without observer and filter, with at most one side, if the
 * channel on that side is in this region; with a ramp it needs a queue. */
void mesh_channel_set_fast_side(const struct mesh *m, int64_t at, struct mesh_channel *ch)
{
    const int sides = ch->tx & ~MESH_RAMP, d = sides ? mesh_direction(sides) : MESH_NO_SIDE;
    ch->fast_side = MESH_NO_FAST_PATH;
    if (m->watch || ch->extra >= MESH_FILTERED || sides & (sides - 1)) return;
    if (ch->tx & MESH_RAMP && ch->queue == MESH_NONE) return;
    if (sides && (ch->to[d - 1] < 0 || m->pe[at].region != m->pe[at + m->step[d]].region)) return;
    ch->fast_side = (uint8_t)d & 7U;
}

/* Connect a channel to those of its colour at the four neighbours; MESH_OFF_FABRIC at the edge and
 * where the neighbour has no route. */
static void connect(struct mesh *m, int64_t i, struct mesh_channel *ch)
{
    for (int d = 1; d < 5; d++) {
        bool inside = m->router[i].neighbours >> d & 1U;
        struct mesh_channel *next = inside ? mesh_channel_of(m, i + m->step[d], ch->colour) : NULL;
        ch->to[d - 1] = next ? (int32_t)(next - m->channel) : MESH_OFF_FABRIC;
    }
}

/* Initialise an empty channel with the input and the outputs of the initial switch position. */
static void make_channel(struct mesh *m, int64_t i, int colour)
{
    struct mesh_channel *ch = mesh_channel_of(m, i, colour);
    const struct mesh_cell *cell = &m->cell[i][colour];
    struct mesh_position at = {cell->rx, cell->tx};
    uint8_t queue = mesh_binding_of(&m->pe[i])->in_of[colour];
    WSC_CHECK(ch, "router %lld has no colour %d", (long long)i, colour);
    if (cell->extra) at = m->extra[cell->extra - 1].pos[m->extra[cell->extra - 1].at];
    atomic_init(&ch->gate, mesh_gate(0, at.rx, at.rx, 0));
    atomic_init(&ch->tail, 0);
    ch->tx = at.tx;
    ch->colour = (uint8_t)colour & 31U;
    ch->extra = cell->extra - 1;
    if (cell->extra && m->extra[cell->extra - 1].has_filter) ch->extra |= MESH_FILTERED;
    ch->queue = queue ? queue - 1 : MESH_NONE;
    connect(m, i, ch);
    mesh_channel_set_fast_side(m, i, ch);
}

static enum wsc_err make_channels(struct mesh *m)
{
    count_channels(m);
    TRY(mesh_buffer_zero(&m->channels, m->n_channels * (int64_t)sizeof *m->channel));
    m->channel = m->channels.data;
    for (int64_t i = 0; i < m->n_pes; i++)
        for (uint32_t set = m->router[i].colours; set; set &= set - 1)
            make_channel(m, i, mesh_direction((int)set));
    return WSC_OK;
}

/* ---- queues ---------------------------------------------------------------------------------- */

static int queue_lines(const struct mesh *m, int queue)
{
    const size_t entry = sizeof(uint64_t);
    size_t bytes = sizeof(struct mesh_queue) + (size_t)mesh_queue_depth(m, queue) * entry;
    return (int)((bytes + MESH_LINE - 1) / MESH_LINE);
}

/* Assign lines to the bound queues of a PE; returns their number. */
static int place_queues(struct mesh *m, struct mesh_pe *pe)
{
    int lines = 0;
    pe->queue_heads = 0;
    for (int q = 0; q < MESH_N_IN + MESH_N_OUT; q++) {
        if (mesh_binding_of(pe)->colour[q] == MESH_NONE) continue;
        pe->slot[q] = (uint8_t)lines;
        pe->queue_heads |= 1U << lines;
        lines += queue_lines(m, q);
    }
    return lines;
}

static void make_queue(struct mesh *m, struct mesh_pe *pe, int queue)
{
    const struct mesh_binding *b = mesh_binding_of(pe);
    struct mesh_queue *q = mesh_queue_of(pe, queue);
    q->depth = (uint8_t)mesh_queue_depth(m, queue);
    q->colour = b->colour[queue];
    if (queue < MESH_N_IN) {
        q->link = b->data_task[queue] - 1;
        return;
    }
    const struct mesh_channel *ch = mesh_channel_of(m, pe->index, q->colour);
    q->link = ch ? (int32_t)(ch - m->channel) : -1;
}

/* The bound queues of all PEs in one array: those of a PE are consecutive lines. */
static enum wsc_err make_queues(struct mesh *m)
{
    int64_t lines = 0;
    for (int64_t i = 0; i < m->n_pes; i++)
        lines += place_queues(m, &m->pe[i]);
    TRY(mesh_buffer_zero(&m->queues, lines * MESH_LINE));
    m->queue_lines = lines;
    struct mesh_cache_line *line = m->queues.data;
    for (int64_t i = 0; i < m->n_pes; i++) {
        struct mesh_pe *pe = &m->pe[i];
        pe->queue = line;
        line += place_queues(m, pe);
        for (int q = 0; q < MESH_N_IN + MESH_N_OUT; q++)
            if (mesh_binding_of(pe)->colour[q] != MESH_NONE) make_queue(m, pe, q);
    }
    return WSC_OK;
}

/* ---- edges ----------------------------------------------------------------------------------- */

/* Link outputs over the edge to their sinks. A wavelet that leaves over an edge without a sink is
 * an error. */
static enum wsc_err link_sinks(struct mesh *m)
{
    for (int i = 0; i < m->n_sinks; i++) {
        const struct mesh_sink *s = &m->sink[i];
        struct mesh_channel *ch = mesh_channel_of(m, (int64_t)s->y * m->config.w + s->x, s->colour);
        if (!ch)
            return WSC_RAISE(WSC_USAGE,
                             "PE (%d, %d): an edge sink for colour %d, which has no route", s->x,
                             s->y, s->colour);
        if (ch->to[s->side - 1] <= MESH_OFF_FABRIC - 1)
            return WSC_RAISE(WSC_USAGE, "PE (%d, %d): colour %d has two edge sinks at one side",
                             s->x, s->y, s->colour);
        ch->to[s->side - 1] = MESH_OFF_FABRIC - 1 - i;
    }
    return WSC_OK;
}

static enum wsc_err link_sources(struct mesh *m)
{
    for (int i = 0; i < m->n_sources; i++) {
        struct mesh_source *s = &m->source[i];
        struct mesh_channel *ch = mesh_channel_of(m, s->router, s->channel);
        if (!ch)
            return WSC_RAISE(WSC_USAGE,
                             "PE (%d, %d): an edge source of colour %d, which has no route",
                             m->pe[s->router].x, m->pe[s->router].y, s->channel);
        s->channel = (int32_t)(ch - m->channel);
    }
    return WSC_OK;
}

/* The block of the region's places into which source @p s feeds; -1: it feeds another region. */
static int64_t block_of(const struct mesh_region *r, const struct mesh_source *s)
{
    if (r->m->pe[s->router].region != r) return -1;
    return (s->router - r->first) >> r->block_shift;
}

/* Sort the sources of a region by block with a counting sort; sources of one block keep the order
 * in which they were given. */
static enum wsc_err sort_sources(struct mesh_region *r)
{
    const struct mesh *m = r->m;
    TRY_NEW(r->first_source, WSC_MEM_MESH, r->n_blocks + 1);
    TRY_NEW(r->source, WSC_MEM_MESH, m->n_sources);
    for (int i = 0; i < m->n_sources; i++)
        if (block_of(r, &m->source[i]) >= 0) r->first_source[block_of(r, &m->source[i]) + 1]++;
    for (int64_t b = 0; b < r->n_blocks; b++)
        r->first_source[b + 1] += r->first_source[b];
    for (int i = 0; i < m->n_sources; i++) {
        const int64_t block = block_of(r, &m->source[i]);
        if (block >= 0) r->source[r->first_source[block]++] = i;
    }
    /* The sort has advanced each start to that of the next block; shift them back. */
    memmove(r->first_source + 1, r->first_source, (size_t)r->n_blocks * sizeof *r->first_source);
    r->first_source[0] = 0;
    return WSC_OK;
}

/* Each region feeds its own sources. */
static enum wsc_err share_sources(struct mesh *m)
{
    for (int i = m->own; i < m->own + m->n_own && m->n_sources; i++)
        TRY(sort_sources(&m->region[i]));
    return WSC_OK;
}

/* Turn routes into channels and connect them, once, before the first cycle. */
enum wsc_err mesh_link(struct mesh *m)
{
    m->linked = true; /* also when it fails: the next program needs mesh_clear */
    TRY(make_channels(m));
    TRY(make_queues(m));
    TRY(link_sinks(m));
    TRY(link_sources(m));
    TRY(share_sources(m));
    mesh_cells_free(m);
    return WSC_OK;
}
