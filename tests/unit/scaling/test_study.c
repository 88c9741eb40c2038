// SPDX-License-Identifier: Apache-2.0
/* What a curve depends on: mechanisms, sweeps, sensitivity, whole trainings. */
#include "../../../src/scaling/scaling_schedule.h"
#include "../../../src/scaling/training_breaks.h"
#include "../../support/small_run.h"
#include "../../support/test.h"

#include <wsc/mem.h>
#include <wsc/scaling.h>

#include <math.h>
#include <string.h>

static const int64_t counts[] = {1, 4};
static struct small_config config;
static struct scaling_model model;

static struct scaling_sweep set_up(const char *const *sets)
{
    T_OK(small_config_init(&config, 1, sets));
    model = (struct scaling_model){"small", &config.params};
    return (struct scaling_sweep){.model = &model,
                                  .n_models = 1,
                                  .num_csx = counts,
                                  .n_counts = 2,
                                  .cluster = &config.cluster};
}

static void tear_down(void)
{
    small_config_fini(&config);
    T_EQ(wsc_mem_in_use(WSC_MEM_SCALING), 0);
}

/* ---- --sweep --------------------------------------------------------------------------------- */

TEST(scaling_values, ranges_are_logarithmic_with_three_digits)
{
    struct scaling_values v;
    T_OK(scaling_values_parse(&v, "cluster.swarmx.latency=1us..1ms"));
    T_STR(v.constant.path, "swarmx.latency");
    T_EQ(v.n, 9);
    T_NEAR(v.value[0], 1e6, 0);
    T_NEAR(v.value[1], 2.37e6, 1e-12); /* 10^(3/8) = 2.3714 */
    T_NEAR(v.value[4], 31.6e6, 1e-12); /* 10^1.5 = 31.62 */
    T_NEAR(v.value[8], 1e9, 0);
    T_OK(scaling_values_parse(&v, "cluster.swarmx.latency=1us..1ms:4"));
    T_EQ(v.n, 4);
    T_NEAR(v.value[1], 10e6, 1e-12);
    /* Whole numbers that fall together are taken once. */
    T_OK(scaling_values_parse(&v, "cluster.swarmx.fanout=2..4"));
    T_EQ(v.n, 3);
}

TEST(scaling_values, lists_are_taken_as_they_are)
{
    struct scaling_values v;
    T_OK(scaling_values_parse(&v, "cluster.memoryx.link_rate=0.5 GB/s,100Gb/s,25 GB/s"));
    T_EQ(v.n, 3);
    T_NEAR(v.value[0], 0.5e9, 0);
    T_NEAR(v.value[1], 12.5e9, 0);
    T_NEAR(v.value[2], 25e9, 0);
    T_OK(scaling_values_parse(&v, "cluster.jitter=0,0.01,0.02"));
    T_NEAR(v.value[2], 0.02, 0);
    T_EQ(scaling_values_parse(&v, "cluster.swarmx.latency=1us,2us,1000ns"), WSC_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "a value stands twice"));
}

/* The global batch is a whole number of sequences, and every point of a variant has it. */
TEST(scaling_values, the_global_batch_is_swept_like_a_constant)
{
    struct scaling_values v;
    struct scaling_variant *variant;
    int n;
    T_OK(scaling_values_parse(&v, "global_batch=24,48"));
    T_EQ(v.n, 2);
    CU_ASSERT(v.global_batch);
    T_STR(v.constant.path, "global_batch");
    const struct scaling_sweep sweep = set_up((const char *const[]){"cluster.jitter=0", NULL});
    T_OK(scaling_vary(&sweep, &v, &variant, &n));
    T_EQ(n, 2);
    T_STR(variant[1].name, "48");
    for (int i = 0; i < sweep.n_counts; i++) {
        T_EQ(variant[0].row[i].global_batch, 24);
        T_EQ(variant[1].row[i].global_batch, 48);
    }
    CU_ASSERT(variant[1].row[0].tokens_per_s > variant[0].row[0].tokens_per_s);
    scaling_variants_free(&variant, n);
    T_OK(scaling_values_parse(&v, "global_batch=8..128:3"));
    T_NEAR(v.value[1], 32, 0);
    small_config_fini(&config);
}

