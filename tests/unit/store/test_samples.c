// SPDX-License-Identifier: Apache-2.0
#include "../../support/case_files.h"
#include "../../support/test.h"

#include <wsc/mem.h>
#include <wsc/store.h>

#include <hdf5.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N = 12, T = 16 };

/* What opening a bad file must do: fail with one line that names the file and says @p what. */
static void refused(const char *path, int64_t corpus_T, const char *what)
{
    struct store_samples *s = NULL;
    enum wsc_err rc = store_samples_open(&s, path, corpus_T);
    CU_ASSERT_NOT_EQUAL(rc, WSC_OK);
    CU_ASSERT_PTR_NULL(s);
    bool named = rc && strstr(wsc_err_message(), path),
         said = rc && strstr(wsc_err_message(), what);
    if (!named || !said) (void)fprintf(stderr, "expected \"%s\": %s\n", what, wsc_err_message());
    CU_ASSERT(named && said);
    CU_ASSERT_PTR_NULL(strchr(wsc_err_message(), '\n'));
}

/* tests/fixtures/make_h5py_samples.py repeats these. */
static int32_t h5py_value(int i, int row, int t)
{
    if (row == 1) return t < T - i;
    return (7 * i + 3 * t + (row == 2 ? 3 : 0)) % 50;
}

TEST(samples, file_of_h5py_reads_as_written)
{
    struct store_samples *s = NULL;
    int32_t x[3 * T], wrong = 0;
    T_OK(store_samples_open(&s, "tests/data/h5py_samples.h5", 0));
    T_EQ(store_samples_n(s), N);
    T_EQ(store_samples_T(s), T);
    T_EQ(store_samples_rows(s), 3);
    for (int k = 0; k < N; k++) {
        int i = (5 * k + 3) % N; /* not in order */
        wrong += store_samples_read(s, i, x) != WSC_OK;
        for (int j = 0; j < 3 * T; j++)
            wrong += x[j] != h5py_value(i, j / T, j % T);
    }
    T_EQ(wrong, 0);
    store_samples_close(&s);
    CU_ASSERT_PTR_NULL(s);
}

TEST(samples, round_trip_in_pieces)
{
    enum { M = 7, L = 5, EACH = 3 * L };
    int32_t data[M][EACH], x[EACH], wrong = 0;
    char path[256];
    struct store_samples_writer *w = NULL;
    struct store_samples *s = NULL;
    (void)snprintf(path, sizeof path, "%s", case_path("round.h5"));
    for (int j = 0; j < M * EACH; j++)
        data[j / EACH][j % EACH] = (j * 7919) % 50257 - 20;
    T_OK(store_samples_create(&w, path, &(struct store_samples_shape){.n = M, .T = L}));
    CU_ASSERT_NOT_EQUAL(access(path, F_OK), 0); /* not under its name before it is complete */
    T_OK(store_samples_append(w, data[0], 3));
    T_OK(store_samples_append(w, data[3], 0));
    T_OK(store_samples_append(w, data[3], 4));
    T_OK(store_samples_finish(&w));
    T_OK(store_samples_open(&s, path, 0));
    T_EQ(store_samples_n(s), M);
    for (int i = M - 1; i >= 0; i--) {
        wrong += store_samples_read(s, i, x) != WSC_OK;
        wrong += memcmp(x, data[i], sizeof x) != 0;
    }
    T_EQ(wrong, 0);
    store_samples_close(&s);
}

TEST(samples, discarded_file_leaves_nothing)
{
    int32_t data[3] = {1, 1, 2};
    struct store_samples_writer *w = NULL;
    T_OK(store_samples_create(&w, case_path("gone.h5"),
                              &(struct store_samples_shape){.n = 2, .T = 1}));
    T_OK(store_samples_append(w, data, 1));
    store_samples_discard(&w);
    CU_ASSERT_NOT_EQUAL(access(case_path("gone.h5"), F_OK), 0);
    CU_ASSERT_NOT_EQUAL(access(case_path("gone.h5.tmp"), F_OK), 0);
}

TEST(samples, unwritable_folder_is_an_error)
{
    int32_t data[3] = {1, 1, 2};
    CU_ASSERT_EQUAL(store_samples_write("/nonexistent/dir/x.h5", data, 1, 1), WSC_IO);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "No such file or directory"));
}

/* ---- files of others, good and bad, made with HDF5 itself --------------------------------------
 */

struct shape {
    int rank;
    hsize_t dims[3];
};

static hid_t make_file(const char *path)
{
    return H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
}

