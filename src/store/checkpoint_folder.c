// SPDX-License-Identifier: Apache-2.0
/* Manages a folder of checkpoints: names by step and stamp, the newest one, and the lock that
 * allows one writer. Old checkpoints are removed when a newer one can be read back. */
#include "h5.h"

#include <wsc/mem.h>
#include <wsc/store.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* The step in a name, or in `<step>_<stamp>`, which a trainer writes if the name exists already. */
struct step_file {
    int64_t step;
    char stamp[17]; /* "_20240131_235959" or "" */
};

static bool is_stamp(const char *text)
{
    static const char form[] = "_dddddddd_dddddd";
    for (int i = 0; form[i]; i++)
        if (form[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != form[i]) return false;
    return true;
}

/* Parts of a checkpoint's name before and after the step. */
struct name_form {
    int n_before;
    const char *before, *after;
};

static struct name_form form_of(const struct store_folder *folder)
{
    const char *step = strstr(folder->name, STORE_STEP);
    return (struct name_form){(int)(step - folder->name), folder->name,
                              step + sizeof STORE_STEP - 1};
}

/* True when @p name is a checkpoint, followed by @p suffix. Steps have one spelling, without
 * leading zeros. */
static bool parse_name(const char *name, const struct name_form *form, const char *suffix,
                       struct step_file *file)
{
    if (strncmp(name, form->before, (size_t)form->n_before) != 0) return false;
    const char *digits = name + form->n_before;
    size_t n = strspn(digits, "0123456789");
    if (!n || n > STORE_STEP_DIGITS || (n > 1 && *digits == '0')) return false;
    const char *rest = digits + n;
    const size_t stamp = is_stamp(rest) ? sizeof file->stamp - 1 : 0, after = strlen(form->after);
    if (strncmp(rest + stamp, form->after, after) != 0 || strcmp(rest + stamp + after, suffix) != 0)
        return false;
    file->step = strtoll(digits, NULL, 10);
    (void)snprintf(file->stamp, sizeof file->stamp, "%.*s", (int)stamp, rest);
    return true;
}

/* Files with a suffix, sorted by step and stamp; owned. */
struct steps {
    struct step_file *file;
    int n, room;
};

static bool is_after(const struct step_file *a, const struct step_file *b)
{
    return a->step != b->step ? a->step > b->step : strcmp(a->stamp, b->stamp) > 0;
}

static enum wsc_err steps_add(struct steps *s, const struct step_file *file)
{
    TRY_GROW(s->file, WSC_MEM_STORE, s->room, s->n + 1);
    int i = s->n++;
    for (; i > 0 && is_after(&s->file[i - 1], file); i--)
        s->file[i] = s->file[i - 1];
    s->file[i] = *file;
    return WSC_OK;
}

static enum wsc_err steps_list(const struct store_folder *folder, const char *suffix,
                               struct steps *s)
{
    const struct name_form form = form_of(folder);
    DIR *d = opendir(folder->dir);
    if (!d && (errno == ENOENT)) return WSC_OK;
    if (!d) return WSC_RAISE(WSC_IO, "%s: cannot be listed: %s", folder->dir, strerror(errno));
    enum wsc_err rc = WSC_OK;
    for (struct dirent *e = readdir(d); e && !rc; e = readdir(d)) {
        struct step_file file;
        if (parse_name(e->d_name, &form, suffix, &file)) rc = steps_add(s, &file);
    }
    (void)closedir(d);
    return rc;
}

static enum wsc_err checkpoint_path(const struct store_folder *folder, const struct step_file *file,
                                    const char *suffix, char **path)
{
    const struct name_form form = form_of(folder);
    *path = wsc_asprintf(WSC_MEM_STORE, "%s/%.*s%lld%s%s%s", folder->dir, form.n_before,
                         form.before, (long long)file->step, file->stamp, form.after, suffix);
    return *path ? WSC_OK : wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "checkpoint path");
}

enum wsc_err store_step_path(const struct store_folder *folder, int64_t step, char **path)
{
    return checkpoint_path(folder, &(struct step_file){.step = step}, "", path);
}

enum wsc_err store_newest(const struct store_folder *folder, int skip, char **path, int64_t *step)
{
    struct steps s = {0};
    *path = NULL;
    enum wsc_err rc = steps_list(folder, "", &s);
    if (!rc && s.n > skip) {
        const struct step_file *file = &s.file[s.n - 1 - skip];
        *step = file->step;
        rc = checkpoint_path(folder, file, "", path);
    }
    wsc_free(s.file);
    return rc;
}