TEST(scaling_values, what_is_wrong_is_told)
{
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"cluster.swarmx.latency", "expected cluster.KEY=VALUES"},
        {"model.hidden_size=1,2", "a key of the cluster file, global_batch or sparsity is swept"},
        {"cluster.swarmx.latancy=1us..1ms", "swarmx.latency"},
        {"cluster.swarmx.latency=1..5", "cluster.swarmx.latency: "},
        {"cluster.swarmx.latency=1us..5 GB", "cluster.swarmx.latency: "},
        {"cluster.swarmx.latency=0 us..1ms", "starts above 0"},
        {"cluster.swarmx.latency=1ms..1us", "does not rise"},
        {"cluster.swarmx.latency=1us..1ms:1", "2 to 64"},
        {"cluster.swarmx.latency=1us..1ms:x", "2 to 64"},
        {"cluster.swarmx.latency=", "no value"},
        {"cluster.stream.granularity=block", "cluster.stream.granularity: is no number; only"},
        {"global_batch=4,8,", "an item of the list is empty"},
        {"cluster.swarmx.latency=1us,,2us", "an item of the list is empty"},
        {"global_batch=0,4", "is no number of sequences"},
        {"global_batch=1.5", "is no number of sequences"},
        {"sparsity=0.5,1", "is no fraction"},
        {"sparsity=half", "is no fraction"},
        {"sparsity=", "no value"},
        {"sparsity=0,0", "a value stands twice"},
        {"sparsity=0.1..0.9:64", "more than 63 values beside 0"},
        {"sparsity=0.9..0.5", "does not rise"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct scaling_values v;
        CU_ASSERT(scaling_values_parse(&v, bad[i].text) != WSC_OK);
        if (!strstr(wsc_err_message(), bad[i].why)) T_STR(wsc_err_message(), bad[i].why);
    }
}

/* ---- mechanisms ------------------------------------------------------------------------------ */

/* All, each one off, none; every variant is the sweep of a cluster with that switch. */
TEST(scaling_study, effects_are_sweeps_with_a_switch_off)
{
    static const char *const name[] = {"all",
                                       "without boundary",
                                       "without reduce",
                                       "without latency",
                                       "without jitter",
                                       "without input",
                                       "without activation",
                                       "without network",
                                       "without control",
                                       "none of them"};
    struct scaling_variant *v;
    struct scaling_row *row;
    int n;
    const struct scaling_sweep sweep = set_up((const char *const[]){"cluster.jitter=0.02", NULL});
    T_OK(scaling_effects(&sweep, &v, &n));
    T_EQ(n, sizeof name / sizeof *name);
    for (int i = 0; i < n; i++)
        T_STR(v[i].name, name[i]);
    T_OK(scaling_run(&sweep, &row));
    T_EQ(v[0].row[1].step_time_ps, row[1].step_time_ps);
    wsc_free(row);
    config.cluster.effects.latency = false;
    T_OK(scaling_run(&sweep, &row));
    T_EQ(v[3].row[1].step_time_ps, row[1].step_time_ps);
    wsc_free(row);
    for (int i = 1; i < n; i++) {
        CU_ASSERT(v[i].row[1].tokens_per_s >= v[0].row[1].tokens_per_s);
        CU_ASSERT(v[n - 1].row[1].tokens_per_s >= v[i].row[1].tokens_per_s);
    }
    /* Without any of them four systems do four times as much as one. */
    T_NEAR(v[n - 1].row[1].speedup, 4, 1e-9);
    scaling_variants_free(&v, n);
    tear_down();
}

