/** The pattern `outer`: gradients of weights, summed over tokens, and gradients of keys and values,
 *  summed over queries. */
#ifndef WSC_PROGRAMS_WEIGHT_GRAD_H
#define WSC_PROGRAMS_WEIGHT_GRAD_H
#include "program_grid.h"

#include <wsc/cycles_ops.h>
#include <wsc/err.h>

#include <stdbool.h>
#include <stdint.h>

/** dW (out, in) = dY' X over the tokens of samples first .. first + n - 1 of each lane, to @p host.
 */
struct programs_weight_gradient {
    int first_sample, n_samples;
    const struct programs_span *span; /**< borrowed: columns of both tiles instead; NULL: none */
    struct programs_tile dy, x;
    struct cycles_gradient_way how;
    const uint64_t *kept;       /**< bits of the wanted elements; others become 0 */
    struct programs_repeat out; /**< rows of the host's matrix that stand for several rows of dW */
    int64_t room;               /**< words of a PE for sums and for values in flight */
    float *host;                /**< of the first lane */
    int64_t ld;                 /**< elements between rows of the host's matrix */
    int64_t lane_step;          /**< from the matrix of a lane to that of the next one */
    int64_t first_cycle;        /**< result: cycle in which the first word leaves */
};
enum wsc_err programs_run_weight_gradient(struct programs_grid *g,
                                          struct programs_weight_gradient *w);
/** True when element (@p out, @p in) of dW is wanted. */
static inline bool programs_gradient_wanted(const struct programs_weight_gradient *w, int64_t out,
                                            int64_t in)
{
    return programs_keeps(w->kept, programs_repeated(&w->out, out) * w->ld + in);
}
/** First column of the tiles on row number @p row. programs_gradient_tokens(): number of
 *  columns. */
static inline int programs_gradient_first(const struct programs_grid *g,
                                          const struct programs_weight_gradient *w, int row)
{
    return w->span ? w->span->first[row] : programs_tokens(g, row) * w->first_sample;
}
static inline int programs_gradient_tokens(const struct programs_grid *g,
                                           const struct programs_weight_gradient *w, int row)
{
    if (w->span) return w->span->n[row];
    return programs_tokens(g, row) * programs_samples(g, row, w->first_sample, w->n_samples);
}
/** out (keys) = sum over queries of scores (key, query) rows (query), one sequence; scores of
 *  queries before their key are 0. */
struct programs_key_gradient {
    int sample, scores;
    struct programs_tile rows, out;
    int64_t room;
    bool arrives; /**< value by value, as for weight gradients */
};
enum wsc_err programs_run_key_gradient(struct programs_grid *g,
                                       const struct programs_key_gradient *k);

/** Words of a weight gradient that left at the north edge, column by column. */
struct programs_edge_words {
    struct mesh_output *out; /**< owned, of each column */
    uint32_t *words;         /**< owned */
};
/** Attach sinks for @p n[x] words of column x of each lane. */
enum wsc_err programs_edge_take(struct programs_grid *g, struct programs_edge_words *e,
                                const int64_t *n);
/** Attach sinks for @p rows words for each feature of @p held. */
enum wsc_err programs_edge_take_rows(struct programs_grid *g, struct programs_edge_words *e,
                                     const struct programs_features *held, int64_t rows);
void programs_edge_fini(struct programs_edge_words *e);
/** The words of column @p x, all of which must have left. */
const uint32_t *programs_edge_column(const struct programs_edge_words *e, int x);
/** A word as a 32-bit float. */
float programs_number_of(uint32_t bits);
#endif
