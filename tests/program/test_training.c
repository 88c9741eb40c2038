// SPDX-License-Identifier: Apache-2.0
/* Optimizers, formats and loss scaling in whole runs: the same bits on any cluster, the same run
 * when it is interrupted.  Their arithmetic is tested in tests/unit/memoryx. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A first loss scale at which float16 overflows: some steps are skipped, then training begins. */
#define OVERFLOWS                                                                                  \
    "--set model.mixed_precision=true --set model.fp16_type=float16 "                              \
    "--set optimizer.loss_scaling_factor=dynamic --set optimizer.initial_loss_scale=134217728 "    \
    "--set optimizer.max_loss_scale=134217728 --set optimizer.steps_per_increase=3 "

static bool train(const char *dir, const char *options)
{
    return spawn_ok("%s --model_dir %s %s", job_tiny(), dir, options);
}

static void train_fresh(struct job_metrics *m, const char *options)
{
    char dir[160];
    memset(m, 0, sizeof *m);
    (void)snprintf(dir, sizeof dir, "%s", job_path("training"));
    CU_ASSERT_FATAL(train(dir, options) && job_read(dir, m));
}

/* ---- loss scaling ---------------------------------------------------------------------------- */

static double scale_of(const struct job_metrics *m, int i)
{
    return strtod(m->step[i].loss_scale, NULL);
}

TEST(training, the_loss_scale_halves_and_doubles_and_skipped_steps_change_nothing)
{
    struct job_metrics m;
    train_fresh(&m, OVERFLOWS "--set runconfig.checkpoint_steps=0 --max_steps 12");
    int n_skipped = 0, n_grown = 0;
    for (int i = 1; i < m.n; i++) {
        const bool skipped = scale_of(&m, i) == scale_of(&m, i - 1) / 2;
        const bool same = !strcmp(m.step[i - 1].lr, m.step[i].lr);
        n_skipped += skipped;
        n_grown += scale_of(&m, i) == scale_of(&m, i - 1) * 2;
        if (!skipped) continue;
        /* The step before was skipped: this one has its rate, and its loss is another batch's. */
        CU_ASSERT(same);
        if (i > 1) CU_ASSERT(!strcmp(m.step[i - 1].hash, m.step[i - 2].hash));
    }
    CU_ASSERT(scale_of(&m, 0) == 134217728);
    CU_ASSERT(n_skipped >= 1 && n_grown >= 1);
}

/* The bound of a resumed run holds, also where the run before had a greater scale. */
TEST(training, a_resumed_loss_scale_is_cut_to_its_bound)
{
    static const char *const bound[] = {"64", "131072"};
    static const char dynamic[] =
        "--set model.mixed_precision=true --set model.fp16_type=float16 --set "
        "optimizer.loss_scaling_factor=dynamic --set optimizer.steps_per_increase=1 ";
    struct job_metrics m;
    char dir[160], options[640];
    (void)snprintf(dir, sizeof dir, "%s", job_path("cut"));
    (void)snprintf(options, sizeof options, "%s--num_steps 2", dynamic);
    CU_ASSERT_FATAL(train(dir, options) && job_read(dir, &m));
    CU_ASSERT(scale_of(&m, 1) == 32768);
    for (int i = 0; i < 2; i++) {
        struct spawn_result r;
        char next[160];
        (void)snprintf(next, sizeof next, "%s", job_path("cut_next"));
        spawn_run(&r,
                  "%s %s --num_steps 2 --model_dir %s --checkpoint_path %s/checkpoint_2.mdl --set "
                  "optimizer.initial_loss_scale=64 --set optimizer.max_loss_scale=%s",
                  job_tiny(), dynamic, next, dir, bound[i]);
        T_EQ(r.status, 0);
        T_EQ(strstr(r.err, "optimizer.max_loss_scale: the loss scale of the checkpoint, 32768, is "
                           "above max_loss_scale: the first factor is 64") != NULL,
             i == 0);
        spawn_free(&r);
        CU_ASSERT(job_read(next, &m) && scale_of(&m, 0) == (i ? 32768 : 64));
        CU_ASSERT(scale_of(&m, 1) == (i ? 65536 : 64));
    }
}

static void check_format(const char *format)
{
    static const char *const cluster[] = {"--num_csx 1",
                                          "--num_csx 3 --set cluster.memoryx.shards=1",
                                          "--num_csx 8 --set cluster.memoryx.shards=5"};
    struct job_metrics m[3];
    char options[640];
    for (int i = 0; i < 3; i++) {
        (void)snprintf(options, sizeof options,
                       "%s --set runconfig.checkpoint_steps=0 --max_steps 10 %s", format,
                       cluster[i]);
        train_fresh(&m[i], options);
        CU_ASSERT(job_same_values(&m[0], &m[i]));
    }
    CU_ASSERT(strtod(m[0].step[9].loss, NULL) < strtod(m[0].step[0].loss, NULL));
}

