// SPDX-License-Identifier: Apache-2.0
/* Faults of the emulated machine: values stay those of a sound one, virtual time is the same on any
 * ranks and across restarts, and what a fault cost is the difference of two runs. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <stdio.h>
#include <string.h>

#define THIRTY "--max_steps 30 --num_csx 8 --set runconfig.checkpoint_steps=10 "
#define LOST   "--fault lost_wafer:wafer=3,from=11 "
/* One of everything, at a step or drawn. */
#define MANY                                                                                       \
    "--fault straggler:rate=0.05,factor=2,steps=3 --fault lost_wafer:wafer=6,from=5 "              \
    "--fault lost_shard:shard=2,from=16 --fault slow_link:node=1,factor=4,from=3,steps=10 "        \
    "--fault lossy_link:wafer=2,loss=0.01 --fault lossy_link:node=0,loss=0.001,from=5,steps=9 "    \
    "--fault lost_planes:rate=0.1,planes=3,steps=2 --fault lost_node:node=2,from=13 "              \
    "--fault jitter:deviation=0.02,from=12,steps=5 "                                               \
    "--fault slow_input:wafer=5,factor=400,from=4,steps=4 "
/* Every mechanism of several systems at work. */
#define SERVERS                                                                                    \
    "--set cluster.input.worker_rate=100000 --set cluster.input.nodes=3 "                          \
    "--set runconfig.num_workers_per_csx=2 --set runconfig.num_act_servers=1 "                     \
    "--set cluster.control.latency=2ms --set cluster.checkpoint.rate=1e6params/s "                 \
    "--set cluster.swarmx.forwarding=packet --set cluster.memoryx.incast=0.7 "                     \
    "--set cluster.jitter_stage=0.02 --set cluster.jitter_system=0.01 "

static bool run_in(const char *dir, int n_ranks, const char *options)
{
    if (n_ranks > 1)
        return spawn_ok("mpirun --quiet -n %d %s --model_dir %s %s", n_ranks, job_tiny(), dir,
                        options);
    return spawn_ok("%s --model_dir %s %s", job_tiny(), dir, options);
}

