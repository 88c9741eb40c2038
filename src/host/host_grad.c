// SPDX-License-Identifier: Apache-2.0
/* Computes weight gradients: for each block of rows of a matrix the gradient of each leaf, and the
 * sum over leaves along the canonical tree (<wsc/num.h>). One thread computes a block, so values
 * do not depend on the number of threads or wafers. */
#include "host_grad.h"
#include "host_adapter.h"
#include "host_arranged.h"
#include "host_buffers.h"
#include "host_gradient.h"
#include "host_layout.h"
#include "host_operands.h"
#include "host_order.h"
#include "host_sparse.h"
#include "host_squares.h"
#include "host_state.h"

#include <wsc/check.h>
#include <wsc/num_math.h>

#include <string.h>

/* Gradients of one part, at most those of the projections to q, k, v: three matrices with biases,
 * three norms with biases, and two for the adapter of each matrix. */
enum { MAX_GRADS = 18 };

/* One block of one gradient while it is summed over leaves. */
struct block_sum {
    const struct host *k;
    const struct host_grad *grad;
    int64_t r0, n;   /**< rows of the block */
    int64_t n_elems; /**< of these rows, as transmitted */
    int64_t item;    /**< index among the blocks of the current list */
    int thread;
    float *scratch; /**< one partial sum per level */
};

/* Sum the squares of the block for one leaf. Only kept elements count, even if all are
 * transmitted. */
static void take_squares(const struct block_sum *s, int64_t leaf, const float *rows)
{
    struct host_squares_block b = {.r0 = s->r0, .n = s->n, .n_elems = s->n_elems, .item = s->item};
    rows = host_sparse_kept(s->k, s->grad, s->r0, rows, &b.n_elems, s->thread);
    host_squares_take(s->k, s->grad, leaf, &b, rows);
}

/* Sum along the canonical tree, by its recursive definition (<wsc/num.h>). */
static void sum_node(const struct block_sum *s, int level, int64_t index, float *dst)
{
    const struct host *k = s->k;
    if (level == 0) {
        const int64_t leaf = index - k->share.first_leaf;
        host_sparse_leaf(k, s->grad, leaf, s->r0, s->n, dst, s->thread);
        if (k->squares) take_squares(s, leaf, dst);
        return;
    }
    sum_node(s, level - 1, 2 * index, dst);
    if ((2 * index + 1) << (level - 1) >= k->share.n_leaves) return;
    float *right = s->scratch + (level - 1) * k->tree_stride;
    sum_node(s, level - 1, 2 * index + 1, right);
    num_add(dst, right, s->n_elems);
}

/* The view of the gradient's tensor in the stage. */
static int view_of(const struct host *k, const struct host_grad *g)
{
    return k->stage.view[g->kind] + (int)g->expert * k->stage.next_view[g->kind];
}

/* A list of gradients as work items: item i is one block of one gradient. */
struct work {
    const struct host *k;
    const struct host_grad *grad;
    int n;
    int64_t first_item[MAX_GRADS + 1];
};

/* Sum one block of one gradient over each canonical node of the share; each sum goes to its own
 * vector of the stage. */
static void sum_block(void *ctx, int64_t item, int thread)
{
    const struct work *w = ctx;
    const struct host *k = w->k;
    int i = 0;
    while (item >= w->first_item[i + 1])
        i++;
    const struct host_grad *g = &w->grad[i];
    int64_t rows = host_sparse_block_rows(k, g);
    int64_t r0 = (item - w->first_item[i]) * rows;
    int64_t n = g->rows - r0 < rows ? g->rows - r0 : rows;
    int64_t at = host_sparse_first(k, g, g->first_row + r0);
    int view = view_of(k, g);
    struct block_sum s = {.k = k,
                          .grad = g,
                          .r0 = r0,
                          .n = n,
                          .n_elems = host_sparse_first(k, g, g->first_row + r0 + n) - at,
                          .item = item,
                          .thread = thread,
                          .scratch = host_thread(k, thread, HOST_TREE)};
    float *first = k->stage.grads + k->first_grad[view] + at;
    for (int j = 0; j < k->nodes.n; j++)
        sum_node(&s, k->nodes.node[j].level, k->nodes.node[j].index, first + j * k->stage.n_grads);
}

