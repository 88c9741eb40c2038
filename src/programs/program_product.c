// SPDX-License-Identifier: Apache-2.0
/* Computes Y = X W' with streamed weights, and scores Q K'. Scalars come down the columns, each
 * one an AXPY over the PE's tokens; the sums of an output (or a key) are added along the row and
 * end at the column that owns it. docs/MESH.md calls the pattern contract. */
#include "program_product.h"
#include "program_chain.h"
#include "program_grid.h"
#include "program_resources.h"
#include "program_scores.h"
#include "program_trigger.h"

#include <wsc/mem.h>

/* Contraction over features. Item i is one output. Each scalar that arrives down the column causes
 * an AXPY over the PE's tokens into one of two accumulators. After the last scalar, the sums of the
 * row move to the column that owns the output, while the next item uses the other accumulator. If a
 * head is a single column, its scores are the accumulator.
 *
 * Each scalar starts a task (on_scalar), which issues the AXPY in a loop of scalar code. On a
 * machine where arriving data start operations, it starts the AXPY itself (program_trigger.c): a
 * control wavelet then ends an output, and the number of scalars ends a key. */

struct contract {
    struct programs_grid *g;
    /* products */
    const struct programs_product *product;
    struct mesh_wavelet *weights; /* owned: of all columns, n_items x n_scalars each */
    int n_items, n_out;
    /* scores */
    const struct programs_scores *scores;
    int acc[PROGRAMS_MOST_ACCUMULATORS]; /* addresses */
    int n_acc;
    bool half; /* format of the streamed numbers and of the vectors */
    struct programs_trigger trigger;
};

/* An item as one PE sees it. */
struct item {
    int first, n;       /* tokens of its vectors */
    int position, line; /* in the row, or in the columns of the head */
    int root, result;   /* position that gets the sums, and address there */
    int scalars;        /* number of scalars for this PE */
    bool narrow;        /* the result is 16-bit */
};

/* ---- items ----------------------------------------------------------------------------------- */

/* Number of scalars of an output that come down column @p x: one for each input feature of the
 * column. */
static int product_scalars(const struct programs_product *p, int x)
{
    return p->in[0].f->count[x] * (p->sums ? p->n_parts : 1);
}

/* Item @p i of a product: an output feature, in the order by_slot. Its sums end at the PE that
 * holds the feature. */
static struct item product_item(const struct contract *c, int x, int row, int i)
{
    const struct programs_product *p = c->product;
    const struct programs_tile *out = &p->out[i / c->n_out];
    const int feature = out->f->by_slot[i % c->n_out];
    const int first = p->span ? p->span->first[row] : 0;
    return (struct item){.first = first,
                         .n = p->span ? p->span->n[row] : programs_row_tokens(c->g, row),
                         .position = x,
                         .line = c->g->w,
                         .root = out->f->column[feature],
                         .result = programs_at(c->g, out, out->f->slot[feature], first),
                         .scalars = product_scalars(p, x),
                         .narrow = out->half};
}

/* Item @p i of scores: key @p i / heads of the sequence, with the PE's queries that attend to it.
 * The sums end at the column that owns the key. */
static struct item score_item(const struct contract *c, int x, int y, int i)
{
    const struct programs_scores *s = c->scores;
    const struct programs_features *f = s->keys.f;
    const int heads = programs_heads_on(f, x), key = i / heads;
    int row, owner = programs_key_owner(c->g, f, key, &row);
    const int n = programs_queries(c->g, y, key);
    row = row * f->heads_per_pe + i % heads;
    return (struct item){.first = (s->sample + 1) * programs_tokens(c->g, y) - n,
                         .n = n,
                         .position = x % f->group_cols,
                         .line = f->group_cols,
                         .root = owner,
                         .result = programs_score_at(c->g, s->scores, row, y, key),
                         .scalars = f->count[x] / heads};
}

