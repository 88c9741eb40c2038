// SPDX-License-Identifier: Apache-2.0
/* Labels of encoders in the files of the Model Zoo's loaders: what is no number, no class or no
 * character is refused or replaced, never rounded or wrapped to another one. */
#include "../../../src/data/table_file.h"
#include "../../support/test.h"

#include <wsc/conf.h>
#include <wsc/data.h>
#include <wsc/mem.h>
#include <wsc/store.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { T = 8, VOCAB = 400 };
static char words[] = "tests/data/wordpiece_vocab.txt";

/* The folder of this suite alone: every HDF5 file in it is one of the data set. */
static const char *folder(void)
{
    static char dir[300];
    (void)snprintf(dir, sizeof dir, "%s/labels", test_tmpdir());
    (void)mkdir(dir, 0700);
    return dir;
}

static void put(const char *name, const char *text)
{
    char path[340];
    (void)snprintf(path, sizeof path, "%s/%s", folder(), name);
    FILE *f = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    (void)fputs(text, f);
    CU_ASSERT(!fclose(f));
}

/* The first sample of the files in the test's folder: its label, and labels and mask of tokens. */
static enum wsc_err read_rows(struct zoo_input in, float *target, int32_t rows[2][T])
{
    static char dir[300];
    struct data_source *s = NULL;
    struct data_batch *b = NULL;
    (void)snprintf(dir, sizeof dir, "%s", folder());
    in.data_dir[0] = dir;
    in.n_data_dirs = 1;
    in.num_samples = in.max_sequence_length = CONF_NULL;
    in.vocab_file = words;
    in.do_lower = in.trains = true;
    in.n_types = 2;
    enum wsc_err rc = data_source_open(&s, &in, T, VOCAB);
    if (!rc) rc = data_batch_create(&b, 1, T);
    if (!rc) rc = data_source_read(s, 0, 1, b);
    if (!rc) *target = b->targets[0];
    if (!rc) memcpy(rows[0], b->labels, sizeof rows[0]);
    if (!rc) memcpy(rows[1], b->mask, sizeof rows[1]);
    data_batch_destroy(&b);
    data_source_close(&s);
    return rc;
}

/* The same sample: *@p target and *@p label are its label and that of its first token. */
static enum wsc_err read_first(struct zoo_input in, float *target, int32_t *label)
{
    int32_t rows[2][T];
    TRY(read_rows(in, target, rows));
    *label = rows[0][0];
    return WSC_OK;
}

static void expect(enum wsc_err rc, const char *why)
{
    T_EQ(rc, WSC_FORMAT);
    if (rc && !strstr(wsc_err_message(), why))
        (void)fprintf(stderr, "\"%s\", expected \"%s\"\n", wsc_err_message(), why);
    CU_ASSERT(rc && strstr(wsc_err_message(), why));
}

/* A sentence with @p label, of @p n_classes classes, or 0: a number. */
static enum wsc_err read_sentence(const char *label, int64_t n_classes, float *target)
{
    char text[200];
    int32_t ignored;
    (void)snprintf(text, sizeof text, "sentence\tlabel\nloan ber\t%s\n", label);
    put("train.tsv", text);
    return read_first(
        (struct zoo_input){.samples = ZOO_SAMPLES_SST2, .n_labels = VOCAB, .n_classes = n_classes},
        target, &ignored);
}

TEST(data_labels, sentences_have_whole_classes_or_finite_numbers)
{
    float target = -1;
    T_OK(read_sentence("1", 2, &target));
    T_EQ(target, 1);
    T_OK(read_sentence("0.25", 0, &target));
    T_EQ(target, 0.25);
    expect(read_sentence("0.5", 2, &target), "class 0.5, expected 0 to 1");
    expect(read_sentence("2", 2, &target), "class 2, expected 0 to 1");
    expect(read_sentence("nan", 0, &target), "a number was expected as label");
    expect(read_sentence("inf", 0, &target), "a number was expected as label");
    expect(read_sentence("1e999", 0, &target), "a number was expected as label");
}

/* A token whose label has the number @p number in label_vocab_file. */
static enum wsc_err read_token(const char *number, int32_t *label)
{
    static char path[340];
    char text[200];
    float ignored;
    put("samples.csv", "tokens,labels\n\"['loan']\",\"['A']\"\n");
    put("meta.dat", "samples.csv 1\n");
    (void)snprintf(text, sizeof text, "{\"O\": 0, \"A\": %s\n}\n", number);
    put("labels.json", text);
    (void)snprintf(path, sizeof path, "%s/labels.json", folder());
    return read_first(
        (struct zoo_input){.samples = ZOO_SAMPLES_TOKENS, .label_vocab_file = path, .n_labels = 9},
        &ignored, label);
}

