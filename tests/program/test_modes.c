// SPDX-License-Identifier: Apache-2.0
/* Every command does what its help says: what it prints, which files it writes. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int count(const char *text, const char *what)
{
    int n = 0;
    for (const char *at = strstr(text, what); at; at = strstr(at + 1, what))
        n++;
    return n;
}

static long long file_size(const char *dir, const char *name)
{
    char path[300];
    struct stat info;
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    return stat(path, &info) ? -1 : (long long)info.st_size;
}

/* A trained model of 20 steps, made once: its folder. */
static const char *trained(void)
{
    static char dir[160];
    if (dir[0]) return dir;
    (void)snprintf(dir, sizeof dir, "%s", job_path("trained"));
    CU_ASSERT_FATAL(spawn_ok("%s --num_csx 2 --model_dir %s", job_tiny(), dir));
    return dir;
}

/* ---- run ------------------------------------------------------------------------------------- */

TEST(modes, training_prints_the_lines_and_writes_the_files)
{
    struct spawn_result r;
    const char *dir = job_path("train");
    spawn_run(&r, "%s --num_csx 2 --model_dir %s --json", job_tiny(), dir);
    T_EQ(r.status, 0);
    T_EQ(count(r.err, "INFO:   | Train Device=CSX, Step="), 20);
    T_EQ(count(r.err, " samples/sec, GlobalRate="), 20);
    T_EQ(count(r.err, "Saved checkpoint "), 2);
    T_EQ(count(r.err, "Training completed successfully!"), 1);
    T_EQ(count(r.err, "Processed 160 training sample(s) in "), 1);
    T_EQ(count(r.out, "\"num_csx\": 2"), 1);
    /* A program reads stdout: one JSON object and nothing else. */
    T_EQ(r.out[0], '{');
    T_EQ(count(r.out, "INFO:"), 0);
    static const char *const file[] = {"run.log", "metrics.jsonl", "performance.json",
                                       "checkpoint_10.mdl", "checkpoint_20.mdl"};
    for (int i = 0; i < (int)(sizeof file / sizeof *file); i++)
        CU_ASSERT(file_size(dir, file[i]) > 0);
    spawn_free(&r);
}

/* The text after @p key to the end of its line. */
static void line_after(const char *text, const char *key, char value[64])
{
    const char *at = strstr(text, key);
    (void)snprintf(value, 64, "%s", "");
    if (at)
        (void)snprintf(value, 64, "%.*s", (int)strcspn(at + strlen(key), "\n"), at + strlen(key));
}

static void evaluate(const char *launch, int num_csx, char loss[64])
{
    struct spawn_result r;
    spawn_run(&r,
              "%s %s --mode eval --num_csx %d --checkpoint_path %s/checkpoint_20.mdl "
              "--model_dir %s",
              launch, job_tiny(), num_csx, trained(), job_path("eval"));
    T_EQ(r.status, 0);
    T_EQ(count(r.out, "INFO:   | Eval Device=CSX, GlobalStep="), 4);
    T_EQ(count(r.out, "  - eval/accuracy = "), 1);
    T_EQ(count(r.out, "  - eval/lm_perplexity = "), 1);
    T_EQ(count(r.out, "Evaluation completed successfully!"), 1);
    line_after(r.out, "Avg Eval Loss: ", loss);
    spawn_free(&r);
}

TEST(modes, evaluation_is_the_same_on_any_number_of_systems)
{
    char one[64], other[64];
    evaluate("", 1, one);
    CU_ASSERT(strtod(one, NULL) > 0.5 && strtod(one, NULL) < 5);
    evaluate("", 3, other);
    T_STR(other, one);
    evaluate("mpirun --quiet -n 4", 5, other);
    T_STR(other, one);
}

/* Evaluate all whole batches of @p batch samples. */
static void evaluate_all(int batch, struct spawn_result *r)
{
    spawn_run(r,
              "%s --mode eval --set runconfig.eval_steps=null --set eval_input.batch_size=%d "
              "--checkpoint_path %s/checkpoint_20.mdl --model_dir %s 2>&1",
              job_tiny(), batch, trained(), job_path("eval"));
    T_EQ(r->status, 0);
}

