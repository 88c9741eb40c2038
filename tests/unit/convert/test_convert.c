// SPDX-License-Identifier: Apache-2.0
/* Folders of Hugging Face models to checkpoints and back.  tests/fixtures/make_hf_fixtures.py made
 * the folders of tests/data, with what PyTorch computes from them. */
#include "../../support/test.h"
#include "hf_case.h"

#include <wsc/file.h>
#include <wsc/log.h>
#include <wsc/mem.h>
#include <wsc/out.h>

#include <string.h>
#include <unistd.h>

/* Over the files of an earlier case. */
static enum wsc_err from_hf(const char *input, const char *out, bool lenient,
                            struct convert_result *r)
{
    static const char *const names[] = {"model.mdl", "params.yaml"};
    for (int i = 0; i < 2; i++) {
        char path[4096];
        (void)snprintf(path, sizeof path, "%s/%s", out, names[i]);
        (void)unlink(path);
    }
    const struct convert_job job = {.input = input, .out = out, .lenient = lenient};
    return convert_from_hf(&job, r);
}

/* @p set: an override of the params, or NULL. */
static enum wsc_err to_hf_with(const struct convert_result *cs, const char *set, const char *out,
                               int64_t shard_bytes, struct convert_result *r)
{
    const struct conf_set one = {.text = set};
    const struct convert_job job = {.input = cs->checkpoint,
                                    .params = cs->params,
                                    .family = cs->family,
                                    .set = &one,
                                    .n_sets = set != NULL,
                                    .out = out,
                                    .dtype = CONVERT_OTHER,
                                    .shard_bytes = shard_bytes};
    return convert_to_hf(&job, r);
}

static enum wsc_err to_hf(const struct convert_result *cs, const char *out, int64_t shard_bytes,
                          struct convert_result *r)
{
    return to_hf_with(cs, NULL, out, shard_bytes, r);
}

/* ---- against PyTorch ------------------------------------------------------------------------- */

static void check_logits(const char *name)
{
    char input[128], reference[160], out[64];
    struct convert_result cs, hf, again;
    (void)snprintf(input, sizeof input, "tests/data/%s", name);
    (void)snprintf(reference, sizeof reference, "%s/reference.json", input);
    (void)snprintf(out, sizeof out, "%s_cs", name);
    T_OK(from_hf(input, hf_path(out), false, &cs));
    const double error = hf_logits_error(cs.checkpoint, cs.params, reference);
    CU_ASSERT(error >= 0 && error < 1e-5);
    if (!(error >= 0 && error < 1e-5)) (void)fprintf(stderr, "%s: off by %g\n", name, error);
    (void)snprintf(out, sizeof out, "%s_hf", name);
    T_OK(to_hf(&cs, hf_path(out), 10000, &hf));
    CU_ASSERT(hf_same_tensors(input, hf_path(out), (int)cs.n_left_out));
    const char *back = hf_path(out);
    (void)snprintf(out, sizeof out, "%s_again", name);
    T_OK(from_hf(back, hf_path(out), false, &again)); /* config.json says what it said */
    T_EQ(hf_logits_error(again.checkpoint, again.params, reference) == error, true);
}

TEST(convert, gpt2_gives_the_logits_of_pytorch)
{
    check_logits("hf_gpt2");
}

TEST(convert, families_give_the_logits_of_pytorch)
{
    static const char *const name[] = {
        "hf_llama", "hf_mistral",    "hf_mixtral",    "hf_starcoder",  "hf_gptj",
        "hf_neox",  "hf_bloom",      "hf_falcon_7b",  "hf_falcon_40b", "hf_btlm",
        "hf_jais",  "hf_mpt",        "hf_santacoder", "hf_codegen",    "hf_mistral_wide",
        "hf_qwen2", "hf_qwen2_yarn", "hf_gemma2"};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        check_logits(name[i]);
}

/* Logits of a masked token, and the loss of pairs of sentences; one sequence has padding. */
TEST(convert, encoders_give_the_logits_of_pytorch)
{
    static const char *const name[] = {"hf_bert", "hf_roberta", "hf_bert_masked", "hf_esm2"};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        check_logits(name[i]);
}

/* Losses of classes of sequences and of tokens, and of numbers; one sequence with padding. */
TEST(convert, heads_of_classes_give_the_losses_of_pytorch)
{
    static const char *const name[] = {"hf_bert_classifier",    "hf_bert_regression",
                                       "hf_roberta_classifier", "hf_bert_tokens",
                                       "hf_esm2_classifier",    "hf_esm2_tokens"};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        check_logits(name[i]);
}

