// SPDX-License-Identifier: Apache-2.0
/* What holds for any machine, model and batch, on random ones: better is never slower, worse is
 * never faster, steps are alike, faults cost at most what they are. */
#include "../../../src/wafer/wafer_cost.h"
#include "../../../src/wafer/wafer_jitter.h"
#include "../../support/random_case.h"
#include "../../support/test.h"

#include <wsc/rng.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CASES = 60, STEPS = 4 };

/* The time of the last step of @p c. */
static int64_t end_of(const struct random_case *c)
{
    struct small_config config;
    struct small_result r;
    T_OK(random_case_config(c, &config));
    T_OK(small_run_alone(&config, STEPS, NULL, &r));
    small_config_fini(&config);
    return r.batch[STEPS - 1].end.ps;
}

static void tell(const struct random_case *c, const char *what, int64_t a, int64_t b)
{
    (void)fprintf(stderr, "%lld wafers, %s: %lld ps, %lld ps\n", (long long)c->num_csx, what,
                  (long long)a, (long long)b);
    for (int i = 0; i < c->n; i++)
        (void)fprintf(stderr, "  %s\n", c->text[i]);
}

/* ---- better is never slower ------------------------------------------------------------------ */

/* Constants of the network and of MemoryX; those of the wafer also change the plan. */
static const struct {
    const char *key, *unit;
    double worst, best;
} better[] = {{"memoryx.link_rate", "B/s", 1e7, 1e13},
              {"swarmx.link_rate", "B/s", 1e8, 1e14},
              {"memoryx.update_rate", "params/s", 1e6, 1e12},
              {"input.rate", "B/s", 1e5, 1e12},
              {"input.worker_rate", "", 1e3, 1e9},
              {"control.latency", "ps", 1e9, 1},
              {"control.per_system", "ps", 1e9, 1},
              {"memoryx.link_latency", "ps", 1e9, 1},
              {"memoryx.update_latency", "ps", 1e9, 1},
              {"swarmx.link_latency", "ps", 1e9, 1},
              {"swarmx.latency", "ps", 1e9, 1},
              {"swarmx.add_latency", "ps", 1e9, 1}};
enum { N_BETTER = sizeof better / sizeof *better };

static void check_better(uint64_t i)
{
    const int k = (int)(i % N_BETTER);
    const double u = wsc_rng_uniform(7, wsc_rng_stream(WSC_RNG_TEST, i), 0);
    const double middle = better[k].worst * pow(better[k].best / better[k].worst, u);
    const double value[3] = {better[k].worst, middle, better[k].best};
    int64_t before = INT64_MAX;
    for (int j = 0; j < 3; j++) {
        struct random_case c;
        random_case_draw(&c, i, i % 2);
        random_case_add(&c, "cluster.%s=%.0f %s", better[k].key, ceil(value[j]), better[k].unit);
        const int64_t end = end_of(&c);
        if (end > before) tell(&c, "better is slower", before, end);
        CU_ASSERT(end <= before);
        before = end;
    }
}

TEST(run_invariants, a_better_network_is_never_slower)
{
    for (uint64_t i = 0; i < CASES; i++)
        check_better(2000 + i);
}

/* Everything that can be switched off costs time or nothing. */
TEST(run_invariants, a_mechanism_switched_off_is_never_slower)
{
    static const char *const effect[] = {"boundary", "reduce", "latency", "input", "control"};
    const uint64_t n = sizeof effect / sizeof *effect;
    for (uint64_t i = 0; i < CASES; i++) {
        struct random_case c;
        random_case_draw(&c, 3000 + i, false);
        const int64_t with = end_of(&c);
        random_case_add(&c, "cluster.effects.%s=off", effect[i % n]);
        const int64_t without = end_of(&c);
        if (without > with) tell(&c, "a mechanism gains time", with, without);
        CU_ASSERT(without <= with);
    }
}

