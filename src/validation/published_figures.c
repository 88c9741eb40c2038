// SPDX-License-Identifier: Apache-2.0
/* Reads the rows of benchmarks/reference (one table of columns drives types, checks and messages);
 * quantities.c knows what the rows measure. */
#include "validation_impl.h"

#include <wsc/log.h>
#include <wsc/mem.h>
#include <wsc/units.h>

#include <math.h>
#include <stddef.h>
#include <string.h>

/* ---- names ----------------------------------------------------------------------------------- */

enum { N_KINDS = VALIDATION_KIND_CONTEXT + 1 };
static const char *const kinds[N_KINDS] = {"calibration", "validation", "context"};

const char *validation_kind_name(enum validation_kind kind)
{
    return kinds[kind];
}

/* ---- columns --------------------------------------------------------------------------------- */

enum column {
    ID,
    QUANTITY,
    UNIT,
    VALUE,
    SAMPLES,
    MODEL,
    NUM_CSX,
    GLOBAL_BATCH,
    OTHER_BATCHES,
    MICRO_BATCH,
    MSL,
    CLUSTER,
    SET,
    KIND,
    SITE,
    FAMILY,
    RELEASE,
    DATE,
    TOLERANCE,
    REASON,
    CONDITIONS,
    SOURCE,
    N_COLUMNS
};
enum form { TEXT, REAL, COUNT, SPECIAL };
#define AT(f) offsetof(struct validation_figure, f), sizeof(((struct validation_figure *)0)->f)
static const struct column_row {
    const char *name;
    enum form form;
    bool needed;         /* in every row */
    bool needed_compare; /* in rows that are compared */
    size_t offset, size;
    const char *fallback; /* in a file without the column; NULL: every file has it */
    const char *if_none;  /* what stands in the column where there is nothing to say */
} columns[N_COLUMNS] = {
    [ID] = {"id", TEXT, true, true, AT(id), .fallback = NULL},
    [QUANTITY] = {"quantity", SPECIAL, true, true, AT(quantity), .fallback = NULL},
    [UNIT] = {"unit", TEXT, true, true, AT(unit), NULL, "1 for a ratio"},
    [VALUE] = {"value", REAL, true, true, AT(value), .fallback = NULL},
    [SAMPLES] = {"samples", REAL, false, false, AT(samples), .fallback = ""},
    [MODEL] = {"model", TEXT, false, true, AT(model), .fallback = NULL},
    [NUM_CSX] = {"num_csx", COUNT, false, true, AT(num_csx), .fallback = NULL},
    [GLOBAL_BATCH] = {"global_batch", COUNT, false, true, AT(global_batch), .fallback = NULL},
    [OTHER_BATCHES] = {"other_batches", SPECIAL, false, false, AT(other_batch), .fallback = ""},
    [MICRO_BATCH] = {"micro_batch", SPECIAL, false, true, AT(micro_batch), NULL,
                     "auto where it is not known"},
    [MSL] = {"msl", COUNT, false, true, AT(msl), .fallback = NULL},
    [CLUSTER] = {"cluster", TEXT, true, true, AT(cluster), .fallback = NULL},
    [SET] = {"set", TEXT, false, false, AT(set), .fallback = ""},
    [KIND] = {"kind", SPECIAL, true, true, AT(kind), .fallback = "validation"},
    [SITE] = {"site", TEXT, true, true, AT(site), .fallback = "own"},
    [FAMILY] = {"family", TEXT, false, true, AT(family), .fallback = "own"},
    [RELEASE] = {"release", TEXT, false, false, AT(release), .fallback = ""},
    [DATE] = {"date", TEXT, false, false, AT(date), .fallback = ""},
    [TOLERANCE] = {"tolerance", TEXT, false, true, AT(tolerance), .fallback = "15 %"},
    [REASON] = {"reason", TEXT, true, true, AT(reason), .fallback = "a row of the user's own"},
    [CONDITIONS] = {"conditions", TEXT, false, false, AT(conditions), .fallback = ""},
    [SOURCE] = {"source", TEXT, true, true, AT(source), .fallback = "own measurement"},
};

