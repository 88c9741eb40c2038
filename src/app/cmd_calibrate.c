// SPDX-License-Identifier: Apache-2.0
/* `wsc calibrate`: has `validation` fit constants to the published figures of kind calibration and
 * writes them into cluster files that name the fitted machines as their bases.  Under mpirun
 * the ranks share the rows of each evaluation; rank 0 prints and writes. */
#include "cmd.h"
#include "comparison.h"
#include "process.h"
#include "requests.h"
#include "user_files.h"

#include <wsc/file.h>
#include <wsc/log.h>
#include <wsc/mem.h>
#include <wsc/text.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
    validation_name_file(&c->comparison.machines, m->name, path, sizeof path);
    const char *machine = m->stands_in ? o->config.cluster_path : path;
    TRY(real_folder(o->out, folder));
    if (!realpath(machine, file)) return WSC_RAISE(WSC_IO, "%s: not found", machine);
    relative(folder, file, base, size);
    return WSC_OK;
}

/* The file of a machine: --out of the first one (NULL), beside it that of @p machine. */
static void name_file(const struct app_calibrate *o, const char *machine, char *path, size_t size)
{
    const char *suffix = ".yaml";
    const size_t cut = wsc_ends_with(o->out, suffix) ? strlen(suffix) : 0;
    if (!machine)
        (void)snprintf(path, size, "%s", o->out);
    else
        (void)snprintf(path, size, "%.*s_%s%s", (int)(strlen(o->out) - cut), o->out, machine,
                       suffix);
}

/* Refuses a file that exists, unless it may be replaced. */
static enum wsc_err check_new(const struct app_calibrate *o, const char *path)
{
    struct stat info;
    if (stat(path, &info)) return WSC_OK;
    if (S_ISDIR(info.st_mode)) return WSC_RAISE(WSC_IO, "%s: is a folder", path);
    if (o->overwrite) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_IO, "%s: exists already", path), "--overwrite");
}

/* Refuses the file @p path when it is the machine @p base, which it would replace and be based on.
 */
static enum wsc_err check_no_base(const char *path, const char *base)
{
    struct stat a, b;
    if (!base || stat(path, &a) || stat(base, &b) || a.st_dev != b.st_dev || a.st_ino != b.st_ino)
        return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_USAGE, "%s: the file would be based on itself", path),
                        "another name for --out");
}

/* Checks the names of the files of all machines that rows are fitted on. */
static enum wsc_err check_all_new(const struct app_calibrate *o, const struct app_comparison *c)
{
    const char *first = NULL;
    for (int i = 0; i < c->comparison.n_refs; i++) {
        const struct validation_figure *ref = &c->comparison.ref[i];
        char path[PATH_MAX + 64], base[PATH_MAX + 64];
        if (ref->kind != VALIDATION_KIND_CALIBRATION) continue;
        if (!first) first = ref->cluster;
        name_file(o, strcmp(ref->cluster, first) != 0 ? ref->cluster : NULL, path, sizeof path);
        validation_name_file(&c->comparison.machines, ref->cluster, base, sizeof base);
        TRY(check_new(o, path));
        TRY(check_no_base(path, base));
        TRY(check_no_base(path, o->config.cluster_path));
    }
    return WSC_OK;
}

/* What each rank does before the fit: files that cannot be written are reported before it. */
static enum wsc_err prepare(const struct app_calibrate *o, struct app_comparison *c)
{
    char folder[PATH_MAX] = "";
    TRY(check_new(o, o->out));
    TRY(app_comparison_open(c, &o->config, &o->figures));
    TRY(check_all_new(o, c));
    TRY(real_folder(o->out, folder));
    return app_make_folder(folder);
}

/* True when @p set, `cluster.PATH=VALUE`, is of the constant @p path. */
static bool is_of(const char *set, const char *path)
{
    const char *inside = conf_set_cluster_path(set);
    const size_t n = strlen(path);
    return inside && !strncmp(inside, path, n) && inside[n] == '=';
}

