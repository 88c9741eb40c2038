// SPDX-License-Identifier: Apache-2.0
/* One training run, whatever it runs on: losses, norms and weights to the last bit, and the same
 * virtual time for the same emulated cluster. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <stdio.h>
#include <string.h>

enum { STEPS = 20 };

/* @p before stands before the program, e.g. mpirun or a variable. */
static bool train(const char *before, const char *options, struct job_metrics *m)
{
    const char *dir = job_path("exact");
    if (!spawn_ok("%s %s --set runconfig.checkpoint_steps=0 --max_steps %d --model_dir %s %s",
                  before, job_tiny(), STEPS, dir, options))
        return false;
    return job_read(dir, m) && m->n == STEPS;
}

static const struct job_metrics *reference(void)
{
    static struct job_metrics m;
    if (!m.n) CU_ASSERT_FATAL(train("", "--num_csx 1", &m));
    return &m;
}

static void check(const char *before, const char *options, struct job_metrics *m)
{
    bool same = train(before, options, m) && job_same_values(m, reference());
    if (!same) (void)fprintf(stderr, "in: %s run %s\n", before, options);
    CU_ASSERT(same);
}

TEST(exact, the_loss_falls_and_every_step_has_a_hash)
{
    const struct job_metrics *m = reference();
    for (int i = 0; i < STEPS; i++) {
        T_EQ(m->step[i].step, i + 1);
        T_EQ(strlen(m->step[i].hash), 18);
        if (i) CU_ASSERT(strcmp(m->step[i].hash, m->step[i - 1].hash) != 0);
    }
    CU_ASSERT(strcmp(m->step[0].loss, "5.") > 0 && strcmp(m->step[STEPS - 1].loss, "4.") < 0);
}

TEST(exact, any_number_of_systems)
{
    static const int counts[] = {2, 3, 4, 5, 8, 16, 64};
    for (int i = 0; i < (int)(sizeof counts / sizeof *counts); i++) {
        char options[64];
        struct job_metrics m;
        (void)snprintf(options, sizeof options, "--num_csx %d", counts[i]);
        check("", options, &m);
    }
}

/* A cluster of 4 systems has 12 shards, one node and 4 wafers: 17 roles. */
TEST(exact, any_number_of_ranks)
{
    struct job_metrics folded, m;
    check("", "--num_csx 4", &folded);
    static const int ranks[] = {2, 5, 17};
    for (int i = 0; i < 3; i++) {
        char before[64];
        (void)snprintf(before, sizeof before, "mpirun --quiet -n %d", ranks[i]);
        check(before, "--num_csx 4", &m);
        CU_ASSERT(job_same_times(&m, &folded));
    }
}

TEST(exact, any_tree_and_any_number_of_shards)
{
    static const char *const shape[] = {
        "--num_csx 5 --set cluster.memoryx.shards=1 --set cluster.swarmx.fanout=2",
        "--num_csx 7 --set cluster.memoryx.shards=12 --set cluster.swarmx.fanout=2",
        "--num_csx 7 --set cluster.memoryx.shards=3 --set cluster.swarmx.fanout=4",
        "--num_csx 3 --set cluster.stream.granularity=matrix --set train_input.micro_batch_size=1",
        "--num_csx 4 --set runconfig.num_wgt_servers=2 --set cluster.stream.prefetch_window=64KiB",
    };
    for (int i = 0; i < (int)(sizeof shape / sizeof *shape); i++) {
        struct job_metrics folded, m;
        check("", shape[i], &folded);
        if (i % 2) continue;
        check("mpirun --quiet -n 3", shape[i], &m);
        CU_ASSERT(job_same_times(&m, &folded));
    }
}

TEST(exact, any_number_of_threads)
{
    struct job_metrics one, two;
    check("OMP_NUM_THREADS=1", "--num_csx 2", &one);
    check("OMP_NUM_THREADS=2", "--num_csx 2", &two);
    CU_ASSERT(job_same_times(&one, &two));
    check("OMP_NUM_THREADS=2 mpirun --quiet -n 2", "--num_csx 2", &two);
    CU_ASSERT(job_same_times(&one, &two));
}

/* Also where weights come and gradients leave in pieces, and with masks. */
TEST(exact, blocks_that_are_computed_again)
{
#define SPARSE " --set 'sparsity={algorithm: static, sparsity: 0.5}'"
    struct job_metrics kept, m;
    check("", "--num_csx 2 --set model.recompute=true", &m);
    check("WSC_AHEAD=1 mpirun --quiet -n 4",
          "--num_csx 2 --set model.recompute=true --set cluster.memoryx.shards=1", &m);
    CU_ASSERT(train("", "--num_csx 2" SPARSE, &kept));
    CU_ASSERT(train("", "--num_csx 2 --set model.recompute=true" SPARSE, &m));
    CU_ASSERT(job_same_values(&m, &kept) && job_same_times(&m, &kept));
#undef SPARSE
}

/* Wafers of a process compute at the same time: as many as there are threads, and the rest. */
TEST(exact, any_number_of_threads_for_the_wafers_of_a_process)
{
    static const char *const before[] = {"OMP_NUM_THREADS=2", "OMP_NUM_THREADS=3",
                                         "OMP_NUM_THREADS=8",
                                         "OMP_NUM_THREADS=2 mpirun --quiet -n 2",
                                         "OMP_NUM_THREADS=2 WSC_AHEAD=1 mpirun --quiet -n 2"};
    struct job_metrics one, many;
    check("OMP_NUM_THREADS=1", "--num_csx 5", &one);
    for (int i = 0; i < (int)(sizeof before / sizeof *before); i++) {
        check(before[i], "--num_csx 5", &many);
        CU_ASSERT(job_same_times(&one, &many));
    }
}

/* Without values there are no losses, but the same times. */
TEST(exact, none_keeps_the_time_of_host)
{
    static const char *const shape[] = {"--num_csx 1", "--num_csx 3 --set cluster.swarmx.fanout=2",
                                        "--num_csx 16 --set cluster.memoryx.shards=5"};
    for (int i = 0; i < 3; i++) {
        char options[128];
        struct job_metrics host, none;
        check("", shape[i], &host);
        (void)snprintf(options, sizeof options, "%s --numerics none", shape[i]);
        CU_ASSERT(train("", options, &none));
        T_STR(none.step[STEPS - 1].loss, "null");
        CU_ASSERT(job_same_times(&host, &none));
        CU_ASSERT(train("mpirun --quiet -n 4", options, &none));
        CU_ASSERT(job_same_times(&host, &none));
    }
}

/* Another grouping of leaves is another order of adding; a run with it is as exact. */
TEST(exact, leaves_of_two_samples)
{
    struct job_metrics a, b;
    CU_ASSERT_FATAL(train("", "--set reduction_leaf=2 --num_csx 1", &a));
    CU_ASSERT_FATAL(train("", "--set reduction_leaf=2 --num_csx 3", &b));
    CU_ASSERT(job_same_values(&a, &b));
}
