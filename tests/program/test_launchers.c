// SPDX-License-Identifier: Apache-2.0
/* Failures of the launcher itself: what the scripts report of it, what it leaves, and what does not
 * need one.  The last stand-ins for mpirun are scripts; the other tests start Open MPI's own. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TINY "--params configs/params/tiny.yaml --num_csx 2 --max_steps 2"
/* The tests' own environment keeps mpirun quiet; a user's does not. */
#define LOUD "unset OMPI_MCA_orte_execute_quiet; "

/* What mpirun says of its own failure is shown: no rank could. */
TEST(launchers, own_failure_of_the_launcher_is_reported)
{
    struct spawn_result r;
    spawn_run(&r,
              LOUD "OMPI_MCA_rmaps_base_mapping_policy=nosuch mpi_launch/local.sh -n 2 " TINY
                   " --model_dir %s",
              job_path("no_policy"));
    T_EQ(r.status, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "\n  Policy: nosuch\n"));
    T_EQ(r.n_left, 0);
    spawn_free(&r);
}

/* Of a rank that reported its error mpirun's own report is not shown. */
TEST(launchers, error_of_a_run_is_one_line)
{
    struct spawn_result r;
    spawn_run(&r, LOUD "mpi_launch/local.sh -n 2 " TINY " --no_such_option 1");
    T_EQ(r.status, 2);
    CU_ASSERT(!strncmp(r.err, "wsc: error: --no_such_option", 28));
    T_EQ(strchr(r.err, '\n') - r.err + 1, strlen(r.err));
    spawn_free(&r);
}

/* Blocks of dashes, lines of ranks and of mpirun, in one stream. */
TEST(launchers, lines_of_ranks_are_told_from_those_of_the_launcher)
{
    static const struct {
        const char *words, *shown;
    } stream[] = {
        {"$d\\nPrimary job  terminated normally, but\\n$d\\n", ""},
        {"$d\\nThere are not enough slots\\n$d\\n", "There are not enough slots"},
        {"wsc: error: no\\n$d\\nThere are not enough slots\\n$d\\n", "wsc: error: no\n"},
        {"[n:1] *** An error occurred\\n[n:1] warned\\n", "[n:1] warned\n[n:1] *** An error"},
        {"mpirun: Forwarding signal 10 to job\\nhalf", "half\n"},
    };
    for (int i = 0; i < (int)(sizeof stream / sizeof *stream); i++) {
        struct spawn_result r;
        spawn_run(&r,
                  ". mpi_launch/common.sh; mpirun='mpirun --mca x'; own_folder; "
                  "d=$(printf '%%074d' 0 | tr 0 -); "
                  "speak() { printf -- \"%s\" >&2; return 1; }; run_with_restarts 0 speak; "
                  "exit $status",
                  stream[i].words);
        T_EQ(r.status, 1);
        if (*stream[i].shown) CU_ASSERT_PTR_NOT_NULL(strstr(r.err, stream[i].shown));
        if (!*stream[i].shown) T_STR(r.err, "");
        T_EQ(strstr(r.err, "There are not") != NULL, i == 1);
        spawn_free(&r);
    }
}

/* A rank that is killed cannot say so, and mpirun's report is five lines. */
TEST(launchers, a_killed_rank_is_named)
{
    struct spawn_result r;
    spawn_run(&r,
              LOUD "dir=%s; mpi_launch/local.sh -n 3 --params configs/params/tiny.yaml --num_csx 2 "
                   "--num_steps 100000 --model_dir $dir & until grep -qs Step= $dir/run.log; do "
                   "sleep 0.1; done; for p in $(pgrep -f -- \"--model_dir $dir\"); do "
                   "grep -qs OMPI_COMM_WORLD_RANK=2 /proc/$p/environ && kill -KILL $p; done; "
                   "wait $!",
              job_path("killed_rank"));
    T_EQ(r.status, 137);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "local.sh: rank 2 on "));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, " was ended by signal 9 (Killed); hint: killed by hand"));
    T_EQ(r.n_left, 0);
    spawn_free(&r);
}

