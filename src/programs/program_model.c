// SPDX-License-Identifier: Apache-2.0
/* Runs a model on the mesh of one wafer. Tiles and vectors are reserved once; then each
 * micro-batch of leaves passes the stages forward and backward, and the edge adds gradients along
 * the canonical tree. program_parts.c computes the parts of a stage. */
#include "program_adapter.h"
#include "program_branch.h"
#include "program_chain.h"
#include "program_choice.h"
#include "program_distance.h"
#include "program_grid.h"
#include "program_head.h"
#include "program_pairs.h"
#include "program_parts.h"
#include "program_router.h"
#include "program_scores.h"
#include "program_squares.h"
#include "program_stage.h"
#include "program_stage_dropout.h"
#include "program_state.h"

#include <wsc/check.h>
#include <wsc/clock.h>
#include <wsc/mem.h>
#include <wsc/stop.h>

#include <string.h>

/* ---- memory ---------------------------------------------------------------------------------- */

/* Lay the features of norms by heads on the columns: those of one head on the columns of each
 * head. */
static enum wsc_err make_head(struct programs_model *k)
{
    const struct model *m = k->model;
    const int groups = programs_head_groups(&k->heads);
    if (!model_norms_heads(m)) return WSC_OK;
    return programs_features_init_heads(&k->head, groups, (int)m->head_dim, k->grid.w,
                                        m->rotary_dim ? PROGRAMS_PAIRS_ADJACENT
                                                      : PROGRAMS_NO_PAIRS);
}

/* Lay residual stream, heads, filter and vocabulary on the columns. */
static enum wsc_err make_features(struct programs_model *k)
{
    const struct model *m = k->model;
    const int w = k->grid.w;
    TRY(programs_features_init(&k->hidden, (int)m->C, w));
    TRY(programs_features_init_heads(&k->heads, (int)m->H, (int)m->head_dim, w,
                                     m->rotary_dim ? PROGRAMS_PAIRS_ADJACENT : PROGRAMS_NO_PAIRS));
    programs_order_keys(&k->grid, &k->heads);
    TRY(make_head(k));
    TRY(programs_features_init(&k->filter, (int)m->F, w));
    if (m->experts) TRY(programs_features_init(&k->experts.f, (int)m->experts, w));
    return programs_heads_features(k);
}

/* Reserve the inputs of norms by heads and their statistics. */
static enum wsc_err reserve_raw(struct programs_model *k, struct programs_layer *l)
{
    struct programs_grid *g = &k->grid;
    const int64_t words = 2 * (int64_t)k->heads.heads_per_pe * g->pitch;
    for (int i = 0; i < 2; i++) {
        TRY(programs_reserve_tile(g, &l->raw[i], &k->heads, "queries and keys before their norms"));
        TRY(programs_reserve_words(g, words, PROGRAMS_BANK_TOKENS, "statistics of a norm by heads",
                                   &l->stats_heads[i]));
    }
    return WSC_OK;
}

/* Reserve what gated networks, parallel blocks, norms after a branch and soft caps add to a
 * layer. */
static enum wsc_err reserve_features(struct programs_model *k, struct programs_layer *l)
{
    struct programs_grid *g = &k->grid;
    const struct model *m = k->model;
    const int64_t scores = programs_score_words(g, &k->heads) * g->max_samples;
    if (m->experts) TRY(programs_reserve_choice(k, &l->choice));
    if (model_norms_heads(m)) TRY(reserve_raw(k, l));
    if (m->gated) TRY(programs_reserve_filter(k, &l->gate, "the gate"));
    if (!m->norm3) TRY(programs_reserve_tile(g, &l->normed, &k->hidden, "the output of a norm"));
    if (m->zoo.attention_logit_softcapping > 0)
        TRY(programs_reserve_words(g, scores, PROGRAMS_BANK_SCORES, "capped scores", &l->capped));
    for (int i = 0; i < 2 && programs_norms_after(m); i++) {
        TRY(programs_reserve_tile(g, &l->branch[i], &k->hidden, "a branch before its norm"));
        TRY(programs_reserve_words(g, 2 * (int64_t)g->pitch, PROGRAMS_BANK_TOKENS,
                                   "statistics of a norm", &l->stats_post[i]));
    }
    return WSC_OK;
}

