// SPDX-License-Identifier: Apache-2.0
#include "app.h"

#include <wsc/mem.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: wsc calibrate --out FILE [options]\n\n"
    "Fits constants to the published figures of kind calibration, says how sure each is, and\n"
    "writes them, with what they were fitted on, into a cluster file based on the machine.\n\n"
    "  --out FILE       the cluster file; it must not exist yet\n"
    "  --overwrite      it may\n"
    "  --fit LIST       of wafer.stage_latency (alone by default), memoryx.update_rate,\n"
    "                   wafer.kernel_factor\n"
    "  --cluster FILE   the machine to fit (configs/cluster/cs2.yaml)\n"
    "  --reference DIR  published figures, *.csv\n"
    "  --params DIR     models of the rows\n"
    "  --machines DIR   machines of the rows\n"
    "  --set PATH=VALUE override any key of all models or, cluster.KEY, of all machines\n\n"
    "examples:\n"
    "  wsc calibrate --out out/fitted.yaml\n"
    "  wsc calibrate --out out/three.yaml \\\n"
    "      --fit wafer.stage_latency,memoryx.update_rate,wafer.kernel_factor\n";

enum {
    OPT_OUT = 256,
    OPT_OVERWRITE,
    OPT_FIT,
};

static const struct option long_option[] = {
    {"out", required_argument, NULL, OPT_OUT}, {"overwrite", no_argument, NULL, OPT_OVERWRITE},
    {"fit", required_argument, NULL, OPT_FIT}, APP_COMPARISON_OPTIONS,
    {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0}};

struct options {
    struct app_comparison c;
    const char *out;
    char fit[256];
    const char *path[REPORT_MAX_CALIBRATED]; /* into fit */
    int n_paths;
    bool overwrite, help;
};

/* "a,b,c", cut in place. */
static enum wsc_err take_fit(struct options *o, const char *list)
{
    char *rest = o->fit;
    if (strlen(list) >= sizeof o->fit) return WSC_RAISE(WSC_USAGE, "--fit: a list too long");
    memcpy(o->fit, list, strlen(list) + 1);
    o->n_paths = 0;
    for (char *item = strsep(&rest, ","); item; item = strsep(&rest, ",")) {
        if (o->n_paths == REPORT_MAX_CALIBRATED)
            return WSC_RAISE(WSC_USAGE, "--fit: more than %d constants", REPORT_MAX_CALIBRATED);
        o->path[o->n_paths++] = item;
    }
    return WSC_OK;
}

static enum wsc_err take_option(struct options *o, int option, const char *value)
{
    switch (option) {
    case OPT_OUT:
        o->out = value;
        return WSC_OK;
    case OPT_OVERWRITE:
        o->overwrite = true;
        return WSC_OK;
    case OPT_FIT:
        return take_fit(o, value);
    case APP_COMPARE_CLUSTER:
    case APP_COMPARE_REFERENCE:
    case APP_COMPARE_PARAMS:
    case APP_COMPARE_MACHINES:
    case APP_COMPARE_SET:
        return app_comparison_take(&o->c, option, value);
    default:
        o->help = true;
        return WSC_OK;
    }
}

static enum wsc_err parse(struct options *o, int argc, char **argv)
{
    int option;
    TRY(take_fit(o, "wafer.stage_latency"));
    while ((option = getopt_long(argc, argv, ":h", long_option, NULL)) != -1) {
        if (option == '?' || option == ':') return app_bad_option("calibrate", argv, option);
        TRY(take_option(o, option, optarg));
    }
    if (o->help) return WSC_OK;
    if (optind < argc) return WSC_RAISE(WSC_USAGE, "%s: unexpected argument", argv[optind]);
    if (!o->out)
        return wsc_err_hint(WSC_RAISE(WSC_USAGE, "--out is needed"), "wsc calibrate --help");
    if (o->overwrite || access(o->out, F_OK)) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_IO, "%s: exists already", o->out), "--overwrite");
}

/* The folder of @p path, made when missing, by its full name. */
static enum wsc_err real_folder(const char *path, char out[PATH_MAX])
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    (void)snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) : 1,
                   slash ? path : ".");
    if (!*folder) (void)snprintf(folder, sizeof folder, "/");
    TRY(out_mkdir(folder));
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

/* The machine that was fitted, as the new file names it. */
static enum wsc_err name_base(const struct options *o, char *base, size_t size)
{
    char folder[PATH_MAX] = "", file[PATH_MAX] = "", path[PATH_MAX + 16];
    (void)snprintf(path, sizeof path, "%s/cs2.yaml", o->c.cluster_dir);
    const char *machine = o->c.config.cluster_path ? o->c.config.cluster_path : path;
    TRY(real_folder(o->out, folder));
    if (!realpath(machine, file)) return WSC_RAISE(WSC_IO, "%s: not found", machine);
    relative(folder, file, base, size);
    return WSC_OK;
}

static enum wsc_err calibrate(struct options *o, struct scaling_calibration *fit)
{
    char base[2 * PATH_MAX];
    TRY(app_comparison_open(&o->c));
    TRY(name_base(o, base, sizeof base));
    TRY(scaling_calibrate(&o->c.comparison, o->path, o->n_paths, fit));
    TRY(report_calibration_print(&fit->report));
    TRY(report_calibration_write(o->out, base, &fit->report));
    (void)printf("\nWrote %s, based on %s\n", o->out, base);
    return WSC_OK;
}

enum wsc_err app_calibrate(int argc, char **argv)
{
    struct scaling_calibration fit = {.point = NULL};
    struct options *o;
    TRY_NEW(o, WSC_MEM_APP, 1);
    enum wsc_err rc = parse(o, argc, argv);
    if (!rc && o->help) (void)fputs(help, stdout);
    if (!rc && !o->help) rc = calibrate(o, &fit);
    scaling_calibration_fini(&fit);
    app_comparison_fini(&o->c);
    wsc_free(o);
    return rc;
}
