// SPDX-License-Identifier: Apache-2.0
/* The quantities of published figures, one row each: name, units, which direction is fast, and how
 * the emulator predicts it.  Rates, times and speedups come from one simulated step, a slope and an
 * intercept from the straight line through the steps of several batches.  validation_predict() is
 * called for each row of benchmarks/reference by validate.c and calibrate.c. */
#include "validation_impl.h"

#include <wsc/units.h>

#include <math.h>
#include <string.h>

/* ---- units ----------------------------------------------------------------------------------- */

/* Seconds of a unit of time, also of one that is per sequence. */
static double seconds_of(const char *unit)
{
    static const struct {
        const char *unit;
        double s;
    } times[] = {{"d", 86400}, {"h", 3600}, {"s", 1}, {"ms", 1e-3}, {"ms/sequence", 1e-3}};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (!strcmp(unit, times[i].unit)) return times[i].s;
    return NAN;
}

bool validation_figure_counts_tokens(const struct validation_figure *ref)
{
    return !strcmp(ref->unit, "tokens/s");
}

static double rate_of_time(const struct validation_figure *ref)
{
    return ref->samples / (ref->value * seconds_of(ref->unit));
}

static double rate_of_rate(const struct validation_figure *ref)
{
    return validation_figure_counts_tokens(ref) ? ref->value / (double)ref->msl : ref->value;
}

static double rate_of_step(const struct validation_figure *ref)
{
    return (double)ref->global_batch / (ref->value * seconds_of(ref->unit));
}

/* ---- predictions ----------------------------------------------------------------------------- */

static WSC_CHECKED enum wsc_err step_of(const struct validation_case *item,
                                        const struct hw_machine *cluster, int64_t num_csx,
                                        int64_t batch, struct scaling_row *row)
{
    const struct scaling_model model = {item->ref->id, &item->params};
    return item->ref->quantity == VALIDATION_EVAL_RATE
               ? scaling_evaluation(&model, cluster, num_csx, batch, row)
               : scaling_point(&model, cluster, num_csx, batch, row);
}

static WSC_CHECKED enum wsc_err predict_rate(const struct validation_case *item,
                                             const struct hw_machine *cluster,
                                             const struct scaling_row *row, double *value)
{
    (void)cluster;
    *value = validation_figure_counts_tokens(item->ref) ? row->tokens_per_s : row->samples_per_s;
    return WSC_OK;
}

static WSC_CHECKED enum wsc_err predict_time(const struct validation_case *item,
                                             const struct hw_machine *cluster,
                                             const struct scaling_row *row, double *value)
{
    (void)cluster;
    *value = item->ref->samples / row->samples_per_s / seconds_of(item->ref->unit);
    return WSC_OK;
}

/* With the checkpoints and evaluations that the params ask for, the failures that a training of
 * that length meets, and the mean step of a sparsity that changes over the steps. */
static WSC_CHECKED enum wsc_err predict_training(const struct validation_case *item,
                                                 const struct hw_machine *cluster,
                                                 const struct scaling_row *row, double *value)
{
    const struct scaling_model model = {item->ref->id, &item->params};
    const double tokens = item->ref->samples * (row->tokens_per_s / row->samples_per_s);
    struct scaling_training training;
    TRY(scaling_training_at(&model, cluster, row, tokens, 0, &training));
    *value = training.seconds / seconds_of(item->ref->unit);
    return WSC_OK;
}

static WSC_CHECKED enum wsc_err predict_step_time(const struct validation_case *item,
                                                  const struct hw_machine *cluster,
                                                  const struct scaling_row *row, double *value)
{
    (void)cluster;
    *value = wsc_seconds((double)row->step_time_ps) / seconds_of(item->ref->unit);
    return WSC_OK;
}

/* Throughput of num_csx systems over that of one with the same batch per system. */
static WSC_CHECKED enum wsc_err predict_speedup(const struct validation_case *item,
                                                const struct hw_machine *cluster,
                                                const struct scaling_row *row, double *value)
{
    const int64_t per_system = item->ref->global_batch / item->ref->num_csx;
    struct scaling_row one;
    TRY(step_of(item, cluster, 1, per_system > 0 ? per_system : 1, &one));
    *value = row->tokens_per_s / one.tokens_per_s;
    return WSC_OK;
}