/* The constant of the fit that @p set is of; NULL: it is of none. */
static const struct validation_fitted *fitted_of(const struct validation_fit *fit, const char *set)
{
    for (int i = 0; i < fit->n_constants; i++)
        if (is_of(set, fit->constant[i].path)) return &fit->constant[i];
    return NULL;
}

/* True when @p set is of a constant of the machine, which the written files have. */
static bool is_constant(const struct hw_machine *machine, const char *set)
{
    for (int i = 0; i < machine->n_sources; i++)
        if (is_of(set, machine->source[i].key)) return true;
    return false;
}

/* Names the overrides that are not used, and those that the written files cannot have. */
static void warn_of_sets(const struct app_calibrate *o, const struct validation_fit *fit,
                         const struct hw_machine *machine)
{
    const unsigned all = (1U << fit->n_machines) - 1;
    for (int i = 0; i < o->config.n_sets; i++) {
        const char *text = o->config.set[i].text;
        const struct validation_fitted *fitted = fitted_of(fit, text);
        const int n = (int)strcspn(text, "=");
        if (fitted)
            WSC_WARNING("--set %.*s: without effect%s: it is fitted", n, text,
                        fitted->machines == all ? "" : " on machines that calibrate it");
        else if (!is_constant(machine, text) && !validation_column_of_key(text))
            WSC_WARNING("--set %.*s: the fit depends on it, the written file does not have it; "
                        "hint: give it beside --cluster %s",
                        n, text, o->out);
    }
}

/* Reads the machine @p m of the fit again, with its overrides. */
static enum wsc_err load_machine(const struct app_calibrate *o, const struct app_comparison *c,
                                 const struct validation_fitted_machine *m, struct hw_machine *out)
{
    char path[PATH_MAX + 64];
    struct app_config config = o->config;
    validation_name_file(&c->comparison.machines, m->name, path, sizeof path);
    if (!m->stands_in) config.cluster_path = path;
    return app_load_cluster(NULL, &config, out, NULL);
}

/* The file of machine number @p m. */
static enum wsc_err write_machine(const struct app_calibrate *o, const struct app_comparison *c,
                                  const struct validation_fit *fit, int m,
                                  const struct hw_machine *machine)
{
    char base[2 * PATH_MAX], path[PATH_MAX + 64];
    if (!m) warn_of_sets(o, fit, machine);
    name_file(o, m ? fit->machine[m].name : NULL, path, sizeof path);
    TRY(name_base(o, c, &fit->machine[m], base, sizeof base));
    TRY(report_calibration_write(path, base, fit, m, machine));
    (void)printf("%sWrote %s, based on %s\n", m ? "" : "\n", path, base);
    return WSC_OK;
}

/* A constant at the end of its range would be better outside. */
static void warn_of_ends(const struct validation_fit *fit)
{
    for (int i = 0; i < fit->n_constants; i++)
        if (*fit->constant[i].end_of)
            WSC_WARNING("%s = %s is at the end of its search range %s: it is not fitted, and has "
                        "no standard error",
                        fit->constant[i].path, fit->constant[i].value, fit->constant[i].end_of);
}

/* What rank 0 does after it. */
static enum wsc_err finish(const struct app_calibrate *o, const struct app_comparison *c,
                           const struct validation_calibration *fit,
                           const struct validation_protocol *protocol)
{
    TRY(report_calibration_print(&fit->report));
    warn_of_ends(&fit->report);
    if (o->leave_one_out) TRY(report_protocol_print(protocol));
    for (int m = 0; m < fit->report.n_machines; m++) {
        struct hw_machine machine;
        enum wsc_err rc = load_machine(o, c, &fit->report.machine[m], &machine);
        if (!rc) rc = write_machine(o, c, &fit->report, m, &machine);
        hw_machine_fini(&machine);
        TRY(rc);
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
