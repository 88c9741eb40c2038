// SPDX-License-Identifier: Apache-2.0
/* Files as cstorch lays them out: those of tests/fixtures/make_cstorch_checkpoints.py are read, and
 * what is written here has what their reader looks for. */
#include "../../support/case_files.h"
#include "../../support/test.h"

#include <wsc/mem.h>
#include <wsc/store.h>

#include <fcntl.h>
#include <hdf5.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const written[] = {"tests/data/cstorch_04.mdl", "tests/data/cstorch_05.mdl"};
static const char words[] = "model.model.embedding_layer.word_embeddings.weight";
enum { VOCAB = 32, HIDDEN = 8, FILTER = 16, N_WORDS = VOCAB * HIDDEN, N_PARAMETERS = 14 };

static void refused(enum wsc_err rc, const char *why)
{
    CU_ASSERT_EQUAL(rc, WSC_FORMAT);
    if (!strstr(wsc_err_message(), why)) (void)printf("  got: %s\n", wsc_err_message());
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), why));
}

/* ---- reading --------------------------------------------------------------------------------- */

static void check_words(struct store_file *f)
{
    float x[N_WORDS], box[3 * 5];
    double wide[N_WORDS];
    T_OK(store_read(f, words, STORE_F32, 0, 11, x));
    T_OK(store_read(f, words, STORE_F32, 11, N_WORDS - 11, x + 11));
    T_OK(store_read(f, words, STORE_F64, 0, N_WORDS, wide));
    for (int i = 0; i < N_WORDS; i++)
        CU_ASSERT((double)x[i] == (i % 256 - 128) / 64.0 && wide[i] == (double)x[i]);
    T_OK(store_read_box(f, words, &(struct store_box){15, 3, 2, 5}, box));
    for (int i = 0; i < 15; i++)
        T_NEAR(box[i], (double)x[(15 + i / 5) * HIDDEN + 2 + i % 5], 0);
}

static void in_file(const char *path, void (*check)(struct store_file *))
{
    struct store_file *f = NULL;
    T_OK(store_open(&f, path));
    check(f);
    store_close(&f);
}

static void in_both(void (*check)(struct store_file *))
{
    in_file(written[0], check);
    in_file(written[1], check);
}

TEST(cstorch, packed_bfloat16_is_read_in_pieces_and_boxes)
{
    in_both(check_words);
}

/* Number @p k of the fixture's parameters, and the label of its moments. */
static void has_values(struct store_file *f, const char *name, int k, int n, int label)
{
    float x[N_WORDS];
    char state[96];
    T_OK(store_read(f, name, STORE_F32, 0, n, x));
    for (int i = 0; i < n; i++)
        T_NEAR(x[i], sin(1000 * k + i) / 20, 1e-8);
    (void)snprintf(state, sizeof state, "optimizer.state.%d.exp_avg", label);
    T_OK(store_read(f, state, STORE_F32, 0, n, x));
    for (int i = 0; i < n; i++)
        T_NEAR(x[i], cos(1000 * k + i) / 1000, 1e-10);
    (void)snprintf(state, sizeof state, "optimizer.state.%d.exp_avg_sq", label);
    T_OK(store_read(f, state, STORE_F32, 0, n, x));
    for (int i = 0; i < n; i++)
        T_NEAR(x[i], (1 + (i + k) % 7) * 1e-6, 1e-12);
}

static void check_floats(struct store_file *f)
{
    has_values(f, "model.model.embedding_layer.position_embeddings.embed.weight", 1, 64, 1);
    has_values(f, "model.model.ln_f.bias", 3, HIDDEN, 9);
    has_values(f, "model.model.transformer_decoder.layers.0.ffn.ffn.1.linear_layer.weight", 13,
               HIDDEN * FILTER, 7);
}

TEST(cstorch, packed_floats_have_their_values)
{
    in_both(check_floats);
}

