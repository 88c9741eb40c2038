// SPDX-License-Identifier: Apache-2.0
/* Runs the operations of a transformer one by one: each lays the caller's operands on a fabric of
 * its own, runs the program, and returns the result. The table of operations (kernels_table.c)
 * samples the operands, compares with the definition and shows the analytical model beside the
 * simulated cycles. The programs themselves are in program_product.c, program_norm.c and so on. */
#include "program_columns.h"
#include "program_embedding.h"
#include "program_grid.h"
#include "program_loss.h"
#include "program_norm.h"
#include "program_product.h"
#include "program_scores.h"
#include "program_softmax.h"
#include "program_vector_ops.h"

#include <wsc/clock.h>
#include <wsc/cycles_ops.h>
#include <wsc/hw.h>
#include <wsc/mem.h>
#include <wsc/model.h>
#include <wsc/num.h>
#include <wsc/programs.h>
#include <wsc/zoo.h>

#include <math.h>
#include <string.h>

/* One operation on its own fabric; programs_operate() creates it from the case. */
struct programs_trial {
    const struct programs_case *c;
    struct programs_grid grid;
    struct programs_layout lay;
};

static int64_t rows_of(const struct programs_trial *t)
{
    return t->c->samples * t->c->tokens;
}

/* Reserve a tile and fill it from @p host (rows, f->n). */
static enum wsc_err tile_with(struct programs_trial *t, struct programs_tile *tile,
                              const struct programs_features *f, const float *host)
{
    TRY(programs_reserve_tile(&t->grid, tile, f, "a matrix"));
    return programs_tile_in(&t->grid, tile, host);
}

/* Reserve a tile of 32-bit numbers, whatever the format, and fill it from @p host. */
static enum wsc_err wide_tile_with(struct programs_trial *t, struct programs_tile *tile,
                                   const struct programs_features *f, const float *host)
{
    TRY(programs_reserve_sums(&t->grid, tile, f, "a matrix"));
    return programs_tile_in(&t->grid, tile, host);
}

static struct programs_script script_of(const struct programs_trial *t,
                                        const struct programs_features *f)
{
    return (struct programs_script){.features = f, .n_samples = t->grid.n_samples};
}

static enum wsc_err run_script(struct programs_trial *t, struct programs_script *s)
{
    enum wsc_err rc = programs_run_script(&t->grid, s);
    programs_script_fini(s);
    return rc;
}

/* ---- products -------------------------------------------------------------------------------- */

/* Input and output features of a product, and which elements of its matrix are not zero. */
struct matrices {
    struct programs_features in, out;
    uint64_t *kept; /* owned; NULL: the matrix is dense */
};

/* Set in @p kept the bits of the elements of @p w (m, k) that are not zero; NULL for a dense
 * case. */
static enum wsc_err find_kept(const struct programs_trial *t, const float *w, uint64_t **kept)
{
    const int64_t n = t->c->m * t->c->k;
    if (!(t->c->density > 0 && t->c->density < 1)) return WSC_OK;
    TRY_NEW(*kept, WSC_MEM_KERNELS, (n + 63) / 64);
    for (int64_t e = 0; e < n; e++)
        if (fpclassify(w[e]) != FP_ZERO) (*kept)[e / 64] |= UINT64_C(1) << e % 64;
    return WSC_OK;
}

static enum wsc_err matrices_init(struct programs_trial *t, struct matrices *m, const float *w)
{
    TRY(programs_features_init(&m->in, (int)t->c->k, t->grid.w));
    TRY(programs_features_init(&m->out, (int)t->c->m, t->grid.w));
    return find_kept(t, w, &m->kept);
}

static void matrices_fini(struct matrices *m)
{
    programs_features_fini(&m->in);
    programs_features_fini(&m->out);
    wsc_free(m->kept);
}

