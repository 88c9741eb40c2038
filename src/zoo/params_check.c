// SPDX-License-Identifier: Apache-2.0
/* Checks between keys of params files, after all keys have been read by the table: sections that
 * the mode needs, batch sizes against num_csx, heads against widths, positions, experts, muP, loss
 * scaling, epochs.  Defaults that depend on other keys (rotary_dim, num_kv_groups) are set here.
 * What the real cluster would refuse but the emulator can compute is a warning.  Called by
 * zoo_params.c; keys without effect are in idle_keys.c. */
#include "params_passes.h"
#include "params_values.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Position of the first of the keys that is in the file. */
static struct conf_pos where(const struct conf_parse *p, const char *path, const char *other)
{
    const char *const paths[] = {path, other};
    for (int i = 0; i < 2; i++) {
        int row = paths[i] ? conf_keys_find(p->table, paths[i]) : -1;
        if (row >= 0 && p->given[row]) return p->given[row]->pos;
    }
    return (struct conf_pos){0};
}

/* Sections that the mode needs: training wants train_input and optimizer, evaluation eval_input. */
static void check_sections(struct conf_parse *p, const struct conf_node *root, enum zoo_mode mode)
{
    const bool trains = zoo_mode_trains(mode), evals = zoo_mode_evaluates(mode);
    const struct {
        const char *name;
        bool needed;
    } sections[] = {
        {"model", true}, {"train_input", trains}, {"optimizer", trains}, {"eval_input", evals}};
    for (int i = 0; i < 4; i++) {
        if (!sections[i].needed || !conf_node_is_null(conf_node_find(root, sections[i].name)))
            continue;
        conf_diag_error(p->diag, (struct conf_pos){0}, sections[i].name,
                        "required section is missing");
    }
}

/* A name of checkpoints has its step once, and nothing that makes it another folder's or that of a
 * file which is still written. */
static void check_checkpoint_name(struct conf_parse *p, const char *name)
{
    static const char path[] = "runconfig.checkpoint_name", step[] = "{step}";
    enum { MOST_BYTES = 200 };
    const char *at = strstr(name, step);
    const char *rest = at ? at + sizeof step - 1 : name;
    const size_t before = at ? (size_t)(at - name) : 0, n = strlen(name);
    if (!at || strcspn(name, "{}") < before || rest[strcspn(rest, "{}")])
        conf_diag_error(p->diag, where(p, path, NULL), path,
                        "expected one %s in it and no other braces, as in checkpoint_%s.mdl", step,
                        step);
    else if (strchr(name, '/') || n > MOST_BYTES || (n > 4 && !strcmp(name + n - 4, ".tmp")))
        conf_diag_error(p->diag, where(p, path, NULL), path,
                        "expected a file name of at most %d bytes without / and .tmp", MOST_BYTES);
}

/* Batches by length are those of loaders that have them, whole ones alone. */
static void check_buckets_of(struct conf_parse *p, struct zoo_input *in, const char *section)
{
    char path[CONF_MAX_PATH];
    (void)snprintf(path, sizeof path, "%s.buckets", section);
    if (!zoo_input_has_buckets(in)) in->n_buckets = 0; /* idle_keys.c warns */
    if (!in->n_buckets) return;
    if (in->samples == ZOO_SAMPLES_SPANS || in->samples == ZOO_SAMPLES_TRANSLATION)
        conf_diag_error(p->diag, where(p, path, NULL), path,
                        "not supported by this release with %s", in->data_processor);
    if (in->num_samples > 0)
        conf_diag_error(p->diag, where(p, path, NULL), path,
                        "not with num_samples: an epoch has the whole batches of each bucket");
    if (!in->drop_last)
        conf_diag_error(p->diag, where(p, path, NULL), path,
                        "not with drop_last: false: a batch has sequences of one bucket");
}

