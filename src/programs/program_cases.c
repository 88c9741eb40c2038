// SPDX-License-Identifier: Apache-2.0
#include "program_cases.h"

#include <wsc/clock.h>
#include <wsc/mem.h>
#include <wsc/num.h>
#include <wsc/rng.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- what all cases do ----------------------------------------------------------------------- */

enum wsc_err programs_trial_floats(struct programs_trial *c, int64_t n, float **out)
{
    const uint64_t stream = wsc_rng_stream(WSC_RNG_TEST, 1000 + c->n_drawn++);
    TRY_NEW(*out, WSC_MEM_KERNELS, n);
    for (int64_t i = 0; i < n; i++)
        (*out)[i] = (float)(2 * wsc_rng_uniform(c->shape->seed, stream, (uint64_t)i) - 1);
    return WSC_OK;
}

void programs_trial_compare(struct programs_trial *c, const float *got, double *want, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const double error = fabs((double)got[i] - want[i]) / (1 + fabs(want[i]));
        c->result->max_error = num_max_error(c->result->max_error, error);
    }
    wsc_free(want);
}

static int64_t rows_of(const struct programs_trial *c)
{
    return c->shape->samples * c->shape->tokens;
}

/* A tile of random numbers; *host is owned by the caller. */
static enum wsc_err random_tile(struct programs_trial *c, struct programs_tile *t,
                                const struct programs_features *f, float **host)
{
    TRY(programs_reserve_tile(&c->grid, t, f, "a matrix"));
    TRY(programs_trial_floats(c, rows_of(c) * f->n, host));
    return programs_tile_in(&c->grid, t, *host);
}

static enum wsc_err check_tile(struct programs_trial *c, const struct programs_tile *t,
                               double *want)
{
    const int64_t n = rows_of(c) * t->f->n;
    float *got;
    TRY_NEW(got, WSC_MEM_KERNELS, n);
    enum wsc_err rc = programs_tile_out(&c->grid, t, got);
    if (!rc)
        programs_trial_compare(c, got, want, n);
    else
        wsc_free(want);
    wsc_free(got);
    return rc;
}

static struct programs_script script_of(const struct programs_trial *c,
                                        const struct programs_features *f)
{
    return (struct programs_script){.features = f, .n_samples = c->grid.n_samples};
}

static enum wsc_err run_script(struct programs_trial *c, struct programs_script *s)
{
    enum wsc_err rc = programs_run_script(&c->grid, s);
    programs_script_fini(s);
    return rc;
}

/* ---- products -------------------------------------------------------------------------------- */

struct matrices {
    struct programs_features in, out;
    float *x, *y, *w; /* owned */
};

static void matrices_fini(struct matrices *m)
{
    programs_features_fini(&m->in);
    programs_features_fini(&m->out);
    wsc_free(m->x);
    wsc_free(m->y);
    wsc_free(m->w);
}

static enum wsc_err linear(struct programs_trial *c, struct matrices *m)
{
    const struct programs_case *s = c->shape;
    struct programs_product p = {.n_parts = 1};
    TRY(programs_features_init(&m->in, (int)s->k, c->grid.w));
    TRY(programs_features_init(&m->out, (int)s->m, c->grid.w));
    TRY(random_tile(c, &p.in[0], &m->in, &m->x));
    TRY(programs_reserve_tile(&c->grid, &p.out[0], &m->out, "the output"));
    TRY(programs_trial_floats(c, s->m * s->k, &m->w));
    p.w[0] = (struct programs_weights){m->w, s->k, 1};
    TRY(programs_run_product(&c->grid, &p));
    const struct cycles_side in = cycles_side_of(&c->layout, s->k);
    c->result->form = cycles_product(&c->layout, &in, (double)s->m);
    return check_tile(c, &p.out[0], programs_ref_product(m->x, m->w, rows_of(c), s->m, s->k));
}

static enum wsc_err run_linear(struct programs_trial *c)
{
    struct matrices m = {0};
    enum wsc_err rc = linear(c, &m);
    matrices_fini(&m);
    return rc;
}