/* The sweep without a fault is the sweep of a machine that never had it. */
TEST(scaling_study, faults_are_left_out_in_turn)
{
    struct scaling_variant *v;
    struct scaling_row *row;
    int n;
    const struct scaling_sweep sweep =
        set_up((const char *const[]){"cluster.faults+=straggler:wafer=0,factor=2",
                                     "cluster.faults+=slow_link:wafer=0,factor=200", NULL});
    T_OK(scaling_faults(&sweep, &v, &n));
    T_EQ(n, 3);
    T_STR(v[0].name, "with all faults");
    T_STR(v[2].name, "without slow_link:wafer=0,factor=200");
    T_OK(scaling_run(&sweep, &row));
    T_EQ(v[0].row[1].step_time_ps, row[1].step_time_ps);
    wsc_free(row);
    config.cluster.faults.n = 1; /* the straggler alone */
    T_OK(scaling_run(&sweep, &row));
    T_EQ(v[2].row[1].step_time_ps, row[1].step_time_ps);
    CU_ASSERT(v[2].row[1].step_time_ps < v[0].row[1].step_time_ps);
    CU_ASSERT(v[1].row[1].step_time_ps < v[0].row[1].step_time_ps);
    wsc_free(row);
    scaling_variants_free(&v, n);
    tear_down();
}

/* A point is of the systems that were asked for, whatever is left of them. */
TEST(scaling_study, a_lost_system_stays_in_the_count)
{
    struct scaling_row sound, lost;
    const struct scaling_sweep sweep =
        set_up((const char *const[]){"cluster.faults+=lost_wafer:wafer=1", NULL});
    T_OK(scaling_point(sweep.model, sweep.cluster, 4, 1200, &lost));
    config.cluster.faults.n = 0;
    T_OK(scaling_point(sweep.model, sweep.cluster, 4, 1200, &sound));
    T_EQ(lost.num_csx, 4);
    T_EQ(lost.micro_batch, 400); /* three share what four did */
    T_EQ(sound.micro_batch, 300);
    config.cluster.faults.n = 1;
    tear_down();
}

TEST(scaling_study, a_sweep_has_a_curve_for_each_value)
{
    struct scaling_values values;
    struct scaling_variant *v;
    int n;
    const struct scaling_sweep sweep =
        set_up((const char *const[]){"cluster.effects.control=off", NULL});
    T_OK(scaling_values_parse(&values, "cluster.swarmx.link_latency=1us,100us,10ms"));
    T_OK(scaling_vary(&sweep, &values, &v, &n));
    T_EQ(n, 3);
    T_STR(v[1].name, "100 us");
    T_EQ(v[0].row[0].step_time_ps, v[2].row[0].step_time_ps); /* one system has no tree */
    CU_ASSERT(v[0].row[1].step_time_ps < v[1].row[1].step_time_ps);
    CU_ASSERT(v[1].row[1].step_time_ps < v[2].row[1].step_time_ps);
    scaling_variants_free(&v, n);
    values.value[0] = 1e18;
    T_EQ(scaling_vary(&sweep, &values, &v, &n), WSC_CONFIG); /* out of the key's range */
    tear_down();
}

/* ---- sensitivity ----------------------------------------------------------------------------- */

static const struct scaling_constant *constant_of(const struct scaling_sensitivity *s,
                                                  const char *key)
{
    for (int i = 0; i < s->n; i++)
        if (!strcmp(s->constant[i].key, key)) return &s->constant[i];
    return NULL;
}

/* Of constants in the order of their effect; at the second count. */
static void check_band(const struct scaling_sensitivity *s)
{
    double below = 0, above = 0, before = INFINITY;
    for (int i = 0; i < s->n; i++) {
        const double low = s->constant[i].at_low[1], high = s->constant[i].at_high[1];
        const double effect = fmax(fabs(low - 1), fabs(high - 1));
        below += pow(fmax(1 - fmin(low, high), 0), 2);
        above += pow(fmax(fmax(low, high) - 1, 0), 2);
        CU_ASSERT(effect <= before);
        before = effect;
    }
    CU_ASSERT(below > 0 && above > 0);
    T_NEAR(s->below[1], fmax(0, 1 - sqrt(below)), 1e-12);
    T_NEAR(s->above[1], 1 + sqrt(above), 1e-12);
}

/* Tokens per second of the second count on @p cluster. */
static double speed_of(const struct scaling_sweep *sweep, const struct hw_machine *cluster)
{
    struct scaling_sweep s = *sweep;
    struct scaling_row *row;
    s.cluster = cluster;
    T_OK(scaling_run(&s, &row));
    const double speed = row[1].tokens_per_s;
    wsc_free(row);
    return speed;
}