/* What the loader of the Model Zoo does otherwise, or this release does not. */
static void check_data(struct conf_parse *p, struct zoo_input *in, const char *section,
                       const struct zoo_model *m)
{
    char path[CONF_MAX_PATH], near[CONF_MAX_PATH];
    (void)snprintf(path, sizeof path, "%s.data_dir", section);
    (void)snprintf(near, sizeof near, "%s.data_processor", section);
    if (!in->n_data_dirs && !in->n_sets)
        conf_diag_error(p->diag, where(p, path, near), path,
                        "required key is missing; hint: or mixture, a list of maps with data_dir "
                        "and weight");
    (void)snprintf(path, sizeof path, "%s.use_vsl", section);
    if (in->use_vsl && in->samples != ZOO_SAMPLES_GPT && in->samples != ZOO_SAMPLES_MASKED)
        conf_diag_error(p->diag, where(p, path, NULL), path,
                        "this data_processor has no packed texts; hint: GptHDF5MapDataProcessor, "
                        "BertHDF5DataProcessor");
    if (in->use_vsl && m->mask_padding_in_positional_embed)
        conf_diag_error(p->diag, where(p, path, NULL), path,
                        "not with model.mask_padding_in_positional_embed: texts have positions of "
                        "their own");
    if (in->use_vsl && in->sink_tokens)
        conf_diag_error(p->diag, where(p, path, NULL), path,
                        "not with data_transforms: the texts of a sample have no common tokens");
    if (in->use_vsl && m->attention_sink_tokens)
        conf_diag_error(p->diag, where(p, path, NULL), path,
                        "not with model.attention_sink_tokens: the texts of a sample have no "
                        "common tokens");
    check_buckets_of(p, in, section);
    (void)snprintf(path, sizeof path, "%s.drop_last", section);
    if (!in->drop_last)
        conf_diag_warn(p->diag, where(p, path, NULL), path,
                       "batches are of one size: samples that are left over begin the next epoch");
}

/* Batch sizes of one input: the global batch divides among the systems, the micro-batch divides the
 * sequences of a system. */
static void check_input(struct conf_parse *p, struct zoo_input *in, bool training,
                        const struct zoo_params *params)
{
    const char *batch = training ? "train_input.batch_size" : "eval_input.batch_size";
    const char *micro = training ? "train_input.micro_batch_size" : "eval_input.micro_batch_size";
    const char *processor = training ? "train_input.data_processor" : "eval_input.data_processor";
    const enum zoo_objective objective = params->model.objective;
    zoo_processor_check(p, in, processor, where(p, processor, NULL), objective);
    in->trains = training;
    in->padding_in_loss = params->model.include_padding_in_loss;
    in->pairs = objective == ZOO_MASKED_LM && !params->model.disable_nsp;
    int64_t n = params->runconfig.num_csx, b = in->batch_size, m = in->micro_batch_size;
    check_data(p, in, training ? "train_input" : "eval_input", &params->model);
    if (b < 1 || n < 1) return;
    const int64_t share = (b - 1) / n + 1; /* the largest one */
    if (b % n)
        conf_diag_warn(p->diag, where(p, batch, NULL), batch,
                       "%lld sequences do not divide evenly among %lld systems; the real cluster "
                       "requires it",
                       (long long)b, (long long)n);
    if (m > share)
        conf_diag_warn(p->diag, where(p, micro, NULL), micro,
                       "%lld is taken as %lld, the sequences of a system", (long long)m,
                       (long long)share);
    else if (m > 0 && share % m)
        conf_diag_warn(p->diag, where(p, micro, NULL), micro,
                       "%lld does not divide the %lld sequences of a system: the last of its "
                       "micro-batches has %lld and leaves lanes idle",
                       (long long)m, (long long)share, (long long)(share % m));
    if (training && params->reduction_leaf > b)
        conf_diag_error(p->diag, where(p, "reduction_leaf", NULL), "reduction_leaf",
                        "must be at most train_input.batch_size, %lld, got %lld", (long long)b,
                        (long long)params->reduction_leaf);
}

/* Sink tokens lengthen the samples; both inputs should do so by the same number. */
static void check_sinks(struct conf_parse *p, const struct zoo_params *params)
{
    const char *path = "eval_input.data_transforms";
    const struct zoo_input *train = &params->train_input, *eval = &params->eval_input;
    if (!train->present || !eval->present || train->sink_tokens == eval->sink_tokens) return;
    conf_diag_warn(p->diag, where(p, path, "eval_input.data_dir"), path,
                   "%lld sink tokens before a sample, %lld in train_input; with them it has "
                   "model.max_position_embeddings tokens",
                   (long long)eval->sink_tokens, (long long)train->sink_tokens);
}

/* True when the file has the key with a value other than null. */
static bool was_given(const struct conf_parse *p, const char *path)
{
    return !conf_node_is_null(p->given[conf_keys_find(p->table, path)]);
}

/* @p width is that of a head.  The default of rotary_dim is a quarter of it, rounded down to even.
 */
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
        conf_diag_error(p->diag, where(p, heads, narrow ? inner : "model.hidden_size"), heads,
                        "%lld heads do not divide %s, %lld; hint: change both together",
                        (long long)n, narrow ? "attention_inner_dim" : "hidden_size",
                        (long long)width);
        return;
    }
    if (m->attention_module == ZOO_MULTIHEAD && m->num_kv_groups > 0 && m->num_kv_groups != n)
        conf_diag_error(p->diag, where(p, groups, NULL), groups,
                        "%lld heads of keys and values need model.attention_module: "
                        "multiquery_attention",
                        (long long)m->num_kv_groups);
    if (m->num_kv_groups == CONF_NULL)
        m->num_kv_groups = m->attention_module == ZOO_MULTIQUERY ? 1 : n;
    if (m->num_kv_groups < 1) return; /* what was read was no number */
    if (n % m->num_kv_groups)
        conf_diag_error(p->diag, where(p, groups, NULL), groups,
                        "%lld does not divide num_heads, %lld; hint: change both together",
                        (long long)m->num_kv_groups, (long long)n);
    check_rotary(p, m, width / n, where(p, rotary, heads));
}

