// SPDX-License-Identifier: Apache-2.0
#include "../../support/case_files.h"
#include "../../support/test.h"

#include <wsc/mem.h>
#include <wsc/store.h>

#include <errno.h>
#include <fcntl.h>
#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __SANITIZE_ADDRESS__
#    include <sanitizer/lsan_interface.h>
#endif

enum { ROWS = 5, COLUMNS = 7, SIZE = ROWS * COLUMNS };

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

/* A small checkpoint with every type; @p pieces of the matrix are written out of order. */
static enum wsc_err write_small(const char *path, int step)
{
    struct store_file *f = NULL;
    float w[SIZE];
    double moments[3] = {0.5, 1.0 / 3.0, -2.0};
    int64_t count = (int64_t)1 << 40 | step;
    test_fill(w, SIZE, (uint64_t)step);
    TRY(store_create(&f, path, NULL));
    TRY(store_define(f, "model.w", STORE_F32, 2, (const int64_t[]){ROWS, COLUMNS}));
    TRY(store_define(f, "opt.m", STORE_F64, 1, (const int64_t[]){3}));
    TRY(store_define(f, "global_step", STORE_I64, 1, (const int64_t[]){1}));
    TRY(store_link(f, "model.w", "model.alias"));
    TRY(store_set_text(f, "params", "a: 1\n"));
    TRY(store_write(f, "model.w", 10, SIZE - 10, w + 10));
    TRY(store_write(f, "model.w", 0, 3, w));
    TRY(store_write(f, "model.w", 3, 7, w + 3));
    TRY(store_write(f, "opt.m", 0, 3, moments));
    TRY(store_write(f, "global_step", 0, 1, &count));
    TRY(store_commit(&f));
    return WSC_OK;
}

/* Equal bit by bit, also for -0 and NaN. */
static bool same_bits(const void *a, const void *b, size_t bytes)
{
    return !memcmp(a, b, bytes);
}

TEST(checkpoint, round_trip)
{
    const char *path = case_path("a.mdl");
    struct store_file *f = NULL;
    float w[SIZE], x[SIZE] = {0};
    double moments[3];
    int64_t count = 0, shape[2];
    int n_dims = 0;
    char *text = NULL;
    test_fill(w, SIZE, 3);
    T_OK(write_small(path, 3));
    CU_ASSERT(!exists(case_path("a.mdl.tmp")));
    T_OK(store_open(&f, path));
    enum wsc_err rc = WSC_OK;
    for (int64_t first = 0; first < SIZE && !rc; first += 4) { /* 4 does not divide the rows */
        int64_t n = SIZE - first < 4 ? SIZE - first : 4;
        rc = store_read(f, first % 8 ? "model.w" : "model.alias", STORE_F32, first, n, x + first);
    }
    T_OK(rc);
    CU_ASSERT(same_bits(w, x, sizeof w));
    T_OK(store_read(f, "opt.m", STORE_F64, 0, 3, moments));
    CU_ASSERT(moments[1] == 1.0 / 3.0);
    T_OK(store_read(f, "global_step", STORE_I64, 0, 1, &count));
    T_EQ(count, ((int64_t)1 << 40) + 3);
    T_OK(store_shape(f, "model.w", &n_dims, shape));
    CU_ASSERT(n_dims == 2 && shape[0] == ROWS && shape[1] == COLUMNS);
    CU_ASSERT(store_has(f, "model.alias") && !store_has(f, "model.v"));
    T_OK(store_get_text(f, "params", &text));
    T_STR(text, "a: 1\n");
    CU_ASSERT(store_has_text(f, "params") && !store_has_text(f, "missing"));
    wsc_free(text);
    store_close(&f);
    T_OK(store_check(path));
}

TEST(checkpoint, same_contents_give_the_same_bytes)
{
    char a[16384], b[16384];
    T_OK(write_small(case_path("same1.mdl"), 9));
    T_OK(write_small(case_path("same2.mdl"), 9));
    FILE *fa = fopen(case_path("same1.mdl"), "rb"), *fb = fopen(case_path("same2.mdl"), "rb");
    size_t na = fread(a, 1, sizeof a, fa), nb = fread(b, 1, sizeof b, fb);
    (void)fclose(fa);
    (void)fclose(fb);
    CU_ASSERT(na == nb && na > 500 && na < sizeof a && !memcmp(a, b, na));
}

