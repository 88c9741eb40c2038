// SPDX-License-Identifier: Apache-2.0
/* Implements communication patterns along lines of PEs: routes from the edge, words collected at
 * one end and broadcast to all, sums passed from neighbour to neighbour (receive, add, send).
 * program_product.c and the other patterns use them. */
#include "program_chain.h"
#include "program_grid.h"
#include "program_resources.h"

#include <wsc/check.h>

const struct programs_chain programs_line_chain = {PROGRAMS_COLOUR_CHAIN, PROGRAMS_IN_FAR,
                                                   PROGRAMS_IN_NEAR, PROGRAMS_OUT_START,
                                                   PROGRAMS_OUT_AWAY};
const struct programs_chain programs_edge_chain = {PROGRAMS_COLOUR_EDGE_CHAIN, PROGRAMS_IN_EDGE, -1,
                                                   PROGRAMS_OUT_EDGE, -1};

static struct mesh_rect at(const struct programs_line *l, int p)
{
    return (struct mesh_rect){l->x + p * l->dx, l->y + p * l->dy, 1, 1};
}

static uint8_t toward_start(const struct programs_line *l)
{
    return l->dx ? MESH_WEST : MESH_NORTH;
}

static uint8_t away(const struct programs_line *l)
{
    return l->dx ? MESH_EAST : MESH_SOUTH;
}

enum wsc_err programs_route_from_edge(struct programs_grid *g, int colour, int queue)
{
    const struct mesh_route down = {.rx = MESH_NORTH, .tx = MESH_RAMP | MESH_SOUTH};
    const struct mesh_route end = {.rx = MESH_NORTH, .tx = MESH_RAMP};
    const int w = programs_columns(g);
    if (g->h > 1) TRY(mesh_route(g->m, (struct mesh_rect){0, 0, w, g->h - 1}, colour, &down));
    TRY(mesh_route(g->m, (struct mesh_rect){0, g->h - 1, w, 1}, colour, &end));
    return mesh_input_queue(g->m, programs_all(g), queue, colour);
}

/* ---- gather and broadcast -------------------------------------------------------------------- */

/* Route position @p p of a gather: it sends its own words first; then its switch lets the words of
 * the positions after it through. */
static enum wsc_err route_collect(struct programs_grid *g, const struct programs_line *l, int p,
                                  const struct programs_gather *c)
{
    struct mesh_route r = {.rx = MESH_RAMP, .tx = toward_start(l), .pop = MESH_ALWAYS_POP};
    if (l->n == 1) return WSC_OK;
    if (p == 0) {
        r = (struct mesh_route){.rx = away(l), .tx = MESH_RAMP};
        TRY(mesh_route(g->m, at(l, p), c->gather, &r));
        return mesh_input_queue(g->m, at(l, p), c->in_gather, c->gather);
    }
    if (p + 1 < l->n) {
        r.n_more = 1;
        r.more[0].rx = away(l);
    }
    TRY(mesh_route(g->m, at(l, p), c->gather, &r));
    return mesh_output_queue(g->m, at(l, p), c->out, c->gather);
}

/* Route position @p p of the broadcast from position 0. */
static enum wsc_err route_broadcast(struct programs_grid *g, const struct programs_line *l, int p,
                                    const struct programs_gather *c)
{
    struct mesh_route r = {.rx = p ? toward_start(l) : MESH_RAMP, .tx = MESH_RAMP};
    if (p + 1 < l->n) r.tx |= away(l);
    TRY(mesh_route(g->m, at(l, p), c->colour, &r));
    if (!p) TRY(mesh_output_queue(g->m, at(l, p), c->out, c->colour));
    return mesh_input_queue(g->m, at(l, p), c->in, c->colour);
}

enum wsc_err programs_route_gather(struct programs_grid *g, const struct programs_line *l,
                                   const struct programs_gather *c)
{
    for (int p = 0; p < l->n; p++) {
        TRY(route_collect(g, l, p, c));
        TRY(route_broadcast(g, l, p, c));
    }
    return WSC_OK;
}

enum wsc_err programs_gather_pass(struct mesh_pe *pe, const struct programs_gather *c, int position,
                                  int n, int thread)
{
    static const enum mesh_command open = MESH_ADVANCE;
    if (!position || position + 1 == n) return WSC_OK;
    return mesh_send_control(pe, c->gather, mesh_control(&open, 1, -1), thread);
}

/* After its own words, position 0 relays the words of all others; any other position changes its
 * switch so that they can pass. */
static enum wsc_err pass_on(struct mesh_pe *pe, const struct programs_gather_send *s)
{
    const struct programs_gather *c = s->gather;
    if (s->position == 0 && s->n > 1) {
        const struct mesh_op relay = {.code = (uint8_t)s->move,
                                      .thread = PROGRAMS_THREAD_SEND,
                                      .dst = mesh_shaped(mesh_out(c->colour, 1), &s->others),
                                      .a = mesh_shaped(mesh_in(c->gather, 1), &s->others)};
        return mesh_issue(pe, &relay);
    }
    return programs_gather_pass(pe, c, s->position, s->n, PROGRAMS_THREAD_SEND);
}

