// SPDX-License-Identifier: Apache-2.0
/* The head: final norm, logits a block of the vocabulary at a time, cross entropy with a running
 * maximum and sum (Milakov and Gimelshein 2018), and backward from logits that were kept or are
 * computed again. */
#include "host_head.h"
#include "host_buffers.h"
#include "host_experts.h"
#include "host_grad.h"
#include "host_gradient.h"
#include "host_operands.h"
#include "host_row_blocks.h"
#include "host_state.h"

#include <wsc/num_math.h>

#include <string.h>

/* The vocabulary comes in blocks of columns of a width that depends on V alone, with a running
 * maximum and sum per row, so that logits of a large vocabulary need not be held at once. */

/* A tied head has no matrix of its own and takes the token table. */
static enum model_tensor_kind head_weight(const struct host *k)
{
    return k->stage.weight[MODEL_LM_HEAD_W] ? MODEL_LM_HEAD_W : MODEL_WTE;
}

/* Columns of the block of logits that begins at @p first. */
static int64_t block_cols(const struct host *k, int64_t first)
{
    int64_t left = k->model->V - first;
    return left < k->vocab_block ? left : k->vocab_block;
}

/* Where the logits of row `row` and columns from `first` are kept. */
static float *kept_logits(const struct host *k, int64_t first, int64_t row)
{
    int64_t before = k->keep_logits ? first * k->max_rows : 0;
    return (float *)k->buffer[HOST_LOGITS] + before + row * block_cols(k, first);
}

/* Statistics of all rows of the share. */
static struct host_token *tokens(const struct host *k)
{
    return k->buffer[HOST_TOKENS];
}

/* Logits (n, cols) of a block of rows, from its normalised input. */
static void logits_of(const struct host *k, const struct host_span *b, int64_t first,
                      const void *xn, float *out)
{
    int64_t C = k->model->C, cols = block_cols(k, first);
    float scale = (float)k->model->logits_scale, cap = (float)k->model->logits_softcap;
    const float *bias = k->stage.vector[MODEL_LM_HEAD_B];
    struct num_product shape = host_linear_shape(b->n, C, cols);
    host_product(k, &shape, xn, host_const_at(k, k->stage.weight[head_weight(k)], first * C), out);
    for (int64_t i = 0; bias && i < b->n; i++)
        num_add(out + i * cols, bias + first, cols);
    if (scale != 1.0F) num_scale(out, scale, b->n * cols);
    if (cap > 0) {
        for (int64_t c = 0; c < b->n * cols; c++)
            out[c] = cap * num_tanh(out[c] / cap);
    }
}

/* Lowest column that holds the value, n when none does (NaN). */
static int32_t column_of(const float *row, float value, int32_t n)
{
    int32_t lane[NUM_LANES], lowest = n;
    for (int j = 0; j < NUM_LANES; j++)
        lane[j] = n;
    int32_t i = 0;
    for (; i + NUM_LANES <= n; i += NUM_LANES) {
        for (int j = 0; j < NUM_LANES; j++)
            lane[j] = row[i + j] == value && lane[j] == n ? i + j : lane[j];
    }
    for (int j = 0; i < n; i++, j++)
        lane[j] = row[i] == value && lane[j] == n ? i : lane[j];
    for (int j = 0; j < NUM_LANES; j++)
        lowest = lane[j] < lowest ? lane[j] : lowest;
    return lowest;
}

/* Take a block of columns into the running statistics of a row. */
static void absorb(struct host_token *t, const float *row, int64_t first, int64_t cols,
                   int32_t label, float *scratch)
{
    float max = num_max(row, cols);
    if (max > t->max) {
        t->sum *= (double)num_exp(t->max - max);
        t->max = max;
        t->best = (int32_t)first + column_of(row, max, (int32_t)cols);
    }
    t->sum += (double)num_exp_row(scratch, row, t->max, cols);
    if (label >= first && label < first + cols) t->label_logit = row[label - first];
}

/* Keep the logits of the one position of a sample that was asked for. */
static void copy_wanted(const struct host *k, const struct host_span *b, int64_t first,
                        const float *logits)
{
    int64_t T = k->model->T, cols = block_cols(k, first);
    for (int64_t i = 0; k->any_wanted && i < b->n; i++) {
        int64_t sample = (b->row + i) / T, t = (b->row + i) % T;
        if (k->wanted[sample] == t)
            memcpy(k->wanted_logits + sample * k->model->V + first, logits + i * cols,
                   (size_t)cols * sizeof *logits);
    }
}

/* Loss of a block of rows in one pass over the vocabulary: nats = max + log(sum of exp(logit -
 * max)) - logit of the label, with sum and logarithm in double precision. */
static void head_rows(struct host *k, const struct host_span *b, int thread)
{
    int64_t V = k->model->V;
    void *xn = host_thread(k, thread, HOST_OPERAND);
    float *scratch = host_thread(k, thread, HOST_ROW);
    struct host_token *token = tokens(k) + b->row;
    const int32_t *label = k->batch->labels + b->row, *mask = k->batch->mask + b->row;
    host_norm_forward(k, b, MODEL_NORMF_W, host_x(k, k->model->L), host_head_stats(k), xn, thread);
    for (int64_t i = 0; i < b->n; i++)
        token[i] = (struct host_token){.max = -INFINITY, .best = -1, .counts = mask[i] != 0};
    for (int64_t first = 0; first < V; first += k->vocab_block) {
        int64_t cols = block_cols(k, first);
        float *logits =
            k->keep_logits ? kept_logits(k, first, b->row) : host_thread(k, thread, HOST_WIDE);
        logits_of(k, b, first, xn, logits);
        copy_wanted(k, b, first, logits);
        for (int64_t i = 0; i < b->n; i++)
            absorb(&token[i], logits + i * cols, first, cols, label[i], scratch);
    }
    for (int64_t i = 0; i < b->n; i++)
        token[i].nats = (double)token[i].max + log(token[i].sum) - (double)token[i].label_logit;
}