static bool emulate(const char *options, int n_ranks, struct job_metrics *m)
{
    char dir[160];
    (void)snprintf(dir, sizeof dir, "%s", job_path("emulated"));
    return run_in(dir, n_ranks, options) && job_read(dir, m);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* The run continues; losses are those of one that has seven systems from the eleventh step on. */
TEST(emulated_faults, a_lost_wafer)
{
    struct job_metrics lost = {0}, folded = {0}, alone = {0}, seven = {0};
    char dir[160];
    (void)snprintf(dir, sizeof dir, "%s", job_path("seven"));
    CU_ASSERT_FATAL(run_in(dir, 1, THIRTY "--num_steps 10"));
    CU_ASSERT_FATAL(run_in(dir, 1, THIRTY "--set runconfig.num_csx=7") && job_read(dir, &seven));
    CU_ASSERT_FATAL(emulate(THIRTY LOST, 1, &lost));
    CU_ASSERT_FATAL(emulate(THIRTY LOST, 4, &folded));
    CU_ASSERT_FATAL(emulate(THIRTY LOST, 23, &alone)); /* a rank for each role */
    T_EQ(lost.n, 30);
    CU_ASSERT(job_same_values(&lost, &seven));
    CU_ASSERT(job_same_values(&lost, &folded) && job_same_times(&lost, &folded));
    CU_ASSERT(job_same_values(&lost, &alone) && job_same_times(&lost, &alone));
}

/* Steps 11 to 15 are done twice, and give what they gave. */
TEST(emulated_faults, a_lost_shard_repeats_steps)
{
    struct job_metrics sound = {0}, lost = {0}, folded = {0};
    CU_ASSERT_FATAL(emulate(THIRTY, 1, &sound));
    CU_ASSERT_FATAL(emulate(THIRTY "--fault lost_shard:shard=1,from=16", 1, &lost));
    CU_ASSERT_FATAL(emulate(THIRTY "--fault lost_shard:shard=1,from=16", 5, &folded));
    T_EQ(lost.n, 35);
    CU_ASSERT(job_same_values(&lost, &folded) && job_same_times(&lost, &folded));
    for (int i = 0; i < 35; i++) {
        const struct job_step *a = &lost.step[i], *b = &sound.step[i < 15 ? i : i - 5];
        T_EQ(a->step, b->step);
        T_STR(a->loss, b->loss);
        T_STR(a->hash, b->hash);
    }
}

/* Six steps from the weights alone of another run's checkpoint. */
static bool from_weights(const char *before, const char *options, const char *fault,
                         struct job_metrics *m)
{
    char dir[160], all[1024];
    (void)snprintf(dir, sizeof dir, "%s", job_path("weights"));
    (void)snprintf(all, sizeof all,
                   "--num_steps 6 --num_csx 8 --set runconfig.checkpoint_steps=100 "
                   "--set runconfig.load_checkpoint_states=model,global_step "
                   "--checkpoint_path %s/checkpoint_10.mdl %s%s",
                   before, options, fault);
    return spawn_ok("rm -rf %s", dir) && run_in(dir, 1, all) && job_read(dir, m);
}

/* Such a run has no checkpoint of its own when it goes back to where it began: optimizer, masks and
 * loss scale begin again too. */
TEST(emulated_faults, a_lost_shard_goes_back_to_weights_alone)
{
    static const char *const start[] = {
        "", "--set optimizer.optimizer_type=NAdam --set model.mixed_precision=true "
            "--set model.fp16_type=float16 --set optimizer.loss_scaling_factor=dynamic "
            "--set runconfig.disable_strict_checkpoint_loading=true "
            "--set 'sparsity=[{algorithm: rigl, sparsity: 0.5, update: {freq: 2, stop: 100}}]' "};
    struct job_metrics sound = {0}, lost = {0};
    char before[160];
    (void)snprintf(before, sizeof before, "%s", job_path("before"));
    CU_ASSERT_FATAL(run_in(before, 1, THIRTY "--num_steps 10"));
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_FATAL(from_weights(before, start[i], "", &sound));
        CU_ASSERT_FATAL(
            from_weights(before, start[i], "--fault lost_shard:shard=1,from=14", &lost));
        T_EQ(lost.n, 9);
        for (int k = 0; k < lost.n; k++)
            T_STR(lost.step[k].loss, sound.step[k < 3 ? k : k - 3].loss);
        T_STR(lost.step[8].hash, sound.step[5].hash);
    }
}

TEST(emulated_faults, values_are_those_of_a_sound_machine)
{
    struct job_metrics sound = {0}, many = {0}, folded = {0};
    CU_ASSERT_FATAL(emulate(THIRTY, 1, &sound));
    CU_ASSERT_FATAL(emulate(THIRTY MANY, 1, &many) && emulate(THIRTY MANY, 7, &folded));
    CU_ASSERT(job_same_values(&many, &folded) && job_same_times(&many, &folded));
    T_STR(many.step[many.n - 1].hash, sound.step[sound.n - 1].hash);
    T_STR(many.step[many.n - 1].loss, sound.step[sound.n - 1].loss);
}

/* ---- time ------------------------------------------------------------------------------------ */

TEST(emulated_faults, time_does_not_depend_on_values)
{
    struct job_metrics host = {0}, none = {0};
    CU_ASSERT_FATAL(emulate(THIRTY MANY, 1, &host));
    CU_ASSERT_FATAL(emulate(THIRTY MANY "--numerics none", 3, &none));
    CU_ASSERT(job_same_times(&host, &none));
}

/* Mechanisms of several systems keep time alike on any ranks, with values and without, and across a
 * restart. */
