// SPDX-License-Identifier: Apache-2.0
/* wsc run --mode eval --requests: 100 requests of an evaluation harness against the log-likelihoods
 * and metrics that PyTorch and numpy give (tests/fixtures/make_harness_fixture.py), the same bits
 * on any number of systems, ranks and in any micro-batch, and files that are refused. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HARNESS "tests/data/harness/"

/* The params of the model as a checkpoint, made once. */
static const char *params(void)
{
    static char path[200], dir[160];
    if (*path) return path;
    (void)snprintf(dir, sizeof dir, "%s", job_path("harness"));
    (void)snprintf(path, sizeof path, "%s/params.yaml", dir);
    CU_ASSERT_FATAL(
        spawn_ok("\"$WSC\" convert --from hf --to cs --input " HARNESS " --out %s", dir));
    return path;
}

/* ---- against PyTorch and numpy --------------------------------------------------------------- */

static void near(double found, double expected, const char *what)
{
    const bool good = fabs(found - expected) <= 1e-5 * (1 + fabs(expected));
    CU_ASSERT(good);
    if (!good) (void)fprintf(stderr, "%s: %.9g, expected %.9g\n", what, found, expected);
}

static void check_results(const json_t *found, const json_t *expected)
{
    T_EQ(json_array_size(found), json_array_size(expected));
    for (size_t i = 0; i < json_array_size(expected); i++) {
        const json_t *f = json_array_get(found, i), *e = json_array_get(expected, i);
        const char *name = json_string_value(json_object_get(e, "metric"));
        CU_ASSERT(json_equal(json_object_get(f, "kind"), json_object_get(e, "kind")));
        CU_ASSERT(json_equal(json_object_get(f, "metric"), json_object_get(e, "metric")));
        near(json_real_value(json_object_get(f, "value")),
             json_real_value(json_object_get(e, "value")), name);
        near(json_real_value(json_object_get(f, "stderr")),
             json_real_value(json_object_get(e, "stderr")), name);
    }
}

static void check_documents(const json_t *found, const json_t *expected)
{
    T_EQ(json_array_size(found), json_array_size(expected));
    for (size_t i = 0; i < json_array_size(expected); i++) {
        const json_t *f = json_object_get(json_array_get(found, i), "loglikelihood");
        const json_t *e = json_array_get(expected, i);
        T_EQ(json_array_size(f), json_array_size(e));
        for (size_t k = 0; k < json_array_size(e); k++)
            near(json_real_value(json_array_get(f, k)), json_real_value(json_array_get(e, k)),
                 "log-likelihood");
    }
}

TEST(scoring, a_hundred_requests_have_the_scores_of_pytorch)
{
    char path[200], dir[160];
    (void)snprintf(dir, sizeof dir, "%s", job_path("scores"));
    CU_ASSERT_FATAL(spawn_ok("\"$WSC\" run --params %s --mode eval --eos_id 10 --model_dir %s "
                             "--requests " HARNESS "requests.jsonl",
                             params(), dir));
    (void)snprintf(path, sizeof path, "%s/scores.json", dir);
    json_t *found = json_load_file(path, 0, NULL);
    json_t *expected = json_load_file(HARNESS "expected.json", 0, NULL);
    CU_ASSERT_FATAL(found && expected);
    T_EQ(json_integer_value(json_object_get(found, "requests")), 100);
    check_results(json_object_get(found, "results"), json_object_get(expected, "results"));
    check_documents(json_object_get(found, "documents"),
                    json_object_get(expected, "loglikelihood"));
    json_decref(found);
    json_decref(expected);
    CU_ASSERT(spawn_ok("test -z \"$(ls %s | grep tmp)\"", dir)); /* the samples are removed */
}

/* A merge may cross the boundary: "abcd" is a, bc, d.  The harness feeds the tokens of the context
 * alone, a and b, and scores what follows as many tokens in the joint text: d. */
