// SPDX-License-Identifier: Apache-2.0
/* Divides a global batch over wafers and micro-batches. Each wafer gets a contiguous range of
 * micro-shards; shares differ by at most one micro-shard; each wafer cuts its own share into
 * micro-batches. The micro-shards depend on the batch alone, so their sums have equal bits on any
 * number of wafers. All roles and the plan of a run call these functions. The emulated wafers
 * always have these shares; the values that this host computes may be divided otherwise
 * (stream_cuts.c). */
#include <wsc/stream.h>

#include "stream_even.h"

/* Micro-shards of the first @p n wafers, if the first @p remainder ones have @p more and the others
 * @p less. */
static int64_t of_wafers(int64_t n, int64_t remainder, int64_t more, int64_t less)
{
    return n < remainder ? n * more : remainder * more + (n - remainder) * less;
}

static void even_shares(const struct stream_batch *b, int64_t micro, int w_first, int w_end,
                        int64_t *first, int64_t *end)
{
    /* Wafers below `remainder` get one micro-shard more. Each wafer cuts its own share into
     * micro-batches, so that totals are even for any number of micro-batches. */
    const int64_t n = b->n_wafers, share = b->n_micro_shards / n, remainder = b->n_micro_shards % n;
    const int64_t start_more = stream_even_start(share + 1, micro, b->n_micro);
    const int64_t start_less = stream_even_start(share, micro, b->n_micro);
    const int64_t n_more = stream_even_start(share + 1, micro + 1, b->n_micro) - start_more;
    const int64_t n_less = stream_even_start(share, micro + 1, b->n_micro) - start_less;
    const int64_t micro_first = remainder * start_more + (n - remainder) * start_less;
    *first = micro_first + of_wafers(w_first, remainder, n_more, n_less);
    *end = micro_first + of_wafers(w_end, remainder, n_more, n_less);
}

void stream_micro_shards(const struct stream_batch *b, int64_t micro, int w_first, int w_end,
                         int64_t *first, int64_t *end)
{
    if (!b->cut) {
        even_shares(b, micro, w_first, w_end, first, end);
        return;
    }
    *first = b->cut[micro * b->n_wafers + w_first];
    *end = b->cut[micro * b->n_wafers + w_end];
}

int64_t stream_timed_samples(const struct stream_batch *b, int64_t micro, int w)
{
    int64_t first, end;
    even_shares(b, micro, w, w + 1, &first, &end);
    return stream_samples(b, first, end);
}

void stream_subtrees(const struct stream_batch *b, int64_t micro, int w_first, int w_end,
                     struct num_nodes *out)
{
    int64_t first, end;
    stream_micro_shards(b, micro, w_first, w_end, &first, &end);
    num_nodes_of_range(out, first, end, b->n_micro_shards);
}

int64_t stream_samples(const struct stream_batch *b, int64_t first, int64_t end)
{
    first *= b->micro_shard_samples;
    end *= b->micro_shard_samples;
    if (first > b->batch_size) first = b->batch_size;
    if (end > b->batch_size) end = b->batch_size;
    return end - first;
}

int64_t stream_max_samples(const struct stream_batch *b)
{
    /* If shares are even, micro-batch 0 and the first wafer's share of it are among the largest. */
    int64_t most = stream_timed_samples(b, 0, 0);
    for (int64_t i = 0; b->cut && i < b->n_micro * b->n_wafers; i++) {
        const int64_t n = stream_samples(b, b->cut[i], b->cut[i + 1]);
        if (n > most) most = n;
    }
    return most;
}
