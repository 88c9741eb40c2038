// SPDX-License-Identifier: Apache-2.0
/* Fits calibrated constants to the published rows of kind calibration: least squares of
 * ln(predicted / published) with Huber's function, every evaluation a simulation of all rows. */
#include "validation_impl.h"

#include <wsc/mem.h>
#include <wsc/units.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Residuals beyond count linearly: a tenth, the lower end of what a vendor's compiler states for
 * its own estimates. */
static const double THRESHOLD = 0.1;
/* First and last steps of a search that begins at neutral constants, and of one that begins at a
 * solution for nearly the same rows, of which no more than the errors is wanted. */
static const double AFAR[2] = {1, 1.0 / 512}, NEARBY[2] = {0.5, 1.0 / 64};

static double to_x(const struct validation_fittable *f, double value)
{
    return f->inverse ? 1 / value : value;
}

static double to_value(const struct validation_fittable *f, double x)
{
    return fmin(fmax(f->inverse ? 1 / x : x, f->low), f->high);
}

/* ---- residuals ------------------------------------------------------------------------------- */

/* A job at a place of the search, and the cases to be computed there. */
struct place {
    const struct validation_job *job;
    const double *x;
    int which[VALIDATION_MAX_POINTS], n;
};

static enum wsc_err one_residual(void *ctx, int i, void *residual)
{
    const struct place *at = ctx;
    const struct validation_job *job = at->job;
    const int which = at->which[i];
    const struct validation_case *item = &job->cases->item[which];
    struct hw_machine cluster = *item->cluster; /* a shallow copy: only numbers differ */
    double predicted;
    if (job->others_neutral) TRY(validation_set_neutral(&cluster));
    for (int k = 0; k < job->n; k++)
        if (job->applies[k][which])
            TRY(hw_constant_set(&job->constant[k], &cluster, to_value(job->fittable[k], at->x[k])));
    TRY(validation_predict(item, &cluster, &predicted, NULL));
    const double r = log(predicted / item->ref->value);
    memcpy(residual, &r, sizeof r);
    return WSC_OK;
}

static const struct validation_seen *find_seen(const struct validation_job *job, const double *x)
{
    for (int i = 0; i < job->n_seen; i++)
        if (!memcmp(job->seen[i].x, x, (size_t)job->n * sizeof *x)) return &job->seen[i];
    return NULL;
}

/* Where the constants of case @p i were the same as at @p x: those of other machines are nothing to
 * it. */
static const struct validation_seen *find_case(const struct validation_job *job, const double *x,
                                               int i)
{
    for (int s = job->n_seen - 1; s >= 0; s--) {
        bool same = true;
        for (int k = 0; k < job->n; k++)
            same = same && (!job->applies[k][i] || job->seen[s].x[k] == x[k]);
        if (same) return &job->seen[s];
    }
    return NULL;
}

/* The residuals at @p x, as far as they are not known from before. */
static WSC_CHECKED enum wsc_err compute(struct validation_job *job, const double *x,
                                        struct validation_seen *out)
{
    struct place at = {.job = job, .x = x};
    double fresh[VALIDATION_MAX_POINTS] = {0};
    memcpy(out->x, x, (size_t)job->n * sizeof *x);
    for (int i = 0; i < job->cases->n; i++) {
        const struct validation_seen *before = find_case(job, x, i);
        if (before)
            out->residual[i] = before->residual[i];
        else
            at.which[at.n++] = i;
    }
    const struct scaling_items items = {
        .item = fresh, .bytes = sizeof(double), .n = at.n, .compute = one_residual, .ctx = &at};
    TRY(scaling_share(job->comm, &items));
    for (int i = 0; i < at.n; i++)
        out->residual[at.which[i]] = fresh[i];
    return WSC_OK;
}

enum wsc_err validation_job_residuals(void *ctx, const double *x, double *residual)
{
    struct validation_job *job = ctx;
    const struct validation_seen *seen = find_seen(job, x);
    if (!seen) {
        TRY_GROW(job->seen, WSC_MEM_SCALING, job->room, job->n_seen + 1);
        TRY(compute(job, x, &job->seen[job->n_seen]));
        seen = &job->seen[job->n_seen++];
    }
    memcpy(residual, seen->residual, (size_t)job->cases->n * sizeof *residual);
    return WSC_OK;
}

/* ---- set up ---------------------------------------------------------------------------------- */

static enum wsc_err add_constant(struct validation_job *job, const char *path)
{
    char list[256] = "";
    size_t used = 0;
    int n;
    const struct validation_fittable *f = validation_fittables(&n);
    for (int i = 0; i < n; i++) {
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", f[i].path);
        if (strcmp(path, f[i].path) != 0) continue;
        job->fittable[job->n] = &f[i];
        return hw_constant_find(path, &job->constant[job->n++]);
    }
    return wsc_err_hint(
        WSC_RAISE(WSC_USAGE, "--fit: \"%.60s\": not a constant that may be fitted", path),
        "one of %s", list);
}

