// SPDX-License-Identifier: Apache-2.0
/* `wsc validate`: predicts the published figures of a folder, prints and writes the comparison, and
 * fails when a prediction leaves the tolerance stated for it.  With --mesh: mesh_pairs.c.  Under
 * mpirun the ranks share the rows; rank 0 prints and writes. */
#include "cmd.h"
#include "comparison.h"
#include "mesh_pairs.h"
#include "mesh_products.h"
#include "mesh_wafer.h"
#include "process.h"
#include "requests.h"
#include "user_files.h"

#include <wsc/log.h>
#include <wsc/mem.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Figures of single products on a CS-2, which lie in a folder below the others; none: no rows. */
struct products {
    struct validation_product *row; /* owned */
    int n;
};

enum { PRODUCTS_PATH_MAX = PATH_MAX + 32 };

/* Their file; false where there is none, or rows of the user's own are compared alone. */
static bool has_products(const struct app_validate *o, const struct app_comparison *c,
                         char path[PRODUCTS_PATH_MAX])
{
    (void)snprintf(path, PRODUCTS_PATH_MAX, "%s/products/sparse.csv", c->reference_dir);
    return !o->figures.points && !access(path, R_OK);
}

static enum wsc_err find_products(const struct app_validate *o, const struct app_comparison *c,
                                  struct products *p)
{
    char path[PRODUCTS_PATH_MAX];
    if (!has_products(o, c, path)) return WSC_OK;
    TRY(validation_products_read(path, &p->row, &p->n));
    struct hw_machine cs2;
    const struct validation_comparison *from = &c->comparison;
    enum wsc_err rc = hw_machine_parse(&cs2, NULL, NULL, 0, from->sets, from->n_sets);
    const bool stands_in = c->has_cluster && c->cluster.wafer.pe_cols == cs2.wafer.pe_cols;
    if (!rc)
        rc = validation_products_predict(p->row, p->n, &from->params,
                                         stands_in ? &c->cluster : &cs2);
    hw_machine_fini(&cs2);
    return rc;
}

/* Exit status 1, and a line that says why. */
static enum wsc_err check_tolerances(const struct validation_table *v, const struct products *p)
{
    int outside = 0, judged = 0;
    const char *first = NULL;
    for (int i = 0; i < p->n; i++) {
        judged += p->row[i].kind != VALIDATION_KIND_CONTEXT;
        if (!validation_product_holds(&p->row[i]) && !outside++) first = p->row[i].id;
    }
    for (int i = 0; i < v->n_rows; i++) {
        judged += v->row[i].ref->kind != VALIDATION_KIND_CONTEXT;
        if (validation_prediction_holds(&v->row[i])) continue;
        if (!outside++) first = v->row[i].ref->id;
    }
    if (!outside) return WSC_OK;
    return WSC_RAISE(WSC_TOLERANCE, "%d of %d predictions leave their tolerance, the first is %s",
                     outside, judged, first);
}

static enum wsc_err report(const struct app_validate *o, struct validation_result *v,
                           const struct products *p)
{
    v->report.command = app_command_line();
    TRY(report_validation_print(&v->report));
    if (o->out) TRY(report_validation_write(o->out, &v->report));
    if (p->n) TRY(report_products_print(p->row, p->n));
    if (p->n && o->out) TRY(report_products_write(o->out, p->row, p->n));
    if (o->out)
        (void)printf("\nWrote %s/%s%s\n", o->out, REPORT_VALIDATION_FILES,
                     p->n ? ", " REPORT_PRODUCT_FILES : "");
    return check_tolerances(&v->report, p);
}

/* Names the files of an earlier comparison in the folder that this one does not replace. */
static void warn_of_products(const struct app_validate *o, const struct app_comparison *c)
{
    char path[PRODUCTS_PATH_MAX];
    if (!has_products(o, c, path))
        app_warn_of_unwritten(o->out, REPORT_PRODUCT_FILES, "comparison");
}

/* What each rank does first: what cannot be read or written is reported before the predictions. */
static enum wsc_err prepare(const struct app_validate *o, struct app_comparison *c)
{
    TRY(app_comparison_open(c, &o->config, &o->figures));
    if (!o->out) return WSC_OK;
    TRY(app_make_folder(o->out));
    warn_of_products(o, c);
    return WSC_OK;
}

static enum wsc_err compare(const struct app_call *call, struct app_comparison *c,
                            struct validation_result *v)
{
    struct app_validate *o = call->request;
    TRY(app_agree(call->comm, prepare(o, c)));
    c->comparison.comm = call->comm;
    if (!app_leads(call->comm)) c->comparison.progress = NULL;
    if (app_leads(call->comm)) out_progress_start("predict", c->comparison.n_refs);
    TRY(validation_run(&c->comparison, v));
    struct products p = {0};
    enum wsc_err rc = WSC_OK;
    if (app_leads(call->comm)) {
        out_progress_at("products", 0, 0, NULL);
        rc = find_products(o, c, &p);
        out_progress_hide();
        if (!rc) rc = report(o, v, &p);
    }
    wsc_free(p.row);
    return app_agree(call->comm, rc);
}

/* What runs on the mesh, on one process. */
static enum wsc_err validate_mesh(const struct app_validate *o)
{
    if (o->wafer) return app_validate_wafer(o);
    return o->products ? app_validate_products(o) : app_validate_mesh(o);
}

static enum wsc_err validate(const struct app_call *call)
{
    struct app_validate *o = call->request;
    struct validation_result v = {0};
    struct app_comparison *c;
    if (o->mesh) {
        enum wsc_err rc = app_refuse_params_sets(&o->config);
        if (!rc)
            rc = app_refuse_cluster_sets(&o->config,
                                         o->sparse ? HW_KERNELS_SPARSE : HW_KERNELS_DENSE);
        if (!rc && app_leads(call->comm)) rc = validate_mesh(o);
        return app_agree(call->comm, rc);
    }
    TRY_NEW(c, WSC_MEM_APP, 1);
    enum wsc_err rc = compare(call, c, &v);
    out_progress_end();
    validation_result_fini(&v);
    app_comparison_fini(c);
    wsc_free(c);
    return rc;
}

enum wsc_err app_run_validate(struct app_call *call)
{
    wsc_log_quiet(!app_leads(call->comm));
    return app_reported_once(call->comm, validate(call));
}
