// SPDX-License-Identifier: Apache-2.0
/* Groups of tensors by tags, with learning rates and weight decays of their own: against runs that
 * say the same with other keys, in both styles of params files, over a restart. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <wsc/store.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 6 };
#define RATE "--set optimizer.learning_rate=0.004 "
#define SLOW                                                                                       \
    "--set 'optimizer.params={params: embedding*weight, tag: slow}' --set "                        \
    "'optimizer.tagged_schedules=[{param_group_tags: slow, learning_rate: 0.002}]' "

static bool train(const char *command, const char *dir, const char *options, struct job_metrics *m)
{
    return spawn_ok("%s --max_steps %d --model_dir %s %s", command, STEPS, dir, options) &&
           job_read(dir, m) && m->n == STEPS;
}

static void check_same(const char *a, const char *b)
{
    struct job_metrics one, other;
    CU_ASSERT_FATAL(train(job_tiny(), job_path("groups_a"), a, &one));
    CU_ASSERT_FATAL(train(job_tiny(), job_path("groups_b"), b, &other));
    CU_ASSERT(job_same_values(&one, &other));
}

TEST(groups, tagged_tensors_have_schedules_of_their_own)
{
    struct job_metrics tagged, plain;
    check_same(RATE "--set optimizer.adjust_learning_rate.embedding=0.5", RATE SLOW);
    /* The last entry that fits counts; null stands for tensors without a tag. */
    check_same(RATE "--set optimizer.adjust_learning_rate.embedding=0.5", RATE
               "--set 'optimizer.params=[{params: ["
               "word_embeddings.weight, position_embeddings.embed.weight], tag: slow}]' --set "
               "'optimizer.tagged_schedules=[{param_group_tags: [slow], learning_rate: 0.3}, "
               "{param_group_tags: [slow, null], learning_rate: 0.002}, {param_group_tags: [null], "
               "learning_rate: 0.004}]'");
    check_same(RATE "--set optimizer.weight_decay=0.1",
               RATE "--set optimizer.weight_decay=0 --set 'optimizer.params={params: weight, tag: "
                    "all}' --set 'optimizer.tagged_schedules=[{param_group_tags: all, "
                    "weight_decay: 0.1}]'");
    CU_ASSERT_FATAL(train(job_tiny(), job_path("groups_a"), RATE SLOW, &tagged));
    CU_ASSERT_FATAL(train(job_tiny(), job_path("groups_b"), RATE, &plain));
    CU_ASSERT(strcmp(tagged.step[STEPS - 1].hash, plain.step[STEPS - 1].hash) != 0);
}

TEST(groups, schedulers_with_tags_are_read_in_both_styles)
{
    struct job_metrics trainer, dumped, other;
    char command[1600], path[160];
    (void)snprintf(path, sizeof path, "%s", job_path("groups.yaml"));
    (void)snprintf(command, sizeof command,
                   "\"$WSC\" run --params configs/params/tiny_trainer.yaml --set trace_hash=true "
                   "--set trainer.fit.train_dataloader.data_dir=%s/train "
                   "--set 'trainer.init.optimizer.AdamW.params={params: embedding*weight, tag: "
                   "slow}' --set 'trainer.init.schedulers=[{ConstantLR: {learning_rate: 0.004}}, "
                   "{LinearLR: {initial_learning_rate: 0.002, end_learning_rate: 0.001, "
                   "total_iters: 4, param_group_tags: slow}}]'",
                   job_data());
    CU_ASSERT_FATAL(spawn_ok("%s --dump_params >%s", command, path));
    CU_ASSERT_FATAL(train(command, job_path("groups_t"), "", &trainer));
    (void)snprintf(command, sizeof command, "\"$WSC\" run --params %s", path);
    CU_ASSERT_FATAL(train(command, job_path("groups_d"), "", &dumped));
    CU_ASSERT(job_same_values(&trainer, &dumped));
    CU_ASSERT_FATAL(train(command, job_path("groups_o"),
                          "--set optimizer.tagged_schedules=null --set optimizer.params=null",
                          &other));
    CU_ASSERT(strcmp(trainer.step[STEPS - 1].hash, other.step[STEPS - 1].hash) != 0);
}