static bool has_elements(const struct mesh_dsd *d)
{
    bool has = d->n_dims > 0;
    for (int i = 0; i < d->n_dims; i++)
        has = has && d->len[i];
    return has;
}

/* Issue one operation of the sending half: first the PE's own words, then the passing words. Called
 * again when the operation has ended. All operations are asynchronous: a PE that waits for its turn
 * on the outgoing colour would stop receiving from it, a deadlock of the row. */
enum wsc_err programs_gather_step(struct mesh_pe *pe, const struct programs_gather_send *s)
{
    enum { PARTS = sizeof s->own / sizeof *s->own };
    struct programs_grid *g = programs_grid_of(pe);
    const struct programs_gather *c = s->gather;
    int32_t *const sent = &g->sent[programs_index(g, pe)];
    while (*sent < PARTS && !has_elements(&s->own[*sent]))
        ++*sent;
    if (*sent == PARTS) return pass_on(pe, s);
    const struct mesh_dsd *part = &s->own[(*sent)++];
    const struct mesh_op own = {
        .code = (uint8_t)s->own_move,
        .thread = PROGRAMS_THREAD_SEND,
        .activate = (uint8_t)(s->task + 1),
        .dst = mesh_shaped(mesh_out(s->position ? c->gather : c->colour, 1), part),
        .a = *part};
    return mesh_issue(pe, &own);
}

/* ---- keys ------------------------------------------------------------------------------------ */

static const struct programs_gather key_gather = {.gather = PROGRAMS_COLOUR_GATHER,
                                                  .colour = PROGRAMS_COLOUR_SCALARS,
                                                  .in_gather = PROGRAMS_IN_GATHER,
                                                  .in = PROGRAMS_IN_SCALARS,
                                                  .out = PROGRAMS_OUT_SCALARS};

/* The keys of a PE as an array: @p passes passes over its tokens of @p n keys each, from address @p
 * at on. */
static struct mesh_dsd keys_in_passes(const struct programs_grid *g, int at, int passes, int n,
                                      int count)
{
    return mesh_rows(mesh_rows(mesh_mem_strided(at, count, g->pitch), n, g->key_step), passes, 1);
}

/* Keys are sent in the order of programs_order_keys(): the first passes have one key more than the
 * others. */
enum wsc_err programs_send_keys(struct mesh_pe *pe, const struct programs_tile *tile, int sample)
{
    const struct programs_grid *g = programs_grid_of(pe);
    const int y = mesh_y(pe), tokens = programs_tokens(g, y),
              count = tile->f->count[programs_column_of(pe)];
    const int passes = g->key_step, longer = tokens % passes, n = tokens / passes;
    const int first = sample * tokens;
    const struct programs_gather_send s = {
        .gather = &key_gather,
        .position = y,
        .n = g->h,
        .task = PROGRAMS_TASK_SEND,
        .own = {keys_in_passes(g, programs_at(g, tile, 0, first), longer, n + 1, count),
                keys_in_passes(g, programs_at(g, tile, 0, first + longer), n ? passes - longer : 0,
                               n, count)},
        .others = programs_matrix(0, (int)g->T - programs_tokens(g, 0), count, 1),
        .own_move = programs_code(tile->half, MESH_FMOVS),
        .move = programs_code(tile->half, MESH_FMOVS)};
    return programs_gather_step(pe, &s);
}

enum wsc_err programs_route_keys(struct programs_grid *g, const struct programs_features *f,
                                 mesh_task_fn send, mesh_task_fn on_scalar)
{
    for (int x = 0; x < programs_columns(g); x++) {
        const struct programs_line line = programs_column(g, x);
        const struct mesh_rect column = {x, 0, 1, g->h};
        if (!f->count[x % g->w]) continue;
        TRY(programs_route_gather(g, &line, &key_gather));
        if (on_scalar)
            TRY(mesh_data_task(g->m, column, PROGRAMS_COLOUR_SCALARS, on_scalar, MESH_LOW));
        TRY(mesh_task(g->m, column, PROGRAMS_TASK_SEND, send, MESH_LOW));
        TRY(mesh_start(g->m, column, PROGRAMS_TASK_SEND));
    }
    return WSC_OK;
}

/* ---- chains ---------------------------------------------------------------------------------- */

/* Route a PE that sends on @p colour toward @p side. */
static enum wsc_err route_send(struct programs_grid *g, struct mesh_rect pe, int colour,
                               uint8_t side, int queue)
{
    const struct mesh_route r = {.rx = MESH_RAMP, .tx = side};
    TRY(mesh_route(g->m, pe, colour, &r));
    return mesh_output_queue(g->m, pe, queue, colour);
}

