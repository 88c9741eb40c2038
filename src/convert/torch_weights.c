// SPDX-License-Identifier: Apache-2.0
/* Files of torch.save since torch 1.6: a zip file with `<top>/data.pkl`, a pickle that describes
 * the object, and `<top>/data/<key>`, the bytes of a storage each.  In the pickle a storage is the
 * persistent identifier ("storage", type, key, device, elements), a tensor the call
 * _rebuild_tensor_v2(storage, offset, size, stride, ...) (torch/serialization.py, torch/_utils.py).
 * Only these names and collections.OrderedDict are known; pickle.c refuses all others.  A tensor is
 * a view: two tensors may share a storage.  weight_shards.c calls. */
#include "torch_weights.h"
#include "json_file.h"
#include "pickle.h"
#include "zip_directory.h"

#include <wsc/mem.h>

#include <string.h>

enum { MAX_TOP = 256, N_ARGUMENTS = 8, N_STORAGE_ITEMS = 5 };

/* A storage that the pickle describes. */
struct storage {
    enum convert_dtype dtype;
    const char *type;    /* name of the type in safetensors */
    int64_t at, n, item; /* item: bytes of an element */
};
/* State while a file is read. */
struct reader {
    const struct convert_file *file;
    struct convert_files *files;
    char top[MAX_TOP]; /* "archive/" */
    struct convert_zip zip;
    struct storage *storage;       /* owned */
    struct convert_tensor *tensor; /* owned, without names */
    int n_storages, storage_room, n_tensors, tensor_room;
};
enum { STORAGE, TENSOR }; /* kinds of objects, stored as the length of a value */

/* ---- storages -------------------------------------------------------------------------------- */

/* The types that torch 1 and 2 name in their files: dtype, name of the type in safetensors,
 * bytes of an element. */
#define STORAGE_MAP(XX)                                                                            \
    XX(FloatStorage, CONVERT_F32, "F32", 4)                                                        \
    XX(HalfStorage, CONVERT_F16, "F16", 2)                                                         \
    XX(BFloat16Storage, CONVERT_BF16, "BF16", 2)                                                   \
    XX(DoubleStorage, CONVERT_OTHER, "F64", 8)                                                     \
    XX(LongStorage, CONVERT_OTHER, "I64", 8)                                                       \
    XX(IntStorage, CONVERT_OTHER, "I32", 4)                                                        \
    XX(ShortStorage, CONVERT_OTHER, "I16", 2)                                                      \
    XX(CharStorage, CONVERT_OTHER, "I8", 1)                                                        \
    XX(ByteStorage, CONVERT_OTHER, "U8", 1)                                                        \
    XX(BoolStorage, CONVERT_OTHER, "BOOL", 1)
static const struct {
    const char *type;
    enum convert_dtype dtype;
    int item;
} storage_type[] = {
#define XX(name, dtype, type, item) {type, dtype, item},
    STORAGE_MAP(XX)
#undef XX
};
enum { N_TYPES = sizeof storage_type / sizeof *storage_type };

/* Find the entry of the storage with the key @p key; its length must be that of its elements. */
static enum wsc_err find_storage(struct convert_pickle *p, const struct convert_pickle_value *key,
                                 struct storage *s)
{
    const struct reader *r = convert_pickle_ctx(p);
    char name[MAX_TOP + 64];
    int64_t bytes;
    if (key->length > 32 || memchr(key->text, 0, (size_t)key->length))
        return convert_pickle_raise(p, "a storage with a key of %d bytes", key->length);
    (void)snprintf(name, sizeof name, "%sdata/%.*s", r->top, key->length, key->text);
    const struct convert_zip_entry *e = convert_zip_find(&r->zip, name);
    if (!e) return convert_pickle_raise(p, "the file has no entry %s", name);
    if (s->n < 0 || __builtin_mul_overflow(s->n, s->item, &bytes) || bytes != e->bytes)
        return convert_pickle_raise(p, "%lld elements of %lld bytes in %lld bytes of %s",
                                    (long long)s->n, (long long)s->item, (long long)e->bytes, name);
    s->at = e->at;
    return WSC_OK;
}

