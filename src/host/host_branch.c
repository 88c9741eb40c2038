// SPDX-License-Identifier: Apache-2.0
/* What attention and feed-forward network add to the residual stream: dropout, a norm after the
 * branch where the model has one, the sum. Dropout is a function of seed, step, place and element
 * (wsc_rng), so it does not depend on who computes it. */
#include "host_branch.h"
#include "host_buffers.h"
#include "host_operands.h"
#include "host_row_blocks.h"
#include "host_state.h"

#include <wsc/rng.h>

#include <string.h>

const struct host_branch host_attn_branch = {
    .place = HOST_DROP_ATTN,
    .norm = MODEL_NORM1_POST_W,
    .kept = HOST_ATTN_OUT,
    .slot = HOST_NORM1_POST,
};
const struct host_branch host_ffn_branch = {
    .place = HOST_DROP_FFN,
    .norm = MODEL_NORM3_POST_W,
    .kept = HOST_FFN_OUT,
    .slot = HOST_NORM3_POST,
};

/* Dropout acts in training alone. */
static bool drops(const struct host *k)
{
    return k->training && k->model->zoo.dropout_rate > 0;
}

/* The gradient of a branch is another one than that of the sum. */
static bool own_gradient(const struct host *k)
{
    return k->model->zoo.norm_first_sandwich || drops(k);
}

bool host_plain_branch(const struct host *k)
{
    return !own_gradient(k) && !k->model->norm_last;
}

static double rate_of(const struct model *m, enum host_place place)
{
    const double rate[] = {[HOST_DROP_EMBED] = m->zoo.embedding_dropout_rate,
                           [HOST_DROP_SCORES] = m->zoo.attention_dropout_rate,
                           [HOST_DROP_ATTN] = m->zoo.dropout_rate,
                           [HOST_DROP_FFN] = m->zoo.dropout_rate,
                           [HOST_DROP_FILTER] = m->filter_dropout,
                           [HOST_DROP_TASK] = m->head[0].dropout};
    return rate[place];
}

enum { PLACE_BITS = 2, LAYER_BITS = 14 };

/* Layer and place as a number of PLACE_BITS + LAYER_BITS.  There are at most 2^13 layers, and the
 * embedding has one: the further places take what these leave free. */
static uint64_t place_number(int64_t layer, enum host_place place)
{
    if (place == HOST_DROP_FILTER)
        return (uint64_t)(layer | 1 << (LAYER_BITS - 1)) << PLACE_BITS | HOST_DROP_FFN;
    if (place == HOST_DROP_TASK) return 1U << PLACE_BITS | HOST_DROP_EMBED;
    return (uint64_t)layer << PLACE_BITS | place;
}

/* What is dropped depends on the seed, the step, the sample's place in the global batch, the layer,
 * the place in the layer and the element, and on nothing of who computes it. */
void host_drop(const struct host *k, enum host_place place, int64_t row, int64_t first, float *x,
               int64_t n, int thread)
{
    const double rate = rate_of(k->model, place);
    if (!k->training || k->stage.reference || !(rate > 0)) return;
    const int64_t layer = k->stage.layer < 0 ? 0 : k->stage.layer;
    const uint64_t sample =
        (uint64_t)(k->share.first_leaf * k->share.leaf_samples + row / k->model->T);
    const uint64_t stream = wsc_rng_stream(WSC_RNG_DROPOUT, sample << (LAYER_BITS + PLACE_BITS) |
                                                                place_number(layer, place));
    const double two_to_32 = 4294967296.0;
    const uint64_t below = (uint64_t)(rate * two_to_32);
    const float factor = rate < 1 ? (float)(1.0 / (1.0 - rate)) : 0;
    uint32_t *word = host_thread(k, thread, HOST_WORDS);
    wsc_rng_words(word, k->dropout_seed, stream, (uint64_t)first, n);
    for (int64_t i = 0; i < n; i++)
        x[i] = word[i] < below ? 0 : x[i] * factor;
}

/* The norm after the branch needs its input for the gradient, so that model keeps it. */
float *host_branch_out(const struct host *k, const struct host_branch *branch,
                       const struct host_span *b, int thread)
{
    const int64_t C = k->model->C;
    if (!k->model->zoo.norm_first_sandwich) return host_thread(k, thread, HOST_WIDE);
    return host_kept(k, branch->kept, k->stage.layer, C) + b->row * C;
}

/* A row of the stream: its elements are numbered from position C on within its sample. */
static void drop_row(const struct host *k, const struct host_branch *branch, int64_t row, float *x,
                     int thread)
{
    const int64_t C = k->model->C;
    host_drop(k, branch->place, row, row % k->model->T * C, x, C, thread);
}

/* mid = x + attention, x of the next layer = mid + FFN. */
void host_add_branch(const struct host *k, const struct host_branch *branch,
                     const struct host_span *b, float *out, const float *bias, int thread)
{
    const int64_t C = k->model->C, l = k->stage.layer;
    const bool attention = branch->place == HOST_DROP_ATTN;
    const float *from = attention ? host_x(k, l) : host_mid(k, l);
    float *to = attention ? host_mid(k, l) : host_x(k, l + 1);
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
        float *sum = k->model->norm_last ? host_kept(k, branch->kept, l, C) + at : to + at;
        for (int64_t c = 0; c < C; c++)
            sum[c] = from[at + c] + row[c];
        if (k->model->norm_last)
            host_norm_row(k, branch->norm, to + at, sum, stats + 2 * (b->row + i));
    }
}

/* Back through the norm of the sum: its gradient goes to HOST_DXN, for those of gain and bias. */
static void sum_norm_backward(const struct host *k, const struct host_branch *branch,
                              const struct host_span *b)
{
    const int64_t C = k->model->C, l = k->stage.layer;
    float *dres = k->buffer[HOST_DRES], *dxn = k->buffer[HOST_DXN];
    memcpy(dxn + b->row * C, dres + b->row * C, (size_t)(b->n * C) * sizeof *dxn);
    host_norm_backward(k, b, branch->norm, host_kept(k, branch->kept, l, C),
                       host_norm_stats(k, l, branch->slot), dres, true);
}

/* Back through the sum (HOST_DRES), the norm, and the same dropout: host_drop() repeats its choice
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
            host_norm_row_backward(k, branch->norm, row, dres + i * C,
                                   host_kept(k, branch->kept, l, C) + i * C, stats + 2 * i);
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
