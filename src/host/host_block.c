// SPDX-License-Identifier: Apache-2.0
/* Computes the parts of a transformer block, forward and backward: q k v projections, feed-forward
 * network and embedding, with biases and norms. host_attention.c has attention, host_experts.c
 * mixtures of experts, host_branch.c the sum of a branch with the residual stream. */
#include "host_block.h"
#include "host_branch.h"
#include "host_buffers.h"
#include "host_cache.h"
#include "host_experts.h"
#include "host_ffn.h"
#include "host_grad.h"
#include "host_gradient.h"
#include "host_head_norm.h"
#include "host_operands.h"
#include "host_positions.h"
#include "host_relative.h"
#include "host_row_blocks.h"
#include "host_sparse.h"
#include "host_state.h"
#include "host_table_adapter.h"

#include <string.h>

/* ---- embedding */

/* A row of a table as fp32. */
static const float *table_row(const struct host *k, enum model_tensor_kind kind, int64_t row,
                              float *scratch)
{
    int64_t C = k->model->C;
    const void *at = host_const_at(k, k->stage.weight[kind], row * C);
    if (k->fp32) return at;
    num_widen(k->model->format, scratch, at, C);
    return scratch;
}

/* The embedding of token @p row before norm, scale and dropout; @p adapted: the sum of its
 * adapters, or NULL. */
static void embedding_row(const struct host *k, int64_t row, const float *adapted, float *x,
                          int thread)
{
    int64_t C = k->model->C, t = host_position(k, row);
    float *scratch = host_thread(k, thread, HOST_ROW2);
    memcpy(x, table_row(k, MODEL_WTE, k->batch->input_ids[row], scratch), (size_t)C * sizeof *x);
    if (k->token_scale) num_scale(x, host_token_factor(k, row), C);
    if (k->stage.weight[MODEL_WPE])
        num_add(x, table_row(k, MODEL_WPE, host_table_row(k, row), scratch), C);
    if (k->stage.weight[MODEL_WTT] && k->batch->token_types)
        num_add(x, table_row(k, MODEL_WTT, k->batch->token_types[row], scratch), C);
    if (k->model->zoo.position_embedding_type == ZOO_POSITION_FIXED)
        num_add(x, (const float *)k->buffer[HOST_TABLE] + t * C, C);
    if (adapted) num_add(x, adapted, C);
}

/* Where embeddings_scale multiplies a row, or its gradient. */
enum scale_place { BEFORE_NORM, AFTER_NORM };

/* Scale a row if the scale of the model belongs to @p at. */
static void scale_row(const struct host *k, enum scale_place at, float *x)
{
    const struct model *m = k->model;
    const enum scale_place place = m->scale_first ? BEFORE_NORM : AFTER_NORM;
    if (at == place && m->zoo.embeddings_scale != 1)
        num_scale(x, (float)m->zoo.embeddings_scale, m->C);
}

/* Apply dropout to a row of the embedding, or to its gradient. */
static void drop_row(const struct host *k, int64_t row, float *x, int thread)
{
    const int64_t C = k->model->C;
    host_drop(k, MODEL_DROP_EMBED, row, row % k->T * C, x, C, thread);
}

/* x = token row + position row, with norm and scale in the order of the model, then dropout. */
static void embed_rows(struct host *k, const struct host_span *b, int thread)
{
    const bool normed = k->model->zoo.embedding_layer_norm;
    int64_t C = k->model->C;
    const float *adapted = host_table_adapter_rows(k, b, thread);
    for (int64_t i = b->row; i < b->row + b->n; i++) {
        float *x = host_x(k, host_start(k)) + i * C, *raw = host_thread(k, thread, HOST_ROW);
        embedding_row(k, i, adapted ? adapted + (i - b->row) * C : NULL, normed ? raw : x, thread);
        scale_row(k, BEFORE_NORM, raw);
        if (normed) host_norm_row(k, MODEL_NORME_W, x, raw, host_embed_stats(k) + 2 * i);
        scale_row(k, AFTER_NORM, x);
        drop_row(k, i, x, thread);
    }
}

