// SPDX-License-Identifier: Apache-2.0
/* Legal cases: every colour is a tree of routers from one sender, and what arrives is taken. */
#include "random_draw.h"

#include <wsc/check.h>
#include <wsc/rng.h>

#include <string.h>

static const int step_x[5] = {0, 1, -1, 0, 0}, step_y[5] = {0, 0, 0, -1, 1};
static const int facing[5] = {0, 2, 1, 4, 3};

int draw(struct random_case *c, int below)
{
    return (int)(wsc_rng_u64(c->seed, wsc_rng_stream(WSC_RNG_TEST, 7), c->drawn++) %
                 (uint64_t)below);
}

bool chance(struct random_case *c, int percent)
{
    return draw(c, 100) < percent;
}

struct step *add_step(struct random_case *c, enum step_kind kind, struct mesh_rect rect)
{
    WSC_CHECK(c->n_steps < CASE_STEPS, "a case has at most %d steps", CASE_STEPS);
    struct step *s = &c->step[c->n_steps++];
    memset(s, 0, sizeof *s);
    s->kind = kind;
    s->rect = rect;
    return s;
}

struct mesh_rect rect_of(const struct random_case *c, int pe)
{
    return (struct mesh_rect){pe % c->w, pe / c->w, 1, 1};
}

struct action *add_action(struct random_case *c, enum action_kind kind)
{
    WSC_CHECK(c->n_actions < CASE_ACTIONS, "a case has at most %d actions", CASE_ACTIONS);
    struct action *a = &c->action[c->n_actions++];
    memset(a, 0, sizeof *a);
    a->kind = kind;
    a->times = INT16_MAX;
    return a;
}

/* ---- trees of routes ------------------------------------------------------------------------- */

/* What takes the wavelets of a colour at a PE. */
enum taker { NO_TAKER, BY_TASK, BY_OP };

struct tree {
    int root, n; /* words that arrive */
    int edge;    /* source of the edge, or -1 */
    uint8_t rx[CASE_PES], tx[CASE_PES];
    uint8_t taker[CASE_PES];
    int sends[CASE_PES];    /* words of a PE */
    bool closes[CASE_PES];  /* its words end with a control wavelet that moves the switch */
    int n_inputs, input[5]; /* of a gathering router, in order; otherwise 0 */
    bool loose;   /* filters, switches or control wavelets: the count at a PE may differ */
    bool control; /* control wavelets among the words */
};
struct draft {
    struct random_case *c;
    struct tree tree[CASE_COLOURS];
};

static int neighbour(const struct random_case *c, int pe, int d)
{
    int x = pe % c->w + step_x[d], y = pe / c->w + step_y[d];
    return x < 0 || y < 0 || x >= c->w || y >= c->h ? -1 : y * c->w + x;
}

/* Outputs of @p pe to routers that the tree has not reached. */
static void grow_at(struct random_case *c, struct tree *t, int pe)
{
    int percent = t->tx[pe] ? 0 : 30 + draw(c, 50);
    for (int d = 1; d < 5; d++) {
        int next = neighbour(c, pe, d);
        if (next < 0 || t->rx[next] || !chance(c, percent)) continue;
        t->tx[pe] |= (uint8_t)(1 << d);
        t->rx[next] = (uint8_t)(1 << facing[d]);
        percent /= 2;
    }
    bool leaf = !t->tx[pe];
    if (leaf || (pe != t->root && chance(c, 50))) t->tx[pe] |= MESH_RAMP;
}

/* A side of the fabric at which @p pe lies, or 0. */
static int side_of(struct random_case *c, int pe)
{
    int first = draw(c, 4);
    for (int i = 0; i < 4; i++) {
        int d = 1 + (first + i) % 4;
        if (neighbour(c, pe, d) < 0) return d;
    }
    return 0;
}

static void note_side(struct random_case *c, int d)
{
    c->east |= d == 1;
    c->west |= d == 2;
    c->north |= d == 3;
    c->south |= d == 4;
}

