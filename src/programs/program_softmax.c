// SPDX-License-Identifier: Apache-2.0
/* Computes softmax over the features of a tile, and over the keys of attention scores, as scripts
 * of vector operations, with the gradients. It also combines scores, probabilities and output into
 * the attention of a sequence. */
#include "program_softmax.h"
#include "program_attention_out.h"
#include "program_columns.h"
#include "program_grid.h"
#include "program_product.h"
#include "program_vector_ops.h"

#include <wsc/num_math.h>

#include <math.h>

/* Operands of the softmax over keys: the scores of one sequence become probabilities, in place,
 * after scaling. @c tokens: scratch of 2 x heads x tokens words. */
struct probabilities {
    int sample, scores, tokens;
    const struct programs_features *f;
    float scale;
    const struct programs_shaping *shaping;
};

static const struct programs_view none = {.kind = PROGRAMS_VIEW_NONE};

float programs_exp_of_difference(float x, float max)
{
    return num_exp(x - max);
}

float programs_log_of_sum(float sum, float max)
{
    return logf(sum) + max;
}

static float reciprocal(float x, float unused)
{
    (void)unused;
    return 1.0F / x;
}

/* ---- over features --------------------------------------------------------------------------- */

/* The vector @p tokens in the format of operands of tile @p x. */
static struct programs_view as_tile(const struct programs_grid *g, struct programs_script *s,
                                    const struct programs_tile *x, struct programs_view tokens)
{
    return x->half ? programs_narrow(g, s, tokens) : tokens;
}

void programs_softmax(struct programs_grid *g, struct programs_script *s,
                      const struct programs_tile *x, int tokens)
{
    const struct programs_view tile = programs_tile_view(x);
    struct programs_view max = programs_view(PROGRAMS_VIEW_TOKENS, tokens);
    const struct programs_view sum = programs_view(PROGRAMS_VIEW_TOKENS, tokens + 4 * g->pitch);
    max.half = x->half;
    programs_op(s, PROGRAMS_SHAPE_TOKENS, MESH_FMOVS, max, programs_number(-INFINITY), none);
    programs_op(s, PROGRAMS_SHAPE_TOKENS, MESH_FMOVS, sum, programs_number(0), none);
    programs_op(s, PROGRAMS_SHAPE_TILE, MESH_FMAXS, max, max, tile);
    programs_row_sum(s, MESH_FMAXS, max, 1);
    programs_map(s, PROGRAMS_SHAPE_TILE,
                 (struct programs_map){programs_exp_of_difference, g->exp_cycles}, tile, tile, max);
    programs_op(s, PROGRAMS_SHAPE_TILE, MESH_FADDS, sum, sum, tile);
    programs_row_sum(s, MESH_FADDS, sum, 1);
    programs_map(s, PROGRAMS_SHAPE_TOKENS, (struct programs_map){reciprocal, g->divide_cycles}, sum,
                 sum, none);
    programs_op(s, PROGRAMS_SHAPE_TILE, MESH_FMULS, tile, tile, as_tile(g, s, x, sum));
}

/* dx = y (dy - sum(y dy)). */
void programs_softmax_backward(struct programs_grid *g, struct programs_script *s,
                               const struct programs_tile *y, const struct programs_tile *dy,
                               int tokens)
{
    const struct programs_view p = programs_tile_view(y), d = programs_tile_view(dy);
    const struct programs_view sum = programs_view(PROGRAMS_VIEW_TOKENS, tokens);
    programs_op(s, PROGRAMS_SHAPE_TOKENS, MESH_FMOVS, sum, programs_number(0), none);
    programs_op(s, PROGRAMS_SHAPE_TILE, MESH_FMULS, d, d, p); /* y dy */
    programs_op(s, PROGRAMS_SHAPE_TILE, MESH_FADDS, sum, sum, d);
    programs_row_sum(s, MESH_FADDS, sum, 1);
    /* y dy - y sum; dy was overwritten and is not needed. */
    programs_op(s, PROGRAMS_SHAPE_TILE, MESH_FMULS, p, p, as_tile(g, s, y, sum));
    programs_op(s, PROGRAMS_SHAPE_TILE, MESH_FSUBS, d, d, p);
}

/* ---- over keys ------------------------------------------------------------------------------- */

/* An empty script over the scores of one sample, by heads. */
static struct programs_script score_script(const struct probabilities *p)
{
    return (struct programs_script){.features = p->f,
                                    .heads = p->f,
                                    .first_sample = p->sample,
                                    .n_samples = 1,
                                    .shaping = p->shaping};
}

