// SPDX-License-Identifier: Apache-2.0
/* What a stage costs on one wafer, in picoseconds: cycles of the analytical model or of the mesh,
 * jitter, straggler, the way from the edge of the wafer to its farthest PE, and what spills to the
 * activation servers.  wafer_clock.c turns it into times. */
#include "wafer_cost.h"

#include <wsc/rng.h>

#include <math.h>

/* Which normal deviate of a wafer; the kind of jitter keeps them apart. */
enum jitter_kind { OF_STEP, OF_STAGE, OF_SYSTEM };

static double deviate(const struct wafer_task *task, enum jitter_kind kind, uint64_t which,
                      uint64_t counter)
{
    const double most = 4;
    const uint64_t index = (uint64_t)task->wafer | (uint64_t)kind << 12 | which << 14;
    return wsc_rng_truncated_normal(task->seed, wsc_rng_stream(WSC_RNG_JITTER, index), counter,
                                    -most, most);
}

static struct wafer_deviates deviates_of(const struct wafer_task *task)
{
    const int64_t pair = task->step / 2;
    const struct wafer_deviates *d = task->deviates;
    if (d && d->known && d->pair == pair && d->seed == task->seed) return *d;
    const struct wafer_deviates new = {.known = true,
                                       .seed = task->seed,
                                       .pair = pair,
                                       .step = deviate(task, OF_STEP, 0, (uint64_t)pair),
                                       .system = deviate(task, OF_SYSTEM, 0, 0)};
    if (task->deviates) *task->deviates = new;
    return new;
}

/* Relative change of the compute time, in whole millionths, so that the last bit of a logarithm
 * cannot show in a picosecond.  Jitter of steps and stages has opposite signs in the two steps of a
 * pair.  System 0 is the typical one, so that one system alone is as fast as its cycles say. */
static int64_t jitter_millionths(const struct hw *hw, const struct wafer_task *task)
{
    const double million = 1e6, least = -0.8;
    const double step = hw_jitter(hw, task->wafer), stage = hw->cluster->jitter_stage;
    const double system = task->wafer ? hw->cluster->jitter_system : 0;
    if (!(step > 0) && !(stage > 0) && !(system > 0)) return 0;
    const struct wafer_deviates d = deviates_of(task);
    double sum = step * d.step;
    if (stage > 0)
        sum += stage * deviate(task, OF_STAGE, (uint64_t)task->transfer, (uint64_t)d.pair);
    if (task->step % 2) sum = -sum;
    sum += system * d.system;
    return llround(fmax(sum, least) * million);
}

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
    const int64_t millionths = jitter_millionths(hw, task);
    const double straggler = hw_straggler(hw, task->wafer);
    struct wafer_cost cost = {
        .latency_ps = hw_stage_latency_ps(c, task->backward),
        .compute_ps = lengthened(hw_cycles_to_ps(hw, price.cycles), millionths, straggler),
        .drain_ps = hw_drain_ps(hw),
        .stream_ps = stream_ps(hw, task),
        .spill_ps = vtime_duration_ps(spilled, hw_spill_rate(hw))};
    if (!task->backward) return cost;
    cost.first_ps = lengthened(hw_cycles_to_ps(hw, price.first_gradient), millionths, straggler);
    return cost;
}
