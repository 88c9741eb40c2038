// SPDX-License-Identifier: Apache-2.0
/* metrics.jsonl: one JSON object on one line for each logged step and each evaluation.
 *
 * A line is written by one write() or not at all.  A run that resumes keeps the lines that were
 * there when its checkpoint was written, and drops the rest, and a last line that a crash tore. The
 * file is documented in docs/FILES.md. */
#include "job_metrics.h"
#include "json_breakdown.h"

#include <wsc/file.h>
#include <wsc/log.h>
#include <wsc/mem.h>
#include <wsc/out.h>

#include <jansson.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

/* Longer than any line of ours, which have a few hundred bytes: a longer one is foreign. */
enum { LINE_SIZE = 65536 };

struct job_metrics {
    char *path;
    int fd;
    int64_t n_lines;
};

/* Lines of the file so far, while it is cut back. */
struct cut {
    const struct job_kept *kept;
    int64_t n_kept;
    bool repeats; /* after the first lines came one of a step that the run will not repeat */
};

/* Is a line of @p step kept?  After the first lines, those up to the checkpoint, come lines of the
 * steps after it and of evaluations by other runs.  Lines of steps before it were trained again.
 * In a file that has lost lines, those of later steps may stand among the first. */
static bool keeps_step(struct cut *cut, int64_t step, bool is_evaluation)
{
    const struct job_kept *kept = cut->kept;
    const bool before = step <= (is_evaluation ? kept->evaluations : kept->steps);
    if (kept->lines < 0) return before;
    if (cut->n_kept < kept->lines) return step <= kept->reached;
    cut->repeats |= before && !is_evaluation;
    return before && is_evaluation && !cut->repeats;
}

/* Is the line, without its newline, kept?  *@p ours is false when it is not one of ours. */
static bool is_kept(const char *line, size_t n, struct cut *cut, bool *ours)
{
    json_t *object = json_loadb(line, n, JSON_REJECT_DUPLICATES, NULL);
    json_t *value = json_object_get(object, "step");
    const bool is_evaluation = json_object_get(object, "eval_loss") != NULL;
    *ours = json_is_integer(value);
    const bool keep = *ours && keeps_step(cut, json_integer_value(value), is_evaluation);
    json_decref(object);
    cut->n_kept += keep;
    return keep;
}

/* Copy the lines to keep; a crash can only have torn the last one. */
static WSC_CHECKED enum wsc_err keep_lines(struct wsc_text *text, FILE *file, const char *path,
                                           char *line, struct cut *cut)
{
    for (int number = 1; fgets(line, LINE_SIZE, file); number++) {
        size_t n = strlen(line);
        bool ours = false;
        if (n && line[n - 1] == '\n' && is_kept(line, n - 1, cut, &ours))
            wsc_text_bytes(text, line, n);
        if (ours) continue;
        int next = fgetc(file);
        if (next != EOF) {
            return wsc_err_hint(
                WSC_RAISE(WSC_FORMAT, "%s:%d: not a line of metrics with a \"step\"", path, number),
                "move the file away to start a new one");
        }
        WSC_WARNING("%s:%d: the last line is torn and is dropped", path, number);
    }
    if (ferror(file)) return WSC_RAISE(WSC_IO, "%s: cannot be read: %s", path, strerror(errno));
    return wsc_text_check(text);
}

/* Through a new file and a rename: a crash while the file is cut back costs no line. */
static WSC_CHECKED enum wsc_err cut_back(const char *path, struct cut *cut)
{
    FILE *file = fopen(path, "r");
    if (!file && errno == ENOENT) return WSC_OK;
    if (!file) return WSC_RAISE(WSC_IO, "%s: cannot be opened: %s", path, strerror(errno));
    struct wsc_text text = {0};
    enum wsc_err rc = WSC_NOMEM;
    char *line = wsc_alloc_raw(WSC_MEM_REPORT, LINE_SIZE, 1);
    if (line) rc = keep_lines(&text, file, path, line, cut);
    (void)fclose(file);
    if (!rc) rc = out_write_text(path, text.bytes ? text.bytes : "");
    wsc_free(line);
    wsc_text_free(&text);
    return rc;
}

