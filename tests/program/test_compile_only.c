// SPDX-License-Identifier: Apache-2.0
/* The text of `wsc run --compile_only`: every figure of model, parameters, plan and stages from
 * the sizes that the test asks for, the speed from a run of the same job. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Layers, width, heads, heads of keys, feed-forward, vocabulary, tokens. */
enum { L = 3, H = 96, N_HEADS = 4, N_KV = 2, F = 320, V = 1000, T = 128, KV = N_KV * H / N_HEADS };
enum { BATCH = 24, SYSTEMS = 3, MICRO = 4, STEPS = 7, LAST = 50 };
enum {
    EMBEDDING = V * H + T * H,
    ATTENTION = 2 * (H * H + H) + 2 * (H * KV + KV),
    FEED_FORWARD = H * F + F + F * H + H,
    NORMS = 4 * H,
    FINAL_NORM = 2 * H,
    LAYER = ATTENTION + FEED_FORWARD + NORMS
};

/* The job with these sizes. */
static const char *job_of_sizes(void)
{
    static char command[1024];
    (void)snprintf(
        command, sizeof command,
        "%s --num_csx %d --num_steps %d --max_steps %d --set model.num_hidden_layers=%d "
        "--set model.hidden_size=%d --set model.num_heads=%d --set model.filter_size=%d "
        "--set model.vocab_size=%d --set model.max_position_embeddings=%d "
        "--set model.attention_module=multiquery_attention "
        "--set model.extra_attention_params.num_kv_groups=%d --set train_input.batch_size=%d "
        "--set train_input.micro_batch_size=%d --set eval_input.batch_size=%d",
        job_tiny(), SYSTEMS, STEPS, LAST, L, H, N_HEADS, F, V, T, N_KV, BATCH, MICRO, 2 * SYSTEMS);
    return command;
}

/* The words of a line, in order, with any blanks between them; prints the line that is missing. */
static void check_line(const char *text, const char *words)
{
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
        const char *at = line, *word = words;
        for (;;) {
            at += strspn(at, " ");
            word += strspn(word, " ");
            const size_t n = strcspn(word, " ");
            if (!n || strncmp(at, word, n) != 0) break;
            at += n;
            word += n;
        }
        if (!*word && (*at == '\n' || !*at)) return;
        if (!line[strcspn(line, "\n")]) break;
    }
    (void)fprintf(stderr, "no line \"%s\" in\n%s", words, text);
    CU_FAIL("a line is missing");
}

#define CHECK(text, ...)                                                                           \
    do {                                                                                           \
        char words_[256];                                                                          \
        (void)snprintf(words_, sizeof words_, __VA_ARGS__);                                        \
        check_line(text, words_);                                                                  \
    } while (0)

static void check_model(const char *text)
{
    CHECK(text, "model %d sequential blocks of width %d, layernorm", L, H);
    CHECK(text, "attention %d heads of %d, %d of keys and values; positions: learned", N_HEADS,
          H / N_HEADS, N_KV);
    CHECK(text, "feed-forward %d wide, gelu", F);
    CHECK(text, "tokens %d in the vocabulary, tied output layer; %d in a sequence", V, T);
    CHECK(text, "batch %d sequences, micro-batch %d", BATCH, MICRO);
    CHECK(text, "evaluation %d sequences, micro-batch auto", 2 * SYSTEMS);
    CHECK(text, "steps %d, at most up to step %d", STEPS, LAST);
    CHECK(text, "embedding %d", EMBEDDING);
    CHECK(text, "attention %d", L * ATTENTION);
    CHECK(text, "feed-forward %d", L * FEED_FORWARD);
    CHECK(text, "norms of blocks %d", L * NORMS);
    CHECK(text, "final norm and head %d", FINAL_NORM);
    CHECK(text, "total %d", EMBEDDING + L * LAYER + FINAL_NORM);
}

/* A stage with @p n parameters of 4 bytes; adds its cycles of both passes. */
static void check_stage(const char *text, const char *name, int n, double *cycles)
{
    char row[64];
    const double kb = 4e-3 * n;
    (void)snprintf(row, sizeof row, "\n  %-10s", name);
    const char *at = strstr(text, row);
    long long found = 0, forward = 0, backward = 0;
    double size = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    if (!at) return;
    at += strlen(row);
    /* NOLINTNEXTLINE(cert-err34-c): the program's own table, and each number is checked */
    T_EQ(sscanf(at, "%lld %lf kB %lld %lld", &found, &size, &forward, &backward), 4);
    T_EQ(found, n);
    T_NEAR(size / kb, 1, 0.0026); /* three digits */
    CU_ASSERT(forward > 0 && backward > forward);
    *cycles +=
        (double)(forward + backward) * (strncmp(name, "layers", strlen("layers")) == 0 ? L : 1);
}

