// SPDX-License-Identifier: Apache-2.0
/* Arranges the weights of a part of a stage in the order in which the product library reads them
 * fastest, once for all blocks of rows of the micro-batch. This is done if a leaf has the rows of
 * a whole block. The choice depends on the model and the leaf alone, so a product is computed in
 * one way in every share. */
#include "host_arranged.h"
#include "host_buffers.h"
#include "host_grad_blocks.h"
#include "host_operands.h"

enum { MOST = 3 };

/* The matrices of each part that multiply activations, in both passes. A mixture of experts has
 * none; those of heads are arranged some rows at a time by host_arrange_rows(). */
static const struct matrices {
    int n;
    enum model_tensor_kind kind[MOST];
} part_matrices[] = {
    [MODEL_PART_QKV] = {3, {MODEL_Q_W, MODEL_K_W, MODEL_V_W}},
    [MODEL_PART_ATTN] = {1, {MODEL_O_W}},
    [MODEL_PART_CROSS_QKV] = {3, {MODEL_CROSS_Q_W, MODEL_CROSS_K_W, MODEL_CROSS_V_W}},
    [MODEL_PART_CROSS_ATTN] = {1, {MODEL_CROSS_O_W}},
    [MODEL_PART_FFN0] = {2, {MODEL_FFN0_W, MODEL_GLU_W}},
    [MODEL_PART_FFN1] = {1, {MODEL_FFN1_W}},
    [MODEL_PART_HEAD] = {0},
};
_Static_assert(MODEL_N_PARTS == 9, "a row for each part of a model");
enum { N_PARTS = sizeof part_matrices / sizeof *part_matrices };

