// SPDX-License-Identifier: Apache-2.0
/* `wsc scale`: loads models and cluster, has `scaling` sweep them over node counts and study what
 * the curve depends on, has `report` print the table and write CSV, pictures and report.html.
 * Under mpirun the ranks share the points; rank 0 reads, prints and writes. */
#include "cmd.h"
#include "comparison.h"
#include "option_parse.h"
#include "process.h"
#include "requests.h"
#include "step_report.h"
#include "user_files.h"

#include <wsc/log.h>

#include <wsc/mem.h>
#include <wsc/report.h>
#include <wsc/scaling.h>

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAX_MODELS = 64, NAME_BYTES = 96 };

/* The request and what is loaded for it. */
struct scale {
    struct app_scale *o;
    struct comm *comm; /* borrowed; NULL: this process alone */
    struct scaling_sweep sweep;
    int n_models;
    struct zoo_params params[MAX_MODELS];
    char name[MAX_MODELS][NAME_BYTES];
    struct scaling_model model[MAX_MODELS]; /* those that are swept */
    char set[2][64];                        /* of set_batches() */
    int n_left_out;                         /* points and values that do not fit */
    char left_out[640];                     /* the first of them, and why it does not */
};

/* File name without folder and extension, cut to @p size. */
static void base_name(const char *path, char *name, int size)
{
    const char *slash = strrchr(path, '/');
    (void)snprintf(name, (size_t)size, "%.*s", size - 1, slash ? slash + 1 : path);
    char *dot = strrchr(name, '.');
    if (dot && dot != name) *dot = '\0';
}

static enum wsc_err load_model(struct scale *s, const char *path)
{
    const int i = s->n_models;
    if (i == MAX_MODELS) return WSC_RAISE(WSC_USAGE, "--params: more than %d files", MAX_MODELS);
    struct app_config *config = &s->o->config;
    config->params_path = path;
    enum wsc_err rc = app_load_params(s->comm, config, &s->params[i]);
    config->params_path = NULL;
    s->n_models++; /* what a failed load left is freed as well */
    TRY(rc);
    base_name(path, s->name[i], NAME_BYTES);
    s->model[i] = (struct scaling_model){s->name[i], &s->params[i]};
    for (int k = 0; k < i; k++)
        if (!strcmp(s->name[k], s->name[i]))
            WSC_WARNING("--params: two files are called %s in the tables", s->name[i]);
    return WSC_OK;
}

/* Drop the keys of the command line that only say the batch of a system, which an option says
 * instead. */
static void drop_replaced(struct app_scale *o)
{
    const char *option = o->strong ? "--num_csx" : "--batch_per_csx";
    int kept = 0;
    for (int i = 0; i < o->config.n_sets; i++) {
        const char *text = o->config.set[i].text;
        const int n = (int)strcspn(text, "=");
        if (!strncmp(text, "runconfig.num_csx=", 18) ||
            (!o->strong && !strncmp(text, "train_input.batch_size=", 23)))
            WSC_WARNING("--set %.*s: without effect: %s says it", n, text, option);
        else
            o->config.set[kept++] = o->config.set[i];
    }
    o->config.n_sets = kept;
}

/* A sweep has its own systems and, by --batch_per_csx, its own sequences on each: batches and
 * micro-batches are checked for its smallest number of systems; a fixed batch for one system, and
 * its parts by warn_of_uneven(). */
static void set_batches(struct scale *s, bool batch_given)
{
    const double most = 1e9; /* of train_input.batch_size */
    struct app_scale *o = s->o;
    struct app_config *config = &o->config;
    int64_t least = o->num_csx.item[0];
    if (!o->strong && !batch_given) return;
    drop_replaced(o);
    for (int i = 1; i < o->num_csx.n; i++)
        if (o->num_csx.item[i] < least) least = o->num_csx.item[i];
    if (o->strong) least = 1;
    (void)snprintf(s->set[0], sizeof s->set[0], "runconfig.num_csx=%lld", (long long)least);
    (void)snprintf(s->set[1], sizeof s->set[1], "train_input.batch_size=%.0f",
                   fmin((double)o->batch_per_csx * (double)least, most));
    for (int i = 0; i < (o->strong ? 1 : 2) && config->n_sets < APP_MAX_SETS; i++)
        config->set[config->n_sets++] =
            (struct conf_set){s->set[i], i ? "batch_per_csx" : "num_csx"};
}

