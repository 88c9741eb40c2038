// SPDX-License-Identifier: Apache-2.0
/* Moves blocks of words between one PE and many: scatter as a broadcast with filters, gather as a
 * star without additions, and the transpose of a square of blocks over its diagonal. */
#include "program_job.h"
#include "program_path.h"
#include "program_tree.h"
#include "program_tree_shape.h"

#include <wsc/mem.h>

#include <string.h>

/* Blocks of B words between one PE and many. A scatter is a broadcast whose filters let each PE
 * have its own part; a gather is the star of the reductions without additions. */

enum { QUEUE_X = 2, QUEUE_Y = 3 };
enum { COLOUR_ROW = 0, COLOUR_COLUMN = 1 }; /* of a scatter */

/* Let the PE have words [first, first + n) of every @c period that pass on @p colour. */
static enum wsc_err keep_part(struct programs_job *j, int x, int y, int colour,
                              const int64_t part[3])
{
    const int64_t first = part[0], n = part[1], period = part[2];
    const struct mesh_filter f = {.kind = MESH_FILTER_COUNTER,
                                  .count_data = true,
                                  .init = (uint32_t)((period - first) % period),
                                  .max = (uint32_t)(n - 1),
                                  .limit1 = (uint32_t)(period - 1)};
    return mesh_filter(j->m, (struct mesh_rect){x, y, 1, 1}, colour, &f);
}

static struct mesh_dsd none(void)
{
    return (struct mesh_dsd){0};
}

/* ---- scatter: down the first column, then along every row ------------------------------------ */

/* One step of a scatter from position 0 of n: position 0 keeps the first block and sends the
 * others. */
static enum wsc_err scatter_part(struct mesh_pe *pe, int i, int n, int colour, int block)
{
    const struct programs_job *j = mesh_user(pe);
    if (n == 1 || !block) return WSC_OK;
    if (i) return mesh_do(pe, MESH_FMOVS, mesh_mem(j->data, block), mesh_in(colour, block), none());
    int words = (n - 1) * block;
    return mesh_do(pe, MESH_FMOVS, mesh_out(colour, words), mesh_mem(j->data + 4 * block, words),
                   none());
}

/* Column 0 sends the rows down, then every row distributes its blocks. */
static enum wsc_err scatter_main(struct mesh_pe *pe, uint32_t data)
{
    const struct programs_job *j = mesh_user(pe);
    int b = (int)j->words;
    (void)data;
    if (mesh_x(pe) == 0) TRY(scatter_part(pe, mesh_y(pe), j->h, COLOUR_COLUMN, b * j->w));
    return scatter_part(pe, mesh_x(pe), j->w, COLOUR_ROW, b);
}

/* Route position i of a line of a scatter, at PE @p at. */
static enum wsc_err scatter_at(struct programs_job *j, struct mesh_rect at, bool down,
                               int64_t block)
{
    const int n = down ? j->h : j->w, i = down ? at.y : at.x;
    const int queue = down ? QUEUE_Y : QUEUE_X, colour = down ? COLOUR_COLUMN : COLOUR_ROW;
    const uint8_t on = down ? MESH_SOUTH : MESH_EAST, back = down ? MESH_NORTH : MESH_WEST;
    struct mesh_route r = {.rx = i ? back : MESH_RAMP, .tx = i ? MESH_RAMP : 0};
    if (i + 1 < n) r.tx |= on;
    TRY(mesh_route(j->m, at, colour, &r));
    if (!i) return mesh_output_queue(j->m, at, queue, colour);
    TRY(mesh_input_queue(j->m, at, queue, colour));
    return keep_part(j, at.x, at.y, colour, (int64_t[3]){(i - 1) * block, block, (n - 1) * block});
}

/* Route column 0 and all rows; lines of one PE have no routes. */
static enum wsc_err scatter_routes(struct programs_job *j)
{
    for (int i = 0; i < j->w * j->h; i++) {
        struct mesh_rect at = {i % j->w, i / j->w, 1, 1};
        if (j->h > 1 && at.x == 0) TRY(scatter_at(j, at, true, j->words * j->w));
        if (j->w > 1) TRY(scatter_at(j, at, false, j->words));
    }
    return WSC_OK;
}

