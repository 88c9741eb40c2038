/** Sparse weights: the cycles of an output when columns have different numbers of weights, and
 *  weight gradients of the non-zero weights alone. */
#ifndef WSC_CYCLES_SPARSE_H
#define WSC_CYCLES_SPARSE_H
#include <wsc/cycles_ops.h>

/** Cost to a column of each of @c outputs outputs: @c n operations of @c one cycles when no weight
 *  is zero, plus @c rest; at least @c least. */
struct cycles_loads {
    double outputs, n, one, rest, least;
    bool word; /**< in 32 bits an index is a separate word */
};
/** Cycles of one output, without the lower limit: with all weights (all), on average (mean), the
 *  additional time because columns wait for each other (spread), and the standard deviation of a
 *  column. */
struct cycles_load {
    double all, mean, spread, deviation;
};
/** Cycles of one output when a weight is non-zero with probability @p density; 1: dense. */
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
/** Density of the gradient of such a tensor. */
double cycles_gradient_density_of(const struct cycles_layout *l, enum model_tensor_kind kind);
/** Fraction of such a tensor that trains; the gradients of frozen tensors are not computed. */
double cycles_trained_of(const struct cycles_layout *l, enum model_tensor_kind kind);
#endif
