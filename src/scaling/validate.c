// SPDX-License-Identifier: Apache-2.0
#include "scaling_impl.h"

#include <wsc/hw.h>
#include <wsc/mem.h>

#include <math.h>
#include <string.h>

/* ---- constants that may be fitted ------------------------------------------------------------ */

const struct scaling_fittable *scaling_fittables(int *n)
{
    static const struct scaling_fittable table[REPORT_MAX_CALIBRATED] = {
        {.path = "wafer.stage_latency", .neutral = 0, .low = 0, .high = 1e11, .step = 5e8},
        {.path = "memoryx.update_rate",
         .neutral = 1e18,
         .low = 1e7,
         .high = 1e18,
         .step = 1e-10, /* 1e-7 .. 1e-18 s a parameter */
         .inverse = true},
        {.path = "wafer.kernel_factor", .neutral = 1, .low = 0.5, .high = 2, .step = 0.1}};
    *n = REPORT_MAX_CALIBRATED;
    return table;
}

static enum wsc_err set_neutral(struct hw_machine *cluster)
{
    int n;
    const struct scaling_fittable *f = scaling_fittables(&n);
    for (int i = 0; i < n; i++) {
        struct hw_constant constant;
        TRY(hw_constant_find(f[i].path, &constant));
        TRY(hw_constant_set(&constant, cluster, f[i].neutral));
    }
    return WSC_OK;
}

/* ---- one row --------------------------------------------------------------------------------- */

static int64_t picoseconds(const struct hw_machine *cluster, double cycles)
{
    return llround(cycles * 1e12 / (double)cluster->wafer.clock_hz);
}

static enum wsc_err fill_parts(const struct scaling_case *item, const struct hw_machine *cluster,
                               struct report_prediction *p)
{
    struct scaling_parts parts;
    TRY(scaling_parts_of(&item->params, cluster, &parts));
    p->lanes = parts.lanes;
    p->micro_batch = parts.micro_batch;
    p->products_ps = picoseconds(cluster, parts.cycles.products);
    p->attention_ps = picoseconds(cluster, parts.cycles.attention);
    p->elementwise_ps = picoseconds(cluster, parts.cycles.elementwise);
    p->recompute_ps = picoseconds(cluster, parts.cycles.recompute);
    p->latency_ps = parts.latency_ps;
    p->jitter_ps = p->breakdown.compute_ps - p->products_ps - p->attention_ps - p->elementwise_ps -
                   p->recompute_ps - p->latency_ps;
    return WSC_OK;
}

static enum wsc_err fill_neutral(const struct scaling_case *item, struct report_prediction *p)
{
    struct hw_machine cluster = *item->cluster; /* a shallow copy: only numbers differ */
    struct report_scale_row row;
    TRY(set_neutral(&cluster));
    TRY(scaling_predict(item, &cluster, &p->neutral, &row));
    p->mfu_neutral = row.mfu;
    return WSC_OK;
}

/* Each calibrated constant a tenth larger, one at a time. */
static enum wsc_err fill_sensitivity(const struct scaling_case *item,
                                     const struct report_validation *v, struct report_prediction *p)
{
    const double tenth = 1.1;
    for (int i = 0; i < v->n_calibrated; i++) {
        struct hw_machine cluster = *item->cluster;
        struct hw_constant constant;
        double changed;
        TRY(hw_constant_find(v->calibrated[i]->key, &constant));
        TRY(hw_constant_set(&constant, &cluster,
                            hw_constant_get(&constant, item->cluster) * tenth));
        TRY(scaling_predict(item, &cluster, &changed, NULL));
        p->sensitivity[i] = p->predicted > 0 ? changed / p->predicted - 1 : 0;
    }
    return WSC_OK;
}

static enum wsc_err predict_row(const struct scaling_case *item, const struct report_validation *v,
                                struct report_prediction *p)
{
    struct report_scale_row row;
    p->ref = item->ref;
    TRY(scaling_predict(item, item->cluster, &p->predicted, &row));
    p->step_time_ps = row.step_time_ps;
    p->mfu = row.mfu;
    p->breakdown = row.breakdown;
    TRY(fill_parts(item, item->cluster, p));
    TRY(fill_neutral(item, p));
    return fill_sensitivity(item, v, p);
}

/* ---- all rows -------------------------------------------------------------------------------- */

/* Constants of kind calibrated, of the first machine that has any. */
static void find_calibrated(const struct scaling_cases *cases, struct report_validation *v)
{
    for (int i = 0; i < cases->n && !v->n_calibrated; i++) {
        const struct hw_machine *c = cases->item[i].cluster;
        for (int s = 0; s < c->n_sources; s++) {
            bool fitted = !strcmp(c->source[s].kind, "calibrated");
            if (fitted && v->n_calibrated < REPORT_MAX_CALIBRATED)
                v->calibrated[v->n_calibrated++] = &c->source[s];
        }
    }
}

enum wsc_err scaling_validate(const struct scaling_comparison *comparison,
                              struct scaling_validation *out)
{
    *out = (struct scaling_validation){0};
    struct report_validation *v = &out->report;
    TRY(scaling_cases_load(&out->cases, comparison,
                           1U << REPORT_CALIBRATION | 1U << REPORT_VALIDATION));
    const int n = out->cases->n;
    struct report_prediction *row;
    TRY_NEW(row, WSC_MEM_SCALING, n + 1);
    v->row = row;
    v->n_rows = n;
    v->context = comparison->ref;
    v->n_context = comparison->n_refs;
    find_calibrated(out->cases, v);
    for (int i = 0; i < n; i++) {
        const struct scaling_case *item = &out->cases->item[i];
        if (comparison->progress)
            comparison->progress(comparison->progress_ctx, i, n, item->ref->id);
        enum wsc_err rc = predict_row(item, v, &row[i]);
        if (rc) return wsc_err_frame(rc, __FILE__, __LINE__, item->ref->id);
    }
    return WSC_OK;
}

void scaling_validation_fini(struct scaling_validation *v)
{
    wsc_free((struct report_prediction *)(uintptr_t)v->report.row);
    scaling_cases_free(&v->cases);
    *v = (struct scaling_validation){0};
}