TEST(data_labels, numbers_of_labels_do_not_wrap)
{
    static const char *const bad[] = {
        "4294967297", "99999999999999999999", "-1", "1.5", "1e0", "one", ""};
    int32_t label = -1;
    T_OK(read_token("1", &label));
    T_EQ(label, 1);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect(read_token(bad[i], &label), "label A: expected a whole number from 0 to 2147483647");
    expect(read_token("9", &label), "labels is 9, expected 0 to 8");
    expect(read_token("1, \"O\": 2", &label), "labels.json: label O is given twice");
}

/* An input of tokens with a label each: the files of the suite's folder, labels.json among them. */
static struct zoo_input tokens_input(char *vocabulary)
{
    static char dir[300], labels[340];
    (void)snprintf(dir, sizeof dir, "%s", folder());
    (void)snprintf(labels, sizeof labels, "%s/labels.json", dir);
    return (struct zoo_input){.samples = ZOO_SAMPLES_TOKENS,
                              .label_vocab_file = labels,
                              .vocab_file = vocabulary,
                              .data_dir = {dir},
                              .n_data_dirs = 1,
                              .num_samples = CONF_NULL,
                              .max_sequence_length = CONF_NULL,
                              .trains = true,
                              .n_types = 2,
                              .n_labels = 9};
}

/* The id of a token in a file. */
static int32_t first_token(char *vocabulary, const char *token)
{
    char text[100];
    struct data_source *s = NULL;
    struct data_batch *b = NULL;
    (void)snprintf(text, sizeof text, "tokens,labels\n\"['%s']\",\"['A']\"\n", token);
    put("samples.csv", text);
    put("meta.dat", "samples.csv 1\n");
    put("labels.json", "{\"A\": 0\n}\n");
    struct zoo_input in = tokens_input(vocabulary);
    in.do_lower = true;
    int32_t id = -1;
    T_OK(data_source_open(&s, &in, T, VOCAB));
    T_OK(data_batch_create(&b, 1, T));
    T_OK(data_source_read(s, 0, 1, b));
    id = b->input_ids[0];
    data_batch_destroy(&b);
    data_source_close(&s);
    return id;
}

/* Tokens of a file and tokens of a vocabulary become lower case in all scripts: U+0416 and U+0436,
 * U+0130 and two characters. */
TEST(data_labels, tokens_of_all_scripts_become_lower_case)
{
    static char vocabulary[340];
    static const struct {
        const char *file, *vocabulary;
    } row[] = {{"ab", "aB"},
               {"\xd0\x96", "\xd0\xb6"},
               {"\xd0\xb6", "\xd0\x96"},
               {"\xc4\xb0", "i\xcc\x87"}};
    (void)snprintf(vocabulary, sizeof vocabulary, "%s/vocab.txt", folder());
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char text[100];
        (void)snprintf(text, sizeof text, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n%s\n",
                       row[i].vocabulary);
        put("vocab.txt", text);
        T_EQ(first_token(vocabulary, row[i].file), 5);
    }
}

/* Copies on several hosts are compared with the files that make texts and labels to numbers. */
TEST(data_labels, vocabulary_and_labels_are_files_of_the_source)
{
    struct data_source *s = NULL;
    struct data_file_sum *sums = NULL;
    int32_t label;
    int n = 0;
    T_OK(read_token("1", &label)); /* writes the files */
    struct zoo_input in = tokens_input(words);
    uint64_t hash[2] = {0};
    for (int i = 0; i < 2; i++) {
        T_OK(data_source_open(&s, &in, T, VOCAB));
        T_OK(data_source_sums(s, 1 << 20, &sums, &n));
        CU_ASSERT_FATAL(n == 3);
        T_STR(sums[1].path, words);
        T_STR(sums[2].path, in.label_vocab_file);
        hash[i] = sums[2].hash;
        wsc_free(sums);
        data_source_close(&s);
        put("labels.json", "{\"O\": 1, \"A\": 0}\n");
    }
    CU_ASSERT(hash[0] != hash[1]);
}

