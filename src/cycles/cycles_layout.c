// SPDX-License-Identifier: Apache-2.0
/* Computes the layout of a micro-batch on the PEs of a wafer, and the rates of one PE. Features are
 * distributed over x, tokens over y; a head of attention has columns of its own, or shares one
 * (docs/MODEL.md, "Layout"). Every formula of the analytical model reads the struct that this file
 * fills; next: cycles_vector.c. */
#include "cycles_layout.h"

#include "cycles_vector.h"

#include <wsc/check.h>
#include <wsc/mesh.h>

#include <math.h>

struct cycles_side cycles_side_of(const struct cycles_layout *l, int64_t n)
{
    return (struct cycles_side){.n = (double)n, .k = ceil((double)n / l->cols)};
}

static void set_rates(struct cycles_layout *l, const struct hw_wafer *w, enum num_format format)
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
    l->by_data = w->data_triggered;
    l->start = w->data_triggered ? w->arrival_cycles : l->loop + l->setup;
    l->masked = w->masked_scores;
    l->accumulators = (double)w->sum_accumulators;
    l->index = w->sparse_index_cycles;
    l->sampled = w->sparse_gradient == HW_GRADIENT_SAMPLED;
    l->exp = (double)w->exp_cycles;
    l->divide = (double)w->divide_cycles;
    l->hop = (double)w->hop_cycles;
    l->ramp = (double)w->ramp_cycles;
    l->factor = w->kernel_factor;
    /* Luczynski et al. 2024 (HPDC), chain reduce: up the ramp, one addition, down the ramp, and the
     * way to the next router; 2 T_R + 2 with one cycle a hop. */
    l->relay = 2 * (double)w->ramp_cycles + l->hop + 1;
}

/** Filter features on a PE, over all networks that a token goes through. */
static double filters(const struct cycles_layout *l)
{
    return l->filter.k * (double)model_active_ffns(l->model);
}

/** Hidden values per token that are live in a sliced feed-forward network: h, dy, the norm's
 *  output, and the 32-bit sums of its gradient (two values). */
enum { SLICED_HIDDEN = 5 };

double cycles_live_ffn(const struct cycles_layout *l)
{
    const double all = (l->model->gated ? 5 : 3) * filters(l);
    if (l->slices > 1) return SLICED_HIDDEN * l->hidden.k + ceil(all / l->slices);
    return 2 * l->hidden.k + all;
}

double cycles_normed_heads(const struct model *m, double heads)
{
    return model_norms_heads(m) ? heads * (1 + (double)m->kv_heads / (double)m->H) : 0;
}

double cycles_live_attention(const struct cycles_layout *l)
{
    return 2 * l->hidden.k + 2 * l->heads.k * (1 + l->qkv) +
           cycles_normed_heads(l->model, l->heads.k);
}

static double room_of(const struct cycles_layout *l)
{
    const double ffn = cycles_live_ffn(l), attention = cycles_live_attention(l);
    const double dropped = floor(filters(l) / l->slices);
    return fmax(ffn, attention) - fmax(ffn - dropped, attention);
}

double cycles_sum_vectors(const struct cycles_layout *l)
{
    return l->has_zeros ? l->accumulators : CYCLES_SUM_VECTORS;
}

static void set_room(struct cycles_layout *l)
{
    l->room = l->t * (cycles_sum_vectors(l) + room_of(l) * l->value);
}

/** Assign heads to columns: a head has columns of its own where there are enough, otherwise several
 *  heads share a column. */
static void set_heads(struct cycles_layout *l)
{
    const struct model *m = l->model;
    const double H = (double)m->H, d = (double)m->head_dim;
    const double cols = fmin(floor(l->cols / H), d);
    const double per = cols >= 1 ? ceil(d / cols) : d;
    l->heads_per_pe = cols >= 1 ? 1 : ceil(H / l->cols);
    l->head_cols = cols >= 1 ? ceil(d / per) : 1;
    l->heads = (struct cycles_side){.n = H * d, .k = per * l->heads_per_pe};
    l->qkv = 1 + 2 * (double)m->kv_heads / H;
}

