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
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHECKPOINT_SUFFIX ".mdl"

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

static enum wsc_err checkpoint_path(const char *dir, int64_t step, const char *suffix, char **path)
{
    *path = wsc_asprintf(WSC_MEM_STORE, "%s/checkpoint_%lld%s", dir, (long long)step, suffix);
    return *path ? WSC_OK : wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "checkpoint path");
}

enum wsc_err store_newest(const char *dir, int64_t below, char **path, int64_t *step)
{
    struct steps s = {0};
    *path = NULL;
    enum wsc_err rc = steps_list(dir, CHECKPOINT_SUFFIX, &s);
    while (s.n && s.step[s.n - 1] >= below)
        s.n--;
    if (!rc && s.n) {
        *step = s.step[s.n - 1];
        rc = checkpoint_path(dir, *step, CHECKPOINT_SUFFIX, path);
    }
    wsc_free(s.step);
    return rc;
}

static enum wsc_err remove_step(const char *dir, int64_t step, const char *suffix)
{
    char *path = NULL;
    TRY(checkpoint_path(dir, step, suffix, &path));
    enum wsc_err rc = WSC_OK;
    if (unlink(path) && errno != ENOENT)
        rc = WSC_RAISE(WSC_IO, "%s: cannot be removed: %s", path, strerror(errno));
    wsc_free(path);
    return rc;
}

static enum wsc_err remove_left_over(const char *dir)
{
    static const char suffix[] = CHECKPOINT_SUFFIX STORE_TMP_SUFFIX;
    struct steps s = {0};
    enum wsc_err rc = steps_list(dir, suffix, &s);
    for (int i = 0; i < s.n && !rc; i++)
        rc = remove_step(dir, s.step[i], suffix);
    wsc_free(s.step);
    return rc;
}

/* A newer one is worth an older one only when it can be read back. */
static enum wsc_err check_step(const char *dir, int64_t step)
{
    char *path = NULL;
    TRY(checkpoint_path(dir, step, CHECKPOINT_SUFFIX, &path));
    enum wsc_err rc = store_check(path);
    wsc_free(path);
    return rc;
}

static enum wsc_err remove_old(const char *dir, int64_t newest, int64_t keep)
{
    struct steps s = {0};
    enum wsc_err rc = steps_list(dir, CHECKPOINT_SUFFIX, &s);
    while (s.n && s.step[s.n - 1] > newest)
        s.n--;
    if (!rc && s.n > keep) rc = check_step(dir, newest);
    for (int i = 0; s.step && i < s.n - keep && !rc; i++)
        rc = remove_step(dir, s.step[i], CHECKPOINT_SUFFIX);
    wsc_free(s.step);
    return rc;
}

enum wsc_err store_prune(const char *dir, int64_t newest, int64_t keep)
{
    TRY(remove_left_over(dir));
    return keep > 0 ? remove_old(dir, newest, keep) : WSC_OK;
}

/* ---- one writer per folder ------------------------------------------------------------------- */

enum wsc_err store_claim(const char *dir, int *claim)
{
    *claim = -1;
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return WSC_RAISE(WSC_IO, "%s: cannot be opened: %s", dir, strerror(errno));
    if (!flock(fd, LOCK_EX | LOCK_NB)) {
        *claim = fd;
        return WSC_OK;
    }
    const bool taken = errno == EWOULDBLOCK;
    (void)close(fd);
    if (!taken) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_IO, "%s: another run writes there", dir),
                        "wait for it to end, or choose another --model_dir");
}

void store_release(int claim)
{
    if (claim >= 0) (void)close(claim);
}
