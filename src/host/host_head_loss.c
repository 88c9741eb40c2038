// SPDX-License-Identifier: Apache-2.0
/* Computes the losses of heads from one table by kind of loss. The functions of a row add a block
 * of logits to the statistics of tokens, add up the loss of a leaf, and replace a block of logits
 * by its gradient. Cross entropy uses a running maximum and sum (Milakov and Gimelshein 2018). */
#include "host_head_loss.h"
#include "host_pairs.h"
#include "host_spans.h"

#include <wsc/num_math.h>

#include <string.h>

/* ---- tokens and labels ----------------------------------------------------------------------- */

/* The class of the head's row @p i: a label of its token, or the target of its sequence. */
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

/* The column of the label in a block, -1 outside of it. */
static int64_t column_of_label(const struct host_columns *c, int32_t label)
{
    return label >= c->first && label < c->first + c->n ? label - c->first : -1;
}

/* ---- cross entropy over the outputs of a token ----------------------------------------------- */

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

/* Labels are smoothed in training (Szegedy et al. 2016, section 7): this fraction of a label is
 * spread evenly over all classes. */
static double smoothing(const struct host *k)
{
    return k->training ? host_head(k)->smoothing : 0;
}

/* Mean of the logits, weighted by the smoothed label. */
static double expected_logit(const struct host *k, const struct host_token *t)
{
    const double even = smoothing(k);
    if (!(even > 0)) return (double)t->label_logit;
    return (1 - even) * (double)t->label_logit + even * t->logits / (double)host_head(k)->outputs;
}

/* Add a block of columns to the running statistics of a row. */
NUM_CLONES static void add_to_statistics(const struct host *k, struct host_token *t,
                                         const float *row, const struct host_columns *c,
                                         int32_t label, float *scratch)
{
    const bool smooth = smoothing(k) > 0;
    const int64_t cols = c->n, hit = column_of_label(c, label);
    float max = num_max(row, cols);
    if (max > t->max) {
        t->sum *= (double)num_exp(t->max - max);
        t->max = max;
        t->best = (int32_t)c->first + column_of(row, max, (int32_t)cols);
    }
    t->sum += (double)num_exp_row(scratch, row, t->max, cols);
    for (int64_t i = 0; smooth && i < cols; i++)
        t->logits += (double)row[i];
    if (hit >= 0) t->label_logit = row[hit];
}

static void take_entropies(const struct host *k, const struct host_span *b,
                           const struct host_columns *c, const float *logits, float *scratch)
{
    struct host_token *token = host_head_tokens(k) + b->row;
    for (int64_t i = 0; i < b->n; i++)
        add_to_statistics(k, &token[i], logits + i * c->n, c, label_of(k, b->row + i), scratch);
}

/* nats = max + log(sum of exp(logit - max)) - expected_logit(), with sum and logarithm in double
 * precision. */
static void end_entropies(const struct host *k, const struct host_span *b)
{
    struct host_token *token = host_head_tokens(k) + b->row;
    for (int64_t i = 0; i < b->n; i++)
        token[i].nats = (double)token[i].max + log(token[i].sum) - expected_logit(k, &token[i]);
}

/* d(nats)/d(logit before its scale) = (softmax - one hot) scale, in place; @p factor is the scale
 * over the sum, @p hit the column of the label or -1. */
NUM_CLONES static void softmax_minus_hit(float *row, float max, float factor, int64_t cols,
                                         int64_t hit, float scale)
{
    for (int64_t c = 0; c < cols; c++)
        row[c] = num_exp(row[c] - max) * factor;
    if (hit >= 0) row[hit] -= scale;
}

/* With a soft cap, also times its derivative 1 - (capped logit / cap)^2. */
NUM_CLONES static void capped_softmax_minus_hit(float *row, float max, float factor, int64_t cols,
                                                int64_t hit, float scale, float cap)
{
    for (int64_t c = 0; c < cols; c++) {
        float share = row[c] / cap, at_hit = c == hit ? scale : 0;
        row[c] = (num_exp(row[c] - max) * factor - at_hit) * (1.0F - share * share);
    }
}

