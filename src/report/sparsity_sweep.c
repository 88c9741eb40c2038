// SPDX-License-Identifier: Apache-2.0
/* Reports throughput against sparsity, for `wsc scale --sweep sparsity=...`: a table, sparsity.csv
 * and sparsity.svg. Each shows both methods of the weight gradient, the ratio of FLOPs, and the
 * line of a machine that spends no time on zeros. study_tables.c and study_plot.c call;
 * scaling_vary() simulates.
 */
#include "sparsity_sweep.h"

#include "plot_style.h"

#include <math.h>
#include <string.h>

enum { HEIGHT = 480 };

/* Value @p k of the sweep for row @p i of the sweep's own rows. */
struct point {
    const struct scaling_row *sampled, *all, *dense;
    double density;
};

static struct point point_of(const struct report_scaling *s, int k, int i)
{
    return (struct point){&s->varied[k].row[i], &s->varied_all[k].row[i], &s->varied[0].row[i],
                          1 - s->varied[k].value};
}

static double speedup(const struct point *p, const struct scaling_row *row)
{
    return row->tokens_per_s / p->dense->tokens_per_s;
}

static double flop_ratio(const struct point *p)
{
    return p->sampled->flop_per_token / p->sampled->useful_flop_per_token;
}

enum wsc_err report_sparsity_write(const char *dir, const struct report_scaling *s)
{
    struct wsc_text t = {0};
    wsc_text_add(&t, "sparsity,model,num_csx,tokens_per_s,speedup,tokens_per_s_dense_gradient,"
                     "speedup_dense_gradient,flop_ratio,ideal,useful_flop_per_token,mfu\n");
    for (int k = 0; k < s->n_varied; k++)
        for (int i = 0; i < s->n_rows; i++) {
            const struct point p = point_of(s, k, i);
            const double value[] = {p.sampled->tokens_per_s,
                                    speedup(&p, p.sampled),
                                    p.all->tokens_per_s,
                                    speedup(&p, p.all),
                                    flop_ratio(&p),
                                    1 / p.density,
                                    p.sampled->useful_flop_per_token,
                                    p.sampled->mfu};
            wsc_text_add(&t, "%.9g,", s->varied[k].value);
            out_text_csv(&t, s->row[i].model);
            wsc_text_add(&t, ",%lld", (long long)s->row[i].num_csx);
            for (size_t c = 0; c < sizeof value / sizeof *value; c++) {
                char text[OUT_REAL_SIZE];
                out_real(text, value[c]);
                wsc_text_add(&t, ",%s", text);
            }
            wsc_text_add(&t, "\n");
        }
    return out_text_write(&t, dir, "sparsity.csv");
}

/* Time of the steps of a training, where one was asked for. */
static void add_time(struct out_table *table, const struct report_scaling *s, int i,
                     const struct scaling_row *row)
{
    char text[32];
    if (!s->n_trainings) return;
    out_duration(text, sizeof text, s->training[i].tokens / row->tokens_per_s);
    out_table_cell(table, "%s", text);
}

static enum wsc_err print_row(const struct report_scaling *s, int i)
{
    static const char *const head[] = {"sparsity",       "tokens/s", "speedup",
                                       "dense gradient", "speedup",  "FLOP ratio",
                                       "1 / density",    "time",     "time, dense gradient"};
    struct out_table *table;
    (void)printf("\n%s on %lld system%s against the sparsity of its weights\n", s->row[i].model,
                 (long long)s->row[i].num_csx, wsc_plural(s->row[i].num_csx));
    TRY(out_table_new(&table, s->n_trainings ? "rrrrrrrrr" : "rrrrrrr", head));
    for (int k = 0; k < s->n_varied; k++) {
        const struct point p = point_of(s, k, i);
        char sampled[32], all[32];
        out_si(sampled, sizeof sampled, p.sampled->tokens_per_s);
        out_si(all, sizeof all, p.all->tokens_per_s);
        out_table_cell(table, "%s", s->varied[k].name);
        out_table_cell(table, "%s", sampled);
        out_table_cell(table, "%.2f", speedup(&p, p.sampled));
        out_table_cell(table, "%s", all);
        out_table_cell(table, "%.2f", speedup(&p, p.all));
        out_table_cell(table, "%.2f", flop_ratio(&p));
        out_table_cell(table, "%.2f", 1 / p.density);
        add_time(table, s, i, p.sampled);
        add_time(table, s, i, p.all);
    }
    enum wsc_err rc = out_table_print(table, stdout, 2);
    out_table_free(&table);
    return rc;
}