/* A step that loss scaling skips has no gradients to look at: the dump says so. */
TEST(training, gradients_of_a_skipped_step_warn)
{
    static const char *const scale[] = {"1e30", "1"};
    for (int i = 0; i < 2; i++) {
        struct spawn_result r;
        char dir[160];
        (void)snprintf(dir, sizeof dir, "%s", job_path("dump"));
        spawn_run(&r,
                  "%s --model_dir %s --num_steps 1 " OVERFLOWS
                  "--set optimizer.initial_loss_scale=%s --set optimizer.max_loss_scale=1e30 "
                  "--dump_gradients %s.h5",
                  job_tiny(), dir, scale[i], dir);
        T_EQ(r.status, 0);
        T_EQ(strstr(r.err, "gradients of step 1 are not finite") != NULL, i == 0);
        spawn_free(&r);
    }
}

TEST(training, float16_and_cbfloat16_are_exact_on_any_cluster)
{
    check_format(OVERFLOWS);
    check_format("--set model.mixed_precision=true --set model.fp16_type=cbfloat16 "
                 "--set optimizer.loss_scaling_factor=dynamic ");
}

/* ---- every optimizer ------------------------------------------------------------------------- */

static void check_resume(const char *optimizer)
{
    struct job_metrics straight, resumed = {0};
    char options[640], dir[160];
    (void)snprintf(options, sizeof options,
                   OVERFLOWS "--set optimizer.optimizer_type=%s --set optimizer.learning_rate=1e-3 "
                             "--max_steps 8 --set runconfig.checkpoint_steps=4",
                   optimizer);
    train_fresh(&straight, options);
    (void)snprintf(dir, sizeof dir, "%s", job_path("halves"));
    CU_ASSERT_FATAL(spawn_ok("%s --model_dir %s %s --num_steps 4", job_tiny(), dir, options));
    CU_ASSERT_FATAL(spawn_ok("%s --model_dir %s %s --num_csx 3 --set cluster.memoryx.shards=5",
                             job_tiny(), dir, options));
    CU_ASSERT_FATAL(job_read(dir, &resumed));
    const bool same = job_same_values(&straight, &resumed);
    if (!same) (void)fprintf(stderr, "with %s\n", optimizer);
    CU_ASSERT(same && straight.n == 8);
}

TEST(training, a_run_of_every_optimizer_goes_on_elsewhere)
{
    static const char *const optimizer[] = {
        "Adam",
        "AdamW --set optimizer.amsgrad=true",
        "Adafactor",
        "Lamb",
        "SGD --set optimizer.momentum=0.9",
        "Lion",
        "Adadelta",
        "Adagrad",
        "Adamax",
        "ASGD",
        "NAdam",
        "RAdam",
        "RMSprop --set optimizer.momentum=0.9 --set optimizer.centered=true",
        "Rprop"};
    for (int i = 0; i < (int)(sizeof optimizer / sizeof *optimizer); i++)
        check_resume(optimizer[i]);
}

/* Rounds between the shards take time, with values and without, on any ranks. */
TEST(training, the_time_of_sums_over_tensors_does_not_depend_on_values_or_ranks)
{
    static const char *const optimizer[] = {"Lamb", "Adafactor"};
    char options[256];
    for (int i = 0; i < 2; i++) {
        struct job_metrics host, none, ranks;
        char dir[160];
        (void)snprintf(options, sizeof options,
                       "--num_csx 4 --max_steps 4 --set runconfig.checkpoint_steps=0 "
                       "--set optimizer.optimizer_type=%s",
                       optimizer[i]);
        train_fresh(&host, options);
        (void)snprintf(dir, sizeof dir, "%s", job_path("ranks"));
        CU_ASSERT(spawn_ok("mpirun --quiet -n 5 %s --model_dir %s %s", job_tiny(), dir, options));
        CU_ASSERT(job_read(dir, &ranks));
        CU_ASSERT(job_same_values(&host, &ranks) && job_same_times(&host, &ranks));
        (void)snprintf(options + strlen(options), sizeof options - strlen(options),
                       " --numerics none");
        train_fresh(&none, options);
        CU_ASSERT(job_same_times(&host, &none));
    }
}

/* Nothing but the initial weights depends on the seed of this file, which has no dropout. */
TEST(training, initial_weights_may_have_a_seed_of_their_own)
{
    static const char *const seeds[] = {"runconfig.seed=7", "model.weight_initialization_seed=7",
                                        "runconfig.seed=1"};
    struct job_metrics m[3];
    for (int i = 0; i < 3; i++) {
        const char *dir = job_path("seed");
        CU_ASSERT_FATAL(
            spawn_ok("%s --max_steps 2 --model_dir %s --set %s", job_tiny(), dir, seeds[i]) &&
            job_read(dir, &m[i]));
    }
    CU_ASSERT(job_same_values(&m[0], &m[1]));
    CU_ASSERT(strcmp(m[1].step[0].loss, m[2].step[0].loss) != 0);
}
