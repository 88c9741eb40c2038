// SPDX-License-Identifier: Apache-2.0
/* Params of encoders, and of the first releases of the Model Zoo: defaults of classes of
 * fine-tuning, seeds of masks, keys that are no longer keys, the 16-bit format that a file does not
 * name. */
#include "../../support/params_case.h"
#include "../../support/test.h"

#include <wsc/mem.h>
#include <wsc/zoo.h>

#include <stdio.h>
#include <string.h>

#define OPTIM "optimizer: {optimizer_type: AdamW, learning_rate: 1e-3}\n"
#define LOADER(name, more)                                                                         \
    "train_input: {data_processor: " name ", data_dir: ./d, vocab_file: v, batch_size: 4" more "}" \
    "\n"
#define ENCODER(more) "model: {vocab_size: 64, hidden_size: 16, num_heads: 2" more "}\n"

/* The class of token classifiers drops nothing out unless a file says so, and leaves padding out of
 * its loss. */
TEST(encoder_params, token_classifiers_have_defaults_of_their_own)
{
    struct zoo_params p = params_parsed(LOADER("BertTokenClassifierDataProcessor", "")
                                            ENCODER(", encoder_output_dropout_rate: 0.3") OPTIM);
    T_EQ(p.model.objective, ZOO_TOKEN_CLASSIFICATION);
    T_NEAR(p.model.task_dropout, 0.3, 0);
    T_NEAR(p.model.dropout_rate, 0, 0);
    T_NEAR(p.model.embedding_dropout_rate, 0, 0);
    T_TRUE(!p.model.include_padding_in_loss);
    zoo_params_fini(&p);
    p = params_parsed(LOADER("BertTokenClassifierDataProcessor", "") ENCODER(", dropout_rate: 0.2")
                          OPTIM);
    T_NEAR(p.model.embedding_dropout_rate, 0.2, 0);
    T_NEAR(p.model.attention_dropout_rate, 0, 0);
    zoo_params_fini(&p);
    p = params_parsed(LOADER("SST2DataProcessor", "") ENCODER("") OPTIM);
    T_NEAR(p.model.dropout_rate, 0.1, 0);
    T_NEAR(p.model.attention_dropout_rate, 0.1, 0);
    zoo_params_fini(&p);
}

/* Loaders of token ids read no vocabulary, those of texts do. */
TEST(encoder_params, a_vocabulary_is_for_loaders_of_texts)
{
    static const struct {
        const char *loader, *more;
        bool idle;
    } files[] = {{"GptHDF5DataProcessor", "", true},
                 {"NumpyMmapDataset", "", true},
                 {"DpoHDF5DataProcessor", ", dpo: {beta: 0.1}", true},
                 {"BertHDF5DataProcessor", ", name: bert", true},
                 {"T5HDF5DataProcessor", ", name: t5", true},
                 {"SST2DataProcessor", "", false},
                 {"BertCSVDataProcessor", ", name: bert", false},
                 {"T5DynamicDataProcessor", ", name: t5", false}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char text[512];
        (void)snprintf(
            text, sizeof text,
            "train_input: {data_processor: %s, data_dir: ./d, vocab_file: v, "
            "batch_size: 4}\nmodel: {vocab_size: 64, hidden_size: 16, num_heads: 2%s}\n" OPTIM,
            files[i].loader, files[i].more);
        struct zoo_params p = params_parsed(text);
        T_EQ(params_warn(&p, "train_input.vocab_file"), files[i].idle);
        zoo_params_fini(&p);
    }
}

/* An input that the mode does not read may be longer than the positions; one that it reads may not
 * (golden: encoder_positions, encoder_positions_eval). */
TEST(encoder_params, lengths_of_what_is_not_read)
{
    struct zoo_params p = params_parsed(
        LOADER("SST2DataProcessor", ", max_sequence_length: 32")
            ENCODER(", max_position_embeddings: 32") OPTIM
        "eval_input: {data_processor: SST2DataProcessor, data_dir: ./d, vocab_file: v, "
        "batch_size: 4, max_sequence_length: 48}\n");
    T_EQ(p.eval_input.max_sequence_length, 48);
    zoo_params_fini(&p);
}

/* ESM-2's classifier of proteins reads CSV files with the loader of masked tokens: its own keys say
 * what it is.  It has no token types, and no dropout unless the file says so. */
