// SPDX-License-Identifier: Apache-2.0
/* Formats the tables of an exhibit as texts: published against predicted figures, figures without a
 * comparison, points of the curves. exhibit_page.c, exhibit_pdf.c and exhibit_files.c write them
 * into their outputs. */
#include "exhibit_output.h"
#include "validation_plot.h"

#include <wsc/mem.h>

#include <math.h>
#include <stdarg.h>
#include <string.h>

/* A column for each letter of @p align, l or r, with the heads @p head; room for @p rows rows. */
static WSC_CHECKED enum wsc_err begin(struct report_cells *c, const char *const *head,
                                      const char *align, int rows)
{
    *c = (struct report_cells){.n_columns = (int)strlen(align)};
    memcpy(c->align, align, strlen(align) + 1);
    for (int i = 0; i < c->n_columns; i++)
        c->head[i] = head[i];
    TRY_NEW(c->text, WSC_MEM_REPORT, rows + 1);
    return WSC_OK;
}

/* The text of a cell of the last row. */
__attribute__((format(printf, 3, 4))) static void put(struct report_cells *c, int column,
                                                      const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(c->text[c->n_rows - 1][column], REPORT_CELL_SIZE, fmt, ap);
    va_end(ap);
}

void report_cells_fini(struct report_cells *c)
{
    wsc_free(c->text);
    *c = (struct report_cells){0};
}

static const char *unit_of(const struct validation_figure *f)
{
    return strcmp(f->unit, "1") != 0 ? f->unit : "";
}

/* Whether a row is inside what it accepts; rows of kind context accept anything. */
static const char *within(const struct validation_prediction *p)
{
    if (p->ref->kind == VALIDATION_KIND_CONTEXT) return "";
    return validation_prediction_holds(p) ? "yes" : "NO";
}

enum wsc_err report_exhibit_rows(struct report_cells *c, const struct validation_reproduced *r)
{
    static const char *const kind[] = {[VALIDATION_KIND_CALIBRATION] = "fitted",
                                       [VALIDATION_KIND_VALIDATION] = "predicted",
                                       [VALIDATION_KIND_CONTEXT] = "context"};
    static const char *const head[] = {"row",       "systems",   "batch", "unit",
                                       "published", "predicted", "error", "accepted",
                                       "within",    "90 % band", "kind",  "release"};
    TRY(begin(c, head, "lrrlrrrrlrll", r->n_rows));
    for (int i = 0; i < r->n_rows; i++) {
        const struct validation_prediction *p = r->row[i];
        const double error = validation_speed_error(p->ref, p->predicted);
        char text[OUT_PERCENT_SIZE], band[REPORT_BAND_SIZE];
        int k = 0;
        c->n_rows++;
        put(c, k++, "%s", p->ref->id);
        put(c, k++, "%lld", (long long)p->ref->num_csx);
        put(c, k++, "%lld", (long long)p->ref->global_batch);
        put(c, k++, "%s", unit_of(p->ref));
        put(c, k++, "%.4g", p->ref->value);
        put(c, k++, "%.4g", p->predicted);
        put(c, k++, "%s", isfinite(error) ? out_change(text, 1, error) : "-");
        put(c, k++, "%s", p->ref->tolerance);
        put(c, k++, "%s", within(p));
        put(c, k++, "%s", report_band(p, band));
        put(c, k++, "%s", kind[p->ref->kind]);
        put(c, k++, "%s", p->ref->release);
    }
    return WSC_OK;
}

enum wsc_err report_exhibit_context(struct report_cells *c, const struct validation_reproduced *r)
{
    static const char *const head[] = {"row", "published", "conditions", "not predicted because"};
    TRY(begin(c, head, "lrll", r->n_context));
    for (int i = 0; i < r->n_context; i++) {
        const struct validation_figure *f = r->context[i];
        c->n_rows++;
        put(c, 0, "%s", f->id);
        put(c, 1, "%.4g %s", f->value, unit_of(f));
        put(c, 2, "%.*s", REPORT_CELL_SIZE - 1, f->conditions);
        put(c, 3, "%s", f->reason);
    }
    return WSC_OK;
}

enum wsc_err report_exhibit_points(struct report_cells *c, const struct validation_reproduced *r)
{
    static const char *const head[] = {"model",    "systems",   "batch", "micro-batch", "step",
                                       "tokens/s", "90 % band", "MFU",   "efficiency",  ""};
    /* Curves against the batch are of one system, whose efficiency is 1. */
    const bool by_systems = r->exhibit->picture == VALIDATION_SYSTEMS;
    int n = 0;
    for (int k = 0; k < r->n_curves; k++)
        n += r->curve[k].n;
    TRY(begin(c, head, by_systems ? "lrrrrrrrrl" : "lrrrrrrr", n));
    for (int k = 0; k < r->n_curves; k++) {
        const struct validation_curve *curve = &r->curve[k];
        for (int i = 0; i < curve->n; i++) {
            const struct scaling_row *row = &curve->row[i];
            const int64_t measured = r->exhibit->measured_to;
            char step[32], rate[32], low[OUT_PERCENT_SIZE], high[OUT_PERCENT_SIZE],
                machines[REPORT_MACHINES_SIZE];
            out_step_time(step, sizeof step, row->step_time_ps);
            out_si(rate, sizeof rate, row->tokens_per_s);
            c->n_rows++;
            put(c, 0, "%s", curve->model);
            put(c, 1, "%lld", (long long)row->num_csx);
            put(c, 2, "%lld", (long long)row->global_batch);
            put(c, 3, "%lld", (long long)row->micro_batch);
            put(c, 4, "%s", step);
            put(c, 5, "%s", rate);
            put(c, 6, "%s..%s%s", out_change(low, 1, curve->below[i] - 1),
                out_change(high, 1, curve->above[i] - 1),
                report_band_machines(curve->n_machines[i], machines));
            put(c, 7, "%.1f %%", 100 * row->mfu);
            if (!by_systems) continue;
            put(c, 8, "%.2f %%", 100 * row->efficiency);
            put(c, 9, "%s", measured && row->num_csx > measured ? "projected" : "");
        }
    }
    return WSC_OK;
}
