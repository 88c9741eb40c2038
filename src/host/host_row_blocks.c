// SPDX-License-Identifier: Apache-2.0
/* Operations on blocks of rows (tokens) of the residual stream: norms with the stage's gain and
 * bias, biases of linear layers, rounding to operands of products. One thread computes a block;
 * host_norm.c has the arithmetic of a row. */
#include "host_row_blocks.h"
#include "host_buffers.h"
#include "host_operands.h"
#include "host_state.h"

#include <wsc/host_rows.h>
#include <wsc/num_math.h>

struct each_block {
    struct host *k;
    const struct host_span *block;
    void (*rows)(struct host *k, const struct host_span *b, int thread);
};

static void run_block(void *ctx, int64_t i, int thread)
{
    const struct each_block *each = ctx;
    each->rows(each->k, &each->block[i], thread);
}

void host_each_of(struct host *k, const struct host_span *block, int64_t n,
                  void (*rows)(struct host *k, const struct host_span *b, int thread))
{
    struct each_block each = {.k = k, .block = block, .rows = rows};
    num_parallel(n, run_block, &each);
}

void host_each_block(struct host *k,
                     void (*rows)(struct host *k, const struct host_span *b, int thread))
{
    host_each_of(k, k->block, k->n_blocks, rows);
}

/* Parameters of the norm of a head of queries or of keys. */
static struct host_row_norm norm_of_head(const struct host *k, enum model_tensor_kind weight)
{
    const struct model *m = k->model;
    return (struct host_row_norm){.n = m->head_dim,
                                  .eps = (float)m->qk_norm_eps[weight == MODEL_K_NORM_W],
                                  .rms = m->zoo.attention_qk_norm_layer == ZOO_QK_RMSNORM,
                                  .gain = k->stage.vector[weight],
                                  .bias = k->stage.vector[weight + 1]};
}

/* Parameters of the norm with gain @p weight; the bias is the next kind of tensor, or NULL. */
static struct host_row_norm norm_of(const struct host *k, enum model_tensor_kind weight)
{
    const struct model *m = k->model;
    if (weight == MODEL_Q_NORM_W || weight == MODEL_K_NORM_W) return norm_of_head(k, weight);
    return (struct host_row_norm){.n = m->C,
                                  .eps = (float)m->zoo.layer_norm_epsilon,
                                  .rms = m->zoo.norm_type == ZOO_RMSNORM,
                                  .gain = k->stage.vector[weight],
                                  .bias = k->stage.vector[weight + 1]};
}

/* The norm of one row, rounded to an operand. */
static void norm_to_operand(const struct host *k, const struct host_row_norm *norm, const float *x,
                            const float *stats, void *out, int thread)
{
    float *row = k->fp32 ? out : host_thread(k, thread, HOST_ROW);
    host_row_norm(norm, x, stats, row);
    if (!k->fp32) host_narrow(k, out, row, k->model->C);
}

/* @p out has the rows of the block alone; statistics are those of the whole share, two floats a
 * row. */
void host_norm_again(const struct host *k, const struct host_span *b, enum model_tensor_kind weight,
                     const float *x, const float *stats, void *out, int thread)
{
    const struct host_row_norm norm = norm_of(k, weight);
    const int64_t C = k->model->C;
    for (int64_t i = 0; i < b->n; i++)
        norm_to_operand(k, &norm, x + (b->row + i) * C, stats + 2 * (b->row + i),
                        host_at(k, out, i * C), thread);
}

/* One pass over the block: a row is in the first cache from its statistics to its operand. */
void host_norm_forward(const struct host *k, const struct host_span *b,
                       enum model_tensor_kind weight, const float *x, float *stats, void *out,
                       int thread)
{
    const struct host_row_norm norm = norm_of(k, weight);
    const int64_t C = k->model->C;
    for (int64_t i = 0; i < b->n; i++) {
        const float *row = x + (b->row + i) * C;
        float *of_row = stats + 2 * (b->row + i);
        host_row_norm_stats(&norm, row, of_row);
        norm_to_operand(k, &norm, row, of_row, host_at(k, out, i * C), thread);
    }
}

void host_norm_row(const struct host *k, enum model_tensor_kind weight, float *out, const float *x,
                   float *stats)
{
    const struct host_row_norm norm = norm_of(k, weight);
    host_row_norm_stats(&norm, x, stats);
    host_row_norm(&norm, x, stats, out);
}

void host_norm_row_backward(const struct host *k, enum model_tensor_kind weight, float *dx,
                            const float *dy, const float *x, const float *stats)
{
    const struct host_row_norm norm = norm_of(k, weight);
    memset(dx, 0, (size_t)norm.n * sizeof *dx);
    host_row_norm_gradient(&norm, x, stats, dy, dx);
}

/* @p first: the rows of @p dx are written, otherwise added to. */
void host_norm_backward(const struct host *k, const struct host_span *b,
                        enum model_tensor_kind weight, const float *x, const float *stats,
                        float *dx, bool first)
{
    const struct host_row_norm norm = norm_of(k, weight);
    int64_t C = k->model->C;
    const float *dxn = k->buffer[HOST_DXN];
    if (first) memset(dx + b->row * C, 0, (size_t)(b->n * C) * sizeof *dx);
    for (int64_t i = b->row; i < b->row + b->n; i++)
        host_row_norm_gradient(&norm, x + i * C, stats + 2 * i, dxn + i * C, dx + i * C);
}

/* The bias is added in fp32 before the row is rounded. */
void host_store_linear(const struct host *k, const struct host_span *b, float *in, int64_t cols,
                       const float *bias, void *out, int64_t ld_out)
{
    for (int64_t i = 0; i < b->n; i++) {
        void *to = host_at(k, out, (b->row + i) * ld_out);
        float *row = in + i * cols;
        if (k->fp32 && bias) {
            num_sum_of(to, row, bias, cols);
        } else if (k->fp32) {
            memcpy(to, row, (size_t)cols * sizeof *row);
        } else {
            if (bias) num_add(row, bias, cols);
            host_narrow(k, to, row, cols);
        }
    }
}

const void *host_dres_operands(const struct host *k, const struct host_span *b)
{
    int64_t C = k->model->C;
    void *operands = host_at(k, k->buffer[HOST_DRES_OP], b->row * C);
    if (!k->fp32)
        host_narrow(k, operands, (const float *)k->buffer[HOST_DRES] + b->row * C, b->n * C);
    return operands;
}
