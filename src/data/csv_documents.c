// SPDX-License-Identifier: Apache-2.0
/* Reads CSV and TSV with a head line (RFC 4180): each row is a document, whose text is in one
 * column. A field in double quotes may contain delimiters, line breaks and doubled quotes; a field
 * without must not contain a quote (section 2, rules 5 to 7). Rows end with CR LF or LF and have as
 * many fields as the head. A text is read in pieces, so a field may be longer than memory. */
#include "documents.h"
#include "text_stream.h"

#include <stdio.h>
#include <string.h>

enum { MAX_NAME = 256, MAX_COLUMNS = 100000 };

/* What comes after a field. */
enum field_end { NEXT_FIELD, END_OF_ROW, END_OF_FILE };

/* The next byte, which is not consumed; -1 at the end of the file. */
static enum wsc_err peek(struct data_docs *d, int *c)
{
    int64_t n = 0;
    TRY(data_stream_fill(d->stream, &n));
    *c = n ? d->stream->buffer[d->stream->at] : -1;
    return WSC_OK;
}

/* A quote as the first byte makes the field a quoted one. */
static enum wsc_err start_field(struct data_docs *d)
{
    int c = 0;
    TRY(peek(d, &c));
    d->quoted = c == '"';
    if (d->quoted) data_stream_take(d->stream, 1);
    return WSC_OK;
}

/* Number of bytes that are ordinary characters. */
static int64_t plain_run(const struct data_docs *d, int64_t n)
{
    const unsigned char *text = d->stream->buffer + d->stream->at;
    int64_t i = 0;
    if (d->quoted) {
        const unsigned char *quote = memchr(text, '"', (size_t)n);
        return quote ? quote - text : n;
    }
    while (i < n && text[i] != (unsigned char)d->delimiter && text[i] != '\n' && text[i] != '\r' &&
           text[i] != '"')
        i++;
    return i;
}

/* Process a byte that is not ordinary: a doubled quote is one quote, any other byte ends the field.
 */
static enum wsc_err take_special(struct data_docs *d, unsigned char *out, int64_t *n, bool *ended)
{
    int c = 0;
    TRY(peek(d, &c));
    if (c < 0 && d->quoted)
        return data_stream_raise(d->stream, "the file ends inside a quoted field");
    if (c == '"' && !d->quoted)
        return wsc_err_hint(data_stream_raise(d->stream, "a quote inside a field without quotes"),
                            "RFC 4180: quote the field and double the quotes in it");
    *ended = true;
    if (!d->quoted) return WSC_OK;
    data_stream_take(d->stream, 1);
    TRY(peek(d, &c));
    if (c != '"') return WSC_OK;
    data_stream_take(d->stream, 1);
    out[(*n)++] = '"';
    *ended = false;
    return WSC_OK;
}

/* Read up to @p room bytes of the field; *@p ended: it is complete. */
static enum wsc_err read_field(struct data_docs *d, unsigned char *out, int64_t room, int64_t *n,
                               bool *ended)
{
    *n = 0;
    *ended = false;
    while (*n < room && !*ended) {
        int64_t have = 0;
        TRY(data_stream_fill(d->stream, &have));
        int64_t run = plain_run(d, have < room - *n ? have : room - *n);
        memcpy(out + *n, d->stream->buffer + d->stream->at, (size_t)run);
        data_stream_take(d->stream, run);
        *n += run;
        if (!run) TRY(take_special(d, out, n, ended));
    }
    return WSC_OK;
}

/* Take a carriage return; *@p c: what follows, a line feed or the end of the file. */
static enum wsc_err take_return(struct data_docs *d, int *c)
{
    data_stream_take(d->stream, 1);
    TRY(peek(d, c));
    if (*c == '\n' || *c < 0) return WSC_OK;
    return wsc_err_hint(data_stream_raise(d->stream, "a carriage return inside a row"),
                        "RFC 4180: quote fields with line breaks");
}

/* Find what follows the field: a delimiter, a line break (CR LF or LF) or the end of the file. */
static enum wsc_err end_field(struct data_docs *d, enum field_end *end)
{
    int c = 0;
    TRY(peek(d, &c));
    if (c == '\r') TRY(take_return(d, &c));
    *end = c < 0 ? END_OF_FILE : c == '\n' ? END_OF_ROW : NEXT_FIELD;
    if (*end == NEXT_FIELD && c != (unsigned char)d->delimiter)
        return data_stream_raise(d->stream, "something follows the closing quote of a field");
    if (c >= 0) data_stream_take(d->stream, 1);
    return WSC_OK;
}