TEST(encoder_params, a_classifier_of_proteins)
{
#define PROTEINS(more)                                                                             \
    LOADER("BertCSVDataProcessor", "")                                                             \
    ENCODER(", token_dropout: true, "                                                              \
            "mask_token_id: 32, disable_nsp: true, dropout_rate: 0.1" more)
    struct zoo_params p = params_parsed(PROTEINS(", classifier_dropout: 0.4") OPTIM);
    T_EQ(p.model.name, ZOO_ESM2);
    T_EQ(p.model.objective, ZOO_CLASSIFICATION);
    T_NEAR(p.model.task_dropout, 0.4, 0);
    T_EQ(p.model.num_segments, 0);
    T_EQ(p.train_input.n_classes, 2);
    zoo_params_fini(&p);
    p = params_parsed(PROTEINS(", freeze_pretrained_model: false") OPTIM
                      "runconfig: {num_epochs: 3}\n");
    T_EQ(p.model.objective, ZOO_CLASSIFICATION);
    T_NEAR(p.model.task_dropout, 0, 0);
    T_EQ(p.runconfig.num_steps, CONF_NULL);
    T_EQ(p.runconfig.num_epochs, 3);
    zoo_params_fini(&p);
    p = params_parsed(PROTEINS("") OPTIM);
    T_EQ(p.model.objective, ZOO_MASKED_LM);
    zoo_params_fini(&p);
}

/* Masks are drawn from the seed in whatever order the samples come: a dump without it would be
 * another job. */
TEST(encoder_params, dynamic_masks_keep_their_seed)
{
    char *dump;
    struct zoo_params p = params_parsed(LOADER(
        "BertCSVDynamicMaskDataProcessor", ", shuffle: false, shuffle_seed: 7") ENCODER("") OPTIM);
    T_OK(zoo_params_dump(&p, &dump));
    struct zoo_params again = params_parsed(dump);
    T_EQ(again.train_input.shuffle_seed, 7);
    wsc_free(dump);
    zoo_params_fini(&again);
    zoo_params_fini(&p);
}

/* Pre-training has the positions of its samples, fine-tuning those of the class. */
TEST(encoder_params, positions_follow_the_samples_of_pre_training)
{
    struct zoo_params p = params_parsed(LOADER("BertCSVDataProcessor", ", max_sequence_length: 48")
                                            ENCODER("") OPTIM);
    T_EQ(p.model.max_position_embeddings, 48);
    zoo_params_fini(&p);
    p = params_parsed(LOADER("SST2DataProcessor", ", max_sequence_length: 48") ENCODER("") OPTIM);
    T_EQ(p.model.max_position_embeddings, 1024);
    zoo_params_fini(&p);
}

/* Releases that scaled losses without naming a format took float16. */
TEST(encoder_params, a_scaled_loss_without_a_format_is_noted)
{
    static const char scaled[] = LOADER("BertCSVDataProcessor", "") ENCODER(
        ", mixed_precision: true") "optimizer: {optimizer_type: AdamW, learning_rate: 1e-3, "
                                   "loss_scaling_factor: dynamic}\n";
    static const char named[] = LOADER("BertCSVDataProcessor", "")
        ENCODER(", mixed_precision: true, fp16_type: float16") "optimizer: {optimizer_type: AdamW, "
                                                               "learning_rate: 1e-3, "
                                                               "loss_scaling_factor: dynamic}\n";
    static const char note[] = "model.fp16_type: bfloat16 without this key; earlier "
                               "releases took float16";
    struct zoo_params p = params_parsed(scaled);
    T_EQ(p.model.fp16_type, NUM_HALF_BF16);
    T_TRUE(params_warn(&p, note));
    zoo_params_fini(&p);
    p = params_parsed(named);
    T_TRUE(!params_warn(&p, "earlier releases"));
    zoo_params_fini(&p);
}

/* Classifiers have no output layer over the vocabulary that these keys could act on. */
TEST(encoder_params, keys_of_the_output_layer_warn_without_one)
{
#define OUTPUT                                                                                     \
    ENCODER(", share_embedding_weights: false, use_bias_in_output: true, "                         \
            "final_logit_softcapping: 3, output_logits_scale: 2")
    static const char *const keys[] = {"model.share_embedding_weights", "model.use_bias_in_output",
                                       "model.final_logit_softcapping",
                                       "model.output_logits_scale"};
    struct zoo_params p = params_parsed(LOADER("SST2DataProcessor", "") OUTPUT OPTIM);
    struct zoo_params masked = params_parsed(LOADER("BertCSVDataProcessor", "") OUTPUT OPTIM);
#undef OUTPUT
    for (int i = 0; i < 4; i++) {
        char text[120];
        (void)snprintf(text, sizeof text, "%s: without effect: no output layer over a vocabulary",
                       keys[i]);
        T_TRUE(params_warn(&p, text));
        T_TRUE(!params_warn(&masked, text));
    }
    zoo_params_fini(&masked);
    zoo_params_fini(&p);
}

