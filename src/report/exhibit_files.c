// SPDX-License-Identifier: Apache-2.0
/* Writes the files of `wsc reproduce`: for each exhibit its picture, and as CSV with all digits its
 * rows and the points of its curves; then the page and the PDF. The tables also go to stdout. */
#include "exhibit_output.h"

#include <wsc/file.h>
#include <wsc/mem.h>

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- CSV ------------------------------------------------------------------------------------- */

static WSC_CHECKED enum wsc_err write_as(struct wsc_text *t, const char *dir, const char *id,
                                         const char *end)
{
    char name[OUT_PICTURE_NAME_BYTES + 16];
    (void)snprintf(name, sizeof name, "%s%s.csv", id, end);
    return out_text_write(t, dir, name);
}

static WSC_CHECKED enum wsc_err write_rows(const char *dir, const struct validation_reproduced *r)
{
    struct wsc_text t = {0};
    if (!r->n_rows) return WSC_OK;
    wsc_text_add(&t, "id,quantity,unit,kind,num_csx,global_batch,micro_batch,published,predicted,"
                     "speed_error_percent,accepted_low,accepted_high,band_low,band_high,source\n");
    for (int i = 0; i < r->n_rows; i++) {
        const struct validation_prediction *p = r->row[i];
        const struct validation_figure *f = p->ref;
        const bool judged = f->kind != VALIDATION_KIND_CONTEXT;
        out_text_csv(&t, f->id);
        wsc_text_add(&t, ",%s,", validation_quantity_name(f->quantity));
        out_text_csv(&t, f->unit);
        wsc_text_add(&t, ",%s,%lld,%lld,%lld", validation_kind_name(f->kind), (long long)f->num_csx,
                     (long long)f->global_batch, (long long)p->micro_batch);
        out_text_csv_real(&t, f->value);
        out_text_csv_real(&t, p->predicted);
        out_text_csv_real(&t, 100 * validation_speed_error(f, p->predicted));
        out_text_csv_real(&t, judged ? f->low : NAN);
        out_text_csv_real(&t, judged ? f->high : NAN);
        out_text_csv_real(&t, p->band_low);
        out_text_csv_real(&t, p->band_high);
        wsc_text_add(&t, ",");
        out_text_csv(&t, f->source);
        wsc_text_add(&t, "\n");
    }
    return write_as(&t, dir, r->exhibit->id, "");
}

static WSC_CHECKED enum wsc_err write_points(const char *dir, const struct validation_reproduced *r)
{
    struct wsc_text t = {0};
    if (!r->n_curves) return WSC_OK;
    wsc_text_add(&t, "model,num_csx,global_batch,micro_batch,step_time_ps,tokens_per_s,band_low,"
                     "band_high,speedup,efficiency,mfu\n");
    for (int k = 0; k < r->n_curves; k++) {
        const struct validation_curve *c = &r->curve[k];
        for (int i = 0; i < c->n; i++) {
            const struct scaling_row *row = &c->row[i];
            out_text_csv(&t, c->model);
            wsc_text_add(&t, ",%lld,%lld,%lld,%lld", (long long)row->num_csx,
                         (long long)row->global_batch, (long long)row->micro_batch,
                         (long long)row->step_time_ps);
            out_text_csv_real(&t, row->tokens_per_s);
            out_text_csv_real(&t, row->tokens_per_s * c->below[i]);
            out_text_csv_real(&t, row->tokens_per_s * c->above[i]);
            out_text_csv_real(&t, row->speedup);
            out_text_csv_real(&t, row->efficiency);
            out_text_csv_real(&t, row->mfu);
            wsc_text_add(&t, "\n");
        }
    }
    return write_as(&t, dir, r->exhibit->id, "_curves");
}

/* ---- stdout ---------------------------------------------------------------------------------- */

static WSC_CHECKED enum wsc_err print_cells(const struct report_cells *c)
{
    struct out_table *table;
    TRY(out_table_new(&table, c->align, c->head));
    for (int k = 0; k < c->n_rows; k++)
        for (int i = 0; i < c->n_columns; i++)
            out_table_cell(table, "%s", c->text[k][i]);
    enum wsc_err rc = out_table_print(table, stdout, 2);
    out_table_free(&table);
    return rc;
}

