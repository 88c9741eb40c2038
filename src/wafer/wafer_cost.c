// SPDX-License-Identifier: Apache-2.0
/* What a stage costs on one wafer, in picoseconds: cycles of the analytical model or of the mesh,
 * jitter, straggler, the way from the edge of the wafer to its farthest PE, and what spills to the
 * activation servers.  wafer_clock.c turns it into times. */
#include "wafer_cost.h"

/* Monotone in @p ps, so that what comes first stays first. */
static int64_t lengthened(int64_t ps, int64_t millionths, double straggler)
{
    __extension__ typedef __int128 wide;
    const int64_t million = 1000000;
    const wide exact = (wide)ps * (million + millionths) / million;
    const int64_t jittered = exact < VTIME_END ? (int64_t)exact : VTIME_END;
    const double longer = (double)jittered * straggler;
    if (straggler > 1 && longer >= 0x1p63) return VTIME_END;
    return straggler > 1 ? (int64_t)longer : jittered;
}

static uint64_t density_key(const struct wafer_task *task)
{
    return task->amounts ? task->amounts->key : 0;
}

static bool same_tokens(const struct cycles_tokens *a, const struct cycles_tokens *b)
{
    return a->n_new == b->n_new && a->n_cached == b->n_cached && a->n_source == b->n_source &&
           a->n_memory == b->n_memory && a->n_beams == b->n_beams;
}

static bool is_known(const struct wafer_price *p, const struct cycles_plan *plan,
                     const struct wafer_task *task)
{
    const int64_t n = task->n_samples;
    return n > 0 && p->n_samples == n && same_tokens(&p->tokens, &task->tokens) &&
           p->lanes == plan->lanes && p->micro_batch == plan->micro_batch &&
           p->keep == plan->keep && p->slices == plan->slices && p->density == density_key(task);
}

/* By the analytical model, which takes longer than all else that a message costs the host. */
static struct wafer_price price_of(const struct hw *hw, const struct model *model,
                                   const struct cycles_plan *plan, const struct wafer_task *task)
{
    const int64_t n = task->n_samples;
    if (task->price && is_known(task->price, plan, task)) return *task->price;
    struct wafer_price p = {.n_samples = n,
                            .tokens = task->tokens,
                            .lanes = plan->lanes,
                            .micro_batch = plan->micro_batch,
                            .keep = plan->keep,
                            .slices = plan->slices,
                            .density = density_key(task)};
    const struct model_density *d = density_key(task) ? &task->amounts->density : NULL;
    p.cycles = task->tokens.n_new
                   ? cycles_generate(hw, model, plan, task->stage, &task->tokens, n, d)
                   : cycles_stage(hw, model, plan, task->stage, task->backward, n, d);
    if (task->backward)
        p.first_gradient = cycles_first_gradient(hw, model, plan, task->stage, n, d);
    if (task->price) *task->price = p;
    return p;
}

static int64_t stream_ps(const struct hw *hw, const struct wafer_task *task)
{
    if (!task->amounts) return 0;
    return vtime_duration_ps(task->amounts->weight_bytes, hw->cluster->wafer.io_rate_bytes_per_s);
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
    const struct wafer_jitter_of which = {.wafer = task->wafer,
                                          .seed = task->seed,
                                          .step = task->step,
                                          .transfer = task->transfer,
                                          .kept = task->deviates};
    const int64_t millionths = wafer_jitter_millionths(hw, &which);
    const double straggler = hw_straggler(hw, task->wafer);
    struct wafer_cost cost = {
        .latency_ps = cycles_latency_ps(c, model, task->stage, task->backward),
        .compute_ps = lengthened(hw_cycles_to_ps(hw, price.cycles), millionths, straggler),
        .drain_ps = hw_drain_ps(hw),
        .stream_ps = stream_ps(hw, task),
        .spill_ps = vtime_duration_ps(spilled, hw_spill_rate(hw))};
    if (!task->backward) return cost;
    cost.first_ps = lengthened(hw_cycles_to_ps(hw, price.first_gradient), millionths, straggler);
    return cost;
}
