// SPDX-License-Identifier: Apache-2.0
/* What the keys of checkpoints and of evaluation promise. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool exists(const char *dir, int step)
{
    char path[300];
    struct stat info;
    (void)snprintf(path, sizeof path, "%s/checkpoint_%d.mdl", dir, step);
    return !stat(path, &info);
}

/* Eight steps with a checkpoint every other one, and what they gave. */
static const char *trained(struct job_metrics *m)
{
    static char dir[160];
    if (!dir[0]) {
        (void)snprintf(dir, sizeof dir, "%s", job_path("trained"));
        CU_ASSERT_FATAL(spawn_ok("%s --num_steps 8 --set runconfig.checkpoint_steps=2 "
                                 "--set runconfig.save_initial_checkpoint=true --model_dir %s",
                                 job_tiny(), dir));
    }
    CU_ASSERT_FATAL(job_read(dir, m));
    return dir;
}

/* Four more steps in a folder of their own. */
static void go_on(int step, const char *options, struct job_metrics *m)
{
    struct job_metrics straight;
    const char *from = trained(&straight), *dir = job_path("go_on");
    CU_ASSERT_FATAL(spawn_ok("%s --num_steps 4 --checkpoint_path %s/checkpoint_%d.mdl "
                             "--model_dir %s %s",
                             job_tiny(), from, step, dir, options));
    CU_ASSERT_FATAL(job_read(dir, m) && m->n == 4);
}

TEST(checkpoints, the_initial_one_is_where_the_run_began)
{
    struct job_metrics straight, again;
    CU_ASSERT(exists(trained(&straight), 0));
    go_on(0, "", &again);
    for (int i = 0; i < 4; i++) {
        T_STR(again.step[i].hash, straight.step[i].hash);
        T_STR(again.step[i].loss, straight.step[i].loss);
    }
}

/* Written, kept and resumed from under a name of the user's own; others are nobody's. */
TEST(checkpoints, names_may_be_chosen)
{
#define NAMED                                                                                      \
    "%s --num_steps %d --set runconfig.checkpoint_steps=2 --set runconfig.max_checkpoints=2 "
#define NAME "--set 'runconfig.checkpoint_name=gpt.{step}.h5' --model_dir %s"
    struct job_metrics straight, m;
    (void)trained(&straight);
    const char *dir = job_path("named");
    CU_ASSERT_FATAL(spawn_ok(NAMED NAME, job_tiny(), 6, dir));
    CU_ASSERT(spawn_ok("test \"$(cd %s && ls *.h5 *.mdl 2>/dev/null | xargs)\" = 'gpt.4.h5 "
                       "gpt.6.h5'",
                       dir));
    CU_ASSERT_FATAL(spawn_ok(NAMED NAME, job_tiny(), 2, dir));
    CU_ASSERT_FATAL(job_read(dir, &m) && m.n == 8);
    T_STR(m.step[7].hash, straight.step[7].hash);
    CU_ASSERT(spawn_ok("test -s %s/gpt.8.h5 && test ! -e %s/gpt.4.h5", dir, dir));
#undef NAME
#undef NAMED
}

TEST(checkpoints, without_the_key_there_is_no_initial_one)
{
    const char *dir = job_path("none");
    CU_ASSERT_FATAL(spawn_ok("%s --num_steps 2 --set runconfig.checkpoint_steps=2 --model_dir %s",
                             job_tiny(), dir));
    CU_ASSERT(!exists(dir, 0) && exists(dir, 2));
}

TEST(checkpoints, the_newest_are_kept)
{
    const char *dir = job_path("kept");
    CU_ASSERT_FATAL(spawn_ok("%s --num_steps 10 --set runconfig.checkpoint_steps=2 --set "
                             "runconfig.max_checkpoints=2 --model_dir %s",
                             job_tiny(), dir));
    for (int step = 2; step <= 10; step += 2)
        T_EQ(exists(dir, step), step >= 8);
}

#define STATES "--set runconfig.load_checkpoint_states="

