// SPDX-License-Identifier: Apache-2.0
/* Checks of `model`: heads against widths, positions, experts, muP, encoders, preferences. Defaults
 * that depend on other keys (rotary_dim, num_kv_groups) are set here. */
#include "params_checks.h"
#include "params_passes.h"

#include <stdio.h>
#include <string.h>

/* @p width is that of a head. Default of rotary_dim: a quarter of it, rounded down to an even
 * number. */
static void check_rotary(struct conf_parse *p, struct zoo_model *m, int64_t width,
                         struct conf_pos pos)
{
    const bool narrow = m->attention_inner_dim != CONF_NULL;
    if (m->position_embedding_type != ZOO_POSITION_ROTARY) return;
    if (m->rotary_dim == CONF_NULL) m->rotary_dim = width / 8 * 2;
    if (m->rotary_dim < 2 || m->rotary_dim % 2 || m->rotary_dim > width)
        conf_diag_error(p->diag, pos, "model.rotary_dim",
                        "must be an even number from 2 to the width of a head, %lld, got %lld; "
                        "hint: that width is %s over num_heads, change the three together",
                        (long long)width, (long long)m->rotary_dim,
                        narrow ? "attention_inner_dim" : "hidden_size");
}

/* Heads divide the width of attention, and groups of keys and values divide the heads. */
static void check_heads(struct conf_parse *p, struct zoo_model *m)
{
    const char *inner = "model.attention_inner_dim", *heads = "model.num_heads",
               *groups = "model.extra_attention_params.num_kv_groups", *rotary = "model.rotary_dim";
    const bool narrow = m->attention_inner_dim != CONF_NULL;
    const int64_t width = narrow ? m->attention_inner_dim : m->hidden_size, n = m->num_heads;
    if (n < 1 || width < 1) return;
    if (width % n) {
        conf_diag_error(p->diag, conf_parse_place(p, heads, narrow ? inner : "model.hidden_size"),
                        heads, "%lld heads do not divide %s, %lld; hint: change both together",
                        (long long)n, narrow ? "attention_inner_dim" : "hidden_size",
                        (long long)width);
        return;
    }
    if (m->attention_module == ZOO_MULTIHEAD && m->num_kv_groups > 0 && m->num_kv_groups != n)
        conf_diag_error(p->diag, conf_parse_place(p, groups, NULL), groups,
                        "%lld heads of keys and values need model.attention_module: "
                        "multiquery_attention",
                        (long long)m->num_kv_groups);
    if (m->num_kv_groups == CONF_NULL)
        m->num_kv_groups = m->attention_module == ZOO_MULTIQUERY ? 1 : n;
    if (m->num_kv_groups < 1) return; /* the value that was read is not a number */
    if (n % m->num_kv_groups)
        conf_diag_error(p->diag, conf_parse_place(p, groups, NULL), groups,
                        "%lld does not divide num_heads, %lld; hint: change both together",
                        (long long)m->num_kv_groups, (long long)n);
    check_rotary(p, m, width / n, conf_parse_place(p, rotary, heads));
}

/* LongRoPE needs one of two lists of divisors, by the length of the model. */
static void check_longrope(struct conf_parse *p, const struct zoo_model *m)
{
#define ARGS "model.pos_scaling_extra_args."
    const char *type = "model.pos_scaling_type";
    const struct zoo_rope_args *rope = &m->pos_scaling_extra_args;
    if (m->position_embedding_type != ZOO_POSITION_ROTARY ||
        m->pos_scaling_type != ZOO_ROPE_LONGROPE)
        return;
    if (rope->original_max_position_embeddings == CONF_NULL) {
        conf_diag_error(p->diag, conf_parse_place(p, type, NULL),
                        ARGS "original_max_position_embeddings",
                        "is needed by pos_scaling_type longrope");
        return;
    }
    const bool longer = m->max_position_embeddings > rope->original_max_position_embeddings;
    const char *path = longer ? ARGS "long_factor" : ARGS "short_factor";
    const int n = longer ? rope->long_factor.n : rope->short_factor.n;
    if (n != m->rotary_dim / 2)
        conf_diag_error(p->diag, conf_parse_place(p, path, type), path,
                        "longrope needs %lld numbers, half of rotary_dim, got %d",
                        (long long)(m->rotary_dim / 2), n);
#undef ARGS
}

