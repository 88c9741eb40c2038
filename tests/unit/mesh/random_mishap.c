// SPDX-License-Identifier: Apache-2.0
/* What can go wrong: one wrong step, one wrong operation, one missing part; or everything drawn
 * without a plan. */
#include "random_draw.h"

#include <stdlib.h>
#include <string.h>

/* A colour that the case does not use and that may have a switch on both architectures. */
static int spare(const struct random_case *c)
{
    for (int colour = 0; colour < 10; colour++) {
        bool used = false;
        for (int i = 0; i < c->n_colours; i++)
            used |= c->colour[i] == colour;
        if (!used) return colour;
    }
    return 0; /* not reached: a case has four colours at most */
}

/* ---- wrong steps ----------------------------------------------------------------------------- */

#define ROUTE(...) .kind = SET_ROUTE, .as.route = {__VA_ARGS__}

/* At one PE, on a spare colour where `colour` is 0. */
static const struct step wrong_step[] = {
    {ROUTE(.rx = MESH_RAMP, .tx = MESH_EAST), .colour = 24},
    {ROUTE(.rx = MESH_RAMP, .tx = MESH_EAST), .colour = -1},
    {ROUTE(.rx = 0, .tx = MESH_EAST)},
    {ROUTE(.rx = MESH_RAMP, .tx = 0)},
    {ROUTE(.rx = MESH_RAMP, .tx = 32)},
    {ROUTE(.rx = MESH_RAMP | MESH_WEST, .tx = MESH_EAST)},
    {ROUTE(.rx = MESH_RAMP, .tx = MESH_EAST, .n_more = MESH_POSITIONS)},
    {ROUTE(.rx = MESH_RAMP, .tx = MESH_EAST, .n_more = -1)},
    {ROUTE(.rx = MESH_RAMP, .tx = MESH_EAST, .n_more = 1, .more = {{0, MESH_WEST}}, .start = 2)},
    {ROUTE(.rx = MESH_RAMP, .tx = MESH_EAST, .n_more = 1, .more = {{0, 64}})},
    {ROUTE(.rx = MESH_RAMP, .tx = MESH_EAST, .n_more = 1, .more = {{MESH_EAST | MESH_WEST, 0}})},
    {ROUTE(.rx = MESH_RAMP, .tx = MESH_EAST, .n_more = 1, .more = {{MESH_EAST | MESH_WEST, 1}})},
    {ROUTE(.rx = MESH_RAMP, .tx = MESH_EAST, .n_more = 1, .more = {{MESH_EAST, MESH_RAMP}})},
    {ROUTE(.rx = MESH_RAMP, .tx = MESH_EAST, .n_more = 1, .more = {{0, MESH_RAMP}}), .colour = 22},
    {ROUTE(.rx = MESH_RAMP, .tx = MESH_EAST, .pop = 9)},
    {.kind = SET_FILTER},
    {.kind = SET_FILTER, .as.filter = {.kind = 7}},
    {.kind = SET_FILTER, .colour = 24},
    {.kind = SET_INPUT, .arg = 8},
    {.kind = SET_INPUT, .arg = -1},
    {.kind = SET_INPUT, .arg = 6, .colour = 77},
    {.kind = SET_OUTPUT, .arg = 6},
    {.kind = SET_OUTPUT, .arg = -3},
    {.kind = SET_DATA_TASK, .arg = SLOT_DATA},
    {.kind = SET_DATA_TASK, .arg = SLOT_DATA, .colour = 24},
    {.kind = SET_TASK, .id = MESH_TASKS},
    {.kind = SET_TASK, .id = -1},
    {.kind = SET_START, .id = CONTROL_TASK},
    {.kind = SET_START, .id = 30},
    {.kind = SET_START, .id = 64},
    {.kind = SET_SOURCE, .id = MESH_RAMP, .arg = CASE_EDGES - 1},
    {.kind = SET_SINK, .id = MESH_EAST | MESH_NORTH, .arg = CASE_EDGES - 1},
    {.kind = SET_SOURCE, .id = MESH_WEST, .arg = CASE_EDGES - 1, .n = -1},
    {.kind = SET_COPY_IN, .arg = MESH_SRAM_BYTES - 4, .n = 8},
    {.kind = SET_COPY_IN, .arg = -4, .n = 8},
    {.kind = SET_COPY_OUT, .arg = 8, .n = MESH_SRAM_BYTES + 1},
    {.kind = SET_COPY_OUT, .arg = 8, .n = INT64_MAX},
    {.kind = SET_COPY_IN, .arg = 8, .n = -5},
    {.kind = SET_COPY_IN, .arg = -8, .n = INT64_MIN},
    {.kind = SET_RESERVE, .n = MESH_SRAM_BYTES + 1},
    {.kind = SET_RESERVE, .n = 4, .id = 8},
    {.kind = SET_RESERVE, .n = 4, .id = -1},
    {.kind = SET_RESERVE, .n = -4},
    {.kind = SET_RELEASE, .arg = -1},
};

