// SPDX-License-Identifier: Apache-2.0
/* Computes attention head by head, for a block of queries and a tile of keys at a time, so that no
 * matrix or row of scores is ever stored as a whole; the backward pass recomputes the scores (Dao
 * et al. 2022). host_softmax.c has the arithmetic of a row. Attention is causal or in both
 * directions, with windows, padding, grouped keys, ALiBi, soft caps and cached keys. */
#include "host_attention.h"
#include "host_branch.h"
#include "host_buffers.h"
#include "host_cache.h"
#include "host_ffn.h"
#include "host_grad.h"
#include "host_gradient.h"
#include "host_operands.h"
#include "host_positions.h"
#include "host_relative.h"
#include "host_row_blocks.h"
#include "host_softmax.h"
#include "host_sparse.h"
#include "host_state.h"

#include <wsc/num_math.h>

#include <string.h>

/* Self-attention of a stack, and attention of a decoder to the encoder's output: where results of
 * heads are stored, and the branch to which the output projection belongs. */
struct kind {
    enum host_buffer ctx, softmax;
    enum model_tensor_kind weight;
    enum model_drop_place scores;
    const struct host_branch *branch;
};
static const struct kind kinds[2] = {
    {HOST_CTX, HOST_SOFTMAX, MODEL_O_W, MODEL_DROP_SCORES, &host_attn_branch},
    {HOST_CROSS_CTX, HOST_CROSS_SOFTMAX, MODEL_CROSS_O_W, MODEL_DROP_CROSS_SCORES,
     &host_cross_branch}};

static const struct kind *kind_of(const struct host *k)
{
    return &kinds[k->crosses];
}

/* Index of the layer in the buffers of this kind of attention. */
static int64_t layer_of(const struct host *k)
{
    return k->crosses ? host_cross_layer(k, k->stage.layer) : k->stage.layer;
}

/* One query head of one sample.  Queries come in blocks; a block sees the keys from the start of
 * its first query's window up to its own end, so that about half of the masked square is never
 * computed (Vaswani et al. 2017, eq. 1). */
struct head {
    struct host *k;
    int thread;
    int64_t d, T, h, row;      /**< T: keys; row: first one of the sample's queries */
    int64_t key_row;           /**< first one of its keys */
    int64_t first, end;        /**< positions of the queries */
    int64_t column, kv_column; /**< column of the head in a row of queries, of its keys in theirs */
    int64_t ld, ld_kv;         /**< of queries, of keys and values */
    int64_t window, sinks;
    const int32_t *span;    /**< (T) later queries that attend to a key; NULL: all */
    const int32_t *before;  /**< (T) earlier queries that attend to a key; NULL: all */
    const int32_t *attends; /**< (T) 0 for a key to which no query attends; NULL: none */
    bool causal;
    struct host_shape shape;
    bool plain;              /**< scores are only scaled */
    const void *q;           /**< (T, d) with row stride ld */
    const void *key, *value; /**< (T, d) with row stride ld_kv */
    const void *ctx, *dctx;  /**< (T, d) with the queries' row stride */
    const float *relative;   /**< added to the score of key j for query t: element j - t; NULL */
    void *dq, *dkv;          /**< rows of gradients of queries, of keys and values: `key_column` and
                                  `value_column` of the latter */
    int64_t key_column, value_column;
    /* rows of gradients of normed queries and keys, in 32 bits instead; NULL: none */
    float *dq_normed, *dk_normed;
    float *softmax; /**< maximum and 1/sum per row */
    bool adds;      /**< add gradients of keys and values instead of writing them */
};
/* A block of queries and the keys to which they attend, or a tile of these keys. */
struct queries {
    int64_t first, n, first_key, n_keys;
};

/* Limit the queries to the new positions of a text, or of a source that the encoder computes. */
static void limit_to_new_positions(struct head *head, int64_t sample)
{
    const struct host_span *leaf = &head->k->leaf[sample];
    head->first = leaf->row - head->row;
    head->end = head->first + leaf->n;
}

