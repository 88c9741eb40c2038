// SPDX-License-Identifier: Apache-2.0
/* Sparse training as users run it: the sparsity sections of the Model Zoo's files on a shrunk
 * model, resumed on other machines, a sparse phase and then a dense one, what TensorBoard gets, and
 * what
 * --validate_only prints. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The sections of the Model Zoo's files `params_gpt3_...`, releases 2.0.2 and 2.10.0. */
#define OLD_PATTERNS                                                                               \
    "param_name_patterns: [\".*proj_[qkv]_dense_layer.weight\", "                                  \
    "\".*proj_output_dense_layer.weight\", \".*linear_layer.weight\"]"
#define PATTERNS                                                                                   \
    "param_filter: [\"*proj_[qkv]_dense_layer.weight\", \"*proj_output_dense_layer.weight\", "     \
    "\"*linear_layer.weight\"]"
static const char *const published[] = {
    "{sparsity: 0.75, init_method: random, type: static, " OLD_PATTERNS "}",
    "{sparsity: 0.75, init_method: random, type: set, drop_fraction: {type: cosine, init: 0.3, "
    "half_period: 8}, schedule: {freq: 2, stop: 8}, " OLD_PATTERNS "}",
    "{sparsity: 0.75, init_method: random, algorithm: rigl, drop_fraction: {type: cosine, init: "
    "0.3, half_period: 8}, update: {freq: 2, stop: 8}, " PATTERNS "}",
    "{sparsity: 0.9, init_method: random, " PATTERNS "}",
    "{sparsity: 0.75, init_method: random, algorithm: rigl, drop_fraction: {type: cosine, init: "
    "0.3, half_period: 12}, update: {freq: 5, stop: 12}, " PATTERNS "}",
    "{sparsity: 0.5, init_method: random, type: static, " OLD_PATTERNS "}"};
enum { N_PUBLISHED = sizeof published / sizeof *published, STEPS = 10 };

static bool train(const char *dir, const char *sparsity, const char *options)
{
    return spawn_ok("%s --max_steps %d --model_dir %s --set sparsity='%s' %s", job_tiny(), STEPS,
                    dir, sparsity, options);
}

/* Twelve matrices of two blocks. */
TEST(sparse, sections_of_published_files_are_described)
{
    for (int i = 0; i < N_PUBLISHED; i++) {
        struct spawn_result r;
        spawn_run(&r, "%s --validate_only --set sparsity='%s'", job_tiny(), published[i]);
        T_EQ(r.status, 0);
        CU_ASSERT_PTR_NOT_NULL(
            strstr(r.out, "layers.*.self_attn.proj_output_dense_layer.weight       2  "));
        CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "layers.*.ffn.ffn.1.linear_layer.weight"));
        CU_ASSERT_PTR_NULL(strstr(r.out, "no tensor matches"));
        spawn_free(&r);
    }
    struct spawn_result r;
    spawn_run(&r, "%s --validate_only --set sparsity='{sparsity: 0.5, param_filter: [\"*x\"]}'",
              job_tiny());
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "sparsity: no tensor matches the pattern *x"));
    spawn_free(&r);
}

/* Such a run is dense, which nothing else in its log says. */
TEST(sparse, a_pattern_that_matches_nothing_warns)
{
    struct spawn_result r;
    spawn_run(&r,
              "%s --num_csx 2 --max_steps 2 --model_dir %s --set sparsity='{sparsity: 0.5, "
              "param_filter: [\"*linear_layer.wieght\", \"*linear_layer.weight\"]}'",
              job_tiny(), job_path("mistyped"));
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(r.err, "sparsity: no tensor matches the pattern *linear_layer.wieght; hint: "));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, " --set sparsity: no tensor matches"));
    CU_ASSERT_PTR_NULL(strstr(r.err, "pattern *linear_layer.weight"));
    spawn_free(&r);
}

