// SPDX-License-Identifier: Apache-2.0
/* Computes what lies between encoder and decoder (Vaswani et al. 2017, 3.1): the encoder's output
 * after its last norm (HOST_MEMORY) is the input of the keys and values of every decoder layer.
 * Their gradients are added up in HOST_DMEMORY, beginning with the last layer, keys before values.
 * They go back through the norm after the decoder's backward pass. */
#include "host_cross.h"
#include "host_branch.h"
#include "host_buffers.h"
#include "host_cache.h"
#include "host_grad.h"
#include "host_gradient.h"
#include "host_operands.h"
#include "host_row_blocks.h"
#include "host_sparse.h"
#include "host_stacks.h"

#include <string.h>

/* ---- the encoder's output */

/* Index of the encoder's output stream in the kept buffers; it belongs to no block. */
static int64_t encoder_end(const struct host *k)
{
    return k->model->stack[0].L;
}

static void drop_memory(const struct host *k, int64_t row, float *x, int thread)
{
    const int64_t C = k->model->C;
    host_drop(k, MODEL_DROP_MEMORY, row, row % k->T * C, x, C, thread);
}

static void memory_rows(struct host *k, const struct host_span *b, int thread)
{
    const int64_t C = k->model->C;
    const float *x = host_x(k, encoder_end(k));
    float *stats = host_norm_stats(k, encoder_end(k), 0), *row = host_thread(k, thread, HOST_ROW);
    for (int64_t i = b->row; i < b->row + b->n; i++) {
        host_norm_row(k, MODEL_MEMORY_W, row, x + i * C, stats + 2 * i);
        drop_memory(k, i, row, thread);
        host_to_operands(k, host_at(k, k->buffer[HOST_MEMORY], i * C), row, C);
    }
}

void host_memory_forward(struct host *k)
{
    const int decoder = (int)(k->stack - k->model->stack);
    host_use_stack(k, decoder - 1);
    host_each_block(k, memory_rows);
    host_use_stack(k, decoder);
}

static void memory_rows_backward(struct host *k, const struct host_span *b, int thread)
{
    const int64_t C = k->model->C;
    float *dxn = k->buffer[HOST_DXN];
    memcpy(dxn + b->row * C, (const float *)k->buffer[HOST_DMEMORY] + b->row * C,
           (size_t)(b->n * C) * sizeof *dxn);
    for (int64_t i = b->row; i < b->row + b->n; i++)
        drop_memory(k, i, dxn + i * C, thread);
    host_norm_backward(k, b, MODEL_MEMORY_W, host_x(k, encoder_end(k)),
                       host_norm_stats(k, encoder_end(k), 0), k->buffer[HOST_DRES], true);
}

void host_memory_backward(struct host *k)
{
    const int decoder = (int)(k->stack - k->model->stack);
    struct host_grad grad[2];
    host_use_stack(k, decoder - 1);
    host_each_block(k, memory_rows_backward);
    host_norm_grads(k, grad, MODEL_MEMORY_W, k->buffer[HOST_DXN], host_x(k, encoder_end(k)),
                    host_norm_stats(k, encoder_end(k), 0));
    host_sum_grads(k, grad, 2);
    host_use_stack(k, decoder);
}

/* ---- queries, keys and values */

static void *queries(const struct host *k)
{
    return host_kept_operands(k, HOST_CROSS_Q, host_cross_layer(k, k->stage.layer),
                              model_q_features(k->model));
}

static void *keys_and_values(const struct host *k)
{
    const int64_t layer = host_cross_layer(k, k->stage.layer);
    if (k->cached) return host_cached_memory(k, layer);
    return host_kept_operands(k, HOST_CROSS_KV, layer, 2 * model_kv_features(k->model));
}

/* The rows of the encoder. */
static const struct host_rows *memory(const struct host *k)
{
    return &k->of_stack[k->stack - k->model->stack - 1];
}

/* Compute the input of the queries: the output of the norm, or the stream in a model with norms
 * after the sums. */
static void query_input(struct host *k, const struct host_span *b, void *out, bool again,
                        int thread)
{
    const int64_t C = k->model->C, l = k->stage.layer;
    const float *x = host_mid(k, l);
    float *stats = host_norm_stats(k, l, HOST_CROSS_NORM);
    if (k->model->norm_last)
        host_to_operands(k, out, x + b->row * C, b->n * C);
    else if (again)
        host_norm_again(k, b, MODEL_CROSS_NORM_W, x, stats, out, thread);
    else
        host_norm_forward(k, b, MODEL_CROSS_NORM_W, x, stats, out, thread);
}

static void query_rows(struct host *k, const struct host_span *b, int thread)
{
    const int64_t C = k->model->C, q = model_q_features(k->model);
    void *xn = host_thread(k, thread, HOST_OPERAND);
    float *wide = host_thread(k, thread, HOST_WIDE);
    const struct host_lines at = {b->row, thread};
    const struct num_product shape = host_linear_shape(b->n, C, q);
    query_input(k, b, xn, false, thread);
    host_linear(k, &shape, xn, MODEL_CROSS_Q_W, 0, &at, wide);
    host_store_linear(k, b, wide, q, k->stage.vector[MODEL_CROSS_Q_B], queries(k), q);
}

