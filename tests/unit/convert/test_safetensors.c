// SPDX-License-Identifier: Apache-2.0
/* Files that are damaged or made to harm: every one is refused with a sentence that says why. */
#include "../../support/test.h"
#include "hf_case.h"

#include <wsc/file.h>
#include <wsc/log.h>
#include <wsc/mem.h>
#include <wsc/out.h>

#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool refused(const char *path, const char *why)
{
    struct convert_files *f = NULL;
    const enum wsc_err rc = convert_files_open(&f, path);
    const bool reported = rc && strstr(wsc_err_message(), why) && !f;
    if (!reported)
        (void)fprintf(stderr, "%s: \"%s\", expected \"%s\"\n", path, wsc_err_message(), why);
    convert_files_close(&f);
    return reported;
}

/* A pipe under the name of a file of weights has no writer to wait for. */
TEST(safetensors, a_pipe_is_refused)
{
    const char *path = hf_path("pipe.safetensors");
    CU_ASSERT_FATAL(!mkfifo(path, 0600));
    (void)alarm(30); /* ends the process where opening waits */
    CU_ASSERT(refused(path, "pipe.safetensors: is not a regular file"));
    (void)alarm(0);
}

#define ENTRY(name, dtype, shape, offsets)                                                         \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static const struct {
    const char *header;
    size_t data;
    const char *why;
} bad_header[] = {
    {"{", 0, ":1:1: string or"},
    {"[]", 0, "expected a JSON object"},
    {"{\"a\":1}", 0, "tensor a: `dtype`"},
    {"{\"a\\u001b[2J\":1}", 0, "the name of a tensor has a control character, 0x1B"},
    {"{" ENTRY("a", "F31", "[1]", "[0,4]") "}", 4, "`dtype` is none"},
    {"{" ENTRY("a", "F32", "3", "[0,4]") "}", 4, "`shape` is not a list"},
    {"{" ENTRY("a", "F32", "[-1]", "[0,4]") "}", 4, "`shape` is not a list"},
    {"{" ENTRY("a", "F32", "[1.5]", "[0,4]") "}", 4, "`shape` is not a list"},
    {"{" ENTRY("a", "F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]") "}", 4, "at most 8"},
    {"{" ENTRY("a", "F32", "[4294967296,4294967296]", "[0,4]") "}", 4, "more elements"},
    {"{" ENTRY("a", "F32", "[2305843009213693952]", "[0,0]") "}", 0, "in 0 bytes of data"},
    {"{" ENTRY("a", "F32", "[99999999999999999999]", "[0,4]") "}", 4, "too big integer"},
    {"{" ENTRY("a", "F32", "[1]", "[4,0]") "}", 4, "0 <= begin <= end"},
    {"{" ENTRY("a", "F32", "[1]", "[-4,0]") "}", 4, "0 <= begin <= end"},
    {"{" ENTRY("a", "F32", "[1]", "[0]") "}", 4, "0 <= begin <= end"},
    {"{" ENTRY("a", "F32", "[2]", "[0,4]") "}", 4, "2 elements of F32 in 4 bytes"},
    {"{" ENTRY("a", "F32", "[1]", "[0,4]") "}", 3, "end at 4, the file has 3"},
    {"{" ENTRY("a", "F32", "[1]", "[0,4]") "}", 8, "8 bytes of data, its header describes 4"},
    {"{" ENTRY("a", "F32", "[1]", "[0,4]") "," ENTRY("b", "F32", "[1]", "[8,12]") "}", 12,
     "after a gap from 4"},
    {"{" ENTRY("a", "F32", "[2]", "[0,8]") "," ENTRY("b", "F32", "[1]", "[4,8]") "}", 8,
     "inside those that end at 8"},
    {"{" ENTRY("a", "F32", "[1]", "[0,4]") "," ENTRY("a", "F32", "[1]", "[4,8]") "}", 8,
     "duplicate object key"},
    {"{" ENTRY("a", "F32", "[1]", "[9223372036854775803,9223372036854775807]") "}", 4,
     "after a gap"},
};

