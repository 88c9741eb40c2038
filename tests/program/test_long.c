// SPDX-License-Identifier: Apache-2.0
/* A long run takes no more memory and no more descriptors than a short one, on every rank, and its
 * files grow by so many bytes a step.  WSC_LONG=STEPS in the environment makes it longer. */
#include "../support/test.h"
#include "fault.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEFAULT_STEPS = 1500, LOG_STEPS = 25, RANKS = 5, LIMIT_S = 3600, POOLS_BYTES = 1 << 20 };

static int n_steps(void)
{
    const char *text = getenv("WSC_LONG");
    const long n = text ? strtol(text, NULL, 10) : DEFAULT_STEPS;
    return n >= DEFAULT_STEPS && n <= 1000000 ? (int)n : DEFAULT_STEPS;
}

/* ---- one rank at one moment ------------------------------------------------------------------ */

struct moment {
    int step;
    long rss_bytes, n_open;
};

static bool look_at(pid_t pid, struct moment *m)
{
    char path[64], text[128] = "", *rest;
    long n = 0;
    (void)snprintf(path, sizeof path, "/proc/%ld/statm", (long)pid);
    FILE *f = fopen(path, "r");
    const bool read = f && fgets(text, sizeof text, f);
    if (f) (void)fclose(f);
    (void)strtol(text, &rest, 10); /* the size of all that is mapped */
    const long resident = strtol(rest, NULL, 10);
    (void)snprintf(path, sizeof path, "/proc/%ld/fd", (long)pid);
    DIR *d = opendir(path);
    while (d && readdir(d))
        n++;
    if (d) (void)closedir(d);
    m->rss_bytes = resident * sysconf(_SC_PAGESIZE);
    m->n_open = n - 2; /* without . and .. */
    return read && resident > 0 && n > 2;
}

/* The last step of metrics.jsonl. */
static int step_of(const char *dir)
{
    static const char head[] = "{\"step\": ";
    char path[300], *line = NULL;
    size_t size = 0;
    int step = 0;
    (void)snprintf(path, sizeof path, "%s/metrics.jsonl", dir);
    FILE *f = fopen(path, "r");
    while (f && getline(&line, &size, f) > 0)
        if (!strncmp(line, head, sizeof head - 1))
            step = (int)strtol(line + sizeof head - 1, NULL, 10);
    free(line);
    if (f) (void)fclose(f);
    return step;
}

static long bytes_of(const char *dir, const char *name)
{
    char path[300];
    struct stat info;
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    return stat(path, &info) ? 0 : (long)info.st_size;
}

/* ---- a run ----------------------------------------------------------------------------------- */

struct rank {
    pid_t pid;
    struct moment first, last; /* after a third of the steps, and the newest */
    long n_open, n_open_late;  /* fewest descriptors in the second third, and in the last one; a
                                * checkpoint that is being written has one more */
};

static long fewer(long n, long seen)
{
    return !n || seen < n ? seen : n;
}

static void look_at_all(struct spawn *s, struct rank *rank, int n_ranks, int step)
{
    for (int r = 0; r < n_ranks; r++) {
        struct moment now = {.step = step};
        if (!rank[r].pid) rank[r].pid = spawn_find_rank(s, r, 0);
        if (!rank[r].pid || !look_at(rank[r].pid, &now)) continue;
        if (!rank[r].first.step) rank[r].first = now;
        rank[r].last = now;
        /* The third checkpoint, at half of the steps, starts the process that looks at HDF5 files
         * (store/probe.c), whose socket stays open. */
        if (step < n_steps() * 7 / 12) continue;
        long *n_open = step < n_steps() * 3 / 4 ? &rank[r].n_open : &rank[r].n_open_late;
        *n_open = fewer(*n_open, now.n_open);
    }
}

