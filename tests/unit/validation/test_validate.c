// SPDX-License-Identifier: Apache-2.0
#include "../../../src/validation/validation_impl.h"
#include "../../support/test.h"

#include <wsc/mem.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_POINTS = 4 };

static struct validation_figure point(const char *id, const char *model, int64_t batch, int64_t msl,
                                      enum validation_kind kind)
{
    struct validation_figure r = {.quantity = VALIDATION_RATE,
                                  .value = 1,
                                  .num_csx = 1,
                                  .global_batch = batch,
                                  .micro_batch = CONF_AUTO,
                                  .msl = msl,
                                  .kind = kind,
                                  .high = 1e9};
    (void)snprintf(r.id, sizeof r.id, "%s", id);
    (void)snprintf(r.unit, sizeof r.unit, "samples/s");
    (void)snprintf(r.model, sizeof r.model, "%s", model);
    (void)snprintf(r.cluster, sizeof r.cluster, "cs2");
    return r;
}

/* Small and large steps, so that a latency and a factor can be distinguished. */
static void make_points(struct validation_figure ref[N_POINTS])
{
    ref[0] = point("a", "gpt3_111m", 24, 2048, VALIDATION_KIND_CALIBRATION);
    ref[1] = point("b", "gpt3_111m", 120, 2048, VALIDATION_KIND_CALIBRATION);
    ref[2] = point("c", "bert_base", 64, 128, VALIDATION_KIND_CALIBRATION);
    ref[3] = point("d", "bert_base", 512, 128, VALIDATION_KIND_CALIBRATION);
    (void)snprintf(ref[2].set, sizeof ref[2].set, "model.objective=classification");
}

static struct validation_comparison comparison_of(const struct validation_figure *ref, int n,
                                                  const struct conf_set *sets, int n_sets)
{
    return (struct validation_comparison){.ref = ref,
                                          .n_refs = n,
                                          .params = {{"configs/params"}},
                                          .machines = {{"configs/cluster"}},
                                          .sets = sets,
                                          .n_sets = n_sets};
}

/* Let the emulator itself publish the figures of a machine with known constants. */
static void publish(struct validation_figure *ref, int n, const struct conf_set *sets, int n_sets)
{
    struct validation_comparison c = comparison_of(ref, n, sets, n_sets);
    struct validation_result v;
    T_OK(validation_run(&c, &v));
    for (int i = 0; i < n; i++)
        ref[i].value = v.report.row[i].predicted;
    validation_result_fini(&v);
}

static double fitted(const struct validation_calibration *c, int i)
{
    struct hw_constant constant;
    double value = NAN;
    T_OK(hw_constant_find(c->report.constant[i].path, &constant));
    T_OK(hw_constant_read(&constant, c->report.constant[i].value, &value));
    return value;
}

TEST(calibrate, recovers_the_constants_of_synthetic_figures)
{
    static const struct conf_set hidden[] = {{.text = "cluster.wafer.stage_latency=700us"},
                                             {.text = "cluster.wafer.kernel_factor=1.1"}};
    static const char *const paths[] = {"wafer.stage_latency", "wafer.kernel_factor"};
    struct validation_figure ref[N_POINTS];
    struct validation_calibration fit;
    make_points(ref);
    publish(ref, N_POINTS, hidden, 2);
    const struct validation_comparison c = comparison_of(ref, N_POINTS, NULL, 0);
    T_OK(validation_calibrate(&c, paths, 2, &fit));
    T_NEAR(fitted(&fit, 0) / 7e8, 1, 0.01);
    T_NEAR(fitted(&fit, 1), 1.1, 0.003);
    CU_ASSERT(fit.report.sigma < 0.005);
    CU_ASSERT(fit.report.objective < fit.report.objective_before / 100);
    T_EQ(fit.report.n_points, N_POINTS);
    for (int i = 0; i < N_POINTS; i++) {
        T_STR(fit.report.point[i]->id, ref[i].id);
        T_NEAR(fit.report.residual[i], 0, 0.01);
    }
    CU_ASSERT(*fit.report.constant[0].error && *fit.report.constant[1].error);
    validation_calibration_fini(&fit);
    T_EQ(wsc_mem_in_use(WSC_MEM_SCALING), 0);
}

