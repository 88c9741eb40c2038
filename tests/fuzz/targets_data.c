// SPDX-License-Identifier: Apache-2.0
#include "../../src/data/bpe.h"
#include "../../src/data/document_feed.h"
#include "../../src/data/make_state.h"
#include "../../src/data/utf8.h"
#include "fuzz.h"

#include <wsc/hash.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- documents of a file --------------------------------------------------------------------- */

/* A few KB can expand to GB; what follows the second piece is read in the same way. */
enum { MOST_TEXT = 3 << 17 };

/* Results of reading a file. */
struct texts {
    int64_t n; /* bytes of all documents */
    bool whole;
    bool utf8, same; /* all of it so far: is UTF-8; is what stands in the file from its start on */
    unsigned char part[4]; /* of a character that the last piece cut */
    int n_part;
};

static void look_at_byte(struct texts *t, unsigned char byte)
{
    t->part[t->n_part++] = byte;
    const int length = data_utf8_length(t->part, t->n_part);
    if (length < 0) t->utf8 = false;
    if (length) t->n_part = 0;
}

static void look_at(struct texts *t, const unsigned char *text, int64_t n, const uint8_t *file,
                    size_t n_file)
{
    if (t->n + n > (int64_t)n_file || memcmp(text, file + t->n, (size_t)n) != 0) t->same = false;
    for (int64_t i = 0; i < n && t->utf8; i++)
        look_at_byte(t, text[i]);
    t->n += n;
}

static enum wsc_err read_document(struct data_feed *feed, struct texts *t, const uint8_t *bytes,
                                  size_t n)
{
    do {
        TRY(data_feed_more(feed));
        look_at(t, feed->text, feed->n, bytes, n);
        data_feed_drop(feed, feed->n);
    } while (!feed->ended && t->n < MOST_TEXT);
    return WSC_OK;
}

static enum wsc_err read_documents(struct data_feed *feed, struct texts *t, const uint8_t *bytes,
                                   size_t n)
{
    bool found = false;
    TRY(data_feed_next(feed, &found));
    while (found && t->n < MOST_TEXT) {
        TRY(read_document(feed, t, bytes, n));
        if (t->n_part) t->utf8 = false;
        t->n_part = 0;
        TRY(data_feed_next(feed, &found));
    }
    t->whole = !found;
    return WSC_OK;
}

static bool run_format(const struct data_format *format, const uint8_t *bytes, size_t n)
{
    char path[FUZZ_PATH_BYTES];
    const int fd = fuzz_as_file(bytes, n, path);
    struct data_input file = {.path = path, .format = format, .bytes = (int64_t)n};
    const struct data_inputs inputs = {.file = &file, .n = 1, .bytes = (int64_t)n};
    const bool packed = n > 1 && ((bytes[0] == 0x1F && bytes[1] == 0x8B) || bytes[0] == 0x28);
    bool taken = false;
    for (int errors = DATA_ERRORS_STRICT; errors <= DATA_ERRORS_KEEP; errors++) {
        struct texts t = {.utf8 = true, .same = true};
        struct data_feed feed;
        enum wsc_err rc = data_feed_open(&feed, &inputs, "text", (enum data_errors)errors);
        if (!rc) rc = read_documents(&feed, &t, bytes, n);
        data_feed_close(&feed);
        taken |= fuzz_taken(rc);
        fuzz_check(rc || t.utf8 || errors == DATA_ERRORS_KEEP, "text that is not UTF-8");
        if (format == &data_format_text && !packed && errors != DATA_ERRORS_REPLACE && !rc)
            fuzz_check(t.same && (!t.whole || t.n == (int64_t)n), "another text than the file's");
        fuzz_check_memory(WSC_MEM_DATA);
    }
    (void)close(fd);
    return taken;
}

bool fuzz_text(const uint8_t *bytes, size_t n)
{
    return run_format(&data_format_text, bytes, n);
}

bool fuzz_jsonl(const uint8_t *bytes, size_t n)
{
    return run_format(&data_format_jsonl, bytes, n);
}

bool fuzz_csv(const uint8_t *bytes, size_t n)
{
    const bool taken = run_format(&data_format_csv, bytes, n);
    return run_format(&data_format_tsv, bytes, n) || taken;
}

/* ---- tokenizers ------------------------------------------------------------------------------ */

/* The bytes of the ids one after the other are the text. */
static void check_ids(const struct data_bpe *b, const int32_t *ids, int64_t n_ids,
                      const struct data_text *text)
{
    int64_t at = 0;
    fuzz_check(n_ids <= text->n, "more ids than bytes");
    for (int64_t i = 0; i < n_ids; i++) {
        int64_t length = 0;
        const unsigned char *token = data_bpe_token(b, ids[i], &length);
        fuzz_check(token && length > 0 && length <= text->n - at &&
                       !memcmp(token, text->bytes + at, (size_t)length),
                   "ids of another text");
        at += length;
    }
    fuzz_check(at == text->n, "ids that leave out the end");
}

/* The same ids come out of pieces of @p piece bytes. */
static void check_pieces(struct data_bpe *b, const struct data_text *text, int64_t piece,
                         const int32_t *expected, int64_t n_expected)
{
    static int32_t ids[1 << 16];
    int64_t at = 0, n_ids = 0, have = 0;
    while (at < text->n) {
        int64_t n = 0, used = 0;
        have = have + piece < text->n - at ? have + piece : text->n - at;
        const struct data_text part = {text->bytes + at, have, at + have == text->n};
        fuzz_check(!data_bpe_encode(b, &part, ids, &n, &used), "no ids");
        fuzz_check(n_ids + n <= n_expected &&
                       !memcmp(ids, expected + n_ids, (size_t)n * sizeof *ids),
                   "pieces of a text have other ids");
        n_ids += n;
        at += used;
        have -= used;
    }
    fuzz_check(n_ids == n_expected, "pieces of a text have fewer ids");
}

