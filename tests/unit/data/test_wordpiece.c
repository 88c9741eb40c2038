// SPDX-License-Identifier: Apache-2.0
/* WordPiece: vocabularies that are learned, ids and marks of texts that come in pieces; a
 * tokenizer.json gives the ids of the vocab.txt with the same tokens,
 * and one that cuts texts otherwise is refused by name. */
#include "../../../src/data/wordpiece.h"
#include "../../support/case_files.h"
#include "../../support/test.h"

#include <wsc/data.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char tokens[] =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nun\n##aff\n##able\nw\n##a\n##fer\n.\n";

/* In another order than that of the ids, with members that do not matter. */
#define VOCAB                                                                                      \
    "{\"##fer\": 10, \".\": 11, \"[PAD]\": 0, \"[UNK]\": 1, \"[CLS]\": 2, \"[SEP]\": 3, "          \
    "\"[MASK]\": 4, \"un\": 5, \"##aff\": 6, \"##able\": 7, \"w\": 8, \"##\\u0061\": 9}"
#define NORMAL                                                                                     \
    "{\"type\": \"BertNormalizer\", \"clean_text\": true, \"handle_chinese_chars\": true, "        \
    "\"strip_accents\": null, \"lowercase\": true}"
#define FILE_OF(normalizer, splitter, model)                                                       \
    "{\"version\": \"1.0\", \"truncation\": null, \"padding\": {\"a\": [1]}, \"added_tokens\": "   \
    "[{\"id\": 0, \"content\": \"[PAD]\"}],\n \"normalizer\": " normalizer                         \
    ", \"pre_tokenizer\": " splitter ", \"post_processor\": {\"type\": \"TemplateProcessing\"}, "  \
    "\"decoder\": null, \"model\": " model "}\n"
#define MODEL(vocab)                                                                               \
    "{\"type\": \"WordPiece\", \"unk_token\": \"[UNK]\", \"continuing_subword_prefix\": \"##\", "  \
    "\"max_input_chars_per_word\": 100, \"vocab\": " vocab "}"
#define SPLIT "{\"type\": \"BertPreTokenizer\"}"

static const char *put(const char *name, const char *text)
{
    const char *path = case_path(name);
    case_write(path, text);
    return path;
}

TEST(wordpiece, a_tokenizer_json_gives_the_ids_of_its_vocab_txt)
{
    static const char text[] = "Unaffable W\xc3\xa1"
                               "fer. xyz unaff";
    static const int32_t expected[] = {5, 6, 7, 8, 9, 10, 11, 1, 5, 6};
    const char *path[] = {put("vocab.txt", tokens),
                          put("tokenizer.json", FILE_OF(NORMAL, SPLIT, MODEL(VOCAB)))};
    for (int i = 0; i < 2; i++) {
        struct data_wordpiece *w = NULL;
        int32_t ids[32];
        int64_t n = 0;
        T_OK(data_wordpiece_open(&w, path[i], true));
        T_EQ(data_wordpiece_n(w), 12);
        T_EQ(data_wordpiece_special(w).mask, 4);
        data_wordpiece_encode(w, text, (int64_t)strlen(text), ids, 32, &n);
        T_EQ(n, 10);
        CU_ASSERT(n == 10 && !memcmp(ids, expected, sizeof expected));
        data_wordpiece_close(&w);
    }
}

