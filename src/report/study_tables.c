// SPDX-License-Identifier: Apache-2.0
/* Writes the dependence of a curve on its parameters, as CSV files and as tables on stdout:
 * effects, faults, a swept constant, sensitivity, whole trainings. study_plot.c draws pictures. */
#include "html_page.h"
#include "scaling_output.h"
#include "sparsity_sweep.h"

#include <wsc/mem.h>

#include <math.h>
#include <string.h>

/* Most node counts of a table. */
enum { MOST_COLUMNS = 16 };

/* Rows of one variant are models times counts, as those of the sweep itself. */
static double rate_of(const struct scaling_variant *v, int i)
{
    return v->row[i].tokens_per_s;
}

/* ---- mechanisms and one constant ------------------------------------------------------------- */

/* A CSV with a line for each variant and row; against_first is the ratio to the first variant. */
static enum wsc_err write_variants(const char *dir, const char *name, const char *first,
                                   const struct scaling_variant *v, int n, int n_rows)
{
    struct wsc_text t = {0};
    wsc_text_add(&t, "%s,model,num_csx,tokens_per_s,step_time_ps,against_first\n", first);
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n_rows; i++) {
            out_text_csv(&t, *v[k].exact ? v[k].exact : v[k].name);
            wsc_text_add(&t, ",");
            out_text_csv(&t, v[k].row[i].model);
            wsc_text_add(&t, ",%lld", (long long)v[k].row[i].num_csx);
            out_text_csv_real(&t, rate_of(&v[k], i));
            wsc_text_add(&t, ",%lld", (long long)v[k].row[i].step_time_ps);
            out_text_csv_real(&t, rate_of(&v[k], i) / rate_of(&v[0], i));
            wsc_text_add(&t, "\n");
        }
    return out_text_write(&t, dir, name);
}

/* A model's rates in one variant, and how they differ from the first one. */
static void add_variant_row(struct out_table *table, const struct scaling_variant *v, int k,
                            int first, int columns)
{
    out_table_cell(table, "%s", v[k].name);
    for (int i = first; i < first + columns; i++) {
        char rate[32], change[OUT_PERCENT_SIZE];
        out_si(rate, sizeof rate, rate_of(&v[k], i));
        if (k)
            out_table_cell(table, "%s %s", rate,
                           out_change(change, 2, rate_of(&v[k], i) / rate_of(&v[0], i) - 1));
        else
            out_table_cell(table, "%s", rate);
    }
}

/* A block of @p columns node counts from row @p first: a row per variant. */
static enum wsc_err print_counts(const struct report_scaling *s, const struct scaling_variant *v,
                                 int n, const char *what, int first, int columns)
{
    char align[MOST_COLUMNS + 2] = "l", text[MOST_COLUMNS][32];
    const char *head[MOST_COLUMNS + 1] = {what};
    struct out_table *table;
    for (int i = 0; i < columns; i++) {
        (void)snprintf(text[i], sizeof text[i], "%lld", (long long)s->row[first + i].num_csx);
        head[i + 1] = text[i];
        align[i + 1] = 'r';
    }
    (void)printf("\n%s, tokens/s on so many systems\n", s->row[first].model);
    TRY(out_table_new(&table, align, head));
    for (int k = 0; k < n; k++)
        add_variant_row(table, v, k, first, columns);
    enum wsc_err rc = out_table_print(table, stdout, 2);
    out_table_free(&table);
    return rc;
}

/* A table for each model, in blocks of node counts. */
static enum wsc_err print_variants(const struct report_scaling *s, const struct scaling_variant *v,
                                   int n, const char *what)
{
    for (int first = 0, end = 0; first < s->n_rows; first = end) {
        const int end_here = report_end_of_model(s, first);
        end = end_here - first < MOST_COLUMNS ? end_here : first + MOST_COLUMNS;
        TRY(print_counts(s, v, n, what, first, end - first));
    }
    return WSC_OK;
}

/* ---- sensitivity ----------------------------------------------------------------------------- */

