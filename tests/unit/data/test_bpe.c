// SPDX-License-Identifier: Apache-2.0
/* The BPE against tests/fixtures/make_bpe_fixture.py, which follows the definitions on lists of
 * strings and Python's patterns. */
#include "../../../src/data/tokenizer.h"
#include "../../support/test.h"

#include <wsc/data.h>
#include <wsc/err.h>
#include <wsc/mem.h>
#include <wsc/rng.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define VOCAB  "tests/data/bpe_vocab.json"
#define MERGES "tests/data/bpe_merges.txt"

enum { MAX_BYTES = 200000, N_BYTE_IDS = 256 };

static int64_t read_file(const char *path, unsigned char *out, int64_t room)
{
    FILE *f = fopen(path, "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    int64_t n = (int64_t)fread(out, 1, (size_t)room, f);
    (void)fclose(f);
    CU_ASSERT_FATAL(n < room);
    return n;
}

static void put_file(const char *name, const char *text, char path[256])
{
    (void)snprintf(path, 256, "%s/%s", test_tmpdir(), name);
    FILE *f = fopen(path, "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    (void)fputs(text, f);
    (void)fclose(f);
}

static struct data_tokenizer *open_bpe(void)
{
    struct data_tokenizer *t = NULL;
    T_OK(data_tokenizer_open(&t, "bpe", VOCAB, MERGES));
    return t;
}

static int64_t read_ids(int32_t *ids, int64_t room)
{
    char line[32];
    int64_t n = 0;
    FILE *f = fopen("tests/data/bpe_ids.txt", "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    for (; n < room && fgets(line, sizeof line, f); n++)
        ids[n] = (int32_t)strtol(line, NULL, 10);
    (void)fclose(f);
    return n;
}

/* All of @p text, handed over in pieces of at most @p piece bytes. */
static int64_t encode(struct data_tokenizer *t, const unsigned char *text, int64_t n, int64_t piece,
                      int32_t *ids)
{
    int64_t at = 0, have = 0, n_ids = 0;
    enum wsc_err rc = WSC_OK;
    while (at < n && !rc) {
        int64_t got = 0, used = 0;
        have = have + piece < n - at ? have + piece : n - at;
        const struct data_text part = {text + at, have, at + have == n};
        rc = data_tokenizer_encode(t, &part, ids + n_ids, &got, &used);
        n_ids += got;
        at += used;
        have -= used;
    }
    T_OK(rc);
    return n_ids;
}

static int64_t decode(const struct data_tokenizer *t, const int32_t *ids, int64_t n,
                      unsigned char *out)
{
    int64_t used = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t length = 0;
        const unsigned char *bytes = data_tokenizer_bytes(t, ids[i], &length);
        CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
        if (bytes) memcpy(out + used, bytes, (size_t)length);
        used += length;
    }
    return used;
}

TEST(bpe, ids_are_those_of_the_reference)
{
    static unsigned char text[MAX_BYTES], again[MAX_BYTES];
    static int32_t expected[MAX_BYTES], ids[MAX_BYTES];
    struct data_tokenizer *t = open_bpe();
    int64_t n = read_file("tests/data/bpe_text.bin", text, MAX_BYTES);
    int64_t n_expected = read_ids(expected, MAX_BYTES), wrong = 0;
    CU_ASSERT(n > 20000 && n_expected > 10000);
    static const int64_t piece[] = {MAX_BYTES, 1, 7, 1000}; /* however the text is cut */
    for (int k = 0; k < 4; k++) {
        T_EQ(encode(t, text, n, piece[k], ids), n_expected);
        wrong += memcmp(ids, expected, (size_t)n_expected * sizeof *ids) != 0;
    }
    T_EQ(wrong, 0);
    T_EQ(decode(t, ids, n_expected, again), n);
    CU_ASSERT_EQUAL(memcmp(text, again, (size_t)n), 0);
    data_tokenizer_close(&t);
}

TEST(bpe, any_bytes_come_back)
{
    enum { ROUNDS = 300, MAX = 400 };
    static const unsigned char few[] = "ab '\xc3\xa9\xe4\xb8\x80 \n\ts1";
    unsigned char text[MAX], again[MAX];
    int32_t ids[MAX];
    int wrong = 0;
    struct data_tokenizer *t[2] = {open_bpe(), NULL};
    T_OK(data_tokenizer_open(&t[1], "byte", NULL, NULL));
    for (uint64_t r = 0; r < ROUNDS; r++) {
        int64_t n = 1 + (int64_t)(wsc_rng_u64(r, WSC_RNG_TEST, 0) % (MAX - 1));
        for (int64_t i = 0; i < n; i++) { /* mostly few values, so that words come about */
            uint64_t x = wsc_rng_u64(r, WSC_RNG_TEST, 1 + (uint64_t)i);
            text[i] = r % 2 ? (unsigned char)x : few[x % (sizeof few - 1)];
        }
        for (int k = 0; k < 2; k++) {
            int64_t n_ids = encode(t[k], text, n, n, ids);
            wrong += n_ids > n || decode(t[k], ids, n_ids, again) != n ||
                     memcmp(text, again, (size_t)n) != 0;
        }
    }
    T_EQ(wrong, 0);
    data_tokenizer_close(&t[0]);
    data_tokenizer_close(&t[1]);
}

TEST(bpe, tokens_are_found)
{
    struct data_tokenizer *t = open_bpe();
    int64_t n = 0;
    int32_t end = data_tokenizer_find(t, "<|endoftext|>", 13);
    T_EQ(end, data_tokenizer_vocab_size(t) - 1);
    T_EQ(data_tokenizer_find(t, "!", 1), 0);
    T_EQ(data_tokenizer_find(t, " ", 1), 220); /* as GPT-2 numbers it */
    T_EQ(data_tokenizer_find(t, "no such token", 13), -1);
    CU_ASSERT_PTR_NULL(data_tokenizer_bytes(t, end + 1, &n));
    CU_ASSERT_PTR_NULL(data_tokenizer_bytes(t, -1, &n));
    T_STR(data_tokenizer_kind(t), "bpe");
    data_tokenizer_close(&t);
}

/* ---- training -------------------------------------------------------------------------------- */

static bool same_file(const char *a, const char *b)
{
    static unsigned char text[2][MAX_BYTES];
    int64_t n = read_file(a, text[0], MAX_BYTES), m = read_file(b, text[1], MAX_BYTES);
    return n == m && !memcmp(text[0], text[1], (size_t)n);
}

static void train(const char *input, const char *out, int64_t size, struct data_trained *made)
{
    const char *const inputs[] = {input};
    const struct data_train_bpe request = {.input = inputs,
                                           .n_inputs = 1,
                                           .key = "text",
                                           .out_dir = out,
                                           .vocab_size = size,
                                           .min_frequency = 2,
                                           .max_bytes = 1 << 30};
    T_OK(data_train_bpe(&request, made));
}

TEST(bpe, training_gives_the_merges_of_the_reference)
{
    struct data_trained made;
    char out[256], path[300];
    (void)snprintf(out, sizeof out, "%s/learned", test_tmpdir());
    train("tests/data/bpe_train.txt", out, 1257, &made);
    (void)snprintf(path, sizeof path, "%s/vocab.json", out);
    CU_ASSERT(same_file(path, VOCAB));
    (void)snprintf(path, sizeof path, "%s/merges.txt", out);
    CU_ASSERT(same_file(path, MERGES));
    T_EQ(made.vocab_size, N_BYTE_IDS + made.n_merges + 1);
    train("tests/data/bpe_train.txt", out, 300, &made);
    T_EQ(made.n_merges, 43);
    T_EQ(made.vocab_size, 300);
}

TEST(bpe, training_refuses_what_cannot_be)
{
    char path[256];
    struct data_trained made;
    put_file("empty.txt", "", path);
    const char *const inputs[] = {path};
    struct data_train_bpe request = {.input = inputs,
                                     .n_inputs = 1,
                                     .key = "text",
                                     .out_dir = test_tmpdir(),
                                     .vocab_size = 300,
                                     .min_frequency = 2,
                                     .max_bytes = 1};
    CU_ASSERT_EQUAL(data_train_bpe(&request, &made), WSC_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "has no text"));
    request.vocab_size = 256;
    CU_ASSERT_EQUAL(data_train_bpe(&request, &made), WSC_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "vocab_size is 256, expected 257"));
}

