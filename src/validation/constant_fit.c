// SPDX-License-Identifier: Apache-2.0
/* Robust least squares in few dimensions: steps along the axes that shrink, and where none of them
 * is better the step of Gauss and Newton from their slopes; deterministic and unharmed by jumps
 * where the planner changes its mind.  Standard errors and correlations come from the normal matrix
 * at the solution.  Called by calibrate.c. */
#include "validation_impl.h"

#include <wsc/check.h>
#include <wsc/matrix.h>

#include <math.h>
#include <string.h>

enum { MAX_EVALUATIONS = 400 };
static const double SINGULAR = 1e-12; /* pivot of a normal matrix, in first steps */

double validation_huber(double r, double threshold)
{
    const double a = fabs(r);
    return a <= threshold ? r * r / 2 : threshold * (a - threshold / 2);
}

/* ---- search ---------------------------------------------------------------------------------- */

struct search {
    const struct validation_problem *p;
    struct validation_solution *best;
};

static bool counts(const struct validation_problem *p, int i)
{
    return !p->left_out || !p->left_out[i];
}

static double clamp(double x, double low, double high)
{
    return fmin(fmax(x, low), high);
}

/** Evaluate at @p x; keep it when it is better. */
static WSC_CHECKED enum wsc_err try_point(struct search *s, const double *x, bool *better)
{
    const struct validation_problem *p = s->p;
    double residual[VALIDATION_MAX_POINTS] = {0}, sum = 0;
    TRY(p->residuals(p->ctx, x, residual));
    s->best->n_evaluations++;
    for (int i = 0; i < p->n_points; i++)
        sum += counts(p, i) ? validation_huber(residual[i], p->threshold) : 0;
    *better = sum < s->best->objective;
    if (!*better) return WSC_OK;
    s->best->objective = sum;
    memcpy(s->best->x, x, (size_t)p->n_parameters * sizeof *x);
    memcpy(s->best->residual, residual, (size_t)p->n_points * sizeof *residual);
    return WSC_OK;
}

/* ---- slopes --------------------------------------------------------------------------------- */

/** d residual / d x[axis] over @p width first steps on either side, inwards at a bound. */
static WSC_CHECKED enum wsc_err slope(const struct validation_problem *p,
                                      struct validation_solution *r, int axis, double width,
                                      double *out)
{
    double x[VALIDATION_MAX_PARAMETERS], side[2][VALIDATION_MAX_POINTS] = {{0}}, at[2];
    for (int k = 0; k < 2; k++) {
        memcpy(x, r->x, sizeof x);
        at[k] =
            clamp(r->x[axis] + (k ? width : -width) * p->step[axis], p->low[axis], p->high[axis]);
        x[axis] = at[k];
        TRY(p->residuals(p->ctx, x, side[k]));
        r->n_evaluations++;
    }
    for (int i = 0; i < p->n_points; i++)
        out[i] = (side[1][i] - side[0][i]) / (at[1] - at[0]);
    return WSC_OK;
}

/** J'WJ, each parameter measured in its first step so that sizes compare; W: 1 for points that
 * count, or @p weight. */
static void normal_matrix(const struct validation_problem *p, const double *weight,
                          const double (*jacobian)[VALIDATION_MAX_POINTS],
                          double a[VALIDATION_MAX_PARAMETERS][VALIDATION_MAX_PARAMETERS])
{
    for (int i = 0; i < p->n_parameters; i++)
        for (int j = 0; j < p->n_parameters; j++) {
            a[i][j] = 0;
            for (int k = 0; k < p->n_points; k++)
                if (counts(p, k))
                    a[i][j] += (weight ? weight[k] : 1) * jacobian[i][k] * p->step[i] *
                               jacobian[j][k] * p->step[j];
        }
}

/* ---- steps of the search -------------------------------------------------------------------- */

