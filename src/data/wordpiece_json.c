// SPDX-License-Identifier: Apache-2.0
/* Reads tokenizer.json of the Hugging Face tokenizers library, of the WordPiece kind: `model` has
 * the vocabulary as an object of tokens and ids, `normalizer` and `pre_tokenizer` are those of
 * BERT. Members that affect how a text is divided must be those of BERT, which wordpiece.c
 * implements; others (post processor, decoder, truncation) are ignored. `added_tokens` may only
 * name special tokens of the vocabulary. wordpiece.c calls. */
#include "wordpiece_json.h"
#include "json_documents.h"
#include "text_stream.h"

#include <wsc/mem.h>
#include <wsc/text.h>

#include <stdio.h>
#include <string.h>

enum { TOKEN_BYTES = 512, MOST_TOKENS = 1 << 20, LONGEST_WORD = 100 };

/* An entry of `added_tokens`, which the library matches in a text before it is divided. */
struct added {
    char *content; /* owned; NULL: not given */
    int64_t id;
    bool special;
};

/* State while a file is read. */
struct reader {
    struct data_json json;
    const char *path;
    bool lower;
    char **token; /* owned, each text owned, indexed by id; NULL: not read yet */
    int64_t n, room;
    struct added *added; /* owned */
    int64_t n_added, added_room;
    bool is_wordpiece, normalizes, splits;
};
typedef enum wsc_err (*member_fn)(struct reader *r, const char *name);

static enum wsc_err unsupported(const struct reader *r, const char *what)
{
    return wsc_err_hint(WSC_RAISE(WSC_FORMAT, "%s: %s", r->path, what),
                        "supported: WordPiece as BERT has it");
}

/* Call @p member for each member of the object that comes next. */
static enum wsc_err each_member(struct reader *r, member_fn member)
{
    char name[TOKEN_BYTES];
    bool more = true;
    int c;
    TRY(data_json_expect(&r->json, '{'));
    TRY(data_json_peek(&r->json, &c));
    if (c == '}') return data_json_expect(&r->json, '}');
    while (more) {
        TRY(data_json_word(&r->json, name, sizeof name));
        TRY(data_json_expect(&r->json, ':'));
        TRY(member(r, name));
        TRY(data_json_more(&r->json, '}', &more));
    }
    return WSC_OK;
}

/* The text that comes next must be @p expected. */
static enum wsc_err expect_text(struct reader *r, const char *name, const char *expected)
{
    char text[TOKEN_BYTES], what[2 * TOKEN_BYTES];
    TRY(data_json_word(&r->json, text, sizeof text));
    if (!strcmp(text, expected)) return WSC_OK;
    (void)snprintf(what, sizeof what, "%s: \"%s\" is not supported, only \"%s\"", name, text,
                   expected);
    return unsupported(r, what);
}

/* Read a truth value, which must be @p expected; null is allowed if @p may_be_null. */
static enum wsc_err expect_truth(struct reader *r, const char *name, bool expected,
                                 bool may_be_null)
{
    char what[TOKEN_BYTES];
    int c;
    TRY(data_json_peek(&r->json, &c));
    TRY(data_json_skip(&r->json));
    if (c == (expected ? 't' : 'f') || (may_be_null && c == 'n')) return WSC_OK;
    (void)snprintf(what, sizeof what, "normalizer.%s: must be %s", name,
                   expected ? "true" : "false");
    return strcmp(name, "lowercase") != 0
               ? unsupported(r, what)
               : wsc_err_hint(WSC_RAISE(WSC_FORMAT, "%s: %s", r->path, what),
                              "do_lower of the input must say what the file says");
}

/* ---- model ----------------------------------------------------------------------------------- */

/* Read a token and its id. White space would end a line of vocab.txt; no piece of a word has any.
 */
static enum wsc_err vocab_member(struct reader *r, const char *token)
{
    int64_t id = 0;
    TRY(data_json_index(&r->json, MOST_TOKENS - 1, &id));
    if (!*token || strpbrk(token, " \t\r\n")) return unsupported(r, "a token with white space");
    TRY_GROW(r->token, WSC_MEM_DATA, r->room, id + 1);
    if (id >= r->n) r->n = id + 1;
    if (r->token[id])
        return WSC_RAISE(WSC_FORMAT, "%s: model.vocab: two tokens have id %lld", r->path,
                         (long long)id);
    TRY_MEM(r->token[id], wsc_strdup(WSC_MEM_DATA, token));
    return WSC_OK;
}

static enum wsc_err model_member(struct reader *r, const char *name)
{
    int64_t longest = 0;
    if (!strcmp(name, "type")) {
        r->is_wordpiece = true;
        return expect_text(r, "model.type", "WordPiece");
    }
    if (!strcmp(name, "unk_token")) return expect_text(r, "model.unk_token", "[UNK]");
    if (!strcmp(name, "continuing_subword_prefix"))
        return expect_text(r, "model.continuing_subword_prefix", "##");
    if (!strcmp(name, "vocab") && r->n) return unsupported(r, "model.vocab: comes twice");
    if (!strcmp(name, "vocab")) return each_member(r, vocab_member);
    if (strcmp(name, "max_input_chars_per_word") != 0) return data_json_skip(&r->json);
    TRY(data_json_index(&r->json, INT32_MAX, &longest));
    return longest == LONGEST_WORD ? WSC_OK
                                   : unsupported(r, "model.max_input_chars_per_word: must be 100");
}

/* ---- what comes before it -------------------------------------------------------------------- */

