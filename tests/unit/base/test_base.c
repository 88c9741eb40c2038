// SPDX-License-Identifier: Apache-2.0
/* The bottom layer: errors, memory, growing arrays and texts, files, hashes, random numbers. */
#include "../../support/case_files.h"
#include "../../support/test.h"

#include <wsc/err.h>
#include <wsc/file.h>
#include <wsc/hash.h>
#include <wsc/log.h>
#include <wsc/mem.h>
#include <wsc/rng.h>
#include <wsc/text.h>

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static WSC_CHECKED enum wsc_err inner(void)
{
    return wsc_err_hint(WSC_RAISE(WSC_CAPACITY, "layer %d needs %d KiB", 3, 49), "use fewer");
}

static WSC_CHECKED enum wsc_err outer(void)
{
    TRY(inner());
    return WSC_OK;
}

TEST(text, endings)
{
    CU_ASSERT(wsc_ends_with("a.yaml", ".yaml") && wsc_ends_with(".yaml", ".yaml"));
    CU_ASSERT(wsc_ends_with("a", "") && !wsc_ends_with("yaml", ".yaml"));
    CU_ASSERT(!wsc_ends_with("a.yaml.gz", ".yaml"));
}

TEST(err, message_has_hint_and_trace_has_frames)
{
    CU_ASSERT_EQUAL(outer(), WSC_CAPACITY);
    T_STR(wsc_err_message(), "layer 3 needs 49 KiB; hint: use fewer");
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_trace(), "in inner()"));
    T_EQ(wsc_err_exit_status(WSC_CAPACITY), 3);
}

TEST(err, long_messages_are_cut_not_overrun)
{
    static char text[100000];
    memset(text, 'x', sizeof text - 1);
    CU_ASSERT_EQUAL(WSC_RAISE(WSC_IO, "%s", text), WSC_IO);
    CU_ASSERT(strlen(wsc_err_message()) < 70000);
}

TEST(mem, counts_aligns_and_zeroes)
{
    int64_t before = wsc_mem_in_use(WSC_MEM_TEST);
    char *p = wsc_alloc(WSC_MEM_TEST, 10, 3);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    if (!p) return;
    T_EQ((uintptr_t)p % 64, 0);
    T_EQ(wsc_mem_in_use(WSC_MEM_TEST) - before, 30);
    for (int i = 0; i < 30; i++)
        T_EQ(p[i], 0);
    p[29] = 7;
    char *q = wsc_realloc(WSC_MEM_TEST, p, 100, 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(q);
    T_EQ(q[29], 7);
    T_EQ(q[99], 0);
    wsc_free(q);
    T_EQ(wsc_mem_in_use(WSC_MEM_TEST), before);
}

TEST(mem, absurd_sizes_fail_cleanly)
{
    CU_ASSERT_PTR_NULL(wsc_alloc(WSC_MEM_TEST, SIZE_MAX / 2, 4));
    CU_ASSERT_PTR_NULL(wsc_alloc(WSC_MEM_TEST, SIZE_MAX, 1));
}

/* Known answer of Philox4x32-10 for an all-zero counter and key (Random123 kat_vectors). */
TEST(rng, philox_known_answer)
{
    CU_ASSERT_EQUAL(wsc_rng_u64(0, 0, 0), 0xe169c58d6627e8d5ULL);
}

TEST(rng, moments_and_bounds)
{
    enum { N = 20000 };
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < N; i++) {
        double x = wsc_rng_normal(1, 2, i), t = wsc_rng_truncated_normal(1, 3, i, -2, 2);
        CU_ASSERT(t >= -2 && t <= 2);
        sum += x;
        squares += x * x;
    }
    T_NEAR(sum / N, 0, 0.03);
    T_NEAR(squares / N, 1, 0.03);
}

/* Also where a block of them ends, and far out on both sides. */
TEST(rng, many_numbers_are_the_single_ones)
{
    enum { N = 3000, FIRST = 123457 };
    static double uniform[N], normal[N], cut[N];
    int far = 0;
    wsc_rng_uniforms(uniform, 3, 4, FIRST, N);
    wsc_rng_normals(normal, 3, 4, FIRST, N);
    wsc_rng_truncated_normals(cut, 3, 4, FIRST, N, -2.5, 3);
    for (int i = 0; i < N; i++) {
        const uint64_t at = FIRST + (uint64_t)i;
        far += normal[i] < -3 || normal[i] > 3;
        T_NEAR(uniform[i], wsc_rng_uniform(3, 4, at), 0);
        T_NEAR(normal[i], wsc_rng_normal(3, 4, at), 0);
        T_NEAR(cut[i], wsc_rng_truncated_normal(3, 4, at, -2.5, 3), 0);
    }
    CU_ASSERT(far > 0);
}

