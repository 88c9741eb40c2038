// SPDX-License-Identifier: Apache-2.0
/* What a job writes: metrics.jsonl, performance.json, and the log lines of the Model Zoo.  Numbers
 * must parse back to the very values that were written. */
#include "../../../src/job/job_metrics.h"
#include "../../../src/job/job_performance.h"
#include "../../../src/job/log_lines.h"
#include "../../support/test.h"
#include "../report/report_case.h"

#include <wsc/file.h>
#include <wsc/log.h>
#include <wsc/mem.h>
#include <wsc/out.h>

#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

/* An evaluation of a decoder: step, loss, accuracy, perplexity, samples. */
#define EVALUATION(at, l, a, p, n)                                                                 \
    (&(struct job_evaluation){.step = (at),                                                        \
                              .samples = (n),                                                      \
                              .loss = (l),                                                         \
                              .score = {{"eval/accuracy", "eval_accuracy", (a)},                   \
                                        {"eval/lm_perplexity", "eval_perplexity", (p)}},           \
                              .n_scores = 2})

static struct job_logged_step step_of(int64_t step)
{
    return (struct job_logged_step){.step = step,
                                    .has_values = true,
                                    .loss = 10.0 / 3.0 + (double)step,
                                    .lr = 6e-4,
                                    .grad_norm = 0.1,
                                    .loss_scale = 1,
                                    .tokens = 1LL << 40,
                                    .virtual_time_ps = 9007199254740993, /* not a double */
                                    .step_time_ps = 123456789,
                                    .samples_per_s = 1e22,
                                    .tokens_per_s = 4.9406564584124654e-324,
                                    .host_samples_per_s = 1.7976931348623157e308,
                                    .host_tokens_per_s = 7,
                                    .breakdown = {1, 2, 3, 4, 5}};
}

static double real_of(json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    CU_ASSERT(json_is_real(value));
    return json_real_value(value);
}

static int64_t int_of(json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    CU_ASSERT(json_is_integer(value));
    return json_integer_value(value);
}

/* ---- metrics.jsonl ----------------------------------------------------------------------------
 */

static void check_step_line(json_t *o, const struct job_logged_step *s)
{
    T_EQ(int_of(o, "step"), s->step);
    CU_ASSERT(real_of(o, "loss") == s->loss);
    CU_ASSERT(real_of(o, "lr") == s->lr);
    CU_ASSERT(real_of(o, "grad_norm") == s->grad_norm);
    CU_ASSERT(real_of(o, "loss_scale") == s->loss_scale);
    T_EQ(int_of(o, "tokens"), s->tokens);
    T_EQ(int_of(o, "virtual_time_ps"), s->virtual_time_ps);
    T_EQ(int_of(o, "step_time_ps"), s->step_time_ps);
    CU_ASSERT(real_of(o, "samples_per_s") == s->samples_per_s);
    CU_ASSERT(real_of(o, "tokens_per_s") == s->tokens_per_s);
    CU_ASSERT(real_of(o, "host_samples_per_s") == s->host_samples_per_s);
    CU_ASSERT(real_of(o, "host_tokens_per_s") == s->host_tokens_per_s);
    T_EQ(int_of(json_object_get(o, "breakdown"), "reduce_wait"), 3);
}

TEST(job_metrics, every_value_parses_back)
{
    struct job_metrics *m;
    struct job_logged_step s = step_of(1);
    T_OK(job_metrics_open(&m, case_path("parse/back"), (struct job_kept){-1, -1, -1, -1}));
    T_OK(job_metrics_step(m, &s));
    s.has_hash = true;
    s.weights_hash = 0xabcULL;
    T_OK(job_metrics_step(m, &s));
    job_metrics_close(&m);
    const char *text = case_read(case_path("parse/back/metrics.jsonl"));
    json_t *first = json_loads(text, JSON_DISABLE_EOF_CHECK, NULL);
    json_t *second = json_loads(strchr(text, '\n'), JSON_DISABLE_EOF_CHECK, NULL);
    CU_ASSERT_FATAL(first && second);
    check_step_line(first, &s);
    CU_ASSERT_PTR_NULL(json_object_get(first, "weights_hash"));
    T_STR(json_string_value(json_object_get(second, "weights_hash")), "0000000000000abc");
    json_decref(first);
    json_decref(second);
}