static void add_wrong_step(struct random_case *c, int pe)
{
    const int n = (int)(sizeof wrong_step / sizeof *wrong_step);
    struct step *s = add_step(c, SET_NOTHING, rect_of(c, pe));
    struct mesh_rect at = s->rect;
    *s = wrong_step[draw(c, n)];
    s->rect = at;
    if (!s->colour) s->colour = spare(c);
    c->west |= s->kind == SET_SOURCE;
}

static void add_odd_rect(struct random_case *c, int pe)
{
    const struct mesh_rect odd[] = {{c->w, 0, 1, 1},     {0, -1, 1, 1}, {0, 0, 0, 1},
                                    {0, 0, 1, c->h + 1}, {-2, 0, 4, 1}, {0, 0, 1, -1}};
    const enum step_kind kind[] = {SET_ROUTE,   SET_FILTER, SET_INPUT,     SET_OUTPUT,
                                   SET_TASK,    SET_START,  SET_DATA_TASK, SET_COPY_IN,
                                   SET_RESERVE, SET_SOURCE, SET_SINK,      SET_RELEASE};
    struct step *s = add_step(c, kind[draw(c, 12)], odd[draw(c, 6)]);
    s->id = s->kind == SET_SOURCE || s->kind == SET_SINK ? MESH_EAST : FIRST_TASK;
    s->colour = spare(c);
    s->as.route = (struct mesh_route){.rx = MESH_RAMP, .tx = MESH_EAST};
    s->arg = s->kind == SET_TASK ? SLOT_GO : 0;
    s->n = 8;
    c->odd_rect = true;
    (void)pe;
}

/* After the run nothing can be set up any more. */
static void add_late_step(struct random_case *c, int pe)
{
    const enum step_kind kind[] = {SET_ROUTE, SET_FILTER, SET_INPUT, SET_OUTPUT, SET_RUN};
    (void)add_step(c, SET_RUN, rect_of(c, pe));
    struct step *s = add_step(c, kind[draw(c, 5)], rect_of(c, pe));
    s->colour = spare(c);
    s->as.route = (struct mesh_route){.rx = MESH_RAMP, .tx = MESH_RAMP};
}

static void add_bound_twice(struct random_case *c, int pe)
{
    bool in = chance(c, 50);
    for (int i = 0; i < 2; i++) {
        struct step *s = add_step(c, in ? SET_INPUT : SET_OUTPUT, rect_of(c, pe));
        s->colour = spare(c) + i;
        s->arg = chance(c, 50) ? 4 : 5;
    }
    c->step[c->n_steps - 1].arg = c->step[c->n_steps - 2].arg;
    if (chance(c, 50)) return;
    c->step[c->n_steps - 1].colour = c->step[c->n_steps - 2].colour;
    c->step[c->n_steps - 1].arg ^= 1;
}

static void add_five_filters(struct random_case *c, int pe)
{
    for (int colour = 0; colour < MESH_COLOURS; colour++) {
        for (int i = 0; i < 2; i++) {
            struct step *s = add_step(c, i ? SET_FILTER : SET_ROUTE, rect_of(c, pe));
            s->colour = colour;
            s->tolerant = i == 0; /* the colour may have a route already */
            if (!i) s->as.route = (struct mesh_route){.rx = MESH_RAMP, .tx = MESH_RAMP};
        }
    }
}

static void add_edge_without_route(struct random_case *c, int pe)
{
    struct step *s = add_step(c, chance(c, 50) ? SET_SOURCE : SET_SINK, rect_of(c, pe));
    s->rect = rect_of(c, draw(c, c->w));
    s->id = MESH_NORTH;
    s->colour = spare(c);
    s->arg = CASE_EDGES - 1;
    c->north = true;
}

