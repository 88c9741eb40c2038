// SPDX-License-Identifier: Apache-2.0
/* Writes norms (LayerNorm, RMSNorm), nonlinearities and rotary positions as scripts of vector
 * operations with sums along the row (program_vector_ops.c). program_norm.h has the equations and
 * papers. */
#include "program_norm.h"
#include "program_grid.h"
#include "program_vector_ops.h"

#include <wsc/cycles_ops.h>
#include <wsc/num_math.h>

static const struct programs_view none = {.kind = PROGRAMS_VIEW_NONE};

/* ---- norms ----------------------------------------------------------------------------------- */

/* Operands of a norm's steps. */
struct norm_views {
    struct programs_view x, mean, rstd, gain, bias;
    struct programs_view mean_kept, rstd_kept; /* as kept, in the format of x */
    enum programs_shape tile, tokens;          /* of x, of its statistics */
    int n;                                     /* vectors of tokens of a statistic */
    float share;                               /* 1 / features */
};

/* Statistics at @p address: a vector of tokens, or one for each head of a PE. */
static struct programs_view tokens_at(const struct programs_norm *n, int address)
{
    return programs_view(n->by_heads ? PROGRAMS_VIEW_HEADS : PROGRAMS_VIEW_TOKENS, address);
}

/* Bytes from a statistic to the next one. */
static int bytes_of(const struct programs_grid *g, const struct programs_norm *n)
{
    return 4 * g->pitch * (n->by_heads ? n->x.f->heads_per_pe : 1);
}

static struct norm_views views_of(const struct programs_grid *g, const struct programs_norm *n)
{
    const struct programs_view mean = tokens_at(n, n->stats);
    const struct programs_view rstd = tokens_at(n, n->stats + bytes_of(g, n));
    const int features = n->by_heads ? n->x.f->head_dim : n->x.f->n;
    return (struct norm_views){.x = programs_tile_view(&n->x),
                               .mean = mean,
                               .rstd = rstd,
                               .mean_kept = programs_narrowed(g, mean),
                               .rstd_kept = programs_narrowed(g, rstd),
                               .gain = programs_view(PROGRAMS_VIEW_FEATURES, n->gain),
                               .bias = programs_view(PROGRAMS_VIEW_FEATURES, n->bias),
                               .tile = n->by_heads ? PROGRAMS_SHAPE_HEADS : PROGRAMS_SHAPE_TILE,
                               .tokens =
                                   n->by_heads ? PROGRAMS_SHAPE_OF_HEADS : PROGRAMS_SHAPE_TOKENS,
                               .n = n->by_heads ? n->x.f->heads_per_pe : 1,
                               .share = 1.0F / (float)features};
}

/* Map 1 / sqrt(variance + eps); eps is the second operand. */
static float reciprocal_root(float variance, float eps)
{
    return 1.0F / sqrtf(variance + eps);
}

/* Steps of out = xhat, from the statistics. */
static void xhat(struct programs_script *s, const struct norm_views *v, bool rms,
                 struct programs_view out)
{
    if (!rms) programs_op(s, v->tile, MESH_FSUBS, out, v->x, v->mean_kept);
    programs_op(s, v->tile, MESH_FMULS, out, rms ? v->x : out, v->rstd_kept);
}

static void gain_and_bias(struct programs_script *s, const struct norm_views *v, int bias,
                          struct programs_view out)
{
    programs_op(s, v->tile, MESH_FMULS, out, out, v->gain);
    if (bias >= 0) programs_op(s, v->tile, MESH_FADDS, out, out, v->bias);
}

