// SPDX-License-Identifier: Apache-2.0
#include "data_impl.h"

#include <wsc/mem.h>

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

enum { BUFFER_BYTES = 1 << 18 };

struct data_text {
    const char *const *path;
    int n, at;   /* files; the one being read */
    gzFile file; /* NULL between two files */
};

static enum wsc_err check_input(const char *path, struct stat *info)
{
    if (stat(path, info))
        return WSC_RAISE(WSC_IO, "%s: cannot be opened: %s", path, strerror(errno));
    if (!S_ISREG(info->st_mode))
        return wsc_err_hint(WSC_RAISE(WSC_IO, "%s: is not a regular file", path),
                            "inputs are read twice: give text files, plain or .gz");
    return WSC_OK;
}

/* zlib reads plain files as they are. */
static enum wsc_err open_gz(const char *path, gzFile *file)
{
    errno = 0;
    *file = gzopen(path, "rb");
    if (!*file)
        return WSC_RAISE(WSC_IO, "%s: cannot be opened: %s", path,
                         strerror(errno ? errno : ENOMEM));
    (void)gzbuffer(*file, BUFFER_BYTES);
    return WSC_OK;
}

/* A compressed file that ends too early reads like a shorter one; only zlib's state tells. */
static enum wsc_err read_gz(const char *path, gzFile file, void *out, int64_t room, int64_t *n)
{
    int code = Z_OK;
    unsigned piece = room < BUFFER_BYTES ? (unsigned)room : BUFFER_BYTES;
    errno = 0;
    int got = gzread(file, out, piece);
    const char *why = gzerror(file, &code);
    if (got < 0 || code < 0)
        return WSC_RAISE(WSC_IO, "%s: cannot be read: %s", path,
                         code == Z_ERRNO ? strerror(errno) : why);
    *n = got;
    return WSC_OK;
}

enum wsc_err data_text_open(struct data_text **out, const char *const *path, int n)
{
    struct data_text *t = NULL;
    *out = NULL;
    TRY_NEW(t, WSC_MEM_DATA, 1);
    t->path = path;
    t->n = n;
    *out = t;
    return WSC_OK;
}

enum wsc_err data_text_read(struct data_text *t, unsigned char *out, int64_t room, int64_t *n)
{
    for (*n = 0; t->at < t->n && room > 0;) {
        if (!t->file) TRY(open_gz(t->path[t->at], &t->file));
        TRY(read_gz(t->path[t->at], t->file, out, room, n));
        if (*n) return WSC_OK;
        (void)gzclose(t->file);
        t->file = NULL;
        t->at++;
    }
    return WSC_OK;
}

void data_text_close(struct data_text **text)
{
    if (!*text) return;
    if ((*text)->file) (void)gzclose((*text)->file);
    wsc_free(*text);
    *text = NULL;
}

static enum wsc_err count_gz(const char *path, gzFile file, int64_t *bytes)
{
    char *buffer = wsc_alloc_raw(WSC_MEM_DATA, BUFFER_BYTES, 1);
    enum wsc_err rc = buffer ? WSC_OK : WSC_NOMEM;
    for (int64_t n = 1; n > 0 && !rc; *bytes += n) {
        n = 0;
        rc = read_gz(path, file, buffer, BUFFER_BYTES, &n);
    }
    wsc_free(buffer);
    return rc;
}

enum wsc_err data_text_size(const char *const *path, int n, int64_t *bytes)
{
    *bytes = 0;
    for (int i = 0; i < n; i++) {
        struct stat info;
        gzFile file = NULL;
        TRY(check_input(path[i], &info));
        TRY(open_gz(path[i], &file));
        enum wsc_err rc = WSC_OK;
        if (gzdirect(file))
            *bytes += info.st_size;
        else
            rc = count_gz(path[i], file, bytes);
        (void)gzclose(file);
        if (rc) return wsc_err_frame(rc, __FILE__, __LINE__, "count bytes");
    }
    return WSC_OK;
}
