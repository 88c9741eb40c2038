// SPDX-License-Identifier: Apache-2.0
/* The families: names of tensors and configuration keys on both sides. A new family is a row with
 * its two tables. Keys that are more than one value are in hf_special_keys.c;
 * hf_family_choice.c finds a row. */
#include "hf_families.h"
#include "hf_family.h"
#include "hf_key.h"
#include "hf_rows.h"
#include "hf_special_keys.h"

/* ---- words ----------------------------------------------------------------------------------- */

static const struct convert_word activation[] = {
    {"gelu_new", "gelu_new"},          {"gelu", "gelu"},          {"relu", "relu"},
    {"gelu_pytorch_tanh", "gelu_new"}, {"gelu_fast", "gelu_new"}, {NULL, NULL}};
static const struct convert_word gated_activation[] = {
    {"silu", "swiglu"}, {"gelu", "geglu"}, {"relu", "reglu"}, {NULL, NULL}};

/* `gelu_pytorch_tanh` is the tanh form, also where a gate multiplies it. */
static const struct convert_word gemma_activation[] = {{"gelu_pytorch_tanh", "geglu_new"},
                                                       {"gelu", "geglu"},
                                                       {"silu", "swiglu"},
                                                       {"relu", "reglu"},
                                                       {NULL, NULL}};
static const struct convert_word t5_activation[] = {
    {"relu", "relu"}, {"gelu", "gelu"}, {"gelu_new", "gelu_new"}, {"silu", "silu"}, {NULL, NULL}};
/* The transformers library uses the tanh form of this function. */
static const struct convert_word t5_gated_activation[] = {{"gated-gelu", "geglu_new"},
                                                          {NULL, NULL}};
static const struct convert_word btlm_activation[] = {{"swiglu", "swiglu"},
                                                      {"gelu_new", "gelu_new"},
                                                      {"gelu", "gelu"},
                                                      {"relu", "relu"},
                                                      {NULL, NULL}};
static const struct convert_word mpt_norm[] = {{"low_precision_layernorm", "biasless-layernorm"},
                                               {"layernorm", "biasless-layernorm"},
                                               {NULL, NULL}};
static const struct convert_word rotary_alone[] = {{"rotary", "rotary"}, {NULL, NULL}};
static const struct convert_word gelu_alone[] = {{"gelu", "gelu"}, {NULL, NULL}};

/* clang-format off */

/* ---- tensors --------------------------------------------------------------------------------- */

#define GPT2_BODY(products)                                                                        \
    {"wte.weight", {"embedding_layer.word_embeddings.weight"}, CONVERT_SAME},                      \
    {"wpe.weight", {"embedding_layer.position_embeddings.embed.weight"}, CONVERT_SAME},            \
    {"#ln_1.*", {"#norm1.*"}, CONVERT_SAME},                                                       \
    {"#attn.c_proj.*", {"#self_attn.proj_output_dense_layer.*"}, products},                        \
    {"#ln_2.*", {"#norm3.*"}, CONVERT_SAME},                                                       \
    {"#mlp.c_fc.*", {"#ffn.ffn.0.linear_layer.*"}, products},                                      \
    {"#mlp.c_proj.*", {"#ffn.ffn.1.linear_layer.*"}, products},                                    \
    {"ln_f.*", {"transformer_decoder.norm.*"}, CONVERT_SAME},                                      \
    {"/lm_head.weight", {"lm_head.weight"}, CONVERT_SAME}
#define GPT2_RULES(attention, products)                                                            \
    GPT2_BODY(products),                                                                           \
    {"#attn.c_attn.*",                                                                             \
     {"#self_attn.proj_q_dense_layer.*", "#self_attn.proj_k_dense_layer.*",                        \
      "#self_attn.proj_v_dense_layer.*"}, attention}
/* Conv1D stores weights as (in, out), so linear layers are transposed. */
static const struct convert_rule gpt2_rules[] = {GPT2_RULES(CONVERT_TRANSPOSED, CONVERT_TRANSPOSED)};
/* Linear layers are stored as (out, in); one group of queries, key and value. */
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
/* Queries, keys and values are joined head by head; rotary halves of the folder are pairs here. */
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
/* @p field: "weight", or "*" where queries, keys and values have biases. */
#define ROTARY_RMS_RULES(field, norms)                                                             \
    {"embed_tokens.weight", {"embedding_layer.word_embeddings.weight"}, CONVERT_SAME},             \
    {"#input_layernorm.weight", {"#norm1.weight"}, norms},                                         \
    {"#self_attn.q_proj." field, {"#self_attn.proj_q_dense_layer." field}, CONVERT_ROTARY},        \
    {"#self_attn.k_proj." field, {"#self_attn.proj_k_dense_layer." field}, CONVERT_ROTARY},        \
    {"#self_attn.v_proj." field, {"#self_attn.proj_v_dense_layer." field}, CONVERT_SAME},          \
    {"#self_attn.o_proj.weight", {"#self_attn.proj_output_dense_layer.weight"}, CONVERT_SAME},     \
    {"norm.weight", {"transformer_decoder.norm.weight"}, norms},                                   \
    {"/lm_head.weight", {"lm_head.weight"}, CONVERT_SAME}
#define LLAMA_RULES(field)                                                                         \
    ROTARY_RMS_RULES(field, CONVERT_SAME),                                                         \
    {"#post_attention_layernorm.weight", {"#norm3.weight"}, CONVERT_SAME}
