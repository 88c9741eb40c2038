// SPDX-License-Identifier: Apache-2.0
/* Computes the cycles between encoder and decoder. Both stacks distribute the sequences of a
 * micro-batch evenly over the rows, so a sequence lies on the same rows in both. Hence keys pass
 * queries as in attention within a stack; their number is the encoder's, and no mask hides them.
 * Queries, keys and values are products in the layouts of their own tokens. cycles_parts.c has the
 * table of parts. */
#include "cycles_cross.h"

#include "cycles_cached.h"
#include "cycles_layout.h"
#include "cycles_product.h"
#include "cycles_rows.h"
#include "cycles_sparse.h"
#include "cycles_vector.h"

/* The layout of the encoder, the stack before that of @p l. */
static struct cycles_layout encoder_layout(const struct cycles_layout *l)
{
    struct cycles_layout e = *l;
    cycles_layout_stack(&e, l->stack - 1);
    return e;
}

struct cycles_layout cycles_cross_layout(const struct cycles_layout *l)
{
    struct cycles_layout x = *l;
    x.tokens = (double)l->model->stack[l->stack - 1].T;
    x.causal = false;
    x.q_mean = x.q;
    x.capped = x.sloped = x.relative = false;
    return x;
}

/* ---- the encoder's output -------------------------------------------------------------------- */

/* True in a step of generation whose sources went through the encoder in an earlier step. */
static bool memory_is_kept(const struct cycles_layout *l)
{
    return l->generated.n_new && !l->generated.n_source;
}

void cycles_memory_forward(const struct cycles_layout *l, struct cycles_breakdown *c)
{
    if (memory_is_kept(l)) return;
    const struct cycles_layout e = encoder_layout(l);
    c->elementwise = cycles_norm(&e);
}

void cycles_memory_backward(const struct cycles_layout *l, struct cycles_breakdown *c)
{
    const struct cycles_layout e = encoder_layout(l);
    c->elementwise = cycles_norm_gradient(&e);
}

double cycles_memory_first(const struct cycles_layout *l)
{
    const struct cycles_layout e = encoder_layout(l);
    return cycles_norm_gradient(&e);
}

/* ---- queries, keys and values ---------------------------------------------------------------- */

static struct cycles_side keys_and_values(const struct cycles_layout *l)
{
    const double both = l->qkv - 1;
    return (struct cycles_side){.n = l->heads.n * both, .k = l->heads.k * both};
}

static const struct cycles_matrix kv_weights[] = {{MODEL_CROSS_K_W, 0.5}, {MODEL_CROSS_V_W, 0.5}};
static const struct cycles_matrix kv_biases[] = {{MODEL_CROSS_K_B, 0.5}, {MODEL_CROSS_V_B, 0.5}};

void cycles_cross_qkv_forward(const struct cycles_layout *l, struct cycles_breakdown *c)
{
    const bool biased = l->model->zoo.use_projection_bias_in_attention;
    c->products = cycles_product(l, &l->hidden, l->heads.n, cycles_density_of(l, MODEL_CROSS_Q_W));
    c->elementwise = cycles_norm_before(l, cycles_norm) + (biased ? cycles_bias(l, l->heads.k) : 0);
    if (memory_is_kept(l)) return;
    const struct cycles_layout e = encoder_layout(l);
    const struct cycles_side kv = keys_and_values(l);
    c->products += cycles_products(&e, &e.hidden, kv.n, kv_weights, 2);
    if (biased) c->elementwise += cycles_bias(&e, kv.k);
}

/* Every decoder layer adds its gradient of the encoder's output to that of the later layers. */
void cycles_cross_qkv_backward(const struct cycles_layout *l, struct cycles_breakdown *c)
{
    const struct cycles_layout e = encoder_layout(l);
    const struct cycles_side kv = keys_and_values(l);
    c->products =
        cycles_product(l, &l->heads, l->hidden.n, cycles_density_of(l, MODEL_CROSS_Q_W)) +
        cycles_kind_gradient(l, &l->hidden, &l->heads, MODEL_CROSS_Q_W) +
        cycles_product(&e, &kv, e.hidden.n, cycles_mean_of(l, kv_weights, 2, cycles_density_of)) +
        cycles_matrices_gradient(&e, &e.hidden, &kv, kv_weights, 2);
    c->elementwise = cycles_norm_before(l, cycles_norm_gradient) + cycles_residual(&e, e.hidden.k);
    if (l->model->zoo.use_projection_bias_in_attention)
        c->elementwise += cycles_kind_bias_gradient(l, l->heads.k, MODEL_CROSS_Q_B) +
                          cycles_biases_gradient(&e, kv.k, kv_biases, 2);
}

double cycles_cross_qkv_first(const struct cycles_layout *l)
{
    return cycles_norm_before(l, cycles_norm) +
           cycles_first_rows(l, &l->hidden, &l->heads,
                             cycles_gradient_density_of(l, MODEL_CROSS_Q_W));
}

/* ---- attention ------------------------------------------------------------------------------- */

void cycles_cross_attn_forward(const struct cycles_layout *l, struct cycles_breakdown *c)
{
    const struct cycles_layout x = cycles_cross_layout(l);
    c->products = cycles_product(l, &l->heads, l->hidden.n, cycles_density_of(l, MODEL_CROSS_O_W));
    c->attention = l->generated.n_new ? cycles_cached_cross(l) : cycles_attention(&x);
    c->elementwise = (l->model->zoo.use_ffn_bias_in_attention ? cycles_bias(l, l->hidden.k) : 0) +
                     (l->model->norm_last ? cycles_norm(l) : 0) + cycles_residual(l, l->hidden.k);
}

void cycles_cross_attn_backward(const struct cycles_layout *l, struct cycles_breakdown *c)
{
    const struct cycles_layout x = cycles_cross_layout(l);
    c->products = cycles_product(l, &l->hidden, l->heads.n, cycles_density_of(l, MODEL_CROSS_O_W)) +
                  cycles_kind_gradient(l, &l->heads, &l->hidden, MODEL_CROSS_O_W);
    c->attention = cycles_attention_gradient(&x, true);
    c->elementwise = (l->model->zoo.use_ffn_bias_in_attention
                          ? cycles_kind_bias_gradient(l, l->hidden.k, MODEL_CROSS_O_B)
                          : 0) +
                     (l->model->norm_last ? cycles_norm_gradient(l) : 0);
}

double cycles_cross_attn_first(const struct cycles_layout *l)
{
    return cycles_first_rows(l, &l->heads, &l->hidden,
                             cycles_gradient_density_of(l, MODEL_CROSS_O_W));
}