/* Scores: scaled, capped, plus the position of the key times the slope of the head or the weight of
 * the distance, masked outside windows and texts and for padding. ALiBi subtracts the slope times
 * the distance from query to key; the term of the query is equal for all its keys and does not
 * change the softmax, so it is left out. */
static void shape_scores(const struct programs_grid *g, struct programs_script *s,
                         const struct probabilities *p)
{
    const struct programs_shaping *how = p->shaping;
    const enum programs_shape shape = PROGRAMS_SHAPE_SCORES;
    const struct programs_view scores = programs_view(PROGRAMS_VIEW_SCORES, p->scores);
    const float cap = how->cap > 0 ? how->cap : 1;
    programs_op(s, shape, MESH_FMULS, scores, scores, programs_number(p->scale / cap));
    if (how->cap > 0)
        programs_cap(g, s, shape, scores, programs_view(PROGRAMS_VIEW_SCORES, how->capped), cap);
    if (how->slope || how->learned.kind == PROGRAMS_SLOPES)
        programs_op(s, shape, MESH_FADDS, scores, scores,
                    (struct programs_view){.kind = PROGRAMS_VIEW_SLOPE});
    if (how->learned.kind == PROGRAMS_RELATIVE)
        programs_op(s, shape, MESH_FADDS, scores, scores,
                    programs_view(PROGRAMS_VIEW_DISTANCES, how->learned.weights));
    if (how->window || how->span || how->attends)
        programs_op(s, PROGRAMS_SHAPE_HIDDEN, MESH_FMOVS, scores, programs_number(-INFINITY), none);
    if (how->before)
        programs_op(s, PROGRAMS_SHAPE_HIDDEN_BEFORE, MESH_FMOVS, scores, programs_number(-INFINITY),
                    none);
}

/* The gradient @p d of a capped score is also the gradient of the term added to it: the weight of
 * the distance, or slope times position of the key (the term of the query has gradient 0, since
 * gradients sum to 0 over the keys of a query). A row of scores has one key, so the gradient of the
 * slope needs only the sum of the row. */
static void sum_learned(struct programs_script *s, const struct programs_by_distance *learned,
                        struct programs_view d)
{
    static const enum programs_view_kind views[] = {
        [PROGRAMS_SLOPES] = PROGRAMS_VIEW_OF_ROWS, [PROGRAMS_RELATIVE] = PROGRAMS_VIEW_DISTANCES};
    if (learned->kind == PROGRAMS_NO_DISTANCES) return;
    const struct programs_view sums = programs_view(views[learned->kind], learned->sums);
    programs_op(s, PROGRAMS_SHAPE_SCORES, MESH_FADDS, sums, sums, d);
}

/* Round each row of scores to 16 bits and back; the vector of sums, which is unused at this time,
 * serves as scratch. */
static void round_scores(struct programs_script *s, const struct probabilities *p,
                         struct programs_view sum)
{
    const struct programs_view scores = programs_view(PROGRAMS_VIEW_SCORES, p->scores);
    if (!p->shaping->rounded) return;
    sum.half = true;
    programs_op(s, PROGRAMS_SHAPE_SCORES, MESH_FMOVS, sum, scores, none);
    programs_op(s, PROGRAMS_SHAPE_SCORES, MESH_FMOVS, scores, sum, none);
}

/* Softmax over the keys of each query: maximum, exponentials, sum, division. Sums are reduced
 * along the columns of the head, which divide the keys among them. */
static enum wsc_err run_probabilities(struct programs_grid *g, const struct probabilities *p)
{
    struct programs_script s = score_script(p);
    const struct programs_view scores = programs_view(PROGRAMS_VIEW_SCORES, p->scores);
    const struct programs_view max = programs_view(PROGRAMS_VIEW_HEAD_TOKENS, p->tokens);
    const struct programs_view sum =
        programs_view(PROGRAMS_VIEW_HEAD_TOKENS, p->tokens + 4 * p->f->heads_per_pe * g->tokens);
    round_scores(&s, p, sum);
    programs_op(&s, PROGRAMS_SHAPE_HEAD_TOKENS, MESH_FMOVS, max, programs_number(-INFINITY), none);
    programs_op(&s, PROGRAMS_SHAPE_HEAD_TOKENS, MESH_FMOVS, sum, programs_number(0), none);
    shape_scores(g, &s, p);
    programs_op(&s, PROGRAMS_SHAPE_SCORES, MESH_FMAXS, max, max, scores);
    programs_row_sum(&s, MESH_FMAXS, max, p->f->heads_per_pe);
    programs_map(&s, PROGRAMS_SHAPE_SCORES,
                 (struct programs_map){programs_exp_of_difference, g->exp_cycles}, scores, scores,
                 max);
    programs_op(&s, PROGRAMS_SHAPE_SCORES, MESH_FADDS, sum, sum, scores);
    programs_row_sum(&s, MESH_FADDS, sum, p->f->heads_per_pe);
    programs_map(&s, PROGRAMS_SHAPE_HEAD_TOKENS,
                 (struct programs_map){reciprocal, g->divide_cycles}, sum, sum, none);
    programs_op(&s, PROGRAMS_SHAPE_SCORES, MESH_FMULS, scores, scores, sum);
    enum wsc_err rc = programs_run_script(g, &s);
    programs_script_fini(&s);
    return rc;
}