TEST(job_metrics, eval_line_has_its_own_fields)
{
    struct job_metrics *m;
    T_OK(job_metrics_open(&m, case_path("eval"), (struct job_kept){-1, -1, -1, -1}));
    T_OK(job_metrics_eval(m, EVALUATION(20, 2.5, 0.25, 12.182493960703473, 64)));
    job_metrics_close(&m);
    T_STR(case_read(case_path("eval/metrics.jsonl")),
          "{\"step\": 20, \"eval_loss\": 2.5, \"eval_accuracy\": 0.25, "
          "\"eval_perplexity\": 12.182493960703473, \"samples\": 64}\n");
}

TEST(job_metrics, non_finite_is_refused_and_nothing_is_written)
{
    struct job_metrics *m;
    struct job_logged_step s = step_of(7);
    T_OK(job_metrics_open(&m, case_path("nan"), (struct job_kept){-1, -1, -1, -1}));
    s.grad_norm = NAN;
    CU_ASSERT_EQUAL(job_metrics_step(m, &s), WSC_NUMERIC);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "grad_norm is "));
    CU_ASSERT_EQUAL(job_metrics_eval(m, EVALUATION(7, INFINITY, 0, 0, 1)), WSC_NUMERIC);
    job_metrics_close(&m);
    T_STR(case_read(case_path("nan/metrics.jsonl")), "");
}

static void resume_torn(void)
{
    struct job_metrics *m;
    struct job_logged_step s = step_of(21);
    T_OK(job_metrics_open(&m, case_path("resume"), (struct job_kept){20, 20, -1, -1}));
    T_OK(job_metrics_step(m, &s));
    job_metrics_close(&m);
}

TEST(job_metrics, resume_keeps_whole_lines_up_to_its_step)
{
    T_OK(wsc_file_mkdir(case_path("resume")));
    case_write(case_path("resume/metrics.jsonl"),
               "{\"step\": 10, \"loss\": 1.0}\n{\"step\": 20, \"eval_loss\": 1.0}\n"
               "{\"step\": 30, \"loss\": 1.0}\n{\"step\": 11, \"lo");
    const char *said = case_capture(2, resume_torn);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "metrics.jsonl:4: the last line is torn"));
    const char *text = case_read(case_path("resume/metrics.jsonl"));
    const char *kept = "{\"step\": 10, \"loss\": 1.0}\n{\"step\": 20, \"eval_loss\": 1.0}\n"
                       "{\"step\": 21, \"loss\"";
    CU_ASSERT(!strncmp(text, kept, strlen(kept)));
    CU_ASSERT_PTR_NULL(strstr(text, "\"lo\n"));
}

/* A run that was killed after it had repeated an evaluation, before its next checkpoint. */
TEST(job_metrics, resume_drops_the_evaluation_that_it_repeats)
{
    struct job_metrics *m;
    T_OK(wsc_file_mkdir(case_path("again")));
    case_write(case_path("again/metrics.jsonl"),
               "{\"step\": 10, \"eval_loss\": 1.0}\n{\"step\": 20, \"loss\": 1.0}\n"
               "{\"step\": 20, \"eval_loss\": 1.0}\n");
    T_OK(job_metrics_open(&m, case_path("again"), (struct job_kept){20, 19, -1, -1}));
    job_metrics_close(&m);
    T_STR(case_read(case_path("again/metrics.jsonl")),
          "{\"step\": 10, \"eval_loss\": 1.0}\n{\"step\": 20, \"loss\": 1.0}\n");
}

/* Steps 11 and 12 were repeated before the checkpoint of step 12 was written, after four lines;
 * then another run evaluated it, or the training continued. */
