// SPDX-License-Identifier: Apache-2.0
#include "pe_impl.h"

const struct pe_chain kernels_pe_chain = {PE_COLOUR_CHAIN, PE_IN_FAR, PE_IN_NEAR, PE_OUT_START,
                                          PE_OUT_AWAY};
const struct pe_chain kernels_pe_edge_chain = {PE_COLOUR_EDGE_CHAIN, PE_IN_EDGE, -1, PE_OUT_EDGE,
                                               -1};

static struct mesh_rect at(const struct pe_line *l, int p)
{
    return (struct mesh_rect){l->x + p * l->dx, l->y + p * l->dy, 1, 1};
}

static uint8_t toward_start(const struct pe_line *l)
{
    return l->dx ? MESH_WEST : MESH_NORTH;
}

static uint8_t away(const struct pe_line *l)
{
    return l->dx ? MESH_EAST : MESH_SOUTH;
}

enum wsc_err kernels_pe_route_from_edge(struct pe_grid *g, int colour, int queue)
{
    const struct mesh_route down = {.rx = MESH_NORTH, .tx = MESH_RAMP | MESH_SOUTH};
    const struct mesh_route end = {.rx = MESH_NORTH, .tx = MESH_RAMP};
    if (g->h > 1) TRY(mesh_route(g->m, (struct mesh_rect){0, 0, g->w, g->h - 1}, colour, &down));
    TRY(mesh_route(g->m, (struct mesh_rect){0, g->h - 1, g->w, 1}, colour, &end));
    return mesh_input_queue(g->m, pe_all(g), queue, colour);
}

/* ---- gather and broadcast -------------------------------------------------------------------- */

static enum wsc_err route_collect(struct pe_grid *g, const struct pe_line *l, int p,
                                  const struct pe_gather *c)
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

static enum wsc_err route_broadcast(struct pe_grid *g, const struct pe_line *l, int p,
                                    const struct pe_gather *c)
{
    struct mesh_route r = {.rx = p ? toward_start(l) : MESH_RAMP, .tx = MESH_RAMP};
    if (p + 1 < l->n) r.tx |= away(l);
    TRY(mesh_route(g->m, at(l, p), c->colour, &r));
    if (!p) TRY(mesh_output_queue(g->m, at(l, p), c->out, c->colour));
    return mesh_input_queue(g->m, at(l, p), c->in, c->colour);
}

enum wsc_err kernels_pe_route_gather(struct pe_grid *g, const struct pe_line *l,
                                     const struct pe_gather *c)
{
    for (int p = 0; p < l->n; p++) {
        TRY(route_collect(g, l, p, c));
        TRY(route_broadcast(g, l, p, c));
    }
    return WSC_OK;
}

static struct mesh_dsd words_of(struct mesh_dsd fabric, const struct mesh_dsd *like)
{
    fabric.n_dims = like->n_dims;
    for (int i = 0; i < like->n_dims; i++)
        fabric.len[i] = like->len[i];
    return fabric;
}

enum wsc_err kernels_pe_gather_pass(struct mesh_pe *pe, const struct pe_gather *c, int position,
                                    int n, int thread)
{
    static const enum mesh_command open = MESH_ADVANCE;
    if (!position || position + 1 == n) return WSC_OK;
    return mesh_send_control(pe, c->gather, mesh_control(&open, 1, -1), thread);
}

static enum wsc_err pass_on(struct mesh_pe *pe, const struct pe_gather_send *s)
{
    const struct pe_gather *c = s->gather;
    if (s->position == 0 && s->n > 1) {
        const struct mesh_op relay = {.code = MESH_FMOVS,
                                      .thread = PE_THREAD_SEND,
                                      .dst = words_of(mesh_out(c->colour, 1), &s->others),
                                      .a = words_of(mesh_in(c->gather, 1), &s->others)};
        return mesh_issue(pe, &relay);
    }
    return kernels_pe_gather_pass(pe, c, s->position, s->n, PE_THREAD_SEND);
}

enum wsc_err kernels_pe_gather_step(struct mesh_pe *pe, const struct pe_gather_send *s)
{
    struct pe_grid *g = pe_grid_of(pe);
    const struct pe_gather *c = s->gather;
    if (g->sent[pe_index(g, pe)]++) return pass_on(pe, s);
    const struct mesh_op own = {
        .code = MESH_FMOVS,
        .thread = PE_THREAD_SEND,
        .activate = (uint8_t)(s->task + 1),
        .dst = words_of(mesh_out(s->position ? c->gather : c->colour, 1), &s->own),
        .a = s->own};
    return mesh_issue(pe, &own);
}

/* ---- keys ------------------------------------------------------------------------------------ */

static const struct pe_gather key_gather = {.gather = PE_COLOUR_GATHER,
                                            .colour = PE_COLOUR_SCALARS,
                                            .in_gather = PE_IN_GATHER,
                                            .in = PE_IN_SCALARS,
                                            .out = PE_OUT_SCALARS};

