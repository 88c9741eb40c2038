// SPDX-License-Identifier: Apache-2.0
/* Computes the gradient of the non-zero weights alone (SDDMM): dW = dY' X at the places of
 * non-zeros. One operand is sent value by value: the numbers of its tokens go along the row into a
 * buffer of each PE, collected at the first column as in program_columns.c. The places of the
 * value's non-zeros stream down the columns; each starts a task that multiplies a held feature with
 * the buffer and sums over the tokens. A control wavelet ends the value, whose sums leave up the
 * column while the next value is computed. Called by program_columns.c; docs/MESH.md, "Patterns".
 */
#include "program_sampled.h"
#include "program_chain.h"
#include "program_resources.h"
#include "program_trigger.h"

#include <wsc/mem.h>
#include <wsc/mesh_snapshot.h>

/* Counters of a PE's values: requested, received, ended, sums started, sums ended; and the index
 * of the next non-zero of the current value, and whether its places may start tasks. */
struct progress {
    int32_t asked, received, ended, sent, summed, at;
    bool open;
};

struct sampled {
    struct programs_grid *g;
    const struct programs_weight_gradient *w;
    struct programs_tile sent, held;
    int *n_kept;               /* owned: non-zeros of value i in column x, at i * g->w + x */
    struct progress *progress; /* owned, of each PE */
    int *before;               /* owned: number of features on the columns before x */
    int n_buffers;             /* values, and sums of values, that a PE holds at a time */
    int values[PROGRAMS_MOST_ACCUMULATORS], sums[PROGRAMS_MOST_ACCUMULATORS]; /* addresses */
    int products;                                                             /* address */
    struct mesh_wavelet *places; /* owned, of all columns of a lane */
    struct programs_edge_words edge;
};

static const struct programs_gather value_gather = {.gather = PROGRAMS_COLOUR_GATHER,
                                                    .colour = PROGRAMS_COLOUR_SCALARS,
                                                    .in_gather = PROGRAMS_IN_GATHER,
                                                    .in = PROGRAMS_IN_SCALARS,
                                                    .out = PROGRAMS_OUT_SCALARS};

static const struct sampled *sampled_of(const struct mesh_pe *pe)
{
    return programs_grid_of(pe)->program;
}

static struct progress *progress_of(const struct mesh_pe *pe)
{
    const struct programs_grid *g = programs_grid_of(pe);
    return &sampled_of(pe)->progress[programs_index(g, pe)];
}

/* ---- one PE's part --------------------------------------------------------------------------- */

static int first_token(const struct sampled *s, int row)
{
    return programs_gradient_first(s->g, s->w, row);
}

static int tokens_of(const struct sampled *s, int row)
{
    return programs_gradient_tokens(s->g, s->w, row);
}

/* Receive the words of the next value from the row, if a buffer is free. */
static enum wsc_err receive(struct mesh_pe *pe)
{
    const struct sampled *s = sampled_of(pe);
    struct progress *p = progress_of(pe);
    const int n = tokens_of(s, programs_row_of(pe));
    if (p->asked > p->received || p->asked == s->sent.f->n || p->asked - p->ended == s->n_buffers)
        return WSC_OK;
    const int buffer = p->asked++ % s->n_buffers;
    if (!n) return mesh_activate(pe, PROGRAMS_TASK_READY);
    return mesh_issue(pe,
                      &(struct mesh_op){.code = (uint8_t)programs_code(s->held.half, MESH_FMOVS),
                                        .thread = PROGRAMS_THREAD_RECEIVE,
                                        .activate = PROGRAMS_TASK_READY + 1,
                                        .dst = mesh_mem(s->values[buffer], n),
                                        .a = mesh_in(PROGRAMS_COLOUR_SCALARS, n)});
}

/* Allow places, and the control wavelet that ends a value, to start tasks. */
static enum wsc_err allow_places(struct mesh_pe *pe)
{
    TRY(mesh_unblock(pe, PROGRAMS_TASK_ITEM));
    return mesh_unblock_data(pe, PROGRAMS_COLOUR_VECTOR);
}

static enum wsc_err close_places(struct mesh_pe *pe)
{
    TRY(mesh_block(pe, PROGRAMS_TASK_ITEM));
    return mesh_block_data(pe, PROGRAMS_COLOUR_VECTOR);
}

/* Allow the places of the next value to start tasks when the value has arrived and a vector for
 * its sums is free. The sums of its non-zeros are set to 0 first. */
