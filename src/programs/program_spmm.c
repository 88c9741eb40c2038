// SPDX-License-Identifier: Apache-2.0
/* C (m, n) = A (m, k) B (k, n) with tiles of A in the PEs, the layout of pr0f3ss/SpMM_Cerebras.
 *
 * PE (x, y) has block (y, x) of A, as compressed columns (values, rows, where each column begins)
 * or dense.  Block x of B lies in the top row; a PE passes it on to the south, then loops over its
 * tile: one call of fmacs for each non-zero, row of C += value times row of B, or for each column
 * of a dense tile.  Then the blocks of C are added along the row, PE by PE, and end in the last
 * column.  Rows have an even number of words, and those of C begin one word beside those of B, so
 * that both are read from different banks, as in the published program.  Cycles of the scalar code:
 * <wsc/cycles_tiles.h>. */
#include "program_job.h"

#include <wsc/cycles_tiles.h>
#include <wsc/mem.h>
#include <wsc/mesh_snapshot.h>
#include <wsc/rng.h>

#include <math.h>
#include <string.h>

enum { COLOUR_B = 0, COLOUR_C = 2 }; /* and the one after each, in turns along a column or a row */
enum { QUEUE_B = 0, QUEUE_C = 2 };
enum { VALUES, ROWS, BEGIN, B_ROWS, C_ROWS };
/* Rows and columns of a tile, columns of B, words from one row of B or C to the next, non-zeros of
 * the fullest tile. */
enum { MB, KB, N, PITCH, FILLED };
enum { WORD = 4, TAKE_B = PROGRAMS_JOB_AFTER + 1 /* a task */ };
/* Cycles of a call of fmacs that the mesh itself charges (docs/MESH.md): the set-up, and one for
 * each element. */
enum { FMACS_SETUP = 17, FMACS_ELEMENT = 1 };

/* Progress of a PE: scalar code issues one call in each task. */
struct progress {
    int call, column;
    int64_t begin, cycles; /* of its tile: first cycle, duration */
};
struct spmm {
    struct programs_job job; /* first: tasks get it as their user */
    struct progress *pe;
    bool dense;
    int64_t once, column, call; /* cycles of scalar code */
};

static struct spmm *spmm_of(const struct mesh_pe *pe)
{
    return mesh_user(pe);
}

static struct progress *progress_of(const struct mesh_pe *pe)
{
    struct spmm *s = spmm_of(pe);
    return &s->pe[mesh_y(pe) * s->job.w + mesh_x(pe)];
}

/* ---- B down the columns, C along the rows ---------------------------------------------------- */

/* Receive B from the north, send it on to the south, then compute. */
static enum wsc_err take_b(struct mesh_pe *pe, uint32_t data)
{
    const struct programs_job *j = &spmm_of(pe)->job;
    const int y = mesh_y(pe), words = (int)(j->shape[KB] * j->shape[PITCH]);
    const struct mesh_dsd b = mesh_mem(j->address[B_ROWS], words), none = {0};
    (void)data;
    if (y) TRY(mesh_do(pe, MESH_FMOVS, b, mesh_in(COLOUR_B + (y - 1) % 2, words), none));
    if (y + 1 < j->h) TRY(mesh_do(pe, MESH_FMOVS, mesh_out(COLOUR_B + y % 2, words), b, none));
    return mesh_activate(pe, PROGRAMS_JOB_NEXT);
}

/* Add the sums from the west, and send the result to the east. */
static enum wsc_err add_c(struct mesh_pe *pe, uint32_t data)
{
    const struct programs_job *j = &spmm_of(pe)->job;
    struct progress *at = progress_of(pe);
    const int x = mesh_x(pe), words = (int)(j->shape[MB] * j->shape[PITCH]);
    const struct mesh_dsd c = mesh_mem(j->address[C_ROWS], words), none = {0};
    const struct mesh_dsd out = x + 1 < j->w ? mesh_out(COLOUR_C + x % 2, words) : c;
    (void)data;
    at->cycles = mesh_now(pe) - at->begin;
    if (x) return mesh_do(pe, MESH_FADDS, out, mesh_in(COLOUR_C + (x - 1) % 2, words), c);
    return j->w > 1 ? mesh_do(pe, MESH_FMOVS, out, c, none) : WSC_OK;
}

