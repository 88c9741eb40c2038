// SPDX-License-Identifier: Apache-2.0
/* Progress of every command that can take longer than five seconds: what it does, how far it is,
 * how long it still takes.  WSC_PROGRESS_SECONDS makes nearly each report a line, so that small
 * work shows the parts that large work would.  docs/RUNNING.md has the same table. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <regex.h>
#include <stdio.h>
#include <string.h>

#define TINY      "--params configs/params/tiny.yaml --num_csx 1 "
#define ONE_MODEL "--params configs/params/gpt3_111m.yaml --num_csx 1,2 "

/* Commands in order; $D is a folder that they share.  Parts are separated by commas; one that ends
 * with `?` has no known total. */
static const struct {
    const char *command, *parts;
} rows[] = {
    {"run " TINY "--num_steps 2 --model_dir $D/run", "train"},
    {"run " TINY "--num_steps 2 --model_dir $D/run", "check,load weights,train"},
    {"run " TINY "--mode eval --model_dir $D/run", "evaluate"},
    {"run " TINY "--mode generate --model_dir $D/run --prompt_ids 1,2 --max_new_tokens 4",
     "generate"},
    {"scale " ONE_MODEL "--out $D/scale --effects --sensitivity --tokens 20xparams "
     "--sweep cluster.swarmx.latency=1us..1ms --breakdown",
     "sweep,effects,values,sensitivity,whole trainings,write?"},
    {"scale " ONE_MODEL "--out $D/faults --fault straggler:wafer=0,factor=1.5", "faults"},
    {"validate --reference $D/rows --out $D/validate", "predict,products?"},
    {"validate --mesh --pairs 2", "pairs"},
    {"validate --mesh --sparse --pairs 2", "sparse pairs"},
    {"calibrate --reference $D/rows --out $D/fitted.yaml --fit wafer.stage_latency "
     "--leave_one_out",
     "fit,rows left out,constants freed"},
    {"reproduce --reference $D/rows --out $D/again", "predict,curves,pictures"},
    {"law --params configs/params/tiny.yaml --sizes 32x1,64x1 --tokens 0.05xparams --out $D/law",
     "\"size 1 of 2, 32x1\",\"size 2 of 2, 64x1\",predict?"},
    {"mesh allreduce --fabric 128x1 --words 512", "allreduce?"},
    {"mesh linear --fabric 8x8 --tokens 64 --m 64 --k 64", "linear"},
    {"mesh survey --max_p 8 --max_words 16", "survey?"},
    {"mesh calibration --json", "calibration?"},
    {"data --input docs/*.md --out $D/data --max_seq_length 64", "bytes,samples"},
    {"data train-bpe --input docs/*.md --out $D/bpe --vocab_size 300", "bytes,merges"},
    {"convert --from hf --to cs --input tests/data/hf_gpt2 --out $D/gpt2", "convert"},
    {"inspect $D/run/checkpoint_2.mdl", "check"},
    {"doctor --quick", "checks"},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

/* A line of @p part in @p text: `wsc: train: 1 of 2, 50 %, 0:00:00 so far, 0:00:00 left (...)`. */
static bool has_line(const char *text, const char *part, bool has_total)
{
    char pattern[512];
    regex_t regex;
    (void)snprintf(
        pattern, sizeof pattern, "(^|\n)wsc: %s: [0-9]+%s, [0-9]+:[0-9]{2}:[0-9]{2} so far%s", part,
        has_total ? " of [0-9]+, [0-9]+ %" : "",
        has_total ? ", ([0-9]+:[0-9]{2}:[0-9]{2} left|time left not known yet)" : "[ \n]");
    CU_ASSERT_FATAL(!regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB));
    const bool found = !regexec(&regex, text, 0, NULL, 0);
    regfree(&regex);
    return found;
}

/* The next part of the list @p at, and whether it has a total; quotes keep commas. */
static const char *next_part(const char *at, char *part, size_t size, bool *has_total)
{
    const bool quoted = *at == '"';
    const size_t n = strcspn(at + quoted, quoted ? "\"" : ",");
    (void)snprintf(part, size, "%.*s", (int)n, at + quoted);
    *has_total = !n || part[n - 1] != '?';
    if (!*has_total) part[n - 1] = '\0';
    at += n + (quoted ? 2 : 0);
    return at + (*at == ',');
}

