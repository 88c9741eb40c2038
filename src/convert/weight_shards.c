// SPDX-License-Identifier: Apache-2.0
/* Finds the files of a model: one file, or shards that an index lists, in safetensors or in the
 * format of torch.save, which the first bytes of a file show. The member "weight_map" of the index
 * has the file of every tensor; it must name exactly the tensors of the shards, each in the shard
 * that has it. */
#include "weight_shards.h"
#include "json_file.h"
#include "safetensors.h"
#include "torch_weights.h"
#include "weight_files.h"

#include <wsc/check.h>
#include <wsc/log.h>
#include <wsc/mem.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_SHARDS = 4096 };

/* Byte order, for sorting and searching. */
static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct convert_tensor *)a)->name,
                  ((const struct convert_tensor *)b)->name);
}

/* Sorted for convert_files_find(); a name in two shards is an error. */
static enum wsc_err sort_by_name(struct convert_files *files)
{
    if (files->n_tensors)
        qsort(files->tensor, (size_t)files->n_tensors, sizeof *files->tensor, by_name);
    for (int i = 1; i < files->n_tensors; i++) {
        const struct convert_tensor *t = &files->tensor[i];
        if (!strcmp(t->name, t[-1].name))
            return WSC_RAISE(WSC_FORMAT, "%s: tensor %s is in %s as well",
                             files->file[t->file].path, t->name, files->file[t[-1].file].path);
    }
    return WSC_OK;
}

const struct convert_tensor *convert_files_find(const struct convert_files *files, const char *name)
{
    const struct convert_tensor key = {.name = name};
    if (!files->n_tensors) return NULL;
    return bsearch(&key, files->tensor, (size_t)files->n_tensors, sizeof key, by_name);
}

/* Open @p path and add its tensors. */
static enum wsc_err add_file(struct convert_files *files, const char *path)
{
    TRY(convert_files_append(files, path));
    return convert_torch_is(files) ? convert_torch_add(files) : convert_safetensors_add(files);
}

/* ---- what a file has ------------------------------------------------------------------------- */

enum wsc_err convert_is_weights(const char *path, bool *yes)
{
    struct convert_files *files;
    *yes = false;
    TRY_NEW(files, WSC_MEM_CONVERT, 1);
    const enum wsc_err rc = convert_files_append(files, path);
    if (!rc) *yes = convert_torch_is(files) || convert_safetensors_is(files);
    convert_files_close(&files);
    return rc;
}

enum wsc_err convert_visit(const char *path, store_visit_fn visit, void *ctx)
{
    struct convert_files *files;
    TRY(convert_files_open(&files, path));
    enum wsc_err rc = WSC_OK;
    WSC_CHECK(files, "a file of weights that is open");
    for (int i = 0; i < files->n_tensors && !rc; i++) {
        const struct convert_tensor *t = &files->tensor[i];
        const struct store_item item = {t->name, t->type, t->n_dims, t->shape, NULL};
        rc = visit(ctx, &item);
    }
    convert_files_close(&files);
    return rc;
}

/* ---- shards ---------------------------------------------------------------------------------- */

/* The name of a shard must not have a folder, because shards are beside their index. */
static enum wsc_err check_shard_name(const char *index, const char *tensor, const char *name)
{
    if (name && *name && *name != '.' && !strchr(name, '/')) return WSC_OK;
    return WSC_RAISE(WSC_FORMAT, "%s: weight_map: %s: expected the name of a file in this folder",
                     index, tensor);
}

/* Add each file once, although the index has it for every tensor. */
static enum wsc_err add_shard(struct convert_files *files, const char *dir, const char *name)
{
    char path[CONVERT_PATH_BYTES];
    TRY(convert_path(path, dir, name));
    for (int i = 0; i < files->n_files; i++)
        if (!strcmp(files->file[i].path, path)) return WSC_OK;
    if (files->n_files == MAX_SHARDS)
        return WSC_RAISE(WSC_FORMAT, "%s: more than %d shards", path, MAX_SHARDS);
    return add_file(files, path);
}

static enum wsc_err add_shards(struct convert_files *files, const char *dir, const char *index,
                               json_t *map)
{
    const char *tensor;
    json_t *file;
    if (!json_is_object(map) || !json_object_size(map))
        return WSC_RAISE(WSC_FORMAT, "%s: weight_map is missing", index);
    json_object_foreach(map, tensor, file)
    {
        TRY(check_shard_name(index, tensor, json_string_value(file)));
        TRY(add_shard(files, dir, json_string_value(file)));
    }
    return WSC_OK;
}

/* Compare the index with the headers of the shards. */
static enum wsc_err compare(const struct convert_files *files, const char *index, json_t *map)
{
    const char *name;
    json_t *file;
    json_object_foreach(map, name, file)
    {
        const struct convert_tensor *t = convert_files_find(files, name);
        const char *slash = t ? strrchr(files->file[t->file].path, '/') : NULL;
        if (!slash || strcmp(slash + 1, json_string_value(file)) != 0)
            return WSC_RAISE(WSC_FORMAT, "%s: tensor %s is not in %s", index, name,
                             json_string_value(file));
    }
    for (int i = 0; i < files->n_tensors; i++) {
        const struct convert_tensor *t = &files->tensor[i];
        if (!json_object_get(map, t->name))
            return WSC_RAISE(WSC_FORMAT, "%s: weight_map does not have tensor %s of %s", index,
                             t->name, files->file[t->file].path);
    }
    return WSC_OK;
}