/* Of ids that no label has, all count; a class beyond those of the model is none. */
TEST(data_labels, classes_without_a_label_of_an_entity_are_left_out_of_the_f1)
{
    static const bool expected[] = {true, false, false, true, false, true};
    enum { CLASSES = sizeof expected };
    bool ignored[CLASSES];
    char path[340];
    put("labels.json", "{\"O\": 0, \"B-PER\": 1, \"I-PER\": 2, \"[PAD]\": 3, \"X\": 5, \"E\": 6}");
    (void)snprintf(path, sizeof path, "%s/labels.json", folder());
    T_OK(data_labels_ignored(path, ignored, CLASSES));
    for (int i = 0; i < CLASSES; i++)
        CU_ASSERT(ignored[i] == expected[i]);
    T_EQ(data_labels_ignored("/no/such/labels.json", ignored, CLASSES), WSC_IO);
    T_EQ(data_labels_ignored(NULL, ignored, CLASSES), WSC_CONFIG);
}

/* A masked sample of a table, of T tokens: ids, mask of padding, types, and one label. */
static enum wsc_err read_masked(const char *ids, const char *attends, const char *types,
                                const char *label)
{
    char text[400];
    float target;
    int32_t ignored;
    (void)snprintf(text, sizeof text,
                   "input_ids,attention_mask,labels,masked_lm_weights,masked_lm_positions,"
                   "token_type_ids,next_sentence_label\n\"[%s]\",\"[%s]\",\"[%s]\",\"[1]\",\"[1]\","
                   "\"[%s]\",\"[1]\"\n",
                   ids, attends, label, types);
    put("samples.csv", text);
    put("meta.dat", "samples.csv 1\n");
    return read_first(
        (struct zoo_input){.samples = ZOO_SAMPLES_CSV_STATIC, .pairs = true, .n_labels = VOCAB - 1},
        &target, &ignored);
}

/* Values are used as indices later: the largest ones that may be, and each one beyond. */
TEST(data_labels, values_of_samples_stay_in_their_ranges)
{
    char last[64], beyond[64], label[64];
    (void)snprintf(last, sizeof last, "1, 2, %d, 0", VOCAB - 1);
    (void)snprintf(beyond, sizeof beyond, "1, 2, %d, 0", VOCAB);
    (void)snprintf(label, sizeof label, "position 1: labels is %d, expected 0 to %d", VOCAB - 1,
                   VOCAB - 2);
    char largest[16], larger[16];
    (void)snprintf(largest, sizeof largest, "%d", VOCAB - 2);
    (void)snprintf(larger, sizeof larger, "%d", VOCAB - 1);
    T_OK(read_masked(last, "1, 1, 1, 0", "0, 1, 1, 0", largest));
    T_OK(read_masked(last, "0, 1, 0, 0", "0, 1, 1, 0", "0"));
    expect(read_masked(beyond, "1, 1, 1, 0", "0, 1, 1, 0", "0"),
           "sample 0, position 2: input_ids is");
    expect(read_masked("1, -2, 0, 0", "1, 1, 1, 0", "0, 1, 1, 0", "0"), "input_ids");
    expect(read_masked(last, "1, 2, 1, 0", "0, 1, 1, 0", "0"),
           "sample 0, position 1: attention_mask is 2, expected 0 to 1");
    expect(read_masked(last, "0, 0, 0, 0", "0, 1, 1, 0", "0"),
           "sample 0 has no token that attention may see");
    expect(read_masked(last, "1, 1, 1, 0", "0, 2, 1, 0", "0"),
           "sample 0, position 1: token_type_ids is 2, expected 0 to 1");
    expect(read_masked(last, "1, 1, 1, 0", "0, 1, 1, 0", larger), label);
}

/* A masked sample of which one list differs from the ordinary one. */
static enum wsc_err read_lists(const char *weights, const char *places, const char *attends,
                               const char *types)
{
    char text[400];
    float target;
    int32_t ignored;
    (void)snprintf(
        text, sizeof text,
        "input_ids,attention_mask,labels,masked_lm_weights,masked_lm_positions,"
        "token_type_ids,next_sentence_label\n\"[1, 2, 1, 0]\",\"[%s]\",\"[7, 8, 9]\",\"[%s]"
        "\",\"[%s]\",\"[%s]\",\"[1]\"\n",
        attends, weights, places, types);
    put("samples.csv", text);
    put("meta.dat", "samples.csv 1\n");
    return read_first(
        (struct zoo_input){.samples = ZOO_SAMPLES_CSV_STATIC, .pairs = true, .n_labels = VOCAB},
        &target, &ignored);
}