void programs_norm_forward(struct programs_grid *g, struct programs_script *s,
                           const struct programs_norm *n, const struct programs_tile *out,
                           const struct programs_tile *tmp)
{
    const struct norm_views v = views_of(g, n);
    const struct programs_view to = programs_tile_view(out), square = programs_tile_view(tmp);
    const struct programs_map root = {reciprocal_root, 2 * g->divide_cycles};
    programs_op(s, v.tokens, MESH_FMOVS, v.mean, programs_number(0), none);
    programs_op(s, v.tokens, MESH_FMOVS, v.rstd, programs_number(0), none);
    if (!n->rms) {
        programs_op(s, v.tile, MESH_FADDS, v.mean, v.mean, v.x);
        programs_row_sum(s, MESH_FADDS, v.mean, v.n);
        programs_op(s, v.tokens, MESH_FMULS, v.mean, v.mean, programs_number(v.share));
        programs_op(s, v.tile, MESH_FSUBS, to, v.x, programs_narrow(g, s, v.mean));
    }
    const struct programs_view centred = n->rms ? v.x : to;
    programs_op(s, v.tile, MESH_FMULS, square, centred, centred);
    programs_op(s, v.tile, MESH_FADDS, v.rstd, v.rstd, square);
    programs_row_sum(s, MESH_FADDS, v.rstd, v.n);
    programs_op(s, v.tokens, MESH_FMULS, v.rstd, v.rstd, programs_number(v.share));
    const struct programs_view eps = tokens_at(n, n->sums);
    programs_op(s, v.tokens, MESH_FMOVS, eps, programs_number(n->eps), none);
    programs_map(s, v.tokens, root, v.rstd, v.rstd, eps);
    programs_op(s, v.tile, MESH_FMULS, to, centred, programs_narrow(g, s, v.rstd));
    gain_and_bias(s, &v, n->bias, to);
}

void programs_norm_again(struct programs_grid *g, struct programs_script *s,
                         const struct programs_norm *n, const struct programs_tile *out)
{
    const struct norm_views v = views_of(g, n);
    xhat(s, &v, n->rms, programs_tile_view(out));
    gain_and_bias(s, &v, n->bias, programs_tile_view(out));
}

/* With g = dy gain: dx = (g - mean(g) - xhat mean(g xhat)) / sigma; without mean(g) for RMS. */
void programs_norm_backward(struct programs_grid *g, struct programs_script *s,
                            const struct programs_norm *n, const struct programs_tile *dy,
                            const struct programs_tile *dres, const struct programs_tile *tmp)
{
    const struct norm_views v = views_of(g, n);
    const struct programs_view grad = programs_tile_view(dy), x = programs_tile_view(tmp);
    const struct programs_view mean_g = tokens_at(n, n->sums);
    const struct programs_view mean_gx = tokens_at(n, n->sums + bytes_of(g, n));
    programs_op(s, v.tile, MESH_FMULS, grad, grad, v.gain);
    programs_op(s, v.tokens, MESH_FMOVS, mean_g, programs_number(0), none);
    programs_op(s, v.tokens, MESH_FMOVS, mean_gx, programs_number(0), none);
    if (!n->rms) programs_op(s, v.tile, MESH_FADDS, mean_g, mean_g, grad);
    xhat(s, &v, n->rms, x);
    programs_op(s, v.tile, MESH_FMULS, x, x, grad);
    programs_op(s, v.tile, MESH_FADDS, mean_gx, mean_gx, x);
    programs_row_sum(s, MESH_FADDS, mean_g, 2 * v.n);
    programs_op(s, v.tokens, MESH_FMULS, mean_g, mean_g, programs_number(v.share));
    programs_op(s, v.tokens, MESH_FMULS, mean_gx, mean_gx, programs_number(v.share));
    xhat(s, &v, n->rms, x);
    programs_op(s, v.tile, MESH_FMULS, x, x, programs_narrow(g, s, mean_gx));
    if (!n->rms) programs_op(s, v.tile, MESH_FSUBS, grad, grad, programs_narrow(g, s, mean_g));
    programs_op(s, v.tile, MESH_FSUBS, grad, grad, x);
    programs_op(s, v.tile, MESH_FMULS, grad, grad, v.rstd_kept);
    if (!dres) return;
    const struct programs_view to = programs_tile_view(dres);
    programs_op(s, v.tile, MESH_FADDS, to, to, grad);
}

void programs_norm_gradients(struct programs_grid *g, struct programs_script *s,
                             const struct programs_norm *n, const struct programs_tile *dy,
                             const struct programs_tile *tmp, int dgain, int dbias)
{
    const struct norm_views v = views_of(g, n);
    const struct programs_view grad = programs_tile_view(dy), x = programs_tile_view(tmp);
    const struct programs_view gain = programs_view(PROGRAMS_VIEW_FEATURES, dgain);
    const struct programs_view bias = programs_view(PROGRAMS_VIEW_FEATURES, dbias);
    programs_op(s, PROGRAMS_SHAPE_FEATURES, MESH_FMOVS, gain, programs_number(0), none);
    xhat(s, &v, n->rms, x);
    programs_op(s, PROGRAMS_SHAPE_TILE, MESH_FMULS, x, x, grad);
    programs_op(s, PROGRAMS_SHAPE_TILE, MESH_FADDS, gain, gain, x);
    if (dbias < 0) return;
    programs_op(s, PROGRAMS_SHAPE_FEATURES, MESH_FMOVS, bias, programs_number(0), none);
    programs_op(s, PROGRAMS_SHAPE_TILE, MESH_FADDS, bias, bias, grad);
}