/* A mask of a checkpoint stays, and virtual time takes the number of the params. */
TEST(sparse, a_mask_that_differs_from_the_schedule_warns)
{
    static const char says[] = "keeps 1024 of 4096 weights, the schedule 3072 after";
    struct spawn_result r;
    char dir[200];
    (void)snprintf(dir, sizeof dir, "%s", job_path("other_density"));
    for (int i = 0; i < 3; i++) {
        spawn_run(&r,
                  "%s --max_steps %d --model_dir %s --set sparsity=%s --set "
                  "runconfig.checkpoint_steps=2",
                  job_tiny(), 2 * (i + 1), dir, i < 2 ? "0.75" : "0.25");
        T_EQ(r.status, 0);
        CU_ASSERT((strstr(r.err, says) != NULL) == (i == 2));
        spawn_free(&r);
    }
    spawn_run(&r,
              "%s --max_steps 1 --model_dir %s_zeros --set 'sparsity={algorithm: rigl, "
              "sparsity: 0.25, init_method: from_zeros, update: {freq: 9}}'",
              job_tiny(), dir);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "keeps 4096 of 4096 weights, the schedule 3072 after 0"));
    spawn_free(&r);
}

/* Masks begin at update 0 where a dense training continues, and again after a restart. */
static bool train_late(const char *dir, int last_step, bool sparse)
{
    struct spawn_result r;
    spawn_run(&r,
              "%s --max_steps %d --model_dir %s --set runconfig.checkpoint_steps=2 "
              "--set cluster.effects.jitter=false --set cluster.effects.checkpoint=false "
              "--num_csx 2 %s",
              job_tiny(), last_step, dir,
              sparse ? "--set 'sparsity={algorithm: gmp, sparsity: {type: linear, init: 0, slope: "
                       "0.1}}' --set runconfig.disable_strict_checkpoint_loading=true"
                     : "");
    const bool ok = r.status == 0;
    spawn_free(&r);
    return ok;
}

TEST(sparse, time_follows_the_updates_that_masks_count)
{
    enum { DENSE = 2, STEPS_AFTER = 4 };
    struct job_metrics late = {0}, fresh = {0};
    char a[160], b[160];
    (void)snprintf(a, sizeof a, "%s", job_path("late_masks"));
    (void)snprintf(b, sizeof b, "%s", job_path("masks"));
    CU_ASSERT_FATAL(train_late(a, DENSE, false));
    CU_ASSERT_FATAL(train_late(a, DENSE + 2, true));
    CU_ASSERT_FATAL(train_late(a, DENSE + STEPS_AFTER, true));
    CU_ASSERT_FATAL(train_late(b, STEPS_AFTER, true));
    CU_ASSERT_FATAL(job_read(a, &late) && job_read(b, &fresh));
    T_EQ(late.n, DENSE + STEPS_AFTER);
    T_EQ(fresh.n, STEPS_AFTER);
    /* The first step of a run waits for no update. */
    for (int i = 1; i < STEPS_AFTER; i++) {
        T_EQ(late.step[DENSE + i].step_time_ps, fresh.step[i].step_time_ps);
        CU_ASSERT(i == 1 || fresh.step[i].step_time_ps < fresh.step[i - 1].step_time_ps);
    }
}

/* In one run, and in two on other numbers of systems and shards, on ranks and alone. */
TEST(sparse, a_run_resumes_on_another_machine)
{
    for (int i = 0; i < N_PUBLISHED; i++) {
        struct job_metrics straight, resumed;
        char a[160], b[160];
        (void)snprintf(a, sizeof a, "%s", job_path("sparse_straight"));
        (void)snprintf(b, sizeof b, "%s", job_path("sparse_resumed"));
        CU_ASSERT_FATAL(train(a, published[i], "--num_csx 1"));
        CU_ASSERT_FATAL(train(b, published[i],
                              "--num_steps 5 --set runconfig.checkpoint_steps=5 --num_csx 2 "
                              "--set cluster.memoryx.shards=3"));
        CU_ASSERT_FATAL(train(b, published[i], "--num_csx 3 --set cluster.memoryx.shards=2"));
        CU_ASSERT_FATAL(job_read(a, &straight) && job_read(b, &resumed));
        T_EQ(straight.n, STEPS);
        CU_ASSERT(job_same_values(&straight, &resumed));
    }
}

/* A checkpoint without masks is an error, as in cstorch; so is nothing in the other direction: the
 * dense phase of SPDF trains all weights. */