static void draw_source(struct random_case *c, struct tree *t, int ci)
{
    int d = side_of(c, t->root);
    if (!d || c->n_edges == CASE_EDGES || !chance(c, 25)) return;
    note_side(c, d);
    t->edge = c->n_edges++;
    t->rx[t->root] = (uint8_t)(1 << d);
    for (int i = 0; i < t->n; i++)
        c->wavelet[t->edge][i].data = (uint32_t)(i << 16 | ci);
    struct step *s = add_step(c, SET_SOURCE, rect_of(c, t->root));
    s->colour = c->colour[ci];
    s->arg = t->edge;
    s->id = 1 << d;
    s->n = t->n;
}

/* The wavelets of a leaf at the edge leave the fabric too. */
static void draw_sink(struct random_case *c, struct tree *t, int ci, int pe)
{
    int d = side_of(c, pe);
    if (!d || c->n_edges == CASE_EDGES || (t->rx[pe] & 1 << d) || !chance(c, 12)) return;
    note_side(c, d);
    t->tx[pe] |= (uint8_t)(1 << d);
    if (chance(c, 50)) t->tx[pe] &= (uint8_t)~MESH_RAMP;
    struct step *s = add_step(c, SET_SINK, rect_of(c, pe));
    s->colour = c->colour[ci];
    s->arg = c->n_edges++;
    s->id = 1 << d;
    s->n = t->n;
}

static void grow(struct random_case *c, struct tree *t, int ci, int n)
{
    int pes = c->w * c->h;
    memset(t, 0, sizeof *t);
    t->root = draw(c, pes);
    t->n = n;
    t->rx[t->root] = MESH_RAMP;
    t->edge = -1;
    draw_source(c, t, ci);
    for (int round = 0; round < 2 + draw(c, 12); round++)
        for (int pe = 0; pe < pes; pe++)
            if (t->rx[pe] && !t->tx[pe]) grow_at(c, t, pe);
    for (int pe = 0; pe < pes; pe++)
        if (t->rx[pe] && !t->tx[pe]) t->tx[pe] = MESH_RAMP;
    for (int pe = 0; pe < pes; pe++)
        if (t->tx[pe] == MESH_RAMP) draw_sink(c, t, ci, pe);
    if (t->edge < 0) t->sends[t->root] = n;
}

/* Directions of @p pe in a random order, those out of the fabric left out. */
static int draw_directions(struct random_case *c, int pe, int direction[5])
{
    int n = 0;
    memset(direction, 0, 5 * sizeof *direction);
    for (int d = 0; d < 5; d++) {
        if (d && neighbour(c, pe, d) < 0) continue;
        int at = draw(c, ++n);
        direction[n - 1] = direction[at];
        direction[at] = d;
    }
    return n;
}

/* One router gathers from several sides, one after the other: each sender ends with a control
 * wavelet that opens the switch for the next one. */
static bool gather(struct random_case *c, struct tree *t, int colour)
{
    int direction[5], pe = draw(c, c->w * c->h);
    int n = draw_directions(c, pe, direction);
    if (n < 3 || !case_may_switch(c, colour)) return false;
    memset(t, 0, sizeof *t);
    t->root = pe;
    t->edge = -1;
    t->n_inputs = 2 + draw(c, n - 2 < 3 ? n - 2 : 3);
    for (int i = 0; i < t->n_inputs; i++) {
        int d = direction[i], from = d ? neighbour(c, pe, d) : pe;
        t->input[i] = d;
        t->sends[from] = 1 + draw(c, 9);
        t->closes[from] = i + 1 < t->n_inputs;
        t->n += t->sends[from];
        t->rx[from] = MESH_RAMP;
        t->tx[from] = (uint8_t)(1 << facing[d]);
    }
    int out = direction[t->n_inputs];
    t->rx[pe] = (uint8_t)(1 << t->input[0]);
    t->tx[pe] = (uint8_t)(1 << out);
    if (!out) return true;
    t->rx[neighbour(c, pe, out)] = (uint8_t)(1 << facing[out]);
    t->tx[neighbour(c, pe, out)] = MESH_RAMP;
    return true;
}

