// SPDX-License-Identifier: Apache-2.0
/* What lies between the steps of a training: checkpoints, evaluations and recoveries, with what
 * they take of the virtual time and where files count it. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND 1000000000000LL

/* Run the tiny job with @p options in a fresh folder, which the caller gets. */
static const char *run(const char *name, const char *options)
{
    const char *dir = job_path(name);
    CU_ASSERT_FATAL(spawn_ok("%s --model_dir %s %s", job_tiny(), dir, options));
    return dir;
}

/* ---- without training ------------------------------------------------------------------------ */

/* The number named @p key that @p command prints with --json. */
static long long printed(const char *command, const char *key)
{
    struct spawn_result r;
    char quoted[48];
    (void)snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    spawn_run(&r, "%s --json", command);
    T_EQ(r.status, 0);
    const char *at = r.out ? strstr(r.out, quoted) : NULL;
    const long long value = at ? strtoll(at + strlen(quoted), NULL, 10) : -1;
    spawn_free(&r);
    return value;
}

/* An evaluation and a generation begin with the weights of a checkpoint, not with the clock of the
 * training: they take the time of a run without values, after a save at a multiple of
 * checkpoint_steps, where the training pauses, and at the end of a run. */
TEST(breaks, a_mode_that_does_not_train_has_a_clock_of_its_own)
{
    static const struct {
        const char *mode, *key;
    } row[] = {{"--mode eval", "virtual_time_ps"},
               {"--mode generate --prompt_ids 1,2,3 --max_new_tokens 5", "first_token_ps"},
               {"--mode generate --prompt_ids 1,2,3 --max_new_tokens 5", "virtual_time_ps"}};
    static const char *const steps[] = {"--num_steps 4 --set runconfig.checkpoint_steps=4",
                                        "--num_steps 3 --set runconfig.checkpoint_steps=4"};
    for (int k = 0; k < 2; k++) {
        const char *dir = run("trained", steps[k]);
        for (int i = 0; i < 3; i++) {
            char host[700], none[700];
            (void)snprintf(host, sizeof host, "%s %s --model_dir %s", job_tiny(), row[i].mode, dir);
            (void)snprintf(none, sizeof none, "%s %s --numerics none --model_dir %s", job_tiny(),
                           row[i].mode, job_path("none"));
            const long long time_ps = printed(none, row[i].key);
            CU_ASSERT(time_ps > 0);
            T_EQ(printed(host, row[i].key), time_ps);
        }
    }
}

/* ---- checkpoints and evaluations ------------------------------------------------------------- */

/* Sum of the numbers named @p key over the lines of training steps in DIR/metrics.jsonl. */
static long long sum_of_steps(const char *dir, const char *key)
{
    char path[200], line[4000], quoted[48];
    long long sum = 0;
    (void)snprintf(path, sizeof path, "%s/metrics.jsonl", dir);
    (void)snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        const char *at = strstr(line, quoted);
        if (at) sum += strtoll(at + strlen(quoted), NULL, 10);
    }
    if (f) (void)fclose(f);
    return sum;
}

/* Lines of steps add up to the totals of the run. */
static void check_sums(const char *dir)
{
    T_EQ(sum_of_steps(dir, "step_time_ps"), job_performance(dir, "virtual_time_ps", 0));
    T_EQ(sum_of_steps(dir, "boundary"), job_performance(dir, "boundary", 0));
}

/* Time between the end of step @p i, from 1, and the beginning of the next: the evaluation. */
static long long between(const struct job_metrics *m, int i)
{
    return m->step[i].virtual_time_ps - m->step[i].step_time_ps - m->step[i - 1].virtual_time_ps;
}

#define BREAKS                                                                                     \
    "--max_steps 6 --num_csx 3 --mode train_and_eval --set runconfig.eval_frequency=2 "            \
    "--set runconfig.checkpoint_steps=2 --set cluster.jitter=0 "
#define PAUSES "--set cluster.checkpoint.rate=100000params/s "

/* A checkpoint before an evaluation is part of the step that it follows, after the last step too:
 * nothing of it is left in the time of the evaluation, which even finds the update done. */
