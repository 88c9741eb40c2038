// SPDX-License-Identifier: Apache-2.0
#include "memoryx_impl.h"

#include <wsc/check.h>

#include <string.h>

/* Master weights as they travel, by blocks on all threads. */
struct pack_job {
    enum num_format format;
    char *to;
    const float *w;
    int64_t n;
};
enum { PACK_BLOCK = 1 << 16 };

static void pack_block(void *ctx, int64_t i, int thread)
{
    const struct pack_job *job = ctx;
    int64_t first = i * PACK_BLOCK, n = job->n - first;
    char *to = job->to + first * num_format_bytes(job->format);
    (void)thread;
    if (n > PACK_BLOCK) n = PACK_BLOCK;
    if (job->format == NUM_FP32)
        memcpy(to, job->w + first, (size_t)n * sizeof(float));
    else
        num_narrow(job->format, (uint16_t *)(void *)to, job->w + first, n);
}

/* This shard's slices of the stage's tensors, one after the other. */
static enum wsc_err pack_weights(struct memoryx *mx, int stage, struct comm_buf **out)
{
    const struct model *model = mx->net->model;
    const struct model_stage *st = &model->stage[stage];
    const int64_t elem_bytes = num_format_bytes(model->format);
    int64_t n = stream_stage_slice_elems(model, stage, mx->shard, mx->n_shards);
    TRY(comm_buf_create(mx->net->comm, out, n * elem_bytes));
    char *to = comm_buf_data(*out);
    for (int v = 0; v < st->n_views; v++) {
        const struct memoryx_slice *s = &mx->slice[st->view[v].tensor];
        struct pack_job job = {model->format, to, s->w, s->n};
        num_parallel((s->n + PACK_BLOCK - 1) / PACK_BLOCK, pack_block, &job);
        to += s->n * elem_bytes;
    }
    return WSC_OK;
}

static enum wsc_err send_stage(struct memoryx *mx, int64_t step, int index, int stage,
                               struct vtime granted)
{
    const struct memoryx_times *t = &mx->times;
    struct vtime_recorder *r = comm_record_at(mx->net->comm, step, index);
    int64_t bytes = stream_weight_bytes(mx->net->model, stage);
    struct comm_msg msg = {.kind = STREAM_MSG_WEIGHTS,
                           .step = step,
                           .index = index,
                           .span = vtime_at(vtime_join(r, t->ready[stage], granted)),
                           .bytes = stream_per_shard_bytes(bytes, mx->n_shards)};
    msg.field[STREAM_F_STEP_START] = t->step_end.ps;
    msg.field[STREAM_F_STEP_EVENT] = t->step_end.event;
    msg.field[STREAM_F_REDUCED] = t->reduced.ps;
    msg.field[STREAM_F_READY] = t->ready[stage].ps;
    const double scale = memoryx_gradient_scale(mx);
    memcpy(&msg.field[STREAM_F_GRADIENT_SCALE], &scale, sizeof scale);
    if (mx->pass->values) TRY(pack_weights(mx, stage, &msg.payload));
    return stream_send_weights(mx->ports, &msg);
}

/* Weights of one batch, as far ahead of the wafers as the window allows. */
static enum wsc_err send_batch(struct memoryx *mx, int64_t step)
{
    const struct model *model = mx->net->model;
    const int n = model_n_transfers(model, mx->pass->mode == STREAM_TRAIN);
    const struct stream_window *window = mx->window;
    struct vtime granted = {0};
    int64_t credits = 0;
    for (int64_t i = 0; i < window->n_transfers; i++) {
        for (; credits <= window->need[i]; credits++)
            TRY(stream_recv_credit(mx->net, mx->ports, step, (int)credits, &granted));
        int stage = model_transfer_at(model, (int)(i % n)).stage;
        TRY(send_stage(mx, step, (int)i, stage, granted));
    }
    for (; credits < window->n_transfers; credits++)
        TRY(stream_recv_credit(mx->net, mx->ports, step, (int)credits, &granted));
    return WSC_OK;
}

enum wsc_err memoryx_run_down(void *arg)
{
    struct memoryx *mx = arg;
    const struct stream_pass *p = mx->pass;
    for (int64_t step = p->first_step; step < p->first_step + p->n_steps; step++) {
        struct comm_msg ready;
        if (step > p->first_step)
            TRY(stream_recv_data(mx->ports->ready, STREAM_MSG_READY, step, 0, &ready));
        TRY(send_batch(mx, step));
    }
    return WSC_OK;
}
