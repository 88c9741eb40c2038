// SPDX-License-Identifier: Apache-2.0
/* Computes a mixture of experts (Shazeer et al. 2017). A token goes through the networks that the
 * router (host_router.c) chooses and through the shared ones. The weight of a network multiplies
 * its result, or its input with probability_before_ffn. A pair of a token and one of its networks
 * is a *place*. Places are sorted by leaf, then by network, then by token, so the tokens of a
 * network in a leaf are consecutive rows: a weight gradient of a leaf is one product, and the
 * shapes of products depend on the tokens of the leaf alone. */
#include "host_experts.h"
#include "host_activation.h"
#include "host_branch.h"
#include "host_buffers.h"
#include "host_ffn.h"
#include "host_grad.h"
#include "host_gradient.h"
#include "host_operands.h"
#include "host_order.h"
#include "host_router.h"
#include "host_row_blocks.h"
#include "host_state.h"

#include <wsc/check.h>
#include <wsc/num_math.h>

#include <string.h>

/* A place: a row, and one of the slots for its networks. */
struct place {
    int64_t row, slot;
};

static struct place *places(const struct host *k)
{
    return (struct place *)k->buffer[HOST_ORDER] +
           host_router_kept_layer(k) * k->max_rows * host_router_slots(k);
}

/* Input of the networks (N, C): the output of the norm before them. */
static const void *inputs(const struct host *k)
{
    return k->model->norm3 ? k->buffer[HOST_XN]
                           : host_kept_operands(k, HOST_NORMED, k->stage.layer, k->model->C);
}

/* ---- the order */

/* Sort the places of a leaf by network, with one pass over the leaf for each network; rows stay in
 * order. */
static void sort_leaf(void *ctx, int64_t leaf, int thread)
{
    struct host *k = ctx;
    const struct host_span *rows = &k->leaf[leaf];
    const int64_t S = host_router_slots(k), n_ffns = model_n_ffns(k->model);
    struct host_chosen *slot = host_router_chosen(k) + rows->row * S;
    int64_t *range = host_expert_ranges(k, leaf), at = rows->row * S;
    (void)thread;
    for (int64_t e = 0; e < n_ffns; e++) {
        range[e] = at;
        for (int64_t i = 0; i < rows->n * S; i++) {
            if (slot[i].expert != e) continue;
            slot[i].at = at;
            places(k)[at++] = (struct place){.row = rows->row + i / S, .slot = i % S};
        }
    }
    range[n_ffns] = at;
}

/* A function to run on the places of every leaf and network, some rows at a time. */
struct each_place {
    struct host *k;
    void (*rows)(struct host *k, const struct host_span *places, int64_t expert, int thread);
};

static void run_places(void *ctx, int64_t item, int thread)
{
    const struct each_place *each = ctx;
    const int64_t n_ffns = model_n_ffns(each->k->model), expert = item % n_ffns;
    const struct host_span all = host_expert_rows(each->k, &each->k->leaf[item / n_ffns], expert);
    for (int64_t at = 0; at < all.n; at += HOST_BLOCK_ROWS) {
        const int64_t left = all.n - at;
        const struct host_span some = {.row = all.row + at,
                                       .n = left < HOST_BLOCK_ROWS ? left : HOST_BLOCK_ROWS};
        each->rows(each->k, &some, expert, thread);
    }
}

static void each_place(struct host *k, void (*rows)(struct host *k, const struct host_span *places,
                                                    int64_t expert, int thread))
{
    struct each_place each = {.k = k, .rows = rows};
    num_parallel(k->n_leaves * model_n_ffns(k->model), run_places, &each);
}

/* The weight of a place's network. */
static float weight_at(const struct host *k, const struct place *p)
{
    return host_router_chosen(k)[p->row * host_router_slots(k) + p->slot].weight;
}