/* ---- switches and filters -------------------------------------------------------------------- */

bool case_may_switch(const struct random_case *c, int colour)
{
    return c->arch == MESH_WSE2 || 0x3333FFU >> colour & 1U;
}

/* Further positions choose among the outputs of the tree, so that every wavelet finds a way. */
static void draw_positions(struct random_case *c, struct mesh_route *r)
{
    int d[5], n = 0;
    for (int i = 0; i < 5; i++)
        if (r->tx >> i & 1) d[n++] = i;
    r->n_more = 1 + draw(c, 3);
    for (int i = 0; i < r->n_more; i++)
        r->more[i].tx = (uint8_t)(1 << d[draw(c, n)]);
    r->ring = chance(c, 50);
    r->pop = (enum mesh_pop)draw(c, 3);
    r->start = draw(c, r->n_more + 1);
}

static void gather_positions(const struct tree *t, struct mesh_route *r)
{
    r->n_more = t->n_inputs - 1;
    for (int i = 1; i < t->n_inputs; i++)
        r->more[i - 1].rx = (uint8_t)(1 << t->input[i]);
}

static uint32_t draw_commands(struct random_case *c)
{
    enum mesh_command command[8];
    for (int i = 0; i < 8; i++)
        command[i] = (enum mesh_command)(chance(c, 70) ? MESH_ADVANCE : draw(c, 3));
    return mesh_control(command, 1 + draw(c, 8), chance(c, 30) ? CONTROL_TASK : -1);
}

/* Control wavelets among those that the edge feeds. */
static void draw_edge_control(struct random_case *c, const struct tree *t)
{
    for (int i = 0; i < t->n; i++)
        if (chance(c, 25)) c->wavelet[t->edge][i] = (struct mesh_wavelet){draw_commands(c), true};
}

static void add_filter(struct random_case *c, struct tree *t, int ci, int pe)
{
    struct step *s = add_step(c, SET_FILTER, rect_of(c, pe));
    s->colour = c->colour[ci];
    s->as.filter = (struct mesh_filter){.kind = (enum mesh_filter_kind)draw(c, 3),
                                        .count_data = chance(c, 80),
                                        .count_control = chance(c, 30),
                                        .filter_control = chance(c, 20),
                                        .init = (uint32_t)draw(c, 3),
                                        .max = (uint32_t)draw(c, 4),
                                        .limit1 = (uint32_t)draw(c, 6),
                                        .limit2 = (uint32_t)draw(c, 4),
                                        .min_index = (uint16_t)draw(c, 6),
                                        .max_index = (uint16_t)draw(c, 20)};
    t->loose = true;
}

static void add_routes(struct random_case *c, struct tree *t, int ci)
{
    bool plain = !t->n_inputs;
    bool switches = plain && case_may_switch(c, c->colour[ci]) && chance(c, 20);
    bool filters = chance(c, 20);
    int n_filters = 0;
    t->loose = t->control = plain && (switches || chance(c, 10));
    if (t->control && t->edge >= 0) draw_edge_control(c, t);
    for (int pe = 0; pe < c->w * c->h; pe++) {
        if (!t->rx[pe]) continue;
        struct step *s = add_step(c, SET_ROUTE, rect_of(c, pe));
        s->colour = c->colour[ci];
        s->as.route = (struct mesh_route){.rx = t->rx[pe], .tx = t->tx[pe]};
        if (t->n_inputs && pe == t->root) gather_positions(t, &s->as.route);
        if (switches && chance(c, 50)) draw_positions(c, &s->as.route);
        if (filters && t->tx[pe] & MESH_RAMP && n_filters++ < 8 && chance(c, 60))
            add_filter(c, t, ci, pe);
    }
}

