// SPDX-License-Identifier: Apache-2.0
/* Writes the result of a fit (<wsc/validation.h>): the table that `wsc calibrate` prints, and a
 * machine file with the fitted constants. Each constant has its standard error, and the fitted
 * rows as its source. */
#include <wsc/report.h>

#include <wsc/file.h>
#include <wsc/mem.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MARGIN = 4 }; /* of a constant below its section */

/* ---- stdout ---------------------------------------------------------------------------------- */

/* Fitted rows: published against predicted, as residuals of the logarithm. */
static WSC_CHECKED enum wsc_err print_points(const struct validation_fit *c)
{
    struct out_table *table;
    TRY(out_table_new(&table, "lrrr",
                      (const char *const[]){"fitted on", "published", "fit", "speed error"}));
    for (int i = 0; i < c->n_points; i++) {
        const struct validation_figure *ref = c->point[i];
        char error[OUT_PERCENT_SIZE];
        out_table_cell(table, "%s", ref->id);
        out_table_cell(table, "%.4g %s", ref->value, ref->unit);
        const double fit = ref->value * exp(c->residual[i]);
        out_table_cell(table, "%.4g %s", fit, ref->unit);
        out_table_cell(table, "%s", out_change(error, 1, validation_speed_error(ref, fit)));
    }
    enum wsc_err rc = out_table_print(table, stdout, 2);
    out_table_free(&table);
    return rc;
}

/* Fitted constants with standard errors. */
static WSC_CHECKED enum wsc_err print_constants(const struct validation_fit *c)
{
    struct out_table *table;
    TRY(out_table_new(
        &table, "llrrl",
        (const char *const[]){"constant", "machines", "fitted", "standard error", ""}));
    for (int i = 0; i < c->n_constants; i++) {
        const struct validation_fitted *f = &c->constant[i];
        struct wsc_text on = {0};
        for (int m = 0; m < c->n_machines; m++)
            if (f->machines & (1U << m))
                wsc_text_add(&on, "%s%s", on.bytes ? ", " : "", c->machine[m].name);
        out_table_cell(table, "%s", f->path);
        out_table_cell(table, "%s", on.bytes ? on.bytes : "");
        wsc_text_free(&on);
        out_table_cell(table, "%s", f->value);
        out_table_cell(table, "%s", *f->error ? f->error : "-");
        if (*f->end_of)
            out_table_cell(table, "at the end of its search range %s", f->end_of);
        else
            out_table_cell(table, "%s", *f->error ? "" : "the points do not tell this constant");
    }
    enum wsc_err rc = out_table_print(table, stdout, 2);
    out_table_free(&table);
    return rc;
}

enum wsc_err report_calibration_print(const struct validation_fit *c)
{
    TRY(print_points(c));
    (void)printf("\n");
    TRY(print_constants(c));
    for (int i = 0; i < c->n_constants; i++)
        for (int k = 0; k < i; k++)
            (void)printf("  correlation of %s and %s: %+.2f\n", c->constant[k].path,
                         c->constant[i].path, c->correlation[k][i]);
    (void)printf("\n  %d points, deviation of the residuals %.1f %%; objective %.4g, %.4g with "
                 "neutral constants; %d evaluations\n",
                 c->n_points, 100 * c->sigma, c->objective, c->objective_before, c->n_evaluations);
    return WSC_OK;
}

/* ---- the protocol ---------------------------------------------------------------------------- */

static void add_error(struct out_table *table, const struct validation_figure *ref, double residual)
{
    const double error = validation_speed_error(ref, ref->value * exp(residual));
    char text[OUT_PERCENT_SIZE];
    out_table_cell(table, "%s", isfinite(residual) ? out_change(text, 1, error) : "-");
}

/* A mean or largest error; there is none where no row is compared. */
static void add_percent(struct out_table *table, double error)
{
    if (isfinite(error))
        out_table_cell(table, "%.1f %%", 100 * error);
    else
        out_table_cell(table, "-");
}

