// SPDX-License-Identifier: Apache-2.0
#include "host_impl.h"

#include <string.h>

/* ---- embedding */

/* A row of a table as fp32. */
static const float *table_row(const struct kernels_host *k, enum model_tensor_kind kind,
                              int64_t row, float *scratch)
{
    int64_t C = k->model->C;
    const void *at = host_const_at(k, k->stage.weight[kind], row * C);
    if (k->fp32) return at;
    num_widen(k->model->format, scratch, at, C);
    return scratch;
}

static void embed_rows(struct kernels_host *k, const struct host_span *b, int thread)
{
    int64_t C = k->model->C;
    float scale = (float)k->model->embeddings_scale;
    float *scratch = host_thread(k, thread, HOST_ROW);
    for (int64_t i = b->row; i < b->row + b->n; i++) {
        float *x = host_x(k, 0) + i * C;
        const float *token = table_row(k, MODEL_WTE, k->batch->input_ids[i], scratch);
        for (int64_t c = 0; c < C; c++)
            x[c] = token[c] * scale;
        if (k->stage.weight[MODEL_WPE])
            num_add(x, table_row(k, MODEL_WPE, i % k->model->T, scratch), C);
    }
}

void kernels_host_embed_forward(struct kernels_host *k)
{
    kernels_host_each_block(k, embed_rows);
}

static void token_leaf(const struct kernels_host *k, const struct host_grad *g,
                       const struct host_span *leaf, int64_t r0, int64_t n, float *dst)
{
    int64_t C = g->cols;
    float scale = (float)k->model->embeddings_scale;
    memset(dst, 0, (size_t)(n * C) * sizeof *dst);
    for (int64_t i = leaf->row; i < leaf->row + leaf->n; i++) {
        int64_t row = k->batch->input_ids[i] - r0;
        if (row < 0 || row >= n) continue;
        float *sum = dst + row * C;
        const float *dx = (const float *)g->dy + i * C;
        for (int64_t c = 0; c < C; c++)
            sum[c] += dx[c] * scale;
    }
}

static void position_leaf(const struct kernels_host *k, const struct host_grad *g,
                          const struct host_span *leaf, int64_t r0, int64_t n, float *dst)
{
    int64_t C = g->cols, T = k->model->T;
    int64_t end = r0 + n < T ? r0 + n : T;
    memset(dst, 0, (size_t)(n * C) * sizeof *dst);
    if (end <= r0) return;
    for (int64_t i = leaf->row; i < leaf->row + leaf->n; i += T)
        num_add(dst, (const float *)g->dy + (i + r0) * C, (end - r0) * C);
}

void kernels_host_embed_backward(struct kernels_host *k)
{
    int64_t C = k->model->C;
    struct host_grad grad[2] = {
        {.kind = MODEL_WTE, .rows = k->stage.rows[MODEL_WTE], .leaf = token_leaf},
        {.kind = MODEL_WPE, .rows = k->stage.rows[MODEL_WPE], .leaf = position_leaf}};
    for (int i = 0; i < 2; i++) {
        grad[i].cols = C;
        grad[i].dy = k->buffer[HOST_DRES];
    }
    kernels_host_sum_grads(k, grad, 2);
}

/* ---- norm1 and the projections to q, k, v */

static const enum model_tensor_kind qkv_weight[3] = {MODEL_Q_W, MODEL_K_W, MODEL_V_W};
static const enum model_tensor_kind qkv_bias[3] = {MODEL_Q_B, MODEL_K_B, MODEL_V_B};

static void qkv_rows(struct kernels_host *k, const struct host_span *b, int thread)
{
    int64_t C = k->model->C, l = k->stage.layer;
    void *xn = host_thread(k, thread, HOST_OPERAND);
    float *wide = host_thread(k, thread, HOST_WIDE);
    void *qkv = host_kept_operands(k, HOST_QKV, l, 3 * C);
    struct num_product shape = host_linear_shape(b->n, C, C);
    kernels_host_norm_forward(k, b, MODEL_NORM1_W, host_x(k, l), host_norm_stats(k, 2 * l), xn,
                              thread);
    for (int i = 0; i < 3; i++) {
        host_product(k, &shape, xn, k->stage.weight[qkv_weight[i]], wide);
        kernels_host_store_linear(k, b, wide, C, k->stage.vector[qkv_bias[i]],
                                  host_at(k, qkv, i * C), 3 * C);
    }
}

