// SPDX-License-Identifier: Apache-2.0
/* JSON Lines as documents: one object a line, the text under a key, read as a stream with escapes
 * and surrogate pairs; errors name line and column. */
#include "json_documents.h"
#include "text_stream.h"
#include "utf8.h"

#include <wsc/units.h>

#include <string.h>

enum { MAX_DEPTH = 512, MAX_NUMBER = 400 };

/* ---- characters ------------------------------------------------------------------------------ */

/* The next byte, which is not consumed; -1 at the end of the file. */
static enum wsc_err peek_byte(struct data_json *j, int *c)
{
    int64_t n = 0;
    TRY(data_stream_fill(j->stream, &n));
    *c = n ? j->stream->buffer[j->stream->at] : -1;
    return WSC_OK;
}

enum wsc_err data_json_peek(struct data_json *j, int *c)
{
    for (;;) {
        TRY(peek_byte(j, c));
        if (*c != ' ' && *c != '\t' && *c != '\r' && (*c != '\n' || j->one_line)) return WSC_OK;
        data_stream_take(j->stream, 1);
    }
}

/* Error with the character at the current position, in a form that is safe for a terminal, and the
 * expected one. */
static enum wsc_err unexpected(struct data_json *j, int c, const char *expected)
{
    struct data_stream *s = j->stream;
    if (c < 0) return data_stream_raise(s, "the file ends, expected %s", expected);
    if (c == '\n') return data_stream_raise(s, "the line ends, expected %s", expected);
    if (c < 0x20 || c >= 0x7F)
        return data_stream_raise(s, "byte 0x%02X, expected %s", (unsigned)c, expected);
    return data_stream_raise(s, "\"%c\", expected %s", c, expected);
}

enum wsc_err data_json_expect(struct data_json *j, char wanted)
{
    const char text[4] = {'"', wanted, '"', '\0'};
    int c = 0;
    TRY(data_json_peek(j, &c));
    if (c != wanted) return unexpected(j, c, text);
    data_stream_take(j->stream, 1);
    return WSC_OK;
}

enum wsc_err data_json_more(struct data_json *j, char close, bool *more)
{
    const char text[] = {'"', ',', '"', ' ', 'o', 'r', ' ', '"', close, '"', '\0'};
    int c = 0;
    TRY(data_json_peek(j, &c));
    if (c != ',' && c != close) return unexpected(j, c, text);
    data_stream_take(j->stream, 1);
    *more = c == ',';
    return WSC_OK;
}

/* ---- strings --------------------------------------------------------------------------------- */

/* Number of bytes of a string that are ordinary characters. */
static int64_t plain_run(const unsigned char *text, int64_t n)
{
    int64_t i = 0;
    while (i < n && text[i] >= 0x20 && text[i] != '"' && text[i] != '\\')
        i++;
    return i;
}

static enum wsc_err read_hex(struct data_json *j, int32_t *value)
{
    *value = 0;
    for (int i = 0; i < 4; i++) {
        int c = 0;
        TRY(peek_byte(j, &c));
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) return unexpected(j, c, "four hexadecimal digits after \\u");
        data_stream_take(j->stream, 1);
        *value = *value << 4 | digit;
    }
    return WSC_OK;
}

/* Write one half of a surrogate pair that lacks the other half. */
static enum wsc_err put_half(struct data_json *j, int32_t unit, unsigned char *out, int64_t *n)
{
    if (j->stream->errors == DATA_ERRORS_STRICT)
        return wsc_err_hint(
            data_stream_raise(j->stream, "\\u%04x is half of a surrogate pair", (unsigned)unit),
            "--errors replace puts U+FFFD there");
    *n += data_utf8_put(0xFFFD, out + *n);
    return WSC_OK;
}

/* Write a first half that nothing followed. */
static enum wsc_err end_pair(struct data_json *j, unsigned char *out, int64_t *n)
{
    int32_t high = j->high;
    j->high = 0;
    return high ? put_half(j, high, out, n) : WSC_OK;
}

