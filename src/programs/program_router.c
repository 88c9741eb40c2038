// SPDX-License-Identifier: Apache-2.0
/* Computes the router of a mixture of experts (Jiang et al. 2024) on the mesh. The experts' logits
 * of a token lie along its row; a softmax, a sigmoid or Sinkhorn's normalisation makes from them
 * the values that choose experts and those that weigh them. For each expert of a token, two maxima
 * along the row find the largest value and its index, after which all PEs of the row know it. Each
 * PE then sorts its tokens by network: tokens never leave their row. The sums of the
 * load-balancing loss leave at the north edge. */
#include "program_router.h"
#include "program_branch.h"
#include "program_choice.h"
#include "program_norm.h"
#include "program_sinkhorn.h"
#include "program_softmax.h"
#include "program_stage.h"

#include <math.h>

static const struct programs_view none = {.kind = PROGRAMS_VIEW_NONE};

/* What the scalar code of a script reads. */
struct routing {
    struct programs_model *k;
    const struct programs_choice *choice;
    int slot; /* index among the networks of a token */
};

static struct routing routing_of(struct programs_model *k, int slot)
{
    return (struct routing){k, &programs_layer_of(k, k->l)->choice, slot};
}

static struct programs_script script_of(const struct routing *r)
{
    struct programs_script s = programs_stage_script(r->k, &r->k->experts.f);
    s.data = r;
    return s;
}

static struct programs_view tokens_at(int address)
{
    return programs_view(PROGRAMS_VIEW_TOKENS, address);
}

static float load(const struct mesh_pe *pe, int address, enum wsc_err *rc)
{
    union {
        uint32_t bits;
        float value;
    } x = {0};
    if (!*rc) *rc = mesh_load(pe, address, &x.bits);
    return x.value;
}

static enum wsc_err store(struct mesh_pe *pe, int address, float value)
{
    const union {
        float value;
        uint32_t bits;
    } x = {value};
    return mesh_store(pe, address, x.bits);
}

/* The expert that token slot @p i chose as number @p slot. If no value is the largest, because
 * values are NaN, it is expert 0. */
static int expert_of(const struct mesh_pe *pe, const struct routing *r, int slot, int i,
                     enum wsc_err *rc)
{
    const float number = -load(pe, programs_chosen_at(r->k, r->choice, slot) + 4 * i, rc);
    return number >= 0 && number < (float)r->k->model->experts ? (int)number : 0;
}

/* Address of the value of expert @p e for token slot @p i in @p tile; -1 if another PE holds it. */
static int value_at(const struct mesh_pe *pe, const struct programs_model *k,
                    const struct programs_tile *tile, int e, int i)
{
    const struct programs_features *f = &k->experts.f;
    return f->column[e] == programs_column_of(pe) ? programs_at(&k->grid, tile, f->slot[e], i) : -1;
}

/* Charge a loop over the tokens of the PE's row, @p each steps for each token. */
static enum wsc_err charge_tokens(struct mesh_pe *pe, const struct programs_model *k, int each)
{
    return mesh_wait(pe, (int64_t)each * CYCLES_LABEL *
                             programs_row_tokens(&k->grid, programs_row_of(pe)));
}

/* Call @p one for each token of the PE's row and each expert that it chose. */
static enum wsc_err each_choice(struct mesh_pe *pe, const struct routing *r,
                                enum wsc_err (*one)(struct mesh_pe *pe, const struct routing *r,
                                                    int slot, int i))
{
    const int chosen = programs_n_chosen(r->k);
    const int n = chosen * programs_row_tokens(&r->k->grid, programs_row_of(pe));
    for (int j = 0; j < n; j++)
        TRY(one(pe, r, j % chosen, j / chosen));
    return charge_tokens(pe, r->k, chosen);
}

/* ---- what chooses and what weighs ------------------------------------------------------------ */

/* Hash routing: the value 1 at the expert that belongs to a token's id, 0 elsewhere. */
static enum wsc_err mark_hash(struct mesh_pe *pe, const struct programs_script *s,
                              const struct programs_step *step)
{
    const struct routing *r = s->data;
    const struct programs_grid *g = &r->k->grid;
    const int row = programs_row_of(pe);
    (void)step;
    for (int i = 0; i < programs_row_tokens(g, row); i++) {
        const int32_t id = r->k->batch->input_ids[programs_token_at(g, row, i)];
        const int at = value_at(pe, r->k, &r->choice->routed, id % (int)r->k->experts.f.n, i);
        if (at >= 0) TRY(store(pe, at, 1));
    }
    return charge_tokens(pe, r->k, 1);
}

