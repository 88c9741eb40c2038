// SPDX-License-Identifier: Apache-2.0
/* Computes reduce, all-reduce and broadcast: rows first, then the first column. The tree is the
 * one that --algo names, or the one with the lowest cost; an all-reduce may also use a ring. The
 * results have the formulas of HPDC'24 (Luczynski et al., arXiv 2404.15888) from program_tree.c
 * beside the simulated cycles. */
#include "program_job.h"
#include "program_ktree.h"
#include "program_path.h"
#include "program_tree.h"
#include "program_tree_cost.h"
#include "program_tree_shape.h"

#include <wsc/mem.h>

#include <math.h>
#include <string.h>

enum { QUEUE_X = 2, QUEUE_Y = 3 }; /* the deepest output queues of WSE-2 */

/* ---- reduce, all-reduce, broadcast ----------------------------------------------------------- */

/* Reduce the rows, then column 0; in an all-reduce PE (0, 0) then broadcasts the sums. */
static enum wsc_err reduce_main(struct mesh_pe *pe, uint32_t data)
{
    struct programs_job *j = mesh_user(pe);
    int at = mesh_y(pe) * j->w + mesh_x(pe), n = (int)j->words;
    (void)data;
    TRY(programs_reduce_part(pe, &j->node[0][at], j->data, n));
    if (mesh_x(pe) == 0) TRY(programs_reduce_part(pe, &j->node[1][at], j->data, n));
    if (!j->shape[0] || j->w * j->h == 1) return WSC_OK;
    const struct mesh_dsd own = mesh_mem(j->data, n), none = {0};
    if (at == 0) return mesh_do(pe, MESH_FMOVS, mesh_out(PROGRAMS_COLOUR_BCAST, n), own, none);
    return mesh_do(pe, MESH_FMOVS, own, mesh_in(PROGRAMS_COLOUR_BCAST, n), none);
}

/* Colours of a row and of the column: together as many as a PE has input queues. A row alone uses
 * all of them for short messages, for which changes of switches matter; with long messages more
 * colours would only fill queues early. */
static struct programs_colours row_colours(const struct programs_job *j)
{
    enum { SHORT = 8 };
    bool all = j->h == 1 && j->words < SHORT;
    return (struct programs_colours){0, all ? PROGRAMS_LINE_COLOURS : PROGRAMS_LINE_COLOURS / 2};
}

static enum wsc_err route_rows(struct programs_job *j, const struct programs_load *load,
                               const int *parent)
{
    for (int y = 0; y < j->h; y++) {
        struct programs_path l = {.queue = QUEUE_X, .node = j->node[0]};
        TRY(programs_path_walk(&l, j, 0, y, 1, 0, j->w));
        enum wsc_err rc = programs_path_tree(j, &l, parent, load->colours);
        wsc_free(l.pe);
        if (rc) return wsc_err_frame(rc, __FILE__, __LINE__, "a row");
    }
    return WSC_OK;
}

static enum wsc_err route_tree_on_line(struct programs_job *j, struct programs_path *l,
                                       const struct programs_load *load, const int *parent)
{
    enum wsc_err rc = programs_path_tree(j, l, parent, load->colours);
    wsc_free(l->pe);
    return rc;
}

/* Set the routes of the tree on the first column, with the upper half of the colours. */
static enum wsc_err route_tree_on_column(struct programs_job *j, const struct programs_load *load,
                                         const int *parent)
{
    struct programs_path l = {.queue = QUEUE_Y, .node = j->node[1]};
    TRY(programs_path_walk(&l, j, 0, 0, 0, 1, j->h));
    return route_tree_on_line(j, &l, load, parent);
}

static enum wsc_err route_tree_on_snake(struct programs_job *j, const struct programs_load *load,
                                        const int *parent)
{
    struct programs_path l = {.queue = QUEUE_X, .node = j->node[0]};
    TRY(programs_path_snake(&l, j));
    return route_tree_on_line(j, &l, load, parent);
}

/* Build the tree @p algo and let @p route set its routes; records the cycles of its schedule and of
 * the formula. */