TEST(modes, samples_that_an_evaluation_leaves_out_are_counted)
{
    static const char says[] = "eval_input: ";
    struct spawn_result r;
    long long left = 0, all = 0;
    evaluate_all(5, &r);
    const char *at = strstr(r.out, says);
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    T_EQ(sscanf(at, "eval_input: %lld of %lld samples are left out (batch_size 5)", &left, &all),
         2);
    CU_ASSERT(left > 0 && left == all % 5);
    spawn_free(&r);
    evaluate_all(1, &r);
    CU_ASSERT_PTR_NULL(strstr(r.out, says));
    spawn_free(&r);
}

TEST(modes, train_and_eval_evaluates_between_the_steps)
{
    struct job_metrics alone, m;
    struct spawn_result r;
    char dir[160];
    (void)snprintf(dir, sizeof dir, "%s", job_path("both"));
    spawn_run(&r, "%s --mode train_and_eval --num_csx 2 --model_dir %s", job_tiny(), dir);
    T_EQ(r.status, 0);
    T_EQ(count(r.out, "Avg Eval Loss: "), 2);
    T_EQ(count(r.out, "| Eval Device=CSX, GlobalStep=10,"), 4);
    T_EQ(count(r.out, "| Eval Device=CSX, GlobalStep=20,"), 4);
    /* Looking does not change what is looked at. */
    CU_ASSERT(job_read(dir, &m) && job_read(trained(), &alone) && job_same_values(&m, &alone));
    spawn_free(&r);
}

static char *generate(const char *launch, const char *options)
{
    struct spawn_result r;
    spawn_run(&r,
              "%s %s --mode generate --checkpoint_path %s/checkpoint_20.mdl --model_dir %s "
              "--prompt 'the cat' --prompt 'a red mat. ' --max_new_tokens 24 %s | grep -v INFO:",
              launch, job_tiny(), trained(), job_path("generate"), options);
    return spawn_output(&r);
}

TEST(modes, greedy_texts_continue_the_prompts_the_same_everywhere)
{
    static const struct {
        const char *launch, *options;
    } other[] = {{"", "--temperature 0 --num_csx 2"},
                 {"", "--temperature 0 --num_csx 5 --set cluster.memoryx.shards=2"},
                 {"mpirun --quiet -n 3", "--temperature 0 --num_csx 2"}};
    char *one = generate("", "--temperature 0 --num_csx 1");
    T_EQ(strncmp(one, "the cat", 7), 0);
    const char *second = strstr(one, "\na red mat. ");
    CU_ASSERT_PTR_NOT_NULL(second);
    CU_ASSERT(strlen(one) >= 7 + 24 + 1 + 11 + 24);
    for (int i = 0; i < 3; i++) {
        char *text = generate(other[i].launch, other[i].options);
        T_STR(text, one);
        free(text);
    }
    free(one);
}

TEST(modes, drawn_texts_are_a_function_of_the_seed)
{
    char *one = generate("", "--temperature 1 --seed 5 --num_csx 1");
    char *same = generate("", "--temperature 1 --seed 5 --num_csx 3");
    char *other = generate("", "--temperature 1 --seed 6 --num_csx 1");
    T_STR(same, one);
    CU_ASSERT(strcmp(other, one) != 0);
    free(one);
    free(same);
    free(other);
}

TEST(modes, dry_runs_write_nothing)
{
    static const char *const option[] = {"--validate_only", "--compile_only", "--print_placement",
                                         "--validate_only --json"};
    static const char *const says[] = {"hidden_size: 64", "lanes", "[MemoryX shard 0]",
                                       "\"params\": 120576"};
    for (int i = 0; i < 4; i++) {
        struct spawn_result r;
        const char *dir = job_path("dry");
        spawn_run(&r, "%s --num_csx 3 --model_dir %s %s", job_tiny(), dir, option[i]);
        T_EQ(r.status, 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(r.out, says[i]));
        CU_ASSERT(file_size(dir, ".") < 0);
        spawn_free(&r);
    }
}

/* A loader without labels for the objective, keys that exclude each other, a missing text. */
TEST(modes, validate_only_refuses_what_a_run_refuses)
{
    static const char *const refused[][2] = {
        {"--set model.objective=classification",
         "GptHDF5MapDataProcessor has no labels for model.objective classification"},
        {"--set model.recompute=true --set cluster.stream.granularity=matrix",
         "model.recompute: needs whole blocks, and stream.granularity is matrix"},
        {"--mode generate", "--mode generate needs a text to continue"}};
    static const char *const option[] = {"", "--validate_only"};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 2; k++) {
            struct spawn_result r;
            spawn_run(&r, "%s --num_csx 1 --model_dir %s %s %s", job_tiny(), job_path("refused"),
                      refused[i][0], option[k]);
            T_EQ(r.status, 2);
            CU_ASSERT_PTR_NOT_NULL(strstr(r.err, refused[i][1]));
            spawn_free(&r);
        }
}

