// SPDX-License-Identifier: Apache-2.0
#include "../../src/convert/hf_config.h"
#include "../../src/convert/hf_families.h"
#include "../../src/convert/hf_family.h"
#include "../../src/convert/hf_key.h"
#include "../../src/convert/hf_source.h"
#include "../../src/convert/tensor_map.h"
#include "../../src/convert/weight_shards.h"
#include "fuzz.h"

#include <wsc/mem.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- safetensors ----------------------------------------------------------------------------- */

/* Some values of a tensor: its data are in the file. */
static void read_tensor(const struct convert_files *files, const struct convert_tensor *t)
{
    float x[64];
    const int64_t rows = t->n_dims ? t->shape[0] : 1;
    if (t->dtype == CONVERT_OTHER || !t->n) return;
    const int64_t width = t->n / rows, columns = width < 64 ? width : 64;
    const struct store_box box = {rows - 1, 1, width - columns, columns};
    fuzz_check(convert_files_read(files, t, &box, x) == WSC_OK, "data outside of the file");
}

/* Views of torch may share their bytes, tensors of safetensors do not. */
static void check_tensors(const struct convert_files *files, int64_t n_bytes)
{
    int64_t bytes = 0;
    for (int i = 0; i < files->n_tensors; i++) {
        const struct convert_tensor *t = &files->tensor[i];
        if (n_bytes != INT64_MAX) bytes += t->bytes;
        fuzz_check(t->n >= 0 && t->n_dims >= 0 && t->n_dims <= CONVERT_MAX_DIMS, "a bad shape");
        fuzz_check(convert_files_find(files, t->name) == t, "a tensor that is not found");
        read_tensor(files, t);
    }
    fuzz_check(bytes <= n_bytes, "more data than the files hold");
}

bool fuzz_safetensors(const uint8_t *bytes, size_t n)
{
    struct convert_files *files = NULL;
    char path[FUZZ_PATH_BYTES];
    const int fd = fuzz_as_file(bytes, n, path);
    const bool taken = fuzz_taken(convert_files_open(&files, path));
    if (taken) check_tensors(files, (int64_t)n);
    convert_files_close(&files);
    (void)close(fd);
    fuzz_check_memory(WSC_MEM_CONVERT);
    return taken;
}

/* ---- files of torch.save --------------------------------------------------------------------- */

static bool run_torch(const uint8_t *bytes, size_t n)
{
    struct convert_files *files = NULL;
    char path[FUZZ_PATH_BYTES];
    const int fd = fuzz_as_file(bytes, n, path);
    const bool taken = fuzz_taken(convert_files_open(&files, path));
    if (taken) check_tensors(files, INT64_MAX);
    convert_files_close(&files);
    (void)close(fd);
    fuzz_check_memory(WSC_MEM_CONVERT);
    return taken;
}

/* Beyond the mark of a zip file, so that no input is one of safetensors. */
bool fuzz_torch(const uint8_t *bytes, size_t n)
{
    static const uint8_t mark[4] = {'P', 'K', 3, 4};
    return n >= 4 && !memcmp(bytes, mark, 4) && run_torch(bytes, n);
}

/* A zip file in memory. */
struct archive {
    uint8_t at[1 << 16];
    size_t n;
};

/* A little-endian number of @p width bytes. */
static void put_number(struct archive *a, uint64_t number, int width)
{
    for (int i = 0; i < width; i++)
        a->at[a->n++] = (uint8_t)(i < 8 ? number >> 8 * i : 0);
}

static void put_bytes(struct archive *a, const void *bytes, size_t n)
{
    if (n) memcpy(a->at + a->n, bytes, n);
    a->n += n;
}

/* CRC-32 of zip. */
static uint32_t sum_of(const uint8_t *bytes, size_t n)
{
    uint32_t sum = UINT32_MAX;
    for (size_t i = 0; i < 8 * n; i++) {
        const uint32_t low = (sum ^ (uint32_t)bytes[i / 8] >> i % 8) & 1;
        sum = sum >> 1 ^ (low ? 0xedb88320U : 0);
    }
    return ~sum;
}

/* A header of an entry: in the file, or with its place @p local in the directory. */
static void put_header(struct archive *a, const char *name, const uint8_t *bytes, size_t n,
                       int64_t local)
{
    put_number(a, local < 0 ? 0x04034b50 : 0x02014b50, 4);
    put_number(a, 0, local < 0 ? 10 : 12);
    put_number(a, sum_of(bytes, n), 4);
    put_number(a, n, 4);
    put_number(a, n, 4);
    put_number(a, strlen(name), 2);
    put_number(a, 0, local < 0 ? 2 : 12);
    if (local >= 0) put_number(a, (uint64_t)local, 4);
    put_bytes(a, name, strlen(name));
}