/* Logits of the token after a target; one source and one target have padding. */
TEST(convert, encoder_decoders_give_the_logits_of_pytorch)
{
    check_logits("hf_t5");
    check_logits("hf_t5_gated");
}

/* ---- round trips ----------------------------------------------------------------------------- */

static const struct {
    const char *name, *config;
} folder[] = {
#define SIZES(v, c, l, h, t)                                                                       \
    "\"vocab_size\": " #v ", \"hidden_size\": " #c ", \"num_hidden_layers\": " #l ", "             \
    "\"num_attention_heads\": " #h ", \"max_position_embeddings\": " #t
#define LLAMA SIZES(37, 24, 2, 4, 9) ", \"intermediate_size\": 50, \"num_key_value_heads\": 2"
    {"gptj", "{\"model_type\": \"gptj\", \"vocab_size\": 37, \"n_embd\": 24, \"n_layer\": 2, "
             "\"n_head\": 3, \"n_positions\": 17, \"rotary_dim\": 4}"},
    {"neox",
     "{\"model_type\": \"gpt_neox\", " SIZES(37, 48, 2, 3, 9) ", \"intermediate_size\": 50, "
                                                              "\"rotary_pct\": 0.5}"},
    {"llama", "{\"model_type\": \"llama\", " LLAMA "}"},
    {"llama3", "{\"model_type\": \"llama\", " LLAMA ", \"tie_word_embeddings\": true, "
               "\"rope_scaling\": {\"rope_type\": \"llama3\", \"factor\": 8.0, "
               "\"low_freq_factor\": 1.0, \"high_freq_factor\": 4.0, "
               "\"original_max_position_embeddings\": 8192}}"},
    {"mistral", "{\"model_type\": \"mistral\", " LLAMA ", \"sliding_window\": 5}"},
    {"mistral_wide", "{\"model_type\": \"mistral\", " LLAMA ", \"head_dim\": 10}"},
    {"qwen2", "{\"model_type\": \"qwen2\", " LLAMA ", \"use_sliding_window\": false}"},
    {"mixtral", "{\"model_type\": \"mixtral\", " LLAMA ", \"num_local_experts\": 3}"},
    {"bloom", "{\"model_type\": \"bloom\", \"vocab_size\": 37, \"hidden_size\": 24, "
              "\"n_layer\": 2, \"n_head\": 3, \"seq_length\": 17}"},
    {"falcon-7b", "{\"model_type\": \"falcon\", " SIZES(37, 24, 2, 3, 9) "}"},
    {"falcon-40b",
     "{\"model_type\": \"falcon\", " SIZES(
         37, 32, 2, 4, 9) ", \"new_decoder_architecture\": true, \"num_kv_heads\": 2}"},
    {"starcoder", "{\"model_type\": \"gpt_bigcode\", \"vocab_size\": 37, \"n_embd\": 24, "
                  "\"n_layer\": 2, \"n_head\": 3, \"n_positions\": 17}"},
    {"bigcode_mha", "{\"model_type\": \"gpt_bigcode\", \"vocab_size\": 37, \"n_embd\": 24, "
                    "\"n_layer\": 2, \"n_head\": 3, \"n_positions\": 17, "
                    "\"multi_query\": false}"},
    {"santacoder", "{\"model_type\": \"gpt2\", \"attention_head_type\": \"multiquery\", "
                   "\"vocab_size\": 37, \"n_embd\": 24, \"n_layer\": 2, \"n_head\": 3, "
                   "\"n_positions\": 17}"},
    {"btlm", "{\"model_type\": \"btlm\", \"vocab_size\": 37, \"n_embd\": 24, \"n_layer\": 2, "
             "\"n_head\": 3, \"n_positions\": 17, \"activation_function\": \"swiglu\", "
             "\"mup_output_alpha\": 2.0, \"mup_width_scale\": 0.3}"},
    {"jais", "{\"model_type\": \"jais\", \"vocab_size\": 37, \"n_embd\": 24, \"n_layer\": 2, "
             "\"n_head\": 3, \"n_positions\": 17, \"tie_word_embeddings\": false}"},
    {"mpt", "{\"model_type\": \"mpt\", \"vocab_size\": 37, \"d_model\": 24, \"n_layers\": 2, "
            "\"n_heads\": 3, \"max_seq_len\": 17}"},
    {"codegen", "{\"model_type\": \"codegen\", \"vocab_size\": 37, \"n_embd\": 48, "
                "\"n_layer\": 2, \"n_head\": 12, \"n_positions\": 17, \"rotary_dim\": 4}"},
    {"bert", "{\"model_type\": \"bert\", " SIZES(37, 24, 2, 3, 9) ", \"intermediate_size\": 50}"},
    {"bert_pairs", "{\"model_type\": \"bert\", \"architectures\": [\"BertForPreTraining\"], " SIZES(
                       37, 24, 2, 3, 9) ", \"intermediate_size\": 50}"},
    {"roberta", "{\"model_type\": \"roberta\", " SIZES(
                    37, 24, 2, 3, 9) ", \"intermediate_size\": 50, "
                                     "\"tie_word_embeddings\": false, \"type_vocab_size\": 1}"},
    {"esm2",
     "{\"model_type\": \"esm\", " SIZES(
         37, 24, 2, 3, 9) ", \"intermediate_size\": 50, "
                          "\"position_embedding_type\": \"rotary\", \"token_dropout\": true}"},
#define HEAD(type, class, more)                                                                    \
    "{\"model_type\": \"" type "\", \"architectures\": [\"" class "\"], " SIZES(                   \
        37, 24, 2, 3, 9) ", "                                                                      \
                         "\"intermediate_size\": 50" more "}"
#define THREE   ", \"id2label\": {\"0\": \"a\", \"1\": \"b\", \"2\": \"c\"}"
#define PROTEIN ", \"position_embedding_type\": \"rotary\", \"token_dropout\": true"
    {"bert-classifier", HEAD("bert", "BertForSequenceClassification", THREE)},
    {"bert_regression", HEAD("bert", "BertForSequenceClassification", ", \"num_labels\": 1")},
    {"bert-tokens", HEAD("bert", "BertForTokenClassification", ", \"num_labels\": 5")},
    {"bert-answers", HEAD("bert", "BertForQuestionAnswering", "")},
    {"roberta-classifier", HEAD("roberta", "RobertaForSequenceClassification", "")},
    {"roberta_regression", HEAD("roberta", "RobertaForSequenceClassification",
                                ", \"num_labels\": 1, \"problem_type\": \"regression\"")},
    {"roberta-tokens", HEAD("roberta", "RobertaForTokenClassification", THREE)},
    {"roberta-answers", HEAD("roberta", "RobertaForQuestionAnswering", "")},
    {"esm2-classifier", HEAD("esm", "EsmForSequenceClassification", THREE PROTEIN)},
    {"esm2-tokens", HEAD("esm", "EsmForTokenClassification", PROTEIN)},
#define T5                                                                                         \
    "\"model_type\": \"t5\", \"vocab_size\": 37, \"d_model\": 24, \"d_kv\": 6, \"d_ff\": 50, "     \
    "\"num_layers\": 2, \"num_heads\": 3, \"n_positions\": 9, \"is_encoder_decoder\": true"
    {"t5", "{" T5 "}"},
    {"t5-v1.1", "{" T5 ", \"num_decoder_layers\": 1, \"feed_forward_proj\": \"gated-gelu\", "
                "\"tie_word_embeddings\": false}"},
    {"gpt2", "{\"model_type\": \"gpt2\", \"vocab_size\": 37, \"n_embd\": 24, \"n_layer\": 3, "
             "\"n_head\": 3, \"n_positions\": 17, \"n_inner\": 50}"},
};
enum { N_FOLDERS = sizeof folder / sizeof *folder };

