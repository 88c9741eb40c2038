// SPDX-License-Identifier: Apache-2.0
/* Computes the layers of a head before its output layer, forward and backward. A head of a decoder
 * takes all rows and has a norm. Heads of encoders gather the rows that have a label, or the first
 * row of each sequence. They do so leaf by leaf, so that the shapes of a leaf's products do not
 * depend on where it is computed. host_head.c calls; model_heads.c has the table of heads. */
#include "host_head_input.h"
#include "host_activation.h"
#include "host_branch.h"
#include "host_buffers.h"
#include "host_grad.h"
#include "host_gradient.h"
#include "host_operands.h"
#include "host_row_blocks.h"
#include "host_sparse.h"

#include <wsc/mem.h>

#include <string.h>

/* ---- rows -------------------------------------------------------------------------------------
 */

enum wsc_err host_head_rows_create(struct host *k)
{
    const int64_t blocks = (model_longest(k->model) + HOST_BLOCK_ROWS - 1) / HOST_BLOCK_ROWS;
    for (int i = 0; i < k->model->n_heads; i++) {
        struct host_head_rows *r = &k->head_rows[i];
        if (k->model->head[i].rows == MODEL_ROWS_ALL) continue;
        TRY_NEW(r->row, WSC_MEM_KERNELS, k->max_rows + 1);
        TRY_NEW(r->leaf, WSC_MEM_KERNELS, k->max_samples + 1);
        TRY_NEW(r->block, WSC_MEM_KERNELS, k->max_samples * blocks + 1);
    }
    return WSC_OK;
}

void host_head_rows_destroy(struct host *k)
{
    for (int i = 0; i < MODEL_MAX_HEADS; i++) {
        if (!k->head_rows[i].row) continue;
        wsc_free(k->head_rows[i].row);
        wsc_free(k->head_rows[i].leaf);
        wsc_free(k->head_rows[i].block);
    }
}

/* Choose the rows of one leaf, and cut them into even blocks, which depend on their number
 * alone. */
static void cut_leaf(struct host *k, struct host_head_rows *r, enum model_rows rows,
                     const struct host_span *leaf)
{
    const int64_t first = r->n;
    for (int64_t i = leaf->row; i < leaf->row + leaf->n; i++) {
        const bool wanted = rows == MODEL_ROWS_FIRST ? i % k->T == 0 : k->batch->mask[i];
        if (wanted) r->row[r->n++] = i;
    }
    const int64_t n = r->n - first, n_blocks = (n + HOST_BLOCK_ROWS - 1) / HOST_BLOCK_ROWS;
    const int64_t each = n_blocks ? (n + n_blocks - 1) / n_blocks : 0;
    for (int64_t at = 0; at < n; at += each)
        r->block[r->n_blocks++] =
            (struct host_span){.row = first + at, .n = n - at < each ? n - at : each};
}

void host_head_rows_cut(struct host *k)
{
    for (int i = 0; i < k->model->n_heads; i++) {
        struct host_head_rows *r = &k->head_rows[i];
        r->n = r->n_blocks = 0;
        for (int64_t leaf = 0; r->row && leaf < k->n_leaves; leaf++) {
            const int64_t first = r->n;
            cut_leaf(k, r, k->model->head[i].rows, &k->leaf[leaf]);
            r->leaf[leaf] = (struct host_span){.row = first, .n = r->n - first};
        }
    }
}

void host_each_head_block(struct host *k,
                          void (*rows)(struct host *k, const struct host_span *b, int thread))
{
    const struct host_head_rows *r = host_head_rows(k);
    if (r->row)
        host_each_of(k, r->block, r->n_blocks, rows);
    else
        host_each_block(k, rows);
}

/* ---- forward ----------------------------------------------------------------------------------
 */

/* The rows that the head takes, numbered by the head; a gathered copy if these are not all rows. */
static float *rows_taken(const struct host *k)
{
    return host_head_rows(k)->row ? k->buffer[HOST_HEAD_X] : host_x(k, host_end(k->model));
}

/* Apply dropout to rows of the head; elements are numbered by their row and column in the
 * sample. */
static void drop(const struct host *k, const struct host_span *b, float *x, int thread)
{
    const int64_t C = k->model->C;
    for (int64_t i = b->row; host_head(k)->dropout > 0 && i < b->row + b->n; i++) {
        const int64_t row = host_head_row(k, i);
        host_drop(k, MODEL_DROP_TASK, row, row % k->T * C, x + i * C, C, thread);
    }
}

