// SPDX-License-Identifier: Apache-2.0
/* What commands report is complete and names its limits: faults of a machine, swept values in full,
 * every count of systems, ends of a search range, rates of runs that repeat steps. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A machine file with a fault that begins later; borrowed. */
static const char *faulty_machine(void)
{
    static char path[160];
    (void)snprintf(path, sizeof path, "%s", job_path("faulty.yaml"));
    CU_ASSERT_FATAL(spawn_ok("printf 'schema_version: 1\\nbase: %%s/configs/cluster/cs2.yaml\\n"
                             "faults: [{kind: straggler, wafer: 0, factor: 2, from: 100}]\\n' "
                             "\"$PWD\" >%s",
                             path));
    return path;
}

TEST(reported, inspect_lists_the_faults_of_a_machine)
{
    static const char fault[] = "straggler:wafer=0,factor=2,from=100";
    const char *machine = faulty_machine();
    struct spawn_result r;
    spawn_run(&r,
              "\"$WSC\" inspect %s && \"$WSC\" inspect %s --json | python3 -c "
              "'import json, sys; print(json.load(sys.stdin)[\"faults\"])'",
              machine, machine);
    T_EQ(r.status, 0);
    char text[2][80];
    (void)snprintf(text[0], sizeof text[0], "  fault %s\n", fault);
    (void)snprintf(text[1], sizeof text[1], "['%s']\n", fault);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, text[0]));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, text[1]));
    spawn_free(&r);
}

/* A comparison looks at steady steps, as a sweep does. */
TEST(reported, comparisons_refuse_faults_that_begin_later)
{
    static const char *const command[] = {"validate", "reproduce", "calibrate"};
    const char *machine = faulty_machine();
    for (int i = 0; i < (int)(sizeof command / sizeof *command); i++) {
        struct spawn_result r;
        spawn_run(&r, "\"$WSC\" %s --cluster %s --out %s", command[i], machine,
                  job_path("refused"));
        T_EQ(r.status, 2);
        CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "a prediction looks at a step like all others"));
        spawn_free(&r);
    }
}

/* A row's machine is looked at too; a plan has no rate with such a fault. */
TEST(reported, machines_of_rows_and_plans_with_later_faults_are_named)
{
    const char *machine = faulty_machine();
    struct spawn_result r;
    spawn_run(&r,
              "dir=$(dirname %s) && cp %s $dir/later.yaml && printf "
              "'id,quantity,unit,value,model,num_csx,global_batch,micro_batch,msl,cluster\\nr,rate,"
              "samples/s,9,gpt3_111m,1,120,auto,2048,later\\n' >$dir/later.csv && "
              "\"$WSC\" validate --points $dir/later.csv --machines $dir",
              machine, machine);
    T_EQ(r.status, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "later.csv:2:46: cluster: "));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "a prediction looks at a step like all others"));
    spawn_free(&r);
    spawn_run(&r, "\"$WSC\" run --params configs/params/tiny.yaml --cluster %s --compile_only",
              machine);
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "the rate is left out: fault straggler:"));
    spawn_free(&r);
}

/* Two values that differ in the fifth digit are two in the table and in the file. */
TEST(reported, swept_values_have_all_their_digits)
{
    const char *dir = job_path("digits");
    struct spawn_result r;
    spawn_run(&r,
              "\"$WSC\" scale --params configs/params/tiny.yaml --num_csx 1 --out %s --sensitivity "
              "--sweep cluster.swarmx.link_rate=1.2341GB/s,1.2344GB/s,2GB/s && "
              "cut -d, -f1 %s/sweep.csv && grep wafer.clock, %s/sensitivity.csv",
              dir, dir, dir);
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "  1.2341 GB/s "));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "  1.2344 GB/s "));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "\n1.2341 GB/s\n1.2344 GB/s\n2 GB/s\n"));
    spawn_free(&r);
}

/* More counts than a table has columns are further tables. */
TEST(reported, every_count_of_systems_is_in_a_table)
{
    struct spawn_result r;
    spawn_run(&r,
              "\"$WSC\" scale --params configs/params/tiny.yaml --out %s --effects "
              "--num_csx 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18 | grep -A1 'on so many'",
              job_path("blocks"));
    T_EQ(r.status, 0);
    const char *second = strstr(r.out, " 16\n");
    CU_ASSERT_PTR_NOT_NULL_FATAL(second);
    CU_ASSERT_PTR_NOT_NULL(strstr(second, "  17  "));
    CU_ASSERT_PTR_NOT_NULL(strstr(second, " 18\n"));
    spawn_free(&r);
}

