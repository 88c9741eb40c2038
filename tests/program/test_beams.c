// SPDX-License-Identifier: Apache-2.0
/* Generation of an encoder with a decoder, and beam search: texts and scores of PyTorch
 * (tests/fixtures/make_beams.py), one result and one virtual time on every machine. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BEAMS "tests/data/beams.txt"
enum { LINE = 400, FEWEST = 60 };

/* A folder of tests/data as params and checkpoint; borrowed. */
static const char *converted(const char *folder)
{
    static char dir[2][160];
    const int i = strcmp(folder, "hf_t5") != 0;
    if (dir[i][0]) return dir[i];
    (void)snprintf(dir[i], sizeof dir[i], "%s", job_path(folder));
    CU_ASSERT_FATAL(spawn_ok("\"$WSC\" convert --from hf --to cs --input tests/data/%s --out %s "
                             "2> /dev/null",
                             folder, dir[i]));
    return dir[i];
}

/* The text between @p before and the next of @p end in @p from; empty when it is not there. */
static const char *cut(const char *from, const char *before, const char *end, char text[LINE])
{
    const char *at = strstr(from, before);
    if (at) at += strlen(before);
    (void)snprintf(text, LINE, "%.*s", at ? (int)strcspn(at, end) : 0, at ? at : "");
    return text;
}

/* `wsc run --mode generate --json` of a converted folder. */
static void generate(const char *before, const char *dir, const char *options,
                     struct spawn_result *r)
{
    spawn_run(r, "%s \"$WSC\" run --params %s/params.yaml --mode generate --json --model_dir %s %s",
              before, dir, job_path("run"), options);
}

/* ---- against PyTorch ------------------------------------------------------------------------- */

struct expected {
    char folder[20], source[80], penalty[10], text[80], score[40];
    int n_beams, early, n_new, eos;
};

static bool read_line(FILE *in, struct expected *e)
{
    char line[LINE], beams[8], early[8], length[8], eos[8];
    if (!fgets(line, sizeof line, in) ||
        sscanf(line, "%19s %79s %7s %9s %7s %7s %7s %79s %39s", e->folder, e->source, beams,
               e->penalty, early, length, eos, e->text, e->score) != 9)
        return false;
    e->n_beams = (int)strtol(beams, NULL, 10);
    e->early = (int)strtol(early, NULL, 10);
    e->n_new = (int)strtol(length, NULL, 10);
    e->eos = (int)strtol(eos, NULL, 10);
    return true;
}

static void write_options(const struct expected *e, char options[LINE])
{
    char end[40] = "", search[120] = "";
    if (e->eos >= 0) (void)snprintf(end, sizeof end, "--eos_id %d", e->eos);
    if (e->n_beams > 1)
        (void)snprintf(search, sizeof search, "--num_beams %d --length_penalty %s %s", e->n_beams,
                       e->penalty, e->early ? "--early_stopping" : "");
    (void)snprintf(options, LINE,
                   "--temperature 0 --prompt_ids %s --max_new_tokens %d --set "
                   "model.mixed_precision=false %s %s",
                   e->source, e->n_new, end, search);
}

static void check_line(const struct expected *e)
{
    char options[LINE], text[LINE], score[LINE];
    struct spawn_result r;
    write_options(e, options);
    generate("", converted(e->folder), options, &r);
    T_EQ(r.status, 0);
    const char *texts = strstr(r.out, "\"texts\": [");
    T_STR(cut(texts ? strchr(texts, '[') : "", "\"", "\"", text), e->text);
    (void)cut(r.out, "\"scores\": [", "]", score);
    if (e->n_beams > 1) T_NEAR(strtod(score, NULL), strtod(e->score, NULL), 2e-5);
    if (e->n_beams == 1) T_STR(score, "");
    if (strcmp(text, e->text) != 0) (void)fprintf(stderr, "%s\n%s", options, r.err);
    spawn_free(&r);
}

TEST(beams, texts_and_scores_are_those_of_pytorch)
{
    struct expected e;
    int n = 0;
    FILE *in = fopen(BEAMS, "r");
    CU_ASSERT_FATAL(in != NULL);
    for (; in && read_line(in, &e); n++)
        check_line(&e);
    CU_ASSERT(in && feof(in) && !fclose(in));
    CU_ASSERT(n >= FEWEST);
}

/* ---- one result ------------------------------------------------------------------------------ */

#define SOURCES                                                                                    \
    "--prompt_ids 3,4,5,6,7,8 --prompt_ids 9 --prompt_ids 12,30,2 --prompt_ids 4,4,4,4,4,4,4 "

/* From "texts" to the end: texts and scores. */
static void take_texts(const struct spawn_result *r, char texts[2 * LINE])
{
    const char *at = strstr(r->out, "\"texts\"");
    T_EQ(r->status, 0);
    CU_ASSERT(at != NULL);
    (void)snprintf(texts, (size_t)2 * LINE, "%.*s", at ? (int)strcspn(at, "}") : 0, at ? at : "");
}

static int n_ranks(int num_csx)
{
    struct spawn_result r;
    spawn_run(&r, "\"$WSC\" ranks --num_csx %d", num_csx);
    T_EQ(r.status, 0);
    const int n = (int)strtol(r.out, NULL, 10);
    spawn_free(&r);
    return n;
}

/* Texts are those of @p texts, time is @p time when that is not empty. */
static void expect(const char *before, const char *options, const char *texts, char time[LINE])
{
    char others[2 * LINE] = "", other_time[LINE];
    struct spawn_result r;
    generate(before, converted("hf_t5"), options, &r);
    if (texts) take_texts(&r, others);
    if (texts) T_STR(others, texts);
    (void)cut(r.out, "\"virtual_time_ps\": ", ",", other_time);
    CU_ASSERT(*other_time != '\0');
    if (*time) T_STR(other_time, time);
    (void)snprintf(time, LINE, "%s", other_time);
    spawn_free(&r);
}

