// SPDX-License-Identifier: Apache-2.0
/* Receives the results of wafers other than gradients: sums of losses, parts of the step's time,
 * squares for the noise scale, generated texts. They become struct memoryx_batch, which shard 0
 * passes to its hook. memoryx_step.c calls. */
#include "memoryx_report.h"

#include "memoryx_loss_scale.h"

#include <wsc/check.h>

#include <math.h>

void memoryx_begin_batch(struct memoryx *mx, int64_t step)
{
    const bool training = mx->pass->mode == STREAM_TRAIN;
    mx->batch = (struct memoryx_batch){.step = training ? step + 1 : step};
}

/* ---- losses ---------------------------------------------------------------------------------- */

enum wsc_err memoryx_take_losses(struct memoryx *mx, const struct stream_at *at)
{
    const struct stream_batch *b = &mx->pass->batch;
    struct stream_msg msg;
    struct num_nodes subtrees;
    TRY(stream_recv(mx->ports, mx->ports->down.data[0], STREAM_MSG_LOSSES, at->step, at->index,
                    &msg));
    if (!msg.payload) return WSC_OK;
    stream_subtrees(b, at->micro, 0, b->n_wafers, &subtrees);
    stream_losses_append(&mx->losses, &subtrees, b->n_micro_shards, comm_buf_data(msg.payload));
    comm_buf_unref(&msg.payload);
    return WSC_OK;
}

/* Name of the unit that a message of a failure counts: steps, or batches of an evaluation. */
static const char *name_of(const struct memoryx *mx)
{
    return mx->pass->mode == STREAM_EVAL ? "evaluation batch" : "step";
}

/* Error of a mean over no tokens, which does not exist; a sum over sequences is 0. */
static enum wsc_err no_token(const struct memoryx *mx, int64_t step)
{
    return wsc_err_hint(
        WSC_RAISE(WSC_NUMERIC,
                  "%s %lld: no token of the batch has a label, and the loss is a mean "
                  "over them",
                  name_of(mx), (long long)step + 1),
        "a larger batch, or a loss over sequences: mlm_loss_scaling or loss_scaling: batch_size");
}

enum wsc_err memoryx_finish_loss(struct memoryx *mx, int64_t step)
{
    struct memoryx_batch *batch = &mx->batch;
    batch->has_values = mx->pass->values && mx->pass->mode != STREAM_GENERATE;
    if (!batch->has_values) return WSC_OK;
    WSC_CHECK(mx->losses.nodes.n == 1, "%d loss sums left", mx->losses.nodes.n);
    batch->sums = mx->losses.sum[0];
    mx->losses.nodes.n = 0;
    /* Sums are equal on all shards; shard 0 reports the failure, which ends the job. */
    if (mx->shard) return WSC_OK;
    if (!batch->sums.n_tokens && mx->config.params->model.loss_scaling == ZOO_LOSS_NUM_TOKENS)
        return no_token(mx, step);
    batch->loss = batch->sums.loss_sum * memoryx_loss_factor(mx, batch->sums.n_tokens);
    if (isfinite(batch->loss)) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_NUMERIC, "%s %lld: %s loss detected", name_of(mx),
                                  (long long)step + 1, isnan(batch->loss) ? "NaN" : "inf"),
                        mx->pass->mode == STREAM_EVAL
                            ? "the weights diverged, or the checkpoint is not of this model"
                            : "lower the learning rate or lengthen the warm-up");
}

/* ---- times ----------------------------------------------------------------------------------- */

enum wsc_err memoryx_check_time(const struct memoryx *mx, int64_t step, struct vtime end)
{
    if (end.ps < VTIME_END || mx->shard) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_CAPACITY,
                                  "step %lld: the virtual time is beyond 106 days, which is what "
                                  "its 64 bits of picoseconds hold",
                                  (long long)step + 1),
                        "fewer steps, or a new start from the weights alone (wsc run: "
                        "--checkpoint_path with runconfig.load_checkpoint_states=model)");
}

/* Pass the scores of the samples of an evaluation batch to the caller. */
static enum wsc_err take_scores(const struct memoryx *mx, int64_t step, struct comm_buf *payload)
{
    const struct memoryx_hooks *hooks = &mx->config.hooks;
    if (!mx->pass->scores || mx->shard || !hooks->on_scores) return WSC_OK;
    return hooks->on_scores(hooks->ctx, step, comm_buf_data(payload),
                            comm_buf_bytes(payload) / (int64_t)sizeof(struct stream_score));
}

/* Pass the counts of the classes of an evaluation batch to the caller. */
static enum wsc_err take_classes(const struct memoryx *mx, struct comm_buf *payload)
{
    const struct memoryx_hooks *hooks = &mx->config.hooks;
    if (!mx->pass->n_classes || mx->shard || !hooks->on_classes) return WSC_OK;
    return hooks->on_classes(hooks->ctx, comm_buf_data(payload), mx->pass->n_classes);
}

enum wsc_err memoryx_take_times(struct memoryx *mx, int64_t step)
{
    struct stream_msg msg;
    struct memoryx_batch *batch = &mx->batch;
    const struct stream_times *times = &msg.field.times;
    TRY(stream_recv(mx->ports, mx->ports->down.data[0], STREAM_MSG_TIMES, step, 0, &msg));
    batch->end = times->end;
    batch->time_ps = batch->end.ps - mx->times.step_end.ps;
    batch->breakdown = times->spent;
    const int64_t parts = vtime_breakdown_sum(&batch->breakdown);
    WSC_CHECK(parts == batch->time_ps, "parts of step %lld: %lld ps of %lld ps", (long long)step,
              (long long)parts, (long long)batch->time_ps);
    mx->times.step_end = batch->end;
    if (mx->pass->squares)
        mx->micro_shard_squares =
            stream_scalars_total(&mx->pass->batch, comm_buf_data(msg.payload));
    enum wsc_err rc = take_scores(mx, step, msg.payload);
    if (!rc) rc = take_classes(mx, msg.payload);
    comm_buf_unref(&msg.payload);
    return rc ? rc : memoryx_check_time(mx, step, batch->end);
}

/* ---- the end of a batch ---------------------------------------------------------------------- */

enum wsc_err memoryx_finish_batch(struct memoryx *mx, int64_t step)
{
    const struct memoryx_hooks *hooks = &mx->config.hooks;
    if (mx->shard == 0 && hooks->on_batch) TRY(hooks->on_batch(hooks->ctx, &mx->batch));
    if (step + 1 == stream_end_step(mx->pass)) return WSC_OK;
    const struct stream_msg updated = {.kind = STREAM_MSG_UPDATED, .step = step + 1};
    return stream_signal(mx->ports->ready, &updated);
}

enum wsc_err memoryx_take_texts(struct memoryx *mx)
{
    const struct memoryx_hooks *hooks = &mx->config.hooks;
    struct stream_msg msg;
    enum wsc_err rc = WSC_OK;
    TRY(stream_recv(mx->ports, mx->ports->down.data[0], STREAM_MSG_TEXTS, stream_end_step(mx->pass),
                    0, &msg));
    if (mx->shard == 0 && hooks->on_texts)
        rc = hooks->on_texts(hooks->ctx, comm_buf_data(msg.payload),
                             comm_buf_bytes(msg.payload) / (int64_t)sizeof(int32_t));
    comm_buf_unref(&msg.payload);
    return rc;
}
