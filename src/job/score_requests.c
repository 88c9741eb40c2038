// SPDX-License-Identifier: Apache-2.0
/* Requests in the JSON Lines that EleutherAI's evaluation harness writes (--log_samples): a line
 * has `arguments`, a list of [context, continuation] or of [text], or the object {"gen_args_0":
 * {"arg_0":
 * ...}} of it, and `target`, the number of the right choice where there are several.
 *
 * Texts become tokens as in the harness (lm_eval/api/model.py, _encode_pair): blanks at the end of
 * a context belong to the continuation, whose tokens are those of the joint text after as many as
 * the context alone has, and follow the tokens of the context alone; a whole text is cut into
 * windows that score each token once (lm_eval/utils.py, get_rolling_token_windows).  job_scoring.c
 * calls. */
#include "score_requests.h"

#include <wsc/file.h>
#include <wsc/mem.h>
#include <wsc/units.h>

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t most_bytes = (int64_t)1 << 30;
enum { MAX_CHOICES = 1024 };

/* A line while it is read. */
struct reader {
    struct job_score_requests *out;
    const struct job_score_tokens *tokens;
    const char *path;
    int64_t line;
};

static enum wsc_err bad(const struct reader *r, const char *what)
{
    return WSC_RAISE(WSC_FORMAT, "%s:%lld: %s", r->path, (long long)r->line, what);
}

/* ---- samples --------------------------------------------------------------------------------- */

/* A sample with tokens [0, n) in front, of which the labels of the last @p n_scored count: token i
 * has label i + 1.  The newest T + 1 tokens are kept. */
static enum wsc_err add_sample(const struct reader *r, const int32_t *id, int64_t n,
                               int64_t n_scored)
{
    struct job_score_requests *q = r->out;
    const int64_t T = q->T;
    if (n > T + 1) {
        id += n - (T + 1);
        n = T + 1;
    }
    if (n_scored < 1) return bad(r, "a continuation without a token");
    if (n_scored > n - 1)
        return WSC_RAISE(WSC_FORMAT, "%s:%lld: a continuation of %lld tokens, the model has %lld",
                         r->path, (long long)r->line, (long long)n_scored, (long long)T);
    TRY_GROW(q->sample, WSC_MEM_RUN, q->sample_room, (q->n_samples + 1) * 3 * T);
    int32_t *tokens = q->sample + q->n_samples++ * 3 * T, *mask = tokens + T, *labels = mask + T;
    for (int64_t i = 0; i + 1 < n; i++) {
        tokens[i] = id[i];
        labels[i] = id[i + 1];
        mask[i] = i + 1 >= n - n_scored;
    }
    return WSC_OK;
}

/* The tokens of @p n bytes in @p id, which has room. */
static enum wsc_err encode(const struct reader *r, const char *text, size_t n, int32_t *id,
                           int64_t *n_ids)
{
    const struct data_text piece = {(const unsigned char *)text, (int64_t)n, true};
    int64_t used = 0;
    *n_ids = 0;
    if (n) TRY(data_tokenizer_encode(r->tokens->tokenizer, &piece, id, n_ids, &used));
    for (int64_t i = 0; i < *n_ids; i++)
        if (id[i] >= r->tokens->V)
            return wsc_err_hint(WSC_RAISE(WSC_USAGE, "%s:%lld: token %d, the model has %lld",
                                          r->path, (long long)r->line, id[i],
                                          (long long)r->tokens->V),
                                "is it the tokenizer that the model was trained with?");
    return WSC_OK;
}

/* The token that stands before what has no context. */
static enum wsc_err prefix(const struct reader *r, int32_t *id)
{
    if (r->tokens->prefix < 0)
        return wsc_err_hint(bad(r, "a text without context, and no token to begin with"),
                            "--eos_id names the token");
    *id = (int32_t)r->tokens->prefix;
    return WSC_OK;
}

/* Bytes of @p text, of @p n bytes, without the white space at its end, as str.rstrip has it. */
static size_t without_end(const char *text, size_t n)
{
    size_t end = 0;
    for (size_t at = 0; at < n;) {
        const int space = data_space_length(text + at);
        at += space ? (size_t)space : 1;
        if (!space) end = at;
    }
    return end;
}

/* Context and continuation in @p joint, of which the first @p n_context bytes are the context.  A
 * token may cross the boundary in the joint text: the context keeps its own.  @p whole has room for
 * the tokens of both, @p id for one more. */
