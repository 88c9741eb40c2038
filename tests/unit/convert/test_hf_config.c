// SPDX-License-Identifier: Apache-2.0
/* config.json to params: the files that the hubs of all families have (tests/data/hf_configs) are
 * taken, every key that makes another model is converted or refused by name, and every error names
 * the place in config.json. */
#include "../../../src/convert/hf_config.h"
#include "../../../src/convert/hf_families.h"
#include "../../../src/convert/hf_family.h"
#include "../../../src/convert/hf_source.h"
#include "../../../src/convert/hf_special_values.h"
#include "../../support/test.h"

#include <wsc/mem.h>

#include <stdlib.h>
#include <string.h>

/* Params and the model that they give; what config.json says stays in *yaml. */
static enum wsc_err take(struct convert_source *config, char **yaml, struct model **model)
{
    struct zoo_params params = {0};
    const struct convert_family *family = NULL;
    TRY(convert_family_of(config->path, config->json, &family));
    TRY(convert_config_to_yaml(family, config, CONVERT_F32, "none.mdl", yaml));
    enum wsc_err rc = zoo_params_parse(&params, config->path, *yaml, strlen(*yaml), NULL, 0);
    if (!rc) rc = model_create(model, &params, HW_STREAM_BLOCK);
    if (rc) rc = convert_source_blame(config, family, rc);
    zoo_params_fini(&params);
    return rc;
}

static enum wsc_err take_text(const char *text, char **yaml, struct model **model)
{
    struct convert_source config;
    *yaml = NULL;
    *model = NULL;
    enum wsc_err rc = convert_source_parse(&config, "config.json", text, strlen(text));
    if (!rc) rc = take(&config, yaml, model);
    convert_source_fini(&config);
    return rc;
}

/* ---- files of the hub ------------------------------------------------------------------------ */

static const struct {
    const char *file;
    double params; /* as the publications round them, in 1e9 */
    const char *line[3];
} hub[] = {
    {"gpt2", 0.124, {"name: gpt2\n", "filter_size: 3072\n"}},
    {"bert_base_uncased", 0.1095, {"name: bert\n", "num_segments: 2\n", "disable_nsp: true\n"}},
    {"roberta_base", 0.1247, {"max_position_embeddings: 512\n", "pad_token_id: 1\n"}},
    {"esm2_t6_8m", 0.00751, {"name: esm2\n", "rotary_dim: 16\n", "mask_token_id: 32\n"}},
    {"mpt_7b", 6.65, {"filter_size: 16384\n", "norm_type: biasless-layernorm\n"}},
    {"btlm_3b_8k", 2.65, {"embeddings_scale: 14.6\n", "output_logits_scale: 0.222"}},
    {"jais_13b", 13.0, {"embeddings_scale: 14.6\n", "output_logits_scale: 0.111"}},
    {"santacoder", 1.12, {"num_kv_groups: 1", "nonlinearity: gelu_new\n"}},
    {"codegen_350m", 0.357, {"name: gptj\n", "rotary_dim: 32\n", "filter_size: 4096\n"}},
    {"gpt_j_6b", 6.05, {"rotary_dim: 64\n", "filter_size: 16384\n"}},
    {"gpt_neox_20b", 20.6, {"rotary_dim: 24\n", "rope_theta: 10000\n", "nonlinearity: gelu_new\n"}},
    {"pythia_70m", 0.0704, {"rotary_dim: 16\n", "rope_theta: 10000\n", "fp16_type: float16\n"}},
    {"llama_7b", 6.74, {"rotary_dim: 128\n", "rope_theta: 10000.0\n"}},
    {"llama_3_1_8b",
     8.03,
     {"rope_theta: 500000\n", "pos_scaling_factor: 8\n", "pos_scaling_type: llama3\n"}},
    {"llama_3_1_8b_rope_parameters",
     8.03,
     {"rope_theta: 500000\n", "pos_scaling_factor: 8\n", "pos_scaling_type: llama3\n"}},
    {"smollm_135m", 0.1345, {"num_kv_groups: 3", "share_embedding_weights: true\n"}},
    {"mistral_7b", 7.24, {"attention_sliding_window_length: 4096\n", "num_kv_groups: 8"}},
    {"mistral_nemo_12b", 12.25, {"attention_inner_dim: 4096\n", "rotary_dim: 128\n"}},
    {"qwen2_5_0p5b",
     0.494,
     {"use_projection_bias_in_attention: true\n", "share_embedding_weights: true\n"}},
    {"qwen2_5_7b", 7.616, {"num_kv_groups: 4", "rope_theta: 1000000\n"}},
    {"gemma_2_2b",
     2.614,
     {"embeddings_scale: 48\n", "attention_inner_dim: 2048\n", "attention_logits_alpha: 1\n"}},
    {"gemma_2_27b",
     27.23,
     {"nonlinearity: geglu_new\n", "attention_logits_alpha: 0.94280904158206336\n",
      "sliding_window_every_other_decoder_layer: true\n"}},
    {"mixtral_8x7b", 46.7, {"rope_theta: 1000000\n", "num_experts: 8\n", "top_k: 2\n"}},
    {"bloom_560m", 0.559, {"position_embedding_type: alibi\n", "filter_size: 4096\n"}},
    {"falcon_7b", 6.92, {"num_kv_groups: 1", "use_untied_layer_norm: false\n"}},
    {"falcon_40b", 41.3, {"num_kv_groups: 8", "use_untied_layer_norm: true\n"}},
    {"starcoder", 15.5, {"num_kv_groups: 1", "nonlinearity: gelu\n"}},
};

