// SPDX-License-Identifier: Apache-2.0
/* Writes the sections of report.html on the parameters of a curve: effects, faults, swept
 * constants, sensitivity, whole trainings, the breakdown of a step. */
#include "html_page.h"
#include "scaling_output.h"
#include "step_table.h"

#include <wsc/mem.h>

#include <math.h>
#include <string.h>

enum { MOST_PARTS = VTIME_N_PARTS, MOST_KINDS = 16 };

/* ---- variants -------------------------------------------------------------------------------- */

/* A table of variants: rates at each count, and their change against the first. */
static void add_variants(struct wsc_text *t, const struct report_scaling *s,
                         const struct scaling_variant *v, int n)
{
    report_page_table(t, "machine|model|systems>|tokens/s>|against the first>");
    for (int i = 0; i < s->n_rows; i++) {
        /* The largest node count of each model shows most. */
        if (i + 1 < s->n_rows && !strcmp(s->row[i].model, s->row[i + 1].model)) continue;
        for (int k = 0; k < n; k++) {
            char rate[32];
            const struct scaling_row *r = &v[k].row[i];
            out_si(rate, sizeof rate, r->tokens_per_s);
            wsc_text_add(t, "<tr>");
            report_page_cell(t, v[k].name, false);
            report_page_cell(t, r->model, false);
            report_page_number(t, 0, (double)r->num_csx, "");
            report_page_value(t, rate, r->tokens_per_s);
            report_page_change(t, r->tokens_per_s / v[0].row[i].tokens_per_s);
            wsc_text_add(t, "</tr>\n");
        }
    }
    report_page_table_end(t);
}

/* ---- sensitivity ----------------------------------------------------------------------------- */

/* Constants by their effect at the largest count. */
static void add_sensitivity(struct wsc_text *t, const struct scaling_sensitivity *s)
{
    char low[OUT_PERCENT_SIZE], high[OUT_PERCENT_SIZE];
    const int last = s->n_counts - 1;
    wsc_text_add(t, "<h3>");
    out_text_html(t, s->model);
    wsc_text_add(t, " on %lld systems: %s to %s, all constants together</h3>\n",
                 (long long)s->num_csx[last], out_change(low, 1, s->below[last] - 1),
                 out_change(high, 1, s->above[last] - 1));
    report_page_table(t, "constant|kind|value>|low>|high>|tokens/s at low>|at high>");
    for (int k = 0; k < s->n; k++) {
        const struct scaling_constant *c = &s->constant[k];
        wsc_text_add(t, "<tr>");
        report_page_cell(t, c->key, false);
        report_page_cell(t, c->kind, false);
        report_page_cell(t, c->value, true);
        report_page_cell(t, c->low, true);
        report_page_cell(t, c->high, true);
        report_page_change(t, c->at_low[last]);
        report_page_change(t, c->at_high[last]);
        wsc_text_add(t, "</tr>\n");
    }
    report_page_table_end(t);
}

/* ---- training -------------------------------------------------------------------------------- */

/* Whole trainings: time, energy, FLOPs, expected loss. */
static void add_trainings(struct wsc_text *t, const struct report_scaling *s)
{
    wsc_text_add(t, "<h2>A whole training</h2>\n<p>Expected loss: the scaling law of "
                    "Cerebras-GPT (arXiv 2304.03208) for this compute, nats per token on the "
                    "Pile, of decoders whose weights are dense and all trained, on 10 to 40 tokens "
                    "per parameter; FLOP: dense equivalent, useful FLOP: of weights that are not "
                    "zero.</p>\n");
    report_page_table(
        t, "model|systems>|tokens>|time>|evaluations>|checkpoints>|failures>|energy>|FLOP>|useful "
           "FLOP>|FLOP (Hoffmann et al.)>|expected loss>");
    for (int i = 0; i < s->n_trainings; i++) {
        const struct scaling_training *r = &s->training[i];
        char text[48];
        wsc_text_add(t, "<tr>");
        report_page_cell(t, r->model, false);
        report_page_number(t, 0, (double)r->num_csx, "");
        out_params(text, sizeof text, (int64_t)r->tokens);
        report_page_value(t, text, r->tokens);
        out_duration(text, sizeof text, r->seconds);
        report_page_value(t, text, r->seconds);
        report_page_number(t, 2, 100 * r->eval_s / r->seconds, " %");
        report_page_number(t, 2, 100 * r->checkpoint_s / r->seconds, " %");
        report_page_number(t, 2, 100 * scaling_restart_fraction(r), " %");
        out_si_unit(text, sizeof text, r->joules / 3600, "Wh");
        report_page_value(t, text, r->joules / 3600);
        (void)snprintf(text, sizeof text, "%.3g", r->flop);
        report_page_value(t, text, r->flop);
        (void)snprintf(text, sizeof text, "%.3g", r->flop_useful);
        report_page_value(t, text, r->flop_useful);
        (void)snprintf(text, sizeof text, "%.3g", r->flop_hoffmann);
        report_page_value(t, text, r->flop_hoffmann);
        if (isnan(r->loss))
            report_page_cell(t, "-", false);
        else
            report_page_number(t, 3, r->loss, "");
        wsc_text_add(t, "</tr>\n");
    }
    report_page_table_end(t);
}

/* ---- one step -------------------------------------------------------------------------------- */

/* A time as a percentage of the step. */
static double percent(const struct timeline_step *a, int64_t ps)
{
    return 100.0 * (double)ps / (double)a->step_time_ps;
}

