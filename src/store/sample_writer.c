// SPDX-License-Identifier: Apache-2.0
/* Writes sample files with one chunk for each sample. Chunks are shuffled and compressed by
 * libdeflate with the checksum that HDF5 expects, and given to HDF5 as raw chunks: equal samples
 * give equal bytes. */
#include "h5.h"
#include "h5_error.h"
#include "h5_number.h"

#include <wsc/check.h>
#include <wsc/file.h>
#include <wsc/mem.h>
#include <wsc/store.h>

#include <libdeflate.h>
#include <unistd.h>

enum { GZIP_LEVEL = 4 }; /* the Model Zoo's default */

/* A dataset (n, rows, T). */
struct set {
    const char *name;
    hid_t dset;
    int64_t rows, T, done;
};

struct store_samples_writer {
    char *path, *tmp;
    hid_t file;
    int64_t n;
    struct set set[2]; /* data, labels */
    int n_sets;
    enum store_int type;
    struct libdeflate_compressor *deflate;
    unsigned char *planes, *packed; /* buffers for a shuffled chunk, for a compressed one */
    size_t n_planes, n_packed;      /* bytes of the two buffers */
};

/* Indexed by enum store_int. */
static const size_t int_bytes[] = {4, 2};

static hid_t create_dataset(const struct store_samples_writer *w, const struct set *s)
{
    const hsize_t rows = (hsize_t)s->rows, T = (hsize_t)s->T;
    hsize_t dims[3] = {(hsize_t)w->n, rows, T}, chunk[3] = {1, rows, T};
    hid_t space = H5Screate_simple(3, dims, NULL), plist = H5Pcreate(H5P_DATASET_CREATE);
    (void)H5Pset_chunk(plist, 3, chunk);
    (void)H5Pset_shuffle(plist);
    (void)H5Pset_deflate(plist, GZIP_LEVEL);
    (void)H5Pset_fletcher32(plist);
    /* Without times, equal samples give equal bytes. */
    (void)H5Pset_obj_track_times(plist, false);
    hid_t type = w->type == STORE_UINT16 ? H5T_STD_U16LE : H5T_STD_I32LE;
    hid_t dset = H5Dcreate2(w->file, s->name, type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    (void)H5Pclose(plist);
    (void)H5Sclose(space);
    return dset;
}

static enum wsc_err begin(struct store_samples_writer *w)
{
    TRY(store_touch(w->tmp));
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
    (void)H5Pset_file_locking(fapl, false, true);
    (void)H5Pset_fclose_degree(fapl, H5F_CLOSE_STRONG);
    /* Tables with checksums, those of chunks too; HDF5 1.10 and its followers read them. */
    (void)H5Pset_libver_bounds(fapl, H5F_LIBVER_V110, H5F_LIBVER_LATEST);
    hid_t fcpl = H5Pcreate(H5P_FILE_CREATE);
    (void)H5Pset_obj_track_times(fcpl, false); /* those of the root group */
    w->file = H5Fcreate(w->tmp, H5F_ACC_TRUNC, fcpl, fapl);
    enum wsc_err rc = WSC_OK;
    if (w->file < 0) rc = H5_RAISE(WSC_IO, "%s: cannot be created", w->tmp);
    (void)H5Pclose(fcpl);
    (void)H5Pclose(fapl);
    if (rc) return rc;
    for (struct set *s = w->set; s < w->set + w->n_sets; s++) {
        s->dset = create_dataset(w, s);
        if (s->dset < 0)
            return H5_RAISE(WSC_IO, "%s: dataset %s cannot be created", w->tmp, s->name);
    }
    TRY(store_h5_set(w->file, w->tmp, "n_examples", H5T_NATIVE_INT64, &w->n));
    TRY(store_h5_reserve(w->file, w->tmp, 0, STORE_MARGIN));
    return WSC_OK;
}

/* Allocate buffers for one sample before and after compression; 4 bytes more for the checksum. */
static enum wsc_err make_buffers(struct store_samples_writer *w)
{
    w->deflate = libdeflate_alloc_compressor(GZIP_LEVEL);
    for (const struct set *s = w->set; s < w->set + w->n_sets; s++) {
        const size_t n = (size_t)(s->rows * s->T) * int_bytes[w->type];
        if (n > w->n_planes) w->n_planes = n;
    }
    w->n_packed = libdeflate_zlib_compress_bound(w->deflate, w->n_planes) + 4;
    w->planes = wsc_alloc_raw(WSC_MEM_STORE, w->n_planes, 1);
    w->packed = wsc_alloc_raw(WSC_MEM_STORE, w->n_packed, 1);
    if (w->deflate && w->planes && w->packed) return WSC_OK;
    return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "buffers of a sample");
}

