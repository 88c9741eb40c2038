// SPDX-License-Identifier: Apache-2.0
/* Keys that have an effect only with others: rotary keys need rotary positions, fp16_type needs
 * mixed_precision, and so on. A row has a key, the condition under which the key has no effect, and
 * the reason in words. If a file has such a key, it gets a warning (params_check.c), and the dump
 * leaves it out (params_dump.c). */
#include "params_passes.h"

#include <wsc/mem.h>

#include <string.h>

/* A value of `off` below: files keep this key without its switch, so only --set gets a warning. */
static const char in_a_file[] = "any value in a file";

/* Conditions of the table below: each is true when the keys of its rows have no effect. */
static bool not_rotary(const struct zoo_params *p)
{
    return p->model.position_embedding_type != ZOO_POSITION_ROTARY;
}

static bool not_scaled_positions(const struct zoo_params *p)
{
    return not_rotary(p) && p->model.position_embedding_type != ZOO_POSITION_ALIBI;
}

static bool not_llama3(const struct zoo_params *p)
{
    return not_rotary(p) || p->model.pos_scaling_type != ZOO_ROPE_LLAMA3;
}

static bool not_yarn(const struct zoo_params *p)
{
    return not_rotary(p) || p->model.pos_scaling_type != ZOO_ROPE_YARN;
}

static bool not_longrope(const struct zoo_params *p)
{
    return not_rotary(p) || p->model.pos_scaling_type != ZOO_ROPE_LONGROPE;
}

static bool has_no_length(const struct zoo_params *p)
{
    return not_llama3(p) && not_yarn(p) && not_longrope(p);
}

static bool not_by_factor(const struct zoo_params *p)
{
    return not_scaled_positions(p) || !not_longrope(p);
}

static bool fp32(const struct zoo_params *p)
{
    return !p->model.mixed_precision;
}

static bool unscaled(const struct zoo_params *p)
{
    return num_formats[zoo_number_format(&p->model)].loss_scaling == NUM_LOSS_UNSCALED;
}

static bool not_dynamic(const struct zoo_params *p)
{
    return unscaled(p) || p->optimizer.loss_scaling_factor != ZOO_LOSS_SCALE_DYNAMIC;
}

static bool no_experts(const struct zoo_params *p)
{
    return !p->model.moe.num_experts;
}

static bool no_router(const struct zoo_params *p)
{
    return no_experts(p) || p->model.moe.routing_algorithm == ZOO_ROUTING_HASH;
}

static bool no_sinkhorn(const struct zoo_params *p)
{
    return !zoo_moe_has_sinkhorn(&p->model.moe);
}

static bool not_masked(const struct zoo_params *p)
{
    return p->model.objective != ZOO_MASKED_LM;
}

static bool decodes(const struct zoo_params *p)
{
    return p->model.objective == ZOO_CAUSAL_LM || p->model.objective == ZOO_SEQ2SEQ;
}

static bool not_seq2seq(const struct zoo_params *p)
{
    return p->model.objective != ZOO_SEQ2SEQ;
}

static bool encodes_and_decodes(const struct zoo_params *p)
{
    return !not_seq2seq(p);
}

static bool diffuses(const struct zoo_params *p)
{
    return p->model.objective == ZOO_DIFFUSION;
}

static bool not_diffusion(const struct zoo_params *p)
{
    return !diffuses(p);
}

static bool encodes_no_text(const struct zoo_params *p)
{
    return decodes(p) || diffuses(p);
}

static bool no_encoder(const struct zoo_params *p)
{
    return p->model.objective == ZOO_CAUSAL_LM || diffuses(p);
}

/* The Model Zoo calls the blocks of diffusion transformers a decoder. */
static bool no_decoder(const struct zoo_params *p)
{
    return !decodes(p) && !diffuses(p);
}

static bool predicts_no_tokens(const struct zoo_params *p)
{
    return !decodes(p) && p->model.objective != ZOO_MASKED_LM;
}

static bool no_lm_head(const struct zoo_params *p)
{
    return !decodes(p) || p->model.share_embedding_weights;
}

