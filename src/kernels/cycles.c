// SPDX-License-Identifier: Apache-2.0
#include "cycles_impl.h"

#include <wsc/check.h>

#include <math.h>

const struct keep_row kernels_cycles_keep[KERNELS_N_KEEPS] = {
    [KERNELS_KEEP_ALL] = {.by_part = true},
    [KERNELS_KEEP_NO_ATTENTION] = {.attention = true, .by_part = true},
    [KERNELS_KEEP_PROJECTIONS] = {.attention = true, .ffn0 = true},
    [KERNELS_KEEP_FILTER] = {.qkv = true, .attention = true},
    [KERNELS_KEEP_INPUT] = {.qkv = true, .attention = true, .output = true, .ffn0 = true},
};

static void set_rates(struct layout *l, const struct conf_wafer *w, enum num_format format)
{
    bool mixed = format != NUM_FP32;
    l->mac = mixed ? w->simd_fmachs : w->simd_fmacs;
    l->fast = mixed ? w->simd_faddh : w->simd_fmuls;
    l->add = w->simd_fadds;
    l->mul = w->simd_fmuls;
    l->setup = (double)w->vector_setup_cycles;
    l->exp = (double)w->exp_cycles;
    l->divide = (double)w->divide_cycles;
    l->hop = (double)w->hop_cycles;
    /* Luczynski et al. 2024 (HPDC), chain reduce: 2 T_R + 2 per PE, that is up the ramp, one
     * addition, down the ramp, one hop. */
    l->relay = 2 * (double)w->ramp_cycles + l->hop + 1;
}

void kernels_cycles_layout(struct layout *l, const struct hw *hw, const struct model *model,
                           int lanes, int64_t n_sequences)
{
    const struct conf_wafer *w = &hw->cluster->wafer;
    WSC_CHECK(lanes >= 1 && lanes <= w->pe_cols && n_sequences >= 1, "%d lanes, %lld sequences",
              lanes, (long long)n_sequences);
    double T = (double)model->T, d = (double)model->head_dim;
    *l = (struct layout){.model = model, .lanes = lanes, .rows = (double)w->pe_rows};
    set_rates(l, w, model->format);
    l->cols = floor((double)w->pe_cols / lanes);
    l->t = ceil(ceil((double)n_sequences / lanes) * T / l->rows);
    l->k = kernels_cycles_features(l, model->C);
    l->f = kernels_cycles_features(l, model->F);
    l->head_cols = ceil(d / l->k);
    l->heads_per_pe = ceil(l->k / d);
    l->seqs = ceil(l->t / T);
    l->q_mean = (ceil(l->t / l->seqs) + 1) / 2;
}

double kernels_cycles_total(const struct kernels_cycles *c)
{
    return c->products + c->attention + c->elementwise + c->recompute;
}

/** Gather: every row of the table passes every PE, which copies those of its own tokens. */
static double gather(const struct layout *l, double rate)
{
    return (double)l->model->V * l->setup + 2 * l->t * kernels_cycles_vector(l, l->k, rate);
}

/** Per logit of the PE one exponential, maximum and sum; logits are spread over the columns. */
static double logit_softmax(const struct layout *l)
{
    double logits = kernels_cycles_features(l, l->model->V);
    return logits * (l->t * l->exp + 3 * kernels_cycles_vector(l, l->t, l->add)) +
           2 * kernels_cycles_vector(l, l->t, l->add) + l->t * l->exp;
}

struct kernels_cycles kernels_cycles_forward(const struct layout *l, enum model_part part)
{
    const struct model *m = l->model;
    struct kernels_cycles c = {0};
    switch (part) {
    case MODEL_PART_EMBED:
        c.elementwise = gather(l, l->fast);
        break;
    case MODEL_PART_QKV:
        c.products = kernels_cycles_product(l, m->C, 3 * m->C);
        c.elementwise =
            kernels_cycles_norm(l) + kernels_cycles_pointwise(l, 3 * l->k, 1); /* biases */
        break;
    case MODEL_PART_ATTN:
        c.products = kernels_cycles_product(l, m->C, m->C);
        c.attention = kernels_cycles_attention(l);
        c.elementwise = kernels_cycles_pointwise(l, l->k, 2); /* bias, residual */
        break;
    case MODEL_PART_FFN0:
        c.products = kernels_cycles_product(l, m->C, m->F);
        c.elementwise = kernels_cycles_norm(l) + kernels_cycles_pointwise(l, l->f, 1) +
                        kernels_cycles_nonlinearity(l);
        break;
    case MODEL_PART_FFN1:
        c.products = kernels_cycles_product(l, m->F, m->C);
        c.elementwise = kernels_cycles_pointwise(l, l->k, 2);
        break;
    case MODEL_PART_HEAD:
        c.products = kernels_cycles_product(l, m->C, m->V);
        c.elementwise = kernels_cycles_norm(l) + logit_softmax(l);
        break;
    }
    return c;
}

