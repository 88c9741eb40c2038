// SPDX-License-Identifier: Apache-2.0
#include "pe_cases.h"

#include <wsc/clock.h>
#include <wsc/mem.h>
#include <wsc/num.h>
#include <wsc/rng.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- what all cases do ----------------------------------------------------------------------- */

enum wsc_err kernels_pe_case_floats(struct pe_case *c, int64_t n, float **out)
{
    const uint64_t stream = wsc_rng_stream(WSC_RNG_TEST, 1000 + c->n_drawn++);
    TRY_NEW(*out, WSC_MEM_KERNELS, n);
    for (int64_t i = 0; i < n; i++)
        (*out)[i] = (float)(2 * wsc_rng_uniform(c->shape->seed, stream, (uint64_t)i) - 1);
    return WSC_OK;
}

void kernels_pe_case_compare(struct pe_case *c, const float *got, double *want, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const double error = fabs((double)got[i] - want[i]) / (1 + fabs(want[i]));
        c->result->max_error = num_max_error(c->result->max_error, error);
    }
    wsc_free(want);
}

static int64_t rows_of(const struct pe_case *c)
{
    return c->shape->samples * c->shape->tokens;
}

/* A tile of random numbers; *host is owned by the caller. */
static enum wsc_err random_tile(struct pe_case *c, struct pe_tile *t, const struct pe_features *f,
                                float **host)
{
    TRY(kernels_pe_reserve_tile(&c->grid, t, f, "a matrix"));
    TRY(kernels_pe_case_floats(c, rows_of(c) * f->n, host));
    return kernels_pe_tile_in(&c->grid, t, *host);
}

static enum wsc_err check_tile(struct pe_case *c, const struct pe_tile *t, double *want)
{
    const int64_t n = rows_of(c) * t->f->n;
    float *got;
    TRY_NEW(got, WSC_MEM_KERNELS, n);
    enum wsc_err rc = kernels_pe_tile_out(&c->grid, t, got);
    if (!rc)
        kernels_pe_case_compare(c, got, want, n);
    else
        wsc_free(want);
    wsc_free(got);
    return rc;
}

static struct pe_script script_of(const struct pe_case *c, const struct pe_features *f)
{
    return (struct pe_script){.features = f, .n_samples = c->grid.n_samples};
}

static enum wsc_err run_script(struct pe_case *c, struct pe_script *s)
{
    enum wsc_err rc = kernels_pe_run_script(&c->grid, s);
    kernels_pe_script_fini(s);
    return rc;
}

/* ---- products -------------------------------------------------------------------------------- */

struct matrices {
    struct pe_features in, out;
    float *x, *y, *w; /* owned */
};

static void matrices_fini(struct matrices *m)
{
    kernels_pe_features_fini(&m->in);
    kernels_pe_features_fini(&m->out);
    wsc_free(m->x);
    wsc_free(m->y);
    wsc_free(m->w);
}

static enum wsc_err linear(struct pe_case *c, struct matrices *m)
{
    const struct mesh_case *s = c->shape;
    struct pe_product p = {.n_parts = 1};
    TRY(kernels_pe_features_init(&m->in, (int)s->k, c->grid.w));
    TRY(kernels_pe_features_init(&m->out, (int)s->m, c->grid.w));
    TRY(random_tile(c, &p.in[0], &m->in, &m->x));
    TRY(kernels_pe_reserve_tile(&c->grid, &p.out[0], &m->out, "the output"));
    TRY(kernels_pe_case_floats(c, s->m * s->k, &m->w));
    p.w[0] = (struct pe_weights){m->w, s->k, 1};
    TRY(kernels_pe_run_product(&c->grid, &p));
    const struct side in = kernels_cycles_side(&c->layout, s->k);
    c->result->form = kernels_cycles_product(&c->layout, &in, (double)s->m);
    return check_tile(c, &p.out[0], kernels_pe_ref_product(m->x, m->w, rows_of(c), s->m, s->k));
}

static enum wsc_err run_linear(struct pe_case *c)
{
    struct matrices m = {0};
    enum wsc_err rc = linear(c, &m);
    matrices_fini(&m);
    return rc;
}

