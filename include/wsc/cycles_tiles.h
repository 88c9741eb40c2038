/** Cycles of products C (m, n) = A (m, k) B (k, n) with the matrix A stored in the PEs as tiles, as
 *  in pr0f3ss/SpMM_Cerebras. In <wsc/cycles_ops.h> the matrix streams past the PEs instead.
 *
 *  PE (x, y) holds a tile of ceil(m / h) rows and ceil(k / w) columns as compressed columns (CSC)
 * or dense. Rows of B move down the columns of PEs from PE to PE; each PE loops over the elements
 * of its tile in scalar code, with one multiply-add call each; the sums are reduced along the rows
 * of PEs:
 *
 *      struct cycles_tiles t = {.w = 64, .h = 8, .m = 1024, .k = 1024, .n = 68, .density = 0.05};
 *      double mean = cycles_tiles_mean(&t), slowest = cycles_tiles_most(&t);
 *
 *  Positions of non-zeros are random: the number of non-zeros in a PE is binomial, and the slowest
 *  PE has the largest of w h such numbers. docs/MODEL.md, "Tiles in the PEs", has the coefficients
 *  and their sources.
 *  All functions are pure; cycles are doubles. */
#ifndef WSC_CYCLES_TILES_H
#define WSC_CYCLES_TILES_H
#include <stdbool.h>

/** Coefficients of the scalar loop over a tile, in cycles: constant, per column of the tile, per
 *  multiply-add call, per element of a call. */
struct cycles_tile_law {
    double once, column, call, element;
};
/** Coefficients for tiles of compressed columns, or for dense tiles. */
const struct cycles_tile_law *cycles_tile_law(bool dense);
/** A product on w x h PEs of a WSE-2. */
struct cycles_tiles {
    double w, h;    /**< PEs */
    double m, k, n; /**< C (m, n) = A (m, k) B (k, n) */
    double density; /**< fraction of A that is not zero; not read for dense tiles */
    bool dense;     /**< tiles are dense; otherwise compressed columns */
};
/** Cycles of a PE for its tile, from its first to its last call, average over the PEs. */
double cycles_tiles_mean(const struct cycles_tiles *t);
/** Cycles of the slowest PE for its tile, expected value over random positions. */
double cycles_tiles_most(const struct cycles_tiles *t);
/** Expected cycles of the whole product: B down the columns, tiles, sums along the rows. */
double cycles_tiles_product(const struct cycles_tiles *t);
#endif
