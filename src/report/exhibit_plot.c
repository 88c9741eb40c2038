// SPDX-License-Identifier: Apache-2.0
/* Draws the pictures of exhibits, as gnuplot commands inside a rectangle of the page, so that the
 * SVG, the PNG and a page of the PDF use the same commands. Throughput has logarithmic axes. A
 * panel below shows the parallel efficiency, because a straight line on logarithmic axes hides its
 * loss. Measured parts are solid; parts beyond the largest measurement are dashed. */
#include "exhibit_output.h"
#include "plot_style.h"

#include <wsc/units.h>

#include <math.h>
#include <string.h>

enum { HEIGHT = 640 };

/* ---- published points ------------------------------------------------------------------------ */

/* Tokens per second of a compared row of times and rates, as published: the prediction without its
 * error.  NAN of other quantities. */
static double published_rate(const struct validation_prediction *p)
{
    const struct validation_figure *f = p->ref;
    if (f->quantity != VALIDATION_TIME && f->quantity != VALIDATION_TRAINING_TIME &&
        f->quantity != VALIDATION_RATE && f->quantity != VALIDATION_STEP_TIME)
        return NAN;
    const double predicted =
        (double)f->global_batch * p->sample_tokens / wsc_seconds((double)p->step_time_ps);
    return predicted / (1 + validation_speed_error(f, p->predicted));
}

/* Efficiency in percent of a compared row of several systems; NAN of others. */
static double published_efficiency(const struct validation_prediction *p)
{
    if (p->ref->quantity == VALIDATION_EFFICIENCY) return 100 * p->ref->value;
    if (p->ref->quantity != VALIDATION_SPEEDUP) return NAN;
    return 100 * p->ref->value / (double)p->ref->num_csx;
}

/* Symbols of published points by gnuplot's numbers, as in the picture of ratios. */
enum { COMPARED = 4, NOT_COMPARED = 8 };

static bool is_shown_only(const struct validation_figure *f)
{
    return f->kind == VALIDATION_KIND_CONTEXT;
}

/* Systems or sequences of a row. */
static int64_t place_on_axis(const struct validation_reproduced *r,
                             const struct validation_figure *f)
{
    return r->exhibit->picture == VALIDATION_SYSTEMS ? f->num_csx : f->global_batch;
}

/* The larger one of @p last, the end of the curves, and of the places of the rows in the picture.
 */
static int64_t end_of_axis(const struct validation_reproduced *r, int64_t last)
{
    for (int i = 0; i < r->n_rows; i++) {
        const int64_t place = place_on_axis(r, r->row[i]->ref);
        if (r->curve_of[i] != VALIDATION_NO_CURVE && place > last) last = place;
    }
    return last;
}

/* $p<k>: x, y and symbol of the rows of curve @p k by @p y_of; a row without an y is left out. */
static int add_points(struct wsc_text *t, const struct validation_reproduced *r, int k,
                      const char *name, double (*y_of)(const struct validation_prediction *p))
{
    int n = 0;
    wsc_text_add(t, "$%s%d << EOD\n", name, k);
    for (int i = 0; i < r->n_rows; i++) {
        const struct validation_prediction *p = r->row[i];
        const double y = y_of(p);
        if (r->curve_of[i] != k || !isfinite(y)) continue;
        wsc_text_add(t, "%lld %.9g %d\n", (long long)place_on_axis(r, p->ref), y,
                     is_shown_only(p->ref) ? NOT_COMPARED : COMPARED);
        n++;
    }
    wsc_text_add(t, "EOD\n");
    return n;
}

static double published_step(const struct validation_prediction *p)
{
    const double rate = published_rate(p);
    return (double)p->ref->global_batch * p->sample_tokens / rate;
}

/* ---- curves ---------------------------------------------------------------------------------- */

/* $c<k>: x, y, the ends of the band, whether it is beyond what was measured. */
static void add_curve(struct wsc_text *t, const struct validation_reproduced *r, int k)
{
    const struct validation_curve *c = &r->curve[k];
    const bool systems = r->exhibit->picture == VALIDATION_SYSTEMS;
    wsc_text_add(t, "$c%d << EOD\n", k);
    for (int i = 0; i < c->n; i++) {
        const struct scaling_row *row = &c->row[i];
        const double y = systems ? row->tokens_per_s : wsc_seconds((double)row->step_time_ps);
        const double low = systems ? y * c->below[i] : y / c->above[i],
                     high = systems ? y * c->above[i] : y / c->below[i];
        const int64_t x = systems ? row->num_csx : row->global_batch;
        wsc_text_add(t, "%lld %.9g %.9g %.9g %.9g\n", (long long)x, y, low, high,
                     100 * row->efficiency);
    }
    wsc_text_add(t, "EOD\n");
}