/* Reserve what the backward pass of a layer needs; outside training one such layer serves all. */
static enum wsc_err reserve_layer(struct programs_model *k, struct programs_layer *l)
{
    struct programs_grid *g = &k->grid;
    const int64_t scores = programs_score_words(g, &k->heads) * g->max_samples;
    TRY(programs_reserve_tile(g, &l->x, &k->hidden, "the residual stream"));
    TRY(programs_reserve_tile(g, &l->mid, &k->hidden, "the residual stream between the halves"));
    TRY(programs_reserve_tile(g, &l->q, &k->heads, "queries"));
    TRY(programs_reserve_tile(g, &l->k, &k->heads, "keys"));
    TRY(programs_reserve_tile(g, &l->v, &k->heads, "values"));
    TRY(programs_reserve_tile(g, &l->ctx, &k->heads, "the attention output"));
    TRY(programs_reserve_filter(k, &l->pre, "the filter"));
    TRY(programs_reserve_words(g, scores, PROGRAMS_BANK_SCORES, "attention probabilities",
                               &l->scores));
    TRY(reserve_features(k, l));
    TRY(programs_reserve_words(g, 2 * (int64_t)g->pitch, PROGRAMS_BANK_TOKENS,
                               "statistics of a norm", &l->stats1));
    return programs_reserve_words(g, 2 * (int64_t)g->pitch, PROGRAMS_BANK_TOKENS,
                                  "statistics of a norm", &l->stats3);
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

/* Reserve what embeddings, positions and soft caps need once. */
static enum wsc_err reserve_once(struct programs_model *k)
{
    struct programs_grid *g = &k->grid;
    const struct model *m = k->model;
    if (m->zoo.embedding_layer_norm) {
        TRY(programs_reserve_tile(g, &k->raw, &k->hidden, "embeddings before their norm"));
        TRY(programs_reserve_words(g, 2 * (int64_t)g->pitch, PROGRAMS_BANK_TOKENS,
                                   "statistics of a norm", &k->stats_embed));
    }
    if (m->buckets) TRY(programs_reserve_distances(k));
    TRY(programs_reserve_adapters(k));
    if (m->zoo.final_logit_softcapping > 0)
        TRY(programs_reserve_sums(g, &k->capped, &k->output[0].f, "capped logits"));
    if (!m->rotary_dim) return WSC_OK;
    TRY(programs_reserve_tile(g, &k->cosine, &k->heads, "cosines of positions"));
    return programs_reserve_tile(g, &k->sine, &k->heads, "sines of positions");
}

/* Reserve what one part uses at a time and all layers share. */
static enum wsc_err reserve_common(struct programs_model *k)
{
    struct programs_grid *g = &k->grid;
    const int outputs = programs_heads_slots(k);
    const int slots = larger(larger(larger(k->hidden.slots, outputs), k->experts.f.slots),
                             larger(k->heads.slots, k->filter.slots));
    const int64_t heads = (int64_t)k->heads.heads_per_pe * g->tokens;
    const int sums = model_norms_heads(k->model) ? k->heads.heads_per_pe : 1;
    if (k->model->experts) TRY(programs_reserve_experts(k));
    TRY(programs_reserve_tile(g, &k->xn, &k->hidden, "the output of a norm"));
    TRY(programs_reserve_filter(k, &k->act, "the activated filter"));
    k->tmp = (struct programs_tile){.f = &k->hidden, .half = g->half};
    TRY(reserve_once(k));
    const int scratch = larger(larger(k->hidden.slots, outputs),
                               larger(k->heads.slots, programs_adapted_filter(k)));
    TRY(programs_reserve_words(g, (int64_t)scratch * g->pitch, PROGRAMS_BANK_TILES,
                               "a tile of scratch", &k->tmp.address));
    k->wide_tmp = (struct programs_tile){.address = k->tmp.address, .f = &k->hidden};
    for (int i = 0; i < PROGRAMS_VECTORS; i++)
        TRY(programs_reserve_words(g, slots, PROGRAMS_BANK_TILES, "a vector of features",
                                   &k->vector[i]));
    TRY(programs_reserve_words(g, 2 * (int64_t)sums * g->pitch, PROGRAMS_BANK_TOKENS,
                               "sums of a norm", &k->sums));
    TRY(programs_reserve_heads(k));
    return programs_reserve_words(g, 2 * heads, PROGRAMS_BANK_TILES, "sums of attention",
                                  &k->head_tokens);
}

/* Reserve gradients, for one layer at a time. */
static enum wsc_err reserve_backward(struct programs_model *k)
{
    struct programs_grid *g = &k->grid;
    TRY(programs_reserve_tile(g, &k->last, &k->hidden, "the residual stream"));
    TRY(programs_reserve_tile(g, &k->dres, &k->hidden, "the gradient of the residual stream"));
    TRY(programs_reserve_tile(g, &k->dxn, &k->hidden, "the gradient of a norm's output"));
    TRY(programs_reserve_filter(k, &k->dpre, "the gradient of the filter"));
    if (k->model->gated) TRY(programs_reserve_filter(k, &k->dgate, "the gradient of the gate"));
    if (k->model->zoo.parallel_block || k->model->zoo.norm_first_sandwich)
        TRY(programs_reserve_tile(g, &k->dside, &k->hidden, "the gradient of a branch"));
    if (programs_drops(k, MODEL_DROP_ATTN))
        TRY(programs_reserve_tile(g, &k->dbranch, &k->hidden, "the gradient of a branch"));
    if (programs_drops(k, MODEL_DROP_SCORES))
        TRY(programs_reserve_words(g, programs_score_words(g, &k->heads), PROGRAMS_BANK_SCORES,
                                   "probabilities after dropout", &k->dropped));
    TRY(programs_reserve_tile(g, &k->dq, &k->heads, "the gradient of queries"));
    TRY(programs_reserve_tile(g, &k->dk, &k->heads, "the gradient of keys"));
    TRY(programs_reserve_tile(g, &k->dv, &k->heads, "the gradient of values"));
    TRY(programs_reserve_tile(g, &k->dctx, &k->heads, "the gradient of the attention output"));
    return programs_reserve_words(g, programs_score_words(g, &k->heads), PROGRAMS_BANK_SCORES,
                                  "the gradient of probabilities", &k->dscores);
}

/* Write minus the index of each feature to @p address; the losses use it to find the lowest index
 * of the largest logits. */
static enum wsc_err write_numbers(struct programs_grid *g, const struct programs_features *f,
                                  int address)
{
    float *number;
    enum wsc_err rc = WSC_OK;
    TRY_NEW(number, WSC_MEM_KERNELS, f->slots);
    for (int x = 0; x < g->lanes * g->w && !rc; x++) {
        for (int i = 0; i < f->n; i++)
            if (f->column[i] == x % g->w) number[f->slot[i]] = (float)-i;
        for (int y = 0; y < g->h && !rc; y++)
            rc = mesh_copy_in(g->m, (struct mesh_rect){x, y, 1, 1}, address, number,
                              4 * (int64_t)f->slots);
    }
    wsc_free(number);
    return rc;
}

/* Number of elements of the longest stage; the gradients of a leaf have this size. */
static int64_t longest_stage(const struct model *m)
{
    int64_t n = 0;
    for (int i = 0; i < m->n_stages; i++)
        if (m->stage[i].n_elems > n) n = m->stage[i].n_elems;
    return n;
}

/* Allocate slopes of heads, and memory for what heads share. */
static enum wsc_err allocate_heads(struct programs_model *k)
{
    const struct model *m = k->model;
    k->table_scale =
        m->zoo.embedding_layer_norm && !m->scale_first ? 1 : (float)m->zoo.embeddings_scale;
    k->n_shared = (int64_t)k->heads.n * larger(larger((int)m->C, 3), programs_most_rank(k));
    if (m->kv_heads < m->H || model_norms_heads(m))
        TRY_NEW(k->shared, WSC_MEM_KERNELS, k->grid.lanes * k->n_shared);
    if (m->zoo.position_embedding_type != ZOO_POSITION_ALIBI || m->slopes) return WSC_OK;
    TRY_NEW(k->slope, WSC_MEM_KERNELS, m->H);
    for (int64_t h = 0; h < m->H; h++)
        k->slope[h] = model_alibi_slope(m, h);
    return WSC_OK;
}

/* Allocate host memory for what enters and leaves the fabric: weights of a stage as floats, losses
 * of tokens, gradients of leaves. */
static enum wsc_err allocate_host(struct programs_model *k)
{
    const int64_t tokens = k->max_samples * k->model->T;
    TRY_NEW(k->position, WSC_MEM_KERNELS, tokens);
    TRY_NEW(k->position_row, WSC_MEM_KERNELS, tokens);
    TRY_NEW(k->trained_row, WSC_MEM_KERNELS, tokens);
    if (k->model->mask_token >= 0) TRY_NEW(k->token_factor, WSC_MEM_KERNELS, tokens);
    TRY(programs_heads_allocate(k));
    TRY(programs_pairs_allocate(k));
    TRY_NEW(k->nats, WSC_MEM_KERNELS, tokens);
    TRY_NEW(k->best, WSC_MEM_KERNELS, tokens);
    TRY_NEW(k->loss, WSC_MEM_KERNELS, k->max_samples);
    TRY_NEW(k->wanted, WSC_MEM_KERNELS, k->max_samples);
    TRY(allocate_heads(k));
    if (k->grid.half) TRY_NEW(k->wide, WSC_MEM_KERNELS, longest_stage(k->model));
    if (!k->training) return WSC_OK;
    TRY_NEW(k->leaf_grads, WSC_MEM_KERNELS, k->max_samples * longest_stage(k->model));
    return WSC_OK;
}

static const char *const row_names[PROGRAMS_ROWS][2] = {
#define XX(kind, name, pass) {name, pass},
    PROGRAMS_ROW_MAP(XX)
#undef XX
};

const char *programs_row_name(int i, const char **pass)
{
    *pass = row_names[i][1];
    return row_names[i][0];
}

static enum wsc_err create(struct programs_model *k)
{
    for (int i = 0; i < PROGRAMS_ROWS; i++)
        k->row[i].kernel = programs_row_name(i, &k->row[i].pass);
    TRY(programs_grid_rates(&k->grid, &k->machine.wafer));
    TRY(make_features(k));
    TRY_NEW(k->layer, WSC_MEM_KERNELS, k->training ? k->model->L : 1);
    TRY(reserve_common(k));
    if (k->training) TRY(reserve_backward(k));
    for (int64_t l = 0; l < (k->training ? k->model->L : 1); l++)
        TRY(reserve_layer(k, &k->layer[l]));
    for (int i = 0; i < k->model->n_heads; i++)
        TRY(write_numbers(&k->grid, &k->output[i].f, k->output[i].number));
    if (k->model->experts) TRY(write_numbers(&k->grid, &k->experts.f, k->experts.number));
    return allocate_host(k);
}

/* Refuse a machine that the mesh cannot emulate, with the name of its key. */
static enum wsc_err check_machine(const struct hw *hw)
{
    enum { MAX_SIDE = 2048 };
    const struct hw_wafer *w = &hw->cluster->wafer;
    if (w->pe_cols > MAX_SIDE || w->pe_rows > MAX_SIDE)
        return wsc_err_hint(WSC_RAISE(WSC_CONFIG,
                                      "--numerics mesh: a wafer of %lld x %lld PEs, at most %d a "
                                      "side can be emulated",
                                      (long long)w->pe_cols, (long long)w->pe_rows, MAX_SIDE),
                            "--set cluster.wafer.pe_cols=16 --set cluster.wafer.pe_rows=16");
    return WSC_OK;
}

/* Every lane needs at least one column. */
static enum wsc_err check_lanes(const struct hw_wafer *w, int lanes)
{
    if (lanes <= w->pe_cols) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_CONFIG,
                                  "--numerics mesh: %d lanes on a wafer of %lld columns of PEs",
                                  lanes, (long long)w->pe_cols),
                        "--set lanes=1");
}