static enum wsc_err
tree_on(struct programs_job *j, const char *algo, const struct programs_load *load,
        enum wsc_err (*route)(struct programs_job *, const struct programs_load *, const int *))
{
    int64_t cycles = 0;
    double built = 0;
    int *parent = wsc_alloc(WSC_MEM_MESH, (size_t)load->n, sizeof *parent);
    enum wsc_err rc = parent ? programs_tree(algo, load, parent) : WSC_NOMEM;
    if (!rc) rc = programs_tree_cycles(load, parent, &cycles);
    if (!rc) rc = programs_tree_formula(load, parent, &built);
    if (!rc) rc = route(j, load, parent);
    j->r->schedule += (double)cycles;
    j->r->built += built;
    wsc_free(parent);
    return rc ? wsc_err_frame(rc, __FILE__, __LINE__, "a tree") : WSC_OK;
}

/* Rows use the lower colours, the column the others; a snake is one line over the whole fabric. */
static enum wsc_err trees(struct programs_job *j, const char *algo)
{
    struct programs_load load = {j->c->arch, j->w, j->words, row_colours(j)};
    j->r->built = j->r->schedule = 0;
    if (!strcmp(algo, "snake")) {
        load.n *= j->h;
        return tree_on(j, algo, &load, route_tree_on_snake);
    }
    TRY(tree_on(j, algo, &load, route_rows));
    load.n = j->h;
    load.colours = (struct programs_colours){PROGRAMS_LINE_COLOURS / 2, PROGRAMS_LINE_COLOURS / 2};
    return tree_on(j, algo, &load, route_tree_on_column);
}

/* Formula of HPDC'24 for rows and column: T(w) + T(h); the snake is a chain of w h PEs. */
static double formula_of(const struct programs_case *c, const char *algo)
{
    if (!strcmp(algo, "snake")) return programs_formula_reduce(algo, c->w * c->h, c->words);
    return programs_formula_reduce(algo, c->w, c->words) +
           programs_formula_reduce(algo, c->h, c->words);
}

static const char *algo_of(const struct programs_case *c)
{
    return c->algo ? c->algo : "auto";
}

double programs_expect_broadcast(const struct programs_case *c)
{
    return c->w * c->h > 1 ? programs_formula_broadcast(c->w, c->h, c->words) : 0;
}

double programs_expect_reduce(const struct programs_case *c)
{
    return formula_of(c, algo_of(c));
}

double programs_expect_allreduce(const struct programs_case *c)
{
    if (!strcmp(algo_of(c), "ktree")) return -1;
    if (!strcmp(algo_of(c), "ring")) return programs_formula_ring(c->w, c->words);
    return programs_expect_reduce(c) + programs_expect_broadcast(c);
}

/* A broadcast from the corner, wavelet by wavelet, by the latencies of the fabric's generation. */
static double schedule_of_broadcast(const struct programs_case *c)
{
    const struct mesh_latencies of = mesh_latencies_of(c->arch);
    if (c->w * c->h == 1) return 0;
    return of.setup + 1 + of.ramp_up + (double)of.hop * (c->w + c->h - 2) + of.ramp_down +
           (double)c->words;
}

/* An all-reduce is a reduction and a broadcast of the result, one after the other. */
static void add_broadcast(struct programs_job *j)
{
    const double cycles = programs_expect_broadcast(j->c);
    j->r->analytical += cycles;
    j->r->built += cycles;
    j->r->schedule += schedule_of_broadcast(j->c);
}

static enum wsc_err reduce(struct programs_job *j, const char *algo, bool all)
{
    j->shape[0] = all;
    TRY(programs_job_vector(j));
    TRY(trees(j, algo));
    if (all && j->w * j->h > 1) TRY(programs_spread(j, PROGRAMS_COLOUR_BCAST));
    TRY(mesh_task(j->m, programs_job_all(j), PROGRAMS_JOB_MAIN, reduce_main, MESH_LOW));
    TRY(mesh_start(j->m, programs_job_all(j), PROGRAMS_JOB_MAIN));
    TRY(programs_job_run(j));
    j->r->algo = algo;
    j->r->analytical = formula_of(j->c, algo);
    if (all) add_broadcast(j);
    return programs_job_check_sum(j, all ? programs_job_all(j) : (struct mesh_rect){0, 0, 1, 1});
}

