// SPDX-License-Identifier: Apache-2.0
/* Writes the table of `wsc validate` for published figures of single products: on stdout, as
 * products.csv, and as products.md, which is a part of docs/VALIDATION.md. */
#include <wsc/report.h>
#include <wsc/validation_products.h>

#include <stdio.h>

static double error_of(const struct validation_product *r)
{
    return r->predicted / r->value - 1;
}

static const char *verdict_of(const struct validation_product *r)
{
    if (r->kind == VALIDATION_KIND_CONTEXT) return "not judged";
    return validation_product_holds(r) ? "inside" : "OUTSIDE";
}

enum wsc_err report_products_print(const struct validation_product *rows, int n)
{
    static const char *const head[] = {"figure of a product", "kind",  "unit", "published",
                                       "predicted",           "error", "",     "verdict"};
    struct out_table *table;
    TRY(out_table_new(&table, "lllrrrrl", head));
    for (int i = 0; i < n; i++) {
        const struct validation_product *r = &rows[i];
        char error[OUT_PERCENT_SIZE];
        out_table_cell(table, "%s", r->id);
        out_table_cell(table, "%s", validation_kind_name(r->kind));
        out_table_cell(table, "%s", r->unit);
        out_table_cell(table, "%.6g", r->value);
        out_table_cell(table, "%.6g", r->predicted);
        out_table_cell(table, "%s", out_change(error, 1, error_of(r)));
        if (r->kind == VALIDATION_KIND_CONTEXT)
            out_table_cell(table, "%s", "");
        else
            out_table_cell(table, "+-%.0f %%", 100 * r->tolerance);
        out_table_cell(table, "%s", verdict_of(r));
    }
    (void)printf("\nsingle products; error: predicted / published - 1, positive: too slow\n");
    enum wsc_err rc = out_table_print(table, stdout, 2);
    out_table_free(&table);
    return rc;
}

/* A column each for the spreadsheet. */
static enum wsc_err write_csv(const char *dir, const struct validation_product *rows, int n)
{
    struct wsc_text t = {0};
    wsc_text_add(&t, "id,kind,unit,published,predicted,relative_error,tolerance,verdict,source\n");
    for (int i = 0; i < n; i++) {
        const struct validation_product *r = &rows[i];
        out_text_csv(&t, r->id);
        wsc_text_add(&t, ",%s,", validation_kind_name(r->kind));
        out_text_csv(&t, r->unit);
        wsc_text_add(&t, ",%.9g,%.9g,%.6f,%.6f,%s,", r->value, r->predicted, error_of(r),
                     r->tolerance, verdict_of(r));
        out_text_csv(&t, r->source);
        wsc_text_add(&t, "\n");
    }
    return out_text_write(&t, dir, "products.csv");
}

static enum wsc_err write_markdown(const char *dir, const struct validation_product *rows, int n)
{
    struct wsc_text t = {0};
    wsc_text_add(&t, "| figure | kind | unit | published | predicted | error | tolerance | |\n"
                     "|---|---|---|---|---|---|---|---|\n");
    for (int i = 0; i < n; i++) {
        const struct validation_product *r = &rows[i];
        char error[OUT_PERCENT_SIZE];
        wsc_text_add(&t, "| ");
        out_text_markdown_cell(&t, r->id);
        wsc_text_add(&t, " | %s | %s | %.6g | %.6g | %s |", validation_kind_name(r->kind), r->unit,
                     r->value, r->predicted, out_change(error, 1, error_of(r)));
        if (r->kind == VALIDATION_KIND_CONTEXT)
            wsc_text_add(&t, " | not judged |\n");
        else
            wsc_text_add(&t, " %.0f %% | %s |\n", 100 * r->tolerance, verdict_of(r));
    }
    return out_text_write(&t, dir, "products.md");
}

enum wsc_err report_products_write(const char *dir, const struct validation_product *rows, int n)
{
    TRY(write_csv(dir, rows, n));
    return write_markdown(dir, rows, n);
}
