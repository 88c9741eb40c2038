// SPDX-License-Identifier: Apache-2.0
/* Measures operations whose cycles are published, for comparison: calls of fp32 fmacs (WSE-2
 * simulator), the parts of a message (FABRICA, WSE-3 simulator), all-reduce (WaferLLM). `wsc mesh
 * calibration` prints the points; each point names its source. */
#include "program_job.h"
#include "program_ktree.h"

#include <stdio.h>

static enum wsc_err report_point(const char *what, int64_t counted, double published,
                                 programs_point_fn point, void *ctx)
{
    struct programs_point p = {.cycles = counted,
                               .reference = published,
                               .built = -1,
                               .schedule = -1,
                               .tolerance = 0.05,
                               .slack = 1};
    (void)snprintf(p.what, sizeof p.what, "%s", what);
    return point(ctx, &p);
}

/* ---- fp32 fmacs calls: pr0f3ss/SpMM_Cerebras, GEMM_benchmark.csv, WSE-2 simulator -------------
 */

static enum wsc_err fmacs_point(int64_t length, double published, programs_point_fn point,
                                void *ctx)
{
    enum { CALLS = 256 };
    struct programs_case c = {.w = 1, .h = 1, .length = length, .calls = CALLS, .seed = 1};
    struct programs_result r;
    char what[64];
    TRY(programs_run_fmacs(&c, &r));
    (void)snprintf(what, sizeof what, "fmacs call of %lld", (long long)length);
    return report_point(what, (r.stats.cycles + CALLS / 2) / CALLS, published, point, ctx);
}

/* ---- the parts of a message: FABRICA, WSE-3 simulator, 8 words over one hop -------------------
 */

enum { WORDS = 8, COLOUR = 0 };

static enum wsc_err sender(struct mesh_pe *pe, uint32_t data)
{
    (void)data;
    return mesh_do(pe, MESH_FMOVS, mesh_out(COLOUR, WORDS), mesh_mem(0, WORDS),
                   (struct mesh_dsd){0});
}

/* Words count from 0: stamp 0 is the cycle of the first word, stamp 1 finally that of the last. */
static enum wsc_err receiver(struct mesh_pe *pe, uint32_t data)
{
    int64_t *stamp = mesh_user(pe);
    stamp[data != 0] = mesh_now(pe);
    stamp[2]++;
    return WSC_OK;
}

/* Cycles at which a data task sees the first and the last word. */
static enum wsc_err message(struct mesh *m)
{
    const struct mesh_rect from = {0, 0, 1, 1}, to = {1, 0, 1, 1};
    const struct mesh_route out = {.rx = MESH_RAMP, .tx = MESH_EAST};
    const struct mesh_route in = {.rx = MESH_WEST, .tx = MESH_RAMP};
    const uint32_t word[WORDS] = {0, 1, 2, 3, 4, 5, 6, 7};
    struct mesh_stats stats;
    int address;
    TRY(mesh_reserve(m, from, sizeof word, 0, "words", &address));
    TRY(mesh_copy_in(m, from, address, word, sizeof word));
    TRY(mesh_route(m, from, COLOUR, &out));
    TRY(mesh_route(m, to, COLOUR, &in));
    TRY(mesh_output_queue(m, from, 0, COLOUR));
    TRY(mesh_input_queue(m, to, 0, COLOUR));
    TRY(mesh_task(m, from, PROGRAMS_JOB_MAIN, sender, MESH_LOW));
    TRY(mesh_data_task(m, to, COLOUR, receiver, MESH_LOW));
    TRY(mesh_start(m, from, PROGRAMS_JOB_MAIN));
    return mesh_run(m, &stats);
}

static enum wsc_err message_points(programs_point_fn point, void *ctx)
{
    int64_t stamp[3] = {0};
    struct mesh *m = NULL;
    TRY(mesh_create(&m, &(struct mesh_config){.w = 2, .h = 1, .arch = MESH_WSE3, .user = stamp}));
    enum wsc_err rc = message(m);
    mesh_destroy(&m);
    if (rc) return wsc_err_frame(rc, __FILE__, __LINE__, "the message");
    TRY(report_point("WSE-3 dispatch to first word", stamp[0], 387 - 375, point, ctx));
    return report_point("WSE-3 dispatch to last word", stamp[1], 394 - 375, point, ctx);
}

/* ---- all-reduce: Tetriscomp decode layer, WSE-3 simulator, one number a PE --------------------
 */

/* Cycles of the two simprint markers around the published all-reduce, which the kernel does not
 * have: calibrated on the row of 32 PEs alone. */
enum { MARKERS = 71 };

static enum wsc_err allreduce_point(int p, int groups, double published, programs_point_fn point,
                                    void *ctx)
{
    const struct programs_case c = {
        .w = p, .h = 1, .arch = MESH_WSE3, .words = 1, .groups = groups, .seed = 1};
    struct programs_result r;
    struct programs_point out = {
        .p = p, .h = 1, .words = 1, .reference = published, .tolerance = 0.10, .slack = 1};
    TRY(programs_run_ktree(&c, &r));
    (void)snprintf(out.what, sizeof out.what, "WSE-3 all-reduce, %s",
                   p == 32 ? "calibrated" : "predicted");
    (void)snprintf(out.algo, sizeof out.algo, "ktree");
    out.cycles = r.stats.cycles + MARKERS;
    out.built = out.schedule = -1;
    return point(ctx, &out);
}

enum wsc_err programs_calibration(programs_point_fn point, void *ctx)
{
    static const struct {
        int p, groups;
        double cycles;
    } row[] = {{32, 4, 279}, {50, 10, 300}, {64, 8, 357}}; /* all_reduceMax_bsz */
    TRY(fmacs_point(8, 38.0, point, ctx));
    TRY(fmacs_point(32, 87.0, point, ctx));
    TRY(message_points(point, ctx));
    for (int i = 0; i < 3; i++)
        TRY(allreduce_point(row[i].p, row[i].groups, row[i].cycles, point, ctx));
    return WSC_OK;
}