/* Arguments ("storage", type, key, device, elements); the device is ignored. */
static enum wsc_err persistent(struct convert_pickle *p, const struct convert_pickle_value *item,
                               int n, struct convert_pickle_value *result)
{
    struct reader *r = convert_pickle_ctx(p);
    if (n != N_STORAGE_ITEMS || !convert_pickle_is(&item[0], "storage") ||
        item[1].kind != CONVERT_PICKLE_GLOBAL || item[1].number >= N_TYPES ||
        item[2].kind != CONVERT_PICKLE_TEXT || item[4].kind != CONVERT_PICKLE_INT)
        return convert_pickle_raise(p, "a persistent identifier that is no storage");
    const int64_t type = item[1].number;
    struct storage s = {.dtype = storage_type[type].dtype,
                        .type = storage_type[type].type,
                        .n = item[4].number,
                        .item = storage_type[type].item};
    TRY(find_storage(p, &item[2], &s));
    TRY_GROW(r->storage, WSC_MEM_CONVERT, r->storage_room, r->n_storages + 1);
    r->storage[r->n_storages] = s;
    *result = (struct convert_pickle_value){
        .kind = CONVERT_PICKLE_OBJECT, .length = STORAGE, .number = r->n_storages++};
    return WSC_OK;
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* Read a tuple of whole numbers from 0 on. Returns their number, or -1. */
static int read_tuple(const struct convert_pickle *p, const struct convert_pickle_value *tuple,
                      int64_t out[CONVERT_MAX_DIMS])
{
    struct convert_pickle_value item[CONVERT_MAX_DIMS];
    if (tuple->kind != CONVERT_PICKLE_TUPLE) return -1;
    const int n = convert_pickle_items(p, tuple, item, CONVERT_MAX_DIMS);
    if (n > CONVERT_MAX_DIMS) return -1;
    for (int d = 0; d < n; d++) {
        if (item[d].kind != CONVERT_PICKLE_INT || item[d].number < 0) return -1;
        out[d] = item[d].number;
    }
    return n;
}

/* Set the number of elements, and the index of the last one in the storage; false when a number
 * overflows. */
static bool measure(struct convert_tensor *t, const int64_t *stride, int64_t *last)
{
    int64_t span;
    t->n = 1;
    for (int d = 0; d < t->n_dims; d++) {
        if (__builtin_mul_overflow(t->n, t->shape[d], &t->n)) return false;
        if (!t->shape[d]) continue;
        if (__builtin_mul_overflow(t->shape[d] - 1, stride[d], &span)) return false;
        if (__builtin_add_overflow(*last, span, last)) return false;
    }
    return true;
}

/* Set the two strides of the matrix (shape[0], rest). If `rest` has no single stride, the tensor is
 * not a weight. */
static void set_strides(struct convert_tensor *t, const int64_t *stride)
{
    int64_t expected = 0;
    convert_tensor_pack(t);
    if (!t->n) return;
    if (t->n_dims && t->shape[0] > 1) t->stride[0] = stride[0];
    for (int d = t->n_dims - 1; d > 0; d--) {
        if (t->shape[d] == 1) continue;
        if (!expected) t->stride[1] = expected = stride[d];
        if (stride[d] != expected) t->dtype = CONVERT_OTHER;
        expected = stride[d] * t->shape[d];
    }
}

/* Arguments (storage, offset, size, stride, requires_grad, hooks, metadata); the last three do not
 * affect values. */
static enum wsc_err rebuild_tensor(struct convert_pickle *p, const struct convert_pickle_value *arg,
                                   int n, struct convert_pickle_value *result)
{
    struct reader *r = convert_pickle_ctx(p);
    int64_t stride[CONVERT_MAX_DIMS] = {0};
    struct convert_tensor t = {0};
    if (n < 4 || arg[0].kind != CONVERT_PICKLE_OBJECT || arg[0].length != STORAGE ||
        arg[1].kind != CONVERT_PICKLE_INT || arg[1].number < 0)
        return convert_pickle_raise(p, "a tensor without a storage");
    const struct storage *s = &r->storage[arg[0].number];
    t.n_dims = read_tuple(p, &arg[2], t.shape);
    if (t.n_dims < 0 || read_tuple(p, &arg[3], stride) != t.n_dims)
        return convert_pickle_raise(p,
                                    "a tensor whose size or stride is no list of at most %d "
                                    "whole numbers",
                                    CONVERT_MAX_DIMS);
    int64_t last = arg[1].number;
    if (!measure(&t, stride, &last) || (t.n && last >= s->n))
        return convert_pickle_raise(p, "a tensor that leaves its storage of %lld elements",
                                    (long long)s->n);
    if (__builtin_mul_overflow(t.n, s->item, &t.bytes))
        return convert_pickle_raise(p, "a tensor with more bytes than can be counted");
    t.dtype = s->dtype;
    t.type = s->type;
    t.at = s->at + (t.n ? arg[1].number * s->item : 0);
    set_strides(&t, stride);
    TRY_GROW(r->tensor, WSC_MEM_CONVERT, r->tensor_room, r->n_tensors + 1);
    r->tensor[r->n_tensors] = t;
    *result = (struct convert_pickle_value){
        .kind = CONVERT_PICKLE_OBJECT, .length = TENSOR, .number = r->n_tensors++};
    return WSC_OK;
}

/* _rebuild_parameter(tensor, requires_grad, hooks) returns the tensor. */
static enum wsc_err rebuild_parameter(struct convert_pickle *p,
                                      const struct convert_pickle_value *arg, int n,
                                      struct convert_pickle_value *result)
{
    if (n < 1 || arg[0].kind != CONVERT_PICKLE_OBJECT || arg[0].length != TENSOR)
        return convert_pickle_raise(p, "a parameter without a tensor");
    *result = arg[0];
    return WSC_OK;
}

/* OrderedDict(): other opcodes add its items. */
static enum wsc_err ordered_dict(struct convert_pickle *p, const struct convert_pickle_value *arg,
                                 int n, struct convert_pickle_value *result)
{
    (void)arg;
    if (n) return convert_pickle_raise(p, "a dictionary with %d arguments", n);
    return convert_pickle_dict(p, result);
}

/* The storage types come first, in the order of storage_type. */
static const struct convert_pickle_global global[] = {
#define XX(name, dtype, type, item) {"torch." #name, NULL},
    STORAGE_MAP(XX)
#undef XX
        {"torch._utils._rebuild_tensor_v2", rebuild_tensor},
    {"torch._utils._rebuild_parameter", rebuild_parameter},
    {"collections.OrderedDict", ordered_dict},
};
enum { N_GLOBALS = sizeof global / sizeof *global };

/* ---- the file -------------------------------------------------------------------------------- */

/* Add an entry of the dictionary in the file. */
static enum wsc_err add_tensor(struct convert_pickle *p, const struct convert_pickle_value *key,
                               const struct convert_pickle_value *value)
{
    const struct reader *r = convert_pickle_ctx(p);
    char name[CONVERT_NAME_BYTES];
    if (key->kind != CONVERT_PICKLE_TEXT || key->length >= CONVERT_NAME_BYTES ||
        memchr(key->text, 0, (size_t)key->length))
        return WSC_RAISE(WSC_FORMAT, "%s: a tensor whose name is no text of less than %d bytes",
                         r->file->path, CONVERT_NAME_BYTES);
    (void)snprintf(name, sizeof name, "%.*s", key->length, key->text);
    TRY(convert_check_name(r->files, name));
    if (value->kind != CONVERT_PICKLE_OBJECT || value->length != TENSOR)
        return wsc_err_hint(WSC_RAISE(WSC_FORMAT, "%s: %s is no tensor", r->file->path, name),
                            "expected the state of a model alone: names and their tensors");
    return convert_files_add(r->files, &r->tensor[value->number], name);
}

/* Find the only entry `<top>/data.pkl`, and the name of <top>/. */
static enum wsc_err find_pickle(struct reader *r, const struct convert_zip_entry **pickle)
{
    static const char tail[] = "/data.pkl";
    bool found = false;
    for (int i = 0; i < r->zip.n_entries; i++) {
        const char *name = r->zip.entry[i].name, *slash = strchr(name, '/');
        if (!slash || strcmp(slash, tail) != 0) continue;
        if (found || slash - name > MAX_TOP - 2)
            return WSC_RAISE(WSC_FORMAT, "%s: has several data.pkl", r->file->path);
        (void)snprintf(r->top, sizeof r->top, "%.*s/", (int)(slash - name), name);
        *pickle = &r->zip.entry[i];
        found = true;
    }
    if (found) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_FORMAT, "%s: is a zip file without data.pkl", r->file->path),
                        "expected a file of torch.save");
}