static enum wsc_err weight_gradient(struct pe_case *c, struct matrices *m)
{
    const struct mesh_case *s = c->shape;
    const struct side in = kernels_cycles_side(&c->layout, s->k);
    const struct side out = kernels_cycles_side(&c->layout, s->m);
    struct pe_weight_gradient p = {.n_samples = (int)s->samples,
                                   .by_columns = kernels_cycles_by_columns(&c->layout, &in, &out),
                                   .room = (int64_t)c->layout.room,
                                   .ld = s->k};
    TRY(kernels_pe_features_init(&m->in, (int)s->k, c->grid.w));
    TRY(kernels_pe_features_init(&m->out, (int)s->m, c->grid.w));
    TRY(random_tile(c, &p.x, &m->in, &m->x));
    TRY(random_tile(c, &p.dy, &m->out, &m->y));
    TRY_NEW(m->w, WSC_MEM_KERNELS, s->m * s->k);
    p.host = m->w;
    TRY(kernels_pe_run_weight_gradient(&c->grid, &p));
    c->result->form = kernels_cycles_weight_gradient(&c->layout, &in, &out);
    kernels_pe_case_compare(
        c, m->w, kernels_pe_ref_weight_gradient(m->y, m->x, rows_of(c), s->m, s->k), s->m * s->k);
    return WSC_OK;
}

static enum wsc_err run_weight_gradient(struct pe_case *c)
{
    struct matrices m = {0};
    enum wsc_err rc = weight_gradient(c, &m);
    matrices_fini(&m);
    return rc;
}

/* ---- rows of features ------------------------------------------------------------------------ */

struct rows {
    struct pe_features f;
    struct pe_tile x, y, tmp;
    float *hx, *hy, *gain, *bias; /* owned */
    int vector[2], tokens;
};

static void rows_fini(struct rows *r)
{
    kernels_pe_features_fini(&r->f);
    wsc_free(r->hx);
    wsc_free(r->hy);
    wsc_free(r->gain);
    wsc_free(r->bias);
}

/* x and dy (or the output), a tile and four vectors of tokens of scratch. */
static enum wsc_err rows_init(struct pe_case *c, struct rows *r, int64_t features)
{
    struct pe_grid *g = &c->grid;
    TRY(kernels_pe_features_init(&r->f, (int)features, g->w));
    TRY(random_tile(c, &r->x, &r->f, &r->hx));
    TRY(random_tile(c, &r->y, &r->f, &r->hy));
    TRY(kernels_pe_reserve_tile(g, &r->tmp, &r->f, "scratch"));
    for (int i = 0; i < 2; i++)
        TRY(kernels_pe_reserve_words(g, r->f.slots, PE_BANK_TILES, "a vector", &r->vector[i]));
    return kernels_pe_reserve_words(g, 4 * (int64_t)g->pitch, PE_BANK_TOKENS, "vectors of tokens",
                                    &r->tokens);
}

static enum wsc_err gain_and_bias(struct pe_case *c, struct rows *r, struct pe_script *s, bool bias)
{
    TRY(kernels_pe_case_floats(c, r->f.n, &r->gain));
    if (bias) TRY(kernels_pe_case_floats(c, r->f.n, &r->bias));
    s->in[0] = (struct pe_vector){.f = &r->f, .address = r->vector[0], .in = r->gain};
    s->in[1] = (struct pe_vector){.f = &r->f, .address = r->vector[1], .in = r->bias};
    s->n_in = bias ? 2 : 1;
    kernels_pe_vectors_in(s);
    return WSC_OK;
}

static enum wsc_err norm(struct pe_case *c, struct rows *r, bool rms)
{
    struct pe_grid *g = &c->grid;
    TRY(rows_init(c, r, c->shape->features));
    struct pe_script s = script_of(c, &r->f);
    const struct pe_norm n = {.x = r->x,
                              .gain = r->vector[0],
                              .bias = rms ? -1 : r->vector[1],
                              .stats = r->tokens,
                              .sums = r->tokens + 8 * g->pitch,
                              .eps = 1e-5F,
                              .rms = rms};
    TRY(gain_and_bias(c, r, &s, !rms));
    struct pe_ref_norm ref = {
        .x = r->hx, .gain = r->gain, .bias = r->bias, .rows = rows_of(c), .n = r->f.n, .eps = 1e-5};
    c->model.norm = rms ? ZOO_RMSNORM : ZOO_LAYERNORM;
    c->result->form = kernels_cycles_norm(&c->layout);
    kernels_pe_norm_forward(g, &s, &n, c->shape->backward ? &r->tmp : &r->y, &r->tmp);
    if (!c->shape->backward) {
        TRY(run_script(c, &s));
        return check_tile(c, &r->y, kernels_pe_ref_norm(&ref));
    }
    /* dx is added to a tile that is 0: x of the script before is not needed any more. */
    struct pe_tile dx;
    TRY(kernels_pe_reserve_tile(g, &dx, &r->f, "the gradient"));
    kernels_pe_norm_backward(g, &s, &n, &r->y, &dx, &r->tmp);
    c->result->form =
        kernels_cycles_norm(&c->layout) + kernels_cycles_norm_input_gradient(&c->layout);
    ref.dy = r->hy;
    TRY(run_script(c, &s));
    return check_tile(c, &dx, kernels_pe_ref_norm(&ref));
}

