// SPDX-License-Identifier: Apache-2.0
/* A model from its params: sizes and features, checked against each other, then its tensors
 * (model_tensors.c) and stages (model_stages.c); and the FLOPs of training it. */
#include <wsc/model.h>

#include "model_heads.h"
#include "model_mup.h"
#include "model_sparsity.h"
#include "model_stages.h"
#include "model_tensors.h"
#include "model_tuning.h"

#include <wsc/mem.h>

#include <math.h>
#include <string.h>

/* Bounds that keep every table small and every product of two sizes far from overflow.  The
 * largest published matrix of the dataflow is 100k x 100k. */
enum { MAX_LAYERS = 8192, MAX_DIM = 1 << 20 };

/* A size in 1 .. max, or an error with its key. */
static WSC_CHECKED enum wsc_err check_size(const char *key, int64_t value, int64_t max)
{
    if (value >= 1 && value <= max) return WSC_OK;
    return WSC_RAISE(WSC_CONFIG, "model.%s: %lld is outside 1 .. %lld", key, (long long)value,
                     (long long)max);
}

static WSC_CHECKED enum wsc_err check_positive(const char *key, double value)
{
    if (isfinite(value) && value > 0) return WSC_OK;
    return WSC_RAISE(WSC_CONFIG, "%s: %g is not a positive number", key, value);
}

/* Both stacks together have half as many blocks as other models may have: the numbers of dropout's
 * streams have room for these (src/model/model_dropout.c). */
static WSC_CHECKED enum wsc_err check_decoder_sizes(const struct zoo_model *m)
{
    const int64_t most = MAX_LAYERS / 2 - 1 - m->num_hidden_layers;
    TRY(check_size("decoder_num_hidden_layers", m->decoder_num_hidden_layers, most > 1 ? most : 1));
    TRY(check_size("tgt_vocab_size", m->tgt_vocab_size + m->extra_ids, MAX_DIM));
    TRY(check_size("src_vocab_size", m->vocab_size + m->extra_ids, MAX_DIM));
    return check_size("tgt_max_position_embeddings", m->tgt_max_position_embeddings, MAX_DIM);
}

/* Sizes of the model, and heads that divide the width of attention. */
static WSC_CHECKED enum wsc_err check_sizes(const struct zoo_model *m)
{
    const struct zoo_diffusion *d = &m->diffusion;
    TRY(check_size("num_hidden_layers", m->num_hidden_layers, MAX_LAYERS));
    TRY(check_size("hidden_size", m->hidden_size, MAX_DIM));
    TRY(check_size("num_heads", m->num_heads, MAX_DIM));
    TRY(check_size("filter_size", m->filter_size, MAX_DIM));
    TRY(check_size("vocab_size", m->vocab_size, MAX_DIM));
    TRY(check_size("max_position_embeddings", m->max_position_embeddings, MAX_DIM));
    if (m->objective == ZOO_SEQ2SEQ) TRY(check_decoder_sizes(m));
    if (m->objective == ZOO_DIFFUSION)
        TRY(check_size("patch_size", d->patch_size[0] * d->patch_size[1],
                       MAX_DIM / d->latent_channels));
    const bool own = m->attention_inner_dim > 0;
    const int64_t width = own ? m->attention_inner_dim : m->hidden_size;
    const char *key = own ? "attention_inner_dim" : "hidden_size";
    TRY(check_size(key, width, MAX_DIM));
    if (width % m->num_heads != 0)
        return wsc_err_hint(WSC_RAISE(WSC_CONFIG,
                                      "model.num_heads: %lld heads do not divide %s %lld",
                                      (long long)m->num_heads, key, (long long)width),
                            own ? "attention_inner_dim must be a multiple of num_heads"
                                : "hidden_size must be a multiple of num_heads");
    return WSC_OK;
}

/* Groups of keys and values divide the heads. */
static WSC_CHECKED enum wsc_err check_groups(const struct zoo_model *m)
{
    if (m->num_kv_groups > 0 && m->num_heads % m->num_kv_groups)
        return WSC_RAISE(WSC_CONFIG,
                         "model.extra_attention_params.num_kv_groups: %lld does not divide %lld "
                         "heads",
                         (long long)m->num_kv_groups, (long long)m->num_heads);
    return WSC_OK;
}

/** The input that the sequences of the run come from: of a training with evaluations both are
 * alike.
 */
static const struct zoo_input *first_input(const struct zoo_params *params)
{
    const bool evaluates = params->runconfig.mode == ZOO_EVAL && params->eval_input.present;
    return params->train_input.present && !evaluates ? &params->train_input : &params->eval_input;
}