static void gather(const struct host *k, const struct host_span *b, int thread)
{
    const int64_t C = k->model->C;
    const float *x = host_x(k, host_end(k->model));
    if (!host_head_rows(k)->row) return;
    for (int64_t i = b->row; i < b->row + b->n; i++)
        memcpy(rows_taken(k) + i * C, x + host_head_row(k, i) * C, (size_t)C * sizeof *x);
    if (!host_head(k)->dense) drop(k, b, rows_taken(k), thread);
}

/* HOST_HEAD_ACT = function(in W' + bias). */
static void dense_rows(struct host *k, const struct host_span *b, int thread)
{
    const struct model_head *head = host_head(k);
    const int64_t C = k->model->C;
    const float *bias = k->stage.vector[head->dense + 1];
    const struct num_product shape = host_linear_shape(b->n, C, C);
    const struct host_lines at = {b->row, thread};
    float *pre = (float *)k->buffer[HOST_HEAD_PRE] + b->row * C;
    float *act = (float *)k->buffer[HOST_HEAD_ACT] + b->row * C;
    host_linear(k, &shape, host_at(k, k->buffer[HOST_HEAD_IN], b->row * C), head->dense, 0, &at,
                pre);
    for (int64_t i = 0; i < b->n; i++) {
        if (bias) num_add(pre + i * C, bias, C);
        host_function(head->function, act + i * C, pre + i * C, C);
    }
    drop(k, b, k->buffer[HOST_HEAD_ACT], thread);
}

/* True when dropout acts between the norm and the output layer of a head that takes all rows. */
static bool drops_normed(const struct host *k)
{
    const struct model_head *head = host_head(k);
    return k->training && head->dropout > 0 && !host_head_rows(k)->row && !head->dense;
}

static void drop_row(const struct host *k, int64_t row, float *x, int thread)
{
    const int64_t C = k->model->C;
    host_drop(k, MODEL_DROP_TASK, row, row % k->T * C, x, C, thread);
}

static void normed_dropped(struct host *k, const struct host_span *b, void *out, int thread)
{
    const int64_t C = k->model->C;
    float *row = host_thread(k, thread, HOST_ROW), *stats = host_head_stats(k);
    for (int64_t i = 0; i < b->n; i++) {
        const int64_t at = b->row + i;
        host_norm_row(k, host_head(k)->input_norm, row, rows_taken(k) + at * C, stats + 2 * at);
        drop_row(k, at, row, thread);
        host_to_operands(k, host_at(k, out, i * C), row, C);
    }
}

/* Convert the output of a norm, or without one the rows themselves, to operands. */
static void normed(struct host *k, const struct host_span *b, enum model_tensor_kind norm,
                   const float *x, float *stats, void *out, int thread)
{
    if (norm)
        host_norm_forward(k, b, norm, x, stats, out, thread);
    else
        host_to_operands(k, out, x + b->row * k->model->C, b->n * k->model->C);
}

void host_head_input(struct host *k, const struct host_span *b, void *out, bool again, int thread)
{
    const struct model_head *head = host_head(k);
    const int64_t C = k->model->C;
    if (drops_normed(k)) {
        normed_dropped(k, b, out, thread);
        return;
    }
    if (!host_head_rows(k)->row && !head->dense && head->input_norm && again) {
        host_norm_again(k, b, head->input_norm, rows_taken(k), host_head_stats(k), out, thread);
        return;
    }
    gather(k, b, thread);
    if (!head->dense) {
        normed(k, b, head->input_norm, rows_taken(k), host_head_stats(k), out, thread);
        return;
    }
    normed(k, b, head->input_norm, rows_taken(k), host_head_stats(k),
           host_at(k, k->buffer[HOST_HEAD_IN], b->row * C), thread);
    dense_rows(k, b, thread);
    normed(k, b, head->norm, k->buffer[HOST_HEAD_ACT], host_dense_stats(k), out, thread);
}

/* ---- backward ---------------------------------------------------------------------------------
 */

/* HOST_HEAD_DACT = gradient of the second norm's input. */
static void norm_rows_backward(struct host *k, const struct host_span *b, int thread)
{
    (void)thread;
    host_norm_backward(k, b, host_head(k)->norm, k->buffer[HOST_HEAD_ACT], host_dense_stats(k),
                       k->buffer[HOST_HEAD_DACT], true);
}

