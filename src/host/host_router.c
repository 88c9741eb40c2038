// SPDX-License-Identifier: Apache-2.0
/* Computes the router of a mixture of experts. From the logits of a linear layer it computes
 * values by which experts are chosen and values that weigh their results, each by a softmax (Jiang
 * et al. 2024), a sigmoid, or Sinkhorn's normalisation (Clark et al. 2022, appendix B). Sinkhorn's
 * normalisation alternates between the experts of a token and the tokens of an expert, over one
 * sequence as in the Model Zoo, so values do not depend on the other sequences of a batch.
 * Backward: the gradients of the weights and of the load-balancing loss become those of the
 * logits; Sinkhorn's normalisation passes no gradient. host_experts.c calls;
 * docs/decisions/0047-routing.md has the reasons. */
#include "host_router.h"
#include "host_buffers.h"
#include "host_ffn.h"
#include "host_gradient.h"
#include "host_operands.h"
#include "host_row_blocks.h"
#include "host_state.h"

#include <wsc/num_math.h>

#include <math.h>
#include <string.h>

int64_t host_router_kept_layer(const struct host *k)
{
    return k->training ? k->stage.layer : 0;
}

int64_t host_router_slots(const struct host *k)
{
    return model_active_ffns(k->model);
}

/* The values (N, E) by which the router of a layer chooses experts. */
static float *routed(const struct host *k, int64_t layer)
{
    return host_kept(k, HOST_ROUTED, layer, k->model->experts);
}

/* The values (N, E) that weigh the experts of a layer. */
static float *weighing(const struct host *k, int64_t layer)
{
    return zoo_moe_weighs_apart(&k->model->zoo.moe)
               ? host_kept(k, HOST_WEIGHING, layer, k->model->experts)
               : routed(k, layer);
}

/* The networks (N, S) of every row of a layer. */
static struct host_chosen *chosen(const struct host *k, int64_t layer)
{
    return (struct host_chosen *)k->buffer[HOST_CHOSEN] +
           layer * k->max_rows * host_router_slots(k);
}

struct host_chosen *host_router_chosen(const struct host *k)
{
    return chosen(k, host_router_kept_layer(k));
}

/* ---- nonlinearities */

/* Softmax over the E experts of a row, in place. */
static void softmax(float *p, int64_t n)
{
    const float sum = num_exp_row(p, p, num_max(p, n), n);
    for (int64_t e = 0; e < n; e++)
        p[e] /= sum;
}

/* Apply the nonlinearity to the experts of a row, in place; Sinkhorn's normalisation is applied to
 * whole sequences instead. */
static void map_row(enum zoo_router_map map, float *p, int64_t n)
{
    if (map == ZOO_ROUTER_SOFTMAX) softmax(p, n);
    for (int64_t e = 0; map == ZOO_ROUTER_SIGMOID && e < n; e++)
        p[e] = num_sigmoid_of(p[e]);
}

/* Replace the gradient of the values @p p by that of their logits. */
static void map_row_backward(enum zoo_router_map map, const float *p, float *d, int64_t n)
{
    const float mean = map == ZOO_ROUTER_SOFTMAX ? num_dot(d, p, n) : 0;
    for (int64_t e = 0; e < n; e++) {
        if (map == ZOO_ROUTER_SOFTMAX) d[e] = p[e] * (d[e] - mean);
        if (map == ZOO_ROUTER_SIGMOID) d[e] *= p[e] * (1 - p[e]);
        if (map == ZOO_ROUTER_SINKHORN) d[e] = 0;
    }
}

/* r -= log of the sum of exp(r), over @p n numbers with stride @p ld. */
static void subtract_log_sum(float *r, int64_t n, int64_t ld)
{
    float most = r[0];
    for (int64_t i = 1; i < n; i++)
        most = fmaxf(most, r[i * ld]);
    double sum = (double)num_exp(r[0] - most);
    for (int64_t i = 1; i < n; i++)
        sum += (double)num_exp(r[i * ld] - most);
    const float log_sum = most + (float)log(sum);
    for (int64_t i = 0; i < n; i++)
        r[i * ld] -= log_sum;
}

/* Sinkhorn's normalisation of the logits of a sequence (T, E), in place and in logarithms:
 * alternately, the experts of each token and the tokens of each expert are normalised to sum 1;
 * the params file gives the number of iterations. */
