// SPDX-License-Identifier: Apache-2.0
/* Computes the heads of a model on the mesh: norm, linear layer with nonlinearity, norm, output
 * layer, each where the head has it (Devlin et al. 2019 for encoders'); program_head_loss.c has the
 * loss. The fabric keeps a tile for every token, so the layers compute all tokens, and the
 * gradients of those that the head does not take are 0. The host (src/host/host_head_input.c) and
 * the analytical model of a step gather the tokens of a head instead. */
#include "program_head.h"
#include "program_adapter.h"
#include "program_branch.h"
#include "program_head_loss.h"
#include "program_norm.h"
#include "program_router.h"
#include "program_stage.h"
#include "program_stage_dropout.h"
#include "program_vector_ops.h"

#include <wsc/mem.h>
#include <wsc/num_math.h>

static const struct programs_view none = {.kind = PROGRAMS_VIEW_NONE};

static const struct model_head *shape_of(const struct programs_model *k, int i)
{
    return &k->model->head[i];
}

/* ---- memory ---------------------------------------------------------------------------------- */

enum wsc_err programs_heads_features(struct programs_model *k)
{
    for (int i = 0; i < k->model->n_heads; i++)
        TRY(programs_features_init(&k->output[i].f, (int)shape_of(k, i)->outputs, k->grid.w));
    return WSC_OK;
}

void programs_heads_fini(struct programs_model *k)
{
    for (int i = 0; i < k->model->n_heads; i++) {
        programs_features_fini(&k->output[i].f);
        wsc_free(k->output[i].own);
    }
}

int programs_heads_slots(const struct programs_model *k)
{
    int most = 0;
    for (int i = 0; i < k->model->n_heads; i++)
        if (k->output[i].f.slots > most) most = k->output[i].f.slots;
    return most;
}

/* Reserve what the layers before the outputs need. */
static enum wsc_err reserve_layers(struct programs_model *k, int i)
{
    struct programs_grid *g = &k->grid;
    struct programs_head *o = &k->output[i];
    const struct model_head *shape = shape_of(k, i);
    const bool drops = k->training && shape->dropout > 0;
    TRY(programs_reserve_words(g, 2 * (int64_t)g->pitch, PROGRAMS_BANK_TOKENS,
                               "statistics of a norm", &o->stats_input));
    if (shape->dense || drops)
        TRY(programs_reserve_tile(g, &o->act, &k->hidden, "what a head's outputs take"));
    if (!shape->dense) return WSC_OK;
    TRY(programs_reserve_tile(g, &o->pre, &k->hidden, "a head's layer"));
    return programs_reserve_words(g, 2 * (int64_t)g->pitch, PROGRAMS_BANK_TOKENS,
                                  "statistics of a norm", &o->stats);
}

enum wsc_err programs_reserve_heads(struct programs_model *k)
{
    for (int i = 0; i < k->model->n_heads; i++) {
        TRY(programs_head_loss_reserve(k, i));
        TRY(reserve_layers(k, i));
    }
    return WSC_OK;
}

enum wsc_err programs_heads_allocate(struct programs_model *k)
{
    for (int i = 0; i < k->model->n_heads; i++)
        TRY(programs_head_loss_allocate(k, i));
    return WSC_OK;
}

void programs_heads_begin(struct programs_model *k)
{
    for (int i = 0; i < k->model->n_heads; i++)
        programs_head_loss_begin(k, i);
}

/* ---- layers before the outputs, forward ------------------------------------------------------ */

static struct programs_stage_norm input_norm(struct programs_model *k, int i,
                                             const struct programs_tile *x)
{
    return (struct programs_stage_norm){shape_of(k, i)->input_norm, x, k->output[i].stats_input};
}

static struct programs_stage_norm dense_norm(const struct programs_model *k, int i)
{
    const struct programs_head *o = &k->output[i];
    return (struct programs_stage_norm){shape_of(k, i)->norm, &o->act, o->stats};
}

/* True when dropout acts on the input of the output layer: on the result of the layer before it
 * or, without one, on the residual stream. */
static bool drops(const struct programs_model *k, int i)
{
    return shape_of(k, i)->dropout > 0 && programs_drops(k, MODEL_DROP_TASK);
}

/* The input of the head: the residual stream, or its copy after dropout. */
static const struct programs_tile *input_of(struct programs_model *k, int i)
{
    const bool copy = !shape_of(k, i)->dense && drops(k, i);
    return copy ? &k->output[i].act : programs_x(k, k->model->L);
}

