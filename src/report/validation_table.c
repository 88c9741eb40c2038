// SPDX-License-Identifier: Apache-2.0
/* Writes the tables of `wsc validate`: predictions with their speed error, the parts of each
 * prediction, and rows that are not compared. They go to stdout, to CSV files and to Markdown. */
#include "validation_plot.h"

#include <wsc/check.h>
#include <wsc/file.h>
#include <wsc/mem.h>

#include <math.h>
#include <stdarg.h>
#include <string.h>

enum { MAX_CELLS = 24, CELL_SIZE = 200 };

/* One line of a table, before it is known where it goes. */
struct cells {
    int n;
    char text[MAX_CELLS][CELL_SIZE];
};

__attribute__((format(printf, 2, 3))) static void add(struct cells *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(c->text[c->n++], CELL_SIZE, fmt, ap);
    va_end(ap);
}

/* ---- cells ----------------------------------------------------------------------------------- */

/* A ratio as signed percent, a dash when there is none. */
static void add_percent(struct cells *c, double share)
{
    char text[OUT_PERCENT_SIZE];
    add(c, "%s", isfinite(share) ? out_change(text, 1, share) : "-");
}

/* A part of the step in percent. */
static void add_share(struct cells *c, int64_t part_ps, int64_t step_ps)
{
    char text[OUT_PERCENT_SIZE];
    add(c, "%s", out_percent(text, 1, (double)part_ps / (double)step_ps));
}

const char *report_band_machines(int n, char text[static REPORT_MACHINES_SIZE])
{
    *text = '\0';
    if (n < VALIDATION_N_MACHINES)
        (void)snprintf(text, REPORT_MACHINES_SIZE, " (%d of %d machines)", n,
                       VALIDATION_N_MACHINES);
    return text;
}

const char *report_band(const struct validation_prediction *p, char text[static REPORT_BAND_SIZE])
{
    char machines[REPORT_MACHINES_SIZE];
    report_band_machines(p->n_machines, machines);
    if (isfinite(p->band_low))
        (void)snprintf(text, REPORT_BAND_SIZE, "%.4g..%.4g%s", p->band_low, p->band_high, machines);
    else
        (void)snprintf(text, REPORT_BAND_SIZE, "-%s", machines);
    return text;
}

/* The last part of a path: "stage_latency". */
static const char *short_name(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot ? dot + 1 : path;
}

/* Columns of the first table; one more for each calibrated constant. */
static void comparison_head(const struct validation_table *v, struct cells *c)
{
    static const char *const name[] = {"id",          "unit",    "published",  "predicted",
                                       "speed error", "within",  "accepted",   "90 % band",
                                       "kind",        "neutral", "speed error"};
    c->n = 0;
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        add(c, "%s", name[i]);
    for (int i = 0; i < v->n_calibrated; i++)
        add(c, "%s +10 %%", short_name(v->calibrated[i]->key));
}

/* One row of the first table: published, predicted, speed error, neutral prediction, sensitivities.
 */
static void comparison_row(const struct validation_table *v, int i, struct cells *c)
{
    static const char *const within[] = {"NO", "yes", "-"};
    static const char *const use[] = {[VALIDATION_KIND_CALIBRATION] = "fitted",
                                      [VALIDATION_KIND_VALIDATION] = "predicted",
                                      [VALIDATION_KIND_CONTEXT] = "context"};
    const struct validation_prediction *p = &v->row[i];
    const struct validation_figure *ref = p->ref;
    char text[REPORT_BAND_SIZE];
    c->n = 0;
    add(c, "%s", ref->id);
    add(c, "%s", strcmp(ref->unit, "1") != 0 ? ref->unit : "");
    add(c, "%.4g", ref->value);
    add(c, "%.4g", p->predicted);
    add_percent(c, validation_speed_error(ref, p->predicted));
    add(c, "%s", within[ref->kind == VALIDATION_KIND_CONTEXT ? 2 : validation_prediction_holds(p)]);
    add(c, "%s", ref->tolerance);
    add(c, "%s", report_band(p, text));
    add(c, "%s", use[ref->kind]);
    add(c, "%.4g", p->neutral);
    add_percent(c, validation_speed_error(ref, p->neutral));
    for (int k = 0; k < v->n_calibrated; k++)
        add_percent(c, p->sensitivity[k]);
}

