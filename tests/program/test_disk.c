// SPDX-License-Identifier: Apache-2.0
/* Disks that fill up, folders that are read-only or go away: one clear line, and the checkpoints of
 * before are whole.  A small file system of memory, mounted where only the run sees it. */
#include "../support/test.h"
#include "fault.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Can this user mount something for itself?  Skips the case when not. */
static bool can_mount(void)
{
    struct spawn_result r;
    const char *dir = job_path("mount");
    spawn_run(&r, "mkdir %s && unshare -rm mount -t tmpfs -o size=64k none %s", dir, dir);
    const bool can = r.status == 0;
    if (!can) test_skip("a file system of the test's own", r.err);
    spawn_free(&r);
    return can;
}

/* Run @p script where the folder $SMALL is a file system with @p options; $RUN starts the tiny job
 * of tests of faults there, in $SMALL/m, on @p n_ranks; $OUT is a folder that stays. */
static void on_small_disk(struct spawn_result *r, int n_ranks, const char *options,
                          const char *script, const char *out)
{
    char small[160];
    (void)snprintf(small, sizeof small, "%s", job_path("small"));
    (void)setenv("SMALL", small, 1);
    (void)setenv("OUT", out, 1);
    (void)setenv("RUN", strstr(fault_launched("$SMALL/m", n_ranks, 0, FAULT_RUN), "mpi_launch"), 1);
    spawn_run(r,
              "mkdir \"$SMALL\" \"$OUT\" && exec unshare -rm sh -c 'mount -t tmpfs -o %s none "
              "\"$SMALL\" && run() { eval \"$RUN \\\"\\$@\\\"\"; } && %s'",
              options, script);
    (void)unsetenv("RUN");
}

static void check_error(const struct spawn_result *r, const char *said)
{
    const char *first = strstr(r->err, "wsc: error: ");
    const bool good = r->status == 1 && r->n_left == 0 && first &&
                      !strstr(first + 1, "wsc: error: ") && strstr(r->err, said);
    if (!good) (void)fprintf(stderr, "expected \"%s\", status %d: %s\n", said, r->status, r->err);
    CU_ASSERT(good);
}

/* The third checkpoint has no room.  With more room the run resumes from the second, and ends like
 * one to which nothing happened. */
static void fill_up(int n_ranks)
{
    struct spawn_result r;
    struct job_metrics m;
    char out[160];
    (void)snprintf(out, sizeof out, "%s", job_path("filled"));
    on_small_disk(&r, n_ranks, "size=4m",
                  "run; first=$?; ls \"$SMALL/m\"; \"$WSC\" inspect \"$SMALL/m/checkpoint_10.mdl\" "
                  ">/dev/null && mount -o remount,size=40m \"$SMALL\" && run --json && "
                  "cp \"$SMALL/m/metrics.jsonl\" \"$OUT\" && exit $first",
                  out);
    check_error(&r, "checkpoint_15.mdl.tmp: no room for ");
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "No space left on device"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "checkpoint_5.mdl"));
    CU_ASSERT_PTR_NULL(strstr(r.out, ".tmp\n"));
    CU_ASSERT_FATAL(job_read(out, &m));
    CU_ASSERT(job_same_values(&m, fault_undisturbed()) && job_same_times(&m, fault_undisturbed()));
    spawn_free(&r);
}

TEST(disk, full_in_a_checkpoint)
{
    if (!can_mount()) return;
    fill_up(1);
    fill_up(3);
}

/* Lines and events: what was written stays readable, and no half of a line is left. */
TEST(disk, full_of_lines)
{
    struct spawn_result r;
    struct job_metrics m;
    char out[160];
    if (!can_mount()) return;
    for (int n_ranks = 1; n_ranks <= 3; n_ranks += 2) {
        (void)snprintf(out, sizeof out, "%s", job_path("lines"));
        on_small_disk(&r, n_ranks, "size=96k",
                      "run --set runconfig.checkpoint_steps=0 --set runconfig.max_steps=100000; "
                      "first=$?; "
                      "cp \"$SMALL/m/metrics.jsonl\" \"$OUT\"; exit $first",
                      out);
        check_error(&r, ": No space left on device");
        CU_ASSERT_FATAL(job_read(out, &m));
        CU_ASSERT(m.n >= 64);
        CU_ASSERT(spawn_ok("tail -c 2 %s/metrics.jsonl | grep -q '}'", out));
        spawn_free(&r);
    }
}

TEST(disk, read_only)
{
    struct spawn_result r;
    if (!can_mount()) return;
    for (int n_ranks = 1; n_ranks <= 3; n_ranks += 2) {
        on_small_disk(&r, n_ranks, "size=1m", "mount -o remount,ro \"$SMALL\"; run",
                      job_path("ro"));
        check_error(&r, "/m: folder cannot be made: Read-only file system");
        spawn_free(&r);
        on_small_disk(&r, n_ranks, "size=1m",
                      "mkdir \"$SMALL/m\"; mount -o remount,ro \"$SMALL\"; run", job_path("ro"));
        check_error(&r, "/m/run.log: cannot be opened: Read-only file system");
        spawn_free(&r);
    }
}

/* Somebody removes the folder of a run: with the next checkpoint, or at the end, it says so. */
static void remove_folder(int n_ranks, const char *options, const char *after, const char *said)
{
    struct spawn s;
    struct spawn_result r;
    char dir[160];
    (void)snprintf(dir, sizeof dir, "%s", job_path("removed"));
    CU_ASSERT_FATAL(spawn_start(&s, fault_launched(dir, n_ranks, 0, options)));
    CU_ASSERT(spawn_ok("until [ -s %s/%s ]; do sleep 0.02; done; mv %s %s.moved && rm -rf %s.moved",
                       dir, after, dir, dir, dir));
    spawn_wait(&s, 120, &r);
    check_error(&r, said);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "No such file or directory"));
    CU_ASSERT(!fault_has_file(dir, "."));
    spawn_free(&r);
}

TEST(disk, a_folder_that_is_removed)
{
    static const char many[] = FAULT_RUN " --set runconfig.max_steps=4000";
    static const char without[] =
        FAULT_RUN " --set runconfig.max_steps=1000 --set runconfig.checkpoint_steps=0";
    for (int n_ranks = 1; n_ranks <= 3; n_ranks += 2) {
        remove_folder(n_ranks, many, "checkpoint_5.mdl", ".mdl.tmp: cannot be ");
        remove_folder(n_ranks, without, "metrics.jsonl", "performance.json: cannot be written: ");
    }
}

/* A quota, as a limit on the size of a file. */
TEST(disk, a_quota)
{
    struct spawn_result r;
    char dir[160];
    (void)snprintf(dir, sizeof dir, "%s", job_path("quota"));
    spawn_run(&r, "ulimit -f 1000; %s", fault_launched(dir, 1, 0, FAULT_RUN));
    check_error(&r, "ulimit -f unlimited");
    CU_ASSERT(fault_has_file(dir, "metrics.jsonl"));
    CU_ASSERT(!fault_has_file(dir, "checkpoint_5.mdl.tmp"));
    CU_ASSERT(!fault_has_file(dir, "checkpoint_5.mdl"));
    spawn_free(&r);
}
