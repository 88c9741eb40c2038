// SPDX-License-Identifier: Apache-2.0
#include <wsc/stream.h>

#include <wsc/mem.h>

#include <string.h>

/* Part @p i of @p n nearly equal contiguous parts of @p total: the first ones get one more. */
static int64_t part_start(int64_t total, int64_t i, int64_t n)
{
    int64_t base = total / n, rest = total % n;
    return i * base + (i < rest ? i : rest);
}

/* Leaves of the first @p n wafers, when those below @p rest have @p more and the others @p less. */
static int64_t wafers_leaves(int64_t n, int64_t rest, int64_t more, int64_t less)
{
    return n < rest ? n * more : rest * more + (n - rest) * less;
}

void stream_leaves(const struct stream_batch *b, int64_t micro, int w_first, int w_end,
                   int64_t *first, int64_t *end)
{
    /* Wafers below `rest` get one leaf more; each wafer cuts its own share into micro-batches, so
     * that totals stay even whatever their number. */
    const int64_t n = b->n_wafers, share = b->n_leaves / n, rest = b->n_leaves % n;
    const int64_t start_more = part_start(share + 1, micro, b->n_micro);
    const int64_t start_less = part_start(share, micro, b->n_micro);
    const int64_t n_more = part_start(share + 1, micro + 1, b->n_micro) - start_more;
    const int64_t n_less = part_start(share, micro + 1, b->n_micro) - start_less;
    const int64_t micro_first = rest * start_more + (n - rest) * start_less;
    *first = micro_first + wafers_leaves(w_first, rest, n_more, n_less);
    *end = micro_first + wafers_leaves(w_end, rest, n_more, n_less);
}

void stream_subtrees(const struct stream_batch *b, int64_t micro, int w_first, int w_end,
                     struct num_nodes *out)
{
    int64_t first, end;
    stream_leaves(b, micro, w_first, w_end, &first, &end);
    num_nodes_of_range(out, first, end, b->n_leaves);
}

int64_t stream_samples(const struct stream_batch *b, int64_t first_leaf, int64_t end_leaf)
{
    int64_t first = first_leaf * b->leaf_samples, end = end_leaf * b->leaf_samples;
    if (first > b->batch_size) first = b->batch_size;
    if (end > b->batch_size) end = b->batch_size;
    return end - first;
}

int64_t stream_max_samples(const struct stream_batch *b)
{
    /* Micro-batch 0 is among the largest, and the first wafer's share of it too. */
    int64_t first, end;
    stream_leaves(b, 0, 0, 1, &first, &end);
    return stream_samples(b, first, end);
}

void stream_slice(int64_t n_elems, int m, int n_shards, int64_t *first, int64_t *n)
{
    int64_t n_blocks = (n_elems + STREAM_BLOCK_ELEMS - 1) / STREAM_BLOCK_ELEMS;
    int64_t begin = part_start(n_blocks, m, n_shards) * STREAM_BLOCK_ELEMS;
    int64_t end = part_start(n_blocks, m + 1, n_shards) * STREAM_BLOCK_ELEMS;
    *first = begin < n_elems ? begin : n_elems;
    *n = (end < n_elems ? end : n_elems) - *first;
}

int64_t stream_stage_slice_elems(const struct model *model, int stage, int m, int n_shards)
{
    const struct model_stage *st = &model->stage[stage];
    int64_t total = 0, first, n;
    for (int v = 0; v < st->n_views; v++) {
        stream_slice(model->tensor[st->view[v].tensor].n_elems, m, n_shards, &first, &n);
        total += n;
    }
    return total;
}

/* Where the parts of a slice lie in the whole vector: calls @p copy for each. */
struct slice_copy {
    char *whole, *slice;
    int64_t elem_bytes;
    bool to_whole;
};

static void copy_slice(const struct model *model, int stage, int m, int n_shards,
                       const struct slice_copy *c)
{
    const struct model_stage *st = &model->stage[stage];
    int64_t done = 0, first, n;
    for (int v = 0; v < st->n_views; v++) {
        stream_slice(model->tensor[st->view[v].tensor].n_elems, m, n_shards, &first, &n);
        char *whole = c->whole + (st->view[v].offset + first) * c->elem_bytes;
        char *slice = c->slice + done * c->elem_bytes;
        size_t bytes = (size_t)(n * c->elem_bytes);
        if (bytes) memcpy(c->to_whole ? whole : slice, c->to_whole ? slice : whole, bytes);
        done += n;
    }
}

void stream_slice_scatter(const struct model *model, int stage, int m, int n_shards,
                          const void *slice, void *stage_vector, int64_t elem_bytes)
{
    /* The cast only drops const: to_whole reads the slice. */
    struct slice_copy c = {stage_vector, (char *)(uintptr_t)slice, elem_bytes, true};
    copy_slice(model, stage, m, n_shards, &c);
}

void stream_slice_gather(const struct model *model, int stage, int m, int n_shards,
                         const void *stage_vector, void *slice, int64_t elem_bytes)
{
    struct slice_copy c = {(char *)(uintptr_t)stage_vector, slice, elem_bytes, false};
    copy_slice(model, stage, m, n_shards, &c);
}

int64_t stream_weight_bytes(const struct model *model, int stage)
{
    return model->stage[stage].n_elems * num_format_bytes(model->format);
}

int64_t stream_grad_bytes(const struct model *model, int stage)
{
    /* Hall, Schreiber, Lie: 32 bits per parameter and direction; gradients go up in 32 bits. */
    enum { GRADIENT_BYTES = 4 };
    return model->stage[stage].n_elems * GRADIENT_BYTES;
}

int64_t stream_per_shard_bytes(int64_t bytes, int n_shards)
{
    return (bytes + n_shards - 1) / n_shards;
}
