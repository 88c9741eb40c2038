// SPDX-License-Identifier: Apache-2.0
/* `wsc validate --mesh --wafer`: operations of published models' plans on strips of the wafer,
 * simulated cycles against the analytical model (kernel_wafer.c), as a table, JSON or CSV.  Fails
 * when the median or the largest error is above what is claimed (docs/MODEL.md). */
#include "mesh_wafer.h"

#include "mesh_pairs.h"
#include "user_files.h"

#include <wsc/check.h>
#include <wsc/kernels.h>
#include <wsc/mem.h>
#include <wsc/num.h>

#include <math.h>
#include <stdio.h>

/* What is claimed of the analytical model at real size. */
static const double median_claimed = 0.02, worst_claimed = 0.06;

struct cases {
    struct kernels_wafer_pair *pair; /* owned */
    double *error;                   /* owned, relative, without sign */
    int n;
};

/* Cycles error of the analytical model, positive: too slow. */
static double error_of(const struct kernels_wafer_pair *p)
{
    return p->model / p->cycles - 1;
}

/* Median and worst of the cases of which an error is claimed, or of the others. */
struct summary {
    int n;
    double median, largest;
    const struct kernels_wafer_pair *worst;
};

/* ---- what is printed ------------------------------------------------------------------------- */

static enum wsc_err print_table(const struct cases *all)
{
    static const char *const head[] = {"model",     "format", "lanes",      "kernel",
                                       "pass",      "PEs",    "shape",      "continued",
                                       "simulated", "mesh",   "analytical", "cycles error"};
    struct out_table *t;
    TRY(out_table_new(&t, "llrlllllrrrr", head));
    for (int i = 0; i < all->n; i++) {
        const struct kernels_wafer_pair *p = &all->pair[i];
        char error[OUT_PERCENT_SIZE];
        out_table_cell(t, "%s", p->plan);
        out_table_cell(t, "%s", num_formats[p->format].word);
        out_table_cell(t, "%d", p->lanes);
        out_table_cell(t, "%s", p->kernel);
        out_table_cell(t, "%s", p->pass);
        out_table_cell(t, "%d x %d", p->w, p->h);
        out_table_cell(t, "%s", p->shape);
        out_table_cell(t, "%s", p->continued);
        out_table_cell(t, "%lld", (long long)p->simulated);
        out_table_cell(t, "%.0f", p->cycles);
        out_table_cell(t, "%.0f", p->model);
        out_table_cell(t, "%s", out_change(error, 2, error_of(p)));
    }
    enum wsc_err rc = out_table_print(t, stdout, 0);
    out_table_free(&t);
    return rc;
}

static enum wsc_err print_json(const struct cases *all, const struct summary *s)
{
    struct out_json j = {.pretty = true};
    out_json_open(&j, NULL);
    out_json_open_list(&j, "cases");
    for (int i = 0; i < all->n; i++) {
        const struct kernels_wafer_pair *p = &all->pair[i];
        out_json_open(&j, NULL);
        out_json_str(&j, "model", p->plan);
        out_json_str(&j, "format", num_formats[p->format].word);
        out_json_int(&j, "lanes", p->lanes);
        out_json_str(&j, "kernel", p->kernel);
        out_json_str(&j, "pass", p->pass);
        out_json_int(&j, "columns", p->w);
        out_json_int(&j, "rows", p->h);
        out_json_str(&j, "shape", p->shape);
        out_json_str(&j, "continued", p->continued);
        out_json_bool(&j, "claimed", !p->open);
        out_json_int(&j, "simulated_cycles", p->simulated);
        out_json_real(&j, "mesh_cycles", p->cycles);
        out_json_real(&j, "analytical_cycles", p->model);
        out_json_real(&j, "cycles_error_percent", 100 * error_of(p));
        out_json_real(&j, "max_error", p->max_error);
        out_json_close(&j);
    }
    out_json_close_list(&j);
    out_json_real(&j, "median_cycles_error_percent", 100 * s->median);
    out_json_real(&j, "worst_cycles_error_percent", 100 * s->largest);
    out_json_close(&j);
    enum wsc_err rc = out_json_check(&j, "the comparison");
    if (!rc) (void)printf("%s\n", j.text.bytes);
    wsc_text_free(&j.text);
    return rc;
}

