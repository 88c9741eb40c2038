// SPDX-License-Identifier: Apache-2.0
/* Manual pages in the man(7) macros of roff, read by man, mandoc and groff: a heading, paragraphs
 * broken at blanks, tagged paragraphs, examples, and the Markdown of our generated pages.  Callers
 * write the sentences; escapes, control characters and line lengths are treated here. */
#include "out_revision.h"

#include <wsc/out.h>

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { LINE = 76, MAX_CELLS = 12, CELL_BYTES = 1024 };

/* One character that roff shows as it is; a hyphen is one that can be copied into a shell. */
static void add_char(struct wsc_text *t, char c)
{
    static const char *const name[] = {['\\'] = "\\e",   ['-'] = "\\-",   ['`'] = "\\(ga",
                                       ['\''] = "\\(aq", ['^'] = "\\(ha", ['~'] = "\\(ti"};
    const unsigned char u = (unsigned char)c;
    if (u < sizeof name / sizeof *name && name[u])
        wsc_text_add(t, "%s", name[u]);
    else
        wsc_text_bytes(t, &c, 1);
}

/* A word; `code` and **strong** stand bold when @p marks. */
static void add_word(struct wsc_text *t, const char *word, size_t n, bool marks, bool *bold)
{
    for (size_t i = 0; i < n; i++) {
        const char *link = memmem(word + i, n - i, "](", 2);
        if (marks && link && word[i] == '[') continue; /* [text](address) */
        if (marks && link == word + i) {
            while (i + 1 < n && word[i] != ')')
                i++;
            continue;
        }
        const bool strong = i + 1 < n && word[i] == '*' && word[i + 1] == '*';
        if (!marks || (word[i] != '`' && !strong)) {
            add_char(t, word[i]);
            continue;
        }
        *bold = !*bold;
        wsc_text_add(t, *bold ? "\\fB" : "\\fR");
        i += strong;
    }
}

/* Bytes that a word needs with its escapes, at most. */
static size_t escaped_bytes(const char *word, size_t n)
{
    size_t bytes = n;
    for (size_t i = 0; i < n; i++)
        if (strchr("\\-`'^~*", word[i])) bytes += 3;
    return bytes;
}

/* Words after what stands in the line that begins at byte @p start, as many in a line as fit; no
 * line begins with a control character.  @p stop ends a line: "\n", or where roff has to see one
 * line, " \\\n". */
static void add_words(struct wsc_text *t, size_t start, const char *text, const char *stop)
{
    const size_t begin = t->n;
    bool bold = false;
    for (const char *at = text + strspn(text, " \n"); *at; at += strspn(at, " \n")) {
        const size_t n = strcspn(at, " \n");
        const bool fits = t->n - start + escaped_bytes(at, n) < LINE;
        if (t->n > begin) wsc_text_add(t, "%s", fits ? " " : stop);
        if (!fits && t->n > begin) start = t->n;
        if (t->n == start && strchr(".'", *at)) wsc_text_add(t, "\\&");
        add_word(t, at, n, true, &bold);
        at += n;
    }
    if (bold) wsc_text_add(t, "\\fR");
    if (t->n > begin) wsc_text_add(t, "\n");
}

/* A paragraph begins, unless a heading has begun it. */
static void begin_paragraph(struct wsc_text *t)
{
    const char *end = t->n ? memrchr(t->bytes, '\n', t->n - 1) : NULL;
    const char *last = end ? end + 1 : t->n ? t->bytes : "";
    if (strncmp(last, ".S", 2) != 0) wsc_text_add(t, ".PP\n");
}

void out_manual_begin(struct wsc_text *t, const char *name, int section, const char *summary)
{
    char title[64];
    size_t n = 0;
    for (; name[n] && n + 1 < sizeof title; n++)
        title[n] = (char)toupper((unsigned char)name[n]);
    title[n] = '\0';
    wsc_text_add(t, ".TH %s %d %s \"%.*s\" \"wsc manual\"\n.SH NAME\n", title, section,
                 out_revision_date(), (int)strcspn(out_version(), "("), out_version());
    const size_t start = t->n;
    add_word(t, name, strlen(name), false, NULL);
    wsc_text_add(t, " \\- ");
    add_words(t, start, summary, "\n");
}

