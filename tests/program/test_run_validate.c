// SPDX-License-Identifier: Apache-2.0
/* `wsc validate` and `wsc calibrate` as users run them, and what the shipped machine claims. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_whole(const char *dir, const char *name)
{
    struct spawn_result r;
    spawn_run(&r, "cat %s/%s", dir, name);
    return spawn_output(&r);
}

/* The field number @p column of the row @p id. */
static double field(const char *csv, const char *id, int column)
{
    char key[80];
    (void)snprintf(key, sizeof key, "\n%s,", id);
    const char *at = strstr(csv, key);
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    if (!at) return 0;
    at++;
    for (; column; column--) {
        bool quoted = *at == '"';
        at = quoted ? strstr(at + 1, "\",") + 1 : strchr(at, ',');
        at++;
    }
    return strtod(at, NULL);
}
enum { PREDICTED = 4, BAND_LOW = 8, MFU = 17, MFU_NEUTRAL = 18 };

/* Number of files in a folder. */
static long files_in(const char *dir)
{
    struct spawn_result r;
    spawn_run(&r, "ls %s | wc -l", dir);
    const long n = strtol(r.out, NULL, 10);
    spawn_free(&r);
    return n;
}

static const char *validated(void)
{
    static char dir[160];
    if (dir[0]) return dir;
    (void)snprintf(dir, sizeof dir, "%s", job_path("validation"));
    struct spawn_result r;
    spawn_run(&r, "\"$WSC\" validate --out %s", dir);
    const bool outside = strstr(r.out, " NO ") != NULL;
    T_EQ(r.status, outside ? 1 : 0);
    CU_ASSERT(outside == (strstr(r.err, "leave their tolerance") != NULL));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "What the predicted steps consist of"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "wafer.stage_latency = "));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "/validation.csv, validation.md, validation.gp, "
                                         "validation.svg, validation.png, products.csv, "
                                         "products.md\n"));
    T_EQ(files_in(dir), 7);
    spawn_free(&r);
    return dir;
}

/* Every measured row lies where the tolerance of its line says, or is among the first of the table.
 */
TEST(validate, rows_outside_are_listed_first)
{
    struct spawn_result r;
    spawn_run(&r,
              "grep -c ',no,' %s/validation.csv; "
              "grep -E '^\\| [a-z0-9_]+ \\|' %s/validation.md | grep -v '^| id' | head -n "
              "$(grep -c ',no,' %s/validation.csv) | grep -c '| NO |'",
              validated(), validated(), validated());
    T_EQ(r.status, 0);
    const long outside = strtol(r.out, NULL, 10);
    T_EQ(strtol(strchr(r.out, '\n'), NULL, 10), outside);
    spawn_free(&r);
}

TEST(validate, figures_of_several_systems_are_met)
{
    static const char *const weak[] = {"cerebras_gpt_111m_16", "cerebras_gpt_256m_16",
                                       "cerebras_gpt_590m_16", "cerebras_gpt_1p3b_16",
                                       "cerebras_gpt_2p7b_16", "cerebras_gpt_6p7b_16",
                                       "cerebras_gpt_13b_16"};
    char *csv = read_whole(validated(), "validation.csv");
    static const char head[] = "id,quantity,unit,published,predicted,speed_error_percent,"
                               "accepted_low,accepted_high,band_low,band_high,kind,site,family,"
                               "source,";
    CU_ASSERT(!strncmp(csv, head, sizeof head - 1));
    for (size_t i = 0; i < sizeof weak / sizeof *weak; i++) {
        const double efficiency = field(csv, weak[i], PREDICTED);
        CU_ASSERT(efficiency > 0.91 && efficiency <= 1);
    }
    const double speedup = field(csv, "sandia_1t_16", PREDICTED);
    CU_ASSERT(speedup > 14.5 && speedup < 15.8);
    free(csv);
}

/* Without any fitted constant: larger models use more of the peak, and no more than a third. */
TEST(validate, the_share_of_the_peak_comes_from_the_layout)
{
    char *csv = read_whole(validated(), "validation.csv");
    const double small = field(csv, "usc_256m_b256", MFU_NEUTRAL),
                 large = field(csv, "usc_20b_b256", MFU_NEUTRAL);
    CU_ASSERT(small > 0.17 && small < large && large < 0.33);
    CU_ASSERT(field(csv, "usc_256m_b256", MFU) < small);
    free(csv);
}

TEST(validate, files_are_there_and_hold_the_conditions)
{
    char *markdown = read_whole(validated(), "validation.md");
    CU_ASSERT_PTR_NOT_NULL(strstr(markdown, "arXiv 2409.00287v2, Table V"));
    CU_ASSERT_PTR_NOT_NULL(strstr(markdown, "| alcf_gptj_2csx_r171 |"));
    CU_ASSERT_PTR_NOT_NULL(strstr(markdown, "Accepted 14.5..15.8"));
    CU_ASSERT(spawn_ok("test -s %s/validation.png && test -s %s/validation.svg", validated(),
                       validated()));
    free(markdown);
}