static void check_way(const char *way)
{
    char options[2 * LINE], before[60], texts[2 * LINE];
    struct spawn_result r;
    (void)snprintf(options, sizeof options, SOURCES "--max_new_tokens 6 %s", way);
    generate("", converted("hf_t5"), options, &r);
    take_texts(&r, texts);
    spawn_free(&r);
    for (int num_csx = 1; num_csx <= 3; num_csx++) {
        char time[LINE] = "";
        (void)snprintf(options, sizeof options, SOURCES "--max_new_tokens 6 --num_csx %d %s",
                       num_csx, way);
        expect("", options, texts, time);
        (void)strncat(options, " --numerics none", sizeof options - strlen(options) - 1);
        expect("", options, NULL, time);
        (void)snprintf(options, sizeof options, SOURCES "--max_new_tokens 6 --num_csx %d %s",
                       num_csx, way);
        for (int ranks = 2; ranks < n_ranks(num_csx); ranks += 3 + num_csx) {
            (void)snprintf(before, sizeof before, "mpirun --quiet -n %d", ranks);
            expect(before, options, texts, time);
        }
        (void)snprintf(before, sizeof before, "mpirun --quiet -n %d", n_ranks(num_csx));
        expect(before, options, texts, time);
    }
}

TEST(beams, one_result_and_one_time_on_every_machine)
{
    check_way("--temperature 0 --num_beams 3 --length_penalty 0.6");
    check_way("--temperature 0.9 --top_k 5 --set cluster.stream.granularity=matrix");
}

/* Sources pass the encoder once: the second token costs less than the first. */
TEST(beams, the_encoder_is_in_the_first_step_alone)
{
    char first[LINE], next[LINE];
    struct spawn_result r;
    generate("", converted("hf_t5"), SOURCES "--max_new_tokens 6 --numerics none", &r);
    const double before = strtod(cut(r.out, "\"first_token_ps\": ", ",", first), NULL);
    const double after = strtod(cut(r.out, "\"token_ps\": ", ",", next), NULL);
    CU_ASSERT(after > 0 && after < 0.8 * before);
    spawn_free(&r);
}

/* ---- decoders alone -------------------------------------------------------------------------- */

/* Of an untrained model that is enough: one beam is the most likely text, and the best of four has
 * the larger log-probability. */
TEST(beams, of_a_decoder_are_at_least_as_likely_as_its_greedy_text)
{
    char one[2 * LINE], four[2 * LINE], score[LINE];
    double found[2];
    for (int i = 0; i < 2; i++) {
        struct spawn_result r;
        spawn_run(&r,
                  "%s --mode generate --prompt_ids 116,104,101 --max_new_tokens 12 --temperature 0 "
                  "--num_beams %d --length_penalty 0 --json --model_dir %s --num_csx %d "
                  "--set runconfig.autoload_last_checkpoint=false",
                  job_tiny(), i ? 8 : 2, job_path("decoder"), i + 1);
        take_texts(&r, i ? four : one);
        found[i] = strtod(cut(r.out, "\"scores\": [", "]", score), NULL);
        spawn_free(&r);
    }
    CU_ASSERT(found[0] < 0 && found[1] >= found[0]);
}

/* The hint is what the longest prompt leaves, and no number where it leaves none. */
TEST(beams, long_prompts_are_named)
{
    static const struct {
        const char *options, *why;
    } row[] = {
        {"--prompt_ids 1 --prompt_ids 1,2,3 --max_new_tokens 64", "hint: --max_new_tokens 62"},
        {"--prompt \"$(seq 60)\" --max_new_tokens 1", "hint: a shorter --prompt, or no"}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct spawn_result r;
        spawn_run(&r,
                  "%s --mode generate --temperature 0 --num_beams 2 --model_dir %s "
                  "--set runconfig.autoload_last_checkpoint=false %s",
                  job_tiny(), job_path("long"), row[i].options);
        CU_ASSERT(r.status == 2 && strstr(r.err, row[i].why) != NULL);
        spawn_free(&r);
    }
}

/* ---- what is refused ------------------------------------------------------------------------- */

TEST(beams, what_does_not_fit_is_named)
{
    static const struct {
        const char *options, *why;
    } row[] = {
        {"--prompt_ids 2,2,2,2,2,2,2,2,2,2,2", "a source of 11 tokens, the encoder takes 10"},
        {"--prompt_ids 2 --max_new_tokens 11", "hint: --max_new_tokens 10"},
        {"--prompt_ids 2 --num_beams 2", "--num_beams: has no effect without --temperature 0"},
        {"--prompt_ids 2 --length_penalty 2", "--length_penalty: has no effect without"},
        {"--prompt_ids 2 --early_stopping", "--early_stopping: has no effect without"},
        {"--prompt_ids 2 --set model.decoder_start_token_id=32 --max_new_tokens 3",
         "model.decoder_start_token_id: token 32, the decoder has 32"},
        {"--prompt_ids 32 --max_new_tokens 3", "token 32, the model has 32"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct spawn_result r;
        generate("", converted("hf_t5"), row[i].options, &r);
        CU_ASSERT(r.status != 0 && strstr(r.err, row[i].why) != NULL);
        if (!strstr(r.err, row[i].why)) (void)fprintf(stderr, "\"%s\"\n", r.err);
        spawn_free(&r);
    }
}
