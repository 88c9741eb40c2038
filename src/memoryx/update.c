// SPDX-License-Identifier: Apache-2.0
#include "memoryx_impl.h"

#include <wsc/check.h>
#include <wsc/hash.h>
#include <wsc/mem.h>

#include <math.h>
#include <string.h>

enum { PARALLEL_BLOCK = 1 << 15 };

static int64_t blocks_of(int64_t n)
{
    return (n + PARALLEL_BLOCK - 1) / PARALLEL_BLOCK;
}

/* ---- the gradient of the batch --------------------------------------------------------------- */

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
    int64_t first = i * PARALLEL_BLOCK, end = first + PARALLEL_BLOCK;
    (void)thread;
    if (end > job->n) end = job->n;
    for (int64_t k = first; k < end; k++) {
        float mean = job->sum[k] * job->scale;
        job->g[k] = job->add ? job->g[k] + mean : mean;
    }
}

/* A tied tensor gets two contributions, the head's first: always in this order. */
void memoryx_take_gradient(struct memoryx *mx, int stage, const float *sum)
{
    const struct model_stage *st = &mx->net->model->stage[stage];
    const double factor =
        memoryx_loss_factor(mx, mx->losses.sum[0].n_tokens) / memoryx_gradient_scale(mx);
    for (int v = 0; v < st->n_views; v++) {
        struct memoryx_slice *s = &mx->slice[st->view[v].tensor];
        struct gradient_job job = {s->g, sum, s->n, (float)factor, s->g_started};
        num_parallel(blocks_of(s->n), scale_block, &job);
        s->g_started = true;
        sum += s->n;
    }
}

/* ---- virtual time of the update -------------------------------------------------------------- */

int64_t memoryx_owned_elems(const struct model *model, int stage)
{
    const struct model_stage *st = &model->stage[stage];
    int64_t n = 0;
    for (int v = 0; v < st->n_views; v++) {
        const struct model_tensor *t = &model->tensor[st->view[v].tensor];
        if (!(t->kind == MODEL_WTE && stage > 0)) n += t->n_elems;
    }
    return n;
}

int64_t memoryx_update_ps(const struct hw *hw, const struct model *model, int stage, int n_shards)
{
    const int64_t n = stream_per_shard_bytes(memoryx_owned_elems(model, stage), n_shards);
    return vtime_duration_ps(n, hw->cluster->memoryx.update_rate_params_per_s);
}

static void update_stage_at(struct memoryx *mx, int stage, struct vtime gradient)
{
    const struct hw *hw = mx->net->hw;
    const int64_t ps = memoryx_update_ps(hw, mx->net->model, stage, mx->n_shards);
    struct vtime_recorder *r = comm_recorder(mx->net->comm);
    const struct vtime start = vtime_join_after(
        r, mx->times.updating, gradient, hw->cluster->memoryx.update_latency_ps, VTIME_UPDATE);
    mx->times.updating = vtime_after(r, start, ps, VTIME_UPDATE);
    mx->times.ready[stage] = mx->times.updating;
}

/* Without the boundary, weights are there as soon as their gradient is. */
static void update_at_once(struct memoryx *mx)
{
    const int n = mx->net->model->n_stages;
    for (int s = 0; s < n; s++)
        mx->times.ready[s] = mx->arrived[s];
    if (mx->net->model->tied)
        mx->times.ready[0] = mx->times.ready[n - 1] =
            vtime_join(comm_recorder(mx->net->comm), mx->arrived[0], mx->arrived[n - 1]);
}

/* Where the update waits, for the norm or for sums over whole tensors, stages follow in the order
 * in which the next step streams them.  Otherwise each stage follows its own gradient.  A step that
 * is skipped takes the time of one that is not: time does not depend on values. */
