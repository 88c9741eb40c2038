// SPDX-License-Identifier: Apache-2.0
/* The families: names of tensors and configuration keys on both sides.  A new family is a row at
 * the end with its two tables; keys that are more than a value are in hf_special_keys.c. */
#include "hf_families.h"
#include "hf_family.h"
#include "hf_key.h"
#include "hf_special_keys.h"

#include <string.h>

/* ---- words ----------------------------------------------------------------------------------- */

static const struct convert_word activation[] = {
    {"gelu_new", "gelu_new"},          {"gelu", "gelu"},          {"relu", "relu"},
    {"gelu_pytorch_tanh", "gelu_new"}, {"gelu_fast", "gelu_new"}, {NULL, NULL}};
static const struct convert_word gated_activation[] = {
    {"silu", "swiglu"}, {"gelu", "geglu"}, {"relu", "reglu"}, {NULL, NULL}};

/* ---- shorthand ------------------------------------------------------------------------------- */

/* clang-format off */
#define BOTH(h, c, t)    .hf = (h), .cs = (c), .type = CONVERT_##t
#define MISSING(v)       .missing = (v)
#define OLD(h)           .old_hf = (h)
#define HF_IS(h, t, v)   .hf = (h), .type = CONVERT_##t, .fixed = (v), .missing = (v)
#define CS_IS(c, v)      .cs = (c), .fixed = (v)
#define CS_SETS(c, v)    .cs = (c), .fixed = (v), .any = true
#define SPECIAL(name, c, ...)                                                                      \
    .cs = (c), .to_cs = convert_##name##_to_cs, .to_hf = convert_##name##_to_hf, .reads = {__VA_ARGS__}
#define THETA            BOTH("rope_theta", "rope_theta", REAL), .to_cs = convert_rope_theta_to_cs
#define SCALING {SPECIAL(rope_scaling, "pos_scaling_factor", "rope_scaling", "rope_parameters")}
#define HEAD_DIM {SPECIAL(head_dim, "rotary_dim", "head_dim", "partial_rotary_factor")}
#define N(rows)          ((int)(sizeof(rows) / sizeof *(rows)))
#define NO_SCALING {CS_IS("pos_scaling_factor", "1.0")}
#define NO_WINDOW  {CS_IS("attention_sliding_window_length", "null")}
#define GPT2_KEYS                                                                                  \
    {BOTH("vocab_size", "vocab_size", INT)},                                                       \
    {BOTH("n_embd", "hidden_size", INT)},                                                          \
    {BOTH("n_layer", "num_hidden_layers", INT)},                                                   \
    {BOTH("n_head", "num_heads", INT)},                                                            \
    {BOTH("n_positions", "max_position_embeddings", INT)},                                         \
    {SPECIAL(inner, "filter_size", "n_inner")},                                                    \
    {BOTH("layer_norm_epsilon", "layer_norm_epsilon", REAL), MISSING("1e-05")},                    \
    {BOTH("embd_pdrop", "embedding_dropout_rate", REAL), MISSING("0.1")},                          \
    {BOTH("attn_pdrop", "attention_dropout_rate", REAL), MISSING("0.1")},                          \
    {BOTH("initializer_range", "initializer_range", REAL), MISSING("0.02")}
#define BIASES(attention, output, ffn, head)                                                       \
    {CS_IS("use_projection_bias_in_attention", attention)},                                        \
    {CS_IS("use_ffn_bias_in_attention", output)},                                                  \
    {CS_IS("use_ffn_bias", ffn)},                                                                  \
    {CS_IS("use_bias_in_output", head)}
#define POSITIONS(kind)                                                                            \
    {CS_IS("position_embedding_type", kind)}
#define TIED(missing_value)                                                                        \
    {BOTH("tie_word_embeddings", "share_embedding_weights", BOOL), MISSING(missing_value)}
