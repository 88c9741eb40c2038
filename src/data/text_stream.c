// SPDX-License-Identifier: Apache-2.0
/* Reads one input file as a stream of text: the bytes of unpack.c, checked as UTF-8 or repaired,
 * with the line and column of each for messages. documents.c divides it into documents. */
#include "text_stream.h"
#include "unpack.h"
#include "utf8.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <stdio.h>
#include <string.h>

enum { RAW_BYTES = 1 << 18 };

/* A character that the end of a piece cuts has at most 3 bytes there; U+FFFD takes 3 bytes for at
 * least one. */
enum { CARRY_BYTES = 4, GROWTH = 3 };

struct data_stream_file {
    struct data_unpack *bytes; /* owned */
    unsigned char raw[RAW_BYTES + CARRY_BYTES];
    int64_t n_raw; /* bytes carried over from the last piece */
    bool ended;
};

/* ---- UTF-8 ----------------------------------------------------------------------------------- */

/* Eight bytes at a time: most text is ASCII. */
static int64_t ascii_run(const unsigned char *text, int64_t n)
{
    int64_t i = 0;
    for (uint64_t word; i + 8 <= n; i += 8) {
        memcpy(&word, text + i, 8);
        if (word & 0x8080808080808080U) break;
    }
    while (i < n && text[i] < 0x80)
        i++;
    return i;
}

/* Number of bytes of @p text that are complete characters; *bad: what follows is not one. */
static int64_t valid_run(const unsigned char *text, int64_t n, bool ended, int *bad)
{
    int64_t i = 0;
    for (*bad = 0; i < n;) {
        i += ascii_run(text + i, n - i);
        if (i == n) break;
        int length = data_utf8_length(text + i, n - i);
        if (length > 0) {
            i += length;
            continue;
        }
        if (length < 0) *bad = -length;
        if (length == 0 && ended) *bad = (int)(n - i);
        break;
    }
    return i;
}

/* Raised before the piece is returned, so the position is counted from its start. */
static enum wsc_err not_utf8(struct data_stream *s, int64_t at)
{
    struct data_stream_file *f = s->file;
    unsigned byte = f->raw[at];
    memcpy(s->buffer, f->raw, (size_t)at);
    s->at = 0;
    s->n = at;
    data_stream_take(s, at);
    enum wsc_err rc = data_stream_raise(s, "byte 0x%02X is not UTF-8", byte);
    if (s->offset + s->at < 2 && byte >= 0xFE)
        return wsc_err_hint(rc, "the file looks like UTF-16: convert it with iconv");
    return wsc_err_hint(rc, "--errors replace puts U+FFFD there, --errors keep takes the bytes");
}

/* Copy from raw to buffer; an incomplete last character is kept for the next piece. */
static enum wsc_err filter(struct data_stream *s)
{
    struct data_stream_file *f = s->file;
    int64_t at = 0;
    int bad = 1;
    while (bad) {
        int64_t run = f->n_raw - at;
        bad = 0;
        if (s->errors != DATA_ERRORS_KEEP) run = valid_run(f->raw + at, run, f->ended, &bad);
        if (bad && s->errors == DATA_ERRORS_STRICT) return not_utf8(s, at + run);
        memcpy(s->buffer + s->n, f->raw + at, (size_t)run);
        s->n += run;
        at += run + bad;
        if (bad) s->n += data_utf8_put(0xFFFD, s->buffer + s->n);
    }
    memmove(f->raw, f->raw + at, (size_t)(f->n_raw - at));
    f->n_raw -= at;
    return WSC_OK;
}

/* ---- the stream ------------------------------------------------------------------------------ */

static enum wsc_err prepare(struct data_stream *s)
{
    TRY_NEW(s->file, WSC_MEM_DATA, 1);
    TRY_MEM(s->buffer, wsc_alloc_raw(WSC_MEM_DATA, (size_t)GROWTH * (RAW_BYTES + CARRY_BYTES), 1));
    return data_unpack_open(&s->file->bytes, s->path);
}

enum wsc_err data_stream_open(struct data_stream **out, const char *path, enum data_errors errors)
{
    struct data_stream *s = NULL;
    *out = NULL;
    TRY_NEW(s, WSC_MEM_DATA, 1);
    s->path = path;
    s->errors = errors;
    s->line = 1;
    enum wsc_err rc = prepare(s);
    if (rc) data_stream_close(&s);
    *out = s;
    return rc;
}

void data_stream_close(struct data_stream **stream)
{
    struct data_stream *s = *stream;
    if (!s) return;
    if (s->file) data_unpack_close(&s->file->bytes);
    wsc_free(s->file);
    wsc_free(s->buffer);
    wsc_free(s);
    *stream = NULL;
}

/* Offsets and lines are those of the expanded and repaired text. */
enum wsc_err data_stream_fill(struct data_stream *s, int64_t *n)
{
    struct data_stream_file *f = s->file;
    while (s->at == s->n && !f->ended) {
        int64_t got = 0;
        s->offset += s->n;
        s->at = s->n = 0;
        TRY(data_unpack_read(f->bytes, f->raw + f->n_raw, RAW_BYTES, &got));
        s->packed_done = data_unpack_used(f->bytes);
        f->n_raw += got;
        f->ended = got == 0;
        TRY(filter(s));
    }
    *n = s->n - s->at;
    return WSC_OK;
}

/* Lines are counted as bytes are used, so that an error has the position of the reader. */
void data_stream_take(struct data_stream *s, int64_t n)
{
    const unsigned char *from = s->buffer + s->at, *end = from + n;
    WSC_CHECK(n >= 0 && n <= s->n - s->at, "%lld of %lld bytes", (long long)n,
              (long long)(s->n - s->at));
    for (const unsigned char *at = from; (at = memchr(at, '\n', (size_t)(end - at))); at++) {
        s->line++;
        s->line_start = s->offset + (at - s->buffer) + 1;
    }
    s->at += n;
}

enum wsc_err data_stream_skip(struct data_stream *s, int64_t n)
{
    for (int64_t got = 0; n > 0; n -= got) {
        TRY(data_stream_fill(s, &got));
        if (!got) return WSC_RAISE(WSC_IO, "%s: is shorter than it was", s->path);
        if (got > n) got = n;
        data_stream_take(s, got);
    }
    return WSC_OK;
}

enum wsc_err data_stream_skip_mark(struct data_stream *s)
{
    static const unsigned char mark[3] = {0xEF, 0xBB, 0xBF};
    int64_t n = 0;
    TRY(data_stream_fill(s, &n));
    if (n < 3 || memcmp(s->buffer + s->at, mark, 3) != 0) return WSC_OK;
    data_stream_take(s, 3);
    s->line_start = s->offset + s->at;
    return WSC_OK;
}

enum wsc_err data_stream_raise_at(struct data_stream *s, const char *file, int line,
                                  const char *format, ...)
{
    char text[512];
    const int64_t column = s->offset + s->at - s->line_start + 1;
    va_list ap;
    va_start(ap, format);
    (void)vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    return wsc_err_raise(WSC_FORMAT, file, line, "%s:%lld:%lld: %s", s->path, (long long)s->line,
                         (long long)column, text);
}