/** Bias gradients: sums over tokens, local and then over y. */
static double bias_gradient(const struct layout *l, double features)
{
    return features * kernels_cycles_vector(l, l->t, l->add) +
           kernels_cycles_vector(l, features, l->add);
}

/** Sums of rows of dE that belong to the PE's tokens, then every row's sum over y. */
static double scatter(const struct layout *l)
{
    double rows = (double)(l->model->V + l->model->T);
    return (rows + 2 * l->t) * kernels_cycles_vector(l, l->k, l->add) +
           kernels_cycles_gradient_latency(l);
}

/** The head keeps no logits: each comes again as its weights pass, and its gradient, broadcast
 *  along the row, at once gives AXPYs into the input gradient and dot products of dW. */
static void head_backward(const struct layout *l, struct kernels_cycles *c)
{
    const struct model *m = l->model;
    double logits = kernels_cycles_features(l, m->V);
    c->recompute = kernels_cycles_product(l, m->C, m->V);
    c->products = (double)m->V * l->k * kernels_cycles_vector(l, l->t, l->mac) +
                  kernels_cycles_weight_gradient(l, m->C, m->V);
    c->elementwise = kernels_cycles_norm_gradient(l) +
                     logits * (l->t * l->exp + 2 * kernels_cycles_vector(l, l->t, l->add));
}

/** What @p keep makes necessary to compute again in @p part. */
static double again(const struct layout *l, enum model_part part, enum kernels_keep keep)
{
    const struct keep_row *row = &kernels_cycles_keep[keep];
    struct kernels_cycles c = {0};
    double saved = 0;
    if (part == MODEL_PART_QKV && row->qkv) c = kernels_cycles_forward(l, part);
    if (part == MODEL_PART_ATTN && row->output)
        c = kernels_cycles_forward(l, part);
    else if (part == MODEL_PART_ATTN && row->attention)
        c.attention = kernels_cycles_attention(l);
    if (part == MODEL_PART_FFN0 && row->ffn0) {
        c = kernels_cycles_forward(l, part);
        saved = kernels_cycles_nonlinearity(l); /* counted in the backward of the second product */
    }
    return kernels_cycles_total(&c) - saved;
}

struct kernels_cycles kernels_cycles_backward(const struct layout *l, enum model_part part,
                                              enum kernels_keep keep)
{
    const struct model *m = l->model;
    struct kernels_cycles c = {.recompute = again(l, part, keep)};
    switch (part) {
    case MODEL_PART_EMBED:
        c.elementwise = scatter(l);
        break;
    case MODEL_PART_QKV:
        c.products = kernels_cycles_product(l, 3 * m->C, m->C) +
                     kernels_cycles_weight_gradient(l, m->C, 3 * m->C);
        c.elementwise = kernels_cycles_norm_gradient(l) + bias_gradient(l, 3 * l->k);
        break;
    case MODEL_PART_ATTN:
        c.products =
            kernels_cycles_product(l, m->C, m->C) + kernels_cycles_weight_gradient(l, m->C, m->C);
        c.attention = kernels_cycles_attention_gradient(l);
        c.elementwise = bias_gradient(l, l->k);
        break;
    case MODEL_PART_FFN0:
        c.products =
            kernels_cycles_product(l, m->F, m->C) + kernels_cycles_weight_gradient(l, m->C, m->F);
        c.elementwise = kernels_cycles_norm_gradient(l) + kernels_cycles_nonlinearity(l) +
                        kernels_cycles_pointwise(l, l->f, 1) + bias_gradient(l, l->f);
        break;
    case MODEL_PART_FFN1:
        c.products =
            kernels_cycles_product(l, m->C, m->F) + kernels_cycles_weight_gradient(l, m->F, m->C);
        c.elementwise = kernels_cycles_nonlinearity(l) + bias_gradient(l, l->k);
        break;
    case MODEL_PART_HEAD:
        head_backward(l, &c);
        break;
    }
    return c;
}