/* Each ratio is a run with that constant alone changed; the band is the root of the sum of squares;
 * constants that are certain are not in it.  All but `jitter` itself are compared without it, the
 * curve has it. */
TEST(scaling_study, sensitivity_moves_one_constant_at_a_time)
{
    struct scaling_sensitivity s;
    struct hw_machine machine, still, moved, shaking;
    struct scaling_sweep sweep = set_up(NULL);
    T_OK(hw_machine_parse(&machine, NULL, NULL, 0, NULL, 0));
    sweep.cluster = &machine;
    T_OK(scaling_sensitivity(&sweep, 0, &s));
    T_EQ(s.n_counts, 2);
    CU_ASSERT_PTR_NULL(constant_of(&s, "wafer.pe_cols"));
    const struct scaling_constant *c = constant_of(&s, "swarmx.link_latency");
    const struct scaling_constant *jitter = constant_of(&s, "jitter");
    CU_ASSERT_FATAL(c && jitter);
    if (!c || !jitter) return;
    still = moved = shaking = machine;
    still.jitter = moved.jitter = 0;
    T_STR(c->high, "10 us");
    moved.swarmx.link_latency_ps = 10000000;
    T_STR(jitter->high, "0.024");
    shaking.jitter = 0.024;
    const double speed = speed_of(&sweep, &machine), still_speed = speed_of(&sweep, &still);
    CU_ASSERT(speed < still_speed);
    T_NEAR(c->at_high[1], speed_of(&sweep, &moved) / still_speed, 1e-12);
    T_NEAR(jitter->at_high[1], speed_of(&sweep, &shaking) / speed, 1e-12);
    T_NEAR(s.tokens_per_s[1], speed, 1e-12);
    check_band(&s);
    scaling_sensitivity_free(&s);
    hw_machine_fini(&machine);
    tear_down();
}

static struct hw_source *source_of(struct hw_machine *machine, const char *key)
{
    for (int i = 0; i < machine->n_sources; i++)
        if (!strcmp(machine->source[i].key, key)) return &machine->source[i];
    return NULL;
}

/* An installation of one to four systems: at its low end two systems do not fit, and one does. */
TEST(scaling_study, an_end_that_does_not_fit_one_count_keeps_the_others)
{
    struct hw_source range[1] = {{.key = "systems", .kind = "assumed", .low = 1, .high = 4}};
    struct scaling_sensitivity s;
    struct hw_machine machine;
    struct scaling_sweep sweep = set_up(NULL);
    T_OK(hw_machine_parse(&machine, NULL, NULL, 0, NULL, 0));
    struct hw_machine small = machine; /* shallow: another list of sources */
    small.source = range;
    small.n_sources = 1;
    small.systems = 4;
    sweep.cluster = &small;
    T_OK(scaling_sensitivity(&sweep, 0, &s));
    const struct scaling_constant *c = constant_of(&s, "systems");
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    if (!c) return;
    T_EQ(s.num_csx[0], 1);
    T_NEAR(c->at_low[0], 1, 0);
    CU_ASSERT(isnan(c->at_low[1]));
    T_NEAR(c->at_high[0], 1, 0);
    T_NEAR(c->at_high[1], 1, 0);
    T_NEAR(s.below[1], 1, 0);
    scaling_sensitivity_free(&s);
    hw_machine_fini(&machine);
    tear_down();
}

/* How far the end of a constant's range is below the curve at the second count. */
static double fall(const struct scaling_sensitivity *s, const char *key, bool at_high)
{
    const struct scaling_constant *c = constant_of(s, key);
    return c ? 1 - (at_high ? c->at_high[1] : c->at_low[1]) : NAN;
}

/* Two latencies whose errors have one sign, and a clock, whose low end is the slow one: the
 * variance of a sum of errors a, b is a a + b b + 2 r a b, where b is negative for the clock. */
