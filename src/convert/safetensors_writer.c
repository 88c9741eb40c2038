// SPDX-License-Identifier: Apache-2.0
/* Writes a safetensors file: first the header of all tensors, then values in their order, in the
 * type of each tensor. */
#include "safetensors_writer.h"
#include "weight_files.h"

#include <wsc/check.h>
#include <wsc/file.h>
#include <wsc/mem.h>

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A file with the current position: tensor `now`, of which `done` values are written. */
struct convert_writer {
    char *path, *tmp; /* owned */
    int fd;
    const struct convert_out_tensor *tensor; /* borrowed */
    int n_tensors, now;                      /* now: the tensor that comes next */
    int64_t done;                            /* values of this tensor */
};

/* write(2), repeated until all bytes are written. */
static enum wsc_err write_all(struct convert_writer *w, const void *data, size_t n)
{
    const char *at = data;
    while (n) {
        ssize_t put = write(w->fd, at, n);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return WSC_RAISE(WSC_IO, "%s: cannot be written: %s", w->tmp, strerror(errno));
        at += put;
        n -= (size_t)put;
    }
    return WSC_OK;
}

/* The header's entry of a tensor whose data begin at *@p at, which is moved to their end. */
static json_t *entry_of(const struct convert_out_tensor *t, int64_t *at)
{
    const int64_t end = *at + t->n * convert_dtype_bytes(t->dtype);
    json_t *shape = json_array();
    for (int d = 0; d < t->n_dims; d++)
        (void)json_array_append_new(shape, json_integer(t->shape[d]));
    json_t *entry = json_pack("{s:s, s:o, s:[I,I]}", "dtype", convert_dtype_name(t->dtype), "shape",
                              shape, "data_offsets", (json_int_t)*at, (json_int_t)end);
    *at = end;
    return entry;
}

/* The header, padded with blanks so that the data begin at a multiple of 8. */
static enum wsc_err write_header(struct convert_writer *w)
{
    int64_t at = 0;
    json_t *header = json_pack("{s:{s:s}}", "__metadata__", "format", "pt");
    for (int i = 0; i < w->n_tensors && header; i++)
        if (json_object_set_new(header, w->tensor[i].name, entry_of(&w->tensor[i], &at))) break;
    char *text = json_dumps(header, JSON_COMPACT);
    const bool complete = header && json_object_size(header) == (size_t)w->n_tensors + 1;
    json_decref(header);
    if (!text || !complete) {
        free(text);
        return WSC_RAISE(WSC_NOMEM, "%s: no memory for the header", w->path);
    }
    const size_t length = strlen(text), padded = (length + 7) / 8 * 8;
    const uint64_t stored = htole64(padded);
    enum wsc_err rc = write_all(w, &stored, sizeof stored);
    if (!rc) rc = write_all(w, text, length);
    if (!rc) rc = write_all(w, "       ", padded - length);
    free(text);
    return rc;
}

