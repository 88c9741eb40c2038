// SPDX-License-Identifier: Apache-2.0
/* Computes the cycles of each part of a stage, forward and backward, as a sum of operations that
 * depends on the features of the model. Recomputation of values that were not kept is included.
 * The operations are in cycles_product.c, cycles_rows.c and cycles_attention.c; cycles_stage.c adds
 * up stages and cycles_plan.c chooses the kept values. */
#include "cycles_parts.h"

#include "cycles_adapter.h"
#include "cycles_cached.h"
#include "cycles_condition.h"
#include "cycles_cross.h"
#include "cycles_experts.h"
#include "cycles_layout.h"
#include "cycles_losses.h"
#include "cycles_product.h"
#include "cycles_rows.h"
#include "cycles_sparse.h"
#include "cycles_vector.h"

#include <math.h>

const struct cycles_keep_row cycles_keep_rows[CYCLES_N_KEEPS] = {
    [CYCLES_KEEP_ALL] = {.by_part = true},
    [CYCLES_KEEP_NO_ATTENTION] = {.attention = true, .by_part = true},
    [CYCLES_KEEP_PROJECTIONS] = {.attention = true, .ffn0 = true},
    [CYCLES_KEEP_FILTER] = {.qkv = true, .attention = true},
    [CYCLES_KEEP_INPUT] =
        {.qkv = true, .attention = true, .output = true, .ffn0 = true, .branch = true},
    [CYCLES_KEEP_BRANCH] =
        {.qkv = true, .attention = true, .output = true, .ffn0 = true, .gated = true},
};

double cycles_total(const struct cycles_breakdown *c)
{
    return c->products + c->attention + c->elementwise + c->recompute;
}

/** Rows of the table of tokens. */
static double token_rows(const struct cycles_layout *l)
{
    const struct model *m = l->model;
    return (double)(m->n_stacks > 1 ? m->stack[l->stack].V : m->V);
}

/** Rows of the table of positions; 0: none, or with @p learned none that is learned. */
static double position_rows(const struct cycles_layout *l, bool learned)
{
    const enum zoo_position type = l->model->zoo.position_embedding_type;
    if (type == ZOO_POSITION_LEARNED) return (double)l->model->stack[l->stack].table_rows;
    return type == ZOO_POSITION_FIXED && !learned ? l->tokens : 0;
}

/** A token's embedding is the sum of rows of several tables, which stream past one after the
 *  other. */
static double embedding(const struct cycles_layout *l)
{
    const struct model *m = l->model;
    const double positions = position_rows(l, false);
    double sum = cycles_gather(l, token_rows(l));
    if (positions > 0) sum += cycles_gather_positions(l, positions);
    if (m->token_types > 0) sum += cycles_gather_added(l, (double)m->token_types);
    return sum + (m->zoo.embedding_layer_norm ? cycles_norm(l) : 0);
}

/** Gradients of the tables of embedding(), each times the fraction of it that trains. */
static double embedding_gradient(const struct cycles_layout *l)
{
    const struct model *m = l->model;
    const double positions = position_rows(l, true), types = (double)m->token_types;
    double sum = cycles_trained_of(l, MODEL_WTE) * cycles_scatter(l, token_rows(l));
    if (positions > 0)
        sum += cycles_trained_of(l, MODEL_WPE) * cycles_scatter_positions(l, positions);
    if (types > 0) sum += cycles_trained_of(l, MODEL_WTT) * cycles_scatter(l, types);
    return sum + (m->zoo.embedding_layer_norm ? cycles_norm_gradient(l) : 0);
}

/* ---- feed-forward networks ------------------------------------------------------------------- */

/** Sum of @p one over all feed-forward networks: chosen experts with the tokens of one expert,
 *  shared networks with all tokens. */
static double all_networks(const struct cycles_layout *l,
                           double (*one)(const struct cycles_layout *l))
{
    const struct model *m = l->model;
    const struct cycles_layout e = cycles_expert_layout(l);
    if (!m->experts) return one(l);
    return (double)m->experts * one(&e) + (double)m->shared_experts * one(l);
}

