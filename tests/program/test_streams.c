// SPDX-License-Identifier: Apache-2.0
/* What goes to stdout and what to stderr: with --json stdout is one JSON value, results that cannot
 * be written are a failure, and several ranks print and write what one process does. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <jansson.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- JSON ------------------------------------------------------------------------------------ */

/* Run @p command, whose stdout must be one JSON value; that of @p key, 0 when it is missing. */
static double json_of(const char *command, const char *key)
{
    struct spawn_result r;
    spawn_run(&r, "%s", command);
    T_EQ(r.status, 0);
    json_t *value = json_loads(r.out, JSON_REJECT_DUPLICATES, NULL);
    if (!value) (void)fprintf(stderr, "%s: no JSON: %s\n", command, r.out);
    CU_ASSERT(value != NULL);
    const double number = json_number_value(json_object_get(value, key));
    json_decref(value);
    spawn_free(&r);
    return number;
}

TEST(streams, stdout_is_json_and_nothing_else)
{
    char dir[160], command[1024];
    (void)snprintf(dir, sizeof dir, "%s", job_path("json"));
    const char *const option[] = {"--num_steps 2",   "--mode train_and_eval --num_steps 2",
                                  "--mode eval",     "--mode eval --numerics none",
                                  "--validate_only", "--compile_only"};
    for (int i = 0; i < (int)(sizeof option / sizeof *option); i++) {
        (void)snprintf(command, sizeof command, "%s --num_csx 2 --json --model_dir %s%d %s",
                       job_tiny(), dir, i, option[i]);
        (void)json_of(command, "num_csx");
    }
    (void)json_of("\"$WSC\" inspect --json configs/params/tiny.yaml", "");
    (void)json_of("\"$WSC\" inspect --json configs/cluster/cs2.yaml", "");
    CU_ASSERT(json_of("\"$WSC\" mesh reduce --json --explain --fabric 4x4", "cycles") > 0);
    (void)json_of("\"$WSC\" mesh survey --json --max_p 4 --max_words 4", "");
    (void)json_of("\"$WSC\" validate --mesh --json --pairs 3", "");
}

TEST(streams, an_evaluation_is_the_same_as_json)
{
    char dir[160], command[1024];
    (void)snprintf(dir, sizeof dir, "%s", job_path("eval_json"));
    (void)snprintf(command, sizeof command,
                   "%s --num_steps 2 --set runconfig.checkpoint_steps=2 --model_dir %s >&2 && "
                   "%s --mode eval --model_dir %s --json",
                   job_tiny(), dir, job_tiny(), dir);
    const double loss = json_of(command, "eval_loss");
    CU_ASSERT(loss > 1 && loss < 6);
    struct spawn_result r;
    spawn_run(&r, "sed -n 's/.*\"eval_loss\": \\([0-9.]*\\).*/\\1/p' %s/metrics.jsonl", dir);
    CU_ASSERT_DOUBLE_EQUAL(strtod(r.out, NULL), loss, 1e-6);
    spawn_free(&r);
}

/* The texts are in the object, as they are printed without --json. */
TEST(streams, generated_texts_are_in_the_json)
{
    struct spawn_result plain, json;
    const char *const job = "--mode generate --prompt 'a \"b\"' --prompt cat --max_new_tokens 5 "
                            "--temperature 0 --set model.vocab_size=256 --set "
                            "runconfig.autoload_last_checkpoint=false";
    spawn_run(&plain, "%s %s --model_dir %s | grep -v INFO:", job_tiny(), job, job_path("plain"));
    spawn_run(&json, "%s %s --model_dir %s --json", job_tiny(), job, job_path("json_texts"));
    json_t *value = json_loads(json.out, JSON_REJECT_DUPLICATES, NULL);
    json_t *texts = json_object_get(json_object_get(value, "generation"), "texts");
    T_EQ(json_array_size(texts), 2);
    for (int i = 0; i < 2; i++) {
        const char *text = json_string_value(json_array_get(texts, (size_t)i));
        CU_ASSERT(text && strstr(plain.out, text));
    }
    json_decref(value);
    spawn_free(&plain);
    spawn_free(&json);
}

/* ---- results that nobody can read ------------------------------------------------------------ */

TEST(streams, a_full_or_closed_stdout_is_a_failure)
{
    static const char *const command[] = {
        "run --params configs/params/tiny.yaml --dump_params",
        "run --params configs/params/tiny.yaml --validate_only",
        "run --params configs/params/tiny.yaml --compile_only --json",
        "run --params configs/params/tiny.yaml --print_placement",
        "run --help",
        "ranks --num_csx 4",
        "--help",
        "--help-config",
        "--version",
        "inspect --json configs/cluster/cs2.yaml",
        "inspect tests/data/h5py_samples.h5",
        "mesh list",
        "mesh reduce --json",
    };
    for (int i = 0; i < (int)(sizeof command / sizeof *command); i++)
        for (int closed = 0; closed < 2; closed++) {
            struct spawn_result r;
            spawn_run(&r, "\"$WSC\" %s %s", command[i], closed ? ">&-" : ">/dev/full");
            const char *line = strstr(r.err, "wsc: error: ");
            const bool good = r.status == 1 && line == r.err &&
                              strstr(line, " cannot be written") &&
                              !strstr(line + 1, "wsc: error: ");
            if (!good) (void)fprintf(stderr, "%s: %d: %s\n", command[i], r.status, r.err);
            CU_ASSERT(good);
            spawn_free(&r);
        }
    /* A run that prints nothing needs no stdout. */
    CU_ASSERT(spawn_ok("\"$WSC\" data --input README.md --out %s 2>/dev/null", job_path("quiet")));
}

