// SPDX-License-Identifier: Apache-2.0
/* The parts of a stage (embedding, q k v, attention, feed-forward, head) on the mesh, forward and
 * backward: which programs run on which tiles, and what their cycles are booked under, beside the
 * analytical model's for the same shapes. */
#include "program_parts.h"
#include "program_columns.h"
#include "program_embedding.h"
#include "program_grid.h"
#include "program_loss.h"
#include "program_norm.h"
#include "program_product.h"
#include "program_scores.h"
#include "program_softmax.h"
#include "program_state.h"
#include "program_vector_ops.h"

#include <wsc/check.h>

#include <math.h>

static const struct programs_view none = {.kind = PROGRAMS_VIEW_NONE};

/* ---- leaves ---------------------------------------------------------------------------------- */

void programs_leaf_samples(const struct programs_model *k, int i, int *first, int *n)
{
    const int64_t leaf = k->share.leaf_samples, at = (k->share.first_leaf + i) * leaf;
    const int64_t end = at + leaf < k->share.batch_size ? at + leaf : k->share.batch_size;
    *first = (int)(at - k->share.first_leaf * leaf);
    *n = (int)(end - at);
}

/* Gradient of a tensor of the stage for leaf @p i of the share; NULL when the stage has none. */
static float *leaf_grad(const struct programs_model *k, enum model_tensor_kind kind, int i)
{
    if (k->offset[kind] < 0) return NULL;
    return k->leaf_grads + i * k->n_elems + k->offset[kind];
}

/* ---- booking --------------------------------------------------------------------------------- */

/* The program that has just run was (a part of) kernel @p row. */
static void book(struct programs_model *k, enum programs_row_kind row, int64_t cycles)
{
    k->row[row].cycles += cycles;
    k->cycles += cycles;
}

/* The analytical model's cycles for the call, beside those that book() counts; the two columns of
 * the kernel table of a run. */
static void expect(struct programs_model *k, enum programs_row_kind row, double form)
{
    k->row[row].calls++;
    k->row[row].form += form;
}

/* Run a script and book its cycles. The first script whose vectors leave sets the cycle of the
 * stage in which the first gradient word leaves. */
static enum wsc_err run_script(struct programs_model *k, struct programs_script *s,
                               enum programs_row_kind row)
{
    enum wsc_err rc = programs_run_script(&k->grid, s);
    if (!rc) book(k, row, k->grid.stats.cycles);
    if (!rc && s->n_out && k->first_gradient < 0)
        k->first_gradient = k->cycles - k->grid.stats.cycles + s->edge[0].first_cycle;
    programs_script_fini(s);
    return rc;
}

/* An empty script over all samples of the micro-batch. */
static struct programs_script script(const struct programs_model *k,
                                     const struct programs_features *f)
{
    return (struct programs_script){.features = f, .n_samples = k->grid.n_samples};
}

/* ---- vectors of a stage ---------------------------------------------------------------------- */

/* A vector of the stage on the host, NULL when the model has none. */
static const float *vector_of(const struct programs_model *k, enum model_tensor_kind kind)
{
    return k->offset[kind] < 0 ? NULL : k->weight[kind];
}

/* The tensor comes in to place @p i; false when the stage has none. */
static bool take_vector(const struct programs_model *k, struct programs_script *s, int i,
                        enum model_tensor_kind kind, const struct programs_features *f)
{
    if (!vector_of(k, kind)) return false;
    s->in[s->n_in++] =
        (struct programs_vector){.f = f, .address = k->vector[i], .in = vector_of(k, kind)};
    return true;
}

static struct programs_view vector_view(const struct programs_model *k, int i)
{
    return programs_view(PROGRAMS_VIEW_FEATURES, k->vector[i]);
}

/* out (+ residual) += bias. */
static enum wsc_err add_bias(struct programs_model *k, enum model_tensor_kind bias,
                             const struct programs_tile *out, const struct programs_tile *residual)
{
    struct programs_script s = script(k, out->f);
    const struct programs_view to = programs_tile_view(out);
    const bool has = take_vector(k, &s, 0, bias, out->f);
    programs_vectors_in(&s);
    if (has) programs_op(&s, PROGRAMS_SHAPE_TILE, MESH_FADDS, to, to, vector_view(k, 0));
    if (residual)
        programs_op(&s, PROGRAMS_SHAPE_TILE, MESH_FADDS, to, to, programs_tile_view(residual));
    expect(k, PROGRAMS_ROW_POINTWISE,
           (has ? cycles_bias(&k->layout, out->f->slots) : 0) +
               (residual ? cycles_residual(&k->layout, out->f->slots) : 0));
    return s.n_steps ? run_script(k, &s, PROGRAMS_ROW_POINTWISE) : WSC_OK;
}