/* Keys of the first releases: read as what they became, or named as without effect. */
TEST(encoder_params, keys_of_the_first_releases)
{
    struct zoo_params p = params_parsed(LOADER(
        "T5DynamicDataProcessor",
        ", src_max_sequence_length: 8") "model: {src_vocab_size: 64, d_model: 16, d_kv: 8, "
                                        "num_heads: 2, d_ff: 32, extra_ids: 4,\n"
                                        "  use_t5_layer_norm: false, enable_vts: true}\n" OPTIM
                                        "predict_input: {data_processor: T5DynamicDataProcessor}\n"
                                        "csconfig: {use_cbfloat16: false}\n");
    T_EQ(p.model.norm_type, ZOO_LAYERNORM);
    T_TRUE(
        params_warn(&p, "model.use_t5_layer_norm: old spelling: write model.norm_type: layernorm"));
    T_TRUE(params_warn(&p, "model.enable_vts: ignored"));
    T_TRUE(params_warn(&p, "without effect here: predict_input"));
    zoo_params_fini(&p);
    p = params_parsed(
        "train_input: {data_processor: GptHDF5DataProcessor, data_dir: ./d, batch_size: 4}\n"
        "model: {vocab_size: 64, hidden_size: 16, num_heads: 2, loss_weight: 0.01}\n" OPTIM);
    T_TRUE(params_warn(
        &p, "model.loss_weight: taken as 1 with loss_scaling num_tokens; hint: the first "
            "releases had batch_size alone"));
    zoo_params_fini(&p);
}

/* Messages have the name that the file has, not the one that the key is read as. */
TEST(encoder_params, renamed_keys_in_messages)
{
    struct zoo_params p = params_parsed(LOADER(
        "T5HDF5DataProcessor", "") "model: {src_vocab_size: 64, "
                                   "d_model: 16, num_heads: 2, d_ff: 32, lm_loss_weight: 0.1,\n"
                                   "  loss_scaling: num_tokens}\n" OPTIM);
    T_TRUE(params_warn(&p, "model.lm_loss_weight: taken as 1 with loss_scaling num_tokens"));
    zoo_params_fini(&p);
}

#define T5(more)                                                                                   \
    LOADER("T5HDF5DataProcessor", ", src_max_sequence_length: 8, tgt_max_sequence_length: 4")      \
    "model: {src_vocab_size: 64, d_model: 16, d_kv: 8, num_heads: 2, d_ff: 32" more "}\n" OPTIM

/* Errors of files of samples name the key of the params that says their length, with its place. */
TEST(encoder_params, keys_of_lengths_have_places)
{
    struct zoo_params p = params_parsed(T5(""));
    T_TRUE(strstr(zoo_input_length_key(&p.train_input, false), ":1:") != NULL);
    T_TRUE(strstr(zoo_input_length_key(&p.train_input, false),
                  ": train_input.src_max_sequence_length") != NULL);
    T_TRUE(strstr(zoo_input_length_key(&p.train_input, true),
                  ": train_input.tgt_max_sequence_length") != NULL);
    zoo_params_fini(&p);
    p = params_parsed(
        "train_input: {data_processor: GptHDF5DataProcessor, data_dir: ./d, batch_size: 4}\n"
        "model: {vocab_size: 64, hidden_size: 16, num_heads: 2, max_position_embeddings: "
        "8}\n" OPTIM);
    T_TRUE(strstr(zoo_input_length_key(&p.train_input, false), ": model.max_position_embeddings") !=
           NULL);
    zoo_params_fini(&p);
    const struct zoo_input none = {.max_sequence_length = CONF_NULL};
    T_STR(zoo_input_length_key(&none, false), "model.max_position_embeddings");
}

/* The root of d_model divides what enters a tied output layer, and must not divide a bias. */
TEST(encoder_params, a_tied_output_layer_of_seq2seq_has_no_bias)
{
    T_TRUE(params_refused(T5(", use_bias_in_output: true"),
                          "model.use_bias_in_output: not with a tied output layer"));
    struct zoo_params p =
        params_parsed(T5(", use_bias_in_output: true, share_embedding_weights: false"));
    T_TRUE(p.model.use_bias_in_output);
    zoo_params_fini(&p);
}

/* The Model Zoo's class of T5 has its own initial weights. */
TEST(encoder_params, initializers_have_no_effect_on_seq2seq)
{
    static const char *const key[] = {"initializer_range",     "initializer",
                                      "embedding_initializer", "output_layer_initializer",
                                      "ffn_initializer",       "ffn_output_layer_initializer"};
    struct zoo_params p = params_parsed(
        T5(", initializer_range: 0.1, initializer: xavier_uniform, embedding_initializer: "
           "xavier_uniform, output_layer_initializer: xavier_uniform, ffn_initializer: "
           "xavier_uniform, ffn_output_layer_initializer: xavier_uniform"));
    char part[128];
    for (size_t i = 0; i < sizeof key / sizeof *key; i++) {
        (void)snprintf(part, sizeof part, "model.%s: without effect: seq2seq has", key[i]);
        T_TRUE(params_warn(&p, part));
    }
    zoo_params_fini(&p);
}
