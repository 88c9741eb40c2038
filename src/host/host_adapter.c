// SPDX-License-Identifier: Apache-2.0
/* Computes low-rank adapters on the host (Hu et al. 2021): y = W x + s B A x with s = alpha / r,
 * so that dx += s A' B' dy, dB = dy (s A x)', dA = (s B' dy) x'. As in all products, operands have
 * the model's format, and a product belongs to one block of rows, so values depend on the leaf
 * alone. Dropout acts on the x of A; it is a function of seed, step, sample, layer, matrix and
 * element. Called by host_linear() (host_sparse.h) and host_sum_grads() (host_grad.c). */
#include "host_adapter.h"
#include "host_buffers.h"
#include "host_operands.h"

#include <wsc/rng.h>

/* ---- columns --------------------------------------------------------------------------------- */

/* Number of inputs of a matrix of a block. */
static int64_t input_width(const struct model *m, int kind)
{
    if (kind == MODEL_O_W) return model_q_features(m);
    return kind == MODEL_FFN1_W ? m->F : m->C;
}

/* First column of the adapter of @p kind, in buffers with the ranks of all adapters. */
static int64_t column_of(const struct model *m, int kind)
{
    int64_t sum = 0;
    for (int i = 0; i < kind; i++)
        sum += m->adapter[i].r;
    return sum;
}

static int64_t dropped_column_of(const struct model *m, int kind)
{
    int64_t sum = 0;
    for (int i = 0; i < kind; i++)
        if (m->adapter[i].dropout > 0) sum += input_width(m, i);
    return sum;
}

int64_t host_adapter_columns(const struct model *m)
{
    return column_of(m, MODEL_N_KINDS);
}

int64_t host_adapter_dropped_columns(const struct model *m)
{
    return dropped_column_of(m, MODEL_N_KINDS);
}

int64_t host_adapter_rank(const struct model *m)
{
    int64_t most = 0;
    for (int i = 0; i < MODEL_N_KINDS; i++)
        if (m->adapter[i].r > most) most = m->adapter[i].r;
    return most;
}

int64_t host_adapter_dropped_width(const struct model *m)
{
    int64_t most = 0;
    for (int i = 0; i < MODEL_N_KINDS; i++)
        if (m->adapter[i].dropout > 0 && input_width(m, i) > most) most = input_width(m, i);
    return most;
}

/* ---- dropout --------------------------------------------------------------------------------- */

static bool drops(const struct host *k, enum model_tensor_kind kind)
{
    return k->training && !k->stage.reference && k->model->adapter[kind].dropout > 0;
}

/* Multiply the n values of row @p row (of the share) by 0 or 1 / (1 - rate). */
static void drop_row(const struct host *k, enum model_tensor_kind kind, int64_t row, float *x,
                     int64_t n, int thread)
{
    const struct model_dropout drop = model_adapter_dropout(k->model, k->stage.layer, kind);
    const int64_t T = k->T;
    const int64_t sample = k->share.first_leaf * k->share.leaf_samples + row / T;
    uint32_t *word = host_thread(k, thread, HOST_WORDS);
    wsc_rng_words(word, k->dropout_seed, model_dropout_stream(&drop, sample),
                  (uint64_t)(row % T * n), n);
    for (int64_t i = 0; i < n; i++)
        x[i] = word[i] < drop.below ? 0 : x[i] * drop.factor;
}

/* Copy rows of operands with dropout to @p out, whose row stride is @p ld_out. */
static void drop_operands(const struct host *k, enum model_tensor_kind kind,
                          const struct num_product *p, const void *x, const struct host_lines *at,
                          void *out, int64_t ld_out)
{
    float *row = host_thread(k, at->thread, HOST_ADAPTED_ROW);
    for (int64_t i = 0; i < p->m; i++) {
        const void *from = host_const_at(k, x, i * p->lda);
        if (k->fp32)
            memcpy(row, from, (size_t)p->k * sizeof *row);
        else
            num_widen(k->model->format, row, from, p->k);
        drop_row(k, kind, at->row + i, row, p->k, at->thread);
        host_to_operands(k, host_at(k, out, i * ld_out), row, p->k);
    }
}