/* The multiply-adds are calibrated for the CS-2 alone, the latency for both machines: figures of a
 * CS-2 with other multiply-adds move nothing of the CS-3. */
TEST(calibrate, fits_a_constant_on_the_machines_that_calibrate_it)
{
    static const struct conf_set hidden[] = {{.text = "cluster.wafer.simd_fmachs=1.4"}};
    static const char *const paths[] = {"wafer.stage_latency", "wafer.simd_fmachs"};
    struct validation_figure ref[N_POINTS];
    struct validation_calibration fit;
    make_points(ref);
    for (int i = 0; i < N_POINTS; i += 2)
        (void)snprintf(ref[i].cluster, sizeof ref[i].cluster, "cs3");
    publish(ref, N_POINTS, NULL, 0);
    for (int i = 1; i < N_POINTS; i += 2)
        publish(&ref[i], 1, hidden, 1);
    const struct validation_comparison c = comparison_of(ref, N_POINTS, NULL, 0);
    T_OK(validation_calibrate(&c, paths, 2, &fit));
    T_NEAR(fitted(&fit, 0) / 1.13e9, 1, 0.01);
    T_NEAR(fitted(&fit, 1) / 1.4, 1, 0.01);
    T_EQ(fit.report.n_machines, 2);
    T_STR(fit.report.machine[0].name, "cs3");
    T_EQ(fit.report.constant[0].machines, 3);
    T_EQ(fit.report.constant[1].machines, 2);
    validation_calibration_fini(&fit);
}

/* Where the optimizer takes no time, nothing can be said about its rate. */
TEST(calibrate, says_what_the_figures_do_not_tell)
{
    static const struct conf_set hidden[] = {{.text = "cluster.effects.boundary=false"}};
    static const char *const paths[] = {"memoryx.update_rate"};
    struct validation_figure ref[N_POINTS];
    struct validation_calibration fit;
    make_points(ref);
    publish(&ref[1], 1, hidden, 1);
    const struct validation_comparison c = comparison_of(&ref[1], 1, hidden, 1);
    T_OK(validation_calibrate(&c, paths, 1, &fit));
    T_STR(fit.report.constant[0].error, "");
    validation_calibration_fini(&fit);
}

TEST(calibrate, errors_are_clear)
{
    static const char *const wrong[] = {"wafer.hop_cycles"};
    static const char *const right[] = {"wafer.stage_latency"};
    struct validation_figure ref[N_POINTS];
    struct validation_calibration fit;
    make_points(ref);
    struct validation_comparison c = comparison_of(ref, N_POINTS, NULL, 0);
    T_EQ(validation_calibrate(&c, wrong, 1, &fit), WSC_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "\"wafer.hop_cycles\": not a constant"));
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "hint: one of wafer.stage_latency"));
    validation_calibration_fini(&fit);
    validation_calibration_fini(&fit);
    for (int i = 0; i < N_POINTS; i++)
        ref[i].kind = VALIDATION_KIND_VALIDATION;
    T_EQ(validation_calibrate(&c, right, 1, &fit), WSC_CONFIG);
    (void)snprintf(ref[1].model, sizeof ref[1].model, "no_such_model");
    ref[1].kind = VALIDATION_KIND_CALIBRATION;
    T_EQ(validation_calibrate(&c, right, 1, &fit), WSC_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "no_such_model.yaml"));
    T_EQ(wsc_mem_in_use(WSC_MEM_SCALING), 0);
}

/* Figures that the emulator published itself, one of them made 30 % too fast: the fit without it
 * finds the constants of the others, and its error is that of the falsification. */