static enum wsc_err with_rows(struct pe_case *c,
                              enum wsc_err (*run)(struct pe_case *c, struct rows *r, bool second),
                              bool second)
{
    struct rows r = {0};
    enum wsc_err rc = run(c, &r, second);
    rows_fini(&r);
    return rc;
}

static enum wsc_err run_layernorm(struct pe_case *c)
{
    return with_rows(c, norm, false);
}

static enum wsc_err run_rmsnorm(struct pe_case *c)
{
    return with_rows(c, norm, true);
}

static enum wsc_err softmax(struct pe_case *c, struct rows *r, bool unused)
{
    (void)unused;
    TRY(rows_init(c, r, c->shape->features));
    struct pe_script s = script_of(c, &r->f);
    const float *dy = c->shape->backward ? r->hy : NULL;
    kernels_pe_softmax(&c->grid, &s, &r->x, r->tokens);
    c->result->form = kernels_cycles_softmax(&c->layout, c->layout.hidden.k);
    if (dy) kernels_pe_softmax_backward(&c->grid, &s, &r->x, &r->y, r->tokens);
    if (dy) c->result->form += kernels_cycles_softmax_gradient(&c->layout, c->layout.hidden.k);
    TRY(run_script(c, &s));
    return check_tile(c, dy ? &r->y : &r->x, kernels_pe_ref_softmax(r->hx, dy, rows_of(c), r->f.n));
}

static enum wsc_err run_softmax(struct pe_case *c)
{
    return with_rows(c, softmax, false);
}

static enum wsc_err activation(struct pe_case *c, struct rows *r, enum pe_nonlinearity f)
{
    TRY(rows_init(c, r, c->shape->features));
    struct pe_script s = script_of(c, &r->f);
    const float *dy = c->shape->backward ? r->hy : NULL;
    if (dy)
        kernels_pe_activate_backward(&c->grid, &s, f, &r->y, &r->x, &r->y);
    else
        kernels_pe_activate(&c->grid, &s, f, &r->y, &r->x);
    c->result->form = kernels_cycles_nonlinearity(&c->layout, c->layout.filter.k);
    TRY(run_script(c, &s));
    return check_tile(c, &r->y, kernels_pe_ref_activation(f, r->hx, dy, rows_of(c) * r->f.n));
}

static enum wsc_err gelu(struct pe_case *c, struct rows *r, bool tanh_form)
{
    return activation(c, r, tanh_form ? PE_GELU_NEW : PE_GELU);
}

static enum wsc_err silu(struct pe_case *c, struct rows *r, bool unused)
{
    (void)unused;
    return activation(c, r, PE_SILU);
}

static enum wsc_err run_gelu(struct pe_case *c)
{
    return with_rows(c, gelu, c->shape->algo && !strcmp(c->shape->algo, "tanh"));
}

static enum wsc_err run_silu(struct pe_case *c)
{
    return with_rows(c, silu, false);
}

/* ---- rotary positions ------------------------------------------------------------------------ */

/* Cosines and sines (samples, T, pairs), pair i of a head at the first of its features. */
static enum wsc_err angle_tiles(struct pe_case *c, const struct pe_features *f, struct pe_rotary *r)
{
    const int64_t rows = rows_of(c), d = f->head_dim;
    struct pe_tile *const tile[2] = {&r->cosine, &r->sine};
    float *table;
    enum wsc_err rc = WSC_OK;
    TRY_NEW(table, WSC_MEM_KERNELS, rows * f->n);
    for (int i = 0; i < 2 && !rc; i++) {
        for (int64_t j = 0; j < rows * f->n; j++) {
            const int64_t token = j / f->n % c->grid.T, pair = j % d / 2;
            const double angle = (double)token * pow(10000, -2 * (double)pair / (double)d);
            table[j] = (float)(i ? sin(angle) : cos(angle));
        }
        rc = kernels_pe_reserve_tile(&c->grid, tile[i], f, "cosines and sines");
        if (!rc) rc = kernels_pe_tile_in(&c->grid, tile[i], table);
    }
    wsc_free(table);
    return rc;
}

