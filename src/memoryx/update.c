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
    const struct conf_model *m = &mx->config.params->model;
    double factor = m->loss_scaling == CONF_LOSS_BATCH_SIZE
                        ? m->loss_weight / (double)mx->pass->batch.batch_size
                        : 1.0 / (double)mx->losses.sum[0].n_tokens;
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
    struct vtime start =
        vtime_max(mx->times.updating, vtime_add(gradient, hw->cluster->memoryx.update_latency_ps));
    mx->times.updating = vtime_add(start, ps);
    mx->times.ready[stage] = mx->times.updating;
}

/* Without the boundary, weights are there as soon as their gradient is. */
static void update_at_once(struct memoryx *mx)
{
    const int n = mx->net->model->n_stages;
    for (int s = 0; s < n; s++)
        mx->times.ready[s] = mx->arrived[s];
    if (mx->net->model->tied)
        mx->times.ready[0] = mx->times.ready[n - 1] = vtime_max(mx->arrived[0], mx->arrived[n - 1]);
}

/* Clipping by the global norm: nothing is updated before the norm is known, then stages follow in
 * the order in which the next step streams them.  Otherwise each stage follows its own gradient. */
static void keep_time(struct memoryx *mx, bool clip, struct vtime norm_known)
{
    const struct model *model = mx->net->model;
    for (int i = 0; i < model->n_stages; i++) {
        int stage = clip ? i : model->n_stages - 1 - i;
        update_stage_at(mx, stage, clip ? norm_known : mx->arrived[stage]);
    }
    if (model->tied) {
        struct vtime *head = &mx->times.ready[model->n_stages - 1];
        *head = vtime_max(*head, mx->times.ready[0]);
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

struct update_job {
    struct memoryx_adamw rule;
    const struct memoryx_slice *slice;
};

static void update_block(void *ctx, int64_t i, int thread)
{
    const struct update_job *job = ctx;
    const struct memoryx_slice *s = job->slice;
    int64_t first = i * PARALLEL_BLOCK, n = s->n - first;
    (void)thread;
    memoryx_adamw(&job->rule, s->w + first, s->m + first, s->v + first, s->g + first,
                  n < PARALLEL_BLOCK ? n : PARALLEL_BLOCK);
}

static struct memoryx_adamw rule_of_step(const struct memoryx *mx, int64_t step)
{
    const struct conf_optimizer *o = &mx->config.params->optimizer;
    const double t = (double)(step + 1);
    double correction =
        o->correct_bias ? sqrt(1.0 - pow(o->beta2, t)) / (1.0 - pow(o->beta1, t)) : 1.0;
    struct memoryx_adamw rule = {.beta1 = (float)o->beta1,
                                 .beta2 = (float)o->beta2,
                                 .eps = (float)o->eps,
                                 .correction = (float)correction,
                                 .grad_scale = 1.0F,
                                 .grad_limit = INFINITY};
    /* torch.nn.utils.clip_grad_norm_: norm + 1e-6 in the denominator. */
    if (o->max_gradient_norm > 0)
        rule.grad_scale = (float)fmin(1.0, o->max_gradient_norm / (mx->batch.grad_norm + 1e-6));
    else if (o->max_gradient_value > 0)
        rule.grad_limit = (float)o->max_gradient_value;
    return rule;
}

static void update_values(struct memoryx *mx, int64_t step)
{
    const struct model *model = mx->net->model;
    const struct conf_optimizer *o = &mx->config.params->optimizer;
    const double decay = model_schedule_value(&o->weight_decay, step);
    struct update_job job = {.rule = rule_of_step(mx, step)};
    for (int i = 0; i < model->n_tensors; i++) {
        const struct model_tensor *t = &model->tensor[i];
        job.slice = &mx->slice[i];
        job.rule.lr = (float)(mx->batch.learning_rate * t->lr_scale);
        job.rule.weight_decay = t->decay ? (float)decay : 0.0F;
        num_parallel(blocks_of(mx->slice[i].n), update_block, &job);
    }
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

enum wsc_err memoryx_update(struct memoryx *mx, int64_t step)
{
    const struct conf_optimizer *o = &mx->config.params->optimizer;
    const bool clip = o->max_gradient_norm > 0;
    struct vtime norm_known = {0};
    mx->times.reduced = (struct vtime){0};
    for (int s = 0; s < mx->net->model->n_stages; s++)
        mx->times.reduced = vtime_max(mx->times.reduced, mx->arrived[s]);
    TRY(memoryx_share_norm(mx, step, &mx->batch.grad_norm, &norm_known));
    TRY(check_norm(mx, step));
    if (mx->net->hw->cluster->effects.boundary)
        keep_time(mx, clip, norm_known);
    else
        update_at_once(mx);
    mx->batch.learning_rate = model_schedule_value(&o->learning_rate, step);
    if (!mx->pass->values) return WSC_OK;
    update_values(mx, step);
    for (int i = 0; i < mx->net->model->n_tensors; i++)
        mx->slice[i].g_started = false;
    mx->batch.has_hash = mx->config.params->trace_hash;
    if (!mx->batch.has_hash) return WSC_OK;
    mx->batch.weights_hash = hash_of_slices(mx);
    return memoryx_share_hash(mx, step, &mx->batch.weights_hash);
}