/* Params are also checked where the data do not lie: a warning, of the inputs that the mode reads.
 */
TEST(modes, validate_only_warns_of_data_that_a_run_would_miss)
{
    static const struct {
        const char *words;
        bool warns;
    } row[] = {{"--set eval_input.data_dir=/nowhere", false},
               {"--set train_input.data_dir=/nowhere", true},
               {"--set eval_input.data_dir=/nowhere --mode train_and_eval", true},
               {"--set train_input.data_dir=/nowhere --mode eval", false},
               {"--set train_input.data_dir=/nowhere --numerics none", false}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct spawn_result r;
        spawn_run(&r, "%s --validate_only %s", job_tiny(), row[i].words);
        T_EQ(r.status, 0);
        T_EQ(strstr(r.err, "a run would end with: data_dir /nowhere: cannot be listed") != NULL,
             row[i].warns);
        CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "\n  total "));
        spawn_free(&r);
    }
}

/* The job's trace_hash among them. */
TEST(modes, what_needs_values_warns_without_them)
{
    struct spawn_result r;
    spawn_run(&r,
              "%s --num_steps 1 --numerics none --set optimizer.log_summaries=true --model_dir %s "
              "--set runconfig.max_checkpoints=2 --set runconfig.load_checkpoint_states=model",
              job_tiny(), job_path("without"));
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err,
                                  "WARNING:   without effect: trace_hash, optimizer.log_summaries, "
                                  "runconfig.max_checkpoints, runconfig.load_checkpoint_states: "
                                  "--numerics none keeps the time alone\n"));
    spawn_free(&r);
}

static void expect_warning(const struct spawn_result *r, const char *text)
{
    T_EQ(r->status, 0);
    if (!strstr(r->err, text)) (void)fprintf(stderr, "no \"%s\" in:\n%s", text, r->err);
    CU_ASSERT_PTR_NOT_NULL(strstr(r->err, text));
}

TEST(modes, constants_that_nothing_reads_warn_by_name)
{
    struct spawn_result r;
    spawn_run(&r,
              "%s --num_steps 1 --numerics none --model_dir %s --set cluster.recovery.reroute=2s "
              "--set 'cluster.activation.server_rate=0 B/s' --set runconfig.num_act_servers=3",
              job_tiny(), job_path("idle"));
    expect_warning(&r, "WARNING:   --set cluster.recovery.reroute: without effect: there is no "
                       "fault lost_node\n");
    expect_warning(&r, "runconfig.num_act_servers: without effect: CS-2: "
                       "cluster.activation.server_rate is 0\n");
    spawn_free(&r);
    spawn_run(&r,
              "\"$WSC\" scale --params configs/params/tiny.yaml --num_csx 1,2 --out %s "
              "--set model.rope_theta=5 --sweep cluster.retransmit.timeout=1ms..2ms",
              job_path("idle_sweep"));
    expect_warning(&r, "tiny: --set model.rope_theta: without effect: ");
    expect_warning(
        &r, "tiny: --sweep cluster.retransmit.timeout: without effect on steady steps: there is no "
            "fault lossy_link\n");
    spawn_free(&r);
}

/* Rotary positions have no table: a model of 128 positions on texts of 64 tokens is that of 64, in
 * values and in time; a learned table keeps its rows, and a prompt may use all positions. */