TEST(run_invariants, more_layers_are_slower)
{
    for (uint64_t i = 0; i < CASES / 2; i++) {
        struct random_case c;
        random_case_draw(&c, 4000 + i, false);
        random_case_add(&c, "cluster.effects.input=off"); /* a starved step takes its input */
        random_case_add(&c, "model.num_hidden_layers=2");
        const int64_t two = end_of(&c);
        random_case_add(&c, "model.num_hidden_layers=5");
        CU_ASSERT(end_of(&c) > two);
    }
}

/* ---- faults ---------------------------------------------------------------------------------- */

/* All delays times f would make a step f times as long; a straggler multiplies some of them. */
TEST(run_invariants, a_straggler_costs_at_most_its_factor)
{
    for (uint64_t i = 0; i < CASES / 2; i++) {
        struct random_case c;
        random_case_draw(&c, 5000 + i, false);
        const int64_t alike = end_of(&c), tenths = 11 + (int64_t)(i % 30);
        const long long wafer = random_case_int(5000 + i, 90, 0, c.num_csx - 1);
        random_case_add(&c, "cluster.faults+=straggler:wafer=%lld,factor=%.1f", wafer,
                        (double)tenths / 10);
        const int64_t slowed = end_of(&c);
        if (slowed < alike || slowed > alike / 10 * tenths + 10 * tenths)
            tell(&c, "a straggler", alike, slowed);
        CU_ASSERT(slowed >= alike && slowed <= alike / 10 * tenths + 10 * tenths);
    }
}

/* The last step of @p num_csx wafers. */
static struct memoryx_batch last_step(int64_t num_csx, const char *const *sets)
{
    struct small_config config;
    struct small_result r;
    T_OK(small_config_init(&config, num_csx, sets));
    T_OK(small_run_alone(&config, STEPS, NULL, &r));
    small_config_fini(&config);
    return r.batch[STEPS - 1];
}

/* Where a step is all compute, it costs the whole factor. */
TEST(run_invariants, a_straggler_of_a_compute_bound_step_costs_its_factor)
{
    const char *const sets[] = {"model.hidden_size=256",
                                "model.filter_size=1024",
                                "train_input.batch_size=512",
                                "cluster.effects.boundary=off",
                                "cluster.effects.reduce=off",
                                "cluster.effects.latency=off",
                                "cluster.effects.input=off",
                                "cluster.effects.control=off",
                                "cluster.memoryx.link_rate=1 PB/s",
                                "cluster.swarmx.link_rate=1 PB/s",
                                "cluster.wafer.io_rate=1 PB/s",
                                "cluster.wafer.hop_cycles=0",
                                "cluster.wafer.stage_latency=0 ps",
                                "cluster.wafer.backward_kernels=0",
                                NULL,
                                NULL};
    const char *slowed[sizeof sets / sizeof *sets];
    memcpy(slowed, sets, sizeof sets);
    slowed[sizeof sets / sizeof *sets - 2] = "cluster.faults+=straggler:wafer=0,factor=1.5";
    const double factor = (double)last_step(4, slowed).time_ps / (double)last_step(4, sets).time_ps;
    T_NEAR(factor, 1.5, 1e-3);
}

TEST(run_invariants, lost_planes_and_slow_links_are_never_faster)
{
    for (uint64_t i = 0; i < CASES / 2; i++) {
        struct random_case c;
        random_case_draw(&c, 6000 + i, false);
        const int64_t whole = end_of(&c);
        if (i % 2 && c.num_csx > 1)
            random_case_add(&c, "cluster.faults+=lost_planes:node=0,planes=%d", 1 + (int)(i % 11));
        else
            random_case_add(&c, "cluster.faults+=slow_link:wafer=0,factor=%d", 2 + (int)(i % 7));
        CU_ASSERT(end_of(&c) >= whole);
    }
}

/* Half of the planes of the only node: all of its links at half the rate.  One shard, since shards
 * among themselves have links of their own. */
TEST(run_invariants, half_the_planes_are_half_the_rate)
{
    const char *const lost[] = {"cluster.faults+=lost_planes:node=0,planes=6",
                                "cluster.memoryx.shards=1", "model.hidden_size=256", NULL};
    const char *const slow[] = {"cluster.swarmx.link_rate=75 GB/s",
                                "cluster.memoryx.link_rate=6.25 GB/s", "cluster.memoryx.shards=1",
                                "model.hidden_size=256", NULL};
    T_EQ(last_step(3, lost).end.ps, last_step(3, slow).end.ps);
}

