// SPDX-License-Identifier: Apache-2.0
/* Runs the job of every collective: a fabric of the case's size, the run with its time on this
 * host, and the comparison with the sum that the host computes. Operands are multiples of 1/8, so
 * that sums are exact. */
#include "program_job.h"

#include <wsc/clock.h>
#include <wsc/mem.h>
#include <wsc/mesh_snapshot.h>
#include <wsc/num.h>
#include <wsc/rng.h>

#include <math.h>
#include <string.h>

/* After a failure, programs_job_fini() frees what was allocated. No PE has a part in a tree yet
 * (send -1). */
enum wsc_err programs_job_init(struct programs_job *j, const struct programs_case *c,
                               struct programs_result *r)
{
    memset(j, 0, sizeof *j);
    *r = (struct programs_result){.algo = c->algo ? c->algo : "",
                                  .words = c->words,
                                  .analytical = -1,
                                  .built = -1,
                                  .schedule = -1};
    j->c = c;
    j->r = r;
    j->w = c->w;
    j->h = c->h;
    j->words = c->words;
    TRY(mesh_create(&j->m, &(struct mesh_config){.w = c->w,
                                                 .h = c->h,
                                                 .arch = c->arch,
                                                 .half = c->half,
                                                 .user = j,
                                                 .threads = c->threads,
                                                 .share = c->share,
                                                 .progress = c->progress,
                                                 .stop = c->stop,
                                                 .progress_ctx = c->progress_ctx,
                                                 .snapshots = c->snapshots}));
    mesh_watch_attach(j->m, c->watch);
    TRY_NEW(j->step, WSC_MEM_MESH, (int64_t)c->w * c->h);
    TRY(mesh_note(j->m, j->step, sizeof *j->step));
    for (int i = 0; i < 4; i++) {
        TRY_NEW(j->node[i], WSC_MEM_MESH, (int64_t)c->w * c->h);
        for (int64_t pe = 0; pe < (int64_t)c->w * c->h; pe++)
            j->node[i][pe].send = -1;
    }
    return WSC_OK;
}

void programs_job_fini(struct programs_job *j)
{
    mesh_destroy(&j->m);
    wsc_free(j->step);
    wsc_free(j->sum);
    for (int i = 0; i < 4; i++) {
        wsc_free(j->node[i]);
        wsc_free(j->host[i]);
    }
}

enum wsc_err programs_job_do(const struct programs_case *c, struct programs_result *r,
                             enum wsc_err (*work)(struct programs_job *j))
{
    struct programs_job j;
    enum wsc_err rc = programs_job_init(&j, c, r);
    if (!rc) rc = work(&j);
    programs_job_fini(&j);
    return rc;
}

enum wsc_err programs_job_run(struct programs_job *j)
{
    double start = wsc_clock_s();
    mesh_snapshots_last(j->c->snapshots);
    TRY(mesh_run(j->m, &j->r->stats));
    j->r->host_seconds = wsc_clock_s() - start;
    return WSC_OK;
}

/* Draw the values @p first to first + n of @p slot. */
static void fill_random(const struct programs_job *j, int slot, int64_t first, int64_t n)
{
    const uint64_t stream = wsc_rng_stream(WSC_RNG_TEST, (uint64_t)slot);
    for (int64_t i = 0; i < n; i++)
        j->host[slot][i] =
            (float)((int)(wsc_rng_u64(j->c->seed, stream, (uint64_t)(first + i)) % 63) - 31) / 8;
}

enum wsc_err programs_job_floats(struct programs_job *j, int slot, int64_t n, bool fill)
{
    TRY_NEW(j->host[slot], WSC_MEM_MESH, n);
    if (fill) fill_random(j, slot, 0, n);
    return WSC_OK;
}

/* Errors are relative for values above 1 and absolute below; NaN stays NaN (num_max_error). */
void programs_job_compare(struct programs_job *j, double got, double expected)
{
    double error = fabs(got - expected) / (1 + fabs(expected));
    j->r->max_error = num_max_error(j->r->max_error, error);
}

/* Row by row, since the vectors of a whole wafer have gigabytes. */
enum wsc_err programs_job_vector(struct programs_job *j)
{
    const int64_t b = j->words, of_row = j->w * b;
    TRY(mesh_reserve(j->m, programs_job_all(j), b * 4, 0, "the vector", &j->data));
    TRY(programs_job_floats(j, 0, of_row, false));
    TRY_NEW(j->sum, WSC_MEM_MESH, b);
    for (int y = 0; y < j->h; y++) {
        fill_random(j, 0, y * of_row, of_row);
        for (int64_t x = 0; x < j->w; x++)
            for (int64_t i = 0; i < b; i++)
                j->sum[i] += j->host[0][x * b + i];
        TRY(mesh_copy_in(j->m, (struct mesh_rect){0, y, j->w, 1}, j->data, j->host[0], b * 4));
    }
    return WSC_OK;
}

/* Sums in double precision are exact for these operands, so any difference is an error of the
 * program. */
enum wsc_err programs_job_check_sum(struct programs_job *j, struct mesh_rect at)
{
    const int64_t b = j->words;
    TRY(programs_job_floats(j, 1, at.w * b, false));
    for (int y = at.y; y < at.y + at.h; y++) {
        const struct mesh_rect row = {at.x, y, at.w, 1};
        TRY(mesh_copy_out(j->m, row, j->data, j->host[1], b * 4));
        for (int64_t x = 0; x < at.w; x++)
            for (int64_t i = 0; i < b; i++)
                programs_job_compare(j, j->host[1][x * b + i], j->sum[i]);
    }
    return WSC_OK;
}
