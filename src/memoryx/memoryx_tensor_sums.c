// SPDX-License-Identifier: Apache-2.0
/* Sums over the blocks of a tensor along the canonical tree over these blocks, so that the bits do
 * not depend on the shards that have them. */
#include "memoryx_tensor_sums.h"

#include <wsc/mem.h>

#include <string.h>

static int64_t blocks(int64_t n_elems)
{
    return (n_elems + STREAM_BLOCK_ELEMS - 1) / STREAM_BLOCK_ELEMS;
}

/* Maximal nodes of shard @p m's blocks of tensor @p i. */
static void part_subtrees(const struct memoryx *mx, int i, int m, struct num_nodes *nodes)
{
    int64_t n_elems = mx->net->model->tensor[i].n_elems, first, n;
    stream_part(n_elems, m, mx->n_shards, &first, &n);
    num_nodes_of_range(nodes, first / STREAM_BLOCK_ELEMS, first / STREAM_BLOCK_ELEMS + blocks(n),
                       blocks(n_elems));
}

int64_t memoryx_count_sums(const struct memoryx *mx, int shard)
{
    int64_t n = 0;
    for (int i = 0; i < mx->net->model->n_tensors; i++) {
        struct num_nodes nodes;
        part_subtrees(mx, i, shard, &nodes);
        n += nodes.n;
    }
    return n;
}

struct block_job {
    const struct memoryx_summand *what;
    int tensor;
    int64_t n;
    double *sum; /* one per block */
};

static void sum_block(void *ctx, int64_t b, int thread)
{
    const struct block_job *job = ctx;
    int64_t first = b * STREAM_BLOCK_ELEMS, n = job->n - first;
    (void)thread;
    job->sum[b] = job->what->block(job->what->ctx, job->tensor, first,
                                   n < STREAM_BLOCK_ELEMS ? n : STREAM_BLOCK_ELEMS);
}

/* This shard's sums of tensor @p i, one per maximal node. */
static void sums_of(const struct memoryx *mx, const struct memoryx_summand *what, int i,
                    double *scratch, struct stream_scalars *out)
{
    const struct memoryx_part *s = &mx->part[i];
    const int64_t n_blocks = blocks(mx->net->model->tensor[i].n_elems);
    const int64_t first = s->first / STREAM_BLOCK_ELEMS;
    struct block_job job = {what, i, s->n, scratch};
    num_parallel(blocks(s->n), sum_block, &job);
    out->nodes.n = 0;
    for (int64_t b = 0; b < blocks(s->n); b++) {
        struct num_nodes one;
        num_nodes_of_range(&one, first + b, first + b + 1, n_blocks);
        stream_scalars_append(out, &one, n_blocks, &scratch[b]);
    }
}

static int64_t most_blocks(const struct memoryx *mx)
{
    int64_t most = 1;
    for (int i = 0; i < mx->net->model->n_tensors; i++)
        if (blocks(mx->part[i].n) > most) most = blocks(mx->part[i].n);
    return most;
}

enum wsc_err memoryx_own_sums(const struct memoryx *mx, const struct memoryx_summand *what,
                              double *out)
{
    double *scratch;
    TRY_NEW(scratch, WSC_MEM_MEMORYX, most_blocks(mx));
    for (int i = 0; i < mx->net->model->n_tensors; i++) {
        struct stream_scalars sums;
        sums_of(mx, what, i, scratch, &sums);
        memcpy(out, sums.sum, (size_t)sums.nodes.n * sizeof *out);
        out += sums.nodes.n;
    }
    wsc_free(scratch);
    return WSC_OK;
}

void memoryx_joint_sums(const struct memoryx *mx, const double *const *part, double *total)
{
    int64_t used[HW_MAX_SHARDS] = {0};
    for (int i = 0; i < mx->net->model->n_tensors; i++) {
        struct stream_scalars all = {0};
        for (int m = 0; m < mx->n_shards; m++) {
            struct num_nodes nodes;
            part_subtrees(mx, i, m, &nodes);
            stream_scalars_append(&all, &nodes, blocks(mx->net->model->tensor[i].n_elems),
                                  part[m] + used[m]);
            used[m] += nodes.n;
        }
        total[i] = all.sum[0];
    }
}