/* mpirun passes text on and asks nobody whether it was written. */
TEST(launchers, output_that_is_lost_is_an_error)
{
    static const struct {
        const char *to;
        int status;
    } output[] = {{">/dev/full", 1}, {">&-", 1}, {"| head -n 1", 0}};
    for (int i = 0; i < (int)(sizeof output / sizeof *output); i++) {
        struct spawn_result r;
        const char *dir = job_path("lost_output");
        spawn_run(&r,
                  "{ mpi_launch/local.sh -n 2 " TINY " --model_dir %s; echo $? >&3; } 3>%s.status "
                  "%s; exit $(cat %s.status)",
                  dir, dir, output[i].to, dir);
        T_EQ(r.status, output[i].status);
        T_EQ(strstr(r.err, "local.sh: standard output could not be written") != NULL, r.status);
        CU_ASSERT(spawn_ok("test -f %s/checkpoint_2.mdl && rm -r %s", dir, dir));
        T_EQ(r.n_left, 0);
        spawn_free(&r);
    }
}

TEST(launchers, scripts_are_found_through_a_symbolic_link)
{
    static const char *const script[] = {"local.sh -n 2", "hosts.sh hosts"};
    for (int i = 0; i < (int)(sizeof script / sizeof *script); i++) {
        struct spawn_result r;
        const char *dir = job_path("linked");
        spawn_run(&r,
                  "mkdir %s; ln -s $PWD/mpi_launch/*.sh %s; "
                  "cd %s && echo localhost slots=2 >hosts && ./%s --params none.yaml",
                  dir, dir, dir, script[i]);
        T_EQ(r.status, 2);
        CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "wsc: error: none.yaml"));
        spawn_free(&r);
    }
}

/* Ranks end by the signal of a request that they do not know yet, or they write 5 themselves. */
TEST(launchers, a_stop_before_the_first_step_is_a_stop)
{
    struct spawn_result r;
    spawn_run(&r, ". mpi_launch/common.sh; mpirun='mpirun --mca x'; own_folder; run_with_restarts "
                  "3 sh -c 'kill -USR1 $PPID; sleep 1; kill -USR1 $$'; exit $status");
    T_EQ(r.status, 5);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "stopped on request before the first step of this start"));
    T_EQ(r.n_left, 0);
    spawn_free(&r);
}

/* A launcher that hears no signal: its child has ended, a request came, a second one came. */
TEST(launchers, a_launcher_that_hangs_is_ended)
{
    static const char *const hangs[] = {"sleep 0.1 & exec sleep 100",
                                        "kill -USR1 \\$PPID; exec sleep 100",
                                        "kill -USR1 \\$PPID; sleep 1; kill -USR1 \\$PPID; "
                                        "sleep 100"};
    struct spawn job[sizeof hangs / sizeof *hangs];
    for (int i = 0; i < (int)(sizeof hangs / sizeof *hangs); i++) {
        char text[400];
        (void)snprintf(text, sizeof text,
                       ". mpi_launch/common.sh; mpirun='mpirun --mca x'; own_folder; "
                       "run_with_restarts 0 sh -c \"trap '' TERM USR1; %s\"; exit $status",
                       hangs[i]);
        CU_ASSERT_FATAL(spawn_start(&job[i], text));
    }
    for (int i = 0; i < (int)(sizeof hangs / sizeof *hangs); i++) {
        struct spawn_result r;
        spawn_wait(&job[i], 60, &r);
        T_EQ(r.status, 137);
        CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "the launcher does not end"));
        T_EQ(r.n_left, 0);
        spawn_free(&r);
    }
}

/* Only mpirun is ended when its children are gone: a program may have helpers that end. */
TEST(launchers, a_program_without_a_launcher_is_not_watched)
{
    for (int watched = 0; watched < 2; watched++) {
        struct spawn_result r;
        spawn_run(&r,
                  ". mpi_launch/common.sh; mpirun=%s; watch_launcher() { echo watched; }; "
                  "run_with_restarts 0 sleep 1; exit $status",
                  watched ? "mpirun" : "");
        T_EQ(r.status, 0);
        T_STR(r.out, watched ? "watched\n" : "");
        spawn_free(&r);
    }
}