#define GPT2_MODEL_KEYS(family, function, ...)                                                     \
    {CS_SETS("name", family)},                                                                     \
    GPT2_KEYS,                                                                                     \
    NO_WINDOW,                                                                                     \
    {BOTH("activation_function", "nonlinearity", TEXT), MISSING(function), .word = activation},    \
    {BOTH("resid_pdrop", "dropout_rate", REAL), MISSING("0.1")},                                   \
    TIED("true"),                                                                                  \
    __VA_ARGS__,                                                                                   \
    {HF_IS("scale_attn_weights", BOOL, "true")},                                                   \
    {HF_IS("add_cross_attention", BOOL, "false")},                                                 \
    POSITIONS("learned"),                                                                          \
    BIASES("true", "true", "true", "false")
#define HIDDEN_KEYS                                                                                \
    {BOTH("vocab_size", "vocab_size", INT)},                                                       \
    {BOTH("hidden_size", "hidden_size", INT)},                                                     \
    {BOTH("num_hidden_layers", "num_hidden_layers", INT)},                                         \
    {BOTH("num_attention_heads", "num_heads", INT)},                                               \
    {BOTH("intermediate_size", "filter_size", INT)},                                               \
    {BOTH("max_position_embeddings", "max_position_embeddings", INT)}
#define EIGHT_KV_HEADS                                                                             \
    {SPECIAL(kv_heads, "extra_attention_params", "num_key_value_heads"), MISSING("8")}
#define LLAMA_KEYS(eps, theta)                                                                     \
    HIDDEN_KEYS,                                                                                   \
    {BOTH("hidden_act", "nonlinearity", TEXT), MISSING("silu"), .word = gated_activation},         \
    {BOTH("rms_norm_eps", "layer_norm_epsilon", REAL), MISSING(eps)},                              \
    {THETA, MISSING(theta)},                                                                       \
    SCALING,                                                                                       \
    {BOTH("attention_dropout", "attention_dropout_rate", REAL), MISSING("0.0")},                   \
    {BOTH("initializer_range", "initializer_range", REAL), MISSING("0.02")},                       \
    {HF_IS("attention_bias", BOOL, "false")},                                                      \
    {HF_IS("mlp_bias", BOOL, "false")},                                                            \
    HEAD_DIM,                                                                                      \
    POSITIONS("rotary"),                                                                           \
    {CS_IS("norm_type", "rmsnorm")},                                                               \
    BIASES("false", "false", "false", "false"),                                                    \
    {CS_SETS("dropout_rate", "0.0")},                                                              \
    {CS_SETS("embedding_dropout_rate", "0.0")}

/* ---- tensors --------------------------------------------------------------------------------- */

#define GPT2_RULES(attention, products)                                                            \
    {"wte.weight", {"embedding_layer.word_embeddings.weight"}, CONVERT_SAME},                      \
    {"wpe.weight", {"embedding_layer.position_embeddings.embed.weight"}, CONVERT_SAME},            \
    {"#ln_1.*", {"#norm1.*"}, CONVERT_SAME},                                                       \
    {"#attn.c_attn.*",                                                                             \
     {"#self_attn.proj_q_dense_layer.*", "#self_attn.proj_k_dense_layer.*",                        \
      "#self_attn.proj_v_dense_layer.*"}, attention},                                              \
    {"#attn.c_proj.*", {"#self_attn.proj_output_dense_layer.*"}, products},                        \
    {"#ln_2.*", {"#norm3.*"}, CONVERT_SAME},                                                       \
    {"#mlp.c_fc.*", {"#ffn.ffn.0.linear_layer.*"}, products},                                      \
    {"#mlp.c_proj.*", {"#ffn.ffn.1.linear_layer.*"}, products},                                    \
    {"ln_f.*", {"transformer_decoder.norm.*"}, CONVERT_SAME},                                      \
    {"/lm_head.weight", {"lm_head.weight"}, CONVERT_SAME}