enum wsc_err kernels_pe_send_keys(struct mesh_pe *pe, const struct pe_tile *tile, int sample)
{
    const struct pe_grid *g = pe_grid_of(pe);
    const int y = mesh_y(pe), tokens = pe_tokens(g, y), count = tile->f->count[mesh_x(pe)];
    struct pe_gather_send s = {.gather = &key_gather,
                               .position = y,
                               .n = g->h,
                               .task = PE_TASK_SEND,
                               .own =
                                   pe_matrix(pe_at(g, tile, 0, sample * tokens), tokens, count, 1),
                               .others = pe_matrix(0, (int)g->T - pe_tokens(g, 0), count, 1)};
    s.own.stride[1] = (int16_t)g->pitch;
    return kernels_pe_gather_step(pe, &s);
}

enum wsc_err kernels_pe_route_keys(struct pe_grid *g, const struct pe_features *f,
                                   mesh_task_fn send, mesh_task_fn on_scalar)
{
    for (int x = 0; x < g->w; x++) {
        const struct pe_line line = pe_column(g, x);
        const struct mesh_rect column = {x, 0, 1, g->h};
        if (!f->count[x]) continue;
        TRY(kernels_pe_route_gather(g, &line, &key_gather));
        TRY(mesh_data_task(g->m, column, PE_COLOUR_SCALARS, on_scalar, MESH_LOW));
        TRY(mesh_task(g->m, column, PE_TASK_SEND, send, MESH_LOW));
        TRY(mesh_start(g->m, column, PE_TASK_SEND));
    }
    return WSC_OK;
}

/* ---- chains ---------------------------------------------------------------------------------- */

/* Position @p p sends on @p colour toward @p side. */
static enum wsc_err route_send(struct pe_grid *g, struct mesh_rect pe, int colour, uint8_t side,
                               int queue)
{
    const struct mesh_route r = {.rx = MESH_RAMP, .tx = side};
    TRY(mesh_route(g->m, pe, colour, &r));
    return mesh_output_queue(g->m, pe, queue, colour);
}

static enum wsc_err route_receive(struct pe_grid *g, struct mesh_rect pe, int colour, uint8_t side,
                                  int queue)
{
    const struct mesh_route r = {.rx = side, .tx = MESH_RAMP};
    TRY(mesh_route(g->m, pe, colour, &r));
    return mesh_input_queue(g->m, pe, queue, colour);
}

static int to_start(const struct pe_chain *c, int sender)
{
    return c->colour + (sender & 1);
}

static int to_end(const struct pe_chain *c, int sender)
{
    return c->colour + 2 + (sender & 1);
}

enum wsc_err kernels_pe_route_chain(struct pe_grid *g, const struct pe_line *l,
                                    const struct pe_chain *c, bool to_edge)
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

static enum wsc_err add_to(struct mesh_pe *pe, const struct pe_sum *s, struct mesh_dsd dst,
                           const struct mesh_dsd *in)
{
    const struct mesh_op op = {.code = (uint8_t)(in ? s->code : MESH_FMOVS),
                               .thread = (uint8_t)s->thread,
                               .dst = dst,
                               .a = in ? *in : s->mine,
                               .b = in ? s->mine : (struct mesh_dsd){0}};
    return mesh_issue(pe, &op);
}

static bool same_place(const struct mesh_dsd *a, const struct mesh_dsd *b)
{
    return a->kind == MESH_DSD_MEMORY && b->kind == MESH_DSD_MEMORY && a->address == b->address;
}

static enum wsc_err sum_root(struct mesh_pe *pe, const struct pe_sum *s)
{
    const struct pe_chain *c = s->chain;
    const struct mesh_dsd far = words_of(mesh_in(to_start(c, s->position + 1), 1), &s->result);
    const struct mesh_dsd near = words_of(mesh_in(to_end(c, s->position - 1), 1), &s->result);
    struct pe_sum then = *s;
    if (s->position + 1 < s->n) {
        TRY(add_to(pe, s, s->result, &far));
        then.mine = s->result;
    }
    if (s->position) return add_to(pe, &then, s->result, &near);
    return s->n == 1 && !same_place(&s->mine, &s->result) ? add_to(pe, s, s->result, NULL) : WSC_OK;
}

enum wsc_err kernels_pe_sum_part(struct mesh_pe *pe, const struct pe_sum *s)
{
    const struct pe_chain *c = s->chain;
    const int p = s->position;
    if (p == s->root) return sum_root(pe, s);
    const bool west = p > s->root;
    const bool first = west ? p + 1 == s->n : p == 0;
    const int from = west ? to_start(c, p + 1) : to_end(c, p - 1);
    const struct mesh_dsd in = words_of(mesh_in(from, 1), &s->result);
    const struct mesh_dsd out =
        words_of(mesh_out(west ? to_start(c, p) : to_end(c, p), 1), &s->result);
    return add_to(pe, s, out, first ? NULL : &in);
}
