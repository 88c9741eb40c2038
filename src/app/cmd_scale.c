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
    bool counts_given;
    struct scaling_sweep sweep;
    bool help, effects, sensitivity, anatomy;
    const char *sweep_text, *tokens_text, *trace, *goal;
    struct scaling_values values;
    double tokens, tokens_per_param;

    int n_models;
    struct zoo_params params[MAX_MODELS];
    char name[MAX_MODELS][NAME_BYTES];
    struct scaling_model model[MAX_MODELS];
};

static const char help[] =
    "usage: wsc scale --params FILE[,FILE...] --out DIR [options]\n\n"
    "  --params FILES      params of one or more models\n"
    "  --out DIR           scaling.csv, scaling.svg, scaling.png, report.html\n"
    "  --num_csx LIST      node counts (1,2,4,8,16,32,64, as far as the cluster has them)\n"
    "  --scaling MODE      weak: the batch per system stays (default);\n"
    "                      strong: the global batch stays\n"
    "  --batch_per_csx B   weak scaling: sequences per system (batch_size / num_csx of the file)\n"
    "  --cluster FILE      the emulated machine; built-in: CS-2\n"
    "  --points FILE       published measurements to draw (model,num_csx,tokens_per_s,source)\n"
    "  --set PATH=VALUE    override any key of all models or of the cluster\n"
    "  --fault KIND:KEY=VALUE,...\n"
    "                      something that is wrong all the time, e.g. "
    "lost_planes:node=0,planes=6;\n"
    "                      may be repeated (docs/FAULTS.md)\n\n"
    "what the curve depends on (tables, CSV, pictures, sections of report.html):\n"
    "  --effects           what bends it: each mechanism switched off in turn\n"
    "  --sensitivity       each uncertain constant at the ends of its range: tornado plot, band\n"
    "  --sweep KEY=VALUES  one constant of the cluster: LOW..HIGH, LOW..HIGH:N (logarithmic)\n"
    "                      or A,B,C; values carry their unit\n"
    "  --tokens N          time, energy and expected loss of a training on N tokens: 300B, 2.6T,\n"
    "                      or 20xparams\n"
    "one step, taken apart, of the first model on the largest node count:\n"
    "  --anatomy           op profile, critical path, load of the links\n"
    "  --trace FILE        Chrome trace of the virtual timeline (chrome://tracing, Perfetto)\n"
    "  --goal FILE         GOAL schedule (LogGOPSim), 1 for 1 ps\n\n"
    "examples:\n"
    "  wsc scale --params configs/params/gpt3_13b.yaml --out out/13b\n"
    "  wsc scale --params configs/params/gpt3_1p3b.yaml --num_csx 1,16,192 --out out/192 \\\n"
    "            --set cluster.swarmx.link_latency=10us\n"
    "  wsc scale --params configs/params/gpt3_1p3b.yaml --out out/latency \\\n"
    "            --sweep cluster.swarmx.latency=1us..1ms\n"
    "  wsc scale --params configs/params/gpt3_13b.yaml --out out/how_sure --effects \\\n"
    "            --sensitivity --tokens 20xparams\n"
    "  wsc scale --params configs/params/gpt3_111m.yaml --num_csx 4 --out out/step \\\n"
    "            --anatomy --trace out/step/chrome_trace.json --goal out/step/step.goal\n";

enum {
    OPT_PARAMS = 256,
    OPT_OUT,
    OPT_NUM_CSX,
    OPT_SCALING,
    OPT_BATCH,
    OPT_CLUSTER,
    OPT_POINTS,
    OPT_SET,
    OPT_FAULT,
    OPT_EFFECTS,
    OPT_SENSITIVITY,
    OPT_SWEEP,
    OPT_TOKENS,
    OPT_ANATOMY,
    OPT_TRACE,
    OPT_GOAL
};

static const struct option long_option[] = {{"params", required_argument, NULL, OPT_PARAMS},
                                            {"out", required_argument, NULL, OPT_OUT},
                                            {"num_csx", required_argument, NULL, OPT_NUM_CSX},
                                            {"scaling", required_argument, NULL, OPT_SCALING},
                                            {"batch_per_csx", required_argument, NULL, OPT_BATCH},
                                            {"cluster", required_argument, NULL, OPT_CLUSTER},
                                            {"points", required_argument, NULL, OPT_POINTS},
                                            {"set", required_argument, NULL, OPT_SET},
                                            {"fault", required_argument, NULL, OPT_FAULT},
                                            {"effects", no_argument, NULL, OPT_EFFECTS},
                                            {"sensitivity", no_argument, NULL, OPT_SENSITIVITY},
                                            {"sweep", required_argument, NULL, OPT_SWEEP},
                                            {"tokens", required_argument, NULL, OPT_TOKENS},
                                            {"anatomy", no_argument, NULL, OPT_ANATOMY},
                                            {"trace", required_argument, NULL, OPT_TRACE},
                                            {"goal", required_argument, NULL, OPT_GOAL},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};

