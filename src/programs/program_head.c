// SPDX-License-Identifier: Apache-2.0
/* Heads on the mesh: norm, linear layer with nonlinearity, norm, output layer, each where the head
 * has it, then cross entropy over the outputs (Devlin et al. 2019 for encoders').  The fabric keeps
 * a tile for every token, so the layers compute all of them, and the gradients of those that the
 * head does not take are 0; src/host/host_head_input.c gathers them instead, and so does the
 * analytical model of a step. */
#include "program_head.h"
#include "program_adapter.h"
#include "program_branch.h"
#include "program_loss.h"
#include "program_norm.h"
#include "program_pairs.h"
#include "program_regression.h"
#include "program_router.h"
#include "program_spans.h"
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

/* Outputs of the vocabulary are scaled and may have a soft cap. */
static bool has_vocabulary(const struct programs_model *k, int i)
{
    return shape_of(k, i)->outputs == k->model->V;
}

static float cap_of(const struct programs_model *k, int i)
{
    return has_vocabulary(k, i) ? (float)k->model->zoo.final_logit_softcapping : 0;
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

/* What the loss of a head takes. */
static enum wsc_err reserve_outputs(struct programs_model *k, int i)
{
    const enum model_loss_kind loss = shape_of(k, i)->loss;
    struct programs_head *o = &k->output[i];
    struct programs_grid *g = &k->grid;
    TRY(programs_reserve_words(g, PROGRAMS_LOSS_ROWS * (int64_t)g->pitch, PROGRAMS_BANK_TOKENS,
                               "the loss", &o->rows));
    TRY(programs_reserve_words(g, o->f.slots, PROGRAMS_BANK_TILES, "numbers of features",
                               &o->number));
    if (loss == MODEL_SPAN_ENTROPY)
        TRY(programs_reserve_words(g, programs_spans_words(g->max_samples, o->f.slots),
                                   PROGRAMS_BANK_TOKENS, "the ends of answers", &o->words));
    TRY(programs_reserve_sums(g, &o->logits, &o->f, "logits"));
    o->dlogits = o->logits;
    o->dlogits.half = g->half;
    return WSC_OK;
}

/* What the layers before the outputs take. */
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
        TRY(reserve_outputs(k, i));
        TRY(reserve_layers(k, i));
    }
    return WSC_OK;
}

enum wsc_err programs_heads_allocate(struct programs_model *k)
{
    for (int i = 0; i < k->model->n_heads; i++) {
        int64_t words = 0;
        if (shape_of(k, i)->rows == MODEL_ROWS_FIRST) words = 2 * k->model->T;
        if (shape_of(k, i)->loss == MODEL_SPAN_ENTROPY) words = MODEL_SPAN_ENDS;
        if (words) TRY_NEW(k->output[i].own, WSC_MEM_KERNELS, k->max_samples * words);
    }
    return WSC_OK;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* The class of a sequence is the label of its first token; a target to which an output comes close
 * is none. */
static void label_sequences(struct programs_model *k, int i)
{
    const struct data_batch *batch = k->batch;
    struct programs_head *o = &k->output[i];
    int32_t *label = o->own, *mask = o->own + k->max_samples * k->model->T;
    const bool classes = shape_of(k, i)->loss != MODEL_SQUARED_ERROR;
    for (int64_t row = 0; row < batch->n * batch->T; row++) {
        mask[row] = row % batch->T == 0;
        label[row] = mask[row] && classes ? (int32_t)batch->targets[row / batch->T] : 0;
    }
    o->labels = label;
    o->mask = mask;
}

void programs_heads_begin(struct programs_model *k)
{
    for (int i = 0; i < k->model->n_heads; i++) {
        struct programs_head *o = &k->output[i];
        o->labels = k->batch->labels;
        o->mask = k->batch->mask;
        if (shape_of(k, i)->rows == MODEL_ROWS_FIRST) label_sequences(k, i);
        if (shape_of(k, i)->loss != MODEL_SPAN_ENTROPY) continue;
        programs_spans_label(k, o->own);
        o->labels = o->own;
    }
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

/* Dropout of what a head's outputs take: after the layer before them, else of the stream itself. */
static bool drops(const struct programs_model *k, int i)
{
    return shape_of(k, i)->dropout > 0 && programs_drops(k, MODEL_DROP_TASK);
}

/* What the head takes: the residual stream, or a copy after dropout. */
static const struct programs_tile *taken(struct programs_model *k, int i)
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
                          cycles_nonlinearity(&k->layout, k->hidden.slots));
    TRY(programs_stage_run(k, &s, PROGRAMS_ROW_NONLINEARITY));
    return drops(k, i) ? programs_drop(k, MODEL_DROP_TASK, &o->act, &o->act, false) : WSC_OK;
}

