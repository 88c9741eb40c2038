// SPDX-License-Identifier: Apache-2.0
/* Computes y = A x with column blocks on the PEs and a reduction along each row. It also runs
 * calls of fmacs on one PE, the unit that the calibration compares with a published simulator. */
#include "program_job.h"
#include "program_path.h"
#include "program_tree.h"
#include "program_tree_shape.h"

#include <wsc/mem.h>

/* ---- fmacs: calls of one length on a single PE ----------------------------------------------- */

/* One call of fmacs in each task, as a loop of a compiler would issue them. */
static enum wsc_err fmacs_next(struct mesh_pe *pe, uint32_t data)
{
    struct programs_job *j = mesh_user(pe);
    int n = (int)j->c->length;
    (void)data;
    if (j->step[0]++ == j->c->calls) return WSC_OK;
    TRY(mesh_wait(pe, PROGRAMS_JOB_CALL_CYCLES));
    TRY(mesh_mac(pe, MESH_FMACS, mesh_mem(j->data, n), mesh_mem(j->data, n),
                 mesh_mem(j->address[0], n), mesh_mem(j->address[1], 1)));
    return mesh_activate(pe, PROGRAMS_JOB_NEXT);
}

static enum wsc_err fmacs(struct programs_job *j)
{
    const struct mesh_rect pe = {0, 0, 1, 1};
    int64_t n = j->c->length;
    float scalar = 0.5F;
    j->r->words = n;
    TRY(mesh_reserve(j->m, pe, n * 4, 0, "the accumulator", &j->data));
    TRY(mesh_reserve(j->m, pe, n * 4, 0, "the operand", &j->address[0]));
    TRY(mesh_reserve(j->m, pe, 4, 0, "the number", &j->address[1]));
    TRY(programs_job_floats(j, 0, n, true));
    TRY(mesh_copy_in(j->m, pe, j->address[0], j->host[0], n * 4));
    TRY(mesh_copy_in(j->m, pe, j->address[1], &scalar, 4));
    TRY(mesh_task(j->m, pe, PROGRAMS_JOB_NEXT, fmacs_next, MESH_LOW));
    TRY(mesh_start(j->m, pe, PROGRAMS_JOB_NEXT));
    TRY(programs_job_run(j));
    TRY(programs_job_floats(j, 1, n, false));
    TRY(mesh_copy_out(j->m, pe, j->data, j->host[1], n * 4));
    for (int64_t i = 0; i < n; i++)
        programs_job_compare(j, j->host[1][i], 0.5 * j->host[0][i] * (double)j->c->calls);
    return WSC_OK;
}

enum wsc_err programs_run_fmacs(const struct programs_case *c, struct programs_result *r)
{
    return programs_job_do(c, r, fmacs);
}

/* ---- gemv: y (m) = A (m, n) x (n) -------------------------------------------------------------
 * PE (x, y) has block (y, x) of A, column-major and padded with zeros; x comes in at the top row
 * and goes down the columns; partial sums go along the rows to the first column. */

enum { COLOUR_IN = 8, ROW_COLOURS = 4, MB = 0, NB = 1, A = 0, X = 1 };

/* Multiply column k of the block by element k of x; after the last column reduce along the row. */
static enum wsc_err gemv_next(struct mesh_pe *pe, uint32_t data)
{
    struct programs_job *j = mesh_user(pe);
    int at = mesh_y(pe) * j->w + mesh_x(pe), mb = (int)j->shape[MB], k = j->step[at]++;
    const struct mesh_dsd sum = mesh_mem(j->data, mb);
    (void)data;
    if (k == j->shape[NB]) return programs_reduce_part(pe, &j->node[0][at], j->data, mb);
    TRY(mesh_wait(pe, PROGRAMS_JOB_CALL_CYCLES));
    TRY(mesh_mac(pe, MESH_FMACS, sum, sum, mesh_mem(j->address[A] + 4 * k * mb, mb),
                 mesh_mem(j->address[X] + 4 * k, 1)));
    return mesh_activate(pe, PROGRAMS_JOB_NEXT);
}

/* Distribute x down the columns before the calls begin. */
static enum wsc_err gemv_main(struct mesh_pe *pe, uint32_t data)
{
    struct programs_job *j = mesh_user(pe);
    int nb = (int)j->shape[NB];
    const struct mesh_dsd x = mesh_mem(j->address[X], nb), none = {0};
    (void)data;
    if (mesh_y(pe))
        TRY(mesh_do(pe, MESH_FMOVS, x, mesh_in(COLOUR_IN, nb), none));
    else if (j->h > 1)
        TRY(mesh_do(pe, MESH_FMOVS, mesh_out(COLOUR_IN, nb), x, none));
    return mesh_activate(pe, PROGRAMS_JOB_NEXT);
}