/* ---- files that are wrong -------------------------------------------------------------------- */

static void refused(const char *vocab, const char *merges, const char *what)
{
    struct data_tokenizer *t = NULL;
    enum wsc_err rc = data_tokenizer_open(&t, "bpe", vocab, merges);
    bool said = rc && strstr(wsc_err_message(), what) != NULL;
    if (!said) (void)fprintf(stderr, "expected \"%s\": %s\n", what, rc ? wsc_err_message() : "");
    CU_ASSERT(said);
    data_tokenizer_close(&t);
}

TEST(bpe, wrong_vocabularies_name_the_place)
{
    static const struct {
        const char *text, *what;
    } cases[] = {
        {"", "v.json:1:1: the file ends, expected \"{\""},
        {"[]", "v.json:1:1: \"[\", expected \"{\""},
        {"{\"a\": 1", "v.json:1:8: the file ends, expected \",\" or \"}\""},
        {"{\"a\": 1,\n \"a\": 2}", "v.json:2:8: token \"a\" stands there twice"},
        {"{\"a\": 1,\n \"b\": 1}", "v.json:2:8: id 1 stands there twice"},
        {"{\"a\": -1}", "v.json:1:9: -1 before here, expected a whole number from 0 to"},
        {"{\"a\": 1.5}", "1.5 before here, expected a whole number"},
        {"{\"a\": \"b\"}", "v.json:1:7: \"\"\", expected a whole number"},
        {"{\"\": 1}", "an empty token"},
        {"{\"a\": 1} x", "v.json:1:10: something follows the object"},
        {"{\"a\": 1}", "v.json: has no token for byte 0x00"},
        {"{\"a\xff\": 1}", "v.json:1:4: byte 0xFF is not UTF-8"},
    };
    char path[256];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_file("v.json", cases[i].text, path);
        refused(path, MERGES, cases[i].what);
    }
    refused("/nonexistent.json", MERGES, "/nonexistent.json: cannot be opened: No such file");
    refused(NULL, MERGES, "needs a vocabulary and merges; hint: --vocab");
}