static enum wsc_err reduce_to_one(struct programs_job *j)
{
    return reduce(j, algo_of(j->c), false);
}

static enum wsc_err reduce_to_all(struct programs_job *j)
{
    return reduce(j, algo_of(j->c), true);
}

enum wsc_err programs_run_reduce(const struct programs_case *c, struct programs_result *r)
{
    return programs_job_do(c, r, reduce_to_one);
}

static enum wsc_err broadcast_main(struct mesh_pe *pe, uint32_t data)
{
    struct programs_job *j = mesh_user(pe);
    const struct mesh_dsd own = mesh_mem(j->data, (int)j->words), none = {0};
    int n = (int)j->words;
    (void)data;
    if (j->w * j->h == 1) return WSC_OK;
    if (mesh_x(pe) || mesh_y(pe))
        return mesh_do(pe, MESH_FMOVS, own, mesh_in(PROGRAMS_COLOUR_BCAST, n), none);
    return mesh_do(pe, MESH_FMOVS, mesh_out(PROGRAMS_COLOUR_BCAST, n), own, none);
}

/* Broadcast the words of PE (0, 0) and compare them on every PE. */
static enum wsc_err broadcast(struct programs_job *j)
{
    const struct mesh_rect root = {0, 0, 1, 1};
    int64_t n_pes = (int64_t)j->w * j->h, b = j->words;
    TRY(mesh_reserve(j->m, programs_job_all(j), b * 4, 0, "the vector", &j->data));
    TRY(programs_job_floats(j, 0, b, true));
    TRY(mesh_copy_in(j->m, root, j->data, j->host[0], b * 4));
    if (n_pes > 1) TRY(programs_spread(j, PROGRAMS_COLOUR_BCAST));
    TRY(mesh_task(j->m, programs_job_all(j), PROGRAMS_JOB_MAIN, broadcast_main, MESH_LOW));
    TRY(mesh_start(j->m, programs_job_all(j), PROGRAMS_JOB_MAIN));
    TRY(programs_job_run(j));
    j->r->analytical = programs_expect_broadcast(j->c);
    TRY(programs_job_floats(j, 1, n_pes * b, false));
    TRY(mesh_copy_out(j->m, programs_job_all(j), j->data, j->host[1], b * 4));
    for (int64_t i = 0; i < n_pes * b; i++)
        programs_job_compare(j, j->host[1][i], j->host[0][i % b]);
    return WSC_OK;
}

enum wsc_err programs_run_broadcast(const struct programs_case *c, struct programs_result *r)
{
    return programs_job_do(c, r, broadcast);
}

/* ---- ring ------------------------------------------------------------------------------------ */

enum { COLOUR_BACK = 4, THREAD_SEND = 1 };

/* Number of words of chunk @p k of p; @p first: index of its first word. */
static int chunk(const struct programs_job *j, int k, int *first)
{
    int p = j->w;
    k = (k % p + p) % p;
    *first = (int)(j->words * k / p);
    return (int)(j->words * (k + 1) / p) - *first;
}

/* Colour on which PE @p from sends: one for even and one for odd PEs, a third for the way back
 * from the last PE. */
static int ring_colour(const struct programs_job *j, int from)
{
    return from == j->w - 1 ? COLOUR_BACK : from % 2;
}

/* Ring with chunks of at most one word: a received word is added and sent on in one operation,
 * without a copy in memory, until the sums are complete and circulate. */
static enum wsc_err short_ring_step(struct mesh_pe *pe, uint32_t data)
{
    struct programs_job *j = mesh_user(pe);
    int i = mesh_x(pe), p = j->w, s = j->step[i]++, first, sent;
    int n = chunk(j, i - 1 - s, &first), n_sent = chunk(j, i - s, &sent);
    const struct mesh_dsd own = mesh_mem(j->data + 4 * first, n), none = {0};
    const struct mesh_dsd in = mesh_in(ring_colour(j, (i + p - 1) % p), n);
    const struct mesh_dsd out = mesh_out(ring_colour(j, i), n);
    (void)data;
    if (s == 2 * (p - 1)) return WSC_OK;
    if (n_sent && (s == 0 || s >= p - 1))
        TRY(mesh_do(pe, MESH_FMOVS, mesh_out(out.colour, n_sent),
                    mesh_mem(j->data + 4 * sent, n_sent), none));
    if (n && s < p - 2)
        TRY(mesh_do(pe, MESH_FADDS, out, in, own));
    else if (n)
        TRY(mesh_do(pe, s == p - 2 ? MESH_FADDS : MESH_FMOVS, own, in, s == p - 2 ? own : none));
    return mesh_activate(pe, PROGRAMS_JOB_MAIN);
}