TEST(job_metrics, resume_keeps_the_lines_of_its_checkpoint)
{
    static const char first[] = "{\"step\": 12, \"loss\": 1.0}\n{\"step\": 13, \"loss\": 1.0}\n"
                                "{\"step\": 11, \"loss\": 1.0}\n{\"step\": 12, \"loss\": 1.0}\n";
    static const char evaluated[] = "{\"step\": 12, \"eval_loss\": 1.0}\n";
    struct job_metrics *m;
    T_OK(wsc_file_mkdir(case_path("lines")));
    for (int i = 0; i < 2; i++) {
        char text[400], kept[400];
        (void)snprintf(text, sizeof text, "%s%s{\"step\": 13, \"loss\": 1.0}\n%s", first,
                       i ? "{\"step\": 12, \"loss\": 2.0}\n" : "", evaluated);
        (void)snprintf(kept, sizeof kept, "%s%s", first, i ? "" : evaluated);
        case_write(case_path("lines/metrics.jsonl"), text);
        T_OK(job_metrics_open(&m, case_path("lines"), (struct job_kept){12, 12, 4, 13}));
        T_EQ(job_metrics_lines(m), i ? 4 : 5);
        job_metrics_close(&m);
        T_STR(case_read(case_path("lines/metrics.jsonl")), kept);
    }
}

/* Only the checkpoint of step 6, after six lines, was copied here: the file has lines of the steps
 * that a killed run trained from it, and of an evaluation. */
TEST(job_metrics, resume_drops_lost_steps_where_the_file_has_fewer_lines)
{
    struct job_metrics *m;
    T_OK(wsc_file_mkdir(case_path("fewer")));
    case_write(case_path("fewer/metrics.jsonl"),
               "{\"step\": 6, \"eval_loss\": 1.0}\n{\"step\": 7, \"loss\": 1.0}\n"
               "{\"step\": 8, \"loss\": 1.0}\n{\"step\": 8, \"eval_loss\": 1.0}\n");
    T_OK(job_metrics_open(&m, case_path("fewer"), (struct job_kept){6, 6, 6, 6}));
    T_EQ(job_metrics_lines(m), 1);
    job_metrics_close(&m);
    T_STR(case_read(case_path("fewer/metrics.jsonl")), "{\"step\": 6, \"eval_loss\": 1.0}\n");
}

TEST(job_metrics, a_foreign_line_in_the_middle_is_an_error_and_the_file_stays)
{
    const char *text = "{\"step\": 1}\nnot ours\n{\"step\": 2}\n";
    struct job_metrics *m;
    T_OK(wsc_file_mkdir(case_path("foreign")));
    case_write(case_path("foreign/metrics.jsonl"), text);
    CU_ASSERT_EQUAL(job_metrics_open(&m, case_path("foreign"), (struct job_kept){5, 5, -1, -1}),
                    WSC_FORMAT);
    CU_ASSERT_PTR_NULL(m);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "metrics.jsonl:2:"));
    T_STR(case_read(case_path("foreign/metrics.jsonl")), text);
}

TEST(job_metrics, a_fresh_start_is_empty)
{
    struct job_metrics *m;
    T_OK(wsc_file_mkdir(case_path("fresh")));
    case_write(case_path("fresh/metrics.jsonl"), "{\"step\": 0}\n{\"step\": 1}\n");
    T_OK(job_metrics_open(&m, case_path("fresh"), (struct job_kept){-1, -1, -1, -1}));
    job_metrics_close(&m);
    T_STR(case_read(case_path("fresh/metrics.jsonl")), "");
}

/* A file size limit stands for a full disk: the write stops in the middle of the line. */
TEST(job_metrics, a_line_that_does_not_fit_leaves_nothing_behind)
{
    struct job_metrics *m;
    struct rlimit before, small;
    struct job_logged_step s = step_of(2);
    T_OK(job_metrics_open(&m, case_path("full"), (struct job_kept){-1, -1, -1, -1}));
    T_OK(job_metrics_eval(m, EVALUATION(1, 1, 0, 2, 3)));
    size_t size = strlen(case_read(case_path("full/metrics.jsonl")));
    CU_ASSERT_FATAL(!getrlimit(RLIMIT_FSIZE, &before));
    small = before;
    small.rlim_cur = size + 40;
    void (*old)(int) = signal(SIGXFSZ, SIG_IGN);
    CU_ASSERT_FATAL(!setrlimit(RLIMIT_FSIZE, &small));
    enum wsc_err rc = job_metrics_step(m, &s);
    CU_ASSERT_FATAL(!setrlimit(RLIMIT_FSIZE, &before));
    (void)signal(SIGXFSZ, old);
    CU_ASSERT_EQUAL(rc, WSC_IO);
    T_EQ(strlen(case_read(case_path("full/metrics.jsonl"))), size);
    T_OK(job_metrics_eval(m, EVALUATION(3, 1, 0, 2, 3))); /* and the next one is whole again */
    T_EQ(strlen(case_read(case_path("full/metrics.jsonl"))), 2 * size);
    job_metrics_close(&m);
}