/* No config.json here names a type, so that of the tensors chooses the precision of the params. */
static void check_precision(const char *params, enum convert_dtype dtype)
{
    static const char *const precision[] = {
        [CONVERT_F32] = "mixed_precision: false\n",
        [CONVERT_F16] = "mixed_precision: true\n    fp16_type: float16\n",
        [CONVERT_BF16] = "mixed_precision: true\n    fp16_type: bfloat16\n"};
    char *text = NULL;
    size_t n = 0;
    T_OK(conf_read_file(params, &text, &n));
    CU_ASSERT(text && strstr(text, precision[dtype]) != NULL);
    wsc_free(text);
}

/* Every type; one file and many. */
static void check_round_trip(const char *family, const char *config, enum convert_dtype dtype)
{
    const bool many = dtype != CONVERT_F32;
    char name[64];
    struct convert_result cs, hf;
    (void)snprintf(name, sizeof name, "%s_%d", family, (int)dtype);
    const char *dir = hf_path(name);
    CU_ASSERT_FATAL(hf_write_random(dir, config, dtype, 7));
    T_OK(from_hf(dir, hf_path("cs"), false, &cs));
    check_precision(cs.params, dtype);
    (void)snprintf(name, sizeof name, "%s_%d_back", family, (int)dtype);
    const char *back = hf_path(name);
    T_OK(to_hf(&cs, back, many ? 3000 : INT64_MAX, &hf));
    CU_ASSERT(many ? hf.n_files > 2 : hf.n_files == 1);
    CU_ASSERT(hf_same_tensors(dir, back, 0));
}