/* LongRoPE needs that list of divisors which the model's length decides. */
static void check_longrope(struct conf_parse *p, const struct zoo_model *m)
{
#define ARGS "model.pos_scaling_extra_args."
    const char *type = "model.pos_scaling_type";
    const struct zoo_rope_args *rope = &m->pos_scaling_extra_args;
    if (m->position_embedding_type != ZOO_POSITION_ROTARY ||
        m->pos_scaling_type != ZOO_ROPE_LONGROPE)
        return;
    if (rope->original_max_position_embeddings == CONF_NULL) {
        conf_diag_error(p->diag, where(p, type, NULL), ARGS "original_max_position_embeddings",
                        "is needed by pos_scaling_type longrope");
        return;
    }
    const bool longer = m->max_position_embeddings > rope->original_max_position_embeddings;
    const char *path = longer ? ARGS "long_factor" : ARGS "short_factor";
    const int n = longer ? rope->long_factor.n : rope->short_factor.n;
    if (n != m->rotary_dim / 2)
        conf_diag_error(p->diag, where(p, path, type), path,
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
        conf_diag_error(p->diag, where(p, type, NULL), args, "is needed by pos_scaling_type yarn");
    if (m->pos_scaling_type == ZOO_ROPE_LLAMA3 && !(rope->low_freq_factor < rope->high_freq_factor))
        conf_diag_error(p->diag, where(p, high, type), high,
                        "must be greater than low_freq_factor, %.15g", rope->low_freq_factor);
    check_longrope(p, m);
    if (m->sliding_window_every_other_decoder_layer &&
        m->attention_sliding_window_length == CONF_NULL)
        conf_diag_error(p->diag, where(p, every, NULL), every,
                        "needs model.attention_sliding_window_length");
}

/* One expert in all is no mixture: the model is dense then. */
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
        conf_diag_error(p->diag, where(p, experts, shared), experts,
                        "must be at least 1 beside shared experts");
    else if (moe->top_k > moe->num_experts)
        conf_diag_error(p->diag, where(p, top_k, experts), top_k,
                        "must be at most num_experts, %lld", (long long)moe->num_experts);
    if (hash && (moe->top_k != 1 || moe->num_shared_experts || moe->load_balancing_loss_coef > 0))
        conf_diag_error(p->diag, where(p, routing, NULL), routing,
                        "hash goes with top_k 1, without shared experts and load balancing");
    if (!hash && moe->router_selection_nonlinearity == ZOO_ROUTER_SINKHORN &&
        moe->load_balancing_loss_coef > 0)
        conf_diag_error(
            p->diag, where(p, balance, NULL), balance,
            "not with router_selection_nonlinearity sinkhorn, which balances by itself");
    if (!moe->expert_weighting_normalization && moe->null_expert_bias > 0)
        conf_diag_error(p->diag, where(p, "model.moe.null_expert_bias", NULL),
                        "model.moe.null_expert_bias", "needs expert_weighting_normalization");
}

