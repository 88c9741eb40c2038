// SPDX-License-Identifier: Apache-2.0
/* What can happen to a run: asked to stop, put to sleep, damaged files, lost systems.  It ends like
 * a run to which nothing happened.  Kills and hangs at random moments are in test_kills.c. */
#include "../support/test.h"
#include "fault.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- asked to stop --------------------------------------------------------------------------- */

/* The step of the checkpoint from which a stopped run resumes, as its last line says; or -1. */
static long step_to_resume(const struct spawn_result *r)
{
    static const char name[] = "/checkpoint_";
    const char *hint = strstr(r->err, "started again, it resumes from ");
    const char *at = hint ? strstr(hint, name) : NULL;
    return at ? strtol(at + sizeof name - 1, NULL, 10) : -1;
}

/* Train the run in @p dir, which was stopped, ten steps further; it has then logged the values and
 * virtual times of a run of as many steps that nobody stopped. */
static void check_resumed(const char *dir, int n_ranks, const struct spawn_result *stopped)
{
    static const char compare[] = "for d in %s %s; do sed 's/\"host_[a-z_]*\": [^,]*, //g' "
                                  "$d/metrics.jsonl >$d/values; done; "
                                  "test $(wc -l <%s/values) -eq %ld && cmp %s/values %s/values";
    char straight[160], options[256];
    const long step = step_to_resume(stopped), last = step + 10;
    if (step < 5) (void)fprintf(stderr, "%d ranks: %s\n", n_ranks, stopped->err);
    CU_ASSERT_FATAL(step >= 5);
    (void)snprintf(straight, sizeof straight, "%s", job_path("straight"));
    (void)snprintf(options, sizeof options, FAULT_SYSTEMS " --max_steps %ld", last);
    CU_ASSERT(spawn_ok("%s", fault_launched(dir, n_ranks, 0, options)));
    CU_ASSERT(spawn_ok("%s", fault_launched(straight, 1, 0, options)));
    CU_ASSERT(spawn_ok(compare, straight, dir, dir, last, straight, dir));
    CU_ASSERT(spawn_ok("rm -rf %s %s", dir, straight));
}

/* A run without an end is asked to stop after its first checkpoint: status 5, and what is left of
 * it continues.  The signal goes to the launch script or to its whole group of processes, once or
 * @p times in a row. */
static void stop_and_resume(int n_ranks, int signal_number, bool whole_group, int times)
{
    struct spawn s;
    struct spawn_result r;
    char dir[160], command[2100];
    (void)snprintf(dir, sizeof dir, "%s", job_path("stopped"));
    (void)snprintf(command, sizeof command, "exec %s %s", whole_group ? "setsid" : "",
                   strstr(fault_launched(dir, n_ranks, 2, FAULT_SYSTEMS " --max_steps 1000000"),
                          "mpi_launch"));
    CU_ASSERT_FATAL(spawn_start(&s, command));
    while (!fault_has_checkpoint(dir, 5) && !spawn_ended(&s))
        fault_sleep_ms(1);
    for (int i = 0; i < times; i++) {
        if (i) fault_sleep_ms(5);
        (void)kill(whole_group ? -s.pid : s.pid, signal_number);
    }
    spawn_wait(&s, 60, &r);
    T_EQ(r.status, 5);
    T_EQ(r.n_left, 0);
    check_resumed(dir, n_ranks, &r);
    spawn_free(&r);
}

/* timeout(1) sends its signal to the process and to the group of the process. */
TEST(faults, asked_to_stop_twice_at_once)
{
    stop_and_resume(1, SIGTERM, false, 2);
    stop_and_resume(1, SIGTERM, true, 2);
}

TEST(faults, asked_to_stop)
{
    stop_and_resume(1, SIGUSR1, false, 1);
    stop_and_resume(1, SIGTERM, false, 1);
    stop_and_resume(3, SIGUSR1, false, 1);
    stop_and_resume(3, SIGTERM, false, 1);
}

