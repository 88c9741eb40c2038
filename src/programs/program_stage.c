// SPDX-License-Identifier: Apache-2.0
/* Runs the operations of a stage on the mesh: norms, biases, products with the matrices that
 * stream, weight gradients leaf by leaf. It records the cycles of each operation beside those of
 * the analytical model for the same shapes. program_parts.c calls them part by part. */
#include "program_stage.h"
#include "program_columns.h"
#include "program_grid.h"
#include "program_norm.h"

#include <wsc/check.h>
#include <wsc/num.h>

static const struct programs_view none = {.kind = PROGRAMS_VIEW_NONE};

/* ---- leaves ---------------------------------------------------------------------------------- */

int programs_leaf_rounds(const struct programs_model *k)
{
    return (k->n_leaves + k->grid.lanes - 1) / k->grid.lanes;
}

void programs_round_samples(const struct programs_model *k, int i, int *first, int *n)
{
    *first = i * k->grid.leaf_samples;
    *n = programs_samples(&k->grid, 0, *first, k->grid.leaf_samples);
}

float *programs_stage_gradient(const struct programs_model *k, enum model_tensor_kind kind, int i)
{
    if (k->offset[kind] < 0) return NULL;
    return k->leaf_grads + (int64_t)i * k->grid.lanes * k->n_elems + k->offset[kind];
}

/* ---- keys and values that heads share -------------------------------------------------------- */

/* True for the gain of a norm of queries or keys, which is computed by heads; its bias is the next
 * kind. */
static bool is_by_heads(enum model_tensor_kind gain)
{
    return gain == MODEL_Q_NORM_W || gain == MODEL_K_NORM_W;
}

/* Every query head has keys and values on its own columns: those of a group are streamed once for
 * each of its heads, and their gradients are added at the edge. All heads share one norm. The outer
 * matrix B of an adapter has the rows of the adapted matrix. */
static struct programs_repeat repeat_of(const struct programs_model *k,
                                        enum model_tensor_kind tensor)
{
    const bool narrows = tensor >= MODEL_ADAPTER_A && tensor < MODEL_ADAPTER_B;
    const enum model_tensor_kind kind = narrows ? tensor : model_base_kind(tensor);
    const bool keys =
        kind == MODEL_K_W || kind == MODEL_K_B || kind == MODEL_V_W || kind == MODEL_V_B;
    const bool norm = is_by_heads(kind) || kind == MODEL_Q_NORM_B || kind == MODEL_K_NORM_B;
    const int64_t heads = norm ? k->model->H : k->model->H / k->model->kv_heads;
    if ((!keys && !norm) || heads == 1) return (struct programs_repeat){0};
    return (struct programs_repeat){k->model->head_dim, heads};
}

/* Memory for the rows of a gradient that the PEs of the first lane send in round @p i. Rows of
 * shared keys and values first go to the scratch memory of the host, at row @p row. */
static float *gradient_taken(const struct programs_model *k, enum model_tensor_kind kind, int i,
                             int64_t row)
{
    if (!repeat_of(k, kind).times) return programs_stage_gradient(k, kind, i);
    return k->shared + row;
}

/* Distance from this memory to that of the next lane. */
static int64_t lane_step(const struct programs_model *k, enum model_tensor_kind kind)
{
    return repeat_of(k, kind).times ? k->n_shared : k->n_elems;
}

/* Add the rows of @p n elements of all heads to those of their groups, in the order of the heads,
 * for each active lane. */
static void add_to_groups(const struct programs_model *k, enum model_tensor_kind kind, int round,
                          int64_t n, int64_t row)
{
    const struct programs_repeat repeat = repeat_of(k, kind);
    for (int lane = 0; lane < k->grid.active && repeat.times; lane++) {
        float *to = programs_stage_gradient(k, kind, round) + lane * k->n_elems;
        const float *from = k->shared + lane * k->n_shared + row;
        for (int64_t i = 0; i < k->heads.n; i++)
            num_add(to + programs_repeated(&repeat, i) * n, from + i * n, n);
    }
}

