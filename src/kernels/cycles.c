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

static void set_rates(struct layout *l, const struct hw_wafer *w, enum num_format format)
{
    bool mixed = format != NUM_FP32;
    l->mac = mixed ? w->simd_fmachs : w->simd_fmacs;
    l->fast = mixed ? w->simd_faddh : w->simd_fadds;
    l->fast_mul = mixed ? w->simd_faddh : w->simd_fmuls;
    l->add = w->simd_fadds;
    l->mul = w->simd_fmuls;
    l->value = (double)num_format_bytes(format) / 4;
    l->setup = (double)(mixed ? w->vector_setup_cycles : w->vector_setup_fp32_cycles);
    l->setup_add = (double)w->vector_setup_add_cycles;
    l->setup_copy = (double)w->vector_setup_copy_cycles;
    l->loop = (double)w->vector_loop_cycles;
    l->exp = (double)w->exp_cycles;
    l->divide = (double)w->divide_cycles;
    l->hop = (double)w->hop_cycles;
    l->ramp = (double)w->ramp_cycles;
    l->factor = w->kernel_factor;
    /* Luczynski et al. 2024 (HPDC), chain reduce: 2 T_R + 2 per PE, that is up the ramp, one
     * addition, down the ramp, one hop. */
    l->relay = 2 * (double)w->ramp_cycles + l->hop + 1;
}

/** Filter features of a PE over all networks that a token goes through. */
static double filters(const struct layout *l)
{
    return l->filter.k * (double)model_active_ffns(l->model);
}

double kernels_cycles_live_ffn(const struct layout *l)
{
    return 2 * l->hidden.k + (l->model->gated ? 5 : 3) * filters(l);
}

double kernels_cycles_live_attention(const struct layout *l)
{
    return 2 * l->hidden.k + 2 * l->heads.k * (1 + l->qkv);
}

double kernels_cycles_room(const struct layout *l)
{
    double ffn = kernels_cycles_live_ffn(l), attention = kernels_cycles_live_attention(l);
    return fmax(ffn, attention) - fmax(ffn - filters(l), attention);
}

/** A head has columns of its own, or shares one. */
static void set_heads(struct layout *l)
{
    const struct model *m = l->model;
    const double H = (double)m->H, d = (double)m->head_dim;
    const double cols = fmin(floor(l->cols / H), d);
    const double per = cols >= 1 ? ceil(d / cols) : d;
    l->heads_per_pe = cols >= 1 ? 1 : ceil(H / l->cols);
    l->head_cols = cols >= 1 ? ceil(d / per) : 1;
    l->heads = (struct side){H * d, per * l->heads_per_pe};
    l->qkv = 1 + 2 * (double)m->kv_heads / H;
}

/** Keys that a query sees on average, as a share of the causal ones. */
static double seen(const struct layout *l)
{
    const struct model *m = l->model;
    const double T = l->tokens, W = fmin((double)m->window + 1, T);
    if (!m->window || !m->causal) return 1;
    const double within = (W * (W + 1) / 2 + (T - W) * W) / (T * (T + 1) / 2);
    return m->window_every_other ? (1 + within) / 2 : within;
}

/** From the tokens of a PE and of how many sequences they are. */
static void set_sequences(struct layout *l)
{
    const struct model *m = l->model;
    l->q = ceil(l->t / l->seqs);
    l->seq_rows = fmin(l->rows, ceil(l->tokens / l->q));
    l->q_mean = m->causal ? (l->q + 1) / 2 * seen(l) : l->q;
    l->room = l->t * (KERNELS_SUM_VECTORS + kernels_cycles_room(l) * l->value);
}

void kernels_cycles_deal(struct layout *l, int64_t n_sequences)
{
    l->seqs = (double)n_sequences;
    l->t = l->head_t = l->seqs * ceil(l->tokens / l->rows);
    set_sequences(l);
}

/** Over the rows of a lane; @p head of a sequence's @p tokens go through the head. */
static void spread_tokens(struct layout *l, double tokens, double head)
{
    l->tokens = tokens;
    l->t = ceil(l->texts * tokens / l->rows);
    l->head_t = ceil(l->texts * head / l->rows);
    l->seqs = ceil(l->t / tokens);
    set_sequences(l);
}

