// SPDX-License-Identifier: Apache-2.0
/* `wsc validate`: predicts the published figures of a folder, prints and writes the comparison, and
 * fails when a prediction leaves the tolerance stated for it.  With --mesh: mesh_pairs.c.  Under
 * mpirun the ranks share the rows; rank 0 prints and writes. */
#include "cmd.h"
#include "comparison.h"
#include "mesh_pairs.h"
#include "mesh_wafer.h"
#include "process.h"
#include "requests.h"
#include "user_files.h"

#include <wsc/log.h>
#include <wsc/mem.h>

#include <stdio.h>

/* Exit status 1, and a line that says why. */
static enum wsc_err check_tolerances(const struct validation_table *v)
{
    int outside = 0, judged = 0;
    const char *first = NULL;
    for (int i = 0; i < v->n_rows; i++) {
        judged += v->row[i].ref->kind != VALIDATION_KIND_CONTEXT;
        if (validation_prediction_holds(&v->row[i])) continue;
        if (!outside++) first = v->row[i].ref->id;
    }
    if (!outside) return WSC_OK;
    return WSC_RAISE(WSC_TOLERANCE, "%d of %d predictions leave their tolerance, the first is %s",
                     outside, judged, first);
}

static enum wsc_err report(const struct app_validate *o, struct validation_result *v)
{
    v->report.command = app_command_line();
    TRY(report_validation_print(&v->report));
    TRY(report_validation_write(o->out, &v->report));
    (void)printf("\nWrote %s/validation.csv, validation.md, validation.svg, validation.png\n",
                 o->out);
    return check_tolerances(&v->report);
}

static enum wsc_err compare(const struct app_call *call, struct app_comparison *c,
                            struct validation_result *v)
{
    struct app_validate *o = call->request;
    TRY(app_agree(call->comm, app_comparison_open(c, &o->config, &o->figures)));
    c->comparison.comm = call->comm;
    if (!app_leads(call->comm)) c->comparison.progress = NULL;
    if (app_leads(call->comm)) out_progress_start("validate", c->comparison.n_refs);
    enum wsc_err rc = validation_run(&c->comparison, v);
    out_progress_end();
    TRY(rc);
    return app_agree(call->comm, app_leads(call->comm) ? report(o, v) : WSC_OK);
}

static enum wsc_err validate(const struct app_call *call)
{
    struct app_validate *o = call->request;
    struct validation_result v = {0};
    struct app_comparison *c;
    if (o->mesh) {
        enum wsc_err rc = app_refuse_params_sets(&o->config);
        if (!rc && app_leads(call->comm))
            rc = o->wafer ? app_validate_wafer(o) : app_validate_mesh(o);
        return app_agree(call->comm, rc);
    }
    TRY_NEW(c, WSC_MEM_APP, 1);
    enum wsc_err rc = compare(call, c, &v);
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