/* Route a line of PEs on two alternating colours, so that a PE receives on one and sends on the
 * other. */
static enum wsc_err routes_along(struct programs_job *j, struct mesh_rect at, int i, int n,
                                 const int colour[2], const uint8_t side[2])
{
    const struct mesh_route receive = {.rx = side[0], .tx = MESH_RAMP};
    const struct mesh_route send = {.rx = MESH_RAMP, .tx = side[1]};
    const int in = colour[0] + (i + 1) % 2, out = colour[0] + i % 2, queue = colour[1];
    if (i) {
        TRY(mesh_route(j->m, at, in, &receive));
        TRY(mesh_input_queue(j->m, at, queue, in));
    }
    if (i + 1 == n) return WSC_OK;
    TRY(mesh_route(j->m, at, out, &send));
    return mesh_output_queue(j->m, at, queue, out);
}

static enum wsc_err routes(struct programs_job *j)
{
    static const int b[2] = {COLOUR_B, QUEUE_B}, c[2] = {COLOUR_C, QUEUE_C};
    static const uint8_t down[2] = {MESH_NORTH, MESH_SOUTH}, along[2] = {MESH_WEST, MESH_EAST};
    for (int y = 0; y < j->h; y++)
        TRY(routes_along(j, (struct mesh_rect){0, y, j->w, 1}, y, j->h, b, down));
    for (int x = 0; x < j->w; x++)
        TRY(routes_along(j, (struct mesh_rect){x, 0, 1, j->h}, x, j->w, c, along));
    return WSC_OK;
}

/* ---- a tile ---------------------------------------------------------------------------------- */

/* Scalar code before the first column; the time of the tile begins here. */
static enum wsc_err begin_tile(struct mesh_pe *pe, uint32_t data)
{
    (void)data;
    progress_of(pe)->begin = mesh_now(pe);
    TRY(mesh_wait(pe, spmm_of(pe)->once));
    return mesh_activate(pe, PROGRAMS_JOB_AFTER);
}

static enum wsc_err next_task(struct mesh_pe *pe, bool ended)
{
    return mesh_activate(pe, ended ? PROGRAMS_JOB_MAIN : PROGRAMS_JOB_AFTER);
}

/* Process the next non-zero, after moving on from the columns that end before it, one at a time. */
static enum wsc_err next_nonzero(struct mesh_pe *pe, uint32_t data)
{
    const struct spmm *s = spmm_of(pe);
    const struct programs_job *j = &s->job;
    struct progress *at = progress_of(pe);
    const int n = (int)j->shape[N], pitch = (int)j->shape[PITCH] * WORD, entry = at->call * WORD;
    const int before = at->column;
    uint32_t end, row;
    (void)data;
    for (; at->column < j->shape[KB]; at->column++) {
        TRY(mesh_load(pe, j->address[BEGIN] + (at->column + 1) * WORD, &end));
        if (at->call < (int)end) break;
    }
    TRY(mesh_wait(pe, (at->column - before) * s->column));
    if (at->column == j->shape[KB]) return next_task(pe, true);
    TRY(mesh_load(pe, j->address[ROWS] + entry, &row));
    const struct mesh_dsd c = mesh_mem(j->address[C_ROWS] + (int)row * pitch, n);
    const struct mesh_dsd b = mesh_mem(j->address[B_ROWS] + at->column * pitch, n);
    at->call++;
    TRY(mesh_wait(pe, s->call));
    TRY(mesh_mac(pe, MESH_FMACS, c, c, b, mesh_mem(j->address[VALUES] + entry, 1)));
    return next_task(pe, false);
}

/* Issue the next call of a dense tile: column k of A times B (k, i), for all columns i of B in
 * turn. */
