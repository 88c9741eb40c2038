// SPDX-License-Identifier: Apache-2.0
#include "host_ref.h"

#include <wsc/check.h>
#include <wsc/mem.h>
#include <wsc/num_reference.h>

#include <string.h>

enum { MAX_LAYERS = 4 };

struct layer_acts {
    double *x, *xn1, *q, *k, *v, *p, *ctx, *mid, *xn3, *pre, *act;
};
struct ref {
    const struct model *m;
    double *const *w;
    double *const *g;
    double *memory;
    int64_t used, size;
    struct layer_acts layer[MAX_LAYERS];
    double *last, *xnf, *logits;
};

static double *room(struct ref *r, int64_t n)
{
    double *p = r->memory + r->used;
    r->used += n;
    WSC_CHECK(r->used <= r->size, "the reference's memory is too small");
    return p;
}

static int tensor_of(const struct model *m, enum model_tensor_kind kind, int layer)
{
    for (int i = 0; i < m->n_tensors; i++) {
        if (m->tensor[i].kind == kind && m->tensor[i].layer == layer) return i;
    }
    return -1;
}

static const double *weight(const struct ref *r, enum model_tensor_kind kind, int layer)
{
    int i = tensor_of(r->m, kind, layer);
    return i < 0 ? NULL : r->w[i];
}

static double *gradient(const struct ref *r, enum model_tensor_kind kind, int layer)
{
    int i = tensor_of(r->m, kind, layer);
    return i < 0 ? NULL : r->g[i];
}

/* A linear layer (out, in) applied to T rows. */
struct linear {
    enum model_tensor_kind w, b;
    int layer;
    int64_t in, out;
};

static struct num_ref_linear shape_of(const struct ref *r, const struct linear *f)
{
    return (struct num_ref_linear){.rows = r->m->T, .out = f->out, .in = f->in};
}

static void linear(const struct ref *r, const struct linear *f, const double *x, double *y)
{
    const struct num_ref_linear shape = shape_of(r, f);
    const double *b = weight(r, f->b, f->layer);
    for (int64_t i = 0; i < shape.rows * f->out; i++)
        y[i] = b ? b[i % f->out] : 0;
    num_ref_product(&shape, x, weight(r, f->w, f->layer), y);
}

/* dx += dy w, dw += dy^T x, db += dy. */
static void linear_back(const struct ref *r, const struct linear *f, const double *x,
                        const double *dy, double *dx)
{
    const struct num_ref_linear shape = shape_of(r, f);
    double *db = gradient(r, f->b, f->layer);
    for (int64_t i = 0; db && i < shape.rows * f->out; i++)
        db[i % f->out] += dy[i];
    num_ref_input_gradient(&shape, dy, weight(r, f->w, f->layer), dx);
    num_ref_weight_gradient(&shape, dy, x, gradient(r, f->w, f->layer));
}

static struct num_ref_norm norm_of(const struct ref *r, enum model_tensor_kind kind, int layer)
{
    return (struct num_ref_norm){.rows = r->m->T,
                                 .n = r->m->C,
                                 .eps = r->m->zoo.layer_norm_epsilon,
                                 .gain = weight(r, kind, layer),
                                 .bias = weight(r, kind + 1, layer)};
}

static void norm(const struct ref *r, enum model_tensor_kind kind, int layer, const double *x,
                 double *y)
{
    const struct num_ref_norm n = norm_of(r, kind, layer);
    num_ref_norm(&n, x, y);
}

static void norm_back(const struct ref *r, enum model_tensor_kind kind, int layer, const double *x,
                      const double *dy, double *dx)
{
    const struct num_ref_norm n = norm_of(r, kind, layer);
    num_ref_norm_gradient(&n, x, dy, dx, gradient(r, kind, layer), gradient(r, kind + 1, layer));
}

static enum num_ref_function function_of(const struct model *m)
{
    if (m->nonlinearity == ZOO_RELU) return NUM_REF_RELU;
    return m->nonlinearity == ZOO_GELU ? NUM_REF_GELU : NUM_REF_GELU_TANH;
}

static double qk_scale(const struct ref *r, int l)
{
    return r->m->stack[0].qk_scale / (r->m->zoo.scale_qk_dot_by_layer_idx ? l + 1 : 1);
}

