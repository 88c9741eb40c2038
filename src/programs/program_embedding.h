/** Tables of rows (embeddings). Rows stream past the tokens, which take theirs; gradients of rows
 *  leave summed over their tokens. */
#ifndef WSC_PROGRAMS_EMBEDDING_H
#define WSC_PROGRAMS_EMBEDDING_H
#include "program_grid.h"

#include <wsc/err.h>

#include <stdbool.h>
#include <stdint.h>

/** A table whose rows stream past the PEs. Each token copies one row to @c x, or its gradient is
 *  added to the gradient of this row. */
struct programs_table {
    struct programs_tile x;
    int64_t rows;
    /** (samples of the micro-batch, T); negative: the token has no gradient. */
    const int32_t *row_of_token;
    float scale;
    const float *factor;         /**< (samples, T) of the scale for each token; NULL: 1 */
    bool add;                    /**< add to x instead of writing it */
    int first_sample, n_samples; /**< of each lane */
    int64_t lane_step;           /**< from the gradient of a lane to that of the next one */
    int64_t first_cycle;         /**< result of the scatter: cycle of the first word at the edge */
};
/** Copy to @p t->x the rows of @p table, (rows, features) row-major, that the tokens select. */
enum wsc_err programs_run_table_gather(struct programs_grid *g, const struct programs_table *t,
                                       const float *table);
/** Sum @p t->x over the tokens of each row; @p grad (rows, features) is the gradient of the first
 *  lane. */
enum wsc_err programs_run_table_scatter(struct programs_grid *g, struct programs_table *t,
                                        float *grad);
#endif