/* A source or sink of a colour that comes from elsewhere, or that has no room. */
static void add_closed_edge(struct random_case *c, int pe)
{
    bool source = chance(c, 50);
    pe %= c->w;
    struct step *s = add_step(c, SET_ROUTE, rect_of(c, pe));
    s->colour = spare(c);
    s->as.route = (struct mesh_route){.rx = MESH_RAMP, .tx = MESH_NORTH};
    s = add_step(c, source ? SET_SOURCE : SET_SINK, rect_of(c, pe));
    s->id = MESH_NORTH;
    s->colour = spare(c);
    s->arg = CASE_EDGES - 1;
    s->n = source ? 3 : 2;
    c->north = true;
    if (source) return;
    s = add_step(c, SET_OUTPUT, rect_of(c, pe));
    s->colour = spare(c);
    s->arg = 5;
    s->tolerant = true; /* the queue may be taken */
    struct program *p = &c->program[pe][SLOT_GO];
    p->first = c->n_actions;
    p->n = 1;
    add_action(c, DO_OP)->op =
        (struct mesh_op){.code = MESH_FMOVS, .dst = mesh_out(spare(c), 4), .a = mesh_mem(0, 4)};
}

/* ---- wrong operations ------------------------------------------------------------------------ */

static float first_of_both(float a, float b)
{
    (void)b;
    return a;
}

#define ARRAY(n)                                                                                   \
    {                                                                                              \
        .kind = MESH_DSD_MEMORY, .n_dims = 1, .len = {n}, .stride = {1}, .address = 64             \
    }
#define NUMBER                                                                                     \
    {                                                                                              \
        .kind = MESH_DSD_SCALAR                                                                    \
    }
#define IN                                                                                         \
    {                                                                                              \
        .kind = MESH_DSD_IN, .n_dims = 1, .len = {4}, .colour = 1                                  \
    }