double kernels_cycles_first_gradient(const struct layout *l, enum model_part part,
                                     enum kernels_keep keep)
{
    const struct model *m = l->model;
    double redo = again(l, part, keep);
    switch (part) {
    case MODEL_PART_EMBED:
        return kernels_cycles_vector(l, l->k, l->add) + kernels_cycles_gradient_latency(l);
    case MODEL_PART_FFN1:
        return redo + kernels_cycles_nonlinearity(l) + kernels_cycles_gradient_row(l, m->F) +
               kernels_cycles_gradient_latency(l);
    case MODEL_PART_FFN0:
        redo += kernels_cycles_nonlinearity(l) + kernels_cycles_norm(l);
        break;
    case MODEL_PART_QKV:
        redo += kernels_cycles_norm(l);
        break;
    case MODEL_PART_HEAD: /* one logit, its exponential */
        redo += kernels_cycles_norm(l) + kernels_cycles_product(l, m->C, 1) + l->t * l->exp;
        break;
    case MODEL_PART_ATTN:
        break;
    }
    return redo + kernels_cycles_gradient_row(l, m->C) + kernels_cycles_gradient_latency(l);
}

struct kernels_cycles kernels_cycles_stage(const struct layout *l, const struct model_stage *stage,
                                           enum kernels_keep keep, bool backward)
{
    struct kernels_cycles sum = {0};
    for (int i = 0; i < stage->n_parts; i++) {
        struct kernels_cycles c = backward ? kernels_cycles_backward(l, stage->part[i], keep)
                                           : kernels_cycles_forward(l, stage->part[i]);
        sum.products += c.products;
        sum.attention += c.attention;
        sum.elementwise += c.elementwise;
        sum.recompute += c.recompute;
    }
    return sum;
}

/** Whole cycles; beyond 2^62 (centuries) it stays there. */
static int64_t to_int(double cycles)
{
    return cycles < 0x1p62 ? (int64_t)ceil(cycles) : INT64_C(1) << 62;
}

static const struct model_stage *stage_of(const struct model *model, int stage)
{
    WSC_CHECK(stage >= 0 && stage < model->n_stages, "stage %d of %d", stage, model->n_stages);
    return &model->stage[stage];
}

struct kernels_cycles kernels_stage_breakdown(const struct hw *hw, const struct model *model,
                                              const struct kernels_plan *plan, int stage,
                                              bool backward, int64_t n_sequences)
{
    struct layout l;
    const struct model_stage *s = stage_of(model, stage);
    if (n_sequences <= 0) return (struct kernels_cycles){0};
    kernels_cycles_layout(&l, hw, model, plan->lanes, n_sequences);
    return kernels_cycles_stage(&l, s, plan->keep, backward);
}

int64_t kernels_stage_cycles(const struct hw *hw, const struct model *model,
                             const struct kernels_plan *plan, int stage, bool backward,
                             int64_t n_sequences)
{
    struct kernels_cycles c =
        kernels_stage_breakdown(hw, model, plan, stage, backward, n_sequences);
    return to_int(kernels_cycles_total(&c));
}

int64_t kernels_first_gradient_cycles(const struct hw *hw, const struct model *model,
                                      const struct kernels_plan *plan, int stage,
                                      int64_t n_sequences)
{
    struct layout l;
    const struct model_stage *s = stage_of(model, stage);
    if (n_sequences <= 0) return 0;
    kernels_cycles_layout(&l, hw, model, plan->lanes, n_sequences);
    double first = kernels_cycles_first_gradient(&l, s->part[s->n_parts - 1], plan->keep);
    /* What comes before the last part of a block: its input, or the filter, computed again. */
    bool all = kernels_cycles_keep[plan->keep].output;
    for (int i = 0; i < s->n_parts - 1; i++)
        if (all || s->part[i] == MODEL_PART_FFN0) first += again(&l, s->part[i], plan->keep);
    struct kernels_cycles c = kernels_cycles_stage(&l, s, plan->keep, true);
    return to_int(fmin(first, kernels_cycles_total(&c)));
}
