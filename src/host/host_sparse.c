// SPDX-License-Identifier: Apache-2.0
/* Prepares weights with masks. A matrix with few non-zeros is sorted when its stage arrives; its
 * products and its gradient leave the zeros out (<wsc/num_sparse.h>). Any other tensor with a mask
 * is expanded with zeros and multiplied as a dense one; the kept elements of its gradient are
 * gathered. Number format and density alone decide, never a measurement, so values do not depend on
 * the machine (docs/decisions/0026-sparse-products.md). Only memory is kept from stage to stage.
 * Called by host.c and host_grad.c. */
#include "host_sparse.h"
#include "host_arranged.h"
#include "host_grad_blocks.h"

#include "host_layout.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <string.h>

struct host_sparse {
    struct num_sparse *matrix[MODEL_N_TENSOR_KINDS]; /* owned, made on first use */
    bool loaded[MODEL_N_TENSOR_KINDS];               /* for the current stage */
    bool samples[MODEL_N_TENSOR_KINDS];              /* its gradient is sampled too */
    const void **dense; /* owned (views): tensors of the current stage; NULL for a sorted matrix */
    void *expanded;     /* owned, operands (longest stage) */
    float *panel;       /* owned (panel_size): transposed inputs of the current gradients */
    int64_t panel_size;
    float *leaf; /* owned (threads, leaf_stride): one block of a dense gradient */
    int64_t leaf_stride;
};

/* Largest densities at which a product, or a gradient, without zeros is faster than the dense one;
 * measured by benchmarks/sparse_products.c on a processor with AVX-512. */
static double most_dense(enum num_format format)
{
    return num_multiplies_16(format) ? 0.3 : 0.55;
}

static double most_dense_gradient(enum num_format format)
{
    return num_multiplies_16(format) ? 0.2 : 0.5;
}

/* NULL for the linear layers of a block with one feed-forward network, whose products leave zeros
 * out; for other kinds the reason why they do not. */
static const char *reason_of_kind(const struct model *m, enum model_tensor_kind kind)
{
    switch ((int)kind) {
    case MODEL_Q_W:
    case MODEL_K_W:
    case MODEL_V_W:
    case MODEL_O_W:
        return NULL;
    case MODEL_FFN0_W:
    case MODEL_GLU_W:
    case MODEL_FFN1_W:
        return m->experts ? "an expert has few rows, other ones in each step" : NULL;
    case MODEL_ROUTER_W:
        return "a router has few outputs";
    case MODEL_WTE:
    case MODEL_LM_HEAD_W:
        return "an embedding or output layer is multiplied in pieces of its rows";
    default:
        return "it takes part in no matrix product";
    }
}

/* Density that is compared with these limits. It is doubled for a small matrix, for which
 * transposing the tokens costs relatively more. */
static double weighed_density(const struct model_tensor *t, int64_t n_kept)
{
    enum { SMALL = 1 << 18 };
    return (double)n_kept / (double)t->n_elems * (t->n_elems < SMALL ? 2 : 1);
}

const char *host_dense_reason(const struct model *model, int tensor, int64_t n_kept)
{
    const struct model_tensor *t = &model->tensor[tensor];
    const char *reason = reason_of_kind(model, t->kind);
    if (reason) return reason;
    return weighed_density(t, n_kept) <= most_dense(model->format)
               ? NULL
               : "at this size and density a dense product is faster";
}

static enum wsc_err create(struct host *k)
{
    const struct model *m = k->model;
    int n_views = 0;
    int64_t n_elems = 0; /* of the longest stage */
    if (k->sparse) return WSC_OK;
    for (int s = 0; s < m->n_stages; s++) {
        if (m->stage[s].n_views > n_views) n_views = m->stage[s].n_views;
        if (m->stage[s].n_elems > n_elems) n_elems = m->stage[s].n_elems;
    }
    struct host_sparse *own;
    TRY_NEW(own, WSC_MEM_KERNELS, 1);
    k->sparse = own;
    TRY_NEW(own->dense, WSC_MEM_KERNELS, n_views);
    own->expanded =
        wsc_alloc_raw(WSC_MEM_KERNELS, (size_t)n_elems, (size_t)num_format_bytes(m->format));
    if (!own->expanded) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "expand weights");
    if (!k->training) return WSC_OK;
    own->leaf_stride = host_grad_block_max(m);
    TRY_NEW(own->leaf, WSC_MEM_KERNELS, k->n_threads * own->leaf_stride);
    return WSC_OK;
}

void host_sparse_destroy(struct host *k)
{
    struct host_sparse *own = k->sparse;
    if (!own) return;
    for (int i = 0; i < MODEL_N_TENSOR_KINDS; i++)
        num_sparse_destroy(&own->matrix[i]);
    wsc_free(own->dense);
    wsc_free(own->expanded);
    wsc_free(own->panel);
    wsc_free(own->leaf);
    wsc_free(own);
    k->sparse = NULL;
}

/* ---- a stage arrives ------------------------------------------------------------------------- */

