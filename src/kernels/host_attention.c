// SPDX-License-Identifier: Apache-2.0
#include "host_impl.h"
#include "host_math.h"

#include <string.h>

/* One head of one sample.  Queries come in blocks; a block sees the keys up to its own end, so
 * that about half of the masked square is never computed (Vaswani et al. 2017, eq. 1). */
struct head {
    struct kernels_host *k;
    int thread;
    int64_t d, T, row; /**< first row of the sample */
    int64_t column;    /**< of the head */
    float scale;
    const void *q, *key, *value; /**< (T, d) with row stride 3 C */
    const void *ctx, *dctx;      /**< (T, d) with row stride C */
    float *softmax;              /**< maximum and 1/sum per row */
};
/* A block of queries and the keys that it sees. */
struct queries {
    int64_t first, n, n_keys;
};

static struct head head_of(struct kernels_host *k, int64_t item, int thread)
{
    const struct model *m = k->model;
    int64_t l = k->stage.layer, sample = item / m->H, h = item % m->H;
    int64_t row = sample * m->T, column = h * m->head_dim;
    const void *qkv =
        host_const_at(k, host_kept_operands(k, HOST_QKV, l, 3 * m->C), row * 3 * m->C + column);
    double scale = m->qk_scale / (m->qk_scale_by_layer ? (double)(l + 1) : 1.0);
    struct head head = {
        .k = k,
        .thread = thread,
        .d = m->head_dim,
        .T = m->T,
        .row = row,
        .column = column,
        .scale = (float)scale,
        .q = qkv,
        .key = host_const_at(k, qkv, m->C),
        .value = host_const_at(k, qkv, 2 * m->C),
        .ctx = host_at(k, host_kept_operands(k, HOST_CTX, l, m->C), row * m->C + column),
        .dctx = NULL,
        .softmax = host_kept(k, HOST_SOFTMAX, l, 2 * m->H) + 2 * (h * k->max_rows + row)};
    if (k->buffer[HOST_DCTX])
        head.dctx = host_const_at(k, k->buffer[HOST_DCTX], row * m->C + column);
    return head;
}

static struct queries queries_from(const struct head *head, int64_t first)
{
    int64_t left = head->T - first, n = left < HOST_QUERY_ROWS ? left : HOST_QUERY_ROWS;
    return (struct queries){.first = first, .n = n, .n_keys = first + n};
}

/* out (n, n_keys) = a (rows of the queries) b^T (rows of the keys), both over the head's width. */
static void scores(const struct head *head, const struct queries *q, const void *a, int64_t ld_a,
                   const void *b, float *out)
{
    int64_t C = head->k->model->C;
    struct num_product p = {.trans_b = true,
                            .m = q->n,
                            .n = q->n_keys,
                            .k = head->d,
                            .lda = ld_a,
                            .ldb = 3 * C,
                            .ldc = host_padded(head->T)};
    host_product(head->k, &p, host_const_at(head->k, a, q->first * ld_a), b, out);
}

/* Queries times keys, rounded to the operands' format where the softmax is taken in 16 bits. */
static void query_key_scores(const struct head *head, const struct queries *q, float *out)
{
    const struct kernels_host *k = head->k;
    uint16_t *rounded = host_thread(k, head->thread, HOST_SCORE_OP);
    scores(head, q, head->q, 3 * k->model->C, head->key, out);
    for (int64_t i = 0; i < q->n && k->model->softmax_16; i++) {
        float *row = out + i * host_padded(head->T);
        host_narrow(k, rounded, row, q->n_keys);
        num_widen(k->model->format, row, rounded, q->n_keys);
    }
}

/* out (n, d) = weights (n, n_keys) rows (n_keys, d). */
static void mix(const struct head *head, const struct queries *q, const void *weights,
                const void *rows, float *out)
{
    struct num_product p = {.m = q->n,
                            .n = head->d,
                            .k = q->n_keys,
                            .lda = host_padded(head->T),
                            .ldb = 3 * head->k->model->C,
                            .ldc = head->d};
    host_product(head->k, &p, weights, rows, out);
}

/* A row of scores as operands of the next product: in place for fp32. */
static void row_to_operands(const struct head *head, void *operands, int64_t i, const float *row,
                            int64_t n)
{
    if (!head->k->fp32)
        host_narrow(head->k, (uint16_t *)operands + i * host_padded(head->T), row, n);
}