/* Use the cached keys and values of all positions. */
static void use_cache(struct head *head)
{
    const struct host *k = head->k;
    const int64_t kv = model_kv_features(k->model);
    const void *row = host_cached_row(k, host_cross_layer(k, k->stage.layer), head->row);
    head->ld_kv = 2 * kv;
    head->key = host_const_at(k, row, head->kv_column);
    head->value = host_const_at(k, row, kv + head->kv_column);
}

/* Set which keys are hidden from the queries of the sample. With packed texts and attention in
 * both directions, the position of a key is its distance to the first token of its text; padding
 * attends only to itself. */
static void hide_keys(struct head *head)
{
    const struct data_batch *b = head->k->batch;
    if (b->attention_span) head->span = b->attention_span + head->row;
    if (head->causal) return;
    if (head->span)
        head->before = b->position_ids + head->row;
    else if (b->attends)
        head->attends = b->attends + head->row;
}

/* Set up query head @p h of a sample; the query heads of a group share one head of keys and
 * values. */
static struct head head_of(struct host *k, int64_t sample, int64_t h, int thread)
{
    const struct model *m = k->model;
    const int64_t l = k->stage.layer, row = sample * k->T, kv = model_kv_features(m);
    const int64_t column = h * m->head_dim, ld = model_qkv_features(m), q = model_q_features(m);
    const int64_t kv_column = h / (m->H / m->kv_heads) * m->head_dim;
    const void *qkv = host_const_at(k, host_kept_operands(k, HOST_QKV, l, ld), row * ld);
    struct head head = {
        .k = k,
        .thread = thread,
        .d = m->head_dim,
        .T = k->T,
        .h = h,
        .row = row,
        .key_row = row,
        .column = column,
        .kv_column = kv_column,
        .end = k->T,
        .causal = k->stack->causal,
        .ld = ld,
        .ld_kv = ld,
        .window = model_window(m, l),
        .sinks = m->sink_tokens,
        .shape = {.scale = (float)(k->stack->qk_scale /
                                   (m->zoo.scale_qk_dot_by_layer_idx ? (double)(l + 1) : 1.0)),
                  .cap = (float)m->zoo.attention_logit_softcapping,
                  .slope = model_alibi_slope(m, h)},
        .q = host_const_at(k, qkv, column),
        .key = host_const_at(k, qkv, q + kv_column),
        .value = host_const_at(k, qkv, q + kv + kv_column),
        .relative = host_relative_scores(k, h),
        .dq = k->buffer[HOST_DQKV],
        .dkv = k->buffer[HOST_DQKV],
        .key_column = q + kv_column,
        .value_column = q + kv + kv_column,
        .ctx = host_at(k, host_kept_operands(k, HOST_CTX, l, q), row * q + column),
        .softmax = host_kept(k, HOST_SOFTMAX, l, 2 * m->H) + 2 * (h * k->max_rows + row)};
    if (model_norms_heads(m)) head.dq_normed = k->buffer[HOST_DNORMED_Q];
    if (model_norms_heads(m)) head.dk_normed = k->buffer[HOST_DNORMED_K];
    if (k->cached) limit_to_new_positions(&head, sample);
    if (k->cached && k->stack->causal) use_cache(&head);
    hide_keys(&head);
    head.plain = !head.window && !head.span && !head.attends && !(head.shape.cap > 0) &&
                 head.shape.slope == 0 && !head.relative;
    if (k->buffer[HOST_DCTX]) head.dctx = host_const_at(k, k->buffer[HOST_DCTX], row * q + column);
    return head;
}

/* Set up query head @p h of a sequence of the decoder. Its keys and values are those of the
 * encoder, without padding. */