/* The mean of @p x, whose numbers are checked. */
static double mean_of_truncated(const double *x, int n, double low)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        CU_ASSERT(x[i] >= low && x[i] <= low + 30);
        T_NEAR(x[i], wsc_rng_truncated_normal(3, 4, (uint64_t)i, low, low + 30), 0);
        sum += x[i] / n;
    }
    return sum;
}

/* Far above the mean, where the probability below the interval rounds to 1: inside it, and near its
 * lower bound, as the tail beyond x has a mean of about x + 1 / x. */
TEST(rng, truncated_normals_far_above_the_mean)
{
    enum { N = 2000 };
    static const double low[] = {0.5, 4, 8.5, 20, 50};
    static double x[N];
    for (size_t k = 0; k < sizeof low / sizeof *low; k++) {
        wsc_rng_truncated_normals(x, 3, 4, 0, N, low[k], low[k] + 30);
        const double mean = mean_of_truncated(x, N, low[k]);
        if (low[k] >= 4 && low[k] < 30) T_NEAR(mean, low[k] + 1 / low[k], 0.01);
    }
}

TEST(rng, streams_differ)
{
    CU_ASSERT(wsc_rng_u64(1, wsc_rng_stream(WSC_RNG_INIT, 0), 5) !=
              wsc_rng_u64(1, wsc_rng_stream(WSC_RNG_INIT, 1), 5));
    CU_ASSERT(wsc_rng_u64(1, 7, 5) != wsc_rng_u64(2, 7, 5));
}

/* XXH3_64bits of the empty input under seed 0, from the reference implementation's test suite. */
TEST(hash, known_answer)
{
    CU_ASSERT_EQUAL(wsc_hash64("", 0, 0), 0x2d06800538d394c2ULL);
}

/* ---- growing arrays and texts ---------------------------------------------------------------- */

static WSC_CHECKED enum wsc_err add_squares(int64_t **list, int *room, int n)
{
    for (int i = 0; i < n; i++) {
        TRY_GROW(*list, WSC_MEM_TEST, *room, i + 1);
        (*list)[i] = (int64_t)i * i;
    }
    return WSC_OK;
}

TEST(grow, an_array_keeps_what_it_holds_and_doubles)
{
    int64_t *list = NULL, wrong = 0;
    int room = 0;
    T_OK(add_squares(&list, &room, 1000));
    for (int i = 0; i < 1000; i++)
        wrong += !list || list[i] != (int64_t)i * i;
    T_EQ(wrong, 0);
    T_EQ(room, 1024);
    int64_t wide = 1024;
    void *same = wsc_grow(WSC_MEM_TEST, list, &wide, 1024, sizeof *list);
    CU_ASSERT_PTR_EQUAL(same, list);
    CU_ASSERT_PTR_NULL(wsc_grow(WSC_MEM_TEST, list, &wide, INT64_MAX / 2, sizeof *list));
    T_EQ(wide, 1024); /* and the block stays */
    T_EQ(list ? list[999] : 0, 998001);
    wsc_free(list);
}

