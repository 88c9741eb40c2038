// SPDX-License-Identifier: Apache-2.0
/* Reading a file whole, making folders, and the one way in which a complete file gets its name:
 * fsync of the file, rename, fsync of its folder (Pillai et al. 2014, "All file systems are not
 * created equal": without the first the name may survive a crash and the data not). */
#include <wsc/file.h>

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- reading --------------------------------------------------------------------------------- */

/* Read to the end in steps of 64 KiB: the size of a pipe is not known before, and that of a file
 * may change.  *n counts what was read also after an error; the caller frees. */
static enum wsc_err read_all(FILE *f, enum wsc_mem_tag tag, const char *path, int64_t most,
                             char **bytes, size_t *n)
{
    enum { STEP = 1 << 16 };
    int64_t room = 0;
    do {
        TRY_GROW(*bytes, tag, room, *n + STEP + 1);
        errno = 0;
        *n += fread(*bytes + *n, 1, STEP, f);
        if (ferror(f)) return WSC_RAISE(WSC_IO, "%s: cannot be read: %s", path, strerror(errno));
        if ((int64_t)*n > most)
            return WSC_RAISE(WSC_FORMAT, "%s: has more than %lld bytes, which are the most", path,
                             (long long)most);
    } while (!feof(f));
    (*bytes)[*n] = '\0';
    return WSC_OK;
}

enum wsc_err wsc_file_read(enum wsc_mem_tag tag, const char *path, int64_t most, char **bytes,
                           size_t *n)
{
    *bytes = NULL;
    *n = 0;
    FILE *f = fopen(path, "rb");
    if (!f) return WSC_RAISE(WSC_IO, "%s: cannot be opened: %s", path, strerror(errno));
    enum wsc_err rc = read_all(f, tag, path, most, bytes, n);
    (void)fclose(f); /* nothing was written */
    if (!rc) return WSC_OK;
    wsc_free(*bytes);
    *bytes = NULL;
    return rc;
}

/* ---- folders --------------------------------------------------------------------------------- */

/* Make one folder.  What counts is whether a folder is there afterwards, not who made it: ranks and
 * runs may do it at the same time. */
static enum wsc_err make_one(const char *path)
{
    struct stat info;
    if (!mkdir(path, 0777)) return WSC_OK;
    const int why = errno;
    if (!stat(path, &info)) {
        if (S_ISDIR(info.st_mode)) return WSC_OK;
        return WSC_RAISE(WSC_IO, "%s: exists and is not a folder", path);
    }
    if (why == EEXIST)
        return WSC_RAISE(WSC_IO, "%s: is a link to a folder that does not exist", path);
    return WSC_RAISE(WSC_IO, "%s: folder cannot be made: %s", path, strerror(why));
}

enum wsc_err wsc_file_mkdir_above(const char *path)
{
    char *part;
    enum wsc_err rc = WSC_OK;
    TRY_MEM(part, wsc_strdup(WSC_MEM_BASE, path));
    for (char *c = part; *c && !rc; c++) {
        if (*c != '/' || c == part) continue;
        *c = '\0';
        rc = make_one(part);
        *c = '/';
    }
    wsc_free(part);
    return rc;
}

enum wsc_err wsc_file_mkdir(const char *path)
{
    TRY(wsc_file_mkdir_above(path));
    return make_one(path);
}

/* ---- publishing ------------------------------------------------------------------------------ */

/* Write the folder's entry to disk: without it a crash after the rename may still show the older
 * file. */
static enum wsc_err sync_folder_of(const char *path)
{
    char *copy;
    TRY_MEM(copy, wsc_strdup(WSC_MEM_BASE, path));
    const char *folder = dirname(copy);
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool bad = fd < 0 || fsync(fd);
    const int why = errno;
    enum wsc_err rc = WSC_OK;
    /* Some file systems cannot sync a folder and say EINVAL; nothing better is possible there. */
    if (bad && why != EINVAL)
        rc = WSC_RAISE(WSC_IO, "%s: cannot be written to disk: %s", folder, strerror(why));
    if (fd >= 0) (void)close(fd);
    wsc_free(copy);
    return rc;
}

/* Setting the size to what it is gives back the space that was reserved beyond it. */
static enum wsc_err sync_file(const char *path)
{
    struct stat info;
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    bool bad = fd < 0 || fstat(fd, &info) || ftruncate(fd, info.st_size) || fsync(fd);
    int why = errno;
    if (fd >= 0 && close(fd) && !bad) {
        bad = true;
        why = errno;
    }
    if (bad) return WSC_RAISE(WSC_IO, "%s: cannot be written to disk: %s", path, strerror(why));
    return WSC_OK;
}

enum wsc_err wsc_file_publish(const char *tmp, const char *path)
{
    struct stat info;
    /* /dev/null would be a file from then on. */
    if (!lstat(path, &info) && !S_ISREG(info.st_mode) && !S_ISLNK(info.st_mode))
        return WSC_RAISE(WSC_IO, "%s: cannot be written: it is not a regular file", path);
    TRY(sync_file(tmp));
    if (rename(tmp, path))
        return WSC_RAISE(WSC_IO, "%s: cannot be renamed to %s: %s", tmp, path, strerror(errno));
    return sync_folder_of(path);
}

/* Write all bytes to @p tmp.  The error of fclose() counts too: on network file systems a full disk
 * is reported there.  The message names @p path, which the user knows. */
static enum wsc_err write_new(const char *tmp, const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(tmp, "wb");
    if (!f) return WSC_RAISE(WSC_IO, "%s: cannot be written: %s", path, strerror(errno));
    errno = 0;
    bool good = fwrite(bytes, 1, n, f) == n && !fflush(f);
    int why = errno;
    if (fclose(f) && good) {
        good = false;
        why = errno;
    }
    if (good) return WSC_OK;
    return WSC_RAISE(WSC_IO, "%s: cannot be written: %s", path, strerror(why));
}

enum wsc_err wsc_file_replace(const char *path, const void *bytes, size_t n)
{
    char *tmp;
    TRY_MEM(tmp, wsc_asprintf(WSC_MEM_BASE, "%s.%ld.tmp", path, (long)getpid()));
    enum wsc_err rc = write_new(tmp, path, bytes, n);
    if (!rc) rc = wsc_file_publish(tmp, path);
    if (rc) (void)unlink(tmp);
    wsc_free(tmp);
    return rc;
}