static void set_sets(struct store_samples_writer *w, const struct store_samples_shape *shape)
{
    const int64_t plain = shape->predictions ? 2 : shape->pairs ? 6 : 3;
    const int64_t rows = plain + (shape->vsl ? 2 : 0);
    w->n_sets = shape->predictions ? 2 : 1;
    w->set[0] = (struct set){"data", H5I_INVALID_HID, rows, shape->T, 0};
    w->set[1] = (struct set){"labels", H5I_INVALID_HID, 3, shape->predictions, 0};
}

enum wsc_err store_samples_create(struct store_samples_writer **out, const char *path,
                                  const struct store_samples_shape *shape)
{
    struct store_samples_writer *w = NULL;
    enum wsc_err rc = WSC_OK;
    *out = NULL;
    WSC_CHECK(shape->n >= 1 && shape->T >= 1 && shape->T <= (1 << 26), "%lld samples of %lld",
              (long long)shape->n, (long long)shape->T);
    store_h5_silence();
    TRY_NEW(w, WSC_MEM_STORE, 1);
    w->file = H5I_INVALID_HID;
    w->n = shape->n;
    w->type = shape->type;
    set_sets(w, shape);
    w->path = wsc_strdup(WSC_MEM_STORE, path);
    w->tmp = wsc_asprintf(WSC_MEM_STORE, "%s" STORE_TMP_SUFFIX, path);
    if (!w->path || !w->tmp) rc = WSC_NOMEM;
    if (!rc) rc = make_buffers(w);
    if (!rc) rc = begin(w);
    if (rc) store_samples_discard(&w);
    *out = w;
    return rc;
}

/* HDF5's shuffle filter for little-endian values: the first bytes of all values, then the second
 * ones, and so on. */
static void shuffle(struct store_samples_writer *w, const int32_t *data, size_t n)
{
    for (size_t b = 0; b < int_bytes[w->type]; b++) {
        unsigned char *plane = w->planes + b * n;
        for (size_t i = 0; i < n; i++)
            plane[i] = (unsigned char)((uint32_t)data[i] >> 8 * b);
    }
}

/* Values of 16 bits have no bit above them; negative ones have all. */
static void check_narrow(const int32_t *data, size_t n)
{
    uint32_t bits = 0;
    for (size_t i = 0; i < n; i++)
        bits |= (uint32_t)data[i];
    WSC_CHECK(bits <= UINT16_MAX, "values that are no uint16");
}

/* HDF5's checksum filter: Fletcher's sum modulo 65535 over 16-bit words, the first byte of each the
 * higher one (HDF5 File Format Specification 3.0, IV.A.2.k, filter 3), little-endian after the
 * data. */
static size_t add_checksum(unsigned char *data, size_t n)
{
    enum { BLOCK = 720 }; /* bytes until the sums could overflow 32 bits */
    uint32_t a = 0, b = 0;
    for (size_t i = 0; i < n;) {
        for (size_t end = i + BLOCK; i < n && i < end; i += 2) {
            a += (uint32_t)data[i] << 8 | (i + 1 < n ? data[i + 1] : 0U);
            b += a;
        }
        a = (a & 0xFFFF) + (a >> 16);
        b = (b & 0xFFFF) + (b >> 16);
    }
    a = (a & 0xFFFF) + (a >> 16);
    b = (b & 0xFFFF) + (b >> 16);
    for (int k = 0; k < 4; k++)
        data[n + (size_t)k] = (unsigned char)((b << 16 | a) >> 8 * k);
    return n + 4;
}

