// SPDX-License-Identifier: Apache-2.0
/* Writes scaling.csv and the table of a sweep on stdout: one block per model, one row per number of
 * systems. A sentence after each block names the causes of the loss against linear scaling. */
#include "scaling_output.h"

#include <wsc/mem.h>

#include <string.h>

enum { WRAP = 96 };

/* ---- scaling.csv ------------------------------------------------------------------------------
 */

/* A whole number with its comma. */
static void add_int(struct wsc_text *t, int64_t value)
{
    wsc_text_add(t, ",%lld", (long long)value);
}

/* One line of scaling.csv, columns as docs/FILES.md has them. */
static void add_row(struct wsc_text *t, const struct scaling_row *r)
{
    out_text_csv(t, r->model);
    add_int(t, r->params);
    add_int(t, r->num_csx);
    add_int(t, r->global_batch);
    add_int(t, r->micro_batch);
    out_text_csv_real(t, r->tokens_per_s);
    out_text_csv_real(t, r->samples_per_s);
    out_text_csv_real(t, r->speedup);
    out_text_csv_real(t, r->efficiency);
    add_int(t, r->step_time_ps);
    add_int(t, r->breakdown.compute_ps);
    add_int(t, r->breakdown.weights_wait_ps);
    add_int(t, r->breakdown.reduce_wait_ps);
    add_int(t, r->breakdown.boundary_ps);
    out_text_csv_real(t, r->mfu);
    out_text_csv_real(t, r->joules_per_token);
    add_int(t, r->breakdown.input_wait_ps);
    wsc_text_add(t, "\n");
}

/* The whole file scaling.csv. */
static void add_csv(struct wsc_text *t, const struct report_view *v)
{
    wsc_text_add(t, "model,params,num_csx,global_batch,micro_batch,tokens_per_s,samples_per_s,"
                    "speedup,efficiency,step_time_ps,compute_ps,weights_wait_ps,"
                    "reduce_wait_ps,boundary_ps,mfu,joules_per_token,input_wait_ps\n");
    for (int i = 0; i < v->in->n_rows; i++)
        add_row(t, &v->row[i]);
}

enum wsc_err report_csv_write(const char *dir, const struct report_view *v)
{
    struct wsc_text t = {0};
    add_csv(&t, v);
    return out_text_write(&t, dir, "scaling.csv");
}

enum wsc_err report_scaling_csv(const struct report_scaling *s, char **text)
{
    struct wsc_text t = {0};
    struct report_view view;
    *text = NULL;
    TRY(report_view_make(&view, s));
    add_csv(&t, &view);
    report_view_fini(&view);
    return wsc_text_take(&t, text);
}

/* ---- the table on stdout ----------------------------------------------------------------------
 */

/* Cells of one row of the table, in human units. */
static void add_cells(struct out_table *t, const struct scaling_row *r)
{
    char step[32], rate[32], share[OUT_PERCENT_SIZE];
    double part[REPORT_N_PARTS];
    report_parts(&r->breakdown, part);
    out_step_time(step, sizeof step, r->step_time_ps);
    out_si(rate, sizeof rate, r->tokens_per_s);
    out_table_cell(t, "%lld", (long long)r->num_csx);
    out_table_cell(t, "%lld", (long long)r->global_batch);
    out_table_cell(t, "%s", step);
    out_table_cell(t, "%s", rate);
    out_table_cell(t, "%.2f", r->speedup);
    out_table_cell(t, "%.2f %%", 100.0 * r->efficiency);
    for (int i = 0; i < REPORT_N_PARTS; i++)
        out_table_cell(t, "%s", out_percent(share, 1, part[i] / (double)r->step_time_ps));
    out_table_cell(t, "%.1f %%", 100.0 * r->mfu);
}

/* Lines of at most WRAP columns, two of them blank. */
static void print_wrapped(const char *words)
{
    size_t column = 0;
    while (*words) {
        size_t n = strcspn(words, " ");
        bool fits = column && column + 1 + n <= WRAP;
        (void)printf("%s%.*s", fits ? " " : column ? "\n  " : "  ", (int)n, words);
        column = fits ? column + 1 + n : 2 + n;
        words += n + strspn(words + n, " ");
    }
    (void)printf("\n");
}

/* Table of one model, then the words about its loss. */
static WSC_CHECKED enum wsc_err print_model(const struct report_view *v, int m)
{
    static const char *const head[] = {"systems", "batch",  "step time", "tokens/s",
                                       "speedup", "effic.", "compute",   "weights",
                                       "reduce",  "bound.", "input",     "MFU"};
    const struct scaling_row *first = &v->row[v->model[m].first];
    struct out_table *table = NULL;
    struct wsc_text words = {0};
    char params[32];
    out_params(params, sizeof params, first->params);
    enum wsc_err rc;
    TRY_GOTO(out_table_new(&table, "rrrrrrrrrrrr", head), cleanup);
    for (int i = v->model[m].first; i < v->model[m].end; i++)
        add_cells(table, &v->row[i]);
    report_loss_words(&words, v, m);
    TRY_GOTO(wsc_text_check(&words), cleanup);
    (void)printf("%s%s (%s parameters), %s scaling on %s\n", m ? "\n" : "", first->model, params,
                 v->in->scaling, v->in->cluster->name);
    TRY_GOTO(out_table_print(table, stdout, 2), cleanup);
    print_wrapped(words.bytes);
cleanup:
    out_table_free(&table);
    wsc_text_free(&words);
    return rc;
}

enum wsc_err report_scaling_print(const struct report_scaling *s)
{
    struct report_view view;
    TRY(report_view_make(&view, s));
    enum wsc_err rc = WSC_OK;
    for (int m = 0; m < view.n_models && !rc; m++)
        rc = print_model(&view, m);
    if (!rc) rc = report_study_print(s);
    if (!rc && (fflush(stdout) || ferror(stdout)))
        rc = WSC_RAISE(WSC_IO, "standard output cannot be written");
    report_view_fini(&view);
    return rc;
}
