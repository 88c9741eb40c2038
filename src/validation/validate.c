// SPDX-License-Identifier: Apache-2.0
/* Predicts every published row that says enough: the figure, what it consists of, the figure
 * with neutral constants, and its sensitivity to each calibrated constant. */
#include "validation_impl.h"

#include <wsc/check.h>
#include <wsc/cluster.h>
#include <wsc/hw.h>
#include <wsc/log.h>
#include <wsc/mem.h>

#include <math.h>
#include <string.h>

/* ---- constants that may be fitted ------------------------------------------------------------ */

const struct validation_fittable *validation_fittables(int *n)
{
    static const struct validation_fittable table[] = {
        {.path = "wafer.stage_latency", .neutral = 0, .low = 0, .high = 1e11, .step = 5e8},
        {.path = "wafer.arrival_cycles", .neutral = 0, .low = 0, .high = 22, .step = 1},
        {.path = "wafer.simd_fmachs",
         .neutral = 2,
         .low = 0.5,
         .high = 4,
         .step = 0.1,
         .by_machine = true},
        {.path = "wafer.clock",
         .neutral = 1.1e9, /* by the announced peaks of both machines */
         .low = 0.5e9,
         .high = 1.5e9,
         .step = 0.05e9,
         .by_machine = true},
        {.path = "memoryx.update_rate",
         .neutral = 1e18,
         .low = 1e7,
         .high = 1e18,
         .step = 1e-10, /* 1e-7 .. 1e-18 s a parameter */
         .inverse = true},
        {.path = "wafer.kernel_factor", .neutral = 1, .low = 0.5, .high = 2, .step = 0.1}};
    *n = (int)(sizeof table / sizeof *table);
    return table;
}

const char *const *validation_fittable_paths(int *n)
{
    enum { ROOM = 8 };
    static const char *path[ROOM];
    const struct validation_fittable *f = validation_fittables(n);
    WSC_CHECK(*n <= ROOM, "%d constants", *n);
    for (int i = 0; i < *n; i++)
        path[i] = f[i].path;
    return path;
}

bool validation_calibrates(const struct hw_machine *machine, const char *path)
{
    for (int i = 0; i < machine->n_sources; i++)
        if (!strcmp(machine->source[i].key, path))
            return !strcmp(machine->source[i].kind, "calibrated");
    return false;
}

enum wsc_err validation_set_neutral(struct hw_machine *machine)
{
    int n;
    const struct validation_fittable *f = validation_fittables(&n);
    for (int i = 0; i < n; i++) {
        struct hw_constant constant;
        if (f[i].by_machine && !validation_calibrates(machine, f[i].path)) continue;
        TRY(hw_constant_find(f[i].path, &constant));
        TRY(hw_constant_set(&constant, machine, f[i].neutral));
    }
    return WSC_OK;
}

void validation_neutral_words(struct wsc_text *t)
{
    const double endless = 1e18; /* more than any machine has */
    int n;
    const struct validation_fittable *f = validation_fittables(&n);
    for (int i = 0; i < n; i++) {
        struct hw_constant constant;
        char value[48] = "0";
        if (f[i].neutral >= endless)
            (void)snprintf(value, sizeof value, "infinite");
        else if (f[i].neutral > 0 && !hw_constant_find(f[i].path, &constant))
            hw_constant_write(&constant, f[i].neutral, value, sizeof value);
        wsc_text_add(t, "%s%s %s%s", i ? ", " : "", f[i].path, value,
                     f[i].by_machine ? " (where it is calibrated)" : "");
    }
}

/* ---- one row --------------------------------------------------------------------------------- */

static enum wsc_err fill_parts(const struct validation_case *item, const struct scaling_row *row,
                               struct validation_prediction *p)
{
    struct validation_parts parts;
    TRY(validation_parts_of(item, row, &parts));
    p->lanes = parts.lanes;
    p->micro_batch = row->micro_batch;
    p->products_ps = parts.products_ps;
    p->attention_ps = parts.attention_ps;
    p->elementwise_ps = parts.elementwise_ps;
    p->recompute_ps = parts.recompute_ps;
    p->latency_ps = parts.latency_ps;
    p->jitter_ps = p->breakdown.compute_ps - p->products_ps - p->attention_ps - p->elementwise_ps -
                   p->recompute_ps - p->latency_ps;
    return WSC_OK;
}