static void check_hub_file(int i)
{
    char path[200], *yaml = NULL;
    struct convert_source config;
    struct model *model = NULL;
    (void)snprintf(path, sizeof path, "tests/data/hf_configs/%s.json", hub[i].file);
    T_OK(convert_source_read(&config, path));
    T_OK(take(&config, &yaml, &model));
    for (int l = 0; l < 3 && hub[i].line[l] && yaml; l++) {
        if (!strstr(yaml, hub[i].line[l]))
            (void)fprintf(stderr, "%s: no %s", hub[i].file, hub[i].line[l]);
        CU_ASSERT_PTR_NOT_NULL(strstr(yaml, hub[i].line[l]));
    }
    if (model) T_NEAR((double)model->n_params / 1e9, hub[i].params, 0.006 * hub[i].params);
    model_destroy(&model);
    wsc_free(yaml);
    convert_source_fini(&config);
}

TEST(hf_config, the_files_of_the_hub_are_taken)
{
    for (int i = 0; i < (int)(sizeof hub / sizeof *hub); i++)
        check_hub_file(i);
    T_EQ(wsc_mem_in_use(WSC_MEM_CONVERT), 0);
}

/* ---- keys that make another model ------------------------------------------------------------ */

/* The smallest folder of each family, without its last brace. */
static const struct {
    const char *name, *text;
} small[] = {
    {"gpt2", "{\"model_type\": \"gpt2\", \"vocab_size\": 8, \"n_embd\": 8, \"n_head\": 2, "
             "\"n_positions\": 5, \"n_layer\": 1"},
    {"gptj", "{\"model_type\": \"gptj\", \"vocab_size\": 8, \"n_embd\": 8, \"n_head\": 2, "
             "\"n_positions\": 5, \"n_layer\": 1, \"rotary_dim\": 4"},
    {"neox", "{\"model_type\": \"gpt_neox\", \"vocab_size\": 8, \"hidden_size\": 16, "
             "\"num_attention_heads\": 2, \"intermediate_size\": 8, \"num_hidden_layers\": 1, "
             "\"max_position_embeddings\": 5"},
    {"llama", "{\"model_type\": \"llama\", \"vocab_size\": 8, \"hidden_size\": 16, "
              "\"num_attention_heads\": 2, \"intermediate_size\": 8, \"num_hidden_layers\": 1, "
              "\"max_position_embeddings\": 5"},
    {"mistral", "{\"model_type\": \"mistral\", \"vocab_size\": 8, \"hidden_size\": 64, "
                "\"num_attention_heads\": 8, \"intermediate_size\": 8, \"num_hidden_layers\": 1, "
                "\"max_position_embeddings\": 5"},
    {"mixtral", "{\"model_type\": \"mixtral\", \"vocab_size\": 8, \"hidden_size\": 64, "
                "\"num_attention_heads\": 16, \"intermediate_size\": 8, \"num_hidden_layers\": 1, "
                "\"max_position_embeddings\": 5"},
    {"qwen2", "{\"model_type\": \"qwen2\", \"vocab_size\": 8, \"hidden_size\": 64, "
              "\"num_attention_heads\": 32, \"intermediate_size\": 8, \"num_hidden_layers\": 2, "
              "\"max_position_embeddings\": 5"},
    {"gemma2", "{\"model_type\": \"gemma2\", \"vocab_size\": 8, \"hidden_size\": 16, "
               "\"num_attention_heads\": 4, \"intermediate_size\": 8, \"num_hidden_layers\": 3, "
               "\"max_position_embeddings\": 5"},
    {"bloom", "{\"model_type\": \"bloom\", \"vocab_size\": 8, \"hidden_size\": 8, \"n_head\": 2, "
              "\"n_layer\": 1"},
    {"falcon", "{\"model_type\": \"falcon\", \"vocab_size\": 8, \"hidden_size\": 8, "
               "\"num_attention_heads\": 2, \"num_hidden_layers\": 1"},
    {"falcon_new", "{\"model_type\": \"falcon\", \"vocab_size\": 8, \"hidden_size\": 8, "
                   "\"num_attention_heads\": 2, \"num_hidden_layers\": 1, "
                   "\"new_decoder_architecture\": true"},
    {"bigcode", "{\"model_type\": \"gpt_bigcode\", \"vocab_size\": 8, \"n_embd\": 8, "
                "\"n_head\": 2, \"n_positions\": 5, \"n_layer\": 1"},
    {"mpt", "{\"model_type\": \"mpt\", \"vocab_size\": 8, \"d_model\": 8, \"n_heads\": 2, "
            "\"max_seq_len\": 5, \"n_layers\": 1"},
};
enum { N_SMALL = sizeof small / sizeof *small };