/* Load every params file of --params. */
static enum wsc_err load_models(struct scale *s)
{
    char path[PATH_MAX];
    for (const char *p = s->o->params_list; *p;) {
        const size_t n = strcspn(p, ",");
        (void)snprintf(path, sizeof path, "%.*s", (int)n, p);
        TRY(load_model(s, path));
        p += n + (p[n] == ',');
    }
    return WSC_OK;
}

/* Published points: those of the user, or those that lie beside the program. */
static enum wsc_err read_points(const struct scale *c, struct validation_point **points, int *n)
{
    char dir[PATH_MAX];
    struct validation_figure *rows;
    int n_rows;
    if (c->o->points) return validation_points_read(c->o->points, points, n);
    if (!app_find_folder(APP_REFERENCE, dir, sizeof dir)) {
        WSC_WARNING("published points are left out: there is no folder of them %s; "
                    "hint: --points FILE",
                    app_find_place());
        return WSC_OK;
    }
    TRY(app_read_references(dir, &rows, &n_rows));
    enum wsc_err rc = validation_points_of(rows, n_rows, points, n);
    wsc_free(rows);
    return rc;
}

/* A published point that the sweep is not compared with, and why. */
static void warn_of_skipped(const struct validation_point *point, const char *why)
{
    WSC_WARNING("published point %s is left out: %s", *point->id ? point->id : point->source, why);
}

/* Points of the user's own whose model is none of the sweep's: a name may be mistyped. */
static void warn_of_other_models(const struct scale *c, const struct validation_point *point, int n)
{
    for (int i = 0; i < n; i++) {
        bool swept = false;
        char why[sizeof point[i].model + 64];
        for (int m = 0; m < c->sweep.n_models && !swept; m++)
            swept = !strcmp(c->sweep.model[m].name, point[i].model);
        (void)snprintf(why, sizeof why, "model %s is not swept", point[i].model);
        if (!swept) warn_of_skipped(&point[i], why);
    }
}

/* Keeps the points that were measured under the conditions of the sweep. */
static enum wsc_err select_points(const struct scale *c, const struct scaling_row *row,
                                  struct validation_point *point, int *n)
{
    char dir[PATH_MAX] = "";
    if (!*n) return WSC_OK;
    if (c->o->points) warn_of_other_models(c, point, *n);
    if (!c->o->points && !app_find_folder(APP_CLUSTER, dir, sizeof dir))
        return wsc_err_hint(WSC_RAISE(WSC_CONFIG,
                                      "the folder of machine files is not %s, and "
                                      "published points name some",
                                      app_find_place()),
                            "--points FILE");
    return validation_points_select(point, n, &c->sweep, row, dir, warn_of_skipped);
}

/* The point, variant or constant that is being simulated. */
static void show_progress(void *ctx, const char *part, int done, int total, const char *what)
{
    (void)ctx;
    out_progress_at(part, done, total, what);
}

/* A trace and a schedule are of the step that is taken apart. */
static bool shows_step(const struct app_scale *o)
{
    return o->breakdown || o->trace || o->goal;
}

/* ---- what the curve depends on --------------------------------------------------------------- */

/* Everything that a report may hold; study_fini() frees it. */
struct study {
    struct scaling_row *row;
    struct validation_point *point;
    struct scaling_variant *effect, *fault, *varied, *varied_all;
    struct scaling_sensitivity *sensitivity;
    struct scaling_training *training;
    struct app_breakdown breakdown;
    struct report_scaling report;
};