void kernels_cycles_layout(struct layout *l, const struct hw *hw, const struct model *model,
                           int lanes, int64_t n_sequences)
{
    const struct hw_wafer *w = &hw->cluster->wafer;
    WSC_CHECK(lanes >= 1 && lanes <= w->pe_cols && n_sequences >= 1, "%d lanes, %lld sequences",
              lanes, (long long)n_sequences);
    *l = (struct layout){.model = model, .lanes = lanes, .rows = (double)w->pe_rows};
    set_rates(l, w, model->format);
    l->cols = floor((double)w->pe_cols / lanes);
    l->hidden = kernels_cycles_side(l, model->C);
    l->filter = kernels_cycles_side(l, model->F);
    set_heads(l);
    l->texts = ceil((double)n_sequences / lanes);
    spread_tokens(l, (double)model->T, (double)model->head_tokens);
}

void kernels_cycles_layout_tokens(struct layout *l, const struct hw *hw, const struct model *model,
                                  int lanes, int64_t n_texts, const struct kernels_tokens *tokens)
{
    kernels_cycles_layout(l, hw, model, lanes, n_texts);
    l->cached = (double)tokens->n_cached;
    spread_tokens(l, (double)tokens->n_new, 1);
}

void kernels_cycles_layout_of(struct layout *l, const struct hw *hw, const struct model *model,
                              const struct kernels_plan *plan, int64_t n_sequences)
{
    kernels_cycles_layout(l, hw, model, plan->lanes, n_sequences);
    if (plan->micro_batch <= n_sequences) return;
    struct layout whole;
    kernels_cycles_layout(&whole, hw, model, plan->lanes, plan->micro_batch);
    l->room = whole.room;
}

double kernels_cycles_total(const struct kernels_cycles *c)
{
    return c->products + c->attention + c->elementwise + c->recompute;
}

/** Rows of tables that a token's embedding comes from. */
static double table_rows(const struct model *m)
{
    return (double)m->V + (m->position == ZOO_POSITION_LEARNED ? (double)m->T : 0);
}

static double embedding(const struct layout *l)
{
    const struct model *m = l->model;
    const double tables = m->position == ZOO_POSITION_LEARNED ? 2 : 1;
    double sum = kernels_cycles_gather(l, table_rows(m));
    if (l->seqs > 1) sum += (tables - 1) * l->t * kernels_cycles_op(l->setup, l->hidden.k, l->mac);
    return sum + (m->embed_norm ? kernels_cycles_norm(l) : 0);
}

/* ---- feed-forward networks ------------------------------------------------------------------- */

/** The layout for an expert: the tokens that choose it, spread evenly. */
static struct layout expert_layout(const struct layout *l)
{
    const struct model *m = l->model;
    struct layout e = *l;
    if (m->experts) e.t = ceil(l->t * (double)m->active_experts / (double)m->experts);
    return e;
}

/** @p one of every network: those that are chosen with the tokens of @p e, shared ones with all. */
static double all_networks(const struct layout *l, double (*one)(const struct layout *l))
{
    const struct model *m = l->model;
    const struct layout e = expert_layout(l);
    if (!m->experts) return one(l);
    return (double)m->experts * one(&e) + (double)m->shared_experts * one(l);
}

static double ffn0_product(const struct layout *l)
{
    return kernels_cycles_product(l, &l->hidden, (double)model_ffn_features(l->model));
}

static double ffn1_product(const struct layout *l)
{
    return kernels_cycles_product(l, &l->filter, (double)l->model->C);
}

static double ffn0_gradients(const struct layout *l)
{
    const double matrices = l->model->gated ? 2 : 1;
    return matrices * (kernels_cycles_product(l, &l->filter, (double)l->model->C) +
                       kernels_cycles_weight_gradient(l, &l->hidden, &l->filter));
}

static double ffn1_gradients(const struct layout *l)
{
    return kernels_cycles_product(l, &l->hidden, (double)l->model->F) +
           kernels_cycles_weight_gradient(l, &l->filter, &l->hidden);
}

