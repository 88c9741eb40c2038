// SPDX-License-Identifier: Apache-2.0
/* Products with sparse weights: only weights that are not zero stream, so that the columns of a
 * lane have binomial numbers of multiply-adds for each output, and wait for each other as far as
 * their accumulators do not keep them apart.  The law is fitted to a max-plus simulation of the
 * same chain of columns (tests/unit/cycles/sparse_chain.h), which test_cycles_sparse.c compares;
 * docs/MODEL.md, "Sparse weights".  Called by cycles_product.c. */
#include "cycles_sparse.h"

#include "cycles_fitted.h"
#include "cycles_vector.h"

#include <math.h>

/** E max(m + s Z, least) of a normal deviate Z: a column may not be faster than its link. */
static double at_least(double m, double s, double least)
{
    if (!(s > 0)) return fmax(m, least);
    const double z = (m - least) / s;
    const double below = 0.5 * erfc(z / sqrt(2)); /* probability that the link decides */
    const double sqrt_2_pi = 2.5066282746310002;
    return m * (1 - below) + least * below + s * exp(-z * z / 2) / sqrt_2_pi;
}

/** What an output costs above its mean, in deviations of a column's load: columns wait for each
 *  other where an accumulator is not free yet.  One of them is being filled, another one holds sums
 *  on their way for @p busy of the time. */
static double imbalance(const struct cycles_layout *l, double density, double busy)
{
    if (l->cols < 2) return 0;
    const struct cycles_fit *fit = &cycles_fit;
    const double spare = l->accumulators - fit->spare_less - fit->spare_busy * busy;
    return fit->wait * pow(l->cols, fit->wait_cols) * sqrt(1 - density) / spare;
}

double cycles_sparse_item(const struct cycles_layout *l, const struct cycles_loads *loads,
                          double density)
{
    const double k = loads->n, one = loads->one;
    if (!(density < 1)) return fmax(k * one + loads->rest, loads->least);
    const double each = one + l->index;
    const double mean = k * density * each + loads->rest;
    const double busy = loads->least / fmax(mean, loads->least);
    const double spread = imbalance(l, density, busy) * each * sqrt(k * density * (1 - density));
    /* With k loads and no index no output takes longer than with all of them. */
    return fmin(at_least(mean + spread, spread, loads->least),
                fmax(k * each + loads->rest, loads->least));
}

double cycles_sampled_gradient(const struct cycles_layout *l, double held,
                               const struct cycles_side *sent, double density)
{
    const double way = l->lanes > 1 ? 2 : 1;
    const double dot = 2 * l->loop + cycles_mul(l, l->t) + cycles_sum(l, l->t);
    const struct cycles_loads loads = {.n = held,
                                       .one = dot + way / l->add,
                                       .rest = cycles_copy(l, l->t),
                                       .least = fmax(l->t, way * held * density)};
    return sent->n * cycles_sparse_item(l, &loads, density) + l->cols * l->hop + 2 * l->ramp;
}

double cycles_density_of(const struct cycles_layout *l, enum model_tensor_kind kind)
{
    return l->density ? l->density->weights[kind] : 1;
}

double cycles_gradient_density_of(const struct cycles_layout *l, enum model_tensor_kind kind)
{
    return l->density ? l->density->gradients[kind] : 1;
}

double cycles_trained_of(const struct cycles_layout *l, enum model_tensor_kind kind)
{
    return l->density ? l->density->trained[kind] : 1;
}