static enum wsc_err encode_pair(const struct reader *r, const char *joint, size_t n_context,
                                int32_t *id, int32_t *whole)
{
    int64_t n = 0, n_before = 0;
    n_context = without_end(joint, n_context);
    TRY(encode(r, joint, n_context, id + 1, &n_before));
    TRY(encode(r, joint, strlen(joint), whole, &n));
    if (n_before > n) return bad(r, "a context with more tokens than with its continuation");
    memcpy(id + 1 + n_before, whole + n_before, (size_t)(n - n_before) * sizeof *id);
    if (n_before) return add_sample(r, id + 1, n, n - n_before);
    TRY(prefix(r, id));
    return add_sample(r, id, n + 1, n);
}

/* Each token of a text once: the first window begins with the prefix, later ones have T tokens, of
 * which those that were not scored yet count. */
static enum wsc_err encode_text(const struct reader *r, const char *text, int32_t *id)
{
    const int64_t T = r->out->T;
    int64_t n = 0;
    TRY(prefix(r, id));
    TRY(encode(r, text, strlen(text), id + 1, &n));
    int64_t done = n < T ? n : T;
    TRY(add_sample(r, id, done + 1, done));
    while (done < n) {
        const int64_t k = n - done < T ? n - done : T, end = done + k;
        TRY(add_sample(r, id + 1 + end - (T + 1), T + 1, k));
        done = end;
    }
    return WSC_OK;
}

/* ---- requests -------------------------------------------------------------------------------- */

/* Characters of UTF-8. */
static int64_t count_chars(const char *text)
{
    int64_t n = 0;
    for (; *text; text++)
        n += (*text & 0xc0) != 0x80;
    return n;
}

/* Pieces between runs of white space, empty ones at the ends among them, as re.split has them. */
static int64_t count_words(const char *text)
{
    int64_t n = 1;
    bool before = false;
    for (const char *c = text; *c;) {
        const int space = data_space_length(c);
        n += space && !before;
        before = space > 0;
        c += space ? space : 1;
    }
    return n;
}

/* Tokens are never more than bytes; one stands before them. */
static enum wsc_err add_samples(const struct reader *r, const char *context,
                                const char *continuation)
{
    const size_t room = strlen(context) + strlen(continuation) + 2;
    int32_t *id = wsc_alloc(WSC_MEM_RUN, 2 * room, sizeof *id);
    char *joint = wsc_asprintf(WSC_MEM_RUN, "%s%s", context, continuation);
    enum wsc_err rc = id && joint ? WSC_OK : WSC_NOMEM;
    if (!rc)
        rc = *continuation ? encode_pair(r, joint, strlen(context), id, id + room)
                           : encode_text(r, joint, id);
    wsc_free(joint);
    wsc_free(id);
    return rc;
}

static const char generates[] = "a request for a generated text; log-likelihoods alone are scored";

/* A request with two texts, or one; @p kind is checked against the number of them. */
static enum wsc_err add_request(const struct reader *r, const json_t *first, const json_t *second,
                                enum job_score_kind *kind)
{
    struct job_score_requests *q = r->out;
    const char *context = json_string_value(first), *continuation = json_string_value(second);
    if (json_is_object(second)) return bad(r, generates);
    if (!context || (second && !continuation)) return bad(r, "arguments: expected texts");
    if (second ? !*continuation : !*context) return bad(r, "arguments: an empty text");
    if (!second) *kind = SCORE_TEXT;
    TRY_GROW(q->request, WSC_MEM_RUN, q->request_room, q->n_requests + 1);
    struct job_score_request request = {.first_sample = q->n_samples};
    if (second) {
        request.n_chars = count_chars(continuation + (*continuation == ' '));
    } else {
        request.n_words = count_words(context);
        request.n_bytes = (int64_t)strlen(context);
    }
    TRY(add_samples(r, context, second ? continuation : ""));
    request.n_samples = q->n_samples - request.first_sample;
    q->request[q->n_requests++] = request;
    return WSC_OK;
}

/* Entry @p i of `arguments`, as a list or as the object that the harness' files have. */
static enum wsc_err add_argument(const struct reader *r, const json_t *arguments, size_t i,
                                 enum job_score_kind *kind)
{
    char name[32];
    (void)snprintf(name, sizeof name, "gen_args_%zu", i);
    const json_t *one =
        json_is_array(arguments) ? json_array_get(arguments, i) : json_object_get(arguments, name);
    const size_t n = json_is_array(one) ? json_array_size(one) : json_object_size(one);
    if (n != 1 && n != 2) return bad(r, "arguments: expected one text or two");
    if (json_is_array(one))
        return add_request(r, json_array_get(one, 0), json_array_get(one, 1), kind);
    return add_request(r, json_object_get(one, "arg_0"), json_object_get(one, "arg_1"), kind);
}