/* The first product of a feed-forward network; a gated network has two matrices. */
static double ffn0_product(const struct cycles_layout *l)
{
    const double part = l->model->gated ? 0.5 : 1;
    const struct cycles_matrix matrix[] = {{MODEL_FFN0_W, part}, {MODEL_GLU_W, part}};
    return cycles_products(l, &l->hidden, (double)model_ffn_features(l->model), matrix,
                           l->model->gated ? 2 : 1);
}

static double ffn1_product(const struct cycles_layout *l)
{
    return cycles_product_sliced(l, &l->filter, (double)l->model->C,
                                 cycles_density_of(l, MODEL_FFN1_W));
}

static double ffn0_gradient(const struct cycles_layout *l, enum model_tensor_kind kind)
{
    return cycles_product_sliced(l, &l->filter, (double)l->model->C, cycles_density_of(l, kind)) +
           cycles_kind_gradient(l, &l->hidden, &l->filter, kind);
}

static double ffn0_gradients(const struct cycles_layout *l)
{
    return ffn0_gradient(l, MODEL_FFN0_W) + (l->model->gated ? ffn0_gradient(l, MODEL_GLU_W) : 0);
}

static double ffn1_gradients(const struct cycles_layout *l)
{
    return cycles_product(l, &l->hidden, (double)l->model->F, cycles_density_of(l, MODEL_FFN1_W)) +
           cycles_kind_gradient(l, &l->filter, &l->hidden, MODEL_FFN1_W);
}

/** Biases of the first matrices of one network, each a vector of its own. */
static double ffn0_biases(const struct cycles_layout *l)
{
    if (!l->model->zoo.use_ffn_bias) return 0;
    return (l->model->gated ? 2 : 1) * cycles_bias(l, l->filter.k);
}

static double ffn1_bias(const struct cycles_layout *l)
{
    return l->model->zoo.use_ffn_bias ? cycles_bias(l, l->hidden.k) : 0;
}

static double ffn0_bias_gradients(const struct cycles_layout *l)
{
    const int n = l->model->gated ? 2 : 1;
    const struct cycles_matrix bias[] = {{MODEL_FFN0_B, 1.0 / n}, {MODEL_GLU_B, 1.0 / n}};
    return l->model->zoo.use_ffn_bias ? cycles_biases_gradient(l, n * l->filter.k, bias, n) : 0;
}

static double ffn1_bias_gradient(const struct cycles_layout *l)
{
    if (!l->model->zoo.use_ffn_bias) return 0;
    return cycles_kind_bias_gradient(l, l->hidden.k, MODEL_FFN1_B);
}

/** The nonlinearity, and the product with the other half of a gated network. */
static double activation(const struct cycles_layout *l)
{
    const double n = l->filter.k * l->t;
    return cycles_nonlinearity(l, l->model->nonlinearity, l->filter.k) +
           (l->model->gated ? cycles_mul_tiles(l, n) : 0);
}

/** Derivative of activation(), with respect to both halves of a gated network. */
static double activation_gradient(const struct cycles_layout *l)
{
    const double n = l->filter.k * l->t;
    return cycles_nonlinearity(l, l->model->nonlinearity, l->filter.k) +
           (l->model->gated ? 2 * cycles_mul_tiles(l, n) : 0);
}

/* ---- head ------------------------------------------------------------------------------------ */

/** The layout of the tokens that go through head @p i, spread evenly over the rows. */
static struct cycles_layout head_layout(const struct cycles_layout *l, int i)
{
    struct cycles_layout h = *l;
    const double tokens = (double)l->model->head[i].tokens;
    h.t = i ? ceil(l->texts * tokens / l->rows) : l->head_t;
    return h;
}

/** Cycles to move the tokens that a head takes along y, so that they are spread evenly over the
 *  rows. */
static double head_move(const struct cycles_layout *l, const struct cycles_layout *h)
{
    if (h->t >= l->t) return 0;
    return 2 * h->t * cycles_copy(l, l->hidden.k) + l->rows * l->hop;
}

/** Number of norms in a head. */
static int n_norms(const struct model_head *head)
{
    return (head->input_norm != 0) + (head->norm != 0);
}

/** Only logits of the vocabulary can have a soft cap, not those of classes. */
static bool caps(const struct model_head *head)
{
    return head->output == MODEL_LM_HEAD_W;
}

