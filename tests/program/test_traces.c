// SPDX-License-Identifier: Apache-2.0
/* Traces and critical paths of what `wsc run` does: a training with faults that come and go or with
 * a link that loses packets, an evaluation, a generation; each the same whether all roles live in
 * one process or several ranks share them. */
#include "../support/test.h"
#include "../support/trace_check.h"
#include "small_job.h"
#include "spawn.h"

#include <wsc/conf.h>
#include <wsc/mem.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_file(const char *dir, const char *name)
{
    char path[300], *text = NULL;
    size_t n;
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    T_OK(conf_read_file(path, &text, &n));
    return text;
}

/* The segments of a critical path follow each other without a gap; time of @p part among them. */
static long long check_path(const char *dir, const char *part, long long *step_ps)
{
    char *text = read_file(dir, "critical_path.csv");
    long long end = -1, first = 0, of_part = 0;
    for (char *line = strchr(text, '\n'); line && line[1]; line = strchr(line + 1, '\n')) {
        char *at;
        const long long begin = strtoll(line + 1, &at, 10);
        if (end < 0) first = begin;
        if (end >= 0) T_EQ(begin, end);
        end = strtoll(at + 1, &at, 10);
        if (!strncmp(at + 1, part, strlen(part))) of_part += end - begin;
    }
    *step_ps = end - first;
    wsc_free(text);
    return of_part;
}

/* The run in one process and on three ranks: the same trace and path, byte for byte.  Returns the
 * folder of the first. */
static const char *run_twice(const char *name, const char *options)
{
    static char one[300];
    char three[300], run[100];
    (void)snprintf(run, sizeof run, "%s_folded", name);
    (void)snprintf(one, sizeof one, "%s", job_path(run));
    (void)snprintf(run, sizeof run, "%s_ranks", name);
    (void)snprintf(three, sizeof three, "%s", job_path(run));
    CU_ASSERT(spawn_ok("%s --num_csx 3 %s --model_dir %s --trace %s/t.json", job_tiny(), options,
                       one, one));
    CU_ASSERT(spawn_ok("mpirun --quiet -n 3 %s --num_csx 3 %s --model_dir %s --trace %s/t.json",
                       job_tiny(), options, three, three));
    static const char *const file[] = {"t.json", "critical_path.csv", "links.csv",
                                       "op_profile.csv"};
    for (size_t i = 0; i < sizeof file / sizeof *file; i++) {
        char *a = read_file(one, file[i]), *b = read_file(three, file[i]);
        CU_ASSERT(strlen(a) > 50 && !strcmp(a, b));
        wsc_free(a);
        wsc_free(b);
    }
    struct trace_counts counts;
    char trace[320];
    (void)snprintf(trace, sizeof trace, "%s/t.json", one);
    T_OK(trace_count(trace, &counts));
    T_EQ(counts.n_loose + counts.n_backward + counts.n_overlaps, 0);
    return one;
}

TEST(traces, a_training_names_every_layer)
{
    long long step_ps;
    const char *dir = run_twice("training", "--num_steps 4");
    CU_ASSERT(check_path(dir, "compute", &step_ps) > 0);
    char *modules = read_file(dir, "op_profile.csv");
    CU_ASSERT_PTR_NOT_NULL(strstr(modules, "transformer_decoder.layers.1.self_attn.bwd,"));
    CU_ASSERT_PTR_NOT_NULL(strstr(modules, "transformer_decoder.layers.0.ffn.0.fwd,"));
    CU_ASSERT_PTR_NULL(strstr(modules, "layers.*"));
    wsc_free(modules);
}

/* The third step has the fault, the fourth has not: a straggler of factor 40 computes 40 times as
 * long, and the path goes through it. */
TEST(traces, a_fault_that_passes_is_in_its_step_alone)
{
    static const char set[] = "--num_steps 5 --numerics none "
                              "--fault straggler:wafer=1,factor=40,from=3,steps=1 "
                              "--set runconfig.op_profiler_config.start_step=%d "
                              "--set runconfig.op_profiler_config.end_step=%d";
    char options[300];
    long long with_ps, without_ps;
    (void)snprintf(options, sizeof options, set, 3, 3);
    const long long with = check_path(run_twice("straggles", options), "compute", &with_ps);
    (void)snprintf(options, sizeof options, set, 4, 4);
    const long long without = check_path(run_twice("recovered", options), "compute", &without_ps);
    CU_ASSERT(with > 20 * without);
    CU_ASSERT(with_ps > without_ps);
}

TEST(traces, lost_packets_are_on_the_path)
{
    long long step_ps;
    const char *dir = run_twice("lossy", "--num_steps 3 --numerics none "
                                         "--fault lossy_link:wafer=1,loss=0.4");
    CU_ASSERT(check_path(dir, "lost packets", &step_ps) > 0);
}

/* A lost wafer leaves after two steps; the others share its work in the step that is shown. */
TEST(traces, a_lost_wafer_is_not_in_the_trace)
{
    long long step_ps;
    const char *dir = run_twice("lost", "--num_steps 4 --numerics none "
                                        "--fault lost_wafer:wafer=1,from=3");
    char *links = read_file(dir, "links.csv");
    CU_ASSERT_PTR_NULL(strstr(links, "wafer 1,"));
    CU_ASSERT_PTR_NOT_NULL(strstr(links, "wafer 2,"));
    CU_ASSERT(check_path(dir, "compute", &step_ps) > 0);
    wsc_free(links);
}