static void add_queues(struct random_case *c, struct tree *t, int ci)
{
    int in = chance(c, 50) ? ci : 7 - ci, out = ci < 2 && chance(c, 50) ? 4 + ci : ci;
    for (int pe = 0; pe < c->w * c->h; pe++) {
        if (t->sends[pe]) {
            struct step *s = add_step(c, SET_OUTPUT, rect_of(c, pe));
            s->colour = c->colour[ci];
            s->arg = out;
        }
        if (!(t->tx[pe] & MESH_RAMP)) continue;
        t->taker[pe] = t->loose || c->must_end || chance(c, 50) ? BY_TASK : BY_OP;
        struct step *s = add_step(c, SET_INPUT, rect_of(c, pe));
        s->colour = c->colour[ci];
        s->arg = in;
        if (t->taker[pe] == BY_OP) continue;
        s = add_step(c, SET_DATA_TASK, rect_of(c, pe));
        s->colour = c->colour[ci];
        s->arg = SLOT_DATA + ci;
        s->priority = (enum mesh_priority)draw(c, 3);
    }
}

/* ---- programs -------------------------------------------------------------------------------- */

/* An array of @p n elements within the words that a legal program uses. */
static struct mesh_dsd draw_array(struct random_case *c, int n)
{
    static const int strides[] = {1, 1, 1, 1, 0, 2, 3, 4, 8, -1};
    int stride = strides[draw(c, 10)], reach = 4 * stride * (n - 1);
    int room = CASE_BYTES - 4 - (reach < 0 ? -reach : reach);
    if (room < 0) return mesh_mem(0, n);
    struct mesh_dsd d = mesh_mem_strided(4 * draw(c, room / 4 + 1), n, stride);
    if (reach < 0) d.address -= reach;
    if (n % 2 == 0 && stride == 1 && chance(c, 20)) {
        d.n_dims = 2;
        d.len[0] = 2;
        d.len[1] = (uint16_t)(n / 2);
        d.stride[0] = (int16_t)(n / 2);
        d.stride[1] = 1;
    }
    return d;
}

static struct mesh_dsd draw_input(struct random_case *c, int n)
{
    return chance(c, 20) ? mesh_bits((uint32_t)draw(c, 1 << 30)) : draw_array(c, n);
}

enum { MAX_PARTS = 4 };

static float half_of_both(float a, float b)
{
    return 0.5F * a + 0.5F * b;
}

/* An operation between arrays of memory. */
static void add_memory_op(struct random_case *c)
{
    struct mesh_op *op = &add_action(c, DO_OP)->op;
    op->code = (uint8_t)draw(c, MESH_N_CODES);
    int n = !mesh_is_map(op->code) && chance(c, 15) ? 40 + draw(c, 60) : 1 + draw(c, 12);
    op->thread = (uint8_t)(chance(c, 70) ? 0 : 5 + draw(c, 4));
    op->dst = draw_array(c, n);
    op->a = mesh_is_map(op->code) ? draw_array(c, n) : draw_input(c, n);
    bool one = op->code == MESH_FMOVS || op->code == MESH_FMOVH || op->code == MESH_FS2H ||
               op->code == MESH_FH2S;
    if (!one) op->b = mesh_is_map(op->code) ? draw_array(c, n) : draw_input(c, n);
    if (op->code == MESH_FMACS || op->code == MESH_FMACH || op->code == MESH_FMACHS)
        op->c = chance(c, 50) ? mesh_bits(0x3C003F80) : draw_array(c, 1);
    op->map = mesh_is_map(op->code) ? half_of_both : NULL;
    op->map_cycles = mesh_is_map(op->code) ? (uint16_t)(1 + draw(c, 9)) : 0;
    if (!c->must_end && chance(c, 10)) op->activate = FIRST_TASK + SLOT_NEXT + 1;
}