TEST(scoring, a_context_keeps_its_own_tokens)
{
    char dir[160], path[200];
    (void)snprintf(dir, sizeof dir, "%s", job_path("merged"));
    (void)snprintf(path, sizeof path, "%s/scores.json", dir);
    CU_ASSERT_FATAL(spawn_ok(
        "mkdir -p %s && printf 'bc.bc.bc.bc.bc.\n' >%s/text && \"$WSC\" data train-bpe --input "
        "%s/text --out %s --vocab_size 258 && printf '{\"arguments\": [[\"ab\", \"cd\"]]}\n"
        "{\"arguments\": [[\"ab\", \"d\"]]}\n{\"arguments\": [[\"abc\", \"d\"]]}\n' >%s/r.jsonl",
        dir, dir, dir, dir, dir));
    CU_ASSERT_FATAL(spawn_ok("%s --set model.vocab_size=258 --mode eval --tokenizer bpe --vocab "
                             "%s/vocab.json --merges %s/merges.txt --requests %s/r.jsonl "
                             "--model_dir %s",
                             job_tiny(), dir, dir, dir, dir));
    json_t *scores = json_load_file(path, 0, NULL);
    CU_ASSERT_FATAL(scores != NULL);
    const json_t *documents = json_object_get(scores, "documents");
    double x[3];
    for (size_t i = 0; i < 3; i++)
        x[i] = json_real_value(
            json_array_get(json_object_get(json_array_get(documents, i), "loglikelihood"), 0));
    CU_ASSERT(x[0] < 0 && x[0] == x[1] && x[0] != x[2]);
    json_decref(scores);
}

/* ---- the same bits --------------------------------------------------------------------------- */

/* Batches do not divide by three; windows of a text fall into different batches. */
TEST(scoring, scores_have_the_same_bits_on_any_systems_and_ranks)
{
    static const char *const how[] = {
        "", "--num_csx 3", "--num_csx 4 --set eval_input.batch_size=4",
        "--set eval_input.batch_size=64 --set eval_input.micro_batch_size=2",
        "--num_csx 2 --set runconfig.num_wgt_servers=3"};
    static const char *const ranks[] = {"", "mpirun --quiet -n 3", "", "mpirun --quiet -n 2",
                                        "mpirun --quiet -n 5"};
    char first[200];
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        char dir[160], name[32];
        (void)snprintf(name, sizeof name, "scores_%zu", i);
        (void)snprintf(dir, sizeof dir, "%s", job_path(name));
        CU_ASSERT_FATAL(spawn_ok("%s \"$WSC\" run --params %s --mode eval --eos_id 10 %s "
                                 "--model_dir %s --requests " HARNESS "requests.jsonl",
                                 ranks[i], params(), how[i], dir));
        if (!i) (void)snprintf(first, sizeof first, "%s/scores.json", dir);
        CU_ASSERT(spawn_ok("cmp %s %s/scores.json", first, dir));
    }
}

/* Scores travel beside times that are there anyway. */
TEST(scoring, virtual_time_is_that_of_the_evaluation)
{
    struct spawn_result r[3];
    static const char *const how[] = {"", "mpirun --quiet -n 3", "mpirun --quiet -n 2"};
    for (int i = 0; i < 3; i++) {
        spawn_run(&r[i],
                  "%s \"$WSC\" run --params %s --mode eval --eos_id 10 --num_csx 2 --json "
                  "--model_dir %s --requests " HARNESS "requests.jsonl | grep virtual_time",
                  how[i], params(), job_path("time"));
        T_EQ(r[i].status, 0);
        CU_ASSERT(strstr(r[i].out, "virtual_time_ps") != NULL);
        T_STR(r[i].out, r[0].out);
    }
    for (int i = 0; i < 3; i++)
        spawn_free(&r[i]);
}

