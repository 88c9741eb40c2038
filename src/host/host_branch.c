// SPDX-License-Identifier: Apache-2.0
/* Computes the end of a branch (attention or feed-forward network): dropout, a norm of the branch
 * where the model has one, and the sum with the residual stream. Dropout is a function of seed,
 * step, place and element (wsc_rng), so it does not depend on threads, ranks or wafers. */
#include "host_branch.h"
#include "host_buffers.h"
#include "host_operands.h"
#include "host_row_blocks.h"
#include "host_state.h"

#include <wsc/rng.h>

#include <string.h>

const struct host_branch host_attn_branch = {
    .place = MODEL_DROP_ATTN,
    .norm = MODEL_NORM1_POST_W,
    .kept = HOST_ATTN_OUT,
    .slot = HOST_NORM1_POST,
};
const struct host_branch host_cross_branch = {
    .place = MODEL_DROP_CROSS,
    .norm = MODEL_CROSS_POST_W,
    .kept = HOST_CROSS_OUT,
    .slot = HOST_CROSS_POST,
};
const struct host_branch host_ffn_branch = {
    .place = MODEL_DROP_FFN,
    .norm = MODEL_NORM3_POST_W,
    .kept = HOST_FFN_OUT,
    .slot = HOST_NORM3_POST,
};

/* True in training with dropout. */
static bool drops(const struct host *k)
{
    return k->training && k->model->zoo.dropout_rate > 0;
}

/* True when the gradient of a branch differs from that of the sum. */
static bool own_gradient(const struct host *k)
{
    return k->model->zoo.norm_first_sandwich || drops(k);
}

bool host_plain_branch(const struct host *k)
{
    return !own_gradient(k) && !k->model->norm_last;
}

/* What is dropped depends on the seed, the step, the index of the sample in the global batch, the
 * layer, the place in the layer and the element; it does not depend on threads, ranks or
 * wafers. */
void host_drop(const struct host *k, enum model_drop_place place, int64_t row, int64_t first,
               float *x, int64_t n, int thread)
{
    const int stack = (int)(k->stack - k->model->stack);
    const struct model_dropout d = model_dropout_at(k->model, stack, k->stage.layer, place);
    if (!k->training || k->stage.reference || !d.below) return;
    const int64_t sample = k->share.first_leaf * k->share.leaf_samples + row / k->T;
    uint32_t *word = host_thread(k, thread, HOST_WORDS);
    wsc_rng_words(word, k->dropout_seed, model_dropout_stream(&d, sample), (uint64_t)first, n);
    for (int64_t i = 0; i < n; i++)
        x[i] = word[i] < d.below ? 0 : x[i] * d.factor;
}

/* Input of the norm after a branch, for all rows of the layer. */
static float *kept_rows(const struct host *k, const struct host_branch *branch)
{
    const int64_t l = k->stage.layer;
    return host_kept(k, branch->kept,
                     branch->place == MODEL_DROP_CROSS ? host_cross_layer(k, l) : l, k->model->C);
}

float *host_branch_kept(const struct host *k, const struct host_branch *branch)
{
    return kept_rows(k, branch);
}

/* A model with a norm after the branch keeps the input of this norm for its gradient. */
float *host_branch_out(const struct host *k, const struct host_branch *branch,
                       const struct host_span *b, int thread)
{
    const int64_t C = k->model->C;
    if (!k->model->zoo.norm_first_sandwich) return host_thread(k, thread, HOST_WIDE);
    return kept_rows(k, branch) + b->row * C;
}

/* Apply dropout to a row of the stream, whose elements are numbered from position C on in its
 * sample. */
static void drop_row(const struct host *k, const struct host_branch *branch, int64_t row, float *x,
                     int thread)
{
    const int64_t C = k->model->C;
    host_drop(k, branch->place, row, row % k->T * C, x, C, thread);
}

/* The stream before a branch: x before attention; mid after it; after cross attention that
 * branch's own stream. */
