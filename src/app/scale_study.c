// SPDX-License-Identifier: Apache-2.0
/* The studies of a sweep, each a sweep of `scaling` or a step of `timeline` with its own machine or
 * batch. What does not fit leaves the study, with a warning. */
#include "scale_study.h"

#include <wsc/job.h>
#include <wsc/log.h>
#include <wsc/mem.h>
#include <wsc/out.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

void app_study_fini(struct app_study *s)
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
static enum wsc_err find_sensitivities(struct app_sweep *c, struct app_study *s)
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
static enum wsc_err find_trainings(const struct app_sweep *c, struct app_study *s)
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
static enum wsc_err take_apart(const struct app_sweep *c, struct app_study *s)
{
    const int most = c->sweep.n_counts - 1; /* counts ascend */
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
static void leave_out(struct app_sweep *c, const char *what, const char *why)
{
    WSC_WARNING("%s is left out: %s", what, why);
    if (!c->n_left_out++) (void)snprintf(c->left_out, sizeof c->left_out, "%s: %s", what, why);
}

/* A value of --sweep of which a point does not fit; NULL: all do. */
static const char *why_unfit(const struct app_sweep *c, const struct app_study *s, int i)
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
static enum wsc_err drop_unfit_values(struct app_sweep *c, struct app_study *s)
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

/* A schedule has no place in a sweep over constant fractions. */
static void warn_of_schedules(const struct scaling_sweep *sweep)
{
    for (int m = 0; m < sweep->n_models; m++) {
        const struct zoo_sparsities *list = &sweep->model[m].params->sparsity;
        for (int i = 0; i < list->n; i++) {
            const struct zoo_sparsity *e = &list->entry[i];
            const char *reason = zoo_sparsity_keeps_dense(e) ? NULL : scaling_static_reason(e);
            if (!reason) continue;
            WSC_WARNING("--sweep sparsity: %s: entry %d of sparsity (%s): %s: the sweep takes "
                        "static masks instead",
                        sweep->model[m].name, i + 1, zoo_sparsity_algorithm_name(e->algorithm),
                        reason);
        }
    }
}

/* Both ways of the weight gradient, since nothing public decides between them. */
static enum wsc_err vary_sparsity(const struct scaling_sweep *base, const struct app_sweep *c,
                                  struct app_study *s)
{
    struct report_scaling *r = &s->report;
    struct hw_machine machine = *base->cluster; /* a shallow copy: only a choice differs */
    struct scaling_sweep sweep = *base;
    sweep.cluster = &machine;
    warn_of_schedules(base);
    machine.wafer.sparse_gradient = HW_GRADIENT_SAMPLED;
    TRY(scaling_vary(&sweep, &c->o->values, &s->varied, &r->n_varied));
    machine.wafer.sparse_gradient = HW_GRADIENT_DENSE;
    TRY(scaling_vary(&sweep, &c->o->values, &s->varied_all, &r->n_varied));
    r->varied_all = s->varied_all;
    return WSC_OK;
}

/* The sweep at each value of --sweep. */
static enum wsc_err vary(struct app_sweep *c, struct app_study *s)
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

enum wsc_err app_study_vary(struct app_sweep *c, struct app_study *s)
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
    if (c->o->values.n) TRY(vary(c, s));
    return c->o->sensitivity ? find_sensitivities(c, s) : WSC_OK;
}

/* A point of the curves that does not fit, or whose number of systems another model does not. */
static void leave_out_point(void *ctx, const struct scaling_row *row, const char *why)
{
    char what[SCALING_NAME_BYTES + 64];
    (void)snprintf(what, sizeof what, "%s on %lld systems", row->model, (long long)row->num_csx);
    leave_out(ctx, what, why);
}

enum wsc_err app_study_curves(struct app_sweep *c, struct app_study *s)
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

enum wsc_err app_study_details(const struct app_sweep *c, struct app_study *s)
{
    const struct app_scale *o = c->o;
    const bool step = o->breakdown || o->trace || o->goal; /* a trace is of the same step */
    if (o->tokens > 0 || o->tokens_per_param > 0) TRY(find_trainings(c, s));
    out_progress_at("write", 0, 0, step ? "record of a step" : NULL);
    return step ? take_apart(c, s) : WSC_OK;
}
