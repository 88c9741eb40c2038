/** The pattern `contract`: matrix products with weights that stream from the north edge, and scores
 *  of attention with keys that stream along the columns. */
#ifndef WSC_PROGRAMS_PRODUCT_H
#define WSC_PROGRAMS_PRODUCT_H
#include "program_grid.h"

#include <wsc/err.h>

#include <stdbool.h>

/** Y = X W' + Y0 for up to three matrices: either several outputs of one input (projections to q,
 *  k, v) or the sum over several inputs (their gradient).  @p transposed: W instead of W'. */
struct programs_product {
    int n_parts;
    bool sums; /**< the parts are inputs whose products are summed to one output */
    struct programs_tile in[3], out[3];
    const struct programs_span *span; /**< borrowed: columns of all tiles; NULL: all tokens */
    struct programs_weights w[3];
};
enum wsc_err programs_run_product(struct programs_grid *g, const struct programs_product *p);
/** Scores of one sequence: for each key, the products with the PE's queries that attend to it. The
 *  columns of a head divide the keys among them; see programs_key_owner(). */
struct programs_scores {
    int sample;
    struct programs_tile queries, keys;
    int scores; /**< address: rows of g->tokens, key by key, heads of the PE side by side */
};
enum wsc_err programs_run_scores(struct programs_grid *g, const struct programs_scores *s);
#endif