static enum wsc_err open_places(struct mesh_pe *pe)
{
    const struct sampled *s = sampled_of(pe);
    struct progress *p = progress_of(pe);
    const bool there = p->received > p->ended && p->ended - p->summed < s->n_buffers;
    if (p->open || !there) return WSC_OK;
    const int n = s->n_kept[p->ended * s->g->w + programs_column_of(pe)];
    p->open = true;
    p->at = 0;
    if (n)
        TRY(mesh_do(pe, MESH_FMOVS, mesh_mem(s->sums[p->ended % s->n_buffers], n), mesh_float(0),
                    (struct mesh_dsd){0}));
    return allow_places(pe);
}

/* Send the sums of the oldest value whose sums were not sent up the column, off the fabric. */
static enum wsc_err send_sums(struct mesh_pe *pe)
{
    const struct sampled *s = sampled_of(pe);
    struct progress *p = progress_of(pe);
    while (p->sent == p->summed && p->sent < p->ended) {
        const int n = s->n_kept[p->sent * s->g->w + programs_column_of(pe)];
        const struct mesh_dsd sums = mesh_mem(s->sums[p->sent++ % s->n_buffers], n);
        const struct programs_sum sum = {.chain = &programs_line_chain,
                                         .code = MESH_FADDS,
                                         .position = mesh_y(pe),
                                         .n = s->g->h,
                                         .root = -1,
                                         .thread = PROGRAMS_THREAD_SUM,
                                         .activate = PROGRAMS_TASK_SUMMED + 1,
                                         .own = sums,
                                         .result = sums};
        if (n) return programs_sum_part(pe, &sum);
        p->summed++;
    }
    return WSC_OK;
}

/* Start what can begin after something has ended. A column without features only receives
 * values. */
static enum wsc_err proceed(struct mesh_pe *pe)
{
    const struct sampled *s = sampled_of(pe);
    struct progress *p = progress_of(pe);
    if (!s->held.f->count[programs_column_of(pe)]) p->ended = p->sent = p->summed = p->received;
    TRY(send_sums(pe));
    TRY(receive(pe));
    return s->held.f->count[programs_column_of(pe)] ? open_places(pe) : WSC_OK;
}

static enum wsc_err start(struct mesh_pe *pe, uint32_t data)
{
    (void)data;
    TRY(close_places(pe));
    return proceed(pe);
}

static enum wsc_err on_received(struct mesh_pe *pe, uint32_t data)
{
    (void)data;
    progress_of(pe)->received++;
    return proceed(pe);
}

/* Issue an operation of a place in the background, so that the PE can receive the next values
 * meanwhile; its end activates task @p then. */
static enum wsc_err work(struct mesh_pe *pe, struct mesh_op op, int then)
{
    op.thread = PROGRAMS_THREAD_TRIGGER;
    op.activate = (uint8_t)(then + 1);
    TRY(mesh_wait(pe, sampled_of(pe)->g->loop_cycles));
    return mesh_issue(pe, &op);
}

/* Task of a place: multiply the held feature by the value; then on_products() sums the products. */
static enum wsc_err on_place(struct mesh_pe *pe, uint32_t slot)
{
    const struct sampled *s = sampled_of(pe);
    const struct progress *p = progress_of(pe);
    const int row = programs_row_of(pe), n = tokens_of(s, row), buffer = p->ended % s->n_buffers;
    const struct mesh_dsd held =
        mesh_mem(programs_at(s->g, &s->held, (int)slot, first_token(s, row)), n);
    if (!n) return WSC_OK;
    TRY(close_places(pe));
    return work(pe,
                (struct mesh_op){.code = (uint8_t)programs_code(s->held.half, MESH_FMULS),
                                 .dst = mesh_mem(s->products, n),
                                 .a = held,
                                 .b = mesh_mem(s->values[buffer], n)},
                PROGRAMS_TASK_NEXT);
}

static enum wsc_err on_products(struct mesh_pe *pe, uint32_t data)
{
    const struct sampled *s = sampled_of(pe);
    struct progress *p = progress_of(pe);
    const int n = tokens_of(s, programs_row_of(pe));
    const int at = s->sums[p->ended % s->n_buffers] + 4 * p->at++;
    const struct mesh_dsd sum = mesh_mem_strided(at, n, 0);
    (void)data;
    return work(pe,
                (struct mesh_op){.code = s->held.half ? MESH_FADDHS : MESH_FADDS,
                                 .dst = sum,
                                 .a = sum,
                                 .b = mesh_mem(s->products, n)},
                PROGRAMS_TASK_PLACED);
}