/** The nonlinearity, and the product with the other half of a gated network. */
static double activation(const struct layout *l)
{
    const double n = l->filter.k * l->t;
    return kernels_cycles_nonlinearity(l, l->filter.k) +
           (l->model->gated ? kernels_cycles_mul_tiles(l, n) : 0);
}

/** Its derivative towards both halves. */
static double activation_gradient(const struct layout *l)
{
    const double n = l->filter.k * l->t;
    return kernels_cycles_nonlinearity(l, l->filter.k) +
           (l->model->gated ? 2 * kernels_cycles_mul_tiles(l, n) : 0);
}

/** Scores of the experts, the largest ones, their softmax; adding up what the chosen ones give. */
static double routing(const struct layout *l)
{
    const struct model *m = l->model;
    const struct side experts = kernels_cycles_side(l, m->experts);
    if (!m->experts) return 0;
    return kernels_cycles_product(l, &l->hidden, experts.n) + kernels_cycles_softmax(l, experts.k) +
           (double)model_active_ffns(m) * kernels_cycles_op(l->setup, l->hidden.k * l->t, l->mac);
}

static double routing_gradient(const struct layout *l)
{
    const struct model *m = l->model;
    const struct side experts = kernels_cycles_side(l, m->experts);
    if (!m->experts) return 0;
    return kernels_cycles_product(l, &experts, l->hidden.n) +
           kernels_cycles_softmax_gradient(l, experts.k) +
           kernels_cycles_weight_gradient(l, &l->hidden, &experts);
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
    return 2 * l->head_t * kernels_cycles_copy(l, l->hidden.k) + l->rows * l->hop;
}

static void head_forward(const struct layout *l, struct kernels_cycles *c)
{
    const struct model *m = l->model;
    const struct layout h = head_layout(l);
    const struct side out = kernels_cycles_side(l, m->head_outputs);
    c->products = kernels_cycles_product(&h, &h.hidden, out.n);
    c->elementwise = head_move(l) + kernels_cycles_loss(&h, out.k);
    if (m->head_bias) c->elementwise += kernels_cycles_bias(&h, out.k);
    if (m->head_norm) c->elementwise += kernels_cycles_norm(&h);
    if (!m->head_dense) return;
    c->products += kernels_cycles_product(&h, &h.hidden, h.hidden.n);
    c->elementwise +=
        kernels_cycles_bias(&h, h.hidden.k) + kernels_cycles_nonlinearity(&h, h.hidden.k);
}

/** Bias and rotation of q, k and v. */
static double after_qkv(const struct layout *l)
{
    const struct model *m = l->model;
    const double turned = (double)m->rotary_dim / (double)m->head_dim * (1 + l->qkv) / 2;
    double sum = m->qkv_bias ? kernels_cycles_bias(l, l->heads.k * l->qkv) : 0;
    if (m->rotary_dim) sum += kernels_cycles_rotary(l, l->heads.k * turned);
    return sum;
}

/** Bias, a norm of sandwich blocks, residual. */
static double after_half(const struct layout *l, bool bias)
{
    return (bias ? kernels_cycles_bias(l, l->hidden.k) : 0) +
           (l->model->sandwich ? kernels_cycles_norm(l) : 0) +
           kernels_cycles_residual(l, l->hidden.k);
}

/** Whole cycles of each kind, so that parts add up. */
static struct kernels_cycles whole(struct kernels_cycles c)
{
    return (struct kernels_cycles){ceil(c.products), ceil(c.attention), ceil(c.elementwise),
                                   ceil(c.recompute)};
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
        c.products = kernels_cycles_product(l, &l->hidden, l->heads.n * l->qkv);
        c.elementwise = kernels_cycles_norm(l) + after_qkv(l);
        break;
    case MODEL_PART_ATTN:
        c.products = kernels_cycles_product(l, &l->heads, l->hidden.n);
        c.attention =
            l->cached > 0 ? kernels_cycles_cached_attention(l) : kernels_cycles_attention(l);
        c.elementwise = after_half(l, m->o_bias);
        break;
    case MODEL_PART_FFN0:
        c.products = all_networks(l, ffn0_product) + routing(l);
        c.elementwise = (m->norm3 ? kernels_cycles_norm(l) : 0) + all_networks(l, activation) +
                        (m->ffn_bias ? kernels_cycles_bias(l, l->filter.k) : 0);
        break;
    case MODEL_PART_FFN1:
        c.products = all_networks(l, ffn1_product);
        c.elementwise = after_half(l, m->ffn_bias);
        break;
    case MODEL_PART_HEAD:
        head_forward(l, &c);
        break;
    }
    return whole(c);
}

