// SPDX-License-Identifier: Apache-2.0
/* Writes reproduction.pdf with gnuplot. Each exhibit has a page with the picture above and its
 * tables below, in a monospaced font. Long tables continue on further pages, each with the title
 * and the heads of the columns. */
#include "exhibit_output.h"

#include <string.h>

/* A4 upright, in lines of 9 points; gnuplot's screen coordinates are fractions of the page. */
enum { LINES = 92, PICTURE_LINES = 36, MOST_BYTES = 240 };
static const double TOP = 0.97;

struct page {
    struct wsc_text *t;
    int label, line;   /* next label; lines that are used on this page */
    bool open;         /* something is on it */
    const char *title; /* of the exhibit */
};

/* Height of a line of the page, from its bottom as a fraction. */
static double height_of(int line)
{
    return TOP - (double)line / LINES;
}

static void new_page(struct page *p)
{
    wsc_text_add(p->t, "%sunset label\nset multiplot\n", p->open ? "unset multiplot\n" : "");
    p->open = true;
    p->line = 1;
    p->label = 1;
}

/* Characters of a UTF-8 text, for the padding. */
static int width_of(const char *s)
{
    int n = 0;
    while (*s) {
        const int bytes = out_utf8_length(s);
        s += bytes ? bytes : 1;
        n++;
    }
    return n;
}

static void put_line(struct page *p, const char *text, const char *font)
{
    const double left = 0.06;
    wsc_text_add(p->t, "set label %d ", p->label++);
    out_text_gnuplot(p->t, text);
    wsc_text_add(p->t, " at screen %.4f, screen %.5f left front font '%s'\n", left,
                 height_of(p->line), font);
    p->line++;
}

/* Labels are drawn by a plot: one without axes. */
static void show_labels(struct page *p)
{
    wsc_text_add(p->t, "set origin 0,0\nset size 1,1\nset lmargin 0\nset rmargin 0\nset bmargin 0\n"
                       "unset border\nunset tics\nunset xlabel\nunset ylabel\nunset grid\nunset "
                       "key\nset xrange [0:1]\nset yrange [0:1]\nplot NaN notitle\n"
                       "set tics\nset key\nset lmargin\nset rmargin\nset bmargin\n");
}

/* Characters of each column: its widest text. */
static void widths_of(const struct report_cells *c, int *width)
{
    for (int i = 0; i < c->n_columns; i++) {
        width[i] = width_of(c->head[i]);
        for (int k = 0; k < c->n_rows; k++)
            if (width_of(c->text[k][i]) > width[i]) width[i] = width_of(c->text[k][i]);
    }
}

/* Row @p k, -1 for the head, padded to the columns; cut at the edge of the page. */
static void row_line(const struct report_cells *c, int k, const int *width,
                     char line[REPORT_CELL_COLUMNS * REPORT_CELL_SIZE])
{
    const size_t size = (size_t)REPORT_CELL_COLUMNS * REPORT_CELL_SIZE;
    size_t used = 0;
    line[0] = '\0';
    for (int i = 0; i < c->n_columns && used < MOST_BYTES; i++) {
        const char *text = k < 0 ? c->head[i] : c->text[k][i];
        const int pad = width[i] - width_of(text);
        const bool right = c->align[i] == 'r';
        used += (size_t)snprintf(line + used, size - used, "%*s%s%*s  ", right ? pad : 0, "", text,
                                 right ? 0 : pad, "");
    }
    if (used > MOST_BYTES) line[MOST_BYTES] = '\0';
}

/* A page for more rows of the exhibit. */
static void continue_page(struct page *p)
{
    char title[256];
    (void)snprintf(title, sizeof title, "%.230s (continued)", p->title);
    show_labels(p);
    new_page(p);
    put_line(p, title, "DejaVu Sans Bold,10");
    p->line++;
}