static enum wsc_err rotary(struct pe_case *c, struct pe_features *f, float **x)
{
    const struct mesh_case *k = c->shape;
    struct pe_rotary r = {.back = k->backward};
    if (k->head_dim % 2)
        return WSC_RAISE(WSC_USAGE, "rotary: --head_dim %lld is odd, pairs need an even number",
                         (long long)k->head_dim);
    TRY(kernels_pe_features_init_heads(f, (int)k->heads, (int)k->head_dim, c->grid.w,
                                       PE_PAIRS_ADJACENT));
    TRY(random_tile(c, &r.x, f, x));
    TRY(angle_tiles(c, f, &r));
    TRY(kernels_pe_reserve_tile(&c->grid, &r.tmp, f, "scratch"));
    struct pe_script s = script_of(c, f);
    kernels_pe_rotate(&s, &r);
    c->result->form = kernels_cycles_rotary(&c->layout, f->slots);
    TRY(run_script(c, &s));
    double *want = kernels_pe_ref_alloc(rows_of(c) * f->n);
    for (int64_t b = 0; b < k->samples; b++) {
        const int64_t n = k->tokens * f->n;
        double *one =
            kernels_pe_ref_rotary(*x + b * n, k->tokens, k->heads, k->head_dim, k->backward);
        memcpy(want + b * n, one, (size_t)n * sizeof *one);
        wsc_free(one);
    }
    return check_tile(c, &r.x, want);
}

static enum wsc_err run_rotary(struct pe_case *c)
{
    struct pe_features f = {0};
    float *x = NULL;
    enum wsc_err rc = rotary(c, &f, &x);
    kernels_pe_features_fini(&f);
    wsc_free(x);
    return rc;
}

/* ---- attention ------------------------------------------------------------------------------- */

struct attention {
    struct pe_features f;
    float *q, *k, *v, *dout, *got; /* owned */
};

static enum wsc_err attention_tiles(struct pe_case *c, struct attention *a, struct pe_attention *p)
{
    struct pe_grid *g = &c->grid;
    const int64_t words = kernels_pe_score_words(g, &a->f);
    TRY(random_tile(c, &p->q, &a->f, &a->q));
    TRY(random_tile(c, &p->k, &a->f, &a->k));
    TRY(random_tile(c, &p->v, &a->f, &a->v));
    TRY(kernels_pe_reserve_tile(g, &p->out, &a->f, "the output"));
    TRY(kernels_pe_reserve_words(g, words, PE_BANK_SCORES, "probabilities", &p->scores));
    TRY(kernels_pe_reserve_words(g, 2 * (int64_t)a->f.heads_per_pe * g->tokens, PE_BANK_TILES,
                                 "sums", &p->tokens));
    if (!c->shape->backward) return WSC_OK;
    TRY(random_tile(c, &p->dout, &a->f, &a->dout));
    TRY(kernels_pe_reserve_words(g, words, PE_BANK_SCORES, "their gradient", &p->dscores));
    TRY(kernels_pe_reserve_tile(g, &p->dq, &a->f, "gradients"));
    TRY(kernels_pe_reserve_tile(g, &p->dk, &a->f, "gradients"));
    return kernels_pe_reserve_tile(g, &p->dv, &a->f, "gradients");
}

/* Sample @p b of @p tile against part @p part of @p want. */
static enum wsc_err check_sample(struct pe_case *c, struct attention *a, const struct pe_tile *tile,
                                 const double *want, int64_t b)
{
    const int64_t n = c->shape->tokens * a->f.n;
    double *copy = kernels_pe_ref_alloc(n);
    memcpy(copy, want, (size_t)n * sizeof *copy);
    TRY(kernels_pe_tile_out(&c->grid, tile, a->got));
    kernels_pe_case_compare(c, a->got + b * n, copy, n);
    return WSC_OK;
}