TEST(convert, a_round_trip_changes_no_byte)
{
    for (int i = 0; i < N_FOLDERS; i++)
        for (int dtype = CONVERT_F32; dtype < CONVERT_OTHER; dtype++)
            check_round_trip(folder[i].name, folder[i].config, (enum convert_dtype)dtype);
}

/* Four of twelve dimensions are no fraction of 15 digits. */
TEST(convert, a_third_of_a_head_comes_back)
{
    static const char config[] =
        "{\"model_type\": \"gpt_neox\", " SIZES(37, 36, 1, 3, 9) ", \"intermediate_size\": 50, "
                                                                 "\"rotary_pct\": 0.34}";
    struct convert_result cs, hf;
    char *text = NULL;
    size_t n = 0;
    CU_ASSERT_FATAL(hf_write_random(hf_path("third"), config, CONVERT_F32, 7));
    T_OK(from_hf(hf_path("third"), hf_path("third_cs"), false, &cs));
    T_OK(to_hf(&cs, hf_path("third_hf"), INT64_MAX, &hf));
    T_OK(conf_read_file(hf_path("third_hf/config.json"), &text, &n));
    CU_ASSERT(text && strstr(text, "\"rotary_pct\": 0.33333333333333331"));
    wsc_free(text);
    text = NULL;
    T_OK(from_hf(hf_path("third_hf"), hf_path("third_again"), false, &cs));
    T_OK(conf_read_file(cs.params, &text, &n));
    CU_ASSERT(text && strstr(text, "rotary_dim: 4\n"));
    wsc_free(text);
}

/* Lengths come back as whole numbers, other settings of YaRN as real ones; without an extension
 * there is no factor of the angles. */
TEST(convert, settings_of_yarn_come_back)
{
    static const char config[] =
        "{\"model_type\": \"qwen2\", \"vocab_size\": 37, \"hidden_size\": 24, "
        "\"num_hidden_layers\": 1, "
        "\"num_attention_heads\": 3, \"num_key_value_heads\": 3, \"max_position_embeddings\": 9, "
        "\"intermediate_size\": 20, \"rope_scaling\": {\"type\": \"yarn\", \"factor\": 4.0, "
        "\"attention_factor\": 1.5, \"original_max_position_embeddings\": 320}}";
    static const struct {
        const char *set, *factor;
    } row[] = {{"model.pos_scaling_factor=2", "\"attention_factor\": 1.5"},
               {"model.pos_scaling_factor=1", NULL}};
    CU_ASSERT_FATAL(hf_write_random(hf_path("yarn"), config, CONVERT_F32, 7));
    for (int i = 0; i < 2; i++) {
        struct convert_result cs, hf;
        char *text = NULL, folder_back[16], file[32];
        size_t n = 0;
        T_OK(from_hf(hf_path("yarn"), hf_path("yarn_cs"), false, &cs));
        (void)snprintf(folder_back, sizeof folder_back, "yarn_hf%d", i);
        (void)snprintf(file, sizeof file, "%s/config.json", folder_back);
        T_OK(to_hf_with(&cs, row[i].set, hf_path(folder_back), INT64_MAX, &hf));
        T_OK(conf_read_file(hf_path(file), &text, &n));
        CU_ASSERT(text && strstr(text, "original_max_position_embeddings\": 320"));
        CU_ASSERT(text && !strstr(text, "320.0") && strstr(text, "\"beta_fast\": 32.0"));
        CU_ASSERT(text && !strstr(text, "attention_factor") == !row[i].factor);
        CU_ASSERT(text && (!row[i].factor || strstr(text, row[i].factor)));
        wsc_free(text);
    }
}

