// SPDX-License-Identifier: Apache-2.0
/* `wsc calibrate`: has `validation` fit constants to the published figures of kind calibration and
 * writes them into cluster files that name the fitted machines as their bases.  Under mpirun
 * the ranks share the rows of each evaluation; rank 0 prints and writes. */
#include "cmd.h"
#include "comparison.h"
#include "process.h"
#include "requests.h"

#include <wsc/file.h>
#include <wsc/log.h>
#include <wsc/mem.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The folder of @p path, made when missing, by its full name. */
static enum wsc_err real_folder(const char *path, char out[PATH_MAX])
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    (void)snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) : 1,
                   slash ? path : ".");
    if (!*folder) (void)snprintf(folder, sizeof folder, "/");
    TRY(wsc_file_mkdir(folder));
    if (realpath(folder, out)) return WSC_OK;
    return WSC_RAISE(WSC_IO, "%s: is no folder", folder);
}

/* @p file as seen from the folder @p from; both full names. */
static void relative(const char *from, const char *file, char *out, size_t size)
{
    size_t common = 0, used = 0;
    for (size_t i = 0; from[i] == file[i] && from[i]; i++)
        if (file[i + 1] == '/' && (from[i + 1] == '/' || !from[i + 1])) common = i + 1;
    for (const char *c = from + common; *c; c++) {
        if (*c != '/' || !c[1]) continue;
        int added = snprintf(out + used, size - used, "../");
        if (added > 0 && used + (size_t)added < size) used += (size_t)added;
    }
    (void)snprintf(out + used, size - used, "%s", file + common + 1);
}

/* The machine @p m that was fitted, as the new file names it. */
static enum wsc_err name_base(const struct app_calibrate *o, const struct app_comparison *c,
                              const struct validation_fitted_machine *m, char *base, size_t size)
{
    char folder[PATH_MAX] = "", file[PATH_MAX] = "", path[PATH_MAX + 64];
    (void)snprintf(path, sizeof path, "%s/%s.yaml", c->cluster_dir, m->name);
    const char *machine = m->stands_in ? o->config.cluster_path : path;
    TRY(real_folder(o->out, folder));
    if (!realpath(machine, file)) return WSC_RAISE(WSC_IO, "%s: not found", machine);
    relative(folder, file, base, size);
    return WSC_OK;
}

/* The file of machine number @p m: --out of the first one, beside it those of the others. */
static void name_file(const struct app_calibrate *o, const struct validation_fit *fit, int m,
                      char *path, size_t size)
{
    const char *suffix = ".yaml";
    const size_t n = strlen(o->out), k = strlen(suffix);
    const bool cut = n > k && !strcmp(o->out + n - k, suffix);
    if (m == 0)
        (void)snprintf(path, size, "%s", o->out);
    else
        (void)snprintf(path, size, "%.*s_%s%s", (int)(cut ? n - k : n), o->out,
                       fit->machine[m].name, suffix);
}

/* What each rank does before the fit. */
static enum wsc_err prepare(const struct app_calibrate *o, struct app_comparison *c)
{
    if (!o->overwrite && !access(o->out, F_OK))
        return wsc_err_hint(WSC_RAISE(WSC_IO, "%s: exists already", o->out), "--overwrite");
    return app_comparison_open(c, &o->config, &o->figures);
}

/* What rank 0 does after it. */
static enum wsc_err finish(const struct app_calibrate *o, const struct app_comparison *c,
                           const struct validation_calibration *fit,
                           const struct validation_protocol *protocol)
{
    TRY(report_calibration_print(&fit->report));
    if (o->leave_one_out) TRY(report_protocol_print(protocol));
    for (int m = 0; m < fit->report.n_machines; m++) {
        char base[2 * PATH_MAX], path[PATH_MAX + 64];
        name_file(o, &fit->report, m, path, sizeof path);
        TRY(name_base(o, c, &fit->report.machine[m], base, sizeof base));
        TRY(report_calibration_write(path, base, &fit->report, m));
        (void)printf("%sWrote %s, based on %s\n", m ? "" : "\n", path, base);
    }
    return WSC_OK;
}

static enum wsc_err calibrate(const struct app_call *call, struct app_comparison *c,
                              struct validation_calibration *fit,
                              struct validation_protocol *protocol)
{
    struct app_calibrate *o = call->request;
    TRY(app_agree(call->comm, prepare(o, c)));
    c->comparison.comm = call->comm;
    if (!app_leads(call->comm)) c->comparison.progress = NULL;
    if (app_leads(call->comm)) out_progress_start("fit", 0);
    TRY(validation_calibrate(&c->comparison, o->path, o->n_paths, fit));
    if (o->leave_one_out)
        TRY(validation_leave_one_out(&c->comparison, o->path, o->n_paths, protocol));
    out_progress_end();
    return app_agree(call->comm, app_leads(call->comm) ? finish(o, c, fit, protocol) : WSC_OK);
}

enum wsc_err app_run_calibrate(struct app_call *call)
{
    struct validation_calibration fit = {.point = NULL};
    struct validation_protocol protocol = {.n_left_out = 0};
    struct app_comparison *c;
    wsc_log_quiet(!app_leads(call->comm));
    TRY_NEW(c, WSC_MEM_APP, 1);
    enum wsc_err rc = app_reported_once(call->comm, calibrate(call, c, &fit, &protocol));
    out_progress_end();
    validation_protocol_fini(&protocol);
    validation_calibration_fini(&fit);
    app_comparison_fini(c);
    wsc_free(c);
    return rc;
}