/* Step time in s, samples/s, tokens/s and fraction of the peak of the last row. */
static void read_speed(const char *text, int systems, double speed[4])
{
    const char *at = strstr(text, "MFU\n");
    char *end;
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    at = at ? strchr(at + 4, '\n') : NULL; /* after the rule */
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    if (!at) return;
    T_EQ(strtol(at, &end, 10), systems);
    speed[0] = 1e-3 * strtod(end, &end);
    CU_ASSERT(!strncmp(end, " ms ", 4));
    end += strlen(" ms ");
    for (int i = 1; i <= 2; i++) { /* rates, with k or M */
        speed[i] = strtod(end, &end);
        const char *prefix = end[1] == 'k' || end[1] == 'M' ? end + 1 : NULL;
        if (!prefix) continue;
        speed[i] *= *prefix == 'k' ? 1e3 : 1e6;
        end += 2;
    }
    speed[3] = 1e-2 * strtod(end, &end);
    CU_ASSERT(!strncmp(end, " %\n", 3));
}

/* The rate of the last step of a run. */
static double rate_of_run(void)
{
    struct spawn_result r;
    spawn_run(&r, "%s --numerics none --model_dir %s", job_of_sizes(), job_path("plan"));
    T_EQ(r.status, 0);
    const char *at = r.out, *last = NULL;
    for (; (at = strstr(at, " Rate=")); at++)
        last = at;
    const double rate = last ? strtod(last + strlen(" Rate="), NULL) : 0;
    spawn_free(&r);
    return rate;
}

TEST(compile_only, prints_the_sizes_and_the_plan_of_the_job)
{
    const double clock = 1.1e9, n_micro = (double)BATCH / (SYSTEMS * MICRO);
    struct spawn_result r;
    double cycles = 0, speed[4] = {0};
    spawn_run(&r, "%s --compile_only", job_of_sizes());
    T_EQ(r.status, 0);
    check_model(r.out);
    CHECK(r.out, "plan on %d x CS-2", SYSTEMS);
    CHECK(r.out, "micro-batch %d sequences of a system", MICRO);
    CHECK(r.out, "micro-batches %.0f of a step", n_micro);
    check_stage(r.out, "embed", EMBEDDING, &cycles);
    check_stage(r.out, "layers.0-2", LAYER, &cycles);
    check_stage(r.out, "head", V * H + FINAL_NORM, &cycles);
    read_speed(r.out, SYSTEMS, speed);
    CU_ASSERT(speed[0] > n_micro * cycles / clock);
    T_NEAR(speed[1] * speed[0] / BATCH, 1, 6e-3);
    T_NEAR(speed[2] * speed[0] / (BATCH * T), 1, 6e-3);
    T_NEAR(BATCH / speed[0] / rate_of_run(), 1, 1e-3);
    spawn_free(&r);
}

/* Products of weights and of attention, forward once and backward twice, over the peak of 7.5
 * PFLOP/s that a CS-2 is sold with. */
TEST(compile_only, prints_the_fraction_of_the_peak)
{
    const double layers = 10, width = 768, vocabulary = 50257, tokens = 2048, peak = 7.5e15;
    const double forward =
        2 * (layers * 12 * width * width + vocabulary * width) + 4 * layers * tokens * width;
    struct spawn_result r;
    double speed[4] = {0};
    spawn_run(&r, "\"$WSC\" run --params configs/params/gpt3_111m.yaml --compile_only --num_csx 2");
    T_EQ(r.status, 0);
    read_speed(r.out, 2, speed);
    T_NEAR(speed[3] / (3 * forward * speed[2] / (2 * peak)), 1, 0.007);
    CU_ASSERT(speed[3] > 0.05);
    spawn_free(&r);
}

/* True if the row of the stage named @p name has no backward pass. */
static bool is_forward_alone(const char *text, const char *name)
{
    char row[64];
    (void)snprintf(row, sizeof row, "\n  %-10s ", name);
    const char *at = strstr(text, row), *end = at ? strchr(at + 1, '\n') : NULL;
    CU_ASSERT_PTR_NOT_NULL(at);
    return end && !strncmp(end - 2, " -", 2);
}

/* Equal blocks share a row.  Stages below the first one that trains have no backward pass, nor has
 * any in an evaluation. */
TEST(compile_only, prints_a_row_for_each_group_of_equal_blocks)
{
    struct spawn_result r;
    double cycles = 0;
    spawn_run(&r, "%s --compile_only --set 'model.freeze=[embedding, \"layers.[0-1]\"]'",
              job_of_sizes());
    T_EQ(r.status, 0);
    CU_ASSERT(is_forward_alone(r.out, "embed") && is_forward_alone(r.out, "layers.0-1"));
    check_stage(r.out, "layers.2", LAYER, &cycles);
    spawn_free(&r);
    spawn_run(&r, "%s --compile_only --mode eval", job_tiny());
    T_EQ(r.status, 0);
    CU_ASSERT(is_forward_alone(r.out, "embed") && is_forward_alone(r.out, "layers.0-1") &&
              is_forward_alone(r.out, "head"));
    spawn_free(&r);
}
