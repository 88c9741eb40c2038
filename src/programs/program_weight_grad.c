// SPDX-License-Identifier: Apache-2.0
/* Computes sums over tokens: dW = dY' X, and the gradients of keys and values. One factor stays on
 * its PE, the other one is sent to the whole row (program_ring.c); results are built block by block
 * and leave the wafer down the column, or end at their row. docs/MESH.md calls the pattern outer.
 */
#include "program_weight_grad.h"
#include "program_chain.h"
#include "program_grid.h"
#include "program_resources.h"
#include "program_ring.h"
#include "program_scores.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <stddef.h>
#include <string.h>

/* Contraction over tokens: results (sent, held) = sum over tokens of the held features of a PE
 * times the values sent along its row. Results are computed in blocks, as large as memory allows.
 * For each token the values of the block arrive along the row (program_ring.c), while those of the
 * last token are used. Either each held feature is the scalar of an AXPY over the values, or each
 * value the scalar of an AXPY over the held features, so that the longer vector is the operand. The
 * sums of a block then move along the column to the edge (weight gradients) or to the row that owns
 * the key. If a head is a single column, a PE uses its own scores. */

struct outer {
    struct programs_grid *g;
    const struct programs_weight_gradient *w; /* or NULL */
    const struct programs_key_gradient *k;    /* or NULL */
    struct programs_tile sent, held;          /* sent: of weight gradients */
    struct programs_ring ring;
    int *count; /* owned: values of each position */
    int n_blocks;
    struct programs_edge_words edge; /* of weight gradients */
    int acc, buffer[2];
    bool half; /* format of the two factors */
};

/* ---- one PE's part --------------------------------------------------------------------------- */

/* A block as one PE sees it. */
struct part {
    int n;            /* number of values that are sent */
    int slot, held;   /* features that the PE holds */
    int first;        /* number of the first key */
    int tokens;       /* number of tokens of the PE */
    bool over_values; /* vectors of its AXPYs are the values, not the features */
    int pitch;        /* of sums: between features, or between values */
};

static bool has_own_scores(const struct outer *o)
{
    return o->k && o->k->rows.f->group_cols == 1;
}

/* Heads of a PE come one after the other, each with all blocks. */
static int heads_of(const struct outer *o, int x)
{
    return has_own_scores(o) ? programs_heads_on(o->k->rows.f, x) : 1;
}

static int n_blocks(const struct outer *o, int x)
{
    if (o->k && !o->held.f->count[x]) return 0;
    return o->ring.n_blocks * heads_of(o, x);
}

static int first_token(const struct outer *o, int row)
{
    if (o->w) return programs_gradient_first(o->g, o->w, row);
    return programs_tokens(o->g, row) * o->k->sample;
}

/* Block @p i of a PE on column @p x of row @p row: its values, and whether a step is one AXPY for
 * each held feature or for each value; the longer vector is the operand. */
static struct part part_of(const struct outer *o, int x, int row, int i)
{
    const struct programs_ring_block *b = &o->ring.block[i % o->ring.n_blocks];
    const int heads = heads_of(o, x);
    struct part p = {.n = b->words,
                     .held = o->held.f->count[x] / heads,
                     .tokens = o->w ? programs_gradient_tokens(o->g, o->w, row)
                                    : programs_tokens(o->g, row)};
    p.slot = i / o->ring.n_blocks * p.held;
    p.first = b->before + (b->part ? b->slot : 0);
    p.over_values = p.held <= p.n;
    p.pitch = p.over_values ? p.n + p.n % 2 : p.held + p.held % 2; /* same banks */
    return p;
}

/* ---- AXPYs ----------------------------------------------------------------------------------- */

/* The own scores of query @p token, in a PE that stores them itself. */
static struct mesh_dsd own_scores(const struct outer *o, const struct part *p, int i, int token)
{
    const int heads = o->k->rows.f->heads_per_pe, head = i / o->ring.n_blocks;
    return mesh_mem_strided(o->k->scores + 4 * ((p->first * heads + head) * o->g->tokens + token),
                            p->n, heads * o->g->tokens);
}

/* The values of token @p token: in a buffer, or the PE's own scores. */
static struct mesh_dsd values_of(const struct outer *o, const struct part *p, int i, int token)
{
    if (!has_own_scores(o) || o->half) return mesh_mem(o->buffer[token & 1], p->n);
    return own_scores(o, p, i, token);
}