/* True for an HDF5 file that was written after @p since_ns. */
static bool is_later_hdf5(const char *path, int64_t since_ns)
{
    static const char signature[] = "\211HDF\r\n\032\n";
    char bytes[sizeof signature - 1];
    struct stat is;
    if (stat(path, &is) || !S_ISREG(is.st_mode)) return false;
    if ((int64_t)is.st_mtim.tv_sec * 1000000000 + is.st_mtim.tv_nsec <= since_ns) return false;
    FILE *file = fopen(path, "rb");
    const bool read = file && fread(bytes, sizeof bytes, 1, file) == 1;
    if (file) (void)fclose(file);
    return read && !memcmp(bytes, signature, sizeof bytes);
}

/* Has the file a step?  Samples, gradients and weights alone have none. */
static bool is_of_a_run(const char *path)
{
    struct store_file *file = NULL;
    const bool has = !store_open(&file, path) && store_has(file, "global_step");
    store_close(&file);
    return has;
}

static bool is_tmp(const char *name)
{
    const size_t n = strlen(name), suffix = sizeof STORE_TMP_SUFFIX - 1;
    return n >= suffix && !strcmp(name + n - suffix, STORE_TMP_SUFFIX);
}

enum wsc_err store_find_other(const struct store_folder *folder, int64_t since_ns, const char *but,
                              char **path)
{
    const struct name_form form = form_of(folder);
    const char *slash = but ? strrchr(but, '/') : NULL;
    const char *but_name = slash ? slash + 1 : but ? but : "";
    DIR *d = opendir(folder->dir);
    *path = NULL;
    if (!d && errno == ENOENT) return WSC_OK;
    if (!d) return WSC_RAISE(WSC_IO, "%s: cannot be listed: %s", folder->dir, strerror(errno));
    enum wsc_err rc = WSC_OK;
    for (struct dirent *e = readdir(d); e && !rc && !*path; e = readdir(d)) {
        struct step_file file;
        if (parse_name(e->d_name, &form, "", &file) || is_tmp(e->d_name)) continue;
        if (!strcmp(e->d_name, but_name)) continue;
        *path = wsc_asprintf(WSC_MEM_STORE, "%s/%s", folder->dir, e->d_name);
        if (!*path) rc = wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "path of a file");
        if (*path && is_later_hdf5(*path, since_ns) && is_of_a_run(*path)) break;
        wsc_free(*path);
        *path = NULL;
    }
    (void)closedir(d);
    return rc;
}

static enum wsc_err remove_step(const struct store_folder *folder, const struct step_file *file,
                                const char *suffix)
{
    char *path = NULL;
    TRY(checkpoint_path(folder, file, suffix, &path));
    enum wsc_err rc = WSC_OK;
    if (unlink(path) && errno != ENOENT)
        rc = WSC_RAISE(WSC_IO, "%s: cannot be removed: %s", path, strerror(errno));
    wsc_free(path);
    return rc;
}

static enum wsc_err remove_left_over(const struct store_folder *folder)
{
    struct steps s = {0};
    enum wsc_err rc = steps_list(folder, STORE_TMP_SUFFIX, &s);
    for (int i = 0; i < s.n && !rc; i++)
        rc = remove_step(folder, &s.file[i], STORE_TMP_SUFFIX);
    wsc_free(s.file);
    return rc;
}

/* An older checkpoint is removed only if a newer one can be read back, which stays itself: a file
 * with its step and a stamp counts as later. */
static enum wsc_err check_step(const struct store_folder *folder, int64_t step)
{
    char *path = NULL;
    TRY(store_step_path(folder, step, &path));
    enum wsc_err rc = store_check(path);
    wsc_free(path);
    return rc;
}

static enum wsc_err remove_old(const struct store_folder *folder, int64_t newest, int64_t keep)
{
    struct steps s = {0};
    enum wsc_err rc = steps_list(folder, "", &s);
    while (s.n && s.file[s.n - 1].step > newest)
        s.n--;
    if (!rc && s.n > keep) rc = check_step(folder, newest);
    for (int i = 0; s.file && i < s.n - keep && !rc; i++)
        if (s.file[i].step < newest) rc = remove_step(folder, &s.file[i], "");
    wsc_free(s.file);
    return rc;
}

enum wsc_err store_prune(const struct store_folder *folder, int64_t newest, int64_t keep)
{
    TRY(remove_left_over(folder));
    return keep > 0 ? remove_old(folder, newest, keep) : WSC_OK;
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