/* A file with two storages of 64 bytes and this pickle, whose checksum is right. */
bool fuzz_pickle(const uint8_t *bytes, size_t n)
{
    static struct archive a;
    const uint8_t zeros[64] = {0};
    const struct {
        const char *name;
        const uint8_t *bytes;
        size_t n;
    } entry[] = {{"a/data.pkl", bytes, n}, {"a/data/0", zeros, 64}, {"a/data/1", zeros, 64}};
    int64_t local[3];
    if (n > 60000) return false;
    a.n = 0;
    for (int i = 0; i < 3; i++) {
        local[i] = (int64_t)a.n;
        put_header(&a, entry[i].name, entry[i].bytes, entry[i].n, -1);
        put_bytes(&a, entry[i].bytes, entry[i].n);
    }
    const size_t directory = a.n;
    for (int i = 0; i < 3; i++)
        put_header(&a, entry[i].name, entry[i].bytes, entry[i].n, local[i]);
    const size_t length = a.n - directory;
    put_number(&a, 0x06054b50, 4);
    put_number(&a, 0, 4);
    put_number(&a, 3, 2);
    put_number(&a, 3, 2);
    put_number(&a, length, 4);
    put_number(&a, directory, 4);
    put_number(&a, 0, 2);
    return run_torch(a.at, a.n);
}

/* ---- model.safetensors.index.json ------------------------------------------------------------ */

/* A header of less than 256 bytes, which begin with its length, and 16 bytes of data. */
static void put_shard(const char *name, const char *header)
{
    uint8_t bytes[8 + 256 + 16] = {0};
    const int length = snprintf((char *)bytes + 8, 256, "%s", header);
    bytes[0] = (uint8_t)length;
    (void)fuzz_put(name, bytes, 8 + (size_t)length + 16);
}

static void put_shards(void)
{
    static bool done;
    if (done) return;
    put_shard("a.safetensors", "{\"x\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]}}");
    put_shard("b.safetensors",
              "{\"y\":{\"dtype\":\"F16\",\"shape\":[2,4],\"data_offsets\":[0,16]}}");
    done = true;
}

/* The index of a folder with two shards: no other file is opened. */
bool fuzz_hf_index(const uint8_t *bytes, size_t n)
{
    struct convert_files *files = NULL;
    put_shards();
    (void)fuzz_put("model.safetensors.index.json", bytes, n);
    const bool taken = fuzz_taken(convert_files_open(&files, fuzz_folder()));
    if (taken) check_tensors(files, 32);
    const size_t folder = strlen(fuzz_folder());
    for (int i = 0; files && i < files->n_files; i++) {
        const char *path = files->file[i].path;
        fuzz_check(!strncmp(path, fuzz_folder(), folder) && path[folder] == '/' &&
                       !strchr(path + folder + 1, '/'),
                   "a file outside of the folder");
    }
    convert_files_close(&files);
    fuzz_check_memory(WSC_MEM_CONVERT);
    return taken;
}

/* ---- config.json ----------------------------------------------------------------------------- */

/* From a configuration to the tensors that its model has. */
static enum wsc_err make_map(const struct convert_side *cs)
{
    struct convert_map map = {0};
    enum wsc_err rc = convert_map_create(&map, cs, false);
    for (int i = 0; i < map.n_pairs && !rc; i++)
        fuzz_check(map.pair[i].n_lines > 0 && map.pair[i].width > 0, "a tensor of no size");
    convert_map_fini(&map);
    return rc;
}

/* Blocks are alike: a few tell as much as many. */
static bool is_small(const struct model *m)
{
    return m->n_tensors <= 4096;
}

static enum wsc_err make_model(const char *yaml, const struct convert_family *family)
{
    struct zoo_params params;
    struct model *model = NULL;
    enum wsc_err rc = zoo_params_parse(&params, "config.json", yaml, strlen(yaml), NULL, 0);
    if (!rc) rc = model_create(&model, &params, HW_STREAM_BLOCK);
    const struct convert_side cs = {family, &params, model, false};
    if (!rc && is_small(model)) rc = make_map(&cs);
    model_destroy(&model);
    zoo_params_fini(&params);
    return rc;
}

bool fuzz_hf_config(const uint8_t *bytes, size_t n)
{
    struct convert_source config;
    char *yaml = NULL;
    const struct convert_family *family = NULL;
    enum wsc_err rc = convert_source_parse(&config, "config.json", (const char *)bytes, n);
    if (!rc) rc = convert_family_of("config.json", config.json, &family);
    if (!rc) rc = convert_config_to_yaml(family, &config, CONVERT_F32, "model.mdl", &yaml);
    if (!rc) {
        rc = make_model(yaml, family);
        if (rc) rc = convert_source_blame(&config, family, rc);
    }
    const bool taken = fuzz_taken(rc);
    wsc_free(yaml);
    convert_source_fini(&config);
    fuzz_check_memory(WSC_MEM_CONVERT);
    fuzz_check_memory(WSC_MEM_CONF);
    fuzz_check_memory(WSC_MEM_MODEL);
    return taken;
}