/* sensitivity.csv has each constant at both ends of its range, band.csv the band of the curve. */
static enum wsc_err write_sensitivity(const char *dir, const struct report_scaling *s)
{
    struct wsc_text t = {0};
    wsc_text_add(&t, "model,num_csx,constant,kind,value,low,high,at_low,at_high\n");
    for (int m = 0; m < s->n_sensitivities; m++) {
        const struct scaling_sensitivity *one = &s->sensitivity[m];
        for (int i = 0; i < one->n_counts; i++)
            for (int k = 0; k < one->n; k++) {
                const struct scaling_constant *c = &one->constant[k];
                out_text_csv(&t, one->model);
                wsc_text_add(&t, ",%lld,%s,%s,%s,%s,%s", (long long)one->num_csx[i], c->key,
                             c->kind, c->exact.value, c->exact.low, c->exact.high);
                out_text_csv_real(&t, c->at_low[i]);
                out_text_csv_real(&t, c->at_high[i]);
                wsc_text_add(&t, "\n");
            }
    }
    TRY(out_text_write(&t, dir, "sensitivity.csv"));
    wsc_text_add(&t, "model,num_csx,tokens_per_s,low,high\n");
    for (int m = 0; m < s->n_sensitivities; m++) {
        const struct scaling_sensitivity *one = &s->sensitivity[m];
        for (int i = 0; i < one->n_counts; i++) {
            out_text_csv(&t, one->model);
            wsc_text_add(&t, ",%lld", (long long)one->num_csx[i]);
            out_text_csv_real(&t, one->tokens_per_s[i]);
            out_text_csv_real(&t, one->tokens_per_s[i] * one->below[i]);
            out_text_csv_real(&t, one->tokens_per_s[i] * one->above[i]);
            wsc_text_add(&t, "\n");
        }
    }
    return out_text_write(&t, dir, "band.csv");
}

/* A ratio as a change in percent. */
static void add_ratio(struct out_table *table, double ratio)
{
    char text[OUT_PERCENT_SIZE];
    out_table_cell(table, "%s", isnan(ratio) ? "does not fit" : out_change(text, 3, ratio - 1));
}

/* The row of the constants from @p first on: their number, and the largest change at each end. */
static void add_rest(struct out_table *table, const struct scaling_sensitivity *s, int first)
{
    const int last = s->n_counts - 1;
    double low = 0, high = 0;
    if (first >= s->n) return;
    for (int k = first; k < s->n; k++) {
        low = fmax(low, fabs(s->constant[k].at_low[last] - 1));
        high = fmax(high, fabs(s->constant[k].at_high[last] - 1));
    }
    out_table_cell(table, "%d other%s, all in sensitivity.csv", s->n - first,
                   wsc_plural(s->n - first));
    for (int column = 1; column <= 4; column++)
        out_table_cell(table, "%s", "");
    out_table_cell(table, "at most %.3f %%", 100 * low);
    out_table_cell(table, "at most %.3f %%", 100 * high);
}

/* Constants by their effect at the largest node count, and the band. */
static enum wsc_err print_sensitivity(const struct scaling_sensitivity *s)
{
    static const char *const head[] = {"constant", "kind",   "value",  "low",
                                       "high",     "at low", "at high"};
    struct out_table *table;
    char low[OUT_PERCENT_SIZE], high[OUT_PERCENT_SIZE];
    const int last = s->n_counts - 1;
    (void)printf("\n%s on %lld systems: throughput when one constant moves to the end of its "
                 "range\n",
                 s->model, (long long)s->num_csx[last]);
    TRY(out_table_new(&table, "llrrrrr", head));
    for (int k = 0; k < s->n && k < REPORT_MOST_CONSTANTS; k++) {
        const struct scaling_constant *c = &s->constant[k];
        out_table_cell(table, "%s", c->key);
        out_table_cell(table, "%s", c->kind);
        out_table_cell(table, "%s", c->value);
        out_table_cell(table, "%s", c->low);
        out_table_cell(table, "%s", c->high);
        add_ratio(table, c->at_low[last]);
        add_ratio(table, c->at_high[last]);
    }
    add_rest(table, s, REPORT_MOST_CONSTANTS);
    enum wsc_err rc = out_table_print(table, stdout, 2);
    out_table_free(&table);
    if (!rc)
        (void)printf("  together, with the correlation of calibrated constants: %s to %s\n",
                     out_change(low, 1, s->below[last] - 1),
                     out_change(high, 1, s->above[last] - 1));
    return rc;
}

/* ---- training -------------------------------------------------------------------------------- */

