// SPDX-License-Identifier: Apache-2.0
/* Reads vocab.json and merges.txt, the files of GPT-2's tokenizer and of Hugging Face. The first
 * one is a JSON object from tokens to ids. The second one has a merge on each line, two tokens
 * separated by a space; the order of the lines is the rank, lowest first; a first line "#version"
 * is skipped. The result of a merge must be a token of the vocabulary, and so must every single
 * byte. */
#include "bpe.h"
#include "json_documents.h"
#include "text_stream.h"

#include <wsc/mem.h>

#include <stdio.h>
#include <string.h>

enum { MAX_TOKEN = 4096, MAX_LINE = 2 * MAX_TOKEN, MAX_VOCAB = 1 << 22 };

/* ---- vocab.json: {"token": id, ...} ---------------------------------------------------------- */

/* Read a token and its id from vocab.json; both must occur once. */
static enum wsc_err read_token(struct data_json *j, struct data_bpe *b)
{
    char text[MAX_TOKEN];
    unsigned char bytes[MAX_TOKEN];
    int64_t id = 0, length;
    TRY(data_json_word(j, text, sizeof text));
    TRY(data_json_expect(j, ':'));
    TRY(data_json_index(j, MAX_VOCAB - 1, &id));
    int64_t n = data_bpe_bytes(text, bytes);
    if (n < 0) { /* a special token, written as plain text */
        n = (int64_t)strlen(text);
        memcpy(bytes, text, (size_t)n);
    }
    if (!n) return data_stream_raise(j->stream, "an empty token");
    if (data_bpe_find(b, bytes, n) >= 0)
        return data_stream_raise(j->stream, "token \"%.80s\" stands there twice", text);
    if (data_bpe_token(b, (int32_t)id, &length))
        return data_stream_raise(j->stream, "id %lld stands there twice", (long long)id);
    return data_bpe_add_token(b, bytes, n, (int32_t)id);
}

static enum wsc_err read_vocab(struct data_json *j, struct data_bpe *b)
{
    bool more = true;
    int c = 0;
    TRY(data_json_expect(j, '{'));
    while (more) {
        TRY(read_token(j, b));
        TRY(data_json_more(j, '}', &more));
    }
    TRY(data_json_peek(j, &c));
    return c < 0 ? WSC_OK : data_stream_raise(j->stream, "something follows the object");
}

/* ---- merges.txt: a pair of tokens on each line, the lowest rank first
 * ---------------------------- */

/* Read a line without its end; *more false: there was none. */
static enum wsc_err read_line(struct data_stream *s, char *line, bool *more)
{
    int64_t n = 0, used = 0;
    for (*more = false;;) {
        TRY(data_stream_fill(s, &n));
        if (!n) break;
        *more = true;
        const unsigned char *from = s->buffer + s->at, *end = memchr(from, '\n', (size_t)n);
        int64_t run = end ? end - from : n;
        if (used + run >= MAX_LINE) return data_stream_raise(s, "the line is too long");
        memcpy(line + used, from, (size_t)run);
        used += run;
        data_stream_take(s, run);
        if (end) break;
    }
    if (used && line[used - 1] == '\r') used--;
    line[used] = '\0';
    return WSC_OK;
}

/* Find the id of a token; error with the line of the file. */
static enum wsc_err find_token(struct data_stream *s, const struct data_bpe *b, const char *text,
                               const unsigned char *bytes, int64_t n, int32_t *id)
{
    *id = n > 0 ? data_bpe_find(b, bytes, n) : -1;
    if (*id >= 0) return WSC_OK;
    return wsc_err_hint(data_stream_raise(s, "\"%.80s\" is no token of the vocabulary", text),
                        "do the two files belong together?");
}

static enum wsc_err add_merge(struct data_stream *s, struct data_bpe *b, char *line)
{
    unsigned char bytes[4 * MAX_TOKEN];
    int32_t left = 0, right = 0, id = 0;
    bool known = false;
    char *space = strchr(line, ' ');
    if (!space || strchr(space + 1, ' ') || space == line || !space[1])
        return data_stream_raise(s, "expected two tokens with a space between");
    *space = '\0';
    int64_t n = data_bpe_bytes(line, bytes);
    TRY(find_token(s, b, line, bytes, n, &left));
    int64_t m = data_bpe_bytes(space + 1, bytes + n);
    TRY(find_token(s, b, space + 1, bytes + n, m, &right));
    *space = ' ';
    TRY(find_token(s, b, line, bytes, n + m, &id));
    TRY(data_bpe_add_merge(b, left, right, id, &known));
    return known ? data_stream_raise(s, "the pair stands there twice") : WSC_OK;
}

/* Read the lines; the result of each merge must be a token already. */
static enum wsc_err read_merges(struct data_stream *s, struct data_bpe *b)
{
    char line[MAX_LINE];
    for (;;) {
        bool more = true;
        int64_t n = 0;
        line[0] = '\0';
        TRY(read_line(s, line, &more));
        if (!more) return WSC_OK;
        bool version = s->line == 1 && strstr(line, "#version") == line;
        if (line[0] && !version) TRY(add_merge(s, b, line));
        TRY(data_stream_fill(s, &n));
        /* consume the line break last, so that errors have the number of this line */
        if (n) data_stream_take(s, 1);
    }
}

/* ---- both ------------------------------------------------------------------------------------ */

static enum wsc_err load(struct data_bpe *b, const char *vocab_path, const char *merges_path)
{
    struct data_stream *s = NULL;
    TRY(data_stream_open(&s, vocab_path, DATA_ERRORS_STRICT));
    struct data_json j = {.stream = s};
    enum wsc_err rc = read_vocab(&j, b);
    data_stream_close(&s);
    if (rc) return wsc_err_frame(rc, __FILE__, __LINE__, "read vocabulary");
    TRY(data_bpe_finish(b, vocab_path));
    TRY(data_stream_open(&s, merges_path, DATA_ERRORS_STRICT));
    rc = read_merges(s, b);
    data_stream_close(&s);
    return rc;
}

enum wsc_err data_bpe_load(struct data_bpe **out, const char *vocab_path, const char *merges_path)
{
    struct data_bpe *b = NULL;
    TRY(data_bpe_create(&b));
    enum wsc_err rc = load(b, vocab_path, merges_path);
    if (rc) data_bpe_destroy(&b);
    *out = b;
    return rc;
}