static enum wsc_err next_column(struct mesh_pe *pe, uint32_t data)
{
    const struct spmm *s = spmm_of(pe);
    const struct programs_job *j = &s->job;
    struct progress *at = progress_of(pe);
    const int mb = (int)j->shape[MB], kb = (int)j->shape[KB], n = (int)j->shape[N];
    const int k = at->call % kb, i = at->call / kb;
    (void)data;
    if (at->call == kb * n) return next_task(pe, true);
    if (!i) TRY(mesh_wait(pe, s->column));
    const struct mesh_dsd c = mesh_mem(j->address[C_ROWS] + i * mb * WORD, mb);
    const struct mesh_dsd a = mesh_mem(j->address[VALUES] + k * mb * WORD, mb);
    at->call++;
    TRY(mesh_wait(pe, s->call));
    TRY(mesh_mac(pe, MESH_FMACS, c, c, a, mesh_mem(j->address[B_ROWS] + (k * n + i) * WORD, 1)));
    return next_task(pe, false);
}

/* ---- operands -------------------------------------------------------------------------------- */

/* Sample A with the requested number of non-zeros at random positions (Knuth, algorithm S), and
 * B. */
static enum wsc_err sample_operands(const struct spmm *s, struct programs_job *j)
{
    enum { MASK_STREAM = 1004 };
    const uint64_t stream = wsc_rng_stream(WSC_RNG_TEST, MASK_STREAM);
    const int64_t cells = j->c->m * j->c->k;
    const bool all = s->dense || !(j->c->density > 0);
    int64_t kept = all ? cells : (int64_t)(j->c->density * (double)cells);
    TRY(programs_job_floats(j, 0, cells, true));
    TRY(programs_job_floats(j, 1, j->c->k * j->c->n, true));
    for (int64_t i = 0; i < cells; i++) {
        const double left = (double)(cells - i);
        float *a = &j->host[0][i];
        if (left * wsc_rng_uniform(j->c->seed, stream, (uint64_t)i) < (double)kept) {
            kept--;
            if (fpclassify(*a) == FP_ZERO) *a = 0.125F; /* one of 63 sampled values is zero */
        } else {
            *a = 0;
        }
    }
    return WSC_OK;
}

/* Element (row, column) of the tile of PE @p at; 0 outside the matrix. */
static float element(const struct programs_job *j, struct mesh_rect at, int64_t row, int64_t column)
{
    row += at.y * j->shape[MB];
    column += at.x * j->shape[KB];
    return row < j->c->m && column < j->c->k ? j->host[0][row * j->c->k + column] : 0;
}

/* Append the non-zeros of a column of the tile of PE @p at to the @p n before; returns their new
 * number. */
static int64_t compress_column(const struct programs_job *j, struct mesh_rect at, int64_t column,
                               int64_t n, float *values, uint32_t *rows)
{
    for (int64_t row = 0; row < j->shape[MB]; row++) {
        const float a = element(j, at, row, column);
        if (fpclassify(a) == FP_ZERO) continue;
        if (values) values[n] = a;
        if (values) rows[n] = (uint32_t)row;
        n++;
    }
    return n;
}

/* Compress the columns of the tile of PE @p at; returns its number of non-zeros. NULL: only
 * count. */
static int64_t compress(const struct programs_job *j, struct mesh_rect at, float *values,
                        uint32_t *rows, uint32_t *begin)
{
    int64_t n = 0;
    for (int64_t column = 0; column < j->shape[KB]; column++) {
        n = compress_column(j, at, column, n, values, rows);
        if (begin) begin[column + 1] = (uint32_t)n;
    }
    return n;
}

/* Reserve room for the fullest tile on every PE, as the published program pads its tiles. */
static enum wsc_err reserve(struct spmm *s, struct programs_job *j)
{
    const int64_t tile = s->dense ? j->shape[MB] * j->shape[KB] : j->shape[FILLED];
    const int64_t words[] = {tile, s->dense ? 0 : tile, s->dense ? 0 : j->shape[KB] + 1,
                             j->shape[KB] * j->shape[PITCH], j->shape[MB] * j->shape[PITCH]};
    static const char *const what[] = {"the values of A", "the rows of A", "the columns of A",
                                       "the block of B", "the block of C"};
    for (int i = VALUES; i <= C_ROWS; i++)
        if (words[i])
            TRY(mesh_reserve(j->m, programs_job_all(j), words[i] * WORD,
                             i == C_ROWS && !s->dense ? WORD : 0, what[i], &j->address[i]));
    return WSC_OK;
}