TEST(scaling_study, correlated_errors_change_the_band)
{
    struct scaling_sensitivity apart, together;
    struct hw_machine machine;
    struct scaling_sweep sweep = set_up(NULL);
    T_OK(hw_machine_parse(&machine, NULL, NULL, 0, NULL, 0));
    sweep.cluster = &machine;
    struct hw_source *source = source_of(&machine, "control.latency");
    CU_ASSERT_PTR_NOT_NULL_FATAL(source);
    if (!source) return;
    T_OK(scaling_sensitivity(&sweep, 0, &apart));
    source->correlation[0] = (struct hw_correlation){"control.per_system", 0.5};
    source->correlation[1] = (struct hw_correlation){"wafer.clock", 0.75};
    source->n_correlations = 2;
    T_OK(scaling_sensitivity(&sweep, 0, &together));
    source->n_correlations = 0;
    const double a = fall(&apart, "control.latency", true);
    const double b = fall(&apart, "control.per_system", true);
    const double c = fall(&apart, "wafer.clock", false);
    CU_ASSERT(a > 0.1 && b > 0.1 && c > 0.001);
    T_NEAR(pow(1 - together.below[1], 2) - pow(1 - apart.below[1], 2),
           2 * 0.5 * a * b - 2 * 0.75 * a * c, 1e-12);
    T_NEAR(pow(together.above[1] - 1, 2) - pow(apart.above[1] - 1, 2),
           2 * 0.5 * fall(&apart, "control.latency", false) *
               fall(&apart, "control.per_system", false),
           1e-12);
    scaling_sensitivity_free(&apart);
    scaling_sensitivity_free(&together);
    hw_machine_fini(&machine);
    tear_down();
}

/* ---- a whole training ------------------------------------------------------------------------ */

/* The constants of the machine, and their switches. */
TEST(scaling_training, breaks_come_from_the_machine)
{
    const struct scaling_sweep sweep = set_up((const char *const[]){
        "cluster.checkpoint.rate=10 params/s", "cluster.reliability.mtbf_hours=2",
        "cluster.reliability.restart=3 s", "runconfig.checkpoint_steps=7", NULL});
    const struct scaling_row row = {.params = 50, .num_csx = 4, .step_time_ps = 2000000000000};
    struct scaling_breaks b = scaling_breaks_of(sweep.cluster, sweep.model[0].params, &row);
    T_NEAR(b.checkpoint_s, 5, 1e-12);
    T_NEAR(b.interval_s, 14, 1e-12);
    T_NEAR(b.failures_per_s, 4.0 / 7200, 1e-15);
    T_NEAR(b.restart_s, 3, 1e-12);
    config.cluster.effects.checkpoint = config.cluster.effects.restarts = false;
    b = scaling_breaks_of(sweep.cluster, sweep.model[0].params, &row);
    T_NEAR(b.checkpoint_s + b.failures_per_s, 0, 0);
    tear_down();
}

/* A checkpoint of preference optimization holds policy and reference. A run pauses for it in step
 * 4, which is as much longer than step 5, but for what else begins in the pause. */
TEST(scaling_training, a_checkpoint_holds_the_reference_model)
{
    static const char *const sets[] = {
        "model.dpo.beta=0.5", "train_input.data_processor=DpoHDF5DataProcessor",
        "cluster.checkpoint.rate=100000 params/s", "runconfig.checkpoint_steps=3", NULL};
    struct scaling_row row;
    struct small_result r;
    const struct scaling_sweep sweep = set_up(sets);
    T_OK(scaling_point(&model, sweep.cluster, 1, config.params.train_input.batch_size, &row));
    CU_ASSERT(row.n_reference == row.params && row.params > 0);
    const struct scaling_breaks b = scaling_breaks_of(sweep.cluster, &config.params, &row);
    T_NEAR(b.checkpoint_s, 2 * (double)row.params / 100000, 1e-12);
    T_OK(small_run_alone(&config, 5, NULL, &r));
    T_NEAR((double)(r.batch[3].time_ps - r.batch[4].time_ps) * 1e-12 / b.checkpoint_s, 1, 1e-3);
    tear_down();
}

/* ---- sparsity -------------------------------------------------------------------------------- */

/* Whether dense weights are named, and where, makes no difference. */
TEST(scaling_sparsity, dense_weights_are_named_or_not)
{
    static const char *const text[] = {"sparsity=0.5,0.9", "sparsity=0,0.5,0.9",
                                       "sparsity=0.5,0,0.9"};
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        struct scaling_values v;
        T_OK(scaling_values_parse(&v, text[i]));
        T_EQ(v.n, 3);
        CU_ASSERT(v.value[0] == 0 && v.value[1] == 0.5 && v.value[2] == 0.9);
    }
}