/** One step up and one down along each axis, each from the best point so far. */
static WSC_CHECKED enum wsc_err try_axes(struct search *s, double scale, bool *moved)
{
    const struct validation_problem *p = s->p;
    *moved = false;
    for (int k = 0; k < 2 * p->n_parameters; k++) {
        const int axis = k / 2;
        double x[VALIDATION_MAX_PARAMETERS] = {0};
        bool better = false;
        memcpy(x, s->best->x, (size_t)p->n_parameters * sizeof *x);
        x[axis] =
            clamp(x[axis] + (k % 2 ? -scale : scale) * p->step[axis], p->low[axis], p->high[axis]);
        if (x[axis] == s->best->x[axis]) continue;
        TRY(try_point(s, x, &better));
        *moved = *moved || better;
    }
    return WSC_OK;
}

/** The step of Gauss and Newton from the best point, in first steps: slopes over @p scale steps,
 * Huber's weights, a little damping. False when it is not determined. */
static WSC_CHECKED enum wsc_err newton_step(const struct search *s, double scale, double *step,
                                            bool *known)
{
    const struct validation_problem *p = s->p;
    const double damping = 1.001;
    double jacobian[VALIDATION_MAX_PARAMETERS][VALIDATION_MAX_POINTS] = {{0}};
    double a[VALIDATION_MAX_PARAMETERS][VALIDATION_MAX_PARAMETERS] = {{0}};
    double weight[VALIDATION_MAX_POINTS] = {0}, gradient[VALIDATION_MAX_PARAMETERS] = {0};
    for (int i = 0; i < p->n_parameters; i++)
        TRY(slope(p, s->best, i, scale, jacobian[i]));
    for (int k = 0; k < p->n_points; k++) {
        const double r = fabs(s->best->residual[k]);
        weight[k] = counts(p, k) ? (r > p->threshold ? p->threshold / r : 1) : 0;
        for (int i = 0; i < p->n_parameters; i++)
            gradient[i] += weight[k] * s->best->residual[k] * jacobian[i][k] * p->step[i];
    }
    normal_matrix(p, weight, (const double(*)[VALIDATION_MAX_POINTS])jacobian, a);
    for (int i = 0; i < p->n_parameters; i++)
        a[i][i] *= damping;
    *known = wsc_matrix_invert(&a[0][0], p->n_parameters, VALIDATION_MAX_PARAMETERS, SINGULAR);
    for (int i = 0; i < p->n_parameters; i++) {
        step[i] = 0;
        for (int j = 0; j < p->n_parameters && *known; j++)
            step[i] -= a[i][j] * gradient[j];
    }
    return WSC_OK;
}

/** Try the step of Gauss and Newton, whole and shorter: along a valley that runs across the axes,
 *  where constants are correlated. */
static WSC_CHECKED enum wsc_err try_valley(struct search *s, double scale, bool *moved)
{
    const struct validation_problem *p = s->p;
    const double shortest = 0.1;
    double step[VALIDATION_MAX_PARAMETERS] = {0}, from[VALIDATION_MAX_PARAMETERS] = {0};
    bool known = false;
    *moved = false;
    if (p->n_parameters < 2) return WSC_OK;
    TRY(newton_step(s, scale, step, &known));
    memcpy(from, s->best->x, sizeof from);
    for (double part = 1; known && part > shortest && !*moved; part /= 2) {
        double x[VALIDATION_MAX_PARAMETERS] = {0};
        for (int k = 0; k < p->n_parameters; k++)
            x[k] = clamp(from[k] + part * step[k] * p->step[k], p->low[k], p->high[k]);
        TRY(try_point(s, x, moved));
    }
    return WSC_OK;
}

/** The search ends when its step has been halved from the first to the last scale. */
static void show_progress(const struct validation_problem *p, double scale)
{
    if (!p->progress) return;
    p->progress(p->ctx, (int)lround(log2(p->first_scale / scale)),
                (int)lround(log2(p->first_scale / p->last_scale)) + 1);
}

static WSC_CHECKED enum wsc_err search(struct search *s)
{
    bool better = false, moved = false;
    for (int k = 0; k < s->p->n_parameters; k++)
        s->best->x[k] = clamp(s->p->start[k], s->p->low[k], s->p->high[k]);
    double start[VALIDATION_MAX_PARAMETERS] = {0};
    memcpy(start, s->best->x, sizeof start);
    TRY(try_point(s, start, &better));
    for (double scale = s->p->first_scale;
         scale >= s->p->last_scale && s->best->n_evaluations < MAX_EVALUATIONS;) {
        show_progress(s->p, scale);
        TRY(try_axes(s, scale, &moved));
        if (!moved) TRY(try_valley(s, scale, &moved));
        if (!moved) scale /= 2;
    }
    return WSC_OK;
}