TEST(text, pieces_of_any_length_come_out_whole)
{
    struct wsc_text t = {0};
    char *out = NULL;
    for (int i = 0; i < 500; i++)
        wsc_text_add(&t, "%d,", i);
    wsc_text_bytes(&t, "a\0b", 3);
    CU_ASSERT(!t.failed);
    T_EQ(t.n, 10 * 2 + 90 * 3 + 400 * 4 + 3);
    CU_ASSERT(!strncmp(t.bytes, "0,1,2,", 6) && !memcmp(t.bytes + t.n - 3, "a\0b", 4));
    T_OK(wsc_text_take(&t, &out));
    CU_ASSERT(t.n == 0 && !t.bytes);
    wsc_free(out);
    T_OK(wsc_text_take(&t, &out));
    T_STR(out, "");
    wsc_free(out);
    wsc_text_bytes(&t, NULL, SIZE_MAX - 100); /* nobody has that much */
    CU_ASSERT(t.failed);
    CU_ASSERT(wsc_text_take(&t, &out) == WSC_NOMEM && !out);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Longer than the blocks in which it is copied. */
TEST(file, a_copy_has_all_bytes)
{
    enum { BYTES = 150000 };
    char *text = wsc_alloc(WSC_MEM_TEST, BYTES, 1), *bytes = NULL;
    size_t n = 0;
    char from[200], to[200];
    (void)snprintf(from, sizeof from, "%s", case_path("from"));
    (void)snprintf(to, sizeof to, "%s", case_path("to"));
    for (int i = 0; i < BYTES; i++)
        text[i] = (char)(i * 7 + i / 251);
    T_OK(wsc_file_replace(from, text, BYTES));
    T_OK(wsc_file_copy(from, to));
    T_OK(wsc_file_read(WSC_MEM_TEST, to, BYTES, &bytes, &n));
    CU_ASSERT(n == BYTES && !memcmp(bytes, text, BYTES));
    wsc_free(bytes);
    wsc_free(text);
    CU_ASSERT(wsc_file_copy(case_path("nowhere"), to) == WSC_IO);
    CU_ASSERT(strstr(wsc_err_message(), "nowhere: cannot be opened") != NULL);
    CU_ASSERT(!remove(from) && !remove(to));
}

TEST(file, what_is_replaced_is_whole_and_nothing_stays_beside_it)
{
    char *bytes = NULL;
    size_t n = 0;
    const char *path = case_path("deep/er/file");
    CU_ASSERT(wsc_file_replace(path, "x", 1) == WSC_IO); /* no folder */
    T_OK(wsc_file_mkdir_above(path));
    T_OK(wsc_file_mkdir(case_path("deep/er"))); /* it is there */
    T_OK(wsc_file_replace(path, "first", 5));
    T_OK(wsc_file_replace(path, "then\0this", 9));
    T_OK(wsc_file_read(WSC_MEM_TEST, path, 9, &bytes, &n));
    T_EQ(n, 9);
    CU_ASSERT(bytes && !memcmp(bytes, "then\0this", 10));
    wsc_free(bytes);
    CU_ASSERT(wsc_file_read(WSC_MEM_TEST, path, 8, &bytes, &n) == WSC_FORMAT && !bytes);
    CU_ASSERT(wsc_file_mkdir(path) == WSC_IO);
    CU_ASSERT(wsc_file_replace(case_path("deep"), "x", 1) == WSC_IO); /* a folder */
    CU_ASSERT(!remove(path) && !mkfifo(path, 0600));
    CU_ASSERT(wsc_file_replace(path, "x", 1) == WSC_IO); /* as /dev/null: it stays what it is */
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "not a regular file"));
    CU_ASSERT(!remove(path) && !remove(case_path("deep/er")) && !remove(case_path("deep")));
}

/* A process that was killed leaves a file without a lock; of one that is still written nothing is
 * lost, whatever the number in its name. */
TEST(file, what_a_killed_process_left_is_removed)
{
    enum { N_STAY = 5 };
    static const char *const stays[N_STAY] = {"left/file.x.tmp", "left/file.tmp",
                                              "left/files.12.tmp", "left/file.12.tmp.h5",
                                              "left/five.12.tmp"};
    char path[256];
    (void)snprintf(path, sizeof path, "%s", case_path("left/file"));
    T_OK(wsc_file_mkdir_above(path));
    T_OK(wsc_file_replace(case_path("left/file.4194304.tmp"), "part", 4));
    T_OK(wsc_file_replace(case_path("left/file.12.tmp"), "part", 4));
    const int lock = open(case_path("left/file.12.tmp"), O_RDWR);
    CU_ASSERT(lock >= 0 && !flock(lock, LOCK_EX));
    for (int i = 0; i < N_STAY; i++)
        T_OK(wsc_file_replace(case_path(stays[i]), "x", 1));
    T_OK(wsc_file_replace(path, "whole", 5));
    CU_ASSERT(access(case_path("left/file.4194304.tmp"), F_OK) != 0);
    CU_ASSERT(!access(case_path("left/file.12.tmp"), F_OK));
    CU_ASSERT(!close(lock));
    T_OK(wsc_file_replace(path, "again", 5));
    CU_ASSERT(access(case_path("left/file.12.tmp"), F_OK) != 0);
    for (int i = 0; i < N_STAY; i++)
        CU_ASSERT(!remove(case_path(stays[i])));
    CU_ASSERT(!remove(path) && !remove(case_path("left")));
}