void kernels_host_qkv_forward(struct kernels_host *k)
{
    kernels_host_each_block(k, qkv_rows);
}

static void qkv_rows_backward(struct kernels_host *k, const struct host_span *b, int thread)
{
    int64_t C = k->model->C, l = k->stage.layer;
    const float *x = host_x(k, l), *stats = host_norm_stats(k, 2 * l);
    const void *dqkv = host_at(k, k->buffer[HOST_DQKV], b->row * 3 * C);
    float *dxn = (float *)k->buffer[HOST_DXN] + b->row * C;
    struct num_product shape = host_linear_back_shape(b->n, C, C);
    shape.lda = 3 * C;
    kernels_host_norm_again(k, b, MODEL_NORM1_W, x, stats,
                            host_at(k, k->buffer[HOST_XN], b->row * C), thread);
    for (int i = 0; i < 3; i++) {
        host_product(k, &shape, host_const_at(k, dqkv, i * C), k->stage.weight[qkv_weight[i]], dxn);
        shape.beta = 1;
    }
    kernels_host_norm_backward(k, b, MODEL_NORM1_W, x, stats, false);
}

void kernels_host_qkv_backward(struct kernels_host *k)
{
    int64_t C = k->model->C, l = k->stage.layer;
    struct host_grad grad[8];
    kernels_host_each_block(k, qkv_rows_backward);
    for (int i = 0; i < 3; i++) {
        const void *dy = host_at(k, k->buffer[HOST_DQKV], i * C);
        grad[i] = kernels_host_linear_grad(qkv_weight[i], C, C, dy, 3 * C, k->buffer[HOST_XN]);
        grad[3 + i] = kernels_host_bias_grad(qkv_bias[i], C, dy, 3 * C);
    }
    kernels_host_norm_grads(k, grad + 6, MODEL_NORM1_W, host_x(k, l), host_norm_stats(k, 2 * l));
    kernels_host_sum_grads(k, grad, 8);
}

/* ---- norm3 and the first linear layer of the FFN */

static void ffn0_rows(struct kernels_host *k, const struct host_span *b, int thread)
{
    int64_t C = k->model->C, F = k->model->F, l = k->stage.layer;
    void *xn = host_thread(k, thread, HOST_OPERAND);
    float *pre = host_kept(k, HOST_PRE, l, F) + b->row * F;
    struct num_product shape = host_linear_shape(b->n, C, F);
    const float *bias = k->stage.vector[MODEL_FFN0_B];
    kernels_host_norm_forward(k, b, MODEL_NORM3_W, host_mid(k, l), host_norm_stats(k, 2 * l + 1),
                              xn, thread);
    host_product(k, &shape, xn, k->stage.weight[MODEL_FFN0_W], pre);
    for (int64_t i = 0; bias && i < b->n; i++)
        num_add(pre + i * F, bias, F);
}

void kernels_host_ffn0_forward(struct kernels_host *k)
{
    kernels_host_each_block(k, ffn0_rows);
}

static void ffn0_rows_backward(struct kernels_host *k, const struct host_span *b, int thread)
{
    int64_t C = k->model->C, F = k->model->F, l = k->stage.layer;
    const float *mid = host_mid(k, l), *stats = host_norm_stats(k, 2 * l + 1);
    struct num_product shape = host_linear_back_shape(b->n, C, F);
    kernels_host_norm_again(k, b, MODEL_NORM3_W, mid, stats,
                            host_at(k, k->buffer[HOST_XN], b->row * C), thread);
    host_product(k, &shape, host_at(k, k->buffer[HOST_DPRE], b->row * F),
                 k->stage.weight[MODEL_FFN0_W], (float *)k->buffer[HOST_DXN] + b->row * C);
    kernels_host_norm_backward(k, b, MODEL_NORM3_W, mid, stats, false);
}

