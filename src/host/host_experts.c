// SPDX-License-Identifier: Apache-2.0
/* A mixture of experts (Shazeer et al. 2017; top-k of a softmax as in Jiang et al. 2024): every
 * token goes through the networks that a router chooses and through the shared ones.
 *
 * The pairs of a token and one of its networks are *places*.  They are sorted by leaf, then by
 * network, then by token, so that a network's tokens of a leaf are consecutive rows: products have
 * shapes that depend on the leaf's tokens alone, and a weight gradient of a leaf is one product. */
#include "host_experts.h"
#include "host_activation.h"
#include "host_branch.h"
#include "host_buffers.h"
#include "host_ffn.h"
#include "host_grad.h"
#include "host_gradient.h"
#include "host_operands.h"
#include "host_order.h"
#include "host_row_blocks.h"
#include "host_state.h"

#include <wsc/check.h>
#include <wsc/num_math.h>

#include <string.h>

/* Networks of a token: chosen experts, then the shared ones. */
static int64_t n_slots(const struct host *k)
{
    return model_active_ffns(k->model);
}

/* Copy number of a kept buffer. */
static int64_t kept_layer(const struct host *k)
{
    return k->training ? k->stage.layer : 0;
}

/* Probabilities of a layer's router (N, E). */
static float *routed(const struct host *k, int64_t layer)
{
    return host_kept(k, HOST_ROUTED, layer, k->model->experts);
}

/* The networks of every row (N, S). */
static struct host_chosen *chosen(const struct host *k, int64_t layer)
{
    return (struct host_chosen *)k->buffer[HOST_CHOSEN] + layer * k->max_rows * n_slots(k);
}

/* Place p of the order: which row and which of its slots. */
struct place {
    int64_t row, slot;
};

static struct place *places(const struct host *k)
{
    return (struct place *)k->buffer[HOST_ORDER] + kept_layer(k) * k->max_rows * n_slots(k);
}

/* Input of the networks (N, C): the output of the norm before them. */
static const void *inputs(const struct host *k)
{
    return k->model->norm3 ? k->buffer[HOST_XN]
                           : host_kept_operands(k, HOST_NORMED, k->stage.layer, k->model->C);
}

/* ---- the router */

/* In place over the E experts of a row. */
static void softmax(float *p, int64_t n)
{
    const float sum = num_exp_row(p, p, num_max(p, n), n);
    for (int64_t e = 0; e < n; e++)
        p[e] /= sum;
}

/* The most probable expert of those not taken yet; of equals the first. */
static int32_t most_probable(const struct host_chosen *taken, int64_t n_taken, const float *p,
                             int64_t n)
{
    int32_t best = -1;
    for (int32_t e = 0; e < n; e++) {
        bool free = true;
        for (int64_t s = 0; s < n_taken; s++)
            free = free && taken[s].expert != e;
        if (free && (best < 0 || p[e] > p[best])) best = e;
    }
    return best;
}

/* Weights: the chosen probabilities, divided by their sum and what the null expert takes. */
static void choose(const struct model *m, const float *p, struct host_chosen *slot)
{
    float sum = (float)m->zoo.moe.null_expert_bias;
    for (int64_t s = 0; s < m->active_experts; s++) {
        slot[s].expert = most_probable(slot, s, p, m->experts);
        slot[s].weight = p[slot[s].expert];
        sum += slot[s].weight;
    }
    for (int64_t s = 0; m->zoo.moe.expert_weighting_normalization && s < m->active_experts; s++)
        slot[s].weight /= sum;
    for (int64_t s = 0; s < m->shared_experts; s++) {
        struct host_chosen *shared = &slot[m->active_experts + s];
        *shared = (struct host_chosen){.expert = (int32_t)(m->experts + s), .weight = 1};
    }
}