/* A bias with one element for each feature of its tile: shared elements are repeated. */
static const float *bias_on_tile(const struct programs_model *k, enum model_tensor_kind kind)
{
    const struct programs_repeat repeat = repeat_of(k, kind);
    const float *bias = k->weight[kind];
    if (!repeat.times) return bias;
    const bool second = kind == MODEL_V_B || kind == MODEL_Q_NORM_B || kind == MODEL_K_NORM_B;
    float *all = k->shared + (second ? k->heads.n : 0);
    for (int64_t i = 0; i < k->heads.n; i++)
        all[i] = bias[programs_repeated(&repeat, i)];
    return all;
}

/* ---- tensors of the stage -------------------------------------------------------------------- */

/* Set which elements of a tensor are streamed, and which elements of its gradient are wanted: none
 * if it is frozen. */
static void enter_mask(struct programs_model *k, const struct model_tensor *t,
                       const struct model_weights *mask)
{
    const bool sparse = mask && mask->bits;
    const double density = sparse ? (double)mask->n_kept / (double)t->n_elems : 1;
    k->kept[t->kind] = sparse ? mask->bits : NULL;
    k->density[t->kind] = density;
    k->trains[t->kind] = !t->frozen;
    k->gradient_density[t->kind] = sparse && mask->dense_gradient ? 1 : density;
}

void programs_stage_enter(struct programs_model *k, int expert)
{
    for (int i = 0; i < k->stage->n_views; i++) {
        const struct model_view *view = &k->stage->view[i];
        const struct model_tensor *t = &k->model->tensor[view->tensor];
        if (t->expert != expert) continue;
        k->offset[t->kind] = view->offset;
        k->weight[t->kind] = k->elements + view->offset;
        k->rows[t->kind] = t->shape[0];
        enter_mask(k, t, k->masks ? &k->masks[i] : NULL);
    }
}

/* ---- networks of a mixture of experts -------------------------------------------------------- */

/* First place on row number @p row in network @p e that belongs to sample @p sample or a later
 * one. */
static int start_of(struct programs_model *k, int row, int e, int sample)
{
    const int *start = programs_layer_of(k, k->l)->choice.start;
    const int networks = (int)model_n_ffns(k->model), samples = k->grid.max_samples + 1;
    return start[(row * networks + e) * samples + sample];
}

/* Set the span of the places of samples first .. end - 1 of each lane in the current network; for
 * all networks together, that of all samples. */
static void span_of_samples(struct programs_model *k, struct programs_span *span, int *columns,
                            int first, int end)
{
    const struct programs_grid *g = &k->grid;
    const int e = k->experts.network, rows = g->lanes * g->h;
    *span = (struct programs_span){columns, columns + rows};
    for (int row = 0; row < rows; row++) {
        columns[row] = e < 0 ? 0 : start_of(k, row, e, first);
        columns[rows + row] = e < 0 ? (int)model_active_ffns(k->model) * programs_row_tokens(g, row)
                                    : start_of(k, row, e, end) - columns[row];
    }
}

void programs_stage_network(struct programs_model *k, int network)
{
    struct programs_experts *e = &k->experts;
    e->network = network;
    if (network == PROGRAMS_ALL_TOKENS) return;
    span_of_samples(k, &e->span, e->columns, 0, k->grid.n_samples);
    if (network >= 0) programs_stage_enter(k, network);
}

static bool has_places(const struct programs_model *k)
{
    return k->model->experts && k->experts.network != PROGRAMS_ALL_TOKENS;
}

const struct cycles_layout *programs_stage_layout(const struct programs_model *k, bool leaf)
{
    const struct programs_experts *e = &k->experts;
    if (has_places(k) && e->network == PROGRAMS_ALL_PLACES) return &e->places;
    if (has_places(k) && e->network < k->model->experts) return leaf ? &e->one_leaf : &e->one;
    return leaf ? &k->leaf_layout : &k->layout;
}

/* Columns of tiles that an operation uses in round @p round of leaves: NULL for tokens of samples,
 * otherwise places of the current network. */
static const struct programs_span *span_of_round(struct programs_model *k, int round)
{
    struct programs_experts *e = &k->experts;
    int first, n;
    if (!has_places(k)) return NULL;
    programs_round_samples(k, round, &first, &n);
    span_of_samples(k, &e->leaf, e->leaf_columns, first, first + n);
    return &e->leaf;
}

/* ---- booking --------------------------------------------------------------------------------- */

void programs_stage_book(struct programs_model *k, enum programs_row_kind row, int64_t cycles)
{
    k->row[row].cycles += cycles;
    k->cycles += cycles;
}