/* Element @p i of a vector as the scalar of an AXPY. */
static struct mesh_dsd element_of(const struct outer *o, struct mesh_dsd vector, int i)
{
    return mesh_mem(vector.address + programs_bytes(o->half) * i * vector.stride[0], 1);
}

/* One AXPY of the outer product of token @p token: sum number @p at += vector x scalar. The first
 * token writes, so sums need not be cleared. */
static enum wsc_err axpy(struct mesh_pe *pe, const struct outer *o, const struct part *p, int i,
                         int token, int at)
{
    const int address =
        programs_at(o->g, &o->held, p->slot, first_token(o, programs_row_of(pe)) + token);
    const struct mesh_dsd features =
        mesh_mem_strided(address, p->held, programs_pitch(o->g, &o->held));
    const struct mesh_dsd values = values_of(o, p, i, token);
    const struct mesh_dsd sum =
        mesh_mem(o->acc + 4 * at * p->pitch, p->over_values ? p->n : p->held);
    const struct mesh_dsd scalar = element_of(o, p->over_values ? features : values, at);
    if (has_own_scores(o) && o->half && !at)
        TRY(mesh_do(pe, MESH_FS2H, values, own_scores(o, p, i, token), (struct mesh_dsd){0}));
    TRY(mesh_wait(pe, o->g->loop_cycles));
    return mesh_mac(pe, programs_code(o->half, MESH_FMACS), sum, token ? sum : mesh_float(0),
                    p->over_values ? values : features, scalar);
}

/* ---- sums over the column -------------------------------------------------------------------- */

/* The sums of @p n of the block's values, from number @p first on. */
static struct mesh_dsd sums_of(const struct outer *o, const struct part *p, int first, int n)
{
    if (p->over_values) return programs_matrix(o->acc + 4 * first, p->held, n, p->pitch);
    return programs_matrix(o->acc + 4 * first * p->pitch, n, p->held, p->pitch);
}

/* Number of keys in the block, from number @p first on, that one row owns at a constant
 * distance. */
static int keys_of_row(const struct outer *o, const struct part *p, int first)
{
    const struct programs_grid *g = o->g;
    const int *row = g->key_row + p->first, *token = g->key_token + p->first;
    int n = 1;
    while (first + n < p->n && row[first + n] == row[first] &&
           token[first + n] == token[first + n - 1] + g->key_step * g->h)
        n++;
    return n;
}

/* Memory at which the sums of @p n keys end. */
static struct mesh_dsd keys_at(const struct outer *o, const struct part *p, int first, int n)
{
    const struct programs_grid *g = o->g;
    const int key = p->first + first, row = g->key_row[key];
    const int token = o->k->sample * programs_tokens(g, row) + g->key_token[key] / g->h;
    const int address = programs_at(g, &o->k->out, p->slot, token);
    struct mesh_dsd d = p->over_values ? programs_matrix(address, p->held, n, g->pitch)
                                       : programs_matrix(address, n, p->held, g->key_step);
    d.stride[1] = (int16_t)(p->over_values ? g->key_step : g->pitch);
    return d;
}

/* Send the sums from value *@p next on, and advance *@p next. */
static enum wsc_err add_up(struct mesh_pe *pe, const struct outer *o, const struct part *p,
                           int *next)
{
    const int n = o->w ? p->n : keys_of_row(o, p, *next);
    struct programs_sum s = {.chain = &programs_line_chain,
                             .code = MESH_FADDS,
                             .position = mesh_y(pe),
                             .n = o->g->h,
                             .root = -1,
                             .own = sums_of(o, p, *next, n)};
    s.result = s.own;
    if (o->k) {
        s.root = o->g->key_row[p->first + *next];
        s.result = keys_at(o, p, *next, n);
        if (o->k->out.half) s.wide = s.own;
    }
    if (!p->tokens) s.own = mesh_float(0);
    *next += n;
    return p->held ? programs_sum_part(pe, &s) : WSC_OK;
}

/* ---- tasks ----------------------------------------------------------------------------------- */

/* Receive the values of a token while those of the last one are used. PROGRAMS_TASK_READY is
 * blocked until they have arrived. */
