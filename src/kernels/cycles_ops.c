// SPDX-License-Identifier: Apache-2.0
#include "cycles_impl.h"

#include <math.h>

enum {
    NORM_OPS = 3,          /* subtract mean, times 1/sigma, times gain plus bias */
    NORM_GRADIENT_OPS = 4, /* times gain, minus two means, times 1/sigma, into the residual */
    NONLINEARITY_OPS = 8,  /* the polynomial around one exponential and one division */
    SOFTMAX_OPS = 3,       /* running maximum, minus maximum, running sum */
};

/* Additions into one scalar, per cycle: each waits two cycles for the one before (FABRICA). */
static const double SCALAR_SUM_RATE = 0.5;

/** One vector operation of @p n elements. */
double kernels_cycles_vector(const struct layout *l, double n, double rate)
{
    return n > 0 ? l->setup + ceil(n / rate) : 0;
}

/** One multiply-add of @p n elements by a scalar, as it comes in a loop: the machine's multiply-add
 *  takes two vectors and a scalar, and for each scalar anew the addresses of the vectors. */
double kernels_cycles_axpy(const struct layout *l, double n)
{
    return n > 0 ? l->loop + kernels_cycles_vector(l, n, l->mac) : 0;
}

/** Products of two vectors of @p n elements, added to a third: no multiply-add does that. */
static double multiply_and_add(const struct layout *l, double n)
{
    return kernels_cycles_vector(l, n, l->mul) + kernels_cycles_vector(l, n, l->add);
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
    double output = k * kernels_cycles_axpy(l, l->t) + kernels_cycles_vector(l, l->t, l->add);
    return (double)n_out * fmax(output, l->t) + row_latency(l);
}

/* ---- sums over tokens ------------------------------------------------------------------------ */

/** Results, of @p k features each, that a PE has room to build at once. */
static double block_of_results(const struct layout *l, double k, int64_t n_out)
{
    return fmax(1, fmin((double)n_out, floor(l->room / k)));
}

/** Outer products of @p n tokens with the PE's @p k features, added to @p block results: an AXPY
 *  over the results for each token and feature, or one over the features for each token and result.
 */
static double outer_products(const struct layout *l, double n, double k, double block)
{
    double over_results = n * k * kernels_cycles_axpy(l, block);
    double over_features = n * block * kernels_cycles_axpy(l, k);
    return ceil(fmin(over_results, over_features));
}

/** Sums over the PE's tokens of each of its @p features: token by token a vector of features, or
 *  feature by feature into a scalar, where each addition waits for the one before. */
double kernels_cycles_token_sums(const struct layout *l, double features)
{
    double by_token = l->t * kernels_cycles_vector(l, features, l->add);
    double by_feature = features * kernels_cycles_vector(l, l->t, SCALAR_SUM_RATE);
    return fmin(by_token, by_feature);
}

/** @p rows rows of dW at once: receive the output gradients of the PE's tokens (the link carries
 * one a cycle), their products with the PE's @p k features, then the sums over y, and at the edge
 * over lanes. */
static double gradient_rows(const struct layout *l, double k, double rows)
{
    double receive = l->t * kernels_cycles_vector(l, rows, l->fast);
    double sums = kernels_cycles_vector(l, k * rows, l->add) * (l->lanes > 1 ? 2 : 1);
    return fmax(receive + outer_products(l, l->t, k, rows) + sums, l->t * rows);
}

/** All @p n_out rows of dW, block by block. */
static double gradient_by_rows(const struct layout *l, int64_t n_in, int64_t n_out)
{
    double k = kernels_cycles_features(l, n_in), block = block_of_results(l, k, n_out);
    double whole = floor((double)n_out / block), rest = (double)n_out - whole * block;
    return whole * gradient_rows(l, k, block) + (rest > 0 ? gradient_rows(l, k, rest) : 0);
}

/** The chain over y, and over the lanes along the edge. */
double kernels_cycles_gradient_latency(const struct layout *l)
{
    return l->relay * (l->rows - 1) + (l->lanes - 1) * (l->relay + l->cols * l->hop);
}