static enum wsc_err on_placed(struct mesh_pe *pe, uint32_t data)
{
    (void)data;
    return allow_places(pe);
}

/* Task of the control wavelet after the last place of a value. */
static enum wsc_err on_end(struct mesh_pe *pe, uint32_t data)
{
    struct progress *p = progress_of(pe);
    (void)data;
    p->ended++;
    p->open = false;
    TRY(close_places(pe));
    return proceed(pe);
}

static enum wsc_err on_summed(struct mesh_pe *pe, uint32_t data)
{
    (void)data;
    progress_of(pe)->summed++;
    return proceed(pe);
}

/* ---- sending --------------------------------------------------------------------------------- */

static enum wsc_err send(struct mesh_pe *pe, uint32_t data)
{
    const struct sampled *s = sampled_of(pe);
    const int x = programs_column_of(pe), row = programs_row_of(pe), n = tokens_of(s, row);
    const int own = s->sent.f->count[x];
    const enum mesh_code code = programs_code(s->held.half, MESH_FMOVS);
    const struct programs_gather_send out = {
        .gather = &value_gather,
        .position = x,
        .n = s->g->w,
        .task = PROGRAMS_TASK_SEND,
        .own = {programs_matrix(programs_at(s->g, &s->sent, 0, first_token(s, row)), own, n,
                                programs_pitch(s->g, &s->sent))},
        .others = programs_matrix(0, s->sent.f->n - own, n, 1),
        .own_move = code,
        .move = code};
    (void)data;
    return n ? programs_gather_step(pe, &out) : WSC_OK;
}

/* ---- places ---------------------------------------------------------------------------------- */

/* True when the result of the sent feature @p i and the held feature @p j is wanted. */
static bool wants(const struct sampled *s, int i, int j)
{
    const int out = s->w->how.by_columns ? j : i, in = s->w->how.by_columns ? i : j;
    return programs_gradient_wanted(s->w, out, in);
}

/* Append the places of column @p x, value by value, each value with its control wavelet. */
static struct mesh_wavelet *fill_column(struct sampled *s, int x, struct mesh_wavelet *to)
{
    const struct programs_features *f = s->held.f;
    for (int i = 0; i < s->sent.f->n && f->count[x]; i++) {
        int *const n = &s->n_kept[i * s->g->w + x];
        for (int slot = 0; slot < f->count[x]; slot++) {
            if (!wants(s, s->sent.f->order[i], f->order[s->before[x] + slot])) continue;
            *to++ = (struct mesh_wavelet){.data = (uint32_t)slot};
            ++*n;
        }
        *to++ = (struct mesh_wavelet){.data = programs_item_end(), .control = true};
    }
    return to;
}

/* Attach to each column a source, equal for all lanes, and a sink for as many sums. */
static enum wsc_err edges(struct sampled *s)
{
    struct programs_grid *g = s->g;
    int64_t *n;
    TRY_NEW(s->places, WSC_MEM_KERNELS, (int64_t)s->sent.f->n * (s->held.f->n + g->w));
    TRY_NEW(n, WSC_MEM_KERNELS, g->w);
    struct mesh_wavelet *at = s->places;
    enum wsc_err rc = WSC_OK;
    for (int x = 0; x < g->w && !rc; x++) {
        struct mesh_wavelet *const first = at;
        at = fill_column(s, x, at);
        n[x] = at - first - (s->held.f->count[x] ? s->sent.f->n : 0);
        if (at > first) rc = programs_feed(g, x, PROGRAMS_COLOUR_VECTOR, first, at - first);
    }
    if (!rc) rc = programs_edge_take(g, &s->edge, n);
    wsc_free(n);
    return rc;
}

/* ---- the program ----------------------------------------------------------------------------- */

static enum wsc_err allocate(struct sampled *s)
{
    const struct programs_grid *g = s->g;
    TRY_NEW(s->n_kept, WSC_MEM_KERNELS, (int64_t)s->sent.f->n * g->w);
    TRY_NEW(s->progress, WSC_MEM_KERNELS, (int64_t)g->lanes * g->w * g->h);
    TRY(mesh_note(g->m, s->progress, sizeof *s->progress));
    TRY_NEW(s->before, WSC_MEM_KERNELS, g->w);
    for (int x = 1; x < g->w; x++)
        s->before[x] = s->before[x - 1] + s->held.f->count[x - 1];
    return WSC_OK;
}