/* One tree serves all rows, since they are equal. */
static enum wsc_err gemv_routes(struct programs_job *j, const char *algo)
{
    const struct programs_load load = {j->c->arch, j->w, j->shape[MB], {0, ROW_COLOURS}};
    int *parent;
    for (int y = 0; y < j->h && j->h > 1; y++) {
        struct mesh_rect row = {0, y, j->w, 1};
        struct mesh_route r = {.rx = y ? MESH_NORTH : MESH_RAMP, .tx = y ? MESH_RAMP : 0};
        if (y + 1 < j->h) r.tx |= MESH_SOUTH;
        TRY(mesh_route(j->m, row, COLOUR_IN, &r));
        TRY(y ? mesh_input_queue(j->m, row, ROW_COLOURS, COLOUR_IN)
              : mesh_output_queue(j->m, row, 0, COLOUR_IN));
    }
    parent = wsc_alloc(WSC_MEM_MESH, (size_t)j->w, sizeof *parent);
    enum wsc_err rc = parent ? programs_tree(algo, &load, parent) : WSC_NOMEM;
    for (int y = 0; y < j->h && !rc; y++) {
        struct programs_path l = {.queue = 2, .node = j->node[0]};
        rc = programs_path_walk(&l, j, 0, y, 1, 0, j->w);
        if (!rc) rc = programs_path_tree(j, &l, parent, load.colours);
        wsc_free(l.pe);
    }
    wsc_free(parent);
    return rc;
}

/* Copy blocks of A and x to their PEs. */
static enum wsc_err gemv_data(struct programs_job *j)
{
    const int64_t m = j->c->m, n = j->c->n, mb = j->shape[MB], nb = j->shape[NB];
    TRY(programs_job_floats(j, 0, m * n, true));
    TRY(programs_job_floats(j, 1, nb * j->w, true));
    TRY(programs_job_floats(j, 2, mb * nb, false));
    for (int pe = 0; pe < j->w * j->h; pe++) {
        int x = pe % j->w, y = pe / j->w;
        for (int64_t i = 0; i < mb * nb; i++) {
            int64_t row = y * mb + i % mb, column = x * nb + i / mb;
            j->host[2][i] = row < m && column < n ? j->host[0][row * n + column] : 0;
        }
        TRY(mesh_copy_in(j->m, (struct mesh_rect){x, y, 1, 1}, j->address[A], j->host[2],
                         mb * nb * 4));
    }
    return mesh_copy_in(j->m, (struct mesh_rect){0, 0, j->w, 1}, j->address[X], j->host[1], nb * 4);
}

static enum wsc_err gemv_check(struct programs_job *j)
{
    const int64_t m = j->c->m, n = j->c->n, mb = j->shape[MB];
    TRY(programs_job_floats(j, 3, mb * j->h, false));
    TRY(mesh_copy_out(j->m, (struct mesh_rect){0, 0, 1, j->h}, j->data, j->host[3], mb * 4));
    for (int64_t i = 0; i < m; i++) {
        double sum = 0;
        for (int64_t k = 0; k < n; k++)
            sum += (double)j->host[0][i * n + k] * j->host[1][k];
        programs_job_compare(j, j->host[3][i], sum);
    }
    return WSC_OK;
}

static enum wsc_err gemv(struct programs_job *j)
{
    const char *algo = j->c->algo ? j->c->algo : "auto";
    const int64_t mb = programs_ceil_div(j->c->m, j->h), nb = programs_ceil_div(j->c->n, j->w);
    j->shape[MB] = j->r->words = mb;
    j->shape[NB] = nb;
    j->r->algo = algo;
    TRY(mesh_reserve(j->m, programs_job_all(j), mb * nb * 4, 0, "the block of A", &j->address[A]));
    TRY(mesh_reserve(j->m, programs_job_all(j), nb * 4, 0, "the part of x", &j->address[X]));
    TRY(mesh_reserve(j->m, programs_job_all(j), mb * 4, 0, "the part of y", &j->data));
    TRY(gemv_data(j));
    TRY(gemv_routes(j, algo));
    TRY(mesh_task(j->m, programs_job_all(j), PROGRAMS_JOB_MAIN, gemv_main, MESH_LOW));
    TRY(mesh_task(j->m, programs_job_all(j), PROGRAMS_JOB_NEXT, gemv_next, MESH_LOW));
    TRY(mesh_start(j->m, programs_job_all(j), PROGRAMS_JOB_MAIN));
    TRY(programs_job_run(j));
    return gemv_check(j);
}

enum wsc_err programs_run_gemv(const struct programs_case *c, struct programs_result *r)
{
    return programs_job_do(c, r, gemv);
}
