// SPDX-License-Identifier: Apache-2.0
/* As many systems as were ever announced, and as many ranks as there are roles: the values of one
 * system on one rank. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <stdio.h>

enum { STEPS = 2 };
#define BATCH "--set train_input.batch_size=192 --set runconfig.checkpoint_steps=0 --max_steps 2 "

static void train(const char *before, const char *options, struct job_metrics *m)
{
    const char *dir = job_path("large");
    CU_ASSERT_FATAL(spawn_ok("%s %s " BATCH "--model_dir %s %s", before, job_tiny(), dir, options));
    CU_ASSERT_FATAL(job_read(dir, m));
    T_EQ(m->n, STEPS);
}

static const struct job_metrics *one_system(void)
{
    static struct job_metrics m;
    if (!m.n) train("", "--num_csx 1", &m);
    return &m;
}

TEST(large, systems_192)
{
    struct job_metrics folded, ranks;
    train("", "--num_csx 192", &folded);
    train("mpirun --quiet -n 4", "--num_csx 192", &ranks);
    CU_ASSERT(job_same_values(&folded, one_system()));
    CU_ASSERT(job_same_values(&ranks, one_system()) && job_same_times(&ranks, &folded));
}

/* 64 systems, 21 SwarmX nodes and one shard. */
TEST(large, ranks_86)
{
    static const char cluster[] = "--num_csx 64 --set cluster.memoryx.shards=1";
    struct job_metrics folded, ranks;
    CU_ASSERT(spawn_ok("test \"$(\"$WSC\" ranks %s)\" = 86", cluster));
    train("", cluster, &folded);
    train("mpirun --quiet -n 86", cluster, &ranks);
    CU_ASSERT(job_same_values(&folded, one_system()));
    CU_ASSERT(job_same_values(&ranks, one_system()) && job_same_times(&ranks, &folded));
}
