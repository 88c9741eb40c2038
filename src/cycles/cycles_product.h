/** Products in slices, and sums over tokens block by block or result by result: weight gradients,
 *  and the gradients of keys and values, whose results do not fit a PE at once. */
#ifndef WSC_CYCLES_PRODUCT_H
#define WSC_CYCLES_PRODUCT_H
#include <wsc/cycles_ops.h>

/** cycles_product() of the feed-forward network's second matrix: when the filter features pass in
 *  slices, each slice gives sums of all outputs. */
double cycles_product_sliced(const struct cycles_layout *l, const struct cycles_side *in,
                             double n_out, double density);
/** One of several matrices that meet the same input: what it is for, and its share of the
 *  outputs. */
struct cycles_matrix {
    enum model_tensor_kind kind;
    double share;
};
/** cycles_product() of @p n matrices to @p n_out features in all, which follow each other. */
double cycles_products(const struct cycles_layout *l, const struct cycles_side *in, double n_out,
                       const struct cycles_matrix *matrix, int n);
/** From the start of a weight gradient to its first word at the edge. */
double cycles_first_rows(const struct cycles_layout *l, const struct cycles_side *in,
                         const struct cycles_side *out, double density);
/** Sums over the PE's @p n tokens of what it holds of @p held times what @p sent gives along @p
 *  cols columns. */
double cycles_outer(const struct cycles_layout *l, double n, double held,
                    const struct cycles_side *sent, double cols);
/** True when cycles_outer() is that of arriving data, without blocks. */
bool cycles_outer_arrives(const struct cycles_layout *l, double n, double held,
                          const struct cycles_side *sent, double cols);
/** Cycles of the weight gradient of a matrix of @p kind: those of cycles_weight_gradient() for the
 *  share that trains. */
double cycles_kind_gradient(const struct cycles_layout *l, const struct cycles_side *in,
                            const struct cycles_side *out, enum model_tensor_kind kind);
#endif