/* Number of threads: one for some thousand PEs, since threads synchronize often. */
static int mesh_threads(const struct hw_wafer *w)
{
    enum { PES_PER_THREAD = 4096 };
    const int64_t most = w->pe_cols * w->pe_rows / PES_PER_THREAD;
    return most < num_threads() ? (int)(most > 1 ? most : 1) : num_threads();
}

/* Stop the fabric between two cycles, 5 s after a signal was first seen: a step that ends before is
 * completed and saved (src/job/job_stop.c); otherwise the last checkpoint stays. Schedulers wait
 * 30 s and more after their signal. */
static bool is_out_of_time(void *ctx)
{
    static const double grace_s = 5;
    struct programs_model *k = ctx;
    if (!wsc_stop_asked()) return false;
    const double now = wsc_clock_s();
    if (k->asked_s <= 0) k->asked_s = now;
    return now - k->asked_s > grace_s;
}

/* The fabric has the wafer's size and generation from the machine file. When the memory of a PE is
 * too small, the error has a hint. */
enum wsc_err programs_model_create(struct programs_model **out, const struct hw *hw,
                                   const struct model *model, const struct programs_room *room,
                                   bool training)
{
    const struct hw_wafer *w = &hw->cluster->wafer;
    enum mesh_arch arch;
    struct programs_model *k;
    *out = NULL;
    TRY(programs_arch_of(hw, &arch));
    TRY(programs_model_check(model));
    TRY(check_machine(hw));
    TRY(check_lanes(w, room->lanes));
    TRY_NEW(k, WSC_MEM_KERNELS, 1);
    k->model = model;
    k->machine = *hw->cluster;
    k->hw = (struct hw){.cluster = &k->machine};
    programs_documented_rates(&k->machine, arch);
    k->gradient_scale = 1;
    k->training = training;
    k->max_samples = (int)room->samples;
    const struct programs_grid_config config = {.mesh = {.w = (int)w->pe_cols,
                                                         .h = (int)w->pe_rows,
                                                         .arch = arch,
                                                         .threads = mesh_threads(w),
                                                         .stop = is_out_of_time,
                                                         .progress_ctx = k},
                                                .T = model->T,
                                                .max_samples = (int)room->samples,
                                                .lanes = room->lanes,
                                                .leaf_samples = (int)room->leaf_samples,
                                                .format = model->format,
                                                .both_ways = !model->causal};
    enum wsc_err rc = programs_grid_init(&k->grid, &config);
    if (!rc) rc = create(k);
    if (rc) {
        programs_model_destroy(&k);
        return rc == WSC_CAPACITY
                   ? wsc_err_hint(rc, "a larger fabric (cluster.wafer.pe_cols, pe_rows), a smaller "
                                      "micro_batch_size or a smaller model")
                   : rc;
    }
    *out = k;
    return WSC_OK;
}

