// SPDX-License-Identifier: Apache-2.0
/* One job in all the ways a params file can say it: runconfig style, trainer style, two phases, its
 * own dump; and what --validate_only prints of it. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 20, LEAST_FILES = 5 };
#define FOLDER "tests/golden/params"

/* `$WSC run` of another file on the tests' data. */
static const char *run_of(const char *params)
{
    static char command[640];
    (void)snprintf(command, sizeof command,
                   "\"$WSC\" run --params %s --set trace_hash=true "
                   "--set train_input.data_dir=%s/train",
                   params, job_data());
    return command;
}

static void train(const char *launch, const char *command, const char *dir, struct job_metrics *m)
{
    CU_ASSERT_FATAL(spawn_ok("%s %s --model_dir %s", launch, command, dir));
    CU_ASSERT_FATAL(job_read(dir, m));
    T_EQ(m->n, STEPS);
}

static void check_same(const struct job_metrics *a, const char *launch, const char *command)
{
    struct job_metrics b;
    train(launch, command, job_path("style"), &b);
    CU_ASSERT(job_same_values(a, &b));
    CU_ASSERT(job_same_times(a, &b));
}

TEST(styles, every_way_to_say_it_trains_the_same_bits)
{
    struct job_metrics runconfig;
    char dump[256], command[1024];
    train("", job_tiny(), job_path("style"), &runconfig);
    check_same(&runconfig, "", run_of("configs/params/tiny_trainer.yaml"));
    check_same(&runconfig, "", run_of("configs/params/tiny_phases.yaml"));
    check_same(&runconfig, "mpirun -n 3", run_of("configs/params/tiny_phases.yaml"));
    (void)snprintf(dump, sizeof dump, "%s/dump.yaml", test_tmpdir());
    (void)snprintf(command, sizeof command, "%s --dump_params > %s",
                   run_of("configs/params/tiny_trainer.yaml"), dump);
    CU_ASSERT(spawn_ok("%s", command));
    check_same(&runconfig, "", run_of(dump));
}

TEST(styles, a_phase_can_run_alone)
{
    struct job_metrics m;
    const char *dir = job_path("phase");
    CU_ASSERT(
        spawn_ok("%s --phase 1 --model_dir %s", run_of("configs/params/tiny_phases.yaml"), dir));
    CU_ASSERT(job_read(dir, &m));
    T_EQ(m.n, STEPS / 2);
    CU_ASSERT(
        spawn_ok("%s --phase 2 --model_dir %s", run_of("configs/params/tiny_phases.yaml"), dir));
    CU_ASSERT(job_read(dir, &m));
    T_EQ(m.n, STEPS);
}

#define KILLED "--set runconfig.checkpoint_steps=5"

/* A start after a kill, of which the checkpoints @p left are there, resumes in the phase of the
 * newest one. */
static void check_restart(const struct job_metrics *straight, const char *dir, const char *left)
{
    struct job_metrics m;
    CU_ASSERT_FATAL(
        spawn_ok("cd %s && mkdir kept && mv %s kept && rm -f checkpoint_* && mv kept/* . && "
                 "rmdir kept",
                 dir, left));
    CU_ASSERT_FATAL(spawn_ok("%s " KILLED " --run_id night --model_dir %s",
                             run_of("configs/params/tiny_phases.yaml"), dir));
    CU_ASSERT_FATAL(job_read(dir, &m));
    CU_ASSERT(job_same_values(straight, &m));
    CU_ASSERT(job_same_times(straight, &m));
}

/* A run with an ID trains every phase; one that has ended trains nothing when it is started. */
TEST(styles, phases_of_a_run_with_an_id_resume_where_it_was_killed)
{
    struct job_metrics straight;
    const char *command = run_of("configs/params/tiny_phases.yaml");
    const char *plain = job_path("plain"), *dir = job_path("killed");
    CU_ASSERT_FATAL(spawn_ok("%s " KILLED " --model_dir %s", command, plain));
    CU_ASSERT_FATAL(job_read(plain, &straight));
    T_EQ(straight.n, STEPS);
    CU_ASSERT_FATAL(spawn_ok("%s " KILLED " --run_id night --model_dir %s", command, dir));
    check_restart(&straight, dir, "checkpoint_*");
    check_restart(&straight, dir, "checkpoint_5.mdl checkpoint_10.mdl checkpoint_15.mdl");
    check_restart(&straight, dir, "checkpoint_5.mdl checkpoint_10.mdl");
    check_restart(&straight, dir, "checkpoint_5.mdl");
}

/* The phases of tiny_phases.yaml with 5 steps each, on the tests' data, changed by @p edit of sed.
 */