/* Heads of classes under the names that the transformers library gives them. */
TEST(convert, heads_of_classes_have_their_names)
{
    static const struct {
        const char *family, *tensor;
        int64_t rows;
    } row[] = {{"bert-classifier", "bert.pooler.dense.weight", 24},
               {"bert-classifier", "classifier.weight", 3},
               {"bert_regression", "classifier.weight", 1},
               {"roberta_regression", "classifier.out_proj.bias", 1},
               {"bert-tokens", "classifier.bias", 5},
               {"bert-answers", "qa_outputs.weight", 2},
               {"roberta-classifier", "classifier.dense.bias", 24},
               {"roberta-classifier", "classifier.out_proj.weight", 2},
               {"roberta-tokens", "classifier.weight", 3},
               {"roberta-answers", "qa_outputs.bias", 2},
               {"esm2-classifier", "classifier.dense.weight", 24},
               {"esm2-classifier", "classifier.out_proj.bias", 3},
               {"esm2-tokens", "classifier.weight", 2},
               {"esm2-tokens", "esm.encoder.emb_layer_norm_after.weight", 24}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct convert_files *files = NULL;
        int k = 0;
        while (strcmp(folder[k].name, row[i].family) != 0)
            k++;
        const char *dir = hf_path("named");
        CU_ASSERT_FATAL(hf_write_random(dir, folder[k].config, CONVERT_F32, 3));
        CU_ASSERT_FATAL(test_ok(convert_files_open(&files, dir)));
        const struct convert_tensor *t = convert_files_find(files, row[i].tensor);
        CU_ASSERT(t && t->shape[0] == row[i].rows);
        if (!t) (void)fprintf(stderr, "%s: no %s\n", row[i].family, row[i].tensor);
        convert_files_close(&files);
    }
}

/* ---- lines of fused tensors ------------------------------------------------------------------ */

static void check_part(const struct convert_pair *p, int part, bool *seen)
{
    for (int64_t row = 0; row < p->lines[part]; row++) {
        const int64_t line = convert_pair_line(p, part, row);
        int back = -1;
        CU_ASSERT_FATAL(line >= 0 && line < p->n_lines && !seen[line]);
        seen[line] = true;
        T_EQ(convert_pair_row(p, line, &back), row);
        T_EQ(back, part);
    }
}

/* A map between lines and rows is one to one, and has the definition's value at some places. */
TEST(convert, lines_and_rows_are_one_to_one)
{
    const struct convert_pair pair[] = {
        {.n_parts = 3, .lines = {24, 24, 24}, .n_lines = 72, .groups = 1, .head_dim = 8},
        {.n_parts = 3, .lines = {24, 24, 24}, .n_lines = 72, .groups = 3, .head_dim = 8},
        {.n_parts = 3,
         .lines = {48, 16, 16},
         .n_lines = 80,
         .groups = 2,
         .head_dim = 8,
         .rotary_dim = 8},
        {.n_parts = 1, .lines = {24}, .n_lines = 24, .groups = 1, .head_dim = 8, .rotary_dim = 4},
    };
    for (size_t i = 0; i < sizeof pair / sizeof *pair; i++) {
        bool seen[80] = {false};
        for (int part = 0; part < pair[i].n_parts; part++)
            check_part(&pair[i], part, seen);
    }
    T_EQ(convert_pair_line(&pair[0], 1, 3), 24 + 3);          /* thirds */
    T_EQ(convert_pair_line(&pair[1], 1, 8 + 3), 24 + 8 + 3);  /* (head, 3, d): head 1, keys */
    T_EQ(convert_pair_line(&pair[2], 0, 24), 40);             /* second group's first query */
    T_EQ(convert_pair_line(&pair[2], 2, 8 + 5), 40 + 32 + 5); /* values do not turn */
    T_EQ(convert_pair_line(&pair[3], 0, 8 + 1), 8 + 2);       /* pair (2j, 2j+1): (j, j + 2) */
    T_EQ(convert_pair_line(&pair[3], 0, 8 + 5), 8 + 5);       /* beyond the rotated part */
}

/* ---- what does not fit ----------------------------------------------------------------------- */

static void expect(enum wsc_err rc, enum wsc_err expected, const char *why)
{
    T_EQ(rc, expected);
    if (!strstr(wsc_err_message(), why)) (void)fprintf(stderr, "\"%s\"\n", wsc_err_message());
    CU_ASSERT(strstr(wsc_err_message(), why) != NULL);
}

static bool rewrite(const char *dir, const char *config)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/config.json", dir);
    return hf_write_text(path, config);
}

static const char small[] = "\"model_type\": \"gpt2\", \"vocab_size\": 8, \"n_embd\": 4, "
                            "\"n_head\": 2, \"n_positions\": 5";

