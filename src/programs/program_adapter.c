// SPDX-License-Identifier: Apache-2.0
/* Computes low-rank adapters on the mesh, as products of their own beside that of the matrix. The
 * product x A' is multiplied with B', and the result is added to that of the matrix. x A' is not
 * kept but computed again for the gradient of B, as in the analytical model (docs/MODEL.md,
 * "Adapters and frozen weights"). program_parts.c and program_branch.c call. */
#include "program_adapter.h"
#include "program_grid.h"
#include "program_stage.h"
#include "program_stage_dropout.h"
#include "program_vector_ops.h"

#include <wsc/mem.h>

#include <stddef.h>

/* ---- where they lie -------------------------------------------------------------------------- */

static enum model_tensor_kind inner(enum model_tensor_kind kind)
{
    return MODEL_ADAPTER_A + kind;
}

static enum model_tensor_kind outer(enum model_tensor_kind kind)
{
    return MODEL_ADAPTER_B + kind;
}

/* True when the current stage has the adapter of its matrix. */
static bool is_adapted(const struct programs_model *k, enum model_tensor_kind kind)
{
    return kind < MODEL_N_KINDS && k->offset[inner(kind)] >= 0;
}

int programs_most_rank(const struct programs_model *k)
{
    int64_t most = 0;
    for (int kind = 0; kind < MODEL_N_KINDS; kind++)
        if (k->model->adapter[kind].r > most) most = k->model->adapter[kind].r;
    return (int)most;
}

int programs_adapted_filter(const struct programs_model *k)
{
    const struct model_adapter *a = k->model->adapter;
    return a[MODEL_FFN0_W].r || a[MODEL_GLU_W].r || a[MODEL_FFN1_W].r ? k->filter.slots : 0;
}

enum wsc_err programs_reserve_adapters(struct programs_model *k)
{
    struct programs_adapters *a = &k->adapters;
    int widest = 0;
    for (int kind = 0; kind < MODEL_N_KINDS; kind++) {
        const int64_t r = k->model->adapter[kind].r;
        if (!r) continue;
        TRY(programs_features_init(&a->f[kind], (int)r, k->grid.w));
        if (a->f[kind].slots >= a->f[widest].slots) widest = kind;
        if (k->training)
            TRY(programs_reserve_tile(&k->grid, &a->dlow[kind], &a->f[kind],
                                      "the gradient between the matrices of an adapter"));
    }
    if (!a->f[widest].n) return WSC_OK;
    return programs_reserve_tile(&k->grid, &a->low, &a->f[widest],
                                 "what lies between the matrices of an adapter");
}

void programs_adapters_fini(struct programs_model *k)
{
    for (int kind = 0; kind < MODEL_N_KINDS; kind++)
        programs_features_fini(&k->adapters.f[kind]);
}

/* The tile for s A x of an adapter. */
static struct programs_tile low_of(const struct programs_model *k, enum model_tensor_kind kind)
{
    struct programs_tile low = k->adapters.low;
    low.f = &k->adapters.f[kind];
    return low;
}

/* A scratch tile with the features and format of @p x. */
static struct programs_tile scratch_like(const struct programs_model *k,
                                         const struct programs_tile *x)
{
    struct programs_tile tmp = k->tmp;
    tmp.f = x->f;
    tmp.half = x->half;
    return tmp;
}

/* ---- operations ------------------------------------------------------------------------------ */

static enum programs_row_kind pointwise(bool back)
{
    return back ? PROGRAMS_ROW_POINTWISE_BACKWARD : PROGRAMS_ROW_POINTWISE;
}

/* x *= factor; nothing for factor 1. */
static enum wsc_err scale(struct programs_model *k, const struct programs_tile *x, double factor,
                          bool back)
{
    struct programs_script s = programs_stage_script(k, x->f);
    const struct programs_view tile = programs_tile_view(x);
    if (factor >= 1 && factor <= 1) return WSC_OK;
    programs_op(&s, PROGRAMS_SHAPE_TILE, MESH_FMULS, tile, tile, programs_number((float)factor));
    return programs_stage_run(k, &s, pointwise(back));
}

/* to += what. */
static enum wsc_err add(struct programs_model *k, const struct programs_tile *to,
                        const struct programs_tile *what, bool back)
{
    struct programs_script s = programs_stage_script(k, to->f);
    const struct programs_view tile = programs_tile_view(to);
    programs_op(&s, PROGRAMS_SHAPE_TILE, MESH_FADDS, tile, tile, programs_tile_view(what));
    programs_stage_expect(k, pointwise(back), cycles_residual(&k->layout, to->f->slots));
    return programs_stage_run(k, &s, pointwise(back));
}

static double scale_of(const struct programs_model *k, enum model_tensor_kind kind)
{
    return k->model->adapter[kind].scale;
}

