// SPDX-License-Identifier: Apache-2.0
/* Computes the heads: logits, one block of columns of the vocabulary at a time, and the backward
 * pass from kept or recomputed logits. host_head_input.c has the layers before the output layer,
 * host_head_loss.c the losses. */
#include "host_head.h"
#include "host_adapter.h"
#include "host_arranged.h"
#include "host_buffers.h"
#include "host_grad.h"
#include "host_gradient.h"
#include "host_head_input.h"
#include "host_head_loss.h"
#include "host_operands.h"
#include "host_pairs.h"
#include "host_router.h"
#include "host_row_blocks.h"
#include "host_state.h"

#include <wsc/num_math.h>

#include <string.h>

/* The vocabulary comes in blocks of columns of a width that depends on V alone, with a running
 * maximum and sum per row, so that logits of a large vocabulary need not be held at once. */

/* A tied head has no matrix of its own and uses the token table. */
static enum model_tensor_kind head_weight(const struct host *k)
{
    const enum model_tensor_kind kind = host_head(k)->output;
    return k->stage.weight[kind] ? kind : MODEL_WTE;
}

/* The bias of a head's output layer is the next kind of tensor. */
static enum model_tensor_kind head_bias(const struct host *k)
{
    return host_head(k)->output + 1;
}

/* Only the head of the vocabulary may keep its logits. */
static bool keeps_logits(const struct host *k)
{
    return k->keep_logits && host_head(k)->output == MODEL_LM_HEAD_W;
}

/* Number of columns of the block of logits that begins at @p first. */
static int64_t block_cols(const struct host *k, int64_t first)
{
    int64_t left = host_head(k)->outputs - first;
    return left < k->vocab_block ? left : k->vocab_block;
}

/* Address of the kept logits of row @p row in the block of columns that begins at @p first. */
static float *kept_logits(const struct host *k, int64_t first, int64_t row)
{
    int64_t before = keeps_logits(k) ? first * k->max_rows : 0;
    return (float *)k->buffer[HOST_LOGITS] + before + row * block_cols(k, first);
}

/* The block of columns that begins at @p first. */
static struct host_columns columns_of(const struct host *k, int64_t first)
{
    return (struct host_columns){first, block_cols(k, first), host_head(k)->outputs};
}

/* Multiply a block of rows with the columns of the output layer from @p first on. */
static void multiply(const struct host *k, const struct num_product *p, const void *a,
                     int64_t first, float *c)
{
    const enum model_tensor_kind kind = head_weight(k);
    const void *arranged = k->stage.arranged[kind];
    if (!arranged || !num_gemm_arranged(k->model->format, p, a, arranged, c))
        host_product(k, p, a, host_const_at(k, k->stage.weight[kind], first * k->model->C), c);
}

/* Logits (n, cols) of a block of rows, from its normalised input. */
static void logits_of(const struct host *k, const struct host_span *b, int64_t first,
                      const void *xn, float *out, int thread)
{
    int64_t C = k->model->C, cols = block_cols(k, first);
    float scale = (float)k->model->logits_scale, cap = (float)k->model->zoo.final_logit_softcapping;
    const float *bias = k->stage.vector[head_bias(k)];
    struct num_product shape = host_linear_shape(b->n, C, cols);
    multiply(k, &shape, xn, first, out);
    const struct host_columns columns = columns_of(k, first);
    if (host_has_adapter(k, head_weight(k))) host_adapter_logits(k, b, &columns, xn, out, thread);
    for (int64_t i = 0; bias && i < b->n; i++)
        num_add(out + i * cols, bias + first, cols);
    if (scale != 1.0F) num_scale(out, scale, b->n * cols);
    if (cap > 0 && host_head(k)->output == MODEL_LM_HEAD_W) {
        for (int64_t c = 0; c < b->n * cols; c++)
            out[c] = cap * num_tanh(out[c] / cap);
    }
}

/* Keep the first head's logits of the one position of a sample that was asked for. */
static void copy_wanted(const struct host *k, const struct host_span *b, int64_t first,
                        const float *logits)
{
    int64_t T = k->T, cols = block_cols(k, first);
    for (int64_t i = 0; k->any_wanted && !k->head && i < b->n; i++) {
        const int64_t row = host_head_row(k, b->row + i), sample = row / T, t = row % T;
        if (k->wanted[sample] == t)
            memcpy(k->wanted_logits + sample * k->model->V + first, logits + i * cols,
                   (size_t)cols * sizeof *logits);
    }
}

/* Compute the logits of a block of rows for the current block of columns, and add them to the
 * statistics of the loss. */
static void head_rows(struct host *k, const struct host_span *b, int thread)
{
    const int64_t first = k->vocab_at;
    const struct host_columns columns = columns_of(k, first);
    void *xn = host_at(k, k->buffer[HOST_XN], b->row * k->model->C);
    if (first == 0) host_head_input(k, b, xn, false, thread);
    if (first == 0) host_head_loss_begin(k, b);
    float *logits =
        keeps_logits(k) ? kept_logits(k, first, b->row) : host_thread(k, thread, HOST_WIDE);
    logits_of(k, b, first, xn, logits, thread);
    copy_wanted(k, b, first, logits);
    host_head_loss_take(k, b, &columns, logits, host_thread(k, thread, HOST_ROW));
    if (first + columns.n == columns.all) host_head_loss_end(k, b);
}

