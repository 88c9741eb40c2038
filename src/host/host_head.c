// SPDX-License-Identifier: Apache-2.0
/* The heads: logits a block of the vocabulary at a time, cross entropy with a running maximum and
 * sum (Milakov and Gimelshein 2018) or squared error, and backward from logits that were kept or
 * are computed again.  host_head_input.c has what comes before the output layer. */
#include "host_head.h"
#include "host_adapter.h"
#include "host_buffers.h"
#include "host_grad.h"
#include "host_gradient.h"
#include "host_head_input.h"
#include "host_operands.h"
#include "host_pairs.h"
#include "host_router.h"
#include "host_row_blocks.h"
#include "host_spans.h"
#include "host_state.h"

#include <wsc/num_math.h>

#include <string.h>

/* The vocabulary comes in blocks of columns of a width that depends on V alone, with a running
 * maximum and sum per row, so that logits of a large vocabulary need not be held at once. */

/* A tied head has no matrix of its own and takes the token table. */
static enum model_tensor_kind head_weight(const struct host *k)
{
    const enum model_tensor_kind kind = host_head(k)->output;
    return k->stage.weight[kind] ? kind : MODEL_WTE;
}

/* Its bias is the next kind of tensor. */
static enum model_tensor_kind head_bias(const struct host *k)
{
    return host_head(k)->output + 1;
}

/* The vocabulary's head alone may keep its logits. */
static bool keeps(const struct host *k)
{
    return k->keep_logits && host_head(k)->outputs == k->model->V;
}

/* Columns of the block of logits that begins at @p first. */
static int64_t block_cols(const struct host *k, int64_t first)
{
    int64_t left = host_head(k)->outputs - first;
    return left < k->vocab_block ? left : k->vocab_block;
}

/* Where the logits of row `row` and columns from `first` are kept. */
static float *kept_logits(const struct host *k, int64_t first, int64_t row)
{
    int64_t before = keeps(k) ? first * k->max_rows : 0;
    return (float *)k->buffer[HOST_LOGITS] + before + row * block_cols(k, first);
}

/* Statistics of all rows of the head. */
static struct host_token *tokens(const struct host *k)
{
    return (struct host_token *)k->buffer[HOST_TOKENS] + k->head * k->max_rows;
}

/* The class of the head's row @p i, of its token or its sequence. */
static int32_t label_of(const struct host *k, int64_t i)
{
    const int64_t row = host_head_row(k, i);
    if (host_head(k)->rows != MODEL_ROWS_FIRST) return k->batch->labels[row];
    return (int32_t)k->batch->targets[row / k->T];
}

static bool counts(const struct host *k, int64_t i)
{
    return host_head(k)->rows == MODEL_ROWS_FIRST || k->batch->mask[host_head_row(k, i)] != 0;
}

/* The block of columns that begins at @p first. */
static struct host_columns columns_of(const struct host *k, int64_t first)
{
    return (struct host_columns){first, block_cols(k, first), host_head(k)->outputs};
}