/* Write a UTF-16 code unit of an escape: two halves of a surrogate pair are one character. */
static enum wsc_err put_unit(struct data_json *j, int32_t unit, unsigned char *out, int64_t *n)
{
    bool high = unit >= 0xD800 && unit <= 0xDBFF, low = unit >= 0xDC00 && unit <= 0xDFFF;
    if (low && j->high) {
        *n += data_utf8_put(0x10000 + ((j->high - 0xD800) << 10) + (unit - 0xDC00), out + *n);
        j->high = 0;
        return WSC_OK;
    }
    TRY(end_pair(j, out, n));
    if (high)
        j->high = unit; /* the other half has to follow at once */
    else if (low)
        TRY(put_half(j, unit, out, n));
    else
        *n += data_utf8_put(unit, out + *n);
    return WSC_OK;
}

/* Read an escape whose backslash was consumed. */
static enum wsc_err put_escape(struct data_json *j, unsigned char *out, int64_t *n)
{
    static const char name[] = "\"\\/bfnrt", value[] = "\"\\/\b\f\n\r\t";
    int32_t unit = 0;
    int c = 0;
    TRY(peek_byte(j, &c));
    const char *at = c > 0 ? strchr(name, c) : NULL;
    if (!at && c != 'u') return unexpected(j, c, "one of \"\\/bfnrtu after a backslash");
    data_stream_take(j->stream, 1);
    if (at) return put_unit(j, value[at - name], out, n);
    TRY(read_hex(j, &unit));
    return put_unit(j, unit, out, n);
}

/* Process the first byte that is not ordinary. */
static enum wsc_err put_special(struct data_json *j, int c, unsigned char *out, int64_t *n,
                                bool *ended)
{
    if (c != '"' && c != '\\') return unexpected(j, c, "the end of a string");
    data_stream_take(j->stream, 1);
    if (c == '\\') return put_escape(j, out, n);
    *ended = true;
    return end_pair(j, out, n);
}

/* Read a run of ordinary bytes, or one escape; there is room for at least 8 bytes. */
static enum wsc_err put_some(struct data_json *j, unsigned char *out, int64_t room, int64_t *n,
                             bool *ended)
{
    struct data_stream *s = j->stream;
    int64_t have = 0;
    int c = 0;
    TRY(data_stream_fill(s, &have));
    if (have > room - *n - 4) have = room - *n - 4; /* room for a pending half as well */
    int64_t run = plain_run(s->buffer + s->at, have);
    if (!run) {
        TRY(peek_byte(j, &c));
        return put_special(j, c, out, n, ended);
    }
    TRY(end_pair(j, out, n));
    memcpy(out + *n, s->buffer + s->at, (size_t)run);
    data_stream_take(s, run);
    *n += run;
    return WSC_OK;
}

enum wsc_err data_json_string(struct data_json *j, unsigned char *out, int64_t room, int64_t *n,
                              bool *ended)
{
    *n = 0;
    *ended = false;
    while (room - *n >= 8 && !*ended)
        TRY(put_some(j, out, room, n, ended));
    return WSC_OK;
}

enum wsc_err data_json_word(struct data_json *j, char *text, int64_t size)
{
    unsigned char piece[64];
    int64_t used = 0, n = 0;
    TRY(data_json_expect(j, '"'));
    for (bool ended = false; !ended; used += n) {
        TRY(data_json_string(j, piece, sizeof piece, &n, &ended));
        if (used + n >= size)
            return data_stream_raise(j->stream, "a name of more than %lld bytes",
                                     (long long)size - 1);
        if (memchr(piece, 0, (size_t)n)) return data_stream_raise(j->stream, "a name with NUL");
        memcpy(text + used, piece, (size_t)n);
    }
    text[used] = '\0';
    return WSC_OK;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Read the characters of a number or of a literal. */
static enum wsc_err read_bare(struct data_json *j, char text[MAX_NUMBER], const char *expected)
{
    int c = 0, n = 0;
    text[0] = '\0';
    TRY(data_json_peek(j, &c));
    while ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' ||
           c == 'E') {
        if (n == MAX_NUMBER - 1) return data_stream_raise(j->stream, "a number is too long");
        text[n++] = (char)c;
        data_stream_take(j->stream, 1);
        TRY(peek_byte(j, &c));
    }
    text[n] = '\0';
    return n ? WSC_OK : unexpected(j, c, expected);
}

