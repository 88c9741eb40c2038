// SPDX-License-Identifier: Apache-2.0
/* Computes low-rank adapters of the embeddings of tokens and positions, as the Model Zoo's
 * LoRA_Embedding: x_i = W_i + s B a_i with a_i a column of A. So dB = dx (s a)', and column i of
 * dA is the sum of s B' dx over the tokens that selected it, in their order. Operands have the
 * model's format, and a product belongs to one block of rows. host_adapter.c has the adapters of
 * linear layers. */
#include "host_table_adapter.h"
#include "host_adapter.h"
#include "host_buffers.h"
#include "host_grad.h"
#include "host_operands.h"
#include "host_positions.h"
#include "host_row_blocks.h"

#include <string.h>

static const enum model_tensor_kind tables[] = {MODEL_WTE, MODEL_WPE};
enum { N_TABLES = sizeof tables / sizeof *tables };

/* Row of the table that the token of row @p i selects. */
static int64_t taken_row(const struct host *k, enum model_tensor_kind kind, int64_t i)
{
    return kind == MODEL_WTE ? k->batch->input_ids[i] : host_table_row(k, i);
}

static float element(const struct host *k, const void *operands, int64_t i)
{
    float x;
    if (k->fp32) return ((const float *)operands)[i];
    num_widen(k->model->format, &x, host_const_at(k, operands, i), 1);
    return x;
}

/* s a (n, r) for a block of rows, as operands in a buffer of the thread. */
static const void *look_up(const struct host *k, enum model_tensor_kind kind,
                           const struct host_span *b, int thread)
{
    const struct model_adapter *adapter = &k->model->adapter[kind];
    const int64_t r = adapter->r, n_rows = k->stage.rows[kind];
    const void *a = k->stage.weight[MODEL_ADAPTER_A + kind];
    float *low = host_thread(k, thread, HOST_ADAPTED);
    for (int64_t i = 0; i < b->n; i++)
        for (int64_t j = 0; j < r; j++)
            low[i * r + j] =
                (float)adapter->scale * element(k, a, j * n_rows + taken_row(k, kind, b->row + i));
    if (k->fp32) return low;
    uint16_t *operands = host_thread(k, thread, HOST_ADAPTED_OP);
    host_narrow(k, operands, low, b->n * r);
    return operands;
}

const float *host_table_adapter_rows(const struct host *k, const struct host_span *b, int thread)
{
    float *wide = host_thread(k, thread, HOST_WIDE);
    int n = 0;
    for (int i = 0; i < N_TABLES; i++) {
        if (!host_has_adapter(k, tables[i])) continue;
        struct num_product shape =
            host_linear_shape(b->n, k->model->adapter[tables[i]].r, k->model->C);
        shape.beta = n++ ? 1 : 0;
        host_product(k, &shape, look_up(k, tables[i], b, thread),
                     k->stage.weight[MODEL_ADAPTER_B + tables[i]], wide);
    }
    return n ? wide : NULL;
}

/* Store s a and s B' dx of a block of rows for the gradients. */
static void narrow_rows(struct host *k, const struct host_span *b, int thread)
{
    const struct num_product out = host_linear_back_shape(b->n, 1, k->model->C);
    const void *dx = host_dres_operands(k, b);
    for (int i = 0; i < N_TABLES; i++) {
        if (!host_has_adapter(k, tables[i])) continue;
        host_adapter_store(k, HOST_ADAPTER_X, tables[i], b, look_up(k, tables[i], b, thread));
        host_adapter_store(k, HOST_ADAPTER_DY, tables[i], b,
                           host_adapter_narrow(k, &out, dx, tables[i], thread));
    }
}

/* Rows [r0, r0 + n) of the gradient of A for one leaf: each token adds to its column. */
static void lookup_leaf(const struct host *k, const struct host_grad *g,
                        const struct host_span *leaf, int64_t r0, int64_t n, float *dst)
{
    memset(dst, 0, (size_t)(n * g->cols) * sizeof *dst);
    for (int64_t i = leaf->row; i < leaf->row + leaf->n; i++) {
        float *column = dst + taken_row(k, model_base_kind(g->kind), i);
        for (int64_t j = 0; j < n; j++)
            column[j * g->cols] += element(k, g->dy, i * g->ld_dy + r0 + j);
    }
}

int host_table_adapter_grads(struct host *k, struct host_grad out[4])
{
    const int64_t C = k->model->C, columns = host_adapter_columns(k->model);
    const void *dx = k->buffer[k->fp32 ? HOST_DRES : HOST_DRES_OP];
    int n = 0;
    for (int i = 0; i < N_TABLES; i++) {
        const enum model_tensor_kind kind = tables[i];
        if (!host_has_adapter(k, kind)) continue;
        if (!n) host_each_block(k, narrow_rows);
        out[n++] = (struct host_grad){.kind = MODEL_ADAPTER_A + kind,
                                      .rows = k->model->adapter[kind].r,
                                      .cols = k->stage.rows[kind],
                                      .dy = host_adapter_column(k, HOST_ADAPTER_DY, kind),
                                      .ld_dy = columns,
                                      .leaf = lookup_leaf};
        out[n] = host_linear_grad(MODEL_ADAPTER_B + kind, C, k->model->adapter[kind].r, dx, C,
                                  host_adapter_column(k, HOST_ADAPTER_X, kind));
        out[n++].ld_x = columns;
    }
    return n;
}