/* Memory follows what a PE sends on: all blocks at the root, the blocks of a row in column 0, one
 * elsewhere. */
static enum wsc_err scatter(struct programs_job *j)
{
    const struct mesh_rect root = {0, 0, 1, 1}, column = {0, 0, 1, j->h};
    int64_t b = j->words, n_pes = (int64_t)j->w * j->h;
    TRY(mesh_reserve(j->m, programs_job_all(j), b * 4, 0, "a block", &j->data));
    if (j->w > 1)
        TRY(mesh_reserve(j->m, column, b * 4 * (j->w - 1), 0, "the blocks of a row",
                         &j->address[0]));
    if (j->h > 1)
        TRY(mesh_reserve(j->m, root, b * 4 * j->w * (j->h - 1), 0, "all blocks", &j->address[1]));
    TRY(programs_job_floats(j, 0, n_pes * b, true));
    TRY(mesh_copy_in(j->m, root, j->data, j->host[0], n_pes * b * 4));
    TRY(scatter_routes(j));
    TRY(mesh_task(j->m, programs_job_all(j), PROGRAMS_JOB_MAIN, scatter_main, MESH_LOW));
    TRY(mesh_start(j->m, programs_job_all(j), PROGRAMS_JOB_MAIN));
    TRY(programs_job_run(j));
    TRY(programs_job_floats(j, 1, n_pes * b, false));
    TRY(mesh_copy_out(j->m, programs_job_all(j), j->data, j->host[1], b * 4));
    for (int64_t i = 0; i < n_pes * b; i++)
        programs_job_compare(j, j->host[1][i], j->host[0][i]);
    return WSC_OK;
}

enum wsc_err programs_run_scatter(const struct programs_case *c, struct programs_result *r)
{
    return programs_job_do(c, r, scatter);
}

/* ---- gather: along every row to the first column, then up ------------------------------------ */

/* An array of @p n blocks, @p step words apart. */
static struct mesh_dsd blocks(int address, int n, int block, int step)
{
    return mesh_rows(mesh_mem(address, block), n, step);
}

/* Part of a PE in a star: the root receives blocks in the order of their distance, to address @p
 * to and on in steps of @c step; the others send their block from @p from. */
static enum wsc_err gather_part(struct mesh_pe *pe, const struct programs_node *node, int from,
                                int to, const int size[2])
{
    const int block = size[0], step = size[1];
    for (int i = 0; i < node->n_blocks; i++) {
        int n = node->count[i];
        const struct mesh_dsd in = mesh_rows(mesh_in(node->colour[i], block), n, 0);
        TRY(mesh_do(pe, MESH_FMOVS, blocks(to, n, block, step), in, none()));
        to += 4 * n * step;
    }
    if (node->send < 0) return WSC_OK;
    TRY(mesh_do(pe, MESH_FMOVS, mesh_out(node->send, block), mesh_mem(from, block), none()));
    return programs_message_end(pe, node);
}

/* Gather each row at column 0, then column 0 at PE (0, 0). */
static enum wsc_err gather_main(struct mesh_pe *pe, uint32_t data)
{
    const struct programs_job *j = mesh_user(pe);
    int at = mesh_y(pe) * j->w + mesh_x(pe), b = (int)j->words, row = b * j->w;
    (void)data;
    TRY(gather_part(pe, &j->node[0][at], j->data, j->data + 4 * b, (int[2]){b, b}));
    if (mesh_x(pe)) return WSC_OK;
    return gather_part(pe, &j->node[1][at], j->data, j->data + 4 * row, (int[2]){row, row});
}

