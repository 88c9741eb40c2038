// SPDX-License-Identifier: Apache-2.0
/* Cuts tensors over MemoryX shards, in whole blocks of STREAM_BLOCK_ELEMS elements, tensor by
 * tensor. The part of a shard of a stage is the sequence of its parts of the stage's tensors, so a
 * range of the whole vector is a range of each part. Bytes on the emulated links are striped evenly
 * instead, as on the real machine. Called by stream_parts.c, stream_transfer.c and memoryx. */
#include "stream_striping.h"

#include "stream_even.h"

#include <string.h>

void stream_part(int64_t n_elems, int m, int n_shards, int64_t *first, int64_t *n)
{
    int64_t n_blocks = (n_elems + STREAM_BLOCK_ELEMS - 1) / STREAM_BLOCK_ELEMS;
    int64_t begin = stream_even_start(n_blocks, m, n_shards) * STREAM_BLOCK_ELEMS;
    int64_t end = stream_even_start(n_blocks, m + 1, n_shards) * STREAM_BLOCK_ELEMS;
    *first = begin < n_elems ? begin : n_elems;
    *n = (end < n_elems ? end : n_elems) - *first;
}

/* Elements of a view that are sent: no gradients of a frozen tensor. */
static int64_t elems_of_view(const struct model *model, const struct model_stage *st, int v,
                             bool gradients)
{
    const struct model_tensor *t = &model->tensor[st->view[v].tensor];
    return gradients ? model_gradient_elems(t, NULL) : t->n_elems;
}

/* A run: elements [from, end) of the whole vector, which begin at element `at` of a shard's part.
 */
struct run {
    int64_t from, end, at;
};

/* The run of a view of @p n_elems elements, cut at element @p end. The view begins at *@p offset of
 * the whole vector, its part at *@p done of the shard's part; both are moved to the end of the run.
 */
static struct run run_of_view(int64_t n_elems, struct stream_part_of of, int64_t end,
                              int64_t *offset, int64_t *done)
{
    int64_t first, n;
    stream_part(n_elems, of.m, of.n_shards, &first, &n);
    struct run r = {*offset + first, *offset + first + n, *done};
    *offset += n_elems;
    *done += n;
    if (r.end > end) r.end = end > r.from ? end : r.from;
    return r;
}

int64_t stream_part_before(const struct model *model, int stage, struct stream_part_of of,
                           bool gradients, int64_t end)
{
    const struct model_stage *st = &model->stage[stage];
    int64_t offset = 0, done = 0, before = 0;
    for (int v = 0; v < st->n_views && offset < end; v++) {
        const struct run r =
            run_of_view(elems_of_view(model, st, v, gradients), of, end, &offset, &done);
        before += r.end - r.from;
    }
    return before;
}

int64_t stream_stage_part_elems(const struct model *model, int stage, int m, int n_shards)
{
    return stream_part_before(model, stage, (struct stream_part_of){m, n_shards}, false, INT64_MAX);
}

int64_t stream_stage_part_grads(const struct model *model, int stage, int m, int n_shards)
{
    return stream_part_before(model, stage, (struct stream_part_of){m, n_shards}, true, INT64_MAX);
}

/* A copy between a whole stage vector and the part of a shard. */
struct part_copy {
    char *whole, *part;
    int64_t elem_bytes;
    struct stream_range range; /* range of the whole vector */
    bool to_whole, gradients;
};

static void copy_part(const struct model *model, int stage, struct stream_part_of of,
                      const struct part_copy *c)
{
    const struct model_stage *st = &model->stage[stage];
    int64_t done = 0, offset = 0;
    for (int v = 0; v < st->n_views && offset < c->range.end; v++) {
        const struct run r = run_of_view(elems_of_view(model, st, v, c->gradients), of,
                                         c->range.end, &offset, &done);
        const int64_t skipped = c->range.first > r.from ? c->range.first - r.from : 0;
        if (r.from + skipped >= r.end) continue;
        char *whole = c->whole + (r.from + skipped) * c->elem_bytes;
        char *part = c->part + (r.at + skipped) * c->elem_bytes;
        memcpy(c->to_whole ? whole : part, c->to_whole ? part : whole,
               (size_t)((r.end - r.from - skipped) * c->elem_bytes));
    }
}

void stream_part_scatter(const struct model *model, int stage, struct stream_part_of of,
                         struct stream_range range, int64_t elem_bytes, const void *part,
                         void *whole)
{
    /* The cast only removes const: to_whole reads the part. */
    const struct part_copy c = {.whole = whole,
                                .part = (char *)(uintptr_t)part,
                                .elem_bytes = elem_bytes,
                                .range = range,
                                .to_whole = true};
    copy_part(model, stage, of, &c);
}

void stream_part_gather(const struct model *model, int stage, struct stream_part_of of,
                        struct stream_range range, const float *whole, float *part)
{
    const struct part_copy c = {.whole = (char *)(uintptr_t)whole,
                                .part = (char *)part,
                                .elem_bytes = sizeof *part,
                                .range = range,
                                .gradients = true};
    copy_part(model, stage, of, &c);
}

int64_t stream_per_shard(int64_t amount, int n_shards)
{
    return (amount + n_shards - 1) / n_shards;
}
