// SPDX-License-Identifier: Apache-2.0
/* Orders the blocks of a region in a batch (time skewing in split tiles; Wolf 1992, Wonnacott
 * 2000). A block may run a cycle when it and the blocks beside it have run the one before, those
 * of the neighbouring regions among them. So a region starts at its borders: it first runs the
 * blocks for which the other side waits, along diagonals, as far as the other side has come.
 * Between two looks at the other side, a step of a wave moves through the region from its far end.
 * Threads then wait for each other at the end of a batch, and seldom in it. */
#include "mesh_wave.h"
#include "mesh_cycle.h"
#include "mesh_flow.h"
#include "mesh_wait.h"
#include "region.h"

#include <wsc/check.h>

#include <string.h>

/* ---- borders --------------------------------------------------------------------------------- */

/* True when a region across the border runs the batch at the same time, in this process or
 * another. */
static bool has_border(const struct mesh_region *r, enum mesh_side side)
{
    const struct mesh *m = r->m;
    const int64_t first = m->together ? 0 : m->own;
    const int64_t end = m->together ? m->n_regions : m->own + m->n_own;
    const int64_t beyond = r - m->region + (side == MESH_TO_NORTH ? -1 : 1);
    return beyond >= first && beyond < end;
}

/* True when the block is next to the border. */
static bool is_beside(const struct mesh_region *r, enum mesh_side side, int64_t block)
{
    return has_border(r, side) && (side == MESH_TO_NORTH ? !block : block >= r->south);
}

/* True if the blocks across the border have run all cycles before @p cycle. Blocks of other
 * processes have when the exchange after that cycle is complete: @p now is the cycle before it. All
 * blocks have before a round. */
static bool has_run_until(const struct mesh_region *r, enum mesh_side side, int64_t cycle,
                          int64_t now)
{
    const struct mesh *m = r->m;
    const struct mesh_region *beyond = side == MESH_TO_NORTH ? r - 1 : r + 1;
    if (cycle == m->round) return true;
    if (beyond < m->region + m->own || beyond >= m->region + m->own + m->n_own) return cycle <= now;
    return beyond->wave.before[1 - side] >= cycle;
}

/* The first cycle that not all blocks next to a border have run. */
static int64_t ran_beside(const struct mesh_region *r, enum mesh_side side)
{
    const uint8_t *ran = r->wave.ran;
    int64_t least = side == MESH_TO_NORTH ? ran[0] : ran[r->south];
    for (int64_t block = r->south + 1; side == MESH_TO_SOUTH && block < r->n_blocks; block++)
        if (ran[block] < least) least = ran[block];
    return r->batch + least;
}

