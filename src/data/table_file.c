// SPDX-License-Identifier: Apache-2.0
/* Reads CSV (RFC 4180) and TSV files by record: one pass over the file finds the beginning of each
 * record, and a field is extracted when it is requested. Fields of the Model Zoo's files for
 * encoders contain lists as Python prints them; the last functions of the file read those.
 * encoder_samples.c calls. */
#include "table_file.h"
#include "utf8.h"

#include <wsc/file.h>
#include <wsc/mem.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct data_table {
    char *path;
    bool tabs;
    char *bytes;
    int64_t size;
    /* first byte of each record, and the end of the last one; the first record has the names of
     * columns */
    int64_t *record;
    int64_t n, room;
    char *field; /* the last field that was extracted */
    int64_t field_room;
};

/* ---- bytes ------------------------------------------------------------------------------------
 */

/* State while records are scanned. */
struct scan {
    const struct data_table *table;
    int64_t at, end;
    bool quoted;
    bool inside; /* a byte of the field was read */
};
enum scanned { FIELD_BYTE, FIELD_END, RECORD_END };

/* Read the next byte of a field into *c, or find what ends there. As in Python's csv module, a
 * quote as the first byte of a field opens and the next one closes, a doubled quote between them is
 * one quote, and any other quote is a byte of the text. */
static enum scanned scan_next(struct scan *s, char *c)
{
    const struct data_table *t = s->table;
    const int separator = t->tabs ? '\t' : ',';
    while (s->at < s->end) {
        const bool first = !s->inside;
        *c = t->bytes[s->at++];
        const int next = s->at < s->end ? t->bytes[s->at] : '\0';
        s->inside = true;
        if (*c == '"' && !t->tabs && (s->quoted || first)) {
            const bool pair = s->quoted && next == '"';
            s->at += pair;
            if (pair) return FIELD_BYTE;
            s->quoted = !s->quoted;
            continue;
        }
        if (s->quoted) return FIELD_BYTE;
        const bool two = *c == '\r' && next == '\n';
        s->inside = *c != separator;
        if (*c == separator) return FIELD_END;
        s->at += two;
        return *c == '\n' || two ? RECORD_END : FIELD_BYTE;
    }
    return RECORD_END;
}

/* The byte after the record that begins at @p at; -1: a quote in it is not closed. */
static int64_t record_end(const struct data_table *t, int64_t at)
{
    struct scan s = {.table = t, .at = at, .end = t->size};
    char c;
    while (scan_next(&s, &c) != RECORD_END) {
    }
    return s.quoted ? -1 : s.at;
}

/* ---- records ----------------------------------------------------------------------------------
 */

/* The line of byte @p end, and the column after the last newline before it. */
static int64_t line_of(const struct data_table *t, int64_t end, int64_t *column)
{
    int64_t line = 1;
    *column = 1;
    for (int64_t at = 0; at < end; at++) {
        const bool newline = t->bytes[at] == '\n';
        line += newline;
        *column = newline ? 1 : *column + 1;
    }
    return line;
}

/* An error at byte @p at. */
static enum wsc_err bad_byte(const struct data_table *t, int64_t at, const char *what)
{
    int64_t column;
    const int64_t line = line_of(t, at, &column);
    return WSC_RAISE(WSC_FORMAT, "%s:%lld:%lld: %s", t->path, (long long)line, (long long)column,
                     what);
}

/* Tokens are looked up by their bytes, so text in another encoding would give other tokens: error.
 */
static enum wsc_err check_utf8(const struct data_table *t)
{
    const unsigned char *text = (const unsigned char *)t->bytes;
    char what[64];
    for (int64_t at = 0, n; at < t->size; at += n) {
        n = text[at] < 0x80 ? 1 : data_utf8_length(text + at, t->size - at);
        if (n > 0) continue;
        (void)snprintf(what, sizeof what, "byte 0x%02X is not UTF-8", text[at]);
        return wsc_err_hint(bad_byte(t, at, what), "convert the file with iconv");
    }
    return WSC_OK;
}

static enum wsc_err add_record(struct data_table *t, int64_t at)
{
    TRY_GROW(t->record, WSC_MEM_DATA, t->room, t->n + 1);
    t->record[t->n++] = at;
    return WSC_OK;
}