static enum wsc_err collect(void *ctx, const struct store_item *x)
{
    char *all = ctx;
    size_t used = strlen(all);
    (void)snprintf(all + used, 512 - used, "%s %s %d %lld%s%s;", x->name, x->type, x->n_dims,
                   (long long)(x->n_dims ? x->shape[x->n_dims - 1] : 1), x->same_as ? " = " : "",
                   x->same_as ? x->same_as : "");
    return WSC_OK;
}

TEST(checkpoint, visits_in_name_order)
{
    char all[512] = "";
    struct store_file *f = NULL;
    T_OK(write_small(case_path("visit.mdl"), 1));
    T_OK(store_open(&f, case_path("visit.mdl")));
    T_OK(store_visit(f, collect, all));
    T_STR(all, "global_step int64 1 1;model.alias float32 2 7;model.w float32 2 7 = model.alias;"
               "opt.m float64 1 3;");
    store_close(&f);
}

/* A file of an independent writer; tests/fixtures/make_h5py_samples.py repeats the values. */
TEST(checkpoint, plain_file_of_h5py_is_accepted)
{
    struct store_file *f = NULL;
    float x[24];
    int64_t step = 0, steps[5];
    int n_dims = -1;
    int64_t shape[2];
    T_OK(store_check("tests/data/h5py_weights.h5"));
    T_OK(store_open(&f, "tests/data/h5py_weights.h5"));
    T_OK(store_read(f, "half", STORE_F32, 0, 24, x));
    for (int i = 0; i < 24; i++)
        T_NEAR(x[i], i / 8.0, 0);
    T_OK(store_read(f, "tied", STORE_F32, 5, 10, x));
    for (int i = 0; i < 10; i++)
        T_NEAR(x[i], sin(5 + i), 1e-7);
    T_OK(store_read(f, "double", STORE_F32, 0, 24, x));
    for (int i = 0; i < 24; i++)
        T_NEAR(x[i], (float)(i / 3.0), 0);
    T_OK(store_read(f, "packed", STORE_F32, 7, 16, x));
    for (int i = 0; i < 16; i++)
        T_NEAR(x[i], (7 + i) * (7 + i), 0);
    T_OK(store_read(f, "global_step", STORE_I64, 0, 1, &step));
    T_EQ(step, 1234567890123);
    T_OK(store_shape(f, "global_step", &n_dims, shape));
    T_EQ(n_dims, 0);
    T_OK(store_read(f, "steps", STORE_I64, 0, 5, steps));
    T_EQ(steps[4], 4);
    CU_ASSERT_EQUAL(store_read(f, "steps", STORE_F32, 0, 5, x), WSC_FORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "steps holds int32, expected float32"));
    CU_ASSERT_EQUAL(store_read(f, "nothing", STORE_F32, 0, 5, x), WSC_FORMAT);
    store_close(&f);
}

/* They are left out of the file: what is read in their place must be zeros all the same. */
TEST(checkpoint, blocks_of_zeros_read_as_zeros)
{
    enum { N = 3000, BLOCK = 500 };
    static float x[N], y[N];
    struct store_file *f = NULL;
    const char *path = case_path("zeros.mdl");
    const int64_t shape = N;
    for (int i = BLOCK; i < 2 * BLOCK; i++)
        x[i] = (float)i;
    x[N - 1] = 1;
    x[(size_t)2 * BLOCK] = -0.0F;
    T_OK(store_create(&f, path, NULL));
    T_OK(store_define(f, "a", STORE_F32, 1, &shape));
    T_OK(store_define(f, "b", STORE_F32, 1, &shape));
    enum wsc_err rc = WSC_OK;
    for (int i = 0; i < N && !rc; i += BLOCK) {
        rc = store_write(f, "b", i, BLOCK, x + i);
        if (!rc) rc = store_write(f, "a", N - BLOCK - i, BLOCK, x + N - BLOCK - i);
    }
    T_OK(rc);
    T_OK(store_commit(&f));
    T_OK(store_check(path));
    T_OK(store_open(&f, path));
    T_OK(store_read(f, "a", STORE_F32, 0, N, y));
    CU_ASSERT(same_bits(x, y, sizeof x));
    T_OK(store_read(f, "b", STORE_F32, 0, N, y));
    CU_ASSERT(same_bits(x, y, sizeof x));
    store_close(&f);
}

