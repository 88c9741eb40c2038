// SPDX-License-Identifier: Apache-2.0
#include "host_ref.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <math.h>
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

static void linear(const struct ref *r, const struct linear *f, const double *x, double *y)
{
    const double *w = weight(r, f->w, f->layer), *b = weight(r, f->b, f->layer);
    for (int64_t t = 0; t < r->m->T; t++) {
        for (int64_t o = 0; o < f->out; o++) {
            double sum = b ? b[o] : 0;
            for (int64_t i = 0; i < f->in; i++)
                sum += x[t * f->in + i] * w[o * f->in + i];
            y[t * f->out + o] = sum;
        }
    }
}

/* dx += dy w, dw += dy^T x, db += dy. */
static void linear_back(const struct ref *r, const struct linear *f, const double *x,
                        const double *dy, double *dx)
{
    const double *w = weight(r, f->w, f->layer);
    double *dw = gradient(r, f->w, f->layer), *db = gradient(r, f->b, f->layer);
    for (int64_t to = 0; to < r->m->T * f->out; to++) {
        int64_t t = to / f->out, o = to % f->out;
        if (db) db[o] += dy[to];
        for (int64_t i = 0; i < f->in; i++) {
            dx[t * f->in + i] += dy[to] * w[o * f->in + i];
            dw[o * f->in + i] += dy[to] * x[t * f->in + i];
        }
    }
}

static void row_moments(const struct model *m, const double *x, double *mean, double *rstd)
{
    double sum = 0, squares = 0;
    for (int64_t c = 0; c < m->C; c++)
        sum += x[c];
    *mean = sum / (double)m->C;
    for (int64_t c = 0; c < m->C; c++)
        squares += (x[c] - *mean) * (x[c] - *mean);
    *rstd = 1 / sqrt(squares / (double)m->C + m->norm_eps);
}

static void norm(const struct ref *r, enum model_tensor_kind kind, int layer, const double *x,
                 double *y)
{
    int64_t C = r->m->C;
    const double *w = weight(r, kind, layer), *b = weight(r, kind + 1, layer);
    for (int64_t t = 0; t < r->m->T; t++) {
        double mean, rstd;
        row_moments(r->m, x + t * C, &mean, &rstd);
        for (int64_t c = 0; c < C; c++)
            y[t * C + c] = (x[t * C + c] - mean) * rstd * w[c] + b[c];
    }
}

/* By the full Jacobian of a row: d xhat_c / d x_e = rstd (delta_ce - 1/C - xhat_c xhat_e / C). */
static void norm_back(const struct ref *r, enum model_tensor_kind kind, int layer, const double *x,
                      const double *dy, double *dx)
{
    int64_t C = r->m->C;
    const double *w = weight(r, kind, layer);
    double *dw = gradient(r, kind, layer), *db = gradient(r, kind + 1, layer);
    for (int64_t t = 0; t < r->m->T; t++) {
        double mean, rstd;
        const double *row = x + t * C, *drow = dy + t * C;
        row_moments(r->m, row, &mean, &rstd);
        for (int64_t c = 0; c < C; c++) {
            double hat = (row[c] - mean) * rstd;
            dw[c] += drow[c] * hat;
            db[c] += drow[c];
            for (int64_t e = 0; e < C; e++)
                dx[t * C + e] += drow[c] * w[c] * rstd *
                                 ((c == e) - (1 + hat * (row[e] - mean) * rstd) / (double)C);
        }
    }
}

static double activation(enum zoo_nonlinearity f, double x)
{
    if (f == ZOO_RELU) return x > 0 ? x : 0;
    if (f == ZOO_GELU) return 0.5 * x * (1 + erf(x / sqrt(2)));
    return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

static double activation_slope(enum zoo_nonlinearity f, double x)
{
    if (f == ZOO_RELU) return x > 0;
    if (f == ZOO_GELU) return 0.5 * (1 + erf(x / sqrt(2))) + x * exp(-x * x / 2) / sqrt(2 * M_PI);
    double th = tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
    return 0.5 * (1 + th) + 0.5 * x * (1 - th * th) * sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);
}

static double qk_scale(const struct ref *r, int l)
{
    return r->m->qk_scale / (r->m->qk_scale_by_layer ? l + 1 : 1);
}