static struct head cross_head_of(struct host *k, int64_t sample, int64_t h, int thread)
{
    const struct model *m = k->model;
    const struct host_rows *memory = &k->of_stack[k->stack - m->stack - 1];
    const int64_t layer = layer_of(k), q = model_q_features(m), kv = model_kv_features(m);
    const int64_t T = k->stack[-1].T, row = sample * k->T;
    const int64_t source = k->cached ? sample - sample % k->n_beams : sample, key_row = source * T;
    const int64_t column = h * m->head_dim, kv_column = h / (m->H / m->kv_heads) * m->head_dim;
    const void *all = k->cached ? host_cached_memory(k, layer)
                                : host_kept_operands(k, HOST_CROSS_KV, layer, 2 * kv);
    const void *keys = host_const_at(k, all, key_row * 2 * kv);
    struct head head = {
        .k = k,
        .thread = thread,
        .d = m->head_dim,
        .T = T,
        .h = h,
        .row = row,
        .key_row = key_row,
        .column = column,
        .kv_column = kv_column,
        .end = k->T,
        .ld = q,
        .ld_kv = 2 * kv,
        .shape = {.scale = (float)k->stack->qk_scale},
        .attends = memory->batch->attends + key_row,
        .q = host_const_at(k, host_kept_operands(k, HOST_CROSS_Q, layer, q), row * q + column),
        .key = host_const_at(k, keys, kv_column),
        .value = host_const_at(k, keys, kv + kv_column),
        .dq = k->buffer[HOST_DQKV],
        .dkv = k->buffer[HOST_DCROSS],
        .key_column = kv_column,
        .value_column = kv + kv_column,
        .ctx = host_at(k, host_kept_operands(k, HOST_CROSS_CTX, layer, q), row * q + column),
        .softmax = host_kept(k, HOST_CROSS_SOFTMAX, layer, 2 * m->H) + 2 * (h * k->max_rows + row)};
    if (k->cached) limit_to_new_positions(&head, sample);
    if (k->buffer[HOST_DCTX]) head.dctx = host_const_at(k, k->buffer[HOST_DCTX], row * q + column);
    return head;
}

static struct head any_head_of(struct host *k, int64_t sample, int64_t h, int thread)
{
    return k->crosses ? cross_head_of(k, sample, h, thread) : head_of(k, sample, h, thread);
}

/* Elements between rows of HOST_CTX. */
static int64_t ld_ctx(const struct head *head)
{
    return model_q_features(head->k->model);
}

/* The queries from @p first to the end of their block. Blocks have fixed limits, so a query gets
 * its keys in the same order whichever queries are computed with it. */
static struct queries queries_from(const struct head *head, int64_t first)
{
    const int64_t block = first / HOST_QUERY_ROWS * HOST_QUERY_ROWS,
                  block_end = block + HOST_QUERY_ROWS;
    const int64_t n = (head->end < block_end ? head->end : block_end) - first;
    int64_t key = head->window && !head->sinks ? block - head->window : 0;
    if (key < 0) key = 0;
    const int64_t end = head->causal ? first + n : head->T;
    return (struct queries){.first = first, .n = n, .first_key = key, .n_keys = end - key};
}

/* The tile of keys that begins at @p key; tiles have fixed limits, like blocks of queries. */
static struct queries tile_of(const struct head *head, const struct queries *q, int64_t key)
{
    const int64_t keys = host_tile_keys(&head->k->limits), end = q->first_key + q->n_keys;
    const int64_t tile_end = (key / keys + 1) * keys;
    return (struct queries){.first = q->first,
                            .n = q->n,
                            .first_key = key,
                            .n_keys = (end < tile_end ? end : tile_end) - key};
}

static int64_t tile_width(const struct head *head)
{
    return host_tile_width(&head->k->limits, head->T);
}

/* out (n, n_keys) = a (rows of the queries) b^T (rows of the keys), both over the features of the
 * head. */
static void scores(const struct head *head, const struct queries *q, const void *a, int64_t ld_a,
                   const void *b, float *out)
{
    struct num_product p = {.trans_b = true,
                            .m = q->n,
                            .n = q->n_keys,
                            .k = head->d,
                            .lda = ld_a,
                            .ldb = head->ld_kv,
                            .ldc = tile_width(head)};
    host_product(head->k, &p, host_const_at(head->k, a, q->first * ld_a),
                 host_const_at(head->k, b, q->first_key * head->ld_kv), out);
}

