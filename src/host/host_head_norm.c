// SPDX-License-Identifier: Apache-2.0
/* Computes norms of queries and keys, head by head (Dehghani et al. 2023, arXiv 2302.05442):
 * LayerNorm or RMSNorm over the features of a head, after its rotation as in the Model Zoo, with
 * one gain and bias for all heads of a layer. The input of the norms is kept. Attention stores the
 * gradients of their outputs in 32 bits; they go back through norm and rotation here. host_block.c
 * calls. */
#include "host_head_norm.h"
#include "host_buffers.h"
#include "host_grad.h"
#include "host_operands.h"
#include "host_positions.h"
#include "host_row_blocks.h"

#include <string.h>

/* The norm of queries or of keys: its tensor, its input, statistics and gradient, and its columns
 * in a row of the projections. */
struct side {
    enum model_tensor_kind norm;
    float *raw, *stats, *dnormed;
    int64_t features, heads, column;
};

static struct side side_of(const struct host *k, bool keys)
{
    const struct model *m = k->model;
    const int64_t l = k->stage.layer, heads = keys ? m->kv_heads : m->H;
    const int64_t features = heads * m->head_dim;
    return (struct side){.norm = keys ? MODEL_K_NORM_W : MODEL_Q_NORM_W,
                         .raw = host_kept(k, keys ? HOST_RAW_K : HOST_RAW_Q, l, features),
                         .stats = host_kept(k, keys ? HOST_STATS_K : HOST_STATS_Q, l, 2 * heads),
                         .dnormed = k->buffer[keys ? HOST_DNORMED_K : HOST_DNORMED_Q],
                         .features = features,
                         .heads = heads,
                         .column = keys ? model_q_features(m) : 0};
}

void host_head_norm_rows(struct host *k, const struct host_span *b, enum model_tensor_kind weight,
                         float *rows)
{
    const struct side s = side_of(k, weight == MODEL_K_W);
    const int64_t d = k->model->head_dim, first = b->row * s.heads;
    memcpy(s.raw + b->row * s.features, rows, (size_t)(b->n * s.features) * sizeof *rows);
    for (int64_t i = 0; i < b->n * s.heads; i++)
        host_norm_row(k, s.norm, rows + i * d, s.raw + (first + i) * d, s.stats + 2 * (first + i));
}

static void side_backward(struct host *k, const struct side *s, const struct host_span *b,
                          float *rows)
{
    const int64_t d = k->model->head_dim, first = b->row * s->heads;
    const int64_t width = model_qkv_features(k->model);
    for (int64_t i = 0; i < b->n * s->heads; i++)
        host_norm_row_backward(k, s->norm, rows + i * d, s->dnormed + (first + i) * d,
                               s->raw + (first + i) * d, s->stats + 2 * (first + i));
    if (k->model->rotary_dim) host_rotate(k, b, rows, s->features, true);
    host_store_linear(k, b, rows, s->features, NULL, host_at(k, k->buffer[HOST_DQKV], s->column),
                      width);
}

void host_head_norm_rows_backward(struct host *k, const struct host_span *b, int thread)
{
    float *rows = host_thread(k, thread, HOST_WIDE);
    for (int keys = 0; keys < 2; keys++) {
        const struct side s = side_of(k, keys);
        side_backward(k, &s, b, rows);
    }
}

int host_head_norm_grads(const struct host *k, struct host_grad out[4])
{
    for (int keys = 0; keys < 2; keys++) {
        const struct side s = side_of(k, keys);
        struct host_grad *g = out + 2 * (ptrdiff_t)keys;
        host_norm_grads(k, g, s.norm, s.dnormed, s.raw, s.stats);
        for (int i = 0; i < 2; i++) {
            g[i].rows = g[i].ld_dy = g[i].ld_x = k->model->head_dim;
            g[i].per_row = s.heads;
        }
    }
    return 4;
}