static WSC_CHECKED enum wsc_err predict_efficiency(const struct validation_case *item,
                                                   const struct hw_machine *cluster,
                                                   const struct scaling_row *row, double *value)
{
    TRY(predict_speedup(item, cluster, row, value));
    *value /= (double)item->ref->num_csx;
    return WSC_OK;
}

static WSC_CHECKED enum wsc_err predict_boundary(const struct validation_case *item,
                                                 const struct hw_machine *cluster,
                                                 const struct scaling_row *row, double *value)
{
    (void)item, (void)cluster;
    *value = wsc_seconds((double)(row->breakdown.reduce_wait_ps + row->breakdown.boundary_ps));
    return WSC_OK;
}

/* Least squares of the step time, in s, against the batch: [0] intercept, [1] per sequence. */
static WSC_CHECKED enum wsc_err fit_line(const struct validation_case *item,
                                         const struct hw_machine *cluster,
                                         const struct scaling_row *row, double line[2])
{
    const struct validation_figure *ref = item->ref;
    const int n = ref->n_other_batches + 1;
    double batch = (double)row->global_batch, time = wsc_seconds((double)row->step_time_ps);
    double x = batch, y = time, xx = batch * batch, xy = batch * time;
    for (int i = 0; i < ref->n_other_batches; i++) {
        struct scaling_row other;
        TRY(step_of(item, cluster, ref->num_csx, ref->other_batch[i], &other));
        batch = (double)other.global_batch;
        time = wsc_seconds((double)other.step_time_ps);
        x += batch;
        y += time;
        xx += batch * batch;
        xy += batch * time;
    }
    line[1] = (n * xy - x * y) / (n * xx - x * x);
    line[0] = (y - line[1] * x) / n;
    return WSC_OK;
}

static WSC_CHECKED enum wsc_err predict_slope(const struct validation_case *item,
                                              const struct hw_machine *cluster,
                                              const struct scaling_row *row, double *value)
{
    double line[2] = {0};
    TRY(fit_line(item, cluster, row, line));
    *value = line[1] / seconds_of(item->ref->unit);
    return WSC_OK;
}

static WSC_CHECKED enum wsc_err predict_intercept(const struct validation_case *item,
                                                  const struct hw_machine *cluster,
                                                  const struct scaling_row *row, double *value)
{
    double line[2] = {0};
    TRY(fit_line(item, cluster, row, line));
    *value = line[0] / seconds_of(item->ref->unit);
    return WSC_OK;
}

/* ---- the table ------------------------------------------------------------------------------- */