TEST(scaling_sparsity, a_sweep_begins_with_dense_weights)
{
    struct scaling_values v;
    struct scaling_variant *variant = NULL;
    int n = 0;
    const struct scaling_sweep sweep = set_up((const char *const[]){"cluster.jitter=0", NULL});
    T_OK(scaling_values_parse(&v, "sparsity=0.5..0.9:3"));
    CU_ASSERT_FATAL(v.n == 4);
    T_NEAR(v.value[0], 0, 0);
    T_NEAR(v.value[2], 0.7, 1e-12);
    T_OK(scaling_vary(&sweep, &v, &variant, &n));
    CU_ASSERT_FATAL(n == 4);
    struct scaling_row *dense;
    T_OK(scaling_run(&sweep, &dense));
    for (int i = 0; i < sweep.n_counts; i++) {
        T_EQ(variant[0].row[i].step_time_ps, dense[i].step_time_ps);
        T_NEAR(variant[0].row[i].useful_flop_per_token, dense[i].flop_per_token, 0);
        for (int k = 1; k < n; k++) {
            T_TRUE(variant[k].row[i].step_time_ps <= variant[k - 1].row[i].step_time_ps);
            T_TRUE(variant[k].row[i].useful_flop_per_token <
                   variant[k - 1].row[i].useful_flop_per_token);
            T_NEAR(variant[k].row[i].flop_per_token, dense[i].flop_per_token, 0);
        }
    }
    CU_ASSERT(config.params.sparsity.n == 0);
    wsc_free(dense);
    scaling_variants_free(&variant, n);
    small_config_fini(&config);
}

/* The first system's row of each variant; variants without the switch for jitter have it. */
static void check_mean_of_steps(const struct scaling_variant *v, int n, int64_t mean_ps)
{
    for (int i = 0; i < n; i++) {
        const bool still = !strcmp(v[i].name, "without jitter");
        if (!still && strcmp(v[i].name, "all") != 0) continue;
        T_EQ(v[i].row[0].n_steps, 8);
        if (still) T_EQ(v[i].row[0].step_time_ps, mean_ps);
        T_NEAR((double)v[i].row[0].step_time_ps / (double)mean_ps, 1, 2e-3);
    }
}

/* Masks that change make steps differ: a row is the mean of steps 3 to 10 of a run without jitter
 * too, so that the switch compares the same steps.  Opposite pairs of steps cancel the jitter of
 * one system except for what their masks differ. */
TEST(scaling_sparsity, rows_without_jitter_have_the_steps_of_those_with_it)
{
    static const char *const sets[][4] = {
        {"sparsity={algorithm: rigl, sparsity: 0.9, drop_fraction: 0.3, update: {freq: 3}}",
         "cluster.jitter=0.01", "cluster.memoryx.link_rate=1 MB/s", NULL},
        {"sparsity={algorithm: set, sparsity: 0.9, drop_fraction: 0.3, update: {freq: 3}}",
         "cluster.jitter=0.01", "cluster.stream.mask_rate=1e4 params/s", NULL},
        {"sparsity={algorithm: gmp, update: {freq: 4}, sparsity: {type: linear, init: 0.2, slope: "
         "0.05}}",
         "cluster.jitter=0.01", "cluster.memoryx.link_rate=1 MB/s", NULL}};
    for (size_t k = 0; k < sizeof sets / sizeof *sets; k++) {
        struct scaling_variant *v;
        struct small_result r;
        int n;
        const struct scaling_sweep sweep = set_up(sets[k]);
        T_OK(scaling_effects(&sweep, &v, &n));
        config.cluster.jitter = 0;
        config.params.train_input.batch_size = v[0].row[0].global_batch;
        T_OK(small_run_alone(&config, 10, NULL, &r));
        const int64_t mean_ps = (r.batch[9].end.ps - r.batch[1].end.ps) / 8;
        check_mean_of_steps(v, n, mean_ps);
        CU_ASSERT(r.batch[2].time_ps != mean_ps);
        scaling_variants_free(&v, n);
        tear_down();
    }
}

