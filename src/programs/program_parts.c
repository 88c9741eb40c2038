// SPDX-License-Identifier: Apache-2.0
/* Runs the parts of a stage (embedding, q k v, attention, feed-forward, head) on the mesh, forward
 * and backward, for decoders and encoders. It decides which operations run on which tiles. The
 * operations are in program_stage.c, heads in program_head.c, positions and windows in
 * program_positions.c, mixtures of experts in program_experts.c. */
#include "program_parts.h"
#include "program_adapter.h"
#include "program_branch.h"
#include "program_distance.h"
#include "program_embedding.h"
#include "program_experts.h"
#include "program_grid.h"
#include "program_head.h"
#include "program_positions.h"
#include "program_softmax.h"
#include "program_stage.h"
#include "program_stage_dropout.h"
#include "program_vector_ops.h"

/* ---- embedding ------------------------------------------------------------------------------- */

/* Tables of tokens, positions and, in encoders, types of tokens. */
enum { TABLES = 3 };
static const enum model_tensor_kind tables[TABLES] = {MODEL_WTE, MODEL_WPE, MODEL_WTT};

static struct programs_table table_of(const struct programs_model *k, int i,
                                      const struct programs_tile *x)
{
    const int32_t *const row[TABLES] = {k->batch->input_ids, k->position_row,
                                        k->batch->token_types};
    return (struct programs_table){.x = *x,
                                   .rows = k->rows[tables[i]],
                                   .row_of_token = row[i],
                                   .scale = k->table_scale,
                                   .factor = tables[i] == MODEL_WTE ? k->token_factor : NULL,
                                   .add = i,
                                   .n_samples = k->grid.n_samples};
}

/* True when the stage has the table and the batch has rows for it. */
static bool has_table(const struct programs_model *k, int i)
{
    return k->offset[tables[i]] >= 0 && (tables[i] != MODEL_WTT || k->batch->token_types);
}

static struct programs_stage_norm norm_of_embeddings(const struct programs_model *k)
{
    return (struct programs_stage_norm){MODEL_NORME_W, &k->raw, k->stats_embed};
}

/* Scale of the embeddings after their norm; 1 when the tables were already scaled before it. */
static double scale_after_norm(const struct programs_model *k)
{
    return k->model->scale_first ? 1 : k->model->zoo.embeddings_scale;
}

/* Apply the norm of the embeddings, then their scale. */
static enum wsc_err norm_embeddings(struct programs_model *k)
{
    const struct programs_tile *x = programs_x(k, 0);
    const struct programs_stage_norm norm = norm_of_embeddings(k);
    const double scale = scale_after_norm(k);
    TRY(programs_stage_norm(k, &norm, x));
    if (scale >= 1 && scale <= 1) return WSC_OK;
    return programs_on_hidden(k, MESH_FMULS, x, programs_tile_view(x),
                              programs_number((float)scale));
}

/* Look up the rows of the token table, and add those of the other tables. */
static enum wsc_err embed(struct programs_model *k)
{
    const struct programs_tile *x = k->model->zoo.embedding_layer_norm ? &k->raw : programs_x(k, 0);
    TRY(programs_write_angles(k));
    TRY(programs_take_distances(k));
    for (int i = 0; i < TABLES; i++) {
        const struct programs_table t = table_of(k, i, x);
        if (!has_table(k, i)) continue;
        TRY(programs_run_table_gather(&k->grid, &t, k->weight[tables[i]]));
        programs_stage_book(k, PROGRAMS_ROW_EMBEDDING, k->grid.stats.cycles);
        TRY(programs_adapt_table(k, &t, tables[i]));
    }
    if (k->model->zoo.position_embedding_type == ZOO_POSITION_FIXED) TRY(programs_add_sines(k, x));
    programs_stage_expect(k, PROGRAMS_ROW_EMBEDDING,
                          cycles_part_forward(&k->layout, MODEL_PART_EMBED).elementwise -
                              (k->model->zoo.embedding_layer_norm ? cycles_norm(&k->layout) : 0));
    if (k->model->zoo.embedding_layer_norm) TRY(norm_embeddings(k));
    return programs_drop(k, MODEL_DROP_EMBED, programs_x(k, 0), programs_x(k, 0), false);
}

