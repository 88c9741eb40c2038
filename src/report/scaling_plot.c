// SPDX-License-Identifier: Apache-2.0
/* Draws scaling.svg and scaling.png: throughput against the number of systems on logarithmic axes,
 * with linear scaling from the first point, uncertainty bands and published points. With more than
 * one number of systems a panel below shows the parallel efficiency, which a line on logarithmic
 * axes hides. */
#include "plot_style.h"
#include "scaling_output.h"

#include <wsc/mem.h>

#include <math.h>
#include <string.h>

enum { LEGEND_CHARS = 28, MAX_TICKS = 10, N_SHAPES = 8, HEIGHT = 660 };

static const int filled[] = {7, 5, 9, 11, 13, 15}; /* gnuplot's filled shapes: curves */
static const int hollow[N_SHAPES] = {6,  4,  8, 10,
                                     12, 14, 2, 1}; /* its hollow ones and crosses: points */

/* The model's row of the swept ones, -1 for another. */
static int model_of(const struct report_view *v, const char *name)
{
    for (int m = 0; m < v->n_models; m++)
        if (!strcmp(v->row[v->model[m].first].model, name)) return m;
    return -1;
}

/* The model's colour, black for a model that was not swept. */
static unsigned colour_of_point(const struct report_view *v, const struct validation_point *p)
{
    const int m = model_of(v, p->model);
    return m < 0 ? 0 : report_plot_colour(m);
}

/* The first point with the source of point i stands for all of them. */
static bool opens_source(const struct report_scaling *s, int i)
{
    for (int k = 0; k < i; k++)
        if (!strcmp(s->point[k].source, s->point[i].source)) return false;
    return true;
}

/* A legend entry, cut so that it leaves room for the plot. */
static void add_title(struct wsc_text *t, const char *s)
{
    char cut[4 * LEGEND_CHARS + 4];
    size_t n = 0;
    int chars = 0;
    for (; s[n] && chars < LEGEND_CHARS; chars++) {
        int length = out_utf8_length(s + n);
        n += length ? (size_t)length : 1;
    }
    (void)snprintf(cut, sizeof cut, "%.*s%s", (int)n, s, s[n] ? "…" : "");
    out_text_gnuplot(t, cut);
}

/* $m<k>: a model's curve and efficiencies; $i<k>: its ideal line from the first point. */
static void add_model_data(struct wsc_text *t, const struct report_view *v, int m)
{
    const struct scaling_row *first = &v->row[v->model[m].first];
    const struct scaling_row *last = &v->row[v->model[m].end - 1];
    wsc_text_add(t, "$m%d << EOD\n", m);
    for (const struct scaling_row *r = first; r <= last; r++)
        wsc_text_add(t, "%lld %.17g %.17g\n", (long long)r->num_csx, r->tokens_per_s,
                     100 * r->efficiency);
    wsc_text_add(t, "EOD\n$i%d << EOD\n%lld %.17g\n%lld %.17g\nEOD\n", m, (long long)first->num_csx,
                 first->tokens_per_s, (long long)last->num_csx,
                 first->tokens_per_s * (double)last->num_csx / (double)first->num_csx);
}

/* $p<k>: the points that share the source of point k. */
static void add_source_data(struct wsc_text *t, const struct report_view *v, int k)
{
    const struct report_scaling *s = v->in;
    wsc_text_add(t, "$p%d << EOD\n", k);
    for (int i = k; i < s->n_points; i++) {
        const struct validation_point *p = &s->point[i];
        if (strcmp(p->source, s->point[k].source) != 0) continue;
        wsc_text_add(t, "%.17g %.17g %u\n", p->num_csx, p->tokens_per_s, colour_of_point(v, p));
    }
    wsc_text_add(t, "EOD\n");
}

/* Ends of an axis so far. */
struct range {
    double lo, hi;
};

/* Take x into the range. */
static void widen(struct range *r, double x)
{
    if (x < r->lo) r->lo = x;
    if (x > r->hi) r->hi = x;
}

/* gnuplot labels decades, too few for a range of one or two: then 1, 2, 5 or every digit.  The
 * ticks of the efficiency are still set when the second picture begins. */
