// SPDX-License-Identifier: Apache-2.0
/* What can happen to a run: killed, stopped, asked to stop, damaged files.  It ends like a run to
 * which nothing happened.  WSC_FAULTS=K in the environment does everything K times. */
#include "../support/test.h"
#include "job.h"
#include "spawn.h"

#include <wsc/clock.h>
#include <wsc/rng.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int times(void)
{
    const char *text = getenv("WSC_FAULTS");
    const long n = text ? strtol(text, NULL, 10) : 1;
    return n > 0 && n < 1000 ? (int)n : 1;
}

static void sleep_ms(int ms)
{
    const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    (void)nanosleep(&t, NULL);
}

/* The i-th number of [0, n) in the sequence @p what. */
static int draw(uint64_t what, int i, int n)
{
    return (int)(wsc_rng_u64(7, wsc_rng_stream(WSC_RNG_TEST, what), (uint64_t)i) % (uint64_t)n);
}

static bool has_file(const char *dir, const char *name)
{
    char path[300];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    return access(path, F_OK) == 0;
}

/* ---- killed ranks, restarted by the launch script -------------------------------------------- */

/* Two shards, one SwarmX node, two wafers: five roles, each on a rank of its own number. */
enum { N_ROLES = 5, N_STEPS = 60 };
#define ROLES                                                                                      \
    "--num_csx 2 --set cluster.memoryx.shards=2 --max_steps 60 "                                   \
    "--set runconfig.checkpoint_steps=5 --set runconfig.max_checkpoints=3"

static const char *launched(const char *dir, int n_ranks, int restarts, const char *options)
{
    static char command[2048];
    const char *run = strstr(job_tiny(), "--params");
    (void)snprintf(command, sizeof command,
                   "exec mpi_launch/local.sh -n %d --max-restarts %d %s --model_dir %s %s", n_ranks,
                   restarts, run, dir, options);
    return command;
}

static const struct job_metrics *undisturbed(void)
{
    static struct job_metrics m;
    if (m.n) return &m;
    char dir[160];
    (void)snprintf(dir, sizeof dir, "%s", job_path("undisturbed"));
    CU_ASSERT_FATAL(spawn_ok("%s", launched(dir, 1, 0, ROLES)));
    CU_ASSERT_FATAL(job_read(dir, &m) && m.n == N_STEPS);
    return &m;
}

/* Values, virtual times and the last checkpoint are those of the undisturbed run. */
static void check_outcome(struct spawn *s, const char *dir)
{
    struct job_metrics m;
    struct spawn_result r;
    spawn_wait(s, 120, &r);
    T_EQ(r.status, 0);
    T_EQ(r.n_left, 0);
    if (r.status) (void)fprintf(stderr, "%s\n", r.err);
    CU_ASSERT_FATAL(job_read(dir, &m));
    CU_ASSERT(job_same_values(&m, undisturbed()) && job_same_times(&m, undisturbed()));
    CU_ASSERT(has_file(dir, "checkpoint_60.mdl"));
    spawn_free(&r);
    (void)spawn_ok("rm -rf %s", dir);
}

/* Up to five deaths of rank @p rank in one run, each at a moment of its own; returns how many. */
static int kill_in_one_run(int rank, int first, int n)
{
    enum { MOST = 5, LONGEST_MS = 1200 };
    struct spawn s;
    char dir[160];
    int n_killed = 0;
    pid_t pid = 0;
    (void)snprintf(dir, sizeof dir, "%s", job_path("killed"));
    CU_ASSERT_FATAL(spawn_start(&s, launched(dir, N_ROLES, 100, ROLES)));
    while (n_killed < n && n_killed < MOST && !spawn_ended(&s)) {
        const pid_t next = spawn_find_rank(&s, rank, pid);
        sleep_ms(next ? draw((uint64_t)rank, first + n_killed, LONGEST_MS) : 1);
        if (!next || kill(next, SIGKILL)) continue;
        pid = next;
        n_killed++;
    }
    check_outcome(&s, dir);
    return n_killed;
}

static void kill_rank(int rank)
{
    const int n = times();
    for (int done = 0, runs = 0; done < n && runs < 2 * n; runs++)
        done += kill_in_one_run(rank, done, n - done);
}

TEST(faults, a_killed_shard)
{
    kill_rank(0);
    if (times() > 1) kill_rank(1);
}

TEST(faults, a_killed_node)
{
    kill_rank(2);
}

TEST(faults, a_killed_wafer)
{
    kill_rank(4);
}