void programs_model_destroy(struct programs_model **handle)
{
    struct programs_model *k = *handle;
    if (!k) return;
    programs_grid_fini(&k->grid);
    programs_features_fini(&k->hidden);
    programs_features_fini(&k->heads);
    programs_features_fini(&k->head);
    programs_features_fini(&k->filter);
    programs_heads_fini(k);
    programs_pairs_fini(k);
    programs_experts_fini(k);
    programs_distances_fini(k);
    programs_squares_fini(k);
    programs_adapters_fini(k);
    void *const owned[] = {k->layer, k->position,   k->position_row,  k->trained_row,
                           k->nats,  k->best,       k->loss,          k->wanted,
                           k->slope, k->shared,     k->wanted_logits, k->all_logits,
                           k->wide,  k->leaf_grads, k->token_factor};
    for (int i = 0; i < (int)(sizeof owned / sizeof *owned); i++)
        wsc_free(owned[i]);
    wsc_free(k);
    *handle = NULL;
}

/* ---- a micro-batch --------------------------------------------------------------------------- */

/* The layout of the analytical model with @p n samples on each lane. */
static void set_layout(const struct programs_model *k, struct cycles_layout *l, int n)
{
    cycles_layout_init(l, &k->hw, k->model, k->grid.lanes, (int64_t)k->grid.lanes * n);
    cycles_layout_round_robin(l, n);
}

