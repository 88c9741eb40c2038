// SPDX-License-Identifier: Apache-2.0
/* Computes the cycles of operations on the tile of a PE, its t tokens times its features: biases,
 * residual, norms, nonlinearities, rotary positions, softmax, tables of rows. Each is one vector
 * operation for the whole tile (a descriptor has up to four dimensions), with sums along the row
 * where features are added. cycles_parts.c assigns them to parts. */
#include "cycles_rows.h"
#include "cycles_fitted.h"
#include "cycles_vector.h"

#include <wsc/check.h>
#include <wsc/mesh.h>

#include <math.h>

/* ---- bias and residual ----------------------------------------------------------------------- */

double cycles_round(const struct cycles_layout *l, double features)
{
    return l->value < 1 ? cycles_convert(l, features * l->t) : 0;
}

double cycles_bias(const struct cycles_layout *l, double features)
{
    return cycles_vectors_in(l, features) + cycles_add(l, features * l->t);
}

double cycles_residual(const struct cycles_layout *l, double features)
{
    return cycles_add_tiles(l, features * l->t);
}

/** Sums of @p vectors vectors of @p features over the tokens: over those of a PE, then along y. */
double cycles_bias_gradient(const struct cycles_layout *l, double features, double vectors)
{
    return vectors * (cycles_copy(l, features) + cycles_sum(l, features * l->t)) +
           cycles_vectors_out(l, vectors * features);
}

/* ---- norms ----------------------------------------------------------------------------------- */

/** The input of a norm on a PE: its features (k), how many of them have a gain of their own, the
 *  number of sums (one per token and normalised group), and the columns over which these are
 *  added. */
struct normed {
    double k, gain, sums, cols;
    bool rms, bias;
    bool plain; /* no gain or bias: cycles_condition.c has the scale and shift of each sequence */
};

/** The norm of the residual stream. */
static struct normed stream(const struct cycles_layout *l)
{
    return (struct normed){.k = l->hidden.k,
                           .gain = l->hidden.k,
                           .sums = l->t,
                           .cols = l->cols,
                           .rms = l->model->zoo.norm_type == ZOO_RMSNORM,
                           .bias = l->model->zoo.norm_type == ZOO_LAYERNORM,
                           .plain = l->model->patch > 0};
}

/** The norm of the heads of queries (@p share 1) or of keys (keys per query head); all heads share
 *  one gain. */
static struct normed heads(const struct cycles_layout *l, double share)
{
    const enum zoo_qk_norm kind = l->model->zoo.attention_qk_norm_layer;
    return (struct normed){.k = l->heads.k * share,
                           .gain = l->heads.k / l->heads_per_pe,
                           .sums = l->heads_per_pe * share * l->t,
                           .cols = l->head_cols,
                           .rms = kind == ZOO_QK_RMSNORM,
                           .bias = kind == ZOO_QK_LAYERNORM};
}

/** Mean over the features of each token: a sum along the row, times 1 / features. */
static double mean(const struct cycles_layout *l, const struct normed *x)
{
    return cycles_copy(l, x->sums) + cycles_sum(l, x->k * l->t) +
           cycles_row_sum(l, x->cols, x->sums) + cycles_op(l->setup_add, x->sums, l->mul);
}

static double normalise(const struct cycles_layout *l, const struct normed *x)
{
    const double n = x->k * l->t;
    return (x->rms ? 0 : cycles_add(l, n)) + cycles_mul(l, n);
}

static double norm_again(const struct cycles_layout *l, const struct normed *x)
{
    const double n = x->k * l->t, vectors = x->bias ? 2 : 1;
    if (x->plain) return normalise(l, x);
    return cycles_vectors_in(l, vectors * x->gain) + normalise(l, x) + cycles_mul(l, n) +
           (x->bias ? cycles_add(l, n) : 0);
}

static double norm(const struct cycles_layout *l, const struct normed *x)
{
    const double n = x->k * l->t, means = (x->rms ? 1 : 2) * mean(l, x);
    const double root = cycles_copy(l, x->sums) + cycles_map(l, x->sums, 2 * l->divide);
    return norm_again(l, x) + means + cycles_mul_tiles(l, n) + root;
}

/** With g = dy gain: dx = (g - mean(g) - xhat mean(g xhat)) / sigma, added to the residual's
 *  gradient. */
