// SPDX-License-Identifier: Apache-2.0
/* Sends words of every position of a row to all positions of the row, one position after the other.
 * Switches collect the words of a group at its first position, then the groups at position 0, which
 * broadcasts all words. program_weight_grad.c sends its values in this way. */
#include "program_ring.h"
#include "program_chain.h"
#include "program_grid.h"
#include "program_resources.h"

#include <wsc/check.h>
#include <wsc/cycles_ops.h>
#include <wsc/mem.h>

enum { GROUP = CYCLES_RING_GROUP, COMMANDS = GROUP - 1 };
enum {
    NEAR = PROGRAMS_COLOUR_GATHER,
    FAR = PROGRAMS_COLOUR_COLLECT,
    ALL = PROGRAMS_COLOUR_SCALARS
};

/* ---- blocks ---------------------------------------------------------------------------------- */

static int min(int a, int b)
{
    return a < b ? a : b;
}

static int max(int a, int b)
{
    return a > b ? a : b;
}

/* Number of words of positions [from, to) in a round of the block. */
static int words_of(const struct programs_ring *r, const struct programs_ring_block *b, int from,
                    int to)
{
    int words = 0;
    if (b->part) return from <= b->first && b->first < to ? b->words : 0;
    for (int p = max(from, b->first); p < min(to, b->end); p++)
        words += r->count[p];
    return words;
}

/* Append a new block that begins at position @p first. */
static struct programs_ring_block *append(struct programs_ring *r, int first)
{
    struct programs_ring_block *b = &r->block[r->n_blocks++];
    *b = (struct programs_ring_block){.first = first, .end = first + 1, .last = true};
    return b;
}

/* Divide the words of one position, which are too many for one block, into equal parts. */
static void cut(struct programs_ring *r, int p, int most)
{
    const int parts = (r->count[p] + most - 1) / most, size = (r->count[p] + parts - 1) / parts;
    for (int slot = 0; slot < r->count[p]; slot += size) {
        struct programs_ring_block *b = append(r, p);
        b->part = true;
        b->slot = slot;
        b->words = min(size, r->count[p] - slot);
        b->last = slot + size >= r->count[p];
    }
}

/* Append a block of consecutive positions from @p first on, as many as the size of a block and the
 * commands of a control wavelet allow. */
static void gather(struct programs_ring *r, int first, int most)
{
    struct programs_ring_block *b = append(r, first);
    b->words = r->count[first];
    /* The last head's control wavelet has a command for each head before it; the first group ends
     * at position 0, which needs none. */
    const int first_head = max(first / GROUP, 1);
    for (; b->end < r->n && b->end / GROUP - first_head < COMMANDS; b->end++) {
        if (b->words + r->count[b->end] > most) return;
        b->words += r->count[b->end];
    }
}

enum wsc_err programs_ring_init(struct programs_ring *r, int n, const int *count, int most)
{
    int blocks = 0;
    while (n && !count[n - 1])
        n--;
    for (int p = 0; p < n; p++) {
        WSC_CHECK(count[p] > 0 && most > 0, "%d words at %d, blocks of %d", count[p], p, most);
        blocks += (count[p] + most - 1) / most;
    }
    *r = (struct programs_ring){.n = n, .count = count};
    TRY_NEW(r->block, WSC_MEM_KERNELS, blocks);
    for (int p = 0; p < n;) {
        if (count[p] > most)
            cut(r, p, most);
        else
            gather(r, p, most);
        p = r->block[r->n_blocks - 1].end;
    }
    for (int i = 0, at = 0, before = 0; i < r->n_blocks; i++) {
        r->most = max(r->most, r->block[i].words);
        for (; at < r->block[i].first; at++)
            before += count[at];
        r->block[i].before = before;
    }
    return WSC_OK;
}

void programs_ring_fini(struct programs_ring *r)
{
    wsc_free(r->block);
    *r = (struct programs_ring){0};
}

/* ---- routes ---------------------------------------------------------------------------------- */

/* Route of a sender: first the PE's own words; after a control wavelet the words of the PEs
 * further east; after another one its own words again. */
static const struct mesh_route own_then_later = {
    .rx = MESH_RAMP,
    .tx = MESH_WEST,
    .n_more = 1,
    .more = {{.rx = MESH_EAST}},
    .ring = true,
    .pop = MESH_ALWAYS_POP,
};
static const struct mesh_route to_ramp = {.rx = MESH_EAST, .tx = MESH_RAMP};
static const struct mesh_route pass = {.rx = MESH_EAST, .tx = MESH_WEST};

