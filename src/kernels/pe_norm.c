// SPDX-License-Identifier: Apache-2.0
#include "host_math.h"
#include "pe_ops.h"

enum wsc_err kernels_pe_mark(struct pe_grid *g, int *mark)
{
    return mesh_reserve(g->m, pe_all(g), 0, 0, "nothing", mark);
}

enum wsc_err kernels_pe_release(struct pe_grid *g, int mark)
{
    return mesh_release(g->m, pe_all(g), mark);
}

static const struct pe_view none = {.kind = PE_VIEW_NONE};

/* ---- norms ----------------------------------------------------------------------------------- */

struct norm_views {
    struct pe_view x, mean, rstd, gain, bias;
    float share; /* 1 / features */
};

static struct norm_views views_of(const struct pe_grid *g, const struct pe_norm *n)
{
    return (struct norm_views){.x = pe_tile_view(&n->x),
                               .mean = pe_view(PE_VIEW_TOKENS, n->stats),
                               .rstd = pe_view(PE_VIEW_TOKENS, n->stats + 4 * g->pitch),
                               .gain = pe_view(PE_VIEW_FEATURES, n->gain),
                               .bias = pe_view(PE_VIEW_FEATURES, n->bias),
                               .share = 1.0F / (float)n->x.f->n};
}

/* 1 / sqrt(variance + eps): eps comes with the operand. */
static float reciprocal_root(float variance, float eps)
{
    return 1.0F / sqrtf(variance + eps);
}

/* out = xhat, from the statistics. */
static void xhat(struct pe_script *s, const struct norm_views *v, bool rms, struct pe_view out)
{
    if (!rms) kernels_pe_op(s, PE_SHAPE_TILE, MESH_FSUBS, out, v->x, v->mean);
    kernels_pe_op(s, PE_SHAPE_TILE, MESH_FMULS, out, rms ? v->x : out, v->rstd);
}

static void gain_and_bias(struct pe_script *s, const struct norm_views *v, int bias,
                          struct pe_view out)
{
    kernels_pe_op(s, PE_SHAPE_TILE, MESH_FMULS, out, out, v->gain);
    if (bias >= 0) kernels_pe_op(s, PE_SHAPE_TILE, MESH_FADDS, out, out, v->bias);
}

void kernels_pe_norm_forward(struct pe_grid *g, struct pe_script *s, const struct pe_norm *n,
                             const struct pe_tile *out, const struct pe_tile *tmp)
{
    const struct norm_views v = views_of(g, n);
    const struct pe_view to = pe_tile_view(out), square = pe_tile_view(tmp);
    const struct pe_map root = {reciprocal_root, 2 * g->divide_cycles};
    kernels_pe_op(s, PE_SHAPE_TOKENS, MESH_FMOVS, v.mean, pe_number(0), none);
    kernels_pe_op(s, PE_SHAPE_TOKENS, MESH_FMOVS, v.rstd, pe_number(0), none);
    if (!n->rms) {
        kernels_pe_op(s, PE_SHAPE_TILE, MESH_FADDS, v.mean, v.mean, v.x);
        kernels_pe_row_sum(s, MESH_FADDS, v.mean, 1);
        kernels_pe_op(s, PE_SHAPE_TOKENS, MESH_FMULS, v.mean, v.mean, pe_number(v.share));
        kernels_pe_op(s, PE_SHAPE_TILE, MESH_FSUBS, to, v.x, v.mean);
    }
    const struct pe_view centred = n->rms ? v.x : to;
    kernels_pe_op(s, PE_SHAPE_TILE, MESH_FMULS, square, centred, centred);
    kernels_pe_op(s, PE_SHAPE_TILE, MESH_FADDS, v.rstd, v.rstd, square);
    kernels_pe_row_sum(s, MESH_FADDS, v.rstd, 1);
    kernels_pe_op(s, PE_SHAPE_TOKENS, MESH_FMULS, v.rstd, v.rstd, pe_number(v.share));
    /* The row of squares is free again: it holds eps for the map. */
    const struct pe_view eps = pe_view(PE_VIEW_TOKENS, tmp->address);
    kernels_pe_op(s, PE_SHAPE_TOKENS, MESH_FMOVS, eps, pe_number(n->eps), none);
    kernels_pe_map(s, PE_SHAPE_TOKENS, root, v.rstd, v.rstd, eps);
    kernels_pe_op(s, PE_SHAPE_TILE, MESH_FMULS, to, centred, v.rstd);
    gain_and_bias(s, &v, n->bias, to);
}