/** Keys up to its own of each computed token of a sequence, at most @p most, summed over the
 *  tokens. */
static double keys_of_tokens(const struct cycles_layout *l, double most)
{
    const double n = l->tokens, growing = fmax(0, fmin(most - l->cached, n));
    return growing * l->cached + growing * (growing + 1) / 2 + (n - growing) * most;
}

static double all_keys(const struct cycles_layout *l)
{
    return keys_of_tokens(l, l->cached + l->tokens);
}

double cycles_keys_seen(const struct cycles_layout *l)
{
    const struct model *m = l->model;
    const double all = all_keys(l);
    if (!m->window) return all;
    const double near = keys_of_tokens(l, (double)(m->window + 1 + m->sink_tokens));
    return m->zoo.sliding_window_every_other_decoder_layer ? (all + near) / 2 : near;
}

/** Set the queries per sequence on a PE (q), the rows of a sequence, and the mean number of queries
 *  that attend to a key. */
static void set_sequences(struct cycles_layout *l)
{
    l->q = ceil(l->t / l->seqs);
    l->seq_rows = fmin(l->rows, ceil(l->tokens / l->q));
    const double seen_q = l->causal ? (l->q + 1) / 2 * (cycles_keys_seen(l) / all_keys(l)) : l->q;
    l->q_mean = seen_q + l->masked * (l->q - seen_q);
    set_room(l);
}

/** Set the latencies that differ between the emulated fabrics of WSE-3 and WSE-2: on WSE-3,
 *  operations that send or receive have a set-up, and the ramp is slower toward the PE. */
static void set_generation(struct cycles_layout *l)
{
    const struct mesh_latencies of = mesh_latencies_of(MESH_WSE3);
    if (l->hop < of.hop) return;
    l->setup_fabric = of.setup;
    l->ramp = (of.ramp_up + of.ramp_down) / 2.0;
    l->relay = of.ramp_up + of.ramp_down + l->hop + 1;
}

void cycles_layout_round_robin(struct cycles_layout *l, int64_t n_sequences)
{
    l->seqs = (double)n_sequences;
    l->masked = 0;
    l->on_mesh = true;
    set_generation(l);
    l->t = l->head_t = l->seqs * ceil(l->tokens / l->rows);
    set_sequences(l);
    l->seq_rows = fmin(l->rows, l->tokens);
    /* The row of the last token has the latest tokens: its query i is i rows before the last token
     * and attends to the keys up to its own. */
    if (l->causal) l->q_mean = l->q - l->rows * l->q * (l->q - 1) / (2 * l->tokens);
}

/** Distribute @p tokens tokens of each text over the rows of a lane; @p head of them go through the
 *  head. */
static void spread_tokens(struct cycles_layout *l, double tokens, double head)
{
    l->tokens = tokens;
    l->t = ceil(l->texts * tokens / l->rows);
    l->head_t = ceil(l->texts * head / l->rows);
    l->seqs = ceil(l->t / tokens);
    set_sequences(l);
}

/** Distribute the tokens that stack @p stack computes in a step of generation: new tokens of the
 *  texts in the last stack, sources that were not yet encoded in an encoder. */
static void spread_generated(struct cycles_layout *l, int stack)
{
    const struct cycles_tokens *g = &l->generated;
    const bool source = stack < l->model->n_stacks - 1;
    l->texts = l->of_stack[stack];
    l->cached = source ? 0 : (double)g->n_cached;
    spread_tokens(l, (double)(source ? g->n_source : g->n_new), 1);
}

void cycles_layout_stack(struct cycles_layout *l, int stack)
{
    const struct model *m = l->model;
    const double room = l->room;
    if (m->n_stacks < 2) return;
    l->stack = stack;
    l->causal = m->stack[stack].causal;
    if (l->generated.n_new)
        spread_generated(l, stack);
    else
        spread_tokens(l, (double)m->stack[stack].T, (double)m->head[0].tokens);
    l->room = room;
}