/* act = function(in W' + bias), after dropout. */
static enum wsc_err dense(struct programs_model *k, int i, const struct programs_tile *in)
{
    const struct model_head *shape = shape_of(k, i);
    struct programs_head *o = &k->output[i];
    struct programs_script s = programs_stage_script(k, &k->hidden);
    TRY(programs_adapted_linear(k, shape->dense, in, &o->pre));
    TRY(programs_stage_bias(k, shape->dense + 1, &o->pre, NULL));
    programs_activate(&k->grid, &s, shape->function, &o->act, &o->pre);
    programs_stage_expect(k, PROGRAMS_ROW_NONLINEARITY,
                          cycles_nonlinearity(&k->layout, shape->function, k->hidden.slots));
    TRY(programs_stage_run(k, &s, PROGRAMS_ROW_NONLINEARITY));
    return drops(k, i) ? programs_drop(k, MODEL_DROP_TASK, &o->act, &o->act, false) : WSC_OK;
}

/* Compute the layers of a head before the output layer; @p in: the input of the output layer. */
static enum wsc_err before_outputs(struct programs_model *k, int i, const struct programs_tile **in)
{
    const struct model_head *shape = shape_of(k, i);
    const struct programs_tile *x = input_of(k, i);
    const struct programs_stage_norm first = input_norm(k, i, x), second = dense_norm(k, i);
    if (x == &k->output[i].act)
        TRY(programs_drop(k, MODEL_DROP_TASK, x, programs_x(k, k->model->L), false));
    if (shape->input_norm) TRY(programs_stage_norm(k, &first, &k->xn));
    *in = shape->input_norm ? &k->xn : x;
    if (!shape->dense) return WSC_OK;
    TRY(dense(k, i, *in));
    if (shape->norm) TRY(programs_stage_norm(k, &second, &k->xn));
    *in = shape->norm ? &k->xn : &k->output[i].act;
    return WSC_OK;
}

/* ---- outputs, forward ------------------------------------------------------------------------ */

/* A tied head uses the token table. */
static enum model_tensor_kind output_weight(const struct programs_model *k, int i)
{
    const enum model_tensor_kind kind = shape_of(k, i)->output;
    return k->offset[kind] < 0 ? MODEL_WTE : kind;
}

/* Copy the logits that the host has asked for, after their scale and their soft cap. */
static enum wsc_err copy_wanted(struct programs_model *k)
{
    const int64_t V = k->model->V;
    const float scale = (float)k->model->logits_scale, cap = programs_head_cap(k, 0);
    if (!k->any_wanted) return WSC_OK;
    TRY(programs_tile_out(&k->grid, &k->output[0].logits, k->all_logits));
    for (int i = 0; i < k->grid.all_samples; i++) {
        for (int64_t v = 0; v < V; v++) {
            const float x = k->all_logits[(i * k->model->T + k->wanted[i]) * V + v] * scale;
            k->wanted_logits[i * V + v] = cap > 0 ? cap * num_tanh(x / cap) : x;
        }
    }
    return WSC_OK;
}

static enum wsc_err head(struct programs_model *k, int i)
{
    const struct programs_tile *in = NULL;
    TRY(before_outputs(k, i, &in));
    TRY(programs_adapted_linear(k, output_weight(k, i), in, &k->output[i].logits));
    TRY(programs_stage_bias(k, shape_of(k, i)->output + 1, &k->output[i].logits, NULL));
    if (!i) TRY(copy_wanted(k));
    return programs_head_loss(k, i);
}

enum wsc_err programs_heads(struct programs_model *k)
{
    for (int leaf = 0; leaf < k->n_leaves; leaf++)
        k->loss[leaf] = (struct model_loss){0};
    for (int i = 0; i < k->model->n_heads; i++)
        TRY(head(k, i));
    for (int leaf = 0, first; k->training && leaf < k->n_leaves; leaf++) {
        const int n = programs_leaf_samples(k, leaf, &first);
        k->loss[leaf].loss_sum += programs_balance_loss(k, first, n);
    }
    return WSC_OK;
}

/* ---- backward -------------------------------------------------------------------------------- */