/* Step s of a ring: send chunk i - s, and add the received one. After p - 1 steps the sums are
 * complete and circulate. */
static enum wsc_err ring_step(struct mesh_pe *pe, uint32_t data)
{
    struct programs_job *j = mesh_user(pe);
    int i = mesh_x(pe), p = j->w, s = j->step[i]++, first;
    bool adds = s < p - 1;
    (void)data;
    if (s == 2 * (p - 1)) return WSC_OK;
    int n = chunk(j, i - s, &first);
    struct mesh_op send = {.code = MESH_FMOVS,
                           .thread = THREAD_SEND,
                           .dst = mesh_out(ring_colour(j, i), n),
                           .a = mesh_mem(j->data + 4 * first, n)};
    if (n) TRY(mesh_issue(pe, &send));
    n = chunk(j, i - 1 - s, &first);
    const struct mesh_dsd own = mesh_mem(j->data + 4 * first, n), none = {0};
    struct mesh_dsd in = mesh_in(ring_colour(j, (i + p - 1) % p), n);
    if (n) TRY(mesh_do(pe, adds ? MESH_FADDS : MESH_FMOVS, own, in, adds ? own : none));
    return mesh_activate(pe, PROGRAMS_JOB_MAIN);
}

/* Routes to the neighbour in the east, and from the last PE back over all others to the first. */
static enum wsc_err ring_routes(struct programs_job *j)
{
    const int p = j->w;
    for (int i = 0; i < p; i++) {
        struct mesh_rect at = {i, 0, 1, 1};
        struct mesh_route out = {.rx = MESH_RAMP, .tx = i == p - 1 ? MESH_WEST : MESH_EAST};
        struct mesh_route in = {.rx = i ? MESH_WEST : MESH_EAST, .tx = MESH_RAMP};
        struct mesh_route back = {.rx = MESH_EAST, .tx = MESH_WEST};
        TRY(mesh_route(j->m, at, ring_colour(j, i), &out));
        TRY(mesh_route(j->m, at, ring_colour(j, (i + p - 1) % p), &in));
        if (i && i < p - 1) TRY(mesh_route(j->m, at, COLOUR_BACK, &back));
        TRY(mesh_output_queue(j->m, at, 2, ring_colour(j, i)));
        TRY(mesh_input_queue(j->m, at, 2, ring_colour(j, (i + p - 1) % p)));
    }
    return WSC_OK;
}

static enum wsc_err ring(struct programs_job *j)
{
    if (j->h > 1 || j->w < 2)
        return WSC_RAISE(WSC_USAGE, "ring: a fabric of %d x %d, expected a row of 2 PEs or more",
                         j->w, j->h);
    TRY(programs_job_vector(j));
    TRY(ring_routes(j));
    TRY(mesh_task(j->m, programs_job_all(j), PROGRAMS_JOB_MAIN,
                  j->words <= j->w ? short_ring_step : ring_step, MESH_LOW));
    TRY(mesh_start(j->m, programs_job_all(j), PROGRAMS_JOB_MAIN));
    TRY(programs_job_run(j));
    j->r->analytical = programs_formula_ring(j->w, j->words);
    return programs_job_check_sum(j, programs_job_all(j));
}

enum wsc_err programs_run_allreduce(const struct programs_case *c, struct programs_result *r)
{
    if (c->algo && !strcmp(c->algo, "ring")) return programs_job_do(c, r, ring);
    if (c->algo && !strcmp(c->algo, "ktree")) return programs_run_ktree(c, r);
    return programs_job_do(c, r, reduce_to_all);
}