/* A terminal sends Ctrl-C, and a batch system SIGTERM, to the whole group of processes. */
TEST(faults, the_whole_group_is_asked_to_stop)
{
    stop_and_resume(1, SIGINT, true, 1);
    stop_and_resume(1, SIGTERM, true, 1);
    stop_and_resume(3, SIGINT, true, 1);
    stop_and_resume(3, SIGTERM, true, 1);
    stop_and_resume(3, SIGHUP, true, 1);
}

/* A run without a launch script, with the words @p before; SIGHUP arrives after its first
 * checkpoint, and @p then after that, if not 0. */
static void hang_up(const char *before, int then)
{
    struct spawn s;
    struct spawn_result r;
    char dir[160], command[2048];
    (void)snprintf(dir, sizeof dir, "%s", job_path("hung_up"));
    (void)snprintf(command, sizeof command,
                   "exec %s %s " FAULT_SYSTEMS
                   " --max_steps 1000000 --set runconfig.checkpoint_steps=5 --model_dir %s",
                   before, job_tiny(), dir);
    CU_ASSERT_FATAL(spawn_start(&s, command));
    while (!fault_has_checkpoint(dir, 5) && !spawn_ended(&s))
        fault_sleep_ms(1);
    (void)kill(s.pid, SIGHUP);
    if (then) {
        fault_sleep_ms(1500); /* longer than a run takes to see a signal */
        CU_ASSERT(!spawn_ended(&s));
        (void)kill(s.pid, then);
    }
    spawn_wait(&s, 60, &r);
    T_EQ(r.status, 5);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, strsignal(then ? then : SIGHUP)));
    CU_ASSERT(step_to_resume(&r) >= 5);
    spawn_free(&r);
    CU_ASSERT(spawn_ok("rm -rf %s", dir));
}

TEST(faults, a_terminal_that_closes)
{
    hang_up("", 0);
    hang_up("nohup", SIGTERM);
}

/* From main() on a signal is a question: here it comes while data and weights are set up. */
TEST(faults, asked_to_stop_before_the_first_step)
{
    static const char blocked[] =
        "pid=$!; until grep -q '^SigBlk:.*[1-9a-f]' /proc/$pid/status; do :; done; "
        "kill -TERM $pid; wait $pid";
    struct spawn_result r;
    spawn_run(&r, "%s --max_steps 1000000 --model_dir %s >/dev/null & %s", job_tiny(),
              job_path("early"), blocked);
    T_EQ(r.status, 5);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "stopped by "));
    spawn_free(&r);
}

/* A launcher that loses the signal: it sleeps, deaf to SIGUSR1, when the script passes it on. */
TEST(faults, asked_to_stop_while_the_launcher_begins)
{
    struct spawn_result r;
    const char *bin = job_path("bin"), *dir = job_path("deaf");
    CU_ASSERT_FATAL(
        spawn_ok("mkdir %s; { echo '#!/bin/sh'; echo 'case $1 in --version) exit; esac'; "
                 "echo \"trap '' USR1; : >%s/begun; sleep 1\"; "
                 "echo 'while [ \"$1\" != run ]; do shift; done'; "
                 "echo 'exec \"$WSC\" \"$@\"'; } >%s/mpirun; chmod +x %s/mpirun",
                 bin, bin, bin, bin));
    spawn_run(&r,
              "PATH=%s:$PATH %s & pid=$!; until [ -e %s/begun ]; do sleep 0.1; done; "
              "kill -TERM $pid; wait $pid",
              bin,
              strstr(fault_launched(dir, 2, 0, FAULT_SYSTEMS " --max_steps 100000"), "mpi_launch"),
              bin);
    if (r.status != 5) (void)fprintf(stderr, "%d: %s\n", r.status, r.err);
    T_EQ(r.status, 5);
    CU_ASSERT(step_to_resume(&r) >= 1);
    spawn_free(&r);
}

