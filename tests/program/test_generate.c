// SPDX-License-Identifier: Apache-2.0
/* How the next token is chosen, and prompts in every form. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A model of 20 steps with 300 tokens, so that a tokenizer of bytes and words fits. */
static const char *trained(void)
{
    static char dir[160];
    if (dir[0]) return dir;
    (void)snprintf(dir, sizeof dir, "%s", job_path("generate"));
    CU_ASSERT_FATAL(spawn_ok("%s --set model.vocab_size=300 --model_dir %s", job_tiny(), dir));
    return dir;
}

/* What `--mode generate` prints, owned. */
static char *generate(const char *options)
{
    struct spawn_result r;
    spawn_run(
        &r,
        "%s --set model.vocab_size=300 --mode generate --model_dir %s %s %s "
        "--checkpoint_path %s/checkpoint_20.mdl %s | grep -v INFO:",
        job_tiny(), job_path("out"),
        strstr(options, "--max_new_tokens") ? "" : "--max_new_tokens 30",
        strstr(options, "--tokenizer") || strstr(options, "--prompt_ids") ? "" : "--tokenizer byte",
        trained(), options);
    return spawn_output(&r);
}

static void expect_same(const char *options, const char *text)
{
    char *other = generate(options);
    T_STR(other, text);
    free(other);
}

#define PROMPT "--prompt 'the cat' --prompt 'a red' "

TEST(generate, narrow_draws_are_the_most_likely_token)
{
    char *greedy = generate(PROMPT "--temperature 0");
    expect_same(PROMPT "--temperature 1 --top_k 1", greedy);
    expect_same(PROMPT "--temperature 1 --top_k 0 --top_p 1e-9", greedy);
    expect_same(PROMPT "--temperature 0.001 --top_k 0", greedy);
    free(greedy);
}

TEST(generate, a_nucleus_is_part_of_all)
{
    char *all = generate(PROMPT "--temperature 3 --top_k 0");
    char *nucleus = generate(PROMPT "--temperature 3 --top_k 0 --top_p 0.3 --num_csx 1");
    expect_same(PROMPT "--temperature 3 --top_k 0 --top_p 1", all);
    expect_same(PROMPT "--temperature 3 --top_k 300", all);
    expect_same(PROMPT "--temperature 3 --top_k 0 --top_p 0.3 --num_csx 3", nucleus);
    CU_ASSERT(strcmp(all, nucleus) != 0);
    free(all);
    free(nucleus);
}

/* Byte 32 is the blank: the texts end after the first new one. */
TEST(generate, a_text_ends_behind_the_last_token)
{
    char *all = generate("--prompt 'the cat' --prompt 'a red mat' --temperature 0");
    char *ended = generate("--prompt 'the cat' --prompt 'a red mat' --temperature 0 --eos_id 32 "
                           "--num_csx 2");
    char expected[300] = "";
    const char *first = all, *second = strchr(all, '\n');
    if (!second) abort();
    second++;
    (void)snprintf(expected, sizeof expected, "%.*s\n%.*s\n", 7 + (int)strcspn(first + 7, " ") + 1,
                   first, 9 + (int)strcspn(second + 9, " ") + 1, second);
    T_STR(ended, expected);
    free(all);
    free(ended);
}

/* The temperature of the params decides whether these options have an effect. */
TEST(generate, options_are_compared_with_the_temperature_of_the_params)
{
    static const struct {
        const char *options, *says;
    } row[] = {
        {"--top_k 5 --set model.temperature=0", "--top_k: has no effect: model.temperature"},
        {"--top_p 0.5 --set model.max_tokens=9", "--top_p: has no effect: model.temperature"},
        {"--num_beams 2 --set model.temperature=0.5",
         "--num_beams: has no effect without --temperature 0; hint: --temperature 0"},
        {"--num_beams 2", "--num_beams: has no effect without --temperature 0; hint: "},
        {"--num_beams 2 --set model.temperature=0", NULL},
        {"--num_beams 2 --set model.max_tokens=9", NULL},
        {"--top_k 5 --set model.max_tokens=9 --temperature 0.5", NULL}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct spawn_result r;
        spawn_run(&r,
                  "%s --set model.vocab_size=300 --mode generate --prompt_ids 97,98 "
                  "--max_new_tokens 3 --checkpoint_path %s/checkpoint_20.mdl --model_dir %s %s",
                  job_tiny(), trained(), job_path("merged"), row[i].options);
        T_EQ(r.status, row[i].says ? 2 : 0);
        CU_ASSERT(!row[i].says || strstr(r.err, row[i].says) != NULL);
        spawn_free(&r);
    }
}

