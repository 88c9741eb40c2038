// SPDX-License-Identifier: Apache-2.0
/* Puts an SVG picture of gnuplot into a page. It drops the XML head and the titles, which browsers
 * would show as tooltips, and adds the values of points as labels. gnuplot draws plot K of a
 * command into <g id="NAME_plot_K">, in the second panel of several K is as in 3b; a point is <use
 * ... transform='...'/>, in the order of the data. Used by report_html.c and exhibit_page.c. */
#include "html_page.h"

#include <wsc/file.h>
#include <wsc/mem.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_PICTURE_BYTES = 16 << 20 };

/* The SVG with its file's name before each of its ids: gnuplot gives all pictures the same ones,
 * and a page may have several. */
static void name_ids(struct wsc_text *t, const char *at, const char *name)
{
    static const char *const before[] = {" id='", " id=\"", "href='#", "href=\"#", "url(#"};
    while (*at) {
        const char *next = NULL, *found;
        size_t n = 0;
        for (size_t i = 0; i < sizeof before / sizeof *before; i++)
            if ((found = strstr(at, before[i])) && (!next || found < next)) {
                next = found;
                n = strlen(before[i]);
            }
        const size_t length = next ? (size_t)(next - at) + n : strlen(at);
        wsc_text_bytes(t, at, length);
        if (next) wsc_text_add(t, "%s-", name);
        at += length;
    }
}

/* Text up to @p end, without <title> elements. */
static void copy(struct wsc_text *t, const char *at, const char *end)
{
    static const char open[] = "<title>", close[] = "</title>";
    while (at < end) {
        const char *title = memmem(at, (size_t)(end - at), open, strlen(open));
        const char *after =
            title ? memmem(title, (size_t)(end - title), close, strlen(close)) : NULL;
        if (!after) break;
        wsc_text_bytes(t, at, (size_t)(title - at));
        at = after + strlen(close);
    }
    wsc_text_bytes(t, at, (size_t)(end - at));
}

/* A point with its label, and a ring around it that takes the pointer; returns what follows. */
static const char *add_point(struct wsc_text *t, const char *use, const char *label, size_t n)
{
    static const char attribute[] = "transform='";
    const char *end = strstr(use, "/>");
    const char *move = end ? memmem(use, (size_t)(end - use), attribute, strlen(attribute)) : NULL;
    const char *last = move ? strchr(move + strlen(attribute), '\'') : NULL;
    char *text = strndup(label, n);
    if (!last || !text) {
        free(text);
        return use;
    }
    wsc_text_add(t, "<g class=\"pt\" tabindex=\"0\" role=\"img\" aria-label=\"");
    out_text_html(t, text);
    wsc_text_add(t, "\"><title>");
    out_text_html(t, text);
    wsc_text_add(t, "</title>");
    wsc_text_bytes(t, use, (size_t)(end + 2 - use));
    wsc_text_add(
        t,
        "<circle class=\"ring\" r=\"2.4\" fill=\"none\" stroke=\"none\" pointer-events=\"all\" ");
    wsc_text_bytes(t, move, (size_t)(last + 1 - move));
    wsc_text_add(t, "/></g>");
    free(text);
    return end + 2;
}

/* The SVG with @p labels, a line `PLOT TEXT` for each point; a point that is not found ends them.
 */
static void add_svg(struct wsc_text *t, const char *at, const char *end, const char *labels)
{
    char current[32] = "";
    while (labels && *labels) {
        char id[32];
        const size_t name = strcspn(labels, " "), n = strcspn(labels, "\n");
        (void)snprintf(id, sizeof id, "_plot_%.*s\" ", (int)name, labels);
        const char *group = strcmp(id, current) != 0 ? strstr(at, id) : at;
        const char *use = group ? strstr(group, "<use ") : NULL;
        if (!use || name >= n) break;
        copy(t, at, use);
        at = add_point(t, use, labels + name + 1, n - name - 1);
        if (at == use) break;
        memcpy(current, id, sizeof current);
        labels += n + (labels[n] == '\n');
    }
    copy(t, at, end);
}

enum wsc_err report_page_picture(struct wsc_text *t, const char *dir, const char *name,
                                 const char *caption, const char *labels)
{
    enum wsc_err rc;
    char *svg = NULL;
    size_t n = 0;
    struct stat info;
    struct wsc_text named = {0};
    char *path = out_file_path(dir, name);
    TRY_GOTO(path ? WSC_OK : WSC_NOMEM, cleanup);
    if (stat(path, &info) || !S_ISREG(info.st_mode)) {
        wsc_text_add(t, "<p>The picture %s could not be drawn.</p>\n", name);
        goto cleanup;
    }
    TRY_GOTO(wsc_file_read(WSC_MEM_REPORT, path, MAX_PICTURE_BYTES, &svg, &n), cleanup);
    const char *start = strstr(svg, "<svg");
    if (!start) {
        rc = WSC_RAISE(WSC_FORMAT, "%s: no <svg> in it", path);
        goto cleanup;
    }
    name_ids(&named, start, name);
    TRY_GOTO(named.bytes ? wsc_text_check(&named) : WSC_NOMEM, cleanup);
    wsc_text_add(t, "<figure>\n");
    add_svg(t, named.bytes, named.bytes + named.n, labels);
    wsc_text_add(t, "<figcaption>%s</figcaption>\n</figure>\n", caption);
cleanup:
    wsc_text_free(&named);
    wsc_free(svg);
    wsc_free(path);
    return rc;
}
