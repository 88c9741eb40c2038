// SPDX-License-Identifier: Apache-2.0
/* `wsc law`: a ladder of small sizes has the same law on any number of systems and ranks, continues
 * where it was cut, and says so when its points support no law; points of a file. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Steps are few, as a token for each parameter is too many here. */
static const char few[] = "0.05xparams";

/* The command without --out. */
static const char *ladder_of(const char *sizes, const char *tokens)
{
    static char command[1024];
    (void)snprintf(command, sizeof command,
                   "\"$WSC\" law --params configs/params/tiny.yaml --sizes %s "
                   "--tokens %s --set train_input.data_dir=%s/train "
                   "--set eval_input.data_dir=%s/val",
                   sizes, tokens, job_data(), job_data());
    return command;
}

static const char *ladder(const char *sizes)
{
    return ladder_of(sizes, few);
}

/* True when both files have the same bytes. */
static bool same(const char *a, const char *b, const char *name)
{
    return spawn_ok("cmp %s/%s %s/%s", a, name, b, name);
}

/* Number @p column, from 0, of the line of @p file that begins with @p name. */
static double number_of(const char *dir, const char *file, const char *name, int column)
{
    struct spawn_result r;
    spawn_run(&r, "grep '^%s,' %s/%s | cut -d, -f%d", name, dir, file, column + 1);
    const double value = strtod(r.out, NULL);
    spawn_free(&r);
    return value;
}

TEST(law, a_ladder_is_the_same_on_any_number_of_systems_and_ranks)
{
    const char *one = job_path("law1"), *two = job_path("law2"), *three = job_path("law3");
    const char *command = ladder("32x1,64x1,64x2");
    CU_ASSERT(spawn_ok("%s --out %s", command, one));
    CU_ASSERT(spawn_ok("%s --num_csx 2 --out %s", command, two));
    CU_ASSERT(spawn_ok("mpirun --oversubscribe -n 3 %s --num_csx 2 --out %s", command, three));
    CU_ASSERT(same(one, two, "law.csv"));
    CU_ASSERT(same(one, three, "law.csv"));
    /* 64x2 is tiny.yaml itself: 120,576 parameters, 0.05 tokens each in steps of 8 x 64. */
    CU_ASSERT(spawn_ok("grep -q '^64x2,120576,6144,' %s/law.csv", one));
    CU_ASSERT(spawn_ok("grep -q '\"step\": 12, \"eval_loss\"' %s/64x2/metrics.jsonl", one));
}

TEST(law, a_ladder_that_was_cut_continues)
{
    const char *whole = job_path("whole"), *cut = job_path("cut");
    struct spawn_result r;
    CU_ASSERT(spawn_ok("%s --out %s", ladder("32x1,64x1,64x2"), whole));
    CU_ASSERT(spawn_ok("%s --out %s", ladder("32x1,64x1"), cut));
    spawn_run(&r, "%s --out %s", ladder("32x1,64x1,64x2"), cut);
    T_EQ(r.status, 0);
    const char *at = strstr(r.out, "nothing to train");
    CU_ASSERT(at || strstr(r.err, "nothing to train"));
    CU_ASSERT(same(whole, cut, "law.csv"));
    spawn_free(&r);
}

/* Warnings of `wsc run` about a params file and the command line are those of a ladder too: each
 * with the first size that has it. */
TEST(law, warnings_of_params_and_constants)
{
    static const char *const warning[] = {
        "--set optimizer.disable_lr_steps_reset: ignored", "cluster.recovery.reroute: without",
        "no tensor matches the pattern nosuch", "no tensor matches the pattern *layers.1*proj_q*"};
    struct spawn_result r;
    spawn_run(&r,
              "%s --set optimizer.disable_lr_steps_reset=true --set cluster.recovery.reroute=3s "
              "--set 'sparsity={algorithm: static, sparsity: 0.5, "
              "param_filter: [nosuch, \"*layers.1*proj_q*weight\"]}' --out %s",
              ladder("32x2,32x1"), job_path("law_warnings"));
    T_EQ(r.status, 0);
    for (size_t i = 0; i < sizeof warning / sizeof *warning; i++) {
        const char *at = strstr(r.err, warning[i]);
        CU_ASSERT(at && !strstr(at + 1, warning[i]));
    }
    spawn_free(&r);
}

/* A sample of preference optimization has two texts, and texts may be shorter than the model's
 * positions: the tokens of a point are those that its run counted. */