static void check_numbers(struct store_file *f)
{
    int64_t step = 0, label = 0;
    float power = 0;
    T_OK(store_read(f, "global_step", STORE_I64, 0, 1, &step));
    T_EQ(step, 7);
    T_OK(store_read(f, "optimizer.param_groups.1.params.2", STORE_I64, 0, 1, &label));
    T_EQ(label, 10);
    T_OK(store_read(f, "optimizer.state.13.beta2_power", STORE_F32, 0, 1, &power));
    T_NEAR(power, pow(0.95, 8), 1e-7);
    CU_ASSERT(!store_has(f, "__metadata__.0.version") && !store_has(f, "__metadata__.0.params"));
}

TEST(cstorch, numbers_and_constants_without_a_dataset_are_read)
{
    in_both(check_numbers);
}

static enum wsc_err count_aliases(void *ctx, const struct store_item *item)
{
    int *n = ctx;
    *n += item->same_as != NULL;
    return WSC_OK;
}

static void check_aliases(struct store_file *f)
{
    float a[N_WORDS], b[N_WORDS];
    int n = 0;
    T_OK(store_read(f, words, STORE_F32, 0, N_WORDS, a));
    T_OK(store_read(f, "model.model.lm_head.weight", STORE_F32, 0, N_WORDS, b));
    for (int i = 0; i < N_WORDS; i++)
        T_NEAR(a[i], (double)b[i], 0);
    T_OK(store_visit(f, count_aliases, &n));
    T_EQ(n, 3);
}

TEST(cstorch, second_names_lead_to_the_first)
{
    in_both(check_aliases);
    T_OK(store_check(written[0]));
    T_OK(store_check(written[1]));
}

/* Names of release 2.0, and buffers that hold nothing learned. */
TEST(cstorch, older_names_and_buffers_are_known)
{
    static const char *const name[] = {"model.model.embedding_layer.position_embeddings.weight",
                                       "model.model.embedding_layer.relative_pe_helper.slopes",
                                       "model.accuracy_metric.total_num_tokens", "model.model.new"};
    static const int64_t shape[2] = {2, 1};
    const struct store_tensor table = {"model.embedding_layer.position_embeddings.embed.weight", "",
                                       2, shape, ""};
    const char *path = case_path("older.mdl"), *first = NULL;
    const float x[2] = {1, 2};
    char found[STORE_NAME_BYTES];
    struct store_file *f = NULL;
    int n = 0;
    enum wsc_err rc = store_create(&f, path, NULL);
    for (int i = 0; i < 4 && !rc; i++) {
        rc = store_define(f, name[i], STORE_F32, 2, shape);
        if (!rc) rc = store_write(f, name[i], 0, 2, x);
    }
    T_OK(rc);
    T_OK(store_commit(&f));
    T_OK(store_open(&f, path));
    CU_ASSERT(store_find_tensor(f, &table, found));
    T_STR(found, name[0]);
    T_OK(store_count_unknown(f, &table, 1, &first, &n));
    T_EQ(n, 1);
    T_STR(first, name[3]);
    store_close(&f);
}

/* ---- files that must not be trusted ---------------------------------------------------------- */

enum { FLOATS = 64 };

