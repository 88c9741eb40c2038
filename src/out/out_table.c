// SPDX-License-Identifier: Apache-2.0
/* Tables of text: cells are collected row by row; out_table_print() aligns the columns by the width
 * of their characters (UTF-8) and draws a rule below the head. */
#include <wsc/out.h>

#include <wsc/check.h>
#include <wsc/mem.h>

#include <errno.h>
#include <stdarg.h>
#include <string.h>

enum { MAX_COLUMNS = 32 };

/* Cells one after the other; widths grow as cells are added, so printing is one pass. */
struct out_table {
    char align[MAX_COLUMNS];
    int n_columns, n_cells;
    bool has_head;
    int width[MAX_COLUMNS];
    struct wsc_text cells; /* each ends with a NUL */
};

/* Characters, not bytes: a continuation byte takes no column. */
static int width_of(const char *s)
{
    int n = 0;
    for (; *s; s++)
        n += ((unsigned char)*s & 0xC0) != 0x80;
    return n;
}

static void add_cell(struct out_table *t, const char *text)
{
    int column = t->n_cells++ % t->n_columns, width = width_of(text);
    if (width > t->width[column]) t->width[column] = width;
    wsc_text_bytes(&t->cells, text, strlen(text) + 1);
}

enum wsc_err out_table_new(struct out_table **out, const char *align, const char *const *head)
{
    struct out_table *t;
    size_t n = strlen(align);
    *out = NULL;
    WSC_CHECK(n > 0 && n <= MAX_COLUMNS, "a table of %zu columns", n);
    TRY_NEW(t, WSC_MEM_REPORT, 1);
    memcpy(t->align, align, n);
    t->n_columns = (int)n;
    t->has_head = head != NULL;
    for (int i = 0; head && i < t->n_columns; i++)
        add_cell(t, head[i]);
    *out = t;
    return WSC_OK;
}

void out_table_cell(struct out_table *t, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    add_cell(t, text);
}

static void print_cell(FILE *out, const struct out_table *t, int column, const char *text)
{
    int pad = t->width[column] - width_of(text);
    bool right = t->align[column] == 'r', last = column == t->n_columns - 1;
    (void)fprintf(out, "%*s%s%*s%s", right ? pad : 0, "", text, right || last ? 0 : pad, "",
                  last ? "\n" : "  ");
}

static void print_rule(FILE *out, const struct out_table *t, int indent)
{
    int length = 2 * (t->n_columns - 1);
    for (int i = 0; i < t->n_columns; i++)
        length += t->width[i];
    (void)fprintf(out, "%*s", indent, "");
    while (length-- > 0)
        (void)fputc('-', out);
    (void)fputc('\n', out);
}

enum wsc_err out_table_print(const struct out_table *t, FILE *out, int indent)
{
    TRY(wsc_text_check(&t->cells));
    WSC_CHECK(t->n_cells % t->n_columns == 0, "%d cells in rows of %d", t->n_cells, t->n_columns);
    const char *cell = t->cells.bytes;
    for (int i = 0; i < t->n_cells; i++) {
        int column = i % t->n_columns;
        if (column == 0) (void)fprintf(out, "%*s", indent, "");
        print_cell(out, t, column, cell);
        if (t->has_head && i == t->n_columns - 1) print_rule(out, t, indent);
        cell += strlen(cell) + 1;
    }
    if (fflush(out) || ferror(out))
        return WSC_RAISE(WSC_IO, "a table cannot be written: %s", strerror(errno));
    return WSC_OK;
}

void out_table_free(struct out_table **t)
{
    if (!*t) return;
    wsc_text_free(&(*t)->cells);
    wsc_free(*t);
    *t = NULL;
}
