/** Cycles of vector operations on a PE, of sums along rows and of vectors that cross the edge.
 *  cycles_rows.c, cycles_attention.c and the other operations are sums of these terms. */
#ifndef WSC_CYCLES_VECTOR_H
#define WSC_CYCLES_VECTOR_H
#include <wsc/cycles_ops.h>

/** Number of vectors of 32-bit sums over its tokens for which a PE has room in addition to live
 *  values, in dense products: one being computed and one being sent. */
enum { CYCLES_SUM_VECTORS = 2 };
/** Cycles of one operation on @p n elements at @p rate elements per cycle; @p n 0: none. */
double cycles_op(double setup, double n, double rate);
double cycles_add(const struct cycles_layout *l, double n);
double cycles_mul(const struct cycles_layout *l, double n);
/** An addition or a product where both operands are tiles, which lie in one bank: half the rate. */
double cycles_add_tiles(const struct cycles_layout *l, double n);
double cycles_mul_tiles(const struct cycles_layout *l, double n);
/** Additions into 32-bit sums. */
double cycles_sum(const struct cycles_layout *l, double n);
/** Conversion of 32-bit numbers to 16 bits, or back; @p n 0: none. */
double cycles_convert(const struct cycles_layout *l, double n);
/** Cycles of scalar code that takes @p cycles for each of @p n elements. */
double cycles_map(const struct cycles_layout *l, double n, double cycles);
/** One multiply-add of @p n elements by a scalar that lies in memory, in a loop. */
double cycles_axpy(const struct cycles_layout *l, double n);
/** One multiply-add of @p n elements by a scalar that arrives on the fabric. */
double cycles_axpy_arrival(const struct cycles_layout *l, double n);
/** One vector of @p words words per PE is summed over @p cols columns, and sent back to all. */
double cycles_row_sum(const struct cycles_layout *l, double cols, double words);
/** Words that the PEs of the last row receive for each word that leaves: words of the rows below
 *  and, on a wafer, of earlier lanes. On the mesh each lane has its own links to the edge. */
double cycles_lane_words(const struct cycles_layout *l);
/** Cycles until vectors of @p words words per PE, added up over rows and lanes, have left at the
 *  edge. */
double cycles_vectors_out(const struct cycles_layout *l, double words);
/** Cycles of the first word of the last row through all PEs of its column and through all lanes. */
double cycles_gradient_latency(const struct cycles_layout *l);
/** Cycles of one copy operation on @p n elements in the format of activations. */
double cycles_copy(const struct cycles_layout *l, double n);
#endif
