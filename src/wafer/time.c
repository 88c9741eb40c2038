// SPDX-License-Identifier: Apache-2.0
#include "wafer_impl.h"

#include <wsc/rng.h>

#include <math.h>

/* ---- what a stage costs ---------------------------------------------------------------------- */

/* In whole millionths, so that the last bit of a logarithm cannot show in a picosecond. */
static int64_t jitter_millionths(double jitter, const struct wafer_task *task)
{
    const double most = 4, million = 1e6;
    if (!(jitter > 0)) return 0;
    const uint64_t stream = wsc_rng_stream(WSC_RNG_JITTER, (uint64_t)task->wafer);
    const double z =
        wsc_rng_truncated_normal(task->seed, stream, (uint64_t)(task->step / 2), -most, most);
    return llround((task->step % 2 ? -z : z) * jitter * million);
}

/* Monotone in @p ps, so that what comes first stays first. */
static int64_t stretch(int64_t ps, int64_t millionths, double straggler)
{
    __extension__ typedef __int128 wide;
    const int64_t million = 1000000;
    const wide exact = (wide)ps * (million + millionths) / million;
    const int64_t jittered = exact < VTIME_END ? (int64_t)exact : VTIME_END;
    const double longer = (double)jittered * straggler;
    if (straggler > 1 && longer >= 0x1p63) return VTIME_END;
    return straggler > 1 ? (int64_t)longer : jittered;
}

static bool is_known(const struct wafer_price *p, const struct kernels_plan *plan,
                     const struct wafer_task *task)
{
    const int64_t n = task->n_samples;
    return n > 0 && p->n_samples == n && p->tokens.n_new == task->tokens.n_new &&
           p->tokens.n_cached == task->tokens.n_cached && p->lanes == plan->lanes &&
           p->micro_batch == plan->micro_batch && p->keep == plan->keep;
}

/* By the closed forms, which take longer than all else that a message costs the host. */
static struct wafer_price price_of(const struct hw *hw, const struct model *model,
                                   const struct kernels_plan *plan, const struct wafer_task *task)
{
    const int64_t n = task->n_samples;
    if (task->price && is_known(task->price, plan, task)) return *task->price;
    struct wafer_price p = {.n_samples = n,
                            .tokens = task->tokens,
                            .lanes = plan->lanes,
                            .micro_batch = plan->micro_batch,
                            .keep = plan->keep};
    p.cycles = task->tokens.n_new
                   ? kernels_generate_cycles(hw, model, plan, task->stage, &task->tokens, n)
                   : kernels_stage_cycles(hw, model, plan, task->stage, task->backward, n);
    if (task->backward)
        p.first_gradient = kernels_first_gradient_cycles(hw, model, plan, task->stage, n);
    if (task->price) *task->price = p;
    return p;
}

struct wafer_cost wafer_cost_of(const struct hw *hw, const struct model *model,
                                const struct kernels_plan *plan, const struct wafer_task *task)
{
    const struct hw_machine *c = hw->cluster;
    const int64_t n = task->n_samples;
    const struct wafer_price price =
        task->counted ? (struct wafer_price){.cycles = task->counted->cycles,
                                             .first_gradient = task->counted->first_gradient}
                      : price_of(hw, model, plan, task);
    const int64_t spilled = task->counted ? 0 : kernels_spill_bytes(model, plan, task->stage, n);
    const int64_t millionths = jitter_millionths(hw_jitter(hw, task->wafer), task);
    const double straggler = hw_straggler(hw, task->wafer);
    struct wafer_cost cost = {.latency_ps = c->wafer.stage_latency_ps,
                              .compute_ps =
                                  stretch(hw_cycles_to_ps(hw, price.cycles), millionths, straggler),
                              .drain_ps = hw_drain_ps(hw),
                              .spill_ps = vtime_duration_ps(spilled, c->wafer.io_rate_bytes_per_s)};
    if (!task->backward) return cost;
    cost.first_ps = stretch(hw_cycles_to_ps(hw, price.first_gradient), millionths, straggler);
    return cost;
}

int64_t wafer_input_ps(const struct hw *hw, const struct model *model, int64_t n_samples)
{
    const struct hw_machine *c = hw->cluster;
    if (!c->effects.input) return 0;
    return vtime_duration_ps(n_samples * model->T * c->input.bytes_per_token,
                             c->input.rate_bytes_per_s);
}

/* ---- the wafer's clock ----------------------------------------------------------------------- */

/* Book the time until @p until under @p part and move on; the past costs nothing. */
static void spend(struct wafer_clock *c, int64_t *part, struct vtime until)
{
    if (until.ps <= c->now.ps) return;
    *part += until.ps - c->now.ps;
    c->now = until;
}

static struct vtime earlier(struct vtime a, struct vtime b)
{
    return a.ps < b.ps ? a : b;
}

/* A wait for weights has up to three causes, one after the other: the gradients of the step before
 * were still on their way, MemoryX was updating, the stream was late. */
static void wait_for_weights(struct wafer_clock *c, const struct comm_msg *weights)
{
    const struct vtime first = weights->span.first;
    const struct vtime reduced = {weights->field[STREAM_F_REDUCED]};
    const struct vtime ready = {weights->field[STREAM_F_READY]};
    spend(c, &c->reduce_wait_ps, earlier(reduced, first));
    spend(c, &c->boundary_ps, earlier(ready, first));
    spend(c, &c->weights_wait_ps, first);
}

struct vtime wafer_clock_begin(struct wafer *w, const struct comm_msg *weights,
                               const struct wafer_visit *v)
{
    struct wafer_clock *c = &w->clock;
    if (v->index == 0) {
        /* The batch before ended for all when it ended on the slowest wafer. */
        const struct vtime start = {weights->field[STREAM_F_STEP_START]};
        *c = (struct wafer_clock){.now = start, .step_start = start};
    }
    wait_for_weights(c, weights);
    if (v->n_fed) {
        const int64_t fed_ps = wafer_input_ps(w->net->hw, w->net->model, v->n_fed);
        spend(c, &c->input_wait_ps, vtime_add(c->step_start, fed_ps));
    }
    return c->now;
}

struct vtime_span wafer_clock_end(struct wafer *w, const struct comm_msg *weights,
                                  const struct wafer_visit *v,
                                  const struct kernels_counted *counted)
{
    const struct wafer_task task = {.wafer = w->place,
                                    .step = v->step,
                                    .seed = w->work.seed,
                                    .stage = v->stage,
                                    .backward = v->backward,
                                    .n_samples = v->n_samples,
                                    .tokens = v->tokens,
                                    .price = &w->price[2 * v->stage + v->backward],
                                    .counted = counted->known ? counted : NULL};
    const struct wafer_cost cost = wafer_cost_of(w->net->hw, w->net->model, w->work.plan, &task);
    struct wafer_clock *c = &w->clock;
    const struct vtime begin = c->now;
    const struct vtime start = vtime_add(begin, cost.latency_ps);
    spend(c, &c->compute_ps, vtime_add(start, cost.compute_ps));
    /* Weights are never stored: the last of them, and what spills, must have passed. */
    spend(c, &c->weights_wait_ps, vtime_add(weights->span.last, cost.drain_ps));
    spend(c, &c->weights_wait_ps, vtime_add(begin, cost.spill_ps));
    return (struct vtime_span){earlier(vtime_add(start, cost.first_ps), c->now), c->now};
}

void wafer_clock_leave(struct wafer *w, struct vtime left)
{
    spend(&w->clock, &w->clock.reduce_wait_ps, left);
}