/* One vector per tile: its sum over the tokens of each leaf. */
static enum wsc_err bias_gradients(struct programs_model *k, const enum model_tensor_kind *bias,
                                   const struct programs_tile *const *dy, int n)
{
    for (int leaf = 0; leaf < k->n_leaves; leaf++) {
        struct programs_script s = script(k, dy[0]->f);
        programs_leaf_samples(k, leaf, &s.first_sample, &s.n_samples);
        for (int i = 0; i < n; i++) {
            const struct programs_view sum = vector_view(k, i);
            if (!vector_of(k, bias[i])) continue;
            programs_op(&s, PROGRAMS_SHAPE_FEATURES, MESH_FMOVS, sum, programs_number(0), none);
            programs_op(&s, PROGRAMS_SHAPE_TILE, MESH_FADDS, sum, sum, programs_tile_view(dy[i]));
            s.out[s.n_out++] = (struct programs_vector){
                .f = dy[i]->f, .address = k->vector[i], .out = leaf_grad(k, bias[i], leaf)};
        }
        if (!s.n_out) return WSC_OK;
        expect(k, PROGRAMS_ROW_POINTWISE_BACKWARD,
               cycles_bias_gradient(&k->leaf_layout, dy[0]->f->slots, s.n_out));
        programs_vectors_out(&s);
        TRY(run_script(k, &s, PROGRAMS_ROW_POINTWISE_BACKWARD));
    }
    return WSC_OK;
}

/* ---- norms ----------------------------------------------------------------------------------- */

/* A norm of the residual stream; gain and bias lie in the first two vectors of the stage. */
static struct programs_norm norm_of(const struct programs_model *k, const struct programs_tile *x,
                                    int stats)
{
    return (struct programs_norm){.x = *x,
                                  .gain = k->vector[0],
                                  .bias = k->vector[1],
                                  .stats = stats,
                                  .sums = k->sums,
                                  .eps = (float)k->model->zoo.layer_norm_epsilon};
}

/* Gain and bias come in from the north edge before the norm's steps. */
static void take_norm(const struct programs_model *k, struct programs_script *s,
                      struct programs_norm *n, enum model_tensor_kind gain)
{
    (void)take_vector(k, s, 0, gain, &k->hidden);
    if (!take_vector(k, s, 1, gain + 1, &k->hidden)) n->bias = -1;
    programs_vectors_in(s);
}

/* xn = norm of @p x; the statistics stay at @p stats for the gradient. */
static enum wsc_err norm_forward(struct programs_model *k, enum model_tensor_kind gain,
                                 const struct programs_tile *x, int stats)
{
    struct programs_script s = script(k, &k->hidden);
    struct programs_norm n = norm_of(k, x, stats);
    take_norm(k, &s, &n, gain);
    programs_norm_forward(&k->grid, &s, &n, &k->xn, &k->tmp);
    expect(k, PROGRAMS_ROW_NORM, cycles_norm(&k->layout));
    return run_script(k, &s, PROGRAMS_ROW_NORM);
}

/* xn = norm of @p x again, from kept statistics, for weight gradients: outputs of norms are not
 * kept. */
static enum wsc_err norm_again(struct programs_model *k, enum model_tensor_kind gain,
                               const struct programs_tile *x, int stats)
{
    struct programs_script s = script(k, &k->hidden);
    struct programs_norm n = norm_of(k, x, stats);
    take_norm(k, &s, &n, gain);
    programs_norm_again(&k->grid, &s, &n, &k->xn);
    expect(k, PROGRAMS_ROW_NORM_BACKWARD, cycles_norm_again(&k->layout));
    return run_script(k, &s, PROGRAMS_ROW_NORM_BACKWARD);
}