static enum wsc_err attend_sample(struct pe_case *c, struct attention *a,
                                  const struct pe_attention *p, int64_t b)
{
    const struct mesh_case *s = c->shape;
    const int64_t n = s->tokens * a->f.n;
    const struct pe_ref_attention ref = {.q = a->q + b * n,
                                         .k = a->k + b * n,
                                         .v = a->v + b * n,
                                         .dout = s->backward ? a->dout + b * n : NULL,
                                         .T = s->tokens,
                                         .heads = s->heads,
                                         .d = s->head_dim};
    const struct pe_tile *const tile[3] = {s->backward ? &p->dq : &p->out, &p->dk, &p->dv};
    enum wsc_err rc = kernels_pe_run_attention(&c->grid, p);
    if (!rc && s->backward) rc = kernels_pe_run_attention_backward(&c->grid, p);
    if (rc) return rc;
    double *want = kernels_pe_ref_attention(&ref);
    for (int i = 0; i < (s->backward ? 3 : 1) && !rc; i++)
        rc = check_sample(c, a, tile[i], want + i * n, b);
    wsc_free(want);
    return rc;
}

static enum wsc_err attention(struct pe_case *c, struct attention *a)
{
    const struct mesh_case *s = c->shape;
    struct pe_attention p = {.room = (int64_t)c->layout.room,
                             .scale = 1 / sqrtf((float)s->head_dim)};
    TRY(kernels_pe_features_init_heads(&a->f, (int)s->heads, (int)s->head_dim, c->grid.w,
                                       PE_NO_PAIRS));
    TRY(attention_tiles(c, a, &p));
    TRY_NEW(a->got, WSC_MEM_KERNELS, rows_of(c) * a->f.n);
    for (int64_t b = 0; b < s->samples; b++) {
        p.sample = (int)b;
        TRY(attend_sample(c, a, &p, b));
    }
    c->result->form = kernels_cycles_attention(&c->layout);
    if (s->backward) c->result->form += kernels_cycles_attention_gradient(&c->layout, false);
    return WSC_OK;
}

static enum wsc_err run_attention(struct pe_case *c)
{
    struct attention a = {0};
    enum wsc_err rc = attention(c, &a);
    float *const owned[] = {a.q, a.k, a.v, a.dout, a.got};
    kernels_pe_features_fini(&a.f);
    for (int i = 0; i < 5; i++)
        wsc_free(owned[i]);
    return rc;
}

/* ---- embedding ------------------------------------------------------------------------------- */

struct embedding {
    struct pe_features f;
    float *x, *table, *grad; /* owned */
    int32_t *ids;            /* owned */
};

static enum wsc_err random_ids(struct pe_case *c, int64_t n, int64_t below, int32_t **ids)
{
    const uint64_t stream = wsc_rng_stream(WSC_RNG_TEST, 1000 + c->n_drawn++);
    TRY_NEW(*ids, WSC_MEM_KERNELS, n);
    for (int64_t i = 0; i < n; i++)
        (*ids)[i] = (int32_t)(wsc_rng_u64(c->shape->seed, stream, (uint64_t)i) % (uint64_t)below);
    return WSC_OK;
}

static enum wsc_err embedding(struct pe_case *c, struct embedding *e)
{
    const struct mesh_case *s = c->shape;
    const int64_t n = s->features, rows = rows_of(c);
    struct pe_table t = {.rows = s->vocab, .scale = 1, .n_samples = (int)s->samples};
    TRY(kernels_pe_features_init(&e->f, (int)n, c->grid.w));
    TRY(random_tile(c, &t.x, &e->f, &e->x));
    TRY(kernels_pe_case_floats(c, s->vocab * n, &e->table));
    TRY(random_ids(c, rows, s->vocab, &e->ids));
    t.row_of_token = e->ids;
    c->result->form = s->backward ? kernels_cycles_scatter(&c->layout, (double)s->vocab)
                                  : kernels_cycles_gather(&c->layout, (double)s->vocab);
    if (!s->backward) {
        TRY(kernels_pe_run_gather(&c->grid, &t, e->table));
        double *want = kernels_pe_ref_alloc(rows * n);
        for (int64_t i = 0; i < rows * n; i++)
            want[i] = (double)e->table[e->ids[i / n] * n + i % n];
        return check_tile(c, &t.x, want);
    }
    TRY_NEW(e->grad, WSC_MEM_KERNELS, s->vocab * n);
    TRY(kernels_pe_run_scatter(&c->grid, &t, e->grad));
    double *want = kernels_pe_ref_alloc(s->vocab * n);
    for (int64_t i = 0; i < rows * n; i++)
        want[e->ids[i / n] * n + i % n] += (double)e->x[i];
    kernels_pe_case_compare(c, e->grad, want, s->vocab * n);
    return WSC_OK;
}