static void add_rows(struct page *p, const struct report_cells *c)
{
    static const char font[] = "DejaVu Sans Mono,6.5";
    char head[REPORT_CELL_COLUMNS * REPORT_CELL_SIZE];
    int width[REPORT_CELL_COLUMNS] = {0};
    widths_of(c, width);
    row_line(c, -1, width, head);
    for (int k = 0; k < c->n_rows; k++) {
        char line[REPORT_CELL_COLUMNS * REPORT_CELL_SIZE];
        const bool full = p->line > LINES - 4 - !k;
        if (full) continue_page(p);
        if (!k || full) put_line(p, head, font);
        row_line(c, k, width, line);
        put_line(p, line, font);
    }
    p->line++;
}

typedef enum wsc_err (*cells_fn)(struct report_cells *c, const struct validation_reproduced *r);

static WSC_CHECKED enum wsc_err add_table(struct page *p, const struct validation_reproduced *r,
                                          cells_fn make)
{
    struct report_cells c = {0};
    enum wsc_err rc = make(&c, r);
    if (!rc && c.n_rows) add_rows(p, &c);
    report_cells_fini(&c);
    return rc;
}

/* Bytes of the next line of a note, broken at a blank. */
static size_t line_of(const char *note)
{
    enum { CHARS = 110 };
    size_t n = strlen(note);
    if (n <= CHARS) return n;
    for (n = CHARS; n > 1 && note[n] != ' ';)
        n--;
    return n;
}

static int lines_of(const char *note)
{
    int lines = 0;
    for (; *note; lines++) {
        const size_t n = line_of(note);
        note += n + (note[n] == ' ');
    }
    return lines;
}

static void add_note(struct page *p, const char *note)
{
    while (*note) {
        char line[128];
        const size_t n = line_of(note);
        (void)snprintf(line, sizeof line, "%.*s", (int)n, note);
        put_line(p, line, "DejaVu Sans,7");
        note += n + (note[n] == ' ');
    }
}

/* Every plot of a page draws all labels, so that the picture comes before the first of them. */
static WSC_CHECKED enum wsc_err add_exhibit(struct page *p, const struct validation_reproduced *r)
{
    struct wsc_text plot = {0};
    const char *note = r->note;
    wsc_text_add(p->t, "reset\nset encoding utf8\nset termoption noenhanced\n");
    const bool drawn = report_exhibit_drawn(r);
    if (drawn) report_exhibit_plot(r, p->t, &plot);
    new_page(p);
    const int below = p->line + 2 + lines_of(note) + (drawn ? PICTURE_LINES : 0);
    wsc_text_add(p->t, "X0 = 0.03; Y0 = %.4f; W = 0.94; H = %.4f\n%s", height_of(below - 1),
                 (double)(PICTURE_LINES - 1) / LINES, plot.bytes ? plot.bytes : "");
    p->t->failed = p->t->failed || plot.failed;
    wsc_text_free(&plot);
    p->title = r->title;
    put_line(p, r->title, "DejaVu Sans Bold,10");
    p->line++;
    add_note(p, note);
    p->line = below + 1;
    TRY(add_table(p, r, report_exhibit_rows));
    TRY(add_table(p, r, report_exhibit_context));
    TRY(add_table(p, r, report_exhibit_points));
    show_labels(p);
    return WSC_OK;
}

enum wsc_err report_exhibits_pdf(const char *dir, const struct validation_reproduction *r)
{
    struct wsc_text t = {0};
    struct page p = {.t = &t};
    enum wsc_err rc = WSC_OK;
    wsc_text_add(&t, "set terminal pdfcairo size 21cm,29.7cm noenhanced font 'DejaVu Sans,8' "
                     "background '#ffffff'\nset output 'reproduction.pdf'\n");
    for (int i = 0; i < r->n && !rc; i++)
        rc = add_exhibit(&p, &r->item[i]);
    wsc_text_add(&t, "unset multiplot\nunset output\n");
    if (!rc) rc = out_gnuplot_pdf(dir, "reproduction", &t);
    wsc_text_free(&t);
    return rc;
}