static void sinkhorn(const struct host *k, float *r)
{
    const int64_t T = k->T, E = k->model->experts;
    for (int64_t i = 0; i < k->model->zoo.moe.sinkhorn_n_iters; i++) {
        for (int64_t t = 0; t < T; t++)
            subtract_log_sum(r + t * E, E, 1);
        for (int64_t e = 0; e < E; e++)
            subtract_log_sum(r + e, T, E);
    }
    for (int64_t i = 0; i < T * E; i++)
        r[i] = num_exp(r[i]);
}

/* Apply Sinkhorn's normalisation to the sequences of a leaf, where it is configured. */
static void sinkhorn_leaf(void *ctx, int64_t leaf, int thread)
{
    const struct host *k = ctx;
    const struct zoo_moe *moe = &k->model->zoo.moe;
    const int64_t E = k->model->experts, l = k->stage.layer;
    const struct host_span *rows = &k->leaf[leaf];
    (void)thread;
    for (int64_t row = rows->row; row < rows->row + rows->n; row += k->T) {
        if (moe->router_selection_nonlinearity == ZOO_ROUTER_SINKHORN)
            sinkhorn(k, routed(k, l) + row * E);
        if (moe->expert_weighting_nonlinearity == ZOO_ROUTER_SINKHORN &&
            zoo_moe_weighs_apart(&k->model->zoo.moe))
            sinkhorn(k, weighing(k, l) + row * E);
    }
}

/* ---- choice */

/* Index of the largest value of an expert that is not taken yet; of equal ones the first. */
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

/* Choose experts by @p p. Their weights are @p w, divided if configured by the sum of the weights
 * and of the null expert's part. */
static void choose(const struct model *m, const float *p, const float *w, struct host_chosen *slot)
{
    float sum = (float)m->zoo.moe.null_expert_bias;
    for (int64_t s = 0; s < m->active_experts; s++) {
        slot[s].expert = most_probable(slot, s, p, m->experts);
        slot[s].weight = w[slot[s].expert];
        sum += slot[s].weight;
    }
    for (int64_t s = 0; m->zoo.moe.expert_weighting_normalization && s < m->active_experts; s++)
        slot[s].weight /= sum;
    for (int64_t s = 0; s < m->shared_experts; s++) {
        struct host_chosen *shared = &slot[m->active_experts + s];
        *shared = (struct host_chosen){.expert = (int32_t)(m->experts + s), .weight = 1};
    }
}

/* Compute the values of a block of rows. Hash routing uses the token's id modulo E. */
static void score_rows(struct host *k, const struct host_span *b, int thread)
{
    const struct model *m = k->model;
    const struct zoo_moe *moe = &m->zoo.moe;
    const int64_t E = m->experts, l = k->stage.layer;
    float *p = routed(k, l) + b->row * E, *w = weighing(k, l) + b->row * E;
    const void *xn = host_ffn_normed(
        k, b, m->norm3 ? host_at(k, k->buffer[HOST_XN], b->row * m->C) : NULL, false, thread);
    struct num_product shape = host_linear_shape(b->n, m->C, E);
    if (model_hash_routed(m)) {
        memset(p, 0, (size_t)(b->n * E) * sizeof *p);
        for (int64_t i = 0; i < b->n; i++)
            p[i * E + k->batch->input_ids[b->row + i] % E] = 1;
        return;
    }
    host_product(k, &shape, xn, k->stage.weight[MODEL_ROUTER_W], p);
    if (w != p) memcpy(w, p, (size_t)(b->n * E) * sizeof *p);
    for (int64_t i = 0; i < b->n; i++) {
        map_row(moe->router_selection_nonlinearity, p + i * E, E);
        if (w != p) map_row(moe->expert_weighting_nonlinearity, w + i * E, E);
    }
}

/* The Model Zoo chooses by Sinkhorn's values even if they are configured only for the weights. */
static void choose_rows(struct host *k, const struct host_span *b, int thread)
{
    const struct model *m = k->model;
    const int64_t E = m->experts, S = host_router_slots(k), l = k->stage.layer;
    const float *p = routed(k, l), *w = weighing(k, l);
    const bool by_weights =
        w != p && m->zoo.moe.expert_weighting_nonlinearity == ZOO_ROUTER_SINKHORN;
    (void)thread;
    for (int64_t i = b->row; i < b->row + b->n; i++)
        choose(m, (by_weights ? w : p) + i * E, w + i * E, host_router_chosen(k) + i * S);
}

void host_router_choose(struct host *k)
{
    host_each_block(k, score_rows);
    if (zoo_moe_has_sinkhorn(&k->model->zoo.moe)) num_parallel(k->n_leaves, sinkhorn_leaf, k);
    host_each_block(k, choose_rows);
}