/* out (rows, m) = x (rows, k) W', W (m, k) row-major; backward out (rows, k) = x (rows, m) W. */
static enum wsc_err linear(struct programs_trial *t, struct matrices *m,
                           const struct programs_operands *o)
{
    const bool back = t->c->backward;
    struct programs_product p = {.n_parts = 1};
    TRY(matrices_init(t, m, o->x[1]));
    TRY(tile_with(t, &p.in[0], back ? &m->out : &m->in, o->x[0]));
    TRY(programs_reserve_tile(&t->grid, &p.out[0], back ? &m->in : &m->out, "the output"));
    p.w[0] = (struct programs_weights){
        .at = o->x[1], .ld_out = back ? 1 : t->c->k, .ld_in = back ? t->c->k : 1, .kept = m->kept};
    TRY(programs_run_product(&t->grid, &p));
    return programs_tile_out(&t->grid, &p.out[0], o->out);
}

enum wsc_err programs_linear(struct programs_trial *t, const struct programs_operands *o)
{
    struct matrices m = {0};
    enum wsc_err rc = linear(t, &m, o);
    matrices_fini(&m);
    return rc;
}

/* dW (m, k) = dy' x over all rows. */
static enum wsc_err weight_gradient(struct programs_trial *t, struct matrices *m,
                                    const struct programs_operands *o)
{
    const struct cycles_layout *l = &t->lay.layout;
    const struct cycles_side in = cycles_side_of(l, t->c->k), out = cycles_side_of(l, t->c->m);
    struct programs_weight_gradient p = {
        .n_samples = (int)t->c->samples, .room = (int64_t)l->room, .ld = t->c->k, .host = o->out};
    TRY(matrices_init(t, m, o->x[2]));
    p.how = cycles_gradient_way(l, &in, &out, m->kept ? t->c->density : 1);
    p.kept = m->kept;
    TRY(tile_with(t, &p.x, &m->in, o->x[0]));
    TRY(tile_with(t, &p.dy, &m->out, o->x[1]));
    return programs_sum_weights(&t->grid, &p);
}

enum wsc_err programs_wgrad(struct programs_trial *t, const struct programs_operands *o)
{
    struct matrices m = {0};
    enum wsc_err rc = weight_gradient(t, &m, o);
    matrices_fini(&m);
    return rc;
}

/* ---- rows of features ------------------------------------------------------------------------ */

/* Memory of operations on rows of features: tiles, vectors of features, vectors of tokens. */
struct rows {
    struct programs_features f;
    struct programs_tile x, y, tmp;
    int vector[2], tokens;
};

/* Reserve tiles for the first two operands, a tile of scratch, and four vectors of tokens of
 * scratch. */
static enum wsc_err rows_init(struct programs_trial *t, struct rows *r, int64_t features,
                              const struct programs_operands *o)
{
    struct programs_grid *g = &t->grid;
    TRY(programs_features_init(&r->f, (int)features, g->w));
    TRY(tile_with(t, &r->x, &r->f, o->x[0]));
    TRY(tile_with(t, &r->y, &r->f, o->x[1]));
    TRY(programs_reserve_tile(g, &r->tmp, &r->f, "scratch"));
    for (int i = 0; i < 2; i++)
        TRY(programs_reserve_words(g, r->f.slots, PROGRAMS_BANK_TILES, "a vector", &r->vector[i]));
    return programs_reserve_words(g, 4 * (int64_t)g->pitch, PROGRAMS_BANK_TOKENS,
                                  "vectors of tokens", &r->tokens);
}

/* Let the script load gain and bias, operands 2 and 3. */
static void gain_and_bias(const struct rows *r, struct programs_script *s,
                          const struct programs_operands *o, bool bias)
{
    for (int i = 0; i < 2; i++)
        s->in[i] = (struct programs_vector){.f = &r->f,
                                            .address = r->vector[i],
                                            .in = bias || !i ? o->x[2 + i] : NULL,
                                            .half = r->x.half};
    s->n_in = bias ? 2 : 1;
    programs_vectors_in(s);
}