/* Do curves have counts that nobody measured? */
static bool goes_beyond(const struct validation_reproduced *r)
{
    const int64_t to = r->exhibit->measured_to;
    for (int k = 0; to && k < r->n_curves; k++)
        for (int i = 0; i < r->curve[k].n; i++)
            if (r->curve[k].row[i].num_csx > to) return true;
    return false;
}

/* `$c<k>` up to the last measured count, or from it on. */
static void plot_part(struct wsc_text *t, const struct validation_reproduced *r, int k, int column,
                      bool projected)
{
    const int64_t to = r->exhibit->measured_to;
    char x[64];
    if (!to)
        (void)snprintf(x, sizeof x, "1");
    else
        (void)snprintf(x, sizeof x, "($1%s%lld?$1:NaN)", projected ? ">=" : "<=", (long long)to);
    wsc_text_add(t, "$c%d using %s:%d with linespoints lw 2 pt %d ps 0.8 dt %s lc rgb '#%06x' ", k,
                 x, column, projected ? 6 : 7, projected ? "(6,5)" : "1", report_plot_colour(k));
}

static void add_title(struct wsc_text *t, const char *title)
{
    wsc_text_add(t, "title ");
    out_text_gnuplot(t, title);
}

static void add_key(struct wsc_text *t, int symbol, const char *title)
{
    wsc_text_add(t, ", \\\n  keyentry with points pt %d ps 1.6 lw 2 lc rgb '#666666' title '%s'",
                 symbol, title);
}

/* True when a point of the curves is of a row that is not compared. */
static bool shows_others(const struct validation_reproduced *r)
{
    for (int i = 0; i < r->n_rows; i++)
        if (is_shown_only(r->row[i]->ref) && r->curve_of[i] != VALIDATION_NO_CURVE &&
            isfinite(published_rate(r->row[i])))
            return true;
    return false;
}

/* Bands, curves and published points of one panel; @p column of $c<k>, points $<name><k>. */
static void plot_panel(struct wsc_text *t, const struct validation_reproduced *r, int column,
                       const char *name, const int *n_points)
{
    const char *sep = "plot ";
    for (int k = 0; k < r->n_curves && column == 2; k++, sep = ", \\\n  ")
        wsc_text_add(
            t,
            "%s$c%d using 1:3:4 with filledcurves fc rgb '#%06x' fs transparent solid 0.15 "
            "noborder notitle",
            sep, k, report_plot_colour(k));
    for (int k = 0; k < r->n_curves; k++, sep = ", \\\n  ") {
        wsc_text_add(t, "%s", sep);
        plot_part(t, r, k, column, false);
        if (column == 2)
            add_title(t, r->curve[k].model);
        else
            wsc_text_add(t, "notitle");
        if (!goes_beyond(r)) continue;
        wsc_text_add(t, ", \\\n  ");
        plot_part(t, r, k, column, true);
        wsc_text_add(t, "notitle");
    }
    for (int k = 0; k <= r->n_curves; k++)
        if (n_points[k])
            wsc_text_add(t,
                         ", \\\n  $%s%d using 1:2:3 with points pt variable ps 1.6 lw 2 lc rgb "
                         "'#%06x' notitle",
                         name, k, k < r->n_curves ? report_plot_colour(k) : 0x666666U);
    if (column == 2) {
        add_key(t, COMPARED, "published");
        if (shows_others(r)) add_key(t, NOT_COMPARED, "published, context");
        if (goes_beyond(r))
            wsc_text_add(t, ", \\\n  keyentry with linespoints lw 2 pt 6 dt (6,5) lc rgb '#666666' "
                            "title 'beyond what was measured'");
    }
    wsc_text_add(t, "\n");
}

/* On a linear axis a number whose neighbour would touch it is left out. */
static bool has_room(const struct validation_counts *x, bool linear, int i)
{
    enum { PARTS = 20 };
    return !linear || i + 1 == x->n || (x->item[i + 1] - x->item[i]) * PARTS > x->item[x->n - 1];
}

static void add_x_tics(struct wsc_text *t, const struct validation_counts *x, bool linear,
                       int64_t end)
{
    wsc_text_add(t, "set xtics (");
    for (int i = 0; i < x->n; i++) {
        wsc_text_add(t, "%s'", i ? ", " : "");
        if (has_room(x, linear, i)) wsc_text_add(t, "%lld", (long long)x->item[i]);
        wsc_text_add(t, "' %lld", (long long)x->item[i]);
    }
    wsc_text_add(t, ")\nset xrange [%.6g:%.6g]\n", (double)x->item[0] / 1.2, (double)end * 1.2);
}

