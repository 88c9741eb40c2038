// SPDX-License-Identifier: Apache-2.0
/* Folders that `wsc data` makes: checks that this program has made a folder, and writes files that
 * are complete or absent. */
#include "dataset_folder.h"

#include <wsc/file.h>
#include <wsc/log.h>
#include <wsc/mem.h>

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file by which this program recognizes its folders. */
#define MARK            "data_params.json"
#define UNFINISHED_MARK "data_params.json.tmp"
/* Identity of the request that wrote the files of an unfinished part. */
#define REQUEST "request"

const char *const data_part_folder[DATA_N_PARTS] = {"train", "val", "test"};

static bool is_dot(const char *name)
{
    return !strcmp(name, ".") || !strcmp(name, "..");
}

/* True for names of files that data_make_dataset() writes, also unfinished ones, and for those in
 * its work folder. */
static bool is_our_name(const char *name)
{
    static const char *const fixed[] = {MARK,     UNFINISHED_MARK, REQUEST,    (REQUEST ".tmp"),
                                        "state",  "state.tmp",     "meta.dat", "meta.dat.tmp",
                                        "tokens", "samples"};
    static const char prefix[] = "data-";
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (!strcmp(name, fixed[i])) return true;
    if (strncmp(name, prefix, sizeof prefix - 1) != 0) return false;
    const char *rest = name + sizeof prefix - 1;
    size_t digits = strspn(rest, "0123456789");
    rest += digits;
    return digits >= 5 && (!strcmp(rest, ".h5") || !strcmp(rest, ".h5.tmp") ||
                           !strcmp(rest, ".csv") || !strcmp(rest, ".csv.tmp"));
}

/* Contents of a folder. */
struct census {
    bool missing;
    int n_ours, n_other;
    char other[256]; /* one of the other files, for the message */
};

/* Count the files of a folder; a folder that does not exist is empty. */
static enum wsc_err take_census(const char *dir, struct census *c)
{
    *c = (struct census){0};
    DIR *d = opendir(dir);
    if (!d && errno == ENOENT) {
        c->missing = true;
        return WSC_OK;
    }
    if (!d) return WSC_RAISE(WSC_IO, "%s: cannot be listed: %s", dir, strerror(errno));
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        if (is_dot(e->d_name)) continue;
        if (is_our_name(e->d_name)) {
            c->n_ours++;
            continue;
        }
        c->n_other++;
        (void)snprintf(c->other, sizeof c->other, "%s", e->d_name);
    }
    (void)closedir(d);
    return WSC_OK;
}

enum wsc_err data_file_read(const char *dir, const char *name, int64_t most, char **text, size_t *n)
{
    char *path;
    *text = NULL;
    *n = 0;
    TRY_MEM(path, wsc_asprintf(WSC_MEM_DATA, "%s/%s", dir, name));
    enum wsc_err rc = WSC_OK;
    if (!access(path, F_OK) || errno != ENOENT)
        rc = wsc_file_read(WSC_MEM_DATA, path, most, text, n);
    wsc_free(path);
    return rc;
}

/* Check whether the mark of a folder shows that this program made it. */
static enum wsc_err find_mark(const char *dir, bool *found)
{
    enum { MOST = 1 << 20 };
    char *text = NULL;
    size_t n = 0;
    TRY(data_file_read(dir, MARK, MOST, &text, &n));
    *found = text && strstr(text, DATA_CREATED_BY);
    wsc_free(text);
    return WSC_OK;
}

/* *@p holds: the folder has a dataset of this program. */
static enum wsc_err check_folder(const char *dir, bool *holds)
{
    struct census c;
    *holds = false;
    TRY(take_census(dir, &c));
    if (c.missing || c.n_ours + c.n_other == 0) return WSC_OK;
    if (c.n_other)
        return wsc_err_hint(
            WSC_RAISE(WSC_USAGE, "%s: holds %s, which `wsc data` did not make", dir, c.other),
            "give another --out");
    TRY(find_mark(dir, holds));
    if (!*holds)
        return wsc_err_hint(
            WSC_RAISE(WSC_USAGE, "%s: holds a dataset that `wsc data` did not make", dir),
            "give another --out, or remove it");
    return WSC_OK;
}

/* True for a sample file with its final name, which is complete. */
static bool is_finished(const char *name)
{
    size_t n = strlen(name);
    return n > 4 && (!strcmp(name + n - 3, ".h5") || !strcmp(name + n - 4, ".csv"));
}

/* Remove files with names of this program; folders and other files stay. With @p keep, finished
 * sample files and the request that they belong to stay too. The mark is removed last, so that a
 * folder whose removal was interrupted is still recognized. False: a file cannot be removed. */
static bool remove_files(const char *dir, bool keep)
{
    bool all = true;
    DIR *d = opendir(dir);
    if (!d) return errno == ENOENT;
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        const bool stays = keep && (is_finished(e->d_name) || !strcmp(e->d_name, REQUEST));
        if (is_our_name(e->d_name) && strcmp(e->d_name, MARK) != 0 && !stays &&
            unlinkat(dirfd(d), e->d_name, 0))
            all = false;
    }
    if (all && unlinkat(dirfd(d), MARK, 0)) all = errno == ENOENT;
    (void)closedir(d);
    return all;
}