/* The forward steps are always run, since the gradient needs the statistics. */
static enum wsc_err norm(struct programs_trial *t, struct rows *r, bool rms,
                         const struct programs_operands *o)
{
    struct programs_grid *g = &t->grid;
    TRY(rows_init(t, r, t->c->features, o));
    struct programs_script s = script_of(t, &r->f);
    const struct programs_norm n = {.x = r->x,
                                    .gain = r->vector[0],
                                    .bias = rms ? -1 : r->vector[1],
                                    .stats = r->tokens,
                                    .sums = r->tokens + 8 * g->pitch,
                                    .eps = PROGRAMS_NORM_EPS,
                                    .rms = rms};
    gain_and_bias(r, &s, o, !rms);
    programs_norm_forward(g, &s, &n, t->c->backward ? &r->tmp : &r->y, &r->tmp);
    if (!t->c->backward) {
        TRY(run_script(t, &s));
        return programs_tile_out(g, &r->y, o->out);
    }
    /* dx is added to a new tile, which is 0. */
    struct programs_tile dx;
    TRY(programs_reserve_tile(g, &dx, &r->f, "the gradient"));
    programs_norm_backward(g, &s, &n, &r->y, &dx, &r->tmp);
    TRY(run_script(t, &s));
    return programs_tile_out(g, &dx, o->out);
}

/* The gradient follows the forward steps in the same script, from the probabilities in place. */
static enum wsc_err softmax(struct programs_trial *t, struct rows *r, bool unused,
                            const struct programs_operands *o)
{
    (void)unused;
    TRY(rows_init(t, r, t->c->features, o));
    struct programs_script s = script_of(t, &r->f);
    programs_softmax(&t->grid, &s, &r->x, r->tokens);
    if (t->c->backward) programs_softmax_backward(&t->grid, &s, &r->x, &r->y, r->tokens);
    TRY(run_script(t, &s));
    return programs_tile_out(&t->grid, t->c->backward ? &r->y : &r->x, o->out);
}

static enum wsc_err activation(struct programs_trial *t, struct rows *r, enum zoo_nonlinearity f,
                               const struct programs_operands *o)
{
    TRY(rows_init(t, r, t->c->features, o));
    struct programs_script s = script_of(t, &r->f);
    if (t->c->backward)
        programs_activate_backward(&t->grid, &s, f, &r->y, &r->x, &r->y);
    else
        programs_activate(&t->grid, &s, f, &r->y, &r->x);
    TRY(run_script(t, &s));
    return programs_tile_out(&t->grid, &r->y, o->out);
}

static enum wsc_err gelu(struct programs_trial *t, struct rows *r, bool by_tanh,
                         const struct programs_operands *o)
{
    return activation(t, r, by_tanh ? ZOO_GELU_NEW : ZOO_GELU, o);
}

static enum wsc_err silu(struct programs_trial *t, struct rows *r, bool unused,
                         const struct programs_operands *o)
{
    (void)unused;
    return activation(t, r, ZOO_SILU, o);
}

/* Run an operation on rows and free them in any case; @p second selects one of two variants. */
static enum wsc_err with_rows(struct programs_trial *t, const struct programs_operands *o,
                              enum wsc_err (*run)(struct programs_trial *t, struct rows *r,
                                                  bool second, const struct programs_operands *o),
                              bool second)
{
    struct rows r = {0};
    enum wsc_err rc = run(t, &r, second, o);
    programs_features_fini(&r.f);
    return rc;
}

enum wsc_err programs_layernorm(struct programs_trial *t, const struct programs_operands *o)
{
    return with_rows(t, o, norm, false);
}

enum wsc_err programs_rmsnorm(struct programs_trial *t, const struct programs_operands *o)
{
    return with_rows(t, o, norm, true);
}

enum wsc_err programs_row_softmax(struct programs_trial *t, const struct programs_operands *o)
{
    return with_rows(t, o, softmax, false);
}

enum wsc_err programs_gelu(struct programs_trial *t, const struct programs_operands *o)
{
    return with_rows(t, o, gelu, t->c->algo && !strcmp(t->c->algo, "tanh"));
}

enum wsc_err programs_silu(struct programs_trial *t, const struct programs_operands *o)
{
    return with_rows(t, o, silu, false);
}

/* ---- rotary positions ------------------------------------------------------------------------ */

/* Fill the tiles of cosines and sines from (samples, T, pairs); pair i of a head is stored at the
 * first of its two features. */
