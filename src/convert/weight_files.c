// SPDX-License-Identifier: Apache-2.0
/* Files with weights: opens them, reads bytes, and reads boxes of a tensor as fp32. A tensor is an
 * offset in a file with a type and two strides, so a transposed or partial view of torch is read as
 * a row-major tensor. safetensors.c and torch_weights.c list the tensors of a file; tensor_mover.c
 * reads their values. */
#include "weight_files.h"

#include <wsc/mem.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- types ----------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int bytes;
    enum num_format format;
} dtype_row[] = {[CONVERT_F32] = {"F32", 4, NUM_FP32},
                 [CONVERT_F16] = {"F16", 2, NUM_FP16},
                 [CONVERT_BF16] = {"BF16", 2, NUM_BF16},
                 [CONVERT_OTHER] = {"other", 0, NUM_FP32}};

const char *convert_dtype_name(enum convert_dtype dtype)
{
    return dtype_row[dtype].name;
}

int64_t convert_dtype_bytes(enum convert_dtype dtype)
{
    return dtype_row[dtype].bytes;
}

enum num_format convert_dtype_format(enum convert_dtype dtype)
{
    return dtype_row[dtype].format;
}

/* ---- files ----------------------------------------------------------------------------------- */

enum wsc_err convert_files_append(struct convert_files *files, const char *path)
{
    struct stat info;
    TRY_GROW(files->file, WSC_MEM_CONVERT, files->file_room, files->n_files + 1);
    struct convert_file *f = &files->file[files->n_files];
    /* O_NONBLOCK, because opening a pipe would wait for its writer. */
    *f = (struct convert_file){.fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
    if (f->fd < 0) return WSC_RAISE(WSC_IO, "%s: cannot be opened: %s", path, strerror(errno));
    files->n_files++;
    TRY_MEM(f->path, wsc_strdup(WSC_MEM_CONVERT, path));
    if (fstat(f->fd, &info) || !S_ISREG(info.st_mode))
        return WSC_RAISE(WSC_IO, "%s: is not a regular file", path);
    f->bytes = info.st_size;
    return WSC_OK;
}

enum wsc_err convert_check_name(const struct convert_files *files, const char *name)
{
    const struct convert_file *f = &files->file[files->n_files - 1];
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7F)
            return WSC_RAISE(WSC_FORMAT, "%s: the name of a tensor has a control character, 0x%02X",
                             f->path, (unsigned)(unsigned char)*c);
    return WSC_OK;
}

/* The name is released if the tensor is not added. */
enum wsc_err convert_files_add(struct convert_files *files, const struct convert_tensor *t,
                               const char *name)
{
    TRY_GROW(files->tensor, WSC_MEM_CONVERT, files->room, files->n_tensors + 1);
    struct convert_tensor *added = &files->tensor[files->n_tensors];
    *added = *t;
    added->file = files->n_files - 1;
    TRY_MEM(added->name, wsc_strdup(WSC_MEM_CONVERT, name));
    files->n_tensors++;
    return WSC_OK;
}

/* pread(2), repeated until all bytes are read. */
enum wsc_err convert_file_read(const struct convert_file *f, void *out, int64_t n, int64_t at)
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

/* Tensors own only their names. */
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

static int64_t width_of(const struct convert_tensor *t)
{
    return t->n_dims && t->shape[0] ? t->n / t->shape[0] : 1;
}

void convert_tensor_pack(struct convert_tensor *t)
{
    t->stride[0] = width_of(t);
    t->stride[1] = 1;
}

enum { PIECE_BYTES = 1 << 16 };

/* Convert every @p stride-th value in @p raw to fp32, to every @p step-th element of @p out. */
static void widen(const struct convert_tensor *t, const char *raw, int64_t n, int64_t stride,
                  float *out, int64_t step)
{
    for (int64_t i = 0; i < n; i++) {
        const char *value = raw + i * stride * convert_dtype_bytes(t->dtype);
        if (t->dtype == CONVERT_F32)
            memcpy(&out[i * step], value, sizeof *out);
        else
            num_widen(convert_dtype_format(t->dtype), &out[i * step], (const void *)value, 1);
    }
}

/* Read a line of a tensor: where[1] values from byte where[0] on, where[2] elements apart, to every
 * @p step-th element of @p out. Values between them are read too, up to the size of a piece of
 * memory.
 */
static enum wsc_err read_line(const struct convert_file *f, const struct convert_tensor *t,
                              const int64_t where[3], float *out, int64_t step)
{
    _Alignas(64) char raw[PIECE_BYTES];
    const int64_t at = where[0], n = where[1], stride = where[2];
    const int64_t size = convert_dtype_bytes(t->dtype), room = PIECE_BYTES / size;
    const int64_t most = stride ? (room - 1) / stride + 1 : n;
    for (int64_t done = 0; done < n; done += most) {
        const int64_t m = n - done < most ? n - done : most;
        TRY(convert_file_read(f, raw, ((m - 1) * stride + 1) * size, at + done * stride * size));
        if (step == 1 && stride == 1 && t->dtype != CONVERT_F32)
            num_widen(convert_dtype_format(t->dtype), out + done, (const void *)raw, m);
        else
            widen(t, raw, m, stride, out + done * step, step);
    }
    return WSC_OK;
}

/* Read a box that is one piece of the file, or one piece per row. */
static enum wsc_err read_packed(const struct convert_file *f, const struct convert_tensor *t,
                                const struct store_box *box, float *out)
{
    const int64_t width = t->stride[0], n = box->rows * box->columns;
    const int64_t piece = box->columns == width ? n : box->columns;
    const int64_t size = convert_dtype_bytes(t->dtype);
    for (int64_t i = 0; i * piece < n; i++) {
        const int64_t at = t->at + ((box->row + i) * width + box->column) * size;
        if (t->dtype == CONVERT_F32)
            TRY(convert_file_read(f, out + i * piece, piece * size, at));
        else
            TRY(read_line(f, t, (int64_t[]){at, piece, 1}, out + i * piece, 1));
    }
    return WSC_OK;
}

/* Read a view along its shorter stride: by rows, or by columns if it is transposed. */
static enum wsc_err read_view(const struct convert_file *f, const struct convert_tensor *t,
                              const struct store_box *box, float *out)
{
    const bool by_rows = t->stride[1] <= t->stride[0];
    const int64_t lines = by_rows ? box->rows : box->columns;
    const int64_t n = by_rows ? box->columns : box->rows;
    const int64_t across = t->stride[!by_rows ? 1 : 0], along = t->stride[by_rows ? 1 : 0];
    const int64_t first = box->row * t->stride[0] + box->column * t->stride[1];
    for (int64_t i = 0; i < lines; i++) {
        const int64_t at = t->at + (first + i * across) * convert_dtype_bytes(t->dtype);
        TRY(read_line(f, t, (int64_t[]){at, n, along}, out + i * (by_rows ? box->columns : 1),
                      by_rows ? 1 : box->columns));
    }
    return WSC_OK;
}

enum wsc_err convert_files_read(const struct convert_files *files, const struct convert_tensor *t,
                                const struct store_box *box, float *out)
{
    const struct convert_file *f = &files->file[t->file];
    const bool packed = t->stride[0] == width_of(t) && t->stride[1] == 1;
    return packed ? read_packed(f, t, box, out) : read_view(f, t, box, out);
}
