// SPDX-License-Identifier: Apache-2.0
#include "pe_impl.h"

#include <wsc/check.h>
#include <wsc/mem.h>

/* Contract over tokens.  Item i is one row of the result: its scalars, one for each token of the
 * PE's row, come along the row, each an AXPY over the PE's features into one of two accumulators;
 * after the last one the sums of the column travel to the row that owns the item, or leave at the
 * north edge.  Where a head is a single column its scores are the PE's own. */

struct outer {
    struct pe_grid *g;
    const struct pe_weight_gradient *w; /* or NULL */
    const struct pe_key_gradient *k;    /* or NULL */
    struct pe_score_rows sent;
    struct mesh_output *out; /* owned, of each column */
    uint32_t *words;         /* owned */
    int acc[2];
};

static const struct pe_gather row_gather = {.gather = PE_COLOUR_GATHER,
                                            .colour = PE_COLOUR_SCALARS,
                                            .in_gather = PE_IN_GATHER,
                                            .in = PE_IN_SCALARS,
                                            .out = PE_OUT_SCALARS};

/* ---- items ----------------------------------------------------------------------------------- */

/* One PE's view of an item. */
struct item {
    int first, n;      /* tokens whose scalars come */
    int slot, n_slots; /* of the PE's features */
    int root, result;  /* row that gets the sums, -1: the edge; where */
};

static const struct pe_tile *tile_of(const struct outer *o)
{
    return o->w ? &o->w->x : &o->k->rows;
}

static int n_items(const struct outer *o, int x)
{
    const struct pe_features *f = tile_of(o)->f;
    if (o->w) return o->w->dy.f->n;
    return (int)o->g->T * pe_heads_on(f, x);
}

static struct item key_item(const struct outer *o, int x, int y, int i)
{
    const struct pe_grid *g = o->g;
    const struct pe_features *f = o->k->rows.f;
    const int heads = pe_heads_on(f, x), key = i / heads;
    const int tokens = pe_tokens(g, y), row = g->key_row[key], token = g->key_token[key] / g->h;
    const int n = pe_queries(g, y, key);
    struct item it = {.first = (o->k->sample + 1) * tokens - n,
                      .n = n,
                      .n_slots = f->count[x] / heads,
                      .root = row};
    it.slot = i % heads * it.n_slots;
    it.result = pe_at(g, &o->k->out, it.slot, o->k->sample * pe_tokens(g, row) + token);
    return it;
}

static struct item item_of(const struct outer *o, int x, int y, int i)
{
    const struct pe_weight_gradient *w = o->w;
    if (!w) return key_item(o, x, y, i);
    const int tokens = pe_tokens(o->g, y);
    return (struct item){.first = w->first_sample * tokens,
                         .n = w->n_samples * tokens,
                         .n_slots = w->x.f->count[x],
                         .root = -1};
}

/* ---- sums ------------------------------------------------------------------------------------ */

static enum wsc_err axpy(struct mesh_pe *pe, const struct outer *o, const struct item *it, int i,
                         struct mesh_dsd scalar)
{
    struct pe_grid *g = o->g;
    const int at = pe_index(g, pe), k = g->sub[at]++;
    const struct mesh_dsd sum = mesh_mem(o->acc[i & 1], it->n_slots);
    const struct mesh_dsd x =
        mesh_mem_strided(pe_at(g, tile_of(o), it->slot, it->first + k), it->n_slots, g->pitch);
    if (!it->n_slots) return WSC_OK;
    if (!k && scalar.kind == MESH_DSD_MEMORY)
        scalar = mesh_mem_strided(scalar.address, it->n_slots, 0);
    return k ? mesh_mac(pe, MESH_FMACS, sum, sum, x, scalar)
             : mesh_do(pe, MESH_FMULS, sum, x, scalar);
}

static enum wsc_err end_item(struct mesh_pe *pe, const struct outer *o, const struct item *it,
                             int i)
{
    const struct pe_grid *g = o->g;
    struct pe_sum s = {.chain = &kernels_pe_chain,
                       .code = MESH_FADDS,
                       .position = mesh_y(pe),
                       .n = g->h,
                       .root = it->root,
                       .thread = PE_THREAD_SUM};
    if (!it->n_slots) return WSC_OK;
    s.mine = it->n ? mesh_mem(o->acc[i & 1], it->n_slots) : mesh_float(0);
    s.result = mesh_mem_strided(it->result, it->n_slots, g->pitch);
    TRY(mesh_join(pe, PE_THREAD_SUM)); /* the item before: its accumulator is the next one's */
    return kernels_pe_sum_part(pe, &s);
}

