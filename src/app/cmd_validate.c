// SPDX-License-Identifier: Apache-2.0
#include "app.h"

#include <wsc/mem.h>

#include <stdio.h>

static const char help[] =
    "usage: wsc validate --out DIR [options]\n"
    "       wsc validate --mesh [--pairs N] [--seed S] [--json]\n\n"
    "Predicts every published figure of benchmarks/reference and says how far off it is, which\n"
    "rows constants were fitted on, what the predicted steps consist of, and what the same "
    "machine\n"
    "does with its calibrated constants at neutral values.  Exit status 1 when a row leaves the\n"
    "tolerance that its file states.\n\n"
    "With --mesh it runs kernels on emulated fabrics instead, over shapes and grids that a seed\n"
    "draws, and prints the cycles that were counted beside those of the closed forms.\n\n"
    "  --out DIR        validation.csv, validation.md, validation.svg, validation.png\n"
    "  --cluster FILE   stands in for the rows' machines that have the same grid of PEs\n"
    "  --reference DIR  published figures, *.csv\n"
    "  --params DIR     models of the rows\n"
    "  --machines DIR   machines of the rows\n"
    "  --pairs N        kernels, shapes and grids of --mesh (default 264)\n"
    "  --seed S         of what is drawn (default 1)\n"
    "  --json           pairs as JSON\n"
    "  --set PATH=VALUE override any key of all models or, cluster.KEY, of all machines\n\n"
    "examples:\n"
    "  wsc validate --out out/validation\n"
    "  wsc validate --mesh\n"
    "  wsc validate --out out/slow_start --set cluster.wafer.stage_latency=2ms\n";

enum { OPT_OUT = 256, OPT_MESH, OPT_PAIRS, OPT_SEED, OPT_JSON };

static const struct option long_option[] = {{"out", required_argument, NULL, OPT_OUT},
                                            APP_COMPARISON_OPTIONS,
                                            {"mesh", no_argument, NULL, OPT_MESH},
                                            {"pairs", required_argument, NULL, OPT_PAIRS},
                                            {"seed", required_argument, NULL, OPT_SEED},
                                            {"json", no_argument, NULL, OPT_JSON},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};

struct options {
    struct app_comparison c;
    struct app_mesh_pairs pairs;
    const char *out;
    const char *pairs_option; /* the last one given of those of --mesh */
    bool mesh, help;
};

enum { MOST_PAIRS = 100000 };

static enum wsc_err take_pairs_option(struct options *o, int option, const char *value)
{
    switch (option) {
    case OPT_PAIRS:
        o->pairs_option = "--pairs";
        return app_parse_int("--pairs", value, 1, MOST_PAIRS, &o->pairs.n);
    case OPT_SEED:
        o->pairs_option = "--seed";
        return app_parse_int("--seed", value, 0, INT32_MAX, &o->pairs.seed);
    default:
        o->pairs_option = "--json";
        o->pairs.json = true;
        return WSC_OK;
    }
}

static enum wsc_err take_option(struct options *o, int option, const char *value)
{
    switch (option) {
    case OPT_OUT:
        o->out = value;
        return WSC_OK;
    case APP_COMPARE_CLUSTER:
    case APP_COMPARE_REFERENCE:
    case APP_COMPARE_PARAMS:
    case APP_COMPARE_MACHINES:
    case APP_COMPARE_SET:
        return app_comparison_take(&o->c, option, value);
    case OPT_MESH:
        o->mesh = true;
        return WSC_OK;
    case OPT_PAIRS:
    case OPT_SEED:
    case OPT_JSON:
        return take_pairs_option(o, option, value);
    default:
        o->help = true;
        return WSC_OK;
    }
}

static enum wsc_err parse(struct options *o, int argc, char **argv)
{
    int option;
    while ((option = getopt_long(argc, argv, ":h", long_option, NULL)) != -1) {
        if (option == '?' || option == ':') return app_bad_option("validate", argv, option);
        TRY(take_option(o, option, optarg));
    }
    if (o->help) return WSC_OK;
    if (optind < argc) return WSC_RAISE(WSC_USAGE, "%s: unexpected argument", argv[optind]);
    if (o->mesh && (o->out || o->c.reference || o->c.params || o->c.machines))
        return wsc_err_hint(WSC_RAISE(WSC_USAGE, "--mesh compares no published figures"),
                            "it takes --pairs, --seed, --json, --cluster and --set");
    if (!o->mesh && o->pairs_option)
        return wsc_err_hint(WSC_RAISE(WSC_USAGE, "%s is for --mesh", o->pairs_option),
                            "wsc validate --mesh %s ...", o->pairs_option);
    if (o->out || o->mesh) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_USAGE, "--out is needed"), "wsc validate --help");
}

/* Exit status 1, and a line that says why. */
static enum wsc_err check_tolerances(const struct report_validation *v)
{
    int outside = 0;
    const char *first = NULL;
    for (int i = 0; i < v->n_rows; i++) {
        if (report_prediction_holds(&v->row[i])) continue;
        if (!outside++) first = v->row[i].ref->id;
    }
    if (!outside) return WSC_OK;
    return WSC_RAISE(WSC_TOLERANCE, "%d of %d predictions leave their tolerance, the first is %s",
                     outside, v->n_rows, first);
}

static enum wsc_err compare(struct options *o, struct scaling_validation *v)
{
    TRY(app_comparison_open(&o->c));
    out_progress_start("validate", o->c.comparison.n_refs);
    enum wsc_err rc = scaling_validate(&o->c.comparison, v);
    out_progress_end();
    if (rc) return rc;
    v->report.command = app_command_line();
    TRY(report_validation_print(&v->report));
    TRY(report_validation_write(o->out, &v->report));
    (void)printf("\nWrote %s/validation.csv, validation.md, validation.svg, validation.png\n",
                 o->out);
    return check_tolerances(&v->report);
}

enum wsc_err app_validate(int argc, char **argv)
{
    struct scaling_validation v = {0};
    struct options *o;
    TRY_NEW(o, WSC_MEM_APP, 1);
    o->pairs = (struct app_mesh_pairs){.n = 264, .seed = 1};
    enum wsc_err rc = parse(o, argc, argv);
    if (!rc && o->help) (void)fputs(help, stdout);
    if (!rc && !o->help) rc = o->mesh ? app_validate_mesh(&o->pairs, &o->c.config) : compare(o, &v);
    scaling_validation_fini(&v);
    app_comparison_fini(&o->c);
    wsc_free(o);
    return rc;
}
