// SPDX-License-Identifier: Apache-2.0
#include "fuzz.h"

#include <wsc/report.h>

#include <unistd.h>

static void check_rows(const struct report_reference *rows, int n)
{
    struct report_point *points = NULL;
    int n_points = 0;
    for (int i = 0; i < n; i++)
        fuzz_check(rows[i].id[0] && rows[i].value - rows[i].value == 0, "a row without a figure");
    if (report_points_of(rows, n, &points, &n_points)) fuzz_check_message();
    wsc_free(points);
}

/* Published figures, and points to draw. */
void fuzz_reference(const uint8_t *bytes, size_t n)
{
    struct report_reference *rows = NULL;
    struct report_point *points = NULL;
    int n_rows = 0, n_points = 0;
    char path[FUZZ_PATH_BYTES];
    const int fd = fuzz_as_file(bytes, n, path);
    if (report_references_read(path, &rows, &n_rows))
        fuzz_check_message();
    else
        check_rows(rows, n_rows);
    wsc_free(rows);
    if (report_points_read(path, &points, &n_points)) fuzz_check_message();
    wsc_free(points);
    (void)close(fd);
    fuzz_check_memory(WSC_MEM_REPORT);
}

/* The metrics of an earlier run, which a resumed one goes on with. */
void fuzz_metrics(const uint8_t *bytes, size_t n)
{
    struct report_metrics *m = NULL;
    fuzz_put("metrics.jsonl", bytes, n);
    if (report_metrics_open(&m, fuzz_folder(), 10)) fuzz_check_message();
    report_metrics_close(&m);
    fuzz_check_memory(WSC_MEM_REPORT);
}
