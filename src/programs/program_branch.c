// SPDX-License-Identifier: Apache-2.0
/* Computes the operations that the parts of a block share on the mesh: operations on the hidden
 * features, the norms, the sum with the residual stream and its gradient, the nonlinearity of the
 * filter. program_parts.c and program_experts.c build parts from these and from the operations of a
 * stage. */
#include "program_branch.h"
#include "program_adapter.h"
#include "program_norm.h"
#include "program_stage_dropout.h"

static const struct programs_view none = {.kind = PROGRAMS_VIEW_NONE};

/* ---- hidden features ------------------------------------------------------------------------- */

enum wsc_err programs_on_hidden(struct programs_model *k, enum mesh_code code,
                                const struct programs_tile *to, struct programs_view a,
                                struct programs_view b)
{
    struct programs_script s = programs_stage_script(k, &k->hidden);
    programs_op(&s, PROGRAMS_SHAPE_TILE, code, programs_tile_view(to), a, b);
    programs_stage_expect(k, PROGRAMS_ROW_POINTWISE, cycles_residual(&k->layout, k->hidden.slots));
    return programs_stage_run(k, &s, PROGRAMS_ROW_POINTWISE);
}

enum wsc_err programs_add_to(struct programs_model *k, const struct programs_tile *to,
                             const struct programs_tile *what)
{
    return programs_on_hidden(k, MESH_FADDS, to, programs_tile_view(to), programs_tile_view(what));
}

enum wsc_err programs_clear(struct programs_model *k, const struct programs_tile *tile)
{
    return programs_on_hidden(k, MESH_FMOVS, tile, programs_number(0), none);
}

/* ---- norms of a block ------------------------------------------------------------------------ */

struct programs_stage_norm programs_norm1(struct programs_model *k)
{
    const int stats = programs_layer_of(k, k->l)->stats1;
    return (struct programs_stage_norm){MODEL_NORM1_W, programs_x(k, k->l), stats};
}

struct programs_stage_norm programs_norm3(struct programs_model *k)
{
    const struct programs_layer *layer = programs_layer_of(k, k->l);
    const struct programs_tile *x =
        k->model->zoo.parallel_block ? programs_x(k, k->l) : &layer->mid;
    return (struct programs_stage_norm){MODEL_NORM3_W, x, layer->stats3};
}

const struct programs_tile *programs_normed(struct programs_model *k)
{
    return k->model->norm3 ? &k->xn : &programs_layer_of(k, k->l)->normed;
}

const struct programs_tile *programs_attention_input(struct programs_model *k)
{
    return k->model->norm_last ? programs_x(k, k->l) : programs_normed(k);
}

const struct programs_tile *programs_ffn_input(struct programs_model *k)
{
    return k->model->norm_last ? &programs_layer_of(k, k->l)->mid : programs_normed(k);
}

/* ---- branches -------------------------------------------------------------------------------- */

const struct programs_branch programs_attention_branch = {0, MODEL_O_W, MODEL_O_B,
                                                          MODEL_NORM1_POST_W, MODEL_DROP_ATTN};
const struct programs_branch programs_ffn_branch = {1, MODEL_FFN1_W, MODEL_FFN1_B,
                                                    MODEL_NORM3_POST_W, MODEL_DROP_FFN};

bool programs_norms_after(const struct model *m)
{
    return m->zoo.norm_first_sandwich || m->norm_last;
}

static struct programs_stage_norm norm_after(struct programs_model *k,
                                             const struct programs_branch *b)
{
    const struct programs_layer *layer = programs_layer_of(k, k->l);
    return (struct programs_stage_norm){b->norm, &layer->branch[b->number],
                                        layer->stats_post[b->number]};
}

const struct programs_tile *programs_branch_output(struct programs_model *k,
                                                   const struct programs_branch *b,
                                                   const struct programs_tile *to)
{
    return programs_norms_after(k->model) ? norm_after(k, b).x : to;
}

enum wsc_err programs_end_branch(struct programs_model *k, const struct programs_branch *b,
                                 const struct programs_tile *to,
                                 const struct programs_tile *residual)
{
    const struct programs_stage_norm norm = norm_after(k, b);
    const struct programs_tile *out = programs_branch_output(k, b, to);
    TRY(programs_drop(k, b->place, out, out, false));
    if (k->model->norm_last) {
        TRY(programs_add_to(k, out, residual));
        return programs_stage_norm(k, &norm, to);
    }
    if (k->model->zoo.norm_first_sandwich) TRY(programs_stage_norm(k, &norm, to));
    return programs_add_to(k, to, residual);
}

enum wsc_err programs_add_branch(struct programs_model *k, const struct programs_branch *b,
                                 const struct programs_tile *in, const struct programs_tile *to,
                                 const struct programs_tile *residual)
{
    const struct programs_tile *out = programs_branch_output(k, b, to);
    const bool plain = !programs_norms_after(k->model) && !programs_drops(k, b->place);
    TRY(programs_adapted_linear(k, b->weight, in, out));
    TRY(programs_stage_bias(k, b->bias, out, plain ? residual : NULL));
    return plain ? WSC_OK : programs_end_branch(k, b, to, residual);
}

enum wsc_err programs_branch_gradient(struct programs_model *k, const struct programs_branch *b,
                                      const struct programs_tile **dy)
{
    const struct programs_stage_norm norm = norm_after(k, b);
    const struct programs_tile *from = k->model->zoo.norm_first_sandwich ? &k->dside : &k->dres;
    *dy = programs_drops(k, b->place) ? &k->dbranch : from;
    if (programs_norms_after(k->model)) {
        TRY(programs_on_hidden(k, MESH_FMOVS, &k->dxn, programs_tile_view(&k->dres), none));
        TRY(programs_clear(k, from));
        TRY(programs_stage_norm_backward(k, &norm, from));
    }
    return programs_drop(k, b->place, &k->dbranch, from, true);
}

