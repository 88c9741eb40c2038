// SPDX-License-Identifier: Apache-2.0
#include "side.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

void side_fail(struct side_result *r, const char *format, ...)
{
    va_list args;
    if (r->failed) return;
    r->failed = true;
    va_start(args, format);
    (void)vsnprintf(r->why, sizeof r->why, format, args);
    va_end(args);
}

/* A job's process and the pipe on which its result comes. */
struct worker {
    pid_t pid; /* 0: free */
    int i, from;
};

static _Noreturn void work(int i, int limit_s, int to, side_job job)
{
    struct side_result r = {0};
    (void)alarm((unsigned)limit_s);
    job(i, &r);
    const bool written = write(to, &r, sizeof r) == (ssize_t)sizeof r;
    _exit(written ? 0 : 1);
}

static void start(struct worker *w, int i, int limit_s, side_job job)
{
    int ends[2];
    if (pipe(ends)) abort();
    (void)fflush(NULL);
    const pid_t pid = fork();
    if (pid < 0) abort();
    if (pid == 0) work(i, limit_s, ends[1], job);
    (void)close(ends[1]);
    *w = (struct worker){pid, i, ends[0]};
}

/* The result is smaller than a pipe, so that no job waits for its reader. */
static void finish(struct worker *w, side_done done)
{
    struct side_result r = {0};
    if (read(w->from, &r, sizeof r) != (ssize_t)sizeof r)
        side_fail(&r, "job %d did not come to its end", w->i);
    (void)close(w->from);
    w->pid = 0;
    done(w->i, &r);
}

static struct worker *worker_of(struct worker *w, int n, pid_t pid)
{
    for (int k = 0; k < n; k++)
        if (w[k].pid == pid) return &w[k];
    return NULL;
}

void side_by_side(int n, int at_once, int limit_s, side_job job, side_done done)
{
    struct worker *w = calloc((size_t)at_once, sizeof *w);
    if (!w) abort();
    for (int next = 0, running = 0; next < n || running;) {
        if (next < n && running < at_once) {
            start(worker_of(w, at_once, 0), next++, limit_s, job);
            running++;
            continue;
        }
        const pid_t pid = wait(NULL);
        struct worker *ended = pid > 0 ? worker_of(w, at_once, pid) : NULL;
        if (!ended) continue;
        finish(ended, done);
        running--;
    }
    free(w);
}
