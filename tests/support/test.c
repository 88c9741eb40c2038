// SPDX-License-Identifier: Apache-2.0
#include "test.h"

#include <wsc/rng.h>

#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

bool test_ok(enum wsc_err rc)
{
    if (rc) (void)fprintf(stderr, "%s\n", wsc_err_trace());
    return rc == WSC_OK;
}

bool test_near(double a, double b, double tol, const char *what, const char *file, int line)
{
    if (fabs(a - b) <= tol * (1.0 + fabs(b))) return true;
    (void)fprintf(stderr, "%s:%d: %s is %.9g, expected %.9g (difference %.3g)\n", file, line, what,
                  a, b, a - b);
    return false;
}

bool test_eq(long long a, long long b, const char *what, const char *file, int line)
{
    if (a == b) return true;
    (void)fprintf(stderr, "%s:%d: %s: %lld, %lld\n", file, line, what, a, b);
    return false;
}

bool test_str(const char *a, const char *b, const char *what, const char *file, int line)
{
    if (a && b && !strcmp(a, b)) return true;
    (void)fprintf(stderr, "%s:%d: %s is \"%s\", expected \"%s\"\n", file, line, what,
                  a ? a : "(null)", b ? b : "(null)");
    return false;
}

static unsigned n_skipped;

void test_skip(const char *what, const char *why)
{
    printf("\nskipped: %s: %.*s\n", what, (int)strcspn(why, "\n"), why);
    n_skipped++;
}

unsigned test_n_skipped(void)
{
    return n_skipped;
}

void test_limit(int processor_s)
{
    enum { BUSY_HOST = 15 };
    const char *text = getenv("WSC_TEST_PATIENCE");
    const long said = text ? strtol(text, NULL, 10) : 1, patience = said > 0 ? said : 1;
    const struct itimerval processor = {.it_value.tv_sec = patience * processor_s};
    (void)setitimer(ITIMER_PROF, &processor, NULL);
    (void)alarm((unsigned)(BUSY_HOST * patience * processor_s));
}

static char tmpdir[64];

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info, (void)kind, (void)where;
    return remove(path);
}

static void remove_tmpdir(void)
{
    (void)nftw(tmpdir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

const char *test_tmpdir(void)
{
    if (tmpdir[0]) return tmpdir;
    (void)snprintf(tmpdir, sizeof tmpdir, "/tmp/wsc-test-XXXXXX");
    if (!mkdtemp(tmpdir)) abort();
    (void)atexit(remove_tmpdir);
    return tmpdir;
}

void test_fill(float *x, int64_t n, uint64_t seed)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)(2.0 * wsc_rng_uniform(seed, wsc_rng_stream(WSC_RNG_TEST, 0), (uint64_t)i) -
                       1.0);
}

int test_in_child(int (*call)(void *arg), void *arg, char *text, size_t size)
{
    int end[2], status = 0;
    ssize_t n = 0, got;
    CU_ASSERT_FATAL(!pipe(end));
    (void)fflush(NULL);
    const pid_t child = fork();
    if (!child) {
        (void)dup2(end[1], STDERR_FILENO);
        _exit(call(arg));
    }
    (void)close(end[1]);
    while (n < (ssize_t)size - 1 && (got = read(end[0], text + n, size - 1 - (size_t)n)) > 0)
        n += got;
    text[n] = '\0';
    (void)close(end[0]);
    CU_ASSERT(waitpid(child, &status, 0) == child);
    return status;
}
