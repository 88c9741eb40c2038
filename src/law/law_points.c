// SPDX-License-Identifier: Apache-2.0
/* Reads points of trainings from a CSV: name, flop or params and tokens, loss, use, convention of
 * the FLOPs.  Its columns are found by their names.  Called by `wsc law --points`. */
#include "law_convention.h"

#include <wsc/log.h>
#include <wsc/mem.h>
#include <wsc/out.h>

#include <math.h>
#include <string.h>

enum { NAME, FLOP, PARAMS, TOKENS, LOSS, USE, CONVENTION, N_COLUMNS };
static const char *const column_name[N_COLUMNS] = {"name", "flop", "params",    "tokens",
                                                   "loss", "use",  "convention"};

/* Points so far; grows. */
struct points {
    struct law_point *point;
    int n, size;
    int at[N_COLUMNS]; /* field of each column, -1: the file has none */
};

#define PLACE(r) (r)->path, (r)->line

/* Parameters, or tokens, of a training; far beyond any. */
static const double most_counted = 1e18;

static enum wsc_err read_head(const struct out_csv *r, struct points *p)
{
    for (int k = 0; k < N_COLUMNS; k++)
        p->at[k] = -1;
    for (int i = 0; i < r->n_fields; i++) {
        int k = 0;
        while (k < N_COLUMNS && strcmp(r->field[i], column_name[k]) != 0)
            k++;
        if (k == N_COLUMNS)
            WSC_WARNING("%s:%d: column %.40s is ignored", PLACE(r), r->field[i]);
        else if (p->at[k] >= 0)
            return WSC_RAISE(WSC_CONFIG, "%s:%d:%d: a second column %s", PLACE(r), r->column[i],
                             column_name[k]);
        else
            p->at[k] = i;
    }
    const bool sized = p->at[FLOP] >= 0 || (p->at[PARAMS] >= 0 && p->at[TOKENS] >= 0);
    if (p->at[NAME] >= 0 && p->at[LOSS] >= 0 && sized) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_CONFIG,
                                  "%s:%d: expected columns name, loss, and flop or params and "
                                  "tokens",
                                  PLACE(r)),
                        "name,flop,loss");
}

/* A number above 0, of parameters and tokens one that an integer of 64 bits holds; 0 where the file
 * has no such column or the field is empty. */
static enum wsc_err take_number(const struct out_csv *r, const struct points *p, int k,
                                double *value)
{
    *value = 0;
    const char *text = p->at[k] < 0 ? "" : r->field[p->at[k]];
    if (!*text) return WSC_OK;
    const bool counts = k == PARAMS || k == TOKENS;
    const bool reads = out_parse_real(text, strlen(text), value) && isfinite(*value);
    if (reads && *value > 0 && (!counts || *value <= most_counted)) return WSC_OK;
    return WSC_RAISE(WSC_CONFIG, "%s:%d:%d: %s: expected a number above 0%s, got \"%.40s\"",
                     PLACE(r), r->column[p->at[k]], column_name[k], counts ? ", up to 1e18" : "",
                     text);
}

static enum wsc_err take_use(const struct out_csv *r, const struct points *p, bool *judged)
{
    const char *text = p->at[USE] < 0 ? "" : r->field[p->at[USE]];
    *judged = !strcmp(text, "judge");
    if (*judged || !*text || !strcmp(text, "fit")) return WSC_OK;
    return WSC_RAISE(WSC_CONFIG, "%s:%d:%d: use: expected fit or judge, got \"%.40s\"", PLACE(r),
                     r->column[p->at[USE]], text);
}

