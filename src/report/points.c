// SPDX-License-Identifier: Apache-2.0
#include "report_impl.h"

#include <wsc/mem.h>

#include <errno.h>
#include <string.h>

enum { LINE_SIZE = 8192, MAX_FIELDS = 64 };
enum { MODEL, NUM_CSX, TOKENS, SOURCE, N_NEEDED };
static const char *const needed[N_NEEDED] = {"model", "num_csx", "tokens_per_s", "source"};

/* A CSV file being read, line by line. */
struct reader {
    const char *path;
    FILE *file;
    int line, n_columns; /* n_columns: of the head line, 0 before it */
    int n_fields;
    char *field[MAX_FIELDS]; /* into text */
    char text[LINE_SIZE];
};

/* Where points go; grows. */
struct points {
    struct report_point *point;
    int n, size;
};

#define PLACE(r) (r)->path, (r)->line

/* Unquote the field at @p c in place; *end is the comma or the NUL behind it. */
static WSC_CHECKED enum wsc_err take_quoted(const struct reader *r, char *c, char **end)
{
    char *to = c, *from = c + 1;
    while (*from && (*from != '"' || from[1] == '"')) {
        if (*from == '"') from++;
        *to++ = *from++;
    }
    if (!*from)
        return WSC_RAISE(WSC_FORMAT, "%s:%d: a quoted field does not end on its line", PLACE(r));
    from++;
    *to = '\0';
    if (*from && *from != ',')
        return WSC_RAISE(WSC_FORMAT, "%s:%d: \"%.20s\" after a quoted field, expected ','",
                         PLACE(r), from);
    *end = from;
    return WSC_OK;
}

static WSC_CHECKED enum wsc_err take_bare(const struct reader *r, char *c, char **end)
{
    *end = c + strcspn(c, ",");
    if (memchr(c, '"', (size_t)(*end - c)))
        return WSC_RAISE(WSC_FORMAT, "%s:%d: a quote inside a field that does not start with one",
                         PLACE(r));
    return WSC_OK;
}

static WSC_CHECKED enum wsc_err split(struct reader *r)
{
    char separator = ',', *c = r->text;
    for (r->n_fields = 0; separator; r->n_fields++) {
        char *end = c;
        if (r->n_fields == MAX_FIELDS)
            return WSC_RAISE(WSC_FORMAT, "%s:%d: more than %d fields", PLACE(r), MAX_FIELDS);
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
        c = next;
    }
    return WSC_OK;
}

/* The next line that is neither blank nor a comment, split; *more is false at the end. */
static WSC_CHECKED enum wsc_err next_line(struct reader *r, bool *more)
{
    while ((*more = fgets(r->text, LINE_SIZE, r->file) != NULL)) {
        size_t n = strlen(r->text);
        r->line++;
        bool whole = n && r->text[n - 1] == '\n';
        if (!whole && !feof(r->file))
            return WSC_RAISE(WSC_FORMAT, "%s:%d: longer than %d bytes, or not a text file",
                             PLACE(r), LINE_SIZE - 1);
        while (n && strchr("\r\n", r->text[n - 1]))
            r->text[--n] = '\0';
        size_t blank = strspn(r->text, " ");
        if (blank == n || r->text[blank] == '#') continue;
        return split(r);
    }
    if (ferror(r->file)) return WSC_RAISE(WSC_IO, "%s: cannot be read", r->path);
    return WSC_OK;
}

static WSC_CHECKED enum wsc_err check_head(struct reader *r)
{
    bool good = r->n_fields >= N_NEEDED;
    for (int i = 0; good && i < N_NEEDED; i++)
        good = !strcmp(r->field[i], needed[i]);
    if (!good)
        return WSC_RAISE(
            WSC_FORMAT,
            "%s:%d: expected the head line model,num_csx,tokens_per_s,source, got \"%.60s\"",
            PLACE(r), r->field[0]);
    r->n_columns = r->n_fields;
    return WSC_OK;
}

static WSC_CHECKED enum wsc_err take_number(const struct reader *r, int column, double *value)
{
    const char *text = r->field[column];
    if (report_parse_real(text, strlen(text), value) && *value > 0) return WSC_OK;
    return WSC_RAISE(WSC_FORMAT, "%s:%d: %s: expected a number above 0, got \"%.40s\"", PLACE(r),
                     needed[column], text);
}

static WSC_CHECKED enum wsc_err take_text(const struct reader *r, int column, char *text,
                                          size_t size)
{
    size_t n = strlen(r->field[column]);
    if (!n) return WSC_RAISE(WSC_FORMAT, "%s:%d: %s is empty", PLACE(r), needed[column]);
    if (n >= size)
        return WSC_RAISE(WSC_FORMAT, "%s:%d: %s is longer than %zu bytes", PLACE(r), needed[column],
                         size - 1);
    memcpy(text, r->field[column], n + 1);
    return WSC_OK;
}

static WSC_CHECKED enum wsc_err add_point(const struct reader *r, struct points *list)
{
    if (r->n_fields != r->n_columns)
        return WSC_RAISE(WSC_FORMAT, "%s:%d: %d fields, the head line has %d", PLACE(r),
                         r->n_fields, r->n_columns);
    if (list->n == list->size) {
        int size = 2 * list->size + 16;
        struct report_point *bigger =
            wsc_realloc(WSC_MEM_REPORT, list->point, (size_t)size, sizeof *bigger);
        if (!bigger) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "grow the points");
        list->point = bigger;
        list->size = size;
    }
    struct report_point *p = &list->point[list->n];
    TRY(take_text(r, MODEL, p->model, sizeof p->model));
    TRY(take_number(r, NUM_CSX, &p->num_csx));
    TRY(take_number(r, TOKENS, &p->tokens_per_s));
    TRY(take_text(r, SOURCE, p->source, sizeof p->source));
    list->n++;
    return WSC_OK;
}

static WSC_CHECKED enum wsc_err read_all(struct reader *r, struct points *list)
{
    bool more;
    TRY(next_line(r, &more));
    if (!more)
        return WSC_RAISE(WSC_FORMAT, "%s: empty, expected model,num_csx,tokens_per_s,source",
                         r->path);
    TRY(check_head(r));
    for (;;) {
        TRY(next_line(r, &more));
        if (!more) return WSC_OK;
        TRY(add_point(r, list));
    }
}

enum wsc_err report_points_read(const char *path, struct report_point **points, int *n)
{
    struct points list = {0};
    struct reader *r;
    *points = NULL;
    *n = 0;
    TRY_NEW(r, WSC_MEM_REPORT, 1);
    r->path = path;
    r->file = fopen(path, "r");
    enum wsc_err rc = r->file
                          ? read_all(r, &list)
                          : WSC_RAISE(WSC_IO, "%s: cannot be opened: %s", path, strerror(errno));
    if (r->file) (void)fclose(r->file);
    wsc_free(r);
    if (rc) {
        wsc_free(list.point);
        return rc;
    }
    *points = list.point;
    *n = list.n;
    return WSC_OK;
}