/* Release what the studies allocated; members that were not made are NULL. */
static void study_fini(struct study *s)
{
    struct report_scaling *r = &s->report;
    scaling_variants_free(&s->effect, r->n_effects);
    scaling_variants_free(&s->fault, r->n_faults);
    scaling_variants_free(&s->varied, r->n_varied);
    scaling_variants_free(&s->varied_all, r->n_varied);
    for (int i = 0; i < r->n_sensitivities; i++)
        scaling_sensitivity_free(&s->sensitivity[i]);
    wsc_free(s->sensitivity);
    wsc_free(s->training);
    wsc_free(s->row);
    wsc_free(s->point);
    app_breakdown_fini(&s->breakdown);
}

/* Names the numbers of systems on which the model does not fit at an end of a range: the band is
 * without it there. */
static void warn_of_unfit_end(const struct scaling_sensitivity *s, const struct scaling_constant *c,
                              const char *end, const double *ratio)
{
    char list[256] = "";
    for (int i = 0; i < s->n_counts; i++) {
        const size_t used = strlen(list);
        if (isnan(ratio[i]))
            (void)snprintf(list + used, sizeof list - used, "%s%lld", used ? ", " : "",
                           (long long)s->num_csx[i]);
    }
    if (*list)
        WSC_WARNING("%s: with %s = %s it does not fit %s systems; their bands are without this "
                    "value",
                    s->model, c->key, end, list);
}

static void warn_of_unfit_ends(const struct scaling_sensitivity *s)
{
    for (int k = 0; k < s->n; k++) {
        const struct scaling_constant *c = &s->constant[k];
        warn_of_unfit_end(s, c, c->low, c->at_low);
        warn_of_unfit_end(s, c, c->high, c->at_high);
    }
}

/* Sensitivity of the models that were asked for. */
static enum wsc_err find_sensitivities(struct scale *c, struct study *s)
{
    TRY_NEW(s->sensitivity, WSC_MEM_APP, c->sweep.n_models);
    for (int m = 0; m < c->sweep.n_models; m++) {
        TRY(scaling_sensitivity(&c->sweep, m, &s->sensitivity[m]));
        s->report.n_sensitivities = m + 1;
        warn_of_unfit_ends(&s->sensitivity[m]);
    }
    s->report.sensitivity = s->sensitivity;
    return WSC_OK;
}

/* A whole training for each row of the sweep. */
static enum wsc_err find_trainings(const struct scale *c, struct study *s)
{
    struct report_scaling *r = &s->report;
    TRY_NEW(s->training, WSC_MEM_APP, r->n_rows);
    for (int i = 0; i < r->n_rows; i++) {
        const struct scaling_model *model = &c->model[i / c->sweep.n_counts];
        out_progress_at("whole trainings", i, r->n_rows, model->name);
        TRY(scaling_training_at(model, c->sweep.cluster, &s->row[i], c->o->tokens,
                                c->o->tokens_per_param, &s->training[i]));
    }
    r->training = s->training;
    r->n_trainings = r->n_rows;
    return WSC_OK;
}

/* The last but one of the steps that a sweep measures: one like all others. */
static enum wsc_err take_apart(const struct scale *c, struct study *s)
{
    int most = 0;
    for (int i = 1; i < c->sweep.n_counts; i++)
        if (c->o->num_csx.item[i] > c->o->num_csx.item[most]) most = i;
    /* A shallow copy: only numbers differ, and the original owns the rest. */
    struct zoo_params params = *c->model[0].params;
    params.runconfig.num_csx = s->row[most].num_csx;
    params.train_input.batch_size = s->row[most].global_batch;
    params.runconfig.checkpoint_steps = 0; /* no part of a steady-state step */
    const struct timeline_want want = {.first_step = JOB_STEADY_STEP,
                                       .n_steps = 1,
                                       .trace = c->o->trace != NULL,
                                       .schedule = c->o->goal != NULL};
    struct timeline *t = NULL;
    TRY(timeline_create(&t, &params, c->sweep.cluster, &want));
    s->breakdown = (struct app_breakdown){
        .report = {.model = c->model[0].name, .num_csx = params.runconfig.num_csx}};
    enum wsc_err rc = timeline_measure(t, &params, c->sweep.cluster);
    if (!rc) rc = app_breakdown_make(&s->breakdown, t, c->o->trace, c->o->goal);
    timeline_destroy(&t);
    TRY(rc);
    s->report.breakdown = &s->breakdown.report;
    s->report.n_breakdowns = 1;
    return WSC_OK;
}