/** Logits whose gradients a PE holds before they are used: as many as there is room for. */
static double head_chunk(const struct layout *h, const struct side *out)
{
    return fmax(1, fmin(out->k, floor(h->room / fmax(1, h->t))));
}

/** The head keeps no logits: they come again, some columns of the vocabulary at a time, as their
 *  weights pass; their gradient then gives that of the input and rows of dW. */
static void head_backward(const struct layout *l, struct kernels_cycles *c)
{
    const struct model *m = l->model;
    const struct layout h = head_layout(l);
    const struct side out = kernels_cycles_side(l, m->head_outputs);
    const double parts = ceil(out.k / head_chunk(&h, &out));
    c->recompute = kernels_cycles_product(&h, &h.hidden, out.n);
    c->products = kernels_cycles_product(&h, &out, h.hidden.n) +
                  (parts - 1) * h.hidden.n * kernels_cycles_op(0, h.t, h.add) +
                  kernels_cycles_weight_gradient(&h, &h.hidden, &out);
    c->elementwise = head_move(l) + kernels_cycles_map(&h, out.k * h.t, h.exp) +
                     kernels_cycles_loss_gradient(&h, out.k);
    if (m->head_bias) c->elementwise += kernels_cycles_bias_gradient(&h, out.k, 1);
    if (m->head_norm) c->elementwise += kernels_cycles_norm_gradient(&h);
    if (!m->head_dense) return;
    c->products += kernels_cycles_product(&h, &h.hidden, h.hidden.n) +
                   kernels_cycles_weight_gradient(&h, &h.hidden, &h.hidden);
    c->elementwise += kernels_cycles_nonlinearity(&h, h.hidden.k) +
                      kernels_cycles_bias_gradient(&h, h.hidden.k, 1);
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
        saved = all_networks(l, activation); /* counted in the backward of the second product */
    }
    return kernels_cycles_total(&c) - saved;
}

/** Gradients of what after_half() and after_qkv() add. */
static double half_gradient(const struct layout *l, bool bias)
{
    return (bias ? kernels_cycles_bias_gradient(l, l->hidden.k, 1) : 0) +
           (l->model->sandwich ? kernels_cycles_norm_gradient(l) : 0);
}

static double qkv_gradient(const struct layout *l)
{
    const struct model *m = l->model;
    const double turned = (double)m->rotary_dim / (double)m->head_dim * (1 + l->qkv) / 2;
    return (m->qkv_bias ? kernels_cycles_bias_gradient(l, l->heads.k * l->qkv / 3, 3) : 0) +
           (m->rotary_dim ? kernels_cycles_rotary(l, l->heads.k * turned) : 0);
}

struct kernels_cycles kernels_cycles_backward(const struct layout *l, enum model_part part,
                                              enum kernels_keep keep)
{
    const struct model *m = l->model;
    const struct side qkv = {l->heads.n * l->qkv, ceil(l->heads.k * l->qkv)};
    struct kernels_cycles c = {.recompute = again(l, part, keep)};
    switch (part) {
    case MODEL_PART_EMBED:
        c.elementwise = kernels_cycles_scatter(l, table_rows(m)) +
                        (m->embed_norm ? kernels_cycles_norm_gradient(l) : 0);
        break;
    case MODEL_PART_QKV:
        c.products = kernels_cycles_product(l, &qkv, l->hidden.n) +
                     kernels_cycles_weight_gradient(l, &l->hidden, &qkv);
        c.elementwise = kernels_cycles_norm_gradient(l) + qkv_gradient(l);
        break;
    case MODEL_PART_ATTN:
        c.products = kernels_cycles_product(l, &l->hidden, l->heads.n) +
                     kernels_cycles_weight_gradient(l, &l->heads, &l->hidden);
        c.attention = kernels_cycles_attention_gradient(l, true);
        c.elementwise = half_gradient(l, m->o_bias);
        break;
    case MODEL_PART_FFN0:
        c.products = all_networks(l, ffn0_gradients) + routing_gradient(l);
        c.elementwise = (m->norm3 ? kernels_cycles_norm_gradient(l) : 0) +
                        all_networks(l, activation_gradient) +
                        (m->ffn_bias ? kernels_cycles_bias_gradient(l, l->filter.k, 1) : 0);
        break;
    case MODEL_PART_FFN1:
        c.products = all_networks(l, ffn1_gradients);
        c.elementwise = all_networks(l, activation) + half_gradient(l, m->ffn_bias);
        break;
    case MODEL_PART_HEAD:
        head_backward(l, &c);
        break;
    }
    return whole(c);
}