TEST(data_labels, lists_of_a_masked_sample_fit_each_other)
{
    static const char all[] = "1, 1, 1, 0", types[] = "0, 0, 1, 0";
    T_OK(read_lists("1, 1, 0", "1, 2, 2", all, types));
    expect(read_lists("1, 1, 1", "1, 2, 2", all, types), "samples.csv:2: masked twice: position 2");
    expect(read_lists("2, 1, 0", "1, 2, 0", all, types),
           "samples.csv:2: a weight other than 0 and 1 at masked position 1");
    expect(read_lists("-1, 1, 0", "1, 2, 0", all, types), "a weight other than 0 and 1");
    expect(read_lists("1, 1, 0", "1, 8, 0", all, types), "outside the sequence: 8");
    expect(read_lists("1, 1, 0", "1, 2, 0", "1, 1, 1", types),
           "samples.csv:2: input_ids and the mask have different lengths");
    expect(read_lists("1, 1, 0", "1, 2, 0", all, "0, 0, 1, 0, 0"),
           "samples.csv:2: token types and tokens have different lengths");
}

/* A sample of two masked tokens in HDF5. */
static enum wsc_err read_h5(const int32_t places[2], const int32_t weights[2])
{
    const struct store_samples_shape shape = {
        .n = 1, .T = T, .type = STORE_INT32, .predictions = 2};
    const int32_t rows[2 * T] = {1, 2, 3, [T] = 1, 1, 1};
    const int32_t labels[6] = {7, 8, places[0], places[1], weights[0], weights[1]};
    char path[340];
    struct store_samples_writer *w = NULL;
    float target;
    int32_t label;
    (void)snprintf(path, sizeof path, "%s/a.h5", folder());
    T_OK(store_samples_create(&w, path, &shape));
    T_OK(store_samples_append(w, rows, 1));
    T_OK(store_samples_append_labels(w, labels, 1));
    T_OK(store_samples_finish(&w));
    return read_first((struct zoo_input){.samples = ZOO_SAMPLES_MASKED, .n_labels = VOCAB}, &target,
                      &label);
}

TEST(data_labels, masked_tokens_of_hdf5_are_named_once)
{
    T_OK(read_h5((int32_t[]){0, 1}, (int32_t[]){1, 1}));
    T_OK(read_h5((int32_t[]){1, 1}, (int32_t[]){1, 0}));
    expect(read_h5((int32_t[]){1, 1}, (int32_t[]){1, 1}), "sample 0: masked twice: position 1");
    expect(read_h5((int32_t[]){0, 1}, (int32_t[]){1, 2}), "sample 0: a weight other than 0 and 1");
    expect(read_h5((int32_t[]){0, T}, (int32_t[]){1, 1}), "outside the sequence: 8, of 8 tokens");
}

/* The list of a folder with the number of samples of its files. */
TEST(data_labels, files_have_as_many_samples_as_their_list_says)
{
    static char path[340];
    float target;
    int32_t label;
    const struct zoo_input tokens = {
        .samples = ZOO_SAMPLES_TOKENS, .label_vocab_file = path, .n_labels = 9};
    (void)snprintf(path, sizeof path, "%s/labels.json", folder());
    put("labels.json", "{\"A\": 1}\n");
    put("samples.csv", "tokens,labels\n\"['loan']\",\"['A']\"\n\"['ber']\",\"['A']\"\n");
    put("meta.dat", "samples.csv\n");
    T_OK(read_first(tokens, &target, &label));
    put("meta.dat", "\r\nsamples.csv 2\r\n");
    T_OK(read_first(tokens, &target, &label));
    put("meta.dat", "samples.csv 3\n");
    expect(read_first(tokens, &target, &label),
           "samples.csv: has 2 samples, but meta.dat lists 3; hint: the file may be incomplete");
    put("meta.dat", "samples.csv 1\n");
    expect(read_first(tokens, &target, &label), "has 2 samples, but meta.dat lists 1");
    put("meta.dat", "samples.csv 2x\n");
    expect(read_first(tokens, &target, &label), "meta.dat: \"2x\" is no number of samples");
    put("samples.csv", "tokens,labels\n\"['loan']\",\"['A', 'A']\"\n");
    put("meta.dat", "samples.csv 1\n");
    expect(read_first(tokens, &target, &label), "samples.csv:2: more labels than tokens");
    put("meta.dat", "\n");
    T_EQ(read_first(tokens, &target, &label), WSC_IO);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "meta.dat: names no file"));
}

/* Tokens after the text have no mask unless padding counts. */
TEST(data_labels, padding_counts_only_where_it_is_wanted)
{
    static char path[340];
    struct zoo_input tokens = {
        .samples = ZOO_SAMPLES_TOKENS, .label_vocab_file = path, .n_labels = 9};
    int32_t rows[2][T] = {{0}};
    float target;
    (void)snprintf(path, sizeof path, "%s/labels.json", folder());
    put("labels.json", "{\"A\": 1}\n");
    put("samples.csv", "tokens,labels\n\"['loan', 'ber']\",\"['A', 'A']\"\n");
    put("meta.dat", "samples.csv 1\n");
    for (int padding = 0; padding < 2; padding++) {
        tokens.padding_in_loss = padding;
        T_OK(read_rows(tokens, &target, rows));
        for (int t = 0; t < T; t++)
            T_EQ(rows[1][t], padding || t < 2);
    }
}