/* Gradients of gain and bias, leaf by leaf, from dxn and the normalised x. */
static enum wsc_err norm_gradients(struct programs_model *k, enum model_tensor_kind gain,
                                   const struct programs_norm *n)
{
    for (int leaf = 0; leaf < k->n_leaves; leaf++) {
        struct programs_script s = script(k, &k->hidden);
        const int dbias = vector_of(k, gain + 1) ? k->vector[3] : -1;
        programs_leaf_samples(k, leaf, &s.first_sample, &s.n_samples);
        programs_norm_gradients(&k->grid, &s, n, &k->dxn, &k->tmp, k->vector[2], dbias);
        s.out[s.n_out++] = (struct programs_vector){
            .f = &k->hidden, .address = k->vector[2], .out = leaf_grad(k, gain, leaf)};
        if (dbias >= 0)
            s.out[s.n_out++] = (struct programs_vector){
                .f = &k->hidden, .address = dbias, .out = leaf_grad(k, gain + 1, leaf)};
        programs_vectors_out(&s);
        expect(k, PROGRAMS_ROW_NORM_BACKWARD, cycles_norm_vector_gradient(&k->leaf_layout));
        TRY(run_script(k, &s, PROGRAMS_ROW_NORM_BACKWARD));
    }
    return WSC_OK;
}

/* From the gradient of the norm's output in dxn. */
static enum wsc_err norm_backward(struct programs_model *k, enum model_tensor_kind gain,
                                  const struct programs_tile *x, int stats)
{
    struct programs_script s = script(k, &k->hidden);
    struct programs_norm n = norm_of(k, x, stats);
    TRY(norm_gradients(k, gain, &n));
    take_norm(k, &s, &n, gain);
    programs_norm_backward(&k->grid, &s, &n, &k->dxn, &k->dres, &k->tmp);
    expect(k, PROGRAMS_ROW_NORM_BACKWARD,
           cycles_vectors_in(&k->layout, k->hidden.slots) + cycles_norm_input_gradient(&k->layout));
    return run_script(k, &s, PROGRAMS_ROW_NORM_BACKWARD);
}

/* ---- products -------------------------------------------------------------------------------- */

/* A matrix of the stage, (n_out, n_in), or with @p back its transpose. */
static struct programs_weights matrix(const struct programs_model *k, enum model_tensor_kind weight,
                                      int64_t n_in, bool back)
{
    return (struct programs_weights){.at = k->weight[weight],
                                     .ld_out = back ? 1 : n_in,
                                     .ld_in = back ? n_in : 1,
                                     .kept = k->kept[weight],
                                     .density = k->density[weight]};
}

/* out = in W', W (n_out, n_in). */
static enum wsc_err product(struct programs_model *k, const struct programs_product *p,
                            enum programs_row_kind row)
{
    const int inputs = p->sums ? p->n_parts : 1, outputs = p->sums ? 1 : p->n_parts;
    WSC_CHECK(p->in[0].f && p->out[0].f, "a product whose tiles have no features");
    const struct cycles_side in = {inputs * p->in[0].f->n, inputs * p->in[0].f->slots};
    double density = 0;
    for (int i = 0; i < p->n_parts; i++)
        density += p->w[i].density / p->n_parts;
    TRY(programs_run_product(&k->grid, p));
    book(k, row, k->grid.stats.cycles);
    expect(k, row, cycles_product(&k->layout, &in, outputs * p->out[0].f->n, density));
    return WSC_OK;
}

static enum wsc_err linear(struct programs_model *k, enum model_tensor_kind weight,
                           const struct programs_tile *in, const struct programs_tile *out)
{
    const struct programs_product p = {
        .n_parts = 1, .in = {*in}, .out = {*out}, .w = {matrix(k, weight, in->f->n, false)}};
    return product(k, &p, PROGRAMS_ROW_PRODUCT);
}

/* dx = dy W. */
static enum wsc_err linear_back(struct programs_model *k, enum model_tensor_kind weight,
                                const struct programs_tile *dy, const struct programs_tile *dx)
{
    const struct programs_product p = {
        .n_parts = 1, .in = {*dy}, .out = {*dx}, .w = {matrix(k, weight, dx->f->n, true)}};
    return product(k, &p, PROGRAMS_ROW_INPUT_GRADIENT);
}

/* dW of each leaf in turn, to its place on the host. The operand that is sent along the rows is
 * chosen by cycles_gradient_way(), as in the analytical model. */
