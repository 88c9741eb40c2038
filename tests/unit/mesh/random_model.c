// SPDX-License-Identifier: Apache-2.0
/* Wavelets without a clock: each one walks down its tree of routes alone, in the order in which it
 * was sent, and moves the switches and counts at the filters on its way.  Where inputs are static
 * a colour has one stream at every router, so that time cannot change what happens. */
#include "random_fabric.h"

#include <stdio.h>
#include <string.h>

struct cell {
    bool routed;
    uint8_t rx, tx[MESH_POSITIONS];
    int n, at;
    bool ring;
    enum mesh_pop pop;
    bool filters, off, second;
    uint32_t counter;
    struct mesh_filter filter;
    uint8_t sinks; /* sides with a sink */
};

struct model {
    const struct random_case *c;
    struct cell cell[CASE_PES][MESH_COLOURS];
    int64_t data[CASE_PES][MESH_COLOURS], control[CASE_PES];
    int64_t wavelets, hops, left_edge;
    bool undecided, lost;
};

static int beside(const struct random_case *c, int pe, int side)
{
    int x = pe % c->w + (side == MESH_EAST) - (side == MESH_WEST);
    int y = pe / c->w + (side == MESH_SOUTH) - (side == MESH_NORTH);
    return x < 0 || y < 0 || x >= c->w || y >= c->h ? -1 : y * c->w + x;
}

static int opposite(int side)
{
    if (side == MESH_EAST) return MESH_WEST;
    if (side == MESH_WEST) return MESH_EAST;
    return side == MESH_NORTH ? MESH_SOUTH : MESH_NORTH;
}

/* ---- filters and switches -------------------------------------------------------------------- */

static bool passes(const struct cell *k, bool control, uint32_t data)
{
    if (!k->filters || k->off) return true;
    if (k->filter.kind == MESH_FILTER_RANGE)
        return control || (data >> 16 >= k->filter.min_index && data >> 16 <= k->filter.max_index);
    if (control && k->filter.filter_control) return k->counter == k->filter.max;
    return control || k->counter <= k->filter.max;
}

static void count(struct cell *k, bool control)
{
    const struct mesh_filter *f = &k->filter;
    if (!k->filters || k->off || f->kind == MESH_FILTER_RANGE) return;
    if (!(control ? f->count_control : f->count_data)) return;
    uint32_t limit = k->second ? f->limit2 : f->limit1;
    if (k->counter != limit) {
        k->counter++;
        return;
    }
    k->counter = 0;
    if (f->kind == MESH_FILTER_COUNTER) return;
    k->off = k->second || f->limit2 == 0;
    k->second = true;
}

/* The payload after the router. */
static uint32_t command(struct cell *k, uint32_t payload)
{
    int before = k->at;
    if (k->n < 2) return payload;
    if ((payload & 3) == MESH_ADVANCE)
        k->at = k->at + 1 < k->n ? k->at + 1 : k->ring ? 0 : k->at;
    else if ((payload & 3) == MESH_RESET)
        k->at = 0;
    bool pops = k->pop == MESH_ALWAYS_POP || (k->pop == MESH_POP_ON_ADVANCE && k->at != before);
    return pops ? (payload & 0xFF000000) | (payload & 0x00FFFFFF) >> 3 : payload;
}

/* ---- the walk -------------------------------------------------------------------------------- */

static void give(struct model *m, int pe, int colour, bool control, uint32_t data)
{
    if (control && data >> 31) return;
    if (!passes(&m->cell[pe][colour], control, data)) return;
    if (!control) m->data[pe][colour]++;
    if (control && (data >> 24 & 63) == CONTROL_TASK) m->control[pe]++;
}

static void walk(struct model *m, int pe, int colour, bool control, uint32_t data)
{
    struct cell *k = &m->cell[pe][colour];
    uint8_t tx = k->tx[k->at];
    if (tx & MESH_RAMP) give(m, pe, colour, control, data);
    count(k, control);
    if (control) data = command(k, data);
    for (int side = MESH_EAST; side <= MESH_SOUTH; side *= 2) {
        if (!(tx & side)) continue;
        int next = beside(m->c, pe, side);
        m->hops++;
        if (next < 0 && k->sinks & side)
            m->left_edge += !control;
        else if (next < 0 || !m->cell[next][colour].routed ||
                 m->cell[next][colour].rx != opposite(side))
            m->lost = true;
        else
            walk(m, next, colour, control, data);
    }
}

/* ---- the case -------------------------------------------------------------------------------- */

