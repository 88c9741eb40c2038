// SPDX-License-Identifier: Apache-2.0
/* Runs scripts: one list of vector operations that every PE executes in order, over tiles, tokens,
 * features or scores, with row sums, vectors through the edge and scalar code in between. Norms,
 * softmax, loss and biases are scripts. */
#include "program_vector_ops.h"
#include "program_chain.h"
#include "program_grid.h"
#include "program_resources.h"
#include "program_scores.h"
#include "program_weight_grad.h"

#include <wsc/check.h>
#include <wsc/cycles_ops.h>
#include <wsc/mem.h>
#include <wsc/num_math.h>

#include <math.h>
#include <string.h>

/* ---- operands -------------------------------------------------------------------------------- */

/* The elements of a shape on one PE. */
struct extent {
    int rows, cols;
    int first;    /* token */
    int row, key; /* scores: the current row and its key */
    int head;     /* scores: number of the head in the model */
    int distance; /* scores: from the key to the first query */
    int heads;    /* heads of the PE, where rows are those of one head; else 0 */
    int samples;  /* samples, where columns are those of one sample; else 0 */
    float number; /* scores: what is added to the row */
};

/* The queries that attend to the key of the current row of scores. */
static struct extent scores_extent(const struct programs_grid *g, const struct programs_script *s,
                                   const struct mesh_pe *pe)
{
    const struct programs_features *f = s->heads;
    const int x = programs_column_of(pe), y = mesh_y(pe);
    struct extent e = {.row = g->sub[programs_index(g, pe)]};
    e.head = x / f->group_cols * f->heads_per_pe + e.row % f->heads_per_pe;
    e.key = programs_key_of(g, f, x % f->group_cols, e.row / f->heads_per_pe);
    if (e.key >= g->T || e.row % f->heads_per_pe >= programs_heads_on(f, x)) return e;
    e.rows = 1;
    e.cols = programs_queries(g, y, e.key);
    e.first = programs_tokens(g, y) - e.cols;
    e.distance = e.first * g->h + y - g->key_token[e.key];
    return e;
}

/* Queries of the current row of scores that do not attend to its key: those after the last one
 * that does or, with @p before, those before the first one. */
static struct extent hidden_extent(const struct programs_grid *g, const struct programs_script *s,
                                   const struct mesh_pe *pe, bool before)
{
    struct extent e = scores_extent(g, s, pe);
    int64_t first, end;
    if (!e.rows) return e;
    programs_key_seen(g, s->shaping, programs_lane(pe), e.key, &first, &end);
    const int last = e.first + e.cols, y = mesh_y(pe);
    if (before) { /* both ways, where all queries have a score */
        e.cols = first > 0 ? programs_slot_from(g, y, (int)first) : 0;
        return e;
    }
    const int from = end < g->T ? programs_slot_from(g, y, (int)end) : last;
    if (from > e.first) e.first = from;
    e.cols = last - e.first;
    return e;
}

/* Number of columns of tiles that the script uses on row number @p row; @p first: the first of
 * them. */
static int columns_of(const struct programs_grid *g, const struct programs_script *s, int row,
                      int *first)
{
    const int tokens = programs_tokens(g, row);
    *first = s->span ? s->span->first[row] : s->first_sample * tokens;
    if (s->span) return s->span->n[row];
    return programs_samples(g, row, s->first_sample, s->n_samples) * tokens;
}