TEST(safetensors, damaged_headers_are_refused)
{
    for (size_t i = 0; i < sizeof bad_header / sizeof *bad_header; i++) {
        const char *path = hf_path("bad.safetensors");
        CU_ASSERT_FATAL(hf_write_safetensors(path, bad_header[i].header, bad_header[i].data));
        CU_ASSERT(refused(path, bad_header[i].why));
    }
}

TEST(safetensors, absurd_lengths_are_refused)
{
    static const uint64_t length[] = {3, UINT64_MAX, (uint64_t)1 << 63, 100000000000};
    const char *path = hf_path("length.safetensors");
    for (int i = 0; i < 4; i++) {
        CU_ASSERT_FATAL(hf_write(path, &length[i], sizeof length[i]));
        CU_ASSERT(refused(path, "says that its header has"));
    }
    for (size_t n = 0; n < 8; n++) {
        CU_ASSERT_FATAL(hf_write(path, length, n));
        CU_ASSERT(refused(path, "too few for a file of weights"));
    }
    CU_ASSERT(refused(hf_path("absent.safetensors"), "cannot be opened"));
}

/* Every truncation and every changed byte of a good header gives a table or an error, never more
 * (the suite also runs under the sanitizers). */
TEST(safetensors, any_byte_may_be_wrong)
{
    static const char header[] =
        "{" ENTRY("a", "F32", "[2,2]", "[0,16]") "," ENTRY("b", "BF16", "[3]", "[16,22]") "}";
    const char *path = hf_path("changed.safetensors");
    char changed[sizeof header];
    int n_opened = 0;
    for (size_t at = 0; at < sizeof header - 1; at++)
        for (int value = 0; value < 3; value++) {
            struct convert_files *f = NULL;
            memcpy(changed, header, sizeof header);
            changed[at] = (char)(value == 0 ? '9' : value == 1 ? '"' : changed[at] ^ 0x20);
            CU_ASSERT_FATAL(hf_write_safetensors(path, changed, 22));
            n_opened += !convert_files_open(&f, path);
            convert_files_close(&f);
        }
    CU_ASSERT(n_opened > 0); /* a changed letter of a name is still a file */
}

TEST(safetensors, an_empty_file_of_tensors_is_fine)
{
    struct convert_files *f = NULL;
    const char *path = hf_path("empty.safetensors");
    CU_ASSERT_FATAL(hf_write_safetensors(path, "{}", 0));
    T_OK(convert_files_open(&f, path));
    T_EQ(f->n_tensors, 0);
    CU_ASSERT(!convert_files_find(f, "a"));
    convert_files_close(&f);
}

TEST(safetensors, boxes_of_a_tensor)
{
    const struct convert_out_tensor out = {"a", CONVERT_F16, 2, {5, 7}, 35};
    const char *path = hf_path("box.safetensors");
    struct convert_writer *w = NULL;
    struct convert_files *f = NULL;
    float x[35], y[35];
    for (int i = 0; i < 35; i++)
        x[i] = (float)i - 17;
    T_OK(convert_writer_create(&w, path, &out, 1));
    T_OK(convert_writer_append(w, x, 30));
    CU_ASSERT(!hf_exists(path)); /* not before it is complete */
    T_OK(convert_writer_append(w, x + 30, 5));
    T_OK(convert_writer_finish(&w));
    T_OK(convert_files_open(&f, path));
    const struct convert_tensor *t = convert_files_find(f, "a");
    CU_ASSERT_FATAL(t != NULL);
    const struct store_box box = {1, 3, 2, 4};
    T_OK(convert_files_read(f, t, &box, y));
    for (int i = 0; i < 12; i++)
        T_EQ(y[i], x[(1 + i / 4) * 7 + 2 + i % 4]);
    convert_files_close(&f);
}

