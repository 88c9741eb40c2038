// SPDX-License-Identifier: Apache-2.0
/* Writes report.html of a sweep: one self-contained page with the plots as inline SVG, tables, the
 * constants of the machine with their sources, provenance and the machine file. */
#include "html_page.h"
#include "scaling_output.h"

#include <wsc/mem.h>
#include <wsc/units.h>

#include <math.h>
#include <string.h>

enum { MAX_HEADLINE_COLUMNS = 10 };

static void add_head(struct wsc_text *t, const char *scaling, const char *machine)
{
    char title[160];
    (void)snprintf(title, sizeof title,
                   "Training throughput, %.20s scaling on emulated %.60s systems", scaling,
                   machine);
    report_page_begin(t, title);
    wsc_text_add(t, "<p class=\"lead\">Every figure is virtual time of the emulated machine whose "
                    "constants are listed below.</p>\n");
}

/* Name and number of parameters of a model, as two cells. */
static void add_model_name(struct wsc_text *t, const struct scaling_row *r)
{
    char params[32];
    out_params(params, sizeof params, r->params);
    out_text_html(t, r->model);
    wsc_text_add(t, "</td>");
    report_page_value(t, params, (double)r->params);
}

/* tokens/s with the efficiency below it, or a dash for a count that was not swept. */
static void add_headline_cell(struct wsc_text *t, const struct scaling_row *r)
{
    char rate[32];
    if (!r) {
        wsc_text_add(t, "<td class=\"n\">–</td>");
        return;
    }
    out_si(rate, sizeof rate, r->tokens_per_s);
    wsc_text_add(t, "<td class=\"n\" data-v=\"%.17g\">%s<small>%.1f %%</small></td>",
                 r->tokens_per_s, rate, 100.0 * r->efficiency);
}

/* The first table: models against node counts, at most ten of them. */
static WSC_CHECKED enum wsc_err add_headline(struct wsc_text *t, const struct report_view *v)
{
    int64_t *tick = wsc_alloc(WSC_MEM_REPORT, (size_t)v->n_ticks, sizeof *tick);
    if (!tick) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "copy the node counts");
    memcpy(tick, v->tick, (size_t)v->n_ticks * sizeof *tick);
    int n = report_ticks_choose(tick, v->n_ticks, MAX_HEADLINE_COLUMNS);
    wsc_text_add(t, "<h2>Tokens per second and efficiency</h2>\n<div class=\"wide\"><table>\n"
                    "<thead><tr><th>model</th><th class=\"n\">parameters</th>");
    for (int i = 0; i < n; i++)
        wsc_text_add(t, "<th class=\"n\">%lld system%s</th>", (long long)tick[i],
                     tick[i] == 1 ? "" : "s");
    wsc_text_add(t, "</tr></thead>\n<tbody>\n");
    for (int m = 0; m < v->n_models; m++) {
        wsc_text_add(t, "<tr><td>");
        add_model_name(t, &v->row[v->model[m].first]);
        for (int i = 0; i < n; i++)
            add_headline_cell(t, report_view_find(v, m, tick[i]));
        wsc_text_add(t, "</tr>\n");
    }
    wsc_text_add(t, "</tbody>\n</table></div>\n");
    if (n < v->n_ticks)
        wsc_text_add(t, "<p>%d of %d node counts; the tables of the models have all.</p>\n", n,
                     v->n_ticks);
    wsc_free(tick);
    return WSC_OK;
}

/* A bar divided by the parts of a step, and the parts as cells. */
static void add_bar(struct wsc_text *t, const double share[static REPORT_N_PARTS])
{
    char text[OUT_PERCENT_SIZE];
    wsc_text_add(t, "<td><div class=\"bar\">");
    for (int i = 0; i < REPORT_N_PARTS; i++)
        if (share[i] > 0)
            wsc_text_add(t,
                         "<span class=\"p%d\" style=\"width:%.2f%%\" title=\"%s %.1f %%\">"
                         "</span>",
                         i, 100.0 * share[i], report_part_name[i], 100.0 * share[i]);
    wsc_text_add(t, "</div></td>");
    for (int i = 0; i < REPORT_N_PARTS; i++)
        report_page_value(t, out_percent(text, 1, share[i]), 100.0 * share[i]);
}

/* One row of a model's table. */
static void add_row(struct wsc_text *t, const struct scaling_row *r)
{
    char step[32], rate[32], energy[32];
    double share[REPORT_N_PARTS];
    report_parts(&r->breakdown, share);
    for (int i = 0; i < REPORT_N_PARTS; i++)
        share[i] /= (double)r->step_time_ps;
    out_step_time(step, sizeof step, r->step_time_ps);
    out_si(rate, sizeof rate, r->tokens_per_s);
    out_si_unit(energy, sizeof energy, r->joules_per_token, "J");
    wsc_text_add(t, "<tr>");
    report_page_number(t, 0, (double)r->num_csx, "");
    report_page_number(t, 0, (double)r->global_batch, "");
    report_page_number(t, 0, (double)r->micro_batch, "");
    report_page_value(t, step, wsc_seconds((double)r->step_time_ps));
    report_page_value(t, rate, r->tokens_per_s);
    report_page_number(t, 2, r->speedup, "");
    report_page_number(t, 1, 100.0 * r->efficiency, " %");
    report_page_number(t, 1, 100.0 * r->mfu, " %");
    report_page_value(t, energy, r->joules_per_token);
    add_bar(t, share);
    wsc_text_add(t, "</tr>\n");
}

