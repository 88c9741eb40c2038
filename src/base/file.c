// SPDX-License-Identifier: Apache-2.0
/* Reading a file whole, making folders, and the one way in which a complete file gets its name:
 * fsync of the file, rename, fsync of its folder (Pillai et al. 2014, "All file systems are not
 * created equal": without the first the name may survive a crash and the data not). */
#include <wsc/file.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
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

/* ---- new files beside older ones --------------------------------------------------------------
 */

static bool is_at(int fd, const char *path)
{
    struct stat here, there;
    return !fstat(fd, &here) && !lstat(path, &there) && here.st_dev == there.st_dev &&
           here.st_ino == there.st_ino;
}

/* The process that writes a file holds a lock on it, which ends with the process, on any host. */
static void remove_unlocked(const char *path)
{
    const int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return;
    if (!flock(fd, LOCK_EX | LOCK_NB) && is_at(fd, path)) (void)unlink(path);
    (void)close(fd);
}

/* Is it the name @p base, a dot, a number and ".tmp"? */
static bool is_beside(const char *name, const char *base)
{
    const size_t n = strlen(base);
    if (strncmp(name, base, n) != 0 || name[n] != '.') return false;
    const char *number = name + n + 1;
    const size_t digits = strspn(number, "0123456789");
    return digits && !strcmp(number + digits, ".tmp");
}

/* The first @p n bytes of @p path name a folder. Remove its file @p name if another process left it
 * there for @p path. One that cannot be removed does not matter: nobody reads it. */
static enum wsc_err remove_if_left(const char *path, int n, const char *name)
{
    char *left;
    if (!is_beside(name, path + n)) return WSC_OK;
    TRY_MEM(left, wsc_asprintf(WSC_MEM_BASE, "%.*s%s", n, path, name));
    remove_unlocked(left);
    wsc_free(left);
    return WSC_OK;
}

static enum wsc_err remove_left_over(const char *path)
{
    const char *slash = strrchr(path, '/');
    const int n = slash ? (int)(slash + 1 - path) : 0;
    enum wsc_err rc = WSC_OK;
    char *folder;
    TRY_MEM(folder, wsc_asprintf(WSC_MEM_BASE, "%.*s", n ? n : 1, n ? path : "."));
    DIR *d = opendir(folder);
    for (struct dirent *e = d ? readdir(d) : NULL; e && !rc; e = readdir(d))
        rc = remove_if_left(path, n, e->d_name);
    if (d) (void)closedir(d);
    wsc_free(folder);
    return rc;
}

/* Open and lock a file that still has its name then: until it is locked, another process may take
 * it for one that was left over.  File systems without locks have none. */
static int open_locked(const char *tmp)
{
    for (;;) {
        const int fd = open(tmp, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (fd < 0) return fd;
        while (flock(fd, LOCK_EX) && errno == EINTR)
            ;
        if (is_at(fd, tmp)) return fd;
        (void)close(fd);
    }
}

enum wsc_err wsc_beside_begin(struct wsc_beside *b, const char *path)
{
    b->lock = -1;
    TRY_MEM(b->tmp, wsc_asprintf(WSC_MEM_BASE, "%s.%ld.tmp", path, (long)getpid()));
    enum wsc_err rc = remove_left_over(path);
    if (!rc) b->lock = open_locked(b->tmp);
    if (b->lock >= 0) return WSC_OK;
    if (!rc) rc = WSC_RAISE(WSC_IO, "%s: cannot be written: %s", path, strerror(errno));
    wsc_free(b->tmp);
    b->tmp = NULL;
    return rc;
}

void wsc_beside_drop(struct wsc_beside *b)
{
    if (!b->tmp) return;
    (void)unlink(b->tmp); /* after publishing it has another name */
    (void)close(b->lock);
    wsc_free(b->tmp);
    b->tmp = NULL;
}

enum wsc_err wsc_beside_end(struct wsc_beside *b, const char *path, enum wsc_err rc)
{
    if (!rc && b->tmp) rc = wsc_file_publish(b->tmp, path);
    wsc_beside_drop(b);
    return rc;
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
    struct wsc_beside beside;
    TRY(wsc_beside_begin(&beside, path));
    return wsc_beside_end(&beside, path, write_new(beside.tmp, path, bytes, n));
}

/* Block after block until the end of @p in. */
static enum wsc_err copy_blocks(FILE *in, FILE *out, const char *from, const char *path)
{
    char block[1 << 16];
    size_t n;
    while ((n = fread(block, 1, sizeof block, in)) > 0)
        if (fwrite(block, 1, n, out) != n)
            return WSC_RAISE(WSC_IO, "%s: cannot be written: %s", path, strerror(errno));
    return ferror(in) ? WSC_RAISE(WSC_IO, "%s: cannot be read: %s", from, strerror(errno)) : WSC_OK;
}

static enum wsc_err copy_new(FILE *in, const char *from, const char *tmp, const char *path)
{
    FILE *out = fopen(tmp, "wb");
    if (!out) return WSC_RAISE(WSC_IO, "%s: cannot be written: %s", path, strerror(errno));
    const enum wsc_err rc = copy_blocks(in, out, from, path);
    if (fclose(out) && !rc)
        return WSC_RAISE(WSC_IO, "%s: cannot be written: %s", path, strerror(errno));
    return rc;
}

enum wsc_err wsc_file_copy(const char *from, const char *path)
{
    struct wsc_beside beside;
    FILE *in = fopen(from, "rb");
    if (!in) return WSC_RAISE(WSC_IO, "%s: cannot be opened: %s", from, strerror(errno));
    enum wsc_err rc = wsc_beside_begin(&beside, path);
    if (!rc) rc = wsc_beside_end(&beside, path, copy_new(in, from, beside.tmp, path));
    (void)fclose(in); /* nothing was written */
    return rc;
}