TEST(convert, wrong_configurations_are_told)
{
    static const struct {
        const char *rest, *why;
    } row[] = {
        {"", "n_layer: is missing"},
        {", \"n_layer\": \"2\"", "n_layer: has another type than expected; hint: write 2 without"},
        {", \"n_layer\": 2.0", "n_layer: has another type"},
        {", \"n_layer\": 1, \"n_inner\": \"16\"", "n_inner: has another type"},
        {", \"n_layer\": 1, \"attn_pdrop\": \"0.1\"", "attn_pdrop: has another type"},
        {", \"n_layer\": 1, \"tie_word_embeddings\": \"true\"", "embeddings: has another type"},
        {", \"n_layer\": 1.5", "n_layer: has another type"},
        {", \"n_layer\": [1]", "n_layer: has another type"},
        {", \"n_layer\": 1, \"activation_function\": \"tanhish\"", "tanhish is not supported"},
        {", \"n_layer\": 1, \"scale_attn_weights\": false", "only true"},
        {", \"n_layer\": 1, \"n_inner\": true", "n_inner: has another type"},
        {", \"n_layer\": -1", "config.json:1:85: n_layer: must be at least 1"},
        {", \"n_layer\": 1, \"n_layer\": 1", "duplicate object key"},
    };
    char text[400];
    struct convert_result r;
    const char *dir = hf_path("wrong");
    (void)snprintf(text, sizeof text, "{%s, \"n_layer\": 1}", small);
    CU_ASSERT_FATAL(hf_write_random(dir, text, CONVERT_F32, 1));
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        (void)snprintf(text, sizeof text, "{%s%s}", small, row[i].rest);
        CU_ASSERT_FATAL(rewrite(dir, text));
        CU_ASSERT(from_hf(dir, hf_path("wrong_cs"), false, &r) != WSC_OK);
        if (!strstr(wsc_err_message(), row[i].why))
            (void)fprintf(stderr, "\"%s\", expected \"%s\"\n", wsc_err_message(), row[i].why);
        CU_ASSERT(strstr(wsc_err_message(), row[i].why) != NULL);
    }
    CU_ASSERT_FATAL(rewrite(dir, "{\"model_type\": \"gpt5\"}"));
    expect(from_hf(dir, hf_path("wrong_cs"), false, &r), WSC_CONFIG,
           "known are: santacoder, gpt2, gptj");
    CU_ASSERT_FATAL(rewrite(dir, "{}"));
    expect(from_hf(dir, hf_path("wrong_cs"), false, &r), WSC_FORMAT, "model_type is missing");
    CU_ASSERT(!hf_exists(hf_path("wrong_cs/model.mdl")));
}

#define MPT                                                                                        \
    "\"model_type\": \"mpt\", \"vocab_size\": 8, \"d_model\": 8, \"n_layers\": 1, "                \
    "\"n_heads\": 2, \"max_seq_len\": 5"
#define ENCODER SIZES(37, 24, 2, 3, 9) ", \"intermediate_size\": 50"