static enum wsc_err weight_gradient(struct programs_model *k, enum model_tensor_kind weight,
                                    const struct programs_tile *dy, const struct programs_tile *x)
{
    const struct cycles_side in = {x->f->n, x->f->slots}, out = {dy->f->n, dy->f->slots};
    const double density = k->gradient_density[weight];
    for (int leaf = 0; leaf < k->n_leaves; leaf++) {
        struct programs_weight_gradient w = {.dy = *dy,
                                             .x = *x,
                                             .how =
                                                 cycles_gradient_way(&k->leaf_layout, &in, &out, 1),
                                             .room = (int64_t)k->leaf_layout.room,
                                             .host = leaf_grad(k, weight, leaf),
                                             .ld = x->f->n};
        programs_leaf_samples(k, leaf, &w.first_sample, &w.n_samples);
        TRY(programs_sum_weights(&k->grid, &w));
        if (k->first_gradient < 0) k->first_gradient = k->cycles + w.first_cycle;
        book(k, PROGRAMS_ROW_WEIGHT_GRADIENT, k->grid.stats.cycles);
        expect(k, PROGRAMS_ROW_WEIGHT_GRADIENT,
               cycles_weight_gradient(&k->leaf_layout, &in, &out, density));
    }
    return WSC_OK;
}

/* ---- embedding ------------------------------------------------------------------------------- */

static const enum model_tensor_kind tables[2] = {MODEL_WTE, MODEL_WPE};

static struct programs_table table_of(const struct programs_model *k, int i,
                                      const struct programs_tile *x)
{
    return (struct programs_table){.x = *x,
                                   .rows = k->rows[tables[i]],
                                   .row_of_token = i ? k->position : k->batch->input_ids,
                                   .scale = (float)k->model->zoo.embeddings_scale,
                                   .add = i,
                                   .n_samples = k->grid.n_samples};
}

/* The rows of the token table, then those of the position table are added. */
static enum wsc_err embed(struct programs_model *k)
{
    for (int i = 0; i < 2; i++) {
        const struct programs_table t = table_of(k, i, programs_x(k, 0));
        if (k->offset[tables[i]] < 0) continue;
        TRY(programs_run_table_gather(&k->grid, &t, k->weight[tables[i]]));
        book(k, PROGRAMS_ROW_EMBEDDING, k->grid.stats.cycles);
    }
    expect(k, PROGRAMS_ROW_EMBEDDING,
           cycles_part_forward(&k->layout, MODEL_PART_EMBED).elementwise);
    return WSC_OK;
}

/* Leaf by leaf and table by table, so that each leaf's gradient is a sum of its own. */
static enum wsc_err embed_backward(struct programs_model *k)
{
    for (int j = 0; j < 2 * k->n_leaves; j++) {
        const int i = j % 2, leaf = j / 2;
        struct programs_table t = table_of(k, i, &k->dres);
        programs_leaf_samples(k, leaf, &t.first_sample, &t.n_samples);
        if (!i)
            expect(k, PROGRAMS_ROW_EMBEDDING_BACKWARD,
                   cycles_part_backward(&k->leaf_layout, MODEL_PART_EMBED, CYCLES_KEEP_ALL)
                       .elementwise);
        if (k->offset[tables[i]] < 0) continue;
        TRY(programs_run_table_scatter(&k->grid, &t, leaf_grad(k, tables[i], leaf)));
        if (k->first_gradient < 0) k->first_gradient = k->cycles + t.first_cycle;
        book(k, PROGRAMS_ROW_EMBEDDING_BACKWARD, k->grid.stats.cycles);
    }
    return WSC_OK;
}

/* ---- attention ------------------------------------------------------------------------------- */

static const enum model_tensor_kind qkv_weight[3] = {MODEL_Q_W, MODEL_K_W, MODEL_V_W};
static const enum model_tensor_kind qkv_bias[3] = {MODEL_Q_B, MODEL_K_B, MODEL_V_B};

/* Norm, one product with three outputs (the input streams once), biases. */
static enum wsc_err qkv(struct programs_model *k)
{
    struct programs_layer *layer = programs_layer_of(k, k->l);
    const struct programs_tile *const out[3] = {&layer->q, &layer->k, &layer->v};
    struct programs_product p = {.n_parts = 3, .in = {k->xn}};
    TRY(norm_forward(k, MODEL_NORM1_W, programs_x(k, k->l), layer->stats1));
    for (int i = 0; i < 3; i++) {
        p.out[i] = *out[i];
        p.w[i] = matrix(k, qkv_weight[i], k->hidden.n, false);
    }
    TRY(product(k, &p, PROGRAMS_ROW_PRODUCT));
    for (int i = 0; i < 3; i++)
        TRY(add_bias(k, qkv_bias[i], out[i], NULL));
    return WSC_OK;
}

