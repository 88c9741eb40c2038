// SPDX-License-Identifier: Apache-2.0
/* performance.json: totals of a run, where its time went, and provenance.
 *
 * The same object goes to the file and, with --json, to standard output.  Names that end in _ps and
 * total_time are of the emulated machine's clock, names that begin with host_ of this host's. */
#include "job_performance.h"
#include "json_breakdown.h"

#include <wsc/mem.h>
#include <wsc/out.h>
#include <wsc/units.h>

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

static void add_provenance(struct out_json *j, const struct job_performance *p)
{
    char date[OUT_DATE_SIZE], host[256];
    out_date(date);
    out_host(host, sizeof host);
    out_json_open(j, "provenance");
    out_json_str(j, "program", out_version());
    out_json_str(j, "command", p->command);
    out_json_str(j, "host", host);
    out_json_str(j, "date", date);
    out_json_str(j, "params_file", p->params_file);
    out_json_str(j, "cluster_file", p->cluster_file);
    out_json_str(j, "cluster_name", p->cluster_name);
    out_json_hash(j, "cluster_hash", p->cluster_hash);
    out_json_close(j);
}

/* "kernels": what the mesh counted, beside the analytical model. */
static void add_kernels(struct out_json *j, const struct job_performance *p)
{
    if (!p->n_kernels) return;
    out_json_open_list(j, "kernels");
    for (int i = 0; i < p->n_kernels; i++) {
        const struct job_kernel *k = &p->kernel[i];
        if (!k->calls) continue; /* the model has no such operation */
        out_json_open(j, NULL);
        out_json_str(j, "kernel", k->kernel);
        out_json_str(j, "pass", k->pass);
        out_json_int(j, "calls", k->calls);
        out_json_int(j, "cycles", k->cycles);
        out_json_int(j, "analytical_cycles", k->analytical_cycles);
        out_json_int(j, "time_ps", k->time_ps);
        out_json_close(j);
    }
    out_json_close_list(j);
}

/* "faults": the virtual time of the run with all of them, and without this one. */
static void add_faults(struct out_json *j, const struct job_performance *p)
{
    if (!p->n_faults) return;
    out_json_int(j, "recovery_ps", p->recovery_ps);
    out_json_int(j, "evaluation_ps", p->evaluation_ps);
    out_json_open_list(j, "faults");
    for (int i = 0; i < p->n_faults; i++) {
        const struct job_fault_cost *f = &p->fault[i];
        out_json_open(j, NULL);
        out_json_str(j, "fault", f->fault);
        out_json_int(j, "events", f->n_events);
        out_json_int(j, "time_ps", f->with_ps);
        out_json_int(j, "time_without_ps", f->without_ps);
        out_json_int(j, "cost_ps", f->with_ps - f->without_ps);
        out_json_int(j, "repeated_tokens", f->repeated_tokens);
        out_json_close(j);
    }
    out_json_close_list(j);
}

/* With --json the texts go into the object, as stdout holds nothing else then. */
static void add_generation(struct out_json *j, const struct job_generation *g)
{
    out_json_open(j, "generation");
    out_json_int(j, "prompts", g->prompts);
    out_json_int(j, "prompt_tokens", g->prompt_tokens);
    out_json_int(j, "new_tokens", g->new_tokens);
    out_json_int(j, "first_token_ps", g->first_token_ps);
    out_json_int(j, "token_ps", g->token_ps);
    out_json_int(j, "cache_bytes_per_wafer", g->cache_bytes_per_wafer);
    if (g->texts) out_json_open_list(j, "texts");
    const char *text = g->texts;
    for (int64_t i = 0; text && i < g->prompts; i++, text += strlen(text) + 1)
        out_json_str(j, NULL, text);
    if (g->texts) out_json_close_list(j);
    if (g->scores) out_json_open_list(j, "scores");
    for (int64_t i = 0; g->scores && i < g->prompts; i++)
        out_json_real(j, NULL, g->scores[i]);
    if (g->scores) out_json_close_list(j);
    out_json_close(j);
}

/* The Model Zoo's names stand beside ours: scripts that read its performance.json find them. */
static void add_samples(struct out_json *j, const struct job_performance *p)
{
    out_json_real(j, "rate", p->rate);
    out_json_real(j, "global_rate", p->global_rate);
    out_json_real(j, "samples_per_sec", p->global_rate);
    out_json_int(j, "total_samples", p->steps * p->global_batch_size);
}

/* Fields of the Model Zoo's own file keep its names; total_time_clock says whose seconds these are.
 */