/* ---- load balancing: Fedus et al. 2022 (Switch), eq. 4, as the Model Zoo takes it: per sample,
 * with both factors averaged over the layers and over the tokens of the loss mask */

/* Fraction of a sample's tokens that go to each expert. */
static double *load_of(const struct host *k, int64_t sample)
{
    return (double *)k->buffer[HOST_LOAD] + sample * k->model->experts;
}

/* Mean probability of expert @p e times the fraction of tokens that go to it; the fraction is
 * stored. */
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
                count += slot[row * host_router_slots(k) + s].expert == e;
        }
    }
    const double each = (double)(n * m->L);
    load_of(k, sample)[e] = count / each;
    return probability / each * (count / each);
}

/* E times the sum over experts of mean probability times fraction of tokens, times the factor of
 * the params file; added up sample by sample in double precision. */
double host_balance_loss(const struct host *k, const struct host_span *leaf)
{
    const struct model *m = k->model;
    double sum = 0;
    if (!m->experts || !(m->load_balance > 0)) return 0;
    for (int64_t row = leaf->row; row < leaf->row + leaf->n; row += m->T) {
        const int64_t sample = row / m->T, n = data_batch_counted(k->batch, sample);
        double product = 0;
        for (int64_t e = 0; n && e < m->experts; e++)
            product += balance_of(k, sample, e, n);
        sum += product * (m->balance_by_tokens ? (double)n : 1);
    }
    return sum * m->load_balance * (double)m->experts;
}

/* Gradient of the load-balancing loss with respect to the probability of expert @p e at a token of
 * the mask. */
static float balance_gradient(const struct host *k, int64_t row, int64_t e)
{
    const struct model *m = k->model;
    const int64_t sample = row / m->T;
    if (!(m->load_balance > 0) || !k->batch->mask[row]) return 0;
    const double n = m->balance_by_tokens ? 1 : (double)data_batch_counted(k->batch, sample);
    return (float)(k->gradient_scale * m->load_balance * (double)m->experts *
                   load_of(k, sample)[e] / ((double)m->L * n));
}

/* ---- backward */

/* Add to @p d the gradients of the chosen experts' values, from those of their weights, which go
 * through the division by the sum. */
static void weights_backward(const struct host *k, int64_t row, const float *w, float *d)
{
    const struct model *m = k->model;
    const int64_t S = host_router_slots(k);
    const float *dweight = (const float *)k->buffer[HOST_DCHOSEN] + row * S;
    const struct host_chosen *slot = host_router_chosen(k) + row * S;
    float sum = 1, mixed = 0;
    if (m->zoo.moe.expert_weighting_normalization) {
        sum = (float)m->zoo.moe.null_expert_bias;
        for (int64_t s = 0; s < m->active_experts; s++) {
            sum += w[slot[s].expert];
            mixed += dweight[s] * slot[s].weight;
        }
    }
    for (int64_t s = 0; s < m->active_experts; s++)
        d[slot[s].expert] += (dweight[s] - mixed) / sum;
}

/* Gradient @p d (E) of the router's logits of a row; @p apart (E) is scratch. */
static void router_row(const struct host *k, int64_t row, float *d, float *apart)
{
    const struct zoo_moe *moe = &k->model->zoo.moe;
    const int64_t E = k->model->experts;
    const float *p = routed(k, k->stage.layer) + row * E;
    const float *w = weighing(k, k->stage.layer) + row * E;
    if (model_hash_routed(k->model)) {
        memset(d, 0, (size_t)E * sizeof *d);
        return;
    }
    for (int64_t e = 0; e < E; e++) {
        d[e] = balance_gradient(k, row, e);
        apart[e] = 0;
    }
    weights_backward(k, row, w, w == p ? d : apart);
    map_row_backward(moe->router_selection_nonlinearity, p, d, E);
    if (w == p) return;
    map_row_backward(moe->expert_weighting_nonlinearity, w, apart, E);
    num_add(d, apart, E);
}

void host_router_rows_backward(struct host *k, const struct host_span *b, int thread)
{
    const int64_t E = k->model->experts;
    float *d = host_thread(k, thread, HOST_ROW2), *apart = host_thread(k, thread, HOST_ROW);
    for (int64_t i = b->row; i < b->row + b->n; i++) {
        router_row(k, i, d, apart);
        host_to_operands(k, host_at(k, k->buffer[HOST_DROUTED], i * E), d, E);
    }
}