TEST(modes, sequences_may_be_shorter_than_the_positions)
{
    static const char shorter[] =
        "--set model.max_position_embeddings=128 --set train_input.max_sequence_length=64 "
        "--set eval_input.max_sequence_length=64";
    static const char *const positions[] = {
        "--set model.position_embedding_type=rotary --set model.rotary_dim=16 ", ""};
    struct job_metrics m[2];
    struct spawn_result r;
    char dir[160] = "";
    for (int i = 0; i < 2; i++) {
        (void)snprintf(dir, sizeof dir, "%s", job_path("length"));
        CU_ASSERT_FATAL(spawn_ok("%s %s%s --num_csx 2 --max_steps 2 --model_dir %s", job_tiny(),
                                 positions[0], i ? shorter : "", dir) &&
                        job_read(dir, &m[i]));
    }
    CU_ASSERT(job_same_values(&m[0], &m[1]) && job_same_times(&m[0], &m[1]));
    (void)snprintf(dir, sizeof dir, "%s", job_path("table"));
    CU_ASSERT_FATAL(spawn_ok("%s %s%s --num_csx 2 --max_steps 2 --mode train_and_eval "
                             "--set runconfig.eval_frequency=2 --model_dir %s",
                             job_tiny(), positions[1], shorter, dir));
    spawn_run(&r,
              "%s %s --num_csx 1 --mode generate --max_new_tokens 20 --model_dir %s "
              "--prompt \"$(printf 'a%%.0s' $(seq 100))\"",
              job_tiny(), shorter, dir);
    T_EQ(r.status, 0);
    spawn_free(&r);
    spawn_run(&r,
              "%s %s --set train_input.max_sequence_length=200 --num_csx 1 --max_steps 1 "
              "--model_dir %s",
              job_tiny(), shorter, job_path("longer"));
    T_EQ(r.status, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "200 tokens, but model.max_position_embeddings is 128"));
    spawn_free(&r);
}

/* Every so many steps, every fraction of them, never, or once after the last step. */
TEST(modes, evaluations_come_by_steps_or_fractions)
{
    static const struct {
        const char *frequency;
        int evaluations;
    } row[] = {{"null", 0}, {"4", 2}, {"1", 6}, {"1.0", 1}, {"0.5", 2}, {"0.25", 3}, {"0", 0}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct spawn_result r;
        spawn_run(&r,
                  "%s --mode train_and_eval --max_steps 6 --set runconfig.eval_steps=1 "
                  "--set runconfig.eval_frequency=%s --model_dir %s",
                  job_tiny(), row[i].frequency, job_path("evaluations"));
        T_EQ(r.status, 0);
        T_EQ(count(r.out, "Avg Eval Loss"), row[i].evaluations);
        spawn_free(&r);
    }
}

static void check_epochs(const char *launch, const char *options, int steps, const char *said)
{
    struct spawn_result r;
    spawn_run(&r, "%s %s --set train_input.num_samples=28 %s --model_dir %s", launch, job_tiny(),
              options, job_path("epochs"));
    T_EQ(r.status, 0);
    T_EQ(count(r.out, "INFO:   | Train Device=CSX, Step="), steps);
    T_EQ(count(r.out, said), 1);
    spawn_free(&r);
}

/* 28 samples are 3 batches of 8. */
TEST(modes, an_epoch_is_as_long_as_its_data)
{
    struct spawn_result r;
    static const char said[] = "An epoch has 3 steps, and num_epochs asks for 2.";
    check_epochs("", "--num_epochs 2", 6, said);
    check_epochs("mpirun --quiet -n 5", "--num_epochs 2 --num_csx 2", 6, said);
    check_epochs("", "--num_epochs 2 --max_steps 4", 4,
                 "num_epochs asks for 6 steps from step 0; the run ends at runconfig.max_steps, 4");
    check_epochs("", "--num_steps 2 --set runconfig.max_steps=null", 2, "global step 0 to 2");
    spawn_run(&r, "%s --num_epochs 2 --set runconfig.max_steps=null --numerics none --model_dir %s",
              job_tiny(), job_path("epochs"));
    T_EQ(r.status, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "--num_epochs: --numerics none reads no data"));
    spawn_free(&r);
    spawn_run(&r, "%s --num_epochs 2 --set train_input.num_samples=7 --model_dir %s", job_tiny(),
              job_path("epochs"));
    T_EQ(r.status, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "fewer samples than one batch of 8"));
    spawn_free(&r);
}

/* Epochs of 10^15 samples have more steps than 64 bits count. */
TEST(modes, epochs_have_steps_that_can_be_counted)
{
    struct spawn_result r;
    spawn_run(&r,
              "%s --num_epochs 1000000000 --set train_input.num_samples=1000000000000000 "
              "--model_dir %s",
              job_tiny(), job_path("epochs"));
    T_EQ(r.status, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "--num_epochs: 1000000000 epochs of 125000000000000 "
                                         "steps, expected at most 999999999999999999 steps"));
    CU_ASSERT_PTR_NULL(strstr(r.out, "-2147483647"));
    spawn_free(&r);
}

