// SPDX-License-Identifier: Apache-2.0
/* Reads the points of `wsc scale --points`: a CSV that begins with
 * model,num_csx,tokens_per_s,source.
 */
#include "validation_impl.h"

#include <wsc/mem.h>

#include <string.h>

enum { MODEL, NUM_CSX, TOKENS, SOURCE, N_NEEDED };
static const char *const needed[N_NEEDED] = {"model", "num_csx", "tokens_per_s", "source"};

/* Where points go; grows. */
struct points {
    struct validation_point *point;
    int n, size;
};

#define PLACE(r) (r)->path, (r)->line

static WSC_CHECKED enum wsc_err check_head(struct out_csv *r)
{
    bool good = r->n_fields >= N_NEEDED;
    for (int i = 0; good && i < N_NEEDED; i++)
        good = !strcmp(r->field[i], needed[i]);
    if (!good)
        return WSC_RAISE(
            WSC_FORMAT,
            "%s:%d: expected the head line model,num_csx,tokens_per_s,source, got \"%.60s\"",
            PLACE(r), r->field[0]);
    r->n_columns = r->n_fields;
    return WSC_OK;
}

static WSC_CHECKED enum wsc_err take_number(const struct out_csv *r, int column, double *value)
{
    const char *text = r->field[column];
    if (out_parse_real(text, strlen(text), value) && *value > 0) return WSC_OK;
    return WSC_RAISE(WSC_FORMAT, "%s:%d: %s: expected a number above 0, got \"%.40s\"", PLACE(r),
                     needed[column], text);
}

static WSC_CHECKED enum wsc_err take_text(const struct out_csv *r, int column, char *text,
                                          size_t size)
{
    size_t n = strlen(r->field[column]);
    if (!n) return WSC_RAISE(WSC_FORMAT, "%s:%d: %s is empty", PLACE(r), needed[column]);
    if (n >= size)
        return WSC_RAISE(WSC_FORMAT, "%s:%d: %s is longer than %zu bytes", PLACE(r), needed[column],
                         size - 1);
    memcpy(text, r->field[column], n + 1);
    return WSC_OK;
}

static WSC_CHECKED enum wsc_err add_point(const struct out_csv *r, struct points *list)
{
    if (r->n_fields != r->n_columns)
        return WSC_RAISE(WSC_FORMAT, "%s:%d: %d fields, the head line has %d", PLACE(r),
                         r->n_fields, r->n_columns);
    TRY_GROW(list->point, WSC_MEM_REPORT, list->size, list->n + 1);
    struct validation_point *p = &list->point[list->n];
    TRY(take_text(r, MODEL, p->model, sizeof p->model));
    TRY(take_number(r, NUM_CSX, &p->num_csx));
    TRY(take_number(r, TOKENS, &p->tokens_per_s));
    TRY(take_text(r, SOURCE, p->source, sizeof p->source));
    list->n++;
    return WSC_OK;
}

static WSC_CHECKED enum wsc_err read_all(struct out_csv *r, struct points *list)
{
    bool more;
    TRY(out_csv_next(r, &more));
    if (!more)
        return WSC_RAISE(WSC_FORMAT, "%s: empty, expected model,num_csx,tokens_per_s,source",
                         r->path);
    TRY(check_head(r));
    for (;;) {
        TRY(out_csv_next(r, &more));
        if (!more) return WSC_OK;
        TRY(add_point(r, list));
    }
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
