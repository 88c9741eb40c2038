// SPDX-License-Identifier: Apache-2.0
#include "store_impl.h"

#include <wsc/mem.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum wsc_err sync_folder(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int bad = fd < 0 || fsync(fd);
    int why = errno;
    if (fd >= 0) (void)close(fd);
    /* Some file systems cannot sync a folder and say EINVAL; nothing better is possible there. */
    if (bad && why != EINVAL)
        return WSC_RAISE(WSC_IO, "%s: cannot be written to disk: %s", path, strerror(why));
    return WSC_OK;
}

/* Setting the size to what it is gives back the space that was reserved beyond it. */
static enum wsc_err sync_file(const char *path)
{
    struct stat info;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    int bad = fd < 0 || fstat(fd, &info) || ftruncate(fd, info.st_size) || fsync(fd);
    int why = errno;
    if (fd >= 0) (void)close(fd);
    if (bad) return WSC_RAISE(WSC_IO, "%s: cannot be written to disk: %s", path, strerror(why));
    return WSC_OK;
}

static enum wsc_err sync_folder_of(const char *path)
{
    char *copy = wsc_strdup(WSC_MEM_STORE, path);
    if (!copy) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "copy path");
    enum wsc_err rc = sync_folder(dirname(copy));
    wsc_free(copy);
    return rc;
}

enum wsc_err store_publish(const char *tmp, const char *path)
{
    TRY(sync_file(tmp));
    if (rename(tmp, path))
        return WSC_RAISE(WSC_IO, "%s: cannot be renamed to %s: %s", tmp, path, strerror(errno));
    TRY(sync_folder_of(path));
    return WSC_OK;
}

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

/* The step of `checkpoint_<step><suffix>`, or -1; one spelling per step, so no leading zeros. */
static int64_t step_of(const char *name, const char *suffix)
{
    static const char prefix[] = "checkpoint_";
    if (strncmp(name, prefix, sizeof prefix - 1) != 0) return -1;
    const char *digits = name + sizeof prefix - 1;
    size_t n = strspn(digits, "0123456789");
    if (!n || n > 18 || (n > 1 && *digits == '0') || strcmp(digits + n, suffix) != 0) return -1;
    return strtoll(digits, NULL, 10);
}

/* Steps of the files with @p suffix, ascending; *steps owned. */
struct steps {
    int64_t *step;
    int n, room;
};

static enum wsc_err steps_add(struct steps *s, int64_t step)
{
    if (s->n == s->room) {
        int room = s->room ? 2 * s->room : 16;
        int64_t *bigger = wsc_realloc(WSC_MEM_STORE, s->step, (size_t)room, sizeof *bigger);
        if (!bigger) {
            (void)wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "list checkpoints");
            return WSC_NOMEM;
        }
        s->step = bigger;
        s->room = room;
    }
    int i = s->n++;
    for (; i > 0 && s->step[i - 1] > step; i--)
        s->step[i] = s->step[i - 1];
    s->step[i] = step;
    return WSC_OK;
}

static enum wsc_err steps_list(const char *dir, const char *suffix, struct steps *s)
{
    DIR *d = opendir(dir);
    if (!d && (errno == ENOENT)) return WSC_OK;
    if (!d) return WSC_RAISE(WSC_IO, "%s: cannot be listed: %s", dir, strerror(errno));
    enum wsc_err rc = WSC_OK;
    for (struct dirent *e = readdir(d); e && !rc; e = readdir(d)) {
        int64_t step = step_of(e->d_name, suffix);
        if (step >= 0) rc = steps_add(s, step);
    }
    (void)closedir(d);
    return rc;
}

enum wsc_err store_newest(const char *dir, char **path, int64_t *step)
{
    struct steps s = {0};
    *path = NULL;
    enum wsc_err rc = steps_list(dir, ".mdl", &s);
    if (!rc && s.n) {
        *step = s.step[s.n - 1];
        *path = wsc_asprintf(WSC_MEM_STORE, "%s/checkpoint_%lld.mdl", dir, (long long)*step);
        if (!*path) rc = wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "checkpoint path");
    }
    wsc_free(s.step);
    return rc;
}

static enum wsc_err remove_steps(const char *dir, const char *suffix, int64_t keep)
{
    struct steps s = {0};
    enum wsc_err rc = steps_list(dir, suffix, &s);
    for (int i = 0; s.step && i < s.n - keep && !rc; i++) {
        char *path =
            wsc_asprintf(WSC_MEM_STORE, "%s/checkpoint_%lld%s", dir, (long long)s.step[i], suffix);
        if (!path)
            rc = wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "checkpoint path");
        else if (unlink(path) && errno != ENOENT)
            rc = WSC_RAISE(WSC_IO, "%s: cannot be removed: %s", path, strerror(errno));
        wsc_free(path);
    }
    wsc_free(s.step);
    return rc;
}

enum wsc_err store_prune(const char *dir, int64_t keep)
{
    TRY(remove_steps(dir, ".mdl" STORE_TMP_SUFFIX, 0));
    if (keep > 0) TRY(remove_steps(dir, ".mdl", keep));
    return WSC_OK;
}