static void add_small_action(struct random_case *c)
{
    struct action *a;
    switch (draw(c, 5)) {
    case 0:
        add_action(c, DO_WAIT)->value = draw(c, 30);
        return;
    case 1:
        add_action(c, DO_ACTIVATE)->arg = FIRST_TASK + SLOT_LAST;
        return;
    case 2:
        a = add_action(c, DO_STORE);
        a->arg = draw(c, CASE_BYTES - 4);
        a->value = draw(c, 1000);
        return;
    case 3:
        if (!c->must_end) add_action(c, DO_JOIN)->arg = 1 + draw(c, MESH_THREADS);
        return;
    default:
        add_memory_op(c);
    }
}

static void add_control(struct random_case *c, int colour, int thread)
{
    struct action *a = add_action(c, DO_CONTROL);
    a->arg = colour;
    a->op.thread = (uint8_t)thread;
    a->value = draw_commands(c);
}

/* All the words of a colour in one to four operations of one thread, so that they stay in order.
 */
static void add_sends(struct random_case *c, const struct tree *t, int pe, int ci)
{
    int thread = !c->must_end && chance(c, 50) ? 0 : 1 + ci, parts = 0;
    for (int left = t->sends[pe]; left > 0;) {
        int n = c->must_end || chance(c, 60) || ++parts == MAX_PARTS ? left : 1 + draw(c, left);
        struct mesh_op *op = &add_action(c, DO_OP)->op;
        op->code = chance(c, 80) ? MESH_FMOVS : MESH_FADDS;
        op->thread = (uint8_t)thread;
        op->dst = mesh_out(c->colour[ci], n);
        op->a = op->code == MESH_FMOVS && (t->loose || chance(c, 30))
                    ? mesh_bits((uint32_t)draw(c, 12) << 16)
                    : draw_array(c, n);
        if (op->code == MESH_FADDS) op->b = draw_array(c, n);
        if (chance(c, 20)) op->activate = FIRST_TASK + SLOT_LAST + 1;
        left -= n;
        if (t->control && chance(c, 60)) add_control(c, c->colour[ci], thread);
    }
    if (!t->closes[pe]) return;
    static const enum mesh_command advance = MESH_ADVANCE;
    add_control(c, c->colour[ci], thread);
    c->action[c->n_actions - 1].value = mesh_control(&advance, 1, -1);
}

static void add_receives(struct random_case *c, struct tree *t, int ci)
{
    int thread = chance(c, 50) ? 0 : 1 + ci, parts = 0;
    for (int left = t->n; left > 0;) {
        int n = chance(c, 60) || ++parts == MAX_PARTS ? left : 1 + draw(c, left);
        struct mesh_op *op = &add_action(c, DO_OP)->op;
        op->code = chance(c, 50) ? MESH_FMOVS : MESH_FADDS;
        op->thread = (uint8_t)thread;
        op->dst = draw_array(c, n);
        op->a = mesh_in(c->colour[ci], n);
        if (op->code == MESH_FADDS) op->b = draw_array(c, n);
        if (chance(c, 20)) op->activate = FIRST_TASK + SLOT_NEXT + 1;
        left -= n;
    }
}

/* Receive, add and send in one operation, where one colour ends and another one begins. */
static bool add_relay(struct draft *d, int pe, int from, int to)
{
    struct random_case *c = d->c;
    struct tree *a = &d->tree[from], *b = &d->tree[to];
    bool fits = from != to && a->taker[pe] == BY_OP && b->sends[pe] == a->n && !b->control &&
                !b->closes[pe];
    if (!fits || !chance(c, 70)) return false;
    struct mesh_op *op = &add_action(c, DO_OP)->op;
    op->code = MESH_FADDS;
    op->thread = (uint8_t)(chance(c, 50) ? 0 : 1 + to);
    op->dst = mesh_out(c->colour[to], a->n);
    op->a = mesh_in(c->colour[from], a->n);
    op->b = draw_array(c, a->n);
    return true;
}