/* Node 0, the root above nodes 1 and 2, leaves after two steps of 8 transfers, four of them
 * backward: node 1 takes its place. Each step has the arrows of its own tree: to each of its nodes
 * and 6 wafers in 8 transfers, from each wafer and lower node in 4, to the updates of 12 shards. */
TEST(traces, each_step_has_the_links_of_its_own_tree)
{
    struct trace_counts counts;
    char dir[300], path[340];
    int n;
    (void)snprintf(dir, sizeof dir, "%s", job_path("lost_root"));
    CU_ASSERT(spawn_ok("%s --num_csx 6 --num_steps 4 --numerics none --set runconfig.mode=train "
                       "--set train_input.batch_size=24 --model_dir %s "
                       "--fault lost_node:node=0,from=3 "
                       "--set runconfig.op_profiler_config.start_step=1 "
                       "--set runconfig.op_profiler_config.end_step=4",
                       job_tiny(), dir));
    (void)snprintf(path, sizeof path, "%s/chrome_trace.json", dir);
    T_OK(trace_count(path, &counts));
    T_EQ(counts.n_loose + counts.n_backward + counts.n_overlaps, 0);
    T_EQ(counts.n_arrows,
         2 * ((3 + 6) * 8 + (6 + 2) * 4 + 12) + 2 * ((2 + 6) * 8 + (6 + 1) * 4 + 12));
    T_OK(trace_count_bars(path, "SwarmX node 0: weights", &n));
    T_EQ(n, 2 * 8);
    T_OK(trace_count_arrows(path, "SwarmX node 0: weights", "SwarmX node 1: weights", &n));
    T_EQ(n, 2 * 8);
    T_OK(trace_count_arrows(path, "SwarmX node 1: sums", "SwarmX node 0: sums", &n));
    T_EQ(n, 2 * 4);
    T_OK(trace_count_arrows(path, "MemoryX shard 0: weights", "SwarmX node 1: weights", &n));
    T_EQ(n, 2 * 8);
    T_OK(trace_count_arrows(path, "SwarmX node 1: sums", "MemoryX shard 11: update", &n));
    T_EQ(n, 2);
}

TEST(traces, an_evaluation_has_no_backward_stages)
{
    long long step_ps;
    const char *dir = run_twice("evaluation", "--mode eval --numerics none "
                                              "--set runconfig.eval_steps=4");
    char *trace = read_file(dir, "t.json");
    CU_ASSERT_PTR_NOT_NULL(strstr(trace, "layers.1 forward"));
    CU_ASSERT_PTR_NULL(strstr(trace, "backward"));
    CU_ASSERT(check_path(dir, "compute", &step_ps) > 0);
    wsc_free(trace);
}

TEST(traces, a_generation_shows_one_of_its_tokens)
{
    long long step_ps;
    const char *dir = run_twice("generation", "--mode generate --numerics none "
                                              "--prompt_ids 1,2,3 --max_new_tokens 5");
    char *trace = read_file(dir, "t.json");
    CU_ASSERT_PTR_NOT_NULL(strstr(trace, "layers.0 forward"));
    CU_ASSERT_PTR_NULL(strstr(trace, "backward"));
    CU_ASSERT(check_path(dir, "compute", &step_ps) > 0);
    wsc_free(trace);
}

/* The first step after a restart waits for what the run before it had begun, where coordination
 * does not take longer. */
TEST(traces, a_restart_says_what_it_does_not_know)
{
    long long step_ps;
    char dir[300];
    (void)snprintf(dir, sizeof dir, "%s", job_path("restarted"));
    CU_ASSERT(spawn_ok("%s --num_csx 3 --num_steps 2 --model_dir %s", job_tiny(), dir));
    CU_ASSERT(spawn_ok("%s --num_csx 3 --num_steps 1 --model_dir %s --trace %s/t.json "
                       "--set cluster.effects.control=off",
                       job_tiny(), dir, dir));
    CU_ASSERT(check_path(dir, "before the record", &step_ps) > 0);
}

/* 4000 micro-batches: more than a trace holds, even of one wafer. */
TEST(traces, one_that_ends_early_says_so)
{
    struct spawn_result r;
    char dir[300];
    (void)snprintf(dir, sizeof dir, "%s", job_path("trace_early"));
    spawn_run(
        &r,
        "%s --num_csx 2 --num_steps 1 --numerics none --set train_input.batch_size=8000 --set "
        "train_input.micro_batch_size=1 --model_dir %s --trace %s/t.json",
        job_tiny(), dir, dir);
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "t.json: has the first "));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "a trace has at most 120000 events"));
    spawn_free(&r);
}

/* Without a step boundary the update of a shard ends when its last gradient has arrived. */
TEST(traces, no_bar_ends_before_it_begins)
{
    const char *dir = run_twice("no_boundary", "--num_steps 3 --numerics none "
                                               "--set cluster.effects.boundary=false");
    char *trace = read_file(dir, "t.json");
    CU_ASSERT_PTR_NOT_NULL(strstr(trace, "\"update"));
    CU_ASSERT_PTR_NULL(strstr(trace, "\"dur\": -"));
    CU_ASSERT_PTR_NULL(strstr(trace, ".-"));
    wsc_free(trace);
}
