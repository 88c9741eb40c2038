// SPDX-License-Identifier: Apache-2.0
/* HDF5 files that want more than to be read: what is refused, within which time and memory, and
 * that no other file is opened.  tests/fixtures/make_hostile_h5.py made them; damaged_link_table is
 * a checkpoint of ours in which fuzzing turned some bytes. */
#include "../../support/test.h"

#include <wsc/mem.h>
#include <wsc/store.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS = 30, MOST_MORE_BYTES = 1 << 30 };

static const struct hostile {
    const char *file, *message; /* below tests/fuzz/corpus; part of what is said */
} checkpoints[] = {{"absurd_size", "absurd size"},
                   {"compound", "holds neither"},
                   {"damaged_link_table", ""},
                   {"external_link", "link"},
                   {"external_storage", "in other files"},
                   {"group_cycle", "is a group"},
                   {"many_dims", "rank 20"},
                   {"ours_unfinished", "is incomplete"},
                   {"soft_cycle", "link"},
                   {"soft_link", "link"},
                   {"strings", "holds neither"},
                   {"unknown_filter", "filter 32099"},
                   {"virtual", "in other files"},
                   {"wrong_sum", "differ from those"}},
  texts[] = {{"long_text", "attributes are unreadable"},
             {"two_lengths", "not where the file says"}},
  samples[] = {{"absurd_corpus", "absurd size"},
               {"absurd_count", "absurd size"},
               {"external_link", "link"},
               {"external_storage", "in other files"},
               {"floats", "expected integer"},
               {"huge_chunk", "never written"},
               {"huge_contiguous", "absurd size"},
               {"huge_rank", "rank 20"},
               {"lzf", "filter 32000"},
               {"soft_link", "link"},
               {"texts", "holds neither"},
               {"virtual", "in other files"},
               {"wrong_count", "n_examples is"}};

/* ---- readers --------------------------------------------------------------------------------- */

static enum wsc_err read_checkpoint(const char *path)
{
    return store_check(path);
}

static enum wsc_err read_text(const char *path)
{
    struct store_file *f = NULL;
    char *text = NULL;
    enum wsc_err rc = store_open(&f, path);
    if (!rc) rc = store_get_text(f, "params", &text);
    return rc;
}

static enum wsc_err read_samples(const char *path)
{
    struct store_samples *s = NULL;
    enum wsc_err rc = store_probe(path);
    return rc ? rc : store_samples_open(&s, path, 16);
}

/* ---- a process of its own -------------------------------------------------------------------- */

/* Address space for what it has and a little more; a sanitizer reserves terabytes for itself. */
static void limit_memory(void)
{
#ifndef __SANITIZE_ADDRESS__
    long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%lld", &pages) == 1) { /* NOLINT(cert-err34-c): the kernel writes it */
        const rlim_t bytes = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + MOST_MORE_BYTES;
        (void)setrlimit(RLIMIT_AS, &(struct rlimit){bytes, bytes});
    }
    if (f) (void)fclose(f);
#endif
}

/* In the folder where the files are that others name. */
static int read_apart(enum wsc_err (*reader)(const char *path), const char *message)
{
    limit_memory();
    test_limit(SECONDS);
    if (chdir(test_tmpdir())) return 3;
    if (!reader("hostile.h5")) return 1;
    if (strstr(wsc_err_message(), message)) return 0;
    (void)fprintf(stderr, "%s\n", wsc_err_message());
    return 2;
}

static void copy_here(const char *from, const char *name)
{
    char to[300];
    char bytes[1 << 16];
    (void)snprintf(to, sizeof to, "%s/%s", test_tmpdir(), name);
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    CU_ASSERT_FATAL(in && out);
    const size_t n = fread(bytes, 1, sizeof bytes, in);
    CU_ASSERT(n > 0 && fwrite(bytes, 1, n, out) == n);
    (void)fclose(in);
    (void)fclose(out);
}

static void check(const char *folder, const struct hostile *h,
                  enum wsc_err (*reader)(const char *path))
{
    char path[300];
    int status = -1;
    (void)snprintf(path, sizeof path, "tests/fuzz/corpus/%s/%s", folder, h->file);
    copy_here(path, "hostile.h5");
    (void)fflush(NULL);
    const pid_t child = fork();
    if (child == 0) _exit(read_apart(reader, h->message));
    (void)waitpid(child, &status, 0);
    if (status) (void)fprintf(stderr, "%s: status %d\n", path, status);
    CU_ASSERT(status == 0);
}

/* ---- the file beside ------------------------------------------------------------------------- */

