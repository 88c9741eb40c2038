// SPDX-License-Identifier: Apache-2.0
/* Generation: keys and values of all positions stay, so that a new token costs one row of every
 * product.  Rows keep their places (sample T + position); only those of new positions are computed.
 */
#include "host_cache.h"
#include "host_buffers.h"
#include "host_state.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <string.h>

int64_t host_cache_bytes(const struct model *m, int64_t n_tokens)
{
    int64_t bytes;
    const int64_t per_token = 2 * model_kv_features(m) * num_format_bytes(m->format);
    if (__builtin_mul_overflow(m->L * per_token, n_tokens, &bytes)) return INT64_MAX;
    return bytes;
}

/* Made on first use, because only generation needs it; host_destroy() frees it. */
enum wsc_err host_cache_create(struct host *k)
{
    if (k->cache) return WSC_OK;
    k->cache = wsc_alloc_raw(WSC_MEM_KERNELS, (size_t)host_cache_bytes(k->model, k->max_rows), 1);
    if (k->cache) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_NOMEM,
                                  "no memory for the keys and values of %lld texts of "
                                  "%lld tokens",
                                  (long long)k->max_samples, (long long)k->model->T),
                        "fewer prompts, or a shorter max_position_embeddings");
}

void host_cache_rows(struct host *k, const struct host_span *b)
{
    const struct model *m = k->model;
    const int64_t l = k->stage.layer, q = model_q_features(m), width = model_qkv_features(m);
    const void *qkv = host_kept_operands(k, HOST_QKV, l, width);
    for (int64_t row = b->row; row < b->row + b->n; row++)
        memcpy(host_cached_row(k, l, row), host_const_at(k, qkv, row * width + q),
               (size_t)((width - q) * num_format_bytes(m->format)));
}