/* Such a file would be compared with nothing, and every row predicted for its own machine. */
TEST(validate, a_machine_of_another_grid_is_refused)
{
    static const char *const command[] = {"validate", "calibrate"};
    const char *dir = job_path("grid");
    CU_ASSERT_FATAL(spawn_ok("mkdir -p %s && printf 'base: %%s/configs/cluster/cs2.yaml\\n"
                             "wafer:\\n  pe_cols: {value: 600, kind: assumed, source: a test}\\n'"
                             " \"$PWD\" >%s/other.yaml",
                             dir, dir));
    for (int i = 0; i < 2; i++) {
        struct spawn_result r;
        spawn_run(&r, "\"$WSC\" %s --cluster %s/other.yaml --out %s/out%d", command[i], dir, dir,
                  i);
        T_EQ(r.status, 2);
        CU_ASSERT_PTR_NOT_NULL(
            strstr(r.err, "other.yaml: no published figure is of a wafer of 600 x 994 PEs"));
        CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "cs2 750 x 994"));
        spawn_free(&r);
    }
}

TEST(validate, the_documents_have_the_figures_of_the_program)
{
    CU_ASSERT(spawn_ok("sh tests/figures_doc.sh check %s", validated()));
    CU_ASSERT(spawn_ok("head -n 3 docs/VALIDATION.md | grep -q '^!.*(validation.png)'"));
}

TEST(validate, a_row_outside_its_tolerance_is_exit_status_1)
{
    struct spawn_result r;
    const char *dir = job_path("outside");
    CU_ASSERT_FATAL(spawn_ok("mkdir -p %s && { head -n 1 benchmarks/reference/single_system.csv; "
                             "grep '^usc_256m_b' benchmarks/reference/single_system.csv; } "
                             ">%s/few.csv",
                             dir, dir));
    spawn_run(&r,
              "\"$WSC\" validate --reference %s --out %s --set cluster.wafer.stage_latency=20ms",
              dir, dir);
    T_EQ(r.status, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "predictions leave their tolerance, the first is"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, " NO "));
    CU_ASSERT(spawn_ok("grep -q '^usc_256m_b128,.*,no,' %s/validation.csv", dir));
    spawn_free(&r);
}

/* Options that change no row are named, each once; one that changes some rows is not. */
TEST(validate, options_without_effect_have_a_warning)
{
    struct spawn_result r;
    const char *dir = job_path("idle");
    CU_ASSERT_FATAL(spawn_ok("mkdir -p %s && { head -n 1 benchmarks/reference/scaling.csv; "
                             "grep -h -e '^genslm_25m_2,' -e '^studio_gpt3xl_4,' "
                             "benchmarks/reference/*.csv; } >%s/few.csv",
                             dir, dir));
    spawn_run(&r,
              "\"$WSC\" validate --reference %s --set cluster.recovery.reroute=3s "
              "--set optimizer.disable_lr_steps_reset=true --set cluster.control.latency=1ms "
              "--set cluster.checkpoint.rate=1e6params/s",
              dir);
    CU_ASSERT(r.status == 0 || r.status == 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "cluster.recovery.reroute: without effect: there is no"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "optimizer.disable_lr_steps_reset: ignored"));
    CU_ASSERT_PTR_NULL(strstr(r.err, "control.latency"));
    CU_ASSERT_PTR_NULL(strstr(r.err, "checkpoint.rate"));
    spawn_free(&r);
}

/* ---- rows of one's own ----------------------------------------------------------------------- */

static const char own_head[] = "id,quantity,unit,value,model,num_csx,global_batch,micro_batch,msl,"
                               "cluster";

/* A published row given again with the needed columns alone is predicted as in the whole table; its
 * band needs the fitted rows, which stand beside it.  Products of an earlier comparison are named.
 */
TEST(validate, points_are_predicted_beside_the_fitted_rows)
{
    struct spawn_result r;
    const char *dir = job_path("points");
    CU_ASSERT_FATAL(spawn_ok("mkdir -p %s/out && printf '%s\nmine,rate,samples/s,2924,bert_large,"
                             "1,512,null,128,cs2\n' >%s/own.csv && : >%s/out/products.md",
                             dir, own_head, dir, dir));
    spawn_run(&r, "\"$WSC\" validate --points %s/own.csv --out %s/out", dir, dir);
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(r.err, ": products.md: of an earlier comparison, not of this one; hint: "));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "\n1 row never fitted"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "1 of 1 measurement that was never fitted (100 %) lies"));
    CU_ASSERT_PTR_NULL(strstr(r.out, "Not judged"));
    spawn_free(&r);
    char dir_out[200];
    (void)snprintf(dir_out, sizeof dir_out, "%s/out", dir);
    char *own = read_whole(dir_out, "validation.csv"),
         *all = read_whole(validated(), "validation.csv");
    T_NEAR(field(own, "mine", PREDICTED), field(all, "alcf_bert_large_b512", PREDICTED), 1e-9);
    CU_ASSERT(field(own, "mine", BAND_LOW) < field(own, "mine", PREDICTED));
    CU_ASSERT_PTR_NOT_NULL(strstr(own, "\nusc_256m_b128,"));
    CU_ASSERT_PTR_NULL(strstr(own, "\nusc_20b_b128,"));
    free(own);
    free(all);
}