static enum wsc_err angle_tiles(struct programs_trial *t, const struct programs_features *f,
                                struct programs_rotary *r)
{
    const int64_t rows = rows_of(t), d = f->head_dim;
    struct programs_tile *const tile[2] = {&r->cosine, &r->sine};
    float *table;
    enum wsc_err rc = WSC_OK;
    TRY_NEW(table, WSC_MEM_KERNELS, rows * f->n);
    for (int i = 0; i < 2 && !rc; i++) {
        for (int64_t j = 0; j < rows * f->n; j++) {
            const int64_t token = j / f->n % t->grid.T, pair = j % d / 2;
            const double angle = (double)token * pow(10000, -2 * (double)pair / (double)d);
            table[j] = (float)(i ? sin(angle) : cos(angle));
        }
        rc = programs_reserve_tile(&t->grid, tile[i], f, "cosines and sines");
        if (!rc) rc = programs_tile_in(&t->grid, tile[i], table);
    }
    wsc_free(table);
    return rc;
}

static enum wsc_err rotary(struct programs_trial *t, struct programs_features *f,
                           const struct programs_operands *o)
{
    const struct programs_case *c = t->c;
    struct programs_rotary r = {.back = c->backward};
    if (c->head_dim % 2)
        return WSC_RAISE(WSC_USAGE, "rotary: --head_dim %lld is odd, pairs need an even number",
                         (long long)c->head_dim);
    TRY(programs_features_init_heads(f, (int)c->heads, (int)c->head_dim, t->grid.w,
                                     PROGRAMS_PAIRS_ADJACENT));
    TRY(tile_with(t, &r.x, f, o->x[0]));
    TRY(angle_tiles(t, f, &r));
    TRY(programs_reserve_tile(&t->grid, &r.tmp, f, "scratch"));
    struct programs_script s = script_of(t, f);
    programs_rotate(&s, &r);
    TRY(run_script(t, &s));
    return programs_tile_out(&t->grid, &r.x, o->out);
}

enum wsc_err programs_rotate_heads(struct programs_trial *t, const struct programs_operands *o)
{
    struct programs_features f = {0};
    enum wsc_err rc = rotary(t, &f, o);
    programs_features_fini(&f);
    return rc;
}

/* ---- attention ------------------------------------------------------------------------------- */

/* Reserve tiles by heads; those of the gradient only if it is computed. */
static enum wsc_err attention_tiles(struct programs_trial *t, const struct programs_features *f,
                                    struct programs_attention *p, const struct programs_operands *o)
{
    struct programs_grid *g = &t->grid;
    const int64_t words = programs_score_words(g, f);
    TRY(tile_with(t, &p->q, f, o->x[0]));
    TRY(tile_with(t, &p->k, f, o->x[1]));
    TRY(tile_with(t, &p->v, f, o->x[2]));
    TRY(programs_reserve_tile(g, &p->out, f, "the output"));
    TRY(programs_reserve_words(g, words, PROGRAMS_BANK_SCORES, "probabilities", &p->scores));
    TRY(programs_reserve_words(g, 2 * (int64_t)f->heads_per_pe * g->tokens, PROGRAMS_BANK_TILES,
                               "sums", &p->tokens));
    if (t->c->softcap > 0)
        TRY(programs_reserve_words(g, words, PROGRAMS_BANK_SCORES, "capped scores",
                                   &p->shaping.capped));
    if (!t->c->backward) return WSC_OK;
    TRY(tile_with(t, &p->dout, f, o->x[3]));
    TRY(programs_reserve_words(g, words, PROGRAMS_BANK_SCORES, "their gradient", &p->dscores));
    TRY(programs_reserve_tile(g, &p->dq, f, "gradients"));
    TRY(programs_reserve_tile(g, &p->dk, f, "gradients"));
    return programs_reserve_tile(g, &p->dv, f, "gradients");
}

