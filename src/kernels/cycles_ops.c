// SPDX-License-Identifier: Apache-2.0
#include "cycles_impl.h"

#include <math.h>

enum {
    NORM_OPS = 3,          /* subtract mean, times 1/sigma, times gain plus bias */
    NORM_GRADIENT_OPS = 4, /* times gain, minus two means, times 1/sigma, into the residual */
    NONLINEARITY_OPS = 8,  /* the polynomial around one exponential and one division */
    SOFTMAX_OPS = 3,       /* running maximum, minus maximum, running sum */
};

/** One vector operation of @p n elements. */
double kernels_cycles_vector(const struct layout *l, double n, double rate)
{
    return n > 0 ? l->setup + ceil(n / rate) : 0;
}

/** Features of a PE when @p n features are spread over the columns of a lane. */
double kernels_cycles_features(const struct layout *l, int64_t n)
{
    return ceil((double)n / l->cols);
}

/** Chain of receive, add, send over the columns of a lane: latency of its first element. */
static double row_latency(const struct layout *l)
{
    return l->relay * (l->cols - 1);
}

/** Y = X W' with weights streamed in: each weight is one AXPY over the PE's tokens, each finished
 *  output one addition of the neighbour's partial sums; the link carries one 32-bit sum a cycle. */
double kernels_cycles_product(const struct layout *l, int64_t n_in, int64_t n_out)
{
    double k = kernels_cycles_features(l, n_in);
    double output =
        k * kernels_cycles_vector(l, l->t, l->mac) + kernels_cycles_vector(l, l->t, l->add);
    return (double)n_out * fmax(output, l->t) + row_latency(l);
}

/** One row of dW: receive the output gradient of the PE's tokens, a dot product over them for
 *  each feature of the PE, then the sum over y, and at the edge over lanes. */
double kernels_cycles_gradient_row(const struct layout *l, int64_t n_in)
{
    double k = kernels_cycles_features(l, n_in);
    double sum = kernels_cycles_vector(l, k, l->add) * (l->lanes > 1 ? 2 : 1);
    return kernels_cycles_vector(l, l->t, l->fast) + k * kernels_cycles_vector(l, l->t, l->mac) +
           sum;
}

/** The chain over y, and over the lanes along the edge. */
double kernels_cycles_gradient_latency(const struct layout *l)
{
    return l->relay * (l->rows - 1) + (l->lanes - 1) * (l->relay + l->cols * l->hop);
}

double kernels_cycles_weight_gradient(const struct layout *l, int64_t n_in, int64_t n_out)
{
    return (double)n_out * kernels_cycles_gradient_row(l, n_in) +
           kernels_cycles_gradient_latency(l);
}

/** @p ops vector operations on each of the PE's features. */
double kernels_cycles_pointwise(const struct layout *l, double features, double ops)
{
    return features * ops * kernels_cycles_vector(l, l->t, l->fast);
}

/** Two sums over the hidden features (along x) and their way back, for each token of the PE. */
static double two_row_sums(const struct layout *l)
{
    return 2 * kernels_cycles_vector(l, l->t, l->add) + row_latency(l) + l->cols * l->hop;
}

double kernels_cycles_norm(const struct layout *l)
{
    double sums =
        l->k * (kernels_cycles_vector(l, l->t, l->add) + kernels_cycles_vector(l, l->t, l->mac));
    return sums + two_row_sums(l) + l->t * l->divide + kernels_cycles_pointwise(l, l->k, NORM_OPS);
}

/** Normalises again, then the two means of the input gradient, and gain and bias gradients. */
double kernels_cycles_norm_gradient(const struct layout *l)
{
    double dots = 2 * l->k * kernels_cycles_vector(l, l->t, l->mac);
    double gain_and_bias =
        l->k * (kernels_cycles_vector(l, l->t, l->mac) + kernels_cycles_vector(l, l->t, l->add)) +
        2 * kernels_cycles_vector(l, l->k, l->add) + kernels_cycles_gradient_latency(l);
    return kernels_cycles_norm(l) + dots + two_row_sums(l) +
           kernels_cycles_pointwise(l, l->k, NORM_GRADIENT_OPS) + gain_and_bias;
}

/** The nonlinearity of the PE's filter features, or its derivative. */
double kernels_cycles_nonlinearity(const struct layout *l)
{
    if (l->model->nonlinearity == CONF_RELU) return kernels_cycles_pointwise(l, l->f, 1);
    return l->f * l->t * (l->exp + l->divide) + kernels_cycles_pointwise(l, l->f, NONLINEARITY_OPS);
}

/* ---- attention: keys of a sequence stream past its queries, as weights do ---- */

/** Key steps of a PE: every key of each sequence it holds tokens of. */
static double keys(const struct layout *l)
{
    return l->seqs * (double)l->model->T;
}

/** Per key one AXPY for each feature of the PE. */
static double key_axpys(const struct layout *l)
{
    return keys(l) * l->k * kernels_cycles_vector(l, l->q_mean, l->mac);
}

/** Sum over a head's features (Q K', dO V'): AXPYs, then the chain over the head's columns. */
static double contract_features(const struct layout *l)
{
    double chain = l->heads_per_pe * kernels_cycles_vector(l, l->q_mean, l->add);
    return key_axpys(l) + (l->head_cols > 1 ? keys(l) * chain : 0);
}

/** Sum over keys (P V, dS K): each PE of the head receives the row of P, then AXPYs. */
static double contract_keys(const struct layout *l)
{
    return key_axpys(l) + keys(l) * l->heads_per_pe * kernels_cycles_vector(l, l->q_mean, l->fast);
}

/** Sum over queries (P' dO, dS' Q): dot products, then the chain over the sequence's rows. */
static double contract_queries(const struct layout *l)
{
    return key_axpys(l) + keys(l) * kernels_cycles_vector(l, l->k, l->add);
}

/** Key steps whose scores end on this PE: the head's columns take turns. */
static double score_rows(const struct layout *l)
{
    return l->seqs * ceil((double)l->model->T * l->heads_per_pe / l->head_cols);
}

static double probabilities(const struct layout *l)
{
    double ops = SOFTMAX_OPS * kernels_cycles_vector(l, l->q_mean, l->add);
    return score_rows(l) * (ceil(l->q_mean * l->exp) + ops);
}

/** O = softmax(Q K') V, causal, normalised once at the end. */
double kernels_cycles_attention(const struct layout *l)
{
    double normalise =
        l->k * kernels_cycles_vector(l, l->t, l->mul) + l->heads_per_pe * l->t * l->divide;
    return contract_features(l) + probabilities(l) + contract_keys(l) + normalise;
}

/** Dao et al. 2022, algorithm 4: scores again, then dV, dP, dS, dQ, dK. */
double kernels_cycles_attention_gradient(const struct layout *l)
{
    double row_dots =
        l->k * kernels_cycles_vector(l, l->t, l->mac) + kernels_cycles_vector(l, l->t, l->add);
    double ds = score_rows(l) * (kernels_cycles_vector(l, l->q_mean, l->add) +
                                 2 * kernels_cycles_vector(l, l->q_mean, l->mul));
    return 2 * contract_features(l) + probabilities(l) + ds + contract_keys(l) +
           2 * contract_queries(l) + row_dots;
}
