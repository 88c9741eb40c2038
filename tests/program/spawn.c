// SPDX-License-Identifier: Apache-2.0
#include "spawn.h"

#include "../support/test.h"

#include <wsc/clock.h>

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { COMMAND_BYTES = 8192, LIMIT_S = 60, BUSY_HOST = 5 };

static void nap(void)
{
    const struct timespec ms = {.tv_nsec = 1000000};
    (void)nanosleep(&ms, NULL);
}

/* The whole file, or an empty text; at most the first 16 MiB. */
static char *read_text(const char *path)
{
    enum { MOST = 16 << 20 };
    FILE *f = fopen(path, "rb");
    size_t capacity = 1 << 16, n = 0;
    char *text = malloc(capacity + 1);
    if (!text) abort();
    for (size_t got = 1; f && got && n < MOST; n += got) {
        if (n == capacity) {
            char *more = realloc(text, 2 * capacity + 1);
            if (!more) abort();
            text = more;
            capacity *= 2;
        }
        got = fread(text + n, 1, capacity - n, f);
    }
    text[n] = '\0';
    if (f) (void)fclose(f);
    return text;
}

/* ---- processes of a command ------------------------------------------------------------------ */

/* Does the environment of process @p pid hold @p mark?  A process that has ended holds nothing. */
static bool has_mark(const char *pid, const char *mark)
{
    char path[300];
    (void)snprintf(path, sizeof path, "/proc/%s/environ", pid);
    char *text = NULL;
    size_t size = 0;
    bool found = false;
    FILE *f = fopen(path, "rb");
    while (f && !found && getdelim(&text, &size, '\0', f) > 0)
        found = !strcmp(text, mark);
    free(text);
    if (f) (void)fclose(f);
    return found;
}

static int for_processes(const struct spawn *s, int signal_number)
{
    int n = 0;
    DIR *proc = opendir("/proc");
    if (!proc) return 0;
    for (struct dirent *e = readdir(proc); e; e = readdir(proc)) {
        if (!isdigit((unsigned char)e->d_name[0]) || !has_mark(e->d_name, s->mark)) continue;
        pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
        if (signal_number && pid != s->pid) (void)kill(pid, signal_number);
        n += pid != s->pid;
    }
    (void)closedir(proc);
    return n;
}

int spawn_kill(const struct spawn *s)
{
    return for_processes(s, SIGKILL);
}

int spawn_signal(const struct spawn *s, int signal_number)
{
    return for_processes(s, signal_number);
}

bool spawn_has(const char *program)
{
    struct spawn_result r;
    spawn_run(&r, "command -v %s", program);
    const bool has = r.status == 0;
    if (!has) test_skip(program, "is not installed");
    spawn_free(&r);
    return has;
}

bool spawn_ended(const struct spawn *s)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)s->pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid == s->pid;
}

pid_t spawn_find_rank(const struct spawn *s, int rank, pid_t but)
{
    char variable[48];
    pid_t found = 0;
    (void)snprintf(variable, sizeof variable, "OMPI_COMM_WORLD_RANK=%d", rank);
    DIR *proc = opendir("/proc");
    if (!proc) return 0;
    for (struct dirent *e = readdir(proc); e && !found; e = readdir(proc)) {
        const pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
        if (pid > 0 && pid != but && has_mark(e->d_name, s->mark) && has_mark(e->d_name, variable))
            found = pid;
    }
    (void)closedir(proc);
    return found;
}

static int count_left(const struct spawn *s)
{
    const double until = wsc_clock_s() + 2;
    int n = for_processes(s, 0);
    for (; n && wsc_clock_s() < until; n = for_processes(s, 0))
        nap();
    return n;
}

/* ---- one command ----------------------------------------------------------------------------- */

/* Signals are as a terminal's commands have them: a shell cannot trap what was ignored before it
 * began; in the background of a script SIGINT is, and below nohup SIGHUP. */
static void become(const struct spawn *s, const char *command)
{
    static const int reset[] = {SIGINT, SIGQUIT, SIGHUP};
    char mark[64];
    for (size_t i = 0; i < sizeof reset / sizeof *reset; i++)
        (void)signal(reset[i], SIG_DFL);
    (void)snprintf(mark, sizeof mark, "%s", s->mark);
    int out = open(s->out_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int err = open(s->err_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    (void)alarm(0);
    if (dup2(in, 0) >= 0 && dup2(out, 1) >= 0 && dup2(err, 2) >= 0 && !putenv(mark))
        (void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

bool spawn_start(struct spawn *s, const char *command)
{
    static int count;
    count++;
    (void)snprintf(s->mark, sizeof s->mark, "WSC_TEST_MARK=%ld.%d", (long)getpid(), count);
    const char *own = strchr(s->mark, '=') + 1;
    (void)snprintf(s->out_path, sizeof s->out_path, "%s/%s.out", test_tmpdir(), own);
    (void)snprintf(s->err_path, sizeof s->err_path, "%s/%s.err", test_tmpdir(), own);
    (void)fflush(NULL);
    s->pid = fork();
    if (s->pid == 0) become(s, command);
    return s->pid > 0;
}

static int exit_status(int wait_status)
{
    if (WIFEXITED(wait_status)) return WEXITSTATUS(wait_status);
    return 128 + (WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0);
}

/* SIGTERM first: mpirun then ends its ranks. */
static void end_all(const struct spawn *s)
{
    const double until = wsc_clock_s() + 2;
    (void)for_processes(s, SIGTERM);
    while (for_processes(s, 0) && wsc_clock_s() < until)
        nap();
    (void)for_processes(s, SIGKILL);
    (void)kill(s->pid, SIGKILL);
}

void spawn_wait(struct spawn *s, double seconds, struct spawn_result *r)
{
    const double until = wsc_clock_s() + BUSY_HOST * seconds;
    int wait_status = 0;
    pid_t ended = 0;
    for (; !ended && wsc_clock_s() < until; ended = waitpid(s->pid, &wait_status, WNOHANG))
        nap();
    r->status = exit_status(wait_status);
    if (!ended) {
        end_all(s);
        (void)waitpid(s->pid, &wait_status, 0);
        r->status = -1;
    }
    r->n_left = count_left(s);
    r->out = read_text(s->out_path);
    r->err = read_text(s->err_path);
    (void)remove(s->out_path);
    (void)remove(s->err_path);
}

static void run(struct spawn_result *r, const char *command)
{
    struct spawn s;
    if (!spawn_start(&s, command)) abort();
    spawn_wait(&s, LIMIT_S, r);
}

void spawn_run(struct spawn_result *r, const char *format, ...)
{
    char command[COMMAND_BYTES];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(command, sizeof command, format, args);
    va_end(args);
    if (n < 0 || n >= COMMAND_BYTES) abort();
    run(r, command);
}

void spawn_free(struct spawn_result *r)
{
    free(r->out);
    free(r->err);
    r->out = r->err = NULL;
}

char *spawn_output(struct spawn_result *r)
{
    T_EQ(r->status, 0);
    char *text = r->out;
    r->out = NULL;
    spawn_free(r);
    if (!text) abort();
    return text;
}

bool spawn_ok(const char *format, ...)
{
    char command[COMMAND_BYTES];
    struct spawn_result r;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(command, sizeof command, format, args);
    va_end(args);
    if (n < 0 || n >= COMMAND_BYTES) abort();
    run(&r, command);
    const bool ok = r.status == 0 && r.n_left == 0;
    if (!ok)
        (void)fprintf(stderr, "exit status %d, %d processes left: %s\n%s\n", r.status, r.n_left,
                      command, r.err);
    spawn_free(&r);
    return ok;
}
