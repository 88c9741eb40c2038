// SPDX-License-Identifier: Apache-2.0
/* Params and cluster files of the user, with what the options override.  On several ranks rank 0
 * reads a file and sends its bytes; every rank parses them and finds the same errors, of which rank
 * 0 reports.  Read next: cmd_run.c. */
#include "user_files.h"
#include "option_parse.h"
#include "process.h"

#include <wsc/file.h>
#include <wsc/log.h>
#include <wsc/mem.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef enum wsc_err (*read_fn)(const char *path, char **bytes, size_t *n);

/* What rank 0 reads of @p path, on every rank. */
static enum wsc_err share_file(struct comm *comm, read_fn read, const char *path, char **bytes,
                               size_t *n)
{
    int64_t n_bytes = -1;
    enum wsc_err rc = WSC_OK;
    if (!comm || comm_rank(comm) == 0) {
        rc = read(path, bytes, n);
        n_bytes = rc ? -1 : (int64_t)*n;
    }
    if (!comm) return rc;
    bool reports;
    enum wsc_err all = comm_agree(comm, rc, &reports);
    if (all && !reports) app_set_reported();
    if (all) return all;
    TRY(comm_share(comm, bytes, &n_bytes));
    *n = (size_t)n_bytes;
    return WSC_OK;
}

enum wsc_err app_read_params(struct comm *comm, const struct app_config *c, char **bytes, size_t *n)
{
    *bytes = NULL;
    if (c->params_path) return share_file(comm, conf_read_file, c->params_path, bytes, n);
    return app_reported_once(comm, wsc_err_hint(WSC_RAISE(WSC_USAGE, "--params is missing"),
                                                "--params configs/params/default.yaml"));
}

enum wsc_err app_parse_params(struct comm *comm, const struct app_config *c, const char *bytes,
                              size_t n, int phase, struct zoo_params *params)
{
    struct app_config with = *c;
    char text[32];
    memset(params, 0, sizeof *params);
    (void)snprintf(text, sizeof text, "phase=%d", phase);
    if (phase) TRY(app_reported_once(comm, app_add_set(&with, text)));
    return app_reported_once(
        comm, zoo_params_parse(params, c->params_path, bytes, n, with.set, with.n_sets));
}

enum wsc_err app_load_params(struct comm *comm, const struct app_config *c,
                             struct zoo_params *params)
{
    char *bytes = NULL;
    size_t n = 0;
    memset(params, 0, sizeof *params);
    enum wsc_err rc = app_read_params(comm, c, &bytes, &n);
    if (!rc) rc = app_parse_params(comm, c, bytes, n, 0, params);
    wsc_free(bytes);
    return rc;
}

enum wsc_err app_load_cluster(struct comm *comm, const struct app_config *c,
                              struct hw_machine *cluster, char **text)
{
    char *bytes = NULL;
    size_t n = 0;
    enum wsc_err rc = WSC_OK;
    memset(cluster, 0, sizeof *cluster);
    if (c->cluster_path) rc = share_file(comm, hw_machine_read, c->cluster_path, &bytes, &n);
    if (!rc)
        rc = app_reported_once(
            comm, hw_machine_parse(cluster, c->cluster_path, bytes, n, c->set, c->n_sets));
    if (text)
        *text = bytes;
    else
        wsc_free(bytes);
    return rc;
}

enum wsc_err app_make_folder(const char *dir)
{
    TRY(wsc_file_mkdir(dir));
    if (!access(dir, W_OK | X_OK)) return WSC_OK;
    return WSC_RAISE(WSC_IO, "%s: cannot be written: %s", dir, strerror(errno));
}

enum wsc_err app_refuse_params_sets(const struct app_config *c)
{
    for (int i = 0; i < c->n_sets; i++) {
        const char *text = c->set[i].text;
        if (c->set[i].option || conf_set_cluster_path(text)) continue;
        return wsc_err_hint(WSC_RAISE(WSC_USAGE, "--set %.*s: has no effect, as no params are read",
                                      (int)strcspn(text, "="), text),
                            "constants of the machine are cluster.KEY");
    }
    return WSC_OK;
}