/* dS = scale P (dP - sum(P dP)), in place of dP. */
static enum wsc_err run_probabilities_backward(struct programs_grid *g,
                                               const struct probabilities *p, int dscores)
{
    struct programs_script s = score_script(p);
    const struct programs_view y = programs_view(PROGRAMS_VIEW_SCORES, p->scores);
    const struct programs_view d = programs_view(PROGRAMS_VIEW_SCORES, dscores);
    const struct programs_view sum = programs_view(PROGRAMS_VIEW_HEAD_TOKENS, p->tokens);
    programs_op(&s, PROGRAMS_SHAPE_HEAD_TOKENS, MESH_FMOVS, sum, programs_number(0), none);
    programs_op(&s, PROGRAMS_SHAPE_SCORES, MESH_FMULS, d, d, y);
    programs_op(&s, PROGRAMS_SHAPE_SCORES, MESH_FADDS, sum, sum, d);
    programs_row_sum(&s, MESH_FADDS, sum, p->f->heads_per_pe);
    programs_op(&s, PROGRAMS_SHAPE_SCORES, MESH_FMULS, y, y, sum);
    programs_op(&s, PROGRAMS_SHAPE_SCORES, MESH_FSUBS, d, d, y);
    sum_learned(&s, &p->shaping->learned, d);
    programs_op(&s, PROGRAMS_SHAPE_SCORES, MESH_FMULS, d, d, programs_number(p->scale));
    if (p->shaping->cap > 0)
        programs_cap_backward(&s, PROGRAMS_SHAPE_SCORES, d,
                              programs_view(PROGRAMS_VIEW_SCORES, p->shaping->capped));
    enum wsc_err rc = programs_run_script(g, &s);
    programs_script_fini(&s);
    return rc;
}

/* ---- attention ------------------------------------------------------------------------------- */

static struct probabilities probabilities(const struct programs_attention *a)
{
    return (struct probabilities){.sample = a->sample,
                                  .scores = a->scores,
                                  .tokens = a->tokens,
                                  .f = a->q.f,
                                  .scale = a->scale,
                                  .shaping = &a->shaping};
}

/* Set @p scores to the probabilities after dropout, a copy, since the gradient of the softmax
 * needs those before; without dropout, to these. */
static enum wsc_err mixed(struct programs_grid *g, const struct programs_attention *a, int *scores)
{
    *scores = a->drop ? a->dropped : a->scores;
    if (!a->drop) return WSC_OK;
    return programs_run_drop_scores(g, a->drop, a->sample, a->q.f, a->dropped, a->scores);
}

/* Vaswani et al. 2017, eq. 1. */
enum wsc_err programs_run_attention(struct programs_grid *g, const struct programs_attention *a)
{
    const struct probabilities p = probabilities(a);
    TRY(programs_run_scores(g, &(struct programs_scores){a->sample, a->q, a->k, a->scores}));
    TRY(run_probabilities(g, &p));
    int scores;
    TRY(mixed(g, a, &scores));
    return programs_run_mix(g, &(struct programs_mix){a->sample, scores, a->v, a->out});
}

/* dV = P' dO, dP = dO V', dS from dP, dQ = dS K, dK = dS' Q. P is overwritten. */
enum wsc_err programs_run_attention_backward(struct programs_grid *g,
                                             const struct programs_attention *a)
{
    const struct probabilities p = probabilities(a);
    const int b = a->sample;
    int scores;
    TRY(mixed(g, a, &scores));
    TRY(programs_sum_keys(
        g, &(struct programs_key_gradient){b, scores, a->dout, a->dv, a->room, a->arrives}));
    TRY(programs_run_scores(g, &(struct programs_scores){b, a->dout, a->v, a->dscores}));
    if (a->drop) TRY(programs_run_drop_scores(g, a->drop, b, a->q.f, a->dscores, a->dscores));
    TRY(run_probabilities_backward(g, &p, a->dscores));
    TRY(programs_run_mix(g, &(struct programs_mix){b, a->dscores, a->k, a->dq}));
    return programs_sum_keys(
        g, &(struct programs_key_gradient){b, a->dscores, a->q, a->dk, a->room, a->arrives});
}