static void parts_head(struct cells *c)
{
    static const char *const name[] = {
        "id",      "micro",  "lanes",   "step",   "products", "attention", "elementw.", "recomp.",
        "latency", "jitter", "weights", "reduce", "bound.",   "input",     "MFU",       "neutral"};
    c->n = 0;
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        add(c, "%s", name[i]);
}

/* One row of the second table: the plan, and the step by parts, which add up to it. */
static void parts_row(const struct validation_prediction *p, struct cells *c)
{
    char step[32];
    const struct vtime_breakdown *b = &p->breakdown;
    const int64_t part[] = {p->products_ps, p->attention_ps, p->elementwise_ps,  p->recompute_ps,
                            p->latency_ps,  p->jitter_ps,    b->weights_wait_ps, b->reduce_wait_ps,
                            b->boundary_ps, b->input_wait_ps};
    out_step_time(step, sizeof step, p->step_time_ps);
    c->n = 0;
    add(c, "%s", p->ref->id);
    add(c, "%lld", (long long)p->micro_batch);
    add(c, "%d", p->lanes);
    add(c, "%s", step);
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        add_share(c, part[i], p->step_time_ps);
    add(c, "%.1f %%", 100 * p->mfu);
    add(c, "%.1f %%", 100 * p->mfu_neutral);
}

static void context_head(struct cells *c)
{
    c->n = 0;
    add(c, "id");
    add(c, "published");
    add(c, "why not");
}

/* One row of the third table: the figure, and why it is not compared. */
static void context_row(const struct validation_figure *ref, struct cells *c)
{
    c->n = 0;
    add(c, "%s", ref->id);
    add(c, "%.4g%s%s", ref->value, strcmp(ref->unit, "1") != 0 ? " " : "",
        strcmp(ref->unit, "1") != 0 ? ref->unit : "");
    add(c, "%s", ref->reason);
}

/* ---- where a table goes ---------------------------------------------------------------------- */

/* Stdout through a table, or Markdown. */
struct sink {
    struct out_table *table;
    struct wsc_text *markdown;
};

/* Start a table with these columns; @p align has a letter for each. */
static WSC_CHECKED enum wsc_err begin(struct sink *s, const char *align, const struct cells *head)
{
    const char *name[MAX_CELLS] = {0};
    WSC_CHECK(strlen(align) == (size_t)head->n, "%s for %d columns", align, head->n);
    for (int i = 0; i < head->n; i++)
        name[i] = head->text[i];
    if (!s->markdown) return out_table_new(&s->table, align, name);
    for (int i = 0; i < head->n; i++)
        wsc_text_add(s->markdown, "| %s ", name[i]);
    wsc_text_add(s->markdown, "|\n");
    for (int i = 0; i < head->n; i++)
        wsc_text_add(s->markdown, "|%s", align[i] == 'r' ? "---:" : "---");
    wsc_text_add(s->markdown, "|\n");
    return WSC_OK;
}

/* Add one line to wherever the table goes. */
static void put(struct sink *s, const struct cells *c)
{
    for (int i = 0; i < c->n && s->table; i++)
        out_table_cell(s->table, "%s", c->text[i]);
    if (!s->markdown) return;
    for (int i = 0; i < c->n; i++) {
        wsc_text_add(s->markdown, "| ");
        out_text_markdown_cell(s->markdown, c->text[i]);
        wsc_text_add(s->markdown, " ");
    }
    wsc_text_add(s->markdown, "|\n");
}

/* Print the table; Markdown is written by its owner. */
static WSC_CHECKED enum wsc_err end(struct sink *s)
{
    if (!s->table) return WSC_OK;
    enum wsc_err rc = out_table_print(s->table, stdout, 2);
    out_table_free(&s->table);
    return rc;
}

/* Rows outside their tolerance come first, those that are not judged last. */
enum { OUTSIDE, INSIDE, CONTEXT, N_RANKS };

static int rank_of(const struct validation_prediction *p)
{
    if (p->ref->kind == VALIDATION_KIND_CONTEXT) return CONTEXT;
    return validation_prediction_holds(p) ? INSIDE : OUTSIDE;
}