static const struct quantity {
    const char *name;
    const char *unit[VALIDATION_MAX_UNITS]; /* none: any */
    enum validation_fast fast;
    bool derived;   /* from other published figures: no measurement of its own */
    bool bounds;    /* the published value is an upper bound */
    unsigned needs; /* a bit for each enum validation_need */
    enum wsc_err (*predict)(const struct validation_case *item, const struct hw_machine *cluster,
                            const struct scaling_row *row, double *value);
    double (*rate)(const struct validation_figure *ref); /* of a training; NULL: none */
} table[VALIDATION_OTHER + 1] = {
    [VALIDATION_TIME] = {.name = "time",
                         .unit = {"d", "h", "s", "ms"},
                         .fast = VALIDATION_FAST_IS_SMALL,
                         .needs = VALIDATION_NEEDS_SAMPLES,
                         .predict = predict_time,
                         .rate = rate_of_time},
    [VALIDATION_TRAINING_TIME] = {.name = "training_time",
                                  .unit = {"d", "h", "s"},
                                  .fast = VALIDATION_FAST_IS_SMALL,
                                  .needs = VALIDATION_NEEDS_SAMPLES,
                                  .predict = predict_training,
                                  .rate = rate_of_time},
    [VALIDATION_RATE] = {.name = "rate",
                         .unit = {"samples/s", "tokens/s"},
                         .fast = VALIDATION_FAST_IS_LARGE,
                         .predict = predict_rate,
                         .rate = rate_of_rate},
    [VALIDATION_EVAL_RATE] = {.name = "eval_rate",
                              .unit = {"samples/s", "tokens/s"},
                              .fast = VALIDATION_FAST_IS_LARGE,
                              .predict = predict_rate},
    [VALIDATION_STEP_TIME] = {.name = "step_time",
                              .unit = {"s", "ms"},
                              .fast = VALIDATION_FAST_IS_SMALL,
                              .predict = predict_step_time,
                              .rate = rate_of_step},
    [VALIDATION_SLOPE] = {.name = "slope",
                          .unit = {"ms/sequence"},
                          .fast = VALIDATION_FAST_IS_SMALL,
                          .needs = VALIDATION_NEEDS_BATCHES,
                          .derived = true,
                          .predict = predict_slope},
    [VALIDATION_INTERCEPT] = {.name = "intercept",
                              .unit = {"s", "ms"},
                              .fast = VALIDATION_FAST_IS_SMALL,
                              .needs = VALIDATION_NEEDS_BATCHES,
                              .derived = true,
                              .predict = predict_intercept},
    [VALIDATION_SPEEDUP] = {.name = "speedup",
                            .unit = {"1"},
                            .fast = VALIDATION_FAST_IS_LARGE,
                            .predict = predict_speedup},
    [VALIDATION_EFFICIENCY] = {.name = "efficiency",
                               .unit = {"1"},
                               .fast = VALIDATION_FAST_IS_LARGE,
                               .derived = true, /* "within 9 % of linear" is a claim */
                               .predict = predict_efficiency},
    [VALIDATION_BOUNDARY] = {.name = "boundary",
                             .unit = {"s"},
                             .fast = VALIDATION_FAST_IS_NEITHER,
                             .derived = true,
                             .bounds = true,
                             .predict = predict_boundary},
    [VALIDATION_OTHER] = {.name = "other", .fast = VALIDATION_FAST_IS_NEITHER}};

bool validation_quantity_bounds(enum validation_quantity quantity)
{
    return table[quantity].bounds;
}

const char *validation_quantity_name(enum validation_quantity quantity)
{
    return table[quantity].name;
}

bool validation_unit_fits(const struct validation_figure *figure, const char **such_as)
{
    const struct quantity *q = &table[figure->quantity];
    *such_as = q->unit[0];
    for (int i = 0; i < VALIDATION_MAX_UNITS && q->unit[i]; i++)
        if (!strcmp(figure->unit, q->unit[i])) return true;
    return !q->unit[0];
}

bool validation_quantity_needs(enum validation_quantity quantity, enum validation_need need)
{
    return table[quantity].needs & need;
}

bool validation_quantity_predicted(enum validation_quantity quantity)
{
    return table[quantity].predict != NULL;
}

bool validation_is_ratio(enum validation_quantity quantity)
{
    return quantity == VALIDATION_SPEEDUP || quantity == VALIDATION_EFFICIENCY;
}

bool validation_figure_measured(const struct validation_figure *figure)
{
    return !table[figure->quantity].derived && figure->value > 0;
}

double validation_rate_of_figure(const struct validation_figure *ref)
{
    return table[ref->quantity].rate ? table[ref->quantity].rate(ref) : 0;
}

double validation_speed(const struct validation_figure *figure, double value)
{
    switch (table[figure->quantity].fast) {
    case VALIDATION_FAST_IS_LARGE:
        return value / figure->value;
    case VALIDATION_FAST_IS_SMALL:
        return figure->value / value;
    case VALIDATION_FAST_IS_NEITHER:
        break;
    }
    return NAN;
}

double validation_speed_error(const struct validation_figure *figure, double predicted)
{
    return figure->value > 0 ? validation_speed(figure, predicted) - 1 : NAN;
}

enum wsc_err validation_predict(const struct validation_case *item,
                                const struct hw_machine *cluster, double *value,
                                struct scaling_row *row)
{
    const struct validation_figure *ref = item->ref;
    struct scaling_row here;
    if (!row) row = &here;
    if (!table[ref->quantity].predict)
        return WSC_RAISE(WSC_CONFIG, "%s: a figure that cannot be predicted", ref->id);
    enum wsc_err rc = step_of(item, cluster, ref->num_csx, ref->global_batch, row);
    if (!rc) rc = table[ref->quantity].predict(item, cluster, row, value);
    return validation_at_row(rc, ref, 1, ref->id);
}