static struct item item_of(const struct contract *c, const struct mesh_pe *pe, int i)
{
    const int x = programs_column_of(pe);
    return c->product ? product_item(c, x, programs_row_of(pe), i)
                      : score_item(c, x, mesh_y(pe), i);
}

/* Number of items of column @p x. */
static int items_of(const struct contract *c, int x)
{
    if (c->product) return c->n_items;
    return (int)c->g->T * programs_heads_on(c->scores->keys.f, x);
}

/* Address of the vector that is multiplied by scalar @p k of item @p i. */
static int vector_at(const struct contract *c, int x, int i, const struct item *it, int k)
{
    if (c->scores) {
        const int head = i % programs_heads_on(c->scores->keys.f, x);
        return programs_at(c->g, &c->scores->queries, head * it->scalars + k, it->first);
    }
    const int count = c->product->in[0].f->count[x];
    return programs_at(c->g, &c->product->in[k / count], k % count, it->first);
}

/* ---- tasks ----------------------------------------------------------------------------------- */

/* Number of parts of a product that are summed to one output. */
static int parts_of(const struct contract *c)
{
    return c->product && c->product->sums ? c->product->n_parts : 1;
}

/* Address of the accumulator of item @p i. Items use the accumulators in turn; if a head is one
 * column, scores are accumulated where they are stored. */
static int accumulator(const struct contract *c, const struct item *it, int i)
{
    if (it->line == 1 && c->scores) return it->result;
    /* In another bank than the vectors: those of 16-bit numbers go through four. */
    return c->acc[i % c->n_acc] + 4 * (c->half ? it->first >> 1 & 1 : it->first);
}

/* Round the 32-bit sums of item @p i, which end at this PE, to a 16-bit result. */
static enum wsc_err narrow(struct mesh_pe *pe, const struct contract *c, int i)
{
    const struct item it = item_of(c, pe, i);
    if (!it.narrow || it.root != it.position || !it.n) return WSC_OK;
    return mesh_do(pe, MESH_FS2H, mesh_mem(it.result, it.n), mesh_mem(accumulator(c, &it, i), it.n),
                   (struct mesh_dsd){0});
}

/* Sums are added up in the background while the next item is computed. The main thread then rounds
 * them to 16 bits: rounding in the background would delay the next sums. */
static enum wsc_err end_item(struct mesh_pe *pe, const struct contract *c, const struct item *it,
                             int i)
{
    struct programs_sum s = {.chain = &programs_line_chain,
                             .code = MESH_FADDS,
                             .position = it->position,
                             .n = it->line,
                             .root = it->root,
                             .thread = PROGRAMS_THREAD_SUM};
    if (it->line == 1 && c->scores) return WSC_OK;
    TRY(mesh_join(pe,
                  PROGRAMS_THREAD_SUM)); /* the next item uses the accumulator of the last one */
    if (!it->n) return WSC_OK;
    s.own = it->scalars ? mesh_mem(accumulator(c, it, i), it->n) : mesh_float(0);
    s.result = mesh_mem(it->narrow ? accumulator(c, it, i) : it->result, it->n);
    TRY(programs_sum_part(pe, &s));
    if (i) TRY(narrow(pe, c, i - 1));
    if (!it->narrow || i + 1 < items_of(c, programs_column_of(pe))) return WSC_OK;
    TRY(mesh_join(pe, PROGRAMS_THREAD_SUM));
    return narrow(pe, c, i);
}

/* Task of a scalar: an AXPY with its vector of tokens. After the last scalar of an item its sums
 * are sent. */
