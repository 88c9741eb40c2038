// SPDX-License-Identifier: Apache-2.0
/* Reads texts of variable length, as h5py writes them, without the reader of HDF5. In their place
 * a file has a length, the address of a collection of such objects, and a number in it (HDF5 File
 * Format Specification 3.0, III.E "Global Heap"). HDF5 1.10 reserves memory for the length and
 * then copies the whole object, however long that is: a file whose two lengths differ overwrites
 * the memory after the block. */
#include "h5_variable_text.h"
#include "h5_error.h"

#include <wsc/mem.h>

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { REFERENCE_BYTES = 16, HEAD_BYTES = 16, MAX_OBJECTS = 1 << 16 };

struct reference {
    uint64_t length, address;
    uint32_t index;
};

static uint64_t little(const unsigned char *at, int bytes)
{
    uint64_t x = 0;
    memcpy(&x, at, (size_t)bytes);
    return le64toh(x);
}

/* ---- the reference --------------------------------------------------------------------------- */

/* HDF5 calls this for a conversion from texts to blocks of bytes: they stay as they are.
 * NOLINTNEXTLINE(readability-function-size): the parameters are those of H5T_conv_t */
static herr_t keep_bytes(hid_t from, hid_t to, H5T_cdata_t *data, size_t n, size_t stride,
                         size_t back_stride, void *bytes, void *back, hid_t plist)
{
    (void)n, (void)stride, (void)back_stride, (void)bytes, (void)back, (void)plist;
    if (data->command != H5T_CONV_INIT) return 0;
    data->need_bkg = H5T_BKG_NO;
    return H5Tget_size(from) == REFERENCE_BYTES && H5Tget_size(to) == REFERENCE_BYTES ? 0 : -1;
}

static enum wsc_err read_reference(const char *path, hid_t attr, struct reference *r)
{
    unsigned char bytes[REFERENCE_BYTES];
    hid_t text = H5Tcopy(H5T_C_S1), block = H5Tcreate(H5T_OPAQUE, REFERENCE_BYTES);
    (void)H5Tset_size(text, H5T_VARIABLE);
    herr_t bad = H5Tregister(H5T_PERS_SOFT, "wsc reference", text, block, keep_bytes);
    if (bad >= 0) bad = H5Aread(attr, block, bytes);
    enum wsc_err rc = WSC_OK;
    if (bad < 0) rc = H5_RAISE(WSC_FORMAT, "%s: a text cannot be read", path);
    (void)H5Tunregister(H5T_PERS_SOFT, "wsc reference", -1, -1, keep_bytes);
    (void)H5Tclose(block);
    (void)H5Tclose(text);
    if (rc) return rc;
    *r =
        (struct reference){little(bytes, 4), little(bytes + 4, 8), (uint32_t)little(bytes + 12, 4)};
    return WSC_OK;
}

/* Check that addresses and sizes have 8 bytes and count from the start of the file, as all programs
 * write them. */
static enum wsc_err check_layout(const char *path, hid_t attr)
{
    size_t address = 0, size = 0;
    hsize_t before = 1;
    hid_t file = H5Iget_file_id(attr), plist = file < 0 ? file : H5Fget_create_plist(file);
    const bool known = plist >= 0 && H5Pget_sizes(plist, &address, &size) >= 0 &&
                       H5Pget_userblock(plist, &before) >= 0 && address == 8 && size == 8 &&
                       before == 0;
    if (plist >= 0) (void)H5Pclose(plist);
    if (file >= 0) (void)H5Fclose(file);
    if (known) return WSC_OK;
    return WSC_RAISE(WSC_FORMAT, "%s: its addresses are not of 8 bytes, or do not begin at 0",
                     path);
}

/* ---- the collection -------------------------------------------------------------------------- */

static enum wsc_err damaged(const char *path)
{
    return WSC_RAISE(WSC_FORMAT, "%s: a text is not where the file says", path);
}

static enum wsc_err read_at(const char *path, int fd, void *out, uint64_t n, uint64_t at)
{
    if (at > (uint64_t)INT64_MAX - n) return damaged(path);
    for (char *to = out; n;) {
        const ssize_t got = pread(fd, to, n, (off_t)at);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return damaged(path);
        to += got;
        at += (uint64_t)got;
        n -= (uint64_t)got;
    }
    return WSC_OK;
}

/* Find the first byte of the object. */
static enum wsc_err find_object(const char *path, int fd, const struct reference *r, uint64_t *at)
{
    unsigned char head[HEAD_BYTES];
    TRY(read_at(path, fd, head, sizeof head, r->address));
    const uint64_t end = little(head + 8, 8);
    if (memcmp(head, "GCOL\1", 5) != 0 || end > (uint64_t)INT64_MAX / 2) return damaged(path);
    uint64_t offset = HEAD_BYTES;
    for (int i = 0; i < MAX_OBJECTS && offset + HEAD_BYTES <= end; i++) {
        TRY(read_at(path, fd, head, sizeof head, r->address + offset));
        const uint64_t index = little(head, 2), size = little(head + 8, 8);
        if (!index || size > end - offset - HEAD_BYTES) break;
        *at = r->address + offset + HEAD_BYTES;
        if (index == r->index) return size == r->length ? WSC_OK : damaged(path);
        offset += HEAD_BYTES + (size + 7) / 8 * 8;
    }
    return damaged(path);
}

static enum wsc_err read_object(const char *path, int fd, const struct reference *r, char **value)
{
    uint64_t at = 0;
    TRY(find_object(path, fd, r, &at));
    char *text;
    TRY_MEM(text, wsc_alloc_raw(WSC_MEM_STORE, r->length + 1, 1));
    enum wsc_err rc = read_at(path, fd, text, r->length, at);
    text[r->length] = '\0';
    if (rc)
        wsc_free(text);
    else
        *value = text;
    return rc;
}

enum wsc_err store_h5_variable_text(const char *path, hid_t attr, char **value)
{
    struct reference r = {0};
    TRY(check_layout(path, attr));
    TRY(read_reference(path, attr, &r));
    if (r.length > STORE_MAX_TEXT_BYTES)
        return WSC_RAISE(WSC_FORMAT, "%s: a text of %llu bytes is too long", path,
                         (unsigned long long)r.length);
    if (!r.length) {
        *value = wsc_strdup(WSC_MEM_STORE, "");
        return *value ? WSC_OK : wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "text");
    }
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return WSC_RAISE(WSC_IO, "%s: cannot be opened: %s", path, strerror(errno));
    enum wsc_err rc = read_object(path, fd, &r, value);
    (void)close(fd);
    return rc;
}