#define GATED_RULES                                                                                \
    {"#mlp.gate_proj.weight", {"#ffn.ffn.0.linear_layer_for_glu.weight"}, CONVERT_SAME},           \
    {"#mlp.up_proj.weight", {"#ffn.ffn.0.linear_layer.weight"}, CONVERT_SAME},                     \
    {"#mlp.down_proj.weight", {"#ffn.ffn.1.linear_layer.weight"}, CONVERT_SAME}
static const struct convert_rule llama_rules[] = {LLAMA_RULES("weight"), GATED_RULES};
static const struct convert_rule qwen2_rules[] = {LLAMA_RULES("*"), GATED_RULES};
/* Norms before and after attention and network; 1 is added to their weights. */
static const struct convert_rule gemma2_rules[] = {
    ROTARY_RMS_RULES("weight", CONVERT_OFFSET),
    {"#post_attention_layernorm.weight", {"#norm1_post.weight"}, CONVERT_OFFSET},
    {"#pre_feedforward_layernorm.weight", {"#norm3.weight"}, CONVERT_OFFSET},
    {"#post_feedforward_layernorm.weight", {"#norm3_post.weight"}, CONVERT_OFFSET},
    GATED_RULES,
};
#define EXPERT "#ffn.experts.experts.@."
static const struct convert_rule mixtral_rules[] = {
    LLAMA_RULES("weight"),
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

static const struct convert_rule santacoder_rules[] = {
    GPT2_BODY(CONVERT_TRANSPOSED),
    {"#attn.q_attn.*", {"#self_attn.proj_q_dense_layer.*"}, CONVERT_TRANSPOSED},
    {"#attn.kv_attn.*", {"#self_attn.proj_k_dense_layer.*", "#self_attn.proj_v_dense_layer.*"},
     CONVERT_TRANSPOSED},
};
static const struct convert_rule btlm_rules[] = {
    GPT2_RULES(CONVERT_TRANSPOSED, CONVERT_TRANSPOSED),
    {"#mlp.c_fc2.*", {"#ffn.ffn.0.linear_layer_for_glu.*"}, CONVERT_TRANSPOSED},
};
static const struct convert_rule mpt_rules[] = {
    {"wte.weight", {"embedding_layer.word_embeddings.weight"}, CONVERT_SAME},
    {"#norm_1.weight", {"#norm1.weight"}, CONVERT_SAME},
    {"#attn.Wqkv.weight",
     {"#self_attn.proj_q_dense_layer.weight", "#self_attn.proj_k_dense_layer.weight",
      "#self_attn.proj_v_dense_layer.weight"}, CONVERT_SAME},
    {"#attn.out_proj.weight", {"#self_attn.proj_output_dense_layer.weight"}, CONVERT_SAME},
    {"#norm_2.weight", {"#norm3.weight"}, CONVERT_SAME},
    {"#ffn.up_proj.weight", {"#ffn.ffn.0.linear_layer.weight"}, CONVERT_SAME},
    {"#ffn.down_proj.weight", {"#ffn.ffn.1.linear_layer.weight"}, CONVERT_SAME},
    {"norm_f.weight", {"transformer_decoder.norm.weight"}, CONVERT_SAME},
    {"/lm_head.weight", {"lm_head.weight"}, CONVERT_SAME},
};
/* The rules of GPT-J, but queries, values and keys (in this order) are in four groups of heads. */
static const struct convert_rule codegen_rules[] = {
    {"wte.weight", {"embedding_layer.word_embeddings.weight"}, CONVERT_SAME},
    {"#ln_1.*", {"#norm1.*"}, CONVERT_SAME},
    {"#attn.qkv_proj.weight",
     {"#self_attn.proj_q_dense_layer.weight", "#self_attn.proj_v_dense_layer.weight",
      "#self_attn.proj_k_dense_layer.weight"}, CONVERT_QUARTERS},
    {"#attn.out_proj.weight", {"#self_attn.proj_output_dense_layer.weight"}, CONVERT_SAME},
    {"#mlp.fc_in.*", {"#ffn.ffn.0.linear_layer.*"}, CONVERT_SAME},
    {"#mlp.fc_out.*", {"#ffn.ffn.1.linear_layer.*"}, CONVERT_SAME},
    {"ln_f.*", {"transformer_decoder.norm.*"}, CONVERT_SAME},
    {"/lm_head.*", {"lm_head.*"}, CONVERT_SAME},
};
/* Encoders of the Model Zoo's class of BERT, with norms after the sums or before the sublayers. */
#define ENCODER "bert_encoder."
#define TUNED   "bert."
#define ENCODER_RULES(at, rotary)                                                                  \
    {"embeddings.word_embeddings.weight", {at "embedding_layer.word_embeddings.weight"},      \
     CONVERT_SAME},                                                                                \
    {"#attention.self.query.*", {"#self_attn.proj_q_dense_layer.*"}, rotary},                      \
    {"#attention.self.key.*", {"#self_attn.proj_k_dense_layer.*"}, rotary},                        \
    {"#attention.self.value.*", {"#self_attn.proj_v_dense_layer.*"}, CONVERT_SAME},                \
    {"#attention.output.dense.*", {"#self_attn.proj_output_dense_layer.*"}, CONVERT_SAME},         \
    {"#intermediate.dense.*", {"#ffn.ffn.0.linear_layer.*"}, CONVERT_SAME},                        \
    {"#output.dense.*", {"#ffn.ffn.1.linear_layer.*"}, CONVERT_SAME}
#define BERT_RULES(at)                                                                             \
    ENCODER_RULES(at, CONVERT_SAME),                                                                   \
    {"embeddings.position_embeddings.weight",                                                      \
     {at "embedding_layer.position_embeddings.embed.weight"}, CONVERT_SAME},                  \
    {"embeddings.token_type_embeddings.weight",                                                    \
     {at "embedding_layer.segment_embeddings.weight"}, CONVERT_SAME},                         \
    {"embeddings.LayerNorm.*", {at "embed_ln_f.*"}, CONVERT_SAME},                            \
    {"#attention.output.LayerNorm.*", {"#norm1.*"}, CONVERT_SAME},                                 \
    {"#output.LayerNorm.*", {"#norm2.*"}, CONVERT_SAME}
#define MASKED_HEAD_RULES(dense, norm, output, bias)                                               \
    {dense, {"bert_mlm_head.mlm_transform.ffn.ffn.0.linear_layer.*"}, CONVERT_SAME},               \
    {norm, {"bert_mlm_head.mlm_transform.ln.*"}, CONVERT_SAME},                                    \
    {output, {"bert_mlm_head.classifier.ffn.0.linear_layer.weight"}, CONVERT_SAME},                \
    {bias, {"bert_mlm_head.classifier.ffn.0.linear_layer.bias"}, CONVERT_SAME}
static const struct convert_rule bert_rules[] = {
    BERT_RULES(ENCODER),
    {"pooler.dense.*", {ENCODER "pooler.pooler.ffn.0.linear_layer.*"}, CONVERT_SAME},
    MASKED_HEAD_RULES("/cls.predictions.transform.dense.*", "/cls.predictions.transform.LayerNorm.*",
                      "/cls.predictions.decoder.weight", "/cls.predictions.bias"),
    {"/cls.seq_relationship.*", {"bert_cls_head.classifier.ffn.0.linear_layer.*"}, CONVERT_SAME},
};
#define LM_HEAD_RULES                                                                              \
    MASKED_HEAD_RULES("/lm_head.dense.*", "/lm_head.layer_norm.*", "/lm_head.decoder.weight",      \
                      "/lm_head.bias")
static const struct convert_rule roberta_rules[] = {BERT_RULES(ENCODER), LM_HEAD_RULES};
/* Heads: classes of sequences from the first token, classes of tokens, ends of an answer. */
static const struct convert_rule bert_sequence_rules[] = {
    BERT_RULES(TUNED),
    {"pooler.dense.*", {TUNED "pooler.pooler.ffn.0.linear_layer.*"}, CONVERT_SAME},
    {"/classifier.*", {"classifier.*"}, CONVERT_SAME},
};
static const struct convert_rule roberta_sequence_rules[] = {
    BERT_RULES(TUNED),
    {"/classifier.dense.*", {TUNED "pooler.pooler.ffn.0.linear_layer.*"}, CONVERT_SAME},
    {"/classifier.out_proj.*", {"classifier.*"}, CONVERT_SAME},
};
static const struct convert_rule bert_token_rules[] = {
    BERT_RULES(TUNED),
    {"/classifier.*", {"classifier.*"}, CONVERT_SAME},
};
static const struct convert_rule bert_answer_rules[] = {
    BERT_RULES(TUNED),
    {"/qa_outputs.*", {"classifier.*"}, CONVERT_SAME},
};
#define ESM_RULES                                                                                  \
    ENCODER_RULES(ENCODER, CONVERT_ROTARY),                                                        \
    {"#attention.LayerNorm.*", {"#norm1.*"}, CONVERT_SAME},                                        \
    {"#LayerNorm.*", {"#norm2.*"}, CONVERT_SAME},                                                  \
    {"encoder.emb_layer_norm_after.*", {ENCODER "transformer_encoder.norm.*"}, CONVERT_SAME}
static const struct convert_rule esm_rules[] = {ESM_RULES, LM_HEAD_RULES};
static const struct convert_rule esm_sequence_rules[] = {
    ESM_RULES,
    {"/classifier.dense.*", {"/classifier.bert_pooler.pooler.ffn.0.linear_layer.*"}, CONVERT_SAME},
    {"/classifier.out_proj.*", {"/classifier.classifier.*"}, CONVERT_SAME},
};
static const struct convert_rule esm_token_rules[] = {
    ESM_RULES,
    {"/classifier.*", {"classifier.*"}, CONVERT_SAME},
};

/* A folder has the table of relative positions in the first block, a checkpoint beside the
 * embeddings. */
#define T5_RULES                                                                                   \
    {"shared.weight", {"encoder_embeddings.word_embeddings.weight"}, CONVERT_SAME},                \
    {"encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight",                       \
     {"encoder_embeddings.position_embed_helper.relative_attention_bias.weight"}, CONVERT_SAME},   \
    {"#layer.0.SelfAttention.q.weight", {"#self_attn.proj_q_dense_layer.weight"}, CONVERT_SAME},   \
    {"#layer.0.SelfAttention.k.weight", {"#self_attn.proj_k_dense_layer.weight"}, CONVERT_SAME},   \
    {"#layer.0.SelfAttention.v.weight", {"#self_attn.proj_v_dense_layer.weight"}, CONVERT_SAME},   \
    {"#layer.0.SelfAttention.o.weight", {"#self_attn.proj_output_dense_layer.weight"}, CONVERT_SAME},\
    {"#layer.0.layer_norm.weight", {"#norm1.weight"}, CONVERT_SAME},                               \
    {"#layer.1.DenseReluDense.wo.weight", {"#ffn.ffn.1.linear_layer.weight"}, CONVERT_SAME},       \
    {"#layer.1.layer_norm.weight", {"#norm2.weight"}, CONVERT_SAME},                               \
    {"encoder.final_layer_norm.weight", {"encoder.norm.weight"}, CONVERT_SAME},                    \
    {"decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight",                       \
     {"decoder_embeddings.position_embed_helper.relative_attention_bias.weight"}, CONVERT_SAME},   \
    {"&layer.0.SelfAttention.q.weight", {"&self_attn.proj_q_dense_layer.weight"}, CONVERT_SAME},   \
    {"&layer.0.SelfAttention.k.weight", {"&self_attn.proj_k_dense_layer.weight"}, CONVERT_SAME},   \
    {"&layer.0.SelfAttention.v.weight", {"&self_attn.proj_v_dense_layer.weight"}, CONVERT_SAME},   \
    {"&layer.0.SelfAttention.o.weight", {"&self_attn.proj_output_dense_layer.weight"}, CONVERT_SAME},\
    {"&layer.0.layer_norm.weight", {"&norm1.weight"}, CONVERT_SAME},                               \
    {"&layer.1.EncDecAttention.q.weight", {"&multihead_attn.proj_q_dense_layer.weight"}, CONVERT_SAME},\
    {"&layer.1.EncDecAttention.k.weight", {"&multihead_attn.proj_k_dense_layer.weight"}, CONVERT_SAME},\
    {"&layer.1.EncDecAttention.v.weight", {"&multihead_attn.proj_v_dense_layer.weight"}, CONVERT_SAME},\
    {"&layer.1.EncDecAttention.o.weight", {"&multihead_attn.proj_output_dense_layer.weight"}, CONVERT_SAME},\
    {"&layer.1.layer_norm.weight", {"&norm2.weight"}, CONVERT_SAME},                               \
    {"&layer.2.DenseReluDense.wo.weight", {"&ffn.ffn.1.linear_layer.weight"}, CONVERT_SAME},       \
    {"&layer.2.layer_norm.weight", {"&norm3.weight"}, CONVERT_SAME},                               \
    {"decoder.final_layer_norm.weight", {"decoder.norm.weight"}, CONVERT_SAME},                    \
    {"/lm_head.weight", {"lm_head.weight"}, CONVERT_SAME}
static const struct convert_rule t5_rules[] = {
    T5_RULES,
    {"#layer.1.DenseReluDense.wi.weight", {"#ffn.ffn.0.linear_layer.weight"}, CONVERT_SAME},
    {"&layer.2.DenseReluDense.wi.weight", {"&ffn.ffn.0.linear_layer.weight"}, CONVERT_SAME},
};
static const struct convert_rule t5_gated_rules[] = {
    T5_RULES,
    {"#layer.1.DenseReluDense.wi_0.weight", {"#ffn.ffn.0.linear_layer_for_glu.weight"}, CONVERT_SAME},
    {"#layer.1.DenseReluDense.wi_1.weight", {"#ffn.ffn.0.linear_layer.weight"}, CONVERT_SAME},
    {"&layer.2.DenseReluDense.wi_0.weight", {"&ffn.ffn.0.linear_layer_for_glu.weight"}, CONVERT_SAME},
    {"&layer.2.DenseReluDense.wi_1.weight", {"&ffn.ffn.0.linear_layer.weight"}, CONVERT_SAME},
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
/* A LLaMA whose projections to queries, keys and values have biases. */
static const struct convert_key qwen2_keys[] = {
    {CS_SETS("name", "llama")},
    ROTARY_RMS_KEYS("1e-06", "10000.0"),
    SILU_GATED,
    OWN_HEADS,
    {SPECIAL(kv_heads, "extra_attention_params", "num_key_value_heads"), MISSING("32")},
    TIED("false"),
    BIASES("true", "false", "false", "false"),
    {SPECIAL(full_layers, "attention_sliding_window_length", "use_sliding_window", "layer_types")},
    {HF_IS("use_mrope", BOOL, "false")},
};
static const struct convert_key gemma2_keys[] = {
    {CS_SETS("name", "gemma2")},
    ROTARY_RMS_KEYS("1e-06", "10000.0"),
    {BOTH("hidden_activation", "nonlinearity", TEXT), MISSING("gelu_pytorch_tanh"), .word = gemma_activation},
    {SPECIAL(head_dim, "attention_inner_dim", "head_dim"), MISSING("256")},
    {SPECIAL(query_scalar, "attention_logits_alpha", "query_pre_attn_scalar"), MISSING("256")},
    {SPECIAL(root_scale, "embeddings_scale", NULL)},
    {SPECIAL(kv_heads, "extra_attention_params", "num_key_value_heads"), MISSING("4")},
    NO_BIASES,
    TIED("true"),
    {BOTH("sliding_window", "attention_sliding_window_length", INT), MISSING("4096")},
    {SPECIAL(other_layers, "sliding_window_every_other_decoder_layer", "layer_types")},
    {BOTH("attn_logit_softcapping", "attention_logit_softcapping", REAL), MISSING("50.0")},
    {BOTH("final_logit_softcapping", "final_logit_softcapping", REAL), MISSING("30.0")},
    {CS_IS("norm_first_sandwich", "true")},
    {CS_IS("output_logits_scale", "1.0")},
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
    WHOLE_HEADS,                                                                                   \
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

#define BY_LAYER                                                                                   \
    {BOTH("scale_attn_by_inverse_layer_idx", "scale_qk_dot_by_layer_idx", BOOL), MISSING("false")}
static const struct convert_key santacoder_keys[] = {
    GPT2_MODEL_KEYS("santacoder", "gelu_fast", BY_LAYER),
    {HF_IS("attention_head_type", TEXT, "multiquery")},
    {SPECIAL(one_kv_head, "extra_attention_params", NULL)},
};
/* BTLM and Jais have keys for the factors of muP, in two spellings. */
#define BTLM_KEYS(family)                                                                          \
    {CS_SETS("name", family)},                                                                     \
    GPT2_KEYS,                                                                                     \
    NO_SCALING,                                                                                    \
    NO_WINDOW,                                                                                     \
    {BOTH("activation_function", "nonlinearity", TEXT), MISSING("gelu_new"), .word = btlm_activation}, \
    {BOTH("resid_pdrop", "dropout_rate", REAL), MISSING("0.1")},                                   \
    TIED("true"),                                                                                  \
    BY_LAYER,                                                                                      \
    {HF_IS("scale_attn_weights", BOOL, "true")},                                                   \
    {BOTH("mup_embeddings_scale", "embeddings_scale", REAL), OLD("embeddings_scale"), MISSING("1.0")}, \
    {SPECIAL(logits_scale, "output_logits_scale", "mup_output_alpha", "mup_width_scale", "width_scale")}, \
    {BOTH("mup_scale_qk_dot_by_d", "scale_qk_dot_by_d", BOOL), OLD("scale_qk_dot_by_d"), MISSING("false")}, \
    {CS_IS("attention_logits_alpha", "1.0")},                                                      \
    {HF_IS("position_embedding_type", TEXT, "alibi")},                                             \
    {HF_IS("alibi_scaling", TEXT, "null")},                                                        \
    POSITIONS("alibi"),                                                                            \
    BIASES("true", "true", "true", "false")
static const struct convert_key btlm_keys[] = {BTLM_KEYS("btlm")};
static const struct convert_key jais_keys[] = {BTLM_KEYS("jais")};
static const struct convert_key mpt_keys[] = {
    {CS_SETS("name", "mpt")},
    NO_SCALING,
    NO_WINDOW,
    {BOTH("vocab_size", "vocab_size", INT)},
    {BOTH("d_model", "hidden_size", INT)},
    {BOTH("n_layers", "num_hidden_layers", INT)},
    {BOTH("n_heads", "num_heads", INT)},
    {BOTH("max_seq_len", "max_position_embeddings", INT)},
    {SPECIAL(expansion, "filter_size", "expansion_ratio")},
    {SPECIAL(mpt_attention, "attention_dropout_rate", "attn_config")},
    {BOTH("layer_norm_epsilon", "layer_norm_epsilon", REAL), MISSING("1e-05")},
    {BOTH("norm_type", "norm_type", TEXT), MISSING("low_precision_layernorm"), .word = mpt_norm},
    {BOTH("emb_pdrop", "embedding_dropout_rate", REAL), MISSING("0.0")},
    {BOTH("resid_pdrop", "dropout_rate", REAL), MISSING("0.0")},
    {BOTH("initializer_range", "initializer_range", REAL), MISSING("0.02")},
    TIED("true"),
    {HF_IS("no_bias", BOOL, "true")},
    {HF_IS("logit_scale", TEXT, "null")},
    {HF_IS("embedding_fraction", REAL, "1.0")},
    {CS_IS("nonlinearity", "gelu")},
    POSITIONS("alibi"),
    BIASES("false", "false", "false", "false"),
};
static const struct convert_key codegen_keys[] = {
    NO_SCALING,
    NO_WINDOW,
    {CS_SETS("name", "gptj")},
    GPT2_KEYS,
    {SPECIAL(quarters, "num_heads", "n_head")},
    {BOTH("activation_function", "nonlinearity", TEXT), MISSING("gelu_new"), .word = activation},
    {BOTH("resid_pdrop", "residual_dropout_rate", REAL), MISSING("0.0")},
    TIED("false"),
    {BOTH("rotary_dim", "rotary_dim", INT), MISSING("64")},
    {HF_IS("scale_attn_weights", BOOL, "true")},
    POSITIONS("rotary"),
    {CS_IS("use_untied_layer_norm", "false")},
    BIASES("false", "false", "true", "true"),
};
#define ENCODER_KEYS(family, eps)                                                                  \
    {CS_SETS("name", family)},                                                                     \
    {BOTH("vocab_size", "vocab_size", INT)},                                                       \
    {BOTH("hidden_size", "hidden_size", INT)},                                                     \
    {BOTH("num_hidden_layers", "num_hidden_layers", INT)},                                         \
    {BOTH("num_attention_heads", "num_heads", INT)},                                               \
    {BOTH("intermediate_size", "filter_size", INT)},                                               \
    {BOTH("layer_norm_eps", "layer_norm_epsilon", REAL), MISSING(eps)},                            \
    {BOTH("hidden_dropout_prob", "dropout_rate", REAL), MISSING("0.1")},                           \
    {BOTH("attention_probs_dropout_prob", "attention_dropout_rate", REAL), MISSING("0.1")},        \
    {BOTH("initializer_range", "initializer_range", REAL), MISSING("0.02")},                       \
    {HF_IS("is_decoder", BOOL, "false")},                                                          \
    TIED("true"),                                                                                  \
    BIASES("true", "true", "true", "true")
#define ABSOLUTE                                                                                   \
    {HF_IS("position_embedding_type", TEXT, "absolute")},                                          \
    POSITIONS("learned"),                                                                          \
    {CS_IS("embedding_layer_norm", "true")}
#define BERT_KEYS                                                                                  \
    ENCODER_KEYS("bert", "1e-12"),                                                                 \
    ABSOLUTE,                                                                                      \
    {BOTH("hidden_act", "nonlinearity", TEXT), MISSING("gelu"), .word = activation},               \
    {BOTH("max_position_embeddings", "max_position_embeddings", INT), MISSING("512")},             \
    {BOTH("type_vocab_size", "num_segments", INT), MISSING("2")},                                  \
    {BOTH("pad_token_id", "pad_token_id", INT), MISSING("0")},                                     \
    {CS_IS("mask_padding_in_positional_embed", "false")}
#define ROBERTA_KEYS                                                                               \
    ENCODER_KEYS("bert", "1e-12"),                                                                 \
    ABSOLUTE,                                                                                      \
    {BOTH("hidden_act", "nonlinearity", TEXT), MISSING("gelu"), .word = activation},               \
    {SPECIAL(padded_positions, "max_position_embeddings", "max_position_embeddings")},             \
    {BOTH("type_vocab_size", "num_segments", INT), MISSING("2")},                                  \
    {BOTH("pad_token_id", "pad_token_id", INT), MISSING("1")},                                     \
    {CS_IS("mask_padding_in_positional_embed", "true")}
#define ESM_KEYS                                                                                   \
    ENCODER_KEYS("esm2", "1e-12"),                                                                 \
    {BOTH("position_embedding_type", "position_embedding_type", TEXT), .word = rotary_alone},      \
    {BOTH("hidden_act", "nonlinearity", TEXT), MISSING("gelu"), .word = gelu_alone},               \
    {BOTH("max_position_embeddings", "max_position_embeddings", INT), MISSING("1026")},            \
    {BOTH("pad_token_id", "pad_token_id", INT), MISSING("1")},                                     \
    {BOTH("mask_token_id", "mask_token_id", INT), MISSING("32")},                                  \
    {BOTH("token_dropout", "token_dropout", BOOL), MISSING("false")},                              \
    {HF_IS("emb_layer_norm_before", BOOL, "false")},                                               \
    {HF_IS("is_folding_model", BOOL, "false")},                                                    \
    {HF_IS("esmfold_config", TEXT, "null")},                                                       \
    WHOLE_HEADS,                                                                                   \
    NO_SCALING,                                                                                    \
    {CS_IS("rope_theta", "10000.0")},                                                              \
    {CS_IS("num_segments", "0")},                                                                  \
    {CS_IS("embedding_layer_norm", "false")},                                                      \
    {CS_IS("use_final_layer_norm", "true")}
/* Heads of classes: number of classes, dropout before the head, nonlinearity of the pooler. */
#define SEQUENCE_HEAD                                                                              \
    {SPECIAL(sequence_objective, "objective", "id2label", "num_labels", "problem_type")},          \
    {SPECIAL(sequence_labels, "num_labels", "id2label", "num_labels", "problem_type")},            \
    {SPECIAL(head_dropout, "task_dropout", "classifier_dropout")},                                 \
    {CS_IS("pooler_nonlinearity", "tanh")}
#define TOKEN_HEAD                                                                                 \
    {CS_IS("objective", "token_classification")},                                                  \
    {SPECIAL(labels, "num_labels", "id2label", "num_labels", "problem_type")},                     \
    {SPECIAL(head_dropout, "task_dropout", "classifier_dropout")}
#define ANSWER_HEAD {CS_IS("objective", "span")}
static const struct convert_key bert_keys[] = {
    BERT_KEYS,
    {SPECIAL(bert_heads, "disable_nsp", "architectures")},
};
static const struct convert_key roberta_keys[] = {
    ROBERTA_KEYS,
    {SPECIAL(masked_head, "disable_nsp", "architectures")},
    {CS_IS("mlm_nonlinearity", "gelu")},
};
static const struct convert_key esm_keys[] = {
    ESM_KEYS,
    {SPECIAL(masked_head, "disable_nsp", "architectures")},
    {CS_IS("mlm_nonlinearity", "gelu")},
};
static const struct convert_key bert_sequence_keys[] = {BERT_KEYS, SEQUENCE_HEAD};
static const struct convert_key bert_token_keys[] = {BERT_KEYS, TOKEN_HEAD};
static const struct convert_key bert_answer_keys[] = {BERT_KEYS, ANSWER_HEAD};
static const struct convert_key roberta_sequence_keys[] = {ROBERTA_KEYS, SEQUENCE_HEAD};
static const struct convert_key roberta_token_keys[] = {ROBERTA_KEYS, TOKEN_HEAD};
static const struct convert_key roberta_answer_keys[] = {ROBERTA_KEYS, ANSWER_HEAD};
static const struct convert_key esm_sequence_keys[] = {ESM_KEYS, SEQUENCE_HEAD};
static const struct convert_key esm_token_keys[] = {ESM_KEYS, TOKEN_HEAD};

#define T5_KEYS(tied, words)                                                                       \
    {CS_SETS("name", "t5")},                                                                       \
    {SPECIAL(pair_vocabulary, "vocab_size", "vocab_size")},                                        \
    {CS_SETS("extra_ids", "0")},                                                                   \
    {BOTH("d_model", "hidden_size", INT)},                                                         \
    {BOTH("d_kv", "d_kv", INT)},                                                                   \
    {BOTH("d_ff", "filter_size", INT)},                                                            \
    {BOTH("num_layers", "num_hidden_layers", INT)},                                                \
    {BOTH("num_decoder_layers", "decoder_num_hidden_layers", INT), MISSING("null")},               \
    {BOTH("num_heads", "num_heads", INT)},                                                         \
    {BOTH("n_positions", "max_position_embeddings", INT), MISSING("512")},                         \
    {BOTH("relative_attention_num_buckets", "relative_attention_num_buckets", INT), MISSING("32")},\
    {HF_IS("relative_attention_max_distance", INT, "128")},                                        \
    {BOTH("dropout_rate", "dropout_rate", REAL), MISSING("0.1")},                                  \
    {BOTH("layer_norm_epsilon", "layer_norm_epsilon", REAL), MISSING("1e-06")},                    \
    {BOTH("initializer_factor", "initializer_factor", REAL), MISSING("1.0")},                      \
    {BOTH("decoder_start_token_id", "decoder_start_token_id", INT), MISSING("0")},                 \
    {HF_IS("is_encoder_decoder", BOOL, "true")},                                                   \
    POSITIONS("relative"),                                                                         \
    {CS_IS("norm_type", "rmsnorm")},                                                               \
    {CS_IS("share_encoder_decoder_embedding", "true")},                                            \
    {CS_IS("use_pre_encoder_decoder_layer_norm", "true")},                                         \
    {CS_IS("use_transformer_initialization", "false")},                                            \
    {CS_IS("attention_type", "dot_product")},                                                      \
    BIASES("false", "false", "false", "false"),                                                    \
    {BOTH("feed_forward_proj", "nonlinearity", TEXT), MISSING("relu"), .word = (words)},           \
    {.hf = "dense_act_fn", .to_cs = convert_dense_act_to_cs, .to_hf = convert_dense_act_to_hf,     \
     .reads = {"is_gated_act"}},                                                                   \
    TIED(tied)
static const struct convert_key t5_keys[] = {T5_KEYS("true", t5_activation)};
static const struct convert_key t5_gated_keys[] = {T5_KEYS("true", t5_gated_activation)};

/* ---- keys without influence ------------------------------------------------------------------ */

/* Keys without influence of one family; those of any folder are in hf_config.c. */
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
/* Windows have no effect without use_sliding_window. */
static const char *const qwen2_ignored[] = {"sliding_window", "max_window_layers", NULL};
static const char *const gemma2_ignored[] = {"hidden_act", "cache_implementation",
                                             "sliding_window_size", NULL};
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
static const char *const mpt_ignored[] = {"learned_pos_emb", "init_device", "init_config",
                                          "tokenizer_name",  "verbose",     NULL};
static const char *const esm_ignored[] = {"vocab_list", NULL};

/* ---- tensors of other tasks ------------------------------------------------------------------ */

static const char *const bert_beside[] = {"pooler.dense.weight", "pooler.dense.bias",
                                          "cls.seq_relationship.weight",
                                          "cls.seq_relationship.bias", NULL};
/* Tensors that the first releases of T5 saved, and that no release of the transformers library
 * reads. */
static const char *const t5_beside[] = {
    "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight", NULL};
static const char *const t5_copies[] = {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight",
                                        NULL};
static const char *const esm_beside[] = {
    "pooler.dense.weight", "pooler.dense.bias", "contact_head.regression.weight",
    "contact_head.regression.bias", "embeddings.position_embeddings.weight", NULL};

/* ---- the families ---------------------------------------------------------------------------- */

#define FAMILY(rules, keys, names)                                                                 \
    .rule = (rules), .n_rules = N(rules), .key = (keys), .n_keys = N(keys), .ignored = (names)
#define ENCODES                                                                                    \
    .stack = "bert_encoder.transformer_encoder.layers", .processor = "BertHDF5DataProcessor"
#define PAIRS                                                                                      \
    .stack = "encoder.layers", .decoder_blocks = "decoder.block", .decoder_stack = "decoder.layers", \
    .beside = t5_beside, .copies = t5_copies, .processor = "T5HDF5DataProcessor", .has_factors = true
const struct convert_family convert_families[] = {
    {"santacoder", "gpt2", "GPT2LMHeadCustomModel", "transformer.", "h",
     FAMILY(santacoder_rules, santacoder_keys, gpt2_ignored), .select = "attention_head_type",
     .selected = "multiquery"},
    {"gpt2", "gpt2", "GPT2LMHeadModel", "transformer.", "h", FAMILY(gpt2_rules, gpt2_keys, gpt2_ignored)},
    {"gptj", "gptj", "GPTJForCausalLM", "transformer.", "h", FAMILY(gptj_rules, gptj_keys, gpt2_ignored)},
    {"gpt-neox", "gpt_neox", "GPTNeoXForCausalLM", "gpt_neox.", "layers",
     FAMILY(neox_rules, neox_keys, none_ignored)},
    {"llama", "llama", "LlamaForCausalLM", "model.", "layers", FAMILY(llama_rules, llama_keys, llama_ignored)},
    {"mistral", "mistral", "MistralForCausalLM", "model.", "layers",
     FAMILY(llama_rules, mistral_keys, none_ignored)},
    {"mixtral", "mixtral", "MixtralForCausalLM", "model.", "layers",
     FAMILY(mixtral_rules, mixtral_keys, mixtral_ignored)},
    {"qwen2", "qwen2", "Qwen2ForCausalLM", "model.", "layers", FAMILY(qwen2_rules, qwen2_keys, qwen2_ignored)},
    {"gemma2", "gemma2", "Gemma2ForCausalLM", "model.", "layers",
     FAMILY(gemma2_rules, gemma2_keys, gemma2_ignored), .has_factors = true},
    {"bloom", "bloom", "BloomForCausalLM", "transformer.", "h", FAMILY(bloom_rules, bloom_keys, bloom_ignored)},
    {"falcon-7b", "falcon", "FalconForCausalLM", "transformer.", "h",
     FAMILY(falcon_7b_rules, falcon_7b_keys, none_ignored), .select = "new_decoder_architecture", .selected = "false"},
    {"falcon-40b", "falcon", "FalconForCausalLM", "transformer.", "h",
     FAMILY(falcon_40b_rules, falcon_40b_keys, falcon_40b_ignored), .select = "new_decoder_architecture", .selected = "true"},
    {"starcoder", "gpt_bigcode", "GPTBigCodeForCausalLM", "transformer.", "h",
     FAMILY(bigcode_rules, bigcode_keys, bigcode_ignored)},
    {"btlm", "btlm", "BTLMLMHeadModel", "transformer.", "h", FAMILY(btlm_rules, btlm_keys, gpt2_ignored),
     .has_factors = true},
    {"jais", "jais", "JAISLMHeadModel", "transformer.", "h", FAMILY(btlm_rules, jais_keys, gpt2_ignored),
     .has_factors = true},
    {"mpt", "mpt", "MptForCausalLM", "transformer.", "blocks", FAMILY(mpt_rules, mpt_keys, mpt_ignored)},
    {"codegen", "codegen", "CodeGenForCausalLM", "transformer.", "h",
     FAMILY(codegen_rules, codegen_keys, gpt2_ignored)},
    {"bert-classifier", "bert", "BertForSequenceClassification", "bert.", "encoder.layer",
     FAMILY(bert_sequence_rules, bert_sequence_keys, none_ignored), .select = "architectures", .selected = "BertForSequenceClassification",
     .beside = bert_beside, .stack = "bert.transformer_encoder.layers", .processor = "SST2DataProcessor"},
    {"bert-tokens", "bert", "BertForTokenClassification", "bert.", "encoder.layer",
     FAMILY(bert_token_rules, bert_token_keys, none_ignored), .select = "architectures", .selected = "BertForTokenClassification",
     .beside = bert_beside, .stack = "bert.transformer_encoder.layers", .processor = "BertTokenClassifierDataProcessor"},
    {"bert-answers", "bert", "BertForQuestionAnswering", "bert.", "encoder.layer",
     FAMILY(bert_answer_rules, bert_answer_keys, none_ignored), .select = "architectures", .selected = "BertForQuestionAnswering",
     .beside = bert_beside, .stack = "bert.transformer_encoder.layers", .processor = "BertQADataProcessor"},
    {"roberta-classifier", "roberta", "RobertaForSequenceClassification", "roberta.", "encoder.layer",
     FAMILY(roberta_sequence_rules, roberta_sequence_keys, none_ignored), .select = "architectures", .selected = "RobertaForSequenceClassification",
     .beside = bert_beside, .stack = "bert.transformer_encoder.layers", .processor = "SST2DataProcessor"},
    {"roberta-tokens", "roberta", "RobertaForTokenClassification", "roberta.", "encoder.layer",
     FAMILY(bert_token_rules, roberta_token_keys, none_ignored), .select = "architectures", .selected = "RobertaForTokenClassification",
     .beside = bert_beside, .stack = "bert.transformer_encoder.layers", .processor = "BertTokenClassifierDataProcessor"},
    {"roberta-answers", "roberta", "RobertaForQuestionAnswering", "roberta.", "encoder.layer",
     FAMILY(bert_answer_rules, roberta_answer_keys, none_ignored), .select = "architectures", .selected = "RobertaForQuestionAnswering",
     .beside = bert_beside, .stack = "bert.transformer_encoder.layers", .processor = "BertQADataProcessor"},
    {"esm2-classifier", "esm", "EsmForSequenceClassification", "esm.", "encoder.layer",
     FAMILY(esm_sequence_rules, esm_sequence_keys, esm_ignored), .select = "architectures", .selected = "EsmForSequenceClassification",
     .beside = esm_beside, .stack = "bert_encoder.transformer_encoder.layers", .processor = "BertCSVDataProcessor"},
    {"esm2-tokens", "esm", "EsmForTokenClassification", "esm.", "encoder.layer",
     FAMILY(esm_token_rules, esm_token_keys, esm_ignored), .select = "architectures", .selected = "EsmForTokenClassification",
     .beside = esm_beside, .stack = "bert_encoder.transformer_encoder.layers", .processor = "BertTokenClassifierDataProcessor"},
    {"bert", "bert", "BertForMaskedLM", "bert.", "encoder.layer",
     FAMILY(bert_rules, bert_keys, none_ignored), .beside = bert_beside, ENCODES},
    {"roberta", "roberta", "RobertaForMaskedLM", "roberta.", "encoder.layer",
     FAMILY(roberta_rules, roberta_keys, none_ignored), .beside = bert_beside, ENCODES},
    {"esm2", "esm", "EsmForMaskedLM", "esm.", "encoder.layer", FAMILY(esm_rules, esm_keys, esm_ignored),
     .beside = esm_beside, ENCODES},
    {"t5-v1.1", "t5", "T5ForConditionalGeneration", "", "encoder.block",
     FAMILY(t5_gated_rules, t5_gated_keys, none_ignored), .select = "feed_forward_proj", .selected = "gated-gelu", PAIRS},
    {"t5", "t5", "T5ForConditionalGeneration", "", "encoder.block", FAMILY(t5_rules, t5_keys, none_ignored), PAIRS},
    {.name = NULL},
};
/* clang-format on */