TEST(calibrate, a_row_left_out_is_predicted_by_the_others)
{
    static const struct conf_set hidden[] = {{.text = "cluster.wafer.stage_latency=700us"}};
    static const char *const path[] = {"wafer.stage_latency"};
    struct validation_figure ref[N_POINTS];
    struct validation_protocol p;
    make_points(ref);
    publish(ref, N_POINTS, hidden, 1);
    ref[2].value *= 1.3;
    for (int i = 0; i < N_POINTS; i++)
        (void)snprintf(ref[i].family, sizeof ref[i].family, "%s", i < 2 ? "gpt" : "bert");
    const struct validation_comparison c = comparison_of(ref, N_POINTS, NULL, 0);
    T_OK(validation_leave_one_out(&c, path, 1, &p));
    T_EQ(p.n_left_out, N_POINTS);
    T_NEAR(p.left_out[2].without_row, -log(1.3), 0.01);
    T_NEAR(p.left_out[2].without_family, -log(1.3), 0.02);
    CU_ASSERT(fabs(p.left_out[2].fitted) < fabs(p.left_out[2].without_row));
    CU_ASSERT(p.rms_without_row > p.rms_fitted);
    T_EQ(p.freedom[0].n_free, 0);
    T_EQ(p.n_freedoms, 1 + N_POINTS); /* no more constants than rows */
    CU_ASSERT(p.freedom[1].fitted < p.freedom[0].fitted);
    CU_ASSERT(isnan(p.freedom[0].never_fitted) && isnan(p.freedom[0].worst_never_fitted));
    validation_protocol_fini(&p);
    T_EQ(wsc_mem_in_use(WSC_MEM_SCALING), 0);
}

TEST(calibrate, rows_that_are_not_for_fitting_are_named_as_the_reason)
{
    struct validation_figure ref[N_POINTS];
    struct validation_calibration fit = {.point = NULL};
    make_points(ref);
    for (int i = 0; i < N_POINTS; i++)
        ref[i].kind = VALIDATION_KIND_VALIDATION;
    const struct validation_comparison c = comparison_of(ref, N_POINTS, NULL, 0);
    T_EQ(validation_calibrate(&c, NULL, 0, &fit), WSC_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "no published figure of kind calibration"));
    validation_calibration_fini(&fit);
}

/* ---- validate -------------------------------------------------------------------------------- */

/* What a step consists of adds up to it, and the kernels are those of the analytical model. */
TEST(validate, parts_add_up_to_the_step)
{
    struct validation_figure ref[N_POINTS];
    struct validation_result v;
    make_points(ref);
    ref[1].num_csx = 3;
    ref[3].kind = VALIDATION_KIND_CONTEXT;
    const struct validation_comparison c = comparison_of(ref, N_POINTS, NULL, 0);
    T_OK(validation_run(&c, &v));
    T_EQ(v.report.n_rows, N_POINTS); /* context too, as it says enough */
    for (int i = 0; i < v.report.n_rows; i++) {
        const struct validation_prediction *p = &v.report.row[i];
        const struct vtime_breakdown *b = &p->breakdown;
        T_EQ(p->products_ps + p->attention_ps + p->elementwise_ps + p->recompute_ps +
                 p->latency_ps + p->jitter_ps,
             b->compute_ps);
        T_EQ(b->compute_ps + b->weights_wait_ps + b->reduce_wait_ps + b->boundary_ps +
                 b->input_wait_ps,
             p->step_time_ps);
        /* On one system jitter has no mean; parts are whole cycles, rounded once per stage. */
        if (p->ref->num_csx == 1) CU_ASSERT(llabs(p->jitter_ps) < p->step_time_ps / 10000);
        T_NEAR(p->predicted, (double)p->ref->global_batch / ((double)p->step_time_ps * 1e-12),
               1e-9);
    }
    validation_result_fini(&v);
}