static enum wsc_err weight_gradient(struct programs_trial *c, struct matrices *m)
{
    const struct programs_case *s = c->shape;
    const struct cycles_side in = cycles_side_of(&c->layout, s->k);
    const struct cycles_side out = cycles_side_of(&c->layout, s->m);
    struct programs_weight_gradient p = {.n_samples = (int)s->samples,
                                         .by_columns = cycles_by_columns(&c->layout, &in, &out),
                                         .room = (int64_t)c->layout.room,
                                         .ld = s->k};
    TRY(programs_features_init(&m->in, (int)s->k, c->grid.w));
    TRY(programs_features_init(&m->out, (int)s->m, c->grid.w));
    TRY(random_tile(c, &p.x, &m->in, &m->x));
    TRY(random_tile(c, &p.dy, &m->out, &m->y));
    TRY_NEW(m->w, WSC_MEM_KERNELS, s->m * s->k);
    p.host = m->w;
    TRY(programs_run_weight_gradient(&c->grid, &p));
    c->result->form = cycles_weight_gradient(&c->layout, &in, &out);
    programs_trial_compare(
        c, m->w, programs_ref_weight_gradient(m->y, m->x, rows_of(c), s->m, s->k), s->m * s->k);
    return WSC_OK;
}

static enum wsc_err run_weight_gradient(struct programs_trial *c)
{
    struct matrices m = {0};
    enum wsc_err rc = weight_gradient(c, &m);
    matrices_fini(&m);
    return rc;
}

/* ---- rows of features ------------------------------------------------------------------------ */

struct rows {
    struct programs_features f;
    struct programs_tile x, y, tmp;
    float *hx, *hy, *gain, *bias; /* owned */
    int vector[2], tokens;
};

static void rows_fini(struct rows *r)
{
    programs_features_fini(&r->f);
    wsc_free(r->hx);
    wsc_free(r->hy);
    wsc_free(r->gain);
    wsc_free(r->bias);
}

/* x and dy (or the output), a tile and four vectors of tokens of scratch. */
static enum wsc_err rows_init(struct programs_trial *c, struct rows *r, int64_t features)
{
    struct programs_grid *g = &c->grid;
    TRY(programs_features_init(&r->f, (int)features, g->w));
    TRY(random_tile(c, &r->x, &r->f, &r->hx));
    TRY(random_tile(c, &r->y, &r->f, &r->hy));
    TRY(programs_reserve_tile(g, &r->tmp, &r->f, "scratch"));
    for (int i = 0; i < 2; i++)
        TRY(programs_reserve_words(g, r->f.slots, PROGRAMS_BANK_TILES, "a vector", &r->vector[i]));
    return programs_reserve_words(g, 4 * (int64_t)g->pitch, PROGRAMS_BANK_TOKENS,
                                  "vectors of tokens", &r->tokens);
}

static enum wsc_err gain_and_bias(struct programs_trial *c, struct rows *r,
                                  struct programs_script *s, bool bias)
{
    TRY(programs_trial_floats(c, r->f.n, &r->gain));
    if (bias) TRY(programs_trial_floats(c, r->f.n, &r->bias));
    s->in[0] = (struct programs_vector){.f = &r->f, .address = r->vector[0], .in = r->gain};
    s->in[1] = (struct programs_vector){.f = &r->f, .address = r->vector[1], .in = r->bias};
    s->n_in = bias ? 2 : 1;
    programs_vectors_in(s);
    return WSC_OK;
}

static enum wsc_err norm(struct programs_trial *c, struct rows *r, bool rms)
{
    struct programs_grid *g = &c->grid;
    TRY(rows_init(c, r, c->shape->features));
    struct programs_script s = script_of(c, &r->f);
    const struct programs_norm n = {.x = r->x,
                                    .gain = r->vector[0],
                                    .bias = rms ? -1 : r->vector[1],
                                    .stats = r->tokens,
                                    .sums = r->tokens + 8 * g->pitch,
                                    .eps = 1e-5F,
                                    .rms = rms};
    TRY(gain_and_bias(c, r, &s, !rms));
    struct programs_ref_norm ref = {
        .x = r->hx, .gain = r->gain, .bias = r->bias, .rows = rows_of(c), .n = r->f.n, .eps = 1e-5};
    c->model.norm = rms ? ZOO_RMSNORM : ZOO_LAYERNORM;
    c->result->form = cycles_norm(&c->layout);
    programs_norm_forward(g, &s, &n, c->shape->backward ? &r->tmp : &r->y, &r->tmp);
    if (!c->shape->backward) {
        TRY(run_script(c, &s));
        return check_tile(c, &r->y, programs_ref_norm(&ref));
    }
    /* dx is added to a tile that is 0: x of the script before is not needed any more. */
    struct programs_tile dx;
    TRY(programs_reserve_tile(g, &dx, &r->f, "the gradient"));
    programs_norm_backward(g, &s, &n, &r->y, &dx, &r->tmp);
    c->result->form = cycles_norm(&c->layout) + cycles_norm_input_gradient(&c->layout);
    ref.dy = r->hy;
    TRY(run_script(c, &s));
    return check_tile(c, &dx, programs_ref_norm(&ref));
}