static const char *edited_phases(const char *edit)
{
    static char path[200];
    (void)snprintf(path, sizeof path, "%s/edited.yaml", test_tmpdir());
    CU_ASSERT_FATAL(
        spawn_ok("sed 's/max_steps: 10/num_steps: 5/;s/max_steps: 20/num_steps: 5/;"
                 "s#./configs/data/tiny/train#%s/train#;%s' configs/params/tiny_phases.yaml >%s",
                 job_data(), edit, path));
    return path;
}

/* A checkpoint of the command line is where the first phase starts, and no other. */
TEST(styles, a_given_checkpoint_begins_the_first_phase)
{
    static const char *const option[] = {"--checkpoint_path ", "--set runconfig.checkpoint_path="};
    struct job_metrics m, straight;
    const char *base = job_path("base"), *all = job_path("all");
    CU_ASSERT_FATAL(spawn_ok("%s --num_steps 13 --model_dir %s", job_tiny(), all));
    CU_ASSERT_FATAL(job_read(all, &straight));
    CU_ASSERT_FATAL(spawn_ok("%s --num_steps 3 --model_dir %s", job_tiny(), base));
    for (int i = 0; i < 2; i++) {
        const char *dir = job_path("begun");
        CU_ASSERT_FATAL(spawn_ok("%s %s%s/checkpoint_3.mdl --model_dir %s",
                                 run_of(edited_phases("")), option[i], base, dir));
        CU_ASSERT_FATAL(job_read(dir, &m));
        T_EQ(m.n, 10);
        T_EQ(m.step[9].step, 13);
        T_STR(m.step[9].hash, straight.step[12].hash);
    }
}

/* An error of the second phase is reported before the first one trains. */
TEST(styles, all_phases_are_checked_first)
{
    static const struct {
        const char *edit, *says;
    } row[] = {
        {"$ s/fit: .*/fit: {<<: *fit, ckpt_path: nosuch.mdl}/", "nosuch.mdl: cannot be opened"},
        {"$ s#fit: .*#fit: {train_dataloader: {data_processor: GptHDF5MapDataProcessor, "
         "data_dir: ./nosuch, batch_size: 8}}#",
         "./nosuch: cannot be listed"},
        {"$ i \\      model: {name: gpt2, vocab_size: 256, hidden_size: 64, num_hidden_layers: 2, "
         "num_heads: 2, filter_size: 256, max_position_embeddings: 64, dropout_rate: 0.0, "
         "layer_norm_epsilon: 1.0e-05, nonlinearity: relu}",
         "model.nonlinearity: "},
        {"$ i \\      checkpoint: {steps: 10, checkpoint_name: \"b_{step}.mdl\"}",
         "phase 2 would start from new weights; hint: the phases need one model_dir, checkpoints "
         "(checkpoint.steps) of one checkpoint_name"},
        {"$ s#fit: .*#validate: {val_dataloader: {data_processor: GptHDF5MapDataProcessor, "
         "data_dir: ./nosuch, batch_size: 8}}#;"
         "$ i \\      checkpoint: {steps: 10, checkpoint_name: \"b_{step}.mdl\"}",
         "phase 2 would evaluate new weights; hint: "},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct spawn_result r;
        const char *dir = job_path("unchecked");
        spawn_run(&r, "\"$WSC\" run --params %s --model_dir %s", edited_phases(row[i].edit), dir);
        if (!strstr(r.err, row[i].says)) (void)fprintf(stderr, "%zu: %s\n", i, r.err);
        CU_ASSERT(r.status != 0 && strstr(r.err, row[i].says));
        CU_ASSERT_PTR_NULL(strstr(r.out, "Step="));
        spawn_free(&r);
    }
}

/* A checkpoint that the first phase has to write is not missed. */
TEST(styles, a_phase_may_name_a_checkpoint_of_an_earlier_one)
{
    char edit[300];
    const char *dir = job_path("later");
    (void)snprintf(edit, sizeof edit,
                   "$ s#fit: .*#fit: {<<: *fit, ckpt_path: %s/checkpoint_5.mdl}#", dir);
    CU_ASSERT(spawn_ok("\"$WSC\" run --params %s --model_dir %s", edited_phases(edit), dir));
}

/* Write tokens of 16 bits: a sequence that a model can learn. */
static void put_tokens(const char *dir, const char *name, int n, unsigned x)
{
    char path[320];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    for (int i = 0; f && i < n; i++) {
        x = (x * 5 + 3 + (unsigned)(i % 3)) % 256;
        const unsigned char token[2] = {(unsigned char)x, 0};
        (void)fwrite(token, 2, 1, f);
    }
    if (f) (void)fclose(f);
}