static enum wsc_err normalizer_member(struct reader *r, const char *name)
{
    if (!strcmp(name, "type")) return expect_text(r, "normalizer.type", "BertNormalizer");
    if (!strcmp(name, "lowercase")) return expect_truth(r, name, r->lower, false);
    if (!strcmp(name, "strip_accents")) return expect_truth(r, name, r->lower, true);
    if (!strcmp(name, "clean_text") || !strcmp(name, "handle_chinese_chars"))
        return expect_truth(r, name, true, false);
    return data_json_skip(&r->json);
}

static enum wsc_err pre_tokenizer_member(struct reader *r, const char *name)
{
    if (!strcmp(name, "type")) return expect_text(r, "pre_tokenizer.type", "BertPreTokenizer");
    return data_json_skip(&r->json);
}

/* ---- added tokens ---------------------------------------------------------------------------- */

static enum wsc_err added_member(struct reader *r, const char *name)
{
    struct added *a = &r->added[r->n_added - 1];
    char text[TOKEN_BYTES];
    int c;
    if (!strcmp(name, "id")) return data_json_index(&r->json, MOST_TOKENS - 1, &a->id);
    if (!strcmp(name, "content") && !a->content) {
        TRY(data_json_word(&r->json, text, sizeof text));
        TRY_MEM(a->content, wsc_strdup(WSC_MEM_DATA, text));
        return WSC_OK;
    }
    TRY(data_json_peek(&r->json, &c));
    if (!strcmp(name, "special")) a->special = c == 't';
    return data_json_skip(&r->json);
}

static enum wsc_err read_added(struct reader *r)
{
    bool more = true;
    int c;
    TRY(data_json_expect(&r->json, '['));
    TRY(data_json_peek(&r->json, &c));
    if (c == ']') return data_json_expect(&r->json, ']');
    while (more) {
        TRY_GROW(r->added, WSC_MEM_DATA, r->added_room, r->n_added + 1);
        r->added[r->n_added++] = (struct added){.id = -1};
        TRY(each_member(r, added_member));
        TRY(data_json_more(&r->json, ']', &more));
    }
    return WSC_OK;
}

/* A token that the vocabulary does not have, or that is found inside words, would be divided. */
static enum wsc_err check_added(const struct reader *r)
{
    for (int64_t i = 0; i < r->n_added; i++) {
        const struct added *a = &r->added[i];
        const char *content = a->content ? a->content : "";
        const bool known = a->id >= 0 && a->id < r->n && !strcmp(r->token[a->id], content);
        if (known && a->special) continue;
        return wsc_err_hint(
            WSC_RAISE(WSC_FORMAT, "%s: added_tokens: \"%s\" is %s", r->path, content,
                      known ? "no special token" : "not in model.vocab with the same id"),
            "supported: special tokens of model.vocab");
    }
    return WSC_OK;
}

/* ---- the file -------------------------------------------------------------------------------- */

static enum wsc_err file_member(struct reader *r, const char *name)
{
    int c;
    TRY(data_json_peek(&r->json, &c));
    if (c == '[' && !strcmp(name, "added_tokens")) return read_added(r);
    if (c != '{') return data_json_skip(&r->json);
    if (!strcmp(name, "model")) return each_member(r, model_member);
    if (!strcmp(name, "normalizer")) {
        r->normalizes = true;
        return each_member(r, normalizer_member);
    }
    if (!strcmp(name, "pre_tokenizer")) {
        r->splits = true;
        return each_member(r, pre_tokenizer_member);
    }
    return data_json_skip(&r->json);
}

static enum wsc_err read_file(struct reader *r)
{
    TRY(data_stream_open(&r->json.stream, r->path, DATA_ERRORS_STRICT));
    TRY(each_member(r, file_member));
    if (!r->is_wordpiece || !r->n) return unsupported(r, "model: has no vocabulary of WordPiece");
    if (!r->normalizes || !r->splits)
        return unsupported(r, "normalizer or pre_tokenizer is missing");
    for (int64_t i = 0; i < r->n; i++)
        if (!r->token[i])
            return WSC_RAISE(WSC_FORMAT, "%s: model.vocab: no token has id %lld", r->path,
                             (long long)i);
    return check_added(r);
}

static enum wsc_err join(const struct reader *r, char **lines, size_t *n)
{
    size_t bytes = 1, at = 0;
    for (int64_t i = 0; i < r->n; i++)
        bytes += strlen(r->token[i]) + 1;
    TRY_NEW(*lines, WSC_MEM_DATA, bytes);
    for (int64_t i = 0; i < r->n; i++) {
        const size_t length = strlen(r->token[i]);
        memcpy(*lines + at, r->token[i], length);
        at += length;
        (*lines)[at++] = '\n';
    }
    *n = at;
    return WSC_OK;
}

bool data_wordpiece_is_json(const char *path)
{
    return wsc_ends_with(path, ".json");
}

enum wsc_err data_wordpiece_json(const char *path, bool lower, char **lines, size_t *n)
{
    struct reader r = {.path = path, .lower = lower};
    *lines = NULL;
    enum wsc_err rc = read_file(&r);
    if (!rc) rc = join(&r, lines, n);
    for (int64_t i = 0; i < r.n; i++)
        wsc_free(r.token[i]);
    wsc_free(r.token);
    for (int64_t i = 0; i < r.n_added; i++)
        wsc_free(r.added[i].content);
    wsc_free(r.added);
    data_stream_close(&r.json.stream);
    return rc;
}