/* True when the stage does not have the tensor, or it is frozen. */
static bool has_no_gradient(const struct host *k, const struct host_grad *g)
{
    const struct host_stage *s = &k->stage;
    if (s->view[g->kind] < 0) return true;
    return k->model->tensor[s->plan->view[view_of(k, g)].tensor].frozen;
}

/* Number of elements of a gradient, or of some of its rows, as transmitted. */
static int64_t elems_of(const struct host *k, const struct host_grad *g)
{
    return host_sparse_first(k, g, g->first_row + g->rows) - host_sparse_first(k, g, g->first_row);
}

/* The blocks of all gradients of the list are distributed to threads together, so that small
 * tensors do not wait for large ones. */
void host_sum_grads(struct host *k, const struct host_grad *list, int n_list)
{
    struct host_grad grad[MAX_GRADS], adapter[MAX_GRADS];
    int n = 0;
    const int n_adapters = host_adapter_grads(k, list, n_list, adapter);
    WSC_CHECK(n_list + n_adapters <= MAX_GRADS, "%d gradients of one part", n_list + n_adapters);
    for (int i = 0; i < n_list + n_adapters; i++) {
        const struct host_grad *g = i < n_list ? &list[i] : &adapter[i - n_list];
        if (!has_no_gradient(k, g)) grad[n++] = *g;
    }
    if (k->stage.weights)
        host_sparse_prepare(k, grad, n);
    else
        host_arrange_inputs(k, grad, n);
    struct work w = {.k = k, .grad = grad, .n = n};
    for (int i = 0; i < n; i++) {
        const struct host_grad *g = &grad[i];
        int64_t rows = host_sparse_block_rows(k, g);
        w.first_item[i + 1] = w.first_item[i] + (g->rows + rows - 1) / rows;
    }
    if (k->squares) host_squares_expect(k, w.first_item[n]);
    num_parallel(w.first_item[n], sum_block, &w);
    for (int i = 0; i < n; i++)
        k->grads_left[view_of(k, &grad[i])] -= elems_of(k, &grad[i]);
    if (k->squares) host_squares_add(k, w.first_item[n]);
}

/* Rows [r0, r0 + n) of dy' x over the leaf's tokens: one product, whose shape does not depend on
 * where the leaf is. */
static void linear_leaf(const struct host *k, const struct host_grad *g,
                        const struct host_span *leaf, int64_t r0, int64_t n, float *dst)
{
    if (!leaf->n) { /* a head takes none of its rows */
        memset(dst, 0, (size_t)(n * g->cols) * sizeof *dst);
        return;
    }
    struct num_product p = {.trans_a = true,
                            .m = n,
                            .n = g->cols,
                            .k = leaf->n,
                            .lda = g->ld_dy,
                            .ldb = g->ld_x,
                            .ldc = g->cols};
    host_product(k, &p, host_const_at(k, g->dy, leaf->row * g->ld_dy + r0),
                 host_const_at(k, g->x, leaf->row * g->ld_x), dst);
}

struct host_grad host_linear_grad(enum model_tensor_kind kind, int64_t rows, int64_t cols,
                                  const void *dy, int64_t ld_dy, const void *x)
{
    return (struct host_grad){.kind = kind,
                              .rows = rows,
                              .cols = cols,
                              .dy = dy,
                              .x = x,
                              .ld_dy = ld_dy,
                              .ld_x = cols,
                              .linear = true,
                              .leaf = linear_leaf};
}

/* Sums of dy over the leaf's tokens, in the order of the tokens. */
static void bias_leaf(const struct host *k, const struct host_grad *g, const struct host_span *leaf,
                      int64_t r0, int64_t n, float *dst)
{
    memset(dst, 0, (size_t)n * sizeof *dst);
    num_add_rows(k->model->format, dst, host_const_at(k, g->dy, leaf->row * g->ld_dy + r0), leaf->n,
                 g->ld_dy, n);
}

struct host_grad host_bias_grad(enum model_tensor_kind kind, int64_t n, const void *dy,
                                int64_t ld_dy)
{
    return (struct host_grad){
        .kind = kind, .rows = n, .cols = 1, .dy = dy, .ld_dy = ld_dy, .leaf = bias_leaf};
}