/* NULL @p line: refused with @p why in the message. */
static void expect(int i, const char *more, const char *line, const char *why)
{
    char text[1200], *yaml = NULL;
    struct model *model = NULL;
    (void)snprintf(text, sizeof text, "%s%s%s}", small[i].text, *more ? ",\n  " : "", more);
    const enum wsc_err rc = take_text(text, &yaml, &model);
    const bool good = line ? !rc && strstr(yaml, line) : rc && strstr(wsc_err_message(), why);
    if (!good)
        (void)fprintf(stderr, "%s with %s: %s\n", small[i].name, more,
                      rc ? wsc_err_message() : yaml);
    CU_ASSERT(good);
    model_destroy(&model);
    wsc_free(yaml);
}

static int family(const char *name)
{
    int i = 0;
    while (strcmp(small[i].name, name) != 0)
        i++;
    return i;
}

TEST(hf_config, what_every_family_would_drop_is_an_error)
{
    static const struct {
        const char *key, *why;
    } row[] = {
        {"\"quantization_config\": {\"bits\": 4}", "config.json:2:3: quantization_config:"},
        {"\"compression_config\": {\"format\": \"x\"}", "config.json:2:3: compression_config:"},
        {"\"logits_scaling\": 8.0", "config.json:2:3: logits_scaling: 8 is not supported"},
        {"\"attention_multiplier\": 0.5", "attention_multiplier: 0.5 is not supported"},
        {"\"embedding_multiplier\": 12", "embedding_multiplier: 12 is not supported"},
        {"\"residual_multiplier\": 0.2", "residual_multiplier: 0.2 is not supported"},
        {"\"pruned_heads\": {\"0\": [1]}", "pruned_heads:"},
        {"\"is_encoder_decoder\": true", "is_encoder_decoder: true is not supported"},
        {"\"partial_rotary_factor\": 0.75", "artial_rotary_factor"},
        {"\"rope_scaling\": {\"rope_type\": \"dynamic\", \"factor\": 4.0}", "rope_scaling:"},
        {"\"rope_parameters\": {\"rope_type\": \"longrope\"}", "rope_parameters:"},
        {"\"final_logit_softcapping\": 30.0",
         "config.json:2:3: final_logit_softcapping: is not a known key of a "},
        {"\"torch_dtype\": \"bf16\"",
         "config.json:2:3: torch_dtype: bf16 is not supported; hint: known are: float32, "},
        {"\"architectures\": [\"GPT2ForSequenceClassification\"]",
         "config.json:2:3: architectures: GPT2ForSequenceClassification is not supported; hint: "
         "a "},
        {"\"architectures\": \"LlamaRewardModel\"",
         "config.json:2:3: architectures: LlamaRewardModel is not supported; hint: a "},
        {"\"architectures\": [7]", "config.json:2:3: architectures: expected a list with"},
        {"\"logits_scaling\": \"1.0\"", "config.json:2:3: logits_scaling: has another type than "
                                        "expected; hint: write 1.0 without"},
        {"\"dtype\": 16", "config.json:2:3: dtype: what stands here is not supported"},
        {"\"torch_dtype\": \"float16\", \"dtype\": \"float32\"",
         ":2:29: dtype: float32 contradicts torch_dtype, float16"},
    };
    for (int i = 0; i < N_SMALL; i++) {
        expect(i, "", "model:\n", NULL);
        expect(i, "\"bos_token_id\": 1, \"_name_or_path\": \"x\", \"temperature\": 0.7", "model:\n",
               NULL);
        expect(i, "\"quantization_config\": null, \"logits_scaling\": 1.0, \"pruned_heads\": {}",
               "model:\n", NULL);
        expect(i, "\"torch_dtype\": \"float16\", \"dtype\": \"float16\"", "fp16_type: float16\n",
               NULL);
        for (size_t r = 0; r < sizeof row / sizeof *row; r++) {
            const bool partial = r == 8 && i == family("neox"); /* they have that */
            const bool capped = r == 11 && i == family("gemma2");
            expect(i, row[r].key,
                   partial  ? "rotary_dim: 6\n"
                   : capped ? "final_logit_softcapping: 30\n"
                            : NULL,
                   row[r].why);
        }
    }
}