/** Tokens of a target, as model_sequence_length() those of a source. */
static int64_t target_length(const struct zoo_params *params)
{
    const struct zoo_input *in = first_input(params);
    return in->present && in->tgt_max_sequence_length > 0
               ? in->tgt_max_sequence_length
               : params->model.tgt_max_position_embeddings;
}

int64_t model_sequence_length(const struct zoo_params *params)
{
    const struct zoo_model *m = &params->model;
    const struct zoo_input *in = first_input(params);
    const bool generates = params->runconfig.mode == ZOO_GENERATE && m->objective == ZOO_CAUSAL_LM;
    if (generates || !in->present || in->max_sequence_length <= 0)
        return m->max_position_embeddings;
    return in->max_sequence_length + in->sink_tokens;
}

/* Features, then what is left: predictions within a sequence, positive factors. */
static WSC_CHECKED enum wsc_err check_family(const struct zoo_params *params)
{
    const struct zoo_model *m = &params->model;
    const int64_t T = model_sequence_length(params);
    TRY(check_groups(m));
    if (T > m->max_position_embeddings)
        return WSC_RAISE(WSC_CONFIG,
                         "max_sequence_length: %lld tokens, but model.max_position_embeddings is "
                         "%lld",
                         (long long)T, (long long)m->max_position_embeddings);
    if (m->objective == ZOO_SEQ2SEQ && target_length(params) > m->tgt_max_position_embeddings)
        return WSC_RAISE(WSC_CONFIG,
                         "tgt_max_sequence_length: %lld tokens, but "
                         "model.tgt_max_position_embeddings is %lld",
                         (long long)target_length(params),
                         (long long)m->tgt_max_position_embeddings);
    if (m->objective == ZOO_MASKED_LM && m->max_predictions_per_seq > T)
        return WSC_RAISE(WSC_CONFIG,
                         "model.max_predictions_per_seq: %lld is more than the %lld tokens of a "
                         "sequence",
                         (long long)m->max_predictions_per_seq, (long long)T);
    TRY(check_positive("model.layer_norm_epsilon", m->layer_norm_epsilon));
    TRY(check_positive("model.embeddings_scale", m->embeddings_scale));
    TRY(check_positive("model.output_logits_scale", m->output_logits_scale));
    return WSC_OK;
}

/** One stack; or those of an encoder and a decoder, the sizes of the model being their sums. */
static void set_stacks(struct model *model, const struct zoo_params *params)
{
    const struct zoo_model *m = &params->model;
    struct model_stack *s = model->stack;
    model->n_stacks = m->objective == ZOO_SEQ2SEQ ? 2 : 1;
    s[0] = (struct model_stack){.T = model_sequence_length(params),
                                .L = m->num_hidden_layers,
                                .V = m->vocab_size,
                                .table_rows = m->max_position_embeddings,
                                .causal = m->objective == ZOO_CAUSAL_LM};
    if (model->n_stacks > 1) {
        s[0].V += m->extra_ids;
        s[0].filter_dropout = m->relu_dropout_rate;
        s[1] = (struct model_stack){.T = target_length(params),
                                    .first = s[0].L,
                                    .L = m->decoder_num_hidden_layers,
                                    .V = zoo_model_n_ids(m),
                                    .table_rows = m->tgt_max_position_embeddings,
                                    .causal = true,
                                    .cross = true,
                                    .filter_dropout = m->dropout_rate};
    }
    model->L = s[0].L + s[1].L;
    model->T = s[0].T + s[1].T;
    model->V = s[model->n_stacks - 1].V;
    model->causal = s[model->n_stacks - 1].causal;
}

/** What an encoder with a decoder has: T5 (Raffel et al. 2020) and the Transformer (Vaswani et al.
 *  2017) differ in these.  Dropout twice in a row is dropout once with a higher rate; under muP
 *  the Model Zoo multiplies embeddings by the root of the width. */
static void set_seq2seq(struct model *model, const struct zoo_model *m)
{
    if (model->n_stacks < 2) return;
    model->norm_last = !m->use_pre_encoder_decoder_layer_norm;
    model->shared_tokens = m->share_encoder_decoder_embedding;
    if (m->use_pre_encoder_decoder_dropout)
        model->zoo.embedding_dropout_rate =
            1 - (1 - m->embedding_dropout_rate) * (1 - m->dropout_rate);
    if (m->use_dropout_outside_residual_path) model->memory_dropout = m->dropout_rate;
    if (m->mup_base_hidden_size > 0) model->zoo.embeddings_scale *= sqrt((double)m->hidden_size);
}

