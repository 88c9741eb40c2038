// SPDX-License-Identifier: Apache-2.0
/* The clock of a wafer: when a stage begins, computes and ends, and under which name each
 * picosecond is booked (docs/decisions/0003).  The clock only moves in spend(), so that the parts
 * add up to the time of the step.  wafer_cost.c says what a stage costs; wafer_stage.c calls. */
#include "wafer_clock.h"

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
static void wait_for_weights(struct wafer_clock *c, const struct stream_msg *weights)
{
    const struct vtime first = weights->span.first;
    spend(c, &c->spent.reduce_wait_ps, earlier(weights->field.weights.reduced, first));
    spend(c, &c->spent.boundary_ps, earlier(weights->field.weights.ready, first));
    spend(c, &c->spent.weights_wait_ps, first);
}

struct vtime wafer_clock_begin(struct wafer *w, const struct stream_at *at,
                               const struct stream_msg *weights)
{
    struct wafer_clock *c = &w->clock;
    if (at->index == 0) {
        /* The batch before ended for all when it ended on the slowest wafer. */
        const struct vtime start = weights->field.weights.step_start;
        *c = (struct wafer_clock){.now = start, .step_start = start};
    }
    wait_for_weights(c, weights);
    if (at->starts_micro && w->micro.n_fed) {
        const int64_t fed_ps = wafer_input_ps(w->net->hw, w->net->model, w->micro.n_fed);
        spend(c, &c->spent.input_wait_ps, vtime_add(c->step_start, fed_ps));
    }
    return c->now;
}

struct vtime_span wafer_clock_end(struct wafer *w, const struct stream_at *at,
                                  const struct stream_msg *weights,
                                  const struct kernels_counted *counted)
{
    const struct wafer_task task = {.wafer = w->place,
                                    .step = at->step,
                                    .seed = w->work.seed,
                                    .stage = at->stage,
                                    .backward = at->backward,
                                    .n_samples = w->micro.n_samples,
                                    .tokens = w->micro.tokens,
                                    .price = &w->price[2 * at->stage + at->backward],
                                    .counted = counted->known ? counted : NULL};
    const struct wafer_cost cost = wafer_cost_of(w->net->hw, w->net->model, w->work.plan, &task);
    struct wafer_clock *c = &w->clock;
    const struct vtime begin = c->now;
    const struct vtime start = vtime_add(begin, cost.latency_ps);
    spend(c, &c->spent.compute_ps, vtime_add(start, cost.compute_ps));
    /* Weights are never stored: the last of them, and what spills, must have passed. */
    spend(c, &c->spent.weights_wait_ps, vtime_add(weights->span.last, cost.drain_ps));
    spend(c, &c->spent.weights_wait_ps, vtime_add(begin, cost.spill_ps));
    return (struct vtime_span){earlier(vtime_add(start, cost.first_ps), c->now), c->now};
}

void wafer_clock_leave(struct wafer *w, struct vtime left)
{
    spend(&w->clock, &w->clock.spent.reduce_wait_ps, left);
}