static enum wsc_err fill_neutral(const struct validation_case *item,
                                 struct validation_prediction *p)
{
    struct hw_machine cluster = *item->cluster; /* a shallow copy: only numbers differ */
    struct scaling_row row;
    TRY(validation_set_neutral(&cluster));
    TRY(validation_predict(item, &cluster, &p->neutral, &row));
    p->mfu_neutral = row.mfu;
    return WSC_OK;
}

/* Relative change of the figure by that of a constant, @p share of it; NaN when the key does not
 * have such a value, or the model does not fit the machine. */
static enum wsc_err change_by(const struct validation_case *item, const char *key, double share,
                              double predicted, double *change)
{
    struct hw_machine cluster = *item->cluster; /* a shallow copy: only numbers differ */
    struct hw_constant constant;
    double low, high, changed;
    *change = NAN;
    TRY(hw_constant_find(key, &constant));
    const double value = hw_constant_get(&constant, item->cluster) * (1 + share);
    hw_constant_range(&constant, &low, &high);
    if (!(value >= low && value <= high)) return WSC_OK;
    TRY(hw_constant_set(&constant, &cluster, value));
    const enum wsc_err rc = validation_predict(item, &cluster, &changed, NULL);
    if (rc == WSC_CAPACITY) return WSC_OK;
    if (!rc) *change = predicted > 0 ? changed / predicted - 1 : 0;
    return rc;
}

/* Each calibrated constant a tenth larger, or a tenth smaller, one at a time. */
static enum wsc_err fill_sensitivity(const struct validation_case *item,
                                     const struct validation_table *v,
                                     struct validation_prediction *p)
{
    const double tenth = 0.1;
    for (int i = 0; i < v->n_calibrated; i++) {
        const char *key = v->calibrated[i]->key;
        double smaller;
        TRY(change_by(item, key, tenth, p->predicted, &p->sensitivity[i]));
        if (isfinite(p->sensitivity[i])) continue;
        TRY(change_by(item, key, -tenth, p->predicted, &smaller));
        p->sensitivity[i] = -smaller;
    }
    return WSC_OK;
}

static enum wsc_err predict_row(const struct validation_case *item,
                                const struct validation_table *v, struct validation_prediction *p)
{
    struct scaling_row row;
    p->ref = item->ref;
    TRY(validation_predict(item, item->cluster, &p->predicted, &row));
    p->step_time_ps = row.step_time_ps;
    p->sample_tokens = row.tokens_per_s / row.samples_per_s;
    p->mfu = row.mfu;
    p->breakdown = row.breakdown;
    TRY(fill_parts(item, &row, p));
    TRY(fill_neutral(item, p));
    TRY(validation_spread(item, p->predicted, &p->spread, &p->n_machines));
    return fill_sensitivity(item, v, p);
}

/* ---- all rows -------------------------------------------------------------------------------- */

static bool is_listed(const struct validation_table *v, const char *key)
{
    for (int i = 0; i < v->n_calibrated; i++)
        if (!strcmp(v->calibrated[i]->key, key)) return true;
    return false;
}

/* Constants of kind calibrated that are numbers, of all machines, each once, as the first machine
 * has it. */
static void find_calibrated(const struct validation_cases *cases, struct validation_table *v)
{
    for (int i = 0; i < cases->n; i++) {
        const struct hw_machine *c = cases->item[i].cluster;
        for (int s = 0; s < c->n_sources; s++) {
            const bool fitted = !strcmp(c->source[s].kind, "calibrated");
            const bool room = v->n_calibrated < VALIDATION_MAX_CALIBRATED;
            struct hw_constant constant;
            if (fitted && room && !is_listed(v, c->source[s].key) &&
                !hw_constant_find(c->source[s].key, &constant))
                v->calibrated[v->n_calibrated++] = &c->source[s];
        }
    }
}