#define GIGA                                                                                       \
    "\"$WSC\" run --params " FOLDER "/giga_gpt.yaml --set dataset=%s --set trace_hash=true "       \
    "--model_dir %s "

/* A file of gigaGPT and its dump are one job, on any ranks; it learns, and an evaluation reads the
 * other file of tokens. */
TEST(styles, giga_gpt_trains_from_files_of_tokens)
{
    struct job_metrics giga = {0}, ranks = {0}, dumped = {0};
    char data[256], dump[256];
    (void)snprintf(data, sizeof data, "%s", job_path("tokens"));
    (void)snprintf(dump, sizeof dump, "%s/giga.yaml", test_tmpdir());
    CU_ASSERT_FATAL(spawn_ok("mkdir -p %s", data));
    put_tokens(data, "train.bin", 64 * 32 + 1, 1);
    put_tokens(data, "val.bin", 8 * 32 + 1, 77);
    const char *dir = job_path("giga");
    CU_ASSERT_FATAL(spawn_ok(GIGA, data, dir) && job_read(dir, &giga));
    T_EQ(giga.n, STEPS);
    CU_ASSERT(strtod(giga.step[STEPS - 1].loss, NULL) < 0.9 * strtod(giga.step[0].loss, NULL));
    CU_ASSERT(spawn_ok(GIGA "--mode eval --checkpoint_path %s/checkpoint_20.mdl | grep -q "
                            "'Eval Device=CSX'",
                       data, job_path("giga_eval"), dir));
    const char *other = job_path("giga_ranks");
    CU_ASSERT_FATAL(spawn_ok("mpirun -n 3 " GIGA, data, other) && job_read(other, &ranks));
    CU_ASSERT(job_same_values(&giga, &ranks) && job_same_times(&giga, &ranks));
    CU_ASSERT_FATAL(spawn_ok(GIGA "--dump_params > %s", data, dir, dump));
    other = job_path("giga_dump");
    CU_ASSERT_FATAL(
        spawn_ok("\"$WSC\" run --params %s --set trace_hash=true --model_dir %s", dump, other) &&
        job_read(other, &dumped));
    CU_ASSERT(job_same_values(&giga, &dumped) && job_same_times(&giga, &dumped));
    CU_ASSERT(spawn_ok("rm %s/train.bin; " GIGA "2>&1 | grep -q 'train.bin: cannot be opened'",
                       data, data, job_path("giga_none")));
}

static void check_described(const char *name)
{
    static const char *const field[] = {
        "\"params\": ",    "\"num_kv_groups\": ", "\"tied\": ",
        "\"precision\": ", "\"modules\": {",      "\"warnings\": ["};
    struct spawn_result r;
    spawn_run(&r, "\"$WSC\" run --params " FOLDER "/%s --validate_only --json", name);
    T_EQ(r.status, 0);
    for (size_t i = 0; i < sizeof field / sizeof *field; i++)
        CU_ASSERT_PTR_NOT_NULL(strstr(r.out, field[i]));
    spawn_free(&r);
    spawn_run(&r, "\"$WSC\" run --params " FOLDER "/%s --validate_only", name);
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "\n  total "));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "# note: "));
    spawn_free(&r);
}

TEST(styles, validate_only_tells_every_file)
{
    int n_files = 0;
    DIR *folder = opendir(FOLDER);
    CU_ASSERT_PTR_NOT_NULL_FATAL(folder);
    for (struct dirent *e = folder ? readdir(folder) : NULL; e; e = readdir(folder)) {
        if (e->d_name[0] == '.' || !strcmp(e->d_name, "phases.yaml")) continue;
        check_described(e->d_name);
        n_files++;
    }
    if (folder) (void)closedir(folder);
    CU_ASSERT(n_files >= LEAST_FILES - 1);
}

TEST(styles, validate_only_tells_each_phase)
{
    struct spawn_result r;
    spawn_run(&r, "\"$WSC\" run --params " FOLDER "/phases.yaml --validate_only --json");
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "\"max_position_embeddings\": 32"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "\"phase\": 1, \"n_phases\": 2"));
    const char *second = strstr(r.out, "\n{");
    CU_ASSERT_PTR_NOT_NULL_FATAL(second);
    if (!second) return;
    CU_ASSERT_PTR_NOT_NULL(strstr(second, "\"max_position_embeddings\": 64"));
    CU_ASSERT_PTR_NOT_NULL(strstr(second, "\"phase\": 2, \"n_phases\": 2"));
    spawn_free(&r);
}