TEST(checkpoints, all_states_go_on_where_the_run_was)
{
    struct job_metrics straight, m;
    (void)trained(&straight);
    go_on(4, "", &m);
    for (int i = 0; i < 4; i++)
        T_STR(m.step[i].hash, straight.step[4 + i].hash);
    T_EQ(m.step[0].step, 5);
    go_on(4, STATES "model,optimizer,dataloader,grad_scaler,lr_scheduler,global_step", &m);
    for (int i = 0; i < 4; i++)
        T_STR(m.step[i].hash, straight.step[4 + i].hash);
}

/* The weights of step 4 with all else new: the first step has the straight run's first batch. */
TEST(checkpoints, weights_alone_begin_anew)
{
    struct job_metrics straight, m, data;
    (void)trained(&straight);
    go_on(4, STATES "model", &m);
    T_EQ(m.step[0].step, 1);
    T_STR(m.step[0].lr, straight.step[0].lr);
    CU_ASSERT(strcmp(m.step[0].loss, straight.step[0].loss) != 0);
    CU_ASSERT(strcmp(m.step[0].loss, straight.step[4].loss) != 0);
    /* With where the data were, the first loss is that of the fifth step. */
    go_on(4, STATES "model,dataloader", &data);
    T_STR(data.step[0].loss, straight.step[4].loss);
    T_STR(data.step[0].lr, straight.step[0].lr);
}

TEST(checkpoints, schedules_and_moments_are_states_of_their_own)
{
    struct job_metrics straight, m;
    (void)trained(&straight);
    go_on(4, STATES "model,dataloader,lr_scheduler", &m);
    T_STR(m.step[0].lr, straight.step[4].lr);
    CU_ASSERT(strcmp(m.step[0].hash, straight.step[4].hash) != 0); /* new moments */
    go_on(4, STATES "model,dataloader,lr_scheduler,optimizer", &m);
    T_STR(m.step[0].hash, straight.step[4].hash);
    T_EQ(m.step[0].step, 1);
}

/* Without `model` the weights are those of a new start: the first loss is the straight run's. */
TEST(checkpoints, without_model_the_weights_are_new)
{
    struct job_metrics straight, m;
    (void)trained(&straight);
    go_on(4, STATES "optimizer", &m);
    T_EQ(m.step[0].step, 1);
    T_STR(m.step[0].loss, straight.step[0].loss);
    CU_ASSERT(strcmp(m.step[1].hash, straight.step[1].hash) != 0); /* other moments */
    go_on(4, STATES "dataloader,global_step", &m);
    T_EQ(m.step[0].step, 5);
    CU_ASSERT(strcmp(m.step[0].loss, straight.step[4].loss) != 0);
}

/* Weights of a model with one head of 64 in one with two of 32: the shapes are the same. */
TEST(checkpoints, another_model_of_the_same_shapes_is_refused)
{
    struct job_metrics straight;
    struct spawn_result r;
    const char *from = trained(&straight);
    static const char other[] =
        "--set model.num_heads=4 --set train_input.batch_size=16 --num_steps 1";
    spawn_run(&r, "%s %s --checkpoint_path %s/checkpoint_8.mdl --model_dir %s", job_tiny(), other,
              from, job_path("heads"));
    T_EQ(r.status, 2);
    CU_ASSERT(strstr(r.err, "model.num_heads: 4, but the checkpoint is of a model with 2") != NULL);
    spawn_free(&r);
    spawn_run(&r, "%s %s " STATES "model --checkpoint_path %s/checkpoint_8.mdl --model_dir %s",
              job_tiny(), other, from, job_path("heads"));
    T_EQ(r.status, 0);
    CU_ASSERT(strstr(r.err, "model.num_heads: 4; the checkpoint is of a run with 2") != NULL);
    CU_ASSERT(strstr(r.err, "train_input.batch_size: 16; the checkpoint is of a run with 8") !=
              NULL);
    spawn_free(&r);
    spawn_run(&r,
              "%s --num_steps 1 --checkpoint_path %s/checkpoint_8.mdl --model_dir %s "
              "--set optimizer.weight_decay=0 --num_csx 2",
              job_tiny(), from, job_path("heads"));
    T_EQ(r.status, 0);
    T_STR(r.err, "");
    spawn_free(&r);
    spawn_run(&r,
              "%s --num_steps 1 --checkpoint_path %s/checkpoint_8.mdl --model_dir %s "
              "--set model.label_smoothing=0.1",
              job_tiny(), from, job_path("heads"));
    T_EQ(r.status, 0); /* of the loss, not of the model */
    CU_ASSERT(strstr(r.err, "model.label_smoothing: 0.1; the checkpoint is of a run with 0") !=
              NULL);
    spawn_free(&r);
}