/* An expert's rows of a leaf, in the order of HOST_ORDER, are treated as a leaf. */
static void expert_linear_leaf(const struct host *k, const struct host_grad *g,
                               const struct host_span *leaf, int64_t r0, int64_t n, float *dst)
{
    struct host_span rows = host_expert_rows(k, leaf, g->expert);
    if (rows.n)
        linear_leaf(k, g, &rows, r0, n, dst);
    else
        memset(dst, 0, (size_t)(n * g->cols) * sizeof *dst);
}

static void expert_bias_leaf(const struct host *k, const struct host_grad *g,
                             const struct host_span *leaf, int64_t r0, int64_t n, float *dst)
{
    struct host_span rows = host_expert_rows(k, leaf, g->expert);
    bias_leaf(k, g, &rows, r0, n, dst);
}

struct host_grad host_expert_linear_grad(enum model_tensor_kind kind, int64_t expert, int64_t rows,
                                         int64_t cols, const void *dy, int64_t ld_dy, const void *x)
{
    struct host_grad g = host_linear_grad(kind, rows, cols, dy, ld_dy, x);
    g.expert = expert;
    g.linear = false;
    g.leaf = expert_linear_leaf;
    return g;
}

struct host_grad host_expert_bias_grad(enum model_tensor_kind kind, int64_t expert, int64_t n,
                                       const void *dy, int64_t ld_dy)
{
    struct host_grad g = host_bias_grad(kind, n, dy, ld_dy);
    g.expert = expert;
    g.leaf = expert_bias_leaf;
    return g;
}

/* dst += dy xhat of one row, xhat = (x - mean) rstd. */
NUM_CLONES static void add_normed(float *restrict dst, const float *restrict dy,
                                  const float *restrict x, const float stats[2], int64_t n)
{
    const float mean = stats[0], rstd = stats[1];
    for (int64_t c = 0; c < n; c++)
        dst[c] += dy[c] * ((x[c] - mean) * rstd);
}

/* Rows of a norm's input that belong to the rows of a leaf: one for each row, or one for each head
 * of a row. */
static struct host_span normed_rows(const struct host_grad *g, const struct host_span *leaf)
{
    const int64_t each = g->per_row ? g->per_row : 1;
    return (struct host_span){leaf->row * each, leaf->n * each};
}

/* d gain = sum over tokens of dy xhat. */
static void norm_weight_leaf(const struct host *k, const struct host_grad *g,
                             const struct host_span *leaf, int64_t r0, int64_t n, float *dst)
{
    const struct host_span rows = normed_rows(g, leaf);
    (void)k;
    memset(dst, 0, (size_t)n * sizeof *dst);
    for (int64_t i = rows.row; i < rows.row + rows.n; i++) {
        const float *dy = (const float *)g->dy + i * g->ld_dy + r0;
        const float *x = (const float *)g->x + i * g->ld_x + r0;
        add_normed(dst, dy, x, g->stats + 2 * i, n);
    }
}

static void norm_bias_leaf(const struct host *k, const struct host_grad *g,
                           const struct host_span *leaf, int64_t r0, int64_t n, float *dst)
{
    const struct host_span rows = normed_rows(g, leaf);
    (void)k;
    memset(dst, 0, (size_t)n * sizeof *dst);
    num_add_rows(NUM_FP32, dst, (const float *)g->dy + rows.row * g->ld_dy + r0, rows.n, g->ld_dy,
                 n);
}

void host_norm_grads(const struct host *k, struct host_grad out[2], enum model_tensor_kind weight,
                     const float *dy, const float *x, const float *stats)
{
    int64_t C = k->model->C;
    struct host_grad g = {.kind = weight,
                          .rows = C,
                          .cols = 1,
                          .dy = dy,
                          .x = x,
                          .ld_dy = C,
                          .ld_x = C,
                          .stats = stats,
                          .leaf = norm_weight_leaf};
    out[0] = g;
    g.kind = weight + 1;
    g.leaf = norm_bias_leaf;
    out[1] = g;
}