/* Convert the gradient of the logits to the format of operands: rounded if these are 16-bit. */
static enum wsc_err round_dlogits(struct programs_model *k, int i)
{
    struct programs_head *o = &k->output[i];
    struct programs_script s = programs_stage_script(k, &o->f);
    if (!o->dlogits.half) return WSC_OK;
    programs_op(&s, PROGRAMS_SHAPE_TILE, MESH_FMOVS, programs_tile_view(&o->dlogits),
                programs_tile_view(&o->logits), none);
    k->row[PROGRAMS_ROW_LOSS_BACKWARD].analytical += cycles_round(&k->layout, o->f.slots);
    return programs_stage_run(k, &s, PROGRAMS_ROW_LOSS_BACKWARD);
}

/* Gradients of the layer before the outputs, from the gradient of its output in dxn, which becomes
 * that of its input. act is no longer needed and holds the gradient of pre. */
static enum wsc_err dense_backward(struct programs_model *k, int i)
{
    const struct model_head *shape = shape_of(k, i);
    const enum model_tensor_kind bias = shape->dense + 1;
    struct programs_head *o = &k->output[i];
    const struct programs_tile *const dpre = &o->act, *in = input_of(k, i);
    const struct programs_stage_norm first = input_norm(k, i, in);
    struct programs_script s = programs_stage_script(k, &k->hidden);
    if (drops(k, i)) TRY(programs_drop(k, MODEL_DROP_TASK, &k->dxn, &k->dxn, true));
    programs_activate_backward(&k->grid, &s, shape->function, dpre, &o->pre, &k->dxn);
    programs_stage_expect(k, PROGRAMS_ROW_NONLINEARITY_BACKWARD,
                          cycles_nonlinearity(&k->layout, shape->function, k->hidden.slots));
    TRY(programs_stage_run(k, &s, PROGRAMS_ROW_NONLINEARITY_BACKWARD));
    TRY(programs_adapted_linear_back(k, shape->dense, dpre, &k->dxn));
    if (shape->input_norm) {
        TRY(programs_stage_norm_again(k, &first, &k->xn));
        in = &k->xn;
    }
    TRY(programs_adapted_gradient(k, shape->dense, dpre, in));
    return programs_stage_bias_gradients(k, &bias, &dpre, 1);
}

/* Gradients of the output layer's weights; dxn becomes the gradient of its input. */
static enum wsc_err outputs_backward(struct programs_model *k, int i)
{
    const struct model_head *shape = shape_of(k, i);
    const enum model_tensor_kind bias = shape->output + 1, weight = output_weight(k, i);
    const struct programs_tile *const dy = &k->output[i].dlogits;
    const struct programs_stage_norm norm =
        shape->dense ? dense_norm(k, i) : input_norm(k, i, input_of(k, i));
    const struct programs_tile *in = norm.gain ? &k->xn : norm.x;
    TRY(programs_adapted_linear_back(k, weight, dy, &k->dxn));
    if (norm.gain) TRY(programs_stage_norm_again(k, &norm, &k->xn));
    TRY(programs_adapted_gradient(k, weight, dy, in));
    return programs_stage_bias_gradients(k, &bias, &dy, 1);
}

/* Add to the gradient of the residual stream that of the head's input, which is in dxn. */
static enum wsc_err input_backward(struct programs_model *k, int i)
{
    const struct programs_tile *x = input_of(k, i);
    const struct programs_stage_norm norm = input_norm(k, i, x);
    const bool copy = x == &k->output[i].act;
    if (norm.gain && !copy) return programs_stage_norm_backward(k, &norm, &k->dres);
    if (norm.gain) TRY(programs_stage_norm_backward(k, &norm, NULL));
    if (copy) TRY(programs_drop(k, MODEL_DROP_TASK, &k->dxn, &k->dxn, true));
    return programs_add_to(k, &k->dres, &k->dxn);
}

static enum wsc_err head_backward(struct programs_model *k, int i)
{
    const struct programs_stage_norm second = dense_norm(k, i);
    TRY(outputs_backward(k, i));
    if (shape_of(k, i)->dense) {
        if (second.gain) TRY(programs_stage_norm_backward(k, &second, NULL));
        TRY(dense_backward(k, i));
    }
    return input_backward(k, i);
}

enum wsc_err programs_heads_backward(struct programs_model *k)
{
    const int last = k->model->n_heads - 1;
    for (int i = last; i >= 0; i--) {
        TRY(programs_head_loss_backward(k, i));
        TRY(round_dlogits(k, i));
        if (i == last) TRY(programs_clear(k, &k->dres));
        TRY(head_backward(k, i));
    }
    return WSC_OK;
}