/* A forward pass changes no mask: the third one stands for all. */
TEST(scaling_sparsity, batches_of_an_evaluation_are_alike)
{
    struct scaling_row row;
    const struct scaling_sweep sweep =
        set_up((const char *const[]){"sparsity={algorithm: rigl, sparsity: 0.9, drop_fraction: "
                                     "0.3, update: {freq: 3}}",
                                     "cluster.jitter=0", NULL});
    T_OK(scaling_evaluation(&model, sweep.cluster, 2, 12, &row));
    T_EQ(row.n_steps, 1);
    tear_down();
}

/* Rates follow from the time of the step and its useful FLOPs: power and peak are those of the
 * first step. */
static void check_rates(const struct scaling_row *row, const struct scaling_row *first)
{
    const double longer = (double)row->step_time_ps / (double)first->step_time_ps;
    const double useful = row->useful_flop_per_token / first->useful_flop_per_token;
    T_NEAR(row->tokens_per_s, row->samples_per_s * SMALL_T, 1e-9);
    T_NEAR(row->joules_per_token / first->joules_per_token, longer, 1e-9);
    T_NEAR(row->mfu / first->mfu, useful / longer, 1e-9);
}

/* FLOPs and bytes are linear in the density, so the mean of a linear schedule is what its mean
 * sparsity takes: row 1, between rows 0 and 2 with 0.2 and 0.9.  Masks of 700 steps are made at
 * steps 0, 10, .. 690, whose mean is 345.  New masks take up to 2 % of the time. */
static void check_mean(const struct scaling_row *row)
{
    const double part = 0.001 * 345 / (0.9 - 0.2);
    const double flop = row[0].useful_flop_per_token +
                        part * (row[2].useful_flop_per_token - row[0].useful_flop_per_token);
    const double ps =
        (double)row[0].step_time_ps + part * (double)(row[2].step_time_ps - row[0].step_time_ps);
    T_NEAR(row[1].useful_flop_per_token / flop, 1, 1e-3);
    CU_ASSERT((double)row[1].step_time_ps > ps && (double)row[1].step_time_ps < 1.02 * ps);
}

/* A training of 4,203 sequences at batch 6 has 700 whole steps. */
TEST(scaling_sparsity, a_training_has_as_many_steps_as_its_tokens_need)
{
    const struct scaling_sweep sweep = set_up((const char *const[]){
        "sparsity={algorithm: gmp, update: {freq: 10}, sparsity: {type: linear, init: 0.2, slope: "
        "0.001}}",
        "cluster.jitter=0", "cluster.memoryx.link_rate=1 MB/s", NULL});
    struct scaling_row row, mean;
    struct scaling_training training, each;
    T_OK(scaling_point(&model, sweep.cluster, 1, 6, &row));
    mean = row;
    T_OK(scaling_over_schedule(&model, sweep.cluster, 700, &mean));
    const double tokens = 4203 * row.tokens_per_s / row.samples_per_s;
    T_OK(scaling_training_at(&model, sweep.cluster, &row, tokens, 0, &training));
    const double steps_s = training.seconds - training.restart_s - training.checkpoint_s;
    T_NEAR(steps_s / (700.5 * (double)mean.step_time_ps * 1e-12), 1, 1e-9);
    T_OK(scaling_training_at(&model, sweep.cluster, &row, 0, tokens / (double)row.params, &each));
    T_NEAR(each.seconds / training.seconds, 1, 1e-9);
    small_config_fini(&config);
}

/* Steps of a schedule: between those of its densest and its sparsest weights; updates by gradients
 * take longer than static masks. */