/* Times as large as the fitted error, in the logarithm. */
static void add_ratio(struct out_table *table, double residual, double fitted)
{
    if (isfinite(residual) && fitted != 0)
        out_table_cell(table, "%.2f", fabs(residual / fitted));
    else
        out_table_cell(table, "-");
}

static WSC_CHECKED enum wsc_err print_left_out(const struct validation_protocol *p)
{
    struct out_table *table;
    TRY(out_table_new(&table, "llrrrrr",
                      (const char *const[]){"left out", "family", "fitted", "row out", "ratio",
                                            "family out", "ratio"}));
    for (int i = 0; i < p->n_left_out; i++) {
        const struct validation_left_out *row = &p->left_out[i];
        out_table_cell(table, "%s", row->ref->id);
        out_table_cell(table, "%s", row->ref->family);
        add_error(table, row->ref, row->fitted);
        add_error(table, row->ref, row->without_row);
        add_ratio(table, row->without_row, row->fitted);
        add_error(table, row->ref, row->without_family);
        add_ratio(table, row->without_family, row->fitted);
    }
    enum wsc_err rc = out_table_print(table, stdout, 2);
    out_table_free(&table);
    return rc;
}

static WSC_CHECKED enum wsc_err print_freedom(const struct validation_protocol *p)
{
    struct out_table *table;
    TRY(out_table_new(&table, "rrrrl",
                      (const char *const[]){"free", "mean error fitted", "never fitted",
                                            "worst never fitted", "constants"}));
    int n;
    const char *const *name = validation_fittable_paths(&n);
    for (int i = 0; i < p->n_freedoms; i++) {
        const struct validation_freedom *f = &p->freedom[i];
        struct wsc_text list = {0};
        for (int k = 0; k < f->n_free; k++)
            wsc_text_add(&list, "%s%s = %s", k ? ", " : "", name[k], f->value[k]);
        out_table_cell(table, "%d", f->n_free);
        add_percent(table, f->fitted);
        add_percent(table, f->never_fitted);
        add_percent(table, f->worst_never_fitted);
        out_table_cell(table, "%s", list.bytes ? list.bytes : "all neutral");
        wsc_text_free(&list);
    }
    enum wsc_err rc = out_table_print(table, stdout, 2);
    out_table_free(&table);
    return rc;
}

/* The mean error without something, and how many times the fitted one it is; nothing where too few
 * rows are left to fit the constants to. */
static void print_mean_without(const char *what, double rms, double fitted)
{
    if (!isfinite(rms)) return;
    (void)printf(", %.1f %% without %s", 100 * rms, what);
    if (fitted > 0) (void)printf(" (%.2f times)", rms / fitted);
}

enum wsc_err report_protocol_print(const struct validation_protocol *p)
{
    (void)printf(
        "\nSpeed errors of fitted rows when they, and when their families, are not fitted; "
        "ratios to the fitted error\n");
    TRY(print_left_out(p));
    (void)printf("\n  root mean square %.1f %% fitted", 100 * p->rms_fitted);
    print_mean_without("the row", p->rms_without_row, p->rms_fitted);
    print_mean_without("its family", p->rms_without_family, p->rms_fitted);
    (void)printf("\n\nErrors of measured rows against the number of free constants; the others are "
                 "neutral\n");
    return print_freedom(p);
}

/* ---- the cluster file ------------------------------------------------------------------------ */

/* "wsc calibrate on 10 published points (usc_256m_b128, ...): standard error 50 us, ..." */
static void add_source(struct wsc_text *t, const struct validation_fit *c, int i)
{
    wsc_text_add(t,
                 "wsc calibrate, least squares of ln(predicted / published) with Huber's "
                 "function at %.0f %%, on %d published points (",
                 100 * c->threshold, c->n_points);
    for (int k = 0; k < c->n_points; k++)
        wsc_text_add(t, "%s%s", k ? ", " : "", c->point[k]->id);
    const struct validation_fitted *f = &c->constant[i];
    if (*f->end_of)
        wsc_text_add(t, "): at the end of its search range %s", f->end_of);
    else
        wsc_text_add(t, "): standard error %s",
                     *f->error ? f->error : "not determined by the points");
    wsc_text_add(t, ", deviation of the residuals %.1f %%", 100 * c->sigma);
}