/* Keeps account of what does not fit, for the end of the command. */
static void leave_out(struct scale *c, const char *what, const char *why)
{
    WSC_WARNING("%s is left out: %s", what, why);
    if (!c->n_left_out++) (void)snprintf(c->left_out, sizeof c->left_out, "%s: %s", what, why);
}

/* A value of --sweep of which a point does not fit; NULL: all do. */
static const char *why_unfit(const struct scale *c, const struct study *s, int i)
{
    const int n = s->report.n_rows;
    const char *why = scaling_left_out(s->varied[i].row, n);
    return why || !c->o->values.sparsity ? why : scaling_left_out(s->varied_all[i].row, n);
}

/* Takes variant @p i out of @p n. */
static void drop_variant(struct scaling_variant *v, int i, int n)
{
    wsc_free(v[i].row);
    memmove(&v[i], &v[i + 1], (size_t)(n - i - 1) * sizeof *v);
    v[n - 1].row = NULL;
}

/* Values that do not fit leave the study; sparsities are compared with the first one, which must
 * not. */
static enum wsc_err drop_unfit_values(struct scale *c, struct study *s)
{
    int *n = &s->report.n_varied;
    const bool both = c->o->values.sparsity;
    for (int i = 0; i < *n;) {
        char what[256];
        const char *why = why_unfit(c, s, i);
        if (!why) {
            i++;
            continue;
        }
        (void)snprintf(what, sizeof what, "--sweep %s%s=%s",
                       both || c->o->values.global_batch ? "" : "cluster.",
                       c->o->values.constant.path, s->varied[i].name);
        if (*n == 1 || (both && !i)) return WSC_RAISE(WSC_CAPACITY, "%s: %s", what, why);
        leave_out(c, what, why);
        drop_variant(s->varied, i, *n);
        if (both) drop_variant(s->varied_all, i, *n);
        --*n;
    }
    return WSC_OK;
}

/* Both ways of the weight gradient, since nothing public decides between them. */
static enum wsc_err vary_sparsity(const struct scaling_sweep *base, const struct scale *c,
                                  struct study *s)
{
    struct report_scaling *r = &s->report;
    struct hw_machine machine = *base->cluster; /* a shallow copy: only a choice differs */
    struct scaling_sweep sweep = *base;
    sweep.cluster = &machine;
    machine.wafer.sparse_gradient = HW_GRADIENT_SAMPLED;
    TRY(scaling_vary(&sweep, &c->o->values, &s->varied, &r->n_varied));
    machine.wafer.sparse_gradient = HW_GRADIENT_DENSE;
    TRY(scaling_vary(&sweep, &c->o->values, &s->varied_all, &r->n_varied));
    r->varied_all = s->varied_all;
    return WSC_OK;
}

/* The sweep at each value of --sweep. */
static enum wsc_err vary(struct scale *c, struct study *s)
{
    const struct scaling_values *values = &c->o->values;
    struct report_scaling *r = &s->report;
    struct scaling_sweep sweep = c->sweep;
    sweep.leaves_out = true;
    TRY(values->sparsity ? vary_sparsity(&sweep, c, s)
                         : scaling_vary(&sweep, values, &s->varied, &r->n_varied));
    r->varied = s->varied;
    r->varied_key = values->constant.path;
    return drop_unfit_values(c, s);
}

/* Sweeps by mechanism, by fault, by the values of a constant. */
static enum wsc_err find_variants(struct scale *c, struct study *s)
{
    struct report_scaling *r = &s->report;
    if (c->o->effects) {
        TRY(scaling_effects(&c->sweep, &s->effect, &r->n_effects));
        r->effect = s->effect;
    }
    if (c->sweep.cluster->faults.n) {
        TRY(scaling_faults(&c->sweep, &s->fault, &r->n_faults));
        r->fault = s->fault;
    }
    return c->o->values.n ? vary(c, s) : WSC_OK;
}

