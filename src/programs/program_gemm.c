// SPDX-License-Identifier: Apache-2.0
/* Computes C = A B by SUMMA on a square of PEs, and chooses between SUMMA and the streaming product
 * (program_gemm_stream.c). The comment at the colours below describes how blocks move. */
#include "program_gemm_stream.h"
#include "program_job.h"

#include <wsc/mem.h>

#include <string.h>

/* SUMMA: C (m, n) = A (m, k) B (k, n) on a square of P x P PEs, blocks column-major and padded with
 * zeros.  In step s column s sends its blocks of A along the rows, row s its blocks of B along the
 * columns; every PE multiplies the received blocks. Each axis has one colour away from the first PE
 * and one toward it, because on WSE-2 a switch changes only the input. Input of the colour away:
 * the PE before, until this PE's own step, then its ramp. Input of the colour toward: the ramp in
 * this PE's own step, then the PE after. The sender also receives its own words (tx has the ramp).
 */

enum { AWAY = 0, TOWARD = 1, A_COLOUR = 0, B_COLOUR = 2 };
enum { A_OWN, B_OWN, A_NOW, B_NOW, C_SUM };
enum { MB, KB, NB };
enum { THREAD_A = 1 };

static const enum mesh_command advance = MESH_ADVANCE;

/* Send a block of n words to both sides, or receive it, in step s at position i of P. */
static enum wsc_err move_block(struct mesh_pe *pe, int colour, const int where[3], int from, int to)
{
    const struct mesh_dsd none = {0}, block = mesh_mem(to, where[2]);
    const int i = where[0], s = where[1], n = where[2];
    const struct programs_job *j = mesh_user(pe);
    if (i != s) {
        int direction = i > s ? AWAY : TOWARD;
        return mesh_do(pe, MESH_FMOVS, block, mesh_in(colour + direction, n), none);
    }
    for (int direction = AWAY; direction <= TOWARD; direction++) {
        struct mesh_op receive = {
            .code = MESH_FMOVS, .dst = block, .a = mesh_in(colour + direction, n)};
        receive.thread = (uint8_t)(THREAD_A + colour + direction);
        TRY(mesh_issue(pe, &receive));
        TRY(mesh_do(pe, MESH_FMOVS, mesh_out(colour + direction, n), mesh_mem(from, n), none));
        if (j->w > 1)
            TRY(mesh_send_control(pe, colour + direction, mesh_control(&advance, 1, -1), 0));
        TRY(mesh_join(pe, receive.thread));
    }
    return WSC_OK;
}

/* Begin step s: move both blocks; then the calls of the step run, one in each task. */
static enum wsc_err summa_main(struct mesh_pe *pe, uint32_t data)
{
    struct programs_job *j = mesh_user(pe);
    int x = mesh_x(pe), y = mesh_y(pe), *step = &j->step[y * j->w + x];
    int s = *step / (int)(j->shape[KB] * j->shape[NB]);
    (void)data;
    if (s == j->w) return WSC_OK;
    TRY(move_block(pe, A_COLOUR, (int[3]){x, s, (int)(j->shape[MB] * j->shape[KB])},
                   j->address[A_OWN], j->address[A_NOW]));
    TRY(move_block(pe, B_COLOUR, (int[3]){y, s, (int)(j->shape[KB] * j->shape[NB])},
                   j->address[B_OWN], j->address[B_NOW]));
    return mesh_activate(pe, PROGRAMS_JOB_NEXT);
}

/* One call: column c of C += column k of A times B (k, c). */
static enum wsc_err summa_next(struct mesh_pe *pe, uint32_t data)
{
    struct programs_job *j = mesh_user(pe);
    int *step = &j->step[mesh_y(pe) * j->w + mesh_x(pe)], mb = (int)j->shape[MB];
    int kb = (int)j->shape[KB], calls = kb * (int)j->shape[NB], call = *step % calls;
    int k = call % kb, c = call / kb;
    const struct mesh_dsd sum = mesh_mem(j->address[C_SUM] + 4 * c * mb, mb);
    (void)data;
    (*step)++;
    TRY(mesh_wait(pe, PROGRAMS_JOB_CALL_CYCLES));
    TRY(mesh_mac(pe, MESH_FMACS, sum, sum, mesh_mem(j->address[A_NOW] + 4 * k * mb, mb),
                 mesh_mem(j->address[B_NOW] + 4 * call, 1)));
    return mesh_activate(pe, call + 1 == calls ? PROGRAMS_JOB_MAIN : PROGRAMS_JOB_NEXT);
}

/* Route position i of P on one axis; side[0] and side[1] are the directions of its neighbours. */
static enum wsc_err axis_routes(struct programs_job *j, struct mesh_rect at, int i, int colour,
                                const uint8_t side[2])
{
    const uint8_t before = side[0], after = side[1];
    struct mesh_route away = {.rx = i ? before : MESH_RAMP, .tx = MESH_RAMP};
    struct mesh_route toward = {.rx = MESH_RAMP, .tx = MESH_RAMP};
    away.pop = toward.pop = MESH_POP_ON_ADVANCE;
    if (i + 1 < j->w) {
        away.tx |= after;
        toward.n_more = 1;
        toward.more[0].rx = after;
    }
    if (i) {
        toward.tx |= before;
        away.n_more = 1;
        away.more[0].rx = MESH_RAMP;
    }
    TRY(mesh_route(j->m, at, colour + AWAY, &away));
    TRY(mesh_route(j->m, at, colour + TOWARD, &toward));
    for (int direction = 0; direction < 2; direction++) {
        TRY(mesh_input_queue(j->m, at, colour + direction, colour + direction));
        TRY(mesh_output_queue(j->m, at, colour + direction, colour + direction));
    }
    return WSC_OK;
}