void data_folder_remove(const char *dir)
{
    (void)remove_files(dir, false);
    (void)rmdir(dir);
}

enum wsc_err data_folder_check_parts(const struct data_make *make)
{
    for (int p = 0; p < DATA_N_PARTS; p++) {
        char *dir;
        bool holds;
        TRY_MEM(dir, wsc_asprintf(WSC_MEM_DATA, "%s/%s", make->out_dir, data_part_folder[p]));
        const enum wsc_err rc = check_folder(dir, &holds);
        if (!rc && holds && p != DATA_TRAIN && !(make->share[p] > 0))
            WSC_WARNING("%s: of an earlier dataset, will be removed: this one has no %s samples; "
                        "hint: another --out",
                        dir, data_part_folder[p]);
        wsc_free(dir);
        if (rc) return rc;
    }
    return WSC_OK;
}

enum wsc_err data_folder_remove_empty(const char *out, const int64_t n_samples[DATA_N_PARTS])
{
    for (int p = 0; p < DATA_N_PARTS; p++) {
        char *dir;
        if (n_samples[p]) continue;
        TRY_MEM(dir, wsc_asprintf(WSC_MEM_DATA, "%s/%s", out, data_part_folder[p]));
        data_folder_remove(dir);
        wsc_free(dir);
    }
    return WSC_OK;
}

static void put_request(FILE *f, const void *identity)
{
    (void)fprintf(f, "%016" PRIx64 "\n", *(const uint64_t *)identity);
}

/* Check whether an interrupted run of a request has written the files of a folder. */
static enum wsc_err is_of_request(const char *dir, uint64_t identity, bool *is_of)
{
    enum { MOST = 64 };
    char *text = NULL, wanted[MOST];
    size_t n = 0;
    (void)snprintf(wanted, sizeof wanted, "%016" PRIx64 "\n", identity);
    const enum wsc_err rc = data_file_read(dir, REQUEST, MOST, &text, &n);
    *is_of = identity && text && !strcmp(text, wanted);
    wsc_free(text);
    return rc == WSC_FORMAT ? WSC_OK : rc; /* a file that is too long is of another program */
}

/* If there are files of others, nothing is removed. The request is written when the files of other
 * requests are gone. */
enum wsc_err data_folder_begin(const char *dir, uint64_t identity)
{
    struct census c;
    bool keep = false;
    TRY(wsc_file_mkdir_above(dir));
    TRY(take_census(dir, &c));
    if (c.n_other)
        return WSC_RAISE(WSC_USAGE, "%s: holds %s, which `wsc data` did not make", dir, c.other);
    TRY(is_of_request(dir, identity, &keep));
    if (!remove_files(dir, keep))
        return WSC_RAISE(WSC_IO, "%s: files of an interrupted run cannot be removed", dir);
    if (mkdir(dir, 0777) && errno != EEXIST)
        return WSC_RAISE(WSC_IO, "%s: cannot be made: %s", dir, strerror(errno));
    return identity && !keep ? data_file_write(dir, REQUEST, put_request, &identity) : WSC_OK;
}

enum wsc_err data_folder_finish(const char *tmp, const char *dir)
{
    char *request;
    TRY_MEM(request, wsc_asprintf(WSC_MEM_DATA, "%s/" REQUEST, tmp));
    (void)unlink(request);
    wsc_free(request);
    data_folder_remove(dir);
    if (rename(tmp, dir))
        return WSC_RAISE(WSC_IO, "%s: cannot be renamed to %s: %s", tmp, dir, strerror(errno));
    return WSC_OK;
}

static enum wsc_err cannot_write(const char *path)
{
    return WSC_RAISE(WSC_IO, "%s: cannot be written: %s", path, strerror(errno));
}

/* Errors may be reported as late as by close(), so each step is checked. */
static enum wsc_err write_new(const char *path, void (*put)(FILE *f, const void *what),
                              const void *what)
{
    FILE *f = fopen(path, "w");
    if (!f) return cannot_write(path);
    put(f, what);
    enum wsc_err rc = WSC_OK;
    if (fflush(f) || ferror(f)) rc = cannot_write(path);
    if (fclose(f) && !rc) rc = cannot_write(path);
    return rc;
}

enum wsc_err data_file_write(const char *dir, const char *name,
                             void (*put)(FILE *f, const void *what), const void *what)
{
    char *path = wsc_asprintf(WSC_MEM_DATA, "%s/%s", dir, name);
    char *tmp = wsc_asprintf(WSC_MEM_DATA, "%s/%s.tmp", dir, name);
    enum wsc_err rc = path && tmp ? write_new(tmp, put, what) : WSC_NOMEM;
    if (!rc) rc = wsc_file_publish(tmp, path);
    wsc_free(tmp);
    wsc_free(path);
    return rc;
}