void programs_stage_expect(struct programs_model *k, enum programs_row_kind row, double cycles)
{
    k->row[row].calls++;
    k->row[row].analytical += cycles;
}

enum wsc_err programs_stage_run(struct programs_model *k, struct programs_script *s,
                                enum programs_row_kind row)
{
    enum wsc_err rc = programs_run_script(&k->grid, s);
    if (!rc) programs_stage_book(k, row, k->grid.stats.cycles);
    if (!rc && s->n_out && k->first_gradient < 0)
        k->first_gradient = k->cycles - k->grid.stats.cycles + s->edge[0].first_cycle;
    programs_script_fini(s);
    return rc;
}

struct programs_script programs_stage_script(const struct programs_model *k,
                                             const struct programs_features *f)
{
    return (struct programs_script){.features = f,
                                    .n_samples = k->grid.n_samples,
                                    .span = has_places(k) ? &k->experts.span : NULL};
}

/* ---- vectors of a stage ---------------------------------------------------------------------- */

/* A vector of the stage on the host; NULL when the model has none. */
static const float *vector_of(const struct programs_model *k, enum model_tensor_kind kind)
{
    return k->offset[kind] < 0 ? NULL : k->weight[kind];
}

/* Let the script load a tensor to vector number @p i, in the layout of tile @p tile; false when
 * the stage has no such tensor. */
static bool take_vector(const struct programs_model *k, struct programs_script *s, int i,
                        enum model_tensor_kind kind, const struct programs_tile *tile)
{
    if (!vector_of(k, kind)) return false;
    s->in[s->n_in++] = (struct programs_vector){
        .f = tile->f, .address = k->vector[i], .in = bias_on_tile(k, kind), .half = tile->half};
    return true;
}

static struct programs_view vector_view(const struct programs_model *k, int i)
{
    return programs_view(PROGRAMS_VIEW_FEATURES, k->vector[i]);
}

struct programs_view programs_stage_vector(const struct programs_model *k,
                                           struct programs_script *s, enum model_tensor_kind kind,
                                           const struct programs_tile *tile)
{
    (void)take_vector(k, s, 0, kind, tile);
    programs_vectors_in(s);
    return vector_view(k, 0);
}

enum wsc_err programs_stage_bias(struct programs_model *k, enum model_tensor_kind bias,
                                 const struct programs_tile *out,
                                 const struct programs_tile *residual)
{
    struct programs_script s = programs_stage_script(k, out->f);
    const struct programs_view to = programs_tile_view(out);
    const struct cycles_layout *l = programs_stage_layout(k, false);
    const bool has = take_vector(k, &s, 0, bias, out);
    programs_vectors_in(&s);
    if (has) programs_op(&s, PROGRAMS_SHAPE_TILE, MESH_FADDS, to, to, vector_view(k, 0));
    if (residual)
        programs_op(&s, PROGRAMS_SHAPE_TILE, MESH_FADDS, to, to, programs_tile_view(residual));
    programs_stage_expect(k, PROGRAMS_ROW_POINTWISE,
                          (has ? cycles_bias(l, out->f->slots) : 0) +
                              (residual ? cycles_residual(l, out->f->slots) : 0));
    return s.n_steps ? programs_stage_run(k, &s, PROGRAMS_ROW_POINTWISE) : WSC_OK;
}

/* Gradients of biases for one round of leaves. */
static enum wsc_err bias_gradients_of_round(struct programs_model *k,
                                            const enum model_tensor_kind *bias,
                                            const struct programs_tile *const *dy, int n, int round)
{
    struct programs_script s = programs_stage_script(k, dy[0]->f);
    programs_round_samples(k, round, &s.first_sample, &s.n_samples);
    s.span = span_of_round(k, round);
    for (int i = 0; i < n; i++) {
        const struct programs_view sum = vector_view(k, i);
        if (!vector_of(k, bias[i]) || !k->trains[bias[i]]) continue;
        programs_op(&s, PROGRAMS_SHAPE_FEATURES, MESH_FMOVS, sum, programs_number(0), none);
        programs_op(&s, PROGRAMS_SHAPE_TILE, MESH_FADDS, sum, sum, programs_tile_view(dy[i]));
        s.out[s.n_out++] = (struct programs_vector){
            .f = dy[i]->f,
            .address = k->vector[i],
            .out = gradient_taken(k, bias[i], round, (int64_t)i * k->heads.n),
            .lane_step = lane_step(k, bias[i])};
    }
    if (!s.n_out) return WSC_OK;
    programs_stage_expect(
        k, PROGRAMS_ROW_POINTWISE_BACKWARD,
        cycles_bias_gradient(programs_stage_layout(k, true), dy[0]->f->slots, s.n_out));
    programs_vectors_out(&s);
    TRY(programs_stage_run(k, &s, PROGRAMS_ROW_POINTWISE_BACKWARD));
    for (int i = 0; i < n; i++)
        if (k->trains[bias[i]]) add_to_groups(k, bias[i], round, 1, (int64_t)i * k->heads.n);
    return WSC_OK;
}