/* ---- killed while a checkpoint is written ---------------------------------------------------- */

/* Everything but the script dies as soon as a temporary file is seen, or up to 40 ms later. */
static int kill_all_in_one_run(int first, int n)
{
    enum { MOST = 5, LONGEST_MS = 40 };
    struct spawn s;
    char dir[160], tmp[64];
    int n_killed = 0;
    (void)snprintf(dir, sizeof dir, "%s", job_path("crashed"));
    CU_ASSERT_FATAL(spawn_start(&s, launched(dir, 3, 100, ROLES)));
    for (int step = 5; n_killed < n && n_killed < MOST && !spawn_ended(&s);) {
        (void)snprintf(tmp, sizeof tmp, "checkpoint_%d.mdl", step);
        if (has_file(dir, tmp)) step += 5;
        (void)snprintf(tmp, sizeof tmp, "checkpoint_%d.mdl.tmp", step);
        if (!has_file(dir, tmp)) continue;
        sleep_ms(draw(90, first + n_killed, LONGEST_MS));
        (void)spawn_kill(&s);
        n_killed++;
    }
    check_outcome(&s, dir);
    CU_ASSERT(spawn_ok("test -z \"$(ls \"$WSC_SHM\")\""));
    return n_killed;
}

TEST(faults, all_killed_in_a_checkpoint)
{
    const int n = 2 * times();
    int done = 0;
    const char *shared = job_path("shm");
    CU_ASSERT_FATAL(spawn_ok("mkdir -p %s", shared) && !setenv("WSC_SHM", shared, 1));
    for (int runs = 0; done < n && runs < 2 * n; runs++)
        done += kill_all_in_one_run(done, n - done);
    T_EQ(done, n);
    (void)unsetenv("WSC_SHM");
}

/* ---- asked to stop --------------------------------------------------------------------------- */

/* A signal to the script or to the program itself: status 5, a checkpoint, and the rest of the
 * steps later give the undisturbed run. */
static void stop_and_go_on(int n_ranks, int signal_number)
{
    struct spawn s;
    struct spawn_result r;
    char dir[160], command[2100];
    (void)snprintf(dir, sizeof dir, "%s", job_path("stopped"));
    (void)snprintf(command, sizeof command, "%s", launched(dir, n_ranks, 2, ROLES));
    CU_ASSERT_FATAL(spawn_start(&s, command));
    while (!has_file(dir, "checkpoint_5.mdl") && !spawn_ended(&s))
        sleep_ms(1);
    (void)kill(s.pid, signal_number);
    spawn_wait(&s, 60, &r);
    T_EQ(r.status, 5);
    T_EQ(r.n_left, 0);
    if (r.status != 5) (void)fprintf(stderr, "%d ranks: %s\n", n_ranks, r.err);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "started again, it goes on from "));
    spawn_free(&r);
    CU_ASSERT_FATAL(spawn_start(&s, launched(dir, n_ranks, 0, ROLES)));
    check_outcome(&s, dir);
}

TEST(faults, asked_to_stop)
{
    stop_and_go_on(1, SIGUSR1);
    stop_and_go_on(1, SIGTERM);
    stop_and_go_on(3, SIGUSR1);
    stop_and_go_on(3, SIGTERM);
}

/* ---- hangs ----------------------------------------------------------------------------------- */

/* With two seconds of patience a run that hangs ends within LIMIT_S, mpirun's part and a loaded
 * machine included, with one line of ours and nothing left behind. */
#define PATIENT "WSC_HEARTBEAT_SECONDS=2 "
enum { HANG_LIMIT_S = 30, AT_ONCE = 4 };

struct hang {
    struct spawn s;
    char dir[160];
    int delay_ms;
    bool stops; /* a process, otherwise a message is lost or wrong */
    int rank;
};

static void hang_start(struct hang *h, int i)
{
    char command[2200], inject[64] = "";
    (void)snprintf(h->dir, sizeof h->dir, "%s", job_path("hung"));
    h->rank = draw(70, i, N_ROLES);
    h->stops = i % 2 == 0;
    h->delay_ms = draw(71, i, 1500);
    if (!h->stops)
        (void)snprintf(inject, sizeof inject, "WSC_INJECT=%s:%d:%d ",
                       i % 4 == 1 ? "mute" : "garble", h->rank, 1 + draw(72, i, 400));
    (void)snprintf(command, sizeof command, PATIENT "%s%s", inject,
                   launched(h->dir, N_ROLES, 0, ROLES " --max_steps 100000"));
    CU_ASSERT_FATAL(spawn_start(&h->s, command));
}