static enum wsc_err skip_field(struct data_docs *d, enum field_end *end)
{
    unsigned char scratch[4096];
    int64_t n = 0;
    TRY(start_field(d));
    for (bool ended = false; !ended;)
        TRY(read_field(d, scratch, sizeof scratch, &n, &ended));
    return end_field(d, end);
}

static enum wsc_err no_column(struct data_docs *d)
{
    return wsc_err_hint(
        WSC_RAISE(WSC_FORMAT, "%s:1: the head line has no column \"%s\"", d->stream->path, d->key),
        "name the column of the text with --column");
}

/* Read the head line: count the columns and find that of the text. */
static enum wsc_err begin(struct data_docs *d)
{
    unsigned char name[MAX_NAME];
    enum field_end end = NEXT_FIELD;
    TRY(data_stream_skip_mark(d->stream));
    d->column = -1;
    for (d->n_columns = 0; end == NEXT_FIELD; d->n_columns++) {
        int64_t n = 0;
        bool ended = false;
        TRY(start_field(d));
        TRY(read_field(d, name, sizeof name, &n, &ended));
        if (!ended || d->n_columns == MAX_COLUMNS)
            return data_stream_raise(d->stream, "the head line is too long");
        TRY(end_field(d, &end));
        if (n != (int64_t)strlen(d->key) || memcmp(name, d->key, (size_t)n) != 0) continue;
        if (d->column >= 0)
            return WSC_RAISE(WSC_FORMAT, "%s:1: column \"%s\" stands there twice", d->stream->path,
                             d->key);
        d->column = d->n_columns;
    }
    return d->column < 0 ? no_column(d) : WSC_OK;
}

static enum wsc_err begin_csv(struct data_docs *d)
{
    d->delimiter = ',';
    return begin(d);
}

static enum wsc_err begin_tsv(struct data_docs *d)
{
    d->delimiter = '\t';
    return begin(d);
}

static enum wsc_err wrong_count(struct data_docs *d, int n)
{
    struct data_stream *s = d->stream;
    long long row = s->line - (s->offset + s->at == s->line_start); /* the line break is consumed */
    return WSC_RAISE(WSC_FORMAT, "%s:%lld: the row has %s%d fields, the head line %d", s->path, row,
                     n > d->n_columns ? "more than " : "", n > d->n_columns ? n - 1 : n,
                     d->n_columns);
}

/* Begin the next row; empty lines are skipped. */
static enum wsc_err next(struct data_docs *d, bool *found)
{
    enum field_end end = NEXT_FIELD;
    int c = 0;
    TRY(peek(d, &c));
    while (c == '\n' || c == '\r') {
        if (c == '\r') TRY(take_return(d, &c));
        if (c < 0) break;
        data_stream_take(d->stream, 1);
        TRY(peek(d, &c));
    }
    *found = c >= 0;
    if (!*found) return WSC_OK;
    for (int i = 0; i < d->column; i++) {
        TRY(skip_field(d, &end));
        if (end != NEXT_FIELD) return wrong_count(d, i + 1);
    }
    return start_field(d);
}

/* Read the other fields of the row. It must have as many as the head line, so that a missing quote
 * is reported in its own row. */
static enum wsc_err rest_of_row(struct data_docs *d)
{
    enum field_end end = NEXT_FIELD;
    int n = d->column + 1;
    TRY(end_field(d, &end));
    for (; end == NEXT_FIELD && n <= d->n_columns; n++)
        TRY(skip_field(d, &end));
    return n == d->n_columns ? WSC_OK : wrong_count(d, n);
}

static enum wsc_err read(struct data_docs *d, unsigned char *out, int64_t room, int64_t *n,
                         bool *ended)
{
    TRY(read_field(d, out, room, n, ended));
    return *ended ? rest_of_row(d) : WSC_OK;
}

const struct data_format data_format_csv = {
    .name = "csv", .ending = {".csv"}, begin_csv, next, read};
const struct data_format data_format_tsv = {
    .name = "tsv", .ending = {".tsv", ".tab"}, begin_tsv, next, read};