TEST(breaks, an_evaluation_begins_after_the_checkpoint)
{
    struct job_metrics with = {0}, without = {0};
    const char *dir = run("evaluated", BREAKS PAUSES "--numerics none");
    CU_ASSERT_FATAL(job_read(dir, &with) && with.n == 6);
    check_sums(dir);
    const long long pause_ps = job_performance(dir, "params", 0) * SECOND / 100000;
    const long long boundary_ps = job_performance(dir, "boundary", 0);
    dir = run("no_pauses", BREAKS "--numerics none --set cluster.effects.checkpoint=off");
    CU_ASSERT_FATAL(job_read(dir, &without) && without.n == 6);
    check_sums(dir);
    const long long least_ps = job_performance(dir, "boundary", 0) + 3 * pause_ps;
    CU_ASSERT(boundary_ps > least_ps && boundary_ps < least_ps + pause_ps / 100);
    for (int i = 2; i < 6; i += 2) {
        CU_ASSERT(between(&with, i) > between(&without, i) * 95 / 100);
        CU_ASSERT(between(&with, i) <= between(&without, i));
        CU_ASSERT(with.step[i - 1].step_time_ps > without.step[i - 1].step_time_ps + pause_ps);
        CU_ASSERT(with.step[i].step_time_ps < without.step[i].step_time_ps + pause_ps / 100);
    }
    CU_ASSERT(with.step[5].step_time_ps > pause_ps);
}

/* The times are those of any ranks, with values and across a restart, also one at the end of a run
 * that its last evaluation follows. */
TEST(breaks, pauses_before_evaluations_are_the_same_everywhere)
{
    struct job_metrics none = {0}, values = {0}, resumed = {0};
    CU_ASSERT_FATAL(job_read(run("breaks_none", BREAKS PAUSES "--numerics none"), &none));
    const char *dir = job_path("breaks_ranks");
    CU_ASSERT_FATAL(
        spawn_ok("mpirun --quiet -n 4 %s --model_dir %s " BREAKS PAUSES, job_tiny(), dir));
    CU_ASSERT(job_read(dir, &values) && job_same_times(&values, &none));
    check_sums(dir);
    dir = run("breaks_resumed", BREAKS PAUSES "--num_steps 4");
    CU_ASSERT_FATAL(spawn_ok("%s --model_dir %s " BREAKS PAUSES, job_tiny(), dir));
    CU_ASSERT(job_read(dir, &resumed) && job_same_times(&resumed, &none));
    CU_ASSERT(job_same_values(&resumed, &values));
}

/* ---- recoveries ------------------------------------------------------------------------------ */

/* A shard reads 16 - 4 bytes of each parameter that trains, the adapters, and the 4 bytes of the
 * weight of each frozen one. */
TEST(breaks, frozen_tensors_have_no_optimizer_state)
{
#define LOSS                                                                                       \
    "--num_steps 3 --numerics none --set runconfig.checkpoint_steps=2 "                            \
    "--set cluster.memoryx.shards=1 --set cluster.recovery.restore_rate=1kB/s "                    \
    "--fault lost_shard:shard=0,from=3 "
    const char *plain = run("plain", LOSS);
    const char *lora =
        run("lora", LOSS "--set model.lora_params='{r: 2, target_modules: [Linear]}'");
    const long long all = job_performance(plain, "params", 0);
    const long long adapters = job_performance(lora, "params", 0) - all;
    const long long detection = 40 * SECOND;
    CU_ASSERT(adapters > 0);
    T_EQ(job_performance(plain, "recovery_ps", 0), detection + 12 * all * SECOND / 1000);
    T_EQ(job_performance(lora, "recovery_ps", 0),
         detection + (12 * adapters + 4 * all) * SECOND / 1000);
}

/* A loss in the step after a checkpoint waits until the checkpoint is complete and reads it then:
 * it costs the recovery, with values, without, on ranks and across a restart. */
TEST(breaks, a_loss_waits_for_the_checkpoint_that_it_restores)
{
#define AFTER                                                                                      \
    "--max_steps 6 --num_csx 2 --set runconfig.checkpoint_steps=2 --set cluster.jitter=0 "         \
    "--set cluster.checkpoint.rate=1000params/s --fault lost_shard:shard=0,from=3 "
    struct job_metrics values = {0}, none = {0}, resumed = {0};
    const char *dir = run("after_none", AFTER "--numerics none");
    CU_ASSERT_FATAL(job_read(dir, &none));
    CU_ASSERT(job_performance(dir, "recovery_ps", 0) > 40 * SECOND);
    T_EQ(job_performance(dir, "cost_ps", 0), job_performance(dir, "recovery_ps", 0));
    dir = job_path("after");
    CU_ASSERT_FATAL(spawn_ok("mpirun --quiet -n 3 %s --model_dir %s " AFTER, job_tiny(), dir));
    CU_ASSERT(job_read(dir, &values) && job_same_times(&values, &none));
    dir = run("after_resumed", AFTER "--num_steps 2");
    CU_ASSERT_FATAL(spawn_ok("%s --model_dir %s " AFTER, job_tiny(), dir));
    CU_ASSERT(job_read(dir, &resumed) && job_same_times(&resumed, &none));
}

