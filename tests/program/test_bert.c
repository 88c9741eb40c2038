// SPDX-License-Identifier: Apache-2.0
/* BERT from raw text alone: `wsc data` makes vocabulary and samples, `wsc run` trains on them.  A
 * small model learns more than how frequent tokens are; each loader's samples give the same values
 * on any number of systems and ranks, and the same time without values; a dataset whose making was
 * killed is that of a straight run. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT "/usr/share/doc/jargon-text/jargon.txt.gz"

/* A vocabulary of 400 pieces, learned once. */
static const char *vocabulary(void)
{
    static char dir[160];
    if (dir[0]) return dir;
    (void)snprintf(dir, sizeof dir, "%s", job_path("words"));
    CU_ASSERT_FATAL(spawn_ok("\"$WSC\" data train-wordpiece --input " TEXT
                             " --out %s --vocab_size 400 --do_lower",
                             dir));
    return dir;
}

/* `wsc data` for @p loader with its further options; the command is borrowed until the next call.
 */
static const char *data_command(const char *input, const char *loader, const char *out)
{
    static char command[1200];
    (void)snprintf(command, sizeof command,
                   "\"$WSC\" data --input %s --out %s --tokenizer wordpiece --do_lower --vocab "
                   "%s/vocab.txt --max_seq_length 64 --data_processor %s",
                   input, out, vocabulary(), loader);
    return command;
}

/* `wsc run` of bert_tiny.yaml on the dataset @p data of @p loader. */
static bool run(const char *before, const char *data, const char *loader, const char *options,
                const char *dir)
{
    return spawn_ok("%s \"$WSC\" run --params configs/params/bert_tiny.yaml "
                    "--set train_input.data_processor=%s --set eval_input.data_processor=%s "
                    "--set train_input.data_dir=%s/train --set eval_input.data_dir=%s/val "
                    "--model_dir %s --set trace_hash=true %s",
                    before, loader, loader, data, data, dir, options);
}

#define FEW_STEPS                                                                                  \
    "--num_steps 3 --set train_input.batch_size=6 --set eval_input.batch_size=6 "                  \
    "--set reduction_leaf=1 --set runconfig.log_steps=1 "

/* Forty questions on forty texts. */
static bool put_questions(const char *path)
{
    FILE *f = fopen(path, "w");
    if (!f) return false;
    (void)fputs("{\"data\": [", f);
    for (int i = 0; i < 40; i++)
        (void)fprintf(
            f,
            "%s{\"paragraphs\": [{\"context\": \"the hacker number %d wrote program %d at "
            "night\", \"qas\": [{\"question\": \"which program did %d write?\", "
            "\"answers\": [{\"text\": \"program %d\", \"answer_start\": 28}]}]}]}",
            i ? ", " : "", 100 + i, 200 + i, 100 + i, 200 + i);
    (void)fputs("]}\n", f);
    return !fclose(f);
}

/* Dataset and folder of a model that was trained from the raw text, once. */
static const char *const *learned(void)
{
    static char data[160], dir[160];
    static const char *const both[] = {data, dir};
    if (data[0]) return both;
    (void)snprintf(data, sizeof data, "%s", job_path("learn"));
    (void)snprintf(dir, sizeof dir, "%s", job_path("learned"));
    CU_ASSERT_FATAL(spawn_ok("%s --disable_nsp --max_predictions_per_seq 10",
                             data_command(TEXT, "BertHDF5DataProcessor", data)));
    CU_ASSERT_FATAL(run("", data, "BertHDF5DataProcessor", "--mode train_and_eval", dir));
    return both;
}

/* Held-out loss below the entropy of the frequencies of the predicted tokens. */
TEST(bert, a_small_model_learns_from_raw_text)
{
    const char *const *made = learned();
    CU_ASSERT(spawn_ok("unigram=$(sed -n 's/.*\"unigram_entropy_nats\": //p' "
                       "%s/train/data_params.json); loss=$(sed -n 's/.*\"eval_loss\": "
                       "\\([0-9.]*\\).*/\\1/p' %s/metrics.jsonl | tail -n 1); "
                       "echo \"$loss $unigram\" | awk '{ exit !($1 > 3 && $1 < $2 - 0.2) }'",
                       made[0], made[1]));
}

/* The encoder of a pre-trained model in one with the head of spans, whose class calls it otherwise:
 * the loss of the first batch is not that of initial weights. */