void host_embed_forward(struct host *k)
{
    if (k->stage.weight[MODEL_RELATIVE_W]) host_relative_load(k);
    host_each_block(k, embed_rows);
}

/* Rows [r0, r0 + n) of the gradient of the token table for one leaf: each token adds to its row,
 * in the order of the tokens. */
static void token_leaf(const struct host *k, const struct host_grad *g,
                       const struct host_span *leaf, int64_t r0, int64_t n, float *dst)
{
    int64_t C = g->cols;
    memset(dst, 0, (size_t)(n * C) * sizeof *dst);
    for (int64_t i = leaf->row; i < leaf->row + leaf->n; i++) {
        int64_t row = k->batch->input_ids[i] - r0;
        const float *dy = (const float *)g->dy + i * C, factor = host_token_gradient(k, i);
        if (row < 0 || row >= n || factor == 0) continue;
        for (int64_t c = 0; factor != 1 && c < C; c++)
            dst[row * C + c] += factor * dy[c];
        if (factor == 1) num_add(dst + row * C, dy, C);
    }
}

/* The gradient of the table of token types for one leaf, in the order of the tokens. */
static void type_leaf(const struct host *k, const struct host_grad *g, const struct host_span *leaf,
                      int64_t r0, int64_t n, float *dst)
{
    int64_t C = g->cols;
    memset(dst, 0, (size_t)(n * C) * sizeof *dst);
    for (int64_t i = leaf->row; k->batch->token_types && i < leaf->row + leaf->n; i++) {
        int64_t row = k->batch->token_types[i] - r0;
        if (row >= 0 && row < n) num_add(dst + row * C, (const float *)g->dy + i * C, C);
    }
}

/* The gradient of the position table for one leaf, in the order of the tokens. */
static void position_leaf(const struct host *k, const struct host_grad *g,
                          const struct host_span *leaf, int64_t r0, int64_t n, float *dst)
{
    int64_t C = g->cols;
    memset(dst, 0, (size_t)(n * C) * sizeof *dst);
    for (int64_t i = leaf->row; i < leaf->row + leaf->n; i++) {
        int64_t row = host_table_row(k, i) - r0;
        if (row >= 0 && row < n) num_add(dst + row * C, (const float *)g->dy + i * C, C);
    }
}

/* Gradient of the rows of the tables, in HOST_DRES. With a norm, the gradient of its output is in
 * HOST_DXN, and its recomputed input overwrites the input of the first block, which is no longer
 * needed. */
static void embed_rows_backward(struct host *k, const struct host_span *b, int thread)
{
    const bool normed = k->model->zoo.embedding_layer_norm;
    int64_t C = k->model->C;
    float *dres = k->buffer[HOST_DRES], *dxn = k->buffer[HOST_DXN], *raw = host_x(k, 0);
    const float *adapted = normed ? host_table_adapter_rows(k, b, thread) : NULL;
    for (int64_t i = b->row; i < b->row + b->n; i++) {
        scale_row(k, AFTER_NORM, dres + i * C);
        drop_row(k, i, dres + i * C, thread);
        if (!normed) continue;
        memcpy(dxn + i * C, dres + i * C, (size_t)C * sizeof *dxn);
        embedding_row(k, i, adapted ? adapted + (i - b->row) * C : NULL, raw + i * C, thread);
        scale_row(k, BEFORE_NORM, raw + i * C);
    }
    if (normed) host_norm_backward(k, b, MODEL_NORME_W, raw, host_embed_stats(k), dres, true);
    for (int64_t i = b->row; normed && i < b->row + b->n; i++)
        scale_row(k, BEFORE_NORM, dres + i * C);
}

