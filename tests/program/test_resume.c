// SPDX-License-Identifier: Apache-2.0
/* A run that was stopped, or killed while it wrote a checkpoint, ends like one that was not. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <wsc/clock.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool train(const char *dir, const char *options)
{
    return spawn_ok("%s --model_dir %s %s", job_tiny(), dir, options);
}

/* The same steps in one run and in two, the second from the checkpoint of the first: metrics.jsonl
 * continues in the same file. */
struct halves {
    int total;
    const char *options, *later; /* of the first run, of the one that resumes */
};

static bool train_to(const char *dir, const struct halves *h, const char *options, int n_steps)
{
    char text[512];
    (void)snprintf(text, sizeof text,
                   "--max_steps %d --num_steps %d --set runconfig.checkpoint_steps=%d %s", h->total,
                   n_steps, h->total / 2, options);
    return train(dir, text);
}

static void resume_equals_straight(const struct halves *h)
{
    struct job_metrics straight, resumed;
    char a[160], b[160];
    (void)snprintf(a, sizeof a, "%s", job_path("straight"));
    (void)snprintf(b, sizeof b, "%s", job_path("resumed"));
    CU_ASSERT_FATAL(train_to(a, h, h->options, h->total));
    CU_ASSERT_FATAL(train_to(b, h, h->options, h->total / 2));
    CU_ASSERT_FATAL(train_to(b, h, h->later, h->total));
    CU_ASSERT_FATAL(job_read(a, &straight) && job_read(b, &resumed));
    T_EQ(straight.n, h->total);
    CU_ASSERT(job_same_values(&straight, &resumed));
    if (!strcmp(h->options, h->later)) CU_ASSERT(job_same_times(&straight, &resumed));
    CU_ASSERT(spawn_ok("grep -q '\"first_step\": 0,' %s/performance.json", a));
    CU_ASSERT(spawn_ok("grep -q '\"first_step\": %d,' %s/performance.json", h->total / 2, b));
}

TEST(resume, twenty_and_twenty_are_forty_steps)
{
    resume_equals_straight(&(struct halves){40, "--num_csx 1", "--num_csx 1"});
    resume_equals_straight(&(struct halves){40, "--num_csx 3", "--num_csx 3"});
}

/* The cosine of the tiny params ends at step 20: stop in the middle of it, and of an epoch. */
TEST(resume, the_learning_rate_goes_on_in_the_middle_of_a_phase)
{
    resume_equals_straight(&(struct halves){18, "--num_csx 2", "--num_csx 2"});
}

TEST(resume, on_other_systems_and_shards_the_values_go_on)
{
    resume_equals_straight(
        &(struct halves){12, "--num_csx 2", "--num_csx 5 --set cluster.memoryx.shards=3"});
    resume_equals_straight(
        &(struct halves){12, "--num_csx 4 --set cluster.memoryx.shards=1", "--num_csx 1"});
}

/* The end that the file sets is said where the command line asks for more. */
TEST(resume, an_end_before_num_steps_is_said)
{
    static const struct {
        const char *options, *says;
    } row[] = {
        {"--max_steps 4 --num_steps 4", NULL},
        {"--max_steps 9 --num_steps 2", NULL},
        {"--max_steps 8 --num_steps 5",
         "num_steps asks for 5 steps from step 6; the run ends at runconfig.max_steps, 8."},
    };
    char dir[160];
    (void)snprintf(dir, sizeof dir, "%s", job_path("end"));
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct spawn_result r;
        spawn_run(&r, "%s %s --model_dir %s", job_tiny(), row[i].options, dir);
        T_EQ(r.status, 0);
        CU_ASSERT(row[i].says ? strstr(r.out, row[i].says) != NULL
                              : !strstr(r.out, "runconfig.max_steps"));
        spawn_free(&r);
    }
}

/* A checkpoint takes virtual time, so all of them write the same ones. */
TEST(resume, under_mpirun_from_a_single_process)
{
#define SIX "--set runconfig.checkpoint_steps=6 "
    struct job_metrics straight, resumed;
    char a[160], b[160];
    (void)snprintf(a, sizeof a, "%s", job_path("straight"));
    (void)snprintf(b, sizeof b, "%s", job_path("resumed"));
    CU_ASSERT_FATAL(train(a, SIX "--max_steps 12 --num_csx 2"));
    CU_ASSERT_FATAL(train(b, SIX "--max_steps 12 --num_steps 6 --num_csx 2"));
    CU_ASSERT_FATAL(spawn_ok(
        "mpirun --quiet -n 3 %s " SIX "--max_steps 12 --num_csx 2 --model_dir %s", job_tiny(), b));
    CU_ASSERT_FATAL(job_read(a, &straight) && job_read(b, &resumed));
    CU_ASSERT(job_same_values(&straight, &resumed));
    CU_ASSERT(job_same_times(&straight, &resumed));
}