static enum wsc_err run_embedding(struct pe_case *c)
{
    struct embedding e = {0};
    enum wsc_err rc = embedding(c, &e);
    kernels_pe_features_fini(&e.f);
    wsc_free(e.x);
    wsc_free(e.table);
    wsc_free(e.grad);
    wsc_free(e.ids);
    return rc;
}

/* ---- cross entropy --------------------------------------------------------------------------- */

struct entropy {
    struct rows r;
    int32_t *labels, *mask, *best; /* owned */
    float *nats;                   /* owned */
};

/* Minus the number of each feature, where the program looks for it. */
static enum wsc_err write_numbers(struct pe_case *c, const struct pe_features *f, int address)
{
    for (int i = 0; i < f->n; i++) {
        const float number = (float)-i;
        const struct mesh_rect column = {f->column[i], 0, 1, 1};
        for (int y = 0; y < c->grid.h; y++)
            TRY(mesh_copy_in(c->grid.m, (struct mesh_rect){column.x, y, 1, 1},
                             address + 4 * f->slot[i], &number, sizeof number));
    }
    return WSC_OK;
}

static enum wsc_err entropy(struct pe_case *c, struct entropy *e)
{
    const struct mesh_case *s = c->shape;
    const int64_t rows = rows_of(c), n = s->vocab;
    struct pe_grid *g = &c->grid;
    int tokens;
    TRY(rows_init(c, &e->r, n));
    TRY(kernels_pe_reserve_words(g, PE_LOSS_ROWS * (int64_t)g->pitch, PE_BANK_TOKENS, "the loss",
                                 &tokens));
    TRY(write_numbers(c, &e->r.f, e->r.vector[0]));
    TRY(random_ids(c, rows, n, &e->labels));
    TRY(random_ids(c, rows, 1, &e->mask));
    TRY(random_ids(c, rows, 1, &e->best));
    TRY_NEW(e->nats, WSC_MEM_KERNELS, rows);
    for (int64_t i = 0; i < rows; i++)
        e->mask[i] = 1;
    const struct pe_loss l = {.logits = e->r.x,
                              .number = e->r.vector[0],
                              .tokens = tokens,
                              .labels = e->labels,
                              .mask = e->mask,
                              .scale = 1,
                              .tmp = &e->r.tmp};
    c->result->form = kernels_cycles_loss(&c->layout, e->r.f.slots);
    if (s->backward) c->result->form += kernels_cycles_loss_gradient(&c->layout, e->r.f.slots);
    TRY(kernels_pe_run_loss(g, &l, &(struct pe_losses){e->nats, e->best}));
    kernels_pe_case_compare(c, e->nats, kernels_pe_ref_loss(e->r.hx, e->labels, rows, n, false),
                            rows);
    if (!s->backward) return WSC_OK;
    TRY(kernels_pe_run_loss_backward(g, &l));
    return check_tile(c, &l.logits, kernels_pe_ref_loss(e->r.hx, e->labels, rows, n, true));
}

static enum wsc_err run_entropy(struct pe_case *c)
{
    struct entropy e = {0};
    enum wsc_err rc = entropy(c, &e);
    rows_fini(&e.r);
    wsc_free(e.labels);
    wsc_free(e.mask);
    wsc_free(e.best);
    wsc_free(e.nats);
    return rc;
}

/* ---- the table ------------------------------------------------------------------------------- */

static enum wsc_err check_shape(const struct mesh_case *s)
{
    enum { MOST = 1 << 16 };
    const int64_t rows = s->tokens * s->samples;
    if (rows > MOST)
        return WSC_RAISE(WSC_USAGE, "--tokens, --samples: %lld tokens in all, expected at most %d",
                         (long long)rows, MOST);
    return WSC_OK;
}

/* What the closed forms ask about a model. */
static void fill_model(struct pe_case *c)
{
    const struct mesh_case *s = c->shape;
    c->model = (struct model){.C = s->features,
                              .kv_heads = s->heads,
                              .causal = true,
                              .F = s->features,
                              .H = s->heads,
                              .V = s->vocab,
                              .T = s->tokens,
                              .head_dim = s->head_dim,
                              .nonlinearity = ZOO_GELU,
                              .format = NUM_FP32};
}