/* The dense tile of PE @p at, column by column. */
static void fill_dense(const struct programs_job *j, struct mesh_rect at, float *values)
{
    for (int64_t i = 0; i < j->shape[MB] * j->shape[KB]; i++)
        values[i] = element(j, at, i % j->shape[MB], i / j->shape[MB]);
}

/* Copy the tile of PE @p at to its memory. */
static enum wsc_err put_tile(const struct spmm *s, struct programs_job *j, struct mesh_rect at,
                             float *values, uint32_t *index)
{
    if (s->dense) {
        fill_dense(j, at, values);
        return mesh_copy_in(j->m, at, j->address[VALUES], values,
                            j->shape[MB] * j->shape[KB] * WORD);
    }
    uint32_t *rows = index + j->shape[KB] + 1;
    const int64_t n = compress(j, at, values, rows, index);
    TRY(mesh_copy_in(j->m, at, j->address[BEGIN], index, (j->shape[KB] + 1) * WORD));
    if (!n) return WSC_OK;
    TRY(mesh_copy_in(j->m, at, j->address[VALUES], values, n * WORD));
    return mesh_copy_in(j->m, at, j->address[ROWS], rows, n * WORD);
}

static enum wsc_err put_tiles(const struct spmm *s, struct programs_job *j)
{
    float *values = NULL;
    uint32_t *index = NULL;
    const int64_t cells = j->shape[MB] * j->shape[KB];
    enum wsc_err rc = WSC_OK;
    TRY_NEW(values, WSC_MEM_MESH, cells);
    index = wsc_alloc(WSC_MEM_MESH, (size_t)(cells + j->shape[KB] + 1), sizeof *index);
    if (!index) rc = WSC_NOMEM;
    for (int pe = 0; pe < j->w * j->h && !rc; pe++)
        rc = put_tile(s, j, (struct mesh_rect){pe % j->w, pe / j->w, 1, 1}, values, index);
    wsc_free(values);
    wsc_free(index);
    return rc;
}

/* Copy B to the top row: block x to PE x, with rows of zeros where the last block has fewer
 * rows. */
static enum wsc_err put_b(struct programs_job *j)
{
    const int64_t words = j->shape[KB] * j->shape[PITCH], n = j->c->n;
    TRY(programs_job_floats(j, 2, words * j->w, false));
    for (int64_t row = 0; row < j->c->k; row++)
        memcpy(j->host[2] + row * j->shape[PITCH], j->host[1] + row * n,
               (size_t)n * sizeof *j->host[2]);
    return mesh_copy_in(j->m, (struct mesh_rect){0, 0, j->w, 1}, j->address[B_ROWS], j->host[2],
                        words * WORD);
}

static int64_t fullest(const struct programs_job *j)
{
    int64_t most = 1;
    for (int pe = 0; pe < j->w * j->h; pe++) {
        const struct mesh_rect at = {pe % j->w, pe / j->w, 1, 1};
        const int64_t n = compress(j, at, NULL, NULL, NULL);
        if (n > most) most = n;
    }
    return most;
}

/* ---- the run --------------------------------------------------------------------------------- */

/* Compare C in the last column with sums in double precision, which are exact for these
 * operands. */
static enum wsc_err check(const struct spmm *s, struct programs_job *j)
{
    const int64_t m = j->c->m, n = j->c->n, k = j->c->k, mb = j->shape[MB];
    const int64_t pitch = j->shape[PITCH], words = mb * pitch;
    double *sum = NULL;
    TRY(programs_job_floats(j, 3, words * j->h, false));
    TRY(mesh_copy_out(j->m, (struct mesh_rect){j->w - 1, 0, 1, j->h}, j->address[C_ROWS],
                      j->host[3], words * WORD));
    TRY_NEW(sum, WSC_MEM_MESH, n);
    for (int64_t row = 0; row < m; row++) {
        const float *c = j->host[3] + row / mb * words, *a = j->host[0] + row * k;
        memset(sum, 0, (size_t)n * sizeof *sum);
        for (int64_t l = 0; l < k; l++)
            for (int64_t i = 0; i < n && fpclassify(a[l]) != FP_ZERO; i++)
                sum[i] += (double)a[l] * j->host[1][l * n + i];
        for (int64_t i = 0; i < n; i++)
            programs_job_compare(j, c[s->dense ? i * mb + row % mb : row % mb * pitch + i], sum[i]);
    }
    wsc_free(sum);
    return WSC_OK;
}