/* A file being read: where each column stands in its lines. */
struct reader {
    struct out_csv *csv;
    int place[N_COLUMNS];
};

#define PLACE(r, c) (r)->csv->path, (r)->csv->line, column_of(r, (int)(c)), columns[c].name

/* Where the field begins in its line; 1 for one that the file does not have. */
static int column_of(const struct reader *r, int c)
{
    return r->place[c] < 0 ? 1 : r->csv->column[r->place[c]];
}

static const char *field_of(const struct reader *r, enum column c)
{
    const char *text = r->place[c] < 0 ? columns[c].fallback : r->csv->field[r->place[c]];
    return text ? text : "";
}

static WSC_CHECKED enum wsc_err unknown_column(const struct out_csv *csv, int i)
{
    const char *near = NULL;
    int best = 3;
    for (int c = 0; c < N_COLUMNS; c++) {
        int d = wsc_units_distance(csv->field[i], columns[c].name);
        if (d >= best) continue;
        best = d;
        near = columns[c].name;
    }
    enum wsc_err rc = WSC_RAISE(WSC_CONFIG, "%s:%d:%d: \"%.40s\" is no column", csv->path,
                                csv->line, csv->column[i], csv->field[i]);
    return near ? wsc_err_hint(rc, "did you mean %s?", near) : rc;
}

static WSC_CHECKED enum wsc_err read_head(struct reader *r)
{
    bool more;
    struct out_csv *csv = r->csv;
    for (int c = 0; c < N_COLUMNS; c++)
        r->place[c] = -1;
    TRY(out_csv_next(csv, &more));
    if (!more) return WSC_RAISE(WSC_CONFIG, "%s: empty, expected a line of columns", csv->path);
    csv->n_columns = csv->n_fields;
    for (int i = 0; i < csv->n_fields; i++) {
        int c = 0;
        while (c < N_COLUMNS && strcmp(csv->field[i], columns[c].name) != 0)
            c++;
        if (c == N_COLUMNS) return unknown_column(csv, i);
        if (r->place[c] >= 0)
            return WSC_RAISE(WSC_CONFIG, "%s:%d:%d: a second column %s", csv->path, csv->line,
                             csv->column[i], columns[c].name);
        r->place[c] = i;
    }
    for (int c = 0; c < N_COLUMNS; c++)
        if (r->place[c] < 0 && !columns[c].fallback)
            return WSC_RAISE(WSC_CONFIG, "%s:%d: the column %s is missing", csv->path, csv->line,
                             columns[c].name);
    return WSC_OK;
}

/* ---- fields ---------------------------------------------------------------------------------- */

static WSC_CHECKED enum wsc_err take_text(const struct reader *r, enum column c, char *out)
{
    const char *text = field_of(r, c);
    if (strlen(text) >= columns[c].size)
        return WSC_RAISE(WSC_CONFIG, "%s:%d:%d: %s: longer than %zu bytes", PLACE(r, c),
                         columns[c].size - 1);
    memcpy(out, text, strlen(text) + 1);
    return WSC_OK;
}

static WSC_CHECKED enum wsc_err take_real(const struct reader *r, enum column c, double *out)
{
    const char *text = field_of(r, c);
    if (!*text) return WSC_OK;
    if (!wsc_units_double(text, out) && *out >= 0) return WSC_OK;
    return WSC_RAISE(WSC_CONFIG, "%s:%d:%d: %s: expected a number of at least 0, got \"%.40s\"",
                     PLACE(r, c), text);
}

static WSC_CHECKED enum wsc_err take_count(const struct reader *r, enum column c, int64_t *out)
{
    const int64_t most = 1000000000;
    const char *text = field_of(r, c);
    if (!*text) return WSC_OK;
    if (!wsc_units_int(text, out) && *out >= 1 && *out <= most) return WSC_OK;
    return WSC_RAISE(WSC_CONFIG, "%s:%d:%d: %s: expected a whole number above 0, got \"%.40s\"",
                     PLACE(r, c), text);
}