enum wsc_err programs_branch_weights(struct programs_model *k, const struct programs_branch *b,
                                     const struct programs_tile *dy, const struct programs_tile *in)
{
    TRY(programs_adapted_gradient(k, b->weight, dy, in));
    return programs_stage_bias_gradients(k, &b->bias, &dy, 1);
}

/* ---- feed-forward network ------------------------------------------------------------------- */

static const enum model_tensor_kind filter_weight[2] = {MODEL_FFN0_W, MODEL_GLU_W};
static const enum model_tensor_kind filter_bias[2] = {MODEL_FFN0_B, MODEL_GLU_B};

enum wsc_err programs_filter(struct programs_model *k, const struct programs_tile *x)
{
    struct programs_layer *layer = programs_layer_of(k, k->l);
    const struct programs_tile *const out[2] = {&layer->pre, &layer->gate};
    const int n = k->model->gated ? 2 : 1;
    TRY(programs_adapted_linears(k, filter_weight, n, x, out));
    for (int i = 0; i < n; i++)
        TRY(programs_stage_bias(k, filter_bias[i], out[i], NULL));
    return WSC_OK;
}

enum wsc_err programs_filter_back(struct programs_model *k, const struct programs_tile *dx)
{
    const struct programs_tile *const dy[2] = {&k->dpre, &k->dgate};
    return programs_adapted_linears_back(k, filter_weight, k->model->gated ? 2 : 1, dy, dx);
}

enum wsc_err programs_filter_gradients(struct programs_model *k, const struct programs_tile *x)
{
    const struct programs_tile *const dy[2] = {&k->dpre, &k->dgate};
    const int n = k->model->gated ? 2 : 1;
    for (int i = 0; i < n; i++)
        TRY(programs_adapted_gradient(k, filter_weight[i], dy[i], x));
    return programs_stage_bias_gradients(k, filter_bias, dy, n);
}

enum wsc_err programs_activate_filter(struct programs_model *k)
{
    const struct programs_layer *layer = programs_layer_of(k, k->l);
    const bool gated = k->model->gated;
    const struct programs_view act = programs_tile_view(&k->act);
    const struct cycles_layout *l = programs_stage_layout(k, false);
    struct programs_script s = programs_stage_script(k, &k->filter);
    programs_activate(&k->grid, &s, k->model->nonlinearity, &k->act,
                      gated ? &layer->gate : &layer->pre);
    if (gated)
        programs_op(&s, PROGRAMS_SHAPE_TILE, MESH_FMULS, act, act, programs_tile_view(&layer->pre));
    programs_stage_expect(k, PROGRAMS_ROW_NONLINEARITY,
                          cycles_nonlinearity(l, k->model->nonlinearity, l->filter.k) +
                              (gated ? cycles_residual(l, k->filter.slots) : 0));
    TRY(programs_stage_run(k, &s, PROGRAMS_ROW_NONLINEARITY));
    return programs_drop(k, MODEL_DROP_FILTER, &k->act, &k->act, false);
}

/* The gradients replace the values, since each step of a map reads an element before it writes it.
 * With a gate g and a filter p: dg = dact p f'(g), dp = dact f(g), act = f(g) p. */
enum wsc_err programs_activate_filter_backward(struct programs_model *k)
{
    const struct programs_layer *layer = programs_layer_of(k, k->l);
    const enum programs_shape tile = PROGRAMS_SHAPE_TILE;
    const enum zoo_nonlinearity f = k->model->nonlinearity;
    const bool gated = k->model->gated;
    const struct programs_tile *in = gated ? &layer->gate : &layer->pre;
    const struct programs_view act = programs_tile_view(&k->act),
                               pre = programs_tile_view(&layer->pre),
                               dpre = programs_tile_view(&k->dpre);
    const struct cycles_layout *l = programs_stage_layout(k, false);
    struct programs_script s = programs_stage_script(k, &k->filter);
    TRY(programs_drop(k, MODEL_DROP_FILTER, &k->dpre, &k->dpre, true));
    if (gated) {
        programs_op(&s, tile, MESH_FMULS, programs_tile_view(&k->dgate), dpre, pre);
        programs_activate_backward(&k->grid, &s, f, &k->dgate, in, &k->dgate);
    }
    programs_activate(&k->grid, &s, f, &k->act, in);
    if (gated) {
        programs_op(&s, tile, MESH_FMULS, dpre, dpre, act);
        programs_op(&s, tile, MESH_FMULS, act, act, pre);
    } else {
        programs_activate_backward(&k->grid, &s, f, &k->dpre, in, &k->dpre);
    }
    programs_stage_expect(k, PROGRAMS_ROW_NONLINEARITY_BACKWARD,
                          2 * cycles_nonlinearity(l, k->model->nonlinearity, l->filter.k) +
                              (gated ? 3 * cycles_residual(l, k->filter.slots) : 0));
    TRY(programs_stage_run(k, &s, PROGRAMS_ROW_NONLINEARITY_BACKWARD));
    return programs_drop(k, MODEL_DROP_FILTER, &k->act, &k->act, false);
}

enum wsc_err programs_ffn_norm_backward(struct programs_model *k)
{
    const struct programs_stage_norm norm = programs_norm3(k);
    if (k->model->norm_last) return programs_add_to(k, &k->dres, &k->dxn);
    if (!k->model->norm3) return WSC_OK;
    if (!k->model->zoo.parallel_block) return programs_stage_norm_backward(k, &norm, &k->dres);
    TRY(programs_clear(k, &k->dside));
    return programs_stage_norm_backward(k, &norm, &k->dside);
}