/* Scores of queries and keys, rounded to the operands' format if the softmax is computed in 16
 * bits. */
static void query_key_scores(const struct head *head, const struct queries *q, float *out)
{
    const struct host *k = head->k;
    uint16_t *rounded = host_thread(k, head->thread, HOST_SCORE_OP);
    scores(head, q, head->q, head->ld, head->key, out);
    for (int64_t i = 0; i < q->n && k->model->softmax_16; i++) {
        float *row = out + i * tile_width(head);
        host_narrow(k, rounded, row, q->n_keys);
        num_widen(k->model->format, row, rounded, q->n_keys);
    }
}

/* out (n, d) = weights (n, n_keys) rows (n_keys, d) + beta out. */
static void mix(const struct head *head, const struct queries *q, const void *weights,
                const void *rows, float *out, float beta)
{
    struct num_product p = {.beta = beta,
                            .m = q->n,
                            .n = head->d,
                            .k = q->n_keys,
                            .lda = tile_width(head),
                            .ldb = head->ld_kv,
                            .ldc = head->d};
    host_product(head->k, &p, weights, host_const_at(head->k, rows, q->first_key * head->ld_kv),
                 out);
}

/* Convert a row of scores to operands of the next product; fp32 scores are used in place. */
static void row_to_operands(const struct head *head, void *operands, int64_t i, const float *row,
                            int64_t n)
{
    if (!head->k->fp32) host_narrow(head->k, (uint16_t *)operands + i * tile_width(head), row, n);
}

/* Apply scale, cap, slope and relative positions to the scores of query t with n keys of the
 * tile. */
static void shape_row(const struct head *head, const struct queries *q, float *row, int64_t t,
                      int64_t n)
{
    host_softmax_shape(&head->shape, row, (float)(t - q->first_key), n);
    if (head->relative) num_add(row, head->relative + q->first_key - t, n);
}

/* True when a term by distance is added after a soft cap, as in the Model Zoo. */
static bool adds_to_capped(const struct head *head)
{
    return head->shape.cap > 0 && (head->shape.slope != 0 || head->relative);
}

/* Apply scale, cap and the term by distance to a row of scores where adds_to_capped(); also
 * computes the derivatives of the cap. */
static void shape_capped_row(const struct head *head, const struct queries *q, float *row,
                             float *slopes, int64_t t, int64_t n)
{
    const struct host_shape capped = {.scale = head->shape.scale, .cap = head->shape.cap};
    const struct host_shape added = {.scale = 1, .slope = head->shape.slope};
    host_softmax_shape(&capped, row, 0, n);
    host_softmax_cap_slopes(capped.cap, row, slopes, n);
    host_softmax_shape(&added, row, (float)(t - q->first_key), n);
    if (head->relative) num_add(row, head->relative + q->first_key - t, n);
}

/* Number of keys of the tile to which query t may attend: those up to its own position or, with
 * attention in both directions, all. */
static int64_t keys_of(const struct head *head, const struct queries *q, int64_t t)
{
    const int64_t n = (head->causal ? t + 1 : head->T) - q->first_key;
    if (n < 0) return 0;
    return n < q->n_keys ? n : q->n_keys;
}

/* Write @p hidden to the scores of keys before the window, except sinks, and of keys of other
 * texts; @p n: keys of the tile that may be attended to. */
static void hide_row(const struct head *head, const struct queries *q, float *row, int64_t t,
                     int64_t n, float hidden)
{
    const int64_t first = q->first_key, outside = head->window ? t - head->window - first : 0;
    int64_t j = head->sinks > first ? head->sinks - first : 0;
    for (; j < n && j < outside; j++)
        row[j] = hidden;
    for (int64_t key = first; head->span && key < first + n && key < t; key++)
        if (t - key > head->span[key]) row[key - first] = hidden;
    for (int64_t key = t < first ? first : t + 1; head->before && key < first + n; key++)
        if (key - t > head->before[key]) row[key - first] = hidden;
    for (int64_t key = first; head->attends && key < first + n; key++)
        if (!head->attends[key]) row[key - first] = hidden;
}