/* out (n, C) = the rows of @p from (N, C) to which the places belong. */
static void collect(const struct host *k, const struct host_span *p, const void *from, void *out)
{
    const int64_t C = k->model->C;
    const struct place *place = places(k) + p->row;
    for (int64_t i = 0; i < p->n; i++)
        memcpy(host_at(k, out, i * C), host_const_at(k, from, place[i].row * C),
               (size_t)C * (k->fp32 ? 4 : 2));
}

/* Copy the inputs (n, C) of a network's places, times their weights if these act on inputs. */
static void collect_inputs(const struct host *k, const struct host_span *p, void *out, int thread)
{
    const int64_t C = k->model->C;
    float *row = host_thread(k, thread, HOST_ROW);
    collect(k, p, inputs(k), out);
    for (int64_t i = 0; k->model->zoo.moe.probability_before_ffn && i < p->n; i++) {
        void *x = host_at(k, out, i * C);
        const float *wide = host_widened(k, x, row, C);
        if (wide != row) memcpy(row, wide, (size_t)C * sizeof *row);
        num_scale(row, weight_at(k, places(k) + p->row + i), C);
        host_to_operands(k, x, row, C);
    }
}

/* ---- forward */

static void ffn0_places(struct host *k, const struct host_span *p, int64_t expert, int thread)
{
    const int64_t width = model_ffn_features(k->model);
    void *xn = host_thread(k, thread, HOST_OPERAND);
    float *pre =
        host_kept(k, HOST_PRE, k->stage.layer, host_router_slots(k) * width) + p->row * width;
    collect_inputs(k, p, xn, thread);
    host_ffn_linear(k, xn, p->n, expert, NULL, pre);
}

void host_experts_ffn0(struct host *k)
{
    host_router_choose(k);
    num_parallel(k->n_leaves, sort_leaf, k);
    each_place(k, ffn0_places);
}

/* Compute the results (n, C) of a network for its places, without weights. */
static void ffn1_places(struct host *k, const struct host_span *p, int64_t expert, int thread)
{
    const int64_t C = k->model->C, F = k->model->F, width = model_ffn_features(k->model);
    const float *pre =
        host_kept(k, HOST_PRE, k->stage.layer, host_router_slots(k) * width) + p->row * width;
    const float *bias = host_expert_vector(k, MODEL_FFN1_B, expert);
    float *out = (float *)k->buffer[HOST_PLACES] + p->row * C;
    void *act = host_thread(k, thread, HOST_OPERAND);
    struct num_product shape = host_linear_shape(p->n, F, C);
    host_ffn_activate(k, p, pre, act, thread);
    host_product(k, &shape, act, host_expert_weight(k, MODEL_FFN1_W, expert), out);
    for (int64_t i = 0; bias && i < p->n; i++)
        num_add(out + i * C, bias, C);
}

/* sum (C) = results of the row's networks, times their weights, added in the order of the slots. */
static void sum_places(const struct host *k, int64_t row, bool weighted, float *sum)
{
    const int64_t C = k->model->C, S = host_router_slots(k);
    const struct host_chosen *slot = host_router_chosen(k) + row * S;
    memset(sum, 0, (size_t)C * sizeof *sum);
    for (int64_t s = 0; s < S; s++) {
        const float *result = (const float *)k->buffer[HOST_PLACES] + slot[s].at * C;
        const float weight = weighted ? slot[s].weight : 1;
        for (int64_t c = 0; c < C; c++)
            sum[c] += weight * result[c];
    }
}

/* The branch is the weighted sum of the results of a token's networks, in the order of its
 * slots. */
static void combine_rows(struct host *k, const struct host_span *b, int thread)
{
    const int64_t C = k->model->C;
    float *sum = host_branch_out(k, &host_ffn_branch, b, thread);
    for (int64_t i = 0; i < b->n; i++)
        sum_places(k, b->row + i, !k->model->zoo.moe.probability_before_ffn, sum + i * C);
    host_add_branch(k, &host_ffn_branch, b, sum, NULL, thread);
}

