// SPDX-License-Identifier: Apache-2.0
/* The comparison with published figures that `wsc validate`, `wsc calibrate` and `wsc reproduce`
 * make of files that come with the program (shipped.c) or that the user names. */
#include "comparison.h"
#include "user_files.h"

#include <wsc/log.h>
#include <wsc/mem.h>
#include <wsc/scaling.h>

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- published figures ----------------------------------------------------------------------- */

/* Filter of scandir(): reference files end in .csv. */
static int is_csv(const struct dirent *e)
{
    const size_t n = strlen(e->d_name);
    return n > 4 && !strcmp(e->d_name + n - 4, ".csv");
}

enum wsc_err app_read_references(const char *dir, struct validation_figure **rows, int *n)
{
    struct dirent **file = NULL;
    enum wsc_err rc = WSC_OK;
    const int n_files = scandir(dir, &file, is_csv, alphasort);
    *rows = NULL;
    *n = 0;
    for (int i = 0; i < n_files; i++) {
        char path[PATH_MAX];
        (void)snprintf(path, sizeof path, "%s/%s", dir, file[i]->d_name);
        if (!rc) rc = validation_figures_read(path, rows, n);
        free(file[i]);
    }
    free(file);
    if (rc) {
        wsc_free(*rows);
        *rows = NULL;
        return rc;
    }
    if (*n) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_CONFIG, "%s: no published figures there", dir),
                        "--reference benchmarks/reference");
}

/* ---- rows of the user's own ------------------------------------------------------------------ */

/* Keeps the fitted ones of the published rows: the band of a prediction is made of their deviation.
 */
static int keep_fitted(struct validation_figure *rows, int n)
{
    int kept = 0;
    for (int i = 0; i < n; i++)
        if (validation_figure_fitted(&rows[i])) rows[kept++] = rows[i];
    return kept;
}

static enum wsc_err read_points(const char *path, struct validation_figure **rows, int *n,
                                int *n_own)
{
    const int fitted = *n = keep_fitted(*rows, *n);
    TRY(validation_figures_read(path, rows, n));
    for (int i = fitted; i < *n; i++)
        if ((*rows)[i].kind == VALIDATION_KIND_CALIBRATION)
            return wsc_err_hint(WSC_RAISE(WSC_CONFIG,
                                          "%s: %s: nothing was fitted on a row of your "
                                          "own",
                                          path, (*rows)[i].id),
                                "kind is validation or context");
    *n_own = *n - fitted;
    return *n_own ? WSC_OK : WSC_RAISE(WSC_CONFIG, "%s: no row", path);
}

/* Keys of the command line that a column of every row says instead. */
static void warn_of_replaced(const struct app_config *config)
{
    for (int i = 0; i < config->n_sets; i++) {
        const char *text = config->set[i].text, *column = validation_column_of_key(text);
        if (column)
            WSC_WARNING("--set %.*s: without effect on rows: their column %s says it",
                        (int)strcspn(text, "="), text, column);
    }
}

/* ---- a comparison ---------------------------------------------------------------------------- */

static enum wsc_err no_folder(const char *option)
{
    return wsc_err_hint(
        WSC_RAISE(WSC_CONFIG, "the folder of %s is not %s", option, app_find_place()), "--%s DIR",
        option);
}

/* The published figures: the folder of the option, or the one that comes with the program. */
static enum wsc_err find_references(const char *given, char path[PATH_MAX])
{
    if (given) {
        (void)snprintf(path, PATH_MAX, "%s", given);
        return WSC_OK;
    }
    return app_find_folder(APP_REFERENCE, path, PATH_MAX) ? WSC_OK : no_folder("reference");
}

/* The folder of the option, and after it the one that comes with the program (@p shipped). */
static enum wsc_err find_folders(const char *given, enum app_shipped folder, const char *option,
                                 char shipped[PATH_MAX], struct validation_folders *out)
{
    struct stat info;
    const char *found = app_find_folder(folder, shipped, PATH_MAX) ? shipped : NULL;
    *out = (struct validation_folders){{given ? given : found, given ? found : NULL}};
    if (!given) return found ? WSC_OK : no_folder(option);
    if (stat(given, &info))
        return WSC_RAISE(WSC_CONFIG, "--%s %s: %s", option, given, strerror(errno));
    return S_ISDIR(info.st_mode) ? WSC_OK
                                 : WSC_RAISE(WSC_CONFIG, "--%s %s: is not a folder", option, given);
}

/* Warn of a folder of the user's without a file that a row names: the rows are predicted with
 * others. Published rows beside the user's own read nothing there. @p name: where in a row its name
 * is. */
static void warn_of_unused(const struct validation_comparison *c,
                           const struct validation_folders *folders, const char *option,
                           size_t name)
{
    const struct validation_folders own = {{folders->folder[0]}};
    if (!folders->folder[1]) return;
    for (int i = c->n_own ? c->n_refs - c->n_own : 0; i < c->n_refs; i++) {
        char path[PATH_MAX];
        validation_name_file(&own, (const char *)&c->ref[i] + name, path, sizeof path);
        if (!access(path, F_OK)) return;
    }
    WSC_WARNING("--%s %s: without effect: no row names a file in it", option, own.folder[0]);
}

/* The published row that is being predicted, or what a part of the work is at. */
static void show_progress(void *ctx, const char *part, int done, int total, const char *what)
{
    (void)ctx;
    out_progress_at(part, done, total, what);
}

enum wsc_err app_comparison_open(struct app_comparison *c, const struct app_config *config,
                                 const struct app_figures *figures)
{
    struct validation_figure *rows;
    int n, n_own = 0;
    TRY(find_references(figures->reference, c->reference_dir));
    struct validation_folders params, machines;
    TRY(find_folders(figures->params, APP_PARAMS, "params", c->shipped_params, &params));
    TRY(find_folders(figures->machines, APP_CLUSTER, "machines", c->shipped_machines, &machines));
    if (config->cluster_path) {
        TRY(app_load_cluster(NULL, config, &c->cluster, NULL));
        c->has_cluster = true;
        TRY(scaling_refuse_passing_faults(&c->cluster));
    }
    warn_of_replaced(config);
    TRY(app_read_references(c->reference_dir, &rows, &n));
    enum wsc_err rc = figures->points ? read_points(figures->points, &rows, &n, &n_own) : WSC_OK;
    c->rows = rows;
    TRY(rc);
    c->comparison = (struct validation_comparison){.ref = rows,
                                                   .n_refs = n,
                                                   .n_own = n_own,
                                                   .params = params,
                                                   .machines = machines,
                                                   .cluster = c->has_cluster ? &c->cluster : NULL,
                                                   .sets = config->set,
                                                   .n_sets = config->n_sets,
                                                   .progress = show_progress};
    warn_of_unused(&c->comparison, &params, "params", offsetof(struct validation_figure, model));
    warn_of_unused(&c->comparison, &machines, "machines",
                   offsetof(struct validation_figure, cluster));
    return WSC_OK;
}

void app_comparison_fini(struct app_comparison *c)
{
    hw_machine_fini(&c->cluster);
    wsc_free(c->rows);
}