static struct num_packed packed_of(const struct model_weights *w, const struct model_tensor *t)
{
    return (struct num_packed){.rows = t->shape[0],
                               .cols = t->n_dims == 2 ? t->shape[1] : 1,
                               .bits = w->bits,
                               .values = w->values,
                               .n_kept = w->n_kept};
}

static enum wsc_err load_matrix(struct host *k, const struct model_weights *w,
                                const struct model_tensor *t, bool backward)
{
    struct host_sparse *own = k->sparse;
    const struct num_packed packed = packed_of(w, t);
    if (!own->matrix[t->kind]) TRY(num_sparse_create(&own->matrix[t->kind]));
    TRY(num_sparse_load(own->matrix[t->kind], &packed, k->model->format, backward));
    own->loaded[t->kind] = true;
    own->samples[t->kind] = backward && !w->dense_gradient &&
                            weighed_density(t, w->n_kept) <= most_dense_gradient(k->model->format);
    return WSC_OK;
}

/* Expand a tensor. Experts must lie at a constant distance, as in a dense vector of the stage, so
 * all of them are expanded, also those without masks. */
static enum wsc_err load_dense(struct host *k, const struct model_stage *plan, int v,
                               const struct model_weights *w)
{
    struct host_sparse *own = k->sparse;
    const struct model_tensor *t = &k->model->tensor[plan->view[v].tensor];
    const int64_t bytes = num_format_bytes(k->model->format);
    if (!w->bits && t->expert < 0) {
        own->dense[v] = w->values;
        return WSC_OK;
    }
    void *to = (char *)own->expanded + plan->view[v].offset * bytes;
    const struct num_packed packed = packed_of(w, t);
    own->dense[v] = to;
    if (w->bits)
        num_packed_expand(k->model->format, &packed, to);
    else
        memcpy(to, w->values, (size_t)(t->n_elems * bytes));
    return WSC_OK;
}

enum wsc_err host_sparse_load(struct host *k, int stage, const struct model_weights *weights,
                              bool backward)
{
    const struct model_stage *plan = &k->model->stage[stage];
    TRY(create(k));
    struct host_sparse *own = k->sparse;
    WSC_CHECK(own, "masks without room");
    memset(own->loaded, 0, sizeof own->loaded);
    memset(own->samples, 0, sizeof own->samples);
    for (int v = 0; v < plan->n_views; v++) {
        const struct model_weights *w = &weights[v];
        const struct model_tensor *t = &k->model->tensor[plan->view[v].tensor];
        own->dense[v] = NULL;
        if (w->bits && !host_dense_reason(k->model, plan->view[v].tensor, w->n_kept))
            TRY(load_matrix(k, w, t, backward));
        else
            TRY(load_dense(k, plan, v, w));
    }
    return WSC_OK;
}

const void *host_sparse_dense(const struct host *k, int v)
{
    return k->sparse->dense[v];
}

const struct num_sparse *host_sparse_matrix(const struct host *k, enum model_tensor_kind kind)
{
    return k->sparse->loaded[kind] ? k->sparse->matrix[kind] : NULL;
}

/* ---- gradients ------------------------------------------------------------------------------- */

/* Weights of the gradient's tensor as they arrived; NULL when the stage has no masks. */
static const struct model_weights *weights_of(const struct host *k, const struct host_grad *g)
{
    if (!k->stage.weights) return NULL;
    return &k->stage.weights[k->stage.view[g->kind] + g->expert * k->stage.next_view[g->kind]];
}

/* The mask of a gradient's tensor; NULL when its gradient has all elements. */
static const struct model_weights *mask_of(const struct host *k, const struct host_grad *g)
{
    const struct model_weights *w = weights_of(k, g);
    return w && w->bits && !w->dense_gradient ? w : NULL;
}

/* True when only the kept elements of the gradient are computed. */
static bool is_sampled(const struct host *k, const struct host_grad *g)
{
    return k->stage.weights && k->sparse->samples[g->kind];
}

/* A block of many rows reads the inputs from the cache more often; the size of blocks does not
 * change values. */
int64_t host_sparse_block_rows(const struct host *k, const struct host_grad *g)
{
    enum { SAMPLED_ROWS = 512 };
    return is_sampled(k, g) ? SAMPLED_ROWS : host_grad_block_rows(g->rows, g->cols);
}

int64_t host_sparse_first(const struct host *k, const struct host_grad *g, int64_t row)
{
    const struct model_weights *w = mask_of(k, g);
    if (!w) return row * g->cols;
    if (is_sampled(k, g)) return num_sparse_first(k->stage.sparse[g->kind], row);
    return num_packed_count(w->bits, 0, row * g->cols);
}

/* Each leaf begins a new block of 64 tokens in the panel, so that its sums do not depend on other
 * leaves. */
static int64_t panel_block(const struct host *k, const struct host_grad *g, int64_t leaf)
{
    return host_grad_span(k, g, leaf)->row / NUM_SPARSE_TOKENS + leaf;
}

struct panels {
    const struct host *k;
    const struct host_grad *g;
};