/* ---- uncertainty ---------------------------------------------------------------------------- */

/** Standard errors take slopes over a quarter of the first step. */
static const double QUARTER = 0.25;
/** A parameter whose first step moves all residuals together by less than this is not determined by
 * the points. */
static const double DETERMINES = 1e-3;

/** The correlations of a covariance, up to a factor; false when errors are correlated so closely
 *  that the points do not tell the parameters apart. */
static bool correlate(int n, double a[VALIDATION_MAX_PARAMETERS][VALIDATION_MAX_PARAMETERS],
                      double r[VALIDATION_MAX_PARAMETERS][VALIDATION_MAX_PARAMETERS])
{
    const double apart = 1e-9; /* part of a variance that the other parameters do not explain */
    double factor[VALIDATION_MAX_PARAMETERS][VALIDATION_MAX_PARAMETERS] = {{0}};
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            r[i][j] = i == j ? 1 : a[i][j] / sqrt(fabs(a[i][i] * a[j][j]));
    return wsc_matrix_cholesky(&r[0][0], n, VALIDATION_MAX_PARAMETERS, apart, &factor[0][0]) == n;
}

static WSC_CHECKED enum wsc_err set_errors(const struct validation_problem *p,
                                           struct validation_solution *r)
{
    double jacobian[VALIDATION_MAX_PARAMETERS][VALIDATION_MAX_POINTS] = {{0}};
    double a[VALIDATION_MAX_PARAMETERS][VALIDATION_MAX_PARAMETERS] = {{0}}, squares = 0;
    int free = -p->n_parameters;
    for (int i = 0; i < p->n_points; i++) {
        squares += counts(p, i) ? r->residual[i] * r->residual[i] : 0;
        free += counts(p, i);
    }
    r->sigma = sqrt(squares / (free > 0 ? free : 1));
    for (int k = 0; k < p->n_parameters; k++)
        TRY(slope(p, r, k, QUARTER, jacobian[k]));
    normal_matrix(p, NULL, (const double(*)[VALIDATION_MAX_POINTS])jacobian, a);
    bool determined[VALIDATION_MAX_PARAMETERS] = {false};
    for (int i = 0; i < p->n_parameters; i++) {
        determined[i] = sqrt(a[i][i]) > DETERMINES;
        for (int j = 0; j < p->n_parameters && !determined[i]; j++)
            a[i][j] = a[j][i] = i == j;
    }
    const bool known =
        wsc_matrix_invert(&a[0][0], p->n_parameters, VALIDATION_MAX_PARAMETERS, SINGULAR) &&
        correlate(p->n_parameters, a, r->correlation);
    for (int i = 0; i < p->n_parameters; i++) {
        r->standard_error[i] =
            known && determined[i] ? r->sigma * sqrt(fabs(a[i][i])) * p->step[i] : INFINITY;
        for (int j = 0; j < p->n_parameters && !known; j++)
            r->correlation[i][j] = i == j;
    }
    return WSC_OK;
}

enum wsc_err validation_least_squares(const struct validation_problem *problem,
                                      struct validation_solution *result)
{
    WSC_CHECK(problem->n_parameters >= 1 && problem->n_parameters <= VALIDATION_MAX_PARAMETERS &&
                  problem->n_points >= 1 && problem->n_points <= VALIDATION_MAX_POINTS,
              "%d parameters, %d points", problem->n_parameters, problem->n_points);
    *result = (struct validation_solution){.objective = INFINITY};
    struct search s = {problem, result};
    TRY(search(&s));
    if (!isfinite(result->objective))
        return WSC_RAISE(WSC_NUMERIC, "the fit starts where the residuals are not finite");
    return problem->no_errors ? WSC_OK : set_errors(problem, result);
}