static void make_dataset(const char *path, struct shape shape, hid_t type, hid_t plist, bool fill)
{
    static const int64_t zeros[4096];
    hid_t f = make_file(path), space = H5Screate_simple(shape.rank, shape.dims, NULL);
    hid_t d = H5Dcreate2(f, "data", type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    CU_ASSERT(d >= 0);
    if (fill) CU_ASSERT(H5Dwrite(d, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, zeros) >= 0);
    (void)H5Dclose(d);
    (void)H5Sclose(space);
    (void)H5Fclose(f);
}

TEST(samples, corpus_needs_a_length_and_is_cut)
{
    enum { TOKENS = 23, L = 5 };
    uint16_t tokens[TOKENS];
    hsize_t n = TOKENS;
    int32_t x[3 * L], wrong = 0;
    const char *path = case_path("corpus.h5");
    struct store_samples *s = NULL;
    for (int j = 0; j < TOKENS; j++)
        tokens[j] = (uint16_t)(60000 + j);
    hid_t f = make_file(path), space = H5Screate_simple(1, &n, NULL);
    hid_t d = H5Dcreate2(f, "data", H5T_STD_U16BE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    CU_ASSERT(H5Dwrite(d, H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, tokens) >= 0);
    (void)H5Dclose(d);
    (void)H5Sclose(space);
    (void)H5Fclose(f);
    refused(path, 0, "max_sequence_length");
    T_OK(store_samples_open(&s, path, L));
    T_EQ(store_samples_n(s), (TOKENS - 1) / L);
    for (int i = 0; i < (TOKENS - 1) / L; i++) {
        wrong += store_samples_read(s, i, x) != WSC_OK;
        for (int t = 0; t < L; t++) {
            int token = 60000 + i * L + t;
            wrong += x[t] != token || x[L + t] != 1 || x[2 * L + t] != token + 1;
        }
    }
    T_EQ(wrong, 0);
    store_samples_close(&s);
}

/* Numbers of 2^31 and more, in the other byte order too, are the largest of int32; the last token
 * of a sample is only a label. */
TEST(samples, tokens_beyond_int32_are_clamped)
{
    enum { TOKENS = 5, L = 4 };
    const uint32_t tokens[TOKENS] = {1, 0x80000000U, 2, 3, 0xffffffffU};
    const hid_t types[] = {H5T_STD_U32BE, H5T_STD_U32LE};
    int32_t x[3 * L];
    hsize_t n = TOKENS;
    struct store_samples *s = NULL;
    for (int i = 0; i < 2; i++) {
        const char *path = case_path("beyond.h5");
        hid_t f = make_file(path), space = H5Screate_simple(1, &n, NULL);
        hid_t d = H5Dcreate2(f, "data", types[i], space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        CU_ASSERT(H5Dwrite(d, H5T_NATIVE_UINT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, tokens) >= 0);
        (void)H5Dclose(d);
        (void)H5Sclose(space);
        (void)H5Fclose(f);
        T_OK(store_samples_open(&s, path, L));
        T_OK(store_samples_read(s, 0, x));
        CU_ASSERT(x[0] == 1 && x[1] == INT32_MAX && x[2] == 2 && x[3] == 3);
        const int32_t *label = x + (ptrdiff_t)2 * L;
        CU_ASSERT(label[0] == INT32_MAX && label[2] == 3 && label[3] == INT32_MAX);
        store_samples_close(&s);
    }
}

/* ---- files of tokens alone ------------------------------------------------------------------- */

static void put_bytes(const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    CU_ASSERT_FATAL(f && fwrite(bytes, 1, n, f) == n);
    (void)fclose(f);
}

static void tokens_refused(const char *path, enum wsc_err expected, const char *what)
{
    struct store_samples *s = NULL;
    CU_ASSERT_EQUAL(store_samples_open_tokens(&s, path, 3), expected);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), what));
    CU_ASSERT_PTR_NULL(s);
}

/* 12 tokens of two bytes, the low one first: three whole samples of 3 tokens, as of
 * (12 - 1) / 3 the last two tokens are left over. */
