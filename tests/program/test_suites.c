// SPDX-License-Identifier: Apache-2.0
/* The scripts that run the tests: tests/run.sh and tests/hosts.  A machine without a scheduler or a
 * server for ssh skips what needs them, says so, and counts it neither as passed nor as failed. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <stdio.h>
#include <string.h>

/* A PATH of what every machine has, and of mpirun; ssh and sbatch are not in it. */
static const char *bare_path(void)
{
    const char *bin = job_path("bare");
    CU_ASSERT_FATAL(spawn_ok("mkdir %s && for p in sh dirname basename mpirun; do "
                             "ln -s \"$(command -v $p)\" %s/$p || exit 1; done",
                             bin, bin));
    return bin;
}

TEST(suites, hosts_tests_are_skipped_where_their_programs_are_missing)
{
    static const char *const suite[] = {"slurm", "netns"};
    const char *bin = bare_path();
    for (int i = 0; i < 2; i++) {
        char said[64];
        struct spawn_result r;
        (void)snprintf(said, sizeof said, "skipped: %s: no ", suite[i]);
        spawn_run(&r, "PATH=%s sh tests/hosts/%s.sh", bin, suite[i]);
        if (r.status) (void)fprintf(stderr, "%s: %s\n", suite[i], r.err);
        T_EQ(r.status, 0);
        T_STR(r.err, "");
        CU_ASSERT(!strncmp(r.out, said, strlen(said)));
        CU_ASSERT_PTR_NULL(strstr(r.out, "passed"));
        spawn_free(&r);
    }
}

/* Parts of a test run, as a `make` that only prints would leave them. */
static const struct suite_case {
    const char *make, *says;
    int status;
} total[] = {
    {"echo unit: 3 passed, 0 failed", "\n6 passed, 0 failed\n", 0},
    {"echo unit: 3 passed, 1 failed", "\n6 passed, 2 failed\n", 1},
    {"echo skipped: slurm: no munged; echo netns: 2 passed, 0 failed",
     "\nskipped: slurm: no munged\nskipped: slurm: no munged\n4 passed, 0 failed\n", 0},
    {"echo skipped: slurm: no munged", "\n0 passed, 0 failed\n", 1},
    {"echo unit: 3 passed, 0 failed; exit 1", "\n6 passed, 1 failed\n", 1},
};

TEST(suites, the_last_line_adds_up_what_ran_and_names_what_did_not)
{
    for (int i = 0; i < (int)(sizeof total / sizeof *total); i++) {
        struct spawn_result r;
        const char *make = job_path("make");
        spawn_run(&r,
                  "printf '#!/bin/sh\\n%s\\n' >%s && chmod +x %s && "
                  "sh tests/run.sh %s part-one part-two",
                  total[i].make, make, make, make);
        const char *end = r.out + strlen(r.out);
        const size_t n = strlen(total[i].says);
        const bool good =
            r.status == total[i].status && strlen(r.out) >= n && !strcmp(end - n, total[i].says);
        if (!good) (void)fprintf(stderr, "%s: %d, %s\n", total[i].make, r.status, r.out);
        CU_ASSERT(good);
        spawn_free(&r);
    }
}

/* Stands for make: a target of the two that run at the same time waits for the other one. */
static const char stub_of_lanes[] =
    "#!/bin/sh\n"
    "wait_for() { i=0; until [ -e $D/$1 ]; do i=$((i+1)); [ $i -lt 300 ] || exit 1; sleep 0.1; "
    "done; }\n"
    "echo >$D/$1\n"
    "case $1 in\n"
    "check-program-1of4) wait_for check-packaging; echo program: 3 passed, $PROGRAM failed ;;\n"
    "check-unit) wait_for check-program-1of4; echo unit: 2 passed, $UNIT failed ;;\n"
    "test-hosts) echo skipped: slurm: no munged ;;\n"
    "esac";