/* 12 blocks, embedding and head, one micro-batch: 14 starts forward, two for each backward. */
TEST(validate, latency_and_neutral_by_hand)
{
    static const struct conf_set sets[] = {
        {.text = "cluster.wafer.stage_latency={value: 3 ms, kind: calibrated, source: a test}"},
        {.text = "cluster.wafer.arrival_cycles={value: 0, kind: assumed, source: a test}"},
        {.text = "cluster.wafer.simd_fmachs={value: 2, kind: assumed, source: a test}"},
        {.text = "cluster.jitter=0"}};
    struct validation_figure ref[N_POINTS];
    struct validation_result v;
    make_points(ref);
    const struct validation_comparison c = comparison_of(&ref[2], 1, sets, 4);
    T_OK(validation_run(&c, &v));
    const struct validation_prediction *p = &v.report.row[0];
    T_EQ(p->latency_ps, 14LL * (1 + 2) * 3000000000LL);
    T_EQ(v.report.n_calibrated, 1);
    T_STR(v.report.calibrated[0]->key, "wafer.stage_latency");
    /* A tenth more: 14 times three times 0.3 ms on the step. */
    const double step = (double)p->step_time_ps;
    T_NEAR(p->sensitivity[0], step / (step + 14 * (1 + 2) * 0.3e9) - 1, 1e-6);
    /* Neutral: without the starts; the first weights of a stage may then be waited for. */
    const double neutral_ps = 64 / p->neutral * 1e12, rest_ps = step - 14 * (1 + 2) * 3e9;
    CU_ASSERT(neutral_ps > 0.9 * rest_ps && neutral_ps < 1.1 * rest_ps);
    CU_ASSERT(p->mfu_neutral > p->mfu);
    validation_result_fini(&v);
}

#define CALIBRATED(value) "={value: " value ", kind: calibrated, source: a test}"

/* The key ends at 10: the change is that of a factor a tenth smaller, with the other sign. A rate
 * at the end of its range, the neutral one, changes nothing; a switch is no number. */
TEST(validate, a_constant_near_the_end_of_its_range_shrinks)
{
    static const struct conf_set sets[] = {
        {.text = "cluster.wafer.kernel_factor" CALIBRATED("9.5")},
        {.text = "cluster.memoryx.update_rate" CALIBRATED("1e18 params/s")},
        {.text = "cluster.effects.checkpoint" CALIBRATED("true")}};
    static const struct conf_set smaller[] = {
        {.text = "cluster.wafer.kernel_factor=8.55"},
        {.text = "cluster.memoryx.update_rate=1e18 params/s"}};
    struct validation_figure ref[N_POINTS];
    struct validation_result v, other;
    int n_seen = 0;
    make_points(ref);
    const struct validation_comparison c = comparison_of(ref, 1, sets, 3),
                                       d = comparison_of(ref, 1, smaller, 2);
    T_OK(validation_run(&c, &v));
    T_OK(validation_run(&d, &other));
    const double change = other.report.row[0].predicted / v.report.row[0].predicted - 1;
    CU_ASSERT(change > 0.05);
    for (int i = 0; i < v.report.n_calibrated; i++) {
        const char *key = v.report.calibrated[i]->key;
        const double sensitivity = v.report.row[0].sensitivity[i];
        CU_ASSERT(strcmp(key, "effects.checkpoint") != 0);
        if (!strcmp(key, "wafer.kernel_factor")) T_NEAR(sensitivity, -change, 1e-12);
        if (!strcmp(key, "memoryx.update_rate")) T_NEAR(sensitivity, 0, 1e-6);
        n_seen += !strcmp(key, "wafer.kernel_factor") || !strcmp(key, "memoryx.update_rate");
    }
    T_EQ(n_seen, 2);
    validation_result_fini(&v);
    validation_result_fini(&other);
}

/* Forward passes alone: the rate is above that of a training, and there is no update to wait for.
 */