static void add_traffic(struct draft *d, int pe)
{
    struct random_case *c = d->c;
    int first = draw(c, c->n_colours);
    unsigned relayed = 0;
    for (int i = 0; i < c->n_colours * c->n_colours; i++) {
        int from = i / c->n_colours, to = i % c->n_colours;
        unsigned both = 1U << from | 1U << to;
        if (!(relayed & both) && add_relay(d, pe, from, to)) relayed |= both;
    }
    for (int i = 0; i < c->n_colours; i++) {
        int ci = (first + i) % c->n_colours;
        struct tree *t = &d->tree[ci];
        if (relayed >> ci & 1U) continue;
        add_sends(c, t, pe, ci);
        if (t->taker[pe] == BY_OP) add_receives(c, t, ci);
        if (chance(c, 15)) add_small_action(c);
    }
}

static void add_programs(struct draft *d)
{
    struct random_case *c = d->c;
    for (int pe = 0; pe < c->w * c->h; pe++) {
        for (int slot = 0; slot < N_SLOTS; slot++) {
            struct program *p = &c->program[pe][slot];
            p->first = c->n_actions;
            if (slot == SLOT_GO)
                add_traffic(d, pe);
            else if (chance(c, slot == SLOT_NEXT ? 30 : 8))
                add_memory_op(c);
            p->n = c->n_actions - p->first;
        }
    }
}

/* ---- cases ----------------------------------------------------------------------------------- */

static void draw_fabric(struct random_case *c)
{
    int side = chance(c, 60) ? 4 : chance(c, 80) ? 6 : CASE_SIDE;
    c->w = 1 + draw(c, side);
    c->h = 1 + draw(c, side);
    c->arch = (enum mesh_arch)draw(c, 2);
    c->half = (enum num_half)draw(c, 2);
    c->max_cycles = 4000;
    c->n_colours = 1 + draw(c, CASE_COLOURS);
    for (int i = 0; i < c->n_colours; i++)
        c->colour[i] = draw(c, 6) * CASE_COLOURS + i; /* different ones */
}

void add_tasks(struct random_case *c)
{
    const struct mesh_rect all = {0, 0, c->w, c->h};
    for (int slot = SLOT_GO; slot <= SLOT_LAST; slot++) {
        struct step *s = add_step(c, SET_TASK, all);
        s->id = FIRST_TASK + slot;
        s->arg = slot;
        s->priority = (enum mesh_priority)draw(c, 3);
    }
    struct step *s = add_step(c, SET_TASK, all);
    s->id = CONTROL_TASK;
    s->arg = SLOT_CONTROL;
    s = add_step(c, SET_START, all);
    s->id = FIRST_TASK + SLOT_GO;
}

static void draw_legal(struct random_case *c)
{
    static struct draft d;
    d.c = c;
    for (int ci = 0; ci < c->n_colours; ci++) {
        int n = chance(c, 10) ? 20 + draw(c, 20) : 1 + draw(c, 10);
        if (chance(c, 25) && gather(c, &d.tree[ci], c->colour[ci])) continue;
        grow(c, &d.tree[ci], ci, ci && chance(c, 50) ? d.tree[0].n : n);
    }
    for (int ci = 0; ci < c->n_colours; ci++) {
        add_routes(c, &d.tree[ci], ci);
        /* A task waits before it issues the next operation of a busy thread. */
        c->must_end &= !d.tree[ci].control && !d.tree[ci].n_inputs;
    }
    if (c->must_end) c->max_cycles = 40000; /* a task for each word, of some hundred cycles */
    for (int ci = 0; ci < c->n_colours; ci++)
        add_queues(c, &d.tree[ci], ci);
    struct step *s = add_step(c, SET_COPY_IN, (struct mesh_rect){0, 0, c->w, c->h});
    s->n = CASE_BYTES;
    add_tasks(c);
    add_programs(&d);
}

void case_draw(struct random_case *c, uint64_t seed)
{
    memset(c, 0, offsetof(struct random_case, step));
    c->seed = seed;
    draw_fabric(c);
    c->legal = seed % 5 == 1 || seed % 5 == 2;
    c->must_end = seed % 5 == 1;
    if (seed % 5 == 0) {
        draw_wild(c);
        return;
    }
    draw_legal(c);
    if (!c->legal) add_mishap(c);
}