/* *@p in: what the output layer takes. */
static enum wsc_err before_outputs(struct programs_model *k, int i, const struct programs_tile **in)
{
    const struct model_head *shape = shape_of(k, i);
    const struct programs_tile *x = taken(k, i);
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

/* ---- outputs and loss, forward --------------------------------------------------------------- */

/* A tied head uses the token table. */
static enum model_tensor_kind output_weight(const struct programs_model *k, int i)
{
    const enum model_tensor_kind kind = shape_of(k, i)->output;
    return k->offset[kind] < 0 ? MODEL_WTE : kind;
}

static struct programs_loss loss_of(const struct programs_model *k, int i)
{
    const struct programs_head *o = &k->output[i];
    return (struct programs_loss){.logits = o->logits,
                                  .number = o->number,
                                  .tokens = o->rows,
                                  .words = o->words,
                                  .labels = o->labels,
                                  .mask = o->mask,
                                  .targets = k->batch->targets,
                                  .weight = k->pairs.weight,
                                  .scale = (float)k->model->logits_scale,
                                  .cap = cap_of(k, i),
                                  .even = k->training ? (float)shape_of(k, i)->smoothing : 0,
                                  .capped = &k->capped,
                                  .tmp = &k->wide_tmp};
}

/* The host looks at the logits that it wants, after their scale and their soft cap. */
static enum wsc_err copy_wanted(struct programs_model *k)
{
    const int64_t V = k->model->V;
    const float scale = (float)k->model->logits_scale, cap = cap_of(k, 0);
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

/* A head's loss of a leaf of @p n samples, token by token in their order, in double precision. */
static void add_leaf_loss(struct programs_model *k, int i, int first, int n, struct model_loss *sum)
{
    const struct programs_head *o = &k->output[i];
    const int64_t T = k->model->T;
    const bool classes = shape_of(k, i)->loss != MODEL_SQUARED_ERROR;
    struct model_loss mine = {0};
    if (shape_of(k, i)->loss == MODEL_SPAN_ENTROPY) {
        programs_spans_loss(k, o->labels, first, n, sum);
        return;
    }
    for (int64_t t = first * T; t < (first + n) * T; t++) {
        if (!o->mask[t]) continue;
        mine.nats += (double)k->nats[t];
        mine.n_tokens++;
        if (classes) mine.n_correct += k->best[t] == o->labels[t];
    }
    if (shape_of(k, i)->loss == MODEL_PREFERENCE)
        programs_pairs_loss(k, first, n, sum);
    else
        sum->loss_sum += shape_of(k, i)->weight * mine.nats;
    if (i) {
        sum->n_sequences = mine.n_tokens;
        sum->n_sequences_correct = mine.n_correct;
        return;
    }
    sum->nats = mine.nats;
    sum->n_tokens = mine.n_tokens;
    sum->n_correct = mine.n_correct;
}

/* Samples of leaf @p leaf, the first of them in *@p first. */
static int samples_of(const struct programs_model *k, int leaf, int *first)
{
    *first = leaf * k->grid.leaf_samples;
    const int rest = k->grid.all_samples - *first;
    return rest < k->grid.leaf_samples ? rest : k->grid.leaf_samples;
}

/* The loss of the logits; *@p cycles of it. */
static enum wsc_err run_loss(struct programs_model *k, int i, int64_t *cycles)
{
    const struct programs_loss loss = loss_of(k, i);
    const struct programs_losses out = {k->nats, k->best};
    const enum model_loss_kind kind = shape_of(k, i)->loss;
    if (kind == MODEL_SPAN_ENTROPY) return programs_run_spans(k, &loss, &out, cycles);
    if (kind == MODEL_SQUARED_ERROR)
        TRY(programs_run_regression(&k->grid, &loss, &out));
    else
        TRY(programs_run_loss(&k->grid, &loss, &out));
    *cycles = k->grid.stats.cycles;
    return WSC_OK;
}

static enum wsc_err head(struct programs_model *k, int i)
{
    struct programs_head *o = &k->output[i];
    int64_t cycles = 0;
    const struct programs_tile *in = NULL;
    TRY(before_outputs(k, i, &in));
    TRY(programs_adapted_linear(k, output_weight(k, i), in, &o->logits));
    TRY(programs_stage_bias(k, shape_of(k, i)->output + 1, &o->logits, NULL));
    if (!i) TRY(copy_wanted(k));
    TRY(run_loss(k, i, &cycles));
    programs_stage_book(k, PROGRAMS_ROW_LOSS, cycles);
    programs_stage_expect(
        k, PROGRAMS_ROW_LOSS,
        cycles_loss_of(&k->layout, shape_of(k, i)->loss, o->f.slots) +
            (has_vocabulary(k, i) ? cycles_logit_cap(&k->layout, o->f.slots) : 0));
    if (k->reference) programs_pairs_refer(k);
    for (int leaf = 0, first; !k->reference && leaf < k->n_leaves; leaf++) {
        const int n = samples_of(k, leaf, &first);
        add_leaf_loss(k, i, first, n, &k->loss[leaf]);
    }
    return WSC_OK;
}

enum wsc_err programs_heads(struct programs_model *k)
{
    for (int leaf = 0; leaf < k->n_leaves; leaf++)
        k->loss[leaf] = (struct model_loss){0};
    for (int i = 0; i < k->model->n_heads; i++)
        TRY(head(k, i));
    for (int leaf = 0, first; k->training && leaf < k->n_leaves; leaf++) {
        const int n = samples_of(k, leaf, &first);
        k->loss[leaf].loss_sum += programs_balance_loss(k, first, n);
    }
    return WSC_OK;
}

/* ---- backward -------------------------------------------------------------------------------- */

/* The gradient of the logits as operands of products: rounded where these have 16 bits. */
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

/* Gradients have the factor of loss scaling from here on, and the weight of the head. */
static enum wsc_err loss_backward(struct programs_model *k, int i)
{
    const int slots = k->output[i].f.slots;
    const enum model_loss_kind kind = shape_of(k, i)->loss;
    struct programs_loss loss = loss_of(k, i);
    loss.scale = (float)(k->model->logits_scale * k->gradient_scale * shape_of(k, i)->weight);
    if (kind == MODEL_SPAN_ENTROPY)
        TRY(programs_run_spans_backward(k, &loss));
    else if (kind == MODEL_SQUARED_ERROR)
        TRY(programs_run_regression_backward(&k->grid, &loss));
    else
        TRY(programs_run_loss_backward(&k->grid, &loss));
    programs_stage_book(k, PROGRAMS_ROW_LOSS_BACKWARD, k->grid.stats.cycles);
    programs_stage_expect(
        k, PROGRAMS_ROW_LOSS_BACKWARD,
        cycles_loss_gradient_of(&k->layout, kind, slots) +
            (loss.even > 0 ? cycles_even_labels_gradient(&k->layout, slots) : 0) +
            (has_vocabulary(k, i) ? cycles_logit_cap_gradient(&k->layout, slots) : 0));
    return round_dlogits(k, i);
}

/* From dxn: gradients of the layer before the outputs; dxn is then that of what it took.  act,
 * which nobody needs any longer, holds the gradient of pre. */
static enum wsc_err dense_backward(struct programs_model *k, int i)
{
    const struct model_head *shape = shape_of(k, i);
    const enum model_tensor_kind bias = shape->dense + 1;
    struct programs_head *o = &k->output[i];
    const struct programs_tile *const dpre = &o->act, *in = taken(k, i);
    const struct programs_stage_norm first = input_norm(k, i, in);
    struct programs_script s = programs_stage_script(k, &k->hidden);
    if (drops(k, i)) TRY(programs_drop(k, MODEL_DROP_TASK, &k->dxn, &k->dxn, true));
    programs_activate_backward(&k->grid, &s, shape->function, dpre, &o->pre, &k->dxn);
    programs_stage_expect(k, PROGRAMS_ROW_NONLINEARITY_BACKWARD,
                          cycles_nonlinearity(&k->layout, k->hidden.slots));
    TRY(programs_stage_run(k, &s, PROGRAMS_ROW_NONLINEARITY_BACKWARD));
    TRY(programs_adapted_linear_back(k, shape->dense, dpre, &k->dxn));
    if (shape->input_norm) {
        TRY(programs_stage_norm_again(k, &first, &k->xn));
        in = &k->xn;
    }
    TRY(programs_adapted_gradient(k, shape->dense, dpre, in));
    return programs_stage_bias_gradients(k, &bias, &dpre, 1);
}

/* dxn = the gradient of what the output layer took; gradients of its weights. */
static enum wsc_err outputs_backward(struct programs_model *k, int i)
{
    const struct model_head *shape = shape_of(k, i);
    const enum model_tensor_kind bias = shape->output + 1, weight = output_weight(k, i);
    const struct programs_tile *const dy = &k->output[i].dlogits;
    const struct programs_stage_norm norm =
        shape->dense ? dense_norm(k, i) : input_norm(k, i, taken(k, i));
    const struct programs_tile *in = norm.gain ? &k->xn : norm.x;
    TRY(programs_adapted_linear_back(k, weight, dy, &k->dxn));
    if (norm.gain) TRY(programs_stage_norm_again(k, &norm, &k->xn));
    TRY(programs_adapted_gradient(k, weight, dy, in));
    return programs_stage_bias_gradients(k, &bias, &dy, 1);
}

/* The gradient of the residual stream from that of the head's input, which is in dxn. */
static enum wsc_err input_backward(struct programs_model *k, int i)
{
    const struct programs_tile *x = taken(k, i);
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
        TRY(loss_backward(k, i));
        if (i == last) TRY(programs_clear(k, &k->dres));
        TRY(head_backward(k, i));
    }
    return WSC_OK;
}
