// SPDX-License-Identifier: Apache-2.0
/* The update at the end of a training step: norm of the gradient, noise scale, loss scale, the
 * optimizer on this shard's elements, and the times at which the weights of each stage are ready on
 * the emulated machine. The time of an update never depends on values. If the update does not need
 * the whole gradient, the elements of a stage are updated as soon as its gradient is complete,
 * while others arrive; otherwise, between hosts, when the stage is sent for the next step, while
 * others are sent (docs/decisions/0050). memoryx_step.c calls; memoryx_rule.c and
 * memoryx_steps.c have the mathematics. */
#include "memoryx_update.h"

#include "memoryx_hash.h"
#include "memoryx_loss_scale.h"
#include "memoryx_noise_scale.h"
#include "memoryx_norms.h"
#include "memoryx_optimizer.h"
#include "memoryx_pause.h"
#include "memoryx_regrow.h"
#include "memoryx_rule.h"
#include "memoryx_selected.h"
#include "memoryx_tensorwise.h"

#include <math.h>

enum { PARALLEL_BLOCK = 1 << 15 };

static int64_t blocks_of(int64_t n)
{
    return (n + PARALLEL_BLOCK - 1) / PARALLEL_BLOCK;
}

/* ---- virtual time of the update -------------------------------------------------------------- */

/* Time of the update of the non-zeros, plus that of the choice of new masks in a step that ends
 * with it. */
static int64_t update_ps(const struct memoryx *mx, int stage, int64_t step)
{
    const struct hw_machine *c = mx->net->hw->cluster;
    const struct stream_amounts *a =
        stream_amounts(mx->net, stage, stream_updates_before(mx->pass, step));
    const int64_t updated = stream_per_shard(a->updated, mx->n_shards);
    const int64_t selected = stream_per_shard(a->selected, mx->n_shards);
    return vtime_duration_ps(updated, c->memoryx.update_rate_params_per_s) +
           vtime_duration_ps(selected, c->stream.mask_rate_params_per_s);
}

static void update_stage_at(struct memoryx *mx, int stage, int64_t step, struct vtime gradient)
{
    const struct hw *hw = mx->net->hw;
    const int64_t ps = update_ps(mx, stage, step);
    if (!mx->net->model->stage[stage].n_grads) return; /* frozen weights can stream at any time */
    struct vtime_recorder *r = comm_recorder(mx->net->comm);
    const struct vtime start = vtime_join_after(
        r, mx->times.updating, gradient, hw->cluster->memoryx.update_latency_ps, VTIME_UPDATE);
    mx->times.updating = vtime_after(r, start, ps, VTIME_UPDATE);
    mx->times.ready[stage] = mx->times.updating;
}

/* The first streamed stage that has a tensor of stage @p stage: an earlier one for a table of
 * tokens that several stages use, else the stage itself. */
static int shared_with(const struct model *model, int stage)
{
    const struct model_stage *s = &model->stage[stage];
    int first = stage;
    for (int v = 0; v < s->n_views; v++)
        if (model->tensor[s->view[v].tensor].first_stage < first)
            first = model->tensor[s->view[v].tensor].first_stage;
    return first;
}

/* Without a step boundary (effects), weights are ready as soon as their gradient is, and the update
 * ends with the last one. */
static void update_at_once(struct memoryx *mx)
{
    const int n = mx->net->model->n_stages;
    struct vtime_recorder *r = comm_recorder(mx->net->comm);
    for (int s = 0; s < n; s++)
        mx->times.ready[s] = mx->arrived[s];
    for (int s = mx->net->model->first_policy; s < n; s++) {
        const int first = shared_with(mx->net->model, s);
        if (first < s)
            mx->times.ready[first] = vtime_join(r, mx->times.ready[first], mx->arrived[s]);
    }
    for (int s = mx->net->model->first_policy; s < n; s++) {
        const int first = shared_with(mx->net->model, s);
        if (first < s) mx->times.ready[s] = mx->times.ready[first];
    }
    mx->times.updating = mx->times.reduced;
}

/* If the update waits for the norm or for sums over whole tensors, stages are updated in the order
 * in which the next step streams them; otherwise each stage follows its own gradient. A skipped
 * step takes the time of an applied one, because time does not depend on values. */