/* Route position @p p inside its group: members send to the first position of the group. */
static enum wsc_err route_near(struct programs_grid *g, struct mesh_rect at, int p)
{
    TRY(mesh_route(g->m, at, NEAR, p % GROUP ? &own_then_later : &to_ramp));
    return p % GROUP ? mesh_output_queue(g->m, at, PROGRAMS_OUT_SCALARS, NEAR)
                     : mesh_input_queue(g->m, at, PROGRAMS_IN_GATHER, NEAR);
}

/* Route position @p p among groups: the first positions of groups send to position 0, other
 * members let these words pass. */
static enum wsc_err route_far(struct programs_grid *g, struct mesh_rect at, int p)
{
    if (!p) {
        TRY(mesh_route(g->m, at, FAR, &to_ramp));
        return mesh_input_queue(g->m, at, PROGRAMS_IN_COLLECT, FAR);
    }
    if (p % GROUP) return mesh_route(g->m, at, FAR, &pass);
    TRY(mesh_route(g->m, at, FAR, &own_then_later));
    return mesh_output_queue(g->m, at, PROGRAMS_OUT_SCALARS, FAR);
}

/* Route the broadcast from position 0 to all positions, itself included. */
static enum wsc_err route_all(struct programs_grid *g, struct mesh_rect at, int p, int n)
{
    struct mesh_route r = {.rx = p ? MESH_WEST : MESH_RAMP, .tx = MESH_RAMP};
    if (p + 1 < n) r.tx |= MESH_EAST;
    TRY(mesh_route(g->m, at, ALL, &r));
    if (!p) TRY(mesh_output_queue(g->m, at, PROGRAMS_OUT_SCALARS, ALL));
    return mesh_input_queue(g->m, at, PROGRAMS_IN_SCALARS, ALL);
}

enum wsc_err programs_ring_route(struct programs_grid *g, const struct programs_line *l,
                                 mesh_task_fn send)
{
    const struct mesh_rect pes = {l->x, l->y, l->n, 1};
    for (int p = 0; p < l->n; p++) {
        const struct mesh_rect at = {l->x + p, l->y, 1, 1};
        TRY(route_near(g, at, p));
        TRY(route_far(g, at, p));
        TRY(route_all(g, at, p, l->n));
    }
    TRY(mesh_task(g->m, pes, PROGRAMS_TASK_SEND, send, MESH_HIGH));
    return mesh_start(g->m, pes, PROGRAMS_TASK_SEND);
}

/* ---- sending --------------------------------------------------------------------------------- */

/* Steps of a PE in a round, in order. */
enum step { OWN, MEMBERS, OTHERS, SWITCH, STEPS };
enum { ACTIVATE = PROGRAMS_TASK_SEND + 1 };

/* One PE in one round of one block. */
struct ring_part {
    const struct programs_ring_send *s;
    const struct programs_ring_block *b;
    int p, round;
    int group;  /* first position of the PE's group */
    int lo, hi; /* positions of the group in the block */
};

static bool is_head(const struct ring_part *t)
{
    return t->p == t->group;
}

/* Colour on which the PE sends its own words. */
static int colour_of(const struct ring_part *t)
{
    return !t->p ? ALL : is_head(t) ? FAR : NEAR;
}

static enum wsc_err move(struct mesh_pe *pe, const struct ring_part *t, struct mesh_dsd from, int n)
{
    const bool narrow = t->s->narrow && from.kind == MESH_DSD_MEMORY;
    const enum mesh_code code = programs_code(t->s->half, MESH_FMOVS);
    return mesh_issue(pe, &(struct mesh_op){.code = (uint8_t)(narrow ? MESH_FS2H : code),
                                            .thread = PROGRAMS_THREAD_SEND,
                                            .activate = ACTIVATE,
                                            .dst = mesh_out(colour_of(t), n),
                                            .a = from});
}

static struct mesh_dsd own_words(const struct ring_part *t)
{
    const struct programs_ring_send *s = t->s;
    const int slot = t->b->part ? t->b->slot : 0;
    const int address =
        s->address + programs_bytes(s->half && !s->narrow) * (slot * s->stride + t->round);
    return mesh_mem_strided(address, words_of(s->ring, t->b, t->p, t->p + 1), s->stride);
}

/* Change the switches of the @p before PEs before this one back, so that they send own words
 * again. */