static enum wsc_err attention(struct programs_trial *t, struct programs_features *f,
                              const float *slope, const struct programs_operands *o)
{
    const struct programs_case *c = t->c;
    struct programs_attention p = {.room = (int64_t)t->lay.layout.room,
                                   .arrives = cycles_keys_arrive(&t->lay.layout),
                                   .scale = 1 / sqrtf((float)c->head_dim),
                                   .shaping = {.cap = (float)c->softcap, .slope = slope}};
    TRY(programs_features_init_heads(f, (int)c->heads, (int)c->head_dim, t->grid.w,
                                     PROGRAMS_NO_PAIRS));
    programs_order_keys(&t->grid, f);
    TRY(attention_tiles(t, f, &p, o));
    for (p.sample = 0; p.sample < c->samples; p.sample++) {
        TRY(programs_run_attention(&t->grid, &p));
        if (c->backward) TRY(programs_run_attention_backward(&t->grid, &p));
    }
    const struct programs_tile *const tile[3] = {c->backward ? &p.dq : &p.out, &p.dk, &p.dv};
    for (int i = 0; i < (c->backward ? 3 : 1); i++)
        TRY(programs_tile_out(&t->grid, tile[i], o->out + i * rows_of(t) * f->n));
    return WSC_OK;
}

enum wsc_err programs_attend(struct programs_trial *t, const struct programs_operands *o)
{
    struct programs_features f = {0};
    float *slope = NULL;
    if (t->c->alibi) TRY_NEW(slope, WSC_MEM_KERNELS, t->c->heads);
    for (int64_t h = 0; slope && h < t->c->heads; h++)
        slope[h] = model_alibi_slope(&t->lay.model, h);
    enum wsc_err rc = attention(t, &f, slope, o);
    wsc_free(slope);
    programs_features_fini(&f);
    return rc;
}

/* ---- embedding ------------------------------------------------------------------------------- */

static enum wsc_err embedding(struct programs_trial *t, struct programs_features *f,
                              const struct programs_operands *o)
{
    const struct programs_case *c = t->c;
    struct programs_table table = {
        .rows = c->vocab, .scale = 1, .n_samples = (int)c->samples, .row_of_token = o->ids};
    TRY(programs_features_init(f, (int)c->features, t->grid.w));
    TRY(tile_with(t, &table.x, f, o->x[0]));
    if (c->backward) return programs_run_table_scatter(&t->grid, &table, o->out);
    TRY(programs_run_table_gather(&t->grid, &table, o->x[1]));
    return programs_tile_out(&t->grid, &table.x, o->out);
}

enum wsc_err programs_embedding(struct programs_trial *t, const struct programs_operands *o)
{
    struct programs_features f = {0};
    enum wsc_err rc = embedding(t, &f, o);
    programs_features_fini(&f);
    return rc;
}

/* ---- cross entropy --------------------------------------------------------------------------- */

/* Write minus the index of each feature, which the loss uses to find the lowest index of the
 * largest logits. */
static enum wsc_err write_numbers(struct programs_trial *t, const struct programs_features *f,
                                  int address)
{
    for (int i = 0; i < f->n; i++) {
        const float number = (float)-i;
        for (int y = 0; y < t->grid.h; y++)
            TRY(mesh_copy_in(t->grid.m, (struct mesh_rect){f->column[i], y, 1, 1},
                             address + 4 * f->slot[i], &number, sizeof number));
    }
    return WSC_OK;
}

/* Every token is in the loss. The gradient needs what the loss leaves on the PEs, so both are
 * run. */
static enum wsc_err entropy(struct programs_trial *t, struct rows *r, int32_t *mask, int32_t *best,
                            const struct programs_operands *o)
{
    struct programs_grid *g = &t->grid;
    int tokens;
    TRY(programs_features_init(&r->f, (int)t->c->vocab, g->w));
    TRY(wide_tile_with(t, &r->x, &r->f, o->x[0]));
    TRY(wide_tile_with(t, &r->tmp, &r->f, o->x[1]));
    TRY(programs_reserve_words(g, r->f.slots, PROGRAMS_BANK_TILES, "a vector", &r->vector[0]));
    TRY(programs_reserve_words(g, PROGRAMS_LOSS_ROWS * (int64_t)g->pitch, PROGRAMS_BANK_TOKENS,
                               "the loss", &tokens));
    TRY(write_numbers(t, &r->f, r->vector[0]));
    for (int64_t i = 0; i < rows_of(t); i++)
        mask[i] = 1;
    const struct programs_loss l = {.logits = r->x,
                                    .number = r->vector[0],
                                    .tokens = tokens,
                                    .labels = o->ids,
                                    .mask = mask,
                                    .scale = 1,
                                    .tmp = &r->tmp};
    TRY(programs_run_loss(g, &l, &(struct programs_losses){o->out, best}));
    if (!t->c->backward) return WSC_OK;
    TRY(programs_run_loss_backward(g, &l));
    return programs_tile_out(g, &l.logits, o->out + rows_of(t));
}