static bool no_factor_of_scores(const struct zoo_params *p)
{
    return p->model.attention_type == ZOO_DOT_PRODUCT;
}

static bool no_factor_of_decoder(const struct zoo_params *p)
{
    return not_seq2seq(p) || no_factor_of_scores(p);
}

static bool neither_masked_nor_seq2seq(const struct zoo_params *p)
{
    return not_masked(p) && not_seq2seq(p);
}

static bool not_relative(const struct zoo_params *p)
{
    return p->model.position_embedding_type != ZOO_POSITION_RELATIVE;
}

static bool not_alibi(const struct zoo_params *p)
{
    return p->model.position_embedding_type != ZOO_POSITION_ALIBI;
}

/* Conditions of a data loader, of training or evaluation. */
static bool not_spans(const struct zoo_input *in)
{
    return in->samples != ZOO_SAMPLES_SPANS;
}

static bool not_translation(const struct zoo_input *in)
{
    return in->samples != ZOO_SAMPLES_TRANSLATION;
}

static bool masks_nothing(const struct zoo_input *in)
{
    return in->samples != ZOO_SAMPLES_CSV_DYNAMIC;
}

static bool not_sentences(const struct zoo_input *in)
{
    return in->samples != ZOO_SAMPLES_SENTENCES;
}

static bool no_buckets(const struct zoo_input *in)
{
    return !zoo_input_has_buckets(in);
}

/* True when nothing is sampled from the seed: order of samples, spans, masks. */
static bool draws_nothing(const struct zoo_input *in)
{
    return !in->shuffle && in->samples != ZOO_SAMPLES_SPANS &&
           in->samples != ZOO_SAMPLES_CSV_DYNAMIC;
}

static bool not_by_masked_sum(const struct zoo_params *p)
{
    return not_masked(p) || p->model.loss_scaling == ZOO_LOSS_NUM_TOKENS;
}

static bool no_pooler(const struct zoo_params *p)
{
    const enum zoo_objective o = p->model.objective;
    return o == ZOO_MASKED_LM ? p->model.disable_nsp
                              : o != ZOO_CLASSIFICATION && o != ZOO_REGRESSION;
}

static bool no_labels(const struct zoo_params *p)
{
    const enum zoo_objective o = p->model.objective;
    return o != ZOO_CLASSIFICATION && o != ZOO_TOKEN_CLASSIFICATION && o != ZOO_DIFFUSION;
}

static bool no_task_dropout(const struct zoo_params *p)
{
    return diffuses(p) || (no_labels(p) && p->model.objective != ZOO_REGRESSION);
}

static bool not_summarization(const struct zoo_params *p)
{
    return p->model.objective != ZOO_SUMMARIZATION;
}

static bool not_tokens(const struct zoo_params *p)
{
    return p->model.objective != ZOO_TOKEN_CLASSIFICATION;
}

static bool no_token_dropout(const struct zoo_params *p)
{
    return !p->model.token_dropout;
}

static bool reads_no_vocabulary(const struct zoo_input *in)
{
    return in->samples == ZOO_SAMPLES_GPT || in->samples == ZOO_SAMPLES_UINT16 ||
           in->samples == ZOO_SAMPLES_PAIRS || in->samples == ZOO_SAMPLES_MASKED ||
           in->samples == ZOO_SAMPLES_SEQ2SEQ;
}

/* muP by base sizes scales only logits of tokens. */
static bool no_scaled_logits(const struct zoo_params *p)
{
    return !(p->model.mup_base_hidden_size > 0) || predicts_no_tokens(p);
}

static bool no_qk_norm(const struct zoo_params *p)
{
    return p->model.attention_qk_norm_layer == ZOO_QK_NORM_NONE;
}

static bool no_window(const struct zoo_params *p)
{
    return p->model.attention_sliding_window_length == CONF_NULL;
}

static bool not_parallel(const struct zoo_params *p)
{
    return !p->model.parallel_block;
}

static bool no_generation(const struct zoo_params *p)
{
    return !p->model.generation.given;
}

static bool generates_not(const struct zoo_params *p)
{
    return p->runconfig.mode != ZOO_GENERATE;
}

