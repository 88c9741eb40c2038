// SPDX-License-Identifier: Apache-2.0
/* `wsc scale` of models whose masks change, against a run without values, which simulates every
 * step: whole trainings, and sweeps over the sparsity. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <stdio.h>
#include <stdlib.h>

/* Column @p k, from 1, of the first training of training.csv. */
static double of_training(const char *dir, int k)
{
    struct spawn_result r;
    spawn_run(&r, "sed -n 2p %s/training.csv | cut -d, -f%d", dir, k);
    const double value = strtod(r.out, NULL);
    spawn_free(&r);
    return value;
}

/* Utilisation by performance.json, mean of all steps of a run. */
static double mfu_of_run(const char *dir)
{
    struct spawn_result r;
    spawn_run(&r, "grep -o '\"mfu\": [0-9.e+-]*' %s/performance.json | sed 's/.*: //'", dir);
    const double mfu = strtod(r.out, NULL);
    spawn_free(&r);
    return mfu;
}

/* Seconds and useful FLOPs of as many tokens as the run trains on; mfu is relative to the 7.5
 * PFLOP/s of a CS-2. */
TEST(scale_sparse, a_training_takes_the_time_of_a_run)
{
    enum { STEPS = 60, SEQUENCES = 8, LENGTH = 64, SECONDS = 5, USEFUL = 12 };
    static const char *const sparsity[] = {
        "{algorithm: rigl, sparsity: 0.9, drop_fraction: 0.3, update: {freq: 2, start: 20}}",
        "{algorithm: rigl, sparsity: 0.9, drop_fraction: 0.3, update: {steps: [10, 20, 50]}}",
        "{algorithm: rigl, sparsity: {type: linear, init: 0.1, slope: 0.01}, drop_fraction: 0.3, "
        "update: {freq: 1}}",
        "{algorithm: set, sparsity: 0.9, drop_fraction: 0.3, update: {freq: 10, start: 3}}"};
    for (size_t i = 0; i < sizeof sparsity / sizeof *sparsity; i++) {
        const char *dir = job_path("mean_step"), *run = job_path("mean_step_run");
        char sets[600];
        (void)snprintf(sets, sizeof sets,
                       "--num_csx 1 --set train_input.batch_size=%d --set "
                       "runconfig.checkpoint_steps=0 --set cluster.jitter=0 --set "
                       "cluster.memoryx.link_rate=1MB/s --set 'sparsity=%s'",
                       SEQUENCES, sparsity[i]);
        CU_ASSERT_FATAL(spawn_ok("\"$WSC\" scale --params configs/params/tiny.yaml %s "
                                 "--batch_per_csx %d --tokens %d --out %s",
                                 sets, SEQUENCES, STEPS * SEQUENCES * LENGTH, dir));
        CU_ASSERT_FATAL(spawn_ok("\"$WSC\" run --params configs/params/tiny.yaml %s --numerics "
                                 "none --max_steps %d --model_dir %s",
                                 sets, STEPS, run));
        const double run_s = (double)job_performance(run, "virtual_time_ps", 0) * 1e-12;
        T_NEAR(of_training(dir, SECONDS) / run_s, 1, 0.005);
        T_NEAR(of_training(dir, USEFUL) / (mfu_of_run(run) * 7.5e15 * run_s), 1, 0.001);
    }
}
