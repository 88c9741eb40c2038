// SPDX-License-Identifier: Apache-2.0
/* Opens and creates HDF5 files and datasets with checks: links, types, filters, storage and sizes
 * of a dataset are checked before a byte is read. Disk space is reserved first, since HDF5 1.10
 * does not survive a full disk. h5_error.c raises its errors. */
#include "h5.h"
#include "h5_error.h"
#include "h5_info.h"
#include "h5_lz4.h"
#include "h5_number.h"
#include "h5_text.h"

#include <wsc/mem.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* A chunk is expanded in memory as a whole; without a limit a small file could require 4 GiB. */
static const size_t max_chunk_bytes = (size_t)256 << 20;

/* ---- opening --------------------------------------------------------------------------------- */

/* Access for reading; -1 when HDF5 has no memory for it. */
static hid_t reading_fapl(void)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
    if (fapl < 0) return fapl;
    /* Locks would fail on read-only and some network file systems; no program writes to a file
     * under its final name. */
    (void)H5Pset_file_locking(fapl, false, true);
    (void)H5Pset_fclose_degree(fapl, H5F_CLOSE_STRONG);
    return fapl;
}

/* Raise HDF5's error first; then check whether the file is an HDF5 file at all, for the message. */
enum wsc_err store_h5_open(hid_t *file, const char *path)
{
    struct stat info;
    store_h5_silence();
    store_lz4_register();
    if (stat(path, &info))
        return WSC_RAISE(WSC_IO, "%s: cannot be opened: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode)) return WSC_RAISE(WSC_IO, "%s: is not a regular file", path);
    hid_t fapl = reading_fapl();
    *file = H5Fopen(path, H5F_ACC_RDONLY, fapl);
    if (*file < 0) {
        enum wsc_err rc = H5_RAISE(WSC_FORMAT, "%s: cannot be opened as HDF5", path);
        if (H5Fis_hdf5(path) == 0) rc = WSC_RAISE(WSC_FORMAT, "%s: is not an HDF5 file", path);
        (void)wsc_err_hint(rc, "is the file complete, and is it the right one?");
        (void)H5Pclose(fapl);
        return rc;
    }
    (void)H5Pclose(fapl);
    return WSC_OK;
}

/* A soft or external link could lead to any file of this host, so only hard links are followed. */
enum wsc_err store_h5_dataset(hid_t *dset, hid_t file, const char *path, const char *name,
                              hid_t dapl)
{
    H5L_info_t link;
    *dset = H5I_INVALID_HID;
    if (H5Lget_info(file, name, &link, H5P_DEFAULT) < 0)
        return H5_RAISE(WSC_FORMAT, "%s: dataset %s cannot be looked up", path, name);
    if (link.type != H5L_TYPE_HARD)
        return wsc_err_hint(WSC_RAISE(WSC_FORMAT, "%s: %s is a soft or external link", path, name),
                            "store the tensor itself, or a hard link, in this file");
    hid_t object = H5Oopen(file, name, H5P_DEFAULT);
    H5I_type_t kind = object < 0 ? H5I_BADID : H5Iget_type(object);
    if (object >= 0) (void)H5Oclose(object);
    if (kind == H5I_GROUP)
        return wsc_err_hint(WSC_RAISE(WSC_FORMAT, "%s: %s is a group", path, name),
                            "tensors stand at the root, named by their dotted key");
    if (kind != H5I_DATASET)
        return H5_RAISE(WSC_FORMAT, "%s: %s is not a readable dataset", path, name);
    *dset = H5Dopen2(file, name, dapl);
    if (*dset < 0) return H5_RAISE(WSC_FORMAT, "%s: dataset %s cannot be opened", path, name);
    return WSC_OK;
}

/* O_EXCL after unlink: a link that another program creates meanwhile is not followed. */
enum wsc_err store_touch(const char *path)
{
    if (unlink(path) && errno != ENOENT)
        return WSC_RAISE(WSC_IO, "%s: cannot be replaced: %s", path, strerror(errno));
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return wsc_err_hint(WSC_RAISE(WSC_IO, "%s: cannot be created: %s", path, strerror(errno)),
                            "does the folder exist, and may this user write there?");
    (void)close(fd);
    return WSC_OK;
}

/* Check the limit on the size of files: a reservation does not reach it, but writing later would.
 */
static enum wsc_err check_size_limit(const char *path, int64_t bytes)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY ||
        (rlim_t)bytes <= limit.rlim_cur)
        return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_IO, "%s: no room for %lld bytes: files may have %lld", path,
                                  (long long)bytes, (long long)limit.rlim_cur),
                        "ulimit -f unlimited");
}