static void add_y_ticks(struct wsc_text *t, const struct range *y)
{
    const double few = 10, some = 200;
    if (y->hi / y->lo > some) {
        wsc_text_add(t, "set ytics autofreq\n");
        return;
    }
    bool all = y->hi / y->lo < few, first = true;
    wsc_text_add(t, "set ytics (");
    for (int power = (int)floor(log10(y->lo)); power <= (int)log10(y->hi); power++) {
        for (int digit = 1; digit <= 9; digit++) {
            double value = digit * pow(10, power);
            bool wanted = all || digit == 1 || digit == 2 || digit == 5;
            if (!wanted || value < y->lo || value > y->hi) continue;
            wsc_text_add(t, "%s%.17g", first ? "" : ", ", value);
            first = false;
        }
    }
    wsc_text_add(t, ")\n");
}

/* Take the bands that are drawn into the range. */
static void widen_by_bands(struct range *y, const struct report_view *v)
{
    for (int k = 0; k < v->in->n_sensitivities; k++) {
        const struct scaling_sensitivity *s = &v->in->sensitivity[k];
        if (model_of(v, s->model) < 0) continue;
        for (int i = 0; i < s->n_counts; i++) {
            if (s->below[i] > 0) widen(y, s->tokens_per_s[i] * s->below[i]);
            widen(y, s->tokens_per_s[i] * s->above[i]);
        }
    }
}

/* Everything that is drawn, with some air around it. */
static void add_ranges(struct wsc_text *t, const struct report_view *v)
{
    struct range x = {(double)v->tick[0], (double)v->tick[v->n_ticks - 1]};
    struct range y = {v->row[0].tokens_per_s, v->row[0].tokens_per_s};
    for (int i = 0; i < v->in->n_rows; i++)
        widen(&y, v->row[i].tokens_per_s);
    for (int m = 0; m < v->n_models; m++) {
        const struct scaling_row *first = &v->row[v->model[m].first];
        double n = (double)v->row[v->model[m].end - 1].num_csx / (double)first->num_csx;
        widen(&y, first->tokens_per_s * n);
    }
    for (int i = 0; i < v->in->n_points; i++) {
        widen(&x, v->in->point[i].num_csx);
        widen(&y, v->in->point[i].tokens_per_s);
    }
    widen_by_bands(&y, v);
    y = (struct range){y.lo / 1.6, y.hi * 1.6};
    wsc_text_add(t, "set xrange [%.17g:%.17g]\nset yrange [%.17g:%.17g]\n", x.lo / 1.25,
                 x.hi * 1.25, y.lo, y.hi);
    add_y_ticks(t, &y);
}

/* Node counts as ticks, thinned so that labels do not touch. */
static WSC_CHECKED enum wsc_err add_ticks(struct wsc_text *t, const struct report_view *v)
{
    int64_t *tick = wsc_alloc(WSC_MEM_REPORT, (size_t)v->n_ticks, sizeof *tick);
    if (!tick) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "copy the node counts");
    memcpy(tick, v->tick, (size_t)v->n_ticks * sizeof *tick);
    int n = report_ticks_choose(tick, v->n_ticks, MAX_TICKS);
    wsc_text_add(t, "set xtics (");
    for (int i = 0; i < n; i++)
        wsc_text_add(t, "%s'%lld' %lld", i ? ", " : "", (long long)tick[i], (long long)tick[i]);
    wsc_text_add(t, ")\n");
    wsc_free(tick);
    return WSC_OK;
}

/* The head of the script. */
static void add_head(struct wsc_text *t)
{
    wsc_text_add(t, "# %s; run `gnuplot scaling.gp` here to draw it again\n", out_version());
    wsc_text_add(t, "set encoding utf8\nset termoption noenhanced\n"
                    "set border 3 lw 1 lc rgb '#444444'\nset tics nomirror out\n"
                    "set lmargin 11\nset rmargin 30\n");
}

static void add_x_label(struct wsc_text *t, const struct report_view *v)
{
    struct wsc_text label = {0};
    wsc_text_add(&label, "number of %s systems", v->in->cluster->name);
    wsc_text_add(t, "set xlabel ");
    out_text_gnuplot(t, label.bytes ? label.bytes : "");
    wsc_text_add(t, "\n");
    t->failed = t->failed || label.failed;
    wsc_text_free(&label);
}

