// SPDX-License-Identifier: Apache-2.0
#include "../../support/test.h"

#include <wsc/mem.h>
#include <wsc/mesh.h>

/* Programs one after the other on the same PEs: memory stays, everything else is new. */

enum { GO = 8, WORDS = 4 };

static int words;

static const struct mesh_rect both = {0, 0, 2, 1}, left = {0, 0, 1, 1}, right = {1, 0, 1, 1};

static float square_plus(float a, float b)
{
    return a * a + b;
}

static enum wsc_err map_main(struct mesh_pe *pe, uint32_t data)
{
    const struct mesh_dsd own = mesh_mem(words, WORDS);
    (void)data;
    return mesh_map(pe, square_plus, 20, own, own, own);
}

static enum wsc_err send_main(struct mesh_pe *pe, uint32_t data)
{
    (void)data;
    return mesh_do(pe, MESH_FMOVS, mesh_out(3, WORDS), mesh_mem(words, WORDS),
                   (struct mesh_dsd){0});
}

static enum wsc_err add_main(struct mesh_pe *pe, uint32_t data)
{
    const struct mesh_dsd own = mesh_mem(words, WORDS);
    (void)data;
    return mesh_do(pe, MESH_FADDS, own, mesh_in(3, WORDS), own);
}

static void run_map(struct mesh *m, struct mesh_stats *stats)
{
    T_OK(mesh_task(m, both, GO, map_main, MESH_LOW));
    T_OK(mesh_start(m, both, GO));
    T_OK(mesh_run(m, stats));
}

static void run_add(struct mesh *m, struct mesh_stats *stats)
{
    const struct mesh_route out = {.rx = MESH_RAMP, .tx = MESH_EAST};
    const struct mesh_route in = {.rx = MESH_WEST, .tx = MESH_RAMP};
    T_OK(mesh_route(m, left, 3, &out));
    T_OK(mesh_route(m, right, 3, &in));
    T_OK(mesh_output_queue(m, left, 2, 3));
    T_OK(mesh_input_queue(m, right, 2, 3));
    T_OK(mesh_task(m, left, GO, send_main, MESH_LOW));
    T_OK(mesh_task(m, right, GO, add_main, MESH_LOW));
    T_OK(mesh_start(m, both, GO));
    T_OK(mesh_run(m, stats));
}

TEST(mesh, programs_follow_each_other_on_the_same_memory)
{
    const float start[2 * WORDS] = {1, 2, 3, 4, 0.5F, 0, -1, 8};
    const float mapped[2 * WORDS] = {2, 6, 12, 20, 0.75F, 0, 0, 72};
    float got[2 * WORDS];
    struct mesh_stats stats;
    struct mesh *m;
    T_OK(mesh_create(&m, &(struct mesh_config){.w = 2, .h = 1}));
    T_OK(mesh_reserve(m, both, sizeof start / 2, 0, "words", &words));
    T_OK(mesh_copy_in(m, both, words, start, sizeof start / 2));
    run_map(m, &stats);
    T_EQ(stats.cycles, 15 + WORDS * 20); /* set-up, then 20 cycles an element */
    T_EQ(mesh_run(m, &stats), WSC_USAGE);
    T_OK(mesh_clear(m));
    run_add(m, &stats);
    T_EQ(stats.cycles, WORDS + 6); /* as after mesh_create: the clock starts again */
    T_OK(mesh_copy_out(m, both, words, got, sizeof got / 2));
    for (int i = 0; i < WORDS; i++) {
        T_NEAR(got[i], mapped[i], 0);
        T_NEAR(got[WORDS + i], mapped[i] + mapped[WORDS + i], 0);
    }
    mesh_destroy(&m);
    T_EQ(wsc_mem_in_use(WSC_MEM_MESH), 0);
}

TEST(mesh, released_memory_is_reserved_again)
{
    int first, second, again;
    struct mesh *m;
    T_OK(mesh_create(&m, &(struct mesh_config){.w = 2, .h = 1}));
    T_OK(mesh_reserve(m, both, 40000, 0, "first", &first));
    T_OK(mesh_reserve(m, left, 8000, 0, "second", &second));
    T_EQ(mesh_reserve(m, both, 8000, 0, "third", &again), WSC_CAPACITY);
    T_OK(mesh_release(m, both, second));
    T_OK(mesh_reserve(m, both, 8000, 0, "third", &again));
    T_EQ(again, second);
    mesh_destroy(&m);
}

static enum wsc_err map_of_nothing(struct mesh_pe *pe, uint32_t data)
{
    const struct mesh_dsd own = mesh_mem(0, 4);
    (void)data;
    return mesh_map(pe, square_plus, 0, own, own, (struct mesh_dsd){0});
}

TEST(mesh, a_map_without_cost_is_refused)
{
    struct mesh_stats stats;
    struct mesh *m;
    T_OK(mesh_create(&m, &(struct mesh_config){.w = 1, .h = 1}));
    T_OK(mesh_task(m, left, GO, map_of_nothing, MESH_LOW));
    T_OK(mesh_start(m, left, GO));
    T_EQ(mesh_run(m, &stats), WSC_USAGE);
    mesh_destroy(&m);
}
