// SPDX-License-Identifier: Apache-2.0
#include "memoryx_impl.h"

#include <wsc/check.h>

#include <math.h>

static void micro_nodes(const struct memoryx *mx, int64_t micro, struct num_nodes *nodes)
{
    const struct stream_batch *b = &mx->pass->batch;
    int64_t first, end;
    stream_leaves(b, micro, 0, b->n_wafers, &first, &end);
    num_nodes_of_range(nodes, first, end, b->n_leaves);
}

static enum wsc_err take_losses(struct memoryx *mx, int64_t step, int index, int64_t micro)
{
    struct comm_msg msg;
    struct num_nodes nodes;
    TRY(stream_recv_data(mx->ports->down.data[0], STREAM_MSG_LOSS, step, index, &msg));
    if (!msg.payload) return WSC_OK;
    micro_nodes(mx, micro, &nodes);
    stream_losses_append(&mx->losses, &nodes, mx->pass->batch.n_leaves, comm_buf_data(msg.payload));
    comm_buf_unref(&msg.payload);
    return WSC_OK;
}

/* The sums of the micro-batches so far; after the last one, the gradient of the whole batch. */
static enum wsc_err take_gradients(struct memoryx *mx, int64_t step, int index, int64_t micro,
                                   int stage)
{
    const struct stream_batch *b = &mx->pass->batch;
    struct stream_sums *sums = &mx->sums[stage];
    struct comm_msg msg;
    TRY(stream_recv_data(mx->ports->down.data[0], STREAM_MSG_GRADS, step, index, &msg));
    mx->arrived[stage] = msg.span.last;
    if (!msg.payload) return WSC_OK;
    struct num_nodes nodes;
    micro_nodes(mx, micro, &nodes);
    int64_t n = stream_stage_slice_elems(mx->net->model, stage, mx->shard, mx->n_shards);
    stream_sums_append(sums, &nodes, b->n_leaves, n, msg.payload);
    if (micro < b->n_micro - 1) return WSC_OK;
    WSC_CHECK(sums->nodes.n == 1, "%d sums left of %lld leaves", sums->nodes.n,
              (long long)b->n_leaves);
    memoryx_take_gradient(mx, stage, sums->vector[0]);
    stream_sums_clear(sums);
    return WSC_OK;
}

static enum wsc_err take_times(struct memoryx *mx, int64_t step)
{
    struct comm_msg msg;
    struct memoryx_batch *batch = &mx->batch;
    TRY(stream_recv_data(mx->ports->down.data[0], STREAM_MSG_TIMES, step, 0, &msg));
    batch->end = (struct vtime){msg.field[STREAM_F_END], msg.field[STREAM_F_END_EVENT]};
    batch->time_ps = batch->end.ps - mx->times.step_end.ps;
    batch->compute_ps = msg.field[STREAM_F_COMPUTE];
    batch->weights_wait_ps = msg.field[STREAM_F_WEIGHTS];
    batch->reduce_wait_ps = msg.field[STREAM_F_REDUCE];
    batch->boundary_ps = msg.field[STREAM_F_BOUNDARY];
    batch->input_wait_ps = msg.field[STREAM_F_INPUT];
    int64_t parts = batch->compute_ps + batch->weights_wait_ps + batch->reduce_wait_ps +
                    batch->boundary_ps + batch->input_wait_ps;
    WSC_CHECK(parts == batch->time_ps, "parts of step %lld: %lld ps of %lld ps", (long long)step,
              (long long)parts, (long long)batch->time_ps);
    mx->times.step_end = batch->end;
    if (mx->pass->squares)
        mx->leaf_squares = stream_scalars_total(&mx->pass->batch, comm_buf_data(msg.payload));
    comm_buf_unref(&msg.payload);
    if (batch->end.ps < VTIME_END || mx->shard) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_CAPACITY,
                                  "step %lld: the virtual time is beyond 106 days, which is what "
                                  "its 64 bits of picoseconds hold",
                                  (long long)step + 1),
                        "fewer steps, or weights alone as a new start: --checkpoint_path with "
                        "runconfig.load_checkpoint_states=model");
}