/* What the rows are computed from. */
struct rows {
    const struct validation_comparison *comparison;
    const struct validation_cases *cases;
    const struct validation_table *table;
};

static void show_row(void *ctx, int done, int i)
{
    const struct rows *r = ctx;
    const struct validation_comparison *c = r->comparison;
    if (!c->progress) return;
    c->progress(c->progress_ctx, "predict", done, r->cases->n, r->cases->item[i].ref->id);
}

static enum wsc_err compute_row(void *ctx, int i, void *row)
{
    const struct rows *r = ctx;
    const struct validation_case *item = &r->cases->item[i];
    enum wsc_err rc = predict_row(item, r->table, row);
    return rc ? wsc_err_frame(rc, __FILE__, __LINE__, item->ref->id) : WSC_OK;
}

/* Length of the option at the beginning of a warning, such as `--set cluster.jitter: `; or 0. */
static size_t option_of(const char *warning)
{
    const size_t prefix = sizeof VALIDATION_SET_OPTION - 1;
    if (strncmp(warning, VALIDATION_SET_OPTION, prefix) != 0) return 0;
    const char *end = strstr(warning, ": ");
    return end ? (size_t)(end - warning) + 2 : 0;
}

/* True when a row has a warning that begins with the first @p n bytes of @p option. */
static bool has_warning(const struct validation_case *item, const char *option, size_t n)
{
    for (int i = 0; i < item->params.n_warnings; i++)
        if (!strncmp(item->params.warning[i].text, option, n)) return true;
    return false;
}

/* Report the options --set that have no effect on any row, with the reason of the first row. */
static enum wsc_err warn_of_sets(struct validation_cases *cases)
{
    for (int i = 0; i < cases->n; i++) {
        struct validation_case *item = &cases->item[i];
        const bool whole = item->ref->quantity == VALIDATION_TRAINING_TIME;
        const struct cluster_use use = {.kind = whole ? CLUSTER_USE_TRAININGS : CLUSTER_USE_SWEEP,
                                        .params = &item->params,
                                        .machine = item->cluster,
                                        .num_csx = item->params.runconfig.num_csx};
        TRY(cluster_warn_idle(&use, &item->params));
    }
    for (int k = 0; cases->n && k < cases->item->params.n_warnings; k++) {
        const char *text = cases->item->params.warning[k].text;
        const size_t n = option_of(text);
        bool everywhere = n > 0;
        for (int i = 1; i < cases->n && everywhere; i++)
            everywhere = has_warning(&cases->item[i], text, n);
        if (everywhere) WSC_WARNING("%s", text);
    }
    return WSC_OK;
}

enum wsc_err validation_run(const struct validation_comparison *comparison,
                            struct validation_result *out)
{
    *out = (struct validation_result){0};
    struct validation_table *v = &out->report;
    TRY(validation_cases_load(&out->cases, comparison,
                              1U << VALIDATION_KIND_CALIBRATION | 1U << VALIDATION_KIND_VALIDATION |
                                  1U << VALIDATION_KIND_CONTEXT,
                              false));
    TRY(warn_of_sets(out->cases));
    validation_warn_of_own(out->cases);
    const int n = out->cases->n;
    struct validation_prediction *row;
    TRY_NEW(row, WSC_MEM_SCALING, n + 1);
    v->row = row;
    v->n_rows = n;
    v->figure = comparison->ref;
    v->n_figures = comparison->n_refs;
    find_calibrated(out->cases, v);
    struct rows rows = {comparison, out->cases, v};
    const struct scaling_items items = {.item = row,
                                        .bytes = sizeof *row,
                                        .n = n,
                                        .compute = compute_row,
                                        .progress = show_row,
                                        .ctx = &rows};
    TRY(scaling_share(comparison->comm, &items));
    for (int i = 0; i < n; i++)
        row[i].ref = out->cases->item[i].ref; /* an address of this process */
    validation_set_bands(v, row);
    return WSC_OK;
}

void validation_result_fini(struct validation_result *v)
{
    wsc_free((struct validation_prediction *)(uintptr_t)v->report.row);
    validation_cases_free(&v->cases);
    *v = (struct validation_result){0};
}