/* Write the chunk that the filters of the dataset would write, several times as fast. */
static enum wsc_err write_chunk(struct store_samples_writer *w, struct set *s, const int32_t *data)
{
    const size_t n_values = (size_t)(s->rows * s->T), n_bytes = n_values * int_bytes[w->type];
    hsize_t at[3] = {(hsize_t)s->done, 0, 0};
    if (w->type == STORE_UINT16) check_narrow(data, n_values);
    shuffle(w, data, n_values);
    size_t n = libdeflate_zlib_compress(w->deflate, w->planes, n_bytes, w->packed, w->n_packed - 4);
    WSC_CHECK(n > 0, "a chunk of %zu bytes does not fit %zu", n_bytes, w->n_packed);
    n = add_checksum(w->packed, n);
    if (H5Dwrite_chunk(s->dset, H5P_DEFAULT, 0, at, n, w->packed) < 0)
        return H5_RAISE(WSC_IO, "%s: samples cannot be written", w->tmp);
    s->done++;
    return WSC_OK;
}

static enum wsc_err append(struct store_samples_writer *w, struct set *s, const int32_t *data,
                           int64_t k)
{
    WSC_CHECK(k >= 0 && k <= w->n - s->done, "%lld samples more than announced", (long long)k);
    if (!k) return WSC_OK;
    TRY(store_h5_reserve(w->file, w->tmp, 0, k * ((int64_t)w->n_packed + 256) + STORE_MARGIN));
    for (int64_t i = 0; i < k; i++)
        TRY(write_chunk(w, s, data + s->rows * s->T * i));
    return WSC_OK;
}

enum wsc_err store_samples_append(struct store_samples_writer *w, const int32_t *data, int64_t k)
{
    return append(w, &w->set[0], data, k);
}

enum wsc_err store_samples_append_labels(struct store_samples_writer *w, const int32_t *labels,
                                         int64_t k)
{
    WSC_CHECK(w->n_sets > 1, "labels of a file without such");
    return append(w, &w->set[1], labels, k);
}

static herr_t close_file(struct store_samples_writer *w)
{
    herr_t bad = 0;
    for (struct set *s = w->set; s < w->set + w->n_sets; s++) {
        if (s->dset >= 0 && H5Dclose(s->dset) < 0) bad = -1;
        s->dset = H5I_INVALID_HID;
    }
    if (w->file >= 0 && H5Fclose(w->file) < 0) bad = -1;
    w->file = H5I_INVALID_HID;
    return bad;
}

static void release(struct store_samples_writer **writer)
{
    if ((*writer)->deflate) libdeflate_free_compressor((*writer)->deflate);
    wsc_free((*writer)->planes);
    wsc_free((*writer)->packed);
    wsc_free((*writer)->path);
    wsc_free((*writer)->tmp);
    wsc_free(*writer);
    *writer = NULL;
}

/* Flush and close the file before it is renamed. */
static enum wsc_err finish(struct store_samples_writer *w)
{
    for (const struct set *s = w->set; s < w->set + w->n_sets; s++)
        WSC_CHECK(s->done == w->n, "%lld of %lld samples came", (long long)s->done,
                  (long long)w->n);
    if (H5Fflush(w->file, H5F_SCOPE_GLOBAL) < 0 || close_file(w) < 0)
        return H5_RAISE(WSC_IO, "%s: cannot be completed", w->tmp);
    TRY(wsc_file_publish(w->tmp, w->path));
    return WSC_OK;
}

enum wsc_err store_samples_finish(struct store_samples_writer **writer)
{
    enum wsc_err rc = finish(*writer);
    if (rc)
        store_samples_discard(writer);
    else
        release(writer);
    return rc;
}

void store_samples_discard(struct store_samples_writer **writer)
{
    struct store_samples_writer *w = *writer;
    if (!w) return;
    if (w->file >= 0) store_h5_abandon(w->file);
    (void)close_file(w);
    if (w->tmp) (void)unlink(w->tmp);
    release(writer);
}

enum wsc_err store_samples_write(const char *path, const int32_t *data, int64_t n, int64_t T)
{
    struct store_samples_writer *w = NULL;
    enum wsc_err rc = store_samples_create(&w, path, &(struct store_samples_shape){.n = n, .T = T});
    if (!rc && w) rc = store_samples_append(w, data, n);
    if (!rc && w) rc = store_samples_finish(&w);
    store_samples_discard(&w);
    return rc;
}
