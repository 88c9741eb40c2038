// SPDX-License-Identifier: Apache-2.0
/* How far a fit may be trusted: every fitted row predicted by the fit without it and by the fit
 * without its family (leave-one-out and leave-group-out, Stone 1974), and the errors of fitted and
 * unfitted rows against the number of free constants.  Called by `wsc calibrate --leave-one-out`;
 * residuals that several fits share are computed once (calibrate.c). */
#include "validation_impl.h"

#include <wsc/mem.h>

#include <math.h>
#include <string.h>

/* ---- rows left out --------------------------------------------------------------------------- */

/* The residual of case @p i when the cases that @p out marks are not fitted. */
static WSC_CHECKED enum wsc_err residual_without(struct validation_job *job,
                                                 const struct validation_solution *all,
                                                 const bool *out, int i, double *residual)
{
    struct validation_solution r;
    int n = 0;
    for (int k = 0; k < job->cases->n; k++)
        n += !out[k];
    *residual = NAN;
    if (n < job->n) return WSC_OK; /* too few rows for the constants */
    TRY(validation_job_fit(job, out, all, &r));
    *residual = r.residual[i];
    return WSC_OK;
}

static WSC_CHECKED enum wsc_err leave_out(struct validation_job *job,
                                          const struct validation_solution *all, int i,
                                          struct validation_left_out *row)
{
    const struct validation_case *item = job->cases->item;
    bool out[VALIDATION_MAX_POINTS] = {false};
    out[i] = true;
    TRY(residual_without(job, all, out, i, &row->without_row));
    for (int k = 0; k < job->cases->n; k++)
        out[k] = !strcmp(item[k].ref->family, item[i].ref->family);
    return residual_without(job, all, out, i, &row->without_family);
}

/* Root of the mean square; without the rows that have no value. */
static double rms(const struct validation_left_out *row, int n, size_t offset)
{
    double squares = 0;
    int known = 0;
    for (int i = 0; i < n; i++) {
        double r;
        memcpy(&r, (const char *)&row[i] + offset, sizeof r);
        if (isnan(r)) continue;
        squares += r * r;
        known++;
    }
    return known ? sqrt(squares / known) : NAN;
}

/* Item @p i of @p n of a part of the work is next. */
static void announce(const struct validation_comparison *c, const char *part, int i, int n,
                     const char *what)
{
    if (c->progress) c->progress(c->progress_ctx, part, i, n, what);
}

static WSC_CHECKED enum wsc_err leave_rows_out(struct validation_job *job,
                                               struct validation_protocol *out)
{
    struct validation_solution all;
    const int n = job->cases->n;
    announce(job->comparison, "rows left out", 0, n + 1, "fit of all rows");
    TRY(validation_job_fit(job, NULL, NULL, &all));
    TRY_NEW(out->left_out, WSC_MEM_SCALING, n);
    out->n_left_out = n;
    for (int i = 0; i < n; i++) {
        struct validation_left_out *row = &out->left_out[i];
        row->ref = job->cases->item[i].ref;
        row->fitted = all.residual[i];
        announce(job->comparison, "rows left out", i + 1, n + 1, row->ref->id);
        TRY(leave_out(job, &all, i, row));
    }
    out->rms_fitted = rms(out->left_out, n, offsetof(struct validation_left_out, fitted));
    out->rms_without_row = rms(out->left_out, n, offsetof(struct validation_left_out, without_row));
    out->rms_without_family =
        rms(out->left_out, n, offsetof(struct validation_left_out, without_family));
    return WSC_OK;
}

/* ---- number of free constants ---------------------------------------------------------------- */

/* Mean and largest absolute speed error of the measured rows among @p cases; NAN where none is. */
static void errors_of(const struct validation_cases *cases, const double *residual, double *mean,
                      double *worst)
{
    int n = 0;
    *mean = *worst = 0;
    for (int i = 0; i < cases->n; i++) {
        const struct validation_figure *ref = cases->item[i].ref;
        if (!validation_figure_measured(ref)) continue;
        const double error = fabs(validation_speed_error(ref, ref->value * exp(residual[i])));
        *mean += error;
        *worst = fmax(*worst, error);
        n++;
    }
    if (n)
        *mean /= n;
    else
        *mean = *worst = NAN;
}