/* Title, axes, grid and place of the throughput; @p share of the height is its own. */
static void add_frame(struct wsc_text *t, const struct report_view *v, double share)
{
    struct wsc_text title = {0};
    wsc_text_add(&title, "Training throughput, %s scaling on emulated %s systems", v->in->scaling,
                 v->in->cluster->name);
    wsc_text_add(t, "set multiplot title ");
    out_text_gnuplot(t, title.bytes ? title.bytes : "");
    t->failed = t->failed || title.failed;
    wsc_text_free(&title);
    wsc_text_add(t,
                 "\nset origin 0,%.3g\nset size 1,%.3g\n"
                 "set ylabel 'tokens per second'\n"
                 "set logscale xy\nset format y '%%.0s %%c'\n"
                 "set grid xtics ytics mytics lt 1 lw 0.6 lc rgb '#cccccc', "
                 "lt 1 lw 0.4 lc rgb '#e8e8e8'\n"
                 "set key outside right center Left reverse samplen 2 spacing 1.3 width -4 "
                 "font ',12'\n",
                 1 - 0.06 - share, share);
}

/* One legend entry and shape per source, as far as there are shapes. */
static void add_published(struct wsc_text *t, const struct report_scaling *s)
{
    int shape = 0;
    if (s->n_points)
        wsc_text_add(t, ", \\\n  keyentry with dots lc rgb '#ffffff' title 'published:'");
    for (int k = 0; k < s->n_points; k++) {
        if (!opens_source(s, k)) continue;
        wsc_text_add(t,
                     ", \\\n  $p%d using 1:2:3 with points pt %d ps 1.8 lw 2 "
                     "lc rgb variable %s",
                     k, hollow[shape % N_SHAPES], shape < N_SHAPES ? "title " : "notitle");
        if (shape++ < N_SHAPES) add_title(t, s->point[k].source);
    }
}

/* $b<k>: the band of a model. */
static void add_band_data(struct wsc_text *t, const struct scaling_sensitivity *s, int k)
{
    wsc_text_add(t, "$b%d << EOD\n", k);
    for (int i = 0; i < s->n_counts; i++)
        wsc_text_add(t, "%lld %.17g %.17g\n", (long long)s->num_csx[i],
                     s->tokens_per_s[i] * s->below[i], s->tokens_per_s[i] * s->above[i]);
    wsc_text_add(t, "EOD\n");
}

/* Uncertainty bands of the models that have one. */
static void add_bands(struct wsc_text *t, const struct report_view *v)
{
    for (int k = 0; k < v->in->n_sensitivities; k++) {
        const int m = model_of(v, v->in->sensitivity[k].model);
        if (m < 0) continue;
        wsc_text_add(t,
                     "  $b%d using 1:2:3 with filledcurves fc rgb '#%06x' fs transparent solid "
                     "0.18 noborder notitle, \\\n",
                     k, report_plot_colour(m));
    }
}

/* Curve and ideal line of each model. */
static void add_curves(struct wsc_text *t, const struct report_view *v)
{
    wsc_text_add(t, "plot \\\n");
    add_bands(t, v);
    for (int m = 0; m < v->n_models; m++)
        wsc_text_add(t, "  $i%d with lines dt (8,6) lw 1 lc rgb '#%06x' notitle, \\\n", m,
                     report_plot_colour(m));
    for (int m = 0; m < v->n_models; m++) {
        wsc_text_add(t, "  $m%d with linespoints pt %d ps 0.9 lw 2.4 lc rgb '#%06x' title ", m,
                     filled[(size_t)m % (sizeof filled / sizeof *filled)], report_plot_colour(m));
        add_title(t, v->row[v->model[m].first].model);
        wsc_text_add(t, ", \\\n");
    }
    wsc_text_add(t, "  keyentry with lines dt (8,6) lw 1 lc rgb '#666666' title "
                    "'linear from first point'");
    if (v->in->n_sensitivities)
        wsc_text_add(t, ", \\\n  keyentry with filledcurves fc rgb '#666666' fs transparent "
                        "solid 0.18 noborder title 'uncertainty of constants'");
    add_published(t, v->in);
    wsc_text_add(t, "\n");
}

/* The efficiency of every model below the throughput. */
static void add_efficiency(struct wsc_text *t, const struct report_view *v, double share)
{
    double low = 100, high = 100;
    for (int i = 0; i < v->in->n_rows; i++) {
        low = fmin(low, 100 * v->row[i].efficiency);
        high = fmax(high, 100 * v->row[i].efficiency);
    }
    wsc_text_add(t, "unset logscale y\nset format y '%%g'\nunset mytics\n"
                    "set ylabel 'efficiency, %%'\nunset key\n");
    report_efficiency_axis(t, low, high);
    add_x_label(t, v);
    wsc_text_add(t, "set origin 0,0\nset size 1,%.3g\nplot ", share);
    for (int m = 0; m < v->n_models; m++)
        wsc_text_add(t,
                     "%s$m%d using 1:3 with linespoints pt %d ps 0.9 lw 2 lc rgb '#%06x' notitle",
                     m ? ", \\\n  " : "", m, filled[(size_t)m % (sizeof filled / sizeof *filled)],
                     report_plot_colour(m));
    wsc_text_add(t, "\nset mytics default\n");
}