/* The position in the stream of samples means something else in another data set, on any number of
 * ranks; a copy of it elsewhere is the same one. */
TEST(checkpoints, another_data_set_is_named)
{
    struct job_metrics straight;
    struct spawn_result r;
    const char *from = trained(&straight), *copy = job_path("copy"), *dir = job_path("data");
    CU_ASSERT_FATAL(spawn_ok("cp -r %s %s", job_data(), copy));
    static const char *const ranks[] = {"", "mpirun --quiet -n 3"};
    for (int i = 0; i < 2; i++) {
        static const char resume[] = "%s %s --num_steps 1 --checkpoint_path %s/checkpoint_8.mdl "
                                     "--model_dir %s --set train_input.data_dir=%s/%s";
        spawn_run(&r, resume, ranks[i], job_tiny(), from, dir, copy, "train");
        T_EQ(r.status, 0);
        CU_ASSERT(strstr(r.err, "train_input: ") == NULL);
        spawn_free(&r);
        spawn_run(&r, resume, ranks[i], job_tiny(), from, dir, copy, "val");
        T_EQ(r.status, 0);
        CU_ASSERT(strstr(r.err, "train_input: the samples are not those of the checkpoint") !=
                  NULL);
        CU_ASSERT(strstr(r.err, "continues with sample 64 of these") != NULL);
        spawn_free(&r);
        spawn_run(&r,
                  "%s %s --num_steps 1 " STATES "model --checkpoint_path %s/checkpoint_8.mdl "
                  "--model_dir %s --set train_input.data_dir=%s/val",
                  ranks[i], job_tiny(), from, dir, copy);
        T_EQ(r.status, 0);
        CU_ASSERT(strstr(r.err, "train_input: ") == NULL);
        spawn_free(&r);
    }
}

/* A training continues without the moments and says so; an evaluation needs none. */
TEST(checkpoints, another_optimizer_warns_and_an_evaluation_needs_none)
{
    struct job_metrics straight;
    struct spawn_result r;
    const char *from = trained(&straight), *dir = job_path("plain");
    spawn_run(&r,
              "%s --num_steps 1 --checkpoint_path %s/checkpoint_8.mdl --model_dir %s "
              "--set optimizer.optimizer_type=SGD",
              job_tiny(), from, dir);
    T_EQ(r.status, 0);
    CU_ASSERT(strstr(r.err, "optimizer.optimizer_type: \"SGD\"; the checkpoint is of a run with "
                            "\"AdamW\"") != NULL);
    spawn_free(&r);
    spawn_run(&r, "%s --num_steps 1 --model_dir %s", job_tiny(), dir);
    T_EQ(r.status, 1);
    CU_ASSERT(strstr(r.err, "/checkpoint_9.mdl: optimizer.state.0.exp_avg is missing") != NULL);
    spawn_free(&r);
    CU_ASSERT(spawn_ok("%s --mode eval --model_dir %s", job_tiny(), dir));
    CU_ASSERT(spawn_ok("%s --mode generate --prompt a --max_new_tokens 2 --model_dir %s",
                       job_tiny(), dir));
}

/* Eight steps, then four from their weights alone in the same folder, then on to six: the third
 * start resumes from the second training and not from the longer first one. */