static bool trains_not(const struct zoo_params *p)
{
    return !zoo_mode_trains(p->runconfig.mode);
}

static bool generates(const struct zoo_params *p)
{
    return p->runconfig.mode == ZOO_GENERATE;
}

static bool evaluates_not(const struct zoo_params *p)
{
    return !zoo_mode_evaluates(p->runconfig.mode);
}

/* True for runs without evaluations between steps. */
static bool not_both(const struct zoo_params *p)
{
    return trains_not(p) || evaluates_not(p);
}

bool zoo_input_has_buckets(const struct zoo_input *in)
{
    return in->n_buckets &&
           (in->samples == ZOO_SAMPLES_CSV_STATIC || in->samples == ZOO_SAMPLES_CSV_DYNAMIC ||
            in->samples == ZOO_SAMPLES_SPANS || in->samples == ZOO_SAMPLES_TRANSLATION);
}

static bool no_pairs(const struct zoo_params *p)
{
    return !p->model.dpo.on;
}

static bool no_sigmoid_of_pairs(const struct zoo_params *p)
{
    return !p->model.dpo.on || p->model.dpo.loss_type != ZOO_DPO_SIGMOID;
}

static bool mean_over_pairs(const struct zoo_params *p)
{
    return p->model.dpo.on;
}

/* True when the loss is a mean over pairs, or over the elements of latents, whatever the key says.
 */
static bool mean_in_any_case(const struct zoo_params *p)
{
    return mean_over_pairs(p) || diffuses(p);
}

static bool pairs_without_dropout(const struct zoo_params *p)
{
    return p->model.dpo.on && p->model.dpo.disable_dropout;
}

static bool logs_no_sparsity(const struct zoo_params *p)
{
    return p->log_sparsity && !p->sparsity.n;
}

struct condition {
    const char *path; /* `.*` at the end: a whole section */
    bool (*idle)(const struct zoo_params *p);
    const char *why;
    const char *off; /* the value that switches the feature off, which gets no warning */
};

/* Reasons that several rows have. */
static const char asks_nothing[] = "the file has no key of generation";
static const char no_latents[] = "objective is not diffusion",
                  no_vocabulary[] = "no output layer over a vocabulary",
                  images_have_no_tokens[] = "diffusion transformers have no tokens of a vocabulary";

/* Keys without an effect while `idle` is true: a warning if the file has one; the dump leaves them
 * out. */
