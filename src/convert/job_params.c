// SPDX-License-Identifier: Apache-2.0
/* Reads the params of a conversion, with the warnings that a run with them would print, verifies
 * and opens its checkpoint, and warns of a sliding window, which current versions of the
 * transformers library count otherwise. */
#include "job_params.h"

#include <wsc/log.h>
#include <wsc/mem.h>

enum wsc_err convert_parse_params(struct zoo_params *params, const struct convert_job *job,
                                  const char *file, const char *bytes, size_t n)
{
    TRY(zoo_params_parse(params, file, bytes, n, job->set, job->n_sets));
    zoo_params_log(params);
    return WSC_OK;
}

enum wsc_err convert_read_params(struct zoo_params *params, const struct convert_job *job)
{
    char *bytes = NULL;
    size_t n = 0;
    TRY(conf_read_file(job->params, &bytes, &n));
    const enum wsc_err rc = convert_parse_params(params, job, job->params, bytes, n);
    wsc_free(bytes);
    return rc;
}

enum wsc_err convert_open_checkpoint(struct store_file **out, const struct convert_job *job)
{
    *out = NULL;
    TRY(store_check(job->input));
    return store_open(out, job->input);
}

void convert_warn_window(const struct model *m, bool to_hf)
{
    if (!m->window || m->window >= m->T) return;
    WSC_WARNING("sliding window of %lld: a token sees itself and the %lld before it here, and one "
                "less in current versions of the transformers library; hint: %s with the same mask "
                "have attention_sliding_window_length %lld",
                (long long)m->window, (long long)m->window, to_hf ? "params of a folder" : "params",
                (long long)(to_hf ? m->window + 1 : m->window - 1));
}