/* The longest modules of the step. */
static void add_modules(struct wsc_text *t, const struct timeline_step *a,
                        const struct timeline_module *m, int n, const char *heads)
{
    report_page_table(t, heads);
    for (int i = 0; i < n; i++) {
        wsc_text_add(t, "<tr>");
        report_page_cell(t, m[i].name, false);
        report_page_number(t, 6, (double)m[i].ps * 1e-9, "");
        report_page_number(t, 4, percent(a, m[i].ps), " %");
        wsc_text_add(t, "</tr>\n");
    }
    report_page_table_end(t);
}

/* The critical path by kind of segment. */
static enum wsc_err add_groups(struct wsc_text *t, const struct timeline_step *a)
{
    struct report_group *g = NULL;
    int n = 0;
    TRY(report_path_groups(a, &g, &n));
    report_page_table(t, "segments of the path, by kind|number>|time, ms>|fraction>");
    for (int i = 0; i < n; i++) {
        wsc_text_add(t, "<tr>");
        report_page_cell(t, g[i].name, false);
        report_page_number(t, 0, g[i].n, "");
        report_page_number(t, 6, (double)g[i].ps * 1e-9, "");
        report_page_number(t, 4, percent(a, g[i].ps), " %");
        wsc_text_add(t, "</tr>\n");
    }
    report_page_table_end(t);
    wsc_free(g);
    return WSC_OK;
}

/* Load of the links. */
static void add_links(struct wsc_text *t, const struct timeline_step *a)
{
    struct report_link_kind kind[MOST_KINDS];
    const int n = report_link_kinds(a, kind, MOST_KINDS);
    report_page_table(t, "links|number>|bytes each>|busy, least>|busy, most>");
    for (int i = 0; i < n; i++) {
        char bytes[32];
        out_si_unit(bytes, sizeof bytes, (double)kind[i].bytes / kind[i].n, "B");
        wsc_text_add(t, "<tr>");
        report_page_cell(t, kind[i].name, false);
        report_page_number(t, 0, kind[i].n, "");
        report_page_value(t, bytes, (double)kind[i].bytes / kind[i].n);
        report_page_number(t, 2, percent(a, kind[i].least_busy_ps), " %");
        report_page_number(t, 2, percent(a, kind[i].most_busy_ps), " %");
        wsc_text_add(t, "</tr>\n");
    }
    report_page_table_end(t);
}

static enum wsc_err add_breakdown(struct wsc_text *t, const struct timeline_step *a)
{
    struct timeline_module part[MOST_PARTS];
    char time[32];
    out_step_time(time, sizeof time, a->step_time_ps);
    wsc_text_add(t, "<h2>One step of ");
    out_text_html(t, a->model);
    wsc_text_add(t, " on %lld systems: %s</h2>\n<h3>By module, on the slowest wafer</h3>\n",
                 (long long)a->num_csx, time);
    add_modules(t, a, a->module, a->n_modules, "module|time, ms>|fraction>");
    wsc_text_add(t, "<h3>Critical path</h3>\n<p>From the end of the last wafer back through "
                    "what each event waited for; the parts add up to the step.</p>\n");
    const int n = report_path_parts(a, part, MOST_PARTS);
    add_modules(t, a, part, n, "part|time, ms>|fraction>");
    TRY(add_groups(t, a));
    wsc_text_add(t, "<h3>Links</h3>\n");
    add_links(t, a);
    return WSC_OK;
}

enum wsc_err report_study_html(struct wsc_text *t, const char *dir, const struct report_scaling *s)
{
    if (s->n_effects) {
        wsc_text_add(t, "<h2>Scaling-loss breakdown</h2>\n<p>The sweep with one mechanism switched "
                        "off at a time.</p>\n");
        add_variants(t, s, s->effect, s->n_effects);
    }
    if (s->n_faults) {
        wsc_text_add(t, "<h2>Cost of faults</h2>\n<p>The sweep without one fault at a time.</p>\n");
        add_variants(t, s, s->fault, s->n_faults);
    }
    if (s->n_varied) {
        wsc_text_add(t, "<h2>Sweep of <code>%s</code></h2>\n", s->varied_key);
        TRY(s->varied_all
                ? report_page_picture(t, dir, "sparsity.svg",
                                      "Speedup over dense weights, with the ratio of FLOPs and "
                                      "a machine that takes nothing for zeros.",
                                      NULL)
                : report_page_picture(t, dir, "sweep.svg",
                                      "Throughput relative to the first value, at each model's "
                                      "largest node count.",
                                      NULL));
        add_variants(t, s, s->varied, s->n_varied);
        if (s->varied_all) {
            wsc_text_add(t, "<p>With all weight gradients computed:</p>\n");
            add_variants(t, s, s->varied_all, s->n_varied);
        }
    }
    if (s->n_sensitivities) {
        wsc_text_add(t, "<h2>Sensitivity to the constants</h2>\n");
        TRY(report_page_picture(t, dir, "tornado.svg",
                                "One constant at a time moves to the ends of its range.", NULL));
    }
    for (int i = 0; i < s->n_sensitivities; i++)
        add_sensitivity(t, &s->sensitivity[i]);
    if (s->n_trainings) add_trainings(t, s);
    for (int i = 0; i < s->n_breakdowns; i++)
        TRY(add_breakdown(t, &s->breakdown[i]));
    return WSC_OK;
}