TEST(bpe, wrong_merges_name_the_line)
{
    static const struct {
        const char *text, *what;
    } cases[] = {
        {"#version: 0.2\na b c\n", "m.txt:2:6: expected two tokens with a space between"},
        {"#version: 0.2\nab\n", "m.txt:2:3: expected two tokens"},
        {"q zzzz\n", "m.txt:1:7: \"zzzz\" is no token of the vocabulary; hint: do the two files"},
        {"q z\n", "\"q z\" is no token of the vocabulary"},
        {"e r\r\ne r\r\n", "m.txt:2:5: the pair stands there twice"},
    };
    char path[256];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_file("m.txt", cases[i].text, path);
        refused(VOCAB, path, cases[i].what);
    }
    struct data_tokenizer *t = NULL;
    CU_ASSERT_EQUAL(data_tokenizer_open(&t, "wordpiece", NULL, NULL), WSC_USAGE);
    CU_ASSERT_EQUAL(data_tokenizer_open(&t, "byte", VOCAB, NULL), WSC_USAGE);
}

TEST(bpe, memory_is_balanced)
{
    T_EQ(wsc_mem_in_use(WSC_MEM_DATA), 0);
}

/* All code points for which Python's str.isspace() is true, which its str.rstrip() and the \\s of
 * its patterns take too. */
TEST(bpe, white_space_is_that_of_python)
{
    static const struct {
        unsigned first, last;
    } space[] = {{0x09, 0x0D},     {0x1C, 0x20},     {0x85, 0x85},     {0xA0, 0xA0},
                 {0x1680, 0x1680}, {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F},
                 {0x205F, 0x205F}, {0x3000, 0x3000}};
    int n_wrong = 0;
    for (unsigned c = 1; c < 0x10000; c++) {
        const unsigned char last = (unsigned char)(0x80 | (c & 0x3F)),
                            middle = (unsigned char)(0x80 | (c >> 6 & 0x3F));
        const unsigned char three[] = {(unsigned char)(0xE0 | c >> 12), middle, last, 0};
        const unsigned char two[] = {(unsigned char)(0xC0 | c >> 6), last, 0},
                            one[] = {(unsigned char)c, 0};
        const int length = c < 0x80 ? 1 : c < 0x800 ? 2 : 3;
        const unsigned char *text = c < 0x80 ? one : c < 0x800 ? two : three;
        bool is_space = false;
        for (size_t i = 0; i < sizeof space / sizeof *space; i++)
            is_space = is_space || (c >= space[i].first && c <= space[i].last);
        n_wrong += data_space_length((const char *)text) != (is_space ? length : 0);
    }
    T_EQ(n_wrong, 0);
    T_EQ(data_space_length(""), 0);
    T_EQ(data_space_length("\xE3\x80"), 0); /* the beginning of U+3000 */
}