static void hang_stop(struct hang *h)
{
    const double until = wsc_clock_s() + HANG_LIMIT_S;
    while (h->stops && !has_file(h->dir, "metrics.jsonl") && wsc_clock_s() < until)
        sleep_ms(1);
    sleep_ms(h->stops ? h->delay_ms : 0);
    const pid_t pid = h->stops ? spawn_find_rank(&h->s, h->rank, 0) : 0;
    if (pid) (void)kill(pid, SIGSTOP);
    CU_ASSERT(pid > 0 || !h->stops);
}

static void hang_check(struct hang *h)
{
    struct spawn_result r;
    spawn_wait(&h->s, HANG_LIMIT_S, &r);
    CU_ASSERT(r.status > 0 && r.n_left == 0);
    const bool told = strstr(r.err, "wsc: error: ") || strstr(r.err, "wsc: internal error at ");
    if (!told || r.status <= 0)
        (void)fprintf(stderr, "rank %d %s: status %d: %s\n", h->rank,
                      h->stops ? "stopped" : "mute or wrong", r.status, r.err);
    CU_ASSERT(told);
    if (h->stops) CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "has not been heard from for "));
    spawn_free(&r);
    (void)spawn_ok("rm -rf %s", h->dir);
}

/* Most of the time is waiting, so that some hang at once. */
TEST(faults, hangs_end)
{
    const int n = AT_ONCE * times();
    for (int first = 0; first < n; first += AT_ONCE) {
        struct hang h[AT_ONCE];
        for (int i = 0; i < AT_ONCE; i++)
            hang_start(&h[i], first + i);
        for (int i = 0; i < AT_ONCE; i++)
            hang_stop(&h[i]);
        for (int i = 0; i < AT_ONCE; i++)
            hang_check(&h[i]);
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
    spawn_run(&r, "PATH=%s:$PATH; %s", bin, launched(job_path("launcher"), 3, 0, ROLES));
    T_EQ(r.status, 137);
    T_EQ(r.n_left, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "does not end after its ranks"));
    spawn_free(&r);
}

/* In one process nothing can arrive from elsewhere: the end comes at once. */
TEST(faults, a_lost_message_in_one_process)
{
    struct spawn_result r;
    spawn_run(&r, "WSC_INJECT=mute:0:40 %s", launched(job_path("folded"), 1, 0, ROLES));
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
    (void)snprintf(command, sizeof command, PATIENT "%s", launched(dir, 3, 0, ROLES));
    CU_ASSERT_FATAL(spawn_start(&s, command));
    while (!has_file(dir, "checkpoint_5.mdl") && !spawn_ended(&s))
        sleep_ms(1);
    spawn_signal(&s, SIGSTOP);
    sleep_ms(4000);
    spawn_signal(&s, SIGCONT);
    check_outcome(&s, dir);
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
    CU_ASSERT_FATAL(spawn_ok("%s", launched(dir, 1, 0, ROLES " --num_steps 40")));
    turn_byte(dir, "checkpoint_40.mdl", 400000);
    turn_byte(dir, "checkpoint_35.mdl", 500000);
    spawn_run(&r, "%s", launched(dir, 3, 0, ROLES " --num_steps 1"));
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "checkpoint_40.mdl: the values of "));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "checkpoint_35.mdl: the values of "));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "checkpoint_30.mdl instead"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "checkpoint_30.mdl, global step 30"));
    spawn_free(&r);
    spawn_run(&r, "%s --checkpoint_path %s/checkpoint_40.mdl", launched(dir, 1, 0, ROLES), dir);
    T_EQ(r.status, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "checkpoint_40.mdl: the values of "));
    spawn_free(&r);
    CU_ASSERT_FATAL(spawn_start(&s, launched(dir, 3, 0, ROLES)));
    check_outcome(&s, dir);
}

TEST(faults, two_runs_do_not_share_a_folder)
{
    struct spawn s;
    struct spawn_result r;
    char dir[160];
    (void)snprintf(dir, sizeof dir, "%s", job_path("shared"));
    CU_ASSERT_FATAL(spawn_start(&s, launched(dir, 1, 0, ROLES)));
    while (!has_file(dir, "metrics.jsonl") && !spawn_ended(&s))
        sleep_ms(1);
    spawn_run(&r, "%s", launched(dir, 1, 0, ROLES));
    T_EQ(r.status, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "another run writes there"));
    spawn_free(&r);
    check_outcome(&s, dir);
}

