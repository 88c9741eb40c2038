// SPDX-License-Identifier: Apache-2.0
/* Computes the cycles of a mixture of experts beside the products of its networks: the router, the
 * choice of experts by maxima along a row, gradients of their weights, the moves between tokens and
 * places. The equations describe program_router.c and program_experts.c (docs/MODEL.md, "Mixtures
 * of experts"). The programs show each operation beside simulated cycles; the parts of a stage add
 * them up. */
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

static bool weighs_apart(const struct cycles_layout *l)
{
    return zoo_moe_weighs_apart(&l->model->zoo.moe);
}

/** Number of experts that the router chooses for a token. slots(): number of feed-forward networks
 *  that a token goes through, shared ones included. */
static double chosen(const struct cycles_layout *l)
{
    return (double)l->model->active_experts;
}

static double slots(const struct cycles_layout *l)
{
    return (double)model_active_ffns(l->model);
}

/** Logits per token on a PE: the experts of its column. */
static double values(const struct cycles_layout *l)
{
    return cycles_side_of(l, l->model->experts).k;
}

/** Copies, and products with one factor per token or feature, of the numbers of a router: these are
 *  always 32-bit. */
static double move(const struct cycles_layout *l, double n)
{
    return cycles_op(l->setup_copy, n, l->add);
}

static double multiply(const struct cycles_layout *l, double n)
{
    return cycles_op(l->setup_add, n, l->mul);
}

/* ---- router ---------------------------------------------------------------------------------- */

static double maps(const struct cycles_layout *l,
                   double map(const struct cycles_layout *l, enum zoo_router_map which, double k))
{
    const struct zoo_moe *moe = &l->model->zoo.moe;
    return map(l, moe->router_selection_nonlinearity, values(l)) +
           (weighs_apart(l) ? map(l, moe->expert_weighting_nonlinearity, values(l)) : 0);
}

/** Choice of one expert per token: a maximum along the row, and a second one that takes the lowest
 *  index among equal logits. */
static double choice(const struct cycles_layout *l)
{
    const double n = values(l) * l->t;
    return 3 * move(l, l->t) + 2 * multiply(l, n) + cycles_map(l, n, CYCLES_COMPARE) +
           cycles_sum(l, n) + l->t * CYCLES_LABEL +
           (2 + weighs_apart(l)) * cycles_row_sum(l, l->cols, l->t);
}

/** The load-balancing loss: two vectors over the experts are summed over the tokens of each
 *  sequence, and leave the wafer. */
static double balance(const struct cycles_layout *l)
{
    struct cycles_layout one = *l;
    one.t = l->t / l->seqs;
    return l->t * CYCLES_LABEL * (1 + chosen(l)) + 3 * multiply(l, values(l) * l->t) +
           l->seqs * cycles_bias_gradient(&one, values(l), 2);
}

double cycles_route(const struct cycles_layout *l, bool balances)
{
    const double n = values(l) * l->t;
    const double scores = model_hash_routed(l->model)
                              ? move(l, n) + l->t * CYCLES_LABEL
                              : maps(l, cycles_router_map) + weighs_apart(l) * move(l, n);
    const double division =
        move(l, l->t) + cycles_map(l, l->t, l->divide) + 2 * chosen(l) * cycles_sum(l, l->t);
    return scores + move(l, n) + chosen(l) * choice(l) +
           l->model->zoo.moe.expert_weighting_normalization * division +
           (balances ? balance(l) : 0);
}

double cycles_route_gradient(const struct cycles_layout *l, bool balances)
{
    const double n = values(l) * l->t, q = l->t / l->seqs;
    const double cleared = (1 + weighs_apart(l)) * move(l, n);
    const double division = 4 * chosen(l) * cycles_sum(l, l->t);
    return cleared + 2 * chosen(l) * l->t * CYCLES_LABEL + move(l, l->t) +
           l->model->zoo.moe.expert_weighting_normalization * division +
           maps(l, cycles_router_map_gradient) + weighs_apart(l) * cycles_sum(l, n) +
           (balances ? l->t * CYCLES_LABEL +
                           l->seqs * (cycles_vectors_in(l, values(l)) + move(l, values(l) * q) +
                                      multiply(l, values(l) * q))
                     : 0);
}