static void one_head_forward(const struct cycles_layout *l, int i, struct cycles_breakdown *c)
{
    const struct model_head *head = &l->model->head[i];
    const struct cycles_layout h = head_layout(l, i);
    const struct cycles_side out = cycles_side_of(l, head->outputs);
    c->products += cycles_product(&h, &h.hidden, out.n, cycles_density_of(l, head->output));
    c->elementwise += head_move(l, &h) + cycles_loss_of(&h, head->loss, out.k);
    if (caps(head)) c->elementwise += cycles_logit_cap(&h, out.k);
    if (head->bias) c->elementwise += cycles_bias(&h, out.k);
    c->elementwise += n_norms(head) * cycles_norm(&h);
    if (!head->dense) return;
    c->products += cycles_product(&h, &h.hidden, h.hidden.n, cycles_density_of(l, head->dense));
    c->elementwise +=
        cycles_bias(&h, h.hidden.k) + cycles_nonlinearity(&h, head->function, h.hidden.k);
}

static void head_forward(const struct cycles_layout *l, struct cycles_breakdown *c)
{
    for (int i = 0; i < l->model->n_heads; i++)
        one_head_forward(l, i, c);
}

/** True where a norm follows attention or the feed-forward network: of the branch (sandwich) or of
 *  the residual sum (post-norm). */
static bool norm_after(const struct model *m)
{
    return m->zoo.norm_first_sandwich || m->norm_last;
}

/** cycles_norm_before() of the feed-forward network, where the model has a norm there. */
static double norm_before_ffn(const struct cycles_layout *l,
                              double (*norm)(const struct cycles_layout *l))
{
    return l->model->norm3 ? cycles_norm_before(l, norm) : 0;
}

/** Rotary positions of q and k, and their gradient. */
static double rotation(const struct cycles_layout *l)
{
    const struct model *m = l->model;
    const double rotated = (double)m->rotary_dim / (double)m->head_dim * (1 + l->qkv) / 2;
    return m->rotary_dim ? cycles_rotary(l, l->heads.k * rotated) : 0;
}

/** Operations on q, k and v after their product: bias, rotary positions, norms of q and k. */
static double after_qkv(const struct cycles_layout *l)
{
    const bool biased = l->model->zoo.use_projection_bias_in_attention;
    return (biased ? cycles_bias(l, l->heads.k * l->qkv) : 0) + rotation(l) + cycles_head_norms(l);
}

/** Operations after the bias of attention or of the feed-forward network: a norm where the model
 *  has one there, residual. */
static double after_half(const struct cycles_layout *l)
{
    return (norm_after(l->model) ? cycles_norm(l) : 0) + cycles_residual(l, l->hidden.k);
}

/** Round each kind of cycles up, so that the parts of a stage add up to it exactly. */
static struct cycles_breakdown whole(struct cycles_breakdown c)
{
    return (struct cycles_breakdown){ceil(c.products), ceil(c.attention), ceil(c.elementwise),
                                     ceil(c.recompute)};
}

static void embed_forward(const struct cycles_layout *l, struct cycles_breakdown *c)
{
    if (l->model->patch)
        cycles_patches_forward(l, c);
    else
        c->elementwise = embedding(l);
}

/** The matrices of q, k and v, which follow each other on the same input, or their biases. */
struct qkv_matrices {
    struct cycles_matrix of[3];
};

static struct qkv_matrices qkv_shares(const struct cycles_layout *l, enum model_tensor_kind q,
                                      enum model_tensor_kind k, enum model_tensor_kind v)
{
    const double keys = (l->qkv - 1) / 2 / l->qkv;
    return (struct qkv_matrices){{{q, 1 / l->qkv}, {k, keys}, {v, keys}}};
}

static struct qkv_matrices qkv_weights(const struct cycles_layout *l)
{
    return qkv_shares(l, MODEL_Q_W, MODEL_K_W, MODEL_V_W);
}

static double qkv_product(const struct cycles_layout *l)
{
    const struct qkv_matrices w = qkv_weights(l);
    return cycles_products(l, &l->hidden, l->heads.n * l->qkv, w.of, 3);
}

static void qkv_forward(const struct cycles_layout *l, struct cycles_breakdown *c)
{
    c->products = qkv_product(l);
    c->elementwise = cycles_norm_before(l, cycles_norm) + after_qkv(l);
}

