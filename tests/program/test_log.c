// SPDX-License-Identifier: Apache-2.0
/* Every line of a run's log against the forms that users' scripts look for, as POSIX extended
 * regular expressions, and the files that a run leaves beside it. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <dirent.h>
#include <regex.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define STAMP   "^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2},[0-9]{3} (INFO|WARNING):   "
#define NUMBER  "[0-9]+(\\.[0-9]+)?(e[+-]?[0-9]+)?"
#define RATES   "Rate=" NUMBER " samples/sec, GlobalRate=" NUMBER " samples/sec"
#define SECONDS "[0-9]+:[0-5][0-9]:[0-5][0-9]"

static struct form {
    const char *pattern;
    int least, n; /* lines of this form: at least in the run below, and found */
} form[] = {
    {"\\| Train Device=CSX, Step=[0-9]+, Loss=[0-9]+\\.[0-9]{5}, " RATES
     ", LoopTimeRemaining=" SECONDS ", TimeRemaining[>=]" SECONDS "$",
     20, 0},
    {"\\| Eval Device=CSX, GlobalStep=(10|20), Batch=[0-9]+, Loss=[0-9]+\\.[0-9]{5}, " RATES "$", 8,
     0},
    {"Avg Eval Loss: " NUMBER "$", 2, 0},
    {"Evaluation metrics:$", 2, 0},
    {"  - eval/accuracy = " NUMBER "$", 2, 0},
    {"  - eval/lm_perplexity = " NUMBER "$", 2, 0},
    {"Evaluation completed successfully!$", 2, 0},
    {"Saving checkpoint at step (10|20)$", 2, 0},
    {"Saved checkpoint .*/checkpoint_(10|20)\\.mdl$", 2, 0},
    {"Training completed successfully!$", 1, 0},
    {"Processed 160 training sample\\(s\\) in [0-9]+\\.[0-9]+ seconds of this host\\.$", 1, 0},
    {"Effective batch size is 8\\.$", 1, 0},
    {"Starting training loop 1, from global step 0 to 10$", 1, 0},
    {"Starting training loop 2, from global step 10 to 20$", 1, 0},
    {"Checkpoint autoloading is enabled\\. Looking for latest checkpoint in .+$", 1, 0},
    {"No checkpoints were found in \".+\"\\.$", 1, 0},
    {"No checkpoint was provided\\. Using randomly initialized model parameters\\.$", 1, 0},
    /* what this program says of its own */
    {"[0-9.]+ [kMG] parameters, [0-9]+ stages; .+$", 0, 0},
    {"Plan: .+$", 0, 0},
    {"Gradients on all links: [0-9.]+ [kMG]B, [0-9.]+ times the minimum; at most [0-9.]+ times, "
     "from .+$",
     1, 0},
};
enum { N_FORMS = sizeof form / sizeof *form };
static regex_t regex_of[N_FORMS];

static void compile_forms(void)
{
    char pattern[600];
    for (int i = 0; i < N_FORMS; i++) {
        (void)snprintf(pattern, sizeof pattern, STAMP "%s", form[i].pattern);
        CU_ASSERT_EQUAL_FATAL(regcomp(&regex_of[i], pattern, REG_EXTENDED | REG_NOSUB), 0);
    }
}

static void check_line(const char *line)
{
    for (int i = 0; i < N_FORMS; i++) {
        if (regexec(&regex_of[i], line, 0, NULL, 0)) continue;
        form[i].n++;
        return;
    }
    (void)fprintf(stderr, "no form for: %s\n", line);
    CU_FAIL("a line of the log has none of the known forms");
}

/* Cuts @p text into its lines. */
static void check_lines(char *text)
{
    while (*text) {
        char *end = text + strcspn(text, "\n");
        const bool last = !*end;
        *end = '\0';
        check_line(text);
        text = last ? end : end + 1;
    }
    for (int i = 0; i < N_FORMS; i++) {
        if (form[i].n < form[i].least)
            (void)fprintf(stderr, "%d lines of the form %s, expected %d\n", form[i].n,
                          form[i].pattern, form[i].least);
        CU_ASSERT(form[i].n >= form[i].least);
        regfree(&regex_of[i]);
    }
}

