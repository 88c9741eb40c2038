// SPDX-License-Identifier: Apache-2.0
/* Computes a mixture of experts (Shazeer et al. 2017) on the mesh. Each PE copies its features of
 * a token to the token's places. The weights of every network pass all rows, and a row computes
 * with them at the places of that network alone; the results are weighted and added where the token
 * lies. Weights and gradients travel as in any feed-forward network, network by network. */
#include "program_experts.h"
#include "program_branch.h"
#include "program_choice.h"
#include "program_router.h"
#include "program_stage.h"

static const struct programs_view none = {.kind = PROGRAMS_VIEW_NONE};

/* ---- between tokens and places --------------------------------------------------------------- */

/* What the scalar code of a script reads. */
struct moved {
    const struct programs_model *k;
    const struct programs_choice *choice;
    struct programs_tile tokens, places;
};

/* Moves the PE's features between a token and one of its places. */
typedef enum wsc_err (*move_fn)(struct mesh_pe *pe, const struct moved *m, struct mesh_dsd token,
                                struct mesh_dsd place);

static enum wsc_err copy(struct mesh_pe *pe, const struct moved *m, struct mesh_dsd token,
                         struct mesh_dsd place)
{
    return mesh_do(pe, programs_code(m->places.half, MESH_FMOVS), place, token,
                   (struct mesh_dsd){0});
}

static enum wsc_err add(struct mesh_pe *pe, const struct moved *m, struct mesh_dsd token,
                        struct mesh_dsd place)
{
    return mesh_do(pe, programs_code(m->places.half, MESH_FADDS), token, token, place);
}

/* Call @p move for each place of the current token, in the order of its networks. */
static enum wsc_err each_place(struct mesh_pe *pe, const struct moved *m, move_fn move)
{
    const struct programs_model *k = m->k;
    const struct programs_grid *g = &k->grid;
    const int count = k->hidden.count[programs_column_of(pe)], i = programs_script_token(pe);
    if (!count) return WSC_OK;
    TRY(mesh_wait(pe, (int64_t)programs_n_slots(k) * CYCLES_LABEL));
    for (int slot = 0; slot < programs_n_slots(k); slot++) {
        uint32_t at;
        TRY(mesh_load(pe, programs_place_at(k, m->choice, slot, i), &at));
        TRY(move(pe, m,
                 mesh_mem_strided(programs_at(g, &m->tokens, 0, i), count,
                                  programs_pitch(g, &m->tokens)),
                 mesh_mem_strided(programs_at(g, &m->places, 0, (int)at), count,
                                  programs_pitch(g, &m->places))));
    }
    return WSC_OK;
}

static enum wsc_err to_places(struct mesh_pe *pe, const struct programs_script *s,
                              const struct programs_step *step)
{
    (void)step;
    return each_place(pe, s->data, copy);
}

static enum wsc_err from_places(struct mesh_pe *pe, const struct programs_script *s,
                                const struct programs_step *step)
{
    (void)step;
    return each_place(pe, s->data, add);
}

static struct moved moved_of(struct programs_model *k, const struct programs_tile *tokens,
                             const struct programs_tile *places)
{
    return (struct moved){k, &programs_layer_of(k, k->l)->choice, *tokens, *places};
}

static enum wsc_err dispatch(struct programs_model *k, const struct programs_tile *tokens,
                             const struct programs_tile *places, enum programs_row_kind row)
{
    const struct moved m = moved_of(k, tokens, places);
    struct programs_script s = programs_stage_script(k, &k->hidden);
    s.data = &m;
    programs_call_by_tokens(&s, to_places);
    programs_stage_expect(k, row, cycles_move_places(&k->layout, false));
    return programs_stage_run(k, &s, row);
}

