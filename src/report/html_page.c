// SPDX-License-Identifier: Apache-2.0
/* What all HTML pages are made of: head with the style sheet, tables, pictures as inline SVG, the
 * constants of a machine, provenance.  A page is one file that needs no network.  Used by
 * report_html.c and study_html.c (a sweep) and exhibit_page.c (published tables and figures). */
#include "html_page.h"

#include <wsc/file.h>
#include <wsc/mem.h>

#include <math.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_PICTURE_BYTES = 16 << 20 };

/* Style sheet of all pages, inline: a page is one file. */
static const char style[] =
    "body{font:16px/1.5 system-ui,'DejaVu Sans',sans-serif;color:#1a1a1a;background:#fff;"
    "max-width:76rem;margin:2rem auto;padding:0 1rem}\n"
    "h1{font-size:1.7rem;margin:0 0 .2rem}h2{font-size:1.25rem;margin:2.2rem 0 .6rem;"
    "border-bottom:1px solid #ccc}h3{font-size:1.05rem;margin:1.6rem 0 .4rem}\n"
    "p{margin:.5rem 0}.lead{color:#444}.wide{overflow-x:auto}\n"
    "table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:.25rem .55rem;text-align:left;border-bottom:1px solid #e2e2e2;"
    "vertical-align:top}\n"
    "th{border-bottom:2px solid #888;font-weight:600;vertical-align:bottom}\n"
    ".n{text-align:right;white-space:nowrap}.n small{display:block;color:#555}\n"
    "figure{margin:1rem 0}figure svg{width:100%;height:auto;max-width:64rem}\n"
    ".bar{display:flex;width:10rem;height:1.05rem;margin-top:.2rem;background:#f2f2f2}\n"
    ".bar span{display:block;height:100%}.key span{display:inline-block;width:.9rem;"
    "height:.9rem;margin:0 .35rem 0 1rem;vertical-align:-.1rem}\n"
    ".p0{background:#0072b2}.p1{background:#e69f00}.p2{background:#cc79a7}"
    ".p3{background:#8a8a8a}.p4{background:#009e73}\n"
    ".kind{padding:0 .4rem;border:1px solid #999;border-radius:.6rem;font-size:.8rem;"
    "white-space:nowrap}.assumed{border-style:dashed}.calibrated{background:#fff3d6}\n"
    "pre{font:.8rem/1.4 'DejaVu Sans Mono',monospace;background:#f6f6f6;padding:.8rem;"
    "white-space:pre-wrap;overflow-wrap:anywhere}code{overflow-wrap:anywhere}\n"
    ".bar,.bar span,.key span,.calibrated{-webkit-print-color-adjust:exact;"
    "print-color-adjust:exact}\n"
    "@page{size:landscape;margin:12mm}\n@media "
    "print{body{max-width:none;margin:0;font-size:10pt}.wide{overflow:visible}"
    "tr,figure{break-inside:avoid}h2,h3{break-after:avoid}th,td{padding:.15rem .35rem}"
    ".bar{width:7rem}thead{display:table-header-group}}\n";

void report_page_begin(struct wsc_text *t, const char *title)
{
    wsc_text_add(t, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                    "<title>");
    out_text_html(t, title);
    wsc_text_add(t, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<h1>", style);
    out_text_html(t, title);
    wsc_text_add(t, "</h1>\n");
}

void report_page_end(struct wsc_text *t)
{
    wsc_text_add(t, "</body>\n</html>\n");
}

/* ---- pictures, tables ------------------------------------------------------------------------ */

enum wsc_err report_page_picture(struct wsc_text *t, const char *dir, const char *name,
                                 const char *caption)
{
    enum wsc_err rc;
    char *svg = NULL;
    size_t n = 0;
    struct stat info;
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
    wsc_text_add(t, "<figure>\n");
    wsc_text_bytes(t, start, n - (size_t)(start - svg));
    wsc_text_add(t, "<figcaption>%s</figcaption>\n</figure>\n", caption);
cleanup:
    wsc_free(svg);
    wsc_free(path);
    return rc;
}

void report_page_table(struct wsc_text *t, const char *heads)
{
    wsc_text_add(t, "<div class=\"wide\"><table>\n<thead><tr>");
    while (*heads) {
        const size_t n = strcspn(heads, "|");
        const bool right = n && heads[n - 1] == '>';
        wsc_text_add(t, "<th%s>%.*s</th>", right ? " class=\"n\"" : "", (int)(n - right), heads);
        heads += n + (heads[n] == '|');
    }
    wsc_text_add(t, "</tr></thead>\n<tbody>\n");
}

void report_page_table_end(struct wsc_text *t)
{
    wsc_text_add(t, "</tbody>\n</table></div>\n");
}

void report_page_cell(struct wsc_text *t, const char *text, bool right)
{
    wsc_text_add(t, right ? "<td class=\"n\">" : "<td>");
    out_text_html(t, text ? text : "");
    wsc_text_add(t, "</td>");
}

void report_page_number(struct wsc_text *t, int digits, double value, const char *unit)
{
    char text[48];
    (void)snprintf(text, sizeof text, "%.*f%s", digits, value, unit);
    report_page_cell(t, text, true);
}

void report_page_change(struct wsc_text *t, double ratio)
{
    char text[48];
    if (isnan(ratio))
        (void)snprintf(text, sizeof text, "does not fit");
    else
        (void)snprintf(text, sizeof text, "%+.3f %%", 100 * (ratio - 1));
    report_page_cell(t, text, true);
}

/* ---- machines, provenance -------------------------------------------------------------------- */

void report_page_constants(struct wsc_text *t, const struct hw_machine *c)
{
    wsc_text_add(t, "<h2>Constants of the machine</h2>\n<div class=\"wide\"><table>\n<thead>"
                    "<tr><th>key</th><th class=\"n\">value</th><th>kind</th><th>source</th>"
                    "</tr></thead>\n<tbody>\n");
    for (int i = 0; i < c->n_sources; i++) {
        const struct hw_source *s = &c->source[i];
        wsc_text_add(t, "<tr><td><code>");
        out_text_html(t, s->key);
        wsc_text_add(t, "</code></td><td class=\"n\">");
        out_text_html(t, s->value ? s->value : "");
        wsc_text_add(t, "</td><td><span class=\"kind ");
        out_text_html(t, s->kind);
        wsc_text_add(t, "\">");
        out_text_html(t, s->kind);
        wsc_text_add(t, "</span></td>");
        report_page_cell(t, s->source, false);
        wsc_text_add(t, "</tr>\n");
    }
    wsc_text_add(t, "</tbody>\n</table></div>\n");
}

void report_page_fact(struct wsc_text *t, const char *name, const char *value)
{
    if (!value) return;
    wsc_text_add(t, "<tr><th scope=\"row\">%s</th><td><code>", name);
    out_text_html(t, value);
    wsc_text_add(t, "</code></td></tr>\n");
}

void report_page_provenance(struct wsc_text *t, const char *command)
{
    char date[OUT_DATE_SIZE], host[256];
    out_date(date);
    out_host(host, sizeof host);
    wsc_text_add(t, "<h2>Provenance</h2>\n<table>\n<tbody>\n");
    report_page_fact(t, "program", out_version());
    report_page_fact(t, "command", command);
    report_page_fact(t, "date", date);
    report_page_fact(t, "host", host);
}