/* ---- nonlinearities -------------------------------------------------------------------------- */

/* Maps of one element: the value, and the derivative times the gradient. */
#define MAPS(name, function)                                                                       \
    static float name##_map(float x, float unused)                                                 \
    {                                                                                              \
        (void)unused;                                                                              \
        return function(x).value;                                                                  \
    }                                                                                              \
    static float name##_backward(float x, float dy)                                                \
    {                                                                                              \
        return dy * function(x).slope;                                                             \
    }

#define XX(name, word, function, operations) MAPS(word, function)
ZOO_FUNCTION_MAP(XX)
#undef XX

static const struct {
    mesh_map_fn forward, backward;
} functions[ZOO_N_FUNCTIONS] = {
#define XX(name, word, function, operations) {word##_map, word##_backward},
    ZOO_FUNCTION_MAP(XX)
#undef XX
};

/* Cycles of scalar code for each element; exponential and division are constants of the machine
 * file. */
static int activation_cycles(const struct programs_grid *g, enum zoo_nonlinearity f)
{
    return (int)cycles_function(f, g->exp_cycles, g->divide_cycles);
}

void programs_activate(struct programs_grid *g, struct programs_script *s, enum zoo_nonlinearity f,
                       const struct programs_tile *out, const struct programs_tile *x)
{
    const struct programs_map map = {functions[f].forward, activation_cycles(g, f)};
    programs_map(s, PROGRAMS_SHAPE_TILE, map, programs_tile_view(out), programs_tile_view(x), none);
}

void programs_activate_backward(struct programs_grid *g, struct programs_script *s,
                                enum zoo_nonlinearity f, const struct programs_tile *out,
                                const struct programs_tile *x, const struct programs_tile *dy)
{
    const struct programs_map map = {functions[f].backward, activation_cycles(g, f)};
    programs_map(s, PROGRAMS_SHAPE_TILE, map, programs_tile_view(out), programs_tile_view(x),
                 programs_tile_view(dy));
}

/* ---- rotary positions ------------------------------------------------------------------------ */

/* Even and odd slots are the two features of a pair: (e cos - o sin, o cos + e sin). */
void programs_rotate(struct programs_script *s, const struct programs_rotary *r)
{
    const struct programs_view even = {PROGRAMS_VIEW_TILE, r->x.address, 0, 2, 0, r->x.half, 0};
    const struct programs_view odd = {PROGRAMS_VIEW_TILE, r->x.address, 1, 2, 0, r->x.half, 0};
    const struct programs_view cosine = {
        PROGRAMS_VIEW_TILE, r->cosine.address, 0, 2, 0, r->x.half, 0};
    const struct programs_view sine = {PROGRAMS_VIEW_TILE, r->sine.address, 0, 2, 0, r->x.half, 0};
    const struct programs_view t = programs_tile_view(&r->tmp);
    struct programs_view u = t; /* the other half of tmp */
    u.row0 = r->x.f->slots / 2;
    const enum mesh_code minus = r->back ? MESH_FADDS : MESH_FSUBS;
    const enum mesh_code plus = r->back ? MESH_FSUBS : MESH_FADDS;
    programs_op(s, PROGRAMS_SHAPE_PAIRS, MESH_FMULS, t, even, sine);
    programs_op(s, PROGRAMS_SHAPE_PAIRS, MESH_FMULS, u, odd, sine);
    programs_op(s, PROGRAMS_SHAPE_PAIRS, MESH_FMULS, even, even, cosine);
    programs_op(s, PROGRAMS_SHAPE_PAIRS, MESH_FMULS, odd, odd, cosine);
    programs_op(s, PROGRAMS_SHAPE_PAIRS, minus, even, even, u);
    programs_op(s, PROGRAMS_SHAPE_PAIRS, plus, odd, odd, t);
}