/* The column's, else by whether the row has FLOPs; that of the first row for all. */
static enum wsc_err take_convention(const struct out_csv *r, const struct points *list,
                                    struct law_point *p)
{
    const int at = list->at[CONVENTION];
    const char *text = at < 0 ? "" : r->field[at];
    int k = *text ? 0 : p->flop > 0 ? LAW_HOFFMANN : LAW_6PD;
    while (*text && k < LAW_N_CONVENTIONS &&
           strcmp(text, law_convention_name((enum law_convention)k)) != 0)
        k++;
    if (k == LAW_N_CONVENTIONS)
        return WSC_RAISE(WSC_CONFIG,
                         "%s:%d:%d: convention: expected hoffmann or 6pd, got \"%.40s\"", PLACE(r),
                         r->column[at], text);
    p->convention = (enum law_convention)k;
    if (!list->n || p->convention == list->point->convention) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_CONFIG,
                                  "%s:%d: %s: its FLOPs are counted by %s, those of %s by %s",
                                  PLACE(r), p->name, law_convention_name(p->convention),
                                  list->point->name, law_convention_name(list->point->convention)),
                        "flop in all rows or in none, or a column convention");
}

/* Embedding and attention add to 6 params tokens, recomputation too; adapters and embeddings that
 * are no product take away.  FLOPs further away are of another training, or in another unit. */
static void warn_of_flop(const struct out_csv *r, const struct points *list,
                         const struct law_point *p, double product)
{
    const double most = 10, least = 0.5;
    if (!(product > 0) || (p->flop >= least * product && p->flop <= most * product)) return;
    WSC_WARNING("%s:%d:%d: flop: %s has %.3g, 6 params tokens are %.3g; the law takes flop",
                PLACE(r), r->column[list->at[FLOP]], p->name, p->flop, product);
}

static enum wsc_err add_point(const struct out_csv *r, struct points *list)
{
    if (r->n_fields != r->n_columns)
        return WSC_RAISE(WSC_CONFIG, "%s:%d: %d fields, the head line has %d", PLACE(r),
                         r->n_fields, r->n_columns);
    TRY_GROW(list->point, WSC_MEM_REPORT, list->size, list->n + 1);
    struct law_point *p = &list->point[list->n];
    double params, tokens;
    memset(p, 0, sizeof *p);
    const char *name = r->field[list->at[NAME]];
    if (!*name || strlen(name) >= sizeof p->name)
        return WSC_RAISE(WSC_CONFIG, "%s:%d: name: expected 1 to %zu bytes", PLACE(r),
                         sizeof p->name - 1);
    memcpy(p->name, name, strlen(name) + 1);
    TRY(take_number(r, list, PARAMS, &params));
    TRY(take_number(r, list, TOKENS, &tokens));
    TRY(take_number(r, list, FLOP, &p->flop));
    TRY(take_number(r, list, LOSS, &p->loss));
    TRY(take_use(r, list, &p->judged));
    TRY(take_convention(r, list, p));
    const double product = law_count(LAW_6PD, params, tokens, 0);
    if (!(p->flop > 0) && p->convention == LAW_6PD) p->flop = product;
    if (!(p->flop > 0) || !(p->loss > 0))
        return WSC_RAISE(WSC_CONFIG, "%s:%d: %s: FLOPs or loss are missing", PLACE(r), name);
    warn_of_flop(r, list, p, product);
    p->params = (int64_t)params;
    p->tokens = (int64_t)tokens;
    list->n++;
    return WSC_OK;
}

static enum wsc_err read_all(struct out_csv *r, struct points *list)
{
    bool more;
    TRY(out_csv_next(r, &more));
    if (!more) return WSC_RAISE(WSC_CONFIG, "%s: is empty", r->path);
    r->n_columns = r->n_fields;
    TRY(read_head(r, list));
    for (;;) {
        TRY(out_csv_next(r, &more));
        if (!more) break;
        TRY(add_point(r, list));
    }
    if (list->n) return WSC_OK;
    return WSC_RAISE(WSC_CONFIG, "%s: no training after the head line", r->path);
}

enum wsc_err law_points_read(const char *path, struct law_point **out, int *n)
{
    struct out_csv *r;
    struct points list = {0};
    *out = NULL;
    *n = 0;
    TRY(out_csv_open(&r, path));
    const enum wsc_err rc = read_all(r, &list);
    out_csv_close(&r);
    if (rc) {
        wsc_free(list.point);
        return rc;
    }
    *out = list.point;
    *n = list.n;
    return WSC_OK;
}