/* The first table, in the order of ranks, within a rank as the rows come. */
static WSC_CHECKED enum wsc_err put_comparison(struct sink *s, const struct validation_table *v,
                                               struct cells *c)
{
    char align[MAX_CELLS + 1] = "llrrrlrrlrr";
    memset(align + strlen(align), 'r', (size_t)v->n_calibrated);
    comparison_head(v, c);
    TRY(begin(s, align, c));
    for (int i = 0; i < N_RANKS * v->n_rows; i++) {
        const int row = i % v->n_rows;
        if (rank_of(&v->row[row]) != i / v->n_rows) continue;
        comparison_row(v, row, c);
        put(s, c);
    }
    return end(s);
}

static WSC_CHECKED enum wsc_err put_parts(struct sink *s, const struct validation_table *v,
                                          struct cells *c)
{
    parts_head(c);
    TRY(begin(s, "lrrrrrrrrrrrrrrr", c));
    for (int i = 0; i < v->n_rows; i++) {
        parts_row(&v->row[i], c);
        put(s, c);
    }
    return end(s);
}

static bool has_context(const struct validation_table *v)
{
    for (int i = 0; i < v->n_figures; i++)
        if (v->figure[i].kind == VALIDATION_KIND_CONTEXT) return true;
    return false;
}

static WSC_CHECKED enum wsc_err put_context(struct sink *s, const struct validation_table *v,
                                            struct cells *c)
{
    context_head(c);
    TRY(begin(s, "lrl", c));
    for (int i = 0; i < v->n_figures; i++) {
        if (v->figure[i].kind != VALIDATION_KIND_CONTEXT) continue;
        context_row(&v->figure[i], c);
        put(s, c);
    }
    return end(s);
}

/* ---- summary --------------------------------------------------------------------------------- */

/* Counts over the judged rows of one kind: how many there are and lie outside, and the errors of
 * those that are measurements of their own. */
struct summary {
    int n, outside, n_measured;
    double worst, sum, median;
};

static double error_of(const struct validation_prediction *p, enum validation_kind kind)
{
    if (p->ref->kind != kind || !validation_figure_measured(p->ref)) return NAN;
    return fabs(validation_speed_error(p->ref, p->predicted));
}

/* The error that is the @p place-th of all in rising order, from 0. */
static double error_at(const struct validation_table *v, enum validation_kind kind, int place)
{
    for (int i = 0; i < v->n_rows; i++) {
        const double e = error_of(&v->row[i], kind);
        int less = 0, equal = 0;
        for (int k = 0; k < v->n_rows; k++) {
            less += error_of(&v->row[k], kind) < e;
            equal += error_of(&v->row[k], kind) == e;
        }
        if (less <= place && less + equal > place) return e;
    }
    return NAN;
}

/* The error in the middle; the mean of the two there when their number is even. */
static double median_of(const struct validation_table *v, enum validation_kind kind, int n)
{
    return (error_at(v, kind, (n - 1) / 2) + error_at(v, kind, n / 2)) / 2;
}

static struct summary summarise(const struct validation_table *v, enum validation_kind kind)
{
    struct summary s = {.n = 0};
    for (int i = 0; i < v->n_rows; i++) {
        const struct validation_prediction *p = &v->row[i];
        const double error = error_of(p, kind);
        s.n += p->ref->kind == kind;
        s.outside += p->ref->kind == kind && !validation_prediction_holds(p);
        if (!isfinite(error)) continue;
        s.n_measured++;
        s.worst = fmax(s.worst, error);
        s.sum += error;
    }
    s.median = median_of(v, kind, s.n_measured);
    return s;
}

static void add_kind(struct wsc_text *t, const struct validation_table *v,
                     enum validation_kind kind, const char *what)
{
    const struct summary s = summarise(v, kind);
    wsc_text_add(t, "%d row%s %s, %d of them outside their tolerance", s.n, wsc_plural(s.n), what,
                 s.outside);
    if (s.n_measured == 1)
        wsc_text_add(t, "; speed error of the one measurement among them: %.1f %%", 100 * s.worst);
    else if (s.n_measured)
        wsc_text_add(
            t,
            "; speed error of the %d measurements among them: median %.1f %%, mean %.1f %%, "
            "worst %.1f %%",
            s.n_measured, 100 * s.median, 100 * s.sum / s.n_measured, 100 * s.worst);
    wsc_text_add(t, ".\n");
}

