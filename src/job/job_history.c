// SPDX-License-Identifier: Apache-2.0
/* Which training a checkpoint belongs to.
 *
 * A checkpoint holds those params of its run that decide what its weights mean and which samples
 * came before (text attribute wsc.params, a line "key: value" each).  A run that resumes from it
 * compares them with its own: weights of one model in another of the same shapes, e.g. with another
 * number of heads, would be garbage without an error.
 * A training that does not resume from the newest checkpoint of model_dir would leave two trainings
 * there, and the next start would take the checkpoint with the largest step, whoever wrote it: what
 * is not of its past is moved away before it begins.  Called by job.c and job_checkpoint.c. */
#include "job_history.h"

#include <wsc/log.h>
#include <wsc/mem.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PARAMS "wsc.params"

/* ---- the params of a checkpoint -------------------------------------------------------------- */

/* What another value of a key means for a run that resumes. */
enum meaning { MEANS_NOTHING, MEANS_OTHER_TRAINING, MEANS_OTHER_MODEL };

/* The first row whose text the key begins with. */
static const struct {
    const char *begins;
    enum meaning meaning;
} meaning_of_key[] = {
    {"model.name:", MEANS_NOTHING},
    {"model.compute_eval_metrics:", MEANS_NOTHING},
    {"model.initializer", MEANS_NOTHING},
    {"model.embedding_initializer:", MEANS_NOTHING},
    {"model.output_layer_initializer:", MEANS_NOTHING},
    {"model.ffn_initializer:", MEANS_NOTHING},
    {"model.ffn_output_layer_initializer:", MEANS_NOTHING},
    {"model.moe.gate_initializer:", MEANS_NOTHING},
    {"model.dropout_rate:", MEANS_OTHER_TRAINING},
    {"model.attention_dropout_rate:", MEANS_OTHER_TRAINING},
    {"model.embedding_dropout_rate:", MEANS_OTHER_TRAINING},
    {"model.residual_dropout_rate:", MEANS_OTHER_TRAINING},
    {"model.mixed_precision:", MEANS_OTHER_TRAINING},
    {"model.fp16_type:", MEANS_OTHER_TRAINING},
    {"model.attention_softmax_fp32:", MEANS_OTHER_TRAINING},
    {"model.loss_", MEANS_OTHER_TRAINING},
    {"model.moe.load_balancing_loss_coef:", MEANS_OTHER_TRAINING},
    {"model.weight_initialization_seed:", MEANS_NOTHING},
    {"model.recompute:", MEANS_NOTHING},
    {"model.dpo.", MEANS_OTHER_TRAINING},
    {"model.", MEANS_OTHER_MODEL},
    {"train_input.batch_size:", MEANS_OTHER_TRAINING},
    {"train_input.shuffle", MEANS_OTHER_TRAINING},
    {"train_input.num_samples:", MEANS_OTHER_TRAINING},
    {"train_input.use_vsl:", MEANS_OTHER_TRAINING},
    {"train_input.buckets:", MEANS_OTHER_TRAINING},
    {"reduction_leaf:", MEANS_OTHER_TRAINING},
    {"optimizer.optimizer_type:", MEANS_OTHER_TRAINING},
};

static enum meaning meaning_of(const char *line)
{
    for (int i = 0; i < (int)(sizeof meaning_of_key / sizeof *meaning_of_key); i++) {
        const char *begins = meaning_of_key[i].begins;
        if (!strncmp(line, begins, strlen(begins))) return meaning_of_key[i].meaning;
    }
    return MEANS_NOTHING;
}

/* The section that a line of YAML stands in, as "model.moe." */
struct section {
    char name[256];
    size_t end[8]; /* of the part of each level */
};

/* One line "key: value" of YAML as "section.key: value"; a key without a value opens a section. */
static enum wsc_err flatten_line(struct section *at, const char *line, size_t n, FILE *out)
{
    enum { INDENT = 4, MOST_LEVELS = 7 };
    char text[512];
    const size_t blanks = strspn(line, " "), level = blanks / INDENT, key = strcspn(line, ":\n");
    if (blanks >= n || line[blanks] == '-' || key >= n || level > MOST_LEVELS) return WSC_OK;
    const size_t before = level ? at->end[level - 1] : 0;
    at->name[before] = '\0';
    const int length =
        snprintf(text, sizeof text, "%s%.*s", at->name, (int)(n - blanks), line + blanks);
    if (length < 0 || length >= (int)sizeof text) return WSC_OK; /* no number or word is as long */
    if (key + 1 < n) {
        if (meaning_of(text)) (void)fprintf(out, "%s\n", text);
        return WSC_OK;
    }
    const int end = snprintf(at->name + before, sizeof at->name - before, "%.*s.",
                             (int)(key - blanks), line + blanks);
    if (end < 0 || before + (size_t)end >= sizeof at->name)
        return WSC_RAISE(WSC_CONFIG, "%s: the name of a section is too long", text);
    at->end[level] = before + (size_t)end;
    return WSC_OK;
}

static enum wsc_err flatten(const char *yaml, FILE *out)
{
    struct section at = {0};
    for (const char *line = yaml; *line;) {
        const size_t n = strcspn(line, "\n");
        TRY(flatten_line(&at, line, n, out));
        line += n + (line[n] == '\n');
    }
    return WSC_OK;
}

