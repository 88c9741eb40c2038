// SPDX-License-Identifier: Apache-2.0
#include "report_impl.h"

#include <wsc/mem.h>

#include <errno.h>
#include <math.h>
#include <string.h>

static void add_provenance(struct report_json *j, const struct report_performance *p)
{
    char date[REPORT_DATE_SIZE], host[256];
    report_date(date);
    report_host(host, sizeof host);
    report_json_open(j, "provenance");
    report_json_str(j, "program", report_version());
    report_json_str(j, "command", p->command);
    report_json_str(j, "host", host);
    report_json_str(j, "date", date);
    report_json_str(j, "params_file", p->params_file);
    report_json_str(j, "cluster_file", p->cluster_file);
    report_json_str(j, "cluster_name", p->cluster_name);
    report_json_hash(j, "cluster_hash", p->cluster_hash);
    report_json_close(j);
}

/* "kernels": what the mesh counted, beside the closed forms. */
static void add_kernels(struct report_json *j, const struct report_performance *p)
{
    if (!p->n_kernels) return;
    report_json_open_list(j, "kernels");
    for (int i = 0; i < p->n_kernels; i++) {
        const struct report_kernel *k = &p->kernel[i];
        report_json_open(j, NULL);
        report_json_str(j, "kernel", k->kernel);
        report_json_str(j, "pass", k->pass);
        report_json_int(j, "calls", k->calls);
        report_json_int(j, "cycles", k->cycles);
        report_json_int(j, "closed_form_cycles", k->form_cycles);
        report_json_int(j, "time_ps", k->time_ps);
        report_json_close(j);
    }
    report_json_close_list(j);
}

/* "faults": the virtual time of the training with all of them, and without this one. */
static void add_faults(struct report_json *j, const struct report_performance *p)
{
    if (!p->n_faults) return;
    report_json_int(j, "recovery_ps", p->recovery_ps);
    report_json_open_list(j, "faults");
    for (int i = 0; i < p->n_faults; i++) {
        const struct report_fault *f = &p->fault[i];
        report_json_open(j, NULL);
        report_json_str(j, "fault", f->fault);
        report_json_int(j, "events", f->n_events);
        report_json_int(j, "time_ps", f->with_ps);
        report_json_int(j, "time_without_ps", f->without_ps);
        report_json_int(j, "cost_ps", f->with_ps - f->without_ps);
        report_json_int(j, "repeated_tokens", f->repeated_tokens);
        report_json_close(j);
    }
    report_json_close_list(j);
}

static void add_generation(struct report_json *j, const struct report_generation *g)
{
    report_json_open(j, "generation");
    report_json_int(j, "prompts", g->prompts);
    report_json_int(j, "prompt_tokens", g->prompt_tokens);
    report_json_int(j, "new_tokens", g->new_tokens);
    report_json_int(j, "first_token_ps", g->first_token_ps);
    report_json_int(j, "token_ps", g->token_ps);
    report_json_int(j, "cache_bytes_per_wafer", g->cache_bytes_per_wafer);
    report_json_close(j);
}

/* Samples are sequences of training. */
static void add_samples(struct report_json *j, const struct report_performance *p)
{
    report_json_real(j, "rate", p->rate);
    report_json_real(j, "global_rate", p->global_rate);
    report_json_real(j, "samples_per_sec", p->global_rate);
    report_json_int(j, "total_samples", p->steps * p->global_batch_size);
}

static void add_performance(struct report_json *j, const struct report_performance *p)
{
    report_json_open(j, NULL);
    report_json_str(j, "model", p->model_name);
    report_json_int(j, "num_csx", p->num_csx);
    report_json_int(j, "ranks", p->ranks);
    report_json_int(j, "roles", p->roles);
    report_json_int(j, "params", p->params);
    report_json_int(j, "global_batch_size", p->global_batch_size);
    report_json_int(j, "micro_batch_size", p->micro_batch_size);
    report_json_int(j, "steps", p->steps);
    report_json_str(j, "numerics", p->numerics);
    report_json_int(j, "virtual_time_ps", p->virtual_time_ps);
    if (p->generation)
        add_generation(j, p->generation);
    else
        add_samples(j, p);
    report_json_real(j, "total_time", (double)p->virtual_time_ps * 1e-12);
    report_json_real(j, "samples_per_s", p->samples_per_s);
    report_json_real(j, "tokens_per_s", p->tokens_per_s);
    if (!p->generation) report_json_real(j, "mfu", p->mfu);
    report_json_real(j, "joules_per_token", p->joules_per_token);
    if (p->noise_scale && isnan(*p->noise_scale)) report_json_null(j, "gradient_noise_scale");
    if (p->noise_scale && !isnan(*p->noise_scale))
        report_json_real(j, "gradient_noise_scale", *p->noise_scale);
    report_json_real(j, "host_seconds", p->host_seconds);
    report_json_real(j, "host_tokens_per_s", p->host_tokens_per_s);
    report_json_breakdown(j, &p->breakdown);
    report_json_open(j, "host_memory");
    report_json_int(j, "wafer_peak_rss_bytes", p->wafer_peak_rss_bytes);
    report_json_int(j, "wafer_activation_bytes", p->wafer_activation_bytes);
    report_json_int(j, "memoryx_peak_rss_bytes", p->memoryx_peak_rss_bytes);
    report_json_close(j);
    add_kernels(j, p);
    add_faults(j, p);
    add_provenance(j, p);
    report_json_close(j);
}

enum wsc_err report_performance_write(const char *dir, const struct report_performance *p)
{
    enum wsc_err rc;
    struct report_json j = {.pretty = true};
    char *path = report_path(dir, "performance.json");
    TRY_GOTO(path ? WSC_OK : WSC_NOMEM, cleanup);
    add_performance(&j, p);
    TRY_GOTO(report_json_check(&j, path), cleanup);
    TRY_GOTO(report_write_text(path, j.text.bytes), cleanup);
cleanup:
    report_text_free(&j.text);
    wsc_free(path);
    return rc;
}

enum wsc_err report_performance_print(const struct report_performance *p)
{
    struct report_json j = {.pretty = true};
    add_performance(&j, p);
    enum wsc_err rc = report_json_check(&j, "performance");
    if (!rc && (fputs(j.text.bytes, stdout) < 0 || fflush(stdout)))
        rc = WSC_RAISE(WSC_IO, "standard output cannot be written: %s", strerror(errno));
    report_text_free(&j.text);
    return rc;
}