enum wsc_err programs_stage_bias_gradients(struct programs_model *k,
                                           const enum model_tensor_kind *bias,
                                           const struct programs_tile *const *dy, int n)
{
    for (int round = 0; round < programs_leaf_rounds(k); round++)
        TRY(bias_gradients_of_round(k, bias, dy, n, round));
    return WSC_OK;
}

/* ---- norms ----------------------------------------------------------------------------------- */

/* Operands of a norm; gain and bias are in the first two vectors of the stage. */
static struct programs_norm norm_of(const struct programs_model *k,
                                    const struct programs_stage_norm *n)
{
    const struct model *m = k->model;
    const bool by_heads = is_by_heads(n->gain);
    const double eps =
        by_heads ? m->qk_norm_eps[n->gain == MODEL_K_NORM_W] : m->zoo.layer_norm_epsilon;
    return (struct programs_norm){.x = *n->x,
                                  .gain = k->vector[0],
                                  .bias = vector_of(k, n->gain + 1) ? k->vector[1] : -1,
                                  .stats = n->stats,
                                  .sums = k->sums,
                                  .eps = (float)eps,
                                  .rms = by_heads ? m->zoo.attention_qk_norm_layer == ZOO_QK_RMSNORM
                                                  : m->zoo.norm_type == ZOO_RMSNORM,
                                  .by_heads = by_heads};
}

static struct programs_script norm_script(const struct programs_model *k,
                                          const struct programs_norm *n)
{
    struct programs_script s = programs_stage_script(k, n->x.f);
    if (n->by_heads) s.heads = n->x.f;
    return s;
}

/* Load gain and bias from the north edge before the steps of a norm; for a norm by heads, once for
 * all heads of a PE. */
static void take_norm(const struct programs_model *k, struct programs_script *s,
                      enum model_tensor_kind gain)
{
    const struct programs_tile tile = {.f = is_by_heads(gain) ? &k->head : &k->hidden,
                                       .half = k->grid.half};
    (void)take_vector(k, s, 0, gain, &tile);
    (void)take_vector(k, s, 1, gain + 1, &tile);
    programs_vectors_in(s);
}

/* The scratch tile with the features of @p x. */
static struct programs_tile scratch_like(const struct programs_model *k,
                                         const struct programs_tile *x)
{
    struct programs_tile tmp = k->tmp;
    tmp.f = x->f;
    return tmp;
}

enum wsc_err programs_stage_norm(struct programs_model *k, const struct programs_stage_norm *what,
                                 const struct programs_tile *out)
{
    const struct programs_norm n = norm_of(k, what);
    const struct programs_tile tmp = scratch_like(k, &n.x);
    struct programs_script s = norm_script(k, &n);
    take_norm(k, &s, what->gain);
    programs_norm_forward(&k->grid, &s, &n, out, &tmp);
    programs_stage_expect(k, PROGRAMS_ROW_NORM,
                          n.by_heads ? cycles_head_norm(&k->layout) : cycles_norm(&k->layout));
    return programs_stage_run(k, &s, PROGRAMS_ROW_NORM);
}

enum wsc_err programs_stage_norm_again(struct programs_model *k,
                                       const struct programs_stage_norm *what,
                                       const struct programs_tile *out)
{
    struct programs_script s = programs_stage_script(k, &k->hidden);
    const struct programs_norm n = norm_of(k, what);
    take_norm(k, &s, what->gain);
    programs_norm_again(&k->grid, &s, &n, out);
    programs_stage_expect(k, PROGRAMS_ROW_NORM_BACKWARD, cycles_norm_again(&k->layout));
    return programs_stage_run(k, &s, PROGRAMS_ROW_NORM_BACKWARD);
}