TEST(bert, fine_tuning_begins_from_a_pretrained_encoder)
{
    char data[160], json[200], options[700], dir[160];
    struct job_metrics fresh, tuned;
    (void)snprintf(data, sizeof data, "%s", job_path("tune_data"));
    (void)snprintf(json, sizeof json, "%s", job_path("tune.json"));
    CU_ASSERT_FATAL(put_questions(json));
    CU_ASSERT_FATAL(spawn_ok("%s --max_query_length 20 --split 0.1",
                             data_command(json, "BertQADataProcessor", data)));
    (void)snprintf(options, sizeof options,
                   FEW_STEPS "--checkpoint_path %s/checkpoint_300.mdl --set "
                             "runconfig.load_checkpoint_states=model --set "
                             "runconfig.disable_strict_checkpoint_loading=true",
                   learned()[1]);
    (void)snprintf(dir, sizeof dir, "%s", job_path("fresh"));
    CU_ASSERT_FATAL(run("", data, "BertQADataProcessor", FEW_STEPS, dir) && job_read(dir, &fresh));
    (void)snprintf(dir, sizeof dir, "%s", job_path("tuned"));
    CU_ASSERT_FATAL(run("", data, "BertQADataProcessor", options, dir) && job_read(dir, &tuned));
    CU_ASSERT_STRING_NOT_EQUAL(fresh.step[0].loss, tuned.step[0].loss);
}

/* ---- samples of every loader ----------------------------------------------------------------- */

static void check_ways(const char *data, const char *loader, const char *model)
{
    static const struct {
        const char *before, *options;
    } way[] = {
        {"", "--num_csx 2"}, {"", "--num_csx 3"}, {"mpirun --oversubscribe -n 3", "--num_csx 2"}};
    struct job_metrics one = {0}, other = {0};
    char options[900], dir[160];
    (void)snprintf(options, sizeof options, FEW_STEPS "%s", model);
    (void)snprintf(dir, sizeof dir, "%s", job_path("one"));
    CU_ASSERT_FATAL(run("", data, loader, options, dir) && job_read(dir, &one));
    T_EQ(one.n, 3);
    for (int i = 0; i < 3; i++) {
        (void)snprintf(options, sizeof options, FEW_STEPS "%s %s", model, way[i].options);
        (void)snprintf(dir, sizeof dir, "%s", job_path("way"));
        CU_ASSERT_FATAL(run(way[i].before, data, loader, options, dir) && job_read(dir, &other));
        CU_ASSERT(job_same_values(&one, &other));
    }
    (void)snprintf(options, sizeof options, FEW_STEPS "%s --num_csx 2 --numerics none", model);
    (void)snprintf(dir, sizeof dir, "%s", job_path("none"));
    CU_ASSERT_FATAL(run("", data, loader, options, dir) && job_read(dir, &one));
    CU_ASSERT(job_same_times(&one, &other)); /* that of the last way: two systems */
}

TEST(bert, each_loader_has_its_samples_from_text)
{
    static const struct {
        const char *loader, *options, *model;
    } row[] = {{"BertCSVDataProcessor", "--max_predictions_per_seq 10",
                "--set model.disable_nsp=false --set model.mlm_loss_scaling=batch_size"},
               {"BertCSVDynamicMaskDataProcessor", "--disable_nsp",
                "--set train_input.buckets='[30, 60]'"}};
    char data[160], model[700];
    for (int i = 0; i < 2; i++) {
        (void)snprintf(data, sizeof data, "%s", job_path("set"));
        CU_ASSERT_FATAL(spawn_ok("%s %s", data_command(TEXT, row[i].loader, data), row[i].options));
        (void)snprintf(model, sizeof model,
                       "%s --set train_input.vocab_file=%s/vocab.txt --set "
                       "eval_input.vocab_file=%s/vocab.txt --set train_input.do_lower=true --set "
                       "eval_input.do_lower=true",
                       row[i].model, vocabulary(), vocabulary());
        check_ways(data, row[i].loader, model);
    }
}

/* Several short texts to a sample: fewer samples than without packing, and every way of running
 * gives the same. */