static void attn_forward(const struct cycles_layout *l, struct cycles_breakdown *c)
{
    c->products = cycles_product(l, &l->heads, l->hidden.n, cycles_density_of(l, MODEL_O_W));
    c->attention = l->cached > 0 ? cycles_cached_attention(l) : cycles_attention(l);
    c->elementwise =
        (l->model->zoo.use_ffn_bias_in_attention ? cycles_bias(l, l->hidden.k) : 0) + after_half(l);
}

static void ffn0_forward(const struct cycles_layout *l, struct cycles_breakdown *c)
{
    c->products = all_networks(l, ffn0_product) + cycles_router_product(l);
    c->elementwise = norm_before_ffn(l, cycles_norm) + cycles_dispatch(l) +
                     all_networks(l, activation) + all_networks(l, ffn0_biases);
}

static void ffn1_forward(const struct cycles_layout *l, struct cycles_breakdown *c)
{
    c->products = all_networks(l, ffn1_product);
    c->elementwise = cycles_combine(l) + all_networks(l, ffn1_bias) + after_half(l);
}

/** Number of logits per token whose gradients fit the room of a PE at a time. */
static double head_chunk(const struct cycles_layout *h, const struct cycles_side *out)
{
    return fmax(1, fmin(out->k, floor(h->room / fmax(1, h->t))));
}

/** The head keeps no logits: it recomputes them while their weights stream, some columns of the
 *  vocabulary at a time. Their gradient then gives the gradient of the input and rows of dW. */
static void one_head_backward(const struct cycles_layout *l, int i, struct cycles_breakdown *c)
{
    const struct model_head *head = &l->model->head[i];
    const struct cycles_layout h = head_layout(l, i);
    const struct cycles_side out = cycles_side_of(l, head->outputs);
    const double parts = ceil(out.k / head_chunk(&h, &out));
    const double density = cycles_density_of(l, head->output);
    c->recompute += cycles_product(&h, &h.hidden, out.n, density);
    c->products += cycles_product(&h, &out, h.hidden.n, density) +
                   (parts - 1) * h.hidden.n * cycles_op(0, h.t, h.add) +
                   cycles_kind_gradient(&h, &h.hidden, &out, head->output);
    c->elementwise += head_move(l, &h) + cycles_loss_again(&h, head->loss, out.k) +
                      cycles_loss_gradient_of(&h, head->loss, out.k);
    if (head->smoothing > 0) c->elementwise += cycles_even_labels_gradient(&h, out.k);
    if (caps(head))
        c->elementwise += cycles_logit_cap(&h, out.k) + cycles_logit_cap_gradient(&h, out.k);
    if (head->bias) c->elementwise += cycles_kind_bias_gradient(&h, out.k, head->output + 1);
    c->elementwise += n_norms(head) * cycles_norm_gradient(&h);
    if (!head->dense) return;
    c->products += cycles_product(&h, &h.hidden, h.hidden.n, cycles_density_of(l, head->dense)) +
                   cycles_kind_gradient(&h, &h.hidden, &h.hidden, head->dense);
    c->elementwise += cycles_nonlinearity(&h, head->function, h.hidden.k) +
                      cycles_kind_bias_gradient(&h, h.hidden.k, head->dense + 1);
}

/** Heads in reverse order; each adds to the gradient of its input. */
static void head_backward(const struct cycles_layout *l, struct cycles_breakdown *c)
{
    for (int i = l->model->n_heads - 1; i >= 0; i--)
        one_head_backward(l, i, c);
}

/** Gradient of after_half(). */
static double half_gradient(const struct cycles_layout *l)
{
    return norm_after(l->model) ? cycles_norm_gradient(l) : 0;
}

static double qkv_gradient(const struct cycles_layout *l)
{
    const bool biased = l->model->zoo.use_projection_bias_in_attention;
    const struct qkv_matrices b = qkv_shares(l, MODEL_Q_B, MODEL_K_B, MODEL_V_B);
    return (biased ? cycles_biases_gradient(l, l->heads.k * l->qkv, b.of, 3) : 0) + rotation(l) +
           cycles_head_norms_gradient(l);
}

/** The output features of q, k and v together. */
static struct cycles_side qkv_side(const struct cycles_layout *l)
{
    return (struct cycles_side){.n = l->heads.n * l->qkv, .k = ceil(l->heads.k * l->qkv)};
}