TEST(checkpoints, a_new_training_in_the_same_folder_is_one_training)
{
    struct job_metrics m, second;
    struct spawn_result r;
    char dir[160];
    static const char every[] = "--set runconfig.checkpoint_steps=2 --max_steps";
    (void)snprintf(dir, sizeof dir, "%s", job_path("twice"));
    CU_ASSERT_FATAL(spawn_ok("%s %s 8 --model_dir %s", job_tiny(), every, dir));
    spawn_run(&r, "%s %s 4 " STATES "model --model_dir %s", job_tiny(), every, dir);
    T_EQ(r.status, 0);
    CU_ASSERT(strstr(r.err, "4 checkpoint(s) in ") && strstr(r.err, "/earlier.1, "));
    spawn_free(&r);
    CU_ASSERT(job_read(dir, &second) && second.n == 4);
    CU_ASSERT(!exists(dir, 8) && exists(dir, 4));
    CU_ASSERT(spawn_ok("test -s %s/earlier.1/checkpoint_8.mdl && "
                       "test $(wc -l <%s/earlier.1/metrics.jsonl) -eq 8",
                       dir, dir));
    spawn_run(&r, "%s %s 6 --model_dir %s", job_tiny(), every, dir);
    T_EQ(r.status, 0);
    T_STR(r.err, "");
    CU_ASSERT(strstr(r.out, "checkpoint_4.mdl, global step 4") != NULL);
    spawn_free(&r);
    CU_ASSERT(job_read(dir, &m) && m.n == 6);
    for (int i = 0; i < 6; i++)
        T_EQ(m.step[i].step, i + 1);
    T_STR(m.step[3].hash, second.step[3].hash);
    /* Back to its own second step: the later ones are moved away, the earlier one stays. */
    CU_ASSERT(spawn_ok("%s %s 4 --checkpoint_path %s/checkpoint_2.mdl --model_dir %s 2>/dev/null",
                       job_tiny(), every, dir, dir));
    CU_ASSERT(exists(dir, 2) && exists(dir, 4) && !exists(dir, 6));
}

static int lines_of(const char *dir)
{
    char path[300];
    (void)snprintf(path, sizeof path, "%s/metrics.jsonl", dir);
    FILE *f = fopen(path, "r");
    int n = 0;
    CU_ASSERT_FATAL(f != NULL);
    for (int c = fgetc(f); c != EOF; c = fgetc(f))
        n += c == '\n';
    (void)fclose(f);
    return n;
}

/* Runs in the folder of a training that do not train leave its metrics, whatever they start from;
 * a training without values begins its own, and keeps a copy. */
TEST(checkpoints, metrics_of_a_training_are_cut_back_by_trainings_alone)
{
    static const struct {
        const char *options;
        int added;
    } row[] = {{"--mode eval --checkpoint_path $D/checkpoint_2.mdl", 1},
               {"--mode eval --numerics none", 0},
               {"--mode generate --prompt a --max_new_tokens 2 --checkpoint_path "
                "$D/checkpoint_2.mdl",
                0},
               {"--mode generate --prompt a --max_new_tokens 2 --numerics none", 0},
               {"--mode train --checkpoint_path $D/checkpoint_2.mdl --max_steps 2", 0}};
    char dir[160];
    (void)snprintf(dir, sizeof dir, "%s", job_path("metrics"));
    CU_ASSERT_FATAL(spawn_ok("%s --mode train_and_eval --max_steps 6 --model_dir %s "
                             "--set runconfig.checkpoint_steps=2 --set runconfig.eval_frequency=3",
                             job_tiny(), dir));
    int n = lines_of(dir);
    T_EQ(n, 8);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        CU_ASSERT(spawn_ok("D=%s; %s --model_dir $D %s 2>&1", dir, job_tiny(), row[i].options));
        n += row[i].added;
        T_EQ(lines_of(dir), n);
    }
    CU_ASSERT(
        spawn_ok("%s --max_steps 4 --numerics none --model_dir %s 2>/dev/null", job_tiny(), dir));
    T_EQ(lines_of(dir), 4);
    CU_ASSERT(exists(dir, 6) &&
              spawn_ok("test $(wc -l <%s/earlier.1/metrics.jsonl) -eq %d", dir, n));
}