static void check_row(int i, const char *dir)
{
    struct spawn_result r;
    char part[64];
    bool has_total;
    spawn_run(&r, "export D=%s WSC_PROGRESS_SECONDS=1e-9; \"$WSC\" %s", dir, rows[i].command);
    T_EQ(r.status, 0);
    for (const char *at = rows[i].parts; *at;) {
        at = next_part(at, part, sizeof part, &has_total);
        const bool found = has_line(r.err, part, has_total);
        CU_ASSERT_TRUE(found);
        if (!found) (void)fprintf(stderr, "%s: no line of %s in\n%s", rows[i].command, part, r.err);
    }
    CU_ASSERT_PTR_NULL(strstr(r.out, " so far"));
    spawn_free(&r);
}

TEST(progress, every_long_command_shows_what_it_does_and_how_far_it_is)
{
    const char *dir = job_path("progress");
    CU_ASSERT_FATAL(spawn_ok(
        "mkdir -p %s/rows && { head -n 1 benchmarks/reference/single_system.csv; "
        "grep '^usc_256m_b' benchmarks/reference/single_system.csv; } >%s/rows/few.csv && "
        "mkdir %s/rows/products && cp benchmarks/reference/products/sparse.csv %s/rows/products && "
        "printf 'exhibits:\\n  - {id: hours, picture: ratios, title: Hours, rows: usc_*}\\n' "
        ">%s/rows/exhibits.yaml",
        dir, dir, dir, dir, dir));
    for (int i = 0; i < N_ROWS; i++)
        check_row(i, dir);
}

/* The check of a checkpoint that lets an older one go is part of the training. */
TEST(progress, a_check_inside_a_training_is_a_note)
{
    struct spawn_result r;
    spawn_run(&r,
              "WSC_PROGRESS_SECONDS=1e-9 \"$WSC\" run " TINY "--num_steps 4 --model_dir %s "
              "--set runconfig.checkpoint_steps=1 --set runconfig.max_checkpoints=1",
              job_path("checked"));
    T_EQ(r.status, 0);
    CU_ASSERT(!has_line(r.err, "check", true));
    CU_ASSERT(has_line(r.err, "train", true) && strstr(r.err, " (check)\n"));
    spawn_free(&r);
}

/* The longest one of all; its first strip takes longer than the silence before a line. */
TEST(progress, a_single_long_item_is_not_silent)
{
    struct spawn_result r;
    spawn_run(&r, "WSC_PROGRESS_SECONDS=0.2 timeout -s KILL 20 \"$WSC\" validate --mesh --wafer");
    CU_ASSERT(has_line(r.err, "strips of the wafer", true));
    spawn_free(&r);
}

TEST(progress, one_rank_reports)
{
    struct spawn_result r;
    spawn_run(&r,
              "WSC_PROGRESS_SECONDS=1e-9 mpirun --oversubscribe -n 2 \"$WSC\" scale " ONE_MODEL
              "--out %s 2>&1 | grep -c '^wsc: sweep: 0 of 2'",
              job_path("ranks"));
    T_STR(r.out, "1\n");
    spawn_free(&r);
}

TEST(progress, a_short_command_says_nothing_and_zero_turns_it_off)
{
    struct spawn_result r;
    spawn_run(&r, "unset WSC_PROGRESS_SECONDS; \"$WSC\" scale " ONE_MODEL "--out %s",
              job_path("short"));
    T_EQ(r.status, 0);
    spawn_free(&r);
    spawn_run(&r, "WSC_PROGRESS_SECONDS=0 \"$WSC\" run " TINY "--num_steps 2 --model_dir %s",
              job_path("off"));
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NULL(strstr(r.err, " so far"));
    spawn_free(&r);
}

TEST(progress, a_wrong_number_of_seconds_is_refused)
{
    static const char *const wrong[] = {"abc", "-1", "nan", "inf", "5 x"};
    for (int i = 0; i < (int)(sizeof wrong / sizeof *wrong); i++) {
        struct spawn_result r;
        spawn_run(&r, "WSC_PROGRESS_SECONDS='%s' \"$WSC\" scale " ONE_MODEL "--out %s", wrong[i],
                  job_path("wrong"));
        T_EQ(r.status, 2);
        CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "WSC_PROGRESS_SECONDS: expected seconds, at least 0"));
        spawn_free(&r);
    }
}

/* The table of docs/RUNNING.md names every command of the table above. */
TEST(progress, the_document_names_every_command)
{
    for (int i = 0; i < N_ROWS; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(rows[i].command, " "),
                       rows[i].command);
        CU_ASSERT(
            spawn_ok("sed -n '/^## Progress/,/^## /p' docs/RUNNING.md | grep -q '`%s'", name));
    }
}