static enum wsc_err on_scalar(struct mesh_pe *pe, uint32_t scalar)
{
    struct programs_grid *g = programs_grid_of(pe);
    const struct contract *c = g->program;
    const int at = programs_index(g, pe), x = programs_column_of(pe), i = g->item[at],
              k = g->sub[at];
    const struct item it = item_of(c, pe, i);
    if (it.n) {
        const struct mesh_dsd sum = mesh_mem(accumulator(c, &it, i), it.n);
        const struct mesh_dsd v = mesh_mem(vector_at(c, x, i, &it, k), it.n);
        TRY(mesh_wait(pe, g->loop_cycles));
        TRY(mesh_mac(pe, programs_code(c->half, MESH_FMACS), sum, k ? sum : mesh_float(0), v,
                     mesh_bits(scalar)));
    }
    g->sub[at] = (k + 1) % it.scalars;
    if (k + 1 < it.scalars) return WSC_OK;
    g->item[at]++;
    return end_item(pe, c, &it, i);
}

/* Task of a column without inputs, which only forwards sums. */
static enum wsc_err without_scalars(struct mesh_pe *pe, uint32_t data)
{
    struct programs_grid *g = programs_grid_of(pe);
    const struct contract *c = g->program;
    const int at = programs_index(g, pe), x = programs_column_of(pe), i = g->item[at];
    (void)data;
    if (i == items_of(c, x)) return WSC_OK;
    const struct item it = item_of(c, pe, i);
    if (it.scalars) return WSC_OK;
    g->item[at]++;
    TRY(end_item(pe, c, &it, i));
    return mesh_activate(pe, PROGRAMS_TASK_MAIN);
}

/* ---- items of arriving data ------------------------------------------------------------------ */

/* The matrix of item @p i of programs_trigger. */
static const struct programs_weights *matrix_of(const struct contract *c, int i)
{
    const struct programs_product *p = c->product;
    const int parts = parts_of(c);
    return &p->w[p->sums ? i % parts : i / parts / c->n_out];
}

/* Items of programs_trigger are the parts of outputs: the scalars of one part are multiplied with
 * vectors at a constant distance. */
static int trigger_items(const struct mesh_pe *pe)
{
    const struct contract *c = programs_grid_of(pe)->program;
    return items_of(c, programs_column_of(pe)) * parts_of(c);
}

static bool trigger_item(const struct mesh_pe *pe, int i, struct mesh_trigger *t)
{
    const struct programs_grid *g = programs_grid_of(pe);
    const struct contract *c = g->program;
    const int x = programs_column_of(pe), parts = parts_of(c), part = i % parts;
    const struct item it = item_of(c, pe, i / parts);
    const int scalars = it.scalars / parts;
    t->code = (uint8_t)programs_code(c->half, MESH_FMACS);
    t->colour = PROGRAMS_COLOUR_SCALARS;
    t->until_control = c->product != NULL;
    t->n = scalars ? scalars : 1;
    t->sums = mesh_mem(accumulator(c, &it, i / parts), it.n);
    t->vectors =
        scalars ? mesh_mem(vector_at(c, x, i / parts, &it, part * scalars), it.n) : t->sums;
    t->vectors_step = programs_pitch(g, c->product ? &c->product->in[0] : &c->scores->queries);
    if (!c->product || !matrix_of(c, i)->kept) return true;
    t->indexed = true;
    t->wait += (uint16_t)g->index_eighths;
    return true;
}

static bool trigger_sum(const struct mesh_pe *pe, int i, bool any, struct programs_sum *s)
{
    const struct contract *c = programs_grid_of(pe)->program;
    const int parts = parts_of(c);
    const struct item it = item_of(c, pe, i / parts);
    const int sums = accumulator(c, &it, i / parts);
    if (!it.n || i % parts + 1 < parts || (it.line == 1 && c->scores)) return false;
    s->chain = &programs_line_chain;
    s->code = MESH_FADDS;
    s->position = it.position;
    s->n = it.line;
    s->root = it.root;
    s->own = any ? mesh_mem(sums, it.n) : mesh_float(0);
    s->result = mesh_mem(it.narrow ? sums : it.result, it.n);
    return true;
}