TEST(emulated_faults, servers_keep_the_same_time_everywhere)
{
    struct job_metrics host = {0}, none = {0}, alone = {0}, plain = {0};
    char dir[160];
    CU_ASSERT_FATAL(emulate(THIRTY SERVERS, 1, &host));
    CU_ASSERT_FATAL(emulate(THIRTY SERVERS "--numerics none", 3, &none));
    CU_ASSERT_FATAL(emulate(THIRTY SERVERS, 23, &alone)); /* a rank for each role */
    CU_ASSERT(job_same_times(&host, &none) && job_same_times(&host, &alone));
    CU_ASSERT_FATAL(emulate(THIRTY, 1, &plain));
    CU_ASSERT(job_same_values(&host, &plain));
    CU_ASSERT(host.step[29].virtual_time_ps > plain.step[29].virtual_time_ps);
    (void)snprintf(dir, sizeof dir, "%s", job_path("restarted"));
    CU_ASSERT_FATAL(run_in(dir, 1, THIRTY SERVERS "--num_steps 10"));
    CU_ASSERT_FATAL(run_in(dir, 2, THIRTY SERVERS) && job_read(dir, &plain));
    T_EQ(plain.step[plain.n - 1].virtual_time_ps, host.step[29].virtual_time_ps);
}

/* From the checkpoint that the loss of a shard goes back to, from others before and after the loss,
 * and while steps are repeated. */
TEST(emulated_faults, a_resumed_run_is_a_straight_one)
{
    static const int at[] = {10, 13, 15, 17, 20};
    struct job_metrics straight = {0};
    CU_ASSERT_FATAL(emulate(THIRTY MANY, 1, &straight));
    for (int i = 0; i < 5; i++) {
        struct job_metrics resumed = {0};
        char dir[160], first[1024];
        (void)snprintf(dir, sizeof dir, "%s", job_path("resumed"));
        (void)snprintf(first, sizeof first, "%s--num_steps %d", THIRTY MANY, at[i]);
        CU_ASSERT_FATAL(run_in(dir, 1, first) && run_in(dir, 2, THIRTY MANY));
        CU_ASSERT_FATAL(job_read(dir, &resumed));
        const struct job_step *a = &straight.step[straight.n - 1];
        const struct job_step *b = &resumed.step[resumed.n - 1];
        T_EQ(a->virtual_time_ps, b->virtual_time_ps);
        T_EQ(a->step_time_ps, b->step_time_ps);
        T_STR(a->hash, b->hash);
    }
}

/* Only the newest checkpoint is kept, so the run that resumed cannot go further back. */
TEST(emulated_faults, a_resumed_run_without_earlier_checkpoints_warns)
{
#define ONE THIRTY "--set runconfig.max_checkpoints=1 --fault lost_shard:shard=1,from=16 "
    struct job_metrics m = {0};
    struct spawn_result r;
    char dir[160];
    (void)snprintf(dir, sizeof dir, "%s", job_path("kept"));
    CU_ASSERT_FATAL(run_in(dir, 1, ONE "--num_steps 13"));
    spawn_run(&r, "%s --model_dir %s %s", job_tiny(), dir, ONE);
    T_EQ(r.status, 0);
    CU_ASSERT(strstr(r.err, "lost_shard:shard=1,from=16: checkpoints before step 13 are not there, "
                            "so this run repeats fewer steps than an uninterrupted one") != NULL);
    spawn_free(&r);
    CU_ASSERT_FATAL(job_read(dir, &m));
    T_EQ(m.n, 32);
}

/* Seven have 120 samples each where eight had 105, of a model that computes more than it waits. */
TEST(emulated_faults, a_lost_wafer_costs_time)
{
#define LARGER                                                                                     \
    THIRTY "--numerics none --set train_input.batch_size=840 --set model.hidden_size=1024 "        \
           "--set model.num_heads=16 --set model.filter_size=4096 "                                \
           "--set model.max_position_embeddings=1024 --set cluster.jitter=0 "                      \
           "--set cluster.effects.checkpoint=off "
    struct job_metrics eight = {0}, lost = {0}, folded = {0};
    CU_ASSERT_FATAL(emulate(LARGER, 1, &eight));
    CU_ASSERT_FATAL(emulate(LARGER LOST, 1, &lost) && emulate(LARGER LOST, 5, &folded));
    CU_ASSERT(job_same_times(&lost, &folded));
    for (int i = 0; i < 10; i++)
        T_EQ(lost.step[i].step_time_ps, eight.step[i].step_time_ps);
    for (int i = 10; i < 30; i++)
        CU_ASSERT(lost.step[i].step_time_ps > eight.step[i].step_time_ps * 105 / 100);
    /* Forty seconds until it is known, sixty until the others have its share. */
    const long long recovery =
        lost.step[10].virtual_time_ps - lost.step[10].step_time_ps - lost.step[9].virtual_time_ps;
    T_EQ(recovery, 100000000000000LL);
}