/* Set the routes of a star on the path; frees the path's array of PEs. */
static enum wsc_err route_star(struct programs_job *j, struct programs_path *l,
                               struct programs_colours colours)
{
    int *parent = wsc_alloc(WSC_MEM_MESH, (size_t)l->n, sizeof *parent);
    const struct programs_load load = {.n = l->n};
    enum wsc_err rc = parent ? programs_tree("star", &load, parent) : WSC_NOMEM;
    if (!rc) rc = programs_path_tree(j, l, parent, colours);
    wsc_free(parent);
    wsc_free(l->pe);
    return rc;
}

/* Gather the blocks of all PEs at (0, 0), in the order of the PEs. */
static enum wsc_err gather(struct programs_job *j)
{
    const struct mesh_rect root = {0, 0, 1, 1}, column = {0, 0, 1, j->h};
    int64_t b = j->words, n_pes = (int64_t)j->w * j->h;
    struct programs_path l = {.queue = QUEUE_X, .node = j->node[0]};
    TRY(mesh_reserve(j->m, programs_job_all(j), b * 4, 0, "a block", &j->data));
    TRY(mesh_reserve(j->m, column, b * 4 * (j->w - 1), 0, "the blocks of a row", &j->address[0]));
    TRY(mesh_reserve(j->m, root, b * 4 * j->w * (j->h - 1), 0, "all blocks", &j->address[1]));
    TRY(programs_job_floats(j, 0, n_pes * b, true));
    TRY(mesh_copy_in(j->m, programs_job_all(j), j->data, j->host[0], b * 4));
    for (int y = 0; y < j->h; y++) {
        TRY(programs_path_walk(&l, j, 0, y, 1, 0, j->w));
        TRY(route_star(j, &l, (struct programs_colours){0, 4}));
    }
    l = (struct programs_path){.queue = QUEUE_Y, .node = j->node[1]};
    TRY(programs_path_walk(&l, j, 0, 0, 0, 1, j->h));
    TRY(route_star(j, &l, (struct programs_colours){4, 4}));
    TRY(mesh_task(j->m, programs_job_all(j), PROGRAMS_JOB_MAIN, gather_main, MESH_LOW));
    TRY(mesh_start(j->m, programs_job_all(j), PROGRAMS_JOB_MAIN));
    TRY(programs_job_run(j));
    TRY(programs_job_floats(j, 1, n_pes * b, false));
    TRY(mesh_copy_out(j->m, root, j->data, j->host[1], n_pes * b * 4));
    for (int64_t i = 0; i < n_pes * b; i++)
        programs_job_compare(j, j->host[1][i], j->host[0][i]);
    return WSC_OK;
}

enum wsc_err programs_run_gather(const struct programs_case *c, struct programs_result *r)
{
    return programs_job_do(c, r, gather);
}

/* ---- transpose: rows gather at the diagonal, columns scatter from it --------------------------
 * The block of PE (x, y) moves along row y to PE (y, y), which collects all blocks of the row, then
 * along column y to PE (y, x). */

enum { COLOUR_DOWN = 8, QUEUE_ARM = 2, QUEUE_DOWN = 4, QUEUE_FROM_DIAGONAL = 0 };

static enum wsc_err transpose_main(struct mesh_pe *pe, uint32_t data)
{
    const struct programs_job *j = mesh_user(pe);
    int x = mesh_x(pe), y = mesh_y(pe), at = y * j->w + x, b = (int)j->words, n = j->w;
    int slots = j->address[0];
    (void)data;
    if (!b) return WSC_OK;
    if (x != y) {
        TRY(gather_part(pe, &j->node[x < y ? 0 : 1][at], j->data, 0, (int[2]){b, 0}));
        return mesh_do(pe, MESH_FMOVS, mesh_mem(j->data, b), mesh_in(COLOUR_DOWN, b), none());
    }
    TRY(gather_part(pe, &j->node[0][at], 0, slots + 4 * (x - 1) * b, (int[2]){b, -b}));
    TRY(gather_part(pe, &j->node[1][at], 0, slots + 4 * (x + 1) * b, (int[2]){b, b}));
    TRY(mesh_do(pe, MESH_FMOVS, mesh_mem(slots + 4 * x * b, b), mesh_mem(j->data, b), none()));
    return n > 1 ? mesh_do(pe, MESH_FMOVS, mesh_out(COLOUR_DOWN, n * b), mesh_mem(slots, n * b),
                           none())
                 : WSC_OK;
}

