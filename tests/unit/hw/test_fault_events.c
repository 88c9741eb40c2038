// SPDX-License-Identifier: Apache-2.0
#include "../../support/test.h"

#include <wsc/hw.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAFERS = 8, NODES = 3, SHARDS = 4 };

/* A CS-2 with faults as after `--fault`, ended by NULL. */
static struct hw_machine cluster_with(const char *const *fault)
{
    struct hw_machine c;
    struct conf_set set[8] = {0};
    char text[8][120];
    int n = 0;
    for (; fault[n]; n++) {
        (void)snprintf(text[n], sizeof text[n], "cluster.faults+=%s", fault[n]);
        set[n] = (struct conf_set){.text = text[n]};
    }
    T_OK(hw_machine_parse(&c, NULL, NULL, 0, set, n));
    return c;
}

static enum wsc_err plan(struct hw_faults **f, const struct hw_machine *c, int64_t last_step,
                         uint64_t seed)
{
    const struct hw_fault_scope scope = {{WAFERS, NODES, SHARDS}, seed, last_step, -1};
    return hw_faults_create(f, c, &scope);
}

/* Of any factor: samples of 1 ms and 0.1 ms for their tokens. */
TEST(hw_faults, a_slow_input_takes_exactly_so_much_longer)
{
    static const char *const factor[] = {"3", "300", "700", "10000", "1e6"};
    for (size_t i = 0; i < sizeof factor / sizeof *factor; i++) {
        char text[80];
        const struct hw_samples samples = {.n = 50, .n_tokens = 5000};
        struct hw_faults *f = NULL;
        (void)snprintf(text, sizeof text, "slow_input:wafer=2,factor=%s", factor[i]);
        struct hw_machine c = cluster_with((const char *const[]){text, NULL});
        c.input.sample_ps = 1000000000;
        c.input.worker_tokens_per_s = 1000000;
        c.input.workers = 1;
        T_OK(plan(&f, &c, 100, 1));
        hw_faults_move(f, 0);
        const struct hw hw = {.cluster = &c, .faults = f};
        const double expected = strtod(factor[i], NULL) * 55e9;
        T_NEAR((double)hw_input_ps(&hw, 2, &samples), expected, 0);
        T_NEAR((double)hw_input_ps(&hw, 1, &samples), 55e9, 0);
        hw_faults_destroy(&f);
        hw_machine_fini(&c);
    }
}

TEST(hw_faults, they_come_and_go_with_their_steps)
{
    const char *const fault[] = {"straggler:wafer=2,factor=3,from=4,steps=2",
                                 "straggler:wafer=2,factor=2,from=5", "slow_link:node=1,factor=4",
                                 "lost_wafer:wafer=6,from=3", NULL};
    struct hw_machine c = cluster_with(fault);
    struct hw_faults *f = NULL;
    static const double factor[] = {1, 1, 1, 3, 6, 2, 2};
    T_OK(plan(&f, &c, 100, 1));
    const struct hw hw = {.cluster = &c, .faults = f};
    for (int64_t step = 0; step < 7; step++) {
        hw_faults_move(f, step);
        T_NEAR(hw_straggler(&hw, 2), factor[step], 0);
        T_NEAR(hw_straggler(&hw, 3), 1, 0);
        T_NEAR(hw_link_slowness(&hw, HW_PLACE_NODE, 1), 4, 0);
        T_NEAR(hw_link_slowness(&hw, HW_PLACE_WAFER, 1), 1, 0);
        T_EQ(hw_is_lost(&hw, HW_PLACE_WAFER, 6), step >= 2);
    }
    hw_faults_move(f, 0);
    T_EQ(hw_faults_next(f), 2);
    hw_faults_move(f, 4);
    T_EQ(hw_faults_next(f), 5);
    hw_faults_move(f, 5);
    T_EQ(hw_faults_next(f), INT64_MAX);
    hw_faults_destroy(&f);
    hw_machine_fini(&c);
}

/* Losses of all kinds recover once, and do not come back with a step that is done again. */
TEST(hw_faults, what_is_lost_stays_lost)
{
    const char *const fault[] = {"lost_wafer:wafer=6,from=3", "lost_shard:shard=1,from=5",
                                 "lost_node:node=2,from=5", NULL};
    struct hw_machine c = cluster_with(fault);
    struct hw_faults *f = NULL;
    T_OK(plan(&f, &c, 100, 1));
    const struct hw hw = {.cluster = &c, .faults = f};
    hw_faults_move(f, 2);
    T_EQ(hw_recovery_ps(&hw, 0), c.recovery.detection_ps + c.recovery.redistribution_ps);
    hw_faults_move(f, 4); /* a node and a shard at once: the longer one counts */
    T_EQ(hw_recovery_ps(&hw, 20000000000), c.recovery.detection_ps + 10000000000000);
    T_EQ(hw_recovery_ps(&hw, 0), c.recovery.detection_ps + c.recovery.reroute_ps);
    hw_faults_move(f, 0);
    CU_ASSERT(hw_is_lost(&hw, HW_PLACE_WAFER, 6) && hw_is_lost(&hw, HW_PLACE_NODE, 2));
    hw_faults_move(f, 4);
    T_EQ(hw_recovery_ps(&hw, 20000000000), 0);
    CU_ASSERT_PTR_NULL(hw_faults_new(f, 0));
    /* A run that resumes from step 4 has them in its past or before it, as its file says. */
    hw_faults_go_on(f, 3);
    hw_faults_move(f, 4);
    CU_ASSERT_PTR_NOT_NULL(hw_faults_new(f, 1));
    hw_faults_go_on(f, 4);
    hw_faults_move(f, 4);
    CU_ASSERT_PTR_NULL(hw_faults_new(f, 0));
    hw_faults_destroy(&f);
    hw_machine_fini(&c);
}