/* Round up to whole cache lines. */
static int64_t aligned(int64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* Bytes of an arranged matrix (out, in) in either pass; INT64_MAX if they overflow. */
static int64_t bytes_of(const struct model *m, int64_t out, int64_t in)
{
    enum { PADDING = 64, ELEMENT = 4 };
    int64_t most;
    if (__builtin_mul_overflow(out + PADDING, (in + PADDING) * ELEMENT, &most)) return INT64_MAX;
    const int64_t forward = num_arranged_bytes(m->format, in, out);
    const int64_t backward = num_arranged_bytes(m->format, out, in);
    return aligned(forward > backward ? forward : backward);
}

static bool has_kind(const struct matrices *part, enum model_tensor_kind kind)
{
    for (int i = 0; i < part->n; i++)
        if (part->kind[i] == kind) return true;
    return false;
}

/* Bytes of the matrices of a part in a stage; INT64_MAX if they overflow. */
static int64_t bytes_of_part(const struct model *m, int stage, const struct matrices *part)
{
    int64_t sum = 0;
    for (int v = 0; v < m->stage[stage].n_views; v++) {
        const struct model_tensor *t = &m->tensor[m->stage[stage].view[v].tensor];
        if (has_kind(part, t->kind) &&
            __builtin_add_overflow(sum, bytes_of(m, t->shape[0], t->shape[1]), &sum))
            return INT64_MAX;
    }
    return sum;
}

int64_t host_arranged_bytes(const struct model *m, int64_t vocab_block)
{
    int64_t most = bytes_of(m, vocab_block, m->C);
    if (m->experts) return 0;
    for (int s = 0; s < m->n_stages; s++)
        for (int p = 0; p < N_PARTS; p++) {
            const int64_t bytes = bytes_of_part(m, s, &part_matrices[p]);
            most = bytes > most ? bytes : most;
        }
    return most;
}

static bool is_large(const struct host *k, int64_t rows_of_leaf)
{
    return rows_of_leaf >= (k->limits.arranged_rows ? k->limits.arranged_rows : HOST_BLOCK_ROWS);
}

/* Not in generation, whose products have another order of additions. */
static bool arranges(const struct host *k)
{
    return !k->cached && !k->model->experts && is_large(k, k->share.leaf_samples * k->T);
}

/* Arrange a matrix (out, in) of the stage, or some of its rows, at *@p at, and advance *@p at. */
static const void *arrange_matrix(struct host *k, const void *w, int64_t out, int64_t in,
                                  bool backward, char **at)
{
    const struct num_product p = backward ? host_linear_back_shape(HOST_BLOCK_ROWS, in, out)
                                          : host_linear_shape(HOST_BLOCK_ROWS, in, out);
    char *to = *at;
    if (!num_arranges(k->model->format, &p)) return NULL;
    num_arrange(k->model->format, &p, w, to);
    *at += bytes_of(k->model, out, in);
    return to;
}

void host_arrange(struct host *k, enum model_part part, bool backward)
{
    const struct matrices *list = &part_matrices[part];
    char *at = k->buffer[HOST_ARRANGED];
    for (int i = 0; i < MODEL_N_TENSOR_KINDS; i++)
        k->stage.arranged[i] = NULL;
    for (int i = 0; i < list->n && arranges(k); i++) {
        const enum model_tensor_kind kind = list->kind[i];
        const void *w = k->stage.weight[kind];
        if (w && !k->stage.sparse[kind])
            k->stage.arranged[kind] =
                arrange_matrix(k, w, k->stage.rows[kind], k->stage.cols[kind], backward, &at);
    }
}

void host_arrange_rows(struct host *k, enum model_tensor_kind kind, int64_t first, int64_t n,
                       bool backward)
{
    const int64_t in = k->model->C;
    char *at = k->buffer[HOST_ARRANGED];
    const void *w = host_const_at(k, k->stage.weight[kind], first * in);
    const bool worth_it = arranges(k) && k->model->head[k->head].rows == MODEL_ROWS_ALL;
    k->stage.arranged[kind] = worth_it ? arrange_matrix(k, w, n, in, backward, &at) : NULL;
}

/* ---- gradients of weights -------------------------------------------------------------------- */

/* The rows of an arranged leaf are padded to whole vectors of pairs of rows. */
enum { PADDED_ROWS = 32 };

static int64_t up_to_vectors(int64_t rows)
{
    return (rows + PADDED_ROWS - 1) / PADDED_ROWS * PADDED_ROWS;
}

/* Widest input of a linear layer. */
static int64_t widest_input(const struct model *m)
{
    int64_t most = 0;
    for (int i = 0; i < m->n_tensors; i++)
        if (m->tensor[i].n_dims == 2 && m->tensor[i].shape[1] > most) most = m->tensor[i].shape[1];
    return most;
}

static bool has_crowded_input(const struct model *m)
{
    for (int i = 0; i < m->n_tensors; i++)
        if (m->tensor[i].n_dims == 2 && num_is_crowded(m->tensor[i].shape[1])) return true;
    return false;
}

/* fp32 products of weight gradients use most inputs x unarranged. */
int64_t host_arranged_row_bytes(const struct model *m)
{
    if (m->format == NUM_FP32 && !has_crowded_input(m)) return 0;
    return num_arranged_bytes(m->format, PADDED_ROWS, widest_input(m)) / PADDED_ROWS;
}

int64_t host_arranged_rows(int64_t n_samples, int64_t T)
{
    int64_t rows, padding;
    if (__builtin_mul_overflow(n_samples + 1, (int64_t)PADDED_ROWS, &padding) ||
        __builtin_mul_overflow(n_samples, T, &rows) || __builtin_add_overflow(rows, padding, &rows))
        return INT64_MAX;
    return rows;
}

int64_t host_transposed_row_bytes(const struct model *m)
{
    int64_t most = 0;
    for (int i = 0; i < m->n_tensors && host_arranged_row_bytes(m); i++) {
        const struct model_tensor *t = &m->tensor[i];
        const int64_t rows = t->n_dims == 2 ? host_grad_block_rows(t->shape[0], t->shape[1]) : 0;
        most = rows > most ? rows : most;
    }
    return (m->format == NUM_FP32 ? num_row_stride(most) : most) * num_format_bytes(m->format);
}

/* Address of the leaf in HOST_ARRANGED_X. */
static void *arranged_input(const struct host *k, const struct host_grad *g, int64_t leaf)
{
    const int64_t rows = up_to_vectors(host_grad_span(k, g, leaf)->row) + leaf * PADDED_ROWS;
    return (char *)k->buffer[HOST_ARRANGED_X] + num_arranged_bytes(k->model->format, rows, g->cols);
}

/* The product of rows of dy, transposed to (n, tokens), with x. In fp32 dy is not transposed; its
 * columns are copied to rows with another stride. */
static struct num_product gradient_shape(const struct host *k, const struct host_grad *g,
                                         int64_t n_tokens, int64_t n)
{
    return (struct num_product){.trans_a = k->fp32,
                                .m = n,
                                .n = g->cols,
                                .k = n_tokens,
                                .lda = k->fp32 ? num_row_stride(n) : n_tokens,
                                .ldb = g->ld_x,
                                .ldc = g->cols};
}

static bool arranges_leaf(const struct host *k, const struct host_grad *g, int64_t leaf)
{
    const int64_t n_tokens = host_grad_span(k, g, leaf)->n;
    const struct num_product p = gradient_shape(k, g, n_tokens, 1);
    return is_large(k, n_tokens) && num_arranges(k->model->format, &p);
}

/* Arrange the input of the first linear layer of the list, and mark all layers that share it. */
void host_arrange_inputs(struct host *k, struct host_grad *grad, int n)
{
    const struct host_grad *first = NULL;
    for (int i = 0; i < n && k->buffer[HOST_ARRANGED_X]; i++) {
        if (!grad[i].linear) continue;
        if (!first) first = &grad[i];
        grad[i].arranged = grad[i].x == first->x && grad[i].cols == first->cols &&
                           grad[i].ld_x == first->ld_x && grad[i].span == first->span;
    }
    for (int64_t leaf = 0; first && leaf < k->n_leaves; leaf++) {
        const struct host_span *rows = host_grad_span(k, first, leaf);
        const struct num_product p = gradient_shape(k, first, rows->n, 1);
        if (arranges_leaf(k, first, leaf))
            num_arrange(k->model->format, &p, host_const_at(k, first->x, rows->row * first->ld_x),
                        arranged_input(k, first, leaf));
    }
}

bool host_arranged_leaf(const struct host *k, const struct host_grad *g, int64_t leaf, int64_t r0,
                        int64_t n, float *dst, int thread)
{
    if (!g->arranged || !arranges_leaf(k, g, leaf)) return false;
    const struct host_span *rows = host_grad_span(k, g, leaf);
    const struct num_product p = gradient_shape(k, g, rows->n, n);
    void *transposed = host_thread(k, thread, HOST_TRANSPOSED);
    const void *dy = host_const_at(k, g->dy, rows->row * g->ld_dy + r0);
    if (k->fp32)
        num_set_apart(transposed, dy, g->ld_dy, rows->n, n);
    else
        num_transpose_16(transposed, rows->n, dy, g->ld_dy, rows->n, n);
    return num_gemm_arranged(k->model->format, &p, transposed, arranged_input(k, g, leaf), dst);
}