TEST(samples, tokens_alone_are_a_corpus)
{
    unsigned char bytes[24];
    int32_t x[9], wrong = 0;
    struct store_samples *s = NULL;
    const char *path = case_path("train.bin");
    for (int i = 0; i < 12; i++) {
        unsigned char *token = bytes + (ptrdiff_t)2 * i;
        token[0] = (unsigned char)(250 + i);
        token[1] = (unsigned char)(20 * i);
    }
    put_bytes(path, bytes, sizeof bytes);
    T_OK(store_samples_open_tokens(&s, path, 3));
    T_EQ(store_samples_n(s), 3);
    T_EQ(store_samples_T(s), 3);
    T_EQ(store_samples_rows(s), 3);
    for (int i = 2; i >= 0; i--) {
        T_OK(store_samples_read(s, i, x));
        for (int t = 0; t < 3; t++) {
            const int at = 3 * i + t;
            wrong += x[t] != (250 + at) % 256 + 256 * 20 * at || x[3 + t] != 1 ||
                     x[6 + t] != (251 + at) % 256 + 256 * 20 * (at + 1);
        }
    }
    T_EQ(wrong, 0);
    CU_ASSERT_FATAL(!truncate(path, 12)); /* while it is open */
    CU_ASSERT_EQUAL(store_samples_read(s, 2, x), WSC_IO);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "sample 2 cannot be read: the file has"));
    store_samples_close(&s);
}