static void add_common(struct wsc_text *t)
{
    wsc_text_add(t, "set grid xtics ytics lt 1 lw 0.6 lc rgb '#cccccc'\n"
                    "set border 3 lw 1 lc rgb '#444444'\nset tics nomirror out\n"
                    "set key outside right center Left reverse samplen 2 spacing 1.2\n");
}

/* The axis of the efficiencies of all curves and published rows. */
static void add_efficiency_axis(struct wsc_text *plot, const struct validation_reproduced *r)
{
    double low = 100, high = 100;
    for (int k = 0; k < r->n_curves; k++) {
        for (int i = 0; i < r->curve[k].n; i++) {
            low = fmin(low, 100 * r->curve[k].row[i].efficiency);
            high = fmax(high, 100 * r->curve[k].row[i].efficiency);
        }
    }
    for (int i = 0; i < r->n_rows; i++) { /* NAN of other quantities changes neither */
        low = fmin(low, published_efficiency(r->row[i]));
        high = fmax(high, published_efficiency(r->row[i]));
    }
    report_efficiency_axis(plot, low, high);
}

static void plot_systems(const struct validation_reproduced *r, struct wsc_text *data,
                         struct wsc_text *plot)
{
    const struct validation_counts *x = &r->exhibit->num_csx;
    int rates[VALIDATION_MAX_CURVES + 1] = {0}, efficiencies[VALIDATION_MAX_CURVES + 1] = {0};
    for (int k = 0; k <= r->n_curves; k++) {
        rates[k] = add_points(data, r, k, "r", published_rate);
        efficiencies[k] = add_points(data, r, k, "e", published_efficiency);
    }
    add_common(plot);
    wsc_text_add(plot, "set logscale xy\nset format y '%%.0s %%c'\nunset xlabel\n"
                       "set ylabel 'tokens per second'\nset lmargin 11\nset rmargin 28\n");
    add_x_tics(plot, x, false, end_of_axis(r, x->item[x->n - 1]));
    wsc_text_add(plot, "set origin X0,Y0+0.36*H\nset size W,0.64*H\nset yrange [*:*]\n");
    plot_panel(plot, r, 2, "r", rates);
    wsc_text_add(plot, "unset logscale y\nset format y '%%g'\nset ylabel 'efficiency, %%'\n"
                       "set xlabel 'number of systems'\n"
                       "set origin X0,Y0\nset size W,0.36*H\nunset key\n");
    add_efficiency_axis(plot, r);
    plot_panel(plot, r, 5, "e", efficiencies);
    wsc_text_add(plot, "unset logscale x\nset ytics autofreq\nset key\n");
}

static void plot_batches(const struct validation_reproduced *r, struct wsc_text *data,
                         struct wsc_text *plot)
{
    const struct validation_counts *x = &r->exhibit->batch;
    const int64_t end = end_of_axis(r, x->item[x->n - 1]);
    int steps[VALIDATION_MAX_CURVES + 1] = {0};
    for (int k = 0; k <= r->n_curves; k++)
        steps[k] = add_points(data, r, k, "s", published_step);
    add_common(plot);
    wsc_text_add(plot, "unset logscale\nset format y '%%g'\nset xlabel 'sequences of a step'\n"
                       "set ylabel 'time of a step, s'\nset lmargin 11\nset rmargin 28\n");
    add_x_tics(plot, x, true, end);
    wsc_text_add(plot, "set xrange [0:%lld]\nset yrange [0:*]\nset origin X0,Y0\nset size W,H\n",
                 (long long)(end * 21 / 20));
    plot_panel(plot, r, 2, "s", steps);
}

/* ---- ratios ---------------------------------------------------------------------------------- */

/* Ratio of speeds, and the ends of what the row accepts; of kind context the ratio alone. */
struct ratio {
    double y, low, high;
};

/* False for a row that has no ratio: a bound. It is in the table alone. */
static bool ratio_of(const struct validation_prediction *p, struct ratio *out)
{
    const struct validation_figure *f = p->ref;
    const bool accepts = f->kind != VALIDATION_KIND_CONTEXT;
    const double y = validation_speed(f, p->predicted);
    const double a = accepts ? validation_speed(f, f->low) : y;
    const double b = accepts ? validation_speed(f, f->high) : y;
    *out = (struct ratio){y, fmin(a, b), fmax(a, b)};
    return isfinite(y) && isfinite(a) && isfinite(b);
}

/* The rows of one kind, each at its position among all rows that are drawn. */
static void add_ratios(struct wsc_text *t, const struct validation_reproduced *r,
                       enum validation_kind kind)
{
    struct ratio ratio;
    int position = 0;
    wsc_text_add(t, "$%s << EOD\n", validation_kind_name(kind));
    for (int i = 0; i < r->n_rows; i++) {
        if (!ratio_of(r->row[i], &ratio)) continue;
        position++;
        if (r->row[i]->ref->kind == kind)
            wsc_text_add(t, "%d %.9g %.9g %.9g\n", position, ratio.y, ratio.low, ratio.high);
    }
    wsc_text_add(t, "EOD\n");
}

