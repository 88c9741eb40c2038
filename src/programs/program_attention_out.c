// SPDX-License-Identifier: Apache-2.0
/* Attention output, O = P V: scores come down the column, the value of their key along the row,
 * and each pair is an AXPY into the sums of the query's PE. Also dQ = dS K. program_scores.c keeps
 * the scores; docs/MESH.md, "Transformer programs". */
#include "program_attention_out.h"
#include "program_chain.h"
#include "program_grid.h"
#include "program_resources.h"
#include "program_scores.h"

/* Attention output: for each key the PE gets the key's row of scores (from the column of the head
 * that owns it) and then the key's values down the column, each one an AXPY with that row. */

struct mix {
    const struct programs_mix *m;
    struct programs_score_rows sent;
    int row; /* address: the scores of the key at hand */
};

static const struct programs_gather score_gather = {.gather = PROGRAMS_COLOUR_COLLECT,
                                                    .colour = PROGRAMS_COLOUR_VECTOR,
                                                    .in_gather = PROGRAMS_IN_COLLECT,
                                                    .in = PROGRAMS_IN_VECTOR,
                                                    .out = PROGRAMS_OUT_VECTOR};

static enum wsc_err send_scores(struct mesh_pe *pe, uint32_t data)
{
    const struct mix *x = programs_grid_of(pe)->program;
    (void)data;
    return programs_send_scores(pe, &x->sent);
}

/* Where the scores of the last @p n queries go: as far into the row as the queries lie in their
 * tile, so that the two stay in different banks. */
static int row_at(const struct programs_grid *g, const struct mix *x, int y, int n)
{
    return x->row + 4 * ((x->m->sample + 1) * programs_tokens(g, y) - n);
}

/* Receive the scores of key @p key; values have to wait for them. */
static enum wsc_err receive(struct mesh_pe *pe, int key)
{
    const struct programs_grid *g = programs_grid_of(pe);
    const struct mix *x = g->program;
    if (key == g->T || x->m->rows.f->group_cols == 1) return WSC_OK;
    const int y = mesh_y(pe), n = programs_queries(g, y, key);
    const struct mesh_op op = {.code = MESH_FMOVS,
                               .thread = PROGRAMS_THREAD_RECEIVE,
                               .activate = PROGRAMS_TASK_READY + 1,
                               .dst = mesh_mem(row_at(g, x, y, n), n),
                               .a = mesh_in(score_gather.colour, n)};
    if (!n) return WSC_OK;
    TRY(mesh_block_data(pe, PROGRAMS_COLOUR_SCALARS));
    return mesh_issue(pe, &op);
}

/* The row of scores is there: values may start their tasks. */
static enum wsc_err received(struct mesh_pe *pe, uint32_t data)
{
    (void)data;
    return mesh_unblock_data(pe, PROGRAMS_COLOUR_SCALARS);
}

/* ---- values down the columns ----------------------------------------------------------------- */

/* Clear the output of the sequence, then wait for the first row of scores. */
static enum wsc_err start(struct mesh_pe *pe, uint32_t data)
{
    const struct programs_grid *g = programs_grid_of(pe);
    const struct programs_mix *m = ((const struct mix *)g->program)->m;
    const int tokens = programs_tokens(g, mesh_y(pe));
    struct mesh_dsd out = mesh_mem(programs_at(g, &m->out, 0, m->sample * tokens), 1);
    (void)data;
    out.n_dims = 2;
    out.len[0] = (uint16_t)m->out.f->count[mesh_x(pe)];
    out.len[1] = (uint16_t)tokens;
    out.stride[0] = (int16_t)g->pitch;
    out.stride[1] = 1;
    TRY(mesh_do(pe, MESH_FMOVS, out, mesh_float(0), (struct mesh_dsd){0}));
    return receive(pe, 0);
}

/* Task of a value that comes down the column: its AXPY over the queries that see its key. A PE
 * whose head shares no columns takes the scores from its own memory. */
static enum wsc_err on_value(struct mesh_pe *pe, uint32_t value)
{
    struct programs_grid *g = programs_grid_of(pe);
    const struct mix *x = g->program;
    const struct programs_mix *m = x->m;
    const struct programs_features *f = m->rows.f;
    const int at = programs_index(g, pe), y = mesh_y(pe), key = g->item[at] / f->count[mesh_x(pe)];
    const int slot = g->item[at]++ % f->count[mesh_x(pe)], n = programs_queries(g, y, key);
    const int first = (m->sample + 1) * programs_tokens(g, y) - n;
    if (n) {
        const int head = f->group_cols > 1 ? 0 : slot / f->head_dim;
        const int scores =
            f->group_cols > 1
                ? row_at(g, x, y, n)
                : programs_score_at(g, m->scores, key * f->heads_per_pe + head, y, key);
        const struct mesh_dsd out = mesh_mem(programs_at(g, &m->out, slot, first), n);
        TRY(mesh_wait(pe, g->loop_cycles));
        TRY(mesh_mac(pe, MESH_FMACS, out, out, mesh_mem(scores, n), mesh_bits(value)));
    }
    return slot + 1 == f->count[mesh_x(pe)] ? receive(pe, key + 1) : WSC_OK;
}

static enum wsc_err send_values(struct mesh_pe *pe, uint32_t data)
{
    const struct programs_mix *m = ((const struct mix *)programs_grid_of(pe)->program)->m;
    (void)data;
    return programs_send_keys(pe, &m->rows, m->sample);
}

enum wsc_err programs_run_mix(struct programs_grid *g, const struct programs_mix *m)
{
    const struct programs_features *f = m->rows.f;
    struct mix x = {.m = m, .sent = {f, m->scores, &score_gather}};
    TRY(programs_begin(g, &x));
    TRY(programs_reserve_words(g, g->pitch, PROGRAMS_BANK_TOKENS, "a row of scores", &x.row));
    TRY(programs_route_keys(g, f, send_values, on_value));
    if (f->group_cols > 1) TRY(programs_route_scores(g, &x.sent, send_scores));
    for (int c = 0; c < g->w; c++) {
        const struct mesh_rect column = {c, 0, 1, g->h};
        if (!f->count[c]) continue;
        TRY(mesh_task(g->m, column, PROGRAMS_TASK_READY, received, MESH_HIGH));
        TRY(mesh_task(g->m, column, PROGRAMS_TASK_MAIN, start, MESH_HIGH));
        TRY(mesh_start(g->m, column, PROGRAMS_TASK_MAIN));
    }
    return programs_run(g);
}