TEST(sparse, a_dense_phase_follows_a_sparse_one)
{
    struct job_metrics m;
    struct spawn_result r;
    char dir[160];
    (void)snprintf(dir, sizeof dir, "%s", job_path("spdf"));
    CU_ASSERT_FATAL(train(dir, published[3], "--num_steps 5 --set runconfig.checkpoint_steps=5"));
    spawn_run(&r, "%s --max_steps %d --model_dir %s", job_tiny(), STEPS, dir);
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "has masks of 12 tensors that are dense here"));
    spawn_free(&r);
    CU_ASSERT_FATAL(job_read(dir, &m));
    T_EQ(m.n, STEPS);
    CU_ASSERT(strcmp(m.step[4].loss, m.step[STEPS - 1].loss) != 0);
    spawn_run(&r,
              "%s --max_steps 12 --model_dir %s --checkpoint_path %s/checkpoint_10.mdl "
              "--set sparsity='%s'",
              job_tiny(), job_path("sparse_again"), dir, published[3]);
    T_EQ(r.status, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "it has no mask of model.transformer_decoder"));
    spawn_free(&r);
}

/* LogSparsity and add_summaries. */
TEST(sparse, tensorboard_gets_target_and_actual)
{
    const char *dir = job_path("sparse_events");
    CU_ASSERT_FATAL(train(dir, published[2], "--set log_sparsity=true"));
    CU_ASSERT(spawn_ok("grep -aq 'sparsity/model.transformer_decoder.layers.1.ffn.ffn.0."
                       "linear_layer.weight/actual' %s/train/events.out.tfevents.*",
                       dir));
    CU_ASSERT(spawn_ok("grep -aq 'proj_q_dense_layer.weight/target' "
                       "%s/train/events.out.tfevents.*",
                       dir));
    const char *quiet = job_path("sparse_quiet");
    CU_ASSERT_FATAL(train(quiet, published[2], ""));
    CU_ASSERT(spawn_ok("! grep -aq 'sparsity/' %s/train/events.out.tfevents.*", quiet));
}

/* Values of @p tag in the events of a run: each stands after its tag as field 2, a float.  Returns
 * their number. */
static int event_values(const char *dir, const char *tag, float *value, int most)
{
    enum { FIELD = 2 << 3 | 5 };
    struct spawn_result r;
    spawn_run(&r, "od -An -v -tx1 %s/train/events.out.tfevents.* | tr -d ' \\n'", dir);
    char hex[320] = "";
    int n = 0;
    for (size_t i = 0; tag[i]; i++)
        (void)snprintf(hex + 2 * i, sizeof hex - 2 * i, "%02x", (unsigned)tag[i]);
    const size_t length = strlen(hex);
    for (const char *at = r.out; (at = strstr(at, hex)) && n < most; n++) {
        uint32_t bits = 0;
        unsigned byte[5] = {0};
        at += length;
        for (int i = 0; i < 5; i++)
            T_EQ(sscanf(at + 2 * (size_t)i, "%2x", &byte[i]), 1);
        T_EQ(byte[0], FIELD);
        for (int i = 4; i; i--)
            bits = bits << 8 | byte[i];
        memcpy(&value[n], &bits, sizeof bits);
    }
    spawn_free(&r);
    return n;
}

/* The target of a step is the schedule's value at its own number, also where the mask stays; the
 * index of a list has advanced by one for each earlier mask.  Values: `update` of
 * DynamicSparsityAlgorithm and the schedules of cstorch, by hand.  In the last two rows loss
 * scaling skips each step: the schedule counts that one step alone. */
