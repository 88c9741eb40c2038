// SPDX-License-Identifier: Apache-2.0
/* The safetensors format: N in 8 bytes (unsigned, little-endian), N bytes of a JSON header
 * {name: {"dtype": "F16", "shape": [2, 3], "data_offsets": [begin, end]}}, then the data.  Offsets
 * count from the end of the header; values are little-endian, row-major.  The key __metadata__ has
 * texts. https://github.com/huggingface/safetensors (section "Format"); data without gaps and
 * overlaps are part of it, so that no byte is hidden or read twice. */
#include "safetensors.h"
#include "json_file.h"

#include <wsc/mem.h>
#include <wsc/num.h>

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- types ----------------------------------------------------------------------------------- */

static const struct dtype_row {
    const char *name;
    enum convert_dtype dtype;
    int bytes;
} dtype_row[] = {{"F32", CONVERT_F32, 4},   {"F16", CONVERT_F16, 2},   {"BF16", CONVERT_BF16, 2},
                 {"F64", CONVERT_OTHER, 8}, {"I64", CONVERT_OTHER, 8}, {"I32", CONVERT_OTHER, 4},
                 {"I16", CONVERT_OTHER, 2}, {"I8", CONVERT_OTHER, 1},  {"U64", CONVERT_OTHER, 8},
                 {"U32", CONVERT_OTHER, 4}, {"U16", CONVERT_OTHER, 2}, {"U8", CONVERT_OTHER, 1},
                 {"BOOL", CONVERT_OTHER, 1}};
enum { N_DTYPES = sizeof dtype_row / sizeof *dtype_row };

const char *convert_dtype_name(enum convert_dtype dtype)
{
    return dtype == CONVERT_OTHER ? "other" : dtype_row[dtype].name;
}

int64_t convert_dtype_bytes(enum convert_dtype dtype)
{
    return dtype == CONVERT_OTHER ? 0 : dtype_row[dtype].bytes;
}

enum num_format convert_dtype_format(enum convert_dtype dtype)
{
    return dtype == CONVERT_F16 ? NUM_FP16 : dtype == CONVERT_BF16 ? NUM_BF16 : NUM_FP32;
}

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

/* The number of elements must not overflow: it decides how much is read. */
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

/* Two whole numbers in order; check_places() compares them with the file. */
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

/* Elements times size must be the length of the data: neither side of the header is trusted alone.
 */
static enum wsc_err read_entry(const struct entry *e)
{
    const char *dtype = json_string_value(json_object_get(e->json, "dtype"));
    const struct dtype_row *row = dtype ? find_dtype(dtype) : NULL;
    int64_t bytes;
    if (!row) return bad_entry(e, "`dtype` is none of the format's types");
    e->t->dtype = row->dtype;
    TRY(read_shape(e, json_object_get(e->json, "shape")));
    TRY(read_offsets(e, json_object_get(e->json, "data_offsets")));
    if (__builtin_mul_overflow(e->t->n, (int64_t)row->bytes, &bytes) || bytes != e->t->bytes)
        return WSC_RAISE(WSC_FORMAT,
                         "%s: header: tensor %s: %lld elements of %s in %lld bytes of data",
                         e->path, e->name, (long long)e->t->n, row->name, (long long)e->t->bytes);
    return WSC_OK;
}

/* ---- the header ------------------------------------------------------------------------------ */

/* A tensor that is not added leaves no name. */
static enum wsc_err add_tensor(struct convert_files *files, const char *path, const char *name,
                               const json_t *json)
{
    struct convert_tensor t = {.file = files->n_files - 1};
    TRY_GROW(files->tensor, WSC_MEM_CONVERT, files->room, files->n_tensors + 1);
    TRY(read_entry(&(struct entry){path, name, json, &t}));
    TRY_MEM(t.name, wsc_strdup(WSC_MEM_CONVERT, name));
    files->tensor[files->n_tensors++] = t;
    return WSC_OK;
}

/* By the first byte; empty tensors come before others at the same place. */
static int by_place(const void *a, const void *b)
{
    const struct convert_tensor *x = a, *y = b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* The tensors from @p first on lie one after the other and fill the data part. */
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

/* Offsets count from the end of the header, and are made places in the file here. */
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

/* pread(2) that does not stop half way. */
static enum wsc_err read_at(const struct convert_file *f, void *out, int64_t n, int64_t at)
{
    char *to = out;
    while (n > 0) {
        ssize_t got = pread(f->fd, to, (size_t)n, at);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0)
            return WSC_RAISE(WSC_IO, "%s: cannot be read: %s", f->path,
                             got ? strerror(errno) : "it became shorter");
        to += got;
        at += got;
        n -= got;
    }
    return WSC_OK;
}