#define LONG_EVALUATION                                                                            \
    "--mode train_and_eval --max_steps 8 --set runconfig.eval_frequency=4 "                        \
    "--set runconfig.checkpoint_steps=4 --set runconfig.eval_steps=1500 "

/* Ask a run to stop while it evaluates after four steps; free @p r with spawn_free(). */
static void stop_after_four_steps(const char *command, const char *dir, struct spawn_result *r)
{
    struct job_metrics m;
    struct spawn s;
    CU_ASSERT_FATAL(spawn_start(&s, command));
    while (!spawn_ended(&s) && (!job_read(dir, &m) || m.n < 4))
        fault_sleep_ms(10);
    (void)kill(s.pid, SIGTERM);
    spawn_wait(&s, 20, r);
    T_EQ(r->status, 5);
}

/* Stopped in the evaluation after step 4, a run repeats it, at the virtual time at which it was. */
static void stop_in_evaluation(const char *options)
{
    static const char compare[] =
        "for d in %s %s; do sed 's/\"host_[a-z_]*\": [^,]*, //g' $d/metrics.jsonl >$d/values; "
        "done; test $(wc -l <%s/values) -eq 10 && cmp %s/values %s/values";
    char straight[160], dir[160], command[2048];
    struct spawn_result r;
    (void)snprintf(straight, sizeof straight, "%s", job_path("straight"));
    (void)snprintf(dir, sizeof dir, "%s", job_path("stopped"));
    (void)snprintf(command, sizeof command, "exec %s " LONG_EVALUATION "%s --model_dir %s",
                   job_tiny(), options, dir);
    CU_ASSERT_FATAL(
        spawn_ok("%s " LONG_EVALUATION "%s --model_dir %s", job_tiny(), options, straight));
    stop_after_four_steps(command, dir, &r);
    CU_ASSERT_PTR_NULL(strstr(r.out, "Avg Eval Loss"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "checkpoint_4.mdl"));
    spawn_free(&r);
    /* As after a kill between the repeated evaluation and its checkpoint. */
    CU_ASSERT(spawn_ok("echo '{\"step\": 4, \"eval_loss\": 1.0}' >>%s/metrics.jsonl", dir));
    CU_ASSERT(spawn_ok("%s", command + strlen("exec ")));
    CU_ASSERT(spawn_ok(compare, straight, dir, dir, straight, dir));
}

/* The run that was stopped has trained all steps; the one that resumes trains none, and keeps its
 * totals.  Of what a killed run leaves beside metrics.jsonl nothing stays. */
TEST(faults, asked_to_stop_in_the_last_evaluation)
{
    static const char last[] = "--mode train_and_eval --max_steps 4 --set "
                               "runconfig.eval_frequency=4 --set runconfig.eval_steps=1500";
    char dir[160], command[2048];
    struct spawn_result r;
    (void)snprintf(dir, sizeof dir, "%s", job_path("stopped"));
    (void)snprintf(command, sizeof command, "exec %s %s --model_dir %s", job_tiny(), last, dir);
    stop_after_four_steps(command, dir, &r);
    spawn_free(&r);
    CU_ASSERT(spawn_ok("grep -q '\"steps\": 4,' %s/performance.json", dir));
    CU_ASSERT(spawn_ok("echo '{' >%s/metrics.jsonl.4194304.tmp", dir));
    CU_ASSERT(spawn_ok("%s", command + strlen("exec ")));
    CU_ASSERT(spawn_ok("grep -q '\"steps\": 4,' %s/performance.json", dir));
    CU_ASSERT(spawn_ok("! ls %s | grep -F .tmp", dir));
}

/* The repeated evaluation has the machine of step 4: without what is lost, with what is slow. */
TEST(faults, asked_to_stop_in_an_evaluation)
{
    stop_in_evaluation("--num_csx 2");
    stop_in_evaluation("--num_csx 3 --fault lost_wafer:wafer=2,from=2 "
                       "--fault straggler:wafer=1,factor=3,from=3,steps=2");
}