/* Find the records; empty lines are skipped. */
static enum wsc_err find_records(struct data_table *t)
{
    int64_t at = 0;
    if (t->size >= 3 && !memcmp(t->bytes, "\xEF\xBB\xBF", 3)) at = 3;
    for (int64_t end; at < t->size; at = end) {
        end = record_end(t, at);
        if (end < 0) return bad_byte(t, at, "the record has a quote that does not end");
        const bool empty = t->bytes[at] == '\n' || (t->bytes[at] == '\r' && end - at <= 2);
        if (!empty) TRY(add_record(t, at));
    }
    if (!t->n) return WSC_RAISE(WSC_FORMAT, "%s: has no line that names the columns", t->path);
    TRY(add_record(t, t->size));
    t->n -= 2; /* without the header and the end */
    return WSC_OK;
}

void data_table_close(struct data_table **table)
{
    struct data_table *t = *table;
    *table = NULL;
    if (!t) return;
    wsc_free(t->bytes);
    wsc_free(t->path);
    wsc_free(t->record);
    wsc_free(t->field);
    wsc_free(t);
}

int64_t data_table_n(const struct data_table *t)
{
    return t->n;
}

enum wsc_err data_table_bad(const struct data_table *t, int64_t i, const char *what)
{
    int64_t column;
    const int64_t line = line_of(t, t->record[i + 1], &column);
    return WSC_RAISE(WSC_FORMAT, "%s:%lld: %s", t->path, (long long)line, what);
}

/* ---- fields -----------------------------------------------------------------------------------
 */

static int count_fields(const struct data_table *t, int64_t r)
{
    struct scan s = {.table = t, .at = t->record[r], .end = t->record[r + 1]};
    enum scanned what;
    int n = 1;
    char c;
    while ((what = scan_next(&s, &c)) != RECORD_END)
        n += what == FIELD_END;
    return n;
}

/* Check the number of fields: an additional comma would shift all columns after it, the label among
 * them. */
static enum wsc_err check_fields(const struct data_table *t)
{
    const int columns = count_fields(t, 0);
    for (int64_t i = 0; i < t->n; i++)
        if (count_fields(t, i + 1) > columns)
            return data_table_bad(t, i, "the record has more columns than the first line");
    return WSC_OK;
}

static enum wsc_err read_file(struct data_table *t)
{
    const int64_t most = INT64_C(1) << 40;
    size_t n = 0;
    TRY(wsc_file_read(WSC_MEM_DATA, t->path, most, &t->bytes, &n));
    t->size = (int64_t)n;
    TRY(check_utf8(t));
    TRY(find_records(t));
    return check_fields(t);
}

enum wsc_err data_table_open(struct data_table **out, const char *path, bool tabs)
{
    struct data_table *t = NULL;
    *out = NULL;
    TRY_NEW(t, WSC_MEM_DATA, 1);
    t->tabs = tabs;
    t->path = wsc_strdup(WSC_MEM_DATA, path);
    const enum wsc_err rc = t->path ? read_file(t) : WSC_NOMEM;
    if (rc) data_table_close(&t);
    *out = t;
    return rc;
}

/* Copy the field of record number @p r (0: the names) at @p column; -1 when there is none. */
static int64_t copy_field(struct data_table *t, int64_t r, int column)
{
    struct scan s = {.table = t, .at = t->record[r], .end = t->record[r + 1]};
    enum scanned what;
    int64_t n = 0;
    int at_column = 0;
    char c = 0;
    while ((what = scan_next(&s, &c)) != RECORD_END) {
        if (at_column == column && what == FIELD_END) return n;
        if (at_column == column) t->field[n++] = c;
        at_column += what == FIELD_END;
    }
    return at_column == column ? n : -1;
}

/* Reserve memory for the longest field of a record. */
static enum wsc_err reserve(struct data_table *t, int64_t r)
{
    const int64_t n = t->record[r + 1] - t->record[r] + 1;
    if (n <= t->field_room) return WSC_OK;
    wsc_free(t->field);
    t->field_room = 0;
    TRY_MEM(t->field, wsc_alloc_raw(WSC_MEM_DATA, (size_t)n, 1));
    t->field_room = n;
    return WSC_OK;
}