/* A folder has a copy of a checkpoint without the metrics beside it, and lines that a training from
 * it had written when it was killed, before its next checkpoint. */
TEST(checkpoints, a_copied_checkpoint_keeps_no_lines_of_lost_steps)
{
    static const char from[] = "%s --max_steps 3 --set runconfig.checkpoint_steps=3 --model_dir %s";
    char dir[160], copy[160];
    (void)snprintf(dir, sizeof dir, "%s", job_path("counted"));
    (void)snprintf(copy, sizeof copy, "%s", job_path("copied"));
    CU_ASSERT_FATAL(spawn_ok(from, job_tiny(), dir));
    CU_ASSERT_FATAL(spawn_ok("mkdir %s && cp %s/checkpoint_3.mdl %s", copy, dir, copy));
    CU_ASSERT(spawn_ok("%s --max_steps 8 --model_dir %s", job_tiny(), copy));
    CU_ASSERT(spawn_ok("rm -f %s/checkpoint_8.mdl", copy));
    T_EQ(lines_of(copy), 5);
    CU_ASSERT(spawn_ok("%s --max_steps 6 --model_dir %s", job_tiny(), copy));
    T_EQ(lines_of(copy), 3);
}

/* The run has copied @p n_kept lines to earlier.@p folder of @p dir, and says so. */
static void check_copied(const char *dir, const char *says, int folder, int n_kept)
{
    char name[40];
    (void)snprintf(name, sizeof name, "/earlier.%d\n", folder);
    CU_ASSERT(strstr(says, " is of another checkpoint_name") && strstr(says, name));
    CU_ASSERT(spawn_ok("test $(wc -l <%s/earlier.%d/metrics.jsonl) -eq %d", dir, folder, n_kept));
}

/* Lines of a training with another checkpoint_name, whether the next one begins at step 0 or at its
 * own checkpoint, are copied before they are dropped; a training that resumes loses none. */
TEST(checkpoints, lines_of_another_checkpoint_name_are_kept)
{
    static const struct {
        const char *options;
        int folder, n_kept; /* earlier.folder has the n_kept lines from before */
    } row[] = {{"--max_steps 6", 0, 0},
               {"--max_steps 3 --set runconfig.checkpoint_name=z_{step}.mdl", 1, 6},
               {"--max_steps 4 --set runconfig.checkpoint_name=z_{step}.mdl", 0, 0},
               {"--max_steps 8", 2, 4},
               {"--max_steps 9", 0, 0}};
    const char *dir = job_path("names");
    for (int i = 0; i < (int)(sizeof row / sizeof *row); i++) {
        struct spawn_result r;
        spawn_run(&r, "%s --set runconfig.checkpoint_steps=3 %s --model_dir %s", job_tiny(),
                  row[i].options, dir);
        T_EQ(r.status, 0);
        T_EQ(strstr(r.err, "metrics.jsonl was copied to ") != NULL, row[i].folder > 0);
        if (row[i].folder) check_copied(dir, r.err, row[i].folder, row[i].n_kept);
        spawn_free(&r);
    }
    CU_ASSERT(spawn_ok("test ! -e %s/earlier.3", dir));
}

/* Gradients have no step: they are no checkpoint of another name. */
TEST(checkpoints, gradients_in_the_folder_are_no_checkpoint)
{
    struct spawn_result r;
    const char *dir = job_path("gradients");
    CU_ASSERT_FATAL(spawn_ok("%s --num_steps 1 --set runconfig.checkpoint_steps=0 --model_dir %s "
                             "--dump_gradients %s/g.h5",
                             job_tiny(), dir, dir));
    spawn_run(&r, "%s --num_steps 1 --model_dir %s", job_tiny(), dir);
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NULL(strstr(r.err, "checkpoint_name"));
    spawn_free(&r);
    CU_ASSERT(spawn_ok("test ! -e %s/earlier.1", dir));
}

