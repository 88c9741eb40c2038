// SPDX-License-Identifier: Apache-2.0
/* Computes dropout on the mesh, as scalar code of a script. For each of its elements a PE computes
 * a random number from the seed of the step, the sample, the place and the element, so that the
 * backward pass drops the same elements without a mask in memory. program_stage_dropout.c and
 * program_softmax.c call it. */
#include "program_dropout.h"
#include "program_scores.h"
#include "program_vector_ops.h"

#include <wsc/cycles_ops.h>
#include <wsc/rng.h>

/* What the scalar code of a script reads. */
struct dropped {
    const struct programs_drop *d;
    struct programs_tile to, from; /* of scores: their addresses */
    int sample;                    /* for scores: the sample of each lane */
};

/* Load the number at @p address; a 16-bit number is half of a word. */
static enum wsc_err load(const struct mesh_pe *pe, const struct programs_grid *g, int address,
                         bool half, float *value)
{
    union {
        uint32_t bits;
        float value;
    } x;
    TRY(mesh_load(pe, address - address % 4, &x.bits));
    *value =
        half ? mesh_half_to_float(g->format, (uint16_t)(x.bits >> 8 * (address % 4))) : x.value;
    return WSC_OK;
}

static enum wsc_err store(struct mesh_pe *pe, const struct programs_grid *g, int address, bool half,
                          float value)
{
    union {
        float value;
        uint32_t bits;
    } x = {value};
    const int shift = 8 * (address % 4);
    if (!half) return mesh_store(pe, address, x.bits);
    TRY(mesh_load(pe, address - address % 4, &x.bits));
    x.bits &= ~(UINT32_C(0xffff) << shift);
    x.bits |= (uint32_t)mesh_half_from_double(g->format, (double)value) << shift;
    return mesh_store(pe, address - address % 4, x.bits);
}

/* Drop or scale element @p element of sample @p sample of the micro-batch. */
static enum wsc_err drop_one(struct mesh_pe *pe, const struct dropped *x, int64_t sample,
                             int64_t element, const int address[2])
{
    const struct programs_grid *g = programs_grid_of(pe);
    const struct programs_drop *d = x->d;
    uint32_t word;
    float value = 0;
    wsc_rng_words(&word, d->seed, model_dropout_stream(&d->at, d->first_sample + sample),
                  (uint64_t)element, 1);
    TRY(load(pe, g, address[1], x->from.half, &value));
    return store(pe, g, address[0], x->to.half, word < d->at.below ? 0 : value * d->at.factor);
}

/* Charge the scalar code: a random number, a comparison, a product and a store for each of @p n
 * elements. */
static enum wsc_err charge(struct mesh_pe *pe, int64_t n)
{
    return n ? mesh_wait(pe, n * (PROGRAMS_RANDOM_CYCLES + CYCLES_COMPARE)) : WSC_OK;
}

/* ---- hidden features ------------------------------------------------------------------------- */

/* Apply dropout to feature @p i, which the PE holds, of all its tokens. */
static enum wsc_err drop_feature(struct mesh_pe *pe, const struct dropped *x,
                                 const struct programs_features *f, int i)
{
    const struct programs_grid *g = programs_grid_of(pe);
    const int row = programs_row_of(pe);
    for (int t = 0; t < programs_row_tokens(g, row); t++) {
        const int64_t token = programs_token_at(g, row, t);
        const int address[2] = {programs_at(g, &x->to, f->slot[i], t),
                                programs_at(g, &x->from, f->slot[i], t)};
        TRY(drop_one(pe, x, token / g->T, token % g->T * f->n + i, address));
    }
    return WSC_OK;
}

static enum wsc_err drop_tile(struct mesh_pe *pe, const struct programs_script *s,
                              const struct programs_step *step)
{
    const struct programs_features *f = s->features;
    const int column = programs_column_of(pe);
    const int n = programs_row_tokens(programs_grid_of(pe), programs_row_of(pe));
    (void)step;
    for (int i = 0; i < f->n; i++)
        if (f->column[i] == column) TRY(drop_feature(pe, s->data, f, i));
    return charge(pe, (int64_t)n * f->count[column]);
}

/* ---- scores ---------------------------------------------------------------------------------- */

/* Apply dropout to row @p row of the PE's scores, for the queries that attend to its key; @p n:
 * their number. */
static enum wsc_err drop_row(struct mesh_pe *pe, const struct programs_script *s, int row, int *n)
{
    const struct programs_grid *g = programs_grid_of(pe);
    const struct programs_features *f = s->heads;
    const struct dropped *x = s->data;
    const int column = programs_column_of(pe), y = mesh_y(pe), of = row % f->heads_per_pe;
    const int key = programs_key_of(g, f, column % f->group_cols, row / f->heads_per_pe);
    const int64_t head = (int64_t)(column / f->group_cols) * f->heads_per_pe + of;
    *n = 0;
    if (key >= g->T || of >= programs_heads_on(f, column)) return WSC_OK;
    *n = programs_queries(g, y, key);
    for (int i = programs_tokens(g, y) - *n; i < programs_tokens(g, y); i++) {
        const int64_t query = (int64_t)i * g->h + y;
        const int at = 4 * (row * g->tokens + i);
        const int address[2] = {x->to.address + at, x->from.address + at};
        TRY(drop_one(pe, x, programs_sample_at(g, programs_lane(pe), x->sample),
                     (head * g->T + query) * g->T + g->key_token[key], address));
    }
    return WSC_OK;
}

static enum wsc_err drop_scores(struct mesh_pe *pe, const struct programs_script *s,
                                const struct programs_step *step)
{
    const struct programs_grid *g = programs_grid_of(pe);
    const int rows = (int)(programs_score_words(g, s->heads) / g->tokens);
    int64_t all = 0;
    (void)step;
    for (int row = 0, n; row < rows; row++) {
        TRY(drop_row(pe, s, row, &n));
        all += n;
    }
    return charge(pe, all);
}

/* ---- programs -------------------------------------------------------------------------------- */

static enum wsc_err run(struct programs_grid *g, struct programs_drop *d, struct programs_script *s)
{
    enum wsc_err rc = programs_run_script(g, s);
    if (!rc) d->cycles += g->stats.cycles;
    programs_script_fini(s);
    return rc;
}

enum wsc_err programs_run_drop(struct programs_grid *g, struct programs_drop *d,
                               const struct programs_tile *to, const struct programs_tile *from)
{
    const struct dropped x = {.d = d, .to = *to, .from = *from};
    struct programs_script s = {.features = to->f, .n_samples = g->n_samples, .data = &x};
    programs_call(&s, drop_tile);
    return run(g, d, &s);
}

enum wsc_err programs_run_drop_scores(struct programs_grid *g, struct programs_drop *d, int sample,
                                      const struct programs_features *f, int to, int from)
{
    const struct dropped x = {.d = d, .to.address = to, .from.address = from, .sample = sample};
    struct programs_script s = {
        .features = f, .heads = f, .first_sample = sample, .n_samples = 1, .data = &x};
    programs_call(&s, drop_scores);
    return run(g, d, &s);
}
