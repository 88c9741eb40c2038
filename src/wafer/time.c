// SPDX-License-Identifier: Apache-2.0
#include "wafer_impl.h"

#include <wsc/check.h>
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

static bool is_known(const struct wafer_price *p, const struct cycles_plan *plan,
                     const struct wafer_task *task)
{
    const int64_t n = task->n_samples;
    return n > 0 && p->n_samples == n && p->tokens.n_new == task->tokens.n_new &&
           p->tokens.n_cached == task->tokens.n_cached && p->lanes == plan->lanes &&
           p->micro_batch == plan->micro_batch && p->keep == plan->keep;
}

/* By the closed forms, which take longer than all else that a message costs the host. */
static struct wafer_price price_of(const struct hw *hw, const struct model *model,
                                   const struct cycles_plan *plan, const struct wafer_task *task)
{
    const int64_t n = task->n_samples;
    if (task->price && is_known(task->price, plan, task)) return *task->price;
    struct wafer_price p = {.n_samples = n,
                            .tokens = task->tokens,
                            .lanes = plan->lanes,
                            .micro_batch = plan->micro_batch,
                            .keep = plan->keep};
    p.cycles = task->tokens.n_new ? cycles_generate(hw, model, plan, task->stage, &task->tokens, n)
                                  : cycles_stage(hw, model, plan, task->stage, task->backward, n);
    if (task->backward) p.first_gradient = cycles_first_gradient(hw, model, plan, task->stage, n);
    if (task->price) *task->price = p;
    return p;
}

struct wafer_cost wafer_cost_of(const struct hw *hw, const struct model *model,
                                const struct cycles_plan *plan, const struct wafer_task *task)
{
    const struct hw_machine *c = hw->cluster;
    const int64_t n = task->n_samples;
    const struct wafer_price price =
        task->counted ? (struct wafer_price){.cycles = task->counted->cycles,
                                             .first_gradient = task->counted->first_gradient}
                      : price_of(hw, model, plan, task);
    const int64_t spilled = task->counted ? 0 : cycles_spill_bytes(model, plan, task->stage, n);
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

/* Book the time until @p until_ps under @p part and move on; the past costs nothing. */
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

/* What was spent waiting for @p in was all the time that passed; the clock is at their event. */
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
 * were still on their way, MemoryX was updating, the stream was late. */
static void wait_for_weights(struct wafer_clock *c, const struct comm_msg *weights)
{
    const int64_t first_ps = weights->span.first.ps;
    spend(c, &c->reduce_wait_ps, earlier(weights->field[STREAM_F_REDUCED], first_ps));
    spend(c, &c->boundary_ps, earlier(weights->field[STREAM_F_READY], first_ps));
    spend(c, &c->weights_wait_ps, first_ps);
}

struct vtime wafer_clock_begin(struct wafer *w, const struct comm_msg *weights,
                               const struct wafer_visit *v)
{
    struct wafer_clock *c = &w->clock;
    if (v->index == 0) {
        /* The batch before ended for all when it ended on the slowest wafer. */
        const struct vtime start = {weights->field[STREAM_F_STEP_START],
                                    weights->field[STREAM_F_STEP_EVENT]};
        *c = (struct wafer_clock){.now = start, .step_start = start};
    }
    struct vtime_edge in[3];
    int n = 0;
    in[n++] = (struct vtime_edge){c->now, 0, VTIME_WAIT};
    in[n++] = (struct vtime_edge){weights->span.first, 0, VTIME_WAIT};
    wait_for_weights(c, weights);
    if (v->n_fed) {
        const int64_t fed_ps = wafer_input_ps(w->net->hw, w->net->model, v->n_fed);
        in[n] = (struct vtime_edge){c->step_start, fed_ps, VTIME_INPUT};
        spend_edge(c, &c->input_wait_ps, &in[n++]);
    }
    arrive_at(w, in, n);
    return c->now;
}

struct vtime_span wafer_clock_end(struct wafer *w, const struct comm_msg *weights,
                                  const struct wafer_visit *v,
                                  const struct kernels_simulated *counted)
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
    struct vtime_recorder *r = w->recorder;
    const struct vtime start = vtime_after(r, c->now, cost.latency_ps, VTIME_STAGE);
    /* Weights are never stored: the last of them, and what spills, must have passed. */
    const struct vtime_edge in[] = {{start, cost.compute_ps, VTIME_COMPUTE},
                                    {weights->span.last, cost.drain_ps, VTIME_DRAIN},
                                    {c->now, cost.spill_ps, VTIME_SPILL}};
    spend_edge(c, &c->compute_ps, &in[0]);
    spend_edge(c, &c->weights_wait_ps, &in[1]);
    spend_edge(c, &c->weights_wait_ps, &in[2]);
    arrive_at(w, in, cost.spill_ps ? 3 : 2);
    if (!v->backward) return vtime_at(c->now);
    const struct vtime first = vtime_after(r, start, cost.first_ps, VTIME_COMPUTE);
    return (struct vtime_span){first.ps < c->now.ps ? first : c->now, c->now};
}

/* Gradients are not stored: a stage ends when they have left, on the links to all shards. */
void wafer_clock_leave(struct wafer *w)
{
    struct wafer_clock *c = &w->clock;
    struct vtime left[STREAM_MAX_FANOUT + 1];
    const int n = w->ports->up.n;
    left[n] = c->now;
    for (int i = 0; i < n; i++) {
        left[i] = comm_link_time(w->ports->up.data[i])->free;
        spend(c, &c->reduce_wait_ps, left[i].ps);
    }
    c->now = vtime_latest_of(w->recorder, left, n + 1);
}

void wafer_clock_record(struct wafer *w, struct vtime begin, const struct wafer_visit *v)
{
    const struct vtime_bar bar = {.kind = VTIME_BAR_STAGE,
                                  .begin = begin,
                                  .end = w->clock.now,
                                  .amount = v->n_samples,
                                  .n_new = v->tokens.n_new,
                                  .n_cached = v->tokens.n_cached};
    vtime_record_bar(w->recorder, &bar);
}