/* Conv1D stores weights as (in, out), so linear layers are transposed. */
static const struct convert_rule gpt2_rules[] = {GPT2_RULES(CONVERT_TRANSPOSED, CONVERT_TRANSPOSED)};
/* Linear layers are (out, in) here; one group of queries, key and value. */
static const struct convert_rule bigcode_rules[] = {GPT2_RULES(CONVERT_GROUPED, CONVERT_SAME)};
/* Rotary pairs are neighbours on both sides, so queries and keys need no permutation. */
static const struct convert_rule gptj_rules[] = {
    {"wte.weight", {"embedding_layer.word_embeddings.weight"}, CONVERT_SAME},
    {"#ln_1.*", {"#norm1.*"}, CONVERT_SAME},
    {"#attn.q_proj.weight", {"#self_attn.proj_q_dense_layer.weight"}, CONVERT_SAME},
    {"#attn.k_proj.weight", {"#self_attn.proj_k_dense_layer.weight"}, CONVERT_SAME},
    {"#attn.v_proj.weight", {"#self_attn.proj_v_dense_layer.weight"}, CONVERT_SAME},
    {"#attn.out_proj.weight", {"#self_attn.proj_output_dense_layer.weight"}, CONVERT_SAME},
    {"#mlp.fc_in.*", {"#ffn.ffn.0.linear_layer.*"}, CONVERT_SAME},
    {"#mlp.fc_out.*", {"#ffn.ffn.1.linear_layer.*"}, CONVERT_SAME},
    {"ln_f.*", {"transformer_decoder.norm.*"}, CONVERT_SAME},
    {"/lm_head.*", {"lm_head.*"}, CONVERT_SAME},
};
/* Queries, keys and values are joined head by head; rotary halves there are pairs here. */
static const struct convert_rule neox_rules[] = {
    {"embed_in.weight", {"embedding_layer.word_embeddings.weight"}, CONVERT_SAME},
    {"#input_layernorm.*", {"#norm1.*"}, CONVERT_SAME},
    {"#post_attention_layernorm.*", {"#norm3.*"}, CONVERT_SAME},
    {"#attention.query_key_value.*",
     {"#self_attn.proj_q_dense_layer.*", "#self_attn.proj_k_dense_layer.*",
      "#self_attn.proj_v_dense_layer.*"}, CONVERT_GROUPED | CONVERT_ROTARY},
    {"#attention.dense.*", {"#self_attn.proj_output_dense_layer.*"}, CONVERT_SAME},
    {"#mlp.dense_h_to_4h.*", {"#ffn.ffn.0.linear_layer.*"}, CONVERT_SAME},
    {"#mlp.dense_4h_to_h.*", {"#ffn.ffn.1.linear_layer.*"}, CONVERT_SAME},
    {"final_layer_norm.*", {"transformer_decoder.norm.*"}, CONVERT_SAME},
    {"/embed_out.weight", {"lm_head.weight"}, CONVERT_SAME},
};
#define LLAMA_RULES                                                                                \
    {"embed_tokens.weight", {"embedding_layer.word_embeddings.weight"}, CONVERT_SAME},             \
    {"#input_layernorm.weight", {"#norm1.weight"}, CONVERT_SAME},                                  \
    {"#self_attn.q_proj.weight", {"#self_attn.proj_q_dense_layer.weight"}, CONVERT_ROTARY},        \
    {"#self_attn.k_proj.weight", {"#self_attn.proj_k_dense_layer.weight"}, CONVERT_ROTARY},        \
    {"#self_attn.v_proj.weight", {"#self_attn.proj_v_dense_layer.weight"}, CONVERT_SAME},          \
    {"#self_attn.o_proj.weight", {"#self_attn.proj_output_dense_layer.weight"}, CONVERT_SAME},     \
    {"#post_attention_layernorm.weight", {"#norm3.weight"}, CONVERT_SAME},                         \
    {"norm.weight", {"transformer_decoder.norm.weight"}, CONVERT_SAME},                            \
    {"/lm_head.weight", {"lm_head.weight"}, CONVERT_SAME}
