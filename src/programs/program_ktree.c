// SPDX-License-Identifier: Apache-2.0
/* Computes the all-reduce of a row by a tree of two levels with its root in the middle of the row
 * (WaferLLM, OSDI'25). Comments below describe colours and scalar code; program_reduce.c calls it
 * for --algo ktree. */
#include "program_ktree.h"
#include "program_job.h"

/* Allreduce of a row by a tree of two levels with its root in the middle (WaferLLM,
 * OSDI'25; program of DD-DuDa/Tetriscomp, test/decode_interop): chains from both ends of each
 * group to the PE in its middle, chains of those to the middle one of the row, then a broadcast
 * both ways.  Along a chain two colours take turns, so no router has a switch.
 *
 * Between its operations a PE runs scalar code. Its cost is the sum of documented pipeline times of
 * WSE-3 (FABRICA, simulator): 3 cycles for a branch not taken, 6 for a taken branch, 4 from the
 * load of a descriptor register to its use, one load per cycle. */

enum { FALLS = 3, TAKEN = 6, LOAD_TO_USE = 4, SET_BASE = 2 };
enum { LEVEL_1 = 0, LEVEL_2 = 2, COLOUR_BACK = 4, QUEUE_OUT = 2 };
enum { GROUPS, SIZE }; /* in shape[] */

/* A PE on one level: its position @c i on a chain of n with the root at @c root. */
struct chain {
    int i, n, root, colour; /* colour: the first of two */
};

static struct chain level_1(const struct programs_job *j, int x)
{
    int size = (int)j->shape[SIZE];
    return (struct chain){x % size, size, size / 2, LEVEL_1};
}

/* The chain of the second level, seen from the PE in the middle of a group. */
static struct chain level_2(const struct programs_job *j, int x)
{
    int groups = (int)j->shape[GROUPS];
    return (struct chain){x / (int)j->shape[SIZE], groups, groups / 2, LEVEL_2};
}

static bool leads(const struct programs_job *j, int x)
{
    struct chain c = level_1(j, x);
    return c.i == c.root;
}

/* Colour on which position @p i of a chain sends; the root receives on two different ones. */
static int colour_of(const struct chain *c, int i)
{
    return c->colour + (i > c->root ? i % 2 : 1 - i % 2);
}

/* Cycles of scalar code before an operation with @p loads descriptors, after @p taken taken
 * branches and @p falls branches that were not taken. */
static int64_t code(int taken, int falls, int loads)
{
    return (int64_t)taken * TAKEN + (int64_t)falls * FALLS + LOAD_TO_USE + loads - 1;
}

/* Part of a chain's root: it receives the sums of the far side of the row first. */
static enum wsc_err root_part(struct mesh_pe *pe, const struct chain *c, struct mesh_dsd own)
{
    const int n = own.len[0];
    TRY(mesh_wait(pe, code(0, 1, 2)));
    if (c->root + 1 < c->n) {
        TRY(mesh_do(pe, MESH_FADDS, own, mesh_in(colour_of(c, c->root + 1), n), own));
        TRY(mesh_wait(pe, code(0, 0, 2)));
    }
    TRY(mesh_do(pe, MESH_FADDS, own, mesh_in(colour_of(c, c->root - 1), n), own));
    return mesh_wait(pe, TAKEN);
}

/* Part of a PE on one level. The branches of its scalar code: is it the root, on which side is it,
 * is its position even, is it the end of the chain; then the way out of these. */
static enum wsc_err level_part(struct mesh_pe *pe, const struct chain *c, int n)
{
    const struct programs_job *j = mesh_user(pe);
    const struct mesh_dsd own = mesh_mem(j->data, n), none = {0};
    if (c->n == 1) return WSC_OK;
    if (c->i == c->root) return root_part(pe, c, own);
    bool end = c->i == 0 || c->i == c->n - 1;
    const struct mesh_dsd out = mesh_out(colour_of(c, c->i), n);
    int far = c->i > c->root ? c->i + 1 : c->i - 1, right = c->i > c->root, even = c->i % 2 == 0;
    int falls = right + even + end;
    TRY(mesh_wait(pe, code(4 - falls, falls, end ? 1 : 2)));
    if (end)
        TRY(mesh_do(pe, MESH_FMOVS, out, own, none));
    else
        TRY(mesh_do(pe, MESH_FADDS, out, mesh_in(colour_of(c, far), n), own));
    return mesh_wait(pe, TAKEN);
}

/* Run both levels, then the broadcast. A PE that is not the middle of a group skips the second
 * level after three branches. */