enum wsc_err data_table_column(struct data_table *t, const char *name, int *column)
{
    int64_t n = 0;
    *column = -1;
    TRY(reserve(t, 0));
    for (int k = 0; (n = copy_field(t, 0, k)) >= 0; k++) {
        if (n != (int64_t)strlen(name) || memcmp(t->field, name, (size_t)n) != 0) continue;
        if (*column >= 0)
            return WSC_RAISE(WSC_FORMAT, "%s:1: column \"%s\" stands there twice", t->path, name);
        *column = k;
    }
    return WSC_OK;
}

enum wsc_err data_table_field(struct data_table *t, int64_t i, int column, const char **text,
                              int64_t *n)
{
    TRY(reserve(t, i + 1));
    *n = copy_field(t, i + 1, column);
    *text = t->field;
    if (*n >= 0) return WSC_OK;
    return data_table_bad(t, i, "the record has fewer columns than the first line");
}

/* ---- lists ------------------------------------------------------------------------------------
 */

static bool is_gap(char c)
{
    return c == ' ' || c == ',' || c == '[' || c == ']' || c == '\n' || c == '\r' || c == '\t';
}

int64_t data_list_numbers(const char *text, int64_t n, int32_t *out, int64_t room)
{
    int64_t count = 0;
    for (int64_t at = 0; at < n;) {
        if (is_gap(text[at])) {
            at++;
            continue;
        }
        const bool negative = text[at] == '-';
        int64_t value = 0, digits = 0;
        for (at += negative; at < n && text[at] >= '0' && text[at] <= '9' && digits < 10; digits++)
            value = 10 * value + (text[at++] - '0');
        if (at + 1 < n && text[at] == '.' && text[at + 1] == '0') at += 2; /* 1.0 */
        if (!digits || value > INT32_MAX || (at < n && !is_gap(text[at])) || count == room)
            return -1;
        out[count++] = (int32_t)(negative ? -value : value);
    }
    return count;
}

/* The character of the escape at @p text, after the backslash; *used: its bytes. Invalid digits and
 * numbers that are not a character give U+FFFD. */
static int32_t escaped(const char *text, int64_t n, int64_t *used)
{
    enum { REPLACEMENT = 0xFFFD };
    static const char from[] = "ntr0", to[] = "\n\t\r";
    const char *simple = n ? memchr(from, text[0], sizeof from - 1) : NULL;
    const int digits = n ? text[0] == 'x' ? 2 : text[0] == 'u' ? 4 : text[0] == 'U' ? 8 : 0 : 0;
    *used = 1 + digits;
    if (simple) return to[simple - from];
    if (!digits) return n ? (unsigned char)text[0] : 0;
    char hex[9] = "";
    if (n <= digits) return REPLACEMENT;
    memcpy(hex, text + 1, (size_t)digits);
    if ((int)strspn(hex, "0123456789abcdefABCDEF") < digits) return REPLACEMENT;
    const long point = strtol(hex, NULL, 16);
    const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
    return surrogate || point > 0x10FFFF ? REPLACEMENT : (int32_t)point;
}

/* Read a quoted text from *@p at on, which is after the quote. */
static int64_t quoted_text(const char *text, int64_t n, int64_t *at, char quote, char *out,
                           int64_t room)
{
    int64_t length = 0;
    while (*at < n && text[*at] != quote) {
        int64_t used = 1;
        if (length + 4 > room) return -2;
        if (text[*at] == '\\') {
            const int32_t point = escaped(text + *at + 1, n - *at - 1, &used);
            length += data_utf8_put(point, (unsigned char *)out + length);
            *at += 1 + used;
            continue;
        }
        out[length++] = text[(*at)++];
    }
    if (*at >= n) return -2;
    ++*at;
    return length;
}

int64_t data_list_text(const char *text, int64_t n, int64_t *at, char *out, int64_t room)
{
    const bool python = n > 1 && text[0] == '[' && strchr("'\"]", text[1]);
    if (!*at && python) *at = 1;
    while (*at < n && (text[*at] == ' ' || (python && (text[*at] == ',' || text[*at] == '\n'))))
        ++*at;
    if (*at >= n) return python ? -2 : -1;
    if (python && text[*at] == ']') return -1;
    if (python) {
        const char quote = text[(*at)++];
        return quote == '\'' || quote == '"' ? quoted_text(text, n, at, quote, out, room) : -2;
    }
    int64_t length = 0;
    while (*at < n && text[*at] != ' ' && length < room)
        out[length++] = text[(*at)++];
    return length;
}