void host_embed_backward(struct host *k)
{
    int64_t C = k->model->C;
    enum { TABLES = 4, NORM = 2, ADAPTERS = 4 };
    int n = TABLES;
    struct host_grad grad[TABLES + NORM + ADAPTERS] = {
        {.kind = MODEL_WTE, .rows = k->stage.rows[MODEL_WTE], .leaf = token_leaf},
        {.kind = MODEL_WPE, .rows = k->stage.rows[MODEL_WPE], .leaf = position_leaf},
        {.kind = MODEL_WTT, .rows = k->stage.rows[MODEL_WTT], .leaf = type_leaf},
        host_relative_grad(k)};
    for (int i = 0; i < TABLES - 1; i++) {
        grad[i].cols = C;
        grad[i].dy = k->buffer[HOST_DRES];
    }
    if (k->model->tied) grad[0].tied = HOST_TIED_EMBED;
    host_each_block(k, embed_rows_backward);
    if (k->model->zoo.embedding_layer_norm) {
        host_norm_grads(k, grad + n, MODEL_NORME_W, k->buffer[HOST_DXN], host_x(k, 0),
                        host_embed_stats(k));
        n += NORM;
    }
    n += host_table_adapter_grads(k, grad + n);
    host_sum_grads(k, grad, n);
}

/* ---- norm1 and the projections to q, k, v */

/* One of the three projections, which are side by side in a row of HOST_QKV. */
struct projection {
    enum model_tensor_kind weight, bias;
    int64_t column, features;
    bool rotated, normed;
};
enum { N_PROJECTIONS = 3 };

static struct projection projection_of(const struct model *m, int i)
{
    static const enum model_tensor_kind weight[N_PROJECTIONS] = {MODEL_Q_W, MODEL_K_W, MODEL_V_W};
    static const enum model_tensor_kind bias[N_PROJECTIONS] = {MODEL_Q_B, MODEL_K_B, MODEL_V_B};
    const int64_t q = model_q_features(m), kv = model_kv_features(m);
    return (struct projection){.weight = weight[i],
                               .bias = bias[i],
                               .column = i ? q + (i - 1) * kv : 0,
                               .features = i ? kv : q,
                               .rotated = m->rotary_dim && i < 2,
                               .normed = model_norms_heads(m) && i < 2};
}

/* Rotation and norms of heads are computed in fp32, after the bias and before rounding, as in the
 * backward pass. */
static void qkv_rows(struct host *k, const struct host_span *b, int thread)
{
    int64_t C = k->model->C, l = k->stage.layer, width = model_qkv_features(k->model);
    void *xn = k->buffer[HOST_NORMED]
                   ? host_at(k, host_kept_operands(k, HOST_NORMED, l, C), b->row * C)
                   : host_thread(k, thread, HOST_OPERAND);
    const struct host_lines at = {b->row, thread};
    float *wide = host_thread(k, thread, HOST_WIDE);
    void *qkv = host_kept_operands(k, HOST_QKV, l, width);
    if (k->model->norm_last)
        host_to_operands(k, xn, host_x(k, l) + b->row * C, b->n * C);
    else
        host_norm_forward(k, b, MODEL_NORM1_W, host_x(k, l), host_norm_stats(k, l, HOST_NORM1), xn,
                          thread);
    for (int i = 0; i < N_PROJECTIONS; i++) {
        const struct projection p = projection_of(k->model, i);
        const float *bias = k->stage.vector[p.bias];
        struct num_product shape = host_linear_shape(b->n, C, p.features);
        host_linear(k, &shape, xn, p.weight, 0, &at, wide);
        const bool changed = p.rotated || p.normed;
        for (int64_t r = 0; changed && bias && r < b->n; r++)
            num_add(wide + r * p.features, bias, p.features);
        if (p.rotated) host_rotate(k, b, wide, p.features, false);
        if (p.normed) host_head_norm_rows(k, b, p.weight, wide);
        host_store_linear(k, b, wide, p.features, changed ? NULL : bias, host_at(k, qkv, p.column),
                          width);
    }
    if (k->cached && k->stack->causal) host_cache_rows(k, b);
}

void host_qkv_forward(struct host *k)
{
    host_each_block(k, qkv_rows);
}

/* If the FFN shares the output of norm1, its gradient is already in HOST_DXN. The gradient of x
 * through the FFN's own norm is in HOST_DSIDE until it is added here. */
