// SPDX-License-Identifier: Apache-2.0
/* `wsc validate --mesh --products`: runs the kernel spmm on the fabrics of published figures of
 * products with tiles in the PEs (benchmarks/reference/products/sparse.csv) and compares the cycles
 * that PEs take over their tiles, mean and slowest.  Fails when one leaves the tolerance of its
 * row.  Rows with streamed weights have no program and stay with `wsc validate`. */
#include "mesh_products.h"

#include "shipped.h"

#include <wsc/hw.h>
#include <wsc/kernels.h>
#include <wsc/mem.h>
#include <wsc/out.h>
#include <wsc/validation_products.h>

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The figures, and the run of the newest one: neighbours are mean and slowest PE of one product. */
struct figures {
    struct validation_product *row; /* owned */
    int n, n_compared, n_outside;
    const struct validation_product *ran; /* NULL: none yet */
    struct programs_result result;
    struct out_table *table; /* owned */
    bool json;
};

static bool has_tiles(const struct validation_product *r)
{
    return r->layout == VALIDATION_LAYOUT_CSC || r->layout == VALIDATION_LAYOUT_GEMM;
}

static bool same_product(const struct validation_product *a, const struct validation_product *b)
{
    return a->layout == b->layout && a->w == b->w && a->h == b->h && a->n == b->n && a->k == b->k &&
           a->m == b->m && !(fabs(a->density - b->density) > 0);
}

/* Simulate the product of a row.  The figures name matrices (n, k) and (k, m). */
static enum wsc_err simulate(struct figures *f, const struct validation_product *r, uint64_t seed)
{
    const struct kernels_row *kernel;
    const struct programs_case c = {.algo = r->layout == VALIDATION_LAYOUT_CSC ? "csc" : "dense",
                                    .w = (int)r->w,
                                    .h = (int)r->h,
                                    .m = r->n,
                                    .k = r->k,
                                    .n = r->m,
                                    .density = r->density,
                                    .seed = seed};
    if (f->ran && same_product(f->ran, r)) return WSC_OK;
    TRY(kernels_row_find("spmm", &kernel));
    TRY(kernels_row_run(kernel, &c, &f->result));
    f->ran = r;
    if (f->result.max_error <= kernels_row_tolerance(kernel, &c)) return WSC_OK;
    return WSC_RAISE(WSC_NUMERIC, "%s: the mesh and the host differ by %g", r->id,
                     f->result.max_error);
}

static void print_json(const struct figures *f, const struct validation_product *r,
                       double simulated, const char *verdict)
{
    (void)printf("%s{\"id\": \"%s\", \"kind\": \"%s\", \"fabric\": [%lld, %lld], \"density\": %g, "
                 "\"published\": %g, \"simulated\": %.1f, \"analytical\": %.1f, "
                 "\"cycles_error_percent\": %.3f, \"tolerance_percent\": %g, \"verdict\": \"%s\", "
                 "\"max_error\": %.3g}",
                 f->n_compared ? ",\n " : "[", r->id, validation_kind_name(r->kind),
                 (long long)r->w, (long long)r->h, r->density, r->value, simulated, r->predicted,
                 100 * (simulated / r->value - 1), 100 * r->tolerance, verdict,
                 f->result.max_error);
}

static void add_line(const struct figures *f, const struct validation_product *r, double simulated,
                     const char *verdict)
{
    char error[OUT_PERCENT_SIZE];
    out_table_cell(f->table, "%s", r->id);
    out_table_cell(f->table, "%s", validation_kind_name(r->kind));
    out_table_cell(f->table, "%lld x %lld", (long long)r->w, (long long)r->h);
    out_table_cell(f->table, "%g", r->density);
    out_table_cell(f->table, "%.0f", r->value);
    out_table_cell(f->table, "%.0f", simulated);
    out_table_cell(f->table, "%.0f", r->predicted);
    out_table_cell(f->table, "%s", out_change(error, 2, simulated / r->value - 1));
    out_table_cell(f->table, "+-%.0f %%", 100 * r->tolerance);
    out_table_cell(f->table, "%s", verdict);
}

/* One figure: simulated, by the analytical model, judged. */
static enum wsc_err compare(struct figures *f, struct validation_product *r,
                            const struct hw_machine *machine, uint64_t seed)
{
    TRY(simulate(f, r, seed));
    TRY(validation_products_predict(r, 1, &(struct validation_folders){{""}}, machine));
    const double simulated = r->most ? f->result.tile_most : f->result.tile_mean;
    const bool holds = fabs(simulated / r->value - 1) <= r->tolerance;
    (f->json ? print_json : add_line)(f, r, simulated, holds ? "inside" : "OUTSIDE");
    f->n_compared++;
    f->n_outside += !holds;
    out_progress(f->n_compared, r->id);
    return WSC_OK;
}

static enum wsc_err conclude(const struct figures *f)
{
    if (f->json)
        (void)printf("%s]\n", f->n_compared ? "" : "[");
    else
        TRY(out_table_print(f->table, stdout, 0));
    if (!f->json)
        (void)printf("\ncycles of PEs over their tiles; %d of %d within the tolerance of their "
                     "rows; error: simulated / published - 1, positive: too slow\n",
                     f->n_compared - f->n_outside, f->n_compared);
    if (!f->n_outside) return WSC_OK;
    return WSC_RAISE(WSC_TOLERANCE, "%d of %d simulated figures leave their tolerance",
                     f->n_outside, f->n_compared);
}

static enum wsc_err run(const struct app_validate *request, struct figures *f)
{
    static const char *const head[] = {"figure",    "kind",       "PEs",   "density", "published",
                                       "simulated", "analytical", "error", "",        "verdict"};
    char dir[PATH_MAX], path[PATH_MAX + sizeof "/products/sparse.csv"];
    const struct hw_machine *no_machine = NULL; /* tiles have none of its constants */
    int n_tiles = 0;
    if (!app_find_folder(APP_REFERENCE, dir, sizeof dir))
        return WSC_RAISE(WSC_CONFIG, "the published figures are not %s", app_find_place());
    (void)snprintf(path, sizeof path, "%s/products/sparse.csv", dir);
    TRY(validation_products_read(path, &f->row, &f->n));
    TRY(out_table_new(&f->table, "lllrrrrrrl", head));
    for (int i = 0; i < f->n; i++)
        n_tiles += has_tiles(&f->row[i]);
    out_progress_start("products", n_tiles);
    enum wsc_err rc = WSC_OK;
    for (int i = 0; i < f->n && !rc; i++)
        if (has_tiles(&f->row[i])) rc = compare(f, &f->row[i], no_machine, (uint64_t)request->seed);
    out_progress_end();
    return rc ? rc : conclude(f);
}

enum wsc_err app_validate_products(const struct app_validate *request)
{
    struct figures f = {.json = request->json};
    if (request->config.cluster_path || request->config.n_sets)
        return wsc_err_hint(WSC_RAISE(WSC_USAGE, "%s: has no effect with --products",
                                      request->config.cluster_path ? "--cluster" : "--set"),
                            "programs with tiles in the PEs use no constant of a machine file");
    enum wsc_err rc = run(request, &f);
    out_table_free(&f.table);
    wsc_free(f.row);
    return rc;
}