/* Let the script send the gradient of gain or bias at @p address in round @p round. */
static void send_norm_gradient(const struct programs_model *k, struct programs_script *s,
                               enum model_tensor_kind kind, int round, int address)
{
    s->out[s->n_out] = (struct programs_vector){
        .f = s->features,
        .address = address,
        .out = gradient_taken(k, kind, round, (int64_t)s->n_out * s->features->n),
        .lane_step = lane_step(k, kind)};
    s->n_out++;
}

/* Gradients of gain and bias in rounds of leaves, from the gradient of the output and the
 * normalised x. */
static enum wsc_err norm_gradients(struct programs_model *k, enum model_tensor_kind gain,
                                   const struct programs_norm *n, const struct programs_tile *dy)
{
    const struct programs_tile tmp = scratch_like(k, &n->x);
    for (int round = 0; round < programs_leaf_rounds(k); round++) {
        struct programs_script s = norm_script(k, n);
        const int dbias = n->bias >= 0 ? k->vector[3] : -1;
        programs_round_samples(k, round, &s.first_sample, &s.n_samples);
        programs_norm_gradients(&k->grid, &s, n, dy, &tmp, k->vector[2], dbias);
        send_norm_gradient(k, &s, gain, round, k->vector[2]);
        if (dbias >= 0) send_norm_gradient(k, &s, gain + 1, round, dbias);
        programs_vectors_out(&s);
        programs_stage_expect(k, PROGRAMS_ROW_NORM_BACKWARD,
                              n->by_heads ? cycles_head_norm_vector_gradient(&k->leaf_layout)
                                          : cycles_norm_vector_gradient(&k->leaf_layout));
        TRY(programs_stage_run(k, &s, PROGRAMS_ROW_NORM_BACKWARD));
        add_to_groups(k, gain, round, 1, 0);
        if (dbias >= 0) add_to_groups(k, gain + 1, round, 1, n->x.f->n);
    }
    return WSC_OK;
}

enum wsc_err programs_stage_norm_backward(struct programs_model *k,
                                          const struct programs_stage_norm *what,
                                          const struct programs_tile *to)
{
    struct programs_script s = programs_stage_script(k, &k->hidden);
    const struct programs_norm n = norm_of(k, what);
    TRY(norm_gradients(k, what->gain, &n, &k->dxn));
    take_norm(k, &s, what->gain);
    programs_norm_backward(&k->grid, &s, &n, &k->dxn, to, &k->tmp);
    programs_stage_expect(k, PROGRAMS_ROW_NORM_BACKWARD,
                          cycles_vectors_in(&k->layout, k->hidden.slots) +
                              cycles_norm_input_gradient(&k->layout));
    return programs_stage_run(k, &s, PROGRAMS_ROW_NORM_BACKWARD);
}

enum wsc_err programs_stage_head_norm_backward(struct programs_model *k,
                                               const struct programs_stage_norm *what,
                                               const struct programs_tile *d)
{
    const struct programs_norm n = norm_of(k, what);
    const struct programs_tile tmp = scratch_like(k, &n.x);
    struct programs_script s = norm_script(k, &n);
    TRY(norm_gradients(k, what->gain, &n, d));
    take_norm(k, &s, what->gain);
    programs_norm_backward(&k->grid, &s, &n, d, NULL, &tmp);
    programs_stage_expect(k, PROGRAMS_ROW_NORM_BACKWARD,
                          cycles_head_norm_input_gradient(&k->layout));
    return programs_stage_run(k, &s, PROGRAMS_ROW_NORM_BACKWARD);
}

/* ---- products -------------------------------------------------------------------------------- */

/* A matrix of the stage (n_out, n_in); with @p back its transpose. */
static struct programs_weights matrix_of(const struct programs_model *k,
                                         enum model_tensor_kind weight, int64_t n_in, bool back)
{
    const struct programs_repeat repeat = repeat_of(k, weight), once = {0};
    return (struct programs_weights){.at = k->weight[weight],
                                     .ld_out = back ? 1 : n_in,
                                     .ld_in = back ? n_in : 1,
                                     .out = back ? once : repeat,
                                     .in = back ? repeat : once,
                                     .kept = k->kept[weight],
                                     .density = k->density[weight]};
}