/* Rows and columns of a step's shape on this PE; empty where the PE has no such elements. */
static struct extent extent_of(const struct programs_grid *g, const struct programs_script *s,
                               const struct programs_step *step, const struct mesh_pe *pe)
{
    const int x = programs_column_of(pe), row = programs_row_of(pe),
              tokens = programs_tokens(g, row);
    const int count = s->features ? s->features->count[x] : 0;
    struct extent e = {.rows = count};
    e.cols = columns_of(g, s, row, &e.first);
    switch (step->shape) {
    case PROGRAMS_SHAPE_TILE:
        break;
    case PROGRAMS_SHAPE_PAIRS:
        e.rows = count / 2;
        break;
    case PROGRAMS_SHAPE_HEADS:
        e.heads = programs_heads_on(s->heads, x);
        e.rows = e.heads ? count / e.heads : 0;
        break;
    case PROGRAMS_SHAPE_SAMPLES:
        e.samples = g->lane_samples[row / g->h];
        e.cols = e.samples ? tokens : 0;
        break;
    case PROGRAMS_SHAPE_TOKENS:
        e.rows = 1;
        break;
    case PROGRAMS_SHAPE_OF_HEADS:
        e.rows = programs_heads_on(s->heads, x);
        break;
    case PROGRAMS_SHAPE_FEATURES:
        e.cols = 1;
        break;
    case PROGRAMS_SHAPE_WORDS:
        e = (struct extent){.rows = 1, .cols = step->n};
        break;
    case PROGRAMS_SHAPE_HEAD_TOKENS:
        e = (struct extent){.rows = programs_heads_on(s->heads, x), .cols = tokens};
        break;
    case PROGRAMS_SHAPE_SCORES:
        e = scores_extent(g, s, pe);
        break;
    case PROGRAMS_SHAPE_HIDDEN:
    case PROGRAMS_SHAPE_HIDDEN_BEFORE:
        e = hidden_extent(g, s, pe, step->shape == PROGRAMS_SHAPE_HIDDEN_BEFORE);
        break;
    }
    return e;
}

/* A memory operand of three dimensions. */
static struct mesh_dsd cuboid(int address, const int len[3], const int stride[3])
{
    const struct mesh_dsd row = mesh_mem_strided(address, len[2], stride[2]);
    return mesh_rows(mesh_rows(row, len[1], stride[1]), len[0], stride[0]);
}

/* An operand of a shape by heads. Each head has its own slots of a tile and its own vector of
 * tokens; vectors of features are equal for all heads. */
static struct mesh_dsd operand_by_heads(const struct programs_grid *g,
                                        const struct programs_view *v, const struct extent *e)
{
    const int pitch = v->pitch ? v->pitch : g->pitch;
    const int len[3] = {e->heads, e->rows, e->cols};
    const int of_tile[3] = {e->rows * pitch, pitch, 1}, of_tokens[3] = {pitch, 0, 1};
    const int of_features[3] = {0, 1, 0};
    const bool tile = v->kind == PROGRAMS_VIEW_TILE;
    if (v->kind == PROGRAMS_VIEW_FEATURES) return cuboid(v->address, len, of_features);
    return cuboid(v->address + programs_bytes(v->half) * e->first, len, tile ? of_tile : of_tokens);
}

/* An operand of a shape by samples: a tile, or a value for each slot and sample. */
static struct mesh_dsd operand_by_samples(const struct programs_grid *g,
                                          const struct programs_view *v, const struct extent *e)
{
    const int len[3] = {e->rows, e->samples, e->cols};
    const int of_tile[3] = {v->pitch ? v->pitch : g->pitch, e->cols, 1};
    const int of_samples[3] = {g->max_samples, 1, 0};
    return cuboid(v->address, len, v->kind == PROGRAMS_VIEW_TILE ? of_tile : of_samples);
}

/* Make the descriptor of the elements of a view on this PE. Tiles have a pitch between features.
 * Vectors of tokens and of features repeat along the other dimension (stride 0), which also sums
 * results. @p half: for an operation on 16-bit numbers. */
