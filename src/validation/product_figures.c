// SPDX-License-Identifier: Apache-2.0
/* Reads published figures of single products: a CSV with one row of a table below for each column.
 * Predicted by product_laws.c; printed by report/product_table.c. */
#include <wsc/validation_products.h>

#include <wsc/mem.h>
#include <wsc/out.h>
#include <wsc/units.h>

#include <stdio.h>
#include <string.h>

enum { N_COLUMNS = 16 };

/* A file being read: where each column stands in its lines. */
struct reader {
    struct out_csv *csv;
    int place[N_COLUMNS];
    int at; /* the column being read */
};

static const char *field(const struct reader *r)
{
    return r->csv->field[r->place[r->at]];
}

typedef bool (*take_fn)(const struct reader *r, struct validation_product *row);

/* Text of at most @p size - 1 bytes. */
static bool take_text(const struct reader *r, char *out, size_t size)
{
    const size_t n = strlen(field(r));
    if (n >= size) return false;
    memcpy(out, field(r), n + 1);
    return true;
}

/* One of @p n names. */
static bool take_name(const struct reader *r, const char *const *name, int n, int *out)
{
    for (*out = 0; *out < n; (*out)++)
        if (!strcmp(field(r), name[*out])) return true;
    return false;
}

/* A number of at least 0; none: 0. */
static bool take_real(const struct reader *r, double *out)
{
    *out = 0;
    return !*field(r) || (!wsc_units_double(field(r), out) && *out >= 0);
}

/* Whole numbers above 0 with `x` between them; none: all 0. */
static bool take_sizes(const struct reader *r, int64_t *const *out, int n)
{
    char text[64], *rest = text;
    (void)snprintf(text, sizeof text, "%s", field(r));
    for (int i = 0; i < n && *field(r); i++) {
        const char *item = strsep(&rest, "x");
        if (!item || wsc_units_int(item, out[i]) || *out[i] < 1) return false;
    }
    return !*field(r) || !rest;
}

#define TEXT(member)                                                                               \
    static bool take_##member(const struct reader *r, struct validation_product *row)              \
    {                                                                                              \
        return take_text(r, row->member, sizeof row->member);                                      \
    }
#define REAL(member)                                                                               \
    static bool take_##member(const struct reader *r, struct validation_product *row)              \
    {                                                                                              \
        return take_real(r, &row->member);                                                         \
    }
TEXT(id)
TEXT(unit)
TEXT(model)
TEXT(conditions)
TEXT(source)
REAL(value)
REAL(density)
REAL(count)
REAL(floor_s)

static bool take_set(const struct reader *r, struct validation_product *row)
{
    row->set_column = r->csv->column[r->place[r->at]];
    return take_text(r, row->set, sizeof row->set);
}

static bool take_layout(const struct reader *r, struct validation_product *row)
{
    static const char *const name[VALIDATION_N_LAYOUTS] = {"csc", "gemm", "stream", "flops"};
    int i;
    if (!take_name(r, name, VALIDATION_N_LAYOUTS, &i)) return false;
    row->layout = (enum validation_layout)i;
    return true;
}

static bool take_figure(const struct reader *r, struct validation_product *row)
{
    static const char *const name[] = {"mean", "total", "most"};
    int i;
    if (!take_name(r, name, 3, &i)) return false;
    row->most = i == 2;
    return true;
}

static bool take_grid(const struct reader *r, struct validation_product *row)
{
    return take_sizes(r, (int64_t *const[]){&row->w, &row->h}, 2);
}

static bool take_matrix(const struct reader *r, struct validation_product *row)
{
    return take_sizes(r, (int64_t *const[]){&row->n, &row->k, &row->m}, 3);
}

static bool take_kind(const struct reader *r, struct validation_product *row)
{
    for (int i = 0; i <= VALIDATION_KIND_CONTEXT; i++) {
        row->kind = (enum validation_kind)i;
        if (!strcmp(field(r), validation_kind_name(row->kind))) return true;
    }
    return false;
}

