// SPDX-License-Identifier: Apache-2.0
#include "app.h"

#include <wsc/mem.h>
#include <wsc/report.h>
#include <wsc/scaling.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAX_MODELS = 64, NAME_BYTES = 96 };

struct scale_options {
    struct app_config config;
    const char *params_list, *out, *points;
    int64_t num_csx[APP_MAX_LIST];
    struct scaling_sweep sweep;
    bool help;

    int n_models;
    struct conf_params params[MAX_MODELS];
    char name[MAX_MODELS][NAME_BYTES];
    struct scaling_model model[MAX_MODELS];
};

static const char help[] =
    "usage: wsc scale --params FILE[,FILE...] --out DIR [options]\n\n"
    "  --params FILES      params of one or more models\n"
    "  --out DIR           scaling.csv, scaling.svg, scaling.png, report.html\n"
    "  --num_csx LIST      node counts (1,2,4,8,16,32,64)\n"
    "  --scaling MODE      weak: the batch per system stays (default);\n"
    "                      strong: the global batch stays\n"
    "  --batch_per_csx B   weak scaling: sequences per system (batch_size / num_csx of the file)\n"
    "  --cluster FILE      the emulated machine; built-in: CS-2\n"
    "  --points FILE       published measurements to draw (model,num_csx,tokens_per_s,source)\n"
    "  --set PATH=VALUE    override any key of all models or of the cluster\n\n"
    "examples:\n"
    "  wsc scale --params configs/params/gpt3_13b.yaml --out out/13b\n"
    "  wsc scale --params configs/params/gpt3_1p3b.yaml --num_csx 1,16,192 --out out/192 \\\n"
    "            --set cluster.swarmx.link_latency=10us\n";

enum {
    OPT_PARAMS = 256,
    OPT_OUT,
    OPT_NUM_CSX,
    OPT_SCALING,
    OPT_BATCH,
    OPT_CLUSTER,
    OPT_POINTS,
    OPT_SET
};

static const struct option long_option[] = {{"params", required_argument, NULL, OPT_PARAMS},
                                            {"out", required_argument, NULL, OPT_OUT},
                                            {"num_csx", required_argument, NULL, OPT_NUM_CSX},
                                            {"scaling", required_argument, NULL, OPT_SCALING},
                                            {"batch_per_csx", required_argument, NULL, OPT_BATCH},
                                            {"cluster", required_argument, NULL, OPT_CLUSTER},
                                            {"points", required_argument, NULL, OPT_POINTS},
                                            {"set", required_argument, NULL, OPT_SET},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};

static enum wsc_err take_option(struct scale_options *o, int option, const char *value)
{
    enum { MAX_CSX = 4096 };
    switch (option) {
    case OPT_PARAMS:
        o->params_list = value;
        return WSC_OK;
    case OPT_OUT:
        o->out = value;
        return WSC_OK;
    case OPT_NUM_CSX:
        return app_parse_int_list("--num_csx", value, 1, MAX_CSX, o->num_csx, &o->sweep.n_counts);
    case OPT_SCALING:
        o->sweep.strong = !strcmp(value, "strong");
        if (o->sweep.strong || !strcmp(value, "weak")) return WSC_OK;
        return WSC_RAISE(WSC_USAGE, "--scaling: expected weak or strong, got \"%s\"", value);
    case OPT_BATCH:
        return app_parse_int("--batch_per_csx", value, 1, INT32_MAX, &o->sweep.batch_per_csx);
    case OPT_CLUSTER:
        o->config.cluster_path = value;
        return WSC_OK;
    case OPT_POINTS:
        o->points = value;
        return WSC_OK;
    case OPT_SET:
        return app_add_set(&o->config, value);
    default:
        o->help = true;
        return WSC_OK;
    }
}

static enum wsc_err parse(struct scale_options *o, int argc, char **argv)
{
    static const int64_t default_counts[] = {1, 2, 4, 8, 16, 32, 64};
    int option;
    memcpy(o->num_csx, default_counts, sizeof default_counts);
    o->sweep.n_counts = sizeof default_counts / sizeof *default_counts;
    while ((option = getopt_long(argc, argv, ":h", long_option, NULL)) != -1) {
        if (option == '?' || option == ':') return app_bad_option("scale", argv, option);
        TRY(take_option(o, option, optarg));
    }
    if (o->help) return WSC_OK;
    if (optind < argc) return WSC_RAISE(WSC_USAGE, "%s: unexpected argument", argv[optind]);
    if (!o->params_list || !o->out)
        return wsc_err_hint(WSC_RAISE(WSC_USAGE, "--params and --out are needed"),
                            "wsc scale --help");
    return WSC_OK;
}