void kernels_pe_norm_again(struct pe_grid *g, struct pe_script *s, const struct pe_norm *n,
                           const struct pe_tile *out)
{
    const struct norm_views v = views_of(g, n);
    xhat(s, &v, n->rms, pe_tile_view(out));
    gain_and_bias(s, &v, n->bias, pe_tile_view(out));
}

/* With g = dy gain: dx = (g - mean(g) - xhat mean(g xhat)) / sigma; without mean(g) for RMS. */
void kernels_pe_norm_backward(struct pe_grid *g, struct pe_script *s, const struct pe_norm *n,
                              const struct pe_tile *dy, const struct pe_tile *dres,
                              const struct pe_tile *tmp)
{
    const struct norm_views v = views_of(g, n);
    const struct pe_view grad = pe_tile_view(dy), x = pe_tile_view(tmp), to = pe_tile_view(dres);
    const struct pe_view mean_g = pe_view(PE_VIEW_TOKENS, n->sums);
    const struct pe_view mean_gx = pe_view(PE_VIEW_TOKENS, n->sums + 4 * g->pitch);
    kernels_pe_op(s, PE_SHAPE_TILE, MESH_FMULS, grad, grad, v.gain);
    kernels_pe_op(s, PE_SHAPE_TOKENS, MESH_FMOVS, mean_g, pe_number(0), none);
    kernels_pe_op(s, PE_SHAPE_TOKENS, MESH_FMOVS, mean_gx, pe_number(0), none);
    if (!n->rms) kernels_pe_op(s, PE_SHAPE_TILE, MESH_FADDS, mean_g, mean_g, grad);
    xhat(s, &v, n->rms, x);
    kernels_pe_op(s, PE_SHAPE_TILE, MESH_FMULS, x, x, grad);
    kernels_pe_op(s, PE_SHAPE_TILE, MESH_FADDS, mean_gx, mean_gx, x);
    kernels_pe_row_sum(s, MESH_FADDS, mean_g, 2);
    kernels_pe_op(s, PE_SHAPE_TOKENS, MESH_FMULS, mean_g, mean_g, pe_number(v.share));
    kernels_pe_op(s, PE_SHAPE_TOKENS, MESH_FMULS, mean_gx, mean_gx, pe_number(v.share));
    xhat(s, &v, n->rms, x);
    kernels_pe_op(s, PE_SHAPE_TILE, MESH_FMULS, x, x, mean_gx);
    if (!n->rms) kernels_pe_op(s, PE_SHAPE_TILE, MESH_FSUBS, grad, grad, mean_g);
    kernels_pe_op(s, PE_SHAPE_TILE, MESH_FSUBS, grad, grad, x);
    kernels_pe_op(s, PE_SHAPE_TILE, MESH_FMULS, grad, grad, v.rstd);
    kernels_pe_op(s, PE_SHAPE_TILE, MESH_FADDS, to, to, grad);
}

void kernels_pe_norm_gradients(struct pe_grid *g, struct pe_script *s, const struct pe_norm *n,
                               const struct pe_tile *dy, const struct pe_tile *tmp, int dgain,
                               int dbias)
{
    const struct norm_views v = views_of(g, n);
    const struct pe_view grad = pe_tile_view(dy), x = pe_tile_view(tmp);
    const struct pe_view gain = pe_view(PE_VIEW_FEATURES, dgain);
    const struct pe_view bias = pe_view(PE_VIEW_FEATURES, dbias);
    kernels_pe_op(s, PE_SHAPE_FEATURES, MESH_FMOVS, gain, pe_number(0), none);
    xhat(s, &v, n->rms, x);
    kernels_pe_op(s, PE_SHAPE_TILE, MESH_FMULS, x, x, grad);
    kernels_pe_op(s, PE_SHAPE_TILE, MESH_FADDS, gain, gain, x);
    if (dbias < 0) return;
    kernels_pe_op(s, PE_SHAPE_FEATURES, MESH_FMOVS, bias, pe_number(0), none);
    kernels_pe_op(s, PE_SHAPE_TILE, MESH_FADDS, bias, bias, grad);
}