/* What a family cannot have is named with its place. */
TEST(convert, what_a_family_lacks_is_told)
{
    static const struct {
        const char *config, *why;
    } row[] = {
        {"{" MPT ", \"attn_config\": {\"qk_ln\": true}}", "attn_config: qk_ln: true is not"},
        {"{" MPT ", \"attn_config\": {\"rope\": true}}", "attn_config: rope: true is not"},
        {"{" MPT ", \"attn_config\": {\"alibi_bias_max\": 16}}", "alibi_bias_max: 16 is not"},
        {"{" MPT ", \"attn_config\": 3}", "attn_config: expected an object"},
        {"{" MPT ", \"no_bias\": false}", "no_bias: false is not supported, only true"},
        {"{\"model_type\": \"codegen\", \"vocab_size\": 8, \"n_embd\": 12, \"n_layer\": 1, "
         "\"n_head\": 6, \"n_positions\": 5}",
         "n_head: 6 heads are no four equal groups"},
        {"{\"model_type\": \"bert\", " ENCODER ", \"architectures\": [\"BertForMultipleChoice\"]}",
         "architectures: BertForMultipleChoice is not supported"},
        {"{\"model_type\": \"bert\", " ENCODER
         ", \"architectures\": [\"BertForSequenceClassification\"], \"problem_type\": "
         "\"single_label_classification\", \"num_labels\": 1}",
         "num_labels: 1 classes are not supported, only two or more"},
        {"{\"model_type\": \"bert\", " ENCODER
         ", \"architectures\": [\"BertForSequenceClassification\"], \"problem_type\": "
         "\"regression\", \"num_labels\": 2}",
         "num_labels: 2 classes are not supported, only one of a regression"},
        {"{\"model_type\": \"bert\", " ENCODER
         ", \"architectures\": [\"BertForSequenceClassification\"], \"problem_type\": "
         "\"multi_label_classification\"}",
         "problem_type: multi_label_classification is not supported, only "
         "single_label_classification and regression"},
        {"{\"model_type\": \"bert\", " ENCODER
         ", \"architectures\": [\"BertForTokenClassification\"], \"num_labels\": 1}",
         "num_labels: 1 classes are not supported"},
        {"{\"model_type\": \"bert\", " ENCODER
         ", \"architectures\": [\"BertForTokenClassification\"], \"problem_type\": "
         "\"multi_label_classification\"}",
         "problem_type: multi_label_classification is not supported"},
        {"{\"model_type\": \"bert\", " ENCODER ", \"architectures\": \"BertForMultipleChoice\"}",
         "architectures: BertForMultipleChoice is not supported"},
        {"{\"model_type\": \"roberta\", " ENCODER ", \"architectures\": [\"RobertaModel\"]}",
         "architectures: RobertaModel is not supported"},
        {"{\"model_type\": \"roberta\", " ENCODER ", \"pad_token_id\": 8}",
         "max_position_embeddings: 9 rows leave no position"},
        {"{\"model_type\": \"esm\", " ENCODER "}", "position_embedding_type: is missing"},
        {"{\"model_type\": \"esm\", " ENCODER ", \"position_embedding_type\": \"absolute\"}",
         "absolute is not supported"},
        {"{" T5 ", \"relative_attention_max_distance\": 64}", "64 is not supported, only 128"},
        {"{" T5 ", \"feed_forward_proj\": \"gated-silu\"}", "gated-silu is not supported"},
        {"{\"model_type\": \"bart\"}", "bart is not a family that is known"},
    };
    struct convert_result r;
    const char *dir = hf_path("lacking");
    CU_ASSERT_FATAL(hf_write_random(dir, "{" MPT "}", CONVERT_F32, 1));
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        CU_ASSERT_FATAL(rewrite(dir, row[i].config));
        CU_ASSERT(from_hf(dir, hf_path("lacking_cs"), false, &r) != WSC_OK);
        if (!strstr(wsc_err_message(), row[i].why))
            (void)fprintf(stderr, "\"%s\", expected \"%s\"\n", wsc_err_message(), row[i].why);
        CU_ASSERT(strstr(wsc_err_message(), row[i].why) != NULL);
    }
}

