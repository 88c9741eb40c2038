// SPDX-License-Identifier: Apache-2.0
/* Robust least squares in few dimensions: the pattern search of Hooke and Jeeves (1961), steps
 * along the axes that shrink and moves that repeat what they gained, deterministic and unharmed by
 * jumps where the planner changes its mind; standard errors and correlations from the normal matrix
 * at the solution (finite differences).  Called by calibrate.c. */
#include "validation_impl.h"

#include <wsc/check.h>

#include <math.h>
#include <string.h>

enum { MAX_EVALUATIONS = 400 };

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

/** Repeat what was gained since @p from as long as that is better: along a valley that runs across
 *  the axes, where two constants are correlated. */
static WSC_CHECKED enum wsc_err follow(struct search *s, const double *from)
{
    const struct validation_problem *p = s->p;
    double x[VALIDATION_MAX_PARAMETERS], step[VALIDATION_MAX_PARAMETERS];
    int n_moved = 0;
    for (int k = 0; k < p->n_parameters; k++) {
        step[k] = s->best->x[k] - from[k];
        n_moved += step[k] != 0;
    }
    for (bool better = n_moved > 1; better;) {
        for (int k = 0; k < p->n_parameters; k++)
            x[k] = clamp(s->best->x[k] + step[k], p->low[k], p->high[k]);
        TRY(try_point(s, x, &better));
    }
    return WSC_OK;
}

static WSC_CHECKED enum wsc_err search(struct search *s)
{
    bool better = false, moved = false;
    for (int k = 0; k < s->p->n_parameters; k++)
        s->best->x[k] = clamp(s->p->start[k], s->p->low[k], s->p->high[k]);
    double from[VALIDATION_MAX_PARAMETERS] = {0};
    memcpy(from, s->best->x, sizeof from);
    TRY(try_point(s, from, &better));
    for (double scale = s->p->first_scale;
         scale >= s->p->last_scale && s->best->n_evaluations < MAX_EVALUATIONS;) {
        memcpy(from, s->best->x, sizeof from);
        TRY(try_axes(s, scale, &moved));
        if (moved)
            TRY(follow(s, from));
        else
            scale /= 2;
    }
    return WSC_OK;
}

/* ---- uncertainty --------------------------------------------------------------------------------
 */

/** d residual / d x[axis] over a quarter of the first step, inwards at a bound. */
static WSC_CHECKED enum wsc_err slope(const struct validation_problem *p,
                                      struct validation_solution *r, int axis, double *out)
{
    double x[VALIDATION_MAX_PARAMETERS], side[2][VALIDATION_MAX_POINTS] = {{0}}, at[2];
    for (int k = 0; k < 2; k++) {
        memcpy(x, r->x, sizeof x);
        at[k] = clamp(r->x[axis] + (k ? 0.25 : -0.25) * p->step[axis], p->low[axis], p->high[axis]);
        x[axis] = at[k];
        TRY(p->residuals(p->ctx, x, side[k]));
        r->n_evaluations++;
    }
    for (int i = 0; i < p->n_points; i++)
        out[i] = (side[1][i] - side[0][i]) / (at[1] - at[0]);
    return WSC_OK;
}

/** Invert the symmetric @p a of @p n by Gauss and Jordan; false when it is singular. */
static bool invert(int n, double a[VALIDATION_MAX_PARAMETERS][VALIDATION_MAX_PARAMETERS])
{
    const double tiny = 1e-12;
    for (int k = 0; k < n; k++) {
        const double pivot = a[k][k];
        if (!(fabs(pivot) > tiny)) return false;
        a[k][k] = 1;
        for (int j = 0; j < n; j++)
            a[k][j] /= pivot;
        for (int i = 0; i < n; i++) {
            const double factor = a[i][k];
            if (i == k) continue;
            a[i][k] = 0;
            for (int j = 0; j < n; j++)
                a[i][j] -= factor * a[k][j];
        }
    }
    return true;
}

/** J'J, each parameter measured in its first step so that sizes compare. */
static void normal_matrix(const struct validation_problem *p,
                          const double (*jacobian)[VALIDATION_MAX_POINTS],
                          double a[VALIDATION_MAX_PARAMETERS][VALIDATION_MAX_PARAMETERS])
{
    for (int i = 0; i < p->n_parameters; i++)
        for (int j = 0; j < p->n_parameters; j++) {
            a[i][j] = 0;
            for (int k = 0; k < p->n_points; k++)
                if (counts(p, k))
                    a[i][j] += jacobian[i][k] * p->step[i] * jacobian[j][k] * p->step[j];
        }
}

/** A parameter whose first step moves all residuals together by less than this is not determined by
 * the points. */
static const double DETERMINES = 1e-3;

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
        TRY(slope(p, r, k, jacobian[k]));
    normal_matrix(p, (const double(*)[VALIDATION_MAX_POINTS])jacobian, a);
    bool determined[VALIDATION_MAX_PARAMETERS] = {false};
    for (int i = 0; i < p->n_parameters; i++) {
        determined[i] = sqrt(a[i][i]) > DETERMINES;
        for (int j = 0; j < p->n_parameters && !determined[i]; j++)
            a[i][j] = a[j][i] = i == j;
    }
    const bool known = invert(p->n_parameters, a);
    for (int i = 0; i < p->n_parameters; i++) {
        r->standard_error[i] =
            known && determined[i] ? r->sigma * sqrt(fabs(a[i][i])) * p->step[i] : INFINITY;
        for (int j = 0; j < p->n_parameters; j++)
            r->correlation[i][j] = known ? a[i][j] / sqrt(fabs(a[i][i] * a[j][j])) : i == j;
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
