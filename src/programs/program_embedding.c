// SPDX-License-Identifier: Apache-2.0
/* Looks up rows of a table, and sums their gradients. Every row passes all PEs of a column and a
 * token takes its own (gather); for the gradient every row is a sum over the tokens that took it,
 * which leaves at the edge (scatter). */
#include "program_embedding.h"
#include "program_chain.h"
#include "program_grid.h"
#include "program_resources.h"

#include <wsc/mem.h>

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Embedding. Forward: every row of the table passes every PE, and a PE copies the rows of its
 * tokens. Backward: every row is a sum over the column; a PE adds the gradients of its tokens to
 * the passing rows. The tokens of a row of PEs are known in advance, sorted by row of the table. */

struct entry {
    int32_t row;   /* of the table */
    int32_t token; /* slot on the PE */
    float scale;
};
struct embed {
    const struct programs_grid *g;
    const struct programs_table *t;
    struct entry *entry;         /* owned, by row of PEs */
    int *first;                  /* owned, of each row of all lanes, and the end */
    int word;                    /* address: a row of the table, or of its gradient */
    struct mesh_wavelet *source; /* owned */
    uint32_t *words;             /* owned */
    struct mesh_output *out;     /* owned, of each column of all lanes */
    bool half;                   /* of what streams in */
};

static void embed_fini(struct embed *e)
{
    wsc_free(e->entry);
    wsc_free(e->first);
    wsc_free(e->source);
    wsc_free(e->words);
    wsc_free(e->out);
}

/* Order entries by row of the table, then by token: tokens of one row are neighbours, and sums
 * have a fixed order. */
static int by_row(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->row != y->row) return x->row < y->row ? -1 : 1;
    return x->token < y->token ? -1 : x->token > y->token;
}

static enum wsc_err sort_tokens(struct embed *e)
{
    const struct programs_grid *g = e->g;
    const struct programs_table *t = e->t;
    TRY_NEW(e->entry, WSC_MEM_KERNELS, (int64_t)g->lanes * t->n_samples * g->T);
    TRY_NEW(e->first, WSC_MEM_KERNELS, (int64_t)g->lanes * g->h + 1);
    for (int row = 0; row < g->lanes * g->h; row++) {
        const int tokens = programs_tokens(g, row), before = t->first_sample * tokens;
        const int n = programs_samples(g, row, t->first_sample, t->n_samples) * tokens;
        struct entry *at = e->entry + e->first[row];
        int wanted = 0;
        for (int i = 0; i < n; i++) {
            const int64_t token = programs_token_at(g, row, before + i);
            const float scale = t->factor ? t->scale * t->factor[token] : t->scale;
            if (t->row_of_token[token] < 0) continue;
            at[wanted++] = (struct entry){t->row_of_token[token], before + i, scale};
        }
        qsort(at, (size_t)wanted, sizeof *at, by_row);
        e->first[row + 1] = e->first[row] + wanted;
    }
    return WSC_OK;
}

/* The next token of the PE in the order of the table, NULL after the last one. */
static const struct entry *next_entry(const struct embed *e, int row, int taken)
{
    return e->first[row] + taken < e->first[row + 1] ? &e->entry[e->first[row] + taken] : NULL;
}

/* The features of a token on this PE. */
static struct mesh_dsd column_of(const struct embed *e, int token, int count)
{
    return mesh_mem_strided(programs_at(e->g, &e->t->x, 0, token), count, e->g->pitch);
}

/* ---- forward --------------------------------------------------------------------------------- */

/* An operation has at most this many rows, the largest length of a descriptor. A task that lets
 * more rows pass is followed by another one. */
enum { MOST_ROWS = UINT16_MAX };
static int rows_at_once(int rows)
{
    return rows < MOST_ROWS ? rows : MOST_ROWS;
}

/* Let @p rows rows pass. They are received into one word, whose contents are not used. */
static enum wsc_err skip_rows(struct mesh_pe *pe, const struct embed *e, int rows, int count)
{
    const struct mesh_dsd in = mesh_rows(mesh_in(PROGRAMS_COLOUR_SCALARS, count), rows, 0);
    const struct mesh_dsd nowhere = mesh_rows(mesh_mem_strided(e->word, count, 0), rows, 0);
    return mesh_do(pe, programs_code(e->half, MESH_FMOVS), nowhere, in, (struct mesh_dsd){0});
}

/* True when the next token needs the row of this token, too. */
static bool is_shared(const struct embed *e, int row, int taken)
{
    const struct entry *token = next_entry(e, row, taken), *next = next_entry(e, row, taken + 1);
    return token && next && next->row == token->row;
}

static struct mesh_dsd scale_of(const struct embed *e, const struct entry *token)
{
    return programs_scalar(e->g, e->half, token->scale);
}