/* The end of the search range is not a fit: no standard error, no range. */
TEST(reported, a_constant_at_the_end_of_its_range_is_no_fit)
{
    const char *file = job_path("end.yaml");
    struct spawn_result r;
    spawn_run(&r,
              "\"$WSC\" calibrate --out %s --fit wafer.kernel_factor --set "
              "cluster.wafer.clock=200MHz && cat %s",
              file, file);
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, " -  at the end of its search range 0.5..2\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "): at the end of its search range 0.5..2, deviation"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "wafer.kernel_factor = 0.5 is at the end of its search "
                                         "range 0.5..2"));
    const char *constant = strstr(r.out, "kernel_factor:");
    CU_ASSERT_PTR_NOT_NULL_FATAL(constant);
    const char *next = strstr(constant, "\n    clock:"), *range = strstr(constant, "uncertainty:");
    CU_ASSERT(next && range > next);
    spawn_free(&r);
}

/* Samples per second over all: those that count, not those that a restore repeats. */
TEST(reported, repeated_samples_are_no_progress)
{
    const char *dir = job_path("repeated");
    struct spawn_result r;
    spawn_run(&r,
              "\"$WSC\" run --params configs/params/tiny.yaml --num_csx 2 --max_steps 10 "
              "--set runconfig.checkpoint_steps=4 --set cluster.recovery.detection=0s "
              "--set cluster.checkpoint.rate=0params/s --fault lost_shard:shard=0,from=8 "
              "--model_dir %s >&2 && python3 -c 'import json; p = json.load(open(\""
              "%s/performance.json\")); print(p[\"total_samples\"] / p[\"total_time\"], "
              "p[\"samples_per_sec\"])'",
              dir, dir);
    T_EQ(r.status, 0);
    char *end;
    const double expected = strtod(r.out, &end), rate = strtod(end, NULL);
    CU_ASSERT(expected > 0);
    T_NEAR(rate / expected, 1, 1e-6);
    spawn_free(&r);
}

/* Without values there is nothing to save, whatever runconfig says. */
TEST(reported, a_stop_without_values_has_its_reason)
{
    const char *dir = job_path("stopped");
    struct spawn_result r;
    spawn_run(&r,
              "\"$WSC\" run --params configs/params/tiny.yaml --num_csx 2 --numerics none "
              "--max_steps 900000000 --model_dir %s >/dev/null & "
              "until grep -qs ' Step=' %s/run.log; do sleep 0.1; done; kill -TERM $!; wait $!",
              dir, dir);
    T_EQ(r.status, 5);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(r.err, "no checkpoint was written, as --numerics none computes no weights"));
    spawn_free(&r);
}

/* A limit that cannot be read, on all ranks or on one, is one error of the job. */
TEST(reported, a_wrong_limit_is_named_once)
{
    static const char *const command[] = {
        "WSC_HEARTBEAT_SECONDS=soon mpirun --quiet -n 3 \"$WSC\" run --params "
        "configs/params/tiny.yaml --numerics none",
        "unset WSC_HEARTBEAT_SECONDS; mpirun --quiet -n 2 \"$WSC\" run --params "
        "configs/params/tiny.yaml --numerics none : -n 1 env WSC_HEARTBEAT_SECONDS=soon \"$WSC\" "
        "run --params configs/params/tiny.yaml --numerics none",
        "WSC_HEARTBEAT_SECONDS=soon \"$WSC\" scale --params configs/params/tiny.yaml"};
    static const char said[] = "wsc: error: WSC_HEARTBEAT_SECONDS: expected a whole number of "
                               "seconds, got \"soon\"";
    for (size_t i = 0; i < sizeof command / sizeof *command; i++) {
        struct spawn_result r;
        spawn_run(&r, "%s", command[i]);
        T_EQ(r.status, 2);
        const char *first = strstr(r.err, said);
        CU_ASSERT(first && !strstr(first + 1, "wsc: error: "));
        spawn_free(&r);
    }
}