/* A mean over tokens has no batches, and no scale of the loss. */
TEST(scoring, the_loss_is_over_the_tokens_of_all_requests)
{
    static const char *const how[] = {"", "--set eval_input.batch_size=7",
                                      "--set eval_input.batch_size=64 --num_csx 2",
                                      "--set model.loss_scaling=batch_size"};
    double first = 0;
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        struct spawn_result r;
        spawn_run(&r,
                  "\"$WSC\" run --params %s --mode eval --eos_id 10 %s --json --model_dir %s "
                  "--requests " HARNESS "requests.jsonl",
                  params(), how[i], job_path("loss"));
        T_EQ(r.status, 0);
        json_t *found = json_loads(r.out, 0, NULL);
        const double loss = json_real_value(json_object_get(found, "eval_loss"));
        T_NEAR(loss, log(json_real_value(json_object_get(found, "eval_perplexity"))), 1e-12);
        if (!i) first = loss;
        CU_ASSERT(loss > 0);
        T_NEAR(loss, first, 1e-12);
        json_decref(found);
        spawn_free(&r);
    }
}

/* Keys of an ordinary evaluation that have no effect here say so, and change no score. */
TEST(scoring, steps_and_samples_of_an_evaluation_are_without_effect)
{
    static const char *const key[] = {"runconfig.eval_steps=1",     "eval_input.num_samples=1",
                                      "eval_input.shuffle=true",    "eval_input.repeat=false",
                                      "eval_input.drop_last=false", "eval_input.data_dir=none"};
    enum { N = sizeof key / sizeof *key };
    char plain[160], dir[160];
    (void)snprintf(plain, sizeof plain, "%s", job_path("plain"));
    (void)snprintf(dir, sizeof dir, "%s", job_path("limited"));
    for (int i = -1; i < N; i++) {
        struct spawn_result r;
        char name[64] = "";
        if (i >= 0) (void)snprintf(name, sizeof name, "%.*s:", (int)strcspn(key[i], "="), key[i]);
        spawn_run(&r,
                  "\"$WSC\" run --params %s --mode eval --eos_id 10 %s%s --model_dir %s "
                  "--requests " HARNESS "requests.jsonl",
                  params(), i < 0 ? "" : "--set ", i < 0 ? "" : key[i], i < 0 ? plain : dir);
        T_EQ(r.status, 0);
        const bool warned = strstr(r.err, "without effect: --requests scores every request");
        CU_ASSERT(warned == (i >= 0) && (i < 0 || strstr(r.err, name)));
        CU_ASSERT_PTR_NULL(strstr(r.err, "not evaluated"));
        spawn_free(&r);
        CU_ASSERT(i < 0 || spawn_ok("cmp %s/scores.json %s/scores.json", plain, dir));
    }
}

/* White space of Unicode at the end of a context is moved to the continuation, as str.rstrip of the
 * harness does, and separates words. */
TEST(scoring, white_space_is_that_of_unicode)
{
    static const char *const line[] = {
        "{\"arguments\": [[\"a\\u3000 \\u00a0\", \"b\"]]}\n{\"arguments\": [[\"a\\u3000b\"]]}\n",
        "{\"arguments\": [[\"a\", \"\\u3000 \\u00a0b\"]]}\n{\"arguments\": [[\"a\\u3000b\"]]}\n"};
    json_t *scores[2];
    double word = 0, byte = 0;
    for (int i = 0; i < 2; i++) {
        const char *dir = job_path("unicode");
        CU_ASSERT_FATAL(spawn_ok("mkdir -p %s && printf '%%s' '%s' >%s/r.jsonl && \"$WSC\" run "
                                 "--params %s --mode eval --eos_id 10 --requests %s/r.jsonl "
                                 "--model_dir %s",
                                 dir, line[i], dir, params(), dir, dir));
        char path[200];
        (void)snprintf(path, sizeof path, "%s/scores.json", dir);
        CU_ASSERT_FATAL((scores[i] = json_load_file(path, 0, NULL)) != NULL);
    }
    CU_ASSERT(json_equal(json_object_get(scores[0], "documents"),
                         json_object_get(scores[1], "documents")));
    const json_t *results = json_object_get(scores[0], "results");
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *r = json_array_get(results, i);
        const char *metric = json_string_value(json_object_get(r, "metric"));
        if (!strcmp(metric, "word_perplexity")) word = json_real_value(json_object_get(r, "value"));
        if (!strcmp(metric, "byte_perplexity")) byte = json_real_value(json_object_get(r, "value"));
    }
    CU_ASSERT(word > 1 && byte > 1);
    near(2 * log(word), 5 * log(byte), "of two words in five bytes");
    json_decref(scores[0]);
    json_decref(scores[1]);
}