TEST(validate, an_evaluation_is_forward_passes_alone)
{
    struct validation_figure ref[2];
    struct validation_result v;
    ref[0] = point("train", "gpt3_111m", 120, 2048, VALIDATION_KIND_VALIDATION);
    ref[1] = ref[0];
    ref[1].quantity = VALIDATION_EVAL_RATE;
    (void)snprintf(ref[1].id, sizeof ref[1].id, "eval");
    const struct validation_comparison c = comparison_of(ref, 2, NULL, 0);
    T_OK(validation_run(&c, &v));
    const struct validation_prediction *train = &v.report.row[0], *eval = &v.report.row[1];
    CU_ASSERT(eval->predicted > 2 * train->predicted && eval->predicted < 6 * train->predicted);
    T_NEAR(eval->mfu / eval->predicted, train->mfu / train->predicted / 3, 1e-12);
    T_EQ(eval->breakdown.boundary_ps, 0);
    T_NEAR((double)eval->step_time_ps - 120 / eval->predicted * 1e12, 0, 1);
    T_EQ(eval->products_ps + eval->attention_ps + eval->elementwise_ps + eval->recompute_ps +
             eval->latency_ps + eval->jitter_ps,
         eval->breakdown.compute_ps);
    CU_ASSERT(llabs(eval->jitter_ps) < eval->step_time_ps / 1000);
    validation_result_fini(&v);
}

/* The line through two batches passes through both steps. */
TEST(validate, slope_and_intercept_are_those_of_two_steps)
{
    struct validation_figure ref[4];
    struct validation_result v;
    for (int i = 0; i < 4; i++) {
        ref[i] = point("s", "bert_base", i == 1 ? 64 : 256, 128, VALIDATION_KIND_VALIDATION);
        ref[i].quantity = VALIDATION_STEP_TIME;
        (void)snprintf(ref[i].id, sizeof ref[i].id, "s%d", i);
        (void)snprintf(ref[i].unit, sizeof ref[i].unit, "ms");
        ref[i].other_batch[0] = 64;
        ref[i].n_other_batches = 1;
    }
    ref[2].quantity = VALIDATION_SLOPE;
    (void)snprintf(ref[2].unit, sizeof ref[2].unit, "ms/sequence");
    ref[3].quantity = VALIDATION_INTERCEPT;
    const struct validation_comparison c = comparison_of(ref, 4, NULL, 0);
    T_OK(validation_run(&c, &v));
    const struct validation_prediction *p = v.report.row;
    const double slope = (p[0].predicted - p[1].predicted) / (256 - 64);
    T_NEAR(p[2].predicted, slope, 1e-9);
    T_NEAR(p[3].predicted, p[1].predicted - 64 * slope, 1e-9);
    validation_result_fini(&v);
}

/* A band holds the prediction and is wider at another site; a machine without uncertain constants
 * and fitted rows has none. */
TEST(validate, bands_by_spread_fit_and_site)
{
    struct validation_figure ref[3];
    struct validation_result v;
    for (int i = 0; i < 3; i++) {
        ref[i] = point("a", "bert_base", 64 << i, 128, VALIDATION_KIND_VALIDATION);
        (void)snprintf(ref[i].id, sizeof ref[i].id, "r%d", i);
        (void)snprintf(ref[i].site, sizeof ref[i].site, "%s", i == 2 ? "there" : "here");
        ref[i].value = 1e4;
    }
    ref[0].kind = VALIDATION_KIND_CALIBRATION;
    const struct validation_comparison c = comparison_of(ref, 3, NULL, 0);
    T_OK(validation_run(&c, &v));
    const struct validation_prediction *p = v.report.row;
    for (int i = 0; i < 3; i++) {
        CU_ASSERT(p[i].spread > 0 && p[i].spread < 1);
        T_NEAR(p[i].band_low * p[i].band_high / (p[i].predicted * p[i].predicted), 1, 1e-9);
    }
    const double here = log(p[1].band_high / p[1].predicted) / 1.645,
                 there = log(p[2].band_high / p[2].predicted) / 1.645;
    T_NEAR(here * here - p[1].spread * p[1].spread,
           v.report.fitted_deviation * v.report.fitted_deviation, 1e-9);
    T_NEAR(there * there - p[2].spread * p[2].spread - here * here + p[1].spread * p[1].spread,
           v.report.site_deviation * v.report.site_deviation, 1e-9);
    T_EQ(v.report.n_banded, 2);
    validation_result_fini(&v);
}

