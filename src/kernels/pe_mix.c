// SPDX-License-Identifier: Apache-2.0
#include "pe_impl.h"

/* Attention output: for each key the PE gets the key's row of scores (from the column of the head
 * that owns it) and then the key's values down the column, each one an AXPY with that row. */

struct mix {
    const struct pe_mix *m;
    struct pe_score_rows sent;
    int row; /* address: the scores of the key at hand */
};

static const struct pe_gather score_gather = {.gather = PE_COLOUR_COLLECT,
                                              .colour = PE_COLOUR_VECTOR,
                                              .in_gather = PE_IN_COLLECT,
                                              .in = PE_IN_VECTOR,
                                              .out = PE_OUT_VECTOR};

static enum wsc_err send_scores(struct mesh_pe *pe, uint32_t data)
{
    const struct mix *x = pe_grid_of(pe)->program;
    (void)data;
    return kernels_pe_send_scores(pe, &x->sent);
}

/* Receive the scores of key @p key; values have to wait for them. */
static enum wsc_err receive(struct mesh_pe *pe, int key)
{
    const struct pe_grid *g = pe_grid_of(pe);
    const struct mix *x = g->program;
    if (key == g->T || x->m->rows.f->group_cols == 1) return WSC_OK;
    const int n = pe_queries(g, mesh_y(pe), key);
    const struct mesh_op op = {.code = MESH_FMOVS,
                               .thread = PE_THREAD_RECEIVE,
                               .activate = PE_TASK_READY + 1,
                               .dst = mesh_mem(x->row, n),
                               .a = mesh_in(score_gather.colour, n)};
    if (!n) return WSC_OK;
    TRY(mesh_block_data(pe, PE_COLOUR_SCALARS));
    return mesh_issue(pe, &op);
}

static enum wsc_err received(struct mesh_pe *pe, uint32_t data)
{
    (void)data;
    return mesh_unblock_data(pe, PE_COLOUR_SCALARS);
}

/* ---- values down the columns ----------------------------------------------------------------- */

static enum wsc_err start(struct mesh_pe *pe, uint32_t data)
{
    const struct pe_grid *g = pe_grid_of(pe);
    const struct pe_mix *m = ((const struct mix *)g->program)->m;
    const int tokens = pe_tokens(g, mesh_y(pe));
    struct mesh_dsd out = mesh_mem(pe_at(g, &m->out, 0, m->sample * tokens), 1);
    (void)data;
    out.n_dims = 2;
    out.len[0] = (uint16_t)m->out.f->count[mesh_x(pe)];
    out.len[1] = (uint16_t)tokens;
    out.stride[0] = (int16_t)g->pitch;
    out.stride[1] = 1;
    TRY(mesh_do(pe, MESH_FMOVS, out, mesh_float(0), (struct mesh_dsd){0}));
    return receive(pe, 0);
}

static enum wsc_err on_value(struct mesh_pe *pe, uint32_t value)
{
    struct pe_grid *g = pe_grid_of(pe);
    const struct mix *x = g->program;
    const struct pe_mix *m = x->m;
    const struct pe_features *f = m->rows.f;
    const int at = pe_index(g, pe), y = mesh_y(pe), key = g->item[at] / f->count[mesh_x(pe)];
    const int slot = g->item[at]++ % f->count[mesh_x(pe)], n = pe_queries(g, y, key);
    const int first = (m->sample + 1) * pe_tokens(g, y) - n;
    if (n) {
        const int head = f->group_cols > 1 ? 0 : slot / f->head_dim;
        const int scores = f->group_cols > 1
                               ? x->row
                               : pe_score_at(g, m->scores, key * f->heads_per_pe + head, y, key);
        const struct mesh_dsd out = mesh_mem(pe_at(g, &m->out, slot, first), n);
        TRY(mesh_wait(pe, g->loop_cycles));
        TRY(mesh_mac(pe, MESH_FMACS, out, out, mesh_mem(scores, n), mesh_bits(value)));
    }
    return slot + 1 == f->count[mesh_x(pe)] ? receive(pe, key + 1) : WSC_OK;
}

static enum wsc_err send_values(struct mesh_pe *pe, uint32_t data)
{
    const struct pe_mix *m = ((const struct mix *)pe_grid_of(pe)->program)->m;
    (void)data;
    return kernels_pe_send_keys(pe, &m->rows, m->sample);
}

enum wsc_err kernels_pe_run_mix(struct pe_grid *g, const struct pe_mix *m)
{
    const struct pe_features *f = m->rows.f;
    struct mix x = {.m = m, .sent = {f, m->scores, &score_gather}};
    TRY(kernels_pe_begin(g, &x));
    TRY(kernels_pe_reserve_words(g, g->pitch, PE_BANK_TOKENS, "a row of scores", &x.row));
    TRY(kernels_pe_route_keys(g, f, send_values, on_value));
    if (f->group_cols > 1) TRY(kernels_pe_route_scores(g, &x.sent, send_scores));
    for (int c = 0; c < g->w; c++) {
        const struct mesh_rect column = {c, 0, 1, g->h};
        if (!f->count[c]) continue;
        TRY(mesh_task(g->m, column, PE_TASK_READY, received, MESH_HIGH));
        TRY(mesh_task(g->m, column, PE_TASK_MAIN, start, MESH_HIGH));
        TRY(mesh_start(g->m, column, PE_TASK_MAIN));
    }
    return kernels_pe_run(g);
}