static const struct convert_rule llama_rules[] = {
    LLAMA_RULES,
    {"#mlp.gate_proj.weight", {"#ffn.ffn.0.linear_layer_for_glu.weight"}, CONVERT_SAME},
    {"#mlp.up_proj.weight", {"#ffn.ffn.0.linear_layer.weight"}, CONVERT_SAME},
    {"#mlp.down_proj.weight", {"#ffn.ffn.1.linear_layer.weight"}, CONVERT_SAME},
};
#define EXPERT "#ffn.experts.experts.@."
static const struct convert_rule mixtral_rules[] = {
    LLAMA_RULES,
    {"#block_sparse_moe.gate.weight", {"#ffn.gate.weight"}, CONVERT_SAME},
    {"#block_sparse_moe.experts.@.w1.weight", {EXPERT "0.linear_layer_for_glu.weight"}, CONVERT_SAME},
    {"#block_sparse_moe.experts.@.w3.weight", {EXPERT "0.linear_layer.weight"}, CONVERT_SAME},
    {"#block_sparse_moe.experts.@.w2.weight", {EXPERT "1.linear_layer.weight"}, CONVERT_SAME},
};
static const struct convert_rule bloom_rules[] = {
    {"word_embeddings.weight", {"embedding_layer.word_embeddings.weight"}, CONVERT_SAME},
    {"word_embeddings_layernorm.*", {"embedding_ln_f.*"}, CONVERT_SAME},
    {"#input_layernorm.*", {"#norm1.*"}, CONVERT_SAME},
    {"#self_attention.query_key_value.*",
     {"#self_attn.proj_q_dense_layer.*", "#self_attn.proj_k_dense_layer.*",
      "#self_attn.proj_v_dense_layer.*"}, CONVERT_GROUPED},
    {"#self_attention.dense.*", {"#self_attn.proj_output_dense_layer.*"}, CONVERT_SAME},
    {"#post_attention_layernorm.*", {"#norm3.*"}, CONVERT_SAME},
    {"#mlp.dense_h_to_4h.*", {"#ffn.ffn.0.linear_layer.*"}, CONVERT_SAME},
    {"#mlp.dense_4h_to_h.*", {"#ffn.ffn.1.linear_layer.*"}, CONVERT_SAME},
    {"ln_f.*", {"transformer_decoder.norm.*"}, CONVERT_SAME},
    {"/lm_head.weight", {"lm_head.weight"}, CONVERT_SAME},
};
#define FALCON_RULES                                                                               \
    {"word_embeddings.weight", {"embedding_layer.word_embeddings.weight"}, CONVERT_SAME},          \
    {"#self_attention.query_key_value.weight",                                                     \
     {"#self_attn.proj_q_dense_layer.weight", "#self_attn.proj_k_dense_layer.weight",              \
      "#self_attn.proj_v_dense_layer.weight"}, CONVERT_GROUPED | CONVERT_ROTARY},                  \
    {"#self_attention.dense.weight", {"#self_attn.proj_output_dense_layer.weight"}, CONVERT_SAME}, \
    {"#mlp.dense_h_to_4h.weight", {"#ffn.ffn.0.linear_layer.weight"}, CONVERT_SAME},               \
    {"#mlp.dense_4h_to_h.weight", {"#ffn.ffn.1.linear_layer.weight"}, CONVERT_SAME},               \
    {"ln_f.*", {"transformer_decoder.norm.*"}, CONVERT_SAME},                                      \
    {"/lm_head.weight", {"lm_head.weight"}, CONVERT_SAME}
static const struct convert_rule falcon_7b_rules[] = {
    FALCON_RULES,
    {"#input_layernorm.*", {"#norm1.*"}, CONVERT_SAME},
};
static const struct convert_rule falcon_40b_rules[] = {
    FALCON_RULES,
    {"#ln_attn.*", {"#norm1.*"}, CONVERT_SAME},
    {"#ln_mlp.*", {"#norm3.*"}, CONVERT_SAME},
};

/* ---- configuration keys ---------------------------------------------------------------------- */