TEST(law, tokens_of_a_step_are_those_of_the_run)
{
    const char *pairs = job_path("law_pairs"), *dir = job_path("law_of_pairs");
    CU_ASSERT(spawn_ok("\"$WSC\" data --input %s.jsonl --out %s --chat_template plain "
                       "--max_seq_length 40 --split 0.2",
                       job_pairs(), pairs));
    CU_ASSERT(spawn_ok("%s --set model.dpo.beta=0.5 --set train_input.max_sequence_length=40 "
                       "--set eval_input.max_sequence_length=40 "
                       "--set train_input.data_processor=DpoHDF5DataProcessor "
                       "--set eval_input.data_processor=DpoHDF5DataProcessor "
                       "--set train_input.data_dir=%s/train "
                       "--set eval_input.data_dir=%s/val --out %s",
                       ladder("32x1"), pairs, pairs, dir));
    /* 23,136 parameters, 0.05 tokens each in steps of 8 pairs of 2 x 40 tokens */
    CU_ASSERT(spawn_ok("grep -q '^32x1,[0-9]*,1280,' %s/law.csv", dir));
    CU_ASSERT(spawn_ok("grep -q '\"step\": 2,.*\"tokens\": 1280,' %s/32x1/metrics.jsonl", dir));
}

/* An --out with trainings of another ladder: the first difference, and where it stands. */
TEST(law, trainings_of_another_ladder_are_refused)
{
    static const struct {
        const char *tokens, *options, *says;
    } other[] = {
        {"0.1xparams", "",
         "learning_rate: this size was trained with \"total_iters: 2\", now \"total_iters: 4"},
        {few, "--set optimizer.weight_decay=0.5",
         ": this size was trained with \"weight_decay: 0.1\", now \"weight_decay: "
         "0.5\"; hint: another --out"},
        {few, "--set runconfig.eval_steps=2", "with \"eval_steps: 4\", now \"eval_steps: 2\""},
        {few, "--set model.dropout_rate=0.2", "now \"dropout_rate: 0.2\""},
        {few, "--set runconfig.seed=2", "this size was trained with \"seed: 1\""},
        {few, "--set train_input.batch_size=4", "with \"batch_size: 8\", now \"batch_size: 4\""},
        {few, "--set 'sparsity={algorithm: static, sparsity: 0.5}'",
         "with \"sparsity: null\", now \"sparsity:\""}};
    const char *dir = job_path("first_ladder");
    CU_ASSERT(spawn_ok("%s --out %s && cp %s/law.csv %s.csv", ladder("32x1"), dir, dir, dir));
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        struct spawn_result r;
        spawn_run(&r, "%s --out %s %s", ladder_of("32x1", other[i].tokens), dir, other[i].options);
        T_EQ(r.status, 2);
        if (!strstr(r.err, other[i].says)) (void)printf("got: %s\n", r.err);
        CU_ASSERT_PTR_NOT_NULL(strstr(r.err, other[i].says));
        spawn_free(&r);
    }
    CU_ASSERT(spawn_ok("cmp %s/law.csv %s.csv", dir, dir));
}

/* Another weight of a data set beside the list of its folders is another training. */
TEST(law, weights_of_a_mixture_are_compared)
{
    static const char mixture[] = "%s --set train_input.data_dir=null --set 'train_input.mixture="
                                  "[{data_dir: %s/train, weight: 1}, {data_dir: %s/val, weight: "
                                  "%d}]' --out %s";
    const char *dir = job_path("mixed_ladder");
    struct spawn_result r;
    CU_ASSERT(spawn_ok(mixture, ladder("32x1"), job_data(), job_data(), 2, dir));
    CU_ASSERT(spawn_ok(mixture, ladder("32x1"), job_data(), job_data(), 2, dir));
    spawn_run(&r, mixture, ladder("32x1"), job_data(), job_data(), 3, dir);
    T_EQ(r.status, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "with \"- weight: 2\", now \"- weight: 3\""));
    spawn_free(&r);
}