/* An epoch may be shorter than its data, but not longer. */
TEST(modes, an_epoch_has_no_more_steps_than_its_data)
{
    static const struct {
        const char *options;
        int status;
    } row[] = {{"--set runconfig.steps_per_epoch=3", 0},
               {"--set runconfig.steps_per_epoch=4", 2},
               {"--set runconfig.steps_per_epoch=4 --numerics none", 0}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct spawn_result r;
        spawn_run(&r,
                  "%s --num_epochs 1 --set train_input.num_samples=28 --set "
                  "runconfig.max_steps=null %s --model_dir %s",
                  job_tiny(), row[i].options, job_path("epoch_steps"));
        T_EQ(r.status, row[i].status);
        CU_ASSERT(!row[i].status ||
                  strstr(r.err, "--set runconfig.steps_per_epoch: 4, but the data of train_input "
                                "have 3 whole batches of 8"));
        spawn_free(&r);
    }
}

/* A model that a pattern leaves dense, and a key that an option's value has twice. */
TEST(modes, patterns_of_no_tensor_warn)
{
    static const char *const command[] = {
        "run --numerics none --num_steps 1 --num_csx 1 --model_dir", "scale --num_csx 1 --out"};
    struct spawn_result r;
    for (int i = 0; i < 2; i++) {
        spawn_run(&r,
                  "\"$WSC\" %s %s --params configs/params/tiny.yaml --set "
                  "'sparsity={sparsity: 0.5, param_filter: \"*.nothing\"}'",
                  command[i], job_path("pattern"));
        T_EQ(r.status, 0);
        expect_warning(&r, "sparsity: no tensor matches the pattern *.nothing; hint: ");
        spawn_free(&r);
    }
    spawn_run(&r, "\"$WSC\" run --params configs/params/tiny.yaml --validate_only "
                  "--set 'runconfig={num_csx: 1, num_csx: 2}'");
    CU_ASSERT_PTR_NULL(strstr(r.err, "line -"));
    CU_ASSERT_PTR_NULL(strstr(r.out, "line -"));
    spawn_free(&r);
}

/* An evaluation and a generation meet the faults of the first step alone. */
TEST(modes, faults_that_a_run_without_training_does_not_meet_warn)
{
    static const char *const mode[] = {"eval", "generate --prompt a --max_new_tokens 2"};
    for (int i = 0; i < 2; i++) {
        struct spawn_result r;
        spawn_run(&r,
                  "%s --numerics none --num_csx 2 --model_dir %s --mode %s "
                  "--set eval_input.batch_size=2 --fault straggler:wafer=0,factor=2 "
                  "--fault slow_link:wafer=0,factor=2,from=2 --fault lost_shard:shard=0",
                  job_tiny(), job_path("unmet"), mode[i]);
        T_EQ(r.status, 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "fault slow_link:wafer=0,factor=2,from=2: without"));
        CU_ASSERT_PTR_NOT_NULL(strstr(r.err,
                                      "fault lost_shard:shard=0: without effect: a run that does "
                                      "not train"));
        CU_ASSERT_PTR_NULL(strstr(r.err, "straggler"));
        spawn_free(&r);
    }
}

TEST(modes, every_role_has_a_rank_in_the_placement)
{
    struct spawn_result r;
    spawn_run(&r, "mpirun --quiet -n 17 %s --num_csx 4 --print_placement", job_tiny());
    T_EQ(r.status, 0);
    T_EQ(count(r.out, "rank "), 17);
    T_EQ(count(r.out, "["), 17);
    spawn_free(&r);
}

/* ---- the other commands ---------------------------------------------------------------------- */

TEST(modes, scale_writes_table_plot_and_report)
{
    struct spawn_result r;
    const char *dir = job_path("scale");
    spawn_run(&r,
              "\"$WSC\" scale --params configs/params/tiny.yaml,configs/params/gpt3_1p3b.yaml "
              "--num_csx 1,4,16 --out %s && cat %s/scaling.csv",
              dir, dir);
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(r.out, "model,params,num_csx,global_batch,micro_batch,tokens_per_s,samples_per_s,"
                      "speedup,efficiency,step_time_ps,compute_ps,weights_wait_ps,reduce_wait_ps,"
                      "boundary_ps,mfu,joules_per_token"));
    T_EQ(count(r.out, "\ntiny,120576,"), 3);
    T_EQ(count(r.out, "\ngpt3_1p3b,"), 3);
    CU_ASSERT(file_size(dir, "scaling.svg") > 1000 && file_size(dir, "report.html") > 1000);
    CU_ASSERT(file_size(dir, "scaling.png") > 1000);
    spawn_free(&r);
}

static void check_inspect(const char *file, const char *says)
{
    struct spawn_result r;
    spawn_run(&r, "\"$WSC\" inspect %s", file);
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, says));
    T_STR(r.err, "");
    spawn_free(&r);
}