static const struct convert_key gpt2_keys[] = {
    GPT2_MODEL_KEYS("gpt2", "gelu_new", {BOTH("scale_attn_by_inverse_layer_idx", "scale_qk_dot_by_layer_idx", BOOL),
                                         MISSING("false")}),
};
static const struct convert_key bigcode_keys[] = {
    GPT2_MODEL_KEYS("starcoder", "gelu_pytorch_tanh",
                    {SPECIAL(multi_query, "extra_attention_params", "multi_query", "num_kv_heads")}),
};
static const struct convert_key gptj_keys[] = {
    NO_SCALING,
    NO_WINDOW,
    {CS_SETS("name", "gptj")},
    GPT2_KEYS,
    {BOTH("activation_function", "nonlinearity", TEXT), MISSING("gelu_new"), .word = activation},
    {BOTH("resid_pdrop", "residual_dropout_rate", REAL), MISSING("0.0")},
    TIED("false"),
    {BOTH("rotary_dim", "rotary_dim", INT), MISSING("64")},
    {HF_IS("rotary", BOOL, "true")},
    {HF_IS("scale_attn_weights", BOOL, "true")},
    POSITIONS("rotary"),
    {CS_IS("use_untied_layer_norm", "false")},
    BIASES("false", "false", "true", "true"),
};
static const struct convert_key neox_keys[] = {
    SCALING,
    NO_WINDOW,
    {CS_SETS("name", "gpt-neox")},
    HIDDEN_KEYS,
    {BOTH("hidden_act", "nonlinearity", TEXT), MISSING("gelu"), .word = activation},
    {BOTH("layer_norm_eps", "layer_norm_epsilon", REAL), MISSING("1e-05")},
    {SPECIAL(rotary_pct, "rotary_dim", "rotary_pct", "partial_rotary_factor")},
    {BOTH("rotary_emb_base", "rope_theta", REAL), OLD("rope_theta"), MISSING("10000"),
     .to_cs = convert_rope_theta_to_cs},
    {BOTH("hidden_dropout", "residual_dropout_rate", REAL), OLD("hidden_dropout_prob"),
     MISSING("0.0")},
    {BOTH("attention_dropout", "attention_dropout_rate", REAL),
     OLD("attention_probs_dropout_prob"), MISSING("0.0")},
    {BOTH("initializer_range", "initializer_range", REAL), MISSING("0.02")},
    TIED("false"),
    {HF_IS("use_parallel_residual", BOOL, "true")},
    {HF_IS("attention_bias", BOOL, "true")},
    {CS_SETS("embedding_dropout_rate", "0.0")},
    POSITIONS("rotary"),
    {CS_IS("use_untied_layer_norm", "true")},
    BIASES("true", "true", "true", "false"),
};
static const struct convert_key llama_keys[] = {
    {CS_SETS("name", "llama")},
    NO_WINDOW,
    LLAMA_KEYS("1e-06", "10000.0"),
    {SPECIAL(kv_heads, "extra_attention_params", "num_key_value_heads")},
    TIED("false"),
    {HF_IS("rope_interleaved", BOOL, "false")},
};
static const struct convert_key mistral_keys[] = {
    {CS_SETS("name", "mistral")},
    LLAMA_KEYS("1e-06", "10000.0"),
    EIGHT_KV_HEADS,
    TIED("false"),
    {BOTH("sliding_window", "attention_sliding_window_length", INT), MISSING("4096")},
};
static const struct convert_key mixtral_keys[] = {
    {CS_SETS("name", "mixtral")},
    LLAMA_KEYS("1e-05", "1e6"),
    EIGHT_KV_HEADS,
    {HF_IS("router_jitter_noise", REAL, "0.0")},
    TIED("false"),
    {BOTH("sliding_window", "attention_sliding_window_length", INT), MISSING("null")},
    {SPECIAL(experts, "moe", "num_local_experts", "num_experts_per_tok", "router_aux_loss_coef")},
};
static const struct convert_key bloom_keys[] = {
    {CS_SETS("name", "bloom")},
    NO_SCALING,
    NO_WINDOW,
    {BOTH("vocab_size", "vocab_size", INT)},
    {BOTH("hidden_size", "hidden_size", INT), OLD("n_embed")},
    {BOTH("n_layer", "num_hidden_layers", INT), OLD("num_hidden_layers")},
    {BOTH("n_head", "num_heads", INT), OLD("num_attention_heads")},
    {BOTH("seq_length", "max_position_embeddings", INT), MISSING("2048")},
    {SPECIAL(four_hidden, "filter_size", "n_inner")},
    {BOTH("layer_norm_epsilon", "layer_norm_epsilon", REAL), MISSING("1e-05")},
    {BOTH("hidden_dropout", "dropout_rate", REAL), MISSING("0.0")},
    {BOTH("attention_dropout", "attention_dropout_rate", REAL), MISSING("0.0")},
    {BOTH("initializer_range", "initializer_range", REAL), MISSING("0.02")},
    TIED("true"),
    {HF_IS("apply_residual_connection_post_layernorm", BOOL, "false")},
    {CS_SETS("embedding_dropout_rate", "0.0")},
    {CS_IS("nonlinearity", "gelu_new")},
    POSITIONS("alibi"),
    {CS_IS("embedding_layer_norm", "true")},
    BIASES("true", "true", "true", "false"),
};
#define FALCON_KEYS                                                                                \
    {CS_SETS("name", "falcon")},                                                                   \
    {BOTH("vocab_size", "vocab_size", INT)},                                                       \
    {BOTH("hidden_size", "hidden_size", INT)},                                                     \
    {BOTH("num_hidden_layers", "num_hidden_layers", INT), OLD("n_layer")},                         \
    {BOTH("num_attention_heads", "num_heads", INT), OLD("n_head")},                                \
    {BOTH("max_position_embeddings", "max_position_embeddings", INT), MISSING("2048")},            \
    {SPECIAL(ffn_hidden, "filter_size", "ffn_hidden_size")},                                       \
    HEAD_DIM,                                                                                      \
    {BOTH("activation", "nonlinearity", TEXT), MISSING("gelu"), .word = activation},               \
    {BOTH("layer_norm_epsilon", "layer_norm_epsilon", REAL), MISSING("1e-05")},                    \
    {THETA, MISSING("10000.0")},                                                                   \
    SCALING,                                                                                       \
    {HF_IS("apply_residual_connection_post_layernorm", BOOL, "false")},                            \
    {BOTH("hidden_dropout", "residual_dropout_rate", REAL), MISSING("0.0")},                       \
    {BOTH("attention_dropout", "attention_dropout_rate", REAL), MISSING("0.0")},                   \
    {BOTH("initializer_range", "initializer_range", REAL), MISSING("0.02")},                       \
    TIED("true"),                                                                                  \
    {HF_IS("alibi", BOOL, "false")},                                                               \
    {HF_IS("bias", BOOL, "false")},                                                                \
    {HF_IS("parallel_attn", BOOL, "true")},                                                        \
    {CS_SETS("embedding_dropout_rate", "0.0")},                                                    \
    POSITIONS("rotary"),                                                                           \
    BIASES("false", "false", "false", "false")
