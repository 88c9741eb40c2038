/** Shorthand for the rows of hf_families.c: keys that several families have, and how a key of
 *  config.json stands to one of the params (struct convert_key).
 */
#ifndef WSC_CONVERT_HF_ROWS_H
#define WSC_CONVERT_HF_ROWS_H
#include "hf_special_keys.h"

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
#define WHOLE_HEADS {SPECIAL(whole_heads, "rotary_dim", "head_dim", "partial_rotary_factor")}
#define OWN_HEADS   {SPECIAL(head_dim, "attention_inner_dim", "head_dim")}
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
#define ROTARY_RMS_KEYS(eps, theta)                                                                \
    HIDDEN_KEYS,                                                                                   \
    {BOTH("rms_norm_eps", "layer_norm_epsilon", REAL), MISSING(eps)},                              \
    {THETA, MISSING(theta)},                                                                       \
    SCALING,                                                                                       \
    {BOTH("attention_dropout", "attention_dropout_rate", REAL), MISSING("0.0")},                   \
    {BOTH("initializer_range", "initializer_range", REAL), MISSING("0.02")},                       \
    WHOLE_HEADS,                                                                                   \
    POSITIONS("rotary"),                                                                           \
    {CS_IS("norm_type", "rmsnorm")},                                                               \
    {CS_SETS("dropout_rate", "0.0")},                                                              \
    {CS_SETS("embedding_dropout_rate", "0.0")}
#define NO_BIASES                                                                                  \
    {HF_IS("attention_bias", BOOL, "false")},                                                      \
    BIASES("false", "false", "false", "false")
#define SILU_GATED {BOTH("hidden_act", "nonlinearity", TEXT), MISSING("silu"), .word = gated_activation}
#define LLAMA_KEYS(eps, theta)                                                                     \
    ROTARY_RMS_KEYS(eps, theta),                                                                   \
    SILU_GATED,                                                                                    \
    OWN_HEADS,                                                                                     \
    NO_BIASES,                                                                                     \
    {HF_IS("mlp_bias", BOOL, "false")}
/* clang-format on */
#endif
