// SPDX-License-Identifier: Apache-2.0
/* A corpus in several HDF5 files is one stream of tokens, cut into samples as if the files stood
 * one after the other: a sample may begin in one file and end in another. */
#include "../../support/test.h"

#include <wsc/conf.h>
#include <wsc/data.h>
#include <wsc/store.h>
#include <wsc/zoo.h>

#include <hdf5.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { T = 16, VOCAB = 1000, MOST = 4096 };

/* Token @p j of the stream. */
static int32_t token(int64_t j)
{
    return (int32_t)(j * 613 % 997);
}

static char *folder(char path[256], const char *name)
{
    (void)snprintf(path, 256, "%s/%s", test_tmpdir(), name);
    (void)mkdir(path, 0777);
    return path;
}

static void write_tokens(const char *path, hid_t type, int64_t n, const int64_t *tokens)
{
    const hsize_t extent = (hsize_t)n;
    hid_t f = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(1, &extent, NULL);
    hid_t d = H5Dcreate2(f, "data", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    CU_ASSERT(d >= 0);
    if (n) CU_ASSERT(H5Dwrite(d, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, tokens) >= 0);
    (void)H5Dclose(d);
    (void)H5Sclose(space);
    (void)H5Fclose(f);
}

/* Tokens @p first to @p first + @p n - 1 of the stream. */
static void put(const char *dir, const char *name, hid_t type, int64_t first, int64_t n)
{
    static int64_t tokens[MOST];
    char path[512];
    CU_ASSERT_FATAL(n <= MOST);
    for (int64_t j = 0; j < n; j++)
        tokens[j] = token(first + j);
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    write_tokens(path, type, n, tokens);
}

static struct zoo_input input_of(char *dir)
{
    return (struct zoo_input){.present = true,
                              .repeat = true,
                              .data_dir = {dir},
                              .n_data_dirs = 1,
                              .max_sequence_length = CONF_NULL};
}

/* Values of sample @p k of the batch that are not those of sample @p i of the stream. */
static int wrong_values(const struct data_batch *b, int64_t k, int64_t i)
{
    int wrong = 0;
    for (int64_t t = 0; t < T; t++)
        wrong += b->input_ids[k * T + t] != token(i * T + t) || b->mask[k * T + t] != 1 ||
                 b->labels[k * T + t] != token(i * T + t + 1);
    return wrong;
}

/* The files of @p input are tokens 0 to @p n_tokens - 1 in their order. */
static void expect_stream(const struct zoo_input *input, int64_t n_tokens)
{
    const int64_t n = (n_tokens - 1) / T;
    struct data_source *s = NULL;
    struct data_batch *b = NULL;
    int wrong = 0;
    T_OK(data_source_open(&s, input, T, VOCAB));
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    T_EQ(data_source_n_samples(s), n);
    T_OK(data_batch_create(&b, n, T));
    T_OK(data_source_read(s, 0, n, b));
    for (int64_t i = 0; i < n; i++)
        wrong += wrong_values(b, i, i);
    for (int64_t i = n - 1; i >= 0; i -= 3) { /* one by one, and backwards */
        T_OK(data_source_read(s, i, 1, b));
        wrong += wrong_values(b, 0, i);
    }
    T_EQ(wrong, 0);
    data_batch_destroy(&b);
    data_source_close(&s);
}

TEST(corpus_files, are_one_stream_of_tokens)
{
    /* files shorter than a sample, empty ones, ends at a border and within a sample */
    static const int16_t size[][24] = {
        {100, 200, 700, -1},
        {0, 3, 2, 0, 1, 30, 0, 12, 0, -1},
        {16, 16, 16, 1, -1},
        {16, 16, 16, -1},
        {15, 1, 1, 0, -1},
        {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1}};
    for (size_t c = 0; c < sizeof size / sizeof *size; c++) {
        char dir[256], name[32];
        int64_t n = 0;
        (void)snprintf(name, sizeof name, "case%zu", c);
        struct zoo_input input = input_of(folder(dir, name));
        for (int k = 0; size[c][k] >= 0; n += size[c][k], k++) {
            (void)snprintf(name, sizeof name, "f%02d.h5", k);
            put(dir, name, H5T_STD_U16LE, n, size[c][k]);
        }
        expect_stream(&input, n);
    }
}

/* More one-token files than are open at a time, each sample in 17 of them. */
TEST(corpus_files, of_one_token_each)
{
    char dir[256], name[32];
    struct zoo_input input = input_of(folder(dir, "ones"));
    for (int k = 0; k < 50; k++) {
        (void)snprintf(name, sizeof name, "f%02d.h5", k);
        put(dir, name, H5T_STD_I32LE, k, 1);
    }
    expect_stream(&input, 50);
}

/* Paths are sorted part by part, in which the end of a part is before all characters. */
TEST(corpus_files, of_several_folders_are_in_the_order_of_parts)
{
    char dir[5][256];
    struct zoo_input input = input_of(folder(dir[0], "a-b"));
    input.data_dir[1] = folder(dir[1], "a");
    input.data_dir[2] = folder(dir[2], "a.b");
    (void)snprintf(dir[3], sizeof dir[3], "%s/.//a/", test_tmpdir());
    input.data_dir[3] = folder(dir[4], "a/-");
    input.n_data_dirs = 4;
    put(dir[4], "x.h5", H5T_STD_I32LE, 0, 10);
    put(dir[1], "x.h5", H5T_STD_I32LE, 10, 10);
    put(dir[0], "w.h5", H5T_STD_I32LE, 20, 10);
    put(dir[2], "v.h5", H5T_STD_I32LE, 30, 60);
    expect_stream(&input, 90);
    input.data_dir[1] = dir[3]; /* the folder a by another name */
    expect_stream(&input, 90);
}

TEST(corpus_files, subset_and_epoch_are_of_the_whole_stream)
{
    char dir[256];
    struct data_source *s = NULL;
    struct data_batch *b = NULL;
    struct zoo_input input = input_of(folder(dir, "subset"));
    put(dir, "a.h5", H5T_STD_U16LE, 0, 100);
    put(dir, "b.h5", H5T_STD_U16LE, 100, 61); /* 10 samples; 6 and 3 of the files alone */
    input.data_subset[0] = (struct zoo_subset){.n = 1, .from = {0.5}, .to = {1}};
    T_OK(data_source_open(&s, &input, T, VOCAB));
    T_EQ(data_source_n_samples(s), 5);
    T_OK(data_batch_create(&b, 8, T));
    T_OK(data_source_read(s, 0, 8, b));
    for (int64_t k = 0; k < 8; k++)
        T_EQ(wrong_values(b, k, 5 + k % 5), 0);
    data_batch_destroy(&b);
    data_source_close(&s);
}

static void refused(const struct zoo_input *input, const char *what)
{
    struct data_source *s = NULL;
    CU_ASSERT_EQUAL(data_source_open(&s, input, T, VOCAB), WSC_FORMAT);
    if (!strstr(wsc_err_message(), what)) (void)fprintf(stderr, "%s\n", wsc_err_message());
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), what));
    CU_ASSERT_PTR_NULL(s);
}