static void run_encode(struct data_bpe *b, const uint8_t *bytes, size_t n, int64_t piece)
{
    static int32_t ids[1 << 16];
    int64_t n_ids = 0, used = 0;
    const struct data_text text = {bytes, n < 1 << 16 ? (int64_t)n : 1 << 16, true};
    fuzz_check(!data_bpe_encode(b, &text, ids, &n_ids, &used), "no ids");
    fuzz_check(used == text.n, "the end of a text stays");
    check_ids(b, ids, n_ids, &text);
    check_pieces(b, &text, piece, ids, n_ids);
}

/* A vocabulary and merges, each up to a line of `=====`, and a text. */
static size_t section(const uint8_t *bytes, size_t n, size_t *next)
{
    static const char mark[] = "\n=====\n";
    const uint8_t *end = n ? memmem(bytes, n, mark, sizeof mark - 1) : NULL;
    *next = end ? (size_t)(end - bytes) + sizeof mark - 1 : n;
    return end ? (size_t)(end - bytes) + 1 : n;
}

bool fuzz_bpe(const uint8_t *bytes, size_t n)
{
    char vocab_path[FUZZ_PATH_BYTES], merges_path[FUZZ_PATH_BYTES];
    size_t merges, text;
    struct data_bpe *b = NULL;
    const size_t n_vocab = section(bytes, n, &merges);
    const size_t n_merges = section(bytes + merges, n - merges, &text);
    const int vocab_file = fuzz_as_file(bytes, n_vocab, vocab_path);
    const int merges_file = fuzz_as_file(bytes + merges, n_merges, merges_path);
    const bool taken = fuzz_taken(data_bpe_load(&b, vocab_path, merges_path));
    if (taken) run_encode(b, bytes + merges + text, n - merges - text, 7);
    data_bpe_destroy(&b);
    (void)close(vocab_file);
    (void)close(merges_file);
    fuzz_check_memory(WSC_MEM_DATA);
    return taken;
}

/* Of both tokens one. */
static enum wsc_err merge(struct data_bpe *b, const char *left, const char *right, int32_t id)
{
    char both[16];
    bool known;
    const size_t n = strlen(left), m = strlen(right);
    (void)snprintf(both, sizeof both, "%s%s", left, right);
    const int32_t a = data_bpe_find(b, (const unsigned char *)left, (int64_t)n);
    const int32_t c = data_bpe_find(b, (const unsigned char *)right, (int64_t)m);
    TRY(data_bpe_add_token(b, (const unsigned char *)both, (int64_t)(n + m), id));
    return data_bpe_add_merge(b, a, c, id, &known);
}

static enum wsc_err small_bpe(struct data_bpe **b)
{
    static const char *const pair[][2] = {{"h", "e"},       {"t", "he"},  {" ", "the"}, {"e", "r"},
                                          {"a", "a"},       {"aa", "aa"}, {"a", "b"},   {"b", "aa"},
                                          {"\xC3", "\xA4"}, {" ", "a"},   {"1", "2"},   {"12", "3"},
                                          {" ", " "},       {"  ", "  "}, {"\n", "\n"}, {"'", "s"}};
    TRY(data_bpe_create(b));
    for (int32_t i = 0; i < 256; i++) {
        const unsigned char byte = (unsigned char)i;
        TRY(data_bpe_add_token(*b, &byte, 1, i));
    }
    for (int32_t i = 0; i < (int32_t)(sizeof pair / sizeof *pair); i++)
        TRY(merge(*b, pair[i][0], pair[i][1], 256 + i));
    return data_bpe_finish(*b, "small");
}

/* The first byte says how long the pieces are. */
bool fuzz_encode(const uint8_t *bytes, size_t n)
{
    struct data_bpe *b = NULL;
    if (!n) return false;
    fuzz_check(!small_bpe(&b), "no tokenizer");
    run_encode(b, bytes + 1, n - 1, bytes[0] + 1);
    data_bpe_destroy(&b);
    fuzz_check_memory(WSC_MEM_DATA);
    return true;
}

/* ---- how far an interrupted run was ---------------------------------------------------------- */

static bool read_state(const uint8_t *bytes, size_t n)
{
    struct data_state state = {0};
    bool good = false;
    (void)fuzz_put("state", bytes, n);
    if (!fuzz_taken(data_state_read(&state, fuzz_folder(), &good))) return false;
    fuzz_check(!good || (state.n_tokens >= 0 && state.n_documents >= 0 && state.n_bytes >= 0 &&
                         state.place.file >= 0 && state.place.offset >= 0),
               "a state with negative counts");
    fuzz_check_memory(WSC_MEM_DATA);
    return good;
}

/* As they are, and with the line that says what they hash to. */
bool fuzz_state(const uint8_t *bytes, size_t n)
{
    uint8_t signed_bytes[4096 + 64];
    const bool taken = read_state(bytes, n);
    if (n > 4096) return taken;
    memcpy(signed_bytes, bytes, n);
    const int m =
        snprintf((char *)signed_bytes + n, 64, "check %016" PRIx64 "\n", wsc_hash64(bytes, n, 0));
    return read_state(signed_bytes, n + (size_t)m) || taken;
}