/* Values are used as they are stored, so the machine that stored them must have the byte order of
 * this one. torch writes the entry since 2.1. */
static enum wsc_err check_byte_order(const struct reader *r)
{
    char name[MAX_TOP + 16];
    uint8_t *text = NULL;
    (void)snprintf(name, sizeof name, "%sbyteorder", r->top);
    const struct convert_zip_entry *e = convert_zip_find(&r->zip, name);
    if (!e) return WSC_OK;
    TRY(convert_zip_load(r->file, e, &text));
    const bool little = !strcmp((const char *)text, "little");
    wsc_free(text);
    if (little) return WSC_OK;
    return WSC_RAISE(WSC_FORMAT, "%s: its numbers are not little-endian", r->file->path);
}

static enum wsc_err read_pickle(struct reader *r)
{
    const struct convert_pickle_rules rules = {global, N_GLOBALS, persistent, r};
    const struct convert_zip_entry *entry = r->zip.entry;
    struct convert_pickle *p = NULL;
    uint8_t *bytes = NULL;
    TRY(find_pickle(r, &entry));
    TRY(check_byte_order(r));
    TRY(convert_zip_load(r->file, entry, &bytes));
    enum wsc_err rc = convert_pickle_run(&p, r->file->path, bytes, entry->bytes, &rules);
    if (!rc) {
        const struct convert_pickle_value top = convert_pickle_result(p);
        rc = top.kind == CONVERT_PICKLE_DICT
                 ? convert_pickle_each(p, &top, add_tensor)
                 : WSC_RAISE(WSC_FORMAT, "%s: holds no dictionary of tensors", r->file->path);
    }
    convert_pickle_destroy(&p);
    wsc_free(bytes);
    return rc;
}