static int count_ratios(const struct validation_reproduced *r)
{
    struct ratio ratio;
    int n = 0;
    for (int i = 0; i < r->n_rows; i++)
        n += ratio_of(r->row[i], &ratio);
    return n;
}

/* The rows that are drawn, by their ids. */
static void add_ratio_tics(struct wsc_text *t, const struct validation_reproduced *r)
{
    struct ratio ratio;
    int position = 0;
    wsc_text_add(t, "set xtics rotate by 60 right (");
    for (int i = 0; i < r->n_rows; i++) {
        if (!ratio_of(r->row[i], &ratio)) continue;
        wsc_text_add(t, "%s", position ? ", " : "");
        out_text_gnuplot_tick(t, r->row[i]->ref->id);
        wsc_text_add(t, " %d", ++position);
    }
    wsc_text_add(t, ")\n");
}

static void plot_ratios(const struct validation_reproduced *r, struct wsc_text *data,
                        struct wsc_text *plot)
{
    add_ratios(data, r, VALIDATION_KIND_CALIBRATION);
    add_ratios(data, r, VALIDATION_KIND_VALIDATION);
    add_ratios(data, r, VALIDATION_KIND_CONTEXT);
    add_common(plot);
    wsc_text_add(plot,
                 "unset logscale\nset format y '%%g'\nset boxwidth 0.5\nunset xlabel\n"
                 "set ylabel 'predicted / published speed'\nset lmargin 11\nset rmargin 28\n"
                 "set bmargin 13\nset yrange [*<0.7:1.3<*]\nset xrange [0.4:%d.6]\n"
                 "set origin X0,Y0\nset size W,H\n",
                 count_ratios(r));
    add_ratio_tics(plot, r);
    wsc_text_add(
        plot,
        "plot 1 with lines lw 1 lc rgb '#666666' notitle, \\\n"
        "  $calibration using 1:3:3:4:4 with candlesticks fs solid 0.25 noborder lc rgb '#E69F00' "
        "title 'accepted, fitted', \\\n"
        "  $validation using 1:3:3:4:4 with candlesticks fs solid 0.25 noborder lc rgb '#56B4E9' "
        "title 'accepted, predicted', \\\n"
        "  $calibration using 1:2 with points pt 6 ps 1.4 lw 2 lc rgb '#D55E00' title 'fitted', "
        "\\\n"
        "  $validation using 1:2 with points pt 7 ps 1.2 lc rgb '#0072B2' title 'predicted', \\\n"
        "  $context using 1:2 with points pt 8 ps 1.2 lw 2 lc rgb '#888888' title 'context'\n"
        "set xtics norotate\nset bmargin\n");
}

/* ---- all ------------------------------------------------------------------------------------- */

void report_exhibit_plot(const struct validation_reproduced *r, struct wsc_text *data,
                         struct wsc_text *plot)
{
    static void (*const draw[VALIDATION_N_PICTURES])(const struct validation_reproduced *,
                                                     struct wsc_text *, struct wsc_text *) = {
        [VALIDATION_RATIOS] = plot_ratios,
        [VALIDATION_BATCHES] = plot_batches,
        [VALIDATION_SYSTEMS] = plot_systems};
    for (int k = 0; k < r->n_curves; k++)
        add_curve(data, r, k);
    draw[r->exhibit->picture](r, data, plot);
}

bool report_exhibit_drawn(const struct validation_reproduced *r)
{
    return count_ratios(r) || r->n_curves;
}

enum wsc_err report_exhibit_draw(const char *dir, const struct validation_reproduced *r)
{
    struct wsc_text script = {0}, plot = {0}, page = {0};
    if (!report_exhibit_drawn(r)) return WSC_OK;
    wsc_text_add(&script, "set encoding utf8\nset termoption noenhanced\nX0 = 0; Y0 = 0; W = 1; "
                          "H = 0.94\n");
    report_exhibit_plot(r, &script, &plot);
    wsc_text_add(&page, "set multiplot title ");
    out_text_gnuplot(&page, r->title);
    wsc_text_add(&page, "\n%sunset multiplot\n", plot.bytes ? plot.bytes : "");
    out_gnuplot_output(&script, r->exhibit->id, page.bytes ? page.bytes : "", HEIGHT);
    script.failed = script.failed || plot.failed || page.failed;
    enum wsc_err rc = out_gnuplot(dir, r->exhibit->id, &script);
    wsc_text_free(&script);
    wsc_text_free(&plot);
    wsc_text_free(&page);
    return rc;
}