/* True when a machine of @p cases has the constant @p path with kind calibrated. */
static bool any_calibrates(const struct validation_cases *cases, const char *path)
{
    for (int i = 0; i < cases->n; i++)
        if (validation_calibrates(cases->item[i].cluster, path)) return true;
    return false;
}

enum wsc_err validation_job_name(struct validation_job *job, const struct validation_cases *cases,
                                 const char *const *path, int n_paths)
{
    int n_known;
    const struct validation_fittable *known = validation_fittables(&n_known);
    if (n_paths > VALIDATION_MAX_CALIBRATED)
        return WSC_RAISE(WSC_USAGE, "%d constants to fit, at most %d are possible", n_paths,
                         VALIDATION_MAX_CALIBRATED);
    for (int i = 0; i < n_paths; i++)
        TRY(add_constant(job, path[i]));
    for (int i = 0; i < n_known && !n_paths; i++)
        if (any_calibrates(cases, known[i].path)) TRY(add_constant(job, known[i].path));
    if (!cases->n)
        return wsc_err_hint(WSC_RAISE(WSC_CONFIG, "no published figure of kind calibration is "
                                                  "there to fit to"),
                            "--reference benchmarks/reference");
    if (!job->n)
        return wsc_err_hint(WSC_RAISE(WSC_USAGE, "no machine of the fitted rows has a constant of "
                                                 "kind calibrated"),
                            "--fit %s", known[0].path);
    return WSC_OK;
}

enum wsc_err validation_job_set_cases(struct validation_job *job,
                                      const struct validation_cases *cases)
{
    if (cases->n > VALIDATION_MAX_POINTS)
        return WSC_RAISE(WSC_CONFIG, "more than %d figures", VALIDATION_MAX_POINTS);
    job->cases = cases;
    job->n_seen = 0;
    for (int k = 0; k < job->n; k++) {
        const char *path = job->fittable[k]->path;
        const bool any = any_calibrates(cases, path);
        for (int i = 0; i < cases->n; i++)
            job->applies[k][i] = !any || validation_calibrates(cases->item[i].cluster, path);
    }
    return WSC_OK;
}

void validation_job_fini(struct validation_job *job)
{
    wsc_free(job->seen);
    *job = (struct validation_job){0};
}

static enum wsc_err set_problem(struct validation_job *job, struct validation_problem *p)
{
    const struct validation_cases *cases = job->cases;
    *p = (struct validation_problem){.n_parameters = job->n,
                                     .n_points = cases->n,
                                     .first_scale = AFAR[0],
                                     .last_scale = AFAR[1],
                                     .threshold = THRESHOLD,
                                     .residuals = validation_job_residuals,
                                     .ctx = job};
    if (!cases->n) return WSC_RAISE(WSC_CONFIG, "no published figure of kind calibration");
    for (int k = 0; k < job->n; k++) {
        const struct validation_fittable *f = job->fittable[k];
        const double a = to_x(f, f->low), b = to_x(f, f->high);
        p->low[k] = fmin(a, b);
        p->high[k] = fmax(a, b);
        p->start[k] = to_x(f, f->neutral);
        p->step[k] = f->step;
    }
    return WSC_OK;
}

enum wsc_err validation_job_fit(struct validation_job *job, const bool *left_out,
                                const struct validation_solution *from,
                                struct validation_solution *result)
{
    struct validation_problem problem;
    TRY(set_problem(job, &problem));
    problem.left_out = left_out;
    if (from) {
        memcpy(problem.start, from->x, sizeof problem.start);
        problem.first_scale = NEARBY[0];
        problem.last_scale = NEARBY[1];
        problem.no_errors = true;
    }
    return validation_least_squares(&problem, result);
}

/* ---- results --------------------------------------------------------------------------------- */

/* To three digits, more than any fit knows. */
static void write_constant(const struct hw_constant *constant, double value, char *text,
                           size_t size)
{
    char digits[32];
    (void)snprintf(digits, sizeof digits, "%.2e", value);
    if (wsc_units_double(digits, &value)) return;
    hw_constant_write(constant, value, text, size);
}

/* Standard error of the value: that of x, over the square of x where x is its inverse. */
static double value_error(const struct validation_fittable *f, double x, double error)
{
    return f->inverse ? error / (x * x) : error;
}

void validation_job_write(const struct validation_job *job, int k, double x, char *text,
                          size_t size)
{
    write_constant(&job->constant[k], to_value(job->fittable[k], x), text, size);
}

/* The machine of the fit that case @p item is about. */
static int machine_of(const struct validation_comparison *c, const struct validation_fit *fit,
                      const struct validation_case *item)
{
    const bool stands_in = item->cluster == c->cluster;
    for (int m = 0; m < fit->n_machines; m++) {
        const struct validation_fitted_machine *known = &fit->machine[m];
        if (stands_in ? known->stands_in : !strcmp(known->name, item->ref->cluster)) return m;
    }
    return fit->n_machines;
}

