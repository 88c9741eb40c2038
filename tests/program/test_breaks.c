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