/* Append the nonlinearity of the router. Sinkhorn's normalisation is not a script; it runs as
 * programs of its own afterwards. */
static void map(struct programs_model *k, struct programs_script *s, enum zoo_router_map which,
                const struct programs_tile *tile)
{
    if (which == ZOO_ROUTER_SOFTMAX)
        programs_softmax(&k->grid, s, tile, programs_scratch_at(k, PROGRAMS_SCRATCH_MAX));
    if (which == ZOO_ROUTER_SIGMOID) programs_activate(&k->grid, s, ZOO_SIGMOID, tile, tile);
}

static bool weighs_apart(const struct programs_model *k)
{
    return zoo_moe_weighs_apart(&k->model->zoo.moe);
}

/* The values by which experts are chosen. The Model Zoo chooses by Sinkhorn's values even if they
 * are configured only for the weights. */
static const struct programs_tile *chooses_by(const struct programs_model *k,
                                              const struct programs_choice *c)
{
    const bool by_weights =
        weighs_apart(k) && k->model->zoo.moe.expert_weighting_nonlinearity == ZOO_ROUTER_SINKHORN;
    return by_weights ? &c->weighing : &c->routed;
}

static enum wsc_err hash(struct programs_model *k)
{
    const struct routing r = routing_of(k, 0);
    struct programs_script s = script_of(&r);
    programs_op(&s, PROGRAMS_SHAPE_TILE, MESH_FMOVS, programs_tile_view(&r.choice->routed),
                programs_number(0), none);
    programs_call(&s, mark_hash);
    return programs_stage_run(k, &s, PROGRAMS_ROW_ROUTER);
}

/* Compute the logits, and from them the values that choose and those that weigh. */
static enum wsc_err values(struct programs_model *k, const struct programs_tile *x)
{
    const struct zoo_moe *moe = &k->model->zoo.moe;
    const struct routing r = routing_of(k, 0);
    const struct programs_choice *c = r.choice;
    struct programs_script s = script_of(&r);
    TRY(programs_stage_linear(k, MODEL_ROUTER_W, x, &c->routed));
    if (weighs_apart(k)) {
        programs_op(&s, PROGRAMS_SHAPE_TILE, MESH_FMOVS, programs_tile_view(&c->weighing),
                    programs_tile_view(&c->routed), none);
        map(k, &s, moe->expert_weighting_nonlinearity, &c->weighing);
    }
    map(k, &s, moe->router_selection_nonlinearity, &c->routed);
    if (s.n_steps) TRY(programs_stage_run(k, &s, PROGRAMS_ROW_ROUTER));
    if (moe->router_selection_nonlinearity == ZOO_ROUTER_SINKHORN)
        TRY(programs_sinkhorn(k, &c->routed));
    return chooses_by(k, c) == &c->weighing ? programs_sinkhorn(k, &c->weighing) : WSC_OK;
}

/* ---- choice ---------------------------------------------------------------------------------- */

/* The PE that holds the value of the chosen expert excludes it from later choices and stores its
 * weight. */
static enum wsc_err exclude_chosen(struct mesh_pe *pe, const struct programs_script *s,
                                   const struct programs_step *step)
{
    const struct routing *r = s->data;
    const struct programs_model *k = r->k;
    const int weight = programs_weight_at(k, r->choice, r->slot);
    enum wsc_err rc = WSC_OK;
    (void)step;
    for (int i = 0; i < programs_row_tokens(&k->grid, programs_row_of(pe)) && !rc; i++) {
        const int e = expert_of(pe, r, r->slot, i, &rc);
        const int at = rc ? -1 : value_at(pe, k, &k->experts.tmp, e, i);
        if (at < 0) continue;
        const float value = load(pe, value_at(pe, k, &r->choice->weighing, e, i), &rc);
        TRY(store(pe, at, -INFINITY));
        if (weighs_apart(k)) TRY(store(pe, weight + 4 * i, value));
    }
    TRY(rc);
    return charge_tokens(pe, k, 1);
}

