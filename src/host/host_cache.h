/** Keys and values of generated texts, kept from step to step: of each layer and row the key
 *  features, then the value features, as operands of products. */
#ifndef WSC_HOST_CACHE_H
#define WSC_HOST_CACHE_H
#include "host_buffers.h"
#include "host_state.h"

#include <wsc/err.h>
#include <wsc/model.h>

#include <stdint.h>

/** Room for them; nothing when it is there already. */
enum wsc_err host_cache_create(struct host *k) WSC_CHECKED;
/** Put those of a block's rows in, from HOST_QKV. */
void host_cache_rows(struct host *k, const struct host_span *b);
/** Row @p row of the cached keys of layer @p layer, the values after them. */
static inline void *host_cached_row(const struct host *k, int64_t layer, int64_t row)
{
    return host_at(k, k->cache, (layer * k->max_rows + row) * 2 * model_kv_features(k->model));
}
#endif