/* Products are in another bank than their operands and than their sums. */
static enum wsc_err reserve(struct sampled *s)
{
    struct programs_grid *g = s->g;
    s->n_buffers = g->accumulators;
    for (int i = 0; i < s->n_buffers; i++) {
        TRY(programs_reserve_words(g, g->pitch, PROGRAMS_BANK_TOKENS, "a value", &s->values[i]));
        TRY(programs_reserve_words(g, s->held.f->slots, PROGRAMS_BANK_TOKENS, "sums of a value",
                                   &s->sums[i]));
    }
    return programs_reserve_words(g, g->pitch, PROGRAMS_BANK_TILES, "products", &s->products);
}

static enum wsc_err bind(const struct sampled *s)
{
    const struct programs_grid *g = s->g;
    const struct mesh_rect all = programs_all(g);
    TRY(mesh_data_task(g->m, all, PROGRAMS_COLOUR_VECTOR, on_place, MESH_LOW));
    TRY(mesh_task(g->m, all, PROGRAMS_TASK_ITEM, on_end, MESH_LOW));
    TRY(mesh_task(g->m, all, PROGRAMS_TASK_NEXT, on_products, MESH_LOW));
    TRY(mesh_task(g->m, all, PROGRAMS_TASK_PLACED, on_placed, MESH_LOW));
    TRY(mesh_task(g->m, all, PROGRAMS_TASK_READY, on_received, MESH_MEDIUM));
    TRY(mesh_task(g->m, all, PROGRAMS_TASK_SUMMED, on_summed, MESH_MEDIUM));
    TRY(mesh_task(g->m, all, PROGRAMS_TASK_SEND, send, MESH_LOW));
    TRY(mesh_start(g->m, all, PROGRAMS_TASK_SEND));
    TRY(mesh_task(g->m, all, PROGRAMS_TASK_MAIN, start, MESH_HIGH));
    return mesh_start(g->m, all, PROGRAMS_TASK_MAIN);
}

static enum wsc_err set_routes(struct sampled *s)
{
    struct programs_grid *g = s->g;
    TRY(programs_route_from_edge(g, PROGRAMS_COLOUR_VECTOR, PROGRAMS_IN_VECTOR));
    for (int i = 0; i < programs_rows(g); i++) {
        const struct programs_line row = programs_row(g, i, 0, g->w);
        TRY(programs_route_gather(g, &row, &value_gather));
    }
    for (int x = 0; x < programs_columns(g); x++) {
        const struct programs_line column = programs_column(g, x);
        if (s->held.f->count[x % g->w])
            TRY(programs_route_chain(g, &column, &programs_line_chain, true));
    }
    return WSC_OK;
}

/* Copy the words at the edge to the elements of a lane's matrix to which they belong. */
static void store(const struct sampled *s, int lane)
{
    const struct programs_features *f = s->held.f;
    float *host = s->w->host + lane * s->w->lane_step;
    for (int x = 0; x < s->g->w; x++) {
        const uint32_t *word = programs_edge_column(&s->edge, lane * s->g->w + x);
        for (int64_t i = 0; i < (int64_t)s->sent.f->n * f->count[x]; i++) {
            const int out = s->sent.f->order[i / f->count[x]];
            const int in = f->order[s->before[x] + (int)(i % f->count[x])];
            const bool columns = s->w->how.by_columns;
            if (wants(s, out, in))
                host[(columns ? in : out) * s->w->ld + (columns ? out : in)] =
                    programs_number_of(*word++);
        }
    }
}

static enum wsc_err run(struct sampled *s)
{
    TRY(allocate(s));
    TRY(programs_begin(s->g, s, s->w->first_sample));
    TRY(reserve(s));
    TRY(set_routes(s));
    TRY(edges(s));
    TRY(bind(s));
    TRY(programs_run(s->g));
    for (int lane = 0; lane < s->g->active; lane++)
        store(s, lane);
    return WSC_OK;
}

enum wsc_err programs_run_sampled_gradient(struct programs_grid *g,
                                           struct programs_weight_gradient *w)
{
    const bool columns = w->how.by_columns;
    struct sampled s = {
        .g = g, .w = w, .sent = columns ? w->x : w->dy, .held = columns ? w->dy : w->x};
    enum wsc_err rc = run(&s);
    if (!rc && s.edge.out) w->first_cycle = s.edge.out[0].first_cycle;
    programs_edge_fini(&s.edge);
    wsc_free(s.n_kept);
    mesh_note_end(g->m, s.progress);
    wsc_free(s.progress);
    wsc_free(s.before);
    wsc_free(s.places);
    return rc;
}
