// SPDX-License-Identifier: Apache-2.0
/* Cycles of a mixture of experts beside the products of its networks (the host's operations are
 * host_router.c and host_experts.c).  The weights of every expert pass every PE; a PE multiplies
 * them with those of its tokens that chose the expert, which it has collected into a tile before:
 * the vectors of a multiply-add are those of a descriptor, and no descriptor skips tokens.  A token
 * and one expert that it chose are a place; places are collected and added up one after the other,
 * by scalar code.  No program of the mesh does this. */
#include "cycles_experts.h"

#include "cycles_product.h"
#include "cycles_rows.h"
#include "cycles_sparse.h"
#include "cycles_vector.h"

#include <math.h>

struct cycles_layout cycles_expert_layout(const struct cycles_layout *l)
{
    const struct model *m = l->model;
    struct cycles_layout e = *l;
    if (m->experts) e.t = ceil(l->t * (double)m->active_experts / (double)m->experts);
    return e;
}

static bool is_hash(const struct cycles_layout *l)
{
    return l->model->zoo.moe.routing_algorithm == ZOO_ROUTING_HASH;
}

/** Logits of a PE. */
static double logits(const struct cycles_layout *l)
{
    return cycles_side_of(l, l->model->experts).k * l->t;
}

/** Places of a PE. */
static double places(const struct cycles_layout *l)
{
    return l->t * (double)l->model->active_experts;
}

/** Scalar code of each place: a loop's end, a load, a store. */
static double visit(const struct cycles_layout *l)
{
    return places(l) * CYCLES_VISIT;
}

/** One operation of @p cycles on the features of each place, in a loop. */
static double each_place(const struct cycles_layout *l, double cycles)
{
    return places(l) * (l->loop + cycles);
}

/** The tiles of all experts, of @p features features a PE, times the weights of their tokens. */
static double weigh(const struct cycles_layout *l, double features)
{
    const struct cycles_layout e = cycles_expert_layout(l);
    return (double)l->model->experts * cycles_mul(&e, features * e.t);
}

/** Gradients of weights: for each place the product of two tiles of an expert added up over its
 *  @p features features a PE, then along the row. */
static double weigh_gradient(const struct cycles_layout *l, double features)
{
    const struct cycles_layout e = cycles_expert_layout(l);
    const double n = features * e.t;
    return (double)l->model->experts *
               (cycles_copy(&e, e.t) + cycles_mul_tiles(&e, n) + cycles_sum(&e, n)) +
           cycles_row_sum(l, l->cols, places(l));
}

/* ---- router ---------------------------------------------------------------------------------- */

double cycles_router_product(const struct cycles_layout *l)
{
    if (!l->model->experts) return 0;
    return cycles_product(l, &l->hidden, (double)l->model->experts,
                          cycles_density_of(l, MODEL_ROUTER_W));
}

double cycles_router_product_gradient(const struct cycles_layout *l)
{
    const struct cycles_side experts = cycles_side_of(l, l->model->experts);
    if (!l->model->experts) return 0;
    return cycles_product(l, &experts, l->hidden.n, cycles_density_of(l, MODEL_ROUTER_W)) +
           cycles_kind_gradient(l, &l->hidden, &experts, MODEL_ROUTER_W);
}

/** What a router makes of its logits, with two functions where the weights have one of their own.
 *  Hash routing has the logits and their softmax too, of which nothing depends. */
static double maps(const struct cycles_layout *l,
                   double map(const struct cycles_layout *l, enum zoo_router_map which, double k))
{
    const struct zoo_moe *moe = &l->model->zoo.moe;
    const double k = cycles_side_of(l, l->model->experts).k;
    if (is_hash(l)) return map(l, ZOO_ROUTER_SOFTMAX, k);
    return map(l, moe->router_selection_nonlinearity, k) +
           (zoo_moe_weighs_apart(moe) ? map(l, moe->expert_weighting_nonlinearity, k) : 0);
}

/** One expert of each token: the largest value, of equals the first, along the row; it is taken out
 *  where it lies.  Weights of another function are picked there and sent along the row. */
static double choose_one(const struct cycles_layout *l)
{
    const double pick = cycles_copy(l, l->t) + cycles_row_sum(l, l->cols, l->t);
    return 2 * cycles_copy(l, l->t) + cycles_largest(l, logits(l)) + l->t * CYCLES_VISIT +
           (zoo_moe_weighs_apart(&l->model->zoo.moe) ? pick + l->t * CYCLES_VISIT : 0);
}