enum wsc_err programs_cross_entropy(struct programs_trial *t, const struct programs_operands *o)
{
    struct rows r = {0};
    int32_t *mask;
    TRY_NEW(mask, WSC_MEM_KERNELS, 2 * rows_of(t));
    enum wsc_err rc = entropy(t, &r, mask, mask + rows_of(t), o);
    programs_features_fini(&r.f);
    wsc_free(mask);
    return rc;
}

/* ---- running one ----------------------------------------------------------------------------- */

/* The layout of the analytical model for the case: a wafer of the size of its fabric, a model of
 * its sizes. */
void programs_layout_init(struct programs_layout *l, const struct programs_case *c)
{
    struct hw_machine cluster = *c->hw->cluster;
    const struct hw machine = {.cluster = &cluster};
    cluster.wafer.pe_cols = c->w;
    cluster.wafer.pe_rows = c->h;
    programs_documented_rates(&cluster, c->arch);
    l->model = (struct model){.C = c->features,
                              .kv_heads = c->heads,
                              .causal = !c->both_ways,
                              .F = c->features,
                              .H = c->heads,
                              .V = c->vocab,
                              .T = c->tokens,
                              .head_dim = c->head_dim,
                              .nonlinearity = ZOO_GELU,
                              .position_scale = 1,
                              .format = c->format};
    l->model.zoo.attention_logit_softcapping = c->softcap;
    if (c->alibi) l->model.zoo.position_embedding_type = ZOO_POSITION_ALIBI;
    cycles_layout_init(&l->layout, &machine, &l->model, 1, c->samples);
    cycles_layout_round_robin(&l->layout, c->samples);
    if (c->room) l->layout.room = (double)c->room;
}

/* Run the operation once. The observer sees program number @p watched; @p longest is set to the
 * number of the longest program. */
static enum wsc_err run_once(const struct programs_case *c, programs_op_fn op,
                             const struct programs_operands *o, struct programs_result *r,
                             int watched, int *longest)
{
    const struct hw_wafer *wafer = &c->hw->cluster->wafer;
    struct programs_trial t = {.c = c};
    *r = (struct programs_result){.algo = c->algo ? c->algo : "", .analytical = -1};
    programs_layout_init(&t.lay, c);
    const double start = wsc_clock_s();
    const struct programs_grid_config config = {.mesh = {.w = c->w,
                                                         .h = c->h,
                                                         .arch = c->arch,
                                                         .threads = c->threads,
                                                         .share = c->share,
                                                         .progress = c->progress,
                                                         .stop = c->stop,
                                                         .progress_ctx = c->progress_ctx,
                                                         .snapshots = c->snapshots},
                                                .T = c->tokens,
                                                .max_samples = (int)c->samples,
                                                .format = c->format,
                                                .both_ways = c->both_ways};
    enum wsc_err rc = programs_grid_init(&t.grid, &config);
    if (!rc) rc = programs_grid_rates(&t.grid, wafer);
    t.grid.watch = watched < 0 ? NULL : c->watch;
    t.grid.watched = watched;
    if (!rc) rc = op(&t, o);
    r->stats = t.grid.total;
    r->host_seconds = wsc_clock_s() - start;
    r->words = c->tokens * c->samples;
    *longest = t.grid.longest;
    if (c->watch) mesh_watch_of(c->watch, t.grid.longest, t.grid.n_programs);
    programs_grid_fini(&t.grid);
    return rc;
}

/* In an operation of several programs the longest one is observed; a first run determines it. */
enum wsc_err programs_operate(const struct programs_case *c, programs_op_fn op,
                              const struct programs_operands *o, struct programs_result *r)
{
    int longest;
    TRY(run_once(c, op, o, r, -1, &longest));
    return c->watch ? run_once(c, op, o, r, longest, &longest) : WSC_OK;
}
