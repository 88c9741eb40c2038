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

static double to_x(const struct validation_fittable *f, double value)
{
    return f->inverse ? 1 / value : value;
}

static double to_value(const struct validation_fittable *f, double x)
{
    return fmin(fmax(f->inverse ? 1 / x : x, f->low), f->high);
}

/* ---- residuals ------------------------------------------------------------------------------- */

/* A job at a place of the search. */
struct place {
    const struct validation_job *job;
    const double *x;
};

static enum wsc_err one_residual(void *ctx, int i, void *residual)
{
    const struct place *at = ctx;
    const struct validation_job *job = at->job;
    const struct validation_case *item = &job->cases->item[i];
    struct hw_machine cluster = *item->cluster; /* a shallow copy: only numbers differ */
    double predicted;
    if (job->others_neutral) TRY(validation_set_neutral(&cluster));
    for (int k = 0; k < job->n; k++)
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

enum wsc_err validation_job_residuals(void *ctx, const double *x, double *residual)
{
    struct validation_job *job = ctx;
    const int n = job->cases->n;
    const struct validation_seen *seen = find_seen(job, x);
    if (!seen) {
        struct place at = {job, x};
        TRY_GROW(job->seen, WSC_MEM_SCALING, job->room, job->n_seen + 1);
        struct validation_seen *made = &job->seen[job->n_seen];
        const struct scaling_items items = {made->residual, sizeof(double), n, one_residual, &at};
        memcpy(made->x, x, (size_t)job->n * sizeof *x);
        TRY(scaling_share(job->comm, &items));
        job->n_seen++;
        seen = made;
    }
    memcpy(residual, seen->residual, (size_t)n * sizeof *residual);
    return WSC_OK;
}

/* ---- set up ---------------------------------------------------------------------------------- */

static enum wsc_err add_constant(struct validation_job *job, const char *path)
{
    char list[160] = "";
    size_t used = 0;
    int n;
    const struct validation_fittable *f = validation_fittables(&n);
    for (int i = 0; i < n; i++) {
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", f[i].path);
        if (strcmp(path, f[i].path) != 0) continue;
        job->fittable[job->n] = &f[i];
        return hw_constant_find(path, &job->constant[job->n++]);
    }
    return wsc_err_hint(WSC_RAISE(WSC_USAGE, "%.60s: not a constant that may be fitted", path),
                        "one of %s", list);
}

enum wsc_err validation_job_name(struct validation_job *job, const char *const *path, int n_paths)
{
    if (n_paths < 1 || n_paths > VALIDATION_MAX_CALIBRATED)
        return WSC_RAISE(WSC_USAGE, "%d constants to fit, 1 to %d are possible", n_paths,
                         VALIDATION_MAX_CALIBRATED);
    for (int i = 0; i < n_paths; i++)
        TRY(add_constant(job, path[i]));
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
                                     .threshold = THRESHOLD,
                                     .residuals = validation_job_residuals,
                                     .ctx = job};
    if (!cases->n) return WSC_RAISE(WSC_CONFIG, "no published figure of kind calibration");
    if (cases->n > VALIDATION_MAX_POINTS)
        return WSC_RAISE(WSC_CONFIG, "more than %d figures to fit", VALIDATION_MAX_POINTS);
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
                                struct validation_solution *result)
{
    struct validation_problem problem;
    TRY(set_problem(job, &problem));
    problem.left_out = left_out;
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
    *c = (struct validation_fit){.n_constants = job->n,
                                 .point = out->point,
                                 .residual = out->residual,
                                 .n_points = n,
                                 .sigma = r->sigma,
                                 .threshold = THRESHOLD,
                                 .objective = r->objective,
                                 .objective_before = objective_before,
                                 .n_evaluations = r->n_evaluations};
    for (int k = 0; k < job->n; k++) {
        fill_constant(job, k, r, &c->constant[k]);
        for (int j = 0; j < job->n; j++)
            c->correlation[k][j] = r->correlation[k][j];
    }
    return WSC_OK;
}

static enum wsc_err fit(struct validation_job *job, struct validation_calibration *out)
{
    struct validation_problem problem;
    struct validation_solution result;
    double at_start[VALIDATION_MAX_POINTS] = {0}, before = 0;
    TRY(set_problem(job, &problem));
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
    struct validation_job job = {.comm = comparison->comm};
    *out = (struct validation_calibration){.point = NULL};
    TRY(validation_job_name(&job, path, n_paths));
    enum wsc_err rc =
        validation_cases_load(&cases, comparison, 1U << VALIDATION_KIND_CALIBRATION, true);
    job.cases = cases;
    if (!rc) rc = fit(&job, out);
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