static struct num_ref_attention attention_of(const struct ref *r, const struct layer_acts *a, int l)
{
    return (struct num_ref_attention){.T = r->m->T,
                                      .heads = r->m->H,
                                      .d = r->m->head_dim,
                                      .scale = qk_scale(r, l),
                                      .q = a->q,
                                      .k = a->k,
                                      .v = a->v};
}

static struct linear of(const struct ref *r, enum model_tensor_kind w, int l)
{
    int64_t C = r->m->C, F = r->m->F;
    struct linear f = {.w = w, .b = w + 1, .layer = l, .in = C, .out = C};
    if (w == MODEL_FFN0_W) f.out = F;
    if (w == MODEL_FFN1_W) f.in = F;
    return f;
}

static struct layer_acts new_acts(struct ref *r)
{
    int64_t c = r->m->T * r->m->C, f = r->m->T * r->m->F;
    return (struct layer_acts){.x = room(r, c),
                               .xn1 = room(r, c),
                               .q = room(r, c),
                               .k = room(r, c),
                               .v = room(r, c),
                               .p = room(r, r->m->H * r->m->T * r->m->T),
                               .ctx = room(r, c),
                               .mid = room(r, c),
                               .xn3 = room(r, c),
                               .pre = room(r, f),
                               .act = room(r, f)};
}

static void block(struct ref *r, int l, double *next)
{
    const struct layer_acts *a = &r->layer[l];
    struct linear q = of(r, MODEL_Q_W, l), k = of(r, MODEL_K_W, l), v = of(r, MODEL_V_W, l);
    struct linear o = of(r, MODEL_O_W, l), up = of(r, MODEL_FFN0_W, l);
    struct linear down = of(r, MODEL_FFN1_W, l);
    int64_t n = r->m->T * r->m->C;
    norm(r, MODEL_NORM1_W, l, a->x, a->xn1);
    linear(r, &q, a->xn1, a->q);
    linear(r, &k, a->xn1, a->k);
    linear(r, &v, a->xn1, a->v);
    const struct num_ref_attention attention = attention_of(r, a, l);
    num_ref_attend(&attention, a->p, a->ctx);
    linear(r, &o, a->ctx, a->mid);
    for (int64_t i = 0; i < n; i++)
        a->mid[i] += a->x[i];
    norm(r, MODEL_NORM3_W, l, a->mid, a->xn3);
    linear(r, &up, a->xn3, a->pre);
    for (int64_t i = 0; i < r->m->T * r->m->F; i++)
        a->act[i] = num_ref_activation(function_of(r->m), a->pre[i]);
    linear(r, &down, a->act, next);
    for (int64_t i = 0; i < n; i++)
        next[i] += a->mid[i];
}

/* dx: gradient of the block's output on entry, of its input on return. */
static void block_back(struct ref *r, int l, double *dx)
{
    const struct layer_acts *a = &r->layer[l];
    struct layer_acts g = new_acts(r);
    struct linear q = of(r, MODEL_Q_W, l), k = of(r, MODEL_K_W, l), v = of(r, MODEL_V_W, l);
    struct linear o = of(r, MODEL_O_W, l), up = of(r, MODEL_FFN0_W, l);
    struct linear down = of(r, MODEL_FFN1_W, l);
    linear_back(r, &down, a->act, dx, g.act);
    for (int64_t i = 0; i < r->m->T * r->m->F; i++)
        g.pre[i] = g.act[i] * num_ref_activation_slope(function_of(r->m), a->pre[i]);
    linear_back(r, &up, a->xn3, g.pre, g.xn3);
    norm_back(r, MODEL_NORM3_W, l, a->mid, g.xn3, dx);
    linear_back(r, &o, a->ctx, dx, g.ctx);
    const struct num_ref_attention attention = attention_of(r, a, l);
    num_ref_attend_gradient(&attention, a->p, g.ctx, g.q, g.k, g.v);
    linear_back(r, &q, a->xn1, g.q, g.xn1);
    linear_back(r, &k, a->xn1, g.k, g.xn1);
    linear_back(r, &v, a->xn1, g.v, g.xn1);
    norm_back(r, MODEL_NORM1_W, l, a->x, g.xn1, dx);
}