static const struct mesh_op wrong_op[] = {
    {.code = MESH_N_CODES, .dst = ARRAY(4), .a = ARRAY(4)},
    {.code = 255, .dst = ARRAY(4), .a = ARRAY(4)},
    {.code = MESH_FMOVS, .dst = ARRAY(4), .a = {.kind = 9, .n_dims = 1, .len = {4}}},
    {.code = MESH_FMOVS, .dst = ARRAY(4), .a = {.kind = MESH_DSD_MEMORY, .n_dims = 5}},
    {.code = MESH_FMOVS, .dst = ARRAY(4), .a = {.kind = MESH_DSD_MEMORY}},
    {.code = MESH_FMOVS, .dst = ARRAY(4), .a = {.kind = MESH_DSD_SCALAR, .n_dims = 1}},
    {.code = MESH_FMOVS,
     .dst = ARRAY(4),
     .a = {.kind = MESH_DSD_MEMORY,
           .n_dims = 1,
           .len = {4},
           .stride = {1},
           .address = MESH_SRAM_BYTES - 12}},
    {.code = MESH_FADDH,
     .dst = ARRAY(4),
     .a = ARRAY(4),
     .b = {.kind = MESH_DSD_MEMORY, .n_dims = 1, .len = {4}, .stride = {-9}, .address = 48}},
    {.code = MESH_FADDH,
     .dst = {.kind = MESH_DSD_MEMORY, .n_dims = 2, .len = {2, 2}, .stride = {INT16_MAX, 1}},
     .a = ARRAY(4),
     .b = NUMBER},
    {.code = MESH_FMOVS,
     .dst = ARRAY(4),
     .a = {.kind = MESH_DSD_MEMORY, .n_dims = 1, .len = {4}, .stride = {1}, .address = 7}},
    {.code = MESH_FMOVS, .dst = NUMBER, .a = ARRAY(4)},
    {.code = MESH_FMOVS, .a = ARRAY(4)},
    {.code = MESH_FMOVS, .dst = ARRAY(4)},
    {.code = MESH_FADDS, .dst = ARRAY(4), .a = ARRAY(4)},
    {.code = MESH_FMOVS, .dst = ARRAY(4), .a = ARRAY(4), .b = ARRAY(4)},
    {.code = MESH_FMACS, .dst = ARRAY(4), .a = ARRAY(4), .b = ARRAY(4)},
    {.code = MESH_FMACS, .dst = ARRAY(4), .a = ARRAY(4), .b = ARRAY(4), .c = ARRAY(2)},
    {.code = MESH_FADDS, .dst = ARRAY(4), .a = ARRAY(4), .b = ARRAY(4), .c = NUMBER},
    {.code = MESH_FMOVS, .dst = ARRAY(5), .a = ARRAY(4)},
    {.code = MESH_FADDS, .dst = ARRAY(4), .a = ARRAY(4), .b = ARRAY(5)},
    {.code = MESH_FMOVS,
     .dst = ARRAY(4),
     .a = {.kind = MESH_DSD_IN, .n_dims = 1, .len = {4}, .colour = 24}},
    {.code = MESH_FMOVS,
     .dst = ARRAY(4),
     .a = {.kind = MESH_DSD_IN, .n_dims = 1, .len = {4}, .colour = 255}},
    {.code = MESH_FMOVS, .thread = MESH_THREADS + 1, .dst = ARRAY(4), .a = ARRAY(4)},
    {.code = MESH_FMOVS, .thread = 255, .dst = ARRAY(4), .a = ARRAY(4)},
    {.code = MESH_FMOVS, .activate = 255, .dst = ARRAY(4), .a = ARRAY(4)},
    {.code = MESH_FMOVS, .activate = 51, .dst = ARRAY(4), .a = ARRAY(4)},
    {.code = MESH_FMOVS, .activate = CONTROL_TASK + 1, .dst = ARRAY(4), .a = ARRAY(4)},
    {.code = MESH_FMOVS, .unblock = MESH_TASKS, .dst = ARRAY(4), .a = ARRAY(4)},
    {.code = MESH_MAP, .dst = ARRAY(4), .a = ARRAY(4)},
    {.code = MESH_MAP, .dst = ARRAY(4), .a = ARRAY(4), .map = first_of_both},
    {.code = MESH_MAP, .dst = ARRAY(4), .a = NUMBER, .map = first_of_both, .map_cycles = 2},
    {.code = MESH_MAP,
     .dst = ARRAY(4),
     .a = ARRAY(4),
     .map = first_of_both,
     .map_cycles = MESH_MAX_MAP_CYCLES + 1},
    /* Many elements that all lie within memory. */
    {.code = MESH_FMOVS,
     .dst = {.kind = MESH_DSD_MEMORY, .n_dims = 4, .len = {65535, 65535, 65535, 65535}},
     .a = {.kind = MESH_DSD_MEMORY, .n_dims = 4, .len = {65535, 65535, 65535, 65535}}},
    {.code = MESH_FADDS,
     .dst = {.kind = MESH_DSD_MEMORY, .n_dims = 2, .len = {65535, 30000}},
     .a = {.kind = MESH_DSD_MEMORY, .n_dims = 2, .len = {65535, 30000}},
     .b = NUMBER},
};

/* Those that refer to what a PE has. */
static struct action wrong_action(struct random_case *c, int kind)
{
    int far = spare(c);
    const struct action of[] = {
        {.kind = DO_WAIT, .value = -1},
        {.kind = DO_WAIT, .value = 1LL << 40},
        {.kind = DO_WAIT, .value = INT32_MAX},
        {.kind = DO_JOIN, .arg = 0},
        {.kind = DO_JOIN, .arg = 9},
        {.kind = DO_ACTIVATE, .arg = 63},
        {.kind = DO_ACTIVATE, .arg = -1},
        {.kind = DO_ACTIVATE, .arg = CONTROL_TASK},
        {.kind = DO_BLOCK, .arg = 64},
        {.kind = DO_UNBLOCK, .arg = 7},
        {.kind = DO_BLOCK_DATA, .arg = far},
        {.kind = DO_BLOCK_DATA, .arg = 24},
        {.kind = DO_UNBLOCK_DATA, .arg = -1},
        {.kind = DO_LOAD, .arg = MESH_SRAM_BYTES - 3},
        {.kind = DO_LOAD, .arg = -4},
        {.kind = DO_STORE, .arg = MESH_SRAM_BYTES},
        {.kind = DO_CONTROL, .arg = far},
        {.kind = DO_CONTROL, .arg = 99},
        {.kind = DO_OP, .op = {.dst = mesh_mem(0, 4), .a = mesh_in(far, 4)}},
        {.kind = DO_OP, .op = {.dst = mesh_out(far, 4), .a = mesh_mem(0, 4)}},
        {.kind = DO_OP, .op = {.dst = mesh_out(c->colour[0], 4), .a = mesh_out(far, 4)}},
        {.kind = DO_OP, .op = {.dst = mesh_in(far, 4), .a = mesh_mem(0, 4)}},
        {.kind = DO_OP, .op = {.dst = mesh_mem(0, 70000), .a = mesh_mem(0, 70000)}},
        {.kind = DO_OP, .op = {.dst = mesh_mem(0, -1), .a = mesh_mem(0, -1)}},
        {.kind = DO_OP,
         .op = {.code = MESH_FADDS,
                .dst = mesh_mem(0, 4),
                .a = mesh_in(c->colour[0], 4),
                .b = mesh_in(c->colour[0], 4)}},
    };
    return of[kind % (int)(sizeof of / sizeof *of)];
}