/* muP of an encoder with a decoder: what goes with it, and what it makes of the decoder. */
static void check_mup_of_seq2seq(struct conf_parse *p, struct zoo_model *m)
{
    const bool on = m->mup_base_hidden_size > 0;
    const struct {
        const char *path, *why;
        bool wrong;
    } refused[] = {
        {"model.use_transformer_initialization",
         "not with muP, whose initial deviations are those of T5",
         on && m->use_transformer_initialization},
        {"model.use_ffn_bias_in_attention",
         "not with muP of an encoder and a decoder, whose outputs of attention have no bias",
         on && m->use_ffn_bias_in_attention},
        {"model.mup_base_d_kv", "needs mup_base_d_model and mup_base_d_ff",
         !on && m->mup_base_d_kv > 0}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (refused[i].wrong)
            conf_diag_error(p->diag, where(p, refused[i].path, NULL), refused[i].path, "%s",
                            refused[i].why);
    if (on && !was_given(p, "model.scale_decoder_qk_dot_by_d")) m->scale_decoder_qk_dot_by_d = true;
}

/* muP by base sizes needs both of them and sets output_logits_scale itself. */
static void check_mup(struct conf_parse *p, struct zoo_model *m)
{
    const char *hidden = "model.mup_base_hidden_size", *filter = "model.mup_base_filter_size",
               *scale = "model.output_logits_scale";
    const bool has_hidden = m->mup_base_hidden_size > 0, has_filter = m->mup_base_filter_size > 0;
    if (has_hidden != has_filter)
        conf_diag_error(p->diag, where(p, hidden, filter), has_hidden ? filter : hidden,
                        "is missing: muP by base sizes needs both");
    if (has_hidden && was_given(p, scale) && m->output_logits_scale != 1)
        conf_diag_error(p->diag, where(p, scale, NULL), scale,
                        "not with mup_base_hidden_size, which sets it; hint: output_logits_alpha");
    if (has_hidden && !was_given(p, "model.scale_qk_dot_by_d")) m->scale_qk_dot_by_d = true;
    if (m->objective == ZOO_SEQ2SEQ) check_mup_of_seq2seq(p, m);
}

/* Lengths of sources and targets: the data's and the position tables' are each other's defaults. */
static void set_lengths(const struct conf_parse *p, struct zoo_params *params)
{
    struct zoo_model *m = &params->model;
    struct zoo_input *const in[] = {&params->train_input, &params->eval_input};
    const struct zoo_input *first = in[params->train_input.present ? 0 : 1];
    if (!was_given(p, "model.max_position_embeddings") && first->max_sequence_length > 0)
        m->max_position_embeddings = first->max_sequence_length;
    if (m->tgt_max_position_embeddings == CONF_NULL)
        m->tgt_max_position_embeddings = first->tgt_max_sequence_length > 0
                                             ? first->tgt_max_sequence_length
                                             : m->max_position_embeddings;
    for (int i = 0; i < 2; i++) {
        if (in[i]->max_sequence_length == CONF_NULL)
            in[i]->max_sequence_length = m->max_position_embeddings;
        if (in[i]->tgt_max_sequence_length == CONF_NULL)
            in[i]->tgt_max_sequence_length = m->tgt_max_position_embeddings;
    }
}

/* The width of attention is that of a head times the heads. */
static void set_head_width(struct conf_parse *p, struct zoo_model *m)
{
    const char *width = "model.d_kv", *inner = "model.attention_inner_dim";
    enum { HEAD_WIDTH = 64 };
    if (m->num_heads < 1) return;
    if (m->d_kv == CONF_NULL)
        m->d_kv = m->attention_inner_dim > 0 ? m->attention_inner_dim / m->num_heads : HEAD_WIDTH;
    if (was_given(p, inner) && m->attention_inner_dim != m->d_kv * m->num_heads)
        conf_diag_error(p->diag, where(p, width, inner), width,
                        "times num_heads is %lld, but attention_inner_dim is %lld",
                        (long long)m->d_kv * m->num_heads, (long long)m->attention_inner_dim);
    m->attention_inner_dim = m->d_kv * m->num_heads;
}

/* Features of T5's class that others of its keys decide. */
static void check_t5_features(struct conf_parse *p, struct zoo_model *m)
{
    const char *decoder = "model.decoder_nonlinearity", *bias = "model.use_ffn_bias",
               *shared = "model.share_encoder_decoder_embedding";
    if (m->decoder_nonlinearity == ZOO_SAME_FUNCTION) m->decoder_nonlinearity = m->nonlinearity;
    if (m->decoder_nonlinearity != m->nonlinearity)
        conf_diag_error(p->diag, where(p, decoder, NULL), decoder,
                        "must be that of the encoder in this release");
    if (m->nonlinearity == ZOO_GELU && m->use_ffn_bias) {
        conf_diag_warn(p->diag, where(p, bias, NULL), bias, "taken as false with gelu");
        m->use_ffn_bias = false;
    }
    if (m->share_encoder_decoder_embedding && m->tgt_vocab_size != m->vocab_size)
        conf_diag_error(p->diag, where(p, shared, "model.tgt_vocab_size"), shared,
                        "needs one vocabulary, but tgt_vocab_size is %lld and src_vocab_size %lld",
                        (long long)m->tgt_vocab_size, (long long)m->vocab_size);
    if (!was_given(p, "model.attention_type"))
        m->attention_type = m->use_transformer_initialization || m->mup_base_hidden_size > 0
                                ? ZOO_SCALED_DOT_PRODUCT
                                : ZOO_DOT_PRODUCT;
    if (!was_given(p, "model.loss_scaling")) m->loss_scaling = m->mlm_loss_scaling;
}

/* Keys of features that an encoder with a decoder does not have in this release. */
static void check_refused_of_seq2seq(struct conf_parse *p, const struct zoo_params *params)
{
    const struct zoo_model *m = &params->model;
    const bool turned = m->position_embedding_type == ZOO_POSITION_ROTARY ||
                        m->position_embedding_type == ZOO_POSITION_ALIBI;
    const struct {
        const char *path;
        bool given;
    } refused[] = {
        {"model.embedding_layer_norm", m->embedding_layer_norm},
        {"model.lora_params", m->lora_params.n > 0},
        {"sparsity", params->sparsity.n > 0},
        {"optimizer.gradient_noise_scale", params->optimizer.gradient_noise_scale},
        {"model.position_embedding_type", turned},
        {"model.moe.num_experts", m->moe.num_experts > 0},
        {"model.norm_first_sandwich", m->norm_first_sandwich},
        {"model.attention_sliding_window_length", m->attention_sliding_window_length > 0},
        {"model.attention_logit_softcapping", m->attention_logit_softcapping > 0},
        {"model.attention_qk_norm_layer", m->attention_qk_norm_layer != ZOO_QK_NORM_NONE},
        {"model.final_logit_softcapping", m->final_logit_softcapping > 0},
        {"model.scale_qk_dot_by_layer_idx", m->scale_qk_dot_by_layer_idx},
        {"model.extra_attention_params.num_kv_groups",
         m->num_kv_groups > 0 && m->num_kv_groups != m->num_heads}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (refused[i].given)
            conf_diag_error(p->diag, where(p, refused[i].path, NULL), refused[i].path,
                            "not with an encoder and a decoder in this release");
}

/* Keys that need an encoder with a decoder, or that do not go with one. */
static void check_beside_seq2seq(struct conf_parse *p, const struct zoo_params *params)
{
    const struct zoo_model *m = &params->model;
    const bool both = m->objective == ZOO_SEQ2SEQ;
    const char *position = "model.position_embedding_type", *smoothing = "model.label_smoothing";
    if (m->position_embedding_type == ZOO_POSITION_RELATIVE && !both &&
        m->objective != ZOO_CAUSAL_LM)
        conf_diag_error(p->diag, where(p, position, NULL), position,
                        "relative positions are not of encoders alone in this release");
    if (m->label_smoothing > 0 && !both && m->objective != ZOO_CAUSAL_LM &&
        m->objective != ZOO_MASKED_LM)
        conf_diag_error(p->diag, where(p, smoothing, NULL), smoothing,
                        "needs a head that predicts tokens");
    if (both) check_refused_of_seq2seq(p, params);
}

/* Files of tokens that the loader of @p in needs beside data_dir. */
static void check_token_files(struct conf_parse *p, const struct zoo_input *in, const char *section)
{
    char path[CONF_MAX_PATH], near[CONF_MAX_PATH];
    const bool spans = in->samples == ZOO_SAMPLES_SPANS;
    const bool translation = in->samples == ZOO_SAMPLES_TRANSLATION;
    (void)snprintf(near, sizeof near, "%s.data_processor", section);
    if (!in->present || (!spans && !translation)) return;
    (void)snprintf(path, sizeof path, "%s.vocab_file", section);
    if (!in->vocab_file)
        conf_diag_error(p->diag, where(p, near, NULL), path,
                        "required key is missing; hint: src_vocab_file, a token in each line");
}

/* Half of the buckets are for near tokens. */
static void check_buckets(struct conf_parse *p, const struct zoo_model *m)
{
    const char *buckets = "model.relative_attention_num_buckets";
    if (m->relative_attention_num_buckets != CONF_NULL && m->relative_attention_num_buckets % 2)
        conf_diag_error(p->diag, where(p, buckets, NULL), buckets,
                        "must be an even number, got %lld",
                        (long long)m->relative_attention_num_buckets);
}

/* What an encoder with a decoder needs; defaults depend on other keys. */
static void check_seq2seq(struct conf_parse *p, struct zoo_params *params)
{
    struct zoo_model *m = &params->model;
    check_beside_seq2seq(p, params);
    if (m->objective != ZOO_SEQ2SEQ) return;
    if (m->tgt_vocab_size == CONF_NULL) m->tgt_vocab_size = m->vocab_size;
    if (m->decoder_num_hidden_layers == CONF_NULL)
        m->decoder_num_hidden_layers = m->num_hidden_layers;
    set_lengths(p, params);
    set_head_width(p, m);
    check_t5_features(p, m);
    check_token_files(p, &params->train_input, "train_input");
    check_token_files(p, &params->eval_input, "eval_input");
}

/* A mean over masked tokens and one over sequences cannot share one divisor. */
static void check_masked_loss(struct conf_parse *p, struct zoo_model *m)
{
    const char *path = "model.mlm_loss_scaling", *loss = "model.loss_scaling";
    if (m->objective != ZOO_MASKED_LM) return;
    if (m->mlm_loss_scaling == ZOO_LOSS_NUM_TOKENS) m->loss_scaling = ZOO_LOSS_NUM_TOKENS;
    if (m->loss_scaling != ZOO_LOSS_NUM_TOKENS) return;
    m->mlm_loss_weight = 1;
    if (!m->disable_nsp)
        conf_diag_error(p->diag, where(p, path, loss), was_given(p, path) ? path : loss,
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
        !was_given(p, "model.max_position_embeddings"))
        m->max_position_embeddings = in->max_sequence_length;
}

/* Files of CSV have classes of sequences, no numbers. */
static void check_targets(struct conf_parse *p, const struct zoo_input *in, const char *section,
                          enum zoo_objective objective)
{
    char path[CONF_MAX_PATH];
    (void)snprintf(path, sizeof path, "%s.data_processor", section);
    if (in->present && objective == ZOO_REGRESSION && in->samples == ZOO_SAMPLES_CSV_STATIC)
        conf_diag_error(p->diag, where(p, path, NULL), path,
                        "%s reads no numbers of sequences; hint: SST2DataProcessor",
                        in->data_processor);
}

/* Samples are at most as long as there are positions; what the mode does not read may
 * stay as it is. */
static void check_length(struct conf_parse *p, const struct zoo_params *params)
{
    const enum zoo_mode mode = params->runconfig.mode;
    const bool reads[] = {zoo_mode_trains(mode), zoo_mode_evaluates(mode)};
    const struct zoo_input *const in[] = {&params->train_input, &params->eval_input};
    const char *const length[] = {"train_input.max_sequence_length",
                                  "eval_input.max_sequence_length"},
                      *positions = "model.max_position_embeddings";
    if (params->model.objective == ZOO_SEQ2SEQ) return;
    for (int i = 0; i < 2; i++)
        if (reads[i] && in[i]->present && in[i]->max_sequence_length > 0 &&
            in[i]->max_sequence_length + in[i]->sink_tokens > params->model.max_position_embeddings)
            conf_diag_error(p->diag, where(p, length[i], positions), length[i],
                            "%lld tokens, but %s is %lld", (long long)in[i]->max_sequence_length,
                            positions, (long long)params->model.max_position_embeddings);
    const int64_t train = in[0]->max_sequence_length, eval = in[1]->max_sequence_length;
    if (reads[0] && reads[1] && in[0]->present && in[1]->present && train > 0 && eval > 0 &&
        train != eval)
        conf_diag_error(
            p->diag, where(p, length[1], length[0]), length[1],
            "%lld tokens, but %s is %lld; hint: a run has one length, --mode eval another",
            (long long)eval, length[0], (long long)train);
}

/* What encoders of texts need beside the keys of decoders. */
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
        conf_diag_error(p->diag, where(p, "model.pad_token_id", NULL), "model.pad_token_id",
                        "%lld is outside the vocabulary of %lld", (long long)m->pad_token_id,
                        (long long)m->vocab_size);
    if (m->token_dropout && (m->mask_token_id == CONF_NULL || m->mask_token_id >= m->vocab_size))
        conf_diag_error(p->diag, where(p, "model.mask_token_id", "model.token_dropout"),
                        "model.mask_token_id", "token_dropout needs it, within the vocabulary");
    if (m->use_final_layer_norm && !m->disable_nsp)
        conf_diag_error(p->diag, where(p, "model.use_final_layer_norm", NULL),
                        "model.use_final_layer_norm", "needs disable_nsp: true in this release");
    if (m->mask_padding_in_positional_embed && m->position_embedding_type != ZOO_POSITION_LEARNED)
        conf_diag_error(p->diag, where(p, "model.mask_padding_in_positional_embed", NULL),
                        "model.mask_padding_in_positional_embed", "needs learned positions");
}

/* Pairs and `model.dpo` belong together; the loss is a mean over pairs. */
static void check_pairs(struct conf_parse *p, const struct zoo_input *in, const char *section,
                        const struct zoo_model *m)
{
    char path[CONF_MAX_PATH];
    (void)snprintf(path, sizeof path, "%s.data_processor", section);
    if (!in->present || !in->data_processor || m->dpo.on == (in->samples == ZOO_SAMPLES_PAIRS))
        return;
    conf_diag_error(p->diag, where(p, path, NULL), path, "%s",
                    m->dpo.on ? "model.dpo trains on pairs; hint: DpoHDF5DataProcessor"
                              : "pairs are for preference optimization; hint: model.dpo");
}

static void check_preferences(struct conf_parse *p, struct zoo_params *params)
{
    struct zoo_model *m = &params->model;
    const char *path = "model.dpo";
    check_pairs(p, &params->train_input, "train_input", m);
    check_pairs(p, &params->eval_input, "eval_input", m);
    if (!m->dpo.on) return;
    m->loss_scaling = ZOO_LOSS_BATCH_SIZE;
    m->loss_weight = 1;
    if (m->objective != ZOO_CAUSAL_LM)
        conf_diag_error(p->diag, where(p, "model.objective", "model.name"), path,
                        "preferences are of decoders, the policy model is an encoder");
    if (m->moe.num_experts)
        conf_diag_error(p->diag, where(p, "model.moe.num_experts", NULL), path,
                        "not together with experts in this release");
    if (params->sparsity.n)
        conf_diag_error(p->diag, where(p, "sparsity", NULL), path,
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
    if (!m->dpo.on && m->loss_scaling == ZOO_LOSS_NUM_TOKENS && m->loss_weight != 1) {
        conf_diag_warn(p->diag, where(p, "model.loss_weight", NULL), "model.loss_weight",
                       "taken as 1 with loss_scaling num_tokens%s",
                       was_given(p, "model.loss_scaling") || m->objective != ZOO_CAUSAL_LM
                           ? ""
                           : "; hint: the first releases had batch_size alone");
        m->loss_weight = 1;
    }
}

/* The loss was scaled for float16, the format that earlier releases took without this key. */
static void check_format(struct conf_parse *p, const struct zoo_params *params)
{
    const char *scaling = "optimizer.loss_scaling_factor", *format = "model.fp16_type";
    if (!params->model.mixed_precision || was_given(p, format) ||
        params->optimizer.loss_scaling_factor == 1)
        return;
    conf_diag_warn(p->diag, where(p, scaling, NULL), format,
                   "bfloat16 without this key; earlier releases took float16, which needs "
                   "loss_scaling_factor; hint: write it");
}

/* cbfloat16 has too few mantissa bits to train without dynamic loss scaling. */
static void check_loss_scaling(struct conf_parse *p, const struct zoo_params *params)
{
    const char *path = "optimizer.loss_scaling_factor";
    const struct zoo_model *m = &params->model;
    const bool needed = m->mixed_precision && m->fp16_type == ZOO_CB16;
    if (!params->optimizer.optimizer_type || !needed ||
        params->optimizer.loss_scaling_factor == ZOO_LOSS_SCALE_DYNAMIC)
        return;
    conf_diag_error(p->diag, where(p, path, "model.fp16_type"), path,
                    "cbfloat16 needs dynamic loss scaling; hint: write dynamic");
}

/* Level -1 takes the format of each operation from a table that debug_args names. */
static void check_precision(struct conf_parse *p, struct zoo_runconfig *r)
{
    const char *path = "runconfig.precision_opt_level";
    if (r->precision_opt_level != -1) return;
    conf_diag_warn(p->diag, where(p, path, NULL), path,
                   "-1 is taken as 1: its table of formats is one of the real cluster");
    r->precision_opt_level = 1;
}

/* The bits of a NaN depend on the order of sums, which must not show in any result. */
static void check_loss_values(struct conf_parse *p, struct zoo_runconfig *r)
{
    const char *path = "runconfig.check_loss_values";
    if (r->check_loss_values) return;
    conf_diag_warn(p->diag, where(p, path, NULL), path,
                   "false is taken as true: every run stops at NaN and infinity");
    r->check_loss_values = true;
}

/* Wafers measure gradients of single samples before MemoryX leaves weights out. */
static void check_selective(struct conf_parse *p, const struct zoo_params *params)
{
    const char *path = "model.selective_grad", *noise = "optimizer.gradient_noise_scale";
    if (params->model.selective_grad.on && params->optimizer.gradient_noise_scale)
        conf_diag_error(p->diag, where(p, path, noise), path,
                        "not together with optimizer.gradient_noise_scale");
}

/* The Model Zoo raises a ValueError for both ways of clipping at once. */
static void check_clipping(struct conf_parse *p, const struct zoo_optimizer *o)
{
    const char *path = "optimizer.max_gradient_value";
    if (!(o->max_gradient_norm > 0) || !(o->max_gradient_value > 0)) return;
    conf_diag_error(p->diag, where(p, path, "optimizer.max_gradient_norm"), path,
                    "gradients are clipped by norm or by value, not both; hint: leave out this key "
                    "or max_gradient_norm");
}

/* Steps of the operator profiler: both or none, in order. */
static void check_profile(struct conf_parse *p, const struct zoo_runconfig *r)
{
    const char *first = "runconfig.op_profiler_config.start_step",
               *last = "runconfig.op_profiler_config.end_step";
    bool has_first = r->profile_start_step != CONF_NULL,
         has_last = r->profile_end_step != CONF_NULL;
    if (has_first != has_last)
        conf_diag_error(p->diag, where(p, first, last), "runconfig.op_profiler_config",
                        "needs both start_step and end_step");
    else if (has_first && r->profile_start_step > r->profile_end_step)
        conf_diag_error(p->diag, where(p, last, NULL), last, "must be at least start_step, %lld",
                        (long long)r->profile_start_step);
}

static bool on_command_line(const struct conf_parse *p, const char *path)
{
    return where(p, path, NULL).line < 0;
}

/* What the command line asks for, steps or epochs, where the other stands in the file. */
static void choose_length(const struct conf_parse *p, struct zoo_runconfig *r)
{
    const bool steps = on_command_line(p, "runconfig.num_steps");
    if (r->num_epochs == CONF_NULL || r->num_steps == CONF_NULL) return;
    if (steps == on_command_line(p, "runconfig.num_epochs")) return;
    if (steps)
        r->num_epochs = r->steps_per_epoch = CONF_NULL;
    else
        r->num_steps = CONF_NULL;
}

/* Epochs become steps where the file says how long an epoch is; otherwise the data do. */
static void check_epochs(struct conf_parse *p, struct zoo_runconfig *r)
{
    const char *epochs = "runconfig.num_epochs", *length = "runconfig.steps_per_epoch";
    choose_length(p, r);
    const bool known = r->num_epochs != CONF_NULL && r->steps_per_epoch != CONF_NULL;
    if (r->num_epochs != CONF_NULL && r->num_steps != CONF_NULL)
        conf_diag_error(p->diag, where(p, epochs, NULL), epochs, "not together with num_steps");
    else if (known)
        r->num_steps = r->num_epochs * r->steps_per_epoch;
    else if (r->steps_per_epoch != CONF_NULL)
        conf_diag_warn(p->diag, where(p, length, NULL), length, "without effect: no num_epochs");
    if (known) r->num_epochs = CONF_NULL;
    r->steps_per_epoch = CONF_NULL;
}

/* Ranges of what the samples of encoders hold. */
static void set_ranges(struct zoo_input *in, const struct zoo_model *m)
{
    enum { PAIRS = 2 };
    const enum zoo_objective o = m->objective;
    in->n_labels = o == ZOO_TOKEN_CLASSIFICATION ? m->num_labels
                   : o == ZOO_SUMMARIZATION      ? PAIRS
                   : o == ZOO_SPAN               ? ZOO_ANSWER_LABELS
                   : o == ZOO_SEQ2SEQ            ? m->tgt_vocab_size + m->extra_ids
                                                 : m->vocab_size;
    in->n_types = o != ZOO_SEQ2SEQ && m->num_segments > 0 ? m->num_segments : 0;
    in->n_classes = o == ZOO_CLASSIFICATION ? m->num_labels : in->pairs ? PAIRS : 0;
}

/* The order matters: sections first, so that later checks may assume theirs; warnings about idle
 * keys last, and only for a file without errors. */
void zoo_params_check(struct conf_parse *p, const struct conf_node *root, struct zoo_params *params)
{
    check_sections(p, root, params->runconfig.mode);
    if (params->train_input.present) check_input(p, &params->train_input, true, params);
    if (params->eval_input.present) check_input(p, &params->eval_input, false, params);
    params->model.max_cls_tokens = params->train_input.present ? params->train_input.max_cls_tokens
                                                               : params->eval_input.max_cls_tokens;
    check_sinks(p, params);
    check_seq2seq(p, params);
    zoo_diffusion_check(p, params);
    check_buckets(p, &params->model);
    set_positions(p, params);
    check_length(p, params);
    check_targets(p, &params->train_input, "train_input", params->model.objective);
    check_targets(p, &params->eval_input, "eval_input", params->model.objective);
    check_model(p, &params->model);
    check_preferences(p, params);
    set_ranges(&params->train_input, &params->model);
    set_ranges(&params->eval_input, &params->model);
    if (params->optimizer.optimizer_type) zoo_optimizer_check(p, &params->optimizer);
    check_precision(p, &params->runconfig);
    if (params->runconfig.checkpoint_name)
        check_checkpoint_name(p, params->runconfig.checkpoint_name);
    check_selective(p, params);
    check_clipping(p, &params->optimizer);
    zoo_groups_check(p, &params->optimizer.groups);
    check_format(p, params);
    check_loss_scaling(p, params);
    check_loss_values(p, &params->runconfig);
    check_profile(p, &params->runconfig);
    check_epochs(p, &params->runconfig);
    for (int i = 0; i < params->sparsity.n && params->log_sparsity; i++)
        params->sparsity.entry[i].add_summaries = true;
    if (!p->diag->n_errors) zoo_idle_warn(p, params);
}