static const struct condition conditions[] = {
#define ROPE(key) "model.pos_scaling_extra_args." key
    {"model.rotary_dim", not_rotary, "position_embedding_type is not rotary", NULL},
    {"model.rope_theta", not_rotary, "position_embedding_type is not rotary", NULL},
    {"model.pos_scaling_type", not_rotary, "position_embedding_type is not rotary", NULL},
    {"model.pos_scaling_factor", not_by_factor,
     "position_embedding_type is neither rotary without longrope nor alibi", NULL},
    {ROPE("low_freq_factor"), not_llama3, "pos_scaling_type is not llama3 of rotary positions",
     NULL},
    {ROPE("high_freq_factor"), not_llama3, "pos_scaling_type is not llama3 of rotary positions",
     NULL},
    {ROPE("original_max_position_embeddings"), has_no_length,
     "pos_scaling_type is neither llama3, yarn nor longrope of rotary positions", NULL},
    {ROPE("short_factor"), not_longrope, "pos_scaling_type is not longrope of rotary positions",
     NULL},
    {ROPE("long_factor"), not_longrope, "pos_scaling_type is not longrope of rotary positions",
     NULL},
    {ROPE("short_mscale"), not_longrope, "pos_scaling_type is not longrope of rotary positions",
     NULL},
    {ROPE("long_mscale"), not_longrope, "pos_scaling_type is not longrope of rotary positions",
     NULL},
    {ROPE("attention_factor"), not_longrope, "pos_scaling_type is not longrope of rotary positions",
     NULL},
    {ROPE("*"), not_yarn, "pos_scaling_type is not yarn of rotary positions", NULL},
#undef ROPE
    {"model.fp16_type", fp32, "mixed_precision is off", NULL},
    {"model.attention_softmax_fp32", fp32, "mixed_precision is off", NULL},
    {"optimizer.loss_scaling_factor", unscaled, "the format needs no loss scaling", "1"},
    {"optimizer.initial_loss_scale", not_dynamic, "no dynamic loss scaling of a 16-bit format",
     NULL},
    {"optimizer.min_loss_scale", not_dynamic, "no dynamic loss scaling of a 16-bit format", NULL},
    {"optimizer.max_loss_scale", not_dynamic, "no dynamic loss scaling of a 16-bit format", NULL},
    {"optimizer.steps_per_increase", not_dynamic, "no dynamic loss scaling of a 16-bit format",
     NULL},
    {"model.moe.gate_initializer", no_router, "there are no experts with a learned router", NULL},
    {"model.moe.router_selection_nonlinearity", no_router,
     "there are no experts with a learned router", "softmax"},
    {"model.moe.expert_weighting_nonlinearity", no_router,
     "there are no experts with a learned router", "softmax"},
    {"model.moe.sinkhorn_n_iters", no_sinkhorn, "no nonlinearity of the router is sinkhorn", "1"},
    {"model.moe.num_experts", NULL, NULL, NULL},
    {"model.moe.num_shared_experts", NULL, NULL, NULL},
    {"model.moe.*", no_experts, "there are no experts: num_experts", NULL},
    {"model.max_predictions_per_seq", not_masked, "objective is not masked_lm", NULL},
    {"model.disable_nsp", not_masked, "objective is not masked_lm", NULL},
    {"model.mlm_loss_weight", not_by_masked_sum, "no masked_lm by mlm_loss_scaling batch_size",
     NULL},
    {"model.mlm_loss_scaling", neither_masked_nor_seq2seq,
     "objective is neither masked_lm nor seq2seq", NULL},
    {"model.mlm_nonlinearity", not_masked, "objective is not masked_lm", NULL},
    {"model.pooler_nonlinearity", no_pooler, "there is no pooler", in_a_file},
    {"model.num_labels", no_labels, "objective has no labels", NULL},
    {"model.task_dropout", no_task_dropout, "objective has no classifier with dropout", NULL},
    {"model.use_cls_bias", not_summarization, "objective is not summarization", NULL},
    {"model.include_padding_in_loss", not_tokens, "objective is not token_classification", NULL},
    {"model.num_segments", encodes_no_text, "the model is no encoder of texts", NULL},
    {"model.pad_token_id", encodes_no_text, "the model is no encoder of texts", NULL},
    {"model.mask_padding_in_positional_embed", encodes_no_text, "the model is no encoder of texts",
     NULL},
    {"model.use_final_layer_norm", encodes_no_text, "the model is no encoder of texts", NULL},
    {"model.token_dropout", encodes_no_text, "the model is no encoder of texts", NULL},
    {"model.mask_token_id", no_token_dropout, "token_dropout is off", NULL},
#define OF_SEQ2SEQ(key)                                                                            \
    {                                                                                              \
        "model." key, not_seq2seq, "objective is not seq2seq", NULL                                \
    }
    OF_SEQ2SEQ("tgt_vocab_size"),
#define NOT_OF_SEQ2SEQ(key)                                                                        \
    {                                                                                              \
        "model." key, encodes_and_decodes,                                                         \
            "seq2seq has initial weights of its own; hint: initializer_factor", NULL               \
    }
    NOT_OF_SEQ2SEQ("initializer_range"),
    NOT_OF_SEQ2SEQ("initializer"),
    NOT_OF_SEQ2SEQ("embedding_initializer"),
    NOT_OF_SEQ2SEQ("output_layer_initializer"),
    NOT_OF_SEQ2SEQ("ffn_initializer"),
    NOT_OF_SEQ2SEQ("ffn_output_layer_initializer"),
    OF_SEQ2SEQ("extra_ids"),
    OF_SEQ2SEQ("decoder_num_hidden_layers"),
    OF_SEQ2SEQ("tgt_max_position_embeddings"),
    OF_SEQ2SEQ("d_kv"),
    OF_SEQ2SEQ("decoder_nonlinearity"),
    OF_SEQ2SEQ("share_encoder_decoder_embedding"),
    OF_SEQ2SEQ("relu_dropout_rate"),
    OF_SEQ2SEQ("use_pre_encoder_decoder_dropout"),
    OF_SEQ2SEQ("use_pre_encoder_decoder_layer_norm"),
    OF_SEQ2SEQ("use_dropout_outside_residual_path"),
    OF_SEQ2SEQ("use_transformer_initialization"),
    OF_SEQ2SEQ("initializer_factor"),
    OF_SEQ2SEQ("decoder_start_token_id"),
    OF_SEQ2SEQ("mup_base_d_kv"),
    OF_SEQ2SEQ("decoder_attention_logits_alpha"),
#undef OF_SEQ2SEQ
#undef NOT_OF_SEQ2SEQ
    {"model.latent_size", not_diffusion, no_latents, NULL},
    {"model.latent_channels", not_diffusion, no_latents, NULL},
    {"model.patch_size", not_diffusion, no_latents, NULL},
    {"model.frequency_embedding_size", not_diffusion, no_latents, NULL},
    {"model.label_dropout_rate", not_diffusion, no_latents, NULL},
    {"model.use_conv_patchified_embedding", not_diffusion, no_latents, NULL},
    {"model.use_conv_transpose_unpatchify", not_diffusion, no_latents, NULL},
    {"model.norm_first", not_diffusion, no_latents, NULL},
    {"model.vae.*", not_diffusion, no_latents, NULL},
    {"train_input.num_classes", not_diffusion, no_latents, NULL},
    {"eval_input.num_classes", not_diffusion, no_latents, NULL},
    {"model.vocab_size", diffuses, images_have_no_tokens, NULL},
    {"model.max_position_embeddings", diffuses, "a sequence has the patches of a latent", NULL},
    {"train_input.max_sequence_length", diffuses, "a sequence has the patches of a latent", NULL},
    {"eval_input.max_sequence_length", diffuses, "a sequence has the patches of a latent", NULL},
    {"model.share_embedding_weights", predicts_no_tokens, no_vocabulary, NULL},
    {"model.use_bias_in_output", predicts_no_tokens, no_vocabulary, NULL},
    {"model.final_logit_softcapping", predicts_no_tokens, no_vocabulary, "0"},
    {"model.output_logits_scale", predicts_no_tokens, no_vocabulary, "1"},
    {"model.embeddings_scale", diffuses, images_have_no_tokens, "1"},
    {"model.scale_qk_dot_by_d", no_factor_of_scores, "attention_type is dot_product", NULL},
    {"model.scale_decoder_qk_dot_by_d", no_factor_of_decoder,
     "objective is not seq2seq with scaled_dot_product", NULL},
    {"optimizer.adjust_learning_rate.encoder_attention", no_encoder, "the model has no encoder",
     "1"},
    {"optimizer.adjust_learning_rate.pooler", no_pooler, "there is no pooler", "1"},
    {"optimizer.adjust_learning_rate.encoder_qkv_projection", no_encoder,
     "the model has no encoder", "1"},
    {"optimizer.adjust_learning_rate.encoder_output_projection", no_encoder,
     "the model has no encoder", "1"},
    {"optimizer.adjust_learning_rate.encoder_input_ffn", no_encoder, "the model has no encoder",
     "1"},
    {"optimizer.adjust_learning_rate.encoder_output_ffn", no_encoder, "the model has no encoder",
     "1"},
    {"optimizer.adjust_learning_rate.decoder_kernel", no_decoder, "the model has no decoder", "1"},
    {"optimizer.adjust_learning_rate.decoder_attention", no_decoder, "the model has no decoder",
     "1"},
    {"optimizer.adjust_learning_rate.decoder_input_ffn", no_decoder, "the model has no decoder",
     "1"},
    {"optimizer.adjust_learning_rate.decoder_output_ffn", no_decoder, "the model has no decoder",
     "1"},
    {"optimizer.adjust_learning_rate.decoder_qkv_projection", no_decoder,
     "the model has no decoder", "1"},
    {"optimizer.adjust_learning_rate.decoder_output_projection", no_decoder,
     "the model has no decoder", "1"},
    {"optimizer.adjust_learning_rate.lm_head", no_lm_head, "the model has no lm_head of its own",
     "1"},
    {"model.relative_attention_num_buckets", not_relative,
     "position_embedding_type is not relative", "32"},
    {"model.alibi_trainable_slopes", not_alibi, "position_embedding_type is not alibi", NULL},
    {"train_input.tgt_max_sequence_length", not_seq2seq, "objective is not seq2seq", NULL},
    {"eval_input.tgt_max_sequence_length", not_seq2seq, "objective is not seq2seq", NULL},
    {"train_input.max_predictions_per_seq", not_masked, "objective is not masked_lm", NULL},
    {"eval_input.max_predictions_per_seq", not_masked, "objective is not masked_lm", NULL},
    {"model.output_logits_alpha", no_scaled_logits,
     "muP by base sizes needs mup_base_hidden_size and a head that predicts tokens", NULL},
    {"model.scale_output_logits_by_d", no_scaled_logits,
     "muP by base sizes needs mup_base_hidden_size and a head that predicts tokens", NULL},
    {"model.attention_qk_norm_eps", no_qk_norm, "there is no attention_qk_norm_layer", in_a_file},
    {"model.attention_sink_tokens", no_window,
     "without attention_sliding_window_length every token sees all before it", "0"},
    {"model.use_untied_layer_norm", not_parallel, "the family has no parallel blocks", NULL},
    {"model.residual_dropout_rate", not_parallel,
     "the family has no parallel blocks; hint: write dropout_rate", NULL},
    {"model.max_tokens", no_generation, asks_nothing, NULL},
    {"model.temperature", no_generation, asks_nothing, NULL},
    {"model.top_k", no_generation, asks_nothing, NULL},
    {"model.top_p", no_generation, asks_nothing, NULL},
    {"model.stop_sequences", no_generation, asks_nothing, NULL},
    {"model.dpo.label_smoothing", no_sigmoid_of_pairs, "loss_type is not sigmoid", "0"},
    {"model.dpo.*", no_pairs, "no preference optimization", NULL},
    {"model.loss_scaling", mean_in_any_case, "the loss of model.dpo and of diffusion is a mean",
     NULL},
    {"model.loss_weight", mean_in_any_case, "the loss of model.dpo and of diffusion is a mean",
     NULL},
    {"model.label_smoothing", mean_over_pairs,
     "the loss of model.dpo is that of pairs; hint: model.dpo.label_smoothing", "0"},
    {"model.embedding_dropout_rate", pairs_without_dropout, "model.dpo.disable_dropout", "0"},
    {"model.attention_dropout_rate", pairs_without_dropout, "model.dpo.disable_dropout", "0"},
    {"model.dropout_rate", pairs_without_dropout, "model.dpo.disable_dropout", "0"},
    {"log_sparsity", logs_no_sparsity, "no weights are sparse", NULL},
    {NULL, NULL, NULL, NULL}};

