// SPDX-License-Identifier: Apache-2.0
/* Computes the cycles of vector operations of a PE (set-up plus elements over the rate), of sums
 * along a row of PEs, and of vectors that come in or leave at the edge of the wafer. Rates and
 * set-up cycles come from the machine file (configs/cluster); docs/MODEL.md, "Vector operations".
 */
#include "cycles_vector.h"
#include "cycles_fitted.h"

#include <math.h>

/* ---- vector operations ----------------------------------------------------------------------- */

double cycles_op(double setup, double n, double rate)
{
    return n > 0 ? setup + ceil(n / rate) : 0;
}

double cycles_add(const struct cycles_layout *l, double n)
{
    return cycles_op(l->setup_add, n, l->fast);
}

double cycles_mul(const struct cycles_layout *l, double n)
{
    return cycles_op(l->setup_add, n, l->fast_mul);
}

double cycles_add_tiles(const struct cycles_layout *l, double n)
{
    return cycles_op(l->setup_add, n, l->fast / 2);
}

double cycles_mul_tiles(const struct cycles_layout *l, double n)
{
    return cycles_op(l->setup_add, n, l->fast_mul / 2);
}

double cycles_sum(const struct cycles_layout *l, double n)
{
    return cycles_op(l->setup_add, n, l->add);
}

double cycles_copy(const struct cycles_layout *l, double n)
{
    return cycles_op(l->setup_copy, n, l->fast);
}

/** Conversions fs2h and fh2s: one number per cycle; on WSE-3, recognised by its hop of two cycles,
 *  four (SDK appendix "SIMD"). */
double cycles_convert(const struct cycles_layout *l, double n)
{
    return cycles_op(l->setup_copy, n, l->hop > 1 ? 4 : 1);
}

double cycles_map(const struct cycles_layout *l, double n, double cycles)
{
    return cycles_op(l->setup_copy, n * cycles, 1);
}

/** One multiply-add of @p n elements by a scalar in a loop: the instruction has two vectors and a
 *  scalar as operands, and needs the addresses of the vectors again for each scalar. */
double cycles_axpy(const struct cycles_layout *l, double n)
{
    return n > 0 ? l->loop + l->setup + ceil(n / l->mac) : 0;
}

double cycles_axpy_arrival(const struct cycles_layout *l, double n)
{
    return n > 0 ? l->start + ceil(n / l->mac) : 0;
}

/* ---- along rows and columns ------------------------------------------------------------------ */

/** @p words words of each PE are added up toward the middle of @p cols columns, where the sums of
 *  the two sides follow each other, and the result is sent back to all columns. */
double cycles_row_sum(const struct cycles_layout *l, double cols, double words)
{
    if (cols < 2) return 1;
    double side = floor(cols / 2), sides = cols > 2 ? 2 : 1;
    return side * (l->relay + l->hop) + (sides + cycles_fit.row_sum_back) * words + l->relay +
           2 * l->ramp;
}

double cycles_vectors_in(const struct cycles_layout *l, double words)
{
    return words > 0 ? l->rows * l->hop + l->ramp + words : 0;
}

double cycles_lane_words(const struct cycles_layout *l)
{
    return l->lanes > 1 && !l->on_mesh ? 2 : 1;
}

double cycles_gradient_latency(const struct cycles_layout *l)
{
    const double others = l->on_mesh ? 0 : l->lanes - 1;
    return l->relay * (l->rows - 1) + others * (l->relay + l->cols * l->hop);
}

double cycles_vectors_out(const struct cycles_layout *l, double words)
{
    return words > 0 ? words * cycles_lane_words(l) + cycles_gradient_latency(l) : 0;
}
