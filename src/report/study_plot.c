// SPDX-License-Identifier: Apache-2.0
/* Draws what a curve depends on: a swept constant (sweep.svg: a curve per model against the values,
 * on a logarithmic axis where all are positive) and the sensitivity to the constants (tornado.svg:
 * a panel per model).
 * sparsity_sweep.c draws a sweep over sparsity, study_tables.c has the numbers. */
#include "plot_style.h"
#include "scaling_output.h"
#include "sparsity_sweep.h"

#include <wsc/mem.h>

#include <math.h>
#include <string.h>

enum { TORNADO_HEIGHT = 560, SWEEP_HEIGHT = 480 };

static double rate_of(const struct scaling_variant *v, int i)
{
    return v->row[i].tokens_per_s;
}

/* ---- one constant ---------------------------------------------------------------------------- */

/* The ends of the axis of values, beyond the values. */
struct axis {
    double lo, hi;
    bool log;
};

/* The axis of @p s, whose values ascend in the order @p order; around a value that is alone.
 * gnuplot drops a label at the very end of a logarithmic axis: there is room beyond both ends. */
static struct axis axis_of(const struct report_scaling *s, const int *order)
{
    const double room = 0.02;
    const double least = s->varied[order[0]].value, most = s->varied[order[s->n_varied - 1]].value;
    const bool log = least > 0;
    if (least == most && log) return (struct axis){least / 2, most * 2, log};
    if (least == most) return (struct axis){least - 1, most + 1, log};
    if (!log)
        return (struct axis){least - room * (most - least), most + room * (most - least), log};
    const double factor = pow(most / least, room);
    return (struct axis){least / factor, most * factor, log};
}

/* 0 at the left end of the axis, 1 at the right one. */
static double place_on(const struct axis *a, double value)
{
    return a->log ? log(value / a->lo) / log(a->hi / a->lo) : (value - a->lo) / (a->hi - a->lo);
}

/* Range and labels of the axis: the first value, the last one, and those between them that lie far
 * enough from their neighbours. */
static void add_values(struct wsc_text *t, const struct report_scaling *s, const int *order)
{
    const double gap = 1.0 / 14;
    const struct axis a = axis_of(s, order);
    const int last = s->n_varied - 1;
    const double end = place_on(&a, s->varied[order[last]].value);
    double before = 0;
    wsc_text_add(t, "set xtics rotate by -30 (");
    for (int k = 0; k <= last; k++) {
        const struct scaling_variant *v = &s->varied[order[k]];
        const double at = place_on(&a, v->value);
        if (k && k < last && (at - before < gap || end - at < gap)) continue;
        wsc_text_add(t, "%s", k ? ", " : "");
        out_text_gnuplot_tick(t, v->name);
        wsc_text_add(t, " %.17g", v->value);
        before = at;
    }
    wsc_text_add(t, ")\n%sset xrange [%.17g:%.17g]\n", a.log ? "set logscale x\n" : "", a.lo, a.hi);
}

/* From zero when something happens, close up when hardly anything does. */
static void add_sweep_range(struct wsc_text *t, const struct report_scaling *s)
{
    const double little = 0.05, air = 0.02;
    double least = 1, most = 1;
    for (int k = 0; k < s->n_varied; k++)
        for (int i = 0; i < s->n_rows; i++) {
            const double ratio = rate_of(&s->varied[k], i) / rate_of(&s->varied[0], i);
            least = fmin(least, ratio);
            most = fmax(most, ratio);
        }
    if (most - least < little)
        wsc_text_add(t, "set yrange [%.9g:%.9g]\n", least - air, most + air);
    else
        wsc_text_add(t, "set yrange [0:%.9g]\n", most * (1 + air));
}

/* tokens/s against the constant, a curve per model at its largest node count. */
static enum wsc_err draw_sweep(const char *dir, const struct report_scaling *s)
{
    struct wsc_text t = {0}, plot = {0};
    const struct scaling_variant *v = s->varied;
    int order[SCALING_MAX_VALUES];
    report_varied_order(s, order);
    wsc_text_add(&t, "set encoding utf8\nset termoption noenhanced\nset grid\nset key outside "
                     "right center\nset title 'tokens per second against ");
    wsc_text_add(&t, "%s'\nset xlabel '%s'\nset ylabel 'relative to the first value'\n",
                 s->varied_key, s->varied_key);
    add_values(&t, s, order);
    add_sweep_range(&t, s);
    wsc_text_add(&plot, "plot ");
    for (int first = 0, m = 0; first < s->n_rows; first = report_end_of_model(s, first), m++) {
        const int last = report_end_of_model(s, first) - 1;
        wsc_text_add(&t, "$s%d << EOD\n", m);
        for (int k = 0; k < s->n_varied; k++)
            wsc_text_add(&t, "%.17g %.17g\n", v[order[k]].value,
                         rate_of(&v[order[k]], last) / rate_of(&v[0], last));
        wsc_text_add(&t, "EOD\n");
        wsc_text_add(&plot, "%s$s%d using 1:2 with linespoints pt 7 lw 2 lc %d title ",
                     m ? ", " : "", m, m + 1);
        char title[128];
        (void)snprintf(title, sizeof title, "%.60s, %lld systems", s->row[first].model,
                       (long long)s->row[last].num_csx);
        out_text_gnuplot(&plot, title);
    }
    wsc_text_add(&plot, "\n");
    out_gnuplot_output(&t, "sweep", plot.bytes ? plot.bytes : "", SWEEP_HEIGHT);
    t.failed = t.failed || plot.failed;
    enum wsc_err rc = out_gnuplot(dir, "sweep", &t);
    wsc_text_free(&plot);
    wsc_text_free(&t);
    return rc;
}