/* Replace the gradient of the embeddings after their norm by that before it. */
static enum wsc_err norm_embeddings_backward(struct programs_model *k)
{
    const struct programs_stage_norm norm = norm_of_embeddings(k);
    const struct programs_view scale = programs_number((float)scale_after_norm(k));
    TRY(programs_on_hidden(k, MESH_FMULS, &k->dxn, programs_tile_view(&k->dres), scale));
    TRY(programs_clear(k, &k->dres));
    return programs_stage_norm_backward(k, &norm, &k->dres);
}

/* Gradient of a table, in rounds of one leaf of each lane, so that each leaf has its own sum. */
static enum wsc_err table_gradient(struct programs_model *k, int i)
{
    for (int round = 0; round < programs_leaf_rounds(k); round++) {
        struct programs_table t = table_of(k, i, &k->dres);
        if (tables[i] == MODEL_WTE) t.row_of_token = k->trained_row;
        programs_round_samples(k, round, &t.first_sample, &t.n_samples);
        t.lane_step = k->n_elems;
        TRY(programs_run_table_scatter(&k->grid, &t, programs_stage_gradient(k, tables[i], round)));
        if (k->first_gradient < 0) k->first_gradient = k->cycles + t.first_cycle;
        programs_stage_book(k, PROGRAMS_ROW_EMBEDDING_BACKWARD, k->grid.stats.cycles);
    }
    return WSC_OK;
}

/* Cycles by the analytical model of the gradients of those tables that train, of one round. */
static double table_gradients_expected(const struct programs_model *k)
{
    struct model_density density;
    struct cycles_layout l = k->leaf_layout;
    for (int kind = 0; kind < MODEL_N_KINDS; kind++) {
        density.weights[kind] = density.gradients[kind] = 1;
        density.trained[kind] = k->trains[kind];
    }
    l.density = &density;
    return cycles_part_backward(&l, MODEL_PART_EMBED, CYCLES_KEEP_ALL).elementwise -
           (k->model->zoo.embedding_layer_norm ? cycles_norm_gradient(&l) : 0);
}

static enum wsc_err embed_backward(struct programs_model *k)
{
    bool any = false;
    TRY(programs_drop(k, MODEL_DROP_EMBED, &k->dres, &k->dres, true));
    if (k->model->zoo.embedding_layer_norm) TRY(norm_embeddings_backward(k));
    for (int i = 0; i < TABLES; i++) {
        const struct programs_table t = table_of(k, i, &k->dres);
        if (!has_table(k, i)) continue;
        if (k->trains[tables[i]]) TRY(table_gradient(k, i));
        any = any || k->trains[tables[i]];
        TRY(programs_adapted_table_gradients(k, &t, tables[i]));
    }
    for (int round = 0; round < programs_leaf_rounds(k) && any; round++)
        programs_stage_expect(k, PROGRAMS_ROW_EMBEDDING_BACKWARD, table_gradients_expected(k));
    return programs_give_distances(k);
}

/* ---- attention ------------------------------------------------------------------------------- */

static const enum model_tensor_kind qkv_weight[3] = {MODEL_Q_W, MODEL_K_W, MODEL_V_W};
static const enum model_tensor_kind qkv_bias[3] = {MODEL_Q_B, MODEL_K_B, MODEL_V_B};

/* The norm of the heads of queries (@p i 0) or of keys (1). */
static struct programs_stage_norm head_norm(struct programs_model *k, int i)
{
    static const enum model_tensor_kind gain[2] = {MODEL_Q_NORM_W, MODEL_K_NORM_W};
    const struct programs_layer *layer = programs_layer_of(k, k->l);
    return (struct programs_stage_norm){gain[i], &layer->raw[i], layer->stats_heads[i]};
}

/* Norm, one product with three outputs (the input streams once), biases, rotation, norms of heads.
 */