static void add_summary(struct wsc_text *t, const struct validation_table *v)
{
    const bool one = v->n_banded == 1;
    add_kind(t, v, VALIDATION_KIND_VALIDATION, "never fitted");
    add_kind(t, v, VALIDATION_KIND_CALIBRATION, "fitted");
    if (v->n_banded)
        wsc_text_add(
            t,
            "%d of %d %s (%.0f %%) %s inside the 90 %% band of %s prediction, which "
            "combines the ranges of the constants, the deviation of the fitted rows (%.1f %%) and "
            "that between sites (%.1f %%).\n",
            v->n_inside, v->n_banded,
            one ? "measurement that was never fitted" : "measurements that were never fitted",
            100.0 * v->n_inside / v->n_banded, one ? "lies" : "lie", one ? "its" : "their",
            100 * v->fitted_deviation, 100 * v->site_deviation);
    for (int i = 0; i < v->n_calibrated; i++)
        wsc_text_add(t, "%s = %s: %s.\n", v->calibrated[i]->key, v->calibrated[i]->value,
                     v->calibrated[i]->source);
    if (!v->n_calibrated) wsc_text_add(t, "No constant of these machines is calibrated.\n");
    wsc_text_add(t, "Neutral: ");
    validation_neutral_words(t);
    wsc_text_add(t, ".\n");
}

/* ---- stdout ---------------------------------------------------------------------------------- */

static WSC_CHECKED enum wsc_err print(const struct validation_table *v, struct cells *c)
{
    struct sink s = {0};
    struct wsc_text words = {0};
    (void)printf("Published figures and predictions; speed error = predicted / published - 1 in "
                 "speed, positive: too fast\n");
    TRY(put_comparison(&s, v, c));
    (void)printf("\nWhat the predicted steps consist of, and their fraction of the peak\n");
    TRY(put_parts(&s, v, c));
    if (has_context(v)) {
        (void)printf("\nNot judged\n");
        TRY(put_context(&s, v, c));
    }
    add_summary(&words, v);
    enum wsc_err rc = wsc_text_check(&words);
    if (!rc) (void)printf("\n%s", words.bytes);
    wsc_text_free(&words);
    return rc;
}