/* A folder of own models comes before that of the program, which has those of the fitted rows. */
TEST(validate, folders_of_own_models_and_machines_come_first)
{
    struct spawn_result r;
    const char *dir = job_path("folders");
    CU_ASSERT_FATAL(spawn_ok(
        "mkdir -p %s/m %s/none && cp configs/params/bert_large.yaml %s/m/own_model.yaml && "
        "printf 'base: %%s/configs/cluster/cs2.yaml\n' \"$PWD\" >%s/m/own_machine.yaml && "
        "printf '%s\nmine,rate,samples/s,2924,own_model,1,512,null,128,own_machine\n"
        "same,rate,samples/s,2924,bert_large,1,512,null,128,cs2\n' >%s/own.csv",
        dir, dir, dir, dir, own_head, dir));
    spawn_run(&r,
              "\"$WSC\" validate --points %s/own.csv --params %s/m --machines %s/m --out %s/out",
              dir, dir, dir, dir);
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NULL(strstr(r.err, "without effect"));
    spawn_free(&r);
    char out[200];
    (void)snprintf(out, sizeof out, "%s/out", dir);
    char *csv = read_whole(out, "validation.csv");
    T_NEAR(field(csv, "mine", PREDICTED), field(csv, "same", PREDICTED), 0);
    free(csv);
    spawn_run(&r, "\"$WSC\" validate --points %s/own.csv --params %s/m --machines %s/none", dir,
              dir, dir);
    CU_ASSERT(r.status == 2 && strstr(r.err, "/none: without effect: no row names a file in it") &&
              strstr(r.err, "own.csv:2:51: cluster: ") && strstr(r.err, "own_machine.yaml"));
    spawn_free(&r);
    spawn_run(&r, "\"$WSC\" validate --points %s/own.csv --params %s/nowhere", dir, dir);
    CU_ASSERT(r.status == 2 && strstr(r.err, "/nowhere: No such file or directory"));
    spawn_free(&r);
    spawn_run(&r, "\"$WSC\" validate --params %s/own.csv", dir);
    CU_ASSERT(r.status == 2 && strstr(r.err, "own.csv: is not a folder"));
    spawn_free(&r);
}

/* The validation.csv of own.csv in @p dir, whose value of 1 is far off everywhere; free(). */
static char *own_predictions(const char *dir)
{
    struct spawn_result r;
    char out[200];
    spawn_run(&r, "\"$WSC\" validate --points %s/own.csv --params %s --out %s/out", dir, dir, dir);
    T_EQ(r.status, 1);
    spawn_free(&r);
    (void)snprintf(out, sizeof out, "%s/out", dir);
    return read_whole(out, "validation.csv");
}

/* A file with a max_sequence_length of its own, as most of the Model Zoo have, is predicted for the
 * msl of the row, as one without: for shorter and for longer sequences. */
TEST(validate, the_msl_of_a_row_replaces_the_length_of_the_input)
{
    static const char *const id[] = {"shorter", "longer"};
    char same[16];
    const char *dir = job_path("lengths");
    CU_ASSERT_FATAL(
        spawn_ok("mkdir -p %s && sed 's/^train_input:/&\\n    max_sequence_length: 2048/' "
                 "configs/params/gpt3_111m.yaml >%s/own_length.yaml && printf '%s\n"
                 "shorter,rate,samples/s,1,own_length,1,120,auto,1024,cs2\n"
                 "shorter2,rate,samples/s,1,gpt3_111m,1,120,auto,1024,cs2\n"
                 "longer,rate,tokens/s,1,own_length,1,120,auto,4096,cs2\n"
                 "longer2,rate,tokens/s,1,gpt3_111m,1,120,auto,4096,cs2\n' >%s/own.csv",
                 dir, dir, own_head, dir));
    char *csv = own_predictions(dir);
    for (int i = 0; i < 2; i++) {
        (void)snprintf(same, sizeof same, "%s2", id[i]);
        T_NEAR(field(csv, id[i], PREDICTED), field(csv, same, PREDICTED), 0);
    }
    CU_ASSERT(field(csv, "shorter", PREDICTED) > 1000); /* 697 at 2048 tokens, 310 at 4096 */
    free(csv);
}

/* A sample of preference optimization is a pair of sequences: 100000 samples take the same time by
 * both quantities, without checkpoints, and a sample has 2 x 2048 tokens. */