/** The chosen weights over their sum. */
static double normalise(const struct cycles_layout *l)
{
    const double active = (double)l->model->active_experts;
    if (!l->model->zoo.moe.expert_weighting_normalization) return 0;
    return active * (cycles_add(l, l->t) + cycles_mul(l, l->t)) + cycles_map(l, l->t, l->divide);
}

/** Experts and weights of all tokens, on every PE of the row, and the list of each expert. */
static double choose(const struct cycles_layout *l)
{
    if (is_hash(l)) return visit(l);
    return (double)l->model->active_experts * choose_one(l) + normalise(l) + visit(l);
}

/** Through the division by the sum, then to the logits where the PE has them. */
static double choose_gradient(const struct cycles_layout *l)
{
    const double active = (double)l->model->active_experts;
    const bool divided = l->model->zoo.moe.expert_weighting_normalization;
    return (divided ? active * (2 * cycles_mul(l, l->t) + 2 * cycles_add(l, l->t)) : 0) +
           cycles_copy(l, logits(l)) + visit(l);
}

/** Of each expert and sequence the tokens that chose it and its mean value, down the rows; its
 *  gradient is the same for all tokens. */
static double balance(const struct cycles_layout *l)
{
    const double n = logits(l), words = cycles_side_of(l, l->model->experts).k * l->texts;
    if (!(l->model->load_balance > 0)) return 0;
    return cycles_map(l, n, CYCLES_COMPARE) + 2 * cycles_copy(l, words) + 2 * cycles_sum(l, n) +
           cycles_row_sum(l, l->rows, 2 * words) + cycles_mul(l, words) + cycles_add(l, n);
}

/* ---- places ---------------------------------------------------------------------------------- */

/** Do weights multiply what a network takes, instead of what it gives? */
static bool before(const struct cycles_layout *l)
{
    return l->model->zoo.moe.probability_before_ffn && !is_hash(l);
}

static bool after(const struct cycles_layout *l)
{
    return !l->model->zoo.moe.probability_before_ffn && !is_hash(l);
}

/** Rows of tokens to the tiles of their experts. */
static double collect(const struct cycles_layout *l)
{
    return each_place(l, cycles_copy(l, l->hidden.k));
}

/** Inputs of the networks. */
static double collect_inputs(const struct cycles_layout *l)
{
    return collect(l) + (before(l) ? weigh(l, l->hidden.k) : 0);
}

double cycles_dispatch(const struct cycles_layout *l)
{
    if (!l->model->experts) return 0;
    return maps(l, cycles_router_map) + choose(l) + collect_inputs(l);
}

/** Results of places, and of shared networks, added up by token; @p weighted: times their weights,
 *  tile by tile before or each by a multiply-add with a scalar, whichever is faster. */
static double add_up(const struct cycles_layout *l, bool weighted)
{
    const double k = l->hidden.k, added = each_place(l, cycles_add(l, k));
    const double scaled = each_place(l, cycles_op(l->setup, k, l->mac));
    return cycles_copy(l, k * l->t) + (weighted ? fmin(scaled, weigh(l, k) + added) : added) +
           (double)l->model->shared_experts * cycles_residual(l, k);
}

double cycles_combine(const struct cycles_layout *l)
{
    return l->model->experts ? add_up(l, after(l)) : 0;
}

/** The gradient of a weight is that of the unweighted activation times the activation, and dy times
 *  the bias. */
double cycles_combine_gradient(const struct cycles_layout *l)
{
    const struct model *m = l->model;
    if (!m->experts) return 0;
    if (!after(l)) return collect(l);
    const struct cycles_layout e = cycles_expert_layout(l);
    const double n = e.hidden.k * e.t;
    const double bias =
        m->zoo.use_ffn_bias ? (double)m->experts * (cycles_mul(&e, n) + cycles_sum(&e, n)) : 0;
    return collect(l) + weigh_gradient(l, l->filter.k) + bias + weigh(l, l->filter.k) +
           weigh(l, l->hidden.k);
}

double cycles_dispatch_gradient(const struct cycles_layout *l)
{
    if (!l->model->experts) return 0;
    const double weights = before(l) ? weigh_gradient(l, l->hidden.k) + weigh(l, l->hidden.k) : 0;
    const double choice = is_hash(l) ? 0 : choose_gradient(l) + balance(l);
    return collect_inputs(l) + add_up(l, false) + weights + choice +
           maps(l, cycles_router_map_gradient);
}
