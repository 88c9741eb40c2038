// SPDX-License-Identifier: Apache-2.0
/* Gradients up: add the sums of the micro-batches of a stage along the canonical tree; when the
 * last one is there, the sum of the whole batch becomes the mean gradient of this shard's parts of
 * the stage's tensors.  The factor from sum to mean takes out what the loss was scaled by.
 * Called by memoryx_step.c; memoryx_update.c uses the gradient. */
#include "memoryx_take.h"

#include "memoryx_loss_scale.h"

#include <wsc/check.h>

enum { MEAN_BLOCK = 1 << 15 };

struct gradient_job {
    float *g;
    const float *sum;
    int64_t n;
    float scale;
    bool add;
};

static void scale_block(void *ctx, int64_t i, int thread)
{
    const struct gradient_job *job = ctx;
    int64_t first = i * MEAN_BLOCK, end = first + MEAN_BLOCK;
    (void)thread;
    if (end > job->n) end = job->n;
    for (int64_t k = first; k < end; k++) {
        float mean = job->sum[k] * job->scale;
        job->g[k] = job->add ? job->g[k] + mean : mean;
    }
}

/* Add the finished sum of a stage's gradient to this shard's parts of the tensors, as a mean.  A
 * tied tensor gets two contributions, the head's first: always in this order. */
static void add_to_tensors(struct memoryx *mx, int stage, const float *sum)
{
    const struct model_stage *st = &mx->net->model->stage[stage];
    const double factor =
        memoryx_loss_factor(mx, mx->losses.sum[0].n_tokens) / memoryx_gradient_scale(mx);
    for (int v = 0; v < st->n_views; v++) {
        struct memoryx_part *s = &mx->part[st->view[v].tensor];
        struct gradient_job job = {s->g, sum, s->n, (float)factor, s->g_started};
        num_parallel((s->n + MEAN_BLOCK - 1) / MEAN_BLOCK, scale_block, &job);
        s->g_started = true;
        sum += s->n;
    }
}

enum wsc_err memoryx_take_gradients(struct memoryx *mx, const struct stream_at *at)
{
    const struct stream_batch *b = &mx->pass->batch;
    struct stream_sums *sums = &mx->sums[at->stage];
    struct num_nodes subtrees;
    struct stream_msg msg;
    TRY(stream_recv(mx->ports, mx->ports->down.data[0], STREAM_MSG_GRADIENTS, at->step, at->index,
                    &msg));
    mx->arrived[at->stage] = msg.span.last;
    if (!msg.payload) return WSC_OK;
    const int64_t n = stream_stage_part_elems(mx->net->model, at->stage, mx->shard, mx->n_shards);
    stream_subtrees(b, at->micro, 0, b->n_wafers, &subtrees);
    stream_sums_append(sums, &subtrees, b->n_micro_shards, n, msg.payload);
    if (at->micro < b->n_micro - 1) return WSC_OK;
    WSC_CHECK(sums->nodes.n == 1, "%d sums left of %lld micro-shards", sums->nodes.n,
              (long long)b->n_micro_shards);
    add_to_tensors(mx, at->stage, sums->vector[0]);
    stream_sums_clear(sums);
    return WSC_OK;
}