void out_manual_heading(struct wsc_text *t, int level, const char *title)
{
    wsc_text_add(t, level == 1 ? ".SH " : ".SS ");
    for (const char *c = title; *c; c++)
        if (level == 1)
            wsc_text_add(t, "%c", toupper((unsigned char)*c));
        else if (*c != '`')
            add_char(t, *c);
    wsc_text_add(t, "\n");
}

void out_manual_paragraph(struct wsc_text *t, const char *text)
{
    begin_paragraph(t);
    add_words(t, t->n, text, "\n");
}

void out_manual_item(struct wsc_text *t, const char *name, const char *value, const char *text)
{
    bool bold = false;
    wsc_text_add(t, ".TP\n\\fB");
    add_word(t, name, strlen(name), false, &bold);
    wsc_text_add(t, "\\fR");
    if (value && *value) wsc_text_add(t, " \\fI");
    if (value && *value) add_word(t, value, strlen(value), false, &bold);
    wsc_text_add(t, value && *value ? "\\fR\n" : "\n");
    add_words(t, t->n, *text ? text : "-", "\n");
}

void out_manual_lines(struct wsc_text *t, const char *text)
{
    begin_paragraph(t);
    wsc_text_add(t, ".EX\n");
    for (const char *at = text; *at;) {
        const size_t n = strcspn(at, "\n");
        if (strchr(".'", *at) && n) wsc_text_add(t, "\\&");
        add_word(t, at, n, false, NULL);
        wsc_text_add(t, "\n");
        at += n + (at[n] == '\n');
    }
    wsc_text_add(t, ".EE\n");
}

/* ---- Markdown -------------------------------------------------------------------------------- */

/* A row of a table, and the titles of its columns. */
struct table {
    char title[MAX_CELLS][CELL_BYTES], cell[MAX_CELLS][CELL_BYTES];
    int n_titles;
};

/* Cut "| a | b |" into cells without blanks around them; returns their number. */
static int cut_row(const char *line, size_t n, char cell[MAX_CELLS][CELL_BYTES])
{
    const char *end = line + n;
    int count = 0;
    for (const char *at = line + 1; at < end && count < MAX_CELLS; count++) {
        const char *bar = memchr(at, '|', (size_t)(end - at));
        if (!bar) break;
        const char *last = bar;
        while (at < last && *at == ' ')
            at++;
        while (last > at && last[-1] == ' ')
            last--;
        (void)snprintf(cell[count], CELL_BYTES, "%.*s", (int)(last - at), at);
        at = bar + 1;
    }
    return count;
}

/* The name in the first cell that has one, then the meaning, in the last, and the other columns
 * with their titles. */
static void add_row(struct wsc_text *t, const struct table *table, int n)
{
    struct wsc_text about = {0};
    int first = 0;
    while (first + 1 < n && !*table->cell[first])
        first++;
    wsc_text_add(&about, "%s.", table->cell[n - 1]);
    for (int i = first + 1; i + 1 < n; i++)
        if (*table->cell[i] && strcmp(table->cell[i], "used") != 0)
            wsc_text_add(&about, " %c%s: %s.", toupper((unsigned char)table->title[i][0]),
                         table->title[i] + 1, table->cell[i]);
    wsc_text_add(t, ".TP\n");
    add_words(t, t->n, table->cell[first], " \\\n");
    add_words(t, t->n, about.failed ? "" : about.bytes, "\n");
    if (about.failed) t->failed = true;
    wsc_text_free(&about);
}

static void add_table_line(struct wsc_text *t, struct table *table, const char *line, size_t n)
{
    if (n > 3 && !strncmp(line, "|--", 3)) return;
    if (table->n_titles)
        add_row(t, table, cut_row(line, n, table->cell));
    else
        table->n_titles = cut_row(line, n, table->title);
}

void out_manual_markdown(struct wsc_text *t, const char *page)
{
    struct table table = {0};
    for (const char *at = page; *at;) {
        const size_t n = strcspn(at, "\n");
        const size_t level = strspn(at, "#");
        char line[4 * CELL_BYTES];
        (void)snprintf(line, sizeof line, "%.*s", (int)(n - level), at + level);
        if (*at != '|') table.n_titles = 0;
        if (*at == '|')
            add_table_line(t, &table, at, n);
        else if (level)
            out_manual_heading(t, level < 3 ? 1 : 2, line + strspn(line, " "));
        else if (n)
            out_manual_paragraph(t, line);
        at += n + (at[n] == '\n');
    }
}
