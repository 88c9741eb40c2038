// SPDX-License-Identifier: Apache-2.0
/* The safetensors format: N in 8 bytes (unsigned, little-endian), N bytes of a JSON header
 * {name: {"dtype": "F16", "shape": [2, 3], "data_offsets": [begin, end]}}, then the data.  Offsets
 * count from the end of the header; values are little-endian, row-major.  The key __metadata__ has
 * texts. https://github.com/huggingface/safetensors (section "Format"); data without gaps and
 * overlaps are part of it, so that no byte is hidden or read twice. */
#include "safetensors.h"
#include "json_file.h"
#include "weight_files.h"

#include <wsc/mem.h>

#include <endian.h>
#include <stdlib.h>
#include <string.h>

/* ---- types ----------------------------------------------------------------------------------- */

static const struct dtype_row {
    const char *name;
    enum convert_dtype dtype;
    int bytes;
} dtype_row[] = {
    {"F32", CONVERT_F32, 4},       {"F16", CONVERT_F16, 2},      {"BF16", CONVERT_BF16, 2},
    {"F64", CONVERT_OTHER, 8},     {"I64", CONVERT_OTHER, 8},    {"I32", CONVERT_OTHER, 4},
    {"I16", CONVERT_OTHER, 2},     {"I8", CONVERT_OTHER, 1},     {"U64", CONVERT_OTHER, 8},
    {"U32", CONVERT_OTHER, 4},     {"U16", CONVERT_OTHER, 2},    {"U8", CONVERT_OTHER, 1},
    {"BOOL", CONVERT_OTHER, 1},    {"C64", CONVERT_OTHER, 8},    {"F8_E4M3", CONVERT_OTHER, 1},
    {"F8_E5M2", CONVERT_OTHER, 1}, {"F8_E8M0", CONVERT_OTHER, 1}};
enum { N_DTYPES = sizeof dtype_row / sizeof *dtype_row };

/* The row of a type's name, or NULL. */
static const struct dtype_row *find_dtype(const char *name)
{
    for (int i = 0; i < N_DTYPES; i++)
        if (!strcmp(dtype_row[i].name, name)) return &dtype_row[i];
    return NULL;
}

/* ---- one entry of the header ----------------------------------------------------------------- */

/* One tensor of the header while it is read. */
struct entry {
    const char *path, *name;
    const json_t *json;
    struct convert_tensor *t;
};

/* An error at one tensor of the header. */
static enum wsc_err bad_entry(const struct entry *e, const char *what)
{
    return WSC_RAISE(WSC_FORMAT, "%s: header: tensor %s: %s", e->path, e->name, what);
}

/* Check that the number of elements does not overflow: it determines how much is read. */
static enum wsc_err read_shape(const struct entry *e, const json_t *shape)
{
    struct convert_tensor *t = e->t;
    if (!json_is_array(shape) || json_array_size(shape) > CONVERT_MAX_DIMS)
        return bad_entry(e, "`shape` is not a list of at most 8 whole numbers");
    t->n_dims = (int)json_array_size(shape);
    t->n = 1;
    for (int d = 0; d < t->n_dims; d++) {
        const json_t *extent = json_array_get(shape, (size_t)d);
        t->shape[d] = json_integer_value(extent);
        if (!json_is_integer(extent) || t->shape[d] < 0)
            return bad_entry(e, "`shape` is not a list of at most 8 whole numbers");
        if (__builtin_mul_overflow(t->n, t->shape[d], &t->n))
            return bad_entry(e, "`shape` has more elements than can be counted");
    }
    return WSC_OK;
}

/* Read two increasing whole numbers; check_places() compares them with the file. */
static enum wsc_err read_offsets(const struct entry *e, const json_t *offsets)
{
    const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(begin) || !json_is_integer(end) ||
        json_integer_value(begin) < 0 || json_integer_value(end) < json_integer_value(begin))
        return bad_entry(e, "`data_offsets` is not [begin, end] with 0 <= begin <= end");
    e->t->at = json_integer_value(begin);
    e->t->bytes = json_integer_value(end) - e->t->at;
    return WSC_OK;
}

/* Elements times size must be the length of the data, so that neither is trusted alone. */
static enum wsc_err read_entry(const struct entry *e)
{
    const char *dtype = json_string_value(json_object_get(e->json, "dtype"));
    const struct dtype_row *row = dtype ? find_dtype(dtype) : NULL;
    int64_t bytes;
    if (!row) return bad_entry(e, "`dtype` is none of the format's types");
    e->t->dtype = row->dtype;
    e->t->type = row->name;
    TRY(read_shape(e, json_object_get(e->json, "shape")));
    TRY(read_offsets(e, json_object_get(e->json, "data_offsets")));
    if (__builtin_mul_overflow(e->t->n, (int64_t)row->bytes, &bytes) || bytes != e->t->bytes)
        return WSC_RAISE(WSC_FORMAT,
                         "%s: header: tensor %s: %lld elements of %s in %lld bytes of data",
                         e->path, e->name, (long long)e->t->n, row->name, (long long)e->t->bytes);
    return WSC_OK;
}