/* One of @p n names; the hint lists them. */
static WSC_CHECKED enum wsc_err take_name(const struct reader *r, enum column c,
                                          const char *(*name)(int i), int n, int *out)
{
    char list[160] = "";
    size_t used = 0;
    for (*out = 0; *out < n; (*out)++) {
        if (!strcmp(field_of(r, c), name(*out))) return WSC_OK;
        int added = snprintf(list + used, sizeof list - used, "%s%s", *out ? ", " : "", name(*out));
        if (added > 0 && used + (size_t)added < sizeof list) used += (size_t)added;
    }
    return wsc_err_hint(
        WSC_RAISE(WSC_CONFIG, "%s:%d:%d: %s: \"%.40s\" is not known", PLACE(r, c), field_of(r, c)),
        "one of %s", list);
}

static const char *quantity_name(int i)
{
    return validation_quantity_name((enum validation_quantity)i);
}

static const char *kind_name(int i)
{
    return kinds[i];
}

/* Batches separated by blanks. */
static WSC_CHECKED enum wsc_err take_batches(const struct reader *r, struct validation_figure *row)
{
    char text[64];
    (void)snprintf(text, sizeof text, "%s", field_of(r, OTHER_BATCHES));
    for (char *rest = text, *item = strsep(&rest, " "); item; item = strsep(&rest, " ")) {
        int64_t *batch = &row->other_batch[row->n_other_batches];
        if (!*item) continue;
        const bool room = row->n_other_batches < VALIDATION_MAX_OTHER_BATCHES;
        if (!room || wsc_units_int(item, batch) || *batch < 1)
            return WSC_RAISE(
                WSC_CONFIG,
                "%s:%d:%d: %s: expected at most %d whole numbers above 0, got \"%.40s\"",
                PLACE(r, OTHER_BATCHES), VALIDATION_MAX_OTHER_BATCHES, field_of(r, OTHER_BATCHES));
        row->n_other_batches++;
    }
    return WSC_OK;
}

/* A number, auto (the planner's choice), or null (the whole share of a system), as params files
 * write it. */
static WSC_CHECKED enum wsc_err take_micro_batch(const struct reader *r,
                                                 struct validation_figure *row)
{
    const char *text = field_of(r, MICRO_BATCH);
    row->micro_batch = CONF_AUTO;
    if (!*text || !strcmp(text, "auto")) return WSC_OK;
    row->micro_batch = CONF_NULL;
    return strcmp(text, "null") != 0 ? take_count(r, MICRO_BATCH, &row->micro_batch) : WSC_OK;
}

static WSC_CHECKED enum wsc_err take_special(const struct reader *r, enum column c,
                                             struct validation_figure *row)
{
    int i = 0;
    if (c == OTHER_BATCHES) return take_batches(r, row);
    if (c == MICRO_BATCH) return take_micro_batch(r, row);
    if (c == KIND) {
        TRY(take_name(r, c, kind_name, N_KINDS, &i));
        row->kind = (enum validation_kind)i;
        return WSC_OK;
    }
    TRY(take_name(r, c, quantity_name, VALIDATION_OTHER + 1, &i));
    row->quantity = (enum validation_quantity)i;
    return WSC_OK;
}

static WSC_CHECKED enum wsc_err take_field(const struct reader *r, enum column c,
                                           struct validation_figure *row)
{
    void *at = (char *)row + columns[c].offset;
    switch (columns[c].form) {
    case TEXT:
        return take_text(r, c, at);
    case REAL:
        return take_real(r, c, at);
    case COUNT:
        return take_count(r, c, at);
    case SPECIAL:
        break;
    }
    return take_special(r, c, row);
}

/* ---- checks of a row ------------------------------------------------------------------------- */

/* What the quantity of a row needs beside what every row does. */
static bool quantity_needs(const struct validation_figure *row, int c)
{
    if (c == SAMPLES) return validation_quantity_needs(row->quantity, VALIDATION_NEEDS_SAMPLES);
    return c == OTHER_BATCHES && validation_quantity_needs(row->quantity, VALIDATION_NEEDS_BATCHES);
}