/* A chunk of 64 floats as @p bytes, packed with LZ4 if one believes it. */
static enum wsc_err read_chunk(const char *bytes, size_t n, float x[FLOATS])
{
    const char *path = case_path("chunk.mdl");
    const hsize_t extent = FLOATS, start = 0;
    struct store_file *f = NULL;
    (void)H5Zunregister(
        32004); /* for reading only: with it HDF5 would refuse to make the dataset */
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(1, &extent, NULL), plist = H5Pcreate(H5P_DATASET_CREATE);
    (void)H5Pset_chunk(plist, 1, &extent);
    (void)H5Pset_filter(plist, 32004, H5Z_FLAG_OPTIONAL, 0, NULL);
    hid_t dset = H5Dcreate2(file, "w", H5T_IEEE_F32LE, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    CU_ASSERT(dset >= 0 && H5Dwrite_chunk(dset, H5P_DEFAULT, 0, &start, n, bytes) >= 0);
    (void)H5Dclose(dset);
    (void)H5Pclose(plist);
    (void)H5Sclose(space);
    (void)H5Fclose(file);
    enum wsc_err rc = store_open(&f, path);
    if (!rc) rc = store_read(f, "w", STORE_F32, 0, FLOATS, x);
    store_close(&f);
    return rc;
}

TEST(cstorch, damaged_chunks_are_errors)
{
    /* 256 zeros: one literal, a match of 4 + 15 + 255 - 19 = 250, five literals. */
    static const char good[] = "\0\0\0\0\0\0\1\0"
                               "\0\0\1\0"
                               "\0\0\0\13"
                               "\x1f\0\1\0\xe7"
                               "\x50\0\0\0\0\0";
    enum { N = sizeof good - 1 };
    char bad[N];
    float x[FLOATS] = {1, 1, 1};
    T_OK(read_chunk(good, N, x));
    for (int i = 0; i < FLOATS; i++)
        T_NEAR(x[i], 0, 0);
    for (int at = 0; at < N; at++) {
        memcpy(bad, good, N);
        bad[at] = (char)(bad[at] ^ 0x40);
        (void)!read_chunk(bad, N, x); /* values may differ, memory is not touched */
    }
    for (size_t n = 1; n < N; n++)
        CU_ASSERT_EQUAL(read_chunk(good, n, x), WSC_IO);
    memcpy(bad, good, N);
    bad[7] = 4; /* says it holds 260 bytes */
    CU_ASSERT_EQUAL(read_chunk(bad, N, x), WSC_IO);
    memcpy(bad, good, N);
    bad[6] = 0; /* 0 bytes */
    CU_ASSERT_EQUAL(read_chunk(bad, N, x), WSC_IO);
    memcpy(bad, good, N);
    bad[10] = 0; /* blocks of 0 bytes */
    CU_ASSERT_EQUAL(read_chunk(bad, N, x), WSC_IO);
}

static void copy_file(const char *from, const char *to)
{
    static char bytes[1 << 17];
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    CU_ASSERT_FATAL(in && out);
    if (!in || !out) return;
    const size_t n = fread(bytes, 1, sizeof bytes, in);
    CU_ASSERT(n < sizeof bytes && fwrite(bytes, 1, n, out) == n);
    (void)fclose(in);
    (void)fclose(out);
}

static void remove_attribute(const char *path, const char *name)
{
    hid_t f = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    CU_ASSERT(H5Adelete(f, name) >= 0);
    (void)H5Fclose(f);
}

static void put_number(const char *path, const char *name, double value)
{
    hid_t f = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), space = H5Screate(H5S_SCALAR);
    hid_t a = H5Acreate2(f, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT);
    CU_ASSERT(H5Awrite(a, H5T_NATIVE_DOUBLE, &value) >= 0);
    (void)H5Aclose(a);
    (void)H5Sclose(space);
    (void)H5Fclose(f);
}

TEST(cstorch, incomplete_and_newer_files_are_refused)
{
    struct store_file *f = NULL;
    const char *path = case_path("copy.mdl");
    copy_file(written[1], path);
    remove_attribute(path, "__SUCCESS__");
    refused(store_open(&f, path), "is incomplete");
    copy_file(written[0], path);
    remove_attribute(path, "__version__");
    put_number(path, "__version__", 0.6);
    refused(store_open(&f, path), "has version 0.6 of cstorch's layout, known are those up to 0.5");
}

