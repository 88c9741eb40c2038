// SPDX-License-Identifier: Apache-2.0
/* Batches of samples with similar length, as the Model Zoo's bucketed_batch() makes them with
 * drop_last. Samples come in the order of the epoch; each joins the bucket of its length, and a
 * bucket with a complete global batch becomes the next batch. Incomplete buckets are dropped at the
 * end of the epoch, so an epoch has sum_b floor(n_b / B) batches in any order. Batches are a
 * function of lengths, seed and epoch alone, so every wafer finds its samples without the others.
 * batch_source.c calls. */
#include "length_buckets.h"

#include <wsc/check.h>
#include <wsc/mem.h>

struct data_buckets {
    int64_t batch, n, n_epoch; /* samples of a batch, of all data, of an epoch */
    int64_t room;              /* capacity of a bucket, at most all samples */
    int n_buckets;             /* number of boundaries plus 1 */
    int64_t boundary[ZOO_MAX_BUCKETS];
    uint8_t *bucket_of; /* (n) */
    int64_t *waiting;   /* (n_buckets, room): samples of buckets that are not full */
    int64_t *place;     /* (n): samples of the current epoch, in the order of its batches */
    bool laid;          /* `place` is the order of `epoch` */
    uint64_t epoch;
};

enum wsc_err data_buckets_create(struct data_buckets **out, const struct zoo_input *input,
                                 int64_t n)
{
    struct data_buckets *b = NULL;
    *out = NULL;
    TRY_NEW(b, WSC_MEM_DATA, 1);
    b->batch = input->batch_size;
    b->n = n;
    b->room = n < b->batch ? n : b->batch;
    b->n_buckets = input->n_buckets + 1;
    for (int i = 0; i < input->n_buckets; i++)
        b->boundary[i] = input->bucket[i];
    b->bucket_of = wsc_alloc(WSC_MEM_DATA, (size_t)n, sizeof *b->bucket_of);
    b->waiting =
        wsc_alloc(WSC_MEM_DATA, (size_t)b->n_buckets, (size_t)b->room * sizeof *b->waiting);
    b->place = wsc_alloc(WSC_MEM_DATA, (size_t)n, sizeof *b->place);
    *out = b;
    if (b->bucket_of && b->waiting && b->place) return WSC_OK;
    data_buckets_destroy(out);
    return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "buckets of samples");
}

void data_buckets_destroy(struct data_buckets **buckets)
{
    struct data_buckets *b = *buckets;
    *buckets = NULL;
    if (!b) return;
    wsc_free(b->bucket_of);
    wsc_free(b->waiting);
    wsc_free(b->place);
    wsc_free(b);
}

void data_buckets_put(struct data_buckets *b, int64_t i, int64_t length)
{
    int k = 0;
    while (k < b->n_buckets - 1 && b->boundary[k] <= length)
        k++;
    b->bucket_of[i] = (uint8_t)k;
}

int64_t data_buckets_n(const struct data_buckets *b)
{
    int64_t n[ZOO_MAX_BUCKETS + 1] = {0}, sum = 0;
    for (int64_t i = 0; i < b->n; i++)
        n[b->bucket_of[i]]++;
    for (int k = 0; k < b->n_buckets; k++)
        sum += n[k] / b->batch * b->batch;
    return sum;
}

static void lay_epoch(struct data_buckets *b, uint64_t epoch, data_order_fn *order, const void *ctx)
{
    int64_t n_waiting[ZOO_MAX_BUCKETS + 1] = {0}, n = 0;
    for (int64_t i = 0; i < b->n; i++) {
        const int64_t sample = order(ctx, i, epoch);
        const int k = b->bucket_of[sample];
        int64_t *waiting = b->waiting + k * b->room;
        waiting[n_waiting[k]++] = sample;
        if (n_waiting[k] < b->batch) continue;
        for (int64_t j = 0; j < b->batch; j++)
            b->place[n++] = waiting[j];
        n_waiting[k] = 0;
    }
    b->n_epoch = n;
    b->epoch = epoch;
    b->laid = true;
}

int64_t data_buckets_at(struct data_buckets *b, int64_t i, uint64_t epoch, data_order_fn *order,
                        const void *ctx)
{
    if (!b->laid || b->epoch != epoch) lay_epoch(b, epoch, order, ctx);
    WSC_CHECK(i >= 0 && i < b->n_epoch, "place %lld of %lld", (long long)i, (long long)b->n_epoch);
    return b->place[i];
}