/* A point of the curves that does not fit, or whose number of systems another model does not. */
static void leave_out_point(void *ctx, const struct scaling_row *row, const char *why)
{
    char what[NAME_BYTES + 64];
    (void)snprintf(what, sizeof what, "%s on %lld systems", row->model, (long long)row->num_csx);
    leave_out(ctx, what, why);
}

/* The curves, from the points that fit. */
static enum wsc_err run_curves(struct scale *c, struct study *s)
{
    struct scaling_sweep sweep = c->sweep;
    struct app_ints *counts = &c->o->num_csx;
    sweep.leaves_out = true;
    TRY(scaling_run(&sweep, &s->row));
    s->report.row = s->row;
    struct scaling_points points = {
        c->model, sweep.n_models, counts->item, counts->n, s->row, leave_out_point, c};
    bool any = false;
    for (int i = 0; i < points.n_models * points.n_counts && !any; i++)
        any = !*s->row[i].left_out;
    if (!any) return WSC_RAISE(WSC_CAPACITY, "%s", s->row->left_out);
    scaling_drop_left_out(&points);
    c->sweep.n_models = points.n_models;
    c->sweep.n_counts = counts->n = points.n_counts;
    s->report.n_rows = points.n_models * points.n_counts;
    if (s->report.n_rows) return WSC_OK;
    return WSC_RAISE(WSC_CAPACITY, "no number of systems fits all models: %s", c->left_out);
}

/* What the ranks share. */
static enum wsc_err run_study(struct scale *c, struct study *s)
{
    TRY(run_curves(c, s));
    TRY(app_agree(c->comm, app_leads(c->comm)
                               ? select_points(c, s->row, s->point, &s->report.n_points)
                               : WSC_OK));
    TRY(find_variants(c, s));
    return c->o->sensitivity ? find_sensitivities(c, s) : WSC_OK;
}

/* ---- files of the folder --------------------------------------------------------------------- */

/* What a sweep may look into beside its curves. */
enum { EFFECTS, FAULTS, SPARSITY, VALUES, SENSITIVITY, TRAINING, STEP };

/* The files of each under --out. */
static const struct study_files {
    int study;
    const char *names;
} study_files[] = {
    {EFFECTS, "effects.csv"},
    {FAULTS, "faults.csv"},
    {SPARSITY, "sweep.csv, sparsity.csv, sparsity.gp, sparsity.svg, sparsity.png"},
    {VALUES, "sweep.csv, sweep.gp, sweep.svg, sweep.png"},
    {SENSITIVITY, "sensitivity.csv, band.csv, tornado.gp, tornado.svg, tornado.png"},
    {TRAINING, "training.csv"},
    {STEP, "op_profile.csv, critical_path.csv, links.csv"},
};
enum { N_STUDY_FILES = sizeof study_files / sizeof *study_files };

/* True when the command line asks for @p study. */
static bool is_asked(const struct scale *c, int study)
{
    const struct app_scale *o = c->o;
    const bool asked[] = {
        [EFFECTS] = o->effects,          [FAULTS] = c->sweep.cluster->faults.n > 0,
        [SPARSITY] = o->values.sparsity, [VALUES] = o->values.n && !o->values.sparsity,
        [SENSITIVITY] = o->sensitivity,  [TRAINING] = o->tokens > 0 || o->tokens_per_param > 0,
        [STEP] = shows_step(o)};
    return asked[study];
}

/* Prints the names of the files that were written. */
static void print_files(const struct scale *c)
{
    (void)printf("\nWrote %s/scaling.csv, scaling.gp, scaling.svg, scaling.png, report.html\n",
                 c->o->out);
    for (int i = 0; i < N_STUDY_FILES; i++)
        if (is_asked(c, study_files[i].study))
            (void)printf("      %s/%s\n", c->o->out, study_files[i].names);
    if (c->o->trace) (void)printf("      %s\n", c->o->trace);
    if (c->o->goal) (void)printf("      %s\n", c->o->goal);
}