static enum wsc_err trigger_ended(struct mesh_pe *pe, int i)
{
    const struct contract *c = programs_grid_of(pe)->program;
    return narrow(pe, c, i / parts_of(c));
}

static enum wsc_err bind_items(struct contract *c, struct mesh_rect pes)
{
    c->trigger = (struct programs_trigger){.accumulators = c->n_acc,
                                           .parts = parts_of(c),
                                           .items = trigger_items,
                                           .item = trigger_item,
                                           .sum = trigger_sum,
                                           .ended = trigger_ended};
    c->g->trigger = &c->trigger;
    return programs_trigger_bind(c->g, pes);
}

/* ---- products -------------------------------------------------------------------------------- */

/* Upper limit of the words of column @p x: its weights, those of sparse matrices with an index,
 * and, by arriving data, one control wavelet for each part of an output. */
static int64_t column_words(const struct contract *c, int x)
{
    const int ends = c->g->by_data ? parts_of(c) : 0;
    int words = 1;
    for (int i = 0; i < c->product->n_parts && !c->half; i++)
        if (c->product->w[i].kept) words = 2;
    return (int64_t)c->n_items * (words * product_scalars(c->product, x) + ends);
}

/* Append a weight with the index of its vector: in one word of two halves, or in two words. */
static struct mesh_wavelet *put_sparse(const struct contract *c, int index, float weight,
                                       struct mesh_wavelet *to)
{
    const uint32_t word = programs_word(c->g, c->half, weight);
    if (!c->half) *to++ = (struct mesh_wavelet){.data = (uint32_t)index};
    *to++ = (struct mesh_wavelet){.data = c->half ? (uint32_t)index << 16 | word : word};
    return to;
}

/* Append the weights of part @p i of the outputs that column @p x uses; @p before: number of
 * features on the columns before it. */
static struct mesh_wavelet *fill_part(const struct contract *c, int x, int before, int i,
                                      struct mesh_wavelet *to)
{
    const struct programs_product *p = c->product;
    const struct programs_features *in = p->in[0].f;
    const int item = i / parts_of(c);
    const struct programs_features *out = p->out[item / c->n_out].f;
    const struct programs_weights *w = matrix_of(c, i);
    const int64_t row = programs_repeated(&w->out, out->by_slot[item % c->n_out]) * w->ld_out;
    for (int k = 0; k < in->count[x]; k++) {
        const int64_t e = row + programs_repeated(&w->in, in->order[before + k]) * w->ld_in;
        if (!w->kept)
            *to++ = (struct mesh_wavelet){.data = programs_word(c->g, c->half, w->at[e])};
        else if (programs_keeps(w->kept, e))
            to = put_sparse(c, k, w->at[e], to);
    }
    if (c->g->by_data) *to++ = (struct mesh_wavelet){.data = programs_item_end(), .control = true};
    return to;
}

/* Write the weights in the order in which column @p x uses them: output by output, in an order in
 * which consecutive outputs end on different columns, and within an output by the features of the
 * column. Returns the position for the next column. */
static struct mesh_wavelet *fill_column(const struct contract *c, int x, struct mesh_wavelet *to)
{
    const struct programs_features *in = c->product->in[0].f;
    int before = 0;
    for (int j = 0; j < x; j++)
        before += in->count[j];
    for (int i = 0; i < c->n_items * parts_of(c); i++)
        to = fill_part(c, x, before, i, to);
    return to;
}

/* Attach a source to each column, with all its weights; all lanes get the same. */
static enum wsc_err product_edges(struct contract *c)
{
    int64_t n = 0;
    for (int x = 0; x < c->g->w; x++)
        n += column_words(c, x);
    TRY_NEW(c->weights, WSC_MEM_KERNELS, n);
    struct mesh_wavelet *at = c->weights;
    for (int x = 0; x < c->g->w; x++) {
        struct mesh_wavelet *const first = at;
        at = fill_column(c, x, at);
        if (at > first) TRY(programs_feed(c->g, x, PROGRAMS_COLOUR_SCALARS, first, at - first));
    }
    return WSC_OK;
}

