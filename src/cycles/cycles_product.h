/** Products in slices, and sums over tokens block by block or result by result: weight gradients,
 *  and the gradients of keys and values, whose results do not fit a PE at once. */
#ifndef WSC_CYCLES_PRODUCT_H
#define WSC_CYCLES_PRODUCT_H
#include <wsc/cycles_ops.h>

/** Cycles of the product with the second matrix of the feed-forward network, as cycles_product().
 *  Where the filter features are processed in slices, each slice gives sums of all outputs. */
double cycles_product_sliced(const struct cycles_layout *l, const struct cycles_side *in,
                             double n_out, double density);
/** One of several matrices that multiply one input: its kind and its fraction of the outputs. */
struct cycles_matrix {
    enum model_tensor_kind kind;
    double share;
};
/** Cycles of the products of one input with @p n matrices, one after the other, with @p n_out
 *  outputs together. */
double cycles_products(const struct cycles_layout *l, const struct cycles_side *in, double n_out,
                       const struct cycles_matrix *matrix, int n);
/** Mean of a fraction of @p n matrices or biases, such as their density, by their shares. */
double cycles_mean_of(const struct cycles_layout *l, const struct cycles_matrix *matrix, int n,
                      double (*of)(const struct cycles_layout *l, enum model_tensor_kind kind));
/** Cycles from the start of a weight gradient to its first word at the edge of the wafer. */
double cycles_first_rows(const struct cycles_layout *l, const struct cycles_side *in,
                         const struct cycles_side *out, double density);
/** Cycles of an outer product summed over the PE's @p n tokens: @p held features stay in the PE,
 *  the features of @p sent move along @p cols columns. */
double cycles_outer(const struct cycles_layout *l, double n, double held,
                    const struct cycles_side *sent, double cols);
/** True when the faster way of cycles_outer() is value by value, with AXPYs that arriving data
 *  start. */
bool cycles_outer_arrives(const struct cycles_layout *l, double n, double held,
                          const struct cycles_side *sent, double cols);
/** Cycles of cycles_weight_gradient() for a matrix of @p kind, times the fraction that trains. */
double cycles_kind_gradient(const struct cycles_layout *l, const struct cycles_side *in,
                            const struct cycles_side *out, enum model_tensor_kind kind);
/** Cycles of the weight gradient of @p n matrices of one input together, times the mean fraction
 *  that trains; @p out the side of all their outputs. */
double cycles_matrices_gradient(const struct cycles_layout *l, const struct cycles_side *in,
                                const struct cycles_side *out, const struct cycles_matrix *matrix,
                                int n);
/** Cycles of cycles_bias_gradient() of the bias @p kind, times the fraction that trains. */
double cycles_kind_bias_gradient(const struct cycles_layout *l, double features,
                                 enum model_tensor_kind kind);
/** Cycles of the gradients of @p n biases that leave together, @p features features per PE in all.
 *  Frozen ones have none. */
double cycles_biases_gradient(const struct cycles_layout *l, double features,
                              const struct cycles_matrix *bias, int n);
#endif