/* With smoothed labels: labels[0] is the part of every output, labels[1] the additional part of
 * the label; cap 0: no soft cap. */
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
                            const struct host_columns *c, int32_t label)
{
    const float cap =
        host_head(k)->output == MODEL_LM_HEAD_W ? (float)k->model->zoo.final_logit_softcapping : 0;
    const float scale =
        (float)(k->model->logits_scale * k->gradient_scale * host_head(k)->weight * t->weight);
    const float factor = (float)(1.0 / t->sum) * scale;
    const int64_t hit = column_of_label(c, label);
    const double even = smoothing(k);
    const float labels[2] = {(float)(even / (double)host_head(k)->outputs) * scale,
                             (float)(1 - even) * scale};
    if (!t->counts)
        memset(row, 0, (size_t)c->n * sizeof *row);
    else if (even > 0)
        softmax_minus_smooth(row, t->max, factor, c->n, hit, labels, cap);
    else if (cap > 0)
        capped_softmax_minus_hit(row, t->max, factor, c->n, hit, scale, cap);
    else
        softmax_minus_hit(row, t->max, factor, c->n, hit, scale);
}

static void entropies_backward(const struct host *k, const struct host_span *b,
                               const struct host_columns *c, float *logits)
{
    for (int64_t i = 0; i < b->n; i++)
        logits_backward(k, logits + i * c->n, &host_head_tokens(k)[b->row + i], c,
                        label_of(k, b->row + i));
}

/* ---- squared error of a sequence's only output ----------------------------------------------- */

static double error_of(const struct host *k, int64_t i, float output)
{
    return (double)output - (double)k->batch->targets[host_head_row(k, i) / k->T];
}

static void take_squares(const struct host *k, const struct host_span *b,
                         const struct host_columns *c, const float *outputs, float *scratch)
{
    struct host_token *token = host_head_tokens(k) + b->row;
    (void)c, (void)scratch;
    for (int64_t i = 0; i < b->n; i++) {
        const double error = error_of(k, b->row + i, outputs[i]);
        token[i].nats = error * error;
    }
}

/* Replace outputs by the gradient of (output - target)^2. */
static void squares_backward(const struct host *k, const struct host_span *b,
                             const struct host_columns *c, float *outputs)
{
    const double scale = 2 * k->model->logits_scale * k->gradient_scale * host_head(k)->weight;
    (void)c;
    for (int64_t i = 0; i < b->n; i++)
        outputs[i] = (float)(scale * error_of(k, b->row + i, outputs[i]));
}

/* ---- answers as spans ------------------------------------------------------------------------ */

static void take_spans(const struct host *k, const struct host_span *b,
                       const struct host_columns *c, const float *logits, float *scratch)
{
    (void)c, (void)scratch;
    host_spans_keep(b, logits, host_head_tokens(k) + b->row);
}

static void spans_backward(const struct host *k, const struct host_span *b,
                           const struct host_columns *c, float *logits)
{
    (void)c;
    host_spans_backward(k, b, host_head_tokens(k), logits);
}

/* ---- sums of a leaf -------------------------------------------------------------------------- */

/* Add losses and counts of a leaf's tokens to @p sum, row after row in double precision, so that
 * the sum has a fixed order; returns the sum of the losses. */
static double count_tokens(const struct host *k, const struct host_span *leaf, bool classes,
                           struct model_loss *sum)
{
    double nats = 0;
    int64_t n = 0, n_correct = 0;
    for (int64_t i = leaf->row; i < leaf->row + leaf->n; i++) {
        const struct host_token *t = &host_head_tokens(k)[i];
        if (!t->counts) continue;
        nats += t->nats;
        n++;
        if (classes) n_correct += t->best == label_of(k, i);
    }
    if (k->head) {
        sum->n_sequences = n;
        sum->n_sequences_correct = n_correct;
        return nats;
    }
    sum->nats = nats;
    sum->n_tokens = n;
    sum->n_correct = n_correct;
    return nats;
}