/* The signal is seen after the first step, where gradients and an evaluation are due as well. */
TEST(faults, asked_to_stop_where_an_evaluation_is_due)
{
    static const char options[] =
        "--mode train_and_eval --max_steps 3 --set train_input.batch_size=512 --set "
        "runconfig.eval_frequency=1 --set runconfig.eval_steps=1 --set "
        "runconfig.checkpoint_steps=2 "
        "--set runconfig.save_initial_checkpoint=true";
    static const char compare[] =
        "for d in %s %s; do sed 's/\"host_[a-z_]*\": [^,]*, //g' $d/metrics.jsonl >$d/values; "
        "done; test $(wc -l <%s/values) -eq 6 && cmp %s/values %s/values";
    char straight[160], dir[160], command[2048];
    struct spawn s;
    struct spawn_result r;
    (void)snprintf(straight, sizeof straight, "%s", job_path("straight"));
    (void)snprintf(dir, sizeof dir, "%s", job_path("due"));
    (void)snprintf(command, sizeof command, "exec %s %s --model_dir %s --dump_gradients %s.h5",
                   job_tiny(), options, dir, dir);
    CU_ASSERT(spawn_ok("%s %s --model_dir %s", job_tiny(), options, straight));
    CU_ASSERT_FATAL(spawn_start(&s, command));
    while (!fault_has_file(dir, "checkpoint_0.mdl") && !spawn_ended(&s))
        fault_sleep_ms(1);
    (void)kill(s.pid, SIGTERM);
    spawn_wait(&s, 60, &r);
    T_EQ(r.status, 5);
    spawn_free(&r);
    CU_ASSERT(spawn_ok("test -s %s.h5", dir));
    CU_ASSERT(spawn_ok("%s %s --model_dir %s", job_tiny(), options, dir));
    CU_ASSERT(spawn_ok(compare, straight, dir, straight, straight, dir));
}

/* ---- hangs ----------------------------------------------------------------------------------- */

/* Well, refused, failed on one rank, failed on all, given up, killed: mpirun without our script. */
TEST(faults, nothing_is_left_after_any_end)
{
    static const char *const end[][2] = {
        {"", ""},
        {"", "--set model.hidden_size=-1"},
        {"", "--set optimizer.learning_rate=1e30"},
        {"", "--checkpoint_path /none"},
        {"WSC_INJECT=garble:1:50 ", ""},
        {"WSC_INJECT=long:1:50 ", ""},
        {FAULT_PATIENT "WSC_INJECT=mute:1:50 ", ""},
        {"timeout --foreground 3 ", "--max_steps 1000000"},
    };
    for (int i = 0; i < (int)(sizeof end / sizeof *end); i++) {
        struct spawn_result r;
        const char *dir = job_path("left");
        spawn_run(&r,
                  "mkdir %s && export TMPDIR=%s OMPI_MCA_btl_vader_backing_directory=%s && %s"
                  "mpirun --quiet -n 3 \"$WSC\" run %s --num_csx 2 --model_dir %s %s",
                  dir, dir, dir, end[i][0], strstr(job_tiny(), "--params"), job_path("ended"),
                  end[i][1]);
        if ((r.status == 0) != (i == 0)) (void)fprintf(stderr, "%d: %d: %s\n", i, r.status, r.err);
        CU_ASSERT((r.status == 0) == (i == 0));
        T_EQ(r.n_left, 0);
        spawn_free(&r);
        CU_ASSERT(spawn_ok("test -z \"$(find %s ! -type d)\"", dir));
    }
}

/* A launcher that has lost its ranks and does not notice: here a shell without wits. */
TEST(faults, a_launcher_that_hangs_is_ended)
{
    struct spawn_result r;
    const char *bin = job_path("bin");
    CU_ASSERT_FATAL(spawn_ok("mkdir %s && printf '#!/bin/sh\\nsleep 3 &\\nexec sleep 50\\n' "
                             ">%s/mpirun && chmod +x %s/mpirun",
                             bin, bin, bin));
    spawn_run(&r, "PATH=%s:$PATH; %s", bin, fault_launched(job_path("launcher"), 3, 0, FAULT_RUN));
    T_EQ(r.status, 137);
    T_EQ(r.n_left, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "does not end after its ranks"));
    spawn_free(&r);
}

