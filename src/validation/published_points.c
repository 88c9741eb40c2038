// SPDX-License-Identifier: Apache-2.0
/* Reads the points of `wsc scale --points`: a CSV that begins with
 * model,num_csx,tokens_per_s,source, where samples_per_s or speedup may stand for the third. */
#include "validation_impl.h"

#include <wsc/log.h>
#include <wsc/mem.h>
#include <wsc/units.h>

#include <string.h>

enum { MODEL, NUM_CSX, RATE, SOURCE, N_NEEDED };
static const char *const needed[N_NEEDED] = {"model", "num_csx", "tokens_per_s", "source"};
static const char *const unit[] = {[VALIDATION_TOKENS_PER_S] = "tokens_per_s",
                                   [VALIDATION_SAMPLES_PER_S] = "samples_per_s",
                                   [VALIDATION_SPEEDUPS] = "speedup"};
enum { N_UNITS = sizeof unit / sizeof *unit };

/* Where points go; grows. */
struct points {
    struct validation_point *point;
    int n, size;
    int unit; /* of the file's third column */
};

#define PLACE(r) (r)->path, (r)->line
/* File, line, and column of field @i. */
#define PLACE_OF(r, i) PLACE(r), (r)->column[i]

/* The head line has these columns first, in this order. */
static WSC_CHECKED enum wsc_err check_head(struct out_csv *r, int *unit_of_file)
{
    for (int i = 0; i < N_NEEDED; i++) {
        const char *field = i < r->n_fields ? r->field[i] : "";
        bool good = i != RATE && !strcmp(field, needed[i]);
        for (int u = 0; i == RATE && !good && u < N_UNITS; u++) {
            good = !strcmp(field, unit[u]);
            *unit_of_file = u;
        }
        if (good) continue;
        return wsc_err_hint(
            WSC_RAISE(WSC_CONFIG, "%s:%d:%d: expected the column %s, got \"%.60s\"", PLACE(r),
                      i < r->n_fields ? r->column[i] : 1, needed[i], field),
            "the head line is model,num_csx,tokens_per_s,source; the third column may be "
            "samples_per_s or speedup");
    }
    r->n_columns = r->n_fields;
    for (int i = N_NEEDED; i < r->n_fields; i++)
        WSC_WARNING("%s:%d:%d: column %.40s is ignored", PLACE_OF(r, i), r->field[i]);
    return WSC_OK;
}

static WSC_CHECKED enum wsc_err take_count(const struct out_csv *r, int column, double *value)
{
    int64_t count;
    const char *text = r->field[column];
    if (wsc_units_int(text, &count) || count < 1)
        return WSC_RAISE(WSC_CONFIG, "%s:%d:%d: %s: expected a whole number above 0, got \"%.40s\"",
                         PLACE_OF(r, column), needed[column], text);
    *value = (double)count;
    return WSC_OK;
}

static WSC_CHECKED enum wsc_err take_number(const struct out_csv *r, int column, const char *name,
                                            double *value)
{
    const char *text = r->field[column];
    if (out_parse_real(text, strlen(text), value) && *value > 0) return WSC_OK;
    return WSC_RAISE(WSC_CONFIG, "%s:%d:%d: %s: expected a number above 0, got \"%.40s\"",
                     PLACE_OF(r, column), name, text);
}

static WSC_CHECKED enum wsc_err take_text(const struct out_csv *r, int column, char *text,
                                          size_t size)
{
    size_t n = strlen(r->field[column]);
    if (!n)
        return WSC_RAISE(WSC_CONFIG, "%s:%d:%d: %s: is empty", PLACE_OF(r, column), needed[column]);
    if (n >= size)
        return WSC_RAISE(WSC_CONFIG, "%s:%d:%d: %s: longer than %zu bytes", PLACE_OF(r, column),
                         needed[column], size - 1);
    memcpy(text, r->field[column], n + 1);
    return WSC_OK;
}

/* The line of an equal point above @p p, the last of the list; 0: there is none. */
static int line_of_equal(const struct points *list, const struct validation_point *p)
{
    for (int i = 0; i < list->n; i++) {
        const struct validation_point *q = &list->point[i];
        if (!strcmp(q->model, p->model) && q->num_csx == p->num_csx &&
            q->tokens_per_s == p->tokens_per_s && !strcmp(q->source, p->source))
            return q->line;
    }
    return 0;
}

static WSC_CHECKED enum wsc_err add_point(const struct out_csv *r, struct points *list)
{
    if (r->n_fields != r->n_columns)
        return WSC_RAISE(WSC_CONFIG, "%s:%d: %d fields, the head line has %d", PLACE(r),
                         r->n_fields, r->n_columns);
    TRY_GROW(list->point, WSC_MEM_REPORT, list->size, list->n + 1);
    struct validation_point *p = &list->point[list->n];
    TRY(take_text(r, MODEL, p->model, sizeof p->model));
    TRY(take_count(r, NUM_CSX, &p->num_csx));
    TRY(take_number(r, RATE, unit[list->unit], &p->tokens_per_s));
    p->unit = (enum validation_point_unit)list->unit;
    TRY(take_text(r, SOURCE, p->source, sizeof p->source));
    p->line = r->line;
    const int line = line_of_equal(list, p);
    if (line)
        WSC_WARNING("%s:%d: is left out: equal to line %d", PLACE(r), line);
    else
        list->n++;
    return WSC_OK;
}

static WSC_CHECKED enum wsc_err read_all(struct out_csv *r, struct points *list)
{
    bool more;
    TRY(out_csv_next(r, &more));
    if (!more)
        return WSC_RAISE(WSC_CONFIG, "%s: empty, expected model,num_csx,tokens_per_s,source",
                         r->path);
    TRY(check_head(r, &list->unit));
    for (;;) {
        TRY(out_csv_next(r, &more));
        if (!more) break;
        TRY(add_point(r, list));
    }
    if (list->n) return WSC_OK;
    return WSC_RAISE(WSC_CONFIG, "%s: no point after the head line", r->path);
}

enum wsc_err validation_points_read(const char *path, struct validation_point **points, int *n)
{
    struct points list = {0};
    struct out_csv *r;
    *points = NULL;
    *n = 0;
    TRY(out_csv_open(&r, path));
    enum wsc_err rc = read_all(r, &list);
    out_csv_close(&r);
    if (rc) {
        wsc_free(list.point);
        return rc;
    }
    *points = list.point;
    *n = list.n;
    return WSC_OK;
}