static bool drops(const struct programs_model *k, enum model_tensor_kind kind)
{
    return k->training && !k->reference && k->model->adapter[kind].dropout > 0;
}

/* Set @p x to the input of A: the input of the matrix or, with dropout, a scratch copy after
 * dropout. */
static enum wsc_err take_input(struct programs_model *k, enum model_tensor_kind kind,
                               struct programs_tile *x, bool back)
{
    const struct model_dropout at = model_adapter_dropout(k->model, k->l, kind);
    const struct programs_tile from = *x;
    if (!drops(k, kind)) return WSC_OK;
    *x = scratch_like(k, &from);
    return programs_drop_as(k, &at, x, &from, back);
}

/* low = s A x. */
static enum wsc_err narrow(struct programs_model *k, enum model_tensor_kind kind,
                           const struct programs_tile *x, const struct programs_tile *low,
                           bool back)
{
    TRY(programs_stage_linear(k, inner(kind), x, low));
    return scale(k, low, scale_of(k, kind), back);
}

/* out += B low. */
static enum wsc_err widen(struct programs_model *k, enum model_tensor_kind kind,
                          const struct programs_tile *low, const struct programs_tile *out)
{
    const struct programs_tile wide = scratch_like(k, out);
    TRY(programs_stage_linear(k, outer(kind), low, &wide));
    return add(k, out, &wide, false);
}

/* out += s B A x with the adapter of matrix @p kind, if it has one; its dropout acts on x. */
static enum wsc_err adapt(struct programs_model *k, enum model_tensor_kind kind,
                          const struct programs_tile *x, const struct programs_tile *out)
{
    if (!is_adapted(k, kind)) return WSC_OK;
    const struct programs_tile low = low_of(k, kind);
    struct programs_tile in = *x;
    TRY(take_input(k, kind, &in, false));
    TRY(narrow(k, kind, &in, &low, false));
    return widen(k, kind, &low, out);
}

/* dx += s A' B' dy; s B' dy is kept for the gradients of A. */
static enum wsc_err adapt_back(struct programs_model *k, enum model_tensor_kind kind,
                               const struct programs_tile *dy, const struct programs_tile *dx)
{
    if (!is_adapted(k, kind)) return WSC_OK;
    const struct model_dropout at = model_adapter_dropout(k->model, k->l, kind);
    const struct programs_tile *dlow = &k->adapters.dlow[kind], wide = scratch_like(k, dx);
    TRY(programs_stage_linear_back(k, outer(kind), dy, dlow));
    TRY(scale(k, dlow, scale_of(k, kind), true));
    TRY(programs_stage_linear_back(k, inner(kind), dlow, &wide));
    if (drops(k, kind)) TRY(programs_drop_as(k, &at, &wide, &wide, true));
    return add(k, dx, &wide, true);
}

/* ---- linear layers --------------------------------------------------------------------------- */

enum wsc_err programs_adapted_linears(struct programs_model *k,
                                      const enum model_tensor_kind *weight, int n,
                                      const struct programs_tile *in,
                                      const struct programs_tile *const *out)
{
    TRY(programs_stage_linears(k, weight, n, in, out));
    for (int i = 0; i < n; i++)
        TRY(adapt(k, weight[i], in, out[i]));
    return WSC_OK;
}

enum wsc_err programs_adapted_linears_back(struct programs_model *k,
                                           const enum model_tensor_kind *weight, int n,
                                           const struct programs_tile *const *dy,
                                           const struct programs_tile *dx)
{
    TRY(programs_stage_linears_back(k, weight, n, dy, dx));
    for (int i = 0; i < n; i++)
        TRY(adapt_back(k, weight[i], dy[i], dx));
    return WSC_OK;
}

enum wsc_err programs_adapted_linear(struct programs_model *k, enum model_tensor_kind weight,
                                     const struct programs_tile *in,
                                     const struct programs_tile *out)
{
    return programs_adapted_linears(k, &weight, 1, in, &out);
}

enum wsc_err programs_adapted_linear_back(struct programs_model *k, enum model_tensor_kind weight,
                                          const struct programs_tile *dy,
                                          const struct programs_tile *dx)
{
    return programs_adapted_linears_back(k, &weight, 1, &dy, dx);
}