/* Spread of a step of bert_base when only its two calibrated constants are uncertain, by the
 * correlation of their errors: one makes steps longer, the other one shorter. */
static double spread_by(const char *correlation)
{
    char text[256];
    struct validation_figure ref = point("a", "bert_base", 2048, 128, VALIDATION_KIND_VALIDATION);
    struct hw_machine machine;
    double spread = NAN, predicted = NAN;
    int n_machines = 0;
    (void)snprintf(text, sizeof text,
                   "cluster.wafer.simd_fmachs={value: 1.5, kind: calibrated, source: a test, "
                   "uncertainty: 1.2..1.8%s%s%s}",
                   *correlation ? ", correlation: {wafer.stage_latency: " : "", correlation,
                   *correlation ? "}" : "");
    const struct conf_set sets[] = {
        {.text = text},
        {.text = "cluster.wafer.stage_latency={value: 2 ms, kind: calibrated, source: a test, "
                 "uncertainty: 1 ms..3 ms}"}};
    const struct validation_comparison c = comparison_of(&ref, 1, sets, 2);
    struct validation_cases *cases = NULL;
    T_OK(validation_cases_load(&cases, &c, 1U << VALIDATION_KIND_VALIDATION, false));
    machine = *cases->item[0].cluster; /* shares the sources */
    for (int i = 0; i < machine.n_sources; i++)
        if (strcmp(machine.source[i].kind, "calibrated") != 0)
            machine.source[i].high = machine.source[i].low;
    cases->item[0].cluster = &machine;
    T_OK(validation_predict(&cases->item[0], &machine, &predicted, NULL));
    T_OK(validation_spread(&cases->item[0], predicted, &spread, &n_machines));
    T_EQ(n_machines, VALIDATION_N_MACHINES);
    validation_cases_free(&cases);
    return spread;
}

TEST(validate, a_band_has_the_covariance_of_the_fit)
{
    const double apart = spread_by("-0.9"), alone = spread_by(""), together = spread_by("0.9");
    CU_ASSERT(together > 0);
    CU_ASSERT(apart > 1.05 * alone);
    CU_ASSERT(alone > 1.05 * together);
}

/* Machines of the band of 13B with sequences of 131,072 tokens on a CS-2 of which the reserved
 * memory alone is uncertain. */
static int machines_of(const char *reserved)
{
    struct validation_figure ref = point("a", "gpt3_13b", 1, 131072, VALIDATION_KIND_VALIDATION);
    char text[128];
    struct hw_machine machine;
    double spread = NAN;
    int n_machines = -1;
    (void)snprintf(text, sizeof text,
                   "cluster.wafer.sram_reserved_per_pe={value: 4 KiB, kind: "
                   "assumed, source: a test, uncertainty: %s}",
                   reserved);
    const struct conf_set set = {.text = text};
    const struct validation_comparison c = comparison_of(&ref, 1, &set, 1);
    struct validation_cases *cases = NULL;
    T_OK(validation_cases_load(&cases, &c, 1U << VALIDATION_KIND_VALIDATION, false));
    machine = *cases->item[0].cluster; /* shares the sources */
    for (int i = 0; i < machine.n_sources; i++)
        if (strcmp(machine.source[i].key, "wafer.sram_reserved_per_pe") != 0)
            machine.source[i].high = machine.source[i].low;
    cases->item[0].cluster = &machine;
    T_OK(validation_spread(&cases->item[0], 1, &spread, &n_machines));
    CU_ASSERT(isnan(spread) == (n_machines == 0));
    validation_cases_free(&cases);
    return n_machines;
}