/* Items for which nothing comes along the row end by themselves, one at a time. */
static enum wsc_err end_empty(struct mesh_pe *pe, uint32_t data)
{
    struct pe_grid *g = pe_grid_of(pe);
    const struct outer *o = g->program;
    const int at = pe_index(g, pe), i = g->item[at];
    (void)data;
    if (i == n_items(o, mesh_x(pe))) return WSC_OK;
    const struct item it = item_of(o, mesh_x(pe), mesh_y(pe), i);
    if (it.n) return WSC_OK;
    g->item[at]++;
    TRY(end_item(pe, o, &it, i));
    return mesh_activate(pe, PE_TASK_MAIN);
}

static enum wsc_err on_scalar(struct mesh_pe *pe, uint32_t scalar)
{
    struct pe_grid *g = pe_grid_of(pe);
    const struct outer *o = g->program;
    const int at = pe_index(g, pe), i = g->item[at], x = mesh_x(pe), y = mesh_y(pe);
    const struct item it = item_of(o, x, y, i);
    TRY(axpy(pe, o, &it, i, mesh_bits(scalar)));
    if (g->sub[at] < it.n) return WSC_OK;
    g->sub[at] = 0;
    g->item[at]++;
    TRY(end_item(pe, o, &it, i));
    if (i + 1 == n_items(o, x) || item_of(o, x, y, i + 1).n) return WSC_OK;
    return mesh_activate(pe, PE_TASK_MAIN); /* the next one is empty */
}

/* The same where the scalars are the PE's own: some AXPYs at a time. */
static enum wsc_err on_own(struct mesh_pe *pe, uint32_t data)
{
    enum { AT_ONCE = 16 };
    struct pe_grid *g = pe_grid_of(pe);
    const struct outer *o = g->program;
    const struct pe_features *f = o->k->rows.f;
    const int at = pe_index(g, pe), x = mesh_x(pe), y = mesh_y(pe), i = g->item[at];
    (void)data;
    if (i == n_items(o, x)) return WSC_OK;
    const struct item it = item_of(o, x, y, i);
    const int heads = pe_heads_on(f, x), row = i / heads * f->heads_per_pe + i % heads;
    const int first = row * g->tokens + pe_tokens(g, y) - it.n;
    for (int j = 0; j < AT_ONCE && g->sub[at] < it.n; j++)
        TRY(axpy(pe, o, &it, i, mesh_mem(o->k->scores + 4 * (first + g->sub[at]), 1)));
    if (g->sub[at] == it.n) {
        g->sub[at] = 0;
        g->item[at]++;
        TRY(end_item(pe, o, &it, i));
    }
    return mesh_activate(pe, PE_TASK_MAIN);
}

static enum wsc_err reserve_accumulators(struct outer *o)
{
    for (int i = 0; i < 2; i++)
        TRY(kernels_pe_reserve_words(o->g, tile_of(o)->f->slots, 1, "an accumulator", &o->acc[i]));
    return WSC_OK;
}

/* ---- weight gradients ------------------------------------------------------------------------ */

static enum wsc_err send_row(struct mesh_pe *pe, uint32_t data)
{
    const struct pe_grid *g = pe_grid_of(pe);
    const struct pe_weight_gradient *w = ((const struct outer *)g->program)->w;
    const struct pe_features *f = w->dy.f;
    const int tokens = pe_tokens(g, mesh_y(pe)), n = w->n_samples * tokens;
    const int address = pe_at(g, &w->dy, 0, w->first_sample * tokens);
    struct pe_gather_send s = {.gather = &row_gather,
                               .position = mesh_x(pe),
                               .n = g->w,
                               .task = PE_TASK_SEND,
                               .own = pe_matrix(address, f->count[mesh_x(pe)], n, g->pitch),
                               .others = pe_matrix(0, f->n - f->count[0], n, 1)};
    (void)data;
    return kernels_pe_gather_step(pe, &s);
}

