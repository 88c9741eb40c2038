// SPDX-License-Identifier: Apache-2.0
#include "wafer_impl.h"

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
        *c = (struct wafer_clock){.now = {weights->field[STREAM_F_STEP_START]}};
    }
    wait_for_weights(c, weights);
    return c->now;
}

/* Cycles of a visit and from its start to the first gradient, spilled bytes: counted by the mesh,
 * which holds all activations, or by closed forms. */
struct visit_cost {
    int64_t cycles, first, spill_bytes;
};

static struct visit_cost cost_of(const struct wafer *w, const struct wafer_visit *v,
                                 const struct kernels_counted *counted)
{
    const struct hw *hw = w->net->hw;
    const struct model *model = w->net->model;
    const struct kernels_plan *plan = w->work.plan;
    const int64_t n = v->n_samples;
    if (counted->known)
        return (struct visit_cost){.cycles = counted->cycles, .first = counted->first_gradient};
    return (struct visit_cost){.cycles =
                                   kernels_stage_cycles(hw, model, plan, v->stage, v->backward, n),
                               .first = kernels_first_gradient_cycles(hw, model, plan, v->stage, n),
                               .spill_bytes = kernels_spill_bytes(model, plan, v->stage, n)};
}

struct vtime_span wafer_clock_end(struct wafer *w, const struct comm_msg *weights,
                                  const struct wafer_visit *v,
                                  const struct kernels_counted *counted)
{
    const struct hw *hw = w->net->hw;
    const struct conf_wafer *wafer = &hw->cluster->wafer;
    const struct visit_cost cost = cost_of(w, v, counted);
    struct wafer_clock *c = &w->clock;
    const struct vtime begin = c->now;
    const struct vtime start = vtime_add(begin, wafer->stage_latency_ps);
    spend(c, &c->compute_ps, vtime_add(start, hw_cycles_to_ps(hw, cost.cycles)));
    /* Weights are never stored: the last of them, and what spills, must have passed. */
    spend(c, &c->weights_wait_ps, vtime_add(weights->span.last, hw_drain_ps(hw)));
    int64_t spill_ps = vtime_duration_ps(cost.spill_bytes, wafer->io_rate_bytes_per_s);
    spend(c, &c->weights_wait_ps, vtime_add(begin, spill_ps));
    return (struct vtime_span){earlier(vtime_add(start, hw_cycles_to_ps(hw, cost.first)), c->now),
                               c->now};
}

void wafer_clock_leave(struct wafer *w, struct vtime left)
{
    spend(&w->clock, &w->clock.reduce_wait_ps, left);
}