/* tokens += the sum of their places; with @p writes, tokens = that sum. */
static enum wsc_err combine(struct programs_model *k, const struct programs_tile *tokens,
                            const struct programs_tile *places, bool writes,
                            enum programs_row_kind row)
{
    const struct moved m = moved_of(k, tokens, places);
    struct programs_script s = programs_stage_script(k, &k->hidden);
    s.data = &m;
    if (writes)
        programs_op(&s, PROGRAMS_SHAPE_TILE, MESH_FMOVS, programs_tile_view(tokens),
                    programs_number(0), none);
    programs_call_by_tokens(&s, from_places);
    programs_stage_expect(k, row,
                          cycles_move_places(&k->layout, true) +
                              writes * cycles_residual(&k->layout, k->hidden.slots));
    return programs_stage_run(k, &s, row);
}

/* ---- weights of places ----------------------------------------------------------------------- */

/* Scalar code that writes to each place the weight of its token's expert; shared networks have
 * weight 1. */
static enum wsc_err place_weights(struct mesh_pe *pe, const struct programs_script *s,
                                  const struct programs_step *step)
{
    static const union {
        float value;
        uint32_t bits;
    } one = {1};
    const struct moved *m = s->data;
    const struct programs_model *k = m->k;
    const int n = programs_row_tokens(&k->grid, programs_row_of(pe)), slots = programs_n_slots(k);
    (void)step;
    for (int i = 0; i < n * slots; i++) {
        const int slot = i % slots, token = i / slots;
        uint32_t at, bits = one.bits;
        TRY(mesh_load(pe, programs_place_at(k, m->choice, slot, token), &at));
        if (slot < programs_n_chosen(k))
            TRY(mesh_load(pe, programs_weight_at(k, m->choice, slot) + 4 * token, &bits));
        TRY(mesh_store(pe, k->experts.weights + 4 * (int)at, bits));
    }
    return mesh_wait(pe, (int64_t)n * slots * CYCLES_LABEL);
}

/* Steps that compute the weights of places; returns them in the format of operands of tiles. */
static struct programs_view weights(struct programs_model *k, struct programs_script *s)
{
    programs_call(s, place_weights);
    return programs_narrow(&k->grid, s, programs_view(PROGRAMS_VIEW_TOKENS, k->experts.weights));
}

/* Multiply the tile @p tile, of places, by the weights of the places. */
static enum wsc_err weigh(struct programs_model *k, const struct programs_features *f,
                          const struct programs_tile *tile, enum programs_row_kind row)
{
    const struct moved m = moved_of(k, tile, tile);
    struct programs_script s = programs_stage_script(k, f);
    s.data = &m;
    const struct programs_view w = weights(k, &s), x = programs_tile_view(tile);
    programs_op(&s, PROGRAMS_SHAPE_TILE, MESH_FMULS, x, x, w);
    programs_stage_expect(k, row, cycles_weigh_places(&k->layout, f->slots));
    return programs_stage_run(k, &s, row);
}

static struct programs_view dweights(const struct programs_model *k)
{
    return programs_view(PROGRAMS_VIEW_TOKENS, k->experts.dweights);
}

/* Gradients of weights += the sum over features of a b, or with @p writes = that sum, over the
 * whole row; @p a is overwritten. */
static enum wsc_err sum_dweights(struct programs_model *k, const struct programs_features *f,
                                 const struct programs_tile *a, const struct programs_tile *b,
                                 bool writes)
{
    const enum programs_shape tile = PROGRAMS_SHAPE_TILE;
    const struct programs_view x = programs_tile_view(a);
    struct programs_script s = programs_stage_script(k, f);
    programs_op(&s, tile, MESH_FMULS, x, x, programs_tile_view(b));
    if (writes)
        programs_op(&s, PROGRAMS_SHAPE_TOKENS, MESH_FMOVS, dweights(k), programs_number(0), none);
    programs_op(&s, tile, MESH_FADDS, dweights(k), dweights(k), x);
    programs_row_sum(&s, MESH_FADDS, dweights(k), 1);
    programs_stage_expect(k, PROGRAMS_ROW_ROUTER_BACKWARD,
                          cycles_place_weights_gradient(&k->layout, f->slots));
    return programs_stage_run(k, &s, PROGRAMS_ROW_ROUTER_BACKWARD);
}