/* fallocate() keeps the size of the file; HDF5 sets that itself when it closes it. */
enum wsc_err store_h5_reserve(hid_t file, const char *path, int64_t known, int64_t extra)
{
    hsize_t bytes = 0;
    if (H5Fget_filesize(file, &bytes) < 0) bytes = 0; /* not known to the MPI driver */
    (void)H5Eclear2(H5E_DEFAULT);
    if (bytes < (hsize_t)known) bytes = (hsize_t)known;
    TRY(check_size_limit(path, (int64_t)bytes + extra));
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return WSC_RAISE(WSC_IO, "%s: cannot be opened: %s", path, strerror(errno));
    const int bad = fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)bytes + extra);
    const int why = errno;
    (void)close(fd);
    if (!bad || why == EOPNOTSUPP || why == ENOSYS) return WSC_OK;
    return WSC_RAISE(WSC_IO, "%s: no room for %lld bytes: %s", path,
                     (long long)bytes + (long long)extra, strerror(why));
}

/* Replace HDF5's descriptor by one of memory, so that its remaining writes succeed without effect.
 */
void store_h5_abandon(hid_t file)
{
    void *handle = NULL;
    hid_t fapl = H5Fget_access_plist(file);
    bool plain = fapl >= 0 && H5Pget_driver(fapl) == H5FD_SEC2;
    if (fapl >= 0) (void)H5Pclose(fapl);
    if (!plain || H5Fget_vfd_handle(file, H5P_DEFAULT, &handle) < 0) return;
    int memory = memfd_create("wsc-abandoned", MFD_CLOEXEC);
    if (memory < 0) return;
    (void)dup2(memory, *(const int *)handle);
    (void)close(memory);
}

/* ---- what a dataset is ----------------------------------------------------------------------- */

/* The inspected dataset, and the destination of its properties. */
struct subject {
    const char *path, *name;
    hid_t dset;
    struct store_info *info;
};

/* Only numbers of the usual widths: HDF5 would convert any others on reading. */
static enum wsc_err inspect_type(const struct subject *s)
{
    hid_t type = H5Dget_type(s->dset);
    if (type < 0) return H5_RAISE(WSC_FORMAT, "%s: %s has no readable type", s->path, s->name);
    H5T_class_t kind = H5Tget_class(type);
    size_t bits = 8 * H5Tget_size(type);
    const char *base = kind == H5T_FLOAT ? "float" : "int";
    if (kind == H5T_INTEGER && H5Tget_sign(type) == H5T_SGN_NONE) base = "uint";
    (void)H5Tclose(type);
    s->info->kind = kind;
    (void)snprintf(s->info->type, sizeof s->info->type, "%s%zu", base, bits % 100000);
    if (kind == H5T_ENUM && bits == 8) {
        (void)snprintf(s->info->type, sizeof s->info->type, "bool");
        return WSC_OK;
    }
    bool known = kind == H5T_FLOAT     ? bits == 16 || bits == 32 || bits == 64
                 : kind == H5T_INTEGER ? bits == 8 || bits == 16 || bits == 32 || bits == 64
                                       : false;
    if (!known)
        return WSC_RAISE(WSC_FORMAT,
                         "%s: %s holds neither 16, 32 or 64-bit floats nor 8 to 64-bit integers",
                         s->path, s->name);
    return WSC_OK;
}