/* ---- nonlinearities -------------------------------------------------------------------------- */

static float gelu(float x, float unused)
{
    (void)unused;
    return host_gelu(x).value;
}
static float gelu_backward(float x, float dy)
{
    return dy * host_gelu(x).slope;
}
static float gelu_new(float x, float unused)
{
    (void)unused;
    return host_gelu_new(x).value;
}
static float gelu_new_backward(float x, float dy)
{
    return dy * host_gelu_new(x).slope;
}
static float relu(float x, float unused)
{
    (void)unused;
    return host_relu(x).value;
}
static float relu_backward(float x, float dy)
{
    return dy * host_relu(x).slope;
}
/* x sigmoid(x) (Elfwing et al. 2017). */
static float silu(float x, float unused)
{
    (void)unused;
    return x / (1.0F + host_exp(-x));
}
static float silu_backward(float x, float dy)
{
    float s = 1.0F / (1.0F + host_exp(-x));
    return dy * (s + x * s * (1.0F - s));
}

/* One exponential and one division an element and the polynomial around them, which docs/MODEL.md
 * puts at 8 operations; ReLU is a comparison and a move. */
enum { POLYNOMIAL_CYCLES = 8, RELU_CYCLES = 2 };
static const struct {
    mesh_map_fn forward, backward;
    bool plain;
} functions[] = {[PE_GELU] = {gelu, gelu_backward, false},
                 [PE_GELU_NEW] = {gelu_new, gelu_new_backward, false},
                 [PE_SILU] = {silu, silu_backward, false},
                 [PE_RELU] = {relu, relu_backward, true}};

static int activation_cycles(const struct pe_grid *g, enum pe_nonlinearity f)
{
    return functions[f].plain ? RELU_CYCLES : g->exp_cycles + g->divide_cycles + POLYNOMIAL_CYCLES;
}

void kernels_pe_activate(struct pe_grid *g, struct pe_script *s, enum pe_nonlinearity f,
                         const struct pe_tile *out, const struct pe_tile *x)
{
    const struct pe_map map = {functions[f].forward, activation_cycles(g, f)};
    kernels_pe_map(s, PE_SHAPE_TILE, map, pe_tile_view(out), pe_tile_view(x), none);
}

void kernels_pe_activate_backward(struct pe_grid *g, struct pe_script *s, enum pe_nonlinearity f,
                                  const struct pe_tile *out, const struct pe_tile *x,
                                  const struct pe_tile *dy)
{
    const struct pe_map map = {functions[f].backward, activation_cycles(g, f)};
    kernels_pe_map(s, PE_SHAPE_TILE, map, pe_tile_view(out), pe_tile_view(x), pe_tile_view(dy));
}

/* ---- rotary positions ------------------------------------------------------------------------ */

void kernels_pe_rotate(struct pe_script *s, const struct pe_rotary *r)
{
    const struct pe_view even = {PE_VIEW_TILE, r->x.address, 0, 2, 0};
    const struct pe_view odd = {PE_VIEW_TILE, r->x.address, 1, 2, 0};
    const struct pe_view cosine = {PE_VIEW_TILE, r->cosine.address, 0, 2, 0};
    const struct pe_view sine = {PE_VIEW_TILE, r->sine.address, 0, 2, 0};
    const struct pe_view t = pe_tile_view(&r->tmp);
    struct pe_view u = t; /* the other half of tmp */
    u.row0 = r->x.f->slots / 2;
    const enum mesh_code minus = r->back ? MESH_FADDS : MESH_FSUBS;
    const enum mesh_code plus = r->back ? MESH_FSUBS : MESH_FADDS;
    kernels_pe_op(s, PE_SHAPE_PAIRS, MESH_FMULS, t, even, sine);
    kernels_pe_op(s, PE_SHAPE_PAIRS, MESH_FMULS, u, odd, sine);
    kernels_pe_op(s, PE_SHAPE_PAIRS, MESH_FMULS, even, even, cosine);
    kernels_pe_op(s, PE_SHAPE_PAIRS, MESH_FMULS, odd, odd, cosine);
    kernels_pe_op(s, PE_SHAPE_PAIRS, minus, even, even, u);
    kernels_pe_op(s, PE_SHAPE_PAIRS, plus, odd, odd, t);
}