/* The Model Zoo has no value for what is missing: the most likely token, among all. */
TEST(generate, keys_of_the_params_are_the_options)
{
    char *sampled = generate(PROMPT "--temperature 0.7 --top_k 5 --top_p 0.9");
    char *greedy = generate(PROMPT "--temperature 0");
#define KEYS "--set model.temperature=0.7 --set model.top_k=5 "
    expect_same(PROMPT KEYS "--set model.top_p=0.9", sampled);
    expect_same(PROMPT KEYS "--top_p 0.9 --num_csx 3", sampled);
    expect_same(PROMPT KEYS "--temperature 0", greedy);
    expect_same(PROMPT "--set model.start_token=0 --set model.loop_dim=1", greedy);
#undef KEYS
    CU_ASSERT(strcmp(sampled, greedy) != 0);
    free(sampled);
    free(greedy);
}

TEST(generate, max_tokens_of_the_params_end_a_text)
{
    struct spawn_result r;
    spawn_run(&r,
              "%s --mode generate --prompt_ids 1,2 --numerics none --set model.max_tokens=7 --json "
              "--model_dir %s",
              job_tiny(), job_path("short"));
    json_t *o = json_loads(r.out, 0, NULL);
    T_EQ(r.status, 0);
    T_EQ(json_integer_value(json_object_get(json_object_get(o, "generation"), "new_tokens")), 7);
    json_decref(o);
    spawn_free(&r);
}

/* The new text of a prompt up to the first time that @p end comes, with it. */
static char *until(const char *text, size_t prompt, const char *end)
{
    const char *found = strstr(text + prompt, end);
    if (!found) abort();
    const size_t n = (size_t)(found - text) + strlen(end);
    char *cut = strndup(text, n + 1);
    if (!cut) abort();
    cut[n] = '\n';
    return cut;
}

/* Two bytes that follow each other in the new text, and not before. */
TEST(generate, a_text_ends_with_a_stop_sequence)
{
    enum { PROMPT_BYTES = 7, AT = 5 };
    char *all = generate("--prompt 'the cat' --temperature 0");
    char end[3] = {all[PROMPT_BYTES + AT], all[PROMPT_BYTES + AT + 1], '\0'}, options[300];
    char *ended = until(all, PROMPT_BYTES, end);
    CU_ASSERT(strlen(ended) < strlen(all));
    (void)snprintf(options, sizeof options,
                   "--prompt 'the cat' --temperature 0 --set 'model.stop_sequences=[[250, 251], "
                   "[%d, %d]]'",
                   (unsigned char)end[0], (unsigned char)end[1]);
    expect_same(options, ended);
    (void)snprintf(options, sizeof options,
                   "--prompt 'the cat' --temperature 0 --set model.stop_sequences=%d",
                   (unsigned char)end[0]);
    free(ended);
    end[1] = '\0';
    ended = until(all, PROMPT_BYTES, end);
    expect_same(options, ended);
    free(ended);
    free(all);
}

/* The last token of the prompt is not new. */
TEST(generate, a_stop_sequence_does_not_begin_in_the_prompt)
{
    char *all = generate("--prompt 'the cat' --temperature 0");
    char options[200];
    (void)snprintf(options, sizeof options,
                   "--prompt 'the cat' --temperature 0 --set 'model.stop_sequences=[[%d, %d]]'",
                   't', (unsigned char)all[7]);
    char end[3] = {'t', all[7], '\0'};
    char *expected = strstr(all + 7, end) ? until(all, 7, end) : strdup(all);
    if (!expected) abort();
    expect_same(options, expected);
    free(expected);
    free(all);
}