static enum wsc_err switch_back(struct mesh_pe *pe, const struct ring_part *t, int before)
{
    enum mesh_command command[COMMANDS] = {MESH_NOP};
    struct mesh_op op = {.code = MESH_FMOVS,
                         .thread = PROGRAMS_THREAD_SEND,
                         .activate = ACTIVATE,
                         .dst = mesh_out(colour_of(t), 1)};
    WSC_CHECK(before < COMMANDS, "%d routers", before);
    for (int i = 1; i <= before; i++)
        command[i] = MESH_ADVANCE;
    op.a = mesh_bits(mesh_control(command, before + 1, -1));
    op.dst.control = true;
    return mesh_issue(pe, &op);
}

/* Change the switches after the PE's words of a round: the words of the PEs after it may pass.
 * After the last PE, all switches are changed back for the next round; after the last round,
 * PEs that have sent everything let all words pass. */
static enum wsc_err end_round(struct mesh_pe *pe, const struct ring_part *t, bool *issued)
{
    const struct programs_ring_block *b = t->b;
    const int unit = is_head(t) ? GROUP : 1, first = is_head(t) ? GROUP : t->group + 1;
    const bool last = is_head(t) ? t->hi == b->end : t->p + 1 == t->hi;
    const bool finished =
        b->last && (!is_head(t) || b->end >= t->group + GROUP || b->end == t->s->ring->n);
    *issued = true;
    if (t->p && (!last || (t->round + 1 == t->s->rounds && finished)))
        return mesh_advance_switch(pe, colour_of(t), PROGRAMS_THREAD_SEND, ACTIVATE);
    const int before = (t->p - max(first, b->first / unit * unit)) / unit;
    if (t->round + 1 < t->s->rounds && before > 0) return switch_back(pe, t, before);
    *issued = false;
    return WSC_OK;
}

/* Issue the operation of step @p step for this PE. @p issued: an operation was issued, whose end
 * activates the task again. */
static enum wsc_err take_step(struct mesh_pe *pe, const struct ring_part *t, enum step step,
                              bool *issued)
{
    const struct programs_ring *r = t->s->ring;
    int n = 0;
    *issued = true;
    switch (step) {
    case OWN:
        n = words_of(r, t->b, t->p, t->p + 1);
        if (n) return move(pe, t, own_words(t), n);
        break;
    case MEMBERS:
        if (is_head(t)) n = words_of(r, t->b, t->p + 1, t->group + GROUP);
        if (n) return move(pe, t, mesh_in(NEAR, n), n);
        break;
    case OTHERS:
        if (!t->p) n = words_of(r, t->b, GROUP, r->n);
        if (n) return move(pe, t, mesh_in(FAR, n), n);
        break;
    case SWITCH:
        return end_round(pe, t, issued);
    case STEPS:
        break;
    }
    *issued = false;
    return WSC_OK;
}

/* True when the PE has no part in the block. */
static bool has_no_part(const struct ring_part *t)
{
    if (!t->p) return false;
    return is_head(t) ? t->lo >= t->hi : t->p < t->lo || t->p >= t->hi;
}

/* The part of position @p p in a block and round. */
static struct ring_part part_of(const struct programs_ring_send *s, int p, int block, int round)
{
    const struct programs_ring_block *b = &s->ring->block[block];
    const int group = p / GROUP * GROUP;
    return (struct ring_part){.s = s,
                              .b = b,
                              .p = p,
                              .round = round,
                              .group = group,
                              .lo = max(b->first, group),
                              .hi = min(b->end, group + GROUP)};
}

/* Flag in the number of rounds that have returned: the sending task waits for a round and has to
 * be activated. */
enum { IDLE = 1 << 30 };

enum wsc_err programs_ring_step(struct mesh_pe *pe, const struct programs_ring_send *s,
                                int position)
{
    struct programs_grid *g = programs_grid_of(pe);
    int32_t *const done = &g->sent[programs_index(g, pe)], *const passed =
                                                               &g->passed[programs_index(g, pe)];
    const int per_block = s->rounds * STEPS;
    bool issued = false;
    *passed &= ~IDLE;
    while (!issued && *done < s->ring->n_blocks * per_block && *done / STEPS <= *passed) {
        const struct ring_part t =
            part_of(s, position, *done / per_block, *done % per_block / STEPS);
        if (has_no_part(&t))
            *done += per_block - *done % per_block;
        else
            TRY(take_step(pe, &t, (enum step)((*done)++ % STEPS), &issued));
    }
    if (!issued) *passed |= IDLE;
    return WSC_OK;
}

/* Activate the sending task only if it waits for this round. */
enum wsc_err programs_ring_passed(struct mesh_pe *pe)
{
    struct programs_grid *g = programs_grid_of(pe);
    return g->passed[programs_index(g, pe)]++ & IDLE ? mesh_activate(pe, PROGRAMS_TASK_SEND)
                                                     : WSC_OK;
}