/* Row after row in double precision, so the sum of a leaf has one order. */
static struct model_loss leaf_loss(const struct host *k, const struct host_span *l)
{
    struct model_loss sum = {0};
    for (int64_t i = l->row; i < l->row + l->n; i++) {
        const struct host_token *t = &tokens(k)[i];
        if (!t->counts) continue;
        sum.loss_sum += t->nats;
        sum.n_tokens++;
        sum.n_correct += t->best == k->batch->labels[i];
    }
    return sum;
}

/* The last position of a text alone. */
static void last_row(void *ctx, int64_t i, int thread)
{
    struct host *k = ctx;
    const struct host_span row = {.row = i * k->model->T + k->wanted[i], .n = 1};
    if (k->wanted[i] >= 0) head_rows(k, &row, thread);
}

void host_head_forward(struct host *k)
{
    if (k->cached) {
        num_parallel(k->n_samples, last_row, k);
        return;
    }
    host_each_block(k, head_rows);
    for (int64_t i = 0; i < k->n_leaves; i++) {
        k->loss[i] = leaf_loss(k, &k->leaf[i]);
        if (k->training) k->loss[i].loss_sum += host_balance_loss(k, &k->leaf[i]);
    }
}

/* ---- backward */

/* d(nats)/d(logit before its scale) = (softmax - one hot) scale, in place; where the logit is
 * capped times the slope 1 - (its value over the cap)^2. */
static void logits_backward(const struct host *k, float *row, const struct host_token *t,
                            int64_t first, int64_t cols, int32_t label)
{
    const float cap = (float)k->model->logits_softcap;
    const float scale = (float)(k->model->logits_scale * k->gradient_scale);
    if (!t->counts) {
        memset(row, 0, (size_t)cols * sizeof *row);
        return;
    }
    float max = t->max, factor = (float)(1.0 / t->sum) * scale;
    const bool here = label >= first && label < first + cols;
    if (cap > 0) {
        for (int64_t c = 0; c < cols; c++) {
            float share = row[c] / cap, hit = here && c == label - first ? scale : 0;
            row[c] = (num_exp(row[c] - max) * factor - hit) * (1.0F - share * share);
        }
        return;
    }
    for (int64_t c = 0; c < cols; c++)
        row[c] = num_exp(row[c] - max) * factor;
    if (here) row[label - first] -= scale;
}

/* One block of columns of all rows: dlogits, then dxn += dlogits W. Blocks follow each other in
 * one order for every row (beta 1 after the first). */
static void head_rows_backward(struct host *k, const struct host_span *b, int thread)
{
    int64_t C = k->model->C, first = k->vocab_at, cols = block_cols(k, first);
    void *xn = host_at(k, k->buffer[HOST_XN], b->row * C);
    float *logits = kept_logits(k, first, b->row);
    const void *operands = logits;
    if (first == 0)
        host_norm_again(k, b, MODEL_NORMF_W, host_x(k, k->model->L), host_head_stats(k), xn,
                        thread);
    if (!k->keep_logits) logits_of(k, b, first, xn, logits);
    for (int64_t i = 0; i < b->n; i++)
        logits_backward(k, logits + i * cols, &tokens(k)[b->row + i], first, cols,
                        k->batch->labels[b->row + i]);
    if (!k->fp32) {
        uint16_t *rounded = (uint16_t *)k->buffer[HOST_DLOGITS] + b->row * cols;
        host_narrow(k, rounded, logits, b->n * cols);
        operands = rounded;
    }
    struct num_product shape = host_linear_back_shape(b->n, C, cols);
    shape.beta = first == 0 ? 0 : 1;
    host_product(k, &shape, operands, host_const_at(k, k->stage.weight[head_weight(k)], first * C),
                 (float *)k->buffer[HOST_DXN] + b->row * C);
}

static void norm_rows_backward(struct host *k, const struct host_span *b, int thread)
{
    (void)thread;
    host_norm_backward(k, b, MODEL_NORMF_W, host_x(k, k->model->L), host_head_stats(k),
                       k->buffer[HOST_DRES], true);
}

/* Block of columns by block, because dlogits of a whole vocabulary need not fit; each gives its
 * rows of the weight gradient. */
void host_head_backward(struct host *k)
{
    int64_t C = k->model->C, V = k->model->V;
    struct host_grad grad[2];
    for (k->vocab_at = 0; k->vocab_at < V; k->vocab_at += k->vocab_block) {
        int64_t first = k->vocab_at, cols = block_cols(k, first);
        const void *dlogits = k->fp32 ? kept_logits(k, first, 0) : k->buffer[HOST_DLOGITS];
        host_each_block(k, head_rows_backward);
        grad[0] = host_linear_grad(head_weight(k), cols, C, dlogits, cols, k->buffer[HOST_XN]);
        grad[1] = host_bias_grad(MODEL_LM_HEAD_B, cols, dlogits, cols);
        grad[0].first_row = grad[1].first_row = first;
        if (k->model->tied) grad[0].tied = HOST_TIED_HEAD;
        host_sum_grads(k, grad, 2);
    }
    host_each_block(k, norm_rows_backward);
    host_norm_grads(k, grad, MODEL_NORMF_W, k->buffer[HOST_DXN], host_x(k, k->model->L),
                    host_head_stats(k));
    host_sum_grads(k, grad, 2);
}