static void keep_time(struct memoryx *mx, int64_t step, bool waits, struct vtime known)
{
    const struct model *model = mx->net->model;
    for (int i = 0; i < model->n_stages; i++) {
        int stage = waits ? i : model->n_stages - 1 - i;
        update_stage_at(mx, stage, step, waits ? known : mx->arrived[stage]);
    }
    for (int s = model->first_policy; s < model->n_stages; s++) {
        const int first = shared_with(model, s);
        if (first == s) continue;
        struct vtime *ready = &mx->times.ready[s];
        *ready = vtime_join(comm_recorder(mx->net->comm), *ready, mx->times.ready[first]);
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

struct update_job {
    struct memoryx_rule rule;
    const struct memoryx_part *part;
};

static void update_block(void *ctx, int64_t i, int thread)
{
    const struct update_job *job = ctx;
    const struct memoryx_part *s = job->part;
    const int64_t first = i * PARALLEL_BLOCK, n = s->n - first;
    struct memoryx_block b = {
        .w = s->w + first, .g = s->g + first, .n = n < PARALLEL_BLOCK ? n : PARALLEL_BLOCK};
    (void)thread;
    for (int k = 0; k < MEMORYX_MAX_STATE; k++)
        b.state[k] = s->state[k] ? s->state[k] + first : NULL;
    memoryx_step_block(&job->rule, &b);
}

static void update_tensor(struct memoryx *mx, const struct memoryx_rule *rule, int i)
{
    if (mx->net->model->tensor[i].frozen) return;
    struct update_job job = {memoryx_rule_of_tensor(mx, rule, i), &mx->part[i]};
    num_parallel(blocks_of(mx->part[i].n), update_block, &job);
    mx->part[i].updated = true;
}

/* True when each stage is updated when it is sent for the next step, while earlier stages are in
 * transfer: between hosts, if nothing else reads the weights before. */
static bool updates_as_sent(const struct memoryx *mx, int64_t step)
{
    const struct model *model = mx->net->model;
    const struct zoo_params *params = mx->config.params;
    bool selects = false;
    for (int i = 0; i < model->n_tensors; i++)
        selects = selects || model->tensor[i].selected;
    return step + 1 < stream_end_step(mx->pass) && !params->trace_hash && !selects &&
           !model_has_masks(model) && !memoryx_tensorwise_of(&params->optimizer) &&
           comm_link_sends_pieces(mx->ports->down.weights[0]);
}

/* Update the parts that are not updated yet, now or when they are sent. */
static void update_elements(struct memoryx *mx, const struct memoryx_rule *rule, int64_t step)
{
    const bool as_sent = updates_as_sent(mx, step);
    mx->rule = *rule;
    for (int i = 0; i < mx->net->model->n_tensors; i++) {
        mx->part[i].update_due = as_sent && !mx->part[i].updated;
        if (!as_sent && !mx->part[i].updated) update_tensor(mx, rule, i);
    }
}

void memoryx_update_due(struct memoryx *mx, int stage)
{
    const struct model_stage *st = &mx->net->model->stage[stage];
    for (int v = 0; v < st->n_views; v++) {
        struct memoryx_part *s = &mx->part[st->view[v].tensor];
        if (!s->update_due) continue;
        update_tensor(mx, &mx->rule, st->view[v].tensor);
        s->update_due = s->updated = false;
    }
}

/* The whole update; without values, or for a skipped step, its messages alone. */
static enum wsc_err update_values(struct memoryx *mx, int64_t step, bool applies, struct vtime *at)
{
    const struct memoryx_tensorwise *whole = memoryx_tensorwise_of(&mx->config.params->optimizer);
    if (!applies) return memoryx_update_tensorwise(mx, whole, NULL, step, at);
    const struct memoryx_rule rule = memoryx_rule_of_step(mx);
    memoryx_hold_unselected(mx);
    update_elements(mx, &rule, step);
    TRY(memoryx_update_tensorwise(mx, whole, &rule, step, at));
    memoryx_release_unselected(mx);
    if (model_is_sparse(mx->net->model)) TRY(memoryx_update_masks(mx, step));
    mx->updates++;
    mx->schedule++;
    return WSC_OK;
}

static enum wsc_err check_norm(const struct memoryx *mx, int64_t step)
{
    const double norm = mx->batch.grad_norm;
    if (mx->shard || !mx->pass->values || isfinite(norm)) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_NUMERIC, "step %lld: the gradient is not finite (norm %s)",
                                  (long long)step + 1, isnan(norm) ? "NaN" : "inf"),
                        mx->scaler.scale > 1
                            ? "lower optimizer.loss_scaling_factor or write dynamic"
                            : "lower the learning rate or lengthen the warm-up");
}