/* Receive a row that only one token needs directly into the token's features. */
static enum wsc_err take_row(struct mesh_pe *pe, const struct embed *e, const struct entry *token,
                             struct mesh_dsd x, int count)
{
    const struct mesh_dsd in = mesh_in(PROGRAMS_COLOUR_SCALARS, count);
    return e->t->add ? mesh_do(pe, programs_code(e->half, MESH_FADDS), x, in, x)
                     : mesh_do(pe, programs_code(e->half, MESH_FMULS), x, in, scale_of(e, token));
}

/* True when a row can be received directly into its token: no other token needs it, and it is not
 * both scaled and added. */
static bool is_received_directly(const struct embed *e, int row, int taken)
{
    const struct entry *token = next_entry(e, row, taken);
    return !is_shared(e, row, taken) && !(e->t->add && token->scale != 1);
}

/* Receive the row of one token or, after the last token, let the remaining rows pass. */
static enum wsc_err take(struct mesh_pe *pe, uint32_t data)
{
    struct programs_grid *g = programs_grid_of(pe);
    const struct embed *e = g->program;
    const int at = programs_index(g, pe), row_number = programs_row_of(pe);
    const int count = e->t->x.f->count[programs_column_of(pe)];
    const struct entry *token = next_entry(e, row_number, g->item[at]);
    const int until = token ? token->row : (int)e->t->rows;
    (void)data;
    if (!count) return WSC_OK;
    const int skipped = rows_at_once(until - g->sub[at]);
    if (skipped > 0) TRY(skip_rows(pe, e, skipped, count));
    if (skipped > 0 && g->sub[at] + skipped < until) {
        g->sub[at] += skipped;
        return mesh_activate(pe, PROGRAMS_TASK_MAIN);
    }
    if (!token) return WSC_OK;
    const struct mesh_dsd row = mesh_mem(e->word, count), x = column_of(e, token->token, count);
    const bool first = g->sub[at] <= until;
    const bool straight = first && is_received_directly(e, row_number, g->item[at]);
    g->sub[at] = until + 1;
    g->item[at]++;
    if (straight) {
        TRY(take_row(pe, e, token, x, count));
        return mesh_activate(pe, PROGRAMS_TASK_MAIN);
    }
    if (first)
        TRY(mesh_do(pe, programs_code(e->half, MESH_FMOVS), row,
                    mesh_in(PROGRAMS_COLOUR_SCALARS, count), (struct mesh_dsd){0}));
    TRY(e->t->add ? mesh_mac(pe, e->half ? MESH_FMACH : MESH_FMACS, x, x, row, scale_of(e, token))
                  : mesh_do(pe, programs_code(e->half, MESH_FMULS), x, row, scale_of(e, token)));
    return mesh_activate(pe, PROGRAMS_TASK_MAIN);
}

/* Feed the whole table, row by row, to each column the features that it holds. */
static enum wsc_err stream_table(struct embed *e, struct programs_grid *g, const float *table)
{
    const struct programs_features *f = e->t->x.f;
    TRY_NEW(e->source, WSC_MEM_KERNELS, e->t->rows * f->n);
    struct mesh_wavelet *to = e->source;
    for (int x = 0, before = 0; x < g->w; before += f->count[x++]) {
        const int64_t n = e->t->rows * f->count[x];
        for (int64_t i = 0; i < n; i++)
            to[i].data = programs_word(
                g, e->half, table[i / f->count[x] * f->n + f->order[before + i % f->count[x]]]);
        if (n) TRY(programs_feed(g, x, PROGRAMS_COLOUR_SCALARS, to, n));
        to += n;
    }
    return WSC_OK;
}

/* The forward program. */
static enum wsc_err gather(struct embed *e, struct programs_grid *g, const float *table)
{
    TRY(sort_tokens(e));
    TRY(programs_begin(g, e, e->t->first_sample));
    TRY(programs_reserve_words(g, e->t->x.f->slots, PROGRAMS_BANK_TOKENS, "a row of the table",
                               &e->word));
    TRY(programs_route_from_edge(g, PROGRAMS_COLOUR_SCALARS, PROGRAMS_IN_SCALARS));
    TRY(stream_table(e, g, table));
    TRY(programs_main(g, take));
    return programs_run(g);
}

enum wsc_err programs_run_table_gather(struct programs_grid *g, const struct programs_table *t,
                                       const float *table)
{
    struct embed e = {.g = g, .t = t, .half = t->x.half};
    enum wsc_err rc = gather(&e, g, table);
    embed_fini(&e);
    return rc;
}

/* ---- backward -------------------------------------------------------------------------------- */

/* Let the sums of @p rows rows pass this PE, which adds @p own to them. */
static enum wsc_err pass_rows(struct mesh_pe *pe, const struct embed *e, int rows,
                              struct mesh_dsd own, bool half)
{
    const int count = e->t->x.f->count[programs_column_of(pe)];
    const struct programs_sum sum = {.chain = &programs_edge_chain,
                                     .code = MESH_FADDS,
                                     .position = mesh_y(pe),
                                     .n = e->g->h,
                                     .root = -1,
                                     .own = own,
                                     .own_half = half,
                                     .result = programs_matrix(e->word, rows, count, count)};
    return rows ? programs_sum_part(pe, &sum) : WSC_OK;
}