static void check_place(const char *fault, const char *why)
{
    const char *const sets[] = {fault, NULL};
    struct small_config config;
    struct small_result r;
    T_OK(small_config_init(&config, 3, sets));
    T_EQ(small_run_alone(&config, 1, NULL, &r), WSC_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), why));
    small_config_fini(&config);
}

TEST(run_invariants, a_fault_needs_a_place)
{
    check_place("cluster.faults+=straggler:wafer=3,factor=2", "no wafer 3, the machine has 3");
    check_place("cluster.faults+=slow_link:wafer=3,factor=2", "no wafer 3, the machine has 3");
    check_place("cluster.faults+=lost_planes:node=1,planes=2", "no SwarmX node 1");
    check_place("cluster.faults+=lost_planes:node=0,planes=12", "less than swarmx.planes, 12");
    check_place("cluster.faults+=lost_node:node=0", "the last SwarmX node would be lost");
}

/* ---- jitter ---------------------------------------------------------------------------------- */

static struct wafer_cost cost_with(const struct hw *hw, const struct model *model,
                                   const struct cycles_plan *plan, int wafer, int64_t step)
{
    const struct wafer_task task = {
        .wafer = wafer, .step = step, .seed = 3, .stage = 1, .backward = true, .n_samples = 6};
    return wafer_cost_of(hw, model, plan, &task);
}

enum { DRAWS = 400 };

/* A machine with jitter of 1 %, the same without, and a stage on it. */
struct jitter_case {
    struct small_config config;
    struct hw_machine still;
    struct hw hw, hw_still;
    struct model *model;
    struct cycles_plan plan;
    int64_t compute_ps; /* without jitter */
};

/* @p key: which jitter. */
static void set_up_jitter(struct jitter_case *j, const char *key)
{
    char set[64];
    const char *const sets[] = {set, "model.hidden_size=512", NULL};
    (void)snprintf(set, sizeof set, "cluster.%s=0.01", key);
    *j = (struct jitter_case){.model = NULL};
    T_OK(small_config_init(&j->config, 1, sets));
    T_OK(model_create(&j->model, &j->config.params, HW_STREAM_BLOCK));
    j->still = j->config.cluster;
    j->still.jitter = j->still.jitter_stage = j->still.jitter_system = 0;
    j->hw.cluster = &j->config.cluster;
    j->hw_still.cluster = &j->still;
    T_OK(cycles_plan_wafer(&j->plan, &j->hw, j->model, 6,
                           &(struct cycles_asked){.micro_batch = CONF_NULL}, true, NULL));
    j->compute_ps = cost_with(&j->hw_still, j->model, &j->plan, 0, 0).compute_ps;
}

static void tear_down_jitter(struct jitter_case *j)
{
    model_destroy(&j->model);
    small_config_fini(&j->config);
}

static int64_t slowest_of(const struct jitter_case *j, int n, int64_t step)
{
    int64_t slowest = 0;
    for (int w = 0; w < n; w++) {
        const struct wafer_cost c = cost_with(&j->hw, j->model, &j->plan, w, step);
        CU_ASSERT(c.first_ps <= c.compute_ps);
        if (c.compute_ps > slowest) slowest = c.compute_ps;
    }
    return slowest;
}

/* The slowest of N takes 1 + jitter m_N of its cycles, where m_N is the expected maximum of N
 * standard normal deviates: 0.5642, 1.0294, 1.7660 and 2.3437 for 2, 4, 16 and 64 (Harter 1961,
 * Biometrika 48, table 1).  With 400 draws of the maximum, whose standard deviation is below 0.83,
 * the mean is within 0.12 at about three sigmas. */
