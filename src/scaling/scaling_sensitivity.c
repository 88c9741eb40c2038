// SPDX-License-Identifier: Apache-2.0
/* Sensitivity of a curve: every uncertain constant at both ends of its range, one at a time, and
 * the band of the curve, with the deviations to one side added as squares, those of constants that
 * were fitted together with their correlation.  `wsc scale --sensitivity` and `wsc reproduce` show
 * both. */
#include <wsc/scaling.h>

#include <wsc/check.h>
#include <wsc/mem.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void scaling_sensitivity_free(struct scaling_sensitivity *s)
{
    for (int i = 0; i < s->n; i++) {
        wsc_free(s->constant[i].at_low);
        wsc_free(s->constant[i].at_high);
    }
    wsc_free(s->constant);
    wsc_free(s->num_csx);
    wsc_free(s->below);
    wsc_free(s->above);
    wsc_free(s->tokens_per_s);
    *s = (struct scaling_sensitivity){0};
}

/* Tokens per second of one model by node count; NaN for the counts on which it does not fit the
 * machine. */
static enum wsc_err curve(const struct scaling_sweep *sweep, int model,
                          const struct hw_machine *cluster, double *tokens_per_s)
{
    struct scaling_sweep s = *sweep;
    struct scaling_row *row = NULL;
    s.cluster = cluster;
    s.model = &sweep->model[model];
    s.n_models = 1;
    s.leaves_out = true;
    s.progress = NULL;
    TRY(scaling_run(&s, &row));
    for (int i = 0; i < s.n_counts; i++)
        tokens_per_s[i] = *row[i].left_out ? NAN : row[i].tokens_per_s;
    wsc_free(row);
    return WSC_OK;
}

/* The machine of a comparison, and the curve it is compared with. */
struct base {
    struct hw_machine cluster;
    double *tokens_per_s; /* owned */
};

/* The curve with one constant at @p value, relative to the base. */
static enum wsc_err ratios(const struct scaling_sweep *sweep, int model, const struct base *base,
                           const struct hw_constant *c, double value, double **out)
{
    struct hw_machine cluster = base->cluster;
    TRY_NEW(*out, WSC_MEM_SCALING, sweep->n_counts);
    TRY(hw_constant_set(c, &cluster, value));
    TRY(curve(sweep, model, &cluster, *out));
    for (int i = 0; i < sweep->n_counts; i++)
        (*out)[i] /= base->tokens_per_s[i];
    return WSC_OK;
}

/* Both ends of one constant's range.  The constant `jitter` is compared with the curve that has it,
 * all others with the curve without, so that its sampling noise does not hide them. */
static enum wsc_err add_constant(const struct scaling_sweep *sweep, int model,
                                 const struct base base[2], const struct hw_source *source,
                                 struct scaling_sensitivity *s)
{
    struct hw_constant c;
    struct scaling_constant *out = &s->constant[s->n];
    TRY(hw_constant_find(source->key, &c));
    const struct base *b = &base[!strcmp(source->key, "jitter")];
    s->n++;
    *out = (struct scaling_constant){.key = source->key, .kind = source->kind};
    const double value = hw_constant_get(&c, sweep->cluster);
    hw_constant_show(&c, value, out->value, sizeof out->value);
    hw_constant_show(&c, source->low, out->low, sizeof out->low);
    hw_constant_show(&c, source->high, out->high, sizeof out->high);
    hw_constant_write_exact(&c, value, out->exact.value, sizeof out->exact.value);
    hw_constant_write_exact(&c, source->low, out->exact.low, sizeof out->exact.low);
    hw_constant_write_exact(&c, source->high, out->exact.high, sizeof out->exact.high);
    TRY(ratios(sweep, model, b, &c, source->low, &out->at_low));
    return ratios(sweep, model, b, &c, source->high, &out->at_high);
}

/* Constants whose range is more than a point. */
static enum wsc_err add_constants(const struct scaling_sweep *sweep, int model,
                                  const struct base base[2], struct scaling_sensitivity *s)
{
    const struct hw_machine *c = sweep->cluster;
    for (int i = 0; i < c->n_sources; i++) {
        if (!(c->source[i].low < c->source[i].high)) continue;
        if (sweep->progress)
            sweep->progress(sweep->progress_ctx, "sensitivity", i, c->n_sources, c->source[i].key);
        TRY(add_constant(sweep, model, base, &c->source[i], s));
    }
    return WSC_OK;
}