/* Choose the largest value that is not excluded yet, of equal ones the first; the remaining values
 * are in tmp. */
static enum wsc_err choose(struct programs_model *k, int slot)
{
    const enum programs_shape tile = PROGRAMS_SHAPE_TILE, tokens = PROGRAMS_SHAPE_TOKENS;
    const struct routing r = routing_of(k, slot);
    const struct programs_view left = programs_tile_view(&k->experts.tmp);
    const struct programs_view max = tokens_at(programs_scratch_at(k, PROGRAMS_SCRATCH_MAX));
    const struct programs_view weight = tokens_at(programs_weight_at(k, r.choice, slot));
    const struct programs_largest largest = {
        left, programs_tile_view(&k->experts.marks),
        programs_view(PROGRAMS_VIEW_FEATURES, k->experts.number), max,
        tokens_at(programs_chosen_at(k, r.choice, slot))};
    struct programs_script s = script_of(&r);
    if (!slot)
        programs_op(&s, tile, MESH_FMOVS, left, programs_tile_view(chooses_by(k, r.choice)), none);
    programs_op(&s, tokens, MESH_FMOVS, max, programs_number(-INFINITY), none);
    programs_op(&s, tokens, MESH_FMOVS, largest.first, programs_number(-INFINITY), none);
    programs_op(&s, tile, MESH_FMAXS, max, max, left);
    programs_row_sum(&s, MESH_FMAXS, max, 1);
    programs_row_first(&s, &largest);
    programs_op(&s, tokens, MESH_FMOVS, weight, weighs_apart(k) ? programs_number(0) : max, none);
    programs_call(&s, exclude_chosen);
    if (weighs_apart(k)) programs_row_sum(&s, MESH_FADDS, weight, 1);
    return programs_stage_run(k, &s, PROGRAMS_ROW_ROUTER);
}

static float reciprocal(float x, float unused)
{
    (void)unused;
    return 1.0F / x;
}

/* Divide the weights by the sum of the weights and of the null expert's part. */
static enum wsc_err normalise(struct programs_model *k)
{
    const enum programs_shape tokens = PROGRAMS_SHAPE_TOKENS;
    const struct programs_map divide = {reciprocal, k->grid.divide_cycles};
    const struct routing r = routing_of(k, 0);
    const struct programs_view inverse = tokens_at(programs_inverse_at(k, r.choice));
    struct programs_script s = script_of(&r);
    if (!k->model->zoo.moe.expert_weighting_normalization) return WSC_OK;
    programs_op(&s, tokens, MESH_FMOVS, inverse,
                programs_number((float)k->model->zoo.moe.null_expert_bias), none);
    for (int i = 0; i < programs_n_chosen(k); i++)
        programs_op(&s, tokens, MESH_FADDS, inverse, inverse,
                    tokens_at(programs_weight_at(k, r.choice, i)));
    programs_map(&s, tokens, divide, inverse, inverse, none);
    for (int i = 0; i < programs_n_chosen(k); i++) {
        const struct programs_view weight = tokens_at(programs_weight_at(k, r.choice, i));
        programs_op(&s, tokens, MESH_FMULS, weight, weight, inverse);
    }
    return programs_stage_run(k, &s, PROGRAMS_ROW_ROUTER);
}

/* ---- places ---------------------------------------------------------------------------------- */

/* Index of the network of token slot @p i and slot @p slot. */
static int network_of(const struct mesh_pe *pe, const struct routing *r, int slot, int i,
                      enum wsc_err *rc)
{
    const int chosen = programs_n_chosen(r->k);
    return slot < chosen ? expert_of(pe, r, slot, i, rc)
                         : (int)r->k->model->experts + slot - chosen;
}

/* Assign places, from @p at on, to the tokens of sample @p sample that go through network @p e;
 * returns the next free place. */
static int place_sample(struct mesh_pe *pe, const struct routing *r, int e, int sample, int at,
                        enum wsc_err *rc)
{
    const int row = programs_row_of(pe), tokens = programs_tokens(&r->k->grid, row);
    const int first = sample * tokens;
    const int n = programs_samples(&r->k->grid, row, sample, 1) * tokens;
    for (int i = first; i < first + n; i++)
        for (int slot = 0; slot < programs_n_slots(r->k) && !*rc; slot++)
            if (network_of(pe, r, slot, i, rc) == e)
                *rc = mesh_store(pe, programs_place_at(r->k, r->choice, slot, i), (uint32_t)at++);
    return at;
}