TEST(bert, packed_texts_train)
{
    char data[160], texts[200];
    struct spawn_result r;
    (void)snprintf(data, sizeof data, "%s", job_path("packed"));
    (void)snprintf(texts, sizeof texts, "%s.jsonl", job_path("texts"));
    FILE *f = fopen(texts, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    for (int i = 0; f && i < 200; i++)
        (void)fprintf(f, "{\"text\": \"the hacker %d wrote %.*s\"}\n", i, i * 11 % 60,
                      "a program that read the words of other programs and wrote them again");
    CU_ASSERT_FATAL(f && !fclose(f));
    CU_ASSERT_FATAL(spawn_ok("%s --disable_nsp --max_predictions_per_seq 10 --split 0.2 --use_vsl",
                             data_command(texts, "BertHDF5DataProcessor", data)));
    CU_ASSERT(spawn_ok("grep -q '\"use_vsl\": true' %s/train/data_params.json && grep -q "
                       "'\"attention_mask\", \"attention_span\", \"position_ids\", \"labels\"' "
                       "%s/train/data_params.json",
                       data, data));
    CU_ASSERT(spawn_ok("\"$WSC\" inspect %s/train/data-00000.h5 | grep -q 'dataset, [0-9]* samples "
                       "of 64 tokens, 4 rows each'",
                       data));
    check_ways(data, "BertHDF5DataProcessor",
               "--set train_input.use_vsl=true --set eval_input.use_vsl=true");
    spawn_run(&r, "%s --disable_nsp --use_vsl", data_command(texts, "BertCSVDataProcessor", data));
    CU_ASSERT(r.status == 2 && strstr(r.err, "BertCSVDataProcessor packs no texts"));
    spawn_free(&r);
}

TEST(bert, answers_are_spans_of_texts)
{
    char data[160], json[200];
    (void)snprintf(data, sizeof data, "%s", job_path("squad"));
    (void)snprintf(json, sizeof json, "%s", job_path("squad.json"));
    CU_ASSERT_FATAL(put_questions(json));
    CU_ASSERT_FATAL(spawn_ok("%s --max_query_length 20 --split 0.1 | grep -q '40 documents in 1 "
                             "file, 0 of them empty'",
                             data_command(json, "BertQADataProcessor", data)));
    check_ways(data, "BertQADataProcessor", "");
    CU_ASSERT(run("", data, "BertQADataProcessor",
                  "--mode train_and_eval --max_steps 20 --set runconfig.eval_frequency=20 --set "
                  "eval_input.batch_size=2 --set runconfig.eval_steps=2",
                  job_path("answers")));
    CU_ASSERT(spawn_ok("grep -q eval_exact_match %s/../answers.*/metrics.jsonl", data));
}

/* One question with three answers, one with one, one that has none with two. */
TEST(bert, further_answers_of_a_question_are_counted)
{
    char json[200];
    (void)snprintf(json, sizeof json, "%s", job_path("further.json"));
    FILE *f = fopen(json, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
#define ANSWER "{\"text\": \"hacker\", \"answer_start\": 4}"
    (void)fputs("{\"data\": [{\"paragraphs\": [{\"context\": \"the hacker wrote\", \"qas\": ["
                "{\"question\": \"who?\", \"answers\": [" ANSWER ", " ANSWER ", " ANSWER "]},"
                "{\"question\": \"who?\", \"answers\": [" ANSWER "]},"
                "{\"question\": \"why?\", \"is_impossible\": true, \"answers\": [" ANSWER
                ", " ANSWER "]}]}]}]}\n",
                f);
#undef ANSWER
    CU_ASSERT_FATAL(!fclose(f));
    CU_ASSERT(spawn_ok("%s --max_query_length 20 --split 0 | grep -q '^left out 2 further answers; "
                       "the first one of a question is learned$'",
                       data_command(json, "BertQADataProcessor", job_path("further"))));
}

/* Two samples, of which the first has no masked token. */
static bool put_unmasked(const char *dir)
{
    return spawn_ok("mkdir -p %s && cd %s && echo 'a.csv 2' >meta.dat && printf '%%s\\n' "
                    "'input_ids,attention_mask,labels,masked_lm_weights,masked_lm_positions' "
                    "'\"[2, 7, 8, 3]\",\"[1, 1, 1, 1]\",\"[0]\",\"[0]\",\"[0]\"' "
                    "'\"[2, 7, 4, 3]\",\"[1, 1, 1, 1]\",\"[9]\",\"[1]\",\"[2]\"' >a.csv",
                    dir, dir);
}

/* The sum over no token is 0, and so are its gradients and its step; a mean over none is an error,
 * which counts the batches of an evaluation apart from steps; so is no metric over none. */
TEST(bert, a_batch_without_a_masked_token_has_the_loss_0)
{
    char data[160], dir[160];
    struct job_metrics m;
    struct spawn_result r;
    (void)snprintf(data, sizeof data, "%s", job_path("unmasked"));
    CU_ASSERT_FATAL(put_unmasked(data));
#define UNMASKED                                                                                   \
    "\"$WSC\" run --params configs/params/bert_tiny.yaml --set model.max_position_embeddings=4 "   \
    "--set train_input.data_processor=BertCSVDataProcessor --set train_input.shuffle=false --set " \
    "eval_input.data_processor=BertCSVDataProcessor --set train_input.batch_size=1 --set "         \
    "eval_input.batch_size=1 --set train_input.data_dir=%s --set eval_input.data_dir=%s "          \
    "--set train_input.max_predictions_per_seq=1 --set eval_input.max_predictions_per_seq=1 "      \
    "--set "                                                                                       \
    "runconfig.log_steps=1 --set runconfig.eval_steps=1 --model_dir %s "
    (void)snprintf(dir, sizeof dir, "%s", job_path("sum"));
    CU_ASSERT_FATAL(spawn_ok(UNMASKED "--num_steps 2 --set model.mlm_loss_scaling=batch_size", data,
                             data, dir));
    CU_ASSERT_FATAL(job_read(dir, &m));
    T_STR(m.step[0].loss, "0.0");
    T_STR(m.step[0].grad_norm, "0.0");
    CU_ASSERT(strtod(m.step[1].loss, NULL) > 5); /* that of 400 tokens alike is 5.99 */
    spawn_run(&r, UNMASKED "--mode eval --json --set model.mlm_loss_scaling=batch_size", data, data,
              dir);
    CU_ASSERT(!r.status && strstr(r.out, "\"eval_loss\": 0.0") &&
              strstr(r.out, "\"eval_accuracy\": null") && strstr(r.err, "masked_lm = nan"));
    CU_ASSERT_PTR_NULL(strstr(r.err, "left out")); /* as translations may be */
    spawn_free(&r);
    spawn_run(&r, UNMASKED "--num_steps 2", data, data, job_path("mean"));
    CU_ASSERT(r.status == 4 && strstr(r.err, "step 1: no token of the batch has a label"));
    spawn_free(&r);
    spawn_run(&r, UNMASKED "--mode eval", data, data, dir);
    CU_ASSERT(r.status == 4 && strstr(r.err, "evaluation batch 1: no token of the batch has"));
    spawn_free(&r);
#undef UNMASKED
}

/* ---- interrupted ----------------------------------------------------------------------------- */

/* A limit on the size of files ends the making as a full disk would; started again it resumes. */
TEST(bert, a_dataset_that_was_cut_is_completed)
{
    char out[160], straight[160], command[1400];
    (void)snprintf(out, sizeof out, "%s", job_path("cut"));
    (void)snprintf(straight, sizeof straight, "%s", job_path("straight"));
    (void)snprintf(command, sizeof command,
                   "%s --max_predictions_per_seq 10 --dupe_factor 2 --checkpoint_bytes 100000",
                   data_command(TEXT, "BertCSVDataProcessor", out));
    CU_ASSERT_FATAL(spawn_ok("%s && mv %s %s", command, out, straight));
    CU_ASSERT(spawn_ok("! (ulimit -f 700; trap '' XFSZ; %s) 2>&1", command));
    CU_ASSERT(spawn_ok("test -s %s/wsc-data.tmp/state", out));
    CU_ASSERT(spawn_ok("%s | grep -q '^resumed an interrupted run'", command));
    CU_ASSERT(spawn_ok("diff -r %s %s", straight, out));
    /* a state of other masks is dropped */
    CU_ASSERT(spawn_ok("rm -r %s; ! (ulimit -f 700; trap '' XFSZ; %s) 2>&1", out, command));
    CU_ASSERT(spawn_ok("! (%s --masked_lm_prob 0.2 | grep '^resumed')", command));
    CU_ASSERT(spawn_ok("%s --dupe_factor 1 && test $(ls %s/train | wc -l) -lt $(ls %s/train | "
                       "wc -l)",
                       data_command(TEXT, "BertCSVDataProcessor", out), out, straight));
}