/* ---- killed while writing -------------------------------------------------------------------- */

/* A model of 1.7 million parameters: its checkpoint of 20 MB takes long enough to be hit. */
#define WIDE                                                                                       \
    "--set model.hidden_size=256 --set model.filter_size=1024 --set train_input.batch_size=2 "     \
    "--set runconfig.checkpoint_steps=2 --max_steps 6 --num_csx 2"

static bool has_file(const char *dir, const char *name)
{
    char path[300];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    return access(path, F_OK) == 0;
}

static void sleep_ms(int ms)
{
    const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    (void)nanosleep(&t, NULL);
}

/* Start, wait until the second checkpoint is being written, wait a little more, kill. */
static bool kill_in_checkpoint(const char *launch, const char *dir, int delay_ms)
{
    char command[2048];
    struct spawn s;
    struct spawn_result r;
    const double until = wsc_clock_s() + 30;
    (void)snprintf(command, sizeof command, "%s %s --model_dir %s " WIDE, launch, job_tiny(), dir);
    if (!spawn_start(&s, command)) return false;
    while (!has_file(dir, "checkpoint_4.mdl.tmp") && !has_file(dir, "checkpoint_4.mdl") &&
           wsc_clock_s() < until)
        sleep_ms(1);
    sleep_ms(delay_ms);
    const int n_killed = spawn_kill(&s);
    spawn_wait(&s, 20, &r);
    const bool killed = n_killed > 0 && r.status > 0 && r.n_left == 0;
    spawn_free(&r);
    return killed && has_file(dir, "checkpoint_2.mdl");
}

/* Steps of the restarted run, from its metrics: those after the newest whole checkpoint. */
static void restart(const char *launch, const char *dir, const struct job_metrics *undisturbed)
{
    struct job_metrics m;
    struct spawn_result r;
    const bool lost = !has_file(dir, "checkpoint_4.mdl");
    spawn_run(&r, "%s %s --model_dir %s " WIDE, launch, job_tiny(), dir);
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, lost ? "checkpoint_2.mdl, global step 2"
                                              : "checkpoint_4.mdl, global step 4"));
    CU_ASSERT_PTR_NULL(strstr(r.out, lost ? "Step=2," : "Step=4,"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, lost ? "Step=3," : "Step=5,"));
    CU_ASSERT(job_read(dir, &m) && job_same_values(&m, undisturbed));
    CU_ASSERT(job_same_times(&m, undisturbed));
    CU_ASSERT(!has_file(dir, "checkpoint_4.mdl.tmp") && has_file(dir, "checkpoint_6.mdl"));
    spawn_free(&r);
}

static void kill_and_restart(const char *launch, const int *delay_ms, int n)
{
    struct job_metrics undisturbed;
    char dir[160];
    int n_lost = 0;
    (void)snprintf(dir, sizeof dir, "%s", job_path("undisturbed"));
    CU_ASSERT_FATAL(spawn_ok("%s %s --model_dir %s " WIDE, launch, job_tiny(), dir));
    CU_ASSERT_FATAL(job_read(dir, &undisturbed) && undisturbed.n == 6);
    for (int i = 0; i < n; i++) {
        (void)snprintf(dir, sizeof dir, "%s", job_path("killed"));
        CU_ASSERT_FATAL(kill_in_checkpoint(launch, dir, delay_ms[i]));
        n_lost += !has_file(dir, "checkpoint_4.mdl");
        restart(launch, dir, &undisturbed);
        (void)spawn_ok("rm -rf %s", dir);
    }
    CU_ASSERT(n_lost > 0); /* at least one kill came before the file was whole */
}

TEST(resume, killed_while_a_checkpoint_is_written)
{
    kill_and_restart("", (const int[]){0, 5, 20, 60}, 4);
}

TEST(resume, all_ranks_killed_while_a_checkpoint_is_written)
{
    kill_and_restart("mpirun --quiet -n 3", (const int[]){0, 10}, 2);
}
