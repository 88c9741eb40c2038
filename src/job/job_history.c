// SPDX-License-Identifier: Apache-2.0
/* Which training a checkpoint belongs to.
 *
 * A checkpoint holds params of its run, with which a run that resumes from it compares its own
 * (src/zoo/params_past.c).
 * A training that does not resume from the newest checkpoint of model_dir would leave two trainings
 * there, and the next start would take the checkpoint with the largest step, whoever wrote it: what
 * is not of its past is moved away before it begins.  Called by job.c and job_checkpoint.c. */
#include "job_history.h"

#include <wsc/file.h>
#include <wsc/log.h>
#include <wsc/mem.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum wsc_err job_history_write(const struct job_state *s, struct store_file *file)
{
    char *text = NULL;
    const enum wsc_err made = zoo_past_lines(s->job->params, &text);
    const enum wsc_err rc = store_set_text(file, ZOO_PAST, made ? NULL : text);
    wsc_free(text);
    return made ? made : rc;
}

enum wsc_err job_history_check(const struct job_state *s, struct store_file *file, bool resumes)
{
    char *stored = NULL;
    if (!store_has_text(file, ZOO_PAST)) return WSC_OK;
    TRY(store_get_text(file, ZOO_PAST, &stored));
    const enum wsc_err rc =
        zoo_past_compare(s->job->params, stored, resumes ? ZOO_PAST_RESUME : ZOO_PAST_WEIGHTS);
    wsc_free(stored);
    return rc;
}

/* ---- what another training left -------------------------------------------------------------- */

bool job_lies_in(const char *path, const char *dir)
{
    char *folder = wsc_strdup(WSC_MEM_RUN, path);
    char *slash = folder ? strrchr(folder, '/') : NULL;
    char a[PATH_MAX], b[PATH_MAX];
    if (slash) *slash = '\0';
    const bool found = folder && realpath(slash ? folder : ".", a) && realpath(dir, b);
    wsc_free(folder);
    return found && !strcmp(a, b);
}

/* The first of model_dir/earlier.1, .2, ... that is not there yet, made. */
static enum wsc_err make_folder(const char *dir, char **folder)
{
    for (int k = 1;; k++) {
        *folder = wsc_asprintf(WSC_MEM_RUN, "%s/earlier.%d", dir, k);
        if (!*folder) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "folder");
        if (!mkdir(*folder, 0777)) return WSC_OK;
        const int why = errno;
        if (why != EEXIST)
            return WSC_RAISE(WSC_IO, "%s: folder cannot be made: %s", *folder, strerror(why));
        wsc_free(*folder);
    }
}

static enum wsc_err move_to(const char *path, const char *folder)
{
    const char *name = strrchr(path, '/');
    char *to = wsc_asprintf(WSC_MEM_RUN, "%s/%s", folder, name ? name + 1 : path);
    if (!to) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "name");
    enum wsc_err rc = WSC_OK;
    if (rename(path, to))
        rc = WSC_RAISE(WSC_IO, "%s: cannot be moved to %s: %s", path, folder, strerror(errno));
    wsc_free(to);
    return rc;
}

/* Is there a checkpoint of a step above @p last? */
static enum wsc_err find_later(const struct store_folder *from, int64_t last, char **path)
{
    int64_t step = 0;
    TRY(store_newest(from, 0, path, &step));
    if (!*path || step > last) return WSC_OK;
    wsc_free(*path);
    *path = NULL;
    return WSC_OK;
}

/* Move every checkpoint of a step above @p last.  *@p n: how many were moved. */
static enum wsc_err move_later(const struct store_folder *from, int64_t last, const char *folder,
                               int *n)
{
    for (*n = 0;; (*n)++) {
        char *path = NULL;
        TRY(find_later(from, last, &path));
        if (!path) return WSC_OK;
        enum wsc_err rc = move_to(path, folder);
        wsc_free(path);
        if (rc) return rc;
    }
}

/* A copy of the metrics beside the checkpoints that they belong to: this run will cut its own back.
 */
static enum wsc_err keep_metrics(const char *dir, const char *folder)
{
    char *from = wsc_asprintf(WSC_MEM_RUN, "%s/metrics.jsonl", dir);
    char *to = wsc_asprintf(WSC_MEM_RUN, "%s/metrics.jsonl", folder);
    enum wsc_err rc = WSC_OK;
    if (!from || !to)
        rc = wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "name");
    else if (!access(from, F_OK))
        rc = wsc_file_copy(from, to);
    wsc_free(from);
    wsc_free(to);
    return rc;
}