/* With enough accumulators the sum of an output travels while the next ones are accumulated; loops
 * use two. In a span of places an odd first column shifts the sums by one word. */
static enum wsc_err reserve_accumulators(struct contract *c)
{
    const int words = c->g->pitch + (c->product && c->product->span);
    c->n_acc = c->g->by_data ? c->g->accumulators : 2;
    for (int i = 0; i < c->n_acc; i++)
        TRY(programs_reserve_words(c->g, words, PROGRAMS_BANK_TOKENS, "an accumulator",
                                   &c->acc[i]));
    return WSC_OK;
}

/* Run the program: weights come down the columns and start AXPYs; sums move along the rows. */
static enum wsc_err run_product(struct contract *c)
{
    struct programs_grid *g = c->g;
    TRY(programs_begin(g, c, 0));
    TRY(reserve_accumulators(c));
    TRY(programs_route_from_edge(g, PROGRAMS_COLOUR_SCALARS, PROGRAMS_IN_SCALARS));
    for (int i = 0; i < programs_rows(g); i++) {
        const struct programs_line row = programs_row(g, i, 0, g->w);
        TRY(programs_route_chain(g, &row, &programs_line_chain, false));
    }
    TRY(product_edges(c));
    if (g->by_data) {
        TRY(bind_items(c, programs_all(g)));
        return programs_run(g);
    }
    TRY(mesh_data_task(g->m, programs_all(g), PROGRAMS_COLOUR_SCALARS, on_scalar, MESH_LOW));
    TRY(programs_main(g, without_scalars));
    return programs_run(g);
}

/* Refuse sparse weights where loops of scalar code count scalars: only arriving data can mark the
 * end of an output when scalars are left out. */
static enum wsc_err check_sparse(const struct programs_grid *g, const struct programs_product *p)
{
    for (int i = 0; i < p->n_parts; i++)
        if (p->w[i].kept && !g->by_data)
            return WSC_RAISE(WSC_CONFIG, "cluster.wafer.data_triggered is false; sparse weights on "
                                         "the mesh start their multiply-adds themselves");
    return WSC_OK;
}

enum wsc_err programs_run_product(struct programs_grid *g, const struct programs_product *p)
{
    TRY(check_sparse(g, p));
    struct contract c = {.g = g, .product = p, .n_out = p->out[0].f->n, .half = p->in[0].half};
    c.n_items = c.n_out * (p->sums ? 1 : p->n_parts);
    enum wsc_err rc = run_product(&c);
    wsc_free(c.weights);
    return rc;
}

/* ---- scores ---------------------------------------------------------------------------------- */

static enum wsc_err send(struct mesh_pe *pe, uint32_t data)
{
    const struct contract *c = programs_grid_of(pe)->program;
    (void)data;
    return programs_send_keys(pe, &c->scores->keys, c->scores->sample);
}

enum wsc_err programs_run_scores(struct programs_grid *g, const struct programs_scores *s)
{
    struct contract c = {.g = g, .scores = s, .half = s->keys.half};
    const struct programs_features *f = s->keys.f;
    TRY(programs_begin(g, &c, s->sample));
    TRY(reserve_accumulators(&c));
    TRY(programs_route_keys(g, f, send, g->by_data ? NULL : on_scalar));
    for (int x = 0; x < programs_columns(g) && g->by_data; x++)
        if (f->count[x % g->w]) TRY(bind_items(&c, (struct mesh_rect){x, 0, 1, g->h}));
    for (int i = 0; i < programs_n_head_lines(g, f); i++) {
        const struct programs_line line = programs_head_line(g, f, i);
        TRY(programs_route_chain(g, &line, &programs_line_chain, false));
    }
    return programs_run(g);
}