TEST(generate, stop_sequences_that_cannot_end_a_text_are_named)
{
    static const struct {
        const char *options, *says;
        int status;
    } row[] = {{"--set 'model.stop_sequences=[[1, 256]]'",
                "model.stop_sequences: token 256, texts have 256 token ids", 2},
               {"--set 'model.stop_sequences=[[1]]' --temperature 0 --num_beams 2",
                "not with --num_beams", 2},
               {"--set 'model.stop_sequences=[[1]]' --numerics none",
                "without effect: model.stop_sequences", 0},
               {"--set model.top_k=3 --numerics none",
                "without effect: model.top_k and model.top_p: without model.temperature", 0}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct spawn_result r;
        spawn_run(&r, "%s --mode generate --prompt ab --model_dir %s %s", job_tiny(),
                  job_path("stops"), row[i].options);
        T_EQ(r.status, row[i].status);
        if (!strstr(r.err, row[i].says)) (void)fprintf(stderr, "%s\n", r.err);
        CU_ASSERT(strstr(r.err, row[i].says) != NULL);
        spawn_free(&r);
    }
}

TEST(generate, ids_are_the_same_prompt)
{
    char *text = generate("--prompt 'cat' --temperature 0");
    char *ids = generate("--prompt_ids 99,97,116 --temperature 0");
    char expected[300] = "";
    for (size_t i = 0, used = 0; text[i] && text[i] != '\n' && used < 290; i++)
        used += (size_t)snprintf(expected + used, sizeof expected - used, "%s%d", i ? "," : "",
                                 (unsigned char)text[i]);
    CU_ASSERT(!strncmp(ids, expected, strlen(expected)) && ids[strlen(expected)] == '\n');
    free(text);
    free(ids);
}

TEST(generate, prompts_through_a_bpe)
{
    char dir[160], options[700];
    (void)snprintf(dir, sizeof dir, "%s", job_path("bpe"));
    CU_ASSERT_FATAL(job_data() && spawn_ok("\"$WSC\" data train-bpe --input %s/text.txt --out %s "
                                           "--vocab_size 290",
                                           test_tmpdir(), dir));
    (void)snprintf(options, sizeof options,
                   "--tokenizer bpe --vocab %s/vocab.json --merges %s/merges.txt --temperature 0 "
                   "--prompt 'the red cat, the m\u00e4t' ",
                   dir, dir);
    char *one = generate(options);
    CU_ASSERT(!strncmp(one, "the red cat, the m\u00e4t", 20));
    (void)strncat(options, "--num_csx 2", sizeof options - strlen(options) - 1);
    expect_same(options, one);
    free(one);
}