/* Publish the progress of the blocks next to the border for the region across it. */
static void publish(struct mesh_region *r, enum mesh_side side)
{
    const int64_t before = ran_beside(r, side);
    if (before == r->wave.before[side]) return;
    r->wave.before[side] = before;
    if (r->m->wait) mesh_wake(r->m->wait);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* True when block @p block may run cycle @p k of the batch. If another region has to run first, @p
 * awaited is set to the cycle that it must reach. */
static bool can_run(const struct mesh_region *r, int64_t k, int64_t block, int64_t now,
                    struct mesh_awaited *awaited)
{
    const uint8_t *ran = r->wave.ran;
    if (k && block && ran[block - 1] < k) return false;
    if (k && block + 1 < r->n_blocks && ran[block + 1] < k) return false;
    for (enum mesh_side side = 0; side < MESH_SIDES; side++) {
        if (!is_beside(r, side, block) || has_run_until(r, side, r->batch + k, now)) continue;
        *awaited = (struct mesh_awaited){side, r->batch + k};
        return false;
    }
    return true;
}

/* Run one cycle of a block; @p onward: step to the block that runs the following cycle next. */
static void run(struct mesh_region *r, int64_t k, int64_t block, int64_t onward)
{
    const int64_t now = r->batch + k;
    for (enum mesh_side side = 0; side < MESH_SIDES && now > r->m->round; side++)
        if (is_beside(r, side, block)) mesh_mailbox_take(r, side, now);
    mesh_block_cycle(r, now, block, block + onward);
    r->wave.ran[block]++;
    for (enum mesh_side side = 0; side < MESH_SIDES; side++)
        if (is_beside(r, side, block)) publish(r, side);
}

/* The block at distance @p distance from the end of the region on side @p side. */
static int64_t block_from(const struct mesh_region *r, enum mesh_side side, int64_t distance)
{
    return side == MESH_TO_NORTH ? distance : r->n_blocks - 1 - distance;
}

/* Diagonal @p d from an end consists of cycle k of the block at distance d - k, for each k. Each
 * of them depends only on earlier ones of the diagonal and on earlier diagonals. Returns the first
 * k. */
static int64_t first_of_diagonal(const struct mesh_region *r, int64_t d)
{
    return d < r->n_blocks ? 0 : d - r->n_blocks + 1;
}
static int64_t end_of_diagonal(const struct mesh_region *r, int64_t d)
{
    const int64_t n = r->until - r->batch;
    return d < n ? d + 1 : n;
}
static int64_t n_diagonals(const struct mesh_region *r)
{
    return r->n_blocks + r->until - r->batch - 1;
}

/* ---- from the borders, and from the far end -------------------------------------------------- */

/* Run the remaining part of diagonal @p d from a border; false when it has to wait for the region
 * across the border. */
static bool run_diagonal(struct mesh_region *r, enum mesh_side side, int64_t d, int64_t now)
{
    for (int64_t k = first_of_diagonal(r, d); k < end_of_diagonal(r, d); k++) {
        const int64_t block = block_from(r, side, d - k);
        if (r->wave.ran[block] > k) continue;
        if (!can_run(r, k, block, now, &r->wave.awaited[side])) return false;
        run(r, k, block, side == MESH_TO_NORTH ? -1 : 1);
    }
    return true;
}

/* Run diagonals from a border, up to the last one that the region across it waits for. True when
 * one was completed. */
static bool run_from_border(struct mesh_region *r, enum mesh_side side, int64_t now)
{
    const int64_t depend = 2 * (r->until - r->batch) - 1, all = n_diagonals(r);
    const int64_t before = r->wave.diagonal[side];
    int64_t *d = &r->wave.diagonal[side];
    if (!has_border(r, side)) return false;
    while (*d < depend && *d < all && run_diagonal(r, side, *d, now))
        ++*d;
    return *d > before;
}

/* Run what is possible of the next diagonal from the far end. */
static void run_step(struct mesh_region *r, int64_t now)
{
    const bool north_alone = has_border(r, MESH_TO_NORTH) && !has_border(r, MESH_TO_SOUTH);
    const enum mesh_side from = north_alone ? MESH_TO_SOUTH : MESH_TO_NORTH;
    const int64_t d = r->wave.step++;
    struct mesh_awaited other;
    for (int64_t k = first_of_diagonal(r, d); k < end_of_diagonal(r, d); k++) {
        const int64_t block = block_from(r, from, d - k);
        if (r->wave.ran[block] == k && can_run(r, k, block, now, &other))
            run(r, k, block, from == MESH_TO_NORTH ? -1 : 1);
    }
}

/* Run blocks that are still to run up to cycle @p now, wherever they are; false when none can. A
 * step leaves out a block that is not ready. Diagonals from a border run in order, so they do not
 * come to that block while they wait for a later cycle of the region across, which may in turn need
 * that block to end its own cycle. */
static bool run_left(struct mesh_region *r, int64_t now)
{
    struct mesh_awaited *left = &r->wave.awaited[MESH_SIDES];
    bool ran = false;
    left[MESH_TO_NORTH].cycle = left[MESH_TO_SOUTH].cycle = 0;
    for (int64_t block = 0; block < r->n_blocks; block++) {
        const int64_t k = r->wave.ran[block];
        struct mesh_awaited other = {0};
        if (r->batch + k > now) continue;
        if (can_run(r, k, block, now, &other)) {
            run(r, k, block, 1);
            ran = true;
        } else if (other.cycle &&
                   (!left[other.side].cycle || other.cycle < left[other.side].cycle)) {
            left[other.side] = other;
        }
    }
    return ran;
}

static bool have_all_run(const struct mesh_region *r, int64_t now)
{
    for (int64_t block = 0; block < r->n_blocks; block++)
        if (r->wave.ran[block] <= now - r->batch) return false;
    return true;
}

void mesh_wave_begin(struct mesh_region *r)
{
    struct mesh_wave *w = &r->wave;
    memset(w->ran, 0, (size_t)r->n_blocks * sizeof *w->ran);
    w->step = 0;
    for (enum mesh_side side = 0; side < MESH_SIDES; side++)
        w->diagonal[side] = 0;
    mesh_flow_begin(r);
}

/* Run what is possible at the borders, and one step from the far end; false when nothing could
 * run. */
static bool run_some(struct mesh_region *r, int64_t now)
{
    bool ran = false;
    for (enum mesh_side side = 0; side < MESH_SIDES; side++) {
        r->wave.awaited[side].cycle = 0;
        ran |= run_from_border(r, side, now);
    }
    if (r->wave.step == n_diagonals(r)) return ran;
    run_step(r, now);
    return true;
}

static bool awaits_another(const struct mesh_region *r)
{
    for (int i = 0; i < MESH_AWAITED; i++)
        if (r->wave.awaited[i].cycle) return true;
    return false;
}

bool mesh_wave_run(struct mesh_region *r, int64_t now)
{
    do
        while (run_some(r, now))
            ;
    while (!have_all_run(r, now) && run_left(r, now));
    if (!have_all_run(r, now)) {
        WSC_CHECK(awaits_another(r), "cycle %lld: blocks of one region wait for each other",
                  (long long)now);
        return false;
    }
    if (now + 1 == r->until) mesh_flow_end(r);
    return true;
}

bool mesh_wave_can_continue(const void *region)
{
    const struct mesh_region *r = region;
    for (int i = 0; i < MESH_AWAITED; i++) {
        const struct mesh_awaited *a = &r->wave.awaited[i];
        if (a->cycle && has_run_until(r, a->side, a->cycle, 0)) return true;
    }
    return false;
}
