// SPDX-License-Identifier: Apache-2.0
/* A recorded step taken apart: for random clusters, models and batches the graph of events must
 * give the picosecond that the roles report, its path must add up to the step, its links must carry
 * what the roles' links carry, and the schedule must take the same time in a simulator that knows
 * only GOAL. */
#include "../../support/goal.h"
#include "../../support/random_case.h"
#include "../../support/test.h"
#include "../../support/trace_check.h"

#include <wsc/file.h>
#include <wsc/mem.h>
#include <wsc/timeline.h>

#include <stdio.h>
#include <string.h>

enum { CASES = 150 };

/* The step after @p first_step others, recorded without values. */
static enum wsc_err make_timeline(struct timeline **t, const struct small_config *c,
                                  struct timeline_want want)
{
    if (!want.n_steps) want.n_steps = 1;
    TRY(timeline_create(t, &c->params, &c->cluster, &want));
    return timeline_measure(*t, &c->params, &c->cluster);
}

static void check_path(const struct timeline *t)
{
    struct timeline_segment *path;
    struct vtime_breakdown parts;
    int64_t step_ps, sum = 0;
    int n;
    timeline_step(t, &step_ps, &parts);
    T_OK(timeline_path(t, &path, &n));
    CU_ASSERT_FATAL(n > 0);
    for (int i = 0; i < n; i++) {
        CU_ASSERT(path[i].end_ps > path[i].begin_ps);
        if (i) T_EQ(path[i].begin_ps, path[i - 1].end_ps);
        sum += path[i].end_ps - path[i].begin_ps;
    }
    T_EQ(sum, step_ps);
    T_EQ(path[n - 1].end_ps - path[0].begin_ps, step_ps);
    wsc_free(path);
}

static void check_profile(const struct timeline *t)
{
    struct timeline_module *row;
    struct vtime_breakdown parts;
    int64_t step_ps, sum = 0;
    int n;
    timeline_step(t, &step_ps, &parts);
    for (int by_layer = 0; by_layer < 2; by_layer++, sum = 0) {
        T_OK(timeline_profile(t, by_layer, &row, &n));
        for (int i = 0; i < n; i++)
            sum += row[i].ps;
        T_EQ(sum, step_ps);
        wsc_free(row);
    }
}

/* All steps carry the same, so what the run's links carried in n steps is n times the step's. */
static void check_links(const struct timeline *t, const struct small_config *c)
{
    enum { STEPS = 2 };
    struct small_result r;
    struct timeline_link *link;
    struct vtime_breakdown parts;
    int64_t step_ps, bytes[2] = {0};
    int n;
    timeline_step(t, &step_ps, &parts);
    T_OK(small_run_alone(c, STEPS, NULL, &r));
    T_OK(timeline_links(t, &link, &n));
    for (int i = 0; i < n; i++)
        bytes[i % 2] += link[i].bytes;
    T_EQ(STEPS * bytes[0], r.bytes_down);
    T_EQ(STEPS * bytes[1], r.bytes_up);
    wsc_free(link);
}

static void check_case(uint64_t i)
{
    struct random_case c;
    struct small_config config;
    struct timeline *t = NULL;
    random_case_draw(&c, i, i % 2);
    T_OK(random_case_config(&c, &config));
    const struct timeline_want want = {.first_step = random_case_int(i, 99, 0, 5)};
    T_OK(make_timeline(&t, &config, want)); /* ends the program when record and roles differ */
    check_path(t);
    check_profile(t);
    check_links(t, &config);
    timeline_destroy(&t);
    small_config_fini(&config);
}

TEST(timeline, random_steps_add_up)
{
    for (uint64_t i = 0; i < CASES; i++)
        check_case(i);
    T_EQ(wsc_mem_in_use(WSC_MEM_TIMELINE), 0);
}

/* ---- the schedule for another simulator ------------------------------------------------------ */

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    CU_ASSERT(fputs(text, f) >= 0);
    CU_ASSERT(fclose(f) == 0);
}

