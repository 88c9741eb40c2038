// SPDX-License-Identifier: Apache-2.0
/* A text that grows, and its escapes: HTML, JSON strings, CSV fields, gnuplot strings.  What is no
 * UTF-8 becomes U+FFFD, so that no input can break the format around it. */
#include <wsc/out.h>

#include <wsc/mem.h>

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#define REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */

/* Room for n more bytes and the final NUL. */
static bool reserve(struct out_text *t, size_t n)
{
    if (t->failed) return false;
    size_t need;
    if (__builtin_add_overflow(t->n + 1, n, &need)) need = SIZE_MAX;
    if (need <= t->size) return true;
    size_t size = need < SIZE_MAX / 2 ? need + need / 2 + 128 : need;
    char *bigger = wsc_realloc(WSC_MEM_REPORT, t->bytes, size, 1);
    t->failed = !bigger;
    if (!bigger) return false;
    t->bytes = bigger;
    t->size = size;
    return true;
}

void out_text_add(struct out_text *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int length = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (length < 0 || !reserve(t, (size_t)length)) return;
    va_start(ap, fmt);
    (void)vsnprintf(t->bytes + t->n, (size_t)length + 1, fmt, ap);
    va_end(ap);
    t->n += (size_t)length;
}

void out_text_bytes(struct out_text *t, const char *bytes, size_t n)
{
    if (!reserve(t, n)) return;
    if (n) memcpy(t->bytes + t->n, bytes, n);
    t->n += n;
    t->bytes[t->n] = '\0';
}

/* True when bytes 1 .. n-1 of @p s are continuation bytes. */
static bool continues(const char *s, int n)
{
    for (int i = 1; i < n; i++)
        if (((unsigned char)s[i] & 0xC0) != 0x80) return false;
    return true;
}

/* Well-formed byte sequences: The Unicode Standard 15.0, table 3-7. */
int out_utf8_length(const char *s)
{
    unsigned char a = (unsigned char)s[0], b = a ? (unsigned char)s[1] : 0;
    if (!a) return 0;
    if (a < 0x80) return 1;
    if (a >= 0xC2 && a <= 0xDF) return continues(s, 2) ? 2 : 0;
    if (a >= 0xE0 && a <= 0xEF) {
        bool overlong = a == 0xE0 && b < 0xA0, surrogate = a == 0xED && b > 0x9F;
        return !overlong && !surrogate && continues(s, 3) ? 3 : 0;
    }
    if (a >= 0xF0 && a <= 0xF4) {
        bool overlong = a == 0xF0 && b < 0x90, too_large = a == 0xF4 && b > 0x8F;
        return !overlong && !too_large && continues(s, 4) ? 4 : 0;
    }
    return 0;
}

/* Take one character from *s; what is not UTF-8 is one byte long and becomes U+FFFD. */
static const char *next_char(const char **s, size_t *n)
{
    const char *c = *s;
    int length = out_utf8_length(c);
    *n = length ? (size_t)length : sizeof REPLACEMENT - 1;
    *s += length ? length : 1;
    return length ? c : REPLACEMENT;
}

/* ASCII control characters; those of C1 are two bytes in UTF-8 and harmless. */
static bool is_control(const char *c)
{
    return (unsigned char)*c < 0x20 || *c == 0x7F;
}

void out_text_html(struct out_text *t, const char *s)
{
    while (*s) {
        size_t n;
        const char *c = next_char(&s, &n);
        if (*c == '&')
            out_text_add(t, "&amp;");
        else if (*c == '<')
            out_text_add(t, "&lt;");
        else if (*c == '>')
            out_text_add(t, "&gt;");
        else if (*c == '"')
            out_text_add(t, "&quot;");
        else if (*c == '\'')
            out_text_add(t, "&#39;");
        else if (is_control(c) && *c != '\n' && *c != '\t')
            out_text_add(t, REPLACEMENT);
        else
            out_text_bytes(t, c, n);
    }
}

void out_text_json(struct out_text *t, const char *s)
{
    out_text_add(t, "\"");
    while (*s) {
        size_t n;
        const char *c = next_char(&s, &n);
        if (*c == '"' || *c == '\\')
            out_text_add(t, "\\%c", *c);
        else if (*c == '\n')
            out_text_add(t, "\\n");
        else if (*c == '\t')
            out_text_add(t, "\\t");
        else if (is_control(c))
            out_text_add(t, "\\u%04x", (unsigned)*c);
        else
            out_text_bytes(t, c, n);
    }
    out_text_add(t, "\"");
}

/* `#` is quoted because out_csv_next() takes lines that begin with it for comments. */
void out_text_csv(struct out_text *t, const char *s)
{
    if (!strpbrk(s, ",\"\r\n#")) {
        out_text_add(t, "%s", s);
        return;
    }
    out_text_add(t, "\"");
    for (; *s; s++)
        out_text_add(t, *s == '"' ? "\"\"" : "%c", *s);
    out_text_add(t, "\"");
}

void out_text_gnuplot(struct out_text *t, const char *s)
{
    out_text_add(t, "'");
    while (*s) {
        size_t n;
        const char *c = next_char(&s, &n);
        if (*c == '\'')
            out_text_add(t, "''");
        else if (is_control(c))
            out_text_add(t, " ");
        else
            out_text_bytes(t, c, n);
    }
    out_text_add(t, "'");
}

enum wsc_err out_text_file(struct out_text *t, const char *path, size_t limit)
{
    FILE *file = fopen(path, "rb");
    if (!file) return WSC_RAISE(WSC_IO, "%s: cannot be opened: %s", path, strerror(errno));
    char part[8192];
    size_t n, total = 0;
    while ((n = fread(part, 1, sizeof part, file)) > 0 && total + n <= limit) {
        out_text_bytes(t, part, n);
        total += n;
    }
    bool failed = ferror(file) != 0;
    (void)fclose(file);
    if (failed) return WSC_RAISE(WSC_IO, "%s: cannot be read", path);
    if (n) return WSC_RAISE(WSC_FORMAT, "%s: larger than %zu bytes", path, limit);
    return out_text_check(t);
}

enum wsc_err out_text_check(const struct out_text *t)
{
    if (t->failed) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "grow a text");
    return WSC_OK;
}

enum wsc_err out_text_write(struct out_text *t, const char *dir, const char *name)
{
    char *path = out_file_path(dir, name);
    enum wsc_err rc = path ? out_text_check(t) : WSC_NOMEM;
    if (!rc) rc = out_write_text(path, t->bytes);
    out_text_free(t);
    wsc_free(path);
    return rc;
}

void out_text_free(struct out_text *t)
{
    wsc_free(t->bytes);
    *t = (struct out_text){0};
}