/* Dropout of probabilities. The element (head, query, key) of the sample selects the random
 * number, so both passes drop the same elements. */
static void drop_row(const struct head *head, const struct queries *q, float *row, int64_t t,
                     int64_t n)
{
    const int64_t first = (head->h * head->k->T + t) * head->T + q->first_key;
    host_drop(head->k, kind_of(head->k)->scores, head->row, first, row, n, head->thread);
}

/* Masked softmax of a row of the tile, without its division; masked elements become 0. */
static void softmax_row(const struct head *head, const struct queries *q, float *row, int64_t t,
                        struct host_softmax *s, float *out)
{
    const int64_t n = keys_of(head, q, t);
    if (!head->plain) {
        shape_row(head, q, row, t, n);
        hide_row(head, q, row, t, n, -INFINITY);
    }
    host_softmax_add(s, row, head->plain ? head->shape.scale : 1, n, out, head->d);
    for (int64_t j = host_padded(n); j < q->n_keys; j++)
        row[j] = 0;
    drop_row(head, q, row, t, n);
}

/* Compute the exponentials of a tile of scores, and add their product with the values to @p out. */
static void attend_tile(const struct head *head, const struct queries *q,
                        struct host_softmax *softmax, float *out, float beta)
{
    struct host *k = head->k;
    const int64_t ld = tile_width(head);
    float *score = host_thread(k, head->thread, HOST_SCORE);
    void *weights = host_thread(k, head->thread, HOST_SCORE_OP);
    query_key_scores(head, q, score);
    for (int64_t i = 0; i < q->n; i++) {
        softmax_row(head, q, score + i * ld, q->first + i, &softmax[i], out + i * head->d);
        row_to_operands(head, weights, i, score + i * ld, q->n_keys);
    }
    mix(head, q, weights, head->value, out, beta);
}

/* Attention of a block of queries, tile by tile. The division by the sum comes last: (n, d)
 * divisions instead of (n, n_keys). */
static void attend_queries(const struct head *head, const struct queries *q)
{
    struct host *k = head->k;
    struct host_softmax softmax[HOST_QUERY_ROWS];
    int64_t width = ld_ctx(head), d = head->d;
    float *out = host_thread(k, head->thread, HOST_HEAD_OUT);
    void *ctx = host_at(k, host_kept_operands(k, kind_of(k)->ctx, layer_of(k), width),
                        (head->row + q->first) * width + head->column);
    for (int64_t i = 0; i < q->n; i++)
        softmax[i] = (struct host_softmax){.max = -INFINITY};
    for (int64_t key = q->first_key; key < q->first_key + q->n_keys;) {
        const struct queries tile = tile_of(head, q, key);
        attend_tile(head, &tile, softmax, out, key == q->first_key ? 0 : 1);
        key += tile.n_keys;
    }
    for (int64_t i = 0; i < q->n; i++) {
        float *stats = head->softmax + 2 * (q->first + i);
        stats[0] = softmax[i].max;
        stats[1] = 1.0F / softmax[i].sum;
        num_scale(out + i * d, stats[1], d);
        host_to_operands(k, host_at(k, ctx, i * width), out + i * d, d);
    }
}

/* Item: one query head of one sample; a thread works on whole heads. */
static void attend(void *ctx, int64_t item, int thread)
{
    struct host *k = ctx;
    struct head head = any_head_of(k, item / k->model->H, item % k->model->H, thread);
    for (int64_t first = head.first; first < head.end;) {
        struct queries q = queries_from(&head, first);
        attend_queries(&head, &q);
        first += q.n;
    }
}

/* Output projection of a block: stream after = stream before + ctx Wo' + bias. A branch without
 * dropout and norm is added by the product itself (beta 1) and needs no memory of its own. */