static enum wsc_err receive(struct mesh_pe *pe, const struct outer *o, int block, int token)
{
    const int n = o->ring.block[block].words;
    TRY(mesh_block(pe, PROGRAMS_TASK_READY));
    return mesh_issue(pe, &(struct mesh_op){.code = (uint8_t)programs_code(o->half, MESH_FMOVS),
                                            .thread = PROGRAMS_THREAD_RECEIVE,
                                            .unblock = PROGRAMS_TASK_READY + 1,
                                            .dst = mesh_mem(o->buffer[token & 1], n),
                                            .a = mesh_in(PROGRAMS_COLOUR_SCALARS, n)});
}

/* Task: the values of the current token have arrived. Request the next ones, so that they travel
 * while these are used, and start the AXPYs. */
static enum wsc_err ready(struct mesh_pe *pe, uint32_t data)
{
    const struct programs_grid *g = programs_grid_of(pe);
    const struct outer *o = g->program;
    const int at = programs_index(g, pe), block = g->item[at], token = g->sub[at] + 1;
    const struct part p = part_of(o, programs_column_of(pe), programs_row_of(pe), block);
    (void)data;
    TRY(programs_ring_passed(pe));
    if (token < p.tokens) TRY(receive(pe, o, block, token));
    return mesh_activate(pe, PROGRAMS_TASK_MAIN);
}

/* Activate the task that uses the values of the current token: at once, or when they have
 * arrived. */
static enum wsc_err await(struct mesh_pe *pe, const struct outer *o, const struct part *p)
{
    return mesh_activate(pe, p->tokens && !has_own_scores(o) ? PROGRAMS_TASK_READY
                                                             : PROGRAMS_TASK_MAIN);
}

/* Receive the first values of the first block. A PE without values only takes part in the sums of
 * its column. */
static enum wsc_err start(struct mesh_pe *pe, uint32_t data)
{
    const struct programs_grid *g = programs_grid_of(pe);
    const struct outer *o = g->program;
    (void)data;
    if (!n_blocks(o, programs_column_of(pe))) return WSC_OK;
    const struct part p = part_of(o, programs_column_of(pe), programs_row_of(pe), 0);
    if (p.tokens && !has_own_scores(o)) TRY(receive(pe, o, 0, 0));
    return await(pe, o, &p);
}

/* Issue some AXPYs of a token. */
static enum wsc_err build_token(struct mesh_pe *pe, const struct outer *o, const struct part *p,
                                int at)
{
    enum { AT_ONCE = 1 };
    struct programs_grid *g = o->g;
    const int n = !p->held ? 0 : p->over_values ? p->held : p->n;
    for (int i = 0; i < AT_ONCE && g->scored[at] < n; i++, g->scored[at]++)
        TRY(axpy(pe, o, p, g->item[at], g->sub[at], g->scored[at]));
    if (g->scored[at] < n) return mesh_activate(pe, PROGRAMS_TASK_MAIN);
    g->scored[at] = 0;
    if (++g->sub[at] == p->tokens) return mesh_activate(pe, PROGRAMS_TASK_MAIN);
    return await(pe, o, p);
}

/* Task: AXPYs of a token; after the last token the sums over the column, then the next block. */
static enum wsc_err build(struct mesh_pe *pe, uint32_t data)
{
    struct programs_grid *g = programs_grid_of(pe);
    const struct outer *o = g->program;
    const int at = programs_index(g, pe), x = programs_column_of(pe);
    const struct part p = part_of(o, x, programs_row_of(pe), g->item[at]);
    (void)data;
    if (g->sub[at] < p.tokens) return build_token(pe, o, &p, at);
    TRY(add_up(pe, o, &p, &g->scored[at]));
    if (g->scored[at] < p.n) return mesh_activate(pe, PROGRAMS_TASK_MAIN);
    g->scored[at] = g->sub[at] = 0;
    if (++g->item[at] == n_blocks(o, x)) return WSC_OK;
    if (p.tokens && !has_own_scores(o)) TRY(receive(pe, o, g->item[at], 0));
    return await(pe, o, &p);
}

/* Body of the sending task: the PE's values, token by token. */
static enum wsc_err send(struct mesh_pe *pe, uint32_t data)
{
    const struct programs_grid *g = programs_grid_of(pe);
    const struct outer *o = g->program;
    const int row = programs_row_of(pe), first = first_token(o, row);
    struct programs_ring_send s = {.ring = &o->ring,
                                   .rounds = part_of(o, programs_column_of(pe), row, 0).tokens,
                                   .half = o->half,
                                   .narrow = o->half && o->k};
    (void)data;
    if (o->w) {
        s.address = programs_at(g, &o->sent, 0, first);
        s.stride = programs_pitch(g, &o->sent);
        return programs_ring_step(pe, &s, programs_column_of(pe));
    }
    s.address = o->k->scores;
    s.stride = g->tokens;
    return programs_ring_step(pe, &s, programs_column_of(pe) % o->k->rows.f->group_cols);
}