/* Sort the tokens of the row by network, keeping their order: one pass over the choices counts,
 * one assigns places. The first PE of a row records where networks begin, since all PEs of a row
 * agree. */
static enum wsc_err sort(struct mesh_pe *pe, const struct programs_script *s,
                         const struct programs_step *step)
{
    enum { PASSES = 2 };
    const struct routing *r = s->data;
    const int networks = (int)model_n_ffns(r->k->model), samples = r->k->grid.max_samples + 1;
    int *start = r->choice->start + (ptrdiff_t)programs_row_of(pe) * networks * samples;
    enum wsc_err rc = WSC_OK;
    (void)step;
    for (int e = 0, at = 0; e < networks; e++) {
        for (int sample = 0; sample <= r->k->grid.n_samples; sample++) {
            if (!programs_column_of(pe)) start[e * samples + sample] = at;
            if (sample < r->k->grid.n_samples) at = place_sample(pe, r, e, sample, at, &rc);
        }
    }
    TRY(rc);
    return charge_tokens(pe, r->k, PASSES * programs_n_slots(r->k));
}

static enum wsc_err sort_places(struct programs_model *k)
{
    const struct routing r = routing_of(k, 0);
    struct programs_script s = script_of(&r);
    programs_call(&s, sort);
    programs_stage_expect(k, PROGRAMS_ROW_DISPATCH, cycles_sort_places(&k->layout));
    return programs_stage_run(k, &s, PROGRAMS_ROW_DISPATCH);
}

/* ---- load balancing: Fedus et al. 2022 (Switch), eq. 4, per sample, over the layers and the
 * tokens of the loss mask */

static bool balances(const struct programs_model *k)
{
    return k->training && k->model->load_balance > 0;
}

/* Scalar code that writes 1 for each token of the loss mask, 0 for the others. */
static enum wsc_err write_mask(struct mesh_pe *pe, const struct programs_script *s,
                               const struct programs_step *step)
{
    const struct routing *r = s->data;
    const struct programs_grid *g = &r->k->grid;
    const int mask = programs_scratch_at(r->k, PROGRAMS_SCRATCH_MASK);
    const int row = programs_row_of(pe);
    (void)step;
    for (int i = 0; i < programs_row_tokens(g, row); i++)
        TRY(store(pe, mask + 4 * i, r->k->batch->mask[programs_token_at(g, row, i)] ? 1 : 0));
    return charge_tokens(pe, r->k, 1);
}

static enum wsc_err mark_one(struct mesh_pe *pe, const struct routing *r, int slot, int i)
{
    enum wsc_err rc = WSC_OK;
    const int e = expert_of(pe, r, slot, i, &rc);
    const int at = rc ? -1 : value_at(pe, r->k, &r->k->experts.marks, e, i);
    return at < 0 ? rc : store(pe, at, 1);
}

/* Scalar code that writes 1 at the chosen experts of each token. */
static enum wsc_err mark_chosen(struct mesh_pe *pe, const struct programs_script *s,
                                const struct programs_step *step)
{
    (void)step;
    return each_choice(pe, s->data, mark_one);
}

/* Distance from the sums of a lane's sample to those of the corresponding sample of the next
 * lane. */
static int64_t balance_step(struct programs_model *k)
{
    return programs_balance_of(k, 0, k->grid.leaf_samples, 0) - programs_balance_of(k, 0, 0, 0);
}

/* Send the sums of sample @p sample of each lane off the fabric. */
static enum wsc_err sum_sample(struct programs_model *k, const struct routing *r, int sample)
{
    struct programs_script s = script_of(r);
    const struct programs_tile *const from[2] = {&k->experts.tmp, &k->experts.marks};
    const int first = programs_sample_at(&k->grid, 0, sample);
    s.first_sample = sample;
    s.n_samples = 1;
    for (int i = 0; i < 2; i++) {
        const struct programs_view sum = programs_view(PROGRAMS_VIEW_FEATURES, k->vector[i]);
        programs_op(&s, PROGRAMS_SHAPE_FEATURES, MESH_FMOVS, sum, programs_number(0), none);
        programs_op(&s, PROGRAMS_SHAPE_TILE, MESH_FADDS, sum, sum, programs_tile_view(from[i]));
        s.out[s.n_out++] = (struct programs_vector){.f = &k->experts.f,
                                                    .address = k->vector[i],
                                                    .out = programs_balance_of(k, k->l, first, i),
                                                    .lane_step = balance_step(k)};
    }
    programs_vectors_out(&s);
    return programs_stage_run(k, &s, PROGRAMS_ROW_ROUTER);
}