static struct mesh_dsd operand(const struct programs_grid *g, const struct programs_script *s,
                               const struct programs_view *v, const struct extent *e, bool half)
{
    const int step = v->row_step ? v->row_step : 1;
    const int pitch = v->pitch ? v->pitch : g->pitch;
    const int tile = v->address + programs_bytes(v->half) * (v->row0 * pitch + e->first);
    const int head = s->heads ? e->row % s->heads->heads_per_pe : 0;
    struct mesh_dsd d = programs_matrix(v->address, e->rows, e->cols, 0);
    if (v->kind == PROGRAMS_VIEW_NONE) return (struct mesh_dsd){0};
    if (v->kind == PROGRAMS_VIEW_NUMBER) return programs_scalar(g, half, v->number);
    if (e->heads) return operand_by_heads(g, v, e);
    if (e->samples) return operand_by_samples(g, v, e);
    switch (v->kind) {
    case PROGRAMS_VIEW_NONE:
    case PROGRAMS_VIEW_NUMBER:
    case PROGRAMS_VIEW_SAMPLES:
        break;
    case PROGRAMS_VIEW_SLOPE:
        return mesh_float(e->number);
    case PROGRAMS_VIEW_OF_ROWS:
        return mesh_mem_strided(v->address + 4 * e->row, e->cols, 0);
    case PROGRAMS_VIEW_DISTANCES: /* first query below h, each further one h more */
        return mesh_mem_strided(v->address + 4 * (head * s->shaping->learned.words + e->distance),
                                e->cols, s->shaping->learned.pitch);
    case PROGRAMS_VIEW_TILE:
    case PROGRAMS_VIEW_HEADS:
        return programs_matrix(tile, e->rows, e->cols, step * pitch);
    case PROGRAMS_VIEW_TOKENS:
        return programs_matrix(tile, e->rows, e->cols, 0);
    case PROGRAMS_VIEW_FEATURES:
        d.stride[0] = 1;
        d.stride[1] = 0;
        return d;
    case PROGRAMS_VIEW_SCORES:
        return mesh_mem(v->address + 4 * (e->row * g->tokens + e->first), e->cols);
    case PROGRAMS_VIEW_HEAD_TOKENS:
        if (e->rows == 1) /* one row of scores, or a PE with one head */
            return mesh_mem(v->address + 4 * (head * g->tokens + e->first), e->cols);
        return programs_matrix(v->address, e->rows, e->cols, g->tokens);
    }
    return d;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* The operation for the formats of its operands: one format throughout, 16-bit tiles into 32-bit
 * sums, or a conversion. */
static enum mesh_code code_of(const struct programs_step *step)
{
    const bool from = step->a.half || step->b.half;
    const bool one = step->a.kind != PROGRAMS_VIEW_NUMBER && step->b.kind == PROGRAMS_VIEW_NONE;
    if (step->dst.half && !from && one && step->code == MESH_FMOVS) return MESH_FS2H;
    if (step->dst.half || !from) return programs_code(step->dst.half, step->code);
    if (step->code == MESH_FMOVS) return MESH_FH2S;
    WSC_CHECK(step->code == MESH_FADDS && !step->a.half, "operation %d", (int)step->code);
    return MESH_FADDHS;
}

/* Set what is added to a row of scores: the slope of its head times the position of its key. */
static enum wsc_err take_slope(struct mesh_pe *pe, const struct programs_grid *g,
                               const struct programs_script *s, struct extent *e)
{
    const struct programs_by_distance *learned = &s->shaping->learned;
    const float position = (float)g->key_token[e->key];
    uint32_t slope;
    TRY(mesh_wait(pe, CYCLES_SLOPE));
    if (s->shaping->slope) {
        e->number = s->shaping->slope[e->head] * position;
        return WSC_OK;
    }
    TRY(mesh_load(pe, learned->weights + 4 * (e->row % s->heads->heads_per_pe), &slope));
    e->number = programs_number_of(slope) * (position * learned->unit);
    return WSC_OK;
}

/* Issue the vector operation of a step; a PE without elements skips it. */
static enum wsc_err issue(struct mesh_pe *pe, const struct programs_grid *g,
                          const struct programs_script *s, const struct programs_step *step)
{
    struct extent e = extent_of(g, s, step, pe);
    const bool half = step->dst.half;
    if (!e.rows || !e.cols) return WSC_OK;
    if (step->b.kind == PROGRAMS_VIEW_SLOPE) TRY(take_slope(pe, g, s, &e));
    return mesh_issue(pe, &(struct mesh_op){.code = (uint8_t)code_of(step),
                                            .dst = operand(g, s, &step->dst, &e, half),
                                            .a = operand(g, s, &step->a, &e, half),
                                            .b = operand(g, s, &step->b, &e, half),
                                            .map = step->map,
                                            .map_cycles = (uint16_t)step->map_cycles});
}

/* Number of rows of scores on a PE. */
static int score_rows(const struct programs_grid *g, const struct programs_script *s)
{
    return (int)(programs_score_words(g, s->heads) / g->tokens);
}

static bool is_of_scores(const struct programs_step *step)
{
    return !step->call &&
           (step->shape == PROGRAMS_SHAPE_SCORES || step->shape == PROGRAMS_SHAPE_HIDDEN ||
            step->shape == PROGRAMS_SHAPE_HIDDEN_BEFORE);
}

/* Number of consecutive steps on rows of scores; they are executed together, row by row. */
static int score_steps(const struct programs_script *s, int first)
{
    int n = 0;
    while (first + n < s->n_steps && is_of_scores(&s->step[first + n]))
        n++;
    return n;
}

/* Task of a script: executes one step, or all consecutive steps on one row of scores, or a call
 * for one token; then it activates itself for the next. */
static enum wsc_err run_step(struct mesh_pe *pe, uint32_t data)
{
    struct programs_grid *g = programs_grid_of(pe);
    const struct programs_script *s = g->program;
    const int at = programs_index(g, pe), i = g->item[at];
    (void)data;
    if (i == s->n_steps) return WSC_OK;
    const int n = score_steps(s, i);
    const int times = n                      ? score_rows(g, s)
                      : s->step[i].by_tokens ? programs_row_tokens(g, programs_row_of(pe))
                      : s->step[i].repeats   ? s->step[i].repeats
                                             : 1;
    for (int k = 0; k < n; k++)
        TRY(issue(pe, g, s, &s->step[i + k]));
    if (!n && times)
        TRY(s->step[i].call ? s->step[i].call(pe, s, &s->step[i]) : issue(pe, g, s, &s->step[i]));
    if (++g->sub[at] < times) return mesh_activate(pe, PROGRAMS_TASK_MAIN);
    g->sub[at] = 0;
    g->item[at] += n ? n : 1;
    return mesh_activate(pe, PROGRAMS_TASK_MAIN);
}

int programs_script_token(const struct mesh_pe *pe)
{
    const struct programs_grid *g = programs_grid_of(pe);
    return g->sub[programs_index(g, pe)];
}

static struct programs_step *append(struct programs_script *s)
{
    WSC_CHECK(s->n_steps < PROGRAMS_MAX_STEPS, "a script of more than %d steps",
              PROGRAMS_MAX_STEPS);
    return &s->step[s->n_steps++];
}

void programs_op(struct programs_script *s, enum programs_shape shape, enum mesh_code code,
                 struct programs_view dst, struct programs_view a, struct programs_view b)
{
    *append(s) = (struct programs_step){.shape = shape, .code = code, .dst = dst, .a = a, .b = b};
}

void programs_map(struct programs_script *s, enum programs_shape shape, struct programs_map map,
                  struct programs_view dst, struct programs_view a, struct programs_view b)
{
    *append(s) = (struct programs_step){.shape = shape,
                                        .code = MESH_MAP,
                                        .dst = dst,
                                        .a = a,
                                        .b = b,
                                        .map = map.fn,
                                        .map_cycles = map.cycles};
}

static float tanh_of(float x, float unused)
{
    (void)unused;
    return num_tanh(x);
}

static float slope_of_cap(float d, float capped)
{
    return d * (1.0F - capped * capped);
}

void programs_cap(const struct programs_grid *g, struct programs_script *s,
                  enum programs_shape shape, struct programs_view values,
                  struct programs_view capped, float cap)
{
    const struct programs_map map = {tanh_of, g->exp_cycles + g->divide_cycles + CYCLES_POLYNOMIAL};
    programs_map(s, shape, map, capped, values, (struct programs_view){0});
    programs_op(s, shape, MESH_FMULS, values, capped, programs_number(cap));
}

void programs_cap_backward(struct programs_script *s, enum programs_shape shape,
                           struct programs_view d, struct programs_view capped)
{
    const struct programs_map map = {slope_of_cap, CYCLES_CAP_SLOPE};
    programs_map(s, shape, map, d, d, capped);
}

struct programs_view programs_narrow(const struct programs_grid *g, struct programs_script *s,
                                     struct programs_view tokens)
{
    const struct programs_view narrow = programs_narrowed(g, tokens);
    const bool heads = tokens.kind == PROGRAMS_VIEW_HEADS;
    if (g->half && !tokens.half)
        programs_op(s, heads ? PROGRAMS_SHAPE_OF_HEADS : PROGRAMS_SHAPE_TOKENS, MESH_FMOVS, narrow,
                    tokens, (struct programs_view){0});
    return narrow;
}

void programs_call(struct programs_script *s,
                   enum wsc_err (*call)(struct mesh_pe *pe, const struct programs_script *s,
                                        const struct programs_step *step))
{
    *append(s) = (struct programs_step){.call = call};
}

void programs_call_by_tokens(struct programs_script *s,
                             enum wsc_err (*call)(struct mesh_pe *pe,
                                                  const struct programs_script *s,
                                                  const struct programs_step *step))
{
    *append(s) = (struct programs_step){.call = call, .by_tokens = true};
}

void programs_call_repeatedly(struct programs_script *s, int n,
                              enum wsc_err (*call)(struct mesh_pe *pe,
                                                   const struct programs_script *s,
                                                   const struct programs_step *step))
{
    *append(s) = (struct programs_step){.call = call, .repeats = n};
}

/* ---- sums over a row ------------------------------------------------------------------------- */

/* The length of the PE's line of sums and its position there; false when it has none. */
static bool line_of(const struct programs_grid *g, const struct programs_script *s, int x,
                    int *position, int *n)
{
    *n = s->heads ? s->heads->group_cols : g->w;
    *position = x % *n;
    return !s->heads || x / *n < programs_head_groups(s->heads);
}

/* Sum the PE's words along a line to its middle PE, which halves the distance, and send the result
 * from there to both sides. */
static enum wsc_err line_sum(struct mesh_pe *pe, struct programs_sum *sum, bool half)
{
    const enum mesh_code move = programs_code(half, MESH_FMOVS);
    const struct mesh_dsd words = sum->own;
    const struct mesh_dsd in = mesh_shaped(mesh_in(PROGRAMS_COLOUR_SPREAD, 1), &words);
    const struct mesh_dsd out = mesh_shaped(mesh_out(PROGRAMS_COLOUR_SPREAD, 1), &words);
    sum->root = sum->n / 2;
    TRY(programs_sum_part(pe, sum));
    if (sum->position == sum->root) return mesh_do(pe, move, out, words, (struct mesh_dsd){0});
    return mesh_do(pe, move, words, in, (struct mesh_dsd){0});
}

static enum wsc_err row_sum(struct mesh_pe *pe, const struct programs_script *s,
                            const struct programs_step *step)
{
    const struct programs_grid *g = programs_grid_of(pe);
    int first = 0;
    const int row = programs_row_of(pe);
    const bool scores = step->dst.kind == PROGRAMS_VIEW_HEAD_TOKENS;
    const int tokens = scores ? programs_tokens(g, row) : columns_of(g, s, row, &first);
    const bool half = step->dst.half;
    const struct mesh_dsd words =
        programs_matrix(step->dst.address + programs_bytes(half) * first, step->n, tokens,
                        (scores ? g->tokens : g->pitch) * 4 / programs_bytes(half));
    struct programs_sum sum = {.chain = &programs_line_chain,
                               .code = programs_code(half, step->code),
                               .own = words,
                               .result = words};
    if (!line_of(g, s, programs_column_of(pe), &sum.position, &sum.n) || sum.n == 1 || !tokens)
        return WSC_OK;
    return line_sum(pe, &sum, half);
}

void programs_row_sum(struct programs_script *s, enum mesh_code code, struct programs_view tokens,
                      int n)
{
    *append(s) = (struct programs_step){.call = row_sum, .code = code, .dst = tokens, .n = n};
}

/* Rows of the lane without tokens, and samples that it does not have, add the initial values of
 * their words. */
static enum wsc_err column_sum(struct mesh_pe *pe, const struct programs_script *s,
                               const struct programs_step *step)
{
    const struct programs_grid *g = programs_grid_of(pe);
    const int n = s->features->count[programs_column_of(pe)] * g->max_samples;
    const struct mesh_dsd words = programs_matrix(step->dst.address, 1, n, 0);
    struct programs_sum sum = {.chain = &programs_line_chain,
                               .code = step->code,
                               .position = mesh_y(pe),
                               .n = g->h,
                               .own = words,
                               .result = words};
    return sum.n == 1 || !n ? WSC_OK : line_sum(pe, &sum, false);
}

void programs_column_sum(struct programs_script *s, enum mesh_code code,
                         struct programs_view samples)
{
    *append(s) = (struct programs_step){.call = column_sum, .code = code, .dst = samples};
}

/* Map: 0 for the largest value, otherwise -infinity. */
static float is_largest(float x, float max)
{
    return x >= max ? 0 : -INFINITY;
}

void programs_row_first(struct programs_script *s, const struct programs_largest *l)
{
    const enum programs_shape tile = PROGRAMS_SHAPE_TILE;
    const struct programs_map largest = {is_largest, CYCLES_COMPARE};
    programs_map(s, tile, largest, l->tmp, l->tile, l->max);
    programs_op(s, tile, MESH_FADDS, l->tmp, l->tmp, l->number);
    programs_op(s, tile, MESH_FMAXS, l->first, l->first, l->tmp);
    programs_row_sum(s, MESH_FMAXS, l->first, 1);
}

/* Route the way from the middle of a line to both sides, on one colour. */
static enum wsc_err route_spread(struct programs_grid *g, const struct programs_line *l)
{
    const int root = l->n / 2;
    const uint8_t start = l->dx ? MESH_WEST : MESH_NORTH, end = l->dx ? MESH_EAST : MESH_SOUTH;
    for (int p = 0; p < l->n; p++) {
        const struct mesh_rect at = {l->x + p * l->dx, l->y + p * l->dy, 1, 1};
        struct mesh_route r = {.rx = MESH_RAMP};
        if (p) r.tx |= p <= root ? start : 0;
        if (p + 1 < l->n) r.tx |= p >= root ? end : 0;
        if (p != root) {
            r.rx = p < root ? end : start;
            r.tx |= MESH_RAMP;
        }
        TRY(mesh_route(g->m, at, PROGRAMS_COLOUR_SPREAD, &r));
        TRY(p == root ? mesh_output_queue(g->m, at, PROGRAMS_OUT_SPREAD, PROGRAMS_COLOUR_SPREAD)
                      : mesh_input_queue(g->m, at, PROGRAMS_IN_SPREAD, PROGRAMS_COLOUR_SPREAD));
    }
    return WSC_OK;
}

/* True when the script has a step @p sum: row_sum() or column_sum(). */
static bool sums_by(const struct programs_script *s,
                    enum wsc_err (*sum)(struct mesh_pe *pe, const struct programs_script *s,
                                        const struct programs_step *step))
{
    for (int i = 0; i < s->n_steps; i++)
        if (s->step[i].call == sum) return true;
    return false;
}

/* Set @p line to line number @p i of the sums of a script; returns the number of lines. */
static int sum_line(const struct programs_grid *g, const struct programs_script *s, bool columns,
                    int i, struct programs_line *line)
{
    *line = columns    ? programs_column(g, i)
            : s->heads ? programs_head_line(g, s->heads, i)
                       : programs_row(g, i, 0, g->w);
    return columns    ? programs_columns(g)
           : s->heads ? programs_n_head_lines(g, s->heads)
                      : programs_rows(g);
}

/* Route chains, and the ways back, on all lines of sums: whole rows, the columns of each head in
 * them, or the columns of the lanes. */
static enum wsc_err route_sums(struct programs_grid *g, const struct programs_script *s)
{
    const bool columns = sums_by(s, column_sum), rows = sums_by(s, row_sum);
    struct programs_line line;
    WSC_CHECK(!columns || !rows, "sums along rows and down columns");
    if (!columns && !rows) return WSC_OK;
    for (int i = 0; i < sum_line(g, s, columns, i, &line); i++) {
        if (line.n == 1) continue;
        TRY(programs_route_chain(g, &line, &programs_line_chain, false));
        TRY(route_spread(g, &line));
    }
    return WSC_OK;
}

/* ---- through the edges ----------------------------------------------------------------------- */

/* Receive the PE's features of each vector, in the order in which sources() sends them. */
static enum wsc_err vectors_in(struct mesh_pe *pe, const struct programs_script *s,
                               const struct programs_step *step)
{
    (void)step;
    for (int i = 0; i < s->n_in; i++) {
        const int n = s->in[i].f->count[programs_column_of(pe)];
        if (n)
            TRY(mesh_do(pe, programs_code(s->in[i].half, MESH_FMOVS), mesh_mem(s->in[i].address, n),
                        mesh_in(PROGRAMS_COLOUR_SCALARS, n), (struct mesh_dsd){0}));
    }
    return WSC_OK;
}

void programs_vectors_in(struct programs_script *s)
{
    if (s->n_in) programs_call(s, vectors_in);
}

/* Sum each vector over the column on its way to the north edge: PEs of a column hold partial sums
 * over their own tokens. */
static enum wsc_err vectors_out(struct mesh_pe *pe, const struct programs_script *s,
                                const struct programs_step *step)
{
    const struct programs_grid *g = programs_grid_of(pe);
    (void)step;
    for (int i = 0; i < s->n_out; i++) {
        const int n = s->out[i].f->count[programs_column_of(pe)];
        const struct programs_sum sum = {.chain = &programs_edge_chain,
                                         .code = MESH_FADDS,
                                         .position = mesh_y(pe),
                                         .n = g->h,
                                         .root = -1,
                                         .own = mesh_mem(s->out[i].address, n),
                                         .result = mesh_mem(s->out[i].address, n)};
        if (n) TRY(programs_sum_part(pe, &sum));
    }
    return WSC_OK;
}

void programs_vectors_out(struct programs_script *s)
{
    programs_call(s, vectors_out);
}

/* Column 0 of a lane sends, since every PE of a row has the sums; then the words of the lanes to
 * the east may pass. */
static enum wsc_err row_out(struct mesh_pe *pe, const struct programs_script *s,
                            const struct programs_step *step)
{
    const struct programs_grid *g = programs_grid_of(pe);
    const int tokens = programs_row_tokens(g, programs_row_of(pe));
    const struct mesh_dsd words = programs_matrix(step->dst.address, step->n, tokens, g->pitch);
    const struct mesh_dsd out = mesh_shaped(mesh_out(PROGRAMS_COLOUR_WEST, 1), &words);
    (void)s;
    if (programs_column_of(pe) || !tokens) return WSC_OK;
    TRY(mesh_do(pe, MESH_FMOVS, out, words, (struct mesh_dsd){0}));
    if (programs_lane(pe) + 1 == g->active) return WSC_OK;
    return mesh_advance_switch(pe, PROGRAMS_COLOUR_WEST, PROGRAMS_THREAD_SEND, 0);
}

void programs_row_out(struct programs_script *s, struct programs_view tokens, int n)
{
    s->row_words = n;
    *append(s) = (struct programs_step){.call = row_out, .dst = tokens, .n = n};
}

/* Feature at index @p i of column @p x. */
static int feature_at(const struct programs_features *f, int x, int i)
{
    int before = 0;
    for (int c = 0; c < x; c++)
        before += f->count[c];
    return f->order[before + i];
}

/* Number of words of @p n vectors on column @p x. */
static int64_t column_words(const struct programs_vector *v, int n, int x)
{
    int64_t words = 0;
    for (int i = 0; i < n; i++)
        words += v[i].f->count[x];
    return words;
}

/* Append the words that column @p x of a lane loads; returns the end. */
static struct mesh_wavelet *fill_column(const struct programs_grid *g,
                                        const struct programs_script *s, int lane, int x,
                                        struct mesh_wavelet *to)
{
    for (int i = 0; i < s->n_in; i++) {
        const struct programs_vector *v = &s->in[i];
        const float *in = v->in + lane * v->lane_step;
        for (int k = 0; k < v->f->count[x]; k++, to++)
            to->data = programs_word(g, v->half, in[feature_at(v->f, x, k)]);
    }
    return to;
}

/* Attach sources of the vectors to load, column by column, each vector in the order of its
 * features on the column. */
static enum wsc_err sources(struct programs_grid *g, struct programs_script *s)
{
    int64_t n = 0;
    for (int i = 0; i < s->n_in; i++)
        n += s->in[i].f->n;
    TRY_NEW(s->source, WSC_MEM_KERNELS, g->active * n);
    struct mesh_wavelet *to = s->source;
    for (int x = 0; x < programs_columns(g); x++) {
        struct mesh_wavelet *first = to;
        to = fill_column(g, s, x / g->w, x % g->w, to);
        if (to > first)
            TRY(mesh_edge_source(g->m, x, 0, MESH_NORTH, PROGRAMS_COLOUR_SCALARS, first,
                                 to - first));
    }
    return programs_route_from_edge(g, PROGRAMS_COLOUR_SCALARS, PROGRAMS_IN_SCALARS);
}

static enum wsc_err column_sinks(struct programs_grid *g, struct programs_script *s,
                                 uint32_t *words)
{
    for (int x = 0; x < programs_columns(g); x++) {
        const struct programs_line column = programs_column(g, x);
        const int64_t n = column_words(s->out, s->n_out, x % g->w);
        s->edge[x] = (struct mesh_output){.word = words, .capacity = n};
        words += n;
        TRY(programs_route_chain(g, &column, &programs_edge_chain, true));
        TRY(mesh_edge_sink(g->m, x, 0, MESH_NORTH, programs_edge_chain.colour, &s->edge[x]));
    }
    return WSC_OK;
}

/* The first column of lane @p lane sends the words of its rows. Unless it is the last active lane,
 * its switch then passes the words from the lanes to the east, which arrive through the other
 * columns of the lane. */
static enum wsc_err route_lane_west(struct programs_grid *g, int lane)
{
    const struct mesh_route through = {.rx = MESH_EAST, .tx = MESH_WEST};
    const struct mesh_rect first = {lane * g->w, 0, 1, g->h};
    const struct mesh_rect others = {lane * g->w + 1, 0, g->w - 1, g->h};
    const bool passes = lane + 1 < g->active;
    struct mesh_route out = {.rx = MESH_RAMP, .tx = MESH_WEST, .n_more = passes};
    out.more[0].rx = MESH_EAST;
    if (passes && g->w > 1) TRY(mesh_route(g->m, others, PROGRAMS_COLOUR_WEST, &through));
    TRY(mesh_route(g->m, first, PROGRAMS_COLOUR_WEST, &out));
    return mesh_output_queue(g->m, first, PROGRAMS_OUT_VECTOR, PROGRAMS_COLOUR_WEST);
}

/* Number of words at the west edge before those of row number @p row, from the lanes before it. */
static int64_t words_before(const struct programs_grid *g, const struct programs_script *s, int row)
{
    int64_t n = 0;
    for (int i = row % g->h; i < row; i += g->h)
        n += (int64_t)s->row_words * programs_row_tokens(g, i);
    return n;
}

/* Attach sinks at the west edge for the vectors of tokens that programs_row_out() sends. */
static enum wsc_err row_sinks(struct programs_grid *g, struct programs_script *s, uint32_t *words)
{
    struct mesh_output *edge = s->edge + programs_columns(g);
    for (int lane = 0; lane < g->active; lane++)
        TRY(route_lane_west(g, lane));
    for (int y = 0; y < g->h; y++) {
        const int64_t n = words_before(g, s, programs_rows(g) + y);
        edge[y] = (struct mesh_output){.word = words, .capacity = n};
        words += n;
        TRY(mesh_edge_sink(g->m, 0, y, MESH_WEST, PROGRAMS_COLOUR_WEST, &edge[y]));
    }
    return WSC_OK;
}

static enum wsc_err sinks(struct programs_grid *g, struct programs_script *s)
{
    int64_t out = 0, rows = (int64_t)s->row_words * g->all_samples * g->T;
    for (int i = 0; i < s->n_out; i++)
        out += (int64_t)g->active * s->out[i].f->n;
    TRY_NEW(s->edge, WSC_MEM_KERNELS, programs_columns(g) + g->h);
    TRY_NEW(s->words, WSC_MEM_KERNELS, out + rows);
    if (out) TRY(column_sinks(g, s, s->words));
    return rows ? row_sinks(g, s, s->words + out) : WSC_OK;
}

static void store_vectors(const struct programs_grid *g, const struct programs_script *s)
{
    for (int col = 0; col < programs_columns(g); col++) {
        const uint32_t *from = s->edge[col].word;
        const int lane = col / g->w, x = col % g->w;
        for (int i = 0; i < s->n_out; i++) {
            const struct programs_vector *v = &s->out[i];
            float *out = v->out + lane * v->lane_step;
            for (int k = 0; k < v->f->count[x]; k++, from++)
                memcpy(&out[feature_at(v->f, x, k)], from, sizeof *from);
        }
    }
}

float programs_row_word(const struct programs_grid *g, const struct programs_script *s, int row,
                        int i)
{
    const struct mesh_output *edge = s->edge + programs_columns(g) + programs_y(g, row);
    float word;
    memcpy(&word, &edge->word[words_before(g, s, row) + i], sizeof word);
    return word;
}

void programs_script_fini(struct programs_script *s)
{
    wsc_free(s->edge);
    wsc_free(s->source);
    wsc_free(s->words);
    s->edge = NULL;
    s->source = NULL;
    s->words = NULL;
}

enum wsc_err programs_run_script(struct programs_grid *g, struct programs_script *s)
{
    TRY(programs_begin(g, s, s->first_sample));
    TRY(route_sums(g, s));
    if (s->n_in) TRY(sources(g, s));
    if (s->n_out || s->row_words) TRY(sinks(g, s));
    TRY(programs_main(g, run_step));
    TRY(programs_run(g));
    if (s->n_out) store_vectors(g, s);
    return WSC_OK;
}
