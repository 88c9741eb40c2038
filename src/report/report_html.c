// SPDX-License-Identifier: Apache-2.0
/* report.html of a sweep: one self-contained page with the plots as inline SVG, tables, the
 * constants of the machine with their sources, provenance and the machine file. */
#include "scaling_output.h"

#include <wsc/mem.h>

#include <math.h>
#include <string.h>

enum { MAX_HEADLINE_COLUMNS = 10 };

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

/* Text of a cell, escaped. */
static void add_cell(struct wsc_text *t, const char *s)
{
    wsc_text_add(t, "<td>");
    out_text_html(t, s ? s : "");
    wsc_text_add(t, "</td>");
}

static void add_head(struct wsc_text *t, const char *scaling, const char *machine)
{
    wsc_text_add(t, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                    "<title>");
    wsc_text_add(t, "Scaling of ");
    out_text_html(t, machine);
    wsc_text_add(t, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<h1>Training throughput, ",
                 style);
    out_text_html(t, scaling);
    wsc_text_add(t, " scaling on emulated ");
    out_text_html(t, machine);
    wsc_text_add(t, " systems</h1>\n<p class=\"lead\">Every figure is virtual time of the "
                    "emulated machine whose constants are listed below.</p>\n");
}

static void add_model_name(struct wsc_text *t, const struct scaling_row *r)
{
    char params[32];
    out_params(params, sizeof params, r->params);
    out_text_html(t, r->model);
    wsc_text_add(t, "</td><td class=\"n\">%s</td>", params);
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
    wsc_text_add(t, "<td class=\"n\">%s<small>%.1f %%</small></td>", rate, 100.0 * r->efficiency);
}

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

static void add_bar(struct wsc_text *t, const double share[static REPORT_N_PARTS])
{
    wsc_text_add(t, "<td><div class=\"bar\">");
    for (int i = 0; i < REPORT_N_PARTS; i++)
        if (share[i] > 0)
            wsc_text_add(t,
                         "<span class=\"p%d\" style=\"width:%.2f%%\" title=\"%s %.1f %%\">"
                         "</span>",
                         i, 100.0 * share[i], report_part_name[i], 100.0 * share[i]);
    wsc_text_add(t, "</div></td>");
    for (int i = 0; i < REPORT_N_PARTS; i++)
        wsc_text_add(t, "<td class=\"n\">%.1f %%</td>", 100.0 * share[i]);
}

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
    wsc_text_add(t,
                 "<tr><td class=\"n\">%lld</td><td class=\"n\">%lld</td><td class=\"n\">%lld"
                 "</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%.2f</td>"
                 "<td class=\"n\">%.1f %%</td><td class=\"n\">%.1f %%</td>"
                 "<td class=\"n\">%s</td>",
                 (long long)r->num_csx, (long long)r->global_batch, (long long)r->micro_batch, step,
                 rate, r->speedup, 100.0 * r->efficiency, 100.0 * r->mfu, energy);
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
    add_cell(t, p->model);
    wsc_text_add(t, "<td class=\"n\">%g</td><td class=\"n\">%s</td>", p->num_csx, published);
    if (here) {
        out_si(predicted, sizeof predicted, here->tokens_per_s);
        wsc_text_add(t, "<td class=\"n\">%s</td><td class=\"n\">%+.1f %%</td>", predicted,
                     100.0 * (here->tokens_per_s / p->tokens_per_s - 1.0));
    } else {
        wsc_text_add(t, "<td class=\"n\">–</td><td class=\"n\">–</td>");
    }
    add_cell(t, p->source);
    wsc_text_add(t, "</tr>\n");
}

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

static void add_constants(struct wsc_text *t, const struct hw_machine *c)
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
        add_cell(t, s->source);
        wsc_text_add(t, "</tr>\n");
    }
    wsc_text_add(t, "</tbody>\n</table></div>\n");
}

static void add_fact(struct wsc_text *t, const char *name, const char *value)
{
    if (!value) return;
    wsc_text_add(t, "<tr><th scope=\"row\">%s</th><td><code>", name);
    out_text_html(t, value);
    wsc_text_add(t, "</code></td></tr>\n");
}

static void add_provenance(struct wsc_text *t, const struct report_scaling *s)
{
    char date[OUT_DATE_SIZE], host[256], hash[24];
    out_date(date);
    out_host(host, sizeof host);
    (void)snprintf(hash, sizeof hash, "%016llx", (unsigned long long)s->cluster->hash);
    wsc_text_add(t, "<h2>Provenance</h2>\n<table>\n<tbody>\n");
    add_fact(t, "program", out_version());
    add_fact(t, "command", s->command);
    add_fact(t, "date", date);
    add_fact(t, "host", host);
    add_fact(t, "machine", s->cluster->name);
    add_fact(t, "cluster file", s->cluster->file);
    add_fact(t, "hash of its values", hash);
    wsc_text_add(t, "</tbody>\n</table>\n");
}

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
    struct wsc_text t = {0};
    add_head(&t, v->in->scaling, v->in->cluster->name);
    TRY_GOTO(add_headline(&t, v), cleanup);
    wsc_text_add(&t, "<h2>Throughput against node count</h2>\n");
    TRY_GOTO(report_html_picture(&t, dir, "scaling.svg",
                                 "Both axes are logarithmic. Dashed: linear scaling from the "
                                 "first point of each model."),
             cleanup);
    add_models(&t, v);
    add_points(&t, v);
    TRY_GOTO(report_study_html(&t, dir, v->in), cleanup);
    add_constants(&t, v->in->cluster);
    add_provenance(&t, v->in);
    add_cluster_text(&t, v->in);
    wsc_text_add(&t, "</body>\n</html>\n");
    TRY_GOTO(out_text_write(&t, dir, "report.html"), cleanup);
cleanup:
    wsc_text_free(&t);
    return rc;
}