TEST(checkpoint, long_text_survives)
{
    enum { BYTES = 200000 };
    struct store_file *f = NULL;
    char *text = wsc_alloc(WSC_MEM_TEST, BYTES + 1, 1), *back = NULL;
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    for (int i = 0; text && i < BYTES; i++)
        text[i] = (char)('a' + i % 23);
    T_OK(store_create(&f, case_path("text.mdl"), NULL));
    T_OK(store_set_text(f, "params", text));
    T_OK(store_set_text(f, "empty", ""));
    T_OK(store_commit(&f));
    T_OK(store_open(&f, case_path("text.mdl")));
    T_OK(store_get_text(f, "params", &back));
    CU_ASSERT(text && back && !strcmp(back, text));
    wsc_free(back);
    T_OK(store_get_text(f, "empty", &back));
    T_STR(back, "");
    wsc_free(back);
    wsc_free(text);
    store_close(&f);
}

/* ---- what goes wrong ------------------------------------------------------------------------- */

static void refused(enum wsc_err rc, enum wsc_err expected, const char *what)
{
    CU_ASSERT_EQUAL(rc, expected);
    bool said = rc && strstr(wsc_err_message(), what) && !strchr(wsc_err_message(), '\n');
    if (!said) (void)fprintf(stderr, "expected \"%s\": %s\n", what, wsc_err_message());
    CU_ASSERT(said);
}

TEST(checkpoint, missing_elements_are_not_committed)
{
    struct store_file *f = NULL;
    float x[4] = {0};
    T_OK(store_create(&f, case_path("gap.mdl"), NULL));
    T_OK(store_define(f, "w", STORE_F32, 1, (const int64_t[]){5}));
    T_OK(store_write(f, "w", 0, 4, x));
    refused(store_commit(&f), WSC_IO, "4 elements of dataset w were written, expected 5");
    CU_ASSERT_PTR_NULL(f);
    CU_ASSERT(!exists(case_path("gap.mdl")) && !exists(case_path("gap.mdl.tmp")));
}

TEST(checkpoint, closing_uncommitted_keeps_the_older_file)
{
    struct store_file *f = NULL;
    int64_t step = 0;
    T_OK(write_small(case_path("keep.mdl"), 1));
    FILE *stale = fopen(case_path("keep.mdl.tmp"), "w"); /* left by a crash */
    (void)fputs("half a checkpoint", stale);
    (void)fclose(stale);
    T_OK(store_create(&f, case_path("keep.mdl"), NULL));
    T_OK(store_define(f, "global_step", STORE_I64, 1, (const int64_t[]){1}));
    store_close(&f);
    CU_ASSERT(!exists(case_path("keep.mdl.tmp")));
    T_OK(store_open(&f, case_path("keep.mdl")));
    T_OK(store_read(f, "global_step", STORE_I64, 0, 1, &step));
    T_EQ(step, ((int64_t)1 << 40) + 1);
    store_close(&f);
}

TEST(checkpoint, unwritable_folder_is_an_error)
{
    struct store_file *f = NULL;
    refused(store_create(&f, "/nonexistent/dir/c.mdl", NULL), WSC_IO, "No such file or directory");
    CU_ASSERT_PTR_NULL(f);
    T_OK(write_small(case_path("plain"), 1));
    refused(store_create(&f, case_path("plain/c.mdl"), NULL), WSC_IO, "Not a directory");
}

/* HDF5 loses blocks of its own when a file is damaged or cannot be written.  That we close all
 * that we open is checked by its count of open objects, and our own memory by its tags. */