static int watch_outside(void)
{
    char path[300];
    copy_here("tests/fuzz/corpus/samples/plain", "outside.h5");
    (void)snprintf(path, sizeof path, "%s/outside.h5", test_tmpdir());
    const int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    CU_ASSERT_FATAL(fd >= 0 && inotify_add_watch(fd, path, IN_OPEN | IN_MODIFY | IN_DELETE) >= 0);
    return fd;
}

static bool was_touched(int fd)
{
    char events[4096];
    return read(fd, events, sizeof events) > 0;
}

TEST(hostile, files_are_refused_and_no_other_is_opened)
{
    const int fd = watch_outside();
    for (size_t i = 0; i < sizeof checkpoints / sizeof *checkpoints; i++)
        check("checkpoint", &checkpoints[i], read_checkpoint);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check("checkpoint", &texts[i], read_text);
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        check("samples", &samples[i], read_samples);
    CU_ASSERT(!was_touched(fd));
    copy_here("tests/fuzz/corpus/samples/plain", "outside.h5"); /* this is noticed */
    CU_ASSERT(was_touched(fd));
    (void)close(fd);
}

/* The process that looks first falls instead of this one. */
TEST(hostile, a_file_over_which_the_library_falls_is_damaged)
{
    struct store_file *f = NULL;
    CU_ASSERT(store_probe("tests/fuzz/corpus/checkpoint/plain") == WSC_OK);
    CU_ASSERT(store_open(&f, "tests/fuzz/corpus/checkpoint/damaged_link_table") == WSC_FORMAT);
    CU_ASSERT_PTR_NULL(f);
}

/* Without that process the file stays closed: there is no way around it. */
TEST(hostile, a_file_that_no_process_looked_at_is_not_opened)
{
    struct store_file *f = NULL;
    store_probe_with("/nonexistent/wsc");
    CU_ASSERT(store_probe("tests/fuzz/corpus/samples/plain") == WSC_IO);
    CU_ASSERT(store_open(&f, "tests/fuzz/corpus/checkpoint/plain") == WSC_IO);
    CU_ASSERT_PTR_NULL(f);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "no process can be started"));
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "hint:"));
    store_probe_with("/bin/true"); /* it starts, and looks at nothing */
    CU_ASSERT(store_open(&f, "tests/fuzz/corpus/checkpoint/plain") == WSC_IO);
    CU_ASSERT_PTR_NULL(f);
    store_probe_with("/proc/self/exe");
    CU_ASSERT(store_open(&f, "tests/fuzz/corpus/checkpoint/plain") == WSC_OK);
    store_close(&f);
}

static int n_forks;

static void count_fork(void)
{
    n_forks++;
}

/* A fork of a process with threads may not call HDF5. */
TEST(hostile, the_process_that_looks_is_no_fork_of_this_one)
{
    static bool counting;
    CU_ASSERT_FATAL(counting || !pthread_atfork(count_fork, NULL, NULL));
    counting = true;
    store_probe_with("/proc/self/exe"); /* the next look starts one */
    n_forks = 0;
    CU_ASSERT(store_probe("tests/fuzz/corpus/checkpoint/plain") == WSC_OK);
    CU_ASSERT(store_probe("tests/fuzz/corpus/samples/plain") == WSC_OK);
    T_EQ(n_forks, 0);
}

/* The kernel lists them with a blank after each. */
static int kill_children(void)
{
    char path[64];
    int pid, n = 0;
    (void)snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *f = fopen(path, "r");
    while (f && fscanf(f, "%d", &pid) == 1) /* NOLINT(cert-err34-c): the kernel writes it */
        n += !kill(pid, SIGKILL);
    if (f) (void)fclose(f);
    return n;
}

/* Somebody ended it: the next file gets a new one. */
TEST(hostile, a_process_that_was_ended_is_started_again)
{
    CU_ASSERT(store_probe("tests/fuzz/corpus/checkpoint/plain") == WSC_OK);
    T_EQ(kill_children(), 1);
    CU_ASSERT(store_probe("tests/fuzz/corpus/checkpoint/plain") == WSC_OK);
}

TEST(hostile, texts_of_any_length_are_read)
{
    struct store_file *f = NULL;
    char *text = NULL;
    T_OK(store_open(&f, "tests/data/h5py_texts.h5"));
    T_OK(store_get_text(f, "long", &text));
    CU_ASSERT(text && strlen(text) == 20000 && strspn(text, "0123456789") == 20000);
    wsc_free(text);
    T_OK(store_get_text(f, "short", &text));
    CU_ASSERT(text && !strcmp(text, "a short text: \xC3\xA4"));
    wsc_free(text);
    T_OK(store_get_text(f, "empty", &text));
    CU_ASSERT(text && !*text);
    wsc_free(text);
    store_close(&f);
}