static enum wsc_err
with_rows(struct programs_trial *c,
          enum wsc_err (*run)(struct programs_trial *c, struct rows *r, bool second), bool second)
{
    struct rows r = {0};
    enum wsc_err rc = run(c, &r, second);
    rows_fini(&r);
    return rc;
}

static enum wsc_err run_layernorm(struct programs_trial *c)
{
    return with_rows(c, norm, false);
}

static enum wsc_err run_rmsnorm(struct programs_trial *c)
{
    return with_rows(c, norm, true);
}

static enum wsc_err softmax(struct programs_trial *c, struct rows *r, bool unused)
{
    (void)unused;
    TRY(rows_init(c, r, c->shape->features));
    struct programs_script s = script_of(c, &r->f);
    const float *dy = c->shape->backward ? r->hy : NULL;
    programs_softmax(&c->grid, &s, &r->x, r->tokens);
    c->result->form = cycles_softmax(&c->layout, c->layout.hidden.k);
    if (dy) programs_softmax_backward(&c->grid, &s, &r->x, &r->y, r->tokens);
    if (dy) c->result->form += cycles_softmax_gradient(&c->layout, c->layout.hidden.k);
    TRY(run_script(c, &s));
    return check_tile(c, dy ? &r->y : &r->x, programs_ref_softmax(r->hx, dy, rows_of(c), r->f.n));
}

static enum wsc_err run_softmax(struct programs_trial *c)
{
    return with_rows(c, softmax, false);
}

static enum wsc_err activation(struct programs_trial *c, struct rows *r,
                               enum programs_nonlinearity f)
{
    TRY(rows_init(c, r, c->shape->features));
    struct programs_script s = script_of(c, &r->f);
    const float *dy = c->shape->backward ? r->hy : NULL;
    if (dy)
        programs_activate_backward(&c->grid, &s, f, &r->y, &r->x, &r->y);
    else
        programs_activate(&c->grid, &s, f, &r->y, &r->x);
    c->result->form = cycles_nonlinearity(&c->layout, c->layout.filter.k);
    TRY(run_script(c, &s));
    return check_tile(c, &r->y, programs_ref_activation(f, r->hx, dy, rows_of(c) * r->f.n));
}

static enum wsc_err gelu(struct programs_trial *c, struct rows *r, bool tanh_form)
{
    return activation(c, r, tanh_form ? PROGRAMS_GELU_NEW : PROGRAMS_GELU);
}

static enum wsc_err silu(struct programs_trial *c, struct rows *r, bool unused)
{
    (void)unused;
    return activation(c, r, PROGRAMS_SILU);
}

static enum wsc_err run_gelu(struct programs_trial *c)
{
    return with_rows(c, gelu, c->shape->algo && !strcmp(c->shape->algo, "tanh"));
}

static enum wsc_err run_silu(struct programs_trial *c)
{
    return with_rows(c, silu, false);
}

/* ---- rotary positions ------------------------------------------------------------------------ */

/* Cosines and sines (samples, T, pairs), pair i of a head at the first of its features. */
static enum wsc_err angle_tiles(struct programs_trial *c, const struct programs_features *f,
                                struct programs_rotary *r)
{
    const int64_t rows = rows_of(c), d = f->head_dim;
    struct programs_tile *const tile[2] = {&r->cosine, &r->sine};
    float *table;
    enum wsc_err rc = WSC_OK;
    TRY_NEW(table, WSC_MEM_KERNELS, rows * f->n);
    for (int i = 0; i < 2 && !rc; i++) {
        for (int64_t j = 0; j < rows * f->n; j++) {
            const int64_t token = j / f->n % c->grid.T, pair = j % d / 2;
            const double angle = (double)token * pow(10000, -2 * (double)pair / (double)d);
            table[j] = (float)(i ? sin(angle) : cos(angle));
        }
        rc = programs_reserve_tile(&c->grid, tile[i], f, "cosines and sines");
        if (!rc) rc = programs_tile_in(&c->grid, tile[i], table);
    }
    wsc_free(table);
    return rc;
}