static void library_may_leak(bool may)
{
    if (may) (void)H5garbage_collect(); /* blocks of earlier cases are not used again */
#ifdef __SANITIZE_ADDRESS__
    if (may)
        __lsan_disable();
    else
        __lsan_enable();
#endif
    if (!may) T_EQ(H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
}

/* A full disk: this program's own pwrite() stands before the C library's for HDF5 too, and refuses
 * to write to @p full_path as soon as it is set. */
static const char *full_path;

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t at)
{
    char link[64], name[256];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = full_path ? readlink(link, name, sizeof name - 1) : -1;
    name[n > 0 ? n : 0] = '\0';
    if (full_path && !strcmp(name, full_path)) {
        errno = ENOSPC;
        return -1;
    }
    return (ssize_t)syscall(SYS_pwrite64, fd, data, bytes, at);
}

/* The disk is full from @p when on: 0 while data are written, 1 in store_commit. */
static void fill_disk(int when)
{
    enum { N = 1 << 18 };
    struct store_file *f = NULL;
    float *x = wsc_alloc(WSC_MEM_TEST, N, sizeof *x);
    char tmp[256];
    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    if (!x) return;
    x[N - 1] = 1; /* zeros alone are not written */
    (void)snprintf(tmp, sizeof tmp, "%s", case_path("full.mdl.tmp"));
    T_OK(store_create(&f, case_path("full.mdl"), NULL));
    T_OK(store_define(f, "w", STORE_F32, 1, (const int64_t[]){N}));
    if (when == 0) full_path = tmp;
    enum wsc_err rc = store_write(f, "w", 0, N, x);
    CU_ASSERT_EQUAL(rc, when == 0 ? WSC_IO : WSC_OK);
    full_path = tmp;
    refused(store_commit(&f), WSC_IO, "No space left on device");
    full_path = NULL;
    CU_ASSERT_PTR_NULL(f);
    CU_ASSERT(!exists(case_path("full.mdl")) && !exists(tmp));
    T_OK(write_small(case_path("full.mdl"), 1)); /* and the library still works */
    CU_ASSERT_EQUAL(unlink(case_path("full.mdl")), 0);
    wsc_free(x);
}

TEST(checkpoint, full_disk_leaves_nothing_behind)
{
    library_may_leak(true);
    fill_disk(0);
    fill_disk(1);
    library_may_leak(false);
}

TEST(samples, full_disk_leaves_nothing_behind)
{
    enum { N = 2000, L = 64 };
    int32_t *x = wsc_alloc(WSC_MEM_TEST, (size_t)N * 3 * L, sizeof *x);
    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    full_path = case_path("full.h5.tmp");
    library_may_leak(true);
    refused(store_samples_write(case_path("full.h5"), x, N, L), WSC_IO, "No space left on device");
    CU_ASSERT(!exists(full_path));
    full_path = NULL;
    library_may_leak(false);
    CU_ASSERT(!exists(case_path("full.h5")));
    wsc_free(x);
}

