// SPDX-License-Identifier: Apache-2.0
/* Computes the cost of a stage on one wafer, ps: cycles of the analytical model or of the mesh,
 * jitter, straggler, latency from the edge of the wafer to its farthest PE, spilled activations.
 * wafer_clock.c converts costs to times. */
#include "wafer_cost.h"

#include <wsc/mem.h>

#include <string.h>

/* The computed cycles of a stage and its start, with the task for which they were computed. */
struct price {
    int64_t n_samples; /* 0: the entry is empty */
    struct cycles_tokens tokens;
    int lanes;
    int64_t micro_batch;
    enum cycles_keep keep;
    int slices;
    uint64_t density;
    int64_t cycles, first_gradient, latency_ps;
};
/* Newest prices of each stage, forward and backward: for shares of two sizes, and for the last
 * micro-batch of each. */
enum { N_KEPT = 4 };
struct kept {
    struct price price[N_KEPT];
};
struct wafer_prices {
    struct kept *stage; /* owned, 2 for each stage */
};

enum wsc_err wafer_prices_create(struct wafer_prices **out, const struct model *model)
{
    struct wafer_prices *p;
    *out = NULL;
    TRY_NEW(p, WSC_MEM_WAFER, 1);
    p->stage = wsc_alloc(WSC_MEM_WAFER, 2 * (size_t)model->n_stages, sizeof *p->stage);
    *out = p;
    if (p->stage) return WSC_OK;
    wafer_prices_destroy(out);
    return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "prices of stages");
}

void wafer_prices_destroy(struct wafer_prices **prices)
{
    if (!*prices) return;
    wsc_free((*prices)->stage);
    wsc_free(*prices);
    *prices = NULL;
}

/* Monotone in @p ps, so that the order of times is kept. */
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

static bool is_price_of(const struct price *p, const struct cycles_plan *plan,
                        const struct wafer_task *task)
{
    const int64_t n = task->n_samples;
    return n > 0 && p->n_samples == n && same_tokens(&p->tokens, &task->tokens) &&
           p->lanes == plan->lanes && p->micro_batch == plan->micro_batch &&
           p->keep == plan->keep && p->slices == plan->slices && p->density == density_key(task);
}

static struct price computed(const struct hw *hw, const struct model *model,
                             const struct cycles_plan *plan, const struct wafer_task *task)
{
    const int64_t n = task->n_samples;
    struct price p = {.n_samples = n,
                      .tokens = task->tokens,
                      .lanes = plan->lanes,
                      .micro_batch = plan->micro_batch,
                      .keep = plan->keep,
                      .slices = plan->slices,
                      .density = density_key(task),
                      .latency_ps =
                          cycles_latency_ps(hw->cluster, model, task->stage, task->backward)};
    const struct model_density *d = density_key(task) ? &task->amounts->density : NULL;
    if (task->counted) {
        p.cycles = task->counted->cycles;
        p.first_gradient = task->counted->first_gradient;
        return p;
    }
    p.cycles = task->tokens.n_new
                   ? cycles_generate(hw, model, plan, task->stage, &task->tokens, n, d)
                   : cycles_stage(hw, model, plan, task->stage, task->backward, n, d);
    if (task->backward)
        p.first_gradient = cycles_first_gradient(hw, model, plan, task->stage, n, d);
    return p;
}

/* The analytical model takes longer on the host than all other work for a message, so prices are
 * kept. */
static struct price price_of(const struct hw *hw, const struct model *model,
                             const struct cycles_plan *plan, const struct wafer_task *task)
{
    if (!task->prices || task->counted) return computed(hw, model, plan, task);
    struct price *kept = task->prices->stage[2 * task->stage + task->backward].price;
    for (int i = 0; i < N_KEPT; i++)
        if (is_price_of(&kept[i], plan, task)) return kept[i];
    memmove(&kept[1], &kept[0], (N_KEPT - 1) * sizeof *kept);
    kept[0] = computed(hw, model, plan, task);
    return kept[0];
}

static int64_t io_ps(const struct hw *hw, int64_t bytes)
{
    return vtime_duration_ps(bytes, hw->cluster->wafer.io_rate_bytes_per_s);
}

struct wafer_cost wafer_cost_of(const struct hw *hw, const struct model *model,
                                const struct cycles_plan *plan, const struct wafer_task *task)
{
    const int64_t n = task->n_samples;
    const struct price price = price_of(hw, model, plan, task);
    const int64_t spilled = task->counted ? 0 : cycles_spill_bytes(model, plan, task->stage, n);
    const struct wafer_jitter_of which = {.wafer = task->wafer,
                                          .seed = task->seed,
                                          .step = task->step,
                                          .transfer = task->transfer,
                                          .kept = task->deviates};
    const int64_t millionths = wafer_jitter_millionths(hw, &which);
    const double straggler = hw_straggler(hw, task->wafer);
    struct wafer_cost cost = {
        .latency_ps = price.latency_ps,
        .compute_ps = lengthened(hw_cycles_to_ps(hw, price.cycles), millionths, straggler),
        .traversal_ps = hw_traversal_ps(hw),
        .stream_ps = task->amounts ? io_ps(hw, task->amounts->weight_bytes) : 0,
        .spill_ps = vtime_duration_ps(spilled, hw_spill_rate(hw))};
    if (!task->backward) return cost;
    cost.out_ps = task->amounts ? io_ps(hw, task->amounts->grad_bytes) : 0;
    cost.first_ps = lengthened(hw_cycles_to_ps(hw, price.first_gradient), millionths, straggler);
    return cost;
}
