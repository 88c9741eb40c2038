// SPDX-License-Identifier: Apache-2.0
/* Reports a scaling law: tables on stdout, law.csv, predictions.csv, and a picture of loss against
 * FLOPs. The picture shows the prediction interval of one more training, and the published law of
 * Cerebras-GPT. */
#include <wsc/report.h>

#include <wsc/file.h>

#include <math.h>
#include <string.h>

/* How a judged point lies to the law. */
static const char *verdict(const struct report_law *r, const struct law_point *p)
{
    if (!p->judged) return "fitted";
    if (r->fit->support != LAW_SUPPORTED) return "no law";
    const double apart = p->loss - law_loss(r->fit, p->flop);
    if (fabs(apart) <= law_half_width(r->fit, p->flop)) return "on track";
    return apart > 0 ? "worse than the law" : "better than the law";
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Head of a column of FLOPs, with the convention of the law. */
static const char *heads_flop(const struct report_law *r)
{
    return r->fit->convention == LAW_6PD ? "FLOPs (6 P D)" : "FLOPs (Hoffmann)";
}

static enum wsc_err print_points(const struct report_law *r)
{
    const char *const head[] = {"training", "parameters", "tokens",     heads_flop(r),
                                "loss",     "law",        "difference", ""};
    struct out_table *table;
    const bool fitted = r->fit->support != LAW_TOO_FEW;
    TRY(out_table_new(&table, "lrrrrrrl", head));
    for (int i = 0; i < r->n_points; i++) {
        const struct law_point *p = &r->point[i];
        const double law = fitted ? law_loss(r->fit, p->flop) : NAN;
        char params[32] = "", tokens[32] = "", expected[32] = "", difference[OUT_PERCENT_SIZE] = "";
        if (fitted) (void)snprintf(expected, sizeof expected, "%.4f", law);
        if (fitted) (void)out_change(difference, 2, p->loss / law - 1);
        if (p->params) out_params(params, sizeof params, p->params);
        if (p->tokens) out_params(tokens, sizeof tokens, p->tokens);
        out_table_cell(table, "%s", p->name);
        out_table_cell(table, "%s", params);
        out_table_cell(table, "%s", tokens);
        out_table_cell(table, "%.3g", p->flop);
        out_table_cell(table, "%.4f", p->loss);
        out_table_cell(table, "%s", expected);
        out_table_cell(table, "%s", difference);
        out_table_cell(table, "%s", verdict(r, p));
    }
    enum wsc_err rc = out_table_print(table, stdout, 2);
    out_table_free(&table);
    return rc;
}

static void print_interval(const char *name, double value, double low, double high)
{
    if (isfinite(high - low))
        (void)printf("  %s = %.4g, 90 %% interval %.4g to %.4g\n", name, value, low, high);
    else
        (void)printf("  %s = %.4g; as many points as coefficients give no interval\n", name, value);
}

static void print_law(const struct report_law *r)
{
    const struct law_fit *f = r->fit;
    char left_out[OUT_PERCENT_SIZE];
    if (f->support == LAW_TOO_FEW) {
        (void)printf("\nThe points support no law: three trainings of different FLOPs are needed, "
                     "there are %d points.\n",
                     f->n);
        return;
    }
    if (isnormal(f->a))
        (void)printf("\nL(f) = (f / %.4g)^%.4f%s", f->a, f->b, f->floor ? "" : "\n");
    else /* of an almost level law, whose loss of 1 lies beyond all numbers */
        (void)printf("\nL(f) = %.4g (f / %.4g)^%.4f%s", f->amplitude, f->scale, f->b,
                     f->floor ? "" : "\n");
    if (f->floor) (void)printf(" + %.4f\n", f->c);
    (void)printf("  f: %s\n", f->convention == LAW_6PD
                                  ? "6 parameters tokens"
                                  : "FLOPs counted as by Hoffmann et al. 2022, appendix F");
    print_interval("b", f->b, f->b_low, f->b_high);
    if (f->floor) print_interval("c", f->c, f->c_low, f->c_high);
    if (!f->floor)
        (void)printf("  c = 0: these points do not determine a loss that more FLOPs cannot pass\n");
    (void)printf("  residuals: %.4f nats per token; degrees of freedom: %d\n", f->deviation,
                 f->dof);
    if (isfinite(r->left_out))
        (void)printf("  the largest training predicted from the others: %s\n",
                     out_change(left_out, 2, r->left_out));
    if (f->support == LAW_NOT_FALLING)
        (void)printf("The points do not support the law: the interval of b reaches 0. More sizes, "
                     "or sizes further apart, are needed.\n");
}

static enum wsc_err print_predictions(const struct report_law *r)
{
    const char *const head[] = {"training",    "parameters", "systems", "batch",       "tokens",
                                heads_flop(r), "time",       "loss",    "Cerebras-GPT"};
    struct out_table *table;
    if (!r->n_predictions) return WSC_OK;
    TRY(out_table_new(&table, "lrrrrrrrr", head));
    for (int i = 0; i < r->n_predictions; i++) {
        const struct law_prediction *p = &r->prediction[i];
        char params[32], tokens[32], time[32];
        out_params(params, sizeof params, p->params);
        out_params(tokens, sizeof tokens, (int64_t)p->tokens);
        out_duration(time, sizeof time, p->seconds);
        out_table_cell(table, "%s", p->name);
        out_table_cell(table, "%s", params);
        out_table_cell(table, "%lld", (long long)p->num_csx);
        out_table_cell(table, "%lld", (long long)p->global_batch);
        out_table_cell(table, "%s", tokens);
        out_table_cell(table, "%.3g", p->flop);
        out_table_cell(table, "%s", time);
        out_table_cell(table, isfinite(p->half_width) ? "%.3f +- %.3f" : "%.3f", p->loss,
                       p->half_width);
        out_table_cell(table, isnan(p->published) ? "-" : "%.3f", p->published);
    }
    (void)printf("\npredictions; batch: sequences of all systems together; loss by the law above, "
                 "beside it that of the published law, which is of other texts and tokens, and of "
                 "10 to 40 tokens per parameter; time of the emulated machine\n");
    enum wsc_err rc = out_table_print(table, stdout, 2);
    out_table_free(&table);
    return rc;
}

/* The prediction of most FLOPs. */
static const struct law_prediction *largest(const struct report_law *r)
{
    const struct law_prediction *p = r->prediction;
    for (int i = 1; i < r->n_predictions; i++)
        if (r->prediction[i].flop > p->flop) p = &r->prediction[i];
    return p;
}

static void print_target(const struct report_law *r)
{
    if (!(r->target > 0) || r->fit->support != LAW_SUPPORTED) return;
    const double flop = law_flop(r->fit, r->target);
    if (!isfinite(flop)) {
        (void)printf("\nA loss of %.4g is %s.\n", r->target,
                     isnan(flop) ? "below the floor of the law" : "beyond 1e308 FLOPs by the law");
        return;
    }
    (void)printf("\nA loss of %.4g takes %.3g %s by the law", r->target, flop, heads_flop(r));
    if (r->n_predictions) {
        const struct law_prediction *p = largest(r);
        char time[32];
        out_duration(time, sizeof time, p->seconds * flop / p->flop);
        (void)printf(": %s on %lld systems at the FLOPs per second of %s, global batch %lld", time,
                     (long long)p->num_csx, p->name, (long long)p->global_batch);
    }
    (void)printf(".\n");
}

enum wsc_err report_law_print(const struct report_law *r)
{
    TRY(print_points(r));
    print_law(r);
    if (r->fit->support == LAW_SUPPORTED) TRY(print_predictions(r));
    print_target(r);
    return WSC_OK;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* A field of its own; empty where the count is not known, as on the screen. */
static void add_count(struct wsc_text *t, int64_t count)
{
    wsc_text_add(t, ",");
    if (count) wsc_text_add(t, "%lld", (long long)count);
}

static enum wsc_err write_points(const char *dir, const struct report_law *r)
{
    struct wsc_text t = {0};
    const bool fitted = r->fit->support != LAW_TOO_FEW;
    wsc_text_add(&t, "name,params,tokens,flop,loss,law,half_width,verdict,convention\n");
    for (int i = 0; i < r->n_points; i++) {
        const struct law_point *p = &r->point[i];
        const double half = law_half_width(r->fit, p->flop);
        out_text_csv(&t, p->name);
        add_count(&t, p->params);
        add_count(&t, p->tokens);
        out_text_csv_real(&t, p->flop);
        out_text_csv_real(&t, p->loss);
        if (fitted)
            out_text_csv_real(&t, law_loss(r->fit, p->flop));
        else
            wsc_text_add(&t, ",");
        if (fitted && isfinite(half))
            out_text_csv_real(&t, half);
        else
            wsc_text_add(&t, ",");
        wsc_text_add(&t, ",%s,%s\n", verdict(r, p), law_convention_name(p->convention));
    }
    return out_text_write(&t, dir, "law.csv");
}

static enum wsc_err write_predictions(const char *dir, const struct report_law *r)
{
    struct wsc_text t = {0};
    wsc_text_add(&t, "name,params,num_csx,tokens,flop,seconds,loss,half_width,published_loss,"
                     "convention,global_batch\n");
    for (int i = 0; i < r->n_predictions; i++) {
        const struct law_prediction *p = &r->prediction[i];
        out_text_csv(&t, p->name);
        wsc_text_add(&t, ",%lld,%lld", (long long)p->params, (long long)p->num_csx);
        out_text_csv_real(&t, p->tokens);
        out_text_csv_real(&t, p->flop);
        out_text_csv_real(&t, p->seconds);
        out_text_csv_real(&t, p->loss);
        out_text_csv_real(&t, p->half_width);
        out_text_csv_real(&t, p->published);
        wsc_text_add(&t, ",%s,%lld\n", law_convention_name(r->fit->convention),
                     (long long)p->global_batch);
    }
    return out_text_write(&t, dir, "predictions.csv");
}

/* ---- picture --------------------------------------------------------------------------------- */

/* Ends of an axis. */
struct ends {
    double low, high;
};

static void widen(struct ends *e, double value)
{
    e->low = fmin(e->low, value);
    e->high = fmax(e->high, value);
}

/* $fit: FLOPs, law, ends of the interval, published law. @p y takes in what is drawn of it, the
 * interval as far as half of the loss beyond the law. */
static void add_curve(struct wsc_text *t, const struct law_fit *f, const struct ends *x,
                      struct ends *y)
{
    enum { STEPS = 60 };
    const double far = 1.5;
    wsc_text_add(t, "$fit << EOD\n");
    for (int i = 0; i <= STEPS; i++) {
        const double flop = x->low * pow(x->high / x->low, (double)i / STEPS);
        const double l = law_loss(f, flop), half = law_half_width(f, flop);
        const double published = scaling_published_loss(flop);
        /* An interval that reaches 0 has no lower end on a logarithmic axis. */
        const bool drawn = half < l;
        wsc_text_add(t, "%.9g %.9g %.9g %.9g %.9g\n", flop, l, drawn ? l - half : l,
                     drawn ? l + half : l, published);
        if (f->convention == LAW_HOFFMANN) widen(y, published);
        widen(y, l);
        if (!drawn) continue;
        widen(y, fmax(l - half, l / far));
        widen(y, fmin(l + half, l * far));
    }
    wsc_text_add(t, "EOD\n");
}

/* A power of ten with its exponent in raised digits, after @p digit unless that is 1. */
static void add_power(struct wsc_text *t, int digit, int power)
{
    static const char *const raised[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    char digits[16];
    (void)snprintf(digits, sizeof digits, "%d", power < 0 ? -power : power);
    if (digit > 1) wsc_text_add(t, "%d·", digit);
    wsc_text_add(t, "10%s", power < 0 ? "⁻" : "");
    for (const char *c = digits; *c; c++)
        wsc_text_add(t, "%s", raised[*c - '0']);
}

/* Ticks of FLOPs: powers of ten, at most ten of them; 1, 2 and 5 times these on a short axis. */
static void add_flop_ticks(struct wsc_text *t, const struct ends *x)
{
    enum { MOST = 10, SHORT = 2 };
    const int first = (int)floor(log10(x->low)), last = (int)floor(log10(x->high));
    const int every = (last - first + MOST - 1) / MOST;
    const char *before = "set xtics (";
    for (int power = first; power <= last; power += every > 1 ? every : 1)
        for (int digit = 1; digit <= (last - first > SHORT ? 1 : 5); digit += digit > 1 ? 3 : 1) {
            const double value = digit * pow(10, power);
            if (value < x->low || value > x->high) continue;
            wsc_text_add(t, "%s'", before);
            add_power(t, digit, power);
            wsc_text_add(t, "' %.9g", value);
            before = ", ";
        }
    wsc_text_add(t, ")\n");
}

/* The range of losses, and a tick at each multiple of a round step, at most nine. */
static void add_loss_axis(struct wsc_text *t, const struct ends *y)
{
    const double most = 8, air = 0.04, span = fmax(y->high - y->low, y->high / 50);
    const double low = fmax(y->low - air * span, 0.9 * y->low), high = y->high + air * span;
    double step = pow(10, floor(log10((high - low) / most)));
    const double factor[] = {2, 2.5, 2}; /* 1, 2, 5, 10 */
    for (int i = 0; i < 3 && (high - low) / step > most; i++)
        step *= factor[i];
    wsc_text_add(t, "set yrange [%.9g:%.9g]\nset ytics (", low, high);
    const double first = ceil(low / step), last = floor(high / step);
    for (int i = 0; i <= (int)(last - first); i++)
        wsc_text_add(t, "%s%.9g", i ? ", " : "", (first + i) * step);
    wsc_text_add(t, ")\n");
}

/* $p0: fitted points, $p1: judged ones, $p2: predictions. */
static int add_series(struct wsc_text *t, const struct report_law *r, int which)
{
    int n = 0;
    wsc_text_add(t, "$p%d << EOD\n", which);
    for (int i = 0; i < r->n_points && which < 2; i++) {
        if (r->point[i].judged != (which == 1)) continue;
        wsc_text_add(t, "%.9g %.9g\n", r->point[i].flop, r->point[i].loss);
        n++;
    }
    for (int i = 0; i < r->n_predictions && which == 2; i++, n++)
        wsc_text_add(t, "%.9g %.9g\n", r->prediction[i].flop, r->prediction[i].loss);
    wsc_text_add(t, "EOD\n");
    return n;
}

/* Ends of both axes from the points and predictions: FLOPs up to twice beyond them. */
static void find_ends(const struct report_law *r, struct ends *x, struct ends *y)
{
    *x = *y = (struct ends){INFINITY, 0};
    for (int i = 0; i < r->n_points; i++) {
        widen(x, r->point[i].flop);
        widen(y, r->point[i].loss);
    }
    for (int i = 0; i < r->n_predictions; i++) {
        x->high = fmax(x->high, r->prediction[i].flop);
        widen(y, r->prediction[i].loss);
    }
    x->low /= 2;
    x->high *= 2;
}

/* The lines of gnuplot's `plot`, after the data blocks that they name. */
static void add_plot(struct wsc_text *t, struct wsc_text *plot, const struct report_law *r)
{
    enum { SERIES = 3 };
    static const char *const look[SERIES] = {"pt 7 ps 1.2 lc rgb '#0072B2' title 'trained'",
                                             "pt 4 ps 1.4 lw 2 lc rgb '#D55E00' title 'judged'",
                                             "pt 6 ps 1.4 lw 2 lc rgb '#009E73' title 'predicted'"};
    wsc_text_add(plot, "plot $fit using 1:3:4 with filledcurves fc rgb '#0072B2' fs transparent "
                       "solid 0.15 noborder title '90 %% interval of one more training', \\\n"
                       "  $fit using 1:2 with lines lw 2 lc rgb '#0072B2' title 'fitted law'");
    if (r->fit->convention == LAW_HOFFMANN) /* by which the published law counts */
        wsc_text_add(plot, ", \\\n  $fit using 1:5 with lines lw 1.5 dt 2 lc rgb '#888888' title "
                           "'Cerebras-GPT on the Pile'");
    for (int k = 0; k < SERIES; k++)
        if (add_series(t, r, k))
            wsc_text_add(plot, ", \\\n  $p%d using 1:2 with points %s", k, look[k]);
    wsc_text_add(plot, "\n");
}

static enum wsc_err draw(const char *dir, const struct report_law *r)
{
    enum { HEIGHT = 560 };
    struct wsc_text t = {0}, plot = {0};
    struct ends x, y;
    find_ends(r, &x, &y);
    wsc_text_add(&t, "# %s; run `gnuplot law.gp` here to draw it again\n", out_version());
    wsc_text_add(&t, "set encoding utf8\nset termoption noenhanced\nset logscale xy\n"
                     "set title 'Loss against training FLOPs'\nset xlabel 'FLOPs of a training'\n"
                     "set ylabel 'loss, nats per token'\n"
                     "set grid lt 1 lw 0.6 lc rgb '#cccccc'\nset border 3 lw 1 lc rgb '#444444'\n"
                     "set tics nomirror out\nset key outside below Left reverse height 1\n");
    add_curve(&t, r->fit, &x, &y);
    wsc_text_add(&t, "set xrange [%.9g:%.9g]\n", x.low, x.high);
    add_flop_ticks(&t, &x);
    add_loss_axis(&t, &y);
    add_plot(&t, &plot, r);
    out_gnuplot_output(&t, "law", plot.bytes ? plot.bytes : "", HEIGHT);
    t.failed = t.failed || plot.failed;
    const enum wsc_err rc = out_gnuplot(dir, "law", &t);
    wsc_text_free(&t);
    wsc_text_free(&plot);
    return rc;
}

enum wsc_err report_law_write(const char *dir, const struct report_law *r)
{
    TRY(wsc_file_mkdir(dir));
    TRY(write_points(dir, r));
    TRY(write_predictions(dir, r));
    return r->fit->support == LAW_TOO_FEW ? WSC_OK : draw(dir, r);
}