/* ---- products -------------------------------------------------------------------------------- */

static const void *matrix(const struct host *k, int first, enum model_tensor_kind kind)
{
    return k->stage.weight[first + (int)kind];
}

const void *host_adapter_narrow(const struct host *k, const struct num_product *p, const void *a,
                                enum model_tensor_kind kind, int thread)
{
    const struct model_adapter *adapter = &k->model->adapter[kind];
    float *low = host_thread(k, thread, HOST_ADAPTED);
    struct num_product shape = p->trans_b ? host_linear_shape(p->m, p->k, adapter->r)
                                          : host_linear_back_shape(p->m, adapter->r, p->k);
    shape.lda = p->lda;
    host_product(k, &shape, a, matrix(k, p->trans_b ? MODEL_ADAPTER_A : MODEL_ADAPTER_B, kind),
                 low);
    num_scale(low, (float)adapter->scale, p->m * adapter->r);
    if (k->fp32) return low;
    void *operands = host_thread(k, thread, HOST_ADAPTED_OP);
    host_narrow(k, operands, low, p->m * adapter->r);
    return operands;
}

/* Add to dx the gradient that comes through an adapter whose input had dropout; it goes through
 * the same dropout. */
static void add_dropped(const struct host *k, const struct num_product *shape, const void *low,
                        enum model_tensor_kind kind, const struct host_lines *at, float *c)
{
    float *wide = host_thread(k, at->thread, HOST_ADAPTED_WIDE);
    struct num_product own = *shape;
    own.beta = 0;
    own.ldc = shape->n;
    host_product(k, &own, low, matrix(k, MODEL_ADAPTER_A, kind), wide);
    for (int64_t i = 0; i < shape->m; i++) {
        drop_row(k, kind, at->row + i, wide + i * shape->n, shape->n, at->thread);
        num_add(c + i * shape->ldc, wide + i * shape->n, shape->n);
    }
}

void host_adapter_add(const struct host *k, const struct num_product *p, const void *a,
                      enum model_tensor_kind kind, const struct host_lines *at, float *c)
{
    const int64_t r = k->model->adapter[kind].r;
    struct num_product shape =
        p->trans_b ? host_linear_shape(p->m, r, p->n) : host_linear_back_shape(p->m, p->n, r);
    struct num_product in = *p;
    shape.ldc = p->ldc;
    shape.beta = 1;
    if (p->trans_b && drops(k, kind)) {
        void *dropped = host_thread(k, at->thread, HOST_ADAPTED_IN);
        drop_operands(k, kind, p, a, at, dropped, p->k);
        a = dropped;
        in.lda = p->k;
    }
    const void *low = host_adapter_narrow(k, &in, a, kind, at->thread);
    if (p->trans_b)
        host_product(k, &shape, low, matrix(k, MODEL_ADAPTER_B, kind), c);
    else if (drops(k, kind))
        add_dropped(k, &shape, low, kind, at, c);
    else
        host_product(k, &shape, low, matrix(k, MODEL_ADAPTER_A, kind), c);
}

/* ---- gradients ------------------------------------------------------------------------------- */

/* Arguments for computing s A x and s B' dy of all rows, for the gradients of one adapter. */
struct sides {
    const struct host *k;
    const struct host_grad *g; /* of the matrix */
    const void *x;             /* input of A: that of the matrix, or its copy after dropout */
    int64_t ld_x;
};

void *host_adapter_column(const struct host *k, enum host_buffer of, enum model_tensor_kind kind)
{
    return host_at(k, k->buffer[of], column_of(k->model, (int)kind));
}

void host_adapter_store(const struct host *k, enum host_buffer to, enum model_tensor_kind kind,
                        const struct host_span *b, const void *low)
{
    const int64_t r = k->model->adapter[kind].r, columns = host_adapter_columns(k->model);
    const int64_t column = column_of(k->model, (int)kind);
    for (int64_t i = 0; i < b->n; i++)
        memcpy(host_at(k, k->buffer[to], (b->row + i) * columns + column),
               host_const_at(k, low, i * r), (size_t)(r * num_format_bytes(k->model->format)));
}