static const float *before(const struct host *k, const struct host_branch *branch)
{
    if (branch->place == MODEL_DROP_ATTN) return host_x(k, k->stage.layer);
    return branch->place == MODEL_DROP_CROSS ? host_mid(k, k->stage.layer)
                                             : host_cross_mid(k, k->stage.layer);
}

static float *after(const struct host *k, const struct host_branch *branch)
{
    if (branch->place == MODEL_DROP_ATTN) return host_mid(k, k->stage.layer);
    return branch->place == MODEL_DROP_CROSS ? host_cross_mid(k, k->stage.layer)
                                             : host_x(k, k->stage.layer + 1);
}

/* The branch is added to the stream before it. */
void host_add_branch(const struct host *k, const struct host_branch *branch,
                     const struct host_span *b, float *out, const float *bias, int thread)
{
    const int64_t C = k->model->C;
    const float *from = before(k, branch);
    float *to = after(k, branch);
    float *stats = host_norm_stats(k, k->stage.layer, branch->slot);
    float *normed = host_thread(k, thread, HOST_ROW);
    for (int64_t i = 0; i < b->n; i++) {
        const float *row = out + i * C;
        const int64_t at = (b->row + i) * C;
        if (bias) num_add(out + i * C, bias, C);
        drop_row(k, branch, b->row + i, out + i * C, thread);
        if (k->model->zoo.norm_first_sandwich) {
            host_norm_row(k, branch->norm, normed, row, stats + 2 * (b->row + i));
            row = normed;
        }
        float *sum = k->model->norm_last ? kept_rows(k, branch) + at : to + at;
        for (int64_t c = 0; c < C; c++)
            sum[c] = from[at + c] + row[c];
        if (k->model->norm_last)
            host_norm_row(k, branch->norm, to + at, sum, stats + 2 * (b->row + i));
    }
}

/* Go back through the norm of the sum. The gradient of its output is copied to HOST_DXN for the
 * gradients of gain and bias. */
static void sum_norm_backward(const struct host *k, const struct host_branch *branch,
                              const struct host_span *b)
{
    const int64_t C = k->model->C, l = k->stage.layer;
    float *dres = k->buffer[HOST_DRES], *dxn = k->buffer[HOST_DXN];
    memcpy(dxn + b->row * C, dres + b->row * C, (size_t)(b->n * C) * sizeof *dxn);
    host_norm_backward(k, b, branch->norm, kept_rows(k, branch),
                       host_norm_stats(k, l, branch->slot), dres, true);
}

/* Go back through the sum (HOST_DRES), the norm and the dropout; host_drop() repeats its choice
 * from the random numbers of the forward pass. */
const void *host_branch_gradient(const struct host *k, const struct host_branch *branch,
                                 const struct host_span *b, int thread)
{
    const int64_t C = k->model->C, l = k->stage.layer;
    if (k->model->norm_last) sum_norm_backward(k, branch, b);
    if (!own_gradient(k)) return host_dres_operands(k, b);
    const float *dres = k->buffer[HOST_DRES], *stats = host_norm_stats(k, l, branch->slot);
    float *row = host_thread(k, thread, HOST_ROW);
    for (int64_t i = b->row; i < b->row + b->n; i++) {
        void *to = host_at(k, k->buffer[HOST_DBRANCH], i * C);
        if (k->model->zoo.norm_first_sandwich)
            host_norm_row_backward(k, branch->norm, row, dres + i * C, kept_rows(k, branch) + i * C,
                                   stats + 2 * i);
        else
            memcpy(row, dres + i * C, (size_t)C * sizeof *row);
        drop_row(k, branch, i, row, thread);
        host_to_operands(k, to, row, C);
    }
    return host_at(k, k->buffer[HOST_DBRANCH], b->row * C);
}

const void *host_branch_gradients(const struct host *k)
{
    return k->buffer[own_gradient(k) ? HOST_DBRANCH : HOST_DRES_OP];
}