/* The label of a sequence's first token is its set. */
static void count_row(const struct host *k, int64_t i, struct model_class_count *count)
{
    const int32_t label = label_of(k, i), best = host_head_tokens(k)[i].best;
    if (host_head(k)->rows == MODEL_ROWS_FIRST)
        model_count_sequence(&count[k->batch->labels[host_head_row(k, i)]], best == label);
    else
        model_count_class(count, host_head(k)->outputs, label, best);
}

void host_count_classes(struct host *k, struct model_class_count *count)
{
    k->head = 0;
    const struct host_head_rows *r = host_head_rows(k);
    const struct host_token *t = host_head_tokens(k);
    for (int64_t leaf = 0; leaf < k->n_leaves; leaf++) {
        const struct host_span *rows = r->row ? &r->leaf[leaf] : &k->leaf[leaf];
        for (int64_t i = rows->row; i < rows->row + rows->n; i++)
            if (t[i].counts) count_row(k, i, count);
    }
}

static void add_entropies(const struct host *k, const struct host_span *leaf,
                          struct model_loss *sum)
{
    sum->loss_sum += host_head(k)->weight * count_tokens(k, leaf, true, sum);
}

static void add_squares(const struct host *k, const struct host_span *leaf, struct model_loss *sum)
{
    sum->loss_sum += host_head(k)->weight * count_tokens(k, leaf, false, sum);
}

static void add_pairs(const struct host *k, const struct host_span *leaf, struct model_loss *sum)
{
    (void)count_tokens(k, leaf, true, sum);
    host_pairs_loss(k, leaf, host_head_tokens(k), sum);
}

static void add_spans(const struct host *k, const struct host_span *leaf, struct model_loss *sum)
{
    host_spans_loss(k, leaf, host_head_tokens(k), sum);
}

/* ---- by kind --------------------------------------------------------------------------------- */

static const struct {
    void (*take)(const struct host *k, const struct host_span *b, const struct host_columns *c,
                 const float *logits, float *scratch);
    void (*end)(const struct host *k, const struct host_span *b); /* NULL: nothing is left to do */
    void (*add)(const struct host *k, const struct host_span *leaf, struct model_loss *sum);
    void (*backward)(const struct host *k, const struct host_span *b, const struct host_columns *c,
                     float *logits);
} losses[] = {
    [MODEL_CROSS_ENTROPY] = {take_entropies, end_entropies, add_entropies, entropies_backward},
    [MODEL_PREFERENCE] = {take_entropies, end_entropies, add_pairs, entropies_backward},
    [MODEL_SPAN_ENTROPY] = {take_spans, NULL, add_spans, spans_backward},
    [MODEL_SQUARED_ERROR] = {take_squares, NULL, add_squares, squares_backward},
    [MODEL_NOISE_ERROR] = {0}, /* diffusion transformers have virtual time only */
};

void host_head_loss_begin(const struct host *k, const struct host_span *b)
{
    for (int64_t i = b->row; i < b->row + b->n; i++)
        host_head_tokens(k)[i] =
            (struct host_token){.weight = 1, .max = -INFINITY, .best = -1, .counts = counts(k, i)};
}

void host_head_loss_take(const struct host *k, const struct host_span *b,
                         const struct host_columns *c, const float *logits, float *scratch)
{
    losses[host_head(k)->loss].take(k, b, c, logits, scratch);
}

void host_head_loss_end(const struct host *k, const struct host_span *b)
{
    if (losses[host_head(k)->loss].end) losses[host_head(k)->loss].end(k, b);
}

void host_head_loss_add(const struct host *k, int64_t leaf, struct model_loss *sum)
{
    const struct host_head_rows *r = host_head_rows(k);
    losses[host_head(k)->loss].add(k, r->row ? &r->leaf[leaf] : &k->leaf[leaf], sum);
}

void host_head_loss_backward(const struct host *k, const struct host_span *b,
                             const struct host_columns *c, float *logits)
{
    losses[host_head(k)->loss].backward(k, b, c, logits);
}
