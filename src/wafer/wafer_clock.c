// SPDX-License-Identifier: Apache-2.0
/* The clock of a wafer: when a stage begins, computes and ends, and to which part of the step each
 * picosecond is assigned (docs/decisions/0003). Only spend() moves the clock, so the parts add up
 * to the time of the step; arrive_at() checks the clock against the recorded event. wafer_cost.c
 * has the cost of a stage; wafer_stage.c calls. */
#include "wafer_clock.h"

#include <wsc/check.h>

/* Move the clock to @p until_ps and add the time to @p part; a time in the past adds nothing. */
static void spend(struct wafer_clock *c, int64_t *part, int64_t until_ps)
{
    if (until_ps <= c->now.ps) return;
    *part += until_ps - c->now.ps;
    c->now.ps = until_ps;
}

static void spend_edge(struct wafer_clock *c, int64_t *part, const struct vtime_edge *in)
{
    spend(c, part, vtime_add_ps(in->from.ps, in->delay_ps));
}

/* The wait for @p in ends: check that the clock is at their event, and record it. */
static void arrive_at(struct wafer *w, const struct vtime_edge *in, int n)
{
    if (!w->recorder) return;
    const struct vtime latest = vtime_record(w->recorder, in, n);
    WSC_CHECK(latest.ps == w->clock.now.ps, "%lld ps are booked as %lld ps", (long long)latest.ps,
              (long long)w->clock.now.ps);
    w->clock.now = latest;
}

static int64_t earlier(int64_t a_ps, int64_t b_ps)
{
    return a_ps < b_ps ? a_ps : b_ps;
}

/* A wait for weights has up to three causes, one after the other: the gradients of the step before
 * were still being sent, MemoryX was updating, the stream was late. */
static void wait_for_weights(struct wafer_clock *c, const struct stream_msg *weights)
{
    const int64_t first_ps = weights->span.first.ps;
    spend(c, &c->spent.reduce_wait_ps, earlier(weights->field.weights.reduced.ps, first_ps));
    spend(c, &c->spent.boundary_ps, earlier(weights->field.weights.ready.ps, first_ps));
    spend(c, &c->spent.weights_wait_ps, first_ps);
}

struct vtime wafer_clock_begin(struct wafer *w, const struct stream_at *at,
                               const struct stream_msg *weights)
{
    struct wafer_clock *c = &w->clock;
    if (stream_starts_batch(at)) {
        /* For all wafers, the batch before ended when it ended on the slowest one. */
        const struct vtime start = weights->field.weights.step_start;
        *c = (struct wafer_clock){.now = start, .step_start = start};
    }
    struct vtime_edge in[3];
    int n = 0;
    in[n++] = (struct vtime_edge){c->now, 0, VTIME_WAIT};
    in[n++] = (struct vtime_edge){weights->span.first, 0, VTIME_WAIT};
    wait_for_weights(c, weights);
    const int64_t control_ps = stream_starts_batch(at) ? hw_control_ps(w->net->hw) : 0;
    if (control_ps) {
        in[n] = (struct vtime_edge){c->step_start, control_ps, VTIME_CONTROL};
        spend_edge(c, &c->spent.boundary_ps, &in[n++]);
    }
    arrive_at(w, in, n);
    return c->now;
}

/* True when the I/O of the wafer is slower than all links to the shards together, so that gradients
 * wait for it. */
static bool io_is_slower(const struct wafer *w)
{
    int64_t links = 0;
    for (int i = 0; i < w->ports->up.n; i++)
        links += comm_link_time(w->ports->up.data[i])->rate_bytes_per_s;
    return links > w->net->hw->cluster->wafer.io_rate_bytes_per_s;
}

/* The times at which the gradients of a stage that has ended are at the edge of the wafer. They
 * pass the I/O from their first row on, after those of the stage before have left
 * (wafer_clock_leave). */
static struct vtime_span gradients_out(const struct wafer *w, struct vtime first, int64_t out_ps)
{
    const struct vtime now = w->clock.now;
    struct vtime_span out = {first.ps < now.ps ? first : now, now};
    if (out_ps && io_is_slower(w))
        out.last = vtime_join_after(w->recorder, now, out.first, out_ps, VTIME_OUT);
    return out;
}