TEST(wordpiece, a_tokenizer_that_cuts_otherwise_is_refused)
{
    static const struct {
        const char *text, *why;
    } row[] = {
        {"[]", ":1:1: "},
        {"{}", "model: has no vocabulary of WordPiece"},
        {"{\"model\": {\"type\": \"BPE\"}}", "model.type: \"BPE\" is not supported"},
        {"{\"model\": " MODEL(VOCAB) "}", "normalizer or pre_tokenizer is missing"},
        {FILE_OF("{\"type\": \"NFKC\"}", SPLIT, MODEL(VOCAB)), "normalizer.type: \"NFKC\""},
        {FILE_OF("{\"type\": \"BertNormalizer\", \"lowercase\": false}", SPLIT, MODEL(VOCAB)),
         "normalizer.lowercase: must be true; hint: do_lower"},
        {FILE_OF("{\"type\": \"BertNormalizer\", \"strip_accents\": false}", SPLIT, MODEL(VOCAB)),
         "normalizer.strip_accents: must be true"},
        {FILE_OF(NORMAL, "{\"type\": \"Whitespace\"}", MODEL(VOCAB)),
         "pre_tokenizer.type: \"Whitespace\""},
        {FILE_OF(NORMAL, SPLIT, MODEL("{\"a\": 0, \"b\": 2}")), "no token has id 1"},
        {FILE_OF(NORMAL, SPLIT, MODEL("{\"a\": 0, \"b\": 0}")), "two tokens have id 0"},
        {FILE_OF(NORMAL, SPLIT, MODEL("{\"a b\": 0}")), "a token with white space"},
        {FILE_OF(NORMAL, SPLIT, MODEL("{\"a\": 1.5}")), ":2:"},
        {FILE_OF(NORMAL, SPLIT, MODEL("{\"a\": 0}")), "has no token [UNK]"},
        {FILE_OF(NORMAL, SPLIT, "{\"type\": \"WordPiece\", \"continuing_subword_prefix\": \"@@\"}"),
         "model.continuing_subword_prefix: \"@@\""},
        {FILE_OF(NORMAL, SPLIT, "{\"type\": \"WordPiece\", \"max_input_chars_per_word\": 50}"),
         "model.max_input_chars_per_word: must be 100"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct data_wordpiece *w = NULL;
        CU_ASSERT(data_wordpiece_open(&w, put("wrong.json", row[i].text), true) == WSC_FORMAT);
        if (!strstr(wsc_err_message(), row[i].why))
            (void)fprintf(stderr, "\"%s\", expected \"%s\"\n", wsc_err_message(), row[i].why);
        CU_ASSERT(strstr(wsc_err_message(), row[i].why) != NULL && !w);
    }
}

/* ---- learning -------------------------------------------------------------------------------- */

#define LEARNED "tests/data/wordpiece_"

static int64_t read_file(const char *path, char *text, int64_t room)
{
    FILE *f = fopen(path, "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    const int64_t n = (int64_t)fread(text, 1, (size_t)room - 1, f);
    text[n] = '\0';
    CU_ASSERT(n < room - 1);
    (void)fclose(f);
    return n;
}

static enum wsc_err train(const char *input, int64_t size, int64_t least, const char *out,
                          struct data_trained *made)
{
    const char *const inputs[] = {input};
    const struct data_train_bpe request = {.input = inputs,
                                           .n_inputs = 1,
                                           .key = "text",
                                           .out_dir = out,
                                           .vocab_size = size,
                                           .min_frequency = least,
                                           .max_bytes = 1 << 30};
    return data_train_wordpiece(&request, true, made);
}

/* tests/fixtures/make_wordpiece_fixture.py counts all pairs again for every merge. */
TEST(wordpiece, training_gives_the_vocabulary_of_the_reference)
{
    static char ours[1 << 16], expected[1 << 16];
    struct data_trained made;
    char path[300];
    T_OK(train(LEARNED "train.txt", 400, 2, test_tmpdir(), &made));
    (void)snprintf(path, sizeof path, "%s/vocab.txt", test_tmpdir());
    (void)read_file(path, ours, sizeof ours);
    (void)read_file(LEARNED "vocab.txt", expected, sizeof expected);
    CU_ASSERT_STRING_EQUAL(ours, expected);
    T_EQ(made.vocab_size, 400);
}

TEST(wordpiece, training_refuses_what_cannot_be)
{
    struct data_trained made;
    T_EQ(train(LEARNED "train.txt", 20, 2, test_tmpdir(), &made), WSC_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "vocab_size is 20, but the text has "));
    T_EQ(train(LEARNED "train.txt", 5, 2, test_tmpdir(), &made), WSC_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "expected 6 to"));
    T_EQ(train(put("empty.txt", "\n"), 400, 2, test_tmpdir(), &made), WSC_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "has no text"));
    T_OK(train(put("few.txt", "ab ab abab\n"), 400, 1, test_tmpdir(), &made));
    T_EQ(made.vocab_size, 5 + 3 + 3); /* a, ##a, ##b, ab, ##ab, abab */
}

/* ---- texts in pieces ------------------------------------------------------------------------- */

/* The ids of a text that comes @p piece bytes at a time. */
static int64_t encode(struct data_tokenizer *t, const char *text, int64_t n, int64_t piece,
                      int32_t *ids)
{
    int64_t at = 0, have = 0, n_ids = 0;
    while (at < n) {
        int64_t more = 0, used = 0;
        have = have + piece < n - at ? have + piece : n - at;
        const struct data_text part = {(const unsigned char *)text + at, have, at + have == n};
        T_OK(data_tokenizer_encode(t, &part, ids + n_ids, &more, &used));
        CU_ASSERT(more <= used);
        n_ids += more;
        at += used;
        have -= used;
    }
    return n_ids;
}

TEST(wordpiece, ids_are_those_of_the_reference_however_the_text_is_cut)
{
    static char text[1 << 16], list[1 << 16];
    static int32_t ids[1 << 16];
    static const int64_t piece[] = {1 << 16, 1, 7, 1000};
    struct data_tokenizer *t = NULL;
    const int64_t n = read_file(LEARNED "train.txt", text, sizeof text);
    (void)read_file(LEARNED "ids.txt", list, sizeof list);
    T_OK(data_tokenizer_open_wordpiece(&t, LEARNED "vocab.txt", true, false));
    for (int k = 0; k < 4; k++) {
        const int64_t n_ids = encode(t, text, n, piece[k], ids);
        const char *at = list;
        int64_t wrong = 0;
        for (int64_t i = 0; i < n_ids; i++) {
            char *end;
            wrong += strtol(at, &end, 10) != ids[i];
            at = end + 1;
        }
        T_EQ(wrong, 0);
        CU_ASSERT(!*at);
    }
    data_tokenizer_close(&t);
}

TEST(wordpiece, sentences_and_documents_are_marked)
{
    static const char text[] = "W un. (un!) w\nw\n\n un? 'un' w.";
    static const int32_t expected[] = {8, 5, 11, 3, 1, 5, 1, 1, 3, 8,
                                       8, 0, 5,  1, 3, 1, 5, 1, 8, 11};
    int32_t ids[64];
    struct data_tokenizer *t = NULL;
    T_OK(data_tokenizer_open_wordpiece(&t, put("vocab.txt", tokens), true, true));
    for (int64_t piece = 1; piece < 30; piece += 7) {
        const int64_t n = encode(t, text, (int64_t)strlen(text), piece, ids);
        T_EQ(n, (int64_t)(sizeof expected / sizeof *expected));
        CU_ASSERT(!memcmp(ids, expected, sizeof expected));
    }
    data_tokenizer_close(&t);
}