/* Route column x: the PE on the diagonal sends to both sides; filters let each PE have its
 * block. */
static enum wsc_err transpose_column(struct programs_job *j, int x)
{
    for (int y = 0; y < j->h; y++) {
        struct mesh_rect at = {x, y, 1, 1};
        struct mesh_route r = {.rx = MESH_RAMP};
        if (y < x) r = (struct mesh_route){.rx = MESH_SOUTH, .tx = MESH_RAMP};
        if (y > x) r = (struct mesh_route){.rx = MESH_NORTH, .tx = MESH_RAMP};
        if (y <= x && y) r.tx |= MESH_NORTH;
        if (y >= x && y + 1 < j->h) r.tx |= MESH_SOUTH;
        if (r.tx) TRY(mesh_route(j->m, at, COLOUR_DOWN, &r));
        if (y == x) TRY(mesh_output_queue(j->m, at, QUEUE_DOWN, COLOUR_DOWN));
        if (y == x) continue;
        TRY(mesh_input_queue(j->m, at, QUEUE_FROM_DIAGONAL, COLOUR_DOWN));
        const int64_t part[3] = {y * j->words, j->words, j->h * j->words};
        TRY(keep_part(j, x, y, COLOUR_DOWN, part));
    }
    return WSC_OK;
}

/* Route two stars to each PE on the diagonal, from the west and from the east, on different
 * colours. */
static enum wsc_err transpose_routes(struct programs_job *j)
{
    for (int y = 0; y < j->h; y++) {
        struct programs_path west = {.queue = QUEUE_ARM, .node = j->node[0]};
        struct programs_path east = {.queue = QUEUE_ARM + 1, .node = j->node[1]};
        TRY(programs_path_walk(&west, j, y, y, -1, 0, y + 1));
        TRY(route_star(j, &west, (struct programs_colours){0, 4}));
        TRY(programs_path_walk(&east, j, y, y, 1, 0, j->w - y));
        TRY(route_star(j, &east, (struct programs_colours){4, 4}));
    }
    for (int x = 0; x < j->w; x++)
        TRY(transpose_column(j, x));
    return WSC_OK;
}

static enum wsc_err transpose(struct programs_job *j)
{
    int64_t b = j->words, n = j->w;
    if (j->w != j->h)
        return WSC_RAISE(WSC_USAGE, "transpose: a fabric of %d x %d, expected a square", j->w,
                         j->h);
    TRY(mesh_reserve(j->m, programs_job_all(j), b * 4, 0, "a block", &j->data));
    TRY(mesh_reserve(j->m, programs_job_all(j), n * b * 4, 0, "the blocks of a row",
                     &j->address[0]));
    TRY(programs_job_floats(j, 0, n * n * b, true));
    TRY(mesh_copy_in(j->m, programs_job_all(j), j->data, j->host[0], b * 4));
    if (b) TRY(transpose_routes(j));
    TRY(mesh_task(j->m, programs_job_all(j), PROGRAMS_JOB_MAIN, transpose_main, MESH_LOW));
    TRY(mesh_start(j->m, programs_job_all(j), PROGRAMS_JOB_MAIN));
    TRY(programs_job_run(j));
    TRY(programs_job_floats(j, 1, n * n * b, false));
    TRY(mesh_copy_out(j->m, programs_job_all(j), j->data, j->host[1], b * 4));
    for (int64_t i = 0; i < n * n * b; i++) {
        int64_t pe = i / b, x = pe % n, y = pe / n;
        programs_job_compare(j, j->host[1][i], j->host[0][(x * n + y) * b + i % b]);
    }
    return WSC_OK;
}

enum wsc_err programs_run_transpose(const struct programs_case *c, struct programs_result *r)
{
    return programs_job_do(c, r, transpose);
}
