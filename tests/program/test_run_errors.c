// SPDX-License-Identifier: Apache-2.0
/* What a user reads when something is wrong: tests/golden/program_errors/NAME.cmd holds shell lines
 * that prepare, and last the program's arguments; NAME.expected holds what must stand on stderr and
 * the exit status, alone and on three ranks alike.  NAME.mpi.cmd runs on three ranks only,
 * NAME.alone.cmd without mpirun only.  $TMP is an empty folder, $DATA the tests' dataset.
 * With WSC_GOLDEN_UPDATE in the environment the texts are written again; read the difference. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <wsc/conf.h>
#include <wsc/mem.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER "tests/golden/program_errors"
enum { TEXT_BYTES = 8192, LEAST_CASES = 30, MOST_CASES = 200 };

static bool ends(const char *name, const char *tail)
{
    size_t n = strlen(name), m = strlen(tail);
    return n >= m && !strcmp(name + n - m, tail);
}

/* Replace every @p what in @p text by @p with, which is shorter. */
static void shorten(char *text, const char *what, const char *with)
{
    const size_t n = strlen(what), m = strlen(with);
    for (char *at = strstr(text, what); n > m && at; at = strstr(at + m, what)) {
        memmove(at + m, at + n, strlen(at + n) + 1);
        for (size_t i = 0; i < m; i++)
            at[i] = with[i];
    }
}

/* Sizes of whole files are the storage library's business: `stored_eof = 123` ends as `= N`. */
static void drop_file_sizes(char *text)
{
    static const char key[] = "stored_eof = ";
    for (char *at = strstr(text, key); at; at = strstr(at, key)) {
        at += sizeof key - 1;
        const size_t n = strspn(at, "0123456789");
        if (!n) continue;
        *at = 'N';
        memmove(at + 1, at + n, strlen(at + n) + 1);
    }
}

/* Lines of the log carry a clock and are no errors. */
static void drop_warnings(char *text)
{
    char *to = text;
    for (char *line = text; *line;) {
        size_t n = strcspn(line, "\n");
        n += line[n] == '\n';
        char *warning = strstr(line, " WARNING:   ");
        if (!warning || warning >= line + n) {
            memmove(to, line, n);
            to += n;
        }
        line += n;
    }
    *to = '\0';
}

/* All but the last line prepare; the last line is given to the program. */
static bool split(char *text, char **setup, char **arguments)
{
    size_t n = strlen(text);
    if (n && text[n - 1] == '\n') text[n - 1] = '\0';
    char *last = strrchr(text, '\n');
    *setup = last ? text : NULL;
    *arguments = last ? last + 1 : text;
    if (last) *last = '\0';
    return **arguments != '\0';
}

static void run_case(const char *file, const char *launch, char said[TEXT_BYTES])
{
    char path[300], *bytes = NULL, *setup, *arguments;
    size_t n;
    struct spawn_result r;
    (void)snprintf(path, sizeof path, FOLDER "/%s", file);
    T_OK(conf_read_file(path, &bytes, &n));
    CU_ASSERT_FATAL(split(bytes, &setup, &arguments));
    const char *tmp = job_path("error");
    (void)setenv("TMP", tmp, 1);
    (void)setenv("DATA", job_data(), 1);
    CU_ASSERT_FATAL(spawn_ok("mkdir -p \"$TMP\" && { %s\n}", setup ? setup : ":"));
    spawn_run(&r, "%s \"$WSC\" %s", launch, arguments);
    drop_warnings(r.err);
    drop_file_sizes(r.err);
    shorten(r.err, tmp, "$TMP");
    shorten(r.err, job_data(), "$DATA");
    (void)snprintf(said, TEXT_BYTES, "%sexit status %d\n", r.err, r.status);
    T_EQ(r.n_left, 0);
    spawn_free(&r);
    wsc_free(bytes);
    (void)spawn_ok("rm -rf \"$TMP\"");
}

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    (void)fputs(text, f);
    (void)fclose(f);
}

static void check_case(const char *file, const char *launch, bool update)
{
    char said[TEXT_BYTES], path[300], *expected = NULL;
    size_t n;
    run_case(file, launch, said);
    (void)snprintf(path, sizeof path, FOLDER "/%.*s.expected", (int)(strlen(file) - 4), file);
    if (update) write_text(path, said);
    T_OK(conf_read_file(path, &expected, &n));
    const bool same = test_str(said, expected, file, __FILE__, __LINE__);
    if (!same) (void)fprintf(stderr, "%s: launched by \"%s\"\n", file, launch);
    CU_ASSERT(same);
    /* One line, of ours. */
    const char *first = strstr(said, "wsc: error: ");
    CU_ASSERT(first == said && !strstr(first + 1, "wsc: error: "));
    CU_ASSERT(!ends(said, "exit status 0\n") && !ends(said, "exit status -1\n"));
    wsc_free(expected);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

static int list_cases(char name[MOST_CASES][128])
{
    int n = 0;
    DIR *folder = opendir(FOLDER);
    CU_ASSERT_PTR_NOT_NULL_FATAL(folder);
    if (!folder) return 0;
    for (struct dirent *e = readdir(folder); e && n < MOST_CASES; e = readdir(folder))
        if (ends(e->d_name, ".cmd")) (void)snprintf(name[n++], 128, "%.127s", e->d_name);
    (void)closedir(folder);
    qsort(name, (size_t)n, sizeof name[0], compare_names);
    CU_ASSERT(n >= LEAST_CASES);
    return n;
}

TEST(errors_golden, alone)
{
    static char name[MOST_CASES][128];
    const int n = list_cases(name);
    for (int i = 0; i < n; i++)
        if (!ends(name[i], ".mpi.cmd"))
            check_case(name[i], "", getenv("WSC_GOLDEN_UPDATE") != NULL);
}

TEST(errors_golden, on_three_ranks)
{
    static char name[MOST_CASES][128];
    const int n = list_cases(name);
    for (int i = 0; i < n; i++) {
        const bool only_here = ends(name[i], ".mpi.cmd");
        if (ends(name[i], ".alone.cmd")) continue;
        check_case(name[i], "mpirun --quiet -n 3", only_here && getenv("WSC_GOLDEN_UPDATE"));
    }
}
