// SPDX-License-Identifier: Apache-2.0
#include "../../src/convert/hf_config.h"
#include "../../src/convert/hf_families.h"
#include "../../src/convert/hf_family.h"
#include "../../src/convert/hf_key.h"
#include "../../src/convert/hf_source.h"
#include "../../src/convert/safetensors.h"
#include "../../src/convert/safetensors_shards.h"
#include "../../src/convert/tensor_map.h"
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

static void check_tensors(const struct convert_files *files, int64_t n_bytes)
{
    int64_t bytes = 0;
    for (int i = 0; i < files->n_tensors; i++) {
        const struct convert_tensor *t = &files->tensor[i];
        bytes += t->bytes;
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
    if (!rc) rc = convert_config_to_yaml(family, &config, "model.mdl", &yaml);
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