/* training.csv: a line for each model and node count. */
static enum wsc_err write_training(const char *dir, const struct report_scaling *s)
{
    struct wsc_text t = {0};
    wsc_text_add(&t, "model,params,num_csx,tokens,seconds,joules,flop,expected_loss,flop_hoffmann,"
                     "checkpoint_s,restart_s,flop_useful,eval_s\n");
    for (int i = 0; i < s->n_trainings; i++) {
        const struct scaling_training *r = &s->training[i];
        out_text_csv(&t, r->model);
        wsc_text_add(&t, ",%lld,%lld", (long long)r->params, (long long)r->num_csx);
        out_text_csv_real(&t, r->tokens);
        out_text_csv_real(&t, r->seconds);
        out_text_csv_real(&t, r->joules);
        out_text_csv_real(&t, r->flop);
        out_text_csv_real(&t, r->loss);
        out_text_csv_real(&t, r->flop_hoffmann);
        out_text_csv_real(&t, r->checkpoint_s);
        out_text_csv_real(&t, r->restart_s);
        out_text_csv_real(&t, r->flop_useful);
        out_text_csv_real(&t, r->eval_s);
        wsc_text_add(&t, "\n");
    }
    return out_text_write(&t, dir, "training.csv");
}

/* Whole trainings in human units. */
static enum wsc_err print_training(const struct report_scaling *s)
{
    static const char *const head[] = {
        "model",    "systems", "tokens", "time",        "evaluations",     "checkpoints",
        "failures", "energy",  "FLOP",   "useful FLOP", "FLOP (Hoffmann)", "expected loss"};
    struct out_table *table;
    TRY(out_table_new(&table, "lrrrrrrrrrrr", head));
    for (int i = 0; i < s->n_trainings; i++) {
        const struct scaling_training *r = &s->training[i];
        char tokens[32], time[32], energy[32];
        out_params(tokens, sizeof tokens, (int64_t)r->tokens);
        out_duration(time, sizeof time, r->seconds);
        out_si_unit(energy, sizeof energy, r->joules / 3600, "Wh");
        out_table_cell(table, "%s", r->model);
        out_table_cell(table, "%lld", (long long)r->num_csx);
        out_table_cell(table, "%s", tokens);
        out_table_cell(table, "%s", time);
        out_table_cell(table, "%.2f %%", 100 * r->eval_s / r->seconds);
        out_table_cell(table, "%.2f %%", 100 * r->checkpoint_s / r->seconds);
        out_table_cell(table, "%.2f %%", 100 * scaling_restart_fraction(r));
        out_table_cell(table, "%s", energy);
        out_table_cell(table, "%.3g", r->flop);
        out_table_cell(table, "%.3g", r->flop_useful);
        out_table_cell(table, "%.3g", r->flop_hoffmann);
        if (isnan(r->loss))
            out_table_cell(table, "-");
        else
            out_table_cell(table, "%.3f", r->loss);
    }
    (void)printf(
        "\na whole training; the loss is what the scaling law of Cerebras-GPT expects on the Pile, "
        "nats per token, of decoders whose weights are dense and all trained,\non 10 to 40 tokens "
        "per parameter; FLOP: matrix products, dense equivalent; useful: of weights that are not "
        "zero; FLOP (Hoffmann): with embedding and softmax, as publications count, and as the law "
        "takes it\n");
    enum wsc_err rc = out_table_print(table, stdout, 2);
    out_table_free(&table);
    return rc;
}

/* ---- all of them ----------------------------------------------------------------------------- */

enum wsc_err report_study_write(const char *dir, const struct report_scaling *s)
{
    if (s->n_effects)
        TRY(write_variants(dir, "effects.csv", "machine", s->effect, s->n_effects, s->n_rows));
    if (s->n_faults)
        TRY(write_variants(dir, "faults.csv", "machine", s->fault, s->n_faults, s->n_rows));
    if (s->n_varied)
        TRY(write_variants(dir, "sweep.csv", s->varied_key, s->varied, s->n_varied, s->n_rows));
    if (s->varied_all) TRY(report_sparsity_write(dir, s));
    if (s->n_sensitivities) TRY(write_sensitivity(dir, s));
    for (int i = 0; i < s->n_breakdowns && !i; i++)
        TRY(report_step_write(dir, &s->breakdown[i]));
    return s->n_trainings ? write_training(dir, s) : WSC_OK;
}

enum wsc_err report_study_print(const struct report_scaling *s)
{
    if (s->n_effects) TRY(print_variants(s, s->effect, s->n_effects, "mechanisms"));
    if (s->n_faults) TRY(print_variants(s, s->fault, s->n_faults, "faults"));
    if (s->varied_all)
        TRY(report_sparsity_print(s));
    else if (s->n_varied)
        TRY(print_variants(s, s->varied, s->n_varied, s->varied_key));
    for (int i = 0; i < s->n_sensitivities; i++)
        TRY(print_sensitivity(&s->sensitivity[i]));
    if (s->n_trainings) TRY(print_training(s));
    for (int i = 0; i < s->n_breakdowns; i++)
        TRY(report_step_print(&s->breakdown[i]));
    return WSC_OK;
}
