// SPDX-License-Identifier: Apache-2.0
/* How tensors are cut over MemoryX shards: in whole blocks of STREAM_BLOCK_ELEMS elements, tensor
 * by tensor; a shard's part of a stage is the row of its parts of the stage's tensors.  What
 * travels on the emulated links is striped evenly instead, as on the real machine.  Called by
 * stream_transfer.c and memoryx. */
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

int64_t stream_stage_part_elems(const struct model *model, int stage, int m, int n_shards)
{
    const struct model_stage *st = &model->stage[stage];
    int64_t total = 0, first, n;
    for (int v = 0; v < st->n_views; v++) {
        stream_part(model->tensor[st->view[v].tensor].n_elems, m, n_shards, &first, &n);
        total += n;
    }
    return total;
}

int64_t stream_stage_part_grads(const struct model *model, int stage, int m, int n_shards)
{
    const struct model_stage *st = &model->stage[stage];
    int64_t total = 0, first, n;
    for (int v = 0; v < st->n_views; v++) {
        stream_part(model_gradient_elems(&model->tensor[st->view[v].tensor], NULL), m, n_shards,
                    &first, &n);
        total += n;
    }
    return total;
}

/* A copy between a whole stage vector and the part of a shard; of gradients: without those of
 * frozen tensors. */
struct part_copy {
    char *whole, *part;
    int64_t elem_bytes;
    bool to_whole, gradients;
};

static void copy_part(const struct model *model, int stage, int m, int n_shards,
                      const struct part_copy *c)
{
    const struct model_stage *st = &model->stage[stage];
    int64_t done = 0, offset = 0, first, n;
    for (int v = 0; v < st->n_views; v++) {
        const struct model_tensor *t = &model->tensor[st->view[v].tensor];
        const int64_t n_elems = c->gradients ? model_gradient_elems(t, NULL) : t->n_elems;
        stream_part(n_elems, m, n_shards, &first, &n);
        char *whole = c->whole + (offset + first) * c->elem_bytes;
        char *part = c->part + done * c->elem_bytes;
        size_t bytes = (size_t)(n * c->elem_bytes);
        if (bytes) memcpy(c->to_whole ? whole : part, c->to_whole ? part : whole, bytes);
        done += n;
        offset += n_elems;
    }
}

void stream_part_scatter(const struct model *model, int stage, int m, int n_shards,
                         const void *part, void *stage_vector, int64_t elem_bytes)
{
    /* The cast only drops const: to_whole reads the part. */
    struct part_copy c = {stage_vector, (char *)(uintptr_t)part, elem_bytes, true, false};
    copy_part(model, stage, m, n_shards, &c);
}

void stream_part_gather(const struct model *model, int stage, int m, int n_shards,
                        const float *gradients, float *part)
{
    struct part_copy c = {(char *)(uintptr_t)gradients, (char *)part, sizeof *part, false, true};
    copy_part(model, stage, m, n_shards, &c);
}

int64_t stream_per_shard(int64_t amount, int n_shards)
{
    return (amount + n_shards - 1) / n_shards;
}