enum wsc_err programs_adapted_gradient(struct programs_model *k, enum model_tensor_kind weight,
                                       const struct programs_tile *dy,
                                       const struct programs_tile *x)
{
    TRY(programs_stage_weight_gradient(k, weight, dy, x));
    if (!is_adapted(k, weight)) return WSC_OK;
    const struct programs_tile low = low_of(k, weight);
    struct programs_tile in = *x;
    TRY(take_input(k, weight, &in, true));
    TRY(narrow(k, weight, &in, &low, true));
    TRY(programs_stage_weight_gradient(k, inner(weight), &k->adapters.dlow[weight], &in));
    return programs_stage_weight_gradient(k, outer(weight), dy, &low);
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* Cycles of the analytical model for rows of r features that stream past tokens (cycles_gather())
 * or leave as gradients (cycles_scatter()). */
static double lookups(const struct programs_model *k, const struct cycles_layout *l,
                      enum model_tensor_kind kind,
                      double (*rows)(const struct cycles_layout *l, double n))
{
    struct cycles_layout narrow = *l;
    narrow.hidden = cycles_side_of(l, k->model->adapter[kind].r);
    return rows(&narrow, (double)k->rows[kind]);
}

/* low = s a, with the columns a of A of the tokens, times the scale of the table. */
static enum wsc_err look_up(struct programs_model *k, const struct programs_table *t,
                            enum model_tensor_kind kind, const struct programs_tile *low)
{
    const int64_t rows = k->rows[kind], r = k->model->adapter[kind].r;
    struct programs_table a = *t;
    a.factor = NULL; /* it scales the table, not A */
    float *columns;
    a.x = *low;
    a.scale = t->scale * (float)scale_of(k, kind);
    a.add = false;
    TRY_NEW(columns, WSC_MEM_KERNELS, rows * r);
    for (int64_t i = 0; i < rows * r; i++)
        columns[i] = k->weight[inner(kind)][i % r * rows + i / r];
    enum wsc_err rc = programs_run_table_gather(&k->grid, &a, columns);
    wsc_free(columns);
    if (rc) return rc;
    programs_stage_book(k, PROGRAMS_ROW_EMBEDDING, k->grid.stats.cycles);
    programs_stage_expect(k, PROGRAMS_ROW_EMBEDDING, lookups(k, &k->layout, kind, cycles_gather));
    return WSC_OK;
}

enum wsc_err programs_adapt_table(struct programs_model *k, const struct programs_table *t,
                                  enum model_tensor_kind kind)
{
    if (!is_adapted(k, kind)) return WSC_OK;
    const struct programs_tile low = low_of(k, kind);
    TRY(look_up(k, t, kind, &low));
    return widen(k, kind, &low, &t->x);
}

/* Sum s B' dx over the tokens of each column of A, for the leaves of round @p round; @p sums:
 * (lanes, rows, r). */
static enum wsc_err scatter(struct programs_model *k, struct programs_table *t,
                            enum model_tensor_kind kind, int round, float *sums)
{
    const int64_t rows = k->rows[kind], r = k->model->adapter[kind].r;
    programs_round_samples(k, round, &t->first_sample, &t->n_samples);
    TRY(programs_run_table_scatter(&k->grid, t, sums));
    if (k->first_gradient < 0) k->first_gradient = k->cycles + t->first_cycle;
    programs_stage_book(k, PROGRAMS_ROW_EMBEDDING_BACKWARD, k->grid.stats.cycles);
    programs_stage_expect(k, PROGRAMS_ROW_EMBEDDING_BACKWARD,
                          lookups(k, &k->leaf_layout, kind, cycles_scatter));
    for (int lane = 0; lane < k->grid.active; lane++) {
        float *to = programs_stage_gradient(k, inner(kind), round) + lane * k->n_elems;
        for (int64_t i = 0; i < rows * r; i++)
            to[i % r * rows + i / r] = sums[lane * rows * r + i];
    }
    return WSC_OK;
}

static enum wsc_err table_gradient(struct programs_model *k, const struct programs_table *t,
                                   enum model_tensor_kind kind)
{
    struct programs_table a = *t;
    a.factor = NULL; /* it scales the table, not A */
    a.x = k->adapters.dlow[kind];
    a.scale = 1;
    a.lane_step = k->rows[kind] * k->model->adapter[kind].r;
    float *sums;
    TRY_NEW(sums, WSC_MEM_KERNELS, k->grid.lanes * a.lane_step);
    enum wsc_err rc = WSC_OK;
    for (int round = 0; round < programs_leaf_rounds(k) && !rc; round++)
        rc = scatter(k, &a, kind, round, sums);
    wsc_free(sums);
    return rc;
}

enum wsc_err programs_adapted_table_gradients(struct programs_model *k,
                                              const struct programs_table *t,
                                              enum model_tensor_kind kind)
{
    if (!is_adapted(k, kind)) return WSC_OK;
    const struct programs_tile low = low_of(k, kind), *dlow = &k->adapters.dlow[kind];
    TRY(look_up(k, t, kind, &low));
    TRY(programs_stage_linear_back(k, outer(kind), &t->x, dlow));
    TRY(scale(k, dlow, (double)t->scale * scale_of(k, kind), true));
    TRY(programs_stage_weight_gradient(k, outer(kind), &t->x, &low));
    return table_gradient(k, t, kind);
}