TEST(validate, tokens_of_pairs_are_those_of_both_sequences)
{
    const char *dir = job_path("pairs");
    CU_ASSERT_FATAL(spawn_ok(
        "mkdir -p %s && sed 's/GptHDF5MapDataProcessor/DpoHDF5DataProcessor/; "
        "s/^model:/&\\n    dpo: {beta: 0.5}/; s/checkpoint_steps: .*/checkpoint_steps: 0/' "
        "configs/params/gpt3_111m.yaml >%s/pair.yaml && "
        "printf '%s,samples\nsamples,rate,samples/s,1,pair,1,120,auto,2048,cs2,\n"
        "tokens,rate,tokens/s,1,pair,1,120,auto,2048,cs2,\n"
        "time,time,s,1,pair,1,120,auto,2048,cs2,100000\n"
        "training,training_time,s,1,pair,1,120,auto,2048,cs2,100000\n' >%s/own.csv",
        dir, dir, own_head, dir));
    char *csv = own_predictions(dir);
    T_NEAR(field(csv, "tokens", PREDICTED) / field(csv, "samples", PREDICTED), 4096, 1e-6);
    T_NEAR(field(csv, "training", PREDICTED) / field(csv, "time", PREDICTED), 1, 1e-3);
    free(csv);
}

/* Texts of own rows keep their columns, by Python's csv module, which writes and reads them. */
TEST(validate, texts_of_own_rows_keep_their_columns)
{
    static const char script[] =
        "import csv, sys\n"
        "text = {'id': 'a, b', 'site': 'ACME, Inc', 'family': 'f \"x\", y', 'source': '#1, p'}\n"
        "row = 'mine,rate,samples/s,1,bert_base,1,512,auto,128,cs2'.split(',')\n"
        "if sys.argv[1] == 'write':\n"
        "    row = dict(zip(sys.argv[2].split(','), row), **text)\n"
        "    with open('own.csv', 'w') as f:\n"
        "        csv.writer(f).writerows([row.keys(), row.values()])\n"
        "else:\n"
        "    rows = list(csv.DictReader(open('out/validation.csv')))\n"
        "    (got,) = [r for r in rows if r['id'] == text['id']]\n"
        "    assert {k: got[k] for k in text} == text, got\n"
        "    assert got['holds'] == 'no' and None not in got, got\n";
    const char *dir = job_path("quoted");
    if (!spawn_has("python3")) return;
    CU_ASSERT_FATAL(spawn_ok("mkdir -p %s && cat >%s/texts.py <<'END'\n%sEND\n", dir, dir, script));
    CU_ASSERT_FATAL(spawn_ok("cd %s && python3 texts.py write '%s'", dir, own_head));
    free(own_predictions(dir));
    CU_ASSERT(spawn_ok("cd %s && python3 texts.py read", dir));
}

/* A wait below an upper bound holds, with the tolerance that rows have without one. */
TEST(validate, an_upper_bound_has_no_lower_end)
{
    const char *dir = job_path("bound");
    CU_ASSERT_FATAL(spawn_ok("mkdir -p %s && printf '%s\nbelow,boundary,s,0.5,gpt3_111m,4,480,"
                             "null,2048,cs2\n' >%s/own.csv",
                             dir, own_head, dir));
    CU_ASSERT(spawn_ok("\"$WSC\" validate --points %s/own.csv --out %s/out", dir, dir));
    CU_ASSERT(spawn_ok("grep -q '^below,.*,0.0,0.575,' %s/out/validation.csv", dir));
}

/* gnuplot takes the label of a tick for a format of its position. */
TEST(validate, ids_with_percent_signs_are_drawn)
{
    const char *dir = job_path("percent");
    CU_ASSERT_FATAL(spawn_ok("mkdir -p %s && printf '%s\nbert_50%%%%,rate,samples/s,1,bert_base,1,"
                             "512,auto,128,cs2\n90%%%%g,rate,samples/s,1,bert_base,1,256,auto,128,"
                             "cs2\n' >%s/own.csv",
                             dir, own_head, dir));
    free(own_predictions(dir));
    CU_ASSERT(spawn_ok("grep -q '>bert_50%%<' %s/out/validation.svg", dir));
    CU_ASSERT(spawn_ok("grep -q '>90%%g<' %s/out/validation.svg", dir));
}

TEST(validate, points_that_claim_to_be_fitted_are_refused)
{
    struct spawn_result r;
    const char *dir = job_path("wrong_points");
    CU_ASSERT_FATAL(
        spawn_ok("mkdir -p %s && printf '%s,kind\nmine,rate,samples/s,1,bert_base,1,512,"
                 "auto,128,cs2,calibration\n' >%s/own.csv && printf '%s\n' >%s/none.csv",
                 dir, own_head, dir, own_head, dir));
    spawn_run(&r, "\"$WSC\" validate --points %s/own.csv --out %s/out", dir, dir);
    T_EQ(r.status, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "mine: nothing was fitted on a row of your own"));
    spawn_free(&r);
    spawn_run(&r, "\"$WSC\" validate --points %s/none.csv --out %s/out", dir, dir);
    T_EQ(r.status, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "none.csv: no row"));
    spawn_free(&r);
}