TEST(modes, inspect_knows_every_kind_of_file)
{
    char path[300];
    (void)snprintf(path, sizeof path, "%s/checkpoint_20.mdl", trained());
    check_inspect(path, "global step 20");
    check_inspect(path, "model.transformer_decoder.layers.1.self_attn.proj_q_dense_layer.weight");
    (void)snprintf(path, sizeof path, "%s/train/*.h5", job_data());
    check_inspect(path, "samples of 64 tokens, 3 rows each");
    check_inspect("tests/data/hf_t5/model.safetensors", "encoder.final_layer_norm.weight");
    check_inspect("tests/data/hf_t5/model.safetensors", "61 tensors, 24624 elements");
    check_inspect("configs/params/tiny.yaml", "num_hidden_layers: 2");
    check_inspect("configs/cluster/cs2.yaml", "cluster of CS-2");
}

/* Beside an extent of 0 the others may be of any size. */
TEST(modes, inspect_writes_long_shapes)
{
    static const char header[] =
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[0,9223372036854775807,9223372036854775807,"
        "9223372036854775807,9223372036854775807,9223372036854775807,9223372036854775807,"
        "9223372036854775807],\"data_offsets\":[0,0]},\"b\":{\"dtype\":\"F32\",\"shape\":[2,3],"
        "\"data_offsets\":[0,24]}}";
    const uint64_t n = sizeof header - 1;
    const float data[6] = {0};
    char path[300];
    (void)snprintf(path, sizeof path, "%s", job_path("long.safetensors"));
    FILE *out = fopen(path, "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    CU_ASSERT(fwrite(&n, sizeof n, 1, out) == 1 && fwrite(header, n, 1, out) == 1 &&
              fwrite(data, sizeof data, 1, out) == 1 && !fclose(out));
    check_inspect(path, "0 x 9223372036854775807 x 9223372036854775807");
    check_inspect(path, "2 tensors, 6 elements");
}

/* A text of another kind gets the command that reads it, not errors of YAML. */
TEST(modes, inspect_says_who_reads_other_texts)
{
    static const char *const file[][3] = {
        {"tests/data/hf_t5/config.json", "is no params", "wsc convert reads"},
        {"$D/a.csv", "is no params", "wsc data makes"},
        {"$D/a.jsonl", "is no params", "wsc data makes"},
        {"$D/words", "is no params", "has the sections model"},
        {"$D/a.yaml", "a.yaml:2:1: not valid YAML", ""},
        {"$D/b.yaml", "model: required section is missing", ""}};
    const char *dir = job_path("texts");
    struct spawn_result r;
    CU_ASSERT_FATAL(spawn_ok("mkdir -p %s && cd %s && printf 'a,b\\n1,2\\n' >a.csv && "
                             "printf '{\"text\": \"a\"}\\n{\"text\": \"b\"}\\n' >a.jsonl && "
                             "printf 'word\\n' >words && printf '{}\\n{}\\n' >a.yaml && "
                             "printf 'a: 1\\n' >b.yaml",
                             dir, dir));
    for (size_t i = 0; i < sizeof file / sizeof *file; i++) {
        spawn_run(&r, "D=%s && \"$WSC\" inspect %s", dir, file[i][0]);
        T_EQ(r.status, 2);
        CU_ASSERT(strstr(r.err, file[i][1]) != NULL && strstr(r.err, file[i][2]) != NULL);
        spawn_free(&r);
    }
}

/* Each file that a run, a sweep and a kernel write is listed, or named with what reads it. */
TEST(modes, inspect_names_the_results_of_the_program)
{
    static const char *const file[][2] = {
        {"performance.json",
         "performance.json: wsc inspect does not print the totals of a run; hint"},
        {"metrics.jsonl", "the metrics of a run; hint: docs/FILES.md"},
        {"run.log", "a log; hint"},
        {"train/events.out.tfevents.*", "events for TensorBoard; hint: tensorboard"},
        {"trace.json", "a trace in Chrome's format; hint: Perfetto"},
        {"mesh.json", "a trace in Chrome's format; hint: Perfetto"},
        {"kernel.json", "the result of wsc mesh; hint: docs/FILES.md"},
        {"step.goal", "a GOAL schedule; hint"},
        {"op_profile.csv", "a table of results; hint: docs/FILES.md"},
        {"links.csv", "a table of results; hint: docs/FILES.md"},
        {"scaling.csv", "a table of results; hint: docs/FILES.md"},
        {"report.html", "a page; hint"},
        {"scaling.svg", "a picture; hint"}};
    const char *dir = job_path("results");
    struct spawn_result r;
    CU_ASSERT_FATAL(spawn_ok("d=%s; %s --max_steps 2 --model_dir $d --trace $d/trace.json --goal "
                             "$d/step.goal && \"$WSC\" scale --params configs/params/tiny.yaml "
                             "--num_csx 1 --out $d 2>$d/err && \"$WSC\" mesh allreduce --trace "
                             "$d/mesh.json --snapshot $d/snapshot.h5 --every 50 && "
                             "\"$WSC\" mesh allreduce --json >$d/kernel.json",
                             dir, job_tiny()));
    for (size_t i = 0; i < sizeof file / sizeof *file; i++) {
        spawn_run(&r, "\"$WSC\" inspect %s/%s", dir, file[i][0]);
        T_EQ(r.status, 2);
        CU_ASSERT_PTR_NOT_NULL(strstr(r.err, file[i][1]));
        spawn_free(&r);
    }
    char snapshot[300];
    (void)snprintf(snapshot, sizeof snapshot, "%s/snapshot.h5", dir);
    check_inspect(snapshot, "snapshot of wsc mesh allreduce --fabric 8x8 ");
}

/* Nobody writes into the pipe: it would be waited for. */
TEST(modes, inspect_refuses_a_pipe)
{
    struct spawn_result r;
    char path[300];
    (void)snprintf(path, sizeof path, "%s", job_path("inspected"));
    spawn_run(&r, "mkdir -p %s && mkfifo %s/pipe && timeout 10 \"$WSC\" inspect %s/pipe", path,
              path, path);
    T_EQ(r.status, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "pipe: is not a regular file"));
    spawn_free(&r);
}