enum wsc_err app_warn_of_idle(const char *name, const struct cluster_use *use,
                              struct zoo_params *params)
{
    TRY(cluster_warn_idle(use, params));
    for (int i = 0; i < params->n_warnings; i++)
        WSC_WARNING("%s: %s", name, params->warning[i].text);
    return WSC_OK;
}

void app_warn_of_whole_evaluations(const char *name, const struct zoo_params *params)
{
    const struct zoo_runconfig *rc = &params->runconfig;
    const bool evaluates = rc->eval_fraction > 0 || rc->eval_frequency > 0;
    if (rc->mode != ZOO_TRAIN_AND_EVAL || !evaluates || rc->eval_steps != CONF_NULL) return;
    WSC_WARNING("%s: runconfig.eval_steps is null, all of the data, which are not read: an "
                "evaluation counts one batch; hint: --set runconfig.eval_steps=N",
                name);
}

/* True when @p path is no key of a machine file, which is reported when the file is read. Faults
 * are a list, not a key. */
static bool is_unknown(const char *path)
{
    static const char faults[] = "faults";
    char key[CONF_MAX_PATH];
    (void)snprintf(key, sizeof key, "%.*s", (int)strcspn(path, "="), path);
    return strncmp(path, faults, strlen(faults)) != 0 &&
           conf_keys_find(hw_machine_table(), key) < 0;
}

/* True when @p path is a constant of the wafer that these kernels do without. */
static bool is_without_effect(const char *path, enum hw_kernels kernels)
{
    char key[CONF_MAX_PATH];
    (void)snprintf(key, sizeof key, "%.*s", (int)strcspn(path, "="), path);
    return !hw_kernels_read(kernels, key);
}

enum wsc_err app_refuse_cluster_sets(const struct app_config *c, enum hw_kernels kernels)
{
    static const char wafer[] = "wafer.";
    for (int i = 0; i < c->n_sets; i++) {
        const char *text = c->set[i].text, *path = conf_set_cluster_path(text);
        const int n = (int)strcspn(text, "=");
        if (!path || is_unknown(path)) continue;
        if (strncmp(path, wafer, strlen(wafer)) != 0)
            return wsc_err_hint(WSC_RAISE(WSC_USAGE,
                                          "--set %.*s: has no effect on the kernels of one wafer",
                                          n, text),
                                "constants of a wafer are cluster.wafer.KEY");
        if (is_without_effect(path, kernels))
            return wsc_err_hint(
                WSC_RAISE(WSC_USAGE, "--set %.*s: has no effect on the cycles of %s", n, text,
                          kernels == HW_KERNELS_SPARSE ? "kernels with sparse weights" : "kernels"),
                "they read rates and cycles of a PE, such as cluster.wafer.ramp_cycles");
    }
    return WSC_OK;
}

void app_warn_of_earlier(const char *dir, const char *names, const char *run)
{
    if (*names)
        WSC_WARNING("%s: %s: of an earlier %s, not of this one; hint: another --out", dir, names,
                    run);
}

void app_warn_of_unwritten(const char *dir, const char *names, const char *run)
{
    char there[256] = "";
    for (const char *name = names; *name;) {
        char path[PATH_MAX];
        const int n = (int)strcspn(name, ",");
        const size_t used = strlen(there);
        (void)snprintf(path, sizeof path, "%s/%.*s", dir, n, name);
        if (!access(path, F_OK))
            (void)snprintf(there + used, sizeof there - used, "%s%.*s", used ? ", " : "", n, name);
        name += n;
        name += strspn(name, ", ");
    }
    app_warn_of_earlier(dir, there, run);
}

enum wsc_err app_check_ranks(struct comm *comm, const struct zoo_params *params,
                             const struct hw_machine *cluster)
{
    int64_t n_roles;
    TRY(cluster_n_roles(params, cluster, params->runconfig.num_csx, &n_roles));
    if (comm_size(comm) <= n_roles) return WSC_OK;
    return wsc_err_hint(
        WSC_RAISE(WSC_USAGE, "%d ranks for %lld roles", comm_size(comm), (long long)n_roles),
        "mpirun -n %lld, or fewer", (long long)n_roles);
}
