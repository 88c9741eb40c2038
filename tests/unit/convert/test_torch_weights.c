// SPDX-License-Identifier: Apache-2.0
/* Files of torch.save: views of every kind against the values that torch gives them, shards into a
 * conversion, and files made to harm, which are refused and execute nothing.
 * tests/fixtures/make_torch_fixtures.py wrote tests/data/torch with PyTorch 1.13. */
#include "../../support/test.h"
#include "hf_case.h"

#include <wsc/mem.h>

#include <stdlib.h>
#include <string.h>

#define FOLDER "tests/data/torch/"

/* ---- values ---------------------------------------------------------------------------------- */

static int64_t rows_of(const struct convert_tensor *t)
{
    return t->n_dims ? t->shape[0] : 1;
}

/* A box of both, which must be the same numbers. */
static bool same_box(const struct convert_files *a, const struct convert_tensor *t,
                     const struct convert_files *b, const struct convert_tensor *u,
                     const struct store_box *box)
{
    float x[160], y[160];
    const size_t n = (size_t)(box->rows * box->columns);
    CU_ASSERT_FATAL(n <= 160);
    T_OK(convert_files_read(a, t, box, x));
    T_OK(convert_files_read(b, u, box, y));
    return !memcmp(x, y, n * sizeof *x);
}

/* All boxes with these first rows and columns that end at the tensor's end or before it. */
static bool same_boxes(const struct convert_files *a, const struct convert_tensor *t,
                       const struct convert_files *b, const struct convert_tensor *u)
{
    const int64_t rows = rows_of(t), columns = t->n / rows;
    bool same = true;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++) {
            const struct store_box to_end = {r, rows - r, c, columns - c}, one = {r, 1, c, 1};
            same = same && same_box(a, t, b, u, &to_end) && same_box(a, t, b, u, &one);
        }
    return same;
}

static void check_tensor(const struct convert_files *torch, const struct convert_files *plain,
                         const struct convert_tensor *u)
{
    const struct convert_tensor *t = convert_files_find(torch, u->name);
    CU_ASSERT_FATAL(t != NULL);
    if (!t) return;
    T_EQ(t->dtype, u->dtype);
    T_EQ(t->n_dims, u->n_dims);
    T_EQ(t->n, u->n);
    CU_ASSERT(!memcmp(t->shape, u->shape, sizeof t->shape));
    const bool same = !t->n || same_boxes(torch, t, plain, u);
    if (!same) (void)fprintf(stderr, "%s differs\n", u->name);
    CU_ASSERT(same);
}

static void check_views(const char *path)
{
    struct convert_files *torch = NULL, *plain = NULL;
    T_OK(convert_files_open(&torch, path));
    T_OK(convert_files_open(&plain, FOLDER "views.safetensors"));
    T_EQ(torch->n_tensors, plain->n_tensors + 3); /* three hold no weights */
    for (int i = 0; i < plain->n_tensors; i++)
        check_tensor(torch, plain, &plain->tensor[i]);
    const struct convert_tensor *steps = convert_files_find(torch, "steps");
    CU_ASSERT(steps && steps->dtype == CONVERT_OTHER && steps->bytes == 40);
    convert_files_close(&torch);
    convert_files_close(&plain);
}

TEST(torch_weights, views_have_the_values_of_torch)
{
    check_views(FOLDER "views.bin");
    check_views(FOLDER "views_protocol_4.bin");
}