static bool take_tolerance(const struct reader *r, struct validation_product *row)
{
    const double percent = 0.01;
    if (!take_real(r, &row->tolerance)) return false;
    row->tolerance *= percent;
    return row->tolerance > 0 || row->kind == VALIDATION_KIND_CONTEXT;
}

/* Kind before tolerance, which depends on it. */
static const struct {
    const char *name, *expected;
    take_fn take;
} columns[N_COLUMNS] = {{"id", "a name of at most 47 bytes", take_id},
                        {"layout", "csc, gemm, stream or flops", take_layout},
                        {"figure", "mean, most or total", take_figure},
                        {"unit", "cycles, s or 1", take_unit},
                        {"value", "a number of at least 0", take_value},
                        {"grid", "PEs, such as 32x6", take_grid},
                        {"matrix", "sizes, such as 768x768x68", take_matrix},
                        {"density", "a number of at least 0", take_density},
                        {"count", "a number of at least 0", take_count},
                        {"floor", "a number of at least 0", take_floor_s},
                        {"model", "the name of a params file", take_model},
                        {"set", "overrides of at most 159 bytes", take_set},
                        {"kind", "calibration, validation or context", take_kind},
                        {"tolerance", "percent above 0", take_tolerance},
                        {"conditions", "at most 255 bytes", take_conditions},
                        {"source", "at most 159 bytes", take_source}};

static WSC_CHECKED enum wsc_err read_head(struct reader *r)
{
    bool more;
    TRY(out_csv_next(r->csv, &more));
    if (!more) return WSC_RAISE(WSC_CONFIG, "%s: empty", r->csv->path);
    r->csv->n_columns = r->csv->n_fields;
    for (int c = 0; c < N_COLUMNS; c++) {
        int i = 0;
        while (i < r->csv->n_fields && strcmp(r->csv->field[i], columns[c].name) != 0)
            i++;
        if (i == r->csv->n_fields)
            return WSC_RAISE(WSC_CONFIG, "%s:%d: the column %s is missing", r->csv->path,
                             r->csv->line, columns[c].name);
        r->place[c] = i;
    }
    return WSC_OK;
}

static WSC_CHECKED enum wsc_err read_row(struct reader *r, struct validation_product *row)
{
    const struct out_csv *csv = r->csv;
    *row = (struct validation_product){.line = csv->line};
    (void)snprintf(row->file, sizeof row->file, "%s", csv->path);
    if (csv->n_fields != csv->n_columns)
        return WSC_RAISE(WSC_CONFIG, "%s:%d: %d fields, the head line has %d", csv->path, csv->line,
                         csv->n_fields, csv->n_columns);
    for (r->at = 0; r->at < N_COLUMNS; r->at++)
        if (!columns[r->at].take(r, row))
            return WSC_RAISE(WSC_CONFIG, "%s:%d:%d: %s: expected %s, got \"%.40s\"", csv->path,
                             csv->line, csv->column[r->place[r->at]], columns[r->at].name,
                             columns[r->at].expected, field(r));
    if (row->value > 0) return WSC_OK;
    return WSC_RAISE(WSC_CONFIG, "%s:%d: value: expected a number above 0", csv->path, csv->line);
}

static WSC_CHECKED enum wsc_err read_rows(struct reader *r, struct validation_product **rows,
                                          int *n)
{
    int room = *n;
    TRY(read_head(r));
    for (;;) {
        bool more;
        TRY(out_csv_next(r->csv, &more));
        if (!more) return WSC_OK;
        TRY_GROW(*rows, WSC_MEM_REPORT, room, *n + 1);
        TRY(read_row(r, &(*rows)[*n]));
        (*n)++;
    }
}

enum wsc_err validation_products_read(const char *path, struct validation_product **rows, int *n)
{
    struct reader r = {0};
    TRY(out_csv_open(&r.csv, path));
    enum wsc_err rc = read_rows(&r, rows, n);
    out_csv_close(&r.csv);
    return rc;
}