/* The three input gradients are one product that sums over its inputs, so dxn is written once. */
static enum wsc_err qkv_backward(struct programs_model *k)
{
    struct programs_layer *layer = programs_layer_of(k, k->l);
    const struct programs_tile *const dy[3] = {&k->dq, &k->dk, &k->dv};
    struct programs_product p = {.n_parts = 3, .sums = true, .out = {k->dxn}};
    for (int i = 0; i < 3; i++) {
        p.in[i] = *dy[i];
        p.w[i] = matrix(k, qkv_weight[i], k->hidden.n, true);
    }
    TRY(product(k, &p, PROGRAMS_ROW_INPUT_GRADIENT));
    TRY(norm_again(k, MODEL_NORM1_W, programs_x(k, k->l), layer->stats1));
    for (int i = 0; i < 3; i++)
        TRY(weight_gradient(k, qkv_weight[i], dy[i], &k->xn));
    TRY(bias_gradients(k, qkv_bias, dy, 3));
    return norm_backward(k, MODEL_NORM1_W, programs_x(k, k->l), layer->stats1);
}

/* The attention of one sample: scores of the samples lie one after the other, gradients share
 * scratch. */
static struct programs_attention attention_of(struct programs_model *k, int sample)
{
    const struct programs_layer *layer = programs_layer_of(k, k->l);
    const int words = (int)programs_score_words(&k->grid, &k->heads);
    const double by_layer = k->model->zoo.scale_qk_dot_by_layer_idx ? k->l + 1 : 1;
    return (struct programs_attention){.sample = sample,
                                       .scores = layer->scores + 4 * sample * words,
                                       .dscores = k->dscores,
                                       .tokens = k->head_tokens,
                                       .q = layer->q,
                                       .k = layer->k,
                                       .v = layer->v,
                                       .out = layer->ctx,
                                       .dout = k->dctx,
                                       .dq = k->dq,
                                       .dk = k->dk,
                                       .dv = k->dv,
                                       .room = (int64_t)k->layout.room,
                                       .arrives = cycles_keys_arrive(&k->layout),
                                       .scale = (float)(k->model->qk_scale / by_layer)};
}

/* Sample by sample, then the output projection, its bias and the residual into mid. */
static enum wsc_err attend(struct programs_model *k)
{
    struct programs_layer *layer = programs_layer_of(k, k->l);
    for (int i = 0; i < k->grid.n_samples; i++) {
        const struct programs_attention a = attention_of(k, i);
        const int64_t before = k->grid.total.cycles;
        TRY(programs_run_attention(&k->grid, &a));
        book(k, PROGRAMS_ROW_ATTENTION, k->grid.total.cycles - before);
    }
    expect(k, PROGRAMS_ROW_ATTENTION, cycles_attention(&k->layout));
    TRY(linear(k, MODEL_O_W, &layer->ctx, &layer->mid));
    return add_bias(k, MODEL_O_B, &layer->mid, programs_x(k, k->l));
}

/* dctx from the output projection first; probabilities were kept from the forward pass and are
 * used up. */
static enum wsc_err attend_backward(struct programs_model *k)
{
    static const enum model_tensor_kind bias[1] = {MODEL_O_B};
    struct programs_layer *layer = programs_layer_of(k, k->l);
    const struct programs_tile *const dy[1] = {&k->dres};
    TRY(linear_back(k, MODEL_O_W, &k->dres, &k->dctx));
    TRY(weight_gradient(k, MODEL_O_W, &k->dres, &layer->ctx));
    TRY(bias_gradients(k, bias, dy, 1));
    for (int i = 0; i < k->grid.n_samples; i++) {
        const struct programs_attention a = attention_of(k, i);
        const int64_t before = k->grid.total.cycles;
        TRY(programs_run_attention_backward(&k->grid, &a));
        book(k, PROGRAMS_ROW_ATTENTION_BACKWARD, k->grid.total.cycles - before);
    }
    expect(k, PROGRAMS_ROW_ATTENTION_BACKWARD, cycles_attention_gradient(&k->layout, false));
    return WSC_OK;
}

