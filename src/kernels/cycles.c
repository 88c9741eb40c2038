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
    l->loop = (double)w->vector_loop_cycles;
    l->exp = (double)w->exp_cycles;
    l->divide = (double)w->divide_cycles;
    l->hop = (double)w->hop_cycles;
    l->factor = w->kernel_factor;
    /* Luczynski et al. 2024 (HPDC), chain reduce: 2 T_R + 2 per PE, that is up the ramp, one
     * addition, down the ramp, one hop. */
    l->relay = 2 * (double)w->ramp_cycles + l->hop + 1;
}

double kernels_cycles_live_ffn(const struct layout *l)
{
    return 2 * l->k + 3 * l->f;
}

double kernels_cycles_live_attention(const struct layout *l)
{
    return 10 * l->k;
}

double kernels_cycles_room(const struct layout *l)
{
    double ffn = kernels_cycles_live_ffn(l), attention = kernels_cycles_live_attention(l);
    return fmax(ffn, attention) - fmax(ffn - l->f, attention);
}

void kernels_cycles_layout(struct layout *l, const struct hw *hw, const struct model *model,
                           int lanes, int64_t n_sequences)
{
    const struct conf_wafer *w = &hw->cluster->wafer;
    WSC_CHECK(lanes >= 1 && lanes <= w->pe_cols && n_sequences >= 1, "%d lanes, %lld sequences",
              lanes, (long long)n_sequences);
    double T = (double)model->T, d = (double)model->head_dim;
    double sequences = ceil((double)n_sequences / lanes);
    *l = (struct layout){.model = model, .lanes = lanes, .rows = (double)w->pe_rows};
    set_rates(l, w, model->format);
    l->cols = floor((double)w->pe_cols / lanes);
    l->t = ceil(sequences * T / l->rows);
    l->head_t = ceil(sequences * (double)model->head_tokens / l->rows);
    l->k = kernels_cycles_features(l, model->C);
    l->f = kernels_cycles_features(l, model->F);
    l->room = l->t * (KERNELS_SUM_VECTORS +
                      kernels_cycles_room(l) * (double)num_format_bytes(model->format) / 4);
    l->head_cols = ceil(d / l->k);
    l->heads_per_pe = ceil(l->k / d);
    l->seqs = ceil(l->t / T);
    l->q_mean = ceil(l->t / l->seqs);
    if (model->causal) l->q_mean = (l->q_mean + 1) / 2;
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

/** Embedding: the rows of the tokens; an encoder normalises their sum. */
static double embedding(const struct layout *l)
{
    return gather(l, l->fast) + (l->model->embed_norm ? kernels_cycles_norm(l) : 0);
}

/* ---- head ------------------------------------------------------------------------------------ */

/** The layout of the tokens that go through the head, spread evenly over the rows. */
static struct layout head_layout(const struct layout *l)
{
    struct layout h = *l;
    h.t = l->head_t;
    return h;
}

/** Moves the tokens that the head wants to where they are spread evenly, along y. */
static double head_move(const struct layout *l)
{
    if (l->head_t >= l->t) return 0;
    return 2 * l->head_t * kernels_cycles_vector(l, l->k, l->fast) + l->rows * l->hop;
}

/** Per logit of the PE one exponential, maximum and sum; logits are spread over the columns. */
static double logit_softmax(const struct layout *h)
{
    double logits = kernels_cycles_features(h, h->model->head_outputs);
    return logits * (h->t * h->exp + 3 * kernels_cycles_vector(h, h->t, h->add)) +
           2 * kernels_cycles_vector(h, h->t, h->add) + h->t * h->exp;
}

static void head_forward(const struct layout *l, struct kernels_cycles *c)
{
    const struct model *m = l->model;
    const struct layout h = head_layout(l);
    c->products = kernels_cycles_product(&h, m->C, m->head_outputs);
    c->elementwise = head_move(l) + logit_softmax(&h);
    if (m->head_norm) c->elementwise += kernels_cycles_norm(&h);
    if (!m->head_dense) return;
    c->products += kernels_cycles_product(&h, m->C, m->C);
    c->elementwise += kernels_cycles_pointwise(&h, h.k, 1) + kernels_cycles_nonlinearity(&h, h.k);
}

struct kernels_cycles kernels_cycles_forward(const struct layout *l, enum model_part part)
{
    const struct model *m = l->model;
    struct kernels_cycles c = {0};
    switch (part) {
    case MODEL_PART_EMBED:
        c.elementwise = embedding(l);
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
                        kernels_cycles_nonlinearity(l, l->f);
        break;
    case MODEL_PART_FFN1:
        c.products = kernels_cycles_product(l, m->F, m->C);
        c.elementwise = kernels_cycles_pointwise(l, l->k, 2);
        break;
    case MODEL_PART_HEAD:
        head_forward(l, &c);
        break;
    }
    return c;
}

/** Bias gradients: sums over tokens, local and then over y. */
static double bias_gradient(const struct layout *l, double features)
{
    return kernels_cycles_token_sums(l, features) + kernels_cycles_vector(l, features, l->add);
}

/** Sums of rows of dE that belong to the PE's tokens, then every row's sum over y. */
static double scatter(const struct layout *l)
{
    double rows = (double)(l->model->V + l->model->T);
    return (rows + 2 * l->t) * kernels_cycles_vector(l, l->k, l->add) +
           kernels_cycles_gradient_latency(l);
}

/** The head keeps no logits: each comes again as its weights pass, and its gradient, broadcast
 *  along the row, at once gives AXPYs into the input gradient and the products of dW. */
static void head_backward(const struct layout *l, struct kernels_cycles *c)
{
    const struct model *m = l->model;
    const struct layout h = head_layout(l);
    int64_t outputs = m->head_outputs;
    double logits = kernels_cycles_features(&h, outputs);
    c->recompute = kernels_cycles_product(&h, m->C, outputs);
    c->products = (double)outputs * h.k * kernels_cycles_axpy(&h, h.t) +
                  kernels_cycles_weight_gradient(&h, m->C, outputs);
    c->elementwise =
        head_move(l) + logits * (h.t * h.exp + 2 * kernels_cycles_vector(&h, h.t, h.add));
    if (m->head_norm) c->elementwise += kernels_cycles_norm_gradient(&h);
    if (!m->head_dense) return;
    c->products +=
        kernels_cycles_product(&h, m->C, m->C) + kernels_cycles_weight_gradient(&h, m->C, m->C);
    c->elementwise += kernels_cycles_nonlinearity(&h, h.k) + kernels_cycles_pointwise(&h, h.k, 1) +
                      bias_gradient(&h, h.k);
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
        saved = kernels_cycles_nonlinearity(
            l, l->f); /* counted in the backward of the second product */
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
        c.elementwise = scatter(l) + (m->embed_norm ? kernels_cycles_norm_gradient(l) : 0);
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
        c.elementwise = kernels_cycles_norm_gradient(l) + kernels_cycles_nonlinearity(l, l->f) +
                        kernels_cycles_pointwise(l, l->f, 1) + bias_gradient(l, l->f);
        break;
    case MODEL_PART_FFN1:
        c.products =
            kernels_cycles_product(l, m->C, m->F) + kernels_cycles_weight_gradient(l, m->F, m->C);
        c.elementwise = kernels_cycles_nonlinearity(l, l->f) + bias_gradient(l, l->k);
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
    const struct layout h = head_layout(l);
    double redo = again(l, part, keep), latency = kernels_cycles_gradient_latency(l);
    switch (part) {
    case MODEL_PART_EMBED:
        return kernels_cycles_vector(l, l->k, l->add) + latency;
    case MODEL_PART_QKV:
        redo += kernels_cycles_norm(l) + kernels_cycles_first_rows(l, m->C, 3 * m->C);
        break;
    case MODEL_PART_ATTN:
        redo += kernels_cycles_first_rows(l, m->C, m->C);
        break;
    case MODEL_PART_FFN0:
        redo += kernels_cycles_nonlinearity(l, l->f) + kernels_cycles_norm(l) +
                kernels_cycles_first_rows(l, m->C, m->F);
        break;
    case MODEL_PART_FFN1:
        redo += kernels_cycles_nonlinearity(l, l->f) + kernels_cycles_first_rows(l, m->F, m->C);
        break;
    case MODEL_PART_HEAD: /* one logit, its exponential */
        redo += head_move(l) + (m->head_norm ? kernels_cycles_norm(&h) : 0) +
                kernels_cycles_product(&h, m->C, 1) + h.t * h.exp +
                kernels_cycles_first_rows(&h, m->C, m->head_outputs);
        break;
    }
    return redo + latency;
}

struct kernels_cycles kernels_cycles_stage(const struct layout *l, const struct model_stage *stage,
                                           enum kernels_keep keep, bool backward)
{
    struct kernels_cycles sum = {0};
    for (int i = 0; i < stage->n_parts; i++) {
        struct kernels_cycles c = backward ? kernels_cycles_backward(l, stage->part[i], keep)
                                           : kernels_cycles_forward(l, stage->part[i]);
        sum.products += c.products * l->factor;
        sum.attention += c.attention * l->factor;
        sum.elementwise += c.elementwise * l->factor;
        sum.recompute += c.recompute * l->factor;
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
    return to_int(fmin(first * l.factor, kernels_cycles_total(&c)));
}