static bool weighs_inputs(const struct programs_model *k)
{
    return k->model->zoo.moe.probability_before_ffn;
}

/* ---- forward --------------------------------------------------------------------------------- */

/* Call @p what for every network, with its tensors and places; afterwards the rows of tiles are
 * tokens again. */
static enum wsc_err each_network(struct programs_model *k,
                                 enum wsc_err (*what)(struct programs_model *k))
{
    for (int e = 0; e < (int)model_n_ffns(k->model); e++) {
        programs_stage_network(k, e);
        TRY(what(k));
    }
    programs_stage_network(k, PROGRAMS_ALL_TOKENS);
    return WSC_OK;
}

static enum wsc_err first_layer(struct programs_model *k)
{
    return programs_filter(k, &k->experts.x);
}

/* The results overwrite the inputs, which the filter has already used. */
static enum wsc_err second_layer(struct programs_model *k)
{
    TRY(programs_stage_linear(k, MODEL_FFN1_W, &k->act, &k->experts.x));
    return programs_stage_bias(k, MODEL_FFN1_B, &k->experts.x, NULL);
}

/* Copy the inputs of all networks to their places, and multiply them by the weights if the weights
 * act on inputs. */
static enum wsc_err take_inputs(struct programs_model *k, bool weighted, enum programs_row_kind row)
{
    TRY(dispatch(k, programs_normed(k), &k->experts.x, row));
    programs_stage_network(k, PROGRAMS_ALL_PLACES);
    if (weighted && weighs_inputs(k)) TRY(weigh(k, &k->hidden, &k->experts.x, row));
    programs_stage_network(k, PROGRAMS_ALL_TOKENS);
    return WSC_OK;
}

enum wsc_err programs_experts_ffn0(struct programs_model *k)
{
    TRY(programs_route(k, programs_normed(k)));
    TRY(take_inputs(k, true, PROGRAMS_ROW_DISPATCH));
    return each_network(k, first_layer);
}

enum wsc_err programs_experts_ffn1(struct programs_model *k, const struct programs_tile *to,
                                   const struct programs_tile *residual)
{
    const struct programs_tile *x = &k->experts.x;
    const struct programs_tile *out = programs_branch_output(k, &programs_ffn_branch, to);
    programs_stage_network(k, PROGRAMS_ALL_PLACES);
    TRY(programs_activate_filter(k));
    TRY(each_network(k, second_layer));
    programs_stage_network(k, PROGRAMS_ALL_PLACES);
    if (!weighs_inputs(k)) TRY(weigh(k, &k->hidden, x, PROGRAMS_ROW_DISPATCH));
    programs_stage_network(k, PROGRAMS_ALL_TOKENS);
    TRY(combine(k, out, x, true, PROGRAMS_ROW_DISPATCH));
    return programs_end_branch(k, &programs_ffn_branch, to, residual);
}

/* ---- backward of the second layers ----------------------------------------------------------- */

static enum wsc_err second_layer_back(struct programs_model *k)
{
    return programs_stage_linear_back(k, MODEL_FFN1_W, &k->experts.dx, &k->dpre);
}

/* The part of a weight's gradient that comes through the bias of its network: dy times the bias,
 * in addition to dact times act. */
static enum wsc_err bias_products(struct programs_model *k)
{
    const struct programs_view x = programs_tile_view(&k->experts.x),
                               dy = programs_tile_view(&k->experts.dx);
    struct programs_script s = programs_stage_script(k, &k->hidden);
    const struct programs_view bias = programs_stage_vector(k, &s, MODEL_FFN1_B, &k->experts.x);
    programs_op(&s, PROGRAMS_SHAPE_TILE, MESH_FMULS, x, dy, bias);
    programs_op(&s, PROGRAMS_SHAPE_TILE, MESH_FADDS, dweights(k), dweights(k), x);
    programs_stage_expect(k, PROGRAMS_ROW_ROUTER_BACKWARD,
                          cycles_bias(programs_stage_layout(k, false), k->hidden.slots) +
                              cycles_residual(programs_stage_layout(k, false), k->hidden.slots));
    return programs_stage_run(k, &s, PROGRAMS_ROW_ROUTER_BACKWARD);
}