void kernels_host_ffn0_backward(struct kernels_host *k)
{
    int64_t C = k->model->C, F = k->model->F, l = k->stage.layer;
    const void *dpre = k->buffer[HOST_DPRE];
    struct host_grad grad[4];
    kernels_host_each_block(k, ffn0_rows_backward);
    grad[0] = kernels_host_linear_grad(MODEL_FFN0_W, F, C, dpre, F, k->buffer[HOST_XN]);
    grad[1] = kernels_host_bias_grad(MODEL_FFN0_B, F, dpre, F);
    kernels_host_norm_grads(k, grad + 2, MODEL_NORM3_W, host_mid(k, l),
                            host_norm_stats(k, 2 * l + 1));
    kernels_host_sum_grads(k, grad, 4);
}

/* ---- the nonlinearity, which the second linear layer applies to what the first one kept */

static void ffn1_rows(struct kernels_host *k, const struct host_span *b, int thread)
{
    int64_t C = k->model->C, F = k->model->F, l = k->stage.layer;
    void *act = host_thread(k, thread, HOST_OPERAND);
    float *row = host_thread(k, thread, HOST_ROW);
    const float *mid = host_mid(k, l) + b->row * C, *bias = k->stage.vector[MODEL_FFN1_B];
    float *out = host_x(k, l + 1) + b->row * C;
    for (int64_t i = 0; i < b->n; i++) {
        void *to = host_at(k, act, i * F);
        const float *pre = host_kept(k, HOST_PRE, l, F) + (b->row + i) * F;
        kernels_host_activate(k->model, k->fp32 ? to : row, pre);
        if (!k->fp32) host_narrow(k, to, row, F);
        if (out != mid) memcpy(out + i * C, mid + i * C, (size_t)C * sizeof *out);
        if (bias) num_add(out + i * C, bias, C);
    }
    struct num_product shape = host_linear_shape(b->n, F, C);
    shape.beta = 1;
    host_product(k, &shape, act, k->stage.weight[MODEL_FFN1_W], out);
}

void kernels_host_ffn1_forward(struct kernels_host *k)
{
    kernels_host_each_block(k, ffn1_rows);
}

static void ffn1_rows_backward(struct kernels_host *k, const struct host_span *b, int thread)
{
    int64_t C = k->model->C, F = k->model->F, l = k->stage.layer;
    float *dact = host_thread(k, thread, HOST_WIDE);
    float *act_row = host_thread(k, thread, HOST_ROW),
          *dpre_row = host_thread(k, thread, HOST_ROW2);
    struct num_product shape = host_linear_back_shape(b->n, F, C);
    host_product(k, &shape, kernels_host_dres_operands(k, b), k->stage.weight[MODEL_FFN1_W], dact);
    for (int64_t i = 0; i < b->n; i++) {
        int64_t at = (b->row + i) * F;
        void *act = host_at(k, k->buffer[HOST_ACT], at),
             *dpre = host_at(k, k->buffer[HOST_DPRE], at);
        kernels_host_activate_backward(k->model, k->fp32 ? act : act_row, k->fp32 ? dpre : dpre_row,
                                       dact + i * F, host_kept(k, HOST_PRE, l, F) + at);
        if (k->fp32) continue;
        host_narrow(k, act, act_row, F);
        host_narrow(k, dpre, dpre_row, F);
    }
}

void kernels_host_ffn1_backward(struct kernels_host *k)
{
    int64_t C = k->model->C, F = k->model->F;
    const void *dy = k->buffer[HOST_DRES_OP];
    struct host_grad grad[2];
    kernels_host_each_block(k, ffn1_rows_backward);
    grad[0] = kernels_host_linear_grad(MODEL_FFN1_W, C, F, dy, C, k->buffer[HOST_ACT]);
    grad[1] = kernels_host_bias_grad(MODEL_FFN1_B, C, dy, C);
    kernels_host_sum_grads(k, grad, 2);
}