/* By place in the files. */
static int by_place(const void *a, const void *b)
{
    const struct convert_tensor *x = a, *y = b;
    if (x->file != y->file) return x->file < y->file ? -1 : 1;
    return x->at == y->at ? 0 : x->at < y->at ? -1 : 1;
}

/* Bytes that the tensors of @p files take: those that several share once, and truth values as bits,
 * as releases of the transformers library count both. */
static enum wsc_err count_shared(const struct convert_files *files, double *bytes)
{
    struct convert_tensor *t;
    int64_t end = 0; /* of the tensors so far in the file */
    TRY_NEW(t, WSC_MEM_CONVERT, files->n_tensors);
    if (files->n_tensors) memcpy(t, files->tensor, (size_t)files->n_tensors * sizeof *t);
    qsort(t, (size_t)files->n_tensors, sizeof *t, by_place);
    *bytes = 0;
    for (int i = 0; i < files->n_tensors; i++) {
        if (!i || t[i].file != t[i - 1].file) end = 0;
        const int64_t first = t[i].at > end ? t[i].at : end, last = t[i].at + t[i].bytes;
        if (last <= first) continue;
        *bytes += (double)(last - first) / (strcmp(t[i].type, "BOOL") ? 1 : 8);
        end = last;
    }
    wsc_free(t);
    return WSC_OK;
}

/* The index may state the bytes of all tensors, which nothing else needs: a warning. */
static enum wsc_err check_total(const struct convert_files *files, const char *index,
                                const json_t *metadata)
{
    const json_t *stated = json_object_get(metadata, "total_size");
    const double total = json_number_value(stated);
    double least = 0, most = 0;
    if (!stated) return WSC_OK;
    TRY(count_shared(files, &least));
    for (int i = 0; i < files->n_tensors; i++)
        most += (double)files->tensor[i].bytes;
    if (!json_is_number(stated))
        WSC_WARNING("%s: metadata.total_size: expected a number of bytes", index);
    else if (total < least || total > most)
        WSC_WARNING("%s: metadata.total_size: %.0f bytes, but the tensors of the files have %.0f",
                    index, total, most);
    return WSC_OK;
}

/* Open the index, then the files in it. */
static enum wsc_err open_shards(struct convert_files *files, const char *dir, const char *index)
{
    json_t *json = NULL;
    TRY(convert_json_read(&json, index));
    json_t *map = json_object_get(json, "weight_map");
    enum wsc_err rc = add_shards(files, dir, index, map);
    if (!rc) rc = sort_by_name(files);
    if (!rc) rc = compare(files, index, map);
    if (!rc) rc = check_total(files, index, json_object_get(json, "metadata"));
    json_decref(json);
    return rc;
}

/* A model in a single file needs no index. */
static enum wsc_err open_one(struct convert_files *files, const char *dir, const char *path)
{
    (void)dir;
    TRY(add_file(files, path));
    TRY(sort_by_name(files));
    return WSC_OK;
}

/* Files of a folder in the order of preference, which is that of the transformers library: a single
 * file before shards; safetensors need no interpreter. */
static const struct {
    const char *name;
    enum wsc_err (*open)(struct convert_files *files, const char *dir, const char *path);
} choice[] = {{"model.safetensors", open_one},
              {"model.safetensors.index.json", open_shards},
              {"pytorch_model.bin", open_one},
              {"pytorch_model.bin.index.json", open_shards}};
enum { N_CHOICES = sizeof choice / sizeof *choice };

/* A single file beside shards may be another state of the model. */
static enum wsc_err warn_of_shards(const char *path, int i)
{
    char index[CONVERT_PATH_BYTES];
    if (choice[i].open != open_one) return WSC_OK;
    TRY(convert_path(index, path, choice[i + 1].name));
    if (!access(index, F_OK))
        WSC_WARNING("%s: is not used: %s is read instead", index, choice[i].name);
    return WSC_OK;
}

static enum wsc_err open_path(struct convert_files *files, const char *path)
{
    char inside[CONVERT_PATH_BYTES];
    struct stat info;
    if (stat(path, &info) || !S_ISDIR(info.st_mode)) return open_one(files, NULL, path);
    for (int i = 0; i < N_CHOICES; i++) {
        TRY(convert_path(inside, path, choice[i].name));
        if (access(inside, F_OK)) continue;
        TRY(warn_of_shards(path, i));
        return choice[i].open(files, path, inside);
    }
    return WSC_RAISE(WSC_IO,
                     "%s: has neither model.safetensors nor pytorch_model.bin, nor an index of "
                     "either",
                     path);
}

enum wsc_err convert_files_open(struct convert_files **out, const char *path)
{
    struct convert_files *files;
    *out = NULL;
    TRY_NEW(files, WSC_MEM_CONVERT, 1);
    enum wsc_err rc = open_path(files, path);
    if (rc) convert_files_close(&files);
    *out = files;
    return rc;
}