/* `target` as a number, or as its text. */
static enum wsc_err read_gold(const struct reader *r, const json_t *target, int n, int *gold)
{
    int64_t number = -1;
    if (json_is_integer(target)) number = json_integer_value(target);
    if (json_is_string(target) && wsc_units_int(json_string_value(target), &number)) number = -1;
    if (number < 0 || number >= n)
        return bad(r, "target: expected the number of the right choice, from 0");
    *gold = (int)number;
    return WSC_OK;
}

const char *job_score_kind_name(enum job_score_kind kind)
{
    static const char *const name[SCORE_N_KINDS] = {[SCORE_CHOICES] = "multiple_choice",
                                                    [SCORE_CONTINUATION] = "loglikelihood",
                                                    [SCORE_TEXT] = "loglikelihood_rolling"};
    return name[kind];
}

/* Where a line names its kind, it is one of those that are scored. */
static enum wsc_err check_type(const struct reader *r, const json_t *type)
{
    char expected[120] = "request_type: expected";
    const char *text = json_string_value(type);
    if (!type) return WSC_OK;
    if (text && !strcmp(text, "generate_until")) return bad(r, generates);
    for (int i = 0; i < SCORE_N_KINDS; i++) {
        const char *name = job_score_kind_name((enum job_score_kind)i);
        const size_t n = strlen(expected);
        if (text && !strcmp(text, name)) return WSC_OK;
        (void)snprintf(expected + n, sizeof expected - n, "%s%s", i ? ", " : " ", name);
    }
    return bad(r, expected);
}

static enum wsc_err add_document(const struct reader *r, const json_t *line)
{
    struct job_score_requests *q = r->out;
    TRY(check_type(r, json_object_get(line, "request_type")));
    const json_t *arguments = json_object_get(line, "arguments"),
                 *id = json_object_get(line, "doc_id");
    const size_t n =
        json_is_array(arguments) ? json_array_size(arguments) : json_object_size(arguments);
    struct job_score_document d = {.kind = n > 1 ? SCORE_CHOICES : SCORE_CONTINUATION,
                                   .id = json_is_integer(id) ? json_integer_value(id) : r->line - 1,
                                   .first = q->n_requests,
                                   .n = (int)n};
    if (!n || n > MAX_CHOICES) return bad(r, "arguments: expected 1 to 1024 requests");
    const enum job_score_kind expected = d.kind;
    for (size_t i = 0; i < n; i++)
        TRY(add_argument(r, arguments, i, &d.kind));
    if (d.kind != expected && n > 1) return bad(r, "arguments: several texts without a context");
    if (d.kind == SCORE_CHOICES) TRY(read_gold(r, json_object_get(line, "target"), d.n, &d.gold));
    TRY_GROW(q->document, WSC_MEM_RUN, q->document_room, q->n_documents + 1);
    q->document[q->n_documents++] = d;
    q->of_kind[d.kind]++;
    return WSC_OK;
}

/* ---- the file -------------------------------------------------------------------------------- */

static enum wsc_err read_line(struct reader *r, const char *text, size_t n)
{
    json_error_t e;
    while (n && isspace((unsigned char)text[n - 1]))
        n--;
    if (!n) return WSC_OK;
    json_t *line = json_loadb(text, n, JSON_REJECT_DUPLICATES, &e);
    if (!line)
        return WSC_RAISE(WSC_FORMAT, "%s:%lld:%d: %s", r->path, (long long)r->line, e.column,
                         e.text);
    enum wsc_err rc =
        json_is_object(line) ? add_document(r, line) : bad(r, "expected a JSON object");
    json_decref(line);
    return rc;
}

enum wsc_err job_score_requests_read(struct job_score_requests *q, const char *path,
                                     const struct job_score_tokens *tokens)
{
    struct reader r = {q, tokens, path, 0};
    char *bytes = NULL;
    size_t n = 0;
    enum wsc_err rc = WSC_OK;
    *q = (struct job_score_requests){.T = tokens->T};
    TRY(wsc_file_read(WSC_MEM_RUN, path, most_bytes, &bytes, &n));
    const size_t mark = n >= 3 && !memcmp(bytes, "\xEF\xBB\xBF", 3) ? 3 : 0; /* of UTF-8 */
    for (size_t at = mark; at < n && !rc;) {
        const char *end = memchr(bytes + at, '\n', n - at);
        const size_t length = end ? (size_t)(end - bytes) - at : n - at;
        r.line++;
        rc = read_line(&r, bytes + at, length);
        at += length + 1;
    }
    wsc_free(bytes);
    if (!rc && !q->n_documents) rc = WSC_RAISE(WSC_FORMAT, "%s: has no requests", path);
    return rc;
}

void job_score_requests_fini(struct job_score_requests *q)
{
    wsc_free(q->document);
    wsc_free(q->request);
    wsc_free(q->sample);
    *q = (struct job_score_requests){0};
}