TEST(emulated_faults, a_straggler_for_some_steps)
{
    struct job_metrics even = {0}, slow = {0};
    CU_ASSERT_FATAL(emulate(THIRTY "--numerics none", 1, &even));
    CU_ASSERT_FATAL(emulate(
        THIRTY "--numerics none --fault straggler:wafer=1,factor=3,from=6,steps=4", 1, &slow));
    for (int i = 0; i < 30; i++) {
        const bool is_slow = i >= 5 && i < 9;
        const long long a = even.step[i].step_time_ps, b = slow.step[i].step_time_ps;
        CU_ASSERT(is_slow ? b > a + a / 100 : b < a + a / 1000 && b > a - a / 1000);
    }
}

/* ---- cost ------------------------------------------------------------------------------------ */

/* What a run says of a fault is what a run without the fault takes less. */
TEST(emulated_faults, the_cost_is_the_difference_of_two_runs)
{
    static const char *const fault[] = {"--fault lost_shard:shard=1,from=16 ",
                                        "--fault straggler:wafer=2,factor=3,from=4,steps=8 ",
                                        "--fault lossy_link:wafer=2,loss=0.01 "};
    char dir[160], options[1024];
    (void)snprintf(dir, sizeof dir, "%s", job_path("cost"));
    (void)snprintf(options, sizeof options, THIRTY "--numerics none %s%s%s", fault[0], fault[1],
                   fault[2]);
    CU_ASSERT_FATAL(run_in(dir, 3, options));
    const long long all = job_performance(dir, "virtual_time_ps", 0);
    T_EQ(job_performance(dir, "repeated_tokens", 0), 5LL * 8 * 64);
    for (int i = 0; i < 3; i++) {
        char other[160];
        (void)snprintf(other, sizeof other, "%s", job_path("without"));
        (void)snprintf(options, sizeof options, THIRTY "--numerics none %s%s", fault[(i + 1) % 3],
                       fault[(i + 2) % 3]);
        CU_ASSERT_FATAL(run_in(other, 1, options));
        const long long without = job_performance(other, "virtual_time_ps", 0);
        T_EQ(job_performance(dir, "time_ps", i), all);
        T_EQ(job_performance(dir, "time_without_ps", i), without);
        T_EQ(job_performance(dir, "cost_ps", i), all - without);
        CU_ASSERT(all > without);
    }
}

/* ---- time of a recovery ---------------------------------------------------------------------- */

/* Virtual time of recovery from a lost shard with an optimizer, ps. */
static long long recovery_ps(const char *optimizer)
{
    char dir[160], options[400];
    (void)snprintf(dir, sizeof dir, "%s", job_path("recovery"));
    (void)snprintf(options, sizeof options,
                   "--num_csx 2 --max_steps 3 --numerics none --fault lost_shard:shard=0,from=3 "
                   "--set runconfig.save_initial_checkpoint=true "
                   "--set cluster.recovery.restore_rate=1MB/s "
                   "--set 'optimizer={optimizer_type: %s, learning_rate: 0.1}'",
                   optimizer);
    CU_ASSERT_FATAL(run_in(dir, 1, options));
    return job_performance(dir, "recovery_ps", 0);
}

/* The new server reads weights and what the optimizer keeps: two numbers a parameter with AdamW,
 * one with momentum, none with SGD, sums of rows and columns with Adafactor. */
TEST(emulated_faults, a_recovery_reads_the_state_of_the_optimizer)
{
    const long long adam = recovery_ps("AdamW"), none = recovery_ps("SGD"),
                    momentum = recovery_ps("SGD, momentum: 0.9"),
                    factored = recovery_ps("Adafactor, scale_parameter: false, "
                                           "relative_step: false");
    CU_ASSERT(none > 0 && none < factored && factored < momentum && momentum < adam);
    /* Rounded up to whole bytes of a shard, 1 us each. */
    T_NEAR((double)(adam - none) / (double)(momentum - none), 2, 1e-3);
}
