// SPDX-License-Identifier: Apache-2.0
/* Computes sums over tokens by arriving data, one sent value at a time. The numbers of all its
 * tokens come along the row, each starts an AXPY over the features that a PE holds, and the sums
 * leave down the column while the next value is computed (program_trigger.c). The columns of a
 * row, or of a head, are collected at the first one, which sends to all. program_operations.c and
 * program_stage.c call it for weight gradients, program_softmax.c for gradients of keys and values,
 * where this is faster than blocks. */
#include "program_columns.h"
#include "program_chain.h"
#include "program_resources.h"
#include "program_sampled.h"
#include "program_scores.h"
#include "program_trigger.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <stddef.h>

struct columns {
    struct programs_grid *g;
    const struct programs_weight_gradient *w; /* or NULL */
    const struct programs_key_gradient *k;    /* or NULL */
    struct programs_tile sent, held;          /* sent: of weight gradients */
    int acc[PROGRAMS_MOST_ACCUMULATORS];
    int n_acc;
    struct programs_edge_words edge; /* of weight gradients */
    struct programs_trigger trigger;
};

static const struct programs_gather value_gather = {.gather = PROGRAMS_COLOUR_GATHER,
                                                    .colour = PROGRAMS_COLOUR_SCALARS,
                                                    .in_gather = PROGRAMS_IN_GATHER,
                                                    .in = PROGRAMS_IN_SCALARS,
                                                    .out = PROGRAMS_OUT_SCALARS};

static const struct columns *columns_of(const struct mesh_pe *pe)
{
    return programs_grid_of(pe)->program;
}

/* ---- one PE's part --------------------------------------------------------------------------- */

static int first_token(const struct columns *c, int row)
{
    if (c->w) return programs_gradient_first(c->g, c->w, row);
    return programs_tokens(c->g, row) * c->k->sample;
}

/* Number of tokens of row @p row: the numbers of a value that its PEs send. */
static int tokens_of(const struct columns *c, int row)
{
    return c->w ? programs_gradient_tokens(c->g, c->w, row) : programs_tokens(c->g, row);
}

/* Heads of a PE come one after the other, each with all its keys. */
static int heads_of(const struct columns *c, int x)
{
    return c->k ? programs_heads_on(c->held.f, x) : 1;
}

static int values_of(const struct columns *c)
{
    return c->w ? c->sent.f->n : (int)c->g->T;
}

static int items(const struct mesh_pe *pe)
{
    const struct columns *c = columns_of(pe);
    return values_of(c) * heads_of(c, programs_column_of(pe));
}

/* Number of features of item @p i that the PE holds; @p slot: the first of them. */
static int held_of(const struct columns *c, int x, int i, int *slot)
{
    const int heads = heads_of(c, x), n = heads ? c->held.f->count[x] / heads : 0;
    *slot = i / values_of(c) * n;
    return n;
}

/* A PE without features receives what its row sends and adds nothing. */
static bool item(const struct mesh_pe *pe, int i, struct mesh_trigger *t)
{
    const struct columns *c = columns_of(pe);
    const int row = programs_row_of(pe), tokens = tokens_of(c, row);
    int slot, held = held_of(c, programs_column_of(pe), i, &slot);
    if (!tokens) return false;
    t->code = (uint8_t)programs_code(c->held.half, MESH_FMACS);
    t->colour = value_gather.colour;
    t->n = tokens;
    t->sums = mesh_mem(c->acc[i % c->n_acc], held);
    t->vectors = mesh_mem_strided(programs_at(c->g, &c->held, slot, first_token(c, row)), held,
                                  programs_pitch(c->g, &c->held));
    t->vectors_step = 1;
    return true;
}

/* Set where the sums of key @p key end: at the row that owns it. */
static void to_key(const struct columns *c, int key, int slot, struct programs_sum *s)
{
    const struct programs_grid *g = c->g;
    const int row = g->key_row[key], n = s->own.len[0];
    const int token = c->k->sample * programs_tokens(g, row) + g->key_token[key] / g->h;
    s->root = row;
    s->result = mesh_mem_strided(programs_at(g, &c->k->out, slot, token), n, g->pitch);
    if (c->k->out.half) s->wide = s->own;
}

static bool sum(const struct mesh_pe *pe, int i, bool any, struct programs_sum *s)
{
    const struct columns *c = columns_of(pe);
    int slot, held = held_of(c, programs_column_of(pe), i, &slot);
    if (!held) return false;
    s->chain = &programs_line_chain;
    s->code = MESH_FADDS;
    s->position = mesh_y(pe);
    s->n = c->g->h;
    s->root = -1;
    s->own = s->result = mesh_mem(c->acc[i % c->n_acc], held);
    if (c->k) to_key(c, i % values_of(c), slot, s);
    if (!any) s->own = mesh_float(0);
    return true;
}

/* ---- sending --------------------------------------------------------------------------------- */

/* The PE's own values as an array, value by value: features of a tile, or rows of scores. */
static struct mesh_dsd own_values(const struct columns *c, int x, int row)
{
    const struct programs_grid *g = c->g;
    const int tokens = tokens_of(c, row);
    if (c->w)
        return programs_matrix(programs_at(g, &c->sent, 0, first_token(c, row)),
                               c->sent.f->count[x], tokens, programs_pitch(g, &c->sent));
    const struct programs_features *f = c->held.f;
    const int heads = f->heads_per_pe, position = x % f->group_cols;
    const struct mesh_dsd keys =
        programs_matrix(c->k->scores, programs_keys_at(g, f, position), tokens, heads * g->tokens);
    return mesh_rows(keys, heads_of(c, x), g->tokens);
}