/* True when nothing is updated before the norm over all parameters is known. */
static bool update_waits(const struct zoo_params *params, const struct model *model)
{
    return params->optimizer.max_gradient_norm > 0 || memoryx_scales_dynamically(params, model) ||
           memoryx_tensorwise_of(&params->optimizer);
}

/* Schedules count updates; without values every step is one. */
static double learning_rate_of(const struct memoryx *mx, int64_t step)
{
    return model_schedule_value(&mx->config.params->optimizer.learning_rate,
                                mx->pass->values ? mx->schedule : step);
}

/* True when a later stage adds to the gradient of @p tensor: a tensor that head and embedding share
 * gets a second contribution from the stage of the embedding. */
static bool has_later_gradient(const struct model *model, int stage, int tensor)
{
    const struct model_stage *first = &model->stage[model->first_policy];
    for (int v = 0; v < first->n_views; v++)
        if (stage > model->first_policy && first->view[v].tensor == tensor) return true;
    return false;
}

/* Does nothing with log_summaries, which have the norm of the weights before the update, and with
 * masks, which need the whole gradient. */
void memoryx_update_stage(struct memoryx *mx, int stage, int64_t step)
{
    const struct model *model = mx->net->model;
    const struct zoo_params *params = mx->config.params;
    if (update_waits(params, model) || params->optimizer.log_summaries || model_has_masks(model))
        return;
    mx->batch.learning_rate = learning_rate_of(mx, step);
    const struct memoryx_rule rule = memoryx_rule_of_step(mx);
    for (int v = 0; v < model->stage[stage].n_views; v++) {
        const int tensor = model->stage[stage].view[v].tensor;
        if (!has_later_gradient(model, stage, tensor)) update_tensor(mx, &rule, tensor);
    }
}

enum wsc_err memoryx_update(struct memoryx *mx, int64_t step)
{
    struct vtime known = {0};
    struct vtime_recorder *r = comm_record_at(mx->net->comm, step, VTIME_NO_TRANSFER);
    mx->times.reduced = vtime_latest_of(r, mx->arrived, mx->net->model->n_stages);
    if (mx->pass->values) TRY(memoryx_mask_gradients(mx));
    if (mx->pass->values) memoryx_select_gradients(mx);
    TRY(memoryx_share_norm(mx, step, &mx->batch.grad_norm, &known));
    mx->batch.learning_rate = learning_rate_of(mx, step);
    memoryx_noise_after(mx);
    TRY(memoryx_scale_after(mx, step));
    if (!mx->batch.skipped) TRY(check_norm(mx, step));
    TRY(update_values(mx, step, mx->pass->values && !mx->batch.skipped, &known));
    memoryx_drop_gradients(mx);
    if (mx->net->hw->cluster->effects.boundary)
        keep_time(mx, step, update_waits(mx->config.params, mx->net->model), known);
    else
        update_at_once(mx);
    TRY(memoryx_pause(mx, step));
    const struct vtime_bar bar = {.kind = VTIME_BAR_UPDATE,
                                  .begin = mx->times.reduced,
                                  .end = vtime_max(mx->times.updating, mx->times.reduced)};
    vtime_record_bar(r, &bar);
    if (!mx->pass->values) return WSC_OK;
    TRY(memoryx_report_masks(mx, step));
    for (int i = 0; i < mx->net->model->n_tensors; i++)
        mx->part[i].g_started = mx->part[i].updated = false;
    mx->batch.has_hash = mx->config.params->trace_hash;
    return mx->batch.has_hash ? memoryx_hash_weights(mx, step, &mx->batch.weights_hash) : WSC_OK;
}