/* Let the stack with the longest sequences determine the room, which is the same for all stacks. */
static void spread_longest(struct cycles_layout *l)
{
    const struct model *m = l->model;
    const int longest = m->stack[1].T > m->stack[0].T ? 1 : 0;
    cycles_layout_stack(l, longest);
    set_room(l);
}

void cycles_layout_init(struct cycles_layout *l, const struct hw *hw, const struct model *model,
                        int lanes, int64_t n_sequences)
{
    const struct hw_wafer *w = &hw->cluster->wafer;
    WSC_CHECK(lanes >= 1 && lanes <= w->pe_cols && n_sequences >= 1, "%d lanes, %lld sequences",
              lanes, (long long)n_sequences);
    *l = (struct cycles_layout){.model = model,
                                .lanes = lanes,
                                .rows = (double)w->pe_rows,
                                .slices = 1,
                                .capped = model->zoo.attention_logit_softcapping > 0,
                                .sloped = model->zoo.position_embedding_type == ZOO_POSITION_ALIBI,
                                .relative = model->buckets > 0 && !model->slopes};
    set_rates(l, w, model->format);
    l->cols = floor((double)w->pe_cols / lanes);
    l->hidden = cycles_side_of(l, model->C);
    l->filter = cycles_side_of(l, model->F);
    set_heads(l);
    l->texts = ceil((double)n_sequences / lanes);
    if (model->n_stacks > 1) {
        spread_longest(l);
        return;
    }
    l->causal = model->causal;
    spread_tokens(l, (double)model->T, (double)model->head[0].tokens);
}

/* Set @p zeros when some weights or gradients are sparse, @p frozen when some tensors are
 * frozen. */
static void density_effects(const struct model_density *d, bool *zeros, bool *frozen)
{
    *zeros = *frozen = false;
    for (int kind = 0; d && kind < MODEL_N_KINDS; kind++) {
        if (d->weights[kind] < 1 || d->gradients[kind] < 1) *zeros = true;
        if (d->trained[kind] < 1) *frozen = true;
    }
}

void cycles_layout_sparse(struct cycles_layout *l, const struct model_density *density)
{
    bool frozen;
    density_effects(density, &l->has_zeros, &frozen);
    l->density = l->has_zeros || frozen ? density : NULL;
    set_room(l);
}

void cycles_layout_slice(struct cycles_layout *l, int slices)
{
    l->slices = fmax(1, slices);
    set_room(l);
}

void cycles_layout_init_tokens(struct cycles_layout *l, const struct hw *hw,
                               const struct model *model, int lanes, int64_t n_texts,
                               const struct cycles_tokens *tokens)
{
    const int64_t beams = tokens->n_beams > 1 ? tokens->n_beams : 1;
    const int last = model->n_stacks - 1;
    cycles_layout_init(l, hw, model, lanes, n_texts);
    l->generated = *tokens;
    const int64_t n_sources = (n_texts + beams - 1) / beams;
    l->of_stack[0] = ceil((double)n_sources / lanes);
    l->of_stack[last] = l->texts;
    if (last)
        cycles_layout_stack(l, last);
    else
        spread_generated(l, last);
}

void cycles_layout_init_plan(struct cycles_layout *l, const struct hw *hw,
                             const struct model *model, const struct cycles_plan *plan,
                             int64_t n_sequences, const struct model_density *density)
{
    cycles_layout_init(l, hw, model, plan->lanes, n_sequences);
    cycles_layout_sparse(l, density);
    cycles_layout_slice(l, plan->slices);
    if (plan->micro_batch <= n_sequences) return;
    struct cycles_layout whole;
    cycles_layout_init(&whole, hw, model, plan->lanes, plan->micro_batch);
    cycles_layout_sparse(&whole, density);
    cycles_layout_slice(&whole, plan->slices);
    l->room = whole.room;
}
