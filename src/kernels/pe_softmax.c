// SPDX-License-Identifier: Apache-2.0
#include "host_math.h"
#include "pe_ops.h"

static const struct pe_view none = {.kind = PE_VIEW_NONE};

float kernels_pe_exp_of_difference(float x, float max)
{
    return host_exp(x - max);
}

static float reciprocal(float x, float unused)
{
    (void)unused;
    return 1.0F / x;
}

/* ---- over features --------------------------------------------------------------------------- */

void kernels_pe_softmax(struct pe_grid *g, struct pe_script *s, const struct pe_tile *x, int tokens)
{
    const struct pe_view tile = pe_tile_view(x);
    const struct pe_view max = pe_view(PE_VIEW_TOKENS, tokens);
    const struct pe_view sum = pe_view(PE_VIEW_TOKENS, tokens + 4 * g->pitch);
    kernels_pe_op(s, PE_SHAPE_TOKENS, MESH_FMOVS, max, pe_number(-INFINITY), none);
    kernels_pe_op(s, PE_SHAPE_TOKENS, MESH_FMOVS, sum, pe_number(0), none);
    kernels_pe_op(s, PE_SHAPE_TILE, MESH_FMAXS, max, max, tile);
    kernels_pe_row_sum(s, MESH_FMAXS, max, 1);
    kernels_pe_map(s, PE_SHAPE_TILE, (struct pe_map){kernels_pe_exp_of_difference, g->exp_cycles},
                   tile, tile, max);
    kernels_pe_op(s, PE_SHAPE_TILE, MESH_FADDS, sum, sum, tile);
    kernels_pe_row_sum(s, MESH_FADDS, sum, 1);
    kernels_pe_map(s, PE_SHAPE_TOKENS, (struct pe_map){reciprocal, g->divide_cycles}, sum, sum,
                   none);
    kernels_pe_op(s, PE_SHAPE_TILE, MESH_FMULS, tile, tile, sum);
}

/* dx = y (dy - sum(y dy)). */
void kernels_pe_softmax_backward(struct pe_grid *g, struct pe_script *s, const struct pe_tile *y,
                                 const struct pe_tile *dy, int tokens)
{
    const struct pe_view p = pe_tile_view(y), d = pe_tile_view(dy);
    const struct pe_view sum = pe_view(PE_VIEW_TOKENS, tokens);
    (void)g;
    kernels_pe_op(s, PE_SHAPE_TOKENS, MESH_FMOVS, sum, pe_number(0), none);
    kernels_pe_op(s, PE_SHAPE_TILE, MESH_FMULS, d, d, p); /* y dy */
    kernels_pe_op(s, PE_SHAPE_TILE, MESH_FADDS, sum, sum, d);
    kernels_pe_row_sum(s, MESH_FADDS, sum, 1);
    /* y dy - y sum: dy itself is gone, and not needed. */
    kernels_pe_op(s, PE_SHAPE_TILE, MESH_FMULS, p, p, sum);
    kernels_pe_op(s, PE_SHAPE_TILE, MESH_FSUBS, d, d, p);
}

/* ---- over keys ------------------------------------------------------------------------------- */

static struct pe_script score_script(const struct pe_probabilities *p)
{
    return (struct pe_script){
        .features = p->f, .heads = p->f, .first_sample = p->sample, .n_samples = 1};
}

