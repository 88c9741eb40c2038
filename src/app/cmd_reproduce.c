// SPDX-License-Identifier: Apache-2.0
/* `wsc reproduce`: published tables and figures drawn again from predictions: the exhibits of
 * exhibits.yaml, their rows, their curves.  Under mpirun the ranks share the points of the curves;
 * rank 0 prints and writes. */
#include "cmd.h"
#include "comparison.h"
#include "process.h"
#include "requests.h"
#include "user_files.h"

#include <wsc/log.h>
#include <wsc/mem.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>

static bool leads(const struct app_call *call)
{
    return !call->comm || comm_rank(call->comm) == 0;
}

static enum wsc_err agree(const struct app_call *call, enum wsc_err rc)
{
    bool mine;
    return call->comm ? comm_agree(call->comm, rc, &mine) : rc;
}

static enum wsc_err check_names(const struct app_texts *ids)
{
    for (int i = 0; i < ids->n; i++) {
        if (!*ids->item[i]) return WSC_RAISE(WSC_USAGE, "an exhibit without a name");
        for (int k = 0; k < i; k++)
            if (!strcmp(ids->item[k], ids->item[i]))
                return WSC_RAISE(WSC_USAGE, "EXHIBIT: %s is named twice", ids->item[i]);
    }
    return WSC_OK;
}

/* The exhibits that the command line names, and no others. */
static enum wsc_err keep_named(const struct app_reproduce *o, struct validation_exhibits *e)
{
    struct wsc_text ids = {0};
    TRY(check_names(&o->exhibits));
    for (int i = 0; i < o->exhibits.n; i++)
        wsc_text_add(&ids, "%s%s", i ? "," : "", o->exhibits.item[i]);
    const char *const named = o->only ? o->only : ids.bytes;
    enum wsc_err rc = wsc_text_check(&ids);
    if (!rc && named) rc = validation_exhibits_keep(e, named);
    wsc_text_free(&ids);
    return rc;
}

static enum wsc_err open_exhibits(const struct app_reproduce *o, struct app_comparison *c,
                                  struct validation_exhibits *e)
{
    char path[PATH_MAX + 16];
    TRY(app_comparison_open(c, &o->config, &o->figures));
    (void)snprintf(path, sizeof path, "%s/exhibits.yaml", c->reference_dir);
    TRY(validation_exhibits_read(path, e));
    TRY(keep_named(o, e));
    return app_make_folder(o->out); /* an error before the predictions, not after */
}

static enum wsc_err write(const struct app_reproduce *o, const struct validation_reproduction *r)
{
    const struct validation_table *v = &r->result.report;
    int outside = 0, compared = 0;
    TRY(report_reproduction_print(r));
    TRY(report_reproduction_write(o->out, r));
    for (int i = 0; i < v->n_rows; i++) {
        const bool context = v->row[i].ref->kind == VALIDATION_KIND_CONTEXT;
        compared += !context;
        outside += !context && !validation_prediction_holds(&v->row[i]);
    }
    (void)printf("\n%d of %d predictions lie outside the tolerance of their row\nWrote "
                 "%s/reproduction.html, reproduction.pdf, and of each exhibit CSV, SVG and PNG\n",
                 outside, compared, o->out);
    return WSC_OK;
}

static enum wsc_err reproduce(const struct app_call *call, struct app_comparison *c,
                              struct validation_exhibits *e, struct validation_reproduction *r)
{
    const struct app_reproduce *o = call->request;
    TRY(agree(call, open_exhibits(o, c, e)));
    if (!leads(call)) c->comparison.progress = NULL;
    if (leads(call)) out_progress_start("predict", c->comparison.n_refs);
    TRY(validation_reproduce(&c->comparison, e, call->comm, r));
    out_progress_hide();
    r->command = app_command_line();
    return agree(call, leads(call) ? write(o, r) : WSC_OK);
}

enum wsc_err app_run_reproduce(struct app_call *call)
{
    struct validation_reproduction r = {0};
    struct validation_exhibits e = {0};
    struct app_comparison *c;
    TRY_NEW(c, WSC_MEM_APP, 1);
    wsc_log_quiet(!leads(call));
    enum wsc_err rc = app_reported_once(call->comm, reproduce(call, c, &e, &r));
    out_progress_end();
    validation_reproduction_fini(&r);
    validation_exhibits_fini(&e);
    app_comparison_fini(c);
    wsc_free(c);
    return rc;
}