static void softmax(double *row, int64_t n)
{
    double max = row[0], sum = 0;
    for (int64_t i = 1; i < n; i++)
        max = row[i] > max ? row[i] : max;
    for (int64_t i = 0; i < n; i++)
        sum += row[i] = exp(row[i] - max);
    for (int64_t i = 0; i < n; i++)
        row[i] /= sum;
}

static void attend(const struct ref *r, const struct layer_acts *a, int l)
{
    int64_t T = r->m->T, C = r->m->C, d = r->m->head_dim;
    for (int64_t ht = 0; ht < r->m->H * T; ht++) {
        int64_t h = ht / T, t = ht % T;
        double *p = a->p + ht * T;
        for (int64_t s = 0; s <= t; s++) {
            p[s] = 0;
            for (int64_t i = h * d; i < h * d + d; i++)
                p[s] += a->q[t * C + i] * a->k[s * C + i] * qk_scale(r, l);
        }
        softmax(p, t + 1);
        for (int64_t i = h * d; i < h * d + d; i++) {
            a->ctx[t * C + i] = 0;
            for (int64_t s = 0; s <= t; s++)
                a->ctx[t * C + i] += p[s] * a->v[s * C + i];
        }
    }
}

/* One query of one head; dp_s = dctx . v_s, ds = p (dp - sum p dp). */
static void attend_back_row(const struct ref *r, const struct layer_acts *a,
                            const struct layer_acts *grad, int l, int64_t ht)
{
    int64_t T = r->m->T, C = r->m->C, d = r->m->head_dim, h = ht / T, t = ht % T;
    const double *p = a->p + ht * T;
    double *dp = grad->p + ht * T, mean = 0;
    for (int64_t s = 0; s <= t; s++) {
        for (int64_t i = h * d; i < h * d + d; i++) {
            dp[s] += grad->ctx[t * C + i] * a->v[s * C + i];
            grad->v[s * C + i] += p[s] * grad->ctx[t * C + i];
        }
        mean += p[s] * dp[s];
    }
    for (int64_t s = 0; s <= t; s++) {
        double ds = p[s] * (dp[s] - mean) * qk_scale(r, l);
        for (int64_t i = h * d; i < h * d + d; i++) {
            grad->q[t * C + i] += ds * a->k[s * C + i];
            grad->k[s * C + i] += ds * a->q[t * C + i];
        }
    }
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
    attend(r, a, l);
    linear(r, &o, a->ctx, a->mid);
    for (int64_t i = 0; i < n; i++)
        a->mid[i] += a->x[i];
    norm(r, MODEL_NORM3_W, l, a->mid, a->xn3);
    linear(r, &up, a->xn3, a->pre);
    for (int64_t i = 0; i < r->m->T * r->m->F; i++)
        a->act[i] = activation(r->m->nonlinearity, a->pre[i]);
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
        g.pre[i] = g.act[i] * activation_slope(r->m->nonlinearity, a->pre[i]);
    linear_back(r, &up, a->xn3, g.pre, g.xn3);
    norm_back(r, MODEL_NORM3_W, l, a->mid, g.xn3, dx);
    linear_back(r, &o, a->ctx, dx, g.ctx);
    for (int64_t ht = 0; ht < r->m->H * r->m->T; ht++)
        attend_back_row(r, a, &g, l, ht);
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
        x[i] = (wte[ids[i / C] * C + i % C] + (wpe ? wpe[i] : 0)) * r->m->embeddings_scale;
}

static void embed_back(const struct ref *r, const int32_t *ids, const double *dx)
{
    int64_t C = r->m->C;
    double *dwte = gradient(r, MODEL_WTE, -1), *dwpe = gradient(r, MODEL_WPE, -1);
    for (int64_t i = 0; i < r->m->T * C; i++) {
        dwte[ids[i / C] * C + i % C] += dx[i] * r->m->embeddings_scale;
        if (dwpe) dwpe[i] += dx[i] * r->m->embeddings_scale;
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
    softmax(row, V);
    out->loss_sum -= log(row[label]);
    out->n_tokens++;
    out->n_correct += best == label;
    row[label] -= 1;
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