/* Two ranks by hand: rank 0 works 5, signals rank 1, which has worked 3 and then works 4: ends
 * at 9. Rank 1's second cpu works 7 meanwhile; its first cpu then has a calc of 2 that could start
 * at 1 but finds the cpu busy until 3. */
TEST(goal, the_simulator_runs_a_schedule_by_hand)
{
    char path[160];
    struct goal_result r;
    (void)snprintf(path, sizeof path, "%s/hand.goal", test_tmpdir());
    write_file(path, "// the step begins at 1 and so on\nnum_ranks 2\n"
                     "rank 0 {\na: calc 5\ns: send 1b to 1 tag 0\ns requires a\n}\n"
                     "rank 1 {\nb: calc 3 cpu 1\nc: calc 7 cpu 2\no: calc 1 cpu 3\n"
                     "d: calc 2 cpu 1\nd requires o\nr: recv 1b from 0 tag 0\n"
                     "e: calc 4 cpu 0\ne requires r\ne requires b\n}\n");
    T_OK(goal_run(path, &r));
    T_EQ(r.makespan, 9);
    T_EQ(r.begin, 1);
    T_EQ(r.n_operations, 8);
    T_EQ(r.n_messages, 1);
    T_EQ(r.n_delayed, 1);
    write_file(path,
               "num_ranks 1\nrank 0 {\na: calc 5\nb: calc 1\na requires b\nb requires a\n}\n");
    T_EQ(goal_run(path, &r), WSC_FORMAT); /* a cycle */
    write_file(path, "num_ranks 2\nrank 0 {\ns: send 1b to 1 tag 0\n}\nrank 1 {\n}\n");
    T_EQ(goal_run(path, &r), WSC_FORMAT); /* nobody receives */
}

static void check_schedule(const struct timeline *t, const char *path)
{
    struct goal_result r;
    struct vtime_breakdown parts;
    int64_t step_ps;
    T_OK(goal_run(path, &r));
    timeline_step(t, &step_ps, &parts);
    T_EQ(r.makespan - r.begin, step_ps);
    T_EQ(r.n_delayed, 0); /* no cpu of the schedule makes anything wait */
}

/* False when the schedule needs more cpus than a rank of LogGOPSim has. */
static bool check_goal(uint64_t i)
{
    struct random_case c;
    struct small_config config;
    struct timeline *t = NULL;
    char path[160];
    (void)snprintf(path, sizeof path, "%s/random.goal", test_tmpdir());
    random_case_draw(&c, i, i % 2);
    random_case_add(&c, "cluster.swarmx.fanout=4");
    T_OK(random_case_config(&c, &config));
    const struct timeline_want want = {.first_step = random_case_int(i, 98, 0, 4),
                                       .schedule = true};
    T_OK(make_timeline(&t, &config, want));
    enum wsc_err rc = timeline_goal(t, path);
    CU_ASSERT(rc == WSC_OK || rc == WSC_CAPACITY);
    if (!rc) check_schedule(t, path);
    check_path(t);
    timeline_destroy(&t);
    small_config_fini(&config);
    return !rc;
}

TEST(goal, random_schedules_take_the_time_of_the_step)
{
    enum { GOAL_CASES = 60, MOST_REFUSED = 10 };
    int refused = 0;
    for (uint64_t i = 1000; i < 1000 + GOAL_CASES; i++)
        refused += !check_goal(i);
    CU_ASSERT(refused <= MOST_REFUSED);
}

