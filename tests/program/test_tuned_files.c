// SPDX-License-Identifier: Apache-2.0
/* Files of encoder-decoders and of adapters in published sizes, as tests/tuned_zoo.sh takes those
 * of the Model Zoo: parameters, plan, and shrunk copies that train with one result everywhere. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <stdio.h>
#include <string.h>

/* T5 small (Raffel et al. 2020), and adapters of Mistral 7B (Jiang et al. 2023). */
static const struct {
    const char *name, *text;
} file[] = {
    {"t5",
     "train_input:\n"
     "    data_processor: \"T5DynamicDataProcessor\"\n"
     "    src_vocab_file: ./vocab.txt\n"
     "    src_data_dir: ./lines\n"
     "    extra_ids: 100\n"
     "    src_max_sequence_length: 512\n"
     "    tgt_max_sequence_length: 114\n"
     "    shuffle: true\n"
     "    batch_size: 256\n"
     "model:\n"
     "    src_vocab_size: 32001\n"
     "    extra_ids: 100\n"
     "    encoder_num_hidden_layers: 6\n"
     "    decoder_num_hidden_layers: 6\n"
     "    d_kv: 64\n"
     "    num_heads: 8\n"
     "    d_ff: 2048\n"
     "    d_model: 512\n"
     "    encoder_nonlinearity: relu\n"
     "    decoder_nonlinearity: relu\n"
     "    lm_loss_weight: 0.015\n"
     "    mixed_precision: true\n"
     "    fp16_type: cbfloat16\n"
     "optimizer: {optimizer_type: AdaFactor, learning_rate: 0.01, loss_scaling_factor: dynamic}\n"
     "runconfig: {max_steps: 1000}\n"},
    {"t5_mup",
     "trainer:\n"
     "  init:\n"
     "    model_dir: ./model_dir\n"
     "    model:\n"
     "      name: t5\n"
     "      src_vocab_size: 32001\n"
     "      extra_ids: 100\n"
     "      encoder_num_hidden_layers: 24\n"
     "      decoder_num_hidden_layers: 24\n"
     "      d_kv: 128\n"
     "      num_heads: 128\n"
     "      d_ff: 65536\n"
     "      d_model: 1024\n"
     "      position_embedding_type: relative\n"
     "      norm_type: layernorm\n"
     "      encoder_nonlinearity: relu\n"
     "      decoder_nonlinearity: relu\n"
     "      layer_norm_epsilon: 1.0e-05\n"
     "      lm_loss_weight: 0.015\n"
     "      scale_encoder_qk_dot_by_d: true\n"
     "      scale_decoder_qk_dot_by_d: true\n"
     "      scale_output_logits_by_d: false\n"
     "      encoder_attention_logits_alpha: 4.0\n"
     "      decoder_attention_logits_alpha: 4.0\n"
     "      mup_base_d_model: 512\n"
     "      mup_base_d_ff: 2048\n"
     "      output_logits_alpha: 2.22\n"
     "      embeddings_alpha: 14.6\n"
     "    optimizer: {AdaFactor: {}}\n"
     "    schedulers:\n"
     "    - InverseSquareRootDecayLR: {warmup_steps: 8307, scale: 1.0}\n"
     "    precision: {enabled: true, fp16_type: cbfloat16, loss_scaling_factor: dynamic}\n"
     "    loop: {max_steps: 1000}\n"
     "  fit:\n"
     "    train_dataloader:\n"
     "      data_processor: T5DynamicDataProcessor\n"
     "      src_vocab_file: ./vocab.txt\n"
     "      src_data_dir: ./lines\n"
     "      extra_ids: 100\n"
     "      src_max_sequence_length: 512\n"
     "      tgt_max_sequence_length: 114\n"
     "      batch_size: 260\n"},
    {"lora",
     "train_input: {data_processor: GptHDF5MapDataProcessor, data_dir: ./x, batch_size: 32}\n"
     "model:\n"
     "    name: mistral\n"
     "    vocab_size: 32000\n"
     "    hidden_size: 4096\n"
     "    num_hidden_layers: 32\n"
     "    num_heads: 32\n"
     "    filter_size: 14336\n"
     "    max_position_embeddings: 32768\n"
     "    position_embedding_type: rotary\n"
     "    rotary_dim: 128\n"
     "    norm_type: rmsnorm\n"
     "    nonlinearity: swiglu\n"
     "    share_embedding_weights: false\n"
     "    attention_module: multiquery_attention\n"
     "    extra_attention_params: {num_kv_groups: 8}\n"
     "    attention_sliding_window_length: 4096\n"
     "    use_projection_bias_in_attention: false\n"
     "    use_ffn_bias_in_attention: false\n"
     "    use_ffn_bias: false\n"
     "    mixed_precision: true\n"
     "    fp16_type: cbfloat16\n"
     "    lora_params: {r: 8, alpha: 16, target_modules: [TransformerDecoderLayer, "
     "Linear]}\n"
     "optimizer: {optimizer_type: AdamW, learning_rate: 0.001, loss_scaling_factor: dynamic}\n"
     "runconfig: {max_steps: 1000}\n"}};

/* The script over a folder with the one file; @p name and @p count are of what it prints. */
static void check_file(size_t i, const char *name, const char *count)
{
    char folder[160], path[200];
    struct spawn_result r;
    (void)snprintf(folder, sizeof folder, "%s", job_path(file[i].name));
    (void)snprintf(path, sizeof path, "%s/%s.yaml", folder, file[i].name);
    CU_ASSERT_FATAL(spawn_ok("mkdir -p %s", folder));
    FILE *f = fopen(path, "w");
    CU_ASSERT_FATAL(f && fputs(file[i].text, f) >= 0 && !fclose(f));
    spawn_run(&r, "sh tests/tuned_zoo.sh \"$WSC\" %s 3", folder);
    T_EQ(r.status, 0);
    CU_ASSERT(strstr(r.out, "files: 1, failures: 0") != NULL);
    CU_ASSERT(strstr(r.out, name) != NULL);
    CU_ASSERT(strstr(r.out, count) != NULL);
    if (r.status) (void)fprintf(stderr, "%s%s", r.out, r.err);
    spawn_free(&r);
}

/* Parameters are those of the publication. */
TEST(tuned_files, t5_has_a_plan_and_one_result_everywhere)
{
    check_file(0, "t5_11B, from t5.yaml\n", "  11307293696 parameters");
}

/* In the trainer style, scaled by the ratio of widths. */
TEST(tuned_files, t5_by_mup_has_a_plan_and_one_result_everywhere)
{
    check_file(1, file[1].name, "  11307418624 parameters");
}

TEST(tuned_files, adapters_have_a_plan_and_one_result_everywhere)
{
    check_file(2, file[2].name, "  7262703616 parameters");
}