/* ---- programs -------------------------------------------------------------------------------- */

/* Choose the size of blocks: as many values as leave room for their sums and for two vectors of
 * them. */
static enum wsc_err plan(struct outer *o, int positions, int64_t room)
{
    const struct programs_features *f = o->held.f;
    const int slots = has_own_scores(o) ? f->head_dim : f->slots;
    const int64_t most = room / (slots + (o->half ? 1 : 2));
    TRY(programs_ring_init(&o->ring, positions, o->count, most > 1 ? (int)most : 1));
    const int longest = o->ring.most + o->ring.most % 2;
    const int64_t sums = (int64_t)longest * (slots + slots % 2);
    TRY(programs_reserve_words(o->g, sums, PROGRAMS_BANK_TILES, "a block of results", &o->acc));
    for (int i = 0; i < 2; i++)
        TRY(programs_reserve_words(o->g, longest, PROGRAMS_BANK_TOKENS, "values on their way",
                                   &o->buffer[i]));
    return WSC_OK;
}

/* Route chains on the columns that hold features: toward the north edge for weights, in both
 * directions for keys. */
static enum wsc_err route_columns(struct outer *o)
{
    struct programs_grid *g = o->g;
    for (int x = 0; x < programs_columns(g); x++) {
        const struct programs_line column = programs_column(g, x);
        if (!o->held.f->count[x % g->w]) continue;
        TRY(programs_route_chain(g, &column, &programs_line_chain, o->w != NULL));
    }
    TRY(mesh_task(g->m, programs_all(g), PROGRAMS_TASK_READY, ready, MESH_MEDIUM));
    TRY(mesh_task(g->m, programs_all(g), PROGRAMS_TASK_MAIN, build, MESH_MEDIUM));
    TRY(mesh_task(g->m, programs_all(g), PROGRAMS_TASK_NEXT, start, MESH_MEDIUM));
    return mesh_start(g->m, programs_all(g), PROGRAMS_TASK_NEXT);
}

static void outer_fini(struct outer *o)
{
    programs_ring_fini(&o->ring);
    wsc_free(o->count);
    programs_edge_fini(&o->edge);
}

/* ---- weight gradients ------------------------------------------------------------------------ */

enum wsc_err programs_edge_take(struct programs_grid *g, struct programs_edge_words *e,
                                const int64_t *n)
{
    int64_t at = 0, all = 0;
    for (int x = 0; x < g->w; x++)
        all += n[x];
    TRY_NEW(e->words, WSC_MEM_KERNELS, g->active * all);
    TRY_NEW(e->out, WSC_MEM_KERNELS, programs_columns(g));
    for (int x = 0; x < programs_columns(g); at += n[x++ % g->w]) {
        e->out[x] = (struct mesh_output){.word = e->words + at, .capacity = n[x % g->w]};
        if (n[x % g->w])
            TRY(mesh_edge_sink(g->m, x, 0, MESH_NORTH, PROGRAMS_COLOUR_CHAIN, &e->out[x]));
    }
    return WSC_OK;
}

enum wsc_err programs_edge_take_rows(struct programs_grid *g, struct programs_edge_words *e,
                                     const struct programs_features *held, int64_t rows)
{
    int64_t *n;
    TRY_NEW(n, WSC_MEM_KERNELS, g->w);
    for (int x = 0; x < g->w; x++)
        n[x] = rows * held->count[x];
    enum wsc_err rc = programs_edge_take(g, e, n);
    wsc_free(n);
    return rc;
}

void programs_edge_fini(struct programs_edge_words *e)
{
    wsc_free(e->words);
    wsc_free(e->out);
}

const uint32_t *programs_edge_column(const struct programs_edge_words *e, int x)
{
    WSC_CHECK(e->out[x].n == e->out[x].capacity, "column %d: %lld words of %lld", x,
              (long long)e->out[x].n, (long long)e->out[x].capacity);
    return e->out[x].word;
}