TEST(groups, a_resumed_run_is_the_straight_one)
{
    struct job_metrics straight, resumed;
    char dir[160];
    (void)snprintf(dir, sizeof dir, "%s", job_path("groups_resumed"));
    CU_ASSERT_FATAL(train(job_tiny(), job_path("groups_straight"), RATE SLOW, &straight));
    CU_ASSERT_FATAL(
        spawn_ok("%s --num_steps 3 --set runconfig.checkpoint_steps=3 --model_dir %s " RATE SLOW,
                 job_tiny(), dir));
    CU_ASSERT_FATAL(train(job_tiny(), dir, RATE SLOW "--num_csx 2", &resumed));
    CU_ASSERT(job_same_values(&straight, &resumed));
}

#define CONSTANT "--set optimizer.learning_rate=0.003 "
#define TAGGED(which)                                                                              \
    CONSTANT "--set 'optimizer.params={params: \"*" which "_dense*weight\", tag: a}' --set "       \
             "'optimizer.tagged_schedules={param_group_tags: a, learning_rate: 0.003}' "

/* A checkpoint of this program has each state under its tensor's index: a resumed run may have
 * other groups, of equal sizes or of others, but must train the tensors of the file. */
TEST(groups, a_resumed_run_may_have_other_groups)
{
    static const char *const others[] = {
        TAGGED("proj_k"), CONSTANT,
        TAGGED("proj_q") "--set optimizer.adjust_learning_rate.decoder_input_ffn=1.0000000000001 "};
    struct job_metrics straight = {0}, resumed = {0};
    struct spawn_result r;
    char dir[160], file[200];
    (void)snprintf(dir, sizeof dir, "%s", job_path("groups_first"));
    (void)snprintf(file, sizeof file, "%s/checkpoint_%d.mdl", dir, 3);
    CU_ASSERT_FATAL(
        train(job_tiny(), dir, TAGGED("proj_q") "--set runconfig.checkpoint_steps=3", &straight));
    for (int i = 0; i < 3; i++) {
        char again[160], options[700];
        (void)snprintf(again, sizeof again, "%s", job_path("groups_again"));
        (void)snprintf(options, sizeof options, "%s --checkpoint_path %s", others[i], file);
        CU_ASSERT_FATAL(
            spawn_ok("%s --max_steps %d --model_dir %s %s", job_tiny(), STEPS, again, options) &&
            job_read(again, &resumed));
        T_EQ(resumed.n, STEPS - 3);
        for (int k = 0; k < resumed.n; k++)
            CU_ASSERT(!strcmp(resumed.step[k].hash, straight.step[k + 3].hash));
    }
    spawn_run(&r,
              "%s " CONSTANT "--set 'model.freeze=[proj_q]' --checkpoint_path %s --model_dir %s",
              job_tiny(), file, job_path("groups_frozen"));
    T_EQ(r.status, 1);
    CU_ASSERT(strstr(r.err, "has optimizer states of ") &&
              strstr(r.err, "which the params freeze"));
    spawn_free(&r);
}