static void project_rows(struct host *k, const struct host_span *b, int thread)
{
    const struct kind *kind = kind_of(k);
    int64_t C = k->model->C, l = k->stage.layer, width = model_q_features(k->model);
    const float *x = (k->crosses ? host_mid(k, l) : host_x(k, l)) + b->row * C;
    const float *bias = k->stage.vector[kind->weight + 1];
    float *mid = (k->crosses ? host_cross_mid(k, l) : host_mid(k, l)) + b->row * C;
    const void *ctx =
        host_at(k, host_kept_operands(k, kind->ctx, layer_of(k), width), b->row * width);
    struct num_product shape = host_linear_shape(b->n, width, C);
    const struct host_lines at = {b->row, thread};
    if (!host_plain_branch(k)) {
        float *branch = host_branch_out(k, kind->branch, b, thread);
        host_linear(k, &shape, ctx, kind->weight, 0, &at, branch);
        host_add_branch(k, kind->branch, b, branch, bias, thread);
        return;
    }
    shape.beta = 1;
    if (!bias && mid != x) memcpy(mid, x, (size_t)(b->n * C) * sizeof *mid);
    for (int64_t i = 0; bias && i < b->n; i++)
        num_sum_of(mid + i * C, x + i * C, bias, C);
    host_linear(k, &shape, ctx, kind->weight, 0, &at, mid);
}

void host_attn_forward(struct host *k)
{
    num_parallel(k->n_samples * k->model->H, attend, k);
    host_each_block(k, project_rows);
}

void host_cross_attn_forward(struct host *k)
{
    k->crosses = true;
    host_attn_forward(k);
    k->crosses = false;
}

/* ---- backward */

/* HOST_DCTX = gradient of the branch times Wo; fp32 results need no rounding. */
static void project_rows_backward(struct host *k, const struct host_span *b, int thread)
{
    int64_t C = k->model->C, width = model_q_features(k->model);
    void *dctx = host_at(k, k->buffer[HOST_DCTX], b->row * width);
    float *out = k->fp32 ? dctx : host_thread(k, thread, HOST_WIDE);
    struct num_product shape = host_linear_back_shape(b->n, width, C);
    const struct host_lines at = {b->row, thread};
    host_linear(k, &shape, host_branch_gradient(k, kind_of(k)->branch, b, thread),
                kind_of(k)->weight, 0, &at, out);
    if (!k->fp32) host_narrow(k, dctx, out, b->n * width);
}

/* Add the gradients of the scores of query t, without their scale, to the sums of their buckets. */
static void sum_buckets(const struct head *head, const struct queries *q, const float *drow,
                        int64_t t)
{
    const struct host *k = head->k;
    const int64_t n = keys_of(head, q, t);
    const int32_t *bucket = host_relative_buckets(k) + q->first_key - t;
    double *sum = host_relative_sums(k, head->row / k->T, head->h);
    const double per_scale = 1 / (double)head->shape.scale;
    for (int64_t j = 0; j < n; j++)
        sum[bucket[j]] +=
            (double)drow[j] * per_scale * host_relative_factor(k, q->first_key + j - t);
}

/* Recompute the scores of query t and their probabilities, and compute their gradient. A term by
 * distance has the gradient of the capped score; that gradient then goes through the cap. */
static void shaped_row_backward(const struct head *head, const struct queries *q, int64_t t,
                                const struct host_softmax_stats *stats, float *row, float *drow)
{
    const int64_t n = keys_of(head, q, t);
    const float hidden = stats->max - 200; /* its exponential is 0 */
    const bool apart = adds_to_capped(head);
    float *slopes = apart ? host_thread(head->k, head->thread, HOST_CAP_SLOPES) : NULL;
    const struct host_shape shape = {.scale = head->shape.scale,
                                     .cap = apart ? 0 : head->shape.cap};
    if (apart)
        shape_capped_row(head, q, row, slopes, t, n);
    else
        shape_row(head, q, row, t, n);
    hide_row(head, q, row, t, n, hidden);
    host_softmax_shaped_backward(stats, &shape, row, drow, n);
    if (head->relative) sum_buckets(head, q, drow, t);
    for (int64_t j = 0; apart && j < n; j++)
        drow[j] *= slopes[j];
}