TEST(hf_config, rotary_settings_are_converted_for_every_family_that_rotates)
{
    static const char *const rotates[] = {"neox",   "llama",      "mistral", "mixtral",
                                          "falcon", "falcon_new", "qwen2",   "gemma2"};
    for (size_t i = 0; i < sizeof rotates / sizeof *rotates; i++) {
        const int f = family(rotates[i]);
        expect(f, "\"rope_scaling\": {\"type\": \"linear\", \"factor\": 4.0}",
               "pos_scaling_factor: 4\n", NULL);
        expect(f, "\"rope_parameters\": {\"rope_type\": \"default\", \"rope_theta\": 500000.0}",
               "rope_theta: 500000\n", NULL);
        expect(f, "\"rope_parameters\": {\"rope_theta\": 500000.0}", "rope_theta: 500000\n", NULL);
        expect(f, "\"rope_parameters\": {\"rope_type\": \"linear\", \"factor\": 2.0}",
               "pos_scaling_factor: 2\n", NULL);
        expect(f, "\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 4.0}",
               "extra_args:\n        beta_fast: 32\n        beta_slow: 1\n        original_max",
               NULL);
        expect(f,
               "\"rope_parameters\": {\"rope_type\": \"yarn\", \"factor\": 2, "
               "\"attention_factor\": 1.5, \"original_max_position_embeddings\": 77}",
               "embeddings: 77\n        mscale_a: 0\n        mscale_b: 1.5\n", NULL);
        expect(f,
               "\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 1.0, \"attention_factor\": 1.0}",
               "mscale_b: 1\n", NULL);
        expect(f,
               "\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 1.0, \"attention_factor\": 1.5}",
               NULL, "an attention_factor of 1.5 needs a factor above 1, got 1");
        expect(f, "\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 4.0, \"mscale\": 1.0}", NULL,
               "mscale is not supported");
        expect(f, "\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 4.0, \"beta_fast\": \"4\"}",
               NULL, "beta_fast is not a positive number");
        expect(f,
               "\"rope_scaling\": {\"type\": \"linear\", \"factor\": 4, \"attention_factor\": 1}",
               NULL, "attention_factor is not supported");
        expect(f, "\"rope_theta\": 1e6, \"rope_parameters\": {\"rope_theta\": 5e5}", NULL,
               "rope_theta is 500000 there and 1e+06 beside it");
        expect(f, "\"rope_parameters\": {\"rope_theta\": 5e5, \"beta_fast\": 32}", NULL,
               "rope_parameters: beta_fast is not supported");
        expect(f, "\"rope_parameters\": {\"full_attention\": {\"rope_theta\": 5e5}}", NULL,
               "full_attention is not supported");
        expect(f, "\"rope_parameters\": [1]", NULL, "rope_parameters: expected an object");
        expect(f, "\"rope_parameters\": {\"rope_theta\": 1}, \"rope_scaling\": {\"factor\": 2.0}",
               NULL, "rope_parameters: contradicts rope_scaling");
    }
    expect(family("gptj"), "\"rope_parameters\": {\"rope_theta\": 5e5}", NULL, "rope_parameters");
}