/* A checkpoint that was cut off in its first bytes is no YAML. */
TEST(modes, inspect_names_an_empty_checkpoint)
{
    struct spawn_result r;
    char path[300];
    (void)snprintf(path, sizeof path, "%s", job_path("emptied"));
    spawn_run(&r, "mkdir -p %s && : > %s/a.mdl && \"$WSC\" inspect %s/a.mdl", path, path, path);
    T_EQ(r.status, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "a.mdl: is not an HDF5 file; hint: is the file complete"));
    spawn_free(&r);
}

/* The header of a file of weights ends before the file does. */
TEST(modes, inspect_names_what_is_wrong_with_weights)
{
    struct spawn_result r;
    char path[300];
    (void)snprintf(path, sizeof path, "%s", job_path("cut"));
    spawn_run(&r,
              "mkdir -p %s && head -c 4000 tests/data/hf_t5/model.safetensors >%s/a.safetensors && "
              "\"$WSC\" inspect %s/a.safetensors",
              path, path, path);
    T_EQ(r.status, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "a.safetensors: "));
    CU_ASSERT_PTR_NULL(strstr(r.err, "YAML"));
    spawn_free(&r);
}

/* 12 shards, the nodes of a tree of fan-out 4, the wafers. */
TEST(modes, ranks_counts_the_roles)
{
    static const int n_ranks[][2] = {{1, 12 + 0 + 1},    {2, 12 + 1 + 2},     {4, 12 + 1 + 4},
                                     {5, 12 + 3 + 5},    {16, 12 + 5 + 16},   {64, 12 + 21 + 64},
                                     {65, 12 + 25 + 65}, {192, 12 + 64 + 192}};
    for (int i = 0; i < (int)(sizeof n_ranks / sizeof *n_ranks); i++) {
        struct spawn_result r;
        spawn_run(&r, "\"$WSC\" ranks --num_csx %d", n_ranks[i][0]);
        T_EQ(r.status, 0);
        T_EQ(strtol(r.out, NULL, 10), n_ranks[i][1]);
        spawn_free(&r);
    }
}

/* All phases run on the same ranks: as many as the phase with the fewest roles has. */
TEST(modes, ranks_of_phases_are_those_of_the_smallest)
{
    struct spawn_result r;
    const char *file = job_path("phases");
    CU_ASSERT_FATAL(
        spawn_ok("sed 's/loop: {max_steps: 1/backend: {cluster_config: {num_csx: 4}}\\n      &/; "
                 "s/loop: {max_steps: 2/backend: {cluster_config: {num_csx: 1}}\\n      &/' "
                 "configs/params/tiny_phases.yaml >%s",
                 file));
    spawn_run(&r, "\"$WSC\" ranks --params %s --set cluster.memoryx.shards=1", file);
    T_STR(r.out, "2\n");
    spawn_free(&r);
    spawn_run(&r, "\"$WSC\" ranks --params %s --set cluster.memoryx.shards=1 --num_csx 4", file);
    CU_ASSERT(strtol(r.out, NULL, 10) > 4);
    spawn_free(&r);
}

