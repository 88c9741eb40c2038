// SPDX-License-Identifier: Apache-2.0
#include "store_impl.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <unistd.h>

enum { GZIP_LEVEL = 4 }; /* the Model Zoo's default */

struct store_samples_writer {
    char *path, *tmp;
    hid_t file, dset;
    int64_t n, T, done;
};

static hid_t create_dataset(const struct store_samples_writer *w)
{
    hsize_t dims[3] = {(hsize_t)w->n, 3, (hsize_t)w->T}, chunk[3] = {1, 3, (hsize_t)w->T};
    hid_t space = H5Screate_simple(3, dims, NULL), plist = H5Pcreate(H5P_DATASET_CREATE);
    (void)H5Pset_chunk(plist, 3, chunk);
    (void)H5Pset_shuffle(plist);
    (void)H5Pset_deflate(plist, GZIP_LEVEL);
    (void)H5Pset_fletcher32(plist);
    /* Without times the same samples give the same bytes. */
    (void)H5Pset_obj_track_times(plist, false);
    hid_t dset = H5Dcreate2(w->file, "data", H5T_STD_I32LE, space, H5P_DEFAULT, plist, H5P_DEFAULT);
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
    w->file = H5Fcreate(w->tmp, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    enum wsc_err rc = WSC_OK;
    if (w->file < 0) rc = H5_RAISE(WSC_IO, "%s: cannot be created", w->tmp);
    (void)H5Pclose(fapl);
    if (rc) return rc;
    w->dset = create_dataset(w);
    if (w->dset < 0) return H5_RAISE(WSC_IO, "%s: dataset data cannot be created", w->tmp);
    TRY(store_h5_set(w->file, w->tmp, "n_examples", H5T_NATIVE_INT64, &w->n));
    TRY(store_h5_reserve(w->file, w->tmp, 0, STORE_MARGIN));
    return WSC_OK;
}

enum wsc_err store_samples_create(struct store_samples_writer **out, const char *path, int64_t n,
                                  int64_t T)
{
    struct store_samples_writer *w = NULL;
    enum wsc_err rc = WSC_OK;
    *out = NULL;
    WSC_CHECK(n >= 1 && T >= 1 && T <= (1 << 26), "%lld samples of %lld", (long long)n,
              (long long)T);
    store_h5_silence();
    TRY_NEW(w, WSC_MEM_STORE, 1);
    w->file = w->dset = H5I_INVALID_HID;
    w->n = n;
    w->T = T;
    w->path = wsc_strdup(WSC_MEM_STORE, path);
    w->tmp = wsc_asprintf(WSC_MEM_STORE, "%s" STORE_TMP_SUFFIX, path);
    if (!w->path || !w->tmp) rc = WSC_NOMEM;
    if (!rc) rc = begin(w);
    if (rc) store_samples_discard(&w);
    *out = w;
    return rc;
}

enum wsc_err store_samples_append(struct store_samples_writer *w, const int32_t *data, int64_t k)
{
    WSC_CHECK(k >= 0 && k <= w->n - w->done, "%lld samples more than announced", (long long)k);
    if (!k) return WSC_OK;
    TRY(store_h5_reserve(w->file, w->tmp, 0, k * (12 * w->T + 256) + STORE_MARGIN));
    hsize_t first[3] = {(hsize_t)w->done, 0, 0}, count[3] = {(hsize_t)k, 3, (hsize_t)w->T};
    hid_t space = H5Dget_space(w->dset), mem = H5Screate_simple(3, count, NULL);
    (void)H5Sselect_hyperslab(space, H5S_SELECT_SET, first, NULL, count, NULL);
    enum wsc_err rc = WSC_OK;
    if (H5Dwrite(w->dset, H5T_NATIVE_INT32, mem, space, H5P_DEFAULT, data) < 0)
        rc = H5_RAISE(WSC_IO, "%s: samples cannot be written", w->tmp);
    (void)H5Sclose(mem);
    (void)H5Sclose(space);
    if (!rc) w->done += k;
    return rc;
}

static herr_t close_file(struct store_samples_writer *w)
{
    herr_t bad = 0;
    if (w->dset >= 0 && H5Dclose(w->dset) < 0) bad = -1;
    if (w->file >= 0 && H5Fclose(w->file) < 0) bad = -1;
    w->dset = w->file = H5I_INVALID_HID;
    return bad;
}

static void release(struct store_samples_writer **writer)
{
    wsc_free((*writer)->path);
    wsc_free((*writer)->tmp);
    wsc_free(*writer);
    *writer = NULL;
}

static enum wsc_err finish(struct store_samples_writer *w)
{
    WSC_CHECK(w->done == w->n, "%lld of %lld samples came", (long long)w->done, (long long)w->n);
    if (H5Fflush(w->file, H5F_SCOPE_GLOBAL) < 0 || close_file(w) < 0)
        return H5_RAISE(WSC_IO, "%s: cannot be completed", w->tmp);
    TRY(store_publish(w->tmp, w->path));
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
    enum wsc_err rc = store_samples_create(&w, path, n, T);
    if (!rc && w) rc = store_samples_append(w, data, n);
    if (!rc && w) rc = store_samples_finish(&w);
    store_samples_discard(&w);
    return rc;
}