static WSC_CHECKED enum wsc_err check_needed(const struct reader *r,
                                             const struct validation_figure *row)
{
    const bool compared = row->kind != VALIDATION_KIND_CONTEXT;
    for (int c = 0; c < N_COLUMNS; c++) {
        bool needed = compared ? columns[c].needed_compare : columns[c].needed;
        needed = needed || (compared && quantity_needs(row, c));
        if (!needed || *field_of(r, (enum column)c)) continue;
        const enum wsc_err rc = WSC_RAISE(WSC_CONFIG, "%s:%d:%d: %s: is empty", PLACE(r, c));
        return columns[c].if_none ? wsc_err_hint(rc, "%s", columns[c].if_none) : rc;
    }
    if (compared && !validation_quantity_predicted(row->quantity))
        return WSC_RAISE(WSC_CONFIG, "%s:%d:%d: %s: %s cannot be compared", PLACE(r, QUANTITY),
                         validation_quantity_name(row->quantity));
    return WSC_OK;
}

/* Ratios compare with one system that has the share of each, whole sequences. */
static void warn_of_uneven(const struct reader *r, const struct validation_figure *row)
{
    const int64_t left = row->num_csx > 0 ? row->global_batch % row->num_csx : 0;
    if (row->kind == VALIDATION_KIND_CONTEXT || !left || !validation_is_ratio(row->quantity))
        return;
    WSC_WARNING("%s:%d:%d: %s: %lld sequences do not divide evenly among %lld systems: %s is "
                "against one system with %lld",
                PLACE(r, GLOBAL_BATCH), (long long)row->global_batch, (long long)row->num_csx,
                validation_quantity_name(row->quantity),
                (long long)(row->global_batch / row->num_csx));
}

/* A column that the quantity does not read would be dropped in silence. */
static WSC_CHECKED enum wsc_err check_unused(const struct reader *r,
                                             const struct validation_figure *row)
{
    static const enum column special[] = {SAMPLES, OTHER_BATCHES};
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        if (*field_of(r, special[i]) && !quantity_needs(row, (int)special[i]))
            return WSC_RAISE(WSC_CONFIG, "%s:%d:%d: %s: a row of %s has none", PLACE(r, special[i]),
                             validation_quantity_name(row->quantity));
    return WSC_OK;
}

/* One batch of a row, in @p column: a sequence for each system, no more than can be simulated, and
 * no micro-batch above the share of a system. */
static WSC_CHECKED enum wsc_err check_batch(const struct reader *r,
                                            const struct validation_figure *row, enum column column,
                                            int64_t batch)
{
    const int64_t share = (batch + row->num_csx - 1) / row->num_csx;
    if (row->num_csx > batch)
        return WSC_RAISE(WSC_CONFIG, "%s:%d:%d: %s: %lld sequences for %lld systems",
                         PLACE(r, column), (long long)batch, (long long)row->num_csx);
    if (share > SCALING_MOST_SEQUENCES)
        return wsc_err_hint(
            WSC_RAISE(WSC_CONFIG, "%s:%d:%d: %s: %lld sequences of a system, expected at most %d",
                      PLACE(r, column), (long long)share, SCALING_MOST_SEQUENCES),
            "the rate of a larger batch is nearly that of %d sequences", SCALING_MOST_SEQUENCES);
    if (row->micro_batch > share)
        return WSC_RAISE(WSC_CONFIG, "%s:%d:%d: %s: %lld sequences, a system has %lld",
                         PLACE(r, MICRO_BATCH), (long long)row->micro_batch, (long long)share);
    return WSC_OK;
}