/* Keys that change no loss, a renamed --out, and data in another folder, with a warning. */
TEST(law, a_ladder_continues_where_its_losses_stay)
{
    const char *dir = job_path("old_ladder"), *moved = job_path("moved_ladder");
    struct spawn_result r;
    CU_ASSERT(spawn_ok("%s --out %s && cp -r %s %s && cp -r %s %s/data", ladder("32x1"), dir, dir,
                       moved, job_data(), moved));
    spawn_run(&r,
              "mpirun --oversubscribe -n 2 %s --out %s --num_csx 2 "
              "--set train_input.micro_batch_size=2 --set runconfig.checkpoint_steps=2 --set "
              "runconfig.log_steps=2 --set optimizer.log_summaries=true --set "
              "runconfig.save_initial_checkpoint=true --set train_input.data_dir=%s/data/train",
              ladder("32x1,64x1"), moved, moved);
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(
        r.err, "32x1/train/params_train.yaml:3: this size was trained with another data_dir"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "nothing to train"));
    CU_ASSERT(spawn_ok("grep -h ^32x1 %s/law.csv | cut -d, -f1-5 >%s.row && "
                       "grep -h ^32x1 %s/law.csv | cut -d, -f1-5 | cmp - %s.row",
                       dir, dir, moved, dir));
    spawn_free(&r);
}

/* Keys that the ladder gives to its trainings: a warning, and no other law. */
TEST(law, keys_of_the_ladder_itself_warn)
{
    static const char *const set[] = {"runconfig.num_csx=3", "runconfig.model_dir=elsewhere",
                                      "model.num_hidden_layers=5", "runconfig.mode=eval",
                                      "runconfig.eval_frequency=1"};
    const char *plain = job_path("plain_ladder"), *dir = job_path("ladder_with_sets");
    struct spawn_result r;
    char sets[300] = "", says[120];
    for (size_t i = 0; i < sizeof set / sizeof *set; i++)
        (void)snprintf(sets + strlen(sets), sizeof sets - strlen(sets), " --set %s", set[i]);
    CU_ASSERT(spawn_ok("%s --out %s", ladder("32x1"), plain));
    spawn_run(&r, "%s --out %s %s", ladder("32x1"), dir, sets);
    T_EQ(r.status, 0);
    for (size_t i = 0; i < sizeof set / sizeof *set; i++) {
        (void)snprintf(says, sizeof says,
                       "--set %.*s: has no effect on a ladder; hint: ", (int)strcspn(set[i], "="),
                       set[i]);
        CU_ASSERT_PTR_NOT_NULL(strstr(r.err, says));
    }
    CU_ASSERT(same(plain, dir, "law.csv"));
    spawn_free(&r);
}

TEST(law, points_of_a_file_and_predictions)
{
    const char *dir = job_path("points");
    struct spawn_result r;
    spawn_run(&r,
              "\"$WSC\" law --points benchmarks/reference/laws/cerebras_gpt.csv --out %s "
              "--predict configs/params/gpt3_13b.yaml --num_csx 12 --target 1.6",
              dir);
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "on track"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "A loss of 1.6 takes "));
    CU_ASSERT_PTR_NULL(strstr(r.err, "evenly")); /* 1080 sequences, 90 on each system */
    CU_ASSERT(
        spawn_ok("grep -q '^gpt3_13b,12853386240,12,.*,hoffmann,1080$' %s/predictions.csv", dir));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "/law.csv, predictions.csv, law.gp, law.svg, law.png\n"));
    CU_ASSERT(spawn_ok("test -s %s/law.svg -a -s %s/law.png", dir, dir));
    /* Several labels on both axes: those of one decade of losses too, powers with raised digits. */
    CU_ASSERT(spawn_ok("grep -q \"^set xtics ('10¹⁹' 1e+19, '10²⁰' 1e+20, \" %s/law.gp", dir));
    CU_ASSERT(spawn_ok("grep -q '^set ytics (1.6, 1.8, 2, ' %s/law.gp", dir));
    spawn_free(&r);
}