static enum wsc_err rotary(struct programs_trial *c, struct programs_features *f, float **x)
{
    const struct programs_case *k = c->shape;
    struct programs_rotary r = {.back = k->backward};
    if (k->head_dim % 2)
        return WSC_RAISE(WSC_USAGE, "rotary: --head_dim %lld is odd, pairs need an even number",
                         (long long)k->head_dim);
    TRY(programs_features_init_heads(f, (int)k->heads, (int)k->head_dim, c->grid.w,
                                     PROGRAMS_PAIRS_ADJACENT));
    TRY(random_tile(c, &r.x, f, x));
    TRY(angle_tiles(c, f, &r));
    TRY(programs_reserve_tile(&c->grid, &r.tmp, f, "scratch"));
    struct programs_script s = script_of(c, f);
    programs_rotate(&s, &r);
    c->result->form = cycles_rotary(&c->layout, f->slots);
    TRY(run_script(c, &s));
    double *want = programs_ref_alloc(rows_of(c) * f->n);
    for (int64_t b = 0; b < k->samples; b++) {
        const int64_t n = k->tokens * f->n;
        double *one =
            programs_ref_rotary(*x + b * n, k->tokens, k->heads, k->head_dim, k->backward);
        memcpy(want + b * n, one, (size_t)n * sizeof *one);
        wsc_free(one);
    }
    return check_tile(c, &r.x, want);
}

static enum wsc_err run_rotary(struct programs_trial *c)
{
    struct programs_features f = {0};
    float *x = NULL;
    enum wsc_err rc = rotary(c, &f, &x);
    programs_features_fini(&f);
    wsc_free(x);
    return rc;
}

/* ---- attention ------------------------------------------------------------------------------- */

struct attention {
    struct programs_features f;
    float *q, *k, *v, *dout, *got; /* owned */
};

static enum wsc_err attention_tiles(struct programs_trial *c, struct attention *a,
                                    struct programs_attention *p)
{
    struct programs_grid *g = &c->grid;
    const int64_t words = programs_score_words(g, &a->f);
    TRY(random_tile(c, &p->q, &a->f, &a->q));
    TRY(random_tile(c, &p->k, &a->f, &a->k));
    TRY(random_tile(c, &p->v, &a->f, &a->v));
    TRY(programs_reserve_tile(g, &p->out, &a->f, "the output"));
    TRY(programs_reserve_words(g, words, PROGRAMS_BANK_SCORES, "probabilities", &p->scores));
    TRY(programs_reserve_words(g, 2 * (int64_t)a->f.heads_per_pe * g->tokens, PROGRAMS_BANK_TILES,
                               "sums", &p->tokens));
    if (!c->shape->backward) return WSC_OK;
    TRY(random_tile(c, &p->dout, &a->f, &a->dout));
    TRY(programs_reserve_words(g, words, PROGRAMS_BANK_SCORES, "their gradient", &p->dscores));
    TRY(programs_reserve_tile(g, &p->dq, &a->f, "gradients"));
    TRY(programs_reserve_tile(g, &p->dk, &a->f, "gradients"));
    return programs_reserve_tile(g, &p->dv, &a->f, "gradients");
}

/* Sample @p b of @p tile against part @p part of @p want. */
static enum wsc_err check_sample(struct programs_trial *c, struct attention *a,
                                 const struct programs_tile *tile, const double *want, int64_t b)
{
    const int64_t n = c->shape->tokens * a->f.n;
    double *copy = programs_ref_alloc(n);
    memcpy(copy, want, (size_t)n * sizeof *copy);
    TRY(programs_tile_out(&c->grid, tile, a->got));
    programs_trial_compare(c, a->got + b * n, copy, n);
    return WSC_OK;
}