TEST(file, what_cannot_be_read_is_an_error)
{
    char *bytes = NULL;
    size_t n = 0;
    CU_ASSERT(wsc_file_read(WSC_MEM_TEST, case_path("none"), 9, &bytes, &n) == WSC_IO);
    CU_ASSERT(wsc_file_read(WSC_MEM_TEST, test_tmpdir(), 9, &bytes, &n) == WSC_IO);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "cannot be read"));
    CU_ASSERT(wsc_file_read(WSC_MEM_TEST, "/dev/zero", 100, &bytes, &n) == WSC_FORMAT);
    CU_ASSERT_PTR_NULL(bytes);
    T_OK(wsc_file_read(WSC_MEM_TEST, "/dev/null", 0, &bytes, &n));
    T_EQ(n, 0);
    wsc_free(bytes);
}

/* ---- the log --------------------------------------------------------------------------------- */

/* What @p lines lines give on stderr when the log file is /dev/full. */
static void log_to_full(int lines, char *said, size_t size)
{
    const char *path = case_path("stderr");
    char *bytes = NULL;
    size_t n = 0;
    (void)fflush(stderr);
    const int kept = dup(STDERR_FILENO), fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    CU_ASSERT_FATAL(kept >= 0 && fd >= 0 && dup2(fd, STDERR_FILENO) >= 0);
    wsc_log_quiet(true);
    wsc_log_set_level(WSC_LOG_INFO);
    T_OK(wsc_log_open("/dev/full"));
    for (int i = 0; i < lines; i++)
        wsc_log(WSC_LOG_ERROR, "line %d", i);
    wsc_log_close();
    wsc_log_quiet(false);
    CU_ASSERT(dup2(kept, STDERR_FILENO) >= 0 && !close(kept) && !close(fd));
    T_OK(wsc_file_read(WSC_MEM_TEST, path, 1 << 16, &bytes, &n));
    (void)snprintf(said, size, "%s", bytes ? bytes : "");
    wsc_free(bytes);
    CU_ASSERT(!remove(path));
}

TEST(log, a_file_that_cannot_be_written_is_told_once)
{
    char said[4096];
    log_to_full(3, said, sizeof said);
    const char *first = strstr(said, "the log file cannot be written: No space");
    CU_ASSERT_PTR_NOT_NULL_FATAL(first);
    if (!first) return;
    CU_ASSERT_PTR_NULL(strstr(first + 1, "the log file"));
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "line 2"));
}

TEST(log, a_quiet_process_writes_its_log_file)
{
    const char *path = case_path("quiet.log");
    char *bytes = NULL;
    size_t n = 0;
    wsc_log_quiet(true);
    T_OK(wsc_log_open(path));
    WSC_INFO("one line");
    WSC_WARNING("another line");
    wsc_log(WSC_LOG_DEBUG, "below the level");
    wsc_log_close();
    wsc_log_quiet(false);
    T_OK(wsc_file_read(WSC_MEM_TEST, path, 1 << 16, &bytes, &n));
    CU_ASSERT(bytes != NULL);
    if (!bytes) return;
    CU_ASSERT_PTR_NOT_NULL(strstr(bytes, "INFO:   one line\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(bytes, "WARNING:   another line\n"));
    CU_ASSERT_PTR_NULL(strstr(bytes, "below the level"));
    wsc_free(bytes);
    CU_ASSERT(!remove(path));
}

TEST(file, mkdir_makes_parents_and_accepts_what_is_there)
{
    struct stat info;
    T_OK(wsc_file_mkdir(case_path("a/b//c/")));
    T_OK(wsc_file_mkdir(case_path("a/b/c")));
    CU_ASSERT(!stat(case_path("a/b/c"), &info) && S_ISDIR(info.st_mode));
    case_write(case_path("a/file"), "x");
    CU_ASSERT_EQUAL(wsc_file_mkdir(case_path("a/file")), WSC_IO);
    CU_ASSERT_EQUAL(wsc_file_mkdir("/proc/none/x"), WSC_IO);
    CU_ASSERT_EQUAL(wsc_file_mkdir(""), WSC_IO);
}