/* Without positions the first tokens have the labels. */
TEST(data_labels, masked_tokens_without_positions_are_the_first_ones)
{
    const struct zoo_input input = {
        .samples = ZOO_SAMPLES_CSV_STATIC, .n_labels = VOCAB, .n_predictions = 4};
    int32_t rows[2][T] = {{0}};
    float target;
    put("samples.csv",
        "input_ids,attention_mask,labels,masked_lm_weights,token_type_ids\n"
        "\"[1, 2, 1, 0]\",\"[1, 1, 1, 0]\",\"[7, 5]\",\"[1, 1]\",\"[0, 0, 0, 0]\"\n");
    put("meta.dat", "samples.csv 1\n");
    T_OK(read_rows(input, &target, rows));
    for (int t = 0; t < T; t++) {
        T_EQ(rows[1][t], t < 2);
        T_EQ(rows[0][t], t == 0 ? 7 : t == 1 ? 5 : 0);
    }
}

/* The head of a model computes a fixed number of masked tokens. */
TEST(data_labels, a_sample_has_no_more_masked_tokens_than_the_model_predicts)
{
    struct zoo_input input = {
        .samples = ZOO_SAMPLES_CSV_STATIC, .pairs = true, .n_labels = VOCAB, .n_predictions = 2};
    float target;
    int32_t ignored;
    put("samples.csv", "input_ids,attention_mask,labels,masked_lm_weights,masked_lm_positions,"
                       "token_type_ids,next_sentence_label\n\"[1, 2, 1, 0]\",\"[1, 1, 1, 0]\","
                       "\"[2, 1]\",\"[1, 1]\",\"[1, 2]\",\"[0, 1, 1, 0]\",\"[1]\"\n");
    put("meta.dat", "samples.csv 1\n");
    T_OK(read_first(input, &target, &ignored));
    input.n_predictions = 1;
    expect(read_first(input, &target, &ignored),
           "sample 0 has 2 masked tokens, the model predicts at most 1; hint: "
           "model.max_predictions_per_seq");
}

TEST(data_labels, escapes_that_are_no_character_are_replaced)
{
    static const struct {
        const char *list, *text;
    } row[] = {{"['\\x41\\u00e9']", "A\xC3\xA9"},
               {"['\\x-1']", "\xEF\xBF\xBD"},
               {"['\\x+7\\x 7']", "\xEF\xBF\xBD\xEF\xBF\xBD"},
               {"['\\ud800']", "\xEF\xBF\xBD"},
               {"['\\U00110000']", "\xEF\xBF\xBD"},
               {"['\\U0001F600']", "\xF0\x9F\x98\x80"}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char out[32];
        int64_t at = 0;
        const int64_t n =
            data_list_text(row[i].list, (int64_t)strlen(row[i].list), &at, out, sizeof out);
        T_EQ(n, (int64_t)strlen(row[i].text));
        CU_ASSERT(n > 0 && !memcmp(out, row[i].text, (size_t)n));
    }
}

/* Text of another encoding would be other tokens, a lost quote would take in the records below. */
TEST(data_labels, tables_are_utf8_with_closed_quotes)
{
    float target;
    int32_t label;
    static char path[340];
    const struct zoo_input sentences = {
        .samples = ZOO_SAMPLES_SST2, .n_labels = VOCAB, .n_classes = 2};
    const struct zoo_input tokens = {
        .samples = ZOO_SAMPLES_TOKENS, .label_vocab_file = path, .n_labels = 9};
    (void)snprintf(path, sizeof path, "%s/labels.json", folder());
    put("labels.json", "{\"A\": 1}\n");
    put("train.tsv", "sentence\tlabel\nloan\t1\ncaf\xE9 ber\t0\n");
    expect(read_first(sentences, &target, &label), "train.tsv:3:4: byte 0xE9 is not UTF-8");
    put("train.tsv", "sentence\tlabel\nloan\tber\t1\n");
    expect(read_first(sentences, &target, &label),
           "train.tsv:2: the record has more columns than the first line");
    put("samples.csv", "tokens,labels\n\"['loan']\",\"['A']\n");
    put("meta.dat", "samples.csv 1\n");
    expect(read_first(tokens, &target, &label),
           "samples.csv:2:1: the record has a quote that does not end");
}