/* ---- what is refused ------------------------------------------------------------------------- */

TEST(scoring, wrong_requests_are_refused)
{
#define PAIR "[\"a\", \" b\"]"
    static const struct {
        const char *line, *options, *why;
    } row[] = {
        {"{", "", ":1:1: "},
        {"\xEF\xBB\xBF[]", "", ":1: expected a JSON object"}, /* a byte order mark is read over */
        {"[]", "", ":1: expected a JSON object"},
        {"{\"request_type\": \"generate_until\", \"arguments\": [" PAIR "]}", "",
         ":1: a request for a generated text"},
        {"{\"request_type\": \"rank\", \"arguments\": [" PAIR "]}", "",
         ":1: request_type: expected multiple_choice, loglikelihood, loglikelihood_rolling"},
        {"{\"arguments\": [[\"a\", {\"until\": [\".\"]}]]}", "",
         ":1: a request for a generated text"},
        {"{}", "", ":1: arguments: expected 1 to 1024 requests"},
        {"{\"arguments\": []}", "", "expected 1 to 1024 requests"},
        {"{\"arguments\": [[1, 2]]}", "", "arguments: expected texts"},
        {"{\"arguments\": [[\"a\"], [\"b\"]], \"target\": 0}", "--eos_id 10",
         "several texts without a context"},
        {"{\"arguments\": [[\"a\", \"b\", \"c\"]]}", "", "expected one text or two"},
        {"{\"arguments\": [[\"a\", \"\"]]}", "", "an empty text"},
        {"{\"arguments\": [[\"\", \"b\"]]}", "", "no token to begin with"},
        {"{\"arguments\": [[\"abc\"]]}", "", "hint: --eos_id names the token"},
        {"{\"arguments\": [" PAIR ", " PAIR "]}", "", "target: expected the number"},
        {"{\"arguments\": [" PAIR ", " PAIR "], \"target\": 2}", "", "target: expected the number"},
        {"{\"arguments\": [" PAIR ", " PAIR "], \"target\": \"b\"}", "", "target: expected"},
        {"{\"arguments\": [[\"a\", \"0123456789012345678901234567890123456789012345678\"]]}", "",
         "a continuation of 49 tokens, the model has 48"},
        {"{\"arguments\": [" PAIR "]}", "--set reduction_leaf=2", "--set reduction_leaf=1"},
        {"{\"arguments\": [" PAIR "]}", "--numerics none", "computes no likelihoods"},
        {"{\"arguments\": [" PAIR "]}", "--mode train", "--requests: has no effect in mode train"},
        {"", "", "has no requests"},
    };
    char path[200];
    (void)snprintf(path, sizeof path, "%s", job_path("wrong.jsonl"));
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct spawn_result r;
        FILE *f = fopen(path, "w");
        CU_ASSERT_FATAL(f && fprintf(f, "%s\n", row[i].line) > 0 && !fclose(f));
        spawn_run(&r, "\"$WSC\" run --params %s %s %s --requests %s --model_dir %s", params(),
                  strstr(row[i].options, "--mode") ? "" : "--mode eval", row[i].options, path,
                  job_path("wrong"));
        CU_ASSERT(r.status != 0);
        if (!strstr(r.err, row[i].why))
            (void)fprintf(stderr, "\"%s\", expected \"%s\"\n", r.err, row[i].why);
        CU_ASSERT(strstr(r.err, row[i].why) != NULL);
        spawn_free(&r);
    }
}
