// SPDX-License-Identifier: Apache-2.0
/* Divides rows among stacks. A sample of an encoder with a decoder has the tokens of the source,
 * then those of the target. Each stack gets a batch of its own tokens, whose rows are numbered
 * from 0 and cut into leaves and blocks. A model of one stack uses the batch as it is. host.c
 * calls at the beginning of a micro-batch and of each stage. */
#include "host_stacks.h"
#include "host_buffers.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <string.h>

enum wsc_err host_stacks_create(struct host *k)
{
    const struct model *m = k->model;
    for (int i = 0; i < m->n_stacks; i++) {
        struct host_rows *r = &k->of_stack[i];
        const int64_t T = m->stack[i].T;
        const int64_t blocks = host_leaf_blocks(T);
        TRY_NEW(r->leaf, WSC_MEM_KERNELS, k->max_samples + 1);
        TRY_NEW(r->block, WSC_MEM_KERNELS, k->max_samples * blocks + 1);
        if (m->n_stacks < 2) continue;
        TRY(data_batch_create(&r->own, k->max_samples, T));
        TRY_MEM(r->own->attends,
                wsc_alloc(WSC_MEM_DATA, (size_t)k->max_samples, (size_t)T * sizeof(int32_t)));
    }
    host_use_stack(k, m->n_stacks - 1);
    return WSC_OK;
}

void host_stacks_destroy(struct host *k)
{
    for (int i = 0; i < MODEL_MAX_STACKS; i++) {
        wsc_free(k->of_stack[i].leaf);
        wsc_free(k->of_stack[i].block);
        data_batch_destroy(&k->of_stack[i].own);
    }
}

void host_use_stack(struct host *k, int i)
{
    const struct host_rows *r = &k->of_stack[i];
    k->stack = &k->model->stack[i];
    k->T = k->stack->T;
    k->batch = r->batch;
    k->n_rows = r->n_rows;
    k->n_blocks = r->n_blocks;
    k->leaf = r->leaf;
    k->block = r->block;
}

static void cut_leaf(struct host_rows *r, const struct host_span *leaf)
{
    const int64_t n_blocks = host_leaf_blocks(leaf->n);
    int64_t rows = n_blocks > 0 ? (leaf->n + n_blocks - 1) / n_blocks : 0;
    for (int64_t at = 0; at < leaf->n; at += rows) {
        int64_t n = leaf->n - at < rows ? leaf->n - at : rows;
        r->block[r->n_blocks++] = (struct host_span){.row = leaf->row + at, .n = n};
    }
}

void host_cut_leaf(struct host *k, const struct host_span *leaf)
{
    struct host_rows *r = &k->of_stack[k->stack - k->model->stack];
    r->n_blocks = k->n_blocks;
    cut_leaf(r, leaf);
    k->n_blocks = r->n_blocks;
}

/* Cut the share into leaves and blocks, for sequences of @p T tokens, in the order of the samples.
 * The last leaf of a batch may be short; its blocks follow from its own size. */
static void cut_share(struct host *k, struct host_rows *r, int64_t T)
{
    const struct data_share *s = &k->share;
    r->n_blocks = k->n_leaves = k->n_samples = 0;
    for (int64_t leaf = s->first_leaf; leaf < s->end_leaf; leaf++) {
        int64_t first = leaf * s->leaf_samples, end = first + s->leaf_samples;
        int64_t n = (end < s->batch_size ? end : s->batch_size) - first;
        WSC_CHECK(n > 0 && k->n_samples + n <= k->max_samples,
                  "leaf %lld of a micro-batch of at most %lld samples", (long long)leaf,
                  (long long)k->max_samples);
        const struct host_span span = {.row = k->n_samples * T, .n = n * T};
        r->leaf[k->n_leaves++] = span;
        cut_leaf(r, &span);
        k->n_samples += n;
    }
    r->n_rows = k->n_samples * T;
}

/* Copy tokens [first, first + T) of each sample of @p batch. */
static void take_tokens(struct data_batch *own, const struct data_batch *batch, int64_t first)
{
    const size_t bytes = (size_t)own->T * sizeof *own->input_ids;
    own->n = batch->n;
    for (int64_t i = 0; i < batch->n; i++) {
        const int64_t from = i * batch->T + first, to = i * own->T;
        memcpy(own->input_ids + to, batch->input_ids + from, bytes);
        memcpy(own->labels + to, batch->labels + from, bytes);
        memcpy(own->mask + to, batch->mask + from, bytes);
        memcpy(own->attends + to, batch->attends + from, bytes);
    }
}

void host_stacks_cut(struct host *k, const struct data_batch *batch)
{
    const struct model *m = k->model;
    int64_t first = 0;
    WSC_CHECK(m->n_stacks < 2 || batch->attends, "pairs of sequences without padding");
    for (int i = 0; i < m->n_stacks; i++) {
        struct host_rows *r = &k->of_stack[i];
        cut_share(k, r, m->stack[i].T);
        r->batch = r->own ? r->own : batch;
        if (r->own) take_tokens(r->own, batch, first);
        first += m->stack[i].T;
    }
    host_use_stack(k, m->n_stacks - 1);
}