static void embed(const struct ref *r, const int32_t *ids, double *x)
{
    int64_t C = r->m->C;
    const double *wte = weight(r, MODEL_WTE, -1), *wpe = weight(r, MODEL_WPE, -1);
    for (int64_t i = 0; i < r->m->T * C; i++)
        x[i] = (wte[ids[i / C] * C + i % C] + (wpe ? wpe[i] : 0)) * r->m->zoo.embeddings_scale;
}

static void embed_back(const struct ref *r, const int32_t *ids, const double *dx)
{
    int64_t C = r->m->C;
    double *dwte = gradient(r, MODEL_WTE, -1), *dwpe = gradient(r, MODEL_WPE, -1);
    for (int64_t i = 0; i < r->m->T * C; i++) {
        dwte[ids[i / C] * C + i % C] += dx[i] * r->m->zoo.embeddings_scale;
        if (dwpe) dwpe[i] += dx[i] * r->m->zoo.embeddings_scale;
    }
}

static struct linear head_layer(const struct ref *r)
{
    enum model_tensor_kind w = r->m->tied ? MODEL_WTE : MODEL_LM_HEAD_W;
    return (struct linear){
        .w = w, .b = MODEL_LM_HEAD_B, .layer = -1, .in = r->m->C, .out = r->m->V};
}

/* Loss of one row of logits, which becomes its gradient. */
static void row_loss(double *row, int64_t V, int32_t label, double scale, struct ref_result *out)
{
    int64_t best = 0;
    for (int64_t v = 1; v < V; v++)
        best = row[v] > row[best] ? v : best;
    out->loss_sum += num_ref_cross_entropy(row, V, label);
    out->n_tokens++;
    out->n_correct += best == label;
    for (int64_t v = 0; v < V; v++)
        row[v] *= scale;
}

static void forward(struct ref *r, const int32_t *ids)
{
    struct linear head = head_layer(r);
    r->layer[0] = new_acts(r);
    r->last = room(r, r->m->T * r->m->C);
    r->xnf = room(r, r->m->T * r->m->C);
    r->logits = room(r, r->m->T * r->m->V);
    embed(r, ids, r->layer[0].x);
    for (int l = 0; l + 1 < r->m->L; l++) {
        r->layer[l + 1] = new_acts(r);
        block(r, l, r->layer[l + 1].x);
    }
    block(r, (int)r->m->L - 1, r->last);
    norm(r, MODEL_NORMF_W, -1, r->last, r->xnf);
    linear(r, &head, r->xnf, r->logits);
    for (int64_t i = 0; i < r->m->T * r->m->V; i++)
        r->logits[i] *= r->m->logits_scale;
}

static void backward(struct ref *r, const int32_t *ids)
{
    struct linear head = head_layer(r);
    double *dxn = room(r, r->m->T * r->m->C), *dx = room(r, r->m->T * r->m->C);
    linear_back(r, &head, r->xnf, r->logits, dxn);
    norm_back(r, MODEL_NORMF_W, -1, r->last, dxn, dx);
    for (int l = (int)r->m->L - 1; l >= 0; l--)
        block_back(r, l, dx);
    embed_back(r, ids, dx);
}

void ref_sample(const struct model *m, double *const *w, const struct data_batch *batch,
                int64_t sample, double *const *grad, double *logits, struct ref_result *out)
{
    int64_t T = m->T, per_layer = T * (8 * m->C + 2 * m->F) + m->H * T * T;
    struct ref r = {
        .m = m, .w = w, .g = grad, .size = 2 * m->L * per_layer + T * (4 * m->C + m->V)};
    WSC_CHECK(m->L >= 1 && m->L <= MAX_LAYERS, "%d layers", (int)m->L);
    r.memory = wsc_alloc(WSC_MEM_TEST, (size_t)r.size, sizeof *r.memory);
    WSC_CHECK(r.memory, "no memory for a test");
    forward(&r, batch->input_ids + sample * T);
    if (logits) memcpy(logits, r.logits, (size_t)(T * m->V) * sizeof *logits);
    *out = (struct ref_result){0};
    for (int64_t t = 0; t < T; t++) {
        double *row = r.logits + t * m->V;
        if (batch->mask[sample * T + t])
            row_loss(row, m->V, batch->labels[sample * T + t], m->logits_scale, out);
        else
            memset(row, 0, (size_t)m->V * sizeof *row);
    }
    if (grad) backward(&r, batch->input_ids + sample * T);
    wsc_free(r.memory);
}