/* Sum values and choices over the tokens of the loss mask. */
static enum wsc_err sum_balance(struct programs_model *k)
{
    const enum programs_shape tile = PROGRAMS_SHAPE_TILE;
    const struct routing r = routing_of(k, 0);
    const struct programs_view mask = tokens_at(programs_scratch_at(k, PROGRAMS_SCRATCH_MASK));
    const struct programs_view marks = programs_tile_view(&k->experts.marks);
    struct programs_script s = script_of(&r);
    if (!balances(k)) return WSC_OK;
    programs_call(&s, write_mask);
    programs_op(&s, tile, MESH_FMOVS, marks, programs_number(0), none);
    programs_call(&s, mark_chosen);
    programs_op(&s, tile, MESH_FMULS, marks, marks, mask);
    programs_op(&s, tile, MESH_FMULS, programs_tile_view(&k->experts.tmp),
                programs_tile_view(&r.choice->routed), mask);
    TRY(programs_stage_run(k, &s, PROGRAMS_ROW_ROUTER));
    for (int i = 0; i < k->grid.n_samples; i++)
        TRY(sum_sample(k, &r, i));
    return WSC_OK;
}

/* Sum of programs_balance_of() over the layers. */
static double over_layers(const struct programs_model *k, int sample, int which, int64_t e)
{
    double sum = 0;
    for (int64_t l = 0; l < k->model->L; l++)
        sum += (double)programs_balance_of(k, l, sample, which)[e];
    return sum;
}

double programs_balance_loss(const struct programs_model *k, int first, int n)
{
    const struct model *m = k->model;
    double sum = 0;
    for (int i = first; i < first + n && m->experts && balances(k); i++) {
        const int64_t tokens = data_batch_counted(k->batch, i);
        const double each = (double)(tokens * m->L);
        double product = 0;
        for (int64_t e = 0; tokens && e < m->experts; e++)
            product += over_layers(k, i, 0, e) / each * (over_layers(k, i, 1, e) / each);
        sum += product * (m->balance_by_tokens ? (double)tokens : 1);
    }
    return sum * m->load_balance * (double)m->experts;
}

/* Write the gradient of the load-balancing loss of sample @p sample of the micro-batch with respect
 * to the numbers that select its tokens' experts, one number per expert, to @p edge. Returns the
 * number of its tokens; 0: no gradient. */
static int64_t balance_gradient(const struct programs_model *k, int sample, float *edge)
{
    const struct model *m = k->model;
    const int64_t tokens = data_batch_counted(k->batch, sample), E = m->experts;
    for (int64_t e = 0; e < E; e++)
        edge[e] = !tokens ? 0
                          : (float)(k->gradient_scale * m->load_balance * (double)E *
                                    over_layers(k, sample, 1, e) / (double)(tokens * m->L) /
                                    ((double)m->L * (m->balance_by_tokens ? 1 : (double)tokens)));
    return tokens;
}

/* Add the gradient of balance_gradient(), fed in from the edge, to d for the tokens of sample @p
 * sample of each lane. */
static enum wsc_err balance_sample(struct programs_model *k, const struct routing *r, int sample)
{
    const int64_t E = k->model->experts;
    float *edge = programs_balance_of(k, k->model->L, 0, 0); /* stored after those of the layers */
    struct programs_script s = script_of(r);
    const struct programs_view d = programs_tile_view(&k->experts.d);
    int64_t tokens = 0;
    for (int lane = 0; lane < k->grid.lanes; lane++)
        if (k->grid.lane_samples[lane] > sample)
            tokens +=
                balance_gradient(k, programs_sample_at(&k->grid, lane, sample), edge + lane * E);
    if (!tokens) return WSC_OK;
    s.first_sample = sample;
    s.n_samples = 1;
    s.in[s.n_in++] = (struct programs_vector){
        .f = &k->experts.f, .address = k->vector[0], .in = edge, .lane_step = E};
    programs_vectors_in(&s);
    programs_op(&s, PROGRAMS_SHAPE_TILE, MESH_FMOVS, d,
                programs_view(PROGRAMS_VIEW_FEATURES, k->vector[0]), none);
    programs_op(&s, PROGRAMS_SHAPE_TILE, MESH_FMULS, d, d,
                tokens_at(programs_scratch_at(k, PROGRAMS_SCRATCH_MASK)));
    return programs_stage_run(k, &s, PROGRAMS_ROW_ROUTER_BACKWARD);
}