/* Keys of train_input and of eval_input that have no effect with the loader of their own section.
 */
static const struct input_condition {
    const char *key;
    bool (*idle)(const struct zoo_input *in);
    const char *why, *off; /* as in struct condition */
} input_conditions[] = {{"tgt_data_dir", not_translation, "the loader reads no targets", NULL},
                        {"extra_ids", not_spans, "the loader leaves no spans out", NULL},
                        {"buckets", no_buckets, "the loader makes no buckets", NULL},
                        {"masked_lm_prob", masks_nothing, "the loader masks nothing", NULL},
                        {"mask_whole_word", masks_nothing, "the loader masks nothing", NULL},
                        {"max_cls_tokens", not_sentences, "the loader reads no sentences", NULL},
                        {"vocab_file", reads_no_vocabulary, "the files have token ids", NULL},
                        {"label_vocab_file", reads_no_vocabulary, "the files have token ids", NULL},
                        {"do_lower", reads_no_vocabulary, "the files have token ids", NULL},
                        {"shuffle_seed", draws_nothing, "shuffle is off", in_a_file}};

/* Keys that the mode of this run does not use. A file may serve all modes, so the dump has these
 * keys, and only --set gets a warning. */
static const struct condition by_mode[] = {
    {"train_input.data_dir", NULL, NULL, NULL},
    {"train_input.*", trains_not, "the mode does not train", in_a_file},
    {"eval_input.data_dir", NULL, NULL, NULL},
    {"eval_input.*", evaluates_not, "the mode does not evaluate", in_a_file},
    {"optimizer.*", trains_not, "the mode does not train", in_a_file},
    {"runconfig.eval_steps", evaluates_not, "the mode does not evaluate", in_a_file},
    {"runconfig.eval_frequency", not_both, "the mode is not train_and_eval", in_a_file},
    {"runconfig.checkpoint_steps", trains_not, "the mode does not train", in_a_file},
    {"runconfig.max_checkpoints", trains_not, "the mode does not train", in_a_file},
    {"runconfig.save_initial_checkpoint", trains_not, "the mode does not train", in_a_file},
    {"runconfig.max_steps", trains_not, "the mode does not train", in_a_file},
    {"runconfig.num_steps", trains_not, "the mode does not train", in_a_file},
    {"runconfig.num_epochs", trains_not, "the mode does not train", in_a_file},
    {"runconfig.skip_samples", trains_not, "the mode does not train", in_a_file},
    {"runconfig.log_steps", generates, "a generation logs no steps", in_a_file},
    {"trace_hash", trains_not, "the mode does not train", in_a_file},
    {"log_sparsity", trains_not, "the mode does not train", in_a_file},
    {"runconfig.precision_opt_level", fp32, "mixed_precision is off", in_a_file},
    {"model.recompute", trains_not, "the mode does not train", in_a_file},
    {"model.max_tokens", generates_not, "the mode does not generate", in_a_file},
    {"model.temperature", generates_not, "the mode does not generate", in_a_file},
    {"model.top_k", generates_not, "the mode does not generate", in_a_file},
    {"model.top_p", generates_not, "the mode does not generate", in_a_file},
    {"model.decoder_start_token_id", generates_not, "the mode does not generate", in_a_file},
    {"model.stop_sequences", generates_not, "the mode does not generate", in_a_file},
    {NULL, NULL, NULL, NULL}};

