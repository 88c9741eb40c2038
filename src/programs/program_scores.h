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

/** Words of the scores on a PE. */
int64_t programs_score_words(const struct programs_grid *g, const struct programs_features *f);
/** Position that owns key number @p key, and the row of scores there (times heads_per_pe). */
int programs_key_owner(const struct programs_grid *g, const struct programs_features *f, int key,
                       int *row);
/** Key number of row @p row at position @p position; at least T when there is none. */
int programs_key_of(const struct programs_grid *g, const struct programs_features *f, int position,
                    int row);
/** Keys whose scores position @p position keeps. */
int programs_keys_at(const struct programs_grid *g, const struct programs_features *f,
                     int position);
/** Heads of which column @p x holds features. */
static inline int programs_heads_on(const struct programs_features *f, int x)
{
    return f->group_cols > 1 ? f->count[x] > 0 : f->count[x] / f->head_dim;
}
/** Weights by the distance from query to key that train, on the PEs (program_distance.c). */
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
/** What is done to scaled scores before their softmax; all zeros: nothing.  Numbers of heads and
 *  tokens are those of the model. */
struct programs_shaping {
    bool rounded;       /**< before all else to the 16-bit format of the grid */
    float cap;          /**< c of c tanh(score / c); 0: none */
    int capped;         /**< address: tanh(score / c), laid out as the scores, for the gradient */
    const float *slope; /**< of each head (ALiBi); NULL: none, or one that trains */
    struct programs_by_distance learned;
    int64_t window, sinks; /**< a key is seen by so many queries after it, unless it is a sink */
    /** (T) each, or NULL: as the window, for each key, of samples of several texts; both ways, so
     *  many queries before a key see it too; 0 for a key that nobody sees. */
    const int32_t *span, *before, *attends;
    int64_t lane_step; /**< from those of a lane to those of the next one */
};
/** Tokens of the sample on lane @p lane that see key number @p key are those from *@p first on and
 *  before *@p end, which may lie outside of the sample. */
void programs_key_seen(const struct programs_grid *g, const struct programs_shaping *s, int lane,
                       int key, int64_t *first, int64_t *end);
/** Queries on row @p y that see key number @p key; with windows also those after the last one. */
static inline int programs_queries(const struct programs_grid *g, int y, int key)
{
    return programs_tokens(g, y) - programs_first_query(g, y, g->key_token[key]);
}
/** Address of the first of them in row @p row of @p scores. */
static inline int programs_score_at(const struct programs_grid *g, int scores, int row, int y,
                                    int key)
{
    return scores + 4 * (row * g->tokens + programs_first_query(g, y, g->key_token[key]));
}
/** Sending scores along a head's columns: body of the task PROGRAMS_TASK_NEXT. */
struct programs_score_rows {
    const struct programs_features *f;
    int scores; /**< address */
    const struct programs_gather *gather;
    bool half; /**< they are sent as 16-bit numbers */
};
enum wsc_err programs_send_scores(struct mesh_pe *pe, const struct programs_score_rows *s);
/** Routes and task for it. */
enum wsc_err programs_route_scores(struct programs_grid *g, const struct programs_score_rows *s,
                                   mesh_task_fn send);
#endif