void host_experts_ffn1(struct host *k)
{
    each_place(k, ffn1_places);
    host_each_block(k, combine_rows);
}

/* ---- backward of the second layers */

static void gradient_rows(struct host *k, const struct host_span *b, int thread)
{
    (void)host_branch_gradient(k, &host_ffn_branch, b, thread);
}

/* Multiply the activation's gradient @p dact (F) by the weight; returns the gradient of the
 * weight, the product of @p dact and the activation. */
static float weigh(const struct host *k, float *dact, const float *pre, float weight, int thread)
{
    float *act = host_thread(k, thread, HOST_ROW);
    host_activate(k->model, act, pre);
    const float gradient = num_dot(dact, act, k->model->F);
    num_scale(dact, weight, k->model->F);
    return gradient;
}

/* For the places of a network: the gradient of each weight (result times dy), dy times the weight,
 * and the gradient before the nonlinearity. */
static void ffn1_places_backward(struct host *k, const struct host_span *p, int64_t expert,
                                 int thread)
{
    const int64_t C = k->model->C, F = k->model->F, width = model_ffn_features(k->model);
    const int64_t S = host_router_slots(k);
    const bool before = k->model->zoo.moe.probability_before_ffn;
    const float *pre = host_kept(k, HOST_PRE, k->stage.layer, S * width) + p->row * width;
    const float *bias = host_expert_vector(k, MODEL_FFN1_B, expert);
    float *dact = host_thread(k, thread, HOST_WIDE), *row = host_thread(k, thread, HOST_ROW2);
    void *dy = host_thread(k, thread, HOST_OPERAND);
    struct num_product shape = host_linear_back_shape(p->n, F, C);
    collect(k, p, host_branch_gradients(k), dy);
    host_product(k, &shape, dy, host_expert_weight(k, MODEL_FFN1_W, expert), dact);
    for (int64_t i = 0; i < p->n; i++) {
        const struct place *place = places(k) + p->row + i;
        const float weight = before ? 1 : weight_at(k, place);
        const float *d = host_widened(k, host_const_at(k, dy, i * C), row, C);
        float *dweight = (float *)k->buffer[HOST_DCHOSEN] + place->row * S + place->slot;
        *dweight = bias ? num_dot(d, bias, C) : 0;
        *dweight += weigh(k, dact + i * F, pre + i * width, weight, thread);
        if (d != row) memcpy(row, d, (size_t)C * sizeof *row);
        num_scale(row, weight, C);
        host_to_operands(k, host_at(k, k->buffer[HOST_PLACES_DY], (p->row + i) * C), row, C);
    }
    host_ffn_activate_backward(k, p, pre, dact, host_at(k, k->buffer[HOST_ACT], p->row * F),
                               host_at(k, k->buffer[HOST_DPRE], p->row * width), thread);
}

void host_experts_ffn1_backward(struct host *k)
{
    const int64_t C = k->model->C, F = k->model->F;
    const void *dy = k->buffer[HOST_PLACES_DY];
    struct host_grad grad[2];
    host_each_block(k, gradient_rows);
    each_place(k, ffn1_places_backward);
    for (int64_t e = 0; e < model_n_ffns(k->model); e++) {
        grad[0] = host_expert_linear_grad(MODEL_FFN1_W, e, C, F, dy, C, k->buffer[HOST_ACT]);
        grad[1] = host_expert_bias_grad(MODEL_FFN1_B, e, C, dy, C);
        host_sum_grads(k, grad, 2);
    }
    host_sum_grads(k, grad, host_branch_norm_grads(k, &host_ffn_branch, grad));
}

/* ---- backward of router and first layers */

/* Recompute the output of the norm. */
static void normed_rows(struct host *k, const struct host_span *b, int thread)
{
    (void)host_ffn_normed(k, b, host_at(k, k->buffer[HOST_XN], b->row * k->model->C), true, thread);
}