TEST(sparse, targets_are_those_of_each_step)
{
#define SKIPPED                                                                                    \
    "--set model.mixed_precision=true --set model.fp16_type=float16 "                              \
    "--set optimizer.loss_scaling_factor=dynamic --set optimizer.initial_loss_scale=1e30 "         \
    "--set optimizer.max_loss_scale=1e30"
    enum { N = 5 };
    static const struct {
        const char *sparsity, *options;
        float target[N];
    } row[] = {
        {"algorithm: gmp, sparsity: {type: linear, init: 0.1, slope: 0.1}, update: {freq: 2}",
         "",
         {0.2F, 0.3F, 0.4F, 0.5F, 0.6F}},
        {"algorithm: rigl, sparsity: 0.6, update: {freq: 2, start: 2}",
         "",
         {0.6F, 0.6F, 0.6F, 0.6F, 0.6F}},
        {"algorithm: set, sparsity: [0.5, 0.9, 0.2], update: {freq: 2}",
         "",
         {0.9F, 0.9F, 0.2F, 0.2F, 0.5F}},
        {"algorithm: set, sparsity: [0.5, 0.9, 0.2], update: {freq: 2, start: 2}",
         "",
         {0.5F, 0.5F, 0.9F, 0.9F, 0.2F}},
        {"algorithm: gmp, sparsity: {type: linear, init: 0.1, slope: 0.1}, update: {steps: [0, 3]}",
         "",
         {0.2F, 0.3F, 0.4F, 0.5F, 0.6F}},
        {"sparsity: 0.5", "", {0.5F, 0.5F, 0.5F, 0.5F, 0.5F}},
        {"algorithm: gmp, sparsity: {type: linear, init: 0.1, slope: 0.1}, update: {freq: 2}",
         SKIPPED,
         {0.2F, 0.2F, 0.2F, 0.2F, 0.2F}},
        {"algorithm: set, sparsity: [0.5, 0.9, 0.2]", SKIPPED, {0.9F, 0.9F, 0.9F, 0.9F, 0.9F}}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        float value[N + 1];
        char dir[160];
        (void)snprintf(dir, sizeof dir, "%s", job_path("targets"));
        CU_ASSERT_FATAL(spawn_ok("rm -rf %s", dir));
        CU_ASSERT_FATAL(spawn_ok("%s --num_steps %d --model_dir %s --set log_sparsity=true "
                                 "--set sparsity='{%s}' %s",
                                 job_tiny(), N, dir, row[i].sparsity, row[i].options));
        T_EQ(event_values(dir, "layers.0.ffn.ffn.0.linear_layer.weight/target", value, N + 1), N);
        for (int k = 0; k < N; k++)
            T_NEAR(value[k], row[i].target[k], 1e-6);
    }
}

/* ---- utilisation ----------------------------------------------------------------------------- */

/* mfu times seconds of performance.json: useful FLOPs in units of the machine's peak. */
static double useful_work(const char *dir)
{
    struct spawn_result r;
    spawn_run(&r, "grep -o '\"mfu\": [0-9.e+-]*' %s/performance.json | sed 's/.*: //'", dir);
    const double mfu = strtod(r.out, NULL);
    spawn_free(&r);
    return mfu * (double)job_performance(dir, "virtual_time_ps", 0) * 1e-12;
}

/* RigL's steps before an update compute dense gradients, which are useful work: the third step
 * here.  A run has the work of all its steps, also where it resumes and where it repeats steps. */
TEST(sparse, utilisation_counts_the_work_of_each_step)
{
    static const char rigl[] = "{algorithm: rigl, sparsity: 0.9, update: {freq: 3}, "
                               "drop_fraction: 0.3}";
    static const char *const options[] = {
        "--num_steps 2", "--num_steps 3", "--num_steps 5",
        "--num_steps 5 --num_csx 2 --fault lost_shard:shard=0,from=5 "
        "--set runconfig.save_initial_checkpoint=true"};
    double work[4], resumed[2];
    char dir[160];
    (void)snprintf(dir, sizeof dir, "%s", job_path("work"));
    for (int i = 0; i < 4; i++) {
        CU_ASSERT_FATAL(spawn_ok("rm -rf %s", dir) && train(dir, rigl, options[i]));
        work[i] = useful_work(dir);
    }
    (void)snprintf(dir, sizeof dir, "%s", job_path("work_in_parts"));
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_FATAL(train(dir, rigl, i ? "--num_steps 2" : "--num_steps 3"));
        resumed[i] = useful_work(dir);
    }
    const double usual = work[0] / 2, dense = work[1] - work[0];
    CU_ASSERT(dense > 1.2 * usual);
    T_NEAR(work[2] / (4 * usual + dense), 1, 1e-9);
    T_NEAR(resumed[0] / work[1], 1, 1e-9);
    T_NEAR(resumed[1] / work[0], 1, 1e-9);
    /* Two systems have twice the peak; the first four steps are trained twice. */
    T_NEAR(2 * work[3] / (7 * usual + 2 * dense), 1, 1e-9);
}
