// SPDX-License-Identifier: Apache-2.0
/* Implements the public functions of the analytical model: cycles of a stage for a number of
 * sequences, by kind of work, of a step of generation, and until the first gradient leaves. Each
 * lays the sequences on the wafer (cycles_layout.c) and adds up the stage's parts (cycles_parts.c).
 */
#include <wsc/cycles.h>

#include "cycles_condition.h"
#include "cycles_layout.h"
#include "cycles_parts.h"

#include <wsc/check.h>

#include <math.h>

/** Round up to whole cycles; at most 2^62 (centuries). */
static int64_t to_int(double cycles)
{
    return cycles < 0x1p62 ? (int64_t)ceil(cycles) : INT64_C(1) << 62;
}

static const struct model_stage *stage_of(const struct model *model, int stage)
{
    WSC_CHECK(stage >= 0 && stage < model->n_stages, "stage %d of %d", stage, model->n_stages);
    return &model->stage[stage];
}

struct cycles_breakdown cycles_stage_breakdown(const struct hw *hw, const struct model *model,
                                               const struct cycles_plan *plan, int stage,
                                               bool backward, int64_t n_sequences,
                                               const struct model_density *density)
{
    struct cycles_layout l;
    const struct model_stage *s = stage_of(model, stage);
    if (n_sequences <= 0) return (struct cycles_breakdown){0};
    cycles_layout_init_plan(&l, hw, model, plan, n_sequences, density);
    return cycles_layout_stage(&l, s, plan->keep, backward);
}

int64_t cycles_stage(const struct hw *hw, const struct model *model, const struct cycles_plan *plan,
                     int stage, bool backward, int64_t n_sequences,
                     const struct model_density *density)
{
    struct cycles_breakdown c =
        cycles_stage_breakdown(hw, model, plan, stage, backward, n_sequences, density);
    return to_int(cycles_total(&c));
}

static int adapters_of(const struct model *model, const struct model_stage *s)
{
    int n = 0;
    for (int i = 0; i < s->n_views; i++) {
        const enum model_tensor_kind kind = model->tensor[s->view[i].tensor].kind;
        n += kind >= MODEL_ADAPTER_A && kind < MODEL_ADAPTER_B;
    }
    return n;
}

/* Number of modules of a stage that have conditioning: norms with scale and shift, and gates. */
static int conditions_of(const struct model *model, const struct model_stage *s)
{
    int n = 0;
    for (int i = 0; i < s->n_views; i++) {
        n += cycles_begins_condition(model->tensor[s->view[i].tensor].kind);
    }
    return n;
}

int64_t cycles_latency_ps(const struct hw_machine *machine, const struct model *model, int stage,
                          bool backward)
{
    const struct model_stage *s = stage_of(model, stage);
    return hw_stage_latency_ps(machine, adapters_of(model, s), conditions_of(model, s), backward);
}

int64_t cycles_generate(const struct hw *hw, const struct model *model,
                        const struct cycles_plan *plan, int stage,
                        const struct cycles_tokens *tokens, int64_t n_texts,
                        const struct model_density *density)
{
    struct cycles_layout l;
    const struct model_stage *s = stage_of(model, stage);
    if (n_texts <= 0) return 0;
    cycles_layout_init_tokens(&l, hw, model, plan->lanes, n_texts, tokens);
    cycles_layout_sparse(&l, density);
    struct cycles_breakdown c = cycles_layout_stage(&l, s, plan->keep, false);
    return to_int(cycles_total(&c));
}

int64_t cycles_first_gradient(const struct hw *hw, const struct model *model,
                              const struct cycles_plan *plan, int stage, int64_t n_sequences,
                              const struct model_density *density)
{
    struct cycles_layout l;
    const struct model_stage *s = stage_of(model, stage);
    if (n_sequences <= 0) return 0;
    cycles_layout_init_plan(&l, hw, model, plan, n_sequences, density);
    cycles_layout_stack(&l, s->stack);
    double first = cycles_part_first_gradient(&l, s->part[s->n_parts - 1], plan->keep);
    /* The last part of a block gives the first gradient. Before it, the earlier parts are
     * recomputed: all of them where only the input is kept, otherwise the filter features. */
    bool all = cycles_keep_rows[plan->keep].output;
    for (int i = 0; i < s->n_parts - 1; i++)
        if (all || s->part[i] == MODEL_PART_FFN0)
            first += cycles_part_again(&l, s->part[i], plan->keep);
    struct cycles_breakdown c = cycles_layout_stage(&l, s, plan->keep, true);
    return to_int(fmin(first * l.factor, cycles_total(&c)));
}