/* HOST_DXN = gradient of the dense layer's input, from that of its nonlinearity. */
static void dense_rows_backward(struct host *k, const struct host_span *b, int thread)
{
    const struct model_head *head = host_head(k);
    const int64_t C = k->model->C;
    float *dxn = k->buffer[HOST_DXN], *dact = head->norm ? k->buffer[HOST_HEAD_DACT] : dxn;
    const float *pre = k->buffer[HOST_HEAD_PRE];
    float *act = host_thread(k, thread, HOST_ROW), *dpre = host_thread(k, thread, HOST_ROW2);
    const struct host_lines at = {b->row, thread};
    const struct num_product shape = host_linear_back_shape(b->n, C, C);
    drop(k, b, dact, thread);
    for (int64_t i = b->row; i < b->row + b->n; i++) {
        host_function_backward(head->function, act, dpre, dact + i * C, pre + i * C, C);
        host_to_operands(k, host_at(k, k->buffer[HOST_HEAD_DPRE], i * C), dpre, C);
    }
    host_linear(k, &shape, host_at(k, k->buffer[HOST_HEAD_DPRE], b->row * C), head->dense, 0, &at,
                dxn + b->row * C);
}

static void dense_backward(struct host *k)
{
    const struct model_head *head = host_head(k);
    const int64_t C = k->model->C;
    const void *dpre = k->buffer[HOST_HEAD_DPRE];
    struct host_grad grad[2];
    if (head->norm) {
        host_each_head_block(k, norm_rows_backward);
        host_norm_grads(k, grad, head->norm, k->buffer[HOST_DXN], k->buffer[HOST_HEAD_ACT],
                        host_dense_stats(k));
        grad[0].span = grad[1].span = host_head_rows(k)->leaf;
        host_sum_grads(k, grad, 2);
    }
    host_each_head_block(k, dense_rows_backward);
    grad[0] = host_linear_grad(head->dense, C, C, dpre, C, k->buffer[HOST_HEAD_IN]);
    grad[1] = host_bias_grad(head->dense + 1, C, dpre, C);
    grad[0].span = grad[1].span = host_head_rows(k)->leaf;
    host_sum_grads(k, grad, 2);
}

/* Propagate the gradient through the first norm: to HOST_DRES, or for a head of some rows to its
 * own buffer. */
static void input_rows_backward(struct host *k, const struct host_span *b, int thread)
{
    const struct model_head *head = host_head(k);
    const bool some = host_head_rows(k)->row != NULL;
    const int64_t C = k->model->C;
    float *dx = k->buffer[some ? HOST_HEAD_DACT : HOST_DRES], *dxn = k->buffer[HOST_DXN];
    for (int64_t i = b->row; drops_normed(k) && i < b->row + b->n; i++)
        drop_row(k, i, dxn + i * C, thread);
    if (head->input_norm)
        host_norm_backward(k, b, head->input_norm, rows_taken(k), host_head_stats(k), dx, true);
    else
        memcpy(dx + b->row * C, (const float *)k->buffer[HOST_DXN] + b->row * C,
               (size_t)(b->n * C) * sizeof *dx);
    if (some && !head->dense) drop(k, b, dx, thread);
}

/* Add the gradients of the head's rows to their rows of the stream. */
static void scatter_rows(struct host *k, const struct host_span *b, int thread)
{
    const int64_t C = k->model->C;
    const float *dx = k->buffer[HOST_HEAD_DACT];
    (void)thread;
    for (int64_t i = b->row; i < b->row + b->n; i++)
        num_add((float *)k->buffer[HOST_DRES] + host_head_row(k, i) * C, dx + i * C, C);
}

void host_head_input_backward(struct host *k)
{
    const struct model_head *head = host_head(k);
    struct host_grad grad[2];
    if (head->dense) dense_backward(k);
    host_each_head_block(k, input_rows_backward);
    if (head->input_norm) {
        host_norm_grads(k, grad, head->input_norm, k->buffer[HOST_DXN], rows_taken(k),
                        host_head_stats(k));
        if (host_head_rows(k)->row) grad[0].span = grad[1].span = host_head_rows(k)->leaf;
        host_sum_grads(k, grad, 2);
    }
    if (!host_head_rows(k)->row) return;
    if (!k->head)
        memset(k->buffer[HOST_DRES], 0, (size_t)(k->n_rows * k->model->C) * sizeof(float));
    host_each_head_block(k, scatter_rows);
}
