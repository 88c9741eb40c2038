/** Cycles of products C (m, n) = A (m, k) B (k, n) whose matrix A lies in the PEs, in tiles, as in
 *  pr0f3ss/SpMM_Cerebras, instead of streaming past them as in <wsc/cycles_ops.h>.
 *
 *  PE (x, y) holds the tile of ceil(m / h) rows and ceil(k / w) columns as compressed columns
 *  (CSC) or dense.  Rows of B come down the columns of PEs from PE to PE, each PE loops over what
 *  its tile holds in scalar code with one multiply-add call each, and the sums go along the rows
 *  of PEs:
 *
 *      struct cycles_tiles t = {.w = 64, .h = 8, .m = 1024, .k = 1024, .n = 68, .density = 0.05};
 *      double mean = cycles_tiles_mean(&t), slowest = cycles_tiles_most(&t);
 *
 *  Places of non-zeros are random, so a PE has a binomial number of them and the slowest PE the
 *  largest of w h such numbers.  Coefficients and their sources: docs/MODEL.md, "Tiles in the PEs".
 *  All functions are pure; cycles are doubles. */
#ifndef WSC_CYCLES_TILES_H
#define WSC_CYCLES_TILES_H
#include <stdbool.h>

/** Cycles of the scalar loop over a tile: once, for each column of the tile, for each multiply-add
 *  call, for each element of a call. */
struct cycles_tile_law {
    double once, column, call, element;
};
/** The law of tiles of compressed columns, or of dense ones. */
const struct cycles_tile_law *cycles_tile_law(bool dense);
/** A product on w x h PEs, fabric of a WSE-2. */
struct cycles_tiles {
    double w, h;    /**< PEs */
    double m, k, n; /**< C (m, n) = A (m, k) B (k, n) */
    double density; /**< fraction of A that is not zero; not read for dense tiles */
    bool dense;     /**< tiles are dense; otherwise compressed columns */
};
/** Cycles of a PE over its tile, from its first call to its last one, on average over the PEs. */
double cycles_tiles_mean(const struct cycles_tiles *t);
/** Cycles of the slowest PE over its tile, expected over random places. */
double cycles_tiles_most(const struct cycles_tiles *t);
/** Cycles of the whole product, expected: B down the columns, tiles, sums along the rows. */
double cycles_tiles_product(const struct cycles_tiles *t);
#endif