bool kernels_cycles_by_columns(const struct layout *l, int64_t n_in, int64_t n_out)
{
    return gradient_by_rows(l, n_out, n_in) < gradient_by_rows(l, n_in, n_out);
}

double kernels_cycles_weight_gradient(const struct layout *l, int64_t n_in, int64_t n_out)
{
    double rows = fmin(gradient_by_rows(l, n_in, n_out), gradient_by_rows(l, n_out, n_in));
    return rows + kernels_cycles_gradient_latency(l);
}

double kernels_cycles_first_rows(const struct layout *l, int64_t n_in, int64_t n_out)
{
    bool columns = kernels_cycles_by_columns(l, n_in, n_out);
    double k = kernels_cycles_features(l, columns ? n_out : n_in);
    return gradient_rows(l, k, block_of_results(l, k, columns ? n_in : n_out));
}

/* ---- features of a token --------------------------------------------------------------------- */

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
    double sums = l->k * (kernels_cycles_vector(l, l->t, l->add) + multiply_and_add(l, l->t));
    return sums + two_row_sums(l) + l->t * l->divide + kernels_cycles_pointwise(l, l->k, NORM_OPS);
}

/** Normalises again, then the two means of the input gradient (one with the gain, one with the
 *  normalised value), and gain and bias gradients. */
double kernels_cycles_norm_gradient(const struct layout *l)
{
    double means = l->k * (kernels_cycles_axpy(l, l->t) + multiply_and_add(l, l->t));
    double gain_and_bias =
        2 * kernels_cycles_token_sums(l, l->k) + l->k * kernels_cycles_vector(l, l->t, l->mul) +
        2 * kernels_cycles_vector(l, l->k, l->add) + kernels_cycles_gradient_latency(l);
    return kernels_cycles_norm(l) + means + two_row_sums(l) +
           kernels_cycles_pointwise(l, l->k, NORM_GRADIENT_OPS) + gain_and_bias;
}

/** The nonlinearity of @p features of the PE, or its derivative. */
double kernels_cycles_nonlinearity(const struct layout *l, double features)
{
    if (l->model->nonlinearity == CONF_RELU) return kernels_cycles_pointwise(l, features, 1);
    return features * l->t * (l->exp + l->divide) +
           kernels_cycles_pointwise(l, features, NONLINEARITY_OPS);
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
    return keys(l) * l->k * kernels_cycles_axpy(l, l->q_mean);
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

/** @p rows keys of a sum over queries: outer products, then the chain over the sequence's rows. */
static double query_sums(const struct layout *l, double rows)
{
    return outer_products(l, l->q_mean, l->k, rows) + kernels_cycles_vector(l, l->k * rows, l->add);
}

/** Sum over queries (P' dO, dS' Q): a weight gradient whose rows are the keys. */
static double contract_queries(const struct layout *l)
{
    double T = (double)l->model->T, block = block_of_results(l, l->k, l->model->T);
    double whole = floor(T / block), rest = T - whole * block;
    return l->seqs * (whole * query_sums(l, block) + (rest > 0 ? query_sums(l, rest) : 0));
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

/** O = softmax(Q K') V, normalised once at the end. */
double kernels_cycles_attention(const struct layout *l)
{
    double normalise =
        l->k * kernels_cycles_vector(l, l->t, l->mul) + l->heads_per_pe * l->t * l->divide;
    return contract_features(l) + probabilities(l) + contract_keys(l) + normalise;
}

/** Dao et al. 2022, algorithm 4: scores again, then dV, dP, dS, dQ, dK. */
double kernels_cycles_attention_gradient(const struct layout *l)
{
    double row_dots = l->k * multiply_and_add(l, l->t) + kernels_cycles_vector(l, l->t, l->add);
    double ds = score_rows(l) * (kernels_cycles_vector(l, l->q_mean, l->add) +
                                 2 * kernels_cycles_vector(l, l->q_mean, l->mul));
    return 2 * contract_features(l) + probabilities(l) + ds + contract_keys(l) +
           2 * contract_queries(l) + row_dots;
}