/* cstorch stores bfloat16 as 16-bit integers: up to release 2.3 with a flag, later with the name of
 * the type. */
static enum wsc_err inspect_bfloat16(const struct subject *s)
{
    double flag = 0;
    bool present = false;
    char *dtype = NULL;
    if (s->info->kind != H5T_INTEGER || strcmp(strchr(s->info->type, 't') + 1, "16") != 0)
        return WSC_OK;
    TRY(store_h5_get_f64(s->dset, s->path, "is_bfloat16", &flag, &present));
    if (H5Aexists(s->dset, "dtypes") > 0)
        TRY(store_h5_get_text(s->dset, s->path, "dtypes", &dtype));
    s->info->bfloat16 = flag != 0 || (dtype && !strcmp(dtype, "torch.bfloat16"));
    wsc_free(dtype);
    if (!s->info->bfloat16) return WSC_OK;
    s->info->kind = H5T_FLOAT;
    (void)snprintf(s->info->type, sizeof s->info->type, "bfloat16");
    return WSC_OK;
}

/* Extents must multiply to a number of bytes that fits 63 bits. */
static enum wsc_err inspect_shape(const struct subject *s)
{
    hsize_t dims[H5S_MAX_RANK];
    hid_t space = H5Dget_space(s->dset);
    if (space < 0) return H5_RAISE(WSC_FORMAT, "%s: %s has no readable shape", s->path, s->name);
    H5S_class_t kind = H5Sget_simple_extent_type(space);
    int n_dims = kind == H5S_NULL ? -1 : H5Sget_simple_extent_dims(space, dims, NULL);
    (void)H5Sclose(space);
    if (n_dims < 0 || n_dims > STORE_MAX_DIMS)
        return WSC_RAISE(WSC_FORMAT, "%s: %s has rank %d, expected 0 to %d", s->path, s->name,
                         n_dims, STORE_MAX_DIMS);
    s->info->n_dims = n_dims;
    s->info->n = 1;
    for (int d = 0; d < n_dims; d++) {
        int64_t bytes;
        bool huge = dims[d] > (hsize_t)INT64_MAX ||
                    __builtin_mul_overflow(s->info->n, (int64_t)dims[d], &s->info->n) ||
                    __builtin_mul_overflow(s->info->n, (int64_t)8, &bytes);
        if (huge) return WSC_RAISE(WSC_FORMAT, "%s: %s has an absurd size", s->path, s->name);
        s->info->shape[d] = (int64_t)dims[d];
    }
    return WSC_OK;
}

/* Another filter would load a plugin of this host, or fail while values are read. */
static enum wsc_err inspect_filters(const struct subject *s, hid_t plist)
{
    int n = H5Pget_nfilters(plist);
    for (int i = 0; i < n; i++) {
        unsigned flags, config;
        size_t n_values = 0;
        char name[64] = "";
        H5Z_filter_t id =
            H5Pget_filter2(plist, (unsigned)i, &flags, &n_values, NULL, sizeof name, name, &config);
        if (id == H5Z_FILTER_DEFLATE || id == H5Z_FILTER_SHUFFLE || id == H5Z_FILTER_FLETCHER32 ||
            id == STORE_LZ4_FILTER)
            continue;
        (void)WSC_RAISE(WSC_FORMAT,
                        "%s: %s is stored with HDF5 filter %d (%s), expected gzip, LZ4 or none",
                        s->path, s->name, (int)id, name);
        return wsc_err_hint(WSC_FORMAT, "rewrite the file with `h5repack -f NONE` or h5py");
    }
    return WSC_OK;
}