/* What a row names is not there, or its `set` is wrong: the message has the place in the row. */
TEST(validate, errors_of_what_a_row_names_have_its_place)
{
    static const struct {
        const char *row, *message;
    } cases[] = {
        {"mine,rate,samples/s,1,nobert,1,512,auto,128,cs2,", "own.csv:2:23: model: "},
        {"mine,rate,samples/s,1,bert_base,1,512,auto,128,cs9,", "own.csv:2:48: cluster: "},
        {"mine,rate,samples/s,1,bert_base,1,512,auto,128,cs2,model.num_heads=0",
         "own.csv:2:52: set: model.num_heads: must be at least 1"},
        {"mine,rate,samples/s,1,bert_base,1,512,auto,128,cs2,train_input.batch_size=64",
         "own.csv:2:52: set: train_input.batch_size: the column global_batch says it"},
        {"mine,rate,samples/s,1,bert_base,5000,5000,auto,128,cs2,",
         "own.csv:2:1: mine: num_csx: 5000 is not in 1 .. 4096"},
        {"mine,rate,samples/s,1,bert_base,1,512,auto,9999999,cs2,",
         "own.csv:2:1: mine: model.max_position_embeddings: 9999999 is outside"},
        {"mine,rate,samples/s,1,bert_base,1,512,auto,128,cs2,train_input.max_sequence_length=64",
         "own.csv:2:52: set: train_input.max_sequence_length: the column msl says it"},
        {"mine,rate,samples/s,1,tiny_trainer,1,64,auto,64,cs2,"
         "trainer.fit.train_dataloader.batch_size=640",
         "own.csv:2:53: set: trainer.fit.train_dataloader.batch_size: the column global_batch"},
        {"mine,rate,samples/s,1,tiny_trainer,1,64,auto,64,cs2,"
         "trainer.init.model.max_position_embeddings=32",
         "set: trainer.init.model.max_position_embeddings: the column msl says it"},
        {"mine,rate,samples/s,1,tiny_trainer,1,64,auto,64,cs2,"
         "trainer.init.callbacks.ScopedTrainFlags.csx.performance.micro_batch_size=2",
         "csx.performance.micro_batch_size: the column micro_batch says it"},
        {"mine,rate,samples/s,1,tiny_trainer,1,64,auto,64,cs2,"
         "trainer.init.backend.cluster_config.num_csx=4",
         "set: trainer.init.backend.cluster_config.num_csx: the column num_csx says it"},
        {"mine,rate,samples/s,1,bert_base,1,512,auto,128,cs2,train_input.src_max_sequence_length=9",
         "set: train_input.src_max_sequence_length: the column msl says it"},
        {"mine,eval_rate,samples/s,1,bert_base,1,512,auto,128,cs2,eval_input.batch_size=64",
         "own.csv:2:57: set: eval_input.batch_size: the column global_batch says it"},
        {"mine,eval_rate,samples/s,1,bert_base,1,512,auto,128,cs2,eval_input.micro_batch_size=4",
         "set: eval_input.micro_batch_size: the column micro_batch says it"},
        {"mine,rate,samples/s,1,bert_base,1,512,auto,128,cs2,runconfig.mode=eval",
         "own.csv:2:52: set: runconfig.mode: the quantity rate is of training steps, which the "
         "mode eval does not have; hint: the quantity of an evaluation is eval_rate"},
        {"mine,eval_rate,samples/s,1,bert_base,1,512,auto,128,cs2,runconfig.mode=generate",
         "set: runconfig.mode: the quantity eval_rate is of an evaluation, which the mode generate "
         "does not have"},
        {"mine,rate,samples/s,1,dit_2b,1,64,auto,512,cs2,",
         "own.csv:2:1: mine: msl: 512 tokens, but a sample of dit_2b has 256"},
        {"mine,rate,samples/s,1,bert_base,1,512,auto,128,cs2,cluster.wafer.clock=850MHz",
         "own.csv:2:52: set: cluster.wafer.clock: is no key of the params; hint: the column "
         "cluster names a machine file"},
    };
    const char *dir = job_path("row_place");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct spawn_result r;
        CU_ASSERT_FATAL(spawn_ok("mkdir -p %s && printf '%s,set\n%s\n' >%s/own.csv", dir, own_head,
                                 cases[i].row, dir));
        spawn_run(&r, "\"$WSC\" validate --points %s/own.csv --out %s/out", dir, dir);
        T_EQ(r.status, 2);
        if (!strstr(r.err, cases[i].message)) T_STR(r.err, cases[i].message);
        spawn_free(&r);
    }
}

/* A file without training data evaluates; its rows are of evaluations. */
TEST(validate, a_model_that_only_evaluates_has_no_rate_of_a_training)
{
    struct spawn_result r;
    const char *dir = job_path("evaluates");
    CU_ASSERT_FATAL(spawn_ok("mkdir -p %s && cp tests/golden/params/validate_only.yaml %s && "
                             "printf '%s\nmine,step_time,ms,1,validate_only,1,4,auto,32,cs2\n' "
                             ">%s/own.csv",
                             dir, dir, own_head, dir));
    spawn_run(&r, "\"$WSC\" validate --points %s/own.csv --params %s", dir, dir);
    T_EQ(r.status, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "own.csv:2:21: model: "));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "the quantity step_time is of training steps, which the "
                                         "mode eval does not have; hint: the quantity of an "
                                         "evaluation is eval_rate"));
    spawn_free(&r);
}

/* Number of times that @p text has @p part. */
static int count(const char *text, const char *part)
{
    int n = 0;
    for (; (text = strstr(text, part)); text++)
        n++;
    return n;
}

