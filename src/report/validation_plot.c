// SPDX-License-Identifier: Apache-2.0
/* validation.svg and validation.png: predicted over published for every compared row, with fitted
 * rows and predicted rows in different colours. */
#include "validation_plot.h"

enum { HEIGHT = 620 };

static bool drawn(const struct validation_prediction *p)
{
    return p->ref->value > 0 && p->predicted > 0 && p->ref->low > 0;
}

static void add_point(struct out_text *t, const struct validation_prediction *p, int x)
{
    const double a = validation_speed(p->ref, p->ref->low),
                 b = validation_speed(p->ref, p->ref->high);
    out_text_add(t, "%d %.6g %.6g %.6g %.6g\n", x, validation_speed(p->ref, p->predicted),
                 validation_speed(p->ref, p->neutral), a < b ? a : b, a < b ? b : a);
}

static void add_data(struct out_text *t, const struct validation_table *v,
                     enum validation_kind kind)
{
    int x = 0;
    out_text_add(t, "$%s << EOD\n", validation_kind_name(kind));
    for (int i = 0; i < v->n_rows; i++) {
        if (!drawn(&v->row[i])) continue;
        x++;
        if (v->row[i].ref->kind == kind) add_point(t, &v->row[i], x);
    }
    out_text_add(t, "EOD\n");
}

static int add_ticks(struct out_text *t, const struct validation_table *v)
{
    int x = 0;
    out_text_add(t, "set xtics rotate by 60 right (");
    for (int i = 0; i < v->n_rows; i++) {
        if (!drawn(&v->row[i])) continue;
        out_text_add(t, "%s", x++ ? ", " : "");
        out_text_gnuplot(t, v->row[i].ref->id);
        out_text_add(t, " %d", x);
    }
    out_text_add(t, ")\n");
    return x;
}

static const char curves[] =
    "plot \\\n"
    "  1 with lines lw 1 lc rgb '#666666' notitle, \\\n"
    "  $calibration using 1:4:4:5:5 with candlesticks fs solid 0.25 noborder lc rgb '#E69F00' "
    "title 'accepted, fitted', \\\n"
    "  $validation using 1:4:4:5:5 with candlesticks fs solid 0.25 noborder lc rgb '#56B4E9' "
    "title 'accepted, predicted', \\\n"
    "  $calibration using 1:3 with points pt 6 lc rgb '#D55E00' title 'constants neutral', \\\n"
    "  $validation using 1:3 with points pt 6 lc rgb '#0072B2' notitle, \\\n"
    "  $calibration using 1:2 with points pt 7 lc rgb '#D55E00' title 'fitted', \\\n"
    "  $validation using 1:2 with points pt 7 lc rgb '#0072B2' title 'predicted'\n";

enum wsc_err report_validation_plot(const char *dir, const struct validation_table *v)
{
    struct out_text t = {0};
    out_text_add(&t, "set key top left horizontal\nset grid ytics\nset boxwidth 0.6\n"
                     "set ylabel 'predicted / published speed'\nset yrange [0.5:2.6]\n");
    add_data(&t, v, VALIDATION_KIND_CALIBRATION);
    add_data(&t, v, VALIDATION_KIND_VALIDATION);
    const int n = add_ticks(&t, v);
    out_text_add(&t, "set xrange [0:%d]\nset bmargin 12\n", n + 1);
    out_gnuplot_output(&t, "validation", curves, HEIGHT);
    enum wsc_err rc = out_gnuplot(dir, "validation", &t);
    out_text_free(&t);
    return rc;
}
