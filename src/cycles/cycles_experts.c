// SPDX-License-Identifier: Apache-2.0
/* Cycles of what a mixture of experts does beside its products, as the programs of the mesh do it:
 * the choice of experts from their values along a row, gradients of their weights, the moves
 * between tokens and places (docs/MODEL.md, section 3).  program_router.c and program_experts.c put
 * them beside simulated cycles; the cycles of a stage have the functions of the logits alone
 * (cycles_parts.c). */
#include "cycles_rows.h"
#include "cycles_vector.h"

#include <wsc/cycles_ops.h>

static bool weighs_apart(const struct cycles_layout *l)
{
    return zoo_moe_weighs_apart(&l->model->zoo.moe);
}

static bool is_hash(const struct cycles_layout *l)
{
    return l->model->zoo.moe.routing_algorithm == ZOO_ROUTING_HASH;
}

/** Experts that a token chooses; networks that it goes through. */
static double chosen(const struct cycles_layout *l)
{
    return (double)l->model->active_experts;
}

static double slots(const struct cycles_layout *l)
{
    return (double)model_active_ffns(l->model);
}

/** Logits of experts that a PE has of a token. */
static double values(const struct cycles_layout *l)
{
    return cycles_side_of(l, l->model->experts).k;
}

/** Moves, and products of 32-bit numbers with a number for each token or feature: what a router
 *  computes with is never 16-bit. */
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

/** One choice: two maxima along the row, the second one of what is largest. */
static double choice(const struct cycles_layout *l)
{
    const double n = values(l) * l->t;
    return 3 * move(l, l->t) + 2 * multiply(l, n) + cycles_map(l, n, CYCLES_COMPARE) +
           cycles_sum(l, n) + l->t * CYCLES_LABEL +
           (2 + weighs_apart(l)) * cycles_row_sum(l, l->cols, l->t);
}

/** Sums over the tokens of a sequence of two vectors of experts, which leave. */
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
    const double scores = is_hash(l) ? move(l, n) + l->t * CYCLES_LABEL
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

/** A task for each token, which looks each place up. */
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