/* Arguments of RoPE scaling, and the sliding window. */
static void check_positions(struct conf_parse *p, struct zoo_model *m)
{
    const char *args = "model.pos_scaling_extra_args.original_max_position_embeddings",
               *type = "model.pos_scaling_type",
               *every = "model.sliding_window_every_other_decoder_layer",
               *high = "model.pos_scaling_extra_args.high_freq_factor";
    struct zoo_rope_args *rope = &m->pos_scaling_extra_args;
    enum { LLAMA3_LENGTH = 8192 };
    if (m->pos_scaling_type == ZOO_ROPE_LLAMA3 &&
        rope->original_max_position_embeddings == CONF_NULL)
        rope->original_max_position_embeddings = LLAMA3_LENGTH;
    if (m->pos_scaling_type == ZOO_ROPE_YARN && rope->original_max_position_embeddings == CONF_NULL)
        conf_diag_error(p->diag, conf_parse_place(p, type, NULL), args,
                        "is needed by pos_scaling_type yarn");
    if (m->pos_scaling_type == ZOO_ROPE_LLAMA3 && !(rope->low_freq_factor < rope->high_freq_factor))
        conf_diag_error(p->diag, conf_parse_place(p, high, type), high,
                        "must be greater than low_freq_factor, %.15g", rope->low_freq_factor);
    check_longrope(p, m);
    if (m->sliding_window_every_other_decoder_layer &&
        m->attention_sliding_window_length == CONF_NULL)
        conf_diag_error(p->diag, conf_parse_place(p, every, NULL), every,
                        "needs model.attention_sliding_window_length");
}

/* A single expert is no mixture: the model is dense. */
static void check_experts(struct conf_parse *p, struct zoo_model *m)
{
    const char *top_k = "model.moe.top_k", *routing = "model.moe.routing_algorithm",
               *experts = "model.moe.num_experts", *shared = "model.moe.num_shared_experts",
               *balance = "model.moe.load_balancing_loss_coef";
    struct zoo_moe *moe = &m->moe;
    if (moe->num_experts + moe->num_shared_experts <= 1) {
        moe->num_experts = moe->num_shared_experts = 0;
        return;
    }
    const bool hash = moe->routing_algorithm == ZOO_ROUTING_HASH;
    if (!moe->num_experts)
        conf_diag_error(p->diag, conf_parse_place(p, experts, shared), experts,
                        "must be at least 1 beside shared experts");
    else if (moe->top_k > moe->num_experts)
        conf_diag_error(p->diag, conf_parse_place(p, top_k, experts), top_k,
                        "must be at most num_experts, %lld", (long long)moe->num_experts);
    if (hash && (moe->top_k != 1 || moe->num_shared_experts || moe->load_balancing_loss_coef > 0))
        conf_diag_error(p->diag, conf_parse_place(p, routing, NULL), routing,
                        "hash goes with top_k 1, without shared experts and load balancing");
    if (!hash && moe->router_selection_nonlinearity == ZOO_ROUTER_SINKHORN &&
        moe->load_balancing_loss_coef > 0)
        conf_diag_error(
            p->diag, conf_parse_place(p, balance, NULL), balance,
            "not with router_selection_nonlinearity sinkhorn, which balances by itself");
    if (!moe->expert_weighting_normalization && moe->null_expert_bias > 0)
        conf_diag_error(p->diag, conf_parse_place(p, "model.moe.null_expert_bias", NULL),
                        "model.moe.null_expert_bias", "needs expert_weighting_normalization");
}