/* The metrics first: once the checkpoints are away, the next start finds nothing to set aside.  A
 * training that @p saves none leaves the checkpoints where they are. */
static enum wsc_err set_aside(const char *dir, const struct store_folder *from, int64_t last,
                              bool saves)
{
    char *folder = NULL;
    int n = 0;
    TRY(make_folder(dir, &folder));
    enum wsc_err rc = keep_metrics(dir, folder);
    if (rc) (void)rmdir(folder);
    if (!rc && saves) rc = move_later(from, last, folder, &n);
    if (!rc && saves)
        WSC_WARNING("%d checkpoint(s) in %s that this training does not resume from were moved to "
                    "%s, metrics.jsonl was copied there",
                    n, dir, folder);
    if (!rc && !saves)
        WSC_WARNING("%s has checkpoints that this training does not resume from: metrics.jsonl was "
                    "copied to %s",
                    dir, folder);
    wsc_free(folder);
    return rc;
}

/* True when there are lines that a training may drop. */
static bool has_metrics(const char *dir)
{
    struct stat is;
    char *path = wsc_asprintf(WSC_MEM_RUN, "%s/metrics.jsonl", dir);
    const bool has = path && !stat(path, &is) && is.st_size > 0;
    wsc_free(path);
    return has;
}

/* When the file was written, in nanoseconds since 1970; 0: no such file. */
static int64_t written_ns(const char *path)
{
    struct stat is;
    if (!path || stat(path, &is)) return 0;
    return (int64_t)is.st_mtim.tv_sec * 1000000000 + is.st_mtim.tv_nsec;
}

bool job_history_resumes_here(const struct job_state *s)
{
    return s->checkpoint.start_path && s->at.step &&
           job_lies_in(s->checkpoint.start_path, s->job->params->runconfig.model_dir);
}

/* A training with another checkpoint_name wrote lines of metrics, if its checkpoint is newer than
 * the one that this training resumes from. */
static enum wsc_err keep_lines_of_others(const struct job_state *s, const struct store_folder *from)
{
    const char *start = s->checkpoint.start_path;
    char *other = NULL, *folder = NULL;
    if (!has_metrics(from->dir)) return WSC_OK;
    const int64_t since = job_history_resumes_here(s) ? written_ns(start) : 0;
    TRY(store_find_other(from, since, start, &other));
    if (!other) return WSC_OK;
    enum wsc_err rc = make_folder(from->dir, &folder);
    if (!rc) rc = keep_metrics(from->dir, folder);
    if (!rc)
        WSC_WARNING("%s is of another checkpoint_name, and this training does not resume from it: "
                    "metrics.jsonl was copied to %s",
                    other, folder);
    wsc_free(folder);
    wsc_free(other);
    return rc;
}

enum wsc_err job_history_undo(const struct job_state *s)
{
    const char *dir = s->job->params->runconfig.model_dir;
    const struct store_folder from = job_folder(s);
    char *later = NULL, *folder = NULL;
    int n = 0;
    TRY(find_later(&from, s->at.step, &later));
    if (!later) return WSC_OK;
    wsc_free(later);
    TRY(make_folder(dir, &folder));
    const enum wsc_err rc = move_later(&from, s->at.step, folder, &n);
    if (!rc) WSC_INFO("%d checkpoint(s) of steps that are repeated were moved to %s", n, folder);
    wsc_free(folder);
    return rc;
}

enum wsc_err job_set_aside(const struct job_state *s)
{
    const struct zoo_runconfig *rc = &s->job->params->runconfig;
    const bool saves = s->job->values && rc->checkpoint_steps > 0;
    if (comm_rank(s->comm) || s->at.step == s->run.last_step) return WSC_OK;
    if (!saves && !has_metrics(rc->model_dir)) return WSC_OK;
    const int64_t last = job_history_resumes_here(s) ? s->at.step : -1;
    const struct store_folder from = job_folder(s);
    char *later = NULL;
    TRY(find_later(&from, last, &later));
    const enum wsc_err err =
        later ? set_aside(rc->model_dir, &from, last, saves) : keep_lines_of_others(s, &from);
    wsc_free(later);
    return err;
}