/* 24 reserved KiB of 48 leave room, 30 do not. The samples are 47^((s + 1/2) / 8) KiB: six below
 * 15, 22.8 and 36.9. */
TEST(validate, machines_without_memory_for_the_model_are_counted)
{
    T_EQ(machines_of("1 KiB..20 KiB"), VALIDATION_N_MACHINES);
    T_EQ(machines_of("1 KiB..47 KiB"), 7);
}

TEST(validate, speedup_and_efficiency_are_against_one_system)
{
    static const struct conf_set still[] = {{.text = "cluster.jitter=0"}};
    struct validation_figure ref[2];
    struct validation_result v;
    ref[0] = point("s", "gpt3_111m", 480, 2048, VALIDATION_KIND_VALIDATION);
    ref[0].num_csx = 4;
    ref[0].quantity = VALIDATION_SPEEDUP;
    ref[1] = ref[0];
    ref[1].quantity = VALIDATION_EFFICIENCY;
    (void)snprintf(ref[1].id, sizeof ref[1].id, "e");
    const struct validation_comparison c = comparison_of(ref, 2, still, 1);
    T_OK(validation_run(&c, &v));
    T_NEAR(v.report.row[0].predicted, 4, 0.01);
    T_NEAR(v.report.row[1].predicted, v.report.row[0].predicted / 4, 1e-15);
    CU_ASSERT(v.report.row[1].predicted < 1);
    validation_result_fini(&v);
}

TEST(validate, a_machine_stands_in_for_those_with_its_grid)
{
    static const struct conf_set fast[] = {{.text = "cluster.wafer.clock=2.2 GHz"},
                                           {.text = "cluster.jitter=0"}};
    struct validation_figure ref[2];
    struct hw_machine mine;
    struct validation_result own, stands_in;
    ref[0] = point("cs2", "gpt3_111m", 120, 2048, VALIDATION_KIND_VALIDATION);
    ref[1] = point("cs3", "gpt3_111m", 120, 2048, VALIDATION_KIND_VALIDATION);
    (void)snprintf(ref[1].cluster, sizeof ref[1].cluster, "cs3");
    struct validation_comparison c = comparison_of(ref, 2, NULL, 0);
    T_OK(validation_run(&c, &own));
    T_OK(hw_machine_parse(&mine, NULL, NULL, 0, fast, 2));
    c.cluster = &mine;
    T_OK(validation_run(&c, &stands_in));
    CU_ASSERT(stands_in.report.row[0].predicted > 1.5 * own.report.row[0].predicted);
    T_NEAR(stands_in.report.row[1].predicted, own.report.row[1].predicted, 0);
    validation_result_fini(&own);
    validation_result_fini(&stands_in);
    hw_machine_fini(&mine);
    T_EQ(wsc_mem_in_use(WSC_MEM_SCALING), 0);
}

TEST(validate, rows_that_cannot_run_name_themselves)
{
    struct validation_figure ref =
        point("too_many", "gpt3_111m", 120, 2048, VALIDATION_KIND_VALIDATION);
    struct validation_result v;
    ref.num_csx = 20;
    (void)snprintf(ref.cluster, sizeof ref.cluster, "andromeda");
    struct validation_comparison c = comparison_of(&ref, 1, NULL, 0);
    T_EQ(validation_run(&c, &v), WSC_CAPACITY);
    validation_result_fini(&v);
    (void)snprintf(ref.cluster, sizeof ref.cluster, "nowhere");
    T_EQ(validation_run(&c, &v), WSC_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "nowhere.yaml"));
    validation_result_fini(&v);
    T_EQ(wsc_mem_in_use(WSC_MEM_SCALING), 0);
}