/* `wsc ranks` and `wsc run` take the last of two settings of the systems. */
TEST(modes, ranks_are_those_of_a_run_with_the_same_options)
{
    static const struct {
        const char *options;
        int n;
    } job[] = {{"--num_csx 2 --set runconfig.num_csx=4", 17},
               {"--set runconfig.num_csx=4 --num_csx 2", 15},
               {"--set runconfig.num_csx=4", 17}};
    for (int i = 0; i < (int)(sizeof job / sizeof *job); i++) {
        struct spawn_result ranks, run;
        spawn_run(&ranks, "\"$WSC\" ranks --params configs/params/tiny.yaml %s", job[i].options);
        spawn_run(&run,
                  "\"$WSC\" run --params configs/params/tiny.yaml %s --print_placement | "
                  "tr -cd '[' | wc -c",
                  job[i].options);
        T_EQ(strtol(run.out, NULL, 10), job[i].n);
        T_EQ(strtol(ranks.out, NULL, 10), job[i].n);
        spawn_free(&run);
        spawn_free(&ranks);
    }
}

TEST(modes, ranks_knows_the_size_of_an_installation)
{
    struct spawn_result r;
    spawn_run(&r, "\"$WSC\" ranks --num_csx 17 --cluster configs/cluster/andromeda.yaml");
    T_EQ(r.status, 3);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "num_csx: 17, but Andromeda has 16 systems"));
    spawn_free(&r);
}

TEST(modes, help_of_every_command_shows_an_example)
{
    static const char *const command[] = {"",        "run",   "scale",    "data",
                                          "inspect", "ranks", "validate", "calibrate"};
    for (int i = 0; i < (int)(sizeof command / sizeof *command); i++) {
        struct spawn_result r;
        spawn_run(&r, "\"$WSC\" %s --help", command[i]);
        T_EQ(r.status, 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "example"));
        CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "usage: wsc"));
        T_STR(r.err, "");
        spawn_free(&r);
    }
    CU_ASSERT(spawn_ok("\"$WSC\" --version"));
}

/* What `wsc --help` lists exists and has a help of its own. */
TEST(modes, help_lists_commands_that_exist)
{
    char path[160];
    (void)snprintf(path, sizeof path, "%s", job_path("commands"));
    CU_ASSERT(
        spawn_ok("\"$WSC\" --help | sed -n 's/^  \\([a-z][a-z]*\\)   *[a-z].*/\\1/p' >%s", path));
    CU_ASSERT(spawn_ok("test $(wc -l <%s) -ge 5", path));
    CU_ASSERT(spawn_ok("while read -r c; do \"$WSC\" \"$c\" --help || exit 1; done <%s", path));
}

/* ---- capacity of MemoryX --------------------------------------------------------------------- */

/* A mode without an update keeps 4 bytes a parameter, and so do frozen tensors; the message has
 * both numbers of parameters. */
TEST(modes, memoryx_has_optimizer_state_for_what_trains)
{
    static const struct {
        const char *options, *message; /* NULL: it fits */
    } cases[] = {{"1MB --mode eval", NULL},
                 {"100kB --mode eval", ": 120576 parameters of 4 bytes need 482 kB of MemoryX"},
                 {"1MB --mode train --num_steps 1", ": 120576 parameters of 16 bytes need 1.93 MB"},
                 {"700kB --mode train --num_steps 1 --set 'model.freeze=[layers]'",
                  ": 20608 parameters that train of 16 bytes and 99968 of 4 bytes need 730 kB"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct spawn_result r;
        spawn_run(&r,
                  "\"$WSC\" run --params configs/params/tiny.yaml --numerics none --model_dir %s "
                  "--set runconfig.eval_steps=1 --set cluster.memoryx.capacity=%s",
                  job_path("capacity"), cases[i].options);
        T_EQ(r.status, cases[i].message ? 3 : 0);
        CU_ASSERT(!cases[i].message || strstr(r.err, cases[i].message));
        spawn_free(&r);
    }
}