/* Wrong requests and files: one line that names what is wrong. */
TEST(law, errors_name_their_place)
{
    static const struct {
        const char *options, *file, *says;
    } wrong[] = {
        {"--sizes 64x2", "", "--params"},
        {"--points FILE --params configs/params/tiny.yaml", "",
         "--params: has no effect without --sizes"},
        {"--params configs/params/tiny.yaml --sizes 64x1,48x1", "",
         "48x1: the width is no multiple of 32"},
        {"--params configs/params/tiny.yaml --sizes 64", "", "expected WIDTHxDEPTH"},
        {"--params configs/params/tiny.yaml --sizes 64x1,64x1", "", "stands twice"},
        {"--params configs/params/tiny.yaml --sizes 64x1 --tokens 5M", "", "20xparams"},
        {"--points FILE --set model.hidden_size=64", "", "--set model.hidden_size: has no effect"},
        {"--points FILE", "name,loss\na,2\n", "points.csv:1: expected columns"},
        {"--points FILE", "name,flop,loss\na,x,2\n", "points.csv:2:3: flop: expected a number"},
        {"--points FILE", "name,flop,loss\na,1e18,\n", "points.csv:2: a: FLOPs or loss"},
        {"--points FILE", "name,loss,flop,loss\na,2,1e18,3\n",
         "points.csv:1:16: a second column loss"},
        {"--points FILE", "name,flop,loss,use\na,1e18,2,no\n", "points.csv:2:10: use: expected"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct spawn_result r;
        const char *dir = job_path("wrong");
        CU_ASSERT(spawn_ok("mkdir %s && printf '%s' >%s/points.csv", dir, wrong[i].file, dir));
        spawn_run(&r,
                  "options='%s'; \"$WSC\" law $(echo $options | sed 's,FILE,%s/points.csv,') "
                  "--out %s/out",
                  wrong[i].options, dir, dir);
        T_EQ(r.status, 2);
        if (!strstr(r.err, wrong[i].says)) (void)printf("got: %s\n", r.err);
        CU_ASSERT_PTR_NOT_NULL(strstr(r.err, wrong[i].says));
        CU_ASSERT(spawn_ok("test ! -e %s/out/64x1", dir)); /* no size trained before */
        spawn_free(&r);
    }
}

TEST(law, a_machine_that_predicts_nothing_warns)
{
    struct spawn_result r;
    spawn_run(&r,
              "\"$WSC\" law --points benchmarks/reference/laws/cerebras_gpt.csv --out %s "
              "--cluster configs/cluster/cs3.yaml --set cluster.wafer.clock=1GHz",
              job_path("machine"));
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(r.err, "--set cluster.wafer.clock: has no effect without --sizes or --predict"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "--cluster: has no effect without --sizes or --predict"));
    spawn_free(&r);
}

/* What a prediction has no use for is named, as wsc scale does. */
TEST(law, a_constant_that_no_prediction_reads_warns)
{
    static const char predicts[] = "\"$WSC\" law --points "
                                   "benchmarks/reference/laws/cerebras_gpt.csv --predict "
                                   "configs/params/gpt3_111m.yaml --out %s --set %s";
    struct spawn_result r;
    spawn_run(&r, predicts, job_path("idle"), "cluster.recovery.reroute=5s");
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "gpt3_111m: --set cluster.recovery.reroute: without "
                                         "effect: "));
    spawn_free(&r);
    spawn_run(&r, predicts, job_path("passing"),
              "'cluster.faults+=straggler:wafer=0,factor=2,from=3'");
    T_EQ(r.status, 2);
    spawn_free(&r);
}

/* A training that prunes on the way takes the time that `wsc scale --tokens` predicts. */
TEST(law, a_schedule_of_sparsity_counts_in_the_time)
{
    const char *dir = job_path("pruned");
    CU_ASSERT_FATAL(spawn_ok("mkdir -p %s && { cat configs/params/gpt3_111m.yaml; printf "
                             "'sparsity:\n    algorithm: gmp\n"
                             "    sparsity: {type: linear, init: 0.0, slope: 0.0005}\n"
                             "    update: {freq: 100, stop: 4000}\n'; } >%s/sp.yaml",
                             dir, dir));
    CU_ASSERT_FATAL(spawn_ok("\"$WSC\" law --points benchmarks/reference/laws/cerebras_gpt.csv "
                             "--predict %s/sp.yaml --out %s 2>%s/says && "
                             "grep -q 'sp.yaml: its weights are sparse and those of the law are "
                             "not' %s/says && "
                             "\"$WSC\" scale --params %s/sp.yaml --num_csx 1 --tokens 20xparams "
                             "--out %s",
                             dir, dir, dir, dir, dir, dir));
    CU_ASSERT(spawn_ok("test \"$(sed -n 2p %s/predictions.csv | cut -d, -f6)\" = "
                       "\"$(sed -n 2p %s/training.csv | cut -d, -f5)\"",
                       dir, dir));
}

/* A training has the global batch of its file, whatever the number of systems, as the trainings of
 * a ladder and `wsc scale --scaling strong` have.  64x2 is tiny.yaml itself: its run has 12 steps
 * and a pause after the tenth; the prediction has 11.8 steps, this pause and that of the last
 * checkpoint. */
