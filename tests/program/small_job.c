// SPDX-License-Identifier: Apache-2.0
#include "small_job.h"

#include "../support/test.h"
#include "spawn.h"

#include <wsc/rng.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Words of three letters out of a few: something that a model can learn. */
static void write_text(const char *path)
{
    enum { WORDS = 12000 };
    static const char *const word[] = {"the ", "cat ", "sat ", "on ", "a ", "red ", "mat. ", "\n"};
    FILE *f = fopen(path, "w");
    if (!f) abort();
    for (uint64_t i = 0; i < WORDS; i++)
        (void)fputs(word[wsc_rng_u64(1, wsc_rng_stream(WSC_RNG_TEST, 4), i) % 8], f);
    (void)fclose(f);
}

const char *job_data(void)
{
    static char dir[128];
    char text[160];
    if (dir[0]) return dir;
    (void)snprintf(dir, sizeof dir, "%s/data", test_tmpdir());
    (void)snprintf(text, sizeof text, "%s/text.txt", test_tmpdir());
    write_text(text);
    if (!spawn_ok("\"$WSC\" data --input %s --out %s --max_seq_length 64 --split 0.1", text, dir))
        abort();
    return dir;
}

const char *job_path(const char *name)
{
    static char path[8][160];
    static int count;
    char *mine = path[count % 8];
    (void)snprintf(mine, sizeof path[0], "%s/%s.%ld.%d", test_tmpdir(), name, (long)getpid(),
                   count++);
    return mine;
}

const char *job_tiny(void)
{
    static char command[640];
    (void)snprintf(command, sizeof command,
                   "\"$WSC\" run --params configs/params/tiny.yaml --set trace_hash=true "
                   "--set train_input.data_dir=%s/train --set eval_input.data_dir=%s/val",
                   job_data(), job_data());
    return command;
}

/* The text of `"key": value` in a line of JSON. */
static void take(const char *line, const char *key, char value[40])
{
    char quoted[48];
    (void)snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    const char *at = strstr(line, quoted);
    value[0] = '\0';
    if (!at) return;
    at += strlen(quoted);
    (void)snprintf(value, 40, "%.*s", (int)strcspn(at, ",}\n"), at);
}

static long long take_int(const char *line, const char *key)
{
    char value[40];
    take(line, key, value);
    return *value ? strtoll(value, NULL, 10) : -1;
}

static void take_step(const char *line, struct job_metrics *m)
{
    struct job_step s = {.step = take_int(line, "step"),
                         .virtual_time_ps = take_int(line, "virtual_time_ps"),
                         .step_time_ps = take_int(line, "step_time_ps")};
    take(line, "loss", s.loss);
    take(line, "lr", s.lr);
    take(line, "grad_norm", s.grad_norm);
    take(line, "loss_scale", s.loss_scale);
    take(line, "weights_hash", s.hash);
    if (s.virtual_time_ps < 0) return;
    if (m->n == JOB_MAX_STEPS) abort();
    m->step[m->n++] = s;
}

bool job_read(const char *dir, struct job_metrics *m)
{
    char path[300], *line = NULL;
    size_t size = 0;
    memset(m, 0, sizeof *m);
    (void)snprintf(path, sizeof path, "%s/metrics.jsonl", dir);
    FILE *f = fopen(path, "r");
    if (!f) return false;
    while (getline(&line, &size, f) > 0)
        take_step(line, m);
    free(line);
    (void)fclose(f);
    return m->n > 0;
}

static bool differ(const struct job_step *a, const struct job_step *b)
{
    return a->step != b->step || strcmp(a->loss, b->loss) != 0 || strcmp(a->lr, b->lr) != 0 ||
           strcmp(a->grad_norm, b->grad_norm) != 0 || strcmp(a->loss_scale, b->loss_scale) != 0 ||
           strcmp(a->hash, b->hash) != 0;
}

bool job_same_values(const struct job_metrics *a, const struct job_metrics *b)
{
    for (int i = 0; i < a->n && i < b->n; i++) {
        if (!differ(&a->step[i], &b->step[i])) continue;
        (void)fprintf(stderr, "step %lld: loss %s, norm %s, hash %s; step %lld: %s, %s, %s\n",
                      a->step[i].step, a->step[i].loss, a->step[i].grad_norm, a->step[i].hash,
                      b->step[i].step, b->step[i].loss, b->step[i].grad_norm, b->step[i].hash);
        return false;
    }
    return a->n == b->n && a->n > 0;
}

bool job_same_times(const struct job_metrics *a, const struct job_metrics *b)
{
    for (int i = 0; i < a->n && i < b->n; i++) {
        if (a->step[i].virtual_time_ps == b->step[i].virtual_time_ps &&
            a->step[i].step_time_ps == b->step[i].step_time_ps)
            continue;
        (void)fprintf(stderr, "step %lld: %lld ps and %lld ps\n", a->step[i].step,
                      a->step[i].virtual_time_ps, b->step[i].virtual_time_ps);
        return false;
    }
    return a->n == b->n && a->n > 0;
}

const char *job_pairs(void)
{
    static char dir[200];
    if (dir[0]) return dir;
    (void)snprintf(dir, sizeof dir, "%s", job_path("pairs"));
    CU_ASSERT_FATAL(spawn_ok(
        "seq 1 120 | awk '{ printf \"{\\\"prompt\\\": \\\"bring %%d of them\\\", \", $1 * 37 %% "
        "101; "
        "printf \"\\\"chosen\\\": \\\"yes, %%d at once\\\", \", $1 * 37 %% 101; "
        "printf \"\\\"rejected\\\": \\\"no, never %%d\\\"}\\n\", $1 * 37 %% 101 }' >%s.jsonl && "
        "\"$WSC\" data --input %s.jsonl --out %s --chat_template plain --max_seq_length 64 "
        "--split 0.2",
        dir, dir, dir));
    return dir;
}

long long job_performance(const char *dir, const char *key, int n)
{
    char path[200], line[400], quoted[48];
    long long value = -1;
    (void)snprintf(path, sizeof path, "%s/performance.json", dir);
    (void)snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f) && n >= 0) {
        const char *at = strstr(line, quoted);
        if (at && !n--) value = strtoll(at + strlen(quoted), NULL, 10);
    }
    if (f) (void)fclose(f);
    return value;
}