/* Masked softmax without its division; the masked part becomes 0. */
static void softmax_row(float *row, int64_t n, int64_t n_keys, float scale, float stats[2])
{
    int64_t padded = host_padded(n);
    for (int64_t j = 0; j < n; j++)
        row[j] *= scale;
    for (int64_t j = n; j < padded; j++)
        row[j] = -INFINITY;
    stats[0] = host_max(row, padded);
    stats[1] = 1.0F / host_exp_row(row, row, stats[0], padded);
    for (int64_t j = padded; j < n_keys; j++)
        row[j] = 0;
}

static void attend_queries(const struct head *head, const struct queries *q)
{
    struct kernels_host *k = head->k;
    int64_t C = k->model->C, ld = host_padded(head->T), d = head->d;
    float *score = host_thread(k, head->thread, HOST_SCORE);
    void *weights = host_thread(k, head->thread, HOST_SCORE_OP);
    float *out = host_thread(k, head->thread, HOST_HEAD_OUT);
    void *ctx = host_at(k, host_kept_operands(k, HOST_CTX, k->stage.layer, C),
                        (head->row + q->first) * C + head->column);
    query_key_scores(head, q, score);
    for (int64_t i = 0; i < q->n; i++) {
        float *row = score + i * ld;
        softmax_row(row, q->first + i + 1, q->n_keys, head->scale,
                    head->softmax + 2 * (q->first + i));
        row_to_operands(head, weights, i, row, q->n_keys);
    }
    mix(head, q, weights, head->value, out);
    for (int64_t i = 0; i < q->n; i++) {
        void *to = host_at(k, ctx, i * C);
        num_scale(out + i * d, head->softmax[2 * (q->first + i) + 1], d);
        if (k->fp32)
            memcpy(to, out + i * d, (size_t)d * sizeof *out);
        else
            host_narrow(k, to, out + i * d, d);
    }
}

static void attend(void *ctx, int64_t item, int thread)
{
    struct head head = head_of(ctx, item, thread);
    for (int64_t first = 0; first < head.T; first += HOST_QUERY_ROWS) {
        struct queries q = queries_from(&head, first);
        attend_queries(&head, &q);
    }
}

static void project_rows(struct kernels_host *k, const struct host_span *b, int thread)
{
    (void)thread;
    int64_t C = k->model->C, l = k->stage.layer;
    const float *x = host_x(k, l) + b->row * C, *bias = k->stage.vector[MODEL_O_B];
    float *mid = host_mid(k, l) + b->row * C;
    struct num_product shape = host_linear_shape(b->n, C, C);
    shape.beta = 1;
    if (mid != x) memcpy(mid, x, (size_t)(b->n * C) * sizeof *mid);
    for (int64_t i = 0; bias && i < b->n; i++)
        num_add(mid + i * C, bias, C);
    host_product(k, &shape, host_at(k, host_kept_operands(k, HOST_CTX, l, C), b->row * C),
                 k->stage.weight[MODEL_O_W], mid);
}

void kernels_host_attn_forward(struct kernels_host *k)
{
    num_parallel(k->n_samples * k->model->H, attend, k);
    kernels_host_each_block(k, project_rows);
}

/* ---- backward */

static void project_rows_backward(struct kernels_host *k, const struct host_span *b, int thread)
{
    int64_t C = k->model->C;
    float *wide = host_thread(k, thread, HOST_WIDE);
    struct num_product shape = host_linear_back_shape(b->n, C, C);
    host_product(k, &shape, kernels_host_dres_operands(k, b), k->stage.weight[MODEL_O_W], wide);
    kernels_host_store_linear(k, b, wide, C, NULL, k->buffer[HOST_DCTX], C);
}

/* Operands as fp32: themselves, or widened into scratch. */
static const float *widened(const struct kernels_host *k, const void *operands, float *scratch,
                            int64_t n)
{
    if (k->fp32) return operands;
    num_widen(k->model->format, scratch, operands, n);
    return scratch;
}

/* ds = p (dp - sum_j p_j dp_j) scale, and the sum is the product of output and its gradient. */
static void softmax_row_backward(float *row, float *drow, const float stats[2], float scale,
                                 float dot, int64_t n)
{
    float max = stats[0], inv_sum = stats[1];
    for (int64_t j = 0; j < n; j++) {
        float p = host_exp(row[j] * scale - max) * inv_sum;
        row[j] = p;
        drow[j] = p * (drow[j] - dot) * scale;
    }
}