static enum wsc_err attend_sample(struct programs_trial *c, struct attention *a,
                                  const struct programs_attention *p, int64_t b)
{
    const struct programs_case *s = c->shape;
    const int64_t n = s->tokens * a->f.n;
    const struct programs_ref_attention ref = {.q = a->q + b * n,
                                               .k = a->k + b * n,
                                               .v = a->v + b * n,
                                               .dout = s->backward ? a->dout + b * n : NULL,
                                               .T = s->tokens,
                                               .heads = s->heads,
                                               .d = s->head_dim};
    const struct programs_tile *const tile[3] = {s->backward ? &p->dq : &p->out, &p->dk, &p->dv};
    enum wsc_err rc = programs_run_attention(&c->grid, p);
    if (!rc && s->backward) rc = programs_run_attention_backward(&c->grid, p);
    if (rc) return rc;
    double *want = programs_ref_attention(&ref);
    for (int i = 0; i < (s->backward ? 3 : 1) && !rc; i++)
        rc = check_sample(c, a, tile[i], want + i * n, b);
    wsc_free(want);
    return rc;
}

static enum wsc_err attention(struct programs_trial *c, struct attention *a)
{
    const struct programs_case *s = c->shape;
    struct programs_attention p = {.room = (int64_t)c->layout.room,
                                   .scale = 1 / sqrtf((float)s->head_dim)};
    TRY(programs_features_init_heads(&a->f, (int)s->heads, (int)s->head_dim, c->grid.w,
                                     PROGRAMS_NO_PAIRS));
    TRY(attention_tiles(c, a, &p));
    TRY_NEW(a->got, WSC_MEM_KERNELS, rows_of(c) * a->f.n);
    for (int64_t b = 0; b < s->samples; b++) {
        p.sample = (int)b;
        TRY(attend_sample(c, a, &p, b));
    }
    c->result->form = cycles_attention(&c->layout);
    if (s->backward) c->result->form += cycles_attention_gradient(&c->layout, false);
    return WSC_OK;
}

static enum wsc_err run_attention(struct programs_trial *c)
{
    struct attention a = {0};
    enum wsc_err rc = attention(c, &a);
    float *const owned[] = {a.q, a.k, a.v, a.dout, a.got};
    programs_features_fini(&a.f);
    for (int i = 0; i < 5; i++)
        wsc_free(owned[i]);
    return rc;
}

/* ---- embedding ------------------------------------------------------------------------------- */

struct embedding {
    struct programs_features f;
    float *x, *table, *grad; /* owned */
    int32_t *ids;            /* owned */
};

static enum wsc_err random_ids(struct programs_trial *c, int64_t n, int64_t below, int32_t **ids)
{
    const uint64_t stream = wsc_rng_stream(WSC_RNG_TEST, 1000 + c->n_drawn++);
    TRY_NEW(*ids, WSC_MEM_KERNELS, n);
    for (int64_t i = 0; i < n; i++)
        (*ids)[i] = (int32_t)(wsc_rng_u64(c->shape->seed, stream, (uint64_t)i) % (uint64_t)below);
    return WSC_OK;
}

static enum wsc_err embedding(struct programs_trial *c, struct embedding *e)
{
    const struct programs_case *s = c->shape;
    const int64_t n = s->features, rows = rows_of(c);
    struct programs_table t = {.rows = s->vocab, .scale = 1, .n_samples = (int)s->samples};
    TRY(programs_features_init(&e->f, (int)n, c->grid.w));
    TRY(random_tile(c, &t.x, &e->f, &e->x));
    TRY(programs_trial_floats(c, s->vocab * n, &e->table));
    TRY(random_ids(c, rows, s->vocab, &e->ids));
    t.row_of_token = e->ids;
    c->result->form = s->backward ? cycles_scatter(&c->layout, (double)s->vocab)
                                  : cycles_gather(&c->layout, (double)s->vocab);
    if (!s->backward) {
        TRY(programs_run_table_gather(&c->grid, &t, e->table));
        double *want = programs_ref_alloc(rows * n);
        for (int64_t i = 0; i < rows * n; i++)
            want[i] = (double)e->table[e->ids[i / n] * n + i % n];
        return check_tile(c, &t.x, want);
    }
    TRY_NEW(e->grad, WSC_MEM_KERNELS, s->vocab * n);
    TRY(programs_run_table_scatter(&c->grid, &t, e->grad));
    double *want = programs_ref_alloc(s->vocab * n);
    for (int64_t i = 0; i < rows * n; i++)
        want[e->ids[i / n] * n + i % n] += (double)e->x[i];
    programs_trial_compare(c, e->grad, want, s->vocab * n);
    return WSC_OK;
}