/* The largest value that is rounded to a finite one, and the next one; infinities stay. */
TEST(safetensors, what_16_bits_cannot_hold_is_refused)
{
    static const struct {
        enum convert_dtype dtype;
        float fits, large;
        const char *why;
    } row[] = {
        {CONVERT_F16, 65519, -65520, "-65520, F16 ends at 65504; hint: --dtype bf16 or "},
        {CONVERT_BF16, 0x1.fefffep127F, -0x1.ffp127F,
         "BF16 ends at 3.38953e+38; hint: --dtype f32"},
    };
    for (int i = 0; i < 2; i++) {
        const struct convert_out_tensor out = {"a", row[i].dtype, 1, {3, 1}, 3};
        const char *path = hf_path("large.safetensors");
        struct convert_writer *w = NULL;
        const float x[3] = {row[i].fits, (float)INFINITY, row[i].large};
        T_OK(convert_writer_create(&w, path, &out, 1));
        T_OK(convert_writer_append(w, x, 2));
        T_EQ(convert_writer_append(w, x + 2, 1), WSC_NUMERIC);
        CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), row[i].why));
        convert_writer_discard(&w);
        CU_ASSERT(!hf_exists(path));
    }
}

/* ---- shards ---------------------------------------------------------------------------------- */

static bool write_shards(const char *dir, const char *index)
{
    char path[512];
    if (wsc_file_mkdir(dir)) return false;
    (void)snprintf(path, sizeof path, "%s/model.safetensors.index.json", dir);
    if (!hf_write_text(path, index)) return false;
    (void)snprintf(path, sizeof path, "%s/one", dir);
    if (!hf_write_safetensors(path, "{" ENTRY("a", "F32", "[1]", "[0,4]") "}", 4)) return false;
    (void)snprintf(path, sizeof path, "%s/two", dir);
    return hf_write_safetensors(path, "{" ENTRY("b", "F32", "[1]", "[0,4]") "}", 4);
}

TEST(safetensors, an_index_and_its_shards_must_agree)
{
    static const struct {
        const char *index, *why;
    } row[] = {
        {"{\"weight_map\":{\"a\":\"one\"}", "expected near"},
        {"{}", "weight_map is missing"},
        {"{\"weight_map\":{\"a\":\"../one\"}}", "expected the name of a file in this folder"},
        {"{\"weight_map\":{\"a\":\"\"}}", "expected the name of a file in this folder"},
        {"{\"weight_map\":{\"a\":7}}", "expected the name of a file in this folder"},
        {"{\"weight_map\":{\"a\":\"one\",\"b\":\"three\"}}", "three: cannot be opened"},
        {"{\"weight_map\":{\"a\":\"two\",\"b\":\"one\"}}", "tensor a is not in two"},
        {"{\"weight_map\":{\"a\":\"one\",\"c\":\"two\"}}", "tensor c is not in two"},
    };
    const char *dir = hf_path("shards");
    struct convert_files *f = NULL;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        CU_ASSERT_FATAL(write_shards(dir, row[i].index));
        CU_ASSERT(refused(dir, row[i].why));
    }
    CU_ASSERT_FATAL(write_shards(dir, "{\"weight_map\":{\"a\":\"one\",\"b\":\"two\"}}"));
    T_OK(convert_files_open(&f, dir));
    T_EQ(f->n_tensors, 2);
    convert_files_close(&f);
}

/* As in the transformers library, which does not look at the index then. */
TEST(safetensors, a_single_file_comes_before_shards)
{
    char *log = NULL;
    size_t n = 0;
    const char *dir = hf_path("both");
    struct convert_files *f = NULL;
    CU_ASSERT_FATAL(write_shards(dir, "{\"weight_map\":{\"a\":\"one\",\"b\":\"two\"}}"));
    CU_ASSERT_FATAL(hf_write_safetensors(hf_path("both/model.safetensors"),
                                         "{" ENTRY("c", "F32", "[1]", "[0,4]") "}", 4));
    T_OK(wsc_log_open(hf_path("both.log")));
    T_OK(convert_files_open(&f, dir));
    wsc_log_close();
    T_EQ(f->n_tensors, 1);
    CU_ASSERT_PTR_NOT_NULL(convert_files_find(f, "c"));
    convert_files_close(&f);
    T_OK(wsc_file_read(WSC_MEM_CONVERT, hf_path("both.log"), 1 << 12, &log, &n));
    CU_ASSERT(log &&
              strstr(log, "model.safetensors.index.json: is not used: model.safetensors is"));
    wsc_free(log);
}