/* A model of another depth: @p why without the key, a run with it. */
static void check_strict(int layers, const char *why)
{
    struct job_metrics straight;
    struct spawn_result r;
    char command[900];
    (void)snprintf(command, sizeof command,
                   "%s --num_steps 1 --checkpoint_path %s/checkpoint_8.mdl "
                   "--set model.num_hidden_layers=%d " STATES "model --model_dir %s",
                   job_tiny(), trained(&straight), layers, job_path("depth"));
    spawn_run(&r, "%s", command);
    CU_ASSERT(r.status != 0 && strstr(r.err, why) != NULL);
    CU_ASSERT(strstr(r.err, "/checkpoint_8.mdl: ") != NULL);
    CU_ASSERT(strstr(r.err, "runconfig.disable_strict_checkpoint_loading=true") != NULL);
    spawn_free(&r);
    CU_ASSERT(spawn_ok("%s --set runconfig.disable_strict_checkpoint_loading=true", command));
}

TEST(checkpoints, strict_loading_wants_every_tensor_and_no_other)
{
    check_strict(3, "layers.2.");
    check_strict(1, "the params have no tensor named");
}

TEST(checkpoints, eval_steps_bound_an_evaluation)
{
    struct job_metrics straight;
    struct spawn_result r;
    const char *dir = job_path("eval");
    spawn_run(&r,
              "%s --mode eval --checkpoint_path %s/checkpoint_8.mdl --set runconfig.eval_steps=3 "
              "--model_dir %s && cat %s/metrics.jsonl",
              job_tiny(), trained(&straight), dir, dir);
    T_EQ(r.status, 0);
    CU_ASSERT(strstr(r.out, "\"samples\": 24}") != NULL); /* 3 batches of 8 */
    CU_ASSERT_PTR_NULL(strstr(r.err, "repeated"));
    spawn_free(&r);
    spawn_run(&r,
              "%s --mode eval --checkpoint_path %s/checkpoint_8.mdl "
              "--set runconfig.eval_steps=1000 --model_dir %s",
              job_tiny(), trained(&straight), job_path("eval_again"));
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "runconfig.eval_steps: 1000 batches of 8 are more than "));
    spawn_free(&r);
}

/* Eight samples of the stream are one step of the tiny job. */
TEST(checkpoints, samples_are_skipped_where_a_run_goes_on)
{
    struct job_metrics straight, m;
    (void)trained(&straight);
    go_on(0, "--set runconfig.skip_samples=0", &m);
    T_STR(m.step[0].loss, straight.step[0].loss);
    go_on(4, "--set runconfig.skip_samples=8", &m);
    T_EQ(m.step[0].step, 5);
    T_STR(m.step[0].lr, straight.step[4].lr);
    CU_ASSERT(strcmp(m.step[0].loss, straight.step[4].loss) != 0);
    /* The weights of step 4 with the data of step 6: as if the stream began two steps further. */
    struct job_metrics same;
    go_on(4,
          STATES "model,optimizer,grad_scaler,lr_scheduler,global_step "
                 "--set runconfig.skip_samples=40",
          &same);
    T_STR(same.step[0].loss, m.step[0].loss);
    T_STR(same.step[3].hash, m.step[3].hash);
}

/* As if the run had died after step 4. */
TEST(checkpoints, a_restart_does_not_skip_again)
{
    struct job_metrics straight = {.n = 0}, m = {.n = 0};
    const char *dir = job_path("restart");
    char command[800];
    (void)snprintf(command, sizeof command,
                   "%s --num_steps 8 --set runconfig.checkpoint_steps=4 --run_id nightly "
                   "--set runconfig.skip_samples=16 --model_dir %s",
                   job_tiny(), dir);
    CU_ASSERT_FATAL(spawn_ok("%s", command) && job_read(dir, &straight));
    CU_ASSERT_FATAL(spawn_ok("rm %s/checkpoint_8.mdl && %s", dir, command) && job_read(dir, &m));
    T_EQ(m.n, 8);
    CU_ASSERT(job_same_values(&m, &straight));
}

