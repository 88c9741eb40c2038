// SPDX-License-Identifier: Apache-2.0
/* Writes the common pieces of HTML pages: head with the style sheet, tables, the constants of a
 * machine, provenance. A page is one file that needs no network; html_picture.c adds pictures.
 * Used by report_html.c and study_html.c (a sweep) and exhibit_page.c (published tables and
 * figures). */
#include "html_page.h"
#include "html_assets.h"

#include <math.h>
#include <string.h>

/* Nothing outside of the page is ever fetched, whatever a text in it says. */
static const char policy[] = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
                             "'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n";

void report_page_begin(struct wsc_text *t, const char *title)
{
    wsc_text_add(t,
                 "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                 "%s<title>",
                 policy);
    out_text_html(t, title);
    wsc_text_add(t, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<h1>", report_page_style());
    out_text_html(t, title);
    wsc_text_add(t, "</h1>\n");
}

void report_page_end(struct wsc_text *t)
{
    wsc_text_add(t, "<script>\n%s</script>\n</body>\n</html>\n", report_page_script());
}

/* ---- tables ------------------------------------------------------------------------------------
 */

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

void report_page_value(struct wsc_text *t, const char *text, double value)
{
    wsc_text_add(t, "<td class=\"n\" data-v=\"%.17g\">", value);
    out_text_html(t, text);
    wsc_text_add(t, "</td>");
}

void report_page_number(struct wsc_text *t, int digits, double value, const char *unit)
{
    char text[48];
    (void)snprintf(text, sizeof text, "%.*f%s", digits, value, unit);
    report_page_value(t, text, value);
}

void report_page_change(struct wsc_text *t, double ratio)
{
    char text[OUT_PERCENT_SIZE];
    if (isnan(ratio)) {
        report_page_cell(t, "does not fit", true);
        return;
    }
    report_page_value(t, out_change(text, 3, ratio - 1), 100 * (ratio - 1));
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
        if (s->unit) wsc_text_add(t, " %s", s->unit);
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