static const struct convert_key falcon_7b_keys[] = {
    {HF_IS("num_ln_in_parallel_attn", INT, "1")},
    NO_WINDOW,
    FALCON_KEYS,
    {HF_IS("new_decoder_architecture", BOOL, "false")},
    {SPECIAL(multi_query, "extra_attention_params", "multi_query", "num_kv_heads")},
    {CS_IS("use_untied_layer_norm", "false")},
};
static const struct convert_key falcon_40b_keys[] = {
    {HF_IS("num_ln_in_parallel_attn", INT, "2")},
    NO_WINDOW,
    FALCON_KEYS,
    {HF_IS("new_decoder_architecture", BOOL, "true")},
    {SPECIAL(num_kv_heads, "extra_attention_params", "num_kv_heads")},
    {CS_IS("use_untied_layer_norm", "true")},
};

/* ---- keys without influence ------------------------------------------------------------------ */

/* Keys of one family; those that any folder may have are in hf_config.c. */
#define SUMMARY                                                                                    \
    "summary_activation", "summary_first_dropout", "summary_proj_to_labels", "summary_type",       \
        "summary_use_proj"
static const char *const gpt2_ignored[] = {
    SUMMARY, "n_ctx", "n_special", "predict_special_tokens", "reorder_and_upcast_attn", NULL};
static const char *const bigcode_ignored[] = {SUMMARY,
                                              "n_ctx",
                                              "attention_softmax_in_fp32",
                                              "scale_attention_softmax_in_fp32",
                                              "inference_runner",
                                              "validate_runner_input",
                                              "max_batch_size",
                                              "max_sequence_length",
                                              "pad_key_length",
                                              "pre_allocate_kv_cache",
                                              "num_key_value_heads",
                                              NULL};
static const char *const llama_ignored[] = {"max_sequence_length", "is_llama_config",
                                            "unsloth_fixed", NULL};
static const char *const mixtral_ignored[] = {"output_router_logits", NULL};
static const char *const bloom_ignored[] = {"attention_softmax_in_fp32",
                                            "bias_dropout_fusion",
                                            "masked_softmax_fusion",
                                            "offset_alibi",
                                            "skip_bias_add",
                                            "skip_bias_add_qkv",
                                            "slow_but_exact",
                                            NULL};
