/** Scores of one sequence, kept key by key on the columns of their head.  A head's columns share
 *  the keys: position p owns those with numbers from p per on, in the order in which keys
 *  stream. */
#ifndef WSC_PROGRAMS_SCORES_H
#define WSC_PROGRAMS_SCORES_H
#include "program_chain.h"
#include "program_grid.h"

#include <wsc/err.h>
#include <wsc/mesh.h>

#include <stdint.h>

/** Number of words of the scores of a sequence on a PE. */
int64_t programs_score_words(const struct programs_grid *g, const struct programs_features *f);
/** Position of a head's columns that owns key number @p key; @p row: the row of scores there (times
 *  heads_per_pe). */
int programs_key_owner(const struct programs_grid *g, const struct programs_features *f, int key,
                       int *row);
/** Key number of row @p row at position @p position; at least T when the row has no key. */
int programs_key_of(const struct programs_grid *g, const struct programs_features *f, int position,
                    int row);
/** Number of keys whose scores position @p position stores. */
int programs_keys_at(const struct programs_grid *g, const struct programs_features *f,
                     int position);
/** Number of heads of which column @p x holds features. */
static inline int programs_heads_on(const struct programs_features *f, int x)
{
    return f->group_cols > 1 ? f->count[x] > 0 : f->count[x] / f->head_dim;
}
/** Trained weights by the distance from query to key, on the PEs (program_distance.c). */
enum programs_distance_kind { PROGRAMS_NO_DISTANCES, PROGRAMS_SLOPES, PROGRAMS_RELATIVE };
struct programs_by_distance {
    enum programs_distance_kind kind;
    int weights; /**< address: for each head of the PE a slope, or a weight of each distance */
    int sums;    /**< address: of the leaf at hand, gradients of the weights of distances, or with
                      slopes those of the scores of each row */
    int words;   /**< relative positions: from head to head; distance d is d % h + d / h pitch */
    int pitch;
    float unit; /**< slopes: of a token */
};
/** Operations on scaled scores before their softmax; all zeros: none. Numbers of heads and tokens
 *  are those of the model. */
struct programs_shaping {
    bool rounded;       /**< first to the 16-bit format of the grid and back */
    float cap;          /**< c of c tanh(score / c); 0: none */
    int capped;         /**< address: tanh(score / c), laid out as the scores, for the gradient */
    const float *slope; /**< of each head (ALiBi); NULL: none, or one that trains */
    struct programs_by_distance learned;
    int64_t window,
        sinks; /**< later queries of a key; first keys, to which all later ones attend */
    /** (T) each, or NULL. For each key of samples with several texts: the number of later queries
     *  that attend to it (as window) and, with attention in both directions, of earlier ones; 0 for
     *  a key to which no query attends. */
    const int32_t *span, *before, *attends;
    int64_t lane_step; /**< from the arrays of a lane to those of the next one */
};
/** Range of tokens of the sample on lane @p lane that attend to key number @p key: @p first up to
 *  but not including @p end; both may lie outside the sample. */
void programs_key_seen(const struct programs_grid *g, const struct programs_shaping *s, int lane,
                       int key, int64_t *first, int64_t *end);
/** Number of queries on row @p y from the first one that attends to key number @p key on; with
 *  windows, later ones of them may not attend. */
static inline int programs_queries(const struct programs_grid *g, int y, int key)
{
    return programs_tokens(g, y) - programs_first_query(g, y, g->key_token[key]);
}
/** Address of the score of the first of these queries, in row @p row of @p scores. */
static inline int programs_score_at(const struct programs_grid *g, int scores, int row, int y,
                                    int key)
{
    return scores + 4 * (row * g->tokens + programs_first_query(g, y, g->key_token[key]));
}
/** Operands of sending scores along a head's columns, for the body of task PROGRAMS_TASK_NEXT. */
struct programs_score_rows {
    const struct programs_features *f;
    int scores; /**< address */
    const struct programs_gather *gather;
    bool half; /**< sent as 16-bit numbers */
};
enum wsc_err programs_send_scores(struct mesh_pe *pe, const struct programs_score_rows *s);
/** Set the routes and bind the task of programs_send_scores(). */
enum wsc_err programs_route_scores(struct programs_grid *g, const struct programs_score_rows *s,
                                   mesh_task_fn send);
#endif