/* Probabilities of a row, and the gradient of its scores: ds = p (dp - sum_j p_j dp_j) scale. */
static void softmax_row_backward(const struct head *head, const struct queries *q, int64_t t,
                                 float dot, float *row, float *drow)
{
    const int64_t n = keys_of(head, q, t), padded = host_padded(n);
    const struct host_softmax_stats stats = {
        .max = head->softmax[2 * t], .inv_sum = head->softmax[2 * t + 1], .dot = dot};
    drop_row(head, q, drow, t, n);
    if (head->plain)
        host_softmax_backward(&stats, head->shape.scale, row, drow, padded);
    else
        shaped_row_backward(head, q, t, &stats, row, drow);
    drop_row(head, q, row, t, n);
    memset(row + n, 0, (size_t)(q->n_keys - n) * sizeof *row);
    memset(drow + n, 0, (size_t)(q->n_keys - n) * sizeof *drow);
}

/* sum_j p_j dp_j of each query: the output of attention times its gradient. */
static void output_dots(const struct head *head, const struct queries *q, float dot[])
{
    const struct host *k = head->k;
    const int64_t ld = ld_ctx(head);
    for (int64_t i = 0; i < q->n; i++) {
        const int64_t at = (q->first + i) * ld;
        dot[i] = num_dot_of(k->model->format, host_const_at(k, head->ctx, at),
                            host_const_at(k, head->dctx, at), head->d);
    }
}

/* Recompute the probabilities of a tile from the saved maxima, and compute the gradients of its
 * scores. */
static void scores_backward(const struct head *head, const struct queries *q)
{
    struct host *k = head->k;
    float dot[HOST_QUERY_ROWS];
    int64_t width = ld_ctx(head), ld = tile_width(head);
    float *score = host_thread(k, head->thread, HOST_SCORE);
    float *dscore = host_thread(k, head->thread, HOST_DSCORE);
    query_key_scores(head, q, score);
    scores(head, q, head->dctx, width, head->value, dscore);
    output_dots(head, q, dot);
    for (int64_t i = 0; i < q->n; i++) {
        const int64_t t = q->first + i;
        float *row = score + i * ld, *drow = dscore + i * ld;
        softmax_row_backward(head, q, t, dot[i], row, drow);
        row_to_operands(head, host_thread(k, head->thread, HOST_SCORE_OP), i, row, q->n_keys);
        row_to_operands(head, host_thread(k, head->thread, HOST_DSCORE_OP), i, drow, q->n_keys);
    }
}

/* sum (n_keys, d) = weights^T (n_keys, n) rows (n, d at ld) + beta sum, for the keys from the
 * first one on. */
static void gather(const struct head *head, const struct queries *q, const void *weights,
                   const void *rows, int64_t ld, float *sum)
{
    struct num_product p = {.trans_a = true,
                            .m = q->n_keys,
                            .n = head->d,
                            .k = q->n,
                            .lda = tile_width(head),
                            .ldb = ld,
                            .ldc = head->d,
                            /* without a window, the last block is first and has all keys */
                            .beta = q->first + q->n == head->end && !head->adds ? 0 : 1};
    host_product(head->k, &p, weights, host_const_at(head->k, rows, q->first * ld),
                 sum + q->first_key * head->d);
}

/* Store gradients (span, d) of queries, keys or values at @p to with row stride @p ld; those of
 * queries and keys are rotated back. */
static void store_rows(const struct head *head, const struct host_span *span, bool rotated,
                       float *rows, void *to, int64_t ld)
{
    struct host *k = head->k;
    if (rotated && k->model->rotary_dim) host_rotate(k, span, rows, head->d, true);
    host_store_linear(k, span, rows, head->d, NULL, to, ld);
}

/* Store gradients (span, d) of normed queries or keys at @p to with row stride @p ld, for
 * host_head_norm.c. */
static void keep_rows(const struct head *head, const struct host_span *span, const float *rows,
                      float *to, int64_t ld)
{
    for (int64_t i = 0; i < span->n; i++)
        memcpy(to + (span->row + i) * ld, rows + i * head->d, (size_t)head->d * sizeof *rows);
}