static bool is_near(double n, double mean)
{
    return fabs(n - mean) < 5 * sqrt(mean);
}

/* Beginnings of a fault with the rate p in n steps at one place: about n p, sigma sqrt(n p). */
static void check_frequency(const struct hw_machine *c, uint64_t seed)
{
    const double mean = 10000.0 * 0.01;
    struct hw_faults *f = NULL;
    int n, at[WAFERS] = {0};
    T_OK(plan(&f, c, 10000, seed));
    const struct hw_event *e = hw_faults_events(f, &n);
    CU_ASSERT(is_near(n, mean * WAFERS));
    for (int i = 0; i < n; i++)
        at[e[i].place]++;
    for (int w = 0; w < WAFERS; w++)
        CU_ASSERT(is_near(at[w], mean));
    hw_faults_destroy(&f);
}

TEST(hw_faults, drawn_faults_are_as_frequent_as_their_rate)
{
    const char *const fault[] = {"straggler:rate=0.01,factor=2,steps=1", NULL};
    struct hw_machine c = cluster_with(fault);
    for (uint64_t seed = 0; seed < 10; seed++)
        check_frequency(&c, seed);
    hw_machine_fini(&c);
}

TEST(hw_faults, draws_do_not_depend_on_the_length_of_the_run)
{
    const char *const fault[] = {"straggler:rate=0.02,factor=2,steps=3",
                                 "lossy_link:node=1,rate=0.05,loss=0.1,steps=2", NULL};
    struct hw_machine c = cluster_with(fault);
    struct hw_faults *shorter = NULL, *longer = NULL;
    int n, m;
    T_OK(plan(&shorter, &c, 300, 7));
    T_OK(plan(&longer, &c, 900, 7));
    const struct hw_event *a = hw_faults_events(shorter, &n), *b = hw_faults_events(longer, &m);
    CU_ASSERT_FATAL(n > 20 && m > n);
    for (int i = 0; i < n; i++)
        CU_ASSERT(a[i].first_step == b[i].first_step && a[i].place == b[i].place);
    hw_faults_destroy(&shorter);
    hw_faults_destroy(&longer);
    hw_machine_fini(&c);
}

/* Without the first fault the draws of the second are the same. */
TEST(hw_faults, a_fault_is_left_out_alone)
{
    const char *const fault[] = {"straggler:rate=0.02,factor=2,steps=3",
                                 "lossy_link:rate=0.05,loss=0.1,steps=2", NULL};
    struct hw_machine c = cluster_with(fault);
    const struct hw_fault_scope without = {{WAFERS, NODES, SHARDS}, 7, 300, 0};
    struct hw_faults *all = NULL, *one = NULL;
    int n, m, k = 0;
    T_OK(plan(&all, &c, 300, 7));
    T_OK(hw_faults_create(&one, &c, &without));
    const struct hw_event *a = hw_faults_events(all, &n), *b = hw_faults_events(one, &m);
    for (int i = 0; i < n; i++) {
        if (a[i].fault->kind == HW_FAULT_STRAGGLER) continue;
        CU_ASSERT_FATAL(k < m);
        CU_ASSERT(a[i].first_step == b[k].first_step && a[i].place == b[k].place);
        k++;
    }
    T_EQ(k, m);
    hw_faults_destroy(&all);
    hw_faults_destroy(&one);
    hw_machine_fini(&c);
}

static void check_refused(const char *first, const char *second, const char *why)
{
    const char *const fault[] = {first, second, NULL};
    struct hw_machine c = cluster_with(fault);
    struct hw_faults *f = NULL;
    T_EQ(plan(&f, &c, 1000, 1), WSC_CONFIG);
    if (!strstr(wsc_err_message(), why)) T_STR(wsc_err_message(), why);
    CU_ASSERT_PTR_NULL(f);
    hw_machine_fini(&c);
}

TEST(hw_faults, a_machine_cannot_lose_everything)
{
    check_refused("lost_wafer:rate=0.5", NULL, "the last wafer would be lost at step");
    check_refused("lost_node:rate=0.5", NULL, "the last SwarmX node would be lost at step");
    check_refused("lost_shard:shard=4", NULL, "no MemoryX shard 4, the machine has 4");
    check_refused("lost_planes:node=2,planes=6", "lost_planes:node=2,planes=6,from=9",
                  "SwarmX node 2 has lost all of its 12 planes at step 9");
    check_refused("straggler:rate=1,factor=2,steps=1", "jitter:rate=1,deviation=0.1,steps=1",
                  "more than 10000 events");
}
