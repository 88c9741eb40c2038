// SPDX-License-Identifier: Apache-2.0
/* Reads CSV files line by line (RFC 4180 quoting; blank lines and lines that begin with `#` are
 * skipped) and keeps line and column of every field, for error messages.  Used for published
 * figures and points (src/validation). */
#include <wsc/out.h>

#include <wsc/mem.h>

#include <errno.h>
#include <string.h>

/* File and line as the arguments of "%s:%d"; with the column of the byte @c as those of "%s:%d:%d".
 */
#define PLACE(r)       (r)->path, (r)->line
#define PLACE_OF(r, c) PLACE(r), (int)((c) - (r)->text) + 1

/* Unquote the field at @p c in place; *end is the comma or the NUL after it. */
static WSC_CHECKED enum wsc_err take_quoted(const struct out_csv *r, char *c, char **end)
{
    char *to = c, *from = c + 1;
    while (*from && (*from != '"' || from[1] == '"')) {
        if (*from == '"') from++;
        *to++ = *from++;
    }
    if (!*from)
        return WSC_RAISE(WSC_CONFIG, "%s:%d:%d: a quoted field does not end on its line",
                         PLACE_OF(r, c));
    from++;
    *to = '\0';
    if (*from && *from != ',')
        return WSC_RAISE(WSC_CONFIG, "%s:%d:%d: \"%.20s\" after a quoted field, expected ','",
                         PLACE_OF(r, from), from);
    *end = from;
    return WSC_OK;
}

/* The end of a field without quotes; a quote inside is refused, since readers differ about it. */
static WSC_CHECKED enum wsc_err take_bare(const struct out_csv *r, char *c, char **end)
{
    *end = c + strcspn(c, ",");
    const char *quote = memchr(c, '"', (size_t)(*end - c));
    if (quote)
        return WSC_RAISE(WSC_CONFIG,
                         "%s:%d:%d: a quote inside a field that does not start with one",
                         PLACE_OF(r, quote));
    return WSC_OK;
}

/* Cut r->text into fields in place.  The separator after a field is read before the NUL that ends
 * the field may overwrite it. */
static WSC_CHECKED enum wsc_err split(struct out_csv *r)
{
    char separator = ',', *c = r->text;
    for (r->n_fields = 0; separator; r->n_fields++) {
        char *end = c;
        if (r->n_fields == OUT_CSV_FIELDS)
            return WSC_RAISE(WSC_CONFIG, "%s:%d: more than %d fields", PLACE(r), OUT_CSV_FIELDS);
        c += strspn(c, " ");
        bool quoted = *c == '"';
        if (quoted)
            TRY(take_quoted(r, c, &end));
        else
            TRY(take_bare(r, c, &end));
        separator = *end;
        char *next = end + 1;
        while (!quoted && end > c && end[-1] == ' ')
            end--;
        if (!quoted) *end = '\0';
        r->field[r->n_fields] = c;
        r->column[r->n_fields] = (int)(c - r->text) + 1;
        c = next;
    }
    return WSC_OK;
}

/* Bytes of the mark that some spreadsheets write before the first line of a file in UTF-8. */
static size_t byte_order_mark(const struct out_csv *r)
{
    static const char mark[] = "\xef\xbb\xbf";
    return r->line == 1 && !strncmp(r->text, mark, sizeof mark - 1) ? sizeof mark - 1 : 0;
}

/* A line that fills the buffer without a newline is too long, unless the file ends with it. */
enum wsc_err out_csv_next(struct out_csv *r, bool *more)
{
    while ((*more = fgets(r->text, OUT_CSV_LINE, r->file) != NULL)) {
        size_t n = strlen(r->text);
        r->line++;
        bool whole = n && r->text[n - 1] == '\n';
        if (!whole && !feof(r->file))
            return WSC_RAISE(WSC_CONFIG, "%s:%d: longer than %d bytes, or not a text file",
                             PLACE(r), OUT_CSV_LINE - 1);
        while (n && strchr("\r\n", r->text[n - 1]))
            r->text[--n] = '\0';
        const size_t mark = byte_order_mark(r);
        memmove(r->text, r->text + mark, n - mark + 1);
        n -= mark;
        size_t blank = strspn(r->text, " ");
        if (blank == n || r->text[blank] == '#') continue;
        return split(r);
    }
    if (ferror(r->file)) return WSC_RAISE(WSC_IO, "%s: cannot be read", r->path);
    return WSC_OK;
}

enum wsc_err out_csv_open(struct out_csv **out, const char *path)
{
    struct out_csv *r;
    *out = NULL;
    TRY_NEW(r, WSC_MEM_REPORT, 1);
    r->path = path;
    r->file = fopen(path, "r");
    if (!r->file) {
        int why = errno;
        wsc_free(r);
        return WSC_RAISE(WSC_CONFIG, "%s: cannot be opened: %s", path, strerror(why));
    }
    *out = r;
    return WSC_OK;
}

void out_csv_close(struct out_csv **r)
{
    if (!*r) return;
    (void)fclose((*r)->file);
    wsc_free(*r);
    *r = NULL;
}