TEST(generate, wrong_prompts_are_told)
{
    static const struct {
        const char *options, *why;
    } row[] = {
        {"--prompt_ids 1,x", "\"x\" is no token id"},
        {"--prompt_ids 1,,2", "\"\" is no token id"},
        {"--prompt_ids 1,2,", "\"\" is no token id"},
        {"--prompt_ids 300", "token 300, the model has 300"},
        {"--prompt '' --tokenizer byte", "an empty text"},
        {"--prompt a", "no tokenizer is named"},
        {"--prompt a --prompt_ids 1", "--prompt: cannot be combined with --prompt_ids"},
        {"--prompt a --top_p 0", "--top_p: expected a number"},
        {"--prompt a --tokenizer bpe", "vocab"},
        {"--prompt a --tokenizer word", "word"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct spawn_result r;
        spawn_run(&r,
                  "%s --set model.vocab_size=300 --mode generate --model_dir %s %s "
                  "--checkpoint_path %s/checkpoint_20.mdl",
                  job_tiny(), job_path("wrong"), row[i].options, trained());
        T_EQ(r.status == 0, 0);
        if (!strstr(r.err, row[i].why)) (void)fprintf(stderr, "\"%s\"\n", r.err);
        CU_ASSERT(strstr(r.err, row[i].why) != NULL);
        spawn_free(&r);
    }
}

/* Logits that overflow choose nothing. */
TEST(generate, a_logit_that_is_no_number_ends_the_run)
{
    struct spawn_result r;
    spawn_run(&r,
              "%s --set model.vocab_size=300 --set model.output_logits_scale=3e38 "
              "--set runconfig.load_checkpoint_states=model --mode generate "
              "--model_dir %s --prompt a --tokenizer byte --checkpoint_path %s/checkpoint_20.mdl",
              job_tiny(), job_path("overflow"), trained());
    T_EQ(r.status, 4);
    CU_ASSERT(strstr(r.err, "prompt 0, token 1: the logit of token ") != NULL);
    CU_ASSERT(strstr(r.err, " is infinite; hint: ") != NULL);
    spawn_free(&r);
}

/* ---- the cache ------------------------------------------------------------------------------- */

/* "32,99,..." of the first line. */
static void ids_of(const char *options, char ids[900])
{
    char *text = generate(options);
    (void)snprintf(ids, 900, "%.*s", (int)strcspn(text, "\n"), text);
    free(text);
}

/* The model's context is 64 tokens: after it a text is continued from its newest ones. */
TEST(generate, a_text_may_be_cut_anywhere)
{
    char all[900], part[900], options[1200];
    ids_of("--prompt_ids 116,104,101 --temperature 0 --max_new_tokens 100", all);
    for (int first = 1; first < 90; first += 22) {
        (void)snprintf(options, sizeof options,
                       "--prompt_ids 116,104,101 --temperature 0 --max_new_tokens %d", first);
        ids_of(options, part);
        CU_ASSERT(!strncmp(all, part, strlen(part)));
        (void)snprintf(options, sizeof options,
                       "--prompt_ids %s --temperature 0 --max_new_tokens %d", part, 100 - first);
        ids_of(options, part);
        T_STR(part, all);
    }
}

static void take_time(const char *command, char time[60])
{
    char key[40] = "\"virtual_time_ps\": ";
    struct spawn_result r;
    spawn_run(&r,
              "%s --set model.vocab_size=300 --mode generate --prompt_ids 1,2,3 --prompt_ids 4,5 "
              "--set runconfig.autoload_last_checkpoint=false "
              "--prompt_ids 6 --max_new_tokens 70 --json --model_dir %s",
              command, job_path("time"));
    const char *at = strstr(r.out, key);
    T_EQ(r.status, 0);
    (void)snprintf(time, 60, "%.*s", at ? (int)strcspn(at, ",") : 0, at ? at : "");
    CU_ASSERT(at != NULL);
    spawn_free(&r);
}

TEST(generate, time_is_the_same_with_and_without_values)
{
    char host[60], none[60], ranks[60], command[900];
    for (int num_csx = 1; num_csx <= 3; num_csx += 2) {
        (void)snprintf(command, sizeof command, "%s --num_csx %d --numerics host", job_tiny(),
                       num_csx);
        take_time(command, host);
        (void)snprintf(command, sizeof command, "%s --num_csx %d --numerics none", job_tiny(),
                       num_csx);
        take_time(command, none);
        (void)snprintf(command, sizeof command, "mpirun --quiet -n 4 %s --num_csx %d", job_tiny(),
                       num_csx);
        take_time(command, ranks);
        T_STR(none, host);
        T_STR(ranks, host);
    }
}

/* The totals of performance.json of texts that may have @p most tokens, owned. */
static char *totals(const char *launch, const char *options, int most)
{
    struct spawn_result r;
    char dir[160];
    (void)snprintf(dir, sizeof dir, "%s", job_path("totals"));
    spawn_run(&r,
              "%s %s --set model.vocab_size=300 --mode generate --tokenizer byte --temperature 0 "
              "--eos_id 32 " PROMPT "--max_new_tokens %d --checkpoint_path %s/checkpoint_20.mdl "
              "--num_csx 2 --model_dir %s %s >/dev/null && grep -E '\"(steps|virtual_time_ps|"
              "tokens_per_s|compute|weights_wait|new_tokens|first_token_ps|token_ps)\":' "
              "%s/performance.json",
              launch, job_tiny(), most, trained(), dir, options, dir);
    return spawn_output(&r);
}

/* When all texts have ended, the steps that are left are empty, and count for nothing. */
TEST(generate, steps_after_the_last_text_do_not_count)
{
    static const struct {
        const char *launch, *options;
        int most;
    } row[] = {{"", "", 20},
               {"", "", 45},
               {"mpirun --quiet -n 3", "", 45},
               {"", "--num_beams 2 --early_stopping", 20},
               {"", "--num_beams 2 --early_stopping", 45},
               {"mpirun --quiet -n 2", "--num_beams 2 --early_stopping", 45}};
    char *text[6];
    for (int i = 0; i < 6; i++) {
        text[i] = totals(row[i].launch, row[i].options, row[i].most);
        T_STR(text[i], text[i < 3 ? 0 : 3]);
        CU_ASSERT(strstr(text[i], "\"steps\"") && !strstr(text[i], "\"steps\": 20,"));
    }
    for (int i = 0; i < 6; i++)
        free(text[i]);
}

/* The whole prompt takes longer than a token after it. */
TEST(generate, the_first_token_and_the_mean_of_the_others_make_the_time)
{
    const char *dir = job_path("token");
    CU_ASSERT(spawn_ok("%s --numerics none --mode generate --prompt_ids 1,2,3,4,5,6,7,8 "
                       "--max_new_tokens 11 --model_dir %s",
                       job_tiny(), dir));
    const long long first = job_performance(dir, "first_token_ps", 0);
    const long long mean = job_performance(dir, "token_ps", 0);
    const long long left = job_performance(dir, "virtual_time_ps", 0) - first - 10 * mean;
    T_EQ(job_performance(dir, "steps", 0), 11);
    /* Keys and values of 2 layers, 64 features and the 18 tokens that pass the wafer, in fp32. */
    T_EQ(job_performance(dir, "cache_bytes_per_wafer", 0), 18 * 2 * 2 * 64 * 4);
    CU_ASSERT(left >= 0 && left < 10);
    CU_ASSERT(mean > 0 && first > mean);
}

/* A process has at least its activations; the largest sent more than nothing to others. */
TEST(generate, performance_json_has_the_memory_of_the_host)
{
    static const char *const run[] = {"", "mpirun --quiet -n 4 "};
    for (int i = 0; i < 2; i++) {
        struct spawn_result r;
        int64_t wafer = 0, acts = 0, shard = 0, sent = 0;
        spawn_run(&r,
                  "%s%s --set model.vocab_size=300 --mode generate --tokenizer byte --prompt ab "
                  "--max_new_tokens 2 --json --model_dir %s --checkpoint_path %s/checkpoint_20.mdl",
                  run[i], job_tiny(), job_path("memory"), trained());
        T_EQ(r.status, 0);
        json_t *o = json_loads(r.out, 0, NULL), *memory = json_object_get(o, "host_memory");
        wafer = json_integer_value(json_object_get(memory, "wafer_peak_rss_bytes"));
        acts = json_integer_value(json_object_get(memory, "wafer_activation_bytes"));
        shard = json_integer_value(json_object_get(memory, "memoryx_peak_rss_bytes"));
        sent = json_integer_value(json_object_get(o, "host_sent_bytes"));
        CU_ASSERT(acts > 0 && wafer > acts && shard > 0 && wafer < INT64_C(1) << 32);
        CU_ASSERT((sent > 0) == (i > 0));
        json_decref(o);
        spawn_free(&r);
    }
}

/* Without values a text has no last token. */
TEST(generate, an_end_of_texts_without_values_warns)
{
    struct spawn_result r;
    spawn_run(&r, "%s --mode generate --prompt ab --numerics none --eos_id 3 --model_dir %s",
              job_tiny(), job_path("endless"));
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "without effect: --eos_id"));
    spawn_free(&r);
    spawn_run(&r, "%s --mode generate --prompt ab --numerics none --model_dir %s", job_tiny(),
              job_path("endless"));
    CU_ASSERT_PTR_NULL(strstr(r.err, "--eos_id"));
    spawn_free(&r);
}

TEST(generate, a_folder_without_a_checkpoint_is_refused)
{
    struct spawn_result r;
    spawn_run(&r, "%s --mode generate --prompt a --model_dir %s", job_tiny(), job_path("empty"));
    T_EQ(r.status, 2);
    CU_ASSERT(strstr(r.err, ": no checkpoint to generate from; hint: ") != NULL);
    spawn_free(&r);
}

TEST(generate, keys_and_values_must_fit_the_wafer)
{
    struct spawn_result r;
    spawn_run(&r,
              "\"$WSC\" run --params configs/params/gpt3_13b.yaml --numerics none --num_csx 1 "
              "--mode generate $(for i in $(seq 60); do echo --prompt_ids 1; done) "
              "--max_new_tokens 3000 --model_dir %s",
              job_path("cache"));
    T_EQ(r.status, 3);
    CU_ASSERT(strstr(r.err, "--max_new_tokens: keys and values of 60 texts of 2048 tokens need") !=
              NULL);
    CU_ASSERT(strstr(r.err, "--num_csx") != NULL);
    spawn_free(&r);
}
