// SPDX-License-Identifier: Apache-2.0
/* `wsc convert`: checkpoints from and to Hugging Face, and adapters into their matrices.  The work
 * is that of module convert; here the direction is chosen and the result printed. */
#include "cmd.h"
#include "option_parse.h"
#include "requests.h"

#include <wsc/convert.h>
#include <wsc/report.h>

#include <stdio.h>

/* Progress in values of the input. */
static void show_progress(void *unused, int64_t done, int64_t total)
{
    (void)unused;
    out_progress_at("convert", done, total, "values");
}

/* Make a checkpoint and its params, from a Hugging Face folder or by merging adapters, and print
 * what was made. */
static enum wsc_err to_cs(const struct convert_job *job, bool merge)
{
    struct convert_result r;
    enum wsc_err rc = merge ? convert_merge_adapters(job, &r) : convert_from_hf(job, &r);
    out_progress_end();
    TRY(rc);
    (void)printf("%s: %lld tensors, %lld parameters\nwrote %s and %s\n", r.family,
                 (long long)r.n_tensors, (long long)r.n_params, r.checkpoint, r.params);
    return WSC_OK;
}

/* Convert a checkpoint and print what was made. */
static enum wsc_err to_hf(const struct convert_job *job)
{
    struct convert_result r;
    enum wsc_err rc = convert_to_hf(job, &r);
    out_progress_end();
    TRY(rc);
    (void)printf("%s: %lld tensors, %lld parameters\nwrote %s, %lld file%s\n", r.family,
                 (long long)r.n_tensors, (long long)r.n_params, job->out, (long long)r.n_files,
                 wsc_plural(r.n_files));
    return WSC_OK;
}

enum wsc_err app_run_convert(struct app_call *call)
{
    enum { HF };
    struct app_convert *o = call->request;
    o->job.progress = show_progress;
    out_progress_start("convert", 0);
    o->job.dtype = app_given(call, "dtype") ? (enum convert_dtype)o->dtype : CONVERT_OTHER;
    o->job.set = o->config.set;
    o->job.n_sets = o->config.n_sets;
    if (o->from != HF || o->to != HF)
        return o->to == HF ? to_hf(&o->job) : to_cs(&o->job, o->from != HF);
    return wsc_err_hint(
        WSC_RAISE(WSC_USAGE, "--from and --to name the same format"),
        "--from hf --to cs, --from cs --to hf, or --from cs --to cs to merge adapters");
}