static enum wsc_err summa_routes(struct programs_job *j)
{
    static const uint8_t row[2] = {MESH_WEST, MESH_EAST}, column[2] = {MESH_NORTH, MESH_SOUTH};
    for (int i = 0; i < j->w * j->h; i++) {
        struct mesh_rect at = {i % j->w, i / j->w, 1, 1};
        TRY(axis_routes(j, at, at.x, A_COLOUR, row));
        TRY(axis_routes(j, at, at.y, B_COLOUR, column));
    }
    return WSC_OK;
}

/* Copy matrix @p slot (rows, columns) to the PEs, in blocks of block[0] x block[1] at @p
 * address. */
static enum wsc_err put_blocks(struct programs_job *j, int slot, const int64_t size[2],
                               const int64_t block[2], int address)
{
    float *host;
    enum wsc_err rc = WSC_OK;
    TRY_NEW(host, WSC_MEM_MESH, block[0] * block[1]);
    for (int pe = 0; pe < j->w * j->h && !rc; pe++) {
        int x = pe % j->w, y = pe / j->w;
        for (int64_t i = 0; i < block[0] * block[1]; i++) {
            int64_t row = y * block[0] + i % block[0], column = x * block[1] + i / block[0];
            bool inside = row < size[0] && column < size[1];
            host[i] = inside ? j->host[slot][row * size[1] + column] : 0;
        }
        rc = mesh_copy_in(j->m, (struct mesh_rect){x, y, 1, 1}, address, host,
                          block[0] * block[1] * 4);
    }
    wsc_free(host);
    return rc;
}

/* Compare C with sums in double precision, which are exact for these operands. */
static enum wsc_err summa_check(struct programs_job *j)
{
    const int64_t m = j->c->m, n = j->c->n, k = j->c->k, mb = j->shape[MB], nb = j->shape[NB];
    TRY(programs_job_floats(j, 2, mb * nb * j->w * j->h, false));
    TRY(mesh_copy_out(j->m, programs_job_all(j), j->address[C_SUM], j->host[2], mb * nb * 4));
    for (int64_t i = 0; i < m * n; i++) {
        int64_t row = i / n, column = i % n;
        int64_t pe = row / mb * j->w + column / nb;
        double sum = 0;
        for (int64_t l = 0; l < k; l++)
            sum += (double)j->host[0][row * k + l] * j->host[1][l * n + column];
        programs_job_compare(j, j->host[2][pe * mb * nb + column % nb * mb + row % mb], sum);
    }
    return WSC_OK;
}

static enum wsc_err summa_memory(struct programs_job *j)
{
    static const char *const what[] = {"the block of A", "the block of B",
                                       "the visiting block of A", "the visiting block of B",
                                       "the block of C"};
    const int64_t *s = j->shape;
    const int64_t words[] = {s[MB] * s[KB], s[KB] * s[NB], s[MB] * s[KB], s[KB] * s[NB],
                             s[MB] * s[NB]};
    for (int i = 0; i < 5; i++)
        TRY(mesh_reserve(j->m, programs_job_all(j), words[i] * 4, 0, what[i], &j->address[i]));
    return WSC_OK;
}

static enum wsc_err summa(struct programs_job *j)
{
    const int64_t m = j->c->m, n = j->c->n, k = j->c->k;
    if (j->w != j->h)
        return WSC_RAISE(WSC_USAGE, "summa: a fabric of %d x %d, expected a square", j->w, j->h);
    j->shape[MB] = programs_ceil_div(m, j->h);
    j->shape[KB] = programs_ceil_div(k, j->w);
    j->shape[NB] = programs_ceil_div(n, j->w);
    j->r->words = j->shape[MB];
    j->r->algo = "summa";
    TRY(summa_memory(j));
    TRY(programs_job_floats(j, 0, m * k, true));
    TRY(programs_job_floats(j, 1, k * n, true));
    TRY(put_blocks(j, 0, (int64_t[2]){m, k}, &j->shape[MB], j->address[A_OWN]));
    TRY(put_blocks(j, 1, (int64_t[2]){k, n}, &j->shape[KB], j->address[B_OWN]));
    TRY(summa_routes(j));
    TRY(mesh_task(j->m, programs_job_all(j), PROGRAMS_JOB_MAIN, summa_main, MESH_LOW));
    TRY(mesh_task(j->m, programs_job_all(j), PROGRAMS_JOB_NEXT, summa_next, MESH_LOW));
    TRY(mesh_start(j->m, programs_job_all(j), PROGRAMS_JOB_MAIN));
    TRY(programs_job_run(j));
    return summa_check(j);
}

enum wsc_err programs_run_gemm(const struct programs_case *c, struct programs_result *r)
{
    if (!c->algo || !strcmp(c->algo, "stream")) return programs_run_stream(c, r);
    if (!strcmp(c->algo, "summa")) return programs_job_do(c, r, summa);
    return WSC_RAISE(WSC_USAGE, "gemm: --algo %s: expected summa or stream", c->algo);
}