/* ---- the header ------------------------------------------------------------------------------ */

static enum wsc_err add_tensor(struct convert_files *files, const char *path, const char *name,
                               const json_t *json)
{
    struct convert_tensor t = {0};
    TRY(convert_check_name(files, name));
    TRY(read_entry(&(struct entry){path, name, json, &t}));
    convert_tensor_pack(&t);
    return convert_files_add(files, &t, name);
}

/* By the first byte; empty tensors come before others at the same place. */
static int by_place(const void *a, const void *b)
{
    const struct convert_tensor *x = a, *y = b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* Check that the tensors from @p first on are consecutive and fill the data part. */
static enum wsc_err check_places(const struct convert_files *files, int first, int64_t data_bytes)
{
    const char *path = files->file[files->n_files - 1].path;
    int64_t end = 0;
    if (files->n_tensors > first)
        qsort(files->tensor + first, (size_t)(files->n_tensors - first), sizeof *files->tensor,
              by_place);
    for (int i = first; i < files->n_tensors; i++) {
        const struct convert_tensor *t = &files->tensor[i];
        if (t->at != end)
            return WSC_RAISE(WSC_FORMAT, "%s: header: the data of %s begin at %lld, %s %lld", path,
                             t->name, (long long)t->at,
                             t->at < end ? "inside those that end at" : "after a gap from",
                             (long long)end);
        end = t->at + t->bytes;
        if (t->bytes > data_bytes - t->at)
            return WSC_RAISE(WSC_FORMAT, "%s: the data of %s end at %lld, the file has %lld", path,
                             t->name, (long long)end, (long long)data_bytes);
    }
    if (end == data_bytes) return WSC_OK;
    return WSC_RAISE(WSC_FORMAT, "%s: has %lld bytes of data, its header describes %lld", path,
                     (long long)data_bytes, (long long)end);
}

/* Convert offsets, which count from the end of the header, to offsets in the file. */
static enum wsc_err add_tensors(struct convert_files *files, json_t *header, int64_t data)
{
    const struct convert_file *f = &files->file[files->n_files - 1];
    const int first = files->n_tensors;
    const char *name;
    json_t *entry;
    json_object_foreach(header, name, entry)
    {
        if (strcmp(name, "__metadata__") != 0) TRY(add_tensor(files, f->path, name, entry));
    }
    TRY(check_places(files, first, f->bytes - data));
    for (int i = first; i < files->n_tensors; i++)
        files->tensor[i].at += data;
    return WSC_OK;
}

bool convert_safetensors_is(const struct convert_files *files)
{
    const struct convert_file *f = &files->file[files->n_files - 1];
    unsigned char start[9];
    uint64_t length;
    if (f->bytes < (int64_t)sizeof start || convert_file_read(f, start, sizeof start, 0))
        return false;
    memcpy(&length, start, sizeof length);
    return le64toh(length) <= (uint64_t)f->bytes - sizeof length && start[8] == '{';
}

/* The length is checked against file and limit before memory is taken for it. */
enum wsc_err convert_safetensors_add(struct convert_files *files)
{
    const struct convert_file *f = &files->file[files->n_files - 1];
    uint64_t length = 0;
    char *text;
    json_t *header = NULL;
    if (f->bytes < (int64_t)sizeof length)
        return WSC_RAISE(WSC_FORMAT, "%s: has %lld bytes, too few for a file of weights", f->path,
                         (long long)f->bytes);
    TRY(convert_file_read(f, &length, sizeof length, 0));
    length = le64toh(length);
    if (length > (uint64_t)f->bytes - sizeof length || length > CONVERT_MAX_TEXT_BYTES)
        return wsc_err_hint(WSC_RAISE(WSC_FORMAT,
                                      "%s: says that its header has %llu bytes; the file has %lld",
                                      f->path, (unsigned long long)length, (long long)f->bytes),
                            "is it a safetensors file, and is it complete?");
    TRY_NEW(text, WSC_MEM_CONVERT, length + 1);
    enum wsc_err rc = convert_file_read(f, text, (int64_t)length, sizeof length);
    if (!rc) rc = convert_json_parse(&header, f->path, text, length);
    wsc_free(text);
    if (!rc) rc = add_tensors(files, header, (int64_t)(sizeof length + length));
    json_decref(header);
    return rc;
}