static bool fitted_on(const struct validation_fit *c, int i, int machine)
{
    return c->constant[i].machines & (1U << machine);
}

/* Correlations with the constants of the machine that come before it; bands.c samples by them. */
static void add_correlations(struct wsc_text *t, const struct validation_fit *c, int i, int machine)
{
    int n = 0;
    for (int k = 0; k < i; k++) {
        if (!fitted_on(c, k, machine) || !*c->constant[k].error || !*c->constant[i].error) continue;
        wsc_text_add(t, "%s%s: %.17g", n++ ? ", " : "        correlation: {", c->constant[k].path,
                     c->correlation[i][k]);
    }
    if (n) wsc_text_add(t, "}\n");
}

/* The beginning of a constant; the margin is that of its section. */
static void open_constant(struct wsc_text *t, int margin, const char *path, const char *value,
                          const char *kind)
{
    const char *dot = strchr(path, '.');
    wsc_text_add(t, "%*s%s:\n%*s    value: %s\n%*s    kind: %s\n%*s    source: ", margin, "",
                 dot ? dot + 1 : path, margin, "", value, margin, "", kind, margin, "");
}

/* A fitted constant as {value, kind, source, uncertainty, correlation}. */
static void add_fitted(struct wsc_text *t, const struct validation_fit *c, int i, int machine)
{
    const struct validation_fitted *f = &c->constant[i];
    struct wsc_text source = {0};
    add_source(&source, c, i);
    open_constant(t, MARGIN, f->path, f->value, "calibrated");
    out_text_json(t, source.bytes ? source.bytes : "");
    wsc_text_add(t, "\n");
    if (*f->error) wsc_text_add(t, "        uncertainty: %s..%s\n", f->low, f->high);
    add_correlations(t, c, i, machine);
    t->failed = t->failed || source.failed;
    wsc_text_free(&source);
}

/* A constant of the command line, under which the others were fitted. */
static void add_given(struct wsc_text *t, const struct hw_source *s)
{
    const int margin = strchr(s->key, '.') ? MARGIN : 0;
    struct wsc_text source = {0};
    wsc_text_add(&source, "set by hand, wsc calibrate --set cluster.%s: %s", s->key, s->source);
    open_constant(t, margin, s->key, s->value, s->kind);
    out_text_json(t, source.bytes ? source.bytes : "");
    wsc_text_add(t, "\n");
    if (s->uncertainty) wsc_text_add(t, "%*s    uncertainty: %s\n", margin, "", s->uncertainty);
    for (int i = 0; i < s->n_correlations; i++)
        wsc_text_add(t, "%*s%s%s: %.17g%s", i ? 0 : margin, "", i ? ", " : "    correlation: {",
                     s->correlation[i].key, s->correlation[i].value,
                     i + 1 < s->n_correlations ? "" : "}\n");
    t->failed = t->failed || source.failed;
    wsc_text_free(&source);
}

/* A constant of the file: fitted, or of the command line. */
struct entry {
    const char *path;
    int fitted;                    /* number of the constant of the fit */
    const struct hw_source *given; /* NULL: fitted */
};
struct entries {
    struct entry *entry; /* owned */
    int n;
};

/* True when the fit determines the constant of @p machine. */
static bool is_fitted(const struct validation_fit *c, const char *path, int machine)
{
    for (int i = 0; i < c->n_constants; i++)
        if (fitted_on(c, i, machine) && !strcmp(c->constant[i].path, path)) return true;
    return false;
}

