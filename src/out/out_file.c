// SPDX-License-Identifier: Apache-2.0
/* Folders, files that are replaced at once (written beside, synced, renamed), lines that are
 * appended whole or not at all, and the provenance of results: version, date, host. */
#include "out_revision.h"

#include <wsc/out.h>

#include <wsc/clock.h>
#include <wsc/file.h>
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

#ifndef WSC_REVISION_DATE
#    define WSC_REVISION_DATE "1970-01-01"
#endif

const char *out_revision_date(void)
{
    return WSC_REVISION_DATE;
}

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

/* One write() call, since readers follow metrics.jsonl while it grows.  When only a part was
 * written the file is cut back to its size before: no torn line stays, unless the cut fails too,
 * which the message says. */
enum wsc_err out_append(int fd, const char *path, const struct wsc_text *t)
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

/* A file beside it shows that the folder can be written without touching what is there. */
enum wsc_err out_can_write(const char *path)
{
    struct stat info;
    struct wsc_beside beside;
    if (!stat(path, &info) && S_ISDIR(info.st_mode))
        return WSC_RAISE(WSC_IO, "%s: cannot be written: %s", path, strerror(EISDIR));
    if (!lstat(path, &info) && !S_ISREG(info.st_mode) && !S_ISLNK(info.st_mode))
        return WSC_RAISE(WSC_IO, "%s: cannot be written: it is not a regular file", path);
    TRY(wsc_beside_begin(&beside, path));
    wsc_beside_drop(&beside);
    return WSC_OK;
}

enum wsc_err out_write_text(const char *path, const char *text)
{
    return wsc_file_replace(path, text, strlen(text));
}