/* mpirun is killed and leaves a rank: it has ended when the run starts again. */
TEST(launchers, ranks_of_a_killed_launcher_end_before_the_restart)
{
    static const char *const script[] = {"mpi_launch/local.sh -n 2 --max-restarts 1 " TINY,
                                         "SLURM_NTASKS=2 mpi_launch/slurm.sbatch " TINY,
                                         "mpi_launch/pbs.sh"};
    const char *dir = job_path("killed_launcher");
    CU_ASSERT_FATAL(spawn_ok(
        "mkdir %s && cd %s && yes localhost | head -n 2 >nodes && printf '#!/bin/sh\\n"
        "[ \"$1\" != --version ] || exec echo \"mpirun (Open MPI) 4.1.4\"\\n"
        "if [ -e %s/rank ]; then grep -qs sleep /proc/$(cat %s/rank)/cmdline && exit 2; exit 0; "
        "fi\\nsleep 100 &\\necho $! >%s/rank\\nkill -KILL $$\\n' >mpirun && chmod +x mpirun",
        dir, dir, dir, dir, dir));
    for (int i = 0; i < (int)(sizeof script / sizeof *script); i++) {
        struct spawn_result r;
        spawn_run(&r,
                  "rm -f %s/rank; PATH=%s:$PATH; export WSC_ARGS='" TINY "' PBS_O_WORKDIR=$PWD "
                  "PBS_NODEFILE=%s/nodes SLURM_SUBMIT_DIR=$PWD; %s",
                  dir, dir, dir, script[i]);
        T_EQ(r.status, 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "wsc ended with status 137; restart 1 of"));
        T_EQ(r.n_left, 0);
        spawn_free(&r);
    }
}

/* ---- the agent on another machine -------------------------------------------------------------
 */

/* A folder with a stand-in for mpirun's daemon: lives $1 seconds, then kills itself if $2 says so;
 * borrowed. */
static const char *daemon_folder(void)
{
    const char *dir = job_path("daemon");
    CU_ASSERT_FATAL(spawn_ok("mkdir %s && printf '#!/bin/sh\\n[ -z \"${2:-}\" ] || { sleep \"$1\"; "
                             "kill -KILL $$; }\\nexec sleep \"$1\"\\n' >%s/orted && "
                             "chmod +x %s/orted",
                             dir, dir, dir));
    return dir;
}

/* The shell reports the killed daemon to a connection that is gone, and the folder goes all the
 * same. */
TEST(launchers, an_agent_without_its_connection_removes_its_folder)
{
    struct spawn_result r;
    const char *dir = daemon_folder();
    spawn_run(&r,
              "PATH=%s:$PATH; { sh mpi_launch/agent.sh %s/shm 1 killed 2>&1 >/dev/null; "
              "echo $? >%s/status; } | true; cat %s/status; [ ! -e %s/shm ]",
              dir, dir, dir, dir, dir);
    T_EQ(r.status, 0);
    T_STR(r.out, "137\n");
    T_EQ(r.n_left, 0);
    spawn_free(&r);
}

/* A restart comes to a machine on which the start before has not ended. */
TEST(launchers, an_agent_ends_the_start_before)
{
    struct spawn_result r;
    const char *dir = daemon_folder();
    spawn_run(&r,
              "PATH=%s:$PATH; sh mpi_launch/agent.sh %s/shm 100 & "
              "until [ -d %s/shm ]; do sleep 0.1; done; "
              "sh mpi_launch/agent.sh %s/shm 1 && wait $!; echo $?; [ ! -e %s/shm ]",
              dir, dir, dir, dir, dir);
    T_EQ(r.status, 0);
    T_STR(r.out, "137\n");
    T_EQ(r.n_left, 0);
    spawn_free(&r);
}

/* A folder that no agent made stays, and the message names the machine. */
TEST(launchers, an_agent_leaves_folders_of_others)
{
    struct spawn_result r;
    const char *dir = daemon_folder();
    spawn_run(&r,
              "mkdir %s/shm; PATH=%s:$PATH sh mpi_launch/agent.sh %s/shm 1; s=$?; "
              "echo \"mpi_launch/agent.sh: $(hostname): mkdir\"; [ -d %s/shm ] && exit $s",
              dir, dir, dir, dir);
    T_EQ(r.status, 1);
    CU_ASSERT(!strncmp(r.err, r.out, strcspn(r.out, "\n")));
    spawn_free(&r);
}