/* The first constants of the table, as many as @p out says, fitted on @p fitted, from the solution
 * @p r of one fewer, which is replaced. */
static WSC_CHECKED enum wsc_err free_some(const struct validation_cases *fitted,
                                          const struct validation_cases *others, struct comm *comm,
                                          struct validation_solution *r,
                                          struct validation_freedom *out)
{
    int n;
    const struct validation_fittable *f = validation_fittables(&n);
    const char *path[VALIDATION_MAX_CALIBRATED] = {NULL};
    struct validation_job job = {.comm = comm, .others_neutral = true};
    const struct validation_solution from = *r;
    double residual[VALIDATION_MAX_POINTS] = {0}, worst;
    enum wsc_err rc = WSC_OK;
    for (int k = 0; k < out->n_free; k++)
        path[k] = f[k].path;
    if (out->n_free) TRY(validation_job_name(&job, fitted, path, out->n_free));
    TRY_GOTO(validation_job_set_cases(&job, fitted), cleanup);
    TRY_GOTO(out->n_free ? validation_job_fit(&job, NULL, &from, r)
                         : validation_job_residuals(&job, r->x, r->residual),
             cleanup);
    errors_of(fitted, r->residual, &out->fitted, &worst);
    for (int k = 0; k < out->n_free; k++)
        validation_job_write(&job, k, r->x[k], out->value[k], sizeof out->value[k]);
    TRY_GOTO(validation_job_set_cases(&job, others), cleanup);
    TRY_GOTO(validation_job_residuals(&job, r->x, residual), cleanup);
    errors_of(others, residual, &out->never_fitted, &out->worst_never_fitted);
cleanup:
    validation_job_fini(&job);
    return rc;
}

static WSC_CHECKED enum wsc_err free_constants(const struct validation_cases *fitted,
                                               const struct validation_cases *others,
                                               const struct validation_comparison *comparison,
                                               struct validation_protocol *out)
{
    int n;
    const struct validation_fittable *f = validation_fittables(&n);
    struct validation_solution r = {.n_evaluations = 0};
    if (n > VALIDATION_MAX_CALIBRATED) n = VALIDATION_MAX_CALIBRATED;
    for (int k = 0; k < n; k++)
        r.x[k] = f[k].inverse ? 1 / f[k].neutral : f[k].neutral;
    for (int k = 0; k <= n && k <= fitted->n; k++) {
        struct validation_solution next = r;
        out->freedom[k].n_free = k;
        announce(comparison, "constants freed", k, n + 1, k ? f[k - 1].path : NULL);
        TRY(free_some(fitted, others, comparison->comm, &next, &out->freedom[k]));
        for (int i = 0; i < k; i++)
            r.x[i] = next.x[i];
        out->n_freedoms = k + 1;
    }
    return WSC_OK;
}

/* ---- both ------------------------------------------------------------------------------------ */

enum wsc_err validation_leave_one_out(const struct validation_comparison *comparison,
                                      const char *const *path, int n_paths,
                                      struct validation_protocol *out)
{
    struct validation_cases *fitted = NULL, *others = NULL;
    struct validation_job job = {.comm = comparison->comm, .comparison = comparison};
    enum wsc_err rc;
    *out = (struct validation_protocol){.n_left_out = 0};
    TRY_GOTO(validation_cases_load(&fitted, comparison, 1U << VALIDATION_KIND_CALIBRATION, true),
             cleanup);
    TRY_GOTO(validation_cases_load(&others, comparison, 1U << VALIDATION_KIND_VALIDATION, true),
             cleanup);
    TRY_GOTO(validation_job_name(&job, fitted, path, n_paths), cleanup);
    TRY_GOTO(validation_job_set_cases(&job, fitted), cleanup);
    TRY_GOTO(leave_rows_out(&job, out), cleanup);
    TRY_GOTO(free_constants(fitted, others, comparison, out), cleanup);
cleanup:
    validation_job_fini(&job);
    validation_cases_free(&fitted);
    validation_cases_free(&others);
    return rc;
}

void validation_protocol_fini(struct validation_protocol *p)
{
    wsc_free(p->left_out);
    *p = (struct validation_protocol){.n_left_out = 0};
}