static enum wsc_err qkv(struct programs_model *k)
{
    struct programs_layer *layer = programs_layer_of(k, k->l);
    const struct programs_stage_norm norm = programs_norm1(k);
    const struct programs_tile *const normed[2] = {&layer->q, &layer->k};
    const bool norms = model_norms_heads(k->model);
    const struct programs_tile *const out[3] = {norms ? &layer->raw[0] : &layer->q,
                                                norms ? &layer->raw[1] : &layer->k, &layer->v};
    if (!k->model->norm_last) TRY(programs_stage_norm(k, &norm, programs_normed(k)));
    TRY(programs_adapted_linears(k, qkv_weight, 3, programs_attention_input(k), out));
    for (int i = 0; i < 3; i++)
        TRY(programs_stage_bias(k, qkv_bias[i], out[i], NULL));
    for (int i = 0; i < 2 && k->model->rotary_dim; i++)
        TRY(programs_rotate_tile(k, out[i], false));
    for (int i = 0; i < 2 && norms; i++) {
        const struct programs_stage_norm by_heads = head_norm(k, i);
        TRY(programs_stage_norm(k, &by_heads, normed[i]));
    }
    return WSC_OK;
}

/* The three input gradients are one product that sums over its inputs, so dxn is written once. In a
 * parallel block with one norm, the gradient of the feed-forward network is already in dside. */
static enum wsc_err qkv_input_gradient(struct programs_model *k)
{
    const struct programs_tile *const dy[3] = {&k->dq, &k->dk, &k->dv};
    for (int i = 0; i < 2 && model_norms_heads(k->model); i++) {
        const struct programs_stage_norm by_heads = head_norm(k, i);
        TRY(programs_stage_head_norm_backward(k, &by_heads, dy[i]));
    }
    for (int i = 0; i < 2 && k->model->rotary_dim; i++)
        TRY(programs_rotate_tile(k, dy[i], true));
    TRY(programs_adapted_linears_back(k, qkv_weight, 3, dy, &k->dxn));
    return k->model->norm3 ? WSC_OK : programs_add_to(k, &k->dxn, &k->dside);
}

static enum wsc_err qkv_backward(struct programs_model *k)
{
    const struct programs_tile *const dy[3] = {&k->dq, &k->dk, &k->dv};
    const struct programs_stage_norm norm = programs_norm1(k);
    const bool last = k->model->norm_last;
    TRY(qkv_input_gradient(k));
    if (k->model->norm3 && !last) TRY(programs_stage_norm_again(k, &norm, &k->xn));
    for (int i = 0; i < 3; i++)
        TRY(programs_adapted_gradient(k, qkv_weight[i], dy[i], programs_attention_input(k)));
    TRY(programs_stage_bias_gradients(k, qkv_bias, dy, 3));
    if (last) return programs_add_to(k, &k->dres, &k->dxn);
    TRY(programs_stage_norm_backward(k, &norm, &k->dres));
    return k->model->zoo.parallel_block && k->model->norm3 ? programs_add_to(k, &k->dres, &k->dside)
                                                           : WSC_OK;
}

/* Operands of the attention of one sample of each lane. Each sample has its own scores; gradients
 * of scores share scratch. */
static struct programs_attention attention_of(struct programs_model *k, int sample,
                                              struct programs_drop *drop)
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
                                       .scale = (float)(k->model->stack[0].qk_scale / by_layer),
                                       .shaping = programs_shaping_of(k, sample),
                                       .drop = programs_drops(k, MODEL_DROP_SCORES) ? drop : NULL,
                                       .dropped = k->dropped};
}

/* Run attention, or its gradient, sample by sample; the cycles of dropout are recorded
 * separately. */
static enum wsc_err each_sample(struct programs_model *k, enum programs_row_kind row, bool back)
{
    struct programs_drop drop = programs_drop_of(k, MODEL_DROP_SCORES);
    const int64_t before = k->grid.total.cycles;
    for (int i = 0; i < k->grid.n_samples; i++) {
        const struct programs_attention a = attention_of(k, i, &drop);
        TRY(back ? programs_run_attention_backward(&k->grid, &a)
                 : programs_run_attention(&k->grid, &a));
    }
    programs_stage_book(k, row, k->grid.total.cycles - before - drop.cycles);
    if (drop.cycles) programs_book_drop(k, &drop, back);
    return WSC_OK;
}