static double input_gradient(const struct cycles_layout *l, const struct normed *x)
{
    const double n = x->k * l->t;
    double sums = 2 * cycles_copy(l, x->sums) + (x->rms ? 1 : 2) * cycles_sum(l, n) +
                  cycles_row_sum(l, x->cols, 2 * x->sums) +
                  2 * cycles_op(l->setup_add, x->sums, l->mul);
    double tiles = 3 * cycles_mul(l, n) + cycles_mul_tiles(l, n) + (x->rms ? 0 : cycles_add(l, n)) +
                   2 * cycles_add_tiles(l, n);
    return sums + 2 * normalise(l, x) + tiles;
}

static double vector_gradient(const struct cycles_layout *l, const struct normed *x)
{
    return normalise(l, x) + cycles_mul_tiles(l, x->k * l->t) +
           cycles_bias_gradient(l, x->k, x->bias ? 2 : 1);
}

double cycles_norm(const struct cycles_layout *l)
{
    const struct normed x = stream(l);
    return norm(l, &x);
}

double cycles_norm_input_gradient(const struct cycles_layout *l)
{
    const struct normed x = stream(l);
    return input_gradient(l, &x);
}

double cycles_norm_vector_gradient(const struct cycles_layout *l)
{
    const struct normed x = stream(l);
    return vector_gradient(l, &x);
}

double cycles_norm_again(const struct cycles_layout *l)
{
    const struct normed x = stream(l);
    return norm_again(l, &x);
}

double cycles_norm_gradient(const struct cycles_layout *l)
{
    if (l->model->patch) return cycles_norm_input_gradient(l) + cycles_norm_again(l);
    return cycles_vectors_in(l, l->hidden.k) + cycles_norm_input_gradient(l) +
           cycles_norm_vector_gradient(l) + cycles_norm_again(l);
}

double cycles_norm_before(const struct cycles_layout *l,
                          double (*pass)(const struct cycles_layout *l))
{
    return l->model->norm_last ? 0 : pass(l);
}

double cycles_head_norm(const struct cycles_layout *l)
{
    const struct normed x = heads(l, 1);
    return norm(l, &x);
}

double cycles_head_norm_vector_gradient(const struct cycles_layout *l)
{
    const struct normed x = heads(l, 1);
    return vector_gradient(l, &x);
}

double cycles_head_norm_input_gradient(const struct cycles_layout *l)
{
    const struct normed x = heads(l, 1);
    return cycles_vectors_in(l, x.gain) + input_gradient(l, &x);
}

double cycles_head_norms(const struct cycles_layout *l)
{
    const struct normed queries = heads(l, 1), keys = heads(l, (l->qkv - 1) / 2);
    if (!model_norms_heads(l->model)) return 0;
    return norm(l, &queries) + norm(l, &keys);
}

/** Attention keeps the outputs of these norms, so they are not recomputed. */
double cycles_head_norms_gradient(const struct cycles_layout *l)
{
    double sum = 0;
    for (int side = 0; side < 2 && model_norms_heads(l->model); side++) {
        const struct normed x = heads(l, side ? (l->qkv - 1) / 2 : 1);
        sum += cycles_vectors_in(l, x.gain) + input_gradient(l, &x) + vector_gradient(l, &x);
    }
    return sum;
}

/* ---- elementwise ----------------------------------------------------------------------------- */

double cycles_function(enum zoo_nonlinearity f, double exp, double divide)
{
#define XX(name, word, function, operations) operations,
    static const int operations[ZOO_N_FUNCTIONS] = {ZOO_FUNCTION_MAP(XX)};
#undef XX
    WSC_CHECK((unsigned)f < ZOO_N_FUNCTIONS, "nonlinearity %d", (int)f);
    return operations[f] ? operations[f] : exp + divide + CYCLES_POLYNOMIAL;
}

double cycles_nonlinearity(const struct cycles_layout *l, enum zoo_nonlinearity f, double features)
{
    return cycles_map(l, features * l->t, cycles_function(f, l->exp, l->divide));
}

double cycles_cap(const struct cycles_layout *l, double n)
{
    return cycles_map(l, n, l->exp + l->divide + CYCLES_POLYNOMIAL) +
           cycles_op(l->setup_add, n, l->mul);
}

/** True where the model's logits have a soft cap. */
static bool caps_logits(const struct cycles_layout *l)
{
    return l->model->zoo.final_logit_softcapping > 0;
}