/* muP by base sizes needs both of them and sets output_logits_scale itself. */
static void check_mup(struct conf_parse *p, struct zoo_model *m)
{
    const char *hidden = "model.mup_base_hidden_size", *filter = "model.mup_base_filter_size",
               *scale = "model.output_logits_scale";
    const bool has_hidden = m->mup_base_hidden_size > 0, has_filter = m->mup_base_filter_size > 0;
    if (has_hidden != has_filter)
        conf_diag_error(p->diag, conf_parse_place(p, hidden, filter), has_hidden ? filter : hidden,
                        "is missing: muP by base sizes needs both");
    if (has_hidden && conf_parse_given(p, scale) && m->output_logits_scale != 1)
        conf_diag_error(p->diag, conf_parse_place(p, scale, NULL), scale,
                        "not with mup_base_hidden_size, which sets it; hint: output_logits_alpha");
    if (has_hidden && !conf_parse_given(p, "model.scale_qk_dot_by_d")) m->scale_qk_dot_by_d = true;
    if (m->objective == ZOO_SEQ2SEQ) zoo_check_mup_of_seq2seq(p, m);
}

/* Half of the buckets are for tokens nearby. */
static void check_buckets(struct conf_parse *p, const struct zoo_model *m)
{
    const char *buckets = "model.relative_attention_num_buckets";
    if (m->relative_attention_num_buckets != CONF_NULL && m->relative_attention_num_buckets % 2)
        conf_diag_error(p->diag, conf_parse_place(p, buckets, NULL), buckets,
                        "must be an even number, got %lld",
                        (long long)m->relative_attention_num_buckets);
}

/* A mean over masked tokens and one over sequences cannot share one divisor. Of two keys for the
 * divisor that of masked tokens counts. */
static void check_masked_loss(struct conf_parse *p, struct zoo_model *m)
{
    const char *path = "model.mlm_loss_scaling", *loss = "model.loss_scaling";
    if (m->objective != ZOO_MASKED_LM) return;
    if (conf_parse_given(p, path) && conf_parse_given(p, loss) &&
        m->loss_scaling != m->mlm_loss_scaling)
        conf_diag_warn(p->diag, conf_parse_place(p, loss, NULL), loss, "gives way to %s", path);
    if (conf_parse_given(p, path)) m->loss_scaling = m->mlm_loss_scaling;
    if (m->loss_scaling != ZOO_LOSS_NUM_TOKENS) return;
    m->mlm_loss_weight = 1;
    if (!m->disable_nsp)
        conf_diag_error(p->diag, conf_parse_place(p, path, loss),
                        conf_parse_given(p, path) ? path : loss,
                        "a mean over masked tokens needs disable_nsp: true; hint: batch_size with "
                        "mlm_loss_weight");
}

/* Pre-training has as many positions as its samples have tokens, unless the file says more. */
static void set_positions(const struct conf_parse *p, struct zoo_params *params)
{
    const struct zoo_input *in =
        params->train_input.present ? &params->train_input : &params->eval_input;
    struct zoo_model *m = &params->model;
    if (m->objective == ZOO_MASKED_LM && in->max_sequence_length > 0 &&
        !conf_parse_given(p, "model.max_position_embeddings"))
        m->max_position_embeddings = in->max_sequence_length;
}

/* Check the keys that encoders of texts need in addition to those of decoders. */
static void check_encoder(struct conf_parse *p, struct zoo_model *m)
{
    if (m->objective == ZOO_CAUSAL_LM || m->objective == ZOO_SEQ2SEQ ||
        m->objective == ZOO_DIFFUSION)
        return;
    const int64_t without_nsp =
        m->disable_nsp || (m->name == ZOO_ESM2 && m->objective != ZOO_MASKED_LM) ? 0 : 2;
    check_masked_loss(p, m);
    if (m->objective != ZOO_MASKED_LM) m->disable_nsp = true;
    if (m->num_segments == CONF_NULL)
        m->num_segments = m->name == ZOO_ESM2 || m->objective == ZOO_MASKED_LM ? without_nsp : 2;
    if (m->vocab_size > 0 && m->pad_token_id >= m->vocab_size)
        conf_diag_error(p->diag, conf_parse_place(p, "model.pad_token_id", NULL),
                        "model.pad_token_id", "%lld is outside the vocabulary of %lld",
                        (long long)m->pad_token_id, (long long)m->vocab_size);
    if (m->token_dropout && (m->mask_token_id == CONF_NULL || m->mask_token_id >= m->vocab_size))
        conf_diag_error(p->diag, conf_parse_place(p, "model.mask_token_id", "model.token_dropout"),
                        "model.mask_token_id", "token_dropout needs it, within the vocabulary");
    if (m->use_final_layer_norm && !m->disable_nsp)
        conf_diag_error(p->diag, conf_parse_place(p, "model.use_final_layer_norm", NULL),
                        "model.use_final_layer_norm", "needs disable_nsp: true in this release");
    if (m->mask_padding_in_positional_embed && m->position_embedding_type != ZOO_POSITION_LEARNED)
        conf_diag_error(p->diag,
                        conf_parse_place(p, "model.mask_padding_in_positional_embed", NULL),
                        "model.mask_padding_in_positional_embed", "needs learned positions");
}