TEST(suites, two_targets_run_at_the_same_time)
{
    static const struct {
        const char *failed, *last;
    } how[] = {{"UNIT=0 PROGRAM=0", "\nskipped: slurm: no munged\n5 passed, 0 failed\n"},
               {"UNIT=1 PROGRAM=0", "\nskipped: slurm: no munged\n5 passed, 1 failed\n"},
               {"UNIT=0 PROGRAM=2", "\nskipped: slurm: no munged\n5 passed, 2 failed\n"}};
    for (int i = 0; i < (int)(sizeof how / sizeof *how); i++) {
        struct spawn_result r;
        const char *dir = job_path("lanes");
        spawn_run(&r,
                  "mkdir -p %s/bin && cd %s && echo 'echo 2' >bin/nproc && echo '%s' >bin/make && "
                  "chmod +x bin/* && cd - && D=%s %s PATH=%s/bin:$PATH sh tests/run.sh; s=$?; "
                  "rm -rf %s; exit $s",
                  dir, dir, stub_of_lanes, dir, how[i].failed, dir, dir);
        const size_t n = strlen(how[i].last), all = strlen(r.out);
        T_EQ(r.status, i > 0);
        CU_ASSERT(all > n && !strcmp(r.out + all - n, how[i].last));
        CU_ASSERT(strstr(r.out, "== test-hosts") > strstr(r.out, "program: 3 passed"));
        spawn_free(&r);
    }
}

/* A suite of two cases; it is skipped until its programs are installed where $NEEDS names it. */
static const char stub_of_suite[] = "s=$(basename $0 .sh)\n"
                                    "case \" $NEEDS \" in *\" $s \"*) [ -e installed ] || { echo "
                                    "\"skipped: $s: no\"; exit; };; esac\n"
                                    "echo \"$s: 2 passed, 0 failed\"";
/* A `make test` of the suites of hosts alone. */
static const char stub_of_make[] = "#!/bin/sh\n"
                                   "case \"$*\" in\n"
                                   "*test-hosts*) sh tests/hosts/run.sh wsc $SUITES ;;\n"
                                   "*) sh tests/run.sh make test-hosts ;;\n"
                                   "esac";

/* A tree of .ci/run, the scripts that it calls, and stubs. */
static const char *tree_of_suites(const char *deps)
{
    const char *dir = job_path("tree");
    CU_ASSERT_TRUE_FATAL(
        spawn_ok("mkdir -p %s/.ci %s/tests/hosts %s/mpi_launch %s/bin && cp .ci/run %s/.ci && "
                 "cp tests/run.sh %s/tests && cp tests/hosts/run.sh %s/tests/hosts",
                 dir, dir, dir, dir, dir, dir, dir));
    CU_ASSERT_TRUE_FATAL(spawn_ok(
        "cd %s && for s in slurm netns benchmarks; do echo '%s' >tests/hosts/$s.sh; done && "
        "echo '%s' >mpi_launch/deps.sh && echo '%s' >bin/make && chmod +x bin/make",
        dir, stub_of_suite, deps, stub_of_make));
    return dir;
}

TEST(suites, ci_runs_and_counts_each_case_once)
{
    static const struct {
        const char *needs, *deps, *last;
    } how[] = {{"none", "echo >installed", "\n6 passed, 0 failed\n"},
               {"slurm", "echo >installed", "\n6 passed, 0 failed\n"},
               {"netns benchmarks", "echo >installed", "\n6 passed, 0 failed\n"},
               {"slurm netns", "exit 1", "\n2 passed, 0 failed\n"}};
    for (int i = 0; i < (int)(sizeof how / sizeof *how); i++) {
        struct spawn_result r;
        const char *dir = tree_of_suites(how[i].deps);
        spawn_run(&r, "NEEDS='%s' PATH=%s/bin:$PATH %s/.ci/run; s=$?; rm -rf %s; exit $s",
                  how[i].needs, dir, dir, dir);
        const size_t n = strlen(how[i].last), all = strlen(r.out);
        T_EQ(r.status, 0);
        CU_ASSERT(all > n && !strcmp(r.out + all - n, how[i].last));
        spawn_free(&r);
    }
}