/* ---- sensitivity ----------------------------------------------------------------------------- */

/* Bars that can be seen; at least one, where any constant has a range. */
static int visible_bars(const struct scaling_sensitivity *s)
{
    const double hair = 1e-5;
    const int last = s->n_counts - 1;
    int n = 0;
    while (n < s->n && n < REPORT_MOST_CONSTANTS &&
           !(fabs(s->constant[n].at_low[last] - 1) < hair &&
             fabs(s->constant[n].at_high[last] - 1) < hair))
        n++;
    return !n && s->n ? 1 : n;
}

/* $t<m>: the changes at both ends of the range of each bar; -100 % where the model does not fit.
 * Without a bar a point keeps gnuplot from refusing the panel. */
static void add_bars(struct wsc_text *t, const struct scaling_sensitivity *s, int m)
{
    const int last = s->n_counts - 1, n = visible_bars(s);
    wsc_text_add(t, "$t%d << EOD\n%s", m, n ? "" : "0 0 0\n");
    for (int k = 0; k < n; k++) {
        const double low = s->constant[k].at_low[last], high = s->constant[k].at_high[last];
        wsc_text_add(t, "%d %.9g %.9g\n", n - 1 - k, isnan(low) ? -100 : 100 * (low - 1),
                     isnan(high) ? -100 : 100 * (high - 1));
    }
    wsc_text_add(t, "EOD\n");
}

/* The bars of a model, longest on top: from the ratio at one end to that at the other. */
static void add_tornado(struct wsc_text *t, const struct scaling_sensitivity *s, int m)
{
    const int last = s->n_counts - 1, n = visible_bars(s), top = n ? n - 1 : 0;
    char title[160];
    (void)snprintf(title, sizeof title, "%.40s on %lld systems: %s%s", s->model,
                   (long long)s->num_csx[last],
                   n ? "each constant at the ends of its range" : "no constant has a range",
                   n < s->n ? "; others in sensitivity.csv" : "");
    wsc_text_add(t, "set title ");
    out_text_gnuplot(t, title);
    wsc_text_add(t,
                 " offset character -14,0\nset yrange [-0.6:%d.6]\nunset arrow\n"
                 "set arrow from 0,-0.6 to 0,%d.6 nohead lw 1 lc rgb '#444444' front\n"
                 "set ytics scale 0 (",
                 top, top);
    for (int k = 0; k < n; k++)
        wsc_text_add(t, "%s'%s  %s .. %s' %d", k ? ", " : "", s->constant[k].key,
                     s->constant[k].low, s->constant[k].high, n - 1 - k);
    wsc_text_add(t,
                 ")\nplot $t%d using (0):1:(0):2:($1-0.35):($1+0.35) with boxxyerror lc rgb "
                 "'#0072b2' title 'at its low end', $t%d using (0):1:(0):3:($1-0.35):($1+0.35) "
                 "with boxxyerror lc rgb '#e69f00' title 'at its high end'\n",
                 m, m);
}

/* A panel for each model. */
static enum wsc_err draw_tornado(const char *dir, const struct report_scaling *s)
{
    struct wsc_text t = {0}, panels = {0};
    wsc_text_add(&t, "set encoding utf8\nset termoption noenhanced\nset grid xtics\n"
                     "set style fill solid 0.85 noborder\nset boxwidth 0.7\n"
                     "set xlabel 'change of tokens per second, %%'\n"
                     "set key inside left bottom Left reverse\nset lmargin 54\n");
    for (int m = 0; m < s->n_sensitivities; m++) {
        add_bars(&t, &s->sensitivity[m], m);
        add_tornado(&panels, &s->sensitivity[m], m);
    }
    report_panels(&t, "tornado", &panels, s->n_sensitivities, TORNADO_HEIGHT);
    wsc_text_free(&panels);
    enum wsc_err rc = out_gnuplot(dir, "tornado", &t);
    wsc_text_free(&t);
    return rc;
}

/* ---- both ------------------------------------------------------------------------------------ */

enum wsc_err report_study_draw(const char *dir, const struct report_scaling *s)
{
    const enum wsc_err sweep = s->varied_all ? report_sparsity_draw(dir, s)
                               : s->n_varied ? draw_sweep(dir, s)
                                             : WSC_OK;
    const enum wsc_err tornado = s->n_sensitivities ? draw_tornado(dir, s) : WSC_OK;
    return tornado ? tornado : sweep;
}