float programs_number_of(uint32_t bits)
{
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

/* Copy the words of one block of one column to the matrix @p host. */
static void store_block(const struct outer *o, const struct part *p, int before,
                        const uint32_t *word, float *host)
{
    const struct programs_weight_gradient *w = o->w;
    for (int i = 0; i < p->n * p->held; i++) {
        const int value = p->over_values ? i % p->n : i / p->held;
        const int slot = p->over_values ? i / p->n : i % p->held;
        const int64_t s = o->sent.f->order[p->first + value], h = o->held.f->order[before + slot];
        host[w->how.by_columns ? h * w->ld + s : s * w->ld + h] = programs_number_of(word[i]);
    }
}

/* Copy the words of the edge to the host's matrix of a lane; every column must have sent all of
 * them. */
static void store_gradient(const struct outer *o, int lane)
{
    const struct programs_features *f = o->held.f;
    float *host = o->w->host + lane * o->w->lane_step;
    for (int x = 0, before = 0; x < o->g->w; before += f->count[x++]) {
        const uint32_t *word = programs_edge_column(&o->edge, lane * o->g->w + x);
        for (int b = 0; b < o->ring.n_blocks; b++) {
            const struct part p = part_of(o, x, 0, b);
            store_block(o, &p, before, word, host);
            word += (ptrdiff_t)p.n * p.held;
        }
    }
}

/* Program of a weight gradient: each row sends values in a ring, columns sum, the edge receives. */
static enum wsc_err run_gradient(struct outer *o)
{
    struct programs_grid *g = o->g;
    TRY_NEW(o->count, WSC_MEM_KERNELS, g->w);
    for (int x = 0; x < g->w; x++)
        o->count[x] = o->sent.f->count[x];
    TRY(programs_begin(g, o, o->w->first_sample));
    TRY(plan(o, g->w, o->w->room));
    for (int i = 0; i < programs_rows(g); i++) {
        const struct programs_line row = programs_row(g, i, 0, g->w);
        TRY(programs_ring_route(g, &row, send));
    }
    TRY(programs_edge_take_rows(g, &o->edge, o->held.f, o->sent.f->n));
    TRY(route_columns(o));
    TRY(programs_run(g));
    for (int lane = 0; lane < g->active; lane++)
        store_gradient(o, lane);
    return WSC_OK;
}

enum wsc_err programs_run_weight_gradient(struct programs_grid *g,
                                          struct programs_weight_gradient *w)
{
    struct outer o = {.g = g,
                      .w = w,
                      .sent = w->how.by_columns ? w->x : w->dy,
                      .held = w->how.by_columns ? w->dy : w->x};
    o.half = o.held.half;
    enum wsc_err rc = run_gradient(&o);
    if (!rc && o.edge.out) w->first_cycle = o.edge.out[0].first_cycle;
    outer_fini(&o);
    return rc;
}

/* ---- gradients of keys and values ------------------------------------------------------------ */

/* Count the keys whose scores each position holds. */
static enum wsc_err count_keys(struct outer *o)
{
    const struct programs_grid *g = o->g;
    const int cols = o->k->rows.f->group_cols;
    int row;
    TRY_NEW(o->count, WSC_MEM_KERNELS, cols);
    for (int key = 0; key < g->T; key++)
        o->count[programs_key_owner(g, o->k->rows.f, key, &row)]++;
    return WSC_OK;
}

/* Program of key gradients: the columns of a head send their scores one after the other; if a
 * head is one column, each PE has its own scores. */
static enum wsc_err run_keys(struct outer *o)
{
    struct programs_grid *g = o->g;
    const struct programs_features *f = o->k->rows.f;
    TRY(count_keys(o));
    TRY(programs_begin(g, o, o->k->sample));
    TRY(plan(o, f->group_cols, o->k->room));
    for (int i = 0; i < programs_n_head_lines(g, f) && f->group_cols > 1; i++) {
        const struct programs_line line = programs_head_line(g, f, i);
        TRY(programs_ring_route(g, &line, send));
    }
    TRY(route_columns(o));
    return programs_run(g);
}

enum wsc_err programs_run_key_gradient(struct programs_grid *g,
                                       const struct programs_key_gradient *k)
{
    struct outer o = {.g = g, .k = k, .held = k->rows, .half = k->rows.half};
    enum wsc_err rc = run_keys(&o);
    outer_fini(&o);
    return rc;
}