/* Values in other files were a thing of release 2.0 to 2.3. */
TEST(cstorch, values_in_other_files_are_refused)
{
    struct store_file *f = NULL;
    const char *path = case_path("elsewhere.mdl");
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t none = H5Screate(H5S_NULL), space = H5Screate(H5S_SCALAR), type = H5Tcopy(H5T_C_S1);
    (void)H5Tset_size(type, 6);
    hid_t d =
        H5Dcreate2(file, "model.w", H5T_NATIVE_FLOAT, none, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t a = H5Acreate2(d, "filepath", type, space, H5P_DEFAULT, H5P_DEFAULT);
    CU_ASSERT(H5Awrite(a, type, "/a.bin") >= 0);
    (void)H5Aclose(a);
    (void)H5Dclose(d);
    (void)H5Tclose(type);
    (void)H5Sclose(space);
    (void)H5Sclose(none);
    (void)H5Fclose(file);
    refused(store_open(&f, path), "model.w keeps its values in another file");
}

/* Single bytes are turned, as in test_checkpoint.c. */
static void turn_bytes(const char *path, off_t first)
{
    int fd = open(path, O_RDWR);
    CU_ASSERT_FATAL(fd >= 0);
    const off_t n = lseek(fd, 0, SEEK_END);
    for (off_t at = first; at < n; at += 211) {
        unsigned char byte = 0, turned;
        test_more_time(); /* each look is a process */
        CU_ASSERT(pread(fd, &byte, 1, at) == 1);
        turned = byte ^ 0x41;
        CU_ASSERT(pwrite(fd, &turned, 1, at) == 1);
        (void)!store_check(path);
        CU_ASSERT(pwrite(fd, &byte, 1, at) == 1);
    }
    (void)close(fd);
}

TEST(cstorch, turned_bytes_never_crash)
{
    const char *path = case_path("turned.mdl");
    copy_file(written[0], path);
    turn_bytes(path, 0);
    T_OK(store_check(path));
    copy_file(written[1], path);
    turn_bytes(path, 1);
    T_OK(store_check(path));
}

/* ---- writing --------------------------------------------------------------------------------- */

static enum wsc_err write_state(const char *path)
{
    static const int64_t shape[2] = {2, 3}, one = 1;
    const struct store_tensor w = {"model.w.weight", "model.tied.weight", 2, shape, ""};
    const float x[6] = {1, 2, 3, 4, 5, 6}, power = 0.5F;
    const int64_t step = 41, time = 5;
    struct store_file *f = NULL;
    TRY(store_create(&f, path, NULL));
    TRY(store_define_tensor(f, &w));
    TRY(store_define(f, "optimizer.state.0.exp_avg", STORE_F32, 2, shape));
    TRY(store_define(f, "optimizer.state.0.beta1_power", STORE_F32, 0, NULL));
    TRY(store_define(f, "global_step", STORE_I64, 1, &one));
    TRY(store_define(f, "wsc.time", STORE_I64, 1, &one));
    TRY(store_set_number(f, "global_step", STORE_I64, 41));
    TRY(store_set_number(f, "optimizer.param_groups.0.params.0", STORE_I64, 0));
    TRY(store_set_number(f, "optimizer.param_groups.0.lr", STORE_F64, 0.1));
    TRY(store_set_number(f, "optimizer.param_groups.1.lr", STORE_F64, 0.1));
    TRY(store_describe(f));
    TRY(store_write(f, "model.w.weight", 0, 6, x));
    TRY(store_write(f, "optimizer.state.0.exp_avg", 0, 6, x));
    TRY(store_write(f, "optimizer.state.0.beta1_power", 0, 1, &power));
    TRY(store_write(f, "global_step", 0, 1, &step));
    TRY(store_write(f, "wsc.time", 0, 1, &time));
    return store_commit(&f);
}

/* A text attribute of any length, as h5py reads a str. */
static json_t *json_attribute(hid_t object, const char *name)
{
    char *text = NULL;
    hid_t a = H5Aopen(object, name, H5P_DEFAULT), type = a < 0 ? a : H5Aget_type(a);
    CU_ASSERT_FATAL(type >= 0 && H5Tis_variable_str(type) > 0);
    CU_ASSERT_FATAL(H5Aread(a, type, (void *)&text) >= 0);
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(value);
    (void)H5free_memory(text);
    (void)H5Tclose(type);
    (void)H5Aclose(a);
    return value;
}

/* The two descriptions of the tree must be of one shape; leaves are visited by their key. */
struct walk {
    hid_t file;
    int n_leaves, n_tensors;
};

static void check_leaf(struct walk *w, const char *key)
{
    char name[256];
    (void)snprintf(name, sizeof name, "%s.__metadata__", key);
    json_t *all = json_attribute(w->file, name);
    const json_t *what = json_object_get(all, name);
    const char *type = json_string_value(json_object_get(what, "__TYPE__"));
    T_STR(json_string_value(json_array_get(json_object_get(all, "__objects__"), 0)), key);
    CU_ASSERT_PTR_NOT_NULL_FATAL(type);
    w->n_leaves++;
    if (type && !strcmp(type, "TorchTensorSerializer")) {
        hid_t d = H5Dopen2(w->file, key, H5P_DEFAULT);
        CU_ASSERT(d >= 0 && H5Aexists(d, "__NUMPY__") > 0 && H5Aexists(d, "__TYPE__") > 0 &&
                  H5Aexists(d, "shapes") > 0 && H5Aexists(d, "dtypes") > 0);
        T_STR(json_string_value(json_array_get(json_object_get(what, "dtypes"), 0)),
              "torch.float32");
        (void)H5Dclose(d);
        w->n_tensors++;
    }
    json_decref(all);
}

static void walk(struct walk *w, const json_t *tree, const json_t *spec, const char *key)
{
    const char *type = json_string_value(json_object_get(spec, "type"));
    const json_t *children = json_object_get(spec, "children_spec");
    if (!type) {
        T_STR(json_string_value(tree), "*");
        T_EQ(json_array_size(children), 0);
        check_leaf(w, key);
        return;
    }
    json_t *keys =
        json_loads(json_string_value(json_object_get(spec, "context")), JSON_DECODE_ANY, NULL);
    const bool list = !strcmp(type, "builtins.list");
    CU_ASSERT(list ? json_is_null(keys) : !strcmp(type, "builtins.dict"));
    for (size_t i = 0; i < json_array_size(children); i++) {
        char part[128], below[512];
        const json_t *name = json_array_get(keys, i);
        if (json_is_string(name))
            (void)snprintf(part, sizeof part, "%s", json_string_value(name));
        else
            (void)snprintf(part, sizeof part, "%lld",
                           list ? (long long)i : (long long)json_integer_value(name));
        (void)snprintf(below, sizeof below, "%s%s%s", key, *key ? "." : "", part);
        walk(w, list ? json_array_get(tree, i) : json_object_get(tree, part),
             json_array_get(children, i), below);
    }
    json_decref(keys);
}

TEST(cstorch, a_written_file_describes_itself)
{
    const char *path = case_path("state.mdl");
    T_OK(write_state(path));
    struct walk w = {.file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT)};
    json_t *pair = json_attribute(w.file, "__spec__");
    json_t *spec = json_loads(json_string_value(json_array_get(pair, 1)), 0, NULL);
    T_EQ(json_integer_value(json_array_get(spec, 0)), 1);
    walk(&w, json_array_get(pair, 0), json_array_get(spec, 1), "");
    T_EQ(w.n_leaves, 8);
    T_EQ(w.n_tensors, 4);
    const json_t *optimizer = json_object_get(json_array_get(pair, 0), "optimizer");
    const json_t *groups = json_object_get(optimizer, "param_groups");
    T_EQ(json_array_size(groups), 2);
    T_EQ(json_array_size(json_object_get(json_array_get(groups, 0), "params")), 1);
    const json_t *none = json_object_get(json_array_get(groups, 1), "params");
    CU_ASSERT(json_is_array(none) && json_array_size(none) == 0);
    CU_ASSERT(json_is_object(json_object_get(optimizer, "state")));
    CU_ASSERT(json_is_string(
        json_object_get(json_object_get(json_array_get(pair, 0), "model"), "model.tied.weight")));
    json_decref(spec);
    json_decref(pair);
    (void)H5Fclose(w.file);
}

TEST(cstorch, a_written_file_reads_back)
{
    const char *path = case_path("state.mdl");
    struct store_file *f = NULL;
    float x[6] = {0};
    double rate = 0;
    T_OK(write_state(path));
    T_OK(store_check(path));
    T_OK(store_open(&f, path));
    T_OK(store_read(f, "model.model.tied.weight", STORE_F32, 0, 6, x));
    T_NEAR(x[5], 6, 0);
    T_OK(store_read(f, "optimizer.param_groups.0.lr", STORE_F64, 0, 1, &rate));
    CU_ASSERT(rate == 0.1);
    store_close(&f);
}

TEST(cstorch, memory_is_balanced)
{
    T_EQ(wsc_mem_in_use(WSC_MEM_STORE), 0);
}
