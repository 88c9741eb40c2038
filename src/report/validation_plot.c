// SPDX-License-Identifier: Apache-2.0
/* Draws validation.svg and validation.png: predicted over published speed of every judged row, with
 * the accepted range and the 90 % band. Each site has its own marker; fitted rows have hollow
 * markers. validation_table.c calls it after its tables. */
#include "validation_plot.h"

#include <math.h>
#include <string.h>

enum { HEIGHT = 840 };

/* Markers of gnuplot in pairs: hollow, and filled at the next number. */
static const struct site_marker {
    const char *site; /* NULL: any other */
    int hollow;
    const char *colour;
} marker[] = {{"usc", 6, "#D55E00"},       {"alcf", 4, "#0072B2"},    {"dabench", 8, "#009E73"},
              {"cerebras", 12, "#CC79A7"}, {"sandia", 14, "#56B4E9"}, {NULL, 10, "#666666"}};
enum { N_MARKERS = sizeof marker / sizeof *marker };

static bool drawn(const struct validation_prediction *p)
{
    const double speed = validation_speed(p->ref, p->predicted);
    return p->ref->kind != VALIDATION_KIND_CONTEXT && isfinite(speed) && speed > 0;
}

static int marker_of(const struct validation_figure *ref)
{
    int i = 0;
    while (marker[i].site && strcmp(marker[i].site, ref->site) != 0)
        i++;
    return i;
}

/* Place, speed, accepted from and to, band from and to. */
static void add_point(struct wsc_text *t, const struct validation_prediction *p, int x)
{
    const struct validation_figure *f = p->ref;
    const double a = validation_speed(f, f->low), b = validation_speed(f, f->high);
    const double c = validation_speed(f, p->band_low), d = validation_speed(f, p->band_high);
    wsc_text_add(t, "%d %.6g %.6g %.6g %.6g %.6g\n", x, validation_speed(f, p->predicted),
                 fmin(a, b), fmax(a, b), fmin(c, d), fmax(c, d));
}

/* The points of one marker, fitted or not; how many there are. */
static int add_data(struct wsc_text *t, const struct validation_table *v, int m, bool fitted)
{
    int x = 0, n = 0;
    wsc_text_add(t, "$points_%d_%d << EOD\n", m, fitted);
    for (int i = 0; i < v->n_rows; i++) {
        const struct validation_prediction *p = &v->row[i];
        if (!drawn(p)) continue;
        x++;
        if (marker_of(p->ref) != m || (p->ref->kind == VALIDATION_KIND_CALIBRATION) != fitted)
            continue;
        add_point(t, p, x);
        n++;
    }
    wsc_text_add(t, "EOD\n");
    return n;
}

static int add_ticks(struct wsc_text *t, const struct validation_table *v)
{
    int x = 0;
    wsc_text_add(t, "set xtics rotate by 90 right (");
    for (int i = 0; i < v->n_rows; i++) {
        if (!drawn(&v->row[i])) continue;
        wsc_text_add(t, "%s", x++ ? ", " : "");
        out_text_gnuplot_tick(t, v->row[i].ref->id);
        wsc_text_add(t, " %d", x);
    }
    wsc_text_add(t, ")\n");
    return x;
}

/* Accepted range, band and marker of one set of points. */
static void add_curves(struct wsc_text *t, int m, bool fitted)
{
    const struct site_marker *s = &marker[m];
    wsc_text_add(
        t,
        ", \\\n  $points_%d_%d using 1:3:3:4:4 with candlesticks fs solid 0.15 noborder lc "
        "rgb '%s' notitle, \\\n  $points_%d_%d using 1:2:5:6 with yerrorbars pt %d ps 1.2 "
        "lc rgb '%s' title '%s%s'",
        m, fitted, s->colour, m, fitted, s->hollow + !fitted, s->colour,
        s->site ? s->site : "other sites", fitted ? ", fitted" : "");
}

enum wsc_err report_validation_plot(const char *dir, const struct validation_table *v)
{
    struct wsc_text t = {0}, curves = {0};
    wsc_text_add(&t, "set key top left horizontal\nset grid ytics\nset boxwidth 0.6\n"
                     "set logscale y 2\nset yrange [*<0.0884:11.3<*]\n"
                     "set ylabel 'predicted / published speed, 90 %% band; shaded: accepted'\n");
    wsc_text_add(&curves, "plot \\\n  1 with lines lw 1 lc rgb '#666666' notitle");
    for (int k = 0; k < 2 * N_MARKERS; k++)
        if (add_data(&t, v, k / 2, k % 2)) add_curves(&curves, k / 2, k % 2);
    wsc_text_add(&curves, "\n");
    const int n = add_ticks(&t, v);
    wsc_text_add(&t, "set xrange [0:%d]\nset bmargin 15\n", n + 1);
    enum wsc_err rc = wsc_text_check(&curves);
    if (!rc) {
        out_gnuplot_output(&t, "validation", curves.bytes, HEIGHT);
        rc = out_gnuplot(dir, "validation", &t);
    }
    wsc_text_free(&curves);
    wsc_text_free(&t);
    return rc;
}