static void fill_block(void *ctx, int64_t i, int thread)
{
    const struct sides *s = ctx;
    const struct host *k = s->k;
    const struct host_grad *g = s->g;
    const struct host_span *b = &k->block[i];
    const struct host_lines at = {b->row, thread};
    struct num_product in = host_linear_shape(b->n, g->cols, g->rows);
    struct num_product out = host_linear_back_shape(b->n, g->cols, g->rows);
    const void *x = host_const_at(k, g->x, b->row * g->ld_x);
    in.lda = g->ld_x;
    out.lda = g->ld_dy;
    if (drops(k, g->kind)) {
        void *dropped = host_at(k, (void *)(uintptr_t)s->x, b->row * s->ld_x);
        drop_operands(k, g->kind, &in, x, &at, dropped, s->ld_x);
        x = dropped;
        in.lda = s->ld_x;
    }
    host_adapter_store(k, HOST_ADAPTER_X, g->kind, b,
                       host_adapter_narrow(k, &in, x, g->kind, thread));
    host_adapter_store(
        k, HOST_ADAPTER_DY, g->kind, b,
        host_adapter_narrow(k, &out, host_const_at(k, g->dy, b->row * g->ld_dy), g->kind, thread));
}

static void adapter_grads(struct host *k, const struct host_grad *g, struct host_grad out[2])
{
    const int64_t r = k->model->adapter[g->kind].r, columns = host_adapter_columns(k->model);
    const int64_t column = column_of(k->model, (int)g->kind);
    struct sides s = {.k = k, .g = g, .x = g->x, .ld_x = g->ld_x};
    if (drops(k, g->kind)) {
        s.ld_x = host_adapter_dropped_columns(k->model);
        s.x =
            host_at(k, k->buffer[HOST_ADAPTER_DROPPED], dropped_column_of(k->model, (int)g->kind));
    }
    num_parallel(k->n_blocks, fill_block, &s);
    out[0] = out[1] = *g; /* dy' x over the leaf's rows, as of the matrix */
    out[0].kind = MODEL_ADAPTER_A + g->kind;
    out[0].rows = r;
    out[0].dy = host_at(k, k->buffer[HOST_ADAPTER_DY], column);
    out[0].ld_dy = columns;
    out[0].x = s.x;
    out[0].ld_x = s.ld_x;
    out[1].kind = MODEL_ADAPTER_B + g->kind;
    out[1].cols = r;
    out[1].x = host_at(k, k->buffer[HOST_ADAPTER_X], column);
    out[1].ld_x = columns;
}

int host_adapter_grads(struct host *k, const struct host_grad *grad, int n, struct host_grad *out)
{
    int found = 0;
    for (int i = 0; i < n; i++) {
        if (grad[i].kind >= MODEL_N_KINDS || !host_has_adapter(k, grad[i].kind)) continue;
        if (model_is_table(grad[i].kind) || grad[i].kind == MODEL_LM_HEAD_W) continue;
        adapter_grads(k, &grad[i], out + found);
        found += 2;
    }
    return found;
}

/* ---- the output layer ------------------------------------------------------------------------ */

/* The output layer is processed in blocks of columns: rows of B; all of A in each. */

static const enum model_tensor_kind output = MODEL_LM_HEAD_W;

static const void *rows_of_b(const struct host *k, const struct host_columns *c)
{
    return host_const_at(k, matrix(k, MODEL_ADAPTER_B, output),
                         c->first * k->model->adapter[output].r);
}