double cycles_place_weights_gradient(const struct cycles_layout *l, double features)
{
    const double n = features * slots(l) * l->t;
    return move(l, slots(l) * l->t) + cycles_mul_tiles(l, n) + cycles_sum(l, n) +
           cycles_row_sum(l, l->cols, slots(l) * l->t);
}

/* ---- places ---------------------------------------------------------------------------------- */

double cycles_sort_places(const struct cycles_layout *l)
{
    enum { PASSES = 2 };
    return PASSES * slots(l) * l->t * CYCLES_LABEL;
}

/** A task for each token, which looks up each of its places. */
double cycles_move_places(const struct cycles_layout *l, bool adds)
{
    const double k = l->hidden.k;
    return l->t *
           (1 + slots(l) * (CYCLES_LABEL + (adds ? cycles_add_tiles(l, k) : cycles_copy(l, k))));
}

double cycles_weigh_places(const struct cycles_layout *l, double features)
{
    const double n = slots(l) * l->t;
    return n * CYCLES_LABEL + (l->value < 1 ? cycles_convert(l, n) : 0) +
           cycles_mul(l, features * n);
}

/* ---- parts of a stage ------------------------------------------------------------------------ */

double cycles_router_product(const struct cycles_layout *l)
{
    if (!l->model->experts || model_hash_routed(l->model)) return 0;
    return cycles_product(l, &l->hidden, (double)l->model->experts,
                          cycles_density_of(l, MODEL_ROUTER_W));
}

double cycles_router_product_gradient(const struct cycles_layout *l)
{
    const struct cycles_side experts = cycles_side_of(l, l->model->experts);
    if (!l->model->experts || model_hash_routed(l->model)) return 0;
    return cycles_product(l, &experts, l->hidden.n, cycles_density_of(l, MODEL_ROUTER_W)) +
           cycles_kind_gradient(l, &l->hidden, &experts, MODEL_ROUTER_W);
}

static bool balances(const struct cycles_layout *l)
{
    return l->model->load_balance > 0;
}

static bool weighs_inputs(const struct cycles_layout *l)
{
    return l->model->zoo.moe.probability_before_ffn;
}

/** Copy the input of each token to its places, times the weights of the experts where these
 *  multiply the input. */
static double inputs(const struct cycles_layout *l, bool weighted)
{
    return cycles_move_places(l, false) +
           (weighted && weighs_inputs(l) ? cycles_weigh_places(l, l->hidden.k) : 0);
}

double cycles_dispatch(const struct cycles_layout *l)
{
    if (!l->model->experts) return 0;
    return cycles_route(l, balances(l)) + cycles_sort_places(l) + inputs(l, true);
}

double cycles_combine(const struct cycles_layout *l)
{
    const double k = l->hidden.k;
    if (!l->model->experts) return 0;
    return (weighs_inputs(l) ? 0 : cycles_weigh_places(l, k)) + cycles_residual(l, k) +
           cycles_move_places(l, true);
}

/** Products of dy and the bias of every network, summed over features: the bias's part of the
 *  gradient of an expert's weight. */
static double bias_products(const struct cycles_layout *l)
{
    const struct model *m = l->model;
    const struct cycles_layout e = cycles_expert_layout(l);
    const double k = l->hidden.k;
    return (double)m->experts * (cycles_bias(&e, k) + cycles_residual(&e, k)) +
           (double)m->shared_experts * (cycles_bias(l, k) + cycles_residual(l, k));
}

double cycles_combine_gradient(const struct cycles_layout *l)
{
    const double k = l->hidden.k, f = l->filter.k;
    if (!l->model->experts) return 0;
    if (weighs_inputs(l)) return inputs(l, false);
    return inputs(l, false) + (l->model->zoo.use_ffn_bias ? bias_products(l) : 0) +
           cycles_place_weights_gradient(l, f) + cycles_weigh_places(l, f) +
           cycles_weigh_places(l, k);
}

double cycles_dispatch_gradient(const struct cycles_layout *l)
{
    const double k = l->hidden.k;
    if (!l->model->experts) return 0;
    const double weights = cycles_place_weights_gradient(l, k) + cycles_weigh_places(l, k);
    return inputs(l, false) + (weighs_inputs(l) ? weights + inputs(l, true) : 0) +
           (model_hash_routed(l->model) ? 0 : cycles_route_gradient(l, balances(l))) +
           cycles_move_places(l, true);
}