/* True when this sweep writes the file @p name. */
static bool is_written(const struct scale *c, const char *name)
{
    for (int i = 0; i < N_STUDY_FILES; i++)
        if (is_asked(c, study_files[i].study) && strstr(study_files[i].names, name)) return true;
    return false;
}

/* Names the files of an earlier sweep in the folder that would lie beside those of this one. */
static void warn_of_earlier_files(const struct scale *c)
{
    char list[512] = "";
    for (int i = 0; i < N_STUDY_FILES; i++) {
        for (const char *p = study_files[i].names; *p; p += strspn(p, ", ")) {
            char name[64], path[PATH_MAX + sizeof name];
            const size_t used = strlen(list);
            (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(p, ","), p);
            (void)snprintf(path, sizeof path, "%s/%s", c->o->out, name);
            p += strlen(name);
            if (access(path, F_OK) || is_written(c, name) || strstr(list, name)) continue;
            (void)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", name);
        }
    }
    app_warn_of_earlier(c->o->out, list, "sweep");
}

/* Keeps the default node counts that the installation has. */
static void cut_counts(struct app_ints *num_csx, int64_t systems)
{
    int n = 0;
    while (n < num_csx->n && num_csx->item[n] <= systems)
        n++;
    num_csx->n = n;
}

/* What rank 0 does before the sweep. */
static enum wsc_err prepare(const struct scale *c, struct study *s)
{
    TRY(read_points(c, &s->point, &s->report.n_points));
    s->report.point = s->point;
    TRY(app_make_folder(c->o->out)); /* a trace may go there */
    warn_of_earlier_files(c);
    if (c->o->trace) TRY(out_can_write(c->o->trace));
    if (c->o->goal) TRY(out_can_write(c->o->goal));
    out_progress_start("sweep", s->report.n_rows);
    return WSC_OK;
}

/* What rank 0 does after it. */
static enum wsc_err finish(const struct scale *c, struct study *s)
{
    if (c->o->tokens > 0 || c->o->tokens_per_param > 0) TRY(find_trainings(c, s));
    out_progress_at("write", 0, 0, shows_step(c->o) ? "record of a step" : NULL);
    if (shows_step(c->o)) TRY(take_apart(c, s));
    out_progress_hide();
    TRY(report_scaling_print(&s->report));
    TRY(report_scaling_write(c->o->out, &s->report));
    print_files(c);
    return WSC_OK;
}

/* Prepare on rank 0, sweep on all ranks, write on rank 0; errors are agreed on in between. */
static enum wsc_err sweep_and_write(struct scale *c, const char *cluster_text)
{
    struct study s = {.report = {.scaling = c->sweep.strong ? "strong" : "weak",
                                 .cluster = c->sweep.cluster,
                                 .cluster_text = cluster_text,
                                 .command = app_command_line(),
                                 .n_rows = c->n_models * c->sweep.n_counts}};
    enum wsc_err rc = app_agree(c->comm, app_leads(c->comm) ? prepare(c, &s) : WSC_OK);
    if (!rc) rc = run_study(c, &s);
    if (!rc) rc = app_agree(c->comm, app_leads(c->comm) ? finish(c, &s) : WSC_OK);
    out_progress_end();
    study_fini(&s);
    return rc;
}

/* A list of node counts in a warning. */
struct counts {
    char text[256];
};

static void add_count(struct counts *list, int64_t n)
{
    const size_t used = strlen(list->text);
    (void)snprintf(list->text + used, sizeof list->text - used, "%s%lld", used ? ", " : "",
                   (long long)n);
}

/* Names the node counts among which a fixed batch, of @p sequences, does not divide evenly, and
 * those whose part of it has no whole number of micro-batches; one system was looked at with the
 * params. */