/* What is looked at beside the curve itself. */
static enum wsc_err take_study(struct scale_options *o, int option, const char *value)
{
    switch (option) {
    case OPT_EFFECTS:
        o->effects = true;
        return WSC_OK;
    case OPT_SENSITIVITY:
        o->sensitivity = true;
        return WSC_OK;
    case OPT_SWEEP:
        o->sweep_text = value;
        return scaling_values_parse(&o->values, value);
    case OPT_TOKENS:
        o->tokens_text = value;
        return scaling_tokens_parse(value, &o->tokens, &o->tokens_per_param);
    case OPT_TRACE:
        o->trace = value;
        break;
    case OPT_GOAL:
        o->goal = value;
        break;
    case OPT_ANATOMY:
        break;
    default:
        o->help = true;
        return WSC_OK;
    }
    o->anatomy = true;
    return WSC_OK;
}

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
        o->counts_given = true;
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
    case OPT_FAULT:
        return app_add_fault(&o->config, value);
    default:
        return take_study(o, option, value);
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

/* Leave out points of models that are not swept. */
static void keep_swept(const struct scale_options *o, struct report_point *point, int *n)
{
    int kept = 0;
    for (int i = 0; i < *n; i++) {
        int m = 0;
        while (m < o->n_models && strcmp(o->name[m], point[i].model) != 0)
            m++;
        if (m < o->n_models) point[kept++] = point[i];
    }
    *n = kept;
}

/* Published points: those of the user, or those that lie beside the program, if they do. */
static enum wsc_err read_points(const struct scale_options *o, struct report_point **points, int *n)
{
    char dir[PATH_MAX];
    struct report_reference *rows;
    int n_rows;
    if (o->points) return report_points_read(o->points, points, n);
    if (!app_find_folder(APP_REFERENCE, dir, sizeof dir)) return WSC_OK;
    TRY(app_read_references(dir, &rows, &n_rows));
    enum wsc_err rc = report_points_of(rows, n_rows, points, n);
    if (!rc) keep_swept(o, *points, n);
    wsc_free(rows);
    return rc;
}

static void show_progress(void *ctx, int done, int total, const char *what)
{
    (void)ctx, (void)total;
    out_progress(done, what);
}

/* ---- what the curve depends on --------------------------------------------------------------- */

/* All that a report may hold; freed together. */
struct study {
    struct report_scale_row *row;
    struct report_point *point;
    struct report_variant *effect, *fault, *varied;
    struct report_sensitivity *sensitivity;
    struct report_training *training;
    struct app_anatomy anatomy;
    struct report_scaling report;
};

static void study_fini(struct study *s)
{
    struct report_scaling *r = &s->report;
    scaling_variants_free(&s->effect, r->n_effects);
    scaling_variants_free(&s->fault, r->n_faults);
    scaling_variants_free(&s->varied, r->n_varied);
    for (int i = 0; i < r->n_sensitivities; i++)
        scaling_sensitivity_free(&s->sensitivity[i]);
    wsc_free(s->sensitivity);
    wsc_free(s->training);
    wsc_free(s->row);
    wsc_free(s->point);
    app_anatomy_fini(&s->anatomy);
}

static enum wsc_err find_sensitivities(struct scale_options *o, struct study *s)
{
    TRY_NEW(s->sensitivity, WSC_MEM_APP, o->n_models);
    for (int m = 0; m < o->n_models; m++) {
        TRY(scaling_sensitivity(&o->sweep, m, &s->sensitivity[m]));
        s->report.n_sensitivities = m + 1;
    }
    s->report.sensitivity = s->sensitivity;
    return WSC_OK;
}

static enum wsc_err find_trainings(const struct scale_options *o, struct study *s)
{
    struct report_scaling *r = &s->report;
    TRY_NEW(s->training, WSC_MEM_APP, r->n_rows);
    for (int i = 0; i < r->n_rows; i++)
        s->training[i] =
            scaling_training(&s->row[i], o->sweep.cluster, o->tokens, o->tokens_per_param);
    r->training = s->training;
    r->n_trainings = r->n_rows;
    return WSC_OK;
}