static enum wsc_err send(struct mesh_pe *pe, uint32_t data)
{
    const struct columns *c = columns_of(pe);
    const int x = programs_column_of(pe), row = programs_row_of(pe);
    const struct programs_features *f = c->held.f;
    const int line = c->w ? c->g->w : f->group_cols;
    struct programs_gather_send s = {.gather = &value_gather,
                                     .position = x % line,
                                     .n = line,
                                     .task = PROGRAMS_TASK_SEND,
                                     .own = {own_values(c, x, row)},
                                     .own_move = programs_code(c->held.half, MESH_FMOVS),
                                     .move = programs_code(c->held.half, MESH_FMOVS)};
    (void)data;
    if (c->k && c->held.half) s.own_move = MESH_FS2H;
    const int own = c->w ? s.own[0].len[0] : s.own[0].len[1];
    s.others = programs_matrix(0, values_of(c) - own, tokens_of(c, row), 1);
    if (!tokens_of(c, row)) return WSC_OK;
    return programs_gather_step(pe, &s);
}

static enum wsc_err route_line(struct columns *c, const struct programs_line *line)
{
    const struct mesh_rect pes = {line->x, line->y, line->n, 1};
    TRY(programs_route_gather(c->g, line, &value_gather));
    TRY(mesh_task(c->g->m, pes, PROGRAMS_TASK_SEND, send, MESH_LOW));
    TRY(mesh_start(c->g->m, pes, PROGRAMS_TASK_SEND));
    return programs_trigger_bind(c->g, pes);
}

/* ---- programs -------------------------------------------------------------------------------- */

/* Reserve accumulators, and route chains down the columns that hold features. */
static enum wsc_err begin(struct columns *c)
{
    struct programs_grid *g = c->g;
    TRY(programs_begin(g, c, c->w ? c->w->first_sample : c->k->sample));
    c->n_acc = g->accumulators;
    for (int i = 0; i < c->n_acc; i++)
        TRY(programs_reserve_words(g, c->held.f->slots, PROGRAMS_BANK_TOKENS, "sums of a value",
                                   &c->acc[i]));
    for (int x = 0; x < programs_columns(g); x++) {
        const struct programs_line column = programs_column(g, x);
        if (c->held.f->count[x % g->w])
            TRY(programs_route_chain(g, &column, &programs_line_chain, c->w != NULL));
    }
    c->trigger = (struct programs_trigger){
        .accumulators = c->n_acc, .parts = 1, .items = items, .item = item, .sum = sum};
    g->trigger = &c->trigger;
    return WSC_OK;
}

/* Copy the words that left at the edge to the host's matrix of a lane: value after value, the
 * features of the column. */
static void store_gradient(const struct columns *c, int lane)
{
    const struct programs_weight_gradient *w = c->w;
    const struct programs_features *f = c->held.f;
    float *host = w->host + lane * w->lane_step;
    for (int x = 0, before = 0; x < c->g->w; before += f->count[x++]) {
        const uint32_t *word = programs_edge_column(&c->edge, lane * c->g->w + x);
        for (int i = 0; i < c->sent.f->n * f->count[x]; i++) {
            const int64_t s = c->sent.f->order[i / f->count[x]];
            const int64_t h = f->order[before + i % f->count[x]];
            host[w->how.by_columns ? h * w->ld + s : s * w->ld + h] = programs_number_of(word[i]);
        }
    }
}

static enum wsc_err run_gradient(struct columns *c)
{
    struct programs_grid *g = c->g;
    TRY(begin(c));
    TRY(programs_edge_take_rows(g, &c->edge, c->held.f, c->sent.f->n));
    for (int i = 0; i < programs_rows(g); i++) {
        const struct programs_line row = programs_row(g, i, 0, g->w);
        TRY(route_line(c, &row));
    }
    TRY(programs_run(g));
    for (int lane = 0; lane < g->active; lane++)
        store_gradient(c, lane);
    return WSC_OK;
}

static enum wsc_err sum_by_columns(struct programs_grid *g, struct programs_weight_gradient *w)
{
    const bool by_columns = w->how.by_columns;
    struct columns c = {
        .g = g, .w = w, .sent = by_columns ? w->x : w->dy, .held = by_columns ? w->dy : w->x};
    enum wsc_err rc = run_gradient(&c);
    if (!rc) w->first_cycle = c.edge.out[0].first_cycle;
    programs_edge_fini(&c.edge);
    return rc;
}

/* Set gradients that are not wanted to 0, as the edge drops them. */
static void drop_others(const struct programs_weight_gradient *w, float *host)
{
    for (int64_t i = 0; i < w->dy.f->n; i++)
        for (int64_t j = 0; j < w->x.f->n; j++)
            if (!programs_gradient_wanted(w, i, j)) host[i * w->ld + j] = 0;
}

enum wsc_err programs_sum_weights(struct programs_grid *g, struct programs_weight_gradient *w)
{
    if (w->how.sampled)
        TRY(programs_run_sampled_gradient(g, w));
    else if (w->how.arrives)
        TRY(sum_by_columns(g, w));
    else
        TRY(programs_run_weight_gradient(g, w));
    for (int lane = 0; lane < g->active && w->kept; lane++)
        drop_others(w, w->host + lane * w->lane_step);
    return WSC_OK;
}

enum wsc_err programs_sum_keys(struct programs_grid *g, const struct programs_key_gradient *k)
{
    if (!k->arrives) return programs_run_key_gradient(g, k);
    struct columns c = {.g = g, .k = k, .held = k->rows};
    const struct programs_features *f = k->rows.f;
    TRY(begin(&c));
    for (int i = 0; i < programs_n_head_lines(g, f); i++) {
        const struct programs_line line = programs_head_line(g, f, i);
        TRY(route_line(&c, &line));
    }
    return programs_run(g);
}
