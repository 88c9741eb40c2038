/** Keys and values of generated texts, kept from step to step: of each layer and row the key
 *  features, then the value features, as operands of products. */
#ifndef WSC_HOST_CACHE_H
#define WSC_HOST_CACHE_H
#include "host_buffers.h"
#include "host_state.h"

#include <wsc/err.h>
#include <wsc/model.h>

#include <stdint.h>

/** Allocate the caches, unless they exist. */
enum wsc_err host_cache_create(struct host *k) WSC_CHECKED;
/** Copy the keys and values of a block's rows from HOST_QKV to the cache. */
void host_cache_rows(struct host *k, const struct host_span *b);
/** Beam search: copy to each of @p n_texts texts the known rows of the text that it continues. */
enum wsc_err host_cache_take(struct host *k, const struct data_step *step,
                             int64_t n_texts) WSC_CHECKED;
/** The cached keys of row @p row in layer @p layer of the decoder; its values follow them. */
static inline void *host_cached_row(const struct host *k, int64_t layer, int64_t row)
{
    const int64_t T = k->model->stack[k->model->n_stacks - 1].T;
    return host_at(k, k->cache,
                   (layer * k->max_samples * T + row) * 2 * model_kv_features(k->model));
}
/** Keys and values of the encoder's output in layer @p layer of the decoder, row by row. */
static inline void *host_cached_memory(const struct host *k, int64_t layer)
{
    const int64_t T = k->model->stack[0].T;
    return host_at(k, k->cross_cache, layer * k->max_samples * T * 2 * model_kv_features(k->model));
}
#endif
