/** Sparse weights: the cycles of an output when columns have different numbers of weights, and
 *  weight gradients of the non-zero weights alone. */
#ifndef WSC_CYCLES_SPARSE_H
#define WSC_CYCLES_SPARSE_H
#include <wsc/cycles_ops.h>

/** What one of @c outputs outputs costs a column: @c n operations of @c one cycles when no weight
 * is zero, @c rest once, and at least @c least. */
struct cycles_loads {
    double outputs, n, one, rest, least;
    bool word; /**< in 32 bits the place comes in a word of its own */
};
/** Cycles of an output without the least: with all weights, on average, what it takes beyond that
 *  because columns differ, and the standard deviation of a column. */
struct cycles_load {
    double all, mean, spread, deviation;
};
/** Cycles of one output when the operations are there with probability @p density; 1: of all. */
double cycles_sparse_item(const struct cycles_layout *l, const struct cycles_loads *loads,
                          double density);
/** The parts of cycles_sparse_item(). */
struct cycles_load cycles_sparse_load(const struct cycles_layout *l,
                                      const struct cycles_loads *loads, double density);
/** E max(m + s Z, least) of a normal deviate Z. */
double cycles_at_least(double m, double s, double least);
/** Gradient of only the non-zeros: for each feature of @p sent, the values of the tokens go along
 *  the row, and a column that holds @p held features computes a sum over its tokens for each of its
 *  non-zeros. */
double cycles_sampled_gradient(const struct cycles_layout *l, double held,
                               const struct cycles_side *sent, double density);
/** Density of the weights of a kind of tensor; 1 where the layout has none. */
double cycles_density_of(const struct cycles_layout *l, enum model_tensor_kind kind);
/** Density of their gradient. */
double cycles_gradient_density_of(const struct cycles_layout *l, enum model_tensor_kind kind);
/** Share of them that trains; the gradients of frozen tensors are not computed. */
double cycles_trained_of(const struct cycles_layout *l, enum model_tensor_kind kind);
#endif
