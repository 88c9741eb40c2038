// SPDX-License-Identifier: Apache-2.0
/* Reads the documents of a list of files, one after the other. The reader of each format (text,
 * JSON Lines, CSV, TSV) returns pieces of them; a position says where to resume. */
#include "documents.h"
#include "json_documents.h"
#include "text_stream.h"

#include <string.h>

/* ---- a file of text: one document ------------------------------------------------------------ */

static enum wsc_err text_begin(struct data_docs *d)
{
    d->begun = false;
    return WSC_OK;
}

static int64_t position_of(const struct data_stream *s)
{
    return s->offset + s->at;
}

/* An empty file is an empty document; at the end of a file there is no further one. */
static enum wsc_err text_next(struct data_docs *d, bool *found)
{
    int64_t n = 0;
    TRY(data_stream_fill(d->stream, &n));
    *found = n > 0 || (!d->begun && !position_of(d->stream));
    d->begun = true;
    return WSC_OK;
}

/* *@p ended is set only with an empty piece, when the file has no more text. */
static enum wsc_err text_read(struct data_docs *d, unsigned char *out, int64_t room, int64_t *n,
                              bool *ended)
{
    struct data_stream *s = d->stream;
    TRY(data_stream_fill(s, n));
    *ended = *n == 0;
    if (*n > room) *n = room;
    memcpy(out, s->buffer + s->at, (size_t)*n);
    data_stream_take(s, *n);
    return WSC_OK;
}

const struct data_format data_format_text = {
    .name = "text", .ending = {".txt", ".text", ".md"}, text_begin, text_next, text_read};

/* ---- JSON Lines: one object per line, its string `key` is the document -------------------------
 */

static enum wsc_err jsonl_begin(struct data_docs *d)
{
    d->json = (struct data_json){.stream = d->stream};
    return data_stream_skip_mark(d->stream);
}

/* Read `"key":`, or the closing brace. */
static enum wsc_err jsonl_key(struct data_docs *d, bool *wanted)
{
    char key[256];
    TRY(data_json_word(&d->json, key, sizeof key));
    TRY(data_json_expect(&d->json, ':'));
    *wanted = !strcmp(key, d->key);
    return WSC_OK;
}

static enum wsc_err jsonl_no_key(struct data_docs *d)
{
    return wsc_err_hint(data_stream_raise(d->stream, "the object has no key \"%s\"", d->key),
                        "name the key of the text with --jsonl_key");
}

/* Read up to the opening quote of the text; members before it are skipped. */
static enum wsc_err jsonl_find(struct data_docs *d)
{
    int c = 0;
    bool wanted = false, more = true;
    TRY(data_json_expect(&d->json, '{'));
    TRY(data_json_peek(&d->json, &c));
    if (c == '}') return jsonl_no_key(d);
    for (;;) {
        TRY(jsonl_key(d, &wanted));
        if (wanted) break;
        TRY(data_json_skip(&d->json));
        TRY(data_json_more(&d->json, '}', &more));
        if (!more) return jsonl_no_key(d);
    }
    TRY(data_json_peek(&d->json, &c));
    if (c != '"')
        return wsc_err_hint(data_stream_raise(d->stream, "\"%s\" is not a string", d->key),
                            "name the key of the text with --jsonl_key");
    return data_json_expect(&d->json, '"');
}

/* Empty lines between objects are allowed, a newline inside one is not. */
static enum wsc_err jsonl_next(struct data_docs *d, bool *found)
{
    int c = 0;
    d->json.one_line = false;
    TRY(data_json_peek(&d->json, &c));
    *found = c >= 0;
    if (!*found) return WSC_OK;
    d->json.one_line = true;
    if (c != '{')
        return wsc_err_hint(data_stream_raise(d->stream, "expected an object"),
                            "JSON Lines have one object with the text on each line");
    return jsonl_find(d);
}

/* Read the rest of the object and of its line, after the text. */
static enum wsc_err jsonl_rest(struct data_docs *d)
{
    int c = 0;
    for (bool more = true, again = false;;) {
        TRY(data_json_more(&d->json, '}', &more));
        if (!more) break;
        TRY(jsonl_key(d, &again));
        if (again) return data_stream_raise(d->stream, "\"%s\" stands there twice", d->key);
        TRY(data_json_skip(&d->json));
    }
    TRY(data_json_peek(&d->json, &c));
    if (c == '\n' || c < 0) return WSC_OK;
    return data_stream_raise(d->stream, "something follows the object on its line");
}

static enum wsc_err jsonl_read(struct data_docs *d, unsigned char *out, int64_t room, int64_t *n,
                               bool *ended)
{
    TRY(data_json_string(&d->json, out, room, n, ended));
    return *ended ? jsonl_rest(d) : WSC_OK;
}

const struct data_format data_format_jsonl = {
    .name = "jsonl", .ending = {".jsonl", ".ndjson", ".json"}, jsonl_begin, jsonl_next, jsonl_read};

/* ---- all files ------------------------------------------------------------------------------- */

static enum wsc_err open_file(struct data_docs *d)
{
    const struct data_input *file = &d->inputs->file[d->at];
    TRY(data_stream_open(&d->stream, file->path, d->errors));
    d->format = file->format;
    return d->format->begin(d);
}

/* Files without documents are skipped. */
enum wsc_err data_docs_next(struct data_docs *d, bool *found)
{
    for (*found = false; d->at < d->inputs->n; d->at++) {
        if (!d->stream) TRY(open_file(d));
        TRY(d->format->next(d, found));
        if (*found) return WSC_OK;
        data_stream_close(&d->stream);
        d->packed_before += d->inputs->file[d->at].bytes;
    }
    return WSC_OK;
}

enum wsc_err data_docs_read(struct data_docs *d, unsigned char *out, int64_t room, int64_t *n,
                            bool *ended)
{
    return d->format->read(d, out, room, n, ended);
}

/* After the document of an empty file the next file follows. */
struct data_place data_docs_place(const struct data_docs *d)
{
    const int64_t at = d->stream ? position_of(d->stream) : 0;
    const bool was_empty = d->stream && d->format == &data_format_text && d->begun && !at;
    return (struct data_place){d->at + was_empty, at};
}

/* Compressed files have no random access: the text before the position is read and dropped. */
enum wsc_err data_docs_go(struct data_docs *d, const struct data_place *place)
{
    data_docs_close(d);
    for (d->at = 0; d->at < place->file; d->at++)
        d->packed_before += d->inputs->file[d->at].bytes;
    if (d->at == d->inputs->n || !place->offset) return WSC_OK;
    TRY(open_file(d));
    return data_stream_skip(d->stream, place->offset - position_of(d->stream));
}

int64_t data_docs_done(const struct data_docs *d)
{
    return d->packed_before + (d->stream ? d->stream->packed_done : 0);
}

void data_docs_close(struct data_docs *d)
{
    data_stream_close(&d->stream);
    d->packed_before = 0;
}