static enum wsc_err route_receive(struct programs_grid *g, struct mesh_rect pe, int colour,
                                  uint8_t side, int queue)
{
    const struct mesh_route r = {.rx = side, .tx = MESH_RAMP};
    TRY(mesh_route(g->m, pe, colour, &r));
    return mesh_input_queue(g->m, pe, queue, colour);
}

/* Colour of a sender toward the start: neighbours use different ones, so that no router has a
 * switch. */
static int to_start(const struct programs_chain *c, int sender)
{
    return c->colour + (sender & 1);
}

/* Colour of a sender away from the start, the third and fourth of the chain. */
static int to_end(const struct programs_chain *c, int sender)
{
    return c->colour + 2 + (sender & 1);
}

enum wsc_err programs_route_chain(struct programs_grid *g, const struct programs_line *l,
                                  const struct programs_chain *c, bool to_edge)
{
    for (int p = 0; p < l->n; p++) {
        const struct mesh_rect pe = at(l, p);
        if (p || to_edge) TRY(route_send(g, pe, to_start(c, p), toward_start(l), c->out_start));
        if (p + 1 < l->n) TRY(route_receive(g, pe, to_start(c, p + 1), away(l), c->in_far));
        if (to_edge) continue;
        if (p + 1 < l->n) TRY(route_send(g, pe, to_end(c, p), away(l), c->out_away));
        if (p) TRY(route_receive(g, pe, to_end(c, p - 1), toward_start(l), c->in_near));
    }
    return WSC_OK;
}

/* Operation on the PE's own words: a copy to the sums or, if @p in, an addition to the received
 * words. */
static enum mesh_code sum_code(const struct programs_sum *s, bool in)
{
    if (!in) return s->own_half ? MESH_FH2S : MESH_FMOVS;
    WSC_CHECK(!s->own_half || s->code == MESH_FADDS, "operation %d", (int)s->code);
    return s->own_half ? MESH_FADDHS : s->code;
}

static enum wsc_err add_to(struct mesh_pe *pe, const struct programs_sum *s, struct mesh_dsd dst,
                           const struct mesh_dsd *in)
{
    const struct mesh_op op = {.code = (uint8_t)sum_code(s, in != NULL),
                               .thread = (uint8_t)s->thread,
                               .activate = (uint8_t)s->activate,
                               .dst = dst,
                               .a = in ? *in : s->own,
                               .b = in ? s->own : (struct mesh_dsd){0}};
    return mesh_issue(pe, &op);
}

static bool same_place(const struct mesh_dsd *a, const struct mesh_dsd *b)
{
    return a->kind == MESH_DSD_MEMORY && b->kind == MESH_DSD_MEMORY && a->address == b->address;
}

/* At the root of a line, add the sums of both sides to @p sum; the last addition activates the
 * waiting task. */
static enum wsc_err add_sides(struct mesh_pe *pe, const struct programs_sum *s, struct mesh_dsd sum)
{
    const struct programs_chain *c = s->chain;
    const struct mesh_dsd far = mesh_shaped(mesh_in(to_start(c, s->position + 1), 1), &s->result);
    const struct mesh_dsd near = mesh_shaped(mesh_in(to_end(c, s->position - 1), 1), &s->result);
    struct programs_sum first = *s, then = *s;
    if (s->position) first.activate = 0;
    if (s->position + 1 < s->n) {
        TRY(add_to(pe, &first, sum, &far));
        then.own = sum;
    }
    if (s->position) return add_to(pe, &then, sum, &near);
    if (s->n > 1) return WSC_OK;
    if (!same_place(&s->own, &sum)) return add_to(pe, s, sum, NULL);
    return s->activate ? mesh_activate(pe, s->activate - 1) : WSC_OK;
}

static enum wsc_err sum_root(struct mesh_pe *pe, const struct programs_sum *s)
{
    struct programs_sum wide = *s;
    if (s->wide.kind == MESH_DSD_NONE) return add_sides(pe, s, s->result);
    wide.activate = 0;
    TRY(add_sides(pe, &wide, s->wide));
    return mesh_issue(pe, &(struct mesh_op){.code = MESH_FS2H,
                                            .thread = (uint8_t)s->thread,
                                            .activate = (uint8_t)s->activate,
                                            .dst = s->result,
                                            .a = s->wide});
}

enum wsc_err programs_sum_part(struct mesh_pe *pe, const struct programs_sum *s)
{
    const struct programs_chain *c = s->chain;
    const int p = s->position;
    if (p == s->root) return sum_root(pe, s);
    const bool west = p > s->root;
    const bool first = west ? p + 1 == s->n : p == 0;
    const int from = west ? to_start(c, p + 1) : to_end(c, p - 1);
    const struct mesh_dsd in = mesh_shaped(mesh_in(from, 1), &s->result);
    const struct mesh_dsd out =
        mesh_shaped(mesh_out(west ? to_start(c, p) : to_end(c, p), 1), &s->result);
    return add_to(pe, s, out, first ? NULL : &in);
}