/* Probabilities and choice of a block of rows. Hash routing chooses by the token's id modulo E. */
static void route_rows(struct host *k, const struct host_span *b, int thread)
{
    const struct model *m = k->model;
    const int64_t E = m->experts, S = n_slots(k), l = k->stage.layer;
    float *p = routed(k, l) + b->row * E;
    const void *xn = host_ffn_normed(
        k, b, m->norm3 ? host_at(k, k->buffer[HOST_XN], b->row * m->C) : NULL, false, thread);
    struct num_product shape = host_linear_shape(b->n, m->C, E);
    host_product(k, &shape, xn, k->stage.weight[MODEL_ROUTER_W], p);
    for (int64_t i = 0; i < b->n; i++) {
        float *row = p + i * E;
        if (m->zoo.moe.routing_algorithm == ZOO_ROUTING_HASH) {
            memset(row, 0, (size_t)E * sizeof *row);
            row[k->batch->input_ids[b->row + i] % E] = 1;
        } else {
            softmax(row, E);
        }
        choose(m, row, chosen(k, kept_layer(k)) + (b->row + i) * S);
    }
}

/* ---- the order */

/* Sort a leaf's pairs by network: one pass over the leaf for each, rows stay in order. */
static void sort_leaf(void *ctx, int64_t leaf, int thread)
{
    struct host *k = ctx;
    const struct host_span *rows = &k->leaf[leaf];
    const int64_t S = n_slots(k), n_ffns = model_n_ffns(k->model);
    struct host_chosen *slot = chosen(k, kept_layer(k)) + rows->row * S;
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

/* Work on the places of every leaf and network, some rows at a time. */
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

/* out (n, C) = the rows of @p from (N, C) that the places stand for. */
static void collect(const struct host *k, const struct host_span *p, const void *from, void *out)
{
    const int64_t C = k->model->C;
    const struct place *place = places(k) + p->row;
    for (int64_t i = 0; i < p->n; i++)
        memcpy(host_at(k, out, i * C), host_const_at(k, from, place[i].row * C),
               (size_t)C * (k->fp32 ? 4 : 2));
}

/* ---- forward */

static void ffn0_places(struct host *k, const struct host_span *p, int64_t expert, int thread)
{
    const int64_t width = model_ffn_features(k->model);
    void *xn = host_thread(k, thread, HOST_OPERAND);
    float *pre = host_kept(k, HOST_PRE, k->stage.layer, n_slots(k) * width) + p->row * width;
    collect(k, p, inputs(k), xn);
    host_ffn_linear(k, xn, p->n, expert, NULL, pre);
}

void host_experts_ffn0(struct host *k)
{
    host_each_block(k, route_rows);
    num_parallel(k->n_leaves, sort_leaf, k);
    each_place(k, ffn0_places);
}

/* Results (n, C) of a network for its places, not yet weighted. */
static void ffn1_places(struct host *k, const struct host_span *p, int64_t expert, int thread)
{
    const int64_t C = k->model->C, F = k->model->F, width = model_ffn_features(k->model);
    const float *pre = host_kept(k, HOST_PRE, k->stage.layer, n_slots(k) * width) + p->row * width;
    const float *bias = host_expert_vector(k, MODEL_FFN1_B, expert);
    float *out = (float *)k->buffer[HOST_PLACES] + p->row * C;
    void *act = host_thread(k, thread, HOST_OPERAND);
    struct num_product shape = host_linear_shape(p->n, F, C);
    host_ffn_activate(k, p, pre, act, thread);
    host_product(k, &shape, act, host_expert_weight(k, MODEL_FFN1_W, expert), out);
    for (int64_t i = 0; bias && i < p->n; i++)
        num_add(out + i * C, bias, C);
}

/* sum (C) = the row's networks' results, times their weights, one after the other. */
static void sum_places(const struct host *k, int64_t row, bool weighted, float *sum)
{
    const int64_t C = k->model->C, S = n_slots(k);
    const struct host_chosen *slot = chosen(k, kept_layer(k)) + row * S;
    memset(sum, 0, (size_t)C * sizeof *sum);
    for (int64_t s = 0; s < S; s++) {
        const float *result = (const float *)k->buffer[HOST_PLACES] + slot[s].at * C;
        const float weight = weighted ? slot[s].weight : 1;
        for (int64_t c = 0; c < C; c++)
            sum[c] += weight * result[c];
    }
}

/* The weighted sum of a token's networks, in the order of its slots, is the branch. */
static void combine_rows(struct host *k, const struct host_span *b, int thread)
{
    const int64_t C = k->model->C;
    float *sum = host_branch_out(k, &host_ffn_branch, b, thread);
    for (int64_t i = 0; i < b->n; i++)
        sum_places(k, b->row + i, true, sum + i * C);
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

/* What weight @p w and its gradient take from one place: @p dact (F) is the gradient of the
 * unweighted activation, and becomes that of the weighted one. */
static float weigh(const struct host *k, float *dact, const float *pre, float weight, int thread)
{
    float *act = host_thread(k, thread, HOST_ROW);
    host_activate(k->model, act, pre);
    const float gradient = num_dot(dact, act, k->model->F);
    num_scale(dact, weight, k->model->F);
    return gradient;
}

/* For the places of a network: gradient of each weight (its result times dy), dy times the weight,
 * and the gradient before the nonlinearity. */
static void ffn1_places_backward(struct host *k, const struct host_span *p, int64_t expert,
                                 int thread)
{
    const int64_t C = k->model->C, F = k->model->F, width = model_ffn_features(k->model);
    const int64_t S = n_slots(k);
    const float *pre = host_kept(k, HOST_PRE, k->stage.layer, S * width) + p->row * width;
    const float *bias = host_expert_vector(k, MODEL_FFN1_B, expert);
    float *dact = host_thread(k, thread, HOST_WIDE), *row = host_thread(k, thread, HOST_ROW2);
    void *dy = host_thread(k, thread, HOST_OPERAND);
    struct num_product shape = host_linear_back_shape(p->n, F, C);
    collect(k, p, host_branch_gradients(k), dy);
    host_product(k, &shape, dy, host_expert_weight(k, MODEL_FFN1_W, expert), dact);
    for (int64_t i = 0; i < p->n; i++) {
        const struct place *place = places(k) + p->row + i;
        const struct host_chosen *slot = chosen(k, kept_layer(k)) + place->row * S + place->slot;
        const float *d = host_widened(k, host_const_at(k, dy, i * C), row, C);
        float *dweight = (float *)k->buffer[HOST_DCHOSEN] + place->row * S + place->slot;
        *dweight = bias ? num_dot(d, bias, C) : 0;
        *dweight += weigh(k, dact + i * F, pre + i * width, slot->weight, thread);
        if (d != row) memcpy(row, d, (size_t)C * sizeof *row);
        num_scale(row, slot->weight, C);
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

/* ---- load balancing: Fedus et al. 2022 (Switch), eq. 4, as the Model Zoo takes it: per sample,
 * with both factors averaged over the layers and over the tokens of the loss mask */

/* Fraction of a sample's tokens that each expert gets. */
static double *load_of(const struct host *k, int64_t sample)
{
    return (double *)k->buffer[HOST_LOAD] + sample * k->model->experts;
}

/* Tokens of the sample that count. */
static int64_t count_mask(const struct host *k, int64_t sample)
{
    const int64_t T = k->model->T;
    int64_t n = 0;
    for (int64_t t = 0; t < T; t++)
        n += k->batch->mask[sample * T + t] != 0;
    return n;
}

/* Mean probability of expert @p e, and the share of tokens that it gets, which is kept. */
static double balance_of(const struct host *k, int64_t sample, int64_t e, int64_t n)
{
    const struct model *m = k->model;
    double probability = 0, count = 0;
    for (int64_t l = 0; l < m->L; l++) {
        const float *p = routed(k, l);
        const struct host_chosen *slot = chosen(k, l);
        for (int64_t row = sample * m->T; row < (sample + 1) * m->T; row++) {
            if (!k->batch->mask[row]) continue;
            probability += (double)p[row * m->experts + e];
            for (int64_t s = 0; s < m->active_experts; s++)
                count += slot[row * n_slots(k) + s].expert == e;
        }
    }
    const double each = (double)(n * m->L);
    load_of(k, sample)[e] = count / each;
    return probability / each * (count / each);
}

/* E times the sum over experts of mean probability times fraction of tokens, times the factor of
 * the params file; sample by sample in double precision. */
double host_balance_loss(const struct host *k, const struct host_span *leaf)
{
    const struct model *m = k->model;
    double sum = 0;
    if (!m->experts || !(m->load_balance > 0)) return 0;
    for (int64_t row = leaf->row; row < leaf->row + leaf->n; row += m->T) {
        const int64_t sample = row / m->T, n = count_mask(k, sample);
        double product = 0;
        for (int64_t e = 0; n && e < m->experts; e++)
            product += balance_of(k, sample, e, n);
        sum += product * (m->balance_by_tokens ? (double)n : 1);
    }
    return sum * m->load_balance * (double)m->experts;
}

/* Its gradient with respect to the probability of expert @p e at a token of the mask. */
static float balance_gradient(const struct host *k, int64_t row, int64_t e)
{
    const struct model *m = k->model;
    const int64_t sample = row / m->T;
    if (!(m->load_balance > 0) || !k->batch->mask[row]) return 0;
    const double n = m->balance_by_tokens ? 1 : (double)count_mask(k, sample);
    return (float)(k->gradient_scale * m->load_balance * (double)m->experts *
                   load_of(k, sample)[e] / ((double)m->L * n));
}

/* ---- backward of router and first layers */

/* Gradient of the router's output from those of the weights: through their division by the sum,
 * then through the softmax. */
static void router_row(const struct host *k, int64_t row, float *d)
{
    const struct model *m = k->model;
    const int64_t E = m->experts, S = n_slots(k);
    const float *p = routed(k, k->stage.layer) + row * E;
    const float *dweight = (const float *)k->buffer[HOST_DCHOSEN] + row * S;
    const struct host_chosen *slot = chosen(k, kept_layer(k)) + row * S;
    float sum = 1, mixed = 0;
    for (int64_t e = 0; e < E; e++)
        d[e] = balance_gradient(k, row, e);
    if (m->zoo.moe.expert_weighting_normalization) {
        sum = (float)m->zoo.moe.null_expert_bias;
        for (int64_t s = 0; s < m->active_experts; s++) {
            sum += p[slot[s].expert];
            mixed += dweight[s] * slot[s].weight;
        }
    }
    for (int64_t s = 0; s < m->active_experts; s++)
        d[slot[s].expert] += (dweight[s] - mixed) / sum;
    const float mean = num_dot(d, p, E);
    for (int64_t e = 0; e < E; e++)
        d[e] = m->zoo.moe.routing_algorithm == ZOO_ROUTING_HASH ? 0 : p[e] * (d[e] - mean);
}

/* Gradient of the router's logits of a block of rows; HOST_XN is there again for its weight
 * gradient. */
static void router_rows_backward(struct host *k, const struct host_span *b, int thread)
{
    const int64_t E = k->model->experts, C = k->model->C;
    float *d = host_thread(k, thread, HOST_ROW2);
    (void)host_ffn_normed(k, b, host_at(k, k->buffer[HOST_XN], b->row * C), true, thread);
    for (int64_t i = b->row; i < b->row + b->n; i++) {
        router_row(k, i, d);
        host_to_operands(k, host_at(k, k->buffer[HOST_DROUTED], i * E), d, E);
    }
}

/* Input of each place again for the weight gradient, and its gradient, one row a place. */
static void ffn0_places_backward(struct host *k, const struct host_span *p, int64_t expert,
                                 int thread)
{
    const int64_t C = k->model->C, width = model_ffn_features(k->model);
    (void)thread;
    collect(k, p, inputs(k), host_at(k, k->buffer[HOST_PLACES_XN], p->row * C));
    host_ffn_linear_back(k, host_at(k, k->buffer[HOST_DPRE], p->row * width), p->n, expert, NULL,
                         (float *)k->buffer[HOST_PLACES] + p->row * C);
}

/* dxn of a token: its places in the order of its slots, then the router's part. */
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

/* Weight gradients of one network; models without gate or biases have no such tensors. */
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
    host_each_block(k, router_rows_backward);
    each_place(k, ffn0_places_backward);
    host_each_block(k, input_rows_backward);
    for (int64_t e = 0; e < model_n_ffns(k->model); e++)
        sum_expert_grads(k, e);
    grad[0] = host_linear_grad(MODEL_ROUTER_W, E, C, k->buffer[HOST_DROUTED], E, inputs(k));
    host_sum_grads(k, grad, 1 + host_ffn_norm_grads(k, grad + 1));
}
