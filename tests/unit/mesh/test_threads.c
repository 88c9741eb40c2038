// SPDX-License-Identifier: Apache-2.0
#include "../../support/test.h"
#include "../model/model_case.h"
#include "kernel_case.h"

#include <wsc/kernels.h>
#include <wsc/mem.h>

#include <stdio.h>
#include <string.h>

/* Bands of rows on threads of the host: nothing that can be seen depends on their number. */

enum { MAX_THREADS = 5, TEXT = 512 };

/* T_OK with less nesting: it stands in loops here. */
static void ok(enum wsc_err rc)
{
    T_OK(rc);
}

static struct programs_result run(const struct kernels_row *k, struct programs_case c, int threads)
{
    struct programs_result r;
    c.threads = threads;
    ok(kernels_row_run(k, &c, &r));
    return r;
}

static void compare(const struct kernels_row *k, const struct programs_case *c)
{
    const struct programs_result one = run(k, *c, 1);
    for (int threads = 2; threads <= MAX_THREADS; threads++) {
        const struct programs_result r = run(k, *c, threads);
        const bool same = !memcmp(&r.stats, &one.stats, sizeof r.stats) &&
                          r.max_error >= one.max_error && r.max_error <= one.max_error;
        if (!same) (void)printf("%s %s on %d threads\n", k->name, c->algo ? c->algo : "", threads);
        CU_ASSERT(same);
    }
}

TEST(mesh_threads, kernels_count_the_same)
{
    const struct hw_machine cluster = model_case_cs2();
    const struct hw hw = {.cluster = &cluster};
    for (int i = 0; kernels_row_at(i); i++) {
        const struct kernels_row *k = kernels_row_at(i);
        for (int arch = 0; arch < 2; arch++) {
            const struct programs_case c = kernel_case(k, &hw, (enum mesh_arch)arch);
            compare(k, &c);
        }
    }
}

TEST(mesh_threads, every_tree_counts_the_same)
{
    static const char *const algo[] = {"star", "chain", "tree", "two-phase", "auto", "snake"};
    const struct kernels_row *k;
    ok(kernels_row_find("allreduce", &k));
    for (int i = 0; i < (int)(sizeof algo / sizeof *algo); i++)
        compare(k,
                &(struct programs_case){.algo = algo[i], .w = 4, .h = 9, .words = 17, .seed = 3});
}

/* ---- errors ---------------------------------------------------------------------------------- */

enum { GO = 8, W = 4, H = 6 };

/* Everybody waits for the neighbour below; two rows besides reach outside their memory when the
 * case says so. */
static enum wsc_err wait_or_reach(struct mesh_pe *pe, uint32_t data)
{
    const int *reach = mesh_user(pe);
    const struct mesh_dsd none = {0};
    (void)data;
    if (*reach && mesh_y(pe) % 3 == 1)
        return mesh_do(pe, MESH_FMOVS, mesh_mem(MESH_SRAM_BYTES - 4, 2), mesh_float(1), none);
    return mesh_do(pe, MESH_FMOVS, mesh_mem(0, 3), mesh_in(mesh_y(pe) % 2, 3), none);
}

static void program(struct mesh *m)
{
    for (int y = 0; y < H; y++) {
        const struct mesh_rect row = {0, y, W, 1};
        const struct mesh_route in = {.rx = MESH_SOUTH, .tx = MESH_RAMP};
        const struct mesh_route out = {.rx = MESH_RAMP, .tx = MESH_NORTH};
        ok(mesh_route(m, row, y % 2, &in));
        ok(mesh_route(m, row, 1 - y % 2, &out));
        ok(mesh_input_queue(m, row, 2, y % 2));
    }
    ok(mesh_task(m, (struct mesh_rect){0, 0, W, H}, GO, wait_or_reach, MESH_LOW));
    ok(mesh_start(m, (struct mesh_rect){0, 0, W, H}, GO));
}

static void failure(int reach, int threads, char text[TEXT])
{
    struct mesh_stats stats;
    struct mesh *m;
    ok(mesh_create(&m, &(struct mesh_config){.w = W, .h = H, .threads = threads, .user = &reach}));
    program(m);
    T_EQ(mesh_run(m, &stats), reach ? WSC_CAPACITY : WSC_DEADLOCK);
    (void)snprintf(text, TEXT, "%s", wsc_err_message());
    mesh_destroy(&m);
}

TEST(mesh_threads, errors_read_the_same)
{
    for (int i = 0; i < 2 * (MAX_THREADS - 1); i++) {
        const int reach = i % 2, threads = 2 + i / 2;
        char one[TEXT], other[TEXT];
        failure(reach, 1, one);
        failure(reach, threads, other);
        CU_ASSERT(strstr(one, "PE (0, ") != NULL);
        T_STR(other, one);
    }
    T_EQ(wsc_mem_in_use(WSC_MEM_MESH), 0);
}