/* Pairs and `model.dpo` belong together, in an input that the mode @p reads; the loss is a mean
 * over pairs. */
static void check_pairs(struct conf_parse *p, const struct zoo_input *in, const char *section,
                        const struct zoo_model *m, bool reads)
{
    char path[CONF_MAX_PATH];
    (void)snprintf(path, sizeof path, "%s.data_processor", section);
    if (!reads || !in->present || !in->data_processor ||
        m->dpo.on == (in->samples == ZOO_SAMPLES_PAIRS))
        return;
    conf_diag_error(p->diag, conf_parse_place(p, path, NULL), path, "%s",
                    m->dpo.on ? "model.dpo trains on pairs; hint: DpoHDF5DataProcessor"
                              : "pairs are for preference optimization; hint: model.dpo");
}

static void check_preferences(struct conf_parse *p, struct zoo_params *params)
{
    struct zoo_model *m = &params->model;
    const char *path = "model.dpo";
    const enum zoo_mode mode = params->runconfig.mode;
    check_pairs(p, &params->train_input, "train_input", m, zoo_mode_trains(mode));
    check_pairs(p, &params->eval_input, "eval_input", m, zoo_mode_evaluates(mode));
    if (!m->dpo.on) return;
    m->loss_scaling = ZOO_LOSS_BATCH_SIZE;
    m->loss_weight = 1;
    m->label_smoothing = 0;
    if (m->moe.num_experts)
        conf_diag_error(p->diag, conf_parse_place(p, "model.moe.num_experts", NULL), path,
                        "not together with experts in this release");
    if (params->sparsity.n)
        conf_diag_error(p->diag, conf_parse_place(p, "sparsity", NULL), path,
                        "not together with sparsity in this release");
}

/* Checks within `model`; each sets the defaults that depend on other keys. */
static void check_model(struct conf_parse *p, struct zoo_model *m)
{
    check_encoder(p, m);
    check_heads(p, m);
    check_positions(p, m);
    check_experts(p, m);
    check_mup(p, m);
    if (m->parallel_block) m->dropout_rate = m->residual_dropout_rate;
    if (m->parallel_block && m->norm_first_sandwich)
        conf_diag_error(p->diag, conf_parse_place(p, "model.norm_first_sandwich", NULL),
                        "model.norm_first_sandwich",
                        "not with parallel blocks, which model.name gives, in this release");
    if (!m->dpo.on && m->loss_scaling == ZOO_LOSS_NUM_TOKENS && m->loss_weight != 1) {
        conf_diag_warn(p->diag, conf_parse_place(p, "model.loss_weight", NULL), "model.loss_weight",
                       "taken as 1 with loss_scaling num_tokens%s",
                       conf_parse_given(p, "model.loss_scaling") || m->objective != ZOO_CAUSAL_LM
                           ? ""
                           : "; hint: the first releases had batch_size alone");
        m->loss_weight = 1;
    }
}

void zoo_set_positions(struct conf_parse *p, struct zoo_params *params)
{
    check_buckets(p, &params->model);
    set_positions(p, params);
}

void zoo_check_model(struct conf_parse *p, struct zoo_params *params)
{
    check_model(p, &params->model);
    check_preferences(p, params);
}