/* ---- feed-forward ---------------------------------------------------------------------------- */

static enum programs_nonlinearity nonlinearity_of(const struct model *m)
{
    static const enum programs_nonlinearity of[] = {
        [ZOO_GELU] = PROGRAMS_GELU, [ZOO_GELU_NEW] = PROGRAMS_GELU_NEW, [ZOO_RELU] = PROGRAMS_RELU};
    WSC_CHECK(m->nonlinearity <= ZOO_RELU, "nonlinearity %d", (int)m->nonlinearity);
    return of[m->nonlinearity];
}

/* act = nonlinearity of the kept filter; the backward pass computes it again for the weight
 * gradient. */
static enum wsc_err activate(struct programs_model *k, enum programs_row_kind row)
{
    struct programs_script s = script(k, &k->filter);
    programs_activate(&k->grid, &s, nonlinearity_of(k->model), &k->act,
                      &programs_layer_of(k, k->l)->pre);
    expect(k, row, cycles_nonlinearity(&k->layout, k->layout.filter.k));
    return run_script(k, &s, row);
}

static enum wsc_err ffn0(struct programs_model *k)
{
    struct programs_layer *layer = programs_layer_of(k, k->l);
    TRY(norm_forward(k, MODEL_NORM3_W, &layer->mid, layer->stats3));
    TRY(linear(k, MODEL_FFN0_W, &k->xn, &layer->pre));
    return add_bias(k, MODEL_FFN0_B, &layer->pre, NULL);
}

static enum wsc_err ffn0_backward(struct programs_model *k)
{
    static const enum model_tensor_kind bias[1] = {MODEL_FFN0_B};
    struct programs_layer *layer = programs_layer_of(k, k->l);
    const struct programs_tile *const dy[1] = {&k->dpre};
    TRY(linear_back(k, MODEL_FFN0_W, &k->dpre, &k->dxn));
    TRY(norm_again(k, MODEL_NORM3_W, &layer->mid, layer->stats3));
    TRY(weight_gradient(k, MODEL_FFN0_W, &k->dpre, &k->xn));
    TRY(bias_gradients(k, bias, dy, 1));
    return norm_backward(k, MODEL_NORM3_W, &layer->mid, layer->stats3);
}

static enum wsc_err ffn1(struct programs_model *k)
{
    struct programs_layer *layer = programs_layer_of(k, k->l);
    TRY(activate(k, PROGRAMS_ROW_NONLINEARITY));
    /* Outside training x and the next x are the same tile; mid is another one. */
    TRY(linear(k, MODEL_FFN1_W, &k->act, programs_x(k, k->l + 1)));
    return add_bias(k, MODEL_FFN1_B, programs_x(k, k->l + 1), &layer->mid);
}

/* dact comes into dpre and is turned into the gradient of the filter in place, since the steps of
 * a map read an element before they write it. */
static enum wsc_err ffn1_backward(struct programs_model *k)
{
    static const enum model_tensor_kind bias[1] = {MODEL_FFN1_B};
    const struct programs_tile *const dy[1] = {&k->dres};
    const struct programs_tile *pre = &programs_layer_of(k, k->l)->pre;
    struct programs_script s = script(k, &k->filter);
    TRY(linear_back(k, MODEL_FFN1_W, &k->dres, &k->dpre));
    TRY(activate(k, PROGRAMS_ROW_NONLINEARITY_BACKWARD));
    programs_activate_backward(&k->grid, &s, nonlinearity_of(k->model), &k->dpre, pre, &k->dpre);
    expect(k, PROGRAMS_ROW_NONLINEARITY_BACKWARD,
           cycles_nonlinearity(&k->layout, k->layout.filter.k));
    TRY(run_script(k, &s, PROGRAMS_ROW_NONLINEARITY_BACKWARD));
    TRY(weight_gradient(k, MODEL_FFN1_W, &k->dres, &k->act));
    return bias_gradients(k, bias, dy, 1);
}

/* ---- head ------------------------------------------------------------------------------------ */

/* A tied head uses the token table. */
static enum model_tensor_kind head_weight(const struct programs_model *k)
{
    return k->offset[MODEL_LM_HEAD_W] < 0 ? MODEL_WTE : MODEL_LM_HEAD_W;
}