static enum wsc_err measure(const struct spmm *s, struct programs_result *r)
{
    const int pes = s->job.w * s->job.h;
    const struct programs_case *c = s->job.c;
    const struct cycles_tiles t = {.w = c->w,
                                   .h = c->h,
                                   .m = (double)c->m,
                                   .k = (double)c->k,
                                   .n = (double)c->n,
                                   .density = c->density > 0 ? c->density : 1,
                                   .dense = s->dense};
    TRY(mesh_collect(s->job.m, programs_job_all(&s->job), s->pe, sizeof *s->pe));
    for (int pe = 0; pe < pes; pe++) {
        const double cycles = (double)s->pe[pe].cycles;
        r->tile_mean += cycles / pes;
        r->tile_most = fmax(r->tile_most, cycles);
    }
    r->analytical = cycles_tiles_product(&t);
    return WSC_OK;
}

/* Set the cycles of scalar code: those of the law, less what the mesh charges itself. */
static void set_cycles(struct spmm *s, int64_t n)
{
    const struct cycles_tile_law *law = cycles_tile_law(s->dense);
    s->once = llround(law->once);
    s->column = llround(law->column);
    s->call = s->dense
                  ? PROGRAMS_JOB_CALL_CYCLES
                  : llround(law->call - FMACS_SETUP + (law->element - FMACS_ELEMENT) * (double)n);
}

static enum wsc_err spmm(struct spmm *s)
{
    struct programs_job *j = &s->job;
    const struct mesh_rect all = programs_job_all(j);
    j->shape[MB] = programs_ceil_div(j->c->m, j->h);
    j->shape[KB] = programs_ceil_div(j->c->k, j->w);
    j->shape[N] = j->c->n;
    j->shape[PITCH] = s->dense ? j->c->n : j->c->n + j->c->n % 2;
    j->r->words = s->dense ? j->shape[MB] : j->shape[N];
    j->r->algo = s->dense ? "dense" : "csc";
    set_cycles(s, j->c->n);
    TRY_NEW(s->pe, WSC_MEM_MESH, (int64_t)j->w * j->h);
    TRY(mesh_note(j->m, s->pe, sizeof *s->pe));
    TRY(sample_operands(s, j));
    j->shape[FILLED] = s->dense ? 0 : fullest(j);
    TRY(reserve(s, j));
    TRY(put_tiles(s, j));
    TRY(put_b(j));
    TRY(routes(j));
    TRY(mesh_task(j->m, all, TAKE_B, take_b, MESH_LOW));
    TRY(mesh_task(j->m, all, PROGRAMS_JOB_NEXT, begin_tile, MESH_LOW));
    TRY(mesh_task(j->m, all, PROGRAMS_JOB_AFTER, s->dense ? next_column : next_nonzero, MESH_LOW));
    TRY(mesh_task(j->m, all, PROGRAMS_JOB_MAIN, add_c, MESH_LOW));
    TRY(mesh_start(j->m, all, TAKE_B));
    TRY(programs_job_run(j));
    TRY(measure(s, j->r));
    return check(s, j);
}

enum wsc_err programs_run_spmm(const struct programs_case *c, struct programs_result *r)
{
    struct spmm s = {.dense = c->algo && !strcmp(c->algo, "dense")};
    if (c->algo && !s.dense && strcmp(c->algo, "csc") != 0)
        return WSC_RAISE(WSC_USAGE, "spmm: --algo %s: expected csc or dense", c->algo);
    enum wsc_err rc = programs_job_init(&s.job, c, r);
    if (!rc) rc = spmm(&s);
    programs_job_fini(&s.job);
    wsc_free(s.pe);
    return rc;
}