double kernels_cycles_first_gradient(const struct layout *l, enum model_part part,
                                     enum kernels_keep keep)
{
    const struct layout h = head_layout(l);
    const struct side qkv = {l->heads.n * l->qkv, ceil(l->heads.k * l->qkv)};
    const struct side out = kernels_cycles_side(l, l->model->head_outputs);
    double redo = again(l, part, keep), latency = kernels_cycles_gradient_latency(l);
    switch (part) {
    case MODEL_PART_EMBED:
        return kernels_cycles_op(l->setup, l->hidden.k, l->mac) + latency;
    case MODEL_PART_QKV:
        redo += kernels_cycles_norm(l) + kernels_cycles_first_rows(l, &l->hidden, &qkv);
        break;
    case MODEL_PART_ATTN:
        redo += kernels_cycles_first_rows(l, &l->heads, &l->hidden);
        break;
    case MODEL_PART_FFN0:
        redo += activation_gradient(l) + kernels_cycles_norm(l) +
                kernels_cycles_first_rows(l, &l->hidden, &l->filter);
        break;
    case MODEL_PART_FFN1:
        redo += activation(l) + kernels_cycles_first_rows(l, &l->filter, &l->hidden);
        break;
    case MODEL_PART_HEAD: /* the first logits, their exponentials */
        redo += head_move(l) + (l->model->head_norm ? kernels_cycles_norm(&h) : 0) +
                kernels_cycles_product(&h, &h.hidden, head_chunk(&h, &out) * h.cols) +
                kernels_cycles_map(&h, head_chunk(&h, &out) * h.t, h.exp) +
                kernels_cycles_first_rows(&h, &h.hidden, &out);
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
    kernels_cycles_layout_of(&l, hw, model, plan, n_sequences);
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

int64_t kernels_generate_cycles(const struct hw *hw, const struct model *model,
                                const struct kernels_plan *plan, int stage,
                                const struct kernels_tokens *tokens, int64_t n_texts)
{
    struct layout l;
    const struct model_stage *s = stage_of(model, stage);
    if (n_texts <= 0) return 0;
    kernels_cycles_layout_tokens(&l, hw, model, plan->lanes, n_texts, tokens);
    struct kernels_cycles c = kernels_cycles_stage(&l, s, plan->keep, false);
    return to_int(kernels_cycles_total(&c));
}

int64_t kernels_first_gradient_cycles(const struct hw *hw, const struct model *model,
                                      const struct kernels_plan *plan, int stage,
                                      int64_t n_sequences)
{
    struct layout l;
    const struct model_stage *s = stage_of(model, stage);
    if (n_sequences <= 0) return 0;
    kernels_cycles_layout_of(&l, hw, model, plan, n_sequences);
    double first = kernels_cycles_first_gradient(&l, s->part[s->n_parts - 1], plan->keep);
    /* What comes before the last part of a block: its input, or the filter, computed again. */
    bool all = kernels_cycles_keep[plan->keep].output;
    for (int i = 0; i < s->n_parts - 1; i++)
        if (all || s->part[i] == MODEL_PART_FFN0) first += again(&l, s->part[i], plan->keep);
    struct kernels_cycles c = kernels_cycles_stage(&l, s, plan->keep, true);
    return to_int(fmin(first * l.factor, kernels_cycles_total(&c)));
}