static void embed_backward(const struct cycles_layout *l, struct cycles_breakdown *c)
{
    const struct model *m = l->model;
    if (m->patch) {
        cycles_patches_backward(l, c);
        return;
    }
    c->elementwise = embedding_gradient(l);
}

static void qkv_backward(const struct cycles_layout *l, struct cycles_breakdown *c)
{
    const struct cycles_side qkv = qkv_side(l);
    const struct qkv_matrices w = qkv_weights(l);
    c->products =
        cycles_product(l, &qkv, l->hidden.n, cycles_mean_of(l, w.of, 3, cycles_density_of)) +
        cycles_matrices_gradient(l, &l->hidden, &qkv, w.of, 3);
    c->elementwise = cycles_norm_before(l, cycles_norm_gradient) + qkv_gradient(l);
}

static void attn_backward(const struct cycles_layout *l, struct cycles_breakdown *c)
{
    c->products = cycles_product(l, &l->hidden, l->heads.n, cycles_density_of(l, MODEL_O_W)) +
                  cycles_kind_gradient(l, &l->heads, &l->hidden, MODEL_O_W);
    c->attention = cycles_attention_gradient(l, true);
    c->elementwise = (l->model->zoo.use_ffn_bias_in_attention
                          ? cycles_kind_bias_gradient(l, l->hidden.k, MODEL_O_B)
                          : 0) +
                     half_gradient(l);
}

static void ffn0_backward(const struct cycles_layout *l, struct cycles_breakdown *c)
{
    c->products = all_networks(l, ffn0_gradients) + cycles_router_product_gradient(l);
    c->elementwise = norm_before_ffn(l, cycles_norm_gradient) + cycles_dispatch_gradient(l) +
                     all_networks(l, activation_gradient) + all_networks(l, ffn0_bias_gradients);
}

static void ffn1_backward(const struct cycles_layout *l, struct cycles_breakdown *c)
{
    c->products = all_networks(l, ffn1_gradients);
    c->elementwise = cycles_combine_gradient(l) + all_networks(l, activation) +
                     all_networks(l, ffn1_bias_gradient) + half_gradient(l);
}

/* ---- cycles until the first row of a part's gradient leaves ---------------------------------- */

static double embed_first(const struct cycles_layout *l)
{
    if (l->model->patch) return cycles_patches_first(l);
    return cycles_op(l->setup, l->hidden.k, l->mac);
}

static double qkv_first(const struct cycles_layout *l)
{
    const struct cycles_side qkv = qkv_side(l);
    const struct qkv_matrices w = qkv_weights(l);
    return cycles_norm_before(l, cycles_norm) +
           cycles_first_rows(l, &l->hidden, &qkv,
                             cycles_mean_of(l, w.of, 3, cycles_gradient_density_of));
}

static double attn_first(const struct cycles_layout *l)
{
    return cycles_first_rows(l, &l->heads, &l->hidden, cycles_gradient_density_of(l, MODEL_O_W));
}

static double ffn0_first(const struct cycles_layout *l)
{
    return activation_gradient(l) + norm_before_ffn(l, cycles_norm) +
           cycles_first_rows(l, &l->hidden, &l->filter,
                             cycles_gradient_density_of(l, MODEL_FFN0_W));
}

static double ffn1_first(const struct cycles_layout *l)
{
    return activation(l) + cycles_first_rows(l, &l->filter, &l->hidden,
                                             cycles_gradient_density_of(l, MODEL_FFN1_W));
}

/* Cycles until the head's first gradient: the first chunk of logits of the first head and its
 * exponentials. */
static double head_first(const struct cycles_layout *l)
{
    const struct model_head *head = &l->model->head[0];
    const struct cycles_layout h = head_layout(l, 0);
    const struct cycles_side out = cycles_side_of(l, head->outputs);
    return head_move(l, &h) + n_norms(head) * cycles_norm(&h) +
           cycles_product(&h, &h.hidden, head_chunk(&h, &out) * h.cols,
                          cycles_density_of(l, head->output)) +
           cycles_loss_again(&h, head->loss, head_chunk(&h, &out)) +
           cycles_first_rows(&h, &h.hidden, &out, cycles_gradient_density_of(l, head->output));
}

/* ---- the parts ------------------------------------------------------------------------------- */

/* One row for each part of a model, as in host.c and program_parts.c; a new part is one more row.
 * Callers add what is recomputed. */
