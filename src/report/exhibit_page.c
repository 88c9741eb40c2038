// SPDX-License-Identifier: Apache-2.0
/* Writes reproduction.html: a section for each exhibit with its picture and its tables, then the
 * constants of the machines and provenance. The page is one file that needs no network. */
#include "exhibit_output.h"
#include "html_page.h"

static void add_cells(struct wsc_text *t, const struct report_cells *c)
{
    if (!c->n_rows) return;
    wsc_text_add(t, "<div class=\"wide\"><table>\n<thead><tr>");
    for (int i = 0; i < c->n_columns; i++)
        wsc_text_add(t, "<th%s>%s</th>", c->align[i] == 'r' ? " class=\"n\"" : "", c->head[i]);
    wsc_text_add(t, "</tr></thead>\n<tbody>\n");
    for (int k = 0; k < c->n_rows; k++) {
        wsc_text_add(t, "<tr>");
        for (int i = 0; i < c->n_columns; i++)
            report_page_cell(t, c->text[k][i], c->align[i] == 'r');
        wsc_text_add(t, "</tr>\n");
    }
    report_page_table_end(t);
}

typedef enum wsc_err (*cells_fn)(struct report_cells *c, const struct validation_reproduced *r);

static WSC_CHECKED enum wsc_err add_table(struct wsc_text *t, const struct validation_reproduced *r,
                                          const char *heading, cells_fn make)
{
    struct report_cells c = {0};
    enum wsc_err rc = make(&c, r);
    if (!rc && c.n_rows) wsc_text_add(t, "<h3>%s</h3>\n", heading);
    if (!rc) add_cells(t, &c);
    report_cells_fini(&c);
    return rc;
}

static WSC_CHECKED enum wsc_err add_exhibit(struct wsc_text *t, const char *dir,
                                            const struct validation_reproduced *r)
{
    char picture[OUT_PICTURE_NAME_BYTES + 8];
    (void)snprintf(picture, sizeof picture, "%s.svg", r->exhibit->id);
    wsc_text_add(t, "<h2>");
    out_text_html(t, r->title);
    wsc_text_add(t, "</h2>\n<p>");
    out_text_html(t, r->note);
    wsc_text_add(t, "</p>\n");
    if (report_exhibit_drawn(r)) TRY(report_page_picture(t, dir, picture, "", NULL));
    TRY(add_table(t, r, "Published and predicted", report_exhibit_rows));
    TRY(add_table(t, r, "Published, not predicted", report_exhibit_context));
    return add_table(t, r, "Points of the curves", report_exhibit_points);
}

/* The machine of each exhibit that has curves, once. */
static void add_machines(struct wsc_text *t, const struct validation_reproduction *r)
{
    for (int i = 0; i < r->n; i++) {
        bool shown = !r->item[i].cluster;
        for (int k = 0; k < i && !shown; k++)
            shown = r->item[k].cluster == r->item[i].cluster;
        if (shown) continue;
        wsc_text_add(t, "<h2>Machine ");
        out_text_html(t, r->item[i].cluster->name);
        wsc_text_add(t, "</h2>\n");
        report_page_constants(t, r->item[i].cluster);
    }
}

enum wsc_err report_exhibits_page(const char *dir, const struct validation_reproduction *r)
{
    struct wsc_text t = {0};
    enum wsc_err rc = WSC_OK;
    report_page_begin(&t, "Published tables and figures, reproduced");
    wsc_text_add(&t,
                 "<p class=\"lead\">Each published number is a row of the reference files, each "
                 "predicted one a simulation of the emulated machine. Error = predicted / "
                 "published - 1 in speed, positive: too fast. Bands hold 90 %%: "
                 "constants sampled in their ranges, and the deviation of the fitted rows.</p>\n");
    for (int i = 0; i < r->n && !rc; i++)
        rc = add_exhibit(&t, dir, &r->item[i]);
    add_machines(&t, r);
    report_page_provenance(&t, r->command);
    wsc_text_add(&t, "</tbody>\n</table>\n");
    report_page_end(&t);
    if (!rc) rc = out_text_write(&t, dir, "reproduction.html");
    wsc_text_free(&t);
    return rc;
}