TEST(checkpoint, incomplete_or_foreign_version_is_refused)
{
    struct store_file *f = NULL;
    int64_t version = 99;
    T_OK(write_small(case_path("mark.mdl"), 1));
    hid_t h = H5Fopen(case_path("mark.mdl"), H5F_ACC_RDWR, H5P_DEFAULT);
    (void)H5Adelete(h, "__SUCCESS__");
    (void)H5Fclose(h);
    refused(store_open(&f, case_path("mark.mdl")), WSC_FORMAT, "is incomplete");
    h = H5Fopen(case_path("mark.mdl"), H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t a = H5Aopen(h, "__wsc_version__", H5P_DEFAULT);
    (void)H5Awrite(a, H5T_NATIVE_INT64, &version);
    (void)H5Aclose(a);
    (void)H5Fclose(h);
    refused(store_open(&f, case_path("mark.mdl")), WSC_FORMAT,
            "has layout version 99, known are 1 to 2");
}

TEST(checkpoint, shapes_are_reported_as_pytorch_prints_them)
{
    static const int64_t file_shape[2] = {SIZE, 1}, given[2] = {8, 4};
    static const float w[SIZE];
    const struct store_tensor matrix = {"w", "", 2, given, ""}, vector = {"w", "", 1, given, ""};
    struct store_file *f = NULL;
    T_OK(store_create(&f, case_path("shape.mdl"), NULL));
    T_OK(store_define(f, "v", STORE_F32, 1, file_shape));
    T_OK(store_define(f, "m", STORE_F32, 2, file_shape));
    T_OK(store_write(f, "v", 0, SIZE, w));
    T_OK(store_write(f, "m", 0, SIZE, w));
    T_OK(store_commit(&f));
    T_OK(store_open(&f, case_path("shape.mdl")));
    char text[120];
    (void)snprintf(text, sizeof text, "v has shape (%d,), the params give (8, 4)", (int)SIZE);
    refused(store_check_shape(f, "v", &matrix), WSC_FORMAT, text);
    (void)snprintf(text, sizeof text, "m has shape (%d, 1), the params give (8,)", (int)SIZE);
    refused(store_check_shape(f, "m", &vector), WSC_FORMAT, text);
    store_close(&f);
}

/* Turning any byte of the values must be noticed, and any cut of the file. */
TEST(checkpoint, damage_is_found)
{
    float w[SIZE];
    unsigned char bytes[16384];
    const char *path = case_path("damage.mdl");
    test_fill(w, SIZE, 5);
    T_OK(write_small(path, 5));
    FILE *file = fopen(path, "r+b");
    size_t n = fread(bytes, 1, sizeof bytes, file);
    unsigned char *at = memmem(bytes, n, w, sizeof w);
    CU_ASSERT_PTR_NOT_NULL(at);
    (void)fseek(file, at ? at - bytes + 50 : 0, SEEK_SET);
    (void)fputc(at ? at[50] ^ 1 : 0, file);
    (void)fclose(file);
    refused(store_check(path), WSC_FORMAT, "differ from those that were written");
    T_OK(write_small(path, 5));
    CU_ASSERT_EQUAL_FATAL(truncate(path, (off_t)n / 2), 0);
    CU_ASSERT_EQUAL(store_check(path), WSC_FORMAT);
}

TEST(checkpoint, links_and_groups_are_refused)
{
    struct store_file *f = NULL;
    const char *path = case_path("links.mdl");
    hid_t h = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    (void)H5Lcreate_external("other.h5", "/x", h, "model.w", H5P_DEFAULT, H5P_DEFAULT);
    (void)H5Fclose(h);
    refused(store_open(&f, path), WSC_FORMAT, "soft or external link");
    h = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    (void)H5Lcreate_soft("/b", h, "a", H5P_DEFAULT, H5P_DEFAULT);
    (void)H5Lcreate_soft("/a", h, "b", H5P_DEFAULT, H5P_DEFAULT);
    (void)H5Fclose(h);
    refused(store_open(&f, path), WSC_FORMAT, "soft or external link");
    h = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    (void)H5Lcreate_hard(h, "/", h, "root", H5P_DEFAULT, H5P_DEFAULT); /* a cycle of groups */
    (void)H5Fclose(h);
    refused(store_open(&f, path), WSC_FORMAT, "is a group");
}

/* Single bytes of the file's own tables are turned; nothing may crash or leak, and what opens
 * must still answer. */
TEST(checkpoint, turned_bytes_never_crash)
{
    static unsigned char bytes[16384];
    const char *path = case_path("turned.mdl");
    T_OK(write_small(path, 2));
    FILE *file = fopen(path, "rb");
    size_t n = fread(bytes, 1, sizeof bytes, file);
    (void)fclose(file);
    int found = 0, tried = 0;
    library_may_leak(true);
    for (size_t at = 0; at < n; at += 13, tried++) {
        int fd = open(path, O_WRONLY);
        unsigned char turned = (unsigned char)(bytes[at] ^ 0x41);
        test_more_time(); /* each look is a process */
        CU_ASSERT(pwrite(fd, &turned, 1, (off_t)at) == 1);
        found += store_check(path) != WSC_OK;
        CU_ASSERT(pwrite(fd, bytes + at, 1, (off_t)at) == 1);
        (void)close(fd);
    }
    library_may_leak(false);
    CU_ASSERT(tried > 50 && found > tried / 8);
    T_OK(store_check(path));
}

/* ---- folders --------------------------------------------------------------------------------- */

static void touch(const char *name)
{
    FILE *f = fopen(case_path(name), "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    (void)fclose(f);
}

/* With the standard name; until the next call. */
static const struct store_folder *folder(const char *dir)
{
    static struct store_folder f;
    f = (struct store_folder){dir, "checkpoint_{step}.mdl"};
    return &f;
}

TEST(checkpoint, newest_is_by_number_and_strict)
{
    char *path = NULL;
    int64_t step = -1;
    const char *dir = case_path("folder");
    T_OK(store_newest(folder("/nonexistent/folder"), 0, &path, &step));
    CU_ASSERT_PTR_NULL(path);
    CU_ASSERT_EQUAL_FATAL(mkdir(dir, 0777), 0);
    T_OK(store_newest(folder(dir), 0, &path, &step));
    CU_ASSERT_PTR_NULL(path);
    static const char *const names[] = {
        "checkpoint_0.mdl",    "checkpoint_9.mdl",       "checkpoint_100.mdl",
        "checkpoint_0200.mdl", "checkpoint_300.mdl.tmp", "checkpoint_400.mdl.bak",
        "checkpoint_-5.mdl",   "checkpoint_500 .mdl",    "checkpoint_.mdl",
        "checkpoint_6e2.mdl",  "xcheckpoint_700.mdl",    "checkpoint_99999999999999999999.mdl"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "folder/%s", names[i]);
        touch(name);
    }
    T_OK(store_newest(folder(case_path("folder")), 0, &path, &step));
    T_EQ(step, 100);
    T_STR(path, case_path("folder/checkpoint_100.mdl"));
    wsc_free(path);
    T_OK(store_newest(folder(case_path("folder")), 1, &path, &step));
    T_EQ(step, 9);
    wsc_free(path);
    T_OK(store_newest(folder(case_path("folder")), 3, &path, &step));
    CU_ASSERT_PTR_NULL(path);
}

TEST(checkpoint, newest_is_by_step_and_then_by_stamp)
{
    static const char *const names[] = {"checkpoint_7.mdl",
                                        "checkpoint_7_20240131_235959.mdl",
                                        "checkpoint_7_20240201_000000.mdl",
                                        "checkpoint_6_20250101_000000.mdl",
                                        "checkpoint_8_2024013_235959.mdl",
                                        "checkpoint_8_20240131-235959.mdl",
                                        "checkpoint_8_20240131_235959.mdl.tmp"};
    char *path = NULL;
    int64_t step = -1;
    CU_ASSERT_EQUAL_FATAL(mkdir(case_path("stamps"), 0777), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "stamps/%s", names[i]);
        touch(name);
    }
    T_OK(store_newest(folder(case_path("stamps")), 0, &path, &step));
    T_EQ(step, 7);
    T_STR(path, case_path("stamps/checkpoint_7_20240201_000000.mdl"));
    wsc_free(path);
    T_OK(store_newest(folder(case_path("stamps")), 2, &path, &step));
    T_STR(path, case_path("stamps/checkpoint_7.mdl"));
    wsc_free(path);
    T_OK(store_newest(folder(case_path("stamps")), 3, &path, &step));
    T_STR(path, case_path("stamps/checkpoint_6_20250101_000000.mdl"));
    wsc_free(path);
}