/** What encoders have and decoders have not. */
static void set_encoder(struct model *model, const struct zoo_model *m)
{
    struct model_stack *stack = &model->stack[0];
    model->pad_token = model->mask_token = -1;
    if (model->causal) return;
    model->norm_last = !m->norm_first;
    if (m->objective == ZOO_DIFFUSION) return;
    model->token_types = m->num_segments > 0 ? m->num_segments : 0;
    model->pad_token = m->pad_token_id;
    model->padded_positions = m->mask_padding_in_positional_embed;
    if (model->padded_positions) stack->table_rows += m->pad_token_id + 1;
    if (m->token_dropout) model->mask_token = m->mask_token_id;
    stack->filter_dropout = m->dropout_rate;
}

/** Patches and time steps of a diffusion transformer. */
static void set_diffusion(struct model *model, const struct zoo_model *m)
{
    const struct zoo_diffusion *d = &m->diffusion;
    if (m->objective != ZOO_DIFFUSION) return;
    model->patch = d->patch_size[0] * d->patch_size[1] * d->latent_channels;
    model->frequencies = d->frequency_embedding_size;
    model->noise_biases = d->use_conv_transpose_unpatchify ? d->latent_channels : model->patch;
}

/* The section as it is, without the lists that belong to the params: model_take_frozen() turns them
 * into flags of tensors. */
static void take_section(struct model *model, const struct zoo_model *m)
{
    model->zoo = *m;
    model->zoo.freeze = (struct zoo_patterns){.n = 0};
    model->zoo.lora_params = (struct zoo_loras){.n = 0};
    model->zoo.selective_grad = (struct zoo_selective){.on = false};
}

/* Sizes and features of the blocks; a gated nonlinearity is its function and a flag. */
static void set_sizes(struct model *model, const struct zoo_params *params)
{
    const struct zoo_model *m = &params->model;
    model->C = m->hidden_size;
    model->H = m->num_heads;
    model->F = m->filter_size;
    set_stacks(model, params);
    set_encoder(model, m);
    model->norm3 = !m->parallel_block || m->use_untied_layer_norm;
    model->gated = m->nonlinearity >= ZOO_GATED;
    model->nonlinearity =
        (enum zoo_nonlinearity)((int)m->nonlinearity - (model->gated ? ZOO_GATED : 0));
    set_seq2seq(model, m);
    set_diffusion(model, m);
}

/* Factor of the scores of heads of width @p d.  muP of T5 divides queries and keys by the root of
 * the ratio of widths unless heads have a base width; its factors of values and of attention's
 * output cancel. */
static double score_scale(const struct zoo_model *m, double d, bool by_d, double alpha)
{
    const bool divides = by_d && !m->attention_qk_norm_layer;
    double scale = divides ? 1.0 / d : 1.0 / sqrt(d);
    if (m->attention_type == ZOO_DOT_PRODUCT) scale = 1;
    if (m->objective == ZOO_SEQ2SEQ && !(m->mup_base_d_kv > 0)) scale /= model_mup_of(m).hidden;
    return alpha > 0 ? scale * alpha : scale;
}

/* Heads, positions, windows.  Without its own width attention has that of the hidden features.
 * With scale_qk_dot_by_d the Model Zoo divides keys by the root of d before their norm, which takes
 * the factor out again but for its epsilon: norm(k / c, eps) = norm(k, c^2 eps). */
static void set_attention(struct model *model, const struct zoo_model *m)
{
    const int64_t width = m->attention_inner_dim > 0 ? m->attention_inner_dim : m->hidden_size;
    model->head_dim = width / m->num_heads;
    model->kv_heads = m->num_kv_groups > 0 ? m->num_kv_groups : m->num_heads;
    const double d = (double)model->head_dim;
    model->stack[0].qk_scale = score_scale(m, d, m->scale_qk_dot_by_d, m->attention_logits_alpha);
    model->stack[1].qk_scale =
        score_scale(m, d, m->scale_decoder_qk_dot_by_d, m->decoder_attention_logits_alpha);
    model->qk_norm_eps[0] = model->qk_norm_eps[1] = m->attention_qk_norm_eps;
    if (m->scale_qk_dot_by_d && m->attention_type == ZOO_SCALED_DOT_PRODUCT)
        model->qk_norm_eps[1] *= d;
    if (m->position_embedding_type == ZOO_POSITION_ROTARY) model->rotary_dim = m->rotary_dim;
    model->position_scale = m->pos_scaling_factor > 0 ? m->pos_scaling_factor : 1;
    model->window = m->attention_sliding_window_length > 0 ? m->attention_sliding_window_length : 0;
    model->sink_tokens = model->window ? m->attention_sink_tokens : 0;
}