/* ---- faults of the emulated machine ---------------------------------------------------------- */

#define THIRTY "--max_steps 30 --set runconfig.checkpoint_steps=10 "
#define LOST   "--set cluster.what_if.lost_wafer=3 --set cluster.what_if.lost_wafer_step=10 "

static bool emulate(const char *options, int n_ranks, struct job_metrics *m)
{
    char dir[160];
    (void)snprintf(dir, sizeof dir, "%s", job_path("emulated"));
    return spawn_ok("%s", launched(dir, n_ranks, 0, options)) && job_read(dir, m);
}

/* The run goes on; its values are those of any number of systems, so also of seven from the tenth
 * step on. */
TEST(faults, a_lost_wafer)
{
    struct job_metrics eight = {0}, lost = {0}, folded = {0}, seven = {0};
    CU_ASSERT_FATAL(emulate(THIRTY "--num_csx 8", 1, &eight));
    CU_ASSERT_FATAL(emulate(THIRTY "--num_csx 7", 1, &seven));
    CU_ASSERT_FATAL(emulate(THIRTY "--num_csx 8 " LOST, 1, &lost));
    CU_ASSERT_FATAL(emulate(THIRTY "--num_csx 8 " LOST, 4, &folded));
    T_EQ(lost.n, 30);
    CU_ASSERT(job_same_values(&lost, &seven) && job_same_values(&lost, &eight));
    CU_ASSERT(job_same_values(&lost, &folded) && job_same_times(&lost, &folded));
}

/* Seven have 120 samples each where eight had 105, of a model that computes more than it waits. */
TEST(faults, a_lost_wafer_costs_time)
{
#define TIMES                                                                                      \
    THIRTY "--num_csx 8 --numerics none --set train_input.batch_size=840 "                         \
           "--set model.hidden_size=1024 --set model.num_heads=16 --set model.filter_size=4096 "   \
           "--set model.max_position_embeddings=1024 "
    struct job_metrics eight = {0}, lost = {0}, folded = {0};
    CU_ASSERT_FATAL(emulate(TIMES, 1, &eight));
    CU_ASSERT_FATAL(emulate(TIMES LOST, 1, &lost) && emulate(TIMES LOST, 5, &folded));
    CU_ASSERT(job_same_times(&lost, &folded));
    for (int i = 0; i < 10; i++)
        T_EQ(lost.step[i].step_time_ps, eight.step[i].step_time_ps);
    for (int i = 10; i < 30; i++)
        CU_ASSERT(lost.step[i].step_time_ps > eight.step[i].step_time_ps * 105 / 100);
}

/* A run that was stopped after the loss does not get the wafer back. */
TEST(faults, a_lost_wafer_stays_lost)
{
    struct job_metrics straight = {0}, resumed = {0};
    char dir[160];
    CU_ASSERT_FATAL(emulate(THIRTY "--num_csx 4 " LOST, 1, &straight));
    (void)snprintf(dir, sizeof dir, "%s", job_path("emulated"));
    CU_ASSERT_FATAL(spawn_ok("%s", launched(dir, 1, 0, THIRTY "--num_csx 4 --num_steps 20 " LOST)));
    CU_ASSERT_FATAL(spawn_ok("%s", launched(dir, 2, 0, THIRTY "--num_csx 4 " LOST)));
    CU_ASSERT_FATAL(job_read(dir, &resumed));
    CU_ASSERT(job_same_values(&straight, &resumed) && job_same_times(&straight, &resumed));
}

TEST(faults, a_straggler_for_some_steps)
{
    struct job_metrics even = {0}, slow = {0};
    CU_ASSERT_FATAL(emulate(THIRTY "--num_csx 4", 1, &even));
    CU_ASSERT_FATAL(emulate(THIRTY "--num_csx 4 --set cluster.what_if.straggler=3 "
                                   "--set cluster.what_if.straggler_wafer=1 "
                                   "--set cluster.what_if.straggler_first_step=6 "
                                   "--set cluster.what_if.straggler_steps=4",
                            1, &slow));
    CU_ASSERT(job_same_values(&even, &slow));
    for (int i = 0; i < 30; i++) {
        const bool is_slow = i >= 5 && i < 9;
        const long long a = even.step[i].step_time_ps, b = slow.step[i].step_time_ps;
        CU_ASSERT(is_slow ? b > a + a / 100 : b < a + a / 1000 && b > a - a / 1000);
    }
}
