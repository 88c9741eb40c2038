// SPDX-License-Identifier: Apache-2.0
/* The hash of all weights, with trace_hash: the sum of hashes of blocks of 1024 elements, each with
 * tensor and position as its seed, so that it depends neither on the shards' blocks nor on the
 * order of addition. It takes no virtual time, because the emulated machine does not compute it. */
#include "memoryx_hash.h"

#include "memoryx_exchange.h"

#include <wsc/hash.h>

#include <string.h>

/* Hashes of blocks are added, so the sum does not depend on which shard has which blocks. */
static uint64_t hash_of_parts(const struct memoryx *mx)
{
    uint64_t sum = 0;
    for (int i = 0; i < mx->net->model->n_tensors; i++) {
        const struct memoryx_part *s = &mx->part[i];
        for (int64_t b = 0; b < s->n; b += STREAM_BLOCK_ELEMS) {
            int64_t n = s->n - b < STREAM_BLOCK_ELEMS ? s->n - b : STREAM_BLOCK_ELEMS;
            uint64_t position = (uint64_t)i << 40 | (uint64_t)((s->first + b) / STREAM_BLOCK_ELEMS);
            sum += wsc_hash64(s->w + b, (size_t)n * sizeof(float), position);
        }
    }
    return sum;
}

static enum wsc_err add_hashes(const struct memoryx *mx, void *ctx, struct comm_buf *const *part,
                               struct comm_buf **total)
{
    uint64_t sum = 0, one;
    (void)ctx;
    TRY(comm_buf_create(mx->net->comm, total, (int64_t)sizeof sum));
    for (int m = 0; m < mx->n_shards; m++) {
        memcpy(&one, comm_buf_data(part[m]), sizeof one);
        sum += one;
    }
    memcpy(comm_buf_data(*total), &sum, sizeof sum);
    return WSC_OK;
}

enum wsc_err memoryx_hash_weights(struct memoryx *mx, int64_t step, uint64_t *hash)
{
    const struct memoryx_round round = {
        .step = step, .index = MEMORYX_ROUND_HASH, .combine = add_hashes};
    const uint64_t own = hash_of_parts(mx);
    struct comm_buf *part = NULL, *total = NULL;
    struct vtime ignored = {0};
    TRY(comm_buf_create(mx->net->comm, &part, (int64_t)sizeof own));
    memcpy(comm_buf_data(part), &own, sizeof own);
    TRY(memoryx_exchange(mx, &round, part, &total, &ignored));
    memcpy(hash, comm_buf_data(total), sizeof *hash);
    comm_buf_unref(&total);
    return WSC_OK;
}
