// SPDX-License-Identifier: Apache-2.0
/* `wsc scale`: loads models and cluster, has scale_study.c sweep them over node counts and study
 * what the curve depends on, has `report` print the table and write CSV, pictures and report.html.
 * Under mpirun the ranks share the points; rank 0 reads, prints and writes. */
#include "cmd.h"
#include "comparison.h"
#include "option_parse.h"
#include "process.h"
#include "scale_study.h"
#include "user_files.h"

#include <wsc/log.h>
#include <wsc/mem.h>
#include <wsc/report.h>
#include <wsc/scaling.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum wsc_err load_model(struct app_sweep *s, int i)
{
    struct app_config *config = &s->o->config;
    config->params_path = s->files.path[i];
    enum wsc_err rc = app_load_params(s->comm, config, &s->params[i]);
    config->params_path = NULL;
    s->n_models++; /* what a failed load left is freed as well */
    TRY(rc);
    s->model[i] = (struct scaling_model){s->files.name[i], &s->params[i]};
    return app_reported_once(s->comm, scaling_refuse_other_modes(&s->params[i]));
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
static void set_batches(struct app_sweep *s, bool batch_given)
{
    struct app_scale *o = s->o;
    struct app_config *config = &o->config;
    const int64_t least = o->strong ? 1 : o->num_csx.item[0];
    if (!o->strong && !batch_given) return;
    drop_replaced(o);
    (void)snprintf(s->set[0], sizeof s->set[0], "runconfig.num_csx=%lld", (long long)least);
    (void)snprintf(s->set[1], sizeof s->set[1], "train_input.batch_size=%lld",
                   (long long)o->batch_per_csx * least);
    for (int i = 0; i < (o->strong ? 1 : 2) && config->n_sets < APP_MAX_SETS; i++)
        config->set[config->n_sets++] =
            (struct conf_set){s->set[i], i ? "batch_per_csx" : "num_csx"};
}

/* Load every params file of --params. */
static enum wsc_err load_models(struct app_sweep *s)
{
    TRY(app_reported_once(s->comm, app_model_files_take(&s->files, "--params", s->o->params_list)));
    for (int i = 0; i < s->files.n; i++)
        TRY(load_model(s, i));
    return WSC_OK;
}

/* Published points: those of the user, or those that lie beside the program. */
static enum wsc_err read_points(const struct app_sweep *c, struct validation_point **points, int *n)
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
static void warn_of_other_models(const struct app_sweep *c, const struct validation_point *point,
                                 int n)
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
static enum wsc_err select_points(const struct app_sweep *c, const struct scaling_row *row,
                                  struct validation_point *point, int *n)
{
    char machines[PATH_MAX] = "", params[PATH_MAX] = "";
    const bool own = c->o->points != NULL;
    const struct validation_point_folders folders = {machines, own ? NULL : params};
    if (!*n) return WSC_OK;
    if (own) warn_of_other_models(c, point, *n);
    if (!own && (!app_find_folder(APP_CLUSTER, machines, sizeof machines) ||
                 !app_find_folder(APP_PARAMS, params, sizeof params)))
        return wsc_err_hint(WSC_RAISE(WSC_CONFIG,
                                      "the folders of machine and params files are not %s, and "
                                      "published points name some",
                                      app_find_place()),
                            "--points FILE");
    return validation_points_select(point, n, &c->sweep, row, &folders, warn_of_skipped);
}

/* The point, variant or constant that is being simulated. */
static void show_progress(void *ctx, const char *part, int done, int total, const char *what)
{
    (void)ctx;
    out_progress_at(part, done, total, what);
}

/* What the ranks share. */
static enum wsc_err run_study(struct app_sweep *c, struct app_study *s)
{
    TRY(app_study_curves(c, s));
    TRY(app_agree(c->comm, app_leads(c->comm)
                               ? select_points(c, s->row, s->point, &s->report.n_points)
                               : WSC_OK));
    return app_study_vary(c, s);
}

static int compare_counts(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Puts the node counts in ascending order: the studies of a curve and their pictures are of its
 * last count, which has to be the largest. */
static void sort_counts(struct app_ints *num_csx)
{
    qsort(num_csx->item, (size_t)num_csx->n, sizeof *num_csx->item, compare_counts);
}

/* Keeps the default node counts that the installation has. */
static void cut_counts(struct app_ints *num_csx, int64_t systems)
{
    int n = 0;
    while (n < num_csx->n && num_csx->item[n] <= systems)
        n++;
    num_csx->n = n;
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

/* The part that a fault hits and some node counts lack: MemoryX is alike for all of them. */
static const char *part_of(const struct hw_fault *f)
{
    return f->place == HW_PLACE_NODE ? "SwarmX node" : "wafer";
}

/* No node count has the part of fault @p f: what the largest one lacks, all lack. */
static enum wsc_err raise_no_part(const struct app_ints *num_csx, const struct hw_fault *f)
{
    struct counts all = {""};
    for (int i = 0; i < num_csx->n; i++)
        add_count(&all, num_csx->item[i]);
    return wsc_err_hint(WSC_RAISE(WSC_CONFIG, "fault %s: no %s %lld on --num_csx %s", f->text,
                                  part_of(f), (long long)f->where, all.text),
                        "the first is 0%s",
                        f->place == HW_PLACE_NODE ? ", and one system has none" : "");
}

/* Drops the node counts that have not the wafer or node of a fault, with a warning for each such
 * fault. */
static enum wsc_err drop_counts_without_part(struct app_ints *num_csx,
                                             const struct hw_machine *cluster)
{
    int lacks[APP_MAX_LIST] = {0}, kept = 0;
    const int largest = num_csx->n - 1;
    for (int i = 0; i < num_csx->n; i++)
        TRY(scaling_fault_without_place(cluster, num_csx->item[i], &lacks[i]));
    if (largest >= 0 && lacks[largest] >= 0)
        return raise_no_part(num_csx, &cluster->faults.item[lacks[largest]]);
    for (int k = 0; k < cluster->faults.n; k++) {
        const struct hw_fault *f = &cluster->faults.item[k];
        struct counts without = {""};
        for (int i = 0; i < num_csx->n; i++)
            if (lacks[i] == k) add_count(&without, num_csx->item[i]);
        if (*without.text)
            WSC_WARNING("fault %s: left out: --num_csx %s, without %s %lld", f->text, without.text,
                        part_of(f), (long long)f->where);
    }
    for (int i = 0; i < num_csx->n; i++)
        if (lacks[i] < 0) num_csx->item[kept++] = num_csx->item[i];
    num_csx->n = kept;
    return WSC_OK;
}

/* What rank 0 does before the sweep. */
static enum wsc_err prepare(const struct app_sweep *c, struct app_study *s)
{
    TRY(read_points(c, &s->point, &s->report.n_points));
    s->report.point = s->point;
    TRY(app_make_folder(c->o->out)); /* a trace may go there */
    TRY(app_study_warn_of_earlier(c));
    if (c->o->trace) TRY(out_can_write(c->o->trace));
    if (c->o->goal) TRY(out_can_write(c->o->goal));
    out_progress_start("sweep", s->report.n_rows);
    return WSC_OK;
}

/* What rank 0 does after it. */
static enum wsc_err finish(const struct app_sweep *c, struct app_study *s)
{
    TRY(app_study_details(c, s));
    out_progress_hide();
    TRY(report_scaling_print(&s->report));
    TRY(report_scaling_write(c->o->out, &s->report));
    app_study_print_files(c);
    return WSC_OK;
}

/* Prepare on rank 0, sweep on all ranks, write on rank 0; errors are agreed on in between. */
static enum wsc_err sweep_and_write(struct app_sweep *c, const char *cluster_text)
{
    struct app_study s = {.report = {.scaling = c->sweep.strong ? "strong" : "weak",
                                     .cluster = c->sweep.cluster,
                                     .cluster_text = cluster_text,
                                     .command = app_command_line(),
                                     .n_rows = c->n_models * c->sweep.n_counts}};
    enum wsc_err rc = app_agree(c->comm, app_leads(c->comm) ? prepare(c, &s) : WSC_OK);
    if (!rc) rc = run_study(c, &s);
    if (!rc) rc = app_agree(c->comm, app_leads(c->comm) ? finish(c, &s) : WSC_OK);
    out_progress_end();
    app_study_fini(&s);
    return rc;
}

/* Names the node counts among which a fixed batch, of @p sequences, does not divide evenly, and
 * those whose part of it has no whole number of micro-batches; one system was looked at with the
 * params. */
static void warn_of_uneven(const struct app_sweep *c, int model, int64_t sequences)
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
                    c->files.name[model], (long long)sequences, uneven.text);
    if (*smaller.text)
        WSC_WARNING("%s: train_input.micro_batch_size: %lld does not divide the sequences of a "
                    "system, of %lld on %s systems: the last of its micro-batches, or the only "
                    "one, has fewer",
                    c->files.name[model], (long long)micro, (long long)sequences, smaller.text);
}

/* The batches that do not grow with the systems. */
static void warn_of_fixed_batches(const struct app_sweep *c, int model)
{
    const struct scaling_values *v = &c->o->values;
    if (c->o->strong) warn_of_uneven(c, model, c->params[model].train_input.batch_size);
    for (int i = 0; v->global_batch && i < v->n; i++)
        warn_of_uneven(c, model, (int64_t)v->value[i]);
}

/* A swept constant on which no steady step depends. Whole trainings may depend on it, but each of
 * them has the machine's own value. */
static void warn_of_idle_values(const char *model, const struct cluster_use *use, const char *key)
{
    struct cluster_use values = *use;
    values.kind = CLUSTER_USE_VALUES;
    const char *why = cluster_idle_why(&values, key);
    if (why && use->kind == CLUSTER_USE_TRAININGS && !cluster_idle_why(use, key))
        WSC_WARNING("%s: --sweep cluster.%s: without effect on steady steps; the whole trainings "
                    "of --tokens have the machine's own value; hint: a run for each value, with "
                    "--set cluster.%s=VALUE",
                    model, key, key);
    else if (why)
        WSC_WARNING("%s: --sweep cluster.%s: without effect on steady steps: %s", model, key, why);
}

/* What the sweep has no use for: keys of the params, constants of the machine, --sweep. */
static enum wsc_err warn_of_idle(struct app_sweep *c, const struct hw_machine *cluster)
{
    const bool trains = c->o->tokens > 0 || c->o->tokens_per_param > 0;
    const char *varied =
        c->o->values.n && !c->o->values.sparsity ? c->o->values.constant.path : NULL;
    struct cluster_use use = {.kind = trains ? CLUSTER_USE_TRAININGS : CLUSTER_USE_SWEEP,
                              .machine = cluster,
                              .num_csx = c->o->num_csx.item[c->o->num_csx.n - 1]};
    for (int m = 0; m < c->n_models; m++) {
        use.params = &c->params[m];
        TRY(app_warn_of_idle(c->files.name[m], &use, &c->params[m]));
        if (trains) app_warn_of_whole_evaluations(c->files.name[m], use.params);
        warn_of_fixed_batches(c, m);
        if (varied) warn_of_idle_values(c->files.name[m], &use, varied);
    }
    return WSC_OK;
}

/* Load models and machine, then sweep. */
static enum wsc_err scale(struct app_call *call, struct app_sweep *c)
{
    struct hw_machine cluster;
    char *text = NULL;
    sort_counts(&c->o->num_csx);
    set_batches(c, app_given(call, "batch_per_csx"));
    TRY(load_models(c));
    enum wsc_err rc = app_load_cluster(c->comm, &c->o->config, &cluster, &text);
    if (!rc) rc = scaling_refuse_passing_faults(&cluster);
    if (!app_given(call, "num_csx") && cluster.systems) cut_counts(&c->o->num_csx, cluster.systems);
    if (!rc) rc = drop_counts_without_part(&c->o->num_csx, &cluster);
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
    struct app_sweep *c;
    TRY_NEW(c, WSC_MEM_APP, 1);
    c->o = call->request;
    c->comm = call->comm;
    wsc_log_quiet(!app_leads(c->comm));
    enum wsc_err rc = app_reported_once(c->comm, scale(call, c));
    for (int i = 0; i < c->n_models; i++)
        zoo_params_fini(&c->params[i]);
    app_model_files_fini(&c->files);
    wsc_free(c);
    return rc;
}
