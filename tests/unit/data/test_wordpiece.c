// SPDX-License-Identifier: Apache-2.0
/* WordPiece: vocabularies that are learned, ids and marks of texts that come in pieces; a
 * tokenizer.json gives the ids of the vocab.txt with the same tokens,
 * and one that cuts texts otherwise is refused by name. */
#include "../../../src/data/bert_words.h"
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
#define PADDING                              "{\"id\": 0, \"content\": \"[PAD]\", \"lstrip\": false, \"special\": true}"
#define FILE_OF(normalizer, splitter, model) FILE_WITH(PADDING, normalizer, splitter, model)
#define FILE_WITH(added, normalizer, splitter, model)                                              \
    "{\"version\": \"1.0\", \"truncation\": null, \"padding\": {\"a\": [1]}, \"added_tokens\": "   \
    "[" added "],\n \"normalizer\": " normalizer ", \"pre_tokenizer\": " splitter                  \
    ", \"post_processor\": {\"type\": \"TemplateProcessing\"}, "                                   \
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

/* Ids of `[`, `mask` and `]`, which this vocabulary does not have. */
TEST(wordpiece, a_special_token_in_a_text_is_divided)
{
    struct data_wordpiece *w = NULL;
    int32_t ids[8];
    int64_t n = 0;
    T_OK(data_wordpiece_open(&w, put("vocab.txt", tokens), true));
    data_wordpiece_encode(w, "[MASK]", 6, ids, 8, &n);
    T_EQ(n, 3);
    for (int i = 0; i < 3 && i < n; i++)
        T_EQ(ids[i], 1);
    data_wordpiece_close(&w);
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
        {FILE_WITH("", NORMAL, SPLIT, MODEL("{\"a\": 0}")), "has no token [UNK]"},
        {FILE_OF(NORMAL, SPLIT, "{\"type\": \"WordPiece\", \"continuing_subword_prefix\": \"@@\"}"),
         "model.continuing_subword_prefix: \"@@\""},
        {FILE_OF(NORMAL, SPLIT, "{\"type\": \"WordPiece\", \"max_input_chars_per_word\": 50}"),
         "model.max_input_chars_per_word: must be 100"},
        {FILE_WITH(PADDING ", {\"id\": 12, \"content\": \"[DOC]\", \"special\": true}", NORMAL,
                   SPLIT, MODEL(VOCAB)),
         "added_tokens: \"[DOC]\" is not in model.vocab with the same id; hint: supported: "},
        {FILE_WITH("{\"id\": 4, \"content\": \"[PAD]\", \"special\": true}", NORMAL, SPLIT,
                   MODEL(VOCAB)),
         "added_tokens: \"[PAD]\" is not in model.vocab with the same id"},
        {FILE_WITH("{\"content\": \"un\", \"id\": 5, \"special\": false}", NORMAL, SPLIT,
                   MODEL(VOCAB)),
         "added_tokens: \"un\" is no special token"},
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

/* ---- words of many scripts ------------------------------------------------------------------- */

/* The words of a text with spaces between them. */
static void join_words(bool lowered, const char *text, char *out)
{
    char word[DATA_BERT_WORD_BYTES];
    int64_t at = 0, n;
    *out = 0;
    while ((n = data_bert_word(lowered, text, (int64_t)strlen(text), &at, word)) > 0) {
        char *end = out + strlen(out);
        if (end > out) *end++ = ' ';
        memcpy(end, word, (size_t)n);
        end[n] = 0;
    }
}

/* Words by BERT's BasicTokenizer with Python's unicodedata: Vietnamese, Korean, Japanese, Hindi,
 * Arabic, Chinese, mathematics, Latin, Armenian, Georgian and Cherokee, controls, the first and the
 * last Korean syllable, Deseret, Kannada. Greek: lower case letter by letter, without a final
 * sigma.
 */
TEST(wordpiece, words_of_all_scripts_are_those_of_bert)
{
    static const struct {
        const char *text, *lowered, *cased;
    } row[] = {
        {"Vi\xe1\xbb\x87t Nam \xc6\xaf\xe1\xbb\x9a"
         "C",
         "viet nam uoc",
         "Vi\xe1\xbb\x87t Nam \xc6\xaf\xe1\xbb\x9a"
         "C"},
        {"\xed\x95\x9c\xea\xb5\xad\xec\x96\xb4",
         "\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab\xe1\x84\x80\xe1\x85\xae\xe1\x86\xa8\xe1\x84\x8b\xe1"
         "\x85\xa5",
         "\xed\x95\x9c\xea\xb5\xad\xec\x96\xb4"},
        {"\xe3\x81\x8c\xe3\x82\xae", "\xe3\x81\x8b\xe3\x82\xad", "\xe3\x81\x8c\xe3\x82\xae"},
        {"\xe0\xa4\xb9\xe0\xa4\xbf\xe0\xa4\xa8\xe0\xa5\x8d\xe0\xa4\xa6\xe0\xa5\x80\xe0\xa5\xa4",
         "\xe0\xa4\xb9\xe0\xa4\xbf\xe0\xa4\xa8\xe0\xa4\xa6\xe0\xa5\x80 \xe0\xa5\xa4",
         "\xe0\xa4\xb9\xe0\xa4\xbf\xe0\xa4\xa8\xe0\xa5\x8d\xe0\xa4\xa6\xe0\xa5\x80 \xe0\xa5\xa4"},
        {"\xd9\x82\xd9\x8e\xd8\xa7\xd9\x84\xd9\x8e\xd8\x9f "
         "\xd9\x86\xd9\x8e\xd8\xb9\xd9\x8e\xd9\x85\xd9\x92\xd8\x8c",
         "\xd9\x82\xd8\xa7\xd9\x84 \xd8\x9f \xd9\x86\xd8\xb9\xd9\x85 \xd8\x8c",
         "\xd9\x82\xd9\x8e\xd8\xa7\xd9\x84\xd9\x8e \xd8\x9f "
         "\xd9\x86\xd9\x8e\xd8\xb9\xd9\x8e\xd9\x85\xd9\x92 \xd8\x8c"},
        {"\xe4\xb8\xad\xef\xbc\x9a\xe6\x96\x87\xef\xbc\x88\xe5\xa5\xbd\xef\xbc\x89\xef\xbc\x9b",
         "\xe4\xb8\xad \xef\xbc\x9a \xe6\x96\x87 \xef\xbc\x88 \xe5\xa5\xbd \xef\xbc\x89 "
         "\xef\xbc\x9b",
         "\xe4\xb8\xad \xef\xbc\x9a \xe6\x96\x87 \xef\xbc\x88 \xe5\xa5\xbd \xef\xbc\x89 "
         "\xef\xbc\x9b"},
        {"a\xe2\x89\xa0"
         "b",
         "a = b",
         "a\xe2\x89\xa0"
         "b"},
        {"\xc3\x85NGSTR\xc3\x96M \xc7\x85 \xe1\xba\x9e \xc7\x86",
         "angstrom \xc7\x86 \xc3\x9f \xc7\x86",
         "\xc3\x85NGSTR\xc3\x96M \xc7\x85 \xe1\xba\x9e \xc7\x86"},
        {"\xd4\xb1\xd5\x90\xd4\xb5\xd5\x8e\xd5\x9d \xe1\xb2\x98\xe1\xb2\xa5 \xe1\x8e\xa0",
         "\xd5\xa1\xd6\x80\xd5\xa5\xd5\xbe \xd5\x9d \xe1\x83\x98\xe1\x83\xa5 \xea\xad\xb0",
         "\xd4\xb1\xd5\x90\xd4\xb5\xd5\x8e \xd5\x9d \xe1\xb2\x98\xe1\xb2\xa5 \xe1\x8e\xa0"},
        {"x\xe2\x80\x8dy\xc2\xady\xe2\x80\xa8z\xe3\x80\x80w", "xyy z w", "xyy z w"},
        {"\xe8\xb1\x88\xef\xa8\x91", "\xe8\xb1\x88 \xef\xa8\x91", "\xe8\xb1\x88 \xef\xa8\x91"},
        {"\xea\xb0\x80 \xed\x9e\xa3",
         "\xe1\x84\x80\xe1\x85\xa1 \xe1\x84\x92\xe1\x85\xb5\xe1\x87\x82",
         "\xea\xb0\x80 \xed\x9e\xa3"},
        {"\xce\x91\xce\xa3 \xce\xa3", "\xce\xb1\xcf\x83 \xcf\x83", "\xce\x91\xce\xa3 \xce\xa3"},
        {"\xf0\x90\x90\x80\xf0\x90\x90\x81 \xe0\xb3\x8b \xc4\xb0",
         "\xf0\x90\x90\xa8\xf0\x90\x90\xa9 \xe0\xb3\x82\xe0\xb3\x95 i",
         "\xf0\x90\x90\x80\xf0\x90\x90\x81 \xe0\xb3\x8b \xc4\xb0"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char words[400];
        join_words(true, row[i].text, words);
        T_STR(words, row[i].lowered);
        join_words(false, row[i].text, words);
        T_STR(words, row[i].cased);
    }
}

/* Signs of four bytes, as many as a word may have and one more. */
TEST(wordpiece, the_longest_word_has_a_hundred_characters_of_any_size)
{
    static const char sign[4] = {'\xf0', '\x9f', '\x99', '\x82'};
    char text[4 * (DATA_BERT_LONGEST_WORD + 2) + 1], word[DATA_BERT_WORD_BYTES];
    for (int n = DATA_BERT_LONGEST_WORD; n < DATA_BERT_LONGEST_WORD + 3; n++) {
        int64_t at = 0;
        for (int i = 0; i < n; i++)
            memcpy(text + 4 * (int64_t)i, sign, sizeof sign);
        const int64_t length = data_bert_word(false, text, 4 * (int64_t)n, &at, word);
        T_EQ(at, 4 * (int64_t)n);
        CU_ASSERT(data_bert_too_long(word, length) == (n > DATA_BERT_LONGEST_WORD));
    }
}