static enum wsc_err ktree_main(struct mesh_pe *pe, uint32_t data)
{
    const struct programs_job *j = mesh_user(pe);
    const int x = mesh_x(pe), n = (int)j->words;
    const struct chain low = level_1(j, x), high = level_2(j, x);
    const struct mesh_dsd own = mesh_mem(j->data, n), none = {0};
    bool root = leads(j, x) && high.i == high.root;
    (void)data;
    TRY(mesh_wait(pe, SET_BASE + LOAD_TO_USE));
    TRY(level_part(pe, &low, n));
    if (leads(j, x))
        TRY(level_part(pe, &high, n));
    else
        TRY(mesh_wait(pe, 3LL * TAKEN));
    TRY(mesh_wait(pe, root ? code(0, 1, 1) : code(1, 0, 2)));
    if (j->w == 1) return WSC_OK;
    return root ? mesh_do(pe, MESH_FMOVS, mesh_out(COLOUR_BACK, n), own, none)
                : mesh_do(pe, MESH_FMOVS, own, mesh_in(COLOUR_BACK, n), none);
}

/* Route the message on @p colour from PE @p from to PE @p to of the row. */
static enum wsc_err message_route(struct programs_job *j, int colour, int from, int to)
{
    const bool west = to < from;
    const uint8_t on = west ? MESH_WEST : MESH_EAST, back = west ? MESH_EAST : MESH_WEST;
    const int step = west ? -1 : 1;
    const struct mesh_rect first = {from, 0, 1, 1}, last = {to, 0, 1, 1};
    TRY(mesh_route(j->m, first, colour, &(struct mesh_route){.rx = MESH_RAMP, .tx = on}));
    for (int x = from + step; x != to; x += step)
        TRY(mesh_route(j->m, (struct mesh_rect){x, 0, 1, 1}, colour,
                       &(struct mesh_route){.rx = back, .tx = on}));
    TRY(mesh_route(j->m, last, colour, &(struct mesh_route){.rx = back, .tx = MESH_RAMP}));
    TRY(mesh_output_queue(j->m, first, QUEUE_OUT, colour));
    return mesh_input_queue(j->m, last, colour, colour);
}

/* Route the broadcast from the root to both ends at PE @p x. */
static enum wsc_err back_route(struct programs_job *j, int x, int root)
{
    struct mesh_route r = {.rx = x < root ? MESH_EAST : MESH_WEST, .tx = MESH_RAMP};
    const struct mesh_rect at = {x, 0, 1, 1};
    if (x == root) r = (struct mesh_route){.rx = MESH_RAMP};
    if (x <= root && x) r.tx |= MESH_WEST;
    if (x >= root && x + 1 < j->w) r.tx |= MESH_EAST;
    TRY(mesh_route(j->m, at, COLOUR_BACK, &r));
    return x == root ? mesh_output_queue(j->m, at, QUEUE_OUT, COLOUR_BACK)
                     : mesh_input_queue(j->m, at, COLOUR_BACK, COLOUR_BACK);
}

static enum wsc_err ktree_routes(struct programs_job *j)
{
    const int size = (int)j->shape[SIZE], groups = (int)j->shape[GROUPS];
    const int root = groups / 2 * size + size / 2;
    for (int x = 0; x < j->w && j->w > 1; x++) {
        struct chain low = level_1(j, x), high = level_2(j, x);
        TRY(back_route(j, x, root));
        if (low.i != low.root)
            TRY(message_route(j, colour_of(&low, low.i), x, low.i > low.root ? x - 1 : x + 1));
        else if (high.i != high.root)
            TRY(message_route(j, colour_of(&high, high.i), x,
                              high.i > high.root ? x - size : x + size));
    }
    return WSC_OK;
}

/* The divisor of @p n that is nearest to its square root from below. */
static int64_t default_groups(int64_t n)
{
    int64_t groups = 1;
    while ((groups + 1) * (groups + 1) <= n)
        groups++;
    while (n % groups)
        groups--;
    return groups;
}

static enum wsc_err ktree(struct programs_job *j)
{
    const int64_t groups = j->c->groups ? j->c->groups : default_groups(j->w);
    if (j->h > 1 || j->w % groups)
        return WSC_RAISE(WSC_USAGE,
                         "ktree: a fabric of %d x %d, expected a row of %lld equal groups", j->w,
                         j->h, (long long)groups);
    j->shape[GROUPS] = groups;
    j->shape[SIZE] = j->w / groups;
    TRY(programs_job_vector(j));
    TRY(ktree_routes(j));
    TRY(mesh_task(j->m, programs_job_all(j), PROGRAMS_JOB_MAIN, ktree_main, MESH_LOW));
    TRY(mesh_start(j->m, programs_job_all(j), PROGRAMS_JOB_MAIN));
    TRY(programs_job_run(j));
    return programs_job_check_sum(j, programs_job_all(j));
}

enum wsc_err programs_run_ktree(const struct programs_case *c, struct programs_result *r)
{
    return programs_job_do(c, r, ktree);
}