/* A trainer writes a step again under a name with a stamp. */
TEST(checkpoints, of_two_files_of_a_step_the_good_one_counts)
{
    struct spawn_result r;
    const char *dir = job_path("twice");
    CU_ASSERT_FATAL(
        spawn_ok("%s --num_steps 2 --set runconfig.checkpoint_steps=2 --model_dir %s && "
                 "cd %s && cp checkpoint_2.mdl checkpoint_2_20240101_000000.mdl && "
                 "truncate -s 1000 checkpoint_2_20240101_000000.mdl",
                 job_tiny(), dir, dir));
    spawn_run(&r, "%s --num_steps 1 --model_dir %s", job_tiny(), dir);
    T_EQ(r.status, 0);
    CU_ASSERT(strstr(r.out, "checkpoint_2.mdl instead") ||
              strstr(r.err, "checkpoint_2.mdl instead"));
    spawn_free(&r);
}

/* An update that takes the weights out of range: status 4, one line, no checkpoint, on any number
 * of ranks and whether checkpoints are asked for or not. */
TEST(checkpoints, weights_that_are_not_finite_are_not_written)
{
    static const char *const start[] = {"", "mpirun --quiet -n 2 ", "mpirun --quiet -n 5 "};
    static const char *const options[] = {
        "", "--set runconfig.checkpoint_steps=0",
        "--set model.mixed_precision=true --set model.fp16_type=float16"};
    for (int i = 0; i < 3; i++) {
        struct spawn_result r;
        const char *dir = job_path("diverged");
        spawn_run(&r,
                  "%s%s --num_steps 1 --num_csx 2 --set optimizer.learning_rate=1e308 %s "
                  "--model_dir %s",
                  start[i], job_tiny(), options[i], dir);
        T_EQ(r.status, 4);
        const char *error = strstr(r.err, "wsc: error: ");
        CU_ASSERT_PTR_NOT_NULL_FATAL(error);
        T_STR(error, "wsc: error: step 1: model.embedding_layer.word_embeddings.weight is not "
                     "finite; hint: lower the learning rate or lengthen the warm-up\n");
        CU_ASSERT(!exists(dir, 1));
        spawn_free(&r);
    }
}

/* Without the weights of the file, random ones would be evaluated or continue a text. */
TEST(checkpoints, states_without_weights_are_refused_where_nothing_is_trained)
{
    static const char *const mode[] = {"--mode eval", "--mode generate --prompt a"};
    struct job_metrics m;
    const char *dir = trained(&m);
    for (int i = 0; i < 2; i++) {
        struct spawn_result r;
        spawn_run(&r, "%s %s --model_dir %s --set runconfig.load_checkpoint_states=optimizer",
                  job_tiny(), mode[i], dir);
        T_EQ(r.status, 2);
        CU_ASSERT(strstr(r.err, "without training its weights alone are used") != NULL);
        spawn_free(&r);
    }
}

/* Launchers give an ID to every job. */
TEST(checkpoints, an_id_without_checkpoints_warns)
{
    static const struct {
        const char *options, *says;
    } row[] = {{"--numerics none --num_steps 1", "--run_id: --numerics none writes no checkpoints"},
               {"--numerics none --mode eval --set runconfig.eval_steps=1 "
                "--set 'eval_input={data_processor: GptHDF5MapDataProcessor, data_dir: a, "
                "batch_size: 4}'",
                "--run_id: the mode does not train"}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct spawn_result r;
        spawn_run(&r, "%s --run_id job-1 --model_dir %s %s", job_tiny(), job_path("id"),
                  row[i].options);
        if (r.status) (void)fprintf(stderr, "%s\n", r.err);
        T_EQ(r.status, 0);
        CU_ASSERT(strstr(r.err, row[i].says) != NULL || strstr(r.out, row[i].says) != NULL);
        spawn_free(&r);
    }
}
