// SPDX-License-Identifier: Apache-2.0
/* `wsc validate --mesh`: runs kernels on emulated fabrics, over shapes and grids that a seed
 * samples, and compares the simulated cycles with those of the analytical model.  Fails when the
 * median or the largest error is above what is claimed (docs/MODEL.md). */
#include "mesh_pairs.h"
#include "user_files.h"

#include <wsc/kernels.h>
#include <wsc/mem.h>
#include <wsc/num.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* What is sampled, how many by default, and what is claimed of the analytical model. */
static const struct comparison {
    enum wsc_err (*run)(const struct hw *hw, uint64_t seed, int n, kernels_pair_fn report,
                        void *ctx);
    int n;
    double median, worst;
} dense = {kernels_pairs, 264, 0.03, 0.10}, sparse = {kernels_sparse_pairs, 100, 0.05, 0.12};

/* The comparisons so far. */
struct pairs {
    struct out_table *table;   /* owned */
    struct kernels_pair *pair; /* owned */
    double *error;             /* owned, relative, without sign */
    const struct comparison *how;
    int n;
    bool json;
};

/* Cycles error of the analytical model: its cycles / simulated cycles - 1, positive: too slow. */
static double error_of(const struct kernels_pair *p)
{
    return p->analytical / (double)p->cycles - 1;
}

/* A pair as one object a line. */
static void print_json(const struct pairs *all, const struct kernels_pair *p)
{
    (void)printf(
        "%s{\"kernel\": \"%s\", \"pass\": \"%s\", \"fabric\": [%d, %d], \"shape\": \"%s\", "
        "\"simulated_cycles\": %lld, \"analytical_cycles\": %.3f, \"cycles_error_percent\": %.4f, "
        "\"max_error\": %.3g}",
        all->n ? ",\n " : "[", p->kernel, p->pass, p->w, p->h, p->shape, (long long)p->cycles,
        p->analytical, 100 * error_of(p), p->max_error);
}

/* Called for each pair: print it, keep its error. */
static enum wsc_err take_pair(void *ctx, const struct kernels_pair *p)
{
    struct pairs *all = ctx;
    char error[OUT_PERCENT_SIZE];
    if (!(p->max_error <= p->tolerance))
        return WSC_RAISE(WSC_NUMERIC,
                         "%s %s on %d x %d PEs (%s): the mesh and the host differ by %g", p->kernel,
                         p->pass, p->w, p->h, p->shape, p->max_error);
    if (all->json) {
        out_progress_hide();
        print_json(all, p);
    }
    out_table_cell(all->table, "%s", p->kernel);
    out_table_cell(all->table, "%s", p->pass);
    out_table_cell(all->table, "%d x %d", p->w, p->h);
    out_table_cell(all->table, "%s", p->shape);
    out_table_cell(all->table, "%lld", (long long)p->cycles);
    out_table_cell(all->table, "%.0f", p->analytical);
    out_table_cell(all->table, "%s", out_change(error, 2, error_of(p)));
    all->error[all->n] = fabs(error_of(p));
    all->pair[all->n++] = *p;
    out_progress(all->n, p->kernel);
    return WSC_OK;
}

/* Ascending order for qsort(). */
static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double app_median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, by_size);
    return (x[n / 2] + x[(n - 1) / 2]) / 2;
}

/* The pair with the largest error. */
static const struct kernels_pair *worst_of(const struct pairs *all)
{
    double largest = all->error[0];
    int worst = 0;
    for (int i = 1; i < all->n && !isnan(largest); i++) {
        if (largest >= all->error[i]) continue;
        largest = num_max_error(largest, all->error[i]);
        worst = i;
    }
    return &all->pair[worst];
}

/* Median and worst error against what is claimed: WSC_TOLERANCE when one is exceeded. */
static enum wsc_err conclude(struct pairs *all)
{
    const struct kernels_pair *worst = worst_of(all);
    if (all->json)
        (void)printf("]\n");
    else
        TRY(out_table_print(all->table, stdout, 0));
    const double median = app_median(all->error, all->n), largest = fabs(error_of(worst));
    if (!all->json)
        (void)printf("\n%d kernels, shapes and grids: median error %.2f %%, worst %.2f %% (%s %s, "
                     "%d x %d PEs, %s)\n",
                     all->n, 100 * median, 100 * largest, worst->kernel, worst->pass, worst->w,
                     worst->h, worst->shape);
    if (median < all->how->median && largest < all->how->worst) return WSC_OK;
    return WSC_RAISE(
        WSC_TOLERANCE,
        "analytical models are off by %.2f %% (median) and %.2f %% (worst, %s %s); claimed "
        "are %.0f %% and %.0f %%",
        100 * median, 100 * largest, worst->kernel, worst->pass, 100 * all->how->median,
        100 * all->how->worst);
}

/* Simulate all pairs, then conclude. */
static enum wsc_err run(const struct app_validate *what, const struct hw *hw, struct pairs *all)
{
    static const char *const head[] = {"kernel",    "pass",       "PEs",         "shape",
                                       "simulated", "analytical", "cycles error"};
    all->json = what->json;
    all->how = what->sparse ? &sparse : &dense;
    const int n = what->pairs ? (int)what->pairs : all->how->n;
    TRY(out_table_new(&all->table, "llllrrr", head));
    TRY_NEW(all->pair, WSC_MEM_APP, n);
    TRY_NEW(all->error, WSC_MEM_APP, n);
    out_progress_start(what->sparse ? "sparse pairs" : "pairs", n);
    out_progress(0, NULL);
    enum wsc_err rc = all->how->run(hw, (uint64_t)what->seed, n, take_pair, all);
    out_progress_end();
    return rc ? rc : conclude(all);
}

enum wsc_err app_validate_mesh(const struct app_validate *request)
{
    struct pairs all = {0};
    struct hw_machine cluster;
    enum wsc_err rc = app_load_cluster(NULL, &request->config, &cluster, NULL);
    const struct hw hw = {.cluster = &cluster};
    if (!rc) rc = run(request, &hw, &all);
    out_table_free(&all.table);
    wsc_free(all.pair);
    wsc_free(all.error);
    hw_machine_fini(&cluster);
    return rc;
}