/* Owned by the caller. */
static enum wsc_err list_params(const struct zoo_params *params, char **text)
{
    char *yaml = NULL, *stream = NULL;
    size_t n = 0;
    *text = NULL;
    TRY(zoo_params_dump(params, &yaml));
    FILE *out = open_memstream(&stream, &n);
    enum wsc_err rc = out ? flatten(yaml, out) : WSC_NOMEM;
    if (out && fclose(out) && !rc) rc = WSC_NOMEM;
    if (!rc) *text = wsc_strdup(WSC_MEM_RUN, stream);
    free(stream);
    wsc_free(yaml);
    if (!rc && !*text) rc = WSC_NOMEM;
    return rc == WSC_NOMEM ? wsc_err_frame(rc, __FILE__, __LINE__, "params of a checkpoint") : rc;
}

enum wsc_err job_history_write(const struct job_state *s, struct store_file *file)
{
    char *text = NULL;
    TRY(list_params(s->job->params, &text));
    enum wsc_err rc = store_set_text(file, PARAMS, text);
    wsc_free(text);
    return rc;
}

/* ---- are they ours? -------------------------------------------------------------------------- */

/* The line of @p text with the key that @p line begins with, or NULL. */
static const char *line_with_key(const char *text, const char *line)
{
    const size_t key = strcspn(line, ":") + 1;
    for (const char *at = text; *at; at += strcspn(at, "\n") + 1) {
        if (!strncmp(at, line, key)) return at;
        if (!at[strcspn(at, "\n")]) break;
    }
    return NULL;
}

/* @p is_error: another model is the end, and not a warning. */
static enum wsc_err compare_line(const char *stored, const char *own, bool is_error)
{
    const size_t n_stored = strcspn(stored, "\n"), n_own = strcspn(own, "\n");
    const size_t key = strcspn(own, ":");
    if (n_stored == n_own && !strncmp(stored, own, n_own)) return WSC_OK;
    if (meaning_of(own) != MEANS_OTHER_MODEL || !is_error) {
        WSC_WARNING("%.*s; the checkpoint is of a run with%.*s", (int)n_own, own,
                    (int)(n_stored - key - 1), stored + key + 1);
        return WSC_OK;
    }
    return wsc_err_hint(WSC_RAISE(WSC_CONFIG, "%.*s, but the checkpoint is of a model with%.*s",
                                  (int)n_own, own, (int)(n_stored - key - 1), stored + key + 1),
                        "--set runconfig.load_checkpoint_states=model takes its weights into this "
                        "model all the same");
}

enum wsc_err job_history_check(const struct job_state *s, struct store_file *file, bool resumes)
{
    char *stored = NULL, *own = NULL;
    if (!store_has_text(file, PARAMS)) return WSC_OK;
    enum wsc_err rc = store_get_text(file, PARAMS, &stored);
    if (!rc) rc = list_params(s->job->params, &own);
    for (const char *line = own; !rc && line && *line; line += strcspn(line, "\n") + 1) {
        const char *other = line_with_key(stored, line);
        if (other) rc = compare_line(other, line, resumes);
        if (!line[strcspn(line, "\n")]) break;
    }
    wsc_free(own);
    wsc_free(stored);
    return rc;
}

/* ---- what another training left -------------------------------------------------------------- */

/* Does @p path lie in the folder @p dir? */
static bool lies_in(const char *path, const char *dir)
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

/* Move every checkpoint of a step above @p last into a folder, which is made when there is one to
 * move.  *@p n: how many were moved. */
static enum wsc_err move_later(const struct store_folder *from, int64_t last, char **folder, int *n)
{
    for (*n = 0;; (*n)++) {
        char *path = NULL;
        int64_t step = 0;
        TRY(store_newest(from, INT64_MAX, &path, &step));
        if (!path || step <= last) {
            wsc_free(path);
            return WSC_OK;
        }
        enum wsc_err rc = *folder ? WSC_OK : make_folder(from->dir, folder);
        if (!rc) rc = move_to(path, *folder);
        wsc_free(path);
        if (rc) return rc;
    }
}

/* A copy of the metrics beside the checkpoints that they belong to: this run will cut its own back.
 */
static enum wsc_err keep_metrics(const char *dir, const char *folder)
{
    enum wsc_err rc = WSC_OK;
    char *from = wsc_asprintf(WSC_MEM_RUN, "%s/metrics.jsonl", dir), *text = NULL;
    char *to = wsc_asprintf(WSC_MEM_RUN, "%s/metrics.jsonl", folder);
    size_t n = 0;
    struct stat info;
    if (!from || !to) {
        rc = wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "name");
    } else if (!stat(from, &info)) {
        rc = conf_read_file(from, &text, &n);
        if (!rc) rc = out_write_text(to, text);
    }
    wsc_free(text);
    wsc_free(from);
    wsc_free(to);
    return rc;
}

enum wsc_err job_set_aside(const struct job_state *s)
{
    const struct zoo_runconfig *rc = &s->job->params->runconfig;
    const bool saves = s->job->values && rc->checkpoint_steps > 0 && s->at.step < s->run.last_step;
    if (comm_rank(s->comm) || !saves) return WSC_OK;
    char *folder = NULL;
    int n = 0;
    const bool goes_on =
        s->checkpoint.start_path && s->at.step && lies_in(s->checkpoint.start_path, rc->model_dir);
    const struct store_folder from = job_folder(s);
    enum wsc_err err = move_later(&from, goes_on ? s->at.step : -1, &folder, &n);
    if (!err && n) err = keep_metrics(rc->model_dir, folder);
    if (!err && n)
        WSC_WARNING("%d checkpoint(s) in %s that this training does not resume from were moved to "
                    "%s, metrics.jsonl was copied there",
                    n, rc->model_dir, folder);
    wsc_free(folder);
    return err;
}