/* Chunks that are all there, or a block that lies inside the file. */
static enum wsc_err inspect_chunks(const struct subject *s, hid_t plist)
{
    hsize_t dims[H5S_MAX_RANK], found = 0, expected = 1;
    struct store_info *info = s->info;
    hid_t type = H5Dget_type(s->dset);
    size_t bytes = H5Tget_size(type);
    (void)H5Tclose(type);
    int n_dims = H5Pget_chunk(plist, H5S_MAX_RANK, dims);
    if (n_dims != info->n_dims || n_dims < 1)
        return WSC_RAISE(WSC_FORMAT, "%s: %s has chunks of another rank", s->path, s->name);
    for (int d = 0; d < n_dims; d++) {
        if (!dims[d] || dims[d] > max_chunk_bytes / bytes)
            return WSC_RAISE(WSC_FORMAT, "%s: %s has chunks of more than %zu MiB", s->path, s->name,
                             max_chunk_bytes >> 20);
        bytes *= dims[d];
        expected *= ((hsize_t)info->shape[d] + dims[d] - 1) / dims[d];
    }
    info->chunk_bytes = bytes;
    info->chunk_rows = (int64_t)dims[0];
    hid_t space = H5Dget_space(s->dset);
    enum wsc_err rc = WSC_OK;
    if (H5Dget_num_chunks(s->dset, space, &found) < 0)
        rc = H5_RAISE(WSC_FORMAT, "%s: the chunks of %s are unreadable", s->path, s->name);
    (void)H5Sclose(space);
    if (rc) return rc;
    if (found != expected)
        return WSC_RAISE(WSC_FORMAT,
                         "%s: %s has %llu of %llu chunks, the others were never written", s->path,
                         s->name, (unsigned long long)found, (unsigned long long)expected);
    return WSC_OK;
}

/* A contiguous dataset must lie inside the file as a whole. */
static enum wsc_err inspect_block(const struct subject *s)
{
    struct stat file;
    hid_t type = H5Dget_type(s->dset);
    hsize_t bytes = (hsize_t)s->info->n * H5Tget_size(type), stored = H5Dget_storage_size(s->dset);
    (void)H5Tclose(type);
    if (stored < bytes) return WSC_RAISE(WSC_FORMAT, "%s: %s was never written", s->path, s->name);
    haddr_t offset = H5Dget_offset(s->dset);
    if (stat(s->path, &file) || offset == HADDR_UNDEF || bytes > (hsize_t)file.st_size ||
        offset > (hsize_t)file.st_size - bytes)
        return WSC_RAISE(WSC_FORMAT, "%s: %s says it has %llu bytes, more than the file holds",
                         s->path, s->name, (unsigned long long)bytes);
    return WSC_OK;
}

/* Values must be in this file: external and virtual storage could name any other. */
static enum wsc_err inspect_storage(const struct subject *s)
{
    enum wsc_err rc;
    hid_t plist = H5Dget_create_plist(s->dset);
    if (plist < 0) return H5_RAISE(WSC_FORMAT, "%s: %s has no readable layout", s->path, s->name);
    H5D_layout_t layout = H5Pget_layout(plist);
    if (layout == H5D_VIRTUAL || H5Pget_external_count(plist) != 0)
        rc = WSC_RAISE(WSC_FORMAT, "%s: %s keeps its values in other files, which is not supported",
                       s->path, s->name);
    else
        rc = inspect_filters(s, plist);
    if (!rc && s->info->n && layout == H5D_CHUNKED) rc = inspect_chunks(s, plist);
    if (!rc && s->info->n && layout == H5D_CONTIGUOUS) rc = inspect_block(s);
    (void)H5Pclose(plist);
    return rc;
}

enum wsc_err store_h5_inspect(const char *path, const char *name, hid_t dset,
                              struct store_info *info)
{
    struct subject s = {path, name, dset, info};
    *info = (struct store_info){0};
    TRY(inspect_type(&s));
    TRY(inspect_bfloat16(&s));
    TRY(inspect_shape(&s));
    TRY(inspect_storage(&s));
    return WSC_OK;
}
