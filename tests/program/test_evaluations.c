// SPDX-License-Identifier: Apache-2.0
/* Evaluations of a training that fail: before its first step where the samples show it, and with a
 * checkpoint of the steps before where only the evaluation does. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <wsc/store.h>

#include <stdio.h>
#include <string.h>

#define BOTH "--mode train_and_eval --set runconfig.eval_frequency=5 --num_steps 5 "

/* Refused with @p status and @p text on one rank and on three, before the first step. */
static void expect_refused(const char *options, int status, const char *text)
{
    static const char *const before[] = {"", "mpirun --quiet -n 3"};
    for (int i = 0; i < 2; i++) {
        struct spawn_result r;
        spawn_run(&r, "%s %s " BOTH "--num_csx 2 %s --model_dir %s", before[i], job_tiny(), options,
                  job_path("refused"));
        T_EQ(r.status, status);
        if (!strstr(r.err, text)) T_STR(r.err, text);
        CU_ASSERT_PTR_NULL(strstr(r.out, "Step="));
        spawn_free(&r);
    }
}

TEST(evaluations, too_few_samples_are_refused_before_the_first_step)
{
    static const char all[] = "--set runconfig.eval_steps=null --set eval_input.batch_size=5000";
    expect_refused(all, 2, "eval_input: fewer samples than one batch of 5000");
    CU_ASSERT(spawn_ok("%s --mode train_and_eval --num_steps 2 %s --model_dir %s "
                       "--set runconfig.eval_frequency=0 2>&1",
                       job_tiny(), all, job_path("none")));
}

/* A data set with token @p id and mask @p mask in sample 13, all others being plain. */
static const char *data_with(int id, int mask)
{
    enum { N = 16, T = 64 };
    static int32_t sample[N * 3 * T];
    static char dir[160];
    char path[200];
    (void)snprintf(dir, sizeof dir, "%s", job_path("samples"));
    (void)snprintf(path, sizeof path, "%s/a.h5", dir);
    for (int i = 0; i < N * 3 * T; i++)
        sample[i] = i / T % 3 != 1 ? 65 : i / (3 * T) < 8 ? 1 : mask;
    sample[13 * 3 * T + 5] = id;
    CU_ASSERT_FATAL(spawn_ok("mkdir -p %s", dir));
    T_OK(store_samples_write(path, sample, N, T));
    return dir;
}

TEST(evaluations, wrong_samples_are_refused_before_the_first_step)
{
    static const char both[] = "--set runconfig.eval_steps=2 --set eval_input.data_dir=";
    char options[300];
    (void)snprintf(options, sizeof options, "%s%s", both, data_with(999, 1));
    expect_refused(options, 1,
                   "a.h5: sample 13, position 5: input_ids is 999, expected 0 to 255; hint: ");
    (void)snprintf(options, sizeof options, "%s%s", both, data_with(65, 0));
    expect_refused(options, 4, "evaluation batch 2: no token of the batch has a label");
}

/* Files of two samples, more than are open at a time, which go away while the steps run: the steps
 * are saved, and the run that is started again begins with the evaluation. */
TEST(evaluations, steps_before_an_evaluation_that_fails_are_saved)
{
#define LONG                                                                                       \
    "%s --mode train_and_eval --num_csx 2 --max_steps 150 --set runconfig.eval_frequency=150 "     \
    "--set runconfig.checkpoint_steps=150 --set runconfig.eval_steps=null "                        \
    "--set eval_input.data_dir=%s/val --model_dir %s "
    struct job_metrics straight, again;
    struct spawn_result r;
    char data[160], dir[160], whole[160];
    (void)snprintf(data, sizeof data, "%s", job_path("files"));
    (void)snprintf(dir, sizeof dir, "%s", job_path("gone"));
    (void)snprintf(whole, sizeof whole, "%s", job_path("whole"));
    CU_ASSERT_FATAL(spawn_ok("\"$WSC\" data --input %s/../text.txt --out %s --max_seq_length 64 "
                             "--split 0.1 --samples_per_file 2",
                             job_data(), data));
    CU_ASSERT_FATAL(spawn_ok(LONG, job_tiny(), data, whole));
    spawn_run(&r,
              "(until grep -q '\"step\": 5,' %s/metrics.jsonl; do sleep 0.02; done; "
              "mv %s/val %s/away) 2>/dev/null & " LONG,
              dir, data, data, job_tiny(), data, dir);
    T_EQ(r.status, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "h5: "));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "Saved checkpoint"));
    spawn_free(&r);
    spawn_run(&r, "mv %s/away %s/val; " LONG, data, data, job_tiny(), data, dir);
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "global step 150"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "Avg Eval Loss: "));
    spawn_free(&r);
    CU_ASSERT(job_read(whole, &straight) && job_read(dir, &again));
    CU_ASSERT(job_same_values(&straight, &again) && job_same_times(&straight, &again));
    CU_ASSERT(spawn_ok("grep eval_loss %s/metrics.jsonl >%s/a; grep eval_loss %s/metrics.jsonl | "
                       "cmp - %s/a",
                       whole, data, dir, data));
}