static struct programs_loss loss_of(const struct programs_model *k)
{
    return (struct programs_loss){.logits = k->logits,
                                  .number = k->number,
                                  .tokens = k->loss_rows,
                                  .labels = k->batch->labels,
                                  .mask = k->batch->mask,
                                  .scale = (float)k->model->logits_scale,
                                  .tmp = &k->tmp};
}

/* The host looks at the logits that it wants, after their scale. */
static enum wsc_err copy_wanted(struct programs_model *k)
{
    const int64_t V = k->model->V;
    if (!k->any_wanted) return WSC_OK;
    TRY(programs_tile_out(&k->grid, &k->logits, k->all_logits));
    for (int i = 0; i < k->grid.n_samples; i++)
        for (int64_t v = 0; v < V; v++)
            k->wanted_logits[i * V + v] = k->all_logits[(i * k->model->T + k->wanted[i]) * V + v] *
                                          (float)k->model->logits_scale;
    return WSC_OK;
}

/* Norm, logits, loss; the tile of logits then holds exp(logit - maximum) for the gradient. */
static enum wsc_err head(struct programs_model *k)
{
    const struct programs_loss loss = loss_of(k);
    const struct programs_losses out = {k->nats, k->best};
    TRY(norm_forward(k, MODEL_NORMF_W, programs_x(k, k->model->L), k->stats_last));
    TRY(linear(k, head_weight(k), &k->xn, &k->logits));
    if (vector_of(k, MODEL_LM_HEAD_B)) TRY(add_bias(k, MODEL_LM_HEAD_B, &k->logits, NULL));
    TRY(copy_wanted(k));
    TRY(programs_run_loss(&k->grid, &loss, &out));
    book(k, PROGRAMS_ROW_LOSS, k->grid.stats.cycles);
    expect(k, PROGRAMS_ROW_LOSS, cycles_loss(&k->layout, k->vocab.slots));
    return WSC_OK;
}

static enum wsc_err clear_residual(struct programs_model *k)
{
    struct programs_script s = script(k, &k->hidden);
    programs_op(&s, PROGRAMS_SHAPE_TILE, MESH_FMOVS, programs_tile_view(&k->dres),
                programs_number(0), none);
    return run_script(k, &s, PROGRAMS_ROW_LOSS_BACKWARD);
}

/* The backward pass begins here, so the gradient of the residual stream is set to 0 first. */
static enum wsc_err head_backward(struct programs_model *k)
{
    static const enum model_tensor_kind bias[1] = {MODEL_LM_HEAD_B};
    const struct programs_loss loss = loss_of(k);
    const struct programs_tile *const dy[1] = {&k->logits};
    const struct programs_tile *x = programs_x(k, k->model->L);
    TRY(programs_run_loss_backward(&k->grid, &loss));
    book(k, PROGRAMS_ROW_LOSS_BACKWARD, k->grid.stats.cycles);
    expect(k, PROGRAMS_ROW_LOSS_BACKWARD,
           cycles_loss_gradient(&k->layout, k->vocab.slots) +
               cycles_copy(&k->layout, k->hidden.slots * k->layout.t));
    TRY(clear_residual(k));
    TRY(linear_back(k, head_weight(k), &k->logits, &k->dxn));
    TRY(norm_again(k, MODEL_NORMF_W, x, k->stats_last));
    TRY(weight_gradient(k, head_weight(k), &k->logits, &k->xn));
    TRY(bias_gradients(k, bias, dy, 1));
    return norm_backward(k, MODEL_NORMF_W, x, k->stats_last);
}

/* The parts of a model, in one row each. */
static const struct {
    enum wsc_err (*forward)(struct programs_model *k);
    enum wsc_err (*backward)(struct programs_model *k);
} parts[] = {
    [MODEL_PART_EMBED] = {embed, embed_backward},  [MODEL_PART_QKV] = {qkv, qkv_backward},
    [MODEL_PART_ATTN] = {attend, attend_backward}, [MODEL_PART_FFN0] = {ffn0, ffn0_backward},
    [MODEL_PART_FFN1] = {ffn1, ffn1_backward},     [MODEL_PART_HEAD] = {head, head_backward},
};

enum wsc_err programs_forward_part(struct programs_model *k, enum model_part part)
{
    return parts[part].forward(k);
}

enum wsc_err programs_backward_part(struct programs_model *k, enum model_part part)
{
    return parts[part].backward(k);
}