/* Shards whose tensors are stored transposed, against the folder with safetensors. */
TEST(torch_weights, shards_are_converted_like_safetensors)
{
    struct convert_result from_bin, from_safe, hf;
    char one[512];
    struct convert_job job = {.input = FOLDER "llama", .out = hf_path("bin_cs")};
    T_OK(convert_from_hf(&job, &from_bin));
    job.input = "tests/data/hf_llama";
    job.out = hf_path("safe_cs");
    T_OK(convert_from_hf(&job, &from_safe));
    T_EQ(from_bin.n_params, from_safe.n_params);
    T_EQ(from_bin.n_left_out, 0);
    (void)snprintf(one, sizeof one, "%s", hf_path("bin_back"));
    job = (struct convert_job){.input = from_bin.checkpoint,
                               .params = from_bin.params,
                               .family = "llama",
                               .out = one,
                               .dtype = CONVERT_OTHER,
                               .shard_bytes = INT64_MAX};
    T_OK(convert_to_hf(&job, &hf));
    CU_ASSERT(hf_same_tensors("tests/data/hf_llama", one, 0));
    const double error =
        hf_logits_error(from_bin.checkpoint, from_bin.params, "tests/data/hf_llama/reference.json");
    CU_ASSERT(error >= 0 && error < 1e-5);
}

/* A file of 2018: other names of norms, the output layer as a second name of the embedding. */
TEST(torch_weights, older_names_are_read)
{
    struct convert_result cs;
    const struct convert_job job = {.input = FOLDER "bert", .out = hf_path("older_cs")};
    T_OK(convert_from_hf(&job, &cs));
    const double error =
        hf_logits_error(cs.checkpoint, cs.params, "tests/data/hf_bert/reference.json");
    CU_ASSERT(error >= 0 && error < 1e-5);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static bool refused(const char *path, const char *why)
{
    struct convert_files *f = NULL;
    const enum wsc_err rc = convert_files_open(&f, path);
    const bool reported = rc == WSC_FORMAT && strstr(wsc_err_message(), why) && !f;
    if (!reported)
        (void)fprintf(stderr, "%s: \"%s\", expected \"%s\"\n", path, wsc_err_message(), why);
    convert_files_close(&f);
    return reported;
}

TEST(torch_weights, a_malicious_pickle_is_refused_by_name_and_executes_nothing)
{
    CU_ASSERT(refused(FOLDER "evil_os_system.bin", "data.pkl: byte 2: os.system is not allowed"));
    CU_ASSERT(refused(FOLDER "evil_behind.bin", "os.system is not allowed"));
    CU_ASSERT(refused(FOLDER "evil_posix.bin", "posix.system is not allowed"));
    CU_ASSERT(refused(FOLDER "evil_eval.bin", "builtins.eval is not allowed"));
    CU_ASSERT(refused(FOLDER "evil_inst.bin", "opcode 0x69 is not allowed"));
    CU_ASSERT(!hf_exists("wsc-pickle-was-executed"));
}

TEST(torch_weights, the_older_format_is_named)
{
    CU_ASSERT(refused(FOLDER "legacy.bin", "is in the format of before torch 1.6"));
}

/* The file with one of its bytes changed, or its end missing. */
static bool opens(const uint8_t *bytes, size_t n)
{
    const char *path = hf_path("changed.bin");
    struct convert_files *f = NULL;
    CU_ASSERT_FATAL(hf_write(path, bytes, n));
    const bool open = !convert_files_open(&f, path);
    convert_files_close(&f);
    return open;
}

/* A changed byte gives a refusal or tensors inside of the file, never more (the suite also runs
 * under the sanitizers).  The pickle has a checksum, so that none of its bytes may change. */
TEST(torch_weights, any_byte_may_be_wrong)
{
    uint8_t bytes[4096];
    FILE *file = fopen(FOLDER "plain.bin", "rb");
    CU_ASSERT_FATAL(file != NULL);
    const size_t n = fread(bytes, 1, sizeof bytes, file);
    (void)fclose(file);
    CU_ASSERT_FATAL(n > 300 && n < sizeof bytes);
    CU_ASSERT(opens(bytes, n));
    int n_opened = 0;
    for (size_t at = 0; at < n; at++) {
        bytes[at] ^= 0x41;
        const bool open = opens(bytes, n);
        bytes[at] ^= 0x41;
        n_opened += open;
        CU_ASSERT(!open || at < 30 || at > 180); /* inside of the pickle */
    }
    CU_ASSERT(n_opened >= 16); /* values may be any, and the entry `version` is not read */
    for (size_t end = 0; end < n; end++)
        CU_ASSERT(!opens(bytes, end));
}
