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
#include <unistd.h>

static bool leads(const struct app_call *call)
{
    return !call->comm || comm_rank(call->comm) == 0;
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

/* The names of `--only`, whose list the parser of options has checked. */
static enum wsc_err keep_only(char *list, struct validation_exhibits *e)
{
    const char **id = NULL;
    int n = 0;
    for (const char *p = list; p; p = strchr(p + 1, ','))
        n++;
    TRY_NEW(id, WSC_MEM_APP, n);
    n = 0;
    for (char *rest = list; rest;)
        id[n++] = strsep(&rest, ",");
    enum wsc_err rc = validation_exhibits_keep(e, id, n);
    wsc_free(id);
    return rc;
}

/* The exhibits that the command line names, and no others. */
static enum wsc_err keep_named(const struct app_reproduce *o, struct validation_exhibits *e)
{
    TRY(check_names(&o->exhibits));
    if (o->exhibits.n) return validation_exhibits_keep(e, o->exhibits.item, o->exhibits.n);
    if (!o->only) return WSC_OK;
    char *list = wsc_strdup(WSC_MEM_APP, o->only);
    if (!list) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "names of exhibits");
    enum wsc_err rc = keep_only(list, e);
    wsc_free(list);
    return rc;
}

/* Names the files in the folder that look like those of an exhibit and that @p r does not have. */
static enum wsc_err warn_of_others(const char *dir, const struct validation_reproduction *r)
{
    struct wsc_text names = {0};
    enum wsc_err rc = report_reproduction_others(dir, r, &names);
    if (!rc) rc = wsc_text_check(&names);
    if (!rc && names.n) app_warn_of_earlier(dir, names.bytes, "run");
    wsc_text_free(&names);
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

/* Names the judged rows that a user may look for and that no exhibit shows. */
static enum wsc_err warn_of_missing(const struct app_comparison *c,
                                    const struct validation_exhibits *e)
{
    struct wsc_text names = {0};
    enum wsc_err rc = validation_exhibits_missing(&c->comparison, e, &names);
    if (!rc && names.n)
        WSC_WARNING("%s: no exhibit has the rows %s; wsc validate predicts them", e->path,
                    names.bytes);
    wsc_text_free(&names);
    return rc;
}

/* Fitted rows are predicted for the bands of others too. */
static bool is_shown(const struct validation_reproduction *r, const struct validation_prediction *p)
{
    for (int i = 0; i < r->n; i++)
        for (int k = 0; k < r->item[i].n_rows; k++)
            if (r->item[i].row[k] == p) return true;
    return false;
}

static enum wsc_err write_files(const struct app_reproduce *o,
                                const struct validation_reproduction *r)
{
    const struct validation_table *v = &r->result.report;
    int outside = 0, compared = 0;
    TRY(report_reproduction_print(r));
    TRY(report_reproduction_write(o->out, r));
    TRY(warn_of_others(o->out, r));
    for (int i = 0; i < v->n_rows; i++) {
        const bool judged =
            v->row[i].ref->kind != VALIDATION_KIND_CONTEXT && is_shown(r, &v->row[i]);
        compared += judged;
        outside += judged && !validation_prediction_holds(&v->row[i]);
    }
    (void)printf(
        "\n%d of %d predictions lie outside the tolerance of their row\nWrote "
        "%s/reproduction.html, reproduction.pdf, and the CSV, SVG and PNG files of the exhibits\n",
        outside, compared, o->out);
    return WSC_OK;
}

static enum wsc_err reproduce(const struct app_call *call, struct app_comparison *c,
                              struct validation_exhibits *e, struct validation_reproduction *r)
{
    const struct app_reproduce *o = call->request;
    TRY(app_agree(call->comm, open_exhibits(o, c, e)));
    if (!o->exhibits.n && !o->only) TRY(app_agree(call->comm, warn_of_missing(c, e)));
    if (!leads(call)) c->comparison.progress = NULL;
    if (leads(call)) out_progress_start("predict", c->comparison.n_refs);
    TRY(validation_reproduce(&c->comparison, e, call->comm, r));
    out_progress_hide();
    r->command = app_command_line();
    return app_agree(call->comm, leads(call) ? write_files(o, r) : WSC_OK);
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
