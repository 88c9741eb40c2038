// SPDX-License-Identifier: Apache-2.0
#include "report_impl.h"

#include <wsc/log.h>
#include <wsc/mem.h>

#include <jansson.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

enum { LINE_SIZE = 65536 };

struct report_metrics {
    char *path;
    int fd;
};

/* The step of one line without its newline; false when the line is not one of ours. */
static bool step_of(const char *line, size_t n, int64_t *step)
{
    json_t *object = json_loadb(line, n, JSON_REJECT_DUPLICATES, NULL);
    json_t *value = json_object_get(object, "step");
    bool good = json_is_integer(value);
    if (good) *step = json_integer_value(value);
    json_decref(object);
    return good;
}

/* Copy the lines to keep; a crash can only have torn the last one. */
static WSC_CHECKED enum wsc_err keep_lines(struct report_text *kept, FILE *file, const char *path,
                                           char *line, int64_t keep_to)
{
    for (int number = 1; fgets(line, LINE_SIZE, file); number++) {
        size_t n = strlen(line);
        int64_t step = 0;
        bool whole = n && line[n - 1] == '\n' && step_of(line, n - 1, &step);
        if (whole && step <= keep_to) report_text_bytes(kept, line, n);
        if (whole) continue;
        int next = fgetc(file);
        if (next != EOF) {
            return wsc_err_hint(
                WSC_RAISE(WSC_FORMAT, "%s:%d: not a line of metrics with a \"step\"", path, number),
                "move the file away to start a new one");
        }
        WSC_WARNING("%s:%d: the last line is torn and is dropped", path, number);
    }
    if (ferror(file)) return WSC_RAISE(WSC_IO, "%s: cannot be read: %s", path, strerror(errno));
    return report_text_check(kept);
}

static WSC_CHECKED enum wsc_err cut_back(const char *path, int64_t keep_to)
{
    FILE *file = fopen(path, "r");
    if (!file && errno == ENOENT) return WSC_OK;
    if (!file) return WSC_RAISE(WSC_IO, "%s: cannot be opened: %s", path, strerror(errno));
    struct report_text kept = {0};
    enum wsc_err rc = WSC_NOMEM;
    char *line = wsc_alloc_raw(WSC_MEM_REPORT, LINE_SIZE, 1);
    if (line) rc = keep_lines(&kept, file, path, line, keep_to);
    (void)fclose(file);
    if (!rc) rc = report_write_text(path, kept.bytes ? kept.bytes : "");
    wsc_free(line);
    report_text_free(&kept);
    return rc;
}

enum wsc_err report_metrics_open(struct report_metrics **out, const char *dir, int64_t keep_to)
{
    enum wsc_err rc;
    struct report_metrics *m;
    *out = NULL;
    TRY(report_mkdir(dir));
    TRY_NEW(m, WSC_MEM_REPORT, 1);
    m->fd = -1;
    m->path = report_path(dir, "metrics.jsonl");
    TRY_GOTO(m->path ? WSC_OK : WSC_NOMEM, failed);
    TRY_GOTO(cut_back(m->path, keep_to), failed);
    m->fd = open(m->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (m->fd < 0) {
        rc = WSC_RAISE(WSC_IO, "%s: cannot be opened: %s", m->path, strerror(errno));
        goto failed;
    }
    *out = m;
    return WSC_OK;
failed:
    report_metrics_close(&m);
    return rc;
}

static WSC_CHECKED enum wsc_err finish_line(struct report_metrics *m, struct report_json *j)
{
    enum wsc_err rc = report_json_check(j, m->path);
    if (!rc) rc = report_append(m->fd, m->path, &j->text);
    report_text_free(&j->text);
    return rc;
}

static void write_value(struct report_json *j, const char *key, bool has_value, double value)
{
    if (has_value)
        report_json_real(j, key, value);
    else
        report_json_null(j, key);
}

static void add_noise(struct report_json *j, const struct report_step *step)
{
    if (!step->has_noise) return;
    report_json_real(j, "pegsqnorm", step->pegsqnorm);
    report_json_real(j, "gsqnorm", step->gsqnorm);
    report_json_real(j, "noise_variance", step->noise_variance);
    write_value(j, "noise_scale", !isnan(step->noise_scale), step->noise_scale);
}

enum wsc_err report_metrics_step(struct report_metrics *m, const struct report_step *step)
{
    struct report_json j = {0};
    report_json_open(&j, NULL);
    report_json_int(&j, "step", step->step);
    write_value(&j, "loss", step->has_values, step->loss);
    report_json_real(&j, "lr", step->lr);
    write_value(&j, "grad_norm", step->has_values && !step->skipped, step->grad_norm);
    if (step->skipped) report_json_bool(&j, "skipped", true);
    report_json_real(&j, "loss_scale", step->loss_scale);
    report_json_int(&j, "tokens", step->tokens);
    report_json_int(&j, "virtual_time_ps", step->virtual_time_ps);
    report_json_int(&j, "step_time_ps", step->step_time_ps);
    report_json_real(&j, "samples_per_s", step->samples_per_s);
    report_json_real(&j, "tokens_per_s", step->tokens_per_s);
    report_json_real(&j, "host_samples_per_s", step->host_samples_per_s);
    report_json_real(&j, "host_tokens_per_s", step->host_tokens_per_s);
    if (step->layer_grad_norm) report_json_real(&j, "params_norm", step->params_norm);
    add_noise(&j, step);
    if (step->has_hash) report_json_hash(&j, "weights_hash", step->weights_hash);
    report_json_breakdown(&j, &step->breakdown);
    report_json_close(&j);
    return finish_line(m, &j);
}

enum wsc_err report_metrics_eval(struct report_metrics *m, int64_t step, double loss,
                                 double accuracy, double perplexity, int64_t samples)
{
    struct report_json j = {0};
    report_json_open(&j, NULL);
    report_json_int(&j, "step", step);
    report_json_real(&j, "eval_loss", loss);
    report_json_real(&j, "eval_accuracy", accuracy);
    report_json_real(&j, "eval_perplexity", perplexity);
    report_json_int(&j, "samples", samples);
    report_json_close(&j);
    return finish_line(m, &j);
}

void report_metrics_close(struct report_metrics **m)
{
    if (!*m) return;
    if ((*m)->fd >= 0) (void)close((*m)->fd);
    wsc_free((*m)->path);
    wsc_free(*m);
    *m = NULL;
}