static enum wsc_err second_layer_gradients(struct programs_model *k)
{
    return programs_branch_weights(k, &programs_ffn_branch, &k->experts.dx, &k->act);
}

/* Gradients of weights that multiply results: dact act + dy bias for each place, summed over the
 * row. The activation is recomputed for this and overwritten. */
static enum wsc_err results_weighed(struct programs_model *k)
{
    struct programs_script s;
    programs_stage_network(k, PROGRAMS_ALL_PLACES);
    TRY(programs_activate_filter(k));
    s = programs_stage_script(k, &k->hidden);
    programs_op(&s, PROGRAMS_SHAPE_TOKENS, MESH_FMOVS, dweights(k), programs_number(0), none);
    TRY(programs_stage_run(k, &s, PROGRAMS_ROW_ROUTER_BACKWARD));
    if (k->model->zoo.use_ffn_bias) TRY(each_network(k, bias_products));
    programs_stage_network(k, PROGRAMS_ALL_PLACES);
    TRY(sum_dweights(k, &k->filter, &k->act, &k->dpre, false));
    TRY(weigh(k, &k->filter, &k->dpre, PROGRAMS_ROW_DISPATCH_BACKWARD));
    return weigh(k, &k->hidden, &k->experts.dx, PROGRAMS_ROW_DISPATCH_BACKWARD);
}

enum wsc_err programs_experts_ffn1_backward(struct programs_model *k,
                                            const struct programs_tile *dy)
{
    TRY(dispatch(k, dy, &k->experts.dx, PROGRAMS_ROW_DISPATCH_BACKWARD));
    TRY(each_network(k, second_layer_back));
    if (!weighs_inputs(k)) TRY(results_weighed(k));
    programs_stage_network(k, PROGRAMS_ALL_PLACES);
    TRY(programs_activate_filter_backward(k));
    return each_network(k, second_layer_gradients);
}

/* ---- backward of router and first layers ----------------------------------------------------- */

static enum wsc_err first_layer_back(struct programs_model *k)
{
    return programs_filter_back(k, &k->experts.dx);
}

static enum wsc_err first_layer_gradients(struct programs_model *k)
{
    return programs_filter_gradients(k, &k->experts.x);
}

/* Gradients of weights that multiply inputs: x dx, summed over the row. The inputs are then copied
 * again, since their tile was overwritten. */
static enum wsc_err inputs_weighed(struct programs_model *k)
{
    programs_stage_network(k, PROGRAMS_ALL_PLACES);
    TRY(sum_dweights(k, &k->hidden, &k->experts.x, &k->experts.dx, true));
    TRY(weigh(k, &k->hidden, &k->experts.dx, PROGRAMS_ROW_DISPATCH_BACKWARD));
    programs_stage_network(k, PROGRAMS_ALL_TOKENS);
    return take_inputs(k, true, PROGRAMS_ROW_DISPATCH_BACKWARD);
}

enum wsc_err programs_experts_ffn0_backward(struct programs_model *k,
                                            const struct programs_tile *dx)
{
    TRY(each_network(k, first_layer_back));
    TRY(take_inputs(k, false, PROGRAMS_ROW_DISPATCH_BACKWARD));
    if (weighs_inputs(k)) TRY(inputs_weighed(k));
    TRY(each_network(k, first_layer_gradients));
    TRY(programs_route_backward(k, programs_normed(k), dx));
    return combine(k, dx, &k->experts.dx, false, PROGRAMS_ROW_DISPATCH_BACKWARD);
}