TEST(law, a_prediction_has_the_global_batch_of_its_file)
{
    enum { SECONDS = 5, BATCH = 10, SCALE_SECONDS = 4 };
    const char *dir = job_path("law_batch");
    char trained[200];
    struct spawn_result r;
    (void)snprintf(trained, sizeof trained, "%s/64x2", dir);
    CU_ASSERT_FATAL(spawn_ok("%s --num_csx 3 --out %s", ladder("64x2"), dir));
    spawn_run(&r,
              "\"$WSC\" law --points benchmarks/reference/laws/cerebras_gpt.csv --target 2 "
              "--predict configs/params/tiny.yaml --num_csx 3 --tokens %s --out %s",
              few, dir);
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "train_input.batch_size: 8 sequences do not divide evenly "
                                         "among 3 systems"));
    CU_ASSERT_PTR_NULL(strstr(r.err, "tiny.yaml: configs/params/tiny.yaml"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "on 3 systems at the FLOPs per second of tiny, global "
                                         "batch 8."));
    spawn_free(&r);
    CU_ASSERT(
        spawn_ok("\"$WSC\" scale --params configs/params/tiny.yaml --num_csx 3 --scaling strong "
                 "--tokens %s --out %s",
                 few, dir));
    const double seconds = number_of(dir, "predictions.csv", "tiny", SECONDS);
    const double run_s = 1e-12 * (double)job_performance(trained, "virtual_time_ps", 0);
    T_EQ(number_of(dir, "predictions.csv", "tiny", BATCH), 8);
    T_NEAR(seconds / run_s, 1, 0.05);
    T_NEAR(seconds / number_of(dir, "training.csv", "tiny", SCALE_SECONDS), 1, 1e-12);
}

/* A file given twice, and a model that learns something else than those of the law. */
TEST(law, odd_predictions_are_named)
{
    const char *dir = job_path("odd");
    struct spawn_result r;
    spawn_run(&r,
              "\"$WSC\" law --points benchmarks/reference/laws/cerebras_gpt.csv --out %s --predict "
              "configs/params/bert_base.yaml,configs/params/gpt3_111m.yaml,"
              "configs/params/bert_base.yaml",
              dir);
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(r.err, "bert_base.yaml: its model does not learn the next token"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "bert_base.yaml: given twice, taken once"));
    CU_ASSERT_PTR_NULL(strstr(r.err, "gpt3_111m.yaml: its"));
    spawn_free(&r);
    CU_ASSERT(spawn_ok("test $(grep -c '^bert_base,' %s/predictions.csv) = 1", dir));
}

/* FLOPs that are far from 6 params tokens of their row are named: one of them is wrong. */
TEST(law, columns_that_contradict_each_other_are_named)
{
    struct spawn_result r;
    const char *dir = job_path("contradict");
    CU_ASSERT(spawn_ok("mkdir %s && printf 'name,flop,loss,params,tokens\na,1e18,3,1e6,1e7\n"
                       "b,6e17,2.8,1e8,1e9\nc,1e20,2.5,,\n' >%s/points.csv",
                       dir, dir));
    spawn_run(&r, "\"$WSC\" law --points %s/points.csv --out %s/out", dir, dir);
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "points.csv:2:3: flop: a has 1e+18, 6 params tokens are "
                                         "6e+13; the law takes flop"));
    CU_ASSERT_PTR_NULL(strstr(r.err, "points.csv:3"));
    CU_ASSERT_PTR_NULL(strstr(r.err, "points.csv:4"));
    spawn_free(&r);
}

TEST(law, two_points_support_no_law)
{
    const char *dir = job_path("two");
    struct spawn_result r;
    CU_ASSERT(spawn_ok("mkdir -p %s/out && printf 'name,flop,loss\\na,1e17,3\\nb,1e18,2.5\\n' "
                       ">%s/points.csv && : >%s/out/law.svg && : >%s/out/law.png",
                       dir, dir, dir, dir));
    spawn_run(&r,
              "\"$WSC\" law --points %s/points.csv --out %s/out --target 2 "
              "--predict configs/params/gpt3_111m.yaml",
              dir, dir);
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "The points support no law"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "--predict: nothing is predicted"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "--target: has no FLOPs, the points support no law"));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(r.err, "/out: law.svg, law.png: of an earlier law, not of this one; hint: "));
    spawn_free(&r);
}

/* Equal losses: the flattest law, 2.5 (f / scale)^-0.0001 with the mean of ln f, 1e18; the form
 * (f / a)^b has a = 1e18 2.5^10000. */