static void warn_of_uneven(const struct scale *c, int model, int64_t sequences)
{
    struct counts uneven = {""}, smaller = {""};
    const int64_t micro = c->params[model].train_input.micro_batch_size;
    for (int i = 0; i < c->o->num_csx.n; i++) {
        const int64_t n = c->o->num_csx.item[i], share = (sequences - 1) / n + 1;
        if (sequences % n) add_count(&uneven, n);
        if (n > 1 && micro > 0 && share % micro) add_count(&smaller, n);
    }
    if (*uneven.text)
        WSC_WARNING("%s: %lld sequences do not divide evenly among %s systems; the real cluster "
                    "requires it",
                    c->name[model], (long long)sequences, uneven.text);
    if (*smaller.text)
        WSC_WARNING("%s: train_input.micro_batch_size: %lld does not divide the sequences of a "
                    "system, of %lld on %s systems: the last of its micro-batches, or the only "
                    "one, has fewer",
                    c->name[model], (long long)micro, (long long)sequences, smaller.text);
}

/* The batches that do not grow with the systems. */
static void warn_of_fixed_batches(const struct scale *c, int model)
{
    const struct scaling_values *v = &c->o->values;
    if (c->o->strong) warn_of_uneven(c, model, c->params[model].train_input.batch_size);
    for (int i = 0; v->global_batch && i < v->n; i++)
        warn_of_uneven(c, model, (int64_t)v->value[i]);
}

/* What the sweep has no use for: keys of the params, constants of the machine, --sweep. */
static enum wsc_err warn_of_idle(struct scale *c, const struct hw_machine *cluster)
{
    const bool trains = c->o->tokens > 0 || c->o->tokens_per_param > 0;
    const char *varied =
        c->o->values.n && !c->o->values.sparsity ? c->o->values.constant.path : NULL;
    struct cluster_use use = {.kind = trains ? CLUSTER_USE_TRAININGS : CLUSTER_USE_SWEEP,
                              .machine = cluster};
    for (int i = 0; i < c->o->num_csx.n; i++)
        if (c->o->num_csx.item[i] > use.num_csx) use.num_csx = c->o->num_csx.item[i];
    for (int m = 0; m < c->n_models; m++) {
        use.params = &c->params[m];
        TRY(app_warn_of_idle(c->name[m], &use, &c->params[m]));
        warn_of_fixed_batches(c, m);
        const char *why = varied ? cluster_idle_why(&use, varied) : NULL;
        if (why) WSC_WARNING("%s: --sweep cluster.%s: without effect: %s", c->name[m], varied, why);
    }
    return WSC_OK;
}

/* Load models and machine, then sweep. */
static enum wsc_err scale(struct app_call *call, struct scale *c)
{
    struct hw_machine cluster;
    char *text = NULL;
    set_batches(c, app_given(call, "batch_per_csx"));
    TRY(load_models(c));
    enum wsc_err rc = app_load_cluster(c->comm, &c->o->config, &cluster, &text);
    if (!rc) rc = scaling_refuse_passing_faults(&cluster);
    if (!app_given(call, "num_csx") && cluster.systems) cut_counts(&c->o->num_csx, cluster.systems);
    if (!rc) rc = warn_of_idle(c, &cluster);
    c->sweep = (struct scaling_sweep){.model = c->model,
                                      .n_models = c->n_models,
                                      .num_csx = c->o->num_csx.item,
                                      .n_counts = c->o->num_csx.n,
                                      .strong = c->o->strong,
                                      .batch_per_csx = c->o->batch_per_csx,
                                      .cluster = &cluster,
                                      .progress = app_leads(c->comm) ? show_progress : NULL,
                                      .comm = c->comm};
    if (!rc) rc = sweep_and_write(c, text);
    if (!rc && c->n_left_out)
        rc = WSC_RAISE(WSC_CAPACITY,
                       "%d points or values do not fit and are left out, the first: %s",
                       c->n_left_out, c->left_out);
    hw_machine_fini(&cluster);
    wsc_free(text);
    return rc;
}

enum wsc_err app_run_scale(struct app_call *call)
{
    struct scale *c;
    TRY_NEW(c, WSC_MEM_APP, 1);
    c->o = call->request;
    c->comm = call->comm;
    wsc_log_quiet(!app_leads(c->comm));
    enum wsc_err rc = app_reported_once(c->comm, scale(call, c));
    for (int i = 0; i < c->n_models; i++)
        zoo_params_fini(&c->params[i]);
    wsc_free(c);
    return rc;
}