TEST(corpus_files, of_different_types_are_refused)
{
    static const int32_t sample[3 * T];
    char dir[256], path[320];
    struct zoo_input input = input_of(folder(dir, "types"));
    put(dir, "a.h5", H5T_STD_U16LE, 0, 100);
    put(dir, "b.h5", H5T_STD_I32LE, 100, 100);
    refused(&input, "b.h5: its tokens are int32, those of ");
    put(dir, "b.h5", H5T_STD_U16BE, 100, 100);
    refused(&input, "b.h5: its tokens are uint16 (big-endian), those of ");
    put(dir, "b.h5", H5T_STD_U16LE, 100, 100);
    expect_stream(&input, 200);
    (void)snprintf(path, sizeof path, "%s/c.h5", dir);
    T_OK(store_samples_write(path, sample, 1, T));
    refused(&input, "c.h5: holds samples, but ");
    put(dir, "a.h5", H5T_STD_U16LE, 0, 9);
    put(dir, "b.h5", H5T_STD_U16LE, 0, 7);
    (void)remove(path);
    refused(&input, "hold no sample");
}

/* The file that has the token is named, with its index there, also where the sample begins in
 * another one; the value is exact. */
TEST(corpus_files, name_the_file_of_a_bad_token)
{
    static const int64_t bad[4] = {1, 2, 5000000000, 3};
    char dir[256], path[320];
    struct data_source *s = NULL;
    struct data_batch *b = NULL;
    struct zoo_input input = input_of(folder(dir, "wrong_token"));
    put(dir, "a.h5", H5T_STD_I64LE, 0, 20);
    put(dir, "c.h5", H5T_STD_I64LE, 24, 40);
    (void)snprintf(path, sizeof path, "%s/b.h5", dir);
    write_tokens(path, H5T_STD_I64LE, 4, bad);
    T_OK(data_source_open(&s, &input, T, VOCAB));
    T_OK(data_batch_create(&b, 3, T));
    CU_ASSERT_EQUAL(data_source_read(s, 0, 3, b), WSC_FORMAT);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(wsc_err_message(), "b.h5: token 2: labels is 5000000000, expected 0 to 999"));
    T_OK(data_source_read(s, 2, 1, b));
    data_batch_destroy(&b);
    data_source_close(&s);
}