/* Attention sample by sample, then the output projection, its bias and the residual, into mid. */
static enum wsc_err attend(struct programs_model *k)
{
    struct programs_layer *layer = programs_layer_of(k, k->l);
    TRY(each_sample(k, PROGRAMS_ROW_ATTENTION, false));
    programs_stage_expect(k, PROGRAMS_ROW_ATTENTION, cycles_attention(&k->layout));
    return programs_add_branch(k, &programs_attention_branch, &layer->ctx, &layer->mid,
                               programs_x(k, k->l));
}

/* First the gradient of the output projection, dctx. The probabilities were kept from the forward
 * pass and are overwritten. */
static enum wsc_err attend_backward(struct programs_model *k)
{
    const struct programs_tile *dy;
    TRY(programs_branch_gradient(k, &programs_attention_branch, &dy));
    TRY(programs_adapted_linear_back(k, MODEL_O_W, dy, &k->dctx));
    TRY(programs_branch_weights(k, &programs_attention_branch, dy,
                                &programs_layer_of(k, k->l)->ctx));
    TRY(each_sample(k, PROGRAMS_ROW_ATTENTION_BACKWARD, true));
    programs_stage_expect(k, PROGRAMS_ROW_ATTENTION_BACKWARD,
                          cycles_attention_gradient(&k->layout, false));
    return WSC_OK;
}

/* ---- feed-forward ---------------------------------------------------------------------------- */

/* The norm before the feed-forward network, and its first linear layers. */
static enum wsc_err ffn0(struct programs_model *k)
{
    const struct programs_stage_norm norm = programs_norm3(k);
    if (k->model->norm3 && !k->model->norm_last) TRY(programs_stage_norm(k, &norm, &k->xn));
    return k->model->experts ? programs_experts_ffn0(k) : programs_filter(k, programs_ffn_input(k));
}

static enum wsc_err ffn0_backward(struct programs_model *k)
{
    const struct programs_stage_norm norm = programs_norm3(k);
    const struct programs_tile *dx = k->model->norm3 ? &k->dxn : &k->dside;
    if (!k->model->experts) TRY(programs_filter_back(k, dx));
    if (k->model->norm3 && !k->model->norm_last) TRY(programs_stage_norm_again(k, &norm, &k->xn));
    TRY(k->model->experts ? programs_experts_ffn0_backward(k, dx)
                          : programs_filter_gradients(k, programs_ffn_input(k)));
    return programs_ffn_norm_backward(k);
}

/* Outside training x and the next x share one tile; mid is another one. */
static enum wsc_err ffn1(struct programs_model *k)
{
    const struct programs_tile *to = programs_x(k, k->l + 1),
                               *mid = &programs_layer_of(k, k->l)->mid;
    if (k->model->experts) return programs_experts_ffn1(k, to, mid);
    TRY(programs_activate_filter(k));
    return programs_add_branch(k, &programs_ffn_branch, &k->act, to, mid);
}

static enum wsc_err ffn1_backward(struct programs_model *k)
{
    const struct programs_tile *dy;
    TRY(programs_branch_gradient(k, &programs_ffn_branch, &dy));
    if (k->model->experts) return programs_experts_ffn1_backward(k, dy);
    TRY(programs_adapted_linear_back(k, MODEL_FFN1_W, dy, &k->dpre));
    TRY(programs_activate_filter_backward(k));
    return programs_branch_weights(k, &programs_ffn_branch, dy, &k->act);
}

/* One row for each part of a model. */
static const struct {
    enum wsc_err (*forward)(struct programs_model *k);
    enum wsc_err (*backward)(struct programs_model *k);
} parts[] = {
    [MODEL_PART_EMBED] = {embed, embed_backward},
    [MODEL_PART_QKV] = {qkv, qkv_backward},
    [MODEL_PART_ATTN] = {attend, attend_backward},
    [MODEL_PART_FFN0] = {ffn0, ffn0_backward},
    [MODEL_PART_FFN1] = {ffn1, ffn1_backward},
    [MODEL_PART_HEAD] = {programs_heads, programs_heads_backward},
};
_Static_assert(MODEL_N_PARTS == 9, "a row for each part of a model");

enum wsc_err programs_forward_part(struct programs_model *k, enum model_part part)
{
    return parts[part].forward(k);
}

enum wsc_err programs_backward_part(struct programs_model *k, enum model_part part)
{
    return parts[part].backward(k);
}