/* ---- costs of faults ------------------------------------------------------------------------- */

/* A run that resumes while a checkpoint is written: the recovery overlaps with the pause, and the
 * fault costs what it costs an uninterrupted run. */
TEST(breaks, a_fault_costs_a_resumed_run_as_much)
{
#define OVERLAP                                                                                    \
    "--max_steps 8 --num_csx 6 --set train_input.batch_size=24 --mode train "                      \
    "--set cluster.jitter=0 --set runconfig.checkpoint_steps=4 "                                   \
    "--set cluster.checkpoint.rate=2000params/s --fault lost_wafer:wafer=1,from=5 "
    const char *straight = run("straight", OVERLAP "--numerics none");
    const char *resumed = run("resumed", OVERLAP "--num_steps 4");
    CU_ASSERT_FATAL(
        spawn_ok("mpirun --quiet -n 3 %s --model_dir %s " OVERLAP, job_tiny(), resumed));
    const long long cost_ps = job_performance(straight, "cost_ps", 0);
    const long long pause_ps = job_performance(straight, "params", 0) * SECOND / 2000;
    T_EQ(job_performance(resumed, "cost_ps", 0), cost_ps);
    CU_ASSERT(cost_ps > 100 * SECOND - pause_ps && cost_ps < 100 * SECOND - pause_ps * 99 / 100);
}

#define EVALUATED                                                                                  \
    "--max_steps 8 --num_csx 4 --mode train_and_eval --set runconfig.eval_frequency=3 "            \
    "--set runconfig.eval_steps=5 --set runconfig.checkpoint_steps=4 "
#define SLOW "--fault straggler:wafer=0,factor=3 "
#define GONE "--fault lost_shard:shard=0,from=8 "

/* Time of the run in @p dir with its evaluations. */
static long long whole_run(const char *dir)
{
    return job_performance(dir, "virtual_time_ps", 0) + job_performance(dir, "evaluation_ps", 0);
}

/* Each evaluation takes longer with the straggler, and the loss of a shard repeats one of them: the
 * costs have both, with values and without. */
TEST(breaks, faults_cost_evaluations_too)
{
    struct job_metrics m = {0};
    const char *both = run("both", EVALUATED SLOW GONE "--numerics none");
    const char *values = run("both_values", EVALUATED SLOW GONE);
    const char *gone = run("gone", EVALUATED GONE "--numerics none");
    const char *slow = run("slow", EVALUATED SLOW "--numerics none");
    for (int i = 0; i < 2; i++) {
        T_EQ(job_performance(both, "time_ps", i), whole_run(both));
        T_EQ(job_performance(both, "time_without_ps", i), whole_run(i ? slow : gone));
        T_EQ(job_performance(values, "cost_ps", i), job_performance(both, "cost_ps", i));
    }
    T_EQ(whole_run(values), whole_run(both));
    CU_ASSERT(job_performance(both, "evaluation_ps", 0) >
              job_performance(gone, "evaluation_ps", 0));
    CU_ASSERT(job_performance(both, "evaluation_ps", 0) >
              job_performance(slow, "evaluation_ps", 0));
    /* The clock of the run: its last step, and the evaluation after it. */
    CU_ASSERT_FATAL(job_read(both, &m));
    CU_ASSERT(whole_run(both) > m.step[m.n - 1].virtual_time_ps);
}

/* In parts of four steps the times add up: evaluations follow steps 4 and 8 alike. */
TEST(breaks, costs_of_parts_add_up)
{
#define PARTS                                                                                      \
    "--max_steps 8 --num_csx 3 --mode train_and_eval --set runconfig.eval_frequency=4 "            \
    "--set runconfig.checkpoint_steps=4 --fault straggler:wafer=1,factor=5 "                       \
    "--fault lossy_link:wafer=2,loss=0.01 "
    const char *whole = run("whole", PARTS "--numerics none");
    const char *parts = run("parts", PARTS "--num_steps 4");
    long long sum[3];
    for (int i = 0; i < 3; i++)
        sum[i] = job_performance(parts, "cost_ps", i);
    CU_ASSERT_FATAL(spawn_ok("%s --model_dir %s " PARTS, job_tiny(), parts));
    for (int i = 0; i < 3; i++) {
        const long long cost_ps = job_performance(whole, "cost_ps", i);
        const long long differ_ps = sum[i] + job_performance(parts, "cost_ps", i) - cost_ps;
        CU_ASSERT(differ_ps <= cost_ps / 1000 && differ_ps >= -cost_ps / 1000);
    }
}