/** The logits are divided by the cap, which is one more product, and then capped. */
double cycles_logit_cap(const struct cycles_layout *l, double logits)
{
    const double n = logits * l->t;
    return caps_logits(l) ? cycles_op(l->setup_add, n, l->mul) + cycles_cap(l, n) : 0;
}

double cycles_logit_cap_gradient(const struct cycles_layout *l, double logits)
{
    return caps_logits(l) ? cycles_map(l, logits * l->t, CYCLES_CAP_SLOPE) : 0;
}

/** Rotation of pairs of features: four products and two sums of half of the features. */
double cycles_rotary(const struct cycles_layout *l, double features)
{
    const double n = floor(features / 2) * l->t; /* pairs */
    return 4 * cycles_mul_tiles(l, n) + 2 * cycles_add_tiles(l, n);
}

/* ---- softmax over features ------------------------------------------------------------------- */

double cycles_softmax(const struct cycles_layout *l, double features)
{
    const double n = features * l->t;
    return 2 * cycles_copy(l, l->t) + cycles_mul(l, n) + 2 * cycles_row_sum(l, l->cols, l->t) +
           cycles_map(l, n, l->exp) + cycles_sum(l, n) + cycles_map(l, l->t, l->divide) +
           cycles_mul(l, n);
}

double cycles_softmax_gradient(const struct cycles_layout *l, double features)
{
    const double n = features * l->t;
    return cycles_copy(l, l->t) + cycles_mul_tiles(l, n) + cycles_sum(l, n) +
           cycles_row_sum(l, l->cols, l->t) + cycles_mul(l, n) + cycles_add_tiles(l, n);
}

/** Sinkhorn's normalisation of @p features logits per PE and token, in logarithms. Each of the
 *  sinkhorn_n_iters iterations is a softmax over the row, then a softmax over the tokens of a
 *  sequence, whose maximum and sum of exponentials go down the rows of the lane, one word per
 *  sequence and logit. A logarithm costs as much as an exponential (assumed: both are a polynomial
 *  of the rest of the exponent). */
static double sinkhorn(const struct cycles_layout *l, double features)
{
    const double n = features * l->t, words = features * l->texts;
    const double tokens = cycles_map(l, n, CYCLES_COMPARE) + 2 * cycles_row_sum(l, l->rows, words) +
                          cycles_map(l, n, l->exp) + cycles_sum(l, n) +
                          cycles_map(l, words, l->exp) + cycles_add(l, n);
    return (double)l->model->zoo.moe.sinkhorn_n_iters * (cycles_softmax(l, features) + tokens) +
           cycles_map(l, n, l->exp);
}

double cycles_router_map(const struct cycles_layout *l, enum zoo_router_map map, double features)
{
    if (map == ZOO_ROUTER_SINKHORN) return sinkhorn(l, features);
    if (map == ZOO_ROUTER_SOFTMAX) return cycles_softmax(l, features);
    return cycles_map(l, features * l->t, l->exp + l->divide);
}

/** The gradient of a sigmoid, d p (1 - p), is two products and a sum; Sinkhorn's normalisation
 *  passes no gradient. */
double cycles_router_map_gradient(const struct cycles_layout *l, enum zoo_router_map map,
                                  double features)
{
    const double n = features * l->t;
    if (map == ZOO_ROUTER_SINKHORN) return 0;
    if (map == ZOO_ROUTER_SOFTMAX) return cycles_softmax_gradient(l, features);
    return 2 * cycles_mul_tiles(l, n) + cycles_add(l, n);
}

/* ---- tables of rows -------------------------------------------------------------------------- */

/* Rows of a table pass the PEs of a column one after the other. A PE delays the rows after one
 * that several of its tokens need, by the operations of these tokens, and on WSE-3 also those after
 * a row that it copies, by the starts of two operations. The delay of the last row is the longest
 * chain of such delays: one PE for each row of the table, never back up the column. */

/** Rows that pass a PE while it computes: its queues hold their words. */
static double rows_ahead(const struct cycles_layout *l)
{
    return mesh_held_wavelets(l->hop > 1 ? MESH_WSE3 : MESH_WSE2) / l->hidden.k;
}

/** Delay that one PE gives the stream at one row of the table. */
struct row_delay {
    double mean, variance; /* cycles */
    double chance;         /* of any delay */
};

/** Delay when each of the t tokens of a PE needs one of @p rows rows, all equally likely (numbers
 *  of a binomial distribution), and a token that shares its row takes @p token cycles. */