static enum wsc_err name_machines(const struct validation_comparison *c,
                                  const struct validation_cases *cases, struct validation_fit *fit)
{
    for (int i = 0; i < cases->n; i++) {
        const struct validation_case *item = &cases->item[i];
        const int m = machine_of(c, fit, item);
        if (m < fit->n_machines) continue;
        if (m == VALIDATION_MAX_FITTED_MACHINES)
            return WSC_RAISE(WSC_CONFIG, "more than %d machines to fit", m);
        fit->machine[m].stands_in = item->cluster == c->cluster;
        (void)snprintf(fit->machine[m].name, sizeof fit->machine[m].name, "%s", item->ref->cluster);
        fit->n_machines++;
    }
    return WSC_OK;
}

static void fill_constant(const struct validation_job *job, int k,
                          const struct validation_solution *r, struct validation_fitted *out)
{
    const struct validation_fittable *f = job->fittable[k];
    const double error = value_error(f, r->x[k], r->standard_error[k]);
    *out = (struct validation_fitted){.error = ""};
    (void)snprintf(out->path, sizeof out->path, "%s", f->path);
    const struct hw_constant *c = &job->constant[k];
    const double value = to_value(f, r->x[k]);
    write_constant(c, value, out->value, sizeof out->value);
    if (value == f->low || value == f->high) {
        char low[48], high[48];
        hw_constant_write(c, f->low, low, sizeof low);
        hw_constant_write(c, f->high, high, sizeof high);
        (void)snprintf(out->end_of, sizeof out->end_of, "%s..%s", low, high);
        return;
    }
    /* An inverse that may be zero is a value that may be anything. */
    const bool determined = isfinite(r->standard_error[k]) && (!f->inverse || error < value);
    if (!determined) return;
    write_constant(c, error, out->error, sizeof out->error);
    write_constant(c, fmax(value - 2 * error, f->low), out->low, sizeof out->low);
    write_constant(c, fmin(value + 2 * error, f->high), out->high, sizeof out->high);
}

static enum wsc_err fill_report(const struct validation_job *job,
                                const struct validation_solution *r, double objective_before,
                                struct validation_calibration *out)
{
    struct validation_fit *c = &out->report;
    const int n = job->cases->n;
    TRY_NEW(out->point, WSC_MEM_SCALING, n);
    TRY_NEW(out->residual, WSC_MEM_SCALING, n);
    for (int i = 0; i < n; i++) {
        out->point[i] = job->cases->item[i].ref;
        out->residual[i] = r->residual[i];
    }
    c->n_constants = job->n;
    c->point = out->point;
    c->residual = out->residual;
    c->n_points = n;
    c->sigma = r->sigma;
    c->threshold = THRESHOLD;
    c->objective = r->objective;
    c->objective_before = objective_before;
    c->n_evaluations = r->n_evaluations;
    for (int k = 0; k < job->n; k++) {
        fill_constant(job, k, r, &c->constant[k]);
        for (int i = 0; i < n; i++)
            if (job->applies[k][i])
                c->constant[k].machines |= 1U
                                           << machine_of(job->comparison, c, &job->cases->item[i]);
        for (int j = 0; j < job->n; j++)
            c->correlation[k][j] = r->correlation[k][j];
    }
    return WSC_OK;
}

/* Progress of the one search that begins at neutral constants. */
static void show_search(void *ctx, int done, int total)
{
    const struct validation_comparison *c = ((const struct validation_job *)ctx)->comparison;
    if (c->progress) c->progress(c->progress_ctx, "fit", done, total, "halvings of the step");
}

static enum wsc_err fit(struct validation_job *job, struct validation_calibration *out)
{
    struct validation_problem problem;
    struct validation_solution result;
    double at_start[VALIDATION_MAX_POINTS] = {0}, before = 0;
    TRY(set_problem(job, &problem));
    problem.progress = show_search;
    TRY(validation_job_residuals(job, problem.start, at_start));
    for (int i = 0; i < problem.n_points; i++)
        before += validation_huber(at_start[i], THRESHOLD);
    TRY(validation_least_squares(&problem, &result));
    return fill_report(job, &result, before, out);
}

enum wsc_err validation_calibrate(const struct validation_comparison *comparison,
                                  const char *const *path, int n_paths,
                                  struct validation_calibration *out)
{
    struct validation_cases *cases = NULL;
    struct validation_job job = {.comm = comparison->comm, .comparison = comparison};
    enum wsc_err rc = WSC_OK;
    *out = (struct validation_calibration){.point = NULL};
    TRY_GOTO(validation_cases_load(&cases, comparison, 1U << VALIDATION_KIND_CALIBRATION, true),
             cleanup);
    TRY_GOTO(validation_job_name(&job, cases, path, n_paths), cleanup);
    TRY_GOTO(validation_job_set_cases(&job, cases), cleanup);
    TRY_GOTO(name_machines(comparison, cases, &out->report), cleanup);
    TRY_GOTO(fit(&job, out), cleanup);
cleanup:
    validation_job_fini(&job);
    validation_cases_free(&cases);
    return rc;
}

void validation_calibration_fini(struct validation_calibration *c)
{
    wsc_free(c->point);
    wsc_free(c->residual);
    *c = (struct validation_calibration){.point = NULL};
}