/* One run; its watch sees program number @p watched, *@p longest tells which took most cycles. */
static enum wsc_err run_once(const struct mesh_case *s, struct mesh_result *r,
                             enum wsc_err (*run)(struct pe_case *c), int watched, int *longest)
{
    const struct hw *hw = s->machine;
    struct hw_machine cluster = *hw->cluster;
    const struct hw machine = {.cluster = &cluster};
    struct pe_case c = {.shape = s, .result = r};
    *r = (struct mesh_result){.algo = s->algo ? s->algo : "", .form = -1};
    cluster.wafer.pe_cols = s->w;
    cluster.wafer.pe_rows = s->h;
    fill_model(&c);
    kernels_cycles_layout(&c.layout, &machine, &c.model, 1, s->samples);
    kernels_cycles_deal(&c.layout, s->samples);
    const double start = wsc_clock_s();
    const struct mesh_config config = {
        .w = s->w, .h = s->h, .arch = s->arch, .threads = s->threads};
    enum wsc_err rc = kernels_pe_grid_init(&c.grid, &config, s->tokens, (int)s->samples);
    c.grid.exp_cycles = (int)cluster.wafer.exp_cycles;
    c.grid.divide_cycles = (int)cluster.wafer.divide_cycles;
    c.grid.loop_cycles = (int)cluster.wafer.vector_loop_cycles;
    c.grid.watch = watched < 0 ? NULL : s->watch;
    c.grid.watched = watched;
    if (!rc) rc = run(&c);
    r->stats = c.grid.total;
    r->host_seconds = wsc_clock_s() - start;
    r->words = s->tokens * s->samples;
    *longest = c.grid.longest;
    kernels_pe_grid_fini(&c.grid);
    return rc;
}

/* A kernel of several programs is watched in its longest one, known from a first run. */
static enum wsc_err run_case(const struct mesh_case *s, struct mesh_result *r,
                             enum wsc_err (*run)(struct pe_case *c))
{
    int longest;
    TRY(check_shape(s));
    TRY(run_once(s, r, run, -1, &longest));
    return s->watch ? run_once(s, r, run, longest, &longest) : WSC_OK;
}

/* Name, function, algorithms, options, summary. */
#define KERNEL_MAP(XX)                                                                             \
    XX("linear", run_linear, "", "--tokens --samples --m --k",                                     \
       "Y = X W', W (m, k) streamed in; X and Y stay on the PEs")                                  \
    XX("wgrad", run_weight_gradient, "", "--tokens --samples --m --k",                             \
       "dW (m, k) = dY' X, summed over tokens, leaves at the edge")                                \
    XX("layernorm", run_layernorm, "", "--tokens --samples --features --pass", "over features")    \
    XX("rmsnorm", run_rmsnorm, "", "--tokens --samples --features --pass",                         \
       "the same without the mean")                                                                \
    XX("softmax", run_softmax, "", "--tokens --samples --features --pass", "over features")        \
    XX("gelu", run_gelu, "erf tanh", "--tokens --samples --features --pass", "elementwise")        \
    XX("silu", run_silu, "", "--tokens --samples --features --pass", "elementwise")                \
    XX("rotary", run_rotary, "", "--tokens --samples --heads --head_dim --pass",                   \
       "turn adjacent pairs of features by position")                                              \
    XX("attention", run_attention, "", "--tokens --samples --heads --head_dim --pass",             \
       "causal, head by head")                                                                     \
    XX("embedding", run_embedding, "", "--tokens --samples --features --vocab --pass",             \
       "rows of a streamed table; backward: sums of rows")                                         \
    XX("cross_entropy", run_entropy, "", "--tokens --samples --vocab --pass",                      \
       "loss of logits; backward: their gradient")

#define XX(name, function, algos, options, summary)                                                \
    static enum wsc_err case_##function(const struct mesh_case *s, struct mesh_result *r)          \
    {                                                                                              \
        return run_case(s, r, function);                                                           \
    }
KERNEL_MAP(XX)
#undef XX

static const struct mesh_kernel table[] = {
#define XX(name, function, algos, options, summary)                                                \
    {name, algos, options, summary, case_##function},
    KERNEL_MAP(XX)
#undef XX
};

const struct mesh_kernel *kernels_mesh_kernel_at(int i)
{
    return i >= 0 && i < (int)(sizeof table / sizeof *table) ? &table[i] : NULL;
}
