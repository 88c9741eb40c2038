// SPDX-License-Identifier: Apache-2.0
#include "../../src/job/job_metrics.h"
#include "fuzz.h"

#include <wsc/report.h>

#include <unistd.h>

static bool check_rows(const struct validation_figure *rows, int n)
{
    struct validation_point *points = NULL;
    int n_points = 0;
    for (int i = 0; i < n; i++)
        fuzz_check(rows[i].id[0] && rows[i].value - rows[i].value == 0, "a row without a figure");
    const bool taken = fuzz_taken(validation_points_of(rows, n, &points, &n_points));
    wsc_free(points);
    return taken;
}

/* Published figures, and points to draw. */
bool fuzz_reference(const uint8_t *bytes, size_t n)
{
    struct validation_figure *rows = NULL;
    struct validation_point *points = NULL;
    int n_rows = 0, n_points = 0;
    char path[FUZZ_PATH_BYTES];
    const int fd = fuzz_as_file(bytes, n, path);
    bool taken =
        fuzz_taken(validation_figures_read(path, &rows, &n_rows)) && check_rows(rows, n_rows);
    wsc_free(rows);
    taken |= fuzz_taken(validation_points_read(path, &points, &n_points));
    wsc_free(points);
    (void)close(fd);
    fuzz_check_memory(WSC_MEM_REPORT);
    return taken;
}

/* The metrics of an earlier run, which a resumed one continues. */
bool fuzz_metrics(const uint8_t *bytes, size_t n)
{
    struct job_metrics *m = NULL;
    (void)fuzz_put("metrics.jsonl", bytes, n);
    const bool taken =
        fuzz_taken(job_metrics_open(&m, fuzz_folder(), (struct job_kept){10, 9, -1, -1}));
    job_metrics_close(&m);
    fuzz_check_memory(WSC_MEM_REPORT);
    return taken;
}