/* Numbers without which there is no error to state, and no line. */
static WSC_CHECKED enum wsc_err check_numbers(const struct reader *r,
                                              const struct validation_figure *row)
{
    const bool zero = validation_quantity_bounds(row->quantity);
    if (row->kind == VALIDATION_KIND_CONTEXT) return WSC_OK;
    if (!(row->value > 0) && !zero)
        return WSC_RAISE(WSC_CONFIG, "%s:%d:%d: %s: expected a number above 0, got \"%.40s\"",
                         PLACE(r, VALUE), field_of(r, VALUE));
    TRY(check_batch(r, row, GLOBAL_BATCH, row->global_batch));
    for (int i = 0; i < row->n_other_batches; i++)
        TRY(check_batch(r, row, OTHER_BATCHES, row->other_batch[i]));
    for (int i = 0; i < row->n_other_batches; i++)
        if (row->other_batch[i] != row->global_batch) return WSC_OK;
    if (!row->n_other_batches) return WSC_OK;
    return WSC_RAISE(WSC_CONFIG, "%s:%d:%d: %s: a line needs a batch beside global_batch, %lld",
                     PLACE(r, OTHER_BATCHES), (long long)row->global_batch);
}

static WSC_CHECKED enum wsc_err check_unit(const struct reader *r,
                                           const struct validation_figure *row)
{
    const char *such_as;
    if (validation_unit_fits(row, &such_as)) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_CONFIG, "%s:%d:%d: %s: \"%s\" is no unit of %s",
                                  PLACE(r, UNIT), row->unit,
                                  validation_quantity_name(row->quantity)),
                        "such as %s", such_as);
}

/* `10 %` around the value, of an upper bound 0 to 10 % above it; or LOW..HIGH. */
static bool read_tolerance(struct validation_figure *row)
{
    const char *text = row->tolerance, *dots = strstr(text, "..");
    char number[sizeof row->tolerance];
    size_t n = strlen(text);
    double share;
    if (dots) {
        (void)snprintf(number, sizeof number, "%.*s", (int)(dots - text), text);
        return !wsc_units_double(number, &row->low) && !wsc_units_double(dots + 2, &row->high) &&
               row->low < row->high;
    }
    if (n < 2 || text[n - 1] != '%') return false;
    for (n--; n && text[n - 1] == ' ';)
        n--;
    (void)snprintf(number, sizeof number, "%.*s", (int)n, text);
    if (wsc_units_double(number, &share) || !(share > 0 && share < 100)) return false;
    row->low = validation_quantity_bounds(row->quantity) ? 0 : row->value * (1 - share / 100);
    row->high = row->value * (1 + share / 100);
    return true;
}

/* A range without the figure is of another figure or unit, and would make any prediction look
 * wrong. */
static WSC_CHECKED enum wsc_err check_tolerance(const struct reader *r,
                                                struct validation_figure *row)
{
    if (row->kind == VALIDATION_KIND_CONTEXT) return WSC_OK;
    if (!read_tolerance(row))
        return wsc_err_hint(WSC_RAISE(WSC_CONFIG, "%s:%d:%d: %s: \"%s\" is no tolerance",
                                      PLACE(r, TOLERANCE), row->tolerance),
                            "10 %% around the value, or 14.5..15.8");
    if (row->low <= row->value && row->value <= row->high) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_CONFIG, "%s:%d:%d: %s: %s is without the value, %.10g",
                                  PLACE(r, TOLERANCE), row->tolerance, row->value),
                        "LOW..HIGH in the unit of the value, %s", row->unit);
}

static WSC_CHECKED enum wsc_err check_new(const struct reader *r,
                                          const struct validation_figure *rows, int n)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(rows[i].id, rows[n].id))
            return WSC_RAISE(WSC_CONFIG, "%s:%d:%d: %s: %s names an earlier row, %s:%d",
                             PLACE(r, ID), rows[n].id, rows[i].file, rows[i].line);
    return WSC_OK;
}

/* ---- the file -------------------------------------------------------------------------------- */