static void qkv_rows_backward(struct host *k, const struct host_span *b, int thread)
{
    int64_t C = k->model->C, l = k->stage.layer, width = model_qkv_features(k->model);
    const float *x = host_x(k, l), *stats = host_norm_stats(k, l, HOST_NORM1);
    const void *dqkv = host_at(k, k->buffer[HOST_DQKV], b->row * width);
    float *dxn = (float *)k->buffer[HOST_DXN] + b->row * C, *dres = k->buffer[HOST_DRES];
    const struct host_lines at = {b->row, thread};
    void *xn = host_at(k, k->buffer[HOST_XN], b->row * C);
    if (k->model->norm_last)
        host_to_operands(k, xn, x + b->row * C, b->n * C);
    else
        host_norm_again(k, b, MODEL_NORM1_W, x, stats, xn, thread);
    for (int i = 0; i < N_PROJECTIONS; i++) {
        const struct projection p = projection_of(k->model, i);
        struct num_product shape = host_linear_back_shape(b->n, C, p.features);
        shape.lda = width;
        shape.beta = i || !k->model->norm3 ? 1 : 0;
        host_linear(k, &shape, host_const_at(k, dqkv, p.column), p.weight, 0, &at, dxn);
    }
    if (k->model->norm_last)
        num_add(dres + b->row * C, dxn, b->n * C);
    else
        host_norm_backward(k, b, MODEL_NORM1_W, x, stats, dres, false);
    if (k->buffer[HOST_DSIDE])
        num_add(dres + b->row * C, (const float *)k->buffer[HOST_DSIDE] + b->row * C, b->n * C);
}

void host_qkv_backward(struct host *k)
{
    int64_t C = k->model->C, l = k->stage.layer, width = model_qkv_features(k->model);
    enum { LINEAR = 2 * N_PROJECTIONS, HEAD_NORMS = 4 };
    struct host_grad grad[LINEAR + 2 + HEAD_NORMS];
    int n = LINEAR;
    if (model_norms_heads(k->model)) host_each_block(k, host_head_norm_rows_backward);
    host_each_block(k, qkv_rows_backward);
    for (int i = 0; i < N_PROJECTIONS; i++) {
        const struct projection p = projection_of(k->model, i);
        const void *dy = host_at(k, k->buffer[HOST_DQKV], p.column);
        grad[i] = host_linear_grad(p.weight, p.features, C, dy, width, k->buffer[HOST_XN]);
        grad[3 + i] = host_bias_grad(p.bias, p.features, dy, width);
    }
    host_norm_grads(k, grad + n, MODEL_NORM1_W, k->buffer[HOST_DXN], host_x(k, l),
                    host_norm_stats(k, l, HOST_NORM1));
    n += k->model->norm_last ? 0 : 2;
    if (model_norms_heads(k->model)) n += host_head_norm_grads(k, grad + n);
    host_sum_grads(k, grad, n);
}

/* ---- norm3 and the first linear layers of the FFN */

static void ffn0_rows(struct host *k, const struct host_span *b, int thread)
{
    int64_t width = model_ffn_features(k->model);
    const void *xn = host_ffn_normed(k, b, host_thread(k, thread, HOST_OPERAND), false, thread);
    const struct host_lines at = {b->row, thread};
    host_ffn_linear(k, xn, b->n, 0, &at,
                    host_kept(k, HOST_PRE, k->stage.layer, width) + b->row * width);
}

void host_ffn0_forward(struct host *k)
{
    if (k->model->experts)
        host_experts_ffn0(k);
    else
        host_each_block(k, ffn0_rows);
}

/* dxn from dpre, then through norm3 to the stream; recomputes HOST_XN for the weight gradient. */
static void ffn0_rows_backward(struct host *k, const struct host_span *b, int thread)
{
    int64_t C = k->model->C, width = model_ffn_features(k->model);
    const struct host_lines at = {b->row, thread};
    host_ffn_normed(k, b, host_at(k, k->buffer[HOST_XN], b->row * C), true, thread);
    host_ffn_linear_back(k, host_at(k, k->buffer[HOST_DPRE], b->row * width), b->n, 0, &at,
                         (float *)k->buffer[HOST_DXN] + b->row * C);
    host_ffn_norm_backward(k, b);
}