/* Whatever `wsc run` warns of in the params of a row has the place of the row; what it says of a
 * file, once; what columns replace and what published rows have, not at all. */
TEST(validate, own_rows_have_the_warnings_of_their_params)
{
    static const char *const warning[] = {
        "own.csv:2:20: model: ",
        "/gpt3_111m.yaml: without effect here: optimizer.grad_accum_steps",
        "own.csv:2:1: a: 121 sequences do not divide evenly among 3 systems",
        "own.csv:2:1: a: micro_batch: 7 does not divide the 41 sequences of a system",
        "own.csv:3:50: set: optimizer.disable_lr_steps_reset: ",
        "own.csv:4:1: c: micro_batch: 7 does not divide the 120 sequences of the batch",
        "own.csv:4:1: c: micro_batch: 7 does not divide the 64 sequences of the batch"};
    enum { N = sizeof warning / sizeof *warning };
    struct spawn_result r;
    const char *dir = job_path("row_warnings");
    CU_ASSERT_FATAL(spawn_ok(
        "mkdir -p %s && printf '%s,set,other_batches\n"
        "a,rate,samples/s,1,gpt3_111m,3,121,7,2048,cs2,optimizer.grad_accum_steps=4,\n"
        "b,rate,samples/s,1,gpt3_111m,1,120,auto,2048,cs2,optimizer.disable_lr_steps_reset=true,\n"
        "c,slope,ms/sequence,1,gpt3_111m,1,120,7,2048,cs2,,64\n"
        "d,rate,samples/s,1,gpt3_111m,1,120,auto,2048,cs2,optimizer.grad_accum_steps=4,\n"
        "' >%s/own.csv",
        dir, own_head, dir));
    spawn_run(&r, "\"$WSC\" validate --points %s/own.csv", dir);
    for (int i = 0; i < N; i++)
        if (count(r.err, warning[i]) != 1) T_STR(r.err, warning[i]);
    T_EQ(count(r.err, "WARNING"), N - 1);
    spawn_free(&r);
}

/* The user's cs2.yaml is the machine of the user's rows alone: fitted rows, of which every band is
 * made, keep that of the program. */
TEST(validate, files_with_shipped_names_do_not_change_the_fitted_rows)
{
    const char *dir = job_path("names");
    struct spawn_result r;
    char out[2][200];
    CU_ASSERT_FATAL(spawn_ok(
        "mkdir -p %s/m && cp configs/params/bert_base.yaml %s/m/bert_large.yaml && "
        "printf 'base: %%s/configs/cluster/cs3.yaml\nname: mine\n' \"$PWD\" >%s/m/cs2.yaml && "
        "printf '%s\nmine,rate,samples/s,1,bert_large,1,512,null,128,cs2\n' >%s/own.csv && "
        "printf '%s\nsame,rate,samples/s,1,bert_base,1,512,null,128,cs3\n' >%s/same.csv",
        dir, dir, dir, own_head, dir, own_head, dir));
    spawn_run(&r,
              "\"$WSC\" validate --points %s/own.csv --params %s/m --machines %s/m --out %s/own; "
              "\"$WSC\" validate --points %s/same.csv --out %s/same; cd %s && "
              "grep ',calibration,' own/validation.csv >own/fitted; "
              "grep ',calibration,' same/validation.csv | diff own/fitted -",
              dir, dir, dir, dir, dir, dir, dir);
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NULL(strstr(r.err, "WARNING"));
    spawn_free(&r);
    (void)snprintf(out[0], sizeof out[0], "%s/own", dir);
    (void)snprintf(out[1], sizeof out[1], "%s/same", dir);
    char *own = read_whole(out[0], "validation.csv"), *same = read_whole(out[1], "validation.csv");
    CU_ASSERT_PTR_NOT_NULL(strstr(own, "\nusc_256m_b128,"));
    T_NEAR(field(own, "mine", PREDICTED), field(same, "same", PREDICTED), 0);
    T_NEAR(field(own, "mine", BAND_LOW), field(same, "same", BAND_LOW), 0);
    free(own);
    free(same);
}

/* Two folders, as on two hosts: ranks with other models, other rows, another machine, or none. */
TEST(validate, ranks_that_read_other_files_are_refused)
{
    static const char differ[] = "the ranks have read different rows, models or machines";
    static const struct {
        const char *change, *says;
    } host[] = {
        {"sed -i 's/num_hidden_layers: 24/num_hidden_layers: 12/' m/own_model.yaml", differ},
        {"sed -i 's/,512,/,516,/' own.csv", differ},
        {"rm m/own_model.yaml", differ},
        {"echo 'wafer: {clock: {value: 1 GHz, kind: assumed, source: a test}}' >>machine.yaml",
         differ},
        {"echo 'wafer: {clock: {value: 1 GHz, kind: assumed}}' >>machine.yaml",
         "machine.yaml:2:16: wafer.clock: source is missing"}};
    for (size_t i = 0; i < sizeof host / sizeof *host; i++) {
        struct spawn_result r;
        const char *dir = job_path("two_hosts");
        CU_ASSERT_FATAL(spawn_ok(
            "mkdir -p %s/a/m && cp configs/params/bert_large.yaml %s/a/m/own_model.yaml && "
            "echo \"base: $PWD/configs/cluster/cs2.yaml\" >%s/a/machine.yaml && printf '%s\n"
            "mine,rate,samples/s,2924,own_model,1,512,null,128,cs2\n' >%s/a/own.csv && "
            "cp -r %s/a %s/b && cd %s/b && %s",
            dir, dir, dir, own_head, dir, dir, dir, dir, host[i].change));
#define ON "-n 1 \"$WSC\" validate --points own.csv --params m --cluster machine.yaml"
        spawn_run(&r, "mpirun --quiet --wdir %s/a " ON " : --wdir %s/b " ON, dir, dir);
#undef ON
        T_EQ(r.status, 2);
        if (!strstr(r.err, host[i].says)) T_STR(r.err, host[i].says);
        spawn_free(&r);
    }
}

