// SPDX-License-Identifier: Apache-2.0
/* Folders, files that are replaced at once (written beside, synced, renamed), lines that are
 * appended whole or not at all, and the provenance of results: version, date, host. */
#include <wsc/out.h>

#include <wsc/clock.h>
#include <wsc/mem.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef WSC_VERSION
#    define WSC_VERSION "0.1.0"
#endif
#ifndef WSC_REVISION
#    define WSC_REVISION "unknown"
#endif

const char *out_version(void)
{
    return "wsc " WSC_VERSION " (" WSC_REVISION ")";
}

void out_date(char text[static OUT_DATE_SIZE])
{
    char stamp[40];
    wsc_clock_stamp(stamp, sizeof stamp);
    (void)snprintf(text, OUT_DATE_SIZE, "%.19s", stamp); /* without the milliseconds */
}

void out_host(char *text, size_t size)
{
    if (gethostname(text, size)) (void)snprintf(text, size, "unknown");
    text[size - 1] = '\0';
}

char *out_file_path(const char *dir, const char *name)
{
    return wsc_asprintf(WSC_MEM_REPORT, "%s/%s", dir, name);
}

static WSC_CHECKED enum wsc_err make_one(const char *path)
{
    struct stat info;
    if (!mkdir(path, 0777)) return WSC_OK;
    int why = errno;
    if (!stat(path, &info)) {
        if (S_ISDIR(info.st_mode)) return WSC_OK;
        return WSC_RAISE(WSC_IO, "%s: exists and is not a folder", path);
    }
    return WSC_RAISE(WSC_IO, "%s: folder cannot be made: %s", path, strerror(why));
}

enum wsc_err out_mkdir(const char *path)
{
    char *part = wsc_strdup(WSC_MEM_REPORT, path);
    if (!part) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "copy a path");
    enum wsc_err rc = WSC_OK;
    for (char *c = part; *c && !rc; c++) {
        if (*c != '/' || c == part) continue;
        *c = '\0';
        rc = make_one(part);
        *c = '/';
    }
    if (!rc) rc = make_one(part);
    wsc_free(part);
    return rc;
}

static bool write_and_sync(FILE *file, const char *text)
{
    bool good = fputs(text, file) >= 0 && !fflush(file) && !fsync(fileno(file));
    int why = errno;
    if (fclose(file)) return false;
    errno = why;
    return good;
}

enum wsc_err out_append(int fd, const char *path, const struct out_text *t)
{
    struct stat before;
    if (fstat(fd, &before))
        return WSC_RAISE(WSC_IO, "%s: cannot be read: %s", path, strerror(errno));
    ssize_t n;
    do {
        n = write(fd, t->bytes, t->n);
    } while (n < 0 && errno == EINTR);
    if (n == (ssize_t)t->n) return WSC_OK;
    const char *why = strerror(n < 0 ? errno : ENOSPC);
    const bool torn = n > 0 && ftruncate(fd, before.st_size);
    return WSC_RAISE(WSC_IO, "%s: cannot be written%s: %s", path, torn ? " whole" : "", why);
}

enum wsc_err out_can_write(const char *path)
{
    struct stat info;
    char *beside = wsc_asprintf(WSC_MEM_REPORT, "%s.%ld.tmp", path, (long)getpid());
    if (!beside) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "name a file");
    FILE *file = fopen(beside, "w");
    int why = !stat(path, &info) && S_ISDIR(info.st_mode) ? EISDIR : file ? 0 : errno;
    if (file) {
        (void)fclose(file);
        (void)unlink(beside);
    }
    wsc_free(beside);
    return why ? WSC_RAISE(WSC_IO, "%s: cannot be written: %s", path, strerror(why)) : WSC_OK;
}

enum wsc_err out_write_text(const char *path, const char *text)
{
    char *beside = wsc_asprintf(WSC_MEM_REPORT, "%s.%ld.tmp", path, (long)getpid());
    if (!beside) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "name a file");
    enum wsc_err rc = WSC_OK;
    FILE *file = fopen(beside, "w");
    if (!file || !write_and_sync(file, text) || rename(beside, path)) {
        rc = WSC_RAISE(WSC_IO, "%s: cannot be written: %s", path, strerror(errno));
        (void)unlink(beside);
    }
    wsc_free(beside);
    return rc;
}