enum wsc_err job_metrics_open(struct job_metrics **out, const char *dir, struct job_kept kept)
{
    enum wsc_err rc;
    struct job_metrics *m;
    struct cut cut = {.kept = &kept};
    *out = NULL;
    TRY(wsc_file_mkdir(dir));
    TRY_NEW(m, WSC_MEM_REPORT, 1);
    m->fd = -1;
    m->path = out_file_path(dir, "metrics.jsonl");
    TRY_GOTO(m->path ? WSC_OK : WSC_NOMEM, failed);
    TRY_GOTO(cut_back(m->path, &cut), failed);
    m->n_lines = cut.n_kept;
    m->fd = open(m->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (m->fd < 0) {
        rc = WSC_RAISE(WSC_IO, "%s: cannot be opened: %s", m->path, strerror(errno));
        goto failed;
    }
    *out = m;
    return WSC_OK;
failed:
    job_metrics_close(&m);
    return rc;
}

/* A value that is not finite is an error of the run and is not written: readers of JSON would
 * refuse the whole file. */
static WSC_CHECKED enum wsc_err finish_line(struct job_metrics *m, struct out_json *j)
{
    enum wsc_err rc = out_json_check(j, m->path);
    if (!rc) rc = out_append(m->fd, m->path, &j->text);
    if (!rc) m->n_lines++;
    wsc_text_free(&j->text);
    return rc;
}

/* null for what was not computed, so that every line of a step has a loss and a grad_norm. */
static void write_value(struct out_json *j, const char *key, bool has_value, double value)
{
    if (has_value)
        out_json_real(j, key, value);
    else
        out_json_null(j, key);
}

static void add_noise(struct out_json *j, const struct job_logged_step *step)
{
    if (!step->has_noise) return;
    out_json_real(j, "pegsqnorm", step->pegsqnorm);
    out_json_real(j, "gsqnorm", step->gsqnorm);
    out_json_real(j, "noise_variance", step->noise_variance);
    write_value(j, "noise_scale", !isnan(step->noise_scale), step->noise_scale);
}

enum wsc_err job_metrics_step(struct job_metrics *m, const struct job_logged_step *step)
{
    struct out_json j = {0};
    out_json_open(&j, NULL);
    out_json_int(&j, "step", step->step);
    write_value(&j, "loss", step->has_values, step->loss);
    out_json_real(&j, "lr", step->lr);
    write_value(&j, "grad_norm", step->has_values && !step->skipped, step->grad_norm);
    if (step->skipped) out_json_bool(&j, "skipped", true);
    out_json_real(&j, "loss_scale", step->loss_scale);
    out_json_int(&j, "tokens", step->tokens);
    out_json_int(&j, "virtual_time_ps", step->virtual_time_ps);
    out_json_int(&j, "step_time_ps", step->step_time_ps);
    out_json_real(&j, "samples_per_s", step->samples_per_s);
    out_json_real(&j, "tokens_per_s", step->tokens_per_s);
    out_json_real(&j, "host_samples_per_s", step->host_samples_per_s);
    out_json_real(&j, "host_tokens_per_s", step->host_tokens_per_s);
    if (step->layer_grad_norm) out_json_real(&j, "params_norm", step->params_norm);
    add_noise(&j, step);
    for (int i = 0; i < step->n_rewards; i++)
        out_json_real(&j, step->reward[i].key, step->reward[i].value);
    if (step->has_hash) out_json_hash(&j, "weights_hash", step->weights_hash);
    job_json_breakdown(&j, &step->breakdown);
    out_json_close(&j);
    return finish_line(m, &j);
}

enum wsc_err job_metrics_eval(struct job_metrics *m, const struct job_evaluation *e)
{
    struct out_json j = {0};
    out_json_open(&j, NULL);
    out_json_int(&j, "step", e->step);
    out_json_real(&j, "eval_loss", e->loss);
    for (int i = 0; i < e->n_scores; i++)
        out_json_finite(&j, e->score[i].key, e->score[i].value);
    out_json_int(&j, "samples", e->samples);
    out_json_close(&j);
    return finish_line(m, &j);
}

/* Take the evaluation of a line, when it is one. */
static void take_evaluation(const char *line, int64_t *step, double *loss)
{
    json_t *object = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
    json_t *value = json_object_get(object, "eval_loss");
    if (json_is_number(value)) {
        *step = json_integer_value(json_object_get(object, "step"));
        *loss = json_number_value(value);
    }
    json_decref(object);
}

enum wsc_err job_last_evaluation(const char *dir, int64_t *step, double *loss)
{
    *step = -1;
    *loss = NAN;
    char *path = out_file_path(dir, "metrics.jsonl"),
         *line = wsc_alloc_raw(WSC_MEM_REPORT, LINE_SIZE, 1);
    enum wsc_err rc = path && line ? WSC_OK : WSC_NOMEM;
    FILE *file = rc ? NULL : fopen(path, "r");
    if (!rc && !file && errno != ENOENT)
        rc = WSC_RAISE(WSC_IO, "%s: cannot be opened: %s", path, strerror(errno));
    while (file && fgets(line, LINE_SIZE, file))
        take_evaluation(line, step, loss);
    if (file && ferror(file))
        rc = WSC_RAISE(WSC_IO, "%s: cannot be read: %s", path, strerror(errno));
    if (file) (void)fclose(file);
    wsc_free(line);
    wsc_free(path);
    return rc;
}

int64_t job_metrics_lines(const struct job_metrics *m)
{
    return m ? m->n_lines : -1;
}

void job_metrics_close(struct job_metrics **m)
{
    if (!*m) return;
    if ((*m)->fd >= 0) (void)close((*m)->fd);
    wsc_free((*m)->path);
    wsc_free(*m);
    *m = NULL;
}