static void add_model(struct wsc_text *t, const struct report_view *v, int m)
{
    static const char *const head[] = {"systems",    "batch",    "micro-batch",
                                       "step",       "tokens/s", "speedup",
                                       "efficiency", "MFU",      "energy/token"};
    struct wsc_text words = {0};
    wsc_text_add(t, "<h3>");
    out_text_html(t, v->row[v->model[m].first].model);
    wsc_text_add(t, "</h3>\n<div class=\"wide\"><table>\n<thead><tr>");
    for (size_t i = 0; i < sizeof head / sizeof *head; i++)
        wsc_text_add(t, "<th class=\"n\">%s</th>", head[i]);
    wsc_text_add(t,
                 "<th>where the step goes</th><th class=\"n\">compute</th>"
                 "<th class=\"n\">weights</th><th class=\"n\">reduce</th>"
                 "<th class=\"n\">boundary</th><th class=\"n\">input</th></tr></thead>\n<tbody>\n");
    for (int i = v->model[m].first; i < v->model[m].end; i++)
        add_row(t, &v->row[i]);
    wsc_text_add(t, "</tbody>\n</table></div>\n<p><b>Where the loss comes from.</b> ");
    report_loss_words(&words, v, m);
    out_text_html(t, words.bytes ? words.bytes : "");
    t->failed = t->failed || words.failed;
    wsc_text_free(&words);
    wsc_text_add(t, "</p>\n");
}

static void add_models(struct wsc_text *t, const struct report_view *v)
{
    wsc_text_add(t, "<h2>Each model</h2>\n<p class=\"key\">Parts of a step:");
    for (int i = 0; i < REPORT_N_PARTS; i++)
        wsc_text_add(t, "<span class=\"p%d\"></span>%s", i, report_part_name[i]);
    wsc_text_add(t, "</p>\n");
    for (int m = 0; m < v->n_models; m++)
        add_model(t, v, m);
}

/* What the sweep says where a published point lies; NULL where it says nothing. */
static const struct scaling_row *swept_at(const struct report_view *v,
                                          const struct validation_point *p)
{
    for (int i = 0; i < v->in->n_rows; i++)
        if (!strcmp(v->row[i].model, p->model) && (double)v->row[i].num_csx == p->num_csx)
            return &v->row[i];
    return NULL;
}

static void add_point(struct wsc_text *t, const struct report_view *v,
                      const struct validation_point *p)
{
    const struct scaling_row *here = swept_at(v, p);
    char published[32], predicted[32];
    out_si(published, sizeof published, p->tokens_per_s);
    wsc_text_add(t, "<tr>");
    report_page_cell(t, p->model, false);
    wsc_text_add(t, "<td class=\"n\">%g</td>", p->num_csx);
    report_page_value(t, published, p->tokens_per_s);
    if (here) {
        out_si(predicted, sizeof predicted, here->tokens_per_s);
        report_page_value(t, predicted, here->tokens_per_s);
        report_page_change(t, here->tokens_per_s / p->tokens_per_s);
    } else {
        wsc_text_add(t, "<td class=\"n\">–</td><td class=\"n\">–</td>");
    }
    report_page_cell(t, p->source, false);
    wsc_text_add(t, "</tr>\n");
}

/* Published points, when there are any. */
static void add_points(struct wsc_text *t, const struct report_view *v)
{
    if (v->in->n_points < 1) return;
    wsc_text_add(t, "<h2>Published measurements</h2>\n<div class=\"wide\"><table>\n<thead><tr>"
                    "<th>model</th><th class=\"n\">systems</th><th class=\"n\">published, "
                    "tokens/s</th><th class=\"n\">here</th><th class=\"n\">difference</th>"
                    "<th>source</th></tr></thead>\n<tbody>\n");
    for (int i = 0; i < v->in->n_points; i++)
        add_point(t, v, &v->in->point[i]);
    wsc_text_add(t, "</tbody>\n</table></div>\n");
}

/* Version, host, date, command line. */
static void add_provenance(struct wsc_text *t, const struct report_scaling *s)
{
    char hash[24];
    (void)snprintf(hash, sizeof hash, "%016llx", (unsigned long long)s->cluster->hash);
    report_page_provenance(t, s->command);
    report_page_fact(t, "machine", s->cluster->name);
    report_page_fact(t, "cluster file", s->cluster->file);
    report_page_fact(t, "hash of its values", hash);
    wsc_text_add(t, "</tbody>\n</table>\n");
}

/* The machine file as it was read, so that the page reproduces. */
static void add_cluster_text(struct wsc_text *t, const struct report_scaling *s)
{
    if (!s->cluster_text) return;
    wsc_text_add(t, "<h2>The cluster file</h2>\n<pre>");
    out_text_html(t, s->cluster_text);
    wsc_text_add(t, "</pre>\n");
}

enum wsc_err report_html_write(const char *dir, const struct report_view *v)
{
    enum wsc_err rc;
    struct wsc_text t = {0}, labels = {0};
    add_head(&t, v->in->scaling, v->in->cluster->name);
    TRY_GOTO(add_headline(&t, v), cleanup);
    wsc_text_add(&t, "<h2>Throughput against node count</h2>\n");
    report_plot_labels(&labels, v);
    TRY_GOTO(wsc_text_check(&labels), cleanup);
    TRY_GOTO(report_page_picture(&t, dir, "scaling.svg",
                                 "Both axes are logarithmic. Dashed: linear scaling from the "
                                 "first point of each model.",
                                 labels.bytes),
             cleanup);
    add_models(&t, v);
    add_points(&t, v);
    TRY_GOTO(report_study_html(&t, dir, v->in), cleanup);
    report_page_constants(&t, v->in->cluster);
    add_provenance(&t, v->in);
    add_cluster_text(&t, v->in);
    report_page_end(&t);
    TRY_GOTO(out_text_write(&t, dir, "report.html"), cleanup);
cleanup:
    wsc_text_free(&labels);
    wsc_text_free(&t);
    return rc;
}
