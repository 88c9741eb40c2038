// SPDX-License-Identifier: Apache-2.0
/* Computes the cycles of products with sparse weights. Only non-zero weights stream, so the
 * columns of a lane have binomial numbers of multiply-adds for each output; they wait for each
 * other where they have no free accumulator. The equation is fitted to a max-plus simulation of
 * the chain of columns (tests/unit/cycles/sparse_chain.h), which test_cycles_sparse.c compares;
 * docs/MODEL.md, "Sparse weights". Called by cycles_product.c. */
#include "cycles_sparse.h"

#include "cycles_fitted.h"
#include "cycles_vector.h"

#include <math.h>

double cycles_at_least(double m, double s, double least)
{
    if (!(s > 0)) return fmax(m, least);
    const double z = (m - least) / s;
    const double below = 0.5 * erfc(z / sqrt(2)); /* that `least` is larger */
    const double sqrt_2_pi = 2.5066282746310002;
    return m * (1 - below) + least * below + s * exp(-z * z / 2) / sqrt_2_pi;
}

/** Cycles of an output above its mean, in standard deviations of the load of a column: columns wait
 *  for each other while no accumulator is free. One accumulator is being filled; another one holds
 *  sums that are being sent for the fraction @p busy of the time. */
static double imbalance(const struct cycles_layout *l, double density, double busy)
{
    if (l->cols < 2) return 0;
    const struct cycles_fit *fit = &cycles_fit;
    const double spare = l->accumulators - fit->spare_less - fit->spare_busy * busy;
    return fit->wait * pow(l->cols, fit->wait_cols) * sqrt(1 - density) / spare;
}

/** Load of the fullest column above the mean over few outputs, which accumulators cannot even out:
 *  the maximum of normal deviates, one per column. Used only on the mesh, whose products are small.
 */
static double fullest(const struct cycles_layout *l, double outputs)
{
    if (!l->on_mesh || l->cols < 2) return 0;
    return cycles_fit.fullest * sqrt(2 * log(l->cols) / outputs);
}

/** Cycles of one AXPY with the index of its weight. On the mesh, an index in a separate word is
 *  read in the cycle after a multiply-add. */
static double each_of(const struct cycles_layout *l, const struct cycles_loads *loads,
                      double density)
{
    const double word = l->on_mesh && l->value >= 1 ? fmax(0, 1 - l->start) : 0;
    return loads->one + (density < 1 ? l->index + (loads->word ? word : 0) : 0);
}

struct cycles_load cycles_sparse_load(const struct cycles_layout *l,
                                      const struct cycles_loads *loads, double density)
{
    const double k = loads->n, each = each_of(l, loads, density);
    struct cycles_load load = {.all = k * each + loads->rest};
    load.mean = k * density * each + loads->rest;
    if (!(density < 1)) return load;
    const double busy = loads->least / fmax(load.mean, loads->least);
    const double deviations = hypot(imbalance(l, density, busy), fullest(l, loads->outputs));
    load.deviation = each * sqrt(k * density * (1 - density));
    load.spread = deviations * load.deviation;
    return load;
}

double cycles_sparse_item(const struct cycles_layout *l, const struct cycles_loads *loads,
                          double density)
{
    const struct cycles_load load = cycles_sparse_load(l, loads, density);
    const double either = l->on_mesh ? cycles_fit.either : 1;
    /* The dense product is an upper bound: no output takes longer than with all its weights. */
    return fmin(cycles_at_least(load.mean + load.spread, either * load.spread, loads->least),
                fmax(load.all, loads->least));
}

/** Cycles of a sent value on the mesh: set-ups of operations hide half of its copy; the sums of
 *  non-zeros are first set to 0; the first column forwards all values, and its ramp carries them
 *  twice. */
static void take_value_on_mesh(const struct cycles_layout *l, double density,
                               struct cycles_loads *loads)
{
    const double any = 1 - pow(1 - density, loads->n);
    loads->one += cycles_fit.place_tasks;
    loads->rest = l->t / l->fast / 2 + any * (l->setup_copy + loads->n * density / l->add);
    loads->least = 2 * l->t;
}

double cycles_sampled_gradient(const struct cycles_layout *l, double held,
                               const struct cycles_side *sent, double density)
{
    const double way = cycles_lane_words(l);
    const double dot = 2 * l->loop + cycles_mul(l, l->t) + cycles_sum(l, l->t);
    struct cycles_loads loads = {.outputs = sent->n,
                                 .n = held,
                                 .one = dot + way / l->add,
                                 .rest = cycles_copy(l, l->t),
                                 .least = fmax(l->t, way * held * density)};
    if (l->on_mesh) take_value_on_mesh(l, density, &loads);
    return sent->n * cycles_sparse_item(l, &loads, density) + l->cols * l->hop + 2 * l->ramp +
           (l->on_mesh ? loads.least : 0);
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