/* A new program for SLOT_GO of one PE: the old one, then @p n times one more action. */
static struct action *lengthen(struct random_case *c, int pe, int n)
{
    struct program *p = &c->program[pe][SLOT_GO];
    int first = c->n_actions;
    for (int i = 0; i < p->n; i++) {
        struct action *a = add_action(c, DO_OP);
        *a = c->action[p->first + i];
    }
    struct action *new = &c->action[c->n_actions];
    for (int i = 0; i < n; i++)
        (void)add_action(c, DO_OP);
    *p = (struct program){first, c->n_actions - first};
    return new;
}

static void add_wrong_op(struct random_case *c, int pe)
{
    const int n = (int)(sizeof wrong_op / sizeof *wrong_op);
    lengthen(c, pe, 1)->op = wrong_op[draw(c, n)];
}

static void add_wrong_action(struct random_case *c, int pe)
{
    struct action a = wrong_action(c, draw(c, 25));
    a.times = INT16_MAX;
    *lengthen(c, pe, 1) = a;
}

static void add_too_many(struct random_case *c, int pe)
{
    struct action *a = lengthen(c, pe, 33);
    for (int i = 0; i < 33; i++) {
        a[i].kind = DO_WAIT;
        a[i].value = 1;
    }
}

/* An operation without elements is legal, on memory that was never touched too. */
static void add_empty_op(struct random_case *c, int pe)
{
    lengthen(c, pe, 1)->op = (struct mesh_op){.code = (uint8_t)(chance(c, 50) ? MESH_FADDS : 0),
                                              .dst = mesh_mem(20000, 0),
                                              .a = mesh_mem(30000, 0)};
    struct action *a = &c->action[c->n_actions - 1];
    if (a->op.code == MESH_FADDS) a->op.b = mesh_mem(40000, 0);
}

/* A colour with a queue and no route. */
static void add_queue_without_route(struct random_case *c, int pe)
{
    bool in = chance(c, 50);
    int colour = spare(c);
    struct step *s = add_step(c, in ? SET_INPUT : SET_OUTPUT, rect_of(c, pe));
    s->colour = colour;
    s->arg = 5;
    s->tolerant = true;
    struct mesh_dsd own = mesh_mem(0, 2);
    lengthen(c, pe, 1)->op = in ? (struct mesh_op){.dst = own, .a = mesh_in(colour, 2)}
                                : (struct mesh_op){.dst = mesh_out(colour, 2), .a = own};
}

/* ---- something is missing -------------------------------------------------------------------- */

static struct step *pick_step(struct random_case *c, enum step_kind kind)
{
    int first = draw(c, c->n_steps);
    for (int i = 0; i < c->n_steps; i++) {
        struct step *s = &c->step[(first + i) % c->n_steps];
        if (s->kind == kind) return s;
    }
    return NULL;
}

static void drop_step(struct random_case *c, int pe)
{
    const enum step_kind kind[] = {SET_ROUTE,  SET_INPUT, SET_DATA_TASK, SET_DATA_TASK,
                                   SET_OUTPUT, SET_SINK,  SET_TASK,      SET_START};
    struct step *s = pick_step(c, kind[draw(c, 8)]);
    if (s) s->kind = SET_NOTHING;
    (void)pe;
}

/* A data task is forgotten together with the operation that could take its wavelets. */
static void drop_data_task(struct random_case *c, int pe)
{
    struct step *s = pick_step(c, SET_DATA_TASK);
    if (s) s->kind = SET_NOTHING;
    (void)pe;
}

