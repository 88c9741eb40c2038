// SPDX-License-Identifier: Apache-2.0
/* Blocks of places run a batch of cycles along a wave (src/mesh/mesh_cycle.c): what can be seen is
 * that of one cycle after the other, which a watched run still is.  Fabrics here have several
 * blocks; those of other tests mostly have one. */
#include "../../support/test.h"
#include "../model/model_case.h"
#include "kernel_case.h"

#include <wsc/kernels.h>
#include <wsc/mem.h>

#include <stdio.h>
#include <string.h>

enum { MAX_THREADS = 4, SIDE = 36, W = 64, H = 16, EARLY = 5, LATER = 40, STARTS = 8, FAILS = 9 };

/* T_OK with less nesting: it stands in loops here. */
static void ok(enum wsc_err rc)
{
    T_OK(rc);
}

/* ---- counts ---------------------------------------------------------------------------------- */

TEST(mesh_batch, counts_are_those_of_single_cycles)
{
    static const char *const kernel[] = {"allreduce", "gemm", "transpose", "layernorm", "softmax"};
    const struct hw_machine cluster = model_case_cs2();
    const struct hw hw = {.cluster = &cluster};
    for (int i = 0; i < (int)(sizeof kernel / sizeof *kernel); i++)
        for (int arch = 0; arch < 2; arch++)
            kernel_same_as_watched(kernel[i],
                                   (struct programs_case){.w = SIDE,
                                                          .h = SIDE,
                                                          .arch = (enum mesh_arch)arch,
                                                          .words = 19,
                                                          .m = 7,
                                                          .n = 80,
                                                          .k = 90,
                                                          .tokens = 40,
                                                          .samples = 1,
                                                          .features = 75,
                                                          .hw = &hw,
                                                          .seed = 2},
                                   1e-4);
    T_EQ(wsc_mem_in_use(WSC_MEM_MESH), 0);
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* PEs of the last rows fail in cycle EARLY, those of the first ones in the next cycle, which the
 * wave reaches before. */
static enum wsc_err wait_first(struct mesh_pe *pe, uint32_t data)
{
    (void)data;
    TRY(mesh_wait(pe, mesh_y(pe) >= H / 2 ? EARLY : EARLY + 1));
    return mesh_activate(pe, FAILS);
}

static enum wsc_err fail(struct mesh_pe *pe, uint32_t data)
{
    (void)data;
    return mesh_wait(pe, -(int64_t)mesh_now(pe));
}

static void expect_earliest(int threads)
{
    const struct mesh_rect columns[] = {{3, 0, 2, 3}, {7, H - 2, 2, 2}};
    struct mesh_stats stats;
    struct mesh *m;
    char text[128];
    ok(mesh_create(&m, &(struct mesh_config){.w = W, .h = H, .threads = threads}));
    for (int i = 0; i < 2; i++) {
        ok(mesh_task(m, columns[i], STARTS, wait_first, MESH_LOW));
        ok(mesh_task(m, columns[i], FAILS, fail, MESH_LOW));
        ok(mesh_start(m, columns[i], STARTS));
    }
    T_EQ(mesh_run(m, &stats), WSC_USAGE);
    (void)snprintf(text, sizeof text, "PE (7, %d): a wait of -%d cycles", H - 2, EARLY);
    T_STR(wsc_err_message(), text);
    mesh_destroy(&m);
}

static enum wsc_err wait_longer(struct mesh_pe *pe, uint32_t data)
{
    (void)data;
    TRY(mesh_wait(pe, LATER));
    return mesh_activate(pe, FAILS);
}

/* PEs of all rows below the middle fail in one cycle; a thread visits those beside its border after
 * the others. */
static void expect_first(int threads)
{
    const struct mesh_rect column = {3, H / 2 + 1, 1, H / 2 - 1};
    struct mesh_stats stats;
    struct mesh *m;
    char text[128];
    ok(mesh_create(&m, &(struct mesh_config){.w = W, .h = H, .threads = threads}));
    ok(mesh_task(m, column, STARTS, wait_longer, MESH_LOW));
    ok(mesh_task(m, column, FAILS, fail, MESH_LOW));
    ok(mesh_start(m, column, STARTS));
    T_EQ(mesh_run(m, &stats), WSC_USAGE);
    (void)snprintf(text, sizeof text, "PE (3, %d): a wait of -%d cycles", H / 2 + 1, LATER);
    T_STR(wsc_err_message(), text);
    mesh_destroy(&m);
}

TEST(mesh_batch, the_earliest_error_counts)
{
    for (int threads = 1; threads <= MAX_THREADS; threads++) {
        expect_earliest(threads);
        expect_first(threads);
    }
    T_EQ(wsc_mem_in_use(WSC_MEM_MESH), 0);
}