struct vtime_span wafer_clock_end(struct wafer *w, const struct stream_at *at,
                                  const struct stream_msg *weights,
                                  const struct kernels_simulated *counted)
{
    const struct wafer_task task = {.wafer = w->position,
                                    .step = at->step,
                                    .seed = w->work.seed,
                                    .stage = at->stage,
                                    .transfer = at->index,
                                    .backward = at->backward,
                                    .n_samples = w->micro.n_samples,
                                    .tokens = w->micro.tokens,
                                    .amounts = stream_amounts(w->net, at->stage, at->updates),
                                    .prices = w->prices,
                                    .deviates = &w->deviates,
                                    .counted = counted->known ? counted : NULL};
    const struct wafer_cost cost = wafer_cost_of(w->net->hw, w->net->model, w->work.plan, &task);
    struct wafer_clock *c = &w->clock;
    struct vtime_recorder *r = w->recorder;
    const struct vtime start = vtime_after(r, c->now, cost.latency_ps, VTIME_STAGE);
    /* Weights are never stored on a wafer: they are streamed through it, and a stage ends after its
     * last weights and its spilled activations have passed. */
    const struct vtime_edge in[] = {
        {start, cost.compute_ps, VTIME_COMPUTE},
        {weights->span.last, cost.traversal_ps, VTIME_IN},
        {start, vtime_add_ps(cost.stream_ps, cost.traversal_ps), VTIME_IN},
        {c->now, cost.spill_ps, VTIME_SPILL}};
    const int n = cost.spill_ps ? 4 : 3;
    spend_edge(c, &c->spent.compute_ps, &in[0]);
    for (int i = 1; i < n; i++)
        spend_edge(c, &c->spent.weights_wait_ps, &in[i]);
    arrive_at(w, in, n);
    if (!at->backward) return vtime_at(c->now);
    const struct vtime first = vtime_after(r, start, cost.first_ps, VTIME_COMPUTE);
    return gradients_out(w, first, cost.out_ps);
}

void wafer_clock_leave(struct wafer *w)
{
    struct wafer_clock *c = &w->clock;
    struct vtime left[STREAM_MAX_FANOUT + 1];
    const int n = w->ports->up.n;
    left[n] = c->now;
    for (int i = 0; i < n; i++) {
        left[i] = comm_link_time(w->ports->up.data[i])->free;
        spend(c, &c->spent.reduce_wait_ps, left[i].ps);
    }
    c->now = vtime_latest_of(w->recorder, left, n + 1);
}

void wafer_clock_feed(struct wafer *w)
{
    struct wafer_clock *c = &w->clock;
    /* A sample is what a process reads at once: of pairs of texts both. */
    const struct hw_samples samples = {.n = w->micro.n_fed / model_sequences(w->net->model),
                                       .n_tokens = w->micro.n_fed * w->net->model->T,
                                       .evaluation = w->pass->mode == STREAM_EVAL};
    const struct vtime_edge in[] = {
        {c->now, 0, VTIME_WAIT},
        {c->step_start, hw_input_ps(w->net->hw, w->position, &samples), VTIME_INPUT}};
    if (vtime_add_ps(in[1].from.ps, in[1].delay_ps) <= c->now.ps) return;
    spend_edge(c, &c->spent.input_wait_ps, &in[1]);
    arrive_at(w, in, 2);
}

void wafer_clock_record(struct wafer *w, struct vtime begin)
{
    const struct vtime_bar bar = {.kind = VTIME_BAR_STAGE,
                                  .begin = begin,
                                  .end = w->clock.now,
                                  .amount = w->micro.n_samples,
                                  .n_new = w->micro.tokens.n_new,
                                  .n_cached = w->micro.tokens.n_cached,
                                  .n_source = w->micro.tokens.n_source,
                                  .n_memory = w->micro.tokens.n_memory,
                                  .n_beams = w->micro.tokens.n_beams};
    vtime_record_bar(w->recorder, &bar);
}