static void begin_layouts(struct programs_model *k)
{
    set_layout(k, &k->layout, k->grid.n_samples);
    set_layout(k, &k->leaf_layout, k->grid.leaf_samples);
}

/* Set the factors of token dropout: masked tokens become 0, the other tokens of a sample are
 * scaled. */
static void begin_factors(struct programs_model *k)
{
    const struct data_batch *b = k->batch;
    for (int64_t first = 0; k->token_factor && first < b->n * b->T; first += b->T) {
        const int32_t *ids = b->input_ids + first;
        const float scale =
            model_token_scale(k->model, ids, b->attends ? b->attends + first : NULL, b->T);
        for (int64_t t = 0; t < b->T; t++)
            k->token_factor[first + t] = ids[t] == k->model->mask_token ? 0 : scale;
    }
}

/* Set positions and rows of the tables. Padding and masked tokens give no gradient to the token
 * table. */
static void begin_tables(struct programs_model *k)
{
    const struct data_batch *b = k->batch;
    begin_factors(k);
    for (int64_t i = 0; i < b->n * b->T; i++) {
        const int32_t id = b->input_ids[i];
        const bool trains =
            id != k->model->pad_token && !(k->token_factor && id == k->model->mask_token);
        k->position[i] = b->position_ids ? b->position_ids[i] : (int32_t)(i % b->T);
        k->position_row[i] = (int32_t)model_position_row(k->model, id, k->position[i]);
        k->trained_row[i] = trains ? id : -1;
    }
}