static enum wsc_err finish_loss(struct memoryx *mx, int64_t step)
{
    struct memoryx_batch *batch = &mx->batch;
    batch->has_values = mx->pass->values;
    if (!batch->has_values) return WSC_OK;
    WSC_CHECK(mx->losses.nodes.n == 1, "%d loss sums left", mx->losses.nodes.n);
    batch->sums = mx->losses.sum[0];
    mx->losses.nodes.n = 0;
    /* All shards see the same sums; one of them speaks, and its failure ends the job. */
    if (mx->shard) return WSC_OK;
    if (!batch->sums.n_tokens)
        return WSC_RAISE(WSC_NUMERIC, "step %lld: no token of the batch has loss mask 1",
                         (long long)step + 1);
    batch->loss = batch->sums.loss_sum * memoryx_loss_factor(mx, batch->sums.n_tokens);
    if (isfinite(batch->loss) || !mx->config.params->runconfig.check_loss_values) return WSC_OK;
    const char *what = isnan(batch->loss) ? "NaN" : "inf";
    return wsc_err_hint(
        WSC_RAISE(WSC_NUMERIC, "step %lld: %s loss detected", (long long)step + 1, what),
        "lower the learning rate or lengthen the warm-up");
}

static enum wsc_err take_batch(struct memoryx *mx, int64_t step)
{
    const struct model *model = mx->net->model;
    const bool training = mx->pass->mode == STREAM_TRAIN;
    const int n = model_n_transfers(model, training);
    mx->batch = (struct memoryx_batch){.step = training ? step + 1 : step};
    for (int i = 0; i < n * (int)mx->pass->batch.n_micro; i++) {
        struct model_transfer t = model_transfer_at(model, i % n);
        if (i % n == model->n_stages - 1 && mx->pass->mode != STREAM_GENERATE)
            TRY(take_losses(mx, step, i, i / n));
        if (t.backward) TRY(take_gradients(mx, step, i, i / n, t.stage));
    }
    TRY(take_times(mx, step));
    return mx->pass->mode == STREAM_GENERATE ? WSC_OK : finish_loss(mx, step);
}

static enum wsc_err tell(struct memoryx *mx, int64_t step)
{
    const struct stream_pass *p = mx->pass;
    const struct memoryx_hooks *hooks = &mx->config.hooks;
    if (mx->shard == 0 && hooks->on_batch) TRY(hooks->on_batch(hooks->ctx, &mx->batch));
    if (step + 1 == p->first_step + p->n_steps) return WSC_OK;
    const struct comm_msg ready = {.kind = STREAM_MSG_READY, .step = step + 1};
    return comm_signal(mx->ports->ready, &ready);
}

static enum wsc_err take_texts(struct memoryx *mx, int64_t step)
{
    const struct memoryx_hooks *hooks = &mx->config.hooks;
    struct comm_msg msg;
    enum wsc_err rc = WSC_OK;
    TRY(stream_recv_data(mx->ports->down.data[0], STREAM_MSG_TOKENS, step, 0, &msg));
    if (mx->shard == 0 && hooks->on_texts)
        rc = hooks->on_texts(hooks->ctx, comm_buf_data(msg.payload),
                             comm_buf_bytes(msg.payload) / (int64_t)sizeof(int32_t));
    comm_buf_unref(&msg.payload);
    return rc;
}

enum wsc_err memoryx_run_up(void *arg)
{
    struct memoryx *mx = arg;
    const struct stream_pass *p = mx->pass;
    for (int64_t step = p->first_step; step < p->first_step + p->n_steps; step++) {
        TRY(take_batch(mx, step));
        if (p->mode == STREAM_TRAIN) TRY(memoryx_update(mx, step));
        TRY(tell(mx, step));
    }
    const bool writes = p->mode == STREAM_GENERATE && p->values;
    return writes ? take_texts(mx, p->first_step + p->n_steps) : WSC_OK;
}