TEST(law, a_level_law_is_written_without_infinite_numbers)
{
    const char *dir = job_path("level");
    struct spawn_result r;
    CU_ASSERT(spawn_ok("mkdir %s && printf 'name,flop,loss\na,1e17,2.5\nb,1e18,2.5\nc,1e19,2.5\n' "
                       ">%s/points.csv",
                       dir, dir));
    spawn_run(&r, "\"$WSC\" law --points %s/points.csv --out %s/out", dir, dir);
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "L(f) = 2.5 (f / 1e+18)^-0.0001\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "The points do not support the law"));
    CU_ASSERT_PTR_NULL(strstr(r.out, "inf"));
    spawn_free(&r);
}

/* A law of 6 params tokens, 20 f^-0.05, holds for what it predicts: a training counts 6 params
 * tokens as well, and so do the sizes of a ladder and the FLOPs of a target. */
TEST(law, points_without_flops_make_a_law_of_their_product)
{
    static const double params[] = {111050496, 255977472, 590307840, 1315723264};
    enum { N = sizeof params / sizeof *params, TOKENS = 3, FLOP = 4, LOSS = 6 };
    const char *dir = job_path("product");
    char rows[512] = "name,loss,params,tokens\n";
    struct spawn_result r;
    for (int i = 0; i < N; i++)
        (void)snprintf(rows + strlen(rows), sizeof rows - strlen(rows), "p%d,%.15g,%.0f,%.0f\n", i,
                       20 * pow(120 * params[i] * params[i], -0.05), params[i], 20 * params[i]);
    CU_ASSERT_FATAL(spawn_ok("mkdir -p %s && printf '%s' >%s/points.csv", dir, rows, dir));
    spawn_run(&r,
              "\"$WSC\" law --points %s/points.csv --predict configs/params/gpt3_111m.yaml "
              "--target 2.2 --out %s",
              dir, dir);
    T_EQ(r.status, 0);
    const double flop = 120 * params[0] * params[0];
    T_NEAR(number_of(dir, "predictions.csv", "gpt3_111m", FLOP) / flop, 1, 1e-12);
    T_NEAR(number_of(dir, "predictions.csv", "gpt3_111m", LOSS) / (20 * pow(flop, -0.05)), 1, 1e-9);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "  FLOPs (6 P D)    loss     law"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "A loss of 2.2 takes 1.49e+19 FLOPs (6 P D) by the law"));
    CU_ASSERT_PTR_NULL(strstr(r.out, "Hoffmann"));
    CU_ASSERT(spawn_ok("! grep -q Cerebras %s/law.gp", dir)); /* its law counts otherwise */
    spawn_free(&r);
    spawn_run(&r, "%s --points %s/points.csv --out %s/sizes", ladder("32x1"), dir, dir);
    T_EQ(r.status, 0);
    spawn_free(&r);
    (void)snprintf(rows, sizeof rows, "%s/sizes", dir);
    const double p = number_of(rows, "law.csv", "32x1", 1),
                 d = number_of(rows, "law.csv", "32x1", 2);
    T_NEAR(number_of(rows, "law.csv", "32x1", 3), 6 * p * d, 0);
    CU_ASSERT(p > 0 && d > 0);
}

/* The table of a law is a file of points: it makes the law that it was written of. */
TEST(law, points_of_a_law_make_this_law)
{
    const char *dir = job_path("again");
    CU_ASSERT_FATAL(spawn_ok("mkdir -p %s/a %s/b && printf 'name,params,tokens,loss\na,1e8,2e9,3\n"
                             "b,2e8,4e9,2.8\nc,4e8,8e9,2.7\nd,8e8,16e9,2.5\n' >%s/points.csv",
                             dir, dir, dir));
    CU_ASSERT(spawn_ok("\"$WSC\" law --points %s/points.csv --out %s/a", dir, dir));
    CU_ASSERT(spawn_ok("cut -d, -f1-5,9 %s/a/law.csv >%s/law.csv && \"$WSC\" law --points "
                       "%s/law.csv --out %s/b && cmp %s/a/law.csv %s/b/law.csv",
                       dir, dir, dir, dir, dir, dir));
}

/* As on the screen: a point of FLOPs alone has no parameters and no tokens, rather than 0. */
TEST(law, counts_that_are_not_known_are_empty)
{
    const char *file = job_path("flops.csv"), *dir = job_path("law_of_flops");
    CU_ASSERT(
        spawn_ok("printf 'name,flop,loss\\na,1e18,3\\nb,1e19,2.6\\nc,1e20,2.3\\n' > %s", file));
    CU_ASSERT(spawn_ok("\"$WSC\" law --points %s --out %s", file, dir));
    CU_ASSERT(spawn_ok("grep -q '^a,,,1' %s/law.csv", dir));
}
