// SPDX-License-Identifier: Apache-2.0
/* Diffusion transformers as users run them: the same virtual time on any ranks, evaluation, sweeps
 * and plans, and values refused before anything is written. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <stdio.h>
#include <string.h>

#define SMALL                                                                                      \
    "--params configs/params/dit_2b.yaml --set model.num_hidden_layers=3 --set "                   \
    "model.hidden_size=64 --set model.num_heads=4 --set model.filter_size=256 --set "              \
    "train_input.batch_size=24 --set train_input.micro_batch_size=auto --set "                     \
    "eval_input.batch_size=24 "

static bool run(const char *before, const char *options, struct job_metrics *m)
{
    char dir[160];
    (void)snprintf(dir, sizeof dir, "%s", job_path("dit"));
    return spawn_ok("%s \"$WSC\" run " SMALL
                    "--num_steps 4 --set runconfig.log_steps=1 --numerics none --model_dir %s %s",
                    before, dir, options) &&
           job_read(dir, m);
}

TEST(diffusion, virtual_time_is_the_same_on_any_ranks)
{
    static const char *const before[] = {"mpirun --oversubscribe -n 2",
                                         "mpirun --oversubscribe -n 3",
                                         "mpirun --oversubscribe -n 7"};
    struct job_metrics one = {0}, other = {0}, alone = {0}, without = {0};
    CU_ASSERT_FATAL(run("", "--num_csx 4", &one));
    T_EQ(one.n, 4);
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_FATAL(run(before[i], "--num_csx 4", &other));
        CU_ASSERT(job_same_times(&one, &other));
    }
    CU_ASSERT_FATAL(run("", "--num_csx 4 --set cluster.stream.granularity=matrix", &other));
    CU_ASSERT(other.step[3].virtual_time_ps > one.step[3].virtual_time_ps);
    CU_ASSERT_FATAL(run("", "--num_csx 1", &alone));
    CU_ASSERT_FATAL(run("", "--num_csx 1 --set cluster.wafer.condition_kernels=0", &without));
    CU_ASSERT(alone.step[3].virtual_time_ps > without.step[3].virtual_time_ps);
}

TEST(diffusion, evaluation_sweep_and_plan)
{
    char dir[160], count[3][64];
    struct spawn_result r;
    (void)snprintf(dir, sizeof dir, "%s", job_path("dit_sweep"));
    CU_ASSERT(
        spawn_ok("\"$WSC\" run " SMALL "--mode eval --numerics none --model_dir %s/eval", dir));
    CU_ASSERT(spawn_ok("\"$WSC\" scale " SMALL "--num_csx 1,2 --out %s/scale", dir));
    spawn_run(&r, "\"$WSC\" run " SMALL "--compile_only --json");
    T_EQ(r.status, 0);
    /* By width C = 64, 3 blocks: patches and classes; six matrices a block, two of the last norm
     * and those of the time step, all with a bias; the output layer. */
    const int c = 64, square = c * c + c;
    (void)snprintf(count[0], sizeof count[0], "\"embedding\": %d,", c * 16 + c + 1001 * c);
    (void)snprintf(count[1], sizeof count[1], "\"conditioning\": %d,",
                   (3 * 6 + 2 + 1) * square + c * 256 + c);
    (void)snprintf(count[2], sizeof count[2], "\"final norm and head\": %d}", c * 16 + 4);
    for (int i = 0; i < 3; i++)
        CU_ASSERT_PTR_NOT_NULL(strstr(r.out, count[i]));
    spawn_free(&r);
    spawn_run(&r, "\"$WSC\" run " SMALL "--compile_only");
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "32 x 32 of 4 channels, 256 patches of 2 x 2"));
    spawn_free(&r);
}

/* One line of error, the last one, status 2, and no folder. */
static void check_refused(const char *options, const char *message)
{
    char dir[160];
    struct spawn_result r;
    (void)snprintf(dir, sizeof dir, "%s", job_path("dit_values"));
    spawn_run(&r, "\"$WSC\" run " SMALL "--model_dir %s %s", dir, options);
    T_EQ(r.status, 2);
    if (!strstr(r.err, message)) (void)fprintf(stderr, "%s", r.err);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, message));
    const char *error = strstr(r.err, "wsc: error"), *end = error ? strchr(error, '\n') : NULL;
    CU_ASSERT(end && !end[1]);
    CU_ASSERT(spawn_ok("! test -e %s", dir));
    spawn_free(&r);
}

TEST(diffusion, values_are_refused_before_anything_is_written)
{
    const char *const values = "model.name: no values of diffusion transformers are computed in "
                               "this release, their virtual time is; hint: --numerics none\n";
    check_refused("", values);
    check_refused("--numerics host --mode eval", values);
    check_refused("--numerics mesh", values);
    check_refused("--numerics none --mode generate --prompt a", "generate no text\n");
}