/* ---- ranks ----------------------------------------------------------------------------------- */

/* @p command with --out @p out, a folder without files of another command, alone and on three
 * ranks: the same on stdout, the same files. */
static void check_ranks(const char *command, const char *out, const char *file)
{
    struct spawn_result one, three;
    spawn_run(&one, "rm -rf %s; \"$WSC\" %s %s && mv %s/%s %s.alone", out, command, out, out, file,
              out);
    spawn_run(&three, "mpirun --quiet -n 3 \"$WSC\" %s %s", command, out);
    T_EQ(one.status, 0);
    T_EQ(three.status, 0);
    T_STR(three.out, one.out);
    T_STR(three.err, "");
    CU_ASSERT(spawn_ok("cmp %s/%s %s.alone", out, file, out));
    spawn_free(&one);
    spawn_free(&three);
}

TEST(streams, ranks_write_what_one_process_writes)
{
    char out[160];
    (void)snprintf(out, sizeof out, "%s", job_path("ranks"));
    check_ranks("scale --params configs/params/tiny.yaml,configs/params/gpt3_111m.yaml "
                "--num_csx 1,2,4,8 --effects --out",
                out, "scaling.csv");
    check_ranks("scale --params configs/params/tiny.yaml --num_csx 1,2 --sensitivity --tokens 1B "
                "--sweep cluster.swarmx.latency=1us..1ms:3 --out",
                out, "sensitivity.csv");
    check_ranks("scale --params configs/params/tiny.yaml --num_csx 1,2 --breakdown --out", out,
                "op_profile.csv");
}

/* Published rows shared over ranks: three of a paper, so that a family can be left out. */
TEST(streams, ranks_validate_and_calibrate_as_one_process_does)
{
    char command[400];
    const char *dir = job_path("rows"), *out = job_path("ranks_rows");
    CU_ASSERT_FATAL(spawn_ok("mkdir -p %s && { head -n 1 benchmarks/reference/single_system.csv; "
                             "grep -E '^usc_(256m_b128|bert_base_b1024|bert_base_b512),' "
                             "benchmarks/reference/single_system.csv; } >%s/few.csv",
                             dir, dir));
    (void)snprintf(command, sizeof command, "validate --reference %s --out", dir);
    check_ranks(command, out, "validation.csv");
    struct spawn_result one, three;
    spawn_run(&one, "\"$WSC\" calibrate --leave_one_out --reference %s --out %s/a.yaml", dir, out);
    spawn_run(&three,
              "mpirun --quiet -n 3 \"$WSC\" calibrate --leave_one_out --reference %s --out "
              "%s/a.yaml --overwrite",
              dir, out);
    T_EQ(one.status, 0);
    T_EQ(three.status, 0);
    T_STR(three.out, one.out);
    CU_ASSERT_PTR_NOT_NULL(strstr(one.out, "without its family ("));
    CU_ASSERT_PTR_NOT_NULL(strstr(one.out, "all neutral"));
    spawn_free(&one);
    spawn_free(&three);
}

/* The point that does not fit is of one rank; all leave it out, one reports it.  The lines differ
 * in the time of day alone, which comes first. */
TEST(streams, a_point_that_fails_is_one_line_on_ranks)
{
    struct spawn_result one, three;
    const char *const command = "\"$WSC\" scale --params configs/params/tiny.yaml --num_csx 1,2,17 "
                                "--cluster configs/cluster/andromeda.yaml --out";
    spawn_run(&one, "%s %s", command, job_path("beyond"));
    spawn_run(&three, "mpirun --quiet -n 3 %s %s", command, job_path("beyond"));
    T_EQ(one.status, 3);
    T_EQ(three.status, 3);
    const char *a = strstr(one.err, "tiny on 17 systems is left out: num_csx: 17, but Andromeda");
    const char *b = strstr(three.err, "tiny on 17 systems is left out: num_csx: 17");
    CU_ASSERT_PTR_NOT_NULL_FATAL(a);
    CU_ASSERT_PTR_NOT_NULL_FATAL(b);
    T_STR(b, a); /* to the end: the error, once */
    T_EQ(b - three.err, a - one.err);
    spawn_free(&one);
    spawn_free(&three);
}

/* An error of the one rank that works is the status of all. */
TEST(streams, an_error_behind_the_options_is_one_line_on_ranks)
{
    struct spawn_result r;
    spawn_run(&r, "mpirun --quiet -n 3 \"$WSC\" validate --mesh --pairs 2 --seed 3 "
                  "--set cluster.wafer.nonsense=1");
    T_EQ(r.status, 2);
    const char *line = strstr(r.err, "wsc: error: ");
    CU_ASSERT(line != NULL && !strstr(line + 1, "wsc: error: "));
    spawn_free(&r);
}