static const char *const falcon_40b_ignored[] = {"multi_query", NULL};
static const char *const none_ignored[] = {NULL};

/* ---- the families ---------------------------------------------------------------------------- */

#define FAMILY(rules, keys, names)                                                                 \
    .rule = (rules), .n_rules = N(rules), .key = (keys), .n_keys = N(keys), .ignored = (names)
static const struct convert_family family[] = {
    {"gpt2", "gpt2", "GPT2LMHeadModel", "transformer.", "h", FAMILY(gpt2_rules, gpt2_keys, gpt2_ignored)},
    {"gptj", "gptj", "GPTJForCausalLM", "transformer.", "h", FAMILY(gptj_rules, gptj_keys, gpt2_ignored)},
    {"gpt-neox", "gpt_neox", "GPTNeoXForCausalLM", "gpt_neox.", "layers",
     FAMILY(neox_rules, neox_keys, none_ignored)},
    {"llama", "llama", "LlamaForCausalLM", "model.", "layers", FAMILY(llama_rules, llama_keys, llama_ignored)},
    {"mistral", "mistral", "MistralForCausalLM", "model.", "layers",
     FAMILY(llama_rules, mistral_keys, none_ignored)},
    {"mixtral", "mixtral", "MixtralForCausalLM", "model.", "layers",
     FAMILY(mixtral_rules, mixtral_keys, mixtral_ignored)},
    {"bloom", "bloom", "BloomForCausalLM", "transformer.", "h", FAMILY(bloom_rules, bloom_keys, bloom_ignored)},
    {"falcon-7b", "falcon", "FalconForCausalLM", "transformer.", "h",
     FAMILY(falcon_7b_rules, falcon_7b_keys, none_ignored), "new_decoder_architecture", false},
    {"falcon-40b", "falcon", "FalconForCausalLM", "transformer.", "h",
     FAMILY(falcon_40b_rules, falcon_40b_keys, falcon_40b_ignored), "new_decoder_architecture", true},
    {"starcoder", "gpt_bigcode", "GPTBigCodeForCausalLM", "transformer.", "h",
     FAMILY(bigcode_rules, bigcode_keys, bigcode_ignored)},
};
/* clang-format on */

static const char family_names[] =
    "gpt2, gptj, gpt-neox, llama, mistral, mixtral, bloom, falcon-7b, falcon-40b, starcoder";

/* An error that names all families. */
static enum wsc_err unknown(const char *where, const char *name)
{
    return wsc_err_hint(WSC_RAISE(WSC_CONFIG, "%s: %s is not a family that is known", where, name),
                        "known are: %s", family_names);
}

enum wsc_err convert_family_of(const char *path, const json_t *config,
                               const struct convert_family **out)
{
    const char *type = json_string_value(json_object_get(config, "model_type"));
    *out = NULL;
    if (!type) return WSC_RAISE(WSC_FORMAT, "%s: model_type is missing", path);
    for (int i = 0; i < N(family); i++) {
        const struct convert_family *f = &family[i];
        if (strcmp(f->model_type, type) != 0) continue;
        if (f->select && json_is_true(json_object_get(config, f->select)) != f->selected) continue;
        *out = f;
        return WSC_OK;
    }
    return unknown(path, type);
}

enum wsc_err convert_family_named(const char *name, const struct convert_family **out)
{
    *out = NULL;
    for (int i = 0; i < N(family); i++) {
        if (strcmp(family[i].name, name) != 0) continue;
        *out = &family[i];
        return WSC_OK;
    }
    return unknown("--model", name);
}

bool convert_is_buffer(const char *name)
{
    static const char *const ending[] = {".attn.bias",           ".attn.masked_bias",
                                         ".attention.bias",      ".attention.masked_bias",
                                         ".rotary_emb.inv_freq", ".embed_positions"};
    const size_t n = strlen(name);
    for (int i = 0; i < N(ending); i++) {
        const size_t m = strlen(ending[i]);
        if (n >= m && !strcmp(name + n - m, ending[i])) return true;
    }
    return false;
}