/* Who has the older file open keeps it to its end. */
TEST(goal, a_schedule_replaces_the_older_file_whole)
{
    static const char older[] = "an older schedule";
    struct small_config config;
    struct timeline *t = NULL;
    char path[160], text[sizeof older] = "";
    (void)snprintf(path, sizeof path, "%s/replaced.goal", test_tmpdir());
    T_OK(wsc_file_replace(path, older, sizeof older));
    FILE *reader = fopen(path, "r");
    CU_ASSERT_FATAL(reader != NULL);
    T_OK(small_config_init(&config, 5, NULL));
    T_OK(make_timeline(&t, &config, (struct timeline_want){.schedule = true}));
    T_OK(timeline_goal(t, path));
    T_EQ(fread(text, 1, sizeof text, reader), sizeof text);
    CU_ASSERT(!memcmp(text, older, sizeof older));
    (void)fclose(reader);
    check_schedule(t, path);
    timeline_destroy(&t);
    small_config_fini(&config);
}

/* ---- the trace ------------------------------------------------------------------------------- */

static int count(const char *text, const char *what)
{
    int n = 0;
    for (const char *at = strstr(text, what); at; at = strstr(at + 1, what))
        n++;
    return n;
}

/* Arrows lead forward from bar to bar, bars of a row follow each other. */
static void check_order(const char *path, struct trace_counts *n)
{
    T_OK(trace_count(path, n));
    T_EQ(n->n_loose, 0);
    T_EQ(n->n_backward, 0);
    T_EQ(n->n_overlaps, 0);
}

/* If a trace has all bars of two steps, each row has those that its name asks for. */
static void check_rows(const char *path)
{
    static const struct {
        const char *name;
        int n_bars;
    } rows[] = {{"MemoryX shard 2: weights", 16}, {"MemoryX shard 2: update", 2},
                {"SwarmX node 0: weights", 16},   {"SwarmX node 0: sums", 8},
                {"SwarmX node 2: weights", 16},   {"SwarmX node 2: sums", 8},
                {"wafer 4: stages", 16},          {"wafer 4: gradients", 8}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        int n;
        T_OK(trace_count_bars(path, rows[k].name, &n));
        T_EQ(n, rows[k].n_bars);
    }
}

/* The bars and arrows of a trace of at most @p max_events events; @p n_bars: of the roles that it
 * shows. */
static void check_trace(int64_t max_events, int *bars, int *arrows, int *n_bars)
{
    static const char *const sets[] = {"cluster.memoryx.shards=3", NULL};
    struct timeline_trace_size size;
    struct trace_counts counts;
    struct small_config config;
    struct timeline *t = NULL;
    char path[160], *text = NULL;
    size_t n;
    (void)snprintf(path, sizeof path, "%s/trace.json", test_tmpdir());
    T_OK(small_config_init(&config, 5, sets));
    const struct timeline_want want = {.first_step = 2, .n_steps = 2, .trace = true};
    T_OK(make_timeline(&t, &config, want));
    T_OK(timeline_trace(t, path, max_events, &size));
    T_OK(conf_read_file(path, &text, &n));
    *bars = count(text, "\"ph\": \"X\"");
    *arrows = count(text, "\"ph\": \"s\"");
    T_EQ(*arrows, count(text, "\"ph\": \"f\""));
    T_EQ(*bars, size.n_drawn);
    *n_bars = (int)size.n_bars;
    static const char head[] = "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [";
    CU_ASSERT(!strncmp(text, head, sizeof head - 1));
    check_order(path, &counts);
    T_EQ(counts.n_arrows, *arrows);
    if (max_events > 10000) check_rows(path);
    wsc_free(text);
    timeline_destroy(&t);
    small_config_fini(&config);
}

/* Five wafers below two leaves and a root, three shards, two layers: eight transfers a step, four
 * of them backward.  Bars of a step: weights leave each of 3 shards and 3 nodes, 8 times; each of 5
 * wafers has 8 stages; sums leave each of 5 wafers and 3 nodes, the root's over 3 links at the same
 * time, 4 times; each shard updates once. Arrows lead to each node and stage, from each wafer and
 * leaf, and to each update. */
TEST(timeline, the_trace_has_a_bar_for_everything)
{
    int bars, arrows, n_bars;
    check_trace(100000, &bars, &arrows, &n_bars);
    T_EQ(bars, 2 * ((3 + 3) * 8 + 5 * 8 + (5 + 3) * 4 + 3));
    T_EQ(bars, n_bars);
    T_EQ(arrows, 2 * ((3 + 5) * 8 + (5 + 2) * 4 + 3));
}