/* Probabilities and gradients of the scores of a block of queries, again from the saved maxima. */
static void scores_backward(const struct head *head, const struct queries *q)
{
    struct kernels_host *k = head->k;
    int64_t C = k->model->C, ld = host_padded(head->T);
    float *score = host_thread(k, head->thread, HOST_SCORE);
    float *dscore = host_thread(k, head->thread, HOST_DSCORE);
    float *wide = host_thread(k, head->thread, HOST_ROW);
    float *dwide = host_thread(k, head->thread, HOST_ROW2);
    query_key_scores(head, q, score);
    scores(head, q, head->dctx, C, head->value, dscore);
    for (int64_t i = 0; i < q->n; i++) {
        int64_t t = q->first + i, n = t + 1;
        float *row = score + i * ld, *drow = dscore + i * ld;
        float dot =
            host_dot(widened(k, host_const_at(k, head->ctx, t * C), wide, head->d),
                     widened(k, host_const_at(k, head->dctx, t * C), dwide, head->d), head->d);
        softmax_row_backward(row, drow, head->softmax + 2 * t, head->scale, dot, n);
        memset(row + n, 0, (size_t)(q->n_keys - n) * sizeof *row);
        memset(drow + n, 0, (size_t)(q->n_keys - n) * sizeof *drow);
        row_to_operands(head, host_thread(k, head->thread, HOST_SCORE_OP), i, row, q->n_keys);
        row_to_operands(head, host_thread(k, head->thread, HOST_DSCORE_OP), i, drow, q->n_keys);
    }
}

/* sum (n_keys, d) = weights^T (n_keys, n) rows (n, d at ld) + beta sum. */
static void gather(const struct head *head, const struct queries *q, const void *weights,
                   const void *rows, int64_t ld, float *sum)
{
    struct num_product p = {.trans_a = true,
                            .m = q->n_keys,
                            .n = head->d,
                            .k = q->n,
                            .lda = host_padded(head->T),
                            .ldb = ld,
                            .ldc = head->d,
                            .beta = q->n_keys == head->T ? 0 : 1}; /* the last block comes first */
    host_product(head->k, &p, weights, host_const_at(head->k, rows, q->first * ld), sum);
}

/* Columns of HOST_DQKV: 0 dq, 1 dk, 2 dv. */
static void store_dqkv(const struct head *head, int which, int64_t first, int64_t n, float *rows)
{
    struct kernels_host *k = head->k;
    int64_t C = k->model->C;
    struct host_span span = {.row = head->row + first, .n = n};
    kernels_host_store_linear(k, &span, rows, head->d, NULL,
                              host_at(k, k->buffer[HOST_DQKV], which * C + head->column), 3 * C);
}

static void attend_backward(void *ctx, int64_t item, int thread)
{
    struct kernels_host *k = ctx;
    struct head head = head_of(k, item, thread);
    int64_t C = k->model->C;
    float *dk = host_thread(k, thread, HOST_DK), *dv = host_thread(k, thread, HOST_DV);
    float *dq = host_thread(k, thread, HOST_HEAD_OUT);
    const void *p = host_thread(k, thread, HOST_SCORE_OP);
    const void *ds = host_thread(k, thread, HOST_DSCORE_OP);
    int64_t last = (head.T - 1) / HOST_QUERY_ROWS * HOST_QUERY_ROWS;
    for (int64_t first = last; first >= 0; first -= HOST_QUERY_ROWS) {
        struct queries q = queries_from(&head, first);
        scores_backward(&head, &q);
        gather(&head, &q, p, head.dctx, C, dv);
        gather(&head, &q, ds, head.q, 3 * C, dk);
        mix(&head, &q, ds, head.key, dq);
        store_dqkv(&head, 0, first, q.n, dq);
    }
    store_dqkv(&head, 1, 0, head.T, dk);
    store_dqkv(&head, 2, 0, head.T, dv);
}

void kernels_host_attn_backward(struct kernels_host *k)
{
    int64_t C = k->model->C;
    const void *dy = k->buffer[HOST_DRES_OP];
    kernels_host_each_block(k, project_rows_backward);
    struct host_grad grad[2] = {
        kernels_host_linear_grad(MODEL_O_W, C, C, dy, C,
                                 host_kept_operands(k, HOST_CTX, k->stage.layer, C)),
        kernels_host_bias_grad(MODEL_O_B, C, dy, C)};
    kernels_host_sum_grads(k, grad, 2);
    num_parallel(k->n_samples * k->model->H, attend_backward, k);
}