static const uint8_t zip_mark[4] = {'P', 'K', 3, 4}, legacy_mark[4] = {0x80, 2, 0x8a, 10};

/* The first bytes of the last file; zeros when there are none. */
static void read_mark(const struct convert_files *files, uint8_t mark[4])
{
    const struct convert_file *f = &files->file[files->n_files - 1];
    memset(mark, 0, 4);
    if (f->bytes >= 4 && convert_file_read(f, mark, 4, 0)) memset(mark, 0, 4);
}

bool convert_torch_is(const struct convert_files *files)
{
    uint8_t mark[4];
    read_mark(files, mark);
    return !memcmp(mark, zip_mark, 4) || !memcmp(mark, legacy_mark, 4);
}

enum wsc_err convert_torch_add(struct convert_files *files)
{
    struct reader r = {.file = &files->file[files->n_files - 1], .files = files};
    uint8_t mark[4];
    read_mark(files, mark);
    if (!memcmp(mark, legacy_mark, 4))
        return wsc_err_hint(
            WSC_RAISE(WSC_FORMAT, "%s: is in the format of before torch 1.6", r.file->path),
            "torch.load it where you trust it, and torch.save it again");
    TRY(convert_zip_read(&r.zip, r.file));
    const enum wsc_err rc = read_pickle(&r);
    wsc_free(r.storage);
    wsc_free(r.tensor);
    convert_zip_fini(&r.zip);
    return rc;
}