/* The commands that draw one picture: both panels, or the throughput alone where there is one
 * number of systems. */
static WSC_CHECKED enum wsc_err add_panels(struct wsc_text *t, const struct report_view *v)
{
    const bool both = v->n_ticks > 1;
    const double below = both ? 0.32 : 0;
    add_frame(t, v, 0.94 - below);
    add_ranges(t, v);
    TRY(add_ticks(t, v));
    if (both)
        wsc_text_add(t, "unset xlabel\n");
    else
        add_x_label(t, v);
    add_curves(t, v);
    if (both) add_efficiency(t, v, below);
    wsc_text_add(t, "unset multiplot\n");
    return WSC_OK;
}

/* The points of a model's curve in a panel, a: throughput, b: efficiency. */
static void add_curve_labels(struct wsc_text *t, const struct report_view *v, int m, int plot,
                             char panel)
{
    for (int i = v->model[m].first; i < v->model[m].end; i++) {
        const struct scaling_row *r = &v->row[i];
        char rate[32], step[32];
        out_si(rate, sizeof rate, r->tokens_per_s);
        out_step_time(step, sizeof step, r->step_time_ps);
        wsc_text_add(t, "%d%c %s on %lld system%s: %s tokens/s, efficiency %.2f %%, step %s\n",
                     plot, panel, r->model, (long long)r->num_csx, wsc_plural(r->num_csx), rate,
                     100 * r->efficiency, step);
    }
}

/* The published points that share the source of point k. */
static void add_source_labels(struct wsc_text *t, const struct report_scaling *s, int k, int plot)
{
    for (int i = k; i < s->n_points; i++) {
        const struct validation_point *p = &s->point[i];
        char rate[32];
        if (strcmp(p->source, s->point[k].source) != 0) continue;
        out_si(rate, sizeof rate, p->tokens_per_s);
        wsc_text_add(t, "%da published: %s on %g systems: %s tokens/s (%s)\n", plot, p->model,
                     p->num_csx, rate, p->source);
    }
}

/* gnuplot counts the plots of a panel from 1, here in the order of add_curves(): bands, linear
 * ones, curves, entries of the key, sources. */
void report_plot_labels(struct wsc_text *t, const struct report_view *v)
{
    int plot = v->n_models + 1;
    for (int k = 0; k < v->in->n_sensitivities; k++)
        plot += model_of(v, v->in->sensitivity[k].model) >= 0;
    for (int m = 0; m < v->n_models; m++)
        add_curve_labels(t, v, m, plot++, 'a');
    plot += 2 + (v->in->n_sensitivities > 0);
    for (int k = 0; k < v->in->n_points; k++)
        if (opens_source(v->in, k)) add_source_labels(t, v->in, k, plot++);
    for (int m = 0; m < v->n_models && v->n_ticks > 1; m++)
        add_curve_labels(t, v, m, m + 1, 'b');
}

/* Data blocks first, then the commands that name them. */
static WSC_CHECKED enum wsc_err make_script(struct wsc_text *t, const struct report_view *v)
{
    add_head(t);
    for (int m = 0; m < v->n_models; m++)
        add_model_data(t, v, m);
    for (int k = 0; k < v->in->n_points; k++)
        if (opens_source(v->in, k)) add_source_data(t, v, k);
    for (int k = 0; k < v->in->n_sensitivities; k++)
        add_band_data(t, &v->in->sensitivity[k], k);
    struct wsc_text panels = {0};
    const enum wsc_err rc = add_panels(&panels, v);
    if (!rc) out_gnuplot_output(t, "scaling", panels.bytes ? panels.bytes : "", HEIGHT);
    t->failed = t->failed || panels.failed;
    wsc_text_free(&panels);
    return rc ? rc : wsc_text_check(t);
}

enum wsc_err report_plot_write(const char *dir, const struct report_view *v)
{
    struct wsc_text t = {0};
    enum wsc_err rc = make_script(&t, v);
    if (!rc) rc = out_gnuplot(dir, "scaling", &t);
    wsc_text_free(&t);
    return rc;
}