static WSC_CHECKED enum wsc_err take_row(const struct reader *r, struct validation_figure *rows,
                                         int n)
{
    const struct out_csv *csv = r->csv;
    struct validation_figure *row = &rows[n];
    if (csv->n_fields != csv->n_columns)
        return WSC_RAISE(WSC_CONFIG, "%s:%d: %d fields, the head line has %d", csv->path, csv->line,
                         csv->n_fields, csv->n_columns);
    *row = (struct validation_figure){.micro_batch = CONF_AUTO,
                                      .line = csv->line,
                                      .model_column = column_of(r, MODEL),
                                      .cluster_column = column_of(r, CLUSTER),
                                      .set_column = column_of(r, SET)};
    (void)snprintf(row->file, sizeof row->file, "%s", csv->path);
    for (int c = 0; c < N_COLUMNS; c++)
        TRY(take_field(r, (enum column)c, row));
    TRY(check_needed(r, row));
    TRY(check_unused(r, row));
    TRY(check_numbers(r, row));
    TRY(check_unit(r, row));
    warn_of_uneven(r, row);
    TRY(check_tolerance(r, row));
    return check_new(r, rows, n);
}

static WSC_CHECKED enum wsc_err read_rows(struct reader *r, struct validation_figure **rows, int *n)
{
    int room = *n; /* rows of earlier files fill their block, at the least */
    TRY(read_head(r));
    for (;;) {
        bool more;
        TRY(out_csv_next(r->csv, &more));
        if (!more) return WSC_OK;
        TRY_GROW(*rows, WSC_MEM_REPORT, room, *n + 1);
        TRY(take_row(r, *rows, *n));
        (*n)++;
    }
}

enum wsc_err validation_figures_read(const char *path, struct validation_figure **rows, int *n)
{
    struct reader r;
    TRY(out_csv_open(&r.csv, path));
    enum wsc_err rc = read_rows(&r, rows, n);
    out_csv_close(&r.csv);
    return rc;
}

/* ---- figures ----------------------------------------------------------------------------------
 */

bool validation_prediction_holds(const struct validation_prediction *p)
{
    const bool judged = p->ref->kind != VALIDATION_KIND_CONTEXT;
    return !judged || (p->predicted >= p->ref->low && p->predicted <= p->ref->high);
}

bool validation_figure_complete(const struct validation_figure *f)
{
    const bool samples = validation_quantity_needs(f->quantity, VALIDATION_NEEDS_SAMPLES);
    const bool batches = validation_quantity_needs(f->quantity, VALIDATION_NEEDS_BATCHES);
    return validation_quantity_predicted(f->quantity) && *f->model && f->num_csx > 0 &&
           f->global_batch > 0 && f->msl > 0 && (!samples || f->samples > 0) &&
           (!batches || f->n_other_batches > 0);
}

enum wsc_err validation_points_of(const struct validation_figure *rows, int n_rows,
                                  struct validation_point **points, int *n)
{
    *n = 0;
    TRY_NEW(*points, WSC_MEM_REPORT, n_rows + 1);
    for (int i = 0; i < n_rows; i++) {
        const bool drawn = rows[i].kind != VALIDATION_KIND_CONTEXT && !*rows[i].set;
        const double rate = drawn ? validation_rate_of_figure(&rows[i]) : 0;
        if (!(rate > 0)) continue;
        struct validation_point *p = &(*points)[(*n)++];
        const bool tokens = validation_figure_counts_tokens(&rows[i]);
        *p = (struct validation_point){.num_csx = (double)rows[i].num_csx,
                                       .tokens_per_s = tokens ? rows[i].value : rate,
                                       .unit = tokens ? VALIDATION_TOKENS_PER_S
                                                      : VALIDATION_SAMPLES_PER_S,
                                       .global_batch = rows[i].global_batch,
                                       .micro_batch = rows[i].micro_batch,
                                       .msl = rows[i].msl};
        (void)snprintf(p->model, sizeof p->model, "%s", rows[i].model);
        (void)snprintf(p->source, sizeof p->source, "%.127s", rows[i].source);
        (void)snprintf(p->id, sizeof p->id, "%s", rows[i].id);
        (void)snprintf(p->cluster, sizeof p->cluster, "%s", rows[i].cluster);
    }
    return WSC_OK;
}