/* Logits (n, cols) of a block of rows, from its normalised input. */
static void logits_of(const struct host *k, const struct host_span *b, int64_t first,
                      const void *xn, float *out, int thread)
{
    int64_t C = k->model->C, cols = block_cols(k, first);
    float scale = (float)k->model->logits_scale, cap = (float)k->model->zoo.final_logit_softcapping;
    const float *bias = k->stage.vector[head_bias(k)];
    struct num_product shape = host_linear_shape(b->n, C, cols);
    host_product(k, &shape, xn, host_const_at(k, k->stage.weight[head_weight(k)], first * C), out);
    const struct host_columns columns = columns_of(k, first);
    if (host_has_adapter(k, head_weight(k))) host_adapter_logits(k, b, &columns, xn, out, thread);
    for (int64_t i = 0; bias && i < b->n; i++)
        num_add(out + i * cols, bias + first, cols);
    if (scale != 1.0F) num_scale(out, scale, b->n * cols);
    if (cap > 0 && host_head(k)->outputs == k->model->V) {
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

/* Labels are smoothed in training (Szegedy et al. 2016, section 7): this share of them is even. */
static double smoothing(const struct host *k)
{
    return k->training ? host_head(k)->smoothing : 0;
}

/* The mean of the logits by the distribution of the labels. */
static double expected_logit(const struct host *k, const struct host_token *t)
{
    const double even = smoothing(k);
    if (!(even > 0)) return (double)t->label_logit;
    return (1 - even) * (double)t->label_logit + even * t->logits / (double)host_head(k)->outputs;
}

/* Take a block of columns into the running statistics of a row. */
NUM_CLONES static void absorb(const struct host *k, struct host_token *t, const float *row,
                              int64_t first, int32_t label, float *scratch)
{
    const bool smooth = smoothing(k) > 0;
    const int64_t cols = block_cols(k, first);
    float max = num_max(row, cols);
    if (max > t->max) {
        t->sum *= (double)num_exp(t->max - max);
        t->max = max;
        t->best = (int32_t)first + column_of(row, max, (int32_t)cols);
    }
    t->sum += (double)num_exp_row(scratch, row, t->max, cols);
    for (int64_t i = 0; smooth && i < cols; i++)
        t->logits += (double)row[i];
    if (label >= first && label < first + cols) t->label_logit = row[label - first];
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

/* Squared error of a sequence's only output. */
static double square(const struct host *k, int64_t i, float output)
{
    const double error = (double)output - (double)k->batch->targets[host_head_row(k, i) / k->T];
    return error * error;
}

/* Loss of a block of rows in one pass over the vocabulary: nats = max + log(sum of exp(logit -
 * max)) - expected_logit(), with sum and logarithm in double precision. */
static void head_rows(struct host *k, const struct host_span *b, int thread)
{
    int64_t V = host_head(k)->outputs;
    const enum model_loss_kind loss = host_head(k)->loss;
    const bool squares = loss == MODEL_SQUARED_ERROR, spans = loss == MODEL_SPAN_ENTROPY;
    void *xn = host_thread(k, thread, HOST_OPERAND);
    float *scratch = host_thread(k, thread, HOST_ROW);
    struct host_token *token = tokens(k) + b->row;
    host_head_input(k, b, xn, false, thread);
    for (int64_t i = 0; i < b->n; i++)
        token[i] = (struct host_token){
            .weight = 1, .max = -INFINITY, .best = -1, .counts = counts(k, b->row + i)};
    for (int64_t first = 0; first < V; first += k->vocab_block) {
        int64_t cols = block_cols(k, first);
        float *logits =
            keeps(k) ? kept_logits(k, first, b->row) : host_thread(k, thread, HOST_WIDE);
        logits_of(k, b, first, xn, logits, thread);
        copy_wanted(k, b, first, logits);
        for (int64_t i = 0; squares && i < b->n; i++)
            token[i].nats = square(k, b->row + i, logits[i]);
        if (spans) host_spans_keep(b, logits, token);
        for (int64_t i = 0; !squares && !spans && i < b->n; i++)
            absorb(k, &token[i], logits + i * cols, first, label_of(k, b->row + i), scratch);
    }
    for (int64_t i = 0; !squares && !spans && i < b->n; i++)
        token[i].nats = (double)token[i].max + log(token[i].sum) - expected_logit(k, &token[i]);
}

/* Add a head's loss of a leaf, row after row in double precision, so the sum has one order. */
static void add_leaf_loss(const struct host *k, int64_t leaf, struct model_loss *sum)
{
    const struct host_head_rows *r = host_head_rows(k);
    const struct host_span *l = r->row ? &r->leaf[leaf] : &k->leaf[leaf];
    double nats = 0;
    int64_t n = 0, n_correct = 0;
    if (host_head(k)->loss == MODEL_SPAN_ENTROPY) {
        host_spans_loss(k, l, tokens(k), sum);
        return;
    }
    for (int64_t i = l->row; i < l->row + l->n; i++) {
        const struct host_token *t = &tokens(k)[i];
        if (!t->counts) continue;
        nats += t->nats;
        n++;
        if (host_head(k)->loss != MODEL_SQUARED_ERROR) n_correct += t->best == label_of(k, i);
    }
    if (host_head(k)->loss == MODEL_PREFERENCE)
        host_pairs_loss(k, l, tokens(k), sum);
    else
        sum->loss_sum += host_head(k)->weight * nats;
    if (k->head) {
        sum->n_sequences = n;
        sum->n_sequences_correct = n_correct;
        return;
    }
    sum->nats = nats;
    sum->n_tokens = n;
    sum->n_correct = n_correct;
}

/* The last position of a text alone. */
static void last_row(void *ctx, int64_t i, int thread)
{
    struct host *k = ctx;
    const struct host_span row = {.row = i * k->T + k->wanted[i], .n = 1};
    if (k->wanted[i] >= 0) head_rows(k, &row, thread);
}

void host_head_forward(struct host *k)
{
    k->head = 0;
    if (k->cached) {
        num_parallel(k->n_samples, last_row, k);
        return;
    }
    for (int64_t i = 0; i < k->n_leaves; i++)
        k->loss[i] = (struct model_loss){0};
    for (; k->head < k->model->n_heads; k->head++) {
        host_each_head_block(k, head_rows);
        if (k->stage.reference) host_pairs_refer(k, tokens(k));
        for (int64_t i = 0; !k->stage.reference && i < k->n_leaves; i++)
            add_leaf_loss(k, i, &k->loss[i]);
    }
    for (int64_t i = 0; k->training && i < k->n_leaves; i++)
        k->loss[i].loss_sum += host_balance_loss(k, &k->leaf[i]);
}

/* ---- backward */

/* d(nats)/d(logit before its scale) = (softmax - one hot) scale, in place; @p factor is the scale
 * over the sum, @p hit the column of the label or -1. */
NUM_CLONES static void softmax_minus_hit(float *row, float max, float factor, int64_t cols,
                                         int64_t hit, float scale)
{
    for (int64_t c = 0; c < cols; c++)
        row[c] = num_exp(row[c] - max) * factor;
    if (hit >= 0) row[hit] -= scale;
}

/* Where the logit is capped, times the slope 1 - (its value over the cap)^2. */
NUM_CLONES static void capped_softmax_minus_hit(float *row, float max, float factor, int64_t cols,
                                                int64_t hit, float scale, float cap)
{
    for (int64_t c = 0; c < cols; c++) {
        float share = row[c] / cap, at_hit = c == hit ? scale : 0;
        row[c] = (num_exp(row[c] - max) * factor - at_hit) * (1.0F - share * share);
    }
}

/* Labels of which a part is even: @p labels: that part over the outputs, and the rest; cap 0: none.
 */
NUM_CLONES static void softmax_minus_smooth(float *row, float max, float factor, int64_t cols,
                                            int64_t hit, const float labels[2], float cap)
{
    const float per_cap = cap > 0 ? 1.0F / cap : 0;
    for (int64_t c = 0; c < cols; c++) {
        float share = row[c] * per_cap, label = labels[0] + (c == hit ? labels[1] : 0);
        row[c] = (num_exp(row[c] - max) * factor - label) * (1.0F - share * share);
    }
}

static void logits_backward(const struct host *k, float *row, const struct host_token *t,
                            int64_t first, int64_t cols, int32_t label)
{
    const float cap =
        host_head(k)->outputs == k->model->V ? (float)k->model->zoo.final_logit_softcapping : 0;
    const float scale =
        (float)(k->model->logits_scale * k->gradient_scale * host_head(k)->weight * t->weight);
    const float factor = (float)(1.0 / t->sum) * scale;
    const int64_t hit = label >= first && label < first + cols ? label - first : -1;
    const double even = smoothing(k);
    const float labels[2] = {(float)(even / (double)host_head(k)->outputs) * scale,
                             (float)(1 - even) * scale};
    if (!t->counts)
        memset(row, 0, (size_t)cols * sizeof *row);
    else if (even > 0)
        softmax_minus_smooth(row, t->max, factor, cols, hit, labels, cap);
    else if (cap > 0)
        capped_softmax_minus_hit(row, t->max, factor, cols, hit, scale, cap);
    else
        softmax_minus_hit(row, t->max, factor, cols, hit, scale);
}

/* d(output - target)^2. */
static void squares_backward(const struct host *k, const struct host_span *b, float *outputs)
{
    const double scale = 2 * k->model->logits_scale * k->gradient_scale * host_head(k)->weight;
    for (int64_t i = 0; i < b->n; i++) {
        const int64_t sample = host_head_row(k, b->row + i) / k->T;
        outputs[i] = (float)(scale * ((double)outputs[i] - (double)k->batch->targets[sample]));
    }
}

/* The gradients of a block of logits, in place. */
static void dlogits(const struct host *k, const struct host_span *b, int64_t first, float *logits)
{
    const int64_t cols = block_cols(k, first);
    if (host_head(k)->loss == MODEL_SQUARED_ERROR) {
        squares_backward(k, b, logits);
        return;
    }
    if (host_head(k)->loss == MODEL_SPAN_ENTROPY) {
        host_spans_backward(k, b, tokens(k), logits);
        return;
    }
    for (int64_t i = 0; i < b->n; i++)
        logits_backward(k, logits + i * cols, &tokens(k)[b->row + i], first, cols,
                        label_of(k, b->row + i));
}

/* One block of columns of all rows: dlogits, then dxn += dlogits W. Blocks follow each other in
 * one order for every row (beta 1 after the first). */
static void head_rows_backward(struct host *k, const struct host_span *b, int thread)
{
    int64_t C = k->model->C, first = k->vocab_at, cols = block_cols(k, first);
    void *xn = host_at(k, k->buffer[HOST_XN], b->row * C);
    float *logits = kept_logits(k, first, b->row);
    const void *operands = logits;
    if (first == 0) host_head_input(k, b, xn, true, thread);
    if (!keeps(k)) logits_of(k, b, first, xn, logits, thread);
    dlogits(k, b, first, logits);
    if (!k->fp32) {
        uint16_t *rounded = (uint16_t *)k->buffer[HOST_DLOGITS] + b->row * cols;
        host_narrow(k, rounded, logits, b->n * cols);
        operands = rounded;
    }
    struct num_product shape = host_linear_back_shape(b->n, C, cols);
    shape.beta = first == 0 ? 0 : 1;
    host_product(k, &shape, operands, host_const_at(k, k->stage.weight[head_weight(k)], first * C),
                 (float *)k->buffer[HOST_DXN] + b->row * C);
    const struct host_columns columns = columns_of(k, first);
    if (host_has_adapter(k, head_weight(k)))
        host_adapter_logits_backward(k, b, &columns, operands, thread);
}

/* Block of columns by block, because dlogits of a whole vocabulary need not fit; each gives its
 * rows of the weight gradient. */
static void output_backward(struct host *k)
{
    const struct host_head_rows *r = host_head_rows(k);
    int64_t C = k->model->C, V = host_head(k)->outputs;
    struct host_grad grad[4];
    for (k->vocab_at = 0; k->vocab_at < V; k->vocab_at += k->vocab_block) {
        int64_t first = k->vocab_at, cols = block_cols(k, first);
        const void *dlogits = k->fp32 ? kept_logits(k, first, 0) : k->buffer[HOST_DLOGITS];
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

/* Kept logits of the first head share memory with those of the others, so it comes first. */
void host_head_backward(struct host *k)
{
    for (k->head = 0; k->head < k->model->n_heads; k->head++) {
        output_backward(k);
        host_head_input_backward(k);
    }
}