static struct row_delay delay_of_row(const struct cycles_layout *l, double rows, double token)
{
    const double t = fmax(1, l->t), p = 1 / rows, start = 2 * l->setup_fabric;
    const double none = pow(1 - p, t), one = t * p * pow(1 - p, t - 1);
    const double sharing = t * p - one, squares = t * p * (1 - p) + t * p * t * p - one;
    const double mean = start * (1 - none) + token * sharing;
    const double square =
        start * start * (1 - none) + token * (2 * start * sharing + token * squares);
    return (struct row_delay){.mean = mean,
                              .variance = fmax(0, square - mean * mean),
                              .chance = start > 0 ? 1 - none : fmax(0, 1 - none - one)};
}

/** Longest chain of delays over @p rows rows and the PEs of a column, of which a PE lets @p ahead
 *  rows pass while it computes.  With many rows the chain exceeds the mean by the largest
 *  eigenvalue of a Gaussian matrix of one column of PEs, deviation sqrt(rows) (2 sqrt(PEs) - 1.77
 *  PEs^(-1/6)), and where delays are rare by that of the longest non-decreasing subsequence of a
 *  random word (Tracy and Widom 2001, arXiv math/9904042).  With few rows a row has its largest
 *  delay of PEs / rows PEs, about sqrt(2 ln(PEs / rows)) deviations; sqrt(2 ln(1 + 2 x)) has both
 *  limits. */
static double longest_chain(const struct cycles_layout *l, double rows, const struct row_delay *d,
                            double ahead)
{
    const double mean_tracy_widom = -1.7711, places = rows * l->rows * d->chance;
    const double fewer = fmax(pow(l->rows, -2.0 / 3), pow(fmax(1, places), -1.0 / 3));
    const double at_once = 1 + ahead, apart = fmax(0, 1 - ahead / rows);
    const double deviation = sqrt(d->variance / at_once * apart) *
                             sqrt(2 * log(1 + 2 * l->rows * at_once / rows)) *
                             fmax(0, 1 + mean_tracy_widom / 2 * fewer);
    return rows * fmin(d->mean + deviation, l->rows * d->mean);
}

/** Rows of a table come in; a token that shares its row takes @p token cycles. */
static double rows_in(const struct cycles_layout *l, double rows, double token)
{
    const struct row_delay d = delay_of_row(l, rows, token);
    return cycles_vectors_in(l, rows * l->hidden.k) + longest_chain(l, rows, &d, rows_ahead(l));
}

/** A multiply-add of the features of one token. */
static double token_axpy(const struct cycles_layout *l)
{
    return cycles_op(l->setup, l->hidden.k, l->mac);
}

/** Look up an embedding: every row of the table passes every PE, one word per cycle, and a PE
 *  copies the rows of its tokens. */
double cycles_gather(const struct cycles_layout *l, double rows)
{
    return rows_in(l, rows, cycles_mul(l, l->hidden.k));
}

double cycles_gather_added(const struct cycles_layout *l, double rows)
{
    return rows_in(l, rows, token_axpy(l));
}

/** Gradient of an embedding's table: every row is a sum along y, to which a PE adds the gradients
 *  of its tokens with that row. */
double cycles_scatter(const struct cycles_layout *l, double rows)
{
    const struct row_delay d = delay_of_row(l, rows, token_axpy(l));
    return cycles_vectors_out(l, rows * l->hidden.k) + longest_chain(l, rows, &d, 0);
}

/** Delay by positions: the tokens of a PE that have the same one are as many as its sequences, and
 *  @p at_once PEs compute at the same time. */
static double positions(const struct cycles_layout *l, double at_once)
{
    const double shared = l->seqs > 1 ? l->seqs * token_axpy(l) : 0;
    return l->tokens * (shared + 2 * l->setup_fabric) / at_once;
}

/** PEs of a column that have different positions. */
static double apart(const struct cycles_layout *l)
{
    return fmax(1, l->tokens / l->q);
}

double cycles_gather_positions(const struct cycles_layout *l, double rows)
{
    return cycles_vectors_in(l, rows * l->hidden.k) +
           positions(l, fmin(apart(l), 1 + rows_ahead(l)));
}

/* A PE adds its tokens of a position up while the rows before it pass. */
double cycles_scatter_positions(const struct cycles_layout *l, double rows)
{
    return cycles_vectors_out(l, rows * l->hidden.k) + positions(l, apart(l));
}