/* The last but one of the steps that a sweep measures: one like all others. */
static enum wsc_err take_apart(const struct scale_options *o, struct study *s)
{
    enum { STEADY = 2 };
    int most = 0;
    for (int i = 1; i < o->sweep.n_counts; i++)
        if (o->num_csx[i] > o->num_csx[most]) most = i;
    struct timeline_job job = {.params = &o->params[0],
                               .cluster = o->sweep.cluster,
                               .num_csx = s->row[most].num_csx,
                               .global_batch = s->row[most].global_batch,
                               .first_step = STEADY,
                               .n_steps = 1};
    TRY(app_anatomy_make(&s->anatomy, &job, o->name[0], o->trace, o->goal));
    s->report.anatomy = &s->anatomy.report;
    s->report.n_anatomies = 1;
    return WSC_OK;
}

static enum wsc_err find_variants(struct scale_options *o, struct study *s)
{
    struct report_scaling *r = &s->report;
    if (o->effects) {
        TRY(scaling_effects(&o->sweep, &s->effect, &r->n_effects));
        r->effect = s->effect;
    }
    if (o->sweep.cluster->faults.n) {
        TRY(scaling_faults(&o->sweep, &s->fault, &r->n_faults));
        r->fault = s->fault;
    }
    if (!o->sweep_text) return WSC_OK;
    TRY(scaling_vary(&o->sweep, &o->values, &s->varied, &r->n_varied));
    r->varied = s->varied;
    r->varied_key = o->values.constant.path;
    return WSC_OK;
}

static enum wsc_err run_study(struct scale_options *o, struct study *s)
{
    TRY(scaling_run(&o->sweep, &s->row));
    s->report.row = s->row;
    s->report.n_rows = o->n_models * o->sweep.n_counts;
    TRY(find_variants(o, s));
    if (o->sensitivity) TRY(find_sensitivities(o, s));
    if (o->tokens_text) TRY(find_trainings(o, s));
    return o->anatomy ? take_apart(o, s) : WSC_OK;
}

static void tell_files(const struct scale_options *o)
{
    (void)printf("\nWrote %s/scaling.csv, scaling.svg, scaling.png, report.html\n", o->out);
    if (o->effects) (void)printf("      %s/effects.csv\n", o->out);
    if (o->sweep.cluster->faults.n) (void)printf("      %s/faults.csv\n", o->out);
    if (o->sweep_text) (void)printf("      %s/sweep.csv, sweep.svg, sweep.png\n", o->out);
    if (o->sensitivity)
        (void)printf("      %s/sensitivity.csv, band.csv, tornado.svg, tornado.png\n", o->out);
    if (o->tokens_text) (void)printf("      %s/training.csv\n", o->out);
    if (o->anatomy) (void)printf("      %s/op_profile.csv, critical_path.csv, links.csv\n", o->out);
    if (o->trace) (void)printf("      %s\n", o->trace);
    if (o->goal) (void)printf("      %s\n", o->goal);
}

/* Of the default node counts those that the installation has. */
static void cut_counts(struct scale_options *o, const struct hw_machine *cluster)
{
    int n = 0;
    if (o->counts_given || !cluster->systems) return;
    while (n < o->sweep.n_counts && o->num_csx[n] <= cluster->systems)
        n++;
    o->sweep.n_counts = n;
}

static enum wsc_err sweep_and_write(struct scale_options *o, const struct hw_machine *cluster,
                                    const char *cluster_text)
{
    struct study s = {.report = {.scaling = o->sweep.strong ? "strong" : "weak",
                                 .cluster = cluster,
                                 .cluster_text = cluster_text,
                                 .command = app_command_line()}};
    cut_counts(o, cluster);
    o->sweep.model = o->model;
    o->sweep.n_models = o->n_models;
    o->sweep.num_csx = o->num_csx;
    o->sweep.cluster = cluster;
    o->sweep.progress = show_progress;
    TRY(read_points(o, &s.point, &s.report.n_points));
    s.report.point = s.point;
    enum wsc_err rc = out_mkdir(o->out); /* a trace may go there */
    out_progress_start("sweep", (int64_t)o->n_models * o->sweep.n_counts);
    if (!rc) rc = run_study(o, &s);
    out_progress_end();
    if (!rc) rc = report_scaling_print(&s.report);
    if (!rc) rc = report_scaling_write(o->out, &s.report);
    if (!rc) tell_files(o);
    study_fini(&s);
    return rc;
}

static enum wsc_err scale(struct scale_options *o)
{
    struct hw_machine cluster;
    char *text = NULL;
    TRY(load_models(o));
    enum wsc_err rc = app_load_cluster(NULL, &o->config, &cluster, &text);
    if (!rc) rc = app_refuse_passing_faults(&cluster, "wsc scale looks at a step", !o->anatomy);
    if (!rc) rc = sweep_and_write(o, &cluster, text);
    hw_machine_fini(&cluster);
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
        zoo_params_fini(&o->params[i]);
    app_config_fini(&o->config);
    wsc_free(o);
    return rc;
}