enum wsc_err kernels_pe_run_probabilities(struct pe_grid *g, const struct pe_probabilities *p)
{
    struct pe_script s = score_script(p);
    const struct pe_view scores = pe_view(PE_VIEW_SCORES, p->scores);
    const struct pe_view max = pe_view(PE_VIEW_HEAD_TOKENS, p->tokens);
    const struct pe_view sum =
        pe_view(PE_VIEW_HEAD_TOKENS, p->tokens + 4 * p->f->heads_per_pe * g->tokens);
    kernels_pe_op(&s, PE_SHAPE_HEAD_TOKENS, MESH_FMOVS, max, pe_number(-INFINITY), none);
    kernels_pe_op(&s, PE_SHAPE_HEAD_TOKENS, MESH_FMOVS, sum, pe_number(0), none);
    kernels_pe_op(&s, PE_SHAPE_SCORES, MESH_FMULS, scores, scores, pe_number(p->scale));
    kernels_pe_op(&s, PE_SHAPE_SCORES, MESH_FMAXS, max, max, scores);
    kernels_pe_row_sum(&s, MESH_FMAXS, max, p->f->heads_per_pe);
    kernels_pe_map(&s, PE_SHAPE_SCORES,
                   (struct pe_map){kernels_pe_exp_of_difference, g->exp_cycles}, scores, scores,
                   max);
    kernels_pe_op(&s, PE_SHAPE_SCORES, MESH_FADDS, sum, sum, scores);
    kernels_pe_row_sum(&s, MESH_FADDS, sum, p->f->heads_per_pe);
    kernels_pe_map(&s, PE_SHAPE_HEAD_TOKENS, (struct pe_map){reciprocal, g->divide_cycles}, sum,
                   sum, none);
    kernels_pe_op(&s, PE_SHAPE_SCORES, MESH_FMULS, scores, scores, sum);
    enum wsc_err rc = kernels_pe_run_script(g, &s);
    kernels_pe_script_fini(&s);
    return rc;
}

enum wsc_err kernels_pe_run_probabilities_backward(struct pe_grid *g,
                                                   const struct pe_probabilities *p, int dscores)
{
    struct pe_script s = score_script(p);
    const struct pe_view y = pe_view(PE_VIEW_SCORES, p->scores);
    const struct pe_view d = pe_view(PE_VIEW_SCORES, dscores);
    const struct pe_view sum = pe_view(PE_VIEW_HEAD_TOKENS, p->tokens);
    kernels_pe_op(&s, PE_SHAPE_HEAD_TOKENS, MESH_FMOVS, sum, pe_number(0), none);
    kernels_pe_op(&s, PE_SHAPE_SCORES, MESH_FMULS, d, d, y);
    kernels_pe_op(&s, PE_SHAPE_SCORES, MESH_FADDS, sum, sum, d);
    kernels_pe_row_sum(&s, MESH_FADDS, sum, p->f->heads_per_pe);
    kernels_pe_op(&s, PE_SHAPE_SCORES, MESH_FMULS, y, y, sum);
    kernels_pe_op(&s, PE_SHAPE_SCORES, MESH_FSUBS, d, d, y);
    kernels_pe_op(&s, PE_SHAPE_SCORES, MESH_FMULS, d, d, pe_number(p->scale));
    enum wsc_err rc = kernels_pe_run_script(g, &s);
    kernels_pe_script_fini(&s);
    return rc;
}

/* ---- attention ------------------------------------------------------------------------------- */

static struct pe_probabilities probabilities(const struct pe_attention *a)
{
    return (struct pe_probabilities){.sample = a->sample,
                                     .scores = a->scores,
                                     .tokens = a->tokens,
                                     .f = a->q.f,
                                     .scale = a->scale};
}

/* Vaswani et al. 2017, eq. 1, causal. */
enum wsc_err kernels_pe_run_attention(struct pe_grid *g, const struct pe_attention *a)
{
    const struct pe_probabilities p = probabilities(a);
    TRY(kernels_pe_run_scores(g, &(struct pe_scores){a->sample, a->q, a->k, a->scores}));
    TRY(kernels_pe_run_probabilities(g, &p));
    return kernels_pe_run_mix(g, &(struct pe_mix){a->sample, a->scores, a->v, a->out});
}

/* dV = P' dO, dP = dO V', dS from dP, dQ = dS K, dK = dS' Q.  P is used up. */
enum wsc_err kernels_pe_run_attention_backward(struct pe_grid *g, const struct pe_attention *a)
{
    const struct pe_probabilities p = probabilities(a);
    const int b = a->sample;
    TRY(kernels_pe_run_key_gradient(
        g, &(struct pe_key_gradient){b, a->scores, a->dout, a->dv, a->room}));
    TRY(kernels_pe_run_scores(g, &(struct pe_scores){b, a->dout, a->v, a->dscores}));
    TRY(kernels_pe_run_probabilities_backward(g, &p, a->dscores));
    TRY(kernels_pe_run_mix(g, &(struct pe_mix){b, a->dscores, a->k, a->dq}));
    return kernels_pe_run_key_gradient(
        g, &(struct pe_key_gradient){b, a->dscores, a->q, a->dk, a->room});
}