void host_adapter_logits(const struct host *k, const struct host_span *b,
                         const struct host_columns *c, const void *xn, float *out, int thread)
{
    const struct host_lines at = {b->row, thread};
    const struct num_product in = host_linear_shape(b->n, k->model->C, c->n);
    struct num_product shape = host_linear_shape(b->n, k->model->adapter[output].r, c->n);
    shape.beta = 1;
    if (drops(k, output)) {
        void *dropped = host_thread(k, thread, HOST_ADAPTED_IN);
        drop_operands(k, output, &in, xn, &at, dropped, in.k);
        xn = dropped;
    }
    host_product(k, &shape, host_adapter_narrow(k, &in, xn, output, thread), rows_of_b(k, c), out);
}

/* Store s A x for the gradient of B, and x with dropout for that of A. */
static void keep_input(const struct host *k, const struct host_span *b, int thread)
{
    const struct host_lines at = {b->row, thread};
    const int64_t C = k->model->C, ld = host_adapter_dropped_columns(k->model);
    const void *x = host_at(k, k->buffer[HOST_XN], b->row * C);
    struct num_product in = host_linear_shape(b->n, C, 1);
    if (drops(k, output)) {
        void *dropped = host_at(k, k->buffer[HOST_ADAPTER_DROPPED],
                                b->row * ld + dropped_column_of(k->model, (int)output));
        drop_operands(k, output, &in, x, &at, dropped, ld);
        x = dropped;
        in.lda = ld;
    }
    host_adapter_store(k, HOST_ADAPTER_X, output, b,
                       host_adapter_narrow(k, &in, x, output, thread));
}

void host_adapter_logits_backward(const struct host *k, const struct host_span *b,
                                  const struct host_columns *c, const void *dlogits, int thread)
{
    const struct model_adapter *adapter = &k->model->adapter[output];
    const struct host_lines at = {b->row, thread};
    const int64_t C = k->model->C, r = adapter->r;
    float *low = (float *)k->buffer[HOST_ADAPTER_LOGITS] + b->row * r;
    float *dxn = (float *)k->buffer[HOST_DXN] + b->row * C;
    struct num_product sum = host_linear_back_shape(b->n, r, c->n);
    struct num_product shape = host_linear_back_shape(b->n, C, r);
    sum.beta = c->first ? 1 : 0;
    shape.beta = 1;
    if (!c->first) keep_input(k, b, thread);
    host_product(k, &sum, dlogits, rows_of_b(k, c), low);
    if (c->first + c->n < c->all) return;
    num_scale(low, (float)adapter->scale, b->n * r);
    const void *operands = low;
    if (!k->fp32) {
        uint16_t *rounded = host_thread(k, thread, HOST_ADAPTED_OP);
        host_narrow(k, rounded, low, b->n * r);
        operands = rounded;
    }
    host_adapter_store(k, HOST_ADAPTER_DY, output, b, operands);
    if (drops(k, output))
        add_dropped(k, &shape, operands, output, &at, dxn);
    else
        host_product(k, &shape, operands, matrix(k, MODEL_ADAPTER_A, output), dxn);
}

int host_adapter_logits_grads(const struct host *k, const struct host_columns *c,
                              const struct host_grad *g, struct host_grad out[2])
{
    const int64_t columns = host_adapter_columns(k->model);
    if (!host_has_adapter(k, output)) return 0;
    out[0] = out[1] = *g; /* dy' x over the leaf's rows, as of the matrix */
    out[0].kind = MODEL_ADAPTER_B + output;
    out[0].cols = k->model->adapter[output].r;
    out[0].x = host_adapter_column(k, HOST_ADAPTER_X, output);
    out[0].ld_x = columns;
    if (c->first + c->n < c->all) return 1;
    out[1].kind = MODEL_ADAPTER_A + output;
    out[1].rows = k->model->adapter[output].r;
    out[1].first_row = 0;
    out[1].dy = host_adapter_column(k, HOST_ADAPTER_DY, output);
    out[1].ld_dy = columns;
    if (!drops(k, output)) return 2;
    out[1].x =
        host_at(k, k->buffer[HOST_ADAPTER_DROPPED], dropped_column_of(k->model, (int)output));
    out[1].ld_x = host_adapter_dropped_columns(k->model);
    return 2;
}