/* A row and the command line have room for 64 overrides together. */
TEST(validate, too_many_overrides_are_refused)
{
    struct spawn_result r;
    spawn_run(&r, "\"$WSC\" validate $(for i in $(seq 10 75); do printf ' --set "
                  "cluster.jitter=0.0%%d' $i; done)");
    CU_ASSERT(r.status == 2 && strstr(r.err, "more than 64 keys are overridden"));
    spawn_free(&r);
}

/* Keys of the command line that columns of all rows replace are named. */
TEST(validate, keys_that_columns_replace_are_named)
{
    struct spawn_result r;
    spawn_run(&r,
              "\"$WSC\" validate --points /nonexistent.csv --out %s --set runconfig.num_csx=4 "
              "--set model.max_position_embeddings=64 --set train_input.src_max_sequence_length=8 "
              "--set eval_input.batch_size=8",
              job_path("replaced"));
    T_EQ(r.status, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "--set runconfig.num_csx: without effect on rows: their "
                                         "column num_csx says it"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "--set model.max_position_embeddings: without effect on "
                                         "rows: their column msl says it"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "--set train_input.src_max_sequence_length: without "
                                         "effect on rows: their column msl says it"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "--set eval_input.batch_size: without effect on rows: "
                                         "their column global_batch says it"));
    spawn_free(&r);
}

/* A folder that cannot be made is reported before the predictions, which take long. */
TEST(validate, a_folder_that_cannot_be_made_is_reported_first)
{
    struct spawn_result r;
    const char *dir = job_path("no");
    CU_ASSERT_FATAL(spawn_ok("mkdir -p %s && : >%s/file", dir, dir));
    spawn_run(&r,
              "for c in 'validate --out' 'reproduce --out' 'calibrate --out'; do "
              "\"$WSC\" $c %s/file/x/y; test $? = 1 || exit 9; done",
              dir);
    T_EQ(r.status, 0);
    T_STR(r.out, "");
    spawn_free(&r);
}

/* ---- calibrate ------------------------------------------------------------------------------- */

/* The shipped machine holds what the fit gives, and the fitted file is that machine. */
TEST(validate, the_shipped_constant_is_what_calibrate_finds)
{
    struct spawn_result r;
    const char *dir = job_path("fit");
    spawn_run(&r, "\"$WSC\" calibrate --out %s/fitted.yaml", dir);
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "usc_bert_base_b1024"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "standard error"));
    spawn_free(&r);
    CU_ASSERT(spawn_ok("a=$(\"$WSC\" inspect %s/fitted.yaml | sed -n 's/.*hash //p'); "
                       "b=$(\"$WSC\" inspect configs/cluster/cs2.yaml | sed -n 's/.*hash //p'); "
                       "test -n \"$a\" && test \"$a\" = \"$b\"",
                       dir));
    CU_ASSERT(spawn_ok("a=$(\"$WSC\" inspect %s/fitted_cs3.yaml | sed -n 's/.*hash //p'); "
                       "b=$(\"$WSC\" inspect configs/cluster/cs3.yaml | sed -n 's/.*hash //p'); "
                       "test -n \"$a\" && test \"$a\" = \"$b\"",
                       dir));
    CU_ASSERT(spawn_ok("grep -q 'kind: calibrated' %s/fitted.yaml", dir));
    spawn_run(&r, "\"$WSC\" calibrate --out %s/fitted.yaml", dir);
    T_EQ(r.status, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "fitted.yaml: exists already; hint: --overwrite"));
    spawn_free(&r);
    /* The files of the other machines are no less the user's. */
    spawn_run(&r, "rm %s/fitted.yaml && \"$WSC\" calibrate --out %s/fitted.yaml", dir, dir);
    T_EQ(r.status, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "fitted_cs3.yaml: exists already; hint: --overwrite"));
    spawn_free(&r);
}