static enum wsc_err gradient_edges(struct outer *o)
{
    struct pe_grid *g = o->g;
    const struct pe_features *x = o->w->x.f;
    const int64_t rows = o->w->dy.f->n;
    int64_t at = 0;
    TRY_NEW(o->words, WSC_MEM_KERNELS, rows * x->n);
    TRY_NEW(o->out, WSC_MEM_KERNELS, g->w);
    for (int c = 0; c < g->w; c++) {
        const int64_t n = rows * x->count[c];
        o->out[c] = (struct mesh_output){.word = o->words + at, .capacity = n};
        at += n;
        if (n) TRY(mesh_edge_sink(g->m, c, 0, MESH_NORTH, PE_COLOUR_CHAIN, &o->out[c]));
    }
    return WSC_OK;
}

static void store_gradient(const struct outer *o)
{
    const struct pe_weight_gradient *w = o->w;
    const struct pe_features *x = w->x.f;
    for (int c = 0, before = 0; c < o->g->w; before += x->count[c++]) {
        WSC_CHECK(o->out[c].n == o->out[c].capacity, "column %d: %lld words of %lld", c,
                  (long long)o->out[c].n, (long long)o->out[c].capacity);
        for (int64_t i = 0; i < o->out[c].n; i++) {
            union {
                uint32_t bits;
                float value;
            } word = {o->out[c].word[i]};
            const int64_t row = w->dy.f->order[i / x->count[c]];
            w->host[row * w->ld + x->order[before + i % x->count[c]]] = word.value;
        }
    }
}

static enum wsc_err run_gradient(struct outer *o)
{
    struct pe_grid *g = o->g;
    TRY(kernels_pe_begin(g, o));
    TRY(reserve_accumulators(o));
    for (int y = 0; y < g->h; y++) {
        const struct pe_line row = pe_row(y, 0, g->w);
        const struct mesh_rect pes = {0, y, g->w, 1};
        TRY(kernels_pe_route_gather(g, &row, &row_gather));
        TRY(mesh_task(g->m, pes, PE_TASK_SEND, send_row, MESH_LOW));
        TRY(mesh_start(g->m, pes, PE_TASK_SEND));
    }
    for (int x = 0; x < g->w; x++) {
        const struct pe_line column = pe_column(g, x);
        TRY(kernels_pe_route_chain(g, &column, &kernels_pe_chain, true));
    }
    TRY(gradient_edges(o));
    TRY(mesh_data_task(g->m, pe_all(g), PE_COLOUR_SCALARS, on_scalar, MESH_LOW));
    TRY(kernels_pe_main(g, end_empty));
    TRY(kernels_pe_run(g));
    store_gradient(o);
    return WSC_OK;
}

enum wsc_err kernels_pe_run_weight_gradient(struct pe_grid *g, struct pe_weight_gradient *w)
{
    struct outer o = {.g = g, .w = w};
    enum wsc_err rc = run_gradient(&o);
    if (!rc) w->first_cycle = o.out[0].first_cycle;
    wsc_free(o.words);
    wsc_free(o.out);
    return rc;
}

/* ---- gradients of keys and values ------------------------------------------------------------ */

static enum wsc_err send_scores(struct mesh_pe *pe, uint32_t data)
{
    const struct outer *o = pe_grid_of(pe)->program;
    (void)data;
    return kernels_pe_send_scores(pe, &o->sent);
}

static enum wsc_err run_keys(struct outer *o)
{
    struct pe_grid *g = o->g;
    const struct pe_features *f = o->k->rows.f;
    TRY(kernels_pe_begin(g, o));
    TRY(reserve_accumulators(o));
    if (f->group_cols > 1) TRY(kernels_pe_route_scores(g, &o->sent, send_scores));
    for (int x = 0; x < g->w; x++) {
        const struct pe_line column = pe_column(g, x);
        const struct mesh_rect pes = {x, 0, 1, g->h};
        if (!f->count[x]) continue;
        TRY(kernels_pe_route_chain(g, &column, &kernels_pe_chain, false));
        TRY(mesh_task(g->m, pes, PE_TASK_MAIN, f->group_cols > 1 ? end_empty : on_own,
                      MESH_MEDIUM));
        TRY(mesh_start(g->m, pes, PE_TASK_MAIN));
        if (f->group_cols > 1)
            TRY(mesh_data_task(g->m, pes, PE_COLOUR_SCALARS, on_scalar, MESH_LOW));
    }
    return kernels_pe_run(g);
}

enum wsc_err kernels_pe_run_key_gradient(struct pe_grid *g, const struct pe_key_gradient *k)
{
    struct outer o = {.g = g, .k = k, .sent = {k->rows.f, k->scores, &row_gather}};
    return run_keys(&o);
}
