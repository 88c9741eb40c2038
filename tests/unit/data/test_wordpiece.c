// SPDX-License-Identifier: Apache-2.0
/* Vocabularies of WordPiece: a tokenizer.json gives the ids of the vocab.txt with the same tokens,
 * and one that cuts texts otherwise is refused by name. */
#include "../../../src/data/wordpiece.h"
#include "../../support/test.h"

#include <stdio.h>
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
    static char path[2][512];
    static int turn;
    turn = !turn;
    (void)snprintf(path[turn], sizeof path[0], "%s/%s", test_tmpdir(), name);
    FILE *f = fopen(path[turn], "w");
    CU_ASSERT_FATAL(f && fputs(text, f) >= 0 && !fclose(f));
    return path[turn];
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