static void keep_time(struct memoryx *mx, bool waits, struct vtime known)
{
    const struct model *model = mx->net->model;
    for (int i = 0; i < model->n_stages; i++) {
        int stage = waits ? i : model->n_stages - 1 - i;
        update_stage_at(mx, stage, waits ? known : mx->arrived[stage]);
    }
    if (model->tied) {
        struct vtime *head = &mx->times.ready[model->n_stages - 1];
        *head = vtime_join(comm_recorder(mx->net->comm), *head, mx->times.ready[0]);
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

struct update_job {
    struct memoryx_rule rule;
    const struct memoryx_slice *slice;
};

static void update_block(void *ctx, int64_t i, int thread)
{
    const struct update_job *job = ctx;
    const struct memoryx_slice *s = job->slice;
    const int64_t first = i * PARALLEL_BLOCK, n = s->n - first;
    struct memoryx_block b = {
        .w = s->w + first, .g = s->g + first, .n = n < PARALLEL_BLOCK ? n : PARALLEL_BLOCK};
    (void)thread;
    for (int k = 0; k < MEMORYX_MAX_STATE; k++)
        b.state[k] = s->state[k] ? s->state[k] + first : NULL;
    memoryx_step_block(&job->rule, &b);
}

/* The product of the momenta up to update @p t, from where the last call left it. */
static double nadam_product(struct memoryx *mx, int64_t t)
{
    const struct zoo_optimizer *o = &mx->config.params->optimizer;
    if (mx->mu_updates > t || !mx->mu_updates) {
        mx->mu_updates = 0;
        mx->mu_product = 1;
    }
    while (mx->mu_updates < t)
        mx->mu_product *= memoryx_nadam_momentum(o, (double)++mx->mu_updates);
    return mx->mu_product;
}

static struct memoryx_rule rule_of_step(struct memoryx *mx)
{
    const struct zoo_optimizer *o = &mx->config.params->optimizer;
    const int64_t before = mx->schedule ? mx->schedule - 1 : 0;
    struct memoryx_rule rule = {.o = o,
                                .t = (double)(mx->updates + 1),
                                .lr_exact = mx->batch.learning_rate,
                                .lr_before = model_schedule_value(&o->learning_rate, before),
                                .weight_decay =
                                    (float)model_schedule_value(&o->weight_decay, mx->schedule),
                                .grad_scale = 1.0F,
                                .grad_limit = INFINITY};
    if (o->type == ZOO_NADAM) rule.mu_product = nadam_product(mx, mx->updates + 1);
    /* torch.nn.utils.clip_grad_norm_: norm + 1e-6 in the denominator. */
    if (o->max_gradient_norm > 0)
        rule.grad_scale = (float)fmin(1.0, o->max_gradient_norm / (mx->batch.grad_norm + 1e-6));
    else if (o->max_gradient_value > 0)
        rule.grad_limit = (float)o->max_gradient_value;
    if (o->maximize) rule.grad_scale = -rule.grad_scale;
    return rule;
}

struct memoryx_rule memoryx_rule_of_tensor(const struct memoryx *mx,
                                           const struct memoryx_rule *rule, int i)
{
    const struct model_tensor *t = &mx->net->model->tensor[i];
    struct memoryx_rule own = *rule;
    own.lr_exact *= t->lr_scale;
    own.lr_before *= t->lr_scale;
    own.lr = (float)own.lr_exact;
    if (!t->decay) own.weight_decay = 0;
    return own;
}

static void update_elements(const struct memoryx *mx, const struct memoryx_rule *rule)
{
    struct update_job job;
    for (int i = 0; i < mx->net->model->n_tensors; i++) {
        job.rule = memoryx_rule_of_tensor(mx, rule, i);
        job.slice = &mx->slice[i];
        num_parallel(blocks_of(mx->slice[i].n), update_block, &job);
    }
}

/* The whole update; without values, or for a step that is skipped, its messages alone. */
static enum wsc_err update_values(struct memoryx *mx, int64_t step, bool applies, struct vtime *at)
{
    if (!applies) return memoryx_update_tensorwise(mx, NULL, step, at);
    const struct memoryx_rule rule = rule_of_step(mx);
    update_elements(mx, &rule);
    TRY(memoryx_update_tensorwise(mx, &rule, step, at));
    mx->updates++;
    mx->schedule++;
    return WSC_OK;
}

/* Hashes of blocks are added, so the sum does not depend on which shard owns which. */
static uint64_t hash_of_slices(const struct memoryx *mx)
{
    uint64_t sum = 0;
    for (int i = 0; i < mx->net->model->n_tensors; i++) {
        const struct memoryx_slice *s = &mx->slice[i];
        for (int64_t b = 0; b < s->n; b += STREAM_BLOCK_ELEMS) {
            int64_t n = s->n - b < STREAM_BLOCK_ELEMS ? s->n - b : STREAM_BLOCK_ELEMS;
            uint64_t place = (uint64_t)i << 40 | (uint64_t)((s->first + b) / STREAM_BLOCK_ELEMS);
            sum += wsc_hash64(s->w + b, (size_t)n * sizeof(float), place);
        }
    }
    return sum;
}

static enum wsc_err check_norm(const struct memoryx *mx, int64_t step)
{
    if (mx->shard || !mx->pass->values || isfinite(mx->batch.grad_norm)) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_NUMERIC, "step %lld: the gradient is not finite (norm %g)",
                                  (long long)step + 1, mx->batch.grad_norm),
                        "lower the learning rate or lengthen the warm-up");
}

bool memoryx_update_waits(const struct zoo_params *params, const struct model *model)
{
    int64_t bytes[MEMORYX_MAX_ROUNDS];
    return params->optimizer.max_gradient_norm > 0 || memoryx_scales_dynamically(params, model) ||
           memoryx_rounds(&params->optimizer, model, bytes) > 0;
}

/* Schedules count updates; without values every step is one. */
static double learning_rate_of(const struct memoryx *mx, int64_t step)
{
    return model_schedule_value(&mx->config.params->optimizer.learning_rate,
                                mx->pass->values ? mx->schedule : step);
}

static enum wsc_err share_weights_hash(struct memoryx *mx, int64_t step)
{
    mx->batch.has_hash = mx->config.params->trace_hash;
    if (!mx->batch.has_hash) return WSC_OK;
    mx->batch.weights_hash = hash_of_slices(mx);
    return memoryx_share_hash(mx, step, &mx->batch.weights_hash);
}

enum wsc_err memoryx_update(struct memoryx *mx, int64_t step)
{
    struct vtime known = {0};
    struct vtime_recorder *r = comm_record_at(mx->net->comm, step, VTIME_NO_TRANSFER);
    mx->times.reduced = vtime_latest_of(r, mx->arrived, mx->net->model->n_stages);
    TRY(memoryx_share_norm(mx, step, &mx->batch.grad_norm, &known));
    mx->batch.learning_rate = learning_rate_of(mx, step);
    memoryx_noise_after(mx);
    TRY(memoryx_scale_after(mx, step));
    if (!mx->batch.skipped) TRY(check_norm(mx, step));
    TRY(update_values(mx, step, mx->pass->values && !mx->batch.skipped, &known));
    if (mx->net->hw->cluster->effects.boundary)
        keep_time(mx, memoryx_update_waits(mx->config.params, mx->net->model), known);
    else
        update_at_once(mx);
    const struct vtime_bar bar = {
        .kind = VTIME_BAR_UPDATE, .begin = mx->times.reduced, .end = mx->times.updating};
    vtime_record_bar(r, &bar);
    if (!mx->pass->values) return WSC_OK;
    for (int i = 0; i < mx->net->model->n_tensors; i++)
        mx->slice[i].g_started = false;
    return share_weights_hash(mx, step);
}