/* Set d to the gradient of the load-balancing loss, or 0. */
static enum wsc_err begin_gradients(struct programs_model *k)
{
    const struct routing r = routing_of(k, 0);
    struct programs_script s = script_of(&r);
    const struct programs_tile *const tile[2] = {&k->experts.d, &k->experts.apart};
    for (int i = 0; i < 1 + weighs_apart(k); i++)
        programs_op(&s, PROGRAMS_SHAPE_TILE, MESH_FMOVS, programs_tile_view(tile[i]),
                    programs_number(0), none);
    if (balances(k)) programs_call(&s, write_mask);
    TRY(programs_stage_run(k, &s, PROGRAMS_ROW_ROUTER_BACKWARD));
    for (int i = 0; i < k->grid.n_samples && balances(k); i++)
        TRY(balance_sample(k, &r, i));
    return WSC_OK;
}

/* ---- gradients of the weights ---------------------------------------------------------------- */

static enum wsc_err collect_one(struct mesh_pe *pe, const struct routing *r, int slot, int i)
{
    const struct programs_model *k = r->k;
    uint32_t at, bits;
    TRY(mesh_load(pe, programs_place_at(k, r->choice, slot, i), &at));
    TRY(mesh_load(pe, k->experts.dweights + 4 * (int)at, &bits));
    return mesh_store(pe, programs_dweight_at(k, slot) + 4 * i, bits);
}

/* Scalar code that copies the gradients of the weights of places to vectors of tokens. */
static enum wsc_err collect(struct mesh_pe *pe, const struct programs_script *s,
                            const struct programs_step *step)
{
    (void)step;
    return each_choice(pe, s->data, collect_one);
}

/* Gradient of the division by the sum of the weights: (dw - sum of dw w) / sum. */
static enum wsc_err through_division(struct programs_model *k)
{
    const enum programs_shape tokens = PROGRAMS_SHAPE_TOKENS;
    const struct routing r = routing_of(k, 0);
    const struct programs_view mixed = tokens_at(programs_scratch_at(k, PROGRAMS_SCRATCH_SUM));
    const struct programs_view tmp = tokens_at(programs_scratch_at(k, PROGRAMS_SCRATCH));
    const bool divided = k->model->zoo.moe.expert_weighting_normalization;
    struct programs_script s = script_of(&r), t = s;
    programs_call(&s, collect);
    programs_op(&s, tokens, MESH_FMOVS, mixed, programs_number(0), none);
    for (int i = 0; i < programs_n_chosen(k) && divided; i++) {
        const struct programs_view dw = tokens_at(programs_dweight_at(k, i));
        programs_op(&s, tokens, MESH_FMULS, tmp, dw, tokens_at(programs_weight_at(k, r.choice, i)));
        programs_op(&s, tokens, MESH_FADDS, mixed, mixed, tmp);
        programs_op(&t, tokens, MESH_FSUBS, dw, dw, mixed);
        programs_op(&t, tokens, MESH_FMULS, dw, dw, tokens_at(programs_inverse_at(k, r.choice)));
    }
    TRY(programs_stage_run(k, &s, PROGRAMS_ROW_ROUTER_BACKWARD));
    return divided ? programs_stage_run(k, &t, PROGRAMS_ROW_ROUTER_BACKWARD) : WSC_OK;
}

/* The PE that holds the value of a chosen expert adds the gradient of its weight to the gradient
 * of the value. */