TEST(samples, what_is_no_file_of_tokens_is_refused)
{
    static const unsigned char mark[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    struct store_samples *s = NULL;
    const char *path = case_path("odd.bin");
    tokens_refused(case_path("none.bin"), WSC_IO, "cannot be opened: No such file");
    put_bytes(path, mark, 7);
    tokens_refused(path, WSC_FORMAT, "has 7 bytes, expected an even number");
    put_bytes(path, mark, 8);
    tokens_refused(path, WSC_FORMAT, "is an HDF5 file");
    tokens_refused(test_tmpdir(), WSC_IO, "is not a regular file");
    for (size_t n = 0; n <= 6; n += 2) { /* too few for a sample */
        put_bytes(path, mark, n);
        T_OK(store_samples_open_tokens(&s, path, 3));
        T_EQ(store_samples_n(s), 0);
        store_samples_close(&s);
    }
}

/* The value @p at of sample @p i of a file of @p type and @p values. */
static void check_digits(struct shape shape, hid_t type, const void *values, hid_t memory, int i,
                         int at, const char *expected)
{
    char text[STORE_DIGITS];
    struct store_samples *s = NULL;
    const char *path = case_path("large.h5");
    hid_t f = make_file(path), space = H5Screate_simple(shape.rank, shape.dims, NULL);
    hid_t d = H5Dcreate2(f, "data", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    CU_ASSERT(H5Dwrite(d, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    (void)H5Dclose(d);
    (void)H5Sclose(space);
    (void)H5Fclose(f);
    T_OK(store_samples_open(&s, path, 2));
    T_OK(store_samples_digits(s, i, at, text));
    T_STR(text, expected);
    store_samples_close(&s);
}

TEST(samples, values_beyond_int32_in_full)
{
    const struct shape samples = {3, {2, 3, 2}}, corpus = {1, {7}};
    const int64_t whole[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -9000000000, 3000000000};
    const uint64_t natural[12] = {0, UINT64_MAX, 0, 4294967296, 5000000000};
    check_digits(samples, H5T_STD_I64LE, whole, H5T_NATIVE_INT64, 1, 5, "3000000000");
    check_digits(samples, H5T_STD_I64BE, whole, H5T_NATIVE_INT64, 1, 4, "-9000000000");
    check_digits(samples, H5T_STD_U64LE, natural, H5T_NATIVE_UINT64, 0, 1, "18446744073709551615");
    check_digits(samples, H5T_STD_U32BE, natural, H5T_NATIVE_UINT64, 0, 4, "4294967295");
    check_digits(corpus, H5T_STD_U64LE, natural, H5T_NATIVE_UINT64, 1, 1, "4294967296");
    check_digits(corpus, H5T_STD_U64BE, natural, H5T_NATIVE_UINT64, 1, 5, "5000000000");
}

TEST(samples, wrong_shapes_and_types_are_refused)
{
    const char *path = case_path("bad.h5");
    hid_t i32 = H5T_STD_I32LE;
    make_dataset(path, (struct shape){3, {4, 2, 8}}, i32, H5P_DEFAULT, true);
    refused(path, 0, "expected (n, 3, T)");
    make_dataset(path, (struct shape){2, {4, 8}}, i32, H5P_DEFAULT, true);
    refused(path, 0, "rank 2");
    make_dataset(path, (struct shape){3, {4, 3, 8}}, H5T_IEEE_F32LE, H5P_DEFAULT, true);
    refused(path, 0, "float32");
    make_dataset(path, (struct shape){3, {4, 3, 8}}, H5T_C_S1, H5P_DEFAULT, false);
    refused(path, 0, "neither");
    make_dataset(path, (struct shape){3, {1ULL << 40, 3, 1ULL << 40}}, i32, H5P_DEFAULT, false);
    refused(path, 0, "absurd");
    make_dataset(path, (struct shape){3, {1ULL << 30, 3, 8}}, i32, H5P_DEFAULT, false);
    refused(path, 0, "never written");
    hid_t f = make_file(path);
    (void)H5Fclose(f);
    refused(path, 0, "no dataset `data`");
}

TEST(samples, foreign_storage_is_refused)
{
    const char *path = case_path("foreign.h5");
    hsize_t chunk[3] = {1, 3, 8}, huge[3] = {1 << 20, 3, 128};
    struct shape shape = {3, {4, 3, 8}};
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    (void)H5Pset_external(plist, "/etc/passwd", 0, H5F_UNLIMITED);
    make_dataset(path, shape, H5T_STD_I32LE, plist, false);
    refused(path, 0, "other files");
    (void)H5Pclose(plist);
    plist = H5Pcreate(H5P_DATASET_CREATE);
    (void)H5Pset_chunk(plist, 3, chunk);
    (void)H5Pset_filter(plist, H5Z_FILTER_SCALEOFFSET, 0, 2, (const unsigned[]){2, 0});
    make_dataset(path, shape, H5T_STD_I32LE, plist, false);
    refused(path, 0, "HDF5 filter 6");
    (void)H5Pclose(plist);
    plist = H5Pcreate(H5P_DATASET_CREATE);
    (void)H5Pset_chunk(plist, 3, huge);
    make_dataset(path, (struct shape){3, {1 << 20, 3, 128}}, H5T_STD_I32LE, plist, false);
    refused(path, 0, "chunks of more than");
    (void)H5Pset_chunk(plist, 3, chunk);
    make_dataset(path, shape, H5T_STD_I32LE, plist, false);
    refused(path, 0, "0 of 4 chunks");
    (void)H5Pclose(plist);
}

TEST(samples, links_are_refused)
{
    const char *path = case_path("links.h5");
    hid_t f = make_file(path);
    (void)H5Lcreate_soft("/data", f, "data", H5P_DEFAULT, H5P_DEFAULT); /* a loop */
    (void)H5Fclose(f);
    refused(path, 0, "link");
    f = make_file(path);
    (void)H5Lcreate_external("other.h5", "/data", f, "data", H5P_DEFAULT, H5P_DEFAULT);
    (void)H5Fclose(f);
    refused(path, 0, "link");
    f = make_file(path);
    (void)H5Gclose(H5Gcreate2(f, "data", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    (void)H5Fclose(f);
    refused(path, 0, "is a group");
}

TEST(samples, count_attribute_must_agree)
{
    const char *path = case_path("count.h5");
    struct store_samples *s = NULL;
    int64_t n = 5;
    make_dataset(path, (struct shape){3, {4, 3, 8}}, H5T_STD_I32LE, H5P_DEFAULT, true);
    T_OK(store_samples_open(&s, path, 0)); /* the attribute may be missing */
    T_EQ(store_samples_n(s), 4);
    store_samples_close(&s);
    hid_t f = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), space = H5Screate(H5S_SCALAR);
    hid_t a = H5Acreate2(f, "n_examples", H5T_STD_I64LE, space, H5P_DEFAULT, H5P_DEFAULT);
    (void)H5Awrite(a, H5T_NATIVE_INT64, &n);
    (void)H5Aclose(a);
    (void)H5Sclose(space);
    (void)H5Fclose(f);
    refused(path, 0, "n_examples is 5 but data has 4");
}

TEST(samples, not_hdf5_or_cut_short_is_refused)
{
    char path[256];
    struct stat info;
    int32_t data[64 * 3 * 8] = {0};
    (void)snprintf(path, sizeof path, "%s", case_path("short.h5"));
    refused(test_tmpdir(), 0, "not a regular file");
    refused("/nonexistent.h5", 0, "No such file");
    FILE *f = fopen(path, "w");
    (void)fputs("PK\x03\x04 this is not HDF5", f);
    (void)fclose(f);
    refused(path, 0, "is not an HDF5 file");
    T_OK(store_samples_write(path, data, 64, 8));
    CU_ASSERT_EQUAL_FATAL(stat(path, &info), 0);
    CU_ASSERT_EQUAL_FATAL(truncate(path, info.st_size - 100), 0);
    refused(path, 0, "hint: ");
    CU_ASSERT_EQUAL_FATAL(truncate(path, 0), 0);
    refused(path, 0, "is not an HDF5 file");
}

TEST(samples, memory_is_balanced)
{
    T_EQ(wsc_mem_in_use(WSC_MEM_STORE), 0);
}