static void fill_panel(void *ctx, int64_t leaf, int thread)
{
    const struct panels *p = ctx;
    const struct host *k = p->k;
    const struct host_span *rows = host_grad_span(k, p->g, leaf);
    const void *x = host_const_at(k, p->g->x, rows->row * p->g->ld_x);
    (void)thread;
    num_sparse_panel(k->model->format, x, rows->n, p->g->cols, p->g->ld_x,
                     k->sparse->panel +
                         panel_block(k, p->g, leaf) * NUM_SPARSE_TOKENS * p->g->cols);
}

/* Allocate partial sums for sampled gradients, whose blocks can be larger than those of dense
 * ones. */
static void reserve_sums(struct host *k, const struct host_grad *g)
{
    const int64_t rows = host_sparse_block_rows(k, g);
    int64_t most = 0;
    for (int64_t r0 = 0; r0 < g->rows; r0 += rows) {
        const int64_t end = r0 + rows < g->rows ? r0 + rows : g->rows;
        const int64_t n = host_sparse_first(k, g, end) - host_sparse_first(k, g, r0);
        if (n > most) most = n;
    }
    if (most <= k->tree_stride) return;
    for (int t = 0; t < k->n_threads; t++) {
        void **tree = &k->thread_buffer[t * HOST_N_THREAD_BUFFERS + HOST_TREE];
        const int64_t n = host_tree_levels(k->max_samples) * most;
        wsc_free(*tree);
        *tree = wsc_alloc_raw(WSC_MEM_KERNELS, (size_t)n, sizeof(float));
        WSC_CHECK(*tree, "no memory for sums of %lld gradients", (long long)most);
    }
    k->tree_stride = most;
}

static void reserve_panel(struct host_sparse *own, int64_t size)
{
    if (size <= own->panel_size) return;
    wsc_free(own->panel);
    own->panel = wsc_alloc_raw(WSC_MEM_KERNELS, (size_t)size, sizeof *own->panel);
    WSC_CHECK(own->panel, "no memory for %lld transposed activations", (long long)size);
    own->panel_size = size;
}

/* The sampled gradients of a list share one input. */
void host_sparse_prepare(struct host *k, const struct host_grad *grad, int n)
{
    const struct host_grad *sampled = NULL;
    for (int i = 0; i < n; i++) {
        if (k->stage.view[grad[i].kind] < 0 || !is_sampled(k, &grad[i])) continue;
        WSC_CHECK(!sampled || grad[i].x == sampled->x, "gradients of several inputs at once");
        sampled = &grad[i];
        reserve_sums(k, sampled);
    }
    if (!sampled) return;
    struct panels p = {k, sampled};
    const int64_t n_tokens = (k->n_rows / NUM_SPARSE_TOKENS + k->n_leaves) * NUM_SPARSE_TOKENS;
    reserve_panel(k->sparse, num_sparse_panel_size(n_tokens, sampled->cols));
    num_parallel(k->n_leaves, fill_panel, &p);
}

static void sampled_leaf(const struct host *k, const struct host_grad *g, int64_t leaf, int64_t r0,
                         int64_t n, float *dst)
{
    const struct host_span *rows = host_grad_span(k, g, leaf);
    const int64_t block = panel_block(k, g, leaf);
    const struct num_sparse_outer outer = {.first_row = r0,
                                           .n_rows = n,
                                           .n_tokens = rows->n,
                                           .dy = host_const_at(k, g->dy, rows->row * g->ld_dy + r0),
                                           .ld_dy = g->ld_dy,
                                           .x = k->sparse->panel +
                                                block * NUM_SPARSE_TOKENS * g->cols};
    num_sparse_gradient(k->model->format, k->stage.sparse[g->kind], &outer, dst);
}

void host_sparse_leaf(const struct host *k, const struct host_grad *g, int64_t leaf, int64_t r0,
                      int64_t n, float *dst, int thread)
{
    const struct model_weights *w = mask_of(k, g);
    if (!w) {
        if (host_arranged_leaf(k, g, leaf, r0, n, dst, thread)) return;
        g->leaf(k, g, host_grad_span(k, g, leaf), r0, n, dst);
    } else if (is_sampled(k, g)) {
        sampled_leaf(k, g, leaf, r0, n, dst);
    } else {
        float *block = k->sparse->leaf + thread * k->sparse->leaf_stride;
        g->leaf(k, g, host_grad_span(k, g, leaf), r0, n, block);
        num_packed_gather(w->bits, (g->first_row + r0) * g->cols, n * g->cols, block, dst);
    }
}

const float *host_sparse_kept(const struct host *k, const struct host_grad *g, int64_t r0,
                              const float *rows, int64_t *n, int thread)
{
    const struct model_weights *w = weights_of(k, g);
    if (!w || !w->bits || !w->dense_gradient) return rows;
    float *kept = k->sparse->leaf + thread * k->sparse->leaf_stride;
    const int64_t first = (g->first_row + r0) * g->cols;
    num_packed_gather(w->bits, first, *n, rows, kept);
    *n = num_packed_count(w->bits, first, *n);
    return kept;
}