/* Add the part of a tile to the gradients of queries, keys and values. */
static void attend_tile_backward(const struct head *head, const struct queries *q, float *dq,
                                 float beta)
{
    struct host *k = head->k;
    float *dk = host_thread(k, head->thread, HOST_DK), *dv = host_thread(k, head->thread, HOST_DV);
    const void *ds = host_thread(k, head->thread, HOST_DSCORE_OP);
    scores_backward(head, q);
    gather(head, q, host_thread(k, head->thread, HOST_SCORE_OP), head->dctx, ld_ctx(head), dv);
    gather(head, q, ds, head->q, head->ld, dk);
    mix(head, q, ds, head->key, dq, beta);
}

/* Blocks of queries are processed from the last to the first: the last block attends to all keys,
 * so the first product writes the sums, and they need not be cleared. */
static void attend_head_backward(const struct head *head)
{
    struct host *k = head->k;
    float *dq = host_thread(k, head->thread, HOST_HEAD_OUT);
    int64_t last = (head->end - 1) / HOST_QUERY_ROWS * HOST_QUERY_ROWS;
    for (int64_t first = last; first >= 0; first -= HOST_QUERY_ROWS) {
        struct queries q = queries_from(head, first);
        for (int64_t key = q.first_key; key < q.first_key + q.n_keys;) {
            const struct queries tile = tile_of(head, &q, key);
            attend_tile_backward(head, &tile, dq, key == q.first_key ? 0 : 1);
            key += tile.n_keys;
        }
        const struct host_span span = {head->row + first, q.n};
        if (head->dq_normed)
            keep_rows(head, &span, dq, head->dq_normed + head->column, model_q_features(k->model));
        else
            store_rows(head, &span, true, dq, host_at(k, head->dq, head->column), head->ld);
    }
}

/* Gradients of one head of keys and values: its query heads one after the other, so that the sums
 * over them have a fixed order. */
static void attend_backward(void *ctx, int64_t item, int thread)
{
    struct host *k = ctx;
    const struct model *m = k->model;
    const int64_t sample = item / m->kv_heads, group = item % m->kv_heads;
    const int64_t heads = m->H / m->kv_heads, bytes = k->T * m->head_dim * (int64_t)sizeof(float);
    float *dk = host_thread(k, thread, HOST_DK), *dv = host_thread(k, thread, HOST_DV);
    struct head head = any_head_of(k, sample, group * heads, thread);
    const bool zeroed = head.window > 0;
    if (zeroed) memset(dk, 0, (size_t)bytes);
    if (zeroed) memset(dv, 0, (size_t)bytes);
    for (int64_t i = 0; i < heads; i++) {
        head = any_head_of(k, sample, group * heads + i, thread);
        head.adds = zeroed || i > 0;
        attend_head_backward(&head);
    }
    const struct host_span keys = {head.key_row, head.T};
    if (head.dk_normed)
        keep_rows(&head, &keys, dk, head.dk_normed + head.kv_column, model_kv_features(m));
    else
        store_rows(&head, &keys, true, dk, host_at(k, head.dkv, head.key_column), head.ld_kv);
    store_rows(&head, &keys, false, dv, host_at(k, head.dkv, head.value_column), head.ld_kv);
}

void host_attn_backward(struct host *k)
{
    const struct kind *kind = kind_of(k);
    int64_t C = k->model->C, width = model_q_features(k->model);
    const void *dy = host_branch_gradients(k);
    host_each_block(k, project_rows_backward);
    struct host_grad grad[4] = {
        host_linear_grad(kind->weight, C, width, dy, C,
                         host_kept_operands(k, kind->ctx, layer_of(k), width)),
        host_bias_grad(kind->weight + 1, C, dy, C)};
    host_sum_grads(k, grad, 2 + host_branch_norm_grads(k, kind->branch, grad + 2));
    num_parallel(k->n_samples * k->model->kv_heads, attend_backward, k);
}

void host_cross_attn_backward(struct host *k)
{
    k->crosses = true;
    host_attn_backward(k);
    k->crosses = false;
}