/* The published files of CrystalCoder, at their sizes planned and at small ones trained. */
TEST(styles, crystalcoder_plans_and_trains)
{
    struct job_metrics m = {0}, time_alone = {0};
    const char *const small =
        "--set train_input.mixture=null --set train_input.batch_size=8 --set model.vocab_size=256 "
        "--set model.hidden_size=64 --set model.num_hidden_layers=2 --set model.num_heads=2 "
        "--set model.filter_size=171 --set model.max_position_embeddings=64 "
        "--set runconfig.num_csx=2 --num_steps 20";
    CU_ASSERT(spawn_ok("\"$WSC\" run --params " FOLDER "/crystalcoder.yaml --compile_only | "
                       "grep -q 'tokens/s'"));
    const char *dir = job_path("crystal");
    CU_ASSERT_FATAL(
        spawn_ok("%s %s --model_dir %s", run_of(FOLDER "/crystalcoder.yaml"), small, dir) &&
        job_read(dir, &m));
    CU_ASSERT(m.n == 20 && strtod(m.step[19].loss, NULL) < strtod(m.step[0].loss, NULL));
    dir = job_path("crystal_time");
    CU_ASSERT_FATAL(spawn_ok("%s %s --numerics none --model_dir %s",
                             run_of(FOLDER "/crystalcoder.yaml"), small, dir) &&
                    job_read(dir, &time_alone));
    CU_ASSERT(job_same_times(&m, &time_alone));
}

/* Commands that read one trainer of a list say so, unless it was chosen; a run trains all. */
TEST(styles, the_first_trainer_alone_has_a_warning)
{
    static const char phases[] = "configs/params/tiny_phases.yaml";
    static const char warning[] = "trainer: the first of 2 trainers alone is read";
    struct spawn_result r;
    spawn_run(&r, "\"$WSC\" scale --params %s --num_csx 1 --out %s", phases, job_path("first"));
    CU_ASSERT(!r.status && strstr(r.err, warning));
    spawn_free(&r);
    spawn_run(&r, "\"$WSC\" scale --params %s --num_csx 1 --set phase=2 --out %s", phases,
              job_path("second"));
    CU_ASSERT(!r.status && !strstr(r.err, "trainer:"));
    spawn_free(&r);
    spawn_run(&r, "\"$WSC\" params --diff configs/params/tiny.yaml %s", phases);
    CU_ASSERT(!r.status && strstr(r.err, warning));
    spawn_free(&r);
    spawn_run(&r, "\"$WSC\" run --params %s --validate_only", phases);
    CU_ASSERT(!r.status && !strstr(r.out, warning) && !strstr(r.err, warning));
    spawn_free(&r);
}

/* Of an evaluation the plan and the speed are its own: what its batches take. */
TEST(styles, compile_only_of_an_evaluation_tells_its_speed)
{
    struct spawn_result train, eval;
    const char *command = run_of("configs/params/tiny.yaml"), *speed = "\"step_time_ps\": ";
    spawn_run(&train, "%s --compile_only --json", command);
    spawn_run(&eval, "%s --compile_only --mode eval --json", command);
    const char *a = strstr(train.out, speed), *b = strstr(eval.out, speed);
    T_EQ(eval.status, 0);
    CU_ASSERT_FATAL(a && b);
    CU_ASSERT(strtoll(b + strlen(speed), NULL, 10) < strtoll(a + strlen(speed), NULL, 10));
    spawn_free(&train);
    spawn_free(&eval);
    spawn_run(&eval, "%s --compile_only --mode eval", command);
    CU_ASSERT_PTR_NOT_NULL(strstr(eval.out, "plan of the evaluation on 1 x CS-2"));
    spawn_free(&eval);
}

/* The speed that a plan predicts is the one that a run has from its third step on. */
TEST(styles, compile_only_tells_plan_and_speed)
{
    struct spawn_result r;
    struct job_metrics m;
    char expected[64];
    const char *dir = job_path("speed"), *still = "--set cluster.effects.jitter=false";
    const char *command = run_of("configs/params/tiny_trainer.yaml");
    CU_ASSERT_FATAL(spawn_ok("%s %s --num_steps 3 --numerics none --num_csx 2 --model_dir %s",
                             command, still, dir));
    CU_ASSERT_FATAL(job_read(dir, &m));
    (void)snprintf(expected, sizeof expected, "\"step_time_ps\": %lld,", m.step[2].step_time_ps);
    spawn_run(&r, "%s %s --num_csx 2 --compile_only --json", command, still);
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, expected));
    spawn_free(&r);
    spawn_run(&r, "%s --num_csx 2 --compile_only", command);
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "plan on 2 x CS-2"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "tokens/s"));
    spawn_free(&r);
}