/* Weights by distance: a table of buckets, or a slope, which is one bucket times the distance. */
static void set_distances(struct model *model, const struct zoo_model *m)
{
    const bool alibi = m->position_embedding_type == ZOO_POSITION_ALIBI;
    model->slopes = alibi && m->alibi_trainable_slopes;
    if (m->position_embedding_type == ZOO_POSITION_RELATIVE)
        model->buckets = m->relative_attention_num_buckets;
    if (model->slopes) model->buckets = 1;
}

/* Experts and their router; nothing when the model has none. */
static void set_experts(struct model *model, const struct zoo_model *m)
{
    const struct zoo_moe *moe = &m->moe;
    model->experts = moe->num_experts;
    if (!model->experts) return;
    model->active_experts = moe->top_k;
    model->shared_experts = moe->num_shared_experts;
    model->balance_by_tokens = m->loss_scaling == ZOO_LOSS_NUM_TOKENS;
    model->load_balance =
        moe->load_balancing_loss_coef / (model->balance_by_tokens ? 1 : m->loss_weight);
}

/* Factor of the logits: given, or by the base sizes of muP; the Model Zoo's classes of fine-tuning
 * leave those of their heads as they are. */
static void set_scales(struct model *model, const struct zoo_model *m)
{
    const bool tuned = m->objective != ZOO_CAUSAL_LM && m->objective != ZOO_MASKED_LM &&
                       m->objective != ZOO_SEQ2SEQ;
    model->logits_scale = tuned ? 1 : m->output_logits_scale;
    model->scale_first = m->embedding_layer_norm && !model->causal && model->n_stacks == 1;
    if (model->n_stacks > 1 && m->share_embedding_weights)
        model->logits_scale /= sqrt((double)m->hidden_size); /* Raffel et al. 2020, tied output */
    if (!(m->mup_base_hidden_size > 0) || tuned) return;
    const double ratio = (double)m->hidden_size / m->mup_base_hidden_size;
    model->logits_scale =
        m->output_logits_alpha / (m->scale_output_logits_by_d ? ratio : sqrt(ratio));
}

/** The format decides from which precision_opt_level on the softmax has 16 bits. */
static void set_precision(struct model *model, const struct zoo_params *params)
{
    const struct zoo_model *m = &params->model;
    const int64_t level = params->runconfig.precision_opt_level;
    model->format = zoo_number_format(m);
    const bool fast = level >= num_formats[model->format].softmax_level;
    model->softmax_16 = m->mixed_precision && (fast || !m->attention_softmax_fp32);
}

/** By default the policy model has no dropout, as in the Model Zoo. */
static void set_preferences(struct zoo_model *m)
{
    if (!m->dpo.on || !m->dpo.disable_dropout) return;
    m->embedding_dropout_rate = m->attention_dropout_rate = m->dropout_rate = 0;
}

enum wsc_err model_create(struct model **out, const struct zoo_params *params,
                          enum hw_granularity granularity)
{
    enum wsc_err rc = WSC_OK;
    struct model *model;
    *out = NULL;
    TRY(check_sizes(&params->model));
    TRY(check_family(params));
    TRY_NEW(model, WSC_MEM_MODEL, 1);
    take_section(model, &params->model);
    set_preferences(&model->zoo);
    set_sizes(model, params);
    set_attention(model, &params->model);
    set_distances(model, &params->model);
    set_experts(model, &params->model);
    set_scales(model, &params->model);
    model->seed = (uint64_t)params->runconfig.seed;
    set_precision(model, params);
    model_set_heads(model, &params->model);
    TRY_GOTO(model_build_tensors(model, params), cleanup);
    TRY_GOTO(model_take_sparsity(model, params), cleanup);
    TRY_GOTO(model_build_stages(model, granularity), cleanup);
    TRY_GOTO(model_take_frozen(model, params), cleanup);
    *out = model;
    return WSC_OK;
cleanup:
    model_destroy(&model);
    return rc;
}

void model_destroy(struct model **model)
{
    if (!*model) return;
    wsc_free((*model)->tensor);
    wsc_free((*model)->stage);
    wsc_free((*model)->view);
    wsc_free((*model)->sparsity);
    wsc_free(*model);
    *model = NULL;
}