/* The number of the last match of @p pattern's first group, as a script takes it. */
static bool last_match(const char *text, const char *pattern)
{
    regex_t regex;
    regmatch_t match[2];
    bool found = !regcomp(&regex, pattern, REG_EXTENDED) && !regexec(&regex, text, 2, match, 0) &&
                 match[1].rm_eo > match[1].rm_so;
    regfree(&regex);
    if (!found) (void)fprintf(stderr, "nothing matches %s\n", pattern);
    return found;
}

static bool has_events(const char *dir, const char *mode)
{
    char path[300];
    bool found = false;
    (void)snprintf(path, sizeof path, "%s/%s", dir, mode);
    DIR *d = opendir(path);
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d))
        found = found || !strncmp(e->d_name, "events.out.tfevents.", 20);
    if (d) (void)closedir(d);
    (void)snprintf(path, sizeof path, "%s/%s/params_%s.yaml", dir, mode, mode);
    struct stat info;
    return found && !stat(path, &info) && info.st_size > 0;
}

TEST(log, every_line_has_a_known_form)
{
    struct spawn_result r;
    char dir[160];
    (void)snprintf(dir, sizeof dir, "%s", job_path("log"));
    spawn_run(&r, "%s --mode train_and_eval --num_csx 2 --model_dir %s", job_tiny(), dir);
    T_EQ(r.status, 0);
    compile_forms();
    /* What scripts grep for in the whole text. */
    CU_ASSERT(last_match(r.out, "\\|[ ]*Train .*GlobalRate=([0-9]*\\.?[0-9]+)[ ]+samples/sec"));
    CU_ASSERT(last_match(r.out, "\\|[ ]*Eval .*GlobalRate=([0-9]*\\.?[0-9]+)[ ]+samples/sec"));
    CU_ASSERT(last_match(r.out, "Effective batch size is +([0-9]+)\\."));
    CU_ASSERT(last_match(r.out, "Avg Eval Loss: (" NUMBER ")"));
    CU_ASSERT(last_match(r.out, "eval/lm_perplexity *= *(" NUMBER ")"));
    CU_ASSERT(last_match(r.out, "eval/accuracy *= *(" NUMBER ")"));
    check_lines(r.out);
    spawn_free(&r);
    CU_ASSERT(has_events(dir, "train"));
    CU_ASSERT(has_events(dir, "eval"));
    CU_ASSERT(spawn_ok("\"$WSC\" inspect %s/train/params_train.yaml", dir));
}

/* The threads that the first line of a run names; 1 where it names none. */
static long threads_of_run(const char *before, const char *options)
{
    struct spawn_result r;
    spawn_run(&r,
              "d=$(mktemp -d) && %s $WSC run --params configs/params/tiny.yaml --num_csx 1 "
              "--num_steps 1 --model_dir $d %s && rm -r $d",
              before, options);
    T_EQ(r.status, 0);
    const char *at = strstr(r.err, " stages; ");
    if (!at) at = strstr(r.out, " stages; ");
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    if (!at) return -1; /* not reached */
    char line[300] = "";
    (void)snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
    const char *of = strstr(line, " of ");
    const long n = of ? strtol(of + 4, NULL, 10) : 1;
    spawn_free(&r);
    return n;
}

/* Ranks that may run on the same processors share them; a small model has one thread. */
TEST(log, threads_are_the_processors_of_the_process)
{
    static const char wide[] = "--set model.hidden_size=256 --set model.filter_size=1024";
    cpu_set_t mine;
    T_EQ(sched_getaffinity(0, sizeof mine, &mine), 0);
    const int n = CPU_COUNT(&mine), most = 12; /* 64 tokens of 0.79 M weights / 4 M */
    T_EQ(threads_of_run("", wide), n < most ? n : most);
    T_EQ(threads_of_run("mpirun --quiet -n 1 --bind-to none", wide), n < most ? n : most);
    T_EQ(threads_of_run("mpirun --quiet -n 2 --oversubscribe --bind-to none", wide), n < 4 ? 1
                                                                                     : n / 2 < most
                                                                                         ? n / 2
                                                                                         : most);
    T_EQ(threads_of_run("OMP_NUM_THREADS=3", wide), 3);
    T_EQ(threads_of_run("OMP_NUM_THREADS=3", ""), 3);
    T_EQ(threads_of_run("", ""), 1);
    if (spawn_has("taskset")) T_EQ(threads_of_run("taskset -c 0", wide), 1);
}