static void key_rows(struct host *k, const struct host_span *b, int thread)
{
    static const enum model_tensor_kind weight[2] = {MODEL_CROSS_K_W, MODEL_CROSS_V_W};
    const int64_t C = k->model->C, kv = model_kv_features(k->model);
    const void *xn = host_const_at(k, k->buffer[HOST_MEMORY], b->row * C);
    float *wide = host_thread(k, thread, HOST_WIDE);
    const struct host_lines at = {b->row, thread};
    const struct num_product shape = host_linear_shape(b->n, C, kv);
    for (int i = 0; i < 2; i++) {
        host_linear(k, &shape, xn, weight[i], 0, &at, wide);
        host_store_linear(k, b, wide, kv, k->stage.vector[weight[i] + 1],
                          host_at(k, keys_and_values(k), i * kv), 2 * kv);
    }
}

void host_cross_qkv_forward(struct host *k)
{
    const struct host_rows *m = memory(k);
    host_each_block(k, query_rows);
    host_each_of(k, m->block, m->n_blocks, key_rows);
}

/* In cross attention a row of HOST_DQKV has only the gradient of the queries. */
static void query_rows_backward(struct host *k, const struct host_span *b, int thread)
{
    const int64_t C = k->model->C, l = k->stage.layer, q = model_q_features(k->model);
    float *dxn = (float *)k->buffer[HOST_DXN] + b->row * C, *dres = k->buffer[HOST_DRES];
    const struct host_lines at = {b->row, thread};
    const struct num_product shape = host_linear_back_shape(b->n, C, q);
    query_input(k, b, host_at(k, k->buffer[HOST_XN], b->row * C), true, thread);
    host_linear(k, &shape, host_const_at(k, k->buffer[HOST_DQKV], b->row * q), MODEL_CROSS_Q_W, 0,
                &at, dxn);
    if (k->model->norm_last)
        num_add(dres + b->row * C, dxn, b->n * C);
    else
        host_norm_backward(k, b, MODEL_CROSS_NORM_W, host_mid(k, l),
                           host_norm_stats(k, l, HOST_CROSS_NORM), dres, false);
}

/* The last layer is processed first and writes HOST_DMEMORY; the other layers add to it. */
static void key_rows_backward(struct host *k, const struct host_span *b, int thread)
{
    static const enum model_tensor_kind weight[2] = {MODEL_CROSS_K_W, MODEL_CROSS_V_W};
    const int64_t C = k->model->C, kv = model_kv_features(k->model);
    const bool last = k->stage.layer == host_end(k->model) - 1;
    const struct host_lines at = {b->row, thread};
    struct num_product shape = host_linear_back_shape(b->n, C, kv);
    shape.lda = 2 * kv;
    for (int i = 0; i < 2; i++) {
        shape.beta = last && i == 0 ? 0 : 1;
        host_linear(k, &shape, host_const_at(k, k->buffer[HOST_DCROSS], b->row * 2 * kv + i * kv),
                    weight[i], 0, &at, (float *)k->buffer[HOST_DMEMORY] + b->row * C);
    }
}

void host_cross_qkv_backward(struct host *k)
{
    const int64_t C = k->model->C, l = k->stage.layer, q = model_q_features(k->model);
    const int64_t kv = model_kv_features(k->model);
    const struct host_rows *m = memory(k);
    const void *dk = k->buffer[HOST_DCROSS], *dv = host_const_at(k, dk, kv);
    const void *dq = k->buffer[HOST_DQKV];
    struct host_grad grad[8] = {
        host_linear_grad(MODEL_CROSS_K_W, kv, C, dk, 2 * kv, k->buffer[HOST_MEMORY]),
        host_bias_grad(MODEL_CROSS_K_B, kv, dk, 2 * kv),
        host_linear_grad(MODEL_CROSS_V_W, kv, C, dv, 2 * kv, k->buffer[HOST_MEMORY]),
        host_bias_grad(MODEL_CROSS_V_B, kv, dv, 2 * kv),
        host_linear_grad(MODEL_CROSS_Q_W, q, C, dq, q, k->buffer[HOST_XN]),
        host_bias_grad(MODEL_CROSS_Q_B, q, dq, q)};
    enum { OF_MEMORY = 4, LINEAR = 6 };
    for (int i = 0; i < OF_MEMORY; i++)
        grad[i].span = m->leaf;
    host_each_block(k, query_rows_backward);
    host_each_of(k, m->block, m->n_blocks, key_rows_backward);
    host_norm_grads(k, grad + LINEAR, MODEL_CROSS_NORM_W, k->buffer[HOST_DXN], host_mid(k, l),
                    host_norm_stats(k, l, HOST_CROSS_NORM));
    host_sum_grads(k, grad, LINEAR + (k->model->norm_last ? 0 : 2));
}
