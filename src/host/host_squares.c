// SPDX-License-Identifier: Apache-2.0
/* Sums the squares of each leaf's gradient. A block of a gradient gives one number for each leaf.
 * The blocks depend on the shapes of the tensors alone, so the sum over them has equal bits on
 * every thread and wafer. */
#include "host_squares.h"
#include "host_grad_blocks.h"
#include "host_gradient.h"
#include "host_layout.h"
#include "host_positions.h"
#include "host_state.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <string.h>

struct host_leaf_squares {
    double *of_leaf;  /* owned (max_samples) */
    double *of_block; /* owned (n_blocks, max_samples): of the current gradients */
    int64_t n_blocks; /* blocks that of_block has room for */
    float *head_rows; /* owned (max_rows, C): of a tied table, the head's gradient of the row of
                         each token of its leaf; NULL without one */
};

/* Upper limit of the number of blocks in the gradients of one list, which are some of a stage's
 * tensors. */
static int64_t most_blocks(const struct model *m)
{
    int64_t most = 1;
    for (int s = 0; s < m->n_stages; s++) {
        int64_t n = 0;
        for (int v = 0; v < m->stage[s].n_views; v++) {
            const struct model_tensor *t = &m->tensor[m->stage[s].view[v].tensor];
            const int64_t cols = t->n_dims == 2 ? t->shape[1] : 1;
            const int64_t rows = host_grad_block_rows(t->shape[0], cols);
            n += (t->shape[0] + rows - 1) / rows;
        }
        if (n > most) most = n;
    }
    return most;
}

enum wsc_err host_measure_leaves(struct host *k)
{
    struct host_leaf_squares *s;
    WSC_CHECK(k->training, "gradients of leaves without training");
    if (k->squares) return WSC_OK;
    TRY_NEW(s, WSC_MEM_KERNELS, 1);
    k->squares = s;
    s->n_blocks = most_blocks(k->model);
    TRY_NEW(s->of_leaf, WSC_MEM_KERNELS, k->max_samples + 1);
    TRY_NEW(s->of_block, WSC_MEM_KERNELS, s->n_blocks * (k->max_samples + 1));
    if (k->model->tied) TRY_NEW(s->head_rows, WSC_MEM_KERNELS, k->max_rows * k->model->C);
    return WSC_OK;
}

void host_squares_destroy(struct host *k)
{
    if (!k->squares) return;
    wsc_free(k->squares->of_leaf);
    wsc_free(k->squares->of_block);
    wsc_free(k->squares->head_rows);
    wsc_free(k->squares);
}

void host_squares_begin(struct host *k)
{
    memset(k->squares->of_leaf, 0, (size_t)k->n_leaves * sizeof(double));
}

const double *host_leaf_squares(const struct host *k)
{
    WSC_CHECK(k->squares, "leaves that were not measured");
    return k->squares->of_leaf;
}

void host_squares_expect(const struct host *k, int64_t n_items)
{
    WSC_CHECK(n_items <= k->squares->n_blocks, "%lld blocks of gradients, %lld expected",
              (long long)n_items, (long long)k->squares->n_blocks);
}

/* A tied table contributes the square of the sum of its two gradients: |a|^2 for the head's part
 * a, then |b|^2 + 2 a b for the embedding's part b. b has only the rows of the leaf's tokens, so
 * only those rows of a are stored. */
static void keep_head_rows(const struct host *k, const struct host_span *leaf, int64_t first_row,
                           int64_t n, const float *rows)
{
    const int64_t C = k->model->C;
    for (int64_t i = leaf->row; i < leaf->row + leaf->n; i++) {
        const int64_t row = k->batch->input_ids[i] - first_row;
        if (row >= 0 && row < n)
            memcpy(k->squares->head_rows + i * C, rows + row * C, (size_t)C * sizeof *rows);
    }
}

static double dot(const float *x, const float *y, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)y[i];
    return sum;
}

/* 2 a b: the part of b of each token times the row of a. */
static double twice_product(const struct host *k, const struct host_grad *g,
                            const struct host_span *leaf, int64_t first_row, int64_t n)
{
    const int64_t C = k->model->C;
    double sum = 0;
    for (int64_t i = leaf->row; i < leaf->row + leaf->n; i++) {
        const int64_t row = k->batch->input_ids[i] - first_row;
        if (row >= 0 && row < n)
            sum += (double)host_token_gradient(k, i) *
                   dot(k->squares->head_rows + i * C, (const float *)g->dy + i * C, C);
    }
    return 2 * sum;
}

/* Called by one thread for each (block, leaf), which has its own element of of_block. */
void host_squares_take(const struct host *k, const struct host_grad *g, int64_t leaf,
                       const struct host_squares_block *b, const float *rows)
{
    double sum = num_sum_squares(rows, b->n_elems);
    if (g->tied == HOST_TIED_HEAD)
        keep_head_rows(k, &k->leaf[leaf], g->first_row + b->r0, b->n, rows);
    if (g->tied == HOST_TIED_EMBED) sum += twice_product(k, g, &k->leaf[leaf], b->r0, b->n);
    k->squares->of_block[b->item * k->max_samples + leaf] = sum;
}

/* Added up in the order of the blocks, on one thread. */
void host_squares_add(const struct host *k, int64_t n_items)
{
    for (int64_t item = 0; item < n_items; item++)
        for (int64_t leaf = 0; leaf < k->n_leaves; leaf++)
            k->squares->of_leaf[leaf] += k->squares->of_block[item * k->max_samples + leaf];
}