static void change_route(struct random_case *c, int pe)
{
    struct step *s = pick_step(c, SET_ROUTE);
    if (!s) return;
    struct mesh_route *r = &s->as.route;
    switch (draw(c, 4)) {
    case 0:
        r->rx = (uint8_t)(1 << draw(c, 5));
        return;
    case 1:
        r->tx = (uint8_t)(1 + draw(c, 31));
        return;
    case 2:
        r->tx |= (uint8_t)(1 << draw(c, 5));
        return;
    default:
        (void)pe;
        struct step copy = *s, *again = add_step(c, SET_ROUTE, s->rect);
        *again = copy;
        again->as.route.rx = (uint8_t)(copy.as.route.rx == MESH_RAMP ? MESH_EAST : MESH_RAMP);
    }
}

static void change_length(struct random_case *c, int pe)
{
    int first = draw(c, c->n_actions + 1);
    int by = chance(c, 50) ? 1 : -1;
    for (int i = 0; i < c->n_actions; i++) {
        struct mesh_op *op = &c->action[(first + i) % c->n_actions].op;
        bool fabric = op->dst.kind == MESH_DSD_OUT || op->a.kind == MESH_DSD_IN;
        if (!fabric || op->a.n_dims > 1 || op->b.n_dims > 1 || op->dst.n_dims > 1) continue;
        struct mesh_dsd *d[] = {&op->dst, &op->a, &op->b};
        for (int k = 0; k < 3; k++)
            if (d[k]->n_dims) d[k]->len[0] = (uint16_t)(d[k]->len[0] + by);
        return;
    }
    (void)pe;
}

/* A control wavelet: to a task that nobody has, or before words that an operation takes. */
static void add_stray_control(struct random_case *c, int pe)
{
    const struct step *s = pick_step(c, SET_OUTPUT);
    static const enum mesh_command none = MESH_NOP;
    if (!s) return;
    pe = s->rect.y * c->w + s->rect.x;
    struct program *p = &c->program[pe][SLOT_GO];
    struct action *a = lengthen(c, pe, 1);
    if (p->n > 1 && chance(c, 60)) {
        memmove(a - p->n + 2, a - p->n + 1, (size_t)(p->n - 1) * sizeof *a);
        a -= p->n - 1;
    }
    *a = (struct action){.kind = DO_CONTROL, .times = INT16_MAX, .arg = s->colour};
    a->op.thread = (uint8_t)(chance(c, 50) ? 0 : 4);
    a->value = mesh_control(&none, 1, chance(c, 60) ? 33 : CONTROL_TASK);
}

/* A data task, or a local task that is activated, is blocked for ever. */
static void add_block(struct random_case *c, int pe)
{
    const struct step *s = pick_step(c, SET_DATA_TASK);
    bool data = s && chance(c, 60);
    if (data) pe = s->rect.y * c->w + s->rect.x;
    struct action *a = lengthen(c, pe, 2);
    if (data) {
        a[0] = a[1] = (struct action){.kind = DO_BLOCK_DATA, .times = 1, .arg = s->colour};
        return;
    }
    a[0] = (struct action){.kind = DO_BLOCK, .times = 1, .arg = FIRST_TASK + SLOT_NEXT};
    a[1] = (struct action){.kind = DO_ACTIVATE, .times = 1, .arg = FIRST_TASK + SLOT_NEXT};
}

/* Every PE of the first row waits for its western neighbour before it would send. */
static void add_ring(struct random_case *c, int pe)
{
    int colour = spare(c);
    for (int x = 0; x < c->w; x++) {
        bool in = x > 0;
        struct step *s = add_step(c, SET_ROUTE, rect_of(c, x));
        s->colour = colour;
        s->as.route = (struct mesh_route){.rx = in ? MESH_WEST : MESH_RAMP, .tx = MESH_RAMP};
        if (x + 1 < c->w) s->as.route.tx |= MESH_EAST;
        s = add_step(c, SET_INPUT, rect_of(c, x));
        s->colour = colour;
        s->arg = 4 + draw(c, 4);
        s->tolerant = true;
        lengthen(c, x, 1)->op = (struct mesh_op){.dst = mesh_mem(0, 2), .a = mesh_in(colour, 2)};
        c->action[c->n_actions - 1].tolerant = true;
    }
    (void)pe;
}