static const char *digits(const char *at)
{
    return at + strspn(at, "0123456789");
}

/* RFC 8259, section 6. */
static bool is_number(const char *at)
{
    if (*at == '-') at++;
    const char *end = *at == '0' ? at + 1 : digits(at);
    if (end == at) return false;
    if (*end == '.') {
        at = end + 1;
        end = digits(at);
        if (end == at) return false;
    }
    if (*end == 'e' || *end == 'E') {
        at = end + 1;
        if (*at == '+' || *at == '-') at++;
        end = digits(at);
        if (end == at) return false;
    }
    return !*end;
}

enum wsc_err data_json_index(struct data_json *j, int64_t max, int64_t *value)
{
    char text[MAX_NUMBER] = "";
    TRY(read_bare(j, text, "a whole number"));
    bool ok = is_number(text) && !*digits(text) && wsc_units_int(text, value) == WSC_OK;
    if (ok && *value <= max) return WSC_OK;
    return data_stream_raise(j->stream, "%.40s before here, expected a whole number from 0 to %lld",
                             text, (long long)max);
}

static enum wsc_err skip_string(struct data_json *j)
{
    unsigned char piece[256];
    int64_t n = 0;
    TRY(data_json_expect(j, '"'));
    for (bool ended = false; !ended;)
        TRY(data_json_string(j, piece, sizeof piece, &n, &ended));
    return WSC_OK;
}

static enum wsc_err skip_bare(struct data_json *j)
{
    char text[MAX_NUMBER] = "";
    TRY(read_bare(j, text, "a value"));
    bool literal = !strcmp(text, "true") || !strcmp(text, "false") || !strcmp(text, "null");
    if (literal || is_number(text)) return WSC_OK;
    return data_stream_raise(j->stream, "%.40s before here is no JSON value", text);
}

/* Skip the start of a value: a complete one, or the opening of an array or object. */
static enum wsc_err skip_start(struct data_json *j, char *opened)
{
    int c = 0;
    *opened = '\0';
    TRY(data_json_peek(j, &c));
    if (c == '"') return skip_string(j);
    if (c != '{' && c != '[') return skip_bare(j);
    data_stream_take(j->stream, 1);
    *opened = (char)c;
    return WSC_OK;
}

static enum wsc_err skip_key(struct data_json *j)
{
    TRY(skip_string(j));
    return data_json_expect(j, ':');
}

/* The closing characters of the open arrays and objects, so that skipping needs no recursion. */
struct nesting {
    char close[MAX_DEPTH];
    int depth;
};

/* Enter an array or object that was just opened; it may be empty. */
static enum wsc_err enter(struct data_json *j, struct nesting *in, char opened, bool *whole)
{
    int c = 0;
    char close = opened == '{' ? '}' : ']';
    if (in->depth == MAX_DEPTH)
        return data_stream_raise(j->stream, "values are nested more than %d deep", MAX_DEPTH);
    TRY(data_json_peek(j, &c));
    *whole = c == close;
    if (*whole) {
        data_stream_take(j->stream, 1);
        return WSC_OK;
    }
    in->close[in->depth++] = close;
    return opened == '{' ? skip_key(j) : WSC_OK;
}

/* After a complete value: close the arrays and objects that end here. */
static enum wsc_err leave(struct data_json *j, struct nesting *in)
{
    while (in->depth) {
        bool more = false;
        char close = in->close[in->depth - 1];
        TRY(data_json_more(j, close, &more));
        if (more) return close == '}' ? skip_key(j) : WSC_OK;
        in->depth--;
    }
    return WSC_OK;
}

/* Skip value after value until the first one is complete. */
enum wsc_err data_json_skip(struct data_json *j)
{
    struct nesting in = {.depth = 0};
    do {
        char opened;
        bool whole = true;
        TRY(skip_start(j, &opened));
        if (opened) TRY(enter(j, &in, opened, &whole));
        if (whole) TRY(leave(j, &in));
    } while (in.depth);
    return WSC_OK;
}