/* Params that no folder of the family can express. */
TEST(convert, what_a_folder_cannot_express_is_told)
{
    static const struct {
        const char *folder, *set, *why;
    } row[] = {
        {"hf_gemma2", "model.embeddings_scale=4.4721", "4.4721, but a gemma2 model has the root"},
        {"hf_gemma2", "model.sliding_window_every_other_decoder_layer=false",
         "a gemma2 model has windows in every other layer"},
        {"hf_gemma2", "model.attention_sink_tokens=2", "no counterpart of attention_sink_tokens"},
        {"hf_gemma2", "model.rotary_dim=4", "a gemma2 model rotates whole heads of 6"},
        {"hf_gemma2", "model.output_logits_scale=0.5", "output_logits_scale"},
        {"hf_qwen2", "model.attention_sliding_window_length=4", "a qwen2 model has no window"},
        {"hf_qwen2_yarn", "model.pos_scaling_extra_args.extrapolation_factor=0.5",
         "a qwen2 model has no counterpart of 0.5"},
        {"hf_qwen2", "model.final_logit_softcapping=4",
         "no counterpart of final_logit_softcapping"},
        {"hf_gpt2", "model.attention_logit_softcapping=4", "no counterpart of attention_logit_"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct convert_result cs, hf;
        char input[128];
        (void)snprintf(input, sizeof input, "tests/data/%s", row[i].folder);
        T_OK(from_hf(input, hf_path("plain_cs"), false, &cs));
        expect(to_hf_with(&cs, row[i].set, hf_path("plain_hf"), INT64_MAX, &hf), WSC_CONFIG,
               row[i].why);
    }
}

/* A whole number only where the scalar is one. */
TEST(convert, scores_of_gemma2_are_divided_by_any_number)
{
    static const struct {
        const char *alpha, *scalar;
    } row[] = {{"model.attention_logits_alpha=0.5", "\"query_pre_attn_scalar\": 24,"},
               {"model.attention_logits_alpha=0.7", "\"query_pre_attn_scalar\": 12.2448979591836"}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct convert_result cs, hf;
        char out[160], path[240], *text = NULL;
        size_t n = 0;
        (void)snprintf(out, sizeof out, "%s%zu", hf_path("scalar"), i);
        T_OK(from_hf("tests/data/hf_gemma2", hf_path("scalar_cs"), false, &cs));
        T_OK(to_hf_with(&cs, row[i].alpha, out, INT64_MAX, &hf));
        (void)snprintf(path, sizeof path, "%s/config.json", out);
        T_OK(conf_read_file(path, &text, &n));
        CU_ASSERT(text && strstr(text, row[i].scalar) != NULL);
        wsc_free(text);
    }
}

TEST(convert, the_list_of_families_is_that_of_the_table)
{
    char list[] = " " CONVERT_FAMILIES " ", name[64];
    int n = 0, spaces = 0;
    for (const struct convert_family *f = convert_families; f->name; f++, n++) {
        (void)snprintf(name, sizeof name, " %s ", f->name);
        CU_ASSERT_PTR_NOT_NULL(strstr(list, name));
    }
    for (const char *c = list; *c; c++)
        spaces += *c == ' ';
    T_EQ(n, spaces - 1);
}

TEST(convert, tensors_that_do_not_fit_are_told)
{
    char text[400];
    struct convert_result r;
    const char *dir = hf_path("unfit");
    (void)snprintf(text, sizeof text, "{%s, \"n_layer\": 2}", small);
    CU_ASSERT_FATAL(hf_write_random(dir, text, CONVERT_F32, 1));
    (void)snprintf(text, sizeof text, "{%s, \"n_layer\": 2, \"n_inner\": 20}", small);
    CU_ASSERT_FATAL(rewrite(dir, text));
    expect(from_hf(dir, hf_path("unfit_cs"), false, &r), WSC_FORMAT,
           "h.0.mlp.c_fc.weight has shape (4, 16), config.json gives (4, 20)");
    (void)snprintf(text, sizeof text, "{%s, \"n_layer\": 1}", small);
    CU_ASSERT_FATAL(rewrite(dir, text));
    expect(from_hf(dir, hf_path("unfit_cs"), false, &r), WSC_FORMAT,
           "transformer.h.1.attn.c_attn.bias is none of a gpt2 model");
    wsc_log_quiet(true);
    T_OK(from_hf(dir, hf_path("fewer"), true, &r));
    T_EQ(r.n_left_out, 12);
    (void)snprintf(text, sizeof text, "{%s, \"n_layer\": 3}", small);
    CU_ASSERT_FATAL(rewrite(dir, text));
    expect(from_hf(dir, hf_path("unfit_cs"), false, &r), WSC_FORMAT,
           "tensor transformer.h.2.ln_1.weight is missing");
    CU_ASSERT(!hf_exists(hf_path("unfit_cs/model.mdl")));
    T_OK(from_hf(dir, hf_path("more"), true, &r));
    wsc_log_quiet(false);
    T_EQ(r.n_left_out, 12);
}

/* Not even its own input, which may lie in the folder. */
TEST(convert, nothing_is_written_over)
{
    static const char *const names[] = {"config.json", "pytorch_model.bin",
                                        "model-00001-of-00002.safetensors", "model.mdl",
                                        "params.yaml"};
    struct convert_result cs, r;
    T_OK(from_hf("tests/data/hf_gpt2", hf_path("over"), false, &cs));
    for (int i = 0; i < 5; i++) {
        char dir[4096], path[4200];
        (void)snprintf(dir, sizeof dir, "%s_%d", hf_path("over"), i);
        (void)snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        T_OK(wsc_file_mkdir(dir));
        FILE *f = fopen(path, "w");
        CU_ASSERT_FATAL(f && !fclose(f));
        const struct convert_job job = {.input = "tests/data/hf_gpt2", .out = dir};
        (void)snprintf(path, sizeof path, "%s: exists; hint: remove it", names[i]);
        expect(i < 3 ? to_hf(&cs, dir, INT64_MAX, &r) : convert_from_hf(&job, &r), WSC_USAGE, path);
        if (i >= 3) expect(convert_merge_adapters(&job, &r), WSC_USAGE, path);
    }
}

TEST(convert, an_export_never_mixes_two_models)
{
    struct convert_result cs, hf;
    T_OK(from_hf("tests/data/hf_gpt2", hf_path("mix"), false, &cs));
    T_OK(to_hf(&cs, hf_path("mix_hf"), INT64_MAX, &hf));
    expect(to_hf(&cs, hf_path("mix_hf"), INT64_MAX, &hf), WSC_USAGE, "config.json: exists");
    const struct convert_job job = {.input = cs.checkpoint,
                                    .params = cs.params,
                                    .family = "llama",
                                    .out = hf_path("mix_other"),
                                    .shard_bytes = INT64_MAX};
    expect(convert_to_hf(&job, &hf), WSC_CONFIG, "a llama model has no tensor for");
    CU_ASSERT(!hf_exists(hf_path("mix_other/config.json")));
}