/* A task that never comes to an end. */
static void add_endless(struct random_case *c, int pe)
{
    struct action *a = lengthen(c, pe, 2);
    a[0].kind = DO_WAIT;
    a[0].value = 60;
    a[1].kind = DO_ACTIVATE;
    a[1].arg = FIRST_TASK + SLOT_GO;
}

void add_mishap(struct random_case *c)
{
    void (*const of[])(struct random_case *, int) = {add_wrong_step,   add_wrong_step,
                                                     add_wrong_step,   add_wrong_step,
                                                     add_wrong_op,     add_wrong_op,
                                                     add_wrong_op,     add_wrong_action,
                                                     add_wrong_action, add_odd_rect,
                                                     add_late_step,    add_bound_twice,
                                                     add_five_filters, add_edge_without_route,
                                                     add_closed_edge,  add_too_many,
                                                     add_empty_op,     add_queue_without_route,
                                                     drop_step,        drop_data_task,
                                                     change_route,     change_route,
                                                     change_length,    add_stray_control,
                                                     add_block,        add_ring,
                                                     add_endless};
    of[draw(c, (int)(sizeof of / sizeof *of))](c, draw(c, c->w * c->h));
}

/* ---- without a plan -------------------------------------------------------------------------- */

/* Mostly a single direction, sometimes a set, sometimes nonsense. */
static uint8_t draw_set(struct random_case *c)
{
    int kind = draw(c, 16);
    if (kind == 0) return (uint8_t)draw(c, 256);
    return (uint8_t)(kind < 4 ? draw(c, 32) : 1 << draw(c, 5));
}

static int any_colour(struct random_case *c)
{
    return chance(c, 2) ? draw(c, 30) : c->colour[draw(c, c->n_colours)];
}

static struct mesh_dsd any_dsd(struct random_case *c)
{
    int n = chance(c, 75) ? 6 : draw(c, 40);
    switch (draw(c, 6)) {
    case 0:
        return mesh_in(any_colour(c), n);
    case 1:
        return mesh_out(any_colour(c), n);
    case 2:
        return mesh_bits((uint32_t)draw(c, 1 << 16));
    case 3:
        return (struct mesh_dsd){.kind = (uint8_t)draw(c, 6),
                                 .n_dims = (uint8_t)draw(c, 6),
                                 .colour = (uint8_t)any_colour(c),
                                 .len = {(uint16_t)draw(c, 4), (uint16_t)draw(c, 4), 2, 1},
                                 .stride = {(int16_t)(draw(c, 64) - 8), (int16_t)draw(c, 3), 1, 1},
                                 .address = draw(c, 50000) - 20};
    default:
        return mesh_mem_strided(2 * draw(c, 400), n, chance(c, 75) ? 1 : draw(c, 20) - 4);
    }
}

static void any_op(struct random_case *c, struct mesh_op *op)
{
    if (chance(c, 50)) {
        *op = (struct mesh_op){.dst = mesh_out(any_colour(c), 6), .a = mesh_mem(8, 6)};
        op->thread = (uint8_t)(chance(c, 50) ? 0 : draw(c, 9));
        op->dst.control = chance(c, 1);
        return;
    }
    op->code = (uint8_t)(chance(c, 80) ? draw(c, 2) * MESH_FADDS : draw(c, 20));
    op->thread = (uint8_t)(chance(c, 60) ? 0 : draw(c, 10));
    op->activate = (uint8_t)(chance(c, 90) ? 0 : draw(c, 70));
    op->unblock = (uint8_t)(chance(c, 90) ? 0 : draw(c, 70));
    op->dst = any_dsd(c);
    op->a = any_dsd(c);
    if (op->code != MESH_FMOVS && op->code != MESH_FMOVH) op->b = any_dsd(c);
    if (chance(c, 20)) op->c = any_dsd(c);
    op->map = chance(c, 50) ? first_of_both : NULL;
    op->map_cycles = (uint16_t)draw(c, 1200);
}