static enum wsc_err product(struct programs_model *k, const struct programs_product *p,
                            enum programs_row_kind row)
{
    const int inputs = p->sums ? p->n_parts : 1, outputs = p->sums ? 1 : p->n_parts;
    WSC_CHECK(p->in[0].f && p->out[0].f, "a product whose tiles have no features");
    const struct cycles_side in = {.n = inputs * p->in[0].f->n, .k = inputs * p->in[0].f->slots};
    double density = 0;
    for (int i = 0; i < p->n_parts; i++)
        density += p->w[i].density / p->n_parts;
    struct programs_product taken = *p;
    taken.span = has_places(k) ? &k->experts.span : NULL;
    TRY(programs_run_product(&k->grid, &taken));
    programs_stage_book(k, row, k->grid.stats.cycles);
    programs_stage_expect(
        k, row,
        cycles_product(programs_stage_layout(k, false), &in, outputs * p->out[0].f->n, density));
    return WSC_OK;
}

enum wsc_err programs_stage_linears(struct programs_model *k, const enum model_tensor_kind *weight,
                                    int n, const struct programs_tile *in,
                                    const struct programs_tile *const *out)
{
    struct programs_product p = {.n_parts = n, .in = {*in}};
    for (int i = 0; i < n; i++) {
        p.out[i] = *out[i];
        p.w[i] = matrix_of(k, weight[i], in->f->n, false);
    }
    return product(k, &p, PROGRAMS_ROW_PRODUCT);
}

enum wsc_err programs_stage_linears_back(struct programs_model *k,
                                         const enum model_tensor_kind *weight, int n,
                                         const struct programs_tile *const *dy,
                                         const struct programs_tile *dx)
{
    struct programs_product p = {.n_parts = n, .sums = n > 1, .out = {*dx}};
    for (int i = 0; i < n; i++) {
        p.in[i] = *dy[i];
        p.w[i] = matrix_of(k, weight[i], dx->f->n, true);
    }
    return product(k, &p, PROGRAMS_ROW_INPUT_GRADIENT);
}

enum wsc_err programs_stage_linear(struct programs_model *k, enum model_tensor_kind weight,
                                   const struct programs_tile *in, const struct programs_tile *out)
{
    return programs_stage_linears(k, &weight, 1, in, &out);
}

enum wsc_err programs_stage_linear_back(struct programs_model *k, enum model_tensor_kind weight,
                                        const struct programs_tile *dy,
                                        const struct programs_tile *dx)
{
    return programs_stage_linears_back(k, &weight, 1, &dy, dx);
}

enum wsc_err programs_stage_weight_gradient(struct programs_model *k, enum model_tensor_kind weight,
                                            const struct programs_tile *dy,
                                            const struct programs_tile *x)
{
    const struct cycles_side in = {.n = x->f->n, .k = x->f->slots};
    const struct cycles_side out = {.n = dy->f->n, .k = dy->f->slots};
    const double density = k->gradient_density[weight];
    const struct cycles_layout *l = programs_stage_layout(k, true);
    const struct cycles_gradient_way how = cycles_gradient_way(l, &in, &out, density);
    for (int round = 0; round < programs_leaf_rounds(k) && k->trains[weight]; round++) {
        struct programs_weight_gradient w = {.dy = *dy,
                                             .x = *x,
                                             .how = how,
                                             .kept = how.sampled ? k->kept[weight] : NULL,
                                             .out = repeat_of(k, weight),
                                             .room = (int64_t)l->room,
                                             .span = span_of_round(k, round),
                                             .host = gradient_taken(k, weight, round, 0),
                                             .lane_step = lane_step(k, weight),
                                             .ld = x->f->n};
        programs_round_samples(k, round, &w.first_sample, &w.n_samples);
        TRY(programs_sum_weights(&k->grid, &w));
        add_to_groups(k, weight, round, x->f->n, 0);
        if (k->first_gradient < 0) k->first_gradient = k->cycles + w.first_cycle;
        programs_stage_book(k, PROGRAMS_ROW_WEIGHT_GRADIENT, k->grid.stats.cycles);
        programs_stage_expect(k, PROGRAMS_ROW_WEIGHT_GRADIENT,
                              cycles_weight_gradient(l, &in, &out, density));
    }
    return WSC_OK;
}
