// SPDX-License-Identifier: Apache-2.0
#include "../../../src/validation/validation_impl.h"
#include "../../support/test.h"

#include <math.h>

/* residual_i = f(t_i; x) - y_i for a straight line or an exponential, with y of known constants. */
struct curve {
    int n;
    double t[VALIDATION_MAX_POINTS], y[VALIDATION_MAX_POINTS];
    double (*f)(const double *x, double t);
};

static double line(const double *x, double t)
{
    return x[0] + x[1] * t;
}

static double decay(const double *x, double t)
{
    return x[0] * exp(-x[1] * t) + x[2];
}

/** The second parameter does nothing. */
static double only_first(const double *x, double t)
{
    return x[0] * t;
}

/** A planner that changes its mind: jumps at 0.3. */
static double jumps(const double *x, double t)
{
    return x[0] * t + (x[0] > 0.3 ? 0.01 : 0);
}

/** Of either sign. */
static double square(const double *x, double t)
{
    return x[0] * x[0] * t;
}

static enum wsc_err residuals(void *ctx, const double *x, double *residual)
{
    const struct curve *c = ctx;
    for (int i = 0; i < c->n; i++)
        residual[i] = c->f(x, c->t[i]) - c->y[i];
    return WSC_OK;
}

static void make(struct curve *c, double (*f)(const double *x, double t), const double *x)
{
    *c = (struct curve){.n = 12, .f = f};
    for (int i = 0; i < c->n; i++) {
        c->t[i] = 0.25 * (i + 1);
        c->y[i] = f(x, c->t[i]);
    }
}

static struct validation_problem problem(struct curve *c, int n_parameters)
{
    struct validation_problem p = {.n_parameters = n_parameters,
                                   .n_points = c->n,
                                   .first_scale = 1,
                                   .last_scale = 1.0 / 512,
                                   .threshold = 0.1,
                                   .residuals = residuals,
                                   .ctx = c};
    for (int k = 0; k < n_parameters; k++) {
        p.low[k] = -10;
        p.high[k] = 10;
        p.step[k] = 0.5;
    }
    return p;
}

TEST(fit, recovers_known_constants)
{
    static const double x[] = {1.25, -0.75, 0.5}, z[] = {2, 0.8, 0.25};
    struct curve c;
    struct validation_solution r;
    make(&c, line, x);
    struct validation_problem p = problem(&c, 2);
    T_OK(validation_least_squares(&p, &r));
    T_NEAR(r.x[0], 1.25, 2e-3);
    T_NEAR(r.x[1], -0.75, 2e-3);
    CU_ASSERT(r.objective < 1e-5);
    make(&c, decay, z);
    p = problem(&c, 3);
    T_OK(validation_least_squares(&p, &r));
    T_NEAR(r.x[0], 2, 0.03);
    T_NEAR(r.x[1], 0.8, 0.03);
    T_NEAR(r.x[2], 0.25, 0.03);
}

/* Straight line through noise of known size: the textbook's standard errors. */
TEST(fit, standard_errors_are_those_of_a_straight_line)
{
    static const double x[] = {1, 0.5};
    struct curve c;
    struct validation_solution r;
    double mean = 0, squares = 0, sum = 0;
    make(&c, line, x);
    for (int i = 0; i < c.n; i++)
        c.y[i] += i % 4 == 0 || i % 4 == 3 ? 0.02 : -0.02; /* no offset, no slope */
    struct validation_problem p = problem(&c, 2);
    T_OK(validation_least_squares(&p, &r));
    for (int i = 0; i < c.n; i++)
        mean += c.t[i] / c.n;
    for (int i = 0; i < c.n; i++) {
        squares += (c.t[i] - mean) * (c.t[i] - mean);
        sum += r.residual[i] * r.residual[i];
    }
    const double sigma = sqrt(sum / (c.n - 2));
    T_NEAR(r.sigma, sigma, 1e-12);
    T_NEAR(r.standard_error[1] / (sigma / sqrt(squares)), 1, 1e-9);
    T_NEAR(r.standard_error[0] / (sigma * sqrt(1.0 / c.n + mean * mean / squares)), 1, 1e-9);
    T_NEAR(r.correlation[0][1], -mean / sqrt(squares / c.n + mean * mean), 1e-9);
}