/* Compute the head for the wanted position of text @p i only. */
static void last_row(void *ctx, int64_t i, int thread)
{
    struct host *k = ctx;
    const struct host_span row = {.row = i * k->T + k->wanted[i], .n = 1};
    if (k->wanted[i] >= 0) head_rows(k, &row, thread);
}

/* Columns are processed block by block, so that the weights of a block are arranged once for all
 * rows. */
static void output_forward(struct host *k)
{
    const int64_t n = host_head(k)->outputs;
    for (k->vocab_at = 0; k->vocab_at < n; k->vocab_at += k->vocab_block) {
        const int64_t first = k->vocab_at;
        host_arrange_rows(k, head_weight(k), first, block_cols(k, first), false);
        if (k->cached)
            num_parallel(k->n_samples, last_row, k);
        else
            host_each_head_block(k, head_rows);
    }
}

void host_head_forward(struct host *k)
{
    k->head = 0;
    if (k->cached) {
        output_forward(k);
        return;
    }
    for (int64_t i = 0; i < k->n_leaves; i++)
        k->loss[i] = (struct model_loss){0};
    for (; k->head < k->model->n_heads; k->head++) {
        output_forward(k);
        if (k->stage.reference) host_pairs_refer(k, host_head_tokens(k));
        for (int64_t i = 0; !k->stage.reference && i < k->n_leaves; i++)
            host_head_loss_add(k, i, &k->loss[i]);
    }
    for (int64_t i = 0; k->training && i < k->n_leaves; i++)
        k->loss[i].loss_sum += host_balance_loss(k, &k->leaf[i]);
}

/* ---- backward */

/* Recompute the input of the output layer, which the gradient of its weights needs, too. */
static void recompute_input(struct host *k, const struct host_span *b, int thread)
{
    host_head_input(k, b, host_at(k, k->buffer[HOST_XN], b->row * k->model->C), true, thread);
}

/* Recompute logits that were not kept. */
static void recompute_logits(struct host *k, const struct host_span *b, int thread)
{
    const void *xn = host_const_at(k, k->buffer[HOST_XN], b->row * k->model->C);
    logits_of(k, b, k->vocab_at, xn, kept_logits(k, k->vocab_at, b->row), thread);
}

/* One block of columns for a block of rows: dlogits, then dxn += dlogits W. All rows process the
 * blocks of columns in one order (beta 1 after the first). */
static void head_rows_backward(struct host *k, const struct host_span *b, int thread)
{
    int64_t C = k->model->C, first = k->vocab_at, cols = block_cols(k, first);
    float *logits = kept_logits(k, first, b->row);
    const void *operands = logits;
    const struct host_columns columns = columns_of(k, first);
    host_head_loss_backward(k, b, &columns, logits);
    if (!k->fp32) {
        uint16_t *rounded = (uint16_t *)k->buffer[HOST_DLOGITS] + b->row * cols;
        host_narrow(k, rounded, logits, b->n * cols);
        operands = rounded;
    }
    struct num_product shape = host_linear_back_shape(b->n, C, cols);
    shape.beta = first == 0 ? 0 : 1;
    multiply(k, &shape, operands, first, (float *)k->buffer[HOST_DXN] + b->row * C);
    if (host_has_adapter(k, head_weight(k)))
        host_adapter_logits_backward(k, b, &columns, operands, thread);
}

/* Columns are processed block by block, because dlogits of a whole vocabulary need not fit in
 * memory; each block gives its rows of the weight gradient. */
static void output_backward(struct host *k)
{
    const struct host_head_rows *r = host_head_rows(k);
    int64_t C = k->model->C, V = host_head(k)->outputs;
    struct host_grad grad[4];
    host_each_head_block(k, recompute_input);
    for (k->vocab_at = 0; k->vocab_at < V; k->vocab_at += k->vocab_block) {
        int64_t first = k->vocab_at, cols = block_cols(k, first);
        const void *dlogits = k->fp32 ? kept_logits(k, first, 0) : k->buffer[HOST_DLOGITS];
        if (!keeps_logits(k)) {
            host_arrange_rows(k, head_weight(k), first, cols, false);
            host_each_head_block(k, recompute_logits);
        }
        host_arrange_rows(k, head_weight(k), first, cols, true);
        host_each_head_block(k, head_rows_backward);
        grad[0] = host_linear_grad(head_weight(k), cols, C, dlogits, cols, k->buffer[HOST_XN]);
        grad[1] = host_bias_grad(head_bias(k), cols, dlogits, cols);
        grad[0].first_row = grad[1].first_row = first;
        if (r->row) grad[0].span = grad[1].span = r->leaf;
        if (head_weight(k) == MODEL_WTE) grad[0].tied = HOST_TIED_HEAD;
        const struct host_columns columns = columns_of(k, first);
        host_sum_grads(k, grad, 2 + host_adapter_logits_grads(k, &columns, grad, grad + 2));
    }
}

/* Kept logits of the first head share memory with the logits of the others, so it is processed
 * first. */
void host_head_backward(struct host *k)
{
    for (k->head = 0; k->head < k->model->n_heads; k->head++) {
        output_backward(k);
        host_head_input_backward(k);
    }
}