static enum wsc_err load_models(struct scale_options *o)
{
    char path[PATH_MAX];
    for (const char *p = o->params_list; *p;) {
        size_t n = strcspn(p, ",");
        if (o->n_models == MAX_MODELS)
            return WSC_RAISE(WSC_USAGE, "--params: more than %d files", MAX_MODELS);
        (void)snprintf(path, sizeof path, "%.*s", (int)n, p);
        o->config.params_path = path;
        int i = o->n_models++;
        TRY(app_load_params(NULL, &o->config, &o->params[i]));
        app_base_name(path, o->name[i], NAME_BYTES);
        o->model[i] = (struct scaling_model){o->name[i], &o->params[i]};
        p += n + (p[n] == ',');
    }
    return WSC_OK;
}

/* Published points lie beside the program: in the source tree, or where it was installed. */
static const char *find_points(char *path, size_t size)
{
    static const char *const place[] = {"../../../benchmarks/reference/throughput.csv",
                                        "../share/wsc/reference/throughput.csv"};
    char exe[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    if (n <= 0) return NULL;
    exe[n] = '\0';
    char *slash = strrchr(exe, '/');
    if (slash) *slash = '\0';
    for (int i = 0; i < (int)(sizeof place / sizeof *place); i++) {
        int length = snprintf(path, size, "%s/%s", exe, place[i]);
        if (length > 0 && (size_t)length < size && !access(path, R_OK)) return path;
    }
    return NULL;
}

static void show_progress(void *ctx, int done, int total, const char *what)
{
    (void)ctx, (void)total;
    report_progress(done, what);
}

static enum wsc_err sweep_and_write(struct scale_options *o, const struct conf_cluster *cluster,
                                    const char *cluster_text)
{
    struct report_scale_row *rows = NULL;
    struct report_point *points = NULL;
    int n_points = 0;
    char path[PATH_MAX + 64];
    const char *points_path = o->points ? o->points : find_points(path, sizeof path);
    o->sweep.model = o->model;
    o->sweep.n_models = o->n_models;
    o->sweep.num_csx = o->num_csx;
    o->sweep.cluster = cluster;
    o->sweep.progress = show_progress;
    if (points_path) TRY(report_points_read(points_path, &points, &n_points));
    report_progress_start("sweep", (int64_t)o->n_models * o->sweep.n_counts);
    enum wsc_err rc = scaling_run(&o->sweep, &rows);
    report_progress_end();
    if (!rc) {
        const struct report_scaling s = {.row = rows,
                                         .n_rows = o->n_models * o->sweep.n_counts,
                                         .point = points,
                                         .n_points = n_points,
                                         .scaling = o->sweep.strong ? "strong" : "weak",
                                         .cluster = cluster,
                                         .cluster_text = cluster_text,
                                         .command = app_command_line()};
        rc = report_scaling_print(&s);
        if (!rc) rc = report_scaling_write(o->out, &s);
    }
    if (!rc)
        (void)printf("\nWrote %s/scaling.csv, scaling.svg, scaling.png, report.html\n", o->out);
    wsc_free(rows);
    wsc_free(points);
    return rc;
}

static enum wsc_err scale(struct scale_options *o)
{
    struct conf_cluster cluster;
    char *text = NULL;
    TRY(load_models(o));
    enum wsc_err rc = app_load_cluster(NULL, &o->config, &cluster, &text);
    if (!rc) rc = sweep_and_write(o, &cluster, text);
    conf_cluster_fini(&cluster);
    wsc_free(text);
    return rc;
}

enum wsc_err app_scale(int argc, char **argv)
{
    struct scale_options *o;
    TRY_NEW(o, WSC_MEM_APP, 1);
    enum wsc_err rc = parse(o, argc, argv);
    if (!rc && o->help) (void)fputs(help, stdout);
    if (!rc && !o->help) rc = scale(o);
    for (int i = 0; i < o->n_models; i++)
        conf_params_fini(&o->params[i]);
    app_config_fini(&o->config);
    wsc_free(o);
    return rc;
}