/* The slowest wafer, its leaf, the root and a shard have 2 * (4 * 8 + 3 * 4 + 1) bars. */
TEST(timeline, the_trace_is_bounded)
{
    const int least = 2 * (4 * 8 + 3 * 4 + 1);
    int bars, arrows, n_bars;
    for (int most = 20; most < 1200; most += 20) {
        check_trace(most, &bars, &arrows, &n_bars);
        CU_ASSERT(bars > 0 && bars + 2 * arrows <= most);
        CU_ASSERT(n_bars >= least && (bars == n_bars || n_bars == least));
    }
}

/* Two steps of a random case, with links of one node or wafer that lose packets. */
static void check_random_trace(uint64_t i)
{
    struct random_case c;
    struct small_config config;
    struct timeline *t = NULL;
    struct timeline_trace_size size;
    struct trace_counts n;
    char path[160];
    (void)snprintf(path, sizeof path, "%s/random.json", test_tmpdir());
    random_case_draw(&c, i, i % 2);
    if (i % 3 == 0)
        random_case_add(&c, "cluster.faults+=lossy_link:wafer=%lld,loss=0.2",
                        (long long)(c.num_csx - 1));
    if (i % 3 == 1 && c.num_csx > 1)
        random_case_add(&c, "cluster.faults+=lossy_link:node=0,loss=0.2");
    T_OK(random_case_config(&c, &config));
    const struct timeline_want want = {
        .first_step = random_case_int(i, 99, 0, 3), .n_steps = 2, .trace = true};
    T_OK(make_timeline(&t, &config, want));
    T_OK(timeline_trace(t, path, 200000, &size));
    check_order(path, &n);
    T_EQ(n.n_bars, size.n_drawn);
    CU_ASSERT(n.n_arrows > 0);
    timeline_destroy(&t);
    small_config_fini(&config);
}

TEST(timeline, arrows_lead_forward_and_bars_of_a_row_follow_each_other)
{
    for (uint64_t i = 2000; i < 2060; i++)
        check_random_trace(i);
    T_EQ(wsc_mem_in_use(WSC_MEM_TIMELINE), 0);
}

/* The root has a slower link to node 2, whose bars end later and wait for each other: they have a
 * row of their own. An arrow begins where its own link does. */
TEST(timeline, a_link_that_differs_has_a_row_of_its_own)
{
    static const char *const sets[] = {"cluster.memoryx.shards=3",
                                       "cluster.swarmx.link_rate=1 MB/s",
                                       "cluster.faults+=slow_link:node=2,factor=3", NULL};
    struct timeline_trace_size size;
    struct trace_counts counts;
    struct small_config config;
    struct timeline *t = NULL;
    char path[160];
    int n;
    (void)snprintf(path, sizeof path, "%s/own_row.json", test_tmpdir());
    T_OK(small_config_init(&config, 5, sets));
    const struct timeline_want want = {.first_step = 2, .n_steps = 2, .trace = true};
    T_OK(make_timeline(&t, &config, want));
    T_OK(timeline_trace(t, path, 100000, &size));
    check_order(path, &counts);
    T_OK(trace_count_bars(path, "SwarmX node 0: weights for SwarmX node 2", &n));
    T_EQ(n, 16);
    T_OK(trace_count_arrows(path, "SwarmX node 0: weights for SwarmX node 2",
                            "SwarmX node 2: weights", &n));
    T_EQ(n, 16);
    T_OK(trace_count_arrows(path, "SwarmX node 0: weights", "SwarmX node 1: weights", &n));
    T_EQ(n, 16);
    T_OK(trace_count_arrows(path, "SwarmX node 0: weights", "SwarmX node 2: weights", &n));
    T_EQ(n, 0);
    timeline_destroy(&t);
    small_config_fini(&config);
}