static void add_performance(struct out_json *j, const struct job_performance *p)
{
    out_json_open(j, NULL);
    out_json_str(j, "model", p->model_name);
    out_json_int(j, "num_csx", p->num_csx);
    out_json_int(j, "ranks", p->ranks);
    out_json_int(j, "roles", p->roles);
    out_json_int(j, "params", p->params);
    out_json_int(j, "global_batch_size", p->global_batch_size);
    out_json_int(j, "micro_batch_size", p->micro_batch_size);
    if (!p->generation) out_json_int(j, "first_step", p->first_step);
    out_json_int(j, "steps", p->steps);
    out_json_str(j, "numerics", p->numerics);
    out_json_int(j, "virtual_time_ps", p->virtual_time_ps);
    if (p->generation)
        add_generation(j, p->generation);
    else
        add_samples(j, p);
    out_json_real(j, "total_time", wsc_seconds((double)p->virtual_time_ps));
    out_json_str(j, "total_time_clock", "emulated");
    out_json_real(j, "samples_per_s", p->samples_per_s);
    out_json_real(j, "tokens_per_s", p->tokens_per_s);
    if (!p->generation) out_json_real(j, "mfu", p->mfu);
    out_json_real(j, "joules_per_token", p->joules_per_token);
    if (p->noise_scale && isnan(*p->noise_scale)) out_json_null(j, "gradient_noise_scale");
    if (p->noise_scale && !isnan(*p->noise_scale))
        out_json_real(j, "gradient_noise_scale", *p->noise_scale);
    out_json_real(j, "host_seconds", p->host_seconds);
    out_json_real(j, "host_tokens_per_s", p->host_tokens_per_s);
    out_json_int(j, "host_sent_bytes", p->host_sent_bytes);
    job_json_breakdown(j, &p->breakdown);
    out_json_open(j, "host_memory");
    out_json_int(j, "wafer_peak_rss_bytes", p->wafer_peak_rss_bytes);
    out_json_int(j, "wafer_activation_bytes", p->wafer_activation_bytes);
    out_json_int(j, "memoryx_peak_rss_bytes", p->memoryx_peak_rss_bytes);
    out_json_close(j);
    add_kernels(j, p);
    job_payload_json(j, &p->payload);
    add_faults(j, p);
    add_provenance(j, p);
    out_json_close(j);
}

enum wsc_err job_performance_write(const char *dir, const struct job_performance *p)
{
    enum wsc_err rc;
    struct out_json j = {.pretty = true};
    char *path = out_file_path(dir, "performance.json");
    TRY_GOTO(path ? WSC_OK : WSC_NOMEM, cleanup);
    if (p->steps == 0 && !access(path, F_OK)) goto cleanup;
    add_performance(&j, p);
    TRY_GOTO(out_json_check(&j, path), cleanup);
    TRY_GOTO(out_write_text(path, j.text.bytes), cleanup);
cleanup:
    wsc_text_free(&j.text);
    wsc_free(path);
    return rc;
}

/* The object to stdout, at once: what follows on stderr is later. */
static WSC_CHECKED enum wsc_err print_object(struct out_json *j, const char *what)
{
    enum wsc_err rc = out_json_check(j, what);
    if (!rc && (fputs(j->text.bytes, stdout) < 0 || fflush(stdout)))
        rc = WSC_RAISE(WSC_IO, "standard output cannot be written: %s", strerror(errno));
    wsc_text_free(&j->text);
    return rc;
}

enum wsc_err job_performance_print(const struct job_performance *p)
{
    struct out_json j = {.pretty = true};
    add_performance(&j, p);
    return print_object(&j, "performance");
}

enum wsc_err job_evaluation_print(const struct job_evaluation *e)
{
    struct out_json j = {.pretty = true};
    out_json_open(&j, NULL);
    out_json_str(&j, "mode", "eval");
    out_json_int(&j, "step", e->step);
    out_json_int(&j, "num_csx", e->num_csx);
    out_json_int(&j, "batches", e->batches);
    out_json_int(&j, "samples", e->samples);
    out_json_finite(&j, "eval_loss", e->loss);
    for (int i = 0; i < e->n_scores; i++)
        out_json_finite(&j, e->score[i].key, e->score[i].value);
    out_json_int(&j, "virtual_time_ps", e->virtual_time_ps);
    out_json_real(&j, "samples_per_s", e->samples_per_s);
    job_payload_json(&j, &e->payload);
    out_json_close(&j);
    return print_object(&j, "evaluation");
}