enum wsc_err report_validation_print(const struct validation_table *v)
{
    struct cells *c;
    TRY_NEW(c, WSC_MEM_REPORT, 1);
    enum wsc_err rc = print(v, c);
    wsc_free(c);
    return rc;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Columns of validation.csv, docs/FILES.md. */
static void csv_head(struct wsc_text *t, const struct validation_table *v)
{
    wsc_text_add(t, "id,quantity,unit,published,predicted,speed_error_percent,accepted_low,"
                    "accepted_high,band_low,band_high,kind,site,family,source,holds,neutral,"
                    "neutral_speed_error_percent,mfu,mfu_neutral,num_csx,"
                    "global_batch,"
                    "micro_batch,lanes,step_time_ps,products_ps,attention_ps,elementwise_ps,"
                    "recompute_ps,latency_ps,jitter_ps,weights_wait_ps,reduce_wait_ps,"
                    "boundary_ps,input_wait_ps");
    for (int i = 0; i < v->n_calibrated; i++)
        wsc_text_add(t, ",plus_10_percent_%s", v->calibrated[i]->key);
    wsc_text_add(t, "\n");
}

/* Plan and times of a prediction. */
static void csv_times(struct wsc_text *t, const struct validation_prediction *p)
{
    const struct vtime_breakdown *b = &p->breakdown;
    const int64_t value[] = {p->ref->num_csx,   p->ref->global_batch, p->micro_batch,
                             p->lanes,          p->step_time_ps,      p->products_ps,
                             p->attention_ps,   p->elementwise_ps,    p->recompute_ps,
                             p->latency_ps,     p->jitter_ps,         b->weights_wait_ps,
                             b->reduce_wait_ps, b->boundary_ps,       b->input_wait_ps};
    for (size_t i = 0; i < sizeof value / sizeof *value; i++)
        wsc_text_add(t, ",%lld", (long long)value[i]);
}

static void csv_row(struct wsc_text *t, const struct validation_table *v, int i)
{
    const struct validation_prediction *p = &v->row[i];
    const struct validation_figure *ref = p->ref;
    out_text_csv(t, ref->id);
    wsc_text_add(t, ",%s,", validation_quantity_name(ref->quantity));
    out_text_csv(t, ref->unit);
    out_text_csv_real(t, ref->value);
    out_text_csv_real(t, p->predicted);
    out_text_csv_real(t, 100 * validation_speed_error(ref, p->predicted));
    out_text_csv_real(t, ref->kind != VALIDATION_KIND_CONTEXT ? ref->low : NAN);
    out_text_csv_real(t, ref->kind != VALIDATION_KIND_CONTEXT ? ref->high : NAN);
    out_text_csv_real(t, p->band_low);
    out_text_csv_real(t, p->band_high);
    wsc_text_add(t, ",%s,", validation_kind_name(ref->kind));
    out_text_csv(t, ref->site);
    wsc_text_add(t, ",");
    out_text_csv(t, ref->family);
    wsc_text_add(t, ",");
    out_text_csv(t, ref->source);
    wsc_text_add(t, ",%s", validation_prediction_holds(p) ? "yes" : "no");
    out_text_csv_real(t, p->neutral);
    out_text_csv_real(t, 100 * validation_speed_error(ref, p->neutral));
    out_text_csv_real(t, p->mfu);
    out_text_csv_real(t, p->mfu_neutral);
    csv_times(t, p);
    for (int k = 0; k < v->n_calibrated; k++)
        out_text_csv_real(t, p->sensitivity[k]);
    wsc_text_add(t, "\n");
}

static WSC_CHECKED enum wsc_err write_csv(const char *dir, const struct validation_table *v)
{
    struct wsc_text t = {0};
    csv_head(&t, v);
    for (int i = 0; i < v->n_rows; i++)
        csv_row(&t, v, i);
    return out_text_write(&t, dir, "validation.csv");
}

static void add_conditions(struct wsc_text *t, const struct validation_table *v)
{
    wsc_text_add(t, "\n## Sources and conditions\n\n");
    for (int i = 0; i < v->n_figures; i++) {
        const struct validation_figure *ref = &v->figure[i];
        wsc_text_add(t, "- `%s`: %s.", ref->id, ref->source);
        if (*ref->conditions) wsc_text_add(t, " %s.", ref->conditions);
        if (ref->kind != VALIDATION_KIND_CONTEXT)
            wsc_text_add(t, " Accepted %s: %s.", ref->tolerance, ref->reason);
        wsc_text_add(t, "\n");
    }
}

static WSC_CHECKED enum wsc_err add_markdown(struct wsc_text *t, const struct validation_table *v,
                                             struct cells *c)
{
    char date[OUT_DATE_SIZE];
    struct sink s = {.markdown = t};
    out_date(date);
    wsc_text_add(t, "# Published figures and predictions\n\n%s, %s\n\n    %s\n\n", out_version(),
                 date, v->command ? v->command : "");
    wsc_text_add(t, "![predicted over published](validation.png)\n\n");
    add_summary(t, v);
    wsc_text_add(t, "\n");
    TRY(put_comparison(&s, v, c));
    wsc_text_add(t, "\n## What the predicted steps consist of\n\n");
    TRY(put_parts(&s, v, c));
    if (has_context(v)) {
        wsc_text_add(t, "\n## Not judged\n\n");
        TRY(put_context(&s, v, c));
    }
    add_conditions(t, v);
    return wsc_text_check(t);
}

static WSC_CHECKED enum wsc_err write_markdown(const char *dir, const struct validation_table *v)
{
    struct wsc_text t = {0};
    struct cells *c;
    TRY_NEW(c, WSC_MEM_REPORT, 1);
    enum wsc_err rc = add_markdown(&t, v, c);
    if (!rc) rc = out_text_write(&t, dir, "validation.md");
    wsc_text_free(&t);
    wsc_free(c);
    return rc;
}

static WSC_CHECKED enum wsc_err check_finite(const struct validation_table *v)
{
    for (int i = 0; i < v->n_rows; i++) {
        const struct validation_prediction *p = &v->row[i];
        if (isfinite(p->predicted) && isfinite(p->neutral) && isfinite(p->mfu) &&
            p->step_time_ps > 0)
            continue;
        return WSC_RAISE(WSC_NUMERIC, "%s: predicted %g, neutral %g, a step of %lld ps", p->ref->id,
                         p->predicted, p->neutral, (long long)p->step_time_ps);
    }
    return WSC_OK;
}

enum wsc_err report_validation_write(const char *dir, const struct validation_table *v)
{
    TRY(check_finite(v));
    TRY(wsc_file_mkdir(dir));
    TRY(write_csv(dir, v));
    TRY(write_markdown(dir, v));
    return report_validation_plot(dir, v);
}