/* In one process nothing can arrive from elsewhere: the end comes at once. */
TEST(faults, a_lost_message_in_one_process)
{
    struct spawn_result r;
    spawn_run(&r, "WSC_INJECT=mute:0:40 %s", fault_launched(job_path("folded"), 1, 0, FAULT_RUN));
    T_EQ(r.status, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "no role can move any more: "));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, " waits for "));
    spawn_free(&r);
}

/* A whole job that sleeps, as a shell's ^Z or a closed lid does to it, is nobody's fault. */
TEST(faults, a_sleep_of_all_is_forgiven)
{
    struct spawn s;
    char dir[160], command[2200];
    (void)snprintf(dir, sizeof dir, "%s", job_path("slept"));
    (void)snprintf(command, sizeof command, FAULT_PATIENT "%s",
                   fault_launched(dir, 3, 0, FAULT_RUN));
    CU_ASSERT_FATAL(spawn_start(&s, command));
    while (!fault_has_checkpoint(dir, 5) && !spawn_ended(&s))
        fault_sleep_ms(1);
    spawn_signal(&s, SIGSTOP);
    fault_sleep_ms(4000);
    spawn_signal(&s, SIGCONT);
    fault_check_outcome(&s, dir);
}

/* ---- damaged checkpoints --------------------------------------------------------------------- */

static void turn_byte(const char *dir, const char *name, long at)
{
    char path[300];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "r+b");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    (void)fseek(f, at, SEEK_SET);
    const int byte = fgetc(f);
    (void)fseek(f, at, SEEK_SET);
    (void)fputc(byte ^ 1, f);
    (void)fclose(f);
}

TEST(faults, the_checkpoint_before_a_damaged_one)
{
    struct spawn s;
    struct spawn_result r;
    char dir[160];
    (void)snprintf(dir, sizeof dir, "%s", job_path("damaged"));
    CU_ASSERT_FATAL(spawn_ok("%s", fault_launched(dir, 1, 0, FAULT_RUN " --num_steps 40")));
    turn_byte(dir, "checkpoint_40.mdl", 400000);
    turn_byte(dir, "checkpoint_35.mdl", 500000);
    spawn_run(&r, "%s", fault_launched(dir, 3, 0, FAULT_RUN " --num_steps 1"));
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "checkpoint_40.mdl: the values of "));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "checkpoint_35.mdl: the values of "));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "checkpoint_30.mdl instead"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "checkpoint_30.mdl, global step 30"));
    spawn_free(&r);
    spawn_run(&r, "%s --checkpoint_path %s/earlier.1/checkpoint_40.mdl",
              fault_launched(dir, 1, 0, FAULT_RUN), dir);
    T_EQ(r.status, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "checkpoint_40.mdl: the values of "));
    spawn_free(&r);
    CU_ASSERT_FATAL(spawn_start(&s, fault_launched(dir, 3, 0, FAULT_RUN)));
    fault_check_outcome(&s, dir);
}

TEST(faults, two_runs_do_not_share_a_folder)
{
    struct spawn s;
    struct spawn_result r;
    char dir[160];
    (void)snprintf(dir, sizeof dir, "%s", job_path("shared"));
    CU_ASSERT_FATAL(spawn_start(&s, fault_launched(dir, 1, 0, FAULT_RUN)));
    while (!fault_has_file(dir, "metrics.jsonl") && !spawn_ended(&s))
        fault_sleep_ms(1);
    spawn_run(&r, "%s", fault_launched(dir, 1, 0, FAULT_RUN));
    T_EQ(r.status, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "another run writes there"));
    spawn_free(&r);
    fault_check_outcome(&s, dir);
}