static void any_action(struct random_case *c)
{
    bool is_op = chance(c, 75);
    struct action *a = add_action(c, is_op ? DO_OP : (enum action_kind)draw(c, DO_STORE + 1));
    a->tolerant = chance(c, 97);
    a->times = 1 + draw(c, 6);
    a->op.thread = (uint8_t)(chance(c, 50) ? 0 : draw(c, 9));
    if (a->kind == DO_OP) any_op(c, &a->op);
    a->arg = FIRST_TASK + draw(c, 4) - (chance(c, 5) ? 9 : 0);
    bool coloured = a->kind == DO_BLOCK_DATA || a->kind == DO_UNBLOCK_DATA || a->kind == DO_CONTROL;
    if (coloured) a->arg = any_colour(c);
    if (a->kind == DO_JOIN) a->arg = draw(c, 10);
    a->value = chance(c, 98) ? draw(c, 40) : draw(c, 1 << 20) - (1 << 19);
    enum mesh_command advance = MESH_ADVANCE;
    if (a->kind == DO_CONTROL)
        a->value = mesh_control(&advance, 1, chance(c, 60) ? -1 : CONTROL_TASK - draw(c, 40) / 38);
}

static void any_routes(struct random_case *c)
{
    for (int i = draw(c, 4 * c->w * c->h + 4); i >= 0; i--) {
        struct step *s = add_step(c, SET_ROUTE, rect_of(c, draw(c, c->w * c->h)));
        s->tolerant = chance(c, 99);
        s->colour = any_colour(c);
        struct mesh_route *r = &s->as.route;
        *r = (struct mesh_route){.rx = draw_set(c), .tx = draw_set(c), .ring = chance(c, 50)};
        r->n_more = chance(c, 60) ? 0 : draw(c, 4);
        r->pop = (enum mesh_pop)draw(c, 3);
        for (int k = 0; k < 3; k++) {
            bool rx = chance(c, 50) || (c->arch == MESH_WSE3 && chance(c, 50));
            bool tx = !rx || (c->arch == MESH_WSE3 && chance(c, 50));
            r->more[k] = (struct mesh_position){rx ? draw_set(c) : 0, tx ? draw_set(c) : 0};
        }
    }
}

/* Colour c from the first PE of row 0 to all others of the row, so that there is traffic. */
static void row_routes(struct random_case *c, int colour)
{
    for (int x = 0; x < c->w; x++) {
        struct step *s = add_step(c, SET_ROUTE, rect_of(c, x));
        s->colour = colour;
        s->tolerant = true;
        s->as.route = (struct mesh_route){.rx = x ? MESH_WEST : MESH_RAMP};
        s->as.route.tx = (uint8_t)((x ? MESH_RAMP : 0) | (x + 1 < c->w ? MESH_EAST : 0));
    }
}

static void any_queues(struct random_case *c, int ci)
{
    const struct mesh_rect all = {0, 0, c->w, c->h};
    const enum step_kind kind[] = {SET_INPUT, SET_OUTPUT, SET_DATA_TASK};
    for (int i = 0; i < 3; i++) {
        struct step *s = add_step(c, chance(c, 88) ? kind[i] : SET_NOTHING, all);
        s->colour = c->colour[ci];
        s->arg = i < 2 ? ci : SLOT_DATA + ci;
        s->tolerant = true;
    }
    if (!chance(c, 20)) return;
    struct step *s = add_step(c, SET_FILTER, rect_of(c, draw(c, c->w * c->h)));
    s->colour = c->colour[ci];
    s->tolerant = true;
    s->as.filter = (struct mesh_filter){.kind = (enum mesh_filter_kind)draw(c, 3),
                                        .count_data = chance(c, 50),
                                        .count_control = chance(c, 50),
                                        .max = (uint32_t)draw(c, 3),
                                        .limit1 = (uint32_t)draw(c, 5)};
}

static void any_programs(struct random_case *c)
{
    for (int pe = 0; pe < CASE_PES; pe++) {
        for (int slot = 0; slot < N_SLOTS; slot++) {
            int n = pe < c->w * c->h ? draw(c, slot < SLOT_DATA ? 4 : 2) : 0;
            if (c->n_actions + n > CASE_ACTIONS / 2) n = 0;
            c->program[pe][slot] = (struct program){c->n_actions, n};
            for (int i = 0; i < n; i++)
                any_action(c);
        }
    }
}

void draw_wild(struct random_case *c)
{
    for (int ci = 0; ci < c->n_colours; ci++)
        if (chance(c, 66)) row_routes(c, c->colour[ci]);
    any_routes(c);
    for (int ci = 0; ci < c->n_colours; ci++)
        any_queues(c, ci);
    add_tasks(c);
    any_programs(c);
}