TEST(job_metrics, a_step_without_values_has_no_loss)
{
    struct job_metrics *m = NULL;
    struct job_logged_step s = step_of(1);
    char path[512], line[4096] = "";
    s.has_values = false;
    T_OK(job_metrics_open(&m, test_tmpdir(), (struct job_kept){-1, -1, -1, -1}));
    T_OK(job_metrics_step(m, &s));
    job_metrics_close(&m);
    (void)snprintf(path, sizeof path, "%s/metrics.jsonl", test_tmpdir());
    FILE *file = fopen(path, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_PTR_NOT_NULL(fgets(line, sizeof line, file));
    (void)fclose(file);
    json_t *o = json_loads(line, 0, NULL);
    CU_ASSERT(json_is_null(json_object_get(o, "loss")));
    CU_ASSERT(json_is_null(json_object_get(o, "grad_norm")));
    CU_ASSERT(json_is_integer(json_object_get(o, "step_time_ps")));
    json_decref(o);
}

/* ---- performance.json -------------------------------------------------------------------------
 */

static const struct job_performance performance = {.num_csx = 16,
                                                   .ranks = 4,
                                                   .roles = 25,
                                                   .params = 111053568,
                                                   .global_batch_size = 120,
                                                   .micro_batch_size = 8,
                                                   .first_step = 7,
                                                   .steps = 50,
                                                   .virtual_time_ps = 1234567890123,
                                                   .samples_per_s = 1.0 / 3.0,
                                                   .tokens_per_s = 2048.0 / 3.0,
                                                   .mfu = 0.21,
                                                   .joules_per_token = 0.5,
                                                   .host_seconds = 12.5,
                                                   .host_tokens_per_s = 1e4,
                                                   .breakdown = {10, 20, 30, 40, 50},
                                                   .host_sent_bytes = 78,
                                                   .wafer_peak_rss_bytes = 77,
                                                   .model_name = "gpt \"tiny\"\x80",
                                                   .params_file = "a\\b.yaml",
                                                   .cluster_file = NULL,
                                                   .cluster_name = "CS-2",
                                                   .cluster_hash = 255,
                                                   .numerics = "host"};

static void check_performance(json_t *o)
{
    json_t *breakdown = json_object_get(o, "breakdown"), *from = json_object_get(o, "provenance");
    T_EQ(int_of(o, "num_csx"), 16);
    T_EQ(int_of(o, "first_step"), 7);
    T_EQ(int_of(o, "virtual_time_ps"), 1234567890123);
    CU_ASSERT(real_of(o, "samples_per_s") == 1.0 / 3.0);
    CU_ASSERT(real_of(o, "host_tokens_per_s") == 1e4);
    T_EQ(int_of(o, "host_sent_bytes"), 78);
    T_EQ(int_of(json_object_get(o, "host_memory"), "wafer_peak_rss_bytes"), 77);
    T_EQ(int_of(breakdown, "compute"), 10);
    T_EQ(int_of(breakdown, "weights_wait"), 20);
    T_EQ(int_of(breakdown, "reduce_wait"), 30);
    T_EQ(int_of(breakdown, "boundary"), 40);
    T_EQ(int_of(breakdown, "input_wait"), 50);
    T_STR(json_string_value(json_object_get(o, "model")), "gpt \"tiny\"\xEF\xBF\xBD");
    T_STR(json_string_value(json_object_get(from, "program")), out_version());
    T_STR(json_string_value(json_object_get(from, "params_file")), "a\\b.yaml");
    T_STR(json_string_value(json_object_get(from, "cluster_hash")), "00000000000000ff");
    CU_ASSERT_PTR_NULL(json_object_get(from, "cluster_file"));
}

static void print_performance(void)
{
    T_OK(job_performance_print(&performance));
}

TEST(job_performance, file_and_stdout_parse_back)
{
    T_OK(wsc_file_mkdir(case_path("perf")));
    T_OK(job_performance_write(case_path("perf"), &performance));
    json_t *file = json_loads(case_read(case_path("perf/performance.json")), 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    check_performance(file);
    json_t *printed = json_loads(case_capture(1, print_performance), 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(printed);
    check_performance(printed);
    json_decref(file);
    json_decref(printed);
}

/* Started again after its end, a run has nothing to train. */
TEST(job_performance, a_run_without_steps_keeps_the_totals_of_the_training)
{
    struct job_performance trained = performance, again = performance;
    trained.steps = 60;
    again.steps = 0;
    T_OK(wsc_file_mkdir(case_path("ended")));
    T_OK(job_performance_write(case_path("ended"), &again));
    CU_ASSERT_PTR_NOT_NULL(strstr(case_read(case_path("ended/performance.json")), "\"steps\": 0"));
    T_OK(job_performance_write(case_path("ended"), &trained));
    T_OK(job_performance_write(case_path("ended"), &again));
    CU_ASSERT_PTR_NOT_NULL(strstr(case_read(case_path("ended/performance.json")), "\"steps\": 60"));
}

TEST(job_performance, a_file_that_cannot_be_made_is_told)
{
    case_write(case_path("plain"), "x");
    CU_ASSERT_EQUAL(job_performance_write(case_path("plain/below"), &performance), WSC_IO);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(wsc_err_message(), "performance.json: cannot be written: Not a directory"));
}

/* ---- log lines --------------------------------------------------------------------------------
 */

static void log_lines(void)
{
    struct job_logged_step s = {.step = 50, .has_values = true, .loss = 7.151234};
    const struct job_rate r = {0.123456, 2, 20, 10000000000000}, e = {10, 20, 20, 1000000000000};
    const struct job_pace unknown = {1234.5, 1230.1, NAN, NAN, false};
    const struct job_pace known = job_pace_of(&r, 8, 100, 1905, true);
    job_print_train(&s, &unknown);
    job_print_train(&s, &known);
    job_print_eval(50, 3, 2.5, &e);
    job_print_eval_end(EVALUATION(1, 2.5, 0.1, 12.25, 1));
}

TEST(job_log_lines, lines_are_the_model_zoos)
{
    static const char *const expected[] = {
        "| Train Device=CSX, Step=50, Loss=7.15123, Rate=1234.50 samples/sec, "
        "GlobalRate=1230.10 samples/sec",
        "| Train Device=CSX, Step=50, Loss=7.15123, Rate=0.123 samples/sec, "
        "GlobalRate=2.00 samples/sec, LoopTimeRemaining=0:06:40, TimeRemaining>2:07:00",
        "| Eval Device=CSX, GlobalStep=50, Batch=3, Loss=2.50000, Rate=10.00 samples/sec, "
        "GlobalRate=20.00 samples/sec",
        "Avg Eval Loss: 2.5",
        "Evaluation metrics:",
        "  - eval/accuracy = 0.1",
        "  - eval/lm_perplexity = 12.25"};
    const char *text = case_capture(1, log_lines);
    for (int i = 0; i < 7; i++) {
        char line[256] = "";
        CU_ASSERT_FATAL(strlen(text) > 33 && strchr(text, '\n') != NULL);
        CU_ASSERT(!strncmp(text + 23, " INFO:   ", 9));
        (void)snprintf(line, sizeof line, "%.*s", (int)strcspn(text + 32, "\n"), text + 32);
        T_STR(line, expected[i]);
        text = strchr(text, '\n') + 1;
    }
    T_STR(text, "");
}

TEST(job_log_lines, rate_is_smoothed_and_global_rate_is_not)
{
    struct job_rate r = {0};
    const int64_t second = 1000000000000;
    job_rate_update(&r, 100, second);
    T_NEAR(r.rate, 100, 1e-15);
    job_rate_update(&r, 600, 2 * second);
    T_NEAR(r.rate, 0.6 * 300 + 0.4 * 100, 1e-15);
    T_NEAR(r.global_rate, 700.0 / 3.0, 1e-15);
    job_rate_update(&r, 5, 0); /* no time passed: nothing to learn */
    T_NEAR(r.rate, 220, 1e-15);
}

TEST(job_log_lines, no_memory_is_kept)
{
    T_EQ(wsc_mem_in_use(WSC_MEM_REPORT), 0);
}