/* Only what the name says is a checkpoint: what stands around the step, and nothing more. */
TEST(checkpoint, names_may_be_chosen)
{
    static const char *const names[] = {"named/5.final.h5",      "named/40.final.h5",
                                        "named/600.final",       "named/700.final.h5.tmp",
                                        "named/a800.final.h5",   "named/9_20240131_235959.final.h5",
                                        "named/checkpoint_9.mdl"};
    char *path = NULL;
    int64_t step = -1;
    CU_ASSERT_EQUAL_FATAL(mkdir(case_path("named"), 0777), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        touch(names[i]);
    const char *dir = wsc_strdup(WSC_MEM_TEST, case_path("named"));
    const struct store_folder bare = {dir, "{step}.final.h5"}, long_one = {dir, "a{step}"};
    T_OK(store_newest(&bare, 0, &path, &step));
    T_EQ(step, 40);
    T_STR(path, case_path("named/40.final.h5"));
    wsc_free(path);
    T_OK(store_newest(&bare, 1, &path, &step));
    T_STR(path, case_path("named/9_20240131_235959.final.h5"));
    wsc_free(path);
    T_OK(store_newest(&long_one, 0, &path, &step));
    CU_ASSERT_PTR_NULL(path);
    T_OK(store_step_path(&long_one, 12, &path));
    T_STR(path, case_path("named/a12"));
    wsc_free(path);
    T_OK(store_prune(&bare, 40, 0));
    CU_ASSERT(!exists(case_path("named/700.final.h5.tmp")) && exists(case_path("named/600.final")));
    wsc_free((void *)(uintptr_t)dir);
}

static bool is_there(int step)
{
    char name[64];
    (void)snprintf(name, sizeof name, "prune/checkpoint_%d.mdl", step);
    return exists(case_path(name));
}

/* Files of later steps than the newest one are from another time and stay. */
TEST(checkpoint, prune_keeps_the_newest)
{
    static const int steps[] = {30, 4, 200, 1, 900};
    CU_ASSERT_EQUAL_FATAL(mkdir(case_path("prune"), 0777), 0);
    for (int i = 0; i < 5; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "prune/checkpoint_%d.mdl", steps[i]);
        touch(name);
    }
    touch("prune/checkpoint_201.mdl.tmp");
    touch("prune/other.mdl.tmp");
    T_OK(store_prune(folder(case_path("prune")), 200, 0));
    CU_ASSERT(is_there(1) && !exists(case_path("prune/checkpoint_201.mdl.tmp")));
    CU_ASSERT(exists(case_path("prune/other.mdl.tmp")));
    /* checkpoint_200.mdl is empty: nothing is charged to it. */
    CU_ASSERT_EQUAL(store_prune(folder(case_path("prune")), 200, 2), WSC_FORMAT);
    CU_ASSERT(is_there(1) && is_there(4) && is_there(30));
    T_OK(write_small(case_path("prune/checkpoint_200.mdl"), 1));
    T_OK(store_prune(folder(case_path("prune")), 200, 2));
    CU_ASSERT(!is_there(1) && !is_there(4) && is_there(30) && is_there(200) && is_there(900));
}