/* The length is checked against file and limit before memory is taken for it. */
static enum wsc_err read_header(struct convert_files *files)
{
    const struct convert_file *f = &files->file[files->n_files - 1];
    uint64_t length = 0;
    char *text;
    json_t *header = NULL;
    if (f->bytes < (int64_t)sizeof length)
        return WSC_RAISE(WSC_FORMAT, "%s: has %lld bytes, too few for a safetensors file", f->path,
                         (long long)f->bytes);
    TRY(read_at(f, &length, sizeof length, 0));
    length = le64toh(length);
    if (length > (uint64_t)f->bytes - sizeof length || length > CONVERT_MAX_TEXT_BYTES)
        return wsc_err_hint(WSC_RAISE(WSC_FORMAT,
                                      "%s: says that its header has %llu bytes; the file has %lld",
                                      f->path, (unsigned long long)length, (long long)f->bytes),
                            "is it a safetensors file, and is it complete?");
    TRY_NEW(text, WSC_MEM_CONVERT, length + 1);
    enum wsc_err rc = read_at(f, text, (int64_t)length, sizeof length);
    if (!rc) rc = convert_json_parse(&header, f->path, text, length);
    wsc_free(text);
    if (!rc) rc = add_tensors(files, header, (int64_t)(sizeof length + length));
    json_decref(header);
    return rc;
}

enum wsc_err convert_file_add(struct convert_files *files, const char *path)
{
    struct stat info;
    TRY_GROW(files->file, WSC_MEM_CONVERT, files->file_room, files->n_files + 1);
    struct convert_file *f = &files->file[files->n_files];
    *f = (struct convert_file){.fd = open(path, O_RDONLY | O_CLOEXEC)};
    if (f->fd < 0) return WSC_RAISE(WSC_IO, "%s: cannot be opened: %s", path, strerror(errno));
    files->n_files++;
    TRY_MEM(f->path, wsc_strdup(WSC_MEM_CONVERT, path));
    if (fstat(f->fd, &info) || !S_ISREG(info.st_mode))
        return WSC_RAISE(WSC_IO, "%s: is not a regular file", path);
    f->bytes = info.st_size;
    return read_header(files);
}

/* Tensors own their names alone. */
void convert_files_close(struct convert_files **files)
{
    struct convert_files *s = *files;
    if (!s) return;
    for (int i = 0; i < s->n_files; i++) {
        (void)close(s->file[i].fd);
        wsc_free(s->file[i].path);
    }
    for (int i = 0; i < s->n_tensors; i++)
        wsc_free((void *)s->tensor[i].name);
    wsc_free(s->file);
    wsc_free(s->tensor);
    wsc_free(s);
    *files = NULL;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* @p n values from byte @p at on as fp32. */
static enum wsc_err read_values(const struct convert_file *f, enum convert_dtype dtype, int64_t at,
                                int64_t n, float *out)
{
    enum { PIECE = 1 << 14 };
    uint16_t half[PIECE];
    if (dtype == CONVERT_F32) return read_at(f, out, n * 4, at);
    for (int64_t done = 0; done < n; done += PIECE) {
        const int64_t m = n - done < PIECE ? n - done : PIECE;
        TRY(read_at(f, half, m * 2, at + done * 2));
        num_widen(convert_dtype_format(dtype), out + done, half, m);
    }
    return WSC_OK;
}

/* Row by row of the box, or in one piece when its rows are whole. */
enum wsc_err convert_files_read(const struct convert_files *files, const struct convert_tensor *t,
                                const struct store_box *box, float *out)
{
    const struct convert_file *f = &files->file[t->file];
    const int64_t width = t->n_dims && t->shape[0] ? t->n / t->shape[0] : 1;
    const int64_t size = convert_dtype_bytes(t->dtype), n = box->rows * box->columns;
    const bool whole_rows = box->columns == width; /* they are one piece */
    const int64_t piece = whole_rows ? n : box->columns;
    for (int64_t i = 0; i * piece < n; i++) {
        const int64_t first = (box->row + i) * width + box->column;
        TRY(read_values(f, t->dtype, t->at + first * size, piece, out + i * piece));
    }
    return WSC_OK;
}
