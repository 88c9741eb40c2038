// SPDX-License-Identifier: Apache-2.0
/* Text escaped for the format around it: HTML, cells of Markdown, JSON strings, CSV fields,
 * gnuplot strings.
 * What is no UTF-8 becomes U+FFFD, so that no input can break the format around it. */
#include <wsc/out.h>

#include <wsc/mem.h>

#include <string.h>

#define REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */

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

void out_text_html(struct wsc_text *t, const char *s)
{
    while (*s) {
        size_t n;
        const char *c = next_char(&s, &n);
        if (*c == '&')
            wsc_text_add(t, "&amp;");
        else if (*c == '<')
            wsc_text_add(t, "&lt;");
        else if (*c == '>')
            wsc_text_add(t, "&gt;");
        else if (*c == '"')
            wsc_text_add(t, "&quot;");
        else if (*c == '\'')
            wsc_text_add(t, "&#39;");
        else if (is_control(c) && *c != '\n' && *c != '\t')
            wsc_text_add(t, REPLACEMENT);
        else
            wsc_text_bytes(t, c, n);
    }
}

void out_text_markdown_cell(struct wsc_text *t, const char *s)
{
    while (*s) {
        size_t n;
        const char *c = next_char(&s, &n);
        if (*c == '|')
            wsc_text_add(t, "\\|");
        else if (*c == '&')
            wsc_text_add(t, "&amp;");
        else if (*c == '<')
            wsc_text_add(t, "&lt;");
        else if (is_control(c))
            wsc_text_add(t, " ");
        else
            wsc_text_bytes(t, c, n);
    }
}

void out_text_json(struct wsc_text *t, const char *s)
{
    wsc_text_add(t, "\"");
    while (*s) {
        size_t n;
        const char *c = next_char(&s, &n);
        if (*c == '"' || *c == '\\')
            wsc_text_add(t, "\\%c", *c);
        else if (*c == '\n')
            wsc_text_add(t, "\\n");
        else if (*c == '\t')
            wsc_text_add(t, "\\t");
        else if (is_control(c))
            wsc_text_add(t, "\\u%04x", (unsigned)*c);
        else
            wsc_text_bytes(t, c, n);
    }
    wsc_text_add(t, "\"");
}

/* `#` is quoted because out_csv_next() takes lines that begin with it for comments. */
void out_text_csv(struct wsc_text *t, const char *s)
{
    const char *quote = strpbrk(s, ",\"\r\n#") ? "\"" : "";
    wsc_text_add(t, "%s", quote);
    while (*s) {
        size_t n;
        const char *c = next_char(&s, &n);
        if (*c == '"') wsc_text_add(t, "\"");
        wsc_text_bytes(t, c, n);
    }
    wsc_text_add(t, "%s", quote);
}

/* A string in single quotes; @p twice: a character that is doubled as quotes are. */
static void add_gnuplot(struct wsc_text *t, const char *s, char twice)
{
    wsc_text_add(t, "'");
    while (*s) {
        size_t n;
        const char *c = next_char(&s, &n);
        if (*c == '\'' || *c == twice)
            wsc_text_add(t, "%c%c", *c, *c);
        else if (is_control(c))
            wsc_text_add(t, " ");
        else
            wsc_text_bytes(t, c, n);
    }
    wsc_text_add(t, "'");
}

void out_text_gnuplot(struct wsc_text *t, const char *s)
{
    add_gnuplot(t, s, '\'');
}

void out_text_gnuplot_tick(struct wsc_text *t, const char *s)
{
    add_gnuplot(t, s, '%');
}

enum wsc_err out_text_write(struct wsc_text *t, const char *dir, const char *name)
{
    char *path = out_file_path(dir, name);
    enum wsc_err rc = path ? wsc_text_check(t) : WSC_NOMEM;
    if (!rc) rc = out_write_text(path, t->bytes);
    wsc_text_free(t);
    wsc_free(path);
    return rc;
}