/* What the end of a range adds to one side of the band; nothing where the model does not fit. */
static double deviation(double ratio, bool above)
{
    if (isnan(ratio)) return 0;
    return fmax(above ? ratio - 1 : 1 - ratio, 0);
}

/* What a constant adds to one side of the band at count @p i; negative where its low end does. */
static double signed_deviation(const struct scaling_constant *c, int i, bool above)
{
    const double low = deviation(c->at_low[i], above), high = deviation(c->at_high[i], above);
    return high >= low ? high : -low;
}

/* Deviation to one side: d' R d, where R has the correlations of the constants' errors. */
static double one_side(const struct hw_machine *cluster, const struct scaling_sensitivity *s, int i,
                       bool above)
{
    double squares = 0;
    for (int k = 0; k < s->n; k++) {
        const double d = signed_deviation(&s->constant[k], i, above);
        squares += d * d;
        for (int m = 0; m < k; m++)
            squares += 2 * hw_correlation(cluster, s->constant[k].key, s->constant[m].key) * d *
                       signed_deviation(&s->constant[m], i, above);
    }
    return sqrt(fmax(squares, 0));
}

static void fill_band(const struct hw_machine *cluster, struct scaling_sensitivity *s)
{
    for (int i = 0; i < s->n_counts; i++) {
        s->below[i] = fmax(1 - one_side(cluster, s, i, false), 0);
        s->above[i] = 1 + one_side(cluster, s, i, true);
    }
}

/* Width of a constant's bar at the last count. */
static double width(const struct scaling_constant *c, int last)
{
    const double low = c->at_low[last], high = c->at_high[last];
    if (isnan(low) || isnan(high)) return 1;
    return fmax(fabs(low - 1), fabs(high - 1));
}

/* Insertion sort by width, largest first; equals stay in the order of the table. */
static void sort_constants(struct scaling_sensitivity *s)
{
    for (int i = 1; i < s->n; i++) {
        const struct scaling_constant moving = s->constant[i];
        const double w = width(&moving, s->n_counts - 1);
        int at = i;
        for (; at > 0 && width(&s->constant[at - 1], s->n_counts - 1) < w; at--)
            s->constant[at] = s->constant[at - 1];
        s->constant[at] = moving;
    }
}

/* base[0] is the machine without jitter, base[1] the machine as it is, whose curve is reported. */
static enum wsc_err fill(const struct scaling_sweep *sweep, int model, struct base base[2],
                         struct scaling_sensitivity *s)
{
    const int n = sweep->n_counts;
    s->model = sweep->model[model].name;
    s->n_counts = n;
    TRY_NEW(s->constant, WSC_MEM_SCALING, sweep->cluster->n_sources);
    TRY_NEW(s->num_csx, WSC_MEM_SCALING, n);
    TRY_NEW(s->below, WSC_MEM_SCALING, n);
    TRY_NEW(s->above, WSC_MEM_SCALING, n);
    TRY_NEW(s->tokens_per_s, WSC_MEM_SCALING, n);
    memcpy(s->num_csx, sweep->num_csx, (size_t)n * sizeof *s->num_csx);
    for (int i = 0; i < 2; i++) {
        base[i].cluster = *sweep->cluster;
        if (i == 0) base[i].cluster.jitter = 0;
        TRY_NEW(base[i].tokens_per_s, WSC_MEM_SCALING, n);
        TRY(curve(sweep, model, &base[i].cluster, base[i].tokens_per_s));
    }
    memcpy(s->tokens_per_s, base[1].tokens_per_s, (size_t)n * sizeof *s->tokens_per_s);
    TRY(add_constants(sweep, model, base, s));
    fill_band(sweep->cluster, s);
    sort_constants(s);
    return WSC_OK;
}

enum wsc_err scaling_sensitivity(const struct scaling_sweep *sweep, int model,
                                 struct scaling_sensitivity *out)
{
    struct base base[2] = {0};
    *out = (struct scaling_sensitivity){0};
    enum wsc_err rc = fill(sweep, model, base, out);
    wsc_free(base[0].tokens_per_s);
    wsc_free(base[1].tokens_per_s);
    if (rc) scaling_sensitivity_free(out);
    return rc;
}