TEST(scaling_sparsity, a_training_takes_the_mean_of_its_schedule)
{
    static const char *const sets[][4] = {
        {"sparsity=0.2", "cluster.jitter=0", "cluster.memoryx.link_rate=1 MB/s", NULL},
        {"sparsity={algorithm: gmp, update: {freq: 10}, sparsity: {type: linear, init: 0.2, slope: "
         "0.001}}",
         "cluster.jitter=0", "cluster.memoryx.link_rate=1 MB/s", NULL},
        {"sparsity=0.9", "cluster.jitter=0", "cluster.memoryx.link_rate=1 MB/s", NULL},
        {"sparsity={algorithm: rigl, sparsity: 0.9, drop_fraction: 0.3, update: {freq: 10}}",
         "cluster.jitter=0", "cluster.memoryx.link_rate=1 MB/s", NULL}};
    struct scaling_row row[4];
    for (int i = 0; i < 4; i++) {
        const struct scaling_sweep sweep = set_up(sets[i]);
        T_OK(scaling_point(&model, &config.cluster, 1, 6, &row[i]));
        const struct scaling_row first = row[i];
        T_OK(scaling_over_schedule(&model, sweep.cluster, 700, &row[i]));
        CU_ASSERT((row[i].step_time_ps == first.step_time_ps) == (i == 0 || i == 2));
        T_NEAR(row[i].samples_per_s * (double)row[i].step_time_ps * 1e-12, 6, 1e-6);
        check_rates(&row[i], &first);
        small_config_fini(&config);
    }
    CU_ASSERT(row[1].step_time_ps < row[0].step_time_ps);
    CU_ASSERT(row[1].step_time_ps > row[2].step_time_ps);
    CU_ASSERT(row[3].step_time_ps > row[2].step_time_ps);
    CU_ASSERT(row[1].useful_flop_per_token < row[0].useful_flop_per_token);
    check_mean(row);
}

/* Jitter comes in opposite pairs of steps, so that the mean of one system stays what it is without
 * jitter, at places of the run that would be odd too: 187, 437, .. of 1000 steps. */
TEST(scaling_sparsity, jitter_keeps_the_mean_of_one_system)
{
    struct scaling_row row[2];
    const struct scaling_sweep sweep = set_up((const char *const[]){
        "sparsity={algorithm: rigl, sparsity: 0.9, drop_fraction: 0.3, update: {freq: 10}}", NULL});
    for (int k = 0; k < 2; k++) {
        config.cluster.jitter = k ? 0.05 : 0;
        T_OK(scaling_point(&model, sweep.cluster, 1, 6, &row[k]));
        T_OK(scaling_over_schedule(&model, sweep.cluster, 1000, &row[k]));
    }
    T_NEAR((double)row[1].step_time_ps / (double)row[0].step_time_ps, 1, 1e-9);
    tear_down();
}

/* Every step of so many ends with new masks, by dense gradients: the mean step is that part of what
 * a run takes from one of these steps to the next. Also where the steps that are looked at are
 * among them, and where two entries have updates. */
static void check_updates(int freq, bool two)
{
    enum { STEPS = 15 };
    static const char rigl[] = "algorithm: rigl, sparsity: 0.9, drop_fraction: 0.3, update: {freq";
    char text[320];
    const char *const sets[] = {text, "cluster.jitter=0", "cluster.memoryx.link_rate=1 MB/s", NULL};
    struct scaling_row row;
    struct small_result r;
    if (two)
        (void)snprintf(text, sizeof text,
                       "sparsity=[{%s: %d}, param_filter: '*.linear_layer.weight'}, "
                       "{%s: %d}, param_filter: '*proj_*'}]",
                       rigl, freq, rigl, freq);
    else
        (void)snprintf(text, sizeof text, "sparsity={%s: %d}}", rigl, freq);
    const struct scaling_sweep sweep = set_up(sets);
    T_OK(scaling_point(&model, sweep.cluster, 1, 6, &row));
    T_OK(scaling_over_schedule(&model, sweep.cluster, 700, &row));
    T_OK(small_run_alone(&config, STEPS, NULL, &r));
    const double run_ps =
        (double)(r.batch[STEPS - 1].end.ps - r.batch[STEPS - 1 - freq].end.ps) / freq;
    T_NEAR((double)row.step_time_ps / run_ps, 1, 1e-6);
    small_config_fini(&config);
}

TEST(scaling_sparsity, updates_by_gradients_take_what_a_run_takes)
{
    static const int freq[] = {1, 2, 4, 5, 7, 10};
    for (size_t i = 0; i < sizeof freq / sizeof *freq; i++) {
        check_updates(freq[i], false);
        check_updates(freq[i], true);
    }
}