/* Two hand-made figures: fast enough for several constants, and --overwrite. */
TEST(validate, several_constants_fit_other_figures)
{
    struct spawn_result r;
    const char *dir = job_path("figures");
    CU_ASSERT_FATAL(spawn_ok("mkdir -p %s && { head -n 1 benchmarks/reference/single_system.csv; "
                             "grep -E '^usc_(256m_b128|bert_base_b128|bert_base_b1024)' "
                             "benchmarks/reference/single_system.csv; } >%s/few.csv",
                             dir, dir));
    spawn_run(&r,
              "\"$WSC\" calibrate --out %s/f.yaml --reference %s --fit "
              "wafer.stage_latency,wafer.kernel_factor && \"$WSC\" calibrate --overwrite --out "
              "%s/f.yaml --reference %s && \"$WSC\" validate --reference %s --cluster %s/f.yaml "
              "--out %s/v",
              dir, dir, dir, dir, dir, dir, dir);
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(r.out, "correlation of wafer.stage_latency and wafer.kernel_factor"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "3 rows fitted, 0 of them outside"));
    spawn_free(&r);
    spawn_run(&r,
              "\"$WSC\" calibrate --overwrite --cluster %s/f.yaml --out %s/f.yaml --reference %s",
              dir, dir, dir);
    T_EQ(r.status, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "f.yaml: the file would be based on itself; hint: "));
    spawn_free(&r);
    /* Without --out the table alone. */
    spawn_run(&r,
              "mkdir %s/here && top=$PWD && cd %s/here && \"$WSC\" validate --reference .. "
              "--params \"$top\"/configs/params --cluster ../f.yaml; s=$?; ls; exit $s",
              dir, dir);
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "3 rows fitted, 0 of them outside"));
    CU_ASSERT(strstr(r.out, "validation.csv") == NULL);
    spawn_free(&r);
    /* Overrides that do not reach the file, or the fit, are named. */
    spawn_run(&r,
              "\"$WSC\" calibrate --overwrite --out %s/f.yaml --reference %s --fit "
              "wafer.stage_latency --set cluster.wafer.stage_latency=2ms --set "
              "cluster.wafer.clock=850MHz",
              dir, dir);
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(r.err, "--set cluster.wafer.stage_latency: without effect: it is fitted"));
    CU_ASSERT(strchr(r.err, '\n') == strrchr(r.err, '\n'));
    spawn_free(&r);
    spawn_run(&r,
              "\"$WSC\" calibrate --overwrite --out %s/g.yaml --reference %s --fit "
              "wafer.stage_latency --set model.use_bias_in_output=true",
              dir, dir);
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err,
                                  "--set model.use_bias_in_output: the fit depends on it, the "
                                  "written file does not have it; hint: give it beside"));
    spawn_free(&r);
}

/* The written file is the machine of the fit: constants of the command line are in it, once. */
TEST(validate, a_fitted_file_has_the_constants_of_the_command_line)
{
    static const char sets[] = "--set cluster.wafer.clock=850MHz --set cluster.jitter=0.01 --set "
                               "cluster.effects.boundary=false --set 'cluster.swarmx.link_latency="
                               "{value: 3 us, kind: derived, source: \"a \\\"test\\\"\", "
                               "uncertainty: 2 us..5 us}'";
    const char *dir = job_path("given");
    CU_ASSERT_FATAL(spawn_ok("mkdir -p %s && { head -n 1 benchmarks/reference/single_system.csv; "
                             "grep -E '^usc_(256m_b128|bert_base_b128|bert_base_b1024)' "
                             "benchmarks/reference/single_system.csv; } >%s/few.csv",
                             dir, dir));
    struct spawn_result r;
    spawn_run(&r, "\"$WSC\" calibrate --out %s/f.yaml --reference %s --fit wafer.stage_latency %s",
              dir, dir, sets);
    T_EQ(r.status, 0);
    T_STR(r.err, "");
    spawn_free(&r);
    CU_ASSERT(
        spawn_ok("cd %s && grep -c '^wafer:' f.yaml | grep -qx 1 && grep -q 'source: \"set by "
                 "hand, wsc calibrate --set cluster.wafer.clock: ' f.yaml && grep -q "
                 "'uncertainty: 2 us..5 us' f.yaml",
                 dir));
    /* By hand: the constants below the shipped machine, with what was fitted. */
    CU_ASSERT(spawn_ok(
        "hash() { \"$WSC\" inspect $1 | sed -n 's/.*hash //p'; }; "
        "one() { printf \"$1%%s:\\n$1    value: %%s\\n$1    kind: assumed\\n$1    source: x\\n\" "
        "\"$2\" \"$3\"; }; latency=$(sed -n '/stage_latency:/,/value/s/.*value: //p' %s/f.yaml); "
        "{ printf 'schema_version: 1\\nbase: %%s/configs/cluster/cs2.yaml\\nwafer:\\n' \"$PWD\"; "
        "one '    ' clock 850MHz; one '    ' stage_latency \"$latency\"; one '' jitter 0.01; "
        "printf 'effects:\\n'; one '    ' boundary false; printf 'swarmx:\\n'; "
        "one '    ' link_latency '3 us'; } >%s/hand.yaml; "
        "a=$(hash %s/f.yaml); b=$(hash %s/hand.yaml); test -n \"$a\" && test \"$a\" = \"$b\"",
        dir, dir, dir, dir));
}