/* The temporary file and its header. */
static enum wsc_err begin(struct convert_writer *w)
{
    w->fd = open(w->tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (w->fd < 0) return WSC_RAISE(WSC_IO, "%s: cannot be created: %s", w->tmp, strerror(errno));
    return write_header(w);
}

enum wsc_err convert_writer_create(struct convert_writer **out, const char *path,
                                   const struct convert_out_tensor *tensor, int n)
{
    struct convert_writer *w;
    *out = NULL;
    TRY_NEW(w, WSC_MEM_CONVERT, 1);
    *w = (struct convert_writer){.fd = -1, .tensor = tensor, .n_tensors = n};
    w->path = wsc_strdup(WSC_MEM_CONVERT, path);
    w->tmp = wsc_asprintf(WSC_MEM_CONVERT, "%s.tmp", path);
    enum wsc_err rc = w->path && w->tmp ? begin(w) : WSC_NOMEM;
    if (rc) convert_writer_discard(&w);
    *out = w;
    return rc;
}

/* The first byte is 0 and every byte equals the next. */
static bool is_zero(const void *data, size_t n)
{
    const char *x = data;
    return !*x && !memcmp(x, x + 1, n - 1);
}

/* Blocks of zeros become holes, so that a file without values takes no disk space. */
static enum wsc_err put(struct convert_writer *w, const void *data, size_t n)
{
    if (!is_zero(data, n)) return write_all(w, data, n);
    if (lseek(w->fd, (off_t)n, SEEK_CUR) >= 0) return WSC_OK;
    return WSC_RAISE(WSC_IO, "%s: cannot be written: %s", w->tmp, strerror(errno));
}

/* Error for a finite value that became an infinity in a 16-bit format. */
static enum wsc_err check_fits(const struct convert_writer *w, const float *x, const uint16_t *half,
                               int64_t n)
{
    const bool f16 = w->tensor[w->now].dtype == CONVERT_F16;
    const uint16_t infinity = f16 ? 0x7c00 : 0x7f80;
    for (int64_t i = 0; i < n; i++) {
        if ((half[i] & 0x7fff) != infinity || !isfinite(x[i])) continue;
        return wsc_err_hint(WSC_RAISE(WSC_NUMERIC, "%s: %s has the value %g, %s ends at %g",
                                      w->path, w->tensor[w->now].name, (double)x[i],
                                      f16 ? "F16" : "BF16", f16 ? 65504 : 0x1.fep127),
                            f16 ? "--dtype bf16 or --dtype f32" : "--dtype f32");
    }
    return WSC_OK;
}

/* Rounded to nearest even, piece by piece. */
static enum wsc_err put_half(struct convert_writer *w, const float *x, int64_t n)
{
    enum { PIECE = 1 << 14 };
    uint16_t half[PIECE];
    const enum convert_dtype dtype = w->tensor[w->now].dtype;
    for (int64_t done = 0; done < n; done += PIECE) {
        const int64_t m = n - done < PIECE ? n - done : PIECE;
        num_narrow(convert_dtype_format(dtype), half, x + done, m);
        TRY(check_fits(w, x + done, half, m));
        TRY(put(w, half, (size_t)m * sizeof *half));
    }
    return WSC_OK;
}

/* A call stays inside one tensor. */
enum wsc_err convert_writer_append(struct convert_writer *w, const float *x, int64_t n)
{
    WSC_CHECK(w->now < w->n_tensors && n <= w->tensor[w->now].n - w->done,
              "%s: more values than announced", w->path);
    if (w->tensor[w->now].dtype == CONVERT_F32)
        TRY(put(w, x, (size_t)n * sizeof *x));
    else
        TRY(put_half(w, x, n));
    w->done += n;
    if (w->done < w->tensor[w->now].n) return WSC_OK;
    w->now++;
    w->done = 0;
    return WSC_OK;
}

static enum wsc_err finish(struct convert_writer *w)
{
    WSC_CHECK(w->now == w->n_tensors, "%s: values of %d of %d tensors came", w->path, w->now,
              w->n_tensors);
    /* Holes at the end exist only after the length of the file is set. */
    const off_t end = lseek(w->fd, 0, SEEK_CUR);
    const bool bad = end < 0 || ftruncate(w->fd, end) || close(w->fd);
    w->fd = -1;
    if (bad) return WSC_RAISE(WSC_IO, "%s: cannot be completed: %s", w->tmp, strerror(errno));
    return wsc_file_publish(w->tmp, w->path);
}

static void release(struct convert_writer **writer)
{
    wsc_free((*writer)->path);
    wsc_free((*writer)->tmp);
    wsc_free(*writer);
    *writer = NULL;
}

enum wsc_err convert_writer_finish(struct convert_writer **writer)
{
    enum wsc_err rc = finish(*writer);
    if (rc)
        convert_writer_discard(writer);
    else
        release(writer);
    return rc;
}

/* Also for a writer that is only partly initialized. */
void convert_writer_discard(struct convert_writer **writer)
{
    struct convert_writer *w = *writer;
    if (!w) return;
    if (w->fd >= 0) (void)close(w->fd);
    if (w->tmp) (void)unlink(w->tmp);
    release(writer);
}