void programs_model_begin(struct programs_model *k, const struct data_share *share,
                          const struct data_batch *batch)
{
    k->grid.leaf_samples = (int)share->leaf_samples;
    programs_distribute(&k->grid, (int)batch->n);
    WSC_CHECK(batch->n >= 1 && batch->n <= k->max_samples && batch->T == k->model->T &&
                  k->grid.n_samples <= k->grid.max_samples,
              "%lld samples of %lld tokens in leaves of %lld", (long long)batch->n,
              (long long)batch->T, (long long)share->leaf_samples);
    k->share = *share;
    k->batch = batch;
    k->n_leaves = (int)(share->end_leaf - share->first_leaf);
    k->any_wanted = false;
    begin_tables(k);
    begin_layouts(k);
    programs_heads_begin(k);
    programs_experts_begin(k);
    programs_squares_begin(k);
}

void programs_model_scale_gradients(struct programs_model *k, double scale)
{
    k->gradient_scale = scale;
}

void programs_model_mask(struct programs_model *k, const struct model_weights *masks)
{
    k->masks = k->grid.by_data ? masks : NULL;
    k->given = masks;
}

/* The stage's vector as floats. 16-bit numbers are widened, which is exact, and become equal
 * 16-bit numbers again when they are streamed. */
static const float *floats_of(struct programs_model *k, const void *weights, int64_t n)
{
    if (!k->grid.half) return weights;
    num_widen(k->model->format, k->wide, weights, n);
    return k->wide;
}

/* What decides in a part which operations are executed, besides sizes: tokens, which keys a query
 * attends to, or a router. */
enum decides { BY_TOKENS = 1, BY_MASKS = 2, BY_CHOICE = 4 };

/* True when a part executes the operations of every micro-batch of its size. Losses, which depend
 * on labels, are excepted where they are computed (program_head_loss.c); programs whose tasks read
 * memory, such as dropout, by the fabric. */
static bool repeats(const struct programs_model *k, enum model_part part)
{
    static const unsigned decides[MODEL_N_PARTS] = {
        [MODEL_PART_EMBED] = BY_TOKENS,     [MODEL_PART_ATTN] = BY_MASKS,
        [MODEL_PART_CROSS_ATTN] = BY_MASKS, [MODEL_PART_FFN0] = BY_CHOICE,
        [MODEL_PART_FFN1] = BY_CHOICE,
    };
    _Static_assert(MODEL_N_PARTS == 9, "what decides in each part of a model");
    const struct data_batch *b = k->batch;
    const bool masks = b->attends || b->attention_span || b->position_ids;
    const unsigned varies =
        BY_TOKENS | (masks ? BY_MASKS : 0U) | (k->model->experts ? BY_CHOICE : 0U);
    return !k->given && !(decides[part] & varies);
}

/* Programs of this stage and direction, with as many samples, have a scope of their own. */
static void begin_scope(struct programs_model *k, int stage, bool back)
{
    enum { MOST_SAMPLES = 1 << 20 };
    const uint64_t place = 2 * (uint64_t)stage + back;
    k->grid.repeats.scope =
        (place * MOST_SAMPLES + (uint64_t)k->grid.all_samples) * PROGRAMS_OF_SCOPE;
    k->grid.repeats.n = 0;
}