TEST(hf_config, what_a_family_has_in_one_way_only)
{
    static const struct {
        const char *family, *key, *line, *why;
    } row[] = {
        {"llama", "\"attention_bias\": true", NULL, "attention_bias: true is not supported"},
        {"llama", "\"mlp_bias\": true", NULL, "mlp_bias: true is not supported"},
        {"mistral", "\"attention_bias\": true", NULL, "attention_bias: true is not supported"},
        {"mixtral", "\"mlp_bias\": true", NULL, "mlp_bias: true is not supported"},
        {"llama", "\"rope_interleaved\": true", NULL, "rope_interleaved: true is not supported"},
        {"llama", "\"attention_bias\": null", "name: llama\n", NULL},
        {"mixtral", "\"router_jitter_noise\": 0.1", NULL, "router_jitter_noise: 0.1"},
        {"mixtral", "\"vocab_size\": 8", NULL, "duplicate object key"},
        {"mixtral", "\"head_dim\": 4", "rope_theta: 1e6\n", NULL}, /* its library's own default */
        {"mixtral", "\"head_dim\": 4", "layer_norm_epsilon: 1e-05\n", NULL},
        {"mixtral", "\"head_dim\": 4", "num_kv_groups: 8}", NULL},
        {"mixtral", "\"num_key_value_heads\": null", "top_k: 2\n", NULL},
        {"mixtral", "\"num_key_value_heads\": 4", "num_kv_groups: 4}", NULL},
        {"llama", "\"head_dim\": 6", "attention_inner_dim: 12\n", NULL},
        {"llama", "\"head_dim\": 6", "rotary_dim: 6\n", NULL},
        {"llama", "\"head_dim\": -6", NULL, "head_dim: expected a positive whole number"},
        {"falcon", "\"head_dim\": 6", NULL, "head_dim: 6 is not supported, only width / heads = 4"},
        {"qwen2", "\"attention_bias\": true", NULL, "attention_bias: is not a known key of a "},
        {"qwen2", "\"use_sliding_window\": true", NULL, "only false is supported"},
        {"qwen2", "\"sliding_window\": 4, \"max_window_layers\": 1", "name: llama\n", NULL},
        {"qwen2", "\"use_mrope\": true", NULL, "use_mrope: true is not supported"},
        {"qwen2", "\"layer_types\": [\"full_attention\", \"sliding_attention\"]", NULL,
         "layer_types: layer 1: expected full_attention"},
        {"gemma2", "\"hidden_act\": \"gelu\"", "nonlinearity: geglu_new\n", NULL},
        {"gemma2", "\"hidden_activation\": \"gelu\"", "nonlinearity: geglu\n", NULL},
        {"gemma2", "\"head_dim\": 8", "attention_inner_dim: 32\n", NULL},
        {"gemma2", "\"bos_token_id\": 2", "attention_inner_dim: 1024\n", NULL},
        {"gemma2", "\"query_pre_attn_scalar\": 64", "attention_logits_alpha: 2\n", NULL},
        {"gemma2", "\"query_pre_attn_scalar\": 0", NULL, "expected a positive number"},
        {"gemma2", "\"final_logit_softcapping\": null", "final_logit_softcapping: null\n", NULL},
        {"gemma2", "\"layer_types\": [\"full_attention\"]", NULL, "expected a list of 3 types"},
        {"gemma2", "\"layer_types\": 3", NULL, "expected a list of 3 types"},
        {"gemma2",
         "\"layer_types\": [\"sliding_attention\", \"sliding_attention\", \"full_attention\"]",
         NULL, "layer_types: layer 1: expected full_attention"},
        {"bloom", "\"n_inner\": 16", NULL, "n_inner: 16 is not supported"},
        {"bloom", "\"n_inner\": 32", "filter_size: 32\n", NULL},
        {"falcon", "\"num_ln_in_parallel_attn\": 2", NULL, "num_ln_in_parallel_attn: 2"},
        {"falcon_new", "\"num_ln_in_parallel_attn\": 1", NULL, "num_ln_in_parallel_attn: 1"},
        {"falcon", "\"parallel_attn\": null", NULL, "parallel_attn: false is not supported"},
        {"falcon", "\"multi_query\": false, \"num_kv_heads\": 1", NULL, "num_kv_heads: 1"},
        {"gptj", "\"rotary\": false", NULL, "rotary: false is not supported"},
        {"neox", "\"rotary_pct\": 0.5, \"partial_rotary_factor\": 0.25", NULL, "contradicts"},
        {"mpt", "\"expansion_ratio\": 3", "filter_size: 24\n", NULL},
        {"mpt", "\"expansion_ratio\": 268435456", NULL, "times d_model at most 2147483647"},
        {"mpt", "\"expansion_ratio\": 2305843009213693954", NULL, "expansion_ratio: expected"},
        {"mpt", "\"expansion_ratio\": -1", NULL, "expansion_ratio: expected a positive whole"},
        {"neox", "\"rotary_emb_base\": 10000, \"rope_theta\": 5e5", NULL,
         "rope_theta: 500000 contradicts rotary_emb_base, 10000"},
        {"neox", "\"rotary_emb_base\": 5e5, \"rope_theta\": 5e5", "rope_theta: 500000\n", NULL},
        {"neox", "\"hidden_dropout_prob\": 0.2", "residual_dropout_rate: 0.2\n", NULL},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        expect(family(row[i].family), row[i].key, row[i].line, row[i].why);
}

/* Keys that the transformers library computes from others, and takes from config.json where they
 * are: the value that they have without it, or an error. */
TEST(hf_config, keys_that_others_imply_agree_with_them)
{
    static const struct {
        const char *folder, *key, *value, *why;
    } row[] = {
        {"hf_t5", "dense_act_fn", "\"relu\"", NULL},
        {"hf_t5", "is_gated_act", "false", NULL},
        {"hf_t5", "is_gated_act", "true", "feed_forward_proj: relu needs false here"},
        {"hf_t5", "dense_act_fn", "\"gelu_new\"", "feed_forward_proj: relu needs relu here"},
        {"hf_t5_gated", "dense_act_fn", "\"gelu_new\"", NULL},
        {"hf_t5_gated", "dense_act_fn", "null", NULL},
        {"hf_t5_gated", "dense_act_fn", "\"gelu\"", "gated-gelu needs gelu_new here"},
        {"hf_t5_gated", "dense_act_fn", "5", "gated-gelu needs gelu_new here"},
        {"hf_t5_gated", "is_gated_act", "1", "gated-gelu needs true here"},
        {"hf_gpt2", "n_inner", "null", NULL},
        {"hf_gpt2", "n_inner", "0", "0, expected 1 or more"},
        {"hf_bert_classifier", "classifier_dropout", "0.5", NULL},
        {"hf_bert_classifier", "classifier_dropout", "-1", "-1, expected 0 to 1"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char path[200], *yaml = NULL;
        struct convert_source config;
        struct model *model = NULL;
        (void)snprintf(path, sizeof path, "tests/data/%s/config.json", row[i].folder);
        T_OK(convert_source_read(&config, path));
        CU_ASSERT(!json_object_set_new(config.json, row[i].key,
                                       json_loads(row[i].value, JSON_DECODE_ANY, NULL)));
        const enum wsc_err rc = take(&config, &yaml, &model);
        CU_ASSERT_EQUAL(rc, row[i].why ? WSC_CONFIG : WSC_OK);
        if (row[i].why) CU_ASSERT(strstr(wsc_err_message(), row[i].why) != NULL);
        model_destroy(&model);
        wsc_free(yaml);
        convert_source_fini(&config);
    }
}

/* With is_decoder a token of BERT sees those before it alone: another model of the same tensors. */
TEST(hf_config, an_encoder_as_a_decoder_is_refused)
{
    static const char *const files[] = {"bert_base_uncased", "roberta_base", "esm2_t6_8m"};
    for (int i = 0; i < 3; i++) {
        char path[200], *yaml = NULL;
        struct convert_source config;
        struct model *model = NULL;
        (void)snprintf(path, sizeof path, "tests/data/hf_configs/%s.json", files[i]);
        T_OK(convert_source_read(&config, path));
        CU_ASSERT(!json_object_set_new(config.json, "is_decoder", json_true()));
        CU_ASSERT_EQUAL(take(&config, &yaml, &model), WSC_CONFIG);
        CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "is_decoder: true is not supported"));
        model_destroy(&model);
        wsc_free(yaml);
        convert_source_fini(&config);
    }
}