/* Why a key has no effect; why is NULL when it has one. */
struct reason {
    const char *why, *off; /* as in struct condition */
};

/* By the first row of @p table with @p path. */
static struct reason reason_in(const struct condition *table, const struct zoo_params *params,
                               const char *path)
{
    for (const struct condition *c = table; c->path; c++) {
        const size_t n = strlen(c->path) - 1;
        const bool section = c->path[n] == '*';
        if (section ? strncmp(c->path, path, n) != 0 : strcmp(c->path, path) != 0) continue;
        return c->idle && c->idle(params) ? (struct reason){c->why, c->off}
                                          : (struct reason){NULL, NULL};
    }
    return (struct reason){NULL, NULL};
}

static struct reason reason_of_input(const struct zoo_params *params, const char *path)
{
    const bool trains = !strncmp(path, "train_input.", sizeof "train_input." - 1);
    if (!trains && strncmp(path, "eval_input.", sizeof "eval_input." - 1) != 0)
        return (struct reason){NULL, NULL};
    for (size_t i = 0; i < sizeof input_conditions / sizeof *input_conditions; i++) {
        const struct input_condition *c = &input_conditions[i];
        if (strcmp(strchr(path, '.') + 1, c->key) != 0) continue;
        if (c->idle(trains ? &params->train_input : &params->eval_input))
            return (struct reason){c->why, c->off};
    }
    return (struct reason){NULL, NULL};
}