TEST(groups, what_has_no_meaning_is_refused)
{
    static const char *const cases[][2] = {
        {"--set 'optimizer.tagged_schedules=[{param_group_tags: slow, learning_rate: 0.1}]'",
         "no entry of optimizer.params has the tag slow"},
        {"--set 'optimizer.params={params: weight, tag: slow}' --set "
         "'optimizer.tagged_schedules=[{param_group_tags: slow}]'",
         "neither learning_rate nor weight_decay"},
        {"--set 'model.freeze=[proj_q]' --set 'optimizer.params={params: \"*proj_q*\", tag: slow}' "
         "--set "
         "'optimizer.tagged_schedules=[{param_group_tags: slow, learning_rate: 0.1}]'",
         "all tensors with the tag slow are frozen"},
        {"--set 'optimizer.params={params: wieght, tag: slow}' --set "
         "'optimizer.tagged_schedules=[{param_group_tags: slow, learning_rate: 0.1}]'",
         "wieght"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct spawn_result r;
        spawn_run(&r, "%s %s --model_dir %s", job_tiny(), cases[i][0], job_path("groups_refused"));
        T_EQ(r.status, 2);
        CU_ASSERT(strstr(r.err, cases[i][1]) != NULL);
        spawn_free(&r);
    }
}

/* A run and a validation warn; a factor whose tensors train in part has an effect. */
TEST(groups, factors_of_frozen_tensors_are_named)
{
    static const char factor[] = "adjust_learning_rate: ", says[] = ": without effect: all tensors";
    static const char *const cases[][2] = {
        {"'model.freeze=[embedding]' --set optimizer.adjust_learning_rate.embedding=0.3",
         "embedding"},
        {"'model.lora_params={r: 2, target_modules: [MultiheadAttention, Linear]}' --set "
         "optimizer.adjust_learning_rate.decoder_attention=0.3",
         "decoder_attention"},
        {"'model.freeze=[word_embeddings]' --set optimizer.adjust_learning_rate.embedding=0.3",
         NULL}};
    for (int i = 0; i < 6; i++) {
        struct spawn_result r;
        char text[120];
        spawn_run(&r, "%s --set %s %s --model_dir %s", job_tiny(), cases[i / 2][0],
                  i % 2 ? "--validate_only" : "--num_steps 1", job_path("groups_idle"));
        T_EQ(r.status, 0);
        (void)snprintf(text, sizeof text, "%s%s%s", factor,
                       cases[i / 2][1] ? cases[i / 2][1] : "embedding", says);
        CU_ASSERT((strstr(r.err, text) != NULL) == (cases[i / 2][1] != NULL));
        spawn_free(&r);
    }
}

/* ---- weight decay ---------------------------------------------------------------------------- */

enum { WIDTH = 64, DECAYED = 3 };
/* AdamW moves a weight by at most about the rate, 1e-6, and multiplies it by 1 - 1e-6 * 1e5. */
#define DECAY                                                                                      \
    "--max_steps 3 --set runconfig.checkpoint_steps=3 --set optimizer.weight_decay=100000 "        \
    "--set optimizer.learning_rate=1e-6 --set optimizer.max_gradient_norm=1 "
#define NO_BIASES                                                                                  \
    "--set model.norm_type=rmsnorm --set model.use_ffn_bias=false "                                \
    "--set model.use_projection_bias_in_attention=false "                                          \
    "--set model.use_ffn_bias_in_attention=false "

static double mean_of(struct store_file *file, const char *name)
{
    float x[WIDTH];
    double sum = 0;
    T_OK(store_read(file, name, STORE_F32, 0, WIDTH, x));
    for (int i = 0; i < WIDTH; i++)
        sum += x[i];
    return sum / WIDTH;
}

/* Three steps; the norms of the model then have means of @p expected. */
static void check_decay(const char *options, double expected, struct store_file **file)
{
    static const char *const norms[] = {"model.model.ln_f.weight",
                                        "model.model.transformer_decoder.layers.1.norm1.weight",
                                        "model.model.transformer_decoder.layers.0.norm3.weight"};
    char dir[160], path[200];
    (void)snprintf(dir, sizeof dir, "%s", job_path("decay"));
    (void)snprintf(path, sizeof path, "%s/checkpoint_%d.mdl", dir, DECAYED);
    CU_ASSERT_FATAL(spawn_ok("%s " DECAY "--model_dir %s %s", job_tiny(), dir, options));
    T_OK(store_open(file, path));
    for (int i = 0; i < 3; i++)
        T_NEAR(mean_of(*file, norms[i]), expected, 1e-4);
}

TEST(groups, weights_of_rmsnorm_decay_and_those_of_layernorm_do_not)
{
    struct store_file *file = NULL;
    double decay = -1;
    check_decay("", 1, &file);
    store_close(&file);
    check_decay("--set model.norm_type=biasless-layernorm", 1, &file);
    store_close(&file);
    check_decay(NO_BIASES "--num_csx 2", pow(0.9, DECAYED), &file);
    /* The group without decay is empty, and is written. */
    T_OK(store_read(file, "optimizer.param_groups.1.weight_decay", STORE_F64, 0, 1, &decay));
    CU_ASSERT(decay == 0);
    CU_ASSERT(!store_has(file, "optimizer.param_groups.1.params.0"));
    store_close(&file);
}

TEST(groups, a_run_with_an_empty_group_resumes)
{
    struct job_metrics straight, resumed;
    char dir[160];
    (void)snprintf(dir, sizeof dir, "%s", job_path("groups_empty"));
    CU_ASSERT_FATAL(train(job_tiny(), job_path("groups_straight"), NO_BIASES, &straight));
    CU_ASSERT_FATAL(
        spawn_ok("%s --num_steps 3 --set runconfig.checkpoint_steps=3 --model_dir %s " NO_BIASES,
                 job_tiny(), dir));
    CU_ASSERT_FATAL(train(job_tiny(), dir, NO_BIASES "--num_csx 2", &resumed));
    CU_ASSERT(job_same_values(&straight, &resumed));
}