/* Values that are whole, under the names of others: only the digest can tell. */
TEST(checkpoint, exchanged_names_are_found)
{
    const char *path = case_path("exchanged.mdl");
    T_OK(write_small(path, 5));
    T_OK(store_check(path));
    hid_t h = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    CU_ASSERT(H5Lmove(h, "model.w", h, "model.other", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    (void)H5Fclose(h);
    refused(store_check(path), WSC_FORMAT, "its datasets differ from those that were written");
    h = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    CU_ASSERT(H5Adelete(h, "__digest__") >= 0);
    (void)H5Fclose(h);
    T_OK(store_check(path));
}

TEST(checkpoint, a_folder_has_one_writer)
{
    int first, second, status = 0;
    T_OK(store_claim(test_tmpdir(), &first));
    refused(store_claim(test_tmpdir(), &second), WSC_IO, "another run writes there");
    store_release(first);
    T_OK(store_claim(test_tmpdir(), &first));
    store_release(first);
    pid_t child = fork();
    if (child == 0) _exit(store_claim(test_tmpdir(), &first) != WSC_OK);
    CU_ASSERT(waitpid(child, &status, 0) == child && status == 0);
    T_OK(store_claim(test_tmpdir(), &first)); /* its end released it */
    store_release(first);
}

/* HDF5 cannot recover from a write that fails late, so that limits are asked before. */
TEST(checkpoint, a_limit_on_file_sizes_is_an_error)
{
    const struct rlimit small = {8192, RLIM_INFINITY}, none = {RLIM_INFINITY, RLIM_INFINITY};
    CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_FSIZE, &small), 0);
    const enum wsc_err rc = write_small(case_path("limited.mdl"), 1);
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &none), 0);
    refused(rc, WSC_IO, "files may have 8192");
    CU_ASSERT(!exists(case_path("limited.mdl")) && !exists(case_path("limited.mdl.tmp")));
}

TEST(checkpoint, memory_is_balanced)
{
    T_EQ(wsc_mem_in_use(WSC_MEM_STORE), 0);
}