enum wsc_err report_sparsity_print(const struct report_scaling *s)
{
    for (int i = 0; i < s->n_rows; i++)
        if (i + 1 == s->n_rows || strcmp(s->row[i].model, s->row[i + 1].model) != 0)
            TRY(print_row(s, i));
    (void)printf("  dense gradient: speedup if the wafer computes gradients of pruned weights too "
                 "(wafer.sparse_gradient);\n"
                 "    which of the two the real machine does is not published\n"
                 "  FLOP ratio: dense equivalent over useful ones\n"
                 "  1 / density: speedup if zeros cost no time\n%s",
                 s->n_trainings ? "  time: of the steps alone\n" : "");
    return WSC_OK;
}

/* $s<m>: the curves of row @p i of the sweep, by ascending sparsity. */
static void add_points(struct wsc_text *t, const struct report_scaling *s, const int *order, int i,
                       int m)
{
    wsc_text_add(t, "$s%d << EOD\n", m);
    for (int k = 0; k < s->n_varied; k++) {
        const struct point p = point_of(s, order[k], i);
        wsc_text_add(t, "%.9g %.9g %.9g %.9g\n", s->varied[order[k]].value, speedup(&p, p.sampled),
                     speedup(&p, p.all), flop_ratio(&p));
    }
    wsc_text_add(t, "EOD\n");
}

/* $ideal<m>: 1 / density is a curve between the swept values too: sampled evenly to the sparsity @p
 * end, up to the top of the panel. */
static void add_ideal(struct wsc_text *t, double end, double most, int m)
{
    enum { SAMPLES = 100 };
    end = fmin(end, 1 - 1 / most);
    wsc_text_add(t, "$ideal%d << EOD\n", m);
    for (int i = 0; i <= SAMPLES; i++) {
        const double zeros = end * i / SAMPLES;
        wsc_text_add(t, "%.9g %.9g\n", zeros, 1 / (1 - zeros));
    }
    wsc_text_add(t, "EOD\n");
}

/* The top of the panel of row @p i: above all that is drawn but 1 / density. */
static double top_of(const struct report_scaling *s, int i)
{
    double most = 1.5;
    for (int k = 0; k < s->n_varied; k++) {
        const struct point p = point_of(s, k, i);
        most = fmax(most, fmax(flop_ratio(&p), fmax(speedup(&p, p.sampled), speedup(&p, p.all))));
    }
    return 1.3 * most;
}

/* The curves of row @p i, the largest node count of model @p m. */
static void add_panel(struct wsc_text *t, const struct report_scaling *s, int i, int m, double most)
{
    char title[160];
    (void)snprintf(title, sizeof title, "%.60s on %lld system%s: speedup against sparsity",
                   s->row[i].model, (long long)s->row[i].num_csx, wsc_plural(s->row[i].num_csx));
    wsc_text_add(t, "set title ");
    out_text_gnuplot(t, title);
    wsc_text_add(t,
                 "\nset yrange [0:%.9g]\n"
                 "plot $ideal%d using 1:2 with lines dt 2 lw 2 lc rgb '#888888' title '1 / "
                 "density', $s%d using 1:4 with lines lw 2 lc rgb '#009e73' title 'ratio of "
                 "FLOPs', $s%d using 1:2 with linespoints pt 7 lw 2 lc rgb '#0072b2' title "
                 "'gradients of non-zeros', $s%d using 1:3 with linespoints pt 5 lw 2 lc rgb "
                 "'#e69f00' title 'all gradients'\n",
                 most, m, m, m, m);
}

enum wsc_err report_sparsity_draw(const char *dir, const struct report_scaling *s)
{
    struct wsc_text t = {0}, panels = {0};
    int order[SCALING_MAX_VALUES], n_models = 0;
    report_varied_order(s, order);
    const int sparsest = order[s->n_varied - 1];
    wsc_text_add(&t, "set encoding utf8\nset termoption noenhanced\nset grid\nset key left top\n"
                     "set xlabel 'fraction of zeros'\nset ylabel 'speedup over dense weights'\n");
    for (int first = 0; first < s->n_rows; first = report_end_of_model(s, first)) {
        const int m = n_models++, last = report_end_of_model(s, first) - 1;
        const double most = top_of(s, last);
        add_points(&t, s, order, last, m);
        add_ideal(&t, s->varied[sparsest].value, most, m);
        add_panel(&panels, s, last, m, most);
    }
    report_panels(&t, "sparsity", &panels, n_models, HEIGHT);
    wsc_text_free(&panels);
    enum wsc_err rc = out_gnuplot(dir, "sparsity", &t);
    wsc_text_free(&t);
    return rc;
}