static enum wsc_err run_embedding(struct programs_trial *c)
{
    struct embedding e = {0};
    enum wsc_err rc = embedding(c, &e);
    programs_features_fini(&e.f);
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
static enum wsc_err write_numbers(struct programs_trial *c, const struct programs_features *f,
                                  int address)
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

static enum wsc_err entropy(struct programs_trial *c, struct entropy *e)
{
    const struct programs_case *s = c->shape;
    const int64_t rows = rows_of(c), n = s->vocab;
    struct programs_grid *g = &c->grid;
    int tokens;
    TRY(rows_init(c, &e->r, n));
    TRY(programs_reserve_words(g, PROGRAMS_LOSS_ROWS * (int64_t)g->pitch, PROGRAMS_BANK_TOKENS,
                               "the loss", &tokens));
    TRY(write_numbers(c, &e->r.f, e->r.vector[0]));
    TRY(random_ids(c, rows, n, &e->labels));
    TRY(random_ids(c, rows, 1, &e->mask));
    TRY(random_ids(c, rows, 1, &e->best));
    TRY_NEW(e->nats, WSC_MEM_KERNELS, rows);
    for (int64_t i = 0; i < rows; i++)
        e->mask[i] = 1;
    const struct programs_loss l = {.logits = e->r.x,
                                    .number = e->r.vector[0],
                                    .tokens = tokens,
                                    .labels = e->labels,
                                    .mask = e->mask,
                                    .scale = 1,
                                    .tmp = &e->r.tmp};
    c->result->form = cycles_loss(&c->layout, e->r.f.slots);
    if (s->backward) c->result->form += cycles_loss_gradient(&c->layout, e->r.f.slots);
    TRY(programs_run_loss(g, &l, &(struct programs_losses){e->nats, e->best}));
    programs_trial_compare(c, e->nats, programs_ref_loss(e->r.hx, e->labels, rows, n, false), rows);
    if (!s->backward) return WSC_OK;
    TRY(programs_run_loss_backward(g, &l));
    return check_tile(c, &l.logits, programs_ref_loss(e->r.hx, e->labels, rows, n, true));
}

static enum wsc_err run_entropy(struct programs_trial *c)
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

static enum wsc_err check_shape(const struct programs_case *s)
{
    enum { MOST = 1 << 16 };
    const int64_t rows = s->tokens * s->samples;
    if (rows > MOST)
        return WSC_RAISE(WSC_USAGE, "--tokens, --samples: %lld tokens in all, expected at most %d",
                         (long long)rows, MOST);
    return WSC_OK;
}

/* What the closed forms ask about a model. */
static void fill_model(struct programs_trial *c)
{
    const struct programs_case *s = c->shape;
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
static enum wsc_err run_once(const struct programs_case *s, struct programs_result *r,
                             enum wsc_err (*run)(struct programs_trial *c), int watched,
                             int *longest)
{
    const struct hw *hw = s->hw;
    struct hw_machine cluster = *hw->cluster;
    const struct hw machine = {.cluster = &cluster};
    struct programs_trial c = {.shape = s, .result = r};
    *r = (struct programs_result){.algo = s->algo ? s->algo : "", .form = -1};
    cluster.wafer.pe_cols = s->w;
    cluster.wafer.pe_rows = s->h;
    fill_model(&c);
    cycles_layout_init(&c.layout, &machine, &c.model, 1, s->samples);
    cycles_layout_round_robin(&c.layout, s->samples);
    const double start = wsc_clock_s();
    const struct mesh_config config = {
        .w = s->w, .h = s->h, .arch = s->arch, .threads = s->threads};
    enum wsc_err rc = programs_grid_init(&c.grid, &config, s->tokens, (int)s->samples);
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
    programs_grid_fini(&c.grid);
    return rc;
}

/* A kernel of several programs is watched in its longest one, known from a first run. */
static enum wsc_err run_case(const struct programs_case *s, struct programs_result *r,
                             enum wsc_err (*run)(struct programs_trial *c))
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
    static enum wsc_err case_##function(const struct programs_case *s, struct programs_result *r)  \
    {                                                                                              \
        return run_case(s, r, function);                                                           \
    }
KERNEL_MAP(XX)
#undef XX

static const struct programs_kernel table[] = {
#define XX(name, function, algos, options, summary)                                                \
    {name, algos, options, summary, case_##function},
    KERNEL_MAP(XX)
#undef XX
};

const struct programs_kernel *programs_transformer_at(int i)
{
    return i >= 0 && i < (int)(sizeof table / sizeof *table) ? &table[i] : NULL;
}
