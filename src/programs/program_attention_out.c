// SPDX-License-Identifier: Apache-2.0
/* Computes the attention output O = P V, and dQ = dS K. Scores come down the column, the value of
 * their key along the row, and each pair is an AXPY into the sums of the query's PE.
 * program_scores.c keeps the scores; docs/MESH.md, "Transformer programs". */
#include "program_attention_out.h"
#include "program_chain.h"
#include "program_grid.h"
#include "program_resources.h"
#include "program_scores.h"

/* Attention output: for each key the PE receives the key's row of scores, from the column of the
 * head that owns it, and then the key's values down the column. Each value is one AXPY with that
 * row. */

struct mix {
    const struct programs_mix *m;
    struct programs_score_rows sent;
    int row;                  /* address: the scores of the current key */
    struct programs_tile sum; /* 32-bit sums: the output itself, or rounded to it */
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

/* Address for the scores of the last @p n queries: in another bank than the sums of these
 * queries. */
static int row_at(const struct programs_grid *g, const struct mix *x, int y, int n)
{
    return x->row + 4 * (((x->m->sample + 1) * programs_tokens(g, y) - n) & 1);
}

/* Receive the @p n scores of a key asynchronously. */
static enum wsc_err issue_receive(struct mesh_pe *pe, int n)
{
    const struct programs_grid *g = programs_grid_of(pe);
    const struct mix *x = g->program;
    const struct mesh_op op = {.code = (uint8_t)programs_code(x->m->rows.half, MESH_FMOVS),
                               .thread = PROGRAMS_THREAD_RECEIVE,
                               .activate = PROGRAMS_TASK_READY + 1,
                               .dst = mesh_mem(row_at(g, x, mesh_y(pe), n), n),
                               .a = mesh_in(score_gather.colour, n)};
    return mesh_issue(pe, &op);
}

/* Receive the scores of key @p key; tasks of values are blocked until they have arrived. */
static enum wsc_err receive(struct mesh_pe *pe, int key)
{
    const struct programs_grid *g = programs_grid_of(pe);
    const struct mix *x = g->program;
    if (key == g->T || x->m->rows.f->group_cols == 1) return WSC_OK;
    const int n = programs_queries(g, mesh_y(pe), key);
    if (!n) return WSC_OK;
    TRY(mesh_block_data(pe, PROGRAMS_COLOUR_SCALARS));
    return issue_receive(pe, n);
}

/* The row of scores has arrived: unblock the tasks of values. */
static enum wsc_err received(struct mesh_pe *pe, uint32_t data)
{
    (void)data;
    return mesh_unblock_data(pe, PROGRAMS_COLOUR_SCALARS);
}

/* ---- values down the columns ----------------------------------------------------------------- */

/* The PE's queries of the sequence in @p t. */
static struct mesh_dsd queries_of(const struct mesh_pe *pe, const struct programs_tile *t)
{
    const struct programs_grid *g = programs_grid_of(pe);
    const struct programs_mix *m = ((const struct mix *)g->program)->m;
    const int tokens = programs_tokens(g, mesh_y(pe));
    return programs_matrix(programs_at(g, t, 0, m->sample * tokens),
                           t->f->count[programs_column_of(pe)], tokens, g->pitch);
}

static enum wsc_err clear_sums(struct mesh_pe *pe)
{
    const struct mix *x = programs_grid_of(pe)->program;
    return mesh_do(pe, MESH_FMOVS, queries_of(pe, &x->sum), mesh_float(0), (struct mesh_dsd){0});
}

static enum wsc_err start(struct mesh_pe *pe, uint32_t data)
{
    (void)data;
    TRY(clear_sums(pe));
    return receive(pe, 0);
}

/* After the last key: round the 32-bit sums to the output if it is 16-bit. */
static enum wsc_err round_output(struct mesh_pe *pe)
{
    const struct mix *x = programs_grid_of(pe)->program;
    if (!x->m->out.half) return WSC_OK;
    return mesh_do(pe, MESH_FS2H, queries_of(pe, &x->m->out), queries_of(pe, &x->sum),
                   (struct mesh_dsd){0});
}

/* Continue with the next key; after the last one round the output. */
static enum wsc_err end_key(struct mesh_pe *pe, int key)
{
    return key + 1 < programs_grid_of(pe)->T ? receive(pe, key + 1) : round_output(pe);
}

/* Set @p row to the scores of a column that holds a whole head: they are in its own memory in 32
 * bits, and are rounded to 16 bits if needed. */
static enum wsc_err own_scores(struct mesh_pe *pe, int scores, int n, struct mesh_dsd *row)
{
    const struct mix *x = programs_grid_of(pe)->program;
    *row = mesh_mem(scores, n);
    if (!x->m->rows.half) return WSC_OK;
    *row = mesh_mem(x->row, n);
    return mesh_do(pe, MESH_FS2H, *row, mesh_mem(scores, n), (struct mesh_dsd){0});
}

/* Task of a value that comes down the column: an AXPY over the queries that attend to its key. If
 * a head is one column, the scores are in the PE's own memory. */
static enum wsc_err on_value(struct mesh_pe *pe, uint32_t value)
{
    struct programs_grid *g = programs_grid_of(pe);
    const struct mix *x = g->program;
    const struct programs_mix *m = x->m;
    const struct programs_features *f = m->rows.f;
    const int at = programs_index(g, pe), y = mesh_y(pe),
              key = g->item[at] / f->count[programs_column_of(pe)];
    const int slot = g->item[at]++ % f->count[programs_column_of(pe)],
              n = programs_queries(g, y, key);
    const int first = (m->sample + 1) * programs_tokens(g, y) - n;
    if (n) {
        const int head = f->group_cols > 1 ? 0 : slot / f->head_dim;
        const int scores = programs_score_at(g, m->scores, key * f->heads_per_pe + head, y, key);
        struct mesh_dsd row = mesh_mem(row_at(g, x, y, n), n);
        const struct mesh_dsd out = mesh_mem(programs_at(g, &x->sum, slot, first), n);
        if (f->group_cols == 1) TRY(own_scores(pe, scores, n, &row));
        TRY(mesh_wait(pe, g->loop_cycles));
        TRY(mesh_mac(pe, programs_code(m->rows.half, MESH_FMACS), out, out, row, mesh_bits(value)));
    }
    return slot + 1 == f->count[programs_column_of(pe)] ? end_key(pe, key) : WSC_OK;
}

/* ---- values that start their AXPYs ----------------------------------------------------------- */

/* Item @p i: the values of one head of key i / heads. */
static enum wsc_err bind_head(struct mesh_pe *pe, int i)
{
    const struct programs_grid *g = programs_grid_of(pe);
    const struct mix *x = g->program;
    const struct programs_mix *m = x->m;
    const struct programs_features *f = m->rows.f;
    const int heads = programs_heads_on(f, programs_column_of(pe)), key = i / heads,
              head = i % heads;
    const int y = mesh_y(pe), n = programs_queries(g, y, key);
    const int slots = f->count[programs_column_of(pe)] / heads;
    struct mesh_dsd row = mesh_mem(row_at(g, x, y, n), n);
    const int first = (m->sample + 1) * programs_tokens(g, y) - n;
    const int scores = programs_score_at(g, m->scores, key * f->heads_per_pe + head, y, key);
    if (f->group_cols == 1) TRY(own_scores(pe, scores, n, &row));
    return mesh_arm(pe, &(struct mesh_trigger){
                            .code = (uint8_t)programs_code(m->rows.half, MESH_FMACS),
                            .thread = PROGRAMS_THREAD_TRIGGER,
                            .activate = PROGRAMS_TASK_ITEM + 1,
                            .wait = (uint16_t)g->arrival_eighths,
                            .colour = PROGRAMS_COLOUR_SCALARS,
                            .n = slots,
                            .sums = mesh_mem(programs_at(g, &x->sum, head * slots, first), n),
                            .vectors = row,
                            .sums_step = g->pitch});
}

/* Receive the row of scores that the next item needs before its values; after the last item round
 * the output. */
static enum wsc_err await_item(struct mesh_pe *pe)
{
    const struct programs_grid *g = programs_grid_of(pe);
    const struct mix *x = g->program;
    const struct programs_features *f = x->m->rows.f;
    const int i = g->item[programs_index(g, pe)],
              key = i / programs_heads_on(f, programs_column_of(pe));
    if (key == g->T) return round_output(pe);
    const int n = programs_queries(g, mesh_y(pe), key);
    return n && f->group_cols > 1 ? issue_receive(pe, n) : bind_head(pe, i);
}

static enum wsc_err start_items(struct mesh_pe *pe, uint32_t data)
{
    (void)data;
    TRY(clear_sums(pe));
    return await_item(pe);
}

static enum wsc_err received_item(struct mesh_pe *pe, uint32_t data)
{
    const struct programs_grid *g = programs_grid_of(pe);
    (void)data;
    return bind_head(pe, g->item[programs_index(g, pe)]);
}

static enum wsc_err on_item(struct mesh_pe *pe, uint32_t data)
{
    struct programs_grid *g = programs_grid_of(pe);
    (void)data;
    g->item[programs_index(g, pe)]++;
    return await_item(pe);
}

/* ---- the program ----------------------------------------------------------------------------- */

static enum wsc_err send_values(struct mesh_pe *pe, uint32_t data)
{
    const struct programs_mix *m = ((const struct mix *)programs_grid_of(pe)->program)->m;
    (void)data;
    return programs_send_keys(pe, &m->rows, m->sample);
}

enum wsc_err programs_run_mix(struct programs_grid *g, const struct programs_mix *m)
{
    const struct programs_features *f = m->rows.f;
    struct mix x = {.m = m, .sent = {f, m->scores, &score_gather, m->rows.half}, .sum = m->out};
    TRY(programs_begin(g, &x, m->sample));
    TRY(programs_reserve_words(g, g->pitch + 1, PROGRAMS_BANK_TOKENS, "a row of scores", &x.row));
    if (m->out.half) TRY(programs_reserve_sums(g, &x.sum, m->out.f, "sums of the output"));
    TRY(programs_route_keys(g, f, send_values, g->by_data ? NULL : on_value));
    if (f->group_cols > 1) TRY(programs_route_scores(g, &x.sent, send_scores));
    for (int c = 0; c < programs_columns(g); c++) {
        const struct mesh_rect column = {c, 0, 1, g->h};
        if (!f->count[c % g->w]) continue;
        TRY(mesh_task(g->m, column, PROGRAMS_TASK_READY, g->by_data ? received_item : received,
                      MESH_HIGH));
        TRY(mesh_task(g->m, column, PROGRAMS_TASK_ITEM, on_item, MESH_HIGH));
        TRY(mesh_task(g->m, column, PROGRAMS_TASK_MAIN, g->by_data ? start_items : start,
                      MESH_HIGH));
        TRY(mesh_start(g->m, column, PROGRAMS_TASK_MAIN));
    }
    return programs_run(g);
}