/* Less than 1 KiB of memory a step, once MPI's pools have filled, and not a descriptor. */
static void check_rank(const struct rank *k, int r, int n_ranks, struct side_result *out)
{
    const int steps = k->last.step - k->first.step;
    const long bytes = k->last.rss_bytes - k->first.rss_bytes;
    if (steps < n_steps() / 3) side_fail(out, "rank %d was seen for %d steps", r, steps);
    if (getenv("WSC_LONG"))
        printf("rank %d of %d: %d steps, %ld KiB at the end, %.1f bytes a step, %ld descriptors\n",
               r, n_ranks, steps, k->last.rss_bytes >> 10, (double)bytes / (steps ? steps : 1),
               k->n_open_late);
    if (bytes >= 1024L * steps + POOLS_BYTES)
        side_fail(out, "rank %d of %d grew by %ld bytes in %d steps", r, n_ranks, bytes, steps);
    if (!k->n_open || k->n_open_late > k->n_open)
        side_fail(out, "rank %d of %d: %ld descriptors after %ld", r, n_ranks, k->n_open_late,
                  k->n_open);
}

/* Two blocks of 16, with evaluations and checkpoints now and then. */
static const char *command_of(const char *dir, int n_ranks)
{
    static char command[2048];
    (void)snprintf(command, sizeof command,
                   "exec mpirun --quiet -n %d %s --mode train_and_eval --num_csx 2 "
                   "--set cluster.memoryx.shards=2 --set model.hidden_size=16 "
                   "--set model.filter_size=32 --set train_input.batch_size=2 --max_steps %d "
                   "--set runconfig.log_steps=%d --set runconfig.eval_frequency=%d "
                   "--set runconfig.checkpoint_steps=%d --set runconfig.max_checkpoints=2 "
                   "--set trace_hash=false --model_dir %s",
                   n_ranks, job_tiny(), n_steps(), LOG_STEPS, n_steps() / 6, n_steps() / 6, dir);
    return command;
}

/* What the files of a step take: a line of metrics, a line of the log, an event. */
static void check_files(const char *dir, struct side_result *out)
{
    enum { MOST_PER_LINE = 1024 };
    const long lines = n_steps() / LOG_STEPS;
    const long metrics = bytes_of(dir, "metrics.jsonl"), log = bytes_of(dir, "run.log");
    if (getenv("WSC_LONG"))
        printf("bytes for each logged step: %ld of metrics, %ld of the log\n", metrics / lines,
               log / lines);
    if (metrics > MOST_PER_LINE * lines || log > MOST_PER_LINE * lines + 16384)
        side_fail(out, "%ld bytes of metrics, %ld of the log for %ld lines", metrics, log, lines);
}

static void run_long(int i, struct side_result *out)
{
    static const int n_ranks[] = {1, 3, RANKS};
    struct rank rank[RANKS] = {{0}};
    struct spawn s;
    struct spawn_result r;
    char dir[160];
    (void)snprintf(dir, sizeof dir, "%s", job_path("long"));
    if (!spawn_start(&s, command_of(dir, n_ranks[i]))) side_fail(out, "no run");
    while (!spawn_ended(&s)) {
        const int step = step_of(dir);
        if (step >= n_steps() / 3 && step < n_steps()) look_at_all(&s, rank, n_ranks[i], step);
        fault_sleep_ms(100);
    }
    spawn_wait(&s, 1, &r);
    if (r.status || r.n_left) side_fail(out, "status %d: %s", r.status, r.err);
    for (int k = 0; k < n_ranks[i]; k++)
        check_rank(&rank[k], k, n_ranks[i], out);
    check_files(dir, out);
    (void)fflush(stdout);
    spawn_free(&r);
}

static void take(int i, const struct side_result *r)
{
    if (r->failed) (void)fprintf(stderr, "run %d: %s\n", i, r->why);
    CU_ASSERT(!r->failed);
}

TEST(long, memory_descriptors_and_files)
{
    (void)job_data();
    side_by_side(3, 2, LIMIT_S, run_long, take);
}