/* Set where the tensors of the stage lie in its vector, and reset the counts. */
static void enter_stage(struct programs_model *k, int stage, const void *weights)
{
    const struct model *m = k->model;
    const struct model_stage *s = &m->stage[stage];
    k->stage = s;
    k->elements = floats_of(k, weights, s->n_elems);
    for (int i = 0; i < MODEL_N_TENSOR_KINDS; i++)
        k->offset[i] = -1;
    programs_stage_enter(k, -1);
    k->n_elems = s->n_elems;
    k->l = s->layer;
    k->reference = stage < m->first_policy;
    k->cycles = 0;
    k->first_gradient = -1;
}

/* The stage has ended: stop borrowing its masks. */
static void leave_stage(struct programs_model *k)
{
    k->masks = k->given = NULL;
}

/* The error @p rc of a part of a stage, with a hint when a signal has ended the step. */
static enum wsc_err with_hint(enum wsc_err rc)
{
    return rc == WSC_INTERRUPTED
               ? wsc_err_hint(rc, "the step was given up; the last checkpoint is that before it")
               : rc;
}

enum wsc_err programs_model_forward(struct programs_model *k, int stage, const void *weights,
                                    int64_t *cycles)
{
    const struct model_stage *s = &k->model->stage[stage];
    enter_stage(k, stage, weights);
    begin_scope(k, stage, false);
    for (int i = 0; i < s->n_parts; i++) {
        k->grid.repeats.on = repeats(k, s->part[i]);
        TRY(with_hint(programs_forward_part(k, s->part[i])));
    }
    leave_stage(k);
    *cycles = k->cycles;
    return WSC_OK;
}

/* Add up the gradients below a node of the canonical tree; the sum is stored at its first leaf. */
static float *sum_node(struct programs_model *k, int level, int64_t index)
{
    if (level == 0) return k->leaf_grads + (index - k->share.first_leaf) * k->n_elems;
    float *left = sum_node(k, level - 1, 2 * index);
    if ((2 * index + 1) << (level - 1) < k->share.n_leaves)
        num_add(left, sum_node(k, level - 1, 2 * index + 1), k->n_elems);
    return left;
}

enum wsc_err programs_model_backward(struct programs_model *k, int stage, const void *weights,
                                     float *grads, int64_t *cycles, int64_t *first)
{
    const struct model_stage *s = &k->model->stage[stage];
    struct num_nodes nodes;
    enter_stage(k, stage, weights);
    memset(k->leaf_grads, 0, (size_t)(k->n_leaves * k->n_elems) * sizeof *k->leaf_grads);
    begin_scope(k, stage, true);
    for (int i = s->n_parts - 1; i >= 0; i--) {
        k->grid.repeats.on = repeats(k, s->part[i]);
        TRY(with_hint(programs_backward_part(k, s->part[i])));
    }
    programs_squares_add(k);
    leave_stage(k);
    num_nodes_of_range(&nodes, k->share.first_leaf, k->share.end_leaf, k->share.n_leaves);
    for (int i = 0; i < nodes.n; i++)
        memcpy(grads + i * k->n_elems, sum_node(k, nodes.node[i].level, nodes.node[i].index),
               (size_t)k->n_elems * sizeof *grads);
    *cycles = k->cycles;
    *first = k->first_gradient < 0 ? k->cycles : k->first_gradient;
    return WSC_OK;
}

/* ---- results --------------------------------------------------------------------------------- */

const struct model_loss *programs_model_losses(const struct programs_model *k)
{
    return k->loss;
}

struct mesh_repeat_counts programs_model_repeats(const struct programs_model *k)
{
    return mesh_repeat_counts(k->grid.m);
}

enum wsc_err programs_model_want_logits(struct programs_model *k, const int64_t *position_of_sample)
{
    const int64_t n = k->max_samples, V = k->model->V;
    if (!k->wanted_logits) TRY_NEW(k->wanted_logits, WSC_MEM_KERNELS, n * V);
    if (!k->all_logits) TRY_NEW(k->all_logits, WSC_MEM_KERNELS, n * k->model->T * V);
    memcpy(k->wanted, position_of_sample, (size_t)k->grid.all_samples * sizeof *k->wanted);
    k->any_wanted = true;
    return WSC_OK;
}

const float *programs_model_logits(const struct programs_model *k, int64_t i)
{
    return k->wanted_logits + i * k->model->V;
}

const struct programs_row *programs_model_rows(const struct programs_model *k)
{
    return k->row;
}