static struct reason reason_of(const struct zoo_params *params, const char *path)
{
    const struct reason r = reason_of_input(params, path);
    return r.why ? r : reason_in(conditions, params, path);
}

bool zoo_key_acts(const struct zoo_params *params, const char *path)
{
    return !reason_of(params, path).why;
}

/* True when the value in the file is the one that switches the feature off. */
static bool is_off(const struct reason *r, const struct conf_node *node)
{
    double value, off;
    if (r->off == in_a_file) return node->pos.line >= 0;
    return r->off && node->kind == CONF_NODE_SCALAR && !wsc_units_double(node->text, &value) &&
           !wsc_units_double(r->off, &off) && value == off;
}

/* Warn about the given key @p i if it has no effect. */
static bool warn_idle(struct conf_parse *p, int i, const struct reason *r)
{
    if (!r->why || is_off(r, p->given[i])) return false;
    conf_diag_warn(p->diag, p->given[i]->pos, p->table->key[i].path, "without effect: %s", r->why);
    return true;
}

/* ---- keys that give way to others ------------------------------------------------------------ */

/* Two keys for one value: if a file has both with different values, the first one is not used. */
static const struct pair {
    const char *path, *to;
    /* true: each key has a use of its own in this file */
    bool (*apart)(const struct zoo_params *p);
    const char *what;
} pairs[] = {
    {"model.dropout_rate", "model.residual_dropout_rate", not_parallel,
     "on the residual branches; it stays the default of the other dropout rates"},
    {"model.mlm_loss_scaling", "model.loss_scaling", not_seq2seq, "for the loss of seq2seq"},
};
enum { N_PAIRS = sizeof pairs / sizeof *pairs };