static void take_route(struct model *m, struct cell *k, const struct mesh_route *r)
{
    if (k->routed) return;
    k->routed = true;
    k->rx = r->rx;
    k->tx[0] = r->tx;
    k->n = r->n_more + 1;
    k->at = r->start;
    k->ring = r->ring;
    k->pop = r->pop;
    for (int i = 0; i < r->n_more; i++) {
        m->undecided |= r->more[i].rx && r->more[i].rx != r->rx;
        k->tx[i + 1] = r->more[i].tx ? r->more[i].tx : r->tx;
    }
}

static void take_step(struct model *m, const struct step *s)
{
    if (s->kind != SET_ROUTE && s->kind != SET_FILTER && s->kind != SET_SINK) return;
    struct cell *k = &m->cell[s->rect.y * m->c->w + s->rect.x][s->colour];
    if (s->kind == SET_SINK) k->sinks |= (uint8_t)s->id;
    if (s->kind == SET_ROUTE) take_route(m, k, &s->as.route);
    if (s->kind != SET_FILTER) return;
    k->filters = true;
    k->filter = s->as.filter;
    k->counter = s->as.filter.init;
}

static void feed(struct model *m, const struct step *s)
{
    int pe = s->rect.y * m->c->w + s->rect.x;
    m->wavelets += s->n;
    m->hops += s->n; /* over the edge */
    for (int64_t i = 0; i < s->n; i++) {
        const struct mesh_wavelet *w = &m->c->wavelet[s->arg][i];
        walk(m, pe, s->colour, w->control, w->data);
    }
}

/* What a payload that the test does not know could change. */
static bool value_matters(const struct model *m, const struct sent *s)
{
    bool range = false;
    for (int pe = 0; pe < CASE_PES; pe++) {
        const struct cell *k = &m->cell[pe][s->colour];
        range |= k->filters && k->filter.kind == MESH_FILTER_RANGE;
    }
    return s->control || range;
}

static bool order_matters(const struct model *m, int colour)
{
    for (int pe = 0; pe < CASE_PES; pe++)
        if (m->cell[pe][colour].filters || m->cell[pe][colour].n > 1) return true;
    return false;
}

static void send(struct model *m, const struct case_log *log, const struct sent *s)
{
    m->wavelets += s->n;
    m->undecided |= !s->known && value_matters(m, s);
    m->undecided |= log->sender_thread[s->pe][s->colour] < 0 && order_matters(m, s->colour);
    if (m->undecided) return;
    m->lost |= s->n && !(m->cell[s->pe][s->colour].rx & MESH_RAMP);
    for (int i = 0; i < s->n && !m->lost; i++)
        walk(m, s->pe, s->colour, s->control, s->data);
}

static bool same(int64_t got, int64_t expected, const char *what, int pe, int colour, char why[160])
{
    if (got == expected) return true;
    (void)snprintf(why, 160, "%s: %lld counted, %lld expected, PE %d, colour %d", what,
                   (long long)got, (long long)expected, pe, colour);
    return false;
}

static bool same_everywhere(const struct model *m, const struct case_log *log, char why[160])
{
    for (int pe = 0; pe < m->c->w * m->c->h; pe++) {
        if (!same(log->control_tasks[pe], m->control[pe], "control tasks", pe, -1, why))
            return false;
        for (int colour = 0; colour < MESH_COLOURS; colour++)
            if (!same(log->taken[pe][colour], m->data[pe][colour], "taken", pe, colour, why))
                return false;
    }
    return true;
}

bool model_check(const struct random_case *c, const struct case_log *log, const struct outcome *out,
                 bool *decided, char why[160])
{
    static struct model m;
    memset(&m, 0, sizeof m);
    m.c = c;
    for (int i = 0; i < c->n_steps; i++)
        if (log->applied[i]) take_step(&m, &c->step[i]);
    for (int i = 0; i < log->n_sent; i++)
        send(&m, log, &log->sent[i]);
    for (int i = 0; i < c->n_steps; i++)
        if (log->applied[i] && c->step[i].kind == SET_SOURCE) feed(&m, &c->step[i]);
    *decided = !m.undecided && !log->overflow;
    bool sums = same(out->stats.elements, log->elements, "elements", -1, -1, why) &&
                (log->overflow || same(out->stats.wavelets, m.wavelets, "wavelets", -1, -1, why));
    if (!sums || !*decided) return sums;
    return same(m.lost, 0, "lost wavelets", -1, -1, why) &&
           same(out->stats.wavelet_hops, m.hops, "hops", -1, -1, why) &&
           same(out->left_edge, m.left_edge, "over the edge", -1, -1, why) &&
           same_everywhere(&m, log, why);
}
