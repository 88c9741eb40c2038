// SPDX-License-Identifier: Apache-2.0
/* `wsc doctor`: every check has its line, what is broken on purpose is found with what to do about
 * it, and only failures decide about the exit status. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <string.h>

/* A folder with links to all programs of PATH but @p name. */
static const char *path_without(const char *name)
{
    const char *dir = job_path("bin");
    CU_ASSERT_TRUE_FATAL(spawn_ok("mkdir %s && for d in /usr/bin /bin /usr/local/bin; do "
                                  "ln -s $d/* %s/ 2>/dev/null; done; rm -f %s/%s",
                                  dir, dir, dir, name));
    return dir;
}

static void expect_line(const struct spawn_result *r, const char *line)
{
    CU_ASSERT_PTR_NOT_NULL(strstr(r->out, line));
    if (!strstr(r->out, line)) (void)fprintf(stderr, "no \"%s\" in\n%s", line, r->out);
}

TEST(doctor, a_host_that_runs_the_tests_is_well)
{
    struct spawn_result r;
    spawn_run(&r, "\"$WSC\" doctor");
    T_EQ(r.status, 0);
    expect_line(&r, "MPI              ");
    expect_line(&r, ", two ranks");
    expect_line(&r, "one step on two ranks, checkpoint written by both");
    expect_line(&r, "ok       HDF5");
    CU_ASSERT_PTR_NULL(strstr(r.out, "failed  "));
    spawn_free(&r);
    CU_ASSERT(spawn_ok("test -z \"$(find ${TMPDIR:-/tmp} -maxdepth 1 -name 'wsc-doctor-*' "
                       "-user $(id -u) -newer Makefile -mmin -1)\""));
}

TEST(doctor, quick_starts_nothing_and_json_has_every_check)
{
    struct spawn_result r;
    spawn_run(&r, "PATH=/nowhere \"$WSC\" doctor --quick --json");
    T_EQ(r.status, 0);
    int n = 0;
    for (const char *at = r.out; (at = strstr(at, "\"check\"")); at++)
        n++;
    T_EQ(n, 17);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "\"skipped\""));
    spawn_free(&r);
}

TEST(doctor, without_gnuplot_it_warns)
{
    struct spawn_result r;
    spawn_run(&r, "PATH=%s \"$WSC\" doctor", path_without("gnuplot*"));
    T_EQ(r.status, 0);
    expect_line(&r, "warning  gnuplot");
    expect_line(&r, "install gnuplot-nox");
    spawn_free(&r);
}

/* In a folder with a long name, as schedulers make them for a job. */
TEST(doctor, without_mpirun_it_fails)
{
    enum { LONG = 240 };
    struct spawn_result r;
    const char *dir = job_path("long");
    CU_ASSERT_TRUE_FATAL(spawn_ok("mkdir -p %s/%0*d", dir, LONG, 0));
    spawn_run(&r, "TMPDIR=%s/%0*d PATH=%s \"$WSC\" doctor", dir, LONG, 0, path_without("mpirun*"));
    T_EQ(r.status, 1);
    expect_line(&r, "failed   MPI");
    expect_line(&r, "there is no mpirun in PATH");
    expect_line(&r, "load the MPI module");
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "2 of 17 checks failed"));
    spawn_free(&r);
}

/* An mpirun of another library starts two processes that know nothing of each other. */
TEST(doctor, an_mpirun_of_another_library_is_found)
{
    struct spawn_result r;
    const char *dir = job_path("other");
    CU_ASSERT_TRUE_FATAL(spawn_ok("mkdir %s && printf '#!/bin/sh\nshift 2\n\"$@\"\n\"$@\"\n' "
                                  ">%s/mpirun && chmod +x %s/mpirun",
                                  dir, dir, dir));
    spawn_run(&r, "PATH=%s:$PATH \"$WSC\" doctor", dir);
    T_EQ(r.status, 1);
    expect_line(&r, "two jobs of one rank");
    expect_line(&r, "belongs to another MPI library");
    spawn_free(&r);
}

TEST(doctor, limits_and_folders_that_are_too_small_are_named)
{
    struct spawn_result r;
    spawn_run(&r, "ulimit -n 200; ulimit -s 1024; TMPDIR=/nowhere OMP_NUM_THREADS=4000 "
                  "WSC_DATA_DIR=/nowhere \"$WSC\" doctor --quick");
    T_EQ(r.status, 1);
    expect_line(&r, "warning  open files       200");
    expect_line(&r, "warning  stack            1024 KiB");
    expect_line(&r, "failed   temporary files  /nowhere");
    expect_line(&r, "warning  program");
    expect_line(&r, "more threads than processors");
    spawn_free(&r);
}