/* ---- places ---------------------------------------------------------------------------------- */

/* What the params' own checks find is reported for the file and the key that the user has. */
TEST(hf_config, errors_of_values_name_config_json)
{
    static const struct {
        const char *text, *why;
    } row[] = {
        {"{\"model_type\": \"llama\",\n \"vocab_size\": -3,\n \"hidden_size\": 16,\n"
         " \"num_attention_heads\": 2, \"intermediate_size\": 8, \"num_hidden_layers\": 1,\n"
         " \"max_position_embeddings\": 5}",
         "config.json:2:2: vocab_size: "},
        {"{\"a\": {\"n_layer\": [1, \"n_layer\"]}, \"model_type\": \"gpt2\"}",
         "config.json:1:2: a: is not a known key of a gpt2 model"},
        {"{\"model_type\": \"gpt2\", \"vocab_size\": 8, \"n_embd\": 8, \"n_head\": 2,\n"
         "   \"_name_or_path\": \"\\\"n_layer\\\": 3\", \"n_positions\": 5, \"id2label\": "
         "{\"n_layer\": 1},\n\n  \"n_layer\": -1}",
         "config.json:4:3: n_layer: "},
        {"{\"model_type\": \"falcon\", \"vocab_size\": 8, \"hidden_size\": 8, \"n_head\": 2,\n"
         "\"n_layer\": -1}",
         "config.json:2:1: n_layer: "},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char *yaml = NULL;
        struct model *model = NULL;
        CU_ASSERT(take_text(row[i].text, &yaml, &model) != WSC_OK);
        const bool good = !strncmp(wsc_err_message(), row[i].why, strlen(row[i].why));
        if (!good) (void)fprintf(stderr, "%s\n", wsc_err_message());
        CU_ASSERT(good);
        CU_ASSERT_PTR_NULL(strstr(wsc_err_message(), ".yaml"));
        model_destroy(&model);
        wsc_free(yaml);
    }
}

/* The way back is equal, and so is what Python computes, int(head_dim * pct): a plain quotient
 * gives a number less for many pairs, such as 58 of 100. */
TEST(hf_config, rotated_parts_of_heads_come_back)
{
    for (int64_t head_dim = 2; head_dim <= 256; head_dim += 2)
        for (int64_t rotary_dim = 2; rotary_dim <= head_dim; rotary_dim += 2) {
            char few[32];
            const double pct = convert_rotary_pct(rotary_dim, head_dim);
            CU_ASSERT(pct > 0 && pct <= 1);
            T_NEAR(pct, (double)rotary_dim / (double)head_dim, 4e-16);
            T_EQ((int64_t)((double)head_dim * pct), rotary_dim);
            T_EQ(convert_rotary_dim(head_dim, pct), rotary_dim);
            (void)snprintf(few, sizeof few, "%.15g", pct);
            T_EQ(convert_rotary_dim(head_dim, strtod(few, NULL)), rotary_dim);
        }
    T_EQ(convert_rotary_dim(10, 0.29), 2); /* cut, not rounded */
    T_EQ(convert_rotary_dim(10, 0.39), 3);
}