/* If weights act on inputs: compute the gradient of each weight, the place's input times the
 * gradient of the network's input, and multiply that gradient by the weight. */
static void weigh_inputs_backward(const struct host *k, const struct host_span *p, int thread)
{
    const int64_t C = k->model->C, S = host_router_slots(k);
    float *row = host_thread(k, thread, HOST_ROW);
    for (int64_t i = 0; i < p->n; i++) {
        const struct place *place = places(k) + p->row + i;
        float *d = (float *)k->buffer[HOST_PLACES] + (p->row + i) * C;
        const float *x = host_widened(k, host_const_at(k, inputs(k), place->row * C), row, C);
        ((float *)k->buffer[HOST_DCHOSEN])[place->row * S + place->slot] = num_dot(d, x, C);
        num_scale(d, weight_at(k, place), C);
    }
}

/* Recompute the input of each place for the weight gradient, and compute its gradient, one row for
 * each place. */
static void ffn0_places_backward(struct host *k, const struct host_span *p, int64_t expert,
                                 int thread)
{
    const int64_t C = k->model->C, width = model_ffn_features(k->model);
    collect_inputs(k, p, host_at(k, k->buffer[HOST_PLACES_XN], p->row * C), thread);
    host_ffn_linear_back(k, host_at(k, k->buffer[HOST_DPRE], p->row * width), p->n, expert, NULL,
                         (float *)k->buffer[HOST_PLACES] + p->row * C);
    if (k->model->zoo.moe.probability_before_ffn) weigh_inputs_backward(k, p, thread);
}

/* dxn of a token: the sum over its places, in the order of its slots, plus the router's part. */
static void input_rows_backward(struct host *k, const struct host_span *b, int thread)
{
    const int64_t C = k->model->C, E = k->model->experts;
    float *dxn = (float *)k->buffer[HOST_DXN] + b->row * C;
    struct num_product shape = host_linear_back_shape(b->n, C, E);
    (void)thread;
    for (int64_t i = 0; i < b->n; i++)
        sum_places(k, b->row + i, false, dxn + i * C);
    shape.beta = 1;
    host_product(k, &shape, host_at(k, k->buffer[HOST_DROUTED], b->row * E),
                 k->stage.weight[MODEL_ROUTER_W], dxn);
    host_ffn_norm_backward(k, b);
}

/* Sum the weight gradients of one network. A model without gate or biases has no such tensors. */
static void sum_expert_grads(struct host *k, int64_t e)
{
    const int64_t C = k->model->C, F = k->model->F, width = model_ffn_features(k->model);
    const void *dpre = k->buffer[HOST_DPRE], *dgate = host_at(k, k->buffer[HOST_DPRE], F);
    const void *xn = k->buffer[HOST_PLACES_XN];
    struct host_grad grad[4] = {host_expert_linear_grad(MODEL_FFN0_W, e, F, C, dpre, width, xn),
                                host_expert_bias_grad(MODEL_FFN0_B, e, F, dpre, width),
                                host_expert_linear_grad(MODEL_GLU_W, e, F, C, dgate, width, xn),
                                host_expert_bias_grad(MODEL_GLU_B, e, F, dgate, width)};
    host_sum_grads(k, grad, 4);
}

void host_experts_ffn0_backward(struct host *k)
{
    const int64_t C = k->model->C, E = k->model->experts;
    struct host_grad grad[3];
    host_each_block(k, normed_rows);
    each_place(k, ffn0_places_backward);
    host_each_block(k, host_router_rows_backward);
    host_each_block(k, input_rows_backward);
    for (int64_t e = 0; e < model_n_ffns(k->model); e++)
        sum_expert_grads(k, e);
    grad[0] = host_linear_grad(MODEL_ROUTER_W, E, C, k->buffer[HOST_DROUTED], E, inputs(k));
    host_sum_grads(k, grad, 1 + host_ffn_norm_grads(k, grad + 1));
}