static WSC_CHECKED enum wsc_err list_entries(const struct validation_fit *c, int machine,
                                             const struct hw_machine *with, struct entries *list)
{
    TRY_NEW(list->entry, WSC_MEM_REPORT, c->n_constants + with->n_sources);
    for (int i = 0; i < c->n_constants; i++)
        if (fitted_on(c, i, machine))
            list->entry[list->n++] = (struct entry){.path = c->constant[i].path, .fitted = i};
    for (int i = 0; i < with->n_sources; i++) {
        const struct hw_source *s = &with->source[i];
        if (s->is_set && !is_fitted(c, s->key, machine))
            list->entry[list->n++] = (struct entry){.path = s->key, .given = s};
    }
    return WSC_OK;
}

/* Length of the section of a path, up to its dot; 0: it lies in none. */
static int section_length(const char *path)
{
    const char *dot = strchr(path, '.');
    return dot ? (int)(dot - path) : 0;
}

static bool in_one_section(const struct entry *a, const struct entry *b)
{
    const int n = section_length(a->path);
    return n == section_length(b->path) && !strncmp(a->path, b->path, (size_t)n);
}

/* True when no entry before @p i lies in its section. */
static bool opens_section(const struct entries *list, int i)
{
    for (int k = 0; k < i; k++)
        if (in_one_section(&list->entry[k], &list->entry[i])) return false;
    return true;
}

/* Constants below their sections, each section opened once. */
static void add_sections(struct wsc_text *t, const struct entries *list,
                         const struct validation_fit *c, int machine)
{
    for (int i = 0; i < list->n; i++) {
        const struct entry *first = &list->entry[i];
        const int n = section_length(first->path);
        if (!opens_section(list, i)) continue;
        wsc_text_add(t, n ? "\n%.*s:\n" : "\n", n, first->path);
        for (int k = i; k < list->n; k++) {
            const struct entry *e = &list->entry[k];
            if (!in_one_section(first, e)) continue;
            if (e->given)
                add_given(t, e->given);
            else
                add_fitted(t, c, e->fitted, machine);
        }
    }
}

/* Fill the new file @p tmp, which becomes @p path. */
static WSC_CHECKED enum wsc_err write_text(const char *tmp, const char *path,
                                           const struct wsc_text *t)
{
    FILE *f = fopen(tmp, "wb");
    bool good = f && fwrite(t->bytes, 1, t->n, f) == t->n;
    if (f && fclose(f)) good = false;
    return good ? WSC_OK : WSC_RAISE(WSC_IO, "%s: cannot be written: %s", path, strerror(errno));
}

/* Read the machine of the new file @p tmp: nothing is published that the program refuses. */
static WSC_CHECKED enum wsc_err read_back(const char *tmp, const char *path)
{
    struct hw_machine machine = {0};
    char *text = NULL;
    size_t n = 0;
    TRY(hw_machine_read(tmp, &text, &n));
    enum wsc_err rc = hw_machine_parse(&machine, path, text, n, NULL, 0);
    if (!rc) {
        rc = validation_check_correlations(&machine);
        if (rc)
            (void)wsc_err_hint(rc, "--fit also the calibrated constants with which the base "
                                   "correlates it");
    }
    hw_machine_fini(&machine);
    wsc_free(text);
    return rc;
}

enum wsc_err report_calibration_write(const char *path, const char *base,
                                      const struct validation_fit *c, int machine,
                                      const struct hw_machine *with)
{
    struct wsc_text t = {0};
    struct entries list = {0};
    struct wsc_beside beside;
    TRY(list_entries(c, machine, with, &list));
    wsc_text_add(&t, "# Constants fitted by `wsc calibrate`.\n\nschema_version: 1\nbase: ");
    out_text_json(&t, base);
    wsc_text_add(&t, "\n");
    add_sections(&t, &list, c, machine);
    wsc_free(list.entry);
    enum wsc_err rc = wsc_text_check(&t);
    if (!rc) rc = wsc_beside_begin(&beside, path);
    if (!rc) {
        rc = write_text(beside.tmp, path, &t);
        if (!rc) rc = read_back(beside.tmp, path);
        rc = wsc_beside_end(&beside, path, rc);
    }
    wsc_text_free(&t);
    return rc;
}