static const struct {
    void (*forward)(const struct cycles_layout *l, struct cycles_breakdown *c);
    void (*backward)(const struct cycles_layout *l, struct cycles_breakdown *c);
    double (*first)(const struct cycles_layout *l);
} part_rows[] = {
    [MODEL_PART_EMBED] = {embed_forward, embed_backward, embed_first},
    [MODEL_PART_QKV] = {qkv_forward, qkv_backward, qkv_first},
    [MODEL_PART_ATTN] = {attn_forward, attn_backward, attn_first},
    [MODEL_PART_CROSS_QKV] = {cycles_cross_qkv_forward, cycles_cross_qkv_backward,
                              cycles_cross_qkv_first},
    [MODEL_PART_CROSS_ATTN] = {cycles_cross_attn_forward, cycles_cross_attn_backward,
                               cycles_cross_attn_first},
    [MODEL_PART_MEMORY] = {cycles_memory_forward, cycles_memory_backward, cycles_memory_first},
    [MODEL_PART_FFN0] = {ffn0_forward, ffn0_backward, ffn0_first},
    [MODEL_PART_FFN1] = {ffn1_forward, ffn1_backward, ffn1_first},
    [MODEL_PART_HEAD] = {head_forward, head_backward, head_first},
};
_Static_assert(MODEL_N_PARTS == 9, "a row for each part of a model");

struct cycles_breakdown cycles_part_forward(const struct cycles_layout *l, enum model_part part)
{
    struct cycles_breakdown c = {0};
    part_rows[part].forward(l, &c);
    cycles_adapters_forward(l, part, &c);
    cycles_conditions_forward(l, part, &c);
    return whole(c);
}

double cycles_part_again(const struct cycles_layout *l, enum model_part part, enum cycles_keep keep)
{
    const struct cycles_keep_row *row = &cycles_keep_rows[keep];
    struct cycles_breakdown c = {0};
    double saved = 0;
    const bool qkv = part == MODEL_PART_QKV || part == MODEL_PART_CROSS_QKV;
    const bool cross = part == MODEL_PART_CROSS_ATTN, attn = part == MODEL_PART_ATTN || cross;
    const struct cycles_layout keys = cross ? cycles_cross_layout(l) : *l;
    if (qkv && row->qkv) c = cycles_part_forward(l, part);
    if (attn && row->output)
        c = cycles_part_forward(l, part);
    else if (attn && row->attention)
        c.attention = cycles_attention(&keys);
    if (part == MODEL_PART_FFN1 && row->branch && l->model->patch) /* its gradient needs the
                                                                    * branch */
        c = cycles_part_forward(l, part);
    if (part == MODEL_PART_FFN0 && row->ffn0) {
        c = cycles_part_forward(l, part);
        saved = all_networks(l, activation); /* counted in the backward of the second product */
    }
    return cycles_total(&c) - saved;
}

struct cycles_breakdown cycles_part_backward(const struct cycles_layout *l, enum model_part part,
                                             enum cycles_keep keep)
{
    struct cycles_breakdown c = {.recompute = cycles_part_again(l, part, keep)};
    part_rows[part].backward(l, &c);
    cycles_adapters_backward(l, part, &c);
    cycles_conditions_backward(l, part, &c);
    return whole(c);
}

double cycles_part_first_gradient(const struct cycles_layout *l, enum model_part part,
                                  enum cycles_keep keep)
{
    return cycles_part_again(l, part, keep) + part_rows[part].first(l) + cycles_gradient_latency(l);
}

struct cycles_breakdown cycles_layout_stage(const struct cycles_layout *l,
                                            const struct model_stage *stage, enum cycles_keep keep,
                                            bool backward)
{
    struct cycles_breakdown sum = {0};
    struct cycles_layout own = *l;
    cycles_layout_stack(&own, stage->stack);
    for (int i = 0; i < stage->n_parts; i++) {
        struct cycles_breakdown c = backward ? cycles_part_backward(&own, stage->part[i], keep)
                                             : cycles_part_forward(&own, stage->part[i]);
        sum.products += c.products * l->factor;
        sum.attention += c.attention * l->factor;
        sum.elementwise += c.elementwise * l->factor;
        sum.recompute += c.recompute * l->factor;
    }
    return sum;
}