/* True when a token can add its gradient directly to the passing row: it is the only token of this
 * row on the PE, with scale 1. */
static bool adds_directly(const struct embed *e, int row, int taken)
{
    const struct entry *token = next_entry(e, row, taken);
    const struct entry *before = taken ? next_entry(e, row, taken - 1) : NULL;
    return token->scale == 1 && !is_shared(e, row, taken) && (!before || before->row != token->row);
}

/* Add the gradients of the tokens of one row of the table; after the last of them the row
 * passes. */
static enum wsc_err give(struct mesh_pe *pe, uint32_t data)
{
    struct programs_grid *g = programs_grid_of(pe);
    const struct embed *e = g->program;
    const int at = programs_index(g, pe), row = programs_row_of(pe);
    const int count = e->t->x.f->count[programs_column_of(pe)];
    const struct entry *token = next_entry(e, row, g->item[at]);
    const struct entry *before = g->item[at] ? next_entry(e, row, g->item[at] - 1) : NULL;
    const struct mesh_dsd sum = mesh_mem(e->word, count);
    const bool same = token && before && token->row == before->row;
    (void)data;
    if (!count) return WSC_OK;
    if (before && !same && g->sub[at] <= before->row) {
        TRY(pass_rows(pe, e, 1, programs_matrix(e->word, 1, count, count), false));
        g->sub[at] = before->row + 1;
    }
    const int until = token ? token->row : (int)e->t->rows;
    const int passed = same ? 0 : rows_at_once(until - g->sub[at]);
    TRY(pass_rows(pe, e, passed, mesh_float(0), false));
    if (!same && g->sub[at] + passed < until) {
        g->sub[at] += passed;
        return mesh_activate(pe, PROGRAMS_TASK_MAIN);
    }
    if (!token) return WSC_OK;
    g->sub[at] = token->row;
    struct mesh_dsd dx = column_of(e, token->token, count);
    if (adds_directly(e, row, g->item[at]++)) {
        TRY(pass_rows(pe, e, 1, mesh_rows(dx, 1, 0), e->half));
        g->sub[at] = token->row + 1;
        return mesh_activate(pe, PROGRAMS_TASK_MAIN);
    }
    TRY(same || e->half ? mesh_mac(pe, programs_code(e->half, MESH_FMACS), sum,
                                   same ? sum : mesh_float(0), dx, scale_of(e, token))
                        : mesh_do(pe, MESH_FMULS, sum, dx, scale_of(e, token)));
    return mesh_activate(pe, PROGRAMS_TASK_MAIN);
}

/* Attach a sink at the north edge to each column, for its sums of all rows. */
static enum wsc_err sinks(struct embed *e, struct programs_grid *g)
{
    const struct programs_features *f = e->t->x.f;
    TRY_NEW(e->words, WSC_MEM_KERNELS, g->active * e->t->rows * f->n);
    TRY_NEW(e->out, WSC_MEM_KERNELS, programs_columns(g));
    uint32_t *words = e->words;
    for (int x = 0; x < programs_columns(g); x++) {
        const struct programs_line column = programs_column(g, x);
        const int64_t n = e->t->rows * f->count[x % g->w];
        e->out[x] = (struct mesh_output){.word = words, .capacity = n};
        words += n;
        TRY(programs_route_chain(g, &column, &programs_edge_chain, true));
        TRY(mesh_edge_sink(g->m, x, 0, MESH_NORTH, programs_edge_chain.colour, &e->out[x]));
    }
    return WSC_OK;
}

/* Copy the words of a lane's part of the edge to its gradient (rows, features). */
static void store_rows(const struct embed *e, int lane, float *grad)
{
    const struct programs_features *f = e->t->x.f;
    const struct mesh_output *out = e->out + (ptrdiff_t)lane * e->g->w;
    for (int x = 0, before = 0; x < e->g->w; before += f->count[x++])
        for (int64_t i = 0; i < out[x].n; i++)
            memcpy(&grad[i / f->count[x] * f->n + f->order[before + i % f->count[x]]],
                   &out[x].word[i], sizeof *grad);
}

static enum wsc_err scatter(struct embed *e, struct programs_grid *g)
{
    TRY(sort_tokens(e));
    TRY(programs_begin(g, e, e->t->first_sample));
    TRY(programs_reserve_words(g, e->t->x.f->slots, PROGRAMS_BANK_TOKENS,
                               "a row of the table's gradient", &e->word));
    TRY(sinks(e, g));
    TRY(programs_main(g, give));
    return programs_run(g);
}

enum wsc_err programs_run_table_scatter(struct programs_grid *g, struct programs_table *t,
                                        float *grad)
{
    struct embed e = {.g = g, .t = t, .half = t->x.half};
    enum wsc_err rc = scatter(&e, g);
    if (!rc && e.out) {
        for (int lane = 0; lane < g->active; lane++)
            store_rows(&e, lane, grad + lane * t->lane_step);
        t->first_cycle = e.out[0].first_cycle;
    }
    embed_fini(&e);
    return rc;
}
