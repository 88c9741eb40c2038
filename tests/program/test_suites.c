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