static enum wsc_err add_weight_gradient(struct mesh_pe *pe, const struct routing *r, int slot,
                                        int i)
{
    const struct programs_model *k = r->k;
    const struct programs_tile *to = weighs_apart(k) ? &k->experts.apart : &k->experts.d;
    enum wsc_err rc = WSC_OK;
    const int e = expert_of(pe, r, slot, i, &rc);
    const int at = rc ? -1 : value_at(pe, k, to, e, i);
    if (at < 0) return rc;
    const float dw = load(pe, programs_dweight_at(k, slot) + 4 * i, &rc);
    const float before = load(pe, at, &rc);
    return rc ? rc : store(pe, at, before + dw);
}

static enum wsc_err add_weight_gradients(struct mesh_pe *pe, const struct programs_script *s,
                                         const struct programs_step *step)
{
    (void)step;
    return each_choice(pe, s->data, add_weight_gradient);
}

/* Convert the gradient @p d of the values to that of the logits, using the values @p y, which are
 * overwritten. Sinkhorn's normalisation passes no gradient. */
static void map_backward(struct programs_model *k, struct programs_script *s,
                         enum zoo_router_map which, const struct programs_tile *y,
                         const struct programs_tile *d)
{
    const enum programs_shape tile = PROGRAMS_SHAPE_TILE;
    const struct programs_view p = programs_tile_view(y), dp = programs_tile_view(d),
                               tmp = programs_tile_view(&k->experts.tmp);
    if (which == ZOO_ROUTER_SOFTMAX) {
        programs_softmax_backward(&k->grid, s, y, d, programs_scratch_at(k, PROGRAMS_SCRATCH_MAX));
        return;
    }
    if (which == ZOO_ROUTER_SINKHORN) {
        programs_op(s, tile, MESH_FMOVS, dp, programs_number(0), none);
        return;
    }
    programs_op(s, tile, MESH_FMULS, tmp, p, p); /* p (1 - p) */
    programs_op(s, tile, MESH_FSUBS, p, p, tmp);
    programs_op(s, tile, MESH_FMULS, dp, dp, p);
}

/* Compute the gradients of the logits, in the format of tiles. */
static enum wsc_err logits_backward(struct programs_model *k)
{
    const struct zoo_moe *moe = &k->model->zoo.moe;
    const struct routing r = routing_of(k, 0);
    const struct programs_view d = programs_tile_view(&k->experts.d);
    struct programs_view narrow = d;
    struct programs_script s = script_of(&r);
    narrow.half = k->grid.half;
    programs_call(&s, add_weight_gradients);
    map_backward(k, &s, moe->router_selection_nonlinearity, &r.choice->routed, &k->experts.d);
    if (weighs_apart(k)) {
        map_backward(k, &s, moe->expert_weighting_nonlinearity, &r.choice->weighing,
                     &k->experts.apart);
        programs_op(&s, PROGRAMS_SHAPE_TILE, MESH_FADDS, d, d,
                    programs_tile_view(&k->experts.apart));
    }
    if (k->grid.half) programs_op(&s, PROGRAMS_SHAPE_TILE, MESH_FMOVS, narrow, d, none);
    return programs_stage_run(k, &s, PROGRAMS_ROW_ROUTER_BACKWARD);
}

/* ---- router ---------------------------------------------------------------------------------- */

enum wsc_err programs_route(struct programs_model *k, const struct programs_tile *x)
{
    TRY(model_hash_routed(k->model) ? hash(k) : values(k, x));
    for (int slot = 0; slot < programs_n_chosen(k); slot++)
        TRY(choose(k, slot));
    TRY(normalise(k));
    TRY(sort_places(k));
    programs_stage_expect(k, PROGRAMS_ROW_ROUTER, cycles_route(&k->layout, balances(k)));
    return sum_balance(k);
}

enum wsc_err programs_route_backward(struct programs_model *k, const struct programs_tile *x,
                                     const struct programs_tile *dx)
{
    struct programs_tile d = k->experts.d;
    d.half = k->grid.half;
    if (model_hash_routed(k->model)) return programs_clear(k, dx);
    programs_stage_expect(k, PROGRAMS_ROW_ROUTER_BACKWARD,
                          cycles_route_gradient(&k->layout, balances(k)));
    TRY(begin_gradients(k));
    TRY(through_division(k));
    TRY(logits_backward(k));
    TRY(programs_stage_linear_back(k, MODEL_ROUTER_W, &d, dx));
    return programs_stage_weight_gradient(k, MODEL_ROUTER_W, &d, x);
}