TEST(fit, one_wild_point_does_not_rule)
{
    static const double x[] = {1, 0.5};
    struct curve c;
    struct validation_solution r;
    make(&c, line, x);
    c.y[5] += 50;
    struct validation_problem p = problem(&c, 2);
    T_OK(validation_least_squares(&p, &r));
    T_NEAR(r.x[0] - 1, 0, 0.05);
    T_NEAR(r.x[1], 0.5, 0.05);
}

TEST(fit, a_constant_that_does_nothing_is_not_told)
{
    static const double x[] = {0.5, 0};
    struct curve c;
    struct validation_solution r;
    make(&c, only_first, x);
    c.y[0] += 0.01;
    struct validation_problem p = problem(&c, 2);
    T_OK(validation_least_squares(&p, &r));
    T_NEAR(r.x[0], 0.5, 5e-3);
    CU_ASSERT(isfinite(r.standard_error[0]) && r.standard_error[0] > 0);
    CU_ASSERT(isinf(r.standard_error[1]));
    T_NEAR(r.x[1], 0, 0); /* stays where it started */
}

/* y = (x0 + (1 + 1e-6 t) x1) t: the errors of both have a correlation of nearly -1. */
static double nearly_one(const double *x, double t)
{
    const double apart = 1e-6;
    return (x[0] + (1 + apart * t) * x[1]) * t;
}

TEST(fit, constants_that_act_alike_are_not_told_apart)
{
    static const double x[] = {0.5, 0.25};
    struct curve c;
    struct validation_solution r;
    make(&c, nearly_one, x);
    c.y[0] += 0.01;
    struct validation_problem p = problem(&c, 2);
    T_OK(validation_least_squares(&p, &r));
    CU_ASSERT(isinf(r.standard_error[0]) && isinf(r.standard_error[1]));
    T_NEAR(r.correlation[0][1], 0, 0);
    T_NEAR(r.correlation[1][1], 1, 0);
}

TEST(fit, bounds_hold_and_jumps_do_not_confuse)
{
    static const double x[] = {0.5, -0.75};
    struct curve c;
    struct validation_solution r;
    make(&c, line, x);
    struct validation_problem p = problem(&c, 2);
    p.low[1] = -0.5;
    T_OK(validation_least_squares(&p, &r));
    T_NEAR(r.x[1], -0.5, 1e-12);
    make(&c, jumps, x);
    p = problem(&c, 1);
    T_OK(validation_least_squares(&p, &r));
    T_NEAR(r.x[0], 0.5, 2e-3);
}

/* Of two solutions that of the start's side; a start beyond a bound is the bound. */
TEST(fit, the_search_begins_at_the_start)
{
    static const double x[] = {1}, starts[] = {0.75, -0.75, 20, -20};
    struct curve c;
    struct validation_solution r;
    make(&c, square, x);
    for (int i = 0; i < 4; i++) {
        struct validation_problem p = problem(&c, 1);
        p.start[0] = starts[i];
        T_OK(validation_least_squares(&p, &r));
        T_NEAR(r.x[0], i % 2 ? -1 : 1, 2e-3);
    }
}

static enum wsc_err not_finite(void *ctx, const double *x, double *residual)
{
    const struct curve *c = ctx;
    for (int i = 0; i < c->n; i++)
        residual[i] = x[0] < 20 ? NAN : 0;
    return WSC_OK;
}

static enum wsc_err fails(void *ctx, const double *x, double *residual)
{
    (void)ctx, (void)x, (void)residual;
    return WSC_RAISE(WSC_CAPACITY, "too large");
}

TEST(fit, errors_come_through)
{
    static const double x[] = {0.5, 1};
    struct curve c;
    struct validation_solution r;
    make(&c, line, x);
    struct validation_problem p = problem(&c, 2);
    p.residuals = not_finite;
    T_EQ(validation_least_squares(&p, &r), WSC_NUMERIC);
    p.residuals = fails;
    T_EQ(validation_least_squares(&p, &r), WSC_CAPACITY);
}

/* Huber 1964: r^2 / 2 inside, straight with the same slope outside. */
TEST(fit, huber_by_hand)
{
    T_NEAR(validation_huber(0.05, 0.1), 0.00125, 1e-15);
    T_NEAR(validation_huber(-0.1, 0.1), 0.005, 1e-15);
    T_NEAR(validation_huber(0.3, 0.1), 0.025, 1e-15);
}