static enum wsc_err write_csv(const struct cases *all, const char *path)
{
    struct wsc_text t = {0};
    wsc_text_add(&t, "model,format,lanes,kernel,pass,columns,rows,shape,continued,claimed,"
                     "simulated_cycles,mesh_cycles,analytical_cycles,cycles_error_percent,"
                     "max_error\n");
    for (int i = 0; i < all->n; i++) {
        const struct kernels_wafer_pair *p = &all->pair[i];
        wsc_text_add(&t, "%s,%s,%d,%s,%s,%d,%d,", p->plan, num_formats[p->format].word, p->lanes,
                     p->kernel, p->pass, p->w, p->h);
        out_text_csv(&t, p->shape);
        wsc_text_add(&t, ",%s,%d,%lld,%.1f,%.1f,%.4f,%.3g\n", p->continued, !p->open,
                     (long long)p->simulated, p->cycles, p->model, 100 * error_of(p), p->max_error);
    }
    enum wsc_err rc = wsc_text_check(&t);
    if (!rc) rc = out_write_text(path, t.bytes);
    wsc_text_free(&t);
    return rc;
}

/* ---- the comparison -------------------------------------------------------------------------- */

static enum wsc_err take(struct cases *all, const struct kernels_wafer_pair *p)
{
    if (!(p->max_error <= p->tolerance))
        return WSC_RAISE(WSC_NUMERIC, "%s %s of %s on %d x %d PEs: mesh and host differ by %g",
                         p->kernel, p->pass, p->plan, p->w, p->h, p->max_error);
    all->pair[all->n++] = *p;
    return WSC_OK;
}

static struct summary summarise(struct cases *all, bool open)
{
    struct summary s = {0};
    for (int i = 0; i < all->n; i++) {
        const struct kernels_wafer_pair *p = &all->pair[i];
        if (p->open != open) continue;
        all->error[s.n++] = fabs(error_of(p));
        if (!s.worst || !(fabs(error_of(p)) <= s.largest)) s.worst = p;
        s.largest = fabs(error_of(s.worst));
    }
    if (s.n) s.median = app_median(all->error, s.n);
    return s;
}

static void print_summary(const struct summary *s, const char *what)
{
    if (!s->n) return;
    (void)printf("%d %s: median error %.2f %%, worst %.2f %% (%s, %s %s)\n", s->n, what,
                 100 * s->median, 100 * s->largest, s->worst->plan, s->worst->kernel,
                 s->worst->pass);
}

static enum wsc_err conclude(const struct app_validate *what, struct cases *all)
{
    const struct summary open = summarise(all, true), s = summarise(all, false);
    WSC_CHECK(s.worst, "an error is claimed of no case");
    if (what->csv) TRY(write_csv(all, what->csv));
    TRY(what->json ? print_json(all, &s) : print_table(all));
    if (!what->json) {
        (void)printf("\n");
        print_summary(&s, "operations of plans at real size");
        print_summary(&open,
                      "sums over tokens in blocks of many columns, of which nothing is claimed");
    }
    if (s.median < median_claimed && s.largest < worst_claimed) return WSC_OK;
    return WSC_RAISE(WSC_TOLERANCE,
                     "the analytical model is off by %.2f %% (median) and %.2f %% (worst, %s %s of "
                     "%s) at real size; claimed are %.0f %% and %.0f %%",
                     100 * s.median, 100 * s.largest, s.worst->kernel, s.worst->pass, s.worst->plan,
                     100 * median_claimed, 100 * worst_claimed);
}

static enum wsc_err run(const struct app_validate *what, const struct hw *hw, struct cases *all)
{
    const int n = kernels_wafer_count();
    enum wsc_err rc = WSC_OK;
    TRY_NEW(all->pair, WSC_MEM_APP, n);
    TRY_NEW(all->error, WSC_MEM_APP, n);
    if (what->csv) TRY(out_can_write(what->csv));
    out_progress_start("strips of the wafer", n);
    for (int i = 0; i < n && !rc; i++) {
        struct kernels_wafer_pair pair;
        out_progress(i, kernels_wafer_kernel(i));
        rc = kernels_wafer_pair(hw, i, &pair);
        if (!rc) rc = take(all, &pair);
    }
    out_progress_end();
    return rc ? rc : conclude(what, all);
}

enum wsc_err app_validate_wafer(const struct app_validate *request)
{
    struct cases all = {0};
    struct hw_machine cluster;
    enum wsc_err rc = app_load_cluster(NULL, &request->config, &cluster, NULL);
    const struct hw hw = {.cluster = &cluster};
    if (!rc) rc = run(request, &hw, &all);
    wsc_free(all.pair);
    wsc_free(all.error);
    hw_machine_fini(&cluster);
    return rc;
}