enum wsc_err report_reproduction_print(const struct validation_reproduction *r)
{
    for (int i = 0; i < r->n; i++) {
        struct report_cells rows = {0}, points = {0}, context = {0};
        (void)printf("%s%s: %s\n", i ? "\n" : "", r->item[i].exhibit->id, r->item[i].title);
        enum wsc_err rc = report_exhibit_rows(&rows, &r->item[i]);
        if (!rc && rows.n_rows) rc = print_cells(&rows);
        if (!rc) rc = report_exhibit_points(&points, &r->item[i]);
        if (!rc && points.n_rows) rc = print_cells(&points);
        /* Rows without a prediction are shown where an exhibit has no others. */
        if (!rc && !rows.n_rows && !points.n_rows)
            rc = report_exhibit_context(&context, &r->item[i]);
        if (!rc && context.n_rows) rc = print_cells(&context);
        report_cells_fini(&rows);
        report_cells_fini(&points);
        report_cells_fini(&context);
        if (rc) return rc;
    }
    return WSC_OK;
}

/* ---- files of others ------------------------------------------------------------------------- */

/* True for the files that this one writes, with the names of write_rows(), write_points() and
 * report_exhibit_draw(). */
static bool writes(const struct validation_reproduced *r, const char *file)
{
    const char *id = r->exhibit->id;
    const size_t n = strlen(id);
    if (strncmp(file, id, n) != 0) return false;
    if (!strcmp(file + n, ".csv")) return r->n_rows;
    if (!strcmp(file + n, "_curves.csv")) return r->n_curves;
    const bool drawn =
        !strcmp(file + n, ".gp") || !strcmp(file + n, ".svg") || !strcmp(file + n, ".png");
    return drawn && report_exhibit_drawn(r);
}

/* Filter of scandir(). */
static int is_of_exhibit(const struct dirent *e)
{
    static const char *const end[] = {".csv", ".gp", ".svg", ".png"};
    const char *dot = strrchr(e->d_name, '.');
    for (size_t i = 0; dot && i < sizeof end / sizeof *end; i++)
        if (!strcmp(dot, end[i])) return strcmp(e->d_name, "reproduction.gp") != 0;
    return 0;
}

enum wsc_err report_reproduction_others(const char *dir, const struct validation_reproduction *r,
                                        struct wsc_text *names)
{
    enum { MOST_NAMES = 12 };
    struct dirent **file = NULL;
    const int n = scandir(dir, &file, is_of_exhibit, alphasort);
    int n_others = 0;
    if (n < 0) return WSC_RAISE(WSC_IO, "%s: %s", dir, strerror(errno));
    for (int i = 0; i < n; i++) {
        bool own = false;
        for (int k = 0; k < r->n; k++)
            own = own || writes(&r->item[k], file[i]->d_name);
        if (!own && n_others++ < MOST_NAMES)
            wsc_text_add(names, "%s%s", names->n ? ", " : "", file[i]->d_name);
        free(file[i]);
    }
    free(file);
    if (n_others > MOST_NAMES) wsc_text_add(names, " and %d more", n_others - MOST_NAMES);
    return WSC_OK;
}

/* ---- all of them ----------------------------------------------------------------------------- */

enum wsc_err report_reproduction_write(const char *dir, const struct validation_reproduction *r)
{
    enum wsc_err pictures = WSC_OK;
    TRY(wsc_file_mkdir(dir));
    for (int i = 0; i < r->n; i++) {
        out_progress_at("pictures", i, r->n, r->item[i].exhibit->id);
        TRY(write_rows(dir, &r->item[i]));
        TRY(write_points(dir, &r->item[i]));
        const enum wsc_err rc = report_exhibit_draw(dir, &r->item[i]);
        if (rc) pictures = rc;
    }
    TRY(report_exhibits_page(dir, r));
    TRY(report_exhibits_pdf(dir, r));
    return pictures;
}