TEST(run_invariants, the_slowest_of_many_takes_what_order_statistics_say)
{
    static const struct {
        int n;
        double mean;
    } expected[] = {{2, 0.5642}, {4, 1.0294}, {16, 1.7660}, {64, 2.3437}};
    struct jitter_case j;
    set_up_jitter(&j, "jitter");
    for (size_t k = 0; k < sizeof expected / sizeof *expected; k++) {
        double sum = 0;
        for (int step = 0; step < DRAWS; step++)
            sum += (double)slowest_of(&j, expected[k].n, step) / (double)j.compute_ps - 1;
        CU_ASSERT(fabs(sum / DRAWS / 0.01 - expected[k].mean) < 0.12);
    }
    tear_down_jitter(&j);
}

/* Over a pair of steps one system takes what its cycles take. */
TEST(run_invariants, jitter_of_a_pair_of_steps_cancels)
{
    struct jitter_case j;
    static const char *const key[] = {"jitter", "jitter_stage"};
    for (int k = 0; k < 2; k++) {
        set_up_jitter(&j, key[k]);
        for (int step = 0; step < DRAWS; step += 2) {
            const int64_t pair = cost_with(&j.hw, j.model, &j.plan, 5, step).compute_ps +
                                 cost_with(&j.hw, j.model, &j.plan, 5, step + 1).compute_ps;
            T_TRUE(llabs(pair - 2 * j.compute_ps) <= 2);
        }
        tear_down_jitter(&j);
    }
}

/* Systems differ by as much as the constant says, the first one not at all, and by the same in all
 * steps.  The deviation of 400 samples has a standard error of 3.5 %. */
TEST(run_invariants, systems_differ_and_stay_as_they_are)
{
    struct jitter_case j;
    double squares = 0;
    set_up_jitter(&j, "jitter_system");
    T_EQ(cost_with(&j.hw, j.model, &j.plan, 0, 1).compute_ps, j.compute_ps);
    for (int w = 1; w <= DRAWS; w++) {
        const int64_t ps = cost_with(&j.hw, j.model, &j.plan, w, 0).compute_ps;
        const double z = ((double)ps / (double)j.compute_ps - 1) / 0.01;
        squares += z * z;
        T_EQ(cost_with(&j.hw, j.model, &j.plan, w, 7).compute_ps, ps);
    }
    CU_ASSERT(fabs(sqrt(squares / DRAWS) - 1) < 0.11);
    tear_down_jitter(&j);
}

/* Transfers of a step have deviates of their own, which no other jitter shares. */
TEST(run_invariants, stages_differ_from_each_other)
{
    struct jitter_case j;
    double squares = 0;
    set_up_jitter(&j, "jitter_stage");
    for (int transfer = 0; transfer < DRAWS; transfer++) {
        const struct wafer_task task = {.wafer = 3,
                                        .seed = 3,
                                        .stage = 1,
                                        .transfer = transfer,
                                        .backward = true,
                                        .n_samples = 6};
        const int64_t ps = wafer_cost_of(&j.hw, j.model, &j.plan, &task).compute_ps;
        const double z = ((double)ps / (double)j.compute_ps - 1) / 0.01;
        squares += z * z;
    }
    CU_ASSERT(fabs(sqrt(squares / DRAWS) - 1) < 0.11);
    tear_down_jitter(&j);
}

/* What a wafer keeps from call to call is that of its pair of steps and of its seed. */
TEST(run_invariants, kept_deviates_are_those_of_the_step)
{
    static const int64_t steps[] = {0, 1, 1, 2, 3, 9, 8, 2, 2, 1};
    enum { N = sizeof steps / sizeof *steps };
    struct jitter_case j;
    struct wafer_deviates kept = {0};
    int n_differ = 0;
    set_up_jitter(&j, "jitter");
    for (int i = 0; i < 2 * N; i++) {
        struct wafer_jitter_of of = {
            .seed = 3 + (uint64_t)(i % 3 / 2), .wafer = 5, .step = steps[i % N]};
        const int64_t alone = wafer_jitter_millionths(&j.hw, &of);
        of.kept = &kept;
        T_EQ(wafer_jitter_millionths(&j.hw, &of), alone);
        of.kept = NULL;
        of.step += 2;
        n_differ += wafer_jitter_millionths(&j.hw, &of) != alone;
    }
    T_EQ(n_differ, 2 * N);
    tear_down_jitter(&j);
}