void host_ffn0_backward(struct host *k)
{
    int64_t C = k->model->C, F = k->model->F, width = model_ffn_features(k->model);
    const void *dpre = k->buffer[HOST_DPRE], *dgate = host_at(k, k->buffer[HOST_DPRE], F);
    struct host_grad grad[6];
    int n = 2;
    if (k->model->experts) {
        host_experts_ffn0_backward(k);
        return;
    }
    host_each_block(k, ffn0_rows_backward);
    const void *xn = k->model->norm3 ? k->buffer[HOST_XN]
                                     : host_kept_operands(k, HOST_NORMED, k->stage.layer, C);
    grad[0] = host_linear_grad(MODEL_FFN0_W, F, C, dpre, width, xn);
    grad[1] = host_bias_grad(MODEL_FFN0_B, F, dpre, width);
    if (k->model->gated) {
        grad[n++] = host_linear_grad(MODEL_GLU_W, F, C, dgate, width, xn);
        grad[n++] = host_bias_grad(MODEL_GLU_B, F, dgate, width);
    }
    n += host_ffn_norm_grads(k, grad + n);
    host_sum_grads(k, grad, n);
}

/* ---- the nonlinearity, which the second linear layer applies to what the first one kept */

/* Outside training x and the next x share one buffer; in training each layer has its own. */
static void ffn1_rows(struct host *k, const struct host_span *b, int thread)
{
    int64_t C = k->model->C, F = k->model->F, l = k->stage.layer;
    int64_t width = model_ffn_features(k->model);
    void *act = host_thread(k, thread, HOST_OPERAND);
    const float *mid = host_cross_mid(k, l) + b->row * C, *bias = k->stage.vector[MODEL_FFN1_B];
    float *out = host_x(k, l + 1) + b->row * C;
    const struct host_lines at = {b->row, thread};
    struct num_product shape = host_linear_shape(b->n, F, C);
    host_ffn_activate(k, b, host_kept(k, HOST_PRE, l, width) + b->row * width, act, thread);
    if (!host_plain_branch(k)) {
        float *branch = host_branch_out(k, &host_ffn_branch, b, thread);
        host_linear(k, &shape, act, MODEL_FFN1_W, 0, &at, branch);
        host_add_branch(k, &host_ffn_branch, b, branch, bias, thread);
        return;
    }
    if (!bias && out != mid) memcpy(out, mid, (size_t)(b->n * C) * sizeof *out);
    for (int64_t i = 0; bias && i < b->n; i++)
        num_sum_of(out + i * C, mid + i * C, bias, C);
    shape.beta = 1;
    host_linear(k, &shape, act, MODEL_FFN1_W, 0, &at, out);
}

void host_ffn1_forward(struct host *k)
{
    if (k->model->experts)
        host_experts_ffn1(k);
    else
        host_each_block(k, ffn1_rows);
}

/* dact = dy W1, then dpre and the recomputed activation. */
static void ffn1_rows_backward(struct host *k, const struct host_span *b, int thread)
{
    int64_t C = k->model->C, F = k->model->F, width = model_ffn_features(k->model);
    float *dact = host_thread(k, thread, HOST_WIDE);
    const struct host_lines at = {b->row, thread};
    struct num_product shape = host_linear_back_shape(b->n, F, C);
    host_linear(k, &shape, host_branch_gradient(k, &host_ffn_branch, b, thread), MODEL_FFN1_W, 0,
                &at, dact);
    host_ffn_activate_backward(k, b, host_kept(k, HOST_PRE, k->stage.layer, width) + b->row * width,
                               dact, host_at(k, k->buffer[HOST_ACT], b->row * F),
                               host_at(k, k->buffer[HOST_DPRE], b->row * width), thread);
}

void host_ffn1_backward(struct host *k)
{
    int64_t C = k->model->C, F = k->model->F;
    const void *dy = host_branch_gradients(k);
    struct host_grad grad[4];
    if (k->model->experts) {
        host_experts_ffn1_backward(k);
        return;
    }
    host_each_block(k, ffn1_rows_backward);
    grad[0] = host_linear_grad(MODEL_FFN1_W, C, F, dy, C, k->buffer[HOST_ACT]);
    grad[1] = host_bias_grad(MODEL_FFN1_B, C, dy, C);
    host_sum_grads(k, grad, 2 + host_branch_norm_grads(k, &host_ffn_branch, grad + 2));
}