/* True for equal numbers and equal texts. */
static bool is_same(const struct conf_node *a, const struct conf_node *b)
{
    double x, y;
    if (a->kind != CONF_NODE_SCALAR || b->kind != CONF_NODE_SCALAR) return false;
    if (!wsc_units_double(a->text, &x) && !wsc_units_double(b->text, &y)) return x == y;
    return !strcmp(a->text, b->text);
}

static void warn_of_pairs(struct conf_parse *p, const struct zoo_params *params)
{
    for (int i = 0; i < N_PAIRS; i++) {
        const struct conf_node *node = p->given[conf_keys_find(p->table, pairs[i].path)];
        const struct conf_node *other = p->given[conf_keys_find(p->table, pairs[i].to)];
        if (conf_node_is_null(node) || conf_node_is_null(other) || pairs[i].apart(params)) continue;
        if (!is_same(node, other))
            conf_diag_warn(p->diag, node->pos, pairs[i].path, "gives way to %s %s", pairs[i].to,
                           pairs[i].what);
    }
}

void zoo_idle_warn(struct conf_parse *p, const struct zoo_params *params)
{
    for (int i = 0; i < p->table->n; i++) {
        const char *path = p->table->key[i].path;
        if (conf_node_is_null(p->given[i])) continue;
        const struct reason r = reason_of(params, path), mode = reason_in(by_mode, params, path);
        if (!warn_idle(p, i, &r)) (void)warn_idle(p, i, &mode);
    }
    warn_of_pairs(p, params);
}

/* ---- keys without effect in any case ----------------------------------------------------------
 */

/* Give one warning for the names collected so far, and clear the list. */
static void warn_list(const struct conf_parse *p, struct wsc_text *list)
{
    if (list->n)
        conf_diag_warn(p->diag, (struct conf_pos){0}, NULL, "without effect here: %s", list->bytes);
    p->diag->no_memory = p->diag->no_memory || list->failed;
    wsc_text_free(list);
}

/* Warn about keys without effect, in one warning or in as many as their names need. */
void zoo_params_warn_no_effect(const struct conf_parse *p)
{
    enum { LONGEST = 600 };
    struct wsc_text list = {0};
    for (int i = 0; i < p->table->n; i++) {
        const struct conf_key *key = &p->table->key[i];
        char user[CONF_MAX_PATH];
        if (key->status != CONF_NO_EFFECT || conf_node_is_null(p->given[i])) continue;
        if (list.n > LONGEST) warn_list(p, &list);
        wsc_text_add(&list, "%s%s", list.n ? ", " : "", conf_diag_name(p->diag, key->path, user));
    }
    warn_list(p, &list);
}
